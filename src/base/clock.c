/* The clock: how long something took. */
#include "base/base.h"
#include <time.h>

double clsi_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
