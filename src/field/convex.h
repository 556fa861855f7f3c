/* The inside of the field kind "convex" (convex.c), shared by its form and its passes. */
#ifndef CLSI_CONVEX_H
#define CLSI_CONVEX_H

#include "field/network_kernels.h"

typedef struct clsi_convex {
    size_t free, even, bent, rising; /* inputs, in this order */
    clsi_field *body;                /* N, of the first three */
    size_t n_weights;                /* of theta, for the body: W[at[k]] = theta_k or its map */
    size_t *at;
    unsigned char *positive;
    size_t n_parts; /* A and B_j, networks of the free inputs; none without them */
    clsi_field *part[1 + CLSI_FIELD_MAX_INPUTS];
    size_t part_at[1 + CLSI_FIELD_MAX_INPUTS]; /* their parameters in theta */
    size_t order, first;                       /* of L, and the first of its inputs */
    size_t triangle_at, slope_at;              /* L and c in theta */
} clsi_convex;

/* The map of parameters that must be positive, and its slope. */
double clsi_convex_map(double theta);
double clsi_convex_slope(double theta);
/* What is added to it on the diagonal of L and in c: no curvature is ever zero. */
#define CLSI_CONVEX_DIAGONAL 1e-3
#define CLSI_CONVEX_SLOPE    1e-6

/* convex_passes.c */
extern const clsi_field_blocks clsi_convex_blocks;
size_t clsi_convex_scratch(const clsi_field *f, size_t n);
void clsi_convex_evaluate(const clsi_field *f, const double *theta, size_t n, const double *x,
                          double *value, double *gradient, double *scratch);
void clsi_convex_rows(const clsi_field *f, const double *theta, size_t n, const double *x,
                      const double *a, const double *b, size_t stride, double *rows,
                      double *scratch);
void clsi_convex_reverse(const clsi_field *f, const double *theta, size_t n, const double *x,
                         const double *a, const double *b, double *out, double *scratch);

#endif
