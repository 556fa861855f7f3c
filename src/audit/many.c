/* Laws of the definition of systems with many elements: one program, one walk over the points, one
 * law for each kind.
 *
 * definition.c tries each friction and each conductance on its own and finds eigenvalues of whole
 * matrices: that costs the square and the cube of the number of elements, and prints a page. Here
 * all numbers of all laws are outputs of one program; a law is reported by its worst element, where it
 * is and how many there are. Matrices (masses, heat capacities, the Hessian) have few entries in a
 * row: they are definite when all pivots of a symmetric elimination are positive, which costs what
 * the entries cost. The number told is the smallest pivot; for a diagonal matrix that is the
 * smallest eigenvalue. Cost: linear in the
 * elements for chains, meshes and rods. */
#include "audit/sampler.h"
#include "base/locale.h"
#include "expr/graph.h"
#include "system/sparse_lu.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As in definition.c. */
static const double ROUND_OFF = 1e-12, NOTHING = 1e-15;

/* A law about many elements: outputs [first, last) of the program, those of element e being
 * [start[e], start[e + 1]). Or a matrix: entries by rows. */
typedef struct kind {
    const char *name, *meaning;
    size_t first, n; /* outputs; elements or rows */
    size_t outputs;  /* how many, where they are more than those of the elements */
    size_t *start;
    uint32_t *column;   /* of a matrix; NULL otherwise */
    clsi_sparse_lu *lu; /* of a matrix that is not diagonal */
    double *work, *entries;
    int summed; /* an element is minus the sum of its outputs (dissipation) */
    int may_be_zero, inverse, told;
    int singular;        /* a matrix that has a null space when all is well */
    int rest;            /* momenta at rest; behind them, where these are no numbers, all of them */
    double *fixed;       /* all that is tried, where it is made of numbers: tried once */
    double least, scale; /* over all points and elements */
    size_t element;
    double time;
    char at[96];
} kind;

typedef struct judge {
    clsi_sampler b;
    cls_node *nodes;
    size_t n_nodes, room;
    kind kinds[8];
    clsi_kinetic motion;
    size_t n_kinds, states, points, bad_states, bad_points, no_state;
    int good; /* what is fixed is finite */
} judge;

static int add_node(judge *j, cls_node node) {
    if (!clsi_grow(&j->nodes, &j->room, j->n_nodes + 1, sizeof *j->nodes)) return 0;
    j->nodes[j->n_nodes++] = node;
    return 1;
}

static kind *new_kind(judge *j, const char *name, const char *meaning, size_t n) {
    kind *k = &j->kinds[j->n_kinds++];
    *k = (kind){.name = name,
                .meaning = meaning,
                .first = j->n_nodes,
                .n = n,
                .start = clsi_calloc(n + 1, sizeof *k->start),
                .least = DBL_MAX};
    return k->start ? k : NULL;
}

/* ---- what is tried ---- */

static cls_status add_frictions(judge *j, cls_error *error) {
    const cls_system *s = j->b.s;
    const clsi_sparse *t = &s->bound.friction;
    kind *k =
        new_kind(j, "dissipation", "-F.v, as part of its largest value, is at least", t->rows);
    if (!k) return clsi_no_memory(error);
    k->summed = k->may_be_zero = 1;
    for (size_t i = 0; i < t->rows; i++) {
        CLSI_EACH(t, i, e) if (!add_node(j, t->entries[e].node)) return clsi_no_memory(error);
        k->start[i + 1] = j->n_nodes - k->first;
    }
    cls_status status = clsi_audit_native(s, j->n_nodes - k->first, j->nodes + k->first,
                                          j->nodes + k->first, error);
    size_t at = k->first;
    for (size_t i = 0; i < t->rows && !status; i++) CLSI_EACH(t, i, e) {
            j->nodes[at] = cls_mul(s->g, j->nodes[at], s->form->v[t->entries[e].column]);
            at++;
        }
    return status;
}

static cls_status add_conductances(judge *j, cls_error *error) {
    const cls_system *s = j->b.s;
    const clsi_sparse *t = &s->bound.conductance;
    kind *k = new_kind(j, "heat exchange", "the conductance is at least", t->n / 2 + s->m * s->nr);
    if (!k) return clsi_no_memory(error);
    size_t n = 0;
    k->may_be_zero = 1;
    for (size_t e = 0; e < t->n; e++)
        if (t->entries[e].row < t->entries[e].column)
            if (!add_node(j, t->entries[e].node)) return clsi_no_memory(error);
    for (size_t e = 0; e < s->m * s->nr; e++)
        if (!cls_is_constant(s->g, s->bound.bath[e], 0) && !add_node(j, s->bound.bath[e]))
            return clsi_no_memory(error);
    for (; n < j->n_nodes - k->first; n++) k->start[n + 1] = n + 1;
    k->n = n;
    return clsi_audit_native(s, n, j->nodes + k->first, j->nodes + k->first, error);
}

