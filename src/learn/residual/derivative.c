/* The derivative loss: what the equations say about the rates, at the data's states, against
 * derivatives of the data.
 *
 *     r = (dy/dz z' - y'(z, t; theta)) / size,   y = (q, p, S)
 *
 * with z' measured (columns d.NAME) or the derivative of a polynomial through the neighbours: of
 * degree 4 through five points, of degree 3 through up to fifteen where the data are noisy. This is
 * the loss of Hamiltonian neural networks (ports.md); it needs no scheme and no small steps when z'
 * is measured, and it is at the mercy of the estimate when it is not: noise divided by h, and an
 * error of order h^4 without noise. The size of an equation is the root mean square of z' there.
 *
 * When nothing in the equations is known, all parts scaled down fit better and better: rows are
 * then divided by the scale that the mean of p.v by that of v.v gives (residual.c). */
#include "learn/residual/derivative.h"
#include "base/base.h"
#include "expr/program.h"
#include "system/dense.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ---- derivatives of the data ---- */

enum { DEGREE = 4, NOISY_DEGREE = 3, FEW = 5, MANY = 15 };

/* d/dt at t[i] of the polynomial of this degree fitted to n points. */
static double slope_at(size_t n, const double *t, const double *z, size_t i, size_t degree) {
    double N[(DEGREE + 1) * (DEGREE + 1)] = {0}, b[DEGREE + 1] = {0}, half = t[n - 1] - t[0];
    size_t m = degree + 1, pivot[DEGREE + 1];
    for (size_t k = 0; k < n; k++) {
        double x = (t[k] - t[i]) / half, power[DEGREE + 1] = {1};
        for (size_t a = 1; a < m; a++) power[a] = power[a - 1] * x;
        for (size_t a = 0; a < m; a++) {
            b[a] += power[a] * (z[k] - z[i]);
            for (size_t c = 0; c < m; c++) N[a * m + c] += power[a] * power[c];
        }
    }
    if (clsi_lu_factor(m, N, pivot)) return NAN;
    clsi_lu_solve(m, N, pivot, b);
    return b[1] / half;
}

static void estimate(const clsi_points *p, size_t begin, size_t end, size_t k, int noisy,
                     double *out) {
    size_t length = end - begin, n = noisy ? MANY : FEW, degree = noisy ? NOISY_DEGREE : DEGREE;
    if (n > length) n = length;
    if (degree > n - 1) degree = n - 1;
    for (size_t i = begin; i < end; i++) {
        size_t first = i - begin < n / 2 ? begin : i - n / 2;
        if (first + n > end) first = end - n;
        out[i] = slope_at(n, p->time + first, p->z + k * p->n + first, i - first, degree);
    }
}

cls_status clsi_estimate_rates(const clsi_points *p, double *out, cls_error *error) {
    if (p->rate) {
        memcpy(out, p->rate, p->nz * p->n * sizeof *out);
        return CLS_OK;
    }
    for (size_t k = 0; k < p->nz; k++) {
        int noisy = clsi_points_noise(p, k) > 0;
        for (size_t g = 0; g < p->n_trained; g++)
            estimate(p, p->trained[2 * g], p->trained[2 * g + 1], k, noisy, out + k * p->n);
        for (size_t g = 0; g < p->n_held; g++)
            estimate(p, p->held[2 * g], p->held[2 * g + 1], k, noisy, out + k * p->n);
    }
    for (size_t g = 0; g < p->n_trained; g++)
        for (size_t k = 0; k < p->nz; k++)
            for (size_t i = p->trained[2 * g]; i < p->trained[2 * g + 1]; i++)
                if (!isfinite(out[k * p->n + i]))
                    return clsi_fail(error, CLS_DATA,
                                     "the derivative at time %g cannot be estimated: the times are "
                                     "too close together; give columns d.NAME",
                                     p->time[i]);
    return CLS_OK;
}

/* ---- the problem ---- */

struct clsi_derivative {
    const clsi_rates *rates;
    const clsi_residual *residual;
    size_t n, nz; /* points */
    double *in;   /* (n, 2 nz + 1): z, t, z' */
    double *size; /* (n_rows): 1 / size of each equation */
};

static cls_status take_points(clsi_derivative *d, const clsi_points *p, const double *rate,
                              int held, size_t most, cls_error *error) {
    const size_t *ends = held ? p->held : p->trained;
    size_t n_ends = held ? p->n_held : p->n_trained, all = 0, seen = 0, nz = p->nz;
    for (size_t g = 0; g < n_ends; g++) all += ends[2 * g + 1] - ends[2 * g];
    size_t wanted = most && most < all ? most : all;
    d->in = clsi_calloc(wanted * (2 * nz + 1), sizeof *d->in);
    if (!d->in) return clsi_no_memory(error);
    for (size_t g = 0; g < n_ends; g++)
        for (size_t i = ends[2 * g]; i < ends[2 * g + 1]; i++, seen++) {
            if ((seen + 1) * wanted / all == seen * wanted / all) continue;
            double *in = d->in + d->n++ * (2 * nz + 1);
            for (size_t k = 0; k < nz; k++) {
                in[k] = p->z[k * p->n + i];
                in[nz + 1 + k] = rate[k * p->n + i];
            }
            in[nz] = p->time[i];
        }
    return CLS_OK;
}

