/* What the two halves of machine code for tiles share: tile_code.c makes pieces of a plan, tile_vectors.c writes an
 * operation at a time. */
#ifndef CLSI_TILE_WRITER_H
#define CLSI_TILE_WRITER_H

#include "expr/native_code.h"
#include "expr/tile_code.h"

/* Stores of fewer cells are made at the edge. */
enum { CLSI_FUSED_FEW = 16 };
enum { CLSI_FUSED_CONSTANTS = 40 }; /* of a piece that may be in machine registers */
enum {
    CLSI_FUSED_COPIES = 8
}; /* runs of outputs that are inputs; others are copied behind the plan */

typedef struct clsi_fuser {
    clsi_writer w;
    clsi_plan *plan;
    clsi_fused *made;
    size_t pieces_room, stores_room;
    uint32_t *place; /* (n_ops) in tiles */
    /* (n_ops), by place in tiles: */
    uint32_t *last;        /* the last that reads it in its piece; 0: none */
    int *where;            /* machine register or NOBODY */
    unsigned char *stored; /* in scratch */
    const clsi_phase *phase;
    clsi_fused_piece *piece;
    uint32_t busy;   /* machine registers of the operation at hand */
    size_t n_stores; /* of the piece, so far */
    int edge, unfit;
    size_t mender; /* of what exp is not for vectors */
    /* numbers that do not change: of the pool, or (place) of the work; the core has some of them in machine registers
     * from `top` on */
    struct constant {
        double pooled;
        int64_t place; /* or -1 */
        size_t uses;
        int reg;
    } constant[CLSI_FUSED_CONSTANTS];
    size_t n_constants;
    int top, most; /* so many machine registers for results, and so many were needed */
    int vectors; /* that the code works on at once: of the second one registers are `most` higher */
    /* of plan->left: what a piece copies beside its work, whose index that is, or NOBODY */
    struct copy {
        size_t left;
        int piece;
    } copy[CLSI_FUSED_COPIES];
    int n_copies;
    int next_single; /* tile_singles.c */
} clsi_fuser;

static inline const clsi_vector_op *clsi_fuse_op(const clsi_fuser *f, size_t i) {
    return &f->plan->ops[f->plan->tiles[i].op];
}

static inline const clsi_instruction *clsi_fuse_code(const clsi_fuser *f, size_t i) {
    return &f->plan->code[clsi_fuse_op(f, i)->first];
}

static inline int clsi_fuse_kept(const clsi_fuser *f, size_t i) {
    return f->plan->tiles[i].result == CLSI_IN_REGISTERS;
}

/* The tile of this phase that makes what operand a reads, and how many cells before; or NOBODY. */
int clsi_fuse_local_maker(const clsi_fuser *f, size_t i, uint32_t a, int step, int64_t *delay);
/* Code that others call, and the numbers that operation i has in the pool; before all code. */
void clsi_fuse_mender(clsi_writer *w);
void clsi_fuse_pool(clsi_fuser *f, size_t i);
/* Numbers that are used most to machine registers that nobody needs. */
void clsi_fuse_constants(clsi_fuser *f);
/* Operation i and its stores. */
void clsi_fuse_tile(clsi_fuser *f, size_t i);
/* What can be one by one of a phase that is not tiled. */
void clsi_fuse_singles(clsi_fuser *f, const clsi_phase *phase);
/* Inputs that are outputs. */
void clsi_fuse_copy(clsi_fuser *f, const clsi_left *run);

#endif
