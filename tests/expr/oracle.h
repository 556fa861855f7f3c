/* An independent evaluator of graphs for the tests of this room: it walks the nodes by the public
 * accessors and computes in complex long double, so that derivatives come from the complex step
 * f'(x) = Im f(x + ih)/h (Squire & Trapp 1998), free of cancellation. Shares no code with the
 * library. Difference quotients: order (1,1), and only where their arguments are well apart. */
#ifndef TESTS_EXPR_ORACLE_H
#define TESTS_EXPR_ORACLE_H

#include <clausius/graph.h>
#include <complex.h>
#ifndef CMPLXL /* clang with the C library of gcc */
#define CMPLXL(x, y) __builtin_complex((long double)(x), (long double)(y))
#endif
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long double complex oracle_number;
#define ORACLE_STEP 1e-30L

/* erf(z) = 2/sqrt(pi) exp(-z^2) sum 2^n z^(2n+1)/(2n+1)!!: no cancellation near the real axis. */
static inline oracle_number oracle_erf(oracle_number z) {
    oracle_number term = z, sum = 0;
    for (int n = 0; n < 200; n++) {
        sum += term;
        term *= 2 * z * z / (2 * n + 3);
    }
    return 1.128379167095512573896158903121545172L * cexpl(-z * z) * sum;
}

static inline oracle_number oracle_function(cls_function f, oracle_number z) {
    switch (f) {
    case CLS_FN_EXP: return cexpl(z);
    case CLS_FN_EXPM1: return cexpl(z) - 1;
    case CLS_FN_LOG: return clogl(z);
    case CLS_FN_LOG1P: return clogl(1 + z);
    case CLS_FN_SQRT: return csqrtl(z);
    case CLS_FN_SIN: return csinl(z);
    case CLS_FN_COS: return ccosl(z);
    case CLS_FN_TAN: return ctanl(z);
    case CLS_FN_ASIN: return casinl(z);
    case CLS_FN_ACOS: return cacosl(z);
    case CLS_FN_ATAN: return catanl(z);
    case CLS_FN_SINH: return csinhl(z);
    case CLS_FN_COSH: return ccoshl(z);
    case CLS_FN_TANH: return ctanhl(z);
    case CLS_FN_ASINH: return casinhl(z);
    case CLS_FN_ACOSH: return cacoshl(z);
    case CLS_FN_ATANH: return catanhl(z);
    case CLS_FN_SOFTPLUS: return clogl(1 + cexpl(z));
    case CLS_FN_SIGMOID: return 1 / (1 + cexpl(-z));
    case CLS_FN_ERF: return oracle_erf(z);
    default: return CMPLXL(NAN, NAN);
    }
}

/* Whole powers by multiplication, so that negative bases stay on the real axis. */
static inline oracle_number oracle_power(oracle_number z, oracle_number c) {
    long double e = creall(c);
    if (cimagl(c) != 0 || e != floorl(e) || fabsl(e) > 100) return cexpl(c * clogl(z));
    oracle_number product = 1;
    for (int k = 0; k < (int)fabsl(e); k++) product *= z;
    return e < 0 ? 1 / product : product;
}

/* Node k from its arguments' values. */
static inline oracle_number oracle_operation(const cls_graph *g, cls_node k,
                                             const oracle_number *x) {
    int i, j;
    switch (cls_node_op(g, k)) {
    case CLS_OP_CONSTANT: return cls_node_value(g, k);
    case CLS_OP_SYMBOL: break;
    case CLS_OP_ADD: return x[0] + x[1];
    case CLS_OP_SUB: return x[0] - x[1];
    case CLS_OP_MUL: return x[0] * x[1];
    case CLS_OP_DIV: return x[0] / x[1];
    case CLS_OP_NEG: return -x[0];
    case CLS_OP_POW: return oracle_power(x[0], x[1]);
    case CLS_OP_FUNCTION: return oracle_function(cls_node_function(g, k), x[0]);
    case CLS_OP_QUOTIENT:
        cls_node_orders(g, k, &i, &j);
        if (i != 1 || j != 1 || cabsl(x[0] - x[1]) <= 0.1L) return CMPLXL(NAN, NAN);
        if (cls_node_function(g, k) == CLS_FN_POWER)
            return (oracle_power(x[0], x[2]) - oracle_power(x[1], x[2])) / (x[0] - x[1]);
        return (oracle_function(cls_node_function(g, k), x[0]) -
                oracle_function(cls_node_function(g, k), x[1])) /
               (x[0] - x[1]);
    case CLS_OP_FIELD: break; /* tests/field/test_node.c */
    }
    return CMPLXL(NAN, NAN);
}

