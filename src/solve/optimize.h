/* solve, inside: what the optimisers share. */
#ifndef CLSI_OPTIMIZE_H
#define CLSI_OPTIMIZE_H

#include "solve/checkpoint.h"
#include "solve/problem.h"
#include <clausius/random.h>

extern const clsi_optimizer clsi_lm, clsi_spring, clsi_lbfgs, clsi_adam;

/* One minimisation: keeps the best parameters, calls `progress`, knows when to stop. */
typedef struct clsi_run {
    clsi_problem *problem;
    const clsi_optimize_options *options;
    clsi_optimize_info *info;
    double *theta, *best; /* (n_parameters): where we are (the caller's), the best so far */
    double best_loss, started, asked; /* asked: when it was last asked whether to stop */
    int reported;                     /* something was measured since the start */
    void (*state)(void *optimizer, clsi_archive *a); /* its numbers, in or out */
    void *optimizer;
} clsi_run;
/* Evaluates the start (not when it resumes); a start without a finite loss is an error. */
cls_status clsi_run_begin(clsi_run *run, clsi_problem *p, const clsi_optimize_options *o,
                          double *theta, clsi_optimize_info *info, cls_error *error);
/* Says how the optimiser's state is kept, and takes it from options->resume if that is given. What
 * `state` passes must be all that the next iteration depends on at the time of each report. */
cls_status clsi_run_resume(clsi_run *run, void (*state)(void *optimizer, clsi_archive *a),
                           void *optimizer, cls_error *error);
/* The whole state, at a report: read back, minimize goes on as if it had not stopped. */
void clsi_run_save(clsi_run *run, clsi_archive *a);
/* Tells about an iteration that ended at run->theta; non-zero: stop (info->reason is set). */
int clsi_run_report(clsi_run *run, double loss);
/* Between two reports, where they are far apart: non-zero: stop now (info->reason is set). The state must be whole. */
int clsi_run_ends(clsi_run *run);
/* run->theta has this loss: the best, if it is less. */
void clsi_run_keep(clsi_run *run, double loss);
/* theta = best, info->final_loss; frees. Keeps `status`. */
cls_status clsi_run_end(clsi_run *run, cls_status status);

/* (1/2)|r|^2 / n_rows in blocks of rows, or of the sample of a feed; INFINITY when a residual is not finite
 * or cannot be computed. */
double clsi_full_loss(clsi_problem *p, const double *theta);

/* Groups of rows in random order, all once per epoch. Of a feed the pieces come in random order, and the
 * groups of those that are loaded together. */
typedef struct clsi_sampler {
    cls_random random;
    size_t n, at;
    size_t *order;
    clsi_feed *feed; /* NULL: all groups are there */
    struct clsi_sampled *fed;
} clsi_sampler;
cls_status clsi_sampler_begin(clsi_sampler *s, clsi_feed *feed, size_t n, uint64_t seed,
                              cls_error *error);
/* count <= n; NULL: what a feed should have loaded could not be. */
const size_t *clsi_sampler_next(clsi_sampler *s, size_t count);
void clsi_sampler_state(clsi_sampler *s, clsi_archive *a);
void clsi_sampler_end(clsi_sampler *s);

/* theta after one step of Adam with gradient g; m, v (n) are its moments, weight1 = beta1^k and
 * weight2 = beta2^k in step k = 1, 2, ... */
void clsi_adam_step(size_t n, double rate, double weight1, double weight2, const double *g,
                    double *m, double *v, double *theta);

#endif
