/* Which functions of a program are computed two at a time (pairs.inc), and the order of its instructions then.
 *
 * Both of a pair must be ready before either is used. So instructions go by levels: how many functions, one
 * inside of the other, lead to a result. Two functions of one level do not depend on each other, and with the
 * levels one after the other, functions first, every operand stands before its use. Cost: the length times
 * the number of functions, which are bounded (shared.c). */
#include "base/base.h"
#include "expr/emit.h"
#include <stdlib.h>

/* Of an instruction: the kind of function that has a pair; 0: none has. */
static int kind_of(const clsi_instruction *in) {
    if (in->code == CLSI_POW) return 1;
    if (in->code != CLSI_CALL) return 0;
    return in->function == CLS_FN_EXP ? 2 : in->function == CLS_FN_LOG ? 3 : 0;
}

const char *clsi_pair_name(const clsi_instruction *in) {
    static const char *const names[] = {NULL, "clsi_k_pow_2", "clsi_k_exp_2", "clsi_k_log_2"};
    return names[kind_of(in)];
}

static uint32_t level_of(const clsi_twins *pairs, uint32_t base, uint32_t reg) {
    return reg < base + pairs->first ? 0 : pairs->level[reg - base - pairs->first];
}

/* The level of each instruction that is written; the highest. */
static uint32_t find_levels(const cls_program *p, const unsigned char *live, clsi_twins *pairs) {
    uint32_t base = (uint32_t)(p->n_constants + p->n_inputs), highest = 0;
    for (size_t i = 0; i < pairs->n; i++) {
        const clsi_instruction *in = &p->code[pairs->first + i];
        pairs->level[i] = 0;
        if (!live[pairs->first + i]) continue; /* it is read from where it is kept */
        uint32_t level = level_of(pairs, base, in->a), other = 0;
        if (!clsi_is_unary(in)) other = level_of(pairs, base, in->b);
        if (other > level) level = other;
        if (clsi_takes_value(in)) other = level_of(pairs, base, in->v);
        if (other > level) level = other;
        pairs->level[i] = level + (kind_of(in) != 0);
        if (pairs->level[i] > highest) highest = pairs->level[i];
    }
    return highest;
}

/* The next function like the one at i, of its level, that is alone; n: there is none. */
static size_t like(const cls_program *p, const unsigned char *live, const clsi_twins *pairs,
                   size_t i) {
    const clsi_instruction *x = &p->code[pairs->first + i];
    for (size_t j = i + 1; j < pairs->n; j++) {
        const clsi_instruction *y = &p->code[pairs->first + j];
        if (live[pairs->first + j] && kind_of(y) == kind_of(x) &&
            (x->code != CLSI_POW || x->b == y->b) && pairs->level[j] == pairs->level[i] &&
            pairs->twin[j] == CLSI_NOT_SHARED)
            return j;
    }
    return pairs->n;
}

static size_t find_twins(const cls_program *p, const unsigned char *live, clsi_twins *pairs) {
    size_t found = 0;
    for (size_t i = 0; i < pairs->n; i++) pairs->twin[i] = CLSI_NOT_SHARED;
    for (size_t i = 0; i < pairs->n; i++) {
        const clsi_instruction *in = &p->code[pairs->first + i];
        if (!live[pairs->first + i] || !kind_of(in) || pairs->twin[i] != CLSI_NOT_SHARED) continue;
        size_t j = like(p, live, pairs, i);
        if (j == pairs->n) continue;
        pairs->twin[i] = (uint32_t)(pairs->first + j);
        pairs->twin[j] = (uint32_t)(pairs->first + i);
        found++;
    }
    return found;
}

int clsi_find_twins(const cls_program *p, size_t first, size_t last, const unsigned char *live,
                    clsi_twins *pairs) {
    size_t n = last - first;
    *pairs = (clsi_twins){.first = first, .n = n};
    if (!clsi_program_may_share(p) || !n) return 1;
    pairs->twin = clsi_calloc(3 * n, sizeof *pairs->twin);
    if (!pairs->twin) return 0;
    pairs->level = pairs->twin + n;
    pairs->order = pairs->twin + 2 * n;
    uint32_t highest = find_levels(p, live, pairs);
    if (!find_twins(p, live, pairs)) {
        clsi_twins_clear(pairs);
        return 1;
    }
    size_t at = 0;
    for (uint32_t level = 0; level <= highest; level++)
        for (int function = 1; function >= 0; function--)
            for (size_t i = 0; i < n; i++)
                if (pairs->level[i] == level &&
                    (kind_of(&p->code[first + i]) && live[first + i]) == function)
                    pairs->order[at++] = (uint32_t)(first + i);
    return 1;
}

void clsi_twins_clear(clsi_twins *pairs) {
    free(pairs->twin);
    *pairs = (clsi_twins){0};
}
