/* Linear equations of a step where factorising costs much more than solving: plates, grids, meshes.
 *
 * Problem: the factors of a grid of n cells have of the order of n log n entries, but making them
 * takes n^1.5 operations; a step changes the Jacobian J a little, and at most some dozens of solutions
 * would be paid by each new factorisation. So factors M of an old Jacobian stay and precondition
 * GMRES for the present one,
 *
 *     B y = c,   B = W M^-1 J W^-1,   c = W M^-1 b,   x = W^-1 y,   W = 1/scale,
 *
 * in the units in which Newton's method measures its updates. While J is near M, B is near 1 and a few
 * iterations are enough. When there are too many, J is factorised: at once where GMRES does not get
 * there, else before the next equations when what the iterations have cost would have paid for it. The
 * basis stands in memory that was carved when the simulator was made: nothing is allocated. */
#include "simulate/krylov.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = 20, FRESH = 3 };         /* iterations; no restart */
static const double reduction = 1e-11; /* of c ... */
static const double enough = 1e-15;    /* ... or what is left of it, in units of the scale */
/* A factorisation that costs less than so many solutions is made every time. */
static const double dear = 40;
enum { FEW = 1000 }; /* unknowns */

/* Operations of a factorisation in units of those of a solution. */
double clsi_krylov_price(const clsi_sparse_lu *lu) {
    double sum = 0;
    if (lu->segments || lu->n < FEW) return 0;
    for (size_t i = 0; i < lu->n; i++)
        for (size_t k = lu->first[i]; k < lu->diagonal[i]; k++)
            sum += (double)(lu->first[lu->column[k] + 1] - lu->diagonal[lu->column[k]]);
    sum /= (double)lu->first[lu->n];
    return sum > dear ? sum : 0;
}

size_t clsi_krylov_size(const clsi_sparse_lu *lu) {
    return (MOST + 2) * lu->n;
}

/* to = J x */
static void multiply(const clsi_sparse_lu *lu, const double *entry, const double *x, double *to) {
    for (size_t i = 0; i < lu->n; i++) {
        double sum = 0;
        for (size_t k = lu->from[i]; k < lu->from[i + 1]; k++)
            sum += entry[lu->source[k]] * x[lu->order[lu->target[k]]];
        to[lu->order[i]] = sum;
    }
}

static double dot(size_t n, const double *a, const double *b) {
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void divide(size_t n, double by, double *x) {
    for (size_t i = 0; i < n; i++) x[i] /= by;
}

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
    for (size_t i = 0; i < n; i++) b[i] = y[0] * v[i];
    for (int k = 1; k < columns; k++)
        for (size_t i = 0; i < n; i++) b[i] += y[k] * v[(size_t)k * n + i];
    for (size_t i = 0; i < n; i++) b[i] *= scale[i];
}

/* J x = b for x, in its place. Iterations that it took, or 0: not reached, and b is as it was. */
static int gmres(const clsi_sparse_lu *lu, const double *entry, double *factors,
                 const double *scale, double *room, double *b) {
    size_t n = lu->n;
    double *given = room, *v = room + n; /* (MOST + 1, n) */
    hessenberg q;
    memcpy(given, b, n * sizeof *b);
    memcpy(v, b, n * sizeof *b);
    clsi_sparse_lu_solve(lu, factors, v);
    for (size_t i = 0; i < n; i++) v[i] /= scale[i];
    double begin = sqrt(dot(n, v, v));
    if (!isfinite(begin)) return 0;
    if (!(begin > 0)) return memset(b, 0, n * sizeof *b), 1;
    divide(n, begin, v);
    q.right[0] = begin;
    for (int j = 0; j < MOST; j++) {
        const double *last = v + (size_t)j * n;
        double *next = v + (size_t)(j + 1) * n;
        for (size_t i = 0; i < n; i++) b[i] = last[i] * scale[i];
        multiply(lu, entry, b, next);
        clsi_sparse_lu_solve(lu, factors, next);
        for (size_t i = 0; i < n; i++) next[i] /= scale[i];
        for (int k = 0; k <= j; k++) {
            const double *old = v + (size_t)k * n;
            double along = q.r[j][k] = dot(n, next, old);
            for (size_t i = 0; i < n; i++) next[i] -= along * old[i];
        }
        double size = q.r[j][j + 1] = sqrt(dot(n, next, next));
        double left = turn(&q, j);
        if (!isfinite(left)) break;
        if (left <= fmax(reduction * begin, enough) || !(size > 0)) {
            combine(n, &q, j + 1, v, scale, b);
            return j + 1;
        }
        divide(n, size, next);
    }
    memcpy(b, given, n * sizeof *b);
    return 0;
}

/* Nonzero: there is no pivot. */
static int renew(clsi_krylov *k, const clsi_sparse_lu *lu, double *factors) {
    k->spent = 0;
    k->old = 0;
    k->known = clsi_sparse_lu_factor(lu, k->entry, factors) == 0;
    k->made++;
    return !k->known;
}

int clsi_krylov_factor(clsi_krylov *k, const clsi_sparse_lu *lu, const double *entry,
                       double *factors) {
    k->entry = entry;
    if (!k->known || k->spent > k->price) return renew(k, lu, factors);
    k->old = 1;
    return 0;
}

void clsi_krylov_solve(clsi_krylov *k, const clsi_sparse_lu *lu, double *factors,
                       const double *scale, double *b) {
    if (k->old) {
        int took = gmres(lu, k->entry, factors, scale, k->room, b);
        if (took > FRESH) k->spent += took - FRESH;
        if (took) return;
        if (renew(k, lu, factors)) {
            for (size_t i = 0; i < lu->n; i++) b[i] = NAN;
            return;
        }
    }
    clsi_sparse_lu_solve(lu, factors, b);
}
