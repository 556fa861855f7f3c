/* Units of constants: those of the part over those of the term, where the file declares units. */
#include "base/locale.h"
#include "base/unit.h"
#include "explain/formulas.h"
#include <math.h>
#include <string.h>

typedef struct dimension {
    double power[CLSI_DIMENSIONS];
    int known;
} dimension;

enum { KG, M, SECOND, AMPERE, KELVIN };
static const dimension none = {.known = 1};
static const dimension joule = {.power = {1, 2, -2}, .known = 1};

static dimension of_text(const char *unit) {
    clsi_unit_meaning m;
    dimension d = {0};
    if (!unit || !clsi_unit_read(unit, &m)) return d;
    d.known = 1;
    for (int i = 0; i < CLSI_DIMENSIONS; i++) d.power[i] = m.power[i];
    return d;
}

/* a b^exponent */
static dimension times(dimension a, dimension b, double exponent) {
    for (int i = 0; i < CLSI_DIMENSIONS; i++) a.power[i] += exponent * b.power[i];
    a.known &= b.known;
    return a;
}

static dimension of_variable(const cls_system *s, cls_node x) {
    dimension unknown = {0}, second = none;
    second.power[SECOND] = 1;
    for (size_t i = 0; i < s->nq; i++)
        if (x == s->q[i]) return of_text(s->coordinate[i].unit);
    for (size_t i = 0; i < s->paired; i++) {
        dimension q = of_text(s->coordinate[i].unit);
        if (x == s->v[i]) return times(q, second, -1);
        if (x == s->p[i]) return times(times(joule, second, 1), q, -1);
    }
    for (size_t i = 0; i < s->m; i++) {
        dimension T = of_text(s->temperature[i].unit ? s->temperature[i].unit : "K");
        if (x == s->T[i]) return T;
        if (x == s->S[i]) return times(joule, T, -1);
    }
    for (size_t i = 0; i < s->n_parameters; i++)
        if (x == s->parameter_symbol[i])
            return s->parameter[i].unit ? of_text(s->parameter[i].unit) : none;
    return unknown;
}

static dimension of_node(const cls_system *s, cls_node x, int depth) {
    dimension unknown = {0};
    if (x == CLS_NO_NODE || depth > 50) return unknown;
    cls_node a = cls_node_arg_count(s->g, x) ? cls_node_arg(s->g, x, 0) : CLS_NO_NODE;
    cls_node b = cls_node_arg_count(s->g, x) > 1 ? cls_node_arg(s->g, x, 1) : CLS_NO_NODE;
    switch (cls_node_op(s->g, x)) {
    case CLS_OP_CONSTANT:
    case CLS_OP_FUNCTION: return none;
    case CLS_OP_SYMBOL:
        for (size_t i = 0; i < s->n_lets; i++)
            if (!strcmp(s->lets[i].name, cls_node_name(s->g, x)))
                return of_node(s, s->lets[i].node, depth + 1);
        return of_variable(s, x);
    case CLS_OP_MUL: return times(of_node(s, a, depth + 1), of_node(s, b, depth + 1), 1);
    case CLS_OP_DIV: return times(of_node(s, a, depth + 1), of_node(s, b, depth + 1), -1);
    case CLS_OP_POW:
        if (cls_node_op(s->g, b) != CLS_OP_CONSTANT) return none;
        return times(none, of_node(s, a, depth + 1), cls_node_value(s->g, b));
    case CLS_OP_ADD:
    case CLS_OP_SUB:
    case CLS_OP_NEG: return of_node(s, a, depth + 1);
    default: return unknown;
    }
}

static int is_set(const char *unit) {
    return unit && *unit && strcmp(unit, "1") != 0;
}

int clsi_has_unit(const cls_system *s, cls_node symbol) {
    dimension d = of_node(s, symbol, 0);
    double size = 0;
    for (int i = 0; i < CLSI_DIMENSIONS; i++) size += fabs(d.power[i]);
    return d.known && size > 0;
}

/* Does the file declare any? Without, nothing is said. */
static int has_units(const cls_system *s) {
    int any = 0;
    for (size_t i = 0; i < s->nq; i++) any |= is_set(s->coordinate[i].unit);
    return any;
}

static void print(const dimension *d, char out[96]) {
    static const char *const names[] = {"kg", "m", "s", "A", "K", "mol", "cd"};
    size_t n = 0;
    out[0] = '\0';
    for (int i = 0; i < CLSI_DIMENSIONS && n < 80; i++) {
        if (fabs(d->power[i]) < 1e-9) continue;
        n += (size_t)snprintf(out + n, 96 - n, "%s%s", n ? "*" : "", names[i]);
        if (d->power[i] != 1) n += (size_t)clsi_snprintf(out + n, 96 - n, "^%.4g", d->power[i]);
    }
}

void clsi_constant_unit(const cls_system *s, clsi_part_kind kind, cls_node term, char out[96]) {
    dimension part = joule, second = none, kelvin = none;
    second.power[SECOND] = 1;
    kelvin.power[KELVIN] = 1;
    out[0] = '\0';
    if (!has_units(s)) return;
    if (kind == CLSI_PART_FRICTION)
        part = times(times(joule, second, 1), of_text(s->coordinate[0].unit), -2);
    else if (kind == CLSI_PART_HEAT)
        part = times(times(joule, second, -1), kelvin, -1);
    else if (kind != CLSI_PART_FORMULA)
        return; /* a part of a formula: a factor or a summand, its unit is the user's */
    dimension d = times(part, of_node(s, term, 0), -1);
    if (d.known) print(&d, out);
}
