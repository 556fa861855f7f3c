/* One table of names for a whole file, so that no name means two things.
 *
 * Lookup is by hashing: arrays bring names by the hundred thousand. A formula is checked after it is parsed, on its symbols, so that a `let` cannot smuggle
 * a velocity into a hamiltonian. */
#include "base/alike.h"
#include "base/probe.h"
#include "expr/graph.h"
#include "expr/vocabulary.h"
#include "system/language.h"
#include "system/pattern.h"
#include <stdlib.h>
#include <string.h>

static const char *const reserved[] = {"time",
                                       "energy",
                                       "entropy",
                                       "work",
                                       "heat",
                                       "trajectory",
                                       "t",
                                       "pi",
                                       "inf",
                                       "infinity",
                                       "unknown",
                                       "of",
                                       "on",
                                       "in",
                                       "with",
                                       "at",
#define FUNCTION_NAME(name, text) text,
                                       CLS_FUNCTION_LIST(FUNCTION_NAME)
#undef FUNCTION_NAME
};

int clsi_names_function(const char *word) {
#define IS_FUNCTION(name, text)                                                                    \
    if (strcmp(word, text) == 0) return 1;
    CLS_FUNCTION_LIST(IS_FUNCTION)
#undef IS_FUNCTION
    return 0;
}

static const char *kind_text(clsi_kind kind) {
    switch (kind) {
    case CLSI_COORDINATE: return "a coordinate";
    case CLSI_VELOCITY: return "a velocity";
    case CLSI_MOMENTUM: return "a momentum";
    case CLSI_ENTROPY: return "an entropy";
    case CLSI_TEMPERATURE: return "a temperature";
    case CLSI_TIME: return "the time";
    case CLSI_PARAMETER: return "a parameter";
    case CLSI_LET: return "a let";
    case CLSI_INPUT: return "an input";
    case CLSI_LABEL: return "the name of a part, an invariant or an output";
    }
    return "a name";
}

const clsi_name *clsi_lookup(const clsi_reader *r, const char *name, size_t length, int kinds) {
    if (!r->n_names) return NULL;
    if (r->lean && length) {
        const clsi_name *n;
        if (r->turning && name >= r->clean && name < r->clean + r->length) {
            if (!clsi_turned_name(r, name, length, &n)) return NULL;
        } else {
            n = clsi_block_lookup(r, name, length);
        }
        if (n) return ((int)n->kind & kinds) ? n : NULL;
    }
    clsi_probe at = clsi_probe_name(name, length, r->name_slots);
    for (; r->name_table[at.slot]; clsi_probe_next(&at)) {
        const clsi_name *n = &r->names[r->name_table[at.slot] - 1];
        if (clsi_word_is(n->name, name, length))
            return ((int)n->kind & kinds) ? n : NULL; /* no name means two things */
    }
    return NULL;
}

const clsi_name *clsi_name_of_symbol(const clsi_reader *r, cls_node a, int kinds) {
    if (r->n_blocks) {
        size_t element, stem;
        const clsi_symbol_block *b = clsi_block_by_node(r->s->g, a, &element, &stem);
        if (b) {
            const clsi_array_names *k = &r->blocks[b - r->s->g->blocks];
            return ((int)k->kind[stem] & kinds) ? clsi_block_member(r, b, element, stem) : NULL;
        }
    }
    if (a >= r->symbol_names_room || !r->symbol_names[a]) return NULL;
    const clsi_name *n = &r->names[r->symbol_names[a] - 1];
    return ((int)n->kind & kinds) ? n : NULL;
}

/* The name that was inserted last is that of its node, where this is the symbol of the same name. */
static int note_symbol(clsi_reader *r) {
    const clsi_name *n = &r->names[r->n_names - 1];
    size_t before = r->symbol_names_room;
    if (cls_node_op(r->s->g, n->node) != CLS_OP_SYMBOL ||
        strcmp(cls_node_name(r->s->g, n->node), n->name) != 0)
        return 1;
    if (!clsi_grow(&r->symbol_names, &r->symbol_names_room, (size_t)n->node + 1,
                   sizeof *r->symbol_names))
        return 0;
    if (r->symbol_names_room > before)
        memset(r->symbol_names + before, 0,
               (r->symbol_names_room - before) * sizeof *r->symbol_names);
    r->symbol_names[n->node] = (uint32_t)r->n_names;
    if (n->kind == CLSI_LET) clsi_replacer_forget(r->lets, n->node);
    if (n->kind == CLSI_PARAMETER) clsi_replacer_forget(r->parameters, n->node);
    return 1;
}

