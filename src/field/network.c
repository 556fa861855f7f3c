/* The field kind "network", its passes: phi = w . a_L with a_l = f(z_l), z_l = W_l a_(l-1) + b_l,
 * a_0 = x.
 *
 * The learner needs F = alpha phi + beta . grad phi of every sample, and dF/dtheta. beta . grad phi
 * is the tangent of phi along beta, so with a dot for that tangent:
 *
 *     1 forward    a = f(z), s = f'(z)
 *     2 backward   delta_l = s (W^T delta_(l+1)), delta of the output 1; W_1^T delta_1 = grad phi
 *     3 tangent    zdot = W adot, adot = s zdot, adot_0 = beta;  e = f'' zdot (W^T delta)
 *     4 second     e_l = e_l + s (W^T e_(l+1)), e of the output alpha
 *     5 dF/dW_l = e_l a_(l-1)^T + delta_l adot_(l-1)^T, dF/db_l = e_l
 *
 * 6 matrix products' worth for any number of inputs (2 for value and gradient, 3 when beta is
 * absent), the last as one product over pairs (e, delta) and (a, adot). The output layer is a layer
 * with one row and no bias (a constant is gauge); with (e, delta) = (alpha, 1) there all layers are
 * alike.
 *
 * All passes run over blocks of CLSI_NETWORK_BLOCK samples, features contiguous, rows padded. W is
 * packed once per call, as it is and transposed. Sums over samples are in order, one sample after
 * the other: the same bits for one call with n samples as for several with parts of them.
 *
 * Where alpha and beta depend on value and gradient (a loss), evaluate and then reverse does passes
 * 1 and 2 twice, 8 products instead of 6; in stages (clsi_field_blocks) it is 6. There a and delta
 * of CLSI_NETWORK_SAMPLES samples are kept from passes 1 and 2 to the others; e and adot are of the
 * block at hand. */
#include "field/network_node.h"
#include "field/network_kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { L = CLSI_NETWORK_LANES, BLOCK = CLSI_NETWORK_BLOCK, LONG_BLOCK = 2 * BLOCK };

/* ---- scratch ---- */

static size_t padded(size_t n) {
    return (n + L - 1) / L * L;
}

/* An odd number of cache lines, so that rows below each other fall into different sets. */
static size_t row_length(size_t n) {
    size_t lines = (n + 7) / 8;
    return 8 * (lines | 1);
}

static size_t block_of(size_t n) {
    return n < BLOCK ? n : BLOCK;
}

/* Pieces of whole cache lines; with base NULL only counts. */
typedef struct carver {
    double *base;
    size_t used;
} carver;

static double *carve(carver *c, size_t n) {
    double *p = c->base ? c->base + c->used : NULL;
    c->used += padded(n);
    return p;
}

static void carve_layer(carver *c, clsi_network_layer *y, size_t width, size_t samples) {
    y->width = width;
    y->ld = row_length(width);
    double **kept[] = {&y->a, &y->delta, &y->s, &y->h};
    for (size_t i = 0; i < 4; i++) *kept[i] = carve(c, samples * y->ld);
    y->adot = carve(c, block_of(samples) * y->ld);
    y->e = carve(c, (samples < LONG_BLOCK ? samples : LONG_BLOCK) * y->ld);
}

/* Lays out the scratch for what `samples` samples keep; returns the doubles needed (with those for
 * alignment). */
static size_t lay_out(const clsi_field *f, size_t samples, double *scratch, clsi_network_pass *r) {
    const clsi_network *net = f->data;
    uintptr_t odd = (uintptr_t)scratch % 64;
    carver c = {scratch ? scratch + (odd ? (64 - odd) / sizeof(double) : 0) : NULL, 0};
    r->net = net;
    r->d = f->d;
    r->zero = carve(&c, padded(CLSI_NETWORK_MAX_WIDTH));
    r->plain_stride = padded(f->d);
    r->plain = carve(&c, block_of(samples) * r->plain_stride);
    carve_layer(&c, &r->layer[0], f->d, samples);
    for (size_t l = 0; l < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        r->theta_t[l] = carve(&c, w->in * padded(w->out));
        r->theta[l] = carve(&c, w->out * padded(w->in));
        r->bias[l] = carve(&c, padded(w->out));
        r->sum[l] = carve(&c, clsi_network_sum_size(w) + padded(w->out));
        carve_layer(&c, &r->layer[l + 1], w->out, samples);
    }
    return c.used + L;
}

