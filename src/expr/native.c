/* Programs as machine code: x86-64, written at run time.
 *
 * Between two elementary functions a program is a run of sums, products, quotients and roots. For
 * lanes each such run (a piece) becomes one function; for one sample each stage does, with its
 * calls of the kernels in it. An operand is in a register if it was used or made shortly before, else
 * in the work of the evaluator; of a full set of registers the one goes that is needed last. What
 * nobody reads behind a piece or a call never goes to memory. Elementary functions, and fields
 * of one sample, stay calls of the kernels, which take and give numbers in the first registers. The operations and their order
 * are those of the evaluator, rounded as there: same bits.
 *
 * Where the machine is another one, or lets no memory be executed, there is no native code and the
 * evaluator does it all. */
#define _DEFAULT_SOURCE
#include "expr/native.h"
#include "base/base.h"
#include "base/vectors.h"
#include "expr/kernels.h"
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/mman.h>

/* ---- what is known of the registers of the program ---- */

enum {
    MOST = 20000,
    SCALAR = CLSI_NATIVE_ONE,
    HALF = CLSI_NATIVE_FOUR,
    WHOLE = CLSI_NATIVE_EIGHT,
    NOBODY = -1
};

typedef struct writer {
    const cls_program *p;
    const clsi_instruction *code; /* p->code, or p->slotted for lanes */
    uint32_t first;               /* register of the first instruction */
    /* (3 n) of each operand read: the next instruction that reads the same, or UINT32_MAX */
    uint32_t *next;
    uint32_t *begin;       /* of each register: the first read that is not yet over */
    unsigned char *output; /* of each register */
    int width;             /* doubles of a machine register */
    /* machine registers from `low` on; n_machine is a scratch */
    int low, n_machine, holds[32], dirty[32];
    double *terms;        /* of powers: the next that are free */
    const uint32_t *same; /* of early instructions: registers of another program; NULL */
    int *where; /* of each register of the program: which machine register holds it, or NOBODY */
    unsigned char *bytes;
    size_t length, room;
    int failed;
} writer;

static uint32_t operand(const clsi_instruction *in, int i) {
    return i == 0 ? in->a : i == 1 ? in->b : in->v;
}

/* Registers as in p->code: those of `slotted` are places. */
static uint32_t read_of(const writer *w, size_t k, int i) {
    return operand(&w->p->code[k], i);
}

static int reads_of(const clsi_instruction *in) {
    if (in->code == CLSI_QUOTIENT_FROM || in->code == CLSI_POW_FROM) return 3;
    return clsi_is_unary(in) ? 1 : 2;
}

/* From the last instruction to the first. */
static void find_reads(writer *w) {
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
    for (size_t k = 0; k < p->n_outputs; k++) w->output[p->outputs[k]] = 1;
}

/* ---- bytes ---- */

static void put(writer *w, unsigned byte) {
    if (w->failed || !clsi_grow(&w->bytes, &w->room, w->length + 1, 1)) {
        w->failed = 1;
        return;
    }
    w->bytes[w->length++] = (unsigned char)byte;
}

static void put_number(writer *w, long long number) {
    if (number > INT32_MAX || number < INT32_MIN) w->failed = 1;
    for (int i = 0; i < 4; i++) put(w, (unsigned)((unsigned long long)number >> 8 * i) & 255u);
}

enum {
    ROOT = 0x51,
    MULTIPLY = 0x59,
    ADD = 0x58,
    SUBTRACT = 0x5c,
    DIVIDE = 0x5e,
    LOAD = 0x10,
    STORE = 0x11,
    FLIP = 0xef,
    MOVE = 0x28
};

/* Prefix and opcode: to <- one op other; `other` < 0: in memory. A scalar has the prefix F2, vectors
 * 66; a flip of signs and a copy act on whole registers always. */
