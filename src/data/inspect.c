/* What is in a table of measurements and what is odd about it.
 *
 * Times   spacings within trajectories: median, gaps (above 1.5 times the median), duplicates, steps
 *         back; jitter is the root mean square of what is left of spacings that are neither, less
 *         their median.
 * Noise   from differences of order 2 to 5, each by the median of its size (a normal law has its
 *         median at 0.6745 sigma; a k-th difference of noise has variance C(2k,k) sigma^2). A smooth
 *         signal vanishes in high orders, noise does not: the smallest estimate counts. It is an upper
 *         bound where the signal is not smooth on the scale of the rows. Not below that of rounding
 *         to the quantum, the smallest step of a column whose values repeat.
 * Outlier a single value far from the cubic through its four neighbours: beyond 10 times what is
 *         usual in the column, 8 times what is usual around it, 8 noises and 4 quanta.
 * Wrap    a step of 2 pi (or 360) within 15 %, in a column whose range is no wider than that and whose
 *         other steps are usually below a sixth of it.
 * Costs a few sorts per column. */
#include "base/misuse.h"
#include "data/table.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.28318530717958647693

static void range_of(const double *x, size_t n, cls_column_facts *f) {
    f->min = INFINITY;
    f->max = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        f->min = fmin(f->min, x[i]);
        f->max = fmax(f->max, x[i]);
        f->mean += (x[i] - f->mean) / (double)(i + 1);
    }
    if (!n) f->min = f->max = f->mean = NAN;
    f->constant = f->min == f->max;
}

/* The smallest step between different values, where values repeat often enough to be steps. Those of
 * rounding (a motion at rest) are none of the instrument's. */
static void quantum_of(const double *x, size_t n, double *work, cls_column_facts *f) {
    size_t distinct = 1;
    double step = INFINITY;
    memcpy(work, x, n * sizeof *x);
    clsi_sort(n, work);
    for (size_t i = 1; i < n; i++)
        if (work[i] > work[i - 1]) {
            distinct++;
            step = fmin(step, work[i] - work[i - 1]);
        }
    double rounding = 16 * DBL_EPSILON * fmax(fabs(f->min), fabs(f->max));
    if (distinct > 1 && 2 * distinct < n && step > rounding) f->quantum = step;
}

static void noise_of(const double *x, size_t n, double *work, double *sizes, cls_column_facts *f) {
    static const double norm[] = {1,
                                  1.4142135623730951,
                                  2.449489742783178,
                                  4.47213595499958,
                                  8.366600265340756,
                                  15.874507866387544};
    size_t m = n;
    f->noise = NAN;
    if (n < 16) return;
    memcpy(work, x, n * sizeof *x);
    for (int k = 1; k <= 5; k++) {
        m--;
        for (size_t i = 0; i < m; i++) work[i] = work[i + 1] - work[i];
        if (k < 2) continue;
        for (size_t i = 0; i < m; i++) sizes[i] = fabs(work[i]);
        double sigma = clsi_median(m, sizes) / (0.67448975 * norm[k]);
        if (!(sigma >= f->noise)) f->noise = sigma;
    }
    f->noise = fmax(f->noise, f->quantum / sqrt(12)); /* what rounding to steps adds */
}

/* How far x_i is from the cubic through its four neighbours. */
static double departure(const double *x, size_t i) {
    return fabs(x[i] - (4 * (x[i - 1] + x[i + 1]) - x[i - 2] - x[i + 2]) / 6);
}

/* What departures usually are around row i, without those that an outlier at i makes itself. */
static double usual_around(const double *d, size_t n, size_t i) {
    double near[10];
    size_t m = 0;
    for (size_t k = i < 7 ? 0 : i - 7; k < n && k <= i + 7; k++)
        if (k + 2 < i || k > i + 2) near[m++] = d[k];
    return clsi_median(m, near);
}

static void outliers_of(const double *x, size_t n, double *d, double *work, cls_column_facts *f) {
    if (n < 16) return;
    for (size_t i = 2; i + 2 < n; i++) d[i - 2] = departure(x, i);
    size_t m = n - 4;
    memcpy(work, d, m * sizeof *d);
    double limit = fmax(fmax(10 * clsi_median(m, work) / 0.67448975, 4 * f->quantum), 8 * f->noise);
    limit = fmax(limit, 1e-9 * (f->max - f->min));
    for (size_t i = 1; i + 1 < m; i++)
        f->outliers += d[i] > limit && d[i] > 1.3 * d[i - 1] && d[i] > 1.3 * d[i + 1] &&
                       d[i] > 8 * usual_around(d, m, i);
}

