/* A statement of a component: its kind, its name, its ports, and whether they make sense together.
 *
 * Problem: `resistive d(p, entropy s with temperature T): ...` becomes a clsi_component whose body
 * stays a range of the text (elaborate.c says why); every port gets a node of its own, which
 * connect.c joins with others. What the kinds mean is in docs/physics/ports.md. Linear in the
 * text. Whether the wiring makes sense is not asked here. */
#include "base/locale.h"
#include "system/ports.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COMPONENTS = 1000000, MAX_PORTS = 32 };

/* ---- kinds ---- */

static const struct {
    const char *word;
    clsi_component_kind kind;
} kinds[] = {
    {"storage", CLSI_STORAGE},   {"environment", CLSI_ENVIRONMENT}, {"resistive", CLSI_RESISTIVE},
    {"gyrator", CLSI_GYRATOR},   {"transformer", CLSI_TRANSFORMER}, {"junction", CLSI_JUNCTION},
    {"external", CLSI_EXTERNAL},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

int clsi_accept_kind(const clsi_reader *r, clsi_cursor *c, clsi_component_kind *kind) {
    for (size_t i = 0; i < N_KINDS; i++)
        if (clsi_accept_word(r, c, kinds[i].word)) {
            *kind = kinds[i].kind;
            return 1;
        }
    return 0;
}

cls_status clsi_check_kind(clsi_reader *r, clsi_cursor c) {
    const char *words[N_KINDS];
    char word[32], found[48];
    size_t length = clsi_word_length(r, &c, 0), begin = c.at;
    if (!length || length >= sizeof word) return CLS_OK;
    snprintf(word, sizeof word, "%.*s", (int)length, r->clean + begin);
    c.at += length;
    size_t name = clsi_word_length(r, &c, 0);
    c.at += name;
    if (!name || !clsi_accept(r, &c, "(") || strcmp(word, "function") == 0) return CLS_OK;
    for (size_t i = 0; i < N_KINDS; i++) words[i] = kinds[i].word;
    const char *near = cls_nearest_word(word, N_KINDS, words);
    c.at = begin;
    return near ? clsi_at(r, begin, "no component begins with %s; did you mean `%s`?",
                          clsi_found(r, &c, found), near)
                : CLS_OK;
}

/* ---- memory ---- */

static char *keep(clsi_ports *p, char *text) {
    if (text && clsi_grow(&p->strings, &p->strings_capacity, p->n_strings + 1, sizeof(char *)))
        return p->strings[p->n_strings++] = text;
    free(text);
    (void)clsi_no_memory(p->error);
    return NULL;
}

char *clsi_keep(clsi_ports *p, const char *text, size_t length) {
    return keep(p, clsi_strndup(text, length));
}

char *clsi_keep_printf(clsi_ports *p, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = clsi_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text) return NULL;
    return clsi_keep(p, text, (size_t)n);
}

void clsi_ports_free(clsi_ports **ports) {
    clsi_ports *p = *ports;
    if (!p) return;
    for (size_t i = 0; i < p->n_sources; i++) {
        free(p->sources[i]->clean);
        free(p->sources[i]);
    }
    for (size_t i = 0; i < p->n_components; i++) {
        free(p->components[i].port);
        free(p->components[i].input);
        free(p->components[i].flat_input);
    }
    for (size_t i = 0; i < p->n_scopes; i++) {
        free(p->scopes[i].port);
        free(p->scopes[i].names);
    }
    for (size_t i = 0; i < p->n_strings; i++) free(p->strings[i]);
    void *const lists[] = {p->sources, p->components, p->definitions, p->scopes, p->connections,
                           p->copies,  p->parent,     p->joints,      p->stores, p->map,
                           p->strings, p->inclusions, p->used_parts,  p->by_name};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    clsi_text_clear(&p->flat);
    free(p);
    *ports = NULL;
}

clsi_reader *clsi_source_of(const clsi_ports *p, clsi_span at) {
    return p->sources[at.source];
}

/* ---- ports ---- */

clsi_span clsi_span_of(size_t source, size_t begin, size_t end) {
    return (clsi_span){source, begin, end};
}

