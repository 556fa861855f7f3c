/* Programs as machine code: x86-64, written at run time.
 *
 * Between two elementary functions a program is a run of sums, products, quotients and roots. Each
 * such run (a piece) becomes one function, for one sample or for a vector of lanes: an operand is
 * in a register if it was used or made shortly before, else in the work of the evaluator; of a
 * full set of registers the one goes that is needed last. What nobody reads behind the piece never
 * goes to memory. Elementary functions and fields (one sample) stay calls of the kernels. The operations and their order
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
    /* machine registers; the last one is a scratch */
    int n_machine, holds[32], dirty[32];
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

/* The place of register r in the work, which rdi points to. */
static void put_place(writer *w, int opcode, int to, int one, uint32_t r) {
    size_t place = r;
    if (w->width != SCALAR)
        place = (r < w->first ? r : w->code[r - w->first].r) * (size_t)CLSI_LANES;
    put_opcode(w, opcode, to, one, NOBODY);
    put(w, 0x87u | ((unsigned)to & 7) << 3);
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
    for (int m = 0; m < w->n_machine; m++) {
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

/* Instructions from k to last as a function of (work in rdi, vectors in esi). */
static void put_piece(writer *w, size_t k, size_t last) {
    size_t begin = w->length;
    for (; k < last; k++) {
        if (clsi_is_unary(&w->p->code[k]))
            put_unary(w, k);
        else
            put_binary(w, k);
    }
    for (int m = 0; m < w->n_machine; m++)
        if (w->holds[m] != NOBODY) let_go(w, m);
    if (w->width != SCALAR) { /* add rdi, size; dec esi; jnz begin; vzeroupper */
        put(w, 0x48), put(w, 0x83), put(w, 0xc7),
            put(w, (unsigned)(w->width * (int)sizeof(double)));
        put(w, 0xff), put(w, 0xce), put(w, 0x0f), put(w, 0x85);
        put_number(w, (long long)begin - (long long)(w->length + 4));
        put(w, 0xc5), put(w, 0xf8), put(w, 0x77);
    }
    put(w, 0xc3);
}

/* ---- programs ---- */

static cls_status add_piece(clsi_native *n, size_t *room, clsi_native_piece piece) {
    if (!clsi_grow(&n->pieces, room, n->n_pieces + 1, sizeof *n->pieces)) return CLS_MEMORY;
    n->pieces[n->n_pieces++] = piece;
    return CLS_OK;
}

static cls_status write_pieces(writer *w, clsi_native *n) {
    const cls_program *p = w->p;
    size_t room = 0, k = 0;
    cls_status status = CLS_OK;
    for (int i = 0; i < WHOLE * (int)sizeof(double); i++) put(w, i % 8 == 7 ? 0x80 : 0);
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
                piece.result = w->width == SCALAR ? w->first + (uint32_t)k : w->code[k].r;
                k++;
            }
            status = add_piece(n, &room, piece);
        }
        n->end[now] = n->n_pieces;
    }
    return w->failed ? CLS_MEMORY : status;
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

void clsi_native_free(clsi_native **native) {
    clsi_native *n = *native;
    if (!n) return;
    if (n->code) munmap(n->code, n->size);
    free(n->pieces);
    free(n);
    *native = NULL;
}

int clsi_native_supports(int width) {
    __builtin_cpu_init();
    return width == WHOLE ? __builtin_cpu_supports("avx512f") != 0
                          : __builtin_cpu_supports("avx2") != 0;
}

clsi_native *clsi_native_create(const cls_program *p, int width) {
    if (!clsi_native_supports(width) || p->plan || p->n_weights || p->n_instructions > MOST ||
        !p->n_instructions || (width != SCALAR && !p->slotted))
        return NULL;
    size_t n = p->n_constants + p->n_inputs + p->n_instructions;
    writer w = {.p = p,
                .code = width == SCALAR ? p->code : p->slotted,
                .first = (uint32_t)(n - p->n_instructions),
                .width = width,
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
        fine = write_pieces(&w, made) == CLS_OK && make_executable(&w, made) == CLS_OK;
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

clsi_native *clsi_native_create(const cls_program *p, int width) {
    (void)p, (void)width;
    return NULL;
}

void clsi_native_free(clsi_native **native) {
    *native = NULL;
}

#endif

/* ---- runs ---- */

void clsi_native_run(const clsi_native *n, double *work, int first, int last) {
    const clsi_native_piece *piece = n->pieces + (first ? n->end[first - 1] : 0),
                            *end = n->pieces + n->end[last];
    for (; piece < end; piece++) {
        if (piece->run) piece->run(work, 1);
        const clsi_instruction *in = piece->slow;
        if (!in) continue;
        double a = work[in->a], b = work[in->b], *r = work + piece->result;
        switch ((clsi_code)in->code) {
        case CLSI_POW: *r = clsi_pow(a, b); break;
        case CLSI_FIELD: *r = clsi_run_take(in->take, work); break;
        case CLSI_CALL: *r = clsi_function_value(in->function, a); break;
        case CLSI_POW_FROM:
        case CLSI_QUOTIENT_FROM: *r = clsi_from_instruction(in, a, b, work[in->v]); break;
        default: *r = clsi_slow_instruction(in, a, b);
        }
    }
}
