/* solve, inside: dense linear algebra whose bits do not depend on the number of threads.
 *
 * Matrices are row-major unless strides are given. Results are the same for any number of threads
 * on one machine; machines with other vector units may differ in the last bits. */
#ifndef CLSI_LEARN_KERNELS_H
#define CLSI_LEARN_KERNELS_H

#include <clausius/status.h>
#include <stddef.h>

/* The packing buffers of one caller; made once, so that a product allocates nothing. */
typedef struct clsi_space clsi_space;
cls_status clsi_space_create(int threads, clsi_space **out, cls_error *error); /* 0: all cores */
void clsi_space_free(clsi_space **space);

/* Element (i, j) is at[i * row + j * column]. */
typedef struct clsi_view {
    const double *at;
    size_t row, column;
} clsi_view;

typedef enum clsi_product_part { CLSI_WHOLE, CLSI_LOWER } clsi_product_part;

/* C (m, n), rows `stride` apart, += alpha A (m, k) B (k, n). CLSI_LOWER: only tiles that touch the
 * lower triangle are computed (what is above the diagonal is then meaningless). */
void clsi_multiply(clsi_space *space, clsi_product_part part, size_t m, size_t n, size_t k,
                   double alpha, clsi_view A, clsi_view B, double *C, size_t stride);

/* A (n, n) = L L^T in place, lower triangle. Returns 1, or 0 when A is not positive definite (or
 * not finite); A is then spoilt. */
int clsi_cholesky(clsi_space *space, size_t n, double *A);
/* x := (L L^T)^-1 x */
void clsi_cholesky_solve(size_t n, const double *L, double *x);

double clsi_vector_dot(size_t n, const double *x, const double *y);
void clsi_vector_add(size_t n, double a, const double *x, double *y);        /* y += a x */
void clsi_vector_rotate(size_t n, double c, double s, double *x, double *y); /* Givens, in place */
/* y (n) += A (m, n)^T x (m);  y (m) = A (m, n) x (n) */
void clsi_transposed_times(size_t m, size_t n, const double *A, const double *x, double *y);
void clsi_times(size_t m, size_t n, const double *A, const double *x, double *y);

#endif