static cls_status add_reservoirs(judge *j, cls_error *error) {
    const cls_system *s = j->b.s;
    kind *k = new_kind(j, "reservoir positive", "the temperature is at least", s->nr);
    if (!k) return clsi_no_memory(error);
    for (size_t i = 0; i < s->nr; i++) {
        if (!add_node(j, s->bound.reservoir[i])) return clsi_no_memory(error);
        k->start[i + 1] = i + 1;
    }
    return CLS_OK;
}

/* The matrix of these rows, whose columns it takes. */
static cls_status add_rows(judge *j, const char *name, const char *meaning, size_t n,
                           clsi_rows *rows, kind **out, cls_error *error) {
    kind *k = *out = new_kind(j, name, meaning, n);
    cls_status status = k ? CLS_OK : clsi_no_memory(error);
    int diagonal = 1;
    for (size_t i = 0; i < n && !status; i++) {
        k->start[i + 1] = rows->start[i + 1];
        for (size_t e = rows->start[i]; e < rows->start[i + 1] && !status; e++) {
            diagonal &= rows->column[e] == i;
            if (!add_node(j, rows->node[e])) status = clsi_no_memory(error);
        }
    }
    if (!status && !diagonal) {
        status = clsi_sparse_lu_create(n, rows->start, rows->column, &k->lu, error);
        if (!status) {
            k->work = clsi_calloc(clsi_sparse_lu_size(k->lu), sizeof(double));
            k->entries = clsi_calloc(rows->n, sizeof(double));
            if (!k->work || !k->entries) status = clsi_no_memory(error);
        }
    }
    if (!status) {
        k->column = rows->column;
        rows->column = NULL;
    }
    clsi_rows_clear(rows);
    return status;
}

/* d duals / d z, entry by entry. */
static cls_status add_matrix(judge *j, const char *name, const char *meaning, size_t n,
                             const cls_node *duals, const cls_node *z, kind **out,
                             cls_error *error) {
    cls_graph *g = j->b.s->g;
    clsi_rows rows;
    if (clsi_sparse_jacobian(g, n, duals, n, z, &rows)) return cls_graph_status(g, error);
    return add_rows(j, name, meaning, n, &rows, out, error);
}

/* M over (p, S): what is not zero of it, and the diagonal. */
static cls_status add_operator(judge *j, cls_error *error) {
    const cls_system *s = j->b.s;
    size_t N = s->n + s->m;
    const cls_node *M = s->bound.friction_operator;
    clsi_rows rows = {0};
    kind *k = NULL;
    for (size_t e = 0; e < N * N; e++)
        rows.n += e % (N + 1) == 0 || !cls_is_constant(s->g, M[e], 0);
    rows.start = clsi_calloc(N + 1, sizeof *rows.start);
    rows.column = clsi_calloc(rows.n, sizeof *rows.column);
    rows.node = clsi_calloc(rows.n, sizeof *rows.node);
    cls_status status = rows.start && rows.column && rows.node ? CLS_OK : clsi_no_memory(error);
    size_t n = 0;
    for (size_t e = 0; e < N * N && !status; e++) {
        if (e % (N + 1) != 0 && cls_is_constant(s->g, M[e], 0)) continue;
        rows.column[n] = (uint32_t)(e % N);
        rows.node[n++] = M[e];
        rows.start[e / N + 1] = n;
    }
    if (!status) status = clsi_audit_native(s, n, rows.node, rows.node, error);
    if (!status)
        status =
            add_rows(j, "friction operator", "the smallest pivot of M is", N, &rows, &k, error);
    else
        clsi_rows_clear(&rows);
    if (!status) k->singular = k->may_be_zero = 1;
    return status;
}

