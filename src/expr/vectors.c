/* Plans at work: the operations of vectorise.c on one sample.
 *
 * The loader picks the version for the machine; all give the same bits. Elementary functions run in vectors where kernels.inc has them
 * without branches, one by one elsewhere. Allocates nothing. */
#include "base/vectors.h"
#include "expr/program.h"
#include "expr/tile_code.h"
#include <math.h>
#include <string.h>

#include "expr/elementary.inc"
#include "expr/kernels.inc"

_Static_assert((int)CLSI_PLAN_LANES == (int)CLSI_VECTOR, "lanes of a plan are those of a vector");

/* ---- neighbours ---- */

/* Whole vectors, then what is left. */
#define LOOP(whole, single)                                                                        \
    do {                                                                                           \
        size_t i = 0;                                                                              \
        for (; i + CLSI_PLAN_LANES <= n; i += CLSI_PLAN_LANES) store(r + i, whole);                \
        for (; i < n; i++) r[i] = single;                                                          \
    } while (0)
/* In vectors as wide as the machine's: results are registers of their own, they do not overlap what they
 * are computed from. (Of vectors wider than those GCC 12 makes detours over the stack.) */
#define PLAIN(value) APART for (size_t i = 0; i < n; i++) r[i] = value
/* Neighbours of a sum in pairs: two vectors are read, and dealt out. */
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD  1, 3, 5, 7, 9, 11, 13, 15
#define PAIRS(op)                                                                                  \
    do {                                                                                           \
        size_t i = 0;                                                                              \
        UNROLL                                                                                     \
        for (; i + CLSI_PLAN_LANES <= n; i += CLSI_PLAN_LANES) {                                   \
            vector low = load(a + 2 * i), high = load(a + 2 * i + CLSI_PLAN_LANES);                \
            store(r + i, __builtin_shufflevector(low, high, EVEN)                                  \
                             op __builtin_shufflevector(low, high, ODD));                          \
        }                                                                                          \
        for (; i < n; i++) r[i] = a[2 * i] op a[2 * i + 1];                                        \
    } while (0)
/* A number that all elements share is read once: a store may be to where it is, for what the compiler knows. */
#define BOTH(op)                                                                                   \
    do {                                                                                           \
        if (op_a == 2 && op_b == 2 && b == a + 1) {                                                \
            PAIRS(op);                                                                             \
        } else if (op_a == 2 && op_b == 2) {                                                       \
            PLAIN(a[2 * i] op b[2 * i]);                                                           \
        } else if ((op_a | op_b) > 1) {                                                            \
            for (size_t i = 0; i < n; i++) r[i] = a[i * op_a] op b[i * op_b];                      \
        } else if (op_a && op_b) {                                                                 \
            PLAIN(a[i] op b[i]);                                                                   \
        } else if (op_a) {                                                                         \
            const double one = *b;                                                                 \
            PLAIN(a[i] op one);                                                                    \
        } else {                                                                                   \
            const double one = *a;                                                                 \
            PLAIN(one op b[i]);                                                                    \
        }                                                                                          \
    } while (0)

INLINE void one_by_one(const clsi_vector_op *op, const clsi_instruction *in, const double *a,
                       const double *b, double *r) {
    if (clsi_run_elementary(in, op, a, b, r)) return;
    for (size_t i = 0; i < op->n; i++)
        r[i] = clsi_slow_instruction(in, a[i * op->step_a], b[i * op->step_b]);
}

/* ---- tanh: the kernels of kernels.inc, operation by operation ---- */

INLINE vector sum15(const double *c, vector x) {
    vector x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
    vector low = ((c[0] + c[1] * x) + (c[2] + c[3] * x) * x2) +
                 ((c[4] + c[5] * x) + (c[6] + c[7] * x) * x2) * x4;
    vector high =
        ((c[8] + c[9] * x) + (c[10] + c[11] * x) * x2) + ((c[12] + c[13] * x) + c[14] * x2) * x4;
    return low + high * x8;
}

