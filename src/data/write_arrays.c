/* Tables as files of arrays, written as a stream: NPZ (one NPY array for each column, stored) and HDF5 (one
 * dataset for each column, in their order); the columns of an array of the language are one (spans.c).
 *
 * A column stands in one piece there, rows come one after the other. How many rows will come is told first, so every
 * array has its place in the file before the first row; rows are gathered in one block, and a full block goes, array by
 * array, to where it belongs. Memory does not grow with the rows, every byte is written once. libhdf5 makes
 * a file with its datasets empty, in a child process, and says where they lie.
 *
 * Notes are the member notes.txt of an NPZ archive, lines `key: value`, and text attributes of the root of
 * an HDF5 file; both are read back. */
#include "data/arrays.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef CLSI_HAVE_HDF5
#include <hdf5.h>
#endif

enum { BLOCK = 1 << 20 }; /* bytes of rows that are written together */

/* One array of the file: a column, or the columns of an array. */
typedef struct piece {
    char *name;
    size_t first, n, rank;
    size_t *at_column; /* (n) of an array; NULL: the columns from `first` on, side by side */
    uint64_t dims[1 + CLSI_SPAN_AXES];
    uint64_t at;          /* where its next number goes */
    uint64_t place, size; /* NPZ: where its member begins, bytes of it */
    uint32_t crc;
} piece;

struct clsi_array_file {
    const clsi_saver *saver;
    clsi_file *file;
    size_t n_columns, n, room; /* room: of pieces */
    piece *pieces;
    clsi_text notes; /* of NPZ */
    clsi_zip zip;
    uint64_t rows, done;
    int failed;          /* something could not be written */
    size_t most, filled; /* rows of the block */
    double *block, *part;
};

/* ---- what stands together ---- */

/* Where the elements stand, unless that is side by side. 0: no memory. */
static int find_columns(const cls_table *t, const clsi_elements *span, piece *x) {
    int together = 1;
    size_t *at = clsi_calloc(x->n, sizeof *at);
    if (!at) return 0;
    for (size_t k = 0; k < x->n; k++) {
        at[k] = clsi_span_column(t, span, k);
        together &= at[k] == x->first + k;
    }
    if (together) free(at);
    x->at_column = together ? NULL : at;
    return 1;
}

/* Column c of `rows` rows, or the array that begins with it; an array goes into the list of the note. */
static cls_status piece_at(const cls_table *t, uint64_t rows, size_t c, int is_array,
                           clsi_text *arrays, piece *out, cls_error *error) {
    clsi_elements span;
    *out = (piece){.first = c, .n = 1, .rank = 1, .dims = {rows}};
    if (is_array && clsi_span_at(t, rows, c, &span)) {
        out->name = clsi_span_name(&span);
        out->n = clsi_span_count(&span);
        if (!out->name || !find_columns(t, &span, out)) return clsi_no_memory(error);
        out->rank += span.axes;
        for (size_t k = 0; k < span.axes; k++) out->dims[1 + k] = span.count[k];
        clsi_span_write(&span, arrays);
        return arrays->failed ? clsi_no_memory(error) : CLS_OK;
    }
    out->name = clsi_strdup(t->names[c]);
    return out->name ? CLS_OK : clsi_no_memory(error);
}

/* Of every column 1 + that of the first element of its array, 0 of those that are of none. */
static cls_status find_owners(const clsi_array_file *f, const cls_table *t, uint32_t *owner,
                              cls_error *error) {
    clsi_text seen = {0};
    cls_status status = CLS_OK;
    for (size_t c = 0; c < t->n_columns && status == CLS_OK; c++) {
        clsi_elements span, before;
        if (!clsi_span_at(t, f->rows, c, &span)) continue;
        char *name = clsi_span_name(&span);
        if (!name) status = clsi_no_memory(error);
        size_t n = name && !(seen.data && clsi_span_find(seen.data, name, &before))
                       ? clsi_span_count(&span)
                       : 0; /* a second run of the same array: columns */
        for (size_t k = 0; k < n; k++) owner[clsi_span_column(t, &span, k)] = (uint32_t)c + 1;
        if (n) clsi_span_write(&span, &seen);
        free(name);
    }
    if (status == CLS_OK && seen.failed) status = clsi_no_memory(error);
    clsi_text_clear(&seen);
    return status;
}

