/* The problem that all solvers of this directory solve: the ideal gas of Table 3 of the DTEL paper
 * (built-in ideal-gas-piston), gamma = 0.1, c = 3/2, from x = 1, p = 0, S = 10 to t = 10.
 *
 *     x' = p,   p' = T/(c x) ... = -U_x - gamma p,   S' = gamma p^2 / U,   U = e^S x^(-1/c) = T
 *
 * X_END is x(10) to 15 digits; dtel.md has 12 of them. `reference` of bench/steps prints it, by
 * Runge-Kutta in long double with two step sizes. */
#ifndef BENCH_PROBLEM_H
#define BENCH_PROBLEM_H

#define GAMMA 0.1
#define K (2.0 / 3.0) /* 1/c */
#define X_START 1.0
#define S_START 10.0
#define T_END 10.0
#define X_END 1588.59401595

#endif
