/* Formulas that watch a motion: how large the terms of its laws are (measures.h). */
#include "simulate/measures.h"
#include "base/base.h"
#include "expr/graph.h"
#include "scheme/scheme.h"
#include <stdlib.h>
#include <string.h>

cls_node clsi_absolute(cls_graph *g, cls_node a) {
    return cls_apply(g, CLS_FN_SQRT, cls_mul(g, a, a));
}

/* The partial sums and terms of a sum, each once; the sum itself comes first. Beyond MAX_TERMS a
 * partial sum counts as one term. */
enum { MAX_TERMS = 256 };

typedef struct terms {
    cls_node node[MAX_TERMS];
    size_t n;
} terms;

static int is_sum(const cls_graph *g, cls_node a) {
    cls_op op = cls_node_op(g, a);
    return op == CLS_OP_ADD || op == CLS_OP_SUB || op == CLS_OP_NEG;
}

static void terms_push(terms *list, cls_node a) {
    for (size_t i = 0; i < list->n; i++)
        if (list->node[i] == a) return;
    if (list->n < MAX_TERMS) list->node[list->n++] = a;
}

static void terms_of(const cls_graph *g, cls_node sum, terms *list) {
    list->n = 0;
    terms_push(list, sum);
    for (size_t i = 0; i < list->n; i++)
        for (size_t j = 0; is_sum(g, list->node[i]) && j < cls_node_arg_count(g, list->node[i]);
             j++)
            terms_push(list, cls_node_arg(g, list->node[i], j));
}

/* The sum of the absolute values of the terms of a total entropy. */
cls_node clsi_size_of_terms(cls_graph *g, cls_node sum) {
    terms list;
    cls_node size = cls_constant(g, 0);
    terms_of(g, sum, &list);
    for (size_t i = 0; i < list.n; i++)
        if (!is_sum(g, list.node[i])) size = cls_add(g, size, clsi_absolute(g, list.node[i]));
    return size;
}

/* The largest of a sum, its partial sums and its terms, in absolute value:
 * max(a, b) = (a + b + |a - b|)/2. */
cls_node clsi_largest_of_terms(cls_graph *g, cls_node sum) {
    terms list;
    cls_node largest = cls_constant(g, 0), half = cls_constant(g, 0.5);
    terms_of(g, sum, &list);
    for (size_t i = 0; i < list.n; i++) {
        cls_node a = clsi_absolute(g, list.node[i]),
                 apart = clsi_absolute(g, cls_sub(g, largest, a));
        largest = cls_mul(g, half, cls_add(g, cls_add(g, largest, a), apart));
    }
    return largest;
}

/* Room for the terms of a sum; a graph that has failed when there is none. */
cls_node *clsi_open_terms(cls_graph *g, size_t n) {
    cls_node *list = clsi_calloc(n, sizeof *list);
    if (!list) clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    return list;
}

cls_node clsi_close_terms(cls_graph *g, size_t n, cls_node *list) {
    cls_node sum = list ? clsi_sum(g, n, list) : CLS_NO_NODE;
    free(list);
    return sum;
}

/* sum |z_i slope_i| */
static cls_node size_of_slopes(cls_graph *g, size_t n, const cls_node *z, cls_node *slope) {
    for (size_t i = 0; i < n; i++) slope[i] = clsi_absolute(g, cls_mul(g, z[i], slope[i]));
    return clsi_close_terms(g, n, slope);
}

/* sum |z_i da/dz_i|; of many all slopes in one walk. */
cls_node clsi_sizes_of_slopes(cls_graph *g, cls_node a, size_t n, const cls_node *z) {
    int many = n > CLSI_MANY_UNKNOWNS;
    cls_node *slope = clsi_open_terms(g, n);
    if (!slope || (many && cls_gradient(g, a, n, z, slope) != CLS_OK)) {
        free(slope);
        return CLS_NO_NODE;
    }
    for (size_t i = 0; i < n && !many; i++) slope[i] = cls_derivative(g, a, z[i]);
    return size_of_slopes(g, n, z, slope);
}

/* The same of the energy, whose slopes are in the form where it is a function of q, p and S. */
cls_node clsi_energy_slopes(const cls_system *s) {
    const clsi_form *f = s->form;
    if (f->kind != CLSI_FORM_PHASE || f->nz <= CLSI_MANY_UNKNOWNS)
        return clsi_sizes_of_slopes(s->g, f->energy, f->nz, f->z);
    cls_node *slope = clsi_open_terms(s->g, f->nz);
    if (!slope) return CLS_NO_NODE;
    memcpy(slope, f->energy_q, s->nq * sizeof *slope);
    memcpy(slope + s->nq, f->v, s->n * sizeof *slope);
    memcpy(slope + s->nq + s->n, f->T, s->m * sizeof *slope);
    return size_of_slopes(s->g, f->nz, f->z, slope);
}

/* v . K^T dE/dq, by which scaling the forces that have a potential changes the energy. */
cls_status clsi_power_of_potential(const cls_system *s, cls_node *out) {
    const clsi_form *f = s->form;
    cls_graph *g = s->g;
    clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t, s->u};
    cls_node *rate = clsi_calloc(s->nq + s->n + 1, sizeof *rate), *against = rate + s->nq;
    *out = cls_constant(g, 0);
    if (!rate) return CLS_MEMORY;
    cls_status status = clsi_brackets_at(s, &s->bound, &at, f->energy_q, rate, against);
    for (size_t j = 0; j < s->n; j++) *out = cls_add(g, *out, cls_mul(g, f->v[j], against[j]));
    free(rate);
    return status;
}

/* Where the entropy is a formula of internal energies x: the mean of (dS/dx)/(dE/dx), which is 1/T. */
cls_node clsi_coldness(const cls_system *s) {
    cls_graph *g = s->g;
    cls_node sum = cls_constant(g, 0);
    size_t count = 0;
    for (size_t j = 0; j < s->n; j++) {
        cls_node slope = s->entropy_slope[s->nq + j];
        if (cls_is_constant(g, slope, 0)) continue;
        sum = cls_add(g, sum, cls_div(g, slope, s->form->v[j]));
        count++;
    }
    return count ? cls_div(g, sum, cls_constant(g, (double)count)) : sum;
}

/* Sum of 1/T of the reservoirs. */
cls_node clsi_coldness_outside(const cls_system *s) {
    cls_node *list = clsi_open_terms(s->g, s->nr);
    for (size_t k = 0; k < s->nr && list; k++)
        list[k] = cls_div(s->g, cls_constant(s->g, 1), s->bound.reservoir[k]);
    return clsi_close_terms(s->g, s->nr, list);
}
