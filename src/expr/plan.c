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

enum {
    MIN_RUN = 4,     /* neighbours that are worth an operation of their own */
    LONG_RUN = 1024, /* on the average: no other order is looked for */
};

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

static int commutes(const clsi_planner *s) {
    uint8_t code = clsi_operation(s, s->work)->code;
    return code == CLSI_ADD || code == CLSI_MUL;
}

/* Operands in the registers of the plan. */
static clsi_operands moved_operands(clsi_planner *s, uint32_t k, int turns) {
    clsi_operands in = s->at[k];
    clsi_operands at = {clsi_turned(s, k) ? s->turned[k] : place_of(s, in.a), 0};
    at.b = place_of(s, in.b);
    if (!turns || (at.a | at.b) & CLSI_IN_CONSTANTS || at.a <= at.b) return at;
    return (clsi_operands){at.b, at.a};
}

/* An instruction of the work at hand in the registers of the plan. */
static clsi_instruction moved(clsi_planner *s, uint32_t k) {
    clsi_instruction in = *clsi_operation(s, s->work);
    clsi_operands at = moved_operands(s, k, commutes(s));
    in.a = at.a;
    in.b = at.b;
    return in;
}

static uint32_t value_of(uint32_t place) {
    return place & CLSI_IN_CONSTANTS ? 0 : place;
}

static clsi_pair pair_of(clsi_planner *s, uint32_t k, int turns) {
    clsi_operands in = moved_operands(s, k, turns);
    uint64_t old = s->block[value_of(in.a)], young = s->block[value_of(in.b)];
    return (clsi_pair){old < young ? young << 32 | old : old << 32 | young, in.a, in.b, k};
}

/* The constant that an instruction reads, or 0. */
static inline uint32_t constant_of(const clsi_pair *p) {
    return p->a & CLSI_IN_CONSTANTS ? p->a : p->b & CLSI_IN_CONSTANTS ? p->b : 0;
}

enum { BY_FIRST, BY_SECOND, BY_CONSTANT };

/* By blocks, then by first or by second operands, then as in the program: no two are equal. BY_CONSTANT: the same
 * constant (3 x and 4 x of all cells), then by first operands. */
static inline int is_before(const clsi_pair *p, const clsi_pair *q, int order) {
    int second = order == BY_SECOND;
    if (p->blocks != q->blocks) return p->blocks < q->blocks;
    if (order == BY_CONSTANT && constant_of(p) != constant_of(q))
        return constant_of(p) < constant_of(q);
    uint64_t pa = value_of(p->a), pb = value_of(p->b), qa = value_of(q->a), qb = value_of(q->b);
    uint64_t x = second ? pb << 32 | pa : pa << 32 | pb, y = second ? qb << 32 | qa : qa << 32 | qb;
    return x != y ? x < y : p->k < q->k;
}

/* How many ascend from the first one on. */
static size_t ascending(size_t n, const clsi_pair *pairs, int second) {
    size_t i = 1;
    while (i < n && is_before(&pairs[i - 1], &pairs[i], second)) i++;
    return i < n ? i : n;
}

/* What a walk back over the cells has made descends. */
static void turn_round(size_t n, clsi_pair *pairs, int second) {
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        while (end < n && is_before(&pairs[end], &pairs[end - 1], second)) end++;
        for (size_t i = begin, j = end; i + 1 < j; i++) {
            clsi_pair pair = pairs[i];
            pairs[i] = pairs[--j];
            pairs[j] = pair;
        }
    }
}

/* Stretches that ascend, of which the cells of an array have a few, two and two into one until all do. */
static void merge_sort(size_t n, clsi_pair *pairs, clsi_pair *spare, int second) {
    if (ascending(n, pairs, second) == n) return;
    turn_round(n, pairs, second);
    for (;;) {
        clsi_pair *to = spare;
        for (size_t begin = 0; begin < n;) {
            size_t i = begin, middle = begin + ascending(n - begin, pairs + begin, second);
            if (middle - begin == n) return;
            size_t end = middle, j = middle;
            if (middle < n) end += ascending(n - middle, pairs + middle, second);
            while (i < middle && j < end)
                *to++ = is_before(&pairs[j], &pairs[i], second) ? pairs[j++] : pairs[i++];
            while (i < middle) *to++ = pairs[i++];
            while (j < end) *to++ = pairs[j++];
            begin = end;
        }
        memcpy(pairs, spare, n * sizeof *pairs);
    }
}

/* Together what has equal blocks, ascending, otherwise in the order that it had; 0: nothing done. Cells of an
 * array are sorted then: there are few blocks, whatever the number of cells. */
