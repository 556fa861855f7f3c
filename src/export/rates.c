/* The motion in continuous time, for model exchange and observers: z' over z, its Jacobian, and the
 * Jacobian of the outputs; all exact, from the graph.
 *
 * In y = (q, p, S) the motion is y' = rate(z, t). Where the state is not y itself (velocities,
 * temperatures), M z' = y' with M = dy/dz, and differentiating M(z) z' = y'(z) gives
 * dz'/dz = -M^-1 d(M z' - y')/dz at fixed z'. Accounts (work, heat) have rates and are in no
 * formula. */
#include "expr/program.h"
#include "export/export.h"
#include "scheme/scheme.h"
#include <stdlib.h>
#include <string.h>

static void build_nothing(clsi_step *st) {
    memcpy(st->next, st->z0, st->nz * sizeof *st->next);
}

/* Which rates depend on which states. M^-1 mixes all rows behind the positions. */
static void find_needs(clsi_export *e, const clsi_step *st, const cls_node *rate, const cls_node *M,
                       const cls_node *by) {
    cls_graph *g = st->g;
    size_t nz = st->nz, nq = st->nq;
    cls_node zero = cls_constant(g, 0);
    for (size_t i = 0; i < e->n_state; i++)
        for (size_t k = 0; k < nz + e->sp->nu; k++) {
            int mixed = !e->identity && i >= nq && i < nz, needs = 0;
            size_t first = mixed ? nq : i, last = mixed ? nz : i + 1;
            for (size_t r = first; r < last; r++) needs |= cls_depends(g, rate[r], 1, by + k);
            for (size_t r = nq * nz; mixed && r < nz * nz; r++)
                needs |= cls_depends(g, M[r], 1, by + k);
            /* and on what q' depends on, where y depends on q */
            for (size_t r = nq; mixed && r < nz; r++)
                for (size_t j = 0; j < nq; j++)
                    if (M[r * nz + j] != zero) needs |= cls_depends(g, rate[j], 1, by + k);
            e->rate_needs[i * (nz + e->sp->nu) + k] = (unsigned char)(needs != 0);
        }
}

/* y' (nz), rates of accounts, M (nz, nz) unless it is 1; then slopes: d(M dot - y')/d(z, u) (nz, nz + nu),
 * d(accounts)/dz (n, nz) over z, t, dot. */
static cls_status compile_rates(clsi_export *e, clsi_step *st, cls_node *room, cls_error *error) {
    cls_graph *g = st->g;
    size_t nz = st->nz, nq = st->nq, n = st->n, m = st->m, accounts = e->n_state - nz;
    size_t nu = e->sp->nu;
    cls_node *y = room, *in = y + nz, *rate = in + 2 * nz + 1 + nu, *M = rate + nz + accounts;
    cls_node *defect = M + nz * nz, *by = defect + nz + accounts, *slope = by + nz + nu;
    clsi_point *pt = clsi_point_start(st);
    memcpy(y, pt->q, nq * sizeof *y);
    memcpy(y + nq, pt->p, n * sizeof *y);
    memcpy(y + nq + n, pt->S, m * sizeof *y);
    memcpy(rate, pt->rate_q, nq * sizeof *y);
    memcpy(rate + nq, pt->rate_p, n * sizeof *y);
    memcpy(rate + nq + n, pt->rate_S, m * sizeof *y);
    for (size_t k = 0; k < accounts; k++) rate[nz + k] = pt->account[clsi_account_at(e->s, k)];
    memcpy(in, st->z0, nz * sizeof *y);
    in[nz] = st->t;
    for (size_t k = 0; k < nu; k++) in[nz + 1 + k] = st->u0[k];
    cls_node *dot = in + nz + 1 + nu;
    memcpy(by, st->z0, nz * sizeof *by);
    for (size_t k = 0; k < nu; k++) by[nz + k] = st->u0[k];
    for (size_t k = 0; k < nz; k++) dot[k] = cls_fresh_symbol(g, "dot'");
    cls_status status = cls_jacobian(g, nz, y, nz, st->z0, M);
    for (size_t i = 0; i < nz && status == CLS_OK; i++) {
        defect[i] = cls_neg(g, rate[i]);
        for (size_t k = 0; k < nz && !e->identity; k++)
            defect[i] = cls_add(g, defect[i], cls_mul(g, M[i * nz + k], dot[k]));
    }
    for (size_t k = 0; k < accounts; k++) defect[nz + k] = rate[nz + k];
    if (status == CLS_OK) status = cls_jacobian(g, nz + accounts, defect, nz + nu, by, slope);
    if (status != CLS_OK) return cls_graph_status(g, error);
    size_t count = nz + accounts + (e->identity ? 0 : nz * nz);
    status = cls_program_create(g, nz + 1 + nu, in, count, rate, &e->rate, error);
    find_needs(e, st, rate, M, by);
    if (status == CLS_OK)
        status = cls_program_create(g, 2 * nz + 1 + nu, in, (nz + accounts) * (nz + nu), slope,
                                    &e->slope, error);
    return status;
}

