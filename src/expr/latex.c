/* Graphs as LaTeX, for people: fractions, roots, powers, Greek letters, dots for velocities.
 *
 * Unlike cls_print it need not read back, so a + (b + c) loses its parentheses and a + (-3)x is
 * written a - 3x. Names: theta_a is \theta_{a}, T1 is T_{1}, v.x is \dot{x}, p.x is p_{x}, other
 * words are upright. Same limits and cost as cls_print. */
#include "expr/graph.h"
#include "expr/writer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const greek[] = {
    "alpha",   "beta",   "gamma", "delta",   "epsilon", "zeta",  "eta",   "theta", "iota",
    "kappa",   "lambda", "mu",    "nu",      "xi",      "pi",    "rho",   "sigma", "tau",
    "upsilon", "phi",    "chi",   "psi",     "omega",   "Gamma", "Delta", "Theta", "Lambda",
    "Xi",      "Pi",     "Sigma", "Upsilon", "Phi",     "Psi",   "Omega"};

/* ---- names ---- */

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static void append_escaped(clsi_text *out, const char *s, size_t n) {
    for (size_t k = 0; k < n; k++) {
        if (strchr("#$%&_{}", s[k])) clsi_text_append(out, "\\");
        clsi_text_append_n(out, strchr("\\^~", s[k]) ? "?" : s + k, 1);
    }
}

/* One word without structure: a Greek letter, a letter or number, or upright text. */
static void append_word(clsi_text *out, const char *s, size_t n) {
    for (size_t k = 0; k < sizeof greek / sizeof *greek; k++) {
        if (strlen(greek[k]) != n || memcmp(greek[k], s, n) != 0) continue;
        clsi_text_append(out, "\\");
        clsi_text_append(out, greek[k]);
        return;
    }
    int plain = n <= 1 || (n == 2 && s[1] == '\'') || is_digit(s[0]);
    if (!plain) clsi_text_append(out, "\\mathrm{");
    append_escaped(out, s, n);
    if (!plain) clsi_text_append(out, "}");
}

/* A name of parts joined by _ or ., the first perhaps ending in digits: base_{part,part}. `accent`
 * goes around the base. */
static void append_name(clsi_text *out, const char *name, const char *accent) {
    size_t head = strcspn(name + 1, "_.") + 1, base = head;
    while (base > 1 && is_digit(name[base - 1])) base--;
    if (accent) clsi_text_printf(out, "%s{", accent);
    append_word(out, name, base);
    if (accent) clsi_text_append(out, "}");
    if (!name[base]) return;
    clsi_text_append(out, "_{");
    if (head > base) append_word(out, name + base, head - base);
    for (const char *part = name + head; *part;) {
        part++;
        size_t n = strcspn(part, "_.");
        if (part > name + base + 1) clsi_text_append(out, ",");
        append_word(out, part, n);
        part += n;
    }
    clsi_text_append(out, "}");
}

static void append_symbol(clsi_text *out, const char *name) {
    if (!*name) return;
    if (strncmp(name, "v.", 2) == 0 && name[2]) {
        append_name(out, name + 2, "\\dot");
    } else if (strncmp(name, "p.", 2) == 0 && name[2]) {
        clsi_text_append(out, "p_{");
        append_name(out, name + 2, NULL);
        clsi_text_append(out, "}");
    } else {
        append_name(out, name, NULL);
    }
}

/* ---- numbers ---- */

static void append_number(clsi_text *out, double value) {
    char text[32];
    if (isnan(value)) {
        clsi_text_append(out, "\\mathrm{NaN}");
    } else if (isinf(value)) {
        clsi_text_append(out, value < 0 ? "-\\infty" : "\\infty");
    } else if (fabs(value) == 3.14159265358979323846) {
        clsi_text_append(out, value < 0 ? "-\\pi" : "\\pi");
    } else {
        clsi_format_number(value, text);
        char *e = strchr(text, 'e');
        clsi_text_append_n(out, text, e ? (size_t)(e - text) : strlen(text));
        if (e) clsi_text_printf(out, " \\cdot 10^{%ld}", strtol(e + 1, NULL, 10));
    }
}

static clsi_binding number_binding(double value) {
    char text[32];
    return clsi_format_number(value, text) || strchr(text, 'e') ? CLSI_PRODUCT
           : value < 0                                          ? CLSI_UNARY
                                                                : CLSI_ATOM;
}

/* ---- structure ---- */

