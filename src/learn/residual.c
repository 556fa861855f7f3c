/* The residual that is learned from: quadrature of order 4 on three neighbouring points.
 *
 *     y(z2) - y(z0) = sum_k w_k y'(z_k),      y = (p, S),    w: the parabola's weights
 *
 * (shared/physics/vnots.md, "quadrature"). p = G_v, S = G_T and the rates p' = G_q + sum F,
 * S_i' = heat_i / T_i are expressions in the data and in the field symbols (phi and its slopes); for
 * bases they are affine in these, so that a row over the parameters is a sum of basis derivatives.
 *
 * Weights: friction forces are small where v is, and the plain residual would not see them (lesson 2
 * of vnots.md), so a momentum row is divided by sqrt(v^2 + e^2) and an entropy row by v^2 + e^2,
 * with e a tenth of the root mean square of v; every row is divided by the length of its window. */
#include "base/base.h"
#include "learn/learn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the quantities at a point, as nodes ---- */

static cls_node total(const clsi_unknowns *us, cls_node a, cls_node symbol, double sign) {
    cls_node d = clsi_total_derivative(us, a, symbol);
    return sign < 0 ? cls_neg(us->s->g, d) : d;
}

/* y = (p, S), then y'. For a thermal lagrangian from G; for a hamiltonian p and S are data. */
static cls_status quantities(const clsi_unknowns *us, cls_node *y, cls_error *error) {
    const cls_system *s = us->s;
    cls_graph *g = s->g;
    size_t n = s->n, m = s->m;
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN;
    cls_node F = cls_sub(g, s->bound.formula, s->bound.potential);
    if (!thermal) F = cls_add(g, s->bound.formula, s->bound.potential);
    cls_node *all = clsi_calloc(2 * n + m + n * m + m * m + n, sizeof *all);
    if (!all) return clsi_no_memory(error);
    cls_node *v = all, *T = v + n, *friction = T + m, *kappa = friction + n * m;
    cls_node *force = kappa + m * m, *rate = y + n + m;
    for (size_t j = 0; j < n; j++) {
        y[j] = thermal ? total(us, F, s->v[j], 1) : s->p[j];
        v[j] = thermal ? s->v[j] : total(us, F, s->p[j], 1);
        rate[j] = total(us, F, s->q[j], thermal ? 1 : -1);
    }
    for (size_t i = 0; i < m; i++) {
        y[n + i] = thermal ? total(us, F, s->T[i], 1) : s->S[i];
        T[i] = thermal ? s->T[i] : total(us, F, s->S[i], 1);
    }
    clsi_place at = {NULL, v, y, y + n, T, s->t};
    clsi_place_at(s, &at, n * m, s->bound.friction, friction);
    clsi_place_at(s, &at, m * m, s->bound.conductance, kappa);
    clsi_place_at(s, &at, n, s->bound.force, force);
    for (size_t j = 0; j < n; j++) {
        rate[j] = cls_add(g, rate[j], force[j]);
        for (size_t i = 0; i < m; i++) rate[j] = cls_add(g, rate[j], friction[i * n + j]);
    }
    for (size_t i = 0; i < m; i++) {
        cls_node heat = cls_constant(g, 0);
        for (size_t j = 0; j < n; j++)
            heat = cls_sub(g, heat, cls_mul(g, friction[i * n + j], v[j]));
        for (size_t k = 0; k < m; k++)
            heat = cls_add(g, heat, cls_mul(g, kappa[i * m + k], cls_sub(g, T[k], T[i])));
        rate[n + i] = cls_div(g, heat, T[i]);
    }
    free(all);
    return cls_graph_status(g, error);
}

/* ---- evaluated at all points ---- */

static cls_status evaluate(clsi_residual *r, const cls_node *inputs, const cls_node *nodes,
                           size_t count, double *out, cls_error *error) {
    const clsi_points *p = r->points;
    size_t nz = p->nz, n_inputs = nz + 1 + r->unknowns->n_symbols;
    double *in = clsi_calloc(n_inputs * p->n, sizeof *in); /* field symbols stay zero */
    cls_program *program = NULL;
    cls_status status = in ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK)
        status = cls_program_create(r->unknowns->s->g, n_inputs, inputs, count, nodes, &program,
                                    error);
    if (status == CLS_OK) {
        memcpy(in, p->z, nz * p->n * sizeof *in);
        memcpy(in + nz * p->n, p->time, p->n * sizeof *in);
        status = cls_program_run_many(program, p->n, p->n, in, out);
    }
    for (size_t i = 0; i < count * p->n && status == CLS_OK; i++)
        if (!isfinite(out[i]))
            status = clsi_fail(error, CLS_DATA, "a term of the residual is not finite at row %zu",
                               i % p->n + 1);
    cls_program_free(&program);
    free(in);
    return status;
}

static cls_status compile(clsi_residual *r, cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    const clsi_points *p = r->points;
    size_t Q = r->n_quantities, K = us->n_symbols, nz = p->nz;
    cls_graph *g = us->s->g;
    cls_node *y = clsi_calloc(Q + Q * K + nz + 1 + K, sizeof *y);
    if (!y) return clsi_no_memory(error);
    cls_node *slopes = y + Q, *inputs = slopes + Q * K;
    const cls_system *s = us->s;
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN;
    memcpy(inputs, s->q, s->n * sizeof *y);
    memcpy(inputs + s->n, thermal ? s->v : s->p, s->n * sizeof *y);
    memcpy(inputs + 2 * s->n, thermal ? s->T : s->S, s->m * sizeof *y);
    inputs[nz] = s->t;
    memcpy(inputs + nz + 1, us->symbols, K * sizeof *y);
    cls_status status = quantities(us, y, error);
    if (status == CLS_OK) status = cls_jacobian(g, Q, y, K, us->symbols, slopes);
    r->affine = 1;
    for (size_t i = 0; i < Q * K && status == CLS_OK; i++)
        if (cls_depends(g, slopes[i], K, us->symbols)) r->affine = 0;
    if (status == CLS_OK) status = evaluate(r, inputs, y, Q, r->known, error);
    if (status == CLS_OK) status = evaluate(r, inputs, slopes, Q * K, r->slopes, error);
    free(y);
    return status;
}

