/* Linear equations of a step where factorising costs much more than solving: plates, grids, networks.
 *
 * Problem: the factors of a grid of n cells have of the order of n log n entries, but making them
 * takes n^1.5 operations, ten solutions of a plate of 200 x 200 cells and fifty of a solid; a step changes the
 * Jacobian J a little. So factors M of an old Jacobian stay and precondition GMRES for the present one,
 *
 *     B y = c,   B = W M^-1 J W^-1,   c = W M^-1 b,   x = W^-1 y,   W = 1/scale,
 *
 * in the units in which Newton's method measures its updates. While J is near M, B is near 1 and a few
 * iterations are enough; they are as many as Newton's method can use: an update of size d leaves d^2 of the
 * error whatever the linear equations leave. J is factorised at once where GMRES does not get there, and
 * before the next equations when these have cost more than a matrix has cost on the average since the last
 * factorisation, itself counted: from there on the average would rise. Costs are counted in solutions, never timed.
 * The basis stands in memory that was carved when the simulator was made: nothing is allocated. */
#include "simulate/krylov.h"
#include "base/vectors.h"
#include "system/fronts.h"
#include <math.h>
#include <string.h>

enum { MOST = 20 }; /* iterations; no restart */
static const double part =
    0.1; /* of what Newton's method leaves: what is left of linear equations ... */
static const double least = 1e-3; /* ... and of them in any case */
/* An iteration in solutions: one, a product with J, the basis. */
static const double turn_cost = 1.5;

size_t clsi_krylov_size(const clsi_sparse_lu *lu) {
    return (MOST + 2) * lu->n;
}

/* ---- vectors ---- */

/* to = J x */
static void multiply(const clsi_fronts *f, const double *entry, const double *x, double *to) {
    for (size_t i = 0; i < f->n; i++) {
        double sum = 0;
        for (size_t k = f->start[i]; k < f->start[i + 1]; k++)
            sum += entry[f->stands[k]] * x[f->column[k]];
        to[i] = sum;
    }
}

/* In sixteen sums: the same bits in vectors of any width. */
CLONES
static double dot(size_t n, const double *a, const double *b) {
    double sum[16] = {0}, all = 0;
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (size_t k = 0; k < 16; k++) sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum[0] += a[i] * b[i];
    for (size_t k = 0; k < 8; k++) sum[k] += sum[k + 8];
    for (size_t k = 0; k < 8; k++) all += sum[k];
    return all;
}

/* a -= factor b */
CLONES
static void take(size_t n, double factor, const double *restrict b, double *restrict a) {
    for (size_t i = 0; i < n; i++) a[i] -= factor * b[i];
}

CLONES
static void divide(size_t n, double by, double *x) {
    for (size_t i = 0; i < n; i++) x[i] /= by;
}

CLONES
static void divide_each(size_t n, const double *restrict by, double *restrict x) {
    for (size_t i = 0; i < n; i++) x[i] /= by[i];
}

CLONES
static void multiply_each(size_t n, const double *restrict a, const double *restrict by,
                          double *restrict to) {
    for (size_t i = 0; i < n; i++) to[i] = a[i] * by[i];
}

static double largest(size_t n, const double *x) {
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
    return most;
}

/* ---- GMRES ---- */

/* The least-squares problem of the basis, turned triangular as it grows. */
typedef struct hessenberg {
    double r[MOST][MOST + 1]; /* columns */
    double c[MOST], s[MOST], right[MOST + 1];
} hessenberg;

/* Column j in the turned coordinates; the size of what is left of the right side. */
static double turn(hessenberg *q, int j) {
    double *h = q->r[j];
    for (int i = 0; i < j; i++) {
        double low = q->c[i] * h[i] + q->s[i] * h[i + 1];
        h[i + 1] = q->c[i] * h[i + 1] - q->s[i] * h[i];
        h[i] = low;
    }
    double size = hypot(h[j], h[j + 1]);
    q->c[j] = size > 0 ? h[j] / size : 1;
    q->s[j] = size > 0 ? h[j + 1] / size : 0;
    h[j] = size;
    q->right[j + 1] = -q->s[j] * q->right[j];
    q->right[j] *= q->c[j];
    return fabs(q->right[j + 1]);
}

