/* Programs in vectors: what a learned network becomes when it is written out as formulas is found
 * again and run as it was meant.
 *
 * Two things are looked for. Sums of products with constant coefficients,
 *
 *     y_i = start_i + c_i1 x_1 + c_i2 x_2 + ... + c_in x_n      (layers, their transposes,
 * tangents)
 *
 * that go over the same x are one product of a matrix and a vector, accumulated column by column:
 * every y_i is summed in the order of the formula, so its bits are those of the formula. And equal
 * operations that can be done at the same time are one operation on neighbours, when registers
 * are numbered so that operands are neighbours too. Both by levels: an instruction's level is one
 * more than the highest of its operands; within a level all are independent. What is left is run
 * instruction by instruction, as in a program without a plan.
 *
 * -c x is subtracted in the formula and added with the sign in c here; negation is exact, so the
 * bits are the same. Costs n log n in the number of instructions, once. No promise that a small
 * program gains: those below SMALL instructions are left alone, and so are those in which fewer
 * than half of the instructions find company. */
#include "base/base.h"
#include "expr/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 256,       /* instructions: below that the ways of a plan cost more than they save */
    MIN_TERMS = 3,     /* of a sum that is looked at as one */
    MIN_PRODUCTS = 24, /* of a matrix; smaller ones are spelled out */
    MIN_RUN = 4        /* neighbours that are worth an operation of their own */
};

#define NONE     UINT32_MAX
#define CONSTANT 0x80000000u /* while planning: a register in the constants, else in the values */

/* ADD or SUB that adds a product to a sum: value = rest_sign * rest + sign * product. */
typedef struct link {
    uint32_t product, rest; /* registers; product NONE: not a link */
    int8_t sign, rest_sign;
} link;

/* What is planned as one: an instruction, or the sum of products that ends there. */
typedef struct item {
    uint64_t key; /* equal for those that may be done together */
    uint32_t k, level;
    uint8_t stage, is_sum;
} item;

typedef struct sum {
    size_t n;
    uint32_t *x; /* registers */
    double *c;
    uint32_t start;
    double start_value; /* when it is a constant */
    clsi_vector_start kind;
    uint32_t flip; /* the sum so far changes its sign before this term; 0: never */
} sum;

typedef struct planner {
    const cls_program *p;
    clsi_plan *plan;
    size_t base; /* the first instruction's register */
    size_t n_values, vectorised, n_items, longest;
    size_t block_room, constants_room, ops_room, code_room, operands_room, coefficients_room;
    link *links;                            /* (n_instructions) */
    uint32_t *uses, *length;                /* (n_instructions); length: terms of the sum so far */
    uint32_t *flip;                         /* (n_instructions) as in a sum */
    uint32_t *user;                         /* (n_instructions) the first to use it, or NONE */
    uint32_t *level, *place;                /* (registers); place: in the plan */
    uint32_t *block;                        /* (values): the operation that makes them */
    unsigned char *stage, *absorbed, *live; /* (n_instructions) */
    unsigned char *adds; /* (n_instructions) a SUB that adds the negative of a product */
    uint32_t *negative;  /* (n_instructions) of such a product: its constant, in the plan */
    item *items;
    uint32_t *order, *trial, *scalars; /* (n_instructions) */
    size_t n_scalars;
    sum one, other; /* scratch */
    int failed;
} planner;

/* ---- sums ---- */

static int is_product(const planner *s, uint32_t reg) {
    if (reg < s->base) return 0;
    const clsi_instruction *in = &s->p->code[reg - s->base];
    return in->code == CLSI_MUL && in->a < s->p->n_constants && in->b >= s->p->n_constants;
}

static link as_link(const planner *s, const clsi_instruction *in) {
    link none = {NONE, NONE, 1, 1};
    if (in->code != CLSI_ADD && in->code != CLSI_SUB) return none;
    int8_t sign = in->code == CLSI_ADD ? 1 : -1;
    if (is_product(s, in->b)) return (link){in->b, in->a, sign, 1};
    return is_product(s, in->a) ? (link){in->a, in->b, 1, sign} : none;
}

/* Whether the sum up to `reg` lives on in instruction k only. */
static int can_absorb(const planner *s, size_t k, uint32_t reg) {
    if (reg < s->base) return 0;
    size_t other = reg - s->base;
    if (s->links[k].rest_sign < 0 && s->flip[other]) return 0; /* one change of sign is enough */
    return s->links[other].product != NONE && s->uses[other] == 1 && s->stage[other] == s->stage[k];
}

