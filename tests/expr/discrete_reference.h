/* An independent discrete gradient (ADD; discrete-gradient.md; Deep DTLM, section 3) in long double
 * for the tests. It has its own difference quotients: plain ones when far, three-point Gauss
 * quadrature of the complex-step derivative when near. It also gives the size of the terms, to
 * which round-off is proportional. */
#ifndef TESTS_EXPR_DISCRETE_REFERENCE_H
#define TESTS_EXPR_DISCRETE_REFERENCE_H

#include "tests/expr/oracle.h"

enum { REFERENCE_DIM = 6 };

static inline oracle_number shape(cls_function f, oracle_number z, long double c) {
    return f == CLS_FN_POWER ? oracle_power(z, c) : oracle_function(f, z);
}

static inline long double reference_quotient(cls_function f, long double a, long double b,
                                             long double c) {
    if (fabsl(a - b) > 3e-3L) return (creall(shape(f, a, c)) - creall(shape(f, b, c))) / (a - b);
    static const long double node[3] = {-0.774596669241483377035853079956479922L, 0,
                                        0.774596669241483377035853079956479922L};
    static const long double weight[3] = {5.0L / 18, 8.0L / 18, 5.0L / 18};
    long double sum = 0;
    for (int k = 0; k < 3; k++) {
        long double x = 0.5L * (a + b) + 0.5L * (a - b) * node[k];
        sum += weight[k] * cimagl(shape(f, x + ORACLE_STEP * I, c)) / ORACLE_STEP;
    }
    return sum;
}

static inline void reference_slopes(const cls_graph *g, cls_node k, const long double *u,
                                    const long double *w, long double *out) {
    long double mean0 = (u[0] + w[0]) / 2, mean1 = (u[1] + w[1]) / 2;
    out[0] = 1;
    out[1] = 1;
    switch (cls_node_op(g, k)) {
    case CLS_OP_SUB: out[1] = -1; break;
    case CLS_OP_NEG: out[0] = -1; break;
    case CLS_OP_MUL:
        out[0] = mean1;
        out[1] = mean0;
        break;
    case CLS_OP_DIV:
        out[0] = mean1 / (u[1] * w[1]);
        out[1] = -mean0 / (u[1] * w[1]);
        break;
    case CLS_OP_POW:
        if (cls_node_op(g, cls_node_arg(g, k, 1)) == CLS_OP_CONSTANT) {
            out[0] = reference_quotient(CLS_FN_POWER, u[0], w[0], u[1]);
            out[1] = 0;
            break;
        }
        out[1] = reference_quotient(CLS_FN_EXP, u[1] * logl(u[0]), w[1] * logl(w[0]), 0);
        out[0] = out[1] * mean1 * reference_quotient(CLS_FN_LOG, u[0], w[0], 0);
        out[1] *= (logl(u[0]) + logl(w[0])) / 2;
        break;
    case CLS_OP_FUNCTION:
        out[0] = reference_quotient(cls_node_function(g, k), u[0], w[0], 0);
        break;
    default: break;
    }
}

typedef struct reference {
    long double gbar[REFERENCE_DIM],
        size[REFERENCE_DIM]; /* size: the same sum with absolute values */
    long double terms;       /* sum over all nodes of |adjoint| (|value(u)| + |value(w)|) */
} reference;

/* Nodes come after their arguments, so that the reverse walk is a loop. */
static inline reference reference_gradient(const cls_graph *g, size_t n_symbols,
                                           const cls_node *symbols, cls_node a, const double *u,
                                           const double *w) {
    reference ref = {.terms = 0};
    oracle ou, ow;
    long double *adjoint = calloc((size_t)a + 1, sizeof *adjoint);
    long double *size = calloc((size_t)a + 1, sizeof *size);
    oracle_open(&ou, g);
    oracle_open(&ow, g);
    oracle_set(&ou, n_symbols, symbols, u, n_symbols);
    oracle_set(&ow, n_symbols, symbols, w, n_symbols);
    if (!adjoint || !size) abort();
    adjoint[a] = size[a] = 1;
    for (size_t k = (size_t)a + 1; k-- > 0;) {
        if (size[k] == 0) continue;
        long double xu[3] = {0}, xw[3] = {0}, slope[3];
        size_t n = cls_node_arg_count(g, (cls_node)k);
        for (size_t i = 0; i < n; i++) {
            xu[i] = creall(oracle_value(&ou, cls_node_arg(g, (cls_node)k, i)));
            xw[i] = creall(oracle_value(&ow, cls_node_arg(g, (cls_node)k, i)));
        }
        ref.terms += size[k] * (fabsl(creall(oracle_value(&ou, (cls_node)k))) +
                                fabsl(creall(oracle_value(&ow, (cls_node)k))));
        reference_slopes(g, (cls_node)k, xu, xw, slope);
        for (size_t i = 0; i < n; i++) {
            cls_node arg = cls_node_arg(g, (cls_node)k, i);
            adjoint[arg] += adjoint[k] * slope[i];
            size[arg] += size[k] * fabsl(slope[i]);
        }
    }
    for (size_t i = 0; i < n_symbols; i++) {
        ref.gbar[i] = symbols[i] <= a ? adjoint[symbols[i]] : 0;
        ref.size[i] = symbols[i] <= a ? size[symbols[i]] : 0;
    }
    oracle_close(&ou);
    oracle_close(&ow);
    free(adjoint);
    free(size);
    return ref;
}

#endif
