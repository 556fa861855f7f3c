/* Heat balances written so that what leaves one entropy enters the other to the last bit.
 *
 * Problem: the entropies of a step of discrete-gradient satisfy T_i* dS_i = h (own_i + exchanged_i),
 * where exchanged_i is what conduction and a friction operator bring (own_i: frictions, and what
 * comes from outside). With a stiff conduction,
 * kappa (T_j* - T_i*) is a large number times the round-off of a temperature: solved for dS_i in one
 * balance and computed anew in the other, the two differ by h kappa eps T, which is energy from
 * nowhere. So each flow is written once. The entropies that exchange heat are a graph; along a
 * spanning tree of it
 *
 *     row of i    = balance of all entropies below i and i itself: only what crosses the border
 *     row of root = balance of the whole tree: nothing is exchanged with anyone
 *
 * These are sums of the rows as they stand in docs/laws.md (1), so the solution is the same; but the
 * total contains no conductance at all, and its round-off does not know how stiff the system is.
 * Reservoirs come first as roots: their entropy is then solved on paper (presolve.c) from the total.
 *
 * The total of a friction operator is -force.v, since M dE = 0 (docs/laws.md, 19).
 *
 * Steps far beyond the time in which two entropies exchange their heat: with x = h kappa (1/C_i +
 * 1/C_k) the difference of their temperatures goes by (1 - x/2)/(1 + x/2) over a step, which beyond
 * x = 2 changes sign and for x >> 2 does not decay: lawful, and wrong for ever. So heat is conducted
 * between temperatures theta that already contain what conduction brings (clsi_damp_exchange):
 *
 *     q_i = h sum_k kappa_ik (theta_k - theta_i),   theta_i = T_i* + w_i q_i / (2 C_i),   w_i >= 0
 *
 * With L the matrix of the conductances, q = -h L (1 + h/2 diag(w/C) L)^-1 T*. The inverse of such a
 * matrix has no negative entry, so what stands before T* is again a matrix of conductances that are
 * not negative, among all bodies: the laws hold for every w/C >= 0 by form. A body whose formulas give it
 * a negative heat capacity has w = 0. w = 0 is the plain step (order 2), lawful for every C; a difference that conduction alone moves goes by (1 - (1 - w) x/2)/(1 + (1 +
 * w) x/2). w is 0 below x = 2, where nothing changes, and where conduction has settled to what other
 * heat demands (decision 80). It contains no unknown. */
#include "scheme/scheme.h"
#include "base/base.h"
#include "expr/graph.h"
#include "expr/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 32 }; /* entropies; above, balances stand as they are */

typedef struct tree {
    clsi_step *st;
    const clsi_flows *flows;
    const cls_node *T;             /* those that conduct */
    size_t *parent, *order, *root; /* (m): itself for roots; parents before children */
    cls_node *below;               /* (m) sum of T dS - h own - share over the subtree */
} tree;

/* The conductance between i and k at the place, or CLS_NO_NODE. */
static cls_node conductance(const tree *b, size_t i, size_t k) {
    const clsi_sparse *t = &b->st->s->bound.conductance;
    CLSI_EACH(t, i, e)
    if (t->entries[e].column == k) return b->flows->kappa[e];
    return CLS_NO_NODE;
}

/* 1 when heat may go from i to k. */
static int exchange(const tree *b, size_t i, size_t k) {
    const cls_graph *g = b->st->g;
    cls_node kappa = conductance(b, i, k);
    if (kappa != CLS_NO_NODE && !cls_is_constant(g, kappa, 0)) return 1;
    return !cls_is_constant(g, b->flows->operator_heat[i], 0) &&
           !cls_is_constant(g, b->flows->operator_heat[k], 0);
}

static int is_reservoir(const tree *b, size_t i) {
    return !cls_depends(b->st->g, b->T[i], b->st->n_unknowns, b->st->unknown);
}

