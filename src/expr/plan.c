/* Plans written down: which registers, in which order, by which operations (see vectorise.c).
 *
 * Level by level. Equal instructions are ordered so that the operands of one come right after
 * those of the one before (a run), or are the same; runs become operations on neighbours, their
 * constants are copied side by side. What is in no run stays as it is. Results get registers in the order of computation,
 * whole vectors on cache lines. */
#include "base/base.h"
#include "expr/planner.h"
#include <stdlib.h>
#include <string.h>

enum { MIN_RUN = 4 }; /* neighbours that are worth an operation of their own */

/* ---- registers and operations ---- */

uint32_t clsi_plan_constant(clsi_planner *s, double value) {
    clsi_plan *plan = s->plan;
    if (!clsi_grow(&plan->constants, &s->constants_room, plan->n_constants + 1, sizeof(double))) {
        s->failed = 1;
        return CLSI_IN_CONSTANTS;
    }
    plan->constants[plan->n_constants] = value;
    return (uint32_t)plan->n_constants++ | CLSI_IN_CONSTANTS;
}

/* Where an old register is in the plan; a constant moves there with its first use. */
static uint32_t place_of(clsi_planner *s, uint32_t reg) {
    if (s->place[reg] == CLSI_NOWHERE && reg < s->p->n_constants)
        s->place[reg] = clsi_plan_constant(s, s->p->constants[reg]);
    return s->place[reg];
}

static clsi_vector_op *add_op(clsi_planner *s, clsi_vector_op op) {
    clsi_plan *plan = s->plan;
    if (!clsi_grow(&plan->ops, &s->ops_room, plan->n_ops + 1, sizeof *plan->ops)) {
        s->failed = 1;
        return NULL;
    }
    plan->ops[plan->n_ops] = op;
    return &plan->ops[plan->n_ops++];
}

static int add_code(clsi_planner *s, clsi_instruction in) {
    clsi_plan *plan = s->plan;
    if (!clsi_grow(&plan->code, &s->code_room, plan->n_code + 1, sizeof *plan->code)) {
        s->failed = 1;
        return 0;
    }
    plan->code[plan->n_code++] = in;
    return 1;
}

/* Whole vectors begin on a cache line. */
static size_t padding(size_t at, size_t n) {
    return n < CLSI_PLAN_LANES ? 0 : (CLSI_PLAN_LANES - at % CLSI_PLAN_LANES) % CLSI_PLAN_LANES;
}

uint32_t clsi_plan_values(clsi_planner *s, size_t n) {
    uint32_t first = (uint32_t)s->n_values;
    if (!clsi_grow(&s->block, &s->block_room, s->n_values + n, sizeof *s->block)) {
        s->failed = 1;
        return first;
    }
    for (size_t i = 0; i < n; i++) s->block[s->n_values++] = (uint32_t)s->plan->n_ops;
    return first;
}

/* One instruction at the end of the plan, joined to those before when nothing stands between. */
static uint32_t add_scalar(clsi_planner *s, clsi_instruction in) {
    clsi_plan *plan = s->plan;
    clsi_vector_op *last = plan->n_ops > s->stage_begin ? &plan->ops[plan->n_ops - 1] : NULL;
    if (!add_code(s, in)) return 0;
    if (last && last->kind == CLSI_VECTOR_SCALARS && last->result + last->n == s->n_values)
        last->n++;
    else
        add_op(s, (clsi_vector_op){.kind = CLSI_VECTOR_SCALARS,
                                   .n = 1,
                                   .result = (uint32_t)s->n_values,
                                   .first = (uint32_t)plan->n_code - 1});
    return clsi_plan_values(s, 1);
}

/* ---- neighbours ---- */

/* An instruction in the registers of the plan. */
static clsi_instruction moved(clsi_planner *s, uint32_t k) {
    clsi_instruction in = s->p->code[k];
    in.a = s->negative[k] != CLSI_NOWHERE ? s->negative[k] : place_of(s, in.a);
    in.b = place_of(s, in.b);
    if (s->adds[k]) in.code = CLSI_ADD;
    int commutes = in.code == CLSI_ADD || in.code == CLSI_MUL;
    if (commutes && !((in.a | in.b) & CLSI_IN_CONSTANTS) && in.a > in.b) {
        uint32_t a = in.a;
        in.a = in.b;
        in.b = a;
    }
    return in;
}

/* Where the operands of an instruction come from, for sorting. */
typedef struct pair {
    uint64_t blocks; /* the operations that made them, the younger first */
    uint32_t first, second, k;
} pair;

