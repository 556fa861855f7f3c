/* Vectors of a tile as machine code, operation by operation: bytes, machine registers, operands, exp
 * (tile_code.c has the rest).
 *
 * An instruction is written once for each of the vectors that the code works on at once: neither waits for the
 * other. Of a full set of machine registers the result goes that is read last; it is in scratch, or goes there. */
#include "expr/kernels.h"
#include "expr/tile_writer.h"
#include "expr/tiles.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__)

enum { WORK = 7, SCRATCH = 6, OUT = 2, BASE = 1, ROOM = 9 }; /* rdi, rsi, rdx, rcx, r9 */
enum { ALIGN = 0x03, HALVES = 0x06, SHUFFLE = 0xc6, SPREAD = 0x19, BITS = 0x73, ADD_BITS = 0xd4 };
/* ---- what a tile reads and writes ---- */

int clsi_fuse_local_maker(const clsi_fuser *f, size_t i, uint32_t a, int step, int64_t *delay) {
    const clsi_plan *plan = f->plan;
    size_t k = step == 1 ? clsi_tiles_maker(plan, a) : plan->n_ops;
    *delay = 0;
    if (k == plan->n_ops || plan->ops[k].result > a) return NOBODY;
    uint32_t m = f->place[k];
    if (m < f->phase->first || m >= i) return NOBODY;
    *delay = plan->tiles[i].shift - plan->tiles[m].shift - ((int64_t)a - plan->ops[k].result);
    return (int)m;
}

/* A place at the time that the pointers are at; in numbers. */
typedef struct place {
    int base;
    int64_t at;
    int all; /* one number for all cells */
} place;

static place own_place(const clsi_fuser *f, size_t i) {
    const clsi_tile *tile = &f->plan->tiles[i];
    if (clsi_fuse_kept(f, i))
        return (place){WORK, (int64_t)clsi_fuse_op(f, i)->result - tile->shift, 0};
    return (place){SCRATCH, tile->result, 0};
}

/* ---- bytes ---- */

/* Memory that is read may be beside what is meant, but not beside the work. */
static void check_place(clsi_fuser *f, place p) {
    int64_t size = (int64_t)clsi_plan_size(f->plan), end = f->phase->end + 2 * f->w.width;
    if (p.base == WORK && (p.at + f->phase->begin < 0 || p.at + end > size)) f->unfit = 1;
}

/* Machine register m for vector v; NOBODY: none. */
static int for_vector(const clsi_fuser *f, int v, int m) {
    return m == NOBODY ? 0 : v && m < f->most ? m + f->most : m;
}

/* The byte that ends some instructions. */
static void put_last(clsi_fuser *f, int last) {
    if (last != NOBODY) CODE(&f->w, (unsigned char)last);
}

/* What follows writes an instruction for each vector in turn: neither waits for the other. to <- one op p: */
static void put_at(clsi_fuser *f, int map, int opcode, int to, int one, place p, unsigned how,
                   int last) {
    clsi_writer *w = &f->w;
    int moves = p.base == WORK || p.base == SCRATCH || p.base == OUT;
    check_place(f, p);
    for (int v = 0; v < f->vectors; v++) {
        clsi_code_opcode(w, map, opcode, for_vector(f, v, to), for_vector(f, v, one),
                         p.base > 7 ? NOBODY - 1 : NOBODY, how);
        CODE(w, (unsigned char)(0x80 | (for_vector(f, v, to) & 7) << 3 | (p.base & 7)));
        clsi_code_put_number(w, (p.at + (moves ? v * w->width : 0)) * (int64_t)sizeof(double));
        put_last(f, last);
    }
}

static void put_registers(clsi_fuser *f, int opcode, int to, int one, int other, int last) {
    for (int v = 0; v < f->vectors; v++) {
        clsi_code_registers(&f->w, opcode, for_vector(f, v, to), for_vector(f, v, one),
                            for_vector(f, v, other));
        put_last(f, last);
    }
}

static void put_load(clsi_fuser *f, int to, place p) {
    if (p.all)
        put_at(f, 2, SPREAD, to, NOBODY, p, 0, NOBODY);
    else
        put_at(f, 1, LOAD, to, NOBODY, p, 0, NOBODY);
}

