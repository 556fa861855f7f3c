/* The safetensors container: named arrays of doubles and notes in one file that strangers' programs
 * can read, and that may come from a stranger.
 *
 *     8 bytes   N, little endian
 *     N bytes   JSON: {"__metadata__": {KEY: STRING, ...},
 *                      NAME: {"dtype": "F64", "shape": [n], "data_offsets": [begin, end]}, ...}
 *     the rest  the numbers, IEEE 754 doubles, little endian; offsets count from here
 *
 * Reading trusts nothing: each length is compared with the length of the file before memory is
 * asked for, and the brackets of the header are counted before the JSON parser sees it, because a
 * parser may spend a hundred bytes on two brackets. Tensors must fill the data without hole or
 * overlap. Every refusal is CLS_SYSTEM, a missing file too: to the caller all of them are a bad
 * model. Writing keeps the order of the container, so that equal containers are equal files, and
 * refuses what reading would refuse.
 *
 * Costs one pass through the file and memory for its contents. Does not read other dtypes, other
 * shapes, pipes or standard input. The format has no checksum; ours is a note (clsi_container_seal). */
#include "model/safetensors.h"
#include "base/base.h"
#include "base/locale.h"
#include "model/json.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES "__metadata__"
/* The format allows 100 MB; a header here holds a system file and a few options. */
#define HEADER_LIMIT (UINT64_C(16) << 20)
/* 134 million parameters, far above what is learned here and below what makes a machine swap. */
#define DATA_LIMIT (UINT64_C(1) << 30)
/* Brackets and commas outside strings. A tensor needs 7, a note 1. */
#define MARK_LIMIT 10000
/* The header, a tensor in it, a list in that. */
#define DEPTH_LIMIT 3

_Static_assert(sizeof(double) == 8, "F64 is the double of this machine");

/* ---- The container in memory ---- */

void clsi_container_clear(clsi_container *c) {
    for (size_t i = 0; i < c->n_notes; i++) {
        free(c->keys[i]);
        free(c->values[i]);
    }
    for (size_t i = 0; i < c->n_tensors; i++) {
        free(c->tensors[i].name);
        free(c->tensors[i].values);
    }
    free(c->keys);
    free(c->values);
    free(c->tensors);
    *c = (clsi_container){0};
}

const char *clsi_container_note(const clsi_container *c, const char *key) {
    for (size_t i = 0; i < c->n_notes; i++)
        if (strcmp(c->keys[i], key) == 0) return c->values[i];
    return NULL;
}

/* Room for one more after n. The container keeps no capacity: it has a handful of entries. */
static int one_more(void *array_pointer, size_t n, size_t size) {
    size_t capacity = n;
    return clsi_grow(array_pointer, &capacity, n + 1, size);
}

cls_status clsi_container_add_note(clsi_container *c, const char *key, const char *value,
                                   cls_error *error) {
    if (!one_more(&c->keys, c->n_notes, sizeof *c->keys) ||
        !one_more(&c->values, c->n_notes, sizeof *c->values))
        return clsi_no_memory(error);
    char *k = clsi_strdup(key), *v = clsi_strdup(value);
    if (!k || !v) {
        free(k);
        free(v);
        return clsi_no_memory(error);
    }
    c->keys[c->n_notes] = k;
    c->values[c->n_notes++] = v;
    return CLS_OK;
}

/* A tensor whose numbers are still to come: zeros. */
static cls_status add_zeros(clsi_container *c, const char *name, size_t n, cls_error *error) {
    if (!one_more(&c->tensors, c->n_tensors, sizeof *c->tensors)) return clsi_no_memory(error);
    clsi_tensor t = {clsi_strdup(name), n, clsi_calloc(n, sizeof(double))};
    if (!t.name || !t.values) {
        free(t.name);
        free(t.values);
        return clsi_no_memory(error);
    }
    c->tensors[c->n_tensors++] = t;
    return CLS_OK;
}

cls_status clsi_container_add_tensor(clsi_container *c, const char *name, size_t n,
                                     const double *values, cls_error *error) {
    cls_status status = add_zeros(c, name, n, error);
    /* memcpy, not assignment: the bits of a NaN are kept everywhere. */
    if (!status && n) memcpy(c->tensors[c->n_tensors - 1].values, values, n * sizeof *values);
    return status;
}

