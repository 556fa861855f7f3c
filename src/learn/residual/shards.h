/* The threads around the rows of a residual, whatever evaluates them: windows of states
 * (batch_rows.c) or intervals of positions (position_rows.c).
 *
 * Rows are summed in shards that begin with a window. Their number depends on that of the rows,
 * never on that of the threads, and shards are added in their order: same bits for any number of
 * threads. */
#ifndef CLSI_LEARN_SHARDS_H
#define CLSI_LEARN_SHARDS_H

#include "learn/learn.h"

typedef struct clsi_rows_kind {
    size_t windows; /* of a shard, about: a sum of the gradient must be worth its cost */
    double longer;  /* rows times parameters above which threads are woken: a millisecond's work */
    void *(*open)(const clsi_residual *r); /* a block; NULL: no memory */
    void (*close)(void *block);
    void (*begin)(void *block, const clsi_residual *r, const double *theta);
    void (*rows)(void *block, size_t first, const size_t *list, size_t begin, size_t end,
                 double *out, double *J);
    /* |r|^2 of the rows; their gradient stays in the block until `add` puts it into the sum. */
    double (*gradient)(void *block, const size_t *list, size_t begin, size_t end, double share);
    void (*add)(const void *block, double *gradient);
} clsi_rows_kind;

/* A block of memory for each thread, opened when the thread first comes and kept from call to call: one caller at a
 * time. */
typedef struct clsi_blocks {
    size_t n;
    void **list;
    const clsi_rows_kind *kind; /* of all of them */
    size_t n_order, *order;     /* room for an order of rows */
} clsi_blocks;
void clsi_blocks_clear(clsi_blocks *b);
/* This thread's block, ready for theta; NULL: no memory. */
void *clsi_block_alone(const clsi_rows_kind *kind, clsi_blocks *memory, const clsi_residual *r,
                       const double *theta);

cls_status clsi_sharded_rows(const clsi_rows_kind *kind, clsi_blocks *memory,
                             const clsi_residual *r, const double *theta, size_t first,
                             size_t count, const size_t *list, double *out, double *J);
cls_status clsi_sharded_gradient(const clsi_rows_kind *kind, clsi_blocks *memory,
                                 const clsi_residual *r, const double *theta, size_t count,
                                 const size_t *list, double *loss, double *gradient);

#endif
