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
 * storage gives X its name.
 *
 * Other energies: the same with a_i = E_i''(x_i), b_i = E_i' - a_i x_i at the x_i so far, again and again, which is
 * Newton's method, written out as ROUNDS lets on the way from rest to X. The last rounds have sum r_i x_i = X to rounding, so
 * that E(X) is an energy of X, and both laws hold, however well the efforts agree; they agree to rounding where
 * energies are convex and at most one E_i'' vanishes. What is no formula (learned, unknown) is refused. */
#include "expr/graph.h"
#include "system/ports.h"
#include <math.h>
#include <stdio.h>
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

/* One of a group. */
typedef struct member {
    clsi_store *store;
    const char *ratio;
    cls_node x, slope, bend; /* the symbol of its share, E', E'' */
    int bent;                /* E'' depends on x */
    double at_rest;          /* E'' at x = 0, other names 1.1 */
} member;

/* From rest in six parts of X to X, or from equal parts where some E'' has no value at rest (volumes). */
enum { ROUNDS = 12, WAY = 6 };

static cls_status not_a_formula(clsi_ports *p, const clsi_store *s, const clsi_store *master) {
    const clsi_component *c = &p->components[s->component], *m = &p->components[master->component];
    clsi_span at = c->port[s->port].where;
    return clsi_at(
        clsi_source_of(p, at), at.begin,
        "`%s.%s` and `%s.%s` have one effort (dependent storages), and the energy of `%s` is "
        "not a formula with a second derivative in `%s`, so that they cannot be made one: write "
        "them as one storage, or put a spring (a storage with a gyrator) or a resistive component "
        "between them",
        m->name, m->port[master->port].name, c->name, c->port[s->port].name, c->name,
        c->port[s->port].name);
}

/* A number made of the symbols of the graph, all 1.1; NAN: it has none. */
static double value_of(const cls_graph *g, cls_node a) {
    cls_program *program = NULL;
    double out = NAN;
    cls_node *symbols = clsi_calloc(g->n, sizeof *symbols);
    double *in = clsi_calloc(g->n, sizeof *in);
    size_t n = 0;
    for (size_t k = 0; symbols && in && k < g->n; k++)
        if (g->nodes[k].op == CLS_OP_SYMBOL) symbols[n] = (cls_node)k, in[n++] = 1.1;
    if (symbols && in && cls_program_create(g, n, symbols, 1, &a, &program, NULL) == CLS_OK &&
        cls_program_run_many(program, 1, 1, in, &out) != CLS_OK)
        out = NAN;
    cls_program_free(&program);
    free(symbols);
    free(in);
    return out;
}

/* E' and E''; bend CLS_NO_NODE: it is no formula, or linear. Fails only for want of memory. */
static cls_status differentiate(clsi_ports *p, cls_graph *g, const char *formula, member *m) {
    cls_error inner = {0};
    cls_node energy;
    cls_scope scope = {.find = any_name, .context = g};
    m->x = cls_symbol(g, m->store->share);
    m->bend = CLS_NO_NODE;
    cls_status status = cls_parse(g, formula, &scope, NULL, 1, 1, &energy, &inner);
    if (status == CLS_MEMORY || cls_graph_status(g, NULL) == CLS_MEMORY)
        return clsi_no_memory(p->error);
    if (status != CLS_OK) return CLS_OK;
    m->slope = cls_derivative(g, energy, m->x);
    m->bend = cls_simplify(g, cls_derivative(g, m->slope, m->x));
    if (m->slope == CLS_NO_NODE || m->bend == CLS_NO_NODE) return clsi_no_memory(p->error);
    if (cls_is_constant(g, m->bend, 0)) m->bend = CLS_NO_NODE;
    m->bent = m->bend != CLS_NO_NODE && cls_depends(g, m->bend, 1, &m->x);
    cls_node rest = m->bend, zero = cls_constant(g, 0);
    if (m->bent && cls_substitute(g, 1, &rest, 1, &m->x, &zero, &rest) == CLS_OK)
        m->at_rest = value_of(g, rest);
    return CLS_OK;
}

