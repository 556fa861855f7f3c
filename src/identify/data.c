/* Tables as samples, pieces without gaps, and probes: the places where equations are written.
 *
 * A piece ends with its table or trajectory, where time does not increase, and where two samples
 * are further apart than GAP times the usual step: nothing is bridged. Measured rates (columns
 * d.NAME) make one probe a sample. Otherwise a window slides over each piece (qp_window.c); its
 * points and degree are chosen by the error they promise, noise and truncation together:
 * noise by what no polynomial explains, truncation by the next degree on the same window.
 * Linear in the samples. Pieces shorter than the window get a smaller one, down to three points. */
#include "data/table.h"
#include "identify/identify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double GAP = 2.5;

/* ---- columns ---- */

static const double *column(const cls_table *t, const char *prefix, const char *name) {
    char text[128];
    snprintf(text, sizeof text, "%s%s", prefix, name);
    int c = cls_table_find(t, text);
    return c < 0 ? NULL : cls_table_column(t, (size_t)c);
}

static cls_status copy_column(const char *file, const char *name, size_t rows, const double *from,
                              double *to, cls_error *error) {
    for (size_t i = 0; i < rows; i++)
        if (!isfinite(from[i]))
            return clsi_fail(error, CLS_DATA, "%s: row %zu: %s is %g, which is not a finite number",
                             file, i + 1, name, from[i]);
    memcpy(to, from, rows * sizeof *to);
    return CLS_OK;
}

static cls_status copy_table(clsi_qp_data *d, const cls_table *t, const char *file, size_t at,
                             cls_error *error) {
    size_t rows = cls_table_rows(t);
    int time = clsi_table_time(t);
    if (time < 0) return clsi_no_column(t, file, "time", CLS_DATA, error);
    cls_status status =
        copy_column(file, "time", rows, cls_table_column(t, (size_t)time), d->time + at, error);
    for (size_t k = 0; k < d->nz && status == CLS_OK; k++) {
        const char *name = cls_system_state_name(d->s, k);
        const double *values = column(t, "", name), *rates = column(t, "d.", name);
        if (!values) return clsi_no_column(t, file, name, CLS_DATA, error);
        status = copy_column(file, name, rows, values, d->z + k * d->n + at, error);
        for (size_t i = 0; i < rows; i++) d->rate[k * d->n + at + i] = rates ? rates[i] : NAN;
    }
    for (size_t l = 0; l < d->m && status == CLS_OK; l++) {
        const double *values = column(t, "", d->s->temperature[l].name);
        for (size_t i = 0; i < rows; i++) d->theta[l * d->n + at + i] = values ? values[i] : NAN;
    }
    return status;
}

/* ---- pieces ---- */

static double usual_step(const clsi_qp_data *d, double *scratch) {
    size_t n = 0;
    for (size_t i = 1; i < d->n; i++)
        if (d->time[i] > d->time[i - 1]) scratch[n++] = d->time[i] - d->time[i - 1];
    return clsi_median(n, scratch);
}

static cls_status find_runs(clsi_qp_data *d, size_t n_tables, const cls_table *const *tables,
                            cls_error *error) {
    double *scratch = clsi_calloc(d->n + 1, sizeof *scratch);
    d->run = clsi_calloc(d->n + 2, sizeof *d->run);
    if (!scratch || !d->run) {
        free(scratch);
        return clsi_no_memory(error);
    }
    double longest = GAP * usual_step(d, scratch);
    size_t at = 0;
    for (size_t k = 0; k < n_tables; k++) {
        const double *group = column(tables[k], "", "trajectory");
        for (size_t i = 0; i < cls_table_rows(tables[k]); i++, at++) {
            double step = i ? d->time[at] - d->time[at - 1] : 0;
            int same = i && step > 0 && step <= longest && (!group || group[i] == group[i - 1]);
            if (!same) d->run[d->n_runs++] = at;
        }
    }
    d->run[d->n_runs] = d->n;
    free(scratch);
    return CLS_OK;
}

/* ---- weights, kept while the spacing stays ---- */

typedef struct kept {
    size_t n, degree;
    double t[CLSI_WINDOW], w[CLSI_WINDOW], c[CLSI_WINDOW];
} kept;

