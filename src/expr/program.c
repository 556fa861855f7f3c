/* Programs: a graph flattened to straight-line code, run for one sample or for blocks of samples.
 *
 * One sample: threaded code, in which each instruction jumps to the next and the commonest pairs
 * are one jump; about 1 ns per arithmetic instruction, and the price of libm for the rest. Many
 * samples: each register is a row of BLOCK numbers, so that arithmetic runs in full vectors; the
 * compiler makes versions for the vector widths of this family of machines and the loader picks
 * one (rows.c). Elementary functions are called sample by sample, but for those that kernels.inc
 * has without branches; the bits are those of the one-sample run. */
#include "expr/program.h"
#include "base/base.h"
#include "base/misuse.h"
#include "expr/graph.h"
#include "expr/kernels.h"
#include "expr/native.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void cls_program_free(cls_program **program) {
    if (!program) return;
    cls_program *p = *program;
    if (!p) return;
    free(p->constants);
    free(p->code);
    free(p->direct);
    free(p->node);
    free(p->outputs);
    free(p->slotted);
    free(p->slot_outputs);
    free(p->kept);
    free(p->borrowed);
    clsi_native_free(&p->native);
    clsi_native_free(&p->native_lanes);
    clsi_plan_free(&p->plan);
    clsi_program_drop_fields(p);
    clsi_reverse_free(&p->reverse);
    free(p);
    *program = NULL;
}

size_t cls_program_input_count(const cls_program *p) {
    if (!p) return 0;
    return p->n_inputs;
}

size_t cls_program_output_count(const cls_program *p) {
    if (!p) return 0;
    return p->n_outputs;
}

size_t cls_program_length(const cls_program *p) {
    if (!p) return 0;
    return p->n_instructions;
}

/* ---- one sample ---- */

static size_t plain_size(const cls_program *p) {
    return p->n_constants + p->n_inputs + p->n_instructions;
}

size_t cls_program_work_size(const cls_program *p) {
    if (!p) return 0;
    if (!p->plan)
        return plain_size(p) + (p->n_takes ? p->n_state + p->n_weights + CLSI_PLAN_LANES : 0);
    return clsi_plan_size(p->plan) + CLSI_PLAN_LANES;
}

static double *registers(const cls_program *p, double *work) {
    return p->plan ? clsi_on_cache_line(work) : work;
}

void cls_program_prepare(const cls_program *p, double *work) {
    if (!p || !work) return;
    const double *constants = p->plan ? p->plan->constants : p->constants;
    size_t n = p->plan ? p->plan->n_constants : p->n_constants;
    work = registers(p, work);
    if (n) memcpy(work, constants, n * sizeof *work);
}

void clsi_program_set(const cls_program *p, double *work, const double *parameters) {
    size_t first = (p->plan ? p->plan->n_constants : p->n_constants) + p->first_parameter;
    work = registers(p, work);
    if (p->n_parameters) memcpy(work + first, parameters, p->n_parameters * sizeof *work);
    if (p->n_weights) clsi_set_weights(p, work, parameters);
}

double clsi_slow_instruction(const clsi_instruction *in, double a, double b) {
    switch ((clsi_code)in->code) {
    case CLSI_POWI: return clsi_powi(a, in->power);
    case CLSI_POW: return clsi_pow(a, b);
    case CLSI_CALL: return clsi_function_value(in->function, a);
    default: return clsi_quotient_value(in->function, in->i, in->j, a, b, in->exponent);
    }
}

double clsi_from_instruction(const clsi_instruction *in, double a, double b, double v) {
    if (in->code == CLSI_POW_FROM) return clsi_pow_from(in->i, a, v, b);
    return clsi_quotient_from(in->function, in->i, in->j, a, b, v, in->exponent);
}

/* Labels as values (GCC, Clang): against a switch in a loop the processor sees many jumps, each
 * with its own habits, instead of one. The order of `to` is that of clsi_code, then of find_pairs.
 */
