/* Discrete gradients of networks between pairs of points, and their derivatives in theta.
 *
 * Automatic discrete differentiation (Deep DTLM; docs/physics/discrete-gradient.md) is the
 * backward pass with the quotients phi = (f(z) - f(y))/(z - y) of a layer's sums at both points in
 * the place of f'. With b . gbar = the tangent of that linear chain along b (letters as in
 * network.c, points u, w):
 *
 *     1 forward     z, a = tanh z, at the points
 *     2 quotients   phi of the pairs
 *     3 backward    c_l = W^T delta_(l+1), delta_l = phi c_l; W_1^T delta_1 = gbar
 *     4 tangent     zdot_l = W adot_(l-1), adot_l = phi zdot_l, adot_0 = b
 *     5 adjoint     e_l at the points = sum over their pairs of zdot c dphi/dz + (1 - a^2) W^T e_(l+1)
 *     6 gradient    d(b.gbar)/dW_l = sum of e_l a_(l-1)^T over points + delta_l adot_(l-1)^T over pairs
 *
 * For windows of three points (two pairs): 15 matrix products' worth, against 18 without sharing
 * the points. With one input gbar is (phi(u) - phi(w))/(u - w), whatever the writing: where u and w
 * are far enough apart for that (FAR: 2e-14 is lost) the pair needs the values alone, 9 products a
 * window. tanh only. phi is written with decaying exponentials, E = exp(-2 |z|):
 *
 *     phi = tanh(D)/D 2 (E_u + E_w)/((1 + E_u)(1 + E_w)), or (1 + E_u E_w) above when the signs
 *     differ, D = z_u - z_w;     dphi/dz_u = phi (L(D) - a_u), L = coth D - 1/D
 *
 * so no difference is divided and nothing overflows: 1e-14 relative at any distance. */
#include "field/network_kernels.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Points and pairs of a block: as many as keep a panel of their outer product (27 KB) in the
 * first-level cache. */
enum { MOST = 108, LANES = CLSI_NETWORK_LANES };
static const double FAR = 1.0 / 64;

/* Of a layer; the input layer has a and adot only. */
typedef struct layer {
    size_t n, ld;                              /* columns with padding, length of a row */
    double *z, *a, *s, *k, *e;                 /* (points, ld): s = E/(1 + E), k = 1/(1 + E) */
    double *phi, *L, *c, *delta, *zdot, *adot; /* (pairs, ld) */
} layer;

typedef struct pair_pass {
    clsi_network_pass *r; /* weights packed, and the sums */
    const struct pair_loops *loops;
    const clsi_field *f;
    size_t points, all;  /* points and pairs of the block */
    const size_t *given; /* (all, 2) */
    size_t pairs;        /* those of the passes below: near ones, or all of several inputs */
    size_t pair[2 * MOST], number[MOST]; /* (pairs, 2) their points; which they are of all */
    double inverse[MOST];                /* (all) 1/(u - w) of the far ones, else 0 */
    double *value, *alpha;               /* (MOST): phi, and dF/dphi at the points */
    double *plain;                       /* (MOST, padded) */
    double *ones;                        /* (MOST) */
    layer layer[CLSI_FIELD_MAX_LAYERS + 1];
} pair_pass;

enum { PASS = (sizeof(pair_pass) + sizeof(double) - 1) / sizeof(double) };

static size_t padded(size_t n) {
    return (n + LANES - 1) / LANES * LANES;
}

static const char *missing(const clsi_field *f) {
    const clsi_network *net = f->data;
    if (net->activation == CLSI_ACTIVATION_TANH) return NULL;
    return "discrete gradients of networks are made for the activation tanh only";
}

static int near(const clsi_field *f, const double *u, const double *w) {
    return f->d == 1 && !(fabs(*u - *w) >= FAR);
}

/* ---- elementwise loops, by instruction set ---- */

