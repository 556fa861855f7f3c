/* The text of a .clausius file: positions, error sentences, words, expressions.
 *
 * Problem: every complaint must point into the user's file. So the text is never rewritten:
 * comments are blanked in a copy of the same length, statements and expressions are ranges of
 * offsets, and an offset becomes line, column, source line and caret only when something is wrong.
 * Finding the line of an offset costs one walk over the text, paid once per error. */
#include "base/locale.h"
#include "expr/graph.h"
#include "system/language.h"
#include "system/pattern.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 96 }; /* letters of a source line shown in an error */

/* The source line around `where`, and the caret under it. */
static void quote(const clsi_reader *r, size_t where, size_t line_begin, clsi_text *out) {
    size_t end = line_begin, from = line_begin;
    while (r->text[end] && r->text[end] != '\n') end++;
    if (where - from > WINDOW - 16) from = where - WINDOW / 2;
    if (end - from > WINDOW) end = from + WINDOW;
    while (from < where && (r->text[from] & 0xC0) == 0x80) from++; /* whole letters */
    while (end > where && (r->text[end] & 0xC0) == 0x80) end--;
    clsi_text_append(out, "\n    ");
    for (size_t i = from, n; i < end; i += n ? n : 1) {
        n = clsi_shown_length(r->text + i, end - i);
        if (r->text[i] == '\r' && r->text[i + 1] == '\n') continue;
        int plain = n && r->text[i] != '\t';
        clsi_text_append_n(out, plain ? r->text + i : n ? " " : "?", plain ? n : 1);
    }
    clsi_text_append(out, "\n    ");
    for (size_t i = from; i < where; i++) /* a UTF-8 letter is one column wide */
        if (((unsigned char)r->text[i] & 0xC0) != 0x80) clsi_text_append_n(out, " ", 1);
    clsi_text_append(out, "^");
}

cls_status clsi_at(clsi_reader *r, size_t where, const char *format, ...) {
    char sentence[1200], note[160];
    va_list args;
    va_start(args, format);
    clsi_vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (r->lean) return clsi_fail(r->error, CLS_SYSTEM, "%s: %s", r->file, sentence);
    int line = 1;
    size_t begin = 0;
    const clsi_reader *from = clsi_origin_of(r, &where, note);
    if (where > from->length) where = from->length;
    for (size_t i = 0; i < where; i++)
        if (from->text[i] == '\n') line++, begin = i + 1;
    clsi_text around = {0};
    quote(from, where, begin, &around);
    (void)clsi_fail(r->error, CLS_SYSTEM, "%s:%d:%d: %s%s%s", from->file, line,
                    (int)(where - begin) + 1, sentence, note, around.failed ? "" : around.data);
    if (r->error) {
        r->error->line = line;
        r->error->column = (int)(where - begin) + 1;
    }
    clsi_text_clear(&around);
    return CLS_SYSTEM;
}

/* Comments become blanks; so do tabs, carriage returns at the end of a line, and the mark that editors write at the
 * beginning. What may not be shown is refused; in comments may stand what is no UTF-8. */
cls_status clsi_clean_text(clsi_reader *r) {
    int comment = 0, quoted = 0;
    size_t n = !strncmp(r->text, "\xef\xbb\xbf", 3) ? 3 : 0;
    r->clean = clsi_strndup(r->text, r->length);
    if (!r->clean) return clsi_no_memory(r->error);
    memset(r->clean, '\n', n); /* the first statement begins its line */
    for (size_t i = n; i < r->length; i += n ? n : 1) {
        char c = r->text[i];
        n = clsi_shown_length(r->text + i, r->length - i);
        if (c == '\n') {
            comment = quoted = 0;
            continue;
        }
        if (c == '"' && !comment) quoted = !quoted;
        if (c == '#' && !quoted) comment = 1;
        if (c == '\r' && i + 1 < r->length && r->text[i + 1] != '\n')
            return clsi_at(r, i, "a carriage return inside the line; lines end in LF or CR LF");
        if (!n && c != '\r' && (!comment || clsi_turns_order(r->text + i, r->length - i)))
            return clsi_at(r, i, "%s 0x%02x: a system file is plain text%s",
                           c & 0x80 ? "byte" : "control character", (unsigned char)c,
                           c & 0x80 ? " in UTF-8, without marks that turn the order of letters"
                                    : "");
        if (comment || c == '\t' || c == '\r') memset(r->clean + i, ' ', n ? n : 1);
    }
    return CLS_OK;
}

