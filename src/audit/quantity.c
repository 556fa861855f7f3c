/* What the judge recomputes at every state, and the scale its round-off is measured against.
 *
 * The scale of a quantity on a trajectory is the largest absolute value that the quantity or any of
 * its additive terms (partial sums included) takes there. A sum cannot be known better than the
 * round-off of its terms: an energy of 1e-9 that is the difference of two numbers near 1 may wander
 * by 1e-16, which is 1e-7 of itself and still only round-off. For most systems the scale is |E|
 * within a factor of a few. An entropy is measured by the largest sum of |terms|.
 *
 * Nor can a function of a state be known better than the state: a row is rounded to doubles, half an
 * epsilon of each z_i, and Q with it by eps/2 sum |z_i dQ/dz_i|. Next to a wall, where forces are without
 * bound, or at an angle of many turns that is more than the round-off of the terms. Two rows are
 * compared: eps max sum |z_i dQ/dz_i|. Cost: every term and every slope once for every row. */
#include "audit/quantity.h"
#include "expr/fields.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Beyond this many terms the remaining sums count as single terms: the list is searched linearly.
 */
enum { MAX_TERMS = 512 };

typedef struct terms {
    cls_node node[MAX_TERMS];
    size_t n;
} terms;

static void terms_push(terms *list, cls_node a) {
    for (size_t i = 0; i < list->n; i++)
        if (list->node[i] == a) return;
    if (list->n < MAX_TERMS) list->node[list->n++] = a;
}

/* The sum itself comes first. */
static void terms_of(const cls_graph *g, cls_node sum, terms *list) {
    list->n = 0;
    terms_push(list, sum);
    for (size_t i = 0; i < list->n; i++) {
        cls_op op = cls_node_op(g, list->node[i]);
        if (op != CLS_OP_ADD && op != CLS_OP_SUB && op != CLS_OP_NEG) continue;
        for (size_t j = 0; j < cls_node_arg_count(g, list->node[i]); j++)
            terms_push(list, cls_node_arg(g, list->node[i], j));
    }
}

/* Of an entropy: the largest sum of |terms|, which are many where there are many bodies, and each is
 * rounded. */
static double largest_sum(const cls_graph *g, size_t n_terms, const cls_node *node,
                          const double *all, size_t stride, size_t n) {
    double max = 0;
    for (size_t k = 0; k < n; k++) {
        double sum = 0;
        for (size_t i = 0; i < n_terms; i++) {
            cls_op op = cls_node_op(g, node[i]);
            if (op != CLS_OP_ADD && op != CLS_OP_SUB && op != CLS_OP_NEG)
                sum += fabs(all[i * stride + k]);
        }
        if (isfinite(sum)) max = fmax(max, sum);
    }
    return max;
}

/* Not finite values are left out here: the laws count them where they judge. */
static double largest(const double *x, size_t n) {
    double max = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i])) max = fmax(max, fabs(x[i]));
    return max;
}

/* Quantities whose terms are outputs of one program: creating a program costs as much as the graph
 * is large, so that a system of many elements cannot have one for each. */
typedef struct group {
    clsi_quantity *list;
    size_t n, *start; /* (n + 1): the nodes of each */
    cls_node *nodes;
    size_t n_nodes, room, start_room;
} group;

enum { GROUP_NODES = 1 << 16, GROUP_NUMBERS = 1 << 22 };

static cls_status group_add(const cls_system *s, group *g, clsi_quantity *x, const clsi_states *st,
                            terms *list, cls_error *error) {
    terms_of(s->g, x->node, list);
    x->value = clsi_calloc(st->rows, sizeof *x->value);
    x->scale = clsi_calloc(st->parts, sizeof *x->scale);
    x->rounded = clsi_calloc(st->parts, sizeof *x->rounded);
    if (!x->value || !x->scale || !x->rounded ||
        !clsi_grow(&g->start, &g->start_room, g->n + 2, sizeof *g->start) ||
        !clsi_grow(&g->nodes, &g->room, g->n_nodes + list->n, sizeof *g->nodes))
        return clsi_no_memory(error);
    if (!g->n) g->list = x, g->start[0] = 0;
    memcpy(g->nodes + g->n_nodes, list->node, list->n * sizeof *list->node);
    g->n_nodes += list->n;
    g->start[++g->n] = g->n_nodes;
    return CLS_OK;
}

