/* The residual that is learned from.
 *
 *     y(z2) - y(z0) = sum_k w_k y'(z_k),      y = (p, S)
 *
 * over the points of a window, with the weights of a rule (rules.c), or the step of a scheme between
 * two neighbours (step_rows.c).
 * p = G_v, S = G_T and the rates p' = G_q + sum F,
 * S_i' = heat_i / T_i are expressions in the data and in the field symbols (phi and its slopes);
 * for bases they are affine in these, so that a row over the parameters is a sum of basis
 * derivatives.
 *
 * Where an unknown energy hides the temperatures, the entropies have balances of heat in the place
 * of S' = heat/T (balances.c).
 *
 * Weights: friction forces are small where v is, and the plain residual would not see them:
 * a momentum row is divided by sqrt(v^2 + e^2) and an entropy row by v^2 + e^2,
 * with e a tenth of the root mean square of v; every row is divided by the length of its window. */
#include "base/base.h"
#include "expr/graph.h"
#include "learn/residual/shards.h"
#include "learn/stream/feed.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the quantities at a point, as nodes ---- */

/* With a sign: 1 or -1. */
static cls_status totals(const clsi_unknowns *us, cls_node a, size_t n, const cls_node *symbols,
                         int sign, cls_node *out) {
    cls_status status = clsi_total_derivatives(us, a, n, symbols, out);
    for (size_t i = 0; i < n && sign < 0 && status == CLS_OK; i++)
        out[i] = cls_neg(us->s->g, out[i]);
    return status;
}

/* The formula without its external potential has the sign of a lagrangian. */
static cls_node formula_of(const cls_system *s) {
    return s->formalism == CLS_HAMILTONIAN ? cls_add(s->g, s->bound.formula, s->bound.potential)
                                           : cls_sub(s->g, s->bound.formula, s->bound.potential);
}

/* y = (p, S), then y'. From G(q, v, T): p = G_v, S = G_T. From L(q, v, S): p = L_v, T = -L_S. From
 * H(q, p, S): v = H_p, T = H_S, and where H_p is unknown the positions join: y = (p, S, q). Where T
 * is hidden: 0 and the balance of heat in the places of S and S'. */
static cls_status quantities(const clsi_residual *r, const cls_node *S_rate, cls_node *y,
                             cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    const cls_system *s = us->s;
    cls_graph *g = s->g;
    size_t n = s->n, m = s->m;
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN;
    if (s->nu && !r->points->rule.between)
        return clsi_fail(error, CLS_USAGE,
                         "the residual of neighbouring rows knows no inputs: take --loss shooting");
    int moving = s->formalism != CLS_HAMILTONIAN; /* velocities are data */
    cls_node F = formula_of(s);
    cls_node *all = clsi_calloc(s->nq + n + m + clsi_flows_size(s), sizeof *all);
    if (!all) return clsi_no_memory(error);
    cls_node *v = all, *T = v + n, *slope = T + m, *room = slope + s->nq;
    clsi_flows flows;
    cls_node *rate = y + r->n_equations;
    int positions = r->n_equations > n + m;
    cls_status status = totals(us, F, n, moving ? s->v : s->p, 1, moving ? y : v);
    if (status == CLS_OK) status = totals(us, F, s->nq, s->q, moving ? -1 : 1, slope);
    if (status == CLS_OK)
        status = totals(us, F, m, thermal ? s->T : s->S, moving && !thermal ? -1 : 1,
                        thermal ? y + n : T);
    for (size_t j = 0; j < n; j++) *(moving ? v + j : y + j) = moving ? s->v[j] : s->p[j];
    for (size_t i = 0; i < m; i++) *(thermal ? T + i : y + n + i) = thermal ? s->T[i] : s->S[i];
    clsi_place at = {.v = v, .p = y, .S = y + n, .T = T, .t = s->t};
    if (status == CLS_OK) status = clsi_flows_of(s, &at, NULL, room, &flows);
    for (size_t i = 0; i < s->nq && positions; i++) y[n + m + i] = s->q[i];
    if (status == CLS_OK)
        status = clsi_brackets_at(s, &s->bound, &at, slope, positions ? rate + n + m : NULL, rate);
    for (size_t j = 0; j < n && status == CLS_OK; j++)
        rate[j] = cls_sub(g, flows.force[j], rate[j]);
    for (size_t i = 0; i < m && status == CLS_OK && !r->hidden; i++)
        rate[n + i] = cls_div(g, flows.heat[i], T[i]);
    for (size_t i = 0; i < m && status == CLS_OK && r->hidden; i++) y[n + i] = cls_constant(g, 0);
    if (status == CLS_OK && r->hidden) clsi_balance_rates(s, &flows, v, T, S_rate, rate + n);
    free(all);
    return status == CLS_OK ? cls_graph_status(g, error) : clsi_no_memory(error);
}

