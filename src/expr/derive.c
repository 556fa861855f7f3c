/* Derivatives and discrete derivatives: one walk, two sets of local slopes.
 *
 * The derivative of a graph is the product of local slopes along its edges. With the slope of each
 * elementary operation replaced by its difference quotient between two points (Automatic Discrete
 * Differentiation; Deep DTLM, section 3; docs/physics/discrete-gradient.md) the same
 * walk gives a discrete gradient:
 *
 *     f(a):   f[a1,a0]                         x*y:  ybar, xbar      (means over the two points)
 *     x/y:    ybar/(y1 y0), -xbar/(y1 y0)      x^y:  as exp(y log x)
 *
 * so that V(u) - V(w) = gbar.(u - w) holds identically, gbar is symmetric in (u, w), and gbar(u, u)
 * is the gradient. Costs one pass over the nodes that V reaches. */
#include "expr/graph.h"
#include "base/base.h"
#include "base/misuse.h"
#include <stdlib.h>
#include <string.h>

/* ---- ordinary slopes ---- */

static cls_node one_over(cls_graph *g, cls_node a) {
    return cls_div(g, cls_constant(g, 1), a);
}

static cls_node square(cls_graph *g, cls_node a) {
    return cls_pow(g, a, cls_constant(g, 2));
}

static cls_node one_minus_square(cls_graph *g, cls_node a) {
    return cls_sub(g, cls_constant(g, 1), square(g, a));
}

cls_node clsi_function_derivative(cls_graph *g, cls_function f, cls_node x) {
    cls_node one = cls_constant(g, 1);
    switch (f) {
    case CLS_FN_EXP:
    case CLS_FN_EXPM1: return cls_apply(g, CLS_FN_EXP, x);
    case CLS_FN_LOG: return one_over(g, x);
    case CLS_FN_LOG1P: return one_over(g, cls_add(g, x, one));
    case CLS_FN_SQRT: return cls_div(g, cls_constant(g, 0.5), cls_apply(g, f, x));
    case CLS_FN_SIN: return cls_apply(g, CLS_FN_COS, x);
    case CLS_FN_COS: return cls_neg(g, cls_apply(g, CLS_FN_SIN, x));
    case CLS_FN_TAN: return one_over(g, square(g, cls_apply(g, CLS_FN_COS, x)));
    case CLS_FN_ASIN: return one_over(g, cls_apply(g, CLS_FN_SQRT, one_minus_square(g, x)));
    case CLS_FN_ACOS:
        return cls_neg(g, one_over(g, cls_apply(g, CLS_FN_SQRT, one_minus_square(g, x))));
    case CLS_FN_ATAN: return one_over(g, cls_add(g, square(g, x), one));
    case CLS_FN_SINH: return cls_apply(g, CLS_FN_COSH, x);
    case CLS_FN_COSH: return cls_apply(g, CLS_FN_SINH, x);
    case CLS_FN_TANH: /* not 1/cosh^2: the value is there already, and networks are made of it */
        return one_minus_square(g, cls_apply(g, f, x));
    case CLS_FN_ASINH: return one_over(g, cls_apply(g, CLS_FN_SQRT, cls_add(g, square(g, x), one)));
    case CLS_FN_ACOSH: /* not sqrt(x^2 - 1): full accuracy near 1 */
        return one_over(g, cls_mul(g, cls_apply(g, CLS_FN_SQRT, cls_sub(g, x, one)),
                                   cls_apply(g, CLS_FN_SQRT, cls_add(g, x, one))));
    case CLS_FN_ATANH: return one_over(g, one_minus_square(g, x));
    case CLS_FN_SOFTPLUS: return cls_apply(g, CLS_FN_SIGMOID, x);
    case CLS_FN_SIGMOID: /* s(x) s(-x): no cancellation for large x */
        return cls_mul(g, cls_apply(g, f, x), cls_apply(g, f, cls_neg(g, x)));
    case CLS_FN_ERF: /* 2/sqrt(pi) exp(-x^2) */
        return cls_mul(g, cls_constant(g, 1.1283791670955126),
                       cls_apply(g, CLS_FN_EXP, cls_neg(g, square(g, x))));
    case CLS_FN_POWER:
    case CLS_FN_COUNT: break;
    }
    return clsi_graph_fail(g, CLS_USAGE, "derivative of an unknown function");
}

