/* Fits that go on from the fit of the residual: of simulations (shooting) and of rates
 * (derivatives). */
#include "learn/learner.h"
#include "base/base.h"
#include "solve/checkpoint.h"
#include "learn/unknown/conditions.h"
#include "learn/residual/derivative.h"
#include "solve/optimize.h"
#include "learn/shooting/shoot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shooting ---- */

/* What is compared with simulations: of positions, states of which only they are known. */
static cls_status find_states(clsi_learner *w, clsi_points **states) {
    cls_system *s;
    if (!w->points->intervals) return CLS_OK;
    cls_status status = clsi_learner_build(w, w->theta, &s, w->error);
    if (status == CLS_OK) status = clsi_points_of_positions(w->points, s, states, w->error);
    cls_system_free(&s);
    return status;
}

/* Rollouts are compared with all states. */
static int complete(const clsi_points *p) {
    for (size_t k = 0; k < p->nz; k++)
        if (!p->observed[k]) return 0;
    return 1;
}

/* The fit of the residual goes on as a fit of simulations. */
cls_status clsi_learner_shoot(clsi_learner *w) {
    const cls_learn_options *o = w->o;
    clsi_shoot_info found;
    clsi_points *states = NULL;
    cls_status status = find_states(w, &states);
    if (status != CLS_OK) return status;
    char *what = clsi_learner_identity(w, "shooting");
    if (!what) {
        clsi_points_free(&states);
        return clsi_no_memory(w->error);
    }
    clsi_shoot job = {.system = w->system,
                      .set = w->set,
                      .unknowns = w->unknowns,
                      .points = states ? states : w->points,
                      .options = o,
                      .anchors = w->anchors,
                      .n_begin = CLSI_BEGIN + w->unknowns->n_theta,
                      .begin = w->begin,
                      .training = {.seed = o->seed,
                                   .patience = o->patience,
                                   .context = w,
                                   .rollout = complete(w->points) ? clsi_learner_rollout : NULL,
                                   .progress = clsi_learner_progress,
                                   .checkpoint = o->checkpoint,
                                   .identity = what,
                                   .checkpoint_every = o->checkpoint_every,
                                   .keep = clsi_learner_keep_curve,
                                   .resume = o->resume,
                                   .team = o->team}};
    clsi_loss_curve_clear(&w->curve);
    uint64_t before = w->info->iterations;
    status = clsi_shoot_fit(&job, w->theta, &found, w->error);
    clsi_points_free(&states);
    free(what);
    if (status != CLS_OK) return status;
    w->info->iterations = before + found.training.iterations;
    w->info->rollout = found.training.rollout;
    w->info->samples = found.windows;
    w->info->validation_samples = found.validation_windows;
    w->info->loss_initial = found.initial;
    w->info->loss_final = found.final;
    w->info->loss_validation = found.validation;
    snprintf(w->info->optimizer, sizeof w->info->optimizer, "%s", found.optimizer);
    return CLS_OK;
}

/* ---- derivatives ---- */

enum { MOST_POINTS = 20000, MOST_HELD = 4000, DERIVATIVE_FIT = 200 };

typedef struct derivation {
    clsi_learner *w;
    clsi_rates *rates;
    clsi_derivative *trained, *held;
    clsi_conditions *conditions; /* NULL: no anchors */
    double *place;               /* (P) where they hold */
} derivation;

static void begin_here(void *context, uint64_t seed, double *theta) {
    const derivation *d = context;
    (void)seed;
    memcpy(theta, d->w->theta, d->w->unknowns->n_theta * sizeof *theta);
}

static double rms(clsi_derivative *of, const double *theta) {
    clsi_problem problem;
    clsi_derivative_problem(of, &problem);
    return sqrt(2 * clsi_full_loss(&problem, theta));
}

static double validate_derivative(void *context, const double *theta) {
    derivation *d = context;
    return rms(d->held, clsi_conditions_meant(d->conditions, theta, d->place));
}

static double roll_derivative_out(void *context, const double *theta) {
    derivation *d = context;
    return clsi_learner_rollout(d->w, clsi_conditions_meant(d->conditions, theta, d->place));
}

