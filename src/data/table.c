/* Tables of named columns in memory.
 *
 * Each column is one contiguous array, all stand in one block and grow together by doubling, so that appending a row costs
 * O(columns) amortised and a column can be handed out as a plain pointer (valid until the next
 * append). Finding a column is a linear search: a caller does it once, not once per row. Numbers
 * are kept as they come, also those that are not finite. */
#include "base/alike.h"
#include "base/locale.h"
#include "base/misuse.h"
#include "data/table.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 16, MANY = 4096 }; /* rows at first, of less than so many columns */

static int on_one_line(const char *s) {
    return !s[strcspn(s, "\r\n")];
}

/* Names by hash, 1 + their number, in *out (the caller's to free); refuses what are no names. */
static cls_status index_names(size_t n, const char *const *names, uint32_t **out, size_t *n_out,
                              cls_error *error) {
    *out = NULL;
    if (n == 0) return clsi_fail(error, CLS_USAGE, "a table needs at least one column");
    if (n > CLSI_MAX_COLUMNS)
        return clsi_fail(error, CLS_USAGE, "%zu columns; a table has at most %d", n,
                         CLSI_MAX_COLUMNS);
    size_t slots = 64;
    while (slots < 2 * n) slots *= 2;
    uint32_t *table = clsi_calloc(slots, sizeof *table);
    cls_status status = table ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < n && !status; i++) {
        if (!names[i] || !*names[i] || !on_one_line(names[i]))
            status = clsi_fail(error, CLS_USAGE, "column %zu: expected a name on one line", i + 1);
        size_t slot = status ? 0 : clsi_hash_text(names[i], strlen(names[i])) & (slots - 1);
        for (; !status && table[slot]; slot = (slot + 1) & (slots - 1))
            if (strcmp(names[i], names[table[slot] - 1]) == 0)
                status = clsi_fail(error, CLS_USAGE, "columns %u and %zu have the same name \"%s\"",
                                   table[slot], i + 1, names[i]);
        if (!status) table[slot] = (uint32_t)i + 1;
    }
    if (status) {
        free(table);
        return status;
    }
    *out = table;
    *n_out = slots;
    return CLS_OK;
}

cls_status clsi_check_names(size_t n, const char *const *names, cls_error *error) {
    uint32_t *slots;
    size_t count;
    cls_status status = index_names(n, names, &slots, &count, error);
    free(slots);
    return status;
}

cls_status clsi_table_index(cls_table *t, cls_error *error) {
    uint32_t *slots;
    size_t n;
    cls_status status = index_names(t->n_columns, (const char *const *)t->names, &slots, &n, error);
    if (status) return status;
    free(t->name_slots);
    t->name_slots = slots;
    t->n_name_slots = n;
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

static int copy_names(cls_table *t, const char *const *names) {
    t->names = clsi_calloc(t->n_columns, sizeof *t->names);
    t->units = clsi_calloc(t->n_columns, sizeof *t->units);
    t->columns = clsi_calloc(t->n_columns, sizeof *t->columns);
    if (!t->names || !t->units || !t->columns) return 0;
    for (size_t i = 0; i < t->n_columns; i++)
        if (!(t->names[i] = clsi_strdup(names[i]))) return 0;
    return 1;
}

cls_status cls_table_create(size_t n_columns, const char *const *names, cls_table **out,
                            cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, names);
    uint32_t *slots;
    size_t n_slots;
    cls_status status = index_names(n_columns, names, &slots, &n_slots, error);
    if (status) return status;
    cls_table *t = clsi_calloc(1, sizeof *t);
    if (!t) {
        free(slots);
        return clsi_no_memory(error);
    }
    t->name_slots = slots;
    t->n_name_slots = n_slots;
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
    NEED(error, out);
    *out = NULL;
    NEED(error, columns);
    cls_status status = cls_table_create(n_columns, names, out, error);
    if (status) return status;
    (*out)->borrowed = 1;
    (*out)->rows = (*out)->room = rows;
    /* Only append writes to columns, and it refuses these. */
    for (size_t i = 0; i < n_columns; i++) (*out)->columns[i] = (double *)columns[i];
    return CLS_OK;
}

void cls_table_free(cls_table **table) {
    if (!table) return;
    cls_table *t = *table;
    *table = NULL;
    if (!t) return;
    for (size_t i = 0; i < t->n_columns; i++) {
        if (t->names) free(t->names[i]);
        if (t->units) free(t->units[i]);
    }
    free(t->block);
    for (size_t i = 0; i < t->n_notes; i++) {
        free(t->notes[i].key);
        free(t->notes[i].value);
    }
    for (size_t i = 0; i < t->n_remarks; i++) free(t->remarks[i]);
    free(t->names);
    free(t->units);
    free(t->columns);
    free(t->notes);
    free(t->note_slots);
    free(t->name_slots);
    free(t->remarks);
    free(t);
}

size_t cls_table_rows(const cls_table *t) {
    if (!t) return 0;
    return t->rows;
}

