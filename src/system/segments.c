/* Elimination of a long matrix in the lanes of vectors.
 *
 * Problem: the rows of a chain are eliminated one after the other, each waiting for the one before,
 * and a processor that can do eight things at once does one. Cut into eight segments by separators
 * (cuts.c) it has eight rows that do not wait for each other; of equal cells these even have equal
 * patterns. So rows of eight segments are one row of vectors, with the union of their patterns
 * (what a lane does not have is zero), without looking up anything for each lane but the entries of
 * the matrix. The rows of separators are reduced by the segment before them in all lanes at once,
 * then by the segment behind; what is left of them, at most seven separators and the border, is
 * eliminated entry by entry.
 *
 * Every number is computed by the operations of sparse_lu.c in the order of the cuts, in the same
 * order (zeros of the union add nothing): the bits are those, and exported C has the loops of one
 * lane. Costs twice the operations of the best order, an eighth of the time each. */
#include "system/segments.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = CLSI_SEGMENTS };
#define PARTLY CLSI_PARTLY

/* ---- tables ---- */

typedef struct entry {
    uint32_t column, lane, source;
} entry;

typedef struct tables {
    const clsi_sparse_lu *lu;
    clsi_segments *s;
    uint32_t *who;    /* (slots, LANES) places */
    uint32_t *behind; /* (apart) separator row * LANES + lane it is behind */
    uint32_t *columns;
    entry *entries;
    size_t n_columns, columns_room, n_entries, entries_room;   /* of the row being made */
    size_t column_room, target_room, source_room, places_room; /* of the tables */
    size_t n_places;
    int failed;
} tables;

/* What a lane calls a place. */
static uint32_t column_in(const tables *t, size_t lane, size_t place) {
    const clsi_segments *s = t->s;
    if (place < s->inside) return s->slot[place] / LANES;
    if (place >= s->inside + s->apart)
        return (uint32_t)(s->slots + 2 * s->wide + (place - s->inside - s->apart));
    uint32_t b = t->behind[place - s->inside];
    return (uint32_t)(s->slots + b / LANES + (b % LANES == lane ? s->wide : 0));
}

static void add_column(tables *t, uint32_t column) {
    if (!clsi_grow(&t->columns, &t->columns_room, t->n_columns + 1, sizeof *t->columns))
        t->failed = 1;
    else
        t->columns[t->n_columns++] = column;
}

static void add_entry(tables *t, uint32_t column, size_t lane, uint32_t source) {
    if (!clsi_grow(&t->entries, &t->entries_room, t->n_entries + 1, sizeof *t->entries))
        t->failed = 1;
    else
        t->entries[t->n_entries++] = (entry){column, (uint32_t)lane, source};
}

