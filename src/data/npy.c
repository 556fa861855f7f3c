/* NPY arrays (versions 1 to 3), alone or in a ZIP archive (NPZ).
 *
 * The header is a Python dictionary of which three entries are read: descr, fortran_order, shape.
 * Real numbers of any size and byte order become doubles; objects, which are pickles and would run code
 * when Python reads them, are refused, as are records and complex numbers. */
#include "data/arrays.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef CLSI_HAVE_ZIP
#include <zip.h>
#endif

typedef struct header {
    char kind, order; /* f i u b; < > | */
    size_t size, rank, dims[8];
    int fortran;
} header;

static cls_status parse_header(const char *text, const char *name, header *h, cls_error *error) {
    const char *descr = strstr(text, "'descr':"), *shape = strstr(text, "'shape':"),
               *order = strstr(text, "'fortran_order':");
    *h = (header){0};
    if (!descr || !shape || !order)
        return clsi_fail(error, CLS_DATA, "%s: not an NPY header", name);
    descr += 8 + strspn(descr + 8, " ");
    if (*descr == '[')
        return clsi_fail(error, CLS_DATA, "%s: records are not read; save one array per column",
                         name);
    if (*descr == '\'') descr++;
    h->order = strchr("<>|=", *descr) && *descr ? *descr++ : '|';
    h->kind = *descr;
    h->size = (size_t)strtoul(descr + (*descr != 0), NULL, 10);
    if (h->kind == '?') h->kind = 'b', h->size = 1;
    if (h->kind == 'O')
        return clsi_fail(error, CLS_DATA,
                         "%s: an array of objects (a pickle) is refused: reading it would run code",
                         name);
    int fits = h->kind == 'f' ? h->size == 4 || h->size == 8
                              : strchr("iub", h->kind) && h->kind &&
                                    (h->size == 1 || h->size == 2 || h->size == 4 || h->size == 8);
    if (!fits)
        return clsi_fail(error, CLS_DATA, "%s: numbers of the type '%c%zu' are not read", name,
                         h->kind ? h->kind : '?', h->size);
    h->fortran = !strncmp(order + 16 + strspn(order + 16, " "), "True", 4);
    for (const char *s = strchr(shape, '(') ? strchr(shape, '(') + 1 : ""; *s && *s != ')';) {
        char *end;
        size_t n = (size_t)strtoull(s, &end, 10);
        if (end == s) break;
        if (h->rank == 8) return clsi_fail(error, CLS_DATA, "%s: more than 8 axes", name);
        h->dims[h->rank++] = n;
        s = end + strspn(end, " ,L");
    }
    return CLS_OK;
}

static double element(const unsigned char *s, const header *h) {
    unsigned char b[8];
    int swap = h->order == '>';
    for (size_t i = 0; i < h->size; i++) b[i] = s[swap ? h->size - 1 - i : i];
    uint64_t u = 0;
    for (size_t i = h->size; i-- > 0;) u = u << 8 | b[i];
    if (h->kind == 'f' && h->size == 8) {
        double x;
        memcpy(&x, &u, sizeof x);
        return x;
    }
    if (h->kind == 'f') {
        uint32_t v = (uint32_t)u;
        float x;
        memcpy(&x, &v, sizeof x);
        return x;
    }
    if (h->kind != 'i') return (double)u;
    unsigned shift = 64 - 8 * (unsigned)h->size;
    return (double)((int64_t)(u << shift) >> shift);
}

static cls_status parse_array(const unsigned char *bytes, size_t n, const char *name,
                              clsi_arrays *out, cls_error *error) {
    header h;
    if (n < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 3)
        return clsi_fail(error, CLS_DATA, "%s: not an NPY array of version 1 to 3", name);
    size_t wide = bytes[6] > 1, from = wide ? 12 : 10;
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (wide) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > n - from || length > 1 << 20)
        return clsi_fail(error, CLS_DATA, "%s: the header is cut off", name);
    char *text = clsi_strndup((const char *)bytes + from, length);
    if (!text) return clsi_no_memory(error);
    cls_status status = parse_header(text, name, &h, error);
    free(text);
    if (status) return status;
    size_t count = 1, have = n - from - length;
    for (size_t i = 0; i < h.rank; i++) {
        if (h.dims[i] && count > have / h.dims[i])
            return clsi_fail(error, CLS_DATA, "%s: fewer bytes than its shape says", name);
        count *= h.dims[i];
    }
    if (count > have / h.size)
        return clsi_fail(error, CLS_DATA, "%s: fewer bytes than its shape says", name);
    double *data = clsi_calloc(count, sizeof *data);
    if (!data) return clsi_no_memory(error);
    for (size_t i = 0; i < count; i++) data[i] = element(bytes + from + length + i * h.size, &h);
    return clsi_arrays_add(out, name, h.rank, h.dims, h.fortran, data, error);
}