INLINE vector tanh_of(vector x) {
    bits sign = (bits)x & (bits)splat(-0.0);
    vector y = (vector)((bits)x ^ sign);
    y = 2 * pick(y > splat(20), splat(20), y);
    vector scale = (y * 0x1.71547652b82fep0 - 0.2935) + 0x1.8p52, k = scale - 0x1.8p52;
    vector r = y - k * 0x1.62e42feep-1;
    r = r - k * 0x1.a39ef35793c76p-33;
    vector p = sum15(clsi_k_exp_terms, r) * (r * r) + r;
    scale = (vector)(((bits)scale << 52) + (bits)splat(1));
    vector m = scale * p + (scale - 1), q = m / (m + 2), small = pick(m > splat(4), splat(4), m);
    q = q - q * ((small - ((small + 2) - 2)) * (0.5 - 0.5 * q));
    return (vector)((bits)q | sign);
}

INLINE void call(const clsi_vector_op *op, const clsi_instruction *in, const double *a, double *r) {
    size_t n = op->n;
    if (in->function == CLS_FN_TANH)
        LOOP(tanh_of(load(a + i)), clsi_k_tanh(a[i]));
    else if (in->function == CLS_FN_SQRT && op->step_a)
        for (size_t i = 0; i < n; i++) r[i] = sqrt(a[i]);
    else
        one_by_one(op, in, a, a, r);
}

INLINE void each(const clsi_instruction *in, const clsi_vector_op *op, const double *a,
                 const double *b, double *r) {
    size_t n = op->n;
    size_t op_a = op->step_a, op_b = op->step_b;
    switch ((clsi_code)in->code) {
    case CLSI_ADD: BOTH(+); break;
    case CLSI_SUB: BOTH(-); break;
    case CLSI_MUL: BOTH(*); break;
    case CLSI_DIV: BOTH(/); break;
    case CLSI_NEG: PLAIN(-a[i]); break;
    case CLSI_SQUARE: PLAIN(a[i] * a[i]); break;
    case CLSI_CALL: call(op, in, a, r); break;
    default: one_by_one(op, in, a, b, r);
    }
}

/* The versions are static: the loader's choice would be seen outside the library otherwise. */
CLONES
static void run_each(const clsi_instruction *in, const clsi_vector_op *op, const double *a,
                     const double *b, double *r) {
    each(in, op, a, b, r);
}

void clsi_run_each(const clsi_instruction *in, const clsi_vector_op *op, const double *a,
                   const double *b, double *r) {
    run_each(in, op, a, b, r);
}

INLINE void run_op(const clsi_plan *plan, const clsi_vector_op *op, double *work) {
    const clsi_instruction *code = plan->code + op->first;
    switch ((clsi_vector_kind)op->kind) {
    case CLSI_VECTOR_SCALARS: clsi_run_scalars(work, work + op->result, code, code + op->n); break;
    case CLSI_VECTOR_EACH: each(code, op, work + op->a, work + op->b, work + op->result); break;
    }
}

/* ---- tiles ---- */

#if defined(__GNUC__)
#define CLSI_FETCH(from) __builtin_prefetch(from)
#else
#define CLSI_FETCH(from) (void)(from)
#endif

size_t clsi_plan_size(const clsi_plan *plan) {
    return plan->n_registers + plan->n_scratch;
}

/* Elements first .. end of an operation, to where they are asked for; but for those that machine code has
 * delivered. */
INLINE void deliver(const clsi_plan *plan, const clsi_tile *tile, int fused, int64_t first,
                    int64_t end, const double *r, double *work, double *out) {
    const clsi_delivery *d = plan->deliveries + tile->deliveries, *last = d + tile->n_deliveries;
    for (; d < last; d++) {
        int64_t i = d->element, stop = i + d->n, stride = d->stride;
        if (fused && d->fused) continue;
        if (i < first) i = first;
        if (stop > end) stop = end;
        if (i >= stop) continue;
        double *to = d->output == CLSI_IN_REGISTERS
                         ? work + plan->ops[tile->op].result + i
                         : out + ((int64_t)d->output + (i - (int64_t)d->element) * stride);
        if (stride == 1)
            memcpy(to, r + (i - first), (size_t)(stop - i) * sizeof *to);
        else
            for (; i < stop; i++, to += stride) *to = r[i - first];
    }
}

/* The next tile's numbers on their way: of arrays that stay in memory a tile reads too little for the machine
 * to see a stream. In the cache it costs more than it saves. */
