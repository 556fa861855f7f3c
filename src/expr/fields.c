/* Field nodes in the graph: storage, derivatives, discrete derivatives (fields.h has the rules).
 *
 * A node holds the numbers of its field and of its points; points are lists of nodes, kept once.
 * The indices of a derivative are sorted and the points of a pair are in order of age, so that what
 * is equal is one node. */
#include "expr/fields.h"
#include "expr/graph.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NO_INDEX = UINT8_MAX };

size_t clsi_field_result(size_t d, clsi_field_pass pass) {
    switch (pass) {
    case CLSI_PASS_GRADIENT: return 1;
    case CLSI_PASS_CURVATURE: return 1 + d;
    case CLSI_PASS_THIRD: return 1 + d + d * d;
    case CLSI_PASS_PAIR_U: return d;
    case CLSI_PASS_PAIR_W: return d + d * d;
    default: return 0;
    }
}

size_t clsi_field_point_results(size_t d) {
    return 1 + d + d * d + d * d * d;
}

size_t clsi_field_pair_results(size_t d) {
    return d + 2 * d * d;
}

/* ---- fields of a graph ---- */

void clsi_graph_field_keep(clsi_graph_field *f) {
    atomic_fetch_add(&f->owners, 1);
}

void clsi_graph_field_release(clsi_graph_field **field) {
    clsi_graph_field *f = *field;
    *field = NULL;
    if (!f || atomic_fetch_sub(&f->owners, 1) > 1) return;
    f->kind->clear(f);
    free(f);
}

void clsi_graph_drop_fields(cls_graph *g) {
    for (size_t k = 0; k < g->n_fields; k++) clsi_graph_field_release(&g->fields[k]);
    free(g->fields);
    free(g->points);
    free(g->point_nodes);
}

/* The number of the field in the graph, or UINT32_MAX without memory. */
static uint32_t add_field(cls_graph *g, clsi_graph_field *f) {
    for (size_t k = 0; k < g->n_fields; k++) {
        const clsi_graph_field *old = g->fields[k];
        if (old->kind == f->kind && old->d == f->d && old->block == f->block &&
            f->kind->equal(old, f)) {
            clsi_graph_field_release(&f);
            return (uint32_t)k;
        }
    }
    if (g->n_fields >= 0xffffff ||
        !clsi_grow(&g->fields, &g->fields_capacity, g->n_fields + 1, sizeof *g->fields)) {
        clsi_graph_field_release(&f);
        return UINT32_MAX;
    }
    g->fields[g->n_fields] = f;
    return (uint32_t)g->n_fields++;
}

/* The number of the list x (d), or UINT32_MAX without memory. */
static uint32_t add_point(cls_graph *g, size_t d, const cls_node *x) {
    for (size_t k = 0; k < g->n_points; k++)
        if (g->points[k].n == d &&
            memcmp(g->point_nodes + g->points[k].first, x, d * sizeof *x) == 0)
            return (uint32_t)k;
    if (!clsi_grow(&g->points, &g->points_capacity, g->n_points + 1, sizeof *g->points) ||
        !clsi_grow(&g->point_nodes, &g->point_nodes_capacity, g->n_point_nodes + d,
                   sizeof *g->point_nodes))
        return UINT32_MAX;
    memcpy(g->point_nodes + g->n_point_nodes, x, d * sizeof *x);
    g->points[g->n_points] = (clsi_point_list){(uint32_t)g->n_point_nodes, (uint32_t)d};
    g->n_point_nodes += d;
    return (uint32_t)g->n_points++;
}

cls_node clsi_point_node(const cls_graph *g, uint32_t point, size_t i) {
    return g->point_nodes[g->points[point].first + i];
}

/* ---- nodes ---- */

clsi_field_view clsi_view_field(const cls_graph *g, cls_node a) {
    const clsi_node *n = &g->nodes[a];
    clsi_field_view v = {.pass = (clsi_field_pass)n->function,
                         .u = n->arg[0],
                         .w = n->arg[1],
                         .which = n->arg[2] & 0xffffff,
                         .index = {n->i, n->j, (uint8_t)(n->arg[2] >> 24)}};
    v.field = g->fields[v.which];
    while (v.order < CLSI_NODE_ORDER && v.index[v.order] != NO_INDEX) v.order++;
    return v;
}

