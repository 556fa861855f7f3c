/* Lie algebras: all brackets at once, {m_i, m_j} = -C_ij^k m_k.
 *
 *     algebra so(3) on mu1, mu2, mu3                    by name
 *     algebra se(3) on mu1, mu2, mu3, p1, p2, p3
 *     algebra [a, b] = c, [a, c] = -b                   by the commutators that are not zero
 *
 * The minus sign is that of body coordinates: mu' = mu x Omega (V-NOTS (5)). Commutators are linear
 * in the momenta, and Jacobi's identity is checked, O(d^5) for d momenta. */
#include "system/language.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIMENSION = 24 };

/* ---- by name ---- */

/* Structure constants that are not zero: [e_i, e_j] = sign e_k for i < j. */
typedef struct constant {
    unsigned char i, j, k;
    signed char sign;
} constant;

static const struct algebra {
    const char *name;
    size_t dimension, n_constants;
    constant constants[9];
} algebras[] = {
    {"so(3)", 3, 3, {{0, 1, 2, 1}, {1, 2, 0, 1}, {0, 2, 1, -1}}},
    /* rotations first, then translations */
    {"se(3)",
     6,
     9,
     {{0, 1, 2, 1},
      {1, 2, 0, 1},
      {0, 2, 1, -1},
      {0, 4, 5, 1},
      {0, 5, 4, -1},
      {1, 5, 3, 1},
      {1, 3, 5, -1},
      {2, 3, 4, 1},
      {2, 4, 3, -1}}},
};

static void set_brackets(cls_system *s, const struct algebra *a, const clsi_name *const *member) {
    for (size_t i = 0; i < a->n_constants; i++) {
        const constant *x = &a->constants[i];
        cls_node value = s->p[member[x->k]->index];
        if (x->sign > 0) value = cls_neg(s->g, value);
        clsi_set_bracket(s, &s->raw, member[x->i], member[x->j], value);
        clsi_set_bracket(s, &s->bound, member[x->i], member[x->j], value);
    }
}

void clsi_set_algebra(cls_system *s, const char *name, const clsi_name *const *momenta) {
    for (size_t i = 0; i < sizeof algebras / sizeof *algebras; i++)
        if (strcmp(algebras[i].name, name) == 0) set_brackets(s, &algebras[i], momenta);
}

static const struct algebra *find_algebra(const clsi_reader *r, clsi_cursor *c) {
    clsi_skip_space(r, c);
    for (size_t i = 0; i < sizeof algebras / sizeof *algebras; i++) {
        size_t length = strlen(algebras[i].name);
        if (c->end - c->at < length || memcmp(r->clean + c->at, algebras[i].name, length) != 0)
            continue;
        c->at += length;
        return &algebras[i];
    }
    return NULL;
}

static cls_status momentum_of(clsi_reader *r, clsi_cursor *c, const clsi_name **out) {
    clsi_skip_space(r, c);
    size_t where = c->at;
    cls_status status = clsi_read_member(r, c, out);
    if (status == CLS_OK && (*out)->kind != CLSI_MOMENTUM)
        status =
            clsi_at(r, where, "`%s` is a position: an algebra is one of momenta", (*out)->name);
    return status;
}

static cls_status read_named(clsi_reader *r, clsi_cursor c, const struct algebra *a) {
    const clsi_name *member[MAX_DIMENSION];
    if (!clsi_accept_word(r, &c, "on"))
        return clsi_at(r, c.at, "expected `on` and %zu momenta", a->dimension);
    for (size_t i = 0; i < a->dimension; i++) {
        cls_status status =
            i ? clsi_expect(r, &c, ",", "a momentum (the algebra needs more)") : CLS_OK;
        clsi_skip_space(r, &c);
        size_t where = c.at;
        if (status == CLS_OK) status = momentum_of(r, &c, &member[i]);
        for (size_t j = 0; j < i && status == CLS_OK; j++)
            if (member[j] == member[i])
                status = clsi_at(r, where, "`%s` stands here twice", member[i]->name);
        if (status != CLS_OK) return status;
    }
    set_brackets(r->s, a, member);
    return clsi_expect_end(r, &c);
}

/* ---- by commutators ---- */

typedef struct commutators {
    size_t d;
    cls_node p[MAX_DIMENSION];                             /* momenta that occur */
    double C[MAX_DIMENSION][MAX_DIMENSION][MAX_DIMENSION]; /* [p_i, p_j] = sum_k C_ijk p_k */
} commutators;

/* The place of a momentum in the list; MAX_DIMENSION when the list is full. */
static size_t place_of(commutators *x, cls_node p) {
    for (size_t i = 0; i < x->d; i++)
        if (x->p[i] == p) return i;
    if (x->d == MAX_DIMENSION) return MAX_DIMENSION;
    x->p[x->d] = p;
    return x->d++;
}