INLINE void fetch(const clsi_vector_op *op, const double *from, size_t step) {
    enum { LINE = 8, IN_MEMORY = 1 << 15 };
    for (size_t i = CLSI_TILE * step; op->n >= IN_MEMORY && i < 2 * CLSI_TILE * step; i += LINE)
        CLSI_FETCH(from + i);
}

/* The elements of an operation that belong to the tile from `now` on; fused: machine code has computed them. */
INLINE void run_tile(const clsi_plan *plan, const clsi_tile *tile, int fused, int64_t now,
                     double *work, double *scratch, double *out) {
    const clsi_vector_op *op = &plan->ops[tile->op];
    int64_t first = now - tile->shift, end = first + CLSI_TILE, skip = first < 0 ? -first : 0;
    if (end > op->n) end = op->n;
    first += skip;
    if (first >= end) return;
    clsi_vector_op part = {
        .n = (uint32_t)(end - first), .step_a = op->step_a, .step_b = op->step_b};
    const double *a = work + op->a + first * op->step_a, *b = work + op->b + first * op->step_b;
    double *r = work + op->result + first;
    if (!fused && tile->a == CLSI_IN_REGISTERS) fetch(op, a, op->step_a);
    if (!fused && tile->b == CLSI_IN_REGISTERS && op->b != op->a) fetch(op, b, op->step_b);
    if (!fused && tile->result == CLSI_IN_REGISTERS) fetch(op, r, 1);
    if (tile->a != CLSI_IN_REGISTERS) a = scratch + tile->a + skip;
    if (tile->b != CLSI_IN_REGISTERS) b = scratch + tile->b + skip;
    if (tile->result != CLSI_IN_REGISTERS) r = scratch + tile->result + skip;
    if (!fused) each(plan->code + op->first, &part, a, b, r);
    if (tile->n_deliveries) deliver(plan, tile, fused, first, end, r, work, out);
}

/* n <= 8 numbers, without a call. */
static inline void copy_few(int64_t n, const double *from, double *to) {
    if (n & 8) memcpy(to, from, 8 * sizeof *to);
    if (n & 4) memcpy(to, from, 4 * sizeof *to), to += 4, from += 4;
    if (n & 2) memcpy(to, from, 2 * sizeof *to), to += 2, from += 2;
    if (n & 1) *to = *from;
}

/* One vector of a piece at the time t, where not all of its cells are stored. */
static void run_edge(const clsi_fused *f, const clsi_fused_piece *p, int64_t t, int64_t now,
                     double *work, double *scratch, double *out) {
    double room[CLSI_FUSED_STORES * CLSI_PLAN_LANES];
    const clsi_fused_store *s = f->stores + p->stores, *last = s + p->n_stores;
    p->edge(work + t, scratch + (t - now), out ? out + t : out, work, 1, room);
    for (const double *from = room; s < last; s++, from += CLSI_PLAN_LANES) {
        int64_t i = s->begin > t ? s->begin : t,
                end = s->end < t + f->width ? s->end : t + f->width;
        if (i < end) copy_few(end - i, from + (i - t), (s->out ? out : work) + i + s->at);
    }
}

/* Tiles with elements at a time: those in a list, or (NULL) all from `first` on. */
typedef struct active {
    const uint32_t *list;
    size_t first, n;
} active;

INLINE const clsi_tile *tile_of(const clsi_plan *plan, const active *a, size_t k) {
    return plan->tiles + (a->list ? a->list[k] : a->first + k);
}

/* Those of a piece, which are next in the list. */
INLINE active take_piece(const clsi_fused_piece *p, active *all) {
    active of = {.list = all->list, .first = p->first, .n = p->n};
    if (!of.list) return of;
    size_t k = 0;
    while (k < all->n && all->list[k] < p->first + p->n) k++;
    of.n = k;
    all->list += k;
    all->n -= k;
    return of;
}

