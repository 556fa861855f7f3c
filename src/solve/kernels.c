/* Dense products and the Cholesky factor, fast without a tuned BLAS.
 *
 * Debian's OpenBLAS falls back to SSE3 on processors younger than itself, and its bits change with
 * its number of threads; both are unacceptable here. The product follows Goto and van de Geijn (ACM
 * TOMS 34, 2008): tiles of C are independent tasks; each packs panels of A and B that fit in the
 * caches and runs a register kernel (8 x 24 with AVX-512, 4 x 12 with AVX2, 4 x 8 in plain C).
 * Every element of C is summed by one thread in one order, so the bits do not depend on threads.
 *
 * Cost: 2 m n k operations, half of that for CLSI_LOWER. Measured on one core of a busy machine
 * with AVX-512: 62 GFLOP/s for J^T J of 512 x 1,248. Not promised: speed below 8 rows or columns.
 */
#include "solve/kernels.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define WIDE 1
#else
#define WIDE 0
#endif
/* The loader's choice, where there is one (not with ThreadSanitizer, nor in clang before 15). */
#if WIDE && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && !defined(CLSI_NO_CLONES)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

/* C (MR, NR) += alpha a b with a packed (k, MR) and b packed (k, NR). */
typedef void (*micro)(size_t k, const double *a, const double *b, double alpha, double *C,
                      size_t stride);

typedef struct kernel {
    size_t mr, nr;
    micro run;
} kernel;

enum {
    TILE_M = 384, /* rows of a tile of C: a packed panel of A is 384 kB */
    TILE_N = 480, /* columns: both panels stay in a cache of 1 MB; 4 times a multiple of 24 */
    DEPTH = 128,
    EDGE = 8 * 24, /* the largest register tile */
    ALIGN = 64
};

#ifdef _OPENMP
/* Products smaller than this (a few hundred microseconds) are not worth waking threads for. */
static const double SMALL = 4e6;
#endif

struct clsi_space {
    int threads;
    kernel kernel;
    double *block;  /* threads times (TILE_M + TILE_N) * DEPTH */
    double *buffer; /* what free() wants */
};

/* ---- register kernels ---- */

static void micro_plain(size_t k, const double *a, const double *b, double alpha, double *C,
                        size_t stride) {
    double sum[4][8] = {{0}};
    for (size_t p = 0; p < k; p++, a += 4, b += 8)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 8; j++) sum[i][j] += a[i] * b[j];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++) C[(size_t)i * stride + (size_t)j] += alpha * sum[i][j];
}

#if WIDE
__attribute__((target("avx2,fma"))) static void
micro_avx2(size_t k, const double *a, const double *b, double alpha, double *C, size_t stride) {
    __m256d sum[4][3];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) sum[i][j] = _mm256_setzero_pd();
    for (size_t p = 0; p < k; p++, a += 4, b += 12) {
        __m256d b0 = _mm256_loadu_pd(b), b1 = _mm256_loadu_pd(b + 4), b2 = _mm256_loadu_pd(b + 8);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            __m256d ai = _mm256_broadcast_sd(a + i);
            sum[i][0] = _mm256_fmadd_pd(ai, b0, sum[i][0]);
            sum[i][1] = _mm256_fmadd_pd(ai, b1, sum[i][1]);
            sum[i][2] = _mm256_fmadd_pd(ai, b2, sum[i][2]);
        }
    }
    __m256d scale = _mm256_set1_pd(alpha);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) {
            double *c = C + (size_t)i * stride + 4 * (size_t)j;
            _mm256_storeu_pd(c, _mm256_fmadd_pd(scale, sum[i][j], _mm256_loadu_pd(c)));
        }
}

__attribute__((target("avx512f"))) static void
micro_avx512(size_t k, const double *a, const double *b, double alpha, double *C, size_t stride) {
    __m512d sum[8][3];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 3; j++) sum[i][j] = _mm512_setzero_pd();
    for (size_t p = 0; p < k; p++, a += 8, b += 24) {
        __m512d b0 = _mm512_loadu_pd(b), b1 = _mm512_loadu_pd(b + 8), b2 = _mm512_loadu_pd(b + 16);
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            __m512d ai = _mm512_set1_pd(a[i]);
            sum[i][0] = _mm512_fmadd_pd(ai, b0, sum[i][0]);
            sum[i][1] = _mm512_fmadd_pd(ai, b1, sum[i][1]);
            sum[i][2] = _mm512_fmadd_pd(ai, b2, sum[i][2]);
        }
    }
    __m512d scale = _mm512_set1_pd(alpha);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 3; j++) {
            double *c = C + (size_t)i * stride + 8 * (size_t)j;
            _mm512_storeu_pd(c, _mm512_fmadd_pd(scale, sum[i][j], _mm512_loadu_pd(c)));
        }
}
#endif