cls_status clsi_container_seal(clsi_container *c, cls_error *error) {
    char sum[65];
    clsi_container_sha256(c, sum);
    return clsi_container_add_note(c, CLSI_CHECKSUM, sum, error);
}

/* ---- What reading and writing share ---- */

/* A text from outside, short and harmless to a terminal. */
typedef struct shown {
    char text[100];
} shown;

static shown show(const char *s) {
    shown out = {{0}};
    for (size_t i = 0; s[i] && i < sizeof out.text - 1; i++)
        out.text[i] = s[i] >= ' ' && s[i] < 127 ? s[i] : '?';
    return out;
}

/* NULL, or what is too much in a header: brackets and commas are counted outside strings. */
static const char *too_much(const char *header, size_t length) {
    size_t depth = 0, marks = 0;
    int in_string = 0;
    for (size_t i = 0; i < length; i++) {
        char c = header[i];
        if (in_string) {
            if (c == '\\') i++;
            in_string = c != '"';
            continue;
        }
        in_string = c == '"';
        int opens = c == '{' || c == '[';
        if (opens && ++depth > DEPTH_LIMIT) return "is nested deeper than 3 levels";
        if ((c == '}' || c == ']') && depth) depth--;
        if ((opens || c == ',') && ++marks > MARK_LIMIT)
            return "has more than 10000 brackets and commas";
    }
    return NULL;
}

/* The file's order of bytes, on any machine. */
static void to_bytes(uint64_t bits, unsigned char bytes[8]) {
    for (int k = 0; k < 8; k++) bytes[k] = (unsigned char)(bits >> 8 * k);
}

static uint64_t from_bytes(const unsigned char bytes[8]) {
    uint64_t bits = 0;
    for (int k = 0; k < 8; k++) bits |= (uint64_t)bytes[k] << 8 * k;
    return bits;
}

/* ---- Reading ---- */

typedef struct reader {
    const char *path;
    FILE *in;
    uint64_t size, data_size;
    json_t *header;
    cls_error *error;
} reader;

/* A tensor as the header announces it. */
typedef struct place {
    const char *name; /* the header's */
    uint64_t begin, end;
} place;

static cls_status refuse(const reader *r, const char *format, ...) CLS_PRINTF(2, 3);
static cls_status refuse(const reader *r, const char *format, ...) {
    char what[512];
    va_list list;
    va_start(list, format);
    clsi_vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return clsi_fail(r->error, CLS_SYSTEM,
                     "%s: %s; the file is damaged or not a model: copy it again, or learn again",
                     r->path, what);
}

/* O_NONBLOCK, so that a pipe without a writer is refused and not waited for. */
static cls_status open_file(reader *r) {
    int fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return clsi_fail(r->error, CLS_SYSTEM,
                         "%s: cannot open: %s; expected a model file: check the name", r->path,
                         strerror(errno));
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return clsi_fail(r->error, CLS_SYSTEM,
                         "%s: not a regular file; copy the model to a file and name that", r->path);
    }
    r->size = (uint64_t)st.st_size;
    if (!(r->in = fdopen(fd, "rb"))) {
        close(fd);
        return clsi_no_memory(r->error);
    }
    return CLS_OK;
}

static cls_status read_exactly(reader *r, void *to, size_t n) {
    if (fread(to, 1, n, r->in) == n) return CLS_OK;
    return refuse(r, "cannot read: %s", ferror(r->in) ? strerror(errno) : "it became shorter");
}

static cls_status parse_header(reader *r, const char *text, size_t length) {
    if (text[0] != '{') return refuse(r, "the header does not begin with '{'");
    const char *what = too_much(text, length);
    if (what) return refuse(r, "the header %s", what);
    json_error_t error;
    int no_memory = 0;
    r->header = clsi_json_read(text, length, &no_memory, &error);
    if (no_memory) return clsi_no_memory(r->error);
    if (r->header) return CLS_OK;
    return refuse(r, "the header is not JSON: %s (byte %d of it)", show(error.text).text,
                  error.position);
}

