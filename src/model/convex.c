/* Is a learned part by form what `convex` promises?
 *
 * A convex field (src/field/convex.c) is convex in its even, convex and thermal inputs, increasing in
 * the thermal ones, not decreasing and convex in its monotone ones, anything in its free ones. What an
 * energy must be convex in depends on how it is written:
 *
 *     thermal lagrangian   v and T         inputs affine in them, or T (log(T/T0) - 1)
 *     lagrangian           v               affine in it, free of S
 *     hamiltonian          p and S         affine in them; S with numbers that are not negative in
 *                                          front, in a thermal input: then T = dH/dS is positive
 *
 * Composed with log T it would not be convex. This is looked at on paper, when a part is to be
 * learned and when a model is read: a file whose inputs do not have the form is not a model. */
#include "base/base.h"
#include "base/locale.h"
#include "model/model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The variables that an energy bends in, and those that its inputs may not have. */
typedef struct bending {
    size_t m;
    const cls_node *moving, *heat;  /* (n), (m) */
    const cls_node *other, *hidden; /* (n), (s->m) */
} bending;

static bending bending_of(const cls_system *s) {
    switch (s->formalism) {
    case CLS_HAMILTONIAN: return (bending){s->m, s->p, s->S, s->v, s->T};
    case CLS_THERMAL_LAGRANGIAN: return (bending){s->m, s->v, s->T, s->p, s->S};
    default: return (bending){0, s->v, s->S, s->p, s->T};
    }
}

/* x at rest. */
static int vanishes_at_rest(const cls_system *s, const cls_node *moving, cls_node x) {
    cls_node zero = cls_constant(s->g, 0);
    for (size_t i = 0; i < s->n; i++)
        if (cls_substitute(s->g, 1, &x, 1, &moving[i], &zero, &x) != CLS_OK) return 0;
    return cls_is_constant(s->g, cls_simplify(s->g, x), 0);
}

clsi_bend clsi_input_bend(const cls_system *s, cls_node x) {
    cls_graph *g = s->g;
    bending b = bending_of(s);
    int moves = 0, warms = 0, rises = 1;
    for (size_t i = 0; i < s->n + b.m; i++) {
        cls_node slope = cls_derivative(g, x, i < s->n ? b.moving[i] : b.heat[i - s->n]);
        if (cls_is_constant(g, slope, 0)) continue;
        if (cls_depends(g, slope, s->n, b.moving) || cls_depends(g, slope, b.m, b.heat))
            return CLSI_BEND_OTHER;
        *(i < s->n ? &moves : &warms) = 1;
        if (i >= s->n)
            rises &= cls_node_op(g, slope) == CLS_OP_CONSTANT && cls_node_value(g, slope) > 0;
    }
    if (cls_depends(g, x, s->n, b.other) || cls_depends(g, x, s->m, b.hidden))
        return CLSI_BEND_OTHER;
    if (!b.m && cls_depends(g, x, s->m, s->S)) return CLSI_BEND_OTHER;
    if (warms && s->formalism == CLS_HAMILTONIAN) return rises ? CLSI_BEND_THERMAL : CLSI_BEND_COLD;
    if (moves && !warms && vanishes_at_rest(s, b.moving, x)) return CLSI_BEND_EVEN;
    return moves || warms ? CLSI_BEND_AFFINE : CLSI_BEND_NONE;
}

char *clsi_heat_input(const char *temperature, double reference) {
    clsi_text text = {0};
    clsi_text_printf(&text, "%s*(log(%s/%.3g)-1)", temperature, temperature, reference);
    return clsi_text_take(&text);
}

/* Is it such a text, for a temperature of the system? */
static int is_heat(const cls_system *s, const char *input) {
    for (size_t i = 0; i < s->m; i++) {
        clsi_text begin = {0};
        char *end;
        clsi_text_printf(&begin, "%s*(log(%s/", s->temperature[i].name, s->temperature[i].name);
        int same = !begin.failed && strncmp(input, begin.data, begin.length) == 0;
        const char *number = input + (same ? begin.length : 0);
        clsi_text_clear(&begin);
        if (!same) continue;
        double reference = clsi_strtod(number, &end);
        return reference > 0 && isfinite(reference) && strcmp(end, ")-1)") == 0;
    }
    return 0;
}

static const char *not_convex_at(const clsi_learned *l, const cls_system *s, const size_t *count) {
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    if (clsi_learned_inputs(l, s, x) != CLS_OK) return "its inputs cannot be read";
    for (size_t kind = 0, i = 0; kind < CLSI_CONVEX_INPUTS; kind++)
        for (size_t end = i + count[kind]; i < end; i++) {
            clsi_bend bend = clsi_input_bend(s, x[i]);
            int straight = bend == CLSI_BEND_NONE || bend == CLSI_BEND_EVEN;
            int good = kind == 0   ? bend == CLSI_BEND_NONE
                       : kind == 1 ? bend == CLSI_BEND_EVEN
                       : kind == 2 ? straight || bend == CLSI_BEND_AFFINE
                       : kind == 3 ? bend == CLSI_BEND_THERMAL
                                   : is_heat(s, l->input[i]);
            if (!good) return "it is not convex by form, because of what it is a function of";
        }
    return NULL;
}

const char *clsi_learned_not_convex(const clsi_learned *l, const cls_system *s) {
    size_t count[CLSI_CONVEX_INPUTS], turn = 0;
    if (!clsi_field_convex_inputs(l->field, count)) return NULL;
    if (!(l->scale > 0)) return "it is not convex by form: its scale is negative";
    const char *wrong = NULL;
    clsi_learned at = *l; /* borrowed */
    while (!wrong && clsi_learned_turn(&at, s, &turn)) wrong = not_convex_at(&at, s, count);
    return wrong;
}

/* What the field is in inputs [begin, end): nothing where there are none. */
static void tell(const clsi_learned *l, const char *what, size_t begin, size_t end, clsi_text *t) {
    for (size_t i = begin; i < end; i++)
        clsi_text_printf(t, "%s%s", i == begin ? what : ", ", l->input[i]);
}

void clsi_learned_tell_convex(const clsi_learned *l, clsi_text *t) {
    size_t count[CLSI_CONVEX_INPUTS];
    if (!clsi_field_convex_inputs(l->field, count)) return;
    size_t even = count[0], convex = even + count[1], thermal = convex + count[2],
           end = thermal + count[3];
    tell(l, ", convex in ", even, end, t);
    tell(l, ", even in ", even, convex, t);
    tell(l, ", increasing in ", thermal, end, t);
}
