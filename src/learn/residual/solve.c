/* The fit of the residual: one least-squares solve (linear.c) where it is affine in the parameters,
 * iterations with restarts and rollouts elsewhere; positive by form in the end. */
#include "learn/stream/feed.h"
#include "base/base.h"
#include "solve/optimize.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Mean p.v by mean v.v where energy and forces have no scale of their own (iterations: a solve has
 * it as a constraint), one elsewhere. `row` is its row over theta. */
static cls_status scale_of(clsi_learner *w, const double *theta, double *row, double *scale) {
    double pv, vv;
    *scale = 1;
    if (!w->residual->scale_free) return CLS_OK;
    cls_status status = clsi_residual_scale(w->residual, theta, 0, row, &pv, &vv);
    *scale = pv / vv;
    for (size_t j = 0; j < w->unknowns->n_theta; j++) row[j] /= vv;
    return status;
}

/* Root mean square of the scaled residual over the windows [first, last). */
cls_status clsi_learner_loss(clsi_learner *w, const double *theta, size_t first, size_t last,
                             double *loss) {
    size_t E = w->residual->n_equations, count = (last - first) * E;
    double *r = clsi_calloc(count + w->unknowns->n_theta, sizeof *r), sum = 0, scale = 1;
    if (!r) return clsi_no_memory(w->error);
    cls_status status = clsi_residual_rows(w->residual, theta, first * E, count, NULL, r, NULL);
    for (size_t k = 0; k < count; k++) sum += r[k] * r[k];
    if (status == CLS_OK) status = scale_of(w, theta, r + count, &scale);
    *loss = count ? sqrt(sum / (double)count) / scale : NAN;
    free(r);
    return status;
}

/* ---- form ---- */

/* Frictions and conductances are made positive by form, with a floor far below their size. */
cls_status clsi_learner_make_positive(clsi_learner *w, const double *theta) {
    for (size_t i = 0; i < w->unknowns->n; i++) {
        clsi_unknown *u = &w->unknowns->list[i];
        clsi_learned *l = &u->learned;
        if ((u->kind != CLSI_PART_FRICTION && u->kind != CLSI_PART_HEAT) || u->nonlinear) continue;
        if (u->again || (l->form == CLSI_MATRIX && l->slot) || l->exponential) continue;
        size_t n = w->points->n;
        double *value = clsi_calloc(n, sizeof *value), mean = 0;
        if (!value) return clsi_no_memory(w->error);
        l->field->kind->evaluate(l->field, theta + l->offset, n, u->x, value, NULL, NULL);
        for (size_t s = 0; s < n; s++) mean += fabs(value[s]) / (double)n;
        l->floor = clsi_floor_of(mean);
        free(value);
    }
    clsi_unknowns_share(w->unknowns);
    return CLS_OK;
}

/* ---- step by step ---- */

/* (k G, k F) is as good as (G, F): the scale condition is met exactly. */
cls_status clsi_learner_rescale(clsi_learner *w) {
    double *row = clsi_calloc(w->unknowns->n_theta, sizeof *row), scale;
    if (!row) return clsi_no_memory(w->error);
    cls_status status = scale_of(w, w->theta, row, &scale);
    if (status == CLS_OK && !(scale > 0 && isfinite(1 / scale)))
        status =
            clsi_fail(w->error, CLS_NUMERIC,
                      "what was learned has no positive mass (the mean of p.v is %g of that of "
                      "v.v); take another seed, more iterations or a basis such as "
                      "chebyshev(8)",
                      scale);
    for (size_t i = 0; i < w->unknowns->n && status == CLS_OK; i++) {
        const clsi_unknown *u = &w->unknowns->list[i];
        clsi_learned *l = &w->unknowns->list[i].learned;
        size_t n = clsi_part_acts_on(w->system, l->part, NULL);
        int along = l->slot < n * (n + 1) / 2, turns = l->slot >= n && along;
        int friction = u->kind == CLSI_PART_FRICTION;
        if (u->again) continue;
        if (friction && turns && l->form == CLSI_ROTATION) continue;
        double part = friction && along && l->form == CLSI_CHOLESKY ? sqrt(scale) : scale;
        l->scale /= part;
        l->floor /= part;
    }
    clsi_unknowns_share(w->unknowns);
    free(row);
    return status;
}

/* Start parameters have a mass that may be zero or negative, from which no residual leads to a
 * positive one: they are moved along its row until it is positive. */
