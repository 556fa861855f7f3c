/* Arrays of the language, inside: a text with arrays becomes a flat one before it is read. */
#ifndef CLSI_ARRAYS_H
#define CLSI_ARRAYS_H

#include "system/language.h"

/* One value of one index: `name` (offset, letters) of the text has `value`. */
typedef struct clsi_turn {
    size_t parent; /* the index around it, or SIZE_MAX */
    size_t name, length;
    long value;
    int hides; /* the index of a let: what is around it is not seen from inside */
} clsi_turn;

/* Where a run of the flat text comes from. */
typedef struct clsi_run {
    uint32_t flat, offset; /* flat: at most CLSI_MAX_FLAT and a line */
    uint32_t turn;         /* CLSI_NO_TURN: none */
    uint32_t exact;        /* letter by letter */
} clsi_run;
#define CLSI_NO_TURN UINT32_MAX

/* u[low..high], one pair for each index. */
enum { CLSI_MAX_INDICES = 3 };
typedef struct clsi_array {
    char *name;
    size_t n;
    long low[CLSI_MAX_INDICES], high[CLSI_MAX_INDICES];
    int ring[CLSI_MAX_INDICES]; /* the index behind the last is the first */
} clsi_array;

/* let d[i] = ...: written out wherever d[...] stands. */
typedef struct clsi_macro {
    size_t name, length, n;
    clsi_cursor index[CLSI_MAX_INDICES], body;
    int has_given; /* some of its values are given one by one */
} clsi_macro;

/* let d[0] = ... beside it: one value. */
typedef struct clsi_given {
    size_t name, length, n;
    long value[CLSI_MAX_INDICES];
} clsi_given;

/* What a parameter of the file is worth, for sizes. */
typedef struct clsi_size {
    size_t name, length;
    clsi_cursor formula;
    int state; /* 0 not looked at, 1 being looked at, 2 known */
    double value;
} clsi_size;

typedef struct clsi_loops {
    clsi_reader *r;     /* the text with arrays */
    clsi_reader origin; /* the same for complaints, when the reader has gone on to the flat text */
    clsi_text flat;
    clsi_run *map;
    clsi_turn *turns;
    clsi_array *arrays;
    clsi_macro *macros;
    clsi_size *sizes;
    clsi_given *given;
    const clsi_macro *outer; /* where lets within lets began, */
    long first[CLSI_MAX_INDICES];
    char **edges; /* names of arrays that have a let at some index: u of `let u[0] = 0` */
    size_t n_map, map_room, n_turns, turns_room, n_arrays, arrays_room, n_macros, macros_room,
        n_sizes, sizes_room, n_given, given_room, n_edges, edges_room;
    uint32_t *
        literal; /* by letter: 1 + how many from there on are the same at every turn; 0: not known yet */
    struct clsi_patterns *patterns; /* of what is not written out (pattern.h) */
    size_t depth;                   /* of lets within lets */
    size_t nested;                  /* loops within loops, sums within sums */
    double elements;                /* of all arrays */
    double work; /* letters looked at, and what indices and turns cost beside them */
} clsi_loops;

/* `i in a..b` of a sum or of a for. */
typedef struct clsi_loop {
    clsi_cursor name, range;
} clsi_loop;

enum { CLSI_MAX_FLAT = 1 << 29 };                             /* letters of the flat text */
enum { CLSI_MAX_NESTED = 100 };                               /* loops and sums within each other */
enum { CLSI_WORK_OF_A_WORD = 16, CLSI_WORK_OF_A_TURN = 128 }; /* in letters */

/* ---- arrays.c ---- */
size_t clsi_line_end(const clsi_reader *r, size_t at, size_t end);
/* White space in front of the line at `at`, SIZE_MAX for a blank one. */
size_t clsi_indentation(const clsi_reader *r, size_t at, size_t end);
/* The statement at the line *at, continued by lines that begin further right than `base`. */
int clsi_next_statement(const clsi_reader *r, size_t *at, size_t end, size_t base,
                        clsi_cursor *out);
/* name[a..b, c..d] at the cursor: the array; 0 letters when there is none. */
cls_status clsi_read_array(clsi_loops *a, size_t at, size_t end, size_t turn, size_t *length,
                           size_t *behind, clsi_array *out);

