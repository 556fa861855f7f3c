/* Paths: windows of the data simulated from their starts, and the derivatives of what comes out.
 *
 * A window of N intervals is c N steps of the scheme (c: steps in an interval). With B_n and L_n of
 * its steps (simulate/sensitive.c) the derivatives of a loss are (docs/physics/ports.md)
 *
 *     a_n = s_n + B_n^T a_{n+1},    dLoss/dtheta = sum_n d(lambda_n.r + mu_n.next)/dtheta,
 *     mu_n = a_{n+1},  lambda_n = L_n^T a_{n+1}
 *
 * with s_n the loss's own derivative at the state n: the discrete adjoint, exact to round-off. For
 * Jacobians the sensitivities go forward instead, Z_{n+1} = B_n Z_n + A_n, nz reverse walks a step.
 *
 * Free starts: the start of a window is the one that fits its data best, measured point included
 * (Gauss-Newton, the derivative in the start is a product of B's). So the start is a function of
 * theta and no unknown of the optimiser: variable projection (Golub & Pereyra 1973). Seeds and rows
 * are projected on the complement of the start's columns (Kaufman 1975); the gradient of the whole
 * loss is then exact, because the loss does not change to first order when the start moves. */
#include "base/base.h"
#include "learn/shooting/continuous.h"
#include "learn/shooting/shooting.h"
#include "system/dense.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A state that is not observed is held near its guess by a row of this weight (in units of its
 * spread): enough to choose among starts that fit equally well, too little to pull others. */
static const double PRIOR = 1e-4;

typedef struct path {
    const clsi_window *window;
    size_t steps, rows;
    int fine;
    double *record, *end;  /* (steps, record size), (nz) */
    double *B, *L;         /* (steps, nz, nz), (steps, nz, k) */
    double *start, *r;     /* (nz), (rows): the caller's */
    double *Jz;            /* (rows, nz): free starts only */
    double *N;             /* (nz, nz): factors of Jz^T Jz */
    size_t *pivot;         /* (nz) of these */
    double *seed, *lambda; /* (rows), (steps, k + nz) */
    double *trial, *step;  /* (nz) of the search for the start */
    double loss;
    int searching;
    int near; /* the last simulation began close by */
} path;

struct clsi_paths {
    const clsi_target *t;
    clsi_stride *stride;
    size_t n;
    path path[CLSI_LANES];
    double *Z, *Y;           /* (nz, n_theta or nz) each: sensitivities */
    double *units;           /* (nz, nz) */
    clsi_backward *backward; /* the continuous adjoint, if that is wanted; for it: */
    const double **z;        /* (most_steps + 1) states, */
    double *time, *jump; /* (most_steps + 1) times, (most_steps + 1, nz) the loss's derivatives */
    double *block;
    size_t *pivots;
};

size_t clsi_target_rows(const clsi_target *t, size_t intervals) {
    size_t points = intervals + (t->free_starts ? 1 : 0);
    return points * t->n_observed + (t->free_starts ? t->nz - t->n_observed : 0);
}

static size_t stages(const clsi_target *t) {
    return t->motion->n_stages;
}

size_t clsi_target_steps(const clsi_target *t, size_t intervals) {
    return intervals * t->substeps * stages(t);
}

/* ---- memory ---- */

static double *carve(double **at, size_t n) {
    double *here = *at;
    *at += n;
    return here;
}

static void carve_path(const clsi_target *t, double **at, path *p) {
    size_t nz = t->nz, k = t->motion->k, steps = t->most_steps, rows = t->most_rows;
    p->record = carve(at, steps * clsi_record_size(t->motion));
    p->end = carve(at, nz);
    p->B = carve(at, steps * nz * nz);
    p->L = carve(at, steps * nz * k);
    p->Jz = carve(at, rows * nz);
    p->N = carve(at, nz * nz);
    p->seed = carve(at, rows);
    p->lambda = carve(at, steps * (k + nz));
    p->trial = carve(at, nz);
    p->step = carve(at, nz);
}

