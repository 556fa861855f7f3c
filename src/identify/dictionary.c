/* Dictionaries: what an unknown part may be made of.
 *
 *     E: polynomial(2), lambda_a, lambda_b; M: polynomial(1; s_a, s_b), 1/(theta_a*theta_b)
 *
 * For each part a list of items: polynomial(ORDER) in all variables of the state, polynomial(ORDER;
 * x, y) in chosen ones, or a formula of the system's variables, parameters and lets. In a system
 * file the same list stands after `unknown`; terms(a; b) and monomial(k), the fields of the other
 * optimizers, are understood. An energy has no constant (it is a gauge), a conductance has one.
 * Equal terms count once. */
#include "identify/identify.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_QP_TERMS = 2000, MAX_ORDER = 12 };

/* ---- names that formulas may use ---- */

typedef struct vocabulary {
    size_t n, n_state; /* q, p, S come first */
    const char **names;
    cls_node *nodes;
} vocabulary;

static void add_name(vocabulary *v, const char *name, cls_node node) {
    v->names[v->n] = name;
    v->nodes[v->n++] = node;
}

/* Lets stand for formulas of lets above them and of parameters; here they are written out. */
static cls_status add_lets(const cls_system *s, vocabulary *v, cls_node *from, cls_node *to) {
    size_t used = 0;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < s->n_parameters; i++) {
        from[used] = s->parameter_symbol[i];
        to[used++] = cls_constant(s->g, s->parameter_value[i]);
        add_name(v, s->parameter[i].name, to[used - 1]);
    }
    for (size_t k = 0; k < s->n_lets && status == CLS_OK; k++) {
        from[used] = cls_symbol(s->g, s->lets[k].name);
        status = cls_substitute(s->g, 1, &s->lets[k].node, used, from, to, &to[used]);
        add_name(v, s->lets[k].name, to[used++]);
    }
    return status;
}

static cls_status vocabulary_create(const cls_system *s, int efforts, vocabulary *v,
                                    cls_error *error) {
    size_t extra = s->n_parameters + s->n_lets, room = s->nq + 2 * s->n + 2 * s->m + extra + 1;
    v->names = clsi_calloc(room, sizeof *v->names);
    v->nodes = clsi_calloc(room, sizeof *v->nodes);
    cls_node *from = clsi_calloc(2 * extra + 1, sizeof *from);
    cls_status status = v->names && v->nodes && from ? CLS_OK : clsi_no_memory(error);
    const cls_node *lists[] = {s->q, s->p, s->S, s->v, s->T};
    const size_t counts[] = {s->nq, s->n, s->m, s->n, s->m};
    for (int k = 0; status == CLS_OK && k < (efforts ? 5 : 3); k++)
        for (size_t i = 0; i < counts[k]; i++)
            add_name(v, cls_node_name(s->g, lists[k][i]), lists[k][i]);
    v->n_state = s->nq + s->n + s->m;
    if (status == CLS_OK && add_lets(s, v, from, from + extra) != CLS_OK)
        status = clsi_no_memory(error);
    free(from);
    return status;
}

static void vocabulary_clear(vocabulary *v) {
    free(v->names);
    free(v->nodes);
}

/* ---- terms ---- */

static cls_status add_term(const cls_system *s, clsi_terms *t, cls_node node, cls_error *error) {
    cls_node any;
    int energy = t->kind != CLSI_PART_HEAT;
    if (energy && cls_symbols_of(s->g, 1, &node, 1, &any) == 0) return CLS_OK;
    for (size_t i = 0; i < t->n; i++)
        if (t->node[i] == node) return CLS_OK;
    if (t->n == MAX_QP_TERMS)
        return clsi_fail(error, CLS_USAGE, "the dictionary of '%s' has more than %d terms", t->part,
                         (int)MAX_QP_TERMS);
    size_t capacity = t->capacity, other = t->capacity, third = t->capacity;
    if (!clsi_grow(&t->node, &capacity, t->n + 1, sizeof *t->node) ||
        !clsi_grow(&t->coefficient, &other, t->n + 1, sizeof *t->coefficient) ||
        !clsi_grow(&t->text, &third, t->n + 1, sizeof *t->text))
        return clsi_no_memory(error);
    t->capacity = capacity;
    char name[160], *text = cls_print(s->g, node);
    t->text[t->n] = text ? clsi_strdup(text) : NULL;
    cls_text_free(&text);
    if (!t->text[t->n]) return clsi_no_memory(error);
    snprintf(name, sizeof name, "%.100s'%zu", t->part, t->n);
    t->node[t->n] = node;
    t->coefficient[t->n++] = cls_symbol(s->g, name);
    return CLS_OK;
}

