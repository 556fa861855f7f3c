/* Rates, Jacobians, energies and entropies of many states: blocks of lanes, shared out to threads.
 *
 * f = M^-1 F and f_z = -M^-1 D_z of flow.h, in blocks of sixteen; energy and entropy by one program
 * over columns. A state never looks at its neighbours, so that no number depends on the blocks. */
#include "base/base.h"
#include "base/misuse.h"
#include "simulate/flow.h"
#include "system/dense.h"
#include "system/system.h"
#include <clausius/flow.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct cls_flow {
    const cls_system *system; /* the view */
    cls_system *view;
    size_t nz;
    clsi_flow *flow;
    cls_program *laws; /* t, z -> energy, entropy; NULL for plain equations */
};

enum { COLUMN_BLOCK = 1024 };

static cls_status compile_laws(cls_flow *f, cls_error *error) {
    const cls_system *s = f->system;
    cls_node *inputs = clsi_calloc(f->nz + 1, sizeof *inputs);
    cls_node outputs[2] = {s->form->energy, s->form->entropy};
    if (!inputs) return clsi_no_memory(error);
    inputs[0] = s->t;
    memcpy(inputs + 1, s->form->z, f->nz * sizeof *inputs);
    cls_status status = cls_program_create(s->g, f->nz + 1, inputs, 2, outputs, &f->laws, error);
    free(inputs);
    return status;
}

cls_status cls_flow_create(const cls_system *system, cls_flow **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, system);
    cls_flow *f = *out = clsi_calloc(1, sizeof *f);
    if (!f) return clsi_no_memory(error);
    f->nz = system->form->nz;
    cls_status status = clsi_system_view(system, &f->view, error);
    f->system = f->view;
    if (!status) status = clsi_flow_create(f->view, 0, NULL, &f->flow, error);
    if (!status && !system->ode) status = compile_laws(f, error);
    if (status) cls_flow_free(out);
    return status;
}

void cls_flow_free(cls_flow **flow) {
    if (!flow) return;
    cls_flow *f = *flow;
    if (!f) return;
    clsi_flow_free(&f->flow);
    cls_program_free(&f->laws);
    clsi_system_view_free(&f->view);
    free(f);
    *flow = NULL;
}

size_t cls_flow_count(const cls_flow *flow) {
    if (!flow) return 0;
    return flow->nz;
}

/* ---- rates ---- */

typedef struct question {
    const cls_flow *f;
    size_t n, stride;
    const double *states, *t;
    double *rates, *jacobian;
} question;

/* What one thread needs besides: (CLSI_LANES) rates, factors, slopes, pivots. */
typedef struct scratch {
    clsi_current *current;
    double *block;
    double *rate[CLSI_LANES], *M[CLSI_LANES], *slope[CLSI_LANES];
    size_t *pivots, *pivot[CLSI_LANES];
} scratch;

static cls_status scratch_create(const cls_flow *f, scratch *s, cls_error *error) {
    size_t nz = f->nz, each = nz + 2 * nz * nz;
    *s = (scratch){.block = clsi_calloc(CLSI_LANES * each, sizeof(double)),
                   .pivots = clsi_calloc(CLSI_LANES * nz, sizeof(size_t))};
    if (!s->block || !s->pivots) return clsi_no_memory(error);
    for (size_t i = 0; i < CLSI_LANES; i++) {
        s->rate[i] = s->block + i * each;
        s->M[i] = s->rate[i] + nz;
        s->slope[i] = s->M[i] + nz * nz;
        s->pivot[i] = s->pivots + i * nz;
    }
    return clsi_current_create(f->flow, &s->current, error);
}

static void scratch_clear(scratch *s) {
    clsi_current_free(&s->current);
    free(s->block);
    free(s->pivots);
}

/* Column by column of f_z = -M^-1 D_z. */
static void solve_columns(size_t nz, const double *M, const size_t *pivot, const double *slope,
                          double *out) {
    double column[64], *x = nz <= 64 ? column : NULL;
    for (size_t j = 0; j < nz; j++) {
        if (!x) return;
        for (size_t k = 0; k < nz; k++) x[k] = -slope[k * nz + j];
        clsi_lu_solve(nz, M, pivot, x);
        for (size_t k = 0; k < nz; k++) out[k * nz + j] = x[k];
    }
}

static void answer_block(const question *q, scratch *s, size_t first) {
    size_t nz = q->f->nz, n = q->n - first < CLSI_LANES ? q->n - first : CLSI_LANES;
    const double *z[CLSI_LANES] = {0};
    double t[CLSI_LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        z[i] = q->states + (first + i) * q->stride;
        t[i] = q->t ? q->t[first + i] : 0;
    }
    clsi_current_rates(s->current, n, z, t, s->rate, s->M, s->pivot);
    for (size_t i = 0; q->rates && i < n; i++)
        memcpy(q->rates + (first + i) * nz, s->rate[i], nz * sizeof(double));
    if (!q->jacobian) return;
    clsi_current_slopes(s->current, n, z, t, (const double *const *)s->rate, s->slope);
    for (size_t i = 0; i < n; i++)
        solve_columns(nz, s->M[i], s->pivot[i], s->slope[i], q->jacobian + (first + i) * nz * nz);
}

