/* Tables of named columns: trajectories in memory and in files (CSV; gzip is not read).
 *
 * A CSV file may begin with note lines `# key: value` (clausius writes system, set, scheme, h),
 * then has one header line and one line per row. Numbers are written with %.17g and read back to
 * the same bits. Files are written to a temporary name, synced and renamed. */
#ifndef CLAUSIUS_TABLE_H
#define CLAUSIUS_TABLE_H

#include <clausius/status.h>

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
CLS_API cls_status cls_table_write(const cls_table *t, const char *path, cls_error *error);
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

/* A copy in which the rows of each trajectory (column `trajectory`) stand together, in the order of
 * the file; *out is NULL when they do already, or when there is no such column. */
CLS_API cls_status cls_table_group(const cls_table *t, cls_table **out, cls_error *error);

/* Streaming, memory flat in the number of rows. `path` "-" is standard output. Nothing exists under
 * `path` before commit; discard removes every trace. */
typedef struct cls_writer cls_writer;
CLS_API cls_status cls_writer_open(const char *path, size_t n_notes, const char *const *keys,
                                   const char *const *values, size_t n_columns,
                                   const char *const *names, cls_writer **out, cls_error *error);
CLS_API cls_status cls_writer_row(cls_writer *w, const double *row, cls_error *error);
CLS_API cls_status cls_writer_commit(cls_writer **w, cls_error *error);
CLS_API void cls_writer_discard(cls_writer **w);

/* Two trajectories on the columns they share (or the ones named), rows matched by time: rows of `a`
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
