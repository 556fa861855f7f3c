/* Texts of C as words. It knows the C of the texts that exported C carries, which clang-format has laid
 * out, not all of C: what it gets wrong does not compile. */
#include "export/words.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef clsi_word word;

struct clsi_owned {
    clsi_owned *next;
    char text[];
};

const char *clsi_words_keep(clsi_words *t, const char *s, size_t n) {
    clsi_owned *o = clsi_malloc(sizeof *o + n + 1);
    if (!o) {
        t->failed = 1;
        return NULL;
    }
    memcpy(o->text, s, n);
    o->text[n] = 0;
    o->next = t->owned;
    t->owned = o;
    return o->text;
}

void clsi_words_clear(clsi_words *t) {
    for (clsi_owned *o = t->owned, *next; o; o = next) {
        next = o->next;
        free(o);
    }
    free(t->at);
    *t = (clsi_words){0};
}

int clsi_word_equals(const word *w, const char *text) {
    return strlen(text) == w->n && !memcmp(w->s, text, w->n);
}

int clsi_word_begins(const word *w, const char *text) {
    return w->n >= strlen(text) && !memcmp(w->s, text, strlen(text));
}

static const char *directive_end(const char *s) {
    while (*s && *s != '\n') s += s[0] == '\\' && s[1] ? 2 : 1;
    return s;
}

static size_t word_length(const char *s) {
    size_t n = 1;
    if (clsi_is_letter(*s) || (*s == '.' && isdigit((unsigned char)s[1]))) {
        int number = !isalpha((unsigned char)*s) && *s != '_';
        while (clsi_is_letter(s[n]) || (number && (s[n] == '.' || ((s[n] == '+' || s[n] == '-') &&
                                                                   strchr("eEpP", s[n - 1])))))
            n++;
        return n;
    }
    if (*s == '"' || *s == '\'') {
        while (s[n] && s[n] != *s) n += s[n] == '\\' ? 2 : 1;
        return n + 1;
    }
    return n;
}

void clsi_words_push(clsi_words *t, word w) {
    if (!clsi_grow(&t->at, &t->room, t->n + 1, sizeof w))
        t->failed = 1;
    else
        t->at[t->n++] = w;
}

void clsi_words_read(clsi_words *t, const char *s) {
    word w = {.line = 1};
    while (*s && !t->failed) {
        if (*s == '\n') {
            w.line = 1, w.indent = 0;
            s++;
        } else if (isspace((unsigned char)*s)) {
            w.indent += w.line, w.gap = 1;
            s++;
        } else if (s[0] == '/' && s[1] == '*') {
            const char *end = strstr(s, "*/");
            s = end ? end + 2 : s + strlen(s);
            w.gap = 1;
        } else {
            w.s = s;
            w.kind = isalpha((unsigned char)*s) || *s == '_' ? 'i' : *s == '#' ? '#' : 'p';
            w.n = (uint32_t)(*s == '#' ? (size_t)(directive_end(s) - s) : word_length(s));
            clsi_words_push(t, w);
            s += w.n;
            w = (word){0};
        }
    }
}

clsi_word clsi_directive_word(const word *w, int which) {
    const char *s = w->s + 1, *end = w->s + w->n;
    word found = {0};
    for (int k = 0; k <= which; k++) {
        while (s < end && !clsi_is_letter(*s)) s++;
        found = (word){.s = s};
        while (s < end && clsi_is_letter(*s)) s++;
        found.n = (uint32_t)(s - found.s);
    }
    return found;
}

void clsi_words_close(clsi_words *t) {
    size_t n = 0;
    for (size_t k = 0; k < t->n; k++)
        if (!t->at[k].gone) t->at[n++] = t->at[k];
    t->n = n;
}

size_t clsi_words_closing(const clsi_words *t, size_t k) {
    int level = 0;
    for (; k < t->n; k++) {
        const word *w = &t->at[k];
        if (w->kind != 'p') continue;
        level += *w->s == '(' || *w->s == '[' || *w->s == '{';
        level -= *w->s == ')' || *w->s == ']' || *w->s == '}';
        if (!level) return k;
    }
    return t->n ? t->n - 1 : 0;
}

void clsi_words_leave(clsi_words *t, size_t from, size_t to) {
    for (; from < to; from++) t->at[from].gone = 1;
}

size_t clsi_statement_end(const clsi_words *t, size_t k) {
    int branch = clsi_word_equals(&t->at[k], "if");
    if (clsi_word_equals(&t->at[k], "{")) return clsi_words_closing(t, k) + 1;
    if (branch || clsi_word_equals(&t->at[k], "for") || clsi_word_equals(&t->at[k], "while"))
        k = clsi_statement_end(t, clsi_words_closing(t, k + 1) + 1);
    else
        for (; k < t->n && !clsi_word_equals(&t->at[k], ";"); k++)
            if (clsi_word_equals(&t->at[k], "(") || clsi_word_equals(&t->at[k], "{"))
                k = clsi_words_closing(t, k);
    if (!branch) return k + (k < t->n && clsi_word_equals(&t->at[k], ";"));
    return k < t->n && clsi_word_equals(&t->at[k], "else") ? clsi_statement_end(t, k + 1) : k;
}

void clsi_words_move(clsi_words *t, size_t from, size_t to) {
    word *w = &t->at[to], *there = &t->at[from];
    w->line = there->line, w->gap = there->gap, w->indent = there->indent;
}

int clsi_word_same(const word *a, const word *b) {
    return a->n == b->n && !memcmp(a->s, b->s, a->n);
}

int clsi_word_names(const word *w, const word *name) {
    if (w->kind != '#' && w->kind != 'w') return 0;
    for (const char *s = w->s, *end = w->s + w->n; s + name->n <= end; s++) {
        s = memchr(s, *name->s, (size_t)(end - s));
        if (!s || s + name->n > end) return 0;
        int begins = s == w->s || !clsi_is_letter(s[-1]);
        int ends = s + name->n == end || !clsi_is_letter(s[name->n]);
        if (begins && ends && !memcmp(s, name->s, name->n)) return 1;
    }
    return 0;
}
