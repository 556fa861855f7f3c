/* Orthogonal factors: rows absorbed into a triangle, and the singular values of the triangle.
 *
 * Absorbing is Householder's QR of [R; B] with R triangular (LAPACK's tpqrt): reflectors of a panel
 * of columns are gathered as I - V T V^T (Schreiber and Van Loan 1989) and applied to the rest by
 * two products. 2 m n^2 operations for m rows. The normal equations would cost half and lose half
 * of the digits; bases of high degree have condition 1e8 and more, so this is the safe way.
 *
 * The singular values come from one-sided Jacobi rotations (Hestenes 1958; Demmel and Veselic 1992)
 * of the ROWS of R: these become sigma_i v_i, the right-hand side is rotated along, and U is never
 * formed. About 4 n^3 operations a sweep, 6 to 10 sweeps. Small singular values
 * come with relative accuracy, and one order of rotations gives one set of bits. What lies below n
 * DBL_EPSILON of the longest column after pivoting is rounding: it becomes zero. Rotated, it would
 * fall by DBL_EPSILON in each sweep and never be orthogonal to anything. */
#include "solve/lsq.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { NB = CLSI_QR_PANEL, MAX_SWEEPS = 60, TILE = 48 };

/* ---- rows into the triangle ---- */

size_t clsi_qr_work(size_t n) {
    return (size_t)NB * CLSI_QR_ROWS + NB * NB + NB * (n + 1);
}

/* One reflector: the column v (m) under the diagonal element *r becomes zero. Returns tau. */
static double reflect(double *r, size_t m, double *v) {
    double below = clsi_vector_dot(m, v, v);
    if (below == 0) return 0;
    double alpha = *r, beta = -copysign(sqrt(alpha * alpha + below), alpha);
    double scale = 1 / (alpha - beta);
    for (size_t i = 0; i < m; i++) v[i] *= scale;
    *r = beta;
    return (beta - alpha) / beta;
}

/* Factors w columns: R points at the diagonal element, rows ld apart; V (w, m) holds the columns;
 * T (w, NB) upper triangular. */
static void factor_panel(size_t w, size_t m, double *R, size_t ld, double *V, double *T) {
    for (size_t j = 0; j < w; j++) {
        double *v = V + j * m, tau = reflect(R + j * ld + j, m, v), projection[NB];
        for (size_t l = j + 1; l < w; l++) {
            double t = tau * (R[j * ld + l] + clsi_vector_dot(m, v, V + l * m));
            R[j * ld + l] -= t;
            clsi_vector_add(m, -t, v, V + l * m);
        }
        for (size_t i = 0; i < j; i++) projection[i] = clsi_vector_dot(m, V + i * m, v);
        for (size_t i = 0; i < j; i++) {
            double t = 0;
            for (size_t l = i; l < j; l++) t += T[i * NB + l] * projection[l];
            T[i * NB + j] = -tau * t;
        }
        T[j * NB + j] = tau;
    }
}

/* The other columns: W = T^T (R + V^T B), R -= W, B -= V W. */
static void apply_panel(clsi_space *space, size_t w, size_t m, size_t rest, const double *V,
                        const double *T, double *R, double *B, size_t ld, double *W) {
    for (size_t i = 0; i < w; i++) memcpy(W + i * rest, R + i * ld, rest * sizeof *W);
    clsi_multiply(space, CLSI_WHOLE, w, rest, m, 1, (clsi_view){V, m, 1}, (clsi_view){B, ld, 1}, W,
                  rest);
    for (size_t i = w; i-- > 0;) {
        double *row = W + i * rest;
        for (size_t j = 0; j < rest; j++) row[j] *= T[i * NB + i];
        for (size_t l = 0; l < i; l++) clsi_vector_add(rest, T[l * NB + i], W + l * rest, row);
    }
    for (size_t i = 0; i < w; i++) clsi_vector_add(rest, -1, W + i * rest, R + i * ld);
    clsi_multiply(space, CLSI_WHOLE, m, rest, w, -1, (clsi_view){V, 1, m}, (clsi_view){W, rest, 1},
                  B, ld);
}

