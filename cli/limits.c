/* Under a limit on the address space (ulimit -v) OpenBLAS, while it is loaded, asks for a buffer for each of its threads, and again
 * and again when there is none: the program would never begin. With one thread it needs little. It reads the number
 * from the environment only, before main(): so the program begins anew, with that in it. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __GLIBC__ /* others have no functions that run before those of the libraries */

#define SETTING "OPENBLAS_NUM_THREADS="
enum { MOST_SETTINGS = 1000, MOST_PATH = 1024 }; /* of the stack, which may be small */

static void begin_with_one_thread(int argc, char **argv, char **settings) {
    struct rlimit limit;
    (void)argc;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    char path[MOST_PATH] = "", *more[MOST_SETTINGS], one[] = SETTING "1";
    size_t n = 0;
    for (; settings[n]; n++)
        if (n + 2 == MOST_SETTINGS || !strncmp(settings[n], SETTING, sizeof SETTING - 1)) return;
    memcpy(more, settings, n * sizeof *more);
    more[n] = one;
    more[n + 1] = NULL;
    if (readlink("/proc/self/exe", path, sizeof path - 1) > 0) (void)execve(path, argv, more);
}

__attribute__((section(".preinit_array"),
               used)) static void (*before_libraries)(int, char **,
                                                      char **) = begin_with_one_thread;

#endif
