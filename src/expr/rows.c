/* Samples side by side: every register is a row of numbers, one for each sample.
 *
 * Without a plan instructions go row by row. With one (vectorise.c) neighbours are rows that follow
 * each other. The bits are those of one sample. The loader picks the version for the machine.
 * Runs allocate nothing. */
#include "base/base.h"
#include "base/vectors.h"
#include "expr/native.h"
#include <stdlib.h>

enum { SHORT = CLSI_VECTOR }; /* samples of a vector */

/* ---- instructions ---- */

/* Elementary functions in vectors where there are any; rows of constants count as one number. */
static void run_slow(const clsi_instruction *in, int step_a, int step_b, size_t n, const double *a,
                     const double *b, double *r) {
    clsi_vector_op op = {.n = (uint32_t)n, .step_a = (uint8_t)step_a, .step_b = (uint8_t)step_b};
    clsi_run_each(in, &op, a, b, r);
}

#define ROW(value)                                                                                 \
    for (size_t s = 0; s < n; s++) r[s] = value;                                                   \
    break

CLONES
static void run_rows(const clsi_instruction *in, size_t n_code, size_t n_constants, size_t n,
                     size_t row, double *restrict work, double *r) {
    for (const clsi_instruction *end = in + n_code; in < end; in++, r += row) {
        const double *a = work + (size_t)in->a * row, *b = work + (size_t)in->b * row;
        switch ((clsi_code)in->code) {
        case CLSI_ADD: ROW(a[s] + b[s]);
        case CLSI_SUB: ROW(a[s] - b[s]);
        case CLSI_MUL: ROW(a[s] * b[s]);
        case CLSI_DIV: ROW(a[s] / b[s]);
        case CLSI_NEG: ROW(-a[s]);
        case CLSI_SQUARE: ROW(a[s] * a[s]);
        case CLSI_QUOTIENT_FROM:
        case CLSI_POW_FROM: clsi_run_from(in, n, a, b, work + (size_t)in->v * row, r); break;
        default: run_slow(in, in->a >= n_constants, in->b >= n_constants, n, a, b, r); break;
        }
    }
}

void clsi_run_rows(const clsi_instruction *in, size_t n_code, size_t n_constants, size_t n,
                   size_t row, double *work, double *r) {
    run_rows(in, n_code, n_constants, n, row, work, r);
}

/* ---- in and out ---- */

/* In whole vectors: of a memcpy of unknown length compilers make slow string instructions. */
INLINE void copy_row(size_t n, const double *from, double *to) {
    size_t s = 0;
    for (; s + SHORT <= n; s += SHORT) store(to + s, load(from + s));
    for (; s < n; s++) to[s] = from[s];
}

CLONES
static void take_rows(size_t n_rows, size_t n, const double *in, size_t stride, double *rows,
                      size_t row) {
    for (size_t k = 0; k < n_rows; k++, in += stride, rows += row) {
        copy_row(n, in, rows);
        for (size_t s = n; s % SHORT; s++) rows[s] = in[n - 1];
    }
}

CLONES
static void give_rows(size_t n_rows, const uint32_t *which, size_t n, const double *work,
                      size_t row, double *out, size_t stride) {
    for (size_t k = 0; k < n_rows; k++, out += stride)
        copy_row(n, work + (size_t)which[k] * row, out);
}

void clsi_take_rows(size_t n_rows, size_t n, const double *in, size_t stride, double *rows,
                    size_t row) {
    take_rows(n_rows, n, in, stride, rows, row);
}

void clsi_give_rows(size_t n_rows, const uint32_t *which, size_t n, const double *work, size_t row,
                    double *out, size_t stride) {
    give_rows(n_rows, which, n, work, row, out, stride);
}

/* ---- neighbours ---- */

#define BOTH(op)                                                                                   \
    for (size_t i = 0; i < n; i++, a += step_a, b += step_b, r += CLSI_LANES)                      \
        UNROLL for (int v = 0; v < vectors; v++)                                                   \
            store(r + v * SHORT, load(a + v * SHORT) op load(b + v * SHORT));                      \
    break
#define ALONE(value)                                                                               \
    for (size_t i = 0; i < n; i++, a += step_a, r += CLSI_LANES)                                   \
        UNROLL for (int v = 0; v < vectors; v++) {                                                 \
            vector x = load(a + v * SHORT);                                                        \
            store(r + v * SHORT, value);                                                           \
        }                                                                                          \
    break

