/* learn, inside: laws with constants inside, x/(c + x), exp(c*x), (c + x^2)^d.
 *
 *   shapes.c        what there is to choose from, as formulas
 *   shape_search.c  which of them a fit in polynomials looks like
 *   noisy_shapes.c  fits of these, their constants, and how sure they are */
#ifndef CLSI_LEARN_SHAPES_H
#define CLSI_LEARN_SHAPES_H

#include "learn/noise/noisy.h"

enum {
    CLSI_SHAPE_FACTORS = 2,
    CLSI_SHAPE_CONSTANTS = 2,
    CLSI_SHAPE_TERMS = 8,
    CLSI_SHAPE_SETS = 3
};

/* Of a factor of a term: a family of functions (shapes.c) of a base. */
typedef struct clsi_factor {
    size_t family, base;
} clsi_factor;

typedef struct clsi_shape {
    size_t plain; /* 1 + the number of a term without constants (natural.c); 0: factors */
    size_t n;     /* of its factors */
    clsi_factor factor[CLSI_SHAPE_FACTORS];
    size_t n_constants;
    double c[CLSI_SHAPE_CONSTANTS];
    double low[CLSI_SHAPE_CONSTANTS], high[CLSI_SHAPE_CONSTANTS]; /* bounds */
    size_t name; /* its place in the order of how simple they are, from one on */
} clsi_shape;

/* What a factor is a function of: a variable, a difference of two places, the square of a distance. */
typedef struct clsi_shape_base {
    char *text;
    cls_node node;
    int moving, positive, squared;
    double low, high; /* at the points that count */
} clsi_shape_base;

/* All there is for one part. */
typedef struct clsi_shapes {
    cls_graph *g;
    size_t d; /* inputs of the part, by name */
    cls_node *x;
    size_t n_plain;
    cls_node *plain; /* (n_plain) */
    size_t n_bases;
    clsi_shape_base *base;
    size_t n, room;
    clsi_shape *list; /* the grid: each with constants to begin with */
} clsi_shapes;

/* The families of factors (the first two have no constants), and how many constants one of them has. */
size_t clsi_shape_families(void);
size_t clsi_shape_constants(size_t family);

/* For part i of us, polynomials; `named` has it in the terms of natural.c, with inputs x (n, d) at points that
 * count. *out NULL: there are none. */
cls_status clsi_shapes_create(const clsi_unknowns *us, const clsi_unknowns *named, size_t i,
                              const clsi_points *p, int still, size_t n, const double *x,
                              clsi_shapes **out, cls_error *error);
void clsi_shapes_free(clsi_shapes **shapes);
/* The formula with constants as numbers, and its derivative in constant k (SIZE_MAX: itself). */
cls_node clsi_shape_node(const clsi_shapes *s, const clsi_shape *shape, size_t k);
char *clsi_shape_text(const clsi_shapes *s, const clsi_shape *shape, size_t k);
/* A program of the inputs and of the constants behind them. */
cls_status clsi_shape_program(const clsi_shapes *s, const clsi_shape *shape, cls_program **out,
                              cls_error *error);

/* A sum of them that would do, best first; a lower cost is better, in units of the noise. */
typedef struct clsi_shape_set {
    size_t n;
    clsi_shape term[CLSI_SHAPE_TERMS];
    double theta[CLSI_SHAPE_TERMS];
    double cost;
} clsi_shape_set;

/* What a fit says of one part: the sum of squares is |A theta - y|^2 for columns A = W f, f the values of
 * functions at the points. */
typedef struct clsi_shape_target {
    size_t m, n; /* of y; of points */
    double *W;   /* (m, n) */
    double *y;   /* (m) */
    double *x;   /* (n, d) inputs of the part as they are */
    double rows; /* of the data, for prices */
    size_t n_span;
    double *
        span; /* (n_span, n) orthonormal: functions that are no sums of these are left out; NULL: none is */
} clsi_shape_target;

/* A part that is such a sum, while it is fitted. */
typedef struct clsi_shaped {
    size_t i; /* of the unknowns */
    clsi_shape_set set;
} clsi_shaped;

double clsi_shape_price(const clsi_shape *shape, double rows);
/* At most CLSI_SHAPE_SETS of them into out; their number into *n. */
cls_status clsi_shapes_search(const clsi_shapes *s, const clsi_shape_target *t, clsi_shape_set *out,
                              size_t *n, cls_error *error);

#endif
