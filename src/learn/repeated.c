/* Rows with a time that stood there already: an instrument that wrote twice, clocks that round.
 *
 * No motion passes through two states at one time. Such rows are refused by name, or their mean is
 * taken (`average`); nothing else is decided in silence. Tables with derivatives (d.q) are not motions
 * but single rows, whose times say nothing. */
#include "base/base.h"
#include "data/table.h"
#include "learn/recording/measured.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int has_rates(const cls_table *t) {
    for (size_t c = 0; c < t->n_columns; c++)
        if (strncmp(t->names[c], "d.", 2) == 0) return 1;
    return 0;
}

/* Rows [i, end) have the time of row i, in its trajectory. */
static size_t end_of_time(const cls_table *t, size_t time, int group, size_t i) {
    const double *at = t->columns[time], *number = group < 0 ? NULL : t->columns[group];
    size_t end = i + 1;
    while (end < t->rows && at[end] == at[i] && (!number || number[end] == number[i])) end++;
    return end;
}

static void mean_of(const cls_table *t, size_t begin, size_t end, double *row) {
    for (size_t c = 0; c < t->n_columns; c++) {
        double sum = 0, count = 0;
        for (size_t i = begin; i < end; i++) {
            double x = t->columns[c][i];
            sum += isfinite(x) ? x : 0;
            count += isfinite(x) != 0;
        }
        row[c] = end == begin + 1 ? t->columns[c][begin] : count > 0 ? sum / count : NAN;
    }
}

cls_status clsi_table_once(const cls_table *t, const char *file, int average, cls_table **out,
                           cls_error *error) {
    int time = clsi_table_time(t), group = cls_table_find(t, "trajectory");
    size_t repeated = 0;
    *out = NULL;
    if (time < 0 || has_rates(t)) return CLS_OK;
    for (size_t i = 0, end; i < t->rows; i = end) {
        end = end_of_time(t, (size_t)time, group, i);
        if (end > i + 1 && !average)
            return clsi_fail(error, CLS_DATA,
                             "%s: rows %zu and %zu have the same time %g; remove one of them, or "
                             "say --average to take the mean of such rows; where the time begins "
                             "again, another motion needs another number in a column trajectory",
                             file, i + 1, i + 2, t->columns[time][i]);
        repeated += end - i - 1;
    }
    if (!repeated) return CLS_OK;
    double *row = clsi_calloc(t->n_columns, sizeof *row);
    cls_status status = row ? clsi_table_like(t, out, error) : clsi_no_memory(error);
    for (size_t i = 0, end; i < t->rows && status == CLS_OK; i = end) {
        end = end_of_time(t, (size_t)time, group, i);
        mean_of(t, i, end, row);
        status = cls_table_append(*out, row, error);
    }
    free(row);
    if (status != CLS_OK) cls_table_free(out);
    return status;
}
