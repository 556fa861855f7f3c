/* The problem that all solvers of this directory solve: the ideal gas of Table 3 of the DTEL paper
 * (built-in ideal-gas-piston), gamma = 0.1, c = 3/2, from x = 1, p = 0, S = 10 to t = 10.
 *
 *     U = e^S x^(-1/c) = T,   x' = p,   p' = -U_x - gamma p,   S' = gamma p^2 / T
 *
 * X_END is x(10) to 1e-12; dtel.md has its first 12 digits. bench/run checks it by Runge-Kutta
 * in long double and prints the difference. */
#ifndef BENCH_PROBLEM_H
#define BENCH_PROBLEM_H

#include <time.h>

#define GAMMA   0.1
#define K       (2.0 / 3.0) /* 1/c */
#define X_START 1.0
#define S_START 10.0
#define T_END   10.0
#define X_END   1588.594015952481

/* Processor time of this program: others that share the machine cost us turns, not seconds. */
static inline double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Short runs are repeated and the best counts: `spent` so far, `runs` so far. */
static inline int enough(double spent, int runs) {
    return spent > 0.03 || runs >= 30;
}

#endif