static size_t path_size(const clsi_target *t) {
    size_t nz = t->nz, k = t->motion->k;
    return t->most_steps * (clsi_record_size(t->motion) + nz * nz + nz * k + k + nz) +
           t->most_rows * (nz + 1) + 3 * nz + nz * nz;
}

cls_status clsi_paths_create(const clsi_target *t, clsi_paths **out, cls_error *error) {
    clsi_paths *p = *out = clsi_calloc(1, sizeof *p);
    if (!p) return clsi_no_memory(error);
    p->t = t;
    size_t nz = t->nz, wide = t->n_theta > nz ? t->n_theta : nz;
    size_t size = CLSI_LANES * path_size(t) + 2 * nz * wide + nz * nz;
    if (t->flow) size += (t->most_steps + 1) * (nz + 1);
    p->block = clsi_calloc(size, sizeof(double));
    p->pivots = clsi_calloc(CLSI_LANES * nz, sizeof *p->pivots);
    cls_status status = p->block && p->pivots
                            ? clsi_stride_create(t->motion, t->alone, &p->stride, error)
                            : clsi_no_memory(error);
    if (status == CLS_OK && t->flow && !(p->z = clsi_calloc(t->most_steps + 1, sizeof *p->z)))
        status = clsi_no_memory(error);
    if (status == CLS_OK && t->flow)
        status = clsi_backward_create(t->flow, t->most_steps, &p->backward, error);
    if (status != CLS_OK) {
        clsi_paths_free(out);
        return status;
    }
    double *at = p->block;
    if (t->flow) p->time = carve(&at, t->most_steps + 1);
    if (t->flow) p->jump = carve(&at, (t->most_steps + 1) * nz);
    for (size_t i = 0; i < CLSI_LANES; i++) {
        carve_path(t, &at, &p->path[i]);
        p->path[i].pivot = p->pivots + i * nz;
    }
    p->Z = carve(&at, nz * wide);
    p->Y = carve(&at, nz * wide);
    p->units = carve(&at, nz * nz);
    for (size_t j = 0; j < nz; j++) p->units[j * nz + j] = 1;
    return CLS_OK;
}

void clsi_paths_free(clsi_paths **paths) {
    clsi_paths *p = *paths;
    if (!p) return;
    clsi_stride_free(&p->stride);
    clsi_backward_free(&p->backward);
    free(p->z);
    free(p->block);
    free(p->pivots);
    free(p);
    *paths = NULL;
}

/* ---- forward ---- */

static double *record_of(const clsi_target *t, const path *w, size_t n) {
    return w->record + n * clsi_record_size(t->motion);
}

/* The state before step n, or behind the last one. */
static const double *state_of(const clsi_target *t, const path *w, size_t n) {
    return n == w->steps ? w->end : record_of(t, w, n);
}

/* Time and length of step n of a path. */
static void set_times(const clsi_target *t, path *w) {
    const double *stage = t->motion->stage;
    const double *time = t->points->time + w->window->begin;
    size_t c = stages(t), each = c * t->substeps;
    for (size_t n = 0; n < w->steps; n++) {
        size_t i = n / each, sub = n % each / c;
        double h = (time[i + 1] - time[i]) / (double)t->substeps, *record = record_of(t, w, n);
        double from = time[i] + (double)sub * h;
        for (size_t s = 0; s < n % c; s++) from += stage[s] * h;
        record[t->nz] = from;
        record[t->nz + 1] = stage[n % c] * h;
    }
}

enum { MOST_LAST = 6 };

/* Whether extrapolation of five solutions predicts the last one much better than that of three (as in simulator.c). */
static int is_smooth(size_t k, const double *const *last) {
    for (size_t j = 0; j < k; j++) {
        double a = last[0][j], b = last[1][j], c = last[2][j], d = last[3][j], e = last[4][j];
        double by_three = a - (3 * (b - c) + d);
        double by_five = a - (5 * (b - e) - 10 * (c - d) + last[5][j]);
        if (!(fabs(by_five) <= 0.1 * fabs(by_three) + 1e-12 * fabs(a))) return 0;
    }
    return 1;
}

