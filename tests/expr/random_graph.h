/* Random expressions for the tests of this room.
 *
 * Two kinds. The wild ones (random_pool) know no domain: numbers from 5e-324 to 3e20, logarithms of
 * anything; they try the writing and reading of formulas. The tame ones (tame_expression) are
 * built together with their values at a set of points, and every operation is kept inside its
 * domain there, so that laws can be tested to round-off. */
#ifndef TESTS_EXPR_RANDOM_GRAPH_H
#define TESTS_EXPR_RANDOM_GRAPH_H

#include <clausius/graph.h>
#include <clausius/random.h>
#include <math.h>
#include <stdlib.h>

static inline size_t random_below(cls_random *r, size_t n) {
    return (size_t)(cls_random_next(r) % n);
}

/* ---- wild ---- */

static inline double random_constant(cls_random *r) {
    static const double plain[] = {0, 1, -1, 2, 3, -2, 0.5, -0.5, 10, 1e-5, -3e20, 1.0 / 3, 5e-324};
    size_t k = random_below(r, 20);
    return k < sizeof plain / sizeof *plain ? plain[k] : cls_random_normal(r);
}

static inline double random_exponent(cls_random *r) {
    static const double exponents[] = {2, 3, -1, -7, 0.5, 1.4, -2.5, 7, 70};
    return exponents[random_below(r, sizeof exponents / sizeof *exponents)];
}

static inline cls_node random_quotient(cls_graph *g, cls_random *r, cls_node a, cls_node b) {
    int i = 1 + (int)random_below(r, 3), j = 1 + (int)random_below(r, 3);
    cls_function f = (cls_function)random_below(r, CLS_FN_COUNT);
    return a == b ? a : cls_quotient(g, f, i, j, a, b, random_exponent(r));
}

/* The last of the operations is the quotient, which has no discrete gradient. */
static inline cls_node random_node(cls_graph *g, cls_random *r, cls_node a, cls_node b,
                                   int quotients) {
    switch (random_below(r, quotients ? 14 : 13)) {
    case 0:
    case 1: return cls_add(g, a, b);
    case 2:
    case 3: return cls_sub(g, a, b);
    case 4:
    case 5: return cls_mul(g, a, b);
    case 6: return cls_div(g, a, b);
    case 7: return cls_neg(g, a);
    case 8: return cls_pow(g, a, b);
    case 9: return cls_pow(g, a, cls_constant(g, random_constant(r)));
    case 10: return cls_pow(g, a, cls_constant(g, random_exponent(r)));
    case 11: return cls_pow(g, cls_constant(g, 2), a);
    case 12: return cls_apply(g, (cls_function)random_below(r, CLS_FN_POWER), a);
    default: return random_quotient(g, r, a, b);
    }
}

/* Whether all numbers in it can be typed. */
static inline int has_finite_numbers(const cls_graph *g, cls_node a) {
    if (cls_node_op(g, a) == CLS_OP_CONSTANT) return isfinite(cls_node_value(g, a));
    for (size_t k = 0; k < cls_node_arg_count(g, a); k++)
        if (!has_finite_numbers(g, cls_node_arg(g, a, k))) return 0;
    return 1;
}

/* A pool that begins with n symbols and 4 numbers and grows by combining its members up to `size`.
 * Members used once more at most now and then, so that texts stay readable. */
static inline void random_pool(cls_graph *g, cls_random *r, size_t n_symbols,
                               const cls_node *symbols, size_t size, cls_node *pool,
                               int quotients) {
    size_t n = 0;
    for (size_t k = 0; k < n_symbols; k++) pool[n++] = symbols[k];
    for (size_t k = 0; k < 4; k++) pool[n++] = cls_constant(g, random_constant(r));
    while (n < size) {
        cls_node a = pool[n - 1 - random_below(r, n < 6 ? n : 6)], b = pool[random_below(r, n)];
        int swap = (int)random_below(r, 2);
        cls_node c = random_node(g, r, swap ? b : a, swap ? a : b, quotients);
        pool[n++] = c != CLS_NO_NODE && has_finite_numbers(g, c) ? c : symbols[0];
    }
}

