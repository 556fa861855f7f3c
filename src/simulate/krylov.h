/* Linear equations by GMRES, preconditioned by the factors of an older matrix (krylov.c). */
#ifndef CLSI_KRYLOV_H
#define CLSI_KRYLOV_H

#include "system/sparse_lu.h"

typedef struct clsi_krylov {
    double *room;        /* NULL: every matrix is factorised */
    double price;        /* of a factorisation, in solutions (clsi_sparse_lu_price) */
    double tolerance;    /* what Newton's method calls accurate, in units of the scale */
    double spent;        /* solutions since the last factorisation ... */
    double turns;        /* ... for so many matrices, ... */
    double before;       /* ... and those for all of these but the last one */
    const double *entry; /* of the present matrix, which stays where it is */
    int known;           /* there are factors ... */
    int old;             /* ... of another matrix */
    uint64_t made;       /* factorisations so far */
    double
        rate; /* how updates with factors of the present matrix contract; 0: not known (chord.c) */
    int wait, patience; /* old ones are not tried in so many solves; and the next time they fail */
} clsi_krylov;

size_t clsi_krylov_size(const clsi_sparse_lu *lu); /* doubles of room */
/* Factors of this matrix; nonzero: no pivot. */
int clsi_krylov_renew(clsi_krylov *k, const clsi_sparse_lu *lu, const double *entry,
                      double *factors);
/* Takes the matrix, and makes factors of it if the old ones have become dear. Nonzero: no pivot. */
int clsi_krylov_factor(clsi_krylov *k, const clsi_sparse_lu *lu, const double *entry,
                       double *factors);
/* The solution in the place of b, as accurate as the next update of Newton's method needs it; not numbers where there
 * is none. */
void clsi_krylov_solve(clsi_krylov *k, const clsi_sparse_lu *lu, double *factors,
                       const double *scale, double *b);

#endif
