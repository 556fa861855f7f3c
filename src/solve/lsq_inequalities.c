/* The point nearest to a given one in a polyhedron: minimise |z - z_0|^2 / 2 subject to F z >= f.
 *
 * The dual method of Goldfarb and Idnani (Math. Programming 27, 1983) with unit Hessian: start at
 * z_0, which is optimal for no constraints; take the most violated constraint, walk towards it
 * while the multipliers of the active ones stay non-negative, dropping those that reach zero. No
 * feasible start is needed, infeasibility is noticed, and every active set is optimal for its own
 * constraints, so that the dual objective rises strictly and no set comes twice.
 *
 * The active normals are kept as N = Q T, Q orthonormal by twice repeated Gram-Schmidt, T upper
 * triangular, repaired by Givens rotations when one leaves. A step costs O(n a + n m), a active.
 * Afterwards the point is computed afresh from z_0 and the active set, to shed rounding. */
#include "solve/lsq.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct active_set {
    size_t n, m, count, capacity;
    const double *F, *f;
    double *z, *z0;           /* (n) */
    double *Q;                /* (capacity, n): rows are the orthonormal directions */
    double *T;                /* (capacity, capacity): column j holds normal j in the rows of Q */
    double *u, *r, *d;        /* multipliers (capacity), T^-1 Q n (capacity), direction (n) */
    double *h;                /* (capacity) */
    size_t *which;            /* (capacity) */
    unsigned char *is_active; /* (m) */
} active_set;

/* A normal whose part outside the active ones is below this is taken as dependent on them. */
static const double DEPENDENT = 1e-10;

static void release(active_set *a) {
    free(a->z0), free(a->Q), free(a->T), free(a->u), free(a->r), free(a->d), free(a->h);
    free(a->which), free(a->is_active);
}

static int prepare(active_set *a) {
    size_t c = a->capacity = a->n < a->m ? a->n : a->m;
    a->z0 = clsi_calloc(a->n + 1, sizeof(double));
    a->Q = clsi_calloc(c * a->n + 1, sizeof(double));
    a->T = clsi_calloc(c * c + 1, sizeof(double));
    a->u = clsi_calloc(c + 1, sizeof(double));
    a->r = clsi_calloc(c + 1, sizeof(double));
    a->h = clsi_calloc(c + 1, sizeof(double));
    a->d = clsi_calloc(a->n + 1, sizeof(double));
    a->which = clsi_calloc(c + 1, sizeof(size_t));
    a->is_active = clsi_calloc(a->m + 1, 1);
    if (!(a->z0 && a->Q && a->T && a->u && a->r && a->h && a->d && a->which && a->is_active))
        return 0;
    memcpy(a->z0, a->z, a->n * sizeof(double));
    return 1;
}

/* h = Q p and d = p - Q^T h (twice, for orthogonality); r = T^-1 h. Returns |d|. */
static double project(active_set *a, const double *p) {
    size_t n = a->n, c = a->capacity;
    memcpy(a->d, p, n * sizeof(double));
    memset(a->h, 0, c * sizeof(double));
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < a->count; i++) {
            double t = clsi_vector_dot(n, a->Q + i * n, a->d);
            a->h[i] += t;
            clsi_vector_add(n, -t, a->Q + i * n, a->d);
        }
    for (size_t i = a->count; i-- > 0;) {
        double t = a->h[i];
        for (size_t j = i + 1; j < a->count; j++) t -= a->T[i * c + j] * a->r[j];
        a->r[i] = t / a->T[i * c + i];
    }
    return sqrt(clsi_vector_dot(n, a->d, a->d));
}

static void append(active_set *a, size_t k, double multiplier, double length) {
    size_t n = a->n, c = a->capacity, at = a->count++;
    for (size_t i = 0; i < at; i++) a->T[i * c + at] = a->h[i];
    a->T[at * c + at] = length;
    for (size_t j = 0; j < n; j++) a->Q[at * n + j] = a->d[j] / length;
    a->u[at] = multiplier;
    a->which[at] = k;
    a->is_active[k] = 1;
}

/* Takes normal j out: its column leaves T, and rotations make T triangular again. */
static void drop(active_set *a, size_t j) {
    size_t n = a->n, c = a->capacity;
    a->is_active[a->which[j]] = 0;
    a->count--;
    for (size_t k = j; k < a->count; k++) {
        a->u[k] = a->u[k + 1];
        a->which[k] = a->which[k + 1];
        for (size_t i = 0; i <= k + 1; i++) a->T[i * c + k] = a->T[i * c + k + 1];
    }
    for (size_t k = j; k < a->count; k++) {
        double x = a->T[k * c + k], y = a->T[(k + 1) * c + k], length = hypot(x, y);
        double cosine = x / length, sine = y / length;
        clsi_vector_rotate(a->count - k, cosine, sine, a->T + k * c + k, a->T + (k + 1) * c + k);
        clsi_vector_rotate(n, cosine, sine, a->Q + k * n, a->Q + (k + 1) * n);
    }
}

