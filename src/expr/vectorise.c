/* Programs in vectors: what a learned network becomes when it is written out as formulas is found
 * again and run as it was meant.
 *
 * Two things are looked for. Sums of products with coefficients that are constants or parameters of
 * the program (weights that are being learned),
 *
 *     y_i = start_i + c_i1 x_1 + c_i2 x_2 + ... + c_in x_n
 *
 * that go over the same x (layers, their transposes, tangents) are one product of a matrix and a
 * vector, accumulated column by column: every y_i is summed in the order of the formula, so its
 * bits are those of the formula. And equal operations that can be done at the same time are one
 * operation on neighbours, when registers are numbered so that operands are neighbours too. Both by
 * levels: an instruction's level is one more than the highest of its operands; within a level all
 * are independent. What is left is run instruction by instruction, as in a program without a plan.
 *
 * -c x is subtracted in the formula and added with the sign in c here; negation is exact, so the
 * bits are the same. Costs n log n in the number of instructions, once. No promise that a small
 * program gains: those below SMALL instructions are left alone, and so are those in which fewer
 * than half of the instructions find company. */
#include "base/base.h"
#include "expr/planner.h"
#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 256,  /* instructions: below that the ways of a plan cost more than they save */
    MIN_TERMS = 3 /* of a sum that is looked at as one */
};

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

/* ---- sums ---- */

uint32_t clsi_plan_parameter(const clsi_planner *s, uint32_t reg) {
    size_t first = s->p->n_constants + s->p->first_parameter;
    return reg >= first && reg < first + s->p->n_parameters ? (uint32_t)(reg - first) + 1 : 0;
}

static int is_coefficient(const clsi_planner *s, uint32_t reg) {
    return reg < s->p->n_constants || clsi_plan_parameter(s, reg);
}

/* Of one coefficient and one that is none. */
static int is_product(const clsi_planner *s, uint32_t reg) {
    if (reg < s->base) return 0;
    const clsi_instruction *in = &s->p->code[reg - s->base];
    return in->code == CLSI_MUL && is_coefficient(s, in->a) != is_coefficient(s, in->b);
}

static clsi_link as_link(const clsi_planner *s, const clsi_instruction *in) {
    clsi_link none = {CLSI_NOWHERE, CLSI_NOWHERE, 1, 1};
    if (in->code != CLSI_ADD && in->code != CLSI_SUB) return none;
    int8_t sign = in->code == CLSI_ADD ? 1 : -1;
    if (is_product(s, in->b)) return (clsi_link){in->b, in->a, sign, 1};
    return is_product(s, in->a) ? (clsi_link){in->a, in->b, 1, sign} : none;
}

/* Whether the sum up to `reg` lives on in instruction k only. */
static int can_absorb(const clsi_planner *s, size_t k, uint32_t reg) {
    if (reg < s->base) return 0;
    size_t other = reg - s->base;
    if (s->links[k].rest_sign < 0 && s->flip[other]) return 0; /* one change of sign is enough */
    return s->links[other].product != CLSI_NOWHERE && s->uses[other] == 1 &&
           s->stage[other] == s->stage[k];
}

static void find_sums(clsi_planner *s) {
    const cls_program *p = s->p;
    for (size_t k = 0; k < p->n_instructions; k++) {
        clsi_link l = s->links[k] = as_link(s, &p->code[k]);
        if (l.product == CLSI_NOWHERE) continue;
        int absorbs = can_absorb(s, k, l.rest);
        if (absorbs) {
            uint32_t so_far = s->length[l.rest - s->base];
            s->absorbed[l.rest - s->base] = 1;
            s->length[k] = so_far + 1;
            s->flip[k] = l.rest_sign < 0 ? so_far : s->flip[l.rest - s->base];
        } else if (l.rest_sign < 0 && !is_coefficient(s, l.rest)) {
            s->links[k].product = CLSI_NOWHERE; /* a product minus something else */
        } else {
            s->length[k] = is_product(s, l.rest) ? 2 : 1;
        }
        if (s->length[k] > s->longest) s->longest = s->length[k];
    }
    for (size_t k = p->n_instructions; k-- > 0;) { /* short ones are plain instructions */
        if (s->links[k].product == CLSI_NOWHERE || s->absorbed[k] || s->length[k] >= MIN_TERMS)
            continue;
        if (can_absorb(s, k, s->links[k].rest)) s->absorbed[s->links[k].rest - s->base] = 0;
        s->links[k].product = CLSI_NOWHERE;
    }
}

