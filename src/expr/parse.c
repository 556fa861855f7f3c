/* The expression language: text to graph, by recursive descent.
 *
 *     sum     = product { ("+" | "-") product }
 *     product = unary { ("*" | "/") unary }
 *     unary   = ("-" | "+") unary | power
 *     power   = atom [ "^" unary ]                  right associative: -x^2 = -(x^2), 2^-3 is fine
 *     atom    = number | name | name "(" sum { "," sum } ")" | "(" sum ")"
 *
 * Names are letters, digits and _ with dots inside (v.x), and whole numbers in brackets (u[3]). What has a kink or a jump (abs, min, ...)
 * is refused with the smooth form to write instead, because every formula is differentiated.
 *
 * Cost: linear in the text times the size of the scope. Chains of + - * / are loops; brackets,
 * calls, signs and ^ are recursion, bounded by the graph's max_depth. Every error says where, shows
 * the line with a caret under the place, and says what to do. */
#include "base/alike.h"
#include "base/locale.h"
#include "base/misuse.h"
#include "expr/graph.h"
#include "expr/vocabulary.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Whatever the graph's limit says: about 1 kB of stack per level. */
#define DEPTH_CEILING 2000
/* Columns of the source line that an error shows on each side of the caret. */
#define EXCERPT 60

typedef struct parser {
    cls_graph *graph;
    const cls_scope *scope;
    const char *text, *at;
    const char *file;
    int line, column; /* of text[0] */
    size_t depth, max_depth;
    cls_node *args; /* arguments of the calls being read, innermost on top */
    size_t n_args, args_capacity;
    cls_error *error;
    cls_status status;
} parser;

/* ---- characters, by hand: <ctype.h> depends on the locale ---- */

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_name_part(char c) {
    return is_name_start(c) || is_digit(c);
}

/* Letters of [3]. */
static size_t index_length(const char *s) {
    size_t i = 1;
    if (s[0] != '[') return 0;
    if (s[1] == '-') i++;
    while (is_digit(s[i])) i++;
    return s[i] == ']' && is_digit(s[i - 1]) ? i + 1 : 0;
}

static size_t name_length(const char *s) {
    size_t n = 0;
    for (;;) {
        size_t index = n ? index_length(s + n) : 0;
        if (is_name_part(s[n]) || (n && s[n] == '.' && is_name_start(s[n + 1])))
            n++;
        else if (index)
            n += index;
        else
            return n;
    }
}

/* Bytes of the character at s: 1 for ASCII and for what is not valid UTF-8. */
static size_t character_length(const char *s) {
    unsigned char c = (unsigned char)s[0], d = c ? (unsigned char)s[1] : 0;
    size_t n = c < 0xc2 || c > 0xf4 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    for (size_t k = 1; k < n; k++)
        if (((unsigned char)s[k] & 0xc0) != 0x80) return 1;
    /* overlong forms, surrogates, beyond U+10FFFF */
    int wrong = (c == 0xe0 && d < 0xa0) || (c == 0xed && d >= 0xa0) || (c == 0xf0 && d < 0x90) ||
                (c == 0xf4 && d >= 0x90);
    return wrong ? 1 : n;
}

/* The next character that is not blank, not consumed. */
static char peek(parser *p) {
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\r' || *p->at == '\n') p->at++;
    return *p->at;
}

/* ---- errors ---- */

/* The line around `at`, cut to the excerpt, control bytes shown as '?', and a caret below. */
static void append_excerpt(clsi_text *out, const char *line, const char *at) {
    const char *from = at - line > EXCERPT ? at - EXCERPT : line, *s = from;
    if (from > line) clsi_text_append(out, "...");
    while (*s && *s != '\n' && s < at + EXCERPT) {
        size_t n = character_length(s);
        unsigned char c = (unsigned char)*s;
        int strange = n == 1 && c != '\t' && (c < 32 || c >= 127);
        clsi_text_append_n(out, strange ? "?" : s, n);
        s += n;
    }
    if (*s && *s != '\n') clsi_text_append(out, "...");
    clsi_text_append(out, from > line ? "\n   " : "\n");
    for (s = from; s < at; s++) clsi_text_append(out, *s == '\t' ? "\t" : " ");
    clsi_text_append(out, "^");
}

