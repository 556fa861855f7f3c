/* rk2, rk3, rk4: the explicit midpoint rule (the "RK2" of DTEL's tables), the method of order 3 that
 * keeps what Euler's keeps (strong stability; data of GFINN are its steps), and the classical one.
 *
 * For systems whose state is not y = (q, p, S) each stage's state is found from its y by the
 * Legendre transform, solved together with the rest. */
#include "scheme/scheme.h"

/* y0 + c h y'(at), as a point at time t + c h. */
static clsi_point *stage(clsi_step *st, const clsi_point *start, double c, const clsi_point *at) {
    cls_node ch = cls_mul(st->g, cls_constant(st->g, c), st->h);
    return clsi_point_of_y(st, clsi_axpy(st, st->nq, start->q, ch, at->rate_q),
                           clsi_axpy(st, st->n, start->p, ch, at->rate_p),
                           clsi_axpy(st, st->m, start->S, ch, at->rate_S), c);
}

static void build_rk2(clsi_step *st) {
    clsi_point *start = clsi_point_start(st), *middle = stage(st, start, 0.5, start);
    clsi_point *next = clsi_point_next(st);
    clsi_finish(st, next, clsi_axpy(st, st->nq, start->q, st->h, middle->rate_q),
                clsi_axpy(st, st->n, start->p, st->h, middle->rate_p),
                clsi_axpy(st, st->m, start->S, st->h, middle->rate_S));
    clsi_finish_accounts(st, middle->account, middle->account);
}

/* (a + b + 4 c)/6 */
static cls_node *thirds(clsi_step *st, size_t n, const cls_node *a, const cls_node *b,
                        const cls_node *c) {
    cls_node *out = clsi_nodes(st, n);
    for (size_t k = 0; k < n; k++) {
        cls_node ends = cls_add(st->g, a[k], b[k]);
        cls_node middle = cls_mul(st->g, cls_constant(st->g, 4), c[k]);
        out[k] = cls_div(st->g, cls_add(st->g, ends, middle), cls_constant(st->g, 6));
    }
    return out;
}

/* y0 + (h/4) (y'(a) + y'(b)), at half of the step. */
static clsi_point *between(clsi_step *st, const clsi_point *a, const clsi_point *b) {
    cls_node quarter = cls_mul(st->g, cls_constant(st->g, 0.25), st->h);
    cls_node *q = clsi_axpy(st, st->nq, a->q, quarter, a->rate_q);
    cls_node *p = clsi_axpy(st, st->n, a->p, quarter, a->rate_p);
    cls_node *S = clsi_axpy(st, st->m, a->S, quarter, a->rate_S);
    return clsi_point_of_y(st, clsi_axpy(st, st->nq, q, quarter, b->rate_q),
                           clsi_axpy(st, st->n, p, quarter, b->rate_p),
                           clsi_axpy(st, st->m, S, quarter, b->rate_S), 0.5);
}

static void build_rk3(clsi_step *st) {
    clsi_point *a = clsi_point_start(st), *b = stage(st, a, 1, a), *c = between(st, a, b);
    clsi_point *next = clsi_point_next(st);
    cls_node *rate_q = thirds(st, st->nq, a->rate_q, b->rate_q, c->rate_q);
    cls_node *rate_p = thirds(st, st->n, a->rate_p, b->rate_p, c->rate_p);
    cls_node *rate_S = thirds(st, st->m, a->rate_S, b->rate_S, c->rate_S);
    clsi_finish(st, next, clsi_axpy(st, st->nq, a->q, st->h, rate_q),
                clsi_axpy(st, st->n, a->p, st->h, rate_p),
                clsi_axpy(st, st->m, a->S, st->h, rate_S));
    cls_node *rates = thirds(st, CLSI_ACCOUNTS, a->account, b->account, c->account);
    clsi_finish_accounts(st, rates, rates);
}

/* (a + 2 b + 2 c + d)/6 */
static cls_node weighted(cls_graph *g, cls_node a, cls_node b, cls_node c, cls_node d) {
    cls_node inner = cls_mul(g, cls_constant(g, 2), cls_add(g, b, c));
    cls_node sum = cls_add(g, cls_add(g, a, d), inner);
    return cls_div(g, sum, cls_constant(g, 6));
}

static cls_node *weighted_all(clsi_step *st, size_t n, const cls_node *a, const cls_node *b,
                              const cls_node *c, const cls_node *d) {
    cls_node *out = clsi_nodes(st, n);
    for (size_t k = 0; k < n; k++) out[k] = weighted(st->g, a[k], b[k], c[k], d[k]);
    return out;
}

static void build_rk4(clsi_step *st) {
    clsi_point *a = clsi_point_start(st), *b = stage(st, a, 0.5, a), *c = stage(st, a, 0.5, b);
    clsi_point *d = stage(st, a, 1, c), *next = clsi_point_next(st);
    cls_node *rate_q = weighted_all(st, st->nq, a->rate_q, b->rate_q, c->rate_q, d->rate_q);
    cls_node *rate_p = weighted_all(st, st->n, a->rate_p, b->rate_p, c->rate_p, d->rate_p);
    cls_node *rate_S = weighted_all(st, st->m, a->rate_S, b->rate_S, c->rate_S, d->rate_S);
    clsi_finish(st, next, clsi_axpy(st, st->nq, a->q, st->h, rate_q),
                clsi_axpy(st, st->n, a->p, st->h, rate_p),
                clsi_axpy(st, st->m, a->S, st->h, rate_S));
    cls_node *rates =
        weighted_all(st, CLSI_ACCOUNTS, a->account, b->account, c->account, d->account);
    clsi_finish_accounts(st, rates, rates);
}

const clsi_scheme clsi_scheme_rk2 = {
    .info = {"rk2", "explicit midpoint rule", 2, 0, "entropy >= 0", "Runge 1895"},
    .build = build_rk2,
    .varies = 1};

const clsi_scheme clsi_scheme_rk3 = {.info = {"rk3",
                                              "Runge-Kutta method of order 3 by Shu and Osher", 3,
                                              0, "entropy >= 0", "Shu, Osher 1988"},
                                     .build = build_rk3,
                                     .varies = 1};

const clsi_scheme clsi_scheme_rk4 = {
    .info = {"rk4", "the classical Runge-Kutta method", 4, 0, "entropy >= 0", "Kutta 1901"},
    .build = build_rk4,
    .varies = 1};
