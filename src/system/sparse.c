/* Sparse tables of expressions: a list for each row, columns ascending. Rows are filled from left to
 * right nearly always, so that an entry behind the last one costs nothing to find. */
#include "system/sparse.h"
#include "base/base.h"
#include "expr/graph.h"
#include <stdlib.h>

int clsi_sparse_create(clsi_sparse *t, size_t rows, size_t columns) {
    *t = (clsi_sparse){.rows = rows, .columns = columns};
    t->first = clsi_calloc(rows, sizeof *t->first);
    t->last = clsi_calloc(rows, sizeof *t->last);
    for (size_t i = 0; t->first && t->last && i < rows; i++) t->first[i] = CLSI_NO_ENTRY;
    return t->first && t->last;
}

void clsi_sparse_clear(clsi_sparse *t) {
    free(t->entries);
    free(t->first);
    free(t->last);
    *t = (clsi_sparse){0};
}

/* The entry at or, when *exact is 0, the one before it in its row (CLSI_NO_ENTRY: none). */
static uint32_t find(const clsi_sparse *t, size_t i, size_t j, int *exact) {
    uint32_t before = CLSI_NO_ENTRY, e = t->first[i];
    *exact = 0;
    if (e != CLSI_NO_ENTRY && t->entries[t->last[i]].column < j) return t->last[i];
    for (; e != CLSI_NO_ENTRY && t->entries[e].column <= j; e = t->entries[e].next) {
        before = e;
        *exact = t->entries[e].column == j;
    }
    return before;
}

cls_node clsi_sparse_at(cls_graph *g, const clsi_sparse *t, size_t i, size_t j) {
    int exact;
    uint32_t e = find(t, i, j, &exact);
    return exact ? t->entries[e].node : cls_constant(g, 0);
}

int clsi_sparse_has(const clsi_sparse *t, size_t i, size_t j) {
    int exact;
    (void)find(t, i, j, &exact);
    return exact;
}

static void insert(cls_graph *g, clsi_sparse *t, size_t i, size_t j, uint32_t before,
                   cls_node node) {
    if (!clsi_grow(&t->entries, &t->capacity, t->n + 1, sizeof *t->entries)) {
        clsi_graph_fail(g, CLS_MEMORY, "out of memory");
        return;
    }
    uint32_t made = (uint32_t)t->n++,
             *link = before == CLSI_NO_ENTRY ? &t->first[i] : &t->entries[before].next;
    t->entries[made] = (clsi_entry){(uint32_t)i, (uint32_t)j, *link, node};
    *link = made;
    if (t->entries[made].next == CLSI_NO_ENTRY) t->last[i] = made;
}

void clsi_sparse_set(cls_graph *g, clsi_sparse *t, size_t i, size_t j, cls_node node) {
    int exact;
    uint32_t e = find(t, i, j, &exact);
    if (exact)
        t->entries[e].node = node;
    else if (!cls_is_constant(g, node, 0))
        insert(g, t, i, j, e, node);
}

void clsi_sparse_add(cls_graph *g, clsi_sparse *t, size_t i, size_t j, cls_node term) {
    clsi_sparse_set(g, t, i, j, cls_add(g, clsi_sparse_at(g, t, i, j), term));
}
