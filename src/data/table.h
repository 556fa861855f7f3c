/* data, inside: how a table lies in memory, and what its files share. */
#ifndef CLSI_TABLE_H
#define CLSI_TABLE_H

#include "base/base.h"
#include <clausius/table.h>

/* More columns than any system has; a file with more is not what it seems to be. */
enum { CLSI_MAX_COLUMNS = 4000000 };

typedef struct clsi_note {
    char *key, *value;
} clsi_note;

/* One contiguous array per column, all with the same room, all in `block` unless they are borrowed. */
struct cls_table {
    size_t n_columns, rows, room;
    char **names;
    char **units; /* (n_columns) NULL where none is known */
    double **columns, *block;
    clsi_note *notes;
    size_t n_notes, notes_room;
    int borrowed;                /* the columns are somebody else's */
    size_t *note_slots, n_slots; /* notes by hash, 1 + their number; a power of two */
    uint32_t *name_slots;        /* columns by hash, 1 + their number */
    size_t n_name_slots;         /* a power of two */
    char **remarks;              /* sentences about what reading did */
    size_t n_remarks, remarks_room;
};

/* A sentence for the user about what was read; forgotten when there is no memory for it. */
void clsi_table_remark(cls_table *t, const char *format, ...) CLS_PRINTF(2, 3);
/* Notes, remarks: from one table to another that has none. */
void clsi_table_move_notes(cls_table *from, cls_table *to);
cls_status clsi_table_copy_notes(const cls_table *from, cls_table *to, cls_error *error);
/* A table without rows that has the columns, units, notes and remarks of another. */
cls_status clsi_table_like(const cls_table *from, cls_table **out, cls_error *error);
/* After names have changed. */
cls_status clsi_table_index(cls_table *t, cls_error *error);
/* Room for `rows` rows in every column. */
cls_status clsi_table_reserve(cls_table *t, size_t rows, cls_error *error);
/* The same for so many and no more, which will come. */
cls_status clsi_table_expect(cls_table *t, size_t rows, cls_error *error);

/* Names are not empty, differ from each other, stay on one line and are at most CLSI_MAX_COLUMNS. */
cls_status clsi_check_names(size_t n, const char *const *names, cls_error *error);
/* A note that reads back: a key without blanks or colon, a value on one line. */
cls_status clsi_check_note(const char *key, const char *value, cls_error *error);
/* The column `time`, else `t`, else -1. */
int clsi_table_time(const cls_table *t);

/* Readers of files whose rows can be read in shares (source.h): 0 bytes for others. Times that are
 * made of a spacing need all rows. */
uint64_t clsi_reader_size(const cls_reader *r);
uint64_t clsi_reader_place(const cls_reader *r);
cls_status clsi_reader_seek(cls_reader *r, uint64_t from, uint64_t limit, cls_error *error);

/* "time, x, v.x", cut after 40 names, for messages; the caller's to free, NULL without memory. */
char *clsi_column_list(const cls_table *t);
/* How the name, which is no column, means elements of an array: 2, 1, or 0 (cls_means_element). */
int clsi_table_way(const cls_table *t, const char *name);
/* "no column ... did you mean ...; it has: ..."; `where` names the table. Returns `status`. */
cls_status clsi_no_column(const cls_table *t, const char *where, const char *name,
                          cls_status status, cls_error *error);

#endif
