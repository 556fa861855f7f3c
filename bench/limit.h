/* What the machine can do: the same work, written by hand for one formula. */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include <stddef.h>

typedef struct gas {
    double x, p, S;
    double heat;          /* e^S, carried along so that no exponential is needed */
    unsigned long newton; /* iterations so far */
} gas;

gas gas_start(void);
void gas_discrete_gradient(gas *g, double h, size_t n);
void gas_discrete_gradient_4(gas *g, double h, size_t n);
void gas_dtel(gas *g, double h, size_t n);

/* out[s] for n samples; inputs are rows in[i*n + s]. */
void loop_arithmetic(size_t n, const double *in, double *out);
void loop_gas(size_t n, const double *in, double *out);

/* n rounds of products and sums in registers, rounded one by one: operations done. */
double separate_products(size_t n);

/* n numbers as %.17g into memory; bytes written. */
size_t print_numbers(size_t n);

/* x(10) by the classical Runge-Kutta method in long double with n steps. */
long double gas_reference(size_t n);

#endif
