/* dtel: the discrete thermodynamic Euler-Lagrange equations (DTEL, equation (22)).
 *
 * With the midpoint rule Ld(q0, q1, S0) = L(qm, v, S0), qm = q0 + h v/2, v = (q1 - q0)/h and
 * f = F(qm, v, S0), equation (22a) says that the two discrete momenta
 *
 *     p- = L_v - (h/2)(L_q + f),    p+ = L_v + (h/2)(L_q + f)
 *
 * of neighbouring intervals agree. So one step is: solve p- = p0 for v; q1 = q0 + h v;
 * p1 = p+ = 2 L_v - p0; and (22b), S_i1 = S_i0 + h (heat_i)/T_i with T = -L_S at (qm, v, S0).
 * Written in v, not in q1, which keeps three digits more, and with p carried, which has none of the
 * round-off plateau of the three-term recurrence (docs/physics/dtel.md).
 *
 * Implicit midpoint with S frozen at the left end: entropy never falls, symmetries are kept, order
 * 2 only when L_q does not depend on S, order 1 for every gas. For a thermal lagrangian the
 * temperature at fixed S0 is an unknown too (G_T = S0: the Legendre transform inside the step). */
#include "scheme/scheme.h"
#include "base/base.h"
#include <string.h>

typedef struct middle {
    cls_node *momentum, *L_q, *T, *S; /* at (qm, v, S0) */
    clsi_flows flows;
} middle;

/* L_v, L_q and T at (q, v, S) from the closed lagrangian. */
static void from_lagrangian(clsi_step *st, const cls_node *q, const cls_node *v, const cls_node *S,
                            middle *mid) {
    const cls_system *s = st->s;
    cls_graph *g = st->g;
    size_t n = st->n, m = st->m;
    cls_node *from = clsi_nodes(st, st->nz), *to = clsi_nodes(st, st->nz);
    cls_node *slope = clsi_nodes(st, st->nz);
    memcpy(from, s->q, n * sizeof *from);
    memcpy(from + n, s->v, n * sizeof *from);
    memcpy(from + 2 * n, s->S, m * sizeof *from);
    memcpy(to, q, n * sizeof *to);
    memcpy(to + n, v, n * sizeof *to);
    memcpy(to + 2 * n, S, m * sizeof *to);
    (void)cls_gradient(g, st->f->lagrangian, st->nz, from, slope);
    (void)cls_substitute(g, st->nz, slope, st->nz, from, to, slope);
    mid->L_q = slope;
    mid->momentum = slope + n;
    mid->T = slope + 2 * n;
    for (size_t i = 0; i < m; i++) mid->T[i] = cls_neg(g, mid->T[i]);
    mid->S = clsi_nodes(st, m);
    memcpy(mid->S, S, m * sizeof *S);
}

/* The same from G(q, v, T), with T unknown and G_T = S0 as equations. */
static void from_thermal(clsi_step *st, const clsi_point *start, const cls_node *q,
                         const cls_node *v, middle *mid) {
    cls_graph *g = st->g;
    size_t n = st->n, m = st->m;
    cls_node *z = clsi_nodes(st, st->nz), zero = cls_constant(g, 0);
    memcpy(z, q, n * sizeof *z);
    memcpy(z + n, v, n * sizeof *z);
    for (size_t i = 0; i < m; i++)
        z[2 * n + i] = cls_mul(g, start->T[i],
                               cls_apply(g, CLS_FN_EXP, clsi_step_unknown(st, zero, 2 * n + i)));
    cls_node *slope = clsi_nodes(st, st->nz);
    (void)cls_gradient(g, st->f->generator, st->nz, st->z0, slope);
    (void)cls_substitute(g, st->nz, slope, st->nz, st->z0, z, slope);
    mid->L_q = slope;
    mid->momentum = slope + n;
    mid->S = slope + 2 * n;
    mid->T = z + 2 * n;
}

