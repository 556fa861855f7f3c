/* The vector field of a system at given states, many at a time: rates in continuous time, their
 * Jacobian, energy and entropy. The state is that of cls_system_state_name without `work`. */
#ifndef CLAUSIUS_FLOW_H
#define CLAUSIUS_FLOW_H

#include <clausius/status.h>
#include <clausius/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Const once created; the system outlives it. Creating one writes to the system's graph: one thread
 * at a time. */
typedef struct cls_flow cls_flow;

CLS_API cls_status cls_flow_create(const cls_system *system, cls_flow **out, cls_error *error);
CLS_API void cls_flow_free(cls_flow **flow);
CLS_API size_t cls_flow_count(const cls_flow *flow); /* variables */

/* states (n, stride) of which the first cls_flow_count numbers of each row are read, at the times
 * t (n; NULL: 0). rates (n, count), jacobian (n, count, count), either may be NULL. Where there is
 * no rate (a mass matrix without inverse, a state outside a function's domain) it is not finite.
 * threads 0: all cores; the bits do not depend on it. */
CLS_API cls_status cls_flow_rates(const cls_flow *flow, size_t n, size_t stride,
                                  const double *states, const double *t, int threads, double *rates,
                                  double *jacobian, cls_error *error);
/* The same by the calling thread alone, without allocating: for few states in a loop. A work belongs
 * to one thread at a time. */
typedef struct cls_flow_work cls_flow_work;
CLS_API cls_status cls_flow_work_create(const cls_flow *flow, cls_flow_work **out,
                                        cls_error *error);
CLS_API void cls_flow_work_free(cls_flow_work **work);
CLS_API cls_status cls_flow_rates_in(const cls_flow *flow, cls_flow_work *work, size_t n,
                                     size_t stride, const double *states, const double *t,
                                     double *rates, double *jacobian, cls_error *error);
/* Energy and entropy, (n) each, either may be NULL. Systems of plain equations have neither. */
CLS_API cls_status cls_flow_laws(const cls_flow *flow, size_t n, size_t stride,
                                 const double *states, const double *t, int threads, double *energy,
                                 double *entropy, cls_error *error);
CLS_API cls_status cls_flow_laws_in(const cls_flow *flow, cls_flow_work *work, size_t n,
                                    size_t stride, const double *states, const double *t,
                                    double *energy, double *entropy, cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
