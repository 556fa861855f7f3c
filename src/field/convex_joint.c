/* The convex field without N: Phi(u, y), its gradient, and the derivative of the gradient along a
 * direction.
 *
 *     Phi = u_A + sum_j T_j u_Bj + sum_j C_j (exp(alpha_j S_j) - 1)/alpha_j + |L^T y|^2/2 + c.r
 *
 * u are the values of networks of q, y = (v, T, S, r) the other inputs, and
 *
 *     C_j = floor + softplus(gamma_j + u_Cj)         alpha_j between COLD and HOT by a sigmoid
 *     L_ij = l_ij + u_ij,  i > j                     L_ii = floor + softplus(l_ii + u_ii)
 *
 * with l, c, gamma, alpha in theta; u is zero where there are no such networks. phi = N + Phi(u(q),
 * y) has the gradient Phi_y, and Phi_u u_q in q. So F = a phi + b.grad phi changes with the
 * parameters of network k by
 *
 *     (a Phi_uk + D Phi_uk) du_k + Phi_uk b_q.d grad u_k,    D = d/d(u, y) along (b_q.grad u, b_y)
 *
 * and with those in theta by a Phi_theta + D Phi_theta. Everything here is a few operations for
 * each input; the work is in the networks. */
#include "field/convex.h"
#include <math.h>
#include <string.h>

enum { D = CLSI_FIELD_MAX_INPUTS };

double clsi_convex_map(double theta) {
    return fmax(theta, 0) + log1p(exp(-fabs(theta)));
}

double clsi_convex_slope(double theta) {
    double e = exp(-fabs(theta));
    return (theta > 0 ? 1 : e) / (1 + e);
}

static double exponent_of(double theta) {
    return CLSI_CONVEX_COLD + (CLSI_CONVEX_HOT - CLSI_CONVEX_COLD) * clsi_convex_slope(theta);
}

/* Of the slope: the second derivative of the map. */
static double bend(double theta) {
    double s = clsi_convex_slope(theta);
    return s * (1 - s);
}

/* ---- what follows from theta ---- */

/* Number of (i, j), j <= i, in L by rows. */
static size_t at(size_t i, size_t j) {
    return i * (i + 1) / 2 + j;
}

/* Where the entries of L begin among the parts. */
static size_t first_entry(const clsi_convex *c) {
    return 1 + c->convex + c->thermal;
}

/* u: those of the entries, or NULL. */
static void set_triangle(const clsi_convex *c, const double *rest, const double *u,
                         clsi_convex_triangle *t) {
    for (size_t i = 0; i < c->order; i++) {
        for (size_t j = 0; j <= i; j++) t->L[at(i, j)] = rest[at(i, j)] + (u ? u[at(i, j)] : 0);
        double theta = t->L[at(i, i)];
        t->L[at(i, i)] = CLSI_CONVEX_DIAGONAL + clsi_convex_map(theta);
        t->map[i] = clsi_convex_slope(theta);
        t->bend[i] = bend(theta);
    }
}

void clsi_convex_prepare(const clsi_convex *c, const double *rest, clsi_convex_numbers *out) {
    const double *slope = rest + c->slope_at - c->triangle_at;
    const double *exponent = rest + c->gas_at - c->triangle_at + c->thermal;
    *out = (clsi_convex_numbers){.c = c, .rest = rest};
    set_triangle(c, rest, NULL, &out->own);
    for (size_t j = 0; j < c->monotone; j++) {
        out->slope[j] = CLSI_CONVEX_SLOPE + clsi_convex_map(slope[j]);
        out->slope_map[j] = clsi_convex_slope(slope[j]);
    }
    for (size_t j = 0; j < c->thermal; j++) {
        out->exponent[j] = exponent_of(exponent[j]);
        out->exponent_map[j] = (CLSI_CONVEX_HOT - CLSI_CONVEX_COLD) * bend(exponent[j]);
    }
}

/* ---- |L^T y|^2/2 ---- */

