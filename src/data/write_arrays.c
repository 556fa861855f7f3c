/* Tables as files of arrays: NPZ (one NPY array for each column, stored) and HDF5 (one dataset for each
 * column, in their order); the columns of an array of the language are one (spans.c). A column stands in one
 * piece there, rows come one after the other: the rows are kept in memory until commit, 8 bytes a number
 * (twice that for HDF5, whose library makes the file in memory, so that it can appear whole under its name
 * like any other; the largest array once more).
 *
 * Notes are the member notes.txt of an NPZ archive, lines `key: value`, and text attributes of the root of
 * an HDF5 file; both are read back. */
#include "data/arrays.h"
#include <stdlib.h>
#include <string.h>
#ifdef CLSI_HAVE_HDF5
#include <hdf5.h>
#endif

/* ---- what stands together ---- */

/* One array of the file: a column, or the columns of an array. */
typedef struct piece {
    char *name;
    size_t first, n, rank, dims[1 + CLSI_SPAN_AXES];
    double *owned;
    const double *data; /* in the order of C */
} piece;

static void piece_clear(piece *x) {
    free(x->name);
    free(x->owned);
    *x = (piece){0};
}

/* Rows of an array beside each other; a tile at a time, so that both sides stay in the cache. */
static void interleave(const cls_table *t, const piece *x, double *to) {
    enum { TILE = 64 };
    for (size_t row = 0; row < t->rows; row += TILE)
        for (size_t c = 0; c < x->n; c++)
            for (size_t i = row; i < row + TILE && i < t->rows; i++)
                to[i * x->n + c] = t->columns[x->first + c][i];
}

/* What begins at column c; an array goes into the list of the note. */
static cls_status piece_at(const cls_table *t, size_t c, clsi_text *arrays, piece *out,
                           cls_error *error) {
    clsi_span span, before;
    *out = (piece){.first = c, .n = 1, .rank = 1, .dims = {t->rows}};
    if (clsi_span_at(t, c, &span)) {
        out->name = clsi_strndup(span.name, span.letters);
        if (!out->name) return clsi_no_memory(error);
        if (!arrays->data || !clsi_span_find(arrays->data, out->name, &before)) {
            out->n = clsi_span_count(&span);
            out->rank += span.axes;
            memcpy(out->dims + 1, span.count, sizeof span.count);
            clsi_span_write(&span, arrays);
            if (out->n <= SIZE_MAX / sizeof(double) / t->rows)
                out->owned = clsi_malloc(out->n * t->rows * sizeof(double));
            if (out->owned) interleave(t, out, out->owned);
            out->data = out->owned;
            if (out->data && !arrays->failed) return CLS_OK;
            piece_clear(out);
            return clsi_no_memory(error);
        }
        free(out->name); /* a second run of the same array */
    }
    out->name = clsi_strndup(t->names[c], strlen(t->names[c]));
    out->data = t->columns[c];
    return out->name ? CLS_OK : clsi_no_memory(error);
}

/* ---- NPZ ---- */