static int gather(size_t n, clsi_pair *pairs, clsi_pair *spare) {
    enum { MOST = 64 };
    uint64_t block[MOST];
    size_t begin[MOST], kinds = 0, now = 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        if (!kinds || block[now] != pairs[i].blocks)
            for (now = 0; now < kinds && block[now] != pairs[i].blocks;) now++;
        if (now == MOST) return 0;
        if (now == kinds) block[kinds] = pairs[i].blocks, begin[kinds++] = 0;
        begin[now]++;
    }
    for (size_t i = 1; i < kinds; i++)
        for (size_t j = i; j > 0 && block[j - 1] > block[j]; j--) {
            uint64_t b = block[j];
            size_t count = begin[j];
            block[j] = block[j - 1], begin[j] = begin[j - 1];
            block[j - 1] = b, begin[j - 1] = count;
        }
    for (size_t i = 0; i < kinds; i++) {
        size_t count = begin[i];
        begin[i] = at;
        at += count;
    }
    memcpy(spare, pairs, n * sizeof *pairs);
    for (size_t i = 0; i < n; i++) {
        if (block[now] != spare[i].blocks)
            for (now = 0; block[now] != spare[i].blocks;) now++;
        pairs[begin[now]++] = spare[i];
    }
    return 1;
}

/* How many have the blocks of the first one. */
static size_t of_one_block(size_t n, const clsi_pair *pairs) {
    size_t count = 1;
    while (count < n && pairs[count].blocks == pairs[0].blocks) count++;
    return count;
}