/* All products of `order` variables out of those from `first` on, times `product`. */
static cls_status add_products(const cls_system *s, clsi_terms *t, size_t n, const cls_node *x,
                               size_t first, int order, const int *powers, cls_error *error) {
    int next[CLSI_FIELD_MAX_INPUTS * 16];
    if (order == 0) {
        cls_node node = cls_constant(s->g, 1);
        for (size_t i = 0; i < n; i++)
            if (powers[i])
                node = cls_mul(s->g, node, cls_pow(s->g, x[i], cls_constant(s->g, powers[i])));
        return add_term(s, t, node, error);
    }
    cls_status status = CLS_OK;
    for (size_t i = first; i < n && status == CLS_OK; i++) {
        memcpy(next, powers, n * sizeof *next);
        next[i]++;
        status = add_products(s, t, n, x, i, order - 1, next, error);
    }
    return status;
}

static cls_status add_polynomial(const cls_system *s, clsi_terms *t, size_t n, const cls_node *x,
                                 int order, cls_error *error) {
    int powers[CLSI_FIELD_MAX_INPUTS * 16] = {0};
    cls_status status = CLS_OK;
    if (n > CLSI_FIELD_MAX_INPUTS * 16)
        return clsi_fail(error, CLS_USAGE, "'%s': a polynomial in more than %d variables", t->part,
                         CLSI_FIELD_MAX_INPUTS * 16);
    for (int k = 0; k <= order && status == CLS_OK; k++)
        status = add_products(s, t, n, x, 0, k, powers, error);
    return status;
}

/* ---- items ---- */

/* Length up to the next `separator` outside parentheses. */
static size_t item_length(const char *text, char separator) {
    int depth = 0;
    size_t i = 0;
    for (; text[i] && (depth > 0 || text[i] != separator); i++)
        depth += (text[i] == '(') - (text[i] == ')');
    return i;
}

static char *trimmed(const char *text, size_t n) {
    while (n && isspace((unsigned char)*text)) text++, n--;
    while (n && isspace((unsigned char)text[n - 1])) n--;
    char *out = clsi_strndup(text, n);
    for (char *c = out; c && *c; c++)
        if (*c == '\n') *c = ' ';
    return out;
}

/* The inside of NAME(...), or NULL. */
static char *inside(const char *item, const char *name) {
    size_t n = strlen(name), length = strlen(item);
    if (strncmp(item, name, n) != 0) return NULL;
    while (item[n] == ' ') n++;
    if (item[n] != '(' || item[length - 1] != ')') return NULL;
    return trimmed(item + n + 1, length - n - 2);
}

static cls_status read_formula(const cls_system *s, clsi_terms *t, const vocabulary *v,
                               const char *item, cls_error *error) {
    cls_scope scope = {v->n, v->names, v->nodes};
    cls_node node;
    cls_error inner = {0};
    if (cls_parse(s->g, item, &scope, NULL, 1, 1, &node, &inner) != CLS_OK)
        return clsi_fail(error, CLS_USAGE, "dictionary of '%s', item '%s': %.300s", t->part, item,
                         inner.message);
    return add_term(s, t, node, error);
}

