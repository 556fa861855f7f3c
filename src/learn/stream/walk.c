/* Files in blocks, row by row: segments, rows that windows reach back to, places by marks. */
#include "learn/stream/walk.h"
#include "base/base.h"
#include "data/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows of all files, in order ---- */

void clsi_walk_free(clsi_walk *k) {
    for (size_t c = 0; k->columns && c <= k->n_columns; c++) free(k->columns[c]);
    free(k->columns);
    free(k->to);
    free(k->one);
    free(k->names);
    free(k->row_of);
    *k = (clsi_walk){0};
}

static size_t block_of(size_t columns) {
    size_t rows = columns <= CLSI_WALK_WIDE ? CLSI_WALK_BLOCK
                                            : (size_t)CLSI_WALK_BLOCK * CLSI_WALK_WIDE / columns;
    return rows > CLSI_WALK_LEAST ? rows : CLSI_WALK_LEAST;
}

static cls_status walk_begin(clsi_walk *k, clsi_stream *st, const cls_table *head,
                             cls_error *error) {
    size_t n = cls_table_columns(head), block = block_of(n);
    size_t room = k->room ? k->room : 2 * block;
    if (n > CLSI_WALK_COLUMNS)
        return clsi_fail(error, CLS_DATA,
                         "%s has %zu columns, and files that are read in blocks at most %d: leave "
                         "out what the system does not need",
                         st->paths[0], n, CLSI_WALK_COLUMNS);
    *k = (clsi_walk){.st = st, .n_columns = n, .block = block, .room = room, .last_time = INFINITY};
    k->names = clsi_calloc(k->n_columns + 1, sizeof *k->names);
    k->columns = clsi_calloc(k->n_columns + 1, sizeof *k->columns);
    k->row_of = clsi_calloc(room, sizeof *k->row_of);
    k->to = clsi_calloc(n + 1, sizeof *k->to);
    k->one = clsi_calloc(n + 1, sizeof *k->one);
    if (!k->names || !k->columns || !k->row_of || !k->to || !k->one) return clsi_no_memory(error);
    for (size_t c = 0; c <= k->n_columns; c++)
        if (!(k->columns[c] = clsi_calloc(room, sizeof(double)))) return clsi_no_memory(error);
    k->time = clsi_table_time(head);
    k->number = cls_table_find(head, "trajectory");
    if (k->time < 0) return clsi_no_column(head, st->paths[0], "time", CLS_DATA, error);
    return CLS_OK;
}

cls_status clsi_walk_table(clsi_walk *k, const cls_table *head, cls_table **out, cls_error *error) {
    for (size_t c = 0; c < k->n_columns; c++)
        k->names[c] = (int)c == k->number ? "trajectory of the file" : cls_table_name(head, c);
    k->names[k->n_columns] = "trajectory";
    return cls_table_borrow(k->n_columns + 1, k->names, k->count, (const double *const *)k->columns,
                            out, error);
}

static int is_held(const clsi_stream *st, uint64_t row, size_t *at) {
    while (*at < st->n_held && row > st->held[2 * *at + 1]) ++*at;
    return *at < st->n_held && row >= st->held[2 * *at];
}

cls_status clsi_walk_segments(clsi_walk *k, size_t first, size_t got, size_t *held,
                              const char *path, cls_error *error) {
    double *time = k->columns[k->time], *segment = k->columns[k->n_columns];
    size_t to = first;
    for (size_t i = first; i < first + got; i++, k->row++) {
        double number = k->number < 0 ? 0 : k->columns[k->number][i];
        int same = number == k->last_number;
        if (same && k->number >= 0 && time[i] < k->last_time && isfinite(k->last_time))
            return clsi_fail(
                error, CLS_DATA,
                "%s: row %llu: time goes back from %g to %g in trajectory %g: sort its "
                "rows by time, or give each run a number of its own",
                path, (unsigned long long)k->row + 1, k->last_time, time[i], number);
        if (!same || !(time[i] > k->last_time)) k->segment++;
        k->last_number = number;
        k->last_time = time[i];
        if (is_held(k->st, k->row, held)) {
            k->segment++;
            continue;
        }
        for (size_t c = 0; c < k->n_columns; c++) k->columns[c][to] = k->columns[c][i];
        segment[to] = k->segment;
        k->row_of[to++] = k->row;
    }
    k->count = to;
    return CLS_OK;
}

/* What the next block begins with: rows of the last segment that windows reach back to. */
static void keep_tail(clsi_walk *k, size_t reach) {
    double *segment = k->columns[k->n_columns];
    size_t n = 0;
    while (n < reach && n < k->count && segment[k->count - 1 - n] == segment[k->count - 1]) n++;
    for (size_t c = 0; c <= k->n_columns; c++)
        memmove(k->columns[c], k->columns[c] + k->count - n, n * sizeof(double));
    memmove(k->row_of, k->row_of + k->count - n, n * sizeof *k->row_of);
    k->count = n;
}

cls_status clsi_walk_open(clsi_walk *k, size_t f, cls_reader **r, cls_error *error) {
    clsi_stream *st = k->st;
    cls_status status = cls_reader_open(st->paths[f], st->reading, r, error);
    if (status != CLS_OK) return status;
    const cls_table *head = cls_reader_head(*r);
    if (!k->columns) status = walk_begin(k, st, head, error);
    if (status == CLS_OK && cls_table_columns(head) != k->n_columns)
        status = clsi_fail(error, CLS_DATA,
                           "%s has %zu columns, %s has %zu: files that are read in "
                           "blocks have the same columns",
                           st->paths[f], cls_table_columns(head), st->paths[0], k->n_columns);
    if (status != CLS_OK) cls_reader_close(r);
    k->count = 0;
    k->last_time = INFINITY; /* nothing goes on from the file before */
    return status;
}

