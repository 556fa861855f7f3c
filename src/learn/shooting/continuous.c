/* The continuous adjoint (the EPHS thesis, section 5.3: (5.12) to (5.15)): the gradient of a loss along a
 * path as another motion, backwards in time,
 *
 *     a' = -f_z^T a,   a jumps by dloss/dz_n at the data,   dloss/dtheta = integral of a^T f_theta.
 *
 * As the thesis does it: the path is the stored one, interpolated (a cubic through states and rates
 * of both ends of a step), and the equations for a are solved by the implicit midpoint rule, which
 * is a small linear system here, with the integral by the same rule. What comes out is the
 * derivative of the motion, not of the numbers that were computed: it differs from the exact
 * derivative of the simulated loss by O(h^2), and an optimiser that asks for loss and gradient gets
 * two things that do not belong together. (With the middle of the two states in the place of the
 * interpolation the midpoint rule gives the discrete adjoint of itself to round-off: symplectic
 * methods do.) It is here to be compared with; paths.c has the exact one. Costs three passes of a
 * network where the discrete adjoint costs two. */
#include "learn/shooting/continuous.h"
#include "base/base.h"
#include "system/dense.h"
#include <stdlib.h>
#include <string.h>

struct clsi_backward {
    clsi_current *current;
    size_t nz, most;
    double *dot;            /* (most + 1, nz) rates at the states */
    double *mid, *rate, *t; /* (most, nz), (most, nz), (most): in the middle of steps */
    double *M, *slope, *mu; /* (most, nz, nz), (most, nz, nz), (most, nz) */
    double *A, *left;       /* (nz, nz) each */
    double *a, *mean;       /* (nz) each */
    size_t *pivot, *order;  /* (most, nz), (nz) */
    double *block;
};

static double *carve(double **at, size_t n) {
    double *here = *at;
    *at += n;
    return here;
}

cls_status clsi_backward_create(const clsi_flow *f, size_t most, clsi_backward **out,
                                cls_error *error) {
    clsi_backward *b = *out = clsi_calloc(1, sizeof *b);
    if (!b) return clsi_no_memory(error);
    size_t nz = b->nz = f->rates->nz;
    b->most = most;
    b->block =
        clsi_calloc(most * (2 * nz * nz + 4 * nz + 1) + 2 * nz * nz + 3 * nz, sizeof(double));
    b->pivot = clsi_calloc((most + 1) * nz, sizeof *b->pivot);
    cls_status status =
        b->block && b->pivot ? clsi_current_create(f, &b->current, error) : clsi_no_memory(error);
    if (status != CLS_OK) {
        clsi_backward_free(out);
        return status;
    }
    double *at = b->block;
    b->dot = carve(&at, (most + 1) * nz);
    b->mid = carve(&at, most * nz);
    b->rate = carve(&at, most * nz);
    b->t = carve(&at, most);
    b->M = carve(&at, most * nz * nz);
    b->slope = carve(&at, most * nz * nz);
    b->mu = carve(&at, most * nz);
    b->A = carve(&at, nz * nz);
    b->left = carve(&at, nz * nz);
    b->a = carve(&at, nz);
    b->mean = carve(&at, nz);
    b->order = b->pivot + most * nz;
    return CLS_OK;
}

void clsi_backward_free(clsi_backward **backward) {
    clsi_backward *b = *backward;
    if (!b) return;
    clsi_current_free(&b->current);
    free(b->block);
    free(b->pivot);
    free(b);
    *backward = NULL;
}

void clsi_backward_set(clsi_backward *b, const double *theta) {
    clsi_current_set(b->current, theta);
}

/* ---- the middle of steps ---- */

/* Rows first .. of an array of rows. */
static size_t rows_of(double *array, size_t width, size_t first, size_t end, double **rows) {
    size_t n = end - first < CLSI_LANES ? end - first : CLSI_LANES;
    for (size_t i = 0; i < n; i++) rows[i] = array + (first + i) * width;
    return n;
}

/* States in the middle of steps by the cubic through both ends. */
static int interpolate(clsi_backward *b, size_t steps, const double *const *z, const double *t) {
    size_t nz = b->nz;
    for (size_t at = 0; at <= steps; at += CLSI_LANES) {
        double *to[CLSI_LANES];
        size_t lanes = rows_of(b->dot, nz, at, steps + 1, to);
        if (!clsi_current_rates(b->current, lanes, z + at, t + at, to, NULL, NULL)) return 0;
    }
    for (size_t n = 0; n < steps; n++) {
        double h = t[n + 1] - t[n], *left = b->dot + n * nz, *right = left + nz;
        b->t[n] = t[n] + h / 2;
        for (size_t k = 0; k < nz; k++)
            b->mid[n * nz + k] = (z[n][k] + z[n + 1][k]) / 2 + h / 8 * (left[k] - right[k]);
    }
    return 1;
}

