/* Linear least squares, the solution: rank, condition, null space, inequalities.
 *
 * Symbols: R y = c is the gathered triangle; D scales its columns to norm 1 (columns never seen
 * keep scale 1); R D = U Sigma V^T; y = D V s, so that |R y - c|^2 = sum (sigma_i s_i - u_i c)^2 +
 * rest. Directions with sigma_i <= rcond sigma_1 are the null space: s_i = 0, the least scaled norm.
 *
 * With inequalities E x >= e the same coordinates z_i = sigma_i s_i make the problem "the point of
 * a polyhedron nearest to U^T c" (lsq_inequalities.c). Unseen directions may move to satisfy an
 * inequality; they pay a small price (FREE) for it, so that they move as little as needed.
 *
 * Cost: 30 to 50 n^3 operations for the singular values, once for the same rows; n^2 per
 * inequality. */
#include "solve/lsq.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The price of a direction of the null space, relative to sigma_1: its square disappears against 1, its
 * inverse leaves ten digits to the rest. */
static const double FREE = 1e-6;

typedef struct solution {
    clsi_lsq *q;
    size_t n, rank;
    const double *D, *target; /* (n): scales, U^T c, both of q->seen */
    const double *V;          /* (n, n) rows v_i, of q->seen */
    double *sigma;            /* (n): singular values, the price in the null space */
    double *s, *y;            /* (n) coordinates; unknowns without the fixed ones */
    double *loose;            /* (unknowns) the solution without inequalities */
    double *F, *f, *u, *size; /* inequalities in z (m, n), (m); multipliers; norms of the rows */
    double gap;
} solution;

static void release(solution *s) {
    free(s->sigma), free(s->s), free(s->y), free(s->loose);
    free(s->F), free(s->f), free(s->u), free(s->size);
}

static int prepare(solution *s, size_t m) {
    size_t n = s->n;
    double **vectors[] = {&s->sigma, &s->s, &s->y};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        if (!(*vectors[i] = clsi_calloc(n + 1, sizeof(double)))) return 0;
    double **lists[] = {&s->f, &s->u, &s->size};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!(*lists[i] = clsi_calloc(m + 1, sizeof(double)))) return 0;
    s->F = clsi_calloc(m * n + 1, sizeof(double));
    s->loose = clsi_calloc(s->q->unknowns + 1, sizeof(double));
    return s->F && s->loose;
}

/* ---- singular values ---- */

void clsi_seen_free(clsi_seen **pointer) {
    clsi_seen *t = *pointer;
    if (!t) return;
    free(t->D), free(t->sigma), free(t->target), free(t->V), free(t);
    *pointer = NULL;
}

static void scale_columns(size_t n, const double *R, double *D, double *M) {
    size_t ld = n + 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) D[j] = hypot(D[j], R[i * ld + j]);
    for (size_t j = 0; j < n; j++) D[j] = D[j] > 0 ? 1 / D[j] : 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++) M[i * ld + j] = R[i * ld + j] * D[j];
        M[i * ld + n] = R[i * ld + n];
    }
}

/* M (n, n + 1), order (n), work (3 n + 1): scratch. 0 when the watcher said stop. */
static int decompose(const clsi_lsq *q, clsi_seen *t, const double *R, double *M, size_t *order,
                     double *work) {
    size_t n = t->n, ld = n + 1, whole = 0;
    scale_columns(n, R, t->D, M);
    if (clsi_svd_rows(n, M, t->sigma, order, work, q->stop, q->owner) < 0) return 0;
    for (size_t i = 0; i < n && t->sigma[i] > 0; i++) {
        for (size_t j = 0; j < n; j++) t->V[i * n + order[j]] = M[i * ld + j] / t->sigma[i];
        t->rank += t->sigma[i] > t->rcond * t->sigma[0];
        whole++;
    }
    clsi_complete_rows(n, whole, t->V, work);
    for (size_t i = 0; i < t->rank; i++) t->target[i] = M[i * ld + n];
    return 1;
}

