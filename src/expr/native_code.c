/* Machine code, instruction by instruction: bytes, machine registers, operations (native.c has the rest).
 *
 * Same bits at a lower price: a quotient by a power of two is a product, and the root of x^2 + c, with a
 * constant c next to nothing (an absolute value with a slope at 0), is |x| wherever squaring loses nothing and
 * c is below the last place. Roots are most of what a step with heat conduction waits for. */
#include "expr/native_code.h"
#include "base/base.h"
#include "expr/kernels.h"
#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__)

/* ---- what is known of the registers of the program ---- */

static uint32_t operand(const clsi_instruction *in, int i) {
    return i == 0 ? in->a : i == 1 ? in->b : in->v;
}

/* Registers as in p->code: those of `slotted` are places. */
static uint32_t read_of(const clsi_writer *w, size_t k, int i) {
    return operand(&w->p->code[k], i);
}

static int reads_of(const clsi_instruction *in) {
    if (in->code == CLSI_QUOTIENT_FROM || in->code == CLSI_POW_FROM) return 3;
    return clsi_is_unary(in) && !clsi_is_norm(in) ? 1 : 2;
}

/* Reads from the last instruction to the first. */
void clsi_code_begin(clsi_writer *w) {
    const cls_program *p = w->p;
    size_t n = w->first + p->n_instructions;
    for (size_t r = 0; r < n; r++) w->begin[r] = UINT32_MAX;
    for (size_t k = p->n_instructions; k-- > 0;)
        for (int i = reads_of(&p->code[k]); i-- > 0;) {
            uint32_t r = read_of(w, k, i);
            w->next[3 * k + (size_t)i] =
                w->begin[r] == k ? w->next[3 * k + (size_t)i + 1] : w->begin[r];
            w->begin[r] = (uint32_t)k;
        }
}

/* ---- bytes ---- */

static void put(clsi_writer *w, unsigned byte) {
    if (w->failed || !clsi_grow(&w->bytes, &w->room, w->length + 1, 1)) {
        w->failed = 1;
        return;
    }
    w->bytes[w->length++] = (unsigned char)byte;
}

void clsi_code_put(clsi_writer *w, size_t n, const unsigned char *bytes) {
    for (size_t i = 0; i < n; i++) put(w, bytes[i]);
}

void clsi_code_put_number(clsi_writer *w, long long number) {
    if (number > INT32_MAX || number < INT32_MIN) w->failed = 1;
    for (int i = 0; i < 4; i++) put(w, (unsigned)((unsigned long long)number >> 8 * i) & 255u);
}

/* Those that are the same for one number and for vectors. */
static int is_whole(int opcode) {
    return opcode == FLIP || opcode == CLEAR || opcode == MOVE || opcode == COMPARE;
}

/* A scalar has the prefix F2, vectors 66; what acts on bits, and a copy, take whole registers always. */
void clsi_code_opcode(clsi_writer *w, int map, int opcode, int to, int one, int other,
                      unsigned how) {
    unsigned r = (unsigned)to, v = (unsigned)one,
             x = other < 0 ? (other < NOBODY ? 8 : 0) : (unsigned)other;
    unsigned kind = w->width == SCALAR && !is_whole(opcode) ? 3 : 1;
    if (w->width == WHOLE) { /* EVEX, 512 bits */
        put(w, 0x62);
        put(w, ((~r & 8) << 4) | ((~x & 16) << 2) | ((~x & 8) << 2) | (~r & 16) | (unsigned)map);
        put(w, 0x80 | ((~v & 15) << 3) | 4 | kind);
        put(w, 0x40 | ((~v & 16) >> 1) | how);
    } else { /* VEX */
        put(w, 0xc4);
        put(w, ((~r & 8) << 4) | 0x40 | ((~x & 8) << 2) | (unsigned)map);
        put(w, ((~v & 15) << 3) | (w->width == HALF ? 4u : 0u) | kind);
    }
    put(w, (unsigned)opcode);
}