void clsi_run_scalars(double *work, double *r, const clsi_instruction *in,
                      const clsi_instruction *end) {
    static const void *const to[] = {
        &&add,     &&sub,     &&mul,     &&divide,  &&negate,  &&square,  &&slow,    &&power,
        &&slow,    &&slow,    &&from,    &&from,    &&field,   &&add_add, &&add_sub, &&add_mul,
        &&sub_add, &&sub_sub, &&sub_mul, &&mul_add, &&mul_sub, &&mul_mul, &&root};
#define A work[in->a]
#define B work[in->b]
#define NEXT                                                                                       \
    if (in == end) return;                                                                         \
    goto *to[in->jump]
#define ONE(value) (*r++ = (value), in++)
/* clang-format off */
#define DO(label, value) label: ONE(value); NEXT
#define DO_BOTH(label, first_op, then_op) label: ONE(A first_op B); ONE(A then_op B); NEXT
    /* clang-format on */
    NEXT;
    DO(add, A + B);
    DO(sub, A - B);
    DO(mul, A * B);
    DO(divide, A / B);
    DO(negate, -A);
    DO(square, A * A);
    DO(power, clsi_pow(A, B));
    DO(slow, clsi_slow_instruction(in, A, B));
    DO(root, sqrt(A));
    DO(from, clsi_from_instruction(in, A, B, work[in->v]));
    DO(field, clsi_run_take(in->take, work));
    DO_BOTH(add_add, +, +);
    DO_BOTH(add_sub, +, -);
    DO_BOTH(add_mul, +, *);
    DO_BOTH(sub_add, -, +);
    DO_BOTH(sub_sub, -, -);
    DO_BOTH(sub_mul, -, *);
    DO_BOTH(mul_add, *, +);
    DO_BOTH(mul_sub, *, -);
    DO_BOTH(mul_mul, *, *);
#undef A
#undef B
#undef NEXT
#undef ONE
#undef DO
#undef DO_BOTH
}

double *clsi_program_inputs(const cls_program *p, double *work) {
    return registers(p, work) + (p->plan ? p->plan->n_constants : p->n_constants);
}

static int is_direct(const cls_program *p) {
    return p->native && p->native->direct;
}

static void read_inputs(const cls_program *p, size_t first, size_t last, double *work,
                        const double *in) {
    if (is_direct(p)) return;
    double *inputs = work + (p->plan ? p->plan->n_constants : p->n_constants);
    if (inputs == in) return; /* they stand there already */
    size_t set = p->first_parameter, end = set + p->n_parameters;
    if (!p->n_parameters) set = end = last;
    for (size_t k = first; k < last && k < set; k++) inputs[k] = in[k];
    for (size_t k = first > end ? first : end; k < last; k++) inputs[k] = in[k];
}

static void read_outputs(const cls_program *p, size_t first, size_t last, const double *work,
                         double *out) {
    if (is_direct(p)) return;
    const uint32_t *outputs = p->plan ? p->plan->outputs : p->outputs;
    if (!p->plan || !p->plan->n_phases) {
        for (size_t k = first; k < last; k++) out[k] = work[outputs[k]];
        return;
    }
    const clsi_left *left = p->plan->left;
    size_t i = first ? p->plan->n_left_first : 0;
    size_t end = last == p->n_outputs ? p->plan->n_left : p->plan->n_left_first;
    for (; i < end; i++) {
        size_t k = left[i].output;
        if (left[i].fused && p->plan->fused) continue;
        if (left[i].n == 1)
            out[k] = work[outputs[k]];
        else
            memcpy(out + k, work + outputs[k], left[i].n * sizeof *out);
    }
}

void clsi_program_make_native(cls_program *p, int lanes) {
    int wide = clsi_native_supports(CLSI_NATIVE_EIGHT) ? CLSI_NATIVE_EIGHT : CLSI_NATIVE_FOUR;
    if (lanes && !p->native_lanes)
        p->native_lanes = clsi_native_create(p, wide, &(clsi_native_links){.keep = p->kept});
    if (!lanes && !p->native) p->native = clsi_native_create(p, CLSI_NATIVE_ONE, NULL);
}