typedef struct pair_loops {
    void (*sides)(size_t n, const double *z, const double *a, double *s, double *k);
    void (*quotients)(size_t n, const double *D, const double *zu, const double *zw,
                      const double *su, const double *sw, const double *ku, const double *kw,
                      double *phi, double *L);
    void (*scatter)(size_t n, const double *adot, const double *c, const double *L,
                    const double *au, const double *aw, double *eu, double *ew);
    void (*multiply)(size_t n, const double *x, const double *y, double *out);
} pair_loops;

#define LOOP(name) name##_plain
#define TARGET
#include "field/network_pairs_loops.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define LOOP(name) name##_avx2
#define TARGET     __attribute__((target("avx2")))
#include "field/network_pairs_loops.h"
#define LOOP(name) name##_avx512
#define TARGET     __attribute__((target("avx512f,avx512dq,avx512vl")))
#include "field/network_pairs_loops.h"

static const pair_loops *loops_of_machine(void) {
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &loops_avx512;
    return __builtin_cpu_supports("avx2") ? &loops_avx2 : &loops_plain;
}
#else
static const pair_loops *loops_of_machine(void) {
    return &loops_plain;
}
#endif

/* ---- memory ---- */

static size_t layer_size(const clsi_network *net, size_t l, size_t d) {
    return MOST * padded(l ? net->layer[l - 1].out : d);
}

static size_t own_size(const clsi_field *f) {
    const clsi_network *net = f->data;
    size_t sum = PASS + LANES + MOST * padded(f->d) + MOST + 3 * MOST * LANES;
    for (size_t l = 0; l < net->n_layers; l++) sum += 11 * layer_size(net, l, f->d);
    return sum;
}

static size_t size(const clsi_field *f) {
    return own_size(f) + f->kind->blocks->size(f);
}

static void open(const clsi_field *f, const double *theta, double *pass) {
    const clsi_network *net = f->data;
    pair_pass *p = (pair_pass *)pass;
    double *blocks = pass + own_size(f), *at = pass + PASS;
    uintptr_t odd = (uintptr_t)at % 64;
    at += odd ? (64 - odd) / sizeof(double) : 0;
    *p = (pair_pass){.f = f, .r = (clsi_network_pass *)blocks, .loops = loops_of_machine()};
    for (size_t l = 0; l < net->n_layers; l++) {
        layer *y = &p->layer[l];
        size_t n = layer_size(net, l, f->d);
        double **own[] = {&y->z, &y->a, &y->s,     &y->k,    &y->e,   &y->phi,
                          &y->L, &y->c, &y->delta, &y->zdot, &y->adot};
        y->n = y->ld = n / MOST;
        for (size_t i = 0; i < sizeof own / sizeof *own; i++, at += n) *own[i] = at;
    }
    p->plain = at;
    p->ones = at + MOST * padded(f->d);
    for (size_t i = 0; i < MOST; i++) p->ones[i] = 1;
    p->alpha = p->ones + MOST;
    p->value = p->alpha + MOST;
    f->kind->blocks->open(f, theta, blocks);
}

static void clear(double *pass) {
    pair_pass *p = (pair_pass *)pass;
    p->f->kind->blocks->clear((double *)p->r);
}

static void give(const double *pass, double *out) {
    const pair_pass *p = (const pair_pass *)pass;
    p->f->kind->blocks->close((const double *)p->r, out);
}

/* ---- pieces ---- */

/* A product over the points that ends in a layer: a = f(...) FORWARD, e = f' (...) ADJOINT. */
static void multiply_into(const pair_pass *p, clsi_network_op op, size_t k, const double *left,
                          size_t ld, const double *right, const double *next, const double *start,
                          const layer *y) {
    clsi_network_layer to = {.width = y->n, .ld = y->ld, .a = y->a, .e = y->e};
    clsi_network_product product = {.samples = p->points,
                                    .k = k,
                                    .n = y->n,
                                    .left = left,
                                    .left_stride = ld,
                                    .right = right,
                                    .next = next,
                                    .start = start,
                                    .op = op,
                                    .activation = CLSI_ACTIVATION_TANH,
                                    .layer = &to};
    p->r->net->kernel->product(&product);
}

