/* Texts of C as words (trim.c), and what is decided in them before they run (fold.c). */
#ifndef CLSI_WORDS_H
#define CLSI_WORDS_H

#include "base/base.h"

typedef struct clsi_word {
    const char *s;
    uint32_t n;
    uint32_t indent;         /* of the line that it begins */
    char kind;               /* i identifier, # directive, w a whole piece, p all else */
    unsigned char line, gap; /* it begins a line; a blank stands before it */
    unsigned char gone;      /* left out */
} clsi_word;

/* Texts that the words own. */
typedef struct clsi_owned clsi_owned;

typedef struct clsi_words {
    clsi_word *at;
    size_t n, room;
    clsi_owned *owned;
    int failed;
} clsi_words;

void clsi_words_read(clsi_words *t, const char *s);
void clsi_words_push(clsi_words *t, clsi_word w);
void clsi_words_clear(clsi_words *t);
/* A copy of s, of length n, that lives as long as the words; NULL without memory. */
const char *clsi_words_keep(clsi_words *t, const char *s, size_t n);
/* What is gone is gone. */
void clsi_words_close(clsi_words *t);

int clsi_word_equals(const clsi_word *w, const char *text);
int clsi_word_begins(const clsi_word *w, const char *text);
int clsi_word_same(const clsi_word *a, const clsi_word *b);
/* A directive or a whole piece that names it. */
int clsi_word_names(const clsi_word *w, const clsi_word *name);
/* Word `which` of a directive, 0 its name. */
clsi_word clsi_directive_word(const clsi_word *w, int which);
/* The bracket that closes the one at k, or the next one. */
size_t clsi_words_closing(const clsi_words *t, size_t k);
/* Behind the statement at k, with all that belongs to an `if`. */
size_t clsi_statement_end(const clsi_words *t, size_t k);
void clsi_words_leave(clsi_words *t, size_t from, size_t to);
/* Word `to` stands where `from` did. */
void clsi_words_move(clsi_words *t, size_t from, size_t to);

/* Macros that are a number, a name, an access or a call, wherever the texts name them after that (macros.c). */
void clsi_words_expand(clsi_words *t);
/* Numbers that are computed from numbers, conditions, loops, functions and arguments that they decide. */
void clsi_words_fold(clsi_words *t);

static inline int clsi_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

#endif