/* d(a^b): b a^(b-1) and a^b log a. */
static void power_slopes(cls_graph *g, cls_node whole, cls_node a, cls_node b, cls_node *out) {
    out[0] = cls_mul(g, b, cls_pow(g, a, cls_sub(g, b, cls_constant(g, 1))));
    out[1] = cls_node_op(g, b) == CLS_OP_CONSTANT ? cls_constant(g, 0)
                                                  : cls_mul(g, whole, cls_apply(g, CLS_FN_LOG, a));
}

/* d/da f[a x i, b x j] = i f[a x (i+1), b x j], and the same for b. */
static void quotient_slopes(cls_graph *g, const clsi_node *n, unsigned wanted, cls_node *out) {
    double c = n->arg[2] == CLS_NO_NODE ? 0 : cls_node_value(g, n->arg[2]);
    cls_function f = (cls_function)n->function;
    cls_node a = n->arg[0], b = n->arg[1];
    if (wanted & 1)
        out[0] = cls_mul(g, cls_constant(g, n->i), cls_quotient(g, f, n->i + 1, n->j, a, b, c));
    if (wanted & 2)
        out[1] = cls_mul(g, cls_constant(g, n->j), cls_quotient(g, f, n->i, n->j + 1, a, b, c));
    out[2] = cls_constant(g, 0);
}

/* Partial derivatives of node k in its arguments, as far as they are wanted (bit i: argument i; others
 * may be there): what nobody asks for would stay in the graph. */
enum { ALL_SLOPES = 7 };
static void slopes(cls_graph *g, cls_node k, unsigned wanted, cls_node *out) {
    clsi_node n = g->nodes[k];
    cls_node a = n.arg[0], b = n.arg[1];
    switch ((cls_op)n.op) {
    case CLS_OP_CONSTANT:
    case CLS_OP_SYMBOL: break;
    case CLS_OP_ADD: out[0] = out[1] = cls_constant(g, 1); break;
    case CLS_OP_SUB:
        out[0] = cls_constant(g, 1);
        out[1] = cls_constant(g, -1);
        break;
    case CLS_OP_NEG: out[0] = cls_constant(g, -1); break;
    case CLS_OP_MUL:
        out[0] = b;
        out[1] = a;
        break;
    case CLS_OP_DIV:
        if (wanted & 1) out[0] = one_over(g, b);
        if (wanted & 2) out[1] = cls_neg(g, cls_div(g, k, b));
        break;
    case CLS_OP_POW: power_slopes(g, k, a, b, out); break;
    case CLS_OP_FUNCTION: out[0] = clsi_function_derivative(g, (cls_function)n.function, a); break;
    case CLS_OP_QUOTIENT: quotient_slopes(g, &n, wanted, out); break;
    case CLS_OP_FIELD: clsi_field_slopes(g, k, out); break;
    }
}

/* ---- discrete slopes ---- */

static cls_node mean(cls_graph *g, cls_node a, cls_node b) {
    return cls_mul(g, cls_constant(g, 0.5), cls_add(g, a, b));
}

/* x^y = exp(y log x): the chain of the quotients of exp, the product, and log. */
static void discrete_power_slopes(cls_graph *g, cls_node exponent, const cls_node *u,
                                  const cls_node *w, cls_node *out) {
    if (cls_node_op(g, exponent) == CLS_OP_CONSTANT) {
        double c = cls_node_value(g, exponent);
        int plain =
            c == 2 && u[0] != w[0] && /* as cls_quotient has it, but for what it looks at */
            (cls_node_op(g, u[0]) != CLS_OP_CONSTANT || cls_node_op(g, w[0]) != CLS_OP_CONSTANT);
        out[0] =
            plain ? cls_add(g, u[0], w[0]) : cls_quotient(g, CLS_FN_POWER, 1, 1, u[0], w[0], c);
        out[1] = cls_constant(g, 0);
        return;
    }
    cls_node log_u = cls_apply(g, CLS_FN_LOG, u[0]), log_w = cls_apply(g, CLS_FN_LOG, w[0]);
    cls_node outer =
        cls_quotient(g, CLS_FN_EXP, 1, 1, cls_mul(g, u[1], log_u), cls_mul(g, w[1], log_w), 0);
    cls_node inner = cls_quotient(g, CLS_FN_LOG, 1, 1, u[0], w[0], 0);
    out[0] = cls_mul(g, outer, cls_mul(g, mean(g, u[1], w[1]), inner));
    out[1] = cls_mul(g, outer, mean(g, log_u, log_w));
}