/* out (rows, columns) = left (rows, k) right + start */
static void multiply(const pair_pass *p, size_t rows, size_t k, const double *left, size_t ld,
                     const double *right, const double *start, size_t columns, double *out) {
    clsi_network_product product = {.samples = rows,
                                    .k = k,
                                    .n = columns,
                                    .left = left,
                                    .left_stride = ld,
                                    .right = right,
                                    .next = right,
                                    .start = start,
                                    .op = CLSI_NETWORK_PLAIN,
                                    .plain = out,
                                    .plain_stride = columns};
    p->r->net->kernel->product(&product);
}

static void take(size_t n, size_t d, const double *from, const layer *to, double *out) {
    for (size_t i = 0; i < n; i++) {
        memset(out + i * to->ld, 0, to->ld * sizeof *out);
        memcpy(out + i * to->ld, from + i * d, d * sizeof *out);
    }
}

/* ---- passes 1 to 3 ---- */

static void forward(pair_pass *p, const double *x) {
    const clsi_network *net = p->r->net;
    take(p->points, p->f->d, x, &p->layer[0], p->layer[0].a);
    for (size_t l = 1; l < net->n_layers; l++) {
        layer *y = &p->layer[l], *in = &p->layer[l - 1];
        if (!p->pairs) { /* z is not wanted */
            multiply_into(p, CLSI_NETWORK_FORWARD, net->layer[l - 1].in, in->a, in->ld,
                          p->r->theta_t[l - 1], p->r->theta_t[l], p->r->bias[l - 1], y);
            continue;
        }
        multiply(p, p->points, net->layer[l - 1].in, in->a, in->ld, p->r->theta_t[l - 1],
                 p->r->bias[l - 1], y->n, y->z);
        size_t n = p->points * y->ld;
        net->kernel->activate(CLSI_ACTIVATION_TANH, n, y->z, y->a, y->s);
        for (size_t i = 0; i < 2 * p->pairs; i++) {
            size_t at = p->pair[i] * y->ld;
            p->loops->sides(y->n, y->z + at, y->a + at, y->s + at, y->k + at);
        }
    }
}

static void divide(pair_pass *p) {
    const clsi_network *net = p->r->net;
    for (size_t l = 1; l < net->n_layers; l++) {
        layer *y = &p->layer[l];
        for (size_t i = 0; i < p->pairs; i++) {
            const double *u = y->z + p->pair[2 * i] * y->ld, *w = y->z + p->pair[2 * i + 1] * y->ld;
            for (size_t j = 0; j < y->n; j++) y->c[i * y->ld + j] = u[j] - w[j];
        }
        net->kernel->activate(CLSI_ACTIVATION_TANH, p->pairs * y->ld, y->c, y->phi, y->L);
        for (size_t i = 0; i < p->pairs; i++) {
            size_t at = i * y->ld, u = p->pair[2 * i] * y->ld, w = p->pair[2 * i + 1] * y->ld;
            p->loops->quotients(y->n, y->c + at, y->z + u, y->z + w, y->s + u, y->s + w, y->k + u,
                                y->k + w, y->phi + at, y->L + at);
        }
    }
}

static void backward(pair_pass *p, double *gbar) {
    const clsi_network *net = p->r->net;
    for (size_t l = net->n_layers - 1; l > 0; l--) {
        layer *y = &p->layer[l];
        int top = l + 1 == net->n_layers;
        multiply(p, p->pairs, net->layer[l].out, top ? p->ones : p->layer[l + 1].delta,
                 top ? 1 : p->layer[l + 1].ld, p->r->theta[l], p->r->zero, y->n, y->c);
        p->loops->multiply(p->pairs * y->ld, y->phi, y->c, y->delta);
    }
    if (!gbar) return;
    size_t d = p->f->d, columns = padded(d);
    multiply(p, p->pairs, net->layer[0].out, p->layer[1].delta, p->layer[1].ld, p->r->theta[0],
             p->r->zero, columns, p->plain);
    for (size_t i = 0; i < p->pairs; i++)
        memcpy(gbar + p->number[i] * d, p->plain + i * columns, d * sizeof *gbar);
}