size_t cls_table_columns(const cls_table *t) {
    if (!t) return 0;
    return t->n_columns;
}

const char *cls_table_name(const cls_table *t, size_t column) {
    if (!t) return NULL;
    if (column >= t->n_columns) return NULL;
    return t->names[column];
}

const double *cls_table_column(const cls_table *t, size_t column) {
    if (!t) return NULL;
    if (column >= t->n_columns) return NULL;
    return t->columns[column];
}

int cls_table_find(const cls_table *t, const char *name) {
    if (!t) return 0;
    char flat[CLSI_ELEMENT_ROOM];
    if (!name) return -1;
    if (clsi_element_name(name, flat)) name = flat;
    size_t mask = t->n_name_slots - 1, slot = clsi_hash_text(name, strlen(name)) & mask;
    for (; t->name_slots[slot]; slot = (slot + 1) & mask)
        if (strcmp(t->names[t->name_slots[slot] - 1], name) == 0)
            return (int)t->name_slots[slot] - 1;
    return -1;
}

/* All columns move to a block with room for `room` rows. They begin in different sets of the cache: a row is a number in each of them. */
static cls_status resize(cls_table *t, size_t room, int soon, cls_error *error) {
    size_t stride = ((room + 7) / 8 | 1) * 8, most = PTRDIFF_MAX / sizeof(double) / t->n_columns;
    size_t size = t->n_columns * stride * sizeof(double);
    double *block = room < most && stride < most ? clsi_aligned(size) : NULL;
    if (!block) return clsi_no_memory(error);
    if (soon) clsi_expect_use(block, size); /* before anything stands there */
    for (size_t i = 0; i < t->n_columns; i++) {
        if (t->rows) memcpy(block + i * stride, t->columns[i], t->rows * sizeof *block);
        t->columns[i] = block + i * stride;
    }
    free(t->block);
    t->block = block;
    t->room = room;
    return CLS_OK;
}

cls_status clsi_table_reserve(cls_table *t, size_t rows, cls_error *error) {
    if (rows <= t->room) return CLS_OK;
    size_t room = t->n_columns < MANY ? FIRST : 1;
    while (room < rows && room <= SIZE_MAX / 2) room *= 2;
    return resize(t, room, 0, error);
}

cls_status clsi_table_expect(cls_table *t, size_t rows, cls_error *error) {
    return rows <= t->room ? CLS_OK : resize(t, rows, 1, error);
}

cls_status cls_table_append(cls_table *t, const double *row, cls_error *error) {
    NEED(error, t);
    NEED(error, row);
    if (t->borrowed)
        return clsi_fail(error, CLS_USAGE, "rows cannot be added to columns that are borrowed");
    if (t->rows == t->room) {
        cls_status status = clsi_table_reserve(t, t->rows + 1, error);
        if (status) return status;
    }
    for (size_t i = 0; i < t->n_columns; i++) t->columns[i][t->rows] = row[i];
    t->rows++;
    return CLS_OK;
}

/* ---- notes ---- */

static size_t hash(const char *key) {
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    for (; *key; key++) h = (h ^ (unsigned char)*key) * 1099511628211u;
    return (size_t)(h ^ h >> 32);
}

/* The slot of a key: where it is, or the empty one where it would be. */
static size_t *slot_of(const cls_table *t, const char *key) {
    size_t mask = t->n_slots - 1, i = hash(key) & mask;
    while (t->note_slots[i] && strcmp(t->notes[t->note_slots[i] - 1].key, key) != 0)
        i = (i + 1) & mask;
    return &t->note_slots[i];
}

static int more_slots(cls_table *t) {
    size_t n = t->n_slots ? 2 * t->n_slots : 32, *slots = clsi_calloc(n, sizeof *slots);
    if (!slots) return 0;
    free(t->note_slots);
    t->note_slots = slots;
    t->n_slots = n;
    for (size_t i = 0; i < t->n_notes; i++) *slot_of(t, t->notes[i].key) = i + 1;
    return 1;
}

static clsi_note *find_note(const cls_table *t, const char *key) {
    size_t at = t->n_slots ? *slot_of(t, key) : 0;
    return at ? &t->notes[at - 1] : NULL;
}

const char *cls_table_note(const cls_table *t, const char *key) {
    if (!t) return NULL;
    const clsi_note *note = find_note(t, key);
    return note ? note->value : NULL;
}

size_t cls_table_note_count(const cls_table *t) {
    if (!t) return 0;
    return t->n_notes;
}

const char *cls_table_note_key(const cls_table *t, size_t i) {
    if (!t) return NULL;
    if (i >= cls_table_note_count(t)) return NULL;
    return i < t->n_notes ? t->notes[i].key : NULL;
}

cls_status cls_table_set_note(cls_table *t, const char *key, const char *value, cls_error *error) {
    NEED(error, t);
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
    if (!name || !clsi_grow(&t->notes, &t->notes_room, t->n_notes + 1, sizeof *t->notes) ||
        (2 * (t->n_notes + 1) > t->n_slots && !more_slots(t))) {
        free(name);
        free(copy);
        return clsi_no_memory(error);
    }
    t->notes[t->n_notes++] = (clsi_note){name, copy};
    *slot_of(t, name) = t->n_notes;
    return CLS_OK;
}