static cls_status read_header(reader *r) {
    unsigned char start[8];
    if (r->size < sizeof start + 2)
        return refuse(r, "%" PRIu64 " bytes, expected at least 10", r->size);
    cls_status status = read_exactly(r, start, sizeof start);
    if (status) return status;
    uint64_t length = from_bytes(start), rest = r->size - sizeof start;
    if (length > HEADER_LIMIT || length < 2)
        return refuse(r, "a header of %" PRIu64 " bytes, expected 2 to %" PRIu64, length,
                      HEADER_LIMIT);
    if (length > rest)
        return refuse(r, "a header of %" PRIu64 " bytes, but only %" PRIu64 " follow", length,
                      rest);
    r->data_size = rest - length;
    if (r->data_size > DATA_LIMIT)
        return refuse(r, "%" PRIu64 " bytes of numbers, expected at most %" PRIu64, r->data_size,
                      DATA_LIMIT);
    char *text = clsi_malloc((size_t)length);
    if (!text) return clsi_no_memory(r->error);
    status = read_exactly(r, text, (size_t)length);
    if (!status) status = parse_header(r, text, (size_t)length);
    free(text);
    return status;
}

static cls_status read_notes(reader *r, clsi_container *c) {
    json_t *notes = json_object_get(r->header, NOTES), *value;
    const char *key;
    if (!notes) return CLS_OK;
    if (!json_is_object(notes)) return refuse(r, NOTES " is not an object of strings");
    json_object_foreach(notes, key, value) {
        if (!json_is_string(value))
            return refuse(r, NOTES ": '%s' is not a string", show(key).text);
        cls_status status = clsi_container_add_note(c, key, json_string_value(value), r->error);
        if (status) return status;
    }
    return CLS_OK;
}

/* A list of exactly n integers, none negative, into out. */
static int integers(const json_t *list, size_t n, uint64_t *out) {
    if (!json_is_array(list) || json_array_size(list) != n) return 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0) return 0;
        out[i] = (uint64_t)json_integer_value(item);
    }
    return 1;
}

static cls_status read_place(reader *r, const char *name, const json_t *entry, place *p) {
    uint64_t n, offsets[2];
    shown s = show(name);
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    if (json_object_size(entry) != 3)
        return refuse(r, "tensor '%s': expected exactly dtype, shape and data_offsets", s.text);
    if (!dtype || strcmp(dtype, "F64") != 0)
        return refuse(r, "tensor '%s': dtype %s, expected F64", s.text,
                      dtype ? show(dtype).text : "missing");
    if (!integers(json_object_get(entry, "shape"), 1, &n))
        return refuse(r, "tensor '%s': expected a shape of one dimension, [n]", s.text);
    if (!integers(json_object_get(entry, "data_offsets"), 2, offsets))
        return refuse(r, "tensor '%s': expected data_offsets [begin, end]", s.text);
    *p = (place){name, offsets[0], offsets[1]};
    if (p->begin > p->end || p->end > r->data_size)
        return refuse(r,
                      "tensor '%s': bytes %" PRIu64 " to %" PRIu64 " of numbers, expected a range "
                      "within the %" PRIu64 " that follow the header",
                      s.text, p->begin, p->end, r->data_size);
    /* Divided, not multiplied: nothing can overflow. */
    if ((p->end - p->begin) % 8 != 0 || (p->end - p->begin) / 8 != n)
        return refuse(r, "tensor '%s': %" PRIu64 " numbers in %" PRIu64 " bytes, expected 8 each",
                      s.text, n, p->end - p->begin);
    return CLS_OK;
}

static int by_offset(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name); /* empty ones at one place: some order, but always the same */
}

/* The places in the order of the data: JSON objects have no order of their own. */
static cls_status read_places(reader *r, place *places, size_t n) {
    const char *name;
    json_t *entry;
    size_t i = 0;
    json_object_foreach(r->header, name, entry) {
        if (strcmp(name, NOTES) == 0) continue;
        cls_status status = read_place(r, name, entry, &places[i++]);
        if (status) return status;
    }
    if (n) qsort(places, n, sizeof *places, by_offset);
    uint64_t at = 0;
    for (i = 0; i < n; at = places[i++].end)
        if (places[i].begin != at)
            return refuse(r, "tensor '%s' begins at byte %" PRIu64 ", expected %" PRIu64 ": %s",
                          show(places[i].name).text, places[i].begin, at,
                          places[i].begin < at ? "tensors overlap" : "there is a hole");
    if (at != r->data_size)
        return refuse(r, "%" PRIu64 " bytes after the last tensor, expected none",
                      r->data_size - at);
    return CLS_OK;
}

