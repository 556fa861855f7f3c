/* Plans in tiles: the cells of long arrays a few hundred at a time through all operations.
 *
 * Problem: an operation on 100,000 neighbours writes its results to memory, and the next one reads
 * them from there. Most results are wanted by a few operations that follow, near the same cell.
 * So operations on long runs of neighbours form groups; element i of operation k is made at the
 * time i + shift(k), where shifts are such that everything is made before it is read,
 *
 *     shift(k) = max over what it reads of shift(j) + (how far ahead it reads j),
 *
 * and a tile is a stretch of time. What nobody outside of the group reads stays in a scratch of one
 * tile, behind what later tiles read of former ones; scratch is used again as soon as nobody reads
 * it any more. What is short, and sums in pairs, are run between the groups, on registers, as they
 * were. Every number is made by the same operation: the same bits in another order. */
#include "base/base.h"
#include "expr/tile_code.h"
#include "expr/tiles.h"
#include <stdlib.h>
#include <string.h>

/* ---- what reads what ---- */

/* Registers a, a + step, ..., n of them. */
typedef struct reading {
    uint32_t op; /* that reads */
    uint32_t a, n, step;
} reading;

typedef void visit(clsi_tiler *t, const reading *r, uint32_t made_by);

/* Results stand in the order of operations. */
size_t clsi_tiles_maker(const clsi_plan *plan, uint32_t reg) {
    size_t low = 0, high = plan->n_ops;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((size_t)plan->ops[middle].result + plan->ops[middle].n > reg)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void visit_makers(clsi_tiler *t, const reading *r, visit *see) {
    const clsi_plan *plan = t->plan;
    size_t low = clsi_tiles_maker(plan, r->a), end = (size_t)r->a + (size_t)(r->n - 1) * r->step;
    for (; low < plan->n_ops && plan->ops[low].result <= end; low++)
        if (low != r->op) see(t, r, (uint32_t)low);
}

static void visit_operands(clsi_tiler *t, uint32_t k, visit *see) {
    const clsi_plan *plan = t->plan;
    const clsi_vector_op *op = &plan->ops[k];
    if (op->kind == CLSI_VECTOR_EACH) {
        visit_makers(t, &(reading){k, op->a, op->n, op->step_a}, see);
        if (!clsi_is_unary(&plan->code[op->first]))
            visit_makers(t, &(reading){k, op->b, op->n, op->step_b}, see);
        return;
    }
    for (size_t i = 0; i < op->n; i++) {
        visit_makers(t, &(reading){k, plan->code[op->first + i].a, 1, 0}, see);
        visit_makers(t, &(reading){k, plan->code[op->first + i].b, 1, 0}, see);
    }
}

int clsi_tiles_stage(const clsi_plan *plan, size_t op) {
    int stage = 0;
    while (op >= plan->end[stage]) stage++;
    return stage;
}

/* Neighbours read neighbours. */
static int goes_along(const clsi_tiler *t, const reading *r, uint32_t by) {
    const clsi_vector_op *made = &t->plan->ops[by];
    return clsi_is_tiled(t, r->op) && clsi_is_tiled(t, by) && r->step == 1 &&
           r->a >= made->result && r->a + r->n <= made->result + made->n;
}

static void see_phase(clsi_tiler *t, const reading *r, uint32_t by) {
    if (clsi_tiles_stage(t->plan, by) != clsi_tiles_stage(t->plan, r->op)) return;
    uint32_t least = t->phase[by];
    if (clsi_is_tiled(t, by))
        least += goes_along(t, r, by) ? 0 : clsi_is_tiled(t, r->op) ? 2 : 1;
    else
        least += clsi_is_tiled(t, r->op) ? 1 : 0;
    if (least > t->phase[r->op]) t->phase[r->op] = least;
}

static int in_one_group(const clsi_tiler *t, uint32_t a, uint32_t b) {
    return clsi_is_tiled(t, a) && t->phase[a] == t->phase[b] &&
           clsi_tiles_stage(t->plan, a) == clsi_tiles_stage(t->plan, b);
}

static void keep_single(clsi_tiler *t, uint32_t op, uint32_t element) {
    uint32_t *list = t->single + (size_t)op * CLSI_SINGLE;
    for (size_t k = 0; k < t->n_single[op]; k++)
        if (list[k] == element) return;
    if (t->n_single[op] == CLSI_SINGLE)
        t->kept[op] = 1;
    else
        list[t->n_single[op]++] = element;
}

/* The ends of arrays are read one by one. */
static void see_kept(clsi_tiler *t, const reading *r, uint32_t by) {
    const clsi_vector_op *made = &t->plan->ops[by];
    if (in_one_group(t, r->op, by)) return;
    if (r->n > CLSI_SINGLE || r->step > 1) t->kept[by] = 1;
    for (uint32_t k = 0; k < r->n && !t->kept[by]; k++) {
        uint32_t reg = r->a + k * r->step;
        if (reg >= made->result && reg < made->result + made->n)
            keep_single(t, by, reg - made->result);
    }
}

int clsi_tiles_long(const clsi_vector_op *op) {
    return op->kind == CLSI_VECTOR_EACH && op->n >= CLSI_LONG && op->step_a < 2 && op->step_b < 2;
}

static void find_phases(clsi_tiler *t) {
    const clsi_plan *plan = t->plan;
    for (uint32_t k = 0; k < plan->n_ops; k++) {
        t->phase[k] = (uint32_t)clsi_tiles_long(&plan->ops[k]);
        visit_operands(t, k, see_phase);
    }
    for (uint32_t k = 0; k < plan->n_ops; k++) visit_operands(t, k, see_kept);
}

/* ---- pieces ---- */

/* Machine code goes through a tile once for all the arithmetic between two functions. Operations stand in the
 * first piece that has what they read, or in that of their first reader, where that is later and nothing more
 * has to be kept for it. */

int clsi_tiles_native(const clsi_plan *plan, size_t op) {
    const clsi_instruction *in = &plan->code[plan->ops[op].first];
    return in->code <= CLSI_SQUARE || (in->code == CLSI_POWI && in->power > 1) ||
           (in->code == CLSI_CALL && (in->function == CLS_FN_SQRT || in->function == CLS_FN_EXP));
}

static void see_piece(clsi_tiler *t, const reading *r, uint32_t by) {
    if (!in_one_group(t, r->op, by)) return;
    uint32_t least =
        clsi_tiles_native(t->plan, r->op) ? (t->piece[by] + 1) & ~1u : t->piece[by] | 1;
    if (least > t->piece[r->op]) t->piece[r->op] = least;
}

static void see_limit(clsi_tiler *t, const reading *r, uint32_t by) {
    if (!in_one_group(t, r->op, by)) return;
    if ((t->piece[r->op] & ~1u) < t->limit[by]) t->limit[by] = t->piece[r->op] & ~1u;
}

static void see_local(clsi_tiler *t, const reading *r, uint32_t by) {
    t->n_local += (size_t)in_one_group(t, r->op, by);
}

static void find_pieces(clsi_tiler *t) {
    uint32_t n = (uint32_t)t->plan->n_ops;
    for (uint32_t k = 0; k < n; k++) {
        t->limit[k] = UINT32_MAX;
        if (!clsi_is_tiled(t, k)) continue;
        t->piece[k] = !clsi_tiles_native(t->plan, k);
        visit_operands(t, k, see_piece);
    }
    for (uint32_t k = n; k-- > 0;) {
        if (!clsi_is_tiled(t, k)) continue;
        t->n_local = 0;
        visit_operands(t, k, see_local);
        if (t->n_local < 2 && t->limit[k] != UINT32_MAX && clsi_tiles_native(t->plan, k))
            t->piece[k] = t->limit[k];
        visit_operands(t, k, see_limit);
    }
}

static int in_one_piece(const clsi_tiler *t, uint32_t a, uint32_t b) {
    return in_one_group(t, a, b) && t->piece[a] == t->piece[b];
}

static void see_reader(clsi_tiler *t, const reading *r, uint32_t by) {
    if (in_one_piece(t, r->op, by)) t->last[by] = r->op;
}

static void see_unranked(clsi_tiler *t, const reading *r, uint32_t by) {
    if (in_one_piece(t, r->op, by) && !t->rank[by]) t->seen = by;
}

/* Each right behind what it reads, so that few results are wanted at a time: from those that nobody reads in their
 * piece, depth first. `last` and `limit` are room here. */
static void rank_pieces(clsi_tiler *t) {
    uint32_t n = (uint32_t)t->plan->n_ops, ranked = 0, *stack = t->limit;
    for (uint32_t k = 0; k < n; k++)
        if (clsi_is_tiled(t, k)) visit_operands(t, k, see_reader);
    for (uint32_t k = 0; k < n; k++) {
        if (!clsi_is_tiled(t, k) || t->last[k] != UINT32_MAX) continue;
        size_t depth = 0;
        for (stack[depth++] = k; depth;) {
            t->seen = UINT32_MAX;
            visit_operands(t, stack[depth - 1], see_unranked);
            if (t->seen != UINT32_MAX)
                stack[depth++] = t->seen;
            else
                t->rank[stack[--depth]] = ++ranked;
        }
    }
    for (uint32_t k = 0; k < n; k++) t->last[k] = UINT32_MAX;
}

/* ---- groups ---- */

static clsi_tile *tile_of(clsi_tiler *t, uint32_t op) {
    return &t->plan->tiles[t->place[op]];
}

/* How far ahead element i reads. */
static int64_t ahead(const clsi_tiler *t, const reading *r, uint32_t by) {
    return (int64_t)r->a - (int64_t)t->plan->ops[by].result;
}

static void see_shift(clsi_tiler *t, const reading *r, uint32_t by) {
    if (!in_one_group(t, r->op, by)) return;
    clsi_tile *tile = tile_of(t, r->op);
    int64_t least = tile_of(t, by)->shift + ahead(t, r, by);
    if (tile->shift == INT64_MIN || least > tile->shift) tile->shift = least;
}

/* What later tiles read of former ones, in whole vectors; too much of it is in registers. */
static void see_delay(clsi_tiler *t, const reading *r, uint32_t by) {
    if (!in_one_group(t, r->op, by)) return;
    clsi_tile *made = tile_of(t, by);
    int64_t delay = tile_of(t, r->op)->shift - made->shift - ahead(t, r, by);
    if (delay > CLSI_TILE) t->kept[by] = 1;
    if (delay <= CLSI_TILE && delay > made->before)
        made->before = (uint32_t)(delay + CLSI_PLAN_LANES - 1) / CLSI_PLAN_LANES * CLSI_PLAN_LANES;
    t->last[by] = r->op;
}

static uint32_t take_scratch(clsi_tiler *t, const clsi_tile *tile) {
    if (!tile->before && t->n_spare) return t->spare[--t->n_spare];
    uint32_t at = (uint32_t)t->scratch + tile->before;
    t->scratch += tile->before + CLSI_TILE;
    return at;
}

static void see_scratch(clsi_tiler *t, const reading *r, uint32_t by) {
    if (!in_one_group(t, r->op, by) || t->kept[by]) return;
    clsi_tile *tile = tile_of(t, r->op), *made = tile_of(t, by);
    int64_t delay = tile->shift - made->shift - ahead(t, r, by);
    uint32_t from = made->result - (uint32_t)delay;
    if (t->plan->ops[r->op].a == r->a) tile->a = from;
    if (t->plan->ops[r->op].b == r->a) tile->b = from;
    if (t->last[by] != r->op || made->before) return;
    t->last[by] = UINT32_MAX; /* both operands may be the same */
    t->spare[t->plan->n_ops - ++t->n_pending] = made->result;
}

/* In a piece of machine code all operations run at once: what they no longer read is free behind it. */
static void free_pending(clsi_tiler *t) {
    for (; t->n_pending; t->n_pending--)
        t->spare[t->n_spare++] = t->spare[t->plan->n_ops - t->n_pending];
}

/* The tiles from `first` on of one phase. */
static void lay_group(clsi_tiler *t, size_t first, size_t n, clsi_phase *group) {
    clsi_tile *tiles = t->plan->tiles + first;
    group->begin = INT64_MAX;
    group->end = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        tiles[i].shift = INT64_MIN;
        visit_operands(t, tiles[i].op, see_shift);
        if (tiles[i].shift == INT64_MIN) tiles[i].shift = 0;
        int64_t end = tiles[i].shift + t->plan->ops[tiles[i].op].n;
        if (tiles[i].shift < group->begin) group->begin = tiles[i].shift;
        if (end > group->end) group->end = end;
    }
    for (size_t i = 0; i < n; i++) visit_operands(t, tiles[i].op, see_delay);
    t->scratch = t->n_spare = t->n_pending = 0;
    for (size_t i = 0; i < n; i++) {
        if (!t->fused || (i && tiles[i].piece != tiles[i - 1].piece)) free_pending(t);
        if (!t->kept[tiles[i].op]) tiles[i].result = take_scratch(t, &tiles[i]);
        visit_operands(t, tiles[i].op, see_scratch);
    }
    if (t->scratch > t->plan->n_scratch) t->plan->n_scratch = t->scratch;
}