static const char *function_text(cls_function f) {
    switch (f) {
    case CLS_FN_LOG: return "\\log";
    case CLS_FN_SIN: return "\\sin";
    case CLS_FN_COS: return "\\cos";
    case CLS_FN_TAN: return "\\tan";
    case CLS_FN_ASIN: return "\\arcsin";
    case CLS_FN_ACOS: return "\\arccos";
    case CLS_FN_ATAN: return "\\arctan";
    case CLS_FN_SINH: return "\\sinh";
    case CLS_FN_COSH: return "\\cosh";
    case CLS_FN_TANH: return "\\tanh";
    case CLS_FN_ASINH: return "\\operatorname{arsinh}";
    case CLS_FN_ACOSH: return "\\operatorname{arcosh}";
    case CLS_FN_ATANH: return "\\operatorname{artanh}";
    case CLS_FN_EXP: return "\\exp";
    case CLS_FN_EXPM1: return "\\operatorname{expm1}";
    case CLS_FN_LOG1P: return "\\operatorname{log1p}";
    case CLS_FN_SQRT: return "\\operatorname{sqrt}";
    case CLS_FN_SOFTPLUS: return "\\operatorname{softplus}";
    case CLS_FN_SIGMOID: return "\\operatorname{sigmoid}";
    case CLS_FN_ERF: return "\\operatorname{erf}";
    default: return "\\operatorname{pow}";
    }
}

static clsi_binding binding_of(const cls_graph *g, cls_node a) {
    switch (cls_node_op(g, a)) {
    case CLS_OP_ADD:
    case CLS_OP_SUB: return CLSI_SUM;
    case CLS_OP_MUL: return CLSI_PRODUCT;
    case CLS_OP_NEG: return CLSI_UNARY;
    case CLS_OP_DIV:
    case CLS_OP_POW: return CLSI_POWER;
    case CLS_OP_CONSTANT: return number_binding(cls_node_value(g, a));
    case CLS_OP_FUNCTION: return cls_node_function(g, a) == CLS_FN_SQRT ? CLSI_ATOM : CLSI_POWER;
    default: return CLSI_ATOM;
    }
}

/* Whether the text of `a` begins with a minus sign, outside of any fraction; `sums` says whether a
 * sum counts by its first term. */
static int is_negative(const cls_graph *g, cls_node a, int sums) {
    cls_op op;
    while ((op = cls_node_op(g, a)) == CLS_OP_MUL ||
           (sums && (op == CLS_OP_ADD || op == CLS_OP_SUB))) {
        if (op == CLS_OP_MUL) sums = 0;
        a = cls_node_arg(g, a, 0);
    }
    return op == CLS_OP_NEG || (op == CLS_OP_CONSTANT && cls_node_value(g, a) < 0);
}

/* Whether the text of a factor begins with a digit, so that the factor before it needs a dot. */
static int begins_with_digit(const cls_graph *g, cls_node a) {
    while (cls_node_op(g, a) == CLS_OP_MUL || cls_node_op(g, a) == CLS_OP_POW)
        a = cls_node_arg(g, a, 0);
    return cls_node_op(g, a) == CLS_OP_CONSTANT;
}

static void write_sum(clsi_writer *w, const clsi_piece *piece) {
    const cls_graph *g = w->graph;
    cls_node right = cls_node_arg(g, piece->node, 1);
    int minus = cls_node_op(g, piece->node) == CLS_OP_SUB;
    clsi_piece first = CLSI_NODE(cls_node_arg(g, piece->node, 0), CLSI_SUM);
    clsi_piece second = CLSI_NODE(right, minus ? CLSI_PRODUCT : CLSI_SUM);
    first.unsign = piece->unsign;
    second.unsign = (uint8_t)is_negative(g, right, !minus);
    CLSI_PUSH(w, first, CLSI_TEXT(minus != second.unsign ? " - " : " + "), second);
}

static void write_product(clsi_writer *w, const clsi_piece *piece) {
    const cls_graph *g = w->graph;
    cls_node left = cls_node_arg(g, piece->node, 0), right = cls_node_arg(g, piece->node, 1);
    clsi_piece first = CLSI_NODE(left, CLSI_PRODUCT);
    first.unsign = piece->unsign;
    clsi_binding bind = is_negative(g, right, 0) ? CLSI_POWER : CLSI_PRODUCT;
    CLSI_PUSH(w, first, CLSI_TEXT(begins_with_digit(g, right) ? " \\cdot " : " \\, "),
              CLSI_NODE(right, bind));
}

static void write_power(clsi_writer *w, cls_node a) {
    const cls_graph *g = w->graph;
    cls_node base = cls_node_arg(g, a, 0), exponent = cls_node_arg(g, a, 1);
    int named = cls_node_op(g, base) == CLS_OP_FUNCTION &&
                cls_node_function(g, base) != CLS_FN_EXP &&
                cls_node_function(g, base) != CLS_FN_SQRT;
    /* sin^2(x), but (sin(x))^{-1}, which would read as the inverse function */
    if (named && cls_node_op(g, exponent) == CLS_OP_CONSTANT && cls_node_value(g, exponent) > 0)
        CLSI_PUSH(w, CLSI_TEXT(function_text(cls_node_function(g, base))), CLSI_TEXT("^{"),
                  CLSI_NODE(exponent, CLSI_SUM), CLSI_TEXT("}\\left("),
                  CLSI_NODE(cls_node_arg(g, base, 0), CLSI_SUM), CLSI_TEXT("\\right)"));
    else
        CLSI_PUSH(w, CLSI_NODE(base, CLSI_ATOM), CLSI_TEXT("^{"), CLSI_NODE(exponent, CLSI_SUM),
                  CLSI_TEXT("}"));
}

