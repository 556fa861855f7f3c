/* A fit by shooting: from the fit of a residual, over windows that grow.
 *
 * Long simulations have many local minima and, with poor parameters, none at all: they do not end.
 * So windows begin short (a quarter of the length wanted), where a simulation cannot leave the data
 * far behind, and double twice (docs/physics/discrete-gradient.md: residual first, rollout last,
 * growing horizon). Starts of windows are free as soon as the data are noisy or lack a state;
 * without noise the measured point is the best there is. Short stages make a few iterations only;
 * the last one is a training like any other: validated, with progress reports. All keep checkpoints, which say at
 * their head which stage it is and from which parameters it began, so that nothing that was over is
 * made again. Anchors hold throughout (conditions.c). */
#include "learn/shooting/shoot.h"
#include "base/base.h"
#include "solve/checkpoint.h"
#include "solve/optimize.h"
#include "simulate/rates.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the system with symbols ---- */

static cls_status create_motion(const clsi_unknowns *us, const char *scheme, clsi_opening how,
                                clsi_motion *out, cls_error *error) {
    cls_node *theta;
    *out = (clsi_motion){0};
    cls_status status = clsi_unknowns_open(us, how, &out->system, &theta, error);
    if (status == CLS_OK)
        status = clsi_sensitive_create(out->system, scheme, us->n_theta, theta, &out->step, error);
    free(theta);
    if (status != CLS_OK) clsi_motion_clear(out);
    return status;
}

cls_status clsi_motion_create(const clsi_unknowns *us, const char *scheme, clsi_motion *out,
                              cls_error *error) {
    cls_status status = create_motion(us, scheme, CLSI_NODES, out, error);
    if (status != CLS_USAGE) return status;
    return create_motion(us, scheme, CLSI_FORMULAS, out, error); /* no kernel for some slope */
}

/* The system opened as `how`, and what is made of it: defects, or the flow with them. */
static cls_status create_rates(const clsi_unknowns *us, clsi_opening how, cls_system **system,
                               clsi_rates **rates, clsi_flow **flow, cls_error *error) {
    cls_node *theta;
    cls_status status = clsi_unknowns_open(us, how, system, &theta, error);
    if (status == CLS_OK)
        status = flow ? clsi_flow_create(*system, us->n_theta, theta, flow, error)
                      : clsi_rates_create(*system, us->n_theta, theta, rates, error);
    free(theta);
    if (status == CLS_OK) return status;
    cls_system_free(system);
    if (status != CLS_USAGE || how == CLSI_FORMULAS) return status;
    return create_rates(us, CLSI_FORMULAS, system, rates, flow, error); /* no kernel */
}

cls_status clsi_motion_flow(clsi_motion *m, const clsi_unknowns *us, cls_error *error) {
    return create_rates(us, CLSI_NODES, &m->written, NULL, &m->flow, error);
}

cls_status clsi_motion_rates(const clsi_unknowns *us, clsi_motion *out, clsi_rates **rates,
                             cls_error *error) {
    *out = (clsi_motion){0};
    return create_rates(us, CLSI_NODES, &out->system, rates, NULL, error);
}

void clsi_motion_clear(clsi_motion *m) {
    clsi_sensitive_free(&m->step);
    clsi_flow_free(&m->flow);
    cls_system_free(&m->system);
    cls_system_free(&m->written);
}

/* ---- what is simulated ---- */

/* Intervals of the longest trajectory. */
static size_t longest(const clsi_points *p) {
    size_t most = 0;
    for (size_t g = 0; g < p->n_trained; g++) {
        size_t n = p->trained[2 * g + 1] - p->trained[2 * g] - 1;
        if (n > most) most = n;
    }
    return most;
}

static const double NOISY = 1e-6; /* in units of the spread */

static int is_noisy(const clsi_points *p) {
    for (size_t k = 0; k < p->nz; k++)
        if (!p->observed[k] || clsi_points_noise(p, k) > NOISY * clsi_points_spread(p, k)) return 1;
    return 0;
}

/* Windows that longer ones take away are no loss: they see the same points. What costs is steps,
 * and for Jacobians steps times parameters. */
enum { MOST_INTERVALS = 100, MOST_STEPS = 10000, HELD_STEPS = 2000 };
enum { STAGES = 3, SHORT_FITS = 10, LONG_FIT = 200, FLAT = 3 };

typedef struct stage {
    const clsi_shoot *j;
    size_t number; /* counted down: 0 is the last */
    clsi_shooting *trained, *held;
    clsi_conditions *conditions; /* NULL: no anchors */
    double *from;                /* parameters to begin with */
    double *place;               /* (P) where the conditions hold */
    uint64_t before;             /* iterations of earlier stages */
    double enough;               /* a decrease of the loss below this part of it is none */
    double loss;                 /* of the last report */
    size_t flat;                 /* reports in a row without a decrease */
    int batches; /* the optimiser sees some windows at a time: its losses go up and down */
    int over;    /* ended by these */
} stage;

static double rms(clsi_shooting *s, const double *theta) {
    clsi_problem p;
    clsi_shooting_problem(s, &p);
    return sqrt(2 * clsi_full_loss(&p, theta));
}