/* Fills the error for the place `at`; hint may be NULL. Returns CLS_NO_NODE for the caller. */
CLS_PRINTF(5, 6)
static cls_node fail(parser *p, cls_status status, const char *at, const char *hint,
                     const char *format, ...) {
    p->status = status;
    if (!p->error) return CLS_NO_NODE;
    const char *start = p->text;
    int line = p->line;
    for (const char *s = p->text; s < at; s++) {
        if (*s != '\n') continue;
        line++;
        start = s + 1;
    }
    int column = (int)(at - start) + (line == p->line ? p->column : 1);
    char what[600];
    va_list args;
    va_start(args, format);
    clsi_vsnprintf(what, sizeof what, format, args);
    va_end(args);
    clsi_text out = {0};
    if (p->file)
        clsi_text_printf(&out, "%s:%d:%d: %s\n", p->file, line, column, what);
    else if (line > 1)
        clsi_text_printf(&out, "line %d, column %d: %s\n", line, column, what);
    else
        clsi_text_printf(&out, "column %d: %s\n", column, what);
    append_excerpt(&out, start, at);
    if (hint) clsi_text_printf(&out, "\n%s", hint);
    (void)clsi_fail(p->error, status, "%s", out.failed ? what : out.data);
    clsi_text_clear(&out);
    p->error->line = line;
    p->error->column = column;
    return CLS_NO_NODE;
}

/* A piece of the text for a message, cut to a readable length. */
typedef struct quoted {
    char text[64];
} quoted;

static quoted quote(const char *s, size_t n) {
    quoted q;
    snprintf(q.text, sizeof q.text, n > 40 ? "%.*s..." : "%.*s", (int)(n > 40 ? 40 : n), s);
    for (char *c = q.text; *c; c++)
        if (*c == '\n' || *c == '\r' || *c == '\t') *c = ' ';
    return q;
}

/* Characters that people type and what to type instead. */
static const char *const replacements[][2] = {
    {"−", "write -"},
    {"–", "write -"},
    {"·", "write *"},
    {"×", "write *"},
    {"÷", "write /"},
    {"²", "write ^2"},
    {"³", "write ^3"},
    {"π", "write pi"},
    {"√", "write sqrt(...)"},
    {"½", "write 1/2"},
    {"[", "write ( ); a unit stands behind the name: `output h [m] = ...`"},
    {"]", "write ( )"},
    {"{", "write ( )"},
    {"}", "write ( )"},
    {"'", "write v.x for the velocity of x"},
    {"#", "comments are not part of an expression"},
    {"%", "a remainder is not smooth; write sin or cos of 2*pi*x/period"},
    {"|", "write softabs(x, eps) for a smooth absolute value"},
    {"!", "write the product"},
    {"=", "an expression is one side of an equation"},
    {"<", "comparisons are not smooth; write sigmoid((b - a)/eps)"},
    {">", "comparisons are not smooth; write sigmoid((a - b)/eps)"},
};

static cls_node bad_character(parser *p) {
    size_t n = character_length(p->at);
    unsigned char c = (unsigned char)*p->at;
    const char *hint = c >= 0x80 ? "write names in ASCII, for example theta, with letters, digits "
                                   "and _"
                                 : NULL;
    for (size_t k = 0; k < sizeof replacements / sizeof *replacements; k++)
        if (strlen(replacements[k][0]) == n && memcmp(replacements[k][0], p->at, n) == 0)
            hint = replacements[k][1];
    if (n == 1 && (c >= 0x7f || c < 32))
        return fail(p, CLS_SYSTEM, p->at, hint, "byte 0x%02x %s", c,
                    c < 0x80 ? "is a control character" : "is not ASCII");
    return fail(p, CLS_SYSTEM, p->at, hint,
                c >= 0x80 ? "character '%.*s' is not ASCII" : "unexpected '%.*s'", (int)n, p->at);
}

/* What stands where an operator, a closing parenthesis or the end was expected. */
static cls_node unexpected(parser *p) {
    char c = peek(p);
    if (c == ')') return fail(p, CLS_SYSTEM, p->at, NULL, "this ) closes no parenthesis");
    if (c == ',')
        return fail(p, CLS_SYSTEM, p->at, "write decimal numbers with a point: 1.5",
                    "a comma outside the arguments of a function");
    if (c != '(' && c != '.' && !is_name_part(c)) return bad_character(p);
    size_t n = name_length(p->at);
    return fail(p, CLS_SYSTEM, p->at, "write * for a product: 2*x, a*(b + c)",
                "an operator is missing before '%s'", quote(p->at, n ? n : 1).text);
}

/* ---- results ---- */