static int compare_pairs(const void *left, const void *right) {
    const pair *a = left, *b = right;
    if (a->blocks != b->blocks) return a->blocks < b->blocks ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    if (a->second != b->second) return a->second < b->second ? -1 : 1;
    return a->k < b->k ? -1 : a->k > b->k;
}

static uint32_t value_of(uint32_t place) {
    return place & CLSI_IN_CONSTANTS ? 0 : place;
}

static pair pair_of(clsi_planner *s, uint32_t k, int by_second) {
    clsi_instruction in = moved(s, k);
    uint32_t a = value_of(in.a), b = value_of(in.b);
    uint64_t old = s->block[a], young = s->block[b];
    uint64_t blocks = old < young ? young << 32 | old : old << 32 | young;
    return (pair){blocks, by_second ? b : a, by_second ? a : b, k};
}

/* How operands go on from one to the next: 0 the same, 1 neighbours, 2 every second one (sums in
 * pairs), 3 none of these. Constants are copied to where they are wanted. */
static unsigned step_of(uint32_t from, uint32_t to) {
    if (from & CLSI_IN_CONSTANTS) return 1;
    return to - from < 3 ? to - from : 3;
}

typedef struct run {
    size_t n;
    uint8_t step_a, step_b;
} run;

/* The longest run that begins at order[0]. */
static run run_at(clsi_planner *s, size_t n, const uint32_t *order) {
    clsi_instruction one = moved(s, order[0]);
    unsigned far = one.code <= CLSI_DIV ? 3 : 2; /* functions want neighbours */
    run r = {1, 1, 1};
    for (; r.n < n; r.n++) {
        clsi_instruction next = moved(s, order[r.n]);
        unsigned a = step_of(one.a, next.a), b = clsi_is_unary(&one) ? 1 : step_of(one.b, next.b);
        if (r.n == 1) r.step_a = (uint8_t)a, r.step_b = (uint8_t)b;
        if (a >= far || b >= far || a != r.step_a || b != r.step_b || !(a | b)) break;
        one = next;
    }
    if (r.n == 1) r.step_a = r.step_b = 1;
    return r;
}

static size_t count_runs(clsi_planner *s, size_t n, const uint32_t *order) {
    size_t runs = 0;
    for (size_t k = 0; k < n; runs++) k += run_at(s, n - k, order + k).n;
    return runs;
}

static void sort_by(clsi_planner *s, size_t n, pair *pairs, int by_second, uint32_t *order) {
    int sorted = 1; /* as the cells of an array mostly are */
    for (size_t i = 0; i < n; i++) {
        pairs[i] = pair_of(s, pairs[i].k, by_second);
        sorted &= !i || compare_pairs(&pairs[i - 1], &pairs[i]) <= 0;
    }
    if (!sorted) qsort(pairs, n, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < n; i++) order[i] = pairs[i].k;
}

/* Instructions whose operands come from the same two operations together; among them by first or
 * by second operands, whichever has fewer runs. */
static void choose_order(clsi_planner *s, size_t n, const clsi_item *items) {
    pair *pairs = clsi_calloc(n, sizeof *pairs);
    if (!pairs) {
        s->failed = 1;
        return;
    }
    for (size_t i = 0; i < n; i++) pairs[i].k = items[i].k;
    sort_by(s, n, pairs, 0, s->order);
    for (size_t i = 0, count; i < n; i += count) {
        for (count = 1; i + count < n && pairs[i + count].blocks == pairs[i].blocks;) count++;
        size_t runs = count_runs(s, count, s->order + i);
        if (runs == 1) continue;
        sort_by(s, count, pairs + i, 1, s->trial);
        if (count_runs(s, count, s->trial) < runs)
            memcpy(s->order + i, s->trial, count * sizeof *s->order);
    }
    free(pairs);
}

/* Constants of a run side by side, or one when they are equal. */
static uint32_t copy_constants(clsi_planner *s, const run *r, const uint32_t *order, int second,
                               uint8_t *step) {
    uint32_t first = CLSI_NOWHERE, begin = CLSI_NOWHERE;
    size_t skip = padding(s->plan->n_constants, r->n);
    *step = 0;
    for (size_t i = 0; i < r->n; i++) {
        clsi_instruction in = moved(s, order[i]);
        uint32_t place = second ? in.b : in.a;
        if (i == 0) begin = place;
        *step |= place != begin;
    }
    while (*step && skip--) clsi_plan_constant(s, 0);
    for (size_t i = 0; i < r->n && *step; i++) {
        clsi_instruction in = moved(s, order[i]);
        uint32_t at =
            clsi_plan_constant(s, s->plan->constants[(second ? in.b : in.a) & ~CLSI_IN_CONSTANTS]);
        if (i == 0) first = at;
    }
    return *step ? first : begin;
}