static kernel choose_kernel(void) {
#if WIDE
    if (__builtin_cpu_supports("avx512f")) return (kernel){8, 24, micro_avx512};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (kernel){4, 12, micro_avx2};
#endif
    return (kernel){4, 8, micro_plain};
}

/* ---- the space ---- */

cls_status clsi_space_create(int threads, clsi_space **out, cls_error *error) {
    *out = NULL;
#ifdef _OPENMP
    if (threads <= 0) threads = omp_get_max_threads();
#else
    threads = 1;
#endif
    clsi_space *s = clsi_calloc(1, sizeof *s);
    size_t each = (size_t)(TILE_M + TILE_N) * DEPTH;
    if (s) s->buffer = clsi_calloc((size_t)threads * each + ALIGN, sizeof(double));
    if (!s || !s->buffer) {
        clsi_space_free(&s);
        return clsi_no_memory(error);
    }
    s->threads = threads;
    s->kernel = choose_kernel();
    size_t off = (size_t)((uintptr_t)s->buffer % ALIGN);
    s->block = s->buffer + (off ? (ALIGN - off) / sizeof(double) : 0);
    *out = s;
    return CLS_OK;
}

void clsi_space_free(clsi_space **space) {
    if (!*space) return;
    free((*space)->buffer);
    free(*space);
    *space = NULL;
}

/* ---- the product ---- */

typedef double four __attribute__((vector_size(32)));

/* Four lines, `line` apart, transposed to rows that are `width` apart: k elements of each, k a
 * multiple of four. Element by element it would take longer than the product of small matrices. */
static inline __attribute__((always_inline)) void
transpose_four(size_t k, const double *from, size_t line, double *to, size_t width) {
    for (size_t p = 0; p < k; p += 4, from += 4) {
        four a[4], b[4];
        for (int i = 0; i < 4; i++) memcpy(&a[i], from + (size_t)i * line, sizeof a[i]);
        for (int i = 0; i < 4; i += 2) {
            b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 4, 2, 6);
            b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 5, 3, 7);
        }
        for (int i = 0; i < 2; i++) {
            a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 4, 5);
            a[i + 2] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 6, 7);
        }
        for (int i = 0; i < 4; i++) memcpy(to + (p + (size_t)i) * width, &a[i], sizeof a[i]);
    }
}

/* k rows of `width` neighbours each, w of which exist. Calls of memcpy would cost more than what
 * they copy. */
static inline __attribute__((always_inline)) void
copy_rows(size_t k, size_t w, const double *from, size_t along, double *to, size_t width) {
    for (size_t p = 0; p < k; p++, from += along, to += width) {
        size_t j = 0;
        for (; j + 4 <= w; j += 4) memcpy(to + j, from + j, sizeof(four));
        for (; j < w; j++) to[j] = from[j];
    }
}

/* Packs `count` lines of length k into panels of `width` lines (a multiple of four), element p of
 * all lines together. Line i starts at from + i * line; its elements are `along` apart. Short
 * panels get zeros. */
CLONES static void pack(size_t count, size_t k, size_t width, const double *from, size_t line,
                        size_t along, double *to) {
    for (size_t i0 = 0; i0 < count; i0 += width, to += width * k) {
        const double *f = from + i0 * line;
        size_t w = count - i0 < width ? count - i0 : width, i = 0;
        if (w < width) memset(to, 0, width * k * sizeof *to);
        if (line == 1) {
            copy_rows(k, w, f, along, to, width);
            continue;
        }
        for (; along == 1 && i + 4 <= w; i += 4) {
            size_t whole = k - k % 4;
            transpose_four(whole, f + i * line, line, to + i, width);
            for (size_t p = whole; p < k; p++)
                for (size_t j = i; j < i + 4; j++) to[p * width + j] = f[j * line + p];
        }
        for (; i < w; i++)
            for (size_t p = 0; p < k; p++) to[p * width + i] = f[i * line + p * along];
    }
}