void clsi_qr_absorb(clsi_space *space, size_t n, double *R, size_t m, double *B, size_t first,
                    double *work) {
    double *V = work, *T = V + (size_t)NB * CLSI_QR_ROWS, *W = T + NB * NB;
    size_t ld = n + 1;
    for (size_t j = first; j < n; j += NB) {
        size_t w = n - j < NB ? n - j : NB;
        for (size_t i = 0; i < m; i++)
            for (size_t l = 0; l < w; l++) V[l * m + i] = B[i * ld + j + l];
        factor_panel(w, m, R + j * ld + j, ld, V, T);
        apply_panel(space, w, m, ld - j - w, V, T, R + j * ld + j + w, B + j + w, ld, W);
    }
}

/* ---- singular values ---- */

enum { REFRESH = 32 }; /* steps after which the downdated norms are computed again */

static void column_norms(size_t n, const double *M, size_t k, double *norm) {
    for (size_t j = k; j < n; j++) norm[j] = 0;
    for (size_t i = k; i < n; i++)
        for (size_t j = k; j < n; j++) norm[j] += M[i * (n + 1) + j] * M[i * (n + 1) + j];
}

static void bring_to_front(size_t n, double *M, size_t k, double *norm, size_t *order) {
    size_t best = k;
    for (size_t j = k + 1; j < n; j++)
        if (norm[j] > norm[best]) best = j;
    if (best == k) return;
    norm[best] = norm[k];
    size_t o = order[k];
    order[k] = order[best];
    order[best] = o;
    for (size_t i = 0; i < n; i++) {
        double t = M[i * (n + 1) + k];
        M[i * (n + 1) + k] = M[i * (n + 1) + best];
        M[i * (n + 1) + best] = t;
    }
}

static void clear_rows(size_t n, double *M, size_t k) {
    for (size_t i = k; i < n; i++) memset(M + i * (n + 1), 0, n * sizeof *M);
}

/* M = [A c] becomes Q^T [A c] with A P = Q R, columns in falling order: the rotations then converge
 * in half the sweeps (Drmac and Veselic 2008). Returns how many rows are more than rounding.
 * work: 3 n + 1 numbers. */
static size_t pivoted_triangle(size_t n, double *M, size_t *order, double *work) {
    double *norm = work, *v = work + n, *w = v + n, first = 0;
    size_t ld = n + 1;
    for (size_t k = 0; k < n; k++) {
        if (k % REFRESH == 0) column_norms(n, M, k, norm);
        bring_to_front(n, M, k, norm, order);
        if (k == 0) first = sqrt(norm[0]);
        if (sqrt(norm[k]) <= (double)n * DBL_EPSILON * first) { /* perhaps: norms were downdated */
            column_norms(n, M, k, norm);
            bring_to_front(n, M, k, norm, order);
        }
        if (sqrt(norm[k]) <= (double)n * DBL_EPSILON * first) {
            clear_rows(n, M, k);
            return k;
        }
        size_t below = n - k - 1, right = n - k;
        for (size_t i = 0; i < below; i++) v[i] = M[(k + 1 + i) * ld + k];
        double *row = M + k * ld, tau = reflect(row + k, below, v);
        memcpy(w, row + k + 1, right * sizeof *w);
        for (size_t i = 0; i < below; i++)
            clsi_vector_add(right, v[i], row + (i + 1) * ld + k + 1, w);
        clsi_vector_add(right, -tau, w, row + k + 1);
        for (size_t i = 0; i < below; i++) {
            row[(i + 1) * ld + k] = 0;
            clsi_vector_add(right, -tau * v[i], w, row + (i + 1) * ld + k + 1);
        }
        for (size_t j = k + 1; j < n; j++) norm[j] = fmax(0, norm[j] - row[j] * row[j]);
    }
    return n;
}

/* Makes rows x and y (n + 1 long, the last element only follows) orthogonal; the longer one ends in
 * x. norm holds their squared lengths. Returns 1 when there was something to do. */
static int rotate_pair(size_t n, double *x, double *y, double *norm_x, double *norm_y) {
    double a = *norm_x, b = *norm_y;
    if (a == 0 && b == 0) return 0;
    double g = clsi_vector_dot(n, x, y);
    int turned = fabs(g) > sqrt((double)n) * DBL_EPSILON * sqrt(a) * sqrt(b);
    if (!turned && a >= b) return 0;
    if (!turned) {
        clsi_vector_rotate(n + 1, 0, 1, x, y); /* exchange, with a sign */
        *norm_x = b;
        *norm_y = a;
        return 0;
    }
    double zeta = (a - b) / (2 * g);
    double t = copysign(1 / (fabs(zeta) + hypot(1, zeta)), zeta);
    if (a < b) t = -1 / t; /* the large rotation sorts */
    double c = 1 / sqrt(1 + t * t);
    clsi_vector_rotate(n + 1, c, c * t, x, y);
    *norm_x = a + t * g; /* grows, so nothing cancels */
    *norm_y = clsi_vector_dot(n, y, y);
    return 1;
}