/* b = sum of y_i v_i, in the units of the unknowns. */
static void combine(size_t n, hessenberg *q, int columns, const double *v, const double *scale,
                    double *b) {
    double y[MOST];
    for (int i = columns; i-- > 0;) {
        y[i] = q->right[i];
        for (int k = i + 1; k < columns; k++) y[i] -= q->r[k][i] * y[k];
        y[i] /= q->r[i][i];
    }
    memset(b, 0, n * sizeof *b);
    for (int k = 0; k < columns; k++) take(n, -y[k], v + (size_t)k * n, b);
    for (size_t i = 0; i < n; i++) b[i] *= scale[i];
}

/* J x = b for x, in its place. Iterations that it took, or 0: not reached, and b is as it was. */
static int gmres(clsi_krylov *k, const clsi_sparse_lu *lu, double *factors, const double *scale,
                 double *b) {
    size_t n = lu->n;
    double *given = k->room, *v = given + n; /* (MOST + 1, n) */
    hessenberg q;
    memcpy(given, b, n * sizeof *b);
    memcpy(v, b, n * sizeof *b);
    clsi_sparse_lu_solve(lu, factors, v);
    divide_each(n, scale, v);
    double begin = sqrt(dot(n, v, v)), size = largest(n, v);
    if (!isfinite(begin)) return 0;
    if (!(begin > 0)) return memset(b, 0, n * sizeof *b), 1;
    double enough = fmax(part * k->tolerance * sqrt((double)n), begin * fmin(least, part * size));
    divide(n, begin, v);
    q.right[0] = begin;
    for (int j = 0; j < MOST; j++) {
        const double *last = v + (size_t)j * n;
        double *next = v + (size_t)(j + 1) * n;
        multiply_each(n, last, scale, b);
        multiply(lu->fronts, k->entry, b, next);
        clsi_sparse_lu_solve(lu, factors, next);
        divide_each(n, scale, next);
        for (int i = 0; i <= j; i++) {
            double along = q.r[j][i] = dot(n, next, v + (size_t)i * n);
            take(n, along, v + (size_t)i * n, next);
        }
        double length = q.r[j][j + 1] = sqrt(dot(n, next, next));
        double left = turn(&q, j);
        if (!isfinite(left)) break;
        if (left <= enough || !(length > 0)) {
            combine(n, &q, j + 1, v, scale, b);
            return j + 1;
        }
        divide(n, length, next);
    }
    memcpy(b, given, n * sizeof *b);
    return 0;
}

/* Nonzero: there is no pivot. */
static int renew(clsi_krylov *k, const clsi_sparse_lu *lu, double *factors) {
    k->spent = k->before = k->turns = 0;
    k->old = 0;
    k->known = clsi_sparse_lu_factor(lu, k->entry, factors) == 0;
    k->made++;
    return !k->known;
}

int clsi_krylov_renew(clsi_krylov *k, const clsi_sparse_lu *lu, const double *entry,
                      double *factors) {
    k->entry = entry;
    return renew(k, lu, factors);
}

int clsi_krylov_factor(clsi_krylov *k, const clsi_sparse_lu *lu, const double *entry,
                       double *factors) {
    k->entry = entry;
    if (!k->known || (k->spent - k->before) * (k->turns + 1) > k->price + k->spent)
        return renew(k, lu, factors);
    k->before = k->spent;
    k->turns++;
    k->old = 1;
    return 0;
}

void clsi_krylov_solve(clsi_krylov *k, const clsi_sparse_lu *lu, double *factors,
                       const double *scale, double *b) {
    if (k->old) {
        int took = gmres(k, lu, factors, scale, b);
        k->spent += 1 + turn_cost * (took ? took : MOST);
        if (took) return;
        if (renew(k, lu, factors)) {
            for (size_t i = 0; i < lu->n; i++) b[i] = NAN;
            return;
        }
    }
    k->spent++;
    clsi_sparse_lu_solve(lu, factors, b);
}