/* Beyond so many instructions functions are the smaller part, and to compare takes long. */
enum { MOST_LINKED = 600 };

/* The registers of `other` that early instructions of p are, in `same`; they are marked in `keep`. */
int clsi_program_find_links(const cls_program *p, const cls_program *other, const uint32_t *inputs,
                            uint32_t *same, unsigned char *keep) {
    int any = 0;
    if (!clsi_program_may_share(p) || !clsi_program_may_share(other) ||
        p->n_instructions > MOST_LINKED || other->n_instructions > MOST_LINKED)
        return 0;
    clsi_program_match(other, p, p->end[CLSI_STAGE_EARLY], inputs, same);
    for (size_t k = 0; k < p->n_instructions; k++) {
        if (k >= p->end[CLSI_STAGE_EARLY] || !clsi_is_worth_keeping(&p->code[k]))
            same[k] = CLSI_NOT_SHARED;
        if (same[k] == CLSI_NOT_SHARED) continue;
        keep[same[k]] = 1;
        any = 1;
    }
    return any;
}

void clsi_program_link(cls_program *p, cls_program *other, const uint32_t *inputs) {
    clsi_program_link_fields(p, other, inputs);
    if (!p->native || !other->native || p->native->known) return;
    size_t n = other->n_constants + other->n_inputs + other->n_instructions;
    uint32_t *same = clsi_malloc((p->n_instructions + 1) * sizeof *same);
    unsigned char *keep = clsi_calloc(n, 1);
    if (same && keep && clsi_program_find_links(p, other, inputs, same, keep)) {
        clsi_native *of =
            clsi_native_create(other, CLSI_NATIVE_ONE, &(clsi_native_links){.keep = keep});
        clsi_native *to =
            clsi_native_create(p, CLSI_NATIVE_ONE, &(clsi_native_links){.same = same});
        if (of && to) { /* else both stay as they are */
            clsi_native *was = p->native;
            p->native = to, to = was;
            was = other->native;
            other->native = of, of = was;
        }
        clsi_native_free(&of);
        clsi_native_free(&to);
    }
    free(same);
    free(keep);
}

static void run_stages(const cls_program *p, double *work, const double *in, int first, int last,
                       double *out) {
    if (p->native) {
        clsi_native_run(p->native, work, in, out, first, last);
        return;
    }
    if (p->plan) {
        clsi_plan_run(p->plan, work, first, last, out);
        return;
    }
    size_t begin = first ? p->end[first - 1] : 0;
    clsi_run_scalars(work, work + p->n_constants + p->n_inputs + begin, p->code + begin,
                     p->code + p->end[last]);
}

/* The early stage ends with what is early of the fields. */
static void run_early(const cls_program *p, double *work, const double *in) {
    run_stages(p, work, in, CLSI_STAGE_EARLY, CLSI_STAGE_EARLY, NULL);
    clsi_run_early_calls(p, work);
}

void clsi_program_early(const cls_program *p, double *work, const double *in) {
    work = registers(p, work);
    read_inputs(p, 0, p->n_early_inputs, work, in);
    clsi_copy_states(p, work, NULL, NULL);
    run_early(p, work, in);
}

/* The first n inputs are those that `other` was run with, to the bit. */
static int same_inputs(const cls_program *other, const double *of, size_t n, const double *in) {
    const double *had = of + other->n_constants;
    uint64_t a, b, differ = 0;
    for (size_t k = 0; k < n; k++) {
        memcpy(&a, had + k, sizeof a);
        memcpy(&b, in + k, sizeof b);
        differ |= a ^ b;
    }
    return !differ;
}

