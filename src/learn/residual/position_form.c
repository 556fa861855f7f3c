/* Momentum and force of a system seen through its positions, as expressions over (q, v).
 *
 * Of any formalism: L(q, v) is the lagrangian, the thermal lagrangian, or the Legendre transform of
 * a hamiltonian that is quadratic in p. Then p = L_v and p' = f = L_q + friction + external forces.
 * Heat is not seen: temperatures and entropies may be in the formula, but neither p nor f may
 * contain them (friction and potential do not depend on how warm it is). Then the motion of the
 * positions is the same for every initial heat, which is gauge, and the model still keeps the
 * total energy, because where friction takes energy from is where its heat comes from.
 *
 * For the discrete gradient L_q is replaced by the discrete gradient of L in q between the ends of
 * the interval: of the known part by the graph, of unknown parts by their field (clsi_field_pairs)
 * with the discrete gradients of its inputs, so that the learned model simulates with the same
 * numbers. It needs masses that do not depend on q, and unknown parts that are terms of L. */
#include "base/base.h"
#include "expr/graph.h"
#include "learn/learn.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cls_node clsi_position_variable(const cls_system *s, size_t k) {
    return k < s->n ? s->q[k] : s->v[k - s->n];
}

cls_status clsi_position_inputs(const cls_system *s, clsi_learned *l, int raw, cls_error *error) {
    for (size_t k = 0; k < (raw ? 2 : 1) * s->n; k++) {
        const char *name = cls_node_name(s->g, clsi_position_variable(s, k));
        if (l->d == CLSI_FIELD_MAX_INPUTS) return clsi_too_many_inputs(l, error);
        if (!(l->input[l->d] = clsi_strdup(name))) return clsi_no_memory(error);
        l->d++;
    }
    return CLS_OK;
}

typedef struct form {
    const clsi_unknowns *us;
    const cls_system *s;
    cls_graph *g;
    cls_node L;
    cls_node *inputs; /* q, v, t, symbols, ends q1, q0 */
    cls_node *u, *w;  /* (n): the ends */
    cls_node *y;      /* (2 n): p, f */
} form;

static cls_status find_lagrangian(form *f, cls_error *error) {
    const cls_system *s = f->s;
    cls_node formula = s->bound.formula, potential = s->bound.potential;
    if (s->formalism != CLS_HAMILTONIAN) {
        f->L = cls_sub(f->g, formula, potential);
        return CLS_OK;
    }
    cls_node *p = clsi_calloc(s->n, sizeof *p);
    if (!p) return clsi_no_memory(error);
    int found = clsi_legendre(f->g, cls_add(f->g, formula, potential), s->n, s->p, s->v, &f->L, p);
    free(p);
    if (found < 0) return clsi_no_memory(error);
    if (found) return CLS_OK;
    return clsi_fail(error, CLS_USAGE,
                     "'%s' is to be learned from positions alone, and its hamiltonian is not "
                     "quadratic in the momenta (or has no mass): write it as a lagrangian, or add "
                     "columns with momenta",
                     s->name);
}

/* Friction and external forces at (q, v). */
static cls_status add_forces(const form *f, cls_node *force) {
    const cls_system *s = f->s;
    clsi_flows flows;
    cls_node *room = clsi_calloc(clsi_flows_size(s), sizeof *room);
    if (!room) return CLS_MEMORY;
    clsi_place at = {.p = f->y, .t = s->t};
    cls_status status = clsi_flows_of(s, &at, NULL, room, &flows);
    for (size_t k = 0; k < s->n && status == CLS_OK; k++)
        force[k] = cls_add(f->g, force[k], flows.force[k]);
    free(room);
    return status;
}

/* ---- the discrete gradient ---- */