static void put_save(clsi_fuser *f, int from, place p) {
    put_at(f, 1, STORE, from, NOBODY, p, 0, NOBODY);
}

/* ---- machine registers ---- */

static void let_go(clsi_fuser *f, int m) {
    int i = f->w.holds[m];
    if (i == NOBODY) return;
    f->where[i] = NOBODY;
    f->w.holds[m] = NOBODY;
}

static int reads(const clsi_fuser *f, size_t reader, size_t i) {
    const clsi_vector_op *op = clsi_fuse_op(f, reader);
    int64_t delay;
    return clsi_fuse_local_maker(f, reader, op->a, op->step_a, &delay) == (int)i ||
           clsi_fuse_local_maker(f, reader, op->b, op->step_b, &delay) == (int)i;
}

static size_t next_read(const clsi_fuser *f, size_t i, size_t now) {
    for (now++; now < f->last[i]; now++)
        if (reads(f, now, i)) break;
    return now;
}

/* A free one, which is then busy; of a full set the one goes that is read last. `now`: the tile at hand. */
static int take(clsi_fuser *f, size_t now) {
    int best = NOBODY;
    size_t latest = 0;
    for (int m = 0; m < f->top; m++) {
        if (f->busy >> m & 1) continue;
        if (f->w.holds[m] == NOBODY) {
            best = m;
            break;
        }
        size_t read = next_read(f, (size_t)f->w.holds[m], now);
        if (best == NOBODY || read > latest) best = m, latest = read;
    }
    size_t i = f->w.holds[best] == NOBODY ? SIZE_MAX : (size_t)f->w.holds[best];
    if (i != SIZE_MAX && !f->stored[i] && !clsi_fuse_kept(f, i)) put_save(f, best, own_place(f, i));
    let_go(f, best);
    f->busy |= 1u << best;
    if (best >= f->most) f->most = best + 1;
    return best;
}

/* Result i at the time at hand. */
static int fetch(clsi_fuser *f, size_t i, size_t now) {
    if (f->where[i] == NOBODY) {
        int m = take(f, now);
        put_load(f, m, own_place(f, i));
        f->where[i] = m;
        f->w.holds[m] = (int)i;
    }
    f->busy |= 1u << f->where[i];
    return f->where[i];
}

/* ---- constants ---- */

/* The machine register that has it, or NOBODY. */
static int constant_in(clsi_fuser *f, int64_t at, double pooled) {
    struct constant *c = f->constant, *end = c + f->n_constants;
    if (f->edge) return NOBODY;
    while (c < end && (c->place != at || memcmp(&c->pooled, &pooled, sizeof pooled) != 0)) c++;
    if (c == end) {
        if (f->n_constants == CLSI_FUSED_CONSTANTS) return NOBODY;
        *c = (struct constant){pooled, at, 0, NOBODY};
        f->n_constants++;
    }
    c->uses++;
    return c->reg;
}

/* to <- one op the number, for vector v. */
static void put_number_for(clsi_fuser *f, int v, int opcode, int to, int one, double x, int last) {
    int m = constant_in(f, -1, x);
    to = for_vector(f, v, to);
    one = for_vector(f, v, one);
    if (m != NOBODY)
        clsi_code_registers(&f->w, opcode, to, one, m);
    else
        clsi_code_pooled(&f->w, opcode, to, one, x, last != NOBODY);
    put_last(f, last);
}

static void put_number(clsi_fuser *f, int opcode, int to, int one, double x) {
    for (int v = 0; v < f->vectors; v++) put_number_for(f, v, opcode, to, one, x, NOBODY);
}

static int by_uses(const void *left, const void *right) {
    const struct constant *a = left, *b = right;
    return (a->uses < b->uses) - (a->uses > b->uses);
}

void clsi_fuse_constants(clsi_fuser *f) {
    qsort(f->constant, f->n_constants, sizeof *f->constant, by_uses);
    f->top = f->w.n_machine;
    int most = f->most * f->vectors, vectors = f->vectors;
    f->vectors = 1;
    for (size_t k = 0; k < f->n_constants && f->top > most; k++) {
        struct constant *c = &f->constant[k];
        c->reg = --f->top;
        if (c->place < 0)
            clsi_code_pooled(&f->w, LOAD, c->reg, 0, c->pooled, 0);
        else
            put_load(f, c->reg, (place){BASE, c->place, 1});
    }
    f->vectors = vectors;
}

