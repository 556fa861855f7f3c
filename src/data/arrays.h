/* data, inside: files of arrays (NPY, NPZ, HDF5, MAT), loaded in a child process (child.c). */
#ifndef CLSI_ARRAYS_H
#define CLSI_ARRAYS_H

#include "data/source.h"

/* Numbers with a shape; element (i, j, k) is data[i stride[0] + j stride[1] + k stride[2]]. Of a long
 * array the file keeps the numbers: then `data` is a window of it, rows [first, first + n). */
typedef struct clsi_array {
    char *name;
    size_t rank, dims[3], stride[3];
    double *data;
    size_t first, n;
    /* Rows of the first axis out of the file; NULL: data is whole. `source` lives as long as the child. */
    cls_status (*read)(void *source, size_t first, size_t n, double *to, cls_error *error);
    void *source;
} clsi_array;

/* Arrays of more numbers are read in windows, where their first axis is that of the rows. */
enum { CLSI_LONG_ARRAY = 1 << 14 };

typedef struct clsi_arrays {
    clsi_array *list;
    size_t n, room;
    cls_table *notes; /* notes and remarks */
} clsi_arrays;

/* Adds an array and takes `data`; strides by the order of the file (rows first: C). */
cls_status clsi_arrays_add(clsi_arrays *a, const char *name, size_t rank, const size_t *dims,
                           int fortran, double *data, cls_error *error);
/* The same for numbers that stay in the file, rows first; its first axis is longer than one. */
cls_status clsi_arrays_add_long(clsi_arrays *a, const char *name, size_t rank, const size_t *dims,
                                void *source,
                                cls_status (*read)(void *source, size_t first, size_t n, double *to,
                                                   cls_error *error),
                                cls_error *error);
void clsi_arrays_free(clsi_arrays *a);

/* Columns that are one array of a file (spans.c). */
enum { CLSI_SPAN_AXES = 2 };
typedef struct clsi_elements {
    const char *name; /* `letters` of it */
    const char *tail; /* behind the indices: `_q` of cell[3]_q, mostly empty */
    size_t letters, axes, count[CLSI_SPAN_AXES];
    long low[CLSI_SPAN_AXES];
} clsi_elements;
/* The indices of name[3][4]tail, the letters before them and what is behind; how many, 0: it is no element. */
size_t clsi_element_read(const char *name, long *index, size_t *letters, const char **tail);
#define CLSI_SPAN_NOTE "arrays" /* the key of the note that names them all */
/* 1 when column c is the first element of an array, in a table of so many rows. */
int clsi_span_at(const cls_table *t, uint64_t rows, size_t c, clsi_elements *out);
size_t clsi_span_count(const clsi_elements *span);
/* The column of element k, the last index running fastest. */
size_t clsi_span_column(const cls_table *t, const clsi_elements *span, size_t k);
/* The name without its indices, cell_q; NULL: no memory. */
char *clsi_span_name(const clsi_elements *span);
/* Its place in the note, and back: what the note says of `name`; 0 for nothing. */
void clsi_span_write(const clsi_elements *span, clsi_text *out);
int clsi_span_find(const char *note, const char *name, clsi_elements *out);

/* One kind of file; `load` runs in the child. NULL: not built in, `library` says what is missing. */
typedef struct clsi_loader_kind {
    const char *name, *library;
    cls_status (*load)(const char *path, clsi_arrays *out, cls_error *error);
} clsi_loader_kind;
extern const clsi_loader_kind clsi_load_npy, clsi_load_npz, clsi_load_hdf5, clsi_load_mat;

/* A file of arrays that is being written (write_arrays.c), `rows` rows of the columns of `head`. */
typedef struct clsi_array_file clsi_array_file;
struct piece;
/* One kind of them. lay_out NULL: not built in; end NULL: nothing is left to do. */
typedef struct clsi_saver {
    const char *ending, *name, *library;
    cls_status (*lay_out)(clsi_array_file *f, const cls_table *head, const char *arrays,
                          cls_error *error);
    void (*put)(clsi_array_file *f, struct piece *x, const double *data, size_t bytes);
    cls_status (*end)(clsi_array_file *f, cls_error *error);
} clsi_saver;
cls_status clsi_array_file_begin(const clsi_saver *saver, clsi_file *file, const cls_table *head,
                                 uint64_t rows, clsi_array_file **out, cls_error *error);
cls_status clsi_array_file_row(clsi_array_file *f, const double *row, cls_error *error);
/* Whether to go on writing, asked at every block. */
typedef struct clsi_stop {
    int (*ask)(void *context); /* NULL: nobody */
    void *context;
} clsi_stop;
cls_status clsi_stopped(const clsi_stop *s, const char *path, cls_error *error);
/* All rows at once, array by array; no row has come before. */
cls_status clsi_array_file_table(clsi_array_file *f, const cls_table *t, const clsi_stop *stop,
                                 cls_error *error);
cls_status clsi_array_file_end(clsi_array_file *f, cls_error *error);
void clsi_array_file_free(clsi_array_file **file); /* the file itself stays */
/* By the ending of the path; *out NULL: it is CSV. */
cls_status clsi_saver_find(const char *path, const clsi_saver **out, cls_error *error);

/* work(context, to) in a child process, which writes n bytes to `to`: 1 when it returned 1 and they are in
 * `answer`. */
int clsi_child_does(int (*work)(void *context, int to), void *context, size_t n, void *answer);
extern const clsi_format clsi_child; /* recognises which of them by the first bytes */
/* 1 when the first bytes of the file are those of one of them. */
int clsi_is_array_file(const char *path);

#endif
