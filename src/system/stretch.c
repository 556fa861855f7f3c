/* Where the rows of segments repeat.
 *
 * Problem: an elimination in lanes looks up for each lane of each row which entry of the matrix it is and which
 * unknown, tables as long as the matrix itself, and fetches eight numbers from eight places. Of equal cells rows are
 * alike after a period of a few: the same pattern some columns further, and where entries stand by diagonals
 * (clsi_sparse_lu_by_diagonals) the next entries of all lanes. There one period of the tables serves all, and whole
 * vectors are read along each lane and turned (segments_loops.h). Looked for once: rows are compared with those some
 * rows further. What repeats in no such way is looked up as before. */
#include "base/base.h"
#include "system/segments.h"
#include <stdlib.h>
#include <string.h>

enum { LANES = CLSI_SEGMENTS, LONGEST = 16 }; /* periods that are looked for */

/* Numbers of all lanes, one further than those `far` behind: by 1 or by -1, or 0. */
static int step_of(const uint32_t *a, const uint32_t *b) {
    uint32_t step = b[0] - a[0];
    if (step != 1 && step != UINT32_MAX) return 0;
    for (size_t lane = 0; lane < LANES; lane++)
        if (b[lane] - a[lane] != step || (a[lane] | b[lane]) & CLSI_PARTLY) return 0;
    return step == 1 ? 1 : -1;
}

/* Row i, and what row i + p is in the same words. `places` (slots + 1): where those of each row begin. */
static int is_alike(const clsi_segments *s, const size_t *places, size_t i, size_t p) {
    size_t size = s->first[i + 1] - s->first[i], count = s->from[i + 1] - s->from[i];
    const uint32_t *c = s->column + s->first[i], *further = s->column + s->first[i + p];
    if (s->first[i + p + 1] - s->first[i + p] != size ||
        s->from[i + p + 1] - s->from[i + p] != count ||
        s->diagonal[i + p] - s->first[i + p] != s->diagonal[i] - s->first[i])
        return 0;
    for (size_t k = 0; k < size; k++) {
        int inside = c[k] < s->slots;
        if (further[k] != c[k] + (inside ? p : 0) || inside != (further[k] < s->slots)) return 0;
    }
    for (size_t k = 0; k < count; k++) {
        size_t at = s->from[i] + k, then = s->from[i + p] + k;
        if (s->target[at] != s->target[then] || s->target[at] & CLSI_PARTLY ||
            !step_of(s->source + at * LANES, s->source + then * LANES))
            return 0;
    }
    size_t n = places[i + 1] - places[i];
    return step_of(s->unknown + i * LANES, s->unknown + (i + p) * LANES) &&
           places[i + p + 1] - places[i + p] == n &&
           memcmp(s->places + places[i], s->places + places[i + p], n * sizeof *s->places) == 0;
}

static void find_places(const clsi_segments *s, size_t *places) {
    for (size_t i = 0; i < s->slots; i++) {
        places[i + 1] = places[i];
        for (size_t k = s->first[i]; k < s->diagonal[i]; k++)
            places[i + 1] += s->first[s->column[k] + 1] - s->diagonal[s->column[k]] - 1;
    }
}

/* Rows [begin, end) are alike after p: the stretch begins where all that it reads does, too. */
static void take(clsi_segments *s, const size_t *places, size_t begin, size_t end, size_t p) {
    size_t back = 0;
    for (size_t i = begin; i < begin + p; i++)
        if (s->first[i] < s->diagonal[i] && i - s->column[s->first[i]] > back)
            back = i - s->column[s->first[i]];
    clsi_stretch t = {.period = p, .begin = begin + (back + p - 1) / p * p};
    if (t.begin + p * CLSI_BLOCK > end + p) return;
    t.blocks = (end + p - t.begin) / (p * CLSI_BLOCK);
    t.entries = s->from[t.begin + p] - s->from[t.begin];
    t.places = places[t.begin];
    t.n_places = places[t.begin + p] - t.places;
    if (t.entries + p > CLSI_REPEATED || t.begin + 2 * p > s->slots) return;
    for (size_t k = 0; k < t.entries; k++) {
        const uint32_t *source = s->source + (s->from[t.begin] + k) * LANES;
        t.step[k] = (signed char)step_of(source, source + t.entries * LANES);
    }
    for (size_t i = 0; i < p; i++) {
        const uint32_t *unknown = s->unknown + (t.begin + i) * LANES;
        t.step[t.entries + i] = (signed char)step_of(unknown, unknown + p * LANES);
    }
    if (t.blocks * p > s->stretch.blocks * s->stretch.period) s->stretch = t;
}

