/* Adam (Kingma and Ba, arXiv 1412.6980): the baseline, kept because papers use it.
 *
 * Batches of 256 rows unless asked otherwise, moments 0.9 and 0.999. The rate falls
 * exponentially over max_iterations from 1e-2 (or what is asked for) to a thousandth of that (or
 * what is asked for), unless it is to stay. Weight decay is that of papers and of PyTorch: decay
 * theta joins the gradient of the mean of r^2 (ours is of half of it). Conditions are in every
 * batch, with the weight they have among all rows. A batch whose gradient is not finite is skipped,
 * and the moments start afresh at the best parameters. The loss over all rows is computed once per
 * epoch (at least every 50 steps, unless the rate stays); only then are the best parameters
 * updated and progress reported. Where only the last parameters count it is computed at the end, and
 * the loss of every 50th batch is reported. Cost per step: one gradient of a batch. */
#include "solve/optimize.h"
#include "base/base.h"
#include "base/vectors.h"
#include "solve/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long whole __attribute__((vector_size(sizeof(vector))));

enum { BATCH = 256, LONGEST_EPOCH = 50 };

static const double RATE = 1e-2, FALL = 1e-3, BETA1 = 0.9, BETA2 = 0.999, TINY = 1e-8;

typedef struct adam {
    size_t n, batch, group; /* a batch has batch groups of rows */
    size_t *rows;           /* (batch, group) */
    double decay;
    double *g, *m, *v;       /* (n): gradient, first and second moment */
    double *condition;       /* (n): gradient of the conditions */
    size_t *conditions;      /* their rows */
    double rate, fall;       /* at the beginning; by this factor until the end */
    double weight1, weight2; /* BETA1^k, BETA2^k since the moments began */
    clsi_sampler sampler;
} adam;

static void restart(adam *a) {
    memset(a->m, 0, a->n * sizeof(double));
    memset(a->v, 0, a->n * sizeof(double));
    a->weight1 = a->weight2 = 1;
}

/* 1/sqrt x to 2 ulp or so, 0 < x < 1e307; finite for x = 0. The bits of x halved and turned round
 * are a guess to 3.5 %, which four steps of Newton's method double the digits of: half the time of
 * a square root, and with the same bits everywhere. */
INLINE vector inverse_root(vector x) {
    vector y = (vector)(0x5fe6eb50c7b537a9LL - (bits)((whole)x >> 1)), half = 0.5 * x;
    UNROLL
    for (int i = 0; i < 4; i++) y = y * (1.5 - half * y * y);
    return y;
}

typedef struct rates {
    double along, across;
} rates;

INLINE void step_eight(rates r, const double *g, double *m, double *v, double *theta) {
    vector slope = load(g), first = BETA1 * load(m) + (1 - BETA1) * slope;
    vector second = BETA2 * load(v) + (1 - BETA2) * slope * slope, x = r.across * second;
    x = pick(x < splat(1e300), x, splat(1e300));
    store(m, first);
    store(v, second);
    store(theta, load(theta) - r.along * first / (x * inverse_root(x) + TINY));
}

CLONES static void step_all(size_t n, rates r, const double *g, double *m, double *v,
                            double *theta) {
    enum { N = CLSI_VECTOR };
    size_t j = 0;
    for (; j + N <= n; j += N) step_eight(r, g + j, m + j, v + j, theta + j);
    if (j == n) return;
    double own[4][N] = {{0}}, *rest[] = {m + j, v + j, theta + j};
    memcpy(own[3], g + j, (n - j) * sizeof *g);
    for (int k = 0; k < 3; k++) memcpy(own[k], rest[k], (n - j) * sizeof *g);
    step_eight(r, own[3], own[0], own[1], own[2]);
    for (int k = 0; k < 3; k++) memcpy(rest[k], own[k], (n - j) * sizeof *g);
}

void clsi_adam_step(size_t n, double rate, double weight1, double weight2, const double *g,
                    double *m, double *v, double *theta) {
    step_all(n, (rates){rate / (1 - weight1), 1 / (1 - weight2)}, g, m, v, theta);
}

static void step(adam *a, double rate, double *theta) {
    a->weight1 *= BETA1;
    a->weight2 *= BETA2;
    clsi_adam_step(a->n, rate, a->weight1, a->weight2, a->g, a->m, a->v, theta);
}

/* The gradient of a batch and of the conditions, each with its share of all rows. */
static cls_status gradient_of(adam *a, clsi_run *run, const size_t *rows, double *loss) {
    clsi_problem *p = run->problem;
    cls_status status = p->gradient(p, run->theta, a->batch * a->group, rows, loss, a->g);
    for (size_t j = 0; a->decay > 0 && j < a->n; j++) a->g[j] += 0.5 * a->decay * run->theta[j];
    if (status != CLS_OK || !p->n_conditions) return status;
    double share = (double)p->n_conditions / (double)p->n_rows, other;
    status = p->gradient(p, run->theta, p->n_conditions, a->conditions, &other, a->condition);
    *loss = (1 - share) * *loss + share * other;
    for (size_t j = 0; j < a->n; j++) a->g[j] = (1 - share) * a->g[j] + share * a->condition[j];
    return status;
}

