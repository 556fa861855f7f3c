/* Columns as formulas: what a measured column of this name is a function of. Rows (row.c) are one
 * program for all of them; the learner compares some, and differentiates them in parameters. */
#include "base/base.h"
#include "system/system.h"
#include <string.h>

static int find(const cls_system *s, const char *name, size_t n, const cls_node *symbols,
                const cls_node *nodes, cls_node *out) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(cls_node_name(s->g, symbols[i]), name) != 0) continue;
        *out = nodes[i];
        return 1;
    }
    return 0;
}

static int find_named(const cls_system *s, const char *name, size_t n, const clsi_named *list,
                      cls_node *out) {
    const clsi_form *f = s->form;
    const clsi_place at = {.q = f->q, .v = f->v, .p = f->p, .S = f->S, .T = f->T, .t = s->t};
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return clsi_place_at(s, &at, 1, &list[i].node, out) == CLS_OK;
    return 0;
}

cls_node clsi_system_column_node(const cls_system *s, const char *name) {
    const clsi_form *f = s->form;
    cls_node out = CLS_NO_NODE;
    if (find(s, name, f->nz, f->z, f->z, &out)) return out;
    if (!s->ode &&
        (find(s, name, s->n, s->p, f->p, &out) || find(s, name, s->n, s->v, f->v, &out) ||
         find(s, name, s->m, s->S, f->S, &out) || find(s, name, s->m, s->T, f->T, &out)))
        return out;
    if (!s->ode && strcmp(name, "energy") == 0) return f->energy;
    if (!s->ode && strcmp(name, "entropy") == 0) return f->entropy;
    if (find_named(s, name, s->n_outputs, s->bound.outputs, &out)) return out;
    if (find_named(s, name, s->n_invariants, s->bound.invariants, &out)) return out;
    return CLS_NO_NODE;
}