cls_status clsi_port_word(clsi_ports *p, size_t source, clsi_cursor *c, const char *after,
                          char **out, clsi_span *where) {
    clsi_reader *r = p->sources[source];
    char found[48];
    size_t length = clsi_word_length(r, c, 0);
    if (!length)
        return clsi_at(r, c->at, "expected a name after %s, found %s", after,
                       clsi_found(r, c, found));
    if (length > 40) return clsi_at(r, c->at, "this name is longer than 40 letters");
    *where = clsi_span_of(source, c->at, c->at + length);
    *out = clsi_keep(p, r->clean + c->at, length);
    c->at += length;
    return *out ? CLS_OK : CLS_MEMORY;
}

static cls_status new_node(clsi_ports *p, size_t *out) {
    if (!clsi_grow(&p->parent, &p->nodes_capacity, p->n_nodes + 1, sizeof *p->parent))
        return clsi_no_memory(p->error);
    p->parent[p->n_nodes] = p->n_nodes;
    *out = p->n_nodes++;
    return CLS_OK;
}

size_t clsi_node_root(const clsi_ports *p, size_t node) {
    while (p->parent[node] != node) node = p->parent[node];
    return node;
}

/* [entropy] NAME [unit] [with temperature NAME] */
static cls_status read_port(clsi_ports *p, size_t source, clsi_cursor *c, clsi_port *out) {
    clsi_reader *r = p->sources[source];
    out->thermal = clsi_accept_word(r, c, "entropy");
    cls_status status = clsi_port_word(p, source, c, out->thermal ? "`entropy`" : "`(` or `,`",
                                       &out->name, &out->where);
    if (status == CLS_OK && clsi_accept(r, c, "[")) {
        const char *end = memchr(r->clean + c->at, ']', c->end - c->at);
        if (!end) return clsi_at(r, c->at, "the unit has no closing `]`");
        size_t length = (size_t)(end - (r->clean + c->at));
        if (length > 40) return clsi_at(r, c->at, "the unit is longer than 40 letters");
        if (!(out->unit = clsi_keep(p, r->clean + c->at, length))) return CLS_MEMORY;
        c->at += length + 1;
    }
    if (status == CLS_OK && clsi_accept_word(r, c, "with")) {
        clsi_span where;
        if (!out->thermal || !clsi_accept_word(r, c, "temperature"))
            return clsi_at(r, c->at,
                           "expected `temperature` and its name after `with`, and `entropy` in "
                           "front of the port");
        status = clsi_port_word(p, source, c, "`temperature`", &out->temperature, &where);
    }
    return status == CLS_OK ? new_node(p, &out->node) : status;
}

cls_status clsi_list_ports(clsi_ports *p, size_t source, clsi_cursor *c, clsi_port **list,
                           size_t *n) {
    clsi_reader *r = p->sources[source];
    *list = clsi_calloc(MAX_PORTS, sizeof **list);
    if (!*list) return clsi_no_memory(p->error);
    cls_status status = clsi_expect(r, c, "(", "the name and before the list of its ports");
    while (status == CLS_OK) {
        if (*n == MAX_PORTS) return clsi_at(r, c->at, "more than %d ports", (int)MAX_PORTS);
        status = read_port(p, source, c, &(*list)[*n]);
        for (size_t i = 0; status == CLS_OK && i < *n; i++)
            if (strcmp((*list)[i].name, (*list)[*n].name) == 0)
                status = clsi_at(r, (*list)[*n].where.begin, "a second port `%s`", (*list)[i].name);
        if (status == CLS_OK) ++*n;
        if (status == CLS_OK && !clsi_accept(r, c, ",")) return clsi_expect(r, c, ")", "the ports");
    }
    return status;
}

size_t clsi_port_find(const clsi_component *c, const char *name, size_t length) {
    for (size_t i = 0; i < c->n_ports; i++)
        if (strlen(c->port[i].name) == length && memcmp(c->port[i].name, name, length) == 0)
            return i;
    return SIZE_MAX;
}

/* ---- components ---- */