/* Pairs of one input that are far apart; the others are put together. */
static void sort_pairs(pair_pass *p, const double *x) {
    p->pairs = 0;
    for (size_t i = 0; i < p->all; i++) {
        size_t u = p->given[2 * i], w = p->given[2 * i + 1];
        double apart = p->f->d == 1 ? x[u] - x[w] : 0;
        p->inverse[i] = fabs(apart) >= FAR ? 1 / apart : 0;
        if (p->inverse[i] != 0) continue;
        p->pair[2 * p->pairs] = u;
        p->pair[2 * p->pairs + 1] = w;
        p->number[p->pairs++] = i;
    }
}

static void far_gradients(pair_pass *p, double *gbar) {
    const clsi_network *net = p->r->net;
    size_t top = net->n_layers - 1;
    if (p->pairs == p->all) return;
    net->kernel->dot(p->points, p->layer[top].n, p->layer[top].a, p->layer[top].ld,
                     p->r->theta[top], p->value);
    for (size_t i = 0; i < p->all; i++)
        if (p->inverse[i] != 0)
            gbar[i] = p->inverse[i] * (p->value[p->given[2 * i]] - p->value[p->given[2 * i + 1]]);
}

static void evaluate(double *pass, size_t points, const double *x, size_t n, const size_t *pair,
                     double *gbar) {
    pair_pass *p = (pair_pass *)pass;
    p->points = points;
    p->all = n;
    p->given = pair;
    sort_pairs(p, x);
    forward(p, x);
    if (p->pairs) divide(p);
    if (p->pairs) backward(p, gbar);
    if (gbar) far_gradients(p, gbar);
}

/* ---- passes 4 and 5 ---- */

static void tangent(pair_pass *p, const double *b) {
    const clsi_network *net = p->r->net;
    for (size_t i = 0; i < p->pairs; i++)
        take(1, p->f->d, b + p->number[i] * p->f->d, &p->layer[0],
             p->layer[0].adot + i * p->layer[0].ld);
    for (size_t l = 1; l < net->n_layers; l++) {
        layer *y = &p->layer[l], *in = &p->layer[l - 1];
        multiply(p, p->pairs, net->layer[l - 1].in, in->adot, in->ld, p->r->theta_t[l - 1],
                 p->r->zero, y->n, y->zdot);
        p->loops->multiply(p->pairs * y->ld, y->phi, y->zdot, y->adot);
    }
}

/* alpha: what far pairs give the values at their points. */
static void far_slopes(pair_pass *p, const double *b) {
    memset(p->alpha, 0, p->points * sizeof *p->alpha);
    for (size_t i = 0; i < p->all; i++) {
        if (p->inverse[i] == 0) continue;
        p->alpha[p->given[2 * i]] += b[i] * p->inverse[i];
        p->alpha[p->given[2 * i + 1]] -= b[i] * p->inverse[i];
    }
}

/* What the pairs of a layer give their points through phi. */
static void scatter(const pair_pass *p, layer *y) {
    for (size_t i = 0; i < p->pairs; i++) {
        size_t at = i * y->ld, u = p->pair[2 * i] * y->ld, w = p->pair[2 * i + 1] * y->ld;
        p->loops->scatter(y->n, y->adot + at, y->c + at, y->L + at, y->a + u, y->a + w, y->e + u,
                          y->e + w);
    }
}

static void adjoint(pair_pass *p) {
    const clsi_network *net = p->r->net;
    for (size_t l = net->n_layers - 1; l > 0; l--) {
        layer *y = &p->layer[l];
        int top = l + 1 == net->n_layers;
        multiply_into(p, CLSI_NETWORK_ADJOINT, net->layer[l].out,
                      top ? p->alpha : p->layer[l + 1].e, top ? 1 : p->layer[l + 1].ld,
                      p->r->theta[l], p->r->theta[l - 1], p->r->zero, y);
        scatter(p, y);
    }
}

