/* The native first-order form of a system: everything as an expression over the state z.
 *
 *   H(q,p,S):  v = H_p,  T = H_S,                    energy H          z = (q, p, S)
 *   L(q,v,S):  p = L_v,  T = -L_S,                   energy p.v - L    z = (q, v, S)
 *   G(q,v,T):  p = G_v,  S = G_T,                    energy p.v + S.T - G   z = (q, v, T)
 *
 * (physics/dtel.md, vnots.md.) A lagrangian that is quadratic in v becomes a hamiltonian in closed
 * form. An external potential W joins the generating function: H + W, L - W, G - W. Derivatives are
 * simplified where that makes them shorter; the generating function never is, because its writing
 * decides the discrete gradient. Cost: n + m derivatives, paid once. */
#include "base/base.h"
#include "expr/graph.h"
#include "system/system.h"
#include <stdlib.h>
#include <string.h>

/* ---- places ---- */

static size_t collect(size_t n, const cls_node *symbols, const cls_node *at, size_t used,
                      cls_node *from, cls_node *to) {
    for (size_t i = 0; at && i < n; i++, used++) {
        from[used] = symbols[i];
        to[used] = at[i];
    }
    return used;
}

cls_status clsi_place_at(const cls_system *s, const clsi_place *at, size_t count,
                         const cls_node *nodes, cls_node *out) {
    size_t room = s->nq + 2 * s->n + 2 * s->m + 1 + s->nu, used = 0, fixed = 0;
    while (fixed < count && cls_node_op(s->g, nodes[fixed]) == CLS_OP_CONSTANT &&
           nodes[fixed] != CLS_NO_NODE)
        fixed++;
    if (fixed == count) { /* as most tables are */
        if (count) memmove(out, nodes, count * sizeof *out);
        return cls_graph_status(s->g, NULL);
    }
    cls_node *from = clsi_calloc(2 * room, sizeof *from), *to = from + room;
    if (!from) return clsi_graph_no_memory(s->g);
    used = collect(s->nq, s->q, at->q, used, from, to);
    used = collect(s->n, s->v, at->v, used, from, to);
    used = collect(s->n, s->p, at->p, used, from, to);
    used = collect(s->m, s->S, at->S, used, from, to);
    used = collect(s->m, s->T, at->T, used, from, to);
    used = collect(s->nu, s->u, at->u, used, from, to);
    if (at->t != CLS_NO_NODE && at->t != s->t) {
        from[used] = s->t;
        to[used++] = at->t;
    }
    cls_status status = cls_substitute(s->g, count, nodes, used, from, to, out);
    free(from);
    return status;
}

cls_status clsi_sparse_place(const cls_system *s, const clsi_place *at, const clsi_sparse *t,
                             cls_node **out) {
    cls_node *nodes = *out = clsi_calloc(t->n, sizeof *nodes);
    if (!nodes) return CLS_MEMORY;
    for (size_t e = 0; e < t->n; e++) nodes[e] = t->entries[e].node;
    cls_status status = clsi_place_at(s, at, t->n, nodes, nodes);
    if (status == CLS_OK) return CLS_OK;
    free(nodes);
    *out = NULL;
    return status;
}

/* ---- brackets ---- */

/* sum + c x, without writing 0 x or 1 x. */
static cls_node add_product(cls_graph *g, cls_node sum, cls_node c, cls_node x) {
    if (cls_is_constant(g, c, 0)) return sum;
    cls_node term = cls_is_constant(g, c, 1) ? x : cls_mul(g, c, x);
    return cls_is_constant(g, sum, 0) ? term : cls_add(g, sum, term);
}

cls_status clsi_brackets_at(const cls_system *s, const clsi_physics *physics, const clsi_place *at,
                            const cls_node *slope, cls_node *rate_q, cls_node *against) {
    size_t nq = s->nq, n = s->n;
    const clsi_sparse *kinematics = &physics->kinematics, *poisson = &physics->poisson;
    const cls_node *v = at->v ? at->v : s->v;
    cls_node *K = NULL, *P = NULL;
    cls_status status = clsi_sparse_place(s, at, kinematics, &K);
    if (status == CLS_OK) status = clsi_sparse_place(s, at, poisson, &P);
    if (status != CLS_OK) {
        free(K);
        return status;
    }
    for (size_t j = 0; j < n; j++) against[j] = cls_constant(s->g, 0);
    for (size_t i = 0; i < nq; i++) {
        if (rate_q) rate_q[i] = cls_constant(s->g, 0);
        CLSI_EACH(kinematics, i, e) {
            size_t j = kinematics->entries[e].column;
            if (rate_q) rate_q[i] = add_product(s->g, rate_q[i], K[e], v[j]);
            against[j] = add_product(s->g, against[j], K[e], slope[i]);
        }
    }
    for (size_t k = 0; k < n; k++) CLSI_EACH(poisson, k, e) {
            size_t j = poisson->entries[e].column;
            against[j] = add_product(s->g, against[j], P[e], v[k]);
        }
    free(K);
    free(P);
    return CLS_OK;
}

