/* What a wiring means: the state behind every junction, and which states are canonical pairs.
 *
 * Problem: a junction has one effort and flows that sum to zero. The effort must come from exactly
 * one place: a storage or environment that stands at the junction (e = dE/dx), or a transformer
 * whose other side has one (e_b = n e_a, and flows go back as f_a = -n f_b). Two sources are a
 * wiring mistake (dependent storages), none is an algebraic loop; both are errors that name the
 * ports. So the assembled motion is explicit, x' = (J - R) e, and J and R are scattered from the
 * components (physics/ports.md).
 *
 * Two states that a unit gyrator joins, of which one has nothing else, are a position and its
 * momentum: they get the names q, p.q, v.q of the language. */
#include "system/ports.h"
#include <stdlib.h>
#include <string.h>

/* ---- states ---- */

static char *temperature_of(clsi_ports *p, const clsi_port *port) {
    const char *name = port->name;
    if (port->temperature) return port->temperature;
    if (name[0] == 'S') return clsi_keep_printf(p, "T%s", name + 1);
    if (name[0] == 's') return clsi_keep_printf(p, "theta%s", name + 1);
    return NULL;
}

/* A name of a port among the storages of one composite. */
typedef struct port_name {
    const char *text; /* NULL: a free place of the table */
    size_t scope, component;
    int shared; /* by another component: the component's name goes in front */
} port_name;

typedef struct port_names {
    port_name *place;
    size_t mask;
} port_names;

static port_name *place_of(const port_names *t, size_t scope, const char *text) {
    size_t at = clsi_hash_text(text, strlen(text)) + scope * 0x9e3779b1u;
    port_name *x = &t->place[at & t->mask];
    while (x->text && (x->scope != scope || strcmp(x->text, text) != 0))
        x = &t->place[++at & t->mask];
    return x;
}

static int is_state(const clsi_component *c) {
    return c->kind == CLSI_STORAGE || c->kind == CLSI_ENVIRONMENT;
}

/* In a table, because the names of 20,000 storages beside each other took the square of their number. */
static cls_status collect_names(const clsi_ports *p, size_t n_ports, port_names *t) {
    size_t slots = 16;
    while (slots < 2 * n_ports) slots *= 2;
    t->mask = slots - 1;
    if (!(t->place = clsi_calloc(slots, sizeof *t->place))) return clsi_no_memory(p->error);
    for (size_t i = 0; i < p->n_components; i++) {
        const clsi_component *c = &p->components[i];
        for (size_t k = 0; is_state(c) && k < c->n_ports; k++) {
            port_name *x = place_of(t, c->scope, c->port[k].name);
            if (x->text)
                x->shared |= x->component != i;
            else
                *x = (port_name){c->port[k].name, c->scope, i, 0};
        }
    }
    return CLS_OK;
}

static cls_status name_store(clsi_ports *p, const port_names *names, clsi_store *s) {
    const clsi_component *c = &p->components[s->component];
    const clsi_port *port = &c->port[s->port];
    const char *prefix = p->scopes[c->scope].prefix;
    const char *own = place_of(names, c->scope, port->name)->shared ? c->local : "";
    const char *bar = own[0] ? "_" : "";
    s->name = clsi_keep_printf(p, "%s%s%s%s", prefix, own, bar, port->name);
    if (!s->name) return CLS_MEMORY;
    if (!s->thermal) return CLS_OK;
    const char *temperature = temperature_of(p, port);
    if (!temperature)
        return clsi_at(clsi_source_of(p, port->where), port->where.begin,
                       "`%s` needs a name for its temperature: write `entropy %s with temperature "
                       "...`",
                       port->name, port->name);
    s->temperature = clsi_keep_printf(p, "%s%s%s%s", prefix, own, bar, temperature);
    return s->temperature ? CLS_OK : CLS_MEMORY;
}

