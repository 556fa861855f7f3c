/* SPRING: Gauss-Newton in the space of a batch of residuals, with momentum (Goldshlager, Abrahamsen
 * and Lin, arXiv 2401.10190; for residual losses arXiv 2505.12149).
 *
 * For a batch with residuals r and Jacobian J the step f solves
 *     minimise |J f + r|^2 + lambda |f - mu f_last|^2,
 *     f = mu f_last + J^T (J J^T + lambda I)^-1 (-r - mu J f_last):
 * what the batch does not determine is taken from the last step. The system has the size of the
 * batch, not of the parameters.
 *
 * The papers tune lambda and the rate by hand; here lambda (relative to the mean diagonal of
 * J J^T) follows the gain ratio on the batch as in Levenberg-Marquardt; a step that raises the loss
 * of its batch is refused. It begins large: after first steps that are too bold a network goes on
 * learning slowly (1 instead of 1e-3 halves the steps of bench/train.c to 1e-8). A step fits its
 * own batch best, so the search jumps about the minimum; the moving mean of where it was is better,
 * and is what is reported. After PATIENCE epochs without a new best loss over all rows (noisy data:
 * batches contradict each other) the search goes back to the best parameters with half the rate and
 * a higher floor for lambda, and ends when the rate is below LEAST_RATE.
 *
 * Cost per step: a Jacobian of the batch, batch^2 n operations, batch^3 / 3: 2.3 ms for 250 rows
 * and 1,250 parameters on one core. The loss over all rows is computed once per epoch (at least
 * every 50 steps); only then are the best parameters updated and progress reported. */
#include "solve/optimize.h"
#include "base/base.h"
#include "solve/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 250, MOST = 1000, ROOM = 8000000, LONGEST_EPOCH = 50, PATIENCE = 3, RETREATS = 9 };

static const double MOMENTUM = 0.9, FIRST_DAMPING = 1, LEAST_DAMPING = 1e-14;
static const double MOST_DAMPING = 1e8, LEAST_RATE = 1e-3;
/* Damping falls slowly while the model is right and rises faster when it is not. */
static const double FALL = 0.85, RISE = 1.25, REFUSED = 4;
static const double FRESH = 0.2; /* how much a step counts in the mean */

typedef struct spring {
    size_t n, batch, conditions; /* the last rows of a batch are the conditions */
    size_t group;                /* the others come together in so many */
    double share;                /* weight of a condition in a batch: sqrt(batch / rows) */
    size_t *rows;                /* (batch) */
    clsi_space *space;
    double *J, *K;          /* (batch, n), (batch, batch) */
    double *r, *y, *r_next; /* (batch): residuals, J J^T y = rhs, residuals after the step */
    double *f, *trial, *at; /* (n): last step, this step, trial point */
    double *here, *mean;    /* (n): where the search is, the moving mean of it */
    double damping, floor, rate;
    size_t stale, patience; /* epochs without a new best, so far and at most */
    clsi_sampler sampler;
} spring;

static void release(spring *s) {
    clsi_space_free(&s->space);
    clsi_sampler_end(&s->sampler);
    free(s->J), free(s->K), free(s->r), free(s->y), free(s->r_next);
    free(s->f), free(s->trial), free(s->at), free(s->here), free(s->mean), free(s->rows);
}

static void begin_at(spring *s, const double *theta) {
    memcpy(s->here, theta, s->n * sizeof(double));
    memcpy(s->mean, theta, s->n * sizeof(double));
}

/* A batch much smaller than the parameters pulls them to and fro: one of six starts of the piston,
 * everything unknown, stayed five times above the others (decision 18). Wide networks keep small
 * ones, or their Jacobian would fill the memory. */
static size_t usual_batch(size_t n) {
    size_t most = ROOM / (n + 1), batch = n / 4 < MOST ? n / 4 : MOST;
    if (batch > most) batch = most;
    return batch > BATCH ? batch : BATCH;
}

