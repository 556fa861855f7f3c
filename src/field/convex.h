/* The inside of the field kind "convex" (convex.c), shared by its form and its passes. */
#ifndef CLSI_CONVEX_H
#define CLSI_CONVEX_H

#include "field/network_kernels.h"

enum {
    CLSI_CONVEX_PARTS = 1 + CLSI_FIELD_MAX_INPUTS * (CLSI_FIELD_MAX_INPUTS + 3) / 2
}; /* at most */

typedef struct clsi_convex {
    size_t free, even, convex, thermal, monotone; /* inputs, in this order */
    int varying;                                  /* L is a function of the free inputs */
    clsi_field *body;                             /* N, of all but the monotone ones */
    size_t n_weights; /* of theta, for the body: W[at[k]] = theta_k or its map */
    size_t *at;
    unsigned char *positive;
    size_t n_parts; /* A, B_j, C_j and entries of L: networks of the free inputs; 0 without any */
    clsi_field *part[CLSI_CONVEX_PARTS];
    size_t part_at[CLSI_CONVEX_PARTS];    /* their parameters in theta */
    size_t order, first;                  /* of L, and the first of its inputs */
    size_t triangle_at, slope_at, gas_at; /* L, c, and (gamma, alpha) in theta */
} clsi_convex;

/* The map of parameters that must be positive, and its slope. */
double clsi_convex_map(double theta);
double clsi_convex_slope(double theta);
/* What is added to it on the diagonal of L and in c: no curvature is ever zero. */
#define CLSI_CONVEX_DIAGONAL 1e-3
#define CLSI_CONVEX_SLOPE    1e-6

/* The heat of a gas, C (exp(alpha x) - 1)/alpha, with alpha between these. */
#define CLSI_CONVEX_COLD 1e-4
#define CLSI_CONVEX_HOT  8.0

/* ---- convex_joint.c: everything but N, as a function of the parts' values and the inputs ---- */

enum { CLSI_CONVEX_ENTRIES = CLSI_FIELD_MAX_INPUTS * (CLSI_FIELD_MAX_INPUTS + 1) / 2 };

/* L by rows, and the map's first and second derivative on its diagonal. */
typedef struct clsi_convex_triangle {
    double L[CLSI_CONVEX_ENTRIES];
    double map[CLSI_FIELD_MAX_INPUTS], bend[CLSI_FIELD_MAX_INPUTS];
} clsi_convex_triangle;

/* What follows from theta alone. */
typedef struct clsi_convex_numbers {
    const clsi_convex *c;
    const double *rest;       /* theta from triangle_at on */
    clsi_convex_triangle own; /* where L does not vary */
    double slope[CLSI_FIELD_MAX_INPUTS], slope_map[CLSI_FIELD_MAX_INPUTS];       /* c, dc/dtheta */
    double exponent[CLSI_FIELD_MAX_INPUTS], exponent_map[CLSI_FIELD_MAX_INPUTS]; /* alpha */
} clsi_convex_numbers;
void clsi_convex_prepare(const clsi_convex *c, const double *rest, clsi_convex_numbers *out);

/* Phi at u (parts) and x (all inputs) is added to *value, Phi_y to gradient (d), whose first
 * entries are those of q; by_u (parts) becomes Phi_u. Both may be NULL together. */
void clsi_convex_joint(const clsi_convex_numbers *k, const double *u, const double *x,
                       double *value, double *gradient, double *by_u);
/* by_u becomes Phi_u, along (parts) a Phi_u + D Phi_u with D the derivative in the direction (du,
 * dx); row += the same of the parameters in rest; NULL: not wanted. */
void clsi_convex_joint_along(const clsi_convex_numbers *k, const double *u, const double *x,
                             const double *du, const double *dx, double a, double *by_u,
                             double *along, double *row);

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
