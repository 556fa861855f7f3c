/* Learning, from data to model: points, unknowns, residual, solution, form. */
#include "learn/learn.h"
#include "base/base.h"
#include "model/safetensors.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

cls_learn_options cls_learn_defaults(void) {
    return (cls_learn_options){.size = sizeof(cls_learn_options), .validate = 0.1, .seed = 1};
}

typedef struct work {
    const cls_learn_options *o;
    clsi_points *points;
    clsi_unknowns *unknowns;
    clsi_residual *residual;
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
    cls_learn_progress p = {phase, done, total, loss, now() - w->started};
    return w->o->watch(w->o->owner, &p);
}

/* Root mean square of the scaled residual over the windows [first, last). */
static cls_status loss_over(work *w, size_t first, size_t last, double *loss) {
    size_t E = w->residual->n_equations, count = (last - first) * E;
    double *r = clsi_calloc(count, sizeof *r), sum = 0;
    if (!r) return clsi_no_memory(w->error);
    cls_status status = clsi_residual_rows(w->residual, w->theta, first * E, count, NULL, r, NULL);
    for (size_t k = 0; k < count; k++) sum += r[k] * r[k];
    *loss = count ? sqrt(sum / (double)count) : NAN;
    free(r);
    return status;
}

/* ---- one solve ---- */

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

static cls_status solve_folded(work *w, const double *C, double d, double *A, double *b) {
    clsi_lsq *q;
    clsi_lsq_info found;
    size_t P = w->unknowns->n_theta;
    cls_status status =
        clsi_lsq_create(P, (size_t)w->info->normalised, C, &d, &q, w->error);
    if (status == CLS_OK) status = fold_rows(w, q, A, b);
    if (status == CLS_OK) tell(w, "solve", 0, 1, NAN);
    if (status == CLS_OK)
        status = clsi_solve_positive(q, 1e-13, w->unknowns, w->points, w->theta, &found,
                                     &w->info->negative, &w->info->kkt, w->error);
    if (status == CLS_OK) {
        w->info->rank = found.rank;
        w->info->unseen = found.unseen;
        w->info->condition = found.condition;
    }
    clsi_lsq_free(&q);
    return status;
}

/* When nothing in the residual is known, k G and k F fit as well as G and F: the mean of p.v is then
 * set to the mean of v.v, which is a mean mass of one. */
static cls_status solve_linear(work *w) {
    size_t P = w->unknowns->n_theta, E = w->residual->n_equations;
    double *A = clsi_calloc(BLOCK * E * P, sizeof *A), *b = clsi_calloc(BLOCK * E, sizeof *b);
    double *C = clsi_calloc(P, sizeof *C), d = 0, pv;
    cls_status status = A && b && C ? CLS_OK : clsi_no_memory(w->error);
    if (status == CLS_OK && w->info->normalised)
        status = clsi_residual_scale(w->residual, NULL, C, &pv, &d);
    if (status == CLS_OK) status = solve_folded(w, C, d, A, b);
    free(A);
    free(b);
    free(C);
    return status;
}

/* ---- step by step ---- */

static int watch_iteration(void *owner, const clsi_progress *p, const double *theta) {
    work *w = owner;
    (void)theta;
    int stop = tell(w, "iterate", p->iteration, w->o->max_iterations, sqrt(2 * p->loss));
    double seconds = now() - w->started;
    return stop || (w->o->time_limit > 0 && seconds > w->o->time_limit);
}