/* All that can be reached from `root`, breadth first; returns the number of entropies placed. */
static size_t grow(tree *b, size_t root, size_t placed) {
    size_t m = b->st->m;
    b->parent[root] = b->root[root] = root;
    b->order[placed++] = root;
    for (size_t at = placed - 1; at < placed; at++)
        for (size_t k = 0; k < m; k++) {
            size_t i = b->order[at];
            if (b->parent[k] != m || !exchange(b, i, k)) continue;
            b->parent[k] = i;
            b->root[k] = root;
            b->order[placed++] = k;
        }
    return placed;
}

static void span(tree *b) {
    size_t m = b->st->m, placed = 0;
    for (size_t i = 0; i < m; i++) b->parent[i] = m; /* nobody yet */
    for (size_t i = 0; i < m; i++)
        if (b->parent[i] == m && is_reservoir(b, i)) placed = grow(b, i, placed);
    for (size_t i = 0; i < m; i++)
        if (b->parent[i] == m) placed = grow(b, i, placed);
}

/* 1 when k is i or below it. */
static int is_below(const tree *b, size_t i, size_t k) {
    while (k != i && b->parent[k] != k) k = b->parent[k];
    return k == i;
}

/* Heat per time into the entropies at and below i from those that are not. */
static cls_node crossing(const tree *b, size_t i) {
    cls_graph *g = b->st->g;
    size_t m = b->st->m;
    cls_node sum = cls_constant(g, 0);
    for (size_t a = 0; a < m; a++) {
        if (!is_below(b, i, a)) continue;
        sum = cls_add(g, sum, b->flows->operator_heat[a]);
        for (size_t k = 0; k < m; k++) {
            if (is_below(b, i, k)) continue;
            cls_node drop = cls_sub(g, b->T[k], b->T[a]), kappa = conductance(b, a, k);
            if (kappa != CLS_NO_NODE) sum = cls_add(g, sum, cls_mul(g, kappa, drop));
        }
    }
    return sum;
}

/* What a friction operator brings to all entropies together, for the tree that has it. */
static cls_node brought(const tree *b, size_t root, const cls_node *v) {
    cls_graph *g = b->st->g;
    for (size_t i = 0; i < b->st->m; i++)
        if (b->root[i] == root && !cls_is_constant(g, b->flows->operator_heat[i], 0))
            return cls_neg(g, clsi_dot(b->st, b->st->n, b->flows->operator_force, v));
    return cls_constant(g, 0);
}

/* Many entropies: every balance as it stands, since those of subtrees contain one another and would
 * fill the Jacobian. Each flow is one node whose values in the two balances differ by the sign only,
 * and presolve leaves these equations alone, so that what rounding a temperature changes in one it
 * changes in the other; the total is off by the round-off of the flows themselves. */
static cls_status local_balances(clsi_step *st, const clsi_flows *flows, const clsi_place *at,
                                 const cls_node *dS, cls_node share, cls_node *row) {
    cls_graph *g = st->g;
    const clsi_sparse *t = &st->s->bound.conductance;
    const cls_node *T = flows->crossing.conducts;
    for (size_t i = 0; i < st->m; i++) {
        cls_node heat = cls_add(g, flows->own[i], flows->outside[i]);
        heat = cls_add(g, heat, flows->operator_heat[i]);
        CLSI_EACH(t, i, e) {
            size_t k = t->entries[e].column;
            cls_node drop = i < k ? cls_sub(g, T[k], T[i]) : cls_sub(g, T[i], T[k]);
            cls_node flow = cls_mul(g, flows->kappa[e], drop);
            heat = i < k ? cls_add(g, heat, flow) : cls_sub(g, heat, flow);
        }
        heat = cls_add(g, cls_mul(g, st->h, heat), share);
        row[i] = cls_sub(g, cls_mul(g, at->T[i], dS[i]), heat);
    }
    return cls_graph_status(g, NULL);
}

