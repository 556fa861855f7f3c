/* Long operations cut to what belongs together, and their results straight to the outputs.
 *
 * Operations on neighbours may run over the results of several others (the inner cells of an array
 * and its two ends). In tiles each piece goes with the one that it reads: so they are cut there.
 *
 * Problem: the entries of a Jacobian are written to registers, and when all are there they are read
 * again and written to where the caller wants them; of 100,000 cells each time from memory. The
 * outputs of equal cells lie apart by equal strides. So runs of results with one stride are noted
 * with the operation that makes them, and taken from the tile while it is in the cache. What is in
 * no run (a few at the ends of arrays, constants, results of other stages) is read as before. */
#include "base/base.h"
#include "expr/tiles.h"
#include <stdlib.h>
#include <string.h>

/* ---- cuts ---- */

enum { CUTS = 16, VOTES = 6 }; /* of an operation; one with more stays whole */

/* Where those who read an operation begin and end: two arrays that were found to be neighbours (momenta and
 * entropies) are read apart. */
typedef struct vote {
    uint32_t at, n;
} vote;

typedef struct cutter {
    clsi_plan *plan; /* with the operations so far */
    size_t n, room;
    uint32_t at[CUTS + 2];
    vote *votes; /* (operations as they were, VOTES) */
} cutter;

/* Ends of arrays are not cut off. */
static void vote_for(vote *list, const clsi_vector_op *op, int64_t at) {
    if (at < CLSI_LONG || at > (int64_t)op->n - CLSI_LONG) return;
    for (size_t k = 0; k < VOTES; k++) {
        if (list[k].n && list[k].at != at) continue;
        list[k].at = (uint32_t)at;
        list[k].n++;
        return;
    }
}