/* (k G, k F) is as good as (G, F): the scale condition is met exactly. */
static cls_status rescale(work *w) {
    double *row = clsi_calloc(w->unknowns->n_theta, sizeof *row), pv, vv;
    if (!row) return clsi_no_memory(w->error);
    cls_status status = clsi_residual_scale(w->residual, w->theta, row, &pv, &vv);
    if (status == CLS_OK && !(pv > 0 && isfinite(vv / pv)))
        status = clsi_fail(w->error, CLS_NUMERIC,
                           "what was learned has no positive mass (the mean of p.v is %g); take "
                           "another seed, more iterations or a basis such as chebyshev(8)",
                           pv);
    for (size_t i = 0; i < w->unknowns->n && status == CLS_OK; i++) {
        const clsi_unknown *u = &w->unknowns->list[i];
        clsi_learned *l = &w->unknowns->list[i].learned;
        if (u->kind == CLSI_PART_FRICTION && l->slot >= w->residual->n) continue; /* an angle */
        l->scale *= vv / pv;
        l->floor *= vv / pv;
    }
    free(row);
    return status;
}

static cls_status solve_iterative(work *w, const clsi_optimizer *optimizer) {
    clsi_problem problem;
    clsi_optimize_info found = {0};
    cls_random random;
    cls_random_seed(&random, w->o->seed);
    if (w->info->normalised)
        w->residual->scale_weight =
            10 * sqrt((double)(w->points->n_training * w->residual->n_equations));
    clsi_residual_problem(w->residual, &problem);
    for (size_t i = 0; i < w->unknowns->n; i++) {
        const clsi_learned *l = &w->unknowns->list[i].learned;
        l->field->kind->initialise(l->field, &random, w->theta + l->offset);
    }
    if (w->residual->start_affine) { /* begin where the same rule without its correction ends */
        w->residual->plain = 1;
        cls_status started = solve_linear(w);
        w->residual->plain = 0;
        if (started != CLS_OK) return started;
    }
    clsi_optimize_options o = {.max_iterations = w->o->max_iterations ? w->o->max_iterations : 400,
                               .seed = w->o->seed,
                               .watch = watch_iteration,
                               .owner = w};
    cls_status status = optimizer->minimize(&problem, &o, w->theta, &found, w->error);
    w->info->iterations = found.iterations;
    return status == CLS_OK && w->info->normalised ? rescale(w) : status;
}

/* Is there a velocity whose square is a number other than zero? */
static int moves(const work *w) {
    const clsi_points *p = w->points;
    double sum = 0;
    for (size_t k = 0; k < p->n_training; k++)
        for (size_t j = 0; j < w->residual->n; j++) {
            double v = p->z[(w->residual->n + j) * p->n + p->window[k]];
            sum += v * v / (double)p->n_training;
        }
    return sum > 1e-300;
}

static cls_status solve(work *w) {
    const char *name = w->o->optimizer ? w->o->optimizer : "auto";
    if (strcmp(name, "auto") == 0) name = w->residual->affine ? "linear" : "lm";
    int linear = strcmp(name, "linear") == 0;
    const clsi_optimizer *optimizer = linear ? NULL : clsi_optimizer_find(name);
    if (!linear && !optimizer)
        return clsi_fail(w->error, CLS_USAGE,
                         "there is no optimizer '%s'; there are auto, linear, lm, spring, lbfgs, adam",
                         name);
    if (linear && !w->residual->affine)
        return clsi_fail(w->error, CLS_USAGE,
                         "the residual is not affine in these unknowns, so that `linear` cannot "
                         "solve it; take lm, or a basis such as chebyshev(8)");
    snprintf(w->info->optimizer, sizeof w->info->optimizer, "%s", name);
    w->info->normalised = w->residual->homogeneous;
    size_t n = w->points->n_training;
    if (w->info->normalised && !moves(w))
        return clsi_fail(w->error, CLS_DATA,
                         "nothing moves in the data, so that the scale of the energy cannot be "
                         "fixed; add trajectories with v other than zero");
    cls_status status = linear ? solve_linear(w) : solve_iterative(w, optimizer);
    if (status == CLS_OK) status = loss_over(w, 0, n, &w->info->loss_final);
    if (status == CLS_OK) status = loss_over(w, n, w->points->n_windows, &w->info->loss_validation);
    if (status == CLS_OK && !(isfinite(w->info->loss_final) && isfinite(w->info->condition)))
        status = clsi_fail(w->error, CLS_NUMERIC,
                           "the residual of what was learned is not finite; the data are too extreme "
                           "for their units");
    return status;
}