/* `let NAME = ` the node with `to` in the place of x. */
static cls_status put_let(clsi_ports *p, clsi_span at, cls_graph *g, const char *name, cls_node a,
                          cls_node x, cls_node to) {
    if (cls_substitute(g, 1, &a, 1, &x, &to, &a) != CLS_OK) return clsi_no_memory(p->error);
    char *text = cls_print(g, cls_simplify(g, a));
    if (!text) return clsi_no_memory(p->error);
    clsi_put(p, at, "let %s = ", name);
    clsi_text_append(&p->flat, text);
    clsi_put(p, at, "\n");
    cls_text_free(&text);
    return CLS_OK;
}

/* How a round calls slope, bend and share of a member: those of the last round have the plain names. */
static void name_of(char out[160], const char *name, const char *what, int round) {
    if (round == ROUNDS)
        snprintf(out, 160, "%.120s%s", name, what);
    else
        snprintf(out, 160, "%.120s%s_%d", name, *what ? what : "_part", round);
}

/* The slope and the bend of a member at its share of the round before, as lets; a quadratic one has them at
 * zero. */
static cls_status put_curve(clsi_ports *p, clsi_span at, cls_graph *g, const member *m, int round) {
    char share[160], name[160];
    name_of(share, m->store->share, "", round - 1);
    cls_node to = m->bent ? cls_symbol(g, share) : cls_constant(g, 0);
    name_of(name, m->store->name, "_slope", round);
    cls_status status = put_let(p, at, g, name, m->slope, m->x, to);
    name_of(name, m->store->name, "_bend", round);
    return status == CLS_OK ? put_let(p, at, g, name, m->bend, m->x, to) : status;
}

/* Names of a round. */
typedef struct names {
    char slope[160], bend[160], now[160], then[160];
} names;

static names names_of(const member *m, int round) {
    names k;
    name_of(k.slope, m->store->name, "_slope", round);
    name_of(k.bend, m->store->name, "_bend", round);
    name_of(k.now, m->store->share, "", round - 1);
    name_of(k.then, m->store->share, "", round);
    return k;
}

/* The effort of a round; `last` (n: none) has the share that is left, and nothing is divided by its bend, which
 * may vanish. */
static cls_status put_effort(clsi_ports *p, clsi_span at, size_t n, const member *list, size_t last,
                             const char *state, const char *effort, int round) {
    clsi_text above = {0}, below = {0};
    for (size_t i = 0; i < n; i++) {
        names k = names_of(&list[i], round);
        int bent = list[i].bent;
        if (i == last) continue;
        clsi_text_printf(&above, " + (%s)*(%s/%s%s%s)", list[i].ratio, k.slope, k.bend,
                         bent ? " - " : "", bent ? k.now : "");
        clsi_text_printf(&below, "%s(%s)^2/%s", below.length ? " + " : "", list[i].ratio, k.bend);
    }
    int failed = above.failed || below.failed;
    if (!failed && last < n) {
        names k = names_of(&list[last], round);
        const char *r = list[last].ratio;
        clsi_put(p, at, "let %s = (%s*(%s", effort, k.bend, state);
        clsi_text_append(&p->flat, above.data);
        clsi_put(p, at, ") + (%s)*(%s - %s*%s))/(%s*(", r, k.slope, k.bend, k.now, k.bend);
        clsi_text_append(&p->flat, below.data);
        clsi_put(p, at, ") + (%s)^2)\n", r);
    } else if (!failed) {
        clsi_put(p, at, "let %s = (%s", effort, state);
        clsi_text_append(&p->flat, above.data);
        clsi_text_append(&p->flat, ")/(");
        clsi_text_append(&p->flat, below.data);
        clsi_text_append(&p->flat, ")\n");
    }
    clsi_text_clear(&above);
    clsi_text_clear(&below);
    return failed ? clsi_no_memory(p->error) : CLS_OK;
}

