/* Files in blocks: the sample, and the passes over all rows. */
#include "learn/stream.h"
#include "base/base.h"
#include "data/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 1 << 15, /* rows that are read together */
    RUN = 100,
    RUNS = 250 /* rows of a run of the sample, and how many there are */
};

/* ---- rows of all files, in order ---- */

typedef struct walk {
    clsi_stream *st;
    size_t n_columns; /* of the files; what is given has one more, the segment */
    const char **names;
    double **columns; /* (n_columns + 1) rows of a block, segments last */
    uint64_t *row_of;
    size_t count; /* rows in the block */
    double segment, last_number, last_time;
    uint64_t row; /* the next row */
    int time, number;
} walk;

static void walk_free(walk *k) {
    for (size_t c = 0; k->columns && c <= k->n_columns; c++) free(k->columns[c]);
    free(k->columns);
    free(k->names);
    free(k->row_of);
    *k = (walk){0};
}

static cls_status walk_begin(walk *k, clsi_stream *st, const cls_table *head, cls_error *error) {
    *k = (walk){.st = st, .n_columns = cls_table_columns(head), .last_time = INFINITY};
    k->names = clsi_calloc(k->n_columns + 1, sizeof *k->names);
    k->columns = clsi_calloc(k->n_columns + 1, sizeof *k->columns);
    k->row_of = clsi_calloc(2 * BLOCK, sizeof *k->row_of);
    if (!k->names || !k->columns || !k->row_of) return clsi_no_memory(error);
    for (size_t c = 0; c <= k->n_columns; c++)
        if (!(k->columns[c] = clsi_calloc(2 * BLOCK, sizeof(double)))) return clsi_no_memory(error);
    k->time = clsi_table_time(head);
    k->number = cls_table_find(head, "trajectory");
    if (k->time < 0) return clsi_no_column(head, st->paths[0], "time", CLS_DATA, error);
    return CLS_OK;
}

/* Names stay with the reader's head, which must outlive the table. The file's own numbers of
 * trajectories give way to those of segments. */
