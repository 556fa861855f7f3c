/* implicit-midpoint: y1 = y0 + h y'((y0 + y1)/2), y = (q, p, S).
 *
 * Order 2, symplectic without friction; energy is kept only where it is quadratic. */
#include "scheme/scheme.h"

static void build(clsi_step *st) {
    clsi_point *start = clsi_point_start(st), *next = clsi_point_next(st);
    /* the equations of `next` come first, in the order of its unknowns; those of the middle follow
     */
    cls_node *q = clsi_mean(st, st->nq, start->q, next->q);
    cls_node *p = clsi_mean(st, st->n, start->p, next->p);
    cls_node *S = clsi_mean(st, st->m, start->S, next->S);
    clsi_point *middle = clsi_point_of_y(st, q, p, S, 0.5);
    clsi_finish(st, next, clsi_axpy(st, st->nq, start->q, st->h, middle->rate_q),
                clsi_axpy(st, st->n, start->p, st->h, middle->rate_p),
                clsi_axpy(st, st->m, start->S, st->h, middle->rate_S));
    clsi_finish_accounts(st, middle->account, middle->account);
}

const clsi_scheme clsi_scheme_implicit_midpoint = {.info = {"implicit-midpoint",
                                                            "implicit midpoint rule", 2, 1,
                                                            "entropy >= 0, symmetries", "textbook"},
                                                   .build = build,
                                                   .varies = 1};