/* A round: the effort, then the share of each storage. */
static cls_status put_round(clsi_ports *p, clsi_span at, cls_graph *g, size_t n, const member *list,
                            size_t last, const char *state, const char *effort, int round) {
    cls_status status = CLS_OK;
    for (size_t i = 0; i < n && status == CLS_OK; i++)
        status = put_curve(p, at, g, &list[i], round);
    if (status == CLS_OK) status = put_effort(p, at, n, list, last, state, effort, round);
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        names k = names_of(&list[i], round);
        int bent = list[i].bent;
        if (i != last)
            clsi_put(p, at, "let %s = %s%s((%s)*%s - %s)/%s\n", k.then, bent ? k.now : "",
                     bent ? " + " : "", list[i].ratio, effort, k.slope, k.bend);
    }
    if (last == n || status != CLS_OK) return status;
    clsi_put(p, at, "let %s = (%s", names_of(&list[last], round).then, state);
    for (size_t i = 0; i < n; i++)
        if (i != last) clsi_put(p, at, " - (%s)*%s", list[i].ratio, names_of(&list[i], round).then);
    clsi_put(p, at, ")/(%s)\n", list[last].ratio);
    return status;
}

/* What the first round begins with: rest, or equal parts. */
static cls_status put_first(clsi_ports *p, clsi_span at, size_t n, const member *list,
                            const char *state, int equal) {
    clsi_text squares = {0};
    char share[160];
    for (size_t i = 0; i < n; i++)
        clsi_text_printf(&squares, "%s(%s)^2", i ? " + " : "", list[i].ratio);
    for (size_t i = 0; i < n && !squares.failed; i++) {
        if (!list[i].bent) continue;
        name_of(share, list[i].store->share, "", 0);
        clsi_put(p, at, "let %s = ", share);
        if (equal) clsi_put(p, at, "(%s)*%s/(", list[i].ratio, state);
        clsi_text_append(&p->flat, equal ? squares.data : "0");
        clsi_text_append(&p->flat, equal ? ")\n" : "\n");
    }
    int failed = squares.failed;
    clsi_text_clear(&squares);
    return failed ? clsi_no_memory(p->error) : CLS_OK;
}

/* The one that has what the others leave: one whose E'' vanishes at rest, else the first that is bent; n: all
 * are quadratic. */
static size_t choose_last(size_t n, const member *list) {
    size_t last = n;
    for (size_t i = n; i-- > 0;)
        if (list[i].bent) last = i;
    for (size_t i = n; i-- > 0;)
        if (list[i].bent && list[i].at_rest == 0) last = i;
    return last;
}

static cls_status put_rounds(clsi_ports *p, cls_graph *g, size_t master, size_t n,
                             const member *list) {
    const clsi_store *m = &p->stores[master];
    clsi_span at = p->components[m->component].title;
    char state[128], effort[160], part[160];
    size_t last = choose_last(n, list);
    int equal = 0;
    for (size_t i = 0; i < n; i++) equal |= list[i].bent && !isfinite(list[i].at_rest);
    clsi_state_text(p, master, state);
    cls_status status = last < n ? put_first(p, at, n, list, state, equal) : CLS_OK;
    for (int round = last < n ? 1 : ROUNDS; round <= ROUNDS && status == CLS_OK; round++) {
        name_of(effort, m->name, "_effort", round);
        snprintf(part, sizeof part, "%d*%s/%d", round, state, WAY);
        status =
            put_round(p, at, g, n, list, last, equal || round >= WAY ? state : part, effort, round);
    }
    return status;
}

static cls_status put_group(clsi_ports *p, cls_graph *g, size_t master) {
    const clsi_store *m = &p->stores[master];
    member *list = clsi_calloc(p->n_stores, sizeof *list);
    cls_status status = list ? CLS_OK : clsi_no_memory(p->error);
    size_t n = 0;
    for (size_t i = 0; i < p->n_stores && status == CLS_OK; i++) {
        clsi_store *s = &p->stores[i];
        if (i != master && s->master != master) continue;
        const clsi_component *c = &p->components[s->component];
        char *formula = c->kind == CLSI_STORAGE ? formula_of(p, c) : NULL;
        if (!formula && c->kind == CLSI_STORAGE) status = clsi_no_memory(p->error);
        list[n] = (member){.store = s, .ratio = s->ratio ? s->ratio : "1"};
        if (status == CLS_OK) status = differentiate(p, g, formula ? formula : "", &list[n]);
        if (status == CLS_OK && list[n].bend == CLS_NO_NODE) status = not_a_formula(p, s, m);
        n += status == CLS_OK;
    }
    if (status == CLS_OK) status = put_rounds(p, g, master, n, list);
    free(list);
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
