/* The residual that is learned from.
 *
 *     y(z2) - y(z0) = sum_k w_k y'(z_k),      y = (p, S)
 *
 * over three points, with the weights of a rule (shared/physics/vnots.md):
 *   quadrature       three neighbours, the parabola's weights; order 4, the default
 *   vnots-symmetric  two neighbours and the mean of their states: all weight in the middle; order 2
 *   vnots            scheme (25) as published: p' at the end, S' at the beginning; order 1, which
 *                    puts a bias of order h into what is learned
 *   discrete-gradient  rows that are expressions over all three points (discrete_gradient.c)
 * p = G_v, S = G_T and the rates p' = G_q + sum F,
 * S_i' = heat_i / T_i are expressions in the data and in the field symbols (phi and its slopes);
 * for bases they are affine in these, so that a row over the parameters is a sum of basis
 * derivatives.
 *
 * Weights: friction forces are small where v is, and the plain residual would not see them (lesson
 * 2 of vnots.md), so a momentum row is divided by sqrt(v^2 + e^2) and an entropy row by v^2 + e^2,
 * with e a tenth of the root mean square of v; every row is divided by the length of its window. */
#include "base/base.h"
#include "learn/learn.h"
#include <math.h>
#include <stdio.h>
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

/* ---- compiled ---- */

/* Fresh symbols for z, t and the field symbols at the three points of a window. */
static void name_copies(cls_graph *g, size_t I, cls_node *copies) {
    char name[64];
    for (size_t i = 0; i < 3 * I; i++) {
        snprintf(name, sizeof name, "'%zu'%zu", i / I, i % I);
        copies[i] = cls_symbol(g, name);
    }
}

static cls_status compile_window(clsi_residual *r, const cls_node *own, cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    size_t E = r->n_equations, K = us->n_symbols, nz = r->points->nz, I = nz + 1 + K;
    cls_graph *g = us->s->g;
    cls_node *rows = clsi_calloc(E + 3 * E * K + 3 * I + 3 * K, sizeof *rows);
    if (!rows) return clsi_no_memory(error);
    cls_node *slopes = rows + E, *copies = slopes + 3 * E * K, *symbols = copies + 3 * I;
    name_copies(g, I, copies);
    for (size_t k = 0; k < 3; k++)
        memcpy(symbols + k * K, copies + k * I + nz + 1, K * sizeof *symbols);
    cls_status status = clsi_discrete_gradient_rows(us, own, copies, rows, error);
    if (status == CLS_OK) status = cls_jacobian(g, E, rows, 3 * K, symbols, slopes);
    if (status == CLS_OK)
        status = cls_program_create(g, 3 * I, copies, E, rows, &r->window_values, error);
    if (status == CLS_OK)
        status =
            cls_program_create(g, 3 * I, copies, E + 3 * E * K, rows, &r->window_slopes, error);
    r->start_affine = r->affine;
    r->affine = 0;
    free(rows);
    return status;
}

/* Values of the field symbols at which every part vanishes. A part made positive by form,
 * (u + sqrt(u^2 + floor^2))/2, does so far below zero; at a power of two exactly. */
static void make_zero(const clsi_unknowns *us, cls_node *zero) {
    cls_graph *g = us->s->g;
    for (size_t k = 0; k < us->n_symbols; k++) zero[k] = cls_constant(g, 0);
    for (size_t i = 0; i < us->n; i++)
        if (us->list[i].learned.floor > 0) zero[us->list[i].symbol] = cls_constant(g, -0x1p400);
}

