/* Tables of named columns: trajectories in memory and in files.
 *
 * Read are CSV as instruments write it, NPY and NPZ, HDF5 and MAT (docs/format.md); written are
 * CSV and, by the ending of the path, NPZ (.npz) and HDF5 (.h5, .hdf5). A CSV file may begin with note lines `# key: value`
 * (clausius writes system, set, scheme, h), then has one header line and one line per row. Numbers
 * are written as the shortest text that reads back to the same bits, whatever the locale. Files are
 * written to a temporary name, synced and renamed. */
#ifndef CLAUSIUS_TABLE_H
#define CLAUSIUS_TABLE_H

#include <clausius/status.h>
#include <clausius/system.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_table cls_table;

CLS_API cls_status cls_table_create(size_t n_columns, const char *const *names, cls_table **out,
                                    cls_error *error);
/* A table over columns of the caller, `rows` numbers each, which outlive it: nothing is copied, and
 * no row can be appended. */
CLS_API cls_status cls_table_borrow(size_t n_columns, const char *const *names, size_t rows,
                                    const double *const *columns, cls_table **out,
                                    cls_error *error);
/* `path` "-" reads standard input. Errors name file, line, column and what was expected. */
CLS_API cls_status cls_table_read(const char *path, cls_table **out, cls_error *error);

/* How measured data are read. A column with a unit (in the file's header or in `map`) that gets the
 * name of a column of `system` is converted to the unit that the system declares, or to coherent SI
 * where it declares none; dimensions are checked. Without a system, only units in `map` convert. */
typedef struct cls_read_options {
    size_t size;              /* sizeof(cls_read_options) */
    const char *columns;      /* "t, x, v": names for all columns, instead of the file's; NULL */
    const char *map;          /* "x=position [mm], time=t [ms]": ours = the file's; NULL */
    double dt;                /* > 0: there is no time column, row k is at k dt */
    const cls_system *system; /* whose `data` lines and units apply; NULL */
    const char *array;        /* NPZ, HDF5, MAT: which array or group; NULL: all that fit */
    /* Called with `context` at least ten times a second; non-zero: CLS_INTERRUPTED. NULL: never. */
    int (*stop)(void *context);
    void *context;
    /* Rows with an empty or `nan` cell: 0 are refused; 1 are left out; 2 stay, the cell being NAN (for
     * recordings: learning uses the rest of the row). Both are counted in a remark. */
    int drop_missing;
} cls_read_options;
CLS_API cls_read_options cls_read_defaults(void);
CLS_API cls_status cls_table_read_with(const char *path, const cls_read_options *options,
                                       cls_table **out, cls_error *error);
CLS_API cls_status cls_table_write(const cls_table *t, const char *path, cls_error *error);
typedef struct cls_write_options {
    size_t size; /* sizeof(cls_write_options) */
    /* As of cls_read_options. Then there is no file, and one that was there before is as it was. */
    int (*stop)(void *context);
    void *context;
} cls_write_options;
CLS_API cls_write_options cls_write_defaults(void);
CLS_API cls_status cls_table_write_with(const cls_table *t, const char *path,
                                        const cls_write_options *options, cls_error *error);
CLS_API void cls_table_free(cls_table **table);

CLS_API size_t cls_table_rows(const cls_table *t);
CLS_API size_t cls_table_columns(const cls_table *t);
CLS_API const char *cls_table_name(const cls_table *t, size_t column);
CLS_API int cls_table_find(const cls_table *t, const char *name); /* -1 when there is none */
CLS_API const double *cls_table_column(const cls_table *t, size_t column); /* rows numbers */
CLS_API cls_status cls_table_append(cls_table *t, const double *row, cls_error *error);
CLS_API cls_status cls_table_set_note(cls_table *t, const char *key, const char *value,
                                      cls_error *error);
CLS_API const char *cls_table_note(const cls_table *t, const char *key); /* NULL when absent */
CLS_API size_t cls_table_note_count(const cls_table *t);
CLS_API const char *cls_table_note_key(const cls_table *t, size_t i);
/* The unit of a column, as text; NULL when none is known. */
CLS_API const char *cls_table_unit(const cls_table *t, size_t column);
CLS_API cls_status cls_table_set_unit(cls_table *t, size_t column, const char *unit,
                                      cls_error *error);
/* Remarks of the reader: names guessed, units converted, lines left out. */
CLS_API size_t cls_table_remark_count(const cls_table *t);
CLS_API const char *cls_table_remark(const cls_table *t, size_t i);

/* Dates of a file are read as seconds from its first row on; its note `begins` says when that was. Afterwards they
 * count from `begins`, the note of another table; NULL, or a table without dates: nothing changes. */