static size_t scratch_size(const clsi_field *f, size_t n) {
    clsi_network_pass r;
    return lay_out(f, block_of(n), NULL, &r);
}

/* (k, n) with element (i, j) at from[i*row + j*column], to panels of (k, columns). */
static void pack(const clsi_network_kernel *kernel, size_t k, size_t n, const double *from,
                 size_t row, size_t column, double *to) {
    size_t columns;
    for (size_t first = 0; first < padded(n); first += columns) {
        columns = clsi_network_panel(kernel, padded(n) - first);
        size_t real = first >= n ? 0 : n - first < columns ? n - first : columns;
        for (size_t i = 0; i < k; i++, to += columns) {
            for (size_t j = 0; j < real; j++) to[j] = from[i * row + (first + j) * column];
            for (size_t j = real; j < columns; j++) to[j] = 0;
        }
    }
}

static void prepare(clsi_network_pass *r, const double *theta, int backward) {
    const clsi_network *net = r->net;
    memset(r->zero, 0, padded(CLSI_NETWORK_MAX_WIDTH) * sizeof(double));
    for (size_t l = 0; l < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        pack(net->kernel, w->in, w->out, theta + w->weight, 1, w->in, r->theta_t[l]);
        if (backward || l + 1 == net->n_layers) /* values need the last one */
            pack(net->kernel, w->out, w->in, theta + w->weight, w->in, 1, r->theta[l]);
        memset(r->bias[l], 0, padded(w->out) * sizeof(double));
        if (l + 1 < net->n_layers) memcpy(r->bias[l], theta + w->bias, w->out * sizeof(double));
    }
}

/* ---- the passes over one block ---- */

/* The rows of a layer from a sample on. */
static clsi_network_layer rows_from(const clsi_network_pass *r, size_t l, size_t first) {
    clsi_network_layer y = r->layer[l];
    size_t at = first * y.ld;
    y.a += at;
    y.delta += at;
    y.s += at;
    y.h += at;
    return y;
}

/* To rows of the first layer. What stands behind them goes to the padding of sums, if anywhere, so
 * whole vectors are copied as long as there is something to read. */
static void take_inputs(const clsi_network_pass *r, size_t n, const double *x, double *to) {
    size_t d = r->d, wide = padded(d), ld = r->layer[0].ld, left = n * d;
    for (; left >= wide; left -= d, x += d, to += ld)
        for (size_t k = 0; k < wide; k += L) memcpy(to + k, x + k, L * sizeof *to);
    for (; left; left -= d, x += d, to += ld)
        for (size_t k = 0; k < d; k++) to[k] = x[k];
}

/* One number for each sample. */
static void take_output(const clsi_network_pass *r, size_t n, const double *from, double all,
                        double *to) {
    size_t ld = r->layer[r->net->n_layers].ld;
    for (size_t s = 0; s < n; s++) to[s * ld] = from ? from[s] : all;
}

/* Hidden layers upwards, n samples from `first` on. FORWARD multiplies a, TANGENT multiplies adot.
 */
static void upwards(clsi_network_pass *r, size_t first, size_t n, clsi_network_op op) {
    for (size_t l = 0; l + 1 < r->net->n_layers; l++) {
        clsi_network_layer from = rows_from(r, l, first), to = rows_from(r, l + 1, first);
        int forward = op == CLSI_NETWORK_FORWARD, last = l + 2 == r->net->n_layers;
        clsi_network_product p = {.samples = n,
                                  .k = from.width,
                                  .n = padded(to.width),
                                  .left = forward ? from.a : from.adot,
                                  .left_stride = from.ld,
                                  .right = r->theta_t[l],
                                  .next = last ? r->theta[l + 1] : r->theta_t[l + 1],
                                  .start = forward ? r->bias[l] : r->zero,
                                  .op = op,
                                  .activation = r->net->activation,
                                  .layer = &to};
        r->net->kernel->product(&p);
    }
}