static void discrete_division_slopes(cls_graph *g, unsigned wanted, const cls_node *u,
                                     const cls_node *w, cls_node *out) {
    int same = u[1] == w[1];
    cls_node product = same && !(wanted & 2) ? u[1] : cls_mul(g, u[1], w[1]);
    if (wanted & 1) out[0] = same ? one_over(g, u[1]) : cls_div(g, mean(g, u[1], w[1]), product);
    if (wanted & 2) out[1] = cls_neg(g, cls_div(g, mean(g, u[0], w[0]), product));
}

/* Slopes of node k between its arguments at the two points, u[i] and w[i], as far as they are wanted: values that
 * these do not contain may be absent (mark_values). */
static void discrete_slopes(cls_graph *g, cls_node k, unsigned wanted, const cls_node *u,
                            const cls_node *w, cls_node *out) {
    clsi_node n = g->nodes[k];
    switch ((cls_op)n.op) {
    case CLS_OP_MUL:
        if (wanted & 1) out[0] = mean(g, u[1], w[1]);
        if (wanted & 2) out[1] = mean(g, u[0], w[0]);
        break;
    case CLS_OP_DIV: discrete_division_slopes(g, wanted, u, w, out); break;
    case CLS_OP_POW: discrete_power_slopes(g, n.arg[1], u, w, out); break;
    case CLS_OP_FUNCTION:
        out[0] = cls_quotient(g, (cls_function)n.function, 1, 1, u[0], w[0], 0);
        break;
    case CLS_OP_QUOTIENT:
        clsi_graph_fail(g, CLS_USAGE, "the discrete derivative of a difference quotient");
        out[0] = out[1] = out[2] = CLS_NO_NODE;
        break;
    case CLS_OP_FIELD: clsi_field_discrete_slopes(g, k, u, w, out); break;
    default: slopes(g, k, ALL_SLOPES, out); break; /* linear operations */
    }
}

/* ---- walks ---- */

void clsi_mark_active(const cls_graph *g, size_t top, const unsigned char *reach, size_t n,
                      const cls_node *symbols, unsigned char *active) {
    for (size_t i = 0; i < n; i++)
        if (symbols[i] < g->n) active[symbols[i]] = 1;
    for (size_t k = 0; k < top; k++) {
        if (!reach[k]) continue;
        size_t args = clsi_arg_count(g, k);
        for (size_t i = 0; i < args; i++) active[k] |= active[clsi_arg(g, k, i)];
        if (clsi_block(g, k) != CLS_NO_NODE) active[k] |= active[clsi_block(g, k)];
    }
}

static cls_status graph_result(const cls_graph *g) {
    return cls_graph_status(g, NULL);
}

static cls_status out_of_memory(cls_graph *g, size_t n, size_t stride, cls_node *out) {
    for (size_t i = 0; i < n; i++) out[i * stride] = CLS_NO_NODE;
    return clsi_graph_no_memory(g);
}

/* A step begins where the state is. */
static int changes_nothing(size_t n, const cls_node *from, const cls_node *to) {
    size_t i = 0;
    while (i < n && from[i] == to[i]) i++;
    return i == n;
}