/* ---- phases ---- */

static int add_phase(clsi_tiler *t, size_t first, size_t n, int tiled) {
    clsi_plan *plan = t->plan;
    if (!clsi_grow(&plan->phases, &t->phases_room, plan->n_phases + 1, sizeof *plan->phases))
        return 0;
    clsi_phase *group = &plan->phases[plan->n_phases++];
    *group = (clsi_phase){.first = (uint32_t)first, .n = (uint32_t)n, .tiled = (uint32_t)tiled};
    if (tiled) lay_group(t, first, n, group);
    return 1;
}

static int by_phase(const void *left, const void *right) {
    const clsi_tile *a = left, *b = right;
    if (a->result != b->result) return a->result < b->result ? -1 : 1;
    if (a->piece != b->piece) return a->piece < b->piece ? -1 : 1;
    if (a->a != b->a) return a->a < b->a ? -1 : 1; /* ranks */
    return a->op < b->op ? -1 : a->op > b->op;
}

/* The operations of a stage by phases; in a phase they stay in order. */
static void order_stage(clsi_tiler *t, size_t begin, size_t end) {
    clsi_tile *tiles = t->plan->tiles;
    for (size_t k = begin; k < end; k++)
        tiles[k] = (clsi_tile){
            .op = (uint32_t)k, .result = t->phase[k], .piece = t->piece[k], .a = t->rank[k]};
    if (begin < end) qsort(tiles + begin, end - begin, sizeof *tiles, by_phase);
    for (size_t k = begin; k < end; k++) {
        tiles[k].result = tiles[k].a = tiles[k].b = CLSI_IN_REGISTERS;
        t->place[tiles[k].op] = (uint32_t)k;
    }
}