/* Rates there, and D_z. */
static int prepare(clsi_backward *b, size_t steps) {
    size_t nz = b->nz;
    for (size_t at = 0; at < steps; at += CLSI_LANES) {
        double *mid[CLSI_LANES], *rate[CLSI_LANES], *slope[CLSI_LANES], *M[CLSI_LANES];
        size_t *pivot[CLSI_LANES], lanes = rows_of(b->mid, nz, at, steps, mid);
        rows_of(b->rate, nz, at, steps, rate);
        rows_of(b->slope, nz * nz, at, steps, slope);
        rows_of(b->M, nz * nz, at, steps, M);
        for (size_t i = 0; i < lanes; i++) pivot[i] = b->pivot + (at + i) * nz;
        const double *const *read = (const double *const *)mid;
        if (!clsi_current_rates(b->current, lanes, read, b->t + at, rate, M, pivot)) return 0;
        clsi_current_slopes(b->current, lanes, read, b->t + at, (const double *const *)rate, slope);
    }
    return 1;
}

/* ---- backwards ---- */

/* A = f_z^T = -(M^-1 D_z)^T in the middle of step n: its rows are the columns of M^-1 D_z. */
static void transposed_slope(clsi_backward *b, size_t n) {
    size_t nz = b->nz;
    const double *slope = b->slope + n * nz * nz;
    for (size_t k = 0; k < nz; k++) {
        double *row = b->A + k * nz;
        for (size_t e = 0; e < nz; e++) row[e] = -slope[e * nz + k];
        clsi_lu_solve(nz, b->M + n * nz * nz, b->pivot + n * nz, row);
    }
}

/* a over a step by the midpoint rule, (1 - hA/2) a0 = (1 + hA/2) a1, and the mean of both. */
static int step_back(clsi_backward *b, double h) {
    size_t nz = b->nz;
    double *mean = b->mean;
    memcpy(mean, b->a, nz * sizeof *mean);
    for (size_t i = 0; i < nz; i++) {
        for (size_t j = 0; j < nz; j++) {
            b->left[i * nz + j] = (i == j) - h / 2 * b->A[i * nz + j];
            b->a[i] += h / 2 * b->A[i * nz + j] * mean[j];
        }
    }
    if (clsi_lu_factor(nz, b->left, b->order)) return 0;
    clsi_lu_solve(nz, b->left, b->order, b->a);
    for (size_t i = 0; i < nz; i++) mean[i] = (mean[i] + b->a[i]) / 2;
    return 1;
}

/* a^T f_theta = -mu^T D_theta with M^T mu = a. M itself is gone: its inverse column by column. */
static void multiplier(clsi_backward *b, size_t n, double h) {
    size_t nz = b->nz;
    double *mu = b->mu + n * nz, *column = b->left;
    for (size_t k = 0; k < nz; k++) {
        double sum = 0;
        for (size_t i = 0; i < nz; i++) column[i] = i == k;
        clsi_lu_solve(nz, b->M + n * nz * nz, b->pivot + n * nz, column);
        for (size_t i = 0; i < nz; i++) sum += column[i] * b->mean[i];
        mu[k] = -h * sum;
    }
}

int clsi_backward_run(clsi_backward *b, size_t steps, const double *const *z, const double *t,
                      const double *jump, double *gradient) {
    size_t nz = b->nz;
    if (!interpolate(b, steps, z, t) || !prepare(b, steps)) return 0;
    memset(b->a, 0, nz * sizeof *b->a);
    for (size_t n = steps; n-- > 0;) {
        double h = t[n + 1] - t[n];
        for (size_t k = 0; k < nz; k++) b->a[k] += jump[(n + 1) * nz + k];
        transposed_slope(b, n);
        if (!step_back(b, h)) return 0;
        multiplier(b, n, h);
    }
    for (size_t at = 0; at < steps; at += CLSI_LANES) {
        double *mid[CLSI_LANES], *rate[CLSI_LANES], *mu[CLSI_LANES];
        size_t lanes = rows_of(b->mid, nz, at, steps, mid);
        rows_of(b->rate, nz, at, steps, rate);
        rows_of(b->mu, nz, at, steps, mu);
        clsi_current_add(b->current, lanes, (const double *const *)mid, b->t + at,
                         (const double *const *)rate, (const double *const *)mu, gradient);
    }
    return 1;
}
