/* Results that two programs have in common, so that what one has computed the other need not: the
 * monitor of a step and the beginning of the next one, the residual at the end of a step and what
 * follows from it. For machine code, and for exported C, whose programs keep their results in one
 * place (emit_c.c). Points of fields: field_calls.c.
 *
 * Two instructions are the same when their operation is and their operands are, from the inputs on:
 * then they have the same bits. Only functions, roots and quotients count: to add again is cheaper
 * than to keep. Cost: the product of the lengths, which are bounded. */
#include "expr/program.h"
#include <string.h>

enum { LONGEST = 3000 };

int clsi_program_may_share(const cls_program *p) {
    return p && !p->n_takes && p->n_instructions <= LONGEST;
}

static int same_number(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

uint32_t clsi_program_counterpart(const cls_program *a, const cls_program *b, uint32_t r,
                                  const uint32_t *inputs, const uint32_t *same) {
    if (r >= b->n_constants + b->n_inputs) return same[r - b->n_constants - b->n_inputs];
    if (r >= b->n_constants) return inputs[r - b->n_constants];
    for (uint32_t k = 0; k < a->n_constants; k++)
        if (same_number(a->constants[k], b->constants[r])) return k;
    return CLSI_NOT_SHARED;
}

static int same_operation(const clsi_instruction *x, const clsi_instruction *y) {
    int quotient = x->code == CLSI_QUOTIENT || x->code == CLSI_QUOTIENT_FROM;
    int called = quotient || x->code == CLSI_CALL;
    if (x->code != y->code || (called && x->function != y->function)) return 0;
    if (x->code == CLSI_POWI) return x->power == y->power;
    if (x->code == CLSI_POW_FROM) return x->i == y->i;
    if (!quotient) return 1;
    return x->i == y->i && x->j == y->j &&
           (x->function != CLS_FN_POWER || same_number(x->exponent, y->exponent));
}

void clsi_program_match(const cls_program *a, const cls_program *b, size_t n,
                        const uint32_t *inputs, uint32_t *same) {
    uint32_t base = (uint32_t)(a->n_constants + a->n_inputs);
    for (size_t k = 0; k < n; k++) {
        const clsi_instruction *y = &b->code[k];
        int from = y->code == CLSI_QUOTIENT_FROM || y->code == CLSI_POW_FROM;
        same[k] = CLSI_NOT_SHARED;
        if (y->code == CLSI_FIELD) continue;
        uint32_t first = clsi_program_counterpart(a, b, y->a, inputs, same), second = 0, third = 0;
        if (!clsi_is_unary(y)) second = clsi_program_counterpart(a, b, y->b, inputs, same);
        if (from) third = clsi_program_counterpart(a, b, y->v, inputs, same);
        if (first == CLSI_NOT_SHARED || second == CLSI_NOT_SHARED || third == CLSI_NOT_SHARED)
            continue;
        for (size_t j = 0; j < a->n_instructions && same[k] == CLSI_NOT_SHARED; j++) {
            const clsi_instruction *x = &a->code[j];
            if (same_operation(x, y) && x->a == first && (clsi_is_unary(y) || x->b == second) &&
                (!from || x->v == third))
                same[k] = base + (uint32_t)j;
        }
    }
}

int clsi_is_worth_keeping(const clsi_instruction *in) {
    return in->code == CLSI_DIV || in->code == CLSI_POW || in->code == CLSI_CALL ||
           in->code == CLSI_QUOTIENT || in->code == CLSI_QUOTIENT_FROM ||
           in->code == CLSI_POW_FROM || in->code == CLSI_POWI;
}

/* Quotients f[a,b] of the first stage whose f[a,b,b] or f[a,a,b] the last one wants, and `known` there. */
void clsi_program_partners(const cls_program *p, unsigned char *also, uint32_t *partner) {
    for (size_t k = 0; k < p->n_instructions; k++) partner[k] = CLSI_NOT_SHARED;
    for (size_t k = p->end[CLSI_STAGE_EARLY]; k < p->end[CLSI_STAGE_FIRST] && !p->n_takes; k++) {
        const clsi_instruction *x = &p->code[k];
        int from = x->code == CLSI_QUOTIENT_FROM && x->function == CLS_FN_EXP;
        if (!from && !(x->code == CLSI_QUOTIENT && x->function == CLS_FN_LOG)) continue;
        if (x->i + x->j != 2) continue;
        for (size_t j = p->end[CLSI_STAGE_FIRST]; j < p->n_instructions; j++) {
            const clsi_instruction *y = &p->code[j];
            if (y->code != x->code || y->function != x->function || y->i + y->j != 3) continue;
            if (y->a != x->a || y->b != x->b || (from && y->v != x->v)) continue;
            partner[k] = (uint32_t)j;
            also[j] = 1;
            break;
        }
    }
}
