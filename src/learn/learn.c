/* Learning, from data to model: points, unknowns, residual, solution, form. */
#include "learn/learn.h"
#include "base/base.h"
#include "learn/derivative.h"
#include "learn/optimize.h"
#include "learn/shoot.h"
#include "learn/train.h"
#include "model/safetensors.h"
#include <jansson.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

cls_learn_options cls_learn_defaults(void) {
    return (cls_learn_options){.size = sizeof(cls_learn_options),
                               .validate = 0.1,
                               .seed = 1,
                               .restarts = 1,
                               .patience = 100,
                               .checkpoint_every = 10};
}

typedef struct work {
    cls_learn_options *o; /* a copy */
    const cls_system *system;
    const cls_assignments *set;
    clsi_points *points;
    clsi_unknowns *unknowns;
    clsi_residual *residual;
    clsi_anchors *anchors;
    double *theta;
    cls_learn_info *info;
    double started;
    cls_error *error;
} work;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int tell(work *w, const char *phase, uint64_t done, uint64_t total, double loss) {
    if (!w->o->watch) return 0;
    cls_learn_progress p = {phase, done, total, loss, now() - w->started, NAN, 0};
    return w->o->watch(w->o->owner, &p);
}

static int is_loss(const work *w, const char *name) {
    return strcmp(w->o->loss ? w->o->loss : "residual", name) == 0;
}

/* Mean p.v by mean v.v where energy and forces have no scale of their own (iterations: a solve has
 * it as a constraint), one elsewhere. `row` is its row over theta. */
static cls_status scale_of(work *w, const double *theta, double *row, double *scale) {
    double pv, vv;
    *scale = 1;
    if (!w->residual->scale_free) return CLS_OK;
    cls_status status = clsi_residual_scale(w->residual, theta, 0, row, &pv, &vv);
    *scale = pv / vv;
    for (size_t j = 0; j < w->unknowns->n_theta; j++) row[j] /= vv;
    return status;
}