/* ---- shorter writing ---- */

static cls_node shorter(cls_graph *g, cls_node a) {
    if (a == CLS_NO_NODE) return a;
    cls_node b = clsi_simplify_written(g, a);
    if (b == a || b == CLS_NO_NODE) return a;
    return clsi_expression_length(g, b) <= clsi_expression_length(g, a) ? b : a;
}

/* Of many, those of one shape once. */
static cls_node shorter_repeated(cls_graph *g, clsi_repeats *repeats, cls_node a) {
    clsi_cone cone;
    const cls_node *members;
    size_t n;
    cls_node b;
    if (clsi_repeats_members(repeats, a, &members) && clsi_repeats_again(repeats, 0, NULL, &n, &b))
        return b;
    if (clsi_is_large(g, a) || !clsi_cone_create(g, 1, &a, &cone)) return a; /* large ones stay */
    if (!clsi_repeats_find(repeats, &cone, 0, NULL, &n, &b)) {
        b = shorter(g, a);
        clsi_repeats_keep(repeats, 1, &b);
    }
    clsi_cone_free(&cone);
    return b;
}

static void shorten(cls_graph *g, size_t n, cls_node *list) {
    clsi_repeats *repeats = n > CLSI_MANY_TERMS ? clsi_repeats_create(g) : NULL;
    for (size_t i = 0; i < n; i++)
        list[i] = repeats ? shorter_repeated(g, repeats, list[i]) : shorter(g, list[i]);
    clsi_repeats_free(&repeats);
}

/* ---- the three forms ---- */

static void copy(size_t n, const cls_node *from, cls_node *to) {
    for (size_t i = 0; i < n; i++) to[i] = from[i];
}

static cls_node dot(cls_graph *g, size_t n, const cls_node *a, const cls_node *b) {
    cls_node sum = cls_constant(g, 0);
    for (size_t i = 0; i < n; i++) sum = cls_add(g, sum, cls_mul(g, a[i], b[i]));
    return sum;
}

/* The gradient of `f` in n symbols, shortened, with a sign. */
static cls_status slope(cls_graph *g, cls_node f, size_t n, const cls_node *symbols, int sign,
                        cls_node *out) {
    cls_status status = n ? cls_gradient(g, f, n, symbols, out) : CLS_OK;
    for (size_t i = 0; i < n && status == CLS_OK; i++)
        if (sign < 0) out[i] = cls_neg(g, out[i]);
    if (status == CLS_OK) shorten(g, n, out);
    return status;
}

static cls_status build_phase(const cls_system *s, const clsi_physics *ph, clsi_form *f) {
    cls_graph *g = s->g;
    cls_node *scratch = clsi_calloc(s->n, sizeof *scratch), other = CLS_NO_NODE;
    if (!scratch) return CLS_MEMORY;
    copy(s->n, s->p, f->p);
    copy(s->m, s->S, f->S);
    cls_status status = CLS_OK;
    f->lagrangian = CLS_NO_NODE;
    if (s->formalism == CLS_HAMILTONIAN) {
        f->generator = cls_add(g, ph->formula, ph->potential);
        int closed = clsi_legendre(g, f->generator, s->n, s->p, s->v, &other, scratch);
        if (closed == 1) f->lagrangian = other;
        status = closed < 0 ? CLS_MEMORY : slope(g, f->generator, s->n, s->p, 1, f->v);
    } else {
        f->lagrangian = cls_sub(g, ph->formula, ph->potential);
        int closed = clsi_legendre(g, f->lagrangian, s->n, s->v, s->p, &f->generator, f->v);
        status = closed == 1 ? CLS_OK : closed == 0 ? CLS_NUMERIC : CLS_MEMORY;
        if (closed == 1) shorten(g, s->n, f->v);
    }
    if (status == CLS_OK) status = slope(g, f->generator, s->m, s->S, 1, f->T);
    if (status == CLS_OK) status = slope(g, f->generator, s->nq, s->q, 1, f->energy_q);
    f->energy = f->generator;
    free(scratch);
    return status;
}

static cls_status build_velocity(const cls_system *s, const clsi_physics *ph, clsi_form *f) {
    cls_graph *g = s->g;
    copy(s->n, s->v, f->v);
    copy(s->m, s->S, f->S);
    f->generator = f->lagrangian = cls_sub(g, ph->formula, ph->potential);
    cls_status status = slope(g, f->generator, s->n, s->v, 1, f->p);
    if (status == CLS_OK) status = slope(g, f->generator, s->m, s->S, -1, f->T);
    if (status == CLS_OK) status = slope(g, f->generator, s->nq, s->q, -1, f->energy_q);
    f->energy = shorter(g, cls_sub(g, dot(g, s->n, f->p, s->v), f->generator));
    return status;
}

