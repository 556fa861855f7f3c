/* Rates, Jacobians, energies and entropies of many states: blocks of states in columns, shared out
 * to threads.
 *
 * Rates are formulas of the state where the equations of motion can be solved for them (explicit.c),
 * and their Jacobian the derivative of these; elsewhere f = M^-1 F and f_z = -M^-1 D_z of flow.h
 * with M factored state by state. A state never looks at its neighbours, so that no number depends
 * on the blocks or on the threads. */
#include "base/base.h"
#include "base/misuse.h"
#include "expr/graph.h"
#include "simulate/flow.h"
#include "system/dense.h"
#include "system/system.h"
#include <clausius/flow.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { RATES, JACOBIAN, ENERGY, ENTROPY, PROGRAMS };
enum { BLOCK = 64, DENSE = 64 }; /* states of a block; variables of a Jacobian at most */

struct cls_flow {
    const cls_system *system; /* the view */
    cls_system *view;
    size_t nz;
    cls_program *own[PROGRAMS]; /* z, t -> what it says; NULL: see `flow`, or there is none */
    size_t *entry;              /* of a Jacobian by formulas: where its numbers go */
    clsi_flow *flow;            /* M is factored; NULL: formulas */
};

/* ---- compiled ---- */

static cls_status compile(const cls_flow *f, const cls_node *inputs, size_t n,
                          const cls_node *outputs, cls_program **out, cls_error *error) {
    return cls_program_create(f->system->g, f->nz + 1, inputs, n, outputs, out, error);
}

static cls_status compile_jacobian(cls_flow *f, const cls_node *inputs, const cls_node *rate,
                                   cls_error *error) {
    cls_graph *g = f->system->g;
    clsi_rows rows = {0};
    cls_status status = clsi_sparse_jacobian(g, f->nz, rate, f->nz, inputs, &rows);
    if (status != CLS_OK) return clsi_graph_failed(g, error);
    f->entry = clsi_calloc(rows.n + 1, sizeof *f->entry);
    for (size_t i = 0; i < f->nz && f->entry; i++)
        for (size_t k = rows.start[i]; k < rows.start[i + 1]; k++)
            f->entry[k] = i * f->nz + rows.column[k];
    status = f->entry ? compile(f, inputs, rows.n, rows.node, &f->own[JACOBIAN], error)
                      : clsi_no_memory(error);
    clsi_rows_clear(&rows);
    return status;
}

static cls_status compile_rates(cls_flow *f, cls_error *error) {
    cls_node *inputs = clsi_calloc(2 * f->nz + 1, sizeof *inputs), *rate = inputs + f->nz + 1;
    int found = 0;
    if (!inputs) return clsi_no_memory(error);
    cls_status status = clsi_explicit_rates(f->system, inputs, &inputs[f->nz], rate, &found, error);
    if (status == CLS_OK && !found)
        status = clsi_flow_create(f->system, 0, NULL, &f->flow, error);
    else if (status == CLS_OK)
        status = compile(f, inputs, f->nz, rate, &f->own[RATES], error);
    if (status == CLS_OK && found && f->nz <= DENSE)
        status = compile_jacobian(f, inputs, rate, error);
    free(inputs);
    return status;
}

static cls_status compile_laws(cls_flow *f, cls_error *error) {
    const cls_system *s = f->system;
    cls_node *inputs = clsi_calloc(f->nz + 1, sizeof *inputs);
    if (!inputs) return clsi_no_memory(error);
    memcpy(inputs, s->form->z, f->nz * sizeof *inputs);
    inputs[f->nz] = s->t;
    cls_status status = compile(f, inputs, 1, &s->form->energy, &f->own[ENERGY], error);
    if (status == CLS_OK)
        status = compile(f, inputs, 1, &s->form->entropy, &f->own[ENTROPY], error);
    free(inputs);
    return status;
}

/* Rates at a state need the inputs there. */
static cls_status check_inputs(const cls_system *s, cls_error *error) {
    for (size_t i = 0; i < s->nu; i++)
        if (s->input_formula[i] == CLS_NO_NODE)
            return clsi_fail(
                error, CLS_USAGE,
                "rates of '%s' need its input '%s', which has no value here: set it to "
                "a number or a formula of t",
                s->name, s->input[i].name);
    return CLS_OK;
}

