/* Matter that moves and reacts: diffusion, reaction, matter source.
 *
 *   mole N with potential mu   a state N > 0 whose effort is mu = dE/dN (declare.c)
 *   diffusion N1 <-> N2 on T   flow J = k (mu1 - mu2) from 1 to 2; its power J (mu1 - mu2) heats T
 *   reaction A + 2 B <-> C     rate r = k (exp(Af/(R T)) - exp(Ab/(R T))) with the affinities
 *                              Af = mu_A + 2 mu_B, Ab = mu_C of both sides (mass action); r (Af -
 *                              Ab) heats T
 *
 * Both are frictions on amounts: what one loses the other gains by the same term, so that atoms are
 * kept to round-off, and the power is not negative for k >= 0 because a flow has the sign of what
 * drives it. Schemes put discrete potentials in the place of mu and need nothing else. A potential
 * in parentheses in the place of N2 is a reservoir's: J mu1 is counted as work, the rest as heat. */
#include "system/language.h"
#include <string.h>

/* [NAME] in front of an amount: a word that names nothing yet. */
static size_t leading_name(const clsi_reader *r, clsi_cursor *c, size_t *where) {
    clsi_cursor ahead = *c;
    size_t length = clsi_word_length(r, &ahead, 0);
    *where = ahead.at;
    const clsi_name *n = length ? clsi_lookup(r, r->clean + ahead.at, length, ~CLSI_LABEL) : NULL;
    if (!length || n) return 0;
    clsi_cursor behind = {ahead.at + length, c->end};
    if (clsi_accept(r, &behind, "<->") || clsi_accept(r, &behind, "+")) return 0; /* misspelt */
    c->at = ahead.at + length;
    return length;
}

/* Amounts; electrons that a reaction moves are internal variables, whose potential has any sign. */
static int is_amount(const cls_system *s, size_t j) {
    return s->momentum[j].role != CLSI_MOTION;
}

static cls_status read_mole(clsi_reader *r, clsi_cursor *c, const char *after, size_t *index) {
    char found[48], near[96];
    const cls_system *s = r->s;
    size_t n = clsi_word_length(r, c, 0);
    const clsi_name *name = n ? clsi_lookup(r, r->clean + c->at, n, CLSI_MOMENTUM) : NULL;
    if (!name || !is_amount(s, name->index)) {
        clsi_text list = {0};
        for (size_t j = 0; j < s->n && list.length < 200; j++)
            if (is_amount(s, j))
                clsi_text_printf(&list, "%s%s", list.length ? ", " : "", s->momentum[j].name);
        cls_status status =
            list.length
                ? clsi_at(r, c->at,
                          "expected an amount of matter after %s, found %s%s; there are %s", after,
                          clsi_found(r, c, found),
                          clsi_suggest(r, r->clean + c->at, n, CLSI_MOMENTUM, near), list.data)
                : clsi_at(r, c->at, "there is no matter: declare it with `mole N`");
        clsi_text_clear(&list);
        return status;
    }
    c->at += n;
    *index = name->index;
    return CLS_OK;
}

/* on T: where the heat goes, then the colon. */
static cls_status read_on(clsi_reader *r, clsi_cursor *c, size_t *place) {
    char found[48];
    if (!clsi_accept_word(r, c, "on"))
        return clsi_at(r, c->at, "expected `on` and the temperature that takes the heat, found %s",
                       clsi_found(r, c, found));
    cls_status status = clsi_read_heat_place(r, c, "`on`", place);
    if (status == CLS_OK && *place >= r->s->m) r->s->has_heat = 1;
    return status == CLS_OK ? clsi_expect(r, c, ":", "the temperature") : status;
}

/* The coefficient behind the colon: a formula, or something learned that is positive. */
static cls_status read_coefficient(clsi_reader *r, clsi_cursor c, size_t where, size_t length,
                                   clsi_expression *e) {
    cls_system *s = r->s;
    *e = (clsi_expression){.raw = cls_constant(s->g, 0), .bound = cls_constant(s->g, 0)};
    cls_status status = clsi_name_part(r, where, length);
    if (status == CLS_OK)
        status = clsi_is_unknown(r, c) ? clsi_read_unknown(r, c, where, length)
                                       : clsi_read_expression(r, c.at, c.end, e);
    clsi_replacement *other =
        status == CLS_OK ? clsi_replacement_of(r, r->clean + where, length) : NULL;
    if (other) clsi_mark_learned(r, e->raw);
    if (other) e->raw = e->bound = other->node(other->context, s, CLSI_PART_HEAT, 0);
    return status;
}

