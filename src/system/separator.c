/* A small set of nodes that takes a net apart into two halves.
 *
 * Problem: what separates a plate of N x N cells is a line of N of them, a solid of N^3 cells a plane; nothing
 * tells where the cells are, and networks are nowhere. So neighbours are put together, those that most edges
 * join first, until a hundred nodes are left (multilevel, Karypis and Kumar, SIAM J. Sci. Comput. 20, 1998); one half of
 * these is grown from several nodes, and on the way back to single nodes the separator is improved by moving
 * its nodes to the side where they leave the fewest behind, also through moves that do not pay at once
 * (Fiduccia and Mattheyses, 1982; on separators Ashcraft and Liu, 1998). Choices that are equal are taken by
 * number: the same net has the same separator everywhere. Costs some walks over the edges for each halving. */
#include "base/base.h"
#include "system/dissect.h"
#include <stdlib.h>
#include <string.h>

enum { COARSE = 80, SEEDS = 7, PASSES = 6, PATIENCE = 80 };
/* Searches with other pairs, and of nets so large that loading would wait for them. */
enum { TURNS = 4, TURNS_OF_LARGE = 2, LARGE = 20000 };
#define NOBODY UINT32_MAX

static uint32_t weight_of(const clsi_net *g, size_t v) {
    return g->weight ? g->weight[v] : 1;
}

static uint32_t heavy_of(const clsi_net *g, size_t k) {
    return g->heavy ? g->heavy[k] : 1;
}

/* ---- what is being improved ---- */

/* What nodes of the separator would gain on their way to a side, the best on top; old entries stay in it. */
typedef struct offer {
    int64_t gain;
    uint32_t node;
} offer;

typedef struct heap {
    offer *at;
    size_t n, room;
} heap;

typedef struct cut {
    const clsi_net *g;
    unsigned char *side;
    uint64_t weight[3], total;
    uint64_t *pull[2]; /* (n) of a node of the separator: weight of its neighbours on each side */
    unsigned char *locked; /* (n) moved in this pass */
    heap offers[2];
    uint32_t *log; /* (n) nodes that changed sides ... */
    unsigned char *was;
    size_t n_log, log_room, was_room;
    int failed;
} cut;

static int before(const offer *a, const offer *b) {
    return a->gain > b->gain || (a->gain == b->gain && a->node < b->node);
}

static void push(cut *c, int to, offer x) {
    heap *h = &c->offers[to];
    if (!clsi_grow(&h->at, &h->room, h->n + 1, sizeof *h->at)) {
        c->failed = 1;
        return;
    }
    size_t k = h->n++;
    for (; k && before(&x, &h->at[(k - 1) / 2]); k = (k - 1) / 2) h->at[k] = h->at[(k - 1) / 2];
    h->at[k] = x;
}

static void pop(heap *h) {
    offer x = h->at[--h->n];
    size_t k = 0;
    for (size_t child = 1; child < h->n; child = 2 * k + 1) {
        child += child + 1 < h->n && before(&h->at[child + 1], &h->at[child]);
        if (!before(&h->at[child], &x)) break;
        h->at[k] = h->at[child];
        k = child;
    }
    h->at[k] = x;
}

static int64_t gain_of(const cut *c, size_t v, int to) {
    return (int64_t)weight_of(c->g, v) - (int64_t)c->pull[!to][v];
}

static void offer_node(cut *c, size_t v) {
    for (int to = 0; to < 2 && !c->locked[v]; to++)
        push(c, to, (offer){gain_of(c, v, to), (uint32_t)v});
}

static void look_around(cut *c, size_t v) {
    c->pull[0][v] = c->pull[1][v] = 0;
    for (size_t k = c->g->start[v]; k < c->g->start[v + 1]; k++) {
        uint32_t u = c->g->near[k];
        if (c->side[u] != CLSI_APART) c->pull[c->side[u]][v] += weight_of(c->g, u);
    }
}

/* No side has more than this. */
static uint64_t most(const cut *c) {
    uint64_t largest = 0;
    for (size_t v = 0; v < c->g->n && c->g->weight; v++)
        if (c->g->weight[v] > largest) largest = c->g->weight[v];
    return c->total * 11 / 20 + largest + 1;
}

