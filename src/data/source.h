/* data, inside: the formats that are read, behind one interface.
 *
 * A format opens a file, says its head (a table without rows: names, units, notes, remarks) and
 * gives rows in chunks. Mapping, conversion and times (reader.c) are the same for all. */
#ifndef CLSI_SOURCE_H
#define CLSI_SOURCE_H

#include "data/table.h"

typedef struct clsi_format {
    const char *name; /* "CSV" */
    cls_status (*open)(const char *path, const cls_read_options *o, cls_table **head, void **source,
                       cls_error *error);
    /* At most `room` rows into columns[c] (NULL: not wanted); *rows 0 after the last. */
    cls_status (*next)(void *source, size_t room, double *const *columns, size_t *rows,
                       cls_error *error);
    void (*close)(void *source); /* NULL is allowed */
    /* Where rows can be read in shares (else NULL): bytes of the file, 0 where this one has to be read
     * from its beginning; where the next row begins; the next row is then the first that begins at
     * `from` or behind it, the last one begins before `limit` (0: none). */
    uint64_t (*size)(const void *source);
    uint64_t (*place)(const void *source);
    cls_status (*seek)(void *source, uint64_t from, uint64_t limit, cls_error *error);
} clsi_format;

extern const clsi_format clsi_csv;

/* ---- lines.c: a text file in blocks ---- */

/* Blocks have 1 MB, more where a few lines do not fit; a line has at most 256 MB. */
enum { CLSI_BLOCK = 1 << 20, CLSI_LINE_LIMIT = 1 << 28, CLSI_PADDING = 64 };

typedef struct clsi_lines {
    int file;
    const char *name;
    char *block; /* room + CLSI_PADDING bytes; begin..end are not yet consumed */
    size_t begin, end, room;
    uint64_t at;   /* where the block begins in the file */
    uint64_t size; /* of the file when it was opened; 0: not known */
    int ended;
    int line; /* number of the line last returned */
    int (*stop)(void *context);
    void *context;
} clsi_lines;
cls_status clsi_lines_open(clsi_lines *l, const char *path, const cls_read_options *o,
                           cls_error *error);
void clsi_lines_close(clsi_lines *l);
/* Moves what is left to the front and fills the block up, with a few lines at least. */
cls_status clsi_lines_fill(clsi_lines *l, cls_error *error);
/* The next line is the first that begins at `from` or behind it. Lines are counted no longer. */
cls_status clsi_lines_seek(clsi_lines *l, uint64_t from, cls_error *error);
/* The next line without its end, NUL-terminated in place; *line is NULL after the last. */
cls_status clsi_lines_next(clsi_lines *l, char **line, cls_error *error);
/* FILE:LINE: sentence, with line and column in the error. */
cls_status clsi_lines_bad(const clsi_lines *l, int column, cls_error *error, const char *format,
                          ...) CLS_PRINTF(4, 5);

/* ---- dialect.c: what kind of CSV it is ---- */

typedef struct clsi_names {
    char **items, **units; /* units NULL where there is none */
    size_t n, room, units_room;
    int quoted;   /* at least one name stood in quotes */
    int trailing; /* a separator stood behind the last one */
} clsi_names;
void clsi_names_free(clsi_names *list);

typedef struct clsi_dialect {
    char separator; /* ' ' means any run of blanks and tabs */
    clsi_names names;
} clsi_dialect;
/* Reads the top of the file up to the first row of numbers: notes and remarks go to `notes`. */
cls_status clsi_dialect_read(clsi_lines *l, cls_table *notes, clsi_dialect *out, cls_error *error);

typedef struct clsi_cell {
    const char *begin, *end; /* without blanks around it, with its quotes */
} clsi_cell;
/* The cell at s; returns where the next begins, or NULL after the last. */
const char *clsi_next_cell(const char *s, const char *stop, char separator, clsi_cell *out);
/* One number, or a word for a missing one, with nothing behind it, in quotes or not. */
int clsi_is_number_cell(const clsi_cell *c, char separator);

/* ---- stamps.c: dates and times of day ---- */

enum { CLSI_DATE = 1, CLSI_CLOCK = 2, CLSI_WORDS = 4 };

typedef struct clsi_stamp {
    int kind; /* CLSI_DATE, CLSI_CLOCK or both */
    int64_t day;
    double second;
    int brief; /* no seconds in it */
    int tells; /* 1 that months stand before days, 2 behind them, 3: it may be both */
} clsi_stamp;
/* The n letters at s, quotes around them or not; 0 when they are none. order: of day and month, as `tells`; 0: not known. */
int clsi_stamp_read(const char *s, size_t n, int order, clsi_stamp *out);

/* The columns of a file that are no numbers. */
typedef struct clsi_stamps {
    unsigned char *kind; /* (columns) 0: numbers; NULL: all are */
    int order, dated;
    int pair; /* one column of dates and one of times are one time, which stands in the latter */
    size_t date, clock; /* these two */
    int64_t day;        /* of the first row: seconds count from here */
    double second;
} clsi_stamps;
/* Looks at the rows in the block; remarks go to `notes`. */
cls_status clsi_stamps_find(clsi_stamps *k, const clsi_lines *l, const clsi_dialect *d,
                            cls_table *notes, cls_error *error);
void clsi_stamps_free(clsi_stamps *k);
double clsi_stamps_seconds(const clsi_stamps *k, const clsi_stamp *t);
void clsi_stamps_begin_text(const clsi_stamps *k, char out[48]);

int clsi_is_comment(const char *line); /* after blanks */
char *clsi_trim(char *s);              /* without blanks around it, in place */

/* ---- map.c ---- */

/* One column of what the caller gets. */
typedef struct clsi_mapped {
    int from; /* column of the source, -1: made (time from dt) */
    double factor, divisor, offset;
    int converts;
} clsi_mapped;
/* From the head of a file to the head that the caller sees: columns renamed, left out, converted.
 * mapped has one entry per column of *out. */
cls_status clsi_map_head(const char *path, const cls_read_options *o, cls_table *head,
                         cls_table **out, clsi_mapped **mapped, cls_error *error);
/* "a, b" into words, with "..." around those that contain commas; free with clsi_names_free. */
cls_status clsi_split_names(const char *what, const char *text, clsi_names *out, cls_error *error);
/* Cuts " [mm]" (or " (mm)" where that is a unit) off a name: the unit, or NULL. */
char *clsi_cut_unit(char *name);

#endif
