/* Anchors: what is known at chosen states, as equations for the parameters.
 *
 *     quantity(state; theta) = value,   quantity = G, p = G_v, S = G_T or a derivative of these
 *
 * (masses (39) and heat capacities (40) are second derivatives of G). A quantity is an expression
 * in the state and in the field symbols: value, slopes and, for second derivatives, curvatures of
 * each unknown part. Its row over the parameters is the chain rule through these symbols, so that
 * for bases the condition is linear and exact: it is then met to round-off, as a constraint.
 * Otherwise it is a weighted row like the others; curvatures of networks are central differences
 * of their slopes, with steps of 1e-4 in the scaled inputs: relative errors of about 1e-8.
 *
 * Where nothing in the residual is known, (k G, k F) fits as well as (G, F): an anchor with a value
 * other than zero sets the scale, and takes the place of the learner's own condition.
 *
 * All anchors of a call are evaluated together, and their gradient is one reverse pass, as if the
 * places where a part is needed were samples: one for value and slopes, two for a curvature of a
 * network. Beside a batch of a thousand samples that is nothing. An anchor on something that
 * contains no unknown part is left out. */
#include "base/base.h"
#include "learn/learn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PAIRS = CLSI_FIELD_MAX_INPUTS * (CLSI_FIELD_MAX_INPUTS + 1) / 2 };
static const double STEP = 1e-4; /* of differences, in scaled inputs */

typedef struct anchor {
    const clsi_anchor *given;
    cls_program *program; /* field symbols -> the quantity, its derivatives in the symbols */
    unsigned char *needs; /* for each symbol: is it in the quantity? */
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
    size_t n, n_symbols, n_inputs;
    anchor *list;
    block *blocks;
    cls_node *symbols;
    double *work; /* n_work numbers, for all anchors at once */
    size_t n_work;
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
    status = at_state(s, given, 1, nodes, error);
    if (status != CLS_OK) return status;
    a->x = clsi_calloc(as->n_inputs, sizeof *a->x);
    a->needs = clsi_calloc(as->n_symbols, sizeof *a->needs);
    if (!a->x || !a->needs) return clsi_no_memory(error);
    for (size_t k = 0; k < as->n_symbols; k++)
        a->needs[k] = cls_depends(s->g, nodes[0], 1, &as->symbols[k]) != 0;
    status = cls_jacobian(s->g, 1, nodes, as->n_symbols, as->symbols, nodes + 1);
    if (status == CLS_OK) status = place_inputs(as, a, error);
    if (status == CLS_OK)
        status = cls_program_create(s->g, as->n_symbols, as->symbols, 1 + as->n_symbols, nodes,
                                    &a->program, error);
    return status;
}

/* ---- places: where parts are evaluated ---- */

/* A curvature (i, j) of a part that an anchor needs. */
typedef struct curvature {
    size_t symbol, i, j;
} curvature;

static size_t list_curvatures(const clsi_anchors *as, const anchor *a, size_t k, curvature *out) {
    size_t n = 0, d = as->us->list[k].learned.d, first = as->blocks[k].first + 1 + d;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++)
            if (a->needs[first + pair(i, j)]) out[n++] = (curvature){first + pair(i, j), i, j};
    return n;
}

static int exact(const clsi_learned *l) {
    return l->field->kind->second_rows != NULL;
}

/* The places of part k for one anchor, into x when it is not NULL: one for value and slopes (also
 * where they are not needed), two for each curvature that is not exact. 0: it has nothing of it. */
static size_t places(const clsi_anchors *as, const anchor *a, size_t k, double *x) {
    const clsi_learned *l = &as->us->list[k].learned;
    const double *at = a->x + as->blocks[k].x;
    curvature c[MAX_PAIRS];
    size_t n = list_curvatures(as, a, k, c), used = n, count = 1;
    for (size_t s = 0; s <= l->d; s++) used += a->needs[as->blocks[k].first + s];
    if (!used) return 0;
    if (x) memcpy(x, at, l->d * sizeof *x);
    for (size_t i = 0; i < n && !exact(l); i++)
        for (int side = -1; side <= 1; side += 2, count++)
            if (x) {
                memcpy(x + count * l->d, at, l->d * sizeof *x);
                x[count * l->d + c[i].j] += side * STEP;
            }
    return count;
}

