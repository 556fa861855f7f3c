/* Building expressions: constants, symbols and operations, with the simplifications made meanwhile.
 *
 * Simplifications here are local and never change how a formula is written in the large (constants
 * are folded, neutral elements removed, signs pulled out), because the discrete gradient of a formula
 * depends on its writing. Collecting terms is cls_simplify's business. */
#include "expr/graph.h"
#include "base/base.h"
#include "base/misuse.h"
#include "base/probe.h"
#include "expr/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_constant(const cls_graph *g, cls_node a) {
    return g->nodes[a].op == CLS_OP_CONSTANT;
}

static int is_op(const cls_graph *g, cls_node a, cls_op op) {
    return g->nodes[a].op == op;
}

static cls_node make(cls_graph *g, cls_op op, cls_node a, cls_node b) {
    clsi_node key = {.op = (uint8_t)op, .arg = {a, b, CLS_NO_NODE}};
    return clsi_intern(g, &key);
}

/* ---- constants and symbols ---- */

static cls_node *common_place(cls_graph *g, double value) {
    return value == 0     ? &g->common[0]
           : value == 1   ? &g->common[1]
           : value == -1  ? &g->common[2]
           : value == 0.5 ? &g->common[3]
                          : NULL;
}

static cls_node *recent_place(cls_graph *g, double value) {
    enum { BITS = 6 };
    _Static_assert(sizeof g->recent == sizeof(cls_node) << BITS, "one place for each hash");
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return &g->recent[bits * 0x9e3779b97f4a7c15u >> (64 - BITS)];
}

cls_node cls_constant(cls_graph *g, double value) {
    if (!g) return CLS_NO_NODE;
    cls_node *common = common_place(g, value);
    if (!common) common = recent_place(g, value);
    if (*common && clsi_value(&g->nodes[*common - 1]) == value) return *common - 1;
    /* One zero: -0.0 would print as "-0" and make x + (-0) differ from x + 0 for no one's use. */
    if (value == 0) value = 0;
    clsi_node key = {.op = CLS_OP_CONSTANT, .arg = {CLS_NO_NODE}};
    memcpy(&key.arg[1], &value, sizeof value);
    cls_node made = clsi_intern(g, &key);
    if (made != CLS_NO_NODE) *common = made + 1;
    return made;
}

/* Room for one more name in the table, which is at most half full. */
static int grow_names(cls_graph *g) {
    if (2 * (g->n_names + 1) <= g->name_slots) return 1;
    size_t slots = g->name_slots ? 2 * g->name_slots : 64;
    uint32_t *table = clsi_calloc(slots, sizeof *table);
    if (!table) return 0;
    for (size_t k = 0; k < g->n_names; k++) {
        clsi_probe at = clsi_probe_name(g->names[k], strlen(g->names[k]), slots);
        while (table[at.slot]) clsi_probe_next(&at);
        table[at.slot] = (uint32_t)k + 1;
    }
    free(g->name_table);
    g->name_table = table;
    g->name_slots = slots;
    return 1;
}

static cls_node symbol(cls_graph *g, const char *name, uint8_t learned) {
    clsi_node key = {
        .op = CLS_OP_SYMBOL, .i = learned, .arg = {CLS_NO_NODE, CLS_NO_NODE, CLS_NO_NODE}};
    size_t element, stem, length = strlen(name);
    const clsi_symbol_block *b =
        learned ? NULL : clsi_block_by_name(g, name, length, &element, &stem);
    if (b) return b->first + (cls_node)(element * b->stems + stem);
    if (!grow_names(g)) return clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    clsi_probe at = clsi_probe_name(name, length, g->name_slots);
    for (; g->name_table[at.slot]; clsi_probe_next(&at)) {
        if (strcmp(g->names[g->name_table[at.slot] - 1], name) != 0) continue;
        key.arg[0] = g->name_table[at.slot] - 1;
        return clsi_intern(g, &key);
    }
    char *copy = clsi_strdup(name);
    if (!copy || !clsi_grow(&g->names, &g->names_capacity, g->n_names + 1, sizeof *g->names)) {
        free(copy);
        return clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    }
    key.arg[0] = (cls_node)g->n_names;
    g->names[g->n_names++] = copy;
    g->name_table[at.slot] = (uint32_t)g->n_names;
    return clsi_intern(g, &key);
}

cls_node cls_symbol(cls_graph *g, const char *name) {
    if (!g) return CLS_NO_NODE;
    if (!name) return CLS_NO_NODE;
    return symbol(g, name, 0);
}