void clsi_table_move_notes(cls_table *from, cls_table *to) {
    to->notes = from->notes;
    to->n_notes = from->n_notes;
    to->notes_room = from->notes_room;
    to->note_slots = from->note_slots;
    to->n_slots = from->n_slots;
    to->remarks = from->remarks;
    to->n_remarks = from->n_remarks;
    to->remarks_room = from->remarks_room;
    from->notes = NULL;
    from->note_slots = NULL;
    from->remarks = NULL;
    from->n_notes = from->notes_room = from->n_slots = from->n_remarks = from->remarks_room = 0;
}

cls_status clsi_table_copy_notes(const cls_table *from, cls_table *to, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t i = 0; i < from->n_notes && status == CLS_OK; i++)
        status = cls_table_set_note(to, from->notes[i].key, from->notes[i].value, error);
    for (size_t i = 0; i < from->n_remarks; i++) clsi_table_remark(to, "%s", from->remarks[i]);
    return status;
}

cls_status clsi_table_like(const cls_table *from, cls_table **out, cls_error *error) {
    cls_status status =
        cls_table_create(from->n_columns, (const char *const *)from->names, out, error);
    if (status == CLS_OK) status = clsi_table_copy_notes(from, *out, error);
    for (size_t c = 0; c < from->n_columns && status == CLS_OK; c++)
        if (from->units[c]) status = cls_table_set_unit(*out, c, from->units[c], error);
    if (status != CLS_OK) cls_table_free(out);
    return status;
}

/* ---- remarks and units ---- */

void clsi_table_remark(cls_table *t, const char *format, ...) {
    char sentence[1024];
    va_list args;
    va_start(args, format);
    clsi_vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    char *copy = clsi_strdup(sentence);
    if (copy && clsi_grow(&t->remarks, &t->remarks_room, t->n_remarks + 1, sizeof *t->remarks))
        t->remarks[t->n_remarks++] = copy;
    else
        free(copy);
}

size_t cls_table_remark_count(const cls_table *t) {
    if (!t) return 0;
    return t->n_remarks;
}

const char *cls_table_remark(const cls_table *t, size_t i) {
    if (!t) return NULL;
    if (i >= cls_table_remark_count(t)) return NULL;
    return i < t->n_remarks ? t->remarks[i] : NULL;
}

const char *cls_table_unit(const cls_table *t, size_t column) {
    if (!t) return NULL;
    if (column >= t->n_columns) return NULL;
    return column < t->n_columns ? t->units[column] : NULL;
}

cls_status cls_table_set_unit(cls_table *t, size_t column, const char *unit, cls_error *error) {
    NEED(error, t);
    if (column >= t->n_columns)
        return clsi_fail(error, CLS_USAGE, "%s: there are only %zu", __func__,
                         (size_t)t->n_columns);
    if (column >= t->n_columns)
        return clsi_fail(error, CLS_USAGE, "there is no column %zu; the table has %zu", column,
                         t->n_columns);
    if (unit && (!*unit || unit[strcspn(unit, "[]\r\n")]))
        return clsi_fail(error, CLS_USAGE, "\"%s\" is not a unit: no brackets, on one line", unit);
    char *copy = unit ? clsi_strdup(unit) : NULL;
    if (unit && !copy) return clsi_no_memory(error);
    free(t->units[column]);
    t->units[column] = copy;
    return CLS_OK;
}

/* ---- for messages ---- */

int clsi_table_time(const cls_table *t) {
    int time = cls_table_find(t, "time");
    return time >= 0 ? time : cls_table_find(t, "t");
}

char *clsi_column_list(const cls_table *t) {
    clsi_text list = {0};
    clsi_alike_names(&list, t->n_columns, (const char *const *)t->names, 500);
    return clsi_text_take(&list);
}

int clsi_table_way(const cls_table *t, const char *name) {
    int best = 0;
    if (cls_table_find(t, name) >= 0) return 0;
    for (size_t k = 0; k < t->n_columns && best < 2; k++) {
        int how = cls_means_element(name, t->names[k], NULL, NULL);
        if (how > best) best = how;
    }
    return best;
}

cls_status clsi_no_column(const cls_table *t, const char *where, const char *name,
                          cls_status status, cls_error *error) {
    char hint[200];
    const char *near = NULL,
               *names = clsi_column_list(t), *const *all = (const char *const *)t->names;
    if (!names) return clsi_no_memory(error);
    if (!*clsi_array_hint(name, t->n_columns, all, hint))
        near = cls_nearest_word(name, t->n_columns, all);
    if (near) snprintf(hint, sizeof hint, "did you mean \"%.150s\"?", near);
    (void)clsi_fail(error, status, "%s has no column \"%s\"%s%s; it has: %s", where, name,
                    *hint ? "; " : "", hint, names);
    free((char *)names);
    return status;
}