/* The vectors of a piece that begin in the tile from `now` on, and what is left to be delivered of them. */
static void run_piece(const clsi_plan *plan, const clsi_phase *phase, const clsi_fused_piece *p,
                      const active *a, int64_t now, double *work, double *scratch, double *out) {
    const clsi_fused *f = plan->fused;
    int64_t end = now + CLSI_TILE < phase->end ? now + CLSI_TILE : phase->end, t = now;
    for (; t < end && t < p->begin; t += f->width) run_edge(f, p, t, now, work, scratch, out);
    int64_t stop = end < p->end ? end : p->end,
            n = stop > t ? (stop - t) / (p->vectors * f->width) : 0;
    if (n) p->core(work + t, scratch + (t - now), out ? out + t : out, work, (long)n, NULL);
    t += n * p->vectors * f->width;
    if (n && t < stop) { /* one is left: with the one before, once more */
        t += f->width - p->vectors * f->width;
        p->core(work + t, scratch + (t - now), out ? out + t : out, work, 1, NULL);
        t = stop;
    }
    for (; t < end; t += f->width) run_edge(f, p, t, now, work, scratch, out);
    for (size_t k = 0; k < a->n && p->loose; k++)
        run_tile(plan, tile_of(plan, a, k), 1, now, work, scratch, out);
}

INLINE void run_pieces(const clsi_plan *plan, const clsi_phase *phase, active all, int64_t now,
                       double *work, double *scratch, double *out) {
    const clsi_fused_piece *piece = plan->fused->pieces + phase->pieces,
                           *end = piece + phase->n_pieces;
    for (; piece < end; piece++) {
        const active a = take_piece(piece, &all);
        if (piece->core)
            run_piece(plan, phase, piece, &a, now, work, scratch, out);
        else
            for (size_t k = 0; k < a.n; k++)
                run_tile(plan, tile_of(plan, &a, k), 0, now, work, scratch, out);
    }
}

/* What later tiles read moves to the front; of what is over nothing is read. */
INLINE void keep(const clsi_plan *plan, const clsi_tile *tile, int64_t now, double *scratch) {
    int64_t next = now + CLSI_TILE - tile->shift;
    if (tile->result == CLSI_IN_REGISTERS || !tile->before) return;
    if (next <= 0 || next - (int64_t)tile->before >= (int64_t)plan->ops[tile->op].n) return;
    double *to = scratch + tile->result - tile->before;
    for (uint32_t i = 0; i < tile->before; i += CLSI_PLAN_LANES)
        store(to + i, load(to + CLSI_TILE + i));
}

INLINE active active_at(const clsi_plan *plan, const clsi_phase *phase, int64_t now) {
    active a = {.first = phase->first, .n = phase->n};
    if (!phase->listed) return a;
    const size_t *from = plan->active_from + phase->times + (now - phase->begin) / CLSI_TILE;
    return (active){.list = plan->active + from[0], .n = from[1] - from[0]};
}

/* The operations of a phase that is not tiled. */
INLINE void run_whole(const clsi_plan *plan, const clsi_phase *phase, double *work) {
    const clsi_fused_singles *code = plan->fused ? plan->fused->singles : NULL;
    for (size_t i = phase->first, end = i + phase->n; i < end;) {
        if (code && code[i].run) {
            code[i].run(work);
            i += code[i].n;
        } else {
            run_op(plan, &plan->ops[plan->tiles[i].op], work);
            i++;
        }
    }
}

CLONES
static void run_phases(const clsi_plan *plan, double *work, size_t first, size_t last,
                       double *out) {
    double *scratch = work + plan->n_registers;
    for (const clsi_phase *phase = plan->phases + first; phase < plan->phases + last; phase++) {
        if (!phase->tiled) run_whole(plan, phase, work);
        for (int64_t now = phase->begin; now < phase->end && phase->tiled; now += CLSI_TILE) {
            const active a = active_at(plan, phase, now);
            if (!plan->fused)
                for (size_t k = 0; k < a.n; k++)
                    run_tile(plan, tile_of(plan, &a, k), 0, now, work, scratch, out);
            else
                run_pieces(plan, phase, a, now, work, scratch, out);
            for (size_t k = 0; k < a.n; k++) keep(plan, tile_of(plan, &a, k), now, scratch);
        }
    }
}

CLONES
static void run_ops(const clsi_plan *plan, double *work, size_t first, size_t last) {
    for (size_t k = first; k < last; k++) run_op(plan, &plan->ops[k], work);
}

void clsi_plan_run(const clsi_plan *plan, double *work, int first, int last, double *out) {
    if (plan->n_phases)
        run_phases(plan, work, first ? plan->phases_end[first - 1] : 0, plan->phases_end[last],
                   out);
    else
        run_ops(plan, work, first ? plan->end[first - 1] : 0, plan->end[last]);
}