cls_node clsi_parameter_symbol(cls_graph *g, const char *name) {
    return symbol(g, name, 1);
}

cls_node cls_fresh_symbol(cls_graph *g, const char *stem) {
    if (!g) return CLS_NO_NODE;
    char name[128];
    snprintf(name, sizeof name, "%.100s'%u", stem, ++g->fresh); /* ' cannot be typed by a user */
    return cls_symbol(g, name);
}

/* Whatever is no node of the graph: CLS_NO_NODE, and what was never set after a failure. */
#define NONE(a)     ((a) >= g->n)
#define NONE2(a, b) (NONE(a) || NONE(b))

/* ---- operations ---- */

cls_node cls_neg(cls_graph *g, cls_node a) {
    if (!g) return CLS_NO_NODE;
    if (NONE(a)) return CLS_NO_NODE;
    const clsi_node *n = &g->nodes[a];
    if (n->op == CLS_OP_CONSTANT) return cls_constant(g, -clsi_value(n));
    if (n->op == CLS_OP_NEG) return n->arg[0];
    if (n->op == CLS_OP_SUB) return cls_sub(g, n->arg[1], n->arg[0]);
    if (n->op == CLS_OP_MUL && is_constant(g, n->arg[0]))
        return cls_mul(g, cls_constant(g, -clsi_value(&g->nodes[n->arg[0]])), g->nodes[a].arg[1]);
    return make(g, CLS_OP_NEG, a, CLS_NO_NODE);
}

/* 1 when `a` carries a minus sign that a sum can take over: -x, -3, -3*x. */
static int is_negative(const cls_graph *g, cls_node a) {
    const clsi_node *n = &g->nodes[a];
    if (n->op == CLS_OP_NEG) return 1;
    if (n->op == CLS_OP_MUL) n = &g->nodes[n->arg[0]];
    return n->op == CLS_OP_CONSTANT && clsi_value(n) < 0;
}

cls_node cls_add(cls_graph *g, cls_node a, cls_node b) {
    if (!g) return CLS_NO_NODE;
    if (NONE2(a, b)) return CLS_NO_NODE;
    if (is_constant(g, a) && is_constant(g, b))
        return cls_constant(g, clsi_value(&g->nodes[a]) + clsi_value(&g->nodes[b]));
    if (cls_is_constant(g, a, 0)) return b;
    if (cls_is_constant(g, b, 0)) return a;
    if (is_negative(g, b)) return cls_sub(g, a, cls_neg(g, b));
    if (is_negative(g, a)) return cls_sub(g, b, cls_neg(g, a));
    if (a == b) return cls_mul(g, cls_constant(g, 2), a);
    /* canonical order, constants last: x + 1 */
    int swap = is_constant(g, a) || (!is_constant(g, b) && a > b);
    return swap ? make(g, CLS_OP_ADD, b, a) : make(g, CLS_OP_ADD, a, b);
}

cls_node cls_sub(cls_graph *g, cls_node a, cls_node b) {
    if (!g) return CLS_NO_NODE;
    if (NONE2(a, b)) return CLS_NO_NODE;
    if (is_constant(g, a) && is_constant(g, b))
        return cls_constant(g, clsi_value(&g->nodes[a]) - clsi_value(&g->nodes[b]));
    if (cls_is_constant(g, b, 0)) return a;
    if (cls_is_constant(g, a, 0)) return cls_neg(g, b);
    if (a == b) return cls_constant(g, 0);
    if (is_negative(g, b)) return cls_add(g, a, cls_neg(g, b));
    return make(g, CLS_OP_SUB, a, b);
}

static int is_one_over(const cls_graph *g, cls_node a) {
    return is_op(g, a, CLS_OP_DIV) && cls_is_constant(g, g->nodes[a].arg[0], 1);
}

static int is_learned(const clsi_node *n) {
    return n->op == CLS_OP_SYMBOL && n->i;
}

