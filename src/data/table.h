/* data, inside: how a table lies in memory, and what its files share. */
#ifndef CLSI_TABLE_H
#define CLSI_TABLE_H

#include "base/base.h"
#include <clausius/table.h>

/* More columns than any system has; a file with more is not what it seems to be. */
enum { CLSI_MAX_COLUMNS = 4096 };

typedef struct clsi_note {
    char *key, *value;
} clsi_note;

/* One contiguous array per column, all with the same room. */
struct cls_table {
    size_t n_columns, rows, room;
    char **names;
    double **columns;
    clsi_note *notes;
    size_t n_notes, notes_room;
    int borrowed; /* the columns are somebody else's */
};

/* Names are not empty, differ from each other, stay on one line and are at most 4096. */
cls_status clsi_check_names(size_t n, const char *const *names, cls_error *error);
/* A note that reads back: a key without blanks or colon, a value on one line. */
cls_status clsi_check_note(const char *key, const char *value, cls_error *error);
/* Refuses the endings that are not CSV; `verb` is "reads" or "writes". */
cls_status clsi_check_ending(const char *path, const char *verb, cls_error *error);

/* The column `time`, else `t`, else -1. */
int clsi_table_time(const cls_table *t);
/* "time, x, v.x", cut after 40 names, for messages; the caller's to free, NULL without memory. */
char *clsi_column_list(const cls_table *t);
/* "no column ... did you mean ...; it has: ..."; `where` names the table. Returns `status`. */
cls_status clsi_no_column(const cls_table *t, const char *where, const char *name,
                          cls_status status, cls_error *error);

#endif
