/* What the page reports of a subject: its default motion, the laws along it, and its free runs
 * against the trajectories of the data.
 *
 * A free run begins at the first row of a trajectory and sees nothing of the rest but the inputs (states that
 * the data do not have are fitted to their first rows); it
 * is made at the data's own times, in whole equal steps between them. Persistence, the trivial
 * model, keeps the first row. */
#include "base/alike.h"
#include "data/table.h"
#include "model/json.h"
#include "model/model.h"
#include "model/safetensors.h"
#include "page/page.h"
#include "system/system.h"
#include <clausius/learn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 20000, MOST_ROWS = 2000, MOST_FOLLOWED = 40 };

/* ---- the default motion ---- */

static cls_status column_names(const cls_system *s, const char ***out, size_t *n,
                               cls_error *error) {
    *n = cls_system_column_count(s);
    *out = clsi_calloc(*n, sizeof **out);
    if (!*out) return clsi_no_memory(error);
    for (size_t i = 0; i < *n; i++) (*out)[i] = cls_system_column(s, i);
    return CLS_OK;
}

static cls_status new_table(const cls_system *s, cls_table **out, double **row, cls_error *error) {
    const char **names = NULL;
    size_t n = 0;
    *out = NULL, *row = NULL;
    cls_status status = column_names(s, &names, &n, error);
    if (!status) status = cls_table_create(n, names, out, error);
    if (!status && !(*row = clsi_calloc(n, sizeof **row))) status = clsi_no_memory(error);
    free(names);
    return status;
}

static cls_status walk(clsi_subject *s, cls_simulator *sim, double *row, cls_error *error) {
    double h = cls_simulator_info(sim).h, until = cls_system_default_until(s->system);
    uint64_t steps = (uint64_t)fmin(fmax(1, round(until / h)), MOST_STEPS);
    uint64_t every = (steps + MOST_ROWS - 1) / MOST_ROWS;
    for (uint64_t done = 0;; done += every) {
        cls_status status = cls_simulator_row(sim, row, error);
        if (!status) status = cls_table_append(s->own, row, error);
        if (status || done >= steps) return status;
        if (cls_simulator_advance(sim, done + every <= steps ? every : steps - done, &s->stopped))
            return CLS_OK;
    }
}

static cls_status simulate(clsi_subject *s, cls_error *error) {
    cls_simulator *sim = NULL;
    cls_starter *starter = NULL;
    double *row = NULL, *state = clsi_calloc(cls_system_state_count(s->system), sizeof *state);
    cls_simulate_options o = cls_simulate_defaults();
    if (!state) return clsi_no_memory(error);
    cls_status status = cls_simulator_create(s->system, &o, &sim, &s->stopped);
    if (!status && s->given->start)
        memcpy(state, s->given->start, cls_system_state_count(s->system) * sizeof *state);
    else if (!status && !(status = cls_starter_create(s->given->model ? NULL : s->system,
                                                      s->given->model, &starter, &s->stopped)))
        status = cls_starter_state(starter, NULL, state, &s->stopped);
    if (!status) status = cls_simulator_start(sim, 0, state, &s->stopped);
    if (status) {
        status = status == CLS_MEMORY ? clsi_no_memory(error) : CLS_OK; /* the page says why */
    } else {
        status = new_table(s->system, &s->own, &row, error);
        if (!status) status = walk(s, sim, row, error);
        s->laws = cls_simulator_info(sim);
        s->laws.invariants = NULL; /* the simulator's */
        s->simulated = 1;
        s->motion = s->own;
    }
    cls_simulator_free(&sim);
    cls_starter_free(&starter);
    free(row), free(state);
    return status;
}

/* ---- free runs ---- */

static double cell(const cls_table *t, const char *name, size_t row) {
    int k = cls_table_find(t, name);
    return k < 0 ? NAN : cls_table_column(t, (size_t)k)[row];
}

static cls_status give_inputs(const cls_system *system, const clsi_trial *trial, cls_simulator *sim,
                              cls_error *error) {
    size_t n = cls_system_input_count(system);
    if (!n) return CLS_OK;
    double *values = clsi_calloc(n * trial->rows, sizeof *values);
    if (!values) return clsi_no_memory(error);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < trial->rows; k++)
            values[i * trial->rows + k] =
                cell(trial->data, cls_system_input_name(system, i), trial->first + k);
    const double *time =
        cls_table_column(trial->data, (size_t)cls_table_find(trial->data, "time")) + trial->first;
    /* as learning took them */
    cls_status status = cls_simulator_inputs_held(sim, trial->rows, time, values, "auto", error);
    free(values);
    return status;
}

enum { ROWS_FOR_START = 20000 };