static cls_status check_shape(clsi_ports *p, const clsi_component *c) {
    clsi_reader *r = clsi_source_of(p, c->title);
    size_t thermal = 0, plain;
    for (size_t i = 0; i < c->n_ports; i++) thermal += (size_t)c->port[i].thermal;
    plain = c->n_ports - thermal;
    switch (c->kind) {
    case CLSI_GYRATOR:
    case CLSI_TRANSFORMER:
        if (thermal || plain != 2)
            return clsi_at(r, c->title.begin, "`%s` needs two ports, none of them an entropy",
                           c->name);
        break;
    case CLSI_JUNCTION:
        if (thermal || plain < 2)
            return clsi_at(r, c->title.begin,
                           "`%s` needs two or more ports, none of them an entropy: heat moves "
                           "through resistive components",
                           c->name);
        break;
    case CLSI_RESISTIVE:
        if (!thermal || c->n_ports < 2)
            return clsi_at(r, c->title.begin,
                           "`%s` makes heat and needs a port for it: `resistive %s(p, entropy s): "
                           "...`, or two entropies for conduction",
                           c->name, c->local);
        break;
    case CLSI_ENVIRONMENT:
        if (thermal != 1 || plain > 1 || !c->port[0].thermal)
            return clsi_at(r, c->title.begin,
                           "`%s` needs an entropy, then perhaps a volume: `environment "
                           "%s(entropy s): 300` or `%s(entropy s, V): 300, 1e5`",
                           c->name, c->local, c->local);
        break;
    case CLSI_EXTERNAL:
        if (thermal || plain != 1)
            return clsi_at(r, c->title.begin, "`%s` needs one port, which is not an entropy",
                           c->name);
        break;
    case CLSI_STORAGE: break;
    }
    return CLS_OK;
}

/* ---- names: a file may have many thousands, and each is asked for by connections ---- */

static const size_t NOBODY = SIZE_MAX;
static const size_t SCOPE =
    SIZE_MAX ^ (SIZE_MAX >> 1); /* the number of a composite, not of a component */

/* The name of a component, or that of a composite: its prefix without the _ behind it. */
static const char *name_of(const clsi_ports *p, size_t entry, size_t *length) {
    const char *name = entry & SCOPE ? p->scopes[entry ^ SCOPE].prefix : p->components[entry].name;
    *length = strlen(name) - (entry & SCOPE ? 1 : 0);
    return name;
}

static size_t place_of(const clsi_ports *p, const char *name, size_t n) {
    size_t at = clsi_hash_text(name, n) % p->by_name_room, length;
    for (; p->by_name[at] != NOBODY; at = (at + 1) % p->by_name_room) {
        const char *other = name_of(p, p->by_name[at], &length);
        if (length == n && memcmp(other, name, n) == 0) break;
    }
    return at;
}

static size_t entry_of(const clsi_ports *p, const char *name) {
    return p->by_name_room ? p->by_name[place_of(p, name, strlen(name))] : NOBODY;
}

clsi_component *clsi_component_find(const clsi_ports *p, const char *name) {
    size_t entry = entry_of(p, name);
    return entry & SCOPE ? NULL : &p->components[entry];
}

clsi_scope_names *clsi_composite_find(const clsi_ports *p, const char *name) {
    size_t entry = entry_of(p, name);
    return entry != NOBODY && entry & SCOPE ? &p->scopes[entry ^ SCOPE] : NULL;
}

static void put_name(clsi_ports *p, size_t entry) {
    size_t n;
    const char *name = name_of(p, entry, &n);
    p->by_name[place_of(p, name, n)] = entry;
}

/* One more name; half of the places stay free. */
static cls_status keep_name(clsi_ports *p, size_t entry) {
    size_t names = p->n_components + p->n_scopes;
    if (2 * (names + 1) > p->by_name_room) {
        size_t room = 4 * (names + 8), *places = clsi_malloc(room * sizeof *places);
        if (!places) return clsi_no_memory(p->error);
        free(p->by_name);
        p->by_name = places;
        p->by_name_room = room;
        for (size_t i = 0; i < room; i++) places[i] = NOBODY;
        for (size_t i = 0; i < p->n_components; i++) put_name(p, i);
        for (size_t i = 1; i < p->n_scopes; i++) put_name(p, i | SCOPE);
    }
    put_name(p, entry);
    return CLS_OK;
}