/* |a|, with a slope at 0 too: a conductance of 0 is where learning may begin. */
static cls_node absolute(cls_graph *g, cls_node a) {
    return cls_apply(g, CLS_FN_SQRT, cls_add(g, cls_mul(g, a, a), cls_constant(g, 1e-40)));
}

/* 1/C of an entropy at the start of the step: dT/dS / T. */
static cls_node softness(const clsi_step *st, size_t i) {
    const clsi_form *f = st->f;
    cls_graph *g = st->g;
    cls_node z = f->z[st->nq + st->n + i];
    if (f->kind != CLSI_FORM_THERMAL) return cls_div(g, cls_derivative(g, f->T[i], z), f->T[i]);
    return cls_div(g, cls_constant(g, 1), cls_mul(g, f->T[i], cls_derivative(g, f->S[i], z)));
}

/* max(a, 0) */
static cls_node positive(cls_graph *g, cls_node a) {
    return cls_mul(g, cls_constant(g, 0.5), cls_add(g, a, absolute(g, a)));
}

/* How fast the temperature of an entropy changes by the motion alone, at constant entropy: over the
 * positions (`column`) that it depends on. */
static cls_node by_motion(const clsi_step *st, const clsi_point *start, const clsi_columns *column,
                          size_t i, cls_node soft) {
    const clsi_form *f = st->f;
    cls_graph *g = st->g;
    int thermal = f->kind == CLSI_FORM_THERMAL;
    cls_node of = thermal ? f->S[i] : f->T[i], sum = cls_constant(g, 0);
    size_t n;
    cls_node *symbols = clsi_list_symbols(g, 1, &of, &n);
    if (!symbols) return clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    for (size_t k = 0; k < n; k++) {
        size_t j = symbols[k] < column->size ? column->of[symbols[k]] : 0;
        if (!j) continue;
        cls_node slope = cls_derivative(g, of, symbols[k]);
        sum = cls_add(g, sum, cls_mul(g, slope, start->rate_q[j - 1]));
    }
    free(symbols);
    return thermal ? cls_neg(g, cls_mul(g, sum, cls_mul(g, soft, f->T[i]))) : sum;
}

/* sum over k of |kappa_ik| (a_k - a_i) (b_k - b_i), with r_a, r_b (nr) for a, b of the reservoirs. */
static cls_node uneven_product(const clsi_step *st, const clsi_flows *flows, size_t i,
                               const cls_node *a, const cls_node *r_a, const cls_node *b,
                               const cls_node *r_b) {
    cls_graph *g = st->g;
    const clsi_sparse *t = &st->s->bound.conductance;
    size_t nr = st->s->nr;
    cls_node sum = cls_constant(g, 0);
    CLSI_EACH(t, i, e) {
        size_t k = t->entries[e].column;
        cls_node product = cls_mul(g, cls_sub(g, a[k], a[i]), cls_sub(g, b[k], b[i]));
        sum = cls_add(g, sum, cls_mul(g, absolute(g, flows->kappa[e]), product));
    }
    for (size_t k = 0; k < nr; k++) {
        cls_node bath = flows->bath[i * nr + k];
        if (cls_is_constant(g, bath, 0)) continue;
        cls_node product = cls_mul(g, cls_sub(g, r_a[k], a[i]), cls_sub(g, r_b[k], b[i]));
        sum = cls_add(g, sum, cls_mul(g, absolute(g, bath), product));
    }
    return sum;
}

/* How far a (m) differs from its neighbours around i, and from r (nr) in the reservoirs. */
static cls_node unevenness(const clsi_step *st, const clsi_flows *flows, size_t i,
                           const cls_node *a, const cls_node *r) {
    cls_graph *g = st->g;
    cls_node sum = uneven_product(st, flows, i, a, r, a, r);
    return cls_apply(g, CLS_FN_SQRT, cls_add(g, sum, cls_constant(g, 1e-40)));
}

