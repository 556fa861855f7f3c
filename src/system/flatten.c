/* Components become a system of the language: the flat text.
 *
 *   storage E(x)            part of the hamiltonian:  H = sum E + theta0 s_e - p0 V_e
 *   pair, plain state, s    coordinate q, momentum x, entropy s
 *   {a, b} = c              poisson {x, y} = sum of c times the ratios of transformers between
 *   resistive d along g     friction on s: x_k <- -d g_k (g.e)      (heat d (g.e)^2 into s)
 *   resistive d (a, b)      heat exchange
 *   resistive matrix        dissipation along directions (matrix.c)
 *   external u              external force, with the work counted
 *
 * so that x' = (J - R) e with J skew and R = sum d B B^T, B^T a = 0, by form (physics/ports.md);
 * what the components leave `unknown` stays a part of its own. It is written by flat_text.c. */
#include "base/locale.h"
#include "system/arrays.h"
#include "system/ports.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- statements that stay ---- */

static cls_status check_copy(clsi_ports *p, clsi_span s) {
    static const char *const whole[] = {"coordinate", "momentum",    "position", "entropy",
                                        "lagrangian", "temperature", "thermal",  "friction",
                                        "heat",       "hamiltonian", "poisson",  "algebra"};
    clsi_reader *r = clsi_source_of(p, s);
    clsi_cursor c = {s.begin, s.end};
    clsi_cursor two = c;
    if (clsi_accept_word(r, &two, "heat") && clsi_accept_word(r, &two, "source")) return CLS_OK;
    for (size_t i = 0; p->n_components && i < sizeof whole / sizeof *whole; i++)
        if (clsi_accept_word(r, &c, whole[i]))
            return clsi_at(r, s.begin,
                           "`%s` does not stand in a file of components: energies and laws are "
                           "those of storage, resistive and the other components",
                           whole[i]);
    return CLS_OK;
}

/* The value that `use X as Y: name = value` gives, or an empty range. */
static clsi_span given_value(const clsi_ports *p, size_t scope, const char *name, size_t length) {
    clsi_span s = p->scopes[scope].set;
    const clsi_reader *r = clsi_source_of(p, s);
    clsi_cursor c = {s.begin, s.end};
    while (!clsi_at_end(r, &c)) {
        size_t n = clsi_word_length(r, &c, 0), at = c.at, end = clsi_item_end(r, &c);
        clsi_cursor value = {at + n, end};
        if (n == length && memcmp(r->clean + at, name, n) == 0 && clsi_accept(r, &value, "="))
            return (clsi_span){s.source, value.at, end};
        c.at = end + 1 > c.end ? c.end : end + 1;
    }
    return (clsi_span){s.source, 0, 0};
}

/* parameter m = 2, c = 1 of a composite, with what the use of it sets. */
static void put_parameters(clsi_ports *p, size_t scope, clsi_span s) {
    const clsi_reader *r = clsi_source_of(p, s);
    clsi_cursor c = {s.begin, s.end};
    clsi_accept_word(r, &c, "parameter");
    do {
        size_t length = clsi_word_length(r, &c, 0), at = c.at, end = clsi_item_end(r, &c);
        clsi_span given = given_value(p, scope, r->clean + at, length);
        clsi_put(p, (clsi_span){s.source, at, end}, "parameter ");
        if (given.begin < given.end) {
            clsi_put_span(p, NULL, scope, (clsi_span){s.source, at, at + length});
            clsi_put(p, given, " = ");
            clsi_put_span(p, NULL, p->scopes[scope].outer, given);
        } else {
            clsi_put_span(p, NULL, scope, (clsi_span){s.source, at, end});
        }
        clsi_put(p, s, "\n");
        c.at = end;
    } while (clsi_accept(r, &c, ","));
}

static const char *scope_list(const clsi_scope_names *s, char out[512]) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < s->n && used < 440; i++)
        used += (size_t)snprintf(out + used, 512 - used, "%s%s", i ? ", " : "", s->names[i]);
    return out;
}

