/* Tables as CSV files, written as a stream (NPZ and HDF5: write_arrays.c, by the ending of the path).
 *
 * Notes `# key: value`, one header line, one line per row; every number as the shortest text
 * that reads back to the same bits. Rows are formatted into one block that goes out when it is full: memory is
 * flat in the number of rows, and the cost is about 35 ns per number, the system's part included. The file
 * appears under its name only on commit (base/file.c). A number that is not finite is written as
 * printf writes it and is then refused, with its line, by the reader. */
#include "base/misuse.h"
#include "data/arrays.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = CLSI_NUMBER_ROOM, BLOCK = 1 << 18 };

struct cls_writer {
    clsi_file file;
    size_t n_columns;
    char *block;
    size_t used, size;
    const clsi_saver *saver; /* of arrays; NULL: CSV */
    cls_table *rows;         /* for it: names, notes, and rows whose number was not told */
    clsi_array_file *arrays; /* NULL: not begun */
    int sealed;
    uint64_t sum, written; /* of the bytes so far; rows */
    clsi_stop stop;
};

cls_status clsi_stopped(const clsi_stop *s, const char *path, cls_error *error) {
    if (!s->ask || !s->ask(s->context)) return CLS_OK;
    return clsi_fail(error, CLS_INTERRUPTED,
                     "interrupted while writing %s; nothing was left behind", path);
}

/* Quotes protect whatever the reader could take for a separator, a comment, a number or (\xef) the
 * beginning of a byte order mark. */
static int needs_quotes(const char *name) {
    if (!strncmp(name, "//", 2) || name[strcspn(name, ",;\"#%! \t\xef")]) return 1;
    double value;
    static const char *const words[] = {"nan", "inf", "-nan", "-inf", "NaN", "NAN", "NA"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(name, words[i])) return 1;
    clsi_stamp stamp;
    return clsi_read_double(name, &value) || clsi_stamp_read(name, strlen(name), 0, &stamp);
}

static void append_name(clsi_text *text, const char *name) {
    if (!needs_quotes(name)) {
        clsi_text_append(text, name);
        return;
    }
    clsi_text_append(text, "\"");
    for (const char *c = name; *c; c++) {
        if (*c == '"') clsi_text_append(text, "\"");
        clsi_text_append_n(text, c, 1);
    }
    clsi_text_append(text, "\"");
}

/* Sums what goes out; whether it went out is asked of the stream. */
static int put(cls_writer *w, const char *bytes, size_t n) {
    for (size_t i = 0; w->sealed && i < n; i++)
        w->sum = (w->sum ^ (unsigned char)bytes[i]) * 1099511628211u;
    return fwrite(bytes, 1, n, w->file.stream) == n;
}

static cls_status write_failed(const cls_writer *w, cls_error *error) {
    return clsi_fail(error, CLS_IO, "%s: cannot write: %s", w->file.path, strerror(errno));
}

static cls_status write_top(cls_writer *w, size_t n_notes, const char *const *keys,
                            const char *const *values, const char *const *names, cls_error *error) {
    clsi_text top = {0};
    for (size_t i = 0; i < n_notes; i++) clsi_text_printf(&top, "# %s: %s\n", keys[i], values[i]);
    for (size_t i = 0; i < w->n_columns; i++) {
        if (i) clsi_text_append(&top, ",");
        append_name(&top, names[i]);
    }
    clsi_text_append(&top, "\n");
    size_t length = top.length;
    char *text = clsi_text_take(&top);
    if (!text) return clsi_no_memory(error);
    w->sealed = 1; /* the top is short: summed in any case */
    cls_status status = put(w, text, length) ? CLS_OK : write_failed(w, error);
    w->sealed = 0;
    free(text);
    return status;
}

/* Arrays are begun when the number of rows is known: until then rows are kept. */
static cls_status hold_rows(cls_writer *w, size_t n_notes, const char *const *keys,
                            const char *const *values, const char *const *names, cls_error *error) {
    cls_status status = cls_table_create(w->n_columns, names, &w->rows, error);
    for (size_t i = 0; !status && i < n_notes; i++)
        status = cls_table_set_note(w->rows, keys[i], values[i], error);
    return status;
}

static cls_status check_all(size_t n_notes, const char *const *keys, const char *const *values,
                            size_t n_columns, const char *const *names, cls_error *error) {
    cls_status status = clsi_check_names(n_columns, names, error);
    for (size_t i = 0; !status && i < n_notes; i++)
        status = clsi_check_note(keys[i], values[i], error);
    return status;
}

cls_status cls_writer_open(const char *path, size_t n_notes, const char *const *keys,
                           const char *const *values, size_t n_columns, const char *const *names,
                           cls_writer **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, path);
    NEED(error, names);
    NEED(error, (keys && values) || !n_notes);
    const clsi_saver *saver;
    cls_status status = check_all(n_notes, keys, values, n_columns, names, error);
    if (!status) status = clsi_saver_find(path, &saver, error);
    if (status) return status;
    cls_writer *w = clsi_calloc(1, sizeof *w);
    if (!w) return clsi_no_memory(error);
    w->n_columns = n_columns;
    w->saver = saver;
    w->sum = 14695981039346656037u;
    w->size = BLOCK > n_columns * NUMBER + 1 ? BLOCK : n_columns * NUMBER + 1;
    w->block = clsi_malloc(w->size);
    status = w->block ? clsi_file_open(&w->file, path, error) : clsi_no_memory(error);
    if (!status)
        status = saver ? hold_rows(w, n_notes, keys, values, names, error)
                       : write_top(w, n_notes, keys, values, names, error);
    if (status) {
        cls_writer_discard(&w);
        return status;
    }
    *out = w;
    return CLS_OK;
}