/* How bad it is: sides that are too large first, then the separator, then the difference of the sides. */
static double badness(const cut *c, uint64_t limit) {
    uint64_t large = c->weight[0] > c->weight[1] ? c->weight[0] : c->weight[1];
    uint64_t small = c->weight[0] + c->weight[1] - large;
    double over = large > limit ? (double)(large - limit) : 0;
    return (double)c->weight[2] + 4 * over + (double)(large - small) / (double)(2 * c->total + 2);
}

static void change(cut *c, size_t v, unsigned char to) {
    if (!clsi_grow(&c->log, &c->log_room, c->n_log + 1, sizeof *c->log) ||
        !clsi_grow(&c->was, &c->was_room, c->n_log + 1, 1)) {
        c->failed = 1;
        return;
    }
    c->log[c->n_log] = (uint32_t)v;
    c->was[c->n_log++] = c->side[v];
    c->weight[c->side[v]] -= weight_of(c->g, v);
    c->weight[to] += weight_of(c->g, v);
    c->side[v] = to;
}

/* Node v of the separator to a side; its neighbours on the other side come into the separator. */
static void move(cut *c, size_t v, int to) {
    const clsi_net *g = c->g;
    change(c, v, (unsigned char)to);
    c->locked[v] = 1;
    for (size_t k = g->start[v]; k < g->start[v + 1] && !c->failed; k++) {
        uint32_t u = g->near[k];
        if (c->side[u] == CLSI_APART) {
            c->pull[to][u] += weight_of(g, v);
            offer_node(c, u);
        } else if (c->side[u] != to) {
            change(c, u, CLSI_APART);
            look_around(c, u);
            offer_node(c, u);
            for (size_t j = g->start[u]; j < g->start[u + 1]; j++) {
                uint32_t x = g->near[j];
                if (c->side[x] != CLSI_APART || x == u) continue;
                c->pull[!to][x] -= weight_of(g, u);
                offer_node(c, x);
            }
        }
    }
}

/* The best offer that still holds and leaves room on that side, or NULL. */
static const offer *best_offer(cut *c, int to, uint64_t limit) {
    heap *h = &c->offers[to];
    for (; h->n; pop(h)) {
        const offer *x = h->at;
        uint32_t v = x->node;
        if (c->side[v] == CLSI_APART && !c->locked[v] && gain_of(c, v, to) == x->gain &&
            (c->weight[to] + weight_of(c->g, v) <= limit || c->weight[to] <= c->weight[!to]))
            return x;
    }
    return NULL;
}

/* One pass: moves, each node once, back to where it was best. 1: it is better than before. */
static int pass(cut *c, uint64_t limit) {
    const clsi_net *g = c->g;
    double first = badness(c, limit), best = first;
    size_t kept = 0, idle = 0;
    memset(c->locked, 0, g->n);
    c->n_log = c->offers[0].n = c->offers[1].n = 0;
    for (size_t v = 0; v < g->n; v++) {
        if (c->side[v] != CLSI_APART) continue;
        look_around(c, v);
        offer_node(c, v);
    }
    while (idle++ < PATIENCE && !c->failed) {
        const offer *a = best_offer(c, 0, limit), *b = best_offer(c, 1, limit);
        if (!a && !b) break;
        int to =
            !a || (b && (b->gain > a->gain || (b->gain == a->gain && c->weight[1] < c->weight[0])));
        move(c, (to ? b : a)->node, to);
        if (!(badness(c, limit) < best)) continue;
        best = badness(c, limit);
        kept = c->n_log;
        idle = 0;
    }
    while (c->n_log > kept) {
        size_t v = c->log[--c->n_log];
        c->weight[c->side[v]] -= weight_of(g, v);
        c->side[v] = c->was[c->n_log];
        c->weight[c->side[v]] += weight_of(g, v);
    }
    return best < first;
}

static void open_cut(cut *c, const clsi_net *g, unsigned char *side) {
    *c = (cut){.g = g, .side = side};
    c->pull[0] = clsi_calloc(2 * g->n, sizeof *c->pull[0]);
    c->pull[1] = c->pull[0] + g->n;
    c->locked = clsi_calloc(g->n, 1);
    c->failed = !c->pull[0] || !c->locked;
}

static void close_cut(cut *c) {
    void *const lists[] = {c->pull[0], c->locked, c->offers[0].at, c->offers[1].at, c->log, c->was};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
}