/* q->seen of all rows so far. */
static cls_status look(clsi_lsq *q, double rcond, cls_error *error) {
    size_t n = q->n;
    if (q->seen && q->seen->rcond == rcond) return CLS_OK;
    clsi_seen_free(&q->seen);
    clsi_seen *t = q->seen = clsi_calloc(1, sizeof *t);
    if (!t) return clsi_no_memory(error);
    *t = (clsi_seen){.n = n,
                     .rcond = rcond,
                     .D = clsi_calloc(n + 1, sizeof(double)),
                     .sigma = clsi_calloc(n + 1, sizeof(double)),
                     .target = clsi_calloc(n + 1, sizeof(double)),
                     .V = clsi_calloc(n * n + 1, sizeof(double))};
    double *M = clsi_calloc(n * (n + 1) + 1, sizeof *M);
    double *work = clsi_calloc(3 * n + 1, sizeof *work);
    size_t *order = clsi_calloc(n + 1, sizeof *order);
    int all = t->D && t->sigma && t->target && t->V && M && work && order;
    cls_status status = all ? CLS_OK : clsi_no_memory(error);
    if (all && !decompose(q, t, q->shard[0].R, M, order, work))
        status = clsi_fail(error, CLS_INTERRUPTED, "stopped within the solve");
    if (status) clsi_seen_free(&q->seen);
    free(M), free(work), free(order);
    return status;
}

/* ---- unknowns ---- */

/* y = D V^T s; x = the unknowns of q from y (with: 1, or the homogeneous part: 0). */
static void unknowns_of(const clsi_lsq *q, const double *y, int with, double *x) {
    for (size_t j = 0; j < q->n; j++) x[q->order[q->fixed + j]] = y[j];
    for (size_t i = 0; i < q->fixed; i++) {
        const double *G = q->G + i * (q->n + 1);
        x[q->order[i]] = (with ? G[q->n] : 0) - clsi_vector_dot(q->n, G, y);
    }
}

static void solution_of(solution *s, const double *coordinates, double *y) {
    memset(y, 0, s->n * sizeof *y);
    clsi_transposed_times(s->n, s->n, s->V, coordinates, y);
    for (size_t j = 0; j < s->n; j++) y[j] *= s->D[j];
}

/* The null space in the unknowns, orthonormal there too. */
static cls_status null_space(solution *s, cls_error *error) {
    clsi_lsq *q = s->q;
    size_t k = s->n - s->rank, N = q->unknowns;
    free(q->null_space);
    q->null_space = clsi_calloc(k * N + 1, sizeof(double));
    if (!q->null_space) return clsi_no_memory(error);
    for (size_t i = 0; i < k; i++) {
        double *x = q->null_space + i * N;
        for (size_t j = 0; j < s->n; j++) s->y[j] = s->V[(s->rank + i) * s->n + j] * s->D[j];
        unknowns_of(q, s->y, 0, x);
        for (int pass = 0; pass < 2; pass++) {
            double length = sqrt(clsi_vector_dot(N, x, x));
            for (size_t j = 0; j < N; j++) x[j] /= length;
            for (size_t l = 0; l < i; l++)
                clsi_vector_add(N, -clsi_vector_dot(N, q->null_space + l * N, x),
                                q->null_space + l * N, x);
        }
        double length = sqrt(clsi_vector_dot(N, x, x));
        for (size_t j = 0; j < N; j++) x[j] /= length;
    }
    return CLS_OK;
}

/* ---- inequalities ---- */

/* Row i of E in the scaled unknowns without the fixed ones; returns e - E x_fixed-part. */
static double reduce_row(const solution *s, const double *E, double e, double *row) {
    const clsi_lsq *q = s->q;
    for (size_t j = 0; j < s->n; j++) row[j] = E[q->order[q->fixed + j]];
    for (size_t i = 0; i < q->fixed; i++) {
        const double *G = q->G + i * (s->n + 1);
        double t = E[q->order[i]];
        if (t == 0) continue;
        clsi_vector_add(s->n, -t, G, row);
        e -= t * G[s->n];
    }
    for (size_t j = 0; j < s->n; j++) row[j] *= s->D[j];
    return e;
}