void clsi_program_early_from(const cls_program *p, double *work, const double *in,
                             const cls_program *other, const double *of, size_t n) {
    int known = p->native && p->native->known;
    if ((!known && !p->n_copies) || !same_inputs(other, of, n, in)) {
        clsi_program_early(p, work, in);
        return;
    }
    read_inputs(p, 0, p->n_early_inputs, work, in);
    clsi_copy_states(p, work, other, of);
    if (known)
        p->native->known(work, in, of);
    else
        run_early(p, work, in);
}

void clsi_program_first(const cls_program *p, double *work, const double *in, double *out) {
    work = registers(p, work);
    read_inputs(p, p->n_early_inputs, p->n_inputs, work, in);
    run_stages(p, work, in, CLSI_STAGE_FIRST, CLSI_STAGE_FIRST, out);
    read_outputs(p, 0, p->n_first_outputs, work, out);
}

void clsi_program_rest(const cls_program *p, double *work, const double *in, double *out) {
    work = registers(p, work);
    run_stages(p, work, in, CLSI_STAGE_REST, CLSI_STAGE_REST, out);
    read_outputs(p, p->n_first_outputs, p->n_outputs, work, out);
}

void clsi_program_late(const cls_program *p, double *work, const double *in, double *out) {
    work = registers(p, work);
    read_inputs(p, p->n_early_inputs, p->n_inputs, work, in);
    run_stages(p, work, in, CLSI_STAGE_FIRST, CLSI_STAGE_REST, out);
    read_outputs(p, 0, p->n_outputs, work, out);
}

size_t clsi_program_rest_length(const cls_program *p) {
    return p->end[CLSI_STAGE_REST] - p->end[CLSI_STAGE_FIRST] + p->field_cost[CLSI_STAGE_REST];
}

void cls_program_run(const cls_program *p, double *work, const double *in, double *out) {
    if (!p || !work || (!in && p->n_inputs) || (!out && p->n_outputs)) return;
    work = registers(p, work);
    read_inputs(p, 0, p->n_inputs, work, in);
    clsi_copy_states(p, work, NULL, NULL);
    if (p->n_early_calls) {
        run_early(p, work, in);
        run_stages(p, work, in, CLSI_STAGE_FIRST, CLSI_STAGE_REST, out);
    } else {
        run_stages(p, work, in, CLSI_STAGE_EARLY, CLSI_STAGE_REST, out);
    }
    read_outputs(p, 0, p->n_outputs, work, out);
}

/* ---- as it stands ---- */

static void run_plain(const cls_program *p, double *work, const double *in) {
    memcpy(work, p->constants, p->n_constants * sizeof *work);
    if (p->n_inputs) memcpy(work + p->n_constants, in, p->n_inputs * sizeof *work);
    double *r = work + p->n_constants + p->n_inputs;
    size_t early = p->end[CLSI_STAGE_EARLY];
    clsi_run_scalars(work, r, p->code, p->code + early);
    clsi_run_early_calls(p, work);
    clsi_run_scalars(work, r + early, p->code + early, p->code + p->n_instructions);
}

void clsi_program_run_plain(const cls_program *p, double *work, const double *in, double *out) {
    run_plain(p, work, in);
    for (size_t k = 0; k < p->n_outputs; k++) out[k] = work[p->outputs[k]];
}

/* Of the points that a field node passes through; those passed before have been looked at. */
static int finite_inputs(const cls_program *p, const clsi_instruction *c, const double *work) {
    if (c->code != CLSI_FIELD) return 1;
    for (uint32_t k = c->take->first; k < c->take->first + c->take->n; k++) {
        const clsi_field_call *call = &p->calls[k];
        for (size_t i = 0; call->pass == CLSI_PASS_VALUE && i < p->fields[call->field]->d; i++)
            if (!isfinite(work[p->field_inputs[call->x + i]])) return 0;
    }
    return 1;
}

static cls_node nonfinite_in(const cls_program *p, const double *work) {
    const double *r = work + p->n_constants + p->n_inputs;
    for (size_t k = 0; k < p->n_instructions; k++) {
        const clsi_instruction *c = &p->code[k];
        if (!isfinite(r[k]) && isfinite(work[c->a]) && isfinite(work[c->b]) &&
            finite_inputs(p, c, work))
            return p->node[k];
    }
    return CLS_NO_NODE;
}

