/* Graphs as text of the language.
 *
 * The text parses back to the same node, given a scope with all its symbols. That holds because the
 * parser builds with the same calls as everybody, those calls are idempotent (the node made from a
 * node's own arguments is that node), and the text keeps the structure: a - (b - c), a/(b*c),
 * (-x)^2 keep their parentheses. Liberties are taken only where building undoes them: is_swapped,
 * tight_minus, tight_number. Not covered: numbers that are not finite and fresh symbols, which
 * cannot be typed.
 *
 * Cost: linear in the text. The text repeats shared subexpressions and may be exponentially longer
 * than the graph, so it stops at a megabyte. Depth costs heap, not stack. */
#include "base/locale.h"
#include "expr/graph.h"
#include "expr/writer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_LIMIT ((size_t)1 << 20)

void clsi_writer_push(clsi_writer *w, size_t n, const clsi_piece *pieces) {
    if (!clsi_grow(&w->stack, &w->capacity, w->n + n, sizeof *w->stack)) {
        w->out.failed = 1;
        return;
    }
    for (size_t k = n; k-- > 0;) w->stack[w->n++] = pieces[k];
}

char *clsi_writer_run(const cls_graph *g, cls_node a,
                      void (*write)(clsi_writer *w, const clsi_piece *piece)) {
    if (a == CLS_NO_NODE) return clsi_strdup("<no expression>");
    clsi_writer w = {.graph = g};
    CLSI_PUSH(&w, CLSI_NODE(a, CLSI_SUM));
    while (w.n && !w.out.failed && w.out.length <= TEXT_LIMIT) {
        clsi_piece piece = w.stack[--w.n];
        if (piece.text)
            clsi_text_append(&w.out, piece.text);
        else
            write(&w, &piece);
    }
    free(w.stack);
    if (w.out.length > TEXT_LIMIT) {
        clsi_text_clear(&w.out);
        clsi_text_append(&w.out, "<expression too large to print>");
    }
    return clsi_text_take(&w.out);
}

int clsi_format_number(double value, char out[32]) {
    clsi_format_double(value, out);
    if (strlen(out) < 10) return 0;
    for (int below = 3; below <= 16; below++) {
        double above = nearbyint(value * below);
        if (above == 0 || fabs(above) > 1000 || above / below != value) continue;
        clsi_snprintf(out, 32, "%.0f/%d", above, below);
        return 1;
    }
    return 0;
}

static clsi_binding binding_of(const cls_graph *g, cls_node a) {
    char number[32];
    switch (cls_node_op(g, a)) {
    case CLS_OP_ADD:
    case CLS_OP_SUB: return CLSI_SUM;
    case CLS_OP_MUL:
    case CLS_OP_DIV: return CLSI_PRODUCT;
    case CLS_OP_NEG:
        switch (cls_node_op(g, cls_node_arg(g, a, 0))) {
        case CLS_OP_MUL:
        case CLS_OP_DIV: return CLSI_PRODUCT;
        default: return CLSI_UNARY;
        }
    case CLS_OP_POW: return CLSI_POWER;
    case CLS_OP_CONSTANT:
        if (clsi_format_number(cls_node_value(g, a), number)) return CLSI_PRODUCT;
        return cls_node_value(g, a) < 0 ? CLSI_UNARY : CLSI_ATOM;
    default: return CLSI_ATOM;
    }
}

/* Sums and products are commutative, and building puts their arguments in order of age. Written
 * with the longer one first they need no parentheses: x + y + z, not z + (x + y). */
static int is_swapped(const cls_graph *g, cls_node a) {
    cls_op op = cls_node_op(g, a);
    if (op != CLS_OP_ADD && op != CLS_OP_MUL) return 0;
    clsi_binding weak = op == CLS_OP_ADD ? CLSI_SUM : CLSI_PRODUCT;
    cls_node left = cls_node_arg(g, a, 0), right = cls_node_arg(g, a, 1);
    if (op == CLS_OP_MUL && cls_node_op(g, left) == CLS_OP_CONSTANT) return 0;
    return binding_of(g, right) == weak && binding_of(g, left) > weak;
}

static cls_node first_argument(const cls_graph *g, cls_node a) {
    return cls_node_arg(g, a, (size_t)is_swapped(g, a));
}

/* -(x*y) may be written -x*y: the parser reads (-x)*y, and building pulls the sign out of products
 * and quotients again. Not when the leftmost factor swallows the sign: a number, a difference. */
static int tight_minus(const cls_graph *g, cls_node a) {
    while (cls_node_op(g, a) == CLS_OP_MUL || cls_node_op(g, a) == CLS_OP_DIV)
        a = first_argument(g, a);
    cls_op op = cls_node_op(g, a);
    return op != CLS_OP_CONSTANT && op != CLS_OP_SUB;
}

/* 2*(x*y) may be written 2*x*y: the parser reads (2*x)*y, and building lets numbers float to the
 * front again. Not with a fraction among the factors, which would meet the number. */
static int tight_number(const cls_graph *g, cls_node a) {
    while (cls_node_op(g, a) == CLS_OP_MUL) {
        cls_node first = first_argument(g, a), left = cls_node_arg(g, a, 0);
        cls_node other = first == left ? cls_node_arg(g, a, 1) : left;
        if (cls_node_op(g, other) == CLS_OP_DIV) return 0;
        a = first;
    }
    return cls_node_op(g, a) != CLS_OP_DIV;
}