static void add_flow(cls_system *s, clsi_physics *to, size_t place, size_t j, cls_node flow) {
    clsi_sparse_add(s->g, &to->friction, place, j, flow);
}

/* (formula): the potential of a reservoir of matter. */
static cls_status read_given(clsi_reader *r, clsi_cursor *c, clsi_expression *e) {
    size_t begin = c->at, depth = 1;
    while (c->at < c->end && depth) {
        depth += r->clean[c->at] == '(';
        depth -= r->clean[c->at++] == ')';
    }
    if (depth) return clsi_at(r, begin, "the potential has no closing `)`");
    cls_status status = clsi_read_expression(r, begin, c->at - 1, e);
    if (status != CLS_OK) return status;
    return clsi_allow(r, e, CLSI_PARAMETER | CLSI_TIME | CLSI_INPUT,
                      "the potential of a reservoir of matter");
}

cls_status clsi_read_diffusion(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    cls_graph *g = s->g;
    size_t i = 0, j = 0, place = 0, where, length = leading_name(r, &c, &where);
    clsi_expression k, given;
    cls_status status = read_mole(r, &c, "`diffusion`", &i);
    if (status == CLS_OK) status = clsi_expect(r, &c, "<->", "the amount");
    int open = status == CLS_OK && clsi_accept(r, &c, "(");
    if (status == CLS_OK) status = open ? read_given(r, &c, &given) : read_mole(r, &c, "`<->`", &j);
    if (status == CLS_OK && !open && i == j)
        status =
            clsi_at(r, c.at, "matter diffuses between two different places, this is `%s` twice",
                    s->momentum[i].name);
    if (status == CLS_OK) status = read_on(r, &c, &place);
    if (status == CLS_OK && open && place >= s->m)
        status = clsi_at(r, where,
                         "matter from a reservoir needs an entropy of the system that "
                         "takes the heat: `diffusion N <-> (mu) on T: k`");
    if (status == CLS_OK) status = read_coefficient(r, c, where, length, &k);
    if (status != CLS_OK) return status;
    clsi_physics *const both[] = {&s->raw, &s->bound};
    const cls_node coefficient[] = {k.raw, k.bound};
    for (int b = 0; b < 2; b++) {
        cls_node other = open ? (b ? given.bound : given.raw) : s->v[j];
        cls_node drive = cls_sub(g, s->v[i], other), flow = cls_mul(g, coefficient[b], drive);
        if (open) {
            both[b]->force[i] = cls_sub(g, both[b]->force[i], flow);
            both[b]->source[place] = cls_add(g, both[b]->source[place], cls_mul(g, flow, drive));
            s->has_work = s->has_heat = 1;
        } else {
            add_flow(s, both[b], place, i, cls_neg(g, flow));
            add_flow(s, both[b], place, j, flow);
        }
    }
    return CLS_OK;
}

/* ---- reactions ---- */

enum { MOST = 16 }; /* substances on a side */

typedef struct side {
    size_t n, mole[MOST];
    double count[MOST];
} side;

/* A + 2 B + 3*C */
static cls_status read_side(clsi_reader *r, clsi_cursor *c, const char *after, side *out) {
    cls_status status = CLS_OK;
    out->n = 0;
    do {
        size_t digits = 0;
        clsi_skip_space(r, c);
        if (out->n == MOST)
            return clsi_at(r, c->at, "more than %d substances on a side", (int)MOST);
        while (c->at + digits < c->end && strchr("0123456789.", r->clean[c->at + digits])) digits++;
        out->count[out->n] = 1;
        if (digits)
            status =
                clsi_read_number(r, c->at, c->at + digits, "how many react", &out->count[out->n]);
        if (status == CLS_OK && !(out->count[out->n] > 0))
            status = clsi_at(r, c->at, "as many as react must be positive");
        c->at += digits;
        if (digits) clsi_accept(r, c, "*");
        if (status == CLS_OK) status = read_mole(r, c, after, &out->mole[out->n]);
        for (size_t k = 0; k < out->n && status == CLS_OK; k++)
            if (out->mole[k] == out->mole[out->n])
                status =
                    clsi_at(r, c->at, "`%s` twice on one side: write `2 %s`",
                            r->s->momentum[out->mole[k]].name, r->s->momentum[out->mole[k]].name);
        if (status != CLS_OK) return status;
        out->n++;
        after = "`+`";
    } while (clsi_accept(r, c, "+"));
    return CLS_OK;
}

