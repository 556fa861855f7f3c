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

/* ---- uses ---- */

static void count_use(clsi_planner *s, uint32_t reg) {
    if (reg < s->base) return;
    unsigned char *mark = &s->mark[reg - s->base];
    *mark |= *mark & CLSI_USED_ONCE ? CLSI_USED_OFTEN : CLSI_USED_ONCE;
}

static void count_uses(clsi_planner *s) {
    const cls_program *p = s->p;
    for (size_t k = 0; k < p->n_instructions; k++) {
        clsi_operands at = s->outline->at[k];
        count_use(s, at.a);
        if (at.a != at.b || !clsi_is_unary(&s->outline->operation[s->outline->of[k]]))
            count_use(s, at.b);
    }
    for (size_t k = 0; k < p->n_outputs; k++) count_use(s, p->outputs[k]);
}

/* What kinds of work are ordered by. */
static uint64_t key_of(const clsi_planner *s, uint32_t work) {
    const clsi_instruction *in = &s->outline->operation[work / 4];
    uint64_t h = 1, exponent;
    memcpy(&exponent, &in->exponent, sizeof exponent);
    h = mix(h, (uint64_t)in->code | in->function << 8 | in->i << 16 | (uint64_t)in->j << 24);
    h = mix(h, (uint64_t)(in->power + 1000) * 4 + work % 4);
    return mix(h, exponent);
}

/* ---- kinds: instructions of one stage and level that may be done together ---- */