static cls_node intern_view(cls_graph *g, const clsi_field_view *v) {
    uint8_t index[CLSI_NODE_ORDER];
    for (size_t k = 0; k < CLSI_NODE_ORDER; k++) index[k] = k < v->order ? v->index[k] : NO_INDEX;
    clsi_node key = {.op = CLS_OP_FIELD,
                     .function = (uint8_t)v->pass,
                     .i = index[0],
                     .j = index[1],
                     .arg = {v->u, v->w, v->which | (uint32_t)index[2] << 24}};
    return clsi_intern(g, &key);
}

static cls_node no_memory(cls_graph *g) {
    return clsi_graph_fail(g, CLS_MEMORY, "out of memory");
}

/* The derivative of phi at point u by the inputs index (order). */
static cls_node derivative_at(cls_graph *g, uint32_t which, uint32_t u, size_t order,
                              const uint8_t *index) {
    static const clsi_field_pass pass[] = {CLSI_PASS_VALUE, CLSI_PASS_GRADIENT, CLSI_PASS_CURVATURE,
                                           CLSI_PASS_THIRD};
    clsi_field_view v = {
        .pass = pass[order], .u = u, .w = CLS_NO_NODE, .which = which, .order = order};
    for (size_t k = 0; k < order; k++) { /* sorted by insertion */
        size_t at = k;
        for (; at > 0 && v.index[at - 1] > index[k]; at--) v.index[at] = v.index[at - 1];
        v.index[at] = index[k];
    }
    return intern_view(g, &v);
}

/* phi<u, w>_i, or its derivative by input j of u (PAIR_U) or w (PAIR_W). */
static cls_node between(cls_graph *g, uint32_t which, clsi_field_pass pass, uint32_t u, uint32_t w,
                        size_t i, size_t j) {
    uint8_t index[] = {(uint8_t)i, (uint8_t)j};
    if (u == w) { /* phi<u, u> is the gradient; u moves at one end only: half the curvature */
        cls_node slope = derivative_at(g, which, u, pass == CLSI_PASS_PAIR ? 1 : 2, index);
        return pass == CLSI_PASS_PAIR ? slope : cls_mul(g, cls_constant(g, 0.5), slope);
    }
    if (u > w) {
        uint32_t t = u;
        u = w;
        w = t;
        if (pass == CLSI_PASS_PAIR_U)
            pass = CLSI_PASS_PAIR_W;
        else if (pass == CLSI_PASS_PAIR_W)
            pass = CLSI_PASS_PAIR_U;
    }
    clsi_field_view v = {.pass = pass,
                         .u = u,
                         .w = w,
                         .which = which,
                         .order = pass == CLSI_PASS_PAIR ? 1 : 2,
                         .index = {(uint8_t)i, (uint8_t)j}};
    return intern_view(g, &v);
}

cls_node clsi_graph_apply(cls_graph *g, const clsi_graph_field_kind *kind, size_t d, void *data,
                          const cls_node *x) {
    return clsi_graph_apply_open(g, kind, d, data, x, CLS_NO_NODE, 0, 0);
}

cls_node clsi_graph_apply_open(cls_graph *g, const clsi_graph_field_kind *kind, size_t d,
                               void *data, const cls_node *x, cls_node block, size_t first,
                               size_t n_parameters) {
    clsi_graph_field *f = clsi_calloc(1, sizeof *f);
    clsi_graph_field own = {.kind = kind, .d = d, .data = data};
    if (!f) {
        kind->clear(&own);
        return no_memory(g);
    }
    f->kind = kind;
    f->d = d;
    f->data = data;
    f->block = block;
    f->first = first;
    f->n_parameters = n_parameters;
    f->owners = 1;
    for (size_t i = 0; i < d; i++)
        if (x[i] == CLS_NO_NODE) {
            clsi_graph_field_release(&f);
            return CLS_NO_NODE;
        }
    uint32_t which = add_field(g, f), u = which == UINT32_MAX ? which : add_point(g, d, x);
    return u == UINT32_MAX ? no_memory(g) : derivative_at(g, which, u, 0, NULL);
}

