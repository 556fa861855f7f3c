/* Tables as files of arrays: NPZ (one NPY array for each column, stored) and HDF5 (one dataset for each
 * column, in their order). A column stands in one piece there, rows come one after the other: the rows are
 * kept in memory until commit, 8 bytes a number (twice that for HDF5, whose library makes the file in
 * memory, so that it can appear whole under its name like any other).
 *
 * Notes are the member notes.txt of an NPZ archive, lines `key: value`, and text attributes of the root of
 * an HDF5 file; both are read back. */
#include "data/arrays.h"
#include <stdlib.h>
#include <string.h>
#ifdef CLSI_HAVE_HDF5
#include <hdf5.h>
#endif

/* ---- NPZ ---- */

/* Magic, version 1.0, the length of what follows, and a dictionary; together a multiple of 64 bytes. */
static size_t npy_header(size_t rows, char out[128]) {
    const union {
        uint16_t number;
        unsigned char first;
    } order = {1};
    size_t n = 10 + (size_t)snprintf(out + 10, 118,
                                     "{'descr': '%cf8', 'fortran_order': False, 'shape': (%zu,), }",
                                     order.first ? '<' : '>', rows);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    memset(out + n, ' ', 127 - n);
    out[127] = '\n';
    out[8] = 118;
    out[9] = 0;
    return 128;
}

static cls_status save_npz(const cls_table *t, FILE *stream, cls_error *error) {
    clsi_zip zip;
    clsi_text notes = {0}, name = {0};
    char head[128];
    for (size_t i = 0; i < t->n_notes; i++)
        clsi_text_printf(&notes, "%s: %s\n", t->notes[i].key, t->notes[i].value);
    clsi_zip_begin(&zip, stream);
    for (size_t c = 0; c < t->n_columns; c++) {
        clsi_text_clear(&name);
        clsi_text_printf(&name, "%s.npy", t->names[c]);
        if (name.failed) break;
        clsi_zip_add(&zip, name.data, npy_header(t->rows, head), head, t->rows * sizeof(double),
                     t->columns[c]);
    }
    if (notes.length && !notes.failed)
        clsi_zip_add(&zip, "notes.txt", 0, NULL, notes.length, notes.data);
    int failed = name.failed || notes.failed;
    if (!clsi_zip_end(&zip)) failed = 1;
    clsi_text_clear(&notes);
    clsi_text_clear(&name);
    return failed ? clsi_no_memory(error) : CLS_OK;
}

/* ---- HDF5 ---- */

#ifdef CLSI_HAVE_HDF5
static int add_notes(hid_t file, const cls_table *t) {
    int fine = 1;
    for (size_t i = 0; i < t->n_notes && fine; i++) {
        hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
        size_t length = strlen(t->notes[i].value);
        fine = H5Tset_size(type, length ? length : 1) >= 0;
        hid_t a = H5Acreate2(file, t->notes[i].key, type, space, H5P_DEFAULT, H5P_DEFAULT);
        fine = fine && a >= 0 && H5Awrite(a, type, t->notes[i].value) >= 0;
        if (a >= 0) H5Aclose(a);
        H5Tclose(type);
        H5Sclose(space);
    }
    return fine;
}

static int add_columns(hid_t file, const cls_table *t) {
    hsize_t rows = t->rows;
    hid_t space = H5Screate_simple(1, &rows, NULL), links = H5Pcreate(H5P_LINK_CREATE);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    int fine = space >= 0 && links >= 0 && H5Pset_create_intermediate_group(links, 1) >= 0 &&
               H5Pset_obj_track_times(create, 0) >= 0; /* the same bytes at any hour */
    for (size_t c = 0; c < t->n_columns && fine; c++) {
        hid_t d = H5Dcreate2(file, t->names[c], H5T_IEEE_F64LE, space, links, create, H5P_DEFAULT);
        fine = d >= 0 &&
               H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->columns[c]) >= 0;
        if (d >= 0) H5Dclose(d);
    }
    if (create >= 0) H5Pclose(create);
    if (links >= 0) H5Pclose(links);
    if (space >= 0) H5Sclose(space);
    return fine;
}

/* The file, in memory. The names of the columns keep their order. */
static hid_t make_file(const cls_table *t) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), create = H5Pcreate(H5P_FILE_CREATE);
    hid_t file = -1;
    if (H5Pset_fapl_core(access, 1 << 20, 0) >= 0 &&
        H5Pset_link_creation_order(create, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0 &&
        H5Pset_attr_creation_order(create, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0 &&
        H5Pset_obj_track_times(create, 0) >= 0)
        file = H5Fcreate("clausius", H5F_ACC_TRUNC, create, access);
    H5Pclose(access);
    H5Pclose(create);
    if (file < 0 ||
        (add_columns(file, t) && add_notes(file, t) && H5Fflush(file, H5F_SCOPE_LOCAL) >= 0))
        return file;
    H5Fclose(file);
    return -1;
}

static cls_status save_hdf5(const cls_table *t, FILE *stream, cls_error *error) {
    H5E_auto2_t report;
    void *owner;
    H5Eget_auto2(H5E_DEFAULT, &report, &owner);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* the library would print */
    hid_t file = make_file(t);
    ssize_t size = file < 0 ? -1 : H5Fget_file_image(file, NULL, 0);
    char *image = size > 0 ? clsi_malloc((size_t)size) : NULL;
    cls_status status = CLS_OK;
    if (size > 0 && !image)
        status = clsi_no_memory(error);
    else if (size <= 0 || H5Fget_file_image(file, image, (size_t)size) != size)
        status = clsi_fail(error, CLS_IO,
                           "libhdf5 cannot make a file of these columns: is there memory, is each "
                           "name one that HDF5 takes?");
    else
        fwrite(image, 1, (size_t)size, stream); /* the commit looks for errors */
    free(image);
    if (file >= 0) H5Fclose(file);
    H5Eset_auto2(H5E_DEFAULT, report, owner);
    return status;
}
#else
#define save_hdf5 NULL
#endif

/* ---- which ---- */

static const clsi_saver savers[] = {
    {".npz", "NPZ", NULL, save_npz},
    {".h5", "HDF5", "libhdf5", save_hdf5},
    {".hdf5", "HDF5", "libhdf5", save_hdf5},
};

static int ends_with(const char *path, const char *ending) {
    size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcmp(path + n - k, ending);
}

cls_status clsi_saver_find(const char *path, const clsi_saver **out, cls_error *error) {
    *out = NULL;
    for (size_t i = 0; i < sizeof savers / sizeof *savers; i++)
        if (ends_with(path, savers[i].ending)) *out = &savers[i];
    if (*out && !(*out)->save)
        return clsi_fail(error, CLS_USAGE,
                         "%s: %s files are not written here: clausius was built without %s", path,
                         (*out)->name, (*out)->library);
    if (ends_with(path, ".mat") || ends_with(path, ".npy"))
        return clsi_fail(error, CLS_USAGE,
                         "%s: such files are read, not written; written are .csv, .npz, .h5 and "
                         ".hdf5",
                         path);
    return CLS_OK;
}
