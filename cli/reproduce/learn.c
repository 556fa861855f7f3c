/* What the items of V-NOTS share: data made by bdf, learning with progress, plain numbers. */
#include "cli/reproduce/reproduce.h"
#include <stdlib.h>
#include <string.h>

/* ---- data ---- */

static cls_status fill_table(const cls_system *s, size_t n, size_t n_points, const double *rows,
                             cls_table **out, cls_error *error) {
    size_t columns = cls_system_column_count(s);
    const char **names = calloc(columns + 1, sizeof *names);
    double *row = calloc(columns + 1, sizeof *row);
    cls_status status = names && row ? CLS_OK : cli_no_memory(error);
    if (!status) {
        names[0] = "trajectory";
        for (size_t c = 0; c < columns; c++) names[c + 1] = cls_system_column(s, c);
        status = cls_table_create(columns + 1, names, out, error);
    }
    for (size_t i = 0; !status && i < n * n_points; i++) {
        row[0] = (double)(i / n_points);
        for (size_t c = 0; c < columns; c++) row[c + 1] = rows[i * columns + c];
        status = cls_table_append(*out, row, error);
    }
    free(names);
    free(row);
    return status;
}

cls_status cli_observe(const cls_system *s, size_t n, const double *starts, size_t n_points,
                       double h, cls_table **out, cls_error *error) {
    cls_simulate_options options = cls_simulate_defaults();
    double *rows = calloc(n * n_points * cls_system_column_count(s), sizeof *rows);
    cls_status status = rows ? CLS_OK : cli_no_memory(error);
    options.scheme = "bdf";
    options.h = h;
    if (!status) status = cls_ensemble_run(s, &options, n, starts, n_points - 1, 1, 0, rows, error);
    if (!status) status = fill_table(s, n, n_points, rows, out, error);
    free(rows);
    return status;
}

cls_status cli_rewrite(const cls_system *s, const char *name, size_t n, const cli_line *lines,
                       void (*anchors)(FILE *to), cls_system **out, cls_error *error) {
    char *whole = NULL;
    size_t size;
    int replaced = 0;
    *out = NULL;
    FILE *to = open_memstream(&whole, &size);
    if (!to) return cli_no_memory(error);
    const char *text = cls_system_text(s);
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        const char *line = NULL;
        length = strcspn(text, "\n");
        if (replaced && text[0] == ' ') continue;
        if (anchors && !strncmp(text, "start", 5)) continue;
        for (size_t i = 0; i < n; i++)
            if (!strncmp(text, lines[i].begin, strlen(lines[i].begin))) line = lines[i].line;
        replaced = line != NULL;
        fprintf(to, "%.*s\n", line ? (int)strlen(line) : (int)length, line ? line : text);
    }
    if (anchors) anchors(to);
    cls_status status = fclose(to) ? cli_no_memory(error) : CLS_OK;
    if (!status) status = cls_system_parse(whole, name, NULL, out, error);
    free(whole);
    return status;
}

/* ---- learning ---- */

typedef struct learning {
    cli_progress progress;
    int quiet;
} learning;

static int progress(void *context, const cls_learn_progress *p) {
    learning *l = context;
    if (!l->progress.label || (p->total > 0 && l->progress.total != (double)p->total)) {
        cli_progress_end(&l->progress);
        cli_progress_begin(&l->progress, "learn", p->phase, (double)p->total, l->quiet);
    }
    cli_progress_update(&l->progress, (double)p->done, NULL);
    return cli_interrupted();
}

cls_status cli_learning(const cli_findings *f, const cls_system *s, const cls_table *data,
                        const char *name, cls_learn_options options, cls_model **model,
                        cls_learn_info *info, cls_error *error) {
    learning l = {.quiet = f->quiet};
    options.progress = progress;
    options.context = &l;
    cls_status status = cls_learn(s, NULL, 1, &data, &name, &options, model, info, error);
    if (!status && cli_interrupted())
        status = cli_fail(error, CLS_INTERRUPTED, "interrupted while learning");
    cli_progress_end(&l.progress);
    return status;
}

cls_status cli_learn_text(const cli_findings *f, const char *text, const char *system,
                          const cls_table *data, const char *name, cls_model **model,
                          cls_learn_info *info, cls_error *error) {
    cls_system *open = NULL;
    cls_status status = cls_system_parse(text, system, NULL, &open, error);
    if (!status)
        status = cli_learning(f, open, data, name, cls_learn_defaults(), model, info, error);
    cls_system_free(&open);
    return status;
}

cls_status cli_learn_literally(const cli_findings *f, const cls_system *s, const cls_table *data,
                               const char *file, const cli_literal *how, cls_model **model,
                               cls_learn_info *info, cls_error *error) {
    char checkpoint[1024], kept[1024];
    const char *folder = f->folder ? f->folder : "";
    int a = snprintf(checkpoint, sizeof checkpoint, "%s/%s.checkpoint", folder, file);
    int b = snprintf(kept, sizeof kept, "%s/%s.safetensors", folder, file);
    int keeps =
        f->folder && a > 0 && b > 0 && (size_t)a < sizeof checkpoint && (size_t)b < sizeof kept;
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = how->n_unknown;
    o.unknown = how->unknown;
    o.scheme = how->scheme;
    o.weights = "equal";
    o.optimizer = "adam";
    o.rate = 1e-3;
    o.last_rate = how->last_rate;
    if (how->anchored) o.anchor_weight = 1;
    o.last = 1;
    o.max_iterations = f->literal;
    o.max_windows = how->pairs;
    o.batch = 1000 * how->equations;
    if (keeps) {
        o.checkpoint = checkpoint;
        o.checkpoint_every = 60;
        o.resume = 1;
    }
    cls_status status = cli_learning(f, s, data, file, o, model, info, error);
    return !status && keeps ? cls_model_write(*model, kept, error) : status;
}

double cli_count_steps(const cls_system *s, const double *start, const char *scheme, double h) {
    cls_simulate_options options = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    size_t steps = 0;
    options.scheme = scheme;
    options.h = h;
    cls_status status = cls_simulator_create(s, &options, &sim, NULL);
    if (!status) status = cls_simulator_start(sim, 0, start, NULL);
    while (!status && !(status = cls_simulator_advance(sim, 1, NULL))) steps++;
    cls_simulator_free(&sim);
    return (double)steps;
}

/* ---- cells ---- */

void cli_add_number(cli_findings *f, const char *row, const char *column, const char *paper,
                    const char *expected, double ours, const char *note) {
    cli_cell cell = {.column = column,
                     .paper = paper,
                     .expected = expected,
                     .ours = ours,
                     .beaten = paper != NULL,
                     .note = note};
    cli_add_cell(f, cell, "%s", row);
}
