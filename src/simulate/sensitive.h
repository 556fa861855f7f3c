/* simulate, inside: steps that depend on parameters, many at a time, and their derivatives. */
#ifndef CLSI_SENSITIVE_H
#define CLSI_SENSITIVE_H

#include "expr/program.h"
#include <clausius/system.h>

/* The compiled step r(z0, u; theta) = 0, z1 = next(z0, u; theta) and what it does to first order;
 * const once created, shared by all threads. */
typedef struct clsi_sensitive {
    struct clsi_stepper *stepper; /* n_free = n_theta */
    size_t n_stages;     /* a step of the scheme is a composition of so many (often one) ... */
    const double *stage; /* (n_stages) ... of these fractions of h */
    size_t nz, nu, k, n_theta; /* k unknowns */
    cls_program *tangent; /* base | u -> r_u (k, k), r_z (k, nz), next_u (nz, k), next_z (nz, nz) */
    cls_program *reverse; /* base | u | lambda (k), mu (nz) -> d(lambda.r + mu.next)/dtheta */
} clsi_sensitive;

/* The system's expressions contain the symbols theta. `scheme` NULL: the system's default. */
cls_status clsi_sensitive_create(const cls_system *s, const char *scheme, size_t n_theta,
                                 const cls_node *theta, clsi_sensitive **out, cls_error *error);
void clsi_sensitive_free(clsi_sensitive **s);

/* A step that was made: where it began and what solved it. Records are arrays of
 * clsi_record_size() doubles: z0 (nz), t, h, inputs at the start and at the end (nu each, see
 * clsi_signal_over), u (k) from clsi_record_unknowns() on. */
size_t clsi_record_size(const clsi_sensitive *s);
size_t clsi_record_unknowns(const clsi_sensitive *s);

/* Scratch of one thread. alone: steps are made one by one, which is faster when there are few at a
 * time; the two ways may differ in the last bits. */
typedef struct clsi_stride clsi_stride;
cls_status clsi_stride_create(const clsi_sensitive *s, int alone, clsi_stride **out,
                              cls_error *error);
void clsi_stride_free(clsi_stride **stride);
void clsi_stride_set(clsi_stride *d, const double *theta);

/* One step for each of n <= CLSI_LANES records with z0, t, h and inputs set, and u too where warm[i]. Fills u
 * and next[i] (nz). fine[i] = 0 where the step has no solution in the domain. What a record becomes
 * does not depend on its neighbours. */
void clsi_stride_step(clsi_stride *d, size_t n, double *const *record, const int *warm,
                      double *const *next, int *fine);
/* To first order, for n <= CLSI_LANES solved records:
 *     dz1 = B dz0 + sum over the rows of  d(lambda.r + mu.next)/dtheta dtheta,
 * row e with lambda = L[e], mu = the unit vector e. B[i] (nz, nz), L[i] (nz, k), row-major.
 * Zero when r_u has no inverse somewhere. */
int clsi_stride_tangent(clsi_stride *d, size_t n, const double *const *record, double *const *B,
                        double *const *L);
/* d(lambda.r + mu.next)/dtheta for n <= CLSI_LANES samples: that of sample i is added to row
 * (n_theta), or their sum over the samples to sums. */
void clsi_stride_reverse(clsi_stride *d, size_t n, const double *const *record,
                         const double *const *lambda, const double *const *mu);
void clsi_stride_slopes(const clsi_stride *d, size_t i, double *row);
void clsi_stride_add(const clsi_stride *d, size_t n, double *sums);

#endif