static middle at_middle(clsi_step *st, const clsi_point *start, const cls_node *v) {
    cls_graph *g = st->g;
    middle mid;
    cls_node half = cls_constant(g, 0.5), half_h = cls_mul(g, half, st->h);
    cls_node *q = clsi_axpy(st, st->n, start->q, half_h, v);
    if (st->f->kind == CLSI_FORM_THERMAL)
        from_thermal(st, start, q, v, &mid);
    else
        from_lagrangian(st, q, v, start->S, &mid);
    clsi_place at = {q, v, mid.momentum, mid.S, mid.T, clsi_time(st, 0.5), clsi_inputs(st, 0.5)};
    mid.flows = clsi_flows_at(st, &at);
    return mid;
}

/* The paper's first step takes q1 = q0 + h v0, so p0 is what p- is there. */
static void paper_start(clsi_step *st, const clsi_point *start) {
    if (st->f->kind != CLSI_FORM_PHASE) return;
    cls_graph *g = st->g;
    middle mid = at_middle(st, start, start->v);
    cls_node half_h = cls_mul(g, cls_constant(g, 0.5), st->h);
    st->paper_start = clsi_nodes(st, st->nz);
    memcpy(st->paper_start, st->z0, st->nz * sizeof *st->z0);
    for (size_t j = 0; j < st->n; j++)
        st->paper_start[st->n + j] = cls_sub(
            g, mid.momentum[j], cls_mul(g, half_h, cls_add(g, mid.L_q[j], mid.flows.force[j])));
}

static void build(clsi_step *st) {
    cls_graph *g = st->g;
    size_t n = st->n, m = st->m;
    clsi_point *start = clsi_point_start(st);
    paper_start(st, start);
    cls_node *v = clsi_nodes(st, n), *q1, *p1 = clsi_nodes(st, n), *S1 = clsi_nodes(st, m);
    for (size_t j = 0; j < n; j++) v[j] = clsi_step_unknown(st, start->v[j], j);
    middle mid = at_middle(st, start, v);
    cls_node half_h = cls_mul(g, cls_constant(g, 0.5), st->h), two = cls_constant(g, 2);
    for (size_t j = 0; j < n; j++) {
        cls_node kick = cls_mul(g, half_h, cls_add(g, mid.L_q[j], mid.flows.force[j]));
        clsi_equation(st, cls_sub(g, cls_sub(g, mid.momentum[j], kick), start->p[j]));
        p1[j] = cls_sub(g, cls_mul(g, two, mid.momentum[j]), start->p[j]);
    }
    for (size_t i = 0; i < m; i++) {
        if (st->f->kind == CLSI_FORM_THERMAL) clsi_equation(st, cls_sub(g, mid.S[i], start->S[i]));
        cls_node rate = cls_div(g, mid.flows.heat[i], mid.T[i]);
        S1[i] = cls_add(g, start->S[i], cls_mul(g, st->h, rate));
        clsi_keep_positive(st, mid.T[i]);
    }
    q1 = clsi_axpy(st, n, start->q, st->h, v);
    clsi_point *next = clsi_point_next(st);
    clsi_finish(st, next, q1, p1, S1);
    clsi_finish_accounts(st, mid.flows.account, mid.flows.account);
}

static cls_status applies(const cls_system *s, cls_error *error) {
    if (!s->canonical)
        return clsi_fail(error, CLS_USAGE,
                         "dtel is a scheme for coordinates with their own velocities, and '%s' has "
                         "momenta with other brackets; use discrete-gradient",
                         s->name);
    if (s->form->kind == CLSI_FORM_THERMAL || s->form->lagrangian != CLS_NO_NODE) return CLS_OK;
    return clsi_fail(error, CLS_USAGE,
                     "dtel needs a Lagrangian, and the velocity of '%s' is not affine in the "
                     "momentum, so that its Hamiltonian has none in closed form; use "
                     "discrete-gradient, which keeps energy as well",
                     s->name);
}

const clsi_scheme clsi_scheme_dtel = {
    .info = {"dtel", "discrete thermodynamic Euler-Lagrange, as published", 1, 1,
             "entropy >= 0, symmetries", "DTEL, (22)"},
    .applies = applies,
    .build = build};