static void put_opcode(clsi_writer *w, int opcode, int to, int one, int other) {
    clsi_code_opcode(w, 1, opcode, to, one, other, 0);
}

void clsi_code_registers(clsi_writer *w, int opcode, int to, int one, int other) {
    put_opcode(w, opcode, to, one, other);
    put(w, 0xc0u | ((unsigned)to & 7) << 3 | ((unsigned)other & 7));
}

/* The place of register r. One sample: in the work, which rbx points to, or among the inputs (rbp); lanes:
 * in the work (rdi). */
static void put_place(clsi_writer *w, int opcode, int to, int one, uint32_t r) {
    size_t place = r, inputs = w->p->n_constants;
    int input = w->direct && r >= inputs && r < w->first;
    if (input) place = r - inputs;
    if (w->width != SCALAR)
        place = (r < w->first ? r : w->code[r - w->first].r) * clsi_lanes_row(w->p);
    put_opcode(w, opcode, to, one, NOBODY);
    put(w, (w->width != SCALAR ? 0x87u : input ? 0x85u : 0x83u) | ((unsigned)to & 7) << 3);
    clsi_code_put_number(w, (long long)(place * sizeof(double)));
}

/* Place k of what r14 points to. */
enum { OUTSIDE = NOBODY - 1 };

static void put_outside(clsi_writer *w, int opcode, int to, size_t k) {
    put_opcode(w, opcode, to, 0, OUTSIDE);
    put(w, 0x86u | ((unsigned)to & 7) << 3);
    clsi_code_put_number(w, (long long)(k * sizeof(double)));
}

/* ---- numbers before the code ---- */

/* Bytes of one: bits are flipped and cleared in whole registers. */
static size_t pooled_size(const clsi_writer *w) {
    return sizeof(double) * (size_t)(w->width == SCALAR ? 2 : w->width);
}

size_t clsi_code_find_pooled(clsi_writer *w, double x) {
    size_t k = 0;
    while (k < w->n_pool && memcmp(&w->pool[k], &x, sizeof x) != 0) k++;
    if (k < w->n_pool) return k;
    if (!clsi_grow(&w->pool, &w->pool_room, k + 1, sizeof *w->pool)) {
        w->failed = 1;
        return 0;
    }
    w->pool[w->n_pool++] = x;
    return k;
}

/* to <- one op the number; `behind` bytes of the instruction follow. */
void clsi_code_pooled(clsi_writer *w, int opcode, int to, int one, double x, int behind) {
    size_t at = clsi_code_find_pooled(w, x) * pooled_size(w);
    put_opcode(w, opcode, to, one, NOBODY);
    put(w, 0x05u | ((unsigned)to & 7) << 3);
    clsi_code_put_number(w, (long long)at - (long long)(w->length + 4) - behind);
}