static int by_votes(const void *a, const void *b) {
    const vote *x = a, *y = b;
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* The cuts that most ask for, none near another. */
static void count_votes(vote *list) {
    size_t kept = 0;
    qsort(list, VOTES, sizeof *list, by_votes);
    for (size_t k = 0; k < VOTES; k++) {
        int near = !list[k].n;
        for (size_t i = 0; i < kept; i++) {
            uint32_t low = list[i].at < list[k].at ? list[i].at : list[k].at;
            near |= list[i].at + list[k].at - 2 * low < CLSI_LONG;
        }
        if (!near) list[kept++] = list[k];
    }
    for (; kept < VOTES; kept++) list[kept].n = 0;
}

static void vote_operand(cutter *c, const clsi_vector_op *op, const vote *own, uint32_t a,
                         int step) {
    const clsi_plan *plan = c->plan;
    size_t k = clsi_tiles_maker(plan, a);
    if (step != 1 || k == plan->n_ops || !clsi_tiles_long(&plan->ops[k])) return;
    const clsi_vector_op *made = &plan->ops[k];
    int64_t begin = (int64_t)a - made->result;
    if (begin < 0 || begin + op->n > made->n) return;
    vote *list = c->votes + k * VOTES;
    vote_for(list, made, begin);
    vote_for(list, made, begin + op->n);
    for (size_t i = 0; i < VOTES && own[i].n; i++) vote_for(list, made, begin + own[i].at);
}

static void find_votes(cutter *c) {
    const clsi_plan *plan = c->plan;
    for (size_t k = plan->n_ops; k-- > 0;) {
        const clsi_vector_op *op = &plan->ops[k];
        if (!clsi_tiles_long(op)) continue;
        vote *own = c->votes + k * VOTES;
        count_votes(own);
        vote_operand(c, op, own, op->a, op->step_a);
        vote_operand(c, op, own, op->b, op->step_b);
    }
}

static void cut_at(cutter *c, const clsi_vector_op *op, int64_t element) {
    if (element > 0 && element < op->n && c->n <= CUTS) c->at[c->n++] = (uint32_t)element;
}

/* Where the maker of an operand changes. */
static void cut_operand(cutter *c, const clsi_vector_op *op, uint32_t a, int step) {
    const clsi_plan *plan = c->plan;
    if (step != 1) return;
    for (size_t k = clsi_tiles_maker(plan, a); k < plan->n_ops && plan->ops[k].result < a + op->n;
         k++) {
        cut_at(c, op, (int64_t)plan->ops[k].result - a);
        cut_at(c, op, (int64_t)plan->ops[k].result + plan->ops[k].n - a);
    }
}

static int by_element(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Constants that are equal are one. */
static void join_constants(const clsi_plan *plan, uint32_t a, uint32_t n, uint8_t *step) {
    if (*step != 1 || a >= plan->n_constants) return;
    for (uint32_t i = 1; i < n; i++)
        if (memcmp(&plan->constants[a], &plan->constants[a + i], sizeof(double)) != 0) return;
    *step = 0;
}

static clsi_vector_op piece(const clsi_plan *plan, clsi_vector_op op, uint32_t begin,
                            uint32_t end) {
    op.a += begin * op.step_a;
    op.b += begin * op.step_b;
    op.result += begin;
    op.n = end - begin;
    if (clsi_is_unary(&plan->code[op.first])) return op;
    if (op.step_b) join_constants(plan, op.a, op.n, &op.step_a);
    if (op.step_a) join_constants(plan, op.b, op.n, &op.step_b);
    return op;
}

static int add_pieces(cutter *c, const clsi_vector_op *op, const vote *own) {
    clsi_plan *plan = c->plan;
    c->n = 0;
    for (size_t k = 0; k < VOTES && own[k].n; k++) cut_at(c, op, own[k].at);
    if (clsi_tiles_long(op)) {
        cut_operand(c, op, op->a, op->step_a);
        cut_operand(c, op, op->b, op->step_b);
    }
    if (c->n > CUTS) c->n = 0;
    if (c->n) qsort(c->at, c->n, sizeof *c->at, by_element);
    c->at[c->n++] = op->n;
    uint32_t begin = 0;
    for (size_t k = 0; k < c->n; k++) {
        if (c->at[k] == begin) continue;
        if (!clsi_grow(&plan->ops, &c->room, plan->n_ops + 1, sizeof *plan->ops)) return 0;
        plan->ops[plan->n_ops++] = c->n > 1 ? piece(plan, *op, begin, c->at[k]) : *op;
        begin = c->at[k];
    }
    return 1;
}

int clsi_tiles_cut(clsi_plan *plan) {
    clsi_vector_op *whole = plan->ops;
    size_t n = plan->n_ops, end[CLSI_STAGES];
    cutter c = {.plan = plan, .votes = clsi_calloc(n, VOTES * sizeof(vote))};
    int good = c.votes != NULL;
    if (!good) return 0;
    find_votes(&c);
    memcpy(end, plan->end, sizeof end);
    plan->ops = NULL;
    plan->n_ops = 0;
    for (size_t k = 0, stage = 0; k <= n && good; k++) {
        while (stage < CLSI_STAGES && end[stage] == k) plan->end[stage++] = plan->n_ops;
        if (k < n) good = add_pieces(&c, &whole[k], c.votes + k * VOTES);
    }
    free(whole);
    free(c.votes);
    return good;
}

/* ---- deliveries ---- */

/* Runs of one operation; one with more keeps its results in registers. */
enum { MOST = 24 };

typedef struct wish {
    uint32_t op, element, output;
} wish;

static int compare_wishes(const void *left, const void *right) {
    const wish *a = left, *b = right;
    if (a->op != b->op) return a->op < b->op ? -1 : 1;
    if (a->element != b->element) return a->element < b->element ? -1 : 1;
    return a->output < b->output ? -1 : a->output > b->output;
}

/* The operation in tiles that makes an output in the stage in which it is asked for, or n_ops. */
static size_t maker_of(const clsi_tiler *t, size_t output, uint32_t *element) {
    const clsi_plan *plan = t->plan;
    uint32_t reg = plan->outputs[output];
    int asked = output < t->n_first ? CLSI_STAGE_FIRST : CLSI_STAGE_REST;
    size_t op = clsi_tiles_maker(plan, reg);
    if (op == plan->n_ops || plan->ops[op].result > reg || !clsi_is_tiled(t, op) ||
        clsi_tiles_stage(plan, op) != asked)
        return plan->n_ops;
    *element = reg - plan->ops[op].result;
    return op;
}

static int goes_on(const clsi_delivery *run, const wish *w) {
    if (run->element + run->n != w->element) return 0;
    int64_t stride =
        (int64_t)w->output - ((int64_t)run->output + (int64_t)(run->n - 1) * run->stride);
    return run->n == 1 || stride == run->stride;
}

/* The runs of one operation; 0 when there are too many. */
static size_t find_runs(const wish *w, size_t n, clsi_delivery *runs) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        clsi_delivery *run = NULL;
        for (size_t k = 0; k < count && !(run && run->n > 1); k++)
            if (goes_on(&runs[k], &w[i]) && (!run || runs[k].n > 1)) run = &runs[k];
        if (!run) {
            if (count == MOST) return 0;
            runs[count++] = (clsi_delivery){w[i].op, w[i].element, 1, w[i].output, 0};
            continue;
        }
        if (run->n == 1) run->stride = (int64_t)w[i].output - (int64_t)run->output;
        run->n++;
    }
    return count;
}

static int add_runs(clsi_tiler *t, const wish *w, size_t n) {
    clsi_plan *plan = t->plan;
    clsi_delivery runs[MOST];
    size_t count = find_runs(w, n, runs);
    if (!count) return 1;
    if (!clsi_grow(&plan->deliveries, &t->deliveries_room, plan->n_deliveries + count,
                   sizeof *plan->deliveries))
        return 0;
    plan->tiles[t->place[w->op]].deliveries = (uint32_t)plan->n_deliveries;
    plan->tiles[t->place[w->op]].n_deliveries = (uint32_t)count;
    for (size_t k = 0; k < count; k++) plan->deliveries[plan->n_deliveries++] = runs[k];
    return 1;
}

