/* LU factorisation with partial pivoting for small dense systems (n up to a few hundred).
 *
 * Problem: A x = b where A is a Jacobian of a handful of equations. A library call would cost more
 * than the arithmetic and could depend on the number of threads; this is 2n^3/3 operations in a
 * fixed order, no allocation, the same bits everywhere. It does not promise more than partial
 * pivoting does: nearly singular matrices give large answers, and the caller looks at them. */
#include "system/dense.h"
#include <math.h>

static size_t largest_in_column(size_t n, const double *a, size_t k) {
    size_t best = k;
    for (size_t i = k + 1; i < n; i++)
        if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
    return best;
}

static void swap_rows(size_t n, double *a, size_t i, size_t j) {
    for (size_t k = 0; k < n; k++) {
        double kept = a[i * n + k];
        a[i * n + k] = a[j * n + k];
        a[j * n + k] = kept;
    }
}

size_t clsi_lu_factor(size_t n, double *a, size_t *pivot) {
    for (size_t k = 0; k < n; k++) {
        size_t best = pivot[k] = largest_in_column(n, a, k);
        double d = a[best * n + k];
        if (!(fabs(d) > 0) || !isfinite(d)) return k + 1;
        if (best != k) swap_rows(n, a, best, k);
        for (size_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] /= d;
            if (factor == 0) continue;
            for (size_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return 0;
}

void clsi_lu_solve(size_t n, const double *lu, const size_t *pivot, double *b) {
    for (size_t k = 0; k < n; k++) {
        double kept = b[pivot[k]];
        b[pivot[k]] = b[k];
        b[k] = kept;
    }
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++) b[i] -= lu[i * n + j] * b[j];
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++) b[i] -= lu[i * n + j] * b[j];
        b[i] /= lu[i * n + i];
    }
}

double clsi_lu_quality(size_t n, const double *lu) {
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs(lu[i * n + i]);
        if (d < low) low = d;
        if (d > high) high = d;
    }
    return high > 0 ? low / high : 0;
}