/* Every name of `use ...: name = value` must be a parameter of the composite. */
static cls_status check_given(clsi_ports *p, size_t scope) {
    clsi_span s = p->scopes[scope].set;
    clsi_reader *r = clsi_source_of(p, s);
    clsi_cursor c = {s.begin, s.end};
    char out[512];
    while (!clsi_at_end(r, &c)) {
        size_t n = clsi_word_length(r, &c, 0);
        if (!n || !clsi_scope_text(p, scope, r->clean + c.at, n, out))
            return clsi_at(r, c.at, "expected a parameter of the component `%.*s` = value%s%s",
                           (int)strlen(p->scopes[scope].prefix) - 1, p->scopes[scope].prefix,
                           p->scopes[scope].n ? "; there are " : ": it has none",
                           scope_list(&p->scopes[scope], out));
        size_t at = c.at + n;
        clsi_cursor rest = {at, c.end};
        cls_status status = clsi_expect(r, &rest, "=", "the parameter");
        if (status != CLS_OK) return status;
        c.at = clsi_item_end(r, &rest);
        clsi_accept(r, &c, ",");
    }
    return CLS_OK;
}

static cls_status put_copy(clsi_ports *p, size_t scope, clsi_span s) {
    clsi_cursor c = {s.begin, s.end};
    cls_status status = check_copy(p, s);
    if (scope && clsi_accept_word(clsi_source_of(p, s), &c, "parameter"))
        put_parameters(p, scope, s);
    else
        clsi_put_span(p, NULL, scope, s);
    clsi_put(p, s, "\n");
    return status;
}

/* Outer composites first: the values inside may use their parameters. Statements of a scope in their order: each has
 * the next one of its scope. */
static cls_status put_copies(clsi_ports *p) {
    static const size_t none = SIZE_MAX;
    size_t *first = clsi_malloc((p->n_scopes + p->n_copies + 1) * sizeof *first),
           *next = first ? first + p->n_scopes : NULL;
    if (!first) return clsi_no_memory(p->error);
    for (size_t i = 0; i < p->n_scopes; i++) first[i] = none;
    for (size_t i = p->n_copies; i-- > 0;) {
        next[i] = first[p->copies[i].scope];
        first[p->copies[i].scope] = i;
    }
    cls_status status = CLS_OK;
    for (size_t scope = 0; scope < p->n_scopes && status == CLS_OK; scope++) {
        status = check_given(p, scope);
        for (size_t i = first[scope]; i != none && status == CLS_OK; i = next[i])
            status = put_copy(p, scope, p->copies[i].span);
    }
    free(first);
    return status;
}

/* ---- what changes with time ---- */

enum { DEEPEST_LET = 50 };

/* Does a statement of the file begin with `first` and name this word? *body: behind its `=`. */
static int declares(const clsi_ports *p, const clsi_statement_copy *x, const char *first,
                    const char *word, size_t length, clsi_span *body) {
    const clsi_reader *r = clsi_source_of(p, x->span);
    clsi_cursor c = {x->span.begin, x->span.end};
    if (!clsi_accept_word(r, &c, first)) return 0;
    for (;;) {
        size_t n = clsi_word_length(r, &c, 0), at = c.at, end = clsi_item_end(r, &c);
        const char *equals = memchr(r->clean + at, '=', end - at);
        *body = (clsi_span){x->span.source, equals ? (size_t)(equals - r->clean) + 1 : end, end};
        if (n == length && memcmp(r->clean + at, word, n) == 0) return 1;
        c.at = end;
        if (!clsi_accept(r, &c, ",")) return 0;
    }
}

/* Contains the time, an input, or a let that does. */
static int varies(const clsi_ports *p, clsi_span s, int depth) {
    const clsi_reader *r = clsi_source_of(p, s);
    for (size_t at = s.begin; at < s.end && depth < DEEPEST_LET;) {
        clsi_cursor c = {at, s.end};
        if (isdigit((unsigned char)r->clean[at]) || r->clean[at] == '.') {
            size_t number = clsi_number_length(r, at, s.end);
            at += number ? number : 1;
            continue;
        }
        size_t n = isalpha((unsigned char)r->clean[at]) || r->clean[at] == '_'
                       ? clsi_word_length(r, &c, 1)
                       : 0;
        const char *word = r->clean + at;
        clsi_span body;
        if (n == 1 && *word == 't') return 1;
        for (size_t i = 0; n && i < p->n_copies; i++) {
            if (declares(p, &p->copies[i], "input", word, n, &body)) return 1;
            if (declares(p, &p->copies[i], "let", word, n, &body) && varies(p, body, depth + 1))
                return 1;
        }
        at += n ? n : 1;
    }
    return 0;
}