static void set_sizes(clsi_derivative *d, const clsi_points *p, const double *rate) {
    for (size_t e = 0; e < d->rates->n_rows; e++) {
        size_t k = d->rates->row[e], count = 0;
        double sum = 0;
        for (size_t g = 0; g < p->n_trained; g++)
            for (size_t i = p->trained[2 * g]; i < p->trained[2 * g + 1]; i++, count++)
                sum += rate[k * p->n + i] * rate[k * p->n + i];
        d->size[e] = sum > 0 ? 1 / sqrt(sum / (double)count) : 1;
    }
}

cls_status clsi_derivative_create(const clsi_points *p, const clsi_rates *rates,
                                  const clsi_residual *residual, int held, size_t most,
                                  clsi_derivative **out, cls_error *error) {
    clsi_derivative *d = *out = clsi_calloc(1, sizeof *d);
    double *rate = clsi_calloc(p->nz * p->n, sizeof *rate);
    cls_status status = d && rate ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) {
        *d = (clsi_derivative){.rates = rates, .residual = residual, .nz = p->nz};
        d->size = clsi_calloc(rates->n_rows, sizeof *d->size);
        if (!d->size) status = clsi_no_memory(error);
    }
    if (status == CLS_OK) status = clsi_estimate_rates(p, rate, error);
    if (status == CLS_OK) status = take_points(d, p, rate, held, most, error);
    if (status == CLS_OK) set_sizes(d, p, rate);
    free(rate);
    if (status != CLS_OK) clsi_derivative_free(out);
    return status;
}

void clsi_derivative_free(clsi_derivative **derivative) {
    clsi_derivative *d = *derivative;
    if (!d) return;
    free(d->in);
    free(d->size);
    free(d);
    *derivative = NULL;
}

size_t clsi_derivative_points(const clsi_derivative *d) {
    return d->n;
}

/* ---- blocks of points side by side ---- */

/* Work of a program with theta in it. */
static double *open_lanes(const cls_program *p, const double *theta) {
    double *work = clsi_calloc(clsi_lanes_size(p), sizeof *work);
    if (!work) return NULL;
    clsi_lanes_prepare(p, work);
    clsi_lanes_set(p, work, theta);
    return work;
}

/* Point number point[i] into lane i; idle lanes repeat the first. */
static void put_points(const clsi_derivative *d, const cls_program *p, double *work, size_t n,
                       const size_t *point) {
    size_t width = 2 * d->nz + 1;
    for (size_t k = 0; k < width; k++) {
        double *row = clsi_lanes_input(p, work, k);
        for (size_t i = 0; i < CLSI_LANES; i++) row[i] = d->in[point[i < n ? i : 0] * width + k];
    }
}

static void run(const cls_program *p, size_t n, double *work) {
    clsi_lanes_early(p, n, work);
    clsi_lanes_late(p, n, work);
}

/* Rows [first, first + count) of a list (NULL: in order), unscaled. */
static int rows_of(const clsi_derivative *d, double *work, size_t count, const size_t *list,
                   size_t first, double *r) {
    const cls_program *p = d->rates->defect;
    size_t E = d->rates->n_rows;
    for (size_t at = 0; at < count; at += CLSI_LANES) {
        size_t n = count - at < CLSI_LANES ? count - at : CLSI_LANES, point[CLSI_LANES];
        for (size_t i = 0; i < n; i++) point[i] = (list ? list[at + i] : first + at + i) / E;
        put_points(d, p, work, n, point);
        run(p, n, work);
        for (size_t i = 0; i < n; i++) {
            size_t e = (list ? list[at + i] : first + at + i) % E;
            r[at + i] = d->size[e] * clsi_lanes_output(p, work, e)[i];
        }
    }
    return 1;
}

/* Their derivatives in theta: J (count, P) where wanted, else the sum of r dr/dtheta in g. */
static void slopes_of(const clsi_derivative *d, double *work, size_t count, const size_t *list,
                      size_t first, const double *r, double *J, double *g) {
    const cls_program *p = d->rates->reverse;
    size_t E = d->rates->n_rows, P = d->rates->n_theta, mu = 2 * d->nz + 1 + P;
    for (size_t at = 0; at < count; at += CLSI_LANES) {
        size_t n = count - at < CLSI_LANES ? count - at : CLSI_LANES, point[CLSI_LANES];
        for (size_t i = 0; i < n; i++) point[i] = (list ? list[at + i] : first + at + i) / E;
        put_points(d, p, work, n, point);
        for (size_t e = 0; e < E; e++)
            memset(clsi_lanes_input(p, work, mu + e), 0, CLSI_LANES * sizeof(double));
        for (size_t i = 0; i < n; i++) {
            size_t e = (list ? list[at + i] : first + at + i) % E;
            clsi_lanes_input(p, work, mu + e)[i] = J ? d->size[e] : d->size[e] * r[at + i];
        }
        run(p, n, work);
        if (J) memset(J + at * P, 0, n * P * sizeof *J);
        for (size_t i = 0; J && i < n; i++) clsi_lanes_slopes(p, work, i, J + (at + i) * P);
        if (g) clsi_lanes_add(p, n, work, g);
    }
}

