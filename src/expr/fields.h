/* Field nodes: a function that is known by a kernel, applied at a point, is one node of the graph.
 *
 *     phi[m](u)              its derivative of order 0 to 3 at the point u = (u_1 .. u_d)
 *     phi<u, w>_i            component i of its discrete gradient between u and w:
 *                            phi(u) - phi(w) = sum_i phi<u, w>_i (u_i - w_i)
 *     d phi<u, w>_i / du_j   and / dw_j, for Newton's method
 *
 * The rules are those of any node: d phi[m](u) = sum_i phi[m + e_i](u) du_i, the discrete slopes of
 * phi are phi<u, w>_i, the chain rule does the rest. What has no kernel (order 4, the discrete
 * gradient of a derivative) is written out as formulas by `expand`: right, but long.
 *
 * The graph knows a field by the const table below (src/field implements it: networks). Programs
 * gather their field nodes by point: every pass of a kernel is run once for all nodes that share a
 * point, and passes keep what later ones need in the state of the point (Newton's method asks for
 * slopes first and, if it must, for curvatures later). Emitted C contains the same passes as loops. */
#ifndef CLSI_FIELDS_H
#define CLSI_FIELDS_H

#include "base/base.h"
#include <clausius/graph.h>

enum { CLSI_NODE_INPUTS = 16, CLSI_NODE_ARGS = 2 * CLSI_NODE_INPUTS, CLSI_NODE_ORDER = 3 };

typedef struct clsi_graph_field clsi_graph_field;

/* Passes of a point, in the order of what they need; then those of a pair. */
typedef enum clsi_field_pass {
    CLSI_PASS_VALUE,
    CLSI_PASS_GRADIENT,  /* needs the value */
    CLSI_PASS_TANGENT,   /* needs the value; has no results */
    CLSI_PASS_CURVATURE, /* needs gradient and tangent */
    CLSI_PASS_THIRD,     /* needs the curvature */
    CLSI_PASS_PAIR,      /* needs the values of u and w */
    CLSI_PASS_PAIR_U,    /* needs the pair and the tangent of u */
    CLSI_PASS_PAIR_W,    /* needs the pair and the tangent of w */
    CLSI_PASSES
} clsi_field_pass;

/* What is added to the gradient in the parameters of a field that is being learned: that of
 * b.phi<u, w> (then u and w are given), or of a phi + b.grad phi + the sum of c times the curvatures, and what
 * pairs with this point add. */
typedef struct clsi_field_seeds {
    const double *x;     /* (d) of a point */
    double *own, *u, *w; /* states, after the passes that the nodes need */
    double a;            /* of the value */
    const double *b;     /* (d) of the gradient; NULL: none */
    const double *c;     /* (d, d) of the curvatures; NULL: none */
    double *by_u, *by_w; /* (kind->between) what pairs add to at their points; by_u: of this one */
    double *room;        /* (kind->room) */
} clsi_field_seeds;

/* Where results stand in the state of a point: value (1), gradient (d), curvatures (d, d), third
 * derivatives (d, d, d); in that of a pair: discrete gradient (d), its derivatives (d, d), component
 * first, in u and in w. What the kernel keeps for itself stands behind them. */
size_t clsi_field_result(size_t d, clsi_field_pass pass);
size_t clsi_field_point_results(size_t d);
size_t clsi_field_pair_results(size_t d);

