/* explain, inside: short formulas.
 *   atoms.c     the dictionary of a part, as texts
 *   select.c    few columns that explain a right-hand side: l1 path, greedy, best subsets
 *   units.c     units of constants
 *   formulas.c  parts one by one; the choice of a length
 *   rewrite.c   formulas in the place of statements
 *   refit.c     constants from motions */
#ifndef CLSI_FORMULAS_H
#define CLSI_FORMULAS_H

#include "explain/explain.h"
#include <clausius/formulas.h>

/* ---- atoms.c ---- */

/* A variable or a let that formulas may be made of. */
typedef struct clsi_base {
    const char *text;
    cls_node node;    /* over the symbols of the system */
    int even;         /* only even powers: velocities and momenta */
    int entropy;      /* exponentials of it */
    int pure;         /* no unit: sines and exponentials have a meaning */
    int logarithms;   /* so do logarithms: without unit, or in energies, where a unit of their
                       * argument adds a multiple of another term */
    double low, high; /* at the samples */
} clsi_base;

typedef struct clsi_dictionary {
    size_t n, capacity, other_capacity;
    char **text;
    cls_node *node;
    double *cost; /* how much there is to read */
    size_t third_capacity;
} clsi_dictionary;
cls_status clsi_dictionary_fill(cls_graph *g, size_t n, const clsi_base *bases, size_t most,
                                clsi_dictionary *out, cls_error *error);
cls_status clsi_dictionary_add(cls_graph *g, cls_node node, clsi_dictionary *out, cls_error *error);
/* Where a part was learned as a sum of formulas: these. */
cls_status clsi_dictionary_learned(const cls_system *s, const clsi_learned *l, clsi_dictionary *out,
                                   cls_error *error);
void clsi_dictionary_clear(clsi_dictionary *d);

/* ---- select.c ---- */

enum { CLSI_POOL = 24 };

typedef struct clsi_choice {
    size_t n, column[CLSI_POOL];
    double x[CLSI_POOL], error; /* rms of what is left over rms of b */
} clsi_choice;

/* choice[k - 1] is the best found with k of the columns of A (rows, n), k <= *lengths <= CLSI_POOL;
 * of those that are about as good the one of least cost (n). A is overwritten. */
cls_status clsi_select(size_t rows, size_t n, double *A, const double *b, const double *cost,
                       clsi_choice *choice, size_t *lengths, cls_error *error);

/* ---- units.c ---- */

/* The unit of a constant in front of `term`; "" where it is not known. */
void clsi_constant_unit(const cls_system *s, clsi_part_kind kind, cls_node term, char out[96]);
int clsi_has_unit(const cls_system *s, cls_node symbol);

/* ---- formulas.c ---- */

struct cls_formulas {
    const cls_model *model; /* borrowed: outlives it */
    size_t n;
    cls_formula *list;
    clsi_part_kind *kind;
    double *floor; /* positive by form with this much of it */
    int refitted;
    char *notes;
};

/* ---- rewrite.c ---- */

/* open: the constants are unknown parameters near their values. */
cls_status clsi_formulas_rewrite(const cls_formulas *f, int open, char **text, cls_error *error);

/* ---- refit.c ---- */
cls_status clsi_formulas_refit(cls_formulas *f, const cls_formulas_options *o, cls_error *error);

#endif
