/* A start for data that do not have all states: the one that explains the rows that follow.
 *
 * What a row says itself comes first (cls_starter_row). States that no column says are then fitted to the
 * rows of two time scales, the system being as it is, and taken where the row alone says too little or
 * explains these rows worse: a wall that was not measured began elsewhere than the file of the system says.
 * More states than the rows have values, or than 64, are not fitted (a rod of which one end is measured). */
#include "base/base.h"
#include "base/misuse.h"
#include "data/table.h"
#include "learn/shooting/multiple.h"
#include <clausius/start.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCALES = 4 }; /* times the rows that a state is fitted to where horizons are scored */
/* What bounds the time: rows, states that are fitted, states of the system. */
enum { ROWS = 20000, MOST = 64, LARGEST = 256 };
static const double WORSE =
    1.5; /* root mean square: a start that explains less by so much is none */

/* Rows [row, ...) of the motion that row is in, the first of them. */
static cls_status rest(const cls_table *t, size_t row, cls_table **out, cls_error *error) {
    size_t n = cls_table_columns(t), rows = cls_table_rows(t);
    int time = clsi_table_time(t), group = cls_table_find(t, "trajectory");
    const double *at = time < 0 ? NULL : cls_table_column(t, (size_t)time);
    const double *which = group < 0 ? NULL : cls_table_column(t, (size_t)group);
    const char **names = clsi_calloc(n + 1, sizeof *names);
    double *values = clsi_calloc(n + 1, sizeof *values);
    cls_status status = names && values ? CLS_OK : clsi_no_memory(error);
    for (size_t c = 0; c < n && status == CLS_OK; c++) names[c] = cls_table_name(t, c);
    if (status == CLS_OK) status = cls_table_create(n, names, out, error);
    for (size_t r = row; r < rows && r - row < ROWS && status == CLS_OK; r++) {
        if (r > row && ((at && !(at[r] > at[r - 1])) || (which && which[r] != which[row]))) break;
        for (size_t c = 0; c < n; c++) values[c] = cls_table_column(t, c)[r];
        status = cls_table_append(*out, values, error);
    }
    free(names);
    free(values);
    return status;
}

/* Root mean square over the first rows, in units of the noise; INFINITY: not to be simulated. */
static double misfit(clsi_multiple *m, size_t rows, double *x) {
    clsi_piece piece = {0, rows, 0}, *pieces = m->piece;
    size_t n_pieces = m->n_pieces, count = 0;
    double *xs = m->x, *list = clsi_calloc(rows + 1, sizeof *list), sum = 0;
    if (!list) return INFINITY;
    m->piece = &piece;
    m->n_pieces = 1;
    m->x = x;
    int fine = clsi_multiple_simulate(m, NULL);
    for (size_t c = 0; c < m->ny && fine; c++) {
        size_t n = clsi_multiple_residuals(m, c, list, NULL);
        for (size_t i = 0; i < n; i++) sum += list[i] * list[i] / (m->sigma[c] * m->sigma[c]);
        count += n;
    }
    m->piece = pieces;
    m->n_pieces = n_pieces;
    m->x = xs;
    free(list);
    return fine && count && isfinite(sum) ? sqrt(sum / (double)count) : INFINITY;
}

/* Whether states are lacking, no more than the values of so many rows can tell. */
static int lacks(const clsi_multiple *m, size_t rows) {
    size_t n = 0;
    for (size_t e = 0; e < m->nz; e++) n += m->hidden[e] || m->told[e];
    return n && n <= MOST && n <= rows * m->ny;
}

/* given: 1 when `state` is what the row says itself. */
static cls_status fit(const cls_system *s, const cls_table *t, const char *name, int given,
                      double *state, size_t *rows, cls_error *error) {
    clsi_recording *d = NULL;
    clsi_multiple *m = NULL;
    cls_status status =
        clsi_recording_create(s, 1, &t, &name, 0, 1, NULL, 0, &d, error); /* holds as they look */
    if (status == CLS_OK) status = clsi_multiple_of(s, d, &m, error);
    size_t n = status == CLS_OK ? SCALES * clsi_state_rows(m) : 0;
    if (n && n > d->segment[0].end) n = d->segment[0].end;
    if (n && lacks(m, n)) {
        double *x = clsi_calloc(m->nz + 1, sizeof *x);
        status = x ? clsi_fit_state(m, NULL, 0, n, NULL, x, error) : clsi_no_memory(error);
        double fitted = status == CLS_OK ? misfit(m, n, x) : INFINITY;
        if (isfinite(fitted) && !(given && misfit(m, n, state) <= WORSE * fmax(fitted, 1))) {
            memcpy(state, x, m->nz * sizeof *x);
            for (size_t e = m->nz; e < cls_system_state_count(s); e++) state[e] = 0;
            *rows = n;
        }
        free(x);
    }
    clsi_multiple_free(&m);
    clsi_recording_free(&d);
    return status;
}

cls_status cls_start_from_data(const cls_system *system, const cls_starter *starter,
                               const cls_table *t, size_t row, const char *name, double *time,
                               double *state, size_t *fitted, cls_error *error) {
    NEED(error, system);
    NEED(error, starter);
    NEED(error, t);
    NEED(error, name);
    NEED(error, time);
    NEED(error, state);
    cls_table *from = NULL;
    cls_error why = {0},
              said = {0}; /* said: what the row alone lacks, no matter where it can be fitted */
    size_t rows = 0;
    unsigned long before = clsi_failures(); /* a start that was not fitted for want of memory */
    cls_status status = cls_starter_row(starter, t, row, name, time, state, &said);
    if (fitted) *fitted = 0;
    if (status == CLS_MEMORY || cls_system_is_noisy(system) || row >= cls_table_rows(t) ||
        cls_system_state_count(system) > LARGEST) {
        if (status && error) *error = said;
        return status;
    }
    cls_status tried = rest(t, row, &from, &why);
    if (tried == CLS_OK && cls_table_rows(from) > 4)
        tried = fit(system, from, name, status == CLS_OK, state, &rows, &why);
    cls_table_free(&from);
    if (tried == CLS_MEMORY || clsi_failures() != before) return clsi_no_memory(error);
    if (!rows) {
        if (status && error) *error = said;
        return status;
    }
    if (fitted) *fitted = rows;
    int k = clsi_table_time(t);
    if (k >= 0) *time = cls_table_column(t, (size_t)k)[row];
    return CLS_OK;
}
