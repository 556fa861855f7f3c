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

/* Bytes of a member of an archive, or of a file, from some place on. */
typedef struct bytes_source {
    cls_status (*read)(struct bytes_source *b, uint64_t from, size_t n, unsigned char *to,
                       cls_error *error);
    void *archive, *stream; /* zip_t and zip_file_t, or FILE */
    uint64_t index, at, size;
    int seeks;
} bytes_source;

/* An array whose numbers stay there. */
typedef struct long_array {
    bytes_source from;
    header h;
    uint64_t begin; /* of the numbers */
    size_t inner;   /* numbers of a row */
} long_array;

static cls_status read_rows(void *source, size_t first, size_t n, double *to, cls_error *error) {
    long_array *x = source;
    size_t count = n * x->inner;
    unsigned char *bytes = (unsigned char *)to + count * (sizeof(double) - x->h.size);
    cls_status status =
        x->from.read(&x->from, x->begin + (uint64_t)first * x->inner * x->h.size, count * x->h.size,
                     bytes, error); /* at the end: numbers grow from the front */
    for (size_t i = 0; !status && i < count; i++) to[i] = element(bytes + i * x->h.size, &x->h);
    return status;
}

/* Where the numbers begin. */
static cls_status read_header(const unsigned char *bytes, size_t n, const char *name, header *h,
                              size_t *begin, cls_error *error) {
    if (n < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 3)
        return clsi_fail(error, CLS_DATA, "%s: not an NPY array of version 1 to 3", name);
    size_t wide = bytes[6] > 1, from = wide ? 12 : 10;
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (wide) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > n - from || length > 1 << 20)
        return clsi_fail(error, CLS_DATA, "%s: the header is cut off", name);
    char *text = clsi_strndup((const char *)bytes + from, length);
    if (!text) return clsi_no_memory(error);
    cls_status status = parse_header(text, name, h, error);
    free(text);
    *begin = from + length;
    return status;
}

static cls_status count_numbers(const header *h, uint64_t have, const char *name, size_t *count,
                                cls_error *error) {
    *count = 1;
    for (size_t i = 0; i < h->rank; i++) {
        if (h->dims[i] && *count > have / h->dims[i])
            return clsi_fail(error, CLS_DATA, "%s: fewer bytes than its shape says", name);
        *count *= h->dims[i];
    }
    if (*count <= have / h->size) return CLS_OK;
    return clsi_fail(error, CLS_DATA, "%s: fewer bytes than its shape says", name);
}

/* An array that is long and has its rows first stays where it is: *kept. */
static cls_status keep_array(bytes_source *b, const char *name, int *kept, clsi_arrays *out,
                             cls_error *error) {
    unsigned char top[4096];
    header h;
    size_t n = b->size < sizeof top ? (size_t)b->size : sizeof top, begin, count = 0;
    *kept = 0;
    cls_status status = b->read(b, 0, n, top, error);
    if (status) return status;
    status = read_header(top, n, name, &h, &begin, error); /* a longer one is read whole */
    if (status) return n < sizeof top ? status : CLS_OK;
    status = count_numbers(&h, b->size - begin, name, &count, error);
    if (status || h.fortran || !h.rank || h.dims[0] < 2 || count <= CLSI_LONG_ARRAY) return status;
    long_array *x = clsi_calloc(1, sizeof *x);
    if (!x) return clsi_no_memory(error);
    *x = (long_array){*b, h, begin, count / h.dims[0]};
    *kept = 1;
    return clsi_arrays_add_long(out, name, h.rank, h.dims, x, read_rows, error);
}

static cls_status parse_array(const unsigned char *bytes, size_t n, const char *name,
                              clsi_arrays *out, cls_error *error) {
    header h;
    size_t begin, count;
    cls_status status = read_header(bytes, n, name, &h, &begin, error);
    if (!status) status = count_numbers(&h, n - begin, name, &count, error);
    if (status) return status;
    double *data = clsi_calloc(count, sizeof *data);
    if (!data) return clsi_no_memory(error);
    for (size_t i = 0; i < count; i++) data[i] = element(bytes + begin + i * h.size, &h);
    return clsi_arrays_add(out, name, h.rank, h.dims, h.fortran, data, error);
}

static cls_status read_file(bytes_source *b, uint64_t from, size_t n, unsigned char *to,
                            cls_error *error) {
    if (fseeko(b->stream, (off_t)from, SEEK_SET) == 0 && fread(to, 1, n, b->stream) == n)
        return CLS_OK;
    return clsi_fail(error, CLS_DATA, "cut off, or it cannot be read");
}

