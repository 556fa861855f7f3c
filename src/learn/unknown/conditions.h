/* learn, inside: anchors in fits that are iterated. */
#ifndef CLSI_CONDITIONS_H
#define CLSI_CONDITIONS_H

#include "learn/learn.h"

typedef struct clsi_conditions clsi_conditions;
/* *problem: the inner one where the anchors hold, with a row for each that is not linear; without anchors the inner one,
 * and *out NULL. theta: some parameters at which it is seen which anchors are linear; share: of the others in the
 * loss, 0 for the usual one (clsi_anchors_weight). `inner` and `anchors` outlive this. */
cls_status clsi_conditions_create(const clsi_anchors *anchors, clsi_problem *inner, double share,
                                  const double *theta, clsi_conditions **out, clsi_problem *problem,
                                  cls_error *error);
void clsi_conditions_free(clsi_conditions **c);
/* The nearest parameters that meet the linear ones; of no conditions (NULL) all do. */
void clsi_conditions_project(const clsi_conditions *c, double *theta);
/* The same, in `place`; theta itself of no conditions. */
const double *clsi_conditions_meant(const clsi_conditions *c, const double *theta, double *place);

#endif
