/* solve, inside: the pieces of linear least squares. */
#ifndef CLSI_LSQ_H
#define CLSI_LSQ_H

#include "solve/kernels.h"
#include "solve/problem.h"

/* ---- factor.c ---- */

enum { CLSI_QR_PANEL = 32, CLSI_QR_ROWS = 256 };

/* [R; B] = Q [R'; 0] for R (n, n + 1) upper triangular with the right-hand side as its last column
 * and B (m, n + 1), m <= CLSI_QR_ROWS, whose columns before `first` are zero. On return the last
 * column of B holds what no unknown can explain. work: clsi_qr_work(n) numbers. */
void clsi_qr_absorb(clsi_space *space, size_t n, double *R, size_t m, double *B, size_t first,
                    double *work);
size_t clsi_qr_work(size_t n);

/* M (n, n + 1) = [A c] becomes U^T [A c]: rows sigma_i v_i (largest first) and U^T c, by Jacobi
 * rotations of the rows. sigma (n). The rows are left unnormalised, and column j of M belongs to
 * column order[j] of A. work: 3 n + 1 numbers. Returns the number of sweeps, 60 when they did not
 * suffice, -1 when `stop` (NULL: nobody asks) said so. */
int clsi_svd_rows(size_t n, double *M, double *sigma, size_t *order, double *work,
                  int (*stop)(void *owner), void *owner);

/* Rows `have`.. of V (n, n) are filled so that all n rows are orthonormal. work: n
 * numbers. */
void clsi_complete_rows(size_t n, size_t have, double *V, double *work);

/* ---- lsq_inequalities.c ---- */

/* The point nearest to z (n) with F z >= f, F (m, n) of rows with norm 1 (or 0). z is overwritten,
 * u (m) gets the multipliers: z - z_0 = F^T u, u >= 0. */
cls_status clsi_nearest_feasible(size_t n, size_t m, const double *F, const double *f, double *z,
                                 double *u, cls_error *error);

/* ---- lsq.c ---- */

enum { CLSI_SHARDS = 4 };

/* Rows go in turn to a fixed number of triangular factors, so that threads can share the work and
 * the bits do not depend on how many there are. */
typedef struct clsi_shard {
    clsi_space *space;
    double *R, *work; /* (n, n + 1), and scratch */
    double rest;      /* sum of squares no unknown explains */
    int used;
} clsi_shard;

/* The triangle's singular values: R D = U Sigma V^T, D scales its columns to norm 1. Kept while no
 * row is added, because inequalities that are found one after the other ask for it again. */
typedef struct clsi_seen {
    size_t n, rank;
    double rcond;
    double *D, *sigma, *target; /* (n): scales, singular values, U^T c */
    double *V;                  /* (n, n) rows v_i */
} clsi_seen;

void clsi_seen_free(clsi_seen **seen);

struct clsi_lsq {
    size_t unknowns, fixed, n; /* n = unknowns - fixed remain after elimination */
    size_t *order;             /* (unknowns): the `fixed` eliminated ones, then the others */
    double *G;                 /* (fixed, n + 1): x_fixed = g - G x_others, g the last column */
    clsi_shard shard[CLSI_SHARDS];
    double *buffer; /* (CLSI_SHARDS * CLSI_QR_ROWS, n + 1) rows that wait */
    size_t waiting, rows;
    double *null_space;
    size_t *active;
    clsi_seen *seen; /* of the rows so far, or NULL */
    int (*stop)(void *owner);
    void *owner;
};

/* Everything seen so far in shard[0]. */
void clsi_lsq_gather(clsi_lsq *q);

#endif
