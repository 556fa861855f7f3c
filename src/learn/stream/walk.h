/* Files in blocks, row by row in order or from a place on: what stream.c and pieces.c read with. */
#ifndef CLSI_LEARN_WALK_H
#define CLSI_LEARN_WALK_H

#include "learn/stream/stream.h"

/* Rows that are read together, of at most CLSI_WALK_WIDE columns; fewer of more, so that two blocks are 256 MB, but no less than CLSI_WALK_LEAST.
 * Columns of a file at most: two blocks of 1 GB. */
enum {
    CLSI_WALK_BLOCK = 1 << 15,
    CLSI_WALK_WIDE = 512,
    CLSI_WALK_LEAST = 1 << 12,
    CLSI_WALK_COLUMNS = 1 << 14
};

typedef struct clsi_walk {
    clsi_stream *st;
    size_t n_columns; /* of the files; what is given has one more, the segment */
    const char **names;
    size_t block;     /* rows of a block */
    size_t room;      /* rows of the columns; 0: two blocks */
    double **columns; /* (n_columns + 1) rows of a block, segments last */
    double **to;      /* (n_columns) where the next rows go */
    double *one;      /* (n_columns + 1) a row */
    uint64_t *row_of;
    size_t count; /* rows in the block */
    double segment, last_number, last_time;
    uint64_t row; /* the next row */
    int time, number;
} clsi_walk;

void clsi_walk_free(clsi_walk *k);
/* Names stay with the reader's head, which must outlive the table. The file's own numbers of
 * trajectories give way to those of segments. */
cls_status clsi_walk_table(clsi_walk *k, const cls_table *head, cls_table **out, cls_error *error);
/* Opens file f, whose columns must be those of the first. */
cls_status clsi_walk_open(clsi_walk *k, size_t f, cls_reader **r, cls_error *error);
/* At most `room` rows behind those that are there; *got 0 at the end. */
cls_status clsi_walk_read(clsi_walk *k, cls_reader *r, size_t room, size_t *got, cls_error *error);
/* A new trajectory, a time that does not rise, a new file or a row that is held cut: segments of the rows
 * read last. *held: where to look for rows that are held, 0 at the beginning. */
cls_status clsi_walk_segments(clsi_walk *k, size_t first, size_t got, size_t *held,
                              const char *path, cls_error *error);
/* Are there windows of so many rows? */
int clsi_walk_has_windows(const clsi_walk *k, size_t width);

/* One block, with the rows before it (kept) that windows of `reach` + 1 rows reach back to. */
typedef cls_status (*clsi_walk_use)(void *context, clsi_walk *k, const cls_table *head, size_t kept,
                                    cls_error *error);
cls_status clsi_walk_all(clsi_stream *st, size_t reach, clsi_walk_use use, void *context,
                         cls_error *error);

/* ---- with marks ---- */

int clsi_stream_is_shared(const clsi_stream *st);
uint64_t clsi_stream_rows_of(const clsi_stream *st, size_t f);
/* The reader of file f goes to its row `row`, over rows behind the mark before it. */
cls_status clsi_walk_to(clsi_walk *k, cls_reader *r, size_t f, uint64_t row, cls_error *error);
/* Those blocks of all files whose windows begin in the rows [first, last). They begin where those of
 * clsi_walk_all do, with the rows before them that windows reach back to. */
cls_status clsi_walk_some(clsi_stream *st, uint64_t first, uint64_t last, size_t reach,
                          clsi_walk_use use, void *context, cls_error *error);

#endif
