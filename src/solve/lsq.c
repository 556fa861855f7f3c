/* Linear least squares by rows that come in blocks: minimise |A x - b| subject to C x = d.
 *
 * Constraints are eliminated first, exactly: Gauss-Jordan with complete pivoting writes some
 * unknowns by the others, x_fixed = g - G x_others, and every row of A loses its fixed columns. The
 * remaining rows are absorbed into triangular factors (factor.c); A itself is never kept. Rows wait
 * in a buffer until every shard has a full block, so neither the sizes of the blocks nor the number
 * of threads change the bits.
 *
 * Cost: 2 n^2 operations per row, (n + 2,000) n numbers of memory for each of the shards. */
#include "solve/lsq.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- constraints ---- */

/* A pivot below this fraction of its row's first size: the row says nothing new. */
static const double DEPENDENT = 1e-12;

static void swap_columns(size_t rows, double *K, size_t ld, size_t a, size_t b) {
    for (size_t i = 0; i < rows && a != b; i++) {
        double t = K[i * ld + a];
        K[i * ld + a] = K[i * ld + b];
        K[i * ld + b] = t;
    }
}

static void swap_rows(double *K, size_t ld, size_t a, size_t b) {
    for (size_t j = 0; j < ld && a != b; j++) {
        double t = K[a * ld + j];
        K[a * ld + j] = K[b * ld + j];
        K[b * ld + j] = t;
    }
}

/* Largest element of the rows and columns from k on; rows were scaled to 1. */
static double find_pivot(size_t rows, size_t n, const double *K, size_t k, size_t *row,
                         size_t *column) {
    double best = 0;
    for (size_t i = k; i < rows; i++)
        for (size_t j = k; j < n; j++)
            if (fabs(K[i * (n + 1) + j]) > best) {
                best = fabs(K[i * (n + 1) + j]);
                *row = i;
                *column = j;
            }
    return best;
}

static void eliminate(size_t rows, size_t ld, double *K, size_t k) {
    double pivot = K[k * ld + k];
    for (size_t j = 0; j < ld; j++) K[k * ld + j] /= pivot;
    for (size_t i = 0; i < rows; i++) {
        double t = K[i * ld + k];
        if (i == k || t == 0) continue;
        for (size_t j = k; j < ld; j++) K[i * ld + j] -= t * K[k * ld + j];
        K[i * ld + k] = 0;
    }
}

/* K (rows, unknowns + 1) = [C d], rows scaled; becomes [I G g] in the columns of q->order. */
static cls_status reduce(clsi_lsq *q, size_t rows, double *K, cls_error *error) {
    size_t n = q->unknowns, ld = n + 1, k = 0, row = 0, column = 0;
    for (; k < rows && find_pivot(rows, n, K, k, &row, &column) > DEPENDENT; k++) {
        swap_rows(K, ld, k, row);
        swap_columns(rows, K, ld, k, column);
        size_t t = q->order[k];
        q->order[k] = q->order[column];
        q->order[column] = t;
        eliminate(rows, ld, K, k);
    }
    q->fixed = k;
    double size = 1;
    for (size_t i = 0; i < k; i++) size = fmax(size, fabs(K[i * ld + n]));
    for (size_t i = k; i < rows; i++)
        if (fabs(K[i * ld + n]) > 1e-9 * size)
            return clsi_fail(error, CLS_NUMERIC,
                             "the %zu linear conditions contradict each other (by %g, relative); "
                             "remove one of them",
                             rows, fabs(K[i * ld + n]));
    return CLS_OK;
}