static void put_opcode(writer *w, int opcode, int to, int one, int other) {
    unsigned r = (unsigned)to, v = (unsigned)one, x = other < 0 ? 0 : (unsigned)other;
    unsigned kind = w->width == SCALAR && opcode != FLIP && opcode != MOVE ? 3 : 1;
    if (w->width == WHOLE) { /* EVEX, 512 bits */
        put(w, 0x62);
        put(w, ((~r & 8) << 4) | ((~x & 16) << 2) | ((~x & 8) << 2) | (~r & 16) | 1);
        put(w, 0x80 | ((~v & 15) << 3) | 4 | kind);
        put(w, 0x40 | ((~v & 16) >> 1));
    } else { /* VEX */
        put(w, 0xc4);
        put(w, ((~r & 8) << 4) | 0x40 | ((~x & 8) << 2) | 1);
        put(w, ((~v & 15) << 3) | (w->width == HALF ? 4u : 0u) | kind);
    }
    put(w, (unsigned)opcode);
}

static void put_registers(writer *w, int opcode, int to, int one, int other) {
    put_opcode(w, opcode, to, one, other);
    put(w, 0xc0u | ((unsigned)to & 7) << 3 | ((unsigned)other & 7));
}

/* The place of register r in the work, which rdi points to, or rbx for one sample. */
static void put_place(writer *w, int opcode, int to, int one, uint32_t r) {
    size_t place = r;
    if (w->width != SCALAR)
        place = (r < w->first ? r : w->code[r - w->first].r) * (size_t)CLSI_LANES;
    put_opcode(w, opcode, to, one, NOBODY);
    put(w, (w->width == SCALAR ? 0x83u : 0x87u) | ((unsigned)to & 7) << 3);
    put_number(w, (long long)(place * sizeof(double)));
}

/* The signs, which stand at the beginning of all. */
static void put_flip(writer *w, int to, int one) {
    put_opcode(w, FLIP, to, one, NOBODY);
    put(w, 0x05u | ((unsigned)to & 7) << 3);
    put_number(w, -(long long)(w->length + 4));
}

/* ---- machine registers ---- */

/* Read or given out after instruction k? */
static int is_needed(const writer *w, uint32_t r) {
    return w->output[r] || w->begin[r] != UINT32_MAX;
}

static void let_go(writer *w, int m) {
    uint32_t r = (uint32_t)w->holds[m];
    if (w->dirty[m] && is_needed(w, r)) put_place(w, STORE, m, 0, r);
    w->where[r] = NOBODY;
    w->holds[m] = NOBODY;
    w->dirty[m] = 0;
}