static void find_sums(planner *s) {
    const cls_program *p = s->p;
    for (size_t k = 0; k < p->n_instructions; k++) {
        link l = s->links[k] = as_link(s, &p->code[k]);
        if (l.product == NONE) continue;
        int absorbs = can_absorb(s, k, l.rest);
        if (absorbs) {
            uint32_t so_far = s->length[l.rest - s->base];
            s->absorbed[l.rest - s->base] = 1;
            s->length[k] = so_far + 1;
            s->flip[k] = l.rest_sign < 0 ? so_far : s->flip[l.rest - s->base];
        } else if (l.rest_sign < 0 && l.rest >= p->n_constants) {
            s->links[k].product = NONE; /* a product minus something else */
        } else {
            s->length[k] = is_product(s, l.rest) ? 2 : 1;
        }
        if (s->length[k] > s->longest) s->longest = s->length[k];
    }
    for (size_t k = p->n_instructions; k-- > 0;) { /* short ones are plain instructions */
        if (s->links[k].product == NONE || s->absorbed[k] || s->length[k] >= MIN_TERMS) continue;
        if (can_absorb(s, k, s->links[k].rest)) s->absorbed[s->links[k].rest - s->base] = 0;
        s->links[k].product = NONE;
    }
}

static void put_term(const planner *s, sum *out, size_t at, uint32_t product, double sign) {
    const clsi_instruction *in = &s->p->code[product - s->base];
    out->x[at] = in->b;
    out->c[at] = sign * s->p->constants[in->a];
}

/* The first two of a sum without start may stand either way: smaller register first. */
static void order_first(sum *out) {
    if (out->kind != CLSI_START_NONE || out->x[0] <= out->x[1]) return;
    uint32_t x = out->x[0];
    double c = out->c[0];
    out->x[0] = out->x[1], out->c[0] = out->c[1];
    out->x[1] = x, out->c[1] = c;
}

/* The sum that ends in instruction k. */
static void read_sum(const planner *s, size_t k, sum *out) {
    out->n = s->length[k];
    out->flip = s->flip[k];
    for (size_t at = out->n;;) {
        link l = s->links[k];
        put_term(s, out, --at, l.product, l.sign);
        if (l.rest >= s->base && s->absorbed[l.rest - s->base]) {
            k = l.rest - s->base;
            continue;
        }
        out->start = l.rest;
        out->kind = CLSI_START_REGISTER;
        if (at) {
            put_term(s, out, --at, l.rest, 1);
            out->kind = CLSI_START_NONE;
        } else if (l.rest < s->p->n_constants) {
            out->start_value = l.rest_sign * s->p->constants[l.rest];
            out->kind = CLSI_START_CONSTANT;
        }
        break;
    }
    order_first(out);
}

static int is_sum(const planner *s, size_t k) {
    return s->links[k].product != NONE;
}

/* ---- items and levels ---- */

static void count_use(planner *s, size_t k, uint32_t reg) {
    if (reg < s->base) return;
    s->uses[reg - s->base]++;
    if (s->user[reg - s->base] == NONE) s->user[reg - s->base] = (uint32_t)k;
}

static void count_uses(planner *s) {
    const cls_program *p = s->p;
    for (size_t k = 0; k < p->n_instructions; k++) {
        count_use(s, k, p->code[k].a);
        if (!clsi_is_unary(&p->code[k])) count_use(s, k, p->code[k].b);
    }
    for (size_t k = 0; k < p->n_outputs; k++)
        if (p->outputs[k] >= s->base) s->uses[p->outputs[k] - s->base] += 2; /* never absorbed */
    size_t k = 0;
    for (int now = 0; now < CLSI_STAGES; now++)
        for (; k < p->end[now]; k++) s->stage[k] = (unsigned char)now;
}

static void use(planner *s, size_t k, uint32_t reg, uint32_t *level) {
    if (reg < s->base) return;
    s->live[reg - s->base] = 1;
    uint32_t below = s->stage[reg - s->base] == s->stage[k] ? s->level[reg] : 0;
    if (below > *level) *level = below;
}