static cls_status find_stores(clsi_ports *p) {
    size_t n = 0;
    port_names names = {0};
    for (size_t i = 0; i < p->n_components; i++) n += p->components[i].n_ports;
    if (!(p->stores = clsi_calloc(n, sizeof *p->stores))) return clsi_no_memory(p->error);
    cls_status status = collect_names(p, n, &names);
    for (size_t i = 0; i < p->n_components && status == CLS_OK; i++) {
        clsi_component *c = &p->components[i];
        c->first_state = p->n_stores;
        if (!is_state(c)) continue;
        for (size_t k = 0; k < c->n_ports && status == CLS_OK; k++) {
            clsi_store *s = &p->stores[p->n_stores++];
            *s = (clsi_store){.component = i, .port = k, .partner = SIZE_MAX, .master = SIZE_MAX};
            s->thermal = c->port[k].thermal;
            status = name_store(p, &names, s);
        }
    }
    free(names.place);
    return status;
}

/* ---- junctions ---- */

static cls_status make_joints(clsi_ports *p) {
    size_t *number = clsi_calloc(p->n_nodes, sizeof *number);
    p->joints = clsi_calloc(p->n_nodes, sizeof *p->joints);
    if (!number || !p->joints) {
        free(number);
        return clsi_no_memory(p->error);
    }
    for (size_t i = 0; i < p->n_components; i++)
        for (size_t k = 0; k < p->components[i].n_ports; k++) {
            clsi_port *port = &p->components[i].port[k];
            size_t root = clsi_node_root(p, port->node);
            if (!number[root]) {
                p->joints[p->n_joints] = (clsi_joint){.state = SIZE_MAX, .thermal = port->thermal};
                number[root] = ++p->n_joints;
            }
            port->node = number[root] - 1;
        }
    free(number);
    return CLS_OK;
}

/* "spring.q, link.q" */
static void list_ports(const clsi_ports *p, size_t joint, char out[512]) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < p->n_components; i++)
        for (size_t k = 0; k < p->components[i].n_ports && used < 420; k++)
            if (p->components[i].port[k].node == joint)
                used += (size_t)snprintf(out + used, 512 - used, "%s%s.%s", used ? ", " : "",
                                         p->components[i].name, p->components[i].port[k].name);
}

static cls_status two_sources(clsi_ports *p, const clsi_store *a, size_t component, size_t port) {
    const clsi_component *first = &p->components[a->component], *second = &p->components[component];
    clsi_span at = second->port[port].where;
    return clsi_at(clsi_source_of(p, at), at.begin,
                   "`%s.%s` and `%s.%s` both set the effort of one junction, so that neither is "
                   "free (dependent storages): make them one storage, as two inertias on one "
                   "shaft are one of their sum, or put a gyrator or a resistive component between "
                   "them",
                   first->name, first->port[a->port].name, second->name, second->port[port].name);
}

/* Two storages may have one state together (dependent.c); environments and entropies may not. */
static int can_merge(const clsi_ports *p, size_t a, size_t b) {
    const clsi_store *x = &p->stores[a], *y = &p->stores[b];
    return p->components[x->component].kind == CLSI_STORAGE && !x->thermal &&
           p->components[y->component].kind == CLSI_STORAGE && !y->thermal;
}

/* Does a ratio use an effort, or a state that is not the position which moves with `master`? With master
 * SIZE_MAX, before pairs are known: an effort or a state at its own ports. */
static int is_modulated(const clsi_ports *p, const clsi_component *c, size_t master) {
    const clsi_reader *r = clsi_source_of(p, c->body);
    clsi_cursor at = {c->body.begin, c->body.end};
    while (!clsi_at_end(r, &at)) {
        size_t n = clsi_word_length(r, &at, 1);
        const char *word = r->clean + at.at;
        if (n > 2 && word[0] == 'e' && word[1] == '.') return 1;
        if (n && clsi_port_find(c, word, n) != SIZE_MAX) return 1;
        for (size_t i = 0; n && i < p->n_stores && master != SIZE_MAX; i++)
            if (strlen(p->stores[i].name) == n && memcmp(p->stores[i].name, word, n) == 0 &&
                (!p->stores[i].position || p->stores[i].partner != master))
                return 1;
        at.at += n ? n : 1;
    }
    return 0;
}

/* A ratio r(q) between dependent storages is a constraint of positions, and their energy E(X, q) has the
 * force of it, when q is the position that X is the momentum of. */