/* Every member of the cone (those marked, if given) with the symbols replaced; NULL: no memory. */
static cls_node *values_at(cls_graph *g, const clsi_cone *cone, size_t n, const cls_node *from,
                           const cls_node *to, const unsigned char *marked) {
    unsigned char *active = clsi_calloc(cone->n, 1);
    cls_node *map = clsi_malloc(cone->n * sizeof *map);
    if (!active || !map) {
        free(active);
        free(map);
        (void)clsi_graph_no_memory(g);
        return NULL;
    }
    clsi_expect_use(map, cone->n * sizeof *map);
    memcpy(map, cone->node, cone->n * sizeof *map);
    if (changes_nothing(n, from, to)) {
        free(active);
        return map;
    }
    clsi_cone_active(g, cone, n, from, active);
    for (size_t i = 0; i < n; i++) {
        uint32_t at = clsi_cone_at(cone, from[i]);
        if (at) map[at - 1] = to[i];
    }
    for (size_t k = 0; k < cone->n; k++) {
        cls_node a = cone->node[k];
        if (marked && !marked[k]) { /* nobody may use it */
            if (active[k]) map[k] = CLS_NO_NODE;
            continue;
        }
        if (!active[k] || map[k] != a || g->nodes[a].op == CLS_OP_SYMBOL) continue;
        cls_node args[CLSI_NODE_ARGS] = {CLS_NO_NODE, CLS_NO_NODE, CLS_NO_NODE};
        size_t n_args = clsi_arg_count(g, a);
        for (size_t i = 0; i < n_args; i++)
            args[i] = map[clsi_cone_at(cone, clsi_arg(g, a, i)) - 1];
        map[k] = clsi_rebuild(g, a, args);
    }
    free(active);
    return map;
}

cls_status cls_substitute(cls_graph *g, size_t count, const cls_node *nodes, size_t n,
                          const cls_node *from, const cls_node *to, cls_node *out) {
    NEED(NULL, g);
    NEED(NULL, (nodes && out) || !count);
    NEED(NULL, (from && to) || !n);
    clsi_cone cone;
    if (changes_nothing(n, from, to)) {
        for (size_t i = 0; i < count; i++) out[i] = nodes[i] < g->n ? nodes[i] : CLS_NO_NODE;
        return graph_result(g);
    }
    if (!clsi_cone_create(g, count, nodes, &cone)) return out_of_memory(g, count, 1, out);
    cls_node *map = values_at(g, &cone, n, from, to, NULL);
    for (size_t i = 0; i < count; i++) {
        uint32_t at = map ? clsi_cone_at(&cone, nodes[i]) : 0;
        out[i] = at ? map[at - 1] : CLS_NO_NODE;
    }
    free(map);
    clsi_cone_free(&cone);
    return graph_result(g);
}

/* d node k / d symbol from the tangents of what it is made of. */
static cls_node tangent_of(cls_graph *g, size_t k, const unsigned char *active,
                           const cls_node *tangent) {
    cls_node slope[CLSI_NODE_ARGS], sum = cls_constant(g, 0);
    size_t args = clsi_arg_count(g, k);
    unsigned wanted = 0;
    for (size_t i = 0; i < args && i < 3; i++) wanted |= active[clsi_arg(g, k, i)] ? 1u << i : 0;
    slopes(g, (cls_node)k, wanted, slope);
    for (size_t i = 0; i < args; i++) {
        cls_node arg = clsi_arg(g, k, i);
        if (active[arg]) sum = cls_add(g, sum, cls_mul(g, slope[i], tangent[arg]));
    }
    return sum;
}

static cls_node tangent_by(cls_graph *g, const clsi_shortcuts *s, const clsi_shortcut *shortcut,
                           const unsigned char *active, const cls_node *tangent) {
    cls_node sum = cls_constant(g, 0);
    for (size_t i = shortcut->first; i < shortcut->first + shortcut->n; i++)
        if (active[s->entries[i]])
            sum = cls_add(g, sum, cls_mul(g, s->slopes[i], tangent[s->entries[i]]));
    return sum;
}

cls_status clsi_forward(cls_graph *g, size_t count, const cls_node *nodes, cls_node symbol,
                        const clsi_shortcuts *shortcuts, size_t stride, cls_node *out) {
    cls_node one = cls_constant(g, 1);
    return clsi_along(g, count, nodes, 1, &symbol, &one, shortcuts, stride, out);
}