static cls_status scale_constraints(size_t rows, size_t n, const double *C, const double *d,
                                    double *K, cls_error *error) {
    for (size_t i = 0; i < rows; i++) {
        double size = 0, sum = d[i];
        for (size_t j = 0; j < n; j++) {
            size = fmax(size, fabs(C[i * n + j]));
            sum += C[i * n + j];
        }
        if (!isfinite(sum))
            return clsi_fail(error, CLS_NUMERIC, "linear condition %zu is not finite", i + 1);
        if (size == 0 && d[i] != 0)
            return clsi_fail(error, CLS_NUMERIC,
                             "linear condition %zu reads 0 = %g: no unknown appears in it", i + 1,
                             d[i]);
        if (size == 0) size = 1;
        for (size_t j = 0; j < n; j++) K[i * (n + 1) + j] = C[i * n + j] / size;
        K[i * (n + 1) + n] = d[i] / size;
    }
    return CLS_OK;
}

static cls_status take_constraints(clsi_lsq *q, size_t rows, const double *C, const double *d,
                                   cls_error *error) {
    size_t n = q->unknowns;
    double *K = clsi_calloc(rows * (n + 1) + 1, sizeof(double));
    if (!K) return clsi_no_memory(error);
    cls_status status = scale_constraints(rows, n, C, d, K, error);
    if (status == CLS_OK) status = reduce(q, rows, K, error);
    q->n = n - q->fixed;
    if (status == CLS_OK) {
        q->G = clsi_calloc(q->fixed * (q->n + 1) + 1, sizeof(double));
        if (!q->G) status = clsi_no_memory(error);
    }
    for (size_t i = 0; status == CLS_OK && i < q->fixed; i++)
        memcpy(q->G + i * (q->n + 1), K + i * (n + 1) + q->fixed, (q->n + 1) * sizeof *K);
    free(K);
    return status;
}

/* ---- creating ---- */

/* Shards are made when rows come for them: small problems need one. */
static cls_status make_shard(clsi_lsq *q, clsi_shard *s, cls_error *error) {
    cls_status status = clsi_space_create(1, &s->space, error);
    if (status != CLS_OK) return status;
    s->work = clsi_calloc(clsi_qr_work(q->n), sizeof(double));
    s->R = clsi_calloc(q->n * (q->n + 1) + 1, sizeof(double));
    return s->R && s->work ? CLS_OK : clsi_no_memory(error);
}

static cls_status make_shards(clsi_lsq *q, cls_error *error) {
    cls_status status = make_shard(q, &q->shard[0], error);
    if (status != CLS_OK) return status;
    q->buffer = clsi_malloc((CLSI_SHARDS * CLSI_QR_ROWS * (q->n + 1) + 1) * sizeof(double));
    return q->buffer ? CLS_OK : clsi_no_memory(error);
}

cls_status clsi_lsq_create(size_t unknowns, size_t n_constraints, const double *C, const double *d,
                           clsi_lsq **out, cls_error *error) {
    *out = NULL;
    clsi_lsq *q = clsi_calloc(1, sizeof *q);
    if (!q) return clsi_no_memory(error);
    q->unknowns = unknowns;
    q->order = clsi_calloc(unknowns + 1, sizeof *q->order);
    cls_status status = q->order ? CLS_OK : clsi_no_memory(error);
    for (size_t j = 0; status == CLS_OK && j < unknowns; j++) q->order[j] = j;
    if (status == CLS_OK) status = take_constraints(q, n_constraints, C, d, error);
    if (status == CLS_OK) status = make_shards(q, error);
    if (status != CLS_OK) {
        clsi_lsq_free(&q);
        return status;
    }
    *out = q;
    return CLS_OK;
}

void clsi_lsq_watch(clsi_lsq *q, int (*stop)(void *owner), void *owner) {
    q->stop = stop;
    q->owner = owner;
}

void clsi_lsq_free(clsi_lsq **pointer) {
    clsi_lsq *q = *pointer;
    if (!q) return;
    for (int k = 0; k < CLSI_SHARDS; k++) {
        clsi_space_free(&q->shard[k].space);
        free(q->shard[k].R);
        free(q->shard[k].work);
    }
    free(q->order);
    free(q->G);
    free(q->buffer);
    free(q->null_space);
    free(q->active);
    clsi_seen_free(&q->seen);
    free(q);
    *pointer = NULL;
}