static int thread_count(int threads, size_t n) {
    if (threads <= 0) threads = omp_get_max_threads();
    return n < 256 ? 1 : threads; /* a thread costs more than so few */
}

cls_status cls_flow_rates(const cls_flow *flow, size_t n, size_t stride, const double *states,
                          const double *t, int threads, double *rates, double *jacobian,
                          cls_error *error) {
    NEED(error, flow);
    question q = {flow, n, stride, states, t, rates, jacobian};
    cls_status status = CLS_OK;
    if (jacobian && flow->nz > 64)
        return clsi_fail(error, CLS_USAGE, "a Jacobian of %zu variables is not made dense",
                         flow->nz);
    threads = thread_count(threads, n);
#pragma omp parallel num_threads(threads)
    {
        scratch s;
        cls_error mine = {0};
        cls_status made = scratch_create(flow, &s, &mine);
        if (made)
#pragma omp critical(clsi_evaluate)
            status = made;
#pragma omp for schedule(dynamic, 64)
        for (size_t first = 0; first < n; first += CLSI_LANES)
            if (!made) answer_block(&q, &s, first);
        scratch_clear(&s);
    }
    return status ? clsi_no_memory(error) : CLS_OK;
}

struct cls_flow_work {
    scratch scratch;
};

cls_status cls_flow_work_create(const cls_flow *flow, cls_flow_work **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, flow);
    cls_flow_work *w = clsi_calloc(1, sizeof *w);
    if (!w) return clsi_no_memory(error);
    cls_status status = scratch_create(flow, &w->scratch, error);
    *out = w;
    if (status) cls_flow_work_free(out);
    return status;
}

void cls_flow_work_free(cls_flow_work **work) {
    if (!work || !*work) return;
    scratch_clear(&(*work)->scratch);
    free(*work);
    *work = NULL;
}

cls_status cls_flow_rates_in(const cls_flow *flow, cls_flow_work *work, size_t n, size_t stride,
                             const double *states, const double *t, double *rates, double *jacobian,
                             cls_error *error) {
    NEED(error, flow && work && (states || !n));
    question q = {flow, n, stride, states, t, rates, jacobian};
    if (jacobian && flow->nz > 64)
        return clsi_fail(error, CLS_USAGE, "a Jacobian of %zu variables is not made dense",
                         flow->nz);
    for (size_t first = 0; first < n; first += CLSI_LANES) answer_block(&q, &work->scratch, first);
    return CLS_OK;
}

/* ---- energy and entropy ---- */

static cls_status laws_block(const cls_flow *f, size_t n, size_t stride, const double *states,
                             const double *t, double *block, double *energy, double *entropy) {
    double *in = block, *out = block + (f->nz + 1) * COLUMN_BLOCK;
    for (size_t i = 0; i < n; i++) in[i] = t ? t[i] : 0;
    for (size_t k = 0; k < f->nz; k++)
        for (size_t i = 0; i < n; i++) in[(k + 1) * COLUMN_BLOCK + i] = states[i * stride + k];
    cls_status status = cls_program_run_many(f->laws, n, COLUMN_BLOCK, in, out);
    if (energy) memcpy(energy, out, n * sizeof *energy);
    if (entropy) memcpy(entropy, out + COLUMN_BLOCK, n * sizeof *entropy);
    return status;
}

cls_status cls_flow_laws(const cls_flow *flow, size_t n, size_t stride, const double *states,
                         const double *t, int threads, double *energy, double *entropy,
                         cls_error *error) {
    NEED(error, flow);
    cls_status status = CLS_OK;
    if (!flow->laws)
        return clsi_fail(error, CLS_USAGE,
                         "'%s' are plain differential equations: they have neither energy nor "
                         "entropy",
                         flow->system->name);
    threads = thread_count(threads, n / 8);
#pragma omp parallel num_threads(threads)
    {
        double *block = clsi_calloc((flow->nz + 3) * COLUMN_BLOCK, sizeof *block);
#pragma omp for schedule(dynamic)
        for (size_t first = 0; first < n; first += COLUMN_BLOCK) {
            size_t here = n - first < COLUMN_BLOCK ? n - first : COLUMN_BLOCK;
            cls_status made =
                block ? laws_block(flow, here, stride, states + first * stride,
                                   t ? t + first : NULL, block, energy ? energy + first : NULL,
                                   entropy ? entropy + first : NULL)
                      : CLS_MEMORY;
            if (made)
#pragma omp critical(clsi_evaluate)
                status = made;
        }
        free(block);
    }
    return status ? clsi_no_memory(error) : CLS_OK;
}

size_t cls_flow_work_size(const cls_flow *flow) {
    if (!flow) return 0;
    return flow->laws ? cls_program_work_size(flow->laws) + flow->nz + 1 : 1;
}

void cls_flow_prepare(const cls_flow *flow, double *work) {
    if (!flow) return;
    if (!work) return;
    if (flow->laws) cls_program_prepare(flow->laws, work + flow->nz + 1);
}

void cls_flow_laws_one(const cls_flow *flow, double *work, double t, const double *state,
                       double laws[2]) {
    if (!flow) return;
    if (!work || !state || !laws) return;
    laws[0] = laws[1] = NAN;
    if (!flow->laws) return;
    work[0] = t;
    memcpy(work + 1, state, flow->nz * sizeof *work);
    cls_program_run(flow->laws, work + flow->nz + 1, work, laws);
}
