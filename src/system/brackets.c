/* Poisson brackets: how momenta move when they are not those of coordinates.
 *
 *     poisson {mu1, mu2} = -mu3          one bracket of two momenta (skew by form), or of a
 *     poisson {x, p} = cos(theta)        position with a momentum
 *
 * Energy is kept whatever the brackets are, because they are skew; that they satisfy Jacobi's
 * identity is for the author of the file to know. Cost: none after reading. */
#include "system/language.h"

cls_status clsi_read_member(clsi_reader *r, clsi_cursor *c, const clsi_name **out) {
    char found[48], near[96], list[256];
    int kinds = CLSI_COORDINATE | CLSI_MOMENTUM;
    size_t length = clsi_word_length(r, c, 1);
    *out = length ? clsi_lookup(r, r->clean + c->at, length, kinds) : NULL;
    if (!*out && length &&
        clsi_lookup(r, r->clean + c->at, length, CLSI_ENTROPY | CLSI_TEMPERATURE))
        return clsi_at(r, c->at,
                       "an entropy has no brackets: reversible motion makes no entropy (L dS = 0)");
    if (!*out)
        return clsi_at(r, c->at, "expected a position or a momentum, found %s%s; there are %s",
                       clsi_found(r, c, found),
                       clsi_suggest(r, r->clean + c->at, length, kinds, near),
                       clsi_list_names(r, kinds, list));
    c->at += length;
    return CLS_OK;
}

void clsi_set_bracket(cls_system *s, clsi_physics *ph, const clsi_name *a, const clsi_name *b,
                      cls_node value) {
    cls_node minus = cls_neg(s->g, value);
    if (a->kind == CLSI_COORDINATE) {
        clsi_sparse_set(s->g, &ph->kinematics, a->index, b->index, value);
    } else if (b->kind == CLSI_COORDINATE) {
        clsi_sparse_set(s->g, &ph->kinematics, b->index, a->index, minus);
    } else {
        clsi_sparse_set(s->g, &ph->poisson, a->index, b->index, value);
        clsi_sparse_set(s->g, &ph->poisson, b->index, a->index, minus);
    }
    s->canonical = 0;
}

/* {b, a} is minus {a, b}: a second value would take the place of the first. On a ring of two elements the brackets of
 * neighbours, {u[1], u[2]} and {u[2], u[1]}, would be two. */
static cls_status check_new(clsi_reader *r, const clsi_name *a, const clsi_name *b, size_t where) {
    const clsi_physics *ph = &r->s->raw;
    const clsi_name *row = b->kind == CLSI_COORDINATE ? b : a, *column = row == a ? b : a;
    const clsi_sparse *t = row->kind == CLSI_COORDINATE ? &ph->kinematics : &ph->poisson;
    if (!clsi_sparse_has(t, row->index, column->index)) return CLS_OK;
    return clsi_at(r, where,
                   "the bracket of `%s` and `%s` is given already, and that of `%s` and `%s` is "
                   "minus that; a ring has a bracket of neighbours from three elements on",
                   a->name, b->name, b->name, a->name);
}

cls_status clsi_read_poisson(clsi_reader *r, clsi_cursor c) {
    const clsi_name *a, *b;
    clsi_expression e;
    cls_status status = clsi_expect(r, &c, "{", "`poisson`");
    clsi_skip_space(r, &c);
    size_t where = c.at;
    if (status == CLS_OK) status = clsi_read_member(r, &c, &a);
    if (status == CLS_OK) status = clsi_expect(r, &c, ",", "the first variable");
    if (status == CLS_OK) status = clsi_read_member(r, &c, &b);
    if (status == CLS_OK) status = clsi_expect(r, &c, "}", "the second variable");
    if (status == CLS_OK) status = clsi_expect(r, &c, "=", "the bracket");
    if (status == CLS_OK && a->kind == b->kind && a->index == b->index)
        status = clsi_at(r, where, "the bracket of `%s` with itself is zero", a->name);
    if (status == CLS_OK && a->kind == CLSI_COORDINATE && b->kind == CLSI_COORDINATE)
        status = clsi_at(r, where,
                         "positions have no bracket with each other: declare `%s` as a momentum if "
                         "it has one",
                         a->name);
    if (status == CLS_OK) status = check_new(r, a, b, where);
    if (status == CLS_OK) status = clsi_read_expression(r, c.at, c.end, &e);
    if (status == CLS_OK)
        status = clsi_allow(r, &e, CLSI_COORDINATE | CLSI_MOMENTUM | CLSI_ENTROPY | CLSI_PARAMETER,
                            "a bracket");
    if (status != CLS_OK) return status;
    clsi_set_bracket(r->s, &r->s->raw, a, b, e.raw);
    clsi_set_bracket(r->s, &r->s->bound, a, b, e.bound);
    return CLS_OK;
}