/* The node of output k of the row program; CLS_NO_NODE for one that is an account itself. */
static cls_node row_node(const clsi_export *e, size_t k) {
    const cls_program *p = clsi_system_row_program(e->s);
    size_t reg = p->outputs[k], base = p->n_constants + p->n_inputs;
    if (reg < p->n_constants) return cls_constant(e->s->g, p->constants[reg]);
    if (reg >= base) return p->node[reg - base];
    size_t input = reg - p->n_constants;
    if (input == 0) return e->s->t;
    if (input > e->n_state) return e->s->u[input - 1 - e->n_state];
    return input <= e->sp->nz ? e->s->form->z[input - 1] : CLS_NO_NODE;
}

/* (n_columns, nz + nu) over t, z, u. */
static cls_status compile_row(clsi_export *e, cls_error *error) {
    cls_graph *g = e->s->g;
    size_t nz = e->sp->nz, known = nz + e->sp->nu;
    cls_node *nodes =
        clsi_calloc(e->n_columns + nz + 1 + e->sp->nu + e->n_columns * known, sizeof *nodes);
    if (!nodes) return clsi_no_memory(error);
    cls_node *in = nodes + e->n_columns, *slope = in + nz + 1 + e->sp->nu;
    for (size_t k = 0; k < e->n_columns; k++) {
        nodes[k] = row_node(e, k);
        if (nodes[k] == CLS_NO_NODE) nodes[k] = cls_constant(g, 0);
    }
    in[0] = e->s->t;
    memcpy(in + 1, e->s->form->z, nz * sizeof *in);
    if (e->sp->nu) memcpy(in + 1 + nz, e->s->u, e->sp->nu * sizeof *in);
    cls_status status = cls_jacobian(g, e->n_columns, nodes, known, in + 1, slope);
    if (status != CLS_OK)
        (void)cls_graph_status(g, error);
    else
        status = cls_program_create(g, nz + 1 + e->sp->nu, in, e->n_columns * known, slope,
                                    &e->row_slope, error);
    for (size_t k = 0; k < e->n_columns && status == CLS_OK; k++)
        for (size_t i = 0; i < known; i++)
            e->row_needs[k * known + i] = (unsigned char)cls_depends(g, nodes[k], 1, in + 1 + i);
    free(nodes);
    return status;
}

cls_status clsi_export_rates(clsi_export *e, cls_error *error) {
    static const clsi_scheme nothing = {.info = {.name = "rates"}, .build = build_nothing};
    size_t nz = e->sp->nz, all = e->n_state;
    clsi_step *st = NULL;
    e->identity = e->s->form->kind == CLSI_FORM_PHASE;
    cls_node *room =
        clsi_calloc(6 * nz + 3 * all + nz * nz + (all + 3) * (nz + e->sp->nu) + 8, sizeof *room);
    e->row_needs = clsi_calloc(e->n_columns * (nz + e->sp->nu), 1);
    e->rate_needs = clsi_calloc(e->n_state * (nz + e->sp->nu), 1);
    if (!room || !e->row_needs || !e->rate_needs) {
        free(room);
        return clsi_no_memory(error);
    }
    cls_status status = clsi_step_create(e->s, &nothing, &st, error);
    if (status == CLS_OK) status = compile_rates(e, st, room, error);
    if (status == CLS_OK) status = compile_row(e, error);
    clsi_step_free(&st);
    free(room);
    return status;
}