static int bad_constant(const cls_graph *g, cls_node a) {
    return cls_node_op(g, a) == CLS_OP_CONSTANT && !isfinite(cls_node_value(g, a));
}

/* A node just built from the text between `start` and here: refuses what folded to infinity or NaN
 * (also as a factor: 1e308*10*x) and reports a graph that is full. */
static cls_node built(parser *p, const char *start, const char *at, cls_node a) {
    if (a == CLS_NO_NODE) {
        cls_error full;
        cls_status status = cls_graph_status(p->graph, &full);
        return status == CLS_OK ? fail(p, CLS_SYSTEM, at, NULL, "cannot be built")
                                : fail(p, status, at, NULL, "%.500s", full.message);
    }
    int bad = bad_constant(p->graph, a);
    for (size_t k = 0; k < cls_node_arg_count(p->graph, a); k++)
        bad |= bad_constant(p->graph, cls_node_arg(p->graph, a, k));
    if (!bad) return a;
    return fail(p, CLS_SYSTEM, at, NULL, "'%s' is not a finite number",
                quote(start, (size_t)(p->at - start)).text);
}

static int enter(parser *p) {
    if (p->depth++ < p->max_depth) return 1;
    fail(p, CLS_SYSTEM, p->at, "name a part of the formula and use the name",
         "nested deeper than %zu levels, the limit", p->max_depth);
    return 0;
}

/* ---- numbers ---- */

static cls_node bad_number(parser *p, const char *start, const char *why) {
    size_t n = (size_t)(p->at - start);
    return fail(p, CLS_SYSTEM, start, NULL, "bad number '%s': %s", quote(start, n).text, why);
}

static size_t skip_digits(parser *p) {
    const char *start = p->at;
    while (is_digit(*p->at)) p->at++;
    return (size_t)(p->at - start);
}

static cls_node number(parser *p) {
    const char *start = p->at;
    size_t digits = skip_digits(p);
    if (digits == 1 && *start == '0' && (*p->at == 'x' || *p->at == 'X') && p->at++)
        return bad_number(p, start, "write it in decimal");
    if (*p->at == '.') {
        p->at++;
        digits += skip_digits(p);
    }
    if (!digits) return bad_number(p, start, "there are no digits");
    if (*p->at == '.' && p->at++) return bad_number(p, start, "it has two decimal points");
    int nonzero = start + strspn(start, "0.") < p->at;
    if (*p->at == 'e' || *p->at == 'E') {
        const char *sign = p->at + 1;
        int is_signed = *sign == '+' || *sign == '-';
        if (is_digit(sign[is_signed])) {
            p->at = sign + is_signed;
            skip_digits(p);
        } else if (!is_name_part(*sign)) {
            p->at = sign + is_signed;
            return bad_number(p, start, "the exponent has no digits");
        }
    }
    char *end;
    double value = clsi_strtod(start, &end);
    if (end != p->at) return bad_number(p, start, "it is not written as a number");
    if (!isfinite(value)) return bad_number(p, start, "too large for double precision");
    if (value == 0 && nonzero)
        return bad_number(p, start, "too small for double precision, it would become 0");
    return built(p, start, start, cls_constant(p->graph, value));
}

/* ---- names ---- */

static cls_node find_symbol(const parser *p, const char *s, size_t n) {
    if (p->scope && p->scope->find) return p->scope->find(p->scope->context, s, n);
    for (size_t k = 0; p->scope && k < p->scope->n; k++)
        if (clsi_word_is(p->scope->names[k], s, n)) return p->scope->nodes[k];
    return CLS_NO_NODE;
}

/* The known name nearest to the one at s; functions always, symbols too if wanted. */
static const char *nearest(const parser *p, const char *s, size_t n, int symbols) {
    size_t in_scope = symbols && p->scope ? p->scope->n : 0, functions = 0, count = 0;
    while (clsi_function_word(functions)) functions++;
    const char **known = clsi_calloc(in_scope + functions + 1, sizeof *known), *found = NULL;
    char *word = clsi_strndup(s, n);
    if (known && word) {
        for (size_t k = 0; k < in_scope; k++) known[count++] = p->scope->names[k];
        for (size_t k = 0; k < functions; k++) known[count++] = clsi_function_word(k);
        if (symbols) known[count++] = "pi";
        found = cls_nearest_word(word, count, known);
    }
    free(word);
    free(known);
    return found;
}

