/* Programs in vectors: equal operations on the cells of an array are found again and done together.
 *
 * Equal operations that can be done at the same time are one operation on neighbours, when registers
 * are numbered so that operands are neighbours too. By levels: an instruction's level is one more than
 * the highest of its operands; within a level all are independent. What is left is run instruction by
 * instruction, as in a program without a plan.
 *
 * -c x is subtracted in the formula and added with the sign in c here; negation is exact, so the
 * bits are the same. Costs n log n in the number of instructions, once. No promise that a small
 * program gains: those below SMALL instructions are left alone, and so are those in which fewer
 * than half of the instructions find company. */
#include "base/base.h"
#include "expr/planner.h"
#include "expr/tile_code.h"
#include <stdlib.h>
#include <string.h>

enum { SMALL = 256 }; /* instructions: below that the ways of a plan cost more than they save */

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

/* ---- items and levels ---- */

static void count_use(clsi_planner *s, uint32_t reg) {
    if (reg < s->base) return;
    unsigned char *uses = &s->uses[reg - s->base];
    *uses = (unsigned char)(*uses ? 2 : 1);
}

static void count_uses(clsi_planner *s) {
    const cls_program *p = s->p;
    for (size_t k = 0; k < p->n_instructions; k++) {
        count_use(s, p->code[k].a);
        if (!clsi_is_unary(&p->code[k])) count_use(s, p->code[k].b);
    }
    for (size_t k = 0; k < p->n_outputs; k++) count_use(s, p->outputs[k]);
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
    use(s, k, in->a, &level);
    use(s, k, in->b, &level);
    return level;
}

static uint64_t key_of(clsi_planner *s, size_t k) {
    const clsi_instruction *in = &s->p->code[k];
    size_t constants = s->p->n_constants;
    uint64_t h = 1, exponent, code = in->code;
    memcpy(&exponent, &in->exponent, sizeof exponent);
    if (s->adds[k]) code = CLSI_ADD;
    h = mix(h, code | in->function << 8 | in->i << 16 | (uint64_t)in->j << 24);
    h = mix(h, (uint64_t)(in->power + 1000) * 4 + (in->a < constants) * 2 + (in->b < constants));
    return mix(h, exponent);
}

/* ---- kinds: instructions of one stage and level that may be done together ---- */