cls_status clsi_along(cls_graph *g, size_t count, const cls_node *nodes, size_t n,
                      const cls_node *symbols, const cls_node *direction,
                      const clsi_shortcuts *shortcuts, size_t stride, cls_node *out) {
    size_t size = g->n;
    unsigned char *reach = clsi_calloc(size, 2), *active = reach ? reach + size : NULL;
    cls_node *tangent = clsi_calloc(size, sizeof *tangent);
    if (!reach || !tangent) {
        free(reach);
        free(tangent);
        return out_of_memory(g, count, stride, out);
    }
    clsi_reach(g, count, nodes, reach);
    clsi_mark_active(g, size, reach, n, symbols, active);
    for (size_t j = 0; j < n; j++)
        if (symbols[j] < size) tangent[symbols[j]] = direction[j], reach[symbols[j]] = 0;
    for (size_t k = 0; k < size; k++) {
        if (!reach[k] || !active[k]) continue;
        uint32_t of = shortcuts && k < shortcuts->size ? shortcuts->of[k] : 0;
        if (of == CLSI_WALKED_AROUND) continue;
        tangent[k] = of ? tangent_by(g, shortcuts, &shortcuts->list[of - 1], active, tangent)
                        : tangent_of(g, k, active, tangent);
    }
    cls_node zero = cls_constant(g, 0);
    for (size_t i = 0; i < count; i++) {
        cls_node a = nodes[i];
        out[i * stride] = a >= size ? CLS_NO_NODE : active[a] ? tangent[a] : zero;
    }
    free(reach);
    free(tangent);
    return graph_result(g);
}

cls_node cls_derivative(cls_graph *g, cls_node a, cls_node symbol) {
    clsi_cone cone;
    if (!g) return CLS_NO_NODE;
    if (a >= g->n || symbol >= g->n) return CLS_NO_NODE;
    if (!clsi_cone_create(g, 1, &a, &cone)) return clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    unsigned char *active = clsi_calloc(cone.n, 1);
    cls_node *tangent = clsi_calloc(cone.n, sizeof *tangent), result = CLS_NO_NODE;
    uint32_t at = clsi_cone_at(&cone, symbol);
    if (active && tangent) {
        clsi_cone_active(g, &cone, 1, &symbol, active);
        if (at) tangent[at - 1] = cls_constant(g, 1);
        for (size_t k = 0; k < cone.n; k++) {
            if (!active[k] || k + 1 == at) continue;
            cls_node slope[CLSI_NODE_ARGS], sum = cls_constant(g, 0);
            size_t args = clsi_arg_count(g, cone.node[k]), arg[CLSI_NODE_ARGS];
            unsigned wanted = 0;
            for (size_t i = 0; i < args; i++) {
                arg[i] = clsi_cone_at(&cone, clsi_arg(g, cone.node[k], i)) - 1;
                wanted |= i < 3 && active[arg[i]] ? 1u << i : 0;
            }
            slopes(g, cone.node[k], wanted, slope);
            for (size_t i = 0; i < args; i++)
                if (active[arg[i]]) sum = cls_add(g, sum, cls_mul(g, slope[i], tangent[arg[i]]));
            tangent[k] = sum;
        }
        result = active[cone.n - 1] ? tangent[cone.n - 1] : cls_constant(g, 0);
    } else {
        clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    }
    free(active);
    free(tangent);
    clsi_cone_free(&cone);
    return graph_result(g) == CLS_OK ? result : CLS_NO_NODE;
}

enum { LEAF = 2 }; /* among active nodes: one of those that are differentiated by */

/* Reverse: adjoint[k] = d a / d member k, slopes either ordinary (at_u NULL) or discrete, of the
 * cone of `a`. The symbols may be any nodes; what they are made of is not looked at. */
static void walk_back(cls_graph *g, const clsi_cone *cone, size_t n, const cls_node *symbols,
                      const cls_node *at_u, const cls_node *at_w, unsigned char *active,
                      cls_node *adjoint) {
    cls_node zero = cls_constant(g, 0);
    clsi_cone_active(g, cone, n, symbols, active);
    for (size_t k = 0; k < cone->n; k++) adjoint[k] = zero;
    for (size_t i = 0; i < n; i++) {
        uint32_t at = clsi_cone_at(cone, symbols[i]);
        if (at) active[at - 1] = LEAF;
    }
    adjoint[cone->n - 1] = cls_constant(g, 1);
    for (size_t k = cone->n; k-- > 0;) {
        if (!active[k] || active[k] == LEAF || adjoint[k] == zero) continue;
        cls_node slope[CLSI_NODE_ARGS], u[CLSI_NODE_ARGS], w[CLSI_NODE_ARGS];
        size_t args = clsi_arg_count(g, cone->node[k]), arg[CLSI_NODE_ARGS];
        unsigned wanted = 0;
        for (size_t i = 0; i < args; i++) {
            arg[i] = clsi_cone_at(cone, clsi_arg(g, cone->node[k], i)) - 1;
            wanted |= i < 3 && active[arg[i]] ? 1u << i : 0;
            if (at_u) u[i] = at_u[arg[i]], w[i] = at_w[arg[i]];
        }
        if (at_u)
            discrete_slopes(g, cone->node[k], wanted, u, w, slope);
        else
            slopes(g, cone->node[k], wanted, slope);
        for (size_t i = 0; i < args; i++)
            if (active[arg[i]])
                adjoint[arg[i]] = cls_add(g, adjoint[arg[i]], cls_mul(g, adjoint[k], slope[i]));
    }
}