static cls_status check_ratios(clsi_ports *p) {
    for (size_t i = 0; i < p->n_components; i++) {
        const clsi_component *c = &p->components[i];
        size_t master = c->merged ? p->joints[c->port[0].node].state : SIZE_MAX;
        if (master == SIZE_MAX || !is_modulated(p, c, master)) continue;
        return clsi_at(
            clsi_source_of(p, c->title), c->title.begin,
            "the ratio of `%s` lies between dependent storages and depends on more than "
            "the position that moves with `%s`: a gyrator of ratio 1 makes a position of a "
            "storage; else put a spring (a storage with a gyrator) between them",
            c->name, p->stores[master].name);
    }
    return CLS_OK;
}

/* A transformer between two known efforts, e_b = n e_a: the state behind b becomes that behind a. */
static cls_status merge(clsi_ports *p, const clsi_component *c, size_t a, size_t b) {
    const clsi_joint *A = &p->joints[c->port[0].node], *B = &p->joints[c->port[1].node];
    char *ratio = clsi_keep_printf(p, "%s%s%s%s%s%s", c->name, A->factor ? "*" : "",
                                   A->factor ? A->factor : "", B->factor ? "/(" : "",
                                   B->factor ? B->factor : "", B->factor ? ")" : "");
    if (!ratio) return clsi_no_memory(p->error);
    for (size_t i = 0; i < p->n_stores; i++) {
        clsi_store *s = &p->stores[i];
        if (i != b && s->master != b) continue;
        s->ratio = s->ratio ? clsi_keep_printf(p, "%s*%s", s->ratio, ratio) : ratio;
        s->master = a;
        if (!s->ratio) return clsi_no_memory(p->error);
    }
    for (size_t k = 0; k < p->n_joints; k++) {
        clsi_joint *j = &p->joints[k];
        if (j->state != b) continue;
        j->factor = j->factor ? clsi_keep_printf(p, "%s*%s", j->factor, ratio) : ratio;
        j->state = a;
        j->label = j->factor ? clsi_keep_printf(p, "%s*%s", j->factor, p->stores[a].name) : NULL;
        if (!j->label) return clsi_no_memory(p->error);
    }
    return CLS_OK;
}

static cls_status place_stores(clsi_ports *p) {
    for (size_t s = 0; s < p->n_stores; s++) {
        clsi_store *x = &p->stores[s];
        const clsi_port *port = &p->components[x->component].port[x->port];
        clsi_joint *j = &p->joints[port->node];
        if (j->state != SIZE_MAX && can_merge(p, j->state, s)) {
            x->master = j->state;
            continue;
        }
        if (j->state != SIZE_MAX)
            return two_sources(p, &p->stores[j->state], x->component, x->port);
        j->state = s;
        j->direct = 1;
        j->label = x->name;
    }
    return CLS_OK;
}

/* One side knows its effort: the other follows. */
static cls_status follow(clsi_ports *p, size_t component, size_t known, int *changed) {
    const clsi_component *c = &p->components[component];
    const clsi_joint *from = &p->joints[c->port[known].node];
    clsi_joint *to = &p->joints[c->port[1 - known].node];
    if (to->state != SIZE_MAX) return CLS_OK;
    /* the flat text calls the ratio by the name of the component */
    to->state = from->state;
    to->factor = clsi_keep_printf(p, from->factor ? "%s%s*%s" : "%s%s%s", known ? "1/" : "",
                                  c->name, from->factor ? from->factor : "");
    if (!to->factor) return CLS_MEMORY;
    to->label = clsi_keep_printf(p, "%s*%s", to->factor, p->stores[to->state].name);
    *changed = 1;
    return to->label ? CLS_OK : CLS_MEMORY;
}

