/* The inner loops of the network field, in one table per instruction set (network_body.h), and the
 * description of a network, which the naive version of the tests shares. */
#ifndef CLSI_NETWORK_KERNELS_H
#define CLSI_NETWORK_KERNELS_H

#include "expr/fields.h"
#include "field/field.h"

enum { /* the library's part of the shape of a network at a point (network_node.inc) */
       CLSI_NODE_FORWARD = 29,
       CLSI_NODE_BACKWARD = 37,
       CLSI_NODE_SHAPE = 45
};

enum {
    CLSI_NETWORK_MAX_WIDTH = 512,
    /* Samples that go through the layers together: 48 with their tangents, twice as many without
     * keep one panel of an outer product (24 KB) in the first-level cache. */
    CLSI_NETWORK_BLOCK = 48,
    /* Samples between evaluate and add (clsi_field_blocks), several blocks: the weights of one
     * network stay in the second-level cache while these pass, where three networks would not. */
    CLSI_NETWORK_SAMPLES = 252,
    CLSI_NETWORK_ROWS = 6, /* samples of a tile */
    CLSI_NETWORK_LANES = 8 /* columns are padded to this many doubles */
};

typedef enum clsi_activation {
    CLSI_ACTIVATION_TANH,
    CLSI_ACTIVATION_SOFTPLUS,
    CLSI_ACTIVATION_SIN,
    CLSI_ACTIVATION_COUNT
} clsi_activation;

/* What happens to the columns c of a product, layer by layer (letters as in network.c). */
typedef enum clsi_network_op {
    CLSI_NETWORK_FORWARD,  /* a = f(c), s = f'(c) */
    CLSI_NETWORK_ADJOINT,  /* e = s c */
    CLSI_NETWORK_BACKWARD, /* delta = s c, h = f'' c */
    CLSI_NETWORK_TANGENT,  /* adot = s c, e = h c */
    CLSI_NETWORK_SECOND,   /* e = e + s c */
    CLSI_NETWORK_PLAIN     /* plain = c */
} clsi_network_op;

/* What a layer keeps, `ld` doubles a row. tanh needs neither s = 1 - a^2 nor h = -2 a delta. */
typedef struct clsi_network_layer {
    size_t width, ld;
    double *a, *delta, *s, *h; /* (samples, ld): activation, dF/dzdot, f'(z), f''(z) W^T delta */
    double *adot, *e;          /* (block, ld): tangent of a, dF/dz */
} clsi_network_layer;

/* columns(samples, n) = left(samples, k) right(k, n) + start, then `op` into `layer`. */
typedef struct clsi_network_product {
    size_t samples, k, n;
    const double *left;
    size_t left_stride;
    const double *right; /* packed by panels of kernel->panel columns, each (k, columns) */
    const double *start; /* (n), added to every row */
    const double *next;  /* what the product after this one will have as `right` */
    clsi_network_op op;
    clsi_activation activation;
    const clsi_network_layer *layer; /* every op but PLAIN */
    double *plain;                   /* (samples, plain_stride) */
    size_t plain_stride;
} clsi_network_product;

/* Of `samples` sums of left right^T, and of left_dot right_dot^T where these are not NULL; rows of
 * left and left_dot are left_stride apart, those of right and right_dot right_stride. */
typedef struct clsi_network_factors {
    size_t samples;
    const double *left, *left_dot;
    size_t left_stride;
    const double *right, *right_dot;
    size_t right_stride;
} clsi_network_factors;