/* ---- compiled ---- */

/* Notes of which fields slopes and values occur in something that has these derivatives in the
 * symbols. */
static void mark_sloped(clsi_residual *r, const cls_node *derivatives) {
    const clsi_unknowns *us = r->unknowns;
    for (size_t k = 0; k < us->n; k++) {
        const cls_node *own = derivatives + us->list[k].symbol;
        r->valued[k] |= !cls_is_constant(us->s->g, own[0], 0);
        for (size_t j = 1; j <= us->list[k].learned.d; j++)
            r->sloped[k] |= !cls_is_constant(us->s->g, own[j], 0);
    }
}

/* The reverse of the quantities: how c . y depends on the field symbols, for coefficients c. */
static cls_status compile_adjoint(clsi_residual *r, size_t before, const cls_node *inputs,
                                  const cls_node *y, cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    size_t Q = r->n_quantities, K = us->n_symbols;
    cls_graph *g = us->s->g;
    cls_node *all = clsi_calloc(before + Q + K, sizeof *all), sum = cls_constant(g, 0);
    if (!all) return clsi_no_memory(error);
    cls_node *c = all + before, *slopes = c + Q;
    memcpy(all, inputs, before * sizeof *all);
    for (size_t q = 0; q < Q; q++) {
        char name[32];
        snprintf(name, sizeof name, "c'%zu", q);
        c[q] = cls_symbol(g, name);
        sum = cls_add(g, sum, cls_mul(g, c[q], y[q]));
    }
    cls_status status = cls_gradient(g, sum, K, us->symbols, slopes);
    if (status == CLS_OK)
        status = cls_program_create(g, before + Q, all, K, slopes, &r->adjoint, error);
    if (status == CLS_OK) mark_sloped(r, slopes);
    free(all);
    return status;
}

/* A part made positive by form, (u + sqrt(u^2 + floor^2))/2, vanishes far below zero; at a power of
 * two exactly. */
static void zero_parts(const clsi_unknowns *us, cls_node *zero) {
    cls_graph *g = us->s->g;
    for (size_t k = 0; k < us->n_symbols; k++) zero[k] = cls_constant(g, 0);
    for (size_t i = 0; i < us->n; i++)
        if (us->list[i].learned.floor > 0) zero[us->list[i].symbol] = cls_constant(g, -0x1p400);
}

/* Is nothing left of the quantities where every part vanishes? An entropy of its own (the trunk) is
 * constant along isothermal data, and so is nothing in the rows. */
static cls_status find_homogeneous(clsi_residual *r, const cls_node *y, cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    size_t Q = r->n_quantities, K = us->n_symbols;
    cls_node *zero = clsi_calloc(K + Q + 1, sizeof *zero), *constant = zero + K;
    if (!zero) return clsi_no_memory(error);
    zero_parts(us, zero);
    cls_status status = cls_substitute(us->s->g, Q, y, K, us->symbols, zero, constant);
    r->homogeneous = status == CLS_OK;
    for (size_t i = 0; i < Q && status == CLS_OK; i++) {
        if (us->trunk > 0 && i >= r->n && i < r->n + r->m) continue;
        r->homogeneous &= cls_is_constant(us->s->g, constant[i], 0);
    }
    free(zero);
    return status;
}