static void start_with_mass(clsi_learner *w, double *theta) {
    size_t P = w->unknowns->n_theta;
    double *row = clsi_calloc(P, sizeof *row), scale, square;
    for (int k = 0; row && k < 20; k++) {
        if (scale_of(w, theta, row, &scale) != CLS_OK || scale > 0.1) break;
        square = 0;
        for (size_t j = 0; j < P; j++) square += row[j] * row[j];
        for (size_t j = 0; j < P && square > 0; j++) theta[j] += (1 - scale) / square * row[j];
    }
    free(row);
}

/* Root mean square of the validation rows, as the optimisers measure. */
static double validate(void *context, const double *theta) {
    clsi_learner *w = context;
    double loss;
    size_t n = w->points->n_training;
    cls_status status = clsi_learner_loss(w, theta, n, w->points->n_windows, &loss);
    return status == CLS_OK ? loss : INFINITY;
}

/* The system with these parameters, in the form the parts have now. */
cls_status clsi_learner_build(const clsi_learner *w, const double *theta, cls_system **out,
                              cls_error *error) {
    clsi_unknowns *us = w->unknowns;
    size_t n_learned;
    clsi_learned *learned = clsi_unknowns_learned(us, &n_learned);
    double *copy = clsi_calloc(us->n_theta, sizeof *copy);
    cls_status status = learned && copy ? CLS_OK : clsi_no_memory(error);
    *out = NULL;
    if (status == CLS_OK) {
        memcpy(copy, theta, us->n_theta * sizeof *copy);
        cls_model m = {.name = w->system->name,
                       .text = w->system->text,
                       .n_set = w->set ? w->set->n : 0,
                       .set_names = w->set ? (char **)w->set->names : NULL,
                       .set_values = w->set ? (double *)w->set->values : NULL,
                       .n_learned = n_learned,
                       .n_theta = us->n_theta,
                       .learned = learned,
                       .theta = copy,
                       .given = us->given};
        status = clsi_model_build(&m, error);
        *out = m.system;
    }
    free(learned);
    free(copy);
    return status;
}

/* Rollouts of small models take less than this, and say which parameters to keep. */
static const double GRACE = 1;

int clsi_learner_hurry(void *context) {
    clsi_learner *w = context;
    double now = clsi_now();
    const cls_learn_options *o = w->o;
    int wanted = (o->time_limit > 0 && now - w->started > o->time_limit) ||
                 (o->interrupted && o->interrupted(o->context));
    if (wanted && !(w->pressed > 0)) w->pressed = now;
    return wanted && now - w->pressed > GRACE;
}

/* Simulates with these parameters. */
double clsi_learner_rollout(void *context, const double *theta) {
    clsi_learner *w = context;
    cls_system *s;
    double error = INFINITY;
    if (clsi_learner_is_first(w)) {
        cls_status status = clsi_learner_build(w, theta, &s, NULL);
        if (status == CLS_OK) error = clsi_rollout(w->points, s, 1, NULL, clsi_learner_hurry, w);
        if (status == CLS_MEMORY) error = CLSI_ROLLOUT_NO_MEMORY;
        cls_system_free(&s);
    }
    error = clsi_learner_tell_all(w, error);
    if (error == CLSI_ROLLOUT_NO_MEMORY) w->no_memory = 1;
    return error;
}

int clsi_learner_is_first(const clsi_learner *w) {
    return !w->o->team || w->o->team->rank == 0;
}

/* What depends on a clock (a limit of time) is decided by one. */
double clsi_learner_tell_all(const clsi_learner *w, double x) {
    const cls_team *team = w->o->team;
    if (!team || team->ranks < 2) return x;
    double *all = clsi_calloc(team->ranks, sizeof *all), told = INFINITY;
    if (!all) return x; /* the others wait: the program ends them */
    all[team->rank] = x;
    if (team->share(team->context, "number", NULL, team->ranks, sizeof *all, all, 0, NULL) ==
        CLS_OK)
        told = all[0];
    free(all);
    return told;
}

/* The same in the form that the model will have. */
static double roll_out(void *context, const double *theta) {
    if (clsi_learner_tell_all(context, clsi_learner_hurry(context)) > 0) return -1;
    return clsi_learner_make_positive(context, theta) == CLS_OK
               ? clsi_learner_rollout(context, theta)
               : INFINITY;
}