static cls_status prepare(spring *s, const clsi_problem *p, const clsi_optimize_options *o,
                          cls_error *error) {
    size_t n = s->n = p->n_parameters, b = o->batch ? o->batch : usual_batch(n);
    size_t regular = p->n_rows - p->n_conditions;
    s->group = p->group && regular % p->group == 0 ? p->group : 1;
    b = b < regular ? (b + s->group - 1) / s->group * s->group : regular;
    b = s->batch = b + p->n_conditions;
    s->conditions = p->n_conditions;
    s->share = sqrt((double)b / (double)(p->n_rows ? p->n_rows : 1));
    s->damping = FIRST_DAMPING;
    s->floor = LEAST_DAMPING;
    s->rate = 1;
    s->patience = PATIENCE;
    cls_status status = clsi_space_create(0, &s->space, error);
    if (status == CLS_OK)
        status = clsi_sampler_begin(&s->sampler, p->feed, regular / s->group, o->seed, error);
    if (status != CLS_OK) return status;
    s->J = clsi_calloc(b * n + 1, sizeof(double));
    s->K = clsi_calloc(b * b + 1, sizeof(double));
    s->r = clsi_calloc(b + 1, sizeof(double));
    s->y = clsi_calloc(b + 1, sizeof(double));
    s->r_next = clsi_calloc(b + 1, sizeof(double));
    s->f = clsi_calloc(n + 1, sizeof(double));
    s->trial = clsi_calloc(n + 1, sizeof(double));
    s->at = clsi_calloc(n + 1, sizeof(double));
    s->here = clsi_calloc(n + 1, sizeof(double));
    s->mean = clsi_calloc(n + 1, sizeof(double));
    s->rows = clsi_calloc(b + 1, sizeof(size_t));
    int whole = s->J && s->K && s->r && s->y && s->r_next && s->f && s->trial && s->at;
    return whole && s->here && s->mean && s->rows ? CLS_OK : clsi_no_memory(error);
}

/* trial = the step of this batch; the damping that was added in *added. 0 when there is none. */
static int find_step(spring *s, double *added) {
    size_t b = s->batch, n = s->n;
    double trace = 0;
    memset(s->K, 0, b * b * sizeof(double));
    clsi_multiply(s->space, CLSI_LOWER, b, b, n, 1, (clsi_view){s->J, n, 1},
                  (clsi_view){s->J, 1, n}, s->K, b);
    for (size_t i = 0; i < b; i++) trace += s->K[i * b + i];
    *added = s->damping * trace / (double)b;
    for (size_t i = 0; i < b; i++) s->K[i * b + i] += *added;
    if (!clsi_cholesky(s->space, b, s->K)) return 0;
    clsi_times(b, n, s->J, s->f, s->y);
    for (size_t i = 0; i < b; i++) s->y[i] = -s->r[i] - MOMENTUM * s->y[i];
    clsi_cholesky_solve(b, s->K, s->y);
    for (size_t j = 0; j < n; j++) s->trial[j] = MOMENTUM * s->f[j];
    clsi_transposed_times(b, n, s->J, s->y, s->trial);
    return 1;
}

/* Actual by promised decrease of the batch. The linear model of the residuals after the step is
 * (1 - rate) r - rate * added * y. Not finite or negative: the step is bad. */
static double gain(const spring *s, double added) {
    double before = 0, promised = 0, after = 0;
    for (size_t i = 0; i < s->batch; i++) {
        double model = (1 - s->rate) * s->r[i] - s->rate * added * s->y[i];
        before += s->r[i] * s->r[i];
        promised += model * model;
        after += s->r_next[i] * s->r_next[i];
    }
    if (before == 0) return 1;
    return isfinite(after) ? (before - after) / fmax(before - promised, 1e-300) : -1;
}

static void refuse(spring *s) {
    s->damping *= REFUSED;
    memset(s->f, 0, s->n * sizeof(double));
}

/* Rows in their order for this epoch, then the conditions; NULL: they could not be loaded. */
static const size_t *next_rows(spring *s, size_t n_rows) {
    size_t regular = s->batch - s->conditions, group = s->group;
    const size_t *drawn = clsi_sampler_next(&s->sampler, regular / group);
    if (!drawn) return NULL;
    for (size_t i = 0; i < regular; i++) s->rows[i] = drawn[i / group] * group + i % group;
    for (size_t i = regular; i < s->batch; i++) s->rows[i] = n_rows - (s->batch - i);
    return s->rows;
}

/* A condition is in every batch and counts as much as in the loss over all rows. */
static void weigh_conditions(const spring *s, double *r, double *J) {
    for (size_t i = s->batch - s->conditions; i < s->batch; i++) {
        r[i] *= s->share;
        for (size_t j = 0; J && j < s->n; j++) J[i * s->n + j] *= s->share;
    }
}