/* Room for one more name in the table, which is at most half full. */
static int grow_table(clsi_reader *r) {
    if (2 * (r->n_names + 1) <= r->name_slots) return 1;
    size_t slots = r->name_slots ? 2 * r->name_slots : 64;
    uint32_t *table = clsi_calloc(slots, sizeof *table);
    if (!table) return 0;
    for (size_t i = 0; i < r->n_names; i++) {
        clsi_probe at = clsi_probe_name(r->names[i].name, strlen(r->names[i].name), slots);
        while (table[at.slot]) clsi_probe_next(&at);
        table[at.slot] = (uint32_t)i + 1;
    }
    free(r->name_table);
    r->name_table = table;
    r->name_slots = slots;
    return 1;
}

cls_node clsi_scope_find(const void *scope, const char *name, size_t length) {
    const clsi_reader *r = ((const clsi_reader_scope *)scope)->r;
    for (size_t i = 0; r->defining && i < r->defining->n; i++)
        if (clsi_word_is(r->defining->argument[i], name, length))
            return r->arguments ? r->arguments[i] : r->defining->symbol[i];
    const clsi_name *n = clsi_lookup(r, name, length, ~CLSI_LABEL);
    return n ? n->node : CLS_NO_NODE;
}

static int line_of(const clsi_reader *r, size_t where) {
    int line = 1;
    r = clsi_origin_of(r, &where, NULL);
    for (size_t i = 0; i < where && i < r->length; i++) line += r->text[i] == '\n';
    return line;
}

/* An element of the array `name`: the first, or any that is declared by itself at 0 or 1. */
static const clsi_name *element_of(const clsi_reader *r, const char *name, size_t length) {
    enum { MOST_ARRAYS = 1000 }; /* of more, which nobody writes, not all are looked at: time */
    const clsi_name *found = NULL;
    char element[128];
    const clsi_loops *a = r->arrays;
    for (size_t k = 0; a && k < a->n_arrays && k < MOST_ARRAYS && !found; k++) {
        const clsi_array *x = &a->arrays[k];
        if (!clsi_word_is(x->name, name, length)) continue;
        int n = snprintf(element, sizeof element, "%.*s", (int)length, name);
        for (size_t j = 0; j < x->n; j++)
            n += snprintf(element + n, sizeof element - (size_t)n, "[%ld]", x->low[j]);
        found = clsi_lookup(r, element, (size_t)n, ~CLSI_LABEL);
    }
    for (int i = 0; i < 2 && !found && a; i++) {
        int n = snprintf(element, sizeof element, "%.*s[%d]", (int)length, name, i);
        found = clsi_lookup(r, element, (size_t)n, ~CLSI_LABEL);
    }
    return found;
}

cls_status clsi_array_is_free(clsi_reader *r, const char *name, size_t length, size_t where) {
    const char *open = memchr(name, '[', length);
    size_t stem = open ? (size_t)(open - name) : length;
    const clsi_name *old = NULL;
    if (length > 63 || !r->arrays) return CLS_OK;
    if (!open)
        old = element_of(r, name, length);
    else if (name[length - 1] == ']') /* not c[1]_q */
        old = clsi_lookup(r, name, stem, ~CLSI_LABEL);
    if (!old) return CLS_OK;
    return clsi_at(r, where, "`%.*s` is already %s%s, declared in line %d: a name means one thing",
                   (int)stem, name, kind_text(old->kind), open ? "" : " with indices",
                   line_of(r, old->where));
}

cls_status clsi_check_free(clsi_reader *r, const char *name, size_t length, clsi_kind kind,
                           size_t where) {
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved && kind != CLSI_TIME; i++)
        if (reserved[i][0] == name[0] && clsi_word_is(reserved[i], name, length))
            return clsi_at(r, where, "`%s` is reserved: choose another name", reserved[i]);
    const clsi_name *old = clsi_lookup(r, name, length, ~0);
    if (old)
        return clsi_at(r, where, "`%s` is already %s, declared in line %d", old->name,
                       kind_text(old->kind), line_of(r, old->where));
    return kind == CLSI_LABEL ? CLS_OK : clsi_array_is_free(r, name, length, where);
}

cls_status clsi_declare(clsi_reader *r, const char *name, size_t length, clsi_kind kind,
                        size_t index, cls_node node, size_t where) {
    if (length > 63)
        return clsi_at(r, where, "this name has %zu letters, at most 63 are allowed", length);
    if (r->turning && memchr(name, '[', length))
        return clsi_at(r, where, "names with indices are written out");
    cls_status status = clsi_check_free(r, name, length, kind, where);
    return status == CLS_OK ? clsi_insert_name(r, name, length, kind, index, node, where) : status;
}