INLINE void each(int vectors, const clsi_plan *plan, const clsi_vector_op *op, double *work) {
    const clsi_instruction *in = plan->code + op->first;
    const double *a = work + (size_t)op->a * CLSI_LANES, *b = work + (size_t)op->b * CLSI_LANES;
    double *r = work + (size_t)op->result * CLSI_LANES;
    size_t n = op->n, step_a = op->step_a * CLSI_LANES, step_b = op->step_b * CLSI_LANES;
    switch ((clsi_code)in->code) {
    case CLSI_ADD: BOTH(+);
    case CLSI_SUB: BOTH(-);
    case CLSI_MUL: BOTH(*);
    case CLSI_DIV: BOTH(/);
    case CLSI_NEG: ALONE(-x);
    case CLSI_SQUARE: ALONE(x * x);
    default:
        if (vectors == 2 && clsi_is_unary(in) && op->step_a && op->a >= plan->n_constants) {
            run_slow(in, 1, 1, n * CLSI_LANES, a, a, r);
            break;
        }
        for (size_t i = 0; i < n; i++, a += step_a, b += step_b, r += CLSI_LANES)
            run_slow(in, op->a >= plan->n_constants, op->b >= plan->n_constants,
                     (size_t)vectors * SHORT, a, b, r);
    }
}

/* ---- plans ---- */

INLINE void run_ops(int vectors, const clsi_plan *plan, double *work, size_t first, size_t last) {
    for (size_t k = first; k < last; k++) {
        const clsi_vector_op *op = &plan->ops[k];
        switch ((clsi_vector_kind)op->kind) {
        case CLSI_VECTOR_SCALARS:
            clsi_run_rows(plan->code + op->first, op->n, plan->n_constants, (size_t)vectors * SHORT,
                          CLSI_LANES, work, work + (size_t)op->result * CLSI_LANES);
            break;
        case CLSI_VECTOR_EACH: each(vectors, plan, op, work); break;
        }
    }
}

CLONES
static void run_planned(const clsi_plan *plan, size_t n, double *work, size_t first, size_t last) {
    if (n <= SHORT)
        run_ops(1, plan, work, first, last);
    else
        run_ops(CLSI_LANES / SHORT, plan, work, first, last);
}

/* ---- lanes ---- */

_Static_assert(CLSI_LANES == 2 * SHORT, "tiles have two vectors a row");

size_t clsi_lanes_row(const cls_program *p) {
    return p->wide ? CLSI_WIDE_LANES : CLSI_LANES;
}

int clsi_lanes_may_widen(const cls_program *p) {
    return p->slotted && !p->plan && !p->n_takes && !p->reverse && !p->native_lanes;
}

void clsi_lanes_widen(cls_program *p) {
    p->wide = 1;
}

/* Rows of `row` numbers; pairs of instructions share a jump (clsi_find_pairs). */
#define ONE(op)                                                                                    \
    do {                                                                                           \
        const double *a = work + (size_t)in->a * row, *b = work + (size_t)in->b * row;             \
        double *r = work + (size_t)in->r * row;                                                    \
        UNROLL for (int v = 0; v < vectors; v++) {                                                 \
            vector x = load(a + v * SHORT), y = load(b + v * SHORT);                               \
            (void)y;                                                                               \
            store(r + v * SHORT, op);                                                              \
        }                                                                                          \
    } while (0)
#define PAIR(first, second)                                                                        \
    ONE(first);                                                                                    \
    in++;                                                                                          \
    ONE(second);                                                                                   \
    break
enum { PAIRS = CLSI_FIELD + 1 };

static void run_lane_slow(const clsi_instruction *in, size_t n, size_t row, size_t n_constants,
                          double *work);