static void add_run(clsi_planner *s, run r, const uint32_t *order) {
    clsi_instruction in = moved(s, order[0]);
    clsi_plan_values(s, padding(s->n_values, r.n));
    clsi_vector_op op = {.kind = CLSI_VECTOR_EACH,
                         .step_a = r.step_a,
                         .step_b = r.step_b,
                         .n = (uint32_t)r.n,
                         .result = (uint32_t)s->n_values,
                         .a = in.a,
                         .b = in.b,
                         .first = (uint32_t)s->plan->n_code};
    if (in.a & CLSI_IN_CONSTANTS) op.a = copy_constants(s, &r, order, 0, &op.step_a);
    if (!clsi_is_unary(&in) && in.b & CLSI_IN_CONSTANTS)
        op.b = copy_constants(s, &r, order, 1, &op.step_b);
    if (clsi_is_unary(&in)) op.b = op.a, op.step_b = op.step_a;
    in.a = op.a, in.b = op.b;
    if (!add_code(s, in) || !add_op(s, op)) return;
    uint32_t first = clsi_plan_values(s, r.n);
    for (size_t i = 0; i < r.n; i++) s->place[s->base + order[i]] = first + (uint32_t)i;
    s->vectorised += r.n;
}

static void add_group(clsi_planner *s, size_t n, const clsi_item *items) {
    for (size_t i = 0; i < n; i++) s->order[i] = items[i].k;
    if (n >= MIN_RUN) choose_order(s, n, items);
    for (size_t i = 0; i < n && !s->failed;) {
        run r = run_at(s, n - i, s->order + i);
        if (r.n >= MIN_RUN)
            add_run(s, r, s->order + i);
        else
            for (size_t t = 0; t < r.n; t++) s->scalars[s->n_scalars++] = s->order[i + t];
        i += r.n;
    }
}

static void add_scalars(clsi_planner *s) {
    for (size_t i = 0; i < s->n_scalars && !s->failed; i++) {
        uint32_t k = s->scalars[i];
        s->place[s->base + k] = add_scalar(s, moved(s, k));
    }
    s->n_scalars = 0;
}

/* ---- levels ---- */

static int same_level(const clsi_item *a, const clsi_item *b) {
    return a->stage == b->stage && a->level == b->level;
}

/* One level: operations on neighbours, then what is left of them. */
static void write_level(clsi_planner *s, size_t n, const clsi_item *items) {
    for (size_t i = 0, count; i < n && !s->failed; i += count) {
        for (count = 1; i + count < n && items[i + count].key == items[i].key;) count++;
        add_group(s, count, items + i);
    }
    add_scalars(s);
}

static void write_stages(clsi_planner *s) {
    size_t i = 0;
    for (int now = 0; now < CLSI_STAGES; now++) {
        for (size_t n; i < s->n_items && s->items[i].stage == now && !s->failed; i += n) {
            for (n = 1; i + n < s->n_items && same_level(&s->items[i], &s->items[i + n]);) n++;
            write_level(s, n, &s->items[i]);
        }
        s->stage_begin = s->plan->end[now] = s->plan->n_ops;
    }
}

static uint32_t resolved(const clsi_plan *plan, uint32_t place) {
    return place & CLSI_IN_CONSTANTS ? place & ~CLSI_IN_CONSTANTS
                                     : place + (uint32_t)plan->n_constants;
}

/* Constants first, now that their number is known. */
static void resolve(clsi_planner *s) {
    clsi_plan *plan = s->plan;
    for (size_t k = 0; k < s->p->n_outputs; k++) plan->outputs[k] = place_of(s, s->p->outputs[k]);
    for (size_t n = padding(plan->n_constants, CLSI_PLAN_LANES); n > 0; n--)
        clsi_plan_constant(s, 0);
    for (size_t k = 0; k < s->p->n_outputs; k++)
        plan->outputs[k] = resolved(plan, plan->outputs[k]);
    for (size_t k = 0; k < plan->n_code; k++) {
        plan->code[k].a = resolved(plan, plan->code[k].a);
        plan->code[k].b = resolved(plan, plan->code[k].b);
    }
    for (size_t k = 0; k < plan->n_ops; k++) {
        clsi_vector_op *op = &plan->ops[k];
        op->result = resolved(plan, op->result);
        op->a = resolved(plan, op->a);
        op->b = resolved(plan, op->b);
        if (op->kind == CLSI_VECTOR_SCALARS) clsi_find_pairs(plan->code + op->first, op->n);
    }
    clsi_plan_values(s, padding(s->n_values, CLSI_PLAN_LANES));
    plan->n_registers = plan->n_constants + s->n_values;
}

void clsi_plan_write(clsi_planner *s) {
    write_stages(s);
    resolve(s);
}
