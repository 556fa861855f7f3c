/* The cone of a few nodes: what they are made of, at the cost of its own size.
 *
 * Problem: a walk over the whole graph per question makes every question about one of many equal
 * cells cost as much as all cells together. So what is reached is collected by a hash set, then
 * sorted: indices are a topological order. A cone that turns out to be large is marked in bits instead,
 * which is cheaper then; one of a few nodes, as most are, needs no memory. */
#include "base/base.h"
#include "expr/graph.h"
#include <stdlib.h>
#include <string.h>

static size_t spread(cls_node a) {
    return (size_t)((uint64_t)a * 0x9e3779b97f4a7c15u >> 32);
}

static size_t slot_of(const clsi_cone *c, cls_node a) {
    return spread(a) & (c->slots - 1);
}

/* ---- a few ---- */

enum { FEW_SLOTS = 2 * CLSI_FEW_NODES };

/* The place of a node in the table of a few, or the empty one where it belongs. */
static size_t few_slot(const clsi_cone *c, cls_node a) {
    size_t s = spread(a) % FEW_SLOTS;
    while (c->few_places[s] && c->few[c->few_places[s] - 1] != a) s = (s + 1) % FEW_SLOTS;
    return s;
}

static void enter_few(clsi_cone *c) {
    memset(c->few_places, 0, sizeof c->few_places);
    for (size_t k = 0; k < c->n; k++) c->few_places[few_slot(c, c->few[k])] = (uint8_t)(k + 1);
}

/* ---- any number ---- */

/* Position + 1 of the node in the table, or 0; while collecting: the order of finding. */
uint32_t clsi_cone_look_up(const clsi_cone *c, cls_node a) {
    if (c->small) return c->few_places[few_slot(c, a)];
    for (size_t s = slot_of(c, a); c->place[s]; s = (s + 1) & (c->slots - 1))
        if (c->node[c->place[s] - 1] == a) return c->place[s];
    return 0;
}

static void enter(clsi_cone *c, size_t k) {
    size_t s = slot_of(c, c->node[k]);
    while (c->place[s]) s = (s + 1) & (c->slots - 1);
    c->place[s] = (uint32_t)k + 1;
}

static int rehash(clsi_cone *c, size_t slots) {
    if (slots == c->slots) {
        memset(c->place, 0, slots * sizeof *c->place);
    } else {
        free(c->place);
        c->slots = slots;
        c->place = clsi_calloc(slots, sizeof *c->place);
    }
    for (size_t k = 0; c->place && k < c->n; k++) enter(c, k);
    return c->place != NULL;
}

/* No longer a few. */
static int leave_few(clsi_cone *c) {
    cls_node *node = clsi_malloc(4 * sizeof c->few);
    if (!node) return 0;
    memcpy(node, c->few, sizeof c->few);
    c->node = node;
    c->room = 4 * CLSI_FEW_NODES;
    c->small = 0;
    return rehash(c, 8 * CLSI_FEW_NODES);
}

/* Marks in bits, one for each node of the graph, instead of a table. */
static void mark(clsi_cone *c, cls_node a) {
    c->bits[a / 64] |= UINT64_C(1) << a % 64;
}

static int make_dense(const cls_graph *g, clsi_cone *c) {
    uint64_t *bits = clsi_calloc(g->n / 64 + 1, sizeof *bits);
    uint32_t *place = c->marks ? NULL : clsi_malloc(g->n * sizeof *place);
    if (!bits || (!place && !c->marks)) {
        free(bits);
        free(place);
        return 0;
    }
    free(c->place);
    c->place = place; /* read where a bit is set */
    c->bits = bits;
    for (size_t k = 0; k < c->n; k++) mark(c, c->node[k]);
    c->dense = 1;
    c->size = g->n;
    return 1;
}

static void mark_arguments(const cls_graph *g, clsi_cone *c, cls_node a) {
    size_t args = clsi_arg_count(g, a);
    for (size_t i = 0; i < args; i++) mark(c, clsi_arg(g, a, i));
    if (clsi_block(g, a) != CLS_NO_NODE) mark(c, clsi_block(g, a));
}

/* All that the marked nodes are made of, by a walk down the graph in its order, which memory likes; then
 * places, ascending, where they are wanted. 64 nodes that are not there cost as much as one that is. */
