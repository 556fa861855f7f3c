/* The inner loops of the network field, in one table per instruction set (network_body.h), and the
 * description of a network that network.c and the naive version share. */
#ifndef CLSI_NETWORK_KERNELS_H
#define CLSI_NETWORK_KERNELS_H

#include "field/field.h"

enum {
    CLSI_NETWORK_MAX_WIDTH = 512,
    /* Samples that go through all passes together. 48 keep the working set of four layers of 128
     * (1.1 MB) in the second-level cache and one panel of an outer product (24 KB) in the first. */
    CLSI_NETWORK_BLOCK = 48,
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
    CLSI_NETWORK_BACKWARD, /* delta = s c, e = f'' c */
    CLSI_NETWORK_TANGENT,  /* adot = s c, e = e c */
    CLSI_NETWORK_SECOND,   /* e = e + s c */
    CLSI_NETWORK_PLAIN     /* plain = c */
} clsi_network_op;

/* One layer's part of the block, `ld` doubles a row, `step` from sample to sample: 2 ld, or ld
 * where there is no tangent. */
typedef struct clsi_network_layer {
    size_t width, ld, step;
    double *a; /* (samples, [2,] ld): the activation a, its tangent adot */
    double *e; /* (samples, [2,] ld): e = dF/dz, delta = dF/dzdot */
    double *s; /* (samples, ld): f'(z) */
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
    clsi_network_layer *layer; /* every op but PLAIN */
    double *plain;             /* (samples, plain_stride) */
    size_t plain_stride;
} clsi_network_product;

typedef struct clsi_network_kernel {
    const char *name;
    size_t panel; /* columns that the tile of the product keeps in registers */
    int (*supported)(void);
    void (*product)(const clsi_network_product *p);
    /* out[s] = sum over j < k of left[s*stride + j] w[j], k a multiple of CLSI_NETWORK_LANES. */
    void (*dot)(size_t samples, size_t k, const double *left, size_t stride, const double *w,
                double *out);
    /* C(rows, columns) += sum over k of left[k*left_stride + row] right[k*right_stride + column],
     * in the order of k; columns a multiple of CLSI_NETWORK_LANES. C is by panels, as `right` of a
     * product. With `zero` (`panel` zeros) what C holds does not count. */
    void (*outer)(size_t k, size_t rows, size_t columns, const double *left, size_t left_stride,
                  const double *right, size_t right_stride, const double *zero, double *C);
    /* The same for one sample, C(rows, columns) dense; `pairs` is 1 (e a) or 2 (and delta adot). */
    void (*row)(int pairs, size_t rows, size_t columns, const double *left, size_t left_stride,
                const double *right, size_t right_stride, double *C);
    /* out[i] += sum over k of left[k*stride + i] in the order of k; n as `columns` above. */
    void (*sum)(size_t k, size_t n, const double *left, size_t stride, double *out);
    /* a = f(z), s = f'(z) (NULL: not wanted, tanh only); n a multiple of CLSI_NETWORK_LANES. */
    void (*activate)(clsi_activation activation, size_t n, const double *z, double *a, double *s);
} clsi_network_kernel;

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
    int spent; /* pass 4 has overwritten what pass 2 left in e */
    clsi_network_layer layer[CLSI_FIELD_MAX_LAYERS + 2]; /* the input first, the output last */
} clsi_network_pass;

/* dW of layer l: sum += e (k, out)^T a (k, in), rows e_stride and a_stride apart; fresh: sum = it.
 */
size_t clsi_network_sum_size(const clsi_network_shape *w); /* doubles, padded */
void clsi_network_sum(const clsi_network_pass *r, size_t l, int fresh, size_t k, const double *e,
                      size_t e_stride, const double *a, size_t a_stride);

/* Block by block, for losses: open; for each block of n <= CLSI_NETWORK_BLOCK samples evaluate,
 * then the coefficients a (or NULL), b from what came out, then add (or add_rows); close. Same bits
 * as the functions of the kind, a quarter less work. scratch as for CLSI_NETWORK_BLOCK samples, not
 * touched in between; out (n_parameters) as in reverse, NULL and no close for rows. */
void clsi_network_open(clsi_network_pass *r, const clsi_field *f, const double *theta, double *out,
                       double *scratch);
void clsi_network_evaluate(clsi_network_pass *r, size_t n, const double *x, double *value,
                           double *gradient);
void clsi_network_add(clsi_network_pass *r, size_t n, const double *a, const double *b);
void clsi_network_add_rows(clsi_network_pass *r, size_t n, const double *a, const double *b,
                           size_t stride, double *rows);
void clsi_network_close(const clsi_network_pass *r, double *out);

/* network_form.c */
cls_status clsi_network_create(clsi_field *f, const char *arguments, cls_error *error);
void clsi_network_initialise(const clsi_field *f, cls_random *random, double *theta);
cls_node clsi_network_expression(const clsi_field *f, cls_graph *g, const cls_node *x,
                                 const cls_node *theta);

/* network_pairs.c */
extern const clsi_field_pairs clsi_network_pairs;

/* One sample by plain loops and libm, no blocks, no vectors: what the fast passes are tested
 * against. value (1), gradient (d), row (n_parameters) += alpha dvalue/dtheta +
 * sum_j beta_j dgradient_j/dtheta; any of the outputs may be NULL. */
void clsi_network_naive(const clsi_field *f, const double *theta, const double *x, double alpha,
                        const double *beta, double *value, double *gradient, double *row);

#endif
