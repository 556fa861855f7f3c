/* The table of optimisers, and what all of them do alike: keep the best parameters, call `progress`,
 * stop. A new optimiser is a file and a line in the table.
 *
 * The loss is always the mean (1/2)|r|^2 / rows. Parameters that give a residual which is not
 * finite count as infinitely bad: steps to them are refused, they are never "best". */
#include "solve/optimize.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const clsi_optimizer *const TABLE[] = {&clsi_lm, &clsi_spring, &clsi_lbfgs, &clsi_adam};

size_t clsi_optimizer_count(void) {
    return sizeof TABLE / sizeof *TABLE;
}

const clsi_optimizer *clsi_optimizer_at(size_t i) {
    return i < clsi_optimizer_count() ? TABLE[i] : NULL;
}

const clsi_optimizer *clsi_optimizer_find(const char *name) {
    for (size_t i = 0; i < clsi_optimizer_count(); i++)
        if (!strcmp(TABLE[i]->name, name)) return TABLE[i];
    return NULL;
}

/* ---- loss ---- */

enum {
    BLOCK = 1024,
    AT_ONCE = 512
}; /* a fixed number of rows, summed in order; as many on the stack */

/* |r|^2 of one block; INFINITY where it has none. */
static double block_loss(clsi_problem *p, const double *theta, size_t first) {
    double r[AT_ONCE], part = 0;
    size_t rows[AT_ONCE] = {0}, end = p->n_rows - first < BLOCK ? p->n_rows : first + BLOCK;
    while (first < end) {
        size_t count = end - first < AT_ONCE ? end - first : AT_ONCE;
        for (size_t k = 0; k < count; k++) rows[k] = first + k;
        if (p->residual(p, theta, count, rows, r) != CLS_OK) return INFINITY;
        for (size_t k = 0; k < count; k++) part += r[k] * r[k];
        first += count;
    }
    return part;
}

static double mean_loss(const clsi_problem *p, double sum) {
    double loss = p->n_rows ? sum / 2 / (double)p->n_rows : 0;
    return isfinite(loss) ? loss : INFINITY;
}

/* Each process its blocks, then all blocks to everybody. */
static double shared_loss(clsi_problem *p, const double *theta) {
    const cls_team *team = p->team;
    size_t n = (p->n_rows + BLOCK - 1) / BLOCK;
    double *part = clsi_calloc(n, sizeof *part), sum = 0;
    for (size_t i = 0; part && i < n; i++)
        if (team->mine(team->context, "loss", i, n)) part[i] = block_loss(p, theta, i * BLOCK);
    cls_status status =
        part ? team->share(team->context, "loss", NULL, n, sizeof *part, part, 0, NULL)
             : CLS_MEMORY;
    for (size_t i = 0; status == CLS_OK && i < n; i++) sum += part[i];
    free(part);
    return status == CLS_OK ? mean_loss(p, sum) : INFINITY;
}

double clsi_full_loss(clsi_problem *p, const double *theta) {
    double sum = 0;
    if (p->feed) return p->feed->loss(p->feed->context, theta);
    if (p->team && p->team->ranks > 1) return shared_loss(p, theta);
    for (size_t i = 0; i < p->n_rows && isfinite(sum); i += BLOCK) sum += block_loss(p, theta, i);
    return mean_loss(p, sum);
}

/* ---- runs ---- */

cls_status clsi_run_begin(clsi_run *run, clsi_problem *p, const clsi_optimize_options *o,
                          double *theta, clsi_optimize_info *info, cls_error *error) {
    *run = (clsi_run){.problem = p,
                      .options = o,
                      .info = info,
                      .theta = theta,
                      .best_loss = INFINITY,
                      .started = clsi_now()};
    *info = (clsi_optimize_info){.reason = "iterations"};
    run->best = clsi_calloc(p->n_parameters + 1, sizeof(double));
    if (!run->best) return clsi_no_memory(error);
    memcpy(run->best, theta, p->n_parameters * sizeof(double));
    if (o->resume) return CLS_OK;
    run->best_loss = info->initial_loss = info->final_loss = clsi_full_loss(p, theta);
    if (!isfinite(run->best_loss))
        return clsi_fail(error, CLS_NUMERIC,
                         "the residuals are not finite at the start of the optimisation; choose "
                         "another seed, or scale the data");
    return CLS_OK;
}

void clsi_run_save(clsi_run *run, clsi_archive *a) {
    size_t n = run->problem->n_parameters;
    clsi_archive_doubles(a, n, run->theta);
    clsi_archive_doubles(a, n, run->best);
    clsi_archive_doubles(a, 1, &run->best_loss);
    clsi_archive_doubles(a, 1, &run->info->initial_loss);
    clsi_archive_word(a, &run->info->iterations);
    run->state(run->optimizer, a);
}

cls_status clsi_run_resume(clsi_run *run, void (*state)(void *optimizer, clsi_archive *a),
                           void *optimizer, cls_error *error) {
    run->state = state;
    run->optimizer = optimizer;
    clsi_archive *a = run->options->resume;
    if (!a) return CLS_OK;
    clsi_run_save(run, a); /* an archive that is being read */
    run->info->final_loss = run->best_loss;
    if (clsi_archive_whole(a)) return CLS_OK;
    return clsi_fail(error, CLS_DATA,
                     "the state of the optimiser in the checkpoint is damaged, or belongs to "
                     "another problem; learn without resuming");
}

void clsi_run_keep(clsi_run *run, double loss) {
    if (!(loss < run->best_loss)) return;
    run->best_loss = loss;
    memcpy(run->best, run->theta, run->problem->n_parameters * sizeof(double));
}

int clsi_run_report(clsi_run *run, double loss) {
    clsi_run_keep(run, loss);
    run->reported = 1;
    clsi_progress progress = {run->info->iterations, loss, clsi_now() - run->started, run};
    const clsi_optimize_options *o = run->options;
    if (run->best_loss <= o->loss_tolerance) {
        run->info->reason = "converged";
        if (o->progress) o->progress(o->context, &progress, run->theta);
        return 1;
    }
    if (o->progress && o->progress(o->context, &progress, run->theta)) {
        run->info->reason = "stopped";
        return 1;
    }
    return 0;
}

/* The clock is only asked whether to ask; what is computed does not depend on it. */
int clsi_run_ends(clsi_run *run) {
    static const double patience = 0.25; /* seconds */
    const clsi_optimize_options *o = run->options;
    double now = o->stop ? clsi_now() : 0;
    if (!o->stop || now - fmax(run->asked, run->started) < patience) return 0;
    run->asked = now;
    clsi_progress progress = {run->info->iterations, run->best_loss, now - run->started, run};
    if (!o->stop(o->context, &progress)) return 0;
    run->info->reason = "stopped";
    return 1;
}

cls_status clsi_run_end(clsi_run *run, cls_status status) {
    if (run->best) {
        memcpy(run->theta, run->best, run->problem->n_parameters * sizeof(double));
        run->info->final_loss = run->best_loss;
    }
    free(run->best);
    return status;
}