static cls_status follow_transformers(clsi_ports *p) {
    unsigned char *done = clsi_calloc(p->n_components, 1);
    cls_status status = done ? CLS_OK : clsi_no_memory(p->error);
    for (int changed = 1; changed && status == CLS_OK;) {
        changed = 0;
        for (size_t i = 0; i < p->n_components && status == CLS_OK; i++) {
            const clsi_component *c = &p->components[i];
            if (c->kind != CLSI_TRANSFORMER || done[i]) continue;
            size_t a = p->joints[c->port[0].node].state, b = p->joints[c->port[1].node].state;
            if (a == SIZE_MAX && b == SIZE_MAX) continue;
            if (a != SIZE_MAX && b != SIZE_MAX && a != b && can_merge(p, a, b) &&
                !is_modulated(p, c, SIZE_MAX)) {
                p->components[i].merged = 1;
                status = merge(p, c, a, b);
            } else if (a != SIZE_MAX && b != SIZE_MAX)
                status = clsi_at(
                    clsi_source_of(p, c->title), c->title.begin,
                    "both sides of the transformer have an effort already, from `%s` and from `%s` "
                    "(`%s.%s`, `%s.%s`): dependent storages, which are made one where the ratio is "
                    "constant or of their position and no entropy is among them; else put a spring "
                    "(a storage with a "
                    "gyrator) between them",
                    p->stores[a].name, p->stores[b].name, c->name, c->port[0].name, c->name,
                    c->port[1].name);
            else
                status = follow(p, i, a == SIZE_MAX, &changed);
            done[i] = 1;
        }
    }
    free(done);
    return status;
}

static cls_status check_joints(clsi_ports *p) {
    char list[512];
    for (size_t i = 0; i < p->n_components; i++)
        for (size_t k = 0; k < p->components[i].n_ports; k++) {
            const clsi_component *c = &p->components[i];
            if (p->joints[c->port[k].node].state != SIZE_MAX) continue;
            list_ports(p, c->port[k].node, list);
            clsi_span at = c->used ? c->whole : c->port[k].where;
            return clsi_at(clsi_source_of(p, at), at.begin,
                           "nothing sets the effort where %s meet (an algebraic loop): connect a "
                           "storage or an environment there",
                           list);
        }
    return CLS_OK;
}

/* ---- what formulas of components say about structure ---- */

clsi_span clsi_trimmed(const clsi_ports *p, clsi_span s) {
    const clsi_reader *r = clsi_source_of(p, s);
    while (s.begin < s.end && (r->clean[s.begin] == ' ' || r->clean[s.begin] == '\n')) s.begin++;
    while (s.end > s.begin && (r->clean[s.end - 1] == ' ' || r->clean[s.end - 1] == '\n')) s.end--;
    return s;
}

/* "a, b, s" */
static const char *port_list(const clsi_component *c, char out[512]) {
    size_t used = 0;
    out[0] = 0;
    for (size_t k = 0; k < c->n_ports && used < 420; k++)
        used += (size_t)snprintf(out + used, 512 - used, "%s%s", k ? ", " : "", c->port[k].name);
    return out;
}

cls_status clsi_read_port_name(clsi_ports *p, const clsi_component *c, clsi_cursor *at,
                               const char *after, size_t *out) {
    clsi_reader *r = clsi_source_of(p, c->body);
    char found[48], list[512];
    size_t length = clsi_word_length(r, at, 0);
    *out = length ? clsi_port_find(c, r->clean + at->at, length) : SIZE_MAX;
    if (*out == SIZE_MAX)
        return clsi_at(r, at->at, "expected a port of `%s` (%s) after %s, found %s", c->name,
                       port_list(c, list), after, clsi_found(r, at, found));
    at->at += length;
    return CLS_OK;
}

cls_status clsi_read_entry(clsi_ports *p, const clsi_component *c, clsi_cursor *at,
                           clsi_bracket *b) {
    clsi_reader *r = clsi_source_of(p, c->body);
    cls_status status = clsi_expect(r, at, "{", "the colon or the comma");
    if (status == CLS_OK) status = clsi_read_port_name(p, c, at, "`{`", &b->a);
    if (status == CLS_OK) status = clsi_expect(r, at, ",", "the port");
    if (status == CLS_OK) status = clsi_read_port_name(p, c, at, "`,`", &b->b);
    if (status == CLS_OK) status = clsi_expect(r, at, "}", "the second port");
    if (status == CLS_OK) status = clsi_expect(r, at, "=", "`}`");
    if (status != CLS_OK) return status;
    size_t end = clsi_item_end(r, at);
    b->formula = clsi_trimmed(p, (clsi_span){c->body.source, at->at, end});
    at->at = end;
    return CLS_OK;
}