/* ---- rows ---- */

static void absorb(clsi_lsq *q, clsi_shard *s, size_t m, double *B, size_t first) {
    size_t ld = q->n + 1;
    clsi_qr_absorb(s->space, q->n, s->R, m, B, first, s->work);
    for (size_t i = 0; i < m; i++) s->rest += B[i * ld + q->n] * B[i * ld + q->n];
    s->used = 1;
}

static void flush(clsi_lsq *q) {
    size_t blocks = (q->waiting + CLSI_QR_ROWS - 1) / CLSI_QR_ROWS;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) if (blocks > 1 && q->n > 100) /* else not worth it */
#endif
    for (size_t k = 0; k < blocks; k++) {
        size_t first = k * CLSI_QR_ROWS, left = q->waiting - first;
        absorb(q, &q->shard[k], left < CLSI_QR_ROWS ? left : CLSI_QR_ROWS,
               q->buffer + first * (q->n + 1), 0);
    }
    q->waiting = 0;
}

/* Row a of A with right-hand side b, without its fixed unknowns; 0 when it is not finite. */
static int take_row(clsi_lsq *q, const double *a, double b, double *row) {
    double poison = b * 0;
    for (size_t j = 0; j < q->unknowns; j++) poison += a[j] * 0;
    if (poison != 0) return 0;
    for (size_t j = 0; j < q->n; j++) row[j] = a[q->order[q->fixed + j]];
    row[q->n] = b;
    for (size_t i = 0; i < q->fixed; i++) {
        double t = a[q->order[i]];
        if (t != 0) clsi_vector_add(q->n + 1, -t, q->G + i * (q->n + 1), row);
    }
    return 1;
}

cls_status clsi_lsq_add(clsi_lsq *q, size_t count, double *A, double *b, cls_error *error) {
    for (size_t i = 0; i < count; i++) {
        double *row = q->buffer + q->waiting * (q->n + 1);
        clsi_shard *s = &q->shard[q->waiting / CLSI_QR_ROWS];
        cls_status status = s->R ? CLS_OK : make_shard(q, s, error);
        if (status != CLS_OK) return status;
        if (!take_row(q, A + i * q->unknowns, b[i], row))
            return clsi_fail(error, CLS_NUMERIC,
                             "row %zu of the least-squares problem is not finite", q->rows + 1);
        q->rows++;
        clsi_seen_free(&q->seen);
        if (++q->waiting == CLSI_SHARDS * CLSI_QR_ROWS) flush(q);
    }
    return CLS_OK;
}

/* The triangle of a shard is itself a block of rows; its rows from i on start at column i. */
static void merge(clsi_lsq *q, clsi_shard *into, clsi_shard *from) {
    size_t ld = q->n + 1;
    for (size_t i = 0; i < q->n; i += CLSI_QR_ROWS) {
        size_t m = q->n - i < CLSI_QR_ROWS ? q->n - i : CLSI_QR_ROWS;
        absorb(q, into, m, from->R + i * ld, i);
    }
    into->rest += from->rest;
    memset(from->R, 0, q->n * ld * sizeof(double));
    from->rest = 0;
    from->used = 0;
}

void clsi_lsq_gather(clsi_lsq *q) {
    flush(q);
    for (int k = 1; k < CLSI_SHARDS; k++)
        if (q->shard[k].used) merge(q, &q->shard[0], &q->shard[k]);
}

/* ---- parts ---- */

size_t clsi_lsq_part_size(const clsi_lsq *q) {
    return q->n * (q->n + 1) + 2;
}

