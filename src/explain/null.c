/* Null spaces in a basis that can be read.
 *
 * The least-squares triangle of the rows gives an orthonormal basis of what vanishes. Its span less
 * that of known directions is then eliminated like a system of equations, largest entries first:
 * sums of few terms come out as such. */
#include "explain/explain.h"
#include "solve/problem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Rows made orthonormal one after the other; those that depend on the ones before vanish. */
static size_t orthonormal(size_t n, size_t rows, double *B) {
    size_t kept = 0;
    for (size_t i = 0; i < rows; i++) {
        double *b = B + i * n, before = sqrt(dot(n, b, b));
        for (int pass = 0; pass < 2; pass++)
            for (size_t k = 0; k < kept; k++) {
                double c = dot(n, b, B + k * n);
                for (size_t j = 0; j < n; j++) b[j] -= c * B[k * n + j];
            }
        double norm = sqrt(dot(n, b, b));
        if (!(norm > 1e-6 * before)) continue;
        for (size_t j = 0; j < n; j++) B[kept * n + j] = b[j] / norm;
        kept++;
    }
    return kept;
}

/* Gauss and Jordan with the largest entry of what is left as the next pivot. */
static void eliminate(size_t n, size_t rows, double *B, unsigned char *used) {
    for (size_t k = 0; k < rows; k++) {
        size_t row = k, column = 0;
        double most = -1;
        for (size_t i = k; i < rows; i++)
            for (size_t j = 0; j < n; j++)
                if (!used[j] && fabs(B[i * n + j]) > most * (1 + 1e-6)) {
                    most = fabs(B[i * n + j]);
                    row = i;
                    column = j;
                }
        used[column] = 1;
        for (size_t j = 0; j < n; j++) {
            double keep = B[k * n + j];
            B[k * n + j] = B[row * n + j];
            B[row * n + j] = keep;
        }
        double pivot = B[k * n + column];
        for (size_t j = 0; j < n; j++) B[k * n + j] /= pivot;
        for (size_t i = 0; i < rows; i++) {
            double c = i == k ? 0 : B[i * n + column];
            for (size_t j = 0; c != 0 && j < n; j++) B[i * n + j] -= c * B[k * n + j];
        }
    }
}

static void tidy(size_t n, double *b, const double *size, double zero) {
    double most = 0, largest = 0;
    size_t at = 0;
    for (size_t j = 0; j < n; j++) most = fmax(most, fabs(b[j]));
    for (size_t j = 0; j < n; j++) {
        if (!(fabs(b[j]) > zero * most)) b[j] = 0;
        b[j] = size[j] > 0 ? b[j] / size[j] : b[j];
    }
    for (size_t j = 0; j < n; j++)
        if (fabs(b[j]) > largest * (1 + 1e-9)) {
            largest = fabs(b[j]);
            at = j;
        }
    double unit = b[at];
    for (size_t j = 0; j < n && unit != 0; j++) b[j] /= unit;
}

/* Known directions first; what the orthonormal rows have besides is new. */
static cls_status reduce(const clsi_null *p, const double *size, const clsi_lsq_info *info,
                         size_t *count, double **out, cls_error *error) {
    size_t n = p->n, n_known = p->n_known, n_null = info->nullity;
    double *B = clsi_calloc((n_known + n_null) * n + 1, sizeof *B);
    unsigned char *used = clsi_calloc(n, 1);
    if (!B || !used) {
        free(B);
        free(used);
        return clsi_no_memory(error);
    }
    for (size_t i = 0; i < n_known + n_null; i++)
        for (size_t j = 0; j < n; j++)
            B[i * n + j] =
                (i < n_known ? p->known[i * n + j] : info->null_space[(i - n_known) * n + j]) *
                size[j];
    size_t first = orthonormal(n, n_known, B);
    memmove(B + first * n, B + n_known * n, n_null * n * sizeof *B);
    *count = orthonormal(n, first + n_null, B) - first;
    memmove(B, B + first * n, *count * n * sizeof *B);
    eliminate(n, *count, B, used);
    for (size_t i = 0; i < *count; i++) tidy(n, B + i * n, size, p->zero);
    free(used);
    *out = B;
    return CLS_OK;
}

/* Norms of the columns; round-off is taken out. 1 where nothing is left. */
static void measure(clsi_null *p, double *norm) {
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < p->n; j++) norm[j] += p->A[i * p->n + j] * p->A[i * p->n + j];
    for (size_t j = 0; j < p->n; j++) {
        int nothing = !(norm[j] > 1e-26 * p->size[j]);
        for (size_t i = 0; nothing && i < p->rows; i++) p->A[i * p->n + j] = 0;
        norm[j] = nothing ? 1 : sqrt(norm[j]);
    }
}

cls_status clsi_null_rows(clsi_null *p, size_t *count, double **out, cls_error *error) {
    clsi_lsq *q = NULL;
    clsi_lsq_info info = {0};
    *count = 0;
    *out = NULL;
    double *norm = clsi_calloc(2 * p->n + p->rows, sizeof *norm);
    if (!norm) return clsi_no_memory(error);
    measure(p, norm);
    cls_status status = clsi_lsq_create(p->n, 0, NULL, NULL, &q, error);
    if (status == CLS_OK) status = clsi_lsq_add(q, p->rows, p->A, norm + 2 * p->n, error);
    if (status == CLS_OK)
        status = clsi_lsq_solve(q, p->rcond, 0, NULL, NULL, norm + p->n, &info, NULL, error);
    if (status == CLS_OK && info.nullity) status = reduce(p, norm, &info, count, out, error);
    clsi_lsq_free(&q);
    free(norm);
    return status;
}