static void put_term(const clsi_planner *s, clsi_sum *out, size_t at, uint32_t product,
                     double sign) {
    const clsi_instruction *in = &s->p->code[product - s->base];
    int first = is_coefficient(s, in->a);
    uint32_t c = first ? in->a : in->b;
    out->x[at] = first ? in->b : in->a;
    out->source[at] = clsi_plan_parameter(s, c);
    out->c[at] = out->source[at] ? sign : sign * s->p->constants[c];
}

/* The first two of a sum without start may stand either way: smaller register first. */
static void order_first(clsi_sum *out) {
    if (out->kind != CLSI_START_NONE || out->x[0] <= out->x[1]) return;
    uint32_t x = out->x[0], source = out->source[0];
    double c = out->c[0];
    out->x[0] = out->x[1], out->c[0] = out->c[1], out->source[0] = out->source[1];
    out->x[1] = x, out->c[1] = c, out->source[1] = source;
}

void clsi_read_sum(const clsi_planner *s, size_t k, clsi_sum *out) {
    out->n = s->length[k];
    out->flip = s->flip[k];
    for (size_t at = out->n;;) {
        clsi_link l = s->links[k];
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
        } else if (is_coefficient(s, l.rest)) {
            out->start_source = clsi_plan_parameter(s, l.rest);
            out->start_value = out->start_source ? 1 : s->p->constants[l.rest];
            out->start_value *= l.rest_sign;
            out->kind = CLSI_START_CONSTANT;
        }
        break;
    }
    order_first(out);
}

int clsi_is_sum(const clsi_planner *s, size_t k) {
    return s->links[k].product != CLSI_NOWHERE;
}

/* Equal for sums of the same operands. */
static uint64_t key_of_sum(clsi_planner *s, size_t k) {
    uint64_t h = 1;
    clsi_read_sum(s, k, &s->one);
    for (size_t t = 0; t < s->one.n; t++) h = mix(h, s->one.x[t]);
    return mix(h, s->one.kind);
}

/* A sum and those that it absorbed are plain instructions again. */
static void dissolve(clsi_planner *s, size_t k) {
    for (;;) {
        uint32_t rest = s->links[k].rest;
        s->links[k].product = CLSI_NOWHERE;
        if (rest < s->base || !s->absorbed[rest - s->base]) return;
        k = rest - s->base;
        s->absorbed[k] = 0;
    }
}