static void sort_pairs(size_t n, clsi_pair *pairs, clsi_pair *spare) {
    if (ascending(n, pairs, BY_FIRST) == n || !gather(n, pairs, spare)) {
        merge_sort(n, pairs, spare, BY_FIRST);
        return;
    }
    for (size_t i = 0, count; i < n; i += count) {
        count = of_one_block(n - i, pairs + i);
        merge_sort(count, pairs + i, spare, BY_FIRST);
    }
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

/* The longest run that begins at pairs[0]. */
static run run_at(const clsi_planner *s, size_t n, const clsi_pair *pairs) {
    const clsi_instruction *in = clsi_operation(s, s->work);
    int unary = clsi_is_unary(in);
    unsigned far = in->code <= CLSI_DIV ? 3 : 2; /* functions want neighbours */
    run r = {1, 1, 1};
    for (; r.n < n; r.n++) {
        const clsi_pair *one = &pairs[r.n - 1], *next = &pairs[r.n];
        unsigned a = step_of(one->a, next->a), b = unary ? 1 : step_of(one->b, next->b);
        if (r.n == 1) r.step_a = (uint8_t)a, r.step_b = (uint8_t)b;
        if (a >= far || b >= far || a != r.step_a || b != r.step_b || !(a | b)) break;
    }
    if (r.n == 1) r.step_a = r.step_b = 1;
    return r;
}

static size_t count_runs(const clsi_planner *s, size_t n, const clsi_pair *pairs) {
    size_t runs = 0;
    for (size_t k = 0; k < n; runs++) k += run_at(s, n - k, pairs + k).n;
    return runs;
}

/* Instructions whose operands come from the same two operations together; among them in the order that has the
 * fewest runs. */
static void choose_order(const clsi_planner *s, size_t n, clsi_pair *pairs, clsi_pair *spare) {
    clsi_pair *trial = spare + n;
    sort_pairs(n, pairs, spare);
    for (size_t i = 0, count; i < n; i += count) {
        count = of_one_block(n - i, pairs + i);
        size_t runs = count_runs(s, count, pairs + i);
        if (runs == 1 || runs * LONG_RUN < count) continue;
        for (int order = BY_SECOND; order <= BY_CONSTANT; order++) {
            memcpy(trial, pairs + i, count * sizeof *pairs);
            merge_sort(count, trial, spare, order);
            size_t fewer = count_runs(s, count, trial);
            if (fewer < runs) memcpy(pairs + i, trial, count * sizeof *pairs), runs = fewer;
        }
    }
}

/* Constants of a run side by side, or one when they are equal. */
static uint32_t copy_constants(clsi_planner *s, const run *r, const clsi_pair *pairs, int second,
                               uint8_t *step) {
    uint32_t first = CLSI_NOWHERE, begin = CLSI_NOWHERE;
    size_t skip = padding(s->plan->n_constants, r->n);
    *step = 0;
    for (size_t i = 0; i < r->n; i++) {
        uint32_t place = second ? pairs[i].b : pairs[i].a;
        if (i == 0) begin = place;
        *step |= place != begin;
    }
    while (*step && skip--) clsi_plan_constant(s, 0);
    for (size_t i = 0; i < r->n && *step; i++) {
        uint32_t place = second ? pairs[i].b : pairs[i].a;
        uint32_t at = clsi_plan_constant(s, s->plan->constants[place & ~CLSI_IN_CONSTANTS]);
        if (i == 0) first = at;
    }
    return *step ? first : begin;
}

static void add_run(clsi_planner *s, run r, const clsi_pair *pairs) {
    clsi_instruction in = moved(s, pairs[0].k);
    clsi_plan_values(s, padding(s->n_values, r.n));
    clsi_vector_op op = {.kind = CLSI_VECTOR_EACH,
                         .step_a = r.step_a,
                         .step_b = r.step_b,
                         .n = (uint32_t)r.n,
                         .result = (uint32_t)s->n_values,
                         .a = in.a,
                         .b = in.b,
                         .first = (uint32_t)s->plan->n_code};
    if (in.a & CLSI_IN_CONSTANTS) op.a = copy_constants(s, &r, pairs, 0, &op.step_a);
    if (!clsi_is_unary(&in) && in.b & CLSI_IN_CONSTANTS)
        op.b = copy_constants(s, &r, pairs, 1, &op.step_b);
    if (clsi_is_unary(&in)) op.b = op.a, op.step_b = op.step_a;
    in.a = op.a, in.b = op.b;
    if (!add_code(s, in) || !add_op(s, op)) return;
    uint32_t first = clsi_plan_values(s, r.n);
    for (size_t i = 0; i < r.n; i++) s->place[s->base + pairs[i].k] = first + (uint32_t)i;
    s->vectorised += r.n;
}

static void leave_over(clsi_planner *s, uint32_t k) {
    if (!clsi_grow(&s->scalars, &s->scalars_room, s->n_scalars + 1, sizeof *s->scalars))
        s->failed = 1;
    else
        s->scalars[s->n_scalars++] = (clsi_left_over){k, s->work};
}

/* n instructions of one kind. */
static void add_group(clsi_planner *s, size_t n, uint32_t first) {
    if (!clsi_grow(&s->pairs, &s->pairs_room, 3 * n, sizeof *s->pairs)) {
        s->failed = 1;
        return;
    }
    clsi_pair *pairs = s->pairs;
    int turns = commutes(s);
    for (size_t i = 0; i < n; i++) pairs[i] = pair_of(s, first + (uint32_t)i, turns);
    if (n >= MIN_RUN) choose_order(s, n, pairs, pairs + n);
    for (size_t i = 0; i < n && !s->failed;) {
        run r = run_at(s, n - i, pairs + i);
        if (r.n >= MIN_RUN)
            add_run(s, r, pairs + i);
        else
            for (size_t t = 0; t < r.n; t++) leave_over(s, pairs[i + t].k);
        i += r.n;
    }
}

static void add_scalars(clsi_planner *s) {
    for (size_t i = 0; i < s->n_scalars && !s->failed; i++) {
        uint32_t k = s->scalars[i].k;
        s->work = s->scalars[i].work;
        s->place[s->base + k] = add_scalar(s, moved(s, k));
    }
    s->n_scalars = 0;
}

/* ---- levels ---- */

/* Level by level: operations on neighbours, then what is left of them. */
static void write_stages(clsi_planner *s) {
    size_t i = 0;
    uint32_t first = 0;
    for (int now = 0; now < CLSI_STAGES; now++) {
        for (; i < s->n_kinds && s->kinds[i].stage == now && !s->failed; i++) {
            s->work = s->kinds[i].work;
            add_group(s, s->kinds[i].n, first);
            first += s->kinds[i].n;
            int last = i + 1 == s->n_kinds || s->kinds[i + 1].stage != now;
            if (last || s->kinds[i + 1].level != s->kinds[i].level) add_scalars(s);
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
    for (size_t k = 0; k < s->p->n_outputs; k++) plan->outputs[k] = place_of(s, s->outputs[k]);
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

/* What grows with the number of instructions has its size from the beginning: memory that is moved is touched
 * twice. Values are padded to cache lines once a run. */
static int open_room(clsi_planner *s) {
    size_t most = 0, n = s->n_values + s->p->n_instructions + s->p->n_instructions / 16;
    for (size_t i = 0; i < s->n_kinds; i++)
        if (s->kinds[i].n > most) most = s->kinds[i].n;
    return clsi_grow(&s->block, &s->block_room, n, sizeof *s->block) &&
           clsi_grow(&s->pairs, &s->pairs_room, 3 * most, sizeof *s->pairs);
}

void clsi_plan_write(clsi_planner *s) {
    s->failed |= !open_room(s);
    write_stages(s);
    resolve(s);
}