static cls_status find_baths(clsi_ports *p) {
    for (size_t i = 0; i < p->n_components; i++) {
        clsi_component *c = &p->components[i];
        if (c->kind != CLSI_ENVIRONMENT || !varies(p, c->body, 0)) continue;
        if (c->n_ports != 1)
            return clsi_at(clsi_source_of(p, c->body), c->body.begin,
                           "an environment with a volume is constant: write one with an entropy "
                           "alone for a temperature that changes, and `external` for a pressure");
        c->bath = 1;
    }
    return CLS_OK;
}

static int is_bath(const clsi_ports *p, const clsi_store *s) {
    return p->components[s->component].bath;
}

static void put_state(clsi_ports *p, const clsi_store *s) {
    const clsi_port *port = &p->components[s->component].port[s->port];
    if (is_bath(p, s) || s->master != SIZE_MAX) return;
    if (s->partner != SIZE_MAX && !s->position) return; /* declared with its position */
    clsi_put(p, port->where, "%s %s",
             s->thermal    ? "entropy"
             : s->position ? "coordinate"
                           : "momentum",
             s->name);
    if (s->thermal) clsi_put(p, port->where, " with temperature %s", s->temperature);
    if (port->unit) clsi_put(p, port->where, " [%s]", port->unit);
    clsi_put(p, port->where, "\n");
}

static cls_status keep_input(clsi_ports *p, clsi_component *c, char *own, char *flat) {
    size_t n = c->n_inputs;
    char **a = clsi_realloc(c->input, (n + 1) * sizeof *a);
    if (a) c->input = a;
    char **b = clsi_realloc(c->flat_input, (n + 1) * sizeof *b);
    if (b) c->flat_input = b;
    if (!a || !b || !own || !flat) return clsi_no_memory(p->error);
    c->input[n] = own;
    c->flat_input[n] = flat;
    c->n_inputs++;
    return CLS_OK;
}

/* Inputs of an unknown energy: its own states. */
static cls_status put_storage_inputs(clsi_ports *p, clsi_component *c) {
    char name[128];
    cls_status status = CLS_OK;
    for (size_t k = 0; k < c->n_ports && status == CLS_OK; k++) {
        clsi_state_text(p, c->first_state + k, name);
        clsi_put(p, c->title, "%s%s", k ? ", " : " of ", name);
        status = keep_input(p, c, c->port[k].name, clsi_keep(p, name, strlen(name)));
    }
    return status;
}

/* The formula; the words of the field in `unknown FIELD of ...` are not names. A component that was
 * learned elsewhere is a function of its states, which is what the part says already. */
static void put_energy(clsi_ports *p, const clsi_component *c) {
    const clsi_reader *r = clsi_source_of(p, c->body);
    clsi_cursor body = {c->body.begin, c->body.end};
    if (!clsi_is_unknown(r, body)) {
        clsi_put_span(p, c, c->scope, c->body);
        return;
    }
    size_t of = clsi_find_word(r, c->body.begin, c->body.end, "of");
    size_t end = of > c->body.begin ? of : c->body.end;
    clsi_put(p, c->body, "%.*s", (int)(end - c->body.begin), r->clean + c->body.begin);
    if (end < c->body.end && !c->used)
        clsi_put_span(p, c, c->scope, (clsi_span){c->body.source, end, c->body.end});
}

static cls_status given_inputs(clsi_ports *p, clsi_component *c, size_t at);

/* part NAME = LAW(states), one function for all of its kind. */
static cls_status put_shared_storage(clsi_ports *p, clsi_component *c) {
    const clsi_reader *r = clsi_source_of(p, c->body);
    size_t of = clsi_find_plain_word(r, c->body.begin, c->body.end, "of");
    char name[128];
    cls_status status = of < c->body.end ? given_inputs(p, c, of + 2) : CLS_OK;
    for (size_t k = 0; k < c->n_ports && of == c->body.end && status == CLS_OK; k++) {
        clsi_state_text(p, c->first_state + k, name);
        status = keep_input(p, c, c->port[k].name, clsi_keep(p, name, strlen(name)));
    }
    clsi_span law = {c->body.source, c->body.begin, of};
    if (status != CLS_OK) return status;
    clsi_declare_shared(p, c, "function", "", law);
    clsi_put(p, c->title, "part %s = ", c->name);
    clsi_put_shared(p, c, "");
    clsi_put(p, c->title, "\n");
    return CLS_OK;
}

