/* The motion in continuous time, for model exchange and observers: z' over z, its Jacobian, and the
 * Jacobian of the outputs; all exact, from the graph.
 *
 * In y = (q, p, S) the motion is y' = rate(z, t). Where the state is not y itself (velocities,
 * temperatures), M z' = y' with M = dy/dz, and differentiating M(z) z' = y'(z) gives
 * dz'/dz = -M^-1 d(M z' - y')/dz at fixed z'. Accounts (work, heat) have rates and are in no
 * formula. Parameters that may change are the last inputs. */
#include "expr/graph.h"
#include "expr/program.h"
#include "export/export.h"
#include "scheme/scheme.h"
#include <stdlib.h>
#include <string.h>

size_t clsi_needs_width(const clsi_export *e) {
    return e->sp->nz + e->sp->nu + e->n_parameters + 1;
}

static void build_nothing(clsi_step *st) {
    memcpy(st->next, st->z0, st->nz * sizeof *st->next);
}

/* d f / d x, (m, n); of many by one walk for each row, over what it is made of. */
static cls_status slopes_of(cls_graph *g, size_t m, const cls_node *f, size_t n, const cls_node *x,
                            cls_node *out) {
    clsi_rows rows;
    if (n <= CLSI_MANY_UNKNOWNS) return cls_jacobian(g, m, f, n, x, out);
    cls_status status = clsi_sparse_jacobian(g, m, f, n, x, &rows);
    if (status != CLS_OK) return status;
    cls_node zero = cls_constant(g, 0);
    for (size_t k = 0; k < m * n; k++) out[k] = zero;
    for (size_t i = 0; i < m; i++)
        for (size_t e = rows.start[i]; e < rows.start[i + 1]; e++)
            out[i * n + rows.column[e]] = rows.node[e];
    clsi_rows_clear(&rows);
    return zero == CLS_NO_NODE ? CLS_MEMORY : CLS_OK;
}

/* Of which of `by` any of the nodes is made. */
static cls_status mark_needs(const cls_graph *g, size_t count, const cls_node *nodes, size_t n,
                             const cls_node *by, unsigned char *out, cls_error *error) {
    clsi_cone cone;
    if (!clsi_cone_create(g, count, nodes, &cone)) return clsi_no_memory(error);
    for (size_t k = 0; k < n; k++) out[k] = clsi_cone_at(&cone, by[k]) != 0;
    clsi_cone_free(&cone);
    return CLS_OK;
}

/* Which rates depend on which states. M^-1 mixes all rows behind the positions: these need what any
 * of them needs, and what q' needs where y depends on q. */
static cls_status find_needs(clsi_export *e, const clsi_step *st, const cls_node *rate,
                             const cls_node *M, const cls_node *by, cls_error *error) {
    cls_graph *g = st->g;
    size_t nz = st->nz, nq = st->nq, width = clsi_needs_width(e), n = 0;
    cls_node zero = cls_constant(g, 0), *mixed = NULL;
    unsigned char *shared = NULL;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < e->n_state && status == CLS_OK; i++) {
        unsigned char *to = e->rate_needs + i * width;
        if (e->identity || i < nq || i >= nz) {
            status = mark_needs(g, 1, rate + i, width, by, to, error);
            continue;
        }
        if (shared) {
            memcpy(to, shared, width);
            continue;
        }
        mixed = clsi_calloc(nz + nz * nz, sizeof *mixed);
        if (!mixed) return clsi_no_memory(error);
        for (size_t r = nq; r < nz; r++) mixed[n++] = rate[r];
        for (size_t r = nq * nz; r < nz * nz; r++)
            if (M[r] != zero) mixed[n++] = M[r];
        for (size_t j = 0; j < nq; j++)
            for (size_t r = nq; r < nz; r++)
                if (M[r * nz + j] != zero) {
                    mixed[n++] = rate[j];
                    break;
                }
        status = mark_needs(g, n, mixed, width, by, to, error);
        shared = to;
    }
    free(mixed);
    return status;
}

/* y' (nz), rates of accounts, M (nz, nz) unless it is 1; then slopes: d(M dot - y')/d(z, u) (nz, nz
 * + nu), d(accounts)/dz (n, nz) over z, t, u, dot. */