/* ---- operands ---- */

typedef struct operand {
    int reg; /* or NOBODY: */
    place at;
} operand;

/* Cells e before those of `now`, from these and the vector before. */
static int put_together(clsi_fuser *f, int now, place before, int e, size_t tile) {
    clsi_writer *w = &f->w;
    int to = take(f, tile);
    if (w->width == WHOLE) {
        int vectors = f->vectors;
        f->vectors = 1;
        put_at(f, 3, ALIGN, to, now, before, 0, WHOLE - e);
        f->vectors = vectors;
        if (vectors > 1) { /* of the second one the vector before is at hand */
            int second = for_vector(f, 1, to);
            clsi_code_opcode(w, 3, ALIGN, second, for_vector(f, 1, now), now, 0);
            CODE(w, (unsigned char)(0xc0 | (second & 7) << 3 | (now & 7)));
            put_last(f, WHOLE - e);
        }
        return to;
    }
    put_at(f, 3, HALVES, to, now, before, 0, 0x03); /* the two cells before the middle */
    if (e == 1) {
        put_registers(f, SHUFFLE, to, to, now, 0x05);
    } else if (e == 3) {
        int low = take(f, tile);
        put_load(f, low, before);
        put_registers(f, SHUFFLE, to, low, to, 0x05);
    }
    return to;
}

/* Result m of the same piece, `delay` cells before. */
static operand local_operand(clsi_fuser *f, size_t i, size_t m, int64_t delay) {
    int width = f->w.width, whole = (int)(delay / width), e = (int)(delay % width);
    place own = own_place(f, m), before = own;
    own.at -= (int64_t)whole * width;
    before.at = own.at - width;
    if (delay == 0) return (operand){.reg = fetch(f, m, i)};
    if (e == 0) return (operand){NOBODY, own};
    if (whole > 1) return (operand){NOBODY, {own.base, own.at - e, 0}}; /* stored long ago */
    int now = whole ? take(f, i) : fetch(f, m, i);
    if (whole) put_load(f, now, own);
    return (operand){.reg = put_together(f, now, before, e, i)};
}

static operand find_operand(clsi_fuser *f, size_t i, int second) {
    const clsi_tile *tile = &f->plan->tiles[i];
    const clsi_vector_op *op = clsi_fuse_op(f, i);
    uint32_t a = second ? op->b : op->a, in_scratch = second ? tile->b : tile->a;
    int step = second ? op->step_b : op->step_a;
    int64_t delay;
    if (!step) return (operand){constant_in(f, a, 0), {BASE, a, 1}};
    int m = clsi_fuse_local_maker(f, i, a, step, &delay);
    if (m >= (int)f->piece->first) return local_operand(f, i, (size_t)m, delay);
    if (in_scratch != CLSI_IN_REGISTERS) return (operand){NOBODY, {SCRATCH, in_scratch, 0}};
    return (operand){NOBODY, {WORK, (int64_t)a - tile->shift, 0}};
}

static int to_register(clsi_fuser *f, operand o, size_t i) {
    if (o.reg != NOBODY) return o.reg;
    int m = take(f, i);
    put_load(f, m, o.at);
    return m;
}

/* ---- exp ---- */

/* As exp_parts of elementary_loops.h, operation by operation. */
static const double exp_numbers[] = {0x1.71547652b82fep0,  0x1.8p52, 0x1.62e42fefa38p-1,
                                     0x1.ef35793c7673p-45, 1,        708};
enum { SCALE, SHIFT, HIGH, LOW, ONE_, MOST_EXP, EXP_NUMBERS };

static int is_exp(const clsi_instruction *in) {
    return in->code == CLSI_CALL && in->function == CLS_FN_EXP;
}

static void pool_exp(clsi_writer *w) {
    (void)clsi_code_find_pooled(w, clsi_code_no_bits());
    for (int k = 0; k < EXP_NUMBERS; k++) (void)clsi_code_find_pooled(w, exp_numbers[k]);
    for (int k = 0; k < CLSI_EXP_RESTS; k++) (void)clsi_code_find_pooled(w, clsi_exp_rests()[k]);
}

