/* What a part is a function of, from the formula that it has in the file.
 *
 * Somebody who treats V(a, b) as unknown says that its form is not known, not that it may depend on
 * everything there is: six inputs in the place of two are a basis of a few terms each, or of
 * hundreds. So a named term, a friction or a conductance whose formula lacks some of the variables is
 * learned as a function of those it has, directly or through other names. A part that the file calls
 * unknown has no formula and keeps the inputs of its kind; so does one that is a number. */
#include "base/base.h"
#include "learn/learn.h"
#include <string.h>

/* Does a node depend on the variable, through names as well? Names stand above their use. */
static int has(const cls_system *s, cls_node a, cls_node variable, size_t below) {
    if (cls_depends(s->g, a, 1, &variable)) return 1;
    for (size_t k = 0; k < below; k++) {
        cls_node name = cls_symbol(s->g, s->lets[k].name);
        if (cls_depends(s->g, a, 1, &name) && has(s, s->lets[k].node, variable, k)) return 1;
    }
    return 0;
}

static size_t find_let(const cls_system *s, const char *part) {
    size_t k = 0;
    for (size_t i = 0; i < s->n_unknown; i++)
        if (strcmp(s->unknown[i], part) == 0) return s->n_lets;
    while (k < s->n_lets && strcmp(s->lets[k].name, part) != 0) k++;
    return k;
}

static void add(clsi_text *t, const char *format, const char *a, const char *b) {
    if (t->length) clsi_text_append(t, "; ");
    clsi_text_printf(t, format, a, b);
}

/* The formulas of a part: of a named term one, of a friction one for each force. */
typedef struct formulas {
    const cls_system *s;
    const char *part;
    size_t let; /* n_lets: it is no named term */
} formulas;

static int any_has(const formulas *f, cls_node variable) {
    const cls_system *s = f->s;
    if (f->let < s->n_lets) return has(s, s->lets[f->let].node, variable, f->let);
    for (size_t i = 0; i < s->n_written; i++)
        if (strcmp(s->as_written[i].part, f->part) == 0 &&
            s->as_written[i].formula != CLS_NO_NODE &&
            has(s, s->as_written[i].formula, variable, s->n_lets))
            return 1;
    return 0;
}

/* What moves, as the formula has it: velocities, or momenta. */
static const cls_node *moving_of(const formulas *f) {
    const cls_system *s = f->s;
    if (s->formalism != CLS_HAMILTONIAN) return s->v;
    for (size_t j = 0; j < s->n && f->let == s->n_lets; j++)
        if (any_has(f, s->v[j])) return s->v;
    return s->p;
}

/* Velocities (momenta) that it has, in pairs, or one by one where the field is even in them. */
static int add_moving(const formulas *f, clsi_text *t, clsi_found_inputs *out) {
    const cls_system *s = f->s;
    const cls_node *moved = moving_of(f);
    size_t n = 0;
    int lacks = 0;
    for (size_t j = 0; j < s->n; j++) n += (size_t)any_has(f, moved[j]);
    int single = s->ode || (out->even && n > 1);
    for (size_t j = 0; j < s->n; j++)
        for (size_t k = j; k < (single ? j + 1 : s->n); k++) {
            const char *a = cls_node_name(s->g, moved[j]), *b = cls_node_name(s->g, moved[k]);
            if (!any_has(f, moved[j]) || !any_has(f, moved[k]))
                lacks = 1;
            else
                add(t, single ? "%s" : "%s*%s", a, b);
        }
    out->even_count = single && !s->ode ? n : 0;
    return lacks;
}

/* Temperatures or entropies, as the formula has them. */
static int add_heat(const formulas *f, clsi_text *t) {
    const cls_system *s = f->s;
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN, lacks = 0;
    for (size_t i = 0; i < s->m; i++) {
        int hot = any_has(f, s->T[i]);
        const char *temperature = cls_node_name(s->g, s->T[i]);
        if (hot && (thermal || f->let == s->n_lets))
            add(t, thermal ? "log(%s)" : "%s", temperature, NULL);
        else if (!thermal && any_has(f, s->S[i]))
            add(t, "%s", s->entropy[i].name, NULL);
        else
            lacks = 1;
    }
    return lacks;
}

cls_status clsi_inputs_of_formula(const cls_system *s, const char *part, clsi_part_kind kind,
                                  int only_positions, clsi_found_inputs *out, cls_error *error) {
    formulas f = {s, part, kind == CLSI_PART_LET ? find_let(s, part) : s->n_lets};
    int term = f.let < s->n_lets, lacks = 0;
    out->of = NULL;
    if (kind == CLSI_PART_LET && !term) return CLS_OK;
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN;
    int moving = (thermal || s->ode || !term) && !only_positions;
    clsi_text t = {0};
    for (size_t j = 0; j < s->nq; j++) {
        if (any_has(&f, s->q[j])) {
            add(&t, "%s", s->coordinate[j].name, NULL);
            out->even_first++;
        } else
            lacks = 1;
    }
    if (moving) lacks |= add_moving(&f, &t, out);
    if (!only_positions) lacks |= add_heat(&f, &t);
    if (!lacks || !t.length) {
        out->even_count = 0;
        clsi_text_clear(&t);
        return CLS_OK;
    }
    out->of = clsi_text_take(&t);
    return out->of ? CLS_OK : clsi_no_memory(error);
}
