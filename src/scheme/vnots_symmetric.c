/* vnots-symmetric: the midpoint rule in observables (docs/physics/vnots.md).
 *
 *     zm = (z0 + z1)/2, z = (q, v, T);   q1 - q0 = h vm;   p1 - p0 = h (G_q + sum F)(zm);
 *     S_i1 - S_i0 = h heat_i(zm) / T_im
 *
 * Second order; needs observables (q, v, T) as the state. */
#include "scheme/scheme.h"
#include "base/base.h"

static void build(clsi_step *st) {
    clsi_point *start = clsi_point_start(st), *next = clsi_point_next(st);
    clsi_point *middle = clsi_point_of_state(st, clsi_mean(st, st->nz, start->z, next->z), 0.5);
    clsi_finish(st, next, clsi_axpy(st, st->nq, start->q, st->h, middle->rate_q),
                clsi_axpy(st, st->n, start->p, st->h, middle->rate_p),
                clsi_axpy(st, st->m, start->S, st->h, middle->rate_S));
    clsi_finish_accounts(st, middle->account, middle->account);
}

static cls_status applies(const cls_system *s, cls_error *error) {
    if (s->form->kind == CLSI_FORM_THERMAL) return CLS_OK;
    return clsi_fail(
        error, CLS_USAGE,
        "vnots-symmetric averages velocities and temperatures, and the state of '%s' is "
        "not made of them (it is no thermal lagrangian); use implicit-midpoint, which "
        "is the same rule in its own variables, or discrete-gradient",
        s->name);
}

const clsi_scheme clsi_scheme_vnots_symmetric = {
    .info = {"vnots-symmetric", "midpoint rule in observables", 2, 1, "entropy >= 0",
             "V-NOTS, (25), made symmetric"},
    .applies = applies,
    .build = build};