static void write_quotient(clsi_writer *w, cls_node node) {
    const cls_graph *g = w->graph;
    int i, j;
    cls_node_orders(g, node, &i, &j);
    clsi_text_printf(&w->out, "quotient(%s, %d, %d, ",
                     cls_function_name(cls_node_function(g, node)), i, j);
    CLSI_PUSH(w, CLSI_TEXT(")"));
    for (size_t k = cls_node_arg_count(g, node); k-- > 0;)
        CLSI_PUSH(w, CLSI_TEXT(k ? ", " : ""), CLSI_NODE(cls_node_arg(g, node, k), CLSI_SUM));
}

void clsi_write_points(clsi_writer *w, cls_node node, const char *open, const char *between,
                       const char *close) {
    const cls_graph *g = w->graph;
    size_t n = cls_node_arg_count(g, node), d = clsi_view_field(g, node).field->d;
    CLSI_PUSH(w, CLSI_TEXT(close));
    for (size_t k = n; k-- > 0;)
        CLSI_PUSH(w,
                  CLSI_TEXT(k == 0   ? open
                            : k == d ? between
                                     : ", "),
                  CLSI_NODE(cls_node_arg(g, node, k), CLSI_SUM));
}

/* phi1(x, y), phi1[1, 0](x, y) with the orders of derivatives in the inputs, phi1[1]<x, y; a, b> a
 * component of the discrete gradient, phi1[1, u2]<x, y; a, b> its derivative in an input of u. A
 * field has no text that could be parsed. */
static void write_field(clsi_writer *w, cls_node node) {
    clsi_field_view v = clsi_view_field(w->graph, node);
    clsi_text_printf(&w->out, "phi%u", v.which + 1);
    if (v.w != CLS_NO_NODE) {
        clsi_text_printf(&w->out, "[%d", v.index[0] + 1);
        if (v.order > 1)
            clsi_text_printf(&w->out, ", %c%d", v.pass == CLSI_PASS_PAIR_U ? 'u' : 'w',
                             v.index[1] + 1);
        clsi_text_append(&w->out, "]");
    } else if (v.order) {
        for (size_t i = 0; i < v.field->d; i++) {
            int count = 0;
            for (size_t k = 0; k < v.order; k++) count += v.index[k] == i;
            clsi_text_printf(&w->out, "%s%d", i ? ", " : "[", count);
        }
        clsi_text_append(&w->out, "]");
    }
    int pair = v.w != CLS_NO_NODE;
    clsi_write_points(w, node, pair ? "<" : "(", "; ", pair ? ">" : ")");
}

static void write_binary(clsi_writer *w, cls_node node, clsi_binding left, const char *sign,
                         clsi_binding right) {
    cls_node a = cls_node_arg(w->graph, node, 0), b = cls_node_arg(w->graph, node, 1);
    int swap = is_swapped(w->graph, node);
    CLSI_PUSH(w, CLSI_NODE(swap ? b : a, left), CLSI_TEXT(sign), CLSI_NODE(swap ? a : b, right));
}

static void write_product(clsi_writer *w, cls_node node) {
    const cls_graph *g = w->graph;
    int number = cls_node_op(g, cls_node_arg(g, node, 0)) == CLS_OP_CONSTANT;
    int tight = number && tight_number(g, cls_node_arg(g, node, 1));
    write_binary(w, node, CLSI_PRODUCT, "*", tight ? CLSI_PRODUCT : CLSI_POWER);
}

static void write_node(clsi_writer *w, const clsi_piece *piece) {
    const cls_graph *g = w->graph;
    cls_node a = piece->node;
    char number[32];
    if (binding_of(g, a) < piece->binding) {
        CLSI_PUSH(w, CLSI_TEXT("("), CLSI_NODE(a, CLSI_SUM), CLSI_TEXT(")"));
        return;
    }
    switch (cls_node_op(g, a)) {
    case CLS_OP_CONSTANT:
        clsi_format_number(cls_node_value(g, a), number);
        clsi_text_append(&w->out, number);
        return;
    case CLS_OP_SYMBOL: clsi_text_append(&w->out, cls_node_name(g, a)); return;
    case CLS_OP_ADD: write_binary(w, a, CLSI_SUM, " + ", CLSI_PRODUCT); return;
    case CLS_OP_SUB: write_binary(w, a, CLSI_SUM, " - ", CLSI_PRODUCT); return;
    case CLS_OP_MUL: write_product(w, a); return;
    case CLS_OP_DIV: write_binary(w, a, CLSI_PRODUCT, "/", CLSI_POWER); return;
    case CLS_OP_POW: write_binary(w, a, CLSI_ATOM, "^", CLSI_UNARY); return;
    case CLS_OP_NEG:
        a = cls_node_arg(g, a, 0);
        CLSI_PUSH(w, CLSI_TEXT("-"), CLSI_NODE(a, tight_minus(g, a) ? CLSI_PRODUCT : CLSI_POWER));
        return;
    case CLS_OP_FUNCTION:
        CLSI_PUSH(w, CLSI_TEXT(cls_function_name(cls_node_function(g, a))), CLSI_TEXT("("),
                  CLSI_NODE(cls_node_arg(g, a, 0), CLSI_SUM), CLSI_TEXT(")"));
        return;
    case CLS_OP_QUOTIENT: write_quotient(w, a); return;
    case CLS_OP_FIELD: write_field(w, a); return;
    }
}

char *cls_print(const cls_graph *g, cls_node a) {
    if (!g) return NULL;
    return clsi_writer_run(g, a, write_node);
}

void cls_text_free(char **text) {
    if (!text) return;
    free(*text);
    *text = NULL;
}