cls_status cls_flow_create(const cls_system *system, cls_flow **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, system);
    cls_status status = check_inputs(system, error);
    if (status) return status;
    cls_flow *f = *out = clsi_calloc(1, sizeof *f);
    if (!f) return clsi_no_memory(error);
    f->nz = system->form->nz;
    status = clsi_system_view(system, &f->view, error);
    f->system = f->view;
    if (!status) status = compile_rates(f, error);
    if (!status && !system->ode) status = compile_laws(f, error);
    if (status) cls_flow_free(out);
    return status;
}

void cls_flow_free(cls_flow **flow) {
    if (!flow) return;
    cls_flow *f = *flow;
    if (!f) return;
    clsi_flow_free(&f->flow);
    for (int i = 0; i < PROGRAMS; i++) cls_program_free(&f->own[i]);
    free(f->entry);
    clsi_system_view_free(&f->view);
    free(f);
    *flow = NULL;
}

size_t cls_flow_count(const cls_flow *flow) {
    if (!flow) return 0;
    return flow->nz;
}

/* ---- a block of states ---- */

typedef struct question {
    const cls_flow *f;
    size_t n, stride;
    const double *states, *t;
    double *to[PROGRAMS]; /* NULL: not wanted */
} question;

/* What one thread needs besides. */
typedef struct cls_flow_work {
    double *in, *out;        /* columns of BLOCK: z, t, z'; results */
    double *room[PROGRAMS];  /* of the programs; where M is factored the first two are flow's */
    double *alone[PROGRAMS]; /* the same for one state, NULL: there is none of that kind */
    double *x, *y;           /* its inputs and results */
    double *M, *column;      /* (BLOCK, nz, nz), (nz) */
    size_t *pivot;           /* (BLOCK, nz) */
    double *block;
} scratch;

static const cls_program *program(const cls_flow *f, int which) {
    if (!f->flow || which > JACOBIAN) return f->own[which];
    return which == RATES ? f->flow->value : f->flow->slopes;
}

static int wanted(const question *q, int which) {
    /* z' is an input of the slopes */
    return q->to[which] || (which == RATES && q->f->flow && q->to[JACOBIAN]);
}

static void scratch_clear(scratch *s) {
    free(s->block);
    free(s->pivot);
}

/* Everything begins on a cache line. */
typedef struct layout {
    double *base; /* NULL: only counted */
    size_t size;
} layout;

static double *carve(layout *l, size_t n) {
    double *here = l->base ? l->base + l->size : NULL;
    l->size += (n + 7) / 8 * 8;
    return here;
}

static size_t lay_out(const question *q, int alone, scratch *s, double *base) {
    const cls_flow *f = q->f;
    layout l = {base, 0};
    size_t nz = f->nz, outputs = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        const cls_program *p = wanted(q, i) ? program(f, i) : NULL;
        if (!p) continue;
        s->room[i] = carve(&l, clsi_many_size(p, BLOCK));
        s->alone[i] = alone ? carve(&l, cls_program_work_size(p)) : NULL;
        if (p->n_outputs > outputs) outputs = p->n_outputs;
    }
    s->in = carve(&l, (2 * nz + 1) * BLOCK);
    s->out = carve(&l, outputs * BLOCK);
    s->x = carve(&l, 2 * nz + 1);
    s->y = carve(&l, outputs);
    s->column = carve(&l, nz);
    s->M = carve(&l, f->flow ? BLOCK * nz * nz : 0);
    return l.size;
}

/* For all that the question asks; of `to` only whether it is there. */
static cls_status scratch_create(const question *q, int alone, scratch *s, cls_error *error) {
    *s = (scratch){0};
    size_t size = lay_out(q, alone, s, NULL);
    s->pivot = clsi_calloc(BLOCK * q->f->nz + 1, sizeof *s->pivot);
    s->block = clsi_calloc(size + 8, sizeof *s->block);
    if (!s->pivot || !s->block) {
        scratch_clear(s);
        return clsi_no_memory(error);
    }
    lay_out(q, alone, s, clsi_on_cache_line(s->block));
    for (int i = 0; i < PROGRAMS; i++) {
        if (s->room[i]) clsi_many_prepare(program(q->f, i), BLOCK, s->room[i]);
        if (s->alone[i]) cls_program_prepare(program(q->f, i), s->alone[i]);
    }
    return CLS_OK;
}