/* F z >= f with rows of norm 1. A row that names no unknown must hold by itself. */
static cls_status build_inequalities(solution *s, size_t m, const double *E, const double *e,
                                     double *reduced, cls_error *error) {
    size_t n = s->n;
    for (size_t i = 0; i < m; i++)
        s->f[i] = reduce_row(s, E + i * s->q->unknowns, e[i], reduced + i * n);
    clsi_multiply(s->q->shard[0].space, CLSI_WHOLE, m, n, n, 1, (clsi_view){reduced, n, 1},
                  (clsi_view){s->V, 1, n}, s->F, n);
    for (size_t i = 0; i < m; i++) {
        double *F = s->F + i * n;
        for (size_t j = 0; j < n; j++) F[j] /= s->sigma[j];
        s->size[i] = sqrt(clsi_vector_dot(n, F, F));
        if (!isfinite(s->size[i]) || !isfinite(s->f[i]))
            return clsi_fail(error, CLS_NUMERIC, "inequality %zu is not finite", i + 1);
        if (s->size[i] == 0 && s->f[i] > 0)
            return clsi_fail(error, CLS_NUMERIC, "inequality %zu reads 0 >= %g", i + 1, s->f[i]);
        if (s->size[i] == 0) s->size[i] = 1;
        for (size_t j = 0; j < n; j++) F[j] /= s->size[i];
        s->f[i] /= s->size[i];
    }
    return CLS_OK;
}

/* Violated (relative to the terms of the row, at the solution or without inequalities), multiplier
 * negative, or multiplier and slack both positive. */
static double inequality_residual(const solution *s, size_t m, const double *E, const double *e,
                                  const double *x, double scale) {
    double worst = 0;
    size_t N = s->q->unknowns;
    for (size_t i = 0; i < m; i++) {
        double slack = -e[i], size = fabs(e[i]), multiplier = s->u[i] / s->size[i];
        for (size_t j = 0; j < N; j++) {
            slack += E[i * N + j] * x[j];
            size += fabs(E[i * N + j]) * fmax(fabs(x[j]), fabs(s->loose[j]));
        }
        if (size > 0) worst = fmax(worst, -slack / size);
        worst = fmax(worst, -multiplier * s->size[i] / scale);
        worst = fmax(worst, fabs(multiplier * slack) / (scale * scale));
    }
    return worst;
}

/* The certificate: how far gradient = E^T multipliers, E x >= e, multipliers >= 0 and
 * complementarity are from holding, recomputed from the triangle and the rows of the caller. */
static double kkt_residual(const solution *s, size_t m, const double *E, const double *e,
                           const double *reduced, const double *x, double *scratch) {
    size_t n = s->n, ld = n + 1;
    const double *R = s->q->shard[0].R;
    double *t = scratch, *g = scratch + n, scale = 0, worst = 0;
    memset(g, 0, n * sizeof *g);
    for (size_t i = 0; i < n; i++) {
        t[i] = clsi_vector_dot(n - i, R + i * ld + i, s->y + i) - R[i * ld + n];
        scale = hypot(scale, R[i * ld + n]);
        clsi_vector_add(n - i, t[i], R + i * ld + i, g + i);
    }
    if (scale == 0) scale = 1;
    for (size_t j = 0; j < n; j++) g[j] *= s->D[j];
    for (size_t i = 0; i < m; i++) clsi_vector_add(n, -s->u[i] / s->size[i], reduced + i * n, g);
    for (size_t j = 0; j < n; j++) worst = fmax(worst, fabs(g[j]) / scale);
    return fmax(worst, inequality_residual(s, m, E, e, x, scale));
}

/* |z - t|^2 / 2 is the primal objective, u.(f - F t) - |F^T u|^2 / 2 the dual one, t the target. */
static double duality_gap(const solution *s, size_t m, double *scratch) {
    double primal = 0, dual = 0, scale = 0;
    memset(scratch, 0, s->n * sizeof *scratch);
    for (size_t i = 0; i < m; i++) {
        if (s->u[i] == 0) continue;
        const double *F = s->F + i * s->n;
        dual += s->u[i] * (s->f[i] - clsi_vector_dot(s->n, F, s->target));
        clsi_vector_add(s->n, s->u[i], F, scratch);
    }
    for (size_t j = 0; j < s->n; j++) {
        double step = s->s[j] - s->target[j];
        primal += step * step / 2;
        dual -= scratch[j] * scratch[j] / 2;
        scale += s->target[j] * s->target[j] / 2;
    }
    return fabs(primal - dual) / (scale > 0 ? scale : 1);
}

