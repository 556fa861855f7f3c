/* Storages that depend on each other: two inertias on one shaft, capacitors side by side.
 *
 * Problem: storages E_i(x_i) whose efforts are tied, dE_i/dx_i = r_i e with constant ratios r_i (1 at one
 * junction, those of gears between them), have one state together, X = sum r_i x_i, on which all flows
 * act. Index reduction: with E_i = a_i x_i^2/2 + b_i x_i + c_i (a_i and b_i may depend on other states)
 *
 *     e = (X + sum r_i b_i/a_i) / sum r_i^2/a_i,      x_i = (r_i e - b_i)/a_i,
 *
 * E(X) = sum E_i(x_i(X)) has dE/dX = e, because sum r_i e dx_i/dX = e dX/dX. So the energy of the system is the
 * sum of the energies as they are written, of X alone, and both laws hold as for any other state. The first
 * storage gives X its name. Other energies have no such formula and are refused with the reason. */
#include "expr/graph.h"
#include "system/ports.h"
#include <stdlib.h>
#include <string.h>

/* Every name is a symbol. */
static cls_node any_name(const void *context, const char *name, size_t length) {
    char text[256];
    if (length >= sizeof text) return CLS_NO_NODE;
    memcpy(text, name, length);
    text[length] = 0;
    return cls_symbol((cls_graph *)(size_t)context, text);
}

/* The formula of a storage over flat names, as the flat text would have it. */
static char *formula_of(clsi_ports *p, const clsi_component *c) {
    size_t length = p->flat.length, n_map = p->n_map;
    clsi_put_span(p, c, c->scope, c->body);
    char *text = p->flat.failed || !p->flat.data
                     ? NULL
                     : clsi_keep(p, p->flat.data + length, p->flat.length - length);
    p->flat.length = length;
    p->n_map = n_map;
    return text;
}

static cls_status not_quadratic(clsi_ports *p, const clsi_store *s, const clsi_store *master) {
    const clsi_component *c = &p->components[s->component], *m = &p->components[master->component];
    clsi_span at = c->port[s->port].where;
    return clsi_at(
        clsi_source_of(p, at), at.begin,
        "`%s.%s` and `%s.%s` have one effort (dependent storages), and the energy of `%s` is "
        "not a formula that is quadratic in `%s`, so that they cannot be made one: write "
        "them as one storage, or put a gyrator or a resistive component between them",
        m->name, m->port[master->port].name, c->name, c->port[s->port].name, c->name,
        c->port[s->port].name);
}

/* a and b of E = a x^2/2 + b x + c, as texts; NULL: it is not so. Fails only for want of memory. */
static cls_status quadratic(clsi_ports *p, cls_graph *g, const char *formula, const char *x,
                            char **a, char **b) {
    cls_error inner = {0};
    cls_node energy, symbol = cls_symbol(g, x), zero = cls_constant(g, 0), rest;
    cls_scope scope = {.find = any_name, .context = g};
    *a = *b = NULL;
    cls_status status = cls_parse(g, formula, &scope, NULL, 1, 1, &energy, &inner);
    if (status == CLS_MEMORY || cls_graph_status(g, NULL) == CLS_MEMORY)
        return clsi_no_memory(p->error);
    if (status != CLS_OK) return CLS_OK;
    cls_node slope = cls_derivative(g, energy, symbol);
    cls_node bend = cls_simplify(g, cls_derivative(g, slope, symbol));
    (void)cls_substitute(g, 1, &slope, 1, &symbol, &zero, &rest);
    rest = cls_simplify(g, rest);
    if (bend == CLS_NO_NODE || rest == CLS_NO_NODE) return clsi_no_memory(p->error);
    if (cls_depends(g, bend, 1, &symbol) || cls_is_constant(g, bend, 0)) return CLS_OK;
    char *texts[2] = {cls_print(g, bend), cls_print(g, rest)};
    if (texts[0] && texts[1]) {
        *a = clsi_keep(p, texts[0], strlen(texts[0]));
        *b = clsi_keep(p, texts[1], strlen(texts[1]));
    }
    cls_text_free(&texts[0]);
    cls_text_free(&texts[1]);
    return *a && *b ? CLS_OK : clsi_no_memory(p->error);
}

/* The lets of one group: the effort, then the share of each storage. */
static cls_status put_group(clsi_ports *p, cls_graph *g, size_t master) {
    clsi_store *m = &p->stores[master];
    clsi_span at = p->components[m->component].title;
    clsi_text above = {0}, below = {0}, shares = {0};
    char state[128];
    cls_status status = CLS_OK;
    for (size_t i = 0; i < p->n_stores && status == CLS_OK; i++) {
        clsi_store *s = &p->stores[i];
        if (i != master && s->master != master) continue;
        const clsi_component *c = &p->components[s->component];
        const char *r = s->ratio ? s->ratio : "1";
        char *a, *b, *formula = c->kind == CLSI_STORAGE ? formula_of(p, c) : NULL;
        status = quadratic(p, g, formula ? formula : "", s->share, &a, &b);
        if (status == CLS_OK && !formula && c->kind == CLSI_STORAGE)
            status = clsi_no_memory(p->error);
        if (status == CLS_OK && (!a || !b)) status = not_quadratic(p, s, m);
        clsi_text_printf(&above, " + (%s)*(%s)/(%s)", r, b ? b : "", a ? a : "");
        clsi_text_printf(&below, "%s(%s)^2/(%s)", below.length ? " + " : "", r, a ? a : "");
        clsi_text_printf(&shares, "let %s = ((%s)*%s_effort - (%s))/(%s)\n", s->share, r, m->name,
                         b ? b : "", a ? a : "");
    }
    if (status == CLS_OK && (above.failed || below.failed || shares.failed))
        status = clsi_no_memory(p->error);
    if (status == CLS_OK) {
        clsi_put(p, at, "let %s_effort = (%s%s)/(%s)\n", m->name, clsi_state_text(p, master, state),
                 above.data, below.data);
        clsi_put(p, at, "%s", shares.data);
    }
    clsi_text_clear(&above);
    clsi_text_clear(&below);
    clsi_text_clear(&shares);
    return status;
}

cls_status clsi_put_dependent(clsi_ports *p) {
    cls_graph *g = NULL;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < p->n_stores && status == CLS_OK; i++) {
        size_t master = p->stores[i].master;
        if (master == SIZE_MAX || p->stores[master].share) continue;
        clsi_store *m = &p->stores[master];
        m->share = clsi_keep_printf(p, "%s_own", m->name);
        for (size_t k = 0; k < p->n_stores; k++)
            if (p->stores[k].master == master) p->stores[k].share = p->stores[k].name;
        if (!m->share) return clsi_no_memory(p->error);
        if (!g) status = cls_graph_create(NULL, &g, p->error);
        if (status == CLS_OK) status = put_group(p, g, master);
    }
    cls_graph_free(&g);
    return status;
}