CLS_API cls_status cls_table_align(cls_table *t, const char *begins, cls_error *error);

/* A copy in which the rows of each trajectory (column `trajectory`) stand together, in the order of
 * the file; *out is NULL when they do already, or when there is no such column. */
CLS_API cls_status cls_table_group(const cls_table *t, cls_table **out, cls_error *error);

/* Statistics and defects of a column (definitions: src/data/inspect.c). */
typedef struct cls_column_facts {
    double min, max, mean;
    double noise;   /* standard deviation, an upper bound; NaN where rows are too few */
    double quantum; /* values repeat and this is the smallest step between them; else 0 */
    size_t outliers;
    size_t wraps; /* jumps by `turn` (2 pi or 360), as of a wrapped angle */
    double turn;
    int constant, rises; /* rises: strictly increasing */
} cls_column_facts;
CLS_API cls_status cls_table_inspect_column(const cls_table *t, size_t column,
                                            cls_column_facts *out, cls_error *error);
/* The column `time`, within trajectories. */
typedef struct cls_time_facts {
    int known; /* 0: there is none, or no row */
    double first, last;
    double spacing, spacing_min, spacing_max; /* median, ends */
    double jitter;                            /* rms of spacing - median, without gaps */
    double widest, widest_after;
    size_t gaps, missing;         /* spacings above 1.5 times the median; rows that lack there */
    size_t backwards, duplicates; /* not above the row before; equal to it */
    size_t trajectories;
} cls_time_facts;
CLS_API cls_status cls_table_inspect_time(const cls_table *t, cls_time_facts *out,
                                          cls_error *error);

/* The same in chunks: memory flat in the number of rows. The head is a table without rows that has
 * the names, units, notes and remarks of what will come; it lives as long as the reader. */
typedef struct cls_reader cls_reader;
CLS_API cls_status cls_reader_open(const char *path, const cls_read_options *options,
                                   cls_reader **out, cls_error *error);
CLS_API const cls_table *cls_reader_head(const cls_reader *r);
/* The next rows, at most `room`: columns[c][0 .. *rows) are filled for every column of the head, a
 * NULL pointer means that the column is not wanted. *rows is 0 after the last. */
CLS_API cls_status cls_reader_next(cls_reader *r, size_t room, double *const *columns, size_t *rows,
                                   cls_error *error);
CLS_API void cls_reader_close(cls_reader **r);

/* What a number in unit `from` is in unit `to` (NULL: coherent SI): x factor / divisor + offset.
 * CLS_DATA when a unit is not known or the dimensions differ. */
CLS_API cls_status cls_unit_convert(const char *from, const char *to, double *factor,
                                    double *divisor, double *offset, cls_error *error);

/* Writing as a stream, memory flat in the number of rows. `path` "-" is standard output. Nothing exists under
 * `path` before commit; discard removes what was written. NPZ and HDF5 have a column in one piece: where
 * the number of rows is told before the first (then exactly so many must come), they go to
 * their places at once, otherwise they are kept in memory until commit. */
typedef struct cls_writer cls_writer;
CLS_API cls_status cls_writer_open(const char *path, size_t n_notes, const char *const *keys,
                                   const char *const *values, size_t n_columns,
                                   const char *const *names, cls_writer **out, cls_error *error);
CLS_API cls_status cls_writer_expect(cls_writer *w, uint64_t rows, cls_error *error);
CLS_API cls_status cls_writer_row(cls_writer *w, const double *row, cls_error *error);
/* Text that is sealed ends with `# end: N rows, sum X`, X the sum (FNV-1a, 64 bits, 16 hexadecimal
 * digits) of all bytes before that line: who reads it can tell that it is whole. Before the first row. */
CLS_API cls_status cls_writer_seal(cls_writer *w, cls_error *error);
CLS_API cls_status cls_writer_commit(cls_writer **w, cls_error *error);
CLS_API void cls_writer_discard(cls_writer **w);

/* Two trajectories on the columns they share (or the ones named, u[*] for those of an array), rows matched by time: rows of `a`
 * whose time is within 1e-9 (relative to the larger of |t| and the spacing) of a row of `b`; by
 * (trajectory, time) where both have a trajectory column. */
typedef struct cls_difference {
    const char *column; /* borrowed from table a */
    double mae, max, rmse;
    double time_of_max;
} cls_difference;
/* out has capacity cls_table_columns(a); *n columns were compared over *rows rows. */
CLS_API cls_status cls_table_compare(const cls_table *a, const cls_table *b, size_t n_names,
                                     const char *const *names, cls_difference *out, size_t *n,
                                     size_t *rows, cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