cls_status clsi_insert_name(clsi_reader *r, const char *name, size_t length, clsi_kind kind,
                            size_t index, cls_node node, size_t where) {
    if (!grow_table(r) ||
        !clsi_grow(&r->names, &r->names_capacity, r->n_names + 1, sizeof *r->names) ||
        !clsi_grow(&r->scope_names, &r->scope_names_capacity, r->n_scope + 1,
                   sizeof *r->scope_names) ||
        !clsi_grow(&r->scope_nodes, &r->scope_nodes_capacity, r->n_scope + 1,
                   sizeof *r->scope_nodes))
        return clsi_no_memory(r->error);
    r->scope.names = r->scope_names;
    r->scope.nodes = r->scope_nodes;
    clsi_name *n = &r->names[r->n_names];
    *n = (clsi_name){clsi_strndup(name, length), kind, index, node, where};
    if (!n->name) return clsi_no_memory(r->error);
    clsi_probe at = clsi_probe_name(name, length, r->name_slots);
    while (r->name_table[at.slot]) clsi_probe_next(&at);
    r->name_table[at.slot] = (uint32_t)++r->n_names;
    if (!note_symbol(r)) return clsi_no_memory(r->error);
    if (kind != CLSI_LABEL) {
        r->scope_names[r->n_scope] = n->name;
        r->scope_nodes[r->n_scope++] = node;
    }
    return CLS_OK;
}

size_t clsi_set_at(const clsi_reader *r, const char *name) {
    size_t found = SIZE_MAX, pattern = SIZE_MAX;
    for (size_t i = 0; r->set && i < r->set->n; i++) {
        char flat[CLSI_ELEMENT_ROOM];
        const char *given = r->set->names[i];
        if (clsi_element_name(given, flat)) given = flat;
        if (strcmp(given, name) == 0)
            found = i;
        else if (clsi_has_star(given) && cls_means_element(given, name, NULL, NULL))
            pattern = i;
    }
    return found != SIZE_MAX ? found : pattern;
}

int clsi_set_means(const clsi_reader *r, const char *given, int kinds) {
    char flat[CLSI_ELEMENT_ROOM];
    int ways = 0; /* one array by its own name and another by its name in files: neither is meant */
    if (clsi_element_name(given, flat)) given = flat;
    if (clsi_lookup(r, given, strlen(given), kinds)) return 1;
    for (size_t i = 0; i < r->n_names && clsi_has_star(given); i++)
        if ((int)r->names[i].kind & kinds)
            ways |= cls_means_element(given, r->names[i].name, NULL, NULL);
    return ways == 1 || ways == 2;
}

const char *clsi_suggest(const clsi_reader *r, const char *name, size_t length, int kinds,
                         char out[96]) {
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), name);
    const char **words = clsi_calloc(r->n_names, sizeof *words);
    out[0] = 0;
    if (!words) return out;
    for (size_t i = 0; i < r->n_names; i++)
        words[i] = ((int)r->names[i].kind & kinds) ? r->names[i].name : NULL;
    char hint[200];
    const char *near = NULL;
    if (!*clsi_array_hint(word, r->n_names, words, hint))
        near = cls_nearest_word(word, r->n_names, words);
    if (near) snprintf(hint, sizeof hint, "did you mean `%.63s`?", near);
    if (*hint) snprintf(out, 96, " (%.92s)", hint);
    free(words);
    return out;
}

const char *clsi_list_names(const clsi_reader *r, int kinds, char out[256]) {
    const char **words = clsi_calloc(r->n_names + 1, sizeof *words);
    clsi_text list = {0};
    for (size_t i = 0; words && i < r->n_names; i++)
        words[i] = ((int)r->names[i].kind & kinds) ? r->names[i].name : NULL;
    if (words) clsi_alike_names(&list, r->n_names, words, 170);
    snprintf(out, 256, "%s", list.failed || !list.data ? "" : list.data);
    clsi_text_clear(&list);
    free(words);
    return out;
}

/* The name to use instead: v.x for p.x, S for T, and back. */
static const char *partner(const clsi_reader *r, const clsi_name *n) {
    clsi_kind other = n->kind == CLSI_VELOCITY      ? CLSI_MOMENTUM
                      : n->kind == CLSI_MOMENTUM    ? CLSI_VELOCITY
                      : n->kind == CLSI_ENTROPY     ? CLSI_TEMPERATURE
                      : n->kind == CLSI_TEMPERATURE ? CLSI_ENTROPY
                                                    : CLSI_LABEL;
    for (size_t i = 0; i < r->n_names && other != CLSI_LABEL; i++)
        if (r->names[i].kind == other && r->names[i].index == n->index) return r->names[i].name;
    return NULL;
}