/* Into the ascending list [begin, end), once; its new end. */
static size_t insert_part(uint32_t *list, size_t begin, size_t end, uint32_t part) {
    size_t at = end;
    while (at > begin && list[at - 1] > part) at--;
    if (at > begin && list[at - 1] == part) return end;
    memmove(list + at + 1, list + at, (end - at) * sizeof *list);
    list[at] = part;
    return end + 1;
}

/* Which parts each equation contains: those of which a symbol is in y or in its rate. */
static cls_status find_parts(clsi_residual *r, const cls_node *y, cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    size_t E = r->n_equations, n = 0, room = 0;
    clsi_columns symbols;
    uint32_t *part = clsi_calloc(us->n_symbols + 1, sizeof *part);
    r->parts_start = clsi_calloc(E + 1, sizeof *r->parts_start);
    int good = clsi_columns_create(us->s->g, us->n_symbols, us->symbols, &symbols) && part &&
               r->parts_start;
    for (size_t k = 0; k < us->n && good; k++)
        for (size_t j = 0; j <= us->list[k].learned.d; j++)
            part[us->list[k].symbol + j] = (uint32_t)k;
    for (size_t e = 0; e < E && good; e++) {
        const cls_node both[2] = {y[e], y[E + e]};
        clsi_cone cone;
        good = clsi_cone_create(us->s->g, 2, both, &cone);
        for (size_t i = 0; good && i < cone.n; i++) {
            uint32_t of = cone.node[i] < symbols.size ? symbols.of[cone.node[i]] : 0;
            if (!of) continue;
            good = clsi_grow(&r->parts, &room, n + 1, sizeof *r->parts);
            if (good) n = insert_part(r->parts, r->parts_start[e], n, part[of - 1]);
        }
        if (good) clsi_cone_free(&cone);
        r->parts_start[e + 1] = n;
    }
    free(symbols.of);
    free(part);
    return good ? CLS_OK : clsi_no_memory(error);
}

/* Derivatives that contain no symbol themselves. */
static cls_status find_affine(clsi_residual *r, const clsi_rows *rows, cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    clsi_cone cone;
    if (!clsi_cone_create(us->s->g, rows->n, rows->node, &cone)) return clsi_no_memory(error);
    r->affine = 1;
    for (size_t k = 0; k < us->n_symbols; k++) r->affine &= !clsi_cone_at(&cone, us->symbols[k]);
    for (size_t k = 0; k < us->n; k++) r->affine &= us->list[k].learned.field->kind->linear;
    clsi_cone_free(&cone);
    return CLS_OK;
}

/* The derivatives of each quantity in the order of the symbols; their number is the last of slope_start. */
static cls_status keep_slopes(clsi_residual *r, const clsi_rows *rows, cls_node *nodes,
                              cls_error *error) {
    size_t Q = r->n_quantities;
    r->slope_start = clsi_calloc(Q + 1, sizeof *r->slope_start);
    r->slope_of = clsi_calloc(rows->n + 1, sizeof *r->slope_of);
    if (!r->slope_start || !r->slope_of) return clsi_no_memory(error);
    memcpy(r->slope_start, rows->start, (Q + 1) * sizeof *r->slope_start);
    for (size_t q = 0; q < Q; q++)
        for (size_t i = rows->start[q], k; i < rows->start[q + 1]; i++) {
            for (k = i; k > rows->start[q] && r->slope_of[k - 1] > rows->column[i]; k--) {
                r->slope_of[k] = r->slope_of[k - 1];
                nodes[k] = nodes[k - 1];
            }
            r->slope_of[k] = rows->column[i];
            nodes[k] = rows->node[i];
        }
    return CLS_OK;
}

