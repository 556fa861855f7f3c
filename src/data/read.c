/* CSV files into tables.
 *
 * The grammar is deliberately generous about what spreadsheets and instruments do (byte order mark,
 * CRLF, quotes, ; or tabs or blanks instead of commas, comments and blank lines anywhere, no last
 * newline) and strict about numbers: a cell is a finite number or the file is refused with line,
 * column and what stood there. The separator is decided by the header alone. The file is read in
 * blocks and parsed in place with strtod, so the cost is that of strtod (about 100 MB/s); memory is
 * the table plus one block. Lines are at most 1 MB, columns at most 4096. Not read: gzip, decimal
 * commas, missing values. */
#include "data/table.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_LIMIT = 1 << 20 };

typedef struct reader {
    FILE *in;
    const char *name;
    char *block; /* LINE_LIMIT + 1 bytes; the bytes begin..end are not yet consumed */
    size_t begin, end;
    int ended;
    int line;       /* number of the line last returned */
    char separator; /* ' ' means any run of blanks and tabs */
} reader;

typedef struct names {
    char **items;
    size_t n, room;
    int quoted; /* at least one name stood in quotes */
} names;

static cls_status bad(const reader *r, int column, cls_error *error, const char *format, ...)
    CLS_PRINTF(4, 5);

/* FILE:LINE: sentence. */
static cls_status bad(const reader *r, int column, cls_error *error, const char *format, ...) {
    char sentence[1536];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    clsi_fail(error, CLS_DATA, "%s:%d: %s", r->name, r->line, sentence);
    if (error) {
        error->line = r->line;
        error->column = column;
    }
    return CLS_DATA;
}

static cls_status refill(reader *r, cls_error *error) {
    memmove(r->block, r->block + r->begin, r->end - r->begin);
    r->end -= r->begin;
    r->begin = 0;
    r->end += fread(r->block + r->end, 1, LINE_LIMIT - r->end, r->in);
    if (ferror(r->in))
        return clsi_fail(error, CLS_IO, "%s: cannot read: %s", r->name, strerror(errno));
    r->ended = feof(r->in) != 0;
    return CLS_OK;
}

/* The next line without its end, NUL-terminated in place; *line is NULL after the last. */
static cls_status next_line(reader *r, char **line, cls_error *error) {
    *line = NULL;
    char *stop = memchr(r->block + r->begin, '\n', r->end - r->begin);
    if (!stop && !r->ended) {
        cls_status status = refill(r, error);
        if (status) return status;
        stop = memchr(r->block + r->begin, '\n', r->end - r->begin);
    }
    r->line++;
    if (!stop && !r->ended)
        return bad(r, 0, error, "this line is longer than %d bytes; is it a CSV file?", LINE_LIMIT);
    if (!stop && r->begin == r->end) return CLS_OK;
    if (!stop) stop = r->block + r->end;
    char *start = r->block + r->begin;
    if (memchr(start, 0, (size_t)(stop - start)))
        return bad(r, 0, error, "a zero byte: this is not a text file (gzip is not read)");
    size_t next = (size_t)(stop - r->block) + 1;
    r->begin = next < r->end ? next : r->end;
    if (stop > start && stop[-1] == '\r') stop--;
    if (memchr(start, '\r', (size_t)(stop - start)))
        return bad(r, 0, error, "a carriage return inside the line; lines end in LF or CR LF");
    *stop = 0;
    *line = start;
    return CLS_OK;
}

static char *skip_blanks(char *s) {
    while (*s == ' ' || *s == '\t') s++;
    return s;
}

/* Cuts blanks off both ends, in place. */
static char *trim(char *s) {
    s = skip_blanks(s);
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t')) s[--n] = 0;
    return s;
}

/* `# key: value` is a note, any other comment is nothing. */
static cls_status read_note(cls_table *t, char *comment, cls_error *error) {
    char *key = trim(comment + strspn(comment, "#")), *colon = strchr(key, ':');
    if (!colon || colon == key) return CLS_OK;
    *colon = 0;
    key = trim(key);
    if (key[strcspn(key, " \t")]) return CLS_OK;
    return cls_table_set_note(t, key, trim(colon + 1), error);
}

/* The separator is the first of these that stands in the header outside quotes. */
static char find_separator(const char *header) {
    static const char candidates[] = {',', ';', '\t'};
    for (size_t i = 0; i < sizeof candidates; i++) {
        int inside = 0;
        for (const char *c = header; *c; c++) {
            if (*c == '"') inside = !inside;
            if (*c == candidates[i] && !inside) return candidates[i];
        }
    }
    return ' ';
}