/* The step of one batch. */
static void step(spring *s, clsi_problem *p, const size_t *rows) {
    size_t n = s->n;
    double added = 0;
    int found = p->jacobian(p, s->here, s->batch, rows, s->r, s->J) == CLS_OK;
    if (found) weigh_conditions(s, s->r, s->J);
    found = found && find_step(s, &added);
    for (size_t j = 0; found && j < n; j++) s->at[j] = s->here[j] + s->rate * s->trial[j];
    found = found && p->residual(p, s->at, s->batch, rows, s->r_next) == CLS_OK;
    if (found) weigh_conditions(s, s->r_next, NULL);
    double ratio = found ? gain(s, added) : -1;
    if (!(ratio > 0)) {
        refuse(s);
        return;
    }
    memcpy(s->here, s->at, n * sizeof(double));
    memcpy(s->f, s->trial, n * sizeof(double));
    if (ratio > 0.75) s->damping = fmax(s->floor, s->damping * FALL);
    if (ratio < 0.25) s->damping *= RISE;
}

/* Back to the best, more carefully. Returns 0 when that has been done often enough. */
static int retreat(spring *s, clsi_run *run) {
    begin_at(s, run->best);
    memset(s->f, 0, s->n * sizeof(double));
    s->stale = 0;
    s->rate /= 2;
    s->floor = fmin(10 * s->floor, 1);
    s->damping = fmin(fmax(s->floor, s->damping), FIRST_DAMPING);
    return s->rate >= LEAST_RATE;
}

/* All that the next iteration depends on, besides the best. */
static void state(void *optimizer, clsi_archive *a) {
    spring *s = optimizer;
    clsi_archive_doubles(a, s->n, s->here);
    clsi_archive_doubles(a, s->n, s->mean);
    clsi_archive_doubles(a, s->n, s->f);
    clsi_archive_doubles(a, 1, &s->damping);
    clsi_archive_doubles(a, 1, &s->floor);
    clsi_archive_doubles(a, 1, &s->rate);
    clsi_archive_size(a, SIZE_MAX / 2, &s->stale);
    clsi_sampler_state(&s->sampler, a);
}

/* The mean to run->theta, or, when that is not the best so far, where the search is, if it is
 * better. Returns the loss. */
static double judge(const spring *s, clsi_run *run) {
    double loss = clsi_full_loss(run->problem, s->mean), other = INFINITY;
    if (!(loss < run->best_loss)) other = clsi_full_loss(run->problem, s->here);
    memcpy(run->theta, other < loss ? s->here : s->mean, s->n * sizeof(double));
    return fmin(loss, other);
}

static void iterate(spring *s, clsi_run *run) {
    uint64_t most = run->options->max_iterations, epoch = run->problem->n_rows / s->batch;
    uint64_t reports =
        epoch / LONGEST_EPOCH; /* of a pass over a feed, which no retreats shall end */
    if (run->problem->feed && reports / RETREATS > s->patience) s->patience = reports / RETREATS;
    if (epoch > LONGEST_EPOCH) epoch = LONGEST_EPOCH;
    for (uint64_t k = run->info->iterations; k < most; k++) {
        /* Lost at the last report: here, because what comes after a report is not resumed. */
        int lost = s->stale >= s->patience || s->damping >= MOST_DAMPING;
        if (lost && !retreat(s, run)) {
            run->info->reason = "converged";
            return;
        }
        const size_t *rows = next_rows(s, run->problem->n_rows);
        if (!rows) return;
        step(s, run->problem, rows);
        for (size_t j = 0; j < s->n; j++) s->mean[j] += FRESH * (s->here[j] - s->mean[j]);
        run->info->iterations = k + 1;
        if ((k + 1) % epoch && k + 1 < most && s->damping < MOST_DAMPING) {
            if (!clsi_run_ends(run)) continue;
            if (!run->reported) clsi_run_keep(run, judge(s, run)); /* not the start itself */
            return;
        }
        double loss = judge(s, run);
        s->stale = loss < run->best_loss ? 0 : s->stale + 1;
        if (clsi_run_report(run, loss)) return;
    }
}

static cls_status minimize(clsi_problem *p, const clsi_optimize_options *o, double *theta,
                           clsi_optimize_info *info, cls_error *error) {
    clsi_run run;
    spring s = {0};
    cls_status status = clsi_run_begin(&run, p, o, theta, info, error);
    if (status == CLS_OK) status = prepare(&s, p, o, error);
    if (status == CLS_OK) begin_at(&s, theta);
    if (status == CLS_OK) status = clsi_run_resume(&run, state, &s, error);
    if (status == CLS_OK && info->initial_loss <= o->loss_tolerance)
        info->reason = "converged";
    else if (status == CLS_OK)
        iterate(&s, &run);
    release(&s);
    return clsi_run_end(&run, status);
}

const clsi_optimizer clsi_spring = {
    "spring", "Gauss-Newton on batches of residuals with momentum: fastest for networks", 1,
    usual_batch, minimize};
