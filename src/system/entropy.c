/* A total entropy that is a formula of the state: `total entropy = c*log(U) + R*log(x)`.
 *
 * For metriplectic systems whose states are not entropies but, say, internal energies (momenta
 * without a coordinate, with brackets where the reversible motion changes them). Then dS is not 1
 * but a gradient: what M does is written with symbols for it (dS'0, dS'1, ... over p and S), and a
 * scheme puts its discrete gradient of S there, so that the entropy rises by dS.M dS exactly.
 * L dS = 0 is checked: by form, where the variables in S have no brackets; else at states, and then
 * `coupled` tells the scheme to project L as well (scheme/discrete_gradient.c). */
#include "system/language.h"
#include <clausius/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

cls_status clsi_read_total_entropy(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    size_t N = s->n + s->m, where = c.at, name;
    clsi_expression e;
    if (s->has_entropy) return clsi_at(r, where, "a second total entropy");
    if (!clsi_optional_name(r, &c, &name) && !clsi_accept(r, &c, "="))
        return clsi_at(r, where, "expected `total entropy = formula`");
    cls_status status = clsi_read_expression(r, c.at, c.end, &e);
    if (status == CLS_OK)
        status = clsi_allow(r, &e, CLSI_COORDINATE | CLSI_MOMENTUM | CLSI_ENTROPY | CLSI_PARAMETER,
                            "a total entropy");
    if (status != CLS_OK) return status;
    r->entropy_where = where;
    s->raw.entropy = e.raw;
    s->bound.entropy = e.bound;
    s->dS = clsi_calloc(N, sizeof *s->dS);
    s->entropy_slope = clsi_calloc(2 * (s->nq + N), sizeof *s->entropy_slope);
    if (!s->dS || !s->entropy_slope) return clsi_no_memory(r->error);
    for (size_t a = 0; a < N; a++) {
        char text[32];
        snprintf(text, sizeof text, "dS'%zu", a);
        s->dS[a] = cls_symbol(s->g, text);
    }
    s->has_entropy = 1;
    for (int raw = 0; raw < 2 && status == CLS_OK; raw++) {
        cls_node S = raw ? e.raw : e.bound, *at = s->entropy_slope + (raw ? s->nq + N : 0);
        status = s->nq ? cls_gradient(s->g, S, s->nq, s->q, at) : CLS_OK;
        if (status == CLS_OK && s->n) status = cls_gradient(s->g, S, s->n, s->p, at + s->nq);
        if (status == CLS_OK && s->m) status = cls_gradient(s->g, S, s->m, s->S, at + s->nq + s->n);
    }
    return status == CLS_OK ? CLS_OK : clsi_no_memory(r->error);
}

/* ---- L dS = 0 ---- */

/* Row i of L dS as products: (nq + n) of them, with slopes `S` (nq + n). */
static void row_terms(const cls_system *s, size_t i, const cls_node *S, cls_node *out) {
    cls_graph *g = s->g;
    size_t nq = s->nq, n = s->n;
    const clsi_sparse *K = &s->bound.kinematics, *P = &s->bound.poisson;
    for (size_t k = 0; k < nq + n; k++) {
        cls_node entry = cls_constant(g, 0);
        if (i < nq && k >= nq) entry = clsi_sparse_at(g, K, i, k - nq);
        if (i >= nq && k < nq) entry = cls_neg(g, clsi_sparse_at(g, K, k, i - nq));
        if (i >= nq && k >= nq) entry = clsi_sparse_at(g, P, i - nq, k - nq);
        out[k] = cls_mul(g, entry, S[k]);
    }
}

/* Does every row vanish whatever the slopes are that are not zero? */
static int by_form(const cls_system *s, cls_node *S, cls_node *terms) {
    size_t count = s->nq + s->n;
    for (size_t k = 0; k < count; k++) {
        char text[32];
        snprintf(text, sizeof text, "slope'%zu", k);
        S[k] = s->entropy_slope[k];
        if (!cls_is_constant(s->g, S[k], 0)) S[k] = cls_symbol(s->g, text);
    }
    for (size_t i = 0; i < count; i++) {
        row_terms(s, i, S, terms);
        if (!clsi_is_identity(s->g, count, terms)) return 0;
    }
    return 1;
}

cls_status clsi_check_entropy(clsi_reader *r) {
    cls_system *s = r->s;
    size_t count = s->nq + s->n, where = r->entropy_where;
    cls_status status = CLS_OK;
    if (!s->has_entropy) return CLS_OK;
    if (s->form->kind != CLSI_FORM_PHASE)
        return clsi_at(r, where, "a total entropy goes with `energy` or `hamiltonian`");
    cls_node *S = clsi_calloc(2 * count + count * count + 1, sizeof *S), *terms = S + count;
    if (!S) return clsi_no_memory(r->error);
    s->coupled = !by_form(s, S, terms);
    if (s->coupled) {
        for (size_t i = 0; i < count; i++) row_terms(s, i, s->entropy_slope, terms + i * count);
        status = clsi_check_rows(r, where, "L dS = 0", count, count, terms);
    }
    free(S);
    return status;
}