/* x of one vector, and behind it exp(x), where that is not for vectors. */
static void mend_exp(double *x, long width) {
    for (long i = 0; i < width; i++)
        if (!(fabs(x[i]) <= exp_numbers[MOST_EXP]))
            x[WHOLE + i] = clsi_function_value(CLS_FN_EXP, x[i]);
}

/* Machine register m to or from [rsp + at]. */
static void put_stack(clsi_writer *w, int opcode, int m, int at) {
    clsi_code_opcode(w, 1, opcode, m, 0, NOBODY, 0);
    CODE(w, (unsigned char)(0x84 | (m & 7) << 3), 0x24);
    clsi_code_put_number(w, at);
}

/* Calls mend_exp for what is on the stack and changes no register. */
void clsi_fuse_mender(clsi_writer *w) {
    void (*mend)(double *, long) = mend_exp;
    unsigned char address[sizeof mend];
    memcpy(address, &mend, sizeof mend);
    CODE(w, 0x57, 0x56, 0x52, 0x51, 0x41, 0x50, 0x41, 0x51, 0x55); /* push rdi ... r9, rbp */
    CODE(w, 0x48, 0x8d, 0x7c, 0x24, 0x40);                         /* lea rdi, [rsp + 64] */
    CODE(w, 0xbe, (unsigned char)w->width, 0, 0, 0);               /* mov esi, width */
    CODE(w, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0, 8, 0, 0);       /* mov rbp, rsp; sub rsp, 2048 */
    CODE(w, 0x48, 0x83, 0xe4, 0xc0);                               /* and rsp, -64 */
    for (int m = 0; m <= w->n_machine; m++) put_stack(w, STORE, m, 64 * m);
    CODE(w, 0xc5, 0xf8, 0x77, 0x48, 0xb8); /* vzeroupper; mov rax */
    clsi_code_put(w, sizeof address, address);
    CODE(w, 0xff, 0xd0); /* call rax */
    for (int m = 0; m <= w->n_machine; m++) put_stack(w, LOAD, m, 64 * m);
    CODE(w, 0x48, 0x89, 0xec, 0x5d, 0x41, 0x59, 0x41, 0x58, 0x59, 0x5a, 0x5e, 0x5f, 0xc3);
}

/* exp(x) of vector v in `to` is mended where |x| is larger, or none; `room` is of no use any more. */
static void put_question(clsi_fuser *f, int v, int x, int to, int room) {
    clsi_writer *w = &f->w;
    put_number_for(f, v, CLEAR, room, x, clsi_code_no_bits(), NOBODY);
    if (w->width == WHOLE) { /* to k1 */
        clsi_code_pooled(w, MASK, 1, for_vector(f, v, room), exp_numbers[MOST_EXP], 1);
        CODE(w, 0x06, 0xc5, 0xf8, 0x98, 0xc9); /* kortestw k1, k1 */
    } else {
        put_number_for(f, v, MASK, room, room, exp_numbers[MOST_EXP], 0x06);
        clsi_code_registers(w, SIGNS, 0, 0, for_vector(f, v, room));
        CODE(w, 0x85, 0xc0); /* test eax, eax */
    }
    CODE(w, 0x74, 0); /* jz behind */
    size_t jump = w->length;
    CODE(w, 0x48, 0x81, 0xec, 0x80, 0, 0, 0); /* sub rsp, 128 */
    put_stack(w, STORE, for_vector(f, v, x), 0);
    put_stack(w, STORE, for_vector(f, v, to), 64);
    CODE(w, 0xe8); /* call */
    clsi_code_put_number(w, (long long)f->mender - (long long)(w->length + 4));
    put_stack(w, LOAD, for_vector(f, v, to), 64);
    CODE(w, 0x48, 0x81, 0xc4, 0x80, 0, 0, 0);
    if (!w->failed) w->bytes[jump - 1] = (unsigned char)(w->length - jump);
}

