/* What the two halves of tiling share: tiles.c lays out groups, deliver.c their outputs. */
#ifndef CLSI_TILES_H
#define CLSI_TILES_H

#include "expr/program.h"

typedef struct clsi_tiler {
    clsi_plan *plan;
    size_t n_first, n_outputs;
    uint32_t *phase;         /* (n_ops) odd: in tiles; even: as a whole */
    uint32_t *place;         /* (n_ops) in tiles */
    uint32_t *last;          /* (n_ops) of a group: the last one that reads it */
    unsigned char *kept;     /* (n_ops) all of its results are wanted in registers ... */
    uint32_t *single;        /* (n_ops, CLSI_SINGLE) ... or these, */
    unsigned char *n_single; /* (n_ops) so many */
    uint32_t *spare;         /* places of scratch that are free */
    size_t n_spare, phases_room, deliveries_room, scratch;
    uint32_t *piece,
        *limit;     /* (n_ops) clsi_tile.piece, and the last one that an operation may be in */
    uint32_t *rank; /* (n_ops) in its piece */
    size_t n_pending, n_local;
    uint32_t seen; /* an operand that has no rank yet */
    int fused;     /* there will be machine code */
} clsi_tiler;

enum { CLSI_SINGLE = 16 };

static inline int clsi_is_tiled(const clsi_tiler *t, size_t op) {
    return t->phase[op] & 1;
}

/* The first operation whose results end behind a register: its maker, if it begins before; n_ops: none. */
size_t clsi_tiles_maker(const clsi_plan *plan, uint32_t reg);
/* Machine code computes it. */
int clsi_tiles_native(const clsi_plan *plan, size_t op);
int clsi_tiles_stage(const clsi_plan *plan, size_t op);
enum { CLSI_LONG = 128 }; /* neighbours of an operation that is worth it */
int clsi_tiles_long(const clsi_vector_op *op);
/* deliver.c: operations cut where what they read is made by another; 0: no memory. */
int clsi_tiles_cut(clsi_plan *plan);
/* 0: no memory. */
int clsi_tiles_deliver(clsi_tiler *t);

#endif