static cls_status read_values(reader *r, const place *p, clsi_container *c) {
    size_t n = (size_t)(p->end - p->begin) / 8;
    cls_status status = add_zeros(c, p->name, n, r->error);
    if (status) return status;
    double *values = c->tensors[c->n_tensors - 1].values;
    status = read_exactly(r, values, 8 * n);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = from_bytes((const unsigned char *)&values[i]);
        memcpy(&values[i], &bits, sizeof bits);
    }
    return status;
}

static cls_status read_tensors(reader *r, clsi_container *c) {
    size_t n = json_object_size(r->header) - (json_object_get(r->header, NOTES) != NULL);
    place *places = clsi_calloc(n, sizeof *places);
    if (!places) return clsi_no_memory(r->error);
    cls_status status = read_places(r, places, n);
    for (size_t i = 0; i < n && !status; i++) status = read_values(r, &places[i], c);
    free(places);
    return status;
}

/* Of what was read, not of the bytes: it also tells when a reader of JSON lost something. */
static cls_status check_sum(const reader *r, const clsi_container *c) {
    char sum[65];
    const char *told = clsi_container_note(c, CLSI_CHECKSUM);
    const char *format = clsi_container_note(c, "format");
    size_t n = format ? strlen(format) : 0;
    int has_none = !format || strncmp(format, "clausius-", 9) != 0 ||
                   (n > 1 && strcmp(format + n - 2, " 1") == 0);
    if (!told && has_none) return CLS_OK;
    clsi_container_sha256(c, sum);
    if (told && strcmp(told, sum) == 0) return CLS_OK;
    return clsi_fail(
        r->error, CLS_DATA, "%s: %s; the file is damaged: copy it again, or learn again", r->path,
        told ? "its checksum is not that of what is in it" : "its checksum is missing");
}

cls_status clsi_container_read(const char *path, clsi_container *out, cls_error *error) {
    *out = (clsi_container){0};
    reader r = {.path = path, .error = error};
    cls_status status = open_file(&r);
    if (!status) status = read_header(&r);
    if (!status) status = read_notes(&r, out);
    if (!status) status = read_tensors(&r, out);
    if (!status) status = check_sum(&r, out);
    if (r.in) fclose(r.in);
    json_decref(r.header);
    if (status) clsi_container_clear(out);
    return status;
}

/* ---- Writing ---- */

/* Bytes of the UTF-8 character at s (RFC 3629), 0 when it is not one: no overlong forms, no
 * surrogates, nothing above U+10FFFF. */
static size_t character(const unsigned char *s) {
    static const struct {
        unsigned char first, last, low, high; /* of the first byte; of the second byte */
        size_t length;
    } rows[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    if (s[0] < 0x80) return 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (s[0] < rows[i].first || s[0] > rows[i].last) continue;
        if (s[1] < rows[i].low || s[1] > rows[i].high) return 0;
        for (size_t k = 2; k < rows[i].length; k++)
            if ((s[k] & 0xC0) != 0x80) return 0;
        return rows[i].length;
    }
    return 0;
}

static cls_status check_text(const char *path, const char *what, const char *name, const char *text,
                             cls_error *error) {
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0, n; s[i]; i += n)
        if (!(n = character(s + i)))
            return clsi_fail(error, CLS_SYSTEM,
                             "%s: not written: %s '%s' is not UTF-8 at byte %zu; expected UTF-8: "
                             "convert the text",
                             path, what, show(name).text, i + 1);
    return CLS_OK;
}

/* Puts value (taken over) into object; a second entry of one name would be lost silently. */
static cls_status put(const char *path, json_t *object, const char *name, json_t *value,
                      cls_error *error) {
    if (json_object_get(object, name)) {
        json_decref(value);
        return clsi_fail(error, CLS_SYSTEM,
                         "%s: not written: '%s' twice, expected once; rename one", path,
                         show(name).text);
    }
    return json_object_set_new(object, name, value) == 0 ? CLS_OK : clsi_no_memory(error);
}