static cls_status refuse(clsi_reader *r, const clsi_expression *e, const clsi_name *n, int kinds,
                         const char *what) {
    size_t where = clsi_find_word(r, e->begin, e->end, n->name);
    const char *instead = partner(r, n);
    const clsi_name *p = instead ? clsi_lookup(r, instead, strlen(instead), kinds) : NULL;
    if (p)
        return clsi_at(r, where, "%s is not a function of %s `%s`: use `%s`", what,
                       strchr(kind_text(n->kind), ' ') + 1, n->name, instead);
    if (n->kind == CLSI_INPUT && (kinds & CLSI_COORDINATE))
        return clsi_at(r, where,
                       "%s must not depend on the input `%s`, whose values come from data: write "
                       "an `external force`, a `heat source` or a `reservoir`, or give the input "
                       "a formula of t",
                       what, n->name);
    if (kinds == CLSI_PARAMETER)
        return clsi_at(r, where, "%s is made of numbers and parameters, but `%s` is %s", what,
                       n->name, kind_text(n->kind));
    return clsi_at(r, where, "%s must not depend on `%s`, which is %s", what, n->name,
                   kind_text(n->kind));
}

int clsi_kinds_of(clsi_reader *r, cls_node written) {
    size_t n;
    int kinds = 0;
    cls_node *symbols = clsi_list_symbols(r->s->g, 1, &written, &n);
    if (!symbols) return ~0;
    for (size_t i = 0; i < n; i++) {
        const clsi_name *name = clsi_name_of_symbol(r, symbols[i], ~0);
        kinds |= !name ? ~0 : name->kind == CLSI_LET ? r->let_kinds[name->index] : (int)name->kind;
    }
    free(symbols);
    return kinds;
}

cls_status clsi_allow(clsi_reader *r, const clsi_expression *e, int kinds, const char *what) {
    if (clsi_lacks(e, ~kinds & ~CLSI_ALL_KINDS & ~CLSI_LET)) return CLS_OK;
    /* learned parts may bring symbols of their own */
    size_t n;
    cls_node *symbols = clsi_list_symbols(r->s->g, 1, &e->raw, &n);
    if (!symbols) return clsi_no_memory(r->error);
    cls_status status = CLS_OK;
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        const clsi_name *name = clsi_name_of_symbol(r, symbols[i], ~0);
        if (name && !((int)name->kind & kinds)) status = refuse(r, e, name, kinds, what);
    }
    free(symbols);
    return status;
}

cls_status clsi_read_entropy(clsi_reader *r, clsi_cursor *c, const char *after, size_t *index) {
    char found[48], near[96], list[256];
    size_t n = clsi_word_length(r, c, 0);
    int kinds = CLSI_ENTROPY | CLSI_TEMPERATURE;
    const clsi_name *name = n ? clsi_lookup(r, r->clean + c->at, n, kinds) : NULL;
    if (!name)
        return clsi_at(r, c->at,
                       "expected an entropy or a temperature after %s, found %s%s; there "
                       "are %s",
                       after, clsi_found(r, c, found),
                       clsi_suggest(r, r->clean + c->at, n, kinds, near),
                       clsi_list_names(r, kinds, list));
    c->at += n;
    *index = name->index;
    return CLS_OK;
}

cls_status clsi_read_coordinate(clsi_reader *r, clsi_cursor *c, size_t *index) {
    char found[48], near[96], list[256];
    const cls_system *s = r->s;
    size_t n = clsi_word_length(r, c, 1);
    int kinds = s->paired ? CLSI_COORDINATE : 0; /* to suggest: v.x is not what a force acts on */
    if (s->n > s->paired) kinds |= CLSI_MOMENTUM;
    const clsi_name *name =
        n ? clsi_lookup(r, r->clean + c->at, n, CLSI_COORDINATE | CLSI_MOMENTUM) : NULL;
    if (name && (name->kind == CLSI_COORDINATE) != (name->index < s->paired)) name = NULL;
    if (!name)
        return clsi_at(r, c->at, "expected %s, found %s%s; there are %s",
                       kinds & CLSI_MOMENTUM ? "a coordinate or a momentum without one"
                                             : "a coordinate",
                       clsi_found(r, c, found), clsi_suggest(r, r->clean + c->at, n, kinds, near),
                       clsi_list_names(r, kinds, list));
    c->at += n;
    *index = name->index;
    return CLS_OK;
}

cls_status clsi_add_part(clsi_reader *r, const char *name, size_t length) {
    cls_system *s = r->s;
    if (!clsi_grow(&s->parts, &r->parts_capacity, s->n_parts + 1, sizeof *s->parts) ||
        !(s->parts[s->n_parts] = clsi_strndup(name, length)))
        return clsi_no_memory(r->error);
    s->n_parts++;
    return CLS_OK;
}