static cls_status compile(clsi_residual *r, cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    size_t Q = r->n_quantities, K = us->n_symbols, nz = r->points->nz;
    cls_graph *g = us->s->g;
    cls_node *y = clsi_calloc(2 * Q + Q * K + nz + 1 + 2 * K, sizeof *y);
    if (!y) return clsi_no_memory(error);
    cls_node *slopes = y + Q, *constant = slopes + Q * K, *inputs = constant + Q;
    cls_node *zero = inputs + nz + 1 + K;
    const cls_system *s = us->s;
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN;
    memcpy(inputs, s->q, s->n * sizeof *y);
    memcpy(inputs + s->n, thermal ? s->v : s->p, s->n * sizeof *y);
    memcpy(inputs + 2 * s->n, thermal ? s->T : s->S, s->m * sizeof *y);
    inputs[nz] = s->t;
    memcpy(inputs + nz + 1, us->symbols, K * sizeof *y);
    cls_status status = quantities(us, y, error);
    if (status == CLS_OK) status = cls_jacobian(g, Q, y, K, us->symbols, slopes);
    r->affine = r->homogeneous = 1;
    make_zero(us, zero);
    for (size_t i = 0; i < Q * K && status == CLS_OK; i++)
        if (cls_depends(g, slopes[i], K, us->symbols)) r->affine = 0;
    for (size_t i = 0; i < Q && status == CLS_OK; i++) {
        constant[i] = y[i];
        for (size_t k = 0; k < K; k++)
            cls_substitute(g, 1, &constant[i], 1, &us->symbols[k], &zero[k], &constant[i]);
        if (!cls_is_constant(g, constant[i], 0)) r->homogeneous = 0;
    }
    for (size_t k = 0; k < us->n; k++) r->affine &= us->list[k].learned.field->kind->linear;
    if (status == CLS_OK)
        status = cls_program_create(g, nz + 1 + K, inputs, Q, y, &r->values, error);
    if (status == CLS_OK)
        status = cls_program_create(g, nz + 1 + K, inputs, Q + Q * K, y, &r->slopes, error);
    if (status == CLS_OK && r->points->rule == CLSI_DISCRETE_GRADIENT)
        status = compile_window(r, inputs, error);
    free(y);
    return status;
}

static cls_status set_weights(clsi_residual *r, cls_error *error) {
    const clsi_points *p = r->points;
    const cls_system *s = r->unknowns->s;
    double sum = 0;
    for (size_t k = 0; k < s->n * p->n; k++) sum += p->z[s->n * p->n + k] * p->z[s->n * p->n + k];
    double e2 = 0.01 * sum / (double)p->n;
    if (!(e2 > 0)) e2 = 1;
    for (size_t w = 0; w < p->n_windows; w++) {
        size_t at[3];
        clsi_window_points(p, w, at);
        double v2 = e2, length = p->time[at[2]] - p->time[at[0]];
        for (size_t j = 0; j < s->n; j++) {
            double v = p->z[(s->n + j) * p->n + at[1]];
            v2 += v * v;
        }
        for (size_t e = 0; e < r->n_equations; e++) {
            double weight = 1 / length / (e < r->n ? sqrt(v2) : v2);
            if (!(weight > 0) || !isfinite(weight))
                return clsi_fail(error, CLS_DATA,
                                 "the data from time %g to %g cannot be weighed: step %g, squared "
                                 "speed %g; use units in which both are nearer to one",
                                 p->time[at[0]], p->time[at[2]], length, v2);
            r->weight[e * p->n_windows + w] = weight;
        }
    }
    return CLS_OK;
}

cls_status clsi_residual_create(const clsi_points *points, const clsi_unknowns *unknowns,
                                clsi_residual **out, cls_error *error) {
    *out = NULL;
    const cls_system *s = unknowns->s;
    clsi_residual *r = clsi_calloc(1, sizeof *r);
    if (!r) return clsi_no_memory(error);
    *r = (clsi_residual){.points = points, .unknowns = unknowns, .n = s->n, .m = s->m};
    r->n_equations = s->n + s->m;
    r->n_quantities = 2 * r->n_equations;
    r->weight = clsi_calloc(r->n_equations * points->n_windows, sizeof(double));
    cls_status status = r->weight ? compile(r, error) : clsi_no_memory(error);
    if (status == CLS_OK) status = set_weights(r, error);
    if (status == CLS_OK)
        *out = r;
    else
        clsi_residual_free(&r);
    return status;
}

void clsi_residual_free(clsi_residual **residual) {
    clsi_residual *r = *residual;
    if (!r) return;
    cls_program_free(&r->values);
    cls_program_free(&r->slopes);
    cls_program_free(&r->window_values);
    cls_program_free(&r->window_slopes);
    free(r->weight);
    free(r);
    *residual = NULL;
}