/* 1 when the points lie as they did; else they are noted. */
static int same_spacing(kept *k, size_t n, size_t degree, const double *t) {
    int same = k->n == n && k->degree == degree;
    for (size_t i = 0; i < n && same; i++)
        same = fabs(t[i] - t[0] - k->t[i]) <= 1e-9 * (t[n - 1] - t[0]);
    if (same) return 1;
    k->n = n;
    k->degree = degree;
    for (size_t i = 0; i < n; i++) k->t[i] = t[i] - t[0];
    return 0;
}

static void weights_at(kept *k, size_t n, const double *t, size_t degree, int weak) {
    if (!same_spacing(k, n, degree, t)) clsi_window_rates(n, t, degree, weak, k->w, k->c);
}

static double product(size_t n, const double *c, const double *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += c[i] * y[i];
    return sum;
}

/* ---- noise ---- */

/* Lowers noise (nz) to what windows of n points leave unexplained, root mean square. */
static void unexplained(clsi_qp_data *d, size_t n, double *sum) {
    kept at = {0};
    size_t count = 0;
    memset(sum, 0, d->nz * sizeof *sum);
    for (size_t r = 0; r < d->n_runs; r++)
        for (size_t i = d->run[r]; i + n <= d->run[r + 1]; i++, count++) {
            if (!same_spacing(&at, n, 0, d->time + i)) clsi_window_noise(n, d->time + i, at.c);
            for (size_t k = 0; k < d->nz; k++) {
                double out = product(n, at.c, d->z + k * d->n + i);
                sum[k] += out * out;
            }
        }
    for (size_t k = 0; k < d->nz && count; k++)
        d->noise[k] = fmin(d->noise[k], sqrt(sum[k] / (double)count));
}

/* Higher orders see less of the motion and the same of the noise: the least is the estimate. */
static void estimate_noise(clsi_qp_data *d, double *scratch) {
    for (size_t k = 0; k < d->nz; k++) d->noise[k] = INFINITY;
    for (size_t n = 4; n <= 10; n += 2) unexplained(d, n, scratch);
    for (size_t k = 0; k < d->nz; k++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < d->n; i++) mean += d->z[k * d->n + i] / (double)d->n;
        for (size_t i = 0; i < d->n; i++) {
            double x = d->z[k * d->n + i] - mean;
            square += x * x / (double)d->n;
        }
        d->spread[k] = sqrt(square);
        if (!isfinite(d->noise[k])) d->noise[k] = 0;
    }
}

/* ---- the window ---- */

/* The promised error of a window, relative to the rates, over windows spread through the data;
 * the largest over the states that move. INFINITY when it fits nowhere. */
static double promised(const clsi_qp_data *d, size_t n, size_t degree, int weak, double *scratch) {
    double *rate = scratch, *miss = rate + d->nz, *loud = miss + d->nz;
    kept own = {0}, next = {0};
    double worst = 0;
    size_t count = 0, stride = d->n / 200 + 1;
    memset(scratch, 0, 3 * d->nz * sizeof *scratch);
    for (size_t r = 0; r < d->n_runs; r++)
        for (size_t i = d->run[r]; i + n <= d->run[r + 1]; i += stride, count++) {
            weights_at(&own, n, d->time + i, degree, weak);
            weights_at(&next, n, d->time + i, degree + 2, weak);
            double size = product(n, own.c, own.c);
            double more = fmax(0, product(n, next.c, next.c) - size);
            for (size_t k = 0; k < d->nz; k++) {
                const double *y = d->z + k * d->n + i;
                double noise = d->noise[k] * d->noise[k];
                double x = product(n, own.c, y), e = product(n, next.c, y) - x;
                rate[k] += x * x;
                miss[k] += e * e - noise * more;
                loud[k] += noise * size;
            }
        }
    for (size_t k = 0; k < d->nz; k++)
        if (rate[k] > 0) worst = fmax(worst, (loud[k] + fmax(0, miss[k])) / rate[k]);
    return count >= 8 ? worst : INFINITY;
}

