/* What scheme builders share: node arrays, unknowns, points of the motion, forces at a place. */
#include "scheme/scheme.h"
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Another slab, of the size of the first. */
static int more_nodes(clsi_step *st, size_t n) {
    if (st->n_slabs == CLSI_MAX_SLABS || n > st->slab_size) return 0;
    cls_node *slab = clsi_calloc(st->slab_size, sizeof *slab);
    if (!slab) return 0;
    st->slabs[st->n_slabs++] = st->slab = slab;
    st->slab_used = 0;
    return 1;
}

cls_node *clsi_nodes(clsi_step *st, size_t n) {
    if (st->slab_used + n > st->slab_size && !more_nodes(st, n)) {
        st->exhausted = 1;
        st->slab_used = 0; /* start over: the arrays are garbage, but they are there */
    }
    cls_node *nodes = st->slab + st->slab_used;
    st->slab_used += n;
    return nodes;
}

/* ---- unknowns and equations ---- */

cls_node clsi_step_unknown(clsi_step *st, cls_node guess, size_t of_state) {
    if (st->n_unknowns == st->capacity) {
        st->exhausted = 1;
        return guess;
    }
    char name[32];
    snprintf(name, sizeof name, "u'[%zu]",
             st->n_unknowns); /* the same node in every step, found beside its neighbours */
    cls_node u = cls_symbol(st->g, name);
    st->unknown[st->n_unknowns] = u;
    st->guess[st->n_unknowns] = guess;
    st->of_state[st->n_unknowns] = of_state;
    st->residual[st->n_unknowns] = CLS_NO_NODE;
    st->n_unknowns++;
    return u;
}

void clsi_equation(clsi_step *st, cls_node residual) {
    size_t *k = &st->first_open;
    while (*k < st->n_unknowns && st->residual[*k] != CLS_NO_NODE) ++*k;
    if (*k < st->n_unknowns) {
        st->residual[*k] = residual;
        return;
    }
    if (st->z1 && st->n_rows < st->nz) {
        st->row_of[st->n_rows] = st->n_rows;
        st->row[st->n_rows++] = residual;
        return;
    }
    st->exhausted = 1; /* more equations than unknowns: a builder's mistake, caught by the tests */
}

void clsi_keep_positive(clsi_step *st, cls_node a) {
    if (a != CLS_NO_NODE && cls_node_op(st->g, a) == CLS_OP_CONSTANT &&
        cls_node_value(st->g, a) > 0)
        return;
    if (st->n_positive == st->m + st->s->nr)
        st->exhausted = 1;
    else
        st->positive[st->n_positive++] = a;
}

/* ---- small algebra on arrays of nodes ---- */

cls_node *clsi_axpy(clsi_step *st, size_t n, const cls_node *a, cls_node c, const cls_node *b) {
    cls_node *out = clsi_nodes(st, n);
    for (size_t k = 0; k < n; k++) out[k] = cls_add(st->g, a[k], cls_mul(st->g, c, b[k]));
    return out;
}

cls_node *clsi_mean(clsi_step *st, size_t n, const cls_node *a, const cls_node *b) {
    cls_node *out = clsi_nodes(st, n), half = cls_constant(st->g, 0.5);
    for (size_t k = 0; k < n; k++) out[k] = cls_mul(st->g, half, cls_add(st->g, a[k], b[k]));
    return out;
}

cls_node clsi_dot(clsi_step *st, size_t n, const cls_node *a, const cls_node *b) {
    cls_node sum = cls_constant(st->g, 0);
    for (size_t k = 0; k < n; k++) sum = cls_add(st->g, sum, cls_mul(st->g, a[k], b[k]));
    return sum;
}

/* ---- forces ---- */

clsi_flows clsi_flows_at(clsi_step *st, const clsi_place *at) {
    cls_node *room = clsi_nodes(st, clsi_flows_size(st->s));
    clsi_flows flows;
    clsi_place here = *at;
    here.quiet = st->quiet;
    if (clsi_flows_of(st->s, &here, st->dS, room, &flows) != CLS_OK) st->exhausted = 1;
    return flows;
}

/* ---- points ---- */

enum { MAX_POINTS = 16 }; /* per step; rk4 needs 9 */