static const clsi_convex_triangle *triangle_at(const clsi_convex_numbers *k, const double *u,
                                               clsi_convex_triangle *own) {
    if (!k->c->varying) return &k->own;
    set_triangle(k->c, k->rest, u + first_entry(k->c), own);
    return own;
}

/* z = L^T y */
static void project(const clsi_convex *c, const double *L, const double *y, double *z) {
    for (size_t j = 0; j < c->order; j++) {
        z[j] = 0;
        for (size_t i = j; i < c->order; i++) z[j] += L[at(i, j)] * y[i];
    }
}

static void add_square(const clsi_convex_numbers *k, const double *u, const double *x,
                       double *value, double *gradient, double *by_u) {
    const clsi_convex *c = k->c;
    clsi_convex_triangle own;
    const clsi_convex_triangle *t = triangle_at(k, u, &own);
    const double *y = x + c->first;
    double z[D];
    project(c, t->L, y, z);
    for (size_t j = 0; j < c->order; j++) *value += z[j] * z[j] / 2;
    for (size_t i = 0; gradient && i < c->order; i++)
        for (size_t j = 0; j <= i; j++) {
            gradient[c->first + i] += t->L[at(i, j)] * z[j];
            if (c->varying)
                by_u[first_entry(c) + at(i, j)] = (i == j ? t->map[i] : 1) * y[i] * z[j];
        }
}

static void along_square(const clsi_convex_numbers *k, const double *u, const double *x,
                         const double *du, const double *dx, double a, double *by_u, double *along,
                         double *row) {
    const clsi_convex *c = k->c;
    clsi_convex_triangle own;
    const clsi_convex_triangle *t = triangle_at(k, u, &own);
    const double *y = x + c->first, *dy = dx + c->first;
    const double *de = c->varying ? du + first_entry(c) : NULL;
    double z[D], dz[D];
    project(c, t->L, y, z);
    project(c, t->L, dy, dz);
    for (size_t i = 0; de && i < c->order; i++)
        for (size_t j = 0; j <= i; j++) dz[j] += (i == j ? t->map[i] : 1) * de[at(i, j)] * y[i];
    for (size_t i = 0; i < c->order; i++)
        for (size_t j = 0; j <= i; j++) {
            double map = i == j ? t->map[i] : 1, slope = y[i] * z[j];
            double D_slope = map * (dy[i] * z[j] + y[i] * dz[j]);
            if (de && i == j) D_slope += t->bend[i] * de[at(i, j)] * slope;
            double sum = a * map * slope + D_slope;
            if (row) row[at(i, j)] += sum;
            if (!de) continue;
            by_u[first_entry(c) + at(i, j)] = map * slope;
            along[first_entry(c) + at(i, j)] = sum;
        }
}

/* ---- C (exp(alpha x) - 1)/alpha ---- */

typedef struct gas {
    double C, map, bend; /* C and its derivatives in gamma + u */
    double psi, by_x;    /* psi = (exp(alpha x) - 1)/alpha */
    double by_alpha, by_x_alpha;
} gas;

/* (t exp(t) - exp(t) + 1)/t^2, which is 1/2 + t/3 + t^2/8 + ... */
static double by_exponent(double t) {
    if (fabs(t) > 0.5) return (t * exp(t) - expm1(t)) / (t * t);
    double sum = 0, term = 1; /* t^k / k!, times 1/(k + 2) */
    for (int i = 0; i < 16; i++) {
        sum += term / (i + 2);
        term *= t / (i + 1);
    }
    return sum;
}

static gas gas_at(const clsi_convex_numbers *k, size_t j, double u, double x) {
    const clsi_convex *c = k->c;
    double theta = k->rest[c->gas_at - c->triangle_at + j] + u, alpha = k->exponent[j];
    return (gas){.C = CLSI_CONVEX_SLOPE + clsi_convex_map(theta),
                 .map = clsi_convex_slope(theta),
                 .bend = bend(theta),
                 .psi = expm1(alpha * x) / alpha,
                 .by_x = exp(alpha * x),
                 .by_alpha = x * x * by_exponent(alpha * x) * k->exponent_map[j],
                 .by_x_alpha = x * exp(alpha * x) * k->exponent_map[j]};
}

