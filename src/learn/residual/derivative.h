/* learn, inside: the derivative loss. Rates of the system against derivatives of the data. */
#ifndef CLSI_DERIVATIVE_H
#define CLSI_DERIVATIVE_H

#include "learn/learn.h"
#include "simulate/rates.h"

/* Derivatives (nz, n) of the states at the points of the data: those that the data give (columns
 * d.NAME), else of polynomials fitted to the neighbours in time. */
cls_status clsi_estimate_rates(const clsi_points *p, double *out, cls_error *error);

typedef struct clsi_derivative clsi_derivative;
/* Points of the trajectories to learn from (held: to validate), at most so many (0: all).
 * `residual` gives the scale of energy and forces where they have none of their own
 * (residual->scale_free). */
cls_status clsi_derivative_create(const clsi_points *p, const clsi_rates *rates,
                                  const clsi_residual *residual, int held, size_t most,
                                  clsi_derivative **out, cls_error *error);
void clsi_derivative_free(clsi_derivative **d);
size_t clsi_derivative_points(const clsi_derivative *d);
void clsi_derivative_problem(clsi_derivative *d, clsi_problem *out);

#endif
