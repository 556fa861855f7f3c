/* Reading tables: in chunks, or whole.
 *
 * The format is recognised by the first bytes of the file (a .txt may be anything), a pipe is CSV.
 * Chunks go where the caller wants them; conversion happens in place. Memory is that of the format:
 * one block for CSV. */
#include "base/misuse.h"
#include "data/arrays.h"
#include "system/system.h"
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct cls_reader {
    const clsi_format *format;
    void *source;
    cls_table *file; /* the head as the file has it */
    cls_table *head; /* as the caller sees it */
    clsi_mapped *mapped;
    double **wanted; /* (columns of the file): where the next chunk goes */
    double dt;
    int trajectory;  /* column of head, -1 */
    double *numbers; /* trajectory numbers of a chunk, where the caller does not want them */
    size_t room;     /* of numbers */
    double last;     /* trajectory of the row before */
    size_t row;      /* of the next row in its trajectory */
};

cls_read_options cls_read_defaults(void) {
    return (cls_read_options){.size = sizeof(cls_read_options)};
}

static cls_status check_options(const cls_read_options *o, cls_error *error) {
    if (o->size < sizeof o->size)
        return clsi_fail(error, CLS_USAGE, "options without a size; begin with cls_read_defaults");
    if (!(o->dt >= 0) || isinf(o->dt))
        return clsi_fail(error, CLS_USAGE, "the spacing of times must be a positive number");
    return CLS_OK;
}

static const clsi_format *recognise(const char *path) {
    return clsi_is_array_file(path) ? &clsi_child : &clsi_csv;
}

cls_status cls_reader_open(const char *path, const cls_read_options *options, cls_reader **out,
                           cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, path);
    cls_read_options o = cls_read_defaults();
    TAKE_OPTIONS(&o, options);
    cls_error own;
    if (!error) error = &own;
    *out = NULL;
    cls_status status = check_options(&o, error);
    if (status) return status;
    cls_reader *r = clsi_calloc(1, sizeof *r);
    if (!r) return clsi_no_memory(error);
    r->format = recognise(path);
    r->dt = o.dt;
    r->last = NAN;
    status = r->format->open(path, &o, &r->file, &r->source, error);
    if (!status)
        status = clsi_map_head(strcmp(path, "-") ? path : "standard input", &o, r->file, &r->head,
                               &r->mapped, error);
    if (!status && !(r->wanted = clsi_calloc(r->file->n_columns, sizeof *r->wanted)))
        status = clsi_no_memory(error);
    if (status) {
        cls_reader_close(&r);
        return status;
    }
    r->trajectory = cls_table_find(r->head, "trajectory");
    *out = r;
    return CLS_OK;
}

const cls_table *cls_reader_head(const cls_reader *r) {
    if (!r) return NULL;
    return r->head;
}

void cls_reader_close(cls_reader **reader) {
    if (!reader) return;
    cls_reader *r = *reader;
    *reader = NULL;
    if (!r) return;
    r->format->close(r->source);
    cls_table_free(&r->file);
    cls_table_free(&r->head);
    free(r->mapped);
    free(r->wanted);
    free(r->numbers);
    free(r);
}

static void convert(const clsi_mapped *m, size_t rows, double *x) {
    if (!m->converts) return;
    for (size_t i = 0; i < rows; i++) x[i] = x[i] * m->factor / m->divisor + m->offset;
}

/* Times t = k dt, k counted within a trajectory. */
static void make_times(cls_reader *r, size_t rows, const double *trajectory, double *time) {
    for (size_t i = 0; i < rows; i++) {
        if (trajectory && !(trajectory[i] == r->last)) r->row = 0, r->last = trajectory[i];
        if (time) time[i] = (double)r->row * r->dt;
        r->row++;
    }
}

static cls_status place_columns(cls_reader *r, size_t room, double *const *columns,
                                cls_error *error) {
    for (size_t c = 0; c < r->file->n_columns; c++) r->wanted[c] = NULL;
    for (size_t c = 0; c < r->head->n_columns; c++)
        if (r->mapped[c].from >= 0) r->wanted[r->mapped[c].from] = columns[c];
    if (!(r->dt > 0) || r->trajectory < 0 || columns[r->trajectory]) return CLS_OK;
    if (!clsi_grow(&r->numbers, &r->room, room, sizeof *r->numbers)) return clsi_no_memory(error);
    r->wanted[r->mapped[r->trajectory].from] = r->numbers;
    return CLS_OK;
}

