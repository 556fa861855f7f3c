/* A batch of windows on its way through the residual: batch.c evaluates it, batch_rows.c makes rows
 * and gradients of it. */
#ifndef CLSI_LEARN_BATCH_H
#define CLSI_LEARN_BATCH_H

#include "learn/learn.h"

enum { CLSI_BATCH_POINTS = 252 }; /* of a batch at most; at most as many windows */
enum { CLSI_BATCH_ROWS = 4 * CLSI_BATCH_POINTS };

typedef enum clsi_batch_program {
    CLSI_BATCH_VALUES,
    CLSI_BATCH_SLOPES,
    CLSI_BATCH_ADJOINT,
    CLSI_BATCH_PROGRAMS
} clsi_batch_program;

typedef struct clsi_batch {
    const clsi_residual *r;
    const double *theta;
    size_t n, window[CLSI_BATCH_POINTS],
        slot[CLSI_BATCH_POINTS]
            [CLSI_MOST_WIDTH]; /* windows and which points of the batch are theirs */
    size_t n_points, point[CLSI_BATCH_POINTS];
    size_t most;     /* points: as many as all fields with blocks take */
    int row;         /* the points follow each other in the data */
    double *weights; /* (POINTS, 2, width) of the rates, by window: for momenta, for the others */
    double *
        in; /* (nz + nu + 1 + K [+ m] + Q, POINTS): states, inputs, time, symbols, S' where temperatures are
                      * hidden, coefficients */
    double *out;               /* (Q [+ the slopes], POINTS); the adjoint: (K, POINTS) */
    double *value, *slope, *x; /* of one field: (POINTS), (POINTS, d), (POINTS, d) */
    double *scratch;
    double *work[CLSI_BATCH_PROGRAMS];
    double *
        part; /* (n_theta, and as much for a row) a shard's gradient of the fields that have no pass */
    double **pass; /* (unknowns): see clsi_field_blocks */
    /* Of the rows at hand (batch_rows.c); here, because stacks of threads may be small. */
    uint32_t row_equation[CLSI_BATCH_ROWS];
    uint16_t row_window[CLSI_BATCH_ROWS];
    double *row_room; /* (width), (width, d), (width, d): slopes and inputs of one of them */
    double *block;
} clsi_batch;

/* As blocks of shards.h. */
void *clsi_batch_open(const clsi_residual *r);
void clsi_batch_close(void *batch);
void clsi_batch_begin(void *batch, const clsi_residual *r, const double *theta);
/* Zero when there is no room left for window w. */
int clsi_batch_add(clsi_batch *b, size_t w);
/* The place of a point in the batch. Neighbouring windows share points. */
size_t clsi_batch_slot(clsi_batch *b, size_t point);
/* What a field takes at the points. */
const double *clsi_batch_inputs(const clsi_batch *b, const clsi_unknown *u);
/* How a field goes block by block, NULL: it does not. */
const clsi_field_blocks *clsi_batch_blocks(const clsi_learned *l);
void clsi_batch_run(clsi_batch *b, clsi_batch_program which, size_t n, const double *in,
                    double *out);
/* The quantities at the points. */
void clsi_batch_evaluate(clsi_batch *b, int with_slopes);

/* The weights of the rates in a window; scheme (25) has other ones for momenta than for the rest.
 */
static inline double *clsi_batch_weights(const clsi_batch *b, size_t w, int rest) {
    return b->weights + (2 * w + (size_t)rest) * b->r->points->width;
}

#endif