/* Parameters of fields are no symbols of an expression: see clsi_learned_slopes. */
static int asks_a_field(const cls_graph *g, const clsi_cone *cone, const unsigned char *active) {
    for (size_t k = 0; k < cone->n; k++) {
        cls_node block = clsi_block(g, cone->node[k]);
        if (block != CLS_NO_NODE && active[clsi_cone_at(cone, block) - 1] == LEAF) return 1;
    }
    return 0;
}

/* at_u, at_w: the members of the cone at the two points. */
static cls_status reverse(cls_graph *g, const clsi_cone *cone, size_t n, const cls_node *symbols,
                          const cls_node *at_u, const cls_node *at_w, cls_node *out) {
    unsigned char *active = clsi_calloc(cone->n, 1);
    cls_node *adjoint = clsi_calloc(cone->n, sizeof *adjoint), zero = cls_constant(g, 0);
    if (active && adjoint) {
        walk_back(g, cone, n, symbols, at_u, at_w, active, adjoint);
        for (size_t i = 0; i < n; i++) {
            uint32_t at = clsi_cone_at(cone, symbols[i]);
            out[i] = at ? adjoint[at - 1] : zero;
        }
        if (asks_a_field(g, cone, active))
            clsi_graph_fail(g, CLS_USAGE, "a gradient in the parameters of a field node");
    } else {
        (void)out_of_memory(g, n, 1, out);
    }
    free(active);
    free(adjoint);
    return graph_result(g);
}

static cls_status nothing(const cls_graph *g, size_t n, cls_node *out) {
    for (size_t i = 0; i < n; i++) out[i] = CLS_NO_NODE;
    return graph_result(g);
}

cls_status cls_gradient(cls_graph *g, cls_node a, size_t n, const cls_node *symbols,
                        cls_node *out) {
    NEED(NULL, g);
    NEED(NULL, (symbols && out) || !n);
    clsi_cone cone;
    if (a >= g->n) return nothing(g, n, out);
    if (!clsi_cone_create(g, 1, &a, &cone)) return out_of_memory(g, n, 1, out);
    cls_status status = reverse(g, &cone, n, symbols, NULL, NULL, out);
    clsi_cone_free(&cone);
    return status;
}

/* The adjoints of the field nodes among the members that are being learned. */
static int take_fields(const cls_graph *g, const clsi_cone *cone, const cls_node *adjoint,
                       clsi_field_slopes_list *out) {
    for (size_t k = 0; k < cone->n; k++) out->n += clsi_block(g, cone->node[k]) != CLS_NO_NODE;
    out->node = clsi_calloc(2 * out->n + 1, sizeof *out->node);
    if (!out->node) return 0;
    out->slope = out->node + out->n;
    out->n = 0;
    for (size_t k = 0; k < cone->n; k++) {
        if (clsi_block(g, cone->node[k]) == CLS_NO_NODE || cls_is_constant(g, adjoint[k], 0))
            continue;
        out->node[out->n] = cone->node[k];
        out->slope[out->n++] = adjoint[k];
    }
    return 1;
}