cls_status clsi_residual_compile(clsi_residual *r, size_t n_inputs, const cls_node *inputs,
                                 const cls_node *y, cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    size_t Q = r->n_quantities;
    cls_graph *g = us->s->g;
    clsi_rows rows = {0};
    cls_status status = clsi_sparse_jacobian(g, Q, y, us->n_symbols, us->symbols, &rows);
    cls_node *all = clsi_calloc(Q + rows.n, sizeof *all);
    if (status == CLS_OK && !all) status = clsi_no_memory(error);
    if (status == CLS_OK) memcpy(all, y, Q * sizeof *all);
    if (status == CLS_OK) status = keep_slopes(r, &rows, all + Q, error);
    if (status == CLS_OK) status = find_affine(r, &rows, error);
    if (status == CLS_OK) status = find_parts(r, y, error);
    if (status == CLS_OK) status = find_homogeneous(r, y, error);
    if (status == CLS_OK) status = cls_program_create(g, n_inputs, inputs, Q, y, &r->values, error);
    if (status == CLS_OK)
        status = cls_program_create(g, n_inputs, inputs, Q + rows.n, all, &r->slopes, error);
    if (status == CLS_OK) status = compile_adjoint(r, n_inputs, inputs, y, error);
    clsi_rows_clear(&rows);
    free(all);
    return status;
}

static cls_status compile(clsi_residual *r, cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    size_t Q = r->n_quantities, K = us->n_symbols, nz = clsi_point_rows(r->points);
    const cls_system *s = us->s;
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN;
    int moving = s->formalism != CLS_HAMILTONIAN;
    if (r->points->intervals) return clsi_position_compile(r, error);
    size_t more = r->hidden ? s->m : 0;
    cls_node *y = clsi_calloc(Q + nz + 1 + K + more, sizeof *y), *inputs = y ? y + Q : NULL;
    if (!y) return clsi_no_memory(error);
    if (s->nq) memcpy(inputs, s->q, s->nq * sizeof *y);
    memcpy(inputs + s->nq, moving ? s->v : s->p, s->n * sizeof *y);
    memcpy(inputs + s->nq + s->n, thermal ? s->T : s->S, s->m * sizeof *y);
    if (r->points->nu) memcpy(inputs + r->points->nz, s->u, s->nu * sizeof *y);
    inputs[nz] = s->t;
    memcpy(inputs + nz + 1, us->symbols, K * sizeof *y);
    cls_node *S_rate = inputs + nz + 1 + K;
    for (size_t i = 0; i < more; i++) {
        char name[32];
        snprintf(name, sizeof name, "S'%zu'", i);
        S_rate[i] = cls_symbol(s->g, name);
    }
    cls_status status = quantities(r, S_rate, y, error);
    if (status == CLS_OK) status = clsi_residual_compile(r, nz + 1 + K + more, inputs, y, error);
    free(y);
    return status;
}

/* Rows of the scheme's own step take the place of those of weighted rates; the quantities stay, for
 * the scale. */
static cls_status use_step(clsi_residual *r, cls_error *error) {
    if (!r->points->rule.scheme) return CLS_OK;
    cls_status status = clsi_step_rows_create(r->points, r->unknowns, &r->step, error);
    if (status != CLS_OK) return status;
    r->n_equations = clsi_step_rows_count(r->step);
    r->affine = clsi_step_rows_affine(r->step);
    const unsigned char *holds = clsi_step_rows_contain(r->step);
    size_t E = r->n_equations, n = r->unknowns->n, room = 0, at = 0;
    free(r->parts);
    free(r->parts_start);
    r->parts = NULL;
    r->parts_start = clsi_calloc(E + 1, sizeof *r->parts_start);
    if (!r->parts_start) return clsi_no_memory(error);
    for (size_t i = 0; i < E * n; i++) {
        if (!holds[i]) continue;
        if (!clsi_grow(&r->parts, &room, at + 1, sizeof *r->parts)) return clsi_no_memory(error);
        r->parts[at++] = (uint32_t)(i % n);
        r->parts_start[i / n + 1] = at;
    }
    for (size_t e = 0; e < E; e++) /* those without parts end where they begin */
        if (r->parts_start[e + 1] < r->parts_start[e]) r->parts_start[e + 1] = r->parts_start[e];
    return CLS_OK;
}

