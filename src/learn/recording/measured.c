/* From recordings to a model: which parameters, which steps, the recipe, errors, scores, the model.
 *
 * A learned parameter is an assignment of the model, like one that was set by hand: whoever reads
 * the model needs to know nothing more. */
#include "learn/recording/measured.h"
#include "base/base.h"
#include "learn/recording/fluctuation.h"
#include "learn/learner.h"
#include "learn/many/local.h"
#include "learn/runs.h"
#include "learn/shooting/multiple.h"
#include "model/model.h"
#include "model/json.h"
#include "model/safetensors.h"
#include <clausius/simulate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct measured {
    const cls_system *system;
    const cls_assignments *set;
    const cls_learn_options *o;
    size_t P;
    const char **name;                      /* (P) */
    double *theta, *from;                   /* (P) found, and those of the file */
    double *low, *high, *doubt;             /* (P) */
    double *covariance, *members, *scatter; /* (P, P), (ensemble, P), (P) */
    unsigned char *vague;                   /* (P) 1: no value to begin with was given */
    cls_system *open;
    clsi_recording *data;
    clsi_multiple *multiple;
    clsi_recipe recipe;
    clsi_loss_curve curve;
    cls_learn_report *report;
    const char *loss, *optimizer; /* for the record */
    double until;                 /* when the time limit is over; 0: never */
    int hurried;                  /* stopped by a signal: no standard errors */
    cls_error *error;
} measured;

/* ---- which parameters ---- */

static cls_status list_parameters(measured *w) {
    const cls_system *s = w->system;
    w->name = clsi_calloc(s->n_parameters, sizeof *w->name);
    w->theta = clsi_calloc(5 * s->n_parameters, sizeof *w->theta);
    w->vague = clsi_calloc(s->n_parameters, 1);
    size_t all = s->n_parameters;
    w->covariance = clsi_calloc((all + w->o->ensemble + 1) * all, sizeof *w->covariance);
    if (!w->name || !w->theta || !w->vague || !w->covariance) return clsi_no_memory(w->error);
    w->scatter = w->covariance + all * all;
    w->members = w->scatter + all;
    w->from = w->theta + s->n_parameters;
    w->low = w->from + s->n_parameters;
    w->high = w->low + s->n_parameters;
    w->doubt = w->high + s->n_parameters;
    clsi_open open;
    cls_status status = clsi_open_create(s, w->o, &open, w->error);
    if (status != CLS_OK) return status;
    w->P = open.n;
    for (size_t i = 0; i < open.n; i++) {
        w->name[i] = open.name[i];
        w->vague[i] = open.vague[i];
        w->theta[i] = w->from[i] = open.value[i];
        w->low[i] = open.low[i];
        w->high[i] = open.high[i];
    }
    clsi_open_clear(&open);
    return CLS_OK;
}

/* ---- the system with symbols, and its steps ---- */

static cls_status open_system(measured *w, cls_node *theta) {
    const cls_system *s = w->system;
    cls_model m = {.name = s->name,
                   .text = s->text,
                   .n_set = w->set ? w->set->n : 0,
                   .set_names = w->set ? (char **)w->set->names : NULL,
                   .set_values = w->set ? (double *)w->set->values : NULL,
                   .n_open = w->P,
                   .open = w->name};
    cls_status status = clsi_model_open(&m, CLSI_FORMULAS, &w->open, w->error);
    for (size_t i = 0; i < w->P && status == CLS_OK; i++) theta[i] = clsi_model_symbol(w->open, i);
    return status;
}

const char *clsi_measured_steps(const cls_system *open, const clsi_recording *data,
                                const char *asked, double *most) {
    double Tc = data->time_scale;
    const char *usual = cls_scheme_default(open), *name = asked ? asked : usual;
    *most = Tc / 100;
    if (strcmp(name, "discrete-gradient") == 0 && !asked && data->interval > Tc / 100)
        name = "discrete-gradient-4";
    if (strcmp(name, "discrete-gradient-4") == 0) *most = Tc / 16;
    return name;
}

static int is_over(void *context) {
    const measured *w = context;
    if (w->until > 0 && clsi_now() > w->until) return 1;
    if (w->o->interrupted && w->o->interrupted(w->o->context)) return 1;
    if (!w->o->progress) return 0;
    cls_learn_progress p = {.phase = "iterate",
                            .done = w->recipe.iterations,
                            .loss = NAN,
                            .validation = NAN,
                            .seconds = 0};
    return w->o->progress(w->o->context, &p);
}