cls_status clsi_learned_slopes(cls_graph *g, cls_node a, size_t n, const cls_node *symbols,
                               cls_node *out, clsi_field_slopes_list *fields) {
    clsi_cone cone;
    *fields = (clsi_field_slopes_list){0};
    if (a >= g->n) return nothing(g, n, out);
    if (!clsi_cone_create(g, 1, &a, &cone)) return out_of_memory(g, n, 1, out);
    unsigned char *active = clsi_calloc(cone.n, 1);
    cls_node *adjoint = clsi_calloc(cone.n, sizeof *adjoint), zero = cls_constant(g, 0);
    int good = active && adjoint;
    if (good) walk_back(g, &cone, n, symbols, NULL, NULL, active, adjoint);
    good = good && take_fields(g, &cone, adjoint, fields);
    for (size_t i = 0; i < n && good; i++) {
        uint32_t at = clsi_cone_at(&cone, symbols[i]);
        out[i] = at ? adjoint[at - 1] : zero;
    }
    if (!good) (void)out_of_memory(g, n, 1, out);
    free(active);
    free(adjoint);
    clsi_cone_free(&cone);
    return graph_result(g);
}

cls_status clsi_slopes_between(cls_graph *g, cls_node a, size_t n, const cls_node *nodes,
                               cls_node *out) {
    return cls_gradient(g, a, n, nodes, out);
}

/* Which values at the ends the slopes of a node contain, besides those of their own arguments: of a sum none, so
 * that the energy itself and the partial sums of its cells are not built. */
static unsigned values_in_slopes(const cls_graph *g, cls_node a, unsigned wanted) {
    switch ((cls_op)g->nodes[a].op) {
    case CLS_OP_ADD:
    case CLS_OP_SUB:
    case CLS_OP_NEG: return 0;
    case CLS_OP_MUL: return (wanted & 1 ? 2u : 0u) | (wanted & 2 ? 1u : 0u);
    case CLS_OP_DIV: return wanted & 2 ? 3u : 2u;
    default: return ~0u;
    }
}

/* marked[k] = 1 for active members whose values at the ends are in slopes, or in such values. */
static void mark_values(const cls_graph *g, const clsi_cone *cone, size_t n,
                        const cls_node *symbols, unsigned char *active, unsigned char *marked) {
    clsi_cone_active(g, cone, n, symbols, active);
    for (size_t i = 0; i < n; i++) {
        uint32_t at = clsi_cone_at(cone, symbols[i]);
        if (at) active[at - 1] = LEAF;
    }
    for (size_t k = cone->n; k-- > 0;) {
        if (!active[k] || active[k] == LEAF) continue;
        size_t args = clsi_arg_count(g, cone->node[k]);
        unsigned wanted = 0;
        for (size_t i = 0; i < args && i < 3; i++)
            wanted |= active[clsi_cone_at(cone, clsi_arg(g, cone->node[k], i)) - 1] ? 1u << i : 0;
        unsigned values = marked[k] ? ~0u : values_in_slopes(g, cone->node[k], wanted);
        for (size_t i = 0; i < args; i++)
            if (values >> (i < 3 ? i : 2) & 1)
                marked[clsi_cone_at(cone, clsi_arg(g, cone->node[k], i)) - 1] = 1;
    }
}

cls_status cls_discrete_gradient(cls_graph *g, cls_node a, size_t n, const cls_node *symbols,
                                 const cls_node *u, const cls_node *w, cls_node *out) {
    NEED(NULL, g);
    NEED(NULL, (symbols && u && w && out) || !n);
    clsi_cone cone;
    if (a >= g->n) return nothing(g, n, out);
    if (!clsi_cone_create(g, 1, &a, &cone)) return out_of_memory(g, n, 1, out);
    unsigned char *active = clsi_calloc(cone.n, 1), *marked = clsi_calloc(cone.n, 1);
    cls_node *at_u = NULL, *at_w = NULL;
    if (active && marked) {
        mark_values(g, &cone, n, symbols, active, marked);
        at_u = values_at(g, &cone, n, symbols, u, marked);
        at_w = values_at(g, &cone, n, symbols, w, marked);
    } else {
        (void)clsi_graph_no_memory(g);
    }
    cls_status status = nothing(g, n, out);
    if (at_u && at_w) status = reverse(g, &cone, n, symbols, at_u, at_w, out);
    free(active);
    free(marked);
    free(at_u);
    free(at_w);
    clsi_cone_free(&cone);
    return graph_result(g) != CLS_OK ? graph_result(g) : status;
}