static void write_function(clsi_writer *w, cls_node a) {
    cls_function f = cls_node_function(w->graph, a);
    const char *open = f == CLS_FN_SQRT ? "\\sqrt{" : f == CLS_FN_EXP ? "\\mathrm{e}^{" : NULL;
    CLSI_PUSH(w, CLSI_TEXT(open ? open : function_text(f)), CLSI_TEXT(open ? "" : "\\left("),
              CLSI_NODE(cls_node_arg(w->graph, a, 0), CLSI_SUM),
              CLSI_TEXT(open ? "}" : "\\right)"));
}

/* f[a, a, b]: the points as often as they are taken. */
static void write_quotient(clsi_writer *w, cls_node a) {
    const cls_graph *g = w->graph;
    int order[2];
    cls_node_orders(g, a, &order[0], &order[1]);
    CLSI_PUSH(w, CLSI_TEXT("\\right]"));
    for (int k = 2; k-- > 0;)
        for (int i = order[k]; i-- > 0;)
            CLSI_PUSH(w, CLSI_TEXT(k || i ? ", " : ""),
                      CLSI_NODE(cls_node_arg(g, a, (size_t)k), CLSI_SUM));
    CLSI_PUSH(w, CLSI_TEXT("\\left["));
    if (cls_node_arg_count(g, a) > 2)
        CLSI_PUSH(w, CLSI_TEXT("_{"), CLSI_NODE(cls_node_arg(g, a, 2), CLSI_SUM), CLSI_TEXT("}"));
    CLSI_PUSH(w, CLSI_TEXT(function_text(cls_node_function(g, a))));
}

/* \phi_1(x, y), \partial_{1} \phi_1, and between two points \overline\partial_{1} \phi_1(u; w). */
static void write_field(clsi_writer *w, cls_node a) {
    clsi_field_view v = clsi_view_field(w->graph, a);
    int pair = v.w != CLS_NO_NODE;
    if (pair && v.order > 1)
        clsi_text_printf(&w->out, "\\partial_{%c_{%d}} ", v.pass == CLSI_PASS_PAIR_U ? 'u' : 'w',
                         v.index[1] + 1);
    if (pair) clsi_text_printf(&w->out, "\\overline{\\partial}_{%d} ", v.index[0] + 1);
    for (size_t k = 0; !pair && k < v.order; k++)
        clsi_text_printf(&w->out, "\\partial_{%d} ", v.index[k] + 1);
    clsi_text_printf(&w->out, "\\phi_{%u}", v.which + 1);
    clsi_write_points(w, a, "\\left(", ";\\, ", "\\right)");
}

static void write_node(clsi_writer *w, const clsi_piece *piece) {
    const cls_graph *g = w->graph;
    cls_node a = piece->node;
    /* without its sign a negative number binds like the positive one, -x like x */
    if (piece->unsign && cls_node_op(g, a) == CLS_OP_NEG) {
        CLSI_PUSH(w, CLSI_NODE(cls_node_arg(g, a, 0), CLSI_PRODUCT));
        return;
    }
    if (binding_of(g, a) < piece->binding && !piece->unsign) {
        CLSI_PUSH(w, CLSI_TEXT("\\left("), CLSI_NODE(a, CLSI_SUM), CLSI_TEXT("\\right)"));
        return;
    }
    switch (cls_node_op(g, a)) {
    case CLS_OP_CONSTANT:
        append_number(&w->out, piece->unsign ? -cls_node_value(g, a) : cls_node_value(g, a));
        return;
    case CLS_OP_SYMBOL: append_symbol(&w->out, cls_node_name(g, a)); return;
    case CLS_OP_ADD:
    case CLS_OP_SUB: write_sum(w, piece); return;
    case CLS_OP_MUL: write_product(w, piece); return;
    case CLS_OP_DIV:
        CLSI_PUSH(w, CLSI_TEXT("\\frac{"), CLSI_NODE(cls_node_arg(g, a, 0), CLSI_SUM),
                  CLSI_TEXT("}{"), CLSI_NODE(cls_node_arg(g, a, 1), CLSI_SUM), CLSI_TEXT("}"));
        return;
    case CLS_OP_NEG:
        CLSI_PUSH(w, CLSI_TEXT("-"), CLSI_NODE(cls_node_arg(g, a, 0), CLSI_PRODUCT));
        return;
    case CLS_OP_POW: write_power(w, a); return;
    case CLS_OP_FUNCTION: write_function(w, a); return;
    case CLS_OP_QUOTIENT: write_quotient(w, a); return;
    case CLS_OP_FIELD: write_field(w, a); return;
    }
}

char *cls_print_latex(const cls_graph *g, cls_node a) {
    if (!g) return NULL;
    return clsi_writer_run(g, a, write_node);
}