/* ---- tame ---- */

enum { TAME_POINTS = 8, TAME_POOL = 24, TAME_DIM = 4 };

/* An expression with its values at the points. */
typedef struct tame {
    cls_node node;
    double v[TAME_POINTS];
} tame;

typedef struct tame_maker {
    cls_graph *g;
    cls_random *r;
    size_t points;
} tame_maker;

static inline tame tame_constant(const tame_maker *m, double c) {
    tame t = {.node = cls_constant(m->g, c)};
    for (size_t p = 0; p < m->points; p++) t.v[p] = c;
    return t;
}

/* op is one of + - * / ^ */
static inline tame tame_binary(const tame_maker *m, char op, const tame *a, const tame *b) {
    tame t = {.node = op == '+'   ? cls_add(m->g, a->node, b->node)
                      : op == '-' ? cls_sub(m->g, a->node, b->node)
                      : op == '*' ? cls_mul(m->g, a->node, b->node)
                      : op == '/' ? cls_div(m->g, a->node, b->node)
                                  : cls_pow(m->g, a->node, b->node)};
    for (size_t p = 0; p < m->points; p++) {
        double x = a->v[p], y = b->v[p];
        t.v[p] = op == '+'   ? x + y
                 : op == '-' ? x - y
                 : op == '*' ? x * y
                 : op == '/' ? x / y
                             : pow(x, y);
    }
    return t;
}

static inline double tame_function_value(cls_function f, double x) {
    switch (f) {
    case CLS_FN_EXP: return exp(x);
    case CLS_FN_EXPM1: return expm1(x);
    case CLS_FN_LOG: return log(x);
    case CLS_FN_LOG1P: return log1p(x);
    case CLS_FN_SQRT: return sqrt(x);
    case CLS_FN_SIN: return sin(x);
    case CLS_FN_COS: return cos(x);
    case CLS_FN_TAN: return tan(x);
    case CLS_FN_ASIN: return asin(x);
    case CLS_FN_ACOS: return acos(x);
    case CLS_FN_ATAN: return atan(x);
    case CLS_FN_SINH: return sinh(x);
    case CLS_FN_COSH: return cosh(x);
    case CLS_FN_TANH: return tanh(x);
    case CLS_FN_ASINH: return asinh(x);
    case CLS_FN_ACOSH: return acosh(x);
    case CLS_FN_ATANH: return atanh(x);
    case CLS_FN_SOFTPLUS: return log1p(exp(x));
    case CLS_FN_SIGMOID: return 1 / (1 + exp(-x));
    case CLS_FN_ERF: return erf(x);
    default: return NAN;
    }
}

static inline tame tame_function(const tame_maker *m, cls_function f, const tame *a) {
    tame t = {.node = cls_apply(m->g, f, a->node)};
    for (size_t p = 0; p < m->points; p++) t.v[p] = tame_function_value(f, a->v[p]);
    return t;
}

/* Where a function is well away from its singularities and not steep. */
static inline void tame_domain(cls_function f, double *low, double *high) {
    *low = -10;
    *high = 10;
    switch (f) {
    case CLS_FN_LOG:
    case CLS_FN_SQRT: *low = 0.2; break;
    case CLS_FN_LOG1P: *low = -0.8; break;
    case CLS_FN_ACOSH: *low = 1.2; break;
    case CLS_FN_TAN: *low = -(*high = 1.2); break;
    case CLS_FN_ASIN:
    case CLS_FN_ACOS:
    case CLS_FN_ATANH: *low = -(*high = 0.8); break;
    case CLS_FN_EXP:
    case CLS_FN_EXPM1:
    case CLS_FN_SINH:
    case CLS_FN_COSH:
    case CLS_FN_ERF: *low = -(*high = 3); break;
    default: break;
    }
}