/* An array stands where the first of its columns stood. */
static cls_status make_pieces(clsi_array_file *f, const cls_table *t, clsi_text *arrays,
                              cls_error *error) {
    uint32_t *owner = clsi_calloc(2 * t->n_columns + 2, sizeof *owner);
    uint32_t *done = owner ? owner + t->n_columns + 1 : NULL; /* of the first elements */
    cls_status status = owner ? find_owners(f, t, owner, error) : clsi_no_memory(error);
    for (size_t c = 0; c < t->n_columns && status == CLS_OK; c++) {
        size_t first = owner[c] ? owner[c] - 1 : c;
        if (done[first]) continue;
        done[first] = 1;
        if (!clsi_grow(&f->pieces, &f->room, f->n + 1, sizeof *f->pieces))
            status = clsi_no_memory(error);
        else
            status = piece_at(t, f->rows, first, owner[c] != 0, arrays, &f->pieces[f->n++], error);
    }
    free(owner);
    return status;
}

/* Bytes behind those of the array that are there. */
static void put_bytes(clsi_array_file *f, piece *x, const void *data, size_t n) {
    if (!n) return;
    if (fseeko(f->file->stream, (off_t)x->at, SEEK_SET) != 0 ||
        fwrite(data, 1, n, f->file->stream) != n)
        f->failed = 1;
    x->at += n;
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
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%llu", k ? ", " : "",
                               (unsigned long long)x->dims[k]);
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

/* In an archive an array has the ending of a file. */
static cls_status lay_out_npz(clsi_array_file *f, const cls_table *t, const char *arrays,
                              cls_error *error) {
    char head[192];
    clsi_zip_begin(&f->zip, f->file->stream);
    for (size_t i = 0; i < f->n; i++) {
        piece *x = &f->pieces[i];
        clsi_text name = {0};
        clsi_text_printf(&name, "%s.npy", x->name);
        free(x->name);
        if (!(x->name = clsi_text_take(&name))) return clsi_no_memory(error);
        size_t n = npy_header(x, head);
        x->size = n + f->rows * x->n * sizeof(double);
        x->place = clsi_zip_keep(&f->zip, x->name, x->size);
        x->at = f->zip.offset - x->size;
        x->crc = clsi_zip_checksum(&f->zip, 0, head, n);
        put_bytes(f, x, head, n);
    }
    for (size_t i = 0; i < t->n_notes; i++)
        clsi_text_printf(&f->notes, "%s: %s\n", t->notes[i].key, t->notes[i].value);
    if (arrays) clsi_text_printf(&f->notes, CLSI_SPAN_NOTE ": %s\n", arrays);
    return f->notes.failed ? clsi_no_memory(error) : CLS_OK;
}

static void put_npz(clsi_array_file *f, piece *x, const double *data, size_t n) {
    x->crc = clsi_zip_checksum(&f->zip, x->crc, data, n);
    put_bytes(f, x, data, n);
}

