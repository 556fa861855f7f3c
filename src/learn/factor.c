/* Orthogonal factors: rows absorbed into a triangle, and the singular values of the triangle.
 *
 * Absorbing is Householder's QR of [R; B] with R triangular (LAPACK's tpqrt): reflectors of a panel
 * of columns are gathered as I - V T V^T (Schreiber and Van Loan 1989) and applied to the rest by
 * two products. 2 m n^2 operations for m rows. The normal equations would cost half and lose half
 * of the digits; bases of high degree have condition 1e8 and more, so this is the safe way.
 *
 * The singular values come from one-sided Jacobi rotations (Hestenes 1958; Demmel and Veselic 1992)
 * of the ROWS of R: these become sigma_i v_i, the right-hand side is rotated along, and U is never
 * formed. About 4 n^3 operations a sweep, 6 to 10 sweeps: 1 s for n = 750. Small singular values
 * come with relative accuracy, and one order of rotations gives one set of bits. */
#include "learn/lsq.h"
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
    double below = clsi_dot(m, v, v);
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
            double t = tau * (R[j * ld + l] + clsi_dot(m, v, V + l * m));
            R[j * ld + l] -= t;
            clsi_axpy(m, -t, v, V + l * m);
        }
        for (size_t i = 0; i < j; i++) projection[i] = clsi_dot(m, V + i * m, v);
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
        for (size_t l = 0; l < i; l++) clsi_axpy(rest, T[l * NB + i], W + l * rest, row);
    }
    for (size_t i = 0; i < w; i++) clsi_axpy(rest, -1, W + i * rest, R + i * ld);
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

/* Makes rows x and y (n + 1 long, the last element only follows) orthogonal; the longer one ends in
 * x. norm holds their squared lengths. Returns 1 when there was something to do. */
static int rotate_pair(size_t n, double *x, double *y, double *norm_x, double *norm_y) {
    double a = *norm_x, b = *norm_y;
    if (a == 0 && b == 0) return 0;
    double g = clsi_dot(n, x, y);
    int turned = fabs(g) > sqrt((double)n) * DBL_EPSILON * sqrt(a) * sqrt(b);
    if (!turned && a >= b) return 0;
    if (!turned) {
        clsi_rotate(n + 1, 0, 1, x, y); /* exchange, with a sign */
        *norm_x = b;
        *norm_y = a;
        return 0;
    }
    double zeta = (a - b) / (2 * g);
    double t = copysign(1 / (fabs(zeta) + hypot(1, zeta)), zeta);
    if (a < b) t = -1 / t; /* the large rotation sorts */
    double c = 1 / sqrt(1 + t * t);
    clsi_rotate(n + 1, c, c * t, x, y);
    *norm_x = a + t * g; /* grows, so nothing cancels */
    *norm_y = clsi_dot(n, y, y);
    return 1;
}

/* Pairs in tiles, so that two groups of rows stay in the cache. */
static size_t sweep(size_t n, double *M, double *norm) {
    size_t turned = 0, ld = n + 1;
    for (size_t i0 = 0; i0 < n; i0 += TILE)
        for (size_t j0 = i0; j0 < n; j0 += TILE)
            for (size_t i = i0; i < n && i < i0 + TILE; i++)
                for (size_t j = j0 > i ? j0 : i + 1; j < n && j < j0 + TILE; j++)
                    turned += (size_t)rotate_pair(n, M + i * ld, M + j * ld, norm + i, norm + j);
    return turned;
}

static void sort_rows(size_t n, double *M, double *norm) {
    for (size_t i = 0; i < n; i++) {
        size_t largest = i;
        for (size_t j = i + 1; j < n; j++)
            if (norm[j] > norm[largest]) largest = j;
        if (largest == i) continue;
        clsi_rotate(n + 1, 0, 1, M + i * (n + 1), M + largest * (n + 1));
        double t = norm[i];
        norm[i] = norm[largest];
        norm[largest] = t;
    }
}

void clsi_svd_rows(size_t n, double *M, double *sigma) {
    size_t ld = n + 1, turned = 1;
    for (int k = 0; k <= MAX_SWEEPS; k++) {
        for (size_t i = 0; i < n; i++) sigma[i] = clsi_dot(n, M + i * ld, M + i * ld);
        if (!turned || k == MAX_SWEEPS) break;
        turned = sweep(n, M, sigma);
    }
    sort_rows(n, M, sigma);
    for (size_t i = 0; i < n; i++) sigma[i] = sqrt(sigma[i]);
}

/* The unit vector that sticks out most of the rows so far, made orthogonal twice, is the next. */
void clsi_complete_rows(size_t n, size_t have, double *V) {
    for (size_t k = have; k < n; k++) {
        double *v = V + k * n, best = -1;
        size_t at = 0;
        for (size_t j = 0; j < n; j++) {
            double out = 1;
            for (size_t i = 0; i < k; i++) out -= V[i * n + j] * V[i * n + j];
            if (out > best) best = out, at = j;
        }
        memset(v, 0, n * sizeof *v);
        v[at] = 1;
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < k; i++) clsi_axpy(n, -clsi_dot(n, V + i * n, v), V + i * n, v);
        double norm = sqrt(clsi_dot(n, v, v));
        for (size_t j = 0; j < n; j++) v[j] /= norm;
    }
}
