/* cayley: discrete Euler-Poincare equations on SO(3) (V-NOTS, (13) and (28); signs of the
 * commutator, of the h/4 term and of the friction as derived again in docs/physics/vnots.md).
 *
 * The attitude moves by g1 = g0 cay(h Omega0), and the discrete principle gives, with mu = G_Omega,
 *
 *     mu1 - mu0 + (h/2)(Omega1 x mu1 + Omega0 x mu0)
 *               + (h^2/4)((Omega1.mu1) Omega1 - (Omega0.mu0) Omega0) - h f1 = 0
 *     S1 - S0 = -h f0.Omega0/T0
 *
 * as published: friction enters with first order. cayley-symmetric takes the means of f and of
 * f.Omega/T at both ends, order 2. Without friction M = mu + (h/2) Omega x mu + (h^2/4)(Omega.mu)
 * Omega has a constant length; |mu| and energy oscillate with O(h^2). Torques of potentials stand
 * with f; what the body carries along (verticals, attitudes) turns by cay(h Omega), which its
 * brackets at the mean of both ends are.
 *
 * Only so(3): the first bracket is ad* and would be that of any algebra, but the quadratic term
 * comes from the product x y x of matrices in the derivative of the Cayley map,
 * (1 - x/2) y (1 + x/2), and structure constants do not know it: on so(3) it is -(x.y) x, on se(3)
 * it does not lie in the algebra. Costs one Newton solve in n + m unknowns. */
#include "base/base.h"
#include "scheme/scheme.h"

/* {mu_i, mu_j} = -mu_k for the cyclic triple that begins at momentum i. */
static int is_body(const cls_system *s, size_t first) {
    for (size_t a = 0; a < 3; a++) {
        size_t i = first + a, j = first + (a + 1) % 3, k = first + (a + 2) % 3;
        if (clsi_sparse_at(s->g, &s->bound.poisson, i, j) != cls_neg(s->g, s->p[k])) return 0;
    }
    return 1;
}

/* Bodies, one behind the other, and nothing else that moves. */
static int is_bodies(const cls_system *s) {
    if (s->n % 3) return 0;
    for (size_t i = 0; i < s->n; i += 3)
        if (!is_body(s, i)) return 0;
    for (size_t i = 0; i < s->n; i++) CLSI_EACH(&s->bound.poisson, i, e) {
            const clsi_entry *x = &s->bound.poisson.entries[e];
            if (i / 3 != x->column / 3 && !cls_is_constant(s->g, x->node, 0)) return 0;
        }
    return 1;
}

static cls_status applies(const cls_system *s, cls_error *error) {
    if (is_bodies(s)) return CLS_OK;
    return clsi_fail(
        error, CLS_USAGE,
        "cayley turns rigid bodies by the Cayley map of SO(3), and the momenta of '%s' "
        "are not those of rigid bodies; use discrete-gradient, which takes any algebra",
        s->name);
}

/* mu + sign (h/2) Omega x mu + (h^2/4) (Omega.mu) Omega */
static cls_node *transported(clsi_step *st, const clsi_point *pt, double sign) {
    cls_graph *g = st->g;
    cls_node *out = clsi_nodes(st, st->n);
    cls_node half_h = cls_mul(g, cls_constant(g, sign * 0.5), st->h);
    cls_node quarter = cls_mul(g, cls_constant(g, 0.25), cls_pow(g, st->h, cls_constant(g, 2)));
    for (size_t b = 0; b < st->n; b += 3) {
        const cls_node *v = pt->v + b, *p = pt->p + b;
        cls_node along = cls_mul(g, quarter, clsi_dot(st, 3, v, p));
        for (size_t a = 0; a < 3; a++) {
            size_t j = (a + 1) % 3, k = (a + 2) % 3;
            cls_node cross = cls_sub(g, cls_mul(g, v[j], p[k]), cls_mul(g, v[k], p[j]));
            out[b + a] = cls_add(g, p[a], cls_mul(g, half_h, cross));
            out[b + a] = cls_add(g, out[b + a], cls_mul(g, along, v[a]));
        }
    }
    return out;
}