/* The first rows of a trial as a table of their own: starts are read from files of one trajectory. */
static cls_status first_rows(const clsi_trial *trial, cls_table **out, cls_error *error) {
    size_t n = cls_table_columns(trial->data), kept = 0;
    const char **names = clsi_calloc(n, sizeof *names);
    const double **columns = clsi_calloc(n, sizeof *columns);
    double *row = clsi_calloc(n, sizeof *row);
    cls_status status = names && columns && row ? CLS_OK : clsi_no_memory(error);
    *out = NULL;
    for (size_t k = 0; k < n && !status; k++) {
        if (!strcmp(cls_table_name(trial->data, k), "trajectory")) continue;
        names[kept] = cls_table_name(trial->data, k);
        columns[kept++] = cls_table_column(trial->data, k) + trial->first;
    }
    if (!status) status = cls_table_create(kept, names, out, error);
    for (size_t r = 0; r < ROWS_FOR_START && r < trial->rows && !status; r++) {
        for (size_t k = 0; k < kept; k++) row[k] = columns[k][r];
        status = cls_table_append(*out, row, error);
    }
    free(names), free(columns), free(row);
    return status;
}

static cls_status start_state(const cls_system *system, const cls_starter *starter,
                              const clsi_trial *trial, double *time, double *state,
                              cls_error *error) {
    cls_table *rows = NULL;
    cls_status status = first_rows(trial, &rows, error);
    if (!status)
        status =
            cls_start_from_data(system, starter, rows, 0, trial->file, time, state, NULL, error);
    cls_table_free(&rows);
    return status;
}

cls_status clsi_trial_follow(const cls_system *system, const cls_starter *starter,
                             clsi_trial *trial, cls_error *error) {
    cls_simulator *sim = NULL;
    cls_simulate_options o = cls_simulate_defaults();
    double *row = NULL, *state = clsi_calloc(cls_system_state_count(system), sizeof *state), start;
    if (!state) return clsi_no_memory(error);
    cls_status status = cls_simulator_create(system, &o, &sim, &trial->why);
    if (!status) status = give_inputs(system, trial, sim, &trial->why);
    if (!status) status = start_state(system, starter, trial, &start, state, &trial->why);
    if (!status) status = cls_simulator_start(sim, start, state, &trial->why);
    if (!status) status = new_table(system, &trial->run, &row, &trial->why);
    for (size_t k = 0; k < trial->rows && !status; k++) {
        if (k)
            status =
                cls_simulator_go(sim, cell(trial->data, "time", trial->first + k), &trial->why);
        if (!status) status = cls_simulator_row(sim, row, &trial->why);
        if (!status) status = cls_table_append(trial->run, row, &trial->why);
    }
    cls_simulator_free(&sim);
    free(row), free(state);
    return status == CLS_MEMORY ? clsi_no_memory(error) : CLS_OK;
}

/* The trajectories of a table: rows with one number in the column `trajectory`. */
static cls_status add_trials(clsi_subject *s, const cls_table *t, const char *name,
                             cls_error *error) {
    size_t rows = cls_table_rows(t);
    int column = cls_table_find(t, "trajectory");
    const double *which = column < 0 ? NULL : cls_table_column(t, (size_t)column);
    for (size_t first = 0, end; first < rows; first = end) {
        for (end = first + 1; end < rows && (!which || which[end] == which[first]); end++) {
        }
        if (end - first < 2) continue;
        clsi_trial *more = clsi_realloc(s->trials, (s->n_trials + 1) * sizeof *more);
        if (!more) return clsi_no_memory(error);
        s->trials = more;
        s->trials[s->n_trials] = (clsi_trial){.file = name,
                                              .first = first,
                                              .rows = end - first,
                                              .data = t,
                                              .number = s->n_trials,
                                              .learned = -1,
                                              .held_from = NAN};
        s->n_trials++;
    }
    return CLS_OK;
}

static int has_channel(const clsi_subject *s, const char *head, const char *rest) {
    size_t n = strlen(head);
    for (size_t i = 0; i < s->n_channels; i++)
        if (!strncmp(s->channels[i].name, head, n) && !strcmp(s->channels[i].name + n, rest))
            return 1;
    return 0;
}

int clsi_is_derived(const clsi_subject *s, const char *name) {
    if (!strncmp(name, "p.", 2)) return has_channel(s, "v.", name + 2);
    if (*name == 'S') return has_channel(s, "T", name + 1);
    return !strncmp(name, "energy.", 7) || !strncmp(name, "entropy.", 8) || !strcmp(name, "work") ||
           !strcmp(name, "heat");
}

/* Momenta and entropies of a learned energy have an origin (and momenta more) that nothing measures:
 * they are the model's own, and no column of another shows whether they are right. */
