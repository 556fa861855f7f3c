/* simulate, inside: the equations of motion z' = f(z, t; theta) to first order. */
#ifndef CLSI_FLOW_H
#define CLSI_FLOW_H

#include "expr/program.h"
#include "simulate/rates.h"

/* With the defect D = M z' - F(z, t; theta) of rates.h: f = M^-1 F, and at z' = f
 *
 *     f_z = -M^-1 D_z,   f_theta = -M^-1 D_theta.
 *
 * Const once created; the derivatives in theta are those of `rates`. */
typedef struct clsi_flow {
    clsi_rates *rates;
    cls_program *value;  /* z, t, theta -> -F (nz), M (nz, nz) */
    cls_program *slopes; /* z, t, z', theta -> D_z (nz, nz) */
} clsi_flow;

cls_status clsi_flow_create(const cls_system *s, size_t n_theta, const cls_node *theta,
                            clsi_flow **out, cls_error *error);
void clsi_flow_free(clsi_flow **flow);

/* Scratch of one thread, for up to CLSI_LANES states at a time. */
typedef struct clsi_current clsi_current;
cls_status clsi_current_create(const clsi_flow *f, clsi_current **out, cls_error *error);
void clsi_current_free(clsi_current **current);
void clsi_current_set(clsi_current *c, const double *theta);
/* dot[i] = f at z[i], t[i]; M[i] (nz, nz) and pivot[i] (nz): factors, where M is not NULL. Zero
 * when there is no inverse. */
int clsi_current_rates(clsi_current *c, size_t n, const double *const *z, const double *t,
                       double *const *dot, double *const *M, size_t *const *pivot);
/* D_z at z[i], t[i], dot[i] into slope[i] (nz, nz). */
void clsi_current_slopes(clsi_current *c, size_t n, const double *const *z, const double *t,
                         const double *const *dot, double *const *slope);
/* sums (n_theta) += sum over i of mu[i].D_theta; mu[i] (nz). */
void clsi_current_add(clsi_current *c, size_t n, const double *const *z, const double *t,
                      const double *const *dot, const double *const *mu, double *sums);

#endif