static int compare_by_key(const void *left, const void *right) {
    const clsi_item *a = left, *b = right;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* Sums of the cells of an array: each has operands of its own, so that there is no matrix, but equal
 * instructions of equal cells are neighbours. */
static void dissolve_lonely(clsi_planner *s) {
    size_t n = 0;
    for (size_t k = 0; k < s->p->n_instructions; k++)
        if (clsi_is_sum(s, k) && !s->absorbed[k])
            s->items[n++] = (clsi_item){.key = key_of_sum(s, k), .k = (uint32_t)k};
    if (n) qsort(s->items, n, sizeof *s->items, compare_by_key);
    for (size_t i = 0, count; i < n; i += count) {
        for (count = 1; i + count < n && s->items[i + count].key == s->items[i].key;) count++;
        if (count * s->length[s->items[i].k] >= CLSI_MIN_PRODUCTS) continue;
        for (size_t t = 0; t < count; t++) dissolve(s, s->items[i + t].k);
    }
}

/* ---- items and levels ---- */

static void count_use(clsi_planner *s, size_t k, uint32_t reg) {
    if (reg < s->base) return;
    s->uses[reg - s->base]++;
    if (s->user[reg - s->base] == CLSI_NOWHERE) s->user[reg - s->base] = (uint32_t)k;
}

static void count_uses(clsi_planner *s) {
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

static void use(clsi_planner *s, size_t k, uint32_t reg, uint32_t *level) {
    if (reg < s->base) return;
    s->live[reg - s->base] = 1;
    uint32_t below = s->stage[reg - s->base] == s->stage[k] ? s->level[reg] : 0;
    if (below > *level) *level = below;
}

/* Marks what instruction k needs; the highest level of that. */
static uint32_t operands_of(clsi_planner *s, size_t k) {
    const clsi_instruction *in = &s->p->code[k];
    uint32_t level = 0;
    if (!clsi_is_sum(s, k)) {
        use(s, k, in->a, &level);
        use(s, k, in->b, &level);
        return level;
    }
    clsi_read_sum(s, k, &s->one);
    for (size_t t = 0; t < s->one.n; t++) use(s, k, s->one.x[t], &level);
    if (s->one.kind == CLSI_START_REGISTER) use(s, k, s->one.start, &level);
    return level;
}

static uint64_t key_of(clsi_planner *s, size_t k) {
    const clsi_instruction *in = &s->p->code[k];
    size_t constants = s->p->n_constants;
    uint64_t h = 1, exponent, code = in->code;
    if (clsi_is_sum(s, k)) return key_of_sum(s, k);
    memcpy(&exponent, &in->exponent, sizeof exponent);
    if (s->adds[k]) code = CLSI_ADD;
    h = mix(h, code | in->function << 8 | in->i << 16 | (uint64_t)in->j << 24);
    h = mix(h, (uint64_t)(in->power + 1000) * 4 + (in->a < constants) * 2 + (in->b < constants));
    return mix(h, exponent);
}

static int compare_items(const void *left, const void *right) {
    const clsi_item *a = left, *b = right;
    if (a->stage != b->stage) return a->stage < b->stage ? -1 : 1;
    if (a->level != b->level) return a->level < b->level ? -1 : 1;
    if (a->is_sum != b->is_sum) return a->is_sum < b->is_sum ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* Kinds of items: those that compare as equal. */
typedef struct kinds {
    clsi_item *list; /* one of each, its number in k */
    uint32_t *slot;  /* open addressing, kind + 1 */
    uint32_t *of;    /* (items) */
    uint32_t *begin; /* (kinds) where they go */
    size_t n, mask;
} kinds;

static uint32_t kind_of(kinds *s, const clsi_item *item) {
    size_t at = mix(mix(item->key, item->level), item->stage * 2u + item->is_sum) & s->mask;
    for (; s->slot[at]; at = (at + 1) & s->mask)
        if (compare_items(&s->list[s->slot[at] - 1], item) == 0) return s->slot[at] - 1;
    s->list[s->n] = *item;
    s->list[s->n].k = (uint32_t)s->n;
    s->slot[at] = (uint32_t)++s->n;
    return (uint32_t)s->n - 1;
}

/* Sorted, and in the order of the program among equals. There are few kinds, whatever the number of
 * cells: only they are compared. */
static int sort_items(size_t n, clsi_item *items) {
    kinds s = {.mask = 1};
    while (s.mask < 2 * n) s.mask *= 2;
    s.list = clsi_calloc(2 * n, sizeof *s.list);
    s.slot = clsi_calloc(s.mask + 2 * n, sizeof *s.slot);
    int good = s.list && s.slot;
    if (good) {
        clsi_item *sorted = s.list + n;
        s.of = s.slot + s.mask;
        s.begin = s.of + n;
        s.mask--;
        for (size_t i = 0; i < n; i++) s.begin[s.of[i] = kind_of(&s, &items[i])]++;
        qsort(s.list, s.n, sizeof *s.list, compare_items);
        for (size_t i = 0, at = 0; i < s.n; i++) {
            size_t count = s.begin[s.list[i].k];
            s.begin[s.list[i].k] = (uint32_t)at;
            at += count;
        }
        for (size_t i = 0; i < n; i++) sorted[s.begin[s.of[i]]++] = items[i];
        memcpy(items, sorted, n * sizeof *items);
    }
    free(s.list);
    free(s.slot);
    return good;
}

/* x - c y is x + (-c) y: signs of learned numbers are no reason to be done apart. */
static void turn_signs(clsi_planner *s) {
    for (size_t i = 0; i < s->n_items; i++) {
        uint32_t k = s->items[i].k, b = s->p->code[k].b;
        if (s->items[i].is_sum || s->p->code[k].code != CLSI_SUB || !is_product(s, b)) continue;
        if (s->uses[b - s->base] != 1 || s->p->code[b - s->base].a >= s->p->n_constants) continue;
        s->adds[k] = 1;
        s->negative[b - s->base] =
            clsi_plan_constant(s, -s->p->constants[s->p->code[b - s->base].a]);
    }
}

static void find_items(clsi_planner *s) {
    const cls_program *p = s->p;
    for (size_t k = 0; k < p->n_outputs; k++)
        if (p->outputs[k] >= s->base) s->live[p->outputs[k] - s->base] = 1;
    for (size_t k = p->n_instructions; k-- > 0;)
        if (s->live[k]) operands_of(s, k);
    for (size_t k = 0; k < p->n_instructions; k++) {
        if (!s->live[k]) continue;
        uint32_t level = s->level[s->base + k] = 1 + operands_of(s, k);
        s->items[s->n_items++] =
            (clsi_item){0, (uint32_t)k, level, s->stage[k], (uint8_t)clsi_is_sum(s, k)};
    }
    turn_signs(s);
    for (size_t i = 0; i < s->n_items; i++) s->items[i].key = key_of(s, s->items[i].k);
    if (s->n_items && !sort_items(s->n_items, s->items)) s->failed = 1;
}

/* ---- the whole ---- */

/* On a cache line, in its final size. */
static void align_coefficients(clsi_planner *s) {
    clsi_plan *plan = s->plan;
    size_t size = (plan->n_coefficients * sizeof(double) + 63) / 64 * 64;
    double *aligned = clsi_aligned(size ? size : 64);
    if (!aligned) {
        s->failed = 1;
        return;
    }
    if (plan->n_coefficients)
        memcpy(aligned, plan->coefficients, plan->n_coefficients * sizeof *aligned);
    free(plan->coefficients);
    plan->coefficients = aligned;
}

/* Which coefficients are parameters, as a list. */
static void list_sources(clsi_planner *s) {
    clsi_plan *plan = s->plan;
    size_t n = 0;
    for (size_t k = 0; k < plan->n_coefficients; k++) n += s->source[k] != 0;
    plan->sources = clsi_calloc(n, sizeof *plan->sources);
    if (!plan->sources) s->failed = 1;
    for (size_t k = 0; k < plan->n_coefficients && plan->sources; k++)
        if (s->source[k])
            plan->sources[plan->n_sources++] =
                (clsi_source){(uint32_t)k, s->source[k] - 1, plan->coefficients[k]};
}

static int open_planner(clsi_planner *s) {
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
    for (size_t k = 0; k < n; k++) s->user[k] = s->negative[k] = CLSI_NOWHERE;
    s->place = s->level + registers;
    s->absorbed = s->stage + n;
    s->live = s->stage + 2 * n;
    s->adds = s->stage + 3 * n;
    for (size_t k = 0; k < registers; k++) s->place[k] = CLSI_NOWHERE;
    for (size_t k = 0; k < s->p->n_inputs; k++) s->place[s->p->n_constants + k] = (uint32_t)k;
    clsi_plan_values(s, s->p->n_inputs + 1); /* one more, so that there is a first */
    return s->plan->outputs && !s->failed;
}

static int open_sums(clsi_planner *s) {
    s->one.x = clsi_calloc(4 * s->longest, sizeof(uint32_t));
    s->one.c = clsi_calloc(2 * s->longest, sizeof(double));
    if (!s->one.x || !s->one.c) return 0;
    s->other.x = s->one.x + s->longest;
    s->one.source = s->one.x + 2 * s->longest;
    s->other.source = s->one.x + 3 * s->longest;
    s->other.c = s->one.c + s->longest;
    return 1;
}

static void close_planner(clsi_planner *s) {
    free(s->links);
    free(s->uses);
    free(s->level);
    free(s->stage);
    free(s->items);
    free(s->block);
    free(s->source);
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
    free((*plan)->sources);
    free((*plan)->outputs);
    free((*plan)->phases);
    free((*plan)->tiles);
    free((*plan)->deliveries);
    free((*plan)->left);
    free(*plan);
    *plan = NULL;
}

cls_status clsi_plan_create(const cls_program *p, clsi_plan **out, cls_error *error) {
    *out = NULL;
    if (p->n_instructions < SMALL) return CLS_OK;
    clsi_planner s = {.p = p, .base = p->n_constants + p->n_inputs};
    s.failed = !open_planner(&s);
    if (!s.failed) {
        count_uses(&s);
        find_sums(&s);
        s.failed = !open_sums(&s);
    }
    if (!s.failed) {
        dissolve_lonely(&s);
        find_items(&s);
        clsi_plan_write(&s);
        align_coefficients(&s);
    }
    if (!s.failed) list_sources(&s);
    if (!s.failed && 2 * s.vectorised >= p->n_instructions)
        s.failed = !clsi_plan_tile(s.plan, p->n_first_outputs, p->n_outputs);
    if (!s.failed && 2 * s.vectorised >= p->n_instructions) {
        *out = s.plan;
        s.plan = NULL;
    }
    close_planner(&s);
    return s.failed ? clsi_no_memory(error) : CLS_OK;
}