/* ---- a batch of windows, evaluated ---- */

enum { BATCH = 42, POINTS = 3 * BATCH }; /* windows of a batch and their points */

typedef struct batch {
    const clsi_residual *r;
    const double *theta;
    size_t n; /* windows */
    size_t window[BATCH];
    double *in;                     /* (nz + 1 + K, POINTS) */
    double *out;                    /* (Q [+ Q K], POINTS) */
    double *window_in, *window_out; /* (3 (nz + 1 + K), BATCH), (E [+ 3 E K], BATCH) */
    double *value, *slope, *x;      /* of one field: (POINTS), (POINTS, d), (POINTS, d) */
    double *scratch;
    double *block;
} batch;

static cls_status batch_create(const clsi_residual *r, const double *theta, batch *b) {
    const clsi_unknowns *us = r->unknowns;
    size_t K = us->n_symbols, Q = r->n_quantities, scratch = 0, d = CLSI_FIELD_MAX_INPUTS;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_field *f = us->list[k].learned.field;
        size_t need = f->kind->scratch(f, POINTS);
        if (need > scratch) scratch = need;
    }
    size_t inputs = (r->points->nz + 1 + K) * POINTS, outputs = (Q + Q * K) * POINTS;
    size_t whole = r->window_values ? BATCH * r->n_equations * (1 + 3 * K) : 0;
    *b = (batch){.r = r, .theta = theta};
    b->block =
        clsi_calloc(2 * inputs + outputs + whole + POINTS * (1 + 2 * d) + scratch, sizeof(double));
    if (!b->block) return CLS_MEMORY;
    b->in = b->block;
    b->out = b->in + inputs;
    b->window_in = b->out + outputs;
    b->window_out = b->window_in + inputs;
    b->value = b->window_out + whole;
    b->slope = b->value + POINTS;
    b->x = b->slope + POINTS * d;
    b->scratch = b->x + POINTS * d;
    return CLS_OK;
}

/* Point k of window w of the batch is number 3 w + k. */
static size_t point_of(const batch *b, size_t i) {
    size_t at[3];
    clsi_window_points(b->r->points, b->window[i / 3], at);
    return at[i % 3];
}

static void gather_inputs(const batch *b, const clsi_unknown *u) {
    size_t d = u->learned.d;
    for (size_t i = 0; i < 3 * b->n; i++)
        memcpy(b->x + i * d, u->x + point_of(b, i) * d, d * sizeof(double));
}

static void fill_fields(batch *b) {
    const clsi_unknowns *us = b->r->unknowns;
    size_t nz = b->r->points->nz, count = 3 * b->n;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_unknown *u = &us->list[k];
        const clsi_learned *l = &u->learned;
        double *row = b->in + (nz + 1 + u->symbol) * POINTS;
        if (!b->theta) {
            memset(row, 0, (1 + l->d) * POINTS * sizeof *row);
            continue;
        }
        gather_inputs(b, u);
        l->field->kind->evaluate(l->field, b->theta + l->offset, count, b->x, b->value, b->slope,
                                 b->scratch);
        for (size_t i = 0; i < count; i++) {
            row[i] = b->value[i];
            for (size_t j = 0; j < l->d; j++) row[(j + 1) * POINTS + i] = b->slope[i * l->d + j];
        }
    }
}

/* Are the rows expressions over whole windows? */
static int whole_windows(const batch *b) {
    return b->r->window_values && !b->r->plain;
}

static cls_status evaluate_windows(batch *b, int with_slopes) {
    const clsi_residual *r = b->r;
    size_t I = r->points->nz + 1 + r->unknowns->n_symbols;
    for (size_t i = 0; i < I; i++)
        for (size_t at = 0; at < 3 * b->n; at++)
            b->window_in[((at % 3) * I + i) * BATCH + at / 3] = b->in[i * POINTS + at];
    return cls_program_run_many(with_slopes ? r->window_slopes : r->window_values, b->n, BATCH,
                                b->window_in, b->window_out);
}