cls_status cls_reader_next(cls_reader *r, size_t room, double *const *columns, size_t *rows,
                           cls_error *error) {
    NEED(error, r);
    NEED(error, columns);
    NEED(error, rows);
    cls_error own;
    if (!error) error = &own;
    *rows = 0;
    cls_status status = place_columns(r, room, columns, error);
    if (!status) status = r->format->next(r->source, room, r->wanted, rows, error);
    if (status) {
        *rows = 0;
        return status;
    }
    if (!*rows && r->file->n_remarks) { /* what is known only at the end */
        for (size_t i = 0; i < r->file->n_remarks; i++) {
            clsi_table_remark(r->head, "%s", r->file->remarks[i]);
            free(r->file->remarks[i]);
        }
        r->file->n_remarks = 0;
    }
    for (size_t c = 0; c < r->head->n_columns; c++)
        if (columns[c] && r->mapped[c].from >= 0) convert(&r->mapped[c], *rows, columns[c]);
    if (r->dt > 0) {
        const double *id = r->trajectory < 0 ? NULL : columns[r->trajectory];
        make_times(r, *rows, id || r->trajectory < 0 ? id : r->numbers, columns[0]);
    }
    return CLS_OK;
}

/* ---- shares ---- */

uint64_t clsi_reader_size(const cls_reader *r) {
    return r->format->size && !(r->dt > 0) ? r->format->size(r->source) : 0;
}

uint64_t clsi_reader_place(const cls_reader *r) {
    return r->format->place(r->source);
}

cls_status clsi_reader_seek(cls_reader *r, uint64_t from, uint64_t limit, cls_error *error) {
    return r->format->seek(r->source, from, limit, error);
}

/* ---- whole ---- */

/* How many rows there will be, as long as those read so far; a few more, because what is too little is moved. */
static size_t expected_rows(const cls_reader *r, size_t rows) {
    uint64_t size = r->format->size ? r->format->size(r->source) : 0;
    uint64_t place = size ? r->format->place(r->source) : 0;
    double all = place ? 1.02 * (double)rows * ((double)size / (double)place) : 0;
    return all < 1e15 ? (size_t)all : 0;
}

static cls_status read_all(cls_reader *r, cls_table **out, cls_error *error) {
    enum { CHUNK = 16384, NUMBERS = 1 << 22 }; /* rows of few columns; numbers of many */
    const cls_table *head = r->head;
    size_t chunk = NUMBERS / head->n_columns + 1;
    uint64_t bytes = r->format->size ? r->format->size(r->source) : 0; /* two a number, at least */
    if (chunk > CHUNK) chunk = CHUNK;
    if (bytes && bytes / 2 / r->file->n_columns < chunk)
        chunk = (size_t)(bytes / 2 / r->file->n_columns) + 1;
    double **columns = clsi_calloc(head->n_columns, sizeof *columns);
    cls_status status =
        columns ? cls_table_create(head->n_columns, (const char *const *)head->names, out, error)
                : clsi_no_memory(error);
    for (size_t rows = 1; !status && rows;) {
        cls_table *t = *out;
        if (t->rows == t->room) status = clsi_table_reserve(t, t->rows + chunk, error);
        for (size_t c = 0; !status && c < t->n_columns; c++) columns[c] = t->columns[c] + t->rows;
        size_t room = t->room - t->rows < chunk ? t->room - t->rows : chunk;
        if (!status) status = cls_reader_next(r, room, columns, &rows, error);
        if (!status) t->rows += rows;
        if (!status && rows == chunk && t->rows == chunk)
            status = clsi_table_expect(t, expected_rows(r, chunk), error);
    }
    for (size_t c = 0; !status && c < head->n_columns; c++)
        if (head->units[c]) status = cls_table_set_unit(*out, c, head->units[c], error);
    if (!status) clsi_table_move_notes(r->head, *out);
    if (status) cls_table_free(out);
    free(columns);
    return status;
}

/* A temperature that was measured in degC and is wanted in K stands out. */
static void doubt_kelvin(const cls_read_options *o, cls_table *t) {
    char unit[64];
    int any = o && o->system && clsi_system_has_units(o->system);
    for (size_t c = 0; any && c < t->n_columns; c++) {
        if (t->units[c] || !t->rows || !cls_system_unit(o->system, t->names[c], unit) ||
            strcmp(unit, "K"))
            continue;
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < t->rows; i++) {
            low = fmin(low, t->columns[c][i]);
            high = fmax(high, t->columns[c][i]);
        }
        if (low <= 0 || (low > 5 && high < 130))
            clsi_table_remark(
                t,
                "%s is in K for the system and from %.4g to %.4g in the file: if that "
                "is degC, say so: --map \"%s=%s [degC]\"",
                t->names[c], low, high, t->names[c], t->names[c]);
    }
}

cls_status cls_table_read_with(const char *path, const cls_read_options *options, cls_table **out,
                               cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, path);
    cls_reader *r;
    cls_read_options o = cls_read_defaults();
    TAKE_OPTIONS(&o, options);
    cls_status status = cls_reader_open(path, &o, &r, error);
    if (!status) status = read_all(r, out, error);
    if (!status) doubt_kelvin(&o, *out);
    cls_reader_close(&r);
    return status;
}

cls_status cls_table_read(const char *path, cls_table **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, path);
    return cls_table_read_with(path, NULL, out, error);
}