static int is_space(char c) {
    return c == ' ' || c == '\n';
}

void clsi_skip_space(const clsi_reader *r, clsi_cursor *c) {
    while (c->at < c->end && is_space(r->clean[c->at])) c->at++;
}

int clsi_at_end(const clsi_reader *r, clsi_cursor *c) {
    clsi_skip_space(r, c);
    return c->at >= c->end;
}

static int is_letter(char c) {
    return isalpha((unsigned char)c) || c == '_';
}

static int is_word(char c) {
    return is_letter(c) || isdigit((unsigned char)c);
}

size_t clsi_word_length(const clsi_reader *r, clsi_cursor *c, int dotted) {
    clsi_skip_space(r, c);
    const char *t = r->clean;
    size_t i = c->at;
    if (i >= c->end || !is_letter(t[i])) return 0;
    for (size_t index = 1; index; i += index) {
        if (i < c->end &&
            (is_word(t[i]) || (dotted && t[i] == '.' && i + 1 < c->end && is_letter(t[i + 1]))))
            index = 1;
        else if (r->turning)
            index = clsi_bracket_length(r, i, c->end);
        else
            index = clsi_index_length(t + i, c->end - i);
    }
    return i - c->at;
}

/* Letters of [3] at t, 0 when there is no index. */
size_t clsi_index_length(const char *t, size_t n) {
    size_t i = 1;
    if (n < 3 || t[0] != '[') return 0;
    if (t[1] == '-') i++;
    while (i < n && isdigit((unsigned char)t[i])) i++;
    return i < n && t[i] == ']' && isdigit((unsigned char)t[i - 1]) ? i + 1 : 0;
}

int clsi_accept(const clsi_reader *r, clsi_cursor *c, const char *symbol) {
    clsi_skip_space(r, c);
    size_t n = strlen(symbol);
    if (c->end - c->at < n || memcmp(r->clean + c->at, symbol, n) != 0) return 0;
    c->at += n;
    return 1;
}

int clsi_accept_word(const clsi_reader *r, clsi_cursor *c, const char *word) {
    clsi_skip_space(r, c);
    if (c->at >= c->end || r->clean[c->at] != word[0]) return 0;
    size_t n = strlen(word);
    if (c->end - c->at < n || memcmp(r->clean + c->at, word, n) != 0) return 0;
    if (clsi_word_length(r, c, 0) != n) return 0; /* asked last: most words are others */
    c->at += n;
    return 1;
}

const char *clsi_found(const clsi_reader *r, clsi_cursor *c, char out[48]) {
    if (clsi_at_end(r, c)) return "the end of the statement";
    size_t n = clsi_word_length(r, c, 1);
    if (n == 0) n = 1;
    while (((unsigned char)r->clean[c->at + n] & 0xC0) == 0x80) n++;
    snprintf(out, 48, "`%.*s`", (int)(n < 40 ? n : 40), r->clean + c->at);
    return out;
}

cls_status clsi_expect(clsi_reader *r, clsi_cursor *c, const char *symbol, const char *after) {
    if (clsi_accept(r, c, symbol)) return CLS_OK;
    char found[48];
    return clsi_at(r, c->at, "expected `%s` after %s, found %s", symbol, after,
                   clsi_found(r, c, found));
}

cls_status clsi_expect_end(clsi_reader *r, clsi_cursor *c) {
    if (clsi_at_end(r, c)) return CLS_OK;
    char found[48];
    return clsi_at(r, c->at, "expected the end of the statement, found %s",
                   clsi_found(r, c, found));
}