static void choose_window(clsi_qp_data *d, double *scratch) {
    static const size_t sizes[] = {5, 7, 9, 11, 13, 17, 21, 25, 31, 41};
    double best = INFINITY;
    d->points = 3;
    d->degree = 2;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t degree = 2; degree + 2 < sizes[i] && degree <= 8; degree += 2) {
            double error = promised(d, sizes[i], degree, d->rates == CLS_RATES_WEAK, scratch);
            if (!(error < best)) continue;
            best = error;
            d->points = sizes[i];
            d->degree = degree;
        }
}

/* ---- probes ---- */

static size_t window_of(const clsi_qp_data *d, size_t run) {
    size_t length = d->run[run + 1] - d->run[run];
    if (d->rates == CLS_RATES_MEASURED) return length ? 1 : 0;
    if (length >= d->points) return d->points;
    return length < 3 ? 0 : length - (length + 1) % 2;
}

/* `own` and `local` keep the weights of the last probe: its equations', and those of a derivative
 * at the middle. */
static void add_probe(clsi_qp_data *d, size_t first, size_t n, size_t at, kept *own, kept *local) {
    clsi_probe *p = &d->probe[d->n_probes];
    size_t degree = d->degree < n ? d->degree : n - 1;
    *p = (clsi_probe){first, n, at};
    double *w = d->weight + at, *c = w + n;
    w[0] = 1;
    if (n > 1) {
        weights_at(own, n, d->time + first, degree, d->rates == CLS_RATES_WEAK);
        weights_at(local, n, d->time + first, degree, 0);
        memcpy(w, own->w, n * sizeof *w);
        memcpy(c, own->c, n * sizeof *c);
    }
    for (size_t k = 0; k < d->nz; k++) {
        const double *y = d->z + k * d->n + first;
        double *rate = d->rate + k * d->n + first + n / 2;
        if (n > 1) *rate = product(n, local->c, y);
        d->target[k * d->n + d->n_probes] = n > 1 ? product(n, c, y) : *rate;
    }
    d->n_probes++;
}

static cls_status make_probes(clsi_qp_data *d, cls_error *error) {
    size_t room = 0, at = 0;
    for (size_t r = 0; r < d->n_runs; r++)
        room += 2 * window_of(d, r) * (d->run[r + 1] - d->run[r]);
    d->probe = clsi_calloc(d->n + 1, sizeof *d->probe);
    d->weight = clsi_calloc(room + 1, sizeof *d->weight);
    d->target = clsi_calloc(d->nz * d->n + 1, sizeof *d->target);
    if (!d->probe || !d->weight || !d->target) return clsi_no_memory(error);
    if (d->rates != CLS_RATES_MEASURED)
        for (size_t i = 0; i < d->nz * d->n; i++) d->rate[i] = NAN;
    kept own = {0}, local = {0};
    for (size_t r = 0; r < d->n_runs; r++) {
        size_t n = window_of(d, r);
        for (size_t i = d->run[r]; n && i + n <= d->run[r + 1]; i++, at += 2 * n)
            add_probe(d, i, n, at, &own, &local);
    }
    if (d->n_probes == 0)
        return clsi_fail(error, CLS_DATA,
                         "no three neighbouring rows of one trajectory with increasing time: there "
                         "is nothing to learn from");
    return CLS_OK;
}

/* ---- characteristic values ---- */

static double characteristic(const clsi_qp_data *d, size_t first, size_t n) {
    double mean = 0, square = 0, count = (double)d->n_probes;
    for (size_t i = 0; i < d->n_probes; i++) {
        double norm = 0;
        for (size_t k = first; k < first + n; k++) norm = hypot(norm, d->target[k * d->n + i]);
        mean += norm / count;
        square += norm * norm / count;
    }
    double size = mean + sqrt(fmax(0, square - mean * mean));
    return size > 0 ? size : 1;
}

static void measure(clsi_qp_data *d) {
    const cls_system *s = d->s;
    double count = 0, square = 0;
    d->size[0] = characteristic(d, 0, s->nq);
    d->size[1] = characteristic(d, s->nq, s->n);
    d->size[2] = characteristic(d, s->nq + s->n, s->m);
    for (size_t i = 0; i < d->m * d->n; i++)
        if (isfinite(d->theta[i])) {
            d->level += d->theta[i];
            count++;
        }
    if (count > 0) d->level /= count;
    for (size_t i = 0; i < d->m * d->n; i++)
        if (isfinite(d->theta[i])) square += pow(d->theta[i] - d->level, 2);
    d->swing = count > 0 ? sqrt(square / count) : 0;
    if (!(d->swing > 1e-9 * d->level)) d->swing = d->level > 0 ? d->level : 1;
}

