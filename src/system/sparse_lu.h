/* Linear equations with few entries in a row: the pattern is looked at once, factorised in every
 * step without allocating anything. */
#ifndef CLSI_SPARSE_LU_H
#define CLSI_SPARSE_LU_H

#include <clausius/status.h>
#include <stddef.h>
#include <stdint.h>

/* Const once created: any number of threads may factorise, each with its own work. */
typedef struct clsi_sparse_lu {
    size_t n, n_entries; /* of the matrix given */
    uint32_t *order;     /* (n) the row and column that is eliminated at each place */
    uint32_t *place;     /* (n) its inverse */
    size_t *first;       /* (n + 1) rows of L and U in one, behind each other ... */
    size_t *diagonal;    /* (n) ... L before, U behind it */
    uint32_t *column;    /* places */
    uint32_t *target;    /* (n_entries) where an entry of the matrix goes: a place's column */
    uint32_t *source;    /* (n_entries) entries of the matrix, sorted by the place of their row */
    size_t *from;        /* (n + 1) of `source` */
    struct clsi_segments *segments; /* how it is done in lanes, or NULL */
    struct clsi_fronts
        *fronts; /* how it is done in blocks (then there are no other tables), or NULL */
} clsi_sparse_lu;

/* The pattern (n, n) by rows: columns [start[i], start[i + 1]) of row i. The diagonal is taken as
 * pivots, in an order that keeps the fill small (minimum degree). */
cls_status clsi_sparse_lu_create(size_t n, const size_t *start, const uint32_t *column,
                                 clsi_sparse_lu **out, cls_error *error);
/* The same for one that is factorised often: where the pattern is long and narrow (a chain, a ring) in
 * an order that lets eight of its rows be eliminated at a time (segments.c). `work` is then laid out
 * otherwise; the bits are those of the loops over `order`. Where much is filled (grids, networks) in
 * full blocks (fronts.c), with other bits. */
cls_status clsi_sparse_lu_create_fast(size_t n, const size_t *start, const uint32_t *column,
                                      clsi_sparse_lu **out, cls_error *error);
/* The same, where the k-th entry of the pattern stands at `stands[k]` of the matrix; blocks 0: never in full blocks,
 * for those who need the tables. */
cls_status clsi_sparse_lu_create_placed(size_t n, const size_t *start, const uint32_t *column,
                                        const uint32_t *stands, int blocks, clsi_sparse_lu **out,
                                        cls_error *error);
/* Places for the entries of a pattern: long diagonals one after the other, so that those of neighbouring cells are
 * neighbours; then what is in none, by rows. 0: no memory. */
int clsi_sparse_lu_by_diagonals(size_t n, const size_t *start, const uint32_t *column,
                                uint32_t *stands);
void clsi_sparse_lu_free(clsi_sparse_lu **lu);
size_t clsi_sparse_lu_size(const clsi_sparse_lu *lu); /* doubles of work */
/* What a factorisation costs, in solutions; 0: so little that it is made for every matrix. */
double clsi_sparse_lu_price(const clsi_sparse_lu *lu);
/* `a` are the entries in the order of the pattern. Nonzero: the place + 1 where there is no pivot. */
size_t clsi_sparse_lu_factor(const clsi_sparse_lu *lu, const double *a, double *work);
void clsi_sparse_lu_solve(const clsi_sparse_lu *lu, double *work, double *b);
/* The same for one right side b that is known: x, with one way less over the factors. Nonzero, too,
 * where an entry is not finite and clsi_sparse_lu_checks. Others may be solved for afterwards. */
size_t clsi_sparse_lu_factor_for(const clsi_sparse_lu *lu, const double *a, const double *b,
                                 double *work);
void clsi_sparse_lu_finish(const clsi_sparse_lu *lu, double *work, const double *b, double *x);
int clsi_sparse_lu_checks(const clsi_sparse_lu *lu);

#endif
