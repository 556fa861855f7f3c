/* Numbers one by one between the groups of a tiled plan, as machine code.
 *
 * Problem: the ends of arrays, and the last levels of sums in pairs, are a few operations at a time; to interpret
 * them (clsi_run_scalars: a call, and a jump for each) took a twentieth of an explicit step of 1,000 cells. Here those that stand
 * behind one another in a phase are straight code: each result goes to its register of the plan, and is in a
 * machine register while there is one. Functions, and long operations, stay where they were. Same operations in the
 * same order, rounded as there: same bits. */
#include "expr/tile_writer.h"
#include "expr/tiles.h"

#if defined(__x86_64__) && defined(__linux__)

enum {
    MOST_SHORT = 16,
    MOST_RUN = 256
};                               /* elements of an operation, of one that was single already */
enum { WORK = 7, MACHINE = 15 }; /* rdi; the last one is a scratch of powers */

static int is_root(const clsi_instruction *in) {
    return in->code == CLSI_CALL && in->function == CLS_FN_SQRT;
}

static int is_short(const clsi_plan *plan, const clsi_vector_op *op) {
    int each = op->kind == CLSI_VECTOR_EACH;
    if (op->n > (each ? MOST_SHORT : MOST_RUN)) return 0;
    for (uint32_t i = 0; i < (each ? 1 : op->n); i++) {
        const clsi_instruction *in = &plan->code[op->first + i];
        if (in->code > CLSI_SQUARE && !(in->code == CLSI_POWI && in->power > 1) && !is_root(in))
            return 0;
    }
    return 1;
}

static int held(const clsi_writer *w, uint32_t reg) {
    for (int m = 0; m < MACHINE; m++)
        if (w->holds[m] == (int)reg) return m;
    return NOBODY;
}

static void put_memory(clsi_writer *w, int opcode, int to, int one, uint32_t reg) {
    clsi_code_opcode(w, 1, opcode, to, one, NOBODY, 0);
    CODE(w, (unsigned char)(0x80 | (to & 7) << 3 | WORK));
    clsi_code_put_number(w, (long long)reg * (long long)sizeof(double));
}

/* In turn: a result is mostly read by the next few. */
static int take(clsi_fuser *f, int not_this) {
    f->next_single = (f->next_single + 1) % MACHINE;
    if (f->next_single == not_this) f->next_single = (f->next_single + 1) % MACHINE;
    return f->next_single;
}

static int fetch(clsi_fuser *f, uint32_t reg) {
    clsi_writer *w = &f->w;
    int m = held(w, reg);
    if (m != NOBODY) return m;
    m = take(f, NOBODY);
    put_memory(w, LOAD, m, 0, reg);
    w->holds[m] = (int)reg;
    return m;
}

/* Its bits but the sign, by whole numbers: the pool has vectors. */
static void put_negative(clsi_writer *w, uint32_t a, uint32_t result) {
    CODE(w, 0x48, 0x8b, 0x80 | WORK); /* mov rax, [rdi + a] */
    clsi_code_put_number(w, (long long)a * (long long)sizeof(double));
    CODE(w, 0x48, 0x0f, 0xba, 0xf8, 0x3f); /* btc rax, 63 */
    CODE(w, 0x48, 0x89, 0x80 | WORK);
    clsi_code_put_number(w, (long long)result * (long long)sizeof(double));
}

static void put_single(clsi_fuser *f, const clsi_instruction *in, uint32_t a, uint32_t b,
                       uint32_t result) {
    static const int opcodes[] = {
        [CLSI_ADD] = ADD, [CLSI_SUB] = SUBTRACT, [CLSI_MUL] = MULTIPLY, [CLSI_DIV] = DIVIDE};
    clsi_writer *w = &f->w;
    if (in->code == CLSI_NEG) {
        put_negative(w, a, result);
        return;
    }
    int one = fetch(f, a), to = take(f, one);
    if (in->code == CLSI_SQUARE) {
        clsi_code_registers(w, MULTIPLY, to, one, one);
    } else if (in->code == CLSI_POWI) {
        clsi_code_power(w, to, one, (unsigned)in->power);
    } else if (is_root(in)) {
        clsi_code_registers(w, ROOT, to, one, one);
    } else {
        int other = held(w, b);
        if (other != NOBODY && other != to)
            clsi_code_registers(w, opcodes[in->code], to, one, other);
        else
            put_memory(w, opcodes[in->code], to, one, b);
    }
    w->holds[to] = (int)result;
    put_memory(w, STORE, to, 0, result);
}

static void put_op(clsi_fuser *f, const clsi_vector_op *op) {
    const clsi_instruction *code = f->plan->code + op->first;
    for (uint32_t i = 0; i < op->n; i++)
        if (op->kind == CLSI_VECTOR_EACH)
            put_single(f, code, op->a + i * op->step_a, op->b + i * op->step_b, op->result + i);
        else
            put_single(f, &code[i], code[i].a, code[i].b, op->result + i);
}

void clsi_fuse_singles(clsi_fuser *f, const clsi_phase *phase) {
    clsi_writer *w = &f->w;
    int width = w->width, n_machine = w->n_machine;
    w->width = SCALAR;
    w->n_machine = MACHINE;
    for (size_t i = phase->first, end = i + phase->n, n; i < end && !w->failed; i += n) {
        for (n = 0; i + n < end && is_short(f->plan, clsi_fuse_op(f, i + n));) n++;
        if (!n) {
            n = 1;
            continue;
        }
        f->made->singles[i] = (clsi_fused_singles){.at = w->length, .n = (uint32_t)n};
        for (int m = 0; m < MACHINE; m++) w->holds[m] = NOBODY;
        for (size_t k = 0; k < n; k++) put_op(f, clsi_fuse_op(f, i + k));
        CODE(w, 0xc3);
    }
    w->width = width;
    w->n_machine = n_machine;
}

#endif
