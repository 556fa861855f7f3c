/* Is a learned part convex in velocities and temperatures by form?
 *
 * A convex field (src/field/convex.c) is convex in its even and bent inputs, not decreasing and
 * convex in its rising ones, anything in its free ones. Composed with inputs that are affine in
 * (v, T), free of them, or T (log(T/T0) - 1), it is convex in (v, T); composed with log T it would
 * not be. This is looked at on paper, when a part is to be learned and when a model is read: a file
 * whose inputs do not have the form is not a model. */
#include "base/base.h"
#include "model/model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

clsi_bend clsi_input_bend(const cls_system *s, cls_node x) {
    cls_graph *g = s->g;
    size_t n = s->n + s->m;
    clsi_bend bend = CLSI_BEND_NONE;
    for (size_t i = 0; i < n; i++) {
        cls_node first = cls_derivative(g, x, i < s->n ? s->v[i] : s->T[i - s->n]);
        if (cls_is_constant(g, first, 0)) continue;
        if (bend == CLSI_BEND_NONE) bend = CLSI_BEND_AFFINE;
        if (cls_depends(g, first, s->n, s->v) || cls_depends(g, first, s->m, s->T))
            return CLSI_BEND_OTHER;
    }
    if (cls_depends(g, x, s->n, s->p) || cls_depends(g, x, s->m, s->S)) return CLSI_BEND_OTHER;
    return bend;
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
        double reference = strtod(number, &end);
        return reference > 0 && isfinite(reference) && strcmp(end, ")-1)") == 0;
    }
    return 0;
}

const char *clsi_learned_not_convex(const clsi_learned *l, const cls_system *s) {
    size_t count[4];
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    if (!clsi_field_convex_inputs(l->field, count)) return NULL;
    if (!(l->scale > 0)) return "it is not convex by form: its scale is negative";
    if (clsi_learned_inputs(l, s, x) != CLS_OK) return "its inputs cannot be read";
    size_t free_ones = count[0], affine = free_ones + count[1] + count[2];
    for (size_t i = 0; i < l->d; i++) {
        clsi_bend bend = clsi_input_bend(s, x[i]);
        int good = i < free_ones ? bend == CLSI_BEND_NONE
                   : i < affine  ? bend != CLSI_BEND_OTHER
                                 : is_heat(s, l->input[i]);
        if (!good) return "it is not convex by form, because of what it is a function of";
    }
    return NULL;
}

void clsi_learned_tell_convex(const clsi_learned *l, clsi_text *t) {
    size_t count[4];
    if (!clsi_field_convex_inputs(l->field, count)) return;
    size_t end = count[0] + count[1] + count[2];
    for (size_t i = count[0]; i < end; i++)
        clsi_text_printf(t, "%s%s", i == count[0] ? ", convex in " : ", ", l->input[i]);
    for (size_t i = 0; i < count[1]; i++)
        clsi_text_printf(t, "%s%s", i ? ", " : ", even in ", l->input[count[0] + i]);
}