/* What equation e is about: 0 positions and momenta, 1 entropies. */
static int is_entropy_row(const clsi_residual *r, size_t e) {
    if (r->step) return clsi_step_rows_state(r->step, e) >= r->unknowns->s->nq + r->n;
    return e >= r->n && e < r->n + r->m;
}

static cls_status set_weights(clsi_residual *r, cls_error *error) {
    const clsi_points *p = r->points;
    const cls_system *s = r->unknowns->s;
    double sum = 0;
    for (size_t w = 0; w < p->n_windows && p->intervals; w++) { /* accelerations, Deep DTLM (12) */
        const double *h = p->intervals->h + p->window[w];
        for (size_t e = 0; e < r->n_equations; e++)
            r->weight[e * p->n_windows + w] = 2 / (h[0] + h[1]);
    }
    if (p->intervals) return CLS_OK;
    const double *moving = p->z + s->nq * p->n;
    for (size_t k = 0; k < s->n * p->n; k++) sum += moving[k] * moving[k];
    double e2 = 0.01 * sum / (double)p->n;
    if (!(e2 > 0)) e2 = 1;
    if (r->slow > 0) e2 = r->slow;
    r->slow = e2;
    for (size_t w = 0; w < p->n_windows; w++) {
        size_t at[CLSI_MOST_WIDTH], last = p->width - 1;
        clsi_window_points(p, w, at);
        double v2 = e2, length = p->time[at[last]] - p->time[at[0]];
        for (size_t j = 0; j < s->n; j++)
            for (size_t k = 1; k < last; k++) {
                double v = moving[j * p->n + at[k]];
                v2 += v * v / (double)(last - 1);
            }
        for (size_t e = 0; e < r->n_equations; e++) {
            double weight = 1 / length / (s->ode ? 1 : is_entropy_row(r, e) ? v2 : sqrt(v2));
            if (!(weight > 0) || !isfinite(weight))
                return clsi_fail(error, CLS_DATA,
                                 "the data from time %g to %g cannot be weighed: step %g, squared "
                                 "speed %g; use units in which both are nearer to one",
                                 p->time[at[0]], p->time[at[last]], length, v2);
            r->weight[e * p->n_windows + w] = weight;
        }
    }
    return CLS_OK;
}

/* The positions' own equation q' = K H_p says something where H_p is unknown. */
static size_t position_equations(const clsi_points *points, const clsi_unknowns *us) {
    const cls_system *s = us->s;
    int plain = s->formalism == CLS_HAMILTONIAN && !s->ode && !points->intervals &&
                !points->rule.scheme; /* whose step has its own */
    unsigned char *hidden = clsi_calloc(s->n + 1, 1);
    int any = 0;
    if (plain && hidden && clsi_find_hidden(us, s->n, s->p, hidden, NULL) == CLS_OK)
        any = memchr(hidden, 1, s->n) != NULL;
    free(hidden);
    return any ? s->nq : 0;
}

cls_status clsi_residual_create(const clsi_points *points, const clsi_unknowns *unknowns,
                                clsi_residual **out, cls_error *error) {
    *out = NULL;
    const cls_system *s = unknowns->s;
    clsi_residual *r = clsi_calloc(1, sizeof *r);
    if (!r) return clsi_no_memory(error);
    *r = (clsi_residual){.points = points, .unknowns = unknowns, .n = s->n, .m = s->m};
    r->n_equations = s->n + (points->intervals ? 0 : s->m) + position_equations(points, unknowns);
    r->n_quantities = 2 * r->n_equations;
    r->weight = clsi_calloc((s->nq + s->n + s->m) * points->n_windows, sizeof(double));
    r->sloped = clsi_calloc(unknowns->n, 1);
    r->valued = clsi_calloc(unknowns->n, 1);
    r->paired = clsi_calloc(unknowns->n, 1);
    r->exchange = clsi_calloc(unknowns->n + 1, 1);
    r->only_force = clsi_calloc(unknowns->n, 1);
    r->memory = clsi_calloc(1, sizeof *r->memory);
    int whole = r->weight && r->sloped && r->valued && r->paired && r->only_force && r->memory &&
                r->exchange;
    r->hidden = clsi_has_hidden_temperature(unknowns, points);
    cls_status status = whole ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK && r->hidden) status = clsi_entropy_rates(points, s, &r->heat, error);
    if (status == CLS_OK) status = compile(r, error);
    if (status == CLS_OK) status = use_step(r, error);
    if (status == CLS_OK && r->parts_start) clsi_find_exchange(r);
    if (status == CLS_OK) status = set_weights(r, error);
    if (status == CLS_OK) clsi_convex_balance(r);
    if (status == CLS_OK && r->hidden) clsi_weigh_balances(r);
    if (status == CLS_OK)
        *out = r;
    else
        clsi_residual_free(&r);
    return status;
}