/* u of step n by extrapolation of the last five or three of its kind; 0 when there are fewer with
 * its own h. */
static int predict(const clsi_target *t, const path *w, size_t n) {
    size_t c = stages(t), k = t->motion->k, at = clsi_record_unknowns(t->motion), found = 0;
    double *u = record_of(t, w, n) + at, h = record_of(t, w, n)[t->nz + 1];
    const double *last[MOST_LAST];
    for (; found < MOST_LAST && n >= (found + 1) * c; found++) {
        last[found] = record_of(t, w, n - (found + 1) * c) + at;
        double its = record_of(t, w, n - (found + 1) * c)[t->nz + 1];
        if (!(fabs(its - h) <= 1e-6 * fabs(h))) break;
    }
    if (found < 3) return 0;
    if (found == MOST_LAST && is_smooth(k, last))
        for (size_t j = 0; j < k; j++)
            u[j] = 5 * (last[0][j] - last[3][j]) - 10 * (last[1][j] - last[2][j]) + last[4][j];
    else
        for (size_t j = 0; j < k; j++) u[j] = 3 * (last[0][j] - last[1][j]) + last[2][j];
    return 1;
}

/* All paths listed, step by step, from path->trial. near: what solved the steps the last time is a
 * better guess than what solved their predecessors. */
static void forward(clsi_paths *p, size_t n, path *const *list) {
    const clsi_target *t = p->t;
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        list[i]->fine = 1;
        memcpy(list[i]->steps ? list[i]->record : list[i]->end, list[i]->trial,
               t->nz * sizeof(double));
        if (list[i]->steps > most) most = list[i]->steps;
    }
    for (size_t s = 0; s < most; s++) {
        double *record[CLSI_LANES], *next[CLSI_LANES];
        path *of[CLSI_LANES];
        int warm[CLSI_LANES], fine[CLSI_LANES];
        size_t lanes = 0;
        for (size_t i = 0; i < n; i++) {
            path *w = list[i];
            if (!w->fine || s >= w->steps) continue;
            of[lanes] = w;
            record[lanes] = record_of(t, w, s);
            next[lanes] = s + 1 == w->steps ? w->end : record_of(t, w, s + 1);
            warm[lanes++] = w->near || predict(t, w, s);
        }
        if (lanes) clsi_stride_step(p->stride, lanes, record, warm, next, fine);
        for (size_t i = 0; i < lanes; i++) of[i]->fine = fine[i];
    }
}

/* Rows of a path that was simulated, and their sum of squares. */
static void make_rows(const clsi_target *t, path *w) {
    const clsi_points *data = t->points;
    size_t each = t->substeps * stages(t), at = 0;
    double sum = 0;
    for (size_t i = t->free_starts ? 0 : 1; i <= w->window->intervals; i++) {
        const double *z = state_of(t, w, i * each);
        for (size_t c = 0; c < t->n_observed; c++) {
            size_t k = t->observed[c];
            double measured = data->z[k * data->n + w->window->begin + i];
            w->r[at++] = w->fine ? t->weight[k] * (z[k] - measured) : INFINITY;
        }
    }
    for (size_t k = 0; k < t->nz && at < w->rows; k++)
        if (!data->observed[k])
            w->r[at++] =
                PRIOR * t->weight[k] * (w->trial[k] - data->z[k * data->n + w->window->begin]);
    for (size_t i = 0; i < w->rows; i++) sum += w->r[i] * w->r[i];
    w->loss = w->fine && isfinite(sum) ? sum : INFINITY;
}