/* A free one: the first, or that whose number is needed last and is not one of these. */
static int take(writer *w, int not_this, int nor_this) {
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

static void hold(writer *w, int m, uint32_t r, int dirty) {
    w->holds[m] = (int)r;
    w->dirty[m] = dirty;
    w->where[r] = m;
}

static int fetch(writer *w, uint32_t r, int not_this) {
    if (w->where[r] != NOBODY) return w->where[r];
    int m = take(w, not_this, NOBODY);
    put_place(w, LOAD, m, 0, r);
    hold(w, m, r, 0);
    return m;
}

/* Reads of instruction k are over. */
static void pass(writer *w, size_t k) {
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

static int is_native(const clsi_instruction *in) {
    return in->code <= CLSI_SQUARE || is_root(in) || (in->code == CLSI_POWI && in->power > 1);
}

/* As clsi_k_powi: squares of `from`, those of the exponent's bits multiplied in their order. */
static void put_power(writer *w, int to, int from, unsigned power) {
    int square = w->n_machine, begun = power & 1u;
    if (begun) put_registers(w, MOVE, to, 0, from);
    for (int x = from; power >>= 1; x = square) {
        put_registers(w, MULTIPLY, square, x, x);
        if (!(power & 1u)) continue;
        if (begun)
            put_registers(w, MULTIPLY, to, to, square);
        else
            put_registers(w, MOVE, to, 0, square);
        begun = 1;
    }
}

static void put_unary(writer *w, size_t k) {
    const clsi_instruction *in = &w->p->code[k];
    int a = fetch(w, read_of(w, k, 0), NOBODY), to = take(w, a, NOBODY);
    if (in->code == CLSI_NEG)
        put_flip(w, to, a);
    else if (in->code == CLSI_SQUARE)
        put_registers(w, MULTIPLY, to, a, a);
    else if (in->code == CLSI_POWI)
        put_power(w, to, a, (unsigned)in->power);
    else
        put_registers(w, ROOT, to, w->width == SCALAR ? a : 0, a);
    hold(w, to, w->first + (uint32_t)k, 1);
    pass(w, k);
}

/* An operand that is not there is fetched when it will be read again, and else read in its place; the
 * first one must be there. */
static void put_binary(writer *w, size_t k) {
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
        put_registers(w, opcodes[in->code], to, a, b);
    hold(w, to, w->first + (uint32_t)k, 1);
    pass(w, k);
}

static void put_native(writer *w, size_t k) {
    if (clsi_is_unary(&w->p->code[k]))
        put_unary(w, k);
    else
        put_binary(w, k);
}

static void let_all_go(writer *w) {
    for (int m = w->low; m < w->n_machine; m++)
        if (w->holds[m] != NOBODY) let_go(w, m);
}

/* Instructions from k to last as a function of (work in rdi, vectors in esi). */
static void put_piece(writer *w, size_t k, size_t last) {
    size_t begin = w->length;
    for (; k < last; k++) put_native(w, k);
    let_all_go(w);
    /* add rdi, size; dec esi; jnz begin; vzeroupper; ret */
    put(w, 0x48), put(w, 0x83), put(w, 0xc7), put(w, (unsigned)(w->width * (int)sizeof(double)));
    put(w, 0xff), put(w, 0xce), put(w, 0x0f), put(w, 0x85);
    put_number(w, (long long)begin - (long long)(w->length + 4));
    put(w, 0xc5), put(w, 0xf8), put(w, 0x77);
    put(w, 0xc3);
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

static callee callee_of_from(writer *w, const clsi_instruction *in) {
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

static callee callee_of(writer *w, const clsi_instruction *in) {
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

static void put_address(writer *w, uint64_t number) {
    for (int i = 0; i < 8; i++) put(w, (unsigned)(number >> 8 * i) & 255u);
}

static void put_call(writer *w, size_t k) {
    static const unsigned whole[] = {0xbf, 0xbe, 0xba}; /* mov edi, esi, edx */
    callee c = callee_of(w, &w->p->code[k]);
    for (int i = 0; i < c.n_operands; i++) {
        uint32_t r = read_of(w, k, i);
        if (w->where[r] != NOBODY)
            put_registers(w, MOVE, i, 0, w->where[r]);
        else
            put_place(w, LOAD, i, 0, r);
    }
    pass(w, k);
    let_all_go(w); /* a call keeps no register */
    if (c.pointer) put(w, 0x48), put(w, 0xbf), put_address(w, c.pointer);
    if (c.work) put(w, 0x48), put(w, 0x89), put(w, 0xde); /* mov rsi, rbx */
    for (int i = 0; i < c.n_whole; i++) {
        put(w, whole[i + (c.pointer != 0)]);
        put_number(w, c.whole[i]);
    }
    if (c.exponent) { /* mov rax, number; vmovq xmm, rax */
        uint64_t number;
        memcpy(&number, &w->p->code[k].exponent, sizeof number);
        put(w, 0x48), put(w, 0xb8), put_address(w, number);
        put(w, 0xc4), put(w, 0xe1), put(w, 0xf9), put(w, 0x6e);
        put(w, 0xc0u | (unsigned)c.n_operands << 3);
    }
    put(w, 0x48), put(w, 0xb8), put_address(w, c.function);
    put(w, 0xff), put(w, 0xd0); /* call rax */
    int to = take(w, NOBODY, NOBODY);
    put_registers(w, MOVE, to, 0, 0);
    hold(w, to, w->first + (uint32_t)k, 1);
}

/* A number that another program has computed; its work is in rbp. */
static void put_known(writer *w, size_t k) {
    pass(w, k);
    int to = take(w, NOBODY, NOBODY);
    put_opcode(w, LOAD, to, 0, NOBODY);
    put(w, 0x85u | ((unsigned)to & 7) << 3);
    put_number(w, (long long)(w->same[k] * sizeof(double)));
    hold(w, to, w->first + (uint32_t)k, 1);
}

/* The early stage as a function of (work in rdi, work of another program in rsi). */
static void put_known_stage(writer *w, size_t last) {
    put(w, 0x53), put(w, 0x55);                          /* push rbx, rbp */
    put(w, 0x48), put(w, 0x83), put(w, 0xec), put(w, 8); /* sub rsp, 8 */
    put(w, 0x48), put(w, 0x89), put(w, 0xfb);            /* mov rbx, rdi */
    put(w, 0x48), put(w, 0x89), put(w, 0xf5);            /* mov rbp, rsi */
    for (size_t k = 0; k < last; k++) {
        if (w->same[k] != CLSI_NOT_SHARED)
            put_known(w, k);
        else if (is_native(&w->p->code[k]))
            put_native(w, k);
        else
            put_call(w, k);
    }
    let_all_go(w);
    put(w, 0x48), put(w, 0x83), put(w, 0xc4), put(w, 8); /* add rsp, 8 */
    put(w, 0x5d), put(w, 0x5b), put(w, 0xc3);            /* pop rbp, rbx; ret */
}

/* Instructions from k to last as a function of (work in rdi), which stays in rbx. */
static void put_stage(writer *w, size_t k, size_t last) {
    put(w, 0x53);                             /* push rbx: calls find the stack aligned */
    put(w, 0x48), put(w, 0x89), put(w, 0xfb); /* mov rbx, rdi */
    for (; k < last; k++) {
        if (is_native(&w->p->code[k]))
            put_native(w, k);
        else
            put_call(w, k);
    }
    let_all_go(w);
    put(w, 0x5b), put(w, 0xc3); /* pop rbx; ret */
}

/* ---- programs ---- */

static cls_status add_piece(clsi_native *n, size_t *room, clsi_native_piece piece) {
    if (!clsi_grow(&n->pieces, room, n->n_pieces + 1, sizeof *n->pieces)) return CLS_MEMORY;
    n->pieces[n->n_pieces++] = piece;
    return CLS_OK;
}

/* Memory that can be executed, never written and executed at once. */
static cls_status make_executable(writer *w, clsi_native *n) {
    void *code = mmap(NULL, w->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) return CLS_MEMORY;
    memcpy(code, w->bytes, w->length);
    n->code = code;
    n->size = w->length;
    if (mprotect(code, w->length, PROT_READ | PROT_EXEC)) return CLS_MEMORY;
    for (size_t i = 0; i < n->n_pieces; i++) {
        clsi_native_piece *piece = &n->pieces[i];
        unsigned char *at = (unsigned char *)code + piece->at;
        if (piece->any) memcpy(&piece->run, &at, sizeof piece->run);
    }
    return CLS_OK;
}

/* What flips signs comes first. */
static void put_signs(writer *w) {
    for (int i = 0; i < WHOLE * (int)sizeof(double); i++) put(w, i % 8 == 7 ? 0x80 : 0);
}

static size_t count_powers(const cls_program *p) {
    size_t n = 0;
    for (size_t k = 0; k < p->n_instructions; k++)
        n += p->code[k].code == CLSI_QUOTIENT_FROM && p->code[k].function == CLS_FN_POWER;
    return n;
}

static cls_status write_stages(writer *w, clsi_native *n) {
    const cls_program *p = w->p;
    size_t at[CLSI_STAGES] = {0}, k = 0, known = 0;
    n->terms = w->terms = clsi_calloc(2 * count_powers(p) + 1, CLSI_POWER_TERMS * sizeof *n->terms);
    if (!n->terms) return CLS_MEMORY;
    put_signs(w);
    if (w->same) {
        known = w->length;
        put_known_stage(w, p->end[CLSI_STAGE_EARLY]);
        find_reads(w);
    }
    for (int now = 0; now < CLSI_STAGES; k = p->end[now++]) {
        if (k == p->end[now]) continue;
        at[now] = w->length;
        put_stage(w, k, p->end[now]);
    }
    cls_status status = w->failed ? CLS_MEMORY : make_executable(w, n);
    for (int now = 0; now < CLSI_STAGES && status == CLS_OK; now++) {
        unsigned char *code = (unsigned char *)n->code + at[now];
        if (at[now]) memcpy(&n->stage[now], &code, sizeof code);
    }
    unsigned char *code = (unsigned char *)n->code + known;
    if (known && status == CLS_OK) memcpy(&n->known, &code, sizeof code);
    return status;
}

static cls_status write_pieces(writer *w, clsi_native *n) {
    const cls_program *p = w->p;
    size_t room = 0, k = 0;
    cls_status status = CLS_OK;
    put_signs(w);
    for (int now = 0; now < CLSI_STAGES && status == CLS_OK; now++) {
        while (k < p->end[now] && status == CLS_OK) {
            clsi_native_piece piece = {.at = w->length};
            size_t begin = k;
            while (k < p->end[now] && is_native(&p->code[k])) k++;
            piece.any = k > begin;
            if (piece.any) put_piece(w, begin, k);
            if (k < p->end[now]) {
                pass(w, k);
                piece.slow = &w->code[k];
                piece.result = w->code[k].r;
                k++;
            }
            status = add_piece(n, &room, piece);
        }
        n->end[now] = n->n_pieces;
    }
    return w->failed ? CLS_MEMORY : status == CLS_OK ? make_executable(w, n) : status;
}

void clsi_native_free(clsi_native **native) {
    clsi_native *n = *native;
    if (!n) return;
    if (n->code) munmap(n->code, n->size);
    free(n->pieces);
    free(n->terms);
    free(n);
    *native = NULL;
}

int clsi_native_supports(int width) {
    __builtin_cpu_init();
    return width == WHOLE ? __builtin_cpu_supports("avx512f") != 0
                          : __builtin_cpu_supports("avx2") != 0;
}

clsi_native *clsi_native_create(const cls_program *p, int width, const clsi_native_links *links) {
    if (!clsi_native_supports(width) || p->plan || p->n_weights || p->n_instructions > MOST ||
        !p->n_instructions || (width != SCALAR && !p->slotted))
        return NULL;
    size_t n = p->n_constants + p->n_inputs + p->n_instructions;
    writer w = {.p = p,
                .code = width == SCALAR ? p->code : p->slotted,
                .first = (uint32_t)(n - p->n_instructions),
                .width = width,
                .low = width == SCALAR ? 4 : 0, /* before: operands of calls */
                .n_machine = width == WHOLE ? 31 : 15};
    clsi_native *made = clsi_calloc(1, sizeof *made);
    w.next = clsi_malloc((3 * p->n_instructions + 1) * sizeof *w.next);
    w.begin = clsi_malloc(n * sizeof *w.begin);
    w.where = clsi_malloc(n * sizeof *w.where);
    w.output = clsi_calloc(n, 1);
    int fine = made && w.next && w.begin && w.where && w.output;
    if (fine) {
        made->vectors = width == SCALAR ? 1 : CLSI_LANES / width;
        for (int m = 0; m < 32; m++) w.holds[m] = NOBODY;
        for (size_t r = 0; r < n; r++) w.where[r] = NOBODY;
        find_reads(&w);
        for (size_t k = 0; k < p->n_field_inputs; k++) w.output[p->field_inputs[k]] = 1;
        for (size_t r = 0; links && links->keep && r < n; r++) w.output[r] |= links->keep[r];
        w.same = links ? links->same : NULL;
        fine = (width == SCALAR ? write_stages(&w, made) : write_pieces(&w, made)) == CLS_OK;
    }
    free(w.next);
    free(w.begin);
    free(w.where);
    free(w.output);
    free(w.bytes);
    if (!fine && made) clsi_native_free(&made);
    return made;
}

#else

int clsi_native_supports(int width) {
    (void)width;
    return 0;
}

clsi_native *clsi_native_create(const cls_program *p, int width, const clsi_native_links *links) {
    (void)p, (void)width, (void)links;
    return NULL;
}

void clsi_native_free(clsi_native **native) {
    *native = NULL;
}

#endif

/* ---- runs ---- */

void clsi_native_run(const clsi_native *n, double *work, int first, int last) {
    for (int now = first; now <= last; now++)
        if (n->stage[now]) n->stage[now](work);
}