static cls_status put_storage(clsi_ports *p, clsi_component *c) {
    clsi_reader *r = clsi_source_of(p, c->body);
    clsi_cursor body = {c->body.begin, c->body.end};
    char name[128];
    if (c->bath) {
        clsi_put(p, c->title, "reservoir %s = ", p->stores[c->first_state].temperature);
        clsi_put_span(p, c, c->scope, c->body);
    } else if (c->kind == CLSI_STORAGE && clsi_is_shared(p, c)) {
        return put_shared_storage(p, c);
    } else if (c->kind == CLSI_STORAGE) {
        clsi_put(p, c->title, "part %s", c->name);
        cls_status status = put_storage_inputs(p, c);
        if (status != CLS_OK) return status;
        clsi_put(p, c->title, " = ");
        put_energy(p, c);
    } else {
        size_t end = clsi_item_end(r, &body);
        clsi_put(p, c->title, "let %s = (", c->name);
        clsi_put_span(p, c, c->scope, (clsi_span){c->body.source, c->body.begin, end});
        clsi_put(p, c->title, ")*%s", clsi_state_text(p, c->first_state, name));
        body.at = end;
        int pressure = clsi_accept(r, &body, ",");
        if (pressure != (c->n_ports == 2))
            return clsi_at(r, end,
                           "an environment with a volume has a temperature and a pressure: "
                           "`environment %s(entropy s, V): 300, 1e5`",
                           c->local);
        if (pressure) {
            clsi_put(p, c->title, " - (");
            clsi_put_span(p, c, c->scope, (clsi_span){c->body.source, body.at, c->body.end});
            clsi_put(p, c->title, ")*%s", clsi_state_text(p, c->first_state + 1, name));
        }
    }
    clsi_put(p, c->title, "\n");
    return CLS_OK;
}

static void put_ratio(clsi_ports *p, const clsi_component *c) {
    clsi_put(p, c->title, "let %s = ", c->name);
    clsi_put_span(p, c, c->scope, c->body);
    clsi_put(p, c->title, "\n");
}

static cls_status put_states(clsi_ports *p) {
    size_t first = SIZE_MAX;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < p->n_stores; i++) put_state(p, &p->stores[i]);
    for (size_t i = 0; i < p->n_components; i++)
        if (p->components[i].kind == CLSI_TRANSFORMER) put_ratio(p, &p->components[i]);
    status = clsi_put_dependent(p);
    for (size_t i = 0; i < p->n_components && status == CLS_OK; i++)
        if (p->components[i].kind == CLSI_STORAGE || p->components[i].kind == CLSI_ENVIRONMENT) {
            if (first == SIZE_MAX && !p->components[i].bath) first = i;
            status = put_storage(p, &p->components[i]);
        }
    if (status != CLS_OK) return status;
    if (first == SIZE_MAX)
        return clsi_at(p->sources[0], 0, "no storage: a system of components needs one");
    for (size_t i = first; i < p->n_components; i++)
        if (!p->components[i].bath &&
            (p->components[i].kind == CLSI_STORAGE || p->components[i].kind == CLSI_ENVIRONMENT))
            clsi_put(p, p->components[i].title, "%s%s", i == first ? "hamiltonian " : " + ",
                     p->components[i].name);
    clsi_put(p, p->components[first].title, "\n");
    return CLS_OK;
}

/* ---- transformers and brackets ---- */

static void put_factor(clsi_ports *p, clsi_span at, const clsi_joint *j) {
    if (j->factor) clsi_put(p, at, "*%s", j->factor);
}

static size_t state_at(const clsi_ports *p, const clsi_bracket *b, size_t port) {
    return p->joints[p->components[b->component].port[port].node].state;
}

/* Entry i of a list of brackets, between which states. */
typedef struct entry {
    size_t low, high, i;
} entry;

static int by_states(const void *one, const void *other) {
    const entry *a = one, *b = other;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return (a->i > b->i) - (a->i < b->i);
}