/* Coefficients of a linear expression; 0 when it is none. */
static int take_coefficients(const cls_system *s, commutators *x, size_t i, size_t j,
                             const clsi_expression *e) {
    cls_graph *g = s->g;
    cls_node rest = e->bound;
    for (size_t l = 0; l < s->n; l++) {
        cls_node slope;
        if (!cls_depends(g, e->bound, 1, &s->p[l])) continue;
        if (cls_gradient(g, e->bound, 1, &s->p[l], &slope) != CLS_OK) return 0;
        slope = cls_simplify(g, slope);
        size_t k = place_of(x, s->p[l]);
        if (k == MAX_DIMENSION || slope == CLS_NO_NODE || cls_node_op(g, slope) != CLS_OP_CONSTANT)
            return 0;
        x->C[i][j][k] = cls_node_value(g, slope);
        x->C[j][i][k] = -x->C[i][j][k];
        rest = cls_sub(g, rest, cls_mul(g, slope, s->p[l]));
    }
    return cls_is_constant(g, cls_simplify(g, rest), 0);
}

static cls_status read_commutator(clsi_reader *r, clsi_cursor *c, commutators *x) {
    cls_system *s = r->s;
    const clsi_name *a, *b;
    clsi_expression e;
    cls_status status = clsi_expect(r, c, "[", "`algebra` (or the comma)");
    clsi_skip_space(r, c);
    size_t where = c->at;
    if (status == CLS_OK) status = momentum_of(r, c, &a);
    if (status == CLS_OK) status = clsi_expect(r, c, ",", "the first momentum");
    if (status == CLS_OK) status = momentum_of(r, c, &b);
    if (status == CLS_OK) status = clsi_expect(r, c, "]", "the second momentum");
    if (status == CLS_OK) status = clsi_expect(r, c, "=", "the commutator");
    if (status == CLS_OK && a == b)
        status = clsi_at(r, where, "the commutator of `%s` with itself is zero", a->name);
    if (status != CLS_OK) return status;
    size_t end = clsi_item_end(r, c);
    status = clsi_read_expression(r, c->at, end, &e);
    if (status != CLS_OK) return status;
    size_t i = place_of(x, s->p[a->index]), j = place_of(x, s->p[b->index]);
    if (i == MAX_DIMENSION || j == MAX_DIMENSION)
        return clsi_at(r, where, "an algebra of more than %d momenta", (int)MAX_DIMENSION);
    if (!take_coefficients(s, x, i, j, &e))
        return clsi_at(r, e.begin,
                       "a commutator is a sum of momenta with constant factors; another bracket is "
                       "written `poisson {%s, %s} = ...`",
                       a->name, b->name);
    clsi_set_bracket(s, &s->raw, a, b, cls_neg(s->g, e.raw));
    clsi_set_bracket(s, &s->bound, a, b, cls_neg(s->g, e.bound));
    c->at = end;
    return CLS_OK;
}

/* Component m of [[i,j],k] + [[j,k],i] + [[k,i],j]. */
static double jacobi(const commutators *x, size_t i, size_t j, size_t k, size_t m) {
    double sum = 0;
    for (size_t l = 0; l < x->d; l++)
        sum += x->C[i][j][l] * x->C[l][k][m] + x->C[j][k][l] * x->C[l][i][m] +
               x->C[k][i][l] * x->C[l][j][m];
    return sum;
}

static cls_status check_jacobi(clsi_reader *r, size_t where, const commutators *x) {
    for (size_t i = 0; i < x->d; i++)
        for (size_t j = i + 1; j < x->d; j++)
            for (size_t k = j + 1; k < x->d; k++)
                for (size_t m = 0; m < x->d; m++)
                    if (fabs(jacobi(x, i, j, k, m)) > 1e-12)
                        return clsi_at(
                            r, where,
                            "Jacobi's identity fails for %s, %s and %s: this is no algebra",
                            cls_node_name(r->s->g, x->p[i]), cls_node_name(r->s->g, x->p[j]),
                            cls_node_name(r->s->g, x->p[k]));
    return CLS_OK;
}

static cls_status read_commutators(clsi_reader *r, clsi_cursor c) {
    commutators *x = clsi_calloc(1, sizeof *x);
    if (!x) return clsi_no_memory(r->error);
    size_t where = c.at;
    cls_status status;
    do {
        status = read_commutator(r, &c, x);
    } while (status == CLS_OK && clsi_accept(r, &c, ","));
    if (status == CLS_OK) status = clsi_expect_end(r, &c);
    if (status == CLS_OK) status = check_jacobi(r, where, x);
    free(x);
    return status;
}

cls_status clsi_read_algebra(clsi_reader *r, clsi_cursor c) {
    const struct algebra *a = find_algebra(r, &c);
    if (a) return read_named(r, c, a);
    if (c.at < c.end && r->clean[c.at] == '[') return read_commutators(r, c);
    return clsi_at(r, c.at,
                   "expected so(3) or se(3); another algebra is written with its commutators: "
                   "`algebra [a, b] = c, ...`");
}