static cls_node unknown_name(parser *p, const char *s, size_t n, int called) {
    const char *kind = called ? "function" : "name", *why = clsi_advice_for(s, n);
    if (why) return fail(p, CLS_SYSTEM, s, NULL, "%s is %s", quote(s, n).text, why);
    char hint[600] = "";
    const char *near = NULL;
    char *word = called || !p->scope ? NULL : clsi_strndup(s, n);
    if (word) clsi_array_hint(word, p->scope->n, p->scope->names, hint);
    free(word);
    if (!*hint) near = nearest(p, s, n, !called);
    if (near) {
        snprintf(hint, sizeof hint, "did you mean %.80s?", near);
    } else if (!*hint && !called && p->scope && p->scope->n && p->scope->n <= 16) {
        size_t used = (size_t)snprintf(hint, sizeof hint, "known here:");
        for (size_t k = 0; k < p->scope->n && used < sizeof hint; k++)
            used += (size_t)snprintf(hint + used, sizeof hint - used, " %.30s", p->scope->names[k]);
    }
    return fail(p, CLS_SYSTEM, s, *hint ? hint : NULL, "unknown %s '%s'", kind, quote(s, n).text);
}

/* ---- the grammar ---- */

static cls_node sum(parser *p);

/* After the "(" at `open`: reads up to ")". */
static int close_parenthesis(parser *p, const char *open) {
    char c = peek(p);
    if (c == ')') {
        p->at++;
        return 1;
    }
    if (c)
        unexpected(p);
    else
        fail(p, CLS_SYSTEM, open, "add the missing )", "this ( is never closed");
    return 0;
}

/* Arguments up to ")", pushed on the stack. 1 on success. */
static int arguments(parser *p, const char *open) {
    if (peek(p) == ')') {
        p->at++;
        return 1;
    }
    for (;; p->at++) {
        cls_node a = sum(p);
        if (a == CLS_NO_NODE) return 0;
        if (!clsi_grow(&p->args, &p->args_capacity, p->n_args + 1, sizeof *p->args)) {
            fail(p, CLS_MEMORY, p->at, NULL, "out of memory");
            return 0;
        }
        p->args[p->n_args++] = a;
        if (peek(p) != ',') return close_parenthesis(p, open);
    }
}

static cls_node wrong_count(parser *p, const char *name, const char *usage, size_t want,
                            size_t got) {
    char hint[96];
    snprintf(hint, sizeof hint, "write %s", usage);
    return fail(p, CLS_SYSTEM, name, hint, "%s takes %s%zu argument%s, got %zu",
                quote(name, name_length(name)).text, strstr(usage, "...") ? "at least " : "", want,
                want == 1 ? "" : "s", got);
}

/* quotient(exp, i, j, a, b) and quotient(power, i, j, a, b, c): how difference quotients print.
 * `first` is the function's name; args are i, j, a, b and perhaps c. */
static cls_node build_quotient(parser *p, const char *name, const char *first, size_t n,
                               const cls_node *x) {
    cls_function f = clsi_find_function(first, name_length(first));
    if (f == CLS_FN_COUNT) return unknown_name(p, first, name_length(first), 1);
    size_t want = f == CLS_FN_POWER ? 5 : 4;
    if (n != want)
        return wrong_count(p, name, "quotient(exp, i, j, a, b) or quotient(power, i, j, a, b, c)",
                           want + 1, n + 1);
    double order[2] = {0, 0}, exponent = 0;
    for (size_t k = 0; k < 2; k++)
        if (cls_node_op(p->graph, x[k]) == CLS_OP_CONSTANT)
            order[k] = cls_node_value(p->graph, x[k]);
    int whole = order[0] == floor(order[0]) && order[1] == floor(order[1]);
    if (!whole || !(order[0] >= 1 && order[1] >= 1 && order[0] + order[1] <= 200))
        return fail(p, CLS_SYSTEM, name, NULL,
                    "the orders of a quotient are whole numbers from 1, together at most 200");
    if (x[2] == x[3])
        return fail(p, CLS_SYSTEM, name, "write the derivative",
                    "a quotient needs two different points");
    if (n == 5 && cls_node_op(p->graph, x[4]) != CLS_OP_CONSTANT)
        return fail(p, CLS_SYSTEM, name, NULL, "the exponent of a quotient is a number");
    if (n == 5) exponent = cls_node_value(p->graph, x[4]);
    return built(p, name, name,
                 cls_quotient(p->graph, f, (int)order[0], (int)order[1], x[2], x[3], exponent));
}