/* The largest number that a rank has: one that has to stop stops all, by its own clock. */
static int most_of_all(const clsi_learner *w, int x) {
    const cls_team *team = w->o->team;
    if (!team || team->ranks < 2) return x;
    unsigned char *all = clsi_calloc(team->ranks, 1);
    if (!all) return x; /* the others wait: the program ends them */
    all[team->rank] = (unsigned char)x;
    cls_status status =
        team->share(team->context, "decision", NULL, team->ranks, 1, all, 0, w->error);
    for (size_t r = 0; status == CLS_OK && r < team->ranks; r++)
        if (all[r] > x) x = all[r];
    free(all);
    return x;
}

int clsi_learner_progress(void *context, const clsi_training_progress *p) {
    clsi_learner *w = context;
    size_t restarts = w->o->restarts ? w->o->restarts : 1;
    cls_learn_progress told = {.phase = "iterate",
                               .done = p->iteration,
                               .total = w->o->max_iterations * restarts,
                               .loss = sqrt(2 * p->loss),
                               .seconds = clsi_now() - w->started,
                               .validation = p->validation,
                               .restart = p->restart};
    if (!p->between) clsi_loss_curve_add(&w->curve, (double)told.done, told.loss, told.validation);
    if (w->o->progress && w->o->progress(w->o->context, &told))
        w->info->stopped = 1;
    else if (w->o->time_limit > 0 && told.seconds > w->o->time_limit)
        w->info->stopped = 2;
    w->info->stopped = most_of_all(w, w->info->stopped);
    return w->info->stopped;
}

static void initialise(void *context, uint64_t seed, double *theta) {
    clsi_learner *w = context;
    cls_random random;
    if (w->started_affine) return; /* theta holds the solution of the midpoint rule */
    cls_random_seed(&random, seed);
    for (size_t i = 0; i < w->unknowns->n; i++) {
        const clsi_learned *l = &w->unknowns->list[i].learned;
        if (w->unknowns->list[i].again) continue;
        l->field->kind->initialise(l->field, &random, theta + l->offset);
        for (size_t k = 0; l->square && l->field->kind->linear && k < l->field->n_parameters; k++)
            theta[l->offset + k] = 0.1 * cls_random_normal(&random); /* at 0 a square is flat */
    }
    if (w->o->from) memcpy(theta, w->o->from->theta, w->unknowns->n_theta * sizeof *theta);
    start_with_mass(w, theta);
}

/* A model becomes formulas, of which there can be too many: better said before the training than
 * after it. Smaller ones always fit. */
enum { LARGE = 150000 };

static cls_status check_size(clsi_learner *w) {
    cls_system *s;
    cls_error why;
    if (w->unknowns->n_theta < LARGE) return CLS_OK;
    double *theta = clsi_calloc(w->unknowns->n_theta, sizeof *theta);
    if (!theta) return clsi_no_memory(w->error);
    memcpy(theta, w->theta, w->unknowns->n_theta * sizeof *theta);
    initialise(w, w->o->seed, theta);
    cls_status status = clsi_learner_build(w, theta, &s, &why);
    cls_system_free(&s);
    free(theta);
    if (status == CLS_OK) return CLS_OK;
    return clsi_fail(w->error, status,
                     "a model with %zu parameters cannot be built (%.200s); take smaller fields",
                     w->unknowns->n_theta, why.message);
}

/* The model to begin at must have the form of the one to come, scalings of the inputs included. */
static int same_form(const clsi_learned *a, const clsi_learned *b) {
    int same = strcmp(a->part, b->part) == 0 && strcmp(a->field->spec, b->field->spec) == 0 &&
               a->d == b->d;
    for (size_t k = 0; same && k < a->d; k++)
        same = strcmp(a->input[k], b->input[k]) == 0 && a->center[k] == b->center[k] &&
               a->half[k] == b->half[k];
    return same;
}

cls_status clsi_learner_check_from(const clsi_learner *w) {
    const cls_model *m = w->o->from;
    const clsi_unknowns *us = w->unknowns;
    size_t at = 0;
    int same = !m || m->n_theta == us->n_theta;
    for (size_t i = 0; m && same && i < us->n; i++)
        if (!us->list[i].again)
            same = at < m->n_learned && same_form(&m->learned[at++], &us->list[i].learned);
    same = same && (!m || at == m->n_learned);
    if (same) return CLS_OK;
    return clsi_fail(w->error, CLS_USAGE,
                     "the model to begin from is of other parts, fields or data than what is to be "
                     "learned here; give the same data, unknown parts in their order and field");
}