size_t clsi_item_end(const clsi_reader *r, const clsi_cursor *c) {
    int depth = 0;
    size_t i = c->at;
    for (; i < c->end; i++) {
        char k = r->clean[i];
        if (k == '(' || k == '[') depth++;
        if ((k == ')' || k == ']') && depth > 0) depth--;
        if (k == ',' && depth == 0) break;
    }
    return i;
}

size_t clsi_find_word(const clsi_reader *r, size_t begin, size_t end, const char *name) {
    size_t n = strlen(name);
    for (size_t i = begin; i < end;) {
        size_t j = i;
        size_t more = 1;
        while (j < end && more) {
            more = is_word(r->clean[j]) || r->clean[j] == '.' ? 1
                   : j > i ? clsi_index_length(r->clean + j, end - j)
                           : 0;
            j += more;
        }
        if (j - i == n && memcmp(r->clean + i, name, n) == 0) return i;
        i = j > i ? j : i + 1;
    }
    return begin;
}

/* A word that begins a continuation line may have been meant as a statement. */
static const char *continuation_note(const clsi_reader *r, size_t begin, size_t where) {
    if (where >= r->length || !is_letter(r->clean[where])) return "";
    while (where > begin && r->clean[where - 1] == ' ') where--;
    return where > begin && r->clean[where - 1] == '\n'
               ? " (a line that begins with white space continues the statement above it)"
               : "";
}

/* The parser saw the expression alone, on one line: "column 7: sentence", an excerpt of two lines,
 * perhaps a hint. Its column is an offset; sentence and hint are kept, the excerpt is ours. */
static cls_status point_at_parse_error(clsi_reader *r, const clsi_expression *e,
                                       const cls_error *inner) {
    if (inner->status == CLS_MEMORY) return clsi_no_memory(r->error);
    size_t where = e->begin + (inner->column > 0 ? (size_t)inner->column - 1 : 0);
    if (where > e->end) where = e->end;
    char place[32];
    snprintf(place, sizeof place, "column %d: ", inner->column);
    const char *sentence = inner->message;
    if (strncmp(sentence, place, strlen(place)) == 0) sentence += strlen(place);
    int length = (int)strcspn(sentence, "\n");
    const char *hint = sentence;
    for (int line = 0; hint && line < 3; line++)
        hint = (hint = strchr(hint, '\n')) ? hint + 1 : NULL;
    return clsi_at(r, where, "%.*s%s%s%s", length, sentence, hint ? "; " : "", hint ? hint : "",
                   continuation_note(r, e->begin, where));
}

static cls_node value_of_let(const void *reader, cls_node symbol) {
    const clsi_reader *r = reader;
    const clsi_name *name = clsi_name_of_symbol(r, symbol, CLSI_LET);
    return name ? r->let_raw[name->index] : CLS_NO_NODE;
}

static cls_node value_of_parameter(const void *reader, cls_node symbol) {
    const clsi_reader *r = reader;
    const clsi_name *name = clsi_name_of_symbol(r, symbol, CLSI_PARAMETER);
    return name ? r->parameter_constant[name->index] : CLS_NO_NODE;
}

/* What formulas share is walked through once for all of them. */
static cls_status put_in(clsi_reader *r, cls_node a, clsi_replacer **by, clsi_value_of value_of,
                         cls_node *out) {
    if (!*by && !(*by = clsi_replacer_create(r->s->g, value_of, r))) return CLS_MEMORY;
    return clsi_replace(*by, 1, &a, out);
}

cls_status clsi_expand(clsi_reader *r, clsi_expression *e) {
    cls_system *s = r->s;
    cls_error inner = {0};
    e->raw = e->bound = CLS_NO_NODE;
    const int replaced = CLSI_LET | CLSI_PARAMETER | CLSI_INPUT;
    if (e->kinds && !(e->kinds & replaced)) {
        e->raw = e->bound = e->written;
        return CLS_OK;
    }
    cls_status status = CLS_OK;
    if (e->kinds && !(e->kinds & CLSI_LET))
        e->raw = e->written;
    else
        status = put_in(r, e->written, &r->lets, value_of_let, &e->raw);
    if (status == CLS_OK) status = put_in(r, e->raw, &r->parameters, value_of_parameter, &e->bound);
    for (size_t i = 0; i < s->nu && status == CLS_OK && !clsi_lacks(e, CLSI_INPUT); i++)
        if (s->input_formula[i] != CLS_NO_NODE)
            status =
                cls_substitute(s->g, 1, &e->bound, 1, &s->u[i], &s->input_formula[i], &e->bound);
    if (status == CLS_OK && e->bound != CLS_NO_NODE) return CLS_OK;
    if (status == CLS_MEMORY || cls_graph_status(s->g, &inner) == CLS_MEMORY)
        return clsi_no_memory(r->error);
    return clsi_at(r, e->begin, "this expression is too large: %s", inner.message);
}