/* What momenta (velocities) are when nothing moves; most often numbers, which need no scale. */
static cls_status add_rest(judge *j, cls_error *error) {
    const clsi_kinetic *m = &j->motion;
    cls_graph *g = j->b.s->g;
    kind *k = new_kind(j, "momentum at rest",
                       j->b.s->form->kind == CLSI_FORM_PHASE ? "v at p = 0" : "p at v = 0", m->n);
    cls_node *rest = clsi_calloc(m->n, sizeof *rest), *zero = clsi_calloc(m->n, sizeof *zero);
    cls_status status = k && rest && zero ? CLS_OK : clsi_no_memory(error);
    int numbers = 1;
    for (size_t i = 0; i < m->n && !status; i++) zero[i] = cls_constant(g, 0);
    if (!status && cls_substitute(g, m->n, m->dual, m->n, m->native, zero, rest))
        status = cls_graph_status(g, error);
    for (size_t i = 0; i < m->n && !status; i++) {
        numbers &= cls_node_op(g, rest[i]) == CLS_OP_CONSTANT;
        k->start[i + 1] = i + 1;
        if (!add_node(j, rest[i])) status = clsi_no_memory(error);
    }
    for (size_t i = 0; i < m->n && !status && !numbers; i++)
        if (!add_node(j, m->dual[i])) status = clsi_no_memory(error);
    if (!status) {
        k->outputs = j->n_nodes - k->first;
        k->told = k->rest = 1;
    }
    free(rest);
    free(zero);
    return status;
}

static cls_status add_matrices(judge *j, cls_error *error) {
    const cls_system *s = j->b.s;
    const clsi_form *f = s->form;
    int phase = f->kind == CLSI_FORM_PHASE, thermal = f->kind == CLSI_FORM_THERMAL;
    cls_status status = CLS_OK;
    kind *k;
    if (j->motion.n) {
        status = add_rest(j, error);
        if (!status)
            status = add_matrix(j, "mass matrix", "the smallest pivot of dp/dv is", j->motion.n,
                                j->motion.dual, j->motion.native, &k, error);
        if (!status) k->inverse = phase;
    }
    if (s->m && !status) {
        status = add_matrix(j, "heat capacity",
                            thermal ? "the smallest pivot of dS/dT is"
                                    : "the smallest pivot of dT/dS is",
                            s->m, thermal ? f->S : f->T, f->z + f->nq + f->n, &k, error);
        if (!status) k->may_be_zero = !thermal;
    }
    if (status || s->has_entropy || f->kind == CLSI_FORM_VELOCITY || !s->n || !s->m) return status;
    cls_node *dual = clsi_calloc(s->n + s->m, sizeof *dual);
    if (!dual) return clsi_no_memory(error);
    memcpy(dual, phase ? f->v : f->p, s->n * sizeof *dual);
    memcpy(dual + s->n, phase ? f->T : f->S, s->m * sizeof *dual);
    status = add_matrix(j, "convexity", "the smallest pivot of the Hessian is", s->n + s->m, dual,
                        f->z + f->nq, &k, error);
    if (!status) k->told = 1;
    free(dual);
    return status;
}

/* What is made of numbers is not computed at every point; masses and conductances often are. */
static cls_status take_fixed(judge *j, cls_error *error) {
    const cls_graph *g = j->b.s->g;
    size_t kept = 0, behind = 0;
    j->good = 1;
    for (size_t i = 0; i < j->n_kinds; i++) {
        kind *k = &j->kinds[i];
        size_t n = k->outputs ? k->outputs : k->start[k->n], constants = 0;
        const cls_node *nodes = j->nodes + k->first;
        for (size_t e = 0; e < n; e++) constants += cls_node_op(g, nodes[e]) == CLS_OP_CONSTANT;
        if (constants == n && !(k->fixed = clsi_calloc(n, sizeof *k->fixed)))
            return clsi_no_memory(error);
        for (size_t e = 0; e < n && k->fixed; e++) {
            k->fixed[e] = cls_node_value(g, nodes[e]);
            j->good &= fabs(k->fixed[e]) <= DBL_MAX;
        }
        behind = k->first + n;
        k->first = kept;
        if (k->fixed) continue;
        memmove(j->nodes + kept, nodes, n * sizeof *nodes);
        kept += n;
    }
    if (j->n_nodes > behind) /* there may be no nodes at all */
        memmove(j->nodes + kept, j->nodes + behind, (j->n_nodes - behind) * sizeof *j->nodes);
    j->n_nodes -= behind - kept;
    return CLS_OK;
}

/* ---- one point ---- */

static void note_worst(judge *j, kind *k, size_t element, double value, size_t sample) {
    if (!(value < k->least)) return;
    k->least = value;
    k->element = element;
    k->time = j->b.in[j->b.st->nz];
    clsi_snprintf(k->at, sizeof k->at,
                  sample < j->b.st->rows ? "time %.6g" : "a point around the data", k->time);
}

