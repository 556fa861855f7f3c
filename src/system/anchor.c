/* anchor QUANTITY = VALUE at x = 0, v.x = 0, T1 = 1, T2 = 1
 *
 * What a person knows about a system at chosen states although its formula is unknown: momentum at
 * rest, a mass (39), a heat capacity (40), the value of the formula. Only learning uses it; a
 * simulation reads past it. A quantity is the formula by its name, p.x or S1 (of a thermal
 * lagrangian, where they are derivatives), or `d QUANTITY / d VARIABLE` of one of these.
 *
 * Read after all other statements, because the variables of the state follow from the formula:
 * (q, v, T) of a thermal lagrangian, (q, p, S) of a hamiltonian, (q, v, S) of a lagrangian. */
#include "system/language.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ANCHORS = 10000 };

static int state_kinds(const cls_system *s) {
    switch (s->formalism) {
    case CLS_HAMILTONIAN: return CLSI_COORDINATE | CLSI_MOMENTUM | CLSI_ENTROPY;
    case CLS_LAGRANGIAN: return CLSI_COORDINATE | CLSI_VELOCITY | CLSI_ENTROPY;
    default: return CLSI_COORDINATE | CLSI_VELOCITY | CLSI_TEMPERATURE;
    }
}

cls_node clsi_anchor_variable(const cls_system *s, size_t slot) {
    size_t heat = s->nq + s->n;
    if (slot < s->nq) return s->q[slot];
    if (slot < heat) return (s->formalism == CLS_HAMILTONIAN ? s->p : s->v)[slot - s->nq];
    return (s->formalism == CLS_THERMAL_LAGRANGIAN ? s->T : s->S)[slot - heat];
}

/* A variable of the state at the cursor, as its place among them. */
static cls_status read_variable(clsi_reader *r, clsi_cursor *c, size_t *slot) {
    const cls_system *s = r->s;
    char found[48], near[96], list[256];
    int kinds = state_kinds(s);
    size_t length = clsi_word_length(r, c, 1);
    const clsi_name *n = length ? clsi_lookup(r, r->clean + c->at, length, kinds) : NULL;
    if (!n)
        return clsi_at(r, c->at,
                       "expected a variable of the state of a %s, found %s%s; there are %s",
                       cls_formalism_name(s->formalism), clsi_found(r, c, found),
                       clsi_suggest(r, r->clean + c->at, length, kinds, near),
                       clsi_list_names(r, kinds, list));
    *slot = 0;
    while (clsi_anchor_variable(s, *slot) != n->node) ++*slot;
    c->at += length;
    return CLS_OK;
}

/* ---- the quantity ---- */

static cls_status no_quantity(clsi_reader *r, clsi_cursor *c) {
    const cls_system *s = r->s;
    char found[48], list[256];
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN;
    const char *name = s->formula_name;
    return clsi_at(r, c->at,
                   "expected a quantity, found %s; there are %s%s%s and d QUANTITY / d "
                   "VARIABLE%s",
                   clsi_found(r, c, found), name ? name : "", name && thermal ? ", " : "",
                   thermal ? clsi_list_names(r, CLSI_MOMENTUM | CLSI_ENTROPY, list) : "",
                   name ? "" : " (the formula has no name)");
}

static cls_status read_conjugate(clsi_reader *r, clsi_cursor *c, cls_node *of) {
    cls_system *s = r->s;
    size_t length = clsi_word_length(r, c, 1);
    const char *word = r->clean + c->at;
    const clsi_name *n = clsi_lookup(r, word, length, CLSI_MOMENTUM | CLSI_ENTROPY);
    if (length && s->formula_name && strlen(s->formula_name) == length &&
        memcmp(s->formula_name, word, length) == 0)
        *of = CLS_NO_NODE;
    else if (length && n && s->formalism == CLS_THERMAL_LAGRANGIAN)
        *of = n->node;
    else
        return no_quantity(r, c);
    c->at += length;
    return CLS_OK;
}

/* d QUANTITY / d VARIABLE; a formula may have the name d. */
static cls_status read_quantity(clsi_reader *r, clsi_cursor *c, clsi_anchor *a) {
    clsi_cursor ahead = *c;
    size_t slot;
    a->by = CLS_NO_NODE;
    if (!clsi_accept_word(r, &ahead, "d") || !clsi_word_length(r, &ahead, 1))
        return read_conjugate(r, c, &a->of);
    *c = ahead;
    cls_status status = read_conjugate(r, c, &a->of);
    if (status == CLS_OK) status = clsi_expect(r, c, "/", "the quantity");
    if (status != CLS_OK) return status;
    if (!clsi_accept_word(r, c, "d"))
        return clsi_at(r, c->at, "expected `d` and a variable after `/`, as in d p.x / d v.x");
    status = read_variable(r, c, &slot);
    if (status == CLS_OK) a->by = clsi_anchor_variable(r->s, slot);
    return status;
}

/* ---- states ---- */