static cls_status prepare(measured *w) {
    cls_node *theta = clsi_calloc(w->P + 1, sizeof *theta);
    const char **channel = clsi_calloc(w->data->ny + 1, sizeof *channel);
    clsi_observer *observer = NULL;
    cls_status status = theta && channel ? open_system(w, theta) : clsi_no_memory(w->error);
    if (status == CLS_OK) {
        double most;
        const char *scheme = clsi_measured_steps(w->open, w->data, w->o->scheme, &most);
        for (size_t c = 0; c < w->data->ny; c++) channel[c] = w->data->channel[c].name;
        status = clsi_observer_create(w->open, scheme, w->P, theta, w->data->ny, channel, &observer,
                                      w->error);
        if (status == CLS_OK) observer->most_step = most;
    }
    if (status == CLS_OK)
        status = clsi_multiple_create(w->data, w->system, observer, w->low, w->high, &w->multiple,
                                      w->error);
    if (status == CLS_OK) {
        w->multiple->stop = is_over;
        w->multiple->stop_owner = w;
    }
    free(theta);
    free(channel);
    return status;
}

/* ---- the report ---- */

static char *explain_choice(const measured *w) {
    clsi_text t = {0};
    const clsi_recording *d = w->data;
    clsi_text_printf(&t,
                     "multiple shooting, because parameters are unknown; %zu rows every %.3g, time "
                     "scale %.3g, noise",
                     d->n, d->interval, d->time_scale);
    for (size_t c = 0; c < d->ny; c++)
        clsi_text_printf(&t, "%s %s %.2g", c ? "," : "", d->channel[c].name, d->channel[c].noise);
    return clsi_text_take(&t);
}

static cls_status begin_report(measured *w) {
    return clsi_report_create(w->data, w->o, w->P, explain_choice(w), &w->report, w->error);
}

static cls_status report_parameters(measured *w, int nullity) {
    cls_learn_report *r = w->report;
    for (size_t i = 0; i < w->P; i++, r->n_parameters++) {
        double v = w->theta[i];
        r->parameters[i] = (cls_learned_parameter){.name = clsi_strdup(w->name[i]),
                                                   .value = v,
                                                   .error = w->doubt[i],
                                                   .low = w->low[i],
                                                   .high = w->high[i],
                                                   .scatter = w->o->ensemble ? w->scatter[i] : NAN,
                                                   .at_bound = v <= w->low[i] || v >= w->high[i]};
        if (!r->parameters[i].name) return clsi_no_memory(w->error);
    }
    int hidden = 0;
    for (size_t e = 0; w->multiple && e < w->multiple->nz; e++) hidden |= w->multiple->hidden[e];
    cls_status status =
        w->multiple && (nullity > 0 || hidden) && !w->hurried
            ? clsi_advise(w->multiple, w->theta, w->name, nullity, &w->recipe.notes, w->error)
            : CLS_OK;
    if (status != CLS_OK) return status;
    if (w->data->repeated)
        clsi_text_printf(&w->recipe.notes,
                         "%zu rows with a time that stood there already were "
                         "averaged\n",
                         w->data->repeated);
    r->window = w->recipe.window;
    r->notes = w->recipe.notes.length ? clsi_text_take(&w->recipe.notes) : clsi_strdup("");
    return r->notes ? CLS_OK : clsi_no_memory(w->error);
}

/* ---- the model ---- */

static json_t *number(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *clsi_json_matrix(size_t n, size_t m, const double *A) {
    json_t *rows = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < m; j++) clsi_json_add(&row, number(A[i * m + j]));
        clsi_json_add(&rows, row);
    }
    return rows;
}