static clsi_point *new_point(clsi_step *st) {
    if (st->n_points == MAX_POINTS) {
        st->exhausted = 1;
        st->n_points = 0;
    }
    return &st->points[st->n_points++];
}

cls_node clsi_time(clsi_step *st, double c) {
    if (c == 0) return st->t;
    return cls_add(st->g, st->t, cls_mul(st->g, cls_constant(st->g, c), st->h));
}

cls_node *clsi_inputs(clsi_step *st, double c) {
    cls_graph *g = st->g;
    cls_node *u = clsi_nodes(st, st->s->nu);
    for (size_t k = 0; k < st->s->nu; k++)
        u[k] = c == 0   ? st->u0[k]
               : c == 1 ? st->u1[k]
                        : cls_add(g, cls_mul(g, cls_constant(g, 1 - c), st->u0[k]),
                                  cls_mul(g, cls_constant(g, c), st->u1[k]));
    return u;
}

/* How y moves there; slope: the energy's in q. */
static void add_rates(clsi_step *st, clsi_point *pt, const cls_node *slope, double c) {
    cls_graph *g = st->g;
    pt->rate_q = clsi_nodes(st, st->nq);
    pt->rate_p = clsi_nodes(st, st->n);
    pt->rate_S = clsi_nodes(st, st->m);
    clsi_place here = {pt->q, pt->v, pt->p, pt->S, pt->T, pt->t, clsi_inputs(st, c)};
    clsi_flows flows = clsi_flows_at(st, &here);
    if (clsi_brackets_at(st->s, &st->s->bound, &here, slope, pt->rate_q, pt->rate_p) != CLS_OK)
        st->exhausted = 1;
    for (size_t j = 0; j < st->n; j++) pt->rate_p[j] = cls_sub(g, flows.force[j], pt->rate_p[j]);
    for (size_t i = 0; i < st->m; i++) pt->rate_S[i] = cls_div(g, flows.heat[i], pt->T[i]);
    memcpy(pt->account, flows.account, sizeof pt->account);
}

static clsi_point *point_of_state(clsi_step *st, const cls_node *z, double c, int moves) {
    cls_node t = clsi_time(st, c);
    const clsi_form *f = st->f;
    cls_graph *g = st->g;
    size_t nq = st->nq, n = st->n, m = st->m, count = nq + 2 * n + 2 * m + (moves ? nq : 0);
    clsi_point *pt = new_point(st);
    cls_node *all = clsi_nodes(st, count), *to = clsi_nodes(st, st->nz + 1);
    cls_node *from = clsi_nodes(st, st->nz + 1);
    *pt = (clsi_point){.q = all, .v = all + nq, .p = all + nq + n, .S = all + nq + 2 * n};
    pt->T = pt->S + m;
    cls_node *slope = pt->T + m;
    memcpy(pt->q, f->q, nq * sizeof *all);
    memcpy(pt->v, f->v, n * sizeof *all);
    memcpy(pt->p, f->p, n * sizeof *all);
    memcpy(pt->S, f->S, m * sizeof *all);
    memcpy(pt->T, f->T, m * sizeof *all);
    if (moves) memcpy(slope, f->energy_q, nq * sizeof *all);
    memcpy(from, f->z, st->nz * sizeof *from);
    memcpy(to, z, st->nz * sizeof *to);
    from[st->nz] = st->s->t;
    to[st->nz] = t;
    (void)cls_substitute(g, count, all, st->nz + 1, from, to, all);
    pt->z = to;
    pt->t = t;
    if (moves) add_rates(st, pt, slope, c);
    return pt;
}

clsi_point *clsi_point_of_state(clsi_step *st, const cls_node *z, double c) {
    return point_of_state(st, z, c, 1);
}

void clsi_point_rates(clsi_step *st, const clsi_point *pt, cls_node *y, cls_node *rate) {
    size_t nq = st->nq, n = st->n, m = st->m;
    memcpy(y, pt->q, nq * sizeof *y);
    memcpy(y + nq, pt->p, n * sizeof *y);
    memcpy(y + nq + n, pt->S, m * sizeof *y);
    memcpy(rate, pt->rate_q, nq * sizeof *y);
    memcpy(rate + nq, pt->rate_p, n * sizeof *y);
    memcpy(rate + nq + n, pt->rate_S, m * sizeof *y);
    for (size_t i = 0; i < st->nz && st->s->varies; i++)
        rate[i] = cls_sub(st->g, rate[i], cls_derivative(st->g, y[i], st->t));
}

