/* Macros that exported C need not have: what stands for a number of the model, for another name, for an access
 * or a call is that where it is named.
 *
 *     #define CLSI_UNKNOWNS(nw) ((void)(nw), 4)      #define CLSI_LOW(nw, k) ((void)(nw), clsi_low[k])
 *     #define CLSI_STEP(sim) ((sim)->h)              #define CLSI_SIZE(nw, d) newton_size(nw, d)
 *
 * Numbers with a point keep their names, as longer expressions do, and what conditions of others define. */
#include "export/words.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef clsi_word word;

enum { MOST = 8 };

typedef struct macro {
    word name, parameter[MOST];
    size_t n_parameters;
    int called;      /* NAME(...) */
    clsi_words body; /* of it, words first .. last - 1 */
    size_t first, last;
} macro;

static int is(const clsi_words *t, size_t k, const char *text) {
    return k < t->n && clsi_word_equals(&t->at[k], text);
}

/* `( void ) ( x ) ,` at k; where it ends, or k. */
static size_t behind_cast(const clsi_words *b, size_t k) {
    return is(b, k, "(") && is(b, k + 1, "void") && is(b, k + 3, "(") && is(b, k + 6, ",") ? k + 7
                                                                                           : k;
}

/* An expression that needs no brackets where it is named, and has no argument twice. */
static int is_plain(const macro *m) {
    if (!m->called || clsi_words_closing(&m->body, 0) + 1 >= m->last) return 0;
    for (size_t p = 0; p < m->n_parameters; p++) {
        size_t uses = 0;
        for (size_t k = 0; k < m->body.n; k++)
            uses += clsi_word_same(&m->body.at[k], &m->parameter[p]);
        if (uses > 1) return 0;
    }
    return !is(&m->body, 0, "(");
}

/* Words first .. last - 1 are a name or a number, then accesses and calls. */
static int is_postfix(const macro *m) {
    const clsi_words *b = &m->body;
    size_t k = m->first;
    if (k >= m->last) return 0;
    if (is(b, k, "(") && is(b, k + 2, ")") && b->at[k + 1].kind == 'i') k += 2; /* (x)->y */
    int number = isdigit((unsigned char)*b->at[k].s) != 0;
    if (!number && b->at[k].kind != 'i' && !is(b, k, ")")) return 0;
    if (number && !m->called && strspn(b->at[k].s, "0123456789") < b->at[k].n) return 0;
    if (number) return k + 1 == m->last;
    for (k++; k < m->last; k++) {
        if (is(b, k, "(") || is(b, k, "["))
            k = clsi_words_closing(b, k);
        else if (is(b, k, "-") && is(b, k + 1, ">"))
            k += 2;
        else
            return 0;
    }
    return 1;
}

static void read_parameters(macro *m, const char **s, const char *end) {
    for (; *s < end && **s != ')'; (*s)++) {
        if (!clsi_is_letter(**s)) continue;
        const char *from = *s;
        while (*s < end && clsi_is_letter(**s)) (*s)++;
        if (m->n_parameters < MOST)
            m->parameter[m->n_parameters++] = (word){.s = from, .n = (uint32_t)(*s - from)};
        (*s)--;
    }
    *s += *s < end;
}

/* The macro of a directive; 0 where it is none that is to be expanded. */
static int read_macro(clsi_words *t, const word *define, macro *m) {
    word what = clsi_directive_word(define, 0);
    *m = (macro){.name = clsi_directive_word(define, 1)};
    if (!clsi_word_equals(&what, "define")) return 0;
    const char *s = m->name.s + m->name.n, *end = define->s + define->n;
    m->called = s < end && *s == '(';
    if (m->called) read_parameters(m, &s, end);
    if (s >= end) return m->called; /* nothing */
    if (memchr(s, '\\', (size_t)(end - s))) return 0;
    const char *body = clsi_words_keep(t, s, (size_t)(end - s));
    if (!body) return 0;
    clsi_words_read(&m->body, body);
    m->last = m->body.n;
    if (is(&m->body, 0, "(") && m->body.n && clsi_words_closing(&m->body, 0) == m->last - 1) {
        m->first = behind_cast(&m->body, 1), m->last--; /* ((void)(x), y) */
        if (m->first == 1 && m->called && is(&m->body, 1, "(") && is(&m->body, 2, "void")) return 0;
    }
    if (m->body.failed) t->failed = 1;
    return !t->failed && (is_postfix(m) || is_plain(m));
}