static char *provenance(const measured *w, size_t n_tables, const char *const *names) {
    json_t *all =
        json_pack("{s:o, s:s, s:s, s:s}", "data", clsi_data_files(n_tables, names, NULL, NULL),
                  "version", cls_version(), "optimizer", w->optimizer, "loss", w->loss);
    clsi_json_put(&all, "seed", json_integer((json_int_t)w->o->seed));
    clsi_json_put(&all, "options", clsi_options_asked(w->o, w->optimizer));
    clsi_report_record(w->report, &all);
    clsi_loss_curve_record(&w->curve, &all);
    clsi_json_put(&all, "split", clsi_recording_split(w->data));
    if (!w->hurried) clsi_json_put(&all, "covariance", clsi_json_matrix(w->P, w->P, w->covariance));
    if (w->o->ensemble && !w->hurried)
        clsi_json_put(&all, "ensemble", clsi_json_matrix(w->o->ensemble, w->P, w->members));
    char *text = clsi_json_text(all, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(all);
    return text;
}

static cls_status add_assignment(cls_model *m, const char *name, double value) {
    for (size_t i = 0; i < m->n_set; i++)
        if (strcmp(m->set_names[i], name) == 0) {
            m->set_values[i] = value;
            return CLS_OK;
        }
    if (!(m->set_names[m->n_set] = clsi_strdup(name))) return CLS_MEMORY;
    m->set_values[m->n_set++] = value;
    return CLS_OK;
}

static cls_status make_model(measured *w, size_t n_tables, const char *const *names,
                             cls_model **out) {
    cls_model *m = clsi_calloc(1, sizeof *m);
    if (!m) return clsi_no_memory(w->error);
    size_t n_set = (w->set ? w->set->n : 0) + w->P;
    m->name = clsi_strdup(w->system->name);
    m->text = clsi_strdup(w->system->text);
    m->provenance = provenance(w, n_tables, names);
    m->learned = clsi_calloc(1, sizeof *m->learned);
    m->theta = clsi_calloc(1, sizeof *m->theta);
    m->set_names = clsi_calloc(n_set, sizeof *m->set_names);
    m->set_values = clsi_calloc(n_set, sizeof *m->set_values);
    cls_status status = m->name && m->text && m->provenance && m->learned && m->theta &&
                                m->set_names && m->set_values
                            ? CLS_OK
                            : CLS_MEMORY;
    for (size_t i = 0; w->set && i < w->set->n && status == CLS_OK; i++)
        status = add_assignment(m, w->set->names[i], w->set->values[i]);
    for (size_t i = 0; i < w->P && status == CLS_OK; i++)
        status = add_assignment(m, w->name[i], w->theta[i]);
    if (status == CLS_MEMORY) (void)clsi_no_memory(w->error);
    if (status == CLS_OK) status = clsi_model_build(m, w->error);
    if (status == CLS_OK)
        *out = m;
    else
        cls_model_free(&m);
    return status;
}

/* ---- everything in order ---- */

static void fill_info(const measured *w, int nullity, cls_learn_info *info) {
    info->parameters = w->P;
    info->samples = w->multiple->n_pieces;
    info->loss_final = sqrt(2 * w->recipe.loss / (double)(w->data->n_training * w->data->ny));
    info->loss_initial = info->loss_validation = NAN;
    info->iterations = w->recipe.iterations;
    info->rank = w->P - (size_t)nullity;
    info->nullity = (size_t)nullity;
    info->condition = NAN;
    strcpy(info->optimizer, "lm");
    snprintf(info->ended, sizeof info->ended, "%s",
             w->recipe.ended ? w->recipe.ended : "converged");
}

/* ---- motions with thermal noise ---- */

/* A sentence for the report, and what the reader should know of the fit. */
static char *explain_noise(measured *w, const clsi_fluctuation *fit) {
    clsi_text t = {0};
    clsi_text_printf(&t,
                     "likelihood of %zu changes of momenta, because frictions come with thermal "
                     "noise; rows every %.3g",
                     fit->rows, w->data->interval);
    if (fit->fastest > 0.3)
        clsi_text_printf(&w->recipe.notes,
                         "rows are %.2g of the time in which friction stops a motion apart: the "
                         "estimate is good to %.1g of itself; measure more often\n",
                         fit->fastest, fit->fastest * fit->fastest / 12);
    if (!fit->converged)
        clsi_text_append(&w->recipe.notes, "the search for the values did not come to its end\n");
    return clsi_text_take(&t);
}

static cls_status run_noisy(measured *w, size_t n_tables, const cls_table *const *tables,
                            const char *const *names, cls_model **out, cls_learn_info *info) {
    clsi_points *points = NULL;
    clsi_fluctuation fit = {0};
    cls_node *theta = clsi_calloc(w->P + 1, sizeof *theta);
    cls_status status = theta ? open_system(w, theta) : clsi_no_memory(w->error);
    int nullity = 0;
    w->loss = "likelihood";
    w->optimizer = "bhhh";
    if (status == CLS_OK)
        status =
            clsi_points_create(w->system, n_tables, tables, names, &clsi_rule_midpoint, 0,
                               w->o->max_windows ? w->o->max_windows : 1000000, &points, w->error);
    if (status == CLS_OK)
        status = clsi_fluctuation_fit(w->open, points, w->P, theta, w->low, w->high, w->theta,
                                      w->doubt, w->covariance, &fit, w->error);
    for (size_t i = 0; i < w->P; i++) nullity += !isfinite(w->doubt[i]);
    if (status == CLS_OK)
        status =
            clsi_report_create(w->data, w->o, w->P, explain_noise(w, &fit), &w->report, w->error);
    if (status == CLS_OK) status = report_parameters(w, nullity);
    if (status == CLS_OK) status = make_model(w, n_tables, names, out);
    if (status == CLS_OK) {
        *info = (cls_learn_info){.parameters = w->P,
                                 .samples = fit.rows,
                                 .windows = fit.rows,
                                 .loss_initial = NAN,
                                 .loss_final = fit.cost,
                                 .loss_validation = NAN,
                                 .iterations = fit.iterations,
                                 .rank = w->P - (size_t)nullity,
                                 .nullity = (size_t)nullity,
                                 .condition = NAN,
                                 .rollout = NAN};
        snprintf(info->optimizer, sizeof info->optimizer, "%s", w->optimizer);
        snprintf(info->ended, sizeof info->ended, "%s", fit.converged ? "converged" : "iterations");
    }
    clsi_points_free(&points);
    free(theta);
    return status;
}

/* ---- many states, all measured ---- */

static int is_local(const measured *w, size_t n_tables, const cls_table *const *tables) {
    const cls_system *s = w->system;
    const cls_learn_options *o = w->o;
    if (s->form->nz < CLSI_LARGE || s->formalism == CLS_LAGRANGIAN || o->average) return 0;
    if (o->loss || o->scheme || o->ensemble || o->test > 0 || o->n_test) return 0;
    return !clsi_lacks_states(s, n_tables, tables);
}

static char *explain_local(const clsi_points *p, const clsi_local *fit) {
    clsi_text t = {0};
    clsi_text_printf(
        &t,
        "the equations of motion between %zu rows, %zu in all, because all of %zu states "
        "are measured, which are too many to simulate windows of; noise at most %.1g of "
        "the spread",
        p->n_data, fit->rows, p->nz, p->row_noise);
    clsi_tell_smoothed(p, &t);
    return clsi_text_take(&t);
}

/* *done 0: rows are missing, or the equations have no value there; windows are simulated. */
static cls_status run_local(measured *w, size_t n_tables, const cls_table *const *tables,
                            const char *const *names, cls_model **out, cls_learn_info *info,
                            int *done) {
    clsi_points *points = NULL;
    clsi_local fit = {0};
    clsi_rule rule = clsi_rule_gauss;
    rule.sloped = 1;
    rule.hold = w->o->hold;
    cls_node *theta = clsi_calloc(w->P + 1, sizeof *theta);
    cls_status status = theta ? open_system(w, theta) : clsi_no_memory(w->error);
    if (status == CLS_OK)
        status = clsi_points_create_wide(w->system, n_tables, tables, names, &rule, 0,
                                         w->o->max_windows, 1, 0, &points, w->error);
    if (status == CLS_OK)
        status = clsi_local_fit(w->open, points, w->P, theta, w->low, w->high, w->theta, w->doubt,
                                w->covariance, &fit, w->error);
    *done = status != CLS_DATA && status != CLS_NUMERIC;
    w->loss = "residual";
    if (status == CLS_OK) w->data = clsi_calloc(1, sizeof *w->data); /* no channel is scored */
    if (status == CLS_OK && !w->data) status = clsi_no_memory(w->error);
    if (status == CLS_OK)
        status = clsi_report_create(w->data, w->o, w->P, explain_local(points, &fit), &w->report,
                                    w->error);
    if (status == CLS_OK) status = report_parameters(w, fit.nullity);
    if (status == CLS_OK) status = make_model(w, n_tables, names, out);
    if (status == CLS_OK) {
        *info = (cls_learn_info){.parameters = w->P,
                                 .samples = points->n_training,
                                 .windows = points->n_there,
                                 .loss_initial = NAN,
                                 .loss_final = fit.loss,
                                 .loss_validation = NAN,
                                 .iterations = fit.iterations,
                                 .rank = w->P - (size_t)fit.nullity,
                                 .nullity = (size_t)fit.nullity,
                                 .condition = NAN,
                                 .rollout = NAN};
        snprintf(info->optimizer, sizeof info->optimizer, "%s", w->optimizer);
        snprintf(info->ended, sizeof info->ended, "%s", fit.ended);
    }
    if (!*done) { /* once more, as if nothing had been */
        memcpy(w->theta, w->from, w->P * sizeof *w->theta);
        cls_system_free(&w->open);
        if (w->error) w->error->message[0] = '\0';
        status = CLS_OK;
    }
    clsi_points_free(&points);
    free(theta);
    return status;
}

/* The model as it will be written, along every motion. */
static cls_status run_to_ends(measured *w, const cls_system *s, cls_learn_info *info) {
    clsi_runs r = {.s = s,
                   .hold = w->o->hold,
                   .hurry = w->o->interrupted,
                   .context = w->o->context,
                   .info = info};
    cls_status status = clsi_runs_of_recording(w->multiple, w->theta, &r);
    cls_simulator_free(&r.sim);
    if (info->runs_stopped && w->report) w->report->better = 0;
    return status == CLS_MEMORY ? clsi_no_memory(w->error) : CLS_OK;
}

/* A stopped program does not stay for the standard errors: they cost as much as an iteration, an
 * ensemble many. */
static void hurry(measured *w) {
    w->hurried = w->o->interrupted && w->o->interrupted(w->o->context);
    if (!w->hurried) return;
    for (size_t i = 0; i < w->P; i++) w->doubt[i] = w->scatter[i] = NAN;
    clsi_text_append(&w->recipe.notes, "stopped before the standard errors: there are none\n");
}

static cls_status run(measured *w, size_t n_tables, const cls_table *const *tables,
                      const char *const *names, cls_model **out, cls_learn_info *info) {
    int nullity = 0;
    double test = w->o->test;
    size_t rows = 0;
    for (size_t i = 0; i < n_tables; i++) rows += cls_table_rows(tables[i]);
    int noisy = cls_system_is_noisy(w->system);
    if (test < 0) test = rows >= 200 && !noisy ? 0.2 : 0;
    w->loss = "multiple-shooting";
    w->optimizer = "lm";
    cls_status status = list_parameters(w);
    if (status == CLS_OK && !noisy && is_local(w, n_tables, tables)) {
        int done;
        status = run_local(w, n_tables, tables, names, out, info, &done);
        if (done || status != CLS_OK) return status;
        w->loss = "multiple-shooting";
    }
    if (status == CLS_OK)
        status = clsi_recording_create(w->system, n_tables, tables, names, test, w->o->average,
                                       w->o->hold, w->o->n_test, &w->data, w->error);
    if (status == CLS_OK && noisy) return run_noisy(w, n_tables, tables, names, out, info);
    if (status == CLS_OK) status = prepare(w);
    if (status == CLS_OK) status = begin_report(w);
    w->recipe.m = w->multiple;
    w->recipe.theta = w->theta;
    w->recipe.open = w->vague;
    clsi_loss_curve_clear(&w->curve);
    w->recipe.curve = &w->curve;
    if (status == CLS_OK) status = clsi_recipe_run(&w->recipe, w->error);
    if (status == CLS_OK) hurry(w);
    if (status == CLS_OK && !w->hurried)
        status = clsi_doubt(w->multiple, w->theta, w->doubt, w->covariance, &nullity, w->error);
    if (status == CLS_OK && w->o->ensemble && !w->hurried)
        status = clsi_bootstrap(w->multiple, w->theta, w->o->ensemble, w->o->seed, w->members,
                                w->scatter, w->error);
    if (status == CLS_OK)
        status = clsi_score(w->multiple, w->theta, w->from, w->report, &w->recipe.notes, w->error);
    if (status == CLS_OK) status = report_parameters(w, nullity);
    if (status == CLS_OK) status = make_model(w, n_tables, names, out);
    if (status == CLS_OK) fill_info(w, nullity, info);
    if (status == CLS_OK) status = run_to_ends(w, (*out)->system, info);
    if (status != CLS_OK) cls_model_free(out);
    return status;
}

cls_status clsi_learn_measured(const cls_system *system, const cls_assignments *set,
                               size_t n_tables, const cls_table *const *tables,
                               const char *const *names, const cls_learn_options *o,
                               cls_model **out, cls_learn_info *info, cls_error *error) {
    measured w = {.system = system, .set = set, .o = o, .error = error};
    if (o->time_limit > 0) w.until = clsi_now() + o->time_limit;
    cls_status status = run(&w, n_tables, tables, names, out, info);
    if (status == CLS_OK)
        info->report = w.report;
    else
        cls_learn_report_free(&w.report);
    free(w.name);
    free(w.vague);
    free(w.theta);
    free(w.covariance);
    free(w.recipe.inflation);
    clsi_text_clear(&w.recipe.notes);
    clsi_multiple_free(&w.multiple);
    clsi_recording_free(&w.data);
    cls_system_free(&w.open);
    return status;
}