/* Is unknown k a potential? Its value then changes along q, and only along q. */
static cls_status find_paired(const form *f, size_t k, unsigned char *paired, cls_error *error) {
    const clsi_unknown *u = &f->us->list[k];
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    if (clsi_learned_inputs(&u->learned, f->s, x) != CLS_OK) return clsi_no_memory(error);
    if (!cls_depends(f->g, f->L, 1, &u->value)) return CLS_OK;
    int moves = 0, speeds = 0;
    for (size_t i = 0; i < u->learned.d; i++) {
        moves |= cls_depends(f->g, x[i], f->s->n, f->s->q);
        speeds |= cls_depends(f->g, x[i], f->s->n, f->s->v);
    }
    *paired = (unsigned char)moves;
    if (moves && speeds)
        return clsi_fail(error, CLS_USAGE,
                         "'%s' depends on positions and velocities, and the discrete gradient of "
                         "positions alone needs potentials; learn with --scheme weak",
                         u->learned.part);
    const clsi_field *field = u->learned.field;
    const char *why = !field->kind->pairs ? "this kind of field has no discrete gradient"
                                          : field->kind->pairs->missing(field);
    if (moves && why)
        return clsi_fail(error, CLS_USAGE, "'%s' = %s: %s; learn with --scheme weak",
                         u->learned.part, field->spec, why);
    return CLS_OK;
}

/* force_j += outer times the discrete gradient of the unknown in q_j, through its inputs. */
static cls_status chain(const form *f, const clsi_unknown *u, cls_node outer, cls_node *force) {
    size_t n = f->s->n;
    cls_node x[CLSI_FIELD_MAX_INPUTS], *inner = clsi_calloc(n, sizeof *inner);
    cls_status status = inner ? clsi_learned_inputs(&u->learned, f->s, x) : CLS_MEMORY;
    for (size_t i = 0; i < u->learned.d && status == CLS_OK; i++) {
        status = cls_discrete_gradient(f->g, x[i], n, f->s->q, f->u, f->w, inner);
        for (size_t j = 0; j < n && status == CLS_OK; j++)
            force[j] =
                cls_add(f->g, force[j], cls_mul(f->g, outer, cls_mul(f->g, u->slope[i], inner[j])));
    }
    free(inner);
    return status;
}

/* All of L in one walk: the unknown values are symbols that differ at the ends. */
static cls_status discrete_force(const form *f, const unsigned char *paired, cls_node *force,
                                 cls_error *error) {
    size_t n = f->s->n, N = n + f->us->n;
    cls_node *all = clsi_calloc(4 * N, sizeof *all);
    if (!all) return clsi_no_memory(error);
    cls_node *symbols = all, *u = symbols + N, *w = u + N, *out = w + N;
    memcpy(symbols, f->s->q, n * sizeof *all);
    memcpy(u, f->u, n * sizeof *all);
    memcpy(w, f->w, n * sizeof *all);
    for (size_t k = 0; k < f->us->n; k++) {
        symbols[n + k] = u[n + k] = w[n + k] = f->us->list[k].value;
        if (!paired[k]) continue;
        u[n + k] = cls_fresh_symbol(f->g, "value'");
        w[n + k] = cls_fresh_symbol(f->g, "value'");
    }
    cls_status status = cls_discrete_gradient(f->g, f->L, N, symbols, u, w, out);
    memcpy(force, out, n * sizeof *force);
    for (size_t k = 0; k < N && status == CLS_OK; k++)
        for (size_t i = n; i < N && status == CLS_OK; i++)
            if (paired[i - n] && cls_depends(f->g, out[k], 1, &u[i]))
                status = clsi_fail(error, CLS_USAGE,
                                   "'%s' is not a term of the formula but multiplies others; "
                                   "learn it from positions with --scheme weak",
                                   f->us->list[i - n].learned.part);
    for (size_t k = 0; k < f->us->n && status == CLS_OK; k++)
        if (paired[k]) status = chain(f, &f->us->list[k], out[n + k], force);
    free(all);
    return status;
}

static cls_status check_mass(const form *f, cls_error *error) {
    for (size_t j = 0; j < f->s->n; j++) {
        if (!cls_depends(f->g, f->y[j], f->s->n, f->s->q)) continue;
        cls_node p = cls_simplify(f->g, f->y[j]);
        if (cls_depends(f->g, p, f->s->n, f->s->q))
            return clsi_fail(error, CLS_USAGE,
                             "the momentum of %s depends on the positions, and the discrete "
                             "gradient of positions alone needs constant masses; learn with "
                             "--scheme weak",
                             f->s->coordinate[j].name);
    }
    return CLS_OK;
}