/* All entries between two states in one statement, in their order. */
static void put_bracket(clsi_ports *p, const clsi_bracket *list, const entry *all, size_t n) {
    size_t first = all[0].i;
    size_t x = state_at(p, &list[first], list[first].a),
           y = state_at(p, &list[first], list[first].b);
    char one[128], other[128];
    clsi_span where = list[first].formula;
    int unit = n == 1 && p->stores[x].partner == y && p->stores[x].position;
    if (!unit)
        clsi_put(p, where, "poisson {%s, %s} = ", clsi_state_text(p, x, one),
                 clsi_state_text(p, y, other));
    for (size_t k = 0; k < n && !unit; k++) {
        const clsi_bracket *l = &list[all[k].i];
        const clsi_component *c = &p->components[l->component];
        clsi_put(p, l->formula, state_at(p, l, l->a) == x ? " + (" : " - (");
        clsi_put_span(p, c, c->scope, l->formula);
        clsi_put(p, l->formula, ")");
        put_factor(p, l->formula, &p->joints[c->port[l->a].node]);
        put_factor(p, l->formula, &p->joints[c->port[l->b].node]);
    }
    clsi_put(p, where, "\n");
}

/* Statements in the order of their first entries. */
static cls_status put_groups(clsi_ports *p, const clsi_bracket *list, size_t n) {
    entry *all = clsi_malloc((n + 1) * sizeof *all);
    size_t *begin = clsi_malloc((n + 1) * sizeof *begin), end; /* of a group, at its first entry */
    cls_status status = all && begin ? CLS_OK : clsi_no_memory(p->error);
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        size_t a = state_at(p, &list[i], list[i].a), b = state_at(p, &list[i], list[i].b);
        all[i] = (entry){a < b ? a : b, a < b ? b : a, i};
        begin[i] = SIZE_MAX;
    }
    if (status == CLS_OK && n) qsort(all, n, sizeof *all, by_states);
    for (size_t i = 0; i < n && status == CLS_OK; i++)
        if (!i || all[i].low != all[i - 1].low || all[i].high != all[i - 1].high)
            begin[all[i].i] = i;
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        if (begin[i] == SIZE_MAX) continue;
        const entry *group = &all[begin[i]];
        for (end = 1;
             begin[i] + end < n && group[end].low == group->low && group[end].high == group->high;)
            end++;
        put_bracket(p, list, group, end);
    }
    free(all);
    free(begin);
    return status;
}

static cls_status put_brackets(clsi_ports *p) {
    clsi_bracket *list = NULL;
    size_t n = 0, capacity = 0;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < p->n_components && status == CLS_OK; i++) {
        const clsi_component *c = &p->components[i];
        if (c->kind == CLSI_GYRATOR || c->kind == CLSI_JUNCTION)
            status = clsi_read_brackets(p, i, &list, &n, &capacity);
    }
    if (status == CLS_OK) status = put_groups(p, list, n);
    free(list);
    return status;
}

/* ---- resistive components ---- */

/* Does the port hang at an environment: here, and in every other component with the same law? */
static int is_constant(const clsi_ports *p, const clsi_component *c, size_t k) {
    int shared = clsi_is_shared(p, c);
    const clsi_component *end = shared ? p->components + p->n_components : c + 1;
    for (const clsi_component *o = shared ? p->components : c; o < end; o++) {
        if (o != c && o->definition != c->definition) continue;
        const clsi_store *s = &p->stores[p->joints[o->port[k].node].state];
        if (!s->thermal || p->components[s->component].kind != CLSI_ENVIRONMENT) return 0;
    }
    return 1;
}

/* Efforts of the component's own ports; the temperature of an environment does not change. */
static cls_status default_inputs(clsi_ports *p, clsi_component *c) {
    cls_status status = CLS_OK;
    for (int all = 0; all < 2 && !c->n_inputs; all++)
        for (size_t k = 0; k < c->n_ports && status == CLS_OK; k++) {
            const clsi_joint *j = &p->joints[c->port[k].node];
            const clsi_store *s = &p->stores[j->state];
            char effort[512];
            if (!all && is_constant(p, c, k)) continue;
            clsi_effort_text(p, c->port[k].node, effort);
            const char *form = s->thermal ? "log(%s%s)" : "%s%s";
            status = keep_input(p, c, clsi_keep_printf(p, form, "e.", c->port[k].name),
                                clsi_keep_printf(p, form, "", effort));
        }
    return status;
}