static uint64_t mix(uint64_t hash, size_t n, const void *bytes) { /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    return hash;
}

/* What a checkpoint belongs to: settings as words, data and system as a hash. */
char *clsi_learner_identity(const clsi_learner *w, const char *what) {
    const clsi_points *p = w->points;
    const cls_learn_options *o = w->o;
    clsi_text text = {0};
    uint64_t hash = mix(0xcbf29ce484222325, strlen(w->system->text), w->system->text);
    hash = mix(hash, p->n * sizeof *p->time, p->time);
    hash = mix(hash, p->n * p->nz * sizeof *p->z, p->z);
    hash = mix(hash, p->n_windows * sizeof *p->window, p->window);
    hash = mix(hash, sizeof p->n_training, &p->n_training);
    for (size_t i = 0; w->set && i < w->set->n; i++) {
        hash = mix(hash, strlen(w->set->names[i]) + 1, w->set->names[i]);
        hash = mix(hash, sizeof *w->set->values, &w->set->values[i]);
    }
    clsi_text_printf(&text, "%s, seed %llu, restarts %zu, patience %llu, scheme %s", what,
                     (unsigned long long)o->seed, o->restarts ? o->restarts : 1,
                     (unsigned long long)o->patience, o->scheme ? o->scheme : "quadrature");
    for (size_t i = 0; i < w->unknowns->n; i++) {
        const clsi_learned *l = &w->unknowns->list[i].learned;
        if (w->unknowns->list[i].again) continue;
        clsi_text_printf(&text, ", %s %s", l->part, l->field->spec);
    }
    if (o->from) hash = mix(hash, o->from->n_theta * sizeof(double), o->from->theta);
    if (o->rate > 0) hash = mix(hash, sizeof o->rate, &o->rate);
    if (o->last_rate > 0) hash = mix(hash, sizeof o->last_rate, &o->last_rate);
    if (o->anchor_weight > 0) hash = mix(hash, sizeof o->anchor_weight, &o->anchor_weight);
    double how[] = {(double)o->batch, o->decay, o->constant_rate, o->last};
    if (how[0] + how[1] + how[2] + how[3] > 0) hash = mix(hash, sizeof how, how);
    if (o->weights) hash = mix(hash, strlen(o->weights), o->weights);
    if (!clsi_is_loss(w, "residual"))
        clsi_text_printf(&text, ", loss %s, window %zu, substeps %zu, optimizer %s, adjoint %s",
                         o->loss, o->window, o->substeps, o->optimizer ? o->optimizer : "auto",
                         o->adjoint ? o->adjoint : "discrete");
    clsi_text_printf(&text, ", data and system %016llx", (unsigned long long)hash);
    return clsi_text_take(&text);
}

/* What the fit of the residual ended with, from the checkpoint of a fit that went on from there. */
static cls_status find_begin(clsi_learner *w, int *found) {
    size_t P = w->unknowns->n_theta;
    *found = 0;
    if (!w->o->resume || !w->o->checkpoint || clsi_is_loss(w, "residual")) return CLS_OK;
    char *what = clsi_learner_identity(w, w->o->loss);
    if (!what) return clsi_no_memory(w->error);
    cls_status status =
        clsi_checkpoint_head(w->o->checkpoint, what, CLSI_BEGIN + P, w->begin, found, w->error);
    free(what);
    return status;
}

cls_status clsi_train_or_resume(clsi_learner *w, const clsi_training *t) {
    int found;
    size_t P = w->unknowns->n_theta;
    clsi_training_info did;
    double *begin = w->begin;
    cls_status status = find_begin(w, &found);
    if (status != CLS_OK) return status;
    if (found) {
        memcpy(w->theta, begin + CLSI_BEGIN, P * sizeof *w->theta);
    } else {
        status = clsi_train(t, w->theta, &did, w->error);
        if (status != CLS_OK) return status;
        begin[CLSI_BEGIN_ITERATIONS] = (double)did.iterations;
        begin[CLSI_BEGIN_ROLLOUT] = did.rollout;
        begin[CLSI_BEGIN_RESTART] = (double)did.restart;
        begin[CLSI_BEGIN_EARLY] = did.early;
        snprintf(w->info->ended, sizeof w->info->ended, "%s",
                 did.early && !did.stopped ? "patience" : did.reason);
        memcpy(begin + CLSI_BEGIN, w->theta, P * sizeof *w->theta);
    }
    w->info->iterations = (uint64_t)begin[CLSI_BEGIN_ITERATIONS];
    w->info->rollout = begin[CLSI_BEGIN_ROLLOUT];
    w->info->restart = (size_t)begin[CLSI_BEGIN_RESTART];
    w->info->ended_early = (size_t)begin[CLSI_BEGIN_EARLY];
    return CLS_OK;
}