/* ---- form ---- */

/* Frictions and conductances are made positive by form, with a floor far below their size. */
static cls_status make_positive(work *w) {
    for (size_t i = 0; i < w->unknowns->n; i++) {
        clsi_unknown *u = &w->unknowns->list[i];
        clsi_learned *l = &u->learned;
        if ((u->kind != CLSI_PART_FRICTION && u->kind != CLSI_PART_HEAT) || u->nonlinear) continue;
        size_t n = w->points->n;
        double *value = clsi_calloc(n, sizeof *value), mean = 0;
        if (!value) return clsi_no_memory(w->error);
        l->field->kind->evaluate(l->field, w->theta + l->offset, n, u->x, value, NULL, NULL);
        for (size_t s = 0; s < n; s++) mean += fabs(value[s]) / (double)n;
        l->floor = 1e-6 * mean + 1e-300;
        free(value);
    }
    return CLS_OK;
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
    json_t *all = json_pack("{s:o, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:I, s:f, s:b}", "data", files,
                            "version", cls_version(), "optimizer", f->optimizer, "seed",
                            (json_int_t)w->o->seed, "windows", (json_int_t)f->samples,
                            "validation_windows", (json_int_t)f->validation_samples, "loss",
                            f->loss_final, "validation_loss",
                            isfinite(f->loss_validation) ? f->loss_validation : 0.0, "unseen",
                            (json_int_t)f->unseen, "condition", f->condition, "scale_fixed",
                            f->normalised);
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
    cls_status status = m->name && m->text && m->provenance && m->learned && m->set_names &&
                                m->set_values
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
    return clsi_fail(error, CLS_USAGE,
                     "no residual is made from the scheme '%s'; there are quadrature (the default), "
                     "vnots-symmetric, vnots, discrete-gradient and implicit-midpoint",
                     name);
}

static cls_status run(work *w, const cls_system *system, const cls_assignments *set,
                      size_t n_tables, const cls_table *const *tables, const char *const *names,
                      cls_model **out) {
    const cls_learn_options *o = w->o;
    clsi_rule rule;
    if (system->formalism == CLS_LAGRANGIAN)
        return clsi_fail(w->error, CLS_USAGE,
                         "this version learns parts of a thermal lagrangian (from q, v, T) or of a "
                         "hamiltonian (from q, p, S); write '%s' as one of them",
                         system->name);
    cls_status status = find_rule(system, o->scheme, &rule, w->error);
    if (status == CLS_OK)
        status = clsi_points_create(system, n_tables, tables, names, rule, o->validate,
                                    o->max_windows ? o->max_windows : 20000, &w->points, w->error);
    if (status == CLS_OK)
        status = clsi_unknowns_create(system, set, o, w->points, &w->unknowns, w->error);
    if (status == CLS_OK)
        status = clsi_residual_create(w->points, w->unknowns, &w->residual, w->error);
    if (status != CLS_OK) return status;
    w->info->parameters = w->unknowns->n_theta;
    w->info->samples = w->points->n_training;
    w->info->validation_samples = w->points->n_windows - w->points->n_training;
    w->theta = clsi_calloc(w->unknowns->n_theta, sizeof *w->theta);
    if (!w->theta) return clsi_no_memory(w->error);
    status = loss_over(w, 0, w->points->n_training, &w->info->loss_initial);
    if (status == CLS_OK) status = solve(w);
    if (status == CLS_OK) status = make_positive(w);
    return status == CLS_OK ? assemble(w, system, set, n_tables, names, out) : status;
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
    work w = {.o = &o, .info = info, .started = now(), .error = error};
    cls_status status = run(&w, system, set, n_tables, tables, names, out);
    info->seconds = now() - w.started;
    clsi_residual_free(&w.residual);
    clsi_unknowns_free(&w.unknowns);
    clsi_points_free(&w.points);
    free(w.theta);
    return status;
}
