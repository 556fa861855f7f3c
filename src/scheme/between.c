/* A step between two given states: the same scheme, seen from the data.
 *
 * The builders of the schemes write their equations with z1 given (clsi_point_next makes no unknowns
 * then). What was asked of z1 becomes rows, which are zero where z1 is the scheme's step from z0.
 * Unknowns are left where a scheme has intermediate points that the two ends do not give: stages of a
 * Runge-Kutta method in velocities and temperatures, the states between composed steps, the velocity
 * of an interval. Each is removed by the first of
 *
 *   1. a row without parameters that is affine in it and in nothing else unknown (q1 = q0 + h v gives
 *      the velocity of dtel): its own equation takes the place of that row;
 *   2. its own equation, where it stands alone (as presolve.c);
 *   3. Newton's method, in the place where rows are evaluated; derivatives by the implicit function
 *      theorem.
 *
 * A composition of k steps is k copies of these equations with k - 1 states between them as unknowns.
 * The states of a lagrangian are (q, v, S), which one can measure: momenta are L_v there. Rows that
 * do not contain a parameter, directly or through an unknown, say nothing and are dropped. */
#include "scheme/scheme.h"
#include "base/base.h"
#include "expr/graph.h"
#include <stdlib.h>
#include <string.h>

typedef struct between {
    clsi_step *st;
    size_t n_theta;
    const cls_node *theta;
} between;

/* ---- unknowns that the ends give ---- */

static int is_free(const between *b, cls_node a) {
    const clsi_step *st = b->st;
    return a != CLS_NO_NODE && !cls_depends(st->g, a, st->n_unknowns, st->unknown) &&
           !cls_depends(st->g, a, b->n_theta, b->theta);
}

/* u from an equation that is affine in it, or CLS_NO_NODE. *slope is its coefficient. */
static cls_node solve_for(clsi_step *st, cls_node equation, cls_node u, cls_node *slope) {
    cls_graph *g = st->g;
    cls_node rest = equation, zero = cls_constant(g, 0);
    *slope = clsi_simplify_written(g, cls_derivative(g, equation, u));
    if (*slope == CLS_NO_NODE || cls_is_constant(g, *slope, 0)) return CLS_NO_NODE;
    if (cls_depends(g, *slope, st->n_unknowns, st->unknown)) return CLS_NO_NODE;
    (void)cls_substitute(g, 1, &rest, 1, &u, &zero, &rest);
    return clsi_simplify_written(g, cls_neg(g, cls_div(g, rest, *slope)));
}

/* Row e takes the equation of the unknown that it determines. */
static cls_node from_a_row(const between *b, size_t k) {
    clsi_step *st = b->st;
    for (size_t e = 0; e < st->n_rows; e++) {
        cls_node slope, value;
        if (!cls_depends(st->g, st->row[e], 1, &st->unknown[k])) continue;
        value = solve_for(st, st->row[e], st->unknown[k], &slope);
        if (value == CLS_NO_NODE || !is_free(b, value)) continue;
        /* by its coefficient: to first order the row that it takes the place of */
        st->row[e] = cls_mul(st->g, slope, st->residual[k]);
        return value;
    }
    return CLS_NO_NODE;
}

static void put_in(clsi_step *st, size_t k, cls_node value) {
    cls_node unknown = st->unknown[k];
    clsi_step_drop(st, k);
    (void)cls_substitute(st->g, st->n_unknowns, st->residual, 1, &unknown, &value, st->residual);
    (void)cls_substitute(st->g, st->n_unknowns, st->guess, 1, &unknown, &value, st->guess);
    (void)cls_substitute(st->g, st->n_rows, st->row, 1, &unknown, &value, st->row);
}

static void eliminate(const between *b) {
    clsi_step *st = b->st;
    for (int progress = 1; progress;) {
        progress = 0;
        for (size_t k = 0; k < st->n_unknowns; k++) {
            cls_node slope, value = from_a_row(b, k);
            if (value == CLS_NO_NODE)
                value = solve_for(st, st->residual[k], st->unknown[k], &slope);
            if (value == CLS_NO_NODE) continue;
            put_in(st, k--, value);
            progress = 1;
        }
    }
}

/* ---- compositions ---- */

static int is_warm(const clsi_step *st, size_t k) {
    return st->f->kind == CLSI_FORM_THERMAL && k >= st->nq + st->n;
}

