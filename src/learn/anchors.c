/* Anchors: what is known at chosen states, as equations for the parameters.
 *
 *     quantity(state; theta) = value,   quantity = G, p = G_v, S = G_T or a derivative of these
 *
 * (masses (39) and heat capacities (40) are second derivatives of G). A quantity is an expression
 * in the state and in the field symbols: value, slopes and, for second derivatives, curvatures of
 * each unknown part. Its row over the parameters is the chain rule through these symbols, so that
 * for bases the condition is linear and exact: it is then met to round-off, as a constraint.
 * Otherwise it is a weighted row like the others; curvatures of networks are differences
 * (clsi_field_second_rows).
 *
 * Where nothing in the residual is known, (k G, k F) fits as well as (G, F): an anchor with a value
 * other than zero sets the scale, and takes the place of the learner's own condition.
 *
 * Cost: a program of some dozen operations and a few field rows per anchor. An anchor on something
 * that contains no unknown part is left out. */
#include "base/base.h"
#include "learn/learn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PAIRS = CLSI_FIELD_MAX_INPUTS * (CLSI_FIELD_MAX_INPUTS + 1) / 2 };

typedef struct anchor {
    const clsi_anchor *given;
    cls_program *program; /* field symbols -> the quantity, its derivatives in the symbols */
    int curved;           /* a second derivative: curvatures are needed */
    double *x;            /* scaled inputs of all unknown parts, one after the other */
} anchor;

/* Symbols of unknown k: value, slopes (d), curvatures (pairs i <= j of the d inputs). */
typedef struct block {
    size_t first; /* among all symbols */
    size_t x;     /* of its inputs in anchor.x */
    cls_node curvature[MAX_PAIRS];
} block;

struct clsi_anchors {
    const clsi_unknowns *us;
    size_t n, n_symbols, n_inputs, n_scratch;
    anchor *list;
    block *blocks;
    cls_node *symbols;
};

static size_t pair(size_t i, size_t j) {
    return i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j;
}

/* ---- quantities as expressions ---- */

/* d a / d symbol along the inputs x of one part: through its value and through its slopes. */
static cls_node through_part(cls_graph *g, const clsi_unknown *u, const block *b, const cls_node *x,
                             cls_node a, cls_node symbol) {
    size_t d = u->learned.d;
    cls_node sum = cls_constant(g, 0), dx[CLSI_FIELD_MAX_INPUTS];
    cls_node outer = cls_derivative(g, a, u->value);
    for (size_t k = 0; k < d; k++) {
        dx[k] = cls_derivative(g, x[k], symbol);
        sum = cls_add(g, sum, cls_mul(g, outer, cls_mul(g, u->slope[k], dx[k])));
    }
    for (size_t k = 0; k < d; k++) {
        outer = cls_derivative(g, a, u->slope[k]);
        for (size_t l = 0; l < d; l++) {
            cls_node inner = cls_mul(g, b->curvature[pair(k, l)], dx[l]);
            sum = cls_add(g, sum, cls_mul(g, outer, inner));
        }
    }
    return sum;
}

static cls_node total(const clsi_anchors *as, cls_node a, cls_node symbol) {
    const clsi_unknowns *us = as->us;
    cls_graph *g = us->s->g;
    cls_node sum = cls_derivative(g, a, symbol), x[CLSI_FIELD_MAX_INPUTS];
    for (size_t k = 0; k < us->n; k++) {
        if (clsi_learned_inputs(&us->list[k].learned, us->s, x) != CLS_OK) return CLS_NO_NODE;
        sum = cls_add(g, sum, through_part(g, &us->list[k], &as->blocks[k], x, a, symbol));
    }
    return sum;
}

static cls_node quantity(const clsi_anchors *as, const clsi_anchor *given) {
    const cls_system *s = as->us->s;
    cls_node node = s->bound.formula;
    for (size_t j = 0; j < s->n; j++)
        if (given->of == s->p[j]) node = total(as, node, s->v[j]);
    for (size_t i = 0; i < s->m; i++)
        if (given->of == s->S[i]) node = total(as, node, s->T[i]);
    return given->by == CLS_NO_NODE ? node : total(as, node, given->by);
}

/* ---- creation ---- */