double clsi_qp_scale(const clsi_qp_data *d, size_t k, const clsi_probe *p) {
    const cls_system *s = d->s;
    size_t block = k < s->nq ? 0 : k < s->nq + s->n ? 1 : 2;
    const double *c = d->weight + p->weights + p->count;
    double loud = p->count > 1 ? d->noise[k] * sqrt(product(p->count, c, c)) : 0;
    return hypot(d->size[block], 100 * loud); /* below a hundredth of the rates noise is quiet */
}

/* ---- all together ---- */

static cls_status settle_rates(clsi_qp_data *d, cls_rates wanted, cls_error *error) {
    int complete = 1;
    for (size_t i = 0; i < d->nz * d->n; i++) complete &= isfinite(d->rate[i]) != 0;
    if (wanted == CLS_RATES_MEASURED && !complete)
        return clsi_fail(error, CLS_DATA,
                         "the rates are not all measured: the data need a column d.%s and the like "
                         "for every state",
                         cls_system_state_name(d->s, 0));
    d->rates = wanted == CLS_RATES_AUTO ? complete ? CLS_RATES_MEASURED : CLS_RATES_WEAK : wanted;
    d->points = d->degree = 1;
    double *scratch = clsi_calloc(3 * d->nz + 1, sizeof *scratch);
    if (!scratch) return clsi_no_memory(error);
    estimate_noise(d, scratch);
    if (d->rates != CLS_RATES_MEASURED) choose_window(d, scratch);
    free(scratch);
    return CLS_OK;
}

static cls_status fill(clsi_qp_data *d, size_t n_tables, const cls_table *const *tables,
                       const char *const *names, cls_rates rates, cls_error *error) {
    size_t at = 0;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < n_tables && status == CLS_OK; i++) {
        status = copy_table(d, tables[i], names[i], at, error);
        at += cls_table_rows(tables[i]);
    }
    if (status == CLS_OK) status = find_runs(d, n_tables, tables, error);
    if (status != CLS_OK) return status;
    status = settle_rates(d, rates, error);
    if (status == CLS_OK) status = make_probes(d, error);
    if (status == CLS_OK) measure(d);
    return status;
}

cls_status clsi_qp_data_create(const cls_system *s, size_t n_tables, const cls_table *const *tables,
                               const char *const *names, cls_rates rates, clsi_qp_data **out,
                               cls_error *error) {
    *out = NULL;
    clsi_qp_data *d = clsi_calloc(1, sizeof *d);
    if (!d) return clsi_no_memory(error);
    d->s = s;
    d->nz = s->form->nz;
    d->m = s->m;
    for (size_t i = 0; i < n_tables; i++) d->n += cls_table_rows(tables[i]);
    d->time = clsi_calloc(d->n + 1, sizeof *d->time);
    d->z = clsi_calloc(d->nz * d->n + 1, sizeof *d->z);
    d->rate = clsi_calloc(d->nz * d->n + 1, sizeof *d->rate);
    d->theta = clsi_calloc(d->m * d->n + 1, sizeof *d->theta);
    d->noise = clsi_calloc(d->nz, sizeof *d->noise);
    d->spread = clsi_calloc(d->nz, sizeof *d->spread);
    cls_status status = d->time && d->z && d->rate && d->theta && d->noise && d->spread
                            ? fill(d, n_tables, tables, names, rates, error)
                            : clsi_no_memory(error);
    if (status == CLS_OK)
        *out = d;
    else
        clsi_qp_data_free(&d);
    return status;
}

void clsi_qp_data_free(clsi_qp_data **data) {
    clsi_qp_data *d = *data;
    if (!d) return;
    free(d->time), free(d->z), free(d->theta), free(d->rate), free(d->run);
    free(d->probe), free(d->weight), free(d->target), free(d->noise), free(d->spread);
    free(d);
    *data = NULL;
}