/* At the start of the step: temperatures and how fast conduction and all the rest change them. */
typedef struct rates {
    cls_node *soft, *conducted, *other; /* (m): 1/C, and the two rates */
    cls_node *still, *moving;           /* (nr): zeros, and rates of the reservoirs */
} rates;

static rates rates_at_start(clsi_step *st, const clsi_point *start, const clsi_flows *first,
                            const clsi_flows *flows) {
    cls_graph *g = st->g;
    size_t m = st->m, nr = st->s->nr;
    rates r = {clsi_nodes(st, m), clsi_nodes(st, m), clsi_nodes(st, m), clsi_nodes(st, nr),
               clsi_nodes(st, nr)};
    clsi_columns column;
    if (!clsi_columns_create(g, st->nq, st->f->z, &column)) st->exhausted = 1;
    for (size_t i = 0; i < m && !st->exhausted; i++) {
        cls_node rest = cls_add(g, first->own[i], first->operator_heat[i]);
        rest = cls_add(g, rest, first->crossing.source[i]);
        r.soft[i] = softness(st, i);
        r.conducted[i] = cls_mul(g, r.soft[i], cls_sub(g, first->heat[i], rest));
        cls_node moved = by_motion(st, start, &column, i, r.soft[i]);
        r.other[i] = cls_add(g, cls_mul(g, r.soft[i], rest), moved);
    }
    free(column.of);
    for (size_t k = 0; k < nr; k++) {
        cls_node gone = cls_sub(g, flows->reservoir[k], first->reservoir[k]);
        if (cls_depends(g, gone, st->n_unknowns, st->unknown)) gone = cls_constant(g, 0);
        r.still[k] = cls_constant(g, 0);
        r.moving[k] = cls_div(g, gone, cls_mul(g, cls_constant(g, 0.5), st->h));
    }
    return r;
}

/* w_i. With D the unevenness of the temperatures around i, c of what conduction does to them, o of
 * what all else does: x = h c / D where conduction makes the differences decay. Where it makes them grow,
 * as ahead of a front, they do not change places by themselves, and GROWTH of it counts: of a step that
 * is far too long the neighbours' do. (c - o)/x is how far the differences are from where conduction
 * and the rest are in balance; h o is how far damping would carry them away from there. */
static const double GROWTH = 0.125;

static cls_node damping(const clsi_step *st, const clsi_point *start, const clsi_flows *first,
                        const rates *r, size_t i) {
    cls_graph *g = st->g;
    cls_node c = unevenness(st, first, i, r->conducted, r->still);
    cls_node o = unevenness(st, first, i, r->other, r->moving);
    cls_node D = unevenness(st, first, i, start->T, first->reservoir);
    cls_node decay = cls_neg(
        g, uneven_product(st, first, i, start->T, first->reservoir, r->conducted, r->still));
    cls_node decays = cls_div(g, positive(g, decay), cls_mul(g, D, D));
    cls_node x = cls_add(g, cls_mul(g, cls_constant(g, 1 - GROWTH), decays),
                         cls_mul(g, cls_constant(g, GROWTH), cls_div(g, c, D)));
    x = cls_mul(g, st->h, x);
    cls_node beyond = positive(g, cls_sub(g, x, cls_constant(g, 2)));
    cls_node far = positive(g, cls_sub(g, c, o));
    cls_node harm = cls_add(g, far, cls_add(g, cls_mul(g, x, o), cls_constant(g, 1e-100)));
    return cls_mul(g, cls_div(g, beyond, cls_add(g, x, cls_constant(g, 1e-100))),
                   cls_div(g, far, harm));
}

static size_t count_of_flows(const cls_graph *g, size_t n, const cls_node *kappa) {
    size_t found = 0;
    for (size_t k = 0; k < n; k++) found += !cls_is_constant(g, kappa[k], 0);
    return found;
}

/* ---- is it stiff? ---- */

/* Of many entropies conduction is damped only where the step may be beyond the time in which one of
 * them exchanges its heat, h/C_i sum_k kappa_ik > STIFF at the system's start (plain steps begin to
 * alternate at 1): damping costs as much as half of the step. */