static cls_status compile_rates(clsi_export *e, clsi_variant *v, clsi_step *st, cls_node *room,
                                cls_error *error) {
    cls_graph *g = st->g;
    size_t nz = st->nz, accounts = e->n_state - nz;
    size_t nu = e->sp->nu, np = e->n_parameters;
    cls_node *y = room, *in = y + nz, *rate = in + 2 * nz + 1 + nu + np;
    cls_node *M = rate + nz + accounts, *defect = M + nz * nz, *by = defect + nz + accounts;
    cls_node *slope = by + nz + nu + np + 1;
    clsi_point *pt = clsi_point_start(st);
    clsi_point_rates(st, pt, y, rate);
    if (st->exhausted) return clsi_no_memory(error);
    for (size_t k = 0; k < accounts; k++) rate[nz + k] = pt->account[clsi_account_at(v->s, k)];
    memcpy(in, st->z0, nz * sizeof *y);
    in[nz] = st->t;
    for (size_t k = 0; k < nu; k++) in[nz + 1 + k] = st->u0[k];
    clsi_parameter_nodes(e, v->s, in + nz + 1 + nu);
    memcpy(by, st->z0, nz * sizeof *by);
    for (size_t k = 0; k < nu; k++) by[nz + k] = st->u0[k];
    clsi_parameter_nodes(e, v->s, by + nz + nu);
    by[nz + nu + np] = st->t;
    cls_node *dot = in + nz + 1 + nu + np;
    for (size_t k = 0; k < nz; k++) dot[k] = cls_fresh_symbol(g, "dot'");
    cls_status status = slopes_of(g, nz, y, nz, st->z0, M);
    for (size_t i = 0; i < nz && status == CLS_OK; i++) {
        defect[i] = cls_neg(g, rate[i]);
        for (size_t k = 0; k < nz && !e->identity; k++)
            defect[i] = cls_add(g, defect[i], cls_mul(g, M[i * nz + k], dot[k]));
    }
    for (size_t k = 0; k < accounts; k++) defect[nz + k] = rate[nz + k];
    if (status == CLS_OK) status = slopes_of(g, nz + accounts, defect, nz + nu, by, slope);
    if (status != CLS_OK) return clsi_graph_failed(g, error);
    size_t count = nz + accounts + (e->identity ? 0 : nz * nz);
    status = cls_program_create(g, nz + 1 + nu + np, in, count, rate, &v->rate, error);
    if (status == CLS_OK) status = find_needs(e, st, rate, M, by, error);
    if (status == CLS_OK)
        status = cls_program_create(g, 2 * nz + 1 + nu + np, in, (nz + accounts) * (nz + nu), slope,
                                    &v->slope, error);
    return status;
}

/* What a column is, over z, t, u and `accounts`. */
static cls_node column_node(const clsi_export *e, const clsi_variant *v, size_t k,
                            const cls_node *accounts) {
    const cls_system *s = v->s;
    size_t n = clsi_account_count(s);
    const char *name = e->columns[k].name;
    if (k == 0) return s->t;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, clsi_account_name(clsi_account_at(s, i)))) return accounts[i];
    for (size_t i = 0; i < s->nu; i++)
        if (!strcmp(name, s->input[i].name))
            return s->input_formula[i] == CLS_NO_NODE ? s->u[i] : s->input_formula[i];
    cls_node node = clsi_system_column_node(s, name);
    if (s->has_heat && !strcmp(name, "entropy")) node = cls_add(s->g, node, accounts[n - 1]);
    return node;
}

/* The row over t, z, accounts, u; its slopes (n_columns, nz + nu) over t, z, u. */
static cls_status compile_row(clsi_export *e, clsi_variant *v, cls_error *error) {
    const cls_system *s = v->s;
    cls_graph *g = s->g;
    size_t nz = e->sp->nz, nu = e->sp->nu, known = nz + nu, accounts = e->n_state - nz;
    size_t np = e->n_parameters, n = e->n_columns, failed = 0;
    size_t width = clsi_needs_width(e);
    cls_node *nodes = clsi_calloc(n + 1 + e->n_state + width + nu + np + n * known, sizeof *nodes);
    if (!nodes) return clsi_no_memory(error);
    cls_node *in = nodes + n, *by = in + 1 + e->n_state + nu + np, *slope = by + width;
    in[0] = s->t;
    memcpy(in + 1, s->form->z, nz * sizeof *in);
    for (size_t k = 0; k < accounts; k++) in[1 + nz + k] = cls_fresh_symbol(g, "account'");
    for (size_t k = 0; k < n; k++) {
        nodes[k] = column_node(e, v, k, in + 1 + nz);
        failed |= nodes[k] == CLS_NO_NODE;
    }
    if (nu) memcpy(in + 1 + e->n_state, s->u, nu * sizeof *in);
    clsi_parameter_nodes(e, s, in + 1 + e->n_state + nu);
    memcpy(by, s->form->z, nz * sizeof *by);
    if (nu) memcpy(by + nz, s->u, nu * sizeof *by);
    clsi_parameter_nodes(e, s, by + known);
    by[known + np] = s->t;
    cls_status status = failed ? CLS_MEMORY : slopes_of(g, n, nodes, known, by, slope);
    if (status != CLS_OK && cls_graph_status(g, error) == CLS_OK) status = clsi_no_memory(error);
    if (status == CLS_OK)
        status = cls_program_create(g, 1 + e->n_state + nu + np, in, n, nodes, &v->row, error);
    if (status == CLS_OK)
        status = cls_program_create(g, 1 + e->n_state + nu + np, in, n * known, slope,
                                    &v->row_slope, error);
    for (size_t k = 0; k < n && status == CLS_OK; k++)
        status = mark_needs(g, 1, nodes + k, width, by, e->row_needs + k * width, error);
    free(nodes);
    return status;
}