static int add_phases(clsi_tiler *t) {
    clsi_plan *plan = t->plan;
    size_t begin = 0;
    for (int stage = 0; stage < CLSI_STAGES; begin = plan->end[stage++])
        order_stage(t, begin, plan->end[stage]);
    if (!clsi_tiles_deliver(t)) return 0;
    begin = 0;
    for (int stage = 0; stage < CLSI_STAGES; begin = plan->end[stage++]) {
        for (size_t k = begin, n, end = plan->end[stage]; k < end; k += n) {
            uint32_t phase = t->phase[plan->tiles[k].op];
            for (n = 1; k + n < end && t->phase[plan->tiles[k + n].op] == phase;) n++;
            if (!add_phase(t, k, n, phase & 1)) return 0;
        }
        plan->phases_end[stage] = plan->n_phases;
    }
    return 1;
}

/* ---- what is done at a time ---- */

/* The tiles of the time [begin, end) in which an operation has elements. */
static void times_of(const clsi_plan *plan, const clsi_phase *p, const clsi_tile *tile,
                     size_t *begin, size_t *end) {
    int64_t first = tile->shift - p->begin, last = first + plan->ops[tile->op].n;
    *begin = (size_t)(first / CLSI_TILE);
    *end = (size_t)((last + CLSI_TILE - 1) / CLSI_TILE);
}