static void run(const cls_flow *f, scratch *s, int which, size_t n) {
    const cls_program *p = program(f, which);
    if (n == 1 && s->alone[which]) {
        for (size_t k = 0; k < p->n_inputs; k++) s->x[k] = s->in[k * BLOCK];
        cls_program_run(p, s->alone[which], s->x, s->y);
        for (size_t k = 0; k < p->n_outputs; k++) s->out[k * BLOCK] = s->y[k];
    } else {
        clsi_many_run(p, BLOCK, s->room[which], n, BLOCK, s->in, s->out);
    }
}

/* ---- M factored ---- */

/* z' of state i from -F and M in the columns, into the inputs of the slopes. */
static void solve(const cls_flow *f, scratch *s, size_t i) {
    size_t nz = f->nz, *pivot = s->pivot + i * nz;
    double *M = s->M + i * nz * nz;
    for (size_t k = 0; k < nz; k++) s->column[k] = -s->out[k * BLOCK + i];
    for (size_t k = 0; k < nz * nz; k++) M[k] = s->out[(nz + k) * BLOCK + i];
    int lost = clsi_lu_factor(nz, M, pivot) != 0;
    if (!lost) clsi_lu_solve(nz, M, pivot, s->column);
    for (size_t k = 0; k < nz; k++)
        s->in[(nz + 1 + k) * BLOCK + i] = lost ? (double)NAN : s->column[k];
}

/* Column by column of f_z = -M^-1 D_z. */
static void solve_columns(const cls_flow *f, scratch *s, size_t i, double *out) {
    size_t nz = f->nz;
    int lost = isnan(s->in[(nz + 1) * BLOCK + i]);
    for (size_t j = 0; j < nz; j++) {
        for (size_t k = 0; k < nz; k++) s->column[k] = -s->out[(k * nz + j) * BLOCK + i];
        if (!lost) clsi_lu_solve(nz, s->M + i * nz * nz, s->pivot + i * nz, s->column);
        for (size_t k = 0; k < nz; k++) out[k * nz + j] = lost ? (double)NAN : s->column[k];
    }
}

/* Columns of n states as rows of `width`. */
static void give(size_t n, size_t width, const double *columns, double *rows) {
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < n; i++) rows[i * width + k] = columns[k * BLOCK + i];
}

static void by_factors(const question *q, scratch *s, size_t first, size_t n) {
    const cls_flow *f = q->f;
    size_t nz = f->nz;
    run(f, s, RATES, n);
    for (size_t i = 0; i < n; i++) solve(f, s, i);
    if (q->to[RATES]) give(n, nz, s->in + (nz + 1) * BLOCK, q->to[RATES] + first * nz);
    if (!q->to[JACOBIAN]) return;
    run(f, s, JACOBIAN, n);
    for (size_t i = 0; i < n; i++) solve_columns(f, s, i, q->to[JACOBIAN] + (first + i) * nz * nz);
}

/* ---- formulas ---- */

static void by_formulas(const question *q, scratch *s, size_t first, size_t n) {
    const cls_flow *f = q->f;
    size_t nz = f->nz;
    if (q->to[RATES]) {
        run(f, s, RATES, n);
        give(n, nz, s->out, q->to[RATES] + first * nz);
    }
    if (!q->to[JACOBIAN]) return;
    double *to = q->to[JACOBIAN] + first * nz * nz;
    run(f, s, JACOBIAN, n);
    memset(to, 0, n * nz * nz * sizeof *to);
    for (size_t k = 0; k < f->own[JACOBIAN]->n_outputs; k++)
        for (size_t i = 0; i < n; i++) to[i * nz * nz + f->entry[k]] = s->out[k * BLOCK + i];
}

static void answer_block(const question *q, scratch *s, size_t first) {
    size_t nz = q->f->nz, n = q->n - first < BLOCK ? q->n - first : BLOCK;
    const double *z = q->states + first * q->stride;
    for (size_t k = 0; k < nz; k++)
        for (size_t i = 0; i < n; i++) s->in[k * BLOCK + i] = z[i * q->stride + k];
    for (size_t i = 0; i < n; i++) s->in[nz * BLOCK + i] = q->t ? q->t[first + i] : 0;
    if (q->to[RATES] || q->to[JACOBIAN]) (q->f->flow ? by_factors : by_formulas)(q, s, first, n);
    for (int which = ENERGY; which <= ENTROPY; which++) {
        if (!q->to[which]) continue;
        run(q->f, s, which, n);
        memcpy(q->to[which] + first, s->out, n * sizeof(double));
    }
}

