/* Tables of named columns in memory.
 *
 * Each column is one contiguous array; all grow together by doubling, so that appending a row costs
 * O(columns) amortised and a column can be handed out as a plain pointer (valid until the next
 * append). Finding a column is a linear search: a caller does it once, not once per row. Numbers
 * are kept as they come, also those that are not finite. */
#include "data/table.h"
#include <stdlib.h>
#include <string.h>

static int on_one_line(const char *s) {
    return !s[strcspn(s, "\r\n")];
}

cls_status clsi_check_names(size_t n, const char *const *names, cls_error *error) {
    if (n == 0) return clsi_fail(error, CLS_USAGE, "a table needs at least one column");
    if (n > CLSI_MAX_COLUMNS)
        return clsi_fail(error, CLS_USAGE, "%zu columns; a table has at most %d", n,
                         CLSI_MAX_COLUMNS);
    for (size_t i = 0; i < n; i++) {
        if (!names[i] || !*names[i] || !on_one_line(names[i]))
            return clsi_fail(error, CLS_USAGE, "column %zu: expected a name on one line", i + 1);
        for (size_t j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0)
                return clsi_fail(error, CLS_USAGE, "columns %zu and %zu have the same name \"%s\"",
                                 j + 1, i + 1, names[i]);
    }
    return CLS_OK;
}

cls_status clsi_check_note(const char *key, const char *value, cls_error *error) {
    if (!key || !*key || key[strcspn(key, " \t\r\n:")])
        return clsi_fail(error, CLS_USAGE, "note \"%s\": expected a key without blanks or colon",
                         key ? key : "");
    if (!value || !on_one_line(value))
        return clsi_fail(error, CLS_USAGE, "note \"%s\": expected a value on one line", key);
    return CLS_OK;
}

cls_status clsi_check_ending(const char *path, const char *verb, cls_error *error) {
    static const char *const later[] = {".npz", ".h5"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        size_t m = strlen(later[i]);
        if (n >= m && strcmp(path + n - m, later[i]) == 0)
            return clsi_fail(error, CLS_USAGE,
                             "%s: this version %s .csv; .npz and .h5 come with the data issue",
                             path, verb);
    }
    return CLS_OK;
}

static int copy_names(cls_table *t, const char *const *names) {
    t->names = clsi_calloc(t->n_columns, sizeof *t->names);
    t->columns = clsi_calloc(t->n_columns, sizeof *t->columns);
    if (!t->names || !t->columns) return 0;
    for (size_t i = 0; i < t->n_columns; i++)
        if (!(t->names[i] = clsi_strdup(names[i]))) return 0;
    return 1;
}

cls_status cls_table_create(size_t n_columns, const char *const *names, cls_table **out,
                            cls_error *error) {
    *out = NULL;
    cls_status status = clsi_check_names(n_columns, names, error);
    if (status) return status;
    cls_table *t = clsi_calloc(1, sizeof *t);
    if (!t) return clsi_no_memory(error);
    t->n_columns = n_columns;
    if (!copy_names(t, names)) {
        cls_table_free(&t);
        return clsi_no_memory(error);
    }
    *out = t;
    return CLS_OK;
}

cls_status cls_table_borrow(size_t n_columns, const char *const *names, size_t rows,
                            const double *const *columns, cls_table **out, cls_error *error) {
    cls_status status = cls_table_create(n_columns, names, out, error);
    if (status) return status;
    (*out)->borrowed = 1;
    (*out)->rows = (*out)->room = rows;
    /* Only append writes to columns, and it refuses these. */
    for (size_t i = 0; i < n_columns; i++) (*out)->columns[i] = (double *)columns[i];
    return CLS_OK;
}

void cls_table_free(cls_table **table) {
    cls_table *t = *table;
    *table = NULL;
    if (!t) return;
    for (size_t i = 0; i < t->n_columns; i++) {
        if (t->names) free(t->names[i]);
        if (t->columns && !t->borrowed) free(t->columns[i]);
    }
    for (size_t i = 0; i < t->n_notes; i++) {
        free(t->notes[i].key);
        free(t->notes[i].value);
    }
    free(t->names);
    free(t->columns);
    free(t->notes);
    free(t);
}

size_t cls_table_rows(const cls_table *t) {
    return t->rows;
}

size_t cls_table_columns(const cls_table *t) {
    return t->n_columns;
}

const char *cls_table_name(const cls_table *t, size_t column) {
    return t->names[column];
}

const double *cls_table_column(const cls_table *t, size_t column) {
    return t->columns[column];
}

int cls_table_find(const cls_table *t, const char *name) {
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->names[i], name) == 0) return (int)i;
    return -1;
}

/* `room` moves only when every column has moved: a failure half way leaves a good table. */
static int more_room(cls_table *t) {
    size_t room = t->room;
    for (size_t i = 0; i < t->n_columns; i++) {
        room = t->room;
        if (!clsi_grow(&t->columns[i], &room, t->rows + 1, sizeof(double))) return 0;
    }
    t->room = room;
    return 1;
}

cls_status cls_table_append(cls_table *t, const double *row, cls_error *error) {
    if (t->borrowed)
        return clsi_fail(error, CLS_USAGE, "rows cannot be added to columns that are borrowed");
    if (t->rows == t->room && !more_room(t)) return clsi_no_memory(error);
    for (size_t i = 0; i < t->n_columns; i++) t->columns[i][t->rows] = row[i];
    t->rows++;
    return CLS_OK;
}

static clsi_note *find_note(const cls_table *t, const char *key) {
    for (size_t i = 0; i < t->n_notes; i++)
        if (strcmp(t->notes[i].key, key) == 0) return &t->notes[i];
    return NULL;
}

const char *cls_table_note(const cls_table *t, const char *key) {
    const clsi_note *note = find_note(t, key);
    return note ? note->value : NULL;
}

cls_status cls_table_set_note(cls_table *t, const char *key, const char *value, cls_error *error) {
    cls_status status = clsi_check_note(key, value, error);
    if (status) return status;
    char *copy = clsi_strdup(value);
    if (!copy) return clsi_no_memory(error);
    clsi_note *note = find_note(t, key);
    if (note) {
        free(note->value);
        note->value = copy;
        return CLS_OK;
    }
    char *name = clsi_strdup(key);
    if (!name || !clsi_grow(&t->notes, &t->notes_room, t->n_notes + 1, sizeof *t->notes)) {
        free(name);
        free(copy);
        return clsi_no_memory(error);
    }
    t->notes[t->n_notes++] = (clsi_note){name, copy};
    return CLS_OK;
}

int clsi_table_time(const cls_table *t) {
    int time = cls_table_find(t, "time");
    return time >= 0 ? time : cls_table_find(t, "t");
}

char *clsi_column_list(const cls_table *t) {
    clsi_text list = {0};
    size_t shown = t->n_columns < 40 ? t->n_columns : 40;
    for (size_t i = 0; i < shown; i++) clsi_text_printf(&list, "%s%s", i ? ", " : "", t->names[i]);
    if (shown < t->n_columns) clsi_text_printf(&list, " and %zu more", t->n_columns - shown);
    return clsi_text_take(&list);
}

cls_status clsi_no_column(const cls_table *t, const char *where, const char *name,
                          cls_status status, cls_error *error) {
    const char *near = cls_nearest_word(name, t->n_columns, (const char *const *)t->names);
    char *names = clsi_column_list(t);
    if (!names) return clsi_no_memory(error);
    clsi_fail(error, status, "%s has no column \"%s\"%s%s%s; it has: %s", where, name,
              near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "", names);
    free(names);
    return status;
}