/* State k after `part` of the step: z0 + h u, T0 exp(h u), guessed on the way from z0 to z1. */
static cls_node state_between(clsi_step *st, size_t k, double part, cls_node *u, cls_node *guess) {
    cls_graph *g = st->g;
    *u = cls_fresh_symbol(g, "stage'");
    cls_node step = cls_mul(g, st->h, *u);
    cls_node change = is_warm(st, k) ? cls_apply(g, CLS_FN_LOG, cls_div(g, st->z1[k], st->z0[k]))
                                     : cls_sub(g, st->z1[k], st->z0[k]);
    *guess = cls_mul(g, cls_constant(g, part), cls_div(g, change, st->h));
    return is_warm(st, k) ? cls_mul(g, st->z0[k], cls_apply(g, CLS_FN_EXP, step))
                          : cls_add(g, st->z0[k], step);
}

/* The equations of one step, kept to be copied. */
typedef struct pattern {
    size_t n_rows, n_unknowns;
    cls_node *row, *unknown, *residual, *guess, *from, *to, *copy;
} pattern;

static void add_unknown(clsi_step *st, cls_node u, cls_node equation, cls_node guess) {
    if (st->n_unknowns == st->capacity) {
        st->exhausted = 1;
        return;
    }
    st->unknown[st->n_unknowns] = u;
    st->residual[st->n_unknowns] = equation;
    st->of_state[st->n_unknowns] = SIZE_MAX;
    st->guess[st->n_unknowns++] = guess;
}

/* A copy of the pattern from state a to state b, over `part` of h that begins after `done`. */
static void copy_step(clsi_step *st, const pattern *p, const cls_node *a, const cls_node *b,
                      double done, double part, cls_node *row) {
    cls_graph *g = st->g;
    size_t nz = st->nz, k = p->n_unknowns, n = 2 * nz + 2 + k;
    memcpy(p->from, st->z0, nz * sizeof *p->from);
    memcpy(p->to, a, nz * sizeof *p->to);
    memcpy(p->from + nz, st->z1, nz * sizeof *p->from);
    memcpy(p->to + nz, b, nz * sizeof *p->to);
    p->from[2 * nz] = st->h;
    p->to[2 * nz] = cls_mul(g, cls_constant(g, part), st->h);
    p->from[2 * nz + 1] = st->t;
    p->to[2 * nz + 1] = cls_add(g, st->t, cls_mul(g, cls_constant(g, done), st->h));
    for (size_t i = 0; i < k; i++) {
        p->from[2 * nz + 2 + i] = p->unknown[i];
        p->to[2 * nz + 2 + i] = cls_fresh_symbol(g, "inner'");
    }
    (void)cls_substitute(g, p->n_rows, p->row, n, p->from, p->to, row);
    for (size_t i = 0; i < k; i++) {
        cls_node pair[] = {p->residual[i], p->guess[i]};
        (void)cls_substitute(g, 2, pair, n, p->from, p->to, pair);
        add_unknown(st, p->to[2 * nz + 2 + i], pair[0], pair[1]);
    }
}

static cls_status compose(const between *b, const clsi_scheme *scheme, cls_error *error) {
    clsi_step *st = b->st;
    size_t nz = st->nz, k = st->n_unknowns, E = st->n_rows, stages = scheme->n_composition;
    cls_node *all = clsi_calloc(E + 3 * k + 2 * (2 * nz + 2 + k) + 4 * nz + E, sizeof *all);
    if (!all) return clsi_no_memory(error);
    pattern p = {.n_rows = E, .n_unknowns = k, .row = all, .unknown = all + E};
    p.residual = p.unknown + k;
    p.guess = p.residual + k;
    p.from = p.guess + k;
    p.to = p.from + 2 * nz + 2 + k;
    cls_node *begin = p.to + 2 * nz + 2 + k, *end = begin + nz, *u = end + nz, *guess = u + nz;
    cls_node *row = guess + nz;
    memcpy(p.row, st->row, E * sizeof *all);
    if (k) memcpy(p.unknown, st->unknown, k * sizeof *all);
    if (k) memcpy(p.residual, st->residual, k * sizeof *all);
    if (k) memcpy(p.guess, st->guess, k * sizeof *all);
    st->n_unknowns = 0;
    memcpy(begin, st->z0, nz * sizeof *begin);
    double done = 0;
    for (size_t i = 0; i < stages; i++) {
        double part = scheme->composition[i];
        int last = i + 1 == stages;
        for (size_t j = 0; j < nz; j++)
            end[j] = last ? st->z1[j] : state_between(st, j, done + part, &u[j], &guess[j]);
        copy_step(st, &p, begin, end, done, part, last ? st->row : row);
        for (size_t e = 0; e < E && !last; e++) add_unknown(st, u[e], row[e], guess[e]);
        memcpy(begin, end, nz * sizeof *begin);
        done += part;
    }
    free(all);
    return cls_graph_status(st->g, error);
}