/* ---- rows of the separators before the segments ---- */

/* The entries of row i of the columns before `stop` from k on; *open: where those begin that nothing has come to by
 * then. */
static size_t pass_columns(const clsi_segments *s, size_t i, size_t k, size_t stop, size_t *open) {
    for (; k < s->diagonal[i] && s->column[k] < stop; k++) {
        size_t above = s->column[k], to = k + 1;
        if (*open <= k) *open = k + 1;
        for (size_t j = s->diagonal[above] + 1; j < s->first[above + 1]; j++) {
            if (s->column[j] >= s->slots) continue;
            while (to < s->diagonal[i] && s->column[to] < s->column[j]) to++;
            if (to == s->diagonal[i] || s->column[to] != s->column[j]) continue;
            if (*open <= to) *open = to + 1;
        }
    }
    return k;
}

/* Whether row i repeats as the rows of the stretch do, and how. */
static int wall_repeats(clsi_segments *s, size_t i, size_t number) {
    clsi_stretch *t = &s->stretch;
    size_t open = s->first[i], last = 0, periods = t->blocks * CLSI_BLOCK;
    for (size_t k = s->from[i]; k < s->from[i + 1]; k++) {
        size_t to = s->first[i] + (s->target[k] & ~CLSI_PARTLY);
        if (to < s->diagonal[i] && to >= last) last = to + 1;
    }
    if (open < last) open = last;
    size_t first = pass_columns(s, i, s->first[i], t->begin, &open), then = open;
    size_t size = pass_columns(s, i, first, t->begin + t->period, &then) - first;
    if (last > first || then - open != size || first + periods * size > s->diagonal[i]) return 0;
    for (size_t k = first; k + size < first + periods * size; k++)
        if (s->column[k + size] != s->column[k] + t->period) return 0;
    size_t end = first + periods * size;
    if (end < s->diagonal[i] && s->column[end] < t->begin + periods * t->period) return 0;
    t->wall_first[number] = first;
    t->wall_size[number] = size;
    t->wall_ready[number] = open;
    return 1;
}

static void find_walls(clsi_segments *s) {
    size_t n = 0;
    if (s->wide > CLSI_STRETCH_WALLS || !s->stretch.blocks) return;
    while (n < s->wide && wall_repeats(s, s->slots + s->wide + n, n)) n++;
    s->stretch.n_walls = n == s->wide ? n : 0;
}

int clsi_stretch_find(clsi_segments *s) {
    size_t *places = clsi_calloc(s->slots + 1, sizeof *places);
    if (!places) return 0;
    find_places(s, places);
    for (size_t p = 1; p <= LONGEST && p < s->slots; p++) {
        size_t begin = 0;
        for (size_t i = 0; i + p < s->slots; i++)
            if (!is_alike(s, places, i, p)) {
                if (begin < i) take(s, places, begin, i, p);
                begin = i + 1;
            }
        if (begin + p < s->slots) take(s, places, begin, s->slots - p, p);
        if (2 * s->stretch.blocks * s->stretch.period * CLSI_BLOCK > s->slots) break;
    }
    free(places);
    find_walls(s);
    clsi_stretch_write(s);
    return 1;
}
