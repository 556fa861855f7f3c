/* The residual of the discrete-gradient scheme on windows of two neighbours and their mean.
 *
 * y = (q, p, S), g = (E_q, v, T) at the mean state (point 1), ends 0 and 2, dy = y2 - y0:
 *
 *     g* = g + D W dy / (dy.W dy),   D = E2 - E0 - g.dy,   W = squares of dE/dy at both ends
 *     p2 - p0 = h (-E_q* + sum F_i* + F_ext*),   S_i2 - S_i0 = (h / T_i*) heat_i*
 *
 * (docs/physics/vnots.md, last section). g* is a quotient of the unknown parts, so these
 * rows are not affine in them and are written as expressions over the quantities of all three
 * points. An unknown friction coefficient is taken at the mean state and multiplied with v*, where
 * src/scheme/discrete_gradient.c takes it at v* too: the difference is of the order of the error.
 * The discrete gradient is Gonzalez' one also for hamiltonians (the scheme differentiates H
 * discretely, which a field known by value and slope does not allow). For a thermal lagrangian D is
 * written without E: pbar.dv + Sbar.dT - (G2 - G0) + G_q.dq. The positions' own equation, q2 - q0 =
 * h v*, says nothing about the unknown parts beyond D, and is left out. Order 2, like
 * vnots-symmetric: D is of third order, so it changes what is learned by the size of what both are
 * wrong. */
#include "base/base.h"
#include "learn/learn.h"
#include <stdlib.h>
#include <string.h>

/* What the rows need of a point. */
typedef struct corner {
    cls_node *q, *p, *S, *slope; /* slope: dE/dy = (E_q, v, T) */
    cls_node *all; /* one block: E (or the G of a thermal lagrangian), q, p, S, slope */
} corner;

static size_t corner_size(const cls_system *s) {
    return 1 + 2 * (s->nq + s->n + s->m);
}

static void corner_over(const cls_system *s, cls_node *all, corner *c) {
    *c = (corner){.all = all, .q = all + 1};
    c->p = c->q + s->nq;
    c->S = c->p + s->n;
    c->slope = c->S + s->m;
}

/* The quantities over the system's own symbols. */
static void describe(const clsi_unknowns *us, const corner *c) {
    const cls_system *s = us->s;
    cls_graph *g = s->g;
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN;
    cls_node F = thermal ? cls_sub(g, s->bound.formula, s->bound.potential)
                         : cls_add(g, s->bound.formula, s->bound.potential);
    c->all[0] = F;
    for (size_t j = 0; j < s->nq; j++) {
        cls_node F_q = clsi_total_derivative(us, F, s->q[j]);
        c->q[j] = s->q[j];
        c->slope[j] = thermal ? cls_neg(g, F_q) : F_q;
    }
    for (size_t j = 0; j < s->n; j++) {
        c->p[j] = thermal ? clsi_total_derivative(us, F, s->v[j]) : s->p[j];
        c->slope[s->nq + j] = thermal ? s->v[j] : clsi_total_derivative(us, F, s->p[j]);
    }
    for (size_t i = 0; i < s->m; i++) {
        c->S[i] = thermal ? clsi_total_derivative(us, F, s->T[i]) : s->S[i];
        c->slope[s->nq + s->n + i] = thermal ? s->T[i] : clsi_total_derivative(us, F, s->S[i]);
    }
}

static cls_node product(cls_graph *g, size_t n, const cls_node *a, const cls_node *b) {
    cls_node sum = cls_constant(g, 0);
    for (size_t i = 0; i < n; i++) sum = cls_add(g, sum, cls_mul(g, a[i], b[i]));
    return sum;
}

static void differences(cls_graph *g, size_t n, const cls_node *a, const cls_node *b,
                        cls_node *out) {
    for (size_t i = 0; i < n; i++) out[i] = cls_sub(g, b[i], a[i]);
}

/* D; `dy` is (q, p, S) of the end minus that of the start. */
static cls_node defect(const cls_system *s, const corner c[3], const cls_node *dy) {
    cls_graph *g = s->g;
    cls_node d = cls_sub(g, c[2].all[0], c[0].all[0]), half = cls_constant(g, 0.5);
    size_t nq = s->nq, nz = nq + s->n + s->m;
    if (s->formalism != CLS_THERMAL_LAGRANGIAN)
        return cls_sub(g, d, product(g, nz, c[1].slope, dy));
    d = cls_neg(g, cls_add(g, d, product(g, nq, c[1].slope, dy)));
    for (size_t k = 0; k < s->n + s->m; k++) { /* (p, S) and (v, T) lie side by side */
        cls_node mean = cls_mul(g, half, cls_add(g, c[0].p[k], c[2].p[k]));
        cls_node dz = cls_sub(g, c[2].slope[nq + k], c[0].slope[nq + k]);
        d = cls_add(g, d, cls_mul(g, mean, dz));
    }
    return d;
}

/* g* = (E_q*, v*, T*). Where dy is far below the energy's own size D is round-off: a floor takes it
 * away there, smoothly. */