static void differentiate(pair_pass *p, const double *b) {
    far_slopes(p, b);
    if (p->pairs) tangent(p, b);
    adjoint(p);
}

/* ---- pass 6 ---- */

/* Rows of e or delta, or of what the output has in their place (one number a row), and of a or
 * adot. */
static clsi_network_factors factors(size_t samples, const layer *z, const double *left,
                                    const layer *in, const double *right) {
    return (clsi_network_factors){.samples = samples,
                                  .left = left,
                                  .left_stride = z ? z->ld : 1,
                                  .right = right,
                                  .right_stride = in->ld};
}

static clsi_network_factors factors_of_pairs(const pair_pass *p, size_t l) {
    const layer *in = &p->layer[l], *z = l + 1 == p->r->net->n_layers ? NULL : &p->layer[l + 1];
    return factors(p->pairs, z, z ? z->delta : p->ones, in, in->adot);
}

static clsi_network_factors factors_of_points(const pair_pass *p, size_t l) {
    const layer *in = &p->layer[l], *z = l + 1 == p->r->net->n_layers ? NULL : &p->layer[l + 1];
    return factors(p->points, z, z ? z->e : p->alpha, in, in->a);
}

static void add(double *pass, const double *b) {
    pair_pass *p = (pair_pass *)pass;
    const clsi_network *net = p->r->net;
    differentiate(p, b);
    for (size_t l = 0; l < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        clsi_network_factors pairs = factors_of_pairs(p, l), points = factors_of_points(p, l);
        if (p->pairs) clsi_network_sum(p->r, l, p->r->fresh, &pairs);
        clsi_network_sum(p->r, l, p->r->fresh && !p->pairs, &points);
        if (l + 1 < net->n_layers)
            net->kernel->sum(p->points, padded(w->out), points.left, points.left_stride,
                             p->r->sum[l] + clsi_network_sum_size(w));
    }
    p->r->fresh = 0;
}

/* Row i of some factors, and with `biases` what they give these. */
static void add_row(const pair_pass *p, size_t l, clsi_network_factors f, size_t i, int biases,
                    double *row) {
    const clsi_network *net = p->r->net;
    const clsi_network_shape *w = &net->layer[l];
    f.left += i * f.left_stride;
    f.right += i * f.right_stride;
    net->kernel->row(w->out, w->in, &f, row + w->weight);
    for (size_t k = 0; biases && l + 1 < net->n_layers && k < w->out; k++)
        row[w->bias + k] += f.left[k];
}

static void point_row(const pair_pass *p, size_t i, double *row) {
    for (size_t l = 0; l < p->r->net->n_layers; l++)
        add_row(p, l, factors_of_points(p, l), i, 1, row);
}

static void pair_row(const pair_pass *p, size_t i, double *row) {
    for (size_t l = 0; l < p->r->net->n_layers; l++)
        add_row(p, l, factors_of_pairs(p, l), i, 0, row);
}

static void rows(double *pass, const double *b, double *const *to) {
    pair_pass *p = (pair_pass *)pass;
    double *owner[MOST] = {NULL};
    differentiate(p, b);
    for (size_t i = 0; i < p->pairs; i++)
        if (to[p->number[i]]) pair_row(p, i, to[p->number[i]]);
    for (size_t i = 0; i < p->all; i++)
        if (to[i]) owner[p->given[2 * i]] = owner[p->given[2 * i + 1]] = to[i];
    for (size_t i = 0; i < p->points; i++)
        if (owner[i]) point_row(p, i, owner[i]);
}

const clsi_field_pairs clsi_network_pairs = {.most = MOST,
                                             .missing = missing,
                                             .size = size,
                                             .open = open,
                                             .clear = clear,
                                             .near = near,
                                             .evaluate = evaluate,
                                             .add = add,
                                             .rows = rows,
                                             .close = give};
