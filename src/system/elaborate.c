/* Statements about components become components.
 *
 * Problem: a system file of components names files it includes, composites it uses (each use is a
 * copy with its own names) and connections between ports. Here all of it is unrolled into one list
 * of components with ports and the union of the ports that are connected; wiring.c says what that
 * means. Texts are never rewritten: a component keeps ranges of offsets into the file it came from,
 * so that every complaint names the right file, line and column. Cost: one walk over the text per
 * use of it. What is not a statement about components is kept for the flat text as it is. */
#include "system/ports.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 16, MAX_BYTES = 1 << 20 };

/* ---- texts ---- */

static cls_status add_source(clsi_ports *p, const char *text, const char *file, size_t *out) {
    clsi_reader *r = clsi_calloc(1, sizeof *r);
    if (!r || !clsi_grow(&p->sources, &p->sources_capacity, p->n_sources + 1, sizeof r)) {
        free(r);
        return clsi_no_memory(p->error);
    }
    *out = p->n_sources;
    p->sources[p->n_sources++] = r;
    r->error = p->error;
    r->length = strlen(text);
    r->file = clsi_keep(p, file, strlen(file));
    r->text = clsi_keep(p, text, r->length);
    return r->file && r->text ? clsi_clean_text(r) : CLS_MEMORY;
}

/* ---- statements ---- */

static size_t line_end(const clsi_reader *r, size_t at, size_t end) {
    const char *newline = memchr(r->clean + at, '\n', end - at);
    return newline ? (size_t)(newline - r->clean) : end;
}

/* White space in front of the line at `at`, SIZE_MAX for a blank one. */
static size_t indentation(const clsi_reader *r, size_t at, size_t end) {
    size_t stop = line_end(r, at, end), i = at;
    while (i < stop && r->clean[i] == ' ') i++;
    return i == stop ? SIZE_MAX : i - at;
}

/* Behind the brace that closes the one at `at`, or 0. */
static size_t closing(const clsi_reader *r, size_t at, size_t end) {
    int depth = 0;
    for (; at < end; at++) {
        depth += r->clean[at] == '{';
        depth -= r->clean[at] == '}';
        if (depth == 0) return at + 1;
    }
    return 0;
}

/* The next statement in [*at, end), whose lines begin at column `base`: continued by lines that
 * begin further right, or by the braces of a component. 0 when there is none left. */
static int next_statement(const clsi_reader *r, size_t *at, size_t end, size_t base,
                          clsi_cursor *out) {
    while (*at < end && indentation(r, *at, end) == SIZE_MAX) *at = line_end(r, *at, end) + 1;
    if (*at >= end) return 0;
    out->at = *at + indentation(r, *at, end);
    out->end = line_end(r, *at, end);
    clsi_cursor c = *out;
    const char *brace = memchr(r->clean + c.at, '{', c.end - c.at);
    if (clsi_accept_word(r, &c, "component") && brace) {
        size_t last = closing(r, (size_t)(brace - r->clean), end);
        if (last) out->end = line_end(r, last, end);
    }
    *at = out->end + 1;
    while (*at < end) {
        size_t white = indentation(r, *at, end);
        if (white != SIZE_MAX && white <= base) break;
        if (white != SIZE_MAX) out->end = line_end(r, *at, end);
        *at = line_end(r, *at, end) + 1;
    }
    return 1;
}