static void initialise(void *context, uint64_t seed, double *theta) {
    const stage *s = context;
    (void)seed;
    memcpy(theta, s->from, s->j->unknowns->n_theta * sizeof *theta);
}

/* What the problem makes of theta. */
static const double *meant(stage *s, const double *theta) {
    return clsi_conditions_meant(s->conditions, theta, s->place);
}

static double validate(void *context, const double *theta) {
    return rms(((stage *)context)->held, meant(context, theta));
}

static double roll_out(void *context, const double *theta) {
    const clsi_training *t = &((stage *)context)->j->training;
    return t->rollout(t->context, meant(context, theta));
}

/* The head is also read alone: find_stage. */
static void keep(void *context, clsi_archive *a) {
    stage *s = context;
    clsi_archive_doubles(a, s->j->n_begin, s->j->begin);
    clsi_archive_size(a, STAGES, &s->number);
    clsi_archive_word(a, &s->before);
    clsi_archive_doubles(a, s->j->unknowns->n_theta, s->from);
    clsi_archive_doubles(a, 1, &s->loss);
    clsi_archive_size(a, SIZE_MAX >> 12, &s->flat);
    if (s->j->training.keep) s->j->training.keep(s->j->training.context, a);
}

static int report_progress(void *context, const clsi_training_progress *p) {
    stage *s = context;
    const clsi_training *t = &s->j->training;
    clsi_training_progress told = *p;
    told.iteration += s->before;
    if (t->progress && t->progress(t->context, &told)) return 1;
    if (p->between) return 0;
    s->flat = s->loss - p->loss < s->enough * p->loss ? s->flat + 1 : 0;
    s->loss = p->loss;
    s->over = s->flat >= FLAT && !s->batches;
    return s->over;
}

/* ---- stages ---- */

static int is_continuous(const clsi_shoot *j) {
    return j->options->adjoint && strcmp(j->options->adjoint, "continuous") == 0;
}

/* lm is precise while its normal equations fit; lbfgs needs the gradient only. */
static const clsi_optimizer *choose_optimizer(const clsi_shoot *j) {
    const char *name = j->options->optimizer;
    if (!name || strcmp(name, "auto") == 0 || strcmp(name, "linear") == 0)
        name = j->unknowns->n_theta <= 2000 && !is_continuous(j) ? "lm" : "lbfgs";
    return clsi_optimizer_find(name);
}

static cls_status make_windows(const clsi_shoot *j, const clsi_motion *motion, size_t intervals,
                               int free_starts, stage *s, cls_error *error) {
    const cls_learn_options *o = j->options;
    clsi_shooting_options w = {.scheme = o->scheme,
                               .intervals = intervals,
                               .substeps = o->substeps,
                               .free_starts = free_starts,
                               .max_windows = o->max_windows,
                               .continuous = motion->flow,
                               .equal = s->batches};
    if (!w.max_windows) w.max_windows = 1 + MOST_STEPS / intervals;
    cls_status status = clsi_shooting_create(j->points, motion->step, &w, 0, &s->trained, error);
    w.max_windows = 1 + HELD_STEPS / intervals;
    if (status == CLS_OK && j->points->n_windows > j->points->n_training)
        status = clsi_shooting_create(j->points, motion->step, &w, 1, &s->held, error);
    return status;
}

static cls_status prune(stage *s, const double *theta, cls_error *error) {
    size_t before = clsi_shooting_windows(s->trained);
    cls_status status = clsi_shooting_prune(s->trained, theta);
    if (status == CLS_OK && s->held) status = clsi_shooting_prune(s->held, theta);
    if (status != CLS_OK) return clsi_no_memory(error);
    if (s->held && clsi_shooting_windows(s->held) == 0) clsi_shooting_free(&s->held);
    if (2 * clsi_shooting_windows(s->trained) > before) return CLS_OK;
    return clsi_fail(error, CLS_NUMERIC,
                     "with what the residual found %zu of %zu windows cannot be simulated, so that "
                     "shooting has nothing to begin with; take fewer parameters (--field), shorter "
                     "windows (--window) or more --substeps",
                     before - clsi_shooting_windows(s->trained), before);
}

static void set_training(stage *s, clsi_problem *problem, int resumed, clsi_training *t) {
    const cls_learn_options *o = s->j->options;
    int last = s->number == 0;
    *t = s->j->training;
    t->problem = problem;
    t->optimizer = choose_optimizer(s->j);
    t->max_iterations = !last ? SHORT_FITS : o->max_iterations ? o->max_iterations : LONG_FIT;
    t->restarts = 1;
    t->batch = o->batch;
    t->rate = o->rate;
    t->context = s;
    t->initialise = initialise;
    t->validate = s->held ? validate : NULL;
    t->rollout = last && s->j->training.rollout ? roll_out : NULL;
    t->progress = report_progress;
    t->keep = keep;
    t->resume = resumed;
}