static cls_status load_npy(const char *path, clsi_arrays *out, cls_error *error) {
    char *bytes = NULL;
    size_t n;
    int kept = 0;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *name = clsi_strndup(base, strcspn(base, "."));
    bytes_source b = {.read = read_file, .stream = fopen(path, "rb")};
    cls_status status = name ? CLS_OK : clsi_no_memory(error);
    const char *shown = name && *name ? name : "x";
    if (!status && b.stream && fseeko(b.stream, 0, SEEK_END) == 0) {
        b.size = (uint64_t)ftello(b.stream);
        status = keep_array(&b, shown, &kept, out, error);
    }
    if (!kept && b.stream) fclose(b.stream);
    if (!status && !kept) status = clsi_read_file(path, (size_t)1 << 40, &bytes, &n, error);
    if (!status && !kept) status = parse_array((unsigned char *)bytes, n, shown, out, error);
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

/* What is packed cannot be entered in its middle: it is unpacked from its beginning. The checksum is looked at
 * where all has been read. */
static cls_status read_member(bytes_source *b, uint64_t from, size_t n, unsigned char *to,
                              cls_error *error) {
    unsigned char skipped[4096];
    int good = 1;
    if (b->stream && from > b->at && b->seeks) {
        good = zip_fseek(b->stream, (zip_int64_t)from, SEEK_SET) == 0;
        b->at = from;
    } else if (b->stream && from < b->at) {
        zip_fclose(b->stream);
        b->stream = NULL;
    }
    if (!b->stream) {
        b->stream = zip_fopen_index(b->archive, b->index, 0);
        b->at = 0;
        good = b->stream != NULL;
        if (good && from && zip_fseek(b->stream, (zip_int64_t)from, SEEK_SET) == 0)
            b->at = from, b->seeks = 1;
    }
    for (size_t part; good && b->at < from; b->at += part) {
        part = from - b->at < sizeof skipped ? (size_t)(from - b->at) : sizeof skipped;
        good = zip_fread(b->stream, skipped, part) == (zip_int64_t)part;
    }
    good = good && zip_fread(b->stream, to, n) == (zip_int64_t)n;
    b->at += n;
    if (good && b->at == b->size) good = zip_fread(b->stream, skipped, 1) == 0;
    return good ? CLS_OK : clsi_fail(error, CLS_DATA, "a member is cut off or damaged");
}

/* Long members are kept; *kept. */
static cls_status keep_member(zip_t *z, zip_uint64_t i, uint64_t size, const char *name, int *kept,
                              clsi_arrays *out, cls_error *error) {
    bytes_source b = {.read = read_member, .archive = z, .index = i, .size = size};
    *kept = 0;
    cls_status status = size > CLSI_LONG_ARRAY ? keep_array(&b, name, kept, out, error) : CLS_OK;
    if (!*kept && b.stream) zip_fclose(b.stream);
    return status;
}

static cls_status load_member(zip_t *z, zip_uint64_t i, int *keeps, clsi_arrays *out,
                              cls_error *error) {
    zip_stat_t st;
    if (zip_stat_index(z, i, 0, &st) != 0 || !(st.valid & ZIP_STAT_SIZE) ||
        !(st.valid & ZIP_STAT_NAME))
        return clsi_fail(error, CLS_DATA, "the archive is damaged");
    size_t n = strlen(st.name);
    int notes = !strcmp(st.name, "notes.txt") && st.size < 1 << 20;
    if (!notes && (n < 5 || strcmp(st.name + n - 4, ".npy") != 0)) return CLS_OK;
    int kept = 0;
    char *name = clsi_strndup(st.name, n - 4);
    cls_status status = name ? CLS_OK : clsi_no_memory(error);
    if (!status && !notes) status = keep_member(z, i, st.size, name, &kept, out, error);
    *keeps |= kept;
    zip_file_t *f = kept || status ? NULL : zip_fopen_index(z, i, 0);
    unsigned char *bytes = f ? clsi_malloc(st.size + 1) : NULL;
    if (kept || status)
        ; /* nothing is left to do */
    else if (!f || !bytes)
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
    int keeps = 0;
    for (zip_int64_t i = 0; !status && i < n; i++)
        status = load_member(z, (zip_uint64_t)i, &keeps, out, error);
    if (!keeps) zip_discard(z);
    return status;
}
#else
#define load_npz NULL
#endif
const clsi_loader_kind clsi_load_npz = {.name = "NPZ", .library = "libzip", .load = load_npz};