clsi_point *clsi_point_start(clsi_step *st) {
    if (!st->start) st->start = clsi_point_of_state(st, st->z0, 0);
    return st->start;
}

/* Native state with y given; unknown u with z = z0 + h u, T = T0 exp(h u). */
static cls_node *unknown_state(clsi_step *st, const cls_node *guess) {
    cls_graph *g = st->g;
    cls_node *z = clsi_nodes(st, st->nz);
    for (size_t k = 0; k < st->nz; k++) {
        cls_node step = cls_mul(g, st->h, clsi_step_unknown(st, guess[k], k));
        int thermal = st->f->kind == CLSI_FORM_THERMAL && k >= st->nq + st->n;
        z[k] = thermal ? cls_mul(g, st->z0[k], cls_apply(g, CLS_FN_EXP, step))
                       : cls_add(g, st->z0[k], step);
    }
    return z;
}

/* Half of the way to z1, where that is known: good for stages and midpoints. */
static cls_node *rates_between(clsi_step *st) {
    cls_graph *g = st->g;
    cls_node *rate = clsi_nodes(st, st->nz), twice = cls_mul(g, cls_constant(g, 2), st->h);
    for (size_t k = 0; k < st->nz; k++) {
        int thermal = st->f->kind == CLSI_FORM_THERMAL && k >= st->nq + st->n;
        cls_node change = thermal ? cls_apply(g, CLS_FN_LOG, cls_div(g, st->z1[k], st->z0[k]))
                                  : cls_sub(g, st->z1[k], st->z0[k]);
        rate[k] = cls_div(g, change, twice);
    }
    return rate;
}

/* T'/T of a temperature that only its own heat changes, at most MOST_WARMING in the step: a stiff
 * conduction would promise more than there is. */
static const double MOST_WARMING = 0.1;

static cls_node own_warming(clsi_step *st, const clsi_point *start, size_t i) {
    cls_graph *g = st->g;
    cls_node T = st->f->T[i], capacity = cls_derivative(g, st->f->S[i], T);
    if (capacity == CLS_NO_NODE || cls_is_constant(g, capacity, 0)) return cls_constant(g, 0);
    cls_node rate = cls_div(g, start->rate_S[i], cls_mul(g, T, capacity));
    cls_node far = cls_mul(g, cls_mul(g, cls_constant(g, 1 / MOST_WARMING), st->h), rate);
    cls_node bound = cls_add(g, cls_constant(g, 1), cls_mul(g, far, far));
    return cls_div(g, rate, cls_apply(g, CLS_FN_SQRT, bound));
}

/* Rates of z at the start as far as they are known without solving: all of them for PHASE, q' and
 * S' otherwise; v and T are guessed to stay. Of many not all may be: where nothing moves the factor
 * of the discrete gradient is 0/0, and as an unknown (lift.c) it goes wherever round-off sends it. */
static cls_node *guessed_rates(clsi_step *st) {
    clsi_point *start = clsi_point_start(st);
    cls_node *rate = clsi_nodes(st, st->nz), zero = cls_constant(st->g, 0);
    int thermal = st->f->kind == CLSI_FORM_THERMAL, many = st->nz > CLSI_MANY_UNKNOWNS;
    for (size_t j = 0; j < st->nq; j++) rate[j] = start->rate_q[j];
    for (size_t j = 0; j < st->n; j++)
        rate[st->nq + j] = st->f->kind == CLSI_FORM_PHASE ? start->rate_p[j] : zero;
    for (size_t i = 0; i < st->m; i++)
        rate[st->nq + st->n + i] = !thermal ? start->rate_S[i]
                                   : many   ? own_warming(st, start, i)
                                            : zero;
    return rate;
}

/* y(pt) = (q, p, S), as the equations of the point's own unknowns. */
static void demand(clsi_step *st, const clsi_point *pt, const cls_node *q, const cls_node *p,
                   const cls_node *S) {
    cls_node *r = pt->first_unknown == SIZE_MAX ? st->row : st->residual + pt->first_unknown;
    if (r == st->row) st->n_rows = st->nz;
    for (size_t k = 0; k < st->nz && r == st->row; k++) st->row_of[k] = k;
    for (size_t j = 0; j < st->nq; j++) r[j] = cls_sub(st->g, pt->q[j], q[j]);
    r += st->nq;
    for (size_t j = 0; j < st->n; j++) r[j] = cls_sub(st->g, pt->p[j], p[j]);
    for (size_t i = 0; i < st->m; i++) r[st->n + i] = cls_sub(st->g, pt->S[i], S[i]);
}

