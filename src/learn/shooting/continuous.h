/* learn, inside: the continuous adjoint, for comparison with the discrete one. */
#ifndef CLSI_CONTINUOUS_H
#define CLSI_CONTINUOUS_H

#include "simulate/flow.h"

/* Scratch of one thread for paths of at most so many steps. */
typedef struct clsi_backward clsi_backward;
cls_status clsi_backward_create(const clsi_flow *f, size_t most_steps, clsi_backward **out,
                                cls_error *error);
void clsi_backward_free(clsi_backward **b);
void clsi_backward_set(clsi_backward *b, const double *theta);
/* Along a path with the states z[n] at t[n], n = 0 .. steps: gradient += dLoss/dtheta, where jump
 * (steps + 1, nz) is the loss's own derivative in each state. Zero when there is none. */
int clsi_backward_run(clsi_backward *b, size_t steps, const double *const *z, const double *t,
                      const double *jump, double *gradient);

#endif