static const double STIFF = 0.5;

typedef struct stiffness {
    size_t n_in, n_out;
    cls_node *in, *out; /* over z, t, the ends' inputs, h, defect, unknowns, parameters */
    double *value;      /* (n_in + n_out) */
} stiffness;

static void take_input(stiffness *x, cls_node symbol, double value) {
    x->in[x->n_in] = symbol;
    x->value[x->n_in++] = value;
}

/* The step does not move: unknowns are 0, and both ends are the start. */
static int read_inputs(const clsi_step *st, stiffness *x) {
    const cls_system *s = st->s;
    double *z = clsi_calloc(cls_system_state_count(s), sizeof *z);
    /* a system with symbols that are still free has no start */
    int good = z && s->dual_program && cls_system_start(s, NULL, z, NULL) == CLS_OK;
    for (size_t k = 0; k < st->nz && good; k++) take_input(x, st->f->z[k], z[k]);
    free(z);
    if (!good) return 0;
    for (size_t k = 0; k < s->nu; k++) {
        take_input(x, st->u0[k], 0);
        take_input(x, st->u1[k], 0);
    }
    take_input(x, st->t, 0);
    take_input(x, st->h, st->length);
    take_input(x, st->defect, 0);
    for (size_t k = 0; k < st->n_unknowns; k++) take_input(x, st->unknown[k], 0);
    for (size_t k = 0; k < s->n_parameters; k++)
        take_input(x, s->parameter_symbol[k], s->parameter_value[k]);
    return 1;
}

static int run_outputs(const clsi_step *st, stiffness *x) {
    cls_program *p = NULL;
    if (clsi_program_create_lean(st->g, 0, x->n_in, x->n_in, x->in, x->n_out, x->n_out, x->out, &p,
                                 NULL) != CLS_OK)
        return 0;
    double *work = clsi_calloc(cls_program_work_size(p) + 1, sizeof *work);
    int good = work != NULL;
    if (good) {
        cls_program_prepare(p, work);
        cls_program_run(p, work, x->value, x->value + x->n_in);
    }
    free(work);
    cls_program_free(&p);
    return good;
}

/* Outputs: 1/C (m), conductances, those to reservoirs (m nr). */
static double largest_stiffness(const clsi_step *st, const clsi_flows *flows, stiffness *x) {
    const clsi_sparse *t = &st->s->bound.conductance;
    size_t m = st->m, nr = st->s->nr;
    double worst = 0;
    for (size_t i = 0; i < m; i++) x->out[i] = softness(st, i);
    memcpy(x->out + m, flows->kappa, t->n * sizeof *x->out);
    memcpy(x->out + m + t->n, flows->bath, m * nr * sizeof *x->out);
    if (!read_inputs(st, x) || !run_outputs(st, x)) return 0;
    const double *soft = x->value + x->n_in, *kappa = soft + m, *bath = kappa + t->n;
    for (size_t i = 0; i < m; i++) {
        double sum = 0;
        CLSI_EACH(t, i, e) sum += fabs(kappa[e]);
        for (size_t k = 0; k < nr; k++) sum += fabs(bath[i * nr + k]);
        worst = fmax(worst, st->length * fabs(soft[i]) * sum);
    }
    return worst;
}

static int is_stiff(clsi_step *st, const clsi_flows *flows) {
    const cls_system *s = st->s;
    size_t n_out = st->m * (1 + s->nr) + s->bound.conductance.n;
    size_t n_in = st->nz + 2 * s->nu + 3 + st->n_unknowns + s->n_parameters;
    if (!(st->length > 0) || isinf(st->length)) return st->length > 0;
    stiffness x = {.n_out = n_out,
                   .in = clsi_calloc(n_in, sizeof *x.in),
                   .out = clsi_calloc(n_out, sizeof *x.out),
                   .value = clsi_calloc(n_in + n_out, sizeof *x.value)};
    int stiff = 0;
    if (x.in && x.out && x.value)
        stiff = largest_stiffness(st, flows, &x) > STIFF;
    else
        st->exhausted = 1;
    free(x.in);
    free(x.out);
    free(x.value);
    return stiff;
}