static cls_status load_npy(const char *path, clsi_arrays *out, cls_error *error) {
    char *bytes;
    size_t n;
    cls_status status = clsi_read_file(path, (size_t)1 << 40, &bytes, &n, error);
    if (status) return status;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *name = clsi_strndup(base, strcspn(base, "."));
    status = name ? parse_array((unsigned char *)bytes, n, *name ? name : "x", out, error)
                  : clsi_no_memory(error);
    free(name);
    free(bytes);
    return status;
}

const clsi_loader_kind clsi_load_npy = {.name = "NPY", .load = load_npy};

#ifdef CLSI_HAVE_ZIP
/* `key: value` lines, as write_arrays.c writes them. What is not one is not ours. */
static cls_status take_notes(char *text, cls_table *notes, cls_error *error) {
    cls_status status = CLS_OK;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line && !status;
         line = strtok_r(NULL, "\n", &rest)) {
        char *colon = strstr(line, ": ");
        if (!colon) continue;
        *colon = 0;
        if (clsi_check_note(line, colon + 2, NULL) == CLS_OK)
            status = cls_table_set_note(notes, line, colon + 2, error);
    }
    return status;
}

static cls_status load_member(zip_t *z, zip_uint64_t i, clsi_arrays *out, cls_error *error) {
    zip_stat_t st;
    if (zip_stat_index(z, i, 0, &st) != 0 || !(st.valid & ZIP_STAT_SIZE) ||
        !(st.valid & ZIP_STAT_NAME))
        return clsi_fail(error, CLS_DATA, "the archive is damaged");
    size_t n = strlen(st.name);
    int notes = !strcmp(st.name, "notes.txt") && st.size < 1 << 20;
    if (!notes && (n < 5 || strcmp(st.name + n - 4, ".npy") != 0)) return CLS_OK;
    zip_file_t *f = zip_fopen_index(z, i, 0);
    unsigned char *bytes = f ? clsi_malloc(st.size + 1) : NULL;
    char *name = clsi_strndup(st.name, n - 4);
    cls_status status = CLS_OK;
    if (!f || !name || !bytes)
        status = f ? clsi_no_memory(error)
                   : clsi_fail(error, CLS_DATA, "%s cannot be read: %s", st.name, zip_strerror(z));
    else if (zip_fread(f, bytes, st.size) != (zip_int64_t)st.size)
        status = clsi_fail(error, CLS_DATA, "%s is cut off or damaged", st.name);
    else if (notes)
        bytes[st.size] = 0, status = take_notes((char *)bytes, out->notes, error);
    else
        status = parse_array(bytes, st.size, name, out, error);
    if (f) zip_fclose(f);
    free(bytes);
    free(name);
    return status;
}

static cls_status load_npz(const char *path, clsi_arrays *out, cls_error *error) {
    int code = 0;
    zip_t *z = zip_open(path, ZIP_RDONLY, &code);
    if (!z)
        return clsi_fail(error, CLS_DATA, "not a ZIP archive that can be read (libzip error %d)",
                         code);
    cls_status status = CLS_OK;
    zip_int64_t n = zip_get_num_entries(z, 0);
    for (zip_int64_t i = 0; !status && i < n; i++)
        status = load_member(z, (zip_uint64_t)i, out, error);
    zip_discard(z);
    return status;
}
#else
#define load_npz NULL
#endif
const clsi_loader_kind clsi_load_npz = {.name = "NPZ", .library = "libzip", .load = load_npz};
