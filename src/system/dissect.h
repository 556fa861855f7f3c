/* The order in which grids and networks are eliminated (dissect.c, separator.c). */
#ifndef CLSI_DISSECT_H
#define CLSI_DISSECT_H

#include <stddef.h>
#include <stdint.h>

/* Nodes 0 .. n - 1 and their neighbours, each edge from both of its ends. */
typedef struct clsi_net {
    size_t n, *start; /* (n + 1) */
    uint32_t *near;   /* neighbours */
    uint32_t *heavy;  /* nodes that an edge joins: of a net of single nodes NULL, all are 1 */
    uint32_t *weight; /* (n) nodes in each, or NULL */
} clsi_net;

enum { CLSI_APART = 2 };

/* side (n): 0, 1, or CLSI_APART for a separator between them that is small. 0: no memory. */
int clsi_separate(const clsi_net *net, unsigned char *side);
/* order (n): where no elimination is known to be cheaper. 0: no memory. */
int clsi_dissect(const clsi_net *net, uint32_t *order);

#endif
