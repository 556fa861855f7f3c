/* Energies with less in them than a function of all inputs: two offers, taken unless they are the worse
 * ones in validation (logs.c).
 *
 * An energy H(q, p) of eight inputs has so many terms that their degree is low, and what the data do not
 * visit, fast here and slow there, is left to chance.
 *
 *   isotropic   no direction is special: of two or three places q and as many momenta p only the
 *               lengths |q|, |p| and the product q.p count, the first as log(q.q) where it stays away
 *               from zero: powers of a distance are smooth in it, and go on where the data end;
 *   split       K(p) + U(q, s), as most energies are: half of the inputs each, a far higher degree, and
 *               data that visit all of either; then with K quadratic, which goes on as it should where
 *               the data end. */
#include "base/base.h"
#include "learn/learn.h"
#include <math.h>
#include <stdlib.h>

enum { LEAST_INPUTS = 4 };

/* The inputs of an unknown hamiltonian as they are; 0: it is none that may be written otherwise. */
static int inputs_of(const clsi_unknowns *us, const clsi_unknown *u, cls_node *x) {
    const cls_system *s = us->s;
    clsi_learned plain = u->learned;
    if (s->formalism != CLS_HAMILTONIAN || s->ode || u->kind != CLSI_PART_FORMULA || u->spec ||
        u->again || plain.use)
        return 0;
    for (size_t i = 0; i < plain.d; i++) plain.half[i] = 1, plain.center[i] = 0;
    return clsi_learned_inputs(&plain, s, x) == CLS_OK;
}

/* What an input depends on: momenta, other states. */
static void look_at(const cls_system *s, cls_node x, int *moving, int *places, int *heat) {
    *moving = cls_depends(s->g, x, s->n, s->p);
    *places = cls_depends(s->g, x, s->nq, s->q);
    *heat = cls_depends(s->g, x, s->m, s->S) || cls_depends(s->g, x, s->m, s->T);
}

/* ---- isotropic ---- */

/* 2 or 3: so many places, then so many momenta, then what has neither. 0: not so. */
static size_t dimension_of(const clsi_unknowns *us, const clsi_unknown *u) {
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    size_t q = 0, p = 0, d = u->learned.d;
    if (!inputs_of(us, u, x)) return 0;
    for (size_t i = 0; i < d; i++) {
        int moving, places, heat;
        look_at(us->s, x[i], &moving, &places, &heat);
        if (moving + places + heat != 1 || (places && (p || q + p != i)) || (moving && q + p != i))
            return 0;
        q += (size_t)places;
        p += (size_t)moving;
    }
    return q == p && (q == 2 || q == 3) ? q : 0;
}

/* Does |q| stay away from zero? */
static cls_status is_away(const clsi_unknowns *us, const clsi_unknown *u, size_t n,
                          const clsi_points *p, const cls_node *z, int *away, cls_error *error) {
    static const double NEAR = 0.05;
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    double *q = clsi_calloc(n * p->n + 1, sizeof *q), low = INFINITY, high = 0;
    cls_program *program = NULL;
    cls_status status = q ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK && !inputs_of(us, u, x)) status = clsi_no_memory(error);
    if (status == CLS_OK)
        status = cls_program_create(us->s->g, clsi_point_rows(p), z, n, x, &program, error);
    if (status == CLS_OK) status = cls_program_run_many(program, p->n, p->n, p->z, q);
    for (size_t i = 0; i < p->n && status == CLS_OK; i++) {
        double square = 0;
        for (size_t k = 0; k < n; k++) square += q[k * p->n + i] * q[k * p->n + i];
        low = fmin(low, square);
        high = fmax(high, square);
    }
    *away = low > NEAR * NEAR * high;
    cls_program_free(&program);
    free(q);
    return status;
}

/* "(a)*(b) + ..." of inputs [first, first + n) and [other, other + n). */
static char *product_of(const clsi_learned *l, size_t n, size_t first, size_t other,
                        const char *before, const char *after) {
    clsi_text t = {0};
    clsi_text_append(&t, before);
    for (size_t k = 0; k < n; k++)
        clsi_text_printf(&t, "%s(%s)*(%s)", k ? " + " : "", l->input[first + k],
                         l->input[other + k]);
    clsi_text_append(&t, after);
    return clsi_text_take(&t);
}

cls_status clsi_isotropic_inputs(const clsi_unknowns *us, clsi_unknown *u, const clsi_points *p,
                                 const cls_node *z, int take, int *count, cls_error *error) {
    clsi_learned *l = &u->learned;
    size_t n = dimension_of(us, u), made = 0;
    int away = 0;
    if (!n) return CLS_OK;
    ++*count;
    cls_status status = take ? is_away(us, u, n, p, z, &away, error) : CLS_OK;
    if (status != CLS_OK || !take) return status;
    char *input[3] = {product_of(l, n, 0, 0, away ? "log(" : "", away ? ")" : ""),
                      product_of(l, n, n, n, "", ""), NULL};
    if (take == 1) input[2] = product_of(l, n, 0, n, "", "");
    for (size_t k = 0; k < 2 * n; k++) free(l->input[k]), l->input[k] = NULL;
    while (made < 3 && input[made]) l->input[made] = input[made], made++;
    if (made < (take == 1 ? 3 : 2)) status = clsi_no_memory(error);
    for (size_t k = 2 * n; k < l->d; k++) {
        l->input[made + k - 2 * n] = l->input[k];
        l->input[k] = NULL;
    }
    l->d += made - 2 * n;
    u->even = 0;
    return status;
}

/* ---- split ---- */

size_t clsi_split_inputs(const clsi_unknowns *us, const clsi_unknown *u, size_t *first) {
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    size_t count = 0, d = u->learned.d;
    if (!inputs_of(us, u, x) || (d < LEAST_INPUTS && us->choices.isotropic < 2)) return 0;
    for (size_t i = 0; i < d; i++) {
        int moving, places, heat;
        look_at(us->s, x[i], &moving, &places, &heat);
        if (moving && (places || heat || (count && *first + count != i))) return 0;
        if (moving && !count) *first = i;
        count += (size_t)moving;
    }
    return count < d ? count : 0;
}