cls_status clsi_residual_at(const clsi_residual *r, const clsi_points *p, clsi_residual *out,
                            cls_error *error) {
    const cls_system *s = r->unknowns->s;
    *out = *r;
    out->points = p;
    out->weight = clsi_calloc((s->nq + s->n + s->m) * p->n_windows, sizeof(double));
    return out->weight ? set_weights(out, error) : clsi_no_memory(error);
}

void clsi_residual_free(clsi_residual **residual) {
    clsi_residual *r = *residual;
    if (!r) return;
    cls_program_free(&r->values);
    cls_program_free(&r->slopes);
    cls_program_free(&r->adjoint);
    clsi_step_rows_free(&r->step);
    if (r->memory) clsi_blocks_clear(r->memory);
    free(r->memory);
    free(r->weight);
    free(r->sloped);
    free(r->valued);
    free(r->scale_theta);
    free(r->scale_row);
    free(r->paired);
    free(r->only_force);
    free(r->exchange);
    free(r->parts_start);
    free(r->parts);
    free(r->slope_start);
    free(r->slope_of);
    free(r->heat);
    free(r);
    *residual = NULL;
}

/* ---- as a problem ---- */

/* Where nothing is known, (k G, k F) fits as well as (G, F), and k -> 0 fits best. So everything is
 * divided by the scale s(theta) = mean p.v / mean v.v: the loss is that of the model with a mean
 * mass of one, exactly and for every theta, and k cannot be felt. The mean is taken over some
 * windows, spread over the data; the learner divides by that over all of them in the end. Kept for
 * one theta, because optimisers ask block by block. A scale that is not positive has no residual:
 * the optimisers step back. */
enum { SCALE_WINDOWS = 128 };

static cls_status scale_at(clsi_residual *r, const double *theta) {
    size_t P = r->unknowns->n_theta;
    double pv, vv;
    if (r->scale_theta && memcmp(r->scale_theta, theta, P * sizeof *theta) == 0)
        return r->scale > 0 ? CLS_OK : CLS_NUMERIC;
    if (!r->scale_theta) r->scale_theta = clsi_calloc(P, sizeof *r->scale_theta);
    if (!r->scale_row) r->scale_row = clsi_calloc(P, sizeof *r->scale_row);
    if (!r->scale_theta || !r->scale_row) return CLS_MEMORY;
    cls_status status = clsi_residual_scale(r, theta, SCALE_WINDOWS, r->scale_row, &pv, &vv);
    if (status != CLS_OK) return status;
    memcpy(r->scale_theta, theta, P * sizeof *theta);
    r->scale = pv / vv;
    for (size_t j = 0; j < P; j++) r->scale_row[j] /= vv;
    return r->scale > 0 && isfinite(r->scale) ? CLS_OK : CLS_NUMERIC;
}

/* r / s and its Jacobian. */
cls_status clsi_residual_divide_rows(clsi_residual *r, const double *theta, size_t count,
                                     double *out, double *J) {
    size_t P = r->unknowns->n_theta;
    cls_status status = scale_at(r, theta);
    for (size_t i = 0; i < count && status == CLS_OK; i++) {
        out[i] /= r->scale;
        for (size_t j = 0; J && j < P; j++)
            J[i * P + j] = (J[i * P + j] - out[i] * r->scale_row[j]) / r->scale;
    }
    return status;
}