void clsi_damp_exchange(clsi_step *st, const clsi_point *start, const clsi_place *at,
                        const cls_node *dS, cls_node share, clsi_flows *flows) {
    cls_graph *g = st->g;
    size_t m = st->m, nr = st->s->nr, baths = count_of_flows(g, m * nr, flows->bath);
    /* between given states there is nothing to settle; a stage backwards from equal temperatures has
     * no end; with a total entropy heats are not in the flows alone */
    if (st->z1 || st->composed || st->s->coupled) return;
    if (!(baths + count_of_flows(g, st->s->bound.conductance.n, flows->kappa))) return;
    st->stiff = m > MANY && is_stiff(st, flows);
    if (m > MANY && !st->stiff) return;
    clsi_place here = {start->q, start->v, start->p,          start->S,
                       start->T, start->t, clsi_inputs(st, 0)};
    clsi_flows first = clsi_flows_at(st, &here);
    rates r = rates_at_start(st, start, &first, flows);
    cls_node *theta = clsi_nodes(st, m);
    for (size_t i = 0; i < m; i++) {
        theta[i] = at->T[i];
        if (cls_is_constant(g, r.soft[i], 0)) continue; /* an environment */
        cls_node rest = cls_add(g, flows->own[i], flows->operator_heat[i]);
        rest = cls_mul(g, st->h, cls_add(g, rest, flows->crossing.source[i]));
        cls_node q = cls_sub(g, cls_mul(g, at->T[i], dS[i]), cls_add(g, rest, share));
        cls_node w = damping(st, start, &first, &r, i);
        cls_node half = cls_mul(g, cls_constant(g, 0.5), cls_mul(g, w, positive(g, r.soft[i])));
        theta[i] = cls_add(g, theta[i], cls_mul(g, half, q));
    }
    flows->crossing.conducts = theta;
    if (baths) clsi_flows_cross(st->s, flows);
}

/* A tree over the entropies that exchange heat. Of many all are one: they need not be told apart. */
static cls_status grow_trees(clsi_step *st, const clsi_flows *flows, tree *b) {
    size_t m = st->m, *block = clsi_calloc(3 * m, sizeof *block);
    if (!block) return CLS_MEMORY;
    *b = (tree){st,        flows,         flows->crossing.conducts, block,
                block + m, block + 2 * m, clsi_nodes(st, m)};
    if (m <= MANY) span(b);
    return CLS_OK;
}

/* Conductances of a tree to reservoir k. */
static cls_node to_reservoir(const tree *b, size_t root, size_t k) {
    cls_graph *g = b->st->g;
    cls_node sum = cls_constant(g, 0);
    for (size_t i = 0; i < b->st->m; i++)
        if (b->root[i] == root) sum = cls_add(g, sum, b->flows->bath[i * b->st->s->nr + k]);
    return sum;
}

/* 1/T of the reservoirs that a tree conducts to, each counted by its conductance; CLS_NO_NODE for
 * none. */
static cls_node coldness_around(const tree *b, size_t root) {
    cls_graph *g = b->st->g;
    cls_node all = cls_constant(g, 1e-300), cold = CLS_NO_NODE;
    size_t found = 0;
    for (size_t k = 0; k < b->st->s->nr; k++) {
        cls_node bath = to_reservoir(b, root, k), by = cls_constant(g, found ? 0 : 1e-300);
        if (cls_is_constant(g, bath, 0)) continue;
        cls_node part = cls_div(g, cls_add(g, bath, by), b->flows->reservoir[k]);
        cold = found++ ? cls_add(g, cold, part) : part;
        all = cls_add(g, all, bath);
    }
    return found ? cls_div(g, cold, all) : CLS_NO_NODE;
}