cls_node cls_mul(cls_graph *g, cls_node a, cls_node b) {
    if (!g) return CLS_NO_NODE;
    if (NONE2(a, b)) return CLS_NO_NODE;
    if (is_constant(g, b) || (!is_constant(g, a) && a > b)) { /* constants first: 2*x */
        cls_node t = a;
        a = b;
        b = t;
    }
    clsi_node x = g->nodes[a], y = g->nodes[b];
    if (x.op == CLS_OP_CONSTANT) {
        if (y.op == CLS_OP_CONSTANT) return cls_constant(g, clsi_value(&x) * clsi_value(&y));
        if (clsi_value(&x) == 0) return a;
        if (clsi_value(&x) == 1) return b;
        if (clsi_value(&x) == -1) return cls_neg(g, b);
        if (y.op == CLS_OP_MUL && is_constant(g, y.arg[0]))
            return cls_mul(g, cls_constant(g, clsi_value(&x) * clsi_value(&g->nodes[y.arg[0]])),
                           y.arg[1]);
        if (y.op == CLS_OP_NEG) return cls_mul(g, cls_constant(g, -clsi_value(&x)), y.arg[0]);
        return make(g, CLS_OP_MUL, a, b);
    }
    if (a == b) return cls_pow(g, a, cls_constant(g, 2));
    if (x.op == CLS_OP_NEG) return cls_neg(g, cls_mul(g, x.arg[0], b));
    if (y.op == CLS_OP_NEG) return cls_neg(g, cls_mul(g, a, y.arg[0]));
    if (is_one_over(g, a)) return cls_div(g, b, x.arg[1]);
    if (is_one_over(g, b)) return cls_div(g, a, y.arg[1]);
    if (x.op == CLS_OP_DIV && x.arg[1] == b) return x.arg[0];
    if (y.op == CLS_OP_DIV && y.arg[1] == a) return y.arg[0];
    /* constants float to the front, where they meet */
    if (is_learned(&x) || is_learned(&y)) return make(g, CLS_OP_MUL, a, b);
    if (x.op == CLS_OP_MUL && is_constant(g, x.arg[0]))
        return cls_mul(g, x.arg[0], cls_mul(g, x.arg[1], b));
    if (y.op == CLS_OP_MUL && is_constant(g, y.arg[0]))
        return cls_mul(g, y.arg[0], cls_mul(g, a, y.arg[1]));
    return make(g, CLS_OP_MUL, a, b);
}

cls_node cls_div(cls_graph *g, cls_node a, cls_node b) {
    if (!g) return CLS_NO_NODE;
    if (NONE2(a, b)) return CLS_NO_NODE;
    clsi_node x = g->nodes[a], y = g->nodes[b];
    if (x.op == CLS_OP_CONSTANT && y.op == CLS_OP_CONSTANT)
        return cls_constant(g, clsi_value(&x) / clsi_value(&y));
    if (cls_is_constant(g, b, 1)) return a;
    if (cls_is_constant(g, b, -1)) return cls_neg(g, a);
    if (cls_is_constant(g, a, 0)) return a;
    if (a == b) return cls_constant(g, 1);
    if (is_negative(g, a)) return cls_neg(g, cls_div(g, cls_neg(g, a), b));
    if (y.op == CLS_OP_NEG) return cls_neg(g, cls_div(g, a, y.arg[0]));
    if (x.op == CLS_OP_MUL && x.arg[0] == b) return x.arg[1];
    if (x.op == CLS_OP_MUL && x.arg[1] == b) return x.arg[0];
    if (x.op == CLS_OP_DIV) return cls_div(g, x.arg[0], cls_mul(g, x.arg[1], b));
    if (y.op == CLS_OP_DIV) return cls_div(g, cls_mul(g, a, y.arg[1]), y.arg[0]);
    return make(g, CLS_OP_DIV, a, b);
}

static int is_integer(double x) {
    return x == floor(x) && fabs(x) < 1e9;
}

double clsi_folded_power(double x, double c) {
    if (c == 0) return 1;
    if (c == 1) return x;
    if (c == -1) return 1 / x;
    if (c == 0.5) return clsi_function_value(CLS_FN_SQRT, x);
    return is_integer(c) && fabs(c) <= 64 ? clsi_powi(x, (int)c) : clsi_pow(x, c);
}

static cls_node pow_constant(cls_graph *g, cls_node a, double c) {
    clsi_node x = g->nodes[a];
    if (c == 0) return cls_constant(g, 1);
    if (c == 1) return a;
    if (c == -1) return cls_div(g, cls_constant(g, 1), a);
    if (c == 0.5) return cls_apply(g, CLS_FN_SQRT, a);
    if (x.op == CLS_OP_CONSTANT) return cls_constant(g, clsi_folded_power(clsi_value(&x), c));
    if (x.op == CLS_OP_NEG && is_integer(c)) {
        cls_node positive = pow_constant(g, x.arg[0], c);
        return fmod(c, 2) == 0 ? positive : cls_neg(g, positive);
    }
    if (x.op == CLS_OP_POW && is_integer(c) && is_constant(g, x.arg[1]) &&
        is_integer(clsi_value(&g->nodes[x.arg[1]])))
        return pow_constant(g, x.arg[0], c * clsi_value(&g->nodes[x.arg[1]]));
    if (x.op == CLS_OP_FUNCTION && x.function == CLS_FN_SQRT && c == 2) return x.arg[0];
    return make(g, CLS_OP_POW, a, cls_constant(g, c));
}