static void mark_own(clsi_subject *s) {
    const cls_model *m = s->given->model;
    int learned = 0; /* the energy as a whole */
    for (size_t i = 0; m && s->system->formula_name && i < m->n_learned; i++)
        learned |= !strcmp(s->system->formula_name, m->learned[i].part);
    for (size_t c = 0; c < s->n_channels; c++) {
        const char *name = s->channels[c].name;
        int is_state = 0;
        for (size_t k = 0; k < cls_system_state_count(s->system); k++)
            is_state |= !strcmp(cls_system_state_name(s->system, k), name);
        s->channels[c].own = learned && !is_state && clsi_is_derived(s, name);
    }
}

static void score(const clsi_subject *s, clsi_channel *c) {
    double sum = 0, square = 0, off = 0, still = 0;
    size_t n = 0, rows = 0;
    for (size_t i = 0; i < s->n_trials; i++) {
        const clsi_trial *t = &s->trials[i];
        double first = cell(t->data, c->name, t->first);
        size_t got = t->run ? cls_table_rows(t->run) : 0;
        for (size_t k = 1; k < t->rows; k++) {
            double y = cell(t->data, c->name, t->first + k),
                   ours = k < got ? cell(t->run, c->name, k) : NAN;
            if (!isfinite(y)) continue;
            n++, sum += y, square += y * y;
            if (isfinite(first)) still += (y - first) * (y - first);
            if (!isfinite(ours)) continue;
            rows++, off += (ours - y) * (ours - y);
        }
    }
    c->rows = rows;
    c->rmse = rows == n && n ? sqrt(off / (double)n) : NAN;
    c->persistence = n ? sqrt(still / (double)n) : NAN;
    c->size = n ? sqrt(square / (double)n) : NAN;
    c->spread = n ? sqrt(fmax(0, square / (double)n - sum / (double)n * sum / (double)n)) : NAN;
}

/* An element of a field that nothing has reached yet stays where it is, but for what is far below anything that can be
 * seen: it is held against this part of how much the most moving element of its array does. */
static const double LEAST = 1e-3;

/* Channel c, where it moves most of its array, tells the others. */
static void share_persistence(clsi_subject *s, size_t c) {
    const clsi_channel *most = &s->channels[c];
    for (size_t k = 0; k < s->n_channels; k++)
        if (s->channels[k].persistence > most->persistence &&
            clsi_same_array(s->channels[k].name, most->name))
            return;
    for (size_t k = 0; k < s->n_channels; k++)
        if (clsi_same_array(s->channels[k].name, most->name))
            s->channels[k].trivial = fmax(s->channels[k].trivial, LEAST * most->persistence);
}

static cls_status make_channels(clsi_subject *s, const cls_table *t, cls_error *error) {
    s->channels = clsi_calloc(cls_table_columns(t), sizeof *s->channels);
    if (!s->channels) return clsi_no_memory(error);
    for (size_t k = 0; k < cls_table_columns(t); k++) {
        const char *name = cls_table_name(t, k);
        int known = 0;
        for (size_t i = 1; i < cls_system_column_count(s->system); i++)
            known |= !strcmp(cls_system_column(s->system, i), name);
        for (size_t i = 0; i < cls_system_input_count(s->system); i++)
            known &= strcmp(cls_system_input_name(s->system, i), name) != 0;
        if (!known || !strcmp(name, "energy") || !strcmp(name, "entropy")) continue;
        s->channels[s->n_channels++].name = name;
    }
    mark_own(s);
    for (size_t c = 0; c < s->n_channels; c++) score(s, &s->channels[c]);
    for (size_t c = 0; c < s->n_channels; c++) s->channels[c].trivial = s->channels[c].persistence;
    for (size_t c = 0; c < s->n_channels; c++) share_persistence(s, c);
    return CLS_OK;
}

/* How far the run of a trial is off: over its channels, each in units of its spread. */
static double error_of(const clsi_subject *s, const clsi_trial *t) {
    double sum = 0;
    size_t n = 0;
    if (!t->run || cls_table_rows(t->run) < t->rows) return INFINITY;
    for (size_t c = 0; c < s->n_channels; c++) {
        const clsi_channel *ch = &s->channels[c];
        for (size_t k = 1; k < t->rows && ch->spread > 0 && !ch->own; k++) {
            double off =
                (cell(t->data, ch->name, t->first + k) - cell(t->run, ch->name, k)) / ch->spread;
            if (isfinite(off)) sum += off * off, n++;
        }
    }
    return n ? sqrt(sum / (double)n) : 0;
}

int clsi_has_entropy(const clsi_subject *s) {
    return s->motion && cls_table_find(s->motion, "entropy") >= 0;
}

