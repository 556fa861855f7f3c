/* Poisson brackets: how momenta move when they are not those of coordinates.
 *
 *     poisson {mu1, mu2} = -mu3          one bracket of two momenta (skew by form), or of a
 *     poisson {x, p} = cos(theta)        position with a momentum
 *     algebra so(3) on mu1, mu2, mu3     all brackets of a Lie algebra, from its structure
 *     algebra se(3) on mu1, mu2, mu3, p1, p2, p3      constants: {m_i, m_j} = -C_ij^k m_k
 *
 * The minus sign is that of body coordinates: mu' = mu x Omega (V-NOTS (5)). Another algebra is
 * written bracket by bracket. Energy is kept whatever the brackets are, because they are skew; that
 * they satisfy Jacobi's identity is for the author of the file to know. Cost: none after reading.
 */
#include "system/language.h"
#include <string.h>

/* ---- single brackets ---- */

static cls_status read_member(clsi_reader *r, clsi_cursor *c, const clsi_name **out) {
    char found[48], near[96], list[256];
    int kinds = CLSI_COORDINATE | CLSI_MOMENTUM;
    size_t length = clsi_word_length(r, c, 1);
    *out = length ? clsi_lookup(r, r->clean + c->at, length, kinds) : NULL;
    if (!*out)
        return clsi_at(r, c->at, "expected a position or a momentum, found %s%s; there are %s",
                       clsi_found(r, c, found),
                       clsi_suggest(r, r->clean + c->at, length, kinds, near),
                       clsi_list_names(r, kinds, list));
    c->at += length;
    return CLS_OK;
}

static void set_bracket(cls_system *s, clsi_physics *ph, const clsi_name *a, const clsi_name *b,
                        cls_node value) {
    cls_node minus = cls_neg(s->g, value);
    if (a->kind == CLSI_COORDINATE) {
        ph->kinematics[a->index * s->n + b->index] = value;
    } else if (b->kind == CLSI_COORDINATE) {
        ph->kinematics[b->index * s->n + a->index] = minus;
    } else {
        ph->poisson[a->index * s->n + b->index] = value;
        ph->poisson[b->index * s->n + a->index] = minus;
    }
    s->canonical = 0;
}

cls_status clsi_read_poisson(clsi_reader *r, clsi_cursor c) {
    const clsi_name *a, *b;
    clsi_expression e;
    cls_status status = clsi_expect(r, &c, "{", "`poisson`");
    clsi_skip_space(r, &c);
    size_t where = c.at;
    if (status == CLS_OK) status = read_member(r, &c, &a);
    if (status == CLS_OK) status = clsi_expect(r, &c, ",", "the first variable");
    if (status == CLS_OK) status = read_member(r, &c, &b);
    if (status == CLS_OK) status = clsi_expect(r, &c, "}", "the second variable");
    if (status == CLS_OK) status = clsi_expect(r, &c, "=", "the bracket");
    if (status == CLS_OK && a == b)
        status = clsi_at(r, where, "the bracket of `%s` with itself is zero", a->name);
    if (status == CLS_OK && a->kind == CLSI_COORDINATE && b->kind == CLSI_COORDINATE)
        status = clsi_at(r, where,
                         "positions have no bracket with each other: declare `%s` as a momentum if "
                         "it has one",
                         a->name);
    if (status == CLS_OK) status = clsi_read_expression(r, c.at, c.end, &e);
    if (status == CLS_OK)
        status = clsi_allow(r, &e, CLSI_COORDINATE | CLSI_MOMENTUM | CLSI_ENTROPY | CLSI_PARAMETER,
                            "a bracket");
    if (status != CLS_OK) return status;
    set_bracket(r->s, &r->s->raw, a, b, e.raw);
    set_bracket(r->s, &r->s->bound, a, b, e.bound);
    return CLS_OK;
}

/* ---- algebras ---- */

enum { MAX_DIMENSION = 6 };

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

cls_status clsi_read_algebra(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    const clsi_name *member[MAX_DIMENSION];
    const struct algebra *a = find_algebra(r, &c);
    if (!a)
        return clsi_at(r, c.at,
                       "expected so(3) or se(3); another algebra is written bracket by bracket: "
                       "`poisson {a, b} = ...`");
    if (!clsi_accept_word(r, &c, "on"))
        return clsi_at(r, c.at, "expected `on` and %zu momenta", a->dimension);
    for (size_t i = 0; i < a->dimension; i++) {
        cls_status status =
            i ? clsi_expect(r, &c, ",", "a momentum (the algebra needs more)") : CLS_OK;
        clsi_skip_space(r, &c);
        size_t where = c.at;
        if (status == CLS_OK) status = read_member(r, &c, &member[i]);
        if (status == CLS_OK && member[i]->kind != CLSI_MOMENTUM)
            status = clsi_at(r, where, "`%s` is a position: an algebra is one of momenta",
                             member[i]->name);
        for (size_t j = 0; j < i && status == CLS_OK; j++)
            if (member[j] == member[i])
                status = clsi_at(r, where, "`%s` stands here twice", member[i]->name);
        if (status != CLS_OK) return status;
    }
    for (size_t i = 0; i < a->n_constants; i++) {
        const constant *x = &a->constants[i];
        cls_node value = s->p[member[x->k]->index];
        if (x->sign > 0) value = cls_neg(s->g, value);
        set_bracket(s, &s->raw, member[x->i], member[x->j], value);
        set_bracket(s, &s->bound, member[x->i], member[x->j], value);
    }
    return clsi_expect_end(r, &c);
}
