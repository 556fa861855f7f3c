/* LU factors of small dense matrices, for Legendre transforms and for Newton steps. */
#ifndef CLSI_DENSE_H
#define CLSI_DENSE_H

#include <stddef.h>

/* Factors the row-major matrix a (n, n) in place with partial pivoting; pivot has n numbers.
 * Returns 0, or 1 + the column in which no usable pivot was found (zero or not finite). */
size_t clsi_lu_factor(size_t n, double *a, size_t *pivot);
/* Solves A x = b in place with the factors. */
void clsi_lu_solve(size_t n, const double *lu, const size_t *pivot, double *b);
/* The smallest ratio of a pivot to the largest one: 0 for a singular matrix. */
double clsi_lu_quality(size_t n, const double *lu);

/* Divides x by its length, where that is not one to round-off. */
void clsi_normalise(size_t n, double *x);

#endif