/* Marks what instruction k needs; the highest level of that. */
static uint32_t operands_of(planner *s, size_t k) {
    const clsi_instruction *in = &s->p->code[k];
    uint32_t level = 0;
    if (!is_sum(s, k)) {
        use(s, k, in->a, &level);
        use(s, k, in->b, &level);
        return level;
    }
    read_sum(s, k, &s->one);
    for (size_t t = 0; t < s->one.n; t++) use(s, k, s->one.x[t], &level);
    if (s->one.kind == CLSI_START_REGISTER) use(s, k, s->one.start, &level);
    return level;
}

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static uint64_t key_of(planner *s, size_t k) {
    const clsi_instruction *in = &s->p->code[k];
    size_t constants = s->p->n_constants;
    uint64_t h = 1, exponent, code = in->code;
    if (is_sum(s, k)) {
        read_sum(s, k, &s->one);
        for (size_t t = 0; t < s->one.n; t++) h = mix(h, s->one.x[t]);
        return mix(h, s->one.kind);
    }
    memcpy(&exponent, &in->exponent, sizeof exponent);
    if (s->adds[k]) code = CLSI_ADD;
    h = mix(h, code | in->function << 8 | in->i << 16 | (uint64_t)in->j << 24);
    h = mix(h, (uint64_t)(in->power + 1000) * 4 + (in->a < constants) * 2 + (in->b < constants));
    return mix(h, exponent);
}

static int compare_items(const void *left, const void *right) {
    const item *a = left, *b = right;
    if (a->stage != b->stage) return a->stage < b->stage ? -1 : 1;
    if (a->level != b->level) return a->level < b->level ? -1 : 1;
    if (a->is_sum != b->is_sum) return a->is_sum < b->is_sum ? -1 : 1;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->k < b->k ? -1 : a->k > b->k;
}

static uint32_t add_constant(planner *s, double value) {
    clsi_plan *plan = s->plan;
    if (!clsi_grow(&plan->constants, &s->constants_room, plan->n_constants + 1, sizeof(double))) {
        s->failed = 1;
        return CONSTANT;
    }
    plan->constants[plan->n_constants] = value;
    return (uint32_t)plan->n_constants++ | CONSTANT;
}

/* x - c y is x + (-c) y: signs of learned numbers are no reason to be done apart. */
static void turn_signs(planner *s) {
    for (size_t i = 0; i < s->n_items; i++) {
        uint32_t k = s->items[i].k, b = s->p->code[k].b;
        if (s->items[i].is_sum || s->p->code[k].code != CLSI_SUB || !is_product(s, b)) continue;
        if (s->uses[b - s->base] != 1) continue;
        s->adds[k] = 1;
        s->negative[b - s->base] = add_constant(s, -s->p->constants[s->p->code[b - s->base].a]);
    }
}

static void find_items(planner *s) {
    const cls_program *p = s->p;
    for (size_t k = 0; k < p->n_outputs; k++)
        if (p->outputs[k] >= s->base) s->live[p->outputs[k] - s->base] = 1;
    for (size_t k = p->n_instructions; k-- > 0;)
        if (s->live[k]) operands_of(s, k);
    for (size_t k = 0; k < p->n_instructions; k++) {
        if (!s->live[k]) continue;
        uint32_t level = s->level[s->base + k] = 1 + operands_of(s, k);
        s->items[s->n_items++] = (item){0, (uint32_t)k, level, s->stage[k], (uint8_t)is_sum(s, k)};
    }
    turn_signs(s);
    for (size_t i = 0; i < s->n_items; i++) s->items[i].key = key_of(s, s->items[i].k);
    qsort(s->items, s->n_items, sizeof *s->items, compare_items);
}

/* ---- writing the plan ---- */

/* Where an old register is in the plan; a constant moves there with its first use. */
static uint32_t place_of(planner *s, uint32_t reg) {
    if (s->place[reg] == NONE && reg < s->p->n_constants)
        s->place[reg] = add_constant(s, s->p->constants[reg]);
    return s->place[reg];
}

static clsi_vector_op *add_op(planner *s, clsi_vector_op op) {
    clsi_plan *plan = s->plan;
    if (!clsi_grow(&plan->ops, &s->ops_room, plan->n_ops + 1, sizeof *plan->ops)) {
        s->failed = 1;
        return NULL;
    }
    plan->ops[plan->n_ops] = op;
    return &plan->ops[plan->n_ops++];
}