INLINE void run_slots(int vectors, size_t row, const clsi_instruction *in,
                      const clsi_instruction *end, size_t n_constants, double *work) {
    for (; in < end; in++) {
        switch (in->jump) {
        case CLSI_ADD: ONE(x + y); break;
        case CLSI_SUB: ONE(x - y); break;
        case CLSI_MUL: ONE(x * y); break;
        case CLSI_DIV: ONE(x / y); break;
        case CLSI_NEG: ONE(-x); break;
        case CLSI_SQUARE: ONE(x * x); break;
        case PAIRS + 0: PAIR(x + y, x + y);
        case PAIRS + 1: PAIR(x + y, x - y);
        case PAIRS + 2: PAIR(x + y, x * y);
        case PAIRS + 3: PAIR(x - y, x + y);
        case PAIRS + 4: PAIR(x - y, x - y);
        case PAIRS + 5: PAIR(x - y, x * y);
        case PAIRS + 6: PAIR(x * y, x + y);
        case PAIRS + 7: PAIR(x * y, x - y);
        case PAIRS + 8: PAIR(x * y, x * y);
        default: run_lane_slow(in, (size_t)vectors * SHORT, row, n_constants, work);
        }
    }
}

static void run_lane_slow(const clsi_instruction *in, size_t n, size_t row, size_t n_constants,
                          double *work) {
    const double *a = work + (size_t)in->a * row, *b = work + (size_t)in->b * row;
    double *r = work + (size_t)in->r * row;
    if (in->code == CLSI_QUOTIENT_FROM || in->code == CLSI_POW_FROM)
        clsi_run_from(in, n, a, b, work + (size_t)in->v * row, r);
    else
        run_slow(in, in->a >= n_constants, in->b >= n_constants, n, a, b, r);
}

static void run_native_lanes(const cls_program *p, double *work, int first, int last) {
    const clsi_native *n = p->native_lanes;
    size_t row = clsi_lanes_row(p);
    const clsi_native_piece *piece = n->pieces + (first ? n->end[first - 1] : 0);
    for (const clsi_native_piece *end = n->pieces + n->end[last]; piece < end; piece++) {
        if (piece->run) piece->run(work, n->vectors);
        if (piece->slow) run_lane_slow(piece->slow, row, row, p->n_constants, work);
    }
}

/* Functions that `other` has computed are copied. */
void clsi_lanes_early_from(const cls_program *p, double *work, const cls_program *other,
                           double *of) {
    const clsi_native *n = p->native_lanes;
    if (!n || !n->shares) {
        clsi_lanes_early(p, clsi_lanes_row(p), work);
        return;
    }
    (void)other;
    size_t row = clsi_lanes_row(p);
    work = clsi_on_cache_line(work);
    of = clsi_on_cache_line(of);
    const clsi_native_piece *piece = n->pieces;
    for (const clsi_native_piece *end = piece + n->end[CLSI_STAGE_EARLY]; piece < end; piece++) {
        if (piece->run) piece->run(work, n->vectors);
        if (piece->known != CLSI_NOT_SHARED)
            clsi_copy_rows(1, &(clsi_row_pair){piece->result, piece->known}, row, work, of);
        else if (piece->slow)
            run_lane_slow(piece->slow, row, row, p->n_constants, work);
    }
}

/* The rows of `other` for the functions of p; nothing changes where there is no memory. */
static void link_pieces(cls_program *p, const cls_program *other, const uint32_t *same) {
    clsi_native *n = p->native_lanes;
    for (size_t i = 0; n && other->native_lanes && i < n->end[CLSI_STAGE_EARLY]; i++) {
        clsi_native_piece *piece = &n->pieces[i];
        uint32_t r = piece->slow ? same[piece->slow - p->slotted] : CLSI_NOT_SHARED;
        if (r == CLSI_NOT_SHARED) continue;
        size_t first = other->n_constants + other->n_inputs;
        piece->known = r < first ? r : other->slotted[r - first].r;
        n->shares = 1;
    }
}

void clsi_lanes_link(cls_program *p, cls_program *other, const uint32_t *inputs) {
    if (p->native_lanes || other->native_lanes || !p->slotted || !other->slotted) return;
    size_t n = other->n_constants + other->n_inputs + other->n_instructions;
    uint32_t *same = clsi_malloc((p->n_instructions + 1) * sizeof *same);
    unsigned char *keep = clsi_calloc(n, 1);
    if (same && keep && clsi_program_find_links(p, other, inputs, same, keep) &&
        clsi_program_find_slots(other, keep, NULL) == CLS_OK) {
        clsi_program_make_native(p, 1);
        clsi_program_make_native(other, 1);
        link_pieces(p, other, same);
    }
    free(same);
    free(keep);
}