/* `of A, B` behind `unknown`. */
static cls_status given_inputs(clsi_ports *p, clsi_component *c, size_t at) {
    clsi_reader *r = clsi_source_of(p, c->body);
    clsi_cursor list = {at, c->body.end};
    cls_status status = CLS_OK;
    do {
        size_t end = clsi_item_end(r, &list), from = p->flat.length, marks = p->n_map;
        clsi_skip_space(r, &list);
        while (end > list.at && (r->clean[end - 1] == ' ' || r->clean[end - 1] == '\n')) end--;
        if (end == list.at) return clsi_at(r, list.at, "expected an input after `of` or `,`");
        clsi_put_span(p, c, c->scope, (clsi_span){c->body.source, list.at, end});
        if (p->flat.failed) return clsi_no_memory(p->error);
        status = keep_input(p, c, clsi_keep(p, r->clean + list.at, end - list.at),
                            clsi_keep(p, p->flat.data + from, p->flat.length - from));
        p->flat.length = from; /* written for its names only */
        p->flat.data[from] = 0;
        p->n_map = marks;
        list.at = end;
    } while (status == CLS_OK && clsi_accept(r, &list, ","));
    return status == CLS_OK ? clsi_expect_end(r, &list) : status;
}

static cls_status find_inputs(clsi_ports *p, clsi_component *c) {
    clsi_reader *r = clsi_source_of(p, c->body);
    size_t of = clsi_find_word(r, c->body.begin, c->body.end, "of");
    int given = c->body.end - of > 2 && memcmp(r->clean + of, "of", 2) == 0;
    return given ? given_inputs(p, c, of + 2) : default_inputs(p, c);
}

/* coefficient NAME of INPUTS = FORMULA */
static void put_coefficient(clsi_ports *p, const clsi_component *c, const clsi_term *t,
                            const char *name, const char *number) {
    int shared = t->unknown && clsi_is_shared(p, c);
    if (shared) clsi_declare_shared(p, c, "coefficient", number, t->coefficient);
    clsi_put(p, c->title, "coefficient %s", name);
    for (size_t i = 0; i < c->n_inputs; i++)
        clsi_put(p, c->title, "%s%s", i ? ", " : " of ", c->flat_input[i]);
    clsi_put(p, c->title, " = ");
    if (shared) {
        clsi_put_shared(p, c, number);
    } else if (t->unknown) { /* the words of a field are not names */
        const clsi_reader *r = clsi_source_of(p, t->coefficient);
        clsi_put(p, t->coefficient, "%.*s", (int)(t->coefficient.end - t->coefficient.begin),
                 r->clean + t->coefficient.begin);
    } else {
        clsi_put_span(p, c, c->scope, t->coefficient);
    }
    clsi_put(p, c->title, "\n");
}

static void put_weight(clsi_ports *p, const clsi_component *c, const clsi_term *t, size_t k) {
    if (t->weight[k].begin == t->weight[k].end) return;
    clsi_put(p, t->weight[k], "(");
    clsi_put_span(p, c, c->scope, t->weight[k]);
    clsi_put(p, t->weight[k], ")*");
}

/* friction on s: x <- -d g_x (g.e), ... ; ports that share a state share a force. */
static void put_friction(clsi_ports *p, const clsi_component *c, const clsi_term *t,
                         const char *name) {
    char effort[512];
    const clsi_joint *heat = &p->joints[c->port[t->heat].node];
    const clsi_store *heated = &p->stores[heat->state];
    clsi_put(p, c->title,
             "friction on %s: ", is_bath(p, heated) ? heated->temperature : heated->name);
    for (size_t k = 0, shown = 0; k < t->n; k++) {
        const clsi_joint *j = &p->joints[c->port[t->port[k]].node];
        int repeated = 0;
        for (size_t i = 0; i < k; i++)
            repeated |= p->joints[c->port[t->port[i]].node].state == j->state;
        if (repeated) continue;
        clsi_put(p, c->title, "%s%s <- -%s*(", shown++ ? ", " : "", clsi_force_text(p, j->state),
                 name);
        for (size_t i = k; i < t->n; i++) {
            const clsi_joint *other = &p->joints[c->port[t->port[i]].node];
            if (other->state != j->state) continue;
            clsi_put(p, c->title, t->sign[i] > 0 ? " + " : " - ");
            put_weight(p, c, t, i);
            clsi_put(p, c->title, "%s", other->factor ? other->factor : "1");
        }
        clsi_put(p, c->title, ")*(");
        for (size_t i = 0; i < t->n; i++) {
            clsi_put(p, c->title, t->sign[i] > 0 ? " + " : " - ");
            put_weight(p, c, t, i);
            clsi_effort_text(p, c->port[t->port[i]].node, effort);
            clsi_put(p, c->title, "%s", effort);
        }
        clsi_put(p, c->title, ")");
    }
    clsi_put(p, c->title, "\n");
}