/* With r(z0, x) = 0 for the unknowns x of a step and z1(z0, x), along a direction v of z0:
 *     w = -(d_x r)^-1 d_z r v,    dz1 = d_z z1 v + d_x z1 w.
 * d_x r is in the residual program, and Newton's method has its factors. The program gives d_z r v (k) and dz1 (nz)
 * over the inputs of the step, v and w: it runs once for w and once with it, and a matrix is made column by column. */
static cls_status compile_step(clsi_export *e, clsi_variant *v, cls_error *error) {
    const clsi_stepper *sp = v->sp;
    size_t nz = sp->nz, k = sp->n_unknowns, at = 0, known = sp->n_base + k;
    clsi_step *st;
    cls_status status = clsi_step_create(v->s, sp->scheme, sp->length, &st, error);
    if (status != CLS_OK) return status;
    cls_graph *g = st->g;
    cls_node *in = clsi_calloc(known + 3 * (nz + k), sizeof *in);
    if (!in) {
        clsi_step_free(&st);
        return clsi_no_memory(error);
    }
    cls_node *direction = in + known, *by = direction + nz + k, *out = by + nz + k;
    memcpy(in, st->z0, nz * sizeof *in);
    in[nz] = cls_symbol(g, "received'");
    in[nz + 1] = st->t;
    in[nz + 2] = st->h;
    in[nz + 3] = st->defect;
    at = nz + 4;
    for (size_t i = 0; i < sp->n_owed; i++) in[at++] = st->owed[i];
    for (size_t i = 0; i < sp->nu; i++) in[at++] = st->u0[i];
    for (size_t i = 0; i < sp->nu; i++) in[at++] = st->u1[i];
    clsi_parameter_nodes(e, v->s, in + at);
    if (k) memcpy(in + sp->n_base, st->unknown, k * sizeof *in);
    for (size_t i = 0; i < nz + k; i++) {
        direction[i] = cls_fresh_symbol(g, "along'");
        by[i] = i < nz ? st->z0[i] : st->unknown[i - nz];
    }
    status = clsi_along(g, k, st->residual, nz, by, direction, NULL, 1, out);
    if (status == CLS_OK)
        status = clsi_along(g, nz, st->next, nz + k, by, direction, NULL, 1, out + k);
    if (status != CLS_OK && cls_graph_status(g, error) == CLS_OK) status = clsi_no_memory(error);
    if (status == CLS_OK)
        status = cls_program_create(g, known + nz + k, in, k + nz, out, &v->step_slope, error);
    free(in);
    clsi_step_free(&st);
    return status;
}

cls_status clsi_export_rates(clsi_export *e, clsi_variant *v, cls_error *error) {
    static const clsi_scheme nothing = {
        .info = {.name = "rates"}, .build = build_nothing, .varies = 1, .drift = 1};
    size_t nz = e->sp->nz, all = e->n_state;
    clsi_step *st = NULL;
    e->identity = e->s->form->kind == CLSI_FORM_PHASE;
    cls_node *room = clsi_calloc(6 * nz + 3 * all + nz * nz + (all + 3) * (nz + e->sp->nu) +
                                     2 * e->n_parameters + 9,
                                 sizeof *room);
    if (!e->row_needs) e->row_needs = clsi_calloc(e->n_columns * clsi_needs_width(e), 1);
    if (!e->rate_needs) e->rate_needs = clsi_calloc(e->n_state * clsi_needs_width(e), 1);
    if (!room || !e->row_needs || !e->rate_needs) {
        free(room);
        return clsi_no_memory(error);
    }
    cls_status status = clsi_step_create(v->s, &nothing, 0, &st, error);
    if (status == CLS_OK) status = compile_rates(e, v, st, room, error);
    if (status == CLS_OK) status = compile_row(e, v, error);
    if (status == CLS_OK && !clsi_export_is_lawful(e)) status = compile_step(e, v, error);
    clsi_step_free(&st);
    free(room);
    return status;
}