/* ---- the scale ---- */

/* s and ds/dtheta; 1 and nothing where the scale is not free. */
static cls_status scale_of(const clsi_derivative *d, const double *theta, double *s, double *row) {
    double pv, vv;
    *s = 1;
    memset(row, 0, d->rates->n_theta * sizeof *row);
    if (!d->residual || !d->residual->scale_free) return CLS_OK;
    cls_status status = clsi_residual_scale(d->residual, theta, 0, row, &pv, &vv);
    *s = pv / vv;
    for (size_t j = 0; j < d->rates->n_theta; j++) row[j] /= vv;
    return status == CLS_OK && !(*s > 0) ? CLS_NUMERIC : status;
}

/* ---- as the optimisers see it ---- */

enum { SHARDS = 16 };

/* Shards of the rows in a fixed order; J or g (one for each shard) when wanted. */
static cls_status evaluate(const clsi_derivative *d, const double *theta, size_t count,
                           const size_t *list, double *r, double *J, double *g) {
    size_t P = d->rates->n_theta;
    int failed = 0;
#pragma omp parallel reduction(| : failed) if (count > 64)
    {
        double *values = open_lanes(d->rates->defect, theta);
        double *slopes = J || g ? open_lanes(d->rates->reverse, theta) : NULL;
        failed = !values || ((J || g) && !slopes);
#pragma omp for schedule(dynamic)
        for (size_t s = 0; s < SHARDS; s++) {
            size_t begin = count * s / SHARDS, n = count * (s + 1) / SHARDS - begin;
            const size_t *own = list ? list + begin : NULL;
            if (failed || !n) continue;
            rows_of(d, values, n, own, begin, r + begin);
            if (slopes)
                slopes_of(d, slopes, n, own, begin, r + begin, J ? J + begin * P : NULL,
                          g ? g + s * P : NULL);
        }
        free(values);
        free(slopes);
    }
    return failed ? CLS_MEMORY : CLS_OK;
}

static cls_status problem_jacobian(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *r, double *J) {
    const clsi_derivative *d = p->context;
    size_t P = d->rates->n_theta;
    double s, *row = clsi_calloc(P, sizeof *row);
    cls_status status = row ? scale_of(d, theta, &s, row) : CLS_MEMORY;
    if (status == CLS_OK) status = evaluate(d, theta, count, rows, r, J, NULL);
    for (size_t i = 0; i < count && status == CLS_OK; i++) {
        r[i] /= s;
        for (size_t j = 0; J && j < P; j++) J[i * P + j] = (J[i * P + j] - r[i] * row[j]) / s;
    }
    free(row);
    return status;
}

static cls_status problem_residual(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *r) {
    return problem_jacobian(p, theta, count, rows, r, NULL);
}

static cls_status problem_gradient(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *loss, double *gradient) {
    const clsi_derivative *d = p->context;
    size_t P = d->rates->n_theta;
    double s, sum = 0, *row = clsi_calloc(P, sizeof *row), *r = clsi_calloc(count, sizeof *r);
    double *g = clsi_calloc(SHARDS * P, sizeof *g);
    cls_status status = row && r && g ? scale_of(d, theta, &s, row) : CLS_MEMORY;
    if (status == CLS_OK) status = evaluate(d, theta, count, rows, r, NULL, g);
    if (status == CLS_OK) {
        for (size_t i = 0; i < count; i++) sum += r[i] * r[i];
        *loss = sum / (s * s) / (2 * (double)count);
        for (size_t j = 0; j < P; j++) {
            double total = 0;
            for (size_t k = 0; k < SHARDS; k++) total += g[k * P + j];
            gradient[j] = (total - sum / s * row[j]) / (s * s) / (double)count;
        }
    }
    free(row);
    free(r);
    free(g);
    return status;
}

void clsi_derivative_problem(clsi_derivative *d, clsi_problem *out) {
    *out = (clsi_problem){.context = d,
                          .n_parameters = d->rates->n_theta,
                          .n_rows = d->n * d->rates->n_rows,
                          .group = d->rates->n_rows,
                          .residual = problem_residual,
                          .jacobian = problem_jacobian,
                          .gradient = problem_gradient};
}