typedef struct clsi_network_kernel {
    const char *name;
    size_t panel; /* columns that the tile of the product keeps in registers at most */
    int (*supported)(void);
    void (*product)(const clsi_network_product *p);
    /* out[s] = sum over j < k of left[s*stride + j] w[j], k a multiple of CLSI_NETWORK_LANES. */
    void (*dot)(size_t samples, size_t k, const double *left, size_t stride, const double *w,
                double *out);
    /* C(rows, columns) += sum of outer products in the order of samples; columns a multiple of
     * CLSI_NETWORK_LANES. C is by panels, as `right` of a product. With `zero` (`panel` zeros) what
     * C holds does not count. */
    void (*outer)(size_t rows, size_t columns, const clsi_network_factors *f, const double *zero,
                  double *C);
    /* The same for the first sample, C(rows, columns) dense. */
    void (*row)(size_t rows, size_t columns, const clsi_network_factors *f, double *C);
    /* out[i] += sum over k of left[k*stride + i] in the order of k; n as `columns` above. */
    void (*sum)(size_t k, size_t n, const double *left, size_t stride, double *out);
    /* out[i*step] += from[i] */
    void (*add)(size_t n, double *from, double *out, size_t step);
    /* a = f(z), s = f'(z) (NULL: not wanted, tanh only); n a multiple of CLSI_NETWORK_LANES. */
    void (*activate)(clsi_activation activation, size_t n, const double *z, double *a, double *s);
    size_t node_panel; /* columns of the panels of `node` */
    /* a pass at one point or between two (network_node.inc), the same bits in all tables */
    void (*node)(const int *f, const double *theta, int pass, const double *x, double *own,
                 double *u, double *w);
    /* the first two for n points, states `step` apart, x (n, CLSI_FIELD_MAX_INPUTS) */
    void (*node_values)(const int *f, const double *theta, int n, const double *x, double *own,
                        int step);
    void (*node_gradients)(const int *f, const double *theta, int n, double *own, int step);
    /* out += the gradient in theta (network_node_back.h) */
    void (*node_back)(const int *f, const double *theta, const clsi_field_seeds *seeds,
                      double *out);
} clsi_network_kernel;

/* Columns of the next panel when `left` are left, a multiple of CLSI_NETWORK_LANES: about as many
 * as of those that follow, because a narrow one at the end would be slow. */
static inline size_t clsi_network_panel(const clsi_network_kernel *kernel, size_t left) {
    size_t most = kernel->panel, unit = most < CLSI_NETWORK_LANES ? most : CLSI_NETWORK_LANES;
    size_t panels = (left + most - 1) / most * unit;
    return (left + panels - 1) / panels * unit;
}

/* The table for this machine, best first; the last one runs everywhere. */
size_t clsi_network_kernel_count(void);
const clsi_network_kernel *clsi_network_kernel_at(size_t i);

/* A layer in theta: W (out, in) row-major at `weight`, b (out) at `bias`; the last has no bias. */
typedef struct clsi_network_shape {
    size_t in, out, weight, bias;
} clsi_network_shape;

typedef struct clsi_network {
    size_t n_layers; /* with the output layer */
    clsi_network_shape layer[CLSI_FIELD_MAX_LAYERS + 1];
    clsi_activation activation;
    const clsi_network_kernel *kernel;
} clsi_network;

/* What a call keeps in its scratch. */
typedef struct clsi_network_pass {
    const clsi_network *net;
    size_t d;
    double *theta_t[CLSI_FIELD_MAX_LAYERS + 1]; /* W^T by panels: (in, out) */
    double *theta[CLSI_FIELD_MAX_LAYERS + 1];   /* W by panels: (out, in) */
    double *bias[CLSI_FIELD_MAX_LAYERS + 1];    /* padded, zero for the output */
    double *sum[CLSI_FIELD_MAX_LAYERS + 1];     /* dW (clsi_network_sum_size), db (padded out) */
    double *zero;                               /* (CLSI_NETWORK_MAX_WIDTH) */
    double *plain;                              /* (CLSI_NETWORK_BLOCK, plain_stride) */
    size_t plain_stride;
    int fresh; /* the sums are zero, whatever stands there */
    clsi_network_layer layer[CLSI_FIELD_MAX_LAYERS + 2]; /* the input first, the output last */
} clsi_network_pass;

/* dW of layer l: sum += left = (e, delta) times right = (a, adot); fresh: sum = it. */
size_t clsi_network_sum_size(const clsi_network_shape *w); /* doubles, padded */
void clsi_network_sum(const clsi_network_pass *r, size_t l, int fresh,
                      const clsi_network_factors *f);

/* network_form.c */
cls_status clsi_network_create(clsi_field *f, const char *arguments, cls_error *error);
void clsi_network_initialise(const clsi_field *f, cls_random *random, double *theta);
cls_node clsi_network_expression(const clsi_field *f, cls_graph *g, const cls_node *x,
                                 const cls_node *theta);
cls_function clsi_network_function(clsi_activation activation);

/* network_pairs.c */
extern const clsi_field_pairs clsi_network_pairs;

#endif
