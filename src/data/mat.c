/* MAT files (v4 to 7.3) by libmatio, as arrays, in a child process (child.c): what the library does with a
 * damaged file is not ours to survive. It takes the first thing that it cannot read for the end; whether the
 * file has an end there is counted anew (MathWorks, MAT-File Format, 2023). */
#include "data/arrays.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef CLSI_HAVE_MATIO
#include <matio.h>
#endif

#ifdef CLSI_HAVE_MATIO
#define AS_DOUBLES(type)                                                                           \
    for (size_t i = 0; i < count; i++) data[i] = (double)((const type *)v->data)[i];               \
    break

static int to_doubles(const matvar_t *v, size_t count, double *data) {
    switch (v->class_type) {
    case MAT_C_DOUBLE: AS_DOUBLES(double);
    case MAT_C_SINGLE: AS_DOUBLES(float);
    case MAT_C_INT8: AS_DOUBLES(int8_t);
    case MAT_C_UINT8: AS_DOUBLES(uint8_t);
    case MAT_C_INT16: AS_DOUBLES(int16_t);
    case MAT_C_UINT16: AS_DOUBLES(uint16_t);
    case MAT_C_INT32: AS_DOUBLES(int32_t);
    case MAT_C_UINT32: AS_DOUBLES(uint32_t);
    case MAT_C_INT64: AS_DOUBLES(int64_t);
    case MAT_C_UINT64: AS_DOUBLES(uint64_t);
    default: return 0;
    }
    return 1;
}

static cls_status add_variable(const matvar_t *v, const char *name, clsi_arrays *out,
                               cls_error *error) {
    size_t count = 1;
    if (v->isComplex || v->rank < 1 || v->rank > 8 || v->class_type < MAT_C_DOUBLE ||
        v->class_type > MAT_C_UINT64)
        return CLS_OK;
    for (int i = 0; i < v->rank; i++) count *= v->dims[i];
    if (!count) return CLS_OK;
    if (!v->data || v->data_size <= 0 || count > v->nbytes / (size_t)v->data_size)
        return clsi_fail(error, CLS_DATA, "the variable \"%s\" is damaged", name);
    double *data = clsi_calloc(count, sizeof *data);
    if (!data) return clsi_no_memory(error);
    if (to_doubles(v, count, data))
        return clsi_arrays_add(out, name, (size_t)v->rank, v->dims, 1, data, error);
    free(data);
    return CLS_OK;
}

/* Numbers, and the numbers of a structure one level deep, under structure/field. */
static cls_status add_all(matvar_t *v, clsi_arrays *out, cls_error *error) {
    cls_status status = CLS_OK;
    if (!v->name) return CLS_OK;
    if (v->class_type != MAT_C_STRUCT) return add_variable(v, v->name, out, error);
    unsigned n = Mat_VarGetNumberOfFields(v);
    char *const *fields = Mat_VarGetStructFieldnames(v);
    for (unsigned i = 0; fields && !status && i < n; i++) {
        matvar_t *f = Mat_VarGetStructFieldByName(v, fields[i], 0);
        clsi_text name = {0};
        clsi_text_printf(&name, "%s/%s", v->name, fields[i]);
        if (name.failed) status = clsi_no_memory(error);
        if (f && !status) status = add_variable(f, name.data, out, error);
        clsi_text_clear(&name);
    }
    return status;
}

/* ---- is it whole? ---- */

/* One number of a header, in the order of bytes of the file. */
static int read_word(FILE *in, int swapped, uint32_t *out) {
    unsigned char b[4];
    if (fread(b, 1, 4, in) != 4) return 0;
    *out = swapped ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]
                   : (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
    return 1;
}

/* Version 5: elements of a type, a length and as many bytes, from byte 128 on. */
static int next_of_5(FILE *in, int swapped, uint64_t *length) {
    uint32_t type, size;
    if (!read_word(in, swapped, &type) || !read_word(in, swapped, &size)) return 0;
    *length = 8 + (type >> 16 ? 0 : (uint64_t)size); /* short ones stand in the eight bytes */
    return 1;
}