static cls_node affinity(const cls_system *s, const side *x) {
    cls_node sum = cls_constant(s->g, 0);
    for (size_t k = 0; k < x->n; k++)
        sum = cls_add(s->g, sum, cls_mul(s->g, cls_constant(s->g, x->count[k]), s->v[x->mole[k]]));
    return sum;
}

static void add_side(cls_system *s, clsi_physics *to, size_t place, const side *x, double sign,
                     cls_node rate) {
    for (size_t k = 0; k < x->n; k++)
        add_flow(s, to, place, x->mole[k],
                 cls_mul(s->g, cls_constant(s->g, sign * x->count[k]), rate));
}

cls_status clsi_read_reaction(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    cls_graph *g = s->g;
    size_t place = 0, where, length = leading_name(r, &c, &where);
    side from, to;
    clsi_expression k;
    const clsi_name *gas = clsi_lookup(r, "R", 1, CLSI_PARAMETER);
    cls_status status = read_side(r, &c, "`reaction`", &from);
    if (status == CLS_OK) status = clsi_expect(r, &c, "<->", "the substances");
    if (status == CLS_OK) status = read_side(r, &c, "`<->`", &to);
    if (status == CLS_OK) status = read_on(r, &c, &place);
    if (status == CLS_OK && !gas)
        status = clsi_at(r, where,
                         "mass action needs the gas constant in the file's units: declare "
                         "`parameter R = 8.314462618 [J/(mol K)]`, or `R = 1`");
    if (status == CLS_OK) status = read_coefficient(r, c, where, length, &k);
    if (status != CLS_OK) return status;
    clsi_physics *const both[] = {&s->raw, &s->bound};
    for (int b = 0; b < 2; b++) {
        cls_node constant = b ? r->parameter_constant[gas->index] : gas->node;
        cls_node T = place < s->m ? s->T[place] : both[b]->reservoir[place - s->m];
        cls_node unit = cls_mul(g, constant, T);
        cls_node ahead = cls_apply(g, CLS_FN_EXP, cls_div(g, affinity(s, &from), unit));
        cls_node back = cls_apply(g, CLS_FN_EXP, cls_div(g, affinity(s, &to), unit));
        cls_node rate = cls_mul(g, b ? k.bound : k.raw, cls_sub(g, ahead, back));
        add_side(s, both[b], place, &from, -1, rate);
        add_side(s, both[b], place, &to, 1, rate);
    }
    return CLS_OK;
}

/* ---- matter source [NAME] on N: rate ---- */

cls_status clsi_read_matter_source(clsi_reader *r, clsi_cursor c) {
    cls_system *s = r->s;
    size_t j = 0, where, length;
    cls_status status = clsi_read_on(r, &c, "`on` and what is fed: `matter source feed on N: 0.1`",
                                     &where, &length);
    if (status == CLS_OK) status = read_mole(r, &c, "`on`", &j);
    if (status == CLS_OK) status = clsi_expect(r, &c, ":", "the amount");
    if (status == CLS_OK) status = clsi_name_label(r, where, length, "a matter source");
    clsi_expression e;
    if (status == CLS_OK) status = clsi_read_expression(r, c.at, c.end, &e);
    if (status != CLS_OK) return status;
    s->raw.force[j] = cls_add(s->g, s->raw.force[j], e.raw);
    s->bound.force[j] = cls_add(s->g, s->bound.force[j], e.bound);
    s->has_work = 1;
    return CLS_OK;
}
