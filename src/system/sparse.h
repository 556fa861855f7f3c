/* Matrices of expressions of which most entries are zero: frictions, conductances, brackets. */
#ifndef CLSI_SPARSE_H
#define CLSI_SPARSE_H

#include <clausius/graph.h>

#define CLSI_NO_ENTRY UINT32_MAX

typedef struct clsi_entry {
    uint32_t row, column;
    uint32_t next; /* of the row, columns ascending; CLSI_NO_ENTRY behind the last */
    cls_node node;
} clsi_entry;

typedef struct clsi_sparse {
    size_t rows, columns, n, capacity;
    clsi_entry *entries;    /* (n) in the order they were made */
    uint32_t *first, *last; /* (rows) */
} clsi_sparse;

#define CLSI_EACH(t, i, e)                                                                         \
    for (uint32_t e = (t)->first[i]; e != CLSI_NO_ENTRY; e = (t)->entries[e].next)

/* 0 when out of memory. */
int clsi_sparse_create(clsi_sparse *t, size_t rows, size_t columns);
void clsi_sparse_clear(clsi_sparse *t);
/* The entry, the constant 0 where there is none. */
cls_node clsi_sparse_at(cls_graph *g, const clsi_sparse *t, size_t i, size_t j);
int clsi_sparse_has(const clsi_sparse *t, size_t i, size_t j);
/* A failure stays in the graph. */
void clsi_sparse_set(cls_graph *g, clsi_sparse *t, size_t i, size_t j, cls_node node);
void clsi_sparse_add(cls_graph *g, clsi_sparse *t, size_t i, size_t j, cls_node term);

#endif
