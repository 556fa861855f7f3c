/* Jacobians: forward walks, with large pieces that end in one number differentiated backwards.
 *
 * n forward walks cost n times the graph. Where a piece of it has a single exit (every way from the
 * piece to the results leads through one node) and few entries, one reverse walk gives the slopes
 * of the exit in its entries, and the forward walks step over the piece: once instead of n times
 * its size (chain counting of docs/decisions/0017; a learned friction is such a piece). Exits are
 * immediate dominators, found by walking from the results down: indices are a topological order,
 * so the dominator of a node is the lowest common ancestor of its users. Costs a few passes over
 * the graph; what is written by people is too small for it and stays as it was. */
#include "base/base.h"
#include "base/misuse.h"
#include "expr/graph.h"
#include <stdlib.h>
#include <string.h>

enum { LARGE = 200 }; /* nodes of a piece */

typedef struct finder {
    cls_graph *g;
    size_t n, size; /* symbols; nodes, which is also the number of the root above all results */
    unsigned char *reach, *active;
    uint32_t *above;        /* (size) dominator */
    uint32_t *depth, *jump; /* (size + 1) of the tree of dominators: place_below */
    uint32_t *count;        /* (size + 1) nodes of the subtree */
    uint32_t *first, *next; /* (size + 1) where the subtree begins in `order`; where it is filled */
    uint32_t *order;        /* (size + 1) nodes, subtrees in one piece */
    uint32_t *seen;         /* (size) exit + 1 for which a node was noted as an entry */
    unsigned char *is_symbol; /* (size) */
} finder;

/* Below its dominator: how deep, and a node far above, so that the way to any node above takes the logarithm
 * of the depth (skew-binary numbers). Sums of 1e5 terms are chains as deep. */
static void place_below(finder *f, uint32_t k) {
    uint32_t p = f->above[k], far = f->jump[p];
    f->depth[k] = f->depth[p] + 1;
    f->jump[k] =
        f->depth[p] - f->depth[far] == f->depth[far] - f->depth[f->jump[far]] ? f->jump[far] : p;
}

/* The lowest node above both, or one of them. */
static uint32_t common(const finder *f, uint32_t a, uint32_t b) {
    if (f->depth[a] < f->depth[b]) {
        uint32_t swapped = a;
        a = b, b = swapped;
    }
    while (f->depth[a] > f->depth[b])
        a = f->depth[f->jump[a]] >= f->depth[b] ? f->jump[a] : f->above[a];
    while (a != b) {
        int far = f->jump[a] != f->jump[b];
        a = far ? f->jump[a] : f->above[a];
        b = far ? f->jump[b] : f->above[b];
    }
    return a;
}

static void find_dominators(finder *f, size_t count, const cls_node *nodes) {
    const cls_graph *g = f->g;
    for (size_t k = 0; k < f->size; k++) f->above[k] = UINT32_MAX;
    for (size_t i = 0; i < count; i++)
        if (nodes[i] != CLS_NO_NODE) f->above[nodes[i]] = (uint32_t)f->size;
    f->jump[f->size] = (uint32_t)f->size;
    f->depth[f->size] = 0;
    for (size_t k = f->size; k-- > 0;) {
        if (!f->active[k] || !f->reach[k]) continue;
        place_below(f, (uint32_t)k);
        size_t args = clsi_arg_count(g, k);
        for (size_t i = 0; i < args; i++) {
            uint32_t *above = &f->above[clsi_arg(g, k, i)];
            *above = *above == UINT32_MAX ? (uint32_t)k : common(f, *above, (uint32_t)k);
        }
    }
}

/* Subtrees in one piece each: parents have higher numbers than their children. */
static void number_subtrees(finder *f) {
    for (size_t k = 0; k < f->size; k++)
        if (f->active[k] && f->reach[k]) f->count[f->above[k]] += ++f->count[k];
    f->next[f->size] = 1;
    for (size_t k = f->size; k-- > 0;) {
        if (!f->active[k] || !f->reach[k]) continue;
        f->first[k] = f->next[f->above[k]];
        f->next[f->above[k]] += f->count[k];
        f->next[k] = f->first[k] + 1;
        f->order[f->first[k]] = (uint32_t)k;
    }
}

static int is_below(const finder *f, cls_node a, size_t exit) {
    return f->first[a] > f->first[exit] && f->first[a] < f->first[exit] + f->count[exit];
}