void clsi_lsq_take(clsi_lsq *q, double *part) {
    size_t n = q->n * (q->n + 1);
    clsi_lsq_gather(q);
    memcpy(part, q->shard[0].R, n * sizeof *part);
    memset(q->shard[0].R, 0, n * sizeof *part);
    part[n] = q->shard[0].rest;
    part[n + 1] = (double)q->rows;
    q->shard[0].rest = 0;
    q->rows = 0;
    clsi_seen_free(&q->seen);
}

/* Two triangles become one, with the scratch of shard 0. */
static void join(clsi_lsq *q, double *into, double *from) {
    size_t n = q->n * (q->n + 1);
    clsi_shard a = q->shard[0], b = {.R = from, .rest = from[n]};
    a.R = into;
    a.rest = into[n];
    merge(q, &a, &b);
    into[n] = a.rest;
    into[n + 1] += from[n + 1];
}

/* Who has made all parts [first, last) of `count`; `ranks`: nobody alone. */
static size_t maker_of(size_t first, size_t last, size_t ranks, size_t count) {
    for (size_t r = 0; r < ranks; r++)
        if (first >= cls_team_first(r, ranks, count) && last <= cls_team_first(r + 1, ranks, count))
            return r;
    return ranks;
}

/* The joins of the tree whose parts were all made by one (`rank` < ranks), or by several (rank == ranks). */
static cls_status join_of(clsi_lsq *q, size_t count, double *parts, size_t rank, size_t ranks,
                          cls_error *error) {
    size_t size = clsi_lsq_part_size(q);
    for (size_t stride = 1; stride < count; stride *= 2)
        for (size_t i = 0; i + stride < count; i += 2 * stride) {
            size_t end = i + 2 * stride < count ? i + 2 * stride : count;
            if (maker_of(i, end, ranks, count) != rank) continue;
            if (q->stop && q->stop(q->owner))
                return clsi_fail(error, CLS_INTERRUPTED, "stopped while the rows were joined");
            join(q, parts + i * size, parts + (i + stride) * size);
        }
    return CLS_OK;
}

cls_status clsi_lsq_join_own(clsi_lsq *q, size_t count, double *parts, size_t rank, size_t ranks,
                             cls_error *error) {
    return join_of(q, count, parts, rank, ranks, error);
}

cls_status clsi_lsq_join(clsi_lsq *q, size_t count, double *parts, size_t ranks, cls_error *error) {
    size_t n = clsi_lsq_part_size(q) - 2;
    cls_status status = join_of(q, count, parts, ranks, ranks, error);
    if (status != CLS_OK) return status;
    clsi_seen_free(&q->seen);
    memcpy(q->shard[0].R, parts, n * sizeof *parts);
    q->shard[0].rest = parts[n];
    q->shard[0].used = 1;
    q->rows = (size_t)parts[n + 1];
    return CLS_OK;
}

/* ---- a smaller problem ---- */

cls_status clsi_lsq_subset(clsi_lsq *q, size_t n, const size_t *columns, size_t n_constraints,
                           const double *C, const double *d, clsi_lsq **out, cls_error *error) {
    size_t N = q->unknowns;
    *out = NULL;
    clsi_lsq_gather(q);
    double *A = clsi_calloc(N * n + 1, sizeof *A), *b = clsi_calloc(N + 1, sizeof *b);
    cls_status status =
        A && b ? clsi_lsq_create(n, n_constraints, C, d, out, error) : clsi_no_memory(error);
    for (size_t i = 0; status == CLS_OK && i < N; i++) {
        const double *R = q->shard[0].R + i * (N + 1);
        for (size_t j = 0; j < n; j++) A[i * n + j] = columns[j] < i ? 0 : R[columns[j]];
        b[i] = R[N];
    }
    if (status == CLS_OK) status = clsi_lsq_add(*out, N, A, b, error);
    if (status == CLS_OK) {
        (*out)->rows = q->rows;
        (*out)->shard[0].rest += q->shard[0].rest;
    } else {
        clsi_lsq_free(out);
    }
    free(A);
    free(b);
    return status;
}