static void add_gases(const clsi_convex_numbers *k, const double *u, const double *x, double *value,
                      double *gradient, double *by_u) {
    const clsi_convex *c = k->c;
    size_t S = c->free + c->even + c->convex, part = 1 + c->convex;
    for (size_t j = 0; j < c->thermal; j++) {
        gas g = gas_at(k, j, c->n_parts ? u[part + j] : 0, x[S + j]);
        *value += g.C * g.psi;
        if (gradient) gradient[S + j] += g.C * g.by_x;
        if (gradient && c->n_parts) by_u[part + j] = g.map * g.psi;
    }
}

static void along_gases(const clsi_convex_numbers *k, const double *u, const double *x,
                        const double *du, const double *dx, double a, double *by_u, double *along,
                        double *row) {
    const clsi_convex *c = k->c;
    size_t S = c->free + c->even + c->convex, part = 1 + c->convex,
           gamma = c->gas_at - c->triangle_at;
    for (size_t j = 0; j < c->thermal; j++) {
        double dC = c->n_parts ? du[part + j] : 0;
        gas g = gas_at(k, j, c->n_parts ? u[part + j] : 0, x[S + j]);
        double by_C = g.bend * dC * g.psi + g.map * g.by_x * dx[S + j];
        double by_alpha = g.map * dC * g.by_alpha + g.C * g.by_x_alpha * dx[S + j];
        if (row) row[gamma + j] += a * g.map * g.psi + by_C;
        if (row) row[gamma + c->thermal + j] += a * g.C * g.by_alpha + by_alpha;
        if (!c->n_parts) continue;
        by_u[part + j] = g.map * g.psi;
        along[part + j] = a * g.map * g.psi + by_C;
    }
}

/* ---- together ---- */

void clsi_convex_joint(const clsi_convex_numbers *k, const double *u, const double *x,
                       double *value, double *gradient, double *by_u) {
    const clsi_convex *c = k->c;
    const double *T = x + c->free + c->even, *r = T + c->convex + c->thermal;
    if (c->n_parts) *value += u[0];
    if (c->n_parts && gradient) by_u[0] = 1;
    for (size_t j = 0; j < c->convex && c->n_parts; j++) {
        *value += T[j] * u[1 + j];
        if (!gradient) continue;
        by_u[1 + j] = T[j];
        gradient[c->free + c->even + j] += u[1 + j];
    }
    add_square(k, u, x, value, gradient, by_u);
    add_gases(k, u, x, value, gradient, by_u);
    for (size_t j = 0; j < c->monotone; j++) {
        *value += k->slope[j] * r[j];
        if (gradient) gradient[(size_t)(r - x) + j] += k->slope[j];
    }
}

void clsi_convex_joint_along(const clsi_convex_numbers *k, const double *u, const double *x,
                             const double *du, const double *dx, double a, double *by_u,
                             double *along, double *row) {
    const clsi_convex *c = k->c;
    size_t T = c->free + c->even, r = T + c->convex + c->thermal,
           slope = c->slope_at - c->triangle_at;
    if (c->n_parts) {
        by_u[0] = 1;
        along[0] = a;
    }
    for (size_t j = 0; j < c->convex && c->n_parts; j++) {
        by_u[1 + j] = x[T + j];
        along[1 + j] = a * x[T + j] + dx[T + j];
    }
    along_square(k, u, x, du, dx, a, by_u, along, row);
    along_gases(k, u, x, du, dx, a, by_u, along, row);
    for (size_t j = 0; row && j < c->monotone; j++)
        row[slope + j] += k->slope_map[j] * (a * x[r + j] + dx[r + j]);
}
