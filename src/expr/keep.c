/* A graph of what is still asked for.
 *
 * Problem: of the millions of nodes of a large system most have served when its equations are there: formulas as
 * they were written, equations before unknowns were solved for, programs that are compiled. What is built on goes
 * through memory beside them. So the nodes that some lists are made of move together, in the order that they have
 * (rules of building look at it), and the lists get their new numbers. Costs two walks over the graph, and the table
 * that nodes are looked up in is made again with the next node. */
#include "base/base.h"
#include "expr/graph.h"
#include <stdlib.h>
#include <string.h>

static void mark_lists(const cls_graph *g, size_t n, const clsi_node_list *lists,
                       unsigned char *mark) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < lists[i].n; k++)
            if (lists[i].node[k] < g->n) mark[lists[i].node[k]] = 1;
    for (size_t i = 0; i < g->n_blocks; i++) /* elements of an array stand together */
        memset(mark + g->blocks[i].first, 1, g->blocks[i].count * g->blocks[i].stems);
    for (size_t k = g->n; k-- > 0;) {
        size_t args = mark[k] ? clsi_arg_count(g, k) : 0;
        for (size_t i = 0; i < args; i++) mark[g->nodes[k].arg[i]] = 1;
    }
}

/* Nodes to their new places; map[k] is that of node k, CLS_NO_NODE where it has none. */
static void move(cls_graph *g, const unsigned char *mark, cls_node *map) {
    cls_node n = 0;
    for (size_t k = 0; k < g->n; k++) {
        map[k] = CLS_NO_NODE;
        if (!mark[k]) continue;
        size_t args = clsi_arg_count(g, k);
        clsi_node node = g->nodes[k];
        for (size_t i = 0; i < args; i++) node.arg[i] = map[node.arg[i]];
        g->nodes[n] = node;
        map[k] = n++;
    }
    g->n = n;
}

static void renumber(size_t n, const cls_node *map, cls_node *node) {
    for (size_t k = 0; k < n; k++)
        if (node[k] != CLS_NO_NODE) node[k] = map[node[k]];
}

/* 1 + a node, or 0. */
static void renumber_kept(size_t n, const cls_node *map, cls_node *kept) {
    for (size_t k = 0; k < n; k++)
        if (kept[k]) kept[k] = map[kept[k] - 1] == CLS_NO_NODE ? 0 : map[kept[k] - 1] + 1;
}

int clsi_graph_keep(cls_graph *g, size_t n, const clsi_node_list *lists) {
    if (g->n_fields) return 0;
    unsigned char *mark = clsi_calloc(g->n, 1);
    if (mark) mark_lists(g, n, lists, mark);
    if (mark) clsi_graph_pack(g); /* before there is a map */
    cls_node *map = mark ? clsi_malloc(g->n * sizeof *map) : NULL;
    if (map) {
        clsi_expect_use(map, g->n * sizeof *map);
        move(g, mark, map);
        for (size_t i = 0; i < n; i++) renumber(lists[i].n, map, lists[i].node);
        for (size_t i = 0; i < g->n_blocks; i++) renumber(1, map, &g->blocks[i].first);
        renumber_kept(sizeof g->common / sizeof *g->common, map, g->common);
        renumber_kept(sizeof g->recent / sizeof *g->recent, map, g->recent);
        memset(g->large, 0, sizeof g->large);
        clsi_node *fewer = clsi_realloc(g->nodes, (g->n + 1) * sizeof *fewer);
        if (fewer) g->nodes = fewer;
        if (fewer) g->capacity = g->n + 1;
    }
    int good = map != NULL;
    free(mark);
    free(map);
    return good;
}