/* A register tile that sticks out of C: computed aside, then the part inside is added. */
static void edge(const kernel *q, size_t mr, size_t nr, size_t k, const double *a, const double *b,
                 double alpha, double *C, size_t stride) {
    double aside[EDGE] = {0};
    q->run(k, a, b, alpha, aside, q->nr);
    for (size_t i = 0; i < mr; i++)
        for (size_t j = 0; j < nr; j++) C[i * stride + j] += aside[i * q->nr + j];
}

typedef struct product {
    clsi_product_part part;
    size_t m, n, k, stride;
    size_t tile_m, tile_n;
    double alpha;
    clsi_view A, B;
    double *C;
} product;

static void packed_tile(const kernel *q, const product *g, size_t i0, size_t j0, size_t m, size_t n,
                        size_t k, const double *a, const double *b) {
    for (size_t j = 0; j < n; j += q->nr)
        for (size_t i = 0; i < m; i += q->mr) {
            if (g->part == CLSI_LOWER && j0 + j > i0 + i + q->mr - 1) continue;
            size_t mr = m - i < q->mr ? m - i : q->mr, nr = n - j < q->nr ? n - j : q->nr;
            double *C = g->C + (i0 + i) * g->stride + j0 + j;
            if (mr == q->mr && nr == q->nr)
                q->run(k, a + i * k, b + j * k, g->alpha, C, g->stride);
            else
                edge(q, mr, nr, k, a + i * k, b + j * k, g->alpha, C, g->stride);
        }
}

static void tile(const clsi_space *s, const product *g, size_t i0, size_t j0, double *block) {
    if (g->part == CLSI_LOWER && j0 > i0 + g->tile_m - 1) return;
    size_t m = g->m - i0 < g->tile_m ? g->m - i0 : g->tile_m;
    size_t n = g->n - j0 < g->tile_n ? g->n - j0 : g->tile_n;
    double *a = block, *b = block + (size_t)TILE_M * DEPTH;
    for (size_t p = 0; p < g->k; p += DEPTH) {
        size_t k = g->k - p < DEPTH ? g->k - p : DEPTH;
        pack(m, k, s->kernel.mr, g->A.at + i0 * g->A.row + p * g->A.column, g->A.row, g->A.column,
             a);
        pack(n, k, s->kernel.nr, g->B.at + j0 * g->B.column + p * g->B.row, g->B.column, g->B.row,
             b);
        packed_tile(&s->kernel, g, i0, j0, m, n, k, a, b);
    }
}

#ifdef _OPENMP
static size_t tiles_of(const product *g) {
    return ((g->m + g->tile_m - 1) / g->tile_m) * ((g->n + g->tile_n - 1) / g->tile_n);
}
#endif

/* Smaller tiles for more threads: whole register tiles, so that the bits are the same. */
void clsi_multiply(clsi_space *space, clsi_product_part part, size_t m, size_t n, size_t k,
                   double alpha, clsi_view A, clsi_view B, double *C, size_t stride) {
    product g = {part, m, n, k, stride, TILE_M, TILE_N, alpha, A, B, C};
#ifdef _OPENMP
    if (space->threads > 1 && (double)m * (double)n * (double)k > SMALL) {
        while (tiles_of(&g) < 4 * (size_t)space->threads && g.tile_m > TILE_M / 4)
            g.tile_m /= 2, g.tile_n /= 2;
        size_t columns = (n + g.tile_n - 1) / g.tile_n, rows = tiles_of(&g) / columns;
#pragma omp parallel for num_threads(space->threads) schedule(dynamic)
        for (size_t t = 0; t < rows * columns; t++)
            tile(space, &g, (rows - 1 - t / columns) * g.tile_m, t % columns * g.tile_n,
                 space->block + (size_t)omp_get_thread_num() * (TILE_M + TILE_N) * DEPTH);
        return;
    }
#endif
    for (size_t i = 0; i < m; i += TILE_M)
        for (size_t j = 0; j < n; j += TILE_N) tile(space, &g, i, j, space->block);
}

/* ---- vectors ---- */