/* The layer l downwards. BACKWARD multiplies delta, ADJOINT and SECOND multiply e. */
static void down(clsi_network_pass *r, size_t first, size_t n, clsi_network_op op, size_t l) {
    clsi_network_layer from = rows_from(r, l + 1, first), to = rows_from(r, l, first);
    clsi_network_product p = {.samples = n,
                              .k = from.width,
                              .n = padded(to.width),
                              .left = op == CLSI_NETWORK_BACKWARD ? from.delta : from.e,
                              .left_stride = from.ld,
                              .right = r->theta[l],
                              .next = r->theta[l - 1],
                              .start = r->zero,
                              .op = op,
                              .activation = r->net->activation,
                              .layer = &to};
    r->net->kernel->product(&p);
}

static void downwards(clsi_network_pass *r, size_t first, size_t n, clsi_network_op op) {
    for (size_t l = r->net->n_layers - 1; l > 0; l--) down(r, first, n, op, l);
}

/* left (n, k) times `right` as it is, the first `columns` of the result to out (n, columns). */
static void plain_product(clsi_network_pass *r, size_t n, size_t k, const double *left,
                          size_t left_stride, const double *right, size_t columns, double *out) {
    clsi_network_product p = {.samples = n,
                              .k = k,
                              .n = padded(columns),
                              .left = left,
                              .left_stride = left_stride,
                              .right = right,
                              .next = right,
                              .start = r->zero,
                              .op = CLSI_NETWORK_PLAIN,
                              .plain = r->plain,
                              .plain_stride = r->plain_stride};
    r->net->kernel->product(&p);
    for (size_t s = 0; s < n; s++)
        for (size_t j = 0; j < columns; j++)
            out[s * columns + j] = r->plain[s * r->plain_stride + j];
}

static void give_value(clsi_network_pass *r, size_t first, size_t n, double *value) {
    size_t top = r->net->n_layers - 1;
    clsi_network_layer last = rows_from(r, top, first);
    r->net->kernel->dot(n, padded(last.width), last.a, last.ld, r->theta[top], value);
}

/* From e or delta of the first layer. */
static void give_gradient(clsi_network_pass *r, size_t n, const double *from, double *gradient) {
    const clsi_network_layer *y = &r->layer[1];
    plain_product(r, n, y->width, from, y->ld, r->theta[0], r->d, gradient);
}

/* Pass 1. */
static void forward(clsi_network_pass *r, size_t first, size_t n, const double *x) {
    take_inputs(r, n, x, rows_from(r, 0, first).a);
    upwards(r, first, n, CLSI_NETWORK_FORWARD);
}

/* Pass 2. */
static void backward(clsi_network_pass *r, size_t first, size_t n) {
    take_output(r, n, NULL, 1, rows_from(r, r->net->n_layers, first).delta);
    downwards(r, first, n, CLSI_NETWORK_BACKWARD);
}

/* What begins pass 4, whose operation is returned, and pass 3 where there is b. */
static clsi_network_op tangent(clsi_network_pass *r, size_t first, size_t n, const double *a,
                               const double *b) {
    take_output(r, n, a, 0, r->layer[r->net->n_layers].e);
    if (!b) return CLSI_NETWORK_ADJOINT;
    take_inputs(r, n, b, r->layer[0].adot);
    upwards(r, first, n, CLSI_NETWORK_TANGENT);
    return CLSI_NETWORK_SECOND;
}

/* ---- passes 4 and 5: rows or sums ---- */