/* rate_p at a point without mu x Omega: friction, external torques, torques of potentials. */
static cls_node *torques(clsi_step *st, const clsi_point *pt) {
    cls_graph *g = st->g;
    cls_node *out = clsi_nodes(st, st->n);
    for (size_t b = 0; b < st->n; b += 3)
        for (size_t a = 0; a < 3; a++) {
            size_t j = b + (a + 1) % 3, k = b + (a + 2) % 3;
            cls_node cross =
                cls_sub(g, cls_mul(g, pt->p[j], pt->v[k]), cls_mul(g, pt->p[k], pt->v[j]));
            out[b + a] = cls_sub(g, pt->rate_p[b + a], cross);
        }
    return out;
}

/* q1 - q0 = h K((q0 + q1)/2) v: for K linear in q the Cayley rotation itself. */
static void carry(clsi_step *st, const clsi_point *start, const clsi_point *next,
                  const cls_node *v) {
    cls_graph *g = st->g;
    clsi_place middle = {.q = clsi_mean(st, st->nq, start->q, next->q), .v = v, .t = st->t};
    cls_node *rate = clsi_nodes(st, st->nq), *unused = clsi_nodes(st, st->n);
    cls_node *flat = clsi_nodes(st, st->nq);
    for (size_t i = 0; i < st->nq; i++) flat[i] = cls_constant(g, 0);
    if (clsi_brackets_at(st->s, &st->s->bound, &middle, flat, rate, unused) != CLS_OK)
        st->exhausted = 1;
    for (size_t i = 0; i < st->nq; i++)
        clsi_equation(st,
                      cls_sub(g, cls_sub(g, next->q[i], start->q[i]), cls_mul(g, st->h, rate[i])));
}

static void step(clsi_step *st, int symmetric) {
    cls_graph *g = st->g;
    clsi_point *start = clsi_point_start(st), *next = clsi_point_next(st);
    cls_node *M0 = transported(st, start, -1), *M1 = transported(st, next, 1);
    cls_node *torque = torques(st, next), *rate_S = start->rate_S, *v = start->v;
    if (symmetric) {
        torque = clsi_mean(st, st->n, torques(st, start), torque);
        rate_S = clsi_mean(st, st->m, start->rate_S, next->rate_S);
        v = clsi_mean(st, st->n, start->v, next->v);
    }
    carry(st, start, next, v);
    for (size_t j = 0; j < st->n; j++)
        clsi_equation(st, cls_sub(g, cls_sub(g, M1[j], M0[j]), cls_mul(g, st->h, torque[j])));
    for (size_t i = 0; i < st->m; i++)
        clsi_equation(
            st, cls_sub(g, cls_sub(g, next->S[i], start->S[i]), cls_mul(g, st->h, rate_S[i])));
    cls_node *mean = clsi_mean(st, CLSI_ACCOUNTS, start->account, next->account);
    clsi_finish_accounts(st, symmetric ? mean : next->account, symmetric ? mean : start->account);
}

static void build(clsi_step *st) {
    step(st, 0);
}

static void build_symmetric(clsi_step *st) {
    step(st, 1);
}

const clsi_scheme clsi_scheme_cayley = {
    .info = {"cayley", "discrete Euler-Poincare on SO(3), as published", 1, 1, "entropy >= 0",
             "V-NOTS, (28), with corrected signs"},
    .applies = applies,
    .build = build};

const clsi_scheme clsi_scheme_cayley_symmetric = {
    .info = {"cayley-symmetric", "discrete Euler-Poincare on SO(3) with symmetric friction", 2, 1,
             "entropy >= 0", "V-NOTS, (28), made symmetric"},
    .applies = applies,
    .build = build_symmetric};