/* NULL: they could not be loaded. */
static const size_t *next_rows(adam *a) {
    const size_t *groups = clsi_sampler_next(&a->sampler, a->batch);
    for (size_t i = 0; groups && i < a->batch * a->group; i++)
        a->rows[i] = groups[i / a->group] * a->group + i % a->group;
    return groups ? a->rows : NULL;
}

/* One batch and its loss; when it is not finite, back to the best parameters. */
static double iterate(adam *a, clsi_run *run, const size_t *rows, double rate) {
    double loss;
    cls_status status = gradient_of(a, run, rows, &loss);
    if (status == CLS_OK && isfinite(loss) && isfinite(clsi_vector_dot(a->n, a->g, a->g))) {
        step(a, rate, run->theta);
        return loss;
    }
    memcpy(run->theta, run->best, a->n * sizeof(double));
    restart(a);
    return INFINITY;
}

/* All that the next iteration depends on, besides theta and the best. */
static void state(void *optimizer, clsi_archive *archive) {
    adam *a = optimizer;
    clsi_archive_doubles(archive, a->n, a->m);
    clsi_archive_doubles(archive, a->n, a->v);
    clsi_archive_doubles(archive, 1, &a->weight1);
    clsi_archive_doubles(archive, 1, &a->weight2);
    clsi_sampler_state(&a->sampler, archive);
}

static void run_batches(adam *a, clsi_run *run) {
    uint64_t most = run->options->max_iterations;
    uint64_t epoch = run->problem->n_rows / (a->batch * a->group);
    int stays = run->options->constant_rate, last = run->options->last;
    if (last || (epoch > LONGEST_EPOCH && !stays)) epoch = LONGEST_EPOCH;
    for (uint64_t k = run->info->iterations; k < most; k++) {
        double rate = stays ? a->rate : a->rate * pow(a->fall, (double)k / (double)most);
        const size_t *rows = next_rows(a);
        if (!rows) return;
        double loss = iterate(a, run, rows, rate);
        run->info->iterations = k + 1;
        if ((k + 1) % epoch && k + 1 < most) {
            if (!clsi_run_ends(run)) continue;
            if (!run->reported) clsi_run_keep(run, clsi_full_loss(run->problem, run->theta));
            return;
        }
        if (!last || k + 1 == most) loss = clsi_full_loss(run->problem, run->theta);
        if (clsi_run_report(run, loss)) return;
    }
}

static cls_status prepare(adam *a, const clsi_problem *p, const clsi_optimize_options *o,
                          cls_error *error) {
    a->n = p->n_parameters;
    size_t regular = p->n_rows - p->n_conditions;
    a->group = p->group && regular % p->group == 0 ? p->group : 1;
    a->batch = ((o->batch ? o->batch : BATCH) + a->group - 1) / a->group;
    a->decay = o->decay;
    if (a->batch > regular / a->group) a->batch = regular / a->group;
    a->rows = clsi_calloc(a->batch * a->group + 1, sizeof *a->rows);
    a->rate = o->rate > 0 ? o->rate : RATE;
    a->fall = o->last_rate > 0 ? o->last_rate / a->rate : FALL;
    a->g = clsi_calloc(a->n + 1, sizeof(double));
    a->m = clsi_calloc(a->n + 1, sizeof(double));
    a->v = clsi_calloc(a->n + 1, sizeof(double));
    a->condition = clsi_calloc(a->n + 1, sizeof(double));
    a->conditions = clsi_calloc(p->n_conditions + 1, sizeof(size_t));
    if (!a->g || !a->m || !a->v || !a->condition || !a->conditions || !a->rows)
        return clsi_no_memory(error);
    for (size_t i = 0; i < p->n_conditions; i++) a->conditions[i] = regular + i;
    restart(a);
    return clsi_sampler_begin(&a->sampler, p->feed, regular / a->group, o->seed, error);
}

static size_t usual_batch(size_t n) {
    (void)n;
    return BATCH;
}

static cls_status minimize(clsi_problem *p, const clsi_optimize_options *o, double *theta,
                           clsi_optimize_info *info, cls_error *error) {
    clsi_run run;
    adam a = {0};
    cls_status status = clsi_run_begin(&run, p, o, theta, info, error);
    if (status == CLS_OK) status = prepare(&a, p, o, error);
    if (status == CLS_OK) status = clsi_run_resume(&run, state, &a, error);
    if (status == CLS_OK && p->n_rows) run_batches(&a, &run);
    clsi_sampler_end(&a.sampler);
    free(a.g), free(a.m), free(a.v), free(a.condition), free(a.conditions);
    free(a.rows);
    return clsi_run_end(&run, status);
}

const clsi_optimizer clsi_adam = {
    "adam", "Adam on batches of 256, rate 1e-2 decaying by three decades: the baseline", 0,
    usual_batch, minimize};