/* "2" or "2; x, y". */
static cls_status read_polynomial(const cls_system *s, clsi_terms *t, const vocabulary *v,
                                  const char *text, cls_error *error) {
    char *end;
    long order = strtol(text, &end, 10);
    while (isspace((unsigned char)*end)) end++;
    if (end == text || order < 0 || order > MAX_ORDER || (*end && *end != ';' && *end != ','))
        return clsi_fail(error, CLS_USAGE,
                         "polynomial(%s): expected an order from 0 to %d, then perhaps `; x, y`",
                         text, (int)MAX_ORDER);
    size_t n = 0, still = t->kind == CLSI_PART_LET ? s->nq : s->nq + s->n;
    cls_node *x = clsi_calloc(v->n + 1, sizeof *x);
    if (!x) return clsi_no_memory(error);
    cls_status status = CLS_OK;
    if (*end != ';') /* all of the state; a named part of a formula is a potential, without p */
        for (size_t i = 0; i < v->n_state; i++)
            if (i < still || i >= s->nq + s->n) x[n++] = v->nodes[i];
    for (const char *c = end; *c && *end == ';' && status == CLS_OK;) {
        size_t length = item_length(++c, ',');
        char *name = trimmed(c, length);
        size_t i = 0;
        while (name && i < v->n && strcmp(v->names[i], name) != 0) i++;
        if (!name)
            status = clsi_no_memory(error);
        else if (i == v->n) {
            const char *near = cls_nearest_word(name, v->n, v->names);
            status = clsi_fail(error, CLS_USAGE,
                               "polynomial(%s): '%s' is not a variable or let%s%s%s", text, name,
                               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        } else if (n <= v->n)
            x[n++] = v->nodes[i];
        free(name);
        c += length;
    }
    if (status == CLS_OK) status = add_polynomial(s, t, n, x, (int)order, error);
    free(x);
    return status;
}

static cls_status read_items(const cls_system *s, clsi_terms *t, const vocabulary *v,
                             const char *text, char separator, cls_error *error);

static cls_status read_item(const cls_system *s, clsi_terms *t, const vocabulary *v,
                            const char *item, cls_error *error) {
    char *list = inside(item, "polynomial"), *terms = inside(item, "terms");
    if (!list) list = inside(item, "monomial");
    cls_status status = list    ? read_polynomial(s, t, v, list, error)
                        : terms ? read_items(s, t, v, terms, ';', error)
                                : read_formula(s, t, v, item, error);
    free(list);
    free(terms);
    return status;
}

static cls_status read_items(const cls_system *s, clsi_terms *t, const vocabulary *v,
                             const char *text, char separator, cls_error *error) {
    cls_status status = CLS_OK;
    for (const char *c = text; status == CLS_OK;) {
        size_t length = item_length(c, separator);
        char *item = trimmed(c, length);
        if (!item)
            status = clsi_no_memory(error);
        else if (!*item)
            status =
                clsi_fail(error, CLS_USAGE, "the dictionary of '%s' has an empty item", t->part);
        else
            status = read_item(s, t, v, item, error);
        free(item);
        if (!c[length]) break;
        c += length + 1;
    }
    return status;
}

/* ---- the dictionary as a whole ---- */

/* Calls `each` with the name and the list of every entry until it answers 1. */
static const char *find_entry(const char *dictionary, const char *part, size_t *length) {
    for (const char *c = dictionary; c && *c;) {
        size_t n = item_length(c, ';'), name = strcspn(c, ":");
        if (name < n) {
            char *text = trimmed(c, name);
            int found = text && strcmp(text, part) == 0;
            free(text);
            if (found) {
                *length = n - name - 1;
                return c + name + 1;
            }
        }
        c += n + (c[n] == ';');
    }
    return NULL;
}

cls_status clsi_dictionary_check(const char *dictionary, size_t n, const char *const *parts,
                                 cls_error *error) {
    cls_status status = CLS_OK;
    for (const char *c = dictionary; c && *c && status == CLS_OK;) {
        size_t length = item_length(c, ';'), name = strcspn(c, ":"), i = 0;
        char *text = name < length ? trimmed(c, name) : NULL;
        if (!text)
            return clsi_fail(error, CLS_USAGE,
                             "the dictionary is a list of `PART: item, item; PART: ...`, found "
                             "'%.*s'",
                             (int)(length < 60 ? length : 60), c);
        while (i < n && strcmp(parts[i], text) != 0) i++;
        if (i == n)
            status = clsi_fail(error, CLS_USAGE,
                               "the dictionary speaks of '%s', which is not an unknown part", text);
        free(text);
        c += length + (c[length] == ';');
    }
    return status;
}

cls_status clsi_terms_create(const cls_system *s, const char *part, clsi_part_kind kind,
                             const char *dictionary, const char *wanted, clsi_terms *out,
                             cls_error *error) {
    vocabulary v = {0};
    size_t length = 0;
    const char *entry = find_entry(dictionary, part, &length);
    char *list = entry    ? clsi_strndup(entry, length)
                 : wanted ? clsi_strdup(wanted)
                          : clsi_strdup(kind == CLSI_PART_HEAT ? "polynomial(1)" : "polynomial(2)");
    *out = (clsi_terms){.part = clsi_strdup(part), .kind = kind};
    cls_status status = list && out->part ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) status = vocabulary_create(s, kind == CLSI_PART_HEAT, &v, error);
    if (status == CLS_OK) status = read_items(s, out, &v, list, ',', error);
    if (status == CLS_OK && out->n == 0)
        status =
            clsi_fail(error, CLS_USAGE, "the dictionary of '%s' has no term but constants", part);
    free(list);
    vocabulary_clear(&v);
    return status;
}

void clsi_terms_clear(clsi_terms *t) {
    for (size_t i = 0; i < t->n; i++) free(t->text[i]);
    free(t->text);
    free(t->node);
    free(t->coefficient);
    free(t->part);
    *t = (clsi_terms){0};
}