cls_status clsi_open_scope(clsi_ports *p, size_t outer, const char *prefix, clsi_span title) {
    if (!clsi_grow(&p->scopes, &p->scopes_capacity, p->n_scopes + 1, sizeof *p->scopes) ||
        !(prefix = clsi_keep(p, prefix, strlen(prefix))))
        return clsi_no_memory(p->error);
    size_t own = p->n_scopes++;
    p->scopes[own] = (clsi_scope_names){.prefix = (char *)prefix, .outer = outer, .title = title};
    return own ? keep_name(p, own | SCOPE) : CLS_OK; /* the file itself has no name */
}

cls_status clsi_name_is_free(clsi_ports *p, const char *name, clsi_span title) {
    return entry_of(p, name) == NOBODY
               ? CLS_OK
               : clsi_at(clsi_source_of(p, title), title.begin, "a second component `%s`", name);
}

/* A component of this name inside of the scope. */
static cls_status add_component(clsi_ports *p, size_t scope, char *local, clsi_span title,
                                const clsi_component *like) {
    clsi_reader *r = clsi_source_of(p, title);
    if (p->n_components == MAX_COMPONENTS)
        return clsi_at(r, title.begin, "more than %d components", (int)MAX_COMPONENTS);
    if (!clsi_grow(&p->components, &p->components_capacity, p->n_components + 1,
                   sizeof *p->components))
        return clsi_no_memory(p->error);
    clsi_component *x = &p->components[p->n_components];
    *x = *like;
    x->local = local;
    x->title = title;
    x->name = clsi_keep_printf(p, "%s%s", p->scopes[scope].prefix, local);
    if (!x->name) return clsi_at(r, title.begin, "this name is too long");
    cls_status status = clsi_name_is_free(p, x->name, title);
    if (status == CLS_OK) status = keep_name(p, p->n_components);
    p->n_components += status == CLS_OK;
    return status;
}

static cls_status read_ports(clsi_ports *p, clsi_component *x, size_t source, clsi_cursor *c) {
    cls_status status = clsi_list_ports(p, source, c, &x->port, &x->n_ports);
    if (x->kind == CLSI_ENVIRONMENT && x->n_ports) x->port[0].thermal = 1;
    return status;
}

cls_status clsi_read_component(clsi_ports *p, size_t scope, size_t source, clsi_cursor c,
                               clsi_component_kind kind, clsi_span whole, char *used) {
    clsi_component like = {
        .kind = kind, .scope = scope, .whole = whole, .used = used, .definition = SIZE_MAX};
    char *local = NULL;
    clsi_span title = {0};
    cls_status status = clsi_port_word(p, source, &c, "the kind of the component", &local, &title);
    if (status == CLS_OK) status = add_component(p, scope, local, title, &like);
    if (status != CLS_OK) return status;
    clsi_component *x = &p->components[p->n_components - 1];
    status = read_ports(p, x, source, &c);
    if (status == CLS_OK) status = clsi_expect(p->sources[source], &c, ":", "the ports");
    x->body = clsi_span_of(source, c.at, c.end);
    return status == CLS_OK ? check_shape(p, x) : status;
}

cls_status clsi_use_component(clsi_ports *p, size_t scope, size_t definition, char *local,
                              clsi_span title, clsi_span whole) {
    const clsi_definition *d = &p->definitions[definition];
    clsi_component like = {.kind = d->kind, .whole = whole, .body = d->body};
    like.definition = definition; /* its formula knows the names of the file, scope 0 */
    cls_status status = add_component(p, scope, local, title, &like);
    if (status != CLS_OK) return status;
    clsi_component *x = &p->components[p->n_components - 1];
    clsi_cursor ports = {d->ports.begin, d->ports.end};
    status = read_ports(p, x, d->ports.source, &ports);
    return status == CLS_OK ? check_shape(p, x) : status;
}