CLONES
static void run_lane_code(const clsi_instruction *in, const clsi_instruction *end, size_t n,
                          int wide, size_t n_constants, double *work) {
    if (wide)
        run_slots(CLSI_WIDE_LANES / SHORT, CLSI_WIDE_LANES, in, end, n_constants, work);
    else if (n <= SHORT)
        run_slots(1, CLSI_LANES, in, end, n_constants, work);
    else
        run_slots(CLSI_LANES / SHORT, CLSI_LANES, in, end, n_constants, work);
}

static size_t constants_of(const cls_program *p) {
    return p->plan ? p->plan->n_constants : p->n_constants;
}

size_t clsi_lanes_size(const cls_program *p) {
    size_t plain = p->n_constants + p->n_inputs + p->n_instructions;
    if (!p->plan)
        return ((p->slotted ? p->n_slots : plain) + (p->n_takes ? p->n_state : 0)) *
                   clsi_lanes_row(p) +
               p->n_weights + clsi_reverse_size(p) + SHORT;
    return p->plan->n_registers * CLSI_LANES + SHORT;
}

static void fill(size_t n, double *row, double value) {
    for (size_t s = 0; s < n; s++) row[s] = value;
}

void clsi_lanes_prepare(const cls_program *p, double *work) {
    const double *constants = p->plan ? p->plan->constants : p->constants;
    size_t row = clsi_lanes_row(p);
    work = clsi_on_cache_line(work);
    for (size_t k = 0; k < constants_of(p); k++) fill(row, work + k * row, constants[k]);
}

void clsi_lanes_set(const cls_program *p, double *work, const double *parameters) {
    work = clsi_on_cache_line(work);
    size_t row = clsi_lanes_row(p);
    double *rows = work + (constants_of(p) + p->first_parameter) * row;
    for (size_t k = 0; k < p->n_direct; k++)
        fill(row, rows + (size_t)p->direct[k] * row, parameters[p->direct[k]]);
    if (p->n_weights) clsi_lanes_weights(p, work, parameters);
}

double *clsi_lanes_input(const cls_program *p, double *work, size_t k) {
    return clsi_on_cache_line(work) + (constants_of(p) + k) * clsi_lanes_row(p);
}

static const uint32_t *outputs_of(const cls_program *p) {
    return p->plan ? p->plan->outputs : p->slotted ? p->slot_outputs : p->outputs;
}

const double *clsi_lanes_output(const cls_program *p, double *work, size_t k) {
    return clsi_on_cache_line(work) + (size_t)outputs_of(p)[k] * clsi_lanes_row(p);
}

/* ---- sums over lanes ---- */

/* Sums of neighbours of two vectors, then of four, then of eight: eight rows become one vector of
 * their sums. */
INLINE vector fold(vector a, vector b, bits even, bits odd) {
#if defined(__clang__) /* indices that are not written out: element by element */
    vector sum;
    for (int i = 0; i < CLSI_VECTOR; i++) {
        double x = even[i] < CLSI_VECTOR ? a[even[i]] : b[even[i] - CLSI_VECTOR];
        double y = odd[i] < CLSI_VECTOR ? a[odd[i]] : b[odd[i] - CLSI_VECTOR];
        sum[i] = x + y;
    }
    return sum;
#else
    return __builtin_shuffle(a, b, even) + __builtin_shuffle(a, b, odd);
#endif
}

INLINE vector fold_eight(const vector *row) {
    const bits even[] = {
        {0, 8, 2, 10, 4, 12, 6, 14}, {0, 1, 8, 9, 4, 5, 12, 13}, {0, 1, 2, 3, 8, 9, 10, 11}};
    const bits odd[] = {
        {1, 9, 3, 11, 5, 13, 7, 15}, {2, 3, 10, 11, 6, 7, 14, 15}, {4, 5, 6, 7, 12, 13, 14, 15}};
    vector two[4], four[2];
    for (int i = 0; i < 4; i++) two[i] = fold(row[2 * i], row[2 * i + 1], even[0], odd[0]);
    for (int i = 0; i < 2; i++) four[i] = fold(two[2 * i], two[2 * i + 1], even[1], odd[1]);
    return fold(four[0], four[1], even[2], odd[2]);
}