/* ---- which trajectories were learned from ---- */

static int same_file(const json_t *a, const json_t *b) {
    const char *x = json_string_value(json_object_get(a, "sha256")),
               *y = json_string_value(json_object_get(b, "sha256"));
    return x && y && *x && !strcmp(x, y);
}

/* By the fingerprints of the files in the model's provenance. `split`, where the model was learned
 * from recordings, has for each of their trajectories the time from which rows were kept back: used
 * when the data are the same files in the same order. */
static cls_status mark_learned(clsi_subject *s, size_t n_data, const char *const *names,
                               cls_error *error) {
    const json_t *o = s->given->model ? s->given->model->told : NULL;
    const json_t *theirs = json_object_get(o, "data"), *split = json_object_get(o, "split");
    if (!json_is_array(theirs)) return CLS_OK;
    json_t *ours = clsi_data_files(n_data, names, NULL, NULL);
    if (!ours) return clsi_no_memory(error);
    int same =
        json_array_size(ours) == json_array_size(theirs) && json_array_size(split) == s->n_found;
    for (size_t i = 0; i < n_data; i++) {
        int known = 0;
        for (size_t k = 0; k < json_array_size(theirs); k++)
            known |= same_file(json_array_get(ours, i), json_array_get(theirs, k));
        same &= same_file(json_array_get(ours, i), json_array_get(theirs, i));
        for (size_t k = 0; k < s->n_trials; k++)
            if (s->trials[k].file == names[i]) s->trials[k].learned = known;
    }
    for (size_t k = 0; same && k < s->n_trials; k++) {
        const clsi_trial *t = &s->trials[k];
        const json_t *from = json_array_get(split, t->number);
        if (!json_is_number(from)) continue;
        s->trials[k].held_from = json_number_value(from);
        if (s->trials[k].held_from <= cell(t->data, "time", t->first)) s->trials[k].learned = 0;
    }
    json_decref(ours);
    return CLS_OK;
}

static cls_status compare(clsi_subject *s, size_t n_data, const cls_table *const *data,
                          const char *const *names, cls_error *error) {
    cls_starter *starter = NULL;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < n_data && !status; i++) {
        if (cls_table_find(data[i], "time") < 0)
            return clsi_fail(error, CLS_DATA, "%s: there is no column `time`", names[i]);
        status = add_trials(s, data[i], names[i], error);
    }
    s->n_found = s->n_trials;
    if (s->n_trials > MOST_FOLLOWED) { /* spread evenly */
        for (size_t i = 0; i < MOST_FOLLOWED; i++)
            s->trials[i] = s->trials[i * s->n_trials / MOST_FOLLOWED];
        s->n_trials = MOST_FOLLOWED;
    }
    if (!status)
        status = cls_starter_create(s->given->model ? NULL : s->system, s->given->model, &starter,
                                    error);
    for (size_t i = 0; i < s->n_trials && !status; i++)
        status = clsi_trial_follow(s->system, starter, &s->trials[i], error);
    if (!status && s->n_trials) status = make_channels(s, data[0], error);
    for (size_t i = 0; i < s->n_trials && !status; i++)
        s->trials[i].error = error_of(s, &s->trials[i]);
    if (!status) status = mark_learned(s, n_data, names, error);
    cls_starter_free(&starter);
    return status;
}

/* ---- together ---- */

cls_status clsi_subject_measure(clsi_subject *s, const cls_report_subject *given, size_t n_data,
                                const cls_table *const *data, const char *const *names,
                                cls_error *error) {
    *s = (clsi_subject){.given = given, .system = given->system, .motion = given->trajectory};
    cls_status status = CLS_OK;
    if (!s->system) return CLS_OK;
    if (!s->motion) status = simulate(s, error);
    if (!status && !given->trajectory) status = compare(s, n_data, data, names, error);
    /* what cannot move by itself (its inputs come with data) is judged along a run over the data */
    for (size_t i = 0; i < s->n_trials && !s->motion; i++)
        if (s->trials[i].error < INFINITY) s->motion = s->trials[i].run, s->followed = 1 + i;
    if (!status && s->motion) {
        cls_audit_options o = cls_audit_defaults();
        cls_status judged = cls_audit_trajectory(s->system, s->motion, &o, &s->audit, &s->unjudged);
        if (judged == CLS_MEMORY) status = clsi_no_memory(error);
    }
    return status;
}

void clsi_subject_clear(clsi_subject *s) {
    for (size_t i = 0; i < s->n_trials; i++) cls_table_free(&s->trials[i].run);
    free(s->trials), free(s->channels);
    cls_table_free(&s->own);
    cls_audit_free(&s->audit);
}