static cls_status end_npz(clsi_array_file *f, cls_error *error) {
    for (size_t i = 0; i < f->n; i++) {
        const piece *x = &f->pieces[i];
        clsi_zip_fill(&f->zip, x->name, x->place, x->size, x->crc);
    }
    if (f->notes.length)
        clsi_zip_add(&f->zip, "notes.txt", 0, NULL, f->notes.length, f->notes.data);
    return clsi_zip_end(&f->zip) ? CLS_OK : clsi_no_memory(error);
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

/* An empty dataset that has its place. */
static int add_piece(hid_t file, hid_t links, hid_t create, piece *x) {
    hsize_t dims[1 + CLSI_SPAN_AXES];
    for (size_t k = 0; k < x->rank; k++) dims[k] = x->dims[k];
    hid_t space = H5Screate_simple((int)x->rank, dims, NULL);
    hid_t d = space < 0
                  ? -1
                  : H5Dcreate2(file, x->name, H5T_NATIVE_DOUBLE, space, links, create, H5P_DEFAULT);
    haddr_t at = d < 0 ? HADDR_UNDEF : H5Dget_offset(d);
    int fine = d >= 0 && (at != HADDR_UNDEF || !x->dims[0]);
    x->at = at;
    if (d >= 0) H5Dclose(d);
    if (space >= 0) H5Sclose(space);
    return fine;
}

static int add_pieces(clsi_array_file *f, hid_t file) {
    hid_t links = H5Pcreate(H5P_LINK_CREATE), create = H5Pcreate(H5P_DATASET_CREATE);
    int fine = links >= 0 && H5Pset_create_intermediate_group(links, 1) >= 0 &&
               H5Pset_obj_track_times(create, 0) >= 0 && /* the same bytes at any hour */
               H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY) >= 0 &&
               H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) >= 0;
    for (size_t i = 0; i < f->n && fine; i++) fine = add_piece(file, links, create, &f->pieces[i]);
    if (create >= 0) H5Pclose(create);
    if (links >= 0) H5Pclose(links);
    return fine;
}

/* The names of the columns keep their order. Nobody else knows the file: it needs no lock, and its name
 * goes as soon as it is open. */
