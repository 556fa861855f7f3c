/* Functions of the file: `function V(d) = k*d^2/2`, used as V(x) + V(y - x).
 *
 * One that has a formula is written out where it is used: its arguments take the places of its
 * letters. One that is unknown, or that something learned stands for, becomes a let at each place
 * where it is used with other arguments, under the name `V(y - x)`: all of them are one function of
 * what is given to it, and so share one set of parameters (s->uses, system.h). That is how a chain of a thousand
 * springs is learned as one spring, and how a symmetry is declared: a sum of one function of the
 * distances does not know which particle is which. */
#include "base/base.h"
#include "expr/graph.h"
#include "expr/vocabulary.h"
#include "system/language.h"
#include <stdlib.h>
#include <string.h>

enum {
    MOST_CALLS = 100000,
    MOST_NODES = 300000
}; /* of all uses; that one adds: `f3(x) = f2(f2(x))` doubles */

const clsi_function *clsi_function_find(const cls_system *s, const char *name, size_t length) {
    for (size_t i = 0; i < s->n_functions; i++)
        if (clsi_word_is(s->functions[i].name, name, length)) return &s->functions[i];
    return NULL;
}

/* ---- where one is used ---- */

size_t clsi_scope_arity(const void *scope, const char *name, size_t length) {
    const clsi_reader *r = ((const clsi_reader_scope *)scope)->r;
    const clsi_function *f = clsi_function_find(r->s, name, length);
    return f && f != r->defining ? f->n : 0;
}

/* "V(y - x)", the caller's. */
static char *use_name(const clsi_reader *r, const clsi_function *f, const cls_node *args) {
    clsi_text t = {0};
    clsi_text_append(&t, f->name);
    for (size_t i = 0; i < f->n; i++) {
        char *one = cls_print(r->s->g, args[i]);
        clsi_text_printf(&t, "%s%s", i ? ", " : "(", one ? one : "");
        if (!one) t.failed = 1;
        cls_text_free(&one);
    }
    clsi_text_append(&t, ")");
    return clsi_text_take(&t);
}

/* A new entry of s->uses, with its arguments as numbers make them. */
static cls_status add_use(clsi_reader *r, size_t function, const cls_node *args) {
    cls_system *s = r->s;
    size_t n = s->functions[function].n;
    if (!clsi_grow(&s->uses, &r->uses_capacity, s->n_uses + 1, sizeof *s->uses))
        return clsi_no_memory(r->error);
    clsi_use *u = &s->uses[s->n_uses];
    *u = (clsi_use){function, s->n_lets, clsi_calloc(n, sizeof *u->args)};
    if (!u->args) return clsi_no_memory(r->error);
    s->n_uses++;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        clsi_expression e = {.begin = r->reading, .end = r->reading, .written = args[i]};
        status = clsi_expand(r, &e);
        if (status == CLS_OK && s->functions[function].other) clsi_mark_learned(r, e.raw);
        u->args[i] = e.bound;
    }
    return status;
}

static cls_node add_place(clsi_reader *r, size_t function, const cls_node *args, char *name) {
    cls_system *s = r->s;
    size_t use = s->n_uses;
    if (add_use(r, function, args) != CLS_OK) return CLS_NO_NODE;
    const clsi_function *f = &s->functions[function];
    cls_node value = f->other ? f->other->node(f->other->context, s, f->kind, use) : f->stand_in;
    if (value == CLS_NO_NODE) return value;
    clsi_expression e = {.written = value, .raw = value, .bound = value};
    return clsi_add_use_let(r, name, r->reading, &e) == CLS_OK ? r->let_symbol[s->n_lets - 1]
                                                               : CLS_NO_NODE;
}

/* A formula with arguments in the places of its letters. One that uses an unknown function is read again:
 * that function is used with other arguments then. */
static cls_node write_out(clsi_reader *r, clsi_function *f, const cls_node *args) {
    cls_node value = CLS_NO_NODE;
    if (r->defining && !r->arguments) r->defining->deep |= f->deep;
    if (!f->deep) {
        size_t nodes = r->s->g->n;
        (void)cls_substitute(r->s->g, 1, &f->body, f->n, f->symbol, args, &value);
        if (r->s->g->n - nodes > MOST_NODES)
            return clsi_graph_fail(
                r->s->g, CLS_SYSTEM,
                "functions use functions too often: written out, one use is too long");
        return value;
    }
    if (r->n_calls++ > MOST_CALLS)
        return clsi_graph_fail(r->s->g, CLS_SYSTEM, "functions use functions too often");
    clsi_function *before = r->defining;
    const cls_node *outer = r->arguments;
    size_t reading = r->reading;
    clsi_expression e;
    r->defining = f;
    r->arguments = args;
    if (clsi_read_expression(r, f->begin, f->end, &e) == CLS_OK) value = e.written;
    r->defining = before;
    r->arguments = outer;
    r->reading = reading;
    return value;
}

