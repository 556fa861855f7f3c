/* The words of the expression language: the elementary functions, the functions composed of them,
 * and the words that are refused with advice.
 *
 * Compositions exist only while parsing; the graph sees what they are made of. All are smooth where
 * they are defined, because every formula is differentiated: the language has softabs, softmax and
 * softmin (rounded over a width eps) and no abs, max, min. cbrt is x^(1/3), for x > 0. */
#include "expr/vocabulary.h"
#include <math.h>
#include <string.h>

static cls_node square(cls_graph *g, cls_node x) {
    return cls_pow(g, x, cls_constant(g, 2));
}

static cls_node build_norm(cls_graph *g, size_t n, const cls_node *x) {
    cls_node sum = square(g, x[0]);
    for (size_t k = 1; k < n; k++) sum = cls_add(g, sum, square(g, x[k]));
    return cls_apply(g, CLS_FN_SQRT, sum);
}

/* (a + b + s sqrt((a-b)^2 + eps^2))/2: s = 1 the soft maximum, s = -1 the soft minimum. */
static cls_node soft_extreme(cls_graph *g, const cls_node *x, double s) {
    cls_node gap[2] = {cls_sub(g, x[0], x[1]), x[2]};
    cls_node root = build_norm(g, 2, gap), sum = cls_add(g, x[0], x[1]);
    return cls_div(g, s > 0 ? cls_add(g, sum, root) : cls_sub(g, sum, root), cls_constant(g, 2));
}

static cls_node build_softmax(cls_graph *g, size_t n, const cls_node *x) {
    (void)n;
    return soft_extreme(g, x, 1);
}

static cls_node build_softmin(cls_graph *g, size_t n, const cls_node *x) {
    (void)n;
    return soft_extreme(g, x, -1);
}

/* Half the angle has tangent y/(r + x): smooth everywhere but on the negative x axis. */
static cls_node build_atan2(cls_graph *g, size_t n, const cls_node *x) {
    cls_node tangent = cls_div(g, x[0], cls_add(g, build_norm(g, n, x), x[1]));
    return cls_mul(g, cls_constant(g, 2), cls_apply(g, CLS_FN_ATAN, tangent));
}

static cls_node build_log(cls_graph *g, size_t n, const cls_node *x) {
    (void)n;
    return cls_apply(g, CLS_FN_LOG, x[0]);
}

static cls_node build_log10(cls_graph *g, size_t n, const cls_node *x) {
    return cls_div(g, build_log(g, n, x), cls_constant(g, log(10)));
}

static cls_node build_log2(cls_graph *g, size_t n, const cls_node *x) {
    return cls_div(g, build_log(g, n, x), cls_constant(g, log(2)));
}

static cls_node build_cbrt(cls_graph *g, size_t n, const cls_node *x) {
    (void)n;
    return cls_pow(g, x[0], cls_constant(g, 1.0 / 3));
}

static cls_node build_sq(cls_graph *g, size_t n, const cls_node *x) {
    (void)n;
    return square(g, x[0]);
}

static const clsi_composition compositions[] = {
    {"softabs", 2, 2, build_norm, "softabs(x, eps)"},
    {"softmax", 3, 3, build_softmax, "softmax(a, b, eps)"},
    {"softmin", 3, 3, build_softmin, "softmin(a, b, eps)"},
    {"norm", 1, SIZE_MAX, build_norm, "norm(a, b, ...)"},
    {"hypot", 2, 2, build_norm, "hypot(a, b)"},
    {"atan2", 2, 2, build_atan2, "atan2(y, x)"},
    {"ln", 1, 1, build_log, "ln(x)"},
    {"log10", 1, 1, build_log10, "log10(x)"},
    {"log2", 1, 1, build_log2, "log2(x)"},
    {"cbrt", 1, 1, build_cbrt, "cbrt(x)"},
    {"sq", 1, 1, build_sq, "sq(x)"},
};
enum { COMPOSITIONS = sizeof compositions / sizeof *compositions };

/* Names that are not in the language, and what to write. */
static const char *const advice[][2] = {
    {"abs", "not smooth; write softabs(x, eps)"},
    {"fabs", "not smooth; write softabs(x, eps)"},
    {"sign", "not smooth; write tanh(x/eps)"},
    {"sgn", "not smooth; write tanh(x/eps)"},
    {"min", "not smooth but of numbers and in indices; write softmin(a, b, eps)"},
    {"max", "not smooth but of numbers and in indices; write softmax(a, b, eps)"},
    {"floor", "not smooth; write a sum of steps sigmoid((x - x0)/eps)"},
    {"ceil", "not smooth; write a sum of steps sigmoid((x - x0)/eps)"},
    {"round", "not smooth; write a sum of steps sigmoid((x - x0)/eps)"},
    {"step", "not smooth; write sigmoid(x/eps)"},
    {"heaviside", "not smooth; write sigmoid(x/eps)"},
    {"mod",
     "known of numbers, mod(i, 2), and in indices, u[1 + mod(i, N)]; of parameters and variables "
     "it is not smooth: write sin or cos of 2*pi*x/period"},
    {"fmod", "not smooth; write sin or cos of 2*pi*x/period"},
    {"pow", "not a function; write a^b"},
    {"e", "not a constant; write exp(1)"},
};

int clsi_word_is(const char *name, const char *s, size_t n) {
    return strncmp(name, s, n) == 0 && !name[n];
}

const char *clsi_advice_for(const char *s, size_t n) {
    for (size_t k = 0; k < sizeof advice / sizeof *advice; k++)
        if (clsi_word_is(advice[k][0], s, n)) return advice[k][1];
    return NULL;
}

const clsi_composition *clsi_find_composition(const char *s, size_t n) {
    for (size_t k = 0; k < COMPOSITIONS; k++)
        if (clsi_word_is(compositions[k].name, s, n)) return &compositions[k];
    return NULL;
}

cls_function clsi_find_function(const char *s, size_t n) {
    int f = 0;
    while (f < CLS_FN_COUNT && !clsi_word_is(cls_function_name((cls_function)f), s, n)) f++;
    return (cls_function)f;
}

int clsi_is_function(const char *s, size_t n) {
    return clsi_find_function(s, n) < CLS_FN_POWER || clsi_find_composition(s, n) ||
           clsi_word_is("quotient", s, n);
}

const char *clsi_function_word(size_t k) {
    if (k < CLS_FN_POWER) return cls_function_name((cls_function)k);
    return k < CLS_FN_POWER + COMPOSITIONS ? compositions[k - CLS_FN_POWER].name : NULL;
}
