/* Where a long pattern is cut into eight segments.
 *
 * Levels of a breadth-first search from one of its ends: what is in level k touches levels k - 1, k
 * and k + 1 only, so that every level separates. Seven of them at equal distances are the
 * separators; the segments between them do not touch each other, and those of a chain of equal
 * cells look alike, level by level. Costs a few walks over the pattern. No promise for what is
 * not long: less than MIN_LEVELS levels, or some of them wide, and there are no cuts. */
#include "base/base.h"
#include "system/segments.h"
#include <stdlib.h>

enum { MIN_LEVELS = 4 * CLSI_SEGMENTS };
#define NOBODY UINT32_MAX

typedef struct levels {
    size_t n, n_levels;
    uint32_t *node;  /* (n) by levels */
    uint32_t *begin; /* (n + 1) of each level */
    uint32_t *level; /* (n) of a node, or NOBODY */
} levels;

/* Adds the levels of everything that hangs together with `root`; the last one's last node. */
static uint32_t search(levels *l, const clsi_neighbours *near, uint32_t root, size_t *placed) {
    size_t at = *placed;
    l->node[(*placed)++] = root;
    l->level[root] = (uint32_t)l->n_levels;
    l->begin[l->n_levels] = (uint32_t)at;
    for (; at < *placed; at++) {
        uint32_t v = l->node[at];
        if (l->level[v] != l->n_levels) l->begin[++l->n_levels] = (uint32_t)at;
        for (size_t k = 0; k < near[v].n; k++) {
            uint32_t u = near[v].at[k];
            if (l->level[u] != NOBODY) continue;
            l->level[u] = (uint32_t)l->n_levels + 1;
            l->node[(*placed)++] = u;
        }
    }
    l->begin[++l->n_levels] = (uint32_t)at;
    return l->node[at - 1];
}

/* Twice from anywhere leads to an end of a chain. */
static void find_levels(levels *l, const clsi_neighbours *near, const unsigned char *border) {
    size_t placed = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        if (border[i] || l->level[i] != NOBODY) continue;
        size_t first = placed, before = l->n_levels;
        uint32_t root = i;
        for (int again = 0; again < 3; again++) {
            root = search(l, near, root, &placed);
            if (again == 2) break;
            for (size_t k = first; k < placed; k++) l->level[l->node[k]] = NOBODY;
            placed = first;
            l->n_levels = before;
        }
    }
}

static size_t width(const levels *l, size_t level) {
    return level < l->n_levels ? l->begin[level + 1] - l->begin[level] : 0;
}

/* Slots of lane-wise level k are as many as the widest of its eight levels has. The last segment comes first: a row of
 * a separator is reduced by the segment behind it, all along, before the end of the one in front. */
static void place_inside(const levels *l, size_t distance, clsi_cuts *c) {
    for (size_t lane = CLSI_SEGMENTS; lane-- > 0;) {
        size_t slot = 0;
        for (size_t k = 0; k + 1 < distance; k++) {
            size_t level = lane * distance + k, widest = 0;
            for (size_t i = 0; i < width(l, level); i++) {
                c->slot[c->inside] = (uint32_t)((slot + i) * CLSI_SEGMENTS + lane);
                c->order[c->inside++] = l->node[l->begin[level] + i];
            }
            for (size_t other = 0; other < CLSI_SEGMENTS; other++) {
                size_t here = width(l, other * distance + k);
                if (here > widest) widest = here;
            }
            slot += widest;
        }
        c->slots = slot;
    }
}

static int place_walls(const levels *l, size_t distance, clsi_cuts *c) {
    for (size_t lane = 0; lane < CLSI_SEGMENTS; lane++) {
        size_t here = width(l, (lane + 1) * distance - 1);
        if (here > c->wide) c->wide = here;
    }
    c->wall = clsi_calloc(c->wide * CLSI_SEGMENTS, sizeof *c->wall);
    if (!c->wall) return 0;
    for (size_t k = 0; k < c->wide * CLSI_SEGMENTS; k++) c->wall[k] = NOBODY;
    for (size_t lane = 0; lane < CLSI_SEGMENTS; lane++) {
        size_t level = (lane + 1) * distance - 1;
        for (size_t i = 0; i < width(l, level); i++) {
            size_t place = c->inside + c->apart++;
            c->wall[i * CLSI_SEGMENTS + lane] = (uint32_t)place;
            c->order[place] = l->node[l->begin[level] + i];
        }
    }
    return 1;
}

int clsi_cuts_find(size_t n, const clsi_neighbours *near, const unsigned char *border,
                   clsi_cuts *c) {
    levels l = {.n = n};
    *c = (clsi_cuts){0};
    l.node = clsi_calloc(n, sizeof *l.node);
    l.begin = clsi_calloc(n + 1, sizeof *l.begin);
    l.level = clsi_calloc(n, sizeof *l.level);
    int good = l.node && l.begin && l.level;
    for (size_t i = 0; i < n && good; i++) l.level[i] = NOBODY;
    if (good) find_levels(&l, near, border);
    size_t distance = l.n_levels / CLSI_SEGMENTS + 1, widest = 0;
    for (size_t k = 0; k < l.n_levels; k++)
        if (width(&l, k) > widest) widest = width(&l, k);
    if (good && l.n_levels >= MIN_LEVELS && widest <= CLSI_WIDE_MOST) {
        c->order = clsi_calloc(n, sizeof *c->order);
        c->slot = clsi_calloc(n, sizeof *c->slot);
        good = c->order && c->slot;
        if (good) place_inside(&l, distance, c);
        good = good && place_walls(&l, distance, c);
    }
    free(l.node);
    free(l.begin);
    free(l.level);
    if (!good) clsi_cuts_clear(c);
    return good;
}

void clsi_cuts_clear(clsi_cuts *c) {
    free(c->order);
    free(c->slot);
    free(c->wall);
    *c = (clsi_cuts){0};
}