/* Rows of a plate are thousands of short operations in one group: at a time a few of them have elements, and to look
 * at each of the others took most of a residual. */
static int list_active(clsi_plan *plan) {
    enum { MANY = 64, RARE = 4 };
    size_t n = 0, n_times = 0, room = 0, times_room = 0;
    for (clsi_phase *p = plan->phases; p < plan->phases + plan->n_phases; p++) {
        const clsi_tile *tiles = plan->tiles + p->first;
        size_t times = (size_t)((p->end - p->begin + CLSI_TILE - 1) / CLSI_TILE), all = 0, b, e;
        for (size_t i = 0; i < p->n && p->tiled; i++) {
            times_of(plan, p, &tiles[i], &b, &e);
            all += e - b;
        }
        p->listed = p->tiled && p->n >= MANY && RARE * all < p->n * times;
        if (!p->listed) continue;
        p->times = n_times;
        if (!clsi_grow(&plan->active, &room, n + all, sizeof *plan->active) ||
            !clsi_grow(&plan->active_from, &times_room, n_times + times + 2,
                       sizeof *plan->active_from))
            return 0;
        size_t *from = plan->active_from + n_times;
        memset(from, 0, (times + 2) * sizeof *from);
        for (size_t i = 0; i < p->n; i++)
            for (times_of(plan, p, &tiles[i], &b, &e); b < e; b++) from[b + 2]++;
        from[0] = from[1] = n;
        for (size_t t = 2; t < times + 2; t++) from[t] += from[t - 1];
        for (size_t i = 0; i < p->n; i++)
            for (times_of(plan, p, &tiles[i], &b, &e); b < e; b++)
                plan->active[from[b + 1]++] = (uint32_t)(p->first + i);
        n += all;
        n_times += times + 1;
    }
    return 1;
}

