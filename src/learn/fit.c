/* Fits that go on from the fit of the residual: of simulations (shooting) and of rates
 * (derivatives). */
#include "learn/lesson.h"
#include "base/base.h"
#include "learn/derivative.h"
#include "learn/optimize.h"
#include "learn/shoot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shooting ---- */

/* What is compared with simulations: of positions, states of which only they are known. */
static cls_status find_states(clsi_lesson *w, clsi_points **states) {
    cls_system *s;
    if (!w->points->intervals) return CLS_OK;
    cls_status status = clsi_lesson_build(w, w->theta, &s, w->error);
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
cls_status clsi_lesson_shoot(clsi_lesson *w) {
    const cls_learn_options *o = w->o;
    clsi_shoot_info found;
    clsi_points *states = NULL;
    cls_status status = find_states(w, &states);
    if (status != CLS_OK) return status;
    char *what = clsi_lesson_identity(w, "shooting");
    if (!what) {
        clsi_points_free(&states);
        return clsi_no_memory(w->error);
    }
    clsi_shoot job = {.system = w->system,
                      .set = w->set,
                      .unknowns = w->unknowns,
                      .points = states ? states : w->points,
                      .options = o,
                      .training = {.seed = o->seed,
                                   .patience = o->patience,
                                   .owner = w,
                                   .rollout = complete(w->points) ? clsi_lesson_rollout : NULL,
                                   .watch = clsi_lesson_watch,
                                   .checkpoint = o->checkpoint,
                                   .identity = what,
                                   .checkpoint_every = o->checkpoint_every,
                                   .resume = o->resume}};
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

static void begin_here(void *owner, uint64_t seed, double *theta) {
    const clsi_lesson *w = owner;
    (void)seed;
    memcpy(theta, w->theta, w->unknowns->n_theta * sizeof *theta);
}

static cls_status train_derivative(clsi_lesson *w, clsi_derivative *d, double *theta) {
    const cls_learn_options *o = w->o;
    const char *name = o->optimizer ? o->optimizer : "auto";
    if (!strcmp(name, "auto") || !strcmp(name, "linear"))
        name = w->unknowns->n_theta <= 2000 ? "lm" : "lbfgs";
    clsi_problem problem;
    clsi_training_info found;
    clsi_derivative_problem(d, &problem);
    clsi_training t = {.problem = &problem,
                       .optimizer = clsi_optimizer_find(name),
                       .max_iterations = o->max_iterations ? o->max_iterations : 200,
                       .seed = o->seed,
                       .patience = o->patience,
                       .owner = w,
                       .initialise = begin_here,
                       .rollout = clsi_lesson_rollout,
                       .watch = clsi_lesson_watch};
    w->info->loss_initial = sqrt(2 * clsi_full_loss(&problem, w->theta));
    cls_status status = clsi_train(&t, theta, &found, w->error);
    if (status != CLS_OK) return status;
    memcpy(w->theta, theta, w->unknowns->n_theta * sizeof *theta);
    w->info->iterations += found.iterations;
    w->info->rollout = found.rollout;
    w->info->samples = clsi_derivative_points(d);
    w->info->loss_final = sqrt(2 * clsi_full_loss(&problem, w->theta));
    w->info->loss_validation = NAN;
    w->info->validation_samples = 0;
    snprintf(w->info->optimizer, sizeof w->info->optimizer, "%s", name);
    return w->residual->scale_free ? clsi_lesson_rescale(w) : CLS_OK;
}

/* From the fit of the residual on, by the rates themselves. */
cls_status clsi_lesson_derive(clsi_lesson *w) {
    clsi_motion motion = {0};
    clsi_rates *rates = NULL;
    clsi_derivative *d = NULL;
    double *theta = clsi_calloc(w->unknowns->n_theta, sizeof *theta);
    cls_status status = theta ? CLS_OK : clsi_no_memory(w->error);
    w->residual->scale_free = w->info->normalised;
    if (status == CLS_OK)
        status = clsi_motion_rates(w->system, w->set, w->unknowns, &motion, &rates, w->error);
    if (status == CLS_OK)
        status = clsi_derivative_create(w->points, rates, w->residual, 0, 20000, &d, w->error);
    if (status == CLS_OK) status = train_derivative(w, d, theta);
    clsi_derivative_free(&d);
    clsi_rates_free(&rates);
    clsi_motion_clear(&motion);
    free(theta);
    return status;
}