static cls_status train_stage(stage *s, int resumed, double *result, clsi_shoot_info *info,
                              cls_error *error) {
    clsi_problem windows, problem;
    clsi_training t;
    cls_status status = prune(s, s->from, error);
    if (status != CLS_OK) return status;
    clsi_shooting_problem(s->trained, &windows);
    status = clsi_conditions_create(s->j->anchors, &windows, s->j->options->anchor_weight, s->from,
                                    &s->conditions, &problem, error);
    if (status != CLS_OK) return status;
    if (!resumed) clsi_conditions_project(s->conditions, s->from);
    set_training(s, &problem, resumed, &t);
    info->initial = rms(s->trained, s->from);
    info->windows = clsi_shooting_windows(s->trained);
    info->validation_windows = s->held ? clsi_shooting_windows(s->held) : 0;
    status = clsi_train(&t, result, &info->training, error);
    if (status != CLS_OK) return status;
    /* ended here, not by the caller: there is nothing to go on with */
    if (s->over) info->training.stopped = 0;
    if (s->over && t.checkpoint) unlink(t.checkpoint);
    clsi_conditions_project(s->conditions, result);
    info->training.iterations += s->before;
    info->stages++;
    info->final = rms(s->trained, result);
    info->validation = s->held ? rms(s->held, result) : NAN;
    return CLS_OK;
}

static cls_status run_stage(const clsi_shoot *j, const clsi_motion *motion, size_t intervals,
                            size_t number, int resumed, double *theta, clsi_shoot_info *info,
                            cls_error *error) {
    size_t P = j->unknowns->n_theta;
    double *result = clsi_calloc(2 * P, sizeof *result);
    stage s = {.j = j,
               .number = number,
               .from = theta,
               .place = result ? result + P : NULL,
               .before = info->training.iterations,
               .enough = number ? 1e-3 : 1e-6,
               .loss = INFINITY,
               .batches = !strcmp(info->optimizer, "adam") || !strcmp(info->optimizer, "spring")};
    info->intervals = intervals;
    cls_status status = result ? make_windows(j, motion, intervals, info->free_starts, &s, error)
                               : clsi_no_memory(error);
    if (status == CLS_OK) status = train_stage(&s, resumed, result, info, error);
    if (status == CLS_OK) memcpy(theta, result, P * sizeof *theta);
    free(result);
    clsi_conditions_free(&s.conditions);
    clsi_shooting_free(&s.trained);
    clsi_shooting_free(&s.held);
    return status;
}

/* Where a checkpoint goes on: its stage, and what that began with. Without one, the first. */
static cls_status find_stage(const clsi_shoot *j, size_t *number, double *theta,
                             clsi_shoot_info *info, cls_error *error) {
    const clsi_training *t = &j->training;
    size_t P = j->unknowns->n_theta, n = j->n_begin + 3 + P;
    int found = 0;
    *number = STAGES - 1;
    if (!t->resume || !t->checkpoint) return CLS_OK;
    double *head = clsi_calloc(n, sizeof *head), *own = head + j->n_begin;
    if (!head) return clsi_no_memory(error);
    cls_status status = clsi_checkpoint_head(t->checkpoint, t->identity, n, head, &found, error);
    clsi_archive a = {.reading = 1, .n = n, .at = j->n_begin, .values = head};
    if (status == CLS_OK && found) {
        clsi_archive_size(&a, STAGES - 1, number);
        clsi_archive_word(&a, &info->training.iterations);
        if (!a.failed) memcpy(theta, own + 3, P * sizeof *theta);
    }
    free(head);
    return status;
}

cls_status clsi_shoot_fit(const clsi_shoot *j, double *theta, clsi_shoot_info *info,
                          cls_error *error) {
    *info = (clsi_shoot_info){.free_starts = is_noisy(j->points), .validation = NAN};
    const clsi_optimizer *optimizer = choose_optimizer(j);
    if (!optimizer)
        return clsi_fail(error, CLS_USAGE, "there is no optimizer '%s'", j->options->optimizer);
    if (is_continuous(j) && optimizer->needs_jacobian)
        return clsi_fail(error, CLS_USAGE,
                         "%s needs the derivative of every row, and an adjoint gives that of their "
                         "sum of squares only; with --adjoint continuous take lbfgs or adam",
                         optimizer->name);
    snprintf(info->optimizer, sizeof info->optimizer, "%s", optimizer->name);
    clsi_motion motion;
    size_t first, most = longest(j->points),
                  all = j->options->window ? j->options->window : MOST_INTERVALS;
    if (all > most) all = most;
    cls_status status = find_stage(j, &first, theta, info, error);
    if (status != CLS_OK) return status;
    status = clsi_motion_create(j->unknowns, j->options->scheme, &motion, error);
    if (status == CLS_OK && is_continuous(j))
        status = clsi_motion_flow(&motion, j->unknowns, error);
    int resumed = j->training.resume;
    for (size_t k = first + 1; k-- > 0 && status == CLS_OK && !info->training.stopped;) {
        size_t intervals = all >> k;
        if (k && intervals < 2) continue;
        status = run_stage(j, &motion, intervals ? intervals : 1, k, resumed, theta, info, error);
        resumed = 0;
    }
    clsi_motion_clear(&motion);
    return status;
}
