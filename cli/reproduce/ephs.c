/* The experiments of the EPHS thesis: what its items share.
 *
 * Truth and rollouts are made by the thesis' own map, implicit-midpoint at h = 0.1, so that an
 * error is an error of what was learned. Errors are squared distances of the whole state. The
 * paper's column holds what its published weights give when they are run again
 * (docs/physics/ports.md): the thesis itself shows curves. */
#include "cli/reproduce/ephs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double step = 0.1;
enum { n_reference = 1000, n_watched = 100000, n_watched_quick = 10000 };

/* The truth's name of a state: ordinary differential equations say p where it says p.q. */
static const char *true_name(const char *state) {
    return strcmp(state, "p") ? state : "p.q";
}

/* ---- truth ---- */

static cls_status with_p(const cls_table *from, cls_table **out, cls_error *error) {
    size_t n = cls_table_columns(from);
    const char **names = calloc(n + 1, sizeof *names);
    double *row = calloc(n + 1, sizeof *row);
    cls_status status = names && row ? CLS_OK : cli_no_memory(error);
    for (size_t c = 0; !status && c < n; c++) names[c] = cls_table_name(from, c);
    if (!status) {
        names[n] = "p";
        status = cls_table_create(n + 1, names, out, error);
    }
    for (size_t k = 0; !status && k < cls_table_rows(from); k++) {
        for (size_t c = 0; c < n; c++) row[c] = cls_table_column(from, c)[k];
        row[n] = cli_series(from, "p.q")[k];
        status = cls_table_append(*out, row, error);
    }
    free(names);
    free(row);
    return status;
}

cls_status ephs_open(const char *text, double m, const char *start, uint64_t steps, ephs_truth *out,
                     cls_error *error) {
    cls_table *data = NULL;
    const char *mass = "m";
    cls_assignments set = {1, &mass, &m};
    *out = (ephs_truth){0};
    cls_status status = cls_system_parse(text, "truth", &set, &out->motion.loaded, error);
    out->motion.system = out->motion.loaded;
    if (!status) status = cli_motion_begin(&out->motion, start, NULL, error);
    if (!status)
        status = cli_short_run(&out->motion, "implicit-midpoint", CLS_FIRST_MOMENTUM, step,
                               n_reference, &out->reference, error);
    if (!status)
        status = cli_short_run(&out->motion, "implicit-midpoint", CLS_FIRST_MOMENTUM, step, steps,
                               &data, error);
    if (!status) status = with_p(data, &out->data, error);
    cls_table_free(&data);
    if (status) ephs_close(out);
    return status;
}

void ephs_close(ephs_truth *t) {
    cls_table_free(&t->data);
    cls_table_free(&t->reference);
    cli_motion_free(&t->motion);
}

/* ---- learning ---- */

static int stop(void *context) {
    (void)context;
    return cli_interrupted();
}

static int stop_at(void *context, const cls_learn_progress *p) {
    (void)p;
    return stop(context);
}

cls_status ephs_learn(const ephs_truth *t, const ephs_way *way, ephs_model *out, cls_error *error) {
    cls_system *s = NULL;
    cls_learn_options o = cls_learn_defaults();
    const char *name = "the trajectory of the truth";
    o.scheme = way->rule ? way->rule : "implicit-midpoint";
    o.loss = way->loss;
    o.max_iterations = way->iterations;
    o.validate = 0;
    o.interrupted = stop;
    o.progress = stop_at;
    cls_status status = cls_system_parse(way->text, way->row, NULL, &s, error);
    if (!status)
        status = cls_learn(s, NULL, 1, (const cls_table *const *)&t->data, &name, &o, &out->model,
                           &out->info, error);
    if (!status && way->polish && !cli_interrupted()) {
        cls_model *first = out->model;
        o.from = first;
        o.optimizer = "lm";
        o.max_iterations = way->polish;
        status = cls_learn(s, NULL, 1, (const cls_table *const *)&t->data, &name, &o, &out->model,
                           &out->info, error);
        cls_model_free(&first);
    }
    if (!status && cli_interrupted())
        status = cli_fail(error, CLS_INTERRUPTED, "interrupted while learning");
    if (status && status != CLS_INTERRUPTED) (void)cli_prefix(error, "%s", way->row);
    cls_system_free(&s);
    return status;
}

/* ---- following ---- */

/* The truth's start in the states of `s`. */
static cls_status start_of(const ephs_truth *t, const cls_system *s, double *state) {
    for (size_t i = 0; i < cls_system_state_count(s); i++)
        state[i] = cli_series(t->reference, true_name(cls_system_state_name(s, i)))[0];
    return CLS_OK;
}

static cls_status begin(const ephs_truth *t, const cls_system *s, const char *scheme,
                        cls_simulator **out, cls_error *error) {
    cls_simulate_options o = cls_simulate_defaults();
    double *state = calloc(cls_system_state_count(s) + 1, sizeof *state);
    o.scheme = scheme;
    o.h = step;
    cls_status status = state ? start_of(t, s, state) : cli_no_memory(error);
    if (!status) status = cls_simulator_create(s, &o, out, error);
    if (!status) status = cls_simulator_start(*out, 0, state, error);
    free(state);
    return status;
}

static double squared_error(const ephs_truth *t, const cls_system *s, const double *row, size_t k) {
    double sum = 0;
    for (size_t i = 0; i < cls_system_state_count(s); i++) {
        double d = row[1 + i] - cli_series(t->reference, true_name(cls_system_state_name(s, i)))[k];
        sum += d * d;
    }
    return sum;
}