static cls_status flush_block(cls_writer *w, cls_error *error) {
    size_t used = w->used;
    w->used = 0;
    return put(w, w->block, used) ? CLS_OK : write_failed(w, error);
}

cls_status cls_writer_seal(cls_writer *w, cls_error *error) {
    NEED(error, w);
    if (w->written)
        return clsi_fail(error, CLS_USAGE, "a file is sealed before its first row is written");
    w->sealed = 1;
    return CLS_OK;
}

static cls_status write_text(cls_writer *w, cls_error *error) {
    cls_status status = flush_block(w, error);
    if (!status && w->sealed &&
        fprintf(w->file.stream, "# end: %" PRIu64 " rows, sum %016" PRIx64 "\n", w->written,
                w->sum) < 0)
        status = write_failed(w, error);
    return status;
}

cls_status cls_writer_expect(cls_writer *w, uint64_t rows, cls_error *error) {
    NEED(error, w);
    if (!w->saver) return CLS_OK;
    if (w->arrays || w->rows->rows)
        return clsi_fail(error, CLS_USAGE,
                         "the number of rows is told once, before the first of them");
    return clsi_array_file_begin(w->saver, &w->file, w->rows, rows, &w->arrays, error);
}

cls_status cls_writer_row(cls_writer *w, const double *row, cls_error *error) {
    NEED(error, w);
    NEED(error, row);
    if (w->arrays) return clsi_array_file_row(w->arrays, row, error);
    if (w->saver) return cls_table_append(w->rows, row, error);
    if (w->size - w->used < w->n_columns * NUMBER + 1) {
        cls_status status = flush_block(w, error);
        if (status) return status;
    }
    char *at = w->block + w->used;
    for (size_t i = 0; i < w->n_columns; i++) {
        at += clsi_write_double(row[i], at);
        *at++ = i + 1 < w->n_columns ? ',' : '\n';
    }
    w->used = (size_t)(at - w->block);
    w->written++;
    return CLS_OK;
}

static cls_status write_rows(const cls_table *t, cls_writer *w, cls_error *error) {
    if (w->arrays) return clsi_array_file_table(w->arrays, t, &w->stop, error);
    double *row = clsi_calloc(t->n_columns, sizeof *row);
    if (!row) return clsi_no_memory(error);
    cls_status status = CLS_OK;
    size_t before = 0; /* less is used: a block has gone out */
    for (size_t r = 0; !status && r < t->rows; r++) {
        for (size_t c = 0; c < t->n_columns; c++) row[c] = t->columns[c][r];
        status = cls_writer_row(w, row, error);
        if (!status && w->used < before) status = clsi_stopped(&w->stop, w->file.path, error);
        before = w->used;
    }
    free(row);
    return status;
}

/* Rows that were kept. */
static cls_status write_kept(cls_writer *w, cls_error *error) {
    const cls_table *t = w->rows;
    cls_status status = clsi_array_file_begin(w->saver, &w->file, t, t->rows, &w->arrays, error);
    return status ? status : write_rows(t, w, error);
}

cls_status cls_writer_commit(cls_writer **writer, cls_error *error) {
    NEED(error, writer);
    NEED(error, *writer);
    cls_writer *w = *writer;
    cls_status status = !w->saver || w->arrays ? CLS_OK : write_kept(w, error);
    if (!status) status = w->arrays ? clsi_array_file_end(w->arrays, error) : write_text(w, error);
    if (!status) status = clsi_file_commit(&w->file, error);
    cls_writer_discard(writer);
    return status;
}

void cls_writer_discard(cls_writer **writer) {
    if (!writer) return;
    cls_writer *w = *writer;
    *writer = NULL;
    if (!w) return;
    clsi_file_discard(&w->file);
    clsi_array_file_free(&w->arrays);
    cls_table_free(&w->rows);
    free(w->block);
    free(w);
}

cls_write_options cls_write_defaults(void) {
    return (cls_write_options){.size = sizeof(cls_write_options)};
}

cls_status cls_table_write(const cls_table *t, const char *path, cls_error *error) {
    NEED(error, t);
    NEED(error, path);
    return cls_table_write_with(t, path, NULL, error);
}

cls_status cls_table_write_with(const cls_table *t, const char *path,
                                const cls_write_options *options, cls_error *error) {
    NEED(error, t);
    NEED(error, path);
    cls_write_options o = cls_write_defaults();
    TAKE_OPTIONS(&o, options);
    const char **keys = clsi_calloc(t->n_notes, 2 * sizeof *keys);
    if (!keys) return clsi_no_memory(error);
    const char **values = keys + t->n_notes;
    for (size_t i = 0; i < t->n_notes; i++) {
        keys[i] = t->notes[i].key;
        values[i] = t->notes[i].value;
    }
    cls_writer *w;
    cls_status status = cls_writer_open(path, t->n_notes, keys, values, t->n_columns,
                                        (const char *const *)t->names, &w, error);
    free(keys);
    if (status) return status;
    w->stop = (clsi_stop){o.stop, o.context};
    status = cls_writer_expect(w, t->rows, error);
    if (!status) status = write_rows(t, w, error);
    if (!status) return cls_writer_commit(&w, error);
    cls_writer_discard(&w);
    return status;
}