/* (e, delta) and (a, adot) of layer l, without the latter when there is no b. */
static clsi_network_factors factors_of(const clsi_network_pass *r, size_t l, size_t first, size_t n,
                                       const double *b) {
    clsi_network_layer in = rows_from(r, l, first), z = rows_from(r, l + 1, first);
    return (clsi_network_factors){.samples = n,
                                  .left = z.e,
                                  .left_dot = b ? z.delta : NULL,
                                  .left_stride = z.ld,
                                  .right = in.a,
                                  .right_dot = b ? in.adot : NULL,
                                  .right_stride = in.ld};
}

/* Sample s of the block at `first`. */
static void add_row(const clsi_network_pass *r, size_t first, size_t s, const double *b,
                    double *row) {
    for (size_t l = 0; l < r->net->n_layers; l++) {
        const clsi_network_shape *w = &r->net->layer[l];
        clsi_network_factors f = factors_of(r, l, first + s, 1, b);
        f.left += s * f.left_stride;
        if (b) f.right_dot += s * f.right_stride;
        r->net->kernel->row(w->out, w->in, &f, row + w->weight);
        for (size_t k = 0; l + 1 < r->net->n_layers && k < w->out; k++)
            row[w->bias + k] += f.left[k];
    }
}

/* Is dW^T summed, because vectors would be padding otherwise? So it is for the few inputs of a
 * first layer. */
static int transposed(const clsi_network_shape *w) {
    return w->in * padded(w->out) < w->out * padded(w->in);
}

size_t clsi_network_sum_size(const clsi_network_shape *w) {
    return transposed(w) ? w->in * padded(w->out) : w->out * padded(w->in);
}

void clsi_network_sum(const clsi_network_pass *r, size_t l, int fresh,
                      const clsi_network_factors *f) {
    const clsi_network_shape *w = &r->net->layer[l];
    const double *zero = fresh ? r->zero : NULL;
    if (!transposed(w)) {
        r->net->kernel->outer(w->out, padded(w->in), f, zero, r->sum[l]);
        return;
    }
    clsi_network_factors turned = {f->samples, f->right,    f->right_dot,  f->right_stride,
                                   f->left,    f->left_dot, f->left_stride};
    r->net->kernel->outer(w->in, padded(w->out), &turned, zero, r->sum[l]);
}

static void sum_layer(clsi_network_pass *r, size_t first, size_t n, const double *b, size_t l) {
    const clsi_network_shape *w = &r->net->layer[l];
    clsi_network_factors f = factors_of(r, l, first, n, b);
    clsi_network_sum(r, l, r->fresh, &f);
    if (l + 1 < r->net->n_layers)
        r->net->kernel->sum(n, padded(w->out), f.left, f.left_stride,
                            r->sum[l] + clsi_network_sum_size(w));
}

/* Passes 3 to 5. A layer's e goes into its sums while it is near. */
static void add_sums(clsi_network_pass *r, size_t first, size_t n, const double *a,
                     const double *b) {
    clsi_network_op op = tangent(r, first, n, a, b);
    for (size_t l = r->net->n_layers - 1; l > 0; l--) {
        sum_layer(r, first, n, b, l);
        down(r, first, n, op, l);
    }
    sum_layer(r, first, n, b, 0);
    r->fresh = 0;
}

/* db here, dW when the first sample comes. */
static void clear_sums(clsi_network_pass *r) {
    r->fresh = 1;
    for (size_t l = 0; l < r->net->n_layers; l++) {
        const clsi_network_shape *w = &r->net->layer[l];
        memset(r->sum[l] + clsi_network_sum_size(w), 0, padded(w->out) * sizeof(double));
    }
}

/* Between sums and a vector like theta, n numbers that are `step` apart there. */
typedef void (*mover)(size_t n, double *sum, double *theta, size_t step);

static void take(size_t n, double *sum, double *theta, size_t step) {
    for (size_t j = 0; j < n; j++) sum[j] = theta[j * step];
}

static void give(size_t n, double *sum, double *theta, size_t step) {
    for (size_t j = 0; j < n; j++) theta[j * step] = sum[j];
}