static int compare_kinds(const void *left, const void *right) {
    const clsi_kind_of_work *a = left, *b = right;
    if (a->stage != b->stage) return a->stage < b->stage ? -1 : 1;
    if (a->level != b->level) return a->level < b->level ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* Where a kind is in the table, or the empty place where it belongs. */
static size_t slot_of(const clsi_planner *s, const clsi_kind_of_work *x) {
    size_t at = mix(mix(x->key, x->level), x->stage) & (s->n_slots - 1);
    while (s->slots[at] && compare_kinds(&s->kinds[s->slots[at] - 1], x) != 0)
        at = (at + 1) & (s->n_slots - 1);
    return at;
}

/* The table is at most half full. */
static int grow_slots(clsi_planner *s) {
    if (2 * (s->n_kinds + 1) <= s->n_slots) return 1;
    free(s->slots);
    s->n_slots = s->n_slots ? 4 * s->n_slots : 1024;
    s->slots = clsi_calloc(s->n_slots, sizeof *s->slots);
    for (size_t i = 0; i < s->n_kinds && s->slots; i++)
        s->slots[slot_of(s, &s->kinds[i])] = (uint32_t)i + 1;
    return s->slots != NULL;
}

/* The number of the kind of instruction k; one more is counted. */
static uint32_t count_kind(clsi_planner *s, size_t k) {
    clsi_kind_of_work x = {key_of(s, k), s->level[s->base + k], 0, 0, s->stage[k]};
    if (s->n_kinds && compare_kinds(&s->kinds[s->last_kind], &x) == 0) { /* mostly */
        s->kinds[s->last_kind].n++;
        return (uint32_t)s->last_kind;
    }
    if (!grow_slots(s) || !clsi_grow(&s->kinds, &s->kinds_room, s->n_kinds + 1, sizeof x)) {
        s->failed = 1;
        return 0;
    }
    size_t at = slot_of(s, &x);
    if (!s->slots[at]) {
        x.number = (uint32_t)s->n_kinds;
        s->kinds[s->n_kinds] = x;
        s->slots[at] = (uint32_t)++s->n_kinds;
    }
    s->last_kind = s->slots[at] - 1;
    s->kinds[s->last_kind].n++;
    return (uint32_t)s->last_kind;
}

/* Instructions that are needed, by kinds, in the order of the program among equals. There are few kinds,
 * whatever the number of cells: only they are compared. */
static void sort_items(clsi_planner *s) {
    size_t n = s->p->n_instructions;
    uint32_t *kind = s->scalars; /* not in use before plans are written */
    for (size_t k = 0; k < n && !s->failed; k++)
        if (s->live[k]) kind[k] = count_kind(s, k);
    uint32_t *begin = clsi_malloc((s->n_kinds + 1) * sizeof *begin);
    s->failed |= !begin;
    if (!s->failed) {
        if (s->n_kinds) qsort(s->kinds, s->n_kinds, sizeof *s->kinds, compare_kinds);
        uint32_t at = 0;
        for (size_t i = 0; i < s->n_kinds; at += s->kinds[i++].n) begin[s->kinds[i].number] = at;
        for (size_t k = 0; k < n; k++)
            if (s->live[k]) s->items[begin[kind[k]]++] = (uint32_t)k;
    }
    free(begin);
}

/* x - c y is x + (-c) y: signs of learned numbers are no reason to be done apart. */
static void turn_sign(clsi_planner *s, size_t k) {
    uint32_t b = s->p->code[k].b;
    if (s->p->code[k].code != CLSI_SUB || b < s->base || s->uses[b - s->base] != 1) return;
    const clsi_instruction *product = &s->p->code[b - s->base];
    if (product->code != CLSI_MUL || product->a >= s->p->n_constants) return;
    if (!s->negative) {
        s->negative = clsi_malloc(s->p->n_instructions * sizeof *s->negative);
        for (size_t i = 0; i < s->p->n_instructions && s->negative; i++)
            s->negative[i] = CLSI_NOWHERE;
        s->failed |= !s->negative;
        if (!s->negative) return;
    }
    s->adds[k] = 1;
    s->negative[b - s->base] = clsi_plan_constant(s, -s->p->constants[product->a]);
}

static void find_items(clsi_planner *s) {
    const cls_program *p = s->p;
    for (size_t k = 0; k < p->n_outputs; k++)
        if (p->outputs[k] >= s->base) s->live[p->outputs[k] - s->base] = 1;
    for (size_t k = p->n_instructions; k-- > 0;)
        if (s->live[k]) operands_of(s, k);
    for (size_t k = 0; k < p->n_instructions; k++) {
        if (!s->live[k]) continue;
        s->level[s->base + k] = 1 + operands_of(s, k);
        turn_sign(s, k);
    }
    sort_items(s);
}

/* ---- the whole ---- */

static int open_planner(clsi_planner *s) {
    size_t n = s->p->n_instructions, registers = s->base + n;
    s->plan = clsi_calloc(1, sizeof *s->plan);
    s->items = clsi_malloc(2 * n * sizeof *s->items);
    s->level = clsi_calloc(2 * registers, sizeof *s->level);
    s->stage = clsi_calloc(4, n);
    if (!s->plan || !s->items || !s->level || !s->stage) return 0;
    s->plan->outputs = clsi_calloc(s->p->n_outputs, sizeof(uint32_t));
    s->scalars = s->items + n;
    s->place = s->level + registers;
    s->live = s->stage + n;
    s->adds = s->stage + 2 * n;
    s->uses = s->stage + 3 * n;
    for (size_t k = 0; k < registers; k++) s->place[k] = CLSI_NOWHERE;
    for (size_t k = 0; k < s->p->n_inputs; k++) s->place[s->p->n_constants + k] = (uint32_t)k;
    clsi_plan_values(s, s->p->n_inputs + 1); /* one more, so that there is a first */
    return s->plan->outputs && !s->failed;
}

static void close_planner(clsi_planner *s) {
    free(s->items);
    free(s->negative);
    free(s->level);
    free(s->stage);
    free(s->kinds);
    free(s->slots);
    free(s->pairs);
    free(s->block);
    clsi_plan_free(&s->plan);
}

void clsi_plan_free(clsi_plan **plan) {
    if (!*plan) return;
    free((*plan)->constants);
    free((*plan)->ops);
    free((*plan)->code);
    free((*plan)->outputs);
    free((*plan)->phases);
    free((*plan)->tiles);
    free((*plan)->deliveries);
    free((*plan)->left);
    clsi_fused_free(&(*plan)->fused);
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
        find_items(&s);
        clsi_plan_write(&s);
    }
    if (!s.failed && 2 * s.vectorised >= p->n_instructions)
        s.failed = !clsi_plan_tile(s.plan, p->n_first_outputs, p->n_outputs);
    if (!s.failed && 2 * s.vectorised >= p->n_instructions) {
        *out = s.plan;
        s.plan = NULL;
    }
    close_planner(&s);
    return s.failed ? clsi_no_memory(error) : CLS_OK;
}
