/* Simplification in the large: like terms of sums and like factors of products are collected.
 *
 * Sums become sum of coefficient * term, products coefficient * product of base^exponent with one
 * exponential; a factor is multiplied into a sum only when that makes the whole smaller. Sums and
 * products of more than MAX members are left as they are. For derivatives and for reading: the
 * value stays the same up to round-off, the writing (and so the discrete gradient) may change.
 *
 * Shared subexpressions are walked through once for every path that leads to them, and their number
 * can be exponential in the length of a formula. WORK bounds the steps of one call, and PER_NODE those of
 * a formula of more than LONG nodes, such as a learned polynomial, in which there is little to find:
 * what is left when they are used up stays as it is written, which is never wrong. */
#include "expr/graph.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 64, WORK = 2000000, LONG = 100, PER_NODE = 400, KNOWN = 16 };

typedef struct simplifier {
    cls_graph *g;
    size_t work, most;     /* steps so far, and how many there may be */
    cls_node known[KNOWN]; /* nodes weighed last, + 1 */
    size_t weight[KNOWN];
} simplifier;

typedef struct members {
    size_t n, depth;
    int full;             /* more than MAX members, or too deep: give up */
    double constant;      /* added to a sum, or factor of a product */
    double weight[MAX];   /* coefficient, or exponent */
    cls_node node[MAX];   /* term, or base */
    cls_node exponential; /* product: argument of the one exponential, or CLS_NO_NODE */
} members;

static void put(members *m, cls_node node, double weight) {
    for (size_t k = 0; k < m->n; k++) {
        if (m->node[k] != node) continue;
        m->weight[k] += weight;
        return;
    }
    if (m->n == MAX) {
        m->full = 1;
        return;
    }
    m->node[m->n] = node;
    m->weight[m->n++] = weight;
}

/* Recursion is bounded: a sum nested deeper than this has more than MAX members anyway. */
static int too_much(simplifier *self, members *m) {
    if (m->depth > 8 * MAX || ++self->work > self->most) m->full = 1;
    return m->full;
}

static int is_sum(const cls_graph *g, cls_node a) {
    cls_op op = cls_node_op(g, a);
    return op == CLS_OP_ADD || op == CLS_OP_SUB;
}

static cls_node simplify_product(simplifier *self, cls_node a);

/* ---- sums ---- */

static void gather_term(simplifier *self, cls_node a, double c, int expand, members *m);
static void gather_terms(simplifier *self, cls_node a, double c, int expand, members *m);

/* x * (s + t + ...) as terms. */
static void gather_expanded(simplifier *self, cls_node x, cls_node sum, double c, members *m) {
    cls_graph *g = self->g;
    members inner = {0};
    gather_terms(self, sum, 1, 0, &inner);
    if (inner.full) {
        m->full = 1;
        return;
    }
    for (size_t k = 0; k < inner.n; k++) {
        cls_node term = simplify_product(self, cls_mul(g, x, inner.node[k]));
        if (term == CLS_NO_NODE) return;
        gather_terms(self, term, c * inner.weight[k], 0, m);
    }
    if (inner.constant != 0) gather_terms(self, x, c * inner.constant, 0, m);
}

static void gather_terms(simplifier *self, cls_node a, double c, int expand, members *m) {
    if (too_much(self, m)) return;
    m->depth++;
    gather_term(self, a, c, expand, m);
    m->depth--;
}

static void gather_term(simplifier *self, cls_node a, double c, int expand, members *m) {
    cls_graph *g = self->g;
    cls_node x = cls_node_arg(g, a, 0), y = cls_node_arg(g, a, 1);
    switch (cls_node_op(g, a)) {
    case CLS_OP_CONSTANT: m->constant += c * cls_node_value(g, a); return;
    case CLS_OP_ADD:
        gather_terms(self, x, c, expand, m);
        gather_terms(self, y, c, expand, m);
        return;
    case CLS_OP_SUB:
        gather_terms(self, x, c, expand, m);
        gather_terms(self, y, -c, expand, m);
        return;
    case CLS_OP_NEG: gather_terms(self, x, -c, expand, m); return;
    case CLS_OP_MUL:
        if (cls_node_op(g, x) == CLS_OP_CONSTANT) {
            gather_terms(self, y, c * cls_node_value(g, x), expand, m);
            return;
        }
        if (expand && is_sum(g, y)) {
            gather_expanded(self, x, y, c, m);
            return;
        }
        if (expand && is_sum(g, x)) {
            gather_expanded(self, y, x, c, m);
            return;
        }
        break;
    case CLS_OP_DIV:
        if (cls_node_op(g, y) == CLS_OP_CONSTANT) {
            gather_terms(self, x, c / cls_node_value(g, y), expand, m);
            return;
        }
        break;
    default: break;
    }
    put(m, a, c);
}