/* The entries of the piece below `exit`, or limit + 1 when there are too many. */
static size_t find_entries(finder *f, size_t exit, size_t limit, cls_node *entries) {
    const cls_graph *g = f->g;
    size_t n = 0;
    for (uint32_t t = f->first[exit]; t < f->first[exit] + f->count[exit]; t++) {
        size_t args = clsi_arg_count(g, f->order[t]);
        for (size_t i = 0; i < args; i++) {
            cls_node a = clsi_arg(g, f->order[t], i);
            int entry = f->active[a] && (f->is_symbol[a] || !is_below(f, a, exit));
            if (!entry || f->seen[a] == exit + 1) continue;
            f->seen[a] = (uint32_t)exit + 1;
            if (n == limit) return limit + 1;
            entries[n++] = a;
        }
    }
    return n;
}

static int add_piece(finder *f, size_t exit, size_t n, const cls_node *entries, clsi_shortcuts *s) {
    if (!clsi_grow(&s->list, &s->list_room, s->n + 1, sizeof *s->list) ||
        !clsi_grow(&s->entries, &s->entries_room, s->n_entries + n, sizeof *s->entries) ||
        !clsi_grow(&s->slopes, &s->slopes_room, s->n_entries + n, sizeof *s->slopes))
        return 0;
    memcpy(s->entries + s->n_entries, entries, n * sizeof *entries);
    if (clsi_slopes_between(f->g, (cls_node)exit, n, entries, s->slopes + s->n_entries) != CLS_OK)
        return 0;
    for (uint32_t t = f->first[exit]; t < f->first[exit] + f->count[exit]; t++)
        if (!f->is_symbol[f->order[t]]) s->of[f->order[t]] = CLSI_WALKED_AROUND;
    s->list[s->n] = (clsi_shortcut){s->n_entries, n};
    s->n_entries += n;
    s->of[exit] = (uint32_t)++s->n;
    return 1;
}

/* From the results down, so that the largest piece comes first. */
static int add_pieces(finder *f, clsi_shortcuts *s) {
    size_t limit = 2 * f->n;
    cls_node *entries = clsi_calloc(limit, sizeof *entries);
    int good = entries != NULL;
    for (size_t k = f->size; good && k-- > 0;) {
        if (!f->active[k] || !f->reach[k] || f->count[k] < LARGE || s->of[k]) continue;
        size_t n = find_entries(f, k, limit, entries);
        if (n <= limit) good = add_piece(f, k, n, entries, s);
    }
    free(entries);
    return good;
}

static cls_status find_pieces(finder *f, size_t count, const cls_node *nodes,
                              const cls_node *symbols, clsi_shortcuts *s) {
    size_t size = f->size;
    uint32_t *memory = clsi_calloc(8 * (size + 1), sizeof *memory);
    unsigned char *marks = clsi_calloc(3, size);
    s->of = clsi_calloc(size, sizeof *s->of);
    int good = memory && marks && s->of;
    if (good) {
        f->above = memory, f->count = f->above + size + 1, f->first = f->count + size + 1;
        f->next = f->first + size + 1, f->order = f->next + size + 1;
        f->seen = f->order + size + 1, f->depth = f->seen + size + 1, f->jump = f->depth + size + 1;
        f->reach = marks, f->active = marks + size, f->is_symbol = marks + 2 * size;
        for (size_t j = 0; j < f->n; j++) f->is_symbol[symbols[j]] = 1;
        clsi_reach(f->g, count, nodes, f->reach);
        clsi_mark_active(f->g, size, f->reach, f->n, symbols, f->active);
        find_dominators(f, count, nodes);
        number_subtrees(f);
        good = add_pieces(f, s);
    }
    free(memory);
    free(marks);
    if (!good) clsi_graph_fail(f->g, CLS_MEMORY, "out of memory");
    return cls_graph_status(f->g, NULL);
}

cls_status cls_jacobian(cls_graph *g, size_t count, const cls_node *nodes, size_t n,
                        const cls_node *symbols, cls_node *out) {
    NEED(NULL, g);
    NEED(NULL, (nodes && symbols && out) || !count || !n);
    clsi_shortcuts s = {.size = g->n};
    finder f = {.g = g, .n = n, .size = g->n};
    cls_status status = cls_graph_status(g, NULL);
    if (status == CLS_OK && n > 1 && g->n > LARGE)
        status = find_pieces(&f, count, nodes, symbols, &s);
    for (size_t j = 0; j < n && status == CLS_OK; j++)
        status = clsi_forward(g, count, nodes, symbols[j], s.of ? &s : NULL, n, out + j);
    free(s.of);
    free(s.list);
    free(s.entries);
    free(s.slopes);
    return status;
}