cls_status clsi_walk_read(clsi_walk *k, cls_reader *r, size_t room, size_t *got, cls_error *error) {
    for (size_t c = 0; c < k->n_columns; c++) k->to[c] = k->columns[c] + k->count;
    return cls_reader_next(r, room, k->to, got, error);
}

/* Blocks of file f, to its end or so many. */
static cls_status walk_blocks(clsi_walk *k, cls_reader *r, size_t f, uint64_t blocks, size_t reach,
                              size_t *held, clsi_walk_use use, void *context, cls_error *error) {
    cls_status status = CLS_OK;
    if (reach > k->block)
        return clsi_fail(error, CLS_DATA, "%s: windows of %zu rows of %zu columns are too large",
                         k->st->paths[f], reach + 1, k->n_columns);
    for (size_t got = 1; status == CLS_OK && got && blocks; blocks--) {
        size_t kept = k->count;
        status = clsi_walk_read(k, r, k->block, &got, error);
        if (status == CLS_OK)
            status = clsi_walk_segments(k, kept, got, held, k->st->paths[f], error);
        if (status == CLS_OK && got) status = use(context, k, cls_reader_head(r), kept, error);
        if (status == CLS_OK) keep_tail(k, reach);
    }
    return status;
}

cls_status clsi_walk_all(clsi_stream *st, size_t reach, clsi_walk_use use, void *context,
                         cls_error *error) {
    clsi_walk k = {.st = st};
    size_t held = 0;
    cls_status status = CLS_OK;
    for (size_t f = 0; f < st->n_files && status == CLS_OK; f++) {
        cls_reader *r;
        status = clsi_walk_open(&k, f, &r, error);
        if (status == CLS_OK)
            status = walk_blocks(&k, r, f, UINT64_MAX, reach, &held, use, context, error);
        cls_reader_close(&r);
    }
    clsi_walk_free(&k);
    return status;
}

/* ---- rows of some places ---- */

int clsi_stream_is_shared(const clsi_stream *st) {
    return st->team && st->team->ranks > 1;
}

static const clsi_marks *marks_of(const clsi_stream *st, size_t range, size_t f) {
    return &st->marks[range * st->n_files + f];
}

uint64_t clsi_stream_rows_of(const clsi_stream *st, size_t f) {
    uint64_t rows = 0;
    for (size_t i = 0; i < st->n_ranges; i++) rows += marks_of(st, i, f)->rows;
    return rows;
}

cls_status clsi_walk_to(clsi_walk *k, cls_reader *r, size_t f, uint64_t row, cls_error *error) {
    const clsi_marks *m = marks_of(k->st, 0, f);
    for (size_t i = 0; row >= m->rows && i + 1 < k->st->n_ranges;) {
        row -= m->rows;
        m = marks_of(k->st, ++i, f);
    }
    uint64_t at = row / m->spacing, left = row % m->spacing;
    if (at >= m->n) return CLS_OK; /* nothing is there */
    cls_status status = clsi_reader_seek(r, m->place[at], 0, error);
    k->count = 0;
    for (size_t got = 1; status == CLS_OK && left && got; left -= got)
        status = clsi_walk_read(k, r, left < k->block ? (size_t)left : k->block, &got, error);
    return status;
}

cls_status clsi_walk_some(clsi_stream *st, uint64_t first, uint64_t last, size_t reach,
                          clsi_walk_use use, void *context, cls_error *error) {
    clsi_walk k = {.st = st};
    size_t held = 0;
    uint64_t begin = 0;
    cls_status status = CLS_OK;
    for (size_t f = 0; f < st->n_files && status == CLS_OK; f++) {
        uint64_t rows = clsi_stream_rows_of(st, f), end = begin + rows;
        if (rows && first < last && first < end && last + reach > begin) {
            size_t got = 0;
            cls_reader *r;
            status = clsi_walk_open(&k, f, &r, error);
            uint64_t block = status == CLS_OK ? k.block : 1;
            uint64_t from = first > begin ? (first - begin) / block : 0,
                     to = (last + reach - begin + block - 1) / block;
            uint64_t lead = from ? (reach + 1 < block ? reach + 1 : block) : 0;
            k.row = begin + from * block - lead;
            if (status == CLS_OK) status = clsi_walk_to(&k, r, f, from * block - lead, error);
            if (status == CLS_OK && lead) status = clsi_walk_read(&k, r, (size_t)lead, &got, error);
            if (status == CLS_OK)
                status = clsi_walk_segments(&k, 0, got, &held, st->paths[f], error);
            if (status == CLS_OK) keep_tail(&k, reach);
            if (status == CLS_OK)
                status = walk_blocks(&k, r, f, to - from, reach, &held, use, context, error);
            cls_reader_close(&r);
        }
        begin = end;
    }
    clsi_walk_free(&k);
    return status;
}

int clsi_walk_has_windows(const clsi_walk *k, size_t width) {
    const double *segment = k->columns[k->n_columns];
    for (size_t i = 0; i + width <= k->count; i++)
        if (segment[i] == segment[i + width - 1]) return 1;
    return 0;
}
