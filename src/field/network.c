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
 * absent), the last as one product over pairs of rows (e, delta) and (a, adot), which therefore
 * stand next to each other in memory. The output layer is a layer with one row and no bias (a
 * constant is gauge); with (e, delta) = (alpha, 1) there all layers are alike.
 *
 * All passes run over blocks of CLSI_NETWORK_BLOCK samples, features contiguous, rows padded. W is
 * packed once per call, as it is and transposed. Sums over samples are in order, one sample after
 * the other: the same bits for one call with n samples as for several with parts of them.
 *
 * Where alpha and beta depend on value and gradient (a loss), evaluate and then reverse does passes
 * 1 and 2 twice, 8 products instead of 6; block by block (clsi_network_open) it is 6. */
#include "field/network_kernels.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { L = CLSI_NETWORK_LANES, BLOCK = CLSI_NETWORK_BLOCK };

/* ---- scratch ---- */

static size_t padded(size_t n) {
    return (n + L - 1) / L * L;
}

/* An odd number of cache lines, so that rows below each other fall into different sets. */
static size_t row_length(size_t n) {
    size_t lines = (n + 7) / 8;
    return 8 * (lines | 1);
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

static void carve_layer(carver *c, clsi_network_layer *a, size_t width, size_t samples) {
    a->width = width;
    a->ld = row_length(width);
    a->step = 2 * a->ld;
    a->a = carve(c, 2 * samples * a->ld);
    a->e = carve(c, 2 * samples * a->ld);
    a->s = carve(c, samples * a->ld);
}

/* Lays out the scratch for n samples; returns the doubles needed (with those for alignment). */
static size_t lay_out(const clsi_field *f, size_t n, double *scratch, clsi_network_pass *r) {
    const clsi_network *net = f->data;
    size_t samples = n < BLOCK ? n : BLOCK;
    uintptr_t odd = (uintptr_t)scratch % 64;
    carver c = {scratch ? scratch + (odd ? (64 - odd) / sizeof(double) : 0) : NULL, 0};
    r->net = net;
    r->d = f->d;
    r->zero = carve(&c, padded(CLSI_NETWORK_MAX_WIDTH));
    r->plain_stride = padded(f->d);
    r->plain = carve(&c, samples * r->plain_stride);
    carve_layer(&c, &r->layer[0], f->d, samples);
    for (size_t l = 0; l < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        r->theta_t[l] = carve(&c, w->in * padded(w->out));
        r->theta[l] = carve(&c, w->out * padded(w->in));
        r->bias[l] = carve(&c, padded(w->out));
        r->sum[l] = carve(&c, clsi_network_sum_size(w) + padded(w->out));
        carve_layer(&c, &r->layer[l + 1], w->out, samples);
    }
    if (scratch) memset(r->layer[0].a, 0, 2 * samples * r->layer[0].ld * sizeof(double));
    return c.used + L;
}

static size_t scratch_size(const clsi_field *f, size_t n) {
    clsi_network_pass r;
    return lay_out(f, n, NULL, &r);
}

/* (k, n) with element (i, j) at from[i*row + j*column], to panels of (k, columns). */
static void pack(const clsi_network_kernel *kernel, size_t k, size_t n, const double *from,
                 size_t row, size_t column, double *to) {
    for (size_t first = 0; first < padded(n); first += kernel->panel) {
        size_t left = padded(n) - first, columns = left < kernel->panel ? left : kernel->panel;
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

/* Rows of a sample are a and adot (e and delta), or a (e) alone. */
static void set_pairs(clsi_network_pass *r, size_t pairs) {
    for (size_t l = 0; l <= r->net->n_layers; l++) r->layer[l].step = pairs * r->layer[l].ld;
}

/* Rows of x, or of the direction b (which = 1); the zeros behind them stay. */
static void take_inputs(clsi_network_pass *r, size_t n, const double *x, size_t which) {
    clsi_network_layer *a = &r->layer[0];
    for (size_t s = 0; s < n; s++) {
        double *row = a->a + s * a->step + which * a->ld;
        for (size_t k = 0; k < r->d; k++) row[k] = x[s * r->d + k];
    }
}

/* (e, delta) of the output: (alpha, 1), alpha the same for all where it is absent. */
static void take_output(clsi_network_pass *r, size_t n, const double *alpha, double all) {
    clsi_network_layer *y = &r->layer[r->net->n_layers];
    for (size_t s = 0; s < n; s++) {
        y->e[s * y->step] = alpha ? alpha[s] : all;
        if (y->step > y->ld) y->e[s * y->step + y->ld] = 1;
    }
}

/* Hidden layers upwards. FORWARD multiplies a, TANGENT multiplies adot. */
static void upwards(clsi_network_pass *r, size_t n, clsi_network_op op) {
    for (size_t l = 0; l + 1 < r->net->n_layers; l++) {
        clsi_network_layer *from = &r->layer[l];
        int forward = op == CLSI_NETWORK_FORWARD, last = l + 2 == r->net->n_layers;
        clsi_network_product p = {.samples = n,
                                  .k = from->width,
                                  .n = padded(r->layer[l + 1].width),
                                  .left = from->a + (forward ? 0 : from->ld),
                                  .left_stride = from->step,
                                  .right = r->theta_t[l],
                                  .next = last ? r->theta[l + 1] : r->theta_t[l + 1],
                                  .start = forward ? r->bias[l] : r->zero,
                                  .op = op,
                                  .activation = r->net->activation,
                                  .layer = &r->layer[l + 1]};
        r->net->kernel->product(&p);
    }
}

/* The layer l downwards. BACKWARD multiplies delta, ADJOINT and SECOND multiply e. */
static void down(clsi_network_pass *r, size_t n, clsi_network_op op, size_t l) {
    clsi_network_layer *from = &r->layer[l + 1];
    clsi_network_product p = {.samples = n,
                              .k = from->width,
                              .n = padded(r->layer[l].width),
                              .left = from->e + (op == CLSI_NETWORK_BACKWARD ? from->ld : 0),
                              .left_stride = from->step,
                              .right = r->theta[l],
                              .next = r->theta[l - 1],
                              .start = r->zero,
                              .op = op,
                              .activation = r->net->activation,
                              .layer = &r->layer[l]};
    r->net->kernel->product(&p);
}

static void downwards(clsi_network_pass *r, size_t n, clsi_network_op op) {
    for (size_t l = r->net->n_layers - 1; l > 0; l--) down(r, n, op, l);
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

static void give_value(clsi_network_pass *r, size_t n, double *value) {
    size_t top = r->net->n_layers - 1;
    clsi_network_layer *last = &r->layer[top];
    r->net->kernel->dot(n, padded(last->width), last->a, last->step, r->theta[top], value);
}

/* From e (which = 0) or delta (1) of the first layer. */
static void give_gradient(clsi_network_pass *r, size_t n, size_t which, double *gradient) {
    clsi_network_layer *first = &r->layer[1];
    plain_product(r, n, first->width, first->e + which * first->ld, first->step, r->theta[0], r->d,
                  gradient);
}

/* Passes 1 and 2. */
static void first_order(clsi_network_pass *r, size_t n, const double *x) {
    take_inputs(r, n, x, 0);
    upwards(r, n, CLSI_NETWORK_FORWARD);
    take_output(r, n, NULL, 0);
    downwards(r, n, CLSI_NETWORK_BACKWARD);
}

/* Pass 3 and what begins pass 4; returns the operation of that pass. */
static clsi_network_op tangent(clsi_network_pass *r, size_t n, const double *a, const double *b) {
    take_inputs(r, n, b, 1);
    take_output(r, n, a, 0);
    upwards(r, n, CLSI_NETWORK_TANGENT);
    return CLSI_NETWORK_SECOND;
}

/* All passes before the fourth, whose operation is returned; *pairs: how many of each sample count,
 * 1 when b is absent. */
static clsi_network_op differentiate(clsi_network_pass *r, size_t n, const double *x,
                                     const double *a, const double *b, int *pairs) {
    *pairs = b ? 2 : 1;
    set_pairs(r, b ? 2 : 1);
    if (b) {
        first_order(r, n, x);
        return tangent(r, n, a, b);
    }
    take_inputs(r, n, x, 0);
    upwards(r, n, CLSI_NETWORK_FORWARD);
    take_output(r, n, a, 0);
    return CLSI_NETWORK_ADJOINT;
}

/* ---- passes 4 and 5: rows or sums ---- */

static void add_row(const clsi_network_pass *r, size_t s, int pairs, double *row) {
    for (size_t l = 0; l < r->net->n_layers; l++) {
        const clsi_network_shape *w = &r->net->layer[l];
        const clsi_network_layer *in = &r->layer[l], *z = &r->layer[l + 1];
        const double *e = z->e + s * z->step;
        r->net->kernel->row(pairs, w->out, w->in, e, z->ld, in->a + s * in->step, in->ld,
                            row + w->weight);
        for (size_t k = 0; l + 1 < r->net->n_layers && k < w->out; k++) row[w->bias + k] += e[k];
    }
}

static void add_rows(clsi_network_pass *r, size_t n, clsi_network_op op, int pairs, size_t stride,
                     double *rows) {
    downwards(r, n, op);
    for (size_t s = 0; s < n; s++) add_row(r, s, pairs, rows + s * stride);
}

/* Is dW^T summed, because vectors would be padding otherwise? So it is for the few inputs of a
 * first layer. */
static int transposed(const clsi_network_shape *w) {
    return w->in * padded(w->out) < w->out * padded(w->in);
}

size_t clsi_network_sum_size(const clsi_network_shape *w) {
    return transposed(w) ? w->in * padded(w->out) : w->out * padded(w->in);
}

void clsi_network_sum(const clsi_network_pass *r, size_t l, int fresh, size_t k, const double *e,
                      size_t e_stride, const double *a, size_t a_stride) {
    const clsi_network_shape *w = &r->net->layer[l];
    size_t in = padded(w->in), out = padded(w->out);
    const double *zero = fresh ? r->zero : NULL;
    if (transposed(w))
        r->net->kernel->outer(k, w->in, out, a, a_stride, e, e_stride, zero, r->sum[l]);
    else
        r->net->kernel->outer(k, w->out, in, e, e_stride, a, a_stride, zero, r->sum[l]);
}

static void sum_layer(clsi_network_pass *r, size_t n, int pairs, size_t l) {
    const clsi_network_shape *w = &r->net->layer[l];
    const clsi_network_layer *in = &r->layer[l], *z = &r->layer[l + 1];
    int both = pairs == 2; /* rows of a pair are neighbours */
    clsi_network_sum(r, l, r->fresh, n * (size_t)pairs, z->e, both ? z->ld : z->step, in->a,
                     both ? in->ld : in->step);
    if (l + 1 < r->net->n_layers)
        r->net->kernel->sum(n, padded(w->out), z->e, z->step, r->sum[l] + clsi_network_sum_size(w));
}

/* A layer's e goes into its sums while it is near. */
static void add_sums(clsi_network_pass *r, size_t n, clsi_network_op op, int pairs) {
    for (size_t l = r->net->n_layers - 1; l > 0; l--) {
        sum_layer(r, n, pairs, l);
        down(r, n, op, l);
    }
    sum_layer(r, n, pairs, 0);
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

static void give_more(size_t n, double *sum, double *theta, size_t step) {
    for (size_t j = 0; j < n && step == 1; j++) theta[j] += sum[j];
    for (size_t j = 0; j < n && step != 1; j++) theta[j * step] += sum[j];
}

/* dW of a layer, which the sums have by panels, and db. */
static void move_layer(const clsi_network_pass *r, size_t l, mover move, double *theta) {
    const clsi_network_shape *w = &r->net->layer[l];
    int turned = transposed(w);
    size_t rows = turned ? w->in : w->out, columns = turned ? w->out : w->in;
    size_t down = turned ? 1 : w->in, along = turned ? w->in : 1, panel = r->net->kernel->panel;
    for (size_t i = 0; i < rows; i++)
        for (size_t first = 0; first < columns; first += panel) {
            size_t left = padded(columns) - first, n = left < panel ? left : panel;
            size_t real = columns - first < n ? columns - first : n;
            move(real, r->sum[l] + first * rows + i * n,
                 theta + w->weight + i * down + first * along, along);
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
    lay_out(f, n, scratch, &r);
    prepare(&r, theta, gradient != NULL);
    set_pairs(&r, 1);
    for (size_t s = 0; s < n; s += BLOCK) {
        size_t m = n - s < BLOCK ? n - s : BLOCK;
        take_inputs(&r, m, x + s * f->d, 0);
        upwards(&r, m, CLSI_NETWORK_FORWARD);
        if (value) give_value(&r, m, value + s);
        if (!gradient) continue;
        take_output(&r, m, NULL, 1);
        downwards(&r, m, CLSI_NETWORK_ADJOINT);
        give_gradient(&r, m, 0, gradient + s * f->d);
    }
}

static void jacobian_rows(const clsi_field *f, const double *theta, size_t n, const double *x,
                          const double *a, const double *b, size_t stride, double *out,
                          double *scratch) {
    clsi_network_pass r;
    if (!a && !b) return;
    lay_out(f, n, scratch, &r);
    prepare(&r, theta, 1);
    for (size_t s = 0; s < n; s += BLOCK) {
        size_t m = n - s < BLOCK ? n - s : BLOCK;
        int pairs;
        clsi_network_op op =
            differentiate(&r, m, x + s * f->d, a ? a + s : NULL, b ? b + s * f->d : NULL, &pairs);
        add_rows(&r, m, op, pairs, stride, out + s * stride);
    }
}

static void reverse(const clsi_field *f, const double *theta, size_t n, const double *x,
                    const double *a, const double *b, double *out, double *scratch) {
    clsi_network_pass r;
    if (!a && !b) return;
    lay_out(f, n, scratch, &r);
    prepare(&r, theta, 1);
    take_sums(&r, out);
    for (size_t s = 0; s < n; s += BLOCK) {
        size_t m = n - s < BLOCK ? n - s : BLOCK;
        int pairs;
        clsi_network_op op =
            differentiate(&r, m, x + s * f->d, a ? a + s : NULL, b ? b + s * f->d : NULL, &pairs);
        add_sums(&r, m, op, pairs);
    }
    move_sums(&r, give, out);
}

/* ---- block by block ---- */

void clsi_network_open(clsi_network_pass *r, const clsi_field *f, const double *theta, double *out,
                       double *scratch) {
    lay_out(f, BLOCK, scratch, r);
    prepare(r, theta, 1);
    if (out) take_sums(r, out);
}

void clsi_network_evaluate(clsi_network_pass *r, size_t n, const double *x, double *value,
                           double *gradient) {
    set_pairs(r, 2);
    first_order(r, n, x);
    if (value) give_value(r, n, value);
    if (gradient) give_gradient(r, n, 1, gradient);
}

void clsi_network_add(clsi_network_pass *r, size_t n, const double *a, const double *b) {
    add_sums(r, n, tangent(r, n, a, b), 2);
}

void clsi_network_add_rows(clsi_network_pass *r, size_t n, const double *a, const double *b,
                           size_t stride, double *rows) {
    add_rows(r, n, tangent(r, n, a, b), 2, stride, rows);
}

void clsi_network_close(const clsi_network_pass *r, double *out) {
    move_sums(r, give, out);
}

/* ---- the same for any kind; the pass stands at the beginning of its memory ---- */

enum { PASS = (sizeof(clsi_network_pass) + sizeof(double) - 1) / sizeof(double) };

static size_t pass_size(const clsi_field *f) {
    return PASS + scratch_size(f, BLOCK);
}

static void pass_open(const clsi_field *f, const double *theta, double *pass) {
    clsi_network_open((clsi_network_pass *)pass, f, theta, NULL, pass + PASS);
}

static void pass_clear(double *pass) {
    clear_sums((clsi_network_pass *)pass);
}

static void pass_evaluate(double *pass, size_t n, const double *x, double *value,
                          double *gradient) {
    clsi_network_pass *r = (clsi_network_pass *)pass;
    r->spent = 0;
    if (gradient) {
        clsi_network_evaluate(r, n, x, value, gradient);
        return;
    }
    set_pairs(r, 1);
    take_inputs(r, n, x, 0);
    upwards(r, n, CLSI_NETWORK_FORWARD);
    give_value(r, n, value);
}

/* What follows evaluate, up to pass 4. */
static clsi_network_op pass_differentiate(clsi_network_pass *r, size_t n, const double *a,
                                          const double *b) {
    if (b) {
        if (r->spent) downwards(r, n, CLSI_NETWORK_BACKWARD);
        r->spent = 1;
        return tangent(r, n, a, b);
    }
    take_output(r, n, a, 0);
    return CLSI_NETWORK_ADJOINT;
}

static void pass_add(double *pass, size_t n, const double *a, const double *b) {
    clsi_network_pass *r = (clsi_network_pass *)pass;
    add_sums(r, n, pass_differentiate(r, n, a, b), b ? 2 : 1);
}

static void pass_rows(double *pass, size_t n, const double *a, const double *b,
                      double *const *rows) {
    clsi_network_pass *r = (clsi_network_pass *)pass;
    downwards(r, n, pass_differentiate(r, n, a, b));
    for (size_t s = 0; s < n; s++)
        if (rows[s]) add_row(r, s, b ? 2 : 1, rows[s]);
}

static void pass_close(const double *pass, double *out) {
    const clsi_network_pass *r = (const clsi_network_pass *)pass;
    if (!r->fresh) move_sums(r, give_more, out);
}

static const clsi_field_blocks blocks = {.samples = BLOCK,
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
    .blocks = &blocks,
    .pairs = &clsi_network_pairs,
};
