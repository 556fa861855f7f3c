/* Roots that are absolute values: sqrt(x^2) and sqrt(x^2 + c) with a constant c next to nothing.
 *
 * Formulas have no abs, and where a step needs |x| it has such a root (the sizes of entropies, the damping of
 * conduction). Unless squaring leaves the normal numbers, sqrt(x*x) is |x| to the bit; and c is lost in the sum
 * where it is below half of the last place of x*x, from |x| = 2^27 sqrt(c) on. So the root is marked, with x and
 * that number; machine code asks first (native_code.c). All others see a root as it stands: same bits. */
#include "expr/program.h"
#include <math.h>

int clsi_is_norm(const clsi_instruction *in) {
    return in->code == CLSI_CALL && in->function == CLS_FN_SQRT && in->i;
}

/* The instruction that makes a register, or NULL. */
static const clsi_instruction *maker(const cls_program *p, uint32_t r) {
    size_t first = p->n_constants + p->n_inputs;
    return r < first ? NULL : &p->code[r - first];
}

/* Above, the root is worth more than the question. */
static const double most = 1e-20;

void clsi_program_find_norms(cls_program *p) {
    for (size_t k = 0; k < p->n_instructions; k++) {
        clsi_instruction *in = &p->code[k];
        if (in->code != CLSI_CALL || in->function != CLS_FN_SQRT) continue;
        const clsi_instruction *of = maker(p, in->a);
        double c = 0;
        if (of && of->code == CLSI_ADD) {
            uint32_t small = of->b < p->n_constants ? of->b : of->a;
            if (small >= p->n_constants) continue;
            c = p->constants[small];
            of = maker(p, small == of->b ? of->a : of->b);
        }
        if (!of || of->code != CLSI_SQUARE || !(c >= 0 && c <= most)) continue;
        in->b = of->a;
        in->i = 1;
        in->exponent = fmax(1e-150, sqrt(c) * 0x1p27 * 1.01);
    }
}