/* Version 4: type, rows, columns, is it complex, length of the name; then name and numbers. */
static int next_of_4(FILE *in, int swapped, uint64_t *length) {
    static const unsigned sizes[] = {8, 4, 4, 2, 2, 1};
    uint32_t h[5];
    for (int i = 0; i < 5; i++)
        if (!read_word(in, swapped, &h[i])) return 0;
    unsigned kind = h[0] / 10 % 10;
    if (kind >= sizeof sizes / sizeof *sizes || h[1] > 1u << 31 || h[2] > 1u << 31) return 0;
    uint64_t numbers = (uint64_t)h[1] * h[2]; /* below 2^62 */
    if (numbers > (uint64_t)1 << 56) return 0;
    *length = 20 + (uint64_t)h[4] + numbers * sizes[kind] * (h[3] ? 2 : 1);
    return 1;
}

/* The number of elements up to the end of the file; SIZE_MAX: the last one is cut off. libmatio ends a
 * file that was cut as if nothing had followed, and its columns would be missing without a word. */
static size_t count_elements(FILE *in, int version) {
    unsigned char head[128] = {0};
    uint64_t at = version == 5 ? 128 : 0, length = 0;
    size_t n = 0;
    if (fread(head, 1, sizeof head, in) < at || fseek(in, 0, SEEK_END) != 0) return SIZE_MAX;
    long end = ftell(in);
    int swapped = version == 5 ? head[126] == 'M' : head[2] != 0; /* 1000 and more */
    for (; end >= 0 && at < (uint64_t)end; at += length, n++) {
        if (fseek(in, (long)at, SEEK_SET) != 0) return SIZE_MAX;
        if (!(version == 5 ? next_of_5 : next_of_4)(in, swapped, &length)) return SIZE_MAX;
    }
    return at == (uint64_t)end ? n : SIZE_MAX;
}

static cls_status check_end(const char *path, int version, size_t *n, cls_error *error) {
    FILE *in = fopen(path, "rb");
    *n = in ? count_elements(in, version) : SIZE_MAX;
    if (in) fclose(in);
    return *n == SIZE_MAX ? clsi_fail(error, CLS_DATA, "the MAT file is cut off") : CLS_OK;
}

static cls_status read_all(mat_t *file, size_t *n, clsi_arrays *out, cls_error *error) {
    cls_status status = CLS_OK;
    errno = 0;
    for (matvar_t *v; !status && (v = Mat_VarReadNext(file)) != NULL; ++*n) {
        status = add_all(v, out, error);
        Mat_VarFree(v);
    }
    return !status && errno == ENOMEM ? clsi_no_memory(error) : status; /* the end, it says */
}

static cls_status load_mat(const char *path, clsi_arrays *out, cls_error *error) {
    mat_t *file = Mat_Open(path, MAT_ACC_RDONLY);
    if (!file) return clsi_fail(error, CLS_DATA, "not a MAT file that can be read");
    enum mat_ft kind = Mat_GetVersion(file);
    int counts = kind != MAT_FT_MAT73; /* that is HDF5, which knows its end */
    size_t n = 0, n_read = 0;
    cls_status status = counts ? check_end(path, kind == MAT_FT_MAT5 ? 5 : 4, &n, error) : CLS_OK;
    if (!status) status = read_all(file, &n_read, out, error);
    if (!status && counts && n != n_read)
        status =
            clsi_fail(error, CLS_DATA,
                      "the MAT file is damaged: %zu of its %zu variables can be read", n_read, n);
    Mat_Close(file);
    return status;
}
#else
#define load_mat NULL
#endif
const clsi_loader_kind clsi_load_mat = {.name = "MAT", .library = "libmatio", .load = load_mat};