cls_status clsi_read_brackets(clsi_ports *p, size_t component, clsi_bracket **list, size_t *n,
                              size_t *capacity) {
    const clsi_component *c = &p->components[component];
    clsi_reader *r = clsi_source_of(p, c->body);
    clsi_cursor at = {c->body.begin, c->body.end};
    cls_status status = CLS_OK;
    do {
        clsi_bracket b = {component, 0, 1, clsi_trimmed(p, c->body)};
        if (c->kind == CLSI_GYRATOR)
            at.at = at.end;
        else
            status = clsi_read_entry(p, c, &at, &b);
        if (status != CLS_OK) return status;
        size_t x = p->joints[c->port[b.a].node].state, y = p->joints[c->port[b.b].node].state;
        if (x == y)
            return clsi_at(r, b.formula.begin,
                           "`%s.%s` and `%s.%s` belong to one state, `%s`: a bracket of a state "
                           "with itself is zero",
                           c->name, c->port[b.a].name, c->name, c->port[b.b].name,
                           p->stores[x].name);
        if (!clsi_grow(list, capacity, *n + 1, sizeof **list)) return clsi_no_memory(p->error);
        (*list)[(*n)++] = b;
    } while (clsi_accept(r, &at, ","));
    return clsi_expect_end(r, &at);
}

size_t clsi_find_plain_word(const clsi_reader *r, size_t begin, size_t end, const char *word) {
    int depth = 0;
    clsi_cursor c = {begin, end};
    while (!clsi_at_end(r, &c)) {
        size_t length = clsi_word_length(r, &c, 1);
        if (!depth && length == strlen(word) && memcmp(r->clean + c.at, word, length) == 0)
            return c.at;
        char k = r->clean[c.at];
        depth += k == '(' || k == '[';
        depth -= k == ')' || k == ']';
        c.at += length ? length : 1;
    }
    return end;
}

/* [+-] [WEIGHT *] PORT, ... of a direction. */
static cls_status read_direction(clsi_ports *p, const clsi_component *c, clsi_term *t) {
    clsi_reader *r = clsi_source_of(p, c->body);
    clsi_cursor at = {t->direction.begin, t->direction.end};
    while (!clsi_at_end(r, &at)) {
        if (t->n == 8) return clsi_at(r, at.at, "more than 8 ports in one direction");
        t->sign[t->n] = clsi_accept(r, &at, "-") ? -1 : 1;
        if (t->sign[t->n] > 0) clsi_accept(r, &at, "+");
        int depth = 0;
        size_t end = at.at, star = 0;
        for (clsi_skip_space(r, &at), end = at.at; end < at.end; end++) {
            char k = r->clean[end];
            depth += (k == '(') - (k == ')');
            if (!depth && end > at.at && (k == '+' || k == '-')) break;
            if (!depth && k == '*') star = end;
        }
        clsi_cursor name = {star ? star + 1 : at.at, end};
        t->weight[t->n] = (clsi_span){c->body.source, at.at, star ? star : at.at};
        cls_status status = clsi_read_port_name(p, c, &name, "`along`", &t->port[t->n]);
        if (status == CLS_OK) status = clsi_expect_end(r, &name);
        if (status != CLS_OK) return status;
        t->n++;
        at.at = end;
    }
    return CLS_OK;
}

static size_t only_port(const clsi_component *c, int thermal, size_t *count) {
    size_t found = SIZE_MAX;
    *count = 0;
    for (size_t i = 0; i < c->n_ports; i++)
        if (c->port[i].thermal == thermal) {
            if (found == SIZE_MAX) found = i;
            ++*count;
        }
    return found;
}

