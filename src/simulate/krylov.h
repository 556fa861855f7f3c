/* Linear equations by GMRES, preconditioned by the factors of an older matrix (krylov.c). */
#ifndef CLSI_KRYLOV_H
#define CLSI_KRYLOV_H

#include "system/sparse_lu.h"

typedef struct clsi_krylov {
    double *room;        /* NULL: every matrix is factorised */
    double price;        /* of a factorisation, in solutions */
    double spent;        /* solutions since the last one */
    const double *entry; /* of the present matrix, which stays where it is */
    int known;           /* there are factors ... */
    int old;             /* ... of another matrix */
    uint64_t made;
} clsi_krylov;

/* What a factorisation costs, in solutions; 0: so little that it is made every time. */
double clsi_krylov_price(const clsi_sparse_lu *lu);
size_t clsi_krylov_size(const clsi_sparse_lu *lu); /* doubles of room */
/* Takes the matrix, and makes factors of it if the old ones have become dear. Nonzero: no pivot. */
int clsi_krylov_factor(clsi_krylov *k, const clsi_sparse_lu *lu, const double *entry,
                       double *factors);
/* The solution in the place of b, each unknown to a small part of its scale; not numbers where there is none. */
void clsi_krylov_solve(clsi_krylov *k, const clsi_sparse_lu *lu, double *factors,
                       const double *scale, double *b);

#endif
