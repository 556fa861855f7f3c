/* Plans written down: which registers, in which order, by which operations (see vectorise.c).
 *
 * Level by level. Equal instructions are ordered so that the operands of one come right after
 * those of the one before (a run), or are the same; runs become operations on neighbours, their
 * constants are copied side by side. Rows of matrices stand in the order in which they are wanted
 * next. What is in no run stays as it is. Results get registers in the order of computation,
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

static void add_operand(clsi_planner *s, uint32_t place) {
    clsi_plan *plan = s->plan;
    if (!clsi_grow(&plan->operands, &s->operands_room, plan->n_operands + 1, sizeof(uint32_t)))
        s->failed = 1;
    else
        plan->operands[plan->n_operands++] = place;
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

/* ---- matrices ---- */

static int same_operands(const clsi_sum *a, const clsi_sum *b) {
    return a->n == b->n && a->kind == b->kind && memcmp(a->x, b->x, a->n * sizeof *a->x) == 0;
}

static uint32_t spell_coefficient(clsi_planner *s, uint32_t source, double value) {
    if (!source) return clsi_plan_constant(s, value);
    uint32_t reg = (uint32_t)(s->p->n_constants + s->p->first_parameter) + source - 1;
    uint32_t at = place_of(s, reg);
    return value > 0 ? at : add_scalar(s, (clsi_instruction){.code = CLSI_NEG, .a = at, .b = at});
}

/* Sums that are not worth a matrix, product by product. */
static void spell_out(clsi_planner *s, uint32_t k) {
    clsi_read_sum(s, k, &s->one);
    uint32_t so_far = CLSI_NOWHERE;
    if (s->one.kind == CLSI_START_REGISTER) so_far = place_of(s, s->one.start);
    if (s->one.kind == CLSI_START_CONSTANT)
        so_far = spell_coefficient(s, s->one.start_source, s->one.start_value);
    for (size_t t = 0; t < s->one.n && !s->failed; t++) {
        uint32_t c = spell_coefficient(s, s->one.source[t], s->one.c[t]);
        uint32_t x = place_of(s, s->one.x[t]);
        if (t && t == s->one.flip)
            so_far = add_scalar(s, (clsi_instruction){.code = CLSI_NEG, .a = so_far, .b = so_far});
        uint32_t product = add_scalar(s, (clsi_instruction){.code = CLSI_MUL, .a = c, .b = x});
        so_far =
            so_far == CLSI_NOWHERE
                ? product
                : add_scalar(s, (clsi_instruction){.code = CLSI_ADD, .a = so_far, .b = product});
    }
    s->place[s->base + k] = so_far;
}

/* Row by row of the tile that begins at `lane`: starts if constant, then term by term, then the
 * signs if any changes. */
static void fill_tile(clsi_planner *s, size_t n, const clsi_item *items, size_t lane, size_t width,
                      uint32_t flip, double *out, uint32_t *source) {
    for (size_t i = lane; i < lane + width && i < n; i++) {
        clsi_read_sum(s, items[i].k, &s->other);
        size_t to = i - lane;
        if (s->other.kind == CLSI_START_CONSTANT) {
            out[to] = s->other.start_value;
            source[to] = s->other.start_source;
            to += width;
        }
        for (size_t t = 0; t < s->other.n; t++, to += width) {
            out[to] = s->other.c[t];
            source[to] = s->other.source[t];
        }
        if (flip) out[to] = s->other.flip ? -1 : 1;
    }
}

/* The coefficients of a matrix, or those of an equal one that is there already. */
static size_t add_coefficients(clsi_planner *s, size_t n, const clsi_item *items, size_t lanes,
                               size_t rows, uint32_t flip) {
    clsi_plan *plan = s->plan;
    size_t size = lanes * rows, at = plan->n_coefficients;
    if (!clsi_grow(&plan->coefficients, &s->coefficients_room, at + size, sizeof(double)) ||
        !clsi_grow(&s->source, &s->source_room, at + size, sizeof(uint32_t))) {
        s->failed = 1;
        return 0;
    }
    double *out = plan->coefficients + at;
    uint32_t *source = s->source + at;
    memset(out, 0, size * sizeof *out);
    memset(source, 0, size * sizeof *source);
    for (size_t lane = 0; lane < lanes; lane += CLSI_PLAN_TILE) {
        size_t width = lanes - lane < CLSI_PLAN_TILE ? lanes - lane : CLSI_PLAN_TILE;
        fill_tile(s, n, items, lane, width, flip, out + lane * rows, source + lane * rows);
    }
    for (size_t k = 0; k < plan->n_ops; k++) {
        const clsi_vector_op *op = &plan->ops[k];
        if (op->kind != CLSI_VECTOR_LINEAR || op->n != lanes) continue;
        if (op->terms + (op->start == CLSI_START_CONSTANT) + (op->flip > 0) != rows) continue;
        if (memcmp(plan->coefficients + op->coefficients, out, size * sizeof *out) == 0 &&
            memcmp(s->source + op->coefficients, source, size * sizeof *source) == 0)
            return op->coefficients;
    }
    plan->n_coefficients += size;
    return at;
}