static double element_of(const kind *k, const double *x, size_t e, double *scale) {
    double sum = 0;
    for (size_t i = k->start[e]; i < k->start[e + 1]; i++) {
        sum += x[i];
        *scale += fabs(x[i]);
    }
    if (k->summed) sum = 0 - sum;
    return sum < 0 && sum > -ROUND_OFF * *scale ? 0 : sum;
}

/* A matrix with a null space has pivots of round-off: a little of its largest entry is added to the
 * diagonal, and what is then positive counts as zero. */
static void shift_diagonal(kind *k) {
    double largest = 0;
    for (size_t e = 0; e < k->start[k->n]; e++) largest = fmax(largest, fabs(k->entries[e]));
    for (size_t i = 0; i < k->n; i++)
        for (size_t e = k->start[i]; e < k->start[i + 1]; e++)
            if (k->column[e] == i) k->entries[e] += ROUND_OFF * largest;
    k->scale = fmax(k->scale, largest);
}

static double pivot_of(kind *k, const double *x, size_t *where) {
    double least = DBL_MAX;
    if (!k->lu) {
        for (size_t i = 0; i < k->n; i++) {
            double d = k->start[i] < k->start[i + 1] ? x[k->start[i]] : 0;
            if (k->inverse && d != 0) d = 1 / d;
            if (d < least) least = d, *where = i;
        }
        return least;
    }
    memcpy(k->entries, x, k->start[k->n] * sizeof *x);
    if (k->singular) shift_diagonal(k);
    size_t lost = clsi_sparse_lu_factor(k->lu, k->entries, k->work);
    for (size_t i = 0; i < (lost ? lost - 1 : k->n); i++) {
        double d = 1 / k->work[k->lu->diagonal[i]];
        if (k->inverse) d = 1 / d;
        if (d < least) least = d, *where = k->lu->order[i];
    }
    if (lost && least > 0) least = 0, *where = k->lu->order[lost - 1];
    return k->singular ? fmin(least, 0) : least;
}

/* The largest of what is there when nothing moves; the scale is that of everything. */
static double at_rest(kind *k, const double *x, size_t *where) {
    double largest = 0;
    for (size_t e = 0; e < k->n; e++)
        if (fabs(x[e]) > largest) largest = fabs(x[e]), *where = e;
    for (size_t e = 0; e < k->outputs; e++) k->scale = fmax(k->scale, fabs(x[e]));
    return largest;
}

static void try_kind(judge *j, kind *k, const double *x, size_t sample) {
    size_t where = 0;
    double least = DBL_MAX;
    if (k->column) least = pivot_of(k, x, &where);
    if (k->rest) least = -at_rest(k, x, &where);
    for (size_t e = 0; e < k->n && !k->column && !k->rest; e++) {
        double scale = 0, value = element_of(k, x, e, &scale);
        if (k->start[e] == k->start[e + 1]) continue;
        if (scale > k->scale) k->scale = scale;
        if (value < least) least = value, where = e;
    }
    note_worst(j, k, where, least, sample);
}

static void try_sample(judge *j, const double *x, size_t sample) {
    const cls_system *s = j->b.s;
    int of_data = sample < j->b.st->rows, finite = j->good;
    const double *T = x + j->n_nodes - s->m;
    for (size_t i = 0; i < s->m && !of_data; i++)
        if (T[i] <= s->temperature[i].low || T[i] >= s->temperature[i].high) {
            j->no_state++;
            return;
        }
    for (size_t i = 0; i < j->n_nodes; i++) finite &= fabs(x[i]) <= DBL_MAX;
    *(of_data ? &j->states : &j->points) += 1;
    if (!finite) {
        *(of_data ? &j->bad_states : &j->bad_points) += 1;
        return;
    }
    for (kind *k = j->kinds; k < j->kinds + j->n_kinds; k++)
        if (!k->fixed || k->least == DBL_MAX)
            try_kind(j, k, k->fixed ? k->fixed : x + k->first, sample);
}

/* One point at a time: its numbers stand side by side, as the programs of many elements want them. */
static cls_status try_all(judge *j, const cls_program *program, cls_error *error) {
    clsi_sampler *b = &j->b;
    size_t total = b->st->rows + b->a->options.samples;
    double *work = clsi_calloc(cls_program_work_size(program), sizeof *work);
    double *x = clsi_calloc(j->n_nodes, sizeof *x);
    if (work && x) cls_program_prepare(program, work);
    for (size_t sample = 0; work && x && sample < total; sample++) {
        (void)clsi_sampler_fill(b, sample);
        cls_program_run(program, work, b->in, x);
        try_sample(j, x, sample);
    }
    cls_status status = work && x ? CLS_OK : clsi_no_memory(error);
    free(work);
    free(x);
    return status;
}