/* Copies one header cell to `cell` and returns where it ended: at a separator or at the end. */
static char *header_cell(char *s, char separator, clsi_text *cell, int *quoted) {
    int inside = 0;
    clsi_text_append(cell, "");
    s += strspn(s, separator == '\t' ? " " : " \t");
    for (; *s && (inside || (*s != separator && (separator != ' ' || *s != '\t'))); s++) {
        if (*s != '"') {
            int after_quote = *quoted && !inside && (*s == ' ' || *s == '\t');
            clsi_text_append_n(cell, s, !after_quote);
        } else if (inside && s[1] == '"') {
            clsi_text_append_n(cell, s++, 1);
        } else {
            inside = !inside;
            *quoted = 1;
        }
    }
    return s;
}

static int add_name(names *list, clsi_text *cell) {
    if (!clsi_grow(&list->items, &list->room, list->n + 1, sizeof *list->items)) return 0;
    char *name = clsi_text_take(cell);
    if (!name) return 0;
    list->items[list->n++] = name;
    return 1;
}

static cls_status split_header(const reader *r, char *s, names *list, cls_error *error) {
    for (;;) {
        clsi_text cell = {0};
        int quoted = 0;
        s = header_cell(s, r->separator, &cell, &quoted);
        list->quoted |= quoted;
        while (!quoted && cell.length && strchr(" \t", cell.data[cell.length - 1]))
            cell.data[--cell.length] = 0;
        if (!add_name(list, &cell)) {
            clsi_text_clear(&cell);
            return clsi_no_memory(error);
        }
        if (list->n > CLSI_MAX_COLUMNS)
            return bad(r, 0, error, "more than %d columns, the limit", CLSI_MAX_COLUMNS);
        if (r->separator == ' ') s = skip_blanks(s);
        if (!*s) return CLS_OK;
        if (r->separator != ' ') s++;
    }
}

static cls_status check_header(const reader *r, const names *list, cls_error *error) {
    size_t numbers = 0;
    for (size_t i = 0; i < list->n; i++) {
        char *end;
        strtod(list->items[i], &end);
        numbers += end != list->items[i] && !*end;
    }
    if (numbers == list->n && !list->quoted)
        return bad(r, 0, error,
                   "expected a header line with the names of the %zu columns, found numbers; "
                   "put a line such as time,x,v.x above them",
                   list->n);
    for (size_t i = 0; i < list->n; i++) {
        if (!*list->items[i]) return bad(r, (int)i + 1, error, "column %zu has no name", i + 1);
        for (size_t j = 0; j < i; j++)
            if (strcmp(list->items[i], list->items[j]) == 0)
                return bad(r, (int)i + 1, error,
                           "columns %zu and %zu have the same name \"%s\"; names must differ",
                           j + 1, i + 1, list->items[i]);
    }
    return CLS_OK;
}

static void free_names(names *list) {
    for (size_t i = 0; i < list->n; i++) free(list->items[i]);
    free(list->items);
}

/* A table with the columns of the header and the notes gathered so far in `notes`. */
static cls_status make_table(reader *r, char *header, cls_table *notes, cls_table **out,
                             cls_error *error) {
    names list = {0};
    r->separator = find_separator(header);
    cls_status status = split_header(r, header, &list, error);
    if (!status) status = check_header(r, &list, error);
    if (!status) status = cls_table_create(list.n, (const char *const *)list.items, out, error);
    free_names(&list);
    if (status) return status;
    (*out)->notes = notes->notes;
    (*out)->n_notes = notes->n_notes;
    (*out)->notes_room = notes->notes_room;
    notes->notes = NULL;
    notes->n_notes = notes->notes_room = 0;
    return CLS_OK;
}

static cls_status read_top(reader *r, cls_table *notes, cls_table **out, cls_error *error) {
    for (;;) {
        char *line;
        cls_status status = next_line(r, &line, error);
        if (status) return status;
        if (!line) {
            return clsi_fail(error, CLS_DATA,
                             "%s: no table in it: expected a header line with column names",
                             r->name);
        }
        if (r->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0) line += 3;
        line = trim(line);
        if (*line == '#')
            status = read_note(notes, line, error);
        else if (*line)
            return make_table(r, line, notes, out, error);
        if (status) return status;
    }
}