static cls_status build_thermal(const cls_system *s, const clsi_physics *ph, clsi_form *f) {
    cls_graph *g = s->g;
    copy(s->n, s->v, f->v);
    copy(s->m, s->T, f->T);
    f->generator = cls_sub(g, ph->formula, ph->potential);
    f->lagrangian = CLS_NO_NODE;
    cls_status status = slope(g, f->generator, s->n, s->v, 1, f->p);
    if (status == CLS_OK) status = slope(g, f->generator, s->m, s->T, 1, f->S);
    if (status == CLS_OK) status = slope(g, f->generator, s->nq, s->q, -1, f->energy_q);
    cls_node sum = cls_add(g, dot(g, s->n, f->p, s->v), dot(g, s->m, f->S, s->T));
    f->energy = shorter(g, cls_sub(g, sum, f->generator));
    return status;
}

/* ---- one block of memory ---- */

static clsi_form *form_allocate(const cls_system *s) {
    size_t nq = s->nq, n = s->n, m = s->m, total = 3 * nq + 3 * n + 3 * m;
    clsi_form *f = clsi_calloc(1, sizeof *f + total * sizeof(cls_node));
    if (!f) return NULL;
    cls_node *at = (cls_node *)(f + 1);
    f->nq = nq;
    f->n = n;
    f->m = m;
    f->nz = nq + n + m;
    f->z = at;
    f->q = f->z + f->nz;
    f->v = f->q + nq;
    f->p = f->v + n;
    f->energy_q = f->p + n;
    f->S = f->energy_q + nq;
    f->T = f->S + m;
    return f;
}

static cls_status choose(const cls_system *s, const clsi_physics *ph, clsi_form_kind *kind) {
    *kind = s->formalism == CLS_HAMILTONIAN ? CLSI_FORM_PHASE : CLSI_FORM_THERMAL;
    if (s->formalism != CLS_LAGRANGIAN) return CLS_OK;
    cls_node *v = clsi_calloc(s->n, sizeof *v), H;
    int closed = v ? clsi_legendre(s->g, ph->formula, s->n, s->v, s->p, &H, v) : -1;
    free(v);
    *kind = closed == 1 ? CLSI_FORM_PHASE : CLSI_FORM_VELOCITY;
    return closed < 0 ? CLS_MEMORY : CLS_OK;
}

/* The graph knows best what went wrong in it (too many nodes, no memory). */
static cls_status graph_trouble(const cls_system *s, cls_status status, cls_error *error) {
    cls_error inner = {0};
    if (cls_graph_status(s->g, &inner) != CLS_OK && inner.status != CLS_MEMORY)
        return clsi_fail(error, CLS_SYSTEM, "%s", inner.message);
    if (status == CLS_MEMORY || inner.status == CLS_MEMORY) return clsi_no_memory(error);
    return clsi_fail(error, CLS_SYSTEM, "the mass matrix cannot be inverted in closed form");
}

static cls_status build(const cls_system *s, const clsi_physics *physics, clsi_form *f) {
    cls_status status = f->kind == CLSI_FORM_PHASE      ? build_phase(s, physics, f)
                        : f->kind == CLSI_FORM_VELOCITY ? build_velocity(s, physics, f)
                                                        : build_thermal(s, physics, f);
    f->energy_t = s->varies ? cls_derivative(s->g, f->generator, s->t) : cls_constant(s->g, 0);
    if (f->kind != CLSI_FORM_PHASE && s->varies) f->energy_t = cls_neg(s->g, f->energy_t);
    f->energy_t = shorter(s->g, f->energy_t);
    f->entropy = s->has_entropy ? physics->entropy : clsi_sum(s->g, s->m, f->S);
    return status == CLS_OK ? cls_graph_status(s->g, NULL) : status;
}

cls_status clsi_form_create(const cls_system *s, const clsi_physics *physics,
                            const clsi_form_kind *kind, clsi_form **out, cls_error *error) {
    *out = NULL;
    clsi_form *f = form_allocate(s);
    if (!f) return clsi_no_memory(error);
    cls_status status = CLS_OK;
    if (kind)
        f->kind = *kind;
    else
        status = choose(s, physics, &f->kind);
    copy(s->nq, s->q, f->q);
    copy(s->nq, s->q, f->z);
    copy(s->n, f->kind == CLSI_FORM_PHASE ? s->p : s->v, f->z + s->nq);
    copy(s->m, f->kind == CLSI_FORM_THERMAL ? s->T : s->S, f->z + s->nq + s->n);
    if (status == CLS_OK) status = build(s, physics, f);
    if (status != CLS_OK) {
        clsi_form_free(&f);
        return graph_trouble(s, status, error);
    }
    *out = f;
    return CLS_OK;
}

void clsi_form_free(clsi_form **form) {
    free(*form);
    *form = NULL;
}