/* The quantities at the points, and the rows of whole windows. */
static cls_status evaluate(batch *b, int with_slopes) {
    const clsi_points *p = b->r->points;
    for (size_t i = 0; i < 3 * b->n; i++) {
        size_t at = point_of(b, i);
        for (size_t k = 0; k < p->nz; k++) b->in[k * POINTS + i] = p->z[k * p->n + at];
        b->in[p->nz * POINTS + i] = p->time[at];
    }
    fill_fields(b);
    cls_status status = cls_program_run_many(with_slopes ? b->r->slopes : b->r->values, 3 * b->n,
                                             POINTS, b->in, b->out);
    return status == CLS_OK && whole_windows(b) ? evaluate_windows(b, with_slopes) : status;
}

/* ---- rows ---- */

/* How equation e of window w of the batch is made of quantities: coefficient c[k][0] of y_e and
 * c[k][1] of its rate at point k, weighted. */
static void coefficients(const batch *b, size_t w, size_t e, double c[3][2]) {
    const clsi_points *p = b->r->points;
    double weights[3] = {0}, t[3], scale = b->r->weight[e * p->n_windows + b->window[w]];
    for (size_t k = 0; k < 3; k++) t[k] = p->time[point_of(b, 3 * w + k)];
    if (p->rule == CLSI_QUADRATURE) clsi_window_weights(t, weights);
    if (p->rule == CLSI_SYMMETRIC || p->rule == CLSI_DISCRETE_GRADIENT) weights[1] = t[2] - t[0];
    if (p->rule == CLSI_VNOTS) weights[e < b->r->n ? 2 : 0] = t[2] - t[0];
    for (int k = 0; k < 3; k++) {
        c[k][0] = scale * (k - 1);
        c[k][1] = -scale * weights[k];
    }
}

static double residual_of(const batch *b, size_t w, size_t e) {
    double c[3][2], sum = 0;
    size_t rate = b->r->n_equations + e;
    if (whole_windows(b))
        return b->r->weight[e * b->r->points->n_windows + b->window[w]] *
               b->window_out[e * BATCH + w];
    coefficients(b, w, e, c);
    for (size_t k = 0; k < 3; k++)
        sum +=
            c[k][0] * b->out[e * POINTS + 3 * w + k] + c[k][1] * b->out[rate * POINTS + 3 * w + k];
    return sum;
}

/* symbol_slopes for rows of whole windows. */
static int window_symbol_slopes(const batch *b, const clsi_unknown *u, size_t w, size_t e,
                                double factor, double *a, double *s) {
    const clsi_residual *r = b->r;
    size_t K = r->unknowns->n_symbols, d = u->learned.d;
    double f = factor * r->weight[e * r->points->n_windows + b->window[w]];
    int any = 0;
    for (size_t k = 0; k < 3; k++) {
        size_t at = r->n_equations + (3 * e + k) * K + u->symbol;
        const double *row = b->window_out + at * BATCH + w;
        a[k] += f * row[0];
        any |= row[0] != 0;
        for (size_t j = 0; j < d; j++) {
            s[k * d + j] += f * row[(j + 1) * BATCH];
            any |= row[(j + 1) * BATCH] != 0;
        }
    }
    return any;
}

/* The derivative of one equation in the field symbols of unknown u at the window's three points: a
 * (3) for the value, s (3, d) for the slopes; factor multiplies. Adds to a and s. */
static int symbol_slopes(const batch *b, const clsi_unknown *u, size_t w, size_t e, double factor,
                         double *a, double *s) {
    size_t Q = b->r->n_quantities, K = b->r->unknowns->n_symbols, d = u->learned.d;
    double c[3][2];
    int any = 0;
    if (whole_windows(b)) return window_symbol_slopes(b, u, w, e, factor, a, s);
    coefficients(b, w, e, c);
    for (size_t k = 0; k < 3; k++)
        for (int part = 0; part < 2; part++) {
            size_t q = part ? b->r->n_equations + e : e;
            const double *row = b->out + (Q + q * K + u->symbol) * POINTS + 3 * w + k;
            double f = factor * c[k][part];
            if (f == 0) continue;
            a[k] += f * row[0];
            any |= row[0] != 0;
            for (size_t j = 0; j < d; j++) {
                s[k * d + j] += f * row[(j + 1) * POINTS];
                any |= row[(j + 1) * POINTS] != 0;
            }
        }
    return any;
}