/* Single results to registers, behind the deliveries of the same operation. */
static int add_singles(clsi_tiler *t) {
    clsi_plan *plan = t->plan;
    for (size_t k = 0; k < plan->n_ops; k++) {
        clsi_tile *tile = &plan->tiles[t->place[k]];
        size_t n = t->kept[k] ? 0 : t->n_single[k], before = tile->n_deliveries,
               at = plan->n_deliveries;
        if (!n || !clsi_is_tiled(t, k)) continue;
        if (!clsi_grow(&plan->deliveries, &t->deliveries_room, at + before + n,
                       sizeof *plan->deliveries))
            return 0;
        memcpy(plan->deliveries + at, plan->deliveries + tile->deliveries,
               before * sizeof *plan->deliveries);
        for (size_t i = 0; i < n; i++)
            plan->deliveries[at + before + i] = (clsi_delivery){
                (uint32_t)k, t->single[k * CLSI_SINGLE + i], 1, CLSI_IN_REGISTERS, 0};
        tile->deliveries = (uint32_t)at;
        tile->n_deliveries = (uint32_t)(before + n);
        plan->n_deliveries += before + n;
    }
    return 1;
}

/* One more output that is read from its register; neighbours are read together. */
static void add_left(clsi_plan *plan, uint32_t k, int first) {
    clsi_left *last = plan->n_left ? &plan->left[plan->n_left - 1] : NULL;
    if (last && !first && last->output + last->n == k &&
        plan->outputs[k] == plan->outputs[k - 1] + 1)
        last->n++;
    else
        plan->left[plan->n_left++] = (clsi_left){k, 1, 0};
}

/* Outputs that are not delivered, those of the first stage first; who makes them keeps them. */
static int list_left(clsi_tiler *t) {
    clsi_plan *plan = t->plan;
    plan->left = clsi_calloc(t->n_outputs, sizeof *plan->left);
    if (!plan->left) return 0;
    for (size_t k = 0; k < t->n_outputs; k++) {
        uint32_t element;
        size_t op = maker_of(t, k, &element);
        if (k == t->n_first) plan->n_left_first = plan->n_left;
        if (op < plan->n_ops && plan->tiles[t->place[op]].n_deliveries) continue;
        add_left(plan, (uint32_t)k, k == t->n_first);
        op = clsi_tiles_maker(plan, plan->outputs[k]);
        if (op < plan->n_ops && plan->ops[op].result <= plan->outputs[k]) t->kept[op] = 1;
    }
    if (t->n_first == t->n_outputs) plan->n_left_first = plan->n_left;
    return 1;
}

/* By operations, of which there are few; within one outputs of equal cells mostly ascend as its elements do. */
static int sort_wishes(const clsi_plan *plan, size_t n, wish **wishes) {
    wish *sorted = clsi_malloc(n * sizeof *sorted);
    size_t *end = clsi_calloc(plan->n_ops + 1, sizeof *end), begin = 0;
    int good = sorted && end;
    for (size_t i = 0; i < n && good; i++) end[(*wishes)[i].op + 1]++;
    for (size_t k = 0; k < plan->n_ops && good; k++) end[k + 1] += end[k];
    for (size_t i = 0; i < n && good; i++) sorted[end[(*wishes)[i].op]++] = (*wishes)[i];
    for (size_t k = 0; k < plan->n_ops && good; begin = end[k++]) {
        size_t i = begin + 1;
        while (i < end[k] && compare_wishes(&sorted[i - 1], &sorted[i]) < 0) i++;
        if (i < end[k]) qsort(sorted + begin, end[k] - begin, sizeof *sorted, compare_wishes);
    }
    free(good ? *wishes : sorted);
    if (good) *wishes = sorted;
    free(end);
    return good;
}

int clsi_tiles_deliver(clsi_tiler *t) {
    clsi_plan *plan = t->plan;
    wish *wishes = clsi_malloc(t->n_outputs * sizeof *wishes);
    size_t n = 0;
    /* there is one, even where nothing is delivered: tiles say where theirs begin */
    int good =
        wishes && clsi_grow(&plan->deliveries, &t->deliveries_room, 1, sizeof *plan->deliveries);
    for (size_t k = 0; k < t->n_outputs && good; k++) {
        wish w = {.output = (uint32_t)k};
        size_t op = maker_of(t, k, &w.element);
        w.op = (uint32_t)op;
        if (op < plan->n_ops) wishes[n++] = w;
    }
    good = good && sort_wishes(plan, n, &wishes);
    for (size_t i = 0, count; i < n && good; i += count) {
        for (count = 1; i + count < n && wishes[i + count].op == wishes[i].op;) count++;
        good = add_runs(t, wishes + i, count);
    }
    free(wishes);
    return good && list_left(t) && add_singles(t);
}
