/* simulate, inside: the equations of motion themselves, with parameters. */
#ifndef CLSI_RATES_H
#define CLSI_RATES_H

#include "scheme/scheme.h"
#include <clausius/graph.h>
#include <clausius/system.h>

/* The defect dy/dz z' - y'(z, t; theta), y = (q, p, S): zero along a motion. Only the rows that
 * depend on theta are kept. Const once created. */
typedef struct clsi_rates {
    size_t nz, n_theta, n_rows;
    size_t *row;          /* (n_rows) which of the nz equations */
    cls_program *defect;  /* z, t, z', theta -> rows */
    cls_program *reverse; /* z, t, z', theta, mu (n_rows) -> d(mu . defect)/dtheta, for lanes */
} clsi_rates;

/* CLS_USAGE: fields that are being learned are nodes without a kernel for a slope (expr/program.h). */
cls_status clsi_rates_create(const cls_system *s, size_t n_theta, const cls_node *theta,
                             clsi_rates **out, cls_error *error);
void clsi_rates_free(clsi_rates **rates);

/* No step: the point at its start is what is wanted of it. */
extern const clsi_scheme clsi_no_scheme;

/* The defects themselves, over symbols of the system's graph; theta is the caller's. */
typedef struct clsi_motion_defects {
    const cls_node *theta;
    cls_node *z, *dot, *defect, t; /* (nz) each */
} clsi_motion_defects;
cls_status clsi_defects_create(const cls_system *s, clsi_motion_defects *m, cls_error *error);
void clsi_defects_clear(clsi_motion_defects *m);

/* rate (nz) over the symbols z (nz) and t, where the equations can be solved for it in formulas
 * (explicit.c); *found is 0 where they cannot. */
cls_status clsi_explicit_rates(const cls_system *s, cls_node *z, cls_node *t, cls_node *rate,
                               int *found, cls_error *error);

#endif
