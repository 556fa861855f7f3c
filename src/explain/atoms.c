/* The dictionary of a part: elementary functions of its variables, and products of two of them.
 *
 * Which functions make sense is known from the variable: of velocities and momenta even powers
 * alone, of positive ones powers with negative and broken exponents and logarithms, sines and
 * exponentials only of what has no unit. */
#include "explain/formulas.h"
#include <stdlib.h>

enum { MAX_ATOMS = 16 };

typedef struct atoms {
    size_t n;
    cls_node node[MAX_ATOMS];
} atoms;

static void power(cls_graph *g, const clsi_base *b, double exponent, atoms *out) {
    out->node[out->n++] = cls_pow(g, b->node, cls_constant(g, exponent));
}

static void make(cls_graph *g, const clsi_base *b, atoms *out) {
    static const double broken[] = {-2, -1, -2.0 / 3, -0.5, 0.5, 2.0 / 3, 3};
    out->n = 0;
    power(g, b, 2, out);
    if (b->even) {
        power(g, b, 4, out);
        return;
    }
    out->node[out->n++] = b->node;
    if (b->low > 0) {
        for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) power(g, b, broken[i], out);
    }
    if (b->low > 0 && b->logarithms) {
        cls_node log = cls_apply(g, CLS_FN_LOG, b->node);
        out->node[out->n++] = log;
        out->node[out->n++] = cls_mul(g, b->node, log);
    }
    if (!(b->low > 0)) {
        power(g, b, 3, out);
        power(g, b, 4, out);
    }
    if (!b->pure && !b->entropy) return;
    out->node[out->n++] = cls_apply(g, CLS_FN_EXP, b->node);
    if (b->entropy) return;
    out->node[out->n++] = cls_apply(g, CLS_FN_EXP, cls_neg(g, b->node));
    if (b->low > 0) return;
    out->node[out->n++] = cls_apply(g, CLS_FN_SIN, b->node);
    out->node[out->n++] = cls_apply(g, CLS_FN_COS, b->node);
}

/* Whole positive powers are short to read, inverses and functions less so, broken powers least; of a
 * product the product, so that a linear factor costs nothing. */
static double cost_of(cls_graph *g, cls_node x) {
    cls_op op = cls_node_op(g, x);
    if (op == CLS_OP_CONSTANT || op == CLS_OP_SYMBOL) return 1;
    if (op == CLS_OP_FUNCTION) return 1.5 * cost_of(g, cls_node_arg(g, x, 0));
    if (op == CLS_OP_NEG) return cost_of(g, cls_node_arg(g, x, 0));
    if (op == CLS_OP_POW) {
        double e = cls_node_value(g, cls_node_arg(g, x, 1));
        double by = e != (double)(int)e ? 2 : e > 0 ? 1 + 0.1 * e : 1.4 - 0.1 * e;
        return by * cost_of(g, cls_node_arg(g, x, 0));
    }
    double cost = op == CLS_OP_DIV ? 1.5 : 1;
    for (size_t i = 0; i < cls_node_arg_count(g, x); i++) cost *= cost_of(g, cls_node_arg(g, x, i));
    return cost;
}

cls_status clsi_dictionary_add(cls_graph *g, cls_node node, clsi_dictionary *out,
                               cls_error *error) {
    if (node == CLS_NO_NODE) return clsi_no_memory(error);
    for (size_t i = 0; i < out->n; i++)
        if (out->node[i] == node) return CLS_OK;
    if (!clsi_grow(&out->node, &out->capacity, out->n + 1, sizeof *out->node) ||
        !clsi_grow(&out->text, &out->other_capacity, out->n + 1, sizeof *out->text) ||
        !clsi_grow(&out->cost, &out->third_capacity, out->n + 1, sizeof *out->cost))
        return clsi_no_memory(error);
    char *text = cls_print(g, node), *own = text ? clsi_strdup(text) : NULL;
    cls_text_free(&text);
    if (!own) return clsi_no_memory(error);
    out->text[out->n] = own;
    out->cost[out->n] = cost_of(g, node);
    out->node[out->n++] = node;
    return CLS_OK;
}

cls_status clsi_dictionary_learned(const cls_system *s, const clsi_learned *l, clsi_dictionary *out,
                                   cls_error *error) {
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    size_t n = l->field->n_parameters;
    if (!l->field->kind->raw) return CLS_OK;
    double *one = clsi_calloc(n + 1, sizeof *one);
    cls_status status =
        one && clsi_learned_inputs(l, s, x) == CLS_OK ? CLS_OK : clsi_no_memory(error);
    for (size_t k = 0; k < n && status == CLS_OK; k++) {
        one[k] = 1;
        status =
            clsi_dictionary_add(s->g, clsi_field_expression(l->field, s->g, x, one), out, error);
        one[k] = 0;
    }
    free(one);
    return status;
}

cls_status clsi_dictionary_fill(cls_graph *g, size_t n, const clsi_base *bases, size_t most,
                                clsi_dictionary *out, cls_error *error) {
    atoms *all = clsi_calloc(n + 1, sizeof *all);
    if (!all) return clsi_no_memory(error);
    cls_status status = CLS_OK;
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        make(g, &bases[i], &all[i]);
        for (size_t k = 0; k < all[i].n && status == CLS_OK; k++)
            status = clsi_dictionary_add(g, all[i].node[k], out, error);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            for (size_t k = 0; k < all[i].n && status == CLS_OK; k++)
                for (size_t l = 0; l < all[j].n && status == CLS_OK && out->n < most; l++)
                    status = clsi_dictionary_add(g, cls_mul(g, all[i].node[k], all[j].node[l]), out,
                                                 error);
    free(all);
    return status;
}

void clsi_dictionary_clear(clsi_dictionary *d) {
    for (size_t i = 0; i < d->n; i++) free(d->text[i]);
    free(d->text);
    free(d->node);
    free(d->cost);
    *d = (clsi_dictionary){0};
}
