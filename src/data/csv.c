/* CSV files into columns: the rows.
 *
 * Generous about form (dialect.c) and strict about numbers: a cell is a finite number or the file is
 * refused with line, column and what stood there. A row is first read where it lies, number by
 * number, without looking for its end before (fast_row; about 1 GB/s of processor time, docs/decisions/0255-text-in-and-out.md);
 * whatever is not plain (quotes, comments, blank lines, anything wrong) goes line by line through
 * slow_row, which knows how to complain. Memory is one block of 1 MB. Not read: gzip. */
#include "data/source.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

typedef struct csv {
    clsi_lines lines;
    clsi_dialect dialect;
    char mark; /* of decimals */
    int drop;  /* rows with missing cells; 2: they stay */
    size_t dropped;
    double *row;
    cls_table *head; /* the reader's: remarks go there */
    clsi_stamps stamps;
    uint64_t limit; /* rows that begin here or later are not read; 0: none */
} csv;

/* ---- what is wrong ---- */

/* What stands in a cell, cut and made printable, for a message; a tab is shown as \t. */
static void show_cell(const char *s, char separator, char out[64]) {
    size_t n = 0, used = 0;
    while (s[n] && s[n] != separator && n < 40) n++;
    while (n > 1 && n == 40 && ((unsigned char)s[n] & 0xc0) == 0x80) n--; /* no half letter */
    char *text = clsi_shown_text(s, n);
    for (const char *c = text ? text : ""; *c && used < 55; c++) {
        out[used++] = *c == '\t' ? '\\' : *c;
        if (*c == '\t') out[used++] = 't';
    }
    free(text);
    if (n == 40) used += (size_t)snprintf(out + used, 4, "...");
    out[used] = 0;
}

static cls_status bad_cell(const csv *f, size_t column, const char *cell, cls_error *error) {
    char found[64];
    char separator = f->dialect.separator;
    show_cell(cell, separator, found);
    const char *hint =
        *found ? "" : " (--missing drop leaves such rows out, --missing keep the cell alone)";
    if (strchr(found, ',') && separator != ',')
        hint = f->mark == ',' ? " (decimals have a comma in this file)"
                              : " (the decimals above have a point)";
    if (strchr(found, '.') && f->mark == ',') hint = " (the decimals above have a comma)";
    const char *quote = *found ? "\"" : "";
    return clsi_lines_bad(
        &f->lines, (int)column + 1, error, "column \"%s\": expected %s, found %s%s%s%s",
        f->dialect.names.items[column],
        f->stamps.kind && f->stamps.kind[column] ? "a date or a time as in the rows above"
                                                 : "a finite number",
        quote, *found ? found : "nothing", quote, hint);
}

/* A cell that is no number: the text that is left out, or a time; where it ends, or NULL. */
static const char *read_stamp(const csv *f, size_t column, const char *s) {
    clsi_cell c;
    clsi_stamp t;
    const char *stop = s + strlen(s);
    const char *after = clsi_next_cell(s, stop, f->dialect.separator, &c);
    const char *end = !after ? stop : f->dialect.separator == ' ' ? c.end : after - 1;
    f->row[column] = 0;
    if (f->stamps.kind[column] == CLSI_WORDS) return end;
    if (!clsi_stamp_read(c.begin, (size_t)(c.end - c.begin), f->stamps.order, &t)) return NULL;
    if ((t.kind ^ f->stamps.kind[column]) & CLSI_DATE) return NULL;
    f->row[column] = clsi_stamps_seconds(&f->stamps, &t);
    return end;
}

static cls_status bad_count(const csv *f, size_t cells, cls_error *error) {
    size_t n = f->dialect.names.n;
    if (cells < n)
        return clsi_lines_bad(&f->lines, 0, error,
                              "%zu cells, expected %zu as the header says; \"%s\" is missing",
                              cells, n, f->dialect.names.items[cells]);
    return clsi_lines_bad(&f->lines, 0, error, "more cells than the %zu columns of the header", n);
}

/* ---- rows ---- */

static const char *skip_blanks(const char *s) {
    while (*s == ' ' || *s == '\t') s++;
    return s;
}

/* Nothing, or a word for it; the end of the cell, or NULL when it is something else. */
static const char *missing_cell(const csv *f, const char *s) {
    static const char *const words[] = {"nan", "NaN", "NAN", "-nan", "NA", "N/A", "null", ""};
    char separator = f->dialect.separator;
    int quoted = *s == '"';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        const char *end = s + quoted + n;
        if (strncmp(s + quoted, words[i], n) != 0 || (quoted && *end++ != '"')) continue;
        while (*end == ' ' || (*end == '\t' && separator != '\t')) end++;
        if (!*end || *end == separator || (separator == ' ' && n && end > s + n)) return end;
    }
    return NULL;
}

/* One number at s, with quotes around it or not; returns the end, or NULL when it is none. Quotes
 * protect a decimal comma also where commas separate. */