static cls_status keep_active(solution *s, size_t m, cls_error *error) {
    free(s->q->active);
    s->q->active = clsi_calloc(m + 1, sizeof *s->q->active);
    return s->q->active ? CLS_OK : clsi_no_memory(error);
}

static cls_status coordinates(solution *s, size_t m, const double *E, const double *e,
                              double *reduced, cls_error *error) {
    size_t n = s->n;
    double price = n && s->sigma[0] > 0 ? FREE * s->sigma[0] : 1;
    for (size_t i = s->rank; i < n; i++) s->sigma[i] = price;
    memcpy(s->s, s->target, n * sizeof(double));
    for (size_t i = 0; i < n; i++) s->s[i] /= s->sigma[i];
    solution_of(s, s->s, s->y);
    unknowns_of(s->q, s->y, 1, s->loose);
    if (!m) return CLS_OK;
    memcpy(s->s, s->target, n * sizeof(double));
    cls_status status = build_inequalities(s, m, E, e, reduced, error);
    if (status == CLS_OK) status = clsi_nearest_feasible(n, m, s->F, s->f, s->s, s->u, error);
    if (status == CLS_OK) s->gap = duality_gap(s, m, s->y);
    for (size_t i = 0; i < n; i++) s->s[i] /= s->sigma[i];
    return status;
}

/* ---- all together ---- */

static void report(const solution *s, size_t m, double condition, clsi_lsq_info *info) {
    const clsi_lsq *q = s->q;
    double sum = q->shard[0].rest;
    for (size_t i = 0; i < s->n; i++) {
        const double *R = q->shard[0].R + i * (s->n + 1);
        double t = clsi_vector_dot(s->n - i, R + i, s->y + i) - R[s->n];
        sum += t * t;
    }
    *info = (clsi_lsq_info){.rows = q->rows,
                            .unknowns = q->unknowns,
                            .constraints = q->fixed,
                            .rank = q->fixed + s->rank,
                            .condition = condition,
                            .residual = q->rows ? sqrt(sum / (double)q->rows) : 0,
                            .nullity = s->n - s->rank,
                            .null_space = q->null_space,
                            .gap = s->gap,
                            .active = q->active};
    for (size_t i = 0; i < m; i++)
        if (s->u[i] > 0) q->active[info->n_active++] = i;
}

static cls_status solve(solution *s, double rcond, size_t m, const double *E, const double *e,
                        double *x, clsi_lsq_info *info, double *kkt, double *reduced,
                        cls_error *error) {
    cls_status status = look(s->q, rcond, error);
    if (status != CLS_OK) return status;
    const clsi_seen *seen = s->q->seen;
    s->rank = seen->rank;
    s->D = seen->D, s->V = seen->V, s->target = seen->target;
    memcpy(s->sigma, seen->sigma, s->n * sizeof *s->sigma);
    double condition = s->rank ? s->sigma[0] / s->sigma[s->rank - 1] : 0;
    status = null_space(s, error);
    if (status == CLS_OK) status = keep_active(s, m, error);
    if (status == CLS_OK) status = coordinates(s, m, E, e, reduced, error);
    if (status != CLS_OK) return status;
    solution_of(s, s->s, s->y);
    unknowns_of(s->q, s->y, 1, x);
    if (kkt) *kkt = kkt_residual(s, m, E, e, reduced, x, reduced + m * s->n);
    if (info) report(s, m, condition, info);
    return CLS_OK;
}

cls_status clsi_lsq_solve(clsi_lsq *q, double rcond, size_t n_inequalities, const double *E,
                          const double *e, double *x, clsi_lsq_info *info, double *kkt,
                          cls_error *error) {
    clsi_lsq_gather(q);
    solution s = {.q = q, .n = q->n};
    double *reduced = clsi_calloc((n_inequalities + 2) * q->n + 1, sizeof(double));
    cls_status status = CLS_MEMORY;
    if (reduced && prepare(&s, n_inequalities))
        status = solve(&s, rcond, n_inequalities, E, e, x, info, kkt, reduced, error);
    else
        status = clsi_no_memory(error);
    free(reduced);
    release(&s);
    return status;
}
