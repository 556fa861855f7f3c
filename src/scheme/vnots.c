/* vnots: scheme (25) of V-NOTS, in observables, as published.
 *
 *     q1 = q0 + h v0;   p1 - p0 = h (G_q + sum F)(1);   T_i0 (S_i1 - S_i0) = h heat_i(0)
 *
 * with p = G_v, S = G_T. First order in everything; its velocity is an interval velocity that
 * belongs to t + h/2 (docs/physics/vnots.md). For systems given by H or L the same formulas are
 * used with their own momenta and entropies. */
#include "scheme/scheme.h"

static void build(clsi_step *st) {
    clsi_point *start = clsi_point_start(st), *next = clsi_point_next(st);
    clsi_finish(st, next, clsi_axpy(st, st->nq, start->q, st->h, start->rate_q),
                clsi_axpy(st, st->n, start->p, st->h, next->rate_p),
                clsi_axpy(st, st->m, start->S, st->h, start->rate_S));
    clsi_finish_accounts(st, next->account, start->account);
}

const clsi_scheme clsi_scheme_vnots = {.info = {"vnots", "scheme (25) in observables, as published",
                                                1, 1, "entropy >= 0", "V-NOTS, (25)"},
                                       .build = build};