/* Of part k over some anchors: numbers of all their places, in the work space. */
typedef struct spots {
    size_t n;
    double *x, *value, *slope, *scratch;
} spots;

static size_t count_spots(const clsi_anchors *as, size_t n, const size_t *which, size_t k) {
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += places(as, &as->list[which ? which[i] : i], k, NULL);
    return sum;
}

static spots lay_spots(const clsi_anchors *as, size_t n, const size_t *which, size_t k) {
    size_t d = as->us->list[k].learned.d;
    spots s = {.n = count_spots(as, n, which, k), .x = as->work};
    s.value = s.x + s.n * d;
    s.slope = s.value + s.n;
    s.scratch = s.slope + s.n * d;
    double *x = s.x;
    for (size_t i = 0; i < n; i++) x += d * places(as, &as->list[which ? which[i] : i], k, x);
    return s;
}

static cls_status make_room(clsi_anchors *as, cls_error *error) {
    for (size_t k = 0; k < as->us->n; k++) {
        const clsi_field *f = as->us->list[k].learned.field;
        size_t n = count_spots(as, as->n, NULL, k);
        size_t need = n * (2 * f->d + 1) + f->kind->scratch(f, n) + f->n_parameters;
        if (need > as->n_work) as->n_work = need;
    }
    as->work = clsi_calloc(as->n_work, sizeof *as->work);
    return as->work ? CLS_OK : clsi_no_memory(error);
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
    if (status == CLS_OK) status = make_room(as, error);
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
        free(as->list[i].needs);
    }
    free(as->work);
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

/* Symbols of part k for each of some anchors, in (n, n_symbols). */
static void fill_symbols(const clsi_anchors *as, size_t n, const size_t *which, size_t k,
                         const double *theta, double *in) {
    const clsi_learned *l = &as->us->list[k].learned;
    const clsi_field *f = l->field;
    spots s = lay_spots(as, n, which, k);
    curvature c[MAX_PAIRS];
    if (s.n) f->kind->evaluate(f, theta, s.n, s.x, s.value, s.slope, s.scratch);
    for (size_t i = 0; i < n; i++, in += as->n_symbols) {
        const anchor *a = &as->list[which ? which[i] : i];
        size_t count = places(as, a, k, NULL), curved = list_curvatures(as, a, k, c);
        if (!count) continue;
        in[as->blocks[k].first] = s.value[0];
        memcpy(in + as->blocks[k].first + 1, s.slope, l->d * sizeof *in);
        for (size_t q = 0; q < curved; q++) {
            const double *low = s.slope + (1 + 2 * q) * l->d, *high = low + l->d;
            in[c[q].symbol] = exact(l) ? clsi_field_second(f, theta, s.x, c[q].i, c[q].j, s.scratch,
                                                           s.scratch + f->n_parameters)
                                       : (high[c[q].i] - low[c[q].i]) / (2 * STEP);
        }
        s.x += count * l->d, s.value += count, s.slope += count * l->d;
    }
}

/* row += the slopes (n, n_symbols) of something in the symbols, times those of the symbols in the
 * parameters of part k. */
static void pull(const clsi_anchors *as, size_t n, const size_t *which, size_t k,
                 const double *theta, const double *slopes, double *row) {
    const clsi_learned *l = &as->us->list[k].learned;
    const clsi_field *f = l->field;
    spots s = lay_spots(as, n, which, k);
    double *a = s.value, *b = s.slope;
    curvature c[MAX_PAIRS];
    memset(a, 0, s.n * sizeof *a);
    memset(b, 0, s.n * l->d * sizeof *b);
    for (size_t i = 0, at = 0; i < n; i++, slopes += as->n_symbols) {
        const anchor *given = &as->list[which ? which[i] : i];
        size_t count = places(as, given, k, NULL), curved = list_curvatures(as, given, k, c);
        if (!count) continue;
        a[at] = slopes[as->blocks[k].first];
        memcpy(b + at * l->d, slopes + as->blocks[k].first + 1, l->d * sizeof *b);
        for (size_t q = 0; q < curved; q++) {
            double of = slopes[c[q].symbol], *low = b + (at + 1 + 2 * q) * l->d;
            if (exact(l)) {
                f->kind->second_rows(f, theta, 1, s.x + at * l->d, c[q].i, c[q].j, &of, 0, row,
                                     s.scratch);
                continue;
            }
            low[c[q].i] = -of / (2 * STEP);
            low[l->d + c[q].i] = of / (2 * STEP);
        }
        at += count;
    }
    if (s.n) f->kind->reverse(f, theta, s.n, s.x, a, b, row, s.scratch);
}