/* The rows [begin, begin + count) of one trajectory: `all` has `stride` numbers for each term. */
static void group_see(const cls_system *s, const group *g, size_t part, size_t begin, size_t count,
                      const double *all, size_t stride) {
    for (size_t q = 0; q < g->n; q++) {
        clsi_quantity *x = &g->list[q];
        size_t first = g->start[q], n = g->start[q + 1] - first;
        const double *own = all + first * stride;
        memcpy(x->value + begin, own, count * sizeof *own);
        for (size_t i = 0; i < n; i++)
            x->scale[part] = fmax(x->scale[part], largest(own + i * stride, count));
        if (x->kind == CLSI_OF_ENTROPY)
            x->scale[part] =
                fmax(x->scale[part], largest_sum(s->g, n, g->nodes + first, own, stride, count));
    }
}

/* Values and scales of all in the group, which is empty then. */
static cls_status group_measure(const cls_system *s, const clsi_states *st, group *g,
                                cls_error *error) {
    if (!g->n) return CLS_OK;
    size_t block = GROUP_NUMBERS / g->n_nodes + 8;
    if (block > st->rows) block = st->rows;
    double *all = clsi_calloc(g->n_nodes * block, sizeof *all);
    double *z = clsi_calloc((st->nz + 1 + st->nu) * block, sizeof *z);
    cls_program *program = NULL;
    cls_status status = all && z ? CLS_OK : clsi_no_memory(error);
    if (!status) status = clsi_audit_program(s, g->n_nodes, g->nodes, &program, error);
    for (size_t part = 0; part < st->parts && !status; part++)
        for (size_t k = st->first[part], count; k < st->first[part + 1] && !status; k += count) {
            count = st->first[part + 1] - k < block ? st->first[part + 1] - k : block;
            for (size_t i = 0; i < st->nz + 1 + st->nu; i++)
                memcpy(z + i * block, st->z + i * st->rows + k, count * sizeof *z);
            if (cls_program_run_many(program, count, block, z, all))
                status = clsi_no_memory(error);
            else
                group_see(s, g, part, k, count, all, block);
        }
    for (size_t q = 0; q < g->n && !status; q++)
        for (size_t part = 0; part < st->parts;
             part++) /* zero everywhere: any drift counts whole */
            if (g->list[q].scale[part] == 0) g->list[q].scale[part] = 1;
    cls_program_free(&program);
    free(all);
    free(z);
    g->n = g->n_nodes = 0;
    return status;
}

static cls_status measure_all(const cls_system *s, const clsi_states *st, clsi_quantity *list,
                              size_t n, cls_error *error) {
    group g = {0};
    terms *scratch = clsi_calloc(1, sizeof *scratch);
    cls_status status = scratch ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < n && !status; i++) {
        status = group_add(s, &g, &list[i], st, scratch, error);
        if (!status && g.n_nodes >= GROUP_NODES) status = group_measure(s, st, &g, error);
    }
    if (!status) status = group_measure(s, st, &g, error);
    free(scratch);
    free(g.start);
    free(g.nodes);
    return status;
}

/* Of the terms inside of learned functions, as of an entropy's own (CLSI_LAST_PLACES of step.inc). */
#define LAST_PLACES 9
enum { MANY = 48 }; /* variables */

/* The largest sum |z_i dQ/dz_i| on each trajectory, and of the terms inside of learned functions, times
 * epsilon. */
static cls_status measure_rounding(const cls_system *s, const clsi_states *st, clsi_quantity *x,
                                   cls_error *error) {
    size_t nz = s->form->nz, rows = st->rows;
    cls_node *slope = clsi_calloc(nz + 1, sizeof *slope);
    double *all = clsi_calloc((nz + 1) * rows, sizeof *all);
    cls_program *program = NULL;
    cls_status status = slope && all ? CLS_OK : clsi_no_memory(error);
    /* of many variables all slopes in one walk backwards */
    if (!status && (nz > MANY ? cls_gradient(s->g, x->node, nz, s->form->z, slope)
                              : cls_jacobian(s->g, 1, &x->node, nz, s->form->z, slope)))
        status = cls_graph_status(s->g, error);
    if (!status) slope[nz] = clsi_terms_in_fields(s->g, x->node);
    if (!status) status = clsi_audit_program(s, nz + 1, slope, &program, error);
    if (!status && cls_program_run_many(program, rows, rows, st->z, all))
        status = clsi_no_memory(error);
    for (size_t part = 0; part < st->parts && !status; part++)
        for (size_t k = st->first[part]; k < st->first[part + 1]; k++) {
            double sum = 0;
            for (size_t i = 0; i < nz; i++) sum += fabs(st->z[i * rows + k] * all[i * rows + k]);
            sum += LAST_PLACES * all[nz * rows + k];
            if (isfinite(sum)) x->rounded[part] = fmax(x->rounded[part], DBL_EPSILON * sum);
        }
    cls_program_free(&program);
    free(slope);
    free(all);
    return status;
}