/* Root mean square of the scaled residual over the windows [first, last). */
static cls_status loss_over(work *w, const double *theta, size_t first, size_t last, double *loss) {
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

/* ---- one solve ---- */

/* Directions below this are not seen: entropies have no origin, and c T is nearly a polynomial in
 * log T. At 1e-13 the origin ran to thousands and hid the drift of the energy behind its size. */
#define RCOND 1e-10

enum { BLOCK = 512 }; /* windows whose rows are made and folded into the triangle together */

static cls_status fold_rows(work *w, clsi_lsq *q, double *A, double *b) {
    size_t n = w->points->n_training, E = w->residual->n_equations;
    cls_status status = CLS_OK;
    for (size_t at = 0; at < n && status == CLS_OK; at += BLOCK) {
        size_t count = (n - at < BLOCK ? n - at : BLOCK) * E;
        status = clsi_residual_rows(w->residual, NULL, at * E, count, NULL, b, A);
        for (size_t k = 0; k < count; k++) b[k] = -b[k];
        if (status == CLS_OK) status = clsi_lsq_add(q, count, A, b, w->error);
        if (status == CLS_OK && tell(w, "rows", at + count / E, n, NAN))
            status = clsi_fail(w->error, CLS_INTERRUPTED, "stopped while the rows were made");
    }
    return status;
}

static cls_status solve_folded(work *w, size_t n, const double *C, const double *d, double *A,
                               double *b) {
    clsi_lsq *q;
    clsi_lsq_info found;
    size_t P = w->unknowns->n_theta;
    cls_status status = clsi_lsq_create(P, n, C, d, &q, w->error);
    if (status == CLS_OK) status = fold_rows(w, q, A, b);
    if (status == CLS_OK) tell(w, "solve", 0, 1, NAN);
    if (status == CLS_OK)
        status = clsi_solve_positive(q, RCOND, w->unknowns, w->points, w->theta, &found,
                                     &w->info->negative, &w->info->kkt, w->error);
    if (status == CLS_OK) {
        w->info->rank = found.rank;
        w->info->unseen = found.unseen;
        w->info->condition = found.condition;
    }
    clsi_lsq_free(&q);
    return status;
}

/* C x = d: the anchors, and the scale. When nothing in the residual is known, k G and k F fit as
 * well as G and F: the mean of p.v is then set to the mean of v.v, which is a mean mass of one,
 * unless an anchor sets the scale. */
static cls_status conditions(work *w, double *C, double *d) {
    size_t n = clsi_anchors_count(w->anchors), P = w->unknowns->n_theta;
    cls_status status = CLS_OK;
    double pv;
    for (size_t i = 0; i < n && status == CLS_OK; i++)
        status = clsi_anchors_constraint(w->anchors, i, C + i * P, &d[i], w->error);
    if (status == CLS_OK && w->info->normalised)
        status = clsi_residual_scale(w->residual, NULL, 0, C + n * P, &pv, &d[n]);
    return status;
}

static cls_status solve_linear(work *w) {
    size_t P = w->unknowns->n_theta, E = w->residual->n_equations;
    size_t n = clsi_anchors_count(w->anchors) + (size_t)w->info->normalised;
    double *A = clsi_calloc(BLOCK * E * P, sizeof *A), *b = clsi_calloc(BLOCK * E, sizeof *b);
    double *C = clsi_calloc(n * P, sizeof *C), *d = clsi_calloc(n, sizeof *d);
    cls_status status = A && b && C && d ? CLS_OK : clsi_no_memory(w->error);
    if (status == CLS_OK) status = conditions(w, C, d);
    if (status == CLS_OK) status = solve_folded(w, n, C, d, A, b);
    free(A);
    free(b);
    free(C);
    free(d);
    return status;
}

/* ---- form ---- */

/* Frictions and conductances are made positive by form, with a floor far below their size. */
static cls_status make_positive(work *w, const double *theta) {
    for (size_t i = 0; i < w->unknowns->n; i++) {
        clsi_unknown *u = &w->unknowns->list[i];
        clsi_learned *l = &u->learned;
        if ((u->kind != CLSI_PART_FRICTION && u->kind != CLSI_PART_HEAT) || u->nonlinear) continue;
        if (l->matrix && l->slot) continue;
        size_t n = w->points->n;
        double *value = clsi_calloc(n, sizeof *value), mean = 0;
        if (!value) return clsi_no_memory(w->error);
        l->field->kind->evaluate(l->field, theta + l->offset, n, u->x, value, NULL, NULL);
        for (size_t s = 0; s < n; s++) mean += fabs(value[s]) / (double)n;
        l->floor = 1e-6 * mean + 1e-300;
        free(value);
    }
    return CLS_OK;
}

/* ---- step by step ---- */

/* (k G, k F) is as good as (G, F): the scale condition is met exactly. */
static cls_status rescale(work *w) {
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
        size_t n = w->residual->n;
        int angle = !l->matrix && l->slot >= n && l->slot < n * (n + 1) / 2;
        if (u->kind == CLSI_PART_FRICTION && angle) continue;
        l->scale /= scale;
        l->floor /= scale;
    }
    free(row);
    return status;
}

/* Start parameters have a mass that may be zero or negative, from which no residual leads to a
 * positive one: they are moved along its row until it is positive. */