static int progress_of_derivative(void *context, const clsi_training_progress *p) {
    return clsi_learner_progress(((derivation *)context)->w, p);
}

static void keep_begin(void *context, clsi_archive *a) {
    clsi_learner *w = ((derivation *)context)->w;
    clsi_archive_doubles(a, CLSI_BEGIN + w->unknowns->n_theta, w->begin);
    clsi_loss_curve_keep(&w->curve, a);
}

static cls_status train_derivative(derivation *d, const char *what, double *theta) {
    clsi_learner *w = d->w;
    const cls_learn_options *o = w->o;
    const char *name = o->optimizer ? o->optimizer : "auto";
    if (!strcmp(name, "auto") || !strcmp(name, "linear"))
        name = w->unknowns->n_theta <= 2000 ? "lm" : "lbfgs";
    clsi_problem inner, problem;
    clsi_training_info found;
    clsi_derivative_problem(d->trained, &inner);
    cls_status status = clsi_conditions_create(w->anchors, &inner, o->anchor_weight, w->theta,
                                               &d->conditions, &problem, w->error);
    if (status != CLS_OK) return status;
    clsi_conditions_project(d->conditions, w->theta);
    clsi_training t = {.problem = &problem,
                       .optimizer = clsi_optimizer_find(name),
                       .max_iterations = o->max_iterations ? o->max_iterations : DERIVATIVE_FIT,
                       .seed = o->seed,
                       .batch = o->batch,
                       .rate = o->rate,
                       .patience = o->patience,
                       .context = d,
                       .initialise = begin_here,
                       .validate = d->held ? validate_derivative : NULL,
                       .rollout = o->validate > 0 ? roll_derivative_out : NULL,
                       .progress = progress_of_derivative,
                       .checkpoint = o->checkpoint,
                       .identity = what,
                       .checkpoint_every = o->checkpoint_every,
                       .keep = keep_begin,
                       .resume = o->resume,
                       .team = o->team};
    w->info->loss_initial = rms(d->trained, w->theta);
    clsi_loss_curve_clear(&w->curve);
    status = clsi_train(&t, theta, &found, w->error);
    if (status != CLS_OK) return status;
    clsi_conditions_project(d->conditions, theta);
    memcpy(w->theta, theta, w->unknowns->n_theta * sizeof *theta);
    w->info->iterations += found.iterations;
    w->info->rollout = found.rollout;
    w->info->samples = clsi_derivative_points(d->trained);
    w->info->validation_samples = d->held ? clsi_derivative_points(d->held) : 0;
    w->info->loss_final = rms(d->trained, w->theta);
    w->info->loss_validation = d->held ? rms(d->held, w->theta) : NAN;
    snprintf(w->info->optimizer, sizeof w->info->optimizer, "%s", name);
    return w->residual->scale_free ? clsi_learner_rescale(w) : CLS_OK;
}

/* From the fit of the residual on, by the rates themselves. */
cls_status clsi_learner_derive(clsi_learner *w) {
    clsi_motion motion = {0};
    derivation d = {.w = w};
    size_t P = w->unknowns->n_theta;
    double *theta = clsi_calloc(2 * P, sizeof *theta);
    char *what = clsi_learner_identity(w, "derivative");
    cls_status status = theta && what ? CLS_OK : clsi_no_memory(w->error);
    if (theta) d.place = theta + P;
    w->residual->scale_free = w->info->normalised;
    if (status == CLS_OK) status = clsi_motion_rates(w->unknowns, &motion, &d.rates, w->error);
    if (status == CLS_OK)
        status = clsi_derivative_create(w->points, d.rates, w->residual, 0, MOST_POINTS, &d.trained,
                                        w->error);
    if (status == CLS_OK && w->points->n_held)
        status = clsi_derivative_create(w->points, d.rates, w->residual, 1, MOST_HELD, &d.held,
                                        w->error);
    if (status == CLS_OK) status = train_derivative(&d, what, theta);
    clsi_conditions_free(&d.conditions);
    clsi_derivative_free(&d.trained);
    clsi_derivative_free(&d.held);
    clsi_rates_free(&d.rates);
    clsi_motion_clear(&motion);
    free(what);
    free(theta);
    return status;
}