cls_node clsi_field_rebuild(cls_graph *g, cls_node a, const cls_node *args) {
    clsi_field_view v = clsi_view_field(g, a);
    size_t d = v.field->d, n = v.w == CLS_NO_NODE ? d : 2 * d;
    for (size_t i = 0; i < n; i++)
        if (args[i] == CLS_NO_NODE) return CLS_NO_NODE;
    uint32_t u = add_point(g, d, args), w = CLS_NO_NODE;
    if (u == UINT32_MAX) return no_memory(g);
    if (v.w == CLS_NO_NODE) return derivative_at(g, v.which, u, v.order, v.index);
    w = add_point(g, d, args + d);
    if (w == UINT32_MAX) return no_memory(g);
    return between(g, v.which, v.pass, u, w, v.index[0], v.index[1]);
}

size_t clsi_field_offset(const clsi_field_view *v) {
    size_t d = v->field->d, at = 0;
    for (size_t k = 0; k < v->order; k++) at = at * d + v->index[k];
    return clsi_field_result(d, v->pass) + at;
}

/* ---- what kernels do not have: formulas ---- */

/* The node `a`, written out over symbols of its own: d of u, then d of w. */
static cls_node written_out(cls_graph *g, const clsi_field_view *v, cls_node *symbols) {
    size_t d = v->field->d, first = v->w == CLS_NO_NODE ? 0 : 1;
    cls_node own[CLSI_NODE_INPUTS], bar[CLSI_NODE_INPUTS];
    for (size_t i = 0; i < 2 * d; i++) symbols[i] = cls_fresh_symbol(g, "point");
    for (size_t i = 0; i < d; i++) own[i] = first ? cls_fresh_symbol(g, "point") : symbols[i];
    cls_node phi = v->field->kind->expand(v->field, g, own);
    if (first) {
        if (phi == CLS_NO_NODE ||
            cls_discrete_gradient(g, phi, d, own, symbols, symbols + d, bar) != CLS_OK)
            return CLS_NO_NODE;
        phi = bar[v->index[0]];
    }
    size_t shift = v->pass == CLSI_PASS_PAIR_W ? d : 0;
    for (size_t k = first; k < v->order; k++)
        phi = cls_derivative(g, phi, symbols[shift + v->index[k]]);
    return phi;
}

static void put_points(cls_graph *g, const clsi_field_view *v, const cls_node *symbols, size_t n,
                       cls_node *out) {
    cls_node at[CLSI_NODE_ARGS];
    size_t d = v->field->d, both = v->w == CLS_NO_NODE ? d : 2 * d;
    for (size_t i = 0; i < both; i++)
        at[i] = i < d ? clsi_point_node(g, v->u, i) : clsi_point_node(g, v->w, i - d);
    (void)cls_substitute(g, n, out, both, symbols, at, out);
}

static void slopes_of_formula(cls_graph *g, const clsi_field_view *v, cls_node *out) {
    cls_node symbols[CLSI_NODE_ARGS], a = written_out(g, v, symbols);
    size_t n = v->w == CLS_NO_NODE ? v->field->d : 2 * v->field->d;
    for (size_t i = 0; i < n; i++) out[i] = CLS_NO_NODE;
    if (a == CLS_NO_NODE || cls_gradient(g, a, n, symbols, out) != CLS_OK) return;
    put_points(g, v, symbols, n, out);
}

/* ---- slopes ---- */

