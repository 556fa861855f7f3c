/* What depends on what, as an FMU says: of each column and each rate the states, inputs, parameters and the time
 * that it contains, ascending. Lists: of many equal cells each row has a few entries. */
#ifndef CLSI_NEEDS_H
#define CLSI_NEEDS_H

#include "expr/graph.h"

typedef struct clsi_needs {
    size_t m;      /* rows that are there; they are added in order */
    size_t *start; /* (m + 1) */
    uint32_t *of;  /* (start[m]) */
    size_t rows_room, room;
} clsi_needs;

int clsi_needs_add(clsi_needs *x, size_t n, const uint32_t *of); /* a row more; 0: no memory */
void clsi_needs_clear(clsi_needs *x);
int clsi_needs_has(const clsi_needs *x, size_t row, size_t of);

/* What rows are made of: nodes, by their numbers. */
typedef struct clsi_known {
    const cls_node *by; /* (n) borrowed */
    size_t n;
    uint32_t *sorted; /* (n) numbers, by their nodes */
    uint32_t *row;    /* (n) scratch */
} clsi_known;

int clsi_known_create(size_t n, const cls_node *by, clsi_known *out); /* 0: no memory */
void clsi_known_clear(clsi_known *k);
/* A row more: which of the known any of the nodes is made of. 0: no memory. */
int clsi_needs_add_cone(clsi_needs *x, const cls_graph *g, const clsi_known *known, size_t count,
                        const cls_node *nodes);

#endif
