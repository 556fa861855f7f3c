/* What is repeated is read once: formulas with indices as trees, statements in loops on the text with arrays.
 *
 *   pattern.c        trees of formulas and of numbers in brackets, made where they are first read
 *   instance.c       a formula of the graph from a tree, at one turn of its loops
 *   turned.c         statements in loops, read at every turn where they stand
 *   declare_array.c  declarations of arrays: a block of symbols each
 *
 * A file is read this way first (clsi_reader.lean). Statements that cannot be read so (lets, parameters, names with
 * indices that are declared one by one) are written out and read as text; components, functions of the file and
 * complaints of any kind mean that the whole file is read again, written out (parse.c). So one reader decides what is
 * said about a file, and whether it is refused; that this one takes nothing else and makes the same of it is tested
 * (tests/export/test_readers.c). Only what is too much differs: loops cost less here. */
#ifndef CLSI_PATTERN_H
#define CLSI_PATTERN_H

#include "expr/graph.h"
#include "expr/vocabulary.h"
#include "system/arrays.h"

typedef enum clsi_pattern_op {
    CLSI_P_ROOT, /* a: the tree of at .. b, low: how many trees, level: how deep they are, kind: has names */
    CLSI_P_NUMBER,  /* value */
    CLSI_P_NAME,    /* node, kind; at: its index */
    CLSI_P_INDEX,   /* a: its slot */
    CLSI_P_ELEMENT, /* u[i+1] */
    CLSI_P_MACRO,   /* a: which let, b and n: indices in the lists */
    CLSI_P_SUM,     /* slot, low, high, a: what is added, a sum or a root */
    CLSI_P_NEG,     /* a */
    CLSI_P_POW,     /* a, b */
    CLSI_P_CHAIN,   /* b and n: signs and terms, or factors, in the lists */
    CLSI_P_CALL,    /* function, of one argument */
    CLSI_P_COMPOSED /* composition, of n arguments in the lists from b on */
} clsi_pattern_op;

typedef struct clsi_pattern {
    uint8_t op, function;
    uint16_t n;
    uint32_t a, b, slot, low, high;
    uint32_t level; /* of a let or a sum: signs and parentheses around it */
    cls_node node;
    int kind;
    double value;
    const clsi_composition *composition;
    /* of an element: */
    size_t at, length;         /* its name in the text */
    size_t array, block, stem; /* SIZE_MAX: none */
} clsi_pattern;

/* A statement that is read on the text with arrays: one of a keyword, or `for` and what stands in it. */
typedef struct clsi_turned {
    size_t flat;            /* where it would stand in the flat text */
    size_t key;             /* in the table of statements; SIZE_MAX: a loop */
    unsigned passes;        /* bits: when it, or one of those inside, is read */
    clsi_cursor body;       /* behind its words */
    size_t n_loops, behind; /* statements inside: those up to number `behind` */
    clsi_cursor name[CLSI_MAX_INDICES];
    uint32_t low[CLSI_MAX_INDICES], high[CLSI_MAX_INDICES];
} clsi_turned;

/* Term of a chain, or argument. */
typedef struct clsi_operand {
    char sign;
    uint32_t tree;
} clsi_operand;

/* FRAMES: lets within lets, as many as are written out (elements.c), and the formula around them. */
enum { CLSI_MOST_SLOTS = 32, CLSI_MOST_FRAMES = 41, CLSI_MOST_WITHIN = 16 };

/* Trees, and the values of the indices at the turn that is being read. Tree 0 is none. */
typedef struct clsi_patterns {
    clsi_pattern *trees;
    clsi_operand *lists;
    size_t n_trees, trees_room, n_lists, lists_room;
    uint32_t *formula, *element;        /* by letter of the text: the tree of what begins there */
    uint32_t *macro;                    /* (n_macros) bodies */
    clsi_cursor scope[CLSI_MOST_SLOTS]; /* names of indices where a tree is made */
    size_t n_scope;
    long slot[CLSI_MOST_SLOTS * CLSI_MOST_FRAMES]; /* their values, */
    long *at;                                      /* and those of the let that is being used */
    size_t levels; /* signs and parentheses around what is being made */
    int kinds;     /* of the names that a formula has had so far */
    size_t turns;
    clsi_turned *turned;
    size_t n_turned, turned_room;
    clsi_name found[4];
    size_t n_found;
} clsi_patterns;

/* ---- pattern.c ---- */
/* Trees, 0 when there can be none: a formula in [begin, end); a number in brackets; the element `u[i+1]`. */
uint32_t clsi_make_formula(clsi_reader *r, size_t begin, size_t end);
uint32_t clsi_make_subscript(clsi_reader *r, size_t begin, size_t end);
uint32_t clsi_make_element(clsi_reader *r, size_t at, size_t end);

/* ---- instance.c ---- */
/* The formula [begin, end) of e, at this turn: written and kinds. */
cls_status clsi_read_pattern(clsi_reader *r, clsi_expression *e);
/* The same as a number, where it has no names and is finite; else 0. */
int clsi_pattern_number(clsi_reader *r, size_t begin, size_t end, double *out);
/* The whole number of a subscript; 0: it is none. */
int clsi_subscript_value(const clsi_patterns *p, uint32_t tree, long *out);
/* The element that a word of the text with arrays names at this turn, NULL when the word has no brackets; 0: there
 * is none, or the word is an index. */
int clsi_turned_name(const clsi_reader *r, const char *word, size_t length, const clsi_name **out);

/* ---- turned.c ---- */
cls_status clsi_patterns_create(clsi_loops *a);
void clsi_patterns_free(clsi_patterns **p);
/* Whether the statement is of a kind that is read on the text with arrays, inside a loop or outside (parse.c): key,
 * passes and body. */
int clsi_turned_key(const clsi_reader *r, clsi_cursor c, int inside, clsi_turned *out);
/* Takes a statement that can be read on the text with arrays: 1; else it is to be written out. */
int clsi_take_turned(clsi_loops *a, clsi_cursor statement, cls_status *status);
/* Reads statement k, and those in it, that belong to this pass. */
cls_status clsi_read_turned(clsi_reader *r, size_t k, unsigned pass);
/* Turns are counted as if they were written out. 0: too many. */
int clsi_count_turns(clsi_loops *a, long low, long high);
/* The reader goes over to the text with arrays, or back to the flat one. */
void clsi_go_to_text(clsi_reader *r, int turning);
/* Letters of the brackets at `at`. */
size_t clsi_bracket_length(const clsi_reader *r, size_t at, size_t end);
const clsi_name *clsi_block_lookup(const clsi_reader *r, const char *name, size_t length);
const clsi_name *clsi_block_member(const clsi_reader *r, const clsi_symbol_block *b, size_t element,
                                   size_t stem);

/* ---- declare_array.c ---- */
/* Whether a range stands at the cursor: `u[1..N]`. */
int clsi_is_range(const clsi_reader *r, clsi_cursor c);

#endif