typedef struct clsi_graph_field_kind {
    const char *name;
    /* doubles of the state of a point, of a pair, when passes up to `last` are run on it */
    size_t (*size)(const clsi_graph_field *f, clsi_field_pass last);
    /* weights: as `pack` made them, NULL where they are known. x (d): VALUE only; own: the state of the point or pair, on a cache line; u, w: those of the
     * points of a pair. Allocates nothing; the bits do not depend on the machine. */
    void (*run)(const clsi_graph_field *f, const double *weights, clsi_field_pass pass,
                const double *x, double *own, double *u, double *w);
    /* The same at n points, x (n, CLSI_NODE_INPUTS): states `step` apart, those of a pair's points u
     * and w so far behind its own. Same bits. */
    void (*run_many)(const clsi_graph_field *f, const double *weights, clsi_field_pass pass,
                     size_t n, const double *x, double *own, size_t step, ptrdiff_t u, ptrdiff_t w);
    /* Of fields that are being learned, in doubles: what `pack` makes of the parameters, what a pair
     * adds to at a point, scratch. out (n_parameters) += ... */
    size_t (*packed)(const clsi_graph_field *f);
    size_t (*between)(const clsi_graph_field *f);
    size_t (*room)(const clsi_graph_field *f);
    void (*pack)(const clsi_graph_field *f, const double *theta, double *weights);
    void (*back)(const clsi_graph_field *f, const double *weights, const clsi_field_seeds *seeds,
                 double *out);
    /* about how many scalar instructions a pass is worth */
    size_t (*cost)(const clsi_graph_field *f, clsi_field_pass pass);
    /* phi (component < 0) or dphi/dx_component: about the size of the numbers whose rounding it has,
     * the root of the sum of the squares of its paths, which may be much larger than the result */
    double (*terms)(const clsi_graph_field *f, int component);
    cls_node (*expand)(const clsi_graph_field *f, cls_graph *g, const cls_node *x);
    int (*equal)(const clsi_graph_field *f, const clsi_graph_field *other);
    void (*clear)(clsi_graph_field *f); /* frees data */
    /* C99: the passes, once for the kind (a literal); the array NAME (double); then calls. */
    const char *text;
    void (*emit)(const clsi_graph_field *f, const char *name, clsi_text *out);
    /* Behind the name of a table of whole numbers: how many, and which. */
    void (*emit_shape)(const clsi_graph_field *f, clsi_text *out);
    /* a function that the passes take from kernels.inc (and its derivatives), -1: none */
    int (*function)(const clsi_graph_field *f);
    const char *call; /* "call(SHAPE, NAME, pass, x, own, u, w)", states as here */
} clsi_graph_field_kind;

/* Graphs and programs own it together: the last one frees it. */
struct clsi_graph_field {
    const clsi_graph_field_kind *kind;
    size_t d;
    void *data;
    cls_node block;             /* the first of the parameters that are learned, or CLS_NO_NODE */
    size_t first, n_parameters; /* of them among all parameters of a program */
    _Atomic size_t owners;
};

/* phi(x): x (d) are nodes. Takes over `data` whatever happens; a field that is in the graph already
 * is used again. */
cls_node clsi_graph_apply(cls_graph *g, const clsi_graph_field_kind *kind, size_t d, void *data,
                          const cls_node *x);
/* The same for a field whose parameters are being learned: `block` is the symbol of the first, which
 * has the number `first` among those of a program (clsi_parameters). */
cls_node clsi_graph_apply_open(cls_graph *g, const clsi_graph_field_kind *kind, size_t d,
                               void *data, const cls_node *x, cls_node block, size_t first,
                               size_t n_parameters);
/* The root of the sum of the squares of da/dn times the size of the terms of n, over the values and gradients n of fields in a:
 * what `a` is rounded by inside its fields, in units of the last place. */
cls_node clsi_terms_in_fields(cls_graph *g, cls_node a);
void clsi_graph_field_keep(clsi_graph_field *f);
void clsi_graph_field_release(clsi_graph_field **f);

/* ---- for the files of this room, and for those that evaluate fields in their own blocks ---- */

/* What a field node says. */
typedef struct clsi_field_view {
    clsi_graph_field *field;
    clsi_field_pass pass; /* that computes it: never TANGENT */
    uint32_t u, w;        /* points: numbers of lists of nodes; w CLS_NO_NODE when there is none */
    uint32_t which;       /* number of the field in the graph */
    size_t order; /* indices that are used: of a derivative sorted, of a pair component first */
    uint8_t index[CLSI_NODE_ORDER];
} clsi_field_view;

clsi_field_view clsi_view_field(const cls_graph *g, cls_node a);
/* Of the d nodes of a point. */
cls_node clsi_point_node(const cls_graph *g, uint32_t point, size_t i);
/* The field node like `a` with other arguments (those of u, then those of w). */
cls_node clsi_field_rebuild(cls_graph *g, cls_node a, const cls_node *args);
void clsi_field_slopes(cls_graph *g, cls_node a, cls_node *out);
void clsi_field_discrete_slopes(cls_graph *g, cls_node a, const cls_node *u, const cls_node *w,
                                cls_node *out);
/* Offset of its result in the state of its point or pair. */
size_t clsi_field_offset(const clsi_field_view *v);
void clsi_graph_drop_fields(cls_graph *g);

#endif
