/* Plans in tiles as machine code (tile_code.c): the arithmetic of a group between two functions is one loop over
 * vectors of cells. */
#ifndef CLSI_TILE_CODE_H
#define CLSI_TILE_CODE_H

#include "expr/program.h"

/* n vectors from the time t on: work, scratch and out are where they are at t; base is the work itself. Of the
 * edge, one vector, stores go side by side to `room`, CLSI_PLAN_LANES numbers each. */
typedef void clsi_fused_run(double *work, double *scratch, double *out, const double *base, long n,
                            double *room);

/* Numbers that are stored at the times [begin, end) and at no other: that of the time t at t + `at` of the
 * outputs, or of the work. */
typedef struct clsi_fused_store {
    int64_t begin, end, at;
    int out;
} clsi_fused_store;

/* The tiles first .. first + n of a group. */
typedef struct clsi_fused_piece {
    clsi_fused_run *core, *edge; /* NULL: one by one */
    size_t core_at, edge_at;
    uint32_t first, n, stores, n_stores;
    int64_t begin, end; /* times of the core */
    int vectors;        /* that the core works on at once: n is that of such */
    int loose;          /* deliveries are left to be made */
} clsi_fused_piece;

/* The tiles from one on, n of them, of a phase that is not tiled: numbers one by one (tile_singles.c). */
typedef struct clsi_fused_singles {
    void (*run)(double *work); /* NULL: as operations */
    size_t at;
    uint32_t n;
} clsi_fused_singles;

struct clsi_fused {
    int width; /* cells of a vector */
    void *code;
    size_t size, n_pieces, n_stores;
    clsi_fused_piece *pieces;
    clsi_fused_store *stores;
    clsi_fused_singles *singles; /* (n_ops) by place in tiles */
};

enum { CLSI_FUSED_STORES = 128 }; /* of a piece at most */

/* Cells of a vector on this machine; 0: there can be no machine code. */
int clsi_fused_width(void);
/* Machine code for vectors of `width` cells, where it can be had. */
void clsi_plan_fuse(clsi_plan *plan, int width);
void clsi_fused_free(clsi_fused **fused);

#endif