/* Kinds whose change along a path is judged to round-off. */
static int is_kept(clsi_quantity_kind kind) {
    return kind == CLSI_OF_ENERGY || kind == CLSI_OF_ENTROPY || kind == CLSI_OF_INVARIANT;
}

/* The inputs of the row before: what a zero-order hold has at the end of a step. */
static void hold_inputs(const clsi_states *st, double *z) {
    size_t rows = st->rows, inputs = (st->nz + 1) * rows;
    for (size_t k = 0; k < st->nu; k++)
        memcpy(z + inputs + k * rows + 1, st->z + inputs + k * rows, (rows - 1) * sizeof *z);
}

/* The middle of this row and the one before. */
static void go_halfway(const clsi_states *st, double *z) {
    size_t rows = st->rows;
    for (size_t i = 0; i < st->nz + 1 + st->nu; i++)
        for (size_t k = 1; k < rows; k++)
            z[i * rows + k] = st->z[i * rows + k - 1] / 2 + st->z[i * rows + k] / 2;
}

/* A quantity at other states than those of the rows. */
static cls_status measure_at(const cls_system *s, const clsi_states *st, const clsi_quantity *x,
                             void (*change)(const clsi_states *, double *), double **value,
                             cls_error *error) {
    size_t rows = st->rows, n = (st->nz + 1 + st->nu) * rows;
    double *z = clsi_calloc(n, sizeof *z);
    cls_program *program = NULL;
    *value = clsi_calloc(rows, sizeof **value);
    cls_status status = z && *value ? CLS_OK : clsi_no_memory(error);
    if (!status) {
        memcpy(z, st->z, n * sizeof *z);
        change(st, z);
        status = clsi_audit_program(s, 1, &x->node, &program, error);
    }
    if (!status && cls_program_run_many(program, rows, rows, z, *value))
        status = clsi_no_memory(error);
    cls_program_free(&program);
    free(z);
    return status;
}

static cls_status measure_power(const cls_system *s, const clsi_states *st, clsi_quantity *x,
                                cls_error *error) {
    cls_status status = measure_at(s, st, x, go_halfway, &x->middle, error);
    return status || !s->nu ? status : measure_at(s, st, x, hold_inputs, &x->held, error);
}

/* Accounts are written in doubles, too: work and heat that pass through a system for long are much
 * larger than what stays in it. */
static double rounding_of_accounts(const clsi_states *st, clsi_quantity_kind kind, size_t k) {
    double sum = 0;
    for (int a = 0; a < CLSI_ACCOUNTS; a++) {
        int belongs = kind == CLSI_OF_ENTROPY ? a == CLSI_OUTSIDE : a != CLSI_OUTSIDE;
        if (belongs && st->account[a]) sum += fabs(st->account[a][k]);
    }
    return isfinite(sum) ? DBL_EPSILON * sum : 0;
}

/* What the outside adds to a quantity, to the size of its terms and to their rounding: its entropy,
 * and the energy that came in. */
static void add_outside(const clsi_states *st, clsi_quantity *x) {
    const double *more = x->kind == CLSI_OF_ENTROPY  ? st->account[CLSI_OUTSIDE]
                         : x->kind == CLSI_OF_ENERGY ? st->received
                                                     : NULL;
    for (size_t part = 0; more && part < st->parts; part++) {
        double rounding = 0;
        for (size_t k = st->first[part]; k < st->first[part + 1]; k++) {
            rounding = fmax(rounding, rounding_of_accounts(st, x->kind, k));
            if (x->kind == CLSI_OF_ENTROPY) x->value[k] += more[k];
            if (isfinite(more[k])) x->scale[part] = fmax(x->scale[part], fabs(more[k]));
        }
        x->rounded[part] += rounding;
    }
}