static cls_node build_sum(cls_graph *g, const members *m) {
    cls_node sum = cls_constant(g, 0);
    for (int sign = 1; sign >= -1; sign -= 2) /* positive terms first: a - b, not -b + a */
        for (size_t k = 0; k < m->n; k++) {
            double c = m->weight[k];
            if (c == 0 || (c > 0) != (sign > 0)) continue;
            cls_node term = cls_mul(g, cls_constant(g, fabs(c)), m->node[k]);
            sum = sign > 0 ? cls_add(g, sum, term) : cls_sub(g, sum, term);
        }
    return cls_add(g, sum, cls_constant(g, m->constant));
}

/* Numbers are free, so that m*v^2 is no heavier than m*v*v. Costs what is counted; what is remembered
 * costs the same, because a formula would be written differently if the work allowed went further. */
static size_t weight_of(simplifier *x, cls_node a) {
    if (a == CLS_NO_NODE) return SIZE_MAX;
    size_t place = a % KNOWN;
    size_t count = x->known[place] == a + 1 ? x->weight[place] : clsi_cone_weight(x->g, a);
    if (count == SIZE_MAX) return count;
    x->known[place] = a + 1;
    x->weight[place] = count;
    x->work += count;
    return count;
}

static cls_node simplify_sum(simplifier *self, cls_node a) {
    cls_graph *g = self->g;
    cls_node best = a;
    for (int expand = 0; expand <= 1 && self->work <= self->most; expand++) {
        members m = {0};
        gather_terms(self, a, 1, expand, &m);
        if (m.full) continue;
        cls_node candidate = build_sum(g, &m);
        if (weight_of(self, candidate) < weight_of(self, best)) best = candidate;
    }
    return best;
}

/* ---- products ---- */

static int is_whole(double x) {
    return x == floor(x);
}

static void gather_factor(simplifier *self, cls_node a, double e, members *m);

/* a^e as factors; a product under a fractional power is left whole (its factors may be negative).
 */
static void gather_factors(simplifier *self, cls_node a, double e, members *m) {
    if (too_much(self, m)) return;
    m->depth++;
    gather_factor(self, a, e, m);
    m->depth--;
}

static void gather_factor(simplifier *self, cls_node a, double e, members *m) {
    cls_graph *g = self->g;
    cls_node x = cls_node_arg(g, a, 0), y = cls_node_arg(g, a, 1);
    cls_op op = cls_node_op(g, a);
    if (op == CLS_OP_CONSTANT && is_whole(e)) {
        m->constant *= pow(cls_node_value(g, a), e);
    } else if (op == CLS_OP_MUL && is_whole(e)) {
        gather_factors(self, x, e, m);
        gather_factors(self, y, e, m);
    } else if (op == CLS_OP_DIV && is_whole(e)) {
        gather_factors(self, x, e, m);
        gather_factors(self, y, -e, m);
    } else if (op == CLS_OP_NEG && is_whole(e)) {
        if (fmod(e, 2) != 0) m->constant = -m->constant;
        gather_factors(self, x, e, m);
    } else if (op == CLS_OP_POW && cls_node_op(g, y) == CLS_OP_CONSTANT && is_whole(e)) {
        gather_factors(self, x, e * cls_node_value(g, y), m);
    } else if (op == CLS_OP_FUNCTION && cls_node_function(g, a) == CLS_FN_SQRT && is_whole(e)) {
        gather_factors(self, x, e / 2, m);
    } else if (op == CLS_OP_FUNCTION && cls_node_function(g, a) == CLS_FN_EXP) {
        cls_node argument = cls_mul(g, cls_constant(g, e), x);
        m->exponential =
            m->exponential == CLS_NO_NODE ? argument : cls_add(g, m->exponential, argument);
    } else {
        put(m, a, e);
    }
}