static void row_of(const batch *b, size_t w, size_t e, double *row) {
    const clsi_unknowns *us = b->r->unknowns;
    memset(row, 0, us->n_theta * sizeof *row);
    for (size_t k = 0; k < us->n; k++) {
        const clsi_unknown *u = &us->list[k];
        const clsi_learned *l = &u->learned;
        double a[3] = {0}, s[3 * CLSI_FIELD_MAX_INPUTS] = {0};
        if (!symbol_slopes(b, u, w, e, 1, a, s)) continue;
        double x[3 * CLSI_FIELD_MAX_INPUTS];
        for (size_t i = 0; i < 3; i++)
            memcpy(x + i * l->d, u->x + point_of(b, 3 * w + i) * l->d, l->d * sizeof *x);
        l->field->kind->rows(l->field, b->theta ? b->theta + l->offset : NULL, 3, x, a, s, 0,
                             row + l->offset, b->scratch);
    }
}

/* The distinct windows of rows [at, ...) of the list, up to BATCH; returns the first row not taken.
 */
static size_t take_windows(const clsi_residual *r, size_t first, const size_t *list, size_t at,
                           size_t end, batch *b) {
    b->n = 0;
    for (; at < end; at++) {
        size_t w = (list ? list[at] : first + at) / r->n_equations;
        if (b->n && b->window[b->n - 1] == w) continue;
        if (b->n == BATCH) break;
        b->window[b->n++] = w;
    }
    return at;
}

static cls_status rows_of_shard(const clsi_residual *r, const double *theta, size_t first,
                                const size_t *list, size_t begin, size_t end, double *out,
                                double *J) {
    batch b;
    cls_status status = batch_create(r, theta, &b);
    size_t P = r->unknowns->n_theta, E = r->n_equations;
    for (size_t at = begin; at < end && status == CLS_OK;) {
        size_t stop = take_windows(r, first, list, at, end, &b), w = 0;
        status = evaluate(&b, J != NULL);
        for (; at < stop; at++) {
            size_t row = list ? list[at] : first + at;
            if (row / E != b.window[w]) w++;
            out[at] = residual_of(&b, w, row % E);
            if (J) row_of(&b, w, row % E, J + at * P);
        }
    }
    free(b.block);
    return status;
}

enum { SHARDS = 16 }; /* fixed, whatever the number of threads */

cls_status clsi_residual_rows(const clsi_residual *r, const double *theta, size_t first,
                              size_t count, const size_t *list, double *out, double *J) {
    int failed = 0;
#pragma omp parallel for schedule(dynamic) reduction(| : failed)
    for (size_t s = 0; s < SHARDS; s++)
        failed |= rows_of_shard(r, theta, first, list, count * s / SHARDS, count * (s + 1) / SHARDS,
                                out, J) != CLS_OK;
    return failed ? CLS_MEMORY : CLS_OK;
}

/* ---- gradient ---- */

static cls_status gradient_of_shard(const clsi_residual *r, const double *theta, const size_t *list,
                                    size_t begin, size_t end, double *sum, double *gradient) {
    batch b;
    cls_status status = batch_create(r, theta, &b);
    size_t E = r->n_equations;
    const clsi_unknowns *us = r->unknowns;
    double *a = clsi_calloc(POINTS, sizeof *a);
    double *s = clsi_calloc(POINTS * CLSI_FIELD_MAX_INPUTS, sizeof *s);
    if (!a || !s) status = CLS_MEMORY;
    for (size_t at = begin; at < end && status == CLS_OK;) {
        size_t stop = take_windows(r, 0, list, at, end, &b);
        status = evaluate(&b, 1);
        for (size_t k = 0; k < us->n; k++) {
            const clsi_unknown *u = &us->list[k];
            const clsi_learned *l = &u->learned;
            memset(a, 0, POINTS * sizeof *a);
            memset(s, 0, POINTS * l->d * sizeof *s);
            for (size_t i = at, w = 0; i < stop; i++) {
                size_t row = list ? list[i] : i;
                if (row / E != b.window[w]) w++;
                double value = residual_of(&b, w, row % E);
                if (k == 0) *sum += value * value;
                symbol_slopes(&b, u, w, row % E, value, a + 3 * w, s + 3 * w * l->d);
            }
            gather_inputs(&b, u);
            l->field->kind->reverse(l->field, theta + l->offset, 3 * b.n, b.x, a, s,
                                    gradient + l->offset, b.scratch);
        }
        at = stop;
    }
    free(a);
    free(s);
    free(b.block);
    return status;
}