/* Plans and machine code leave no intermediate results to look at: they are computed again. */
cls_node cls_program_first_nonfinite(const cls_program *p, const double *work, const double *in) {
    if (!p || (p->n_instructions && !p->node)) return CLS_NO_NODE;
    if (!p->plan && !p->native) return nonfinite_in(p, work);
    double *plain = clsi_calloc(plain_size(p) + p->n_state + CLSI_PLAN_LANES, sizeof *plain);
    if (!plain) return CLS_NO_NODE;
    run_plain(p, plain, in);
    cls_node found = nonfinite_in(p, plain);
    free(plain);
    return found;
}

/* ---- many samples ---- */

/* Half a KiB a register: near a hundred registers stay in the first-level cache. A block that is
 * not full runs in whole vectors of SHORT. */
enum { BLOCK = 64, SHORT = 8 };

/* Samples of a block, when there are at most so many. */
static size_t block_for(size_t most) {
    return most < BLOCK ? (most + SHORT - 1) / SHORT * SHORT : BLOCK;
}

/* Samples one after the other: a plan and the kernels of fields fill the vectors with one. */
static int is_single(const cls_program *p) {
    return p->plan || p->n_takes;
}

size_t clsi_many_size(const cls_program *p, size_t most) {
    if (is_single(p)) return cls_program_work_size(p) + p->n_inputs + p->n_outputs;
    return plain_size(p) * block_for(most) + 1;
}

void clsi_many_prepare(const cls_program *p, size_t most, double *work) {
    size_t block = block_for(most);
    if (is_single(p)) {
        cls_program_prepare(p, work);
        return;
    }
    for (size_t k = 0; k < p->n_constants * block; k++) work[k] = p->constants[k / block];
}

/* Registers, and weights, stay in the cache. */
static void run_planned(const cls_program *p, double *work, size_t n, size_t stride,
                        const double *in, double *out) {
    double *x = work + cls_program_work_size(p), *y = x + p->n_inputs;
    for (size_t s = 0; s < n; s++) {
        for (size_t k = 0; k < p->n_inputs; k++) x[k] = in[k * stride + s];
        if (p->n_parameters) clsi_program_set(p, work, x + p->first_parameter);
        cls_program_run(p, work, x, y);
        for (size_t k = 0; k < p->n_outputs; k++) out[k * stride + s] = y[k];
    }
}

void clsi_many_run(const cls_program *p, size_t most, double *work, size_t n, size_t stride,
                   const double *in, double *out) {
    if (is_single(p)) {
        run_planned(p, work, n, stride, in, out);
        return;
    }
    size_t block = block_for(most);
    double *inputs = work + p->n_constants * block, *results = inputs + p->n_inputs * block;
    for (size_t first = 0; first < n; first += block) {
        size_t count = n - first < block ? n - first : block;
        size_t whole = (count + SHORT - 1) / SHORT * SHORT;
        clsi_take_rows(p->n_inputs, count, in + first, stride, inputs, block);
        clsi_run_rows(p->code, p->n_instructions, p->n_constants, whole, block, work, results);
        clsi_give_rows(p->n_outputs, p->outputs, count, work, block, out + first, stride);
    }
}

cls_status cls_program_run_many(const cls_program *p, size_t n, size_t stride, const double *in,
                                double *out) {
    NEED(NULL, p);
    NEED(NULL, in || !n || !p->n_inputs);
    NEED(NULL, out || !n || !p->n_outputs);
    double *work = clsi_malloc(clsi_many_size(p, n) * sizeof *work);
    if (!work) return CLS_MEMORY;
    clsi_many_prepare(p, n, work);
    clsi_many_run(p, n, work, n, stride, in, out);
    free(work);
    return CLS_OK;
}
