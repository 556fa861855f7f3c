/* learn, inside: the steps by which unknown.c makes a part. */
#ifndef CLSI_LEARN_UNKNOWN_H
#define CLSI_LEARN_UNKNOWN_H

#include "learn/stream/stream.h"

/* ---- unknown_inputs.c ---- */

/* Polynomials of several velocities are even in them. */
int clsi_wants_even(const cls_system *s, const clsi_unknown *u, const clsi_points *points);
/* raw: the variables as they are. */
cls_status clsi_choose_inputs(const cls_system *s, clsi_unknown *u, const clsi_points *points,
                              int raw, cls_error *error);
cls_status clsi_choose_field(clsi_unknowns *us, clsi_unknown *u, cls_error *error);
/* Is it an energy, of which only differences mean something? */
int clsi_lacks_constant(const clsi_unknowns *us, const clsi_unknown *u);

/* ---- unknown_scale.c ---- */

/* The scaled inputs of the `group` places of a part at all points, and their scaling. */
cls_status clsi_scale_inputs(const clsi_unknowns *us, clsi_unknown *u, size_t group,
                             const clsi_points *p, const cls_node *z, cls_error *error);
/* Formulas of the user must be finite at the data. */
cls_status clsi_check_terms(const clsi_unknown *u, const clsi_points *p, cls_error *error);

#endif