/* B and L of all steps of the paths listed, CLSI_LANES at a time. */
static void tangents(clsi_paths *p, size_t n, path *const *list) {
    const clsi_target *t = p->t;
    size_t nz = t->nz, k = t->motion->k, lanes = 0;
    const double *record[CLSI_LANES];
    double *B[CLSI_LANES], *L[CLSI_LANES];
    path *of[CLSI_LANES];
    for (size_t i = 0; i < n; i++) {
        path *w = list[i];
        for (size_t s = 0; s < w->steps && w->fine; s++) {
            of[lanes] = w;
            record[lanes] = record_of(t, w, s);
            B[lanes] = w->B + s * nz * nz;
            L[lanes++] = w->L + s * nz * k;
            if (lanes < CLSI_LANES) continue;
            if (!clsi_stride_tangent(p->stride, lanes, record, B, L)) of[0]->fine = 0;
            lanes = 0;
        }
    }
    if (lanes && !clsi_stride_tangent(p->stride, lanes, record, B, L)) of[0]->fine = 0;
}

/* ---- starts ---- */

/* out = A X, A (n, n), X (n, m). */
static void product(size_t n, size_t m, const double *A, const double *X, double *out) {
    memset(out, 0, n * m * sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double a = A[i * n + j];
            for (size_t q = 0; a != 0 && q < m; q++) out[i * m + q] += a * X[j * m + q];
        }
}

/* Jz of a path with tangents, and the factors of Jz^T Jz. */
static int start_columns(clsi_paths *p, path *w) {
    const clsi_target *t = p->t;
    size_t nz = t->nz, each = t->substeps * stages(t), at = 0;
    double *Z = p->Z, *Y = p->Y;
    memcpy(Z, p->units, nz * nz * sizeof *Z);
    double *store = w->Jz;
    for (size_t i = 0; i <= w->window->intervals; i++) {
        for (size_t c = 0; c < t->n_observed; c++, at++)
            for (size_t j = 0; j < nz; j++)
                store[at * nz + j] = t->weight[t->observed[c]] * Z[t->observed[c] * nz + j];
        for (size_t s = i * each; s < (i + 1) * each && s < w->steps; s++) {
            product(nz, nz, w->B + s * nz * nz, Z, Y);
            memcpy(Z, Y, nz * nz * sizeof *Z);
        }
    }
    for (size_t k = 0; k < nz; k++) {
        if (t->points->observed[k]) continue;
        memset(store + at * nz, 0, nz * sizeof *store);
        store[at++ * nz + k] = PRIOR * t->weight[k];
    }
    memset(w->N, 0, nz * nz * sizeof *w->N);
    for (size_t i = 0; i < w->rows; i++)
        for (size_t a = 0; a < nz; a++)
            for (size_t b = 0; b < nz; b++)
                w->N[a * nz + b] += store[i * nz + a] * store[i * nz + b];
    return clsi_lu_factor(nz, w->N, w->pivot) == 0;
}

/* The Gauss-Newton step from the present start; its size in units of the spread. */
static double search_step(const clsi_target *t, path *w) {
    size_t nz = t->nz;
    double size = 0;
    memset(w->step, 0, nz * sizeof *w->step);
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; j < nz; j++) w->step[j] -= w->Jz[i * nz + j] * w->r[i];
    clsi_lu_solve(nz, w->N, w->pivot, w->step);
    for (size_t j = 0; j < nz; j++) size = fmax(size, fabs(w->step[j]) * t->weight[j]);
    return isfinite(size) ? size : INFINITY;
}

enum { MOST_TRIALS = 30 };

/* Starts of all paths that are searching, from path->start on: Gauss-Newton, steps shortened while
 * they do not lower the loss. Steps below SMALL are taken without asking: Gauss-Newton contracts
 * there, and the loss no longer tells. */
