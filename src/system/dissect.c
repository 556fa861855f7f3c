/* The order of elimination of grids and networks: nested dissection.
 *
 * Problem: eliminated by least degree, a plate of N x N cells fills up with more and more than N^2 log N entries, as N
 * grows, and its last rows are long lists in no order. Taken apart by a separator (separator.c), both halves before it
 * and each of them in the same way, it has of the order of N^2 log N entries and N^3 operations, which nothing can
 * better (George, SIAM J. Numer. Anal. 10, 1973; for nets in the plane Lipton, Rose and Tarjan, 1979); and the rows of
 * a separator are full blocks. What is too small to be halved is eliminated by least degree, where the separators
 * around it count, which come later. */
#include "system/dissect.h"
#include "base/base.h"
#include <stdlib.h>
#include <string.h>

enum { SMALL = 120, WORDS = 6, MOST = 64 * WORDS, DEEP = 100 };
#define NOBODY UINT32_MAX

typedef struct dissection {
    const clsi_net *all;
    uint32_t *order;
    uint32_t *local; /* (n of all) the number in the part that is looked at, or NOBODY */
} dissection;

/* ---- by least degree ---- */

typedef uint64_t set[WORDS];

static int count(const set a) {
    int sum = 0;
    for (int w = 0; w < WORDS; w++) sum += __builtin_popcountll(a[w]);
    return sum;
}

static int has(const set a, size_t i) {
    return (int)(a[i / 64] >> (i % 64) & 1);
}

/* Neighbours of m nodes, each a set; those of other parts have numbers from m on as far as there are any. */
static void find_sets(dissection *d, const uint32_t *who, size_t m, set *near) {
    size_t known = m;
    uint32_t outside[MOST];
    for (size_t i = 0; i < m; i++) d->local[who[i]] = (uint32_t)i;
    for (size_t i = 0; i < m; i++)
        for (size_t k = d->all->start[who[i]]; k < d->all->start[who[i] + 1]; k++) {
            uint32_t u = d->all->near[k];
            if (d->local[u] == NOBODY && known < MOST) {
                outside[known] = u;
                d->local[u] = (uint32_t)known++;
            }
            uint32_t j = d->local[u];
            if (j != NOBODY && j != i) near[i][j / 64] |= (uint64_t)1 << (j % 64);
        }
    for (size_t i = 0; i < m; i++) d->local[who[i]] = NOBODY;
    for (size_t i = m; i < known; i++) d->local[outside[i]] = NOBODY;
}

static void least_degree(dissection *d, const uint32_t *who, size_t m, size_t at) {
    set near[SMALL] = {{0}};
    unsigned char done[SMALL] = {0};
    find_sets(d, who, m, near);
    for (size_t step = 0; step < m; step++) {
        size_t v = m;
        int least = MOST + 1;
        for (size_t i = 0; i < m; i++) {
            int degree = done[i] ? MOST + 1 : count(near[i]);
            if (degree < least) least = degree, v = i;
        }
        done[v] = 1;
        d->order[at++] = who[v];
        for (size_t i = 0; i < m; i++) {
            if (done[i] || !has(near[v], i)) continue;
            for (int w = 0; w < WORDS; w++) near[i][w] |= near[v][w];
            near[i][i / 64] &= ~((uint64_t)1 << (i % 64));
            near[i][v / 64] &= ~((uint64_t)1 << (v % 64));
        }
    }
}

/* ---- halves ---- */

/* The part of a net that `who` are. */
static int take_part(dissection *d, const uint32_t *who, size_t m, clsi_net *part) {
    const clsi_net *all = d->all;
    size_t edges = 0;
    for (size_t i = 0; i < m; i++) {
        edges += all->start[who[i] + 1] - all->start[who[i]];
        d->local[who[i]] = (uint32_t)i;
    }
    *part = (clsi_net){.n = m};
    part->start = clsi_calloc(m + 1, sizeof *part->start);
    part->near = clsi_calloc(edges + 1, sizeof *part->near);
    size_t n = 0;
    for (size_t i = 0; i < m && part->start && part->near; i++) {
        for (size_t k = all->start[who[i]]; k < all->start[who[i] + 1]; k++)
            if (d->local[all->near[k]] != NOBODY) part->near[n++] = d->local[all->near[k]];
        part->start[i + 1] = n;
    }
    for (size_t i = 0; i < m; i++) d->local[who[i]] = NOBODY;
    return part->start && part->near;
}

/* who (m), of which the order begins at `at`; it is sorted by sides on the way. */
static int dissect(dissection *d, uint32_t *who, size_t m, size_t at, int deep) {
    clsi_net part;
    size_t of[3] = {0};
    if (m <= SMALL) return least_degree(d, who, m, at), 1;
    unsigned char *side = clsi_calloc(m, 1);
    uint32_t *sorted = clsi_calloc(m, sizeof *sorted);
    int good = take_part(d, who, m, &part) && side && sorted && clsi_separate(&part, side);
    for (size_t i = 0; i < m && good; i++) of[side[i]]++;
    free(part.start);
    free(part.near);
    size_t to[3] = {0, of[0], of[0] + of[1]};
    for (size_t i = 0; i < m && good; i++) sorted[to[side[i]]++] = who[i];
    if (good) memcpy(who, sorted, m * sizeof *who);
    free(side);
    free(sorted);
    if (!good) return 0;
    memcpy(d->order + at, who, m * sizeof *who);
    if (!of[0] || !of[1] || deep == DEEP) return 1; /* everybody knows everybody */
    return dissect(d, who, of[0], at, deep + 1) &&
           dissect(d, who + of[0], of[1], at + of[0], deep + 1);
}

int clsi_dissect(const clsi_net *net, uint32_t *order) {
    dissection d = {.all = net, .order = order};
    uint32_t *who = clsi_calloc(2 * net->n, sizeof *who);
    if (!who) return 0;
    d.local = who + net->n;
    for (size_t i = 0; i < net->n; i++) who[i] = (uint32_t)i, d.local[i] = NOBODY;
    int good = dissect(&d, who, net->n, 0, 0);
    free(who);
    return good;
}
