/* Data that do not fit: files read in blocks, a sample of them in memory, every row in the solve.
 *
 * What has to be looked at again and again (scales, noise, positivity, validation, rollouts) looks at
 * a sample: short runs of rows spread evenly over the files. The rows of the least-squares problem
 * are made from all rows, block by block, but for the runs kept to validate. Memory does not grow
 * with the files.
 *
 * Every rank of a team counts the rows of its own range of a file (bytes of text, rows of arrays) and marks
 * where some of them begin; the marks of all tell everybody where to find any row. So the sample is read in its
 * places, and a rank reads only the blocks of which it makes rows. MAT files, pipes, and options
 * that need all rows are read from beginning to end, by everybody. */
#ifndef CLSI_LEARN_STREAM_H
#define CLSI_LEARN_STREAM_H

#include "learn/learner.h"

/* Where rows 0, spacing, 2 spacing, ... of a range of a file begin. */
enum { CLSI_MARKS = 1024 };
typedef struct clsi_marks {
    uint64_t rows, spacing, n, place[CLSI_MARKS];
} clsi_marks;

typedef struct clsi_stream {
    size_t n_files;
    const char *const *paths;
    const cls_read_options *reading;
    uint64_t rows;     /* of all files */
    cls_table *sample; /* with a column trajectory: runs and trajectories */
    uint64_t *row_of;  /* (rows of the sample) where each comes from */
    size_t n_held;     /* rows [held[2i], held[2i+1]] stay out of the solve */
    uint64_t *held;
    uint64_t windows; /* that the last pass made rows of */
    const cls_team *team;
    size_t n_ranges;   /* of every file, one a rank */
    clsi_marks *marks; /* (n_ranges, n_files); NULL: files are read from beginning to end */
} clsi_stream;

/* Counts the rows and takes the sample. */
cls_status clsi_stream_open(clsi_stream *st, const cls_learn_options *o, cls_error *error);
void clsi_stream_close(clsi_stream *st);
/* Of the trajectories of the sample those that are kept to validate. */
cls_status clsi_stream_hold(clsi_stream *st, const clsi_points *p, cls_error *error);
/* The stream serves this residual: one solve of weighted rates. */
int clsi_stream_serves(const clsi_residual *r);

/* One block of rows as points and their residual: valid until the next call of `take`. */
typedef cls_status (*clsi_stream_take)(void *context, const clsi_residual *r,
                                       const uint64_t *row_of, cls_error *error);
/* All rows but those held, block by block, as windows of the width and the fields of w; at least
 * those of windows that begin in the rows [first, last), where more need not be read. `read` is told
 * how many rows were read; non-zero stops. */
cls_status clsi_stream_pass(clsi_stream *st, const clsi_learner *w, uint64_t first, uint64_t last,
                            clsi_stream_take take, int (*read)(void *context, uint64_t rows),
                            void *context);

/* ---- for it, elsewhere ---- */

/* data.c: points of one table, all windows of this width, none for validation. */
cls_status clsi_points_create_like(const cls_system *s, const cls_table *t, const char *name,
                                   const clsi_points *like, clsi_points **out, cls_error *error);
/* unknown_scale.c: the scaled inputs of all parts at points p, for the sample's own x to come back. */
cls_status clsi_unknowns_inputs(const clsi_unknowns *us, const cls_system *system,
                                const clsi_points *p, double **x, cls_error *error);
/* residual.c: out is r at the points p; only its weights are its own. */
cls_status clsi_residual_at(const clsi_residual *r, const clsi_points *p, clsi_residual *out,
                            cls_error *error);

#endif