static void find_starts(clsi_paths *p, size_t n, path *const *all) {
    static const double NEAR = 1e-3, SMALL = 1e-6, DONE = 1e-10;
    const clsi_target *t = p->t;
    double best[CLSI_LANES], length[CLSI_LANES];
    for (size_t i = 0; i < n; i++) {
        best[i] = length[i] = INFINITY;
        memcpy(all[i]->trial, all[i]->start, t->nz * sizeof(double));
        all[i]->searching = 1;
        all[i]->near = 0;
    }
    for (int trial = 0; trial < MOST_TRIALS; trial++) {
        path *list[CLSI_LANES];
        size_t lanes = 0;
        for (size_t i = 0; i < n; i++)
            if (all[i]->searching) list[lanes++] = all[i];
        if (!lanes) break;
        forward(p, lanes, list);
        for (size_t i = 0; i < lanes; i++) make_rows(t, list[i]);
        tangents(p, lanes, list);
        for (size_t i = 0; i < n; i++) {
            path *w = all[i];
            if (!w->searching) continue;
            int better = w->loss < best[i] || (length[i] < SMALL && isfinite(w->loss));
            if (better && w->fine && start_columns(p, w)) {
                memcpy(w->start, w->trial, t->nz * sizeof(double));
                best[i] = w->loss;
                length[i] = search_step(t, w);
                w->searching = length[i] > DONE && trial + 1 < MOST_TRIALS;
                w->near = length[i] < NEAR;
                for (size_t j = 0; j < t->nz && !w->searching; j++) w->start[j] += w->step[j];
            } else if (isinf(best[i])) {
                w->searching = 0; /* the measured point itself cannot be simulated */
            } else {
                length[i] /= 4;
                for (size_t j = 0; j < t->nz; j++) w->step[j] /= 4;
            }
            for (size_t j = 0; j < t->nz; j++) w->trial[j] = w->start[j] + w->step[j];
        }
    }
}

static void run_known(clsi_paths *p, size_t n, path *const *list) {
    for (size_t i = 0; i < n; i++) {
        memcpy(list[i]->trial, list[i]->start, p->t->nz * sizeof(double));
        list[i]->near = 0;
    }
    forward(p, n, list);
    for (size_t i = 0; i < n; i++) make_rows(p->t, list[i]);
    tangents(p, n, list);
    for (size_t i = 0; i < n && p->t->free_starts; i++)
        if (list[i]->fine) list[i]->fine = start_columns(p, list[i]);
}

void clsi_paths_run(clsi_paths *p, const double *theta, size_t n, const clsi_window *const *window,
                    double *const *start, const int *known, double *const *r) {
    const clsi_target *t = p->t;
    const clsi_points *data = t->points;
    path *all[CLSI_LANES] = {NULL}, *fresh[CLSI_LANES] = {NULL};
    size_t n_fresh = 0;
    clsi_stride_set(p->stride, theta);
    if (p->backward) clsi_backward_set(p->backward, theta);
    p->n = n;
    for (size_t i = 0; i < n; i++) {
        path *w = &p->path[i];
        w->window = window[i];
        w->steps = clsi_target_steps(t, window[i]->intervals);
        w->rows = clsi_target_rows(t, window[i]->intervals);
        w->start = start[i];
        w->r = r[i];
        set_times(t, w);
        if (!known[i])
            for (size_t k = 0; k < t->nz; k++)
                w->start[k] = data->z[k * data->n + window[i]->begin];
        all[i] = w;
        if (!known[i] && t->free_starts) fresh[n_fresh++] = w;
    }
    /* the run that counts is the same, whether the start was known or had to be found */
    if (n_fresh) find_starts(p, n_fresh, fresh);
    run_known(p, n, all);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < p->path[i].rows && !p->path[i].fine; k++) p->path[i].r[k] = INFINITY;
}

/* ---- backward ---- */

/* seed minus its part in the columns of the start. */
static void project_seed(const clsi_target *t, path *w) {
    size_t nz = t->nz;
    double *x = w->step;
    if (!t->free_starts) return;
    memset(x, 0, nz * sizeof *x);
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; j < nz; j++) x[j] += w->Jz[i * nz + j] * w->seed[i];
    clsi_lu_solve(nz, w->N, w->pivot, x);
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; j < nz; j++) w->seed[i] -= w->Jz[i * nz + j] * x[j];
}

