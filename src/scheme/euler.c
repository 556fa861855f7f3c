/* euler, implicit-euler: the two simplest one-step methods, for comparison.
 *
 *     y1 = y0 + h y'(z0)          and          y1 = y0 + h y'(z1),      y = (q, p, S)
 *
 * Order 1; neither keeps energy. */
#include "scheme/scheme.h"

static void one_sided(clsi_step *st, int implicit) {
    clsi_point *start = clsi_point_start(st), *next = clsi_point_next(st);
    const clsi_point *at = implicit ? next : start;
    clsi_finish(st, next, clsi_axpy(st, st->nq, start->q, st->h, at->rate_q),
                clsi_axpy(st, st->n, start->p, st->h, at->rate_p),
                clsi_axpy(st, st->m, start->S, st->h, at->rate_S));
    clsi_finish_accounts(st, at->account, at->account);
}

void clsi_build_euler(clsi_step *st) {
    one_sided(st, 0);
}

static void build_implicit(clsi_step *st) {
    one_sided(st, 1);
}

const clsi_scheme clsi_scheme_euler = {
    .info = {"euler", "explicit Euler", 1, 0, "entropy >= 0", "Euler 1768"},
    .build = clsi_build_euler,
    .varies = 1};

const clsi_scheme clsi_scheme_implicit_euler = {
    .info = {"implicit-euler", "implicit Euler", 1, 1, "entropy >= 0", "textbook"},
    .build = build_implicit,
    .varies = 1};