double clsi_code_no_bits(void) {
    uint64_t bits = UINT64_MAX >> 1;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- machine registers ---- */

/* Read or given out after instruction k? */
static int is_needed(const clsi_writer *w, uint32_t r) {
    return w->output[r] || w->begin[r] != UINT32_MAX;
}

static void let_go(clsi_writer *w, int m) {
    uint32_t r = (uint32_t)w->holds[m];
    if (w->dirty[m] && is_needed(w, r)) put_place(w, STORE, m, 0, r);
    w->where[r] = NOBODY;
    w->holds[m] = NOBODY;
    w->dirty[m] = 0;
}

/* A free one: the first, or that whose number is needed last and is not one of these. */
static int take(clsi_writer *w, int not_this, int nor_this) {
    int best = NOBODY;
    uint32_t latest = 0;
    for (int m = w->low; m < w->n_machine; m++) {
        if (w->holds[m] == NOBODY) return m;
        uint32_t use = w->begin[w->holds[m]];
        if (m == not_this || m == nor_this || (best != NOBODY && use < latest)) continue;
        if (best != NOBODY && use == latest && w->dirty[m]) continue;
        best = m, latest = use;
    }
    let_go(w, best);
    return best;
}

static void hold(clsi_writer *w, int m, uint32_t r, int dirty) {
    w->holds[m] = (int)r;
    w->dirty[m] = dirty;
    w->where[r] = m;
}

static int fetch(clsi_writer *w, uint32_t r, int not_this) {
    if (w->where[r] != NOBODY) return w->where[r];
    int m = take(w, not_this, NOBODY);
    put_place(w, LOAD, m, 0, r);
    hold(w, m, r, 0);
    return m;
}

void clsi_code_pass(clsi_writer *w, size_t k) {
    for (int i = 0; i < reads_of(&w->p->code[k]); i++) {
        uint32_t r = read_of(w, k, i);
        w->begin[r] = w->next[3 * k + (size_t)i];
    }
    for (int i = 0; i < reads_of(&w->p->code[k]); i++) {
        uint32_t r = read_of(w, k, i);
        if (w->where[r] != NOBODY && w->begin[r] == UINT32_MAX) let_go(w, w->where[r]);
    }
}

/* ---- instructions ---- */

static int is_root(const clsi_instruction *in) {
    return in->code == CLSI_CALL && in->function == CLS_FN_SQRT;
}

int clsi_code_is_native(const clsi_instruction *in) {
    return in->code <= CLSI_SQUARE || is_root(in) || (in->code == CLSI_POWI && in->power > 1);
}

/* As clsi_k_powi: squares of `from`, those of the exponent's bits multiplied in their order. */
void clsi_code_power(clsi_writer *w, int to, int from, unsigned power) {
    int square = w->n_machine, begun = power & 1u;
    if (begun) clsi_code_registers(w, MOVE, to, 0, from);
    for (int x = from; power >>= 1; x = square) {
        clsi_code_registers(w, MULTIPLY, square, x, x);
        if (!(power & 1u)) continue;
        if (begun)
            clsi_code_registers(w, MULTIPLY, to, to, square);
        else
            clsi_code_registers(w, MOVE, to, 0, square);
        begun = 1;
    }
}

/* |x| that is its own root of x^2 + c. */
static const double largest_norm = 1e150;

/* to <- root of `from`, unless |x| is it: of vectors for all lanes at once. */
static void put_norm(clsi_writer *w, int to, int from, int x, double least) {
    int scratch = w->n_machine;
    unsigned root = w->width == WHOLE ? 6 : 5; /* bytes to jump over */
    clsi_code_pooled(w, CLEAR, to, x, clsi_code_no_bits(), 0);
    if (w->width == SCALAR) {
        clsi_code_pooled(w, COMPARE, to, 0, least, 0);
        CODE(w, 0x76, 0); /* jbe root */
        size_t jump = w->length;
        clsi_code_pooled(w, COMPARE, to, 0, largest_norm, 0);
        CODE(w, 0x72, (unsigned char)root); /* jb behind */
        if (!w->failed) w->bytes[jump - 1] = (unsigned char)(w->length - jump);
    } else if (w->width == HALF) {
        clsi_code_pooled(w, MASK, scratch, to, least, 1);
        CODE(w, 0x0a); /* not greater */
        clsi_code_registers(w, SIGNS, 0, 0, scratch);
        CODE(w, 0x85, 0xc0, 0x75, 0); /* test eax, eax; jnz root */
        size_t jump = w->length;
        clsi_code_pooled(w, MASK, scratch, to, largest_norm, 1);
        CODE(w, 0x05); /* not less */
        clsi_code_registers(w, SIGNS, 0, 0, scratch);
        CODE(w, 0x85, 0xc0, 0x74, (unsigned char)root); /* test eax, eax; jz behind */
        if (!w->failed) w->bytes[jump - 1] = (unsigned char)(w->length - jump);
    } else {
        clsi_code_pooled(w, MASK, 1, to, least, 1); /* to k1 */
        CODE(w, 0x0a);
        clsi_code_pooled(w, MASK, 2, to, largest_norm, 1);
        CODE(w, 0x05);
        CODE(w, 0xc5, 0xf8, 0x98, 0xca, 0x74, (unsigned char)root); /* kortestw k1, k2; jz behind */
    }
    clsi_code_registers(w, ROOT, to, w->width == SCALAR ? from : 0, from);
}

static void put_unary(clsi_writer *w, size_t k) {
    const clsi_instruction *in = &w->p->code[k];
    int norm = clsi_is_norm(in), a = fetch(w, read_of(w, k, 0), NOBODY);
    int x = norm ? fetch(w, read_of(w, k, 1), a) : NOBODY, to = take(w, a, x);
    if (in->code == CLSI_NEG)
        clsi_code_pooled(w, FLIP, to, a, CLSI_NO_SIGN, 0);
    else if (in->code == CLSI_SQUARE)
        clsi_code_registers(w, MULTIPLY, to, a, a);
    else if (in->code == CLSI_POWI)
        clsi_code_power(w, to, a, (unsigned)in->power);
    else if (norm)
        put_norm(w, to, a, x, in->exponent);
    else
        clsi_code_registers(w, ROOT, to, w->width == SCALAR ? a : 0, a);
    hold(w, to, w->first + (uint32_t)k, 1);
    clsi_code_pass(w, k);
}

double clsi_code_inverse(double x) {
    int exponent;
    double part = frexp(x, &exponent);
    if (fabs(part) != 0.5 || exponent > 1000 || exponent < -1000) return 0;
    return copysign(ldexp(1, 1 - exponent), part);
}

/* What to multiply by where instruction k divides by a power of two; else 0. */
static double inverse_of(const clsi_writer *w, size_t k) {
    const clsi_instruction *in = &w->p->code[k];
    if (in->code != CLSI_DIV || in->b >= w->p->n_constants) return 0;
    return clsi_code_inverse(w->p->constants[in->b]);
}

static void put_scaled(clsi_writer *w, size_t k, double by) {
    int a = fetch(w, read_of(w, k, 0), NOBODY), to = take(w, a, NOBODY);
    clsi_code_pooled(w, MULTIPLY, to, a, by, 0);
    hold(w, to, w->first + (uint32_t)k, 1);
    clsi_code_pass(w, k);
}

/* An operand that is not there is fetched when it will be read again, and else read in its place; the
 * first one must be there. */
static void put_binary(clsi_writer *w, size_t k) {
    static const int opcodes[] = {
        [CLSI_ADD] = ADD, [CLSI_SUB] = SUBTRACT, [CLSI_MUL] = MULTIPLY, [CLSI_DIV] = DIVIDE};
    const clsi_instruction *in = &w->p->code[k];
    uint32_t ra = read_of(w, k, 0), rb = read_of(w, k, 1);
    int commutes = in->code == CLSI_ADD || in->code == CLSI_MUL;
    int swap = commutes && w->where[ra] == NOBODY && w->where[rb] != NOBODY;
    if (swap) {
        uint32_t other = ra;
        ra = rb, rb = other;
    }
    int a = fetch(w, ra, NOBODY), again = w->next[3 * k + (size_t)!swap] != UINT32_MAX;
    int b = w->where[rb] != NOBODY || again ? fetch(w, rb, a) : NOBODY;
    int to = take(w, a, b);
    if (b == NOBODY)
        put_place(w, opcodes[in->code], to, a, rb);
    else
        clsi_code_registers(w, opcodes[in->code], to, a, b);
    hold(w, to, w->first + (uint32_t)k, 1);
    clsi_code_pass(w, k);
}

void clsi_code_native(clsi_writer *w, size_t k) {
    double by = inverse_of(w, k);
    if (by != 0)
        put_scaled(w, k, by);
    else if (clsi_is_unary(&w->p->code[k]))
        put_unary(w, k);
    else
        put_binary(w, k);
}

/* Every number has its place before the code that reads it. */
void clsi_code_put_pool(clsi_writer *w) {
    const cls_program *p = w->p;
    (void)clsi_code_find_pooled(w, CLSI_NO_SIGN);
    (void)clsi_code_find_pooled(w, clsi_code_no_bits());
    (void)clsi_code_find_pooled(w, largest_norm);
    for (size_t k = 0; k < p->n_instructions; k++) {
        double by = inverse_of(w, k);
        if (by != 0) (void)clsi_code_find_pooled(w, by);
        if (clsi_is_norm(&p->code[k])) (void)clsi_code_find_pooled(w, p->code[k].exponent);
    }
    clsi_code_put_pooled(w);
}

void clsi_code_put_pooled(clsi_writer *w) {
    for (size_t k = 0; k < w->n_pool; k++)
        for (size_t i = 0; i < pooled_size(w); i += sizeof(double)) {
            unsigned char bytes[sizeof(double)];
            memcpy(bytes, &w->pool[k], sizeof bytes);
            clsi_code_put(w, sizeof bytes, bytes);
        }
}

void clsi_code_let_go(clsi_writer *w) {
    for (int m = w->low; m < w->n_machine; m++)
        if (w->holds[m] != NOBODY) let_go(w, m);
}

/* ---- calls of kernels, for one sample ---- */

/* What an instruction calls. Numbers go in xmm0, xmm1, ... in the order of its operands, then the exponent;
 * a pointer and whole numbers in rdi, esi, edx. */
typedef struct callee {
    uint64_t function, pointer; /* pointer 0: none */
    int n_operands, n_whole, whole[3], exponent;
    int work; /* that of the program is the second pointer */
} callee;

#define ADDRESS(to, function)                                                                      \
    do {                                                                                           \
        __typeof__(&*(function)) pointer_ = (function);                                            \
        uintptr_t number_;                                                                         \
        memcpy(&number_, &pointer_, sizeof number_);                                               \
        (to) = number_;                                                                            \
    } while (0)

static callee callee_of_from(clsi_writer *w, const clsi_instruction *in) {
    callee c = {.n_operands = 3, .n_whole = 2, .whole = {in->i, in->j}, .exponent = 1};
    clsi_kernel3 *one = in->function == CLS_FN_EXP ? clsi_kernel_exp_from(in->i, in->j) : NULL;
    if (one) {
        ADDRESS(c.function, one);
        c.n_whole = c.exponent = 0;
    } else if (in->function == CLS_FN_POWER) {
        clsi_power_terms(in->i, in->j, in->exponent, w->terms);
        ADDRESS(c.function, clsi_power_from);
        c.pointer = (uintptr_t)w->terms;
        w->terms += CLSI_POWER_TERMS;
    } else {
        ADDRESS(c.function, clsi_quotient_from);
        c.n_whole = 3;
        c.whole[0] = in->function, c.whole[1] = in->i, c.whole[2] = in->j;
    }
    return c;
}

static callee callee_of(clsi_writer *w, const clsi_instruction *in) {
    callee c = {.n_operands = reads_of(in)};
    clsi_kernel2 *two = NULL;
    switch ((clsi_code)in->code) {
    case CLSI_POW: ADDRESS(c.function, clsi_pow); break;
    case CLSI_FIELD: /* reads its inputs in their places */
        ADDRESS(c.function, clsi_run_take);
        c.pointer = (uintptr_t)in->take;
        c.n_operands = 0, c.work = 1;
        break;
    case CLSI_CALL: ADDRESS(c.function, clsi_kernel_value(in->function)); break;
    case CLSI_POWI:
        ADDRESS(c.function, clsi_powi);
        c.n_whole = 1, c.whole[0] = in->power;
        break;
    case CLSI_POW_FROM: /* x, c, v */
        ADDRESS(c.function, in->i ? clsi_pow_inverse : clsi_pow_slope);
        break;
    case CLSI_QUOTIENT_FROM: return callee_of_from(w, in);
    default:
        if (in->function != CLS_FN_POWER) two = clsi_kernel_quotient(in->function, in->i, in->j);
        if (two) {
            ADDRESS(c.function, two);
            break;
        }
        ADDRESS(c.function, clsi_quotient_value);
        c.n_whole = 3, c.exponent = 1;
        c.whole[0] = in->function, c.whole[1] = in->i, c.whole[2] = in->j;
    }
    return c;
}

static void put_address(clsi_writer *w, uint64_t number) {
    for (int i = 0; i < 8; i++) put(w, (unsigned)(number >> 8 * i) & 255u);
}

/* A number out of the state of a field (clsi_run_take), whose passes were run before: rax is that state, behind the
 * registers in the work and on a cache line. */
static void put_take(clsi_writer *w, size_t k) {
    const cls_program *p = w->p;
    size_t behind = p->n_constants + p->n_inputs + p->n_instructions;
    const int line = CLSI_PLAN_LANES * (int)sizeof(double); /* 64: a byte as it is and negative */
    clsi_code_pass(w, k);
    int to = take(w, NOBODY, NOBODY);
    CODE(w, 0x48, 0x8d, 0x83); /* lea rax, [rbx + number] */
    clsi_code_put_number(w, (long long)(behind * sizeof(double)) + line - 1);
    CODE(w, 0x48, 0x83, 0xe0), put(w, (unsigned)-line & 255u); /* and rax, -line */
    put_opcode(w, LOAD, to, 0, NOBODY);
    put(w, 0x80u | ((unsigned)to & 7) << 3);
    clsi_code_put_number(w, (long long)(p->code[k].take->at * sizeof(double)));
    hold(w, to, w->first + (uint32_t)k, 1);
}

void clsi_code_call(clsi_writer *w, size_t k) {
    static const unsigned whole[] = {0xbf, 0xbe, 0xba}; /* mov edi, esi, edx */
    const clsi_instruction *in = &w->p->code[k];
    if (in->code == CLSI_FIELD && !in->take->n) {
        put_take(w, k);
        return;
    }
    callee c = callee_of(w, in);
    for (int i = 0; i < c.n_operands; i++) {
        uint32_t r = read_of(w, k, i);
        if (w->where[r] != NOBODY)
            clsi_code_registers(w, MOVE, i, 0, w->where[r]);
        else
            put_place(w, LOAD, i, 0, r);
    }
    clsi_code_pass(w, k);
    clsi_code_let_go(w); /* a call keeps no register */
    if (c.pointer) put(w, 0x48), put(w, 0xbf), put_address(w, c.pointer);
    if (c.work) put(w, 0x48), put(w, 0x89), put(w, 0xde); /* mov rsi, rbx */
    for (int i = 0; i < c.n_whole; i++) {
        put(w, whole[i + (c.pointer != 0)]);
        clsi_code_put_number(w, c.whole[i]);
    }
    if (c.exponent) { /* mov rax, number; vmovq xmm, rax */
        uint64_t number;
        memcpy(&number, &in->exponent, sizeof number);
        put(w, 0x48), put(w, 0xb8), put_address(w, number);
        put(w, 0xc4), put(w, 0xe1), put(w, 0xf9), put(w, 0x6e);
        put(w, 0xc0u | (unsigned)c.n_operands << 3);
    }
    put(w, 0x48), put(w, 0xb8), put_address(w, c.function);
    put(w, 0xff), put(w, 0xd0); /* call rax */
    int to = take(w, NOBODY, NOBODY);
    clsi_code_registers(w, MOVE, to, 0, 0);
    hold(w, to, w->first + (uint32_t)k, 1);
}

void clsi_code_known(clsi_writer *w, size_t k) {
    clsi_code_pass(w, k);
    int to = take(w, NOBODY, NOBODY);
    put_outside(w, LOAD, to, w->same[k]);
    hold(w, to, w->first + (uint32_t)k, 1);
}

void clsi_code_give(clsi_writer *w, uint32_t r, size_t k) {
    int m = w->where[r];
    if (m == NOBODY) {
        m = w->n_machine;
        put_place(w, LOAD, m, 0, r);
    }
    put_outside(w, STORE, m, k);
}

#endif
