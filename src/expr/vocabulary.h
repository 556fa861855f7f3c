/* The words of the expression language besides the names of the scope. A word is given as it stands
 * in a text: n bytes from s. */
#ifndef CLSI_VOCABULARY_H
#define CLSI_VOCABULARY_H

#include <clausius/graph.h>

/* A function that is built from others while parsing. */
typedef struct clsi_composition {
    const char *name;
    size_t min, max; /* arguments */
    cls_node (*build)(cls_graph *g, size_t n, const cls_node *x);
    const char *usage;
} clsi_composition;

/* Whether the word is `name`. */
int clsi_word_is(const char *name, const char *s, size_t n);
/* NULL when there is none. */
const clsi_composition *clsi_find_composition(const char *s, size_t n);
/* CLS_FN_COUNT when there is none; CLS_FN_POWER is found as "power". */
cls_function clsi_find_function(const char *s, size_t n);
/* Whether the word can be called: a function, a composition or "quotient". */
int clsi_is_function(const char *s, size_t n);
/* For a word that is not in the language though people try it: what to write; or NULL. */
const char *clsi_advice_for(const char *s, size_t n);
/* Function k for suggestions, NULL after the last. */
const char *clsi_function_word(size_t k);

#endif