static hid_t make_file(const char *path) {
    hid_t create = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
#if H5_VERSION_GE(1, 10, 7) && !(H5_VERSION_GE(1, 12, 0) && !H5_VERSION_GE(1, 12, 1))
    H5Pset_file_locking(access, 0, 1);
#endif
    if (H5Pset_link_creation_order(create, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0 &&
        H5Pset_attr_creation_order(create, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0 &&
        H5Pset_obj_track_times(create, 0) >= 0)
        file = H5Fcreate(path, H5F_ACC_TRUNC, create, access);
    unlink(path);
    H5Pclose(access);
    H5Pclose(create);
    return file;
}

static int fill_file(clsi_array_file *f, const cls_table *t, const char *arrays, const char *path) {
    H5E_auto2_t report;
    void *owner;
    H5Eget_auto2(H5E_DEFAULT, &report, &owner);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* the library would print */
    hid_t file = make_file(path);
    int fine = file >= 0 && add_pieces(f, file);
    if (arrays) fine = fine && add_note(file, CLSI_SPAN_NOTE, arrays);
    for (size_t i = 0; i < t->n_notes && fine; i++)
        fine = add_note(file, t->notes[i].key, t->notes[i].value);
    if (file >= 0 && H5Fclose(file) < 0) fine = 0;
    H5Eset_auto2(H5E_DEFAULT, report, owner);
    return fine;
}

/* What libhdf5 has written around the places of the numbers. */
static int copy_around(clsi_array_file *f, int from) {
    struct stat st;
    char block[8192];
    FILE *to = f->file->stream;
    uint64_t at = 0, end = fstat(from, &st) == 0 ? (uint64_t)st.st_size : 0;
    for (size_t i = 0; i <= f->n; i++) {
        const piece *x = i < f->n ? &f->pieces[i] : NULL;
        uint64_t next = x && f->rows ? x->at : end;
        if (next < at || fseeko(to, (off_t)at, SEEK_SET) != 0) return 0;
        for (ssize_t got; at < next; at += (uint64_t)got) {
            size_t want = next - at < sizeof block ? (size_t)(next - at) : sizeof block;
            got = pread(from, block, want, (off_t)at);
            if (got <= 0 || fwrite(block, 1, (size_t)got, to) != (size_t)got) return 0;
        }
        if (x) at += f->rows * x->n * sizeof(double);
    }
    return end > 0;
}

/* libhdf5 does not survive everything that can fail (no memory, no room while it closes): a child makes
 * the file and says where the numbers go. */
typedef struct layout {
    clsi_array_file *f;
    const cls_table *t;
    const char *arrays, *path;
} layout;

static int lay_out(void *context, int to) {
    const layout *l = context;
    int fine = fill_file(l->f, l->t, l->arrays, l->path);
    for (size_t i = 0; i < l->f->n && fine; i++) {
        const uint64_t at = l->f->pieces[i].at;
        fine = write(to, &at, sizeof at) == (ssize_t)sizeof at;
    }
    return fine;
}

static int fill_in_child(clsi_array_file *f, const cls_table *t, const char *arrays,
                         const char *path) {
    layout l = {f, t, arrays, path};
    uint64_t *at = clsi_calloc(f->n + 1, sizeof *at);
    int fine = at && clsi_child_does(lay_out, &l, f->n * sizeof *at, at);
    for (size_t i = 0; i < f->n && fine; i++) f->pieces[i].at = at[i];
    free(at);
    return fine;
}

/* libhdf5 wants a name: a file of holes beside the one that has none. */
static cls_status lay_out_hdf5(clsi_array_file *f, const cls_table *t, const char *arrays,
                               cls_error *error) {
    clsi_text path = {0};
    clsi_text_printf(&path, "%s.tmp-%ld-h5", f->file->path, (long)getpid());
    if (path.failed) return clsi_no_memory(error);
    int from = open(path.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int fine = from >= 0 && fill_in_child(f, t, arrays, path.data) && copy_around(f, from);
    if (from >= 0) close(from);
    if (from >= 0) unlink(path.data); /* where the child has not come so far */
    clsi_text_clear(&path);
    if (fine) return CLS_OK;
    return clsi_fail(error, CLS_IO,
                     "%s: cannot write: libhdf5 makes no file of these columns: is there room, is "
                     "each name one that HDF5 takes?",
                     f->file->path);
}
#else
#define lay_out_hdf5 NULL
#endif

/* ---- rows ---- */

static cls_status check_written(const clsi_array_file *f, cls_error *error) {
    if (!f->failed && !ferror(f->file->stream)) return CLS_OK;
    return clsi_fail(error, CLS_IO, "%s: cannot write: %s", f->file->path, strerror(errno));
}

static cls_status write_block(clsi_array_file *f, cls_error *error) {
    for (size_t i = 0; i < f->n; i++) {
        piece *x = &f->pieces[i];
        const double *row = f->block;
        double *to = f->part;
        for (size_t r = 0; r < f->filled; r++, row += f->n_columns, to += x->n)
            if (x->at_column)
                for (size_t k = 0; k < x->n; k++) to[k] = row[x->at_column[k]];
            else if (x->n == 1)
                *to = row[x->first];
            else
                memcpy(to, row + x->first, x->n * sizeof *to);
        f->saver->put(f, x, f->part, f->filled * x->n * sizeof(double));
    }
    f->filled = 0;
    return check_written(f, error);
}

static void put_hdf5(clsi_array_file *f, piece *x, const double *data, size_t n) {
    put_bytes(f, x, data, n);
}

cls_status clsi_array_file_row(clsi_array_file *f, const double *row, cls_error *error) {
    if (f->done == f->rows)
        return clsi_fail(error, CLS_USAGE, "%s: %llu rows were said to come, there is one more",
                         f->file->path, (unsigned long long)f->rows);
    memcpy(f->block + f->filled * f->n_columns, row, f->n_columns * sizeof *row);
    f->done++;
    return ++f->filled == f->most ? write_block(f, error) : CLS_OK;
}

/* Rows from..from + n of one array, out of columns. */
static void put_columns(clsi_array_file *f, piece *x, const cls_table *t, size_t from, size_t n) {
    double *to = f->part;
    if (x->n > 1)
        for (size_t r = 0; r < n; r++)
            for (size_t k = 0; k < x->n; k++)
                *to++ = t->columns[x->at_column ? x->at_column[k] : x->first + k][from + r];
    f->saver->put(f, x, x->n > 1 ? f->part : t->columns[x->first] + from,
                  n * x->n * sizeof(double));
}

cls_status clsi_array_file_table(clsi_array_file *f, const cls_table *t, const clsi_stop *stop,
                                 cls_error *error) {
    size_t step = BLOCK / sizeof(double); /* of one column */
    cls_status status = CLS_OK;
    for (size_t i = 0; i < f->n && status == CLS_OK; i++) {
        piece *x = &f->pieces[i];
        size_t most = x->n > 1 ? f->most : step;
        for (size_t r = 0; r < t->rows && status == CLS_OK; r += most) {
            put_columns(f, x, t, r, t->rows - r < most ? t->rows - r : most);
            status = check_written(f, error);
            if (status == CLS_OK) status = clsi_stopped(stop, f->file->path, error);
        }
    }
    f->done += t->rows;
    return status;
}

cls_status clsi_array_file_end(clsi_array_file *f, cls_error *error) {
    if (f->done != f->rows)
        return clsi_fail(error, CLS_USAGE, "%s: %llu rows were said to come, there are %llu",
                         f->file->path, (unsigned long long)f->rows, (unsigned long long)f->done);
    cls_status status = write_block(f, error);
    if (status == CLS_OK && f->saver->end) status = f->saver->end(f, error);
    return status;
}

cls_status clsi_array_file_begin(const clsi_saver *saver, clsi_file *file, const cls_table *head,
                                 uint64_t rows, clsi_array_file **out, cls_error *error) {
    struct stat st;
    clsi_text arrays = {0};
    *out = NULL;
    if (fstat(fileno(file->stream), &st) != 0 || !S_ISREG(st.st_mode))
        return clsi_fail(
            error, CLS_IO,
            "%s: cannot write: %s needs an ordinary file, its arrays grow side by side", file->path,
            saver->name);
    if (rows > INT64_MAX / sizeof(double) / head->n_columns)
        return clsi_fail(error, CLS_USAGE, "%s: %llu rows are too many for a file", file->path,
                         (unsigned long long)rows);
    clsi_array_file *f = clsi_calloc(1, sizeof *f);
    if (!f) return clsi_no_memory(error);
    *f =
        (clsi_array_file){.saver = saver, .file = file, .n_columns = head->n_columns, .rows = rows};
    f->most = BLOCK / sizeof(double) / f->n_columns;
    if (f->most > rows) f->most = (size_t)rows;
    if (!f->most) f->most = 1;
    f->block = clsi_calloc(f->most, f->n_columns * sizeof *f->block);
    f->part = clsi_calloc(f->most, f->n_columns * sizeof *f->part);
    cls_status status =
        f->block && f->part ? make_pieces(f, head, &arrays, error) : clsi_no_memory(error);
    if (status == CLS_OK) status = saver->lay_out(f, head, arrays.data, error);
    clsi_text_clear(&arrays);
    *out = f;
    if (status != CLS_OK) clsi_array_file_free(out);
    return status;
}

void clsi_array_file_free(clsi_array_file **file) {
    clsi_array_file *f = *file;
    *file = NULL;
    if (!f) return;
    for (size_t i = 0; i < f->n; i++) {
        free(f->pieces[i].name);
        free(f->pieces[i].at_column);
    }
    free(f->pieces);
    clsi_text_clear(&f->notes);
    clsi_text_clear(&f->zip.directory);
    free(f->block);
    free(f->part);
    free(f);
}

/* ---- which ---- */

static const clsi_saver savers[] = {
    {".npz", "NPZ", NULL, lay_out_npz, put_npz, end_npz},
    {".h5", "HDF5", "libhdf5", lay_out_hdf5, put_hdf5, NULL},
    {".hdf5", "HDF5", "libhdf5", lay_out_hdf5, put_hdf5, NULL},
};

static int ends_with(const char *path, const char *ending) {
    size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcmp(path + n - k, ending);
}

cls_status clsi_saver_find(const char *path, const clsi_saver **out, cls_error *error) {
    *out = NULL;
    for (size_t i = 0; i < sizeof savers / sizeof *savers; i++)
        if (ends_with(path, savers[i].ending)) *out = &savers[i];
    if (*out && !(*out)->lay_out)
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