/* Arguments of a function that the scope has; 0: it has none of this name. */
static size_t arity(const parser *p, const char *name, size_t length) {
    return p->scope && p->scope->arity ? p->scope->arity(p->scope->context, name, length) : 0;
}

static cls_node apply_own(parser *p, const char *name, size_t want, size_t n, const cls_node *x) {
    size_t length = name_length(name);
    if (n != want) {
        char usage[80];
        snprintf(usage, sizeof usage, "%s%s", quote(name, length).text,
                 want == 1 ? "(a)" : "(a, b)");
        return wrong_count(p, name, usage, want, n);
    }
    return built(p, name, name, p->scope->call(p->scope->context, name, length, x));
}

/* The function at `name` of the n arguments x. */
static cls_node apply(parser *p, const char *name, size_t n, const cls_node *x) {
    size_t length = name_length(name), own = arity(p, name, length);
    if (own) return apply_own(p, name, own, n, x);
    cls_function f = clsi_find_function(name, length);
    if (f < CLS_FN_POWER && n != 1) {
        char usage[32];
        snprintf(usage, sizeof usage, "%s(x)", cls_function_name(f));
        return wrong_count(p, name, usage, 1, n);
    }
    if (f < CLS_FN_POWER) return built(p, name, name, cls_apply(p->graph, f, x[0]));
    const clsi_composition *c = clsi_find_composition(name, length);
    if (n < c->min || n > c->max) return wrong_count(p, name, c->usage, c->min, n);
    return built(p, name, name, c->build(p->graph, n, x));
}

/* mod, min and max of numbers, such as the index of a loop; of anything else they are not smooth. */
static int of_numbers(const char *name, size_t length) {
    return clsi_word_is("mod", name, length) || clsi_word_is("min", name, length) ||
           clsi_word_is("max", name, length);
}

static cls_node apply_numbers(parser *p, const char *name, size_t n, const cls_node *args) {
    size_t length = name_length(name);
    double x[2] = {0};
    for (size_t k = 0; k < n; k++) {
        if (cls_node_op(p->graph, args[k]) != CLS_OP_CONSTANT)
            return unknown_name(p, name, length, 1);
        x[k ? 1 : 0] = cls_node_value(p->graph, args[k]);
    }
    char usage[16];
    snprintf(usage, sizeof usage, "%.3s(a, b)", name);
    if (n != 2) return wrong_count(p, name, usage, 2, n);
    double value = *name == 'm' && name[1] == 'o' ? x[0] - x[1] * floor(x[0] / x[1])
                   : name[1] == 'i'               ? fmin(x[0], x[1])
                                                  : fmax(x[0], x[1]);
    return built(p, name, name, cls_constant(p->graph, value));
}

/* name "(" ...: the parenthesis is next. */
static cls_node call(parser *p, const char *name, size_t length) {
    const char *open = p->at++, *first = NULL;
    int known = clsi_is_function(name, length) || arity(p, name, length);
    if (!known && !of_numbers(name, length)) {
        if (find_symbol(p, name, length) != CLS_NO_NODE || clsi_word_is("pi", name, length))
            return fail(p, CLS_SYSTEM, name, "write * for a product: x*(a + b)",
                        "'%s' is not a function", quote(name, length).text);
        return unknown_name(p, name, length, 1);
    }
    if (clsi_word_is("quotient", name, length)) {
        peek(p);
        first = p->at;
        p->at += name_length(first);
        if (!is_name_start(*first) || peek(p) != ',')
            return fail(p, CLS_SYSTEM, first, "write quotient(exp, i, j, a, b)",
                        "a quotient begins with the name of a function");
        p->at++;
    }
    size_t base = p->n_args;
    if (!arguments(p, open)) return CLS_NO_NODE;
    size_t n = p->n_args - base;
    p->n_args = base;
    const cls_node *args = n ? p->args + base : NULL;
    if (!known) return apply_numbers(p, name, n, args);
    return first ? build_quotient(p, name, first, n, args) : apply(p, name, n, args);
}

static cls_node named(parser *p) {
    const char *name = p->at;
    size_t length = name_length(name);
    p->at += length;
    if (peek(p) == '(') return call(p, name, length);
    cls_node symbol = find_symbol(p, name, length);
    if (symbol != CLS_NO_NODE) return symbol;
    if (clsi_word_is("pi", name, length))
        return built(p, name, name, cls_constant(p->graph, 3.14159265358979323846));
    if (!clsi_is_function(name, length) && !arity(p, name, length))
        return unknown_name(p, name, length, 0);
    return fail(p, CLS_SYSTEM, name, NULL,
                "the function %s needs its argument in parentheses: %s(x)",
                quote(name, length).text, quote(name, length).text);
}

