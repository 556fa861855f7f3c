/* The optimisers' test problem, as in PERFORMANCE.md: a scalar network G(x) = w3 . tanh(W2 tanh(W1
 * x
 * + b1) + b2) of 4 inputs is fitted by its gradient, four residuals per sample. The Jacobian is
 * written by hand: tangent along one input, then back to the parameters. */
#ifndef TOY_NETWORK_H
#define TOY_NETWORK_H

#include "solve/problem.h"
#include <clausius/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOY_INPUTS = 4, TOY_WIDTH = 64 };

typedef struct toy_network {
    clsi_problem problem;
    size_t width, samples;
    double *x, *target; /* (samples, 4) */
    double *row;        /* (n_parameters) */
} toy_network;

/* dG/dx_k at x; its gradient in the parameters when J is not NULL. */
static double toy_row(const toy_network *t, const double *theta, const double *x, size_t k,
                      double *J) {
    size_t w = t->width, I = TOY_INPUTS;
    const double *W1 = theta, *b1 = W1 + w * I, *W2 = b1 + w, *b2 = W2 + w * w, *w3 = b2 + w;
    double a1[TOY_WIDTH], d1[TOY_WIDTH], a2[TOY_WIDTH], s2[TOY_WIDTH], z2[TOY_WIDTH], out = 0;
    for (size_t i = 0; i < w; i++) {
        double z = b1[i];
        for (size_t j = 0; j < I; j++) z += W1[i * I + j] * x[j];
        a1[i] = tanh(z);
        d1[i] = (1 - a1[i] * a1[i]) * W1[i * I + k];
    }
    for (size_t i = 0; i < w; i++) {
        double z = b2[i];
        z2[i] = 0;
        for (size_t j = 0; j < w; j++) {
            z += W2[i * w + j] * a1[j];
            z2[i] += W2[i * w + j] * d1[j];
        }
        a2[i] = tanh(z);
        s2[i] = 1 - a2[i] * a2[i];
        out += w3[i] * s2[i] * z2[i];
    }
    if (!J) return out;
    double *J1 = J, *j1 = J1 + w * I, *J2 = j1 + w, *j2 = J2 + w * w, *j3 = j2 + w;
    double back_d[TOY_WIDTH] = {0}, back_a[TOY_WIDTH] = {0};
    for (size_t i = 0; i < w; i++) {
        double zd = s2[i] * w3[i], z = -2 * a2[i] * s2[i] * w3[i] * z2[i];
        j3[i] = s2[i] * z2[i];
        j2[i] = z;
        for (size_t j = 0; j < w; j++) {
            J2[i * w + j] = zd * d1[j] + z * a1[j];
            back_d[j] += W2[i * w + j] * zd;
            back_a[j] += W2[i * w + j] * z;
        }
    }
    for (size_t i = 0; i < w; i++) {
        double s1 = 1 - a1[i] * a1[i];
        double z = s1 * (back_a[i] - 2 * a1[i] * back_d[i] * W1[i * I + k]);
        for (size_t j = 0; j < I; j++) J1[i * I + j] = z * x[j];
        J1[i * I + k] += s1 * back_d[i];
        j1[i] = z;
    }
    return out;
}

static cls_status toy_jacobian(clsi_problem *p, const double *theta, size_t count,
                               const size_t *rows, double *r, double *J) {
    toy_network *t = p->context;
    for (size_t i = 0; i < count; i++) {
        size_t row = rows ? rows[i] : i, s = row / TOY_INPUTS;
        r[i] = toy_row(t, theta, t->x + s * TOY_INPUTS, row % TOY_INPUTS,
                       J ? J + i * p->n_parameters : NULL) -
               t->target[row];
    }
    return CLS_OK;
}

static cls_status toy_residual(clsi_problem *p, const double *theta, size_t count,
                               const size_t *rows, double *r) {
    return toy_jacobian(p, theta, count, rows, r, NULL);
}

static cls_status toy_gradient(clsi_problem *p, const double *theta, size_t count,
                               const size_t *rows, double *loss, double *gradient) {
    toy_network *t = p->context;
    *loss = 0;
    memset(gradient, 0, p->n_parameters * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        double r;
        size_t row = rows ? rows[i] : i;
        (void)toy_jacobian(p, theta, 1, &row, &r, t->row);
        *loss += r * r / 2 / (double)count;
        for (size_t j = 0; j < p->n_parameters; j++) gradient[j] += r * t->row[j] / (double)count;
    }
    return CLS_OK;
}

/* G* = sin(x0 + x1/2) + x1^2 x2 / 2 + exp(x3/2) cos x2: smooth, no network. */
static void toy_target(const double *x, double *g) {
    g[0] = cos(x[0] + x[1] / 2);
    g[1] = cos(x[0] + x[1] / 2) / 2 + x[1] * x[2];
    g[2] = x[1] * x[1] / 2 - exp(x[3] / 2) * sin(x[2]);
    g[3] = exp(x[3] / 2) * cos(x[2]) / 2;
}

static void toy_create(toy_network *t, size_t width, size_t samples, uint64_t seed) {
    cls_random random;
    cls_random_seed(&random, seed);
    size_t n = width * TOY_INPUTS + width * width + 3 * width;
    *t = (toy_network){.width = width, .samples = samples};
    t->problem = (clsi_problem){.n_parameters = n,
                                .n_rows = samples * TOY_INPUTS,
                                .residual = toy_residual,
                                .jacobian = toy_jacobian,
                                .gradient = toy_gradient};
    t->problem.context = t;
    t->x = malloc(samples * TOY_INPUTS * sizeof(double));
    t->target = malloc(samples * TOY_INPUTS * sizeof(double));
    t->row = malloc(n * sizeof(double));
    for (size_t i = 0; i < samples; i++) {
        for (size_t j = 0; j < TOY_INPUTS; j++)
            t->x[i * TOY_INPUTS + j] = 2 * cls_random_uniform(&random) - 1;
        toy_target(t->x + i * TOY_INPUTS, t->target + i * TOY_INPUTS);
    }
}

/* Parameters of the size 1 / sqrt(inputs of the layer), the caller's. */
static double *toy_start(const toy_network *t, uint64_t seed) {
    cls_random random;
    cls_random_seed(&random, seed);
    size_t w = t->width, n = t->problem.n_parameters;
    double *theta = malloc(n * sizeof(double));
    for (size_t j = 0; j < n; j++) {
        double fan = j < w * (TOY_INPUTS + 1) ? TOY_INPUTS : (double)w;
        theta[j] = cls_random_normal(&random) / sqrt(fan);
    }
    return theta;
}

static void toy_free(toy_network *t) {
    free(t->x);
    free(t->target);
    free(t->row);
}

#endif