static void weigh(cut *c) {
    memset(c->weight, 0, sizeof c->weight);
    for (size_t v = 0; v < c->g->n; v++) c->weight[c->side[v]] += weight_of(c->g, v);
    c->total = c->weight[0] + c->weight[1] + c->weight[2];
}

static double improve(cut *c) {
    weigh(c);
    uint64_t limit = most(c);
    for (int k = 0; k < PASSES && !c->failed; k++)
        if (!pass(c, limit)) break;
    return badness(c, limit);
}

/* ---- the first separator, of few nodes ---- */

/* Nodes in the order of a search from `root`, and from the next one where it does not get any further. */
static size_t walk(const clsi_net *g, size_t root, uint32_t *queue, unsigned char *seen) {
    size_t n = 0, next = 0;
    memset(seen, 0, g->n);
    queue[n++] = (uint32_t)root;
    seen[root] = 1;
    for (size_t at = 0; n < g->n || at < n; at++) {
        if (at == n) {
            while (seen[next]) next++;
            queue[n++] = (uint32_t)next;
            seen[next] = 1;
        }
        for (size_t k = g->start[queue[at]]; k < g->start[queue[at] + 1]; k++) {
            uint32_t u = g->near[k];
            if (!seen[u]) queue[n++] = u;
            seen[u] = 1;
        }
    }
    return queue[n - 1];
}

/* Half of the nodes, as they come in the queue, on side 0; what it touches is the separator. */
static void halve(cut *c, const uint32_t *queue) {
    const clsi_net *g = c->g;
    uint64_t taken = 0, all = 0;
    for (size_t v = 0; v < g->n; v++) all += weight_of(g, v);
    memset(c->side, 1, g->n);
    for (size_t i = 0; i < g->n && 2 * taken < all; i++) {
        c->side[queue[i]] = 0;
        taken += weight_of(g, queue[i]);
    }
    for (size_t v = 0; v < g->n; v++)
        for (size_t k = g->start[v]; k < g->start[v + 1] && c->side[v] == 1; k++)
            if (c->side[g->near[k]] == 0) c->side[v] = CLSI_APART;
}

static int begin(const clsi_net *g, unsigned char *side) {
    cut c;
    double least = 0;
    uint32_t *queue = clsi_calloc(g->n, sizeof *queue);
    unsigned char *best = clsi_calloc(2 * g->n, 1);
    open_cut(&c, g, side);
    size_t root = 0;
    for (int k = 0; k < SEEDS && queue && best && !c.failed; k++) {
        size_t last = walk(g, root, queue, best + g->n);
        if (k > 0) { /* the first walk leads to an end, from which it is halved */
            halve(&c, queue);
            double bad = improve(&c);
            if (k == 1 || bad < least) memcpy(best, side, g->n), least = bad;
        }
        root = k < 2 ? last : (size_t)k * 2654435761u % g->n;
    }
    int good = queue && best && !c.failed;
    if (good) memcpy(side, best, g->n);
    free(queue);
    free(best);
    close_cut(&c);
    return good;
}

/* ---- fewer nodes ---- */

/* The neighbour that v is put together with: of the heaviest edge, of those the lightest. */
static size_t partner(const clsi_net *g, const uint32_t *onto, size_t v, uint64_t limit) {
    size_t best = v;
    uint32_t edge = 0;
    for (size_t k = g->start[v]; k < g->start[v + 1]; k++) {
        uint32_t u = g->near[k], heavy = heavy_of(g, k);
        if (onto[u] != NOBODY || (uint64_t)weight_of(g, v) + weight_of(g, u) > limit) continue;
        if (heavy < edge || (heavy == edge && weight_of(g, u) >= weight_of(g, best))) continue;
        best = u;
        edge = heavy;
    }
    return best;
}

/* Edges of a new node from those of its two old ones; at[]: where an edge to a node stands. */
static void lay_edges(const clsi_net *g, const uint32_t *onto, const uint32_t *pair, clsi_net *to,
                      uint32_t *at) {
    size_t n = 0;
    for (size_t i = 0; i < to->n; i++) {
        size_t first = n;
        for (int k = 0; k < 2 && (k == 0 || pair[2 * i + 1] != pair[2 * i]); k++) {
            uint32_t v = pair[2 * i + k];
            to->weight[i] += weight_of(g, v);
            for (size_t e = g->start[v]; e < g->start[v + 1]; e++) {
                uint32_t u = onto[g->near[e]];
                if (u == i) continue;
                if (at[u] == NOBODY || at[u] < first) {
                    at[u] = (uint32_t)n;
                    to->near[n] = u;
                    to->heavy[n++] = 0;
                }
                to->heavy[at[u]] += heavy_of(g, e);
            }
        }
        for (size_t e = first; e < n; e++) at[to->near[e]] = NOBODY;
        to->start[i + 1] = n;
    }
}