/* to <- c0 + c1 r */
static void put_line(clsi_fuser *f, int to, int r, const double *c) {
    put_number(f, MULTIPLY, to, r, c[1]);
    put_number(f, ADD, to, to, c[0]);
}

/* to <- to + (c0 + c1 r) r2 */
static void put_more(clsi_fuser *f, int to, int r, int r2, const double *c, int room) {
    put_line(f, room, r, c);
    put_registers(f, MULTIPLY, room, room, r2, NOBODY);
    put_registers(f, ADD, to, to, room, NOBODY);
}

static int put_exp(clsi_fuser *f, int x, size_t i) {
    clsi_writer *w = &f->w;
    const double *c = clsi_exp_rests(), *n = exp_numbers;
    int shifted = take(f, i), r = take(f, i), r2 = take(f, i), r4 = take(f, i), sum = take(f, i),
        part = take(f, i), room = take(f, i);
    put_number(f, MULTIPLY, shifted, x, n[SCALE]);
    put_number(f, ADD, shifted, shifted, n[SHIFT]);
    put_number(f, SUBTRACT, r4, shifted, n[SHIFT]); /* k */
    put_number(f, MULTIPLY, r2, r4, n[HIGH]);
    put_registers(f, SUBTRACT, r, x, r2, NOBODY);
    put_number(f, MULTIPLY, r2, r4, n[LOW]);
    put_registers(f, SUBTRACT, r, r, r2, NOBODY);
    put_registers(f, MULTIPLY, r2, r, r, NOBODY);
    put_registers(f, MULTIPLY, r4, r2, r2, NOBODY);
    put_line(f, part, r, c + 8); /* high */
    put_number(f, MULTIPLY, room, r2, c[10]);
    put_registers(f, ADD, part, part, room, NOBODY);
    put_registers(f, MULTIPLY, part, part, r4, NOBODY);
    put_line(f, sum, r, c + 4); /* middle */
    put_more(f, sum, r, r2, c + 6, room);
    put_registers(f, ADD, part, sum, part, NOBODY);
    put_registers(f, MULTIPLY, part, part, r4, NOBODY);
    put_line(f, sum, r, c); /* low */
    put_more(f, sum, r, r2, c + 2, room);
    put_registers(f, ADD, sum, sum, part, NOBODY);
    put_registers(f, MULTIPLY, sum, sum, r2, NOBODY);
    put_registers(f, ADD, sum, r, sum, NOBODY);
    put_number(f, ADD, sum, sum, n[ONE_]);
    for (int v = 0; v < f->vectors; v++) { /* to the left by 52 bits */
        int m = for_vector(f, v, shifted);
        clsi_code_registers(w, BITS, 6, m, m);
        put_last(f, 52);
    }
    put_number(f, ADD_BITS, shifted, shifted, n[ONE_]);
    put_registers(f, MULTIPLY, sum, sum, shifted, NOBODY);
    for (int v = 0; v < f->vectors; v++) put_question(f, v, x, sum, room);
    return sum;
}

/* ---- operations ---- */

/* What to multiply by where operation i divides by a power of two; else 0. */
static double inverse_of(const clsi_fuser *f, size_t i) {
    const clsi_vector_op *op = clsi_fuse_op(f, i);
    if (clsi_fuse_code(f, i)->code != CLSI_DIV || op->step_b || op->b >= f->plan->n_constants)
        return 0;
    return clsi_code_inverse(f->plan->constants[op->b]);
}

void clsi_fuse_pool(clsi_fuser *f, size_t i) {
    if (clsi_fuse_op(f, i)->kind != CLSI_VECTOR_EACH) return;
    double by = inverse_of(f, i);
    if (by != 0) (void)clsi_code_find_pooled(&f->w, by);
    if (is_exp(clsi_fuse_code(f, i))) pool_exp(&f->w);
}