/* ---- the states of a lagrangian ---- */

/* Momenta of a lagrangian whose form has them: L_v over (q, v, S) at both ends. */
static cls_status by_velocities(const between *b, cls_error *error) {
    clsi_step *st = b->st;
    const cls_system *s = st->s;
    cls_graph *g = st->g;
    size_t nq = st->nq, n = st->n, m = st->m, nz = st->nz;
    if (s->formalism != CLS_LAGRANGIAN || st->f->kind != CLSI_FORM_PHASE) return CLS_OK;
    cls_node *all = clsi_calloc(2 * nz + 4 * n, sizeof *all);
    if (!all) return clsi_no_memory(error);
    cls_node *from = all, *to = from + nz, *ends = to + nz, *momenta = ends + 2 * n;
    cls_node L = cls_sub(g, s->bound.formula, s->bound.potential);
    memcpy(from, s->q, nq * sizeof *from);
    memcpy(from + nq, s->v, n * sizeof *from);
    if (m) memcpy(from + nq + n, s->S, m * sizeof *from);
    memcpy(to, st->z1, nz * sizeof *to);
    for (size_t j = 0; j < n; j++) {
        ends[j] = st->z0[nq + j];
        ends[n + j] = st->z1[nq + j];
        to[nq + j] = cls_fresh_symbol(g, "v1'");
    }
    cls_status status = cls_gradient(g, L, n, s->v, momenta);
    if (status == CLS_OK) status = cls_substitute(g, n, momenta, nz, from, to, momenta + n);
    cls_node *lists[] = {st->row, st->residual, st->guess};
    size_t counts[] = {st->n_rows, st->n_unknowns, st->n_unknowns};
    for (int i = 0; i < 3 && status == CLS_OK; i++)
        status = cls_substitute(g, counts[i], lists[i], 2 * n, ends, momenta, lists[i]);
    memcpy(st->z0 + nq, s->v, n * sizeof *all);
    memcpy(st->z1 + nq, to + nq, n * sizeof *all);
    free(all);
    return cls_graph_status(g, error) == CLS_OK ? status : CLS_MEMORY;
}

/* ---- together ---- */

static void drop_silent_rows(const between *b) {
    clsi_step *st = b->st;
    size_t kept = 0;
    for (size_t e = 0; e < st->n_rows; e++) {
        if (is_free(b, st->row[e])) continue;
        st->row[kept] = st->row[e];
        st->row_of[kept++] = st->row_of[e];
    }
    st->n_rows = kept;
}

static cls_status finish(between *b, const clsi_scheme *scheme, cls_error *error) {
    clsi_step *st = b->st;
    cls_node zero = cls_constant(st->g, 0);
    (void)cls_substitute(st->g, st->n_rows, st->row, 1, &st->defect, &zero, st->row);
    (void)cls_substitute(st->g, st->n_unknowns, st->residual, 1, &st->defect, &zero, st->residual);
    eliminate(b);
    cls_status status = scheme->composition ? compose(b, scheme, error) : CLS_OK;
    if (status == CLS_OK) status = by_velocities(b, error);
    if (status == CLS_OK) drop_silent_rows(b);
    if (status == CLS_OK) status = cls_graph_status(st->g, error);
    if (status == CLS_OK && st->exhausted)
        status = clsi_fail(error, CLS_NUMERIC, "the scheme '%s' has too many stages to learn with",
                           scheme->info.name);
    return status;
}

cls_status clsi_step_between(const cls_system *s, const clsi_scheme *scheme, size_t n_theta,
                             const cls_node *theta, clsi_step **out, cls_error *error) {
    *out = NULL;
    if (!scheme->build || scheme->estimate)
        return clsi_fail(error, CLS_USAGE,
                         "%s chooses its own steps, so that its results obey no equation between "
                         "two rows of the data: they are the motion itself; leave --scheme out, "
                         "which learns by a quadrature of order 4",
                         scheme->info.name);
    if (scheme->tableau)
        return clsi_fail(
            error, CLS_USAGE,
            "%s finds its weights from where a step ends, which is no equation between "
            "two rows of the data; leave --scheme out, or take rk4",
            scheme->info.name);
    cls_status status = clsi_step_build(s, scheme, 1, 0, out, error);
    if (status != CLS_OK) return status;
    between b = {*out, n_theta, theta};
    status = finish(&b, scheme, error);
    if (status != CLS_OK) clsi_step_free(out);
    return status;
}