/* ---- many ---- */

static cls_status check(const question *q, cls_error *error) {
    if (q->to[JACOBIAN] && q->f->nz > DENSE)
        return clsi_fail(error, CLS_USAGE, "a Jacobian of %zu variables is not made dense",
                         q->f->nz);
    if ((q->to[ENERGY] || q->to[ENTROPY]) && q->f->system->ode)
        return clsi_fail(error, CLS_USAGE,
                         "'%s' are plain differential equations: they have neither energy nor "
                         "entropy",
                         q->f->system->name);
    return CLS_OK;
}

static cls_status answer(const question *q, int threads, cls_error *error) {
    cls_status status = check(q, error);
    if (status) return status;
    if (threads <= 0) threads = omp_get_max_threads();
    if (q->n < 16 * BLOCK) threads = 1; /* a thread costs more than so few */
#pragma omp parallel num_threads(threads)
    {
        scratch s;
        cls_error mine = {0};
        cls_status made = scratch_create(q, 0, &s, &mine);
        if (made)
#pragma omp critical(clsi_evaluate)
            status = made;
#pragma omp for schedule(dynamic, 16)
        for (size_t first = 0; first < q->n; first += BLOCK)
            if (!made) answer_block(q, &s, first);
        if (!made) scratch_clear(&s);
    }
    return status ? clsi_no_memory(error) : CLS_OK;
}

cls_status cls_flow_rates(const cls_flow *flow, size_t n, size_t stride, const double *states,
                          const double *t, int threads, double *rates, double *jacobian,
                          cls_error *error) {
    NEED(error, flow && (states || !n));
    question q = {flow, n, stride, states, t, {[RATES] = rates, [JACOBIAN] = jacobian}};
    return answer(&q, threads, error);
}

cls_status cls_flow_laws(const cls_flow *flow, size_t n, size_t stride, const double *states,
                         const double *t, int threads, double *energy, double *entropy,
                         cls_error *error) {
    NEED(error, flow && (states || !n));
    question q = {flow, n, stride, states, t, {[ENERGY] = energy, [ENTROPY] = entropy}};
    return answer(&q, threads, error);
}

/* ---- few, in memory that is kept ---- */

cls_status cls_flow_work_create(const cls_flow *flow, cls_flow_work **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, flow);
    double any;
    question all = {.f = flow, .to = {&any, flow->nz <= DENSE ? &any : NULL, &any, &any}};
    cls_flow_work *w = *out = clsi_calloc(1, sizeof *w);
    if (!w) return clsi_no_memory(error);
    cls_status status = scratch_create(&all, 1, w, error);
    if (status) free(w), *out = NULL;
    return status;
}

void cls_flow_work_free(cls_flow_work **work) {
    if (!work || !*work) return;
    scratch_clear(*work);
    free(*work);
    *work = NULL;
}

cls_status cls_flow_rates_in(const cls_flow *flow, cls_flow_work *work, size_t n, size_t stride,
                             const double *states, const double *t, double *rates, double *jacobian,
                             cls_error *error) {
    NEED(error, flow && work && (states || !n));
    question q = {flow, n, stride, states, t, {[RATES] = rates, [JACOBIAN] = jacobian}};
    cls_status status = check(&q, error);
    for (size_t first = 0; !status && first < n; first += BLOCK) answer_block(&q, work, first);
    return status;
}

cls_status cls_flow_laws_in(const cls_flow *flow, cls_flow_work *work, size_t n, size_t stride,
                            const double *states, const double *t, double *energy, double *entropy,
                            cls_error *error) {
    NEED(error, flow && work && (states || !n));
    question q = {flow, n, stride, states, t, {[ENERGY] = energy, [ENTROPY] = entropy}};
    cls_status status = check(&q, error);
    for (size_t first = 0; !status && first < n; first += BLOCK) answer_block(&q, work, first);
    return status;
}