/* 2/3 + 1/3 is 1 and 0.1 + 0.2 - 0.3 is 0 here: exponents are small rationals written in binary. */
static double clean_exponent(double e) {
    return fabs(e - nearbyint(e)) < 1e-14 ? nearbyint(e) : e;
}

static cls_node simplify_product(simplifier *self, cls_node a) {
    cls_graph *g = self->g;
    if (a == CLS_NO_NODE || self->work > self->most) return a;
    members m = {.constant = 1, .exponential = CLS_NO_NODE};
    gather_factors(self, a, 1, &m);
    if (m.full || !isfinite(m.constant)) return a;
    cls_node top = cls_constant(g, m.constant), bottom = cls_constant(g, 1);
    for (size_t k = 0; k < m.n; k++) {
        double e = clean_exponent(m.weight[k]);
        cls_node power = cls_pow(g, m.node[k], cls_constant(g, fabs(e)));
        if (e > 0) top = cls_mul(g, top, power);
        if (e < 0) bottom = cls_mul(g, bottom, power);
    }
    if (m.exponential != CLS_NO_NODE) {
        cls_node exponent = simplify_sum(self, m.exponential);
        top = cls_mul(g, top, cls_apply(g, CLS_FN_EXP, exponent));
    }
    cls_node candidate = cls_div(g, top, bottom);
    return weight_of(self, candidate) <= weight_of(self, a) ? candidate : a;
}

static void simplify_all(simplifier *self, const clsi_cone *cone, cls_node *map) {
    cls_graph *g = self->g;
    for (size_t k = 0; k < cone->n; k++) {
        cls_node a = cone->node[k];
        cls_node args[CLSI_NODE_ARGS] = {CLS_NO_NODE, CLS_NO_NODE, CLS_NO_NODE};
        size_t n = clsi_arg_count(g, a);
        for (size_t i = 0; i < n; i++) args[i] = map[clsi_cone_at(cone, clsi_arg(g, a, i)) - 1];
        cls_node b = clsi_rebuild(g, a, args);
        if (b == CLS_NO_NODE) return;
        switch (cls_node_op(g, b)) {
        case CLS_OP_ADD:
        case CLS_OP_SUB: b = simplify_sum(self, b); break;
        case CLS_OP_MUL:
        case CLS_OP_DIV:
        case CLS_OP_POW: b = simplify_product(self, b); break;
        default: break;
        }
        map[k] = b;
    }
}

cls_node cls_simplify(cls_graph *g, cls_node a) {
    if (!g) return CLS_NO_NODE;
    if (a >= g->n) return CLS_NO_NODE;
    clsi_cone cone;
    if (!clsi_cone_create(g, 1, &a, &cone)) {
        (void)clsi_graph_no_memory(g);
        return CLS_NO_NODE;
    }
    int large = cone.n > LONG && PER_NODE * cone.n < WORK;
    simplifier self = {.g = g, .most = large ? PER_NODE * cone.n : WORK};
    cls_node *map = clsi_calloc(cone.n, sizeof *map), result = a;
    if (!map) {
        (void)clsi_graph_no_memory(g);
        result = CLS_NO_NODE;
    } else {
        simplify_all(&self, &cone, map);
        result = cls_graph_status(g, NULL) == CLS_OK ? map[cone.n - 1] : CLS_NO_NODE;
        /* what is lighter piece by piece may share less: the whole decides */
        if (result != CLS_NO_NODE && weight_of(&self, result) > weight_of(&self, a)) result = a;
        if (cls_graph_status(g, NULL) != CLS_OK) result = CLS_NO_NODE;
    }
    free(map);
    clsi_cone_free(&cone);
    return result;
}

cls_node clsi_simplify_written(cls_graph *g, cls_node a) {
    return clsi_is_large(g, a) ? a : cls_simplify(g, a);
}