/* What the text leaves open: the only direction and the only place for the heat there are. */
static cls_status complete_term(clsi_ports *p, const clsi_component *c, clsi_term *t) {
    clsi_reader *r = clsi_source_of(p, c->body);
    size_t thermal, plain, hot = only_port(c, 1, &thermal), moving = only_port(c, 0, &plain);
    if (!t->n && plain == 1) {
        t->n = 1;
        t->port[0] = moving;
        t->sign[0] = 1;
    } else if (!t->n && !plain && thermal == 2) {
        t->n = 2;
        t->port[1] = 1;
        t->sign[0] = 1;
        t->sign[1] = -1;
    } else if (!t->n) {
        return clsi_at(r, t->coefficient.begin,
                       "`%s` has several ports: say which difference makes the flow, for example "
                       "`%s along %s - %s`, or write `matrix %s` for a relation between all of "
                       "them",
                       c->name, t->unknown ? "unknown" : "d", c->port[0].name, c->port[1].name,
                       t->unknown ? "unknown" : "{a, b} = ...");
    }
    int conducts = c->port[t->port[0]].thermal;
    for (size_t i = 0; i < t->n; i++)
        if (c->port[t->port[i]].thermal != conducts)
            return clsi_at(r, t->direction.begin, "`along` mixes an entropy with something else");
    if (conducts) {
        int plain_weights =
            t->weight[0].begin == t->weight[0].end && t->weight[1].begin == t->weight[1].end;
        if (t->n != 2 || t->sign[0] == t->sign[1] || !plain_weights || t->heat != SIZE_MAX)
            return clsi_at(r, t->direction.begin ? t->direction.begin : t->coefficient.begin,
                           "heat flows along the difference of two temperatures: `along a - b`");
        return CLS_OK;
    }
    if (t->heat == SIZE_MAX && thermal == 1) t->heat = hot;
    if (t->heat == SIZE_MAX)
        return clsi_at(r, t->coefficient.begin,
                       "`%s` has several entropies: say which takes the heat, `... on %s`, or "
                       "write `matrix %s` for a relation between all ports",
                       c->name, c->port[hot].name, t->unknown ? "unknown" : "{a, b} = ...");
    return CLS_OK;
}

static cls_status read_term(clsi_ports *p, const clsi_component *c, size_t begin, size_t end,
                            clsi_term *t) {
    clsi_reader *r = clsi_source_of(p, c->body);
    size_t of = clsi_find_plain_word(r, begin, end, "of"),
           on = clsi_find_plain_word(r, begin, of, "on");
    size_t along = clsi_find_plain_word(r, begin, on, "along");
    cls_status status = CLS_OK;
    *t = (clsi_term){.heat = SIZE_MAX};
    t->coefficient = clsi_trimmed(p, (clsi_span){c->body.source, begin, along});
    clsi_cursor first = {t->coefficient.begin, t->coefficient.end};
    t->unknown = clsi_is_unknown(r, first);
    if (t->unknown && clsi_accept_word(r, &first, "unknown") &&
        clsi_accept_word(r, &first, "matrix"))
        return clsi_at(r, t->coefficient.begin, "`matrix` comes first: `matrix unknown`");
    if (of < end && !t->unknown)
        return clsi_at(r, of, "`of` names the inputs of what is `unknown`");
    if (t->coefficient.begin == t->coefficient.end)
        return clsi_at(r, begin, "expected a coefficient or `unknown`");
    if (along < on) {
        t->direction = clsi_trimmed(p, (clsi_span){c->body.source, along + 5, on});
        status = read_direction(p, c, t);
    }
    if (status == CLS_OK && on < of) {
        clsi_cursor place = {on + 2, of};
        status = clsi_read_port_name(p, c, &place, "`on`", &t->heat);
        if (status == CLS_OK) status = clsi_expect_end(r, &place);
        if (status == CLS_OK && !c->port[t->heat].thermal)
            status = clsi_at(r, on + 3, "`%s` is not an entropy: heat cannot go there",
                             c->port[t->heat].name);
    }
    return status == CLS_OK ? complete_term(p, c, t) : status;
}

cls_status clsi_read_terms(clsi_ports *p, const clsi_component *c, clsi_term *terms, size_t *n) {
    clsi_reader *r = clsi_source_of(p, c->body);
    cls_status status = CLS_OK;
    int depth = 0;
    size_t begin = c->body.begin;
    *n = 0;
    for (size_t i = begin; i <= c->body.end && status == CLS_OK; i++) {
        char k = i < c->body.end ? r->clean[i] : ';';
        depth += (k == '(') - (k == ')');
        if (k != ';' || (depth && i < c->body.end)) continue;
        if (*n == CLSI_MAX_TERMS)
            return clsi_at(r, i, "more than %d terms in one component", (int)CLSI_MAX_TERMS);
        status = read_term(p, c, begin, i, &terms[(*n)++]);
        begin = i + 1;
    }
    return status;
}

/* ---- canonical pairs ---- */