static void add_matrix(clsi_planner *s, size_t n, const clsi_item *items, uint32_t flip) {
    size_t lanes = (n + CLSI_PLAN_LANES - 1) / CLSI_PLAN_LANES * CLSI_PLAN_LANES;
    clsi_plan_values(s, padding(s->n_values, lanes));
    clsi_read_sum(s, items[0].k, &s->one);
    clsi_vector_op op = {.kind = CLSI_VECTOR_LINEAR,
                         .start = (uint8_t)s->one.kind,
                         .n = (uint32_t)lanes,
                         .rows = (uint32_t)n,
                         .result = (uint32_t)s->n_values,
                         .first = (uint32_t)s->plan->n_operands,
                         .terms = (uint32_t)s->one.n,
                         .flip = flip};
    size_t rows = s->one.n + (s->one.kind == CLSI_START_CONSTANT) + (flip > 0);
    op.coefficients = add_coefficients(s, n, items, lanes, rows, flip);
    for (size_t t = 0; t < s->one.n; t++) add_operand(s, place_of(s, s->one.x[t]));
    for (size_t i = 0; s->one.kind == CLSI_START_REGISTER && i < lanes; i++) {
        clsi_read_sum(s, items[i < n ? i : n - 1].k, &s->other);
        add_operand(s, place_of(s, s->other.start));
    }
    add_op(s, op);
    uint32_t first = clsi_plan_values(s, lanes);
    for (size_t i = 0; i < n; i++) s->place[s->base + items[i].k] = first + (uint32_t)i;
    s->vectorised += 2 * n * s->one.n;
}

/* Rows of a matrix in the order in which they will be wanted: that of what their first user
 * combines them with, if that is there already. */
static uint32_t wanted_at(clsi_planner *s, uint32_t k) {
    uint32_t user = s->user[k], self = (uint32_t)(s->base + k);
    if (user == CLSI_NOWHERE || clsi_is_sum(s, user) || clsi_is_unary(&s->p->code[user])) return k;
    const clsi_instruction *in = &s->p->code[user];
    uint32_t other = in->a == self ? in->b : in->a;
    return other < s->p->n_constants || s->place[other] == CLSI_NOWHERE ? k : s->place[other];
}

static int compare_keys(const void *left, const void *right) {
    const clsi_item *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->k < b->k ? -1 : a->k > b->k;
}

static void order_rows(clsi_planner *s, size_t n, clsi_item *items) {
    for (size_t i = 0; i < n; i++) items[i].key = wanted_at(s, items[i].k);
    qsort(items, n, sizeof *items, compare_keys);
}

static void add_sums(clsi_planner *s, size_t n, clsi_item *items) {
    for (size_t i = 0; i < n && !s->failed;) {
        size_t count = 1;
        clsi_read_sum(s, items[i].k, &s->one);
        uint32_t flip = s->one.flip;
        for (; i + count < n; count++) {
            clsi_read_sum(s, items[i + count].k, &s->other);
            if (!same_operands(&s->one, &s->other)) break;
            if (flip && s->other.flip && flip != s->other.flip) break;
            if (s->other.flip) flip = s->other.flip;
        }
        if (count * s->one.n >= CLSI_MIN_PRODUCTS) {
            order_rows(s, count, items + i);
            add_matrix(s, count, items + i, flip);
        } else
            for (size_t t = 0; t < count; t++) spell_out(s, items[i + t].k);
        i += count;
    }
}

/* ---- levels ---- */

static int same_level(const clsi_item *a, const clsi_item *b) {
    return a->stage == b->stage && a->level == b->level;
}

/* One level: operations on neighbours, what is left of them, then sums. */
static void write_level(clsi_planner *s, size_t n, clsi_item *items) {
    size_t i = 0, count;
    for (; i < n && !items[i].is_sum && !s->failed; i += count) {
        for (count = 1; i + count < n && !items[i + count].is_sum;) {
            if (items[i + count].key != items[i].key) break;
            count++;
        }
        add_group(s, count, items + i);
    }
    add_scalars(s);
    for (; i < n && !s->failed; i += count) {
        for (count = 1; i + count < n && items[i + count].key == items[i].key;) count++;
        add_sums(s, count, items + i);
    }
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
    for (size_t k = 0; k < plan->n_operands; k++)
        plan->operands[k] = resolved(plan, plan->operands[k]);
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