static int add_code(planner *s, clsi_instruction in) {
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

/* n more values, made by the last operation. */
static uint32_t add_values(planner *s, size_t n) {
    uint32_t first = (uint32_t)s->n_values;
    if (!clsi_grow(&s->block, &s->block_room, s->n_values + n, sizeof *s->block)) {
        s->failed = 1;
        return first;
    }
    for (size_t i = 0; i < n; i++) s->block[s->n_values++] = (uint32_t)s->plan->n_ops;
    return first;
}

/* One instruction at the end of the plan, joined to those before when nothing stands between. */
static uint32_t add_scalar(planner *s, clsi_instruction in, size_t stage_begin) {
    clsi_plan *plan = s->plan;
    clsi_vector_op *last = plan->n_ops > stage_begin ? &plan->ops[plan->n_ops - 1] : NULL;
    if (!add_code(s, in)) return 0;
    if (last && last->kind == CLSI_VECTOR_SCALARS && last->result + last->n == s->n_values)
        last->n++;
    else
        add_op(s, (clsi_vector_op){.kind = CLSI_VECTOR_SCALARS,
                                   .n = 1,
                                   .result = (uint32_t)s->n_values,
                                   .first = (uint32_t)plan->n_code - 1});
    return add_values(s, 1);
}

static void add_operand(planner *s, uint32_t place) {
    clsi_plan *plan = s->plan;
    if (!clsi_grow(&plan->operands, &s->operands_room, plan->n_operands + 1, sizeof(uint32_t)))
        s->failed = 1;
    else
        plan->operands[plan->n_operands++] = place;
}

/* ---- neighbours ---- */

/* An instruction in the registers of the plan. */
static clsi_instruction moved(planner *s, uint32_t k) {
    clsi_instruction in = s->p->code[k];
    in.a = s->negative[k] != NONE ? s->negative[k] : place_of(s, in.a);
    in.b = place_of(s, in.b);
    if (s->adds[k]) in.code = CLSI_ADD;
    int commutes = in.code == CLSI_ADD || in.code == CLSI_MUL;
    if (commutes && !((in.a | in.b) & CONSTANT) && in.a > in.b) {
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
    return place & CONSTANT ? 0 : place;
}

static pair pair_of(planner *s, uint32_t k, int by_second) {
    clsi_instruction in = moved(s, k);
    uint32_t a = value_of(in.a), b = value_of(in.b);
    uint64_t old = s->block[a], young = s->block[b];
    uint64_t blocks = old < young ? young << 32 | old : old << 32 | young;
    return (pair){blocks, by_second ? b : a, by_second ? a : b, k};
}

/* How operands go on from one to the next: 0 the same, 1 neighbours, 2 neither. Constants are
 * copied to where they are wanted. */
static unsigned step_of(uint32_t from, uint32_t to) {
    if (from & CONSTANT) return 1;
    return to - from < 2 ? to - from : 2;
}

typedef struct run {
    size_t n;
    uint8_t step_a, step_b;
} run;

/* The longest run that begins at order[0]. */
static run run_at(planner *s, size_t n, const uint32_t *order) {
    clsi_instruction one = moved(s, order[0]);
    run r = {1, 1, 1};
    for (; r.n < n; r.n++) {
        clsi_instruction next = moved(s, order[r.n]);
        unsigned a = step_of(one.a, next.a), b = clsi_is_unary(&one) ? 1 : step_of(one.b, next.b);
        if (r.n == 1) r.step_a = (uint8_t)a, r.step_b = (uint8_t)b;
        if (a == 2 || b == 2 || a != r.step_a || b != r.step_b || !(a | b)) break;
        one = next;
    }
    if (r.n == 1) r.step_a = r.step_b = 1;
    return r;
}

static size_t count_runs(planner *s, size_t n, const uint32_t *order) {
    size_t runs = 0;
    for (size_t k = 0; k < n; runs++) k += run_at(s, n - k, order + k).n;
    return runs;
}

static void sort_by(planner *s, size_t n, pair *pairs, int by_second, uint32_t *order) {
    for (size_t i = 0; i < n; i++) pairs[i] = pair_of(s, pairs[i].k, by_second);
    qsort(pairs, n, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < n; i++) order[i] = pairs[i].k;
}

/* Instructions whose operands come from the same two operations together; among them by first or
 * by second operands, whichever has fewer runs. */
static void choose_order(planner *s, size_t n, const item *items) {
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
static uint32_t copy_constants(planner *s, const run *r, const uint32_t *order, int second,
                               uint8_t *step) {
    uint32_t first = NONE, begin = NONE;
    size_t skip = padding(s->plan->n_constants, r->n);
    *step = 0;
    for (size_t i = 0; i < r->n; i++) {
        clsi_instruction in = moved(s, order[i]);
        uint32_t place = second ? in.b : in.a;
        if (i == 0) begin = place;
        *step |= place != begin;
    }
    while (*step && skip--) add_constant(s, 0);
    for (size_t i = 0; i < r->n && *step; i++) {
        clsi_instruction in = moved(s, order[i]);
        uint32_t at = add_constant(s, s->plan->constants[(second ? in.b : in.a) & ~CONSTANT]);
        if (i == 0) first = at;
    }
    return *step ? first : begin;
}

/* A run that does to other operands what the operation before does to its own, one of them the same
 * again: a slope with several tangents. */
static int joins(const clsi_plan *plan, const clsi_vector_op *op, const clsi_instruction *in,
                 clsi_vector_op *last) {
    const clsi_instruction *before = &plan->code[last->first];
    if (last->kind != CLSI_VECTOR_EACH || last->n != op->n || last->times == UINT16_MAX) return 0;
    if (before->code != in->code || in->code > CLSI_DIV || !last->step_a || !last->step_b) return 0;
    if (!op->step_a || !op->step_b || last->result + last->n * last->times != op->result) return 0;
    uint8_t a = op->a != last->a, b = op->b != last->b;
    if (a == b || (last->times > 1 && (a != last->goes_on_a || b != last->goes_on_b))) return 0;
    if (a && op->a != last->a + last->n * last->times) return 0;
    if (b && op->b != last->b + last->n * last->times) return 0;
    last->goes_on_a = a;
    last->goes_on_b = b;
    last->times++;
    return 1;
}

static void add_run(planner *s, run r, const uint32_t *order, size_t stage_begin) {
    clsi_instruction in = moved(s, order[0]);
    add_values(s, padding(s->n_values, r.n));
    clsi_vector_op op = {.kind = CLSI_VECTOR_EACH,
                         .times = 1,
                         .step_a = r.step_a,
                         .step_b = r.step_b,
                         .n = (uint32_t)r.n,
                         .result = (uint32_t)s->n_values,
                         .a = in.a,
                         .b = in.b,
                         .first = (uint32_t)s->plan->n_code};
    if (in.a & CONSTANT) op.a = copy_constants(s, &r, order, 0, &op.step_a);
    if (!clsi_is_unary(&in) && in.b & CONSTANT) op.b = copy_constants(s, &r, order, 1, &op.step_b);
    if (clsi_is_unary(&in)) op.b = op.a, op.step_b = op.step_a;
    in.a = op.a, in.b = op.b;
    clsi_plan *plan = s->plan;
    int joined = plan->n_ops > stage_begin && joins(plan, &op, &in, &plan->ops[plan->n_ops - 1]);
    if (!joined && (!add_code(s, in) || !add_op(s, op))) return;
    uint32_t first = add_values(s, r.n);
    for (size_t i = 0; i < r.n; i++) s->place[s->base + order[i]] = first + (uint32_t)i;
    s->vectorised += r.n;
}

static void add_group(planner *s, size_t n, const item *items, size_t stage_begin) {
    for (size_t i = 0; i < n; i++) s->order[i] = items[i].k;
    if (n >= MIN_RUN) choose_order(s, n, items);
    for (size_t i = 0; i < n && !s->failed;) {
        run r = run_at(s, n - i, s->order + i);
        if (r.n >= MIN_RUN)
            add_run(s, r, s->order + i, stage_begin);
        else
            for (size_t t = 0; t < r.n; t++) s->scalars[s->n_scalars++] = s->order[i + t];
        i += r.n;
    }
}

static void add_scalars(planner *s, size_t stage_begin) {
    for (size_t i = 0; i < s->n_scalars && !s->failed; i++) {
        uint32_t k = s->scalars[i];
        s->place[s->base + k] = add_scalar(s, moved(s, k), stage_begin);
    }
    s->n_scalars = 0;
}

/* ---- matrices ---- */

static int same_operands(const sum *a, const sum *b) {
    return a->n == b->n && a->kind == b->kind && memcmp(a->x, b->x, a->n * sizeof *a->x) == 0;
}

/* Sums that are not worth a matrix, product by product. */
static void spell_out(planner *s, uint32_t k, size_t stage_begin) {
    read_sum(s, k, &s->one);
    uint32_t so_far = NONE;
    if (s->one.kind == CLSI_START_REGISTER) so_far = place_of(s, s->one.start);
    if (s->one.kind == CLSI_START_CONSTANT) so_far = add_constant(s, s->one.start_value);
    for (size_t t = 0; t < s->one.n && !s->failed; t++) {
        uint32_t c = add_constant(s, s->one.c[t]), x = place_of(s, s->one.x[t]);
        if (t && t == s->one.flip)
            so_far = add_scalar(s, (clsi_instruction){.code = CLSI_NEG, .a = so_far, .b = so_far},
                                stage_begin);
        uint32_t product =
            add_scalar(s, (clsi_instruction){.code = CLSI_MUL, .a = c, .b = x}, stage_begin);
        so_far =
            so_far == NONE
                ? product
                : add_scalar(s, (clsi_instruction){.code = CLSI_ADD, .a = so_far, .b = product},
                             stage_begin);
    }
    s->place[s->base + k] = so_far;
}

/* Row by row of the tile that begins at `lane`: starts if constant, then term by term, then the
 * signs if any changes. */
static void fill_tile(planner *s, size_t n, const item *items, size_t lane, size_t width,
                      uint32_t flip, double *out) {
    for (size_t i = lane; i < lane + width && i < n; i++) {
        read_sum(s, items[i].k, &s->other);
        double *to = out + (i - lane);
        if (s->other.kind == CLSI_START_CONSTANT) {
            *to = s->other.start_value;
            to += width;
        }
        for (size_t t = 0; t < s->other.n; t++, to += width) *to = s->other.c[t];
        if (flip) *to = s->other.flip ? -1 : 1;
    }
}

/* The coefficients of a matrix, or those of an equal one that is there already. */
static size_t add_coefficients(planner *s, size_t n, const item *items, size_t lanes, size_t rows,
                               uint32_t flip) {
    clsi_plan *plan = s->plan;
    size_t size = lanes * rows, at = plan->n_coefficients;
    if (!clsi_grow(&plan->coefficients, &s->coefficients_room, at + size, sizeof(double))) {
        s->failed = 1;
        return 0;
    }
    double *out = plan->coefficients + at;
    memset(out, 0, size * sizeof *out);
    for (size_t lane = 0; lane < lanes; lane += CLSI_PLAN_TILE) {
        size_t width = lanes - lane < CLSI_PLAN_TILE ? lanes - lane : CLSI_PLAN_TILE;
        fill_tile(s, n, items, lane, width, flip, out + lane * rows);
    }
    for (size_t k = 0; k < plan->n_ops; k++) {
        const clsi_vector_op *op = &plan->ops[k];
        if (op->kind != CLSI_VECTOR_LINEAR || op->n != lanes) continue;
        if (op->terms + (op->start == CLSI_START_CONSTANT) + (op->flip > 0) != rows) continue;
        if (memcmp(plan->coefficients + op->coefficients, out, size * sizeof *out) == 0)
            return op->coefficients;
    }
    plan->n_coefficients += size;
    return at;
}

static void add_matrix(planner *s, size_t n, const item *items, uint32_t flip) {
    size_t lanes = (n + CLSI_PLAN_LANES - 1) / CLSI_PLAN_LANES * CLSI_PLAN_LANES;
    add_values(s, padding(s->n_values, lanes));
    read_sum(s, items[0].k, &s->one);
    clsi_vector_op op = {.kind = CLSI_VECTOR_LINEAR,
                         .start = (uint8_t)s->one.kind,
                         .n = (uint32_t)lanes,
                         .result = (uint32_t)s->n_values,
                         .first = (uint32_t)s->plan->n_operands,
                         .terms = (uint32_t)s->one.n,
                         .flip = flip};
    size_t rows = s->one.n + (s->one.kind == CLSI_START_CONSTANT) + (flip > 0);
    op.coefficients = add_coefficients(s, n, items, lanes, rows, flip);
    for (size_t t = 0; t < s->one.n; t++) add_operand(s, place_of(s, s->one.x[t]));
    for (size_t i = 0; s->one.kind == CLSI_START_REGISTER && i < lanes; i++) {
        read_sum(s, items[i < n ? i : n - 1].k, &s->other);
        add_operand(s, place_of(s, s->other.start));
    }
    add_op(s, op);
    uint32_t first = add_values(s, lanes);
    for (size_t i = 0; i < n; i++) s->place[s->base + items[i].k] = first + (uint32_t)i;
    s->vectorised += 2 * n * s->one.n;
}

/* Rows of a matrix in the order in which they will be wanted: that of what their first user
 * combines them with, if that is there already. */
static uint32_t wanted_at(planner *s, uint32_t k) {
    uint32_t user = s->user[k], self = (uint32_t)(s->base + k);
    if (user == NONE || is_sum(s, user) || clsi_is_unary(&s->p->code[user])) return k;
    const clsi_instruction *in = &s->p->code[user];
    uint32_t other = in->a == self ? in->b : in->a;
    return other < s->p->n_constants || s->place[other] == NONE ? k : s->place[other];
}

static int compare_keys(const void *left, const void *right) {
    const item *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->k < b->k ? -1 : a->k > b->k;
}

static void order_rows(planner *s, size_t n, item *items) {
    for (size_t i = 0; i < n; i++) items[i].key = wanted_at(s, items[i].k);
    qsort(items, n, sizeof *items, compare_keys);
}

static void add_sums(planner *s, size_t n, item *items, size_t stage_begin) {
    for (size_t i = 0; i < n && !s->failed;) {
        size_t count = 1;
        read_sum(s, items[i].k, &s->one);
        uint32_t flip = s->one.flip;
        for (; i + count < n; count++) {
            read_sum(s, items[i + count].k, &s->other);
            if (!same_operands(&s->one, &s->other)) break;
            if (flip && s->other.flip && flip != s->other.flip) break;
            if (s->other.flip) flip = s->other.flip;
        }
        if (count * s->one.n >= MIN_PRODUCTS) {
            order_rows(s, count, items + i);
            add_matrix(s, count, items + i, flip);
        } else
            for (size_t t = 0; t < count; t++) spell_out(s, items[i + t].k, stage_begin);
        i += count;
    }
}

/* ---- the whole ---- */

/* Levels in order, in each the operations on neighbours, what is left of them, then sums. */
static void write_plan(planner *s) {
    size_t i = 0, stage_begin = 0;
    for (int now = 0; now < CLSI_STAGES; now++) {
        while (i < s->n_items && s->items[i].stage == now && !s->failed) {
            size_t n = 1;
            item *first = &s->items[i];
            while (i + n < s->n_items && first[n].stage == now && first[n].level == first->level &&
                   first[n].is_sum == first->is_sum && first[n].key == first->key)
                n++;
            if (first->is_sum)
                add_sums(s, n, first, stage_begin);
            else
                add_group(s, n, first, stage_begin);
            i += n;
            if (i == s->n_items || s->items[i].stage != now || s->items[i].level != first->level ||
                s->items[i].is_sum)
                add_scalars(s, stage_begin);
        }
        stage_begin = s->plan->end[now] = s->plan->n_ops;
    }
}

static uint32_t resolved(const clsi_plan *plan, uint32_t place) {
    return place & CONSTANT ? place & ~CONSTANT : place + (uint32_t)plan->n_constants;
}

/* Constants first, now that their number is known. */
static void resolve(planner *s) {
    clsi_plan *plan = s->plan;
    for (size_t k = 0; k < s->p->n_outputs; k++) plan->outputs[k] = place_of(s, s->p->outputs[k]);
    for (size_t n = padding(plan->n_constants, CLSI_PLAN_LANES); n > 0; n--) add_constant(s, 0);
    for (size_t k = 0; k < s->p->n_outputs; k++)
        plan->outputs[k] = resolved(plan, plan->outputs[k]);
    for (size_t k = 0; k < plan->n_code; k++) {
        plan->code[k].a = resolved(plan, plan->code[k].a);
        plan->code[k].b = resolved(plan, plan->code[k].b);
    }
    for (size_t k = 0; k < plan->n_operands; k++)
        plan->operands[k] = resolved(plan, plan->operands[k]);
    for (size_t k = 0; k < plan->n_ops; k++) {
        clsi_vector_op *op = &plan->ops[k];
        op->result = resolved(plan, op->result);
        op->a = resolved(plan, op->a);
        op->b = resolved(plan, op->b);
        if (op->kind == CLSI_VECTOR_SCALARS) clsi_find_pairs(plan->code + op->first, op->n);
    }
    plan->n_registers = plan->n_constants + s->n_values;
}

/* On a cache line, in its final size. */
static void align_coefficients(planner *s) {
    clsi_plan *plan = s->plan;
    size_t size = (plan->n_coefficients * sizeof(double) + 63) / 64 * 64;
    double *aligned = aligned_alloc(64, size ? size : 64);
    if (!aligned) {
        s->failed = 1;
        return;
    }
    if (plan->n_coefficients)
        memcpy(aligned, plan->coefficients, plan->n_coefficients * sizeof *aligned);
    free(plan->coefficients);
    plan->coefficients = aligned;
}

static int open_planner(planner *s) {
    size_t n = s->p->n_instructions, registers = s->base + n;
    s->plan = clsi_calloc(1, sizeof *s->plan);
    s->links = clsi_calloc(n, sizeof *s->links);
    s->uses = clsi_calloc(8 * n, sizeof *s->uses);
    s->level = clsi_calloc(2 * registers, sizeof *s->level);
    s->stage = clsi_calloc(4, n);
    s->items = clsi_calloc(n, sizeof *s->items);
    if (!s->plan || !s->links || !s->uses || !s->level || !s->stage || !s->items) return 0;
    s->plan->outputs = clsi_calloc(s->p->n_outputs, sizeof(uint32_t));
    s->length = s->uses + n;
    s->order = s->uses + 2 * n;
    s->trial = s->uses + 3 * n;
    s->scalars = s->uses + 4 * n;
    s->user = s->uses + 5 * n;
    s->negative = s->uses + 6 * n;
    s->flip = s->uses + 7 * n;
    for (size_t k = 0; k < n; k++) s->user[k] = s->negative[k] = NONE;
    s->place = s->level + registers;
    s->absorbed = s->stage + n;
    s->live = s->stage + 2 * n;
    s->adds = s->stage + 3 * n;
    for (size_t k = 0; k < registers; k++) s->place[k] = NONE;
    for (size_t k = 0; k < s->p->n_inputs; k++) s->place[s->p->n_constants + k] = (uint32_t)k;
    add_values(s, s->p->n_inputs + 1); /* one more, so that there is a first */
    return s->plan->outputs && !s->failed;
}

static int open_sums(planner *s) {
    s->one.x = clsi_calloc(2 * s->longest, sizeof(uint32_t));
    s->one.c = clsi_calloc(2 * s->longest, sizeof(double));
    if (!s->one.x || !s->one.c) return 0;
    s->other.x = s->one.x + s->longest;
    s->other.c = s->one.c + s->longest;
    return 1;
}

static void close_planner(planner *s) {
    free(s->links);
    free(s->uses);
    free(s->level);
    free(s->stage);
    free(s->items);
    free(s->block);
    free(s->one.x);
    free(s->one.c);
    clsi_plan_free(&s->plan);
}

void clsi_plan_free(clsi_plan **plan) {
    if (!*plan) return;
    free((*plan)->constants);
    free((*plan)->ops);
    free((*plan)->code);
    free((*plan)->operands);
    free((*plan)->coefficients);
    free((*plan)->outputs);
    free(*plan);
    *plan = NULL;
}

cls_status clsi_plan_create(const cls_program *p, clsi_plan **out, cls_error *error) {
    *out = NULL;
    if (p->n_instructions < SMALL) return CLS_OK;
    planner s = {.p = p, .base = p->n_constants + p->n_inputs};
    s.failed = !open_planner(&s);
    if (!s.failed) {
        count_uses(&s);
        find_sums(&s);
        s.failed = !open_sums(&s);
    }
    if (!s.failed) {
        find_items(&s);
        write_plan(&s);
        resolve(&s);
        align_coefficients(&s);
    }
    if (!s.failed && 2 * s.vectorised >= p->n_instructions) {
        *out = s.plan;
        s.plan = NULL;
    }
    close_planner(&s);
    return s.failed ? clsi_no_memory(error) : CLS_OK;
}