cls_status clsi_residual_gradient(const clsi_residual *r, const double *theta, size_t count,
                                  const size_t *list, double *loss, double *gradient) {
    size_t P = r->unknowns->n_theta;
    double *parts = clsi_calloc(SHARDS * (P + 1), sizeof *parts);
    int failed = !parts;
#pragma omp parallel for schedule(dynamic) reduction(| : failed)
    for (size_t s = 0; s < (parts ? SHARDS : 0); s++)
        failed |= gradient_of_shard(r, theta, list, count * s / SHARDS, count * (s + 1) / SHARDS,
                                    parts + s * (P + 1), parts + s * (P + 1) + 1) != CLS_OK;
    *loss = 0;
    memset(gradient, 0, P * sizeof *gradient);
    for (size_t s = 0; s < (parts ? SHARDS : 0); s++) {
        *loss += parts[s * (P + 1)] / (2 * (double)(count ? count : 1));
        for (size_t j = 0; j < P; j++)
            gradient[j] += parts[s * (P + 1) + 1 + j] / (double)(count ? count : 1);
    }
    free(parts);
    return failed ? CLS_MEMORY : CLS_OK;
}

/* ---- the scale condition ---- */

cls_status clsi_residual_scale(const clsi_residual *r, const double *theta, double *row,
                               double *mean_pv, double *mean_vv) {
    const clsi_points *p = r->points;
    const clsi_unknowns *us = r->unknowns;
    size_t Q = r->n_quantities, K = us->n_symbols;
    batch b;
    cls_status status = batch_create(r, theta, &b);
    memset(row, 0, us->n_theta * sizeof *row);
    *mean_pv = *mean_vv = 0;
    for (size_t at = 0; at < p->n_training && status == CLS_OK; at += b.n) {
        b.n = p->n_training - at < BATCH ? p->n_training - at : BATCH;
        for (size_t w = 0; w < b.n; w++) b.window[w] = at + w;
        status = evaluate(&b, 1);
        for (size_t w = 0; w < b.n; w++)
            for (size_t j = 0; j < r->n; j++) {
                size_t i = p->window[at + w];
                double v = p->z[(r->n + j) * p->n + i], c = v / (double)p->n_training;
                *mean_pv += c * b.out[j * POINTS + 3 * w];
                *mean_vv += c * v;
                for (size_t k = 0; k < us->n; k++) {
                    const clsi_unknown *u = &us->list[k];
                    const clsi_learned *l = &u->learned;
                    const double *slope = b.out + (Q + j * K + u->symbol) * POINTS + 3 * w;
                    double a = c * slope[0], s[CLSI_FIELD_MAX_INPUTS];
                    for (size_t q = 0; q < l->d; q++) s[q] = c * slope[(q + 1) * POINTS];
                    l->field->kind->rows(l->field, theta ? theta + l->offset : NULL, 1,
                                         u->x + i * l->d, &a, s, 0, row + l->offset, b.scratch);
                }
            }
    }
    free(b.block);
    return status;
}

/* ---- as a problem ---- */

/* The condition as a row: weight (mean p.v / mean v.v - 1). Newton-like methods meet it to
 * round-off at any weight that stands out, and the solution is rescaled exactly afterwards. */
static cls_status scale_row(const clsi_residual *r, const double *theta, double *value,
                            double *row) {
    size_t P = r->unknowns->n_theta;
    double pv, vv, *own = row ? row : clsi_calloc(P, sizeof *own);
    if (!own) return CLS_MEMORY;
    cls_status status = clsi_residual_scale(r, theta, own, &pv, &vv);
    for (size_t j = 0; row && j < P; j++) row[j] *= r->scale_weight / vv;
    *value = r->scale_weight * (pv / vv - 1);
    if (!row) free(own);
    return status;
}