static void pull(clsi_ports *p, size_t joint) {
    p->stores[p->joints[joint].state].pulled = 1;
}

/* Efforts that a formula uses need a name, which that of a position does not have. */
static cls_status pull_efforts(clsi_ports *p, const clsi_component *c) {
    clsi_reader *r = clsi_source_of(p, c->body);
    clsi_cursor at = {c->body.begin, c->body.end};
    char list[512];
    while (!clsi_at_end(r, &at)) {
        size_t length = clsi_word_length(r, &at, 1);
        if (length > 2 && memcmp(r->clean + at.at, "e.", 2) == 0) {
            size_t port = clsi_port_find(c, r->clean + at.at + 2, length - 2);
            if (port == SIZE_MAX)
                return clsi_at(r, at.at, "`%s` has no port `%.*s`; its ports are %s", c->name,
                               (int)length - 2, r->clean + at.at + 2, port_list(c, list));
            pull(p, c->port[port].node);
        }
        at.at += length ? length : 1;
    }
    return CLS_OK;
}

static cls_status find_pulled(clsi_ports *p) {
    clsi_term *terms = clsi_calloc(CLSI_MAX_TERMS, sizeof *terms);
    cls_status status = terms ? CLS_OK : clsi_no_memory(p->error);
    for (size_t i = 0; i < p->n_components && status == CLS_OK; i++) {
        const clsi_component *c = &p->components[i];
        size_t n = 0;
        if (c->kind == CLSI_STORAGE || c->kind == CLSI_ENVIRONMENT) continue;
        status = pull_efforts(p, c);
        if (status != CLS_OK) break;
        if (c->kind == CLSI_EXTERNAL) pull(p, c->port[0].node);
        if (c->kind == CLSI_RESISTIVE && clsi_is_matrix(p, c))
            for (size_t k = 0; k < c->n_ports; k++) pull(p, c->port[k].node);
        else if (c->kind == CLSI_RESISTIVE)
            status = clsi_read_terms(p, c, terms, &n);
        for (size_t t = 0; t < n && status == CLS_OK; t++)
            for (size_t k = 0; k < terms[t].n; k++) pull(p, c->port[terms[t].port[k]].node);
    }
    free(terms);
    return status;
}

static int is_one(const clsi_ports *p, clsi_span s) {
    return s.end - s.begin == 1 && clsi_source_of(p, s)->clean[s.begin] == '1';
}

static cls_status find_pairs(clsi_ports *p) {
    clsi_bracket *list = NULL;
    size_t n = 0, capacity = 0, *links = clsi_calloc(p->n_stores, sizeof *links);
    cls_status status = links ? CLS_OK : clsi_no_memory(p->error);
    for (size_t i = 0; i < p->n_components && status == CLS_OK; i++)
        if (p->components[i].kind == CLSI_GYRATOR || p->components[i].kind == CLSI_JUNCTION)
            status = clsi_read_brackets(p, i, &list, &n, &capacity);
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        const clsi_component *c = &p->components[list[i].component];
        links[p->joints[c->port[list[i].a].node].state]++;
        links[p->joints[c->port[list[i].b].node].state]++;
    }
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        const clsi_component *c = &p->components[list[i].component];
        const clsi_joint *a = &p->joints[c->port[list[i].a].node];
        const clsi_joint *b = &p->joints[c->port[list[i].b].node];
        clsi_store *q = &p->stores[a->state], *m = &p->stores[b->state];
        if (!a->direct || !b->direct || !is_one(p, list[i].formula) || q->pulled ||
            links[a->state] != 1 || q->partner != SIZE_MAX || m->partner != SIZE_MAX)
            continue;
        q->partner = b->state;
        q->position = 1;
        m->partner = a->state;
    }
    free(list);
    free(links);
    return status;
}

cls_status clsi_ports_wire(clsi_ports *p) {
    cls_status status = make_joints(p);
    if (status == CLS_OK) status = find_stores(p);
    if (status == CLS_OK) status = place_stores(p);
    if (status == CLS_OK) status = follow_transformers(p);
    if (status == CLS_OK) status = check_joints(p);
    if (status == CLS_OK) status = find_pulled(p);
    if (status == CLS_OK) status = find_pairs(p);
    return status == CLS_OK ? check_ratios(p) : status;
}