static int compare_kinds(const void *left, const void *right) {
    const clsi_kind_of_work *a = left, *b = right;
    if (a->stage != b->stage) return a->stage < b->stage ? -1 : 1;
    if (a->level != b->level) return a->level < b->level ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static int is_kind(const clsi_kind_of_work *a, const clsi_kind_of_work *b) {
    return a->level == b->level && a->work == b->work && a->stage == b->stage;
}

/* Where a kind is in the table, or the empty place where it belongs. */
static size_t slot_of(const clsi_planner *s, const clsi_kind_of_work *x) {
    size_t at = mix(mix(x->work, x->level), x->stage) & (s->n_slots - 1);
    while (s->slots[at] && !is_kind(&s->kinds[s->slots[at] - 1], x))
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

/* The number of a kind + 1, a new one perhaps; 0: no memory. */
static uint32_t find_kind(clsi_planner *s, const clsi_kind_of_work *x) {
    if (!grow_slots(s) || !clsi_grow(&s->kinds, &s->kinds_room, s->n_kinds + 1, sizeof *x))
        return 0;
    size_t at = slot_of(s, x);
    if (s->slots[at]) return s->slots[at];
    clsi_kind_of_work *made = &s->kinds[s->n_kinds];
    *made = *x;
    made->key = key_of(s, x->work);
    made->number = (uint32_t)s->n_kinds;
    return s->slots[at] = (uint32_t)++s->n_kinds;
}

/* One more of the kind. Instructions of a cell mostly follow one another as in the cell before. */
static void count_kind(clsi_planner *s, size_t k, uint32_t work, uint32_t level, int stage) {
    clsi_kind_of_work x = {.level = level, .work = work, .stage = (uint8_t)stage};
    uint32_t which = s->n_kinds ? s->kinds[s->last_kind].follow : 0;
    if (!which || !is_kind(&s->kinds[which - 1], &x)) {
        if (!(which = find_kind(s, &x))) {
            s->failed = 1;
            return;
        }
        s->kinds[s->last_kind].follow = which;
    }
    s->last_kind = which - 1;
    s->kinds[s->last_kind].n++;
    s->kind[k] = which - 1;
}

/* x - c y is x + (-c) y: signs of learned numbers are no reason to be done apart. */
static void turn_sign(clsi_planner *s, size_t k) {
    uint32_t b = s->outline->at[k].b;
    if (b < s->base || s->mark[b - s->base] & CLSI_USED_OFTEN) return;
    const clsi_operands *product = &s->outline->at[b - s->base];
    uint32_t operation = s->outline->of[b - s->base];
    if (s->outline->operation[operation].code != CLSI_MUL || product->a >= s->p->n_constants)
        return;
    if (!s->negative) {
        s->negative = clsi_malloc(s->p->n_instructions * sizeof *s->negative);
        for (size_t i = 0; i < s->p->n_instructions && s->negative; i++)
            s->negative[i] = CLSI_NOWHERE;
        s->failed |= !s->negative;
        if (!s->negative) return;
    }
    s->mark[k] |= CLSI_ADDS;
    s->negative[b - s->base] = clsi_plan_constant(s, -s->p->constants[product->a]);
}

/* The level of an operand of an instruction whose stage begins at instruction `begin`. */
static inline uint32_t level_of(const clsi_planner *s, uint32_t reg, size_t begin) {
    return reg < s->base + begin ? 0 : s->kinds[s->kind[reg - s->base]].level;
}

static void find_kinds(clsi_planner *s) {
    const cls_program *p = s->p;
    size_t k = 0;
    for (int now = 0; now < CLSI_STAGES; now++)
        for (size_t begin = k; k < p->end[now] && !s->failed; k++) {
            clsi_operands at = s->outline->at[k];
            uint32_t a = level_of(s, at.a, begin), b = level_of(s, at.b, begin);
            uint32_t operation = s->outline->of[k];
            if (s->outline->operation[operation].code == CLSI_SUB) turn_sign(s, k);
            if (s->mark[k] & CLSI_ADDS) operation = CLSI_OUTLINE_SUM;
            operation = 4 * operation + 2 * (at.a < p->n_constants) + (at.b < p->n_constants);
            count_kind(s, k, operation, 1 + (a > b ? a : b), now);
        }
}

/* ---- numbers by kinds ---- */

static uint32_t by_kinds(const clsi_planner *s, const uint32_t *number, uint32_t reg) {
    return reg < s->base ? reg : (uint32_t)s->base + number[reg - s->base];
}

/* There are few kinds, whatever the number of cells: only they are compared. */
static void number_by_kinds(clsi_planner *s) {
    const cls_program *p = s->p;
    size_t n = p->n_instructions;
    uint32_t *begin = clsi_malloc((s->n_kinds + 1) * sizeof *begin), *number = s->kind, at = 0;
    s->at = clsi_malloc(n * sizeof *s->at);
    clsi_expect_use(s->at, n * sizeof *s->at);
    if (s->negative) s->turned = clsi_malloc(n * sizeof *s->turned);
    s->failed |= !begin || !s->at || (s->negative && !s->turned);
    if (!s->failed) {
        if (s->n_kinds) qsort(s->kinds, s->n_kinds, sizeof *s->kinds, compare_kinds);
        for (size_t i = 0; i < s->n_kinds; at += s->kinds[i++].n) begin[s->kinds[i].number] = at;
        for (size_t k = 0; k < n; k++) { /* operands have their numbers already */
            number[k] = begin[s->kind[k]]++;
            clsi_operands old = s->outline->at[k];
            s->at[number[k]] =
                (clsi_operands){by_kinds(s, number, old.a), by_kinds(s, number, old.b)};
            if (s->turned) s->turned[number[k]] = s->negative[k];
        }
        for (size_t k = 0; k < p->n_outputs; k++)
            s->outputs[k] = by_kinds(s, number, p->outputs[k]);
    }
    free(begin);
}

/* ---- the whole ---- */

static int open_planner(clsi_planner *s) {
    size_t n = s->p->n_instructions;
    s->plan = clsi_calloc(1, sizeof *s->plan);
    s->kind = clsi_malloc((s->base + n) * sizeof *s->kind);
    clsi_expect_use(s->kind, n * sizeof *s->kind);
    s->mark = clsi_calloc(n, 1);
    s->outputs = clsi_malloc((s->p->n_outputs + 1) * sizeof *s->outputs);
    if (!s->plan || !s->kind || !s->mark || !s->outputs) return 0;
    s->plan->outputs = clsi_calloc(s->p->n_outputs, sizeof(uint32_t));
    clsi_plan_values(s, s->p->n_inputs + 1); /* one more, so that there is a first */
    return s->plan->outputs && !s->failed;
}

/* Where things are in the plan; what kind of work they are is known from their numbers now. */
static void open_places(clsi_planner *s) {
    s->place = s->kind;
    s->kind = NULL;
    for (size_t k = 0; k < s->p->n_constants; k++) s->place[k] = CLSI_NOWHERE;
    for (size_t k = 0; k < s->p->n_inputs; k++) s->place[s->p->n_constants + k] = (uint32_t)k;
}

static void close_planner(clsi_planner *s) {
    free(s->kind);
    free(s->negative);
    free(s->at);
    free(s->turned);
    free(s->outputs);
    free(s->place);
    free(s->mark);
    free(s->kinds);
    free(s->slots);
    free(s->pairs);
    free(s->scalars);
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
    free((*plan)->active);
    free((*plan)->active_from);
    free((*plan)->deliveries);
    free((*plan)->left);
    clsi_fused_free(&(*plan)->fused);
    free(*plan);
    *plan = NULL;
}

cls_status clsi_plan_create(const cls_program *p, const clsi_outline *outline, clsi_plan **out,
                            cls_error *error) {
    *out = NULL;
    if (p->n_instructions < SMALL) return CLS_OK;
    clsi_planner s = {.p = p, .outline = outline, .base = p->n_constants + p->n_inputs};
    s.failed = !open_planner(&s);
    if (!s.failed) {
        count_uses(&s);
        find_kinds(&s);
        number_by_kinds(&s);
        open_places(&s);
    }
    if (!s.failed) clsi_plan_write(&s);
    if (!s.failed && 2 * s.vectorised >= p->n_instructions)
        s.failed = !clsi_plan_tile(s.plan, p->n_first_outputs, p->n_outputs);
    if (!s.failed && 2 * s.vectorised >= p->n_instructions) {
        *out = s.plan;
        s.plan = NULL;
    }
    close_planner(&s);
    return s.failed ? clsi_no_memory(error) : CLS_OK;
}