/* All pairs of a row of tile a and a later row of tile b >= a. */
static size_t tile_pair(size_t rows, size_t n, double *M, double *norm, size_t a, size_t b) {
    size_t turned = 0, ld = n + 1;
    for (size_t i = a * TILE; i < rows && i < (a + 1) * TILE; i++)
        for (size_t j = a == b ? i + 1 : b * TILE; j < rows && j < (b + 1) * TILE; j++)
            turned += (size_t)rotate_pair(n, M + i * ld, M + j * ld, norm + i, norm + j);
    return turned;
}

/* All pairs once. Tiles of rows meet as in a tournament: the pairs of a round share no row, so that
 * threads may take them in any order, and two tiles fit in the cache. Round 0 is within tiles.
 * 0 when `stop` said so. */
static int sweep(size_t rows, size_t n, double *M, double *norm, size_t *turns,
                 int (*stop)(void *owner), void *owner) {
    size_t tiles = (rows + TILE - 1) / TILE, turned = 0;
    tiles += tiles % 2; /* the last may be empty */
    for (size_t round = 0; round < tiles; round++) {
        if (stop && stop(owner)) return 0;
        size_t games = round ? tiles / 2 : tiles;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) reduction(+ : turned) if (rows > 4 * TILE)
#endif
        for (size_t k = 0; k < games; k++) {
            size_t a = k, b = k, others = tiles - 1;
            if (round) {
                a = (round - 1 + k) % others;
                b = k ? (round - 1 + others - k) % others : others;
            }
            turned += tile_pair(rows, n, M, norm, a < b ? a : b, a < b ? b : a);
        }
    }
    *turns = turned;
    return 1;
}

static void sort_rows(size_t n, double *M, double *norm) {
    for (size_t i = 0; i < n; i++) {
        size_t largest = i;
        for (size_t j = i + 1; j < n; j++)
            if (norm[j] > norm[largest]) largest = j;
        if (largest == i) continue;
        clsi_vector_rotate(n + 1, 0, 1, M + i * (n + 1), M + largest * (n + 1));
        double t = norm[i];
        norm[i] = norm[largest];
        norm[largest] = t;
    }
}

int clsi_svd_rows(size_t n, double *M, double *sigma, size_t *order, double *work,
                  int (*stop)(void *owner), void *owner) {
    size_t ld = n + 1, turned = 1;
    int sweeps = 0;
    for (size_t j = 0; j < n; j++) order[j] = j;
    size_t rows = pivoted_triangle(n, M, order, work);
    for (;; sweeps++) {
        for (size_t i = 0; i < n; i++) sigma[i] = clsi_vector_dot(n, M + i * ld, M + i * ld);
        if (!turned || sweeps == MAX_SWEEPS) break;
        if (!sweep(rows, n, M, sigma, &turned, stop, owner)) return -1;
    }
    sort_rows(n, M, sigma);
    for (size_t i = 0; i < n; i++) sigma[i] = sqrt(sigma[i]);
    return sweeps;
}

/* The unit vector that sticks out most of the rows so far, made orthogonal twice, is the next.
 * out[j] is what of unit vector j sticks out. */
void clsi_complete_rows(size_t n, size_t have, double *V, double *out) {
    for (size_t j = 0; j < n; j++) out[j] = 1;
    for (size_t k = 0; k < n; k++) {
        double *v = V + k * n;
        size_t at = 0;
        if (k < have) {
            for (size_t j = 0; j < n; j++) out[j] -= v[j] * v[j];
            continue;
        }
        for (size_t j = 1; j < n; j++)
            if (out[j] > out[at]) at = j;
        memset(v, 0, n * sizeof *v);
        v[at] = 1;
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < k; i++)
                clsi_vector_add(n, -clsi_vector_dot(n, V + i * n, v), V + i * n, v);
        double norm = sqrt(clsi_vector_dot(n, v, v));
        for (size_t j = 0; j < n; j++) v[j] /= norm;
        for (size_t j = 0; j < n; j++) out[j] -= v[j] * v[j];
    }
}