/* Magic, version 1.0, the length of what follows, and a dictionary; together a multiple of 64 bytes. */
static size_t npy_header(const piece *x, char out[192]) {
    const union {
        uint16_t number;
        unsigned char first;
    } order = {1};
    char shape[80] = "";
    for (size_t k = 0, at = 0; k < x->rank; k++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%zu", k ? ", " : "", x->dims[k]);
    size_t n = 10 + (size_t)snprintf(out + 10, 182,
                                     "{'descr': '%cf8', 'fortran_order': False, 'shape': (%s%s), }",
                                     order.first ? '<' : '>', shape, x->rank == 1 ? "," : "");
    size_t size = n < 128 ? 128 : 192;
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    memset(out + n, ' ', size - 1 - n);
    out[size - 1] = '\n';
    out[8] = (char)(size - 10);
    out[9] = 0;
    return size;
}

static cls_status save_npz(const cls_table *t, FILE *stream, cls_error *error) {
    clsi_zip zip;
    clsi_text notes = {0}, name = {0}, arrays = {0};
    char head[192];
    piece x;
    cls_status status = CLS_OK;
    clsi_zip_begin(&zip, stream);
    for (size_t c = 0; c < t->n_columns && status == CLS_OK; c += x.n) {
        size_t n;
        status = piece_at(t, c, &arrays, &x, error);
        if (status != CLS_OK) break;
        n = x.n;
        clsi_text_clear(&name);
        clsi_text_printf(&name, "%s.npy", x.name);
        if (name.failed)
            status = clsi_no_memory(error);
        else
            clsi_zip_add(&zip, name.data, npy_header(&x, head), head, n * t->rows * sizeof(double),
                         x.data);
        piece_clear(&x);
        x.n = n;
    }
    for (size_t i = 0; i < t->n_notes; i++)
        clsi_text_printf(&notes, "%s: %s\n", t->notes[i].key, t->notes[i].value);
    if (arrays.length) clsi_text_printf(&notes, CLSI_SPAN_NOTE ": %s\n", arrays.data);
    if (notes.length && !notes.failed)
        clsi_zip_add(&zip, "notes.txt", 0, NULL, notes.length, notes.data);
    int fine = clsi_zip_end(&zip) && !notes.failed && !arrays.failed;
    clsi_text_clear(&notes);
    clsi_text_clear(&name);
    clsi_text_clear(&arrays);
    return status != CLS_OK ? status : fine ? CLS_OK : clsi_no_memory(error);
}

/* ---- HDF5 ---- */

#ifdef CLSI_HAVE_HDF5
static int add_note(hid_t file, const char *key, const char *value) {
    hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    size_t length = strlen(value);
    int fine = H5Tset_size(type, length ? length : 1) >= 0;
    hid_t a = H5Acreate2(file, key, type, space, H5P_DEFAULT, H5P_DEFAULT);
    fine = fine && a >= 0 && H5Awrite(a, type, value) >= 0;
    if (a >= 0) H5Aclose(a);
    H5Tclose(type);
    H5Sclose(space);
    return fine;
}

static int add_notes(hid_t file, const cls_table *t) {
    int fine = 1;
    for (size_t i = 0; i < t->n_notes && fine; i++)
        fine = add_note(file, t->notes[i].key, t->notes[i].value);
    return fine;
}

static int add_piece(hid_t file, hid_t links, hid_t create, const piece *x) {
    hsize_t dims[1 + CLSI_SPAN_AXES];
    for (size_t k = 0; k < x->rank; k++) dims[k] = x->dims[k];
    hid_t space = H5Screate_simple((int)x->rank, dims, NULL);
    hid_t d = space < 0
                  ? -1
                  : H5Dcreate2(file, x->name, H5T_IEEE_F64LE, space, links, create, H5P_DEFAULT);
    int fine =
        d >= 0 && H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x->data) >= 0;
    if (d >= 0) H5Dclose(d);
    if (space >= 0) H5Sclose(space);
    return fine;
}

static int add_columns(hid_t file, const cls_table *t) {
    hid_t links = H5Pcreate(H5P_LINK_CREATE), create = H5Pcreate(H5P_DATASET_CREATE);
    int fine = links >= 0 && H5Pset_create_intermediate_group(links, 1) >= 0 &&
               H5Pset_obj_track_times(create, 0) >= 0; /* the same bytes at any hour */
    clsi_text arrays = {0};
    for (size_t c = 0, n; c < t->n_columns && fine; c += n) {
        piece x;
        fine = piece_at(t, c, &arrays, &x, NULL) == CLS_OK;
        n = x.n;
        fine = fine && add_piece(file, links, create, &x);
        piece_clear(&x);
    }
    if (arrays.length && fine) fine = !arrays.failed && add_note(file, CLSI_SPAN_NOTE, arrays.data);
    clsi_text_clear(&arrays);
    if (create >= 0) H5Pclose(create);
    if (links >= 0) H5Pclose(links);
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