/* ---- elements.c: formulas ---- */
/* u of v.u and p.u, mu.u and f.u; SIZE_MAX: there is none. */
size_t clsi_find_array(const clsi_loops *a, size_t at, size_t length);
/* Whether `sum(` at the cursor begins a sum over an index. */
int clsi_is_sum(const clsi_reader *r, size_t at, size_t length, size_t end);
/* Indices of a ring come back; outside of an array there must be a let. */
cls_status clsi_wrap(clsi_loops *a, const clsi_array *array, size_t at, size_t n, long *value,
                     size_t turn);
/* Complains of the bracket or parenthesis that stays open in [at, end). */
cls_status clsi_not_closed(clsi_loops *a, size_t at, size_t end, size_t turn);
/* Whether this element of a let with indices is given by itself: `let a[0] = 0` beside `let a[i] = a[i-1] + u[i]`. */
int clsi_is_given(const clsi_loops *a, const clsi_macro *m, size_t n, const long *value);

/* Letters [begin, end) of the text, and a text of ours that stands for what is at `at`. */
void clsi_loops_copy(clsi_loops *a, size_t begin, size_t end, size_t turn);
void clsi_loops_put(clsi_loops *a, size_t at, size_t turn, const char *text);
/* Name with one bracket for each index: u[3][4]. */
void clsi_put_element(clsi_loops *a, size_t at, size_t length, size_t n, const long *value,
                      size_t turn);
/* Offset of `..` outside inner brackets in [begin, end), or SIZE_MAX. */
size_t clsi_find_dots(const clsi_reader *r, size_t begin, size_t end);
size_t clsi_number_length(const clsi_reader *r, size_t at, size_t end);
/* The places between commas of all brackets that follow each other at *at: [i, j] or [i][j]. */
cls_status clsi_index_brackets(clsi_loops *a, size_t *at, size_t end, size_t turn, clsi_cursor *out,
                               size_t *n);
/* a..b, or a..b ring where `ring` is not NULL. */
cls_status clsi_read_range(clsi_loops *a, clsi_cursor c, size_t turn, long *low, long *high,
                           int *ring);
/* `i in a..b, j in c..d:` at the cursor, which stops behind it. */
cls_status clsi_read_loops(clsi_loops *a, clsi_cursor *c, size_t turn, clsi_loop *out, size_t *n);
/* A formula written out; in a declaration a bracket may be a unit. One word of it, *behind it. */
cls_status clsi_loops_expand(clsi_loops *a, clsi_cursor c, size_t turn, int declares);
cls_status clsi_loops_word(clsi_loops *a, size_t at, size_t n, size_t end, size_t turn,
                           int declares, size_t *behind);

/* ---- indices.c: numbers in brackets ---- */

/* A complaint about the text with arrays, with the values of the indices there. */
cls_status clsi_array_at(clsi_loops *a, size_t where, size_t turn, const char *format, ...)
    CLS_PRINTF(4, 5);
/* A whole number from [begin, end): digits, indices, parameters, + - * / ^, mod, min, max. */
cls_status clsi_array_integer(clsi_loops *a, size_t begin, size_t end, size_t turn, long *out);
/* The same, any number. */
cls_status clsi_array_number(clsi_loops *a, size_t begin, size_t end, size_t turn, double *out);
cls_status clsi_find_sizes(clsi_loops *a, clsi_cursor statement);
/* The turn in which the word is an index, or SIZE_MAX. */
size_t clsi_turn_of(const clsi_loops *a, size_t turn, const char *word, size_t length);
/* Refuses a range that is too long before anything is made of it. */
cls_status clsi_room_for_turns(clsi_loops *a, size_t parent, clsi_cursor name, long low, long high);
/* Turns alone do not bound the time: their letters do. */
cls_status clsi_count_work(clsi_loops *a, size_t where, size_t turn, size_t amount);
cls_status clsi_add_turn(clsi_loops *a, size_t parent, clsi_cursor name, long value, int hides,
                         size_t *out);
/* Letters of the word at `at`, with dots inside, without brackets. */
size_t clsi_plain_word(const clsi_reader *r, size_t at, size_t end);
/* Behind the bracket that closes the one at `at`, or 0. */
size_t clsi_array_closing(const clsi_reader *r, size_t at, size_t end);

#endif