static const char *read_cell(const csv *f, const char *s, double *value) {
    int quoted = *s == '"';
    const char *end = clsi_scan_double(s + quoted, f->mark, value);
    if (quoted && f->mark == '.' && (!end || *end != '"')) {
        const char *other = clsi_scan_double(s + quoted, ',', value);
        if (other && *other == '"') end = other;
    }
    if (!end || !isfinite(*value) || (quoted && *end++ != '"')) return NULL;
    return end;
}

/* 0: the row is there; 1: it is dropped; else -1 and the error says why. */
static int slow_row(csv *f, const char *s, cls_error *error) {
    const char separator = f->dialect.separator;
    size_t n = f->dialect.names.n;
    int dropped = 0;
    for (size_t i = 0;; i++) {
        /* A tab that separates must not be skipped as a blank. */
        while (*s == ' ' || (*s == '\t' && separator != '\t')) s++;
        if (i == n) return (void)bad_count(f, i + 1, error), -1;
        int stamped = f->stamps.kind && f->stamps.kind[i];
        const char *end = stamped           ? read_stamp(f, i, s)
                          : *s == separator ? NULL
                                            : read_cell(f, s, &f->row[i]);
        const char *gone = !end && f->drop ? missing_cell(f, s) : NULL;
        if (gone) dropped = 1, end = gone, f->row[i] = NAN;
        if (!end) return (void)bad_cell(f, i, s, error), -1;
        const char *cell = s;
        s = end;
        while (*s == ' ' || (*s == '\t' && separator != '\t')) s++;
        if (i + 1 == n) { /* also after a last tab, or a last separator as in the header */
            const char *rest = skip_blanks(s);
            if (!*rest ||
                (f->dialect.names.trailing && *rest == separator && !*skip_blanks(rest + 1))) {
                if (dropped && f->drop == 2) return f->dropped++, 0;
                return dropped;
            }
        }
        if (!*s) return (void)bad_count(f, i + 1, error), -1;
        if (separator == ' ' ? s == end && !gone : *s != separator)
            return (void)bad_cell(f, i, cell, error), -1;
        s += separator != ' ';
    }
}

/* The row at the beginning of the block, where it lies, into columns[c][at]; 0 when it is not plain
 * or not all there. */
static inline int fast_row(csv *f, double *const *columns, size_t at) {
    const char *s = f->lines.block + f->lines.begin;
    s = clsi_scan_row(s, f->dialect.separator, f->mark, f->dialect.names.n, columns, at);
    if (!s) return 0;
    while (*s == ' ' || *s == '\t') s++;
    s += *s == '\r';
    if (*s != '\n') return 0;
    size_t next = (size_t)(s + 1 - f->lines.block);
    if (next > f->lines.end) return 0;
    f->lines.begin = next;
    f->lines.line++;
    return 1;
}

static int is_beyond(const csv *f) {
    return f->limit && f->lines.at + f->lines.begin >= f->limit;
}

/* The next row through the line reader: 1 there is one, 0 the end, -1 an error. */
static int next_by_line(csv *f, cls_error *error) {
    char *line;
    for (;;) {
        if (is_beyond(f)) return 0; /* behind a note, too */
        if (clsi_lines_next(&f->lines, &line, error)) return -1;
        if (!line) return 0;
        const char *first = skip_blanks(line);
        if (!*first || clsi_is_comment(first)) continue;
        int result = slow_row(f, line, error);
        if (result < 0) return -1;
        if (result == 0) return 1;
        f->dropped++;
    }
}

static int is_left_out(const csv *f, size_t column) {
    const clsi_stamps *k = &f->stamps;
    return k->kind && (k->kind[column] == CLSI_WORDS || (k->pair && column == k->date));
}

static cls_status next(void *source, size_t room, double *const *columns, size_t *rows,
                       cls_error *error) {
    csv *f = source;
    size_t n = f->dialect.names.n, done = 0;
    *rows = 0;
    for (; done < room; done++) {
        if (is_beyond(f)) break;
        if (!f->stamps.kind && fast_row(f, columns, done)) continue;
        int got = next_by_line(f, error);
        if (got < 0) return error ? error->status : CLS_DATA;
        if (got == 0) break;
        if (f->stamps.pair) f->row[f->stamps.clock] += f->row[f->stamps.date];
        for (size_t c = 0, k = 0; c < n; c++) {
            if (is_left_out(f, c)) continue;
            if (columns[k]) columns[k][done] = f->row[c];
            k++;
        }
    }
    *rows = done;
    if (!done && f->dropped) {
        clsi_table_remark(f->head, "%zu row%s with missing cells %s", f->dropped,
                          f->dropped == 1 ? "" : "s", f->drop == 2 ? "kept" : "left out");
        f->dropped = 0;
    }
    return CLS_OK;
}

/* ---- shares ---- */

/* Rows that are left out are told of by who reads them all. */
static uint64_t size_of(const void *source) {
    const csv *f = source;
    struct stat s;
    if (f->drop || fstat(f->lines.file, &s) || !S_ISREG(s.st_mode) || s.st_size < 0) return 0;
    return (uint64_t)s.st_size;
}

static uint64_t place_of(const void *source) {
    const csv *f = source;
    return f->lines.at + f->lines.begin;
}

