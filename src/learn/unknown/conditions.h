/* learn, inside: anchors in fits that are iterated. */
#ifndef CLSI_CONDITIONS_H
#define CLSI_CONDITIONS_H

#include "learn/learn.h"

typedef struct clsi_conditions clsi_conditions;
/* theta: some parameters at which it is seen which anchors are linear; share: of the others in the
 * loss, 0 for the usual one (clsi_anchors_weight). `inner` and `anchors` outlive this. */
cls_status clsi_conditions_create(const clsi_anchors *anchors, clsi_problem *inner, double share,
                                  const double *theta, clsi_conditions **out, cls_error *error);
void clsi_conditions_free(clsi_conditions **c);
/* The nearest parameters that meet the linear ones. */
void clsi_conditions_project(const clsi_conditions *c, double *theta);
/* The inner problem where they hold, with a row for each of the others. */
void clsi_conditions_problem(clsi_conditions *c, clsi_problem *out);

#endif