static void set_weights(clsi_residual *r) {
    const clsi_points *p = r->points;
    const cls_system *s = r->unknowns->s;
    double sum = 0;
    for (size_t k = 0; k < s->n * p->n; k++) sum += p->z[s->n * p->n + k] * p->z[s->n * p->n + k];
    double e2 = 0.01 * sum / (double)p->n;
    if (!(e2 > 0)) e2 = 1;
    for (size_t w = 0; w < p->n_windows; w++) {
        size_t i = p->window[w] + 1;
        double v2 = e2, length = p->time[i + 1] - p->time[i - 1];
        for (size_t j = 0; j < s->n; j++) {
            double v = p->z[(s->n + j) * p->n + i];
            v2 += v * v;
        }
        for (size_t e = 0; e < r->n_equations; e++)
            r->weight[e * p->n_windows + w] = 1 / length / (e < r->n ? sqrt(v2) : v2);
    }
}

cls_status clsi_residual_create(const clsi_points *points, const clsi_unknowns *unknowns,
                                clsi_residual **out, cls_error *error) {
    *out = NULL;
    const cls_system *s = unknowns->s;
    if (s->formalism == CLS_LAGRANGIAN)
        return clsi_fail(error, CLS_USAGE,
                         "this version learns parts of a thermal lagrangian (from q, v, T) or of a "
                         "hamiltonian (from q, p, S); write '%s' as one of them",
                         s->name);
    clsi_residual *r = clsi_calloc(1, sizeof *r);
    if (!r) return clsi_no_memory(error);
    *r = (clsi_residual){.points = points, .unknowns = unknowns, .n = s->n, .m = s->m};
    r->n_equations = s->n + s->m;
    r->n_quantities = 2 * r->n_equations;
    r->known = clsi_calloc(r->n_quantities * points->n, sizeof(double));
    r->slopes = clsi_calloc(r->n_quantities * unknowns->n_symbols * points->n, sizeof(double));
    r->weight = clsi_calloc(r->n_equations * points->n_windows, sizeof(double));
    cls_status status = r->known && r->slopes && r->weight ? compile(r, error)
                                                           : clsi_no_memory(error);
    if (status == CLS_OK) {
        set_weights(r);
        *out = r;
    } else {
        clsi_residual_free(&r);
    }
    return status;
}

void clsi_residual_free(clsi_residual **residual) {
    clsi_residual *r = *residual;
    if (!r) return;
    free(r->known);
    free(r->slopes);
    free(r->weight);
    free(r);
    *residual = NULL;
}

/* ---- rows ---- */

/* Adds c times quantity q at point i to the linear form `row` over theta. */
static void add_quantity(const clsi_residual *r, size_t q, size_t i, double c, double *row) {
    const clsi_unknowns *us = r->unknowns;
    size_t N = r->points->n, K = us->n_symbols;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_unknown *u = &us->list[k];
        const clsi_learned *l = &u->learned;
        const double *slope = r->slopes + (q * K + u->symbol) * N + i;
        double a = c * slope[0], b[CLSI_FIELD_MAX_INPUTS];
        int any = a != 0;
        for (size_t j = 0; j < l->d; j++) {
            b[j] = c * slope[(j + 1) * N];
            any |= b[j] != 0;
        }
        if (any)
            l->field->kind->rows(l->field, NULL, 1, u->x + i * l->d, &a, b, 0, row + l->offset,
                                 NULL);
    }
}

static double row_of(const clsi_residual *r, size_t w, size_t e, double *row) {
    const clsi_points *p = r->points;
    size_t i = p->window[w], rate = r->n_equations + e, N = p->n;
    double weights[3], scale = r->weight[e * p->n_windows + w];
    clsi_window_weights(p->time + i, weights);
    double known = r->known[e * N + i + 2] - r->known[e * N + i];
    add_quantity(r, e, i + 2, scale, row);
    add_quantity(r, e, i, -scale, row);
    for (size_t k = 0; k < 3; k++) {
        known -= weights[k] * r->known[rate * N + i + k];
        add_quantity(r, rate, i + k, -scale * weights[k], row);
    }
    return -scale * known;
}

void clsi_residual_rows(const clsi_residual *r, size_t first, size_t count, double *A, double *b) {
    size_t P = r->unknowns->n_theta, E = r->n_equations;
    memset(A, 0, count * E * P * sizeof *A);
#pragma omp parallel for schedule(static)
    for (size_t w = 0; w < count; w++)
        for (size_t e = 0; e < E; e++)
            b[w * E + e] = row_of(r, first + w, e, A + (w * E + e) * P);
}

void clsi_residual_scale_row(const clsi_residual *r, double *row, double *known, double *mean_vv) {
    const clsi_points *p = r->points;
    size_t N = p->n;
    memset(row, 0, r->unknowns->n_theta * sizeof *row);
    *known = *mean_vv = 0;
    for (size_t w = 0; w < p->n_training; w++) {
        size_t i = p->window[w];
        for (size_t j = 0; j < r->n; j++) {
            double v = p->z[(r->n + j) * N + i], c = v / (double)p->n_training;
            add_quantity(r, j, i, c, row);
            *known += c * r->known[j * N + i];
            *mean_vv += c * v;
        }
    }
}