static inline int tame_within(const tame_maker *m, const tame *a, double low, double high) {
    for (size_t p = 0; p < m->points; p++)
        if (!(a->v[p] >= low && a->v[p] <= high)) return 0;
    return 1;
}

/* `a` if its values are within [low, high], else a function of it that is: 1.3 + sin(a)^2 or
 * 0.7*sin(a). */
static inline tame tame_into(const tame_maker *m, const tame *a, double low, double high) {
    if (tame_within(m, a, low, high)) return *a;
    tame s = tame_function(m, CLS_FN_SIN, a), c = tame_constant(m, low > 0 ? 1.3 : 0.7);
    if (low <= 0) return tame_binary(m, '*', &c, &s);
    tame two = tame_constant(m, 2), square = tame_binary(m, '^', &s, &two);
    return tame_binary(m, '+', &square, &c);
}

static inline tame tame_apply(const tame_maker *m, cls_function f, const tame *a) {
    double low, high;
    tame_domain(f, &low, &high);
    tame inside = tame_into(m, a, low, high);
    return tame_function(m, f, &inside);
}

static inline tame tame_power(const tame_maker *m, const tame *a, double c) {
    int whole = c == floor(c);
    tame exponent = tame_constant(m, c), base = *a;
    if (!whole || c < 0) {
        tame negative = tame_within(m, a, -10, -0.2) && whole ? *a : tame_into(m, a, 0.2, 10);
        base = negative;
    }
    return tame_binary(m, '^', &base, &exponent);
}

static inline tame tame_step(const tame_maker *m, const tame *a, const tame *b) {
    static const double exponents[] = {2, 3, 4, 5, -1, -2, -3, 0.5, 1.4, 2.0 / 3, -0.5, -2.5};
    switch (random_below(m->r, 11)) {
    case 0: return tame_binary(m, '+', a, b);
    case 1: return tame_binary(m, '-', a, b);
    case 2:
    case 3: return tame_binary(m, '*', a, b);
    case 4: {
        tame d = tame_within(m, b, -10, -0.2) ? *b : tame_into(m, b, 0.2, 10);
        return tame_binary(m, '/', a, &d);
    }
    case 5: {
        tame base = tame_into(m, a, 0.2, 10), exponent = tame_into(m, b, -3, 3);
        return tame_binary(m, '^', &base, &exponent);
    }
    case 6: return tame_power(m, a, exponents[random_below(m->r, 12)]);
    case 7: {
        tame zero = tame_constant(m, 0);
        return tame_binary(m, '-', &zero, a);
    }
    default: return tame_apply(m, (cls_function)random_below(m->r, CLS_FN_POWER), a);
    }
}

/* A random expression of `steps` operations in dim symbols; x[p*dim + i] is coordinate i of point
 * p. Values of all parts at the points are within 10, arguments inside tame_domain. */
static inline cls_node tame_expression(cls_graph *g, cls_random *r, size_t dim,
                                       const cls_node *symbols, size_t points, const double *x,
                                       size_t steps) {
    static const double constants[] = {0.5, -1.5, 2, 3, 0.3};
    tame_maker m = {g, r, points};
    tame pool[TAME_POOL];
    size_t n = 0, first = dim + 2;
    for (size_t i = 0; i < dim; i++, n++) {
        pool[n].node = symbols[i];
        for (size_t p = 0; p < points; p++) pool[n].v[p] = x[p * dim + i];
    }
    for (; n < first; n++) pool[n] = tame_constant(&m, constants[random_below(r, 5)]);
    for (size_t tries = 0; n < first + steps && n < TAME_POOL && tries < 1000; tries++) {
        size_t recent = n - first < 3 ? n : 3;
        const tame *a = &pool[n - 1 - random_below(r, recent)], *b = &pool[random_below(r, n)];
        int swap = (int)random_below(r, 2);
        tame t = tame_step(&m, swap ? b : a, swap ? a : b);
        if (tame_within(&m, &t, -10, 10) && cls_depends(g, t.node, dim, symbols)) pool[n++] = t;
    }
    return pool[n - 1].node;
}

#endif