static cls_status walk_table(walk *k, const cls_table *head, cls_table **out, cls_error *error) {
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

/* A new trajectory, a time that does not rise, a new file or a row that is held cut. */
static cls_status mark_segments(walk *k, size_t first, size_t got, size_t *held, const char *path,
                                cls_error *error) {
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
static void keep_tail(walk *k, size_t reach) {
    double *segment = k->columns[k->n_columns];
    size_t n = 0;
    while (n < reach && n < k->count && segment[k->count - 1 - n] == segment[k->count - 1]) n++;
    for (size_t c = 0; c <= k->n_columns; c++)
        memmove(k->columns[c], k->columns[c] + k->count - n, n * sizeof(double));
    memmove(k->row_of, k->row_of + k->count - n, n * sizeof *k->row_of);
    k->count = n;
}

typedef cls_status (*use_block)(void *context, walk *k, const cls_table *head, size_t kept,
                                cls_error *error);

static cls_status walk_file(clsi_stream *st, walk *k, size_t f, size_t reach, size_t *held,
                            use_block use, void *context, cls_error *error) {
    cls_reader *r;
    cls_status status = cls_reader_open(st->paths[f], st->reading, &r, error);
    if (status != CLS_OK) return status;
    const cls_table *head = cls_reader_head(r);
    if (!k->columns) status = walk_begin(k, st, head, error);
    if (status == CLS_OK && cls_table_columns(head) != k->n_columns)
        status = clsi_fail(error, CLS_DATA,
                           "%s has %zu columns, %s has %zu: files that are read in "
                           "blocks have the same columns",
                           st->paths[f], cls_table_columns(head), st->paths[0], k->n_columns);
    k->count = 0;
    k->last_time = INFINITY; /* nothing goes on from the file before */
    for (size_t got = 1; status == CLS_OK && got;) {
        size_t kept = k->count;
        double *to[512];
        if (k->n_columns > 512)
            return clsi_fail(error, CLS_DATA, "%s has more than 512 columns", st->paths[f]);
        for (size_t c = 0; c < k->n_columns; c++) to[c] = k->columns[c] + kept;
        status = cls_reader_next(r, BLOCK, to, &got, error);
        if (status == CLS_OK) status = mark_segments(k, kept, got, held, st->paths[f], error);
        if (status == CLS_OK && got) status = use(context, k, head, kept, error);
        if (status == CLS_OK) keep_tail(k, reach);
    }
    cls_reader_close(&r);
    return status;
}

static cls_status walk_all(clsi_stream *st, size_t reach, use_block use, void *context,
                           cls_error *error) {
    walk k = {0};
    size_t held = 0;
    cls_status status = CLS_OK;
    for (size_t f = 0; f < st->n_files && status == CLS_OK; f++)
        status = walk_file(st, &k, f, reach, &held, use, context, error);
    walk_free(&k);
    return status;
}

/* ---- the sample ---- */

typedef struct sampling {
    clsi_stream *st;
    const cls_learn_options *o;
    uint64_t counted, stride;
    uint64_t run;
    double last_segment, trajectory;
    size_t n, room;
} sampling;

static cls_status count_block(void *context, walk *k, const cls_table *head, size_t kept,
                              cls_error *error) {
    sampling *s = context;
    (void)head, (void)kept;
    s->counted += k->count;
    if (s->o->interrupted && s->o->interrupted(s->o->context))
        return clsi_fail(error, CLS_INTERRUPTED, "interrupted while the rows were counted");
    return CLS_OK;
}

static cls_status sample_block(void *context, walk *k, const cls_table *head, size_t kept,
                               cls_error *error) {
    sampling *s = context;
    clsi_stream *st = s->st;
    double row[513];
    (void)kept;
    cls_status status = CLS_OK;
    if (!st->sample) {
        cls_table *shape;
        status = walk_table(k, head, &shape, error);
        if (status == CLS_OK)
            status = cls_table_create(k->n_columns + 1, k->names, &st->sample, error);
        cls_table_free(&shape);
    }
    for (size_t i = 0; i < k->count && status == CLS_OK; i++) {
        uint64_t at = k->row_of[i], run = at / s->stride;
        if (at % s->stride >= RUN) continue;
        double segment = k->columns[k->n_columns][i];
        if (run != s->run || segment != s->last_segment) s->trajectory++;
        s->run = run;
        s->last_segment = segment;
        for (size_t c = 0; c < k->n_columns; c++) row[c] = k->columns[c][i];
        row[k->n_columns] = s->trajectory;
        if (!clsi_grow(&st->row_of, &s->room, s->n + 1, sizeof *st->row_of))
            return clsi_no_memory(error);
        st->row_of[s->n++] = at;
        status = cls_table_append(st->sample, row, error);
    }
    return status;
}

cls_status clsi_stream_open(clsi_stream *st, const cls_learn_options *o, cls_error *error) {
    sampling s = {.st = st, .o = o, .run = UINT64_MAX};
    cls_status status = walk_all(st, 0, count_block, &s, error);
    st->rows = s.counted;
    s.stride = s.counted / RUNS > RUN ? s.counted / RUNS : RUN;
    if (status == CLS_OK) status = walk_all(st, 0, sample_block, &s, error);
    if (status == CLS_OK && !st->sample)
        status = clsi_fail(error, CLS_DATA, "%s has no rows", st->paths[0]);
    return status;
}

void clsi_stream_close(clsi_stream *st) {
    cls_table_free(&st->sample);
    free(st->row_of);
    free(st->held);
    *st = (clsi_stream){0};
}

cls_status clsi_stream_hold(clsi_stream *st, const clsi_points *p, cls_error *error) {
    st->n_held = 0;
    if (p->n_windows == p->n_training) return CLS_OK; /* then `held` are all of them */
    free(st->held);
    if (!(st->held = clsi_calloc(2 * p->n_held, sizeof *st->held))) return clsi_no_memory(error);
    for (size_t i = 0; i < p->n_held; i++) {
        st->held[2 * i] = st->row_of[p->held[2 * i]];
        st->held[2 * i + 1] = st->row_of[p->held[2 * i + 1] - 1];
    }
    st->n_held = p->n_held;
    return CLS_OK;
}

int clsi_stream_serves(const clsi_residual *r) {
    const clsi_unknowns *us = r->unknowns;
    if (!r->affine || r->points->intervals || r->step || r->hidden) return 0;
    for (size_t i = 0; i < us->n; i++)
        if (us->list[i].late || us->list[i].convex) return 0;
    return 1;
}

/* ---- passes ---- */

typedef struct pass {
    clsi_stream *st;
    const clsi_learner *w;
    clsi_stream_take take;
    int (*read)(void *context, uint64_t rows);
    void *context;
} pass;

/* The parts' inputs are exchanged for those of the block, and come back. */
static cls_status take_points(pass *s, const clsi_points *p, const uint64_t *row_of,
                              cls_error *error) {
    clsi_unknowns *us = s->w->unknowns;
    clsi_residual at = {0};
    double **x = clsi_calloc(us->n, sizeof *x);
    cls_status status =
        x ? clsi_unknowns_inputs(us, s->w->system, p, x, error) : clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_residual_at(s->w->residual, p, &at, error);
    if (status == CLS_OK) {
        for (size_t i = 0; i < us->n; i++) {
            double *own = us->list[i].x;
            us->list[i].x = x[i];
            x[i] = own;
        }
        status = s->take(s->context, &at, row_of, error);
        for (size_t i = 0; i < us->n; i++) {
            double *own = x[i];
            x[i] = us->list[i].x;
            us->list[i].x = own;
        }
        s->st->windows += p->n_training;
    }
    for (size_t i = 0; x && i < us->n; i++) free(x[i]);
    free(x);
    free(at.weight);
    return status;
}

static int has_windows(const walk *k, size_t width) {
    const double *segment = k->columns[k->n_columns];
    for (size_t i = 0; i + width <= k->count; i++)
        if (segment[i] == segment[i + width - 1]) return 1;
    return 0;
}

static cls_status pass_block(void *context, walk *k, const cls_table *head, size_t kept,
                             cls_error *error) {
    pass *s = context;
    cls_table *t;
    clsi_points *p = NULL;
    char name[512];
    const clsi_rule *rule = &s->w->points->rule;
    size_t width = rule->composite ? s->w->points->width : rule->neighbours;
    (void)kept;
    if (s->read(s->context, k->row))
        return clsi_fail(error, CLS_INTERRUPTED, "stopped while the rows were made");
    if (!has_windows(k, width)) return CLS_OK;
    snprintf(name, sizeof name, "%.400s, from row %llu of all on", s->st->paths[0],
             (unsigned long long)k->row_of[0] + 1);
    cls_status status = walk_table(k, head, &t, error);
    if (status == CLS_OK)
        status = clsi_points_create_like(s->w->system, t, name, s->w->points, &p, error);
    if (status == CLS_OK) status = take_points(s, p, k->row_of, error);
    clsi_points_free(&p);
    cls_table_free(&t);
    return status;
}

cls_status clsi_stream_pass(clsi_stream *st, const clsi_learner *w, clsi_stream_take take,
                            int (*read)(void *context, uint64_t rows), void *context) {
    pass s = {st, w, take, read, context};
    const clsi_points *p = w->points;
    size_t width = p->rule.composite ? p->width : p->rule.neighbours;
    st->windows = 0;
    return walk_all(st, width - 1, pass_block, &s, w->error);
}