static cls_status make_symbols(clsi_anchors *as, cls_error *error) {
    const clsi_unknowns *us = as->us;
    as->blocks = clsi_calloc(us->n, sizeof *as->blocks);
    if (!as->blocks) return clsi_no_memory(error);
    for (size_t k = 0; k < us->n; k++) {
        const clsi_learned *l = &us->list[k].learned;
        size_t need = l->field->kind->scratch(l->field, 1);
        if (need > as->n_scratch) as->n_scratch = need;
        as->blocks[k].first = as->n_symbols;
        as->blocks[k].x = as->n_inputs;
        as->n_symbols += 1 + l->d + pair(l->d - 1, l->d - 1) + 1;
        as->n_inputs += l->d;
    }
    as->symbols = clsi_calloc(as->n_symbols, sizeof *as->symbols);
    if (!as->symbols) return clsi_no_memory(error);
    for (size_t k = 0, at = 0; k < us->n; k++) {
        const clsi_unknown *u = &us->list[k];
        as->symbols[at++] = u->value;
        for (size_t i = 0; i < u->learned.d; i++) as->symbols[at++] = u->slope[i];
        for (size_t i = 0; i < u->learned.d; i++)
            for (size_t j = 0; j <= i; j++)
                as->symbols[at++] = as->blocks[k].curvature[pair(i, j)] =
                    cls_fresh_symbol(us->s->g, "curvature'");
    }
    return CLS_OK;
}

/* The state's values put into nodes over (q, v, p, S, T). */
static cls_status at_state(const cls_system *s, const clsi_anchor *given, size_t n, cls_node *nodes,
                           cls_error *error) {
    size_t size = s->nq + s->n + s->m;
    cls_node *from = clsi_calloc(2 * size, sizeof *from), *to = from + size;
    if (!from) return clsi_no_memory(error);
    for (size_t k = 0; k < size; k++) {
        from[k] = clsi_anchor_variable(s, k);
        to[k] = cls_constant(s->g, given->state[k]);
    }
    cls_status status = cls_substitute(s->g, n, nodes, size, from, to, nodes);
    free(from);
    return status == CLS_OK ? cls_graph_status(s->g, error) : clsi_no_memory(error);
}

static cls_status say(const cls_system *s, const clsi_anchor *a, const char *what,
                      cls_error *error) {
    clsi_text text = {0};
    clsi_anchor_print(s, a, &text);
    cls_status status =
        clsi_fail(error, CLS_SYSTEM, "anchor %s: %s", text.failed ? "" : text.data, what);
    clsi_text_clear(&text);
    return status;
}

/* Scaled inputs at the state: constants of the graph by now. */
static cls_status place_inputs(const clsi_anchors *as, anchor *a, cls_error *error) {
    const clsi_unknowns *us = as->us;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_learned *l = &us->list[k].learned;
        cls_node x[CLSI_FIELD_MAX_INPUTS];
        cls_program *program = NULL;
        double *to = a->x + as->blocks[k].x;
        cls_status status = clsi_learned_inputs(l, us->s, x);
        if (status == CLS_OK) status = at_state(us->s, a->given, l->d, x, error);
        if (status == CLS_OK)
            status = cls_program_create(us->s->g, 0, NULL, l->d, x, &program, error);
        if (status == CLS_OK) status = cls_program_run_many(program, 1, 1, NULL, to);
        cls_program_free(&program);
        if (status != CLS_OK) return status;
        for (size_t i = 0; i < l->d; i++)
            if (!isfinite(to[i]))
                return say(us->s, a->given, "an input of an unknown part is not finite there",
                           error);
    }
    return CLS_OK;
}

/* Adds the anchor unless it contains nothing unknown. */
static cls_status add(clsi_anchors *as, const clsi_anchor *given, cls_node *nodes,
                      cls_error *error) {
    const cls_system *s = as->us->s;
    anchor *a = &as->list[as->n];
    nodes[0] = quantity(as, given);
    cls_status status = cls_graph_status(s->g, error);
    if (status != CLS_OK || !cls_depends(s->g, nodes[0], as->n_symbols, as->symbols)) return status;
    as->n++;
    a->given = given;
    a->curved = given->of != CLS_NO_NODE && given->by != CLS_NO_NODE;
    status = at_state(s, given, 1, nodes, error);
    if (status != CLS_OK) return status;
    if (!(a->x = clsi_calloc(as->n_inputs, sizeof *a->x))) return clsi_no_memory(error);
    status = cls_jacobian(s->g, 1, nodes, as->n_symbols, as->symbols, nodes + 1);
    if (status == CLS_OK) status = place_inputs(as, a, error);
    if (status == CLS_OK)
        status = cls_program_create(s->g, as->n_symbols, as->symbols, 1 + as->n_symbols, nodes,
                                    &a->program, error);
    return status;
}