cls_node cls_pow(cls_graph *g, cls_node a, cls_node b) {
    if (!g) return CLS_NO_NODE;
    if (NONE2(a, b)) return CLS_NO_NODE;
    if (is_constant(g, b)) return pow_constant(g, a, clsi_value(&g->nodes[b]));
    if (cls_is_constant(g, a, 1)) return a;
    return make(g, CLS_OP_POW, a, b);
}

static int is_odd(cls_function f) {
    switch (f) {
    case CLS_FN_SIN:
    case CLS_FN_TAN:
    case CLS_FN_ASIN:
    case CLS_FN_ATAN:
    case CLS_FN_SINH:
    case CLS_FN_TANH:
    case CLS_FN_ASINH:
    case CLS_FN_ATANH:
    case CLS_FN_ERF: return 1;
    default: return 0;
    }
}

cls_node cls_apply(cls_graph *g, cls_function f, cls_node a) {
    if (!g) return CLS_NO_NODE;
    if (NONE(a)) return CLS_NO_NODE;
    clsi_node x = g->nodes[a];
    if (x.op == CLS_OP_CONSTANT) return cls_constant(g, clsi_function_value(f, clsi_value(&x)));
    if (x.op == CLS_OP_NEG && is_odd(f)) return cls_neg(g, cls_apply(g, f, x.arg[0]));
    if (x.op == CLS_OP_NEG && (f == CLS_FN_COS || f == CLS_FN_COSH)) a = x.arg[0];
    if (x.op == CLS_OP_FUNCTION && ((f == CLS_FN_LOG && x.function == CLS_FN_EXP) ||
                                    (f == CLS_FN_EXP && x.function == CLS_FN_LOG)))
        return x.arg[0];
    clsi_node key = {
        .op = CLS_OP_FUNCTION, .function = (uint8_t)f, .arg = {a, CLS_NO_NODE, CLS_NO_NODE}};
    return clsi_intern(g, &key);
}

/* f^(k)(a) / k!, through a symbol of its own so that any order works. */
static cls_node taylor_coefficient(cls_graph *g, cls_function f, cls_node a, double exponent,
                                   int k) {
    cls_node x = cls_fresh_symbol(g, "taylor"), value;
    value = f == CLS_FN_POWER ? cls_pow(g, x, cls_constant(g, exponent)) : cls_apply(g, f, x);
    double factorial = 1;
    for (int i = 1; i <= k; i++) {
        value = cls_derivative(g, value, x);
        factorial *= i;
    }
    if (NONE2(value, x)) return CLS_NO_NODE;
    value = cls_mul(g, cls_constant(g, 1 / factorial), value);
    (void)cls_substitute(g, 1, &value, 1, &x, &a, &value);
    return value;
}

/* tanh a - tanh b = tanh(a-b) (1 - tanh a tanh b): one quotient of one variable, and values that
 * are there already. */
static cls_node tanh_quotient(cls_graph *g, cls_node a, cls_node b) {
    cls_node zero = cls_constant(g, 0), one = cls_constant(g, 1);
    /* one order for both: symmetric to the bit; the newer first, which is what gets differentiated
     */
    cls_node difference = a < b ? cls_sub(g, b, a) : cls_sub(g, a, b);
    if (NONE(difference) || a == zero || b == zero || is_constant(g, difference))
        return CLS_NO_NODE;
    cls_node product = cls_mul(g, cls_apply(g, CLS_FN_TANH, a), cls_apply(g, CLS_FN_TANH, b));
    return cls_mul(g, cls_quotient(g, CLS_FN_TANH, 1, 1, difference, zero, 0),
                   cls_sub(g, one, product));
}