/* What stands in a cell, cut and made printable, for a message. */
static void show_cell(const char *s, char separator, char out[48]) {
    size_t n = 0;
    for (; *s && *s != separator && n < 40; s++)
        out[n++] = (unsigned char)*s < 32 || *s == 127 ? '?' : *s;
    if (n == 40) n += (size_t)snprintf(out + n, 4, "...");
    out[n] = 0;
}

static cls_status bad_cell(const reader *r, const cls_table *t, size_t column, const char *cell,
                           cls_error *error) {
    char found[48];
    show_cell(cell, r->separator, found);
    const char *hint = strchr(found, ',') ? " (write decimals with a point)" : "";
    const char *quote = *found ? "\"" : "";
    return bad(r, (int)column + 1, error, "column \"%s\": expected a finite number, found %s%s%s%s",
               t->names[column], quote, *found ? found : "nothing", quote, hint);
}

static cls_status bad_count(const reader *r, const cls_table *t, size_t cells, cls_error *error) {
    if (cells < t->n_columns)
        return bad(r, 0, error, "%zu cells, expected %zu as the header says; \"%s\" is missing",
                   cells, t->n_columns, t->names[cells]);
    return bad(r, 0, error, "more cells than the %zu columns of the header", t->n_columns);
}

/* One number at s, with quotes around it or not; returns the end, or NULL when it is none. */
static char *read_cell(char *s, double *value) {
    int quoted = *s == '"';
    char *end;
    *value = strtod(s + quoted, &end);
    if (end == s + quoted || !isfinite(*value) || (quoted && *end++ != '"')) return NULL;
    return end;
}

static cls_status read_row(const reader *r, const cls_table *t, char *s, double *row,
                           cls_error *error) {
    const char separator = r->separator;
    for (size_t i = 0;; i++) {
        /* A tab that separates must not be skipped as a blank, here or by strtod. */
        while (*s == ' ' || (*s == '\t' && separator != '\t')) s++;
        if (i == t->n_columns) return bad_count(r, t, i + 1, error);
        char *end = *s == separator ? NULL : read_cell(s, &row[i]);
        if (!end) return bad_cell(r, t, i, s, error);
        char *cell = s;
        s = end;
        while (*s == ' ' || (*s == '\t' && separator != '\t')) s++;
        if (i + 1 == t->n_columns && !*skip_blanks(s)) return CLS_OK; /* also after a last tab */
        if (!*s) return bad_count(r, t, i + 1, error);
        if (separator == ' ' ? s == end : *s != separator) return bad_cell(r, t, i, cell, error);
        s += separator != ' ';
    }
}

static cls_status read_rows(reader *r, cls_table *t, cls_error *error) {
    double *row = clsi_calloc(t->n_columns, sizeof *row);
    if (!row) return clsi_no_memory(error);
    cls_status status;
    char *line;
    while (!(status = next_line(r, &line, error)) && line) {
        const char *first = skip_blanks(line);
        if (*first == '#' || !*first) continue;
        status = read_row(r, t, line, row, error);
        if (!status) status = cls_table_append(t, row, error);
        if (status) break;
    }
    free(row);
    return status;
}

static cls_status read_stream(reader *r, cls_table **out, cls_error *error) {
    /* Notes come before the columns are known: a table of one column holds them until then. */
    cls_table *notes;
    cls_status status = cls_table_create(1, (const char *const[]){"notes"}, &notes, error);
    if (status) return status;
    r->block = malloc(LINE_LIMIT + 1);
    status = r->block ? read_top(r, notes, out, error) : clsi_no_memory(error);
    if (!status) status = read_rows(r, *out, error);
    if (status) cls_table_free(out);
    cls_table_free(&notes);
    free(r->block);
    return status;
}

cls_status cls_table_read(const char *path, cls_table **out, cls_error *error) {
    *out = NULL;
    cls_status status = clsi_check_ending(path, "reads", error);
    if (status) return status;
    reader r = {.name = path};
    if (strcmp(path, "-") == 0) {
        r.in = stdin;
        r.name = "standard input";
    } else if (!(r.in = fopen(path, "rb"))) {
        return clsi_fail(error, CLS_IO, "%s: cannot open: %s", path, strerror(errno));
    }
    status = read_stream(&r, out, error);
    if (r.in != stdin) fclose(r.in);
    return status;
}