/* A point whose state is unknown. */
static clsi_point *unknown_point(clsi_step *st, double c, int moves) {
    size_t first = st->n_unknowns;
    cls_node *z = unknown_state(st, st->z1 ? rates_between(st) : guessed_rates(st));
    clsi_point *pt = point_of_state(st, z, c, moves);
    pt->first_unknown = st->exhausted ? 0 : first;
    return pt;
}

clsi_point *clsi_point_of_y(clsi_step *st, const cls_node *q, const cls_node *p, const cls_node *S,
                            double c) {
    if (st->f->kind == CLSI_FORM_PHASE) {
        cls_node *z = clsi_nodes(st, st->nz);
        memcpy(z, q, st->nq * sizeof *z);
        memcpy(z + st->nq, p, st->n * sizeof *z);
        memcpy(z + st->nq + st->n, S, st->m * sizeof *z);
        return clsi_point_of_state(st, z, c);
    }
    clsi_point *pt = unknown_point(st, c, 1);
    demand(st, pt, q, p, S);
    return pt;
}

static clsi_point *next_point(clsi_step *st, int moves) {
    clsi_point *next = st->z1 ? point_of_state(st, st->z1, 1, moves) : unknown_point(st, 1, moves);
    if (st->z1) next->first_unknown = SIZE_MAX;
    memcpy(st->next, next->z, st->nz * sizeof *next->z);
    for (size_t k = 0; k < st->nz && !st->exhausted; k++)
        st->change[k] = st->z1 ? cls_sub(st->g, st->z1[k], st->z0[k])
                               : cls_mul(st->g, st->h, st->unknown[next->first_unknown + k]);
    return next;
}

clsi_point *clsi_point_next(clsi_step *st) {
    return next_point(st, 1);
}

clsi_point *clsi_point_end(clsi_step *st) {
    return next_point(st, 0);
}

void clsi_finish(clsi_step *st, const clsi_point *next, const cls_node *q, const cls_node *p,
                 const cls_node *S) {
    demand(st, next, q, p, S);
}

void clsi_finish_accounts(clsi_step *st, const cls_node *moving, const cls_node *thermal) {
    for (int k = 0; k < CLSI_ACCOUNTS; k++)
        st->gain[k] = cls_mul(st->g, st->h, (k == CLSI_WORK ? moving : thermal)[k]);
}

/* ---- the step ---- */

static cls_status allocate(clsi_step *st) {
    size_t nz = st->nz, nr = st->s->nr,
           size = nz + clsi_flows_size(st->s) + 4 + st->s->nu + nr * (1 + st->n + st->m);
    st->slab_size = 16 * size; /* rk4 on a thermal system uses the most, about 200 times the size */
    st->capacity = 8 * nz;
    st->points = clsi_calloc(MAX_POINTS, sizeof(clsi_point));
    st->unknown = clsi_calloc(3 * st->capacity, sizeof(cls_node));
    st->of_state = clsi_calloc(st->capacity, sizeof *st->of_state);
    st->positive = clsi_calloc(st->m + nr, sizeof(cls_node));
    st->row_of = clsi_calloc(nz, sizeof *st->row_of);
    if (!more_nodes(st, nz) || !st->points || !st->unknown || !st->of_state || !st->positive ||
        !st->row_of)
        return CLS_MEMORY;
    st->residual = st->unknown + st->capacity;
    st->guess = st->residual + st->capacity;
    st->z0 = clsi_nodes(st, nz);
    st->next = clsi_nodes(st, nz);
    st->change = clsi_nodes(st, nz);
    for (size_t k = 0; k < nz; k++) st->change[k] = cls_constant(st->g, 0);
    st->row = clsi_nodes(st, nz);
    memcpy(st->z0, st->f->z, nz * sizeof *st->z0);
    st->u0 = st->s->u;
    st->u1 = clsi_nodes(st, st->s->nu);
    for (size_t k = 0; k < st->s->nu; k++) {
        char name[80];
        snprintf(name, sizeof name, "%s'end",
                 st->s->input[k].name); /* unknowns are u'[1], u'[2], ... */
        st->u1[k] = cls_symbol(st->g, name);
    }
    for (int k = 0; k < CLSI_ACCOUNTS; k++) st->gain[k] = cls_constant(st->g, 0);
    return CLS_OK;
}