static int fill_dense(const cls_graph *g, clsi_cone *c) {
    size_t n = 0, words = g->n / 64 + 1;
    for (size_t w = words; w-- > 0;)
        for (uint64_t left = c->bits[w]; left; n++) {
            unsigned highest = 63u - (unsigned)__builtin_clzll(left);
            mark_arguments(g, c, (cls_node)(64 * w + highest));
            left = c->bits[w] & ((UINT64_C(1) << highest) - 1); /* arguments may be there, too */
        }
    if (c->marks) return c->n = n, 1;
    cls_node *node = clsi_malloc(n * sizeof *node); /* as large as it is */
    if (!node) return 0;
    if (c->node != c->few) free(c->node);
    c->node = node;
    c->room = n;
    c->n = 0;
    clsi_expect_use(node, n * sizeof *node);
    if (4 * n > g->n) clsi_expect_use(c->place, g->n * sizeof *c->place);
    for (size_t w = 0; w < words; w++)
        for (uint64_t left = c->bits[w]; left; left &= left - 1) {
            cls_node a = (cls_node)(64 * w + (unsigned)__builtin_ctzll(left));
            c->node[c->n++] = a;
            c->place[a] = (uint32_t)c->n;
        }
    return 1;
}

/* 0 when out of memory. */
static int take(const cls_graph *g, clsi_cone *c, cls_node a) {
    if (c->small) {
        size_t s = few_slot(c, a);
        if (c->few_places[s]) return 1;
        if (c->n < CLSI_FEW_NODES) {
            c->few[c->n++] = a;
            c->few_places[s] = (uint8_t)c->n;
            return 1;
        }
        if (!leave_few(c)) return 0;
    }
    if (c->dense) {
        mark(c, a);
        return 1;
    }
    if (clsi_cone_look_up(c, a)) return 1;
    if (!clsi_grow(&c->node, &c->room, c->n + 1, sizeof *c->node)) return 0;
    c->node[c->n++] = a;
    if (c->n > 4096 && c->n > g->n / 512) return make_dense(g, c);
    if (2 * c->n > c->slots) return rehash(c, 4 * c->slots);
    enter(c, c->n - 1);
    return 1;
}

static int by_number(const void *a, const void *b) {
    const cls_node x = *(const cls_node *)a, y = *(const cls_node *)b;
    return (x > y) - (x < y);
}

/* What was found last comes first, mostly. */
static void sort_few(clsi_cone *c) {
    for (size_t i = 0, j = c->n; i + 1 < j; i++) {
        cls_node a = c->node[i];
        c->node[i] = c->node[--j];
        c->node[j] = a;
    }
    for (size_t i = 1; i < c->n; i++) {
        cls_node a = c->node[i];
        size_t j = i;
        for (; j > 0 && c->node[j - 1] > a; j--) c->node[j] = c->node[j - 1];
        c->node[j] = a;
    }
}

static int sort(clsi_cone *c) {
    if (c->dense) return 1;
    if (c->small) {
        sort_few(c);
        enter_few(c);
        return 1;
    }
    if (c->n) qsort(c->node, c->n, sizeof *c->node, by_number);
    return rehash(c, c->slots);
}

static void begin(clsi_cone *c, int marks) {
    c->marks = marks;
    c->n = c->size = c->slots = 0;
    c->dense = 0;
    c->small = 1;
    c->node = c->few;
    c->room = CLSI_FEW_NODES;
    c->place = NULL;
    c->bits = NULL;
    memset(c->few_places, 0, sizeof c->few_places);
}

/* Work, for tests to count: where there are weak symbols. */
#if defined(__ELF__)
#pragma weak clsi_visit_hook
#define TELL(n) (clsi_visit_hook ? clsi_visit_hook(n) : (void)0)
#else
#define TELL(n) ((void)(n))
#endif

void clsi_tell_visits(size_t n) {
    TELL(n);
}

static int collect_all(const cls_graph *g, size_t count, const cls_node *nodes, clsi_cone *c) {
    for (size_t i = 0; i < count; i++)
        if (nodes[i] < g->n && !take(g, c, nodes[i])) return 0;
    for (size_t k = 0; k < c->n && !c->dense; k++) { /* the list is its own queue */
        cls_node a = c->node[k];
        size_t args = clsi_arg_count(g, a);
        for (size_t i = 0; i < args; i++)
            if (!take(g, c, clsi_arg(g, a, i))) return 0;
        if (clsi_block(g, a) != CLS_NO_NODE && !take(g, c, clsi_block(g, a))) return 0;
    }
    return !c->dense || fill_dense(g, c);
}

static int collect(const cls_graph *g, size_t count, const cls_node *nodes, int marks,
                   clsi_cone *c) {
    begin(c, marks);
    int good = collect_all(g, count, nodes, c);
    TELL(c->n + (c->dense ? g->n / 64 : 0));
    return good;
}

