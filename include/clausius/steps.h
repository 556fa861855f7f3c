/* Steps of a scheme and their exact derivatives, many at a time: differentiable simulation.
 *
 * A step solves its equations by Newton's method and is differentiated by the implicit function
 * theorem at the solution, in the state and in the learned parameters of a model. The state is that
 * of cls_system_state_name without `work`; the carry of the energy's round-off from step to step
 * (which has no derivative) is left out. */
#ifndef CLAUSIUS_STEPS_H
#define CLAUSIUS_STEPS_H

#include <clausius/model.h>
#include <clausius/status.h>
#include <clausius/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Const once created. */
typedef struct cls_steps cls_steps;

/* Of a system (model NULL: no parameters), or of a model (system NULL). scheme NULL: the default.
 * What is given outlives it. */
CLS_API cls_status cls_steps_create(const cls_system *system, const cls_model *model,
                                    const char *scheme, cls_steps **out, cls_error *error);
CLS_API void cls_steps_free(cls_steps **steps);
CLS_API size_t cls_steps_count(const cls_steps *steps);      /* variables of a state, nz */
CLS_API size_t cls_steps_parameters(const cls_steps *steps); /* of theta; 0 for a system */

/* One step of h from each of n states at time t. theta NULL: the model's own. next (n, nz). A state
 * from which there is no step is an error that names it. threads 0: all cores; the bits do not
 * depend on it. */
CLS_API cls_status cls_steps_make(const cls_steps *steps, const double *theta, size_t n, double t,
                                  double h, const double *states, int threads, double *next,
                                  cls_error *error);
/* The same backwards: with seeds dL/dnext (n, nz), dL/dstates (n, nz) and dL/dtheta (the sum over
 * the states); either may be NULL. */
CLS_API cls_status cls_steps_back(const cls_steps *steps, const double *theta, size_t n, double t,
                                  double h, const double *states, const double *seeds, int threads,
                                  double *states_bar, double *theta_bar, cls_error *error);

/* Measured trajectories: rows begin[i] .. begin[i + 1] - 1 belong to trajectory i. */
typedef struct cls_shots {
    size_t n;            /* trajectories */
    const size_t *begin; /* (n + 1) */
    const double *time;  /* (rows) increasing in each */
    const double *state; /* (rows, nz); NAN where nothing was measured */
    const double *scale; /* (nz) units in which errors count */
    size_t substeps;     /* steps of the scheme between two rows; 0: one */
} cls_shots;

/* The mean square of (simulated - measured) / scale over all numbers that were measured, simulated
 * from starts (n, nz), with its gradients in theta and in the starts; either may be NULL. */
CLS_API cls_status cls_steps_shoot(const cls_steps *steps, const double *theta,
                                   const cls_shots *shots, const double *starts, int threads,
                                   double *loss, double *theta_bar, double *starts_bar,
                                   cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