static cls_status put_terms(clsi_ports *p, clsi_component *c) {
    clsi_term *terms = clsi_calloc(CLSI_MAX_TERMS, sizeof *terms);
    size_t n = 0;
    cls_status status = terms ? clsi_read_terms(p, c, terms, &n) : clsi_no_memory(p->error);
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        char name[128], number[24] = "";
        if (n > 1) snprintf(number, sizeof number, "%zu", i + 1);
        snprintf(name, sizeof name, "%.100s%s", c->name, number);
        put_coefficient(p, c, &terms[i], name, number);
        if (terms[i].heat != SIZE_MAX) {
            put_friction(p, c, &terms[i], name);
            continue;
        }
        size_t a = p->joints[c->port[terms[i].port[0]].node].state;
        size_t b = p->joints[c->port[terms[i].port[1]].node].state;
        clsi_put(p, c->title, "heat exchange %s <-> %s: %s\n", p->stores[a].temperature,
                 p->stores[b].temperature, name);
    }
    free(terms);
    return status;
}

static cls_status put_resistive(clsi_ports *p, clsi_component *c) {
    cls_status status = find_inputs(p, c);
    if (status != CLS_OK) return status;
    if (!clsi_is_matrix(p, c)) return put_terms(p, c);
    return clsi_is_shared(p, c)
               ? clsi_at(clsi_source_of(p, c->body), c->body.begin,
                         "the unknown matrix of `%s` cannot be shared: write `resistive %s(...): "
                         "matrix unknown` at each place",
                         p->definitions[c->definition].name, c->local)
               : clsi_put_matrix(p, c);
}

static void put_external(clsi_ports *p, const clsi_component *c) {
    const clsi_joint *j = &p->joints[c->port[0].node];
    clsi_put(p, c->title, "external force %s: %s <- ", c->name, clsi_force_text(p, j->state));
    if (j->factor) clsi_put(p, c->title, "%s*", j->factor);
    clsi_put(p, c->title, "(");
    clsi_put_span(p, c, c->scope, c->body);
    clsi_put(p, c->title, ")\n");
}

/* Exergy: what the environment leaves of the energy, E - theta0 S with both of all components. */
static void put_exergy(clsi_ports *p) {
    const clsi_component *air = NULL;
    size_t found = 0;
    for (size_t i = 0; i < p->n_components; i++)
        if (p->components[i].kind == CLSI_ENVIRONMENT) {
            air = &p->components[i];
            found++;
        }
    if (found != 1 || air->bath) return;
    clsi_cursor c = {air->body.begin, air->body.end};
    clsi_put(p, air->title, "output exergy = 0");
    for (size_t i = 0; i < p->n_components; i++)
        if (p->components[i].kind == CLSI_STORAGE)
            clsi_put(p, air->title, " + %s", p->components[i].name);
    size_t end = clsi_item_end(clsi_source_of(p, air->body), &c);
    for (size_t i = 0; i < p->n_stores; i++) {
        const clsi_store *s = &p->stores[i];
        if (!s->thermal || &p->components[s->component] == air) continue;
        clsi_put(p, air->title, " - (");
        clsi_put_span(p, air, air->scope, (clsi_span){air->body.source, air->body.begin, end});
        clsi_put(p, air->title, ")*%s", s->name);
    }
    if (air->n_ports == 2) {
        char name[128];
        clsi_put(p, air->title, " - (");
        clsi_put_span(p, air, air->scope, (clsi_span){air->body.source, end + 1, air->body.end});
        clsi_put(p, air->title, ")*%s", clsi_state_text(p, air->first_state + 1, name));
    }
    clsi_put(p, air->title, "\n");
}

cls_status clsi_ports_flatten(clsi_ports *p) {
    cls_status status = find_baths(p);
    if (status == CLS_OK) status = put_copies(p);
    if (status == CLS_OK && p->n_components) status = put_states(p);
    if (status == CLS_OK) status = put_brackets(p);
    for (size_t i = 0; i < p->n_components && status == CLS_OK; i++) {
        if (p->components[i].kind == CLSI_RESISTIVE) status = put_resistive(p, &p->components[i]);
        if (p->components[i].kind == CLSI_EXTERNAL) put_external(p, &p->components[i]);
    }
    if (status == CLS_OK) put_exergy(p);
    if (status == CLS_OK && p->flat.failed) status = clsi_no_memory(p->error);
    return status;
}