cls_status clsi_anchors_create(const clsi_unknowns *us, clsi_anchors **out, cls_error *error) {
    *out = NULL;
    clsi_anchors *as = clsi_calloc(1, sizeof *as);
    if (!as) return clsi_no_memory(error);
    as->us = us;
    cls_status status = make_symbols(as, error);
    cls_node *nodes = clsi_calloc(1 + as->n_symbols, sizeof *nodes);
    as->list = clsi_calloc(us->s->n_anchors, sizeof *as->list);
    if (status == CLS_OK && (!nodes || !as->list)) status = clsi_no_memory(error);
    for (size_t i = 0; i < us->s->n_anchors && status == CLS_OK; i++)
        status = add(as, &us->s->anchors[i], nodes, error);
    free(nodes);
    if (status == CLS_OK)
        *out = as;
    else
        clsi_anchors_free(&as);
    return status;
}

void clsi_anchors_free(clsi_anchors **anchors) {
    clsi_anchors *as = *anchors;
    if (!as) return;
    for (size_t i = 0; as->list && i < as->n; i++) {
        cls_program_free(&as->list[i].program);
        free(as->list[i].x);
    }
    free(as->list);
    free(as->blocks);
    free(as->symbols);
    free(as);
    *anchors = NULL;
}

/* ---- rows ---- */

size_t clsi_anchors_count(const clsi_anchors *as) {
    return as->n;
}

double clsi_anchors_value(const clsi_anchors *as, size_t i) {
    return as->list[i].given->value;
}

int clsi_anchors_set_scale(const clsi_anchors *as) {
    for (size_t i = 0; i < as->n; i++)
        if (as->list[i].given->value != 0 && !as->list[i].given->gauge) return 1;
    return 0;
}

/* Field symbols of part k at the state. */
static void fill_symbols(const clsi_learned *l, const double *theta, const double *x, int curved,
                         double *in, double *row, double *scratch) {
    const clsi_field *f = l->field;
    f->kind->evaluate(f, theta, 1, x, in, in + 1, scratch);
    for (size_t i = 0; i < l->d && curved; i++)
        for (size_t j = 0; j <= i; j++)
            in[1 + l->d + pair(i, j)] = clsi_field_second(f, theta, x, i, j, row, scratch);
}

/* row += slopes of the quantity in the symbols of a part, times those of the symbols in theta. */
static void add_row(const clsi_learned *l, const double *theta, const double *x,
                    const double *slopes, double *row, double *scratch) {
    const clsi_field *f = l->field;
    f->kind->rows(f, theta, 1, x, slopes, slopes + 1, f->n_parameters, row, scratch);
    for (size_t i = 0; i < l->d; i++)
        for (size_t j = 0; j <= i; j++) {
            const double *c = slopes + 1 + l->d + pair(i, j);
            if (*c != 0)
                clsi_field_second_rows(f, theta, 1, x, i, j, c, f->n_parameters, row, scratch);
        }
}

cls_status clsi_anchors_row(const clsi_anchors *as, size_t i, const double *theta, double *value,
                            double *row) {
    const clsi_unknowns *us = as->us;
    const anchor *a = &as->list[i];
    size_t K = as->n_symbols;
    double *in = clsi_calloc(2 * K + 1 + us->n_theta + as->n_scratch, sizeof *in);
    if (!in) return CLS_MEMORY;
    double *out = in + K, *spare = out + 1 + K, *scratch = spare + us->n_theta;
    for (size_t k = 0; k < us->n && theta; k++) {
        const clsi_learned *l = &us->list[k].learned;
        size_t at = as->blocks[k].first;
        fill_symbols(l, theta + l->offset, a->x + as->blocks[k].x, a->curved, in + at, spare,
                     scratch);
    }
    cls_status status = cls_program_run_many(a->program, 1, 1, in, out);
    *value = out[0];
    if (row) memset(row, 0, us->n_theta * sizeof *row);
    for (size_t k = 0; k < us->n && row; k++) {
        const clsi_learned *l = &us->list[k].learned;
        add_row(l, theta ? theta + l->offset : NULL, a->x + as->blocks[k].x,
                out + 1 + as->blocks[k].first, row + l->offset, scratch);
    }
    free(in);
    return status;
}

cls_status clsi_anchors_constraint(const clsi_anchors *as, size_t i, double *row, double *right,
                                   cls_error *error) {
    double constant, size = 0;
    const clsi_anchor *given = as->list[i].given;
    if (clsi_anchors_row(as, i, NULL, &constant, row) != CLS_OK) return clsi_no_memory(error);
    *right = given->value - constant;
    for (size_t j = 0; j < as->us->n_theta; j++) size += fabs(row[j]);
    if (!isfinite(size) || !isfinite(*right))
        return say(as->us->s, given, "it is not finite there", error);
    if (size == 0 && *right != 0)
        return say(as->us->s, given, "no parameter changes it there, so it cannot be met", error);
    return CLS_OK;
}
