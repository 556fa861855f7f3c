/* Motions that follow a file: inputs from its columns (--inputs, --hold), rows at its times (--at).
 *
 * A column is found by the input's name; inputs that have a formula need none. Rows where an input
 * is empty are gaps, over which the hold goes on. */
#include "cli.h"
#include "table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static cls_status time_column(const cls_table *t, const char *path, const double **out,
                              cls_error *error) {
    int k = cls_table_find(t, "time");
    if (!cls_table_rows(t)) return cli_fail(error, CLS_DATA, "%s has no rows", path);
    if (k < 0) return cli_fail(error, CLS_DATA, "%s has no column `time`", path);
    *out = cls_table_column(t, (size_t)k);
    return CLS_OK;
}

static cls_status one_trajectory(const cls_table *t, const char *path, cls_error *error) {
    int k = cls_table_find(t, "trajectory");
    const double *id = k < 0 ? NULL : cls_table_column(t, (size_t)k);
    for (size_t i = 1; id && i < cls_table_rows(t); i++)
        if (id[i] != id[0])
            return cli_fail(error, CLS_DATA,
                            "%s has several trajectories; inputs and times need a file with one",
                            path);
    return CLS_OK;
}

static cls_status no_column(const cls_system *s, const cls_table *t, const char *path, size_t k,
                            cls_error *error) {
    char list[1024] = "";
    for (size_t c = 0, used = 0; c < cls_table_columns(t) && used < sizeof list - 1; c++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", c ? ", " : "",
                                 cls_table_name(t, c));
    return cli_fail(error, CLS_DATA, "%s has no column `%s`, an input of %s; it has %s", path,
                    cls_system_input_name(s, k), cls_system_name(s), list);
}

cls_status cli_inputs_take(const cls_system *s, const cls_table *t, const char *path,
                           const char *hold, cli_inputs *out, cls_error *error) {
    size_t nu = cls_system_input_count(s), n = cls_table_rows(t);
    const double *time = NULL;
    *out = (cli_inputs){.n = n, .hold = hold};
    cls_status status = time_column(t, path, &time, error);
    if (!status) status = one_trajectory(t, path, error);
    if (!status && !(out->times = calloc((nu + 1) * n, sizeof *out->times)))
        status = cli_no_memory(error);
    if (status) return status;
    out->values = out->times + n;
    memcpy(out->times, time, n * sizeof *time);
    for (size_t k = 0; !status && k < nu; k++) {
        int column = cls_table_find(t, cls_system_input_name(s, k));
        if (column >= 0)
            memcpy(out->values + k * n, cls_table_column(t, (size_t)column), n * sizeof *time);
        else if (!cls_system_input_is_given(s, k))
            status = no_column(s, t, path, k, error);
    }
    if (status) cli_inputs_free(out);
    return status;
}

cls_status cli_inputs_read(const cli_arguments *a, cli_motion *m, const char *path,
                           const char *hold, cli_inputs *out, cls_error *error) {
    const cls_system *s = m->system;
    cls_table *t = NULL;
    *out = (cli_inputs){0};
    if (!path && hold) return cli_fail(error, CLS_USAGE, "--hold needs --inputs FILE");
    if (!path) return CLS_OK;
    if (!hold && m->model) hold = "auto"; /* as it was learned */
    if (!cls_system_input_count(s))
        return cli_fail(error, CLS_USAGE,
                        "%s has no inputs: `input u` declares one, then formulas can use it",
                        cls_system_name(s));
    cls_status status = cli_read_table(a, path, s, &t, error);
    if (!status) status = cli_align(t, m->begins, error);
    if (!status) status = cli_inputs_take(s, t, path, hold, out, error);
    cls_table_free(&t);
    return status;
}

void cli_inputs_free(cli_inputs *inputs) {
    free(inputs->times);
    *inputs = (cli_inputs){0};
}

cls_status cli_inputs_set(const cli_inputs *inputs, cls_simulator *sim, cls_error *error) {
    if (!inputs->n) return CLS_OK;
    return cls_simulator_inputs_held(sim, inputs->n, inputs->times, inputs->values, inputs->hold,
                                     error);
}

cls_status cli_inputs_reach(const cli_inputs *inputs, double begin, double end, cls_error *error) {
    if (!inputs->n) return CLS_OK;
    double first = inputs->times[0], last = inputs->times[inputs->n - 1],
           near = 1e-9 * (end - begin);
    /* a zero-order hold lasts as long as the sample before it did */
    int lasts = !inputs->hold || strcmp(inputs->hold, "linear") != 0;
    double more = lasts && inputs->n > 1 ? last - inputs->times[inputs->n - 2] : 0;
    if (begin >= first - near && end <= last + more + near) return CLS_OK;
    return cli_fail(error, CLS_USAGE,
                    "the inputs are known from time %.10g to %.10g, the run goes from %.10g to "
                    "%.10g; shorten it (--until), or begin it in between (--from)",
                    first, last, begin, end);
}

cls_status cli_times_read(const cli_arguments *a, cli_motion *m, const char *path, size_t *n,
                          double **times, cls_error *error) {
    cls_table *t = NULL;
    const double *time = NULL;
    *n = 0;
    *times = NULL;
    cls_status status = cli_read_table(a, path, m->system, &t, error);
    if (!status) status = cli_align(t, m->begins, error);
    if (!status) status = time_column(t, path, &time, error);
    if (!status) status = one_trajectory(t, path, error);
    size_t rows = status ? 0 : cls_table_rows(t);
    for (size_t i = 0; !status && i < rows; i++)
        if (!isfinite(time[i]) || (i && !(time[i] > time[i - 1])))
            status = cli_fail(error, CLS_DATA, "%s: time %.17g in row %zu does not rise", path,
                              time[i], i + 1);
    if (!status && !(*times = calloc(rows, sizeof **times))) status = cli_no_memory(error);
    if (!status) {
        memcpy(*times, time, rows * sizeof *time);
        *n = rows;
    }
    cls_table_free(&t);
    return status;
}

cls_status cli_walk_at(const cls_system *s, cls_simulator *sim, size_t n, const double *times,
                       cli_take take, void *to, cli_progress *p, cls_error *error) {
    double *row = calloc(cls_system_column_count(s) + 1, sizeof *row);
    cls_status status = row ? CLS_OK : cli_no_memory(error);
    for (size_t i = 0; !status && i < n; i++) {
        if (times[i] < cls_simulator_time(sim)) continue;
        status = cls_simulator_go(sim, times[i], error);
        if (!status) status = cls_simulator_row(sim, row, error);
        if (!status) status = take(to, row, error);
        if (p) cli_progress_update(p, (double)(i + 1), NULL);
        if (!status && cli_interrupted())
            status = cli_fail(error, CLS_INTERRUPTED, "interrupted at time %g", times[i]);
    }
    free(row);
    return status;
}