/* An anchor as a row: weight (quantity - value), relative to the value where there is one. */
static cls_status anchor_row(const clsi_residual *r, size_t i, const double *theta, double *value,
                             double *row) {
    double wanted = clsi_anchors_value(r->anchors, i);
    double weight = r->anchor_weight / (wanted != 0 ? fabs(wanted) : 1);
    cls_status status = clsi_anchors_row(r->anchors, i, theta, value, row);
    *value = weight * (*value - wanted);
    for (size_t j = 0; row && j < r->unknowns->n_theta; j++) row[j] *= weight;
    return status;
}

static size_t regular_rows(const clsi_residual *r) {
    return r->points->n_training * r->n_equations;
}

static size_t extra_rows(const clsi_residual *r) {
    return (size_t)(r->scale_weight > 0) + (r->anchors ? clsi_anchors_count(r->anchors) : 0);
}

/* Row number `extra` behind the regular ones. */
static cls_status extra_row(const clsi_residual *r, size_t extra, const double *theta,
                            double *value, double *row) {
    if (r->scale_weight > 0 && extra-- == 0) return scale_row(r, theta, value, row);
    return anchor_row(r, extra, theta, value, row);
}

/* Runs of regular rows together, extra rows one by one, wherever the list has them. */
static cls_status problem_jacobian(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *r, double *J) {
    const clsi_residual *residual = p->owner;
    size_t regular = regular_rows(residual), P = p->n_parameters;
    cls_status status = CLS_OK;
    for (size_t at = 0, end; at < count && status == CLS_OK; at = end) {
        for (end = at; end < count && (rows ? rows[end] : end) < regular;) end++;
        if (end > at) {
            status = clsi_residual_rows(residual, theta, at, end - at, rows ? rows + at : NULL,
                                        r + at, J ? J + at * P : NULL);
        } else {
            size_t row = rows ? rows[at] : at;
            status = extra_row(residual, row - regular, theta, r + at, J ? J + at * P : NULL);
            end = at + 1;
        }
    }
    return status;
}

static cls_status problem_residual(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *r) {
    return problem_jacobian(p, theta, count, rows, r, NULL);
}

static cls_status add_extra(const clsi_residual *r, size_t extra, const double *theta, size_t count,
                            double *row, double *loss, double *gradient) {
    double value;
    cls_status status = extra_row(r, extra, theta, &value, row);
    *loss += value * value / (2 * (double)count);
    for (size_t j = 0; j < r->unknowns->n_theta; j++) gradient[j] += value * row[j] / (double)count;
    return status;
}

/* The regular rows of the list together, then the others. */
static cls_status problem_gradient(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *loss, double *gradient) {
    const clsi_residual *residual = p->owner;
    size_t regular = regular_rows(residual), P = p->n_parameters, plain = 0;
    size_t *list = clsi_calloc(count, sizeof *list);
    double *row = clsi_calloc(P, sizeof *row);
    for (size_t k = 0; k < count && list; k++)
        if ((rows ? rows[k] : k) < regular) list[plain++] = rows ? rows[k] : k;
    cls_status status = CLS_MEMORY;
    *loss = 0;
    memset(gradient, 0, P * sizeof *gradient);
    if (list && row)
        status =
            plain ? clsi_residual_gradient(residual, theta, plain, list, loss, gradient) : CLS_OK;
    double share = (double)plain / (double)count;
    *loss *= share;
    for (size_t j = 0; j < P; j++) gradient[j] *= share;
    for (size_t k = 0; k < count && status == CLS_OK && plain < count; k++)
        if ((rows ? rows[k] : k) >= regular)
            status = add_extra(residual, (rows ? rows[k] : k) - regular, theta, count, row, loss,
                               gradient);
    free(list);
    free(row);
    return status;
}

void clsi_residual_problem(clsi_residual *r, clsi_problem *out) {
    *out = (clsi_problem){.owner = r,
                          .n_parameters = r->unknowns->n_theta,
                          .n_rows = regular_rows(r) + extra_rows(r),
                          .affine = r->affine,
                          .residual = problem_residual,
                          .jacobian = problem_jacobian,
                          .gradient = problem_gradient};
}