static int is_port_word(const clsi_reader *r, clsi_cursor c) {
    static const char *const words[] = {"connect", "free", "component", "use", "include", "dirac"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (clsi_accept_word(r, &c, words[i])) return 1;
    clsi_component_kind kind; /* `external` is a word of other systems, too */
    return clsi_accept_kind(r, &c, &kind) && kind != CLSI_EXTERNAL;
}

int clsi_has_ports(const clsi_reader *r) {
    clsi_cursor c;
    for (size_t at = 0; next_statement(r, &at, r->length, 0, &c);)
        if (is_port_word(r, c)) return 1;
    return 0;
}

/* "file" in quotes. */
static cls_status read_quoted(clsi_ports *p, size_t source, clsi_cursor *c, const char *after,
                              char **out) {
    clsi_reader *r = p->sources[source];
    cls_status status = clsi_expect(r, c, "\"", after);
    if (status != CLS_OK) return status;
    const char *end = memchr(r->clean + c->at, '"', c->end - c->at);
    if (!end) return clsi_at(r, c->at, "the name of the file has no closing `\"`");
    size_t length = (size_t)(end - (r->clean + c->at));
    if (length == 0) return clsi_at(r, c->at, "expected the name of a file");
    *out = clsi_keep(p, r->text + c->at, length);
    c->at += length + 1;
    return *out ? CLS_OK : CLS_MEMORY;
}

/* ---- composites and files ---- */

static cls_status elaborate(clsi_ports *p, size_t scope, clsi_span text, size_t base);
static cls_status keep_statement(clsi_ports *p, size_t scope, clsi_span span);

/* { statements } */
static cls_status read_composite(clsi_ports *p, size_t source, clsi_cursor *c, clsi_definition *d) {
    clsi_reader *r = p->sources[source];
    cls_status status = clsi_expect(r, c, "{", "the component's name and ports");
    if (status != CLS_OK) return status;
    size_t last = closing(r, c->at - 1, c->end);
    if (!last) return clsi_at(r, d->title.begin, "component `%s` has no closing `}`", d->name);
    d->body = clsi_span_of(source, c->at, last - 1);
    c->at = last;
    return clsi_expect_end(r, c);
}

/* KIND FORMULA: one component, whose instances share what is unknown of it. */
static cls_status read_single(clsi_ports *p, size_t source, clsi_cursor *c, clsi_definition *d) {
    clsi_reader *r = p->sources[source];
    char found[48];
    d->single = 1;
    if (!clsi_accept_kind(r, c, &d->kind))
        return clsi_at(r, c->at,
                       "expected the kind of component `%s` after `:`, found %s: write `component "
                       "%s(q): storage unknown`, or several components between `{` and `}`",
                       d->name, clsi_found(r, c, found), d->name);
    if (d->ports.begin == d->ports.end)
        return clsi_at(r, d->title.begin,
                       "component `%s` has no ports: write `component %s(q): ...`", d->name,
                       d->name);
    d->body = clsi_span_of(source, c->at, c->end);
    return CLS_OK;
}

static cls_status read_definition(clsi_ports *p, size_t source, clsi_cursor c) {
    clsi_reader *r = p->sources[source];
    clsi_definition d = {0};
    cls_status status = clsi_port_word(p, source, &c, "`component`", &d.name, &d.title);
    if (status != CLS_OK) return status;
    for (size_t i = 0; i < p->n_definitions; i++)
        if (strcmp(p->definitions[i].name, d.name) == 0)
            return clsi_at(r, d.title.begin, "a second definition of component `%s`", d.name);
    size_t first = c.at;
    if (clsi_accept(r, &c, "(")) {
        const char *end = memchr(r->clean + c.at, ')', c.end - c.at);
        if (!end) return clsi_at(r, c.at, "the list of ports has no closing `)`");
        c.at = (size_t)(end - r->clean) + 1;
    }
    d.ports = clsi_span_of(source, first, c.at);
    status = clsi_accept(r, &c, ":") ? read_single(p, source, &c, &d)
                                     : read_composite(p, source, &c, &d);
    if (status != CLS_OK) return status;
    if (!clsi_grow(&p->definitions, &p->definitions_capacity, p->n_definitions + 1, sizeof d))
        return clsi_no_memory(p->error);
    p->definitions[p->n_definitions++] = d;
    return CLS_OK;
}

/* Notes that the statement at `at` stands for another text. */
static cls_status note_inclusion(clsi_ports *p, clsi_span at, size_t source) {
    for (size_t i = 0; i < p->n_inclusions; i++)
        if (p->inclusions[i].at.source == at.source && p->inclusions[i].at.begin == at.begin)
            return CLS_OK; /* a composite that is used twice */
    if (!clsi_grow(&p->inclusions, &p->inclusions_capacity, p->n_inclusions + 1,
                   sizeof *p->inclusions))
        return clsi_no_memory(p->error);
    p->inclusions[p->n_inclusions++] = (clsi_inclusion){at, source};
    return CLS_OK;
}

/* The file that holds one text seen from another. */
static char *path_beside(clsi_ports *p, const char *from, const char *file) {
    const char *slash = strrchr(from, '/');
    if (file[0] == '/' || !slash) return clsi_keep(p, file, strlen(file));
    return clsi_keep_printf(p, "%.*s/%s", (int)(slash - from), from, file);
}

static cls_status read_include(clsi_ports *p, size_t scope, size_t source, clsi_cursor c,
                               clsi_span whole) {
    clsi_reader *r = p->sources[source];
    char *name = NULL, *path, *text = NULL;
    clsi_skip_space(r, &c);
    size_t length, next = 0, where = c.at;
    cls_status status = read_quoted(p, source, &c, "`include`", &name);
    if (status == CLS_OK) status = clsi_expect_end(r, &c);
    if (status != CLS_OK) return status;
    if (scope != 0)
        return clsi_at(r, where, "`include` stands in the file itself, not inside a component");
    if (!(path = path_beside(p, r->file, name))) return CLS_MEMORY;
    for (size_t i = 0; i < p->n_sources; i++)
        if (strcmp(p->sources[i]->file, path) == 0)
            return clsi_at(r, where, "%s is included already", path);
    cls_error inner = {0};
    status = clsi_check_regular(path, &inner);
    if (!status) status = clsi_read_file(path, MAX_BYTES, &text, &length, &inner);
    if (status == CLS_MEMORY) return clsi_no_memory(p->error);
    if (status != CLS_OK) return clsi_at(r, where, "%s", inner.message);
    if (strlen(text) != length)
        status = clsi_at(r, where, "%s contains a NUL byte: a system file is plain text", path);
    if (status == CLS_OK) status = add_source(p, text, path, &next);
    free(text);
    if (status == CLS_OK) status = note_inclusion(p, whole, next);
    if (status != CLS_OK) return status;
    return elaborate(p, scope, clsi_span_of(next, 0, p->sources[next]->length), 0);
}

static const clsi_definition *find_definition(const clsi_ports *p, const char *name) {
    for (size_t i = 0; i < p->n_definitions; i++)
        if (strcmp(p->definitions[i].name, name) == 0) return &p->definitions[i];
    return NULL;
}

static cls_status no_definition(clsi_ports *p, const char *name, clsi_span where) {
    const char **words = clsi_calloc(p->n_definitions + 1, sizeof *words);
    if (!words) return clsi_no_memory(p->error);
    for (size_t i = 0; i < p->n_definitions; i++) words[i] = p->definitions[i].name;
    const char *near = cls_nearest_word(name, p->n_definitions, words);
    free(words);
    return clsi_at(clsi_source_of(p, where), where.begin,
                   "no component is called `%s`%s%s%s; define it with `component %s(...) { ... }`",
                   name, near ? ": did you mean `" : "", near ? near : "", near ? "`?" : "", name);
}

static size_t base_of(const clsi_reader *r, clsi_span text) {
    size_t at = text.begin;
    while (at < text.end && (at > text.begin && r->clean[at - 1] != '\n')) at++;
    while (at < text.end) {
        size_t white = indentation(r, at, text.end);
        if (white != SIZE_MAX && at > text.begin) return white;
        at = line_end(r, at, text.end) + 1;
    }
    return 0;
}

/* use NAME as INSTANCE [: m = 1, c = 2] */
static cls_status use_composite(clsi_ports *p, size_t scope, size_t source, clsi_cursor c,
                                const char *name, clsi_span named, clsi_span whole) {
    char *local = NULL, *prefix;
    clsi_span title = {0};
    clsi_reader *r = p->sources[source];
    const clsi_definition *found = find_definition(p, name);
    cls_status status = found ? clsi_port_word(p, source, &c, "`as`", &local, &title)
                              : no_definition(p, name, named);
    if (status != CLS_OK) return status;
    clsi_definition d = *found; /* the list may move */
    if (d.single) {
        clsi_cursor set = c;
        if (clsi_accept(r, &set, ":"))
            return clsi_at(r, c.at, "component `%s` is one component and has no parameters to set",
                           d.name);
        status = clsi_expect_end(r, &c);
        return status == CLS_OK ? clsi_use_component(p, scope, (size_t)(found - p->definitions),
                                                     local, title, whole)
                                : status;
    }
    if (!(prefix = clsi_keep_printf(p, "%s%s_", p->scopes[scope].prefix, local)))
        return clsi_at(r, title.begin, "this name is too long");
    char *flat = clsi_keep(p, prefix, strlen(prefix) - 1);
    status = flat ? clsi_name_is_free(p, flat, title) : CLS_MEMORY;
    if (status == CLS_OK) status = clsi_open_scope(p, scope, prefix, title);
    if (status != CLS_OK) return status;
    size_t inner = p->n_scopes - 1;
    clsi_cursor ports = {d.ports.begin, d.ports.end};
    if (ports.at < ports.end) {
        clsi_port *list = NULL;
        size_t n = 0;
        status = clsi_list_ports(p, d.ports.source, &ports, &list, &n);
        p->scopes[inner].port = list;
        p->scopes[inner].n_ports = n;
    }
    if (status == CLS_OK && clsi_accept(r, &c, ":"))
        p->scopes[inner].set = clsi_span_of(source, c.at, c.end);
    else if (status == CLS_OK)
        status = clsi_expect_end(r, &c);
    return status == CLS_OK
               ? elaborate(p, inner, d.body, base_of(p->sources[d.body.source], d.body))
               : status;
}

/* A term of an ode: the statement `part NAME of ... = unknown` is the file's own. */
static cls_status use_part(clsi_ports *p, size_t scope, clsi_span where, clsi_span statement,
                           char *name, char *path) {
    if (scope)
        return clsi_at(clsi_source_of(p, where), where.begin,
                       "%s holds a part of an ode, which has no ports: use it in the file itself, "
                       "not inside a component",
                       path);
    if (!clsi_grow(&p->used_parts, &p->used_parts_capacity, p->n_used_parts + 1,
                   sizeof *p->used_parts))
        return clsi_no_memory(p->error);
    p->used_parts[p->n_used_parts++] = (clsi_used_part){name, path};
    return keep_statement(p, 0, statement);
}

/* use "FILE" as NAME: the declaration stands in the file of the learned component. */
static cls_status use_learned(clsi_ports *p, size_t scope, size_t source, clsi_cursor c,
                              const char *file, size_t where, clsi_span whole) {
    char *name = NULL, *path, *text = NULL;
    clsi_span title = {0};
    clsi_reader *r = p->sources[source];
    cls_status status = clsi_port_word(p, source, &c, "`as`", &name, &title);
    if (status == CLS_OK) status = clsi_expect_end(r, &c);
    if (status != CLS_OK) return status;
    if (!p->loader)
        return clsi_at(r, where,
                       "the learned component %s cannot be read here: load the file as a model",
                       file);
    if (!(path = path_beside(p, r->file, file))) return CLS_MEMORY;
    cls_error inner = {0};
    status = p->loader->declaration(p->loader->context, path, name, &text, &inner);
    if (status == CLS_MEMORY) return clsi_no_memory(p->error);
    if (status != CLS_OK) return clsi_at(r, where, "%s", inner.message);
    size_t next = 0;
    status = add_source(p, text, path, &next);
    free(text);
    if (status == CLS_OK) status = note_inclusion(p, whole, next);
    if (status != CLS_OK) return status;
    clsi_cursor body = {0, p->sources[next]->length};
    if (clsi_accept_word(p->sources[next], &body, "part"))
        return use_part(p, scope, clsi_span_of(source, where, c.end),
                        clsi_span_of(next, 0, p->sources[next]->length), name, path);
    int storage = clsi_accept_word(p->sources[next], &body, "storage");
    if (!storage && !clsi_accept_word(p->sources[next], &body, "resistive"))
        return clsi_at(r, where, "%s holds no storage and no resistive component", path);
    return clsi_read_component(p, scope, next, body, storage ? CLSI_STORAGE : CLSI_RESISTIVE,
                               clsi_span_of(source, where, c.end), path);
}

static cls_status read_use(clsi_ports *p, size_t scope, size_t source, clsi_cursor c,
                           clsi_span whole) {
    clsi_reader *r = p->sources[source];
    char *name = NULL;
    clsi_span where = {0};
    clsi_skip_space(r, &c);
    size_t begin = c.at;
    int quoted = c.at < c.end && r->clean[c.at] == '"';
    cls_status status = quoted ? read_quoted(p, source, &c, "`use`", &name)
                               : clsi_port_word(p, source, &c, "`use`", &name, &where);
    char found[48];
    if (status == CLS_OK && !clsi_accept_word(r, &c, "as"))
        status = clsi_at(r, c.at, "expected `as` and a name after `use %s`, found %s", name,
                         clsi_found(r, &c, found));
    if (status != CLS_OK) return status;
    return quoted ? use_learned(p, scope, source, c, name, begin, whole)
                  : use_composite(p, scope, source, c, name, where, whole);
}

/* dirac NAME(...): ... is a composite of transformers and a junction, whose text is written for it. */
static cls_status read_dirac(clsi_ports *p, size_t scope, size_t source, clsi_cursor c) {
    clsi_text text = {0};
    size_t next = 0, at = 0;
    cls_status status = clsi_write_dirac(p, scope, source, c, &text);
    if (status == CLS_OK) status = add_source(p, text.data, p->sources[source]->file, &next);
    clsi_text_clear(&text);
    clsi_reader *r = status == CLS_OK ? p->sources[next] : NULL;
    clsi_cursor part;
    while (status == CLS_OK && next_statement(r, &at, r->length, 0, &part)) {
        clsi_span whole = clsi_span_of(next, part.at, part.end);
        if (clsi_accept_word(r, &part, "component"))
            status = read_definition(p, next, part);
        else if (clsi_accept_word(r, &part, "use"))
            status = read_use(p, scope, next, part, whole);
    }
    return status;
}

/* ---- names of a composite ---- */

static cls_status add_scope_name(clsi_ports *p, size_t scope, const char *name, size_t length) {
    clsi_scope_names *s = &p->scopes[scope];
    char *own = clsi_keep(p, name, length);
    if (!own || !clsi_grow(&s->names, &s->capacity, s->n + 1, sizeof *s->names))
        return clsi_no_memory(p->error);
    s->names[s->n++] = own;
    return CLS_OK;
}

/* NAME = ..., NAME = ... of a parameter or let inside a composite. */
static cls_status note_names(clsi_ports *p, size_t scope, const clsi_reader *r, clsi_cursor c) {
    cls_status status = CLS_OK;
    do {
        size_t length = clsi_word_length(r, &c, 0);
        if (length) status = add_scope_name(p, scope, r->clean + c.at, length);
        c.at = clsi_item_end(r, &c);
    } while (status == CLS_OK && clsi_accept(r, &c, ","));
    return status;
}

static cls_status keep_statement(clsi_ports *p, size_t scope, clsi_span span) {
    clsi_reader *r = clsi_source_of(p, span);
    clsi_cursor c = {span.begin, span.end}, after = c;
    cls_status meant = clsi_check_kind(r, c);
    if (meant != CLS_OK) return meant;
    int named = clsi_accept_word(r, &after, "parameter") || clsi_accept_word(r, &after, "let");
    if (scope && !named)
        return clsi_at(r, span.begin,
                       "inside a component stand parameters, lets, components, `use` and "
                       "`connect`");
    if (span.source && clsi_accept_word(r, &c, "system")) return CLS_OK; /* the includer's counts */
    cls_status status = scope ? note_names(p, scope, r, after) : CLS_OK;
    if (status != CLS_OK) return status;
    if (!clsi_grow(&p->copies, &p->copies_capacity, p->n_copies + 1, sizeof *p->copies))
        return clsi_no_memory(p->error);
    p->copies[p->n_copies++] = (clsi_statement_copy){scope, span};
    return CLS_OK;
}

/* ---- all statements of a text ---- */

static cls_status read_statement(clsi_ports *p, size_t scope, size_t source, clsi_cursor c) {
    clsi_reader *r = p->sources[source];
    clsi_span whole = clsi_span_of(source, c.at, c.end);
    clsi_cursor rest = c;
    if (clsi_accept_word(r, &rest, "component")) return CLS_OK; /* read before */
    if (clsi_accept_word(r, &rest, "include")) return read_include(p, scope, source, rest, whole);
    if (clsi_accept_word(r, &rest, "use")) return read_use(p, scope, source, rest, whole);
    if (clsi_accept_word(r, &rest, "dirac")) return read_dirac(p, scope, source, rest);
    int free = clsi_accept_word(r, &rest, "free");
    if (free || clsi_accept_word(r, &rest, "connect")) {
        if (!clsi_grow(&p->connections, &p->connections_capacity, p->n_connections + 1,
                       sizeof *p->connections))
            return clsi_no_memory(p->error);
        p->connections[p->n_connections++] =
            (clsi_connection){scope, clsi_span_of(source, rest.at, rest.end), free};
        return CLS_OK;
    }
    clsi_component_kind kind;
    if (clsi_accept_kind(r, &rest, &kind))
        return clsi_read_component(p, scope, source, rest, kind, whole, NULL);
    return keep_statement(p, scope, whole);
}

static cls_status elaborate(clsi_ports *p, size_t scope, clsi_span text, size_t base) {
    clsi_reader *r = p->sources[text.source];
    clsi_cursor c;
    cls_status status = CLS_OK;
    if (++p->depth > MAX_DEPTH)
        return clsi_at(r, text.begin,
                       "components inside components more than %d deep: does one "
                       "use itself?",
                       (int)MAX_DEPTH);
    for (size_t at = text.begin; status == CLS_OK && next_statement(r, &at, text.end, base, &c);) {
        clsi_cursor rest = c;
        if (!clsi_accept_word(r, &rest, "component")) continue;
        status = scope ? clsi_at(r, c.at,
                                 "a component is defined in the file itself, not inside "
                                 "another one: `use` it there")
                       : read_definition(p, text.source, rest);
    }
    for (size_t at = text.begin; status == CLS_OK && next_statement(r, &at, text.end, base, &c);)
        status = read_statement(p, scope, text.source, c);
    p->depth--;
    return status;
}

cls_status clsi_ports_elaborate(clsi_ports *p, const clsi_reader *r) {
    size_t source = 0;
    cls_status status = add_source(p, r->text, r->file, &source);
    if (status == CLS_OK) p->sources[source]->arrays = r->arrays; /* for complaints */
    if (status == CLS_OK) status = clsi_open_scope(p, 0, "", clsi_span_of(source, 0, 0));
    if (status == CLS_OK)
        status = elaborate(p, 0, clsi_span_of(source, 0, p->sources[source]->length), 0);
    return status == CLS_OK ? clsi_ports_connect(p) : status;
}

static void expand(const clsi_ports *p, size_t source, clsi_text *out) {
    const clsi_reader *r = p->sources[source];
    size_t at = 0;
    for (;;) { /* inclusions are noted in the order of elaboration, not of the text */
        const clsi_inclusion *next = NULL;
        for (size_t i = 0; i < p->n_inclusions; i++) {
            const clsi_inclusion *x = &p->inclusions[i];
            if (x->at.source == source && x->at.begin >= at &&
                (!next || x->at.begin < next->at.begin))
                next = x;
        }
        clsi_text_append_n(out, r->text + at, (next ? next->at.begin : r->length) - at);
        if (!next) return;
        expand(p, next->source, out);
        at = next->at.end;
    }
}

cls_status clsi_ports_expand(clsi_ports *p, char **out) {
    clsi_text text = {0};
    clsi_text_append(&text, "");
    expand(p, 0, &text);
    *out = clsi_text_take(&text);
    return *out ? CLS_OK : clsi_no_memory(p->error);
}