static cls_status seek(void *source, uint64_t from, uint64_t limit, cls_error *error) {
    csv *f = source;
    f->limit = limit;
    return clsi_lines_seek(&f->lines, from, error);
}

/* ---- opening ---- */

/* The mark in a row, without the cells that are dates or text; 0 when there is none. */
static char mark_of(const csv *f, const char *s, const char *end) {
    char found = 0;
    for (size_t i = 0; i < f->dialect.names.n && s; i++) {
        clsi_cell c;
        s = clsi_next_cell(s, end, f->dialect.separator, &c);
        if (f->stamps.kind && f->stamps.kind[i]) continue;
        if (memchr(c.begin, '.', (size_t)(c.end - c.begin))) return '.';
        if (memchr(c.begin, ',', (size_t)(c.end - c.begin))) found = ',';
    }
    return found;
}

/* A comma is a decimal mark when the first row that has a mark at all has commas only. */
static char find_mark(const csv *f) {
    if (f->dialect.separator == ',') return '.';
    const char *s = f->lines.block + f->lines.begin, *stop = f->lines.block + f->lines.end;
    while (s < stop) {
        const char *end = memchr(s, '\n', (size_t)(stop - s));
        if (!end) end = stop;
        const char *first = s;
        while (first < end && (*first == ' ' || *first == '\t')) first++;
        char mark = first < end && !clsi_is_comment(first) ? mark_of(f, s, end) : 0;
        if (mark) return mark;
        s = end + 1;
    }
    return '.';
}

static void close_csv(void *source) {
    csv *f = source;
    if (!f) return;
    clsi_lines_close(&f->lines);
    clsi_names_free(&f->dialect.names);
    clsi_stamps_free(&f->stamps);
    free(f->row);
    free(f);
}

/* The column of dates or times is the time, whatever it is called, where it is the only one and no other is. */
static size_t find_time(const csv *f) {
    const clsi_names *names = &f->dialect.names;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < names->n; i++) {
        if (!strcasecmp(names->items[i], "time") || !strcmp(names->items[i], "t")) return SIZE_MAX;
        if (!f->stamps.kind || !f->stamps.kind[i] || is_left_out(f, i)) continue;
        if (found != SIZE_MAX) return SIZE_MAX;
        found = i;
    }
    return found;
}

static cls_status make_head(csv *f, cls_table *notes, cls_table **head, cls_error *error) {
    clsi_names *names = &f->dialect.names;
    const char **kept = clsi_calloc(names->n + 1, sizeof *kept);
    size_t time = find_time(f), n = 0;
    char begins[48];
    if (!kept) return clsi_no_memory(error);
    for (size_t i = 0; i < names->n; i++)
        if (!is_left_out(f, i)) kept[n++] = i == time ? "time" : names->items[i];
    cls_status status = n ? cls_table_create(n, kept, head, error)
                          : clsi_lines_bad(&f->lines, 0, error, "no column has numbers");
    free(kept);
    if (status) return status;
    clsi_table_move_notes(notes, *head);
    if (f->stamps.kind && f->stamps.dated) {
        clsi_stamps_begin_text(&f->stamps, begins);
        status = cls_table_set_note(*head, "begins", begins, error);
    }
    for (size_t i = 0, k = 0; !status && i < names->n; i++) {
        int stamped = f->stamps.kind && f->stamps.kind[i];
        if (is_left_out(f, i)) continue;
        if (stamped || names->units[i])
            status = cls_table_set_unit(*head, k, stamped ? "s" : names->units[i], error);
        k++;
    }
    if (f->mark == ',') clsi_table_remark(*head, "decimals have a comma");
    f->head = *head;
    return status;
}

static cls_status open_csv(const char *path, const cls_read_options *o, cls_table **head,
                           void **source, cls_error *error) {
    /* Notes come before the columns are known: a table of one column holds them until then. */
    cls_table *notes = NULL;
    csv *f = clsi_calloc(1, sizeof *f);
    if (!f) return clsi_no_memory(error);
    f->drop = o->drop_missing;
    unsigned long before = clsi_failures();
    cls_status status = clsi_lines_open(&f->lines, path, o, error);
    if (!status) status = cls_table_create(1, (const char *const[]){"notes"}, &notes, error);
    if (!status) status = clsi_dialect_read(&f->lines, notes, &f->dialect, error);
    if (!status) status = clsi_stamps_find(&f->stamps, &f->lines, &f->dialect, notes, error);
    if (!status) f->mark = find_mark(f);
    if (!status) status = make_head(f, notes, head, error);
    if (!status && !(f->row = clsi_calloc(f->dialect.names.n, sizeof *f->row)))
        status = clsi_no_memory(error);
    status = clsi_failed_since(before, status, error); /* remarks are a part of what is said */
    cls_table_free(&notes);
    if (status) {
        cls_table_free(head);
        close_csv(f);
        return status;
    }
    *source = f;
    return CLS_OK;
}

const clsi_format clsi_csv = {
    .name = "CSV",
    .open = open_csv,
    .next = next,
    .close = close_csv,
    .size = size_of,
    .place = place_of,
    .seek = seek,
};