static cls_status check_inside(clsi_reader *r, size_t where, size_t slot, double value) {
    const cls_system *s = r->s;
    const clsi_variable *v = slot < s->nq ? &s->coordinate[slot] : NULL;
    size_t heat = s->nq + s->n;
    if (slot >= heat)
        v = (s->formalism == CLS_THERMAL_LAGRANGIAN ? s->temperature : s->entropy) + slot - heat;
    if (!v || (value > v->low && value < v->high)) return CLS_OK;
    return clsi_at(r, where, "`%s` = %g is outside its domain (%g, %g)", v->name, value, v->low,
                   v->high);
}

/* x = 0, v.x = 0, ... up to the end of c, into `state`, where NAN means: not given yet. */
static cls_status read_state(clsi_reader *r, clsi_cursor c, double *state) {
    cls_system *s = r->s;
    unsigned char seen[600] = {0}; /* at most 200 coordinates and 200 entropies */
    do {
        size_t slot, where;
        clsi_skip_space(r, &c);
        where = c.at;
        cls_status status = read_variable(r, &c, &slot);
        if (status == CLS_OK && seen[slot]++)
            status = clsi_at(r, where, "`%s` is given twice",
                             cls_node_name(s->g, clsi_anchor_variable(s, slot)));
        if (status == CLS_OK) status = clsi_expect(r, &c, "=", "the variable");
        if (status != CLS_OK) return status;
        size_t end = clsi_item_end(r, &c);
        status = clsi_read_number(r, c.at, end, "a value of the state", &state[slot]);
        if (status == CLS_OK) status = check_inside(r, c.at, slot, state[slot]);
        if (status != CLS_OK) return status;
        c.at = end;
    } while (clsi_accept(r, &c, ","));
    for (size_t k = 0; k < s->nq + s->n + s->m; k++)
        if (isnan(state[k]))
            return clsi_at(r, c.at, "`%s` is missing: an anchor names the whole state",
                           cls_node_name(s->g, clsi_anchor_variable(s, k)));
    return clsi_expect_end(r, &c);
}

static cls_status add_anchor(clsi_reader *r, clsi_anchor a, const double *state) {
    cls_system *s = r->s;
    size_t size = s->nq + s->n + s->m;
    if (!clsi_grow(&s->anchors, &r->anchors_capacity, s->n_anchors + 1, sizeof *s->anchors) ||
        !(a.state = clsi_calloc(size, sizeof *a.state)))
        return clsi_no_memory(r->error);
    memcpy(a.state, state, size * sizeof *state);
    s->anchors[s->n_anchors++] = a;
    return CLS_OK;
}

/* One anchor per state; a state after `;` takes what it does not name from the one before. */
static cls_status read_states(clsi_reader *r, clsi_cursor c, const clsi_anchor *a) {
    size_t size = 2 * r->s->n + r->s->m;
    double *state = clsi_calloc(size, sizeof *state);
    if (!state) return clsi_no_memory(r->error);
    for (size_t k = 0; k < size; k++) state[k] = NAN;
    cls_status status = CLS_OK;
    for (size_t at = c.at; at <= c.end && status == CLS_OK;) {
        const char *stop = memchr(r->clean + at, ';', c.end - at);
        clsi_cursor one = {at, stop ? (size_t)(stop - r->clean) : c.end};
        status = read_state(r, one, state);
        if (status == CLS_OK && r->s->n_anchors == MAX_ANCHORS)
            status = clsi_at(r, at, "more than %d anchors", (int)MAX_ANCHORS);
        if (status == CLS_OK) status = add_anchor(r, *a, state);
        at = one.end + 1;
    }
    free(state);
    return status;
}

cls_status clsi_read_anchor(clsi_reader *r, clsi_cursor c) {
    clsi_anchor a = {0};
    cls_status status = read_quantity(r, &c, &a);
    if (status == CLS_OK) status = clsi_expect(r, &c, "=", "the quantity");
    if (status != CLS_OK) return status;
    size_t at = clsi_find_word(r, c.at, c.end, "at");
    clsi_cursor states = {at, c.end};
    if (!clsi_accept_word(r, &states, "at"))
        return clsi_at(r, c.end,
                       "expected `at` and a state after the value, as in `at %s = 0, ...`",
                       r->s->coordinate[0].name);
    status = clsi_read_number(r, c.at, at, "the value of an anchor", &a.value);
    return status == CLS_OK ? read_states(r, states, &a) : status;
}

/* ---- printing ---- */

void clsi_anchor_print(const cls_system *s, const clsi_anchor *a, clsi_text *out) {
    char number[32];
    const char *name = a->of == CLS_NO_NODE ? s->formula_name : cls_node_name(s->g, a->of);
    if (a->by == CLS_NO_NODE)
        clsi_text_append(out, name);
    else
        clsi_text_printf(out, "d %s / d %s", name, cls_node_name(s->g, a->by));
    clsi_format_double(a->value, number);
    clsi_text_printf(out, " = %s", number);
    for (size_t k = 0; k < s->nq + s->n + s->m; k++) {
        clsi_format_double(a->state[k], number);
        clsi_text_printf(out, "%s%s = %s", k ? ", " : " at ",
                         cls_node_name(s->g, clsi_anchor_variable(s, k)), number);
    }
}