/* Quantities of some anchors (which NULL: of the first n) and their slopes in the symbols: out
 * (n, 1 + n_symbols) behind the symbols (n, n_symbols) in one allocation that the caller frees. */
static cls_status evaluate(const clsi_anchors *as, size_t n, const size_t *which,
                           const double *theta, double **out) {
    size_t K = as->n_symbols;
    double *in = *out = clsi_calloc(n * (2 * K + 1), sizeof *in), *to = in + n * K;
    cls_status status = in ? CLS_OK : CLS_MEMORY;
    for (size_t k = 0; k < as->us->n && theta && in; k++)
        fill_symbols(as, n, which, k, theta + as->us->list[k].learned.offset, in);
    for (size_t i = 0; i < n && status == CLS_OK; i++)
        status = cls_program_run_many(as->list[which ? which[i] : i].program, 1, 1, in + i * K,
                                      to + i * (K + 1));
    if (status != CLS_OK) free(in);
    return status;
}

cls_status clsi_anchors_row(const clsi_anchors *as, size_t i, const double *theta, double *value,
                            double *row) {
    const clsi_unknowns *us = as->us;
    double *all;
    cls_status status = evaluate(as, 1, &i, theta, &all);
    if (status != CLS_OK) return status;
    *value = all[as->n_symbols];
    if (row) memset(row, 0, us->n_theta * sizeof *row);
    for (size_t k = 0; k < us->n && row; k++) {
        size_t offset = us->list[k].learned.offset;
        pull(as, 1, &i, k, theta ? theta + offset : NULL, all + as->n_symbols + 1, row + offset);
    }
    free(all);
    return status;
}

/* Relative to the value where there is one. */
static double weigh(const anchor *a, double weight) {
    return weight / (a->given->value != 0 ? fabs(a->given->value) : 1);
}

double clsi_anchors_weight(const clsi_anchors *as, size_t rows, double share) {
    return share > 0 && as->n ? sqrt(share * (double)rows / (double)as->n)
                              : 10 * sqrt((double)rows);
}

cls_status clsi_anchors_weighted(const clsi_anchors *as, size_t i, const double *theta,
                                 double weight, double *r, double *row) {
    const anchor *a = &as->list[i];
    double value, w = weigh(a, weight);
    cls_status status = clsi_anchors_row(as, i, theta, &value, row);
    if (status == CLS_OK) *r = w * (value - a->given->value);
    for (size_t j = 0; row && j < as->us->n_theta; j++) row[j] *= w;
    return status;
}

cls_status clsi_anchors_gradient(const clsi_anchors *as, size_t n, const size_t *which,
                                 const double *theta, double weight, double *loss,
                                 double *gradient) {
    const clsi_unknowns *us = as->us;
    size_t K = as->n_symbols;
    double *all;
    cls_status status = CLS_OK;
    if (n > as->n) { /* some stand twice in the list; the work space has room for each once */
        status = clsi_anchors_gradient(as, n - as->n, which + as->n, theta, weight, loss, gradient);
        n = as->n;
    }
    if (status == CLS_OK) status = evaluate(as, n, which, theta, &all);
    if (status != CLS_OK) return status;
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        const anchor *a = &as->list[which[i]];
        const double *out = all + n * K + i * (K + 1);
        double w = weigh(a, weight), r = w * (out[0] - a->given->value);
        *loss += r * r / 2;
        for (size_t s = 0; s < K; s++) all[i * K + s] = r * w * out[1 + s];
    }
    for (size_t k = 0; k < us->n && status == CLS_OK; k++) {
        size_t offset = us->list[k].learned.offset;
        pull(as, n, which, k, theta + offset, all, gradient + offset);
    }
    free(all);
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