/* Where steps are long the solution of the midpoint rule may be far off, or there is no step with it:
 * of zero, it, its half, its quarter, ... the one whose own residual is the least. */
static cls_status choose_start(clsi_learner *w) {
    enum { HALVINGS = 8 };
    size_t P = w->unknowns->n_theta;
    double *solved = clsi_calloc(P, sizeof *solved), least = INFINITY, best = 0, loss;
    cls_status status = solved ? CLS_OK : clsi_no_memory(w->error);
    if (status == CLS_OK) memcpy(solved, w->theta, P * sizeof *solved);
    for (int k = -1; k < HALVINGS && status == CLS_OK; k++) {
        double share = k < 0 ? 0 : ldexp(1, -k);
        for (size_t j = 0; j < P; j++) w->theta[j] = share * solved[j];
        status = clsi_learner_loss(w, w->theta, 0, w->points->n_windows, &loss);
        int better = loss < least;
        if (better) least = loss, best = share;
        if (k == 0 && better) break; /* as it should be */
    }
    for (size_t j = 0; j < P && status == CLS_OK; j++) w->theta[j] = best * solved[j];
    free(solved);
    return status;
}

/* Where the step of a scheme is not affine in the parameters but the midpoint rule over the same
 * points is, its solution is where iterations begin. */
static cls_status start_by_midpoints(clsi_learner *w) {
    clsi_residual *own = w->residual, *start = NULL;
    w->started_affine = 0;
    if (!own->step || own->affine || w->o->from) return CLS_OK;
    for (size_t i = 0; i < w->unknowns->n; i++)
        if (!w->unknowns->list[i].learned.field->kind->linear) return CLS_OK;
    clsi_points means = *w->points; /* borrowed */
    means.rule = clsi_rule_midpoint;
    cls_status status = clsi_residual_create(&means, w->unknowns, &start, w->error);
    w->residual = start;
    w->staged = status == CLS_OK && clsi_is_staged(w);
    if (status == CLS_OK && (start->affine || w->staged)) {
        w->started_affine = 1;
        status = clsi_learner_solve_at_once(w);
    }
    w->residual = own;
    w->staged = 0;
    clsi_residual_free(&start);
    return status == CLS_OK && w->started_affine ? choose_start(w) : status;
}

static cls_status solve_iterative(clsi_learner *w, const clsi_optimizer *optimizer) {
    clsi_problem problem;
    const cls_learn_options *o = w->o;
    const cls_team *team = o->team; /* one that cannot iterate says so before the work */
    cls_status able =
        team ? team->share(team->context, "iterations", NULL, 0, 0, NULL, 0, w->error) : CLS_OK;
    if (able != CLS_OK) return able;
    char *what = clsi_learner_identity(w, optimizer->name);
    if (!what) return clsi_no_memory(w->error);
    w->residual->scale_free = w->info->normalised;
    w->residual->anchors = w->anchors;
    w->residual->team = team;
    w->residual->anchor_weight = clsi_anchors_weight(
        w->anchors, w->points->n_training * w->residual->n_equations, o->anchor_weight);
    clsi_residual_problem(w->residual, &problem);
    cls_status fits = start_by_midpoints(w);
    if (fits == CLS_OK) fits = check_size(w);
    if (fits != CLS_OK) {
        free(what);
        return fits;
    }
    clsi_training t = {.problem = &problem,
                       .optimizer = optimizer,
                       .max_iterations = o->max_iterations,
                       .seed = o->seed,
                       .restarts = w->started_affine ? 1 : o->restarts,
                       .patience = o->patience,
                       .batch = o->batch,
                       .rate = o->rate,
                       .last_rate = o->last_rate,
                       .decay = o->decay,
                       .constant_rate = o->constant_rate,
                       .last = o->last,
                       .context = w,
                       .initialise = initialise,
                       .validate = w->points->n_windows > w->points->n_training ? validate : NULL,
                       .rollout = o->validate > 0 ? roll_out : NULL,
                       .progress = clsi_learner_progress,
                       .checkpoint = o->checkpoint,
                       .identity = what,
                       .checkpoint_every = o->checkpoint_every,
                       .keep = clsi_learner_keep_curve,
                       .resume = o->resume,
                       .team = team};
    clsi_loss_curve_clear(&w->curve);
    cls_status status =
        clsi_pieces_serve(w, w->beyond) ? clsi_train_stream(w, &t) : clsi_train_or_resume(w, &t);
    free(what);
    return status;
}

