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
#include "expr/native_code.h"
#include "base/base.h"
#include "base/vectors.h"
#include "expr/kernels.h"
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/mman.h>

/* Why a register is read behind the last instruction of a stage. */
enum { GIVEN = 1, KEPT = 2 };

enum { MOST = 20000 }; /* instructions */

/* ---- functions ---- */

/* Instructions from k to last as a function of (work in rdi, vectors in esi). */
static void put_piece(clsi_writer *w, size_t k, size_t last) {
    size_t begin = w->length;
    for (; k < last; k++) clsi_code_native(w, k);
    clsi_code_let_go(w);
    CODE(w, 0x48, 0x83, 0xc7, (unsigned char)(w->width * (int)sizeof(double))); /* add rdi, size */
    CODE(w, 0xff, 0xce, 0x0f, 0x85);                                            /* dec esi; jnz */
    clsi_code_put_number(w, (long long)begin - (long long)(w->length + 4));
    CODE(w, 0xc5, 0xf8, 0x77, 0xc3); /* vzeroupper; ret */
}

/* Outputs that a stage is asked for. They are not read behind it, but for those of a later one. */
static void give_outputs(clsi_writer *w, int stage) {
    const cls_program *p = w->p;
    size_t first = stage == CLSI_STAGE_FIRST ? 0 : p->n_first_outputs;
    size_t last = stage == CLSI_STAGE_FIRST ? p->n_first_outputs : p->n_outputs;
    for (size_t k = first; k < last; k++) clsi_code_give(w, p->outputs[k], k);
    for (size_t k = first; k < last; k++) w->output[p->outputs[k]] &= KEPT;
    for (size_t k = last; k < p->n_outputs; k++) w->output[p->outputs[k]] |= GIVEN;
}

/* Instructions from k to last as a function of (work in rdi, inputs in rsi, outputs in rdx): they stay in
 * rbx, rbp and r14, and calls find the stack aligned. The early stage has no outputs; with `same` there is the
 * work of another program in their place. */
static void put_stage(clsi_writer *w, size_t k, size_t last, int stage, const uint32_t *same) {
    CODE(w, 0x53, 0x55, 0x41, 0x56);                               /* push rbx, rbp, r14 */
    CODE(w, 0x48, 0x89, 0xfb, 0x48, 0x89, 0xf5, 0x49, 0x89, 0xd6); /* mov */
    for (; k < last; k++) {
        if (same && same[k] != CLSI_NOT_SHARED)
            clsi_code_known(w, k);
        else if (clsi_code_is_native(&w->p->code[k]))
            clsi_code_native(w, k);
        else
            clsi_code_call(w, k);
    }
    if (w->direct && stage != CLSI_STAGE_EARLY) give_outputs(w, stage);
    clsi_code_let_go(w);
    CODE(w, 0x41, 0x5e, 0x5d, 0x5b, 0xc3); /* pop; ret */
}

/* ---- programs ---- */

static cls_status add_piece(clsi_native *n, size_t *room, clsi_native_piece piece) {
    if (!clsi_grow(&n->pieces, room, n->n_pieces + 1, sizeof *n->pieces)) return CLS_MEMORY;
    n->pieces[n->n_pieces++] = piece;
    return CLS_OK;
}

cls_status clsi_code_executable(const clsi_writer *w, void **code, size_t *size) {
    void *made = mmap(NULL, w->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return CLS_MEMORY;
    memcpy(made, w->bytes, w->length);
    *code = made;
    *size = w->length;
    return mprotect(made, w->length, PROT_READ | PROT_EXEC) ? CLS_MEMORY : CLS_OK;
}

static cls_status make_executable(clsi_writer *w, clsi_native *n) {
    cls_status status = clsi_code_executable(w, &n->code, &n->size);
    if (status != CLS_OK) return status;
    void *code = n->code;
    for (size_t i = 0; i < n->n_pieces; i++) {
        clsi_native_piece *piece = &n->pieces[i];
        unsigned char *at = (unsigned char *)code + piece->at;
        if (piece->any) memcpy(&piece->run, &at, sizeof piece->run);
    }
    return CLS_OK;
}

static size_t count_powers(const cls_program *p) {
    size_t n = 0;
    for (size_t k = 0; k < p->n_instructions; k++)
        n += p->code[k].code == CLSI_QUOTIENT_FROM && p->code[k].function == CLS_FN_POWER;
    return n;
}

static cls_status write_stages(clsi_writer *w, clsi_native *n) {
    const cls_program *p = w->p;
    size_t at[CLSI_STAGES] = {0}, k = 0, known = 0;
    n->terms = w->terms = clsi_calloc(2 * count_powers(p) + 1, CLSI_POWER_TERMS * sizeof *n->terms);
    if (!n->terms) return CLS_MEMORY;
    clsi_code_put_pool(w);
    if (w->same) {
        known = w->length;
        put_stage(w, 0, p->end[CLSI_STAGE_EARLY], CLSI_STAGE_EARLY, w->same);
        clsi_code_begin(w);
    }
    for (int now = 0; now < CLSI_STAGES; k = p->end[now++]) {
        if (k == p->end[now] && !(w->direct && now != CLSI_STAGE_EARLY)) continue;
        at[now] = w->length;
        put_stage(w, k, p->end[now], now, NULL);
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

static cls_status write_pieces(clsi_writer *w, clsi_native *n) {
    const cls_program *p = w->p;
    size_t room = 0, k = 0;
    cls_status status = CLS_OK;
    clsi_code_put_pool(w);
    for (int now = 0; now < CLSI_STAGES && status == CLS_OK; now++) {
        while (k < p->end[now] && status == CLS_OK) {
            clsi_native_piece piece = {.at = w->length, .known = CLSI_NOT_SHARED};
            size_t begin = k;
            while (k < p->end[now] && clsi_code_is_native(&p->code[k])) k++;
            piece.any = k > begin;
            if (piece.any) put_piece(w, begin, k);
            if (k < p->end[now]) {
                clsi_code_pass(w, k);
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
    clsi_writer w = {.p = p,
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
        made->vectors = width == SCALAR ? 1 : (int)clsi_lanes_row(p) / width;
        made->direct = w.direct = width == SCALAR && !p->n_takes && !p->n_parameters;
        for (int m = 0; m < 32; m++) w.holds[m] = NOBODY;
        for (size_t r = 0; r < n; r++) w.where[r] = NOBODY;
        clsi_code_begin(&w);
        for (size_t k = 0; k < p->n_outputs; k++) w.output[p->outputs[k]] |= GIVEN;
        for (size_t k = 0; k < p->n_field_inputs; k++) w.output[p->field_inputs[k]] |= KEPT;
        for (size_t r = 0; links && links->keep && r < n; r++)
            if (links->keep[r]) w.output[r] |= KEPT;
        w.same = links ? links->same : NULL;
        fine = (width == SCALAR ? write_stages(&w, made) : write_pieces(&w, made)) == CLS_OK;
    }
    free(w.next);
    free(w.begin);
    free(w.where);
    free(w.output);
    free(w.bytes);
    free(w.pool);
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

void clsi_native_run(const clsi_native *n, double *work, const double *in, double *out, int first,
                     int last) {
    for (int now = first; now <= last; now++)
        if (n->stage[now]) n->stage[now](work, in, out);
}