/* ---- together ---- */

/* Unknown k: is it a function of the positions, and not in the momenta, by its value or a slope? */
static int is_only_force(const form *f, size_t k) {
    const clsi_unknown *u = &f->us->list[k];
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    size_t n = f->s->n;
    if (clsi_learned_inputs(&u->learned, f->s, x) != CLS_OK) return 0;
    int other = 0;
    for (size_t i = 0; i < u->learned.d; i++) other |= cls_depends(f->g, x[i], n, f->s->v);
    for (size_t j = 0; j < n; j++)
        other |= cls_depends(f->g, f->y[j], 1, &u->value) ||
                 cls_depends(f->g, f->y[j], u->learned.d, u->slope);
    return !other;
}

static cls_status check_heat(const form *f, cls_error *error) {
    const cls_system *s = f->s;
    for (size_t k = 0; k < 2 * s->n; k++)
        for (size_t i = 0; i < s->m; i++)
            if (cls_depends(f->g, f->y[k], 1, &s->S[i]) || cls_depends(f->g, f->y[k], 1, &s->T[i]))
                return clsi_fail(error, CLS_USAGE,
                                 "the motion of %s depends on the heat of %s, which positions "
                                 "alone do not show: add columns with velocities and temperatures, "
                                 "or say with `of` what an unknown part depends on",
                                 s->coordinate[k % s->n].name, s->entropy[i].name);
    return CLS_OK;
}

static cls_status describe(form *f, clsi_residual *r, cls_error *error) {
    const cls_system *s = f->s;
    cls_node *force = f->y + s->n;
    cls_status status = find_lagrangian(f, error);
    for (size_t k = 0; k < f->us->n && status == CLS_OK && r->points->intervals->paired; k++)
        status = find_paired(f, k, &r->paired[k], error);
    if (status == CLS_OK && clsi_total_derivatives(f->us, f->L, s->n, s->v, f->y) != CLS_OK)
        status = clsi_graph_failed(f->g, error);
    if (status == CLS_OK && !r->points->intervals->paired &&
        clsi_total_derivatives(f->us, f->L, s->n, s->q, force) != CLS_OK)
        status = clsi_graph_failed(f->g, error);
    if (status == CLS_OK && r->points->intervals->paired) {
        status = check_mass(f, error);
        if (status == CLS_OK) status = discrete_force(f, r->paired, force, error);
    }
    for (size_t k = 0; k < f->us->n && status == CLS_OK; k++) {
        r->only_force[k] = !r->paired[k] && is_only_force(f, k);
        r->all_nodes |= !r->paired[k] && !r->only_force[k];
    }
    if (status == CLS_OK && add_forces(f, force) != CLS_OK) status = clsi_no_memory(error);
    if (status == CLS_OK) status = cls_graph_status(f->g, error);
    return status == CLS_OK ? check_heat(f, error) : status;
}

cls_status clsi_position_compile(clsi_residual *r, cls_error *error) {
    const clsi_unknowns *us = r->unknowns;
    const cls_system *s = us->s;
    size_t n = s->n, K = us->n_symbols, I = 4 * n + 1 + K;
    cls_node *all = clsi_calloc(I + 2 * n, sizeof *all);
    if (!all) return clsi_no_memory(error);
    form f = {.us = us, .s = s, .g = s->g, .inputs = all, .y = all + I};
    memcpy(all, s->q, n * sizeof *all);
    memcpy(all + n, s->v, n * sizeof *all);
    all[2 * n] = s->t;
    memcpy(all + 2 * n + 1, us->symbols, K * sizeof *all);
    f.u = all + 2 * n + 1 + K;
    f.w = f.u + n;
    for (size_t k = 0; k < 2 * n; k++) f.u[k] = cls_fresh_symbol(s->g, "end'");
    cls_status status = describe(&f, r, error);
    if (status == CLS_OK) status = clsi_residual_compile(r, I, all, f.y, error);
    free(all);
    return status;
}