static int by_column(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Where a column is in a row from its entry k on; behind the row (its size) when it is not there. */
static size_t place_in(const clsi_segments *s, size_t row, size_t k, uint32_t column) {
    size_t end = s->first[row + 1];
    while (k < end && s->column[k] < column) k++;
    return (k < end && s->column[k] == column ? k : end) - s->first[row];
}

/* For each factor of a row of the inside where what is subtracted goes. */
static void lay_places(tables *t, size_t row) {
    clsi_segments *s = t->s;
    if (s->first[row + 1] - s->first[row] > UINT16_MAX) t->failed = 1;
    for (size_t k = s->first[row]; k < s->diagonal[row] && !t->failed; k++) {
        size_t above = s->column[k], j = s->diagonal[above] + 1, end = s->first[above + 1];
        if (!clsi_grow(&s->places, &t->places_room, t->n_places + (end - j), sizeof *s->places))
            t->failed = 1;
        for (; j < end && !t->failed; j++)
            s->places[t->n_places++] = (uint16_t)place_in(s, row, k + 1, s->column[j]);
    }
}

/* Columns of entries become places; in rows of separators those behind the inside follow it. */
static void place_targets(tables *t, size_t row, size_t end) {
    clsi_segments *s = t->s;
    for (size_t k = s->from[row]; k < end; k++) {
        uint32_t c = s->target[k];
        size_t size = s->first[row + 1] - s->first[row];
        s->target[k] =
            (uint32_t)(row >= s->slots && c >= s->slots ? size + (c - s->slots)
                                                        : place_in(s, row, s->first[row], c));
        for (size_t lane = 0; lane < LANES; lane++)
            if (s->source[k * LANES + lane] >= t->lu->n_entries) s->target[k] |= PARTLY;
    }
}

/* The row that was collected goes to the tables. */
static void close_row(tables *t, size_t row) {
    clsi_segments *s = t->s;
    size_t at = s->first[row], to = s->from[row];
    if (t->n_columns) qsort(t->columns, t->n_columns, sizeof *t->columns, by_column);
    if (t->n_entries) qsort(t->entries, t->n_entries, sizeof *t->entries, by_column);
    if (!clsi_grow(&s->column, &t->column_room, at + t->n_columns, sizeof *s->column) ||
        !clsi_grow(&s->target, &t->target_room, to + t->n_entries, sizeof *s->target) ||
        !clsi_grow(&s->source, &t->source_room, (to + t->n_entries) * LANES, sizeof *s->source)) {
        t->failed = 1;
        return;
    }
    s->diagonal[row] = CLSI_NOTHING;
    for (size_t k = 0; k < t->n_columns; k++) {
        if (k && t->columns[k] == t->columns[k - 1]) continue;
        if (t->columns[k] == row) s->diagonal[row] = at;
        s->column[at++] = t->columns[k];
    }
    if (row >= s->slots) s->diagonal[row] = at;
    for (size_t k = 0; k < t->n_entries; k++) {
        const entry *e = &t->entries[k];
        if (!k || e->column != e[-1].column) {
            s->target[to] = e->column;
            for (size_t lane = 0; lane < LANES; lane++)
                s->source[to * LANES + lane] = (uint32_t)t->lu->n_entries;
            to++;
        }
        s->source[(to - 1) * LANES + e->lane] = e->source;
    }
    s->first[row + 1] = at;
    s->from[row + 1] = to;
    place_targets(t, row, to);
    if (row < s->slots) lay_places(t, row);
    t->n_columns = t->n_entries = 0;
}

/* Rows of the inside; a slot that nobody has is 1 x = 0. */
static void lay_inside(tables *t) {
    const clsi_sparse_lu *lu = t->lu;
    for (size_t slot = 0; slot < t->s->slots && !t->failed; slot++) {
        add_column(t, (uint32_t)slot);
        for (size_t lane = 0; lane < LANES; lane++) {
            size_t p = t->who[slot * LANES + lane];
            if (p == CLSI_NOTHING) add_entry(t, (uint32_t)slot, lane, (uint32_t)lu->n_entries + 1);
            if (p == CLSI_NOTHING) continue;
            for (size_t k = lu->first[p]; k < lu->first[p + 1]; k++)
                add_column(t, column_in(t, lane, lu->column[k]));
            for (size_t k = lu->from[p]; k < lu->from[p + 1]; k++)
                add_entry(t, column_in(t, lane, lu->target[k]), lane, lu->source[k]);
        }
        close_row(t, slot);
    }
}

/* Row i of all separators, as the segments before them see it, or those behind them (then entries outside of the
 * inside are theirs). */
static void lay_wall(tables *t, size_t i, int before) {
    const clsi_sparse_lu *lu = t->lu;
    const clsi_segments *s = t->s;
    for (size_t lane = before; lane < LANES; lane++) {
        size_t p = s->wall[i * LANES + lane - (size_t)before];
        if (p == CLSI_NOTHING) continue;
        for (size_t k = lu->first[p]; k < lu->first[p + 1] && lu->column[k] < s->inside; k++)
            if (s->slot[lu->column[k]] % LANES == lane)
                add_column(t, column_in(t, lane, lu->column[k]));
        for (size_t k = lu->from[p]; k < lu->from[p + 1]; k++) {
            size_t c = lu->target[k];
            if (c < s->inside ? s->slot[c] % LANES == lane : before)
                add_entry(t, column_in(t, lane, c), lane, lu->source[k]);
        }
    }
    close_row(t, s->slots + i + (before ? s->wide : 0));
}

/* For rows of the border: where the entries of one matrix are in the lanes. */
static int lay_positions(tables *t) {
    const clsi_sparse_lu *lu = t->lu;
    clsi_segments *s = t->s;
    s->at = clsi_calloc(lu->first[s->inside], sizeof *s->at);
    for (size_t p = 0; p < s->inside && s->at; p++) {
        size_t lane = s->slot[p] % LANES, at = s->first[s->slot[p] / LANES];
        for (size_t k = lu->first[p]; k < lu->first[p + 1]; k++) {
            uint32_t wanted = column_in(t, lane, lu->column[k]);
            while (s->column[at] != wanted) at++;
            s->at[k] = (uint32_t)(at * LANES + lane);
        }
    }
    return s->at != NULL;
}

static int lay_all(tables *t) {
    clsi_segments *s = t->s;
    size_t rows = s->slots + 2 * s->wide;
    t->who = clsi_calloc(s->slots * LANES, sizeof *t->who);
    t->behind = clsi_calloc(s->apart, sizeof *t->behind);
    s->first = clsi_calloc(rows + 1, sizeof *s->first);
    s->diagonal = clsi_calloc(rows, sizeof *s->diagonal);
    s->from = clsi_calloc(rows + 1, sizeof *s->from);
    s->split = clsi_calloc(s->apart, sizeof *s->split);
    s->unknown = clsi_calloc(s->slots * LANES, sizeof *s->unknown);
    if (!t->who || !t->behind || !s->first || !s->diagonal || !s->from || !s->split || !s->unknown)
        return 0;
    for (size_t k = 0; k < s->slots * LANES; k++) t->who[k] = s->unknown[k] = CLSI_NOTHING;
    for (size_t p = 0; p < s->inside; p++) {
        t->who[s->slot[p]] = (uint32_t)p;
        s->unknown[s->slot[p]] = t->lu->order[p];
    }
    for (size_t k = 0; k < s->slots * LANES; k++)
        if (s->unknown[k] == CLSI_NOTHING) s->unknown[k - k % LANES] |= PARTLY;
    for (size_t k = 0; k < s->wide * LANES; k++)
        if (s->wall[k] != CLSI_NOTHING) t->behind[s->wall[k] - s->inside] = (uint32_t)k;
    for (size_t i = 0; i < s->apart; i++) {
        size_t k = t->lu->first[s->inside + i];
        while (t->lu->column[k] < s->inside) k++;
        s->split[i] = k;
    }
    lay_inside(t);
    for (int before = 0; before < 2; before++)
        for (size_t i = 0; i < s->wide && !t->failed; i++) lay_wall(t, i, before);
    return !t->failed && (!s->full || lay_positions(t)) && clsi_stretch_find(s);
}

int clsi_segments_create(const clsi_sparse_lu *lu, clsi_cuts *cuts, clsi_segments **out) {
    clsi_segments *s = *out = clsi_calloc(1, sizeof *s);
    tables t = {.lu = lu, .s = s};
    if (!s) return 0;
    *s = (clsi_segments){.slots = cuts->slots,
                         .wide = cuts->wide,
                         .full = lu->n - cuts->inside - cuts->apart,
                         .inside = cuts->inside,
                         .apart = cuts->apart,
                         .slot = cuts->slot,
                         .wall = cuts->wall};
    cuts->slot = cuts->wall = NULL;
    int good = lay_all(&t);
    free(t.who);
    free(t.behind);
    free(t.columns);
    free(t.entries);
    if (!good) clsi_segments_free(out);
    return good;
}

void clsi_segments_free(clsi_segments **segments) {
    clsi_segments *s = *segments;
    if (!s) return;
    clsi_stretch_clear(&s->stretch);
    void *const lists[] = {s->slot,   s->wall, s->first, s->diagonal, s->column, s->from, s->target,
                           s->source, s->at,   s->split, s->unknown,  s->places, s};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    *segments = NULL;
}

/* ---- numbers ---- */

typedef struct room {
    double *value; /* L and U of the lanes, inverse pivots on the diagonal */
    double *x;     /* (columns, LANES) */
    /* (wide, 2 wide + full, LANES) separators as the segments behind them leave them, then (wide, LANES) their right
     * sides ... */
    double *left;
    double *carry;       /* (the same) ... and those before them, one lane less */
    const double *entry; /* the matrix */
    double *tail;        /* separators and border, as in sparse_lu.c ... */
    double *one;         /* (n) ... a row of them, */
    double *y;           /* (n) and a solution */
    double *block; /* (CLSI_BLOCK, entries and rows of a period, LANES) numbers of a stretch */
    uint32_t n_entries;
} room;

static size_t columns_of(const clsi_segments *s) {
    return s->slots + 2 * s->wide + s->full;
}

/* Entries of a row of a separator that are not inside. */
static size_t behind_inside(const clsi_segments *s) {
    return 2 * s->wide + s->full;
}

/* In the order of room_of. */
enum { PARTS = 8 };
static void sizes_of(const clsi_sparse_lu *lu, size_t size[static PARTS]) {
    const clsi_segments *s = lu->segments;
    size_t walls = s->wide * (behind_inside(s) + 1) * LANES;
    size[0] = (s->stretch.entries + s->stretch.period) * CLSI_BLOCK * LANES;
    size[1] = s->first[s->slots + 2 * s->wide] * LANES;
    size[2] = columns_of(s) * LANES;
    size[3] = size[4] = walls;
    size[5] = lu->first[lu->n] - lu->first[s->inside];
    size[6] = size[7] = lu->n;
}

static room room_of(const clsi_sparse_lu *lu, double *work) {
    size_t size[PARTS], over = (uintptr_t)work % 64 / sizeof *work;
    room r = {0};
    double **const parts[] = {&r.block, &r.value, &r.x, &r.left, &r.carry, &r.tail, &r.one, &r.y};
    sizes_of(lu, size);
    if (over) work += LANES - over;
    for (size_t k = 0; k < PARTS; work += size[k], k++) *parts[k] = work;
    return r;
}

size_t clsi_segments_size(const clsi_sparse_lu *lu) {
    size_t size[PARTS], sum = LANES;
    sizes_of(lu, size);
    for (size_t k = 0; k < PARTS; k++) sum += size[k];
    return sum;
}

/* The tables by value: a store through a vector may be to anywhere, for what the compiler knows. */
typedef struct view {
    const size_t *first, *diagonal, *from;
    const uint32_t *column, *target, *source;
    double *value, *x;
    const double *entry;
    uint32_t n_entries;
} view;

static inline view view_of(const clsi_segments *s, const room *r) {
    return (view){s->first,  s->diagonal, s->from, s->column, s->target,
                  s->source, r->value,    r->x,    r->entry,  r->n_entries};
}

/* The first row behind a stretch. */
static inline size_t behind(const clsi_stretch *t) {
    return t->begin + t->blocks * CLSI_BLOCK * t->period;
}

/* Rows of separators on their way through the inside. */
typedef struct walls {
    size_t row;                      /* the first of them */
    double *tail;                    /* (wide, 2 wide + full, LANES), (wide, LANES): see room */
    size_t at_entry[CLSI_WIDE_MOST]; /* so far they are reduced, */
    size_t ready[CLSI_WIDE_MOST];    /* and so far they are numbers */
} walls;

typedef struct segment_loops {
    int (*factor_inside)(const clsi_segments *s, const double *b, const room *r, walls *o);
    int (*open_walls)(const clsi_segments *s, const room *r, walls *o);
    void (*reduce_walls)(const clsi_segments *s, const room *r, walls *o, size_t stop);
    void (*forward_inside)(const clsi_segments *s, const double *b, const room *r);
    void (*forward_walls)(const clsi_segments *s, const room *r, size_t row, double *sum);
    void (*back_inside)(const clsi_segments *s, const room *r, double *b);
} segment_loops;

enum {
    TURN = 4
}; /* columns after which rows of separators take turns: they do not wait for each other */

enum { AHEAD = 8 * CLSI_BLOCK }; /* numbers of a lane that are fetched into the cache meanwhile */
#if defined(__GNUC__)
#define CLSI_FETCH(from) __builtin_prefetch(from)
#else
#define CLSI_FETCH(from) (void)(from)
#endif

/* Vectors are as wide as the machine's: of wider ones GCC 12 makes detours over the stack. */
#define LOOP(name) name##_plain
#define TARGET
#define WIDTH       2
#define LOW_HALVES  0, 2
#define HIGH_HALVES 1, 3
#define EACH_OF(a, i)                                                                              \
    { (a)[(i)[0]], (a)[(i)[1]] }
#include "system/segments_loops.h"
#if defined(__x86_64__) && defined(__GNUC__)
#define LOOP(name)  name##_avx2
#define TARGET      __attribute__((target("avx2")))
#define WIDTH       4
#define LOW_HALVES  0, 4, 1, 5
#define HIGH_HALVES 2, 6, 3, 7
#define EACH_OF(a, i)                                                                              \
    { (a)[(i)[0]], (a)[(i)[1]], (a)[(i)[2]], (a)[(i)[3]] }
#include "system/segments_loops.h"
#define LOOP(name)  name##_avx512
#define TARGET      __attribute__((target("avx512f")))
#define WIDTH       8
#define LOW_HALVES  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_HALVES 4, 12, 5, 13, 6, 14, 7, 15
#define EACH_OF(a, i)                                                                              \
    {                                                                                              \
        (a)[(i)[0]], (a)[(i)[1]], (a)[(i)[2]], (a)[(i)[3]], (a)[(i)[4]], (a)[(i)[5]], (a)[(i)[6]], \
            (a)[(i)[7]]                                                                            \
    }
#include "system/segments_loops.h"

static const segment_loops *loops_of_machine(void) {
    if (__builtin_cpu_supports("avx512f")) return &loops_avx512;
    return __builtin_cpu_supports("avx2") ? &loops_avx2 : &loops_plain;
}
#else
static const segment_loops *loops_of_machine(void) {
    return &loops_plain;
}
#endif

/* Separators as those that are reduced by the segments in front of them, one lane before. */
static void hand_over(const clsi_segments *s, const room *r) {
    size_t wide = s->wide, n = behind_inside(s);
    memset(r->carry, 0, wide * (n + 1) * LANES * sizeof(double));
    for (size_t i = 0; i < wide; i++)
        for (size_t j = 0; j <= n; j++) {
            if (j >= wide && j < 2 * wide) continue; /* nothing of the next one */
            size_t to = j == n ? wide * n + i : i * n + (j < wide ? j + wide : j);
            size_t from = j == n ? wide * n + i : i * n + j;
            for (size_t lane = 0; lane + 1 < LANES; lane++)
                r->carry[to * LANES + lane] = r->left[from * LANES + lane + 1];
        }
}

/* Right sides of the separators before each segment. */
static void take_sides(const clsi_sparse_lu *lu, const double *b, const room *r) {
    const clsi_segments *s = lu->segments;
    double *side = r->left + s->wide * behind_inside(s) * LANES;
    for (size_t k = 0; k < s->wide * LANES; k++) {
        uint32_t place = k % LANES ? s->wall[k - 1] : CLSI_NOTHING;
        side[k] = place == CLSI_NOTHING ? 0 : b[lu->order[place]];
    }
}

/* What the segments left of a row of a separator, to r->one. */
static void gather_wall(const clsi_sparse_lu *lu, size_t i, size_t lane, const room *r) {
    const clsi_segments *s = lu->segments;
    size_t n = 2 * s->wide + s->full, place = s->wall[i * LANES + lane];
    for (size_t k = s->split[place - s->inside]; k < lu->first[place + 1]; k++)
        r->one[lu->column[k]] = 0;
    for (size_t j = 0; j < s->wide; j++) {
        uint32_t before = lane ? s->wall[j * LANES + lane - 1] : CLSI_NOTHING;
        uint32_t same = s->wall[j * LANES + lane];
        uint32_t next = lane + 1 < LANES ? s->wall[j * LANES + lane + 1] : CLSI_NOTHING;
        if (before != CLSI_NOTHING) r->one[before] = r->carry[(i * n + j) * LANES + lane];
        if (same != CLSI_NOTHING) r->one[same] = r->carry[(i * n + s->wide + j) * LANES + lane];
        if (next != CLSI_NOTHING) r->one[next] = r->left[(i * n + s->wide + j) * LANES + lane + 1];
    }
    for (size_t j = 0; j < s->full; j++)
        r->one[s->inside + s->apart + j] = r->carry[(i * n + 2 * s->wide + j) * LANES + lane];
}

/* An entry of L and U of one matrix. */
static double value_at(const clsi_sparse_lu *lu, const room *r, size_t k) {
    size_t inside = lu->first[lu->segments->inside];
    return k < inside ? r->value[lu->segments->at[k]] : r->tail[k - inside];
}

/* Row `place` of the separators or the border from entry k on. */
static int finish_row(const clsi_sparse_lu *lu, size_t place, size_t k, const room *r) {
    double *tail = r->tail - lu->first[lu->segments->inside];
    for (; k < lu->diagonal[place]; k++) {
        size_t above = lu->column[k], j = lu->diagonal[above];
        double factor = r->one[above] * value_at(lu, r, j);
        tail[k] = factor;
        for (j++; j < lu->first[above + 1]; j++)
            r->one[lu->column[j]] -= factor * value_at(lu, r, j);
    }
    double pivot = r->one[place];
    if (!(fabs(pivot) > 0 && isfinite(pivot))) return 0;
    tail[k] = 1 / pivot;
    for (k++; k < lu->first[place + 1]; k++) tail[k] = r->one[lu->column[k]];
    return 1;
}

static size_t factor_apart(const clsi_sparse_lu *lu, const room *r) {
    const clsi_segments *s = lu->segments;
    for (size_t lane = 0; lane + 1 < LANES; lane++)
        for (size_t i = 0; i < s->wide; i++) {
            size_t place = s->wall[i * LANES + lane];
            if (place == CLSI_NOTHING) continue;
            gather_wall(lu, i, lane, r);
            if (!finish_row(lu, place, s->split[place - s->inside], r)) return place + 1;
        }
    for (size_t place = s->inside + s->apart; place < lu->n; place++) {
        for (size_t k = lu->first[place]; k < lu->first[place + 1]; k++) r->one[lu->column[k]] = 0;
        for (size_t k = lu->from[place]; k < lu->from[place + 1]; k++)
            if (!isfinite(r->one[lu->target[k]] = r->entry[lu->source[k]])) return place + 1;
        if (!finish_row(lu, place, lu->first[place], r)) return place + 1;
    }
    return 0;
}

size_t clsi_segments_factor(const clsi_sparse_lu *lu, const double *a, const double *b,
                            double *work) {
    const clsi_segments *s = lu->segments;
    const segment_loops *loops = loops_of_machine();
    room r = room_of(lu, work);
    walls o = {.row = s->slots + s->wide, .tail = r.left};
    r.entry = a;
    r.n_entries = (uint32_t)lu->n_entries;
    memset(r.left, 0, s->wide * (behind_inside(s) + 1) * LANES * sizeof(double));
    take_sides(lu, b, &r);
    int fine = loops->open_walls(s, &r, &o);
    if (loops->factor_inside(s, b, &r, &o)) {
        hand_over(s, &r);
        o = (walls){.row = s->slots, .tail = r.carry};
        fine &= loops->open_walls(s, &r, &o);
        loops->reduce_walls(s, &r, &o, s->slots);
        size_t broken = factor_apart(lu, &r);
        return broken || fine ? broken : s->inside + 1;
    }
    for (size_t p = 0; p < s->inside; p++) {
        double inverse = r.value[s->diagonal[s->slot[p] / LANES] * LANES + s->slot[p] % LANES];
        if (!(fabs(inverse) > 0 && isfinite(inverse))) return p + 1;
    }
    return 1;
}

/* ---- solutions ---- */

/* Separators and border, in between. */
static void solve_apart(const clsi_sparse_lu *lu, const room *r, const double *b, double *x) {
    const clsi_segments *s = lu->segments;
    const double *tail = r->tail - lu->first[s->inside];
    for (size_t place = s->inside; place < lu->n; place++) {
        int wall = place < s->inside + s->apart;
        double sum = wall ? r->y[place] : b[lu->order[place]];
        size_t k = wall ? s->split[place - s->inside] : lu->first[place];
        for (; k < lu->diagonal[place]; k++) {
            size_t c = lu->column[k];
            sum -= tail[k] * (c < s->inside ? r->x[s->slot[c]] : r->y[c]);
        }
        r->y[place] = sum;
    }
    for (size_t place = lu->n; place-- > s->inside;) {
        double sum = r->y[place];
        for (size_t k = lu->diagonal[place] + 1; k < lu->first[place + 1]; k++)
            sum -= tail[k] * r->y[lu->column[k]];
        r->y[place] = sum * tail[lu->diagonal[place]];
        x[lu->order[place]] = r->y[place];
    }
}

void clsi_segments_finish(const clsi_sparse_lu *lu, double *work, const double *b, double *x) {
    const clsi_segments *s = lu->segments;
    const segment_loops *loops = loops_of_machine();
    room r = room_of(lu, work);
    const double *side = r.carry + s->wide * behind_inside(s) * LANES;
    for (size_t k = 0; k < s->wide * LANES; k++)
        if (s->wall[k] != CLSI_NOTHING) r.y[s->wall[k]] = side[k];
    solve_apart(lu, &r, b, x);
    for (size_t i = 0; i < s->wide; i++)
        for (size_t lane = 0; lane < LANES; lane++) {
            uint32_t behind = s->wall[i * LANES + lane];
            uint32_t before = lane ? s->wall[i * LANES + lane - 1] : CLSI_NOTHING;
            r.x[(s->slots + i) * LANES + lane] = before == CLSI_NOTHING ? 0 : r.y[before];
            r.x[(s->slots + s->wide + i) * LANES + lane] = behind == CLSI_NOTHING ? 0 : r.y[behind];
        }
    for (size_t j = 0; j < s->full; j++)
        for (size_t lane = 0; lane < LANES; lane++)
            r.x[(s->slots + 2 * s->wide + j) * LANES + lane] = r.y[s->inside + s->apart + j];
    loops->back_inside(s, &r, x);
}

void clsi_segments_solve(const clsi_sparse_lu *lu, double *work, double *b) {
    const clsi_segments *s = lu->segments;
    const segment_loops *loops = loops_of_machine();
    const room r = room_of(lu, work);
    size_t sides = s->wide * behind_inside(s) * LANES;
    loops->forward_inside(s, b, &r);
    take_sides(lu, b, &r);
    loops->forward_walls(s, &r, s->slots + s->wide, r.left + sides);
    hand_over(s, &r);
    loops->forward_walls(s, &r, s->slots, r.carry + sides);
    clsi_segments_finish(lu, work, b, b);
}