/* Heat that came into a tree from outside: sum T* dS without what frictions, the friction operator and
 * the defect gave. */
static cls_node received(const tree *b, const clsi_place *at, const cls_node *dS, cls_node share,
                         size_t root) {
    clsi_step *st = b->st;
    cls_graph *g = st->g;
    cls_node heat = cls_constant(g, 0), inside = brought(b, root, at->v), shares = heat;
    for (size_t i = 0; i < st->m; i++) {
        if (b->root[i] != root) continue;
        heat = cls_add(g, heat, cls_mul(g, at->T[i], dS[i]));
        inside = cls_add(g, inside, b->flows->own[i]);
        shares = cls_add(g, shares, share);
    }
    return cls_sub(g, heat, cls_add(g, cls_mul(g, st->h, inside), shares));
}

/* With a stiff conduction to a reservoir h kappa (T_r - T*) is a large number times the round-off of T*;
 * what the entropies have is not, and keeps E - W - Q as it is. What the two differ by is
 * round-off of the conduction, and leaves with it: at the temperatures of the reservoirs that it goes
 * to. Entropies that conduct to none get their heat as it is stated: a heavy body whose round-off was
 * booked as heat of a cold reservoir that it has nothing to do with made its entropy fall. */
cls_status clsi_exact_heat(clsi_step *st, const clsi_flows *flows, const clsi_place *at,
                           const cls_node *dS, cls_node share) {
    cls_graph *g = st->g;
    tree b;
    /* without entropies there is nothing to compute it from, and the defect is no energy */
    if (!st->s->nr || !st->m || st->s->coupled) return CLS_OK;
    if (grow_trees(st, flows, &b) != CLS_OK) return CLS_MEMORY;
    cls_node stated = cls_neg(g, flows->escaped), heat = cls_constant(g, 0);
    for (size_t root = 0; root < st->m; root++) {
        if (b.root[root] != root) continue;
        cls_node cold = coldness_around(&b, root), here = cls_constant(g, 0);
        for (size_t i = 0; i < st->m; i++)
            if (b.root[i] == root) here = cls_add(g, here, flows->outside[i]);
        if (cold == CLS_NO_NODE) {
            stated = cls_add(g, stated, here);
            continue;
        }
        cls_node got = received(&b, at, dS, share, root);
        cls_node more = cls_mul(g, cls_sub(g, got, cls_mul(g, st->h, here)), cold);
        st->gain[CLSI_OUTSIDE] = cls_sub(g, st->gain[CLSI_OUTSIDE], more);
        heat = cls_add(g, heat, got);
    }
    st->gain[CLSI_HEAT] = cls_add(g, heat, cls_mul(g, st->h, stated));
    free(b.parent);
    return CLS_OK;
}

cls_status clsi_heat_balances(clsi_step *st, const clsi_flows *flows, const clsi_place *at,
                              const cls_node *dS, cls_node share, cls_node *row) {
    cls_graph *g = st->g;
    size_t m = st->m;
    if (m > MANY) return local_balances(st, flows, at, dS, share, row);
    tree b;
    if (grow_trees(st, flows, &b) != CLS_OK) return CLS_MEMORY;
    for (size_t i = 0; i < m; i++) {
        cls_node given = cls_add(g, flows->own[i], flows->outside[i]);
        cls_node heat = cls_add(g, cls_mul(g, st->h, given), share);
        b.below[i] = cls_sub(g, cls_mul(g, at->T[i], dS[i]), heat);
    }
    for (size_t k = m; k-- > 0;) { /* children before parents */
        size_t i = b.order[k], parent = b.parent[i];
        int top = parent == i;
        if (!top) b.below[parent] = cls_add(g, b.below[parent], b.below[i]);
        cls_node heat = top ? brought(&b, i, at->v) : crossing(&b, i);
        row[i] = cls_sub(g, b.below[i], cls_mul(g, st->h, heat));
    }
    free(b.parent);
    return CLS_OK;
}