/* lambda_n, mu_n of all steps from the seeds. */
static void costates(const clsi_target *t, path *w) {
    size_t nz = t->nz, k = t->motion->k, each = t->substeps * stages(t);
    double *a = w->trial, *next = w->step;
    memset(a, 0, nz * sizeof *a);
    for (size_t s = w->steps; s-- > 0;) {
        double *lambda = w->lambda + s * (k + nz), *mu = lambda + k;
        const double *B = w->B + s * nz * nz, *L = w->L + s * nz * k;
        size_t point = (s + 1) / each; /* rows of the first point are not there, or the start's */
        const double *seed = w->seed + (point - (t->free_starts ? 0 : 1)) * t->n_observed;
        for (size_t c = 0; (s + 1) % each == 0 && c < t->n_observed; c++)
            a[t->observed[c]] += t->weight[t->observed[c]] * seed[c];
        memcpy(mu, a, nz * sizeof *mu);
        memset(lambda, 0, k * sizeof *lambda);
        memset(next, 0, nz * sizeof *next);
        for (size_t e = 0; e < nz; e++) {
            for (size_t j = 0; j < k; j++) lambda[j] += L[e * k + j] * a[e];
            for (size_t j = 0; j < nz; j++) next[j] += B[e * nz + j] * a[e];
        }
        memcpy(a, next, nz * sizeof *a);
    }
}

static void add_results(clsi_paths *p, size_t n, const double *const *record,
                        const double *const *lambda, const double *const *mu, double *gradient) {
    clsi_stride_reverse(p->stride, n, record, lambda, mu);
    clsi_stride_add(p->stride, n, gradient);
}

/* The same by the continuous adjoint: whole steps, whatever they are composed of. */
static int run_backward(clsi_paths *p, const path *w, double *gradient) {
    const clsi_target *t = p->t;
    size_t c = stages(t), steps = w->steps / c, nz = t->nz;
    memset(p->jump, 0, (steps + 1) * nz * sizeof *p->jump);
    for (size_t n = 0; n <= steps; n++) {
        const double *last = record_of(t, w, w->steps - c);
        p->z[n] = state_of(t, w, n * c);
        p->time[n] = n < steps ? p->z[n][nz] : last[nz];
    }
    for (size_t s = w->steps - c; s < w->steps; s++) p->time[steps] += record_of(t, w, s)[nz + 1];
    for (size_t i = 1; i <= w->window->intervals; i++) {
        const double *seed = w->seed + (i - (t->free_starts ? 0 : 1)) * t->n_observed;
        for (size_t k = 0; k < t->n_observed; k++)
            p->jump[i * t->substeps * nz + t->observed[k]] = t->weight[t->observed[k]] * seed[k];
    }
    return clsi_backward_run(p->backward, steps, p->z, p->time, p->jump, gradient);
}

int clsi_paths_adjoint(clsi_paths *p, const double *const *seed, double *gradient) {
    const clsi_target *t = p->t;
    size_t k = t->motion->k, lanes = 0;
    const double *record[CLSI_LANES], *lambda[CLSI_LANES], *mu[CLSI_LANES];
    for (size_t i = 0; i < p->n; i++) {
        path *w = &p->path[i];
        if (!w->fine) return 0;
        memcpy(w->seed, seed[i], w->rows * sizeof(double));
        project_seed(t, w);
        if (p->backward) {
            if (!run_backward(p, w, gradient)) return 0;
            continue;
        }
        costates(t, w);
        for (size_t s = 0; s < w->steps; s++) {
            record[lanes] = record_of(t, w, s);
            lambda[lanes] = w->lambda + s * (k + t->nz);
            mu[lanes] = lambda[lanes] + k;
            if (++lanes < CLSI_LANES) continue;
            add_results(p, lanes, record, lambda, mu, gradient);
            lanes = 0;
        }
    }
    if (lanes) add_results(p, lanes, record, lambda, mu, gradient);
    return 1;
}