/* dW of a layer, which the sums have by panels, and db. */
static void move_layer(const clsi_network_pass *r, size_t l, mover move, double *theta) {
    const clsi_network_shape *w = &r->net->layer[l];
    int turned = transposed(w);
    size_t rows = turned ? w->in : w->out, columns = turned ? w->out : w->in, n;
    size_t down = turned ? 1 : w->in, along = turned ? w->in : 1;
    double *sum = r->sum[l];
    for (size_t first = 0; first < columns; first += n) {
        n = clsi_network_panel(r->net->kernel, padded(columns) - first);
        size_t real = columns - first < n ? columns - first : n;
        for (size_t i = 0; i < rows; i++, sum += n)
            move(real, sum, theta + w->weight + i * down + first * along, along);
    }
    if (l + 1 < r->net->n_layers)
        move(w->out, r->sum[l] + clsi_network_sum_size(w), theta + w->bias, 1);
}

static void move_sums(const clsi_network_pass *r, mover move, double *theta) {
    for (size_t l = 0; l < r->net->n_layers; l++) move_layer(r, l, move, theta);
}

/* What is not taken is padding, and zero. */
static void take_sums(clsi_network_pass *r, double *out) {
    for (size_t l = 0; l < r->net->n_layers; l++) {
        const clsi_network_shape *w = &r->net->layer[l];
        memset(r->sum[l], 0, (clsi_network_sum_size(w) + padded(w->out)) * sizeof(double));
    }
    move_sums(r, take, out);
    r->fresh = 0;
}

/* ---- the interface of fields ---- */

static void evaluate(const clsi_field *f, const double *theta, size_t n, const double *x,
                     double *value, double *gradient, double *scratch) {
    clsi_network_pass r;
    lay_out(f, block_of(n), scratch, &r);
    prepare(&r, theta, gradient != NULL);
    for (size_t s = 0; s < n; s += BLOCK) {
        size_t m = block_of(n - s);
        forward(&r, 0, m, x + s * f->d);
        if (value) give_value(&r, 0, m, value + s);
        if (!gradient) continue;
        take_output(&r, m, NULL, 1, r.layer[r.net->n_layers].e);
        downwards(&r, 0, m, CLSI_NETWORK_ADJOINT);
        give_gradient(&r, m, r.layer[1].e, gradient + s * f->d);
    }
}

static void jacobian_rows(const clsi_field *f, const double *theta, size_t n, const double *x,
                          const double *a, const double *b, size_t stride, double *out,
                          double *scratch) {
    clsi_network_pass r;
    if (!a && !b) return;
    lay_out(f, block_of(n), scratch, &r);
    prepare(&r, theta, 1);
    for (size_t s = 0; s < n; s += BLOCK) {
        size_t m = block_of(n - s);
        const double *along = b ? b + s * f->d : NULL;
        forward(&r, 0, m, x + s * f->d);
        if (b) backward(&r, 0, m);
        downwards(&r, 0, m, tangent(&r, 0, m, a ? a + s : NULL, along));
        for (size_t i = 0; i < m; i++) add_row(&r, 0, i, along, out + (s + i) * stride);
    }
}

static void reverse(const clsi_field *f, const double *theta, size_t n, const double *x,
                    const double *a, const double *b, double *out, double *scratch) {
    clsi_network_pass r;
    if (!a && !b) return;
    lay_out(f, block_of(n), scratch, &r);
    prepare(&r, theta, 1);
    take_sums(&r, out);
    for (size_t s = 0; s < n; s += BLOCK) {
        size_t m = block_of(n - s);
        forward(&r, 0, m, x + s * f->d);
        if (b) backward(&r, 0, m);
        add_sums(&r, 0, m, a ? a + s : NULL, b ? b + s * f->d : NULL);
    }
    move_sums(&r, give, out);
}

/* ---- in stages; the pass stands at the beginning of its memory ---- */

enum { PASS = (sizeof(clsi_network_pass) + sizeof(double) - 1) / sizeof(double) };

