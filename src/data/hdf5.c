/* HDF5 files by libhdf5, as arrays, in a child process (child.c): what the library does with a damaged
 * file is not ours to survive. */
#include "data/arrays.h"
#include <stdlib.h>
#include <string.h>
#ifdef CLSI_HAVE_HDF5
#include <hdf5.h>
#endif

#ifdef CLSI_HAVE_HDF5
typedef struct visit {
    clsi_arrays *out;
    cls_error *error;
    cls_status status;
} visit;

/* A dataset whose numbers stay in the file. */
typedef struct long_dataset {
    hid_t set, space;
    int rank;
    hsize_t dims[8];
} long_dataset;

static cls_status read_rows(void *source, size_t first, size_t n, double *to, cls_error *error) {
    const long_dataset *x = source;
    hsize_t begin[8] = {first}, count[8];
    for (int i = 0; i < x->rank; i++) count[i] = i ? x->dims[i] : n;
    hid_t room = H5Screate_simple(x->rank, count, NULL);
    int fine = room >= 0 &&
               H5Sselect_hyperslab(x->space, H5S_SELECT_SET, begin, NULL, count, NULL) >= 0 &&
               H5Dread(x->set, H5T_NATIVE_DOUBLE, room, x->space, H5P_DEFAULT, to) >= 0;
    if (room >= 0) H5Sclose(room);
    if (fine) return CLS_OK;
    return clsi_fail(error, CLS_DATA, "rows from %zu on cannot be read", first + 1);
}

/* Takes the dataset and its space, for as long as the process lives. */
static cls_status keep_dataset(hid_t d, hid_t space, const char *name, int rank,
                               const hsize_t *dims, const size_t *lengths, clsi_arrays *out,
                               cls_error *error) {
    long_dataset *x = clsi_calloc(1, sizeof *x);
    if (!x) return clsi_no_memory(error);
    x->rank = rank;
    memcpy(x->dims, dims, sizeof x->dims);
    H5Iinc_ref(d);
    H5Iinc_ref(space);
    x->set = d;
    x->space = space;
    return clsi_arrays_add_long(out, name, (size_t)rank, lengths, x, read_rows, error);
}

/* A column that is left out without a word would be another recording. */
static cls_status unreadable(const char *name, cls_error *error) {
    return clsi_fail(error, CLS_DATA, "the dataset \"%s\" cannot be read", name);
}

static cls_status read_dataset(hid_t d, const char *name, clsi_arrays *out, cls_error *error) {
    hid_t type = H5Dget_type(d), space = H5Dget_space(d);
    H5T_class_t kind = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    cls_status status = kind < 0 || rank < 0 ? unreadable(name, error) : CLS_OK;
    if ((kind == H5T_FLOAT || kind == H5T_INTEGER) && rank >= 0 && rank <= 8) {
        hsize_t dims[8] = {0};
        size_t lengths[8] = {0}, count = 1;
        if (H5Sget_simple_extent_dims(space, dims, NULL) < 0) status = unreadable(name, error);
        for (int i = 0; i < rank; i++) {
            lengths[i] = (size_t)dims[i];
            count = dims[i] && count > SIZE_MAX / 16 / dims[i] ? SIZE_MAX / 16
                                                               : count * (size_t)dims[i];
        }
        int is_long = count > CLSI_LONG_ARRAY && lengths[0] > 1;
        double *data = is_long ? NULL : clsi_calloc(count, sizeof *data);
        if (status) {
        } else if (is_long)
            status = keep_dataset(d, space, name, rank, dims, lengths, out, error);
        else if (!data)
            status = clsi_no_memory(error);
        else if (H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
            status = unreadable(name, error);
        else
            status = clsi_arrays_add(out, name, (size_t)rank, lengths, 0, data, error), data = NULL;
        free(data);
    }
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    return status;
}

/* Groups in groups: libhdf5 looks every name up from the root, which takes a minute for thousands. */
enum { DEEPEST = 64 };

static int is_too_deep(const char *name) {
    int depth = 0;
    while (depth < DEEPEST && (name = strchr(name, '/'))) name++, depth++;
    return depth == DEEPEST;
}

static herr_t look(hid_t file, const char *name, const H5O_info_t *info, void *to) {
    visit *v = to;
    if (is_too_deep(name)) {
        v->status =
            clsi_fail(v->error, CLS_DATA, "groups in groups, deeper than %d, the limit", DEEPEST);
        return 1;
    }
    if (info->type != H5O_TYPE_DATASET) return 0;
    hid_t d = H5Dopen2(file, name, H5P_DEFAULT);
    v->status = d < 0 ? unreadable(name, v->error) : read_dataset(d, name, v->out, v->error);
    if (d >= 0) H5Dclose(d);
    return v->status ? 1 : 0;
}

/* Text attributes of the root are notes. */
static herr_t take_note(hid_t file, const char *name, const H5A_info_t *info, void *to) {
    visit *v = to;
    hid_t a = H5Aopen(file, name, H5P_DEFAULT), type = a < 0 ? -1 : H5Aget_type(a);
    hsize_t size = info->data_size;
    H5T_class_t kind = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    int fine = kind >= 0;
    if (kind == H5T_STRING && H5Tis_variable_str(type) == 0 && size < 1 << 20) {
        char *text = clsi_calloc((size_t)size + 1, 1);
        if (!text) v->status = clsi_no_memory(v->error);
        fine = !text || H5Aread(a, type, text) >= 0;
        if (text && fine && clsi_check_note(name, text, NULL) == CLS_OK)
            v->status = cls_table_set_note(v->out->notes, name, text, v->error);
        free(text);
    }
    if (!fine)
        v->status = clsi_fail(v->error, CLS_DATA, "the attribute \"%s\" cannot be read", name);
    if (type >= 0) H5Tclose(type);
    if (a >= 0) H5Aclose(a);
    return v->status ? 1 : 0;
}

/* The order in which columns and notes were written, where the file says it; else that of the alphabet. */
static int find_orders(hid_t file, H5_index_t *columns, H5_index_t *notes) {
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT),
          create = root < 0 ? -1 : H5Gget_create_plist(root);
    unsigned links = 0, attributes = 0;
    int fine = create >= 0 && H5Pget_link_creation_order(create, &links) >= 0 &&
               H5Pget_attr_creation_order(create, &attributes) >= 0;
    if (create >= 0) H5Pclose(create);
    if (root >= 0) H5Gclose(root);
    *columns = links & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    *notes = attributes & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    return fine;
}

static cls_status load_hdf5(const char *path, clsi_arrays *out, cls_error *error) {
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) return clsi_fail(error, CLS_DATA, "not an HDF5 file that can be read");
    visit v = {.out = out, .error = error};
    H5_index_t columns, notes;
    hsize_t at = 0;
    int fine = find_orders(file, &columns, &notes);
    fine = fine && (H5Ovisit(file, columns, H5_ITER_INC, look, &v) >= 0 || v.status);
    if (fine && !v.status)
        fine = H5Aiterate2(file, notes, H5_ITER_INC, &at, take_note, &v) >= 0 || v.status;
    if (!fine) v.status = clsi_fail(error, CLS_DATA, "the HDF5 file is damaged");
    H5Fclose(file); /* datasets that are kept stay open */
    return v.status;
}
#else
#define load_hdf5 NULL
#endif
const clsi_loader_kind clsi_load_hdf5 = {.name = "HDF5", .library = "libhdf5", .load = load_hdf5};