static cls_node missing_operand(parser *p) {
    const char *before = p->at;
    while (before > p->text && strchr(" \t\r\n", before[-1])) before--;
    if (*p->at == '*' && before > p->text && before[-1] == '*')
        return fail(p, CLS_SYSTEM, before - 1, "write ^ for powers: x^2", "** is not an operator");
    if (before == p->text && !*p->at)
        return fail(p, CLS_SYSTEM, p->text, NULL, "the expression is empty");
    if (before > p->text && before[-1] == '(' && *p->at == ')')
        return fail(p, CLS_SYSTEM, p->at, NULL, "there is nothing between these parentheses");
    if (before == p->text || before[-1] == '(')
        return fail(p, CLS_SYSTEM, p->at, NULL,
                    *p->at ? "an operand is missing before '%c'" : "an operand is missing here",
                    *p->at);
    return fail(p, CLS_SYSTEM, p->at, NULL, "an operand is missing after '%c'", before[-1]);
}

static cls_node atom(parser *p) {
    char c = peek(p);
    if (is_digit(c) || c == '.') return number(p);
    if (is_name_start(c)) return named(p);
    if (c == '(') {
        const char *open = p->at++;
        cls_node inner = sum(p);
        if (inner == CLS_NO_NODE || !close_parenthesis(p, open)) return CLS_NO_NODE;
        return inner;
    }
    return !c || strchr("+-*/^),", c) ? missing_operand(p) : bad_character(p);
}

/* unary and power in one: the sign applies to the power, the exponent is again a unary. */
static cls_node unary(parser *p) {
    char sign = peek(p);
    const char *start = p->at;
    cls_node a, b;
    if (!enter(p)) return CLS_NO_NODE;
    if (sign == '-' || sign == '+') {
        p->at++;
        a = unary(p);
        if (a != CLS_NO_NODE && sign == '-') a = built(p, start, start, cls_neg(p->graph, a));
    } else {
        a = atom(p);
        if (a != CLS_NO_NODE && peek(p) == '^') {
            const char *at = p->at++;
            b = unary(p);
            a = b == CLS_NO_NODE ? b : built(p, start, at, cls_pow(p->graph, a, b));
        }
    }
    p->depth--;
    return a;
}

static cls_node product(parser *p) {
    peek(p);
    const char *start = p->at;
    cls_node a = unary(p);
    while (a != CLS_NO_NODE && (peek(p) == '*' || *p->at == '/')) {
        const char *at = p->at++;
        cls_node b = unary(p);
        if (b == CLS_NO_NODE) return b;
        a = built(p, start, at, *at == '*' ? cls_mul(p->graph, a, b) : cls_div(p->graph, a, b));
    }
    return a;
}

static cls_node sum(parser *p) {
    peek(p);
    const char *start = p->at;
    cls_node a = product(p);
    while (a != CLS_NO_NODE && (peek(p) == '+' || *p->at == '-')) {
        const char *at = p->at++;
        cls_node b = product(p);
        if (b == CLS_NO_NODE) return b;
        a = built(p, start, at, *at == '+' ? cls_add(p->graph, a, b) : cls_sub(p->graph, a, b));
    }
    return a;
}

cls_status cls_parse(cls_graph *g, const char *text, const cls_scope *scope, const char *file,
                     int line, int column, cls_node *out, cls_error *error) {
    NEED(error, g);
    NEED(error, text);
    NEED(error, out);
    *out = CLS_NO_NODE;
    const cls_graph_limits *limits = clsi_graph_limits(g);
    parser p = {.graph = g,
                .scope = scope,
                .text = text,
                .at = text,
                .file = file,
                .line = line,
                .column = column,
                .error = error};
    p.max_depth = limits->max_depth < DEPTH_CEILING ? limits->max_depth : DEPTH_CEILING;
    *out = CLS_NO_NODE;
    if (strnlen(text, limits->max_length + 1) > limits->max_length) {
        fail(&p, CLS_SYSTEM, text, "name parts of the formula and use the names",
             "the expression is longer than %zu characters, the limit", limits->max_length);
        return p.status;
    }
    cls_node a = sum(&p);
    if (a != CLS_NO_NODE && peek(&p)) a = unexpected(&p);
    free(p.args);
    *out = a;
    return p.status;
}