static void star_of(const cls_system *s, const corner c[3], cls_node *dy, cls_node *star) {
    cls_graph *g = s->g;
    size_t nz = s->nq + s->n + s->m;
    cls_node two = cls_constant(g, 2);
    differences(g, nz, c[0].q, c[2].q, dy);
    cls_node size = cls_add(g, cls_pow(g, c[0].all[0], two), cls_pow(g, c[2].all[0], two));
    cls_node norm = cls_add(g, cls_constant(g, 1e-100), cls_mul(g, cls_constant(g, 1e-18), size));
    for (size_t k = 0; k < nz; k++) {
        star[k] = cls_add(g, cls_pow(g, c[0].slope[k], two), cls_pow(g, c[2].slope[k], two));
        norm = cls_add(g, norm, cls_mul(g, star[k], cls_pow(g, dy[k], two)));
    }
    cls_node factor = cls_div(g, defect(s, c, dy), norm);
    for (size_t k = 0; k < nz; k++)
        star[k] = cls_add(g, c[1].slope[k], cls_mul(g, factor, cls_mul(g, star[k], dy[k])));
}

/* Frictions, conductances and forces at (q, v*, T*), their unknown parts at the mean state. */
static cls_status flows_at(const clsi_unknowns *us, const corner *mean, const cls_node *star,
                           const cls_node *own, const cls_node *copy, cls_node *friction) {
    const cls_system *s = us->s;
    size_t nq = s->nq, n = s->n, m = s->m, nz = nq + n + m, K = us->n_symbols;
    cls_node *kappa = friction + n * m, *force = kappa + m * m, *more = force + n;
    clsi_place at = {mean->q, star + nq, mean->p, mean->S, star + nq + n, copy[nz]};
    cls_status status = clsi_place_at(s, &at, n * m, s->bound.friction, friction);
    if (status == CLS_OK) status = clsi_place_at(s, &at, m * m, s->bound.conductance, kappa);
    if (status == CLS_OK) status = clsi_place_at(s, &at, n, s->bound.force, force);
    if (status == CLS_OK) status = clsi_place_at(s, &at, n, s->bound.operator_force, more);
    if (status == CLS_OK) status = clsi_place_at(s, &at, m, s->bound.operator_heat, more + n);
    if (status != CLS_OK) return status;
    return cls_substitute(s->g, n * m + m * m + 2 * n + m, friction, K, own + nz + 1, copy + nz + 1,
                          friction);
}

static void rows_from(const cls_system *s, const cls_node *dy, const cls_node *star, cls_node h,
                      const cls_node *friction, const cls_node *against, cls_node *out) {
    cls_graph *g = s->g;
    size_t n = s->n, m = s->m;
    const cls_node *kappa = friction + n * m, *force = kappa + m * m, *more = force + n;
    const cls_node *v = star + s->nq, *T = v + n;
    dy += s->nq;
    for (size_t j = 0; j < n; j++) {
        cls_node rate = cls_add(g, cls_sub(g, force[j], against[j]), more[j]);
        for (size_t i = 0; i < m; i++) rate = cls_add(g, rate, friction[i * n + j]);
        out[j] = cls_sub(g, dy[j], cls_mul(g, h, rate));
    }
    for (size_t i = 0; i < m; i++) {
        cls_node heat = cls_sub(g, more[n + i], product(g, n, friction + i * n, v));
        for (size_t k = 0; k < m; k++)
            heat = cls_add(g, heat, cls_mul(g, kappa[i * m + k], cls_sub(g, T[k], T[i])));
        out[n + i] = cls_sub(g, dy[n + i], cls_mul(g, h, cls_div(g, heat, T[i])));
    }
}

cls_status clsi_discrete_gradient_rows(const clsi_unknowns *us, const cls_node *own,
                                       const cls_node *copies, cls_node *out, cls_error *error) {
    const cls_system *s = us->s;
    size_t n = s->n, m = s->m, nz = s->nq + n + m, size = corner_size(s),
           I = nz + 1 + us->n_symbols;
    cls_node *all = clsi_calloc(4 * size + 3 * nz + n * m + m * m + 3 * n + m, sizeof *all);
    if (!all) return clsi_no_memory(error);
    corner c[4]; /* the three points, and the system's own symbols */
    for (size_t k = 0; k < 4; k++) corner_over(s, all + k * size, &c[k]);
    cls_node *dy = all + 4 * size, *star = dy + nz, *mean = star + nz, *against = mean + nz;
    cls_node *flows = against + n;
    describe(us, &c[3]);
    cls_status status = CLS_OK;
    for (size_t k = 0; k < 3 && status == CLS_OK; k++)
        status = cls_substitute(s->g, size, c[3].all, I, own, copies + k * I, c[k].all);
    if (status == CLS_OK) {
        star_of(s, c, dy, star);
        status = flows_at(us, &c[1], star, own, copies + I, flows);
    }
    if (status == CLS_OK) {
        cls_node h = cls_sub(s->g, copies[2 * I + nz], copies[nz]);
        cls_node half = cls_constant(s->g, 0.5);
        for (size_t k = 0; k < nz; k++) /* the brackets are those of the means, as in the scheme */
            mean[k] = cls_mul(s->g, half, cls_add(s->g, c[0].q[k], c[2].q[k]));
        const cls_node *p = mean + s->nq;
        clsi_place at = {mean, star + s->nq, p, p + n, star + s->nq + n, copies[I + nz]};
        status = clsi_brackets_at(s, &s->bound, &at, star, NULL, against);
        rows_from(s, dy, star, h, flows, against, out);
    }
    free(all);
    return status == CLS_OK ? cls_graph_status(s->g, error) : clsi_no_memory(error);
}