static size_t pass_size(const clsi_field *f) {
    clsi_network_pass r;
    return PASS + lay_out(f, CLSI_NETWORK_SAMPLES, NULL, &r);
}

static void pass_open(const clsi_field *f, const double *theta, double *pass) {
    clsi_network_pass *r = (clsi_network_pass *)pass;
    lay_out(f, CLSI_NETWORK_SAMPLES, pass + PASS, r);
    prepare(r, theta, 1);
}

static void pass_clear(double *pass) {
    clear_sums((clsi_network_pass *)pass);
}

/* Blocks of a pass of n samples, with or without tangents: about equal, whole tiles. Narrow
 * networks are better off with short ones, which leave more in the first-level cache. */
static size_t even_block(const clsi_network_pass *r, size_t n, int tangents) {
    int narrow = r->layer[1].width <= r->net->kernel->panel;
    size_t most = tangents || narrow ? BLOCK : LONG_BLOCK, blocks = (n + most - 1) / most;
    size_t tiles = blocks * CLSI_NETWORK_ROWS;
    return (n + tiles - 1) / tiles * CLSI_NETWORK_ROWS;
}

static void pass_evaluate(double *pass, size_t n, const double *x, double *value,
                          double *gradient) {
    clsi_network_pass *r = (clsi_network_pass *)pass;
    size_t block = even_block(r, n, gradient != NULL);
    for (size_t s = 0; s < n; s += block) {
        size_t m = n - s < block ? n - s : block;
        forward(r, s, m, x + s * r->d);
        if (value) give_value(r, s, m, value + s);
        if (!gradient) continue;
        backward(r, s, m);
        give_gradient(r, m, rows_from(r, 1, s).delta, gradient + s * r->d);
    }
}

static void pass_add(double *pass, size_t n, const double *a, const double *b) {
    clsi_network_pass *r = (clsi_network_pass *)pass;
    size_t block = even_block(r, n, b != NULL);
    for (size_t s = 0; s < n; s += block)
        add_sums(r, s, n - s < block ? n - s : block, a ? a + s : NULL, b ? b + s * r->d : NULL);
}

static void pass_rows(double *pass, size_t n, const double *a, const double *b,
                      double *const *rows) {
    clsi_network_pass *r = (clsi_network_pass *)pass;
    size_t block = even_block(r, n, b != NULL);
    for (size_t s = 0; s < n; s += block) {
        size_t m = n - s < block ? n - s : block;
        const double *along = b ? b + s * r->d : NULL;
        downwards(r, s, m, tangent(r, s, m, a ? a + s : NULL, along));
        for (size_t i = 0; i < m; i++)
            if (rows[s + i]) add_row(r, s, i, along, rows[s + i]);
    }
}

static void pass_close(const double *pass, double *out) {
    const clsi_network_pass *r = (const clsi_network_pass *)pass;
    if (!r->fresh) move_sums(r, r->net->kernel->add, out);
}

static cls_node node(const clsi_field *f, cls_graph *g, const cls_node *x, const double *theta) {
    return clsi_network_node(f, g, x, theta, NULL);
}

static const clsi_field_blocks blocks = {.samples = CLSI_NETWORK_SAMPLES,
                                         .size = pass_size,
                                         .open = pass_open,
                                         .clear = pass_clear,
                                         .evaluate = pass_evaluate,
                                         .add = pass_add,
                                         .rows = pass_rows,
                                         .close = pass_close};

const clsi_field_kind clsi_field_network = {
    .name = "network",
    .doc = "layers of neurons: network(WIDTH, ..., ACTIVATION), activation tanh, softplus or sin",
    .linear = 0,
    .create = clsi_network_create,
    .initialise = clsi_network_initialise,
    .evaluate = evaluate,
    .rows = jacobian_rows,
    .reverse = reverse,
    .scratch = scratch_size,
    .expression = clsi_network_expression,
    .node = node,
    .open = clsi_network_node_open,
    .blocks = &blocks,
    .pairs = &clsi_network_pairs,
};