/* Temperatures are rounded, and what momenta and entropies are computed to be from them does not add
 * up to what the equations say: that is left over, and owed by the next step. Other states are sums
 * that owe it themselves (step_add in simulate/step.inc). */
static cls_status owe(clsi_step *st, cls_error *error) {
    size_t own = st->n_unknowns - st->n_lifted;
    if (st->f->kind != CLSI_FORM_THERMAL || own > st->nz) return CLS_OK;
    st->n_owed = own;
    st->owed = clsi_nodes(st, st->n_owed);
    for (size_t k = 0; k < st->n_owed; k++) {
        char name[32];
        snprintf(name, sizeof name, "owed'[%zu]", k);
        st->owed[k] = cls_symbol(st->g, name);
        st->residual[k] = cls_add(st->g, st->residual[k], st->owed[k]);
    }
    return cls_graph_status(st->g, error);
}

static cls_status build(clsi_step *st, const clsi_scheme *scheme, int between, cls_error *error) {
    if (allocate(st) != CLS_OK) return clsi_no_memory(error);
    if (between) st->z1 = clsi_nodes(st, st->nz);
    for (size_t k = 0; k < st->nz && between; k++) st->z1[k] = cls_fresh_symbol(st->g, "z1'");
    st->t = st->s->t;
    st->h = cls_symbol(st->g, "h'");
    st->defect = cls_symbol(st->g, "defect'");
    st->received = cls_symbol(st->g, "received'");
    scheme->build(st);
    cls_status status = cls_graph_status(st->g, error);
    if (status != CLS_OK) return status;
    int incomplete = 0;
    for (size_t k = 0; k < st->n_unknowns; k++) incomplete |= st->residual[k] == CLS_NO_NODE;
    incomplete |= between && st->n_rows != st->nz;
    if (st->exhausted || incomplete)
        return clsi_fail(error, CLS_NUMERIC,
                         "the scheme '%s' could not be built for this system (%zu unknowns)",
                         scheme->info.name, st->n_unknowns);
    return CLS_OK;
}

cls_status clsi_step_build(const cls_system *s, const clsi_scheme *scheme, int between, double h,
                           clsi_step **out, cls_error *error) {
    *out = NULL;
    cls_status status = clsi_scheme_fits(scheme, s, error);
    if (status != CLS_OK) return status;
    clsi_step *st = clsi_calloc(1, sizeof *st);
    if (!st) return clsi_no_memory(error);
    *st = (clsi_step){
        .s = s, .f = s->form, .g = s->g, .nq = s->nq, .n = s->n, .m = s->m, .nz = s->form->nz};
    st->composed = scheme->n_composition > 0;
    st->as_written = scheme->tableau != NULL;
    st->length = h;
    st->quiet = scheme->noise;
    status = build(st, scheme, between, error);
    if (status == CLS_OK)
        *out = st;
    else
        clsi_step_free(&st);
    return status;
}

cls_status clsi_step_create(const cls_system *s, const clsi_scheme *scheme, double h,
                            clsi_step **out, cls_error *error) {
    cls_status status = clsi_step_build(s, scheme, 0, h, out, error);
    if (status == CLS_OK && (*out)->n_unknowns > CLSI_MANY_UNKNOWNS)
        status = clsi_step_lift(*out, error);
    if (status == CLS_OK) status = clsi_step_presolve(*out, error);
    if (status == CLS_OK) status = owe(*out, error);
    if (status != CLS_OK) clsi_step_free(out);
    return status;
}

void clsi_step_free(clsi_step **step) {
    clsi_step *st = *step;
    if (!st) return;
    for (size_t k = 0; k < st->n_slabs; k++) free(st->slabs[k]);
    free(st->points);
    free(st->unknown);
    free(st->of_state);
    free(st->positive);
    free(st->row_of);
    free(st);
    *step = NULL;
}