CLONES
static void add_lanes(const uint32_t *outputs, const uint32_t *to, size_t n_outputs, size_t n,
                      const double *work, double *sums) {
    for (size_t k = 0; k < n_outputs; k += SHORT) {
        vector row[SHORT];
        size_t count = n_outputs - k < SHORT ? n_outputs - k : SHORT;
        double part[SHORT];
        for (size_t i = 0; i < SHORT; i++) {
            const double *from = work + (size_t)outputs[k + (i < count ? i : 0)] * CLSI_LANES;
            row[i] = load(from);
            if (n > SHORT) row[i] += load(from + SHORT);
        }
        store(part, fold_eight(row));
        for (size_t i = 0; i < count; i++) sums[to ? to[k + i] : k + i] += part[i];
    }
}

void clsi_lanes_add(const cls_program *p, size_t n, double *work, double *sums) {
    size_t count = p->n_outputs;
    const uint32_t *to = p->reverse ? clsi_reverse_slopes(p, &count) : NULL;
    add_lanes(outputs_of(p), to, count, n, clsi_on_cache_line(work), sums);
    for (size_t lane = 0; p->reverse && lane < n; lane++)
        clsi_lane_back(p, clsi_on_cache_line(work), lane, sums);
}

void clsi_lanes_slopes(const cls_program *p, double *work, size_t lane, double *row) {
    size_t count;
    const uint32_t *to = clsi_reverse_slopes(p, &count);
    for (size_t k = 0; k < count; k++) row[to[k]] += clsi_lanes_output(p, work, k)[lane];
    clsi_lane_back(p, clsi_on_cache_line(work), lane, row);
}

/* ---- runs ---- */

/* Lanes go through a field one after the other: its kernels fill the vectors with one. */
static void run_with_fields(const cls_program *p, size_t n, double *work, size_t k, size_t end) {
    size_t before = p->n_constants + p->n_inputs, whole = (n + SHORT - 1) / SHORT * SHORT;
    for (size_t stop = k; k < end; k = stop + 1) {
        for (stop = k; stop < end && p->code[stop].code != CLSI_FIELD;) stop++;
        double *r = work + (before + stop) * CLSI_LANES;
        clsi_run_rows(p->code + k, stop - k, p->n_constants, whole, CLSI_LANES, work,
                      work + (before + k) * CLSI_LANES);
        if (stop < end) clsi_lanes_take(p->code[stop].take, n, work, r);
    }
}

static void run_lanes(const cls_program *p, size_t n, double *work, int first, int last) {
    work = clsi_on_cache_line(work);
    size_t row = clsi_lanes_row(p);
    const size_t *ends = p->plan ? p->plan->end : p->end;
    size_t begin = first ? ends[first - 1] : 0, end = ends[last];
    if (p->native_lanes)
        run_native_lanes(p, work, first, last);
    else if (p->plan)
        run_planned(p->plan, n, work, begin, end);
    else if (p->n_takes)
        run_with_fields(p, n, work, begin, end);
    else if (!p->slotted)
        clsi_run_rows(p->code + begin, end - begin, p->n_constants, (n + SHORT - 1) / SHORT * SHORT,
                      row, work, work + (p->n_constants + p->n_inputs + begin) * row);
    else
        run_lane_code(p->slotted + begin, p->slotted + end, n, p->wide, p->n_constants, work);
}

void clsi_lanes_early(const cls_program *p, size_t n, double *work) {
    run_lanes(p, n, work, CLSI_STAGE_EARLY, CLSI_STAGE_EARLY);
    clsi_lanes_calls(p, p->early_calls, p->n_early_calls, n, clsi_on_cache_line(work));
}

void clsi_lanes_late(const cls_program *p, size_t n, double *work) {
    run_lanes(p, n, work, CLSI_STAGE_FIRST, CLSI_STAGE_REST);
}

void clsi_lanes_first(const cls_program *p, size_t n, double *work) {
    run_lanes(p, n, work, CLSI_STAGE_FIRST, CLSI_STAGE_FIRST);
}

void clsi_lanes_rest(const cls_program *p, size_t n, double *work) {
    run_lanes(p, n, work, CLSI_STAGE_REST, CLSI_STAGE_REST);
}