/* First quotients that are plain algebra: exact, symmetric, and cheap to differentiate. */
static cls_node algebraic_quotient(cls_graph *g, cls_function f, cls_node a, cls_node b, double c) {
    cls_node sum = cls_add(g, a, b), two = cls_constant(g, 2);
    if (f == CLS_FN_TANH) return tanh_quotient(g, a, b);
    if (f == CLS_FN_SQRT)
        return cls_div(g, cls_constant(g, 1),
                       cls_add(g, cls_apply(g, CLS_FN_SQRT, a), cls_apply(g, CLS_FN_SQRT, b)));
    if (f != CLS_FN_POWER) return CLS_NO_NODE;
    cls_node squares = cls_add(g, cls_pow(g, a, two), cls_pow(g, b, two));
    cls_node product = cls_mul(g, a, b);
    if (c == 2) return sum;
    if (c == 3) return cls_add(g, squares, product);
    if (c == 4) return cls_mul(g, sum, squares);
    if (c == -1) return cls_neg(g, cls_div(g, cls_constant(g, 1), product));
    if (c == -2) return cls_neg(g, cls_div(g, sum, cls_pow(g, product, two)));
    return CLS_NO_NODE;
}

cls_node cls_quotient(cls_graph *g, cls_function f, int i, int j, cls_node a, cls_node b,
                      double exponent) {
    if (!g) return CLS_NO_NODE;
    if (NONE2(a, b)) return CLS_NO_NODE;
    if (i < 1 || j < 1 || i + j > 200)
        return clsi_graph_fail(g, CLS_USAGE, "difference quotient of an impossible order");
    if (a == b) return taylor_coefficient(g, f, a, exponent, i + j - 1);
    if (is_constant(g, a) && is_constant(g, b))
        return cls_constant(g, clsi_quotient_value(f, i, j, clsi_value(&g->nodes[a]),
                                                   clsi_value(&g->nodes[b]), exponent));
    if (i == 1 && j == 1 && (f == CLS_FN_SQRT || f == CLS_FN_POWER || f == CLS_FN_TANH)) {
        cls_node simple = algebraic_quotient(g, f, a, b, exponent);
        if (simple != CLS_NO_NODE) return simple;
    }
    if (a > b) { /* f[a x i, b x j] = f[b x j, a x i]: one node for both */
        cls_node t = a;
        a = b;
        b = t;
        int k = i;
        i = j;
        j = k;
    }
    cls_node c = f == CLS_FN_POWER ? cls_constant(g, exponent) : CLS_NO_NODE;
    clsi_node key = {.op = CLS_OP_QUOTIENT,
                     .function = (uint8_t)f,
                     .i = (uint8_t)i,
                     .j = (uint8_t)j,
                     .arg = {a, b, c}};
    return clsi_intern(g, &key);
}

cls_node clsi_rebuild(cls_graph *g, cls_node a, const cls_node *args) {
    clsi_node n = g->nodes[a];
    switch ((cls_op)n.op) {
    case CLS_OP_CONSTANT:
    case CLS_OP_SYMBOL: return a;
    case CLS_OP_ADD: return cls_add(g, args[0], args[1]);
    case CLS_OP_SUB: return cls_sub(g, args[0], args[1]);
    case CLS_OP_MUL: return cls_mul(g, args[0], args[1]);
    case CLS_OP_DIV: return cls_div(g, args[0], args[1]);
    case CLS_OP_NEG: return cls_neg(g, args[0]);
    case CLS_OP_POW: return cls_pow(g, args[0], args[1]);
    case CLS_OP_FUNCTION: return cls_apply(g, (cls_function)n.function, args[0]);
    case CLS_OP_QUOTIENT:
        return cls_quotient(g, (cls_function)n.function, n.i, n.j, args[0], args[1],
                            n.arg[2] == CLS_NO_NODE ? 0 : clsi_value(&g->nodes[n.arg[2]]));
    case CLS_OP_FIELD: return clsi_field_rebuild(g, a, args);
    }
    return CLS_NO_NODE;
}

/* ---- sums of many ---- */

static cls_node sum_of_pairs(cls_graph *g, size_t n, const cls_node *terms) {
    size_t half = 1;
    if (n == 1) return terms[0];
    while (2 * half < n) half *= 2;
    cls_node left = sum_of_pairs(g, half, terms);
    return cls_add(g, left, sum_of_pairs(g, n - half, terms + half));
}

cls_node clsi_sum(cls_graph *g, size_t n, const cls_node *terms) {
    cls_node sum = cls_constant(g, 0);
    if (n > CLSI_MANY_TERMS) return sum_of_pairs(g, n, terms);
    for (size_t i = 0; i < n; i++) sum = cls_add(g, sum, terms[i]);
    return sum;
}