/* ---- verdicts ---- */

static const char *element_name(const judge *j, const kind *k, char out[160]) {
    const cls_system *s = j->b.s;
    size_t e = k->element;
    if (strcmp(k->name, "dissipation") == 0)
        return e < s->m ? s->entropy[e].name : s->reservoir[e - s->m];
    if (strcmp(k->name, "mass matrix") == 0 || k->rest)
        return s->momentum[j->motion.momentum[e]].name;
    if (strcmp(k->name, "heat capacity") == 0) return s->entropy[e].name;
    if (strcmp(k->name, "reservoir positive") == 0) return s->reservoir[e];
    if (strcmp(k->name, "convexity") == 0 || strcmp(k->name, "friction operator") == 0)
        return e < s->n ? s->momentum[e].name : s->entropy[e - s->n].name;
    const clsi_sparse *t = &s->bound.conductance; /* heat exchange: by its first end */
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].row < t->entries[i].column && n++ == e)
            return s->entropy[t->entries[i].row].name;
    for (size_t i = 0; i < s->m * s->nr; i++)
        if (!cls_is_constant(s->g, s->bound.bath[i], 0) && n++ == e) {
            snprintf(out, 160, "%.70s and the reservoir %.60s", s->entropy[i / s->nr].name,
                     s->reservoir[i % s->nr]);
            return out;
        }
    return "a reservoir";
}

static cls_status conclude(judge *j, const kind *k, cls_error *error) {
    char bad[120] = "", name[160];
    size_t elements = 0;
    for (size_t e = 0; e < k->n; e++) elements += k->start[e] < k->start[e + 1];
    if (!elements || k->least == DBL_MAX) return CLS_OK;
    if (j->bad_states || j->bad_points || j->no_state)
        snprintf(bad, sizeof bad, " (not finite: %zu and %zu; no states: %zu)", j->bad_states,
                 j->bad_points, j->no_state);
    double value = k->summed && k->scale > 0 ? k->least / k->scale : k->least;
    int holds = k->summed        ? value >= -NOTHING
                : k->may_be_zero ? k->least >= -NOTHING * k->scale
                                 : k->least > 0;
    char meaning[100];
    snprintf(meaning, sizeof meaning, "%s%s", k->meaning,
             !k->rest ? ""
             : -k->least <= ROUND_OFF * k->scale
                 ? " is zero, at most"
                 : " is not zero (gauge or gyroscopic term), at most");
    if (k->rest) value = 0 - value;
    const char *word = elements > 1 ? k->column ? "rows" : "elements"
                       : k->column  ? "row"
                                    : "element";
    return clsi_law_add(
        j->b.a, k->name, NULL, k->told || (holds && !j->bad_states), value, 0, error,
        "%s %.6g, for %zu %s, over %zu states and %zu points around them%s; worst "
        "for %s at %s",
        meaning, value, elements, word, j->states, j->points, bad, element_name(j, k, name), k->at);
}

static void judge_clear(judge *j) {
    for (size_t i = 0; i < j->n_kinds; i++) {
        kind *k = &j->kinds[i];
        free(k->start);
        free(k->column);
        free(k->work);
        free(k->entries);
        free(k->fixed);
        clsi_sparse_lu_free(&k->lu);
    }
    free(j->nodes);
    clsi_kinetic_clear(&j->motion);
    clsi_sampler_clear(&j->b);
}

cls_status clsi_audit_many(cls_audit *a, const cls_system *s, const clsi_states *st,
                           cls_error *error) {
    judge j = {.b = {.a = a, .s = s, .st = st, .block = 1}};
    cls_program *program = NULL;
    cls_status status = clsi_sampler_create(&j.b, error);
    if (!status && s->n) status = add_frictions(&j, error);
    if (!status) status = add_conductances(&j, error);
    if (!status && s->nr) status = add_reservoirs(&j, error);
    if (!status && s->has_operator) status = add_operator(&j, error);
    if (!status) status = clsi_kinetic_find(s, &j.motion, error);
    if (!status) status = add_matrices(&j, error);
    if (!status) status = take_fixed(&j, error);
    for (size_t i = 0; i < s->m && !status; i++)
        if (!add_node(&j, s->form->T[i])) status = clsi_no_memory(error);
    if (!status) status = clsi_audit_program(s, j.n_nodes, j.nodes, &program, error);
    if (!status) status = try_all(&j, program, error);
    for (size_t k = 0; k < j.n_kinds && !status; k++) status = conclude(&j, &j.kinds[k], error);
    cls_program_free(&program);
    judge_clear(&j);
    return status;
}
