/* Trajectories for compare and plot: files, and what systems and models make of them.
 *
 * A file is read; a system (built-in name or .clausius) or a model is simulated beside the first file:
 * from the first row of each of its trajectories, at the file's own times (irregular ones, gaps and
 * all: whole steps of at most the usual spacing between neighbouring times, so that both laws are
 * kept), with the inputs that the file has. Without any file the first system makes a motion of its own
 * and the others follow that. */
#include "cli.h"
#include "table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int cli_is_system(const char *word) {
    if (cls_model_is_path(word) || cli_ends_with(word, ".clausius")) return 1;
    for (size_t i = 0; cls_builtin_name(i); i++)
        if (!strcmp(cls_builtin_name(i), word)) return 1;
    return 0;
}

/* A data file comes from anywhere: it may not make the program open any other file. */
cls_status cli_system_of_note(const char *path, const char *note, char **out, cls_error *error) {
    const char *slash = strrchr(path, '/'), *name = strrchr(note, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0, n;
    struct stat st;
    int is_file = cls_model_is_path(note) || cli_ends_with(note, ".clausius");
    name = name && is_file ? name + 1 : note;
    n = folder + strlen(name) + 3;
    if (!(*out = calloc(n, 1))) return cli_no_memory(error);
    if (is_file)
        snprintf(*out, n, "%.*s%s", (int)folder, path, name);
    else
        snprintf(*out, n, "%s", name);
    if (is_file ? stat(*out, &st) == 0 && S_ISREG(st.st_mode) : cli_is_system(note)) return CLS_OK;
    cls_status status =
        is_file
            ? cli_fail(
                  error, CLS_SYSTEM,
                  "%s says that it is of the system \"%.300s\": there is no ordinary file "
                  "%.300s, and a note opens no file that is not beside its own; name the system "
                  "yourself: `clausius audit SYSTEM --against %s`",
                  path, note, *out, path)
            : cli_fail(
                  error, CLS_SYSTEM,
                  "%s says that it is of the system \"%.300s\", which is neither built in nor a "
                  ".clausius file; use `clausius audit SYSTEM --against %s`",
                  path, note, path);
    free(*out);
    *out = NULL;
    return status;
}

/* Rows [from, to) without the column `trajectory`. */
static cls_status cut_rows(const cls_table *t, size_t from, size_t to, cls_table **out,
                           cls_error *error) {
    size_t n = cls_table_columns(t), kept = 0;
    const char **names = calloc(n + 1, sizeof *names);
    const double **columns = calloc(n + 1, sizeof *columns);
    double *row = calloc(n + 1, sizeof *row);
    cls_status status = names && columns && row ? CLS_OK : cli_no_memory(error);
    for (size_t c = 0; !status && c < n; c++) {
        if (!strcmp(cls_table_name(t, c), "trajectory")) continue;
        columns[kept] = cls_table_column(t, c);
        names[kept++] = cls_table_name(t, c);
    }
    if (!status) status = cls_table_create(kept, names, out, error);
    for (size_t i = from; !status && i < to; i++) {
        for (size_t c = 0; c < kept; c++) row[c] = columns[c][i];
        status = cls_table_append(*out, row, error);
    }
    free(names);
    free(columns);
    free(row);
    return status;
}

/* Where the simulated rows go: the table, with the number of the trajectory in front. */
typedef struct sink {
    cls_table *table;
    size_t columns;
    double trajectory, *row;
    int numbered;
} sink;

static cls_status keep(void *to, const double *row, cls_error *error) {
    sink *s = to;
    s->row[0] = s->trajectory;
    memcpy(s->row + s->numbered, row, s->columns * sizeof *row);
    return cls_table_append(s->table, s->row, error);
}

static cls_status follow_one(cli_motion *m, const cls_table *t, const char *path, sink *to,
                             cls_error *error) {
    cls_simulate_options options = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    cli_inputs inputs = {0};
    cls_time_facts f;
    int time = cls_table_find(t, "time");
    cls_status status =
        cls_start_from_data(m->system, m->starter, t, 0, path, &m->time, m->state, NULL, error);
    if (!status) status = cls_table_inspect_time(t, &f, error);
    double usual = cls_system_default_step(m->system);
    if (!status && f.spacing > 0)
        options.h = fabs(f.spacing - usual) <= 1e-9 * usual ? usual : f.spacing;
    if (!status && cls_system_input_count(m->system))
        status = cli_inputs_take(m->system, t, path, "auto", &inputs, error);
    if (!status) status = cls_simulator_create(m->system, &options, &sim, error);
    if (!status) status = cli_inputs_set(&inputs, sim, error);
    if (!status) status = cls_simulator_start(sim, m->time, m->state, error);
    if (!status)
        status = cli_walk_at(m->system, sim, cls_table_rows(t), cls_table_column(t, (size_t)time),
                             keep, to, NULL, error);
    cls_simulator_free(&sim);
    cli_inputs_free(&inputs);
    return status;
}

static cls_status open_sink(const cli_motion *m, int numbered, sink *to, cls_error *error) {
    const char **columns = cli_columns(m->system);
    size_t n = cls_system_column_count(m->system);
    const char **names = calloc(n + 2, sizeof *names);
    *to = (sink){.columns = n, .numbered = numbered, .row = calloc(n + 2, sizeof(double))};
    cls_status status = columns && names && to->row ? CLS_OK : cli_no_memory(error);
    if (!status) names[0] = "trajectory";
    for (size_t c = 0; !status && c < n; c++) names[c + (size_t)numbered] = columns[c];
    if (!status) status = cls_table_create(n + (size_t)numbered, names, &to->table, error);
    if (!status) /* made by a simulation, not by an instrument: pictures draw a line */
        status = cls_table_set_note(to->table, "scheme", cls_scheme_default(m->system), error);
    free(columns);
    free(names);
    return status;
}

static cls_status follow_all(cli_motion *m, const cls_table *t, const char *path, cls_table **out,
                             cls_error *error) {
    int id = cls_table_find(t, "trajectory");
    const double *number = id < 0 ? NULL : cls_table_column(t, (size_t)id);
    size_t rows = cls_table_rows(t);
    sink to;
    cls_status status = open_sink(m, id >= 0, &to, error);
    m->state = calloc(cls_system_state_count(m->system) + 1, sizeof *m->state);
    if (!status && !m->state) status = cli_no_memory(error);
    if (!status && (!rows || cls_table_find(t, "time") < 0))
        status =
            cli_fail(error, CLS_DATA,
                     rows ? "%s has no column `time`: give it with --map \"time=COLUMN\" or --dt"
                          : "%s has no rows to start from",
                     path);
    for (size_t from = 0, end; !status && from < rows; from = end) {
        cls_table *one = NULL;
        for (end = from + 1; end < rows && (!number || number[end] == number[from]);) end++;
        to.trajectory = number ? number[from] : 0;
        status = cut_rows(t, from, end, &one, error);
        if (!status) status = follow_one(m, one, path, &to, error);
        cls_table_free(&one);
    }
    free(to.row);
    *out = to.table;
    if (status) cls_table_free(out);
    return status;
}

static cls_status follow(cli_motion *m, const cls_table *beside, const char *path, cls_table **out,
                         cls_error *error) {
    cls_table *grouped;
    cls_status status = cls_table_group(beside, &grouped, error);
    if (!status) status = follow_all(m, grouped ? grouped : beside, path, out, error);
    cls_table_free(&grouped);
    return status;
}

/* The motion of a system on its own, from the start of its file. */
static cls_status own_motion(cli_motion *m, cls_table **out, cls_error *error) {
    cls_simulate_options options = cls_simulate_defaults();
    options.h = cls_system_default_step(m->system);
    double steps = ceil(cls_system_default_until(m->system) / options.h - 1e-6);
    cls_status status = cli_motion_begin(m, NULL, NULL, error);
    if (!status) status = cli_motion_table(m, &options, (uint64_t)steps, 1, out, error);
    return status;
}

/* Files alone: one that clausius wrote names its system, whose names, units and `data` lines the files of
 * others are read with. A system that is not there any more is none. */
static cls_status read_by_notes(const cli_arguments *a, size_t n, const char *const *words,
                                cls_table **out, cls_error *error) {
    cli_motion named = {0};
    cls_status status = CLS_OK;
    for (size_t i = 0; !status && i < n && !named.system; i++) {
        const char *note = cls_table_note(out[i], "system");
        char *beside = NULL;
        cls_error ignored;
        if (note && !(status = cli_system_of_note(words[i], note, &beside, &ignored)))
            status = cli_motion_open(beside, cls_table_note(out[i], "set"), &named, &ignored);
        free(beside);
        status = status == CLS_MEMORY ? cli_no_memory(error) : CLS_OK;
    }
    for (size_t i = 0; !status && named.system && i < n; i++) {
        struct stat file;
        cls_table *again = NULL;
        cls_error ignored;
        if (cls_table_note(out[i], "system") || stat(words[i], &file) || !S_ISREG(file.st_mode))
            continue; /* what comes through a pipe cannot be read again */
        status = cli_read_table(a, words[i], named.system, &again, &ignored);
        status = status == CLS_MEMORY ? cli_no_memory(error) : CLS_OK;
        if (!again) continue;
        cls_table_free(&out[i]);
        out[i] = again;
    }
    cli_motion_free(&named);
    return status;
}

static cls_status make_all(const cli_arguments *a, size_t n, const char *const *words,
                           cli_motion *motions, cls_table **out, cls_error *error) {
    size_t first = n; /* the first file: what systems follow */
    const cls_system *system = NULL;
    cls_status status = CLS_OK;
    for (size_t i = n; i-- > 0;)
        if (!cli_is_system(words[i])) first = i;
    for (size_t i = n; !status && i-- > 0;)
        if (cli_is_system(words[i])) {
            status = cli_motion_open_beside(a, words[i], first < n, words + first, 0, NULL,
                                            &motions[i], error);
            system = motions[i].system;
        }
    for (size_t i = 0; !status && i < n; i++)
        if (!motions[i].system) status = cli_read_table(a, words[i], system, &out[i], error);
    if (!status && !system) status = read_by_notes(a, n, words, out, error);
    char begins[48] = "";
    for (size_t i = 0; !status && i < n; i++)
        if (out[i]) status = cli_align(out[i], begins, error);
    if (!status && first == n) {
        status = own_motion(&motions[0], &out[0], error);
        first = 0;
    }
    for (size_t i = 0; !status && i < n; i++)
        if (!out[i]) status = follow(&motions[i], out[first], words[first], &out[i], error);
    return status;
}

cls_status cli_trajectories(const cli_arguments *a, size_t n, const char *const *words,
                            cls_table **out, cls_error *error) {
    cli_motion *motions = calloc(n + 1, sizeof *motions);
    cls_status status = motions ? make_all(a, n, words, motions, out, error) : cli_no_memory(error);
    for (size_t i = 0; motions && i < n; i++) cli_motion_free(&motions[i]);
    free(motions);
    return status;
}