int clsi_cone_collect(const cls_graph *g, size_t count, const cls_node *nodes, clsi_cone *c) {
    return collect(g, count, nodes, 0, c);
}

int clsi_cone_mark(const cls_graph *g, size_t count, const cls_node *nodes, clsi_cone *c) {
    return collect(g, count, nodes, 1, c);
}

int clsi_cone_create(const cls_graph *g, size_t count, const cls_node *nodes, clsi_cone *c) {
    if (clsi_cone_collect(g, count, nodes, c) && sort(c)) return 1;
    clsi_cone_free(c);
    (void)clsi_graph_no_memory(g); /* no answer is taken for one */
    return 0;
}

/* ---- large formulas ---- */

enum { DEPTH = 64 };
typedef enum length { SHORT, KNOWN_LARGE, LARGE, NO_MEMORY } length;

/* Counts up to CLSI_LARGE_FORMULA, and less far where a part is known. */
static length length_of(const cls_graph *g, cls_node a) {
    clsi_cone c;
    length found = SHORT;
    begin(&c, 0);
    if (!take(g, &c, a)) found = NO_MEMORY;
    for (size_t k = 0; k < c.n && found == SHORT; k++) {
        cls_node b = c.node[k], block = clsi_block(g, b);
        size_t args = clsi_arg_count(g, b);
        if (g->large[b % CLSI_KNOWN_LARGE] == b + 1) found = KNOWN_LARGE;
        for (size_t i = 0; i < args && found == SHORT; i++)
            if (!take(g, &c, clsi_arg(g, b, i))) found = NO_MEMORY;
        if (found == SHORT && block != CLS_NO_NODE && !take(g, &c, block)) found = NO_MEMORY;
        if (found == SHORT && c.n > CLSI_LARGE_FORMULA) found = LARGE;
    }
    TELL(c.n);
    clsi_cone_free(&c);
    return found;
}

/* What is remembered is the lowest part that is large, which others may have, too. */
static void remember_large(cls_graph *g, cls_node a) {
    for (int depth = 0; depth < DEPTH; depth++) {
        size_t args = clsi_arg_count(g, a), i = 0;
        length of = SHORT;
        while (i < args && (of = length_of(g, clsi_arg(g, a, i))) == SHORT) i++;
        if (of == KNOWN_LARGE) return;
        if (of != LARGE) break;
        a = clsi_arg(g, a, i);
    }
    g->large[a % CLSI_KNOWN_LARGE] = a + 1;
}

int clsi_is_large(cls_graph *g, cls_node a) {
    if (a >= g->n) return 1;
    length of = length_of(g, a);
    if (of == LARGE) remember_large(g, a);
    if (of == NO_MEMORY) (void)clsi_graph_no_memory(g);
    return of != SHORT;
}

size_t clsi_cone_weight(const cls_graph *g, cls_node a) {
    clsi_cone c;
    size_t count = 0;
    if (!clsi_cone_collect(g, 1, &a, &c)) {
        (void)clsi_graph_no_memory(g);
        count = SIZE_MAX;
    }
    for (size_t k = 0; k < c.n && count != SIZE_MAX; k++)
        count += g->nodes[c.node[k]].op != CLS_OP_CONSTANT;
    clsi_cone_free(&c);
    return count;
}

void clsi_cone_free(clsi_cone *c) {
    if (c->node != c->few) free(c->node);
    free(c->place);
    free(c->bits);
    c->place = NULL;
    c->bits = NULL;
    c->node = NULL;
    c->n = 0;
}

/* active[k] = 1 for members that contain one of the symbols. */
void clsi_cone_active(const cls_graph *g, const clsi_cone *c, size_t n, const cls_node *symbols,
                      unsigned char *active) {
    TELL(n);
    for (size_t i = 0; i < n; i++) {
        uint32_t at = clsi_cone_at(c, symbols[i]);
        if (at) active[at - 1] = 1;
    }
    for (size_t k = 0; k < c->n; k++) {
        size_t args = clsi_arg_count(g, c->node[k]);
        for (size_t i = 0; i < args && !active[k]; i++)
            active[k] |= active[clsi_cone_at(c, clsi_arg(g, c->node[k], i)) - 1];
        cls_node block = clsi_block(g, c->node[k]);
        if (block != CLS_NO_NODE) active[k] |= active[clsi_cone_at(c, block) - 1] != 0;
    }
}
