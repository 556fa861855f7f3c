/* The network of one sample by plain loops and libm: the definition, neuron by neuron, that the
 * blocked passes of network.c are tested against. It shares nothing with them but the shape.
 * It costs as many operations and about twenty times the time. */
#ifndef CLAUSIUS_TESTS_NETWORK_NAIVE_H
#define CLAUSIUS_TESTS_NETWORK_NAIVE_H

#include "field/network_kernels.h"
#include <math.h>
#include <string.h>

enum { WIDTH = CLSI_NETWORK_MAX_WIDTH, LAYERS = CLSI_FIELD_MAX_LAYERS + 2 };

/* f, f', f'' */
static void activation(clsi_activation kind, double z, double f[3]) {
    switch (kind) {
    case CLSI_ACTIVATION_SOFTPLUS:
        f[0] = fmax(z, 0) + log1p(exp(-fabs(z)));
        f[1] = 1 / (1 + exp(-z));
        f[2] = f[1] / (1 + exp(z));
        break;
    case CLSI_ACTIVATION_SIN:
        f[0] = sin(z);
        f[1] = cos(z);
        f[2] = -f[0];
        break;
    default:
        f[0] = tanh(z);
        f[1] = 1 / (cosh(z) * cosh(z));
        f[2] = -2 * f[0] * f[1];
    }
}

typedef struct sample {
    double a[LAYERS][WIDTH], adot[LAYERS][WIDTH], s[LAYERS][WIDTH], c[LAYERS][WIDTH];
    double zdot[LAYERS][WIDTH];
    double g[LAYERS][WIDTH]; /* dphi/da */
    double h[LAYERS][WIDTH]; /* dF/da */
} sample;

static void forward(const clsi_network *net, const double *theta, sample *q) {
    for (size_t l = 0; l < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        int last = l + 1 == net->n_layers;
        for (size_t i = 0; i < w->out; i++) {
            double z = last ? 0 : theta[w->bias + i], zdot = 0, f[3];
            for (size_t j = 0; j < w->in; j++) {
                z += theta[w->weight + i * w->in + j] * q->a[l][j];
                zdot += theta[w->weight + i * w->in + j] * q->adot[l][j];
            }
            activation(net->activation, z, f);
            q->a[l + 1][i] = last ? z : f[0];
            q->s[l + 1][i] = last ? 1 : f[1];
            q->c[l + 1][i] = last ? 0 : f[2];
            q->zdot[l + 1][i] = zdot;
            q->adot[l + 1][i] = q->s[l + 1][i] * zdot;
        }
    }
}

/* From layer l + 1 to l; adds to the row on the way. */
static void backward(const clsi_network *net, const double *theta, size_t l, sample *q,
                     double *row) {
    const clsi_network_shape *w = &net->layer[l];
    memset(q->g[l], 0, sizeof q->g[l]);
    memset(q->h[l], 0, sizeof q->h[l]);
    for (size_t i = 0; i < w->out; i++) {
        double delta = q->s[l + 1][i] * q->g[l + 1][i];
        double e =
            q->s[l + 1][i] * q->h[l + 1][i] + q->c[l + 1][i] * q->zdot[l + 1][i] * q->g[l + 1][i];
        for (size_t j = 0; j < w->in; j++) {
            size_t k = w->weight + i * w->in + j;
            q->g[l][j] += theta[k] * delta;
            q->h[l][j] += theta[k] * e;
            if (row) row[k] += e * q->a[l][j] + delta * q->adot[l][j];
        }
        if (row && l + 1 < net->n_layers) row[w->bias + i] += e;
    }
}

/* value (1), gradient (d), row (n_parameters) += alpha dvalue/dtheta + sum_j beta_j dgradient_j/dtheta; any
 * of the outputs may be NULL. */
static void network_naive(const clsi_field *f, const double *theta, const double *x, double alpha,
                          const double *beta, double *value, double *gradient, double *row) {
    const clsi_network *net = f->data;
    size_t top = net->n_layers;
    sample q;
    memcpy(q.a[0], x, f->d * sizeof *x);
    memset(q.adot[0], 0, sizeof q.adot[0]);
    if (beta) memcpy(q.adot[0], beta, f->d * sizeof *x);
    forward(net, theta, &q);
    q.g[top][0] = 1;
    q.h[top][0] = alpha;
    for (size_t l = top; l-- > 0;) backward(net, theta, l, &q, row);
    if (value) *value = q.a[top][0];
    if (gradient) memcpy(gradient, q.g[0], f->d * sizeof *x);
}

#endif