static void put(clsi_quantity **end, clsi_quantity_kind kind, size_t index, cls_node node,
                const char *prefix, const char *name) {
    clsi_quantity *x = (*end)++;
    *x = (clsi_quantity){.kind = kind, .index = index, .node = node};
    snprintf(x->name, sizeof x->name, "%s%s", prefix, name);
}

/* Rates of what crosses the boundary, over (q,v,p,S,T,t,u). */
static void put_powers(const cls_system *s, clsi_quantity **end) {
    cls_node rates[CLSI_ACCOUNTS];
    const clsi_physics *b = &s->bound;
    const clsi_crossing at = {b->force, NULL, b->source, b->bath,          b->reservoir,
                              s->v,     s->T, s->T,      s->form->energy_t};
    clsi_account_rates(s, &at, rates);
    for (size_t k = 0; k < clsi_account_count(s); k++) {
        clsi_account a = clsi_account_at(s, k);
        put(end, CLSI_OF_POWER, a, rates[a], "rate of ", clsi_account_name(a));
    }
}

/* Writes the list (value and scale still empty) and returns its length. */
static size_t describe(const cls_system *s, clsi_quantity *list) {
    const clsi_form *f = s->form;
    clsi_quantity *end = list;
    put(&end, CLSI_OF_ENERGY, 0, f->energy, "", "energy");
    if (cls_system_has_entropy(s)) put(&end, CLSI_OF_ENTROPY, 0, f->entropy, "", "entropy");
    for (size_t i = 0; i < s->n; i++) {
        put(&end, CLSI_OF_VELOCITY, i, f->v[i], "", cls_node_name(s->g, s->v[i]));
        put(&end, CLSI_OF_MOMENTUM, i, f->p[i], "", cls_node_name(s->g, s->p[i]));
    }
    for (size_t i = 0; i < s->m; i++) {
        put(&end, CLSI_OF_ENTROPY_PART, i, f->S[i], "", s->entropy[i].name);
        put(&end, CLSI_OF_TEMPERATURE, i, f->T[i], "", s->temperature[i].name);
    }
    for (size_t i = 0; i < s->n_invariants; i++)
        put(&end, CLSI_OF_INVARIANT, i, s->bound.invariants[i].node, "",
            s->bound.invariants[i].name);
    for (size_t i = 0; i < s->n_outputs; i++)
        put(&end, CLSI_OF_OUTPUT, i, s->bound.outputs[i].node, "", s->bound.outputs[i].name);
    put_powers(s, &end);
    return (size_t)(end - list);
}

cls_status clsi_quantities_create(const cls_system *s, const clsi_states *st, clsi_quantity **out,
                                  size_t *n, cls_error *error) {
    size_t most = 2 + CLSI_ACCOUNTS + 2 * s->n + 2 * s->m + s->n_invariants + s->n_outputs;
    clsi_quantity *list = clsi_calloc(most, sizeof *list);
    cls_status status = list ? CLS_OK : clsi_no_memory(error);
    *n = status ? 0 : describe(s, list);
    for (size_t i = 0; i < *n && !status; i++)
        if (list[i].kind >= CLSI_OF_INVARIANT)
            status = clsi_audit_native(s, 1, &list[i].node, &list[i].node, error);
    if (!status) status = cls_graph_status(s->g, error);
    if (!status) status = measure_all(s, st, list, *n, error);
    for (size_t i = 0; i < *n && !status; i++) {
        clsi_quantity *x = &list[i];
        if (is_kept(x->kind)) status = measure_rounding(s, st, x, error);
        if (!status) add_outside(st, x);
        if (!status && x->kind == CLSI_OF_POWER) status = measure_power(s, st, x, error);
    }
    if (status) clsi_quantities_free(&list, *n);
    *out = list;
    return status;
}

void clsi_quantities_free(clsi_quantity **list, size_t n) {
    if (!*list) return;
    for (size_t i = 0; i < n; i++) {
        free((*list)[i].value);
        free((*list)[i].held);
        free((*list)[i].middle);
        free((*list)[i].scale);
        free((*list)[i].rounded);
    }
    free(*list);
    *list = NULL;
}

const clsi_quantity *clsi_quantity_next(const clsi_quantity *list, size_t n,
                                        clsi_quantity_kind kind, const clsi_quantity *from) {
    for (size_t i = from ? (size_t)(from - list) + 1 : 0; i < n; i++)
        if (list[i].kind == kind) return &list[i];
    return NULL;
}