/* loss / s^2 and its gradient. */
cls_status clsi_residual_divide_loss(clsi_residual *r, const double *theta, double *loss,
                                     double *gradient) {
    cls_status status = scale_at(r, theta);
    if (status != CLS_OK) return status;
    double square = r->scale * r->scale;
    *loss /= square;
    for (size_t j = 0; j < r->unknowns->n_theta; j++)
        gradient[j] = gradient[j] / square - 2 * *loss * r->scale_row[j] / r->scale;
    return CLS_OK;
}

static size_t regular_rows(const clsi_residual *r) {
    return r->points->n_training * r->n_equations;
}

static size_t extra_rows(const clsi_residual *r) {
    return r->anchors ? clsi_anchors_count(r->anchors) : 0;
}

/* Runs of regular rows together, extra rows one by one, wherever the list has them. */
static cls_status problem_jacobian(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *r, double *J) {
    clsi_residual *residual = p->context;
    size_t regular = regular_rows(residual), P = p->n_parameters;
    cls_status status = CLS_OK;
    for (size_t at = 0, end; at < count && status == CLS_OK; at = end) {
        for (end = at; end < count && (rows ? rows[end] : end) < regular;) end++;
        if (end > at) {
            status = clsi_residual_rows(residual, theta, at, end - at, rows ? rows + at : NULL,
                                        r + at, J ? J + at * P : NULL);
        } else {
            size_t row = rows ? rows[at] : at;
            status = clsi_anchors_weighted(residual->anchors, row - regular, theta,
                                           residual->anchor_weight, r + at, J ? J + at * P : NULL);
            end = at + 1;
        }
    }
    if (status == CLS_OK && residual->scale_free)
        status = clsi_residual_divide_rows(residual, theta, count, r, J);
    return status;
}

static cls_status problem_residual(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *r) {
    return problem_jacobian(p, theta, count, rows, r, NULL);
}

/* The regular rows of the list together, then the others. */
static cls_status problem_gradient(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *loss, double *gradient) {
    clsi_residual *residual = p->context;
    size_t regular = regular_rows(residual), P = p->n_parameters, plain = 0, extra = 0;
    size_t *list = clsi_calloc(count, sizeof *list);
    if (!list) return CLS_MEMORY;
    for (size_t k = 0; k < count; k++) {
        size_t row = rows ? rows[k] : k;
        if (row < regular)
            list[plain++] = row;
        else
            list[count - ++extra] = row - regular;
    }
    *loss = 0;
    memset(gradient, 0, P * sizeof *gradient);
    cls_status status =
        plain ? clsi_residual_gradient(residual, theta, plain, list, loss, gradient) : CLS_OK;
    if (extra && status == CLS_OK) { /* sums in the place of means, and a mean again */
        *loss *= (double)plain;
        for (size_t j = 0; j < P; j++) gradient[j] *= (double)plain;
        status = clsi_anchors_gradient(residual->anchors, extra, list + plain, theta,
                                       residual->anchor_weight, loss, gradient);
        *loss /= (double)count;
        for (size_t j = 0; j < P; j++) gradient[j] /= (double)count;
    }
    if (status == CLS_OK && residual->scale_free)
        status = clsi_residual_divide_loss(residual, theta, loss, gradient);
    free(list);
    return status;
}

void clsi_residual_problem(clsi_residual *r, clsi_problem *out) {
    *out = (clsi_problem){.context = r,
                          .n_parameters = r->unknowns->n_theta,
                          .n_rows = regular_rows(r) + extra_rows(r),
                          .n_conditions = extra_rows(r),
                          .group = r->n_equations,
                          .affine = r->affine,
                          .team = r->team,
                          .residual = problem_residual,
                          .jacobian = problem_jacobian,
                          .gradient = problem_gradient};
}