/* The argument for word k of the body, from .. to - 1 of the words; 0: it is no parameter. */
static int find_argument(const macro *m, const clsi_words *t, size_t open, size_t k, size_t *from,
                         size_t *to) {
    size_t which = 0, close = clsi_words_closing(t, open);
    while (which < m->n_parameters && !clsi_word_same(&m->parameter[which], &m->body.at[k]))
        which++;
    if (which == m->n_parameters || m->body.at[k].kind != 'i') return 0;
    *from = open + 1;
    for (size_t i = open + 1; i <= close; i++) {
        if (i < close && (is(t, i, "(") || is(t, i, "["))) {
            i = clsi_words_closing(t, i);
        } else if (i == close || is(t, i, ",")) {
            *to = i;
            if (!which--) return 1;
            *from = i + 1;
        }
    }
    return 0;
}

static void push_as(clsi_words *out, word w, const word *like) {
    w.line = like->line, w.gap = like->gap, w.indent = like->indent;
    clsi_words_push(out, w);
}

/* What stands for the name at k of the words. */
static void push_body(const macro *m, const clsi_words *t, size_t k, clsi_words *out) {
    const clsi_words *b = &m->body;
    for (size_t i = m->first; i < m->last; i++) {
        const word *like = i == m->first ? &t->at[k] : &b->at[i];
        size_t from = 0, to = 0;
        int bracket = is(b, i, "(") && is(b, i + 2, ")") && i && b->at[i - 1].kind != 'i';
        bracket |= is(b, i, "(") && is(b, i + 2, ")") && !i;
        if (bracket && m->called && find_argument(m, t, k + 1, i + 1, &from, &to) &&
            to == from + 1) {
            push_as(out, t->at[from], like); /* (x) */
            i += 2;
        } else if (m->called && find_argument(m, t, k + 1, i, &from, &to)) {
            for (size_t j = from; j < to; j++) push_as(out, t->at[j], j == from ? like : &t->at[j]);
        } else {
            push_as(out, b->at[i], like);
        }
    }
}

/* Other directives and whole pieces name it. */
static int is_needed(const clsi_words *t, size_t define, const word *name) {
    for (size_t k = 0; k < t->n; k++)
        if (k != define && clsi_word_names(&t->at[k], name)) return 1;
    return 0;
}

/* Behind `define`, wherever the name stands; whether there was one. */
static int expand(clsi_words *t, size_t define, const macro *m) {
    clsi_words out = {.owned = t->owned};
    int some = 0;
    t->at[define].gone = !is_needed(t, define, &m->name);
    for (size_t k = 0; k < t->n && !out.failed; k++) {
        int here = k > define && t->at[k].kind == 'i' && clsi_word_same(&t->at[k], &m->name) &&
                   (!m->called || is(t, k + 1, "("));
        if (!here) {
            clsi_words_push(&out, t->at[k]);
            continue;
        }
        push_body(m, t, k, &out);
        if (m->called) k = clsi_words_closing(t, k + 1);
        if (m->first == m->last) k += (size_t)is(t, k + 1, ";");
        some = 1;
    }
    free(t->at);
    *t = out;
    clsi_words_close(t);
    return some;
}

static int expand_all(clsi_words *t) {
    int level = 0, some = 0;
    for (size_t k = 0; k < t->n && !t->failed; k++) {
        if (t->at[k].kind != '#') continue;
        macro m;
        word what = clsi_directive_word(&t->at[k], 0);
        level += clsi_word_begins(&what, "if") - clsi_word_equals(&what, "endif");
        if (level) continue;
        if (read_macro(t, &t->at[k], &m)) some |= expand(t, k, &m);
        clsi_words_clear(&m.body);
    }
    return some;
}

void clsi_words_expand(clsi_words *t) {
    while (!t->failed && expand_all(t)) {
    }
}