static void start_with_mass(work *w, double *theta) {
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
static double validate(void *owner, const double *theta) {
    work *w = owner;
    double loss;
    size_t n = w->points->n_training;
    cls_status status = loss_over(w, theta, n, w->points->n_windows, &loss);
    return status == CLS_OK ? loss : INFINITY;
}

/* The system with these parameters, in the form the parts have now. */
static cls_status build(const work *w, const double *theta, cls_system **out, cls_error *error) {
    clsi_unknowns *us = w->unknowns;
    clsi_learned *learned = clsi_calloc(us->n, sizeof *learned);
    double *copy = clsi_calloc(us->n_theta, sizeof *copy);
    cls_status status = learned && copy ? CLS_OK : clsi_no_memory(error);
    *out = NULL;
    if (status == CLS_OK) {
        for (size_t i = 0; i < us->n; i++) learned[i] = us->list[i].learned; /* borrowed */
        memcpy(copy, theta, us->n_theta * sizeof *copy);
        cls_model m = {.name = w->system->name,
                       .text = w->system->text,
                       .n_set = w->set ? w->set->n : 0,
                       .set_names = w->set ? (char **)w->set->names : NULL,
                       .set_values = w->set ? (double *)w->set->values : NULL,
                       .n_learned = us->n,
                       .n_theta = us->n_theta,
                       .learned = learned,
                       .theta = copy};
        status = clsi_model_build(&m, error);
        *out = m.system;
    }
    free(learned);
    free(copy);
    return status;
}

/* Simulates with these parameters. */
static double roll_out_shot(void *owner, const double *theta) {
    work *w = owner;
    cls_system *s;
    double error = INFINITY;
    if (build(w, theta, &s, NULL) == CLS_OK) error = clsi_rollout(w->points, s);
    cls_system_free(&s);
    return error;
}

/* The same in the form that the model will have. */
static double roll_out(void *owner, const double *theta) {
    return make_positive(owner, theta) == CLS_OK ? roll_out_shot(owner, theta) : INFINITY;
}

static int watch_iteration(void *owner, const clsi_training_progress *p) {
    work *w = owner;
    size_t restarts = w->o->restarts ? w->o->restarts : 1;
    cls_learn_progress told = {.phase = "iterate",
                               .done = p->iteration,
                               .total = w->o->max_iterations * restarts,
                               .loss = sqrt(2 * p->loss),
                               .seconds = now() - w->started,
                               .validation = p->validation,
                               .restart = p->restart};
    if (w->o->watch && w->o->watch(w->o->owner, &told))
        w->info->stopped = 1;
    else if (w->o->time_limit > 0 && told.seconds > w->o->time_limit)
        w->info->stopped = 2;
    return w->info->stopped;
}

static void initialise(void *owner, uint64_t seed, double *theta) {
    work *w = owner;
    cls_random random;
    if (w->residual->start_affine) return; /* theta holds the solution of the affine rule */
    cls_random_seed(&random, seed);
    for (size_t i = 0; i < w->unknowns->n; i++) {
        const clsi_learned *l = &w->unknowns->list[i].learned;
        l->field->kind->initialise(l->field, &random, theta + l->offset);
        for (size_t k = 0; l->square && l->field->kind->linear && k < l->field->n_parameters; k++)
            theta[l->offset + k] = 0.1 * cls_random_normal(&random); /* at 0 a square is flat */
    }
    if (w->o->from) memcpy(theta, w->o->from->theta, w->unknowns->n_theta * sizeof *theta);
    start_with_mass(w, theta);
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

static cls_status check_from(const work *w) {
    const cls_model *m = w->o->from;
    const clsi_unknowns *us = w->unknowns;
    int same = !m || (m->n_learned == us->n && m->n_theta == us->n_theta);
    for (size_t i = 0; m && same && i < us->n; i++)
        same = same_form(&m->learned[i], &us->list[i].learned);
    if (same) return CLS_OK;
    return clsi_fail(w->error, CLS_USAGE,
                     "the model to begin from is of other parts, fields or data than what is to be "
                     "learned here; give the same data, unknown parts in their order and field");
}

/* All rows alike, as the papers have them. */
static cls_status set_weights(work *w) {
    const char *name = w->o->weights ? w->o->weights : "balanced";
    const clsi_points *p = w->points;
    if (strcmp(name, "balanced") == 0 || p->intervals) return CLS_OK;
    if (strcmp(name, "equal") != 0)
        return clsi_fail(w->error, CLS_USAGE, "weights are balanced or equal, not '%s'", name);
    for (size_t k = 0; k < p->n_windows; k++) {
        size_t at[CLSI_MOST_WIDTH];
        clsi_window_points(p, k, at);
        double length = p->time[at[p->width - 1]] - p->time[at[0]];
        for (size_t e = 0; e < w->residual->n_equations; e++)
            w->residual->weight[e * p->n_windows + k] = 1 / length;
    }
    return CLS_OK;
}

static uint64_t mix(uint64_t hash, size_t n, const void *bytes) { /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    return hash;
}

/* What a checkpoint belongs to: settings as words, data and system as a hash. */
static char *identity(const work *w, const char *optimizer) {
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
    clsi_text_printf(&text, "%s, seed %llu, restarts %zu, patience %llu, scheme %s", optimizer,
                     (unsigned long long)o->seed, o->restarts ? o->restarts : 1,
                     (unsigned long long)o->patience, o->scheme ? o->scheme : "quadrature");
    for (size_t i = 0; i < w->unknowns->n; i++) {
        const clsi_learned *l = &w->unknowns->list[i].learned;
        clsi_text_printf(&text, ", %s %s", l->part, l->field->spec);
    }
    if (o->from) hash = mix(hash, o->from->n_theta * sizeof(double), o->from->theta);
    if (o->rate > 0) hash = mix(hash, sizeof o->rate, &o->rate);
    if (o->weights) hash = mix(hash, strlen(o->weights), o->weights);
    clsi_text_printf(&text, ", data and system %016llx", (unsigned long long)hash);
    return clsi_text_take(&text);
}

static cls_status solve_iterative(work *w, const clsi_optimizer *optimizer) {
    clsi_problem problem;
    clsi_training_info found;
    const cls_learn_options *o = w->o;
    char *what = identity(w, optimizer->name);
    if (!what) return clsi_no_memory(w->error);
    double weight = 10 * sqrt((double)(w->points->n_training * w->residual->n_equations));
    w->residual->scale_free = w->info->normalised;
    w->residual->anchors = w->anchors;
    w->residual->anchor_weight = weight;
    clsi_residual_problem(w->residual, &problem);
    if (w->residual->start_affine) { /* begin where the same rule without its correction ends */
        w->residual->plain = 1;
        cls_status started = solve_linear(w);
        w->residual->plain = 0;
        if (started != CLS_OK) {
            free(what);
            return started;
        }
    }
    clsi_training t = {.problem = &problem,
                       .optimizer = optimizer,
                       .max_iterations = o->max_iterations,
                       .seed = o->seed,
                       .restarts = w->residual->start_affine ? 1 : o->restarts,
                       .patience = o->patience,
                       .batch = o->batch,
                       .rate = o->rate,
                       .decay = o->decay,
                       .constant_rate = o->constant_rate,
                       .owner = w,
                       .initialise = initialise,
                       .validate = w->points->n_windows > w->points->n_training ? validate : NULL,
                       .rollout = o->validate > 0 ? roll_out : NULL,
                       .watch = watch_iteration,
                       /* with shooting the checkpoint is that of its last stage */
                       .checkpoint = is_loss(w, "shooting") ? NULL : o->checkpoint,
                       .identity = what,
                       .checkpoint_every = o->checkpoint_every,
                       .resume = o->resume && !is_loss(w, "shooting")};
    cls_status status = clsi_train(&t, w->theta, &found, w->error);
    free(what);
    if (status != CLS_OK) return status;
    w->info->iterations = found.iterations;
    w->info->rollout = found.rollout;
    w->info->restart = found.restart;
    w->info->ended_early = (size_t)found.early;
    return CLS_OK;
}

/* Is there a velocity whose square is a number other than zero? */
static int moves(const work *w) {
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
static const char *choose_optimizer(const work *w) {
    if (w->residual->affine) return "linear";
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

static cls_status solve(work *w) {
    const char *name = w->o->optimizer ? w->o->optimizer : "auto";
    if (strcmp(name, "auto") == 0) name = choose_optimizer(w);
    int linear = strcmp(name, "linear") == 0;
    const clsi_optimizer *optimizer = linear ? NULL : clsi_optimizer_find(name);
    if (!linear && !optimizer)
        return clsi_fail(
            w->error, CLS_USAGE,
            "there is no optimizer '%s'; there are auto, linear, lm, spring, lbfgs, adam and qp",
            name);
    if (linear && !w->residual->affine)
        return clsi_fail(w->error, CLS_USAGE,
                         "the residual is not affine in these unknowns, so that `linear` cannot "
                         "solve it; take lm, or a basis such as chebyshev(8)");
    snprintf(w->info->optimizer, sizeof w->info->optimizer, "%s", name);
    if (w->o->max_iterations == 0) w->o->max_iterations = usual_iterations(name);
    w->info->normalised = w->residual->homogeneous && !clsi_anchors_set_scale(w->anchors);
    size_t n = w->points->n_training;
    if (w->info->normalised && !moves(w))
        return clsi_fail(w->error, CLS_DATA,
                         "nothing moves in the data, so that the scale of the energy cannot be "
                         "fixed; add trajectories with v other than zero");
    cls_status status = linear ? solve_linear(w) : solve_iterative(w, optimizer);
    if (status == CLS_OK) status = loss_over(w, w->theta, 0, n, &w->info->loss_final);
    if (status == CLS_OK)
        status = loss_over(w, w->theta, n, w->points->n_windows, &w->info->loss_validation);
    /* parts that are multiplied with each other have no common factor: their scale stays as found
     */
    if (status == CLS_OK && w->residual->scale_free && w->unknowns->linear) status = rescale(w);
    w->info->normalised &= w->unknowns->linear;
    if (status == CLS_OK && !(isfinite(w->info->loss_final) && isfinite(w->info->condition)))
        status =
            clsi_fail(w->error, CLS_NUMERIC,
                      "the residual of what was learned is not finite; the data are too extreme "
                      "for their units");
    return status;
}

/* ---- the model ---- */

static char *provenance(const work *w, size_t n_tables, const char *const *names) {
    json_t *files = json_array();
    for (size_t i = 0; i < n_tables; i++) {
        char hash[65] = "";
        clsi_sha256_file(names[i], hash, NULL);
        json_array_append_new(files, json_pack("{s:s, s:s}", "file", names[i], "sha256", hash));
    }
    const cls_learn_info *f = w->info;
    json_t *all = json_pack(
        "{s:o, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:I, s:f, s:b}", "data", files, "version",
        cls_version(), "optimizer", f->optimizer, "seed", (json_int_t)w->o->seed, "windows",
        (json_int_t)f->samples, "validation_windows", (json_int_t)f->validation_samples, "loss",
        f->loss_final, "validation_loss", isfinite(f->loss_validation) ? f->loss_validation : 0.0,
        "unseen", (json_int_t)f->unseen, "condition", f->condition, "scale_fixed", f->normalised);
    char *text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(all);
    return text;
}

static cls_status assemble(work *w, const cls_system *system, const cls_assignments *set,
                           size_t n_tables, const char *const *names, cls_model **out) {
    cls_model *m = clsi_calloc(1, sizeof *m);
    if (!m) return clsi_no_memory(w->error);
    clsi_unknowns *us = w->unknowns;
    size_t n_set = set ? set->n : 0;
    m->name = clsi_strdup(system->name);
    m->text = clsi_strdup(system->text);
    m->provenance = provenance(w, n_tables, names);
    m->learned = clsi_calloc(us->n, sizeof *m->learned);
    m->set_names = clsi_calloc(n_set, sizeof *m->set_names);
    m->set_values = clsi_calloc(n_set, sizeof *m->set_values);
    cls_status status =
        m->name && m->text && m->provenance && m->learned && m->set_names && m->set_values
            ? CLS_OK
            : clsi_no_memory(w->error);
    for (size_t i = 0; i < n_set && status == CLS_OK; i++, m->n_set++) {
        m->set_values[i] = set->values[i];
        if (!(m->set_names[i] = clsi_strdup(set->names[i]))) status = clsi_no_memory(w->error);
    }
    for (size_t i = 0; i < us->n && status == CLS_OK; i++, m->n_learned++) {
        m->learned[i] = us->list[i].learned; /* moved */
        us->list[i].learned = (clsi_learned){0};
    }
    double start[256];
    if (system->form->nz < 256 && cls_system_start(system, NULL, start, NULL) == CLS_OK) {
        m->start = clsi_calloc(system->form->nz, sizeof *m->start);
        if (m->start) memcpy(m->start, start, system->form->nz * sizeof *m->start);
        m->n_start = m->start ? system->form->nz : 0;
    }
    m->theta = w->theta;
    m->n_theta = us->n_theta;
    w->theta = NULL;
    if (status == CLS_OK) status = clsi_model_build(m, w->error);
    if (status == CLS_OK)
        *out = m;
    else
        cls_model_free(&m);
    return status;
}

/* ---- everything in order ---- */

/* The implicit midpoint rule averages (q, p, S), which for a thermal lagrangian are not data. */
static cls_status find_midpoint(const cls_system *system, clsi_rule *rule, cls_error *error) {
    *rule = CLSI_SYMMETRIC;
    if (system->formalism == CLS_HAMILTONIAN) return CLS_OK;
    return clsi_fail(error, CLS_USAGE,
                     "implicit-midpoint averages momenta and entropies, and the data of '%s' are "
                     "velocities and temperatures; use vnots-symmetric, the same rule in these",
                     system->name);
}

/* Data without velocities, or a rule that has no use for them. */
static int find_position_rule(const char *name, int only_positions, clsi_rule *rule) {
    static const struct {
        const char *name;
        clsi_rule rule;
    } rules[] = {{"weak", CLSI_WEAK},
                 {"leapfrog", CLSI_LEAPFROG},
                 {"symplectic-euler", CLSI_LEAPFROG},
                 {"euler", CLSI_EULER},
                 {"discrete-gradient", CLSI_PAIRS}};
    if (!name && only_positions) name = "weak";
    for (size_t i = 0; name && i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(name, rules[i].name) != 0) continue;
        *rule = rules[i].rule;
        return only_positions || rules[i].rule != CLSI_PAIRS;
    }
    return 0;
}

static cls_status find_rule(const cls_system *system, const char *name, clsi_rule *rule,
                            cls_error *error) {
    static const char *const names[] = {[CLSI_QUADRATURE] = "quadrature",
                                        [CLSI_VNOTS] = "vnots",
                                        [CLSI_SYMMETRIC] = "vnots-symmetric",
                                        [CLSI_DISCRETE_GRADIENT] = "discrete-gradient"};
    *rule = CLSI_QUADRATURE;
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *rule = (clsi_rule)i;
        return CLS_OK;
    }
    if (!name) return CLS_OK;
    if (strcmp(name, "implicit-midpoint") == 0) return find_midpoint(system, rule, error);
    return clsi_fail(
        error, CLS_USAGE,
        "no residual is made from the scheme '%s'; there are quadrature (the default), "
        "vnots-symmetric, vnots, discrete-gradient and implicit-midpoint, and for positions alone "
        "weak (the default), discrete-gradient, leapfrog, symplectic-euler and euler",
        name);
}

/* A solve sees each window once. Iterations see them often, and networks have few parameters. */
static uint64_t usual_windows(const cls_system *s, const cls_learn_options *o) {
    int network = o->field && strncmp(o->field, "network", 7) == 0;
    for (size_t i = 0; i < s->n_unknown; i++)
        network |= s->unknown_field[i] && strncmp(s->unknown_field[i], "network", 7) == 0;
    return network ? 5000 : 20000;
}

/* ---- shooting ---- */

/* What is compared with simulations: of positions, states of which only they are known. */
static cls_status find_states(work *w, clsi_points **states) {
    cls_system *s;
    if (!w->points->intervals) return CLS_OK;
    cls_status status = build(w, w->theta, &s, w->error);
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
static cls_status shoot(work *w) {
    const cls_learn_options *o = w->o;
    clsi_shoot_info found;
    clsi_points *states = NULL;
    cls_status status = find_states(w, &states);
    if (status != CLS_OK) return status;
    char *what = identity(w, "shooting");
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
                                   .rollout = complete(w->points) ? roll_out_shot : NULL,
                                   .watch = watch_iteration,
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
    const work *w = owner;
    (void)seed;
    memcpy(theta, w->theta, w->unknowns->n_theta * sizeof *theta);
}

static cls_status train_derivative(work *w, clsi_derivative *d, double *theta) {
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
                       .rollout = roll_out_shot,
                       .watch = watch_iteration};
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
    return w->residual->scale_free ? rescale(w) : CLS_OK;
}

/* From the fit of the residual on, by the rates themselves. */
static cls_status derive(work *w) {
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

static cls_status check_loss(const work *w) {
    static const char *const names[] = {"residual", "shooting", "derivative"};
    for (size_t i = 0; i < 3; i++)
        if (is_loss(w, names[i])) return CLS_OK;
    const char *near = cls_nearest_word(w->o->loss, 3, names);
    return clsi_fail(w->error, CLS_USAGE,
                     "there is no loss '%s'%s%s%s; there are residual, "
                     "shooting and derivative",
                     w->o->loss, near ? "; did you mean '" : "", near ? near : "",
                     near ? "'?" : "");
}

static cls_status run(work *w, const cls_system *system, const cls_assignments *set,
                      size_t n_tables, const cls_table *const *tables, const char *const *names,
                      cls_model **out) {
    const cls_learn_options *o = w->o;
    clsi_rule rule = CLSI_QUADRATURE;
    /* the scheme of shooting is what simulates; its residual has the default rule */
    const char *scheme = is_loss(w, "shooting") ? NULL : o->scheme;
    /* shooting simulates all states, and guesses those that are not there */
    int positions =
        system->canonical && !is_loss(w, "shooting") &&
        find_position_rule(scheme, clsi_only_positions(system, n_tables, tables), &rule);
    if (system->has_operator)
        return clsi_fail(w->error, CLS_USAGE,
                         "'%s' has a friction operator (dissipation): only `--optimizer qp` learns "
                         "such systems",
                         system->name);
    if (system->formalism == CLS_LAGRANGIAN && !positions)
        return clsi_fail(w->error, CLS_USAGE,
                         "this version learns parts of a thermal lagrangian (from q, v, T), of a "
                         "hamiltonian (from q, p, S), or of any of them from positions alone; "
                         "write '%s' as one of these, or leave the velocities out",
                         system->name);
    cls_status status = check_loss(w);
    if (status == CLS_OK && positions && !is_loss(w, "residual") && !is_loss(w, "shooting"))
        status = clsi_fail(w->error, CLS_USAGE,
                           "the loss %s needs all states as columns of the data", o->loss);
    if (status == CLS_OK && !positions) status = find_rule(system, scheme, &rule, w->error);
    if (status == CLS_OK)
        status = clsi_points_create_wide(system, n_tables, tables, names, rule, o->validate,
                                         o->max_windows ? o->max_windows : usual_windows(system, o),
                                         is_loss(w, "shooting") ? 0 : o->window,
                                         is_loss(w, "shooting"), &w->points, w->error);
    if (status == CLS_OK)
        status = clsi_unknowns_create(system, set, o, w->points, &w->unknowns, w->error);
    if (status == CLS_OK)
        status = clsi_residual_create(w->points, w->unknowns, &w->residual, w->error);
    if (status == CLS_OK) status = set_weights(w);
    if (status == CLS_OK) status = check_from(w);
    if (status == CLS_OK) status = clsi_anchors_create(w->unknowns, &w->anchors, w->error);
    if (status != CLS_OK) return status;
    w->info->parameters = w->unknowns->n_theta;
    for (size_t i = 0; i < w->unknowns->n; i++)
        w->info->isothermal |= w->unknowns->list[i].learned.trunk > 0;
    w->info->samples = w->points->n_training;
    w->info->validation_samples = w->points->n_windows - w->points->n_training;
    w->theta = clsi_calloc(w->unknowns->n_theta, sizeof *w->theta);
    if (!w->theta) return clsi_no_memory(w->error);
    status = loss_over(w, w->theta, 0, w->points->n_training, &w->info->loss_initial);
    if (status == CLS_OK) status = solve(w);
    if (status == CLS_OK) status = make_positive(w, w->theta);
    if (status == CLS_OK && is_loss(w, "shooting") && !w->info->stopped) status = shoot(w);
    if (status == CLS_OK && is_loss(w, "derivative") && !w->info->stopped) status = derive(w);
    if (status == CLS_OK) status = assemble(w, system, set, n_tables, names, out);
    /* A solve is not chosen by its rollout, but a model that cannot be simulated must not pass. */
    if (status == CLS_OK && isnan(w->info->rollout) && w->points->n_windows > w->points->n_training)
        w->info->rollout = clsi_rollout(w->points, (*out)->system);
    return status;
}

cls_status cls_learn(const cls_system *system, const cls_assignments *set, size_t n_tables,
                     const cls_table *const *tables, const char *const *names,
                     const cls_learn_options *options, cls_model **out, cls_learn_info *info,
                     cls_error *error) {
    *out = NULL;
    *info = (cls_learn_info){0};
    cls_learn_options o = options ? *options : cls_learn_defaults();
    if (o.n_unknown == 0) {
        o.n_unknown = system->n_unknown;
        o.unknown = (const char *const *)system->unknown;
    }
    if (o.n_unknown == 0)
        return clsi_fail(error, CLS_USAGE,
                         "nothing is unknown: name the parts to learn; `clausius show %s --parts` "
                         "lists them",
                         system->name);
    if (o.optimizer && strcmp(o.optimizer, "qp") == 0)
        return clsi_learn_qp(system, set, n_tables, tables, names, &o, out, info, error);
    info->rollout = NAN;
    work w = {
        .o = &o, .system = system, .set = set, .info = info, .started = now(), .error = error};
    int threads = omp_get_max_threads(); /* of the caller's thread, given back below */
    if (o.threads > 0) omp_set_num_threads(o.threads);
    cls_status status = run(&w, system, set, n_tables, tables, names, out);
    omp_set_num_threads(threads);
    info->seconds = now() - w.started;
    clsi_residual_free(&w.residual);
    clsi_anchors_free(&w.anchors);
    clsi_unknowns_free(&w.unknowns);
    clsi_points_free(&w.points);
    free(w.theta);
    return status;
}
