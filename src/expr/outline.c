/* Which operations a program has, and who does them (outline.h). */
#include "expr/outline.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A constant integer exponent up to 64 is repeated multiplication, as in cls_pow's folding. */
static void encode_power(const cls_graph *g, const clsi_node *n, clsi_instruction *in) {
    const clsi_node *e = &g->nodes[n->arg[1]];
    if (e->op != CLS_OP_CONSTANT || clsi_value(e) != floor(clsi_value(e)) ||
        fabs(clsi_value(e)) > 64)
        return;
    in->power = (int16_t)clsi_value(e);
    in->code = in->power == 2 ? CLSI_SQUARE : CLSI_POWI;
}

static clsi_instruction operation_of(const cls_graph *g, cls_node k) {
    static const uint8_t codes[] = {
        [CLS_OP_ADD] = CLSI_ADD, [CLS_OP_SUB] = CLSI_SUB,           [CLS_OP_MUL] = CLSI_MUL,
        [CLS_OP_DIV] = CLSI_DIV, [CLS_OP_NEG] = CLSI_NEG,           [CLS_OP_FUNCTION] = CLSI_CALL,
        [CLS_OP_POW] = CLSI_POW, [CLS_OP_QUOTIENT] = CLSI_QUOTIENT, [CLS_OP_FIELD] = CLSI_FIELD};
    const clsi_node *n = &g->nodes[k];
    clsi_instruction in;
    memset(&in, 0, sizeof in);
    in.code = codes[n->op];
    if (n->op == CLS_OP_FIELD) return in;
    in.function = n->function;
    in.i = n->i;
    in.j = n->j;
    if (n->op == CLS_OP_POW) encode_power(g, n, &in);
    if (n->op == CLS_OP_QUOTIENT && n->arg[2] != CLS_NO_NODE)
        in.exponent = clsi_value(&g->nodes[n->arg[2]]);
    return in;
}

static int is_same(const clsi_instruction *x, const clsi_instruction *y) {
    return memcmp(&x->exponent, &y->exponent, sizeof x->exponent) == 0 && x->code == y->code &&
           x->function == y->function && x->i == y->i && x->j == y->j && x->power == y->power;
}

static size_t slot_of(const clsi_outline *o, const clsi_instruction *x) {
    uint64_t h, rest = x->code | (uint64_t)x->function << 8 | (uint64_t)x->i << 16 |
                       (uint64_t)x->j << 24 | (uint64_t)(uint16_t)x->power << 32;
    memcpy(&h, &x->exponent, sizeof h);
    h = (h ^ rest * 0x9e3779b97f4a7c15u) * 0x9e3779b97f4a7c15u;
    size_t at = (h >> 32) & (o->n_slots - 1);
    while (o->slots[at] && !is_same(&o->operation[o->slots[at] - 1], x))
        at = (at + 1) & (o->n_slots - 1);
    return at;
}

static int grow(clsi_outline *o) {
    if (2 * (o->n_operations + 1) > o->n_slots) {
        free(o->slots);
        o->n_slots = o->n_slots ? 4 * o->n_slots : 64;
        o->slots = clsi_calloc(o->n_slots, sizeof *o->slots);
        for (size_t i = 0; i < o->n_operations && o->slots; i++)
            o->slots[slot_of(o, &o->operation[i])] = (uint32_t)i + 1;
    }
    return o->slots &&
           clsi_grow(&o->operation, &o->room, o->n_operations + 1, sizeof *o->operation);
}

/* 1 + the number of an operation; 0: no memory. */
static uint32_t number_of(clsi_outline *o, const clsi_instruction *x) {
    if (!grow(o)) return 0;
    size_t at = slot_of(o, x);
    if (o->slots[at]) return o->slots[at];
    o->operation[o->n_operations] = *x;
    return o->slots[at] = (uint32_t)++o->n_operations;
}

int clsi_outline_open(clsi_outline *o, size_t n) {
    clsi_instruction sum;
    memset(&sum, 0, sizeof sum);
    sum.code = CLSI_ADD;
    *o = (clsi_outline){.of = clsi_malloc((n + 1) * sizeof *o->of),
                        .at = clsi_malloc((n + 1) * sizeof *o->at)};
    return o->of && o->at && number_of(o, &sum) == CLSI_OUTLINE_SUM + 1;
}

void clsi_outline_close(clsi_outline *o) {
    free(o->operation);
    free(o->slots);
    free(o->of);
    free(o->at);
    *o = (clsi_outline){0};
}

int clsi_outline_put(clsi_outline *o, size_t at, const cls_graph *g, cls_node k,
                     const uint32_t *reg) {
    const clsi_node *n = &g->nodes[k];
    uint32_t *recent = &o->recent[(n->op << 5 ^ n->function) % CLSI_OUTLINE_RECENT];
    clsi_instruction in = operation_of(g, k);
    if (!*recent || !is_same(&o->operation[*recent - 1], &in)) *recent = number_of(o, &in);
    if (!*recent) return 0;
    o->of[at] = *recent - 1;
    uint32_t a = reg[clsi_arg(g, k, 0)];
    int two = n->op != CLS_OP_FIELD && clsi_arg_count(g, k) > 1;
    o->at[at] = (clsi_operands){a, two ? reg[n->arg[1]] : a};
    return 1;
}

clsi_instruction *clsi_outline_write(const clsi_outline *o, size_t n) {
    clsi_instruction *code = clsi_malloc((n + 1) * sizeof *code);
    for (size_t k = 0; k < n && code; k++) {
        code[k] = o->operation[o->of[k]];
        code[k].a = o->at[k].a;
        code[k].b = o->at[k].b;
    }
    return code;
}
