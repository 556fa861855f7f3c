/* Loops of Newton's method over many unknowns, without branches: the loader picks the version for the
 * machine. The bits are those of newton.inc, where the same is written for a few. */
#include "base/vectors.h"
#include "simulate/host.h"
#include <float.h>
#include <stdint.h>

/* Sizes are not negative: as whole numbers they have the same order, infinite and undefined ones last,
 * and the largest of whole numbers may be looked for in any order. */
CLONES
static uint64_t largest_ratio(size_t n, const double *restrict d, const double *restrict scale) {
    uint64_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        double size = fabs(fabs(d[i]) / scale[i]);
        uint64_t number;
        memcpy(&number, &size, sizeof number);
        largest = number > largest ? number : largest;
    }
    return largest;
}

double clsi_wide_size(size_t n, const double *d, const double *scale) {
    uint64_t number = largest_ratio(n, d, scale);
    double size;
    memcpy(&size, &number, sizeof size);
    return isfinite(size) ? size : INFINITY;
}

CLONES
static int all_finite(size_t n, const double *x) {
    int wrong = 0;
    for (size_t i = 0; i < n; i++) wrong |= !(fabs(x[i]) <= DBL_MAX);
    return !wrong;
}

int clsi_wide_finite(size_t n, const double *x) {
    return all_finite(n, x);
}