/* ---- rows ---- */

/* Rows of the point behind step s, when there is one. */
static void emit_rows(const clsi_paths *p, const path *w, size_t s, double *J) {
    const clsi_target *t = p->t;
    size_t each = t->substeps * stages(t), P = t->n_theta;
    if ((s + 1) % each != 0) return;
    size_t row = ((s + 1) / each - (t->free_starts ? 0 : 1)) * t->n_observed;
    (void)w;
    for (size_t c = 0; c < t->n_observed; c++) {
        size_t k = t->observed[c];
        for (size_t j = 0; j < P; j++) J[(row + c) * P + j] = t->weight[k] * p->Z[k * P + j];
    }
}

/* Row e of A for sample i is added to row e of Z; the first row of a step turns Z over. */
static void advance(clsi_paths *p, const path *w, size_t s, size_t e, size_t i, double *J) {
    size_t nz = p->t->nz, P = p->t->n_theta;
    if (e == 0) {
        product(nz, P, w->B + s * nz * nz, p->Z, p->Y);
        double *turn = p->Z;
        p->Z = p->Y;
        p->Y = turn;
    }
    clsi_stride_slopes(p->stride, i, p->Z + e * P);
    if (e + 1 == nz) emit_rows(p, w, s, J);
}

/* J -= Jz (Jz^T Jz)^-1 Jz^T J. */
static void project_rows(clsi_paths *p, const path *w, double *J) {
    size_t nz = p->t->nz, P = p->t->n_theta;
    double *M = p->Z, *x = w->step;
    memset(M, 0, nz * P * sizeof *M);
    for (size_t i = 0; i < w->rows; i++)
        for (size_t a = 0; a < nz; a++) {
            double f = w->Jz[i * nz + a];
            for (size_t j = 0; f != 0 && j < P; j++) M[a * P + j] += f * J[i * P + j];
        }
    for (size_t j = 0; j < P; j++) {
        for (size_t a = 0; a < nz; a++) x[a] = M[a * P + j];
        clsi_lu_solve(nz, w->N, w->pivot, x);
        for (size_t a = 0; a < nz; a++) M[a * P + j] = x[a];
    }
    for (size_t i = 0; i < w->rows; i++)
        for (size_t a = 0; a < nz; a++) {
            double f = w->Jz[i * nz + a];
            for (size_t j = 0; f != 0 && j < P; j++) J[i * P + j] -= f * M[a * P + j];
        }
}

int clsi_paths_jacobian(clsi_paths *p, size_t which, double *J) {
    const clsi_target *t = p->t;
    path *w = &p->path[which];
    size_t nz = t->nz, k = t->motion->k, P = t->n_theta, samples = w->steps * nz;
    if (!w->fine) return 0;
    memset(J, 0, w->rows * P * sizeof *J);
    memset(p->Z, 0, nz * P * sizeof *p->Z);
    for (size_t first = 0; first < samples; first += CLSI_LANES) {
        const double *record[CLSI_LANES], *lambda[CLSI_LANES], *mu[CLSI_LANES];
        size_t n = samples - first < CLSI_LANES ? samples - first : CLSI_LANES;
        for (size_t i = 0; i < n; i++) {
            size_t s = (first + i) / nz, e = (first + i) % nz;
            record[i] = record_of(t, w, s);
            lambda[i] = w->L + (s * nz + e) * k;
            mu[i] = p->units + e * nz;
        }
        clsi_stride_reverse(p->stride, n, record, lambda, mu);
        for (size_t i = 0; i < n; i++) advance(p, w, (first + i) / nz, (first + i) % nz, i, J);
    }
    if (t->free_starts) project_rows(p, w, J);
    return 1;
}