cls_status clsi_read_expression(clsi_reader *r, size_t begin, size_t end, clsi_expression *e) {
    while (begin < end && is_space(r->clean[begin])) begin++;
    while (end > begin && is_space(r->clean[end - 1])) end--;
    e->begin = begin;
    e->end = end;
    e->written = e->raw = e->bound = CLS_NO_NODE;
    e->kinds = 0;
    if (begin == end) return clsi_at(r, begin, "expected a formula, found nothing");
    if (r->turning) {
        cls_status read = clsi_read_pattern(r, e);
        return read == CLS_OK ? clsi_expand(r, e) : read;
    }
    size_t seam = clsi_find_word(r, begin, end, "unknown");
    if (end - seam >= 7 && memcmp(r->clean + seam, "unknown", 7) == 0)
        return clsi_at(r, seam,
                       "`unknown` stands alone: write `part N = unknown` and use N in the "
                       "formula");
    char *text = clsi_strndup(r->clean + begin, end - begin);
    if (!text) return clsi_no_memory(r->error);
    for (char *c = text; *c; c++)
        if (*c == '\n') *c = ' ';
    const clsi_reader_scope owner = {r};
    const void *outer = r->scope.context;
    r->scope = (cls_scope){.n = r->n_scope,
                           .names = r->scope_names,
                           .nodes = r->scope_nodes,
                           .find = clsi_scope_find,
                           .arity = clsi_scope_arity,
                           .call = clsi_scope_call,
                           .context = &owner};
    cls_error inner = {0};
    r->reading = begin;
    cls_status status = cls_parse(r->s->g, text, &r->scope, NULL, 1, 1, &e->written, &inner);
    r->scope.context = outer; /* a function that is read again within a formula */
    free(text);
    return status == CLS_OK ? clsi_expand(r, e) : point_at_parse_error(r, e, &inner);
}

cls_status clsi_read_number(clsi_reader *r, size_t begin, size_t end, const char *what,
                            double *out) {
    clsi_expression e;
    if (r->turning && clsi_pattern_number(r, begin, end, out)) return CLS_OK;
    cls_status status = clsi_read_expression(r, begin, end, &e);
    if (status == CLS_OK) status = clsi_allow(r, &e, CLSI_PARAMETER, what);
    if (status != CLS_OK) return status;
    cls_node number = e.raw, *symbols = NULL;
    size_t n = 0;
    if (e.kinds != CLSI_ALL_KINDS && !(symbols = clsi_list_symbols(r->s->g, 1, &number, &n)))
        return clsi_no_memory(r->error);
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        /* not e.bound: a parameter that is being learned has a symbol there */
        const clsi_name *name = clsi_name_of_symbol(r, symbols[i], CLSI_PARAMETER);
        if (!name) continue;
        cls_node known = cls_constant(r->s->g, r->s->parameter_value[name->index]);
        status = cls_substitute(r->s->g, 1, &number, 1, &symbols[i], &known, &number);
    }
    free(symbols);
    if (status != CLS_OK) return cls_graph_status(r->s->g, r->error);
    /* constants fold to what a program would compute */
    *out = cls_node_op(r->s->g, number) == CLS_OP_CONSTANT ? cls_node_value(r->s->g, number) : NAN;
    if (status == CLS_OK && !isfinite(*out))
        status = clsi_at(r, e.begin, "%s is not a finite number: it evaluates to %g", what, *out);
    return status;
}