static int put_binary(clsi_fuser *f, size_t i) {
    static const int opcodes[] = {
        [CLSI_ADD] = ADD, [CLSI_SUB] = SUBTRACT, [CLSI_MUL] = MULTIPLY, [CLSI_DIV] = DIVIDE};
    clsi_writer *w = &f->w;
    int code = clsi_fuse_code(f, i)->code;
    operand a = find_operand(f, i, 0), b = find_operand(f, i, 1);
    if ((code == CLSI_ADD || code == CLSI_MUL) && a.reg == NOBODY &&
        (b.reg != NOBODY || a.at.all)) {
        operand other = a;
        a = b, b = other;
    }
    int one = to_register(f, a, i);
    if (b.reg == NOBODY && b.at.all && w->width != WHOLE) b.reg = to_register(f, b, i);
    int to = take(f, i);
    if (b.reg != NOBODY)
        put_registers(f, opcodes[code], to, one, b.reg, NOBODY);
    else
        put_at(f, 1, opcodes[code], to, one, b.at, b.at.all ? CLSI_CODE_ALL : 0, NOBODY);
    return to;
}

static int put_unary(clsi_fuser *f, size_t i) {
    clsi_writer *w = &f->w;
    const clsi_instruction *in = clsi_fuse_code(f, i);
    int a = to_register(f, find_operand(f, i, 0), i);
    if (is_exp(in)) return put_exp(f, a, i);
    int to = take(f, i);
    if (in->code == CLSI_DIV)
        put_number(f, MULTIPLY, to, a, inverse_of(f, i));
    else if (in->code == CLSI_NEG)
        put_number(f, FLIP, to, a, CLSI_NO_SIGN);
    else if (in->code == CLSI_SQUARE)
        put_registers(f, MULTIPLY, to, a, a, NOBODY);
    else if (in->code == CLSI_POWI)
        for (int v = 0; v < f->vectors; v++)
            clsi_code_power(w, for_vector(f, v, to), for_vector(f, v, a), (unsigned)in->power);
    else
        put_registers(f, ROOT, to, NOBODY, a, NOBODY);
    return to;
}

/* Register m to where it is asked for at the times [begin, end). */
static void put_store(clsi_fuser *f, int m, place p, int64_t begin, int64_t end) {
    int few = end - begin < CLSI_FUSED_FEW;
    size_t k = f->piece->stores + f->n_stores++;
    if (!f->edge) {
        if (!few) put_save(f, m, p);
        return;
    }
    f->made->stores[k] = (clsi_fused_store){begin, end, p.at, p.base == OUT};
    put_save(f, m, (place){ROOM, (int64_t)(f->n_stores - 1) * WHOLE, 0});
}

void clsi_fuse_copy(clsi_fuser *f, const clsi_left *run) {
    f->busy = 0;
    int m = take(f, f->piece->first + f->piece->n);
    put_load(f, m, (place){WORK, (int64_t)f->plan->outputs[run->output], 0});
    put_store(f, m, (place){OUT, (int64_t)run->output, 0}, 0, run->n);
}

static void put_stores(clsi_fuser *f, size_t i, int m) {
    const clsi_tile *tile = &f->plan->tiles[i];
    const clsi_vector_op *op = clsi_fuse_op(f, i);
    if (clsi_fuse_kept(f, i))
        put_store(f, m, own_place(f, i), tile->shift, tile->shift + op->n);
    else if (f->stored[i])
        put_save(f, m, own_place(f, i));
    const clsi_delivery *d = f->plan->deliveries + tile->deliveries;
    for (uint32_t k = 0; k < tile->n_deliveries; k++, d++) {
        if (!d->fused) continue;
        int64_t begin = tile->shift + d->element;
        place to = {WORK, (int64_t)op->result - tile->shift, 0};
        if (d->output != CLSI_IN_REGISTERS)
            to = (place){OUT, (int64_t)d->output - d->element - tile->shift, 0};
        put_store(f, m, to, begin, begin + d->n);
    }
}

void clsi_fuse_tile(clsi_fuser *f, size_t i) {
    int one = clsi_is_unary(clsi_fuse_code(f, i)) || inverse_of(f, i) != 0;
    f->busy = 0;
    int to = one ? put_unary(f, i) : put_binary(f, i);
    put_stores(f, i, to);
    for (int m = 0; m < f->w.n_machine; m++)
        if (f->w.holds[m] != NOBODY && f->last[f->w.holds[m]] <= i) let_go(f, m);
    if (f->last[i] <= i) return;
    f->w.holds[to] = (int)i;
    f->where[i] = to;
}

#endif