void clsi_field_slopes(cls_graph *g, cls_node a, cls_node *out) {
    clsi_field_view v = clsi_view_field(g, a);
    size_t d = v.field->d;
    if (v.pass == CLSI_PASS_THIRD || v.pass == CLSI_PASS_PAIR_U || v.pass == CLSI_PASS_PAIR_W) {
        slopes_of_formula(g, &v, out);
        return;
    }
    for (size_t j = 0; j < d; j++) {
        if (v.pass == CLSI_PASS_PAIR) {
            out[j] = between(g, v.which, CLSI_PASS_PAIR_U, v.u, v.w, v.index[0], j);
            out[d + j] = between(g, v.which, CLSI_PASS_PAIR_W, v.u, v.w, v.index[0], j);
        } else {
            uint8_t index[CLSI_NODE_ORDER];
            memcpy(index, v.index, sizeof index);
            index[v.order] = (uint8_t)j;
            out[j] = derivative_at(g, v.which, v.u, v.order + 1, index);
        }
    }
}

/* Of a derivative of phi: by formulas. */
static void discrete_slopes_of_formula(cls_graph *g, const clsi_field_view *v, const cls_node *u,
                                       const cls_node *w, cls_node *out) {
    cls_node symbols[CLSI_NODE_ARGS], a = written_out(g, v, symbols);
    for (size_t i = 0; i < v->field->d; i++) out[i] = CLS_NO_NODE;
    if (a != CLS_NO_NODE) (void)cls_discrete_gradient(g, a, v->field->d, symbols, u, w, out);
}

void clsi_field_discrete_slopes(cls_graph *g, cls_node a, const cls_node *u, const cls_node *w,
                                cls_node *out) {
    clsi_field_view v = clsi_view_field(g, a);
    size_t d = v.field->d;
    if (v.w != CLS_NO_NODE) {
        clsi_graph_fail(g, CLS_USAGE, "the discrete derivative of a discrete gradient");
        for (size_t i = 0; i < 2 * d; i++) out[i] = CLS_NO_NODE;
    } else if (v.order) {
        discrete_slopes_of_formula(g, &v, u, w, out);
    } else {
        uint32_t at_u = add_point(g, d, u), at_w = add_point(g, d, w);
        for (size_t i = 0; i < d; i++)
            out[i] = at_u == UINT32_MAX || at_w == UINT32_MAX
                         ? no_memory(g)
                         : between(g, v.which, CLSI_PASS_PAIR, at_u, at_w, i, 0);
    }
}

/* ---- rounding ---- */

static cls_node terms_of(cls_graph *g, size_t n, const cls_node *nodes, const cls_node *slopes) {
    cls_node sum = cls_constant(g, 0);
    for (size_t k = 0; k < n; k++) {
        clsi_field_view v = clsi_view_field(g, nodes[k]);
        double size = v.field->kind->terms(v.field, v.order ? v.index[0] : -1);
        if (isnan(size)) return clsi_graph_fail(g, CLS_MEMORY, "out of memory");
        cls_node by = cls_mul(g, cls_constant(g, size), slopes[k]);
        sum = cls_add(g, sum, cls_mul(g, by, by));
    }
    return cls_apply(g, CLS_FN_SQRT, sum);
}

cls_node clsi_terms_in_fields(cls_graph *g, cls_node a) {
    clsi_cone cone;
    if (a >= g->n) return CLS_NO_NODE;
    if (!g->n_fields) return cls_constant(g, 0);
    if (!clsi_cone_create(g, 1, &a, &cone)) return clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    size_t n = 0;
    for (size_t k = 0; k < cone.n; k++) {
        if (cls_node_op(g, cone.node[k]) != CLS_OP_FIELD) continue;
        clsi_field_pass pass = clsi_view_field(g, cone.node[k]).pass;
        if (pass == CLSI_PASS_VALUE || pass == CLSI_PASS_GRADIENT) cone.node[n++] = cone.node[k];
    }
    cls_node *slopes = clsi_calloc(n + 1, sizeof *slopes), sum = CLS_NO_NODE;
    if (!slopes)
        sum = clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    else if (clsi_slopes_between(g, a, n, cone.node, slopes) == CLS_OK)
        sum = terms_of(g, n, cone.node, slopes);
    free(slopes);
    clsi_cone_free(&cone);
    return sum;
}