/* Is there a velocity whose square is a number other than zero? */
static int moves(const clsi_learner *w) {
    const clsi_points *p = w->points;
    double sum = 0;
    for (size_t k = 0; k < p->n_training; k++)
        for (size_t j = 0; j < w->residual->n; j++) {
            double v = p->z[(w->unknowns->s->nq + j) * p->n + p->window[k]];
            sum += v * v / (double)p->n_training;
        }
    return sum > 1e-300;
}

/* Networks by spring: on the piston lm was ten to seventy times behind after a minute. Rules that
 * are not affine by lm, which needs tens of iterations there. */
static const char *choose_optimizer(const clsi_learner *w) {
    if (w->residual->affine || w->staged) return "linear";
    for (size_t i = 0; i < w->unknowns->n; i++)
        if (!w->unknowns->list[i].learned.field->kind->linear) return "spring";
    return "lm";
}

/* Iterations that are worth having, where the caller has no opinion. */
static uint64_t usual_iterations(const char *name) {
    static const struct {
        const char *name;
        uint64_t n;
    } list[] = {{"spring", 8000}, {"lbfgs", 5000}, {"adam", 20000}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strcmp(name, list[i].name) == 0) return list[i].n;
    return 400;
}

cls_status clsi_learner_solve(clsi_learner *w) {
    const char *name = w->o->optimizer ? w->o->optimizer : "auto";
    w->staged = clsi_is_staged(w);
    w->info->notes[0] = '\0';
    if (strcmp(name, "auto") == 0) name = choose_optimizer(w);
    int linear = strcmp(name, "linear") == 0;
    const clsi_optimizer *optimizer = linear ? NULL : clsi_optimizer_find(name);
    if (!linear && !optimizer)
        return clsi_fail(
            w->error, CLS_USAGE,
            "there is no optimizer '%s'; there are auto, linear, lm, spring, lbfgs, adam and qp",
            name);
    if (linear && !w->residual->affine && !w->staged)
        return clsi_fail(w->error, CLS_USAGE,
                         "the residual is not affine in these unknowns, so that `linear` cannot "
                         "solve it; take lm, or a basis such as chebyshev(8)");
    cls_status meant = clsi_options_mean(w, name, w->error);
    if (meant != CLS_OK) return meant;
    snprintf(w->info->optimizer, sizeof w->info->optimizer, "%s", name);
    if (!linear && (w->trial || w->o->max_iterations == 0)) {
        w->o->max_iterations = w->trial ? w->trial : usual_iterations(name);
        w->own_iterations = 1;
    }
    w->info->normalised = w->residual->homogeneous && !clsi_anchors_set_scale(w->anchors);
    size_t n = w->points->n_training;
    if (w->info->normalised && !moves(w))
        return clsi_fail(w->error, CLS_DATA,
                         "nothing moves in the data, so that the scale of the energy cannot be "
                         "fixed; add trajectories with v other than zero");
    cls_status status = linear ? clsi_learner_solve_at_once(w) : solve_iterative(w, optimizer);
    if (status == CLS_OK) status = clsi_learner_loss(w, w->theta, 0, n, &w->info->loss_final);
    if (status == CLS_OK)
        status = clsi_learner_loss(w, w->theta, n, w->points->n_windows, &w->info->loss_validation);
    /* parts that are multiplied with each other have no common factor: their scale stays as found
     */
    if (status == CLS_OK && w->residual->scale_free && w->unknowns->linear)
        status = clsi_learner_rescale(w);
    w->info->normalised &= w->unknowns->linear;
    if (status == CLS_OK && !(isfinite(w->info->loss_final) && isfinite(w->info->condition)))
        status =
            clsi_fail(w->error, CLS_NUMERIC,
                      "the residual of what was learned is not finite; the data are too extreme "
                      "for their units");
    return status;
}