enum { LANES = 16 };

/* Clones are static: the compiler exports the resolvers of others, whatever their visibility. */
CLONES static double dot(size_t n, const double *x, const double *y) {
    double lane[LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++) lane[l] += x[i + l] * y[i + l];
    for (; i < n; i++) sum += x[i] * y[i];
    for (size_t half = LANES / 2; half; half /= 2)
        for (size_t l = 0; l < half; l++) lane[l] += lane[l + half];
    return sum + lane[0];
}

CLONES static void add(size_t n, double a, const double *restrict x, double *restrict y) {
    for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

CLONES static void turn(size_t n, double c, double s, double *restrict x, double *restrict y) {
    for (size_t i = 0; i < n; i++) {
        double t = c * x[i] + s * y[i];
        y[i] = c * y[i] - s * x[i];
        x[i] = t;
    }
}

double clsi_vector_dot(size_t n, const double *x, const double *y) {
    return dot(n, x, y);
}

void clsi_vector_add(size_t n, double a, const double *x, double *y) {
    add(n, a, x, y);
}

void clsi_vector_rotate(size_t n, double c, double s, double *x, double *y) {
    turn(n, c, s, x, y);
}

void clsi_transposed_times(size_t m, size_t n, const double *A, const double *x, double *y) {
    for (size_t i = 0; i < m; i++) clsi_vector_add(n, x[i], A + i * n, y);
}

void clsi_times(size_t m, size_t n, const double *A, const double *x, double *y) {
    for (size_t i = 0; i < m; i++) y[i] = clsi_vector_dot(n, A + i * n, x);
}

/* ---- Cholesky ---- */

enum { PANEL = 48, STRIP = 32 };

/* The diagonal block (w, w) at A, rows n apart. */
static int factor_block(size_t n, size_t w, double *A) {
    for (size_t i = 0; i < w; i++) {
        double *a = A + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double *l = A + j * n;
            double t = a[j];
            for (size_t k = 0; k < j; k++) t -= a[k] * l[k];
            if (j < i)
                a[j] = t / l[j];
            else if (t > 0 && isfinite(t))
                a[j] = sqrt(t);
            else
                return 0;
        }
    }
    return 1;
}

/* X := X L^-T for `rows` rows X of length w below the diagonal block L, all n apart. A strip of
 * rows at a time, transposed: the sums then run along the rows. */
CLONES static void solve_below(size_t n, size_t w, const double *L, size_t rows, double *X) {
    for (size_t i0 = 0; i0 < rows; i0 += STRIP) {
        double strip[PANEL][STRIP] = {{0}}, *x = X + i0 * n;
        size_t m = rows - i0 < STRIP ? rows - i0 : STRIP;
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < w; j++) strip[j][i] = x[i * n + j];
        for (size_t j = 0; j < w; j++) {
            double sum[STRIP] = {0}, scale = 1 / L[j * n + j];
            for (size_t k = 0; k < j; k++)
                for (size_t i = 0; i < STRIP; i++) sum[i] += L[j * n + k] * strip[k][i];
            for (size_t i = 0; i < STRIP; i++) strip[j][i] = (strip[j][i] - sum[i]) * scale;
        }
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < w; j++) x[i * n + j] = strip[j][i];
    }
}

int clsi_cholesky(clsi_space *space, size_t n, double *A) {
    for (size_t j = 0; j < n; j += PANEL) {
        size_t w = n - j < PANEL ? n - j : PANEL, below = j + w;
        if (!factor_block(n, w, A + j * n + j)) return 0;
        solve_below(n, w, A + j * n + j, n - below, A + below * n + j);
        const double *L = A + below * n + j;
        clsi_multiply(space, CLSI_LOWER, n - below, n - below, w, -1, (clsi_view){L, n, 1},
                      (clsi_view){L, 1, n}, A + below * n + below, n);
    }
    return 1;
}

void clsi_cholesky_solve(size_t n, const double *L, double *x) {
    for (size_t i = 0; i < n; i++) x[i] = (x[i] - clsi_vector_dot(i, L + i * n, x)) / L[i * n + i];
    for (size_t i = n; i-- > 0;) {
        x[i] /= L[i * n + i];
        clsi_vector_add(i, -x[i], L + i * n, x);
    }
}