static void clear_net(clsi_net *g) {
    void *const lists[] = {g->start, g->near, g->heavy, g->weight};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    *g = (clsi_net){0};
}

/* A step that leads through all numbers below n, another one at each turn: partners of neighbours are to have
 * nothing to do with each other. */
static size_t stride(size_t n, unsigned turn) {
    size_t step = (2654435761u + 827033351u * (size_t)turn) % n;
    for (;; step++) {
        size_t a = step, b = n;
        while (b) {
            size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) return step;
    }
}

/* Pairs of neighbours as one: onto (n) the new number of a node. 0: no memory. */
static int pair_up(const clsi_net *g, unsigned turn, uint32_t *onto, clsi_net *to) {
    uint64_t total = 0;
    size_t step = stride(g->n, turn), v = 0;
    uint32_t *pair = clsi_calloc(2 * g->n, sizeof *pair), *at = clsi_calloc(g->n, sizeof *at);
    *to = (clsi_net){0};
    for (size_t i = 0; i < g->n; i++) total += weight_of(g, i);
    for (size_t i = 0; i < g->n; i++) onto[i] = NOBODY;
    for (size_t k = 0; k < g->n && pair; k++, v = (v + step) % g->n) {
        if (onto[v] != NOBODY) continue;
        size_t u = partner(g, onto, v, 2 + total / (COARSE / 2));
        onto[v] = onto[u] = (uint32_t)to->n;
        pair[2 * to->n] = (uint32_t)v;
        pair[2 * to->n++ + 1] = (uint32_t)u;
    }
    to->start = clsi_calloc(to->n + 1, sizeof *to->start);
    to->near = clsi_calloc(g->start[g->n] + 1, sizeof *to->near);
    to->heavy = clsi_calloc(g->start[g->n] + 1, sizeof *to->heavy);
    to->weight = clsi_calloc(to->n, sizeof *to->weight);
    int good = pair && at && to->start && to->near && to->heavy && to->weight;
    for (size_t i = 0; i < to->n && good; i++) at[i] = NOBODY;
    if (good) lay_edges(g, onto, pair, to, at);
    free(pair);
    free(at);
    return good;
}

static int separate(const clsi_net *g, unsigned turn, unsigned char *side) {
    clsi_net fewer = {0};
    cut c;
    if (g->n <= COARSE) return begin(g, side);
    uint32_t *onto = clsi_calloc(g->n, sizeof *onto);
    int good = onto && pair_up(g, turn, onto, &fewer);
    if (good && 20 * fewer.n > 19 * g->n) { /* stars: nobody has a partner */
        good = begin(g, side);
    } else if (good) {
        unsigned char *sides = clsi_calloc(fewer.n, 1);
        good = sides && separate(&fewer, turn, sides);
        for (size_t v = 0; v < g->n && good; v++) side[v] = sides[onto[v]];
        free(sides);
        clear_net(&fewer);
        open_cut(&c, g, side);
        if (good && !c.failed) (void)improve(&c);
        good = good && !c.failed;
        close_cut(&c);
    }
    clear_net(&fewer);
    free(onto);
    return good;
}

/* Several times with other pairs: of a plate of 200 x 200 cells a fifth of all operations. */
int clsi_separate(const clsi_net *g, unsigned char *side) {
    double least = 0;
    unsigned char *best = clsi_calloc(g->n, 1);
    unsigned turns = g->n > LARGE ? TURNS_OF_LARGE : TURNS;
    int good = best != NULL;
    for (unsigned turn = 0; turn < turns && good; turn++) {
        good = separate(g, turn, side);
        cut c = {.g = g, .side = side};
        if (!good) break;
        weigh(&c);
        double bad = badness(&c, most(&c));
        if (turn == 0 || bad < least) memcpy(best, side, g->n), least = bad;
    }
    if (good) memcpy(side, best, g->n);
    free(best);
    return good;
}