static void wraps_of(const double *x, size_t n, double *work, cls_column_facts *f) {
    if (n < 3) return;
    for (size_t i = 1; i < n; i++) work[i - 1] = fabs(x[i] - x[i - 1]);
    double usual = clsi_median(n - 1, work);
    static const double turns[] = {TWO_PI, 360};
    for (size_t k = 0; k < 2; k++) {
        size_t count = 0;
        if (!(usual < turns[k] / 6) || f->max - f->min > 1.01 * turns[k]) continue;
        for (size_t i = 1; i < n; i++)
            count += fabs(fabs(x[i] - x[i - 1]) - turns[k]) < 0.15 * turns[k];
        if (count) f->wraps = count, f->turn = turns[k];
    }
}

cls_status cls_table_inspect_column(const cls_table *t, size_t column, cls_column_facts *out,
                                    cls_error *error) {
    NEED(error, t);
    if (column >= cls_table_columns(t))
        return clsi_fail(error, CLS_USAGE, "%s: there are only %zu", __func__,
                         (size_t)cls_table_columns(t));
    NEED(error, out);
    *out = (cls_column_facts){0};
    if (column >= t->n_columns)
        return clsi_fail(error, CLS_USAGE, "there is no column %zu; the table has %zu", column,
                         t->n_columns);
    const double *x = t->columns[column];
    size_t n = t->rows;
    double *work = clsi_calloc(2 * n + 2, sizeof *work);
    if (!work) return clsi_no_memory(error);
    range_of(x, n, out);
    out->rises = n > 1;
    for (size_t i = 1; i < n; i++) out->rises &= x[i] > x[i - 1];
    if (n && !out->constant) {
        quantum_of(x, n, work, out);
        noise_of(x, n, work, work + n + 1, out);
        outliers_of(x, n, work, work + n + 1, out);
        wraps_of(x, n, work, out);
    }
    free(work);
    return CLS_OK;
}

/* ---- times ---- */

/* The spacings within trajectories, in the order of the file; their number. */
static size_t spacings(const double *time, const double *id, size_t rows, cls_time_facts *f,
                       double *out) {
    size_t n = 0;
    f->trajectories = rows > 0;
    for (size_t i = 1; i < rows; i++) {
        if (id && id[i] != id[i - 1]) {
            f->trajectories++;
            continue;
        }
        out[n] = time[i] - time[i - 1];
        f->duplicates += out[n] == 0;
        f->backwards += !(out[n] > 0);
        if (out[n] > f->widest) f->widest = out[n], f->widest_after = time[i - 1];
        n++;
    }
    return n;
}

static void look_at_spacings(double *gap, size_t n, cls_time_facts *f) {
    double squares = 0;
    size_t ordinary = 0;
    clsi_sort(n, gap);
    f->spacing_min = gap[0];
    f->spacing = gap[n / 2];
    f->spacing_max = gap[n - 1];
    for (size_t i = 0; i < n; i++) {
        if (gap[i] > 1.5 * f->spacing) {
            f->gaps++;
            f->missing += (size_t)fmin(nearbyint(gap[i] / f->spacing) - 1, 1e15);
        } else if (gap[i] > 0) {
            squares += (gap[i] - f->spacing) * (gap[i] - f->spacing);
            ordinary++;
        }
    }
    f->jitter = ordinary ? sqrt(squares / (double)ordinary) : 0;
}

static cls_status look_at_times(const cls_table *t, cls_time_facts *f, cls_error *error) {
    int k = clsi_table_time(t), id = cls_table_find(t, "trajectory");
    *f = (cls_time_facts){.known = k >= 0 && t->rows > 0};
    if (!f->known) return CLS_OK;
    double *gap = clsi_calloc(t->rows, sizeof *gap);
    if (!gap) return clsi_no_memory(error);
    const double *time = t->columns[k];
    size_t n = spacings(time, id < 0 ? NULL : t->columns[id], t->rows, f, gap);
    cls_column_facts range = {0};
    range_of(time, t->rows, &range);
    f->first = range.min;
    f->last = range.max;
    if (n) look_at_spacings(gap, n, f);
    free(gap);
    return CLS_OK;
}

/* Rows of a trajectory need not stand together in the file. */
cls_status cls_table_inspect_time(const cls_table *t, cls_time_facts *out, cls_error *error) {
    NEED(error, t);
    NEED(error, out);
    cls_table *grouped;
    cls_status status = cls_table_group(t, &grouped, error);
    if (!status) status = look_at_times(grouped ? grouped : t, out, error);
    cls_table_free(&grouped);
    return status;
}
