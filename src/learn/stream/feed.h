/* Iterations over files that do not fit: every row is used, memory does not grow with them.
 *
 * All rows are cut into pieces; some pieces are in memory at a time, as points and their residual (pieces.c).
 * Optimisers that draw batches are fed with pieces in a random order by the seed, and judged by the sample;
 * lm and lbfgs go on from the sample's solution, over all pieces in their order in every iteration (feed.c). */
#ifndef CLSI_LEARN_FEED_H
#define CLSI_LEARN_FEED_H

#include "learn/stream/walk.h"

typedef struct clsi_piece {
    uint64_t file, row;      /* the first one, of all files */
    uint64_t place, windows; /* where it begins in its file; that begin in it */
} clsi_piece;

typedef struct clsi_pieces {
    clsi_learner *w;
    clsi_stream *st;
    size_t n, together; /* pieces, and how many are loaded together */
    clsi_piece *list;
    uint64_t windows; /* of all */
    clsi_walk walk;
    cls_read_options reading; /* a load that began is finished: signals are heard between loads */
    const cls_read_options *asked;
    cls_reader *reader; /* of the file `open` */
    size_t open;
    clsi_points *points; /* what is loaded, NULL: no window; with the inputs of the parts */
    clsi_residual at;
    double **x;
    cls_status status; /* the first failure: optimisers only know that there are no rows */
} clsi_pieces;

/* Can the residual of the learner be made of pieces? */
int clsi_pieces_serve(const clsi_learner *w, const clsi_stream *st);
/* Finds where pieces begin and how many windows they have, every rank its share; ranges of inputs become
 * those of all rows. */
cls_status clsi_pieces_open(clsi_pieces *p, clsi_learner *w, clsi_stream *st);
void clsi_pieces_close(clsi_pieces *p);
cls_status clsi_pieces_load(clsi_pieces *p, size_t n, const size_t *list, size_t *windows);
/* The parts' inputs are those of what is loaded, and back again. */
void clsi_pieces_exchange(clsi_pieces *p);

/* Trains with all rows: `t` is the training of the sample. */
cls_status clsi_train_stream(clsi_learner *w, const clsi_training *t);

/* ---- for it, elsewhere ---- */

/* solve.c: a training, or what an earlier one left for the fit that goes on from it. */
cls_status clsi_train_or_resume(clsi_learner *w, const clsi_training *t);
/* linear.c: ranges of inputs and numbers of windows of all ranks. */
cls_status clsi_stream_add_windows(clsi_learner *w, clsi_stream *st);
/* linear.c: all rows alike. */
void clsi_weigh_equally(const clsi_residual *r);
/* residual.c: by the scale of energy and forces at theta. */
cls_status clsi_residual_divide_rows(clsi_residual *r, const double *theta, size_t count,
                                     double *out, double *J);
cls_status clsi_residual_divide_loss(clsi_residual *r, const double *theta, double *loss,
                                     double *gradient);

/* ---- ways.c: everything in order ---- */

/* Unknown functions from data, the whole way; stream: the rows that do not fit into memory, of which the tables are a
 * sample, or NULL. */
cls_status clsi_learn_functions(clsi_learner *w, const cls_system *system,
                                const cls_assignments *set, size_t n_tables,
                                const cls_table *const *tables, const char *const *names,
                                clsi_stream *stream, cls_model **out);

#endif
