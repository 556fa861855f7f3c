/* What a part is a function of, from the formula that it has in the file.
 *
 * Somebody who treats V(a, b) as unknown says that its form is not known, not that it may depend on
 * everything there is: six inputs in the place of two are a basis of a few terms each, or of
 * hundreds. So a named term whose formula lacks some of the variables is learned as a function of
 * those it has, directly or through other names. A part that the file calls unknown has no formula
 * and keeps the inputs of its kind; so does one that is a number. */
#include "base/base.h"
#include "learn/learn.h"
#include <stdlib.h>
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

/* The list "a; b" in *out (the caller's), NULL: the formula has all variables that its kind would
 * have as inputs, or none, or there is none. */
cls_status clsi_inputs_of_formula(const cls_system *s, const char *part, int only_positions,
                                  char **out, cls_error *error) {
    size_t let = find_let(s, part), n = s->n;
    *out = NULL;
    if (let == s->n_lets) return CLS_OK;
    cls_node formula = s->lets[let].node;
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN, lacks = 0;
    int moving = (thermal || s->ode) && !only_positions;
    const cls_node *moved = s->formalism == CLS_HAMILTONIAN ? s->p : s->v;
    clsi_text t = {0};
    for (size_t j = 0; j < s->nq; j++) {
        if (has(s, formula, s->q[j], let))
            add(&t, "%s", s->coordinate[j].name, NULL);
        else
            lacks = 1;
    }
    for (size_t j = 0; j < n && moving; j++)
        for (size_t k = j; k < (s->ode ? j + 1 : n); k++) {
            const char *a = cls_node_name(s->g, moved[j]), *b = cls_node_name(s->g, moved[k]);
            if (!has(s, formula, moved[j], let) || !has(s, formula, moved[k], let))
                lacks = 1;
            else
                add(&t, s->ode ? "%s" : "%s*%s", a, b);
        }
    for (size_t i = 0; i < s->m && !only_positions; i++) {
        if (!has(s, formula, thermal ? s->T[i] : s->S[i], let))
            lacks = 1;
        else
            add(&t, thermal ? "log(%s)" : "%s",
                thermal ? s->temperature[i].name : s->entropy[i].name, NULL);
    }
    if (!lacks || !t.length) {
        clsi_text_clear(&t);
        return CLS_OK;
    }
    *out = clsi_text_take(&t);
    return *out ? CLS_OK : clsi_no_memory(error);
}
