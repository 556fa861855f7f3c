/* data, inside: files of arrays (NPY, NPZ, HDF5, MAT), loaded in a child process (child.c). */
#ifndef CLSI_ARRAYS_H
#define CLSI_ARRAYS_H

#include "data/source.h"

/* Numbers with a shape; element (i, j, k) is data[i stride[0] + j stride[1] + k stride[2]]. */
typedef struct clsi_array {
    char *name;
    size_t rank, dims[3], stride[3];
    double *data;
} clsi_array;

typedef struct clsi_arrays {
    clsi_array *list;
    size_t n, room;
    cls_table *notes; /* notes and remarks */
} clsi_arrays;

/* Adds an array and takes `data`; strides by the order of the file (rows first: C). */
cls_status clsi_arrays_add(clsi_arrays *a, const char *name, size_t rank, const size_t *dims,
                           int fortran, double *data, cls_error *error);
void clsi_arrays_free(clsi_arrays *a);

/* Columns that are one array of a file (spans.c). */
enum { CLSI_SPAN_AXES = 2 };
typedef struct clsi_span {
    const char *name; /* `letters` of it */
    size_t letters, axes, count[CLSI_SPAN_AXES];
    long low[CLSI_SPAN_AXES];
} clsi_span;
#define CLSI_SPAN_NOTE "arrays" /* the key of the note that names them all */
/* 1 when the columns from c on are those of an array, the last index running fastest. */
int clsi_span_at(const cls_table *t, size_t c, clsi_span *out);
size_t clsi_span_count(const clsi_span *span);
/* Its place in the note, and back: what the note says of `name`; 0 for nothing. */
void clsi_span_write(const clsi_span *span, clsi_text *out);
int clsi_span_find(const char *note, const char *name, clsi_span *out);

/* One kind of file; `load` runs in the child. NULL: not built in, `library` says what is missing. */
typedef struct clsi_loader_kind {
    const char *name, *library;
    cls_status (*load)(const char *path, clsi_arrays *out, cls_error *error);
} clsi_loader_kind;
extern const clsi_loader_kind clsi_load_npy, clsi_load_npz, clsi_load_hdf5, clsi_load_mat;

/* One kind of file that is written (write_arrays.c). save NULL: not built in. */
typedef struct clsi_saver {
    const char *ending, *name, *library;
    cls_status (*save)(const cls_table *t, FILE *stream, cls_error *error);
} clsi_saver;
/* By the ending of the path; *out NULL: it is CSV. */
cls_status clsi_saver_find(const char *path, const clsi_saver **out, cls_error *error);

extern const clsi_format clsi_child; /* recognises which of them by the first bytes */
/* 1 when the first bytes of the file are those of one of them. */
int clsi_is_array_file(const char *path);

#endif
