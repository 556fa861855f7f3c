/* Weights on a window of points.
 *
 * An equation y' = f(x) is tested by sum w_i f(x_i) = sum c_i y_i, where c is chosen such that
 * sum c_i y(t_i) = sum w_i y'(t_i) for every polynomial y up to a degree, whatever the spacing.
 *   local: w is 1 at the middle point; c is the derivative there of the fitted polynomial
 *          (Savitzky and Golay 1964).
 *   weak:  w samples a bump (1 - s^2)^2 that vanishes outside the window, so that c is about minus
 *          its derivative (integration by parts): y is never differentiated, and noise is averaged
 *          before it is used (Messenger and Bortz 2021). The smallest change of that c makes the
 *          identity exact for polynomials.
 * Polynomials orthonormal on the points come from Gram and Schmidt with their derivatives carried
 * along; O(points degree^2) for each window. Noise of frequency near the spacing cannot be told
 * from motion, and is not. */
#include "identify/identify.h"
#include <math.h>
#include <string.h>

typedef double points[CLSI_WINDOW];

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* p_k, k <= degree < n, orthonormal on the points s in [-1, 1], and their derivatives there (NULL: not
 * wanted): each is s times the one before, made orthogonal to all before, twice. */
static void orthonormal(size_t n, const double *s, size_t degree, points *p, points *dp) {
    for (size_t k = 0; k <= degree; k++) {
        for (size_t i = 0; i < n; i++) p[k][i] = k ? s[i] * p[k - 1][i] : 1;
        for (size_t i = 0; dp && i < n; i++) dp[k][i] = k ? p[k - 1][i] + s[i] * dp[k - 1][i] : 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t j = 0; j < k; j++) {
                double t = dot(n, p[k], p[j]);
                for (size_t i = 0; i < n; i++) p[k][i] -= t * p[j][i];
                for (size_t i = 0; dp && i < n; i++) dp[k][i] -= t * dp[j][i];
            }
        double length = sqrt(dot(n, p[k], p[k]));
        for (size_t i = 0; i < n; i++) p[k][i] /= length;
        for (size_t i = 0; dp && i < n; i++) dp[k][i] /= length;
    }
}

/* Times as s in [-1, 1]; returns ds/dt. */
static double scaled(size_t n, const double *t, double *s) {
    double middle = (t[0] + t[n - 1]) / 2, half = (t[n - 1] - t[0]) / 2;
    for (size_t i = 0; i < n; i++) s[i] = (t[i] - middle) / half;
    return 1 / half;
}

/* The bump, its support one spacing wider than the window, and minus its slope in s as a start for
 * c; both with trapezoidal weights. */
static void bump(size_t n, const double *s, double *w, double *c) {
    double wide = 1 + 2.0 / (double)(n - 1), sum = 0;
    for (size_t i = 0; i < n; i++) {
        double left = i ? s[i] - s[i - 1] : s[1] - s[0];
        double right = i + 1 < n ? s[i + 1] - s[i] : s[n - 1] - s[n - 2];
        double x = s[i] / wide, weight = (left + right) / 2;
        w[i] = weight * (1 - x * x) * (1 - x * x);
        c[i] = weight * 4 * x * (1 - x * x) / wide;
        sum += w[i];
    }
    for (size_t i = 0; i < n; i++) {
        w[i] /= sum;
        c[i] /= sum;
    }
}

void clsi_window_rates(size_t n, const double *t, size_t degree, int weak, double *w, double *c) {
    points s, p[CLSI_WINDOW_DEGREE + 1], dp[CLSI_WINDOW_DEGREE + 1];
    double slope = scaled(n, t, s);
    memset(w, 0, n * sizeof *w);
    memset(c, 0, n * sizeof *c);
    if (weak)
        bump(n, s, w, c);
    else
        w[n / 2] = 1;
    orthonormal(n, s, degree, p, dp);
    for (size_t k = 0; k <= degree; k++) {
        double missing = dot(n, w, dp[k]) - dot(n, c, p[k]);
        for (size_t i = 0; i < n; i++) c[i] += missing * p[k][i];
    }
    for (size_t i = 0; i < n; i++) c[i] *= slope;
}

void clsi_window_noise(size_t n, const double *t, double *c) {
    points s, p[CLSI_WINDOW];
    scaled(n, t, s);
    orthonormal(n, s, n - 1, p, NULL);
    memcpy(c, p[n - 1], n * sizeof *c);
}