int clsi_plan_tile(clsi_plan *plan, size_t n_first, size_t n_outputs) {
    size_t some = 0;
    for (size_t k = 0; k < plan->n_ops; k++) some += (size_t)clsi_tiles_long(&plan->ops[k]);
    if (some < 2) return 1;
    if (!clsi_tiles_cut(plan)) return 0;
    size_t n = plan->n_ops;
    clsi_tiler t = {.plan = plan, .n_first = n_first, .n_outputs = n_outputs};
    t.phase = clsi_calloc(7 * n, sizeof *t.phase);
    t.kept = clsi_calloc(2 * n, 1);
    t.single = clsi_calloc(n, CLSI_SINGLE * sizeof *t.single);
    plan->tiles = clsi_calloc(n, sizeof *plan->tiles);
    int good = t.phase && t.kept && t.single && plan->tiles;
    if (good) {
        t.n_single = t.kept + n;
        t.place = t.phase + n;
        t.last = t.phase + 2 * n;
        t.spare = t.phase + 3 * n;
        t.piece = t.phase + 4 * n;
        t.limit = t.phase + 5 * n;
        t.rank = t.phase + 6 * n;
        t.fused = clsi_fused_width() != 0;
        for (size_t k = 0; k < n; k++) t.last[k] = UINT32_MAX;
        find_phases(&t);
        if (t.fused) {
            find_pieces(&t);
            rank_pieces(&t);
        }
        good = add_phases(&t);
        if (good && t.fused) clsi_plan_fuse(plan, clsi_fused_width());
        good = good && list_active(plan);
    }
    free(t.phase);
    free(t.kept);
    free(t.single);
    return good;
}
