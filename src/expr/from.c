/* Values that are there already: a program that computes f(a) takes f[a,b] from it.
 *
 * The kernel of a quotient calls its function, once or twice. The discrete gradient of a product wants the
 * function at both ends as well, one of them early, and Newton's method wants the quotient and its
 * derivative: all from the one value (clsi_k_quotient_from). Likewise x^(c-1), the slope of x^c, and
 * x^-c. A value serves only what is computed after it. All ways to run a program see the same
 * instructions, so bits stay equal. Plans (vectorise.c) do without. Cost: linear. */
#include "base/base.h"
#include "expr/graph.h"
#include "expr/program.h"
#include <math.h>
#include <stdlib.h>

enum { NONE = UINT32_MAX, LONGEST = 3000 };

typedef struct values {
    cls_program *p;
    uint32_t first; /* register of the first instruction */
    uint32_t *exp,
        *pow; /* of each register: the instruction that is its exponential, its last power */
    uint32_t *before; /* (n_instructions) the power of the same register before it */
} values;

static int is_constant(const cls_program *p, uint32_t reg) {
    return reg < p->n_constants;
}

/* The register of a^c, or NONE. */
static uint32_t power_of(const values *s, uint32_t a, double c) {
    uint32_t k = s->pow[a];
    while (k != NONE && s->p->constants[s->p->code[k].b] != c) k = s->before[k];
    return k == NONE ? NONE : s->first + k;
}

static uint32_t value_of(const values *s, const clsi_instruction *in, uint32_t a) {
    if (in->function == CLS_FN_EXP) return s->exp[a] == NONE ? NONE : s->first + s->exp[a];
    return in->function == CLS_FN_POWER ? power_of(s, a, in->exponent) : NONE;
}

static void use_quotient(const values *s, clsi_instruction *in) {
    if (in->i + in->j > 3) return;
    uint32_t v = value_of(s, in, in->a);
    if (v == NONE) {
        v = value_of(s, in, in->b);
        if (v == NONE) return;
        uint32_t a = in->a;
        uint8_t i = in->i;
        in->a = in->b, in->b = a;
        in->i = in->j, in->j = i;
    }
    in->code = CLSI_QUOTIENT_FROM;
    in->v = v;
}

static void use_power(const values *s, uint32_t k) {
    clsi_instruction *in = &s->p->code[k];
    if (!is_constant(s->p, in->b)) return;
    double c = s->p->constants[in->b];
    uint32_t inverse = power_of(s, in->a, -c), v = inverse;
    /* c + 1 may be rounded; what was derived from x^(c+1) is c */
    for (uint32_t j = s->pow[in->a]; j != NONE && v == NONE; j = s->before[j])
        if (s->p->constants[s->p->code[j].b] - 1 == c) v = s->first + j;
    if (v == NONE) {
        s->before[k] = s->pow[in->a];
        s->pow[in->a] = k;
        return;
    }
    in->code = CLSI_POW_FROM;
    in->i = inverse != NONE;
    in->v = v;
}

static void use_values(const values *s) {
    for (uint32_t k = 0; k < s->p->n_instructions; k++) {
        clsi_instruction *in = &s->p->code[k];
        if (in->code == CLSI_CALL && in->function == CLS_FN_EXP && s->exp[in->a] == NONE)
            s->exp[in->a] = k;
        if (in->code == CLSI_POW) use_power(s, k);
        if (in->code == CLSI_QUOTIENT) use_quotient(s, in);
        if (in->code == CLSI_QUOTIENT_FROM || in->code == CLSI_POW_FROM) in->jump = in->code;
    }
}

static int is_gained(const cls_program *p) {
    for (size_t k = 0; k < p->n_instructions; k++)
        if (p->code[k].code == CLSI_QUOTIENT || p->code[k].code == CLSI_POW) return 1;
    return 0;
}

cls_status clsi_program_use_values(cls_program *p, cls_error *error) {
    if (!is_gained(p)) return CLS_OK;
    size_t registers = p->n_constants + p->n_inputs + p->n_instructions;
    uint32_t *all = clsi_malloc((2 * registers + p->n_instructions) * sizeof *all);
    if (!all) return clsi_no_memory(error);
    for (size_t k = 0; k < 2 * registers + p->n_instructions; k++) all[k] = NONE;
    use_values(&(values){p, (uint32_t)(p->n_constants + p->n_inputs), all, all + registers,
                         all + 2 * registers});
    free(all);
    return CLS_OK;
}

/* ---- values that another program has ---- */

static int is_value(const cls_graph *g, const clsi_node *q, cls_node at, const clsi_node *n) {
    if (n->op == CLS_OP_FUNCTION)
        return q->function == CLS_FN_EXP && n->function == CLS_FN_EXP && n->arg[0] == at;
    return n->op == CLS_OP_POW && q->function == CLS_FN_POWER && n->arg[0] == at &&
           n->arg[1] == q->arg[2] && g->nodes[n->arg[1]].op == CLS_OP_CONSTANT;
}

/* Appends the value from which the quotient q can be had, if `of` has one. */
static size_t add_value(const cls_graph *g, const clsi_node *q, cls_node at, const clsi_cone *of,
                        size_t count, cls_node *out) {
    for (size_t k = 0; k < of->n; k++) {
        if (!is_value(g, q, at, &g->nodes[of->node[k]])) continue;
        for (size_t i = 0; i < count; i++)
            if (out[i] == of->node[k]) return count;
        if (count < CLSI_VALUES_MOST) out[count++] = of->node[k];
        return count;
    }
    return count;
}

size_t clsi_values_in_common(const cls_graph *g, size_t n, const cls_node *nodes, size_t n_others,
                             const cls_node *others, size_t n_late, const cls_node *late,
                             cls_node out[CLSI_VALUES_MOST]) {
    clsi_cone mine, theirs;
    size_t count = 0;
    if (n > LONGEST || n_others > LONGEST) return 0; /* without looking */
    int ok = clsi_cone_create(g, n, nodes, &mine);
    ok &= clsi_cone_create(g, n_others, others, &theirs);
    unsigned char *active = clsi_calloc(mine.n + 1, 1);
    if (ok && active && mine.n <= LONGEST && theirs.n <= LONGEST) {
        clsi_cone_active(g, &mine, n_late, late, active);
        for (size_t k = 0; k < mine.n; k++) {
            const clsi_node *q = &g->nodes[mine.node[k]];
            if (q->op != CLS_OP_QUOTIENT || q->i + q->j > 3) continue;
            for (int end = 0; end < 2; end++) {
                uint32_t at = clsi_cone_at(&mine, q->arg[end]);
                if (at && !active[at - 1] && active[k])
                    count = add_value(g, q, q->arg[end], &theirs, count, out);
            }
        }
    }
    free(active);
    clsi_cone_free(&mine);
    clsi_cone_free(&theirs);
    return ok && active ? count : SIZE_MAX;
}

size_t clsi_program_keep_outputs(cls_program *p, size_t n, size_t n_values, cls_node *list) {
    size_t used = 0;
    for (size_t k = 0; k < n_values; k++)
        for (size_t i = 0; i < p->n_instructions; i++)
            if (p->code[i].code == CLSI_QUOTIENT_FROM && p->code[i].v == p->outputs[n + k]) {
                list[used++] = list[k];
                break;
            }
    p->n_outputs = n;
    p->n_first_outputs = n;
    return p->plan ? 0 : used;
}
