/* Elimination of grids and networks in full blocks (fronts.c). */
#ifndef CLSI_FRONTS_H
#define CLSI_FRONTS_H

#include "system/sparse_lu.h"

enum { CLSI_FRONT_PAD = 8 }; /* rows of blocks begin at multiples of so many numbers */

/* Neighbouring places with the same rows below them: eliminated as one block. Numbers are
 *
 *     pivots (size, padded size)   L \ U, the inverse of its diagonal
 *     right  (size, wide)          U behind the pivots
 *     below  (size, wide)          L below the pivots, a row for each column
 *
 * and what they leave for the blocks that come later, rest (rows, wide). */
typedef struct clsi_front {
    uint32_t first, size; /* places */
    uint32_t rows, wide;  /* places behind them that they touch, and padded */
    uint32_t child,
        sibling; /* blocks whose rest comes here: the first, the next one of the same; or NONE */
    size_t row;  /* of the lists of rows */
    size_t below, pivots, right; /* of the numbers */
    size_t made, rest;           /* where the rest is made, and where it then stays */
} clsi_front;

#define CLSI_NO_FRONT UINT32_MAX

typedef struct clsi_fronts {
    size_t n, n_fronts;
    clsi_front *front;
    uint32_t *row; /* places of rows, ascending */
    uint32_t
        *above;     /* where they are in the block that takes the rest: its pivots, then its rows */
    size_t *from;   /* (n_fronts + 1) entries of the matrix: */
    size_t *target; /* which number ... */
    uint32_t *source;          /* ... and which entry */
    size_t *start;             /* the matrix by rows: (n + 1) */
    uint32_t *column, *stands; /* columns, and where the entry is */
    size_t n_values;           /* numbers */
    size_t n_rest;             /* numbers of rests that are there at a time */
    size_t widest, longest;    /* most rows of a block, and most columns */
    double work;               /* products of a factorisation */
} clsi_fronts;

/* order (n) of elimination: changed so that blocks are neighbours, for the same fill. The k-th entry of
 * the pattern stands at stands[k] of the matrix (NULL: at k). 0: no memory. */
int clsi_fronts_create(size_t n, const size_t *start, const uint32_t *column,
                       const uint32_t *stands, uint32_t *order, clsi_fronts **out);
void clsi_fronts_free(clsi_fronts **f);
size_t clsi_fronts_size(const clsi_fronts *f); /* doubles of work */
/* As clsi_sparse_lu_factor and clsi_sparse_lu_solve. */
size_t clsi_fronts_factor(const clsi_fronts *f, const double *a, double *work);
void clsi_fronts_solve(const clsi_fronts *f, const uint32_t *order, double *work, double *b);

#endif
