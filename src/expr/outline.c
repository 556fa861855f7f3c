/* Which operations a program has, and who does them (outline.h). */
#include "expr/outline.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An operation in two words, which are compared faster than an instruction. */
static uint64_t word_of(uint64_t code, const clsi_node *n, int power) {
    uint64_t rest = n->function | (uint64_t)n->i << 8 | (uint64_t)n->j << 16;
    return code | rest << 8 | (uint64_t)(uint16_t)power << 32;
}

/* A constant integer exponent up to 64 is repeated multiplication, as in cls_pow's folding. */
static clsi_operation_key power_key(const cls_graph *g, const clsi_node *n) {
    const clsi_node *e = &g->nodes[n->arg[1]];
    if (e->op != CLS_OP_CONSTANT || clsi_value(e) != floor(clsi_value(e)) ||
        fabs(clsi_value(e)) > 64)
        return (clsi_operation_key){word_of(CLSI_POW, n, 0), 0};
    int power = (int)clsi_value(e);
    return (clsi_operation_key){word_of(power == 2 ? CLSI_SQUARE : CLSI_POWI, n, power), 0};
}

static inline clsi_operation_key key_of(const cls_graph *g, const clsi_node *n) {
    static const uint8_t codes[] = {
        [CLS_OP_ADD] = CLSI_ADD, [CLS_OP_SUB] = CLSI_SUB,           [CLS_OP_MUL] = CLSI_MUL,
        [CLS_OP_DIV] = CLSI_DIV, [CLS_OP_NEG] = CLSI_NEG,           [CLS_OP_FUNCTION] = CLSI_CALL,
        [CLS_OP_POW] = CLSI_POW, [CLS_OP_QUOTIENT] = CLSI_QUOTIENT, [CLS_OP_FIELD] = CLSI_FIELD};
    clsi_operation_key key = {0, 0};
    if (n->op == CLS_OP_FIELD) return (clsi_operation_key){CLSI_FIELD, 0};
    if (n->op == CLS_OP_POW) return power_key(g, n);
    key.word = word_of(codes[n->op], n, 0);
    if (n->op == CLS_OP_QUOTIENT && n->arg[2] != CLS_NO_NODE)
        memcpy(&key.exponent, &g->nodes[n->arg[2]].arg[1], sizeof key.exponent);
    return key;
}

static clsi_instruction instruction_of(const clsi_operation_key *key) {
    clsi_instruction in;
    memset(&in, 0, sizeof in);
    in.code = (uint8_t)key->word;
    in.function = (uint8_t)(key->word >> 8);
    in.i = (uint8_t)(key->word >> 16);
    in.j = (uint8_t)(key->word >> 24);
    in.power = (int16_t)(uint16_t)(key->word >> 32);
    memcpy(&in.exponent, &key->exponent, sizeof key->exponent);
    return in;
}

static size_t slot_of(const clsi_outline *o, const clsi_operation_key *x) {
    uint64_t h = (x->exponent ^ x->word * 0x9e3779b97f4a7c15u) * 0x9e3779b97f4a7c15u;
    size_t at = (h >> 32) & (o->n_slots - 1);
    for (; o->slots[at]; at = (at + 1) & (o->n_slots - 1)) {
        const clsi_operation_key *key = &o->key[o->slots[at] - 1];
        if (key->word == x->word && key->exponent == x->exponent) break;
    }
    return at;
}

static int grow(clsi_outline *o) {
    if (2 * (o->n_operations + 1) > o->n_slots) {
        free(o->slots);
        o->n_slots = o->n_slots ? 4 * o->n_slots : 64;
        o->slots = clsi_calloc(o->n_slots, sizeof *o->slots);
        for (size_t i = 0; i < o->n_operations && o->slots; i++)
            o->slots[slot_of(o, &o->key[i])] = (uint32_t)i + 1;
    }
    return o->slots && clsi_grow(&o->key, &o->keys_room, o->n_operations + 1, sizeof *o->key) &&
           clsi_grow(&o->operation, &o->room, o->n_operations + 1, sizeof *o->operation);
}

/* 1 + the number of an operation; 0: no memory. */
static uint32_t number_of(clsi_outline *o, const clsi_operation_key *x) {
    if (!grow(o)) return 0;
    size_t at = slot_of(o, x);
    if (o->slots[at]) return o->slots[at];
    o->key[o->n_operations] = *x;
    o->operation[o->n_operations] = instruction_of(x);
    return o->slots[at] = (uint32_t)++o->n_operations;
}

int clsi_outline_open(clsi_outline *o, size_t n) {
    clsi_operation_key sum = {CLSI_ADD, 0};
    *o = (clsi_outline){.of = clsi_malloc((n + 1) * sizeof *o->of),
                        .at = clsi_malloc((n + 1) * sizeof *o->at)};
    clsi_expect_use(o->of, n * sizeof *o->of);
    clsi_expect_use(o->at, n * sizeof *o->at);
    return o->of && o->at && number_of(o, &sum) == CLSI_OUTLINE_SUM + 1;
}

void clsi_outline_close(clsi_outline *o) {
    free(o->operation);
    free(o->key);
    free(o->slots);
    free(o->of);
    free(o->at);
    *o = (clsi_outline){0};
}

int clsi_outline_put(clsi_outline *o, size_t at, const cls_graph *g, cls_node k,
                     const uint32_t *reg) {
    const clsi_node *n = &g->nodes[k];
    uint32_t *recent = &o->recent[(n->op << 5 ^ n->function) % CLSI_OUTLINE_RECENT];
    clsi_operation_key key = key_of(g, n);
    const clsi_operation_key *same = &o->key[*recent];
    if (same->word != key.word || same->exponent != key.exponent) {
        uint32_t number = number_of(o, &key);
        if (!number) return 0;
        *recent = number - 1;
    }
    o->of[at] = *recent;
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
