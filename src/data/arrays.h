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