static cls_status put_notes(const char *path, const clsi_container *c, json_t *header,
                            cls_error *error) {
    json_t *notes = json_object();
    cls_status status = put(path, header, NOTES, notes, error);
    for (size_t i = 0; i < c->n_notes && !status; i++) {
        status = check_text(path, "the name of note", c->keys[i], c->keys[i], error);
        if (!status) status = check_text(path, "note", c->keys[i], c->values[i], error);
        if (!status) status = put(path, notes, c->keys[i], json_string(c->values[i]), error);
    }
    return status;
}

static cls_status put_tensors(const char *path, const clsi_container *c, json_t *header,
                              cls_error *error) {
    uint64_t at = 0;
    for (size_t i = 0; i < c->n_tensors; i++) {
        const clsi_tensor *t = &c->tensors[i];
        if (t->n > (DATA_LIMIT - at) / 8)
            return clsi_fail(error, CLS_SYSTEM,
                             "%s: not written: more than %" PRIu64 " bytes of numbers, the limit; "
                             "use fewer parameters",
                             path, DATA_LIMIT);
        uint64_t end = at + 8 * t->n;
        cls_status status = check_text(path, "the name of tensor", t->name, t->name, error);
        if (status) return status;
        json_t *entry =
            json_pack("{s:s, s:[I], s:[I, I]}", "dtype", "F64", "shape", (json_int_t)t->n,
                      "data_offsets", (json_int_t)at, (json_int_t)end);
        if ((status = put(path, header, t->name, entry, error))) return status;
        at = end;
    }
    return CLS_OK;
}

/* The header's text, padded with blanks so that the numbers begin at a multiple of 8 bytes. */
static cls_status compose(const char *path, const clsi_container *c, clsi_text *text,
                          cls_error *error) {
    json_t *header = json_object();
    cls_status status = header ? put_notes(path, c, header, error) : clsi_no_memory(error);
    if (!status) status = put_tensors(path, c, header, error);
    char *json = status ? NULL : clsi_json_text(header, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(header);
    if (status) return status;
    if (!json) return clsi_no_memory(error);
    clsi_text_append(text, json);
    free(json);
    while (text->length % 8 && !text->failed) clsi_text_append(text, " ");
    if (text->failed) return clsi_no_memory(error);
    const char *what =
        text->length > HEADER_LIMIT ? "is longer than 16 MB" : too_much(text->data, text->length);
    if (!what) return CLS_OK;
    return clsi_fail(error, CLS_SYSTEM,
                     "%s: not written: the header %s; use fewer or shorter notes", path, what);
}

/* Write errors stay with the stream; clsi_file_commit asks for them. */
static void write_values(FILE *out, const clsi_tensor *t) {
    unsigned char block[4096];
    for (size_t i = 0; i < t->n;) {
        size_t k = 0;
        for (; k < sizeof block && i < t->n; k += 8, i++) {
            uint64_t bits;
            memcpy(&bits, &t->values[i], sizeof bits);
            to_bytes(bits, block + k);
        }
        fwrite(block, 1, k, out);
    }
}

cls_status clsi_container_write(const char *path, const clsi_container *c, cls_error *error) {
    clsi_text header = {0};
    clsi_file file;
    cls_status status = compose(path, c, &header, error);
    if (!status) status = clsi_file_open(&file, path, error);
    if (!status) {
        unsigned char start[8];
        to_bytes(header.length, start);
        errno = 0;
        fwrite(start, 1, sizeof start, file.stream);
        fwrite(header.data, 1, header.length, file.stream);
        for (size_t i = 0; i < c->n_tensors; i++) write_values(file.stream, &c->tensors[i]);
        if (ferror(file.stream) && errno) { /* the commit would not know why */
            status = clsi_fail(error, CLS_IO, "%s: cannot write: %s; nothing was left behind", path,
                               strerror(errno));
            clsi_file_discard(&file);
        } else {
            status = clsi_file_commit(&file, error);
        }
    }
    clsi_text_clear(&header);
    return status;
}