cls_node clsi_scope_call(const void *scope, const char *name, size_t length, const cls_node *args) {
    clsi_reader *r = ((const clsi_reader_scope *)scope)->r;
    cls_system *s = r->s;
    clsi_function *f = &s->functions[clsi_function_find(s, name, length) - s->functions];
    cls_node value = CLS_NO_NODE;
    if (!f->unknown && !f->other) return write_out(r, f, args);
    if (r->defining && !r->arguments) {
        r->defining->deep = 1;
        return f->stand_in;
    }
    char *text = use_name(r, f, args);
    const clsi_name *old = text ? clsi_lookup(r, text, strlen(text), CLSI_LET) : NULL;
    if (old)
        value = old->node;
    else if (text)
        value = add_place(r, (size_t)(f - s->functions), args, text);
    free(text);
    return value;
}

/* ---- declared ---- */

static cls_status check_argument(clsi_reader *r, const clsi_function *f, size_t at, size_t length) {
    const char *word = r->clean + at;
    const clsi_name *old = clsi_lookup(r, word, length, CLSI_LET | CLSI_PARAMETER | CLSI_TIME);
    if (old)
        return clsi_at(
            r, at, "`%s` has a meaning in the whole file: give the argument of `%s` another name",
            old->name, f->name);
    for (size_t i = 0; i < f->n; i++)
        if (clsi_word_is(f->argument[i], word, length))
            return clsi_at(r, at, "`%s` is an argument twice", f->argument[i]);
    return CLS_OK;
}

/* d, e) */
static cls_status read_arguments(clsi_reader *r, clsi_cursor *c, clsi_function *f) {
    do {
        char found[48];
        size_t length = clsi_word_length(r, c, 0);
        if (!length)
            return clsi_at(
                r, c->at,
                "expected the name of an argument of `%s`, found %s: write `function %s(d) = ...`",
                f->name, clsi_found(r, c, found), f->name);
        if (f->n == CLSI_MOST_ARGUMENTS)
            return clsi_at(r, c->at, "a function has at most %d arguments",
                           (int)CLSI_MOST_ARGUMENTS);
        cls_status status = check_argument(r, f, c->at, length);
        if (status != CLS_OK) return status;
        if (!(f->argument[f->n] = clsi_strndup(r->clean + c->at, length)))
            return clsi_no_memory(r->error);
        f->symbol[f->n] = cls_symbol(r->s->g, f->argument[f->n]);
        f->n++;
        c->at += length;
    } while (clsi_accept(r, c, ","));
    return clsi_expect(r, c, ")", "the arguments");
}

static cls_status read_body(clsi_reader *r, clsi_cursor c, clsi_function *f, size_t where,
                            size_t length) {
    cls_status status;
    clsi_expression e = {.written = CLS_NO_NODE};
    r->defining = f;
    f->begin = c.at;
    f->end = c.end;
    if (clsi_is_unknown(r, c))
        status = clsi_read_unknown(r, c, where, length);
    else
        status = clsi_read_expression(r, c.at, c.end, &e);
    r->defining = NULL;
    f->body = e.written;
    if (status == CLS_OK && f->other && e.written != CLS_NO_NODE) clsi_mark_learned(r, e.raw);
    return status;
}

cls_status clsi_read_function(clsi_reader *r, clsi_cursor c, size_t where, size_t length,
                              clsi_part_kind kind) {
    cls_system *s = r->s;
    if (!clsi_grow(&s->functions, &r->functions_capacity, s->n_functions + 1, sizeof *s->functions))
        return clsi_no_memory(r->error);
    clsi_function *f = &s->functions[s->n_functions];
    *f = (clsi_function){
        .name = clsi_strndup(r->clean + where, length), .kind = kind, .where = where};
    s->n_functions++;
    if (!f->name) return clsi_no_memory(r->error);
    cls_status status = clsi_name_part(r, where, length);
    if (status == CLS_OK) status = read_arguments(r, &c, f);
    if (status == CLS_OK) status = clsi_expect(r, &c, "=", "the arguments");
    if (status != CLS_OK) return status;
    /* as for a part: one is nothing as a term of an energy and leaves a factor's other variables */
    clsi_cursor ahead = c;
    f->unknown = clsi_accept_word(r, &ahead, "unknown");
    int one = kind == CLSI_PART_LET || clsi_accept_word(r, &ahead, "positive");
    f->stand_in = cls_constant(s->g, one);
    f->other = clsi_replacement_of(r, r->clean + where, length);
    return read_body(r, c, f, where, length);
}

cls_status clsi_check_functions(clsi_reader *r) {
    const cls_system *s = r->s;
    unsigned char *used = clsi_calloc(s->n_functions + 1, 1);
    cls_status status = used ? CLS_OK : clsi_no_memory(r->error);
    for (size_t i = 0; i < s->n_uses && used; i++) used[s->uses[i].function] = 1;
    for (size_t i = 0; i < s->n_functions && status == CLS_OK; i++) {
        const clsi_function *f = &s->functions[i];
        if ((f->unknown || f->other) && !used[i])
            status = clsi_at(r, f->where,
                             "`%s` is unknown and nothing uses it: write `%s(...)` in a formula, "
                             "or leave it out",
                             f->name, f->name);
    }
    free(used);
    return status;
}