typedef struct oracle {
    const cls_graph *g;
    oracle_number *value; /* by node */
    long double *spread;  /* sum over all paths of |product of slopes| to the stepped symbol */
    unsigned char *known;
} oracle;

static inline void oracle_open(oracle *o, const cls_graph *g) {
    size_t n = cls_graph_size(g);
    *o = (oracle){g, calloc(n, sizeof *o->value), calloc(n, sizeof *o->spread), calloc(n, 1)};
}

static inline void oracle_close(oracle *o) {
    free(o->value);
    free(o->spread);
    free(o->known);
}

/* Symbols get x; number `stepped` (or none, if n) gets the imaginary step. */
static inline void oracle_set(oracle *o, size_t n, const cls_node *symbols, const double *x,
                              size_t stepped) {
    memset(o->known, 0, cls_graph_size(o->g));
    for (size_t i = 0; i < n; i++) {
        o->value[symbols[i]] = x[i] + (i == stepped ? ORACLE_STEP * I : 0);
        o->spread[symbols[i]] = i == stepped;
        o->known[symbols[i]] = 1;
    }
}

/* The slope of node k in argument i, by a complex step of that operation alone. */
static inline long double oracle_slope(const cls_graph *g, cls_node k, size_t i,
                                       const oracle_number *x) {
    oracle_number y[3] = {creall(x[0]), creall(x[1]), creall(x[2])};
    y[i] += ORACLE_STEP * I;
    return cimagl(oracle_operation(g, k, y)) / ORACLE_STEP;
}

static inline oracle_number oracle_value(oracle *o, cls_node k) {
    if (o->known[k]) return o->value[k];
    oracle_number x[3] = {0, 0, 0};
    size_t n = cls_node_arg_count(o->g, k);
    o->spread[k] = 0;
    for (size_t i = 0; i < n; i++) x[i] = oracle_value(o, cls_node_arg(o->g, k, i));
    for (size_t i = 0; i < n; i++) {
        long double inner = o->spread[cls_node_arg(o->g, k, i)];
        if (inner != 0) o->spread[k] += fabsl(oracle_slope(o->g, k, i, x)) * inner;
    }
    o->value[k] = oracle_operation(o->g, k, x);
    o->known[k] = 1;
    return o->value[k];
}

/* The derivative of `a` in symbol i at x; *spread is the size of the terms it is a sum of. */
static inline long double oracle_derivative(oracle *o, cls_node a, size_t n,
                                            const cls_node *symbols, const double *x, size_t i,
                                            long double *spread) {
    oracle_set(o, n, symbols, x, i);
    long double d = cimagl(oracle_value(o, a)) / ORACLE_STEP;
    *spread = o->spread[a];
    return d;
}

static inline long double oracle_real(oracle *o, cls_node a, size_t n, const cls_node *symbols,
                                      const double *x) {
    oracle_set(o, n, symbols, x, n);
    return creall(oracle_value(o, a));
}

/* The library's values of `count` nodes at x. */
static inline int library_values(const cls_graph *g, size_t count, const cls_node *nodes, size_t n,
                                 const cls_node *symbols, const double *x, double *out) {
    cls_program *p;
    if (cls_program_create(g, n, symbols, count, nodes, &p, NULL) != CLS_OK) return 0;
    double *work = malloc((cls_program_work_size(p) + 1) * sizeof *work);
    if (work) {
        cls_program_prepare(p, work);
        cls_program_run(p, work, x, out);
    }
    free(work);
    cls_program_free(&p);
    return work != NULL;
}

#endif