cls_status ephs_follow(const ephs_truth *t, const cls_system *s, cls_table **out,
                       cls_error *error) {
    static const char *const outputs[] = {"H", "force", "flow", "power", "damping", "conductivity"};
    const char *names[16] = {"time", "q", "p", "squared error"};
    int from[16] = {0, cli_column(s, "q"), cli_column(s, "p"), -1};
    size_t n = 4;
    cls_simulator *sim = NULL;
    double *row = calloc(cls_system_column_count(s) + 1, sizeof *row), line[16];
    if (from[2] < 0) from[2] = cli_column(s, "p.q");
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        if ((from[n] = cli_column(s, outputs[i])) >= 0) names[n++] = outputs[i];
    *out = NULL;
    cls_status status = row ? begin(t, s, "implicit-midpoint", &sim, error) : cli_no_memory(error);
    if (!status) status = cls_table_create(n, names, out, error);
    for (size_t k = 0; !status && k <= n_reference; k++) {
        if (k) status = cls_simulator_advance(sim, 1, error);
        if (!status) status = cls_simulator_row(sim, row, error);
        for (size_t c = 0; !status && c < n; c++) line[c] = c == 3 ? 0 : row[from[c]];
        line[3] = squared_error(t, s, row, k);
        if (!status) status = cls_table_append(*out, line, error);
    }
    cls_simulator_free(&sim);
    free(row);
    if (status) cls_table_free(out);
    return status;
}

double ephs_most(const cls_table *t, const char *column, double until) {
    const double *time = cli_series(t, "time"), *x = cli_series(t, column);
    double most = 0;
    for (size_t k = 0; k < cls_table_rows(t) && time[k] < until; k++) most = cli_worse(most, x[k]);
    return most;
}

/* ---- laws ---- */

/* Energy and entropy over many steps. */
typedef struct laws {
    double energy, falls; /* largest |E - E0|; steps in which S falls by more than round-off */
} laws;

static cls_status monitor(const ephs_truth *t, const cls_system *s, const char *scheme,
                          uint64_t steps, laws *out, cls_error *error) {
    int E = cli_column(s, "E"), S = cli_column(s, "S");
    double *row = calloc(cls_system_column_count(s) + 1, sizeof *row), first = 0, before = 0;
    cls_simulator *sim = NULL;
    *out = (laws){0};
    if (E < 0) E = cli_column(s, "energy");
    if (S < 0) S = cli_column(s, "entropy");
    cls_status status = row ? begin(t, s, scheme, &sim, error) : cli_no_memory(error);
    for (uint64_t k = 0; !status && k <= steps; k++) {
        if (k) status = cls_simulator_advance(sim, 1, error);
        if (!status) status = cls_simulator_row(sim, row, error);
        if (status) break;
        if (!k) first = row[E];
        out->energy = cli_worse(out->energy, row[E] - first);
        if (k && S >= 0) out->falls += row[S] - before < -1e-14 * fabs(before);
        before = S < 0 ? 0 : row[S];
    }
    cls_simulator_free(&sim);
    free(row);
    if (status && status != CLS_INTERRUPTED && status != CLS_MEMORY) { /* it ran away */
        *out = (laws){NAN, NAN};
        status = CLS_OK;
    }
    return status;
}

/* ---- studies ---- */

cls_status ephs_begin(ephs_study *s, cli_findings *f, const char *text, const char *start,
                      uint64_t steps, cls_error *error) {
    *s = (ephs_study){.f = f, .n = 1, .label = {"truth"}};
    cls_status status = ephs_open(text, 2, start, steps, &s->truth, error);
    if (!status) status = ephs_follow(&s->truth, s->truth.motion.system, &s->table[0], error);
    return status;
}

cls_status ephs_add(ephs_study *s, const ephs_way *way, cls_error *error) {
    cli_findings *f = s->f;
    size_t i = s->n++;
    laws found;
    uint64_t steps = f->quick ? n_watched_quick : n_watched;
    s->label[i] = way->row;
    cls_status status = ephs_learn(&s->truth, way, &s->model[i], error);
    const cls_system *model = status ? NULL : cls_model_system(s->model[i].model);
    if (!status) status = ephs_follow(&s->truth, model, &s->table[i], error);
    if (!status) {
        cli_add_number(f, way->row, "squared error, t < 20", way->paper, way->want,
                       ephs_most(s->table[i], "squared error", 19.95), way->note);
        cli_add_number(f, way->row, "squared error, t < 100", way->paper_100, way->want_100,
                       ephs_most(s->table[i], "squared error", 100.05), NULL);
    }
    if (!status) status = monitor(&s->truth, model, way->scheme, steps, &found, error);
    if (!status)
        cli_add_number(f, way->row, f->quick ? "|dE|, 10,000 steps" : "|dE|, 100,000 steps", NULL,
                       way->energy, found.energy, NULL);
    if (!status && cls_system_entropy_count(s->truth.motion.system))
        cli_add_number(f, way->row, "entropy falls", NULL, way->falls, found.falls, NULL);
    return status;
}

cls_status ephs_draw(const ephs_study *s, const char *name, const char *const *columns,
                     cls_error *error) {
    const cli_figure figure = {name, "truth and models, implicit-midpoint, h = 0.1",
                               "phase portrait, squared error, energy and port variables of the "
                               "section of this number",
                               columns};
    return cli_draw_figure(s->f, &figure, s->n, (const cls_table *const *)s->table, s->label,
                           error);
}

void ephs_end(ephs_study *s) {
    for (size_t i = 0; i < EPHS_MOST; i++) {
        cls_table_free(&s->table[i]);
        cls_model_free(&s->model[i].model);
    }
    ephs_close(&s->truth);
}