/* The most violated constraint, or m when all hold to rounding. */
static size_t most_violated(const active_set *a, double *slack) {
    size_t worst = a->m;
    double size =
        sqrt(clsi_vector_dot(a->n, a->z, a->z)) + sqrt(clsi_vector_dot(a->n, a->z0, a->z0));
    *slack = 0;
    for (size_t i = 0; i < a->m; i++) {
        if (a->is_active[i]) continue;
        double s = clsi_vector_dot(a->n, a->F + i * a->n, a->z) - a->f[i];
        if (s < -1e-14 * (size + fabs(a->f[i])) && s < *slack) {
            *slack = s;
            worst = i;
        }
    }
    return worst;
}

/* The multiplier that reaches zero first along r; INFINITY when none does. */
static double first_blocking(const active_set *a, size_t *at) {
    double t = INFINITY;
    for (size_t j = 0; j < a->count; j++)
        if (a->r[j] > 0 && a->u[j] / a->r[j] < t) {
            t = a->u[j] / a->r[j];
            *at = j;
        }
    return t;
}

/* Makes constraint k hold. Returns 0 when it contradicts the active ones. */
static int satisfy(active_set *a, size_t k) {
    const double *p = a->F + k * a->n;
    double multiplier = 0;
    for (size_t round = 0; round <= a->m + a->n; round++) {
        size_t blocking = 0;
        double slack = clsi_vector_dot(a->n, p, a->z) - a->f[k], length = project(a, p);
        int dependent = length <= DEPENDENT || a->count == a->capacity;
        double t1 = first_blocking(a, &blocking);
        double t2 = dependent ? INFINITY : -slack / (length * length);
        if (t2 < 0) t2 = 0;
        double t = t1 < t2 ? t1 : t2;
        if (isinf(t)) return 0;
        if (!dependent) clsi_vector_add(a->n, t, a->d, a->z);
        clsi_vector_add(a->count, -t, a->r, a->u);
        multiplier += t;
        if (t2 <= t1) {
            append(a, k, multiplier, length);
            return 1;
        }
        drop(a, blocking);
    }
    return 0;
}

/* z and u afresh: N^T (z_0 + Q^T y) = f_active with T^T y = f - N^T z_0, and T u = y. */
static void polish(active_set *a) {
    size_t n = a->n, c = a->capacity;
    double *y = a->h;
    for (size_t j = 0; j < a->count; j++) {
        size_t k = a->which[j];
        double t = a->f[k] - clsi_vector_dot(n, a->F + k * n, a->z0);
        for (size_t i = 0; i < j; i++) t -= a->T[i * c + j] * y[i];
        y[j] = t / a->T[j * c + j];
    }
    memcpy(a->z, a->z0, n * sizeof(double));
    for (size_t i = 0; i < a->count; i++) clsi_vector_add(n, y[i], a->Q + i * n, a->z);
    for (size_t i = a->count; i-- > 0;) {
        double t = y[i];
        for (size_t j = i + 1; j < a->count; j++) t -= a->T[i * c + j] * a->u[j];
        a->u[i] = t / a->T[i * c + i];
    }
}

static cls_status search(active_set *a, cls_error *error) {
    double slack;
    size_t limit = 20 * (a->m + a->n) + 100;
    for (int round = 0; round < 4; round++) {
        size_t k;
        for (size_t step = 0; (k = most_violated(a, &slack)) < a->m && step < limit; step++)
            if (!satisfy(a, k))
                return clsi_fail(error, CLS_NUMERIC,
                                 "inequality %zu of %zu cannot hold together with the others: no "
                                 "point satisfies all of them",
                                 k + 1, a->m);
        polish(a);
        if (most_violated(a, &slack) == a->m) break;
    }
    return CLS_OK;
}

cls_status clsi_nearest_feasible(size_t n, size_t m, const double *F, const double *f, double *z,
                                 double *u, cls_error *error) {
    active_set a = {.n = n, .m = m, .F = F, .f = f, .z = z};
    cls_status status = prepare(&a) ? search(&a, error) : clsi_no_memory(error);
    for (size_t i = 0; i < m; i++) u[i] = 0;
    for (size_t i = 0; status == CLS_OK && i < a.count; i++) u[a.which[i]] = a.u[i];
    release(&a);
    return status;
}
