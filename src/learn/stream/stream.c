/* Files in blocks: the sample, and the passes over all rows. */
#include "learn/stream/stream.h"
#include "base/base.h"
#include "data/table.h"
#include "learn/stream/walk.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUN = 100, RUNS = 250 }; /* rows of a run of the sample, and how many there are */

/* ---- counting in shares ---- */

static int is_stopped(const cls_learn_options *o) {
    return o->interrupted && o->interrupted(o->context);
}

static cls_status stopped_counting(cls_error *error) {
    return clsi_fail(error, CLS_INTERRUPTED, "interrupted while the rows were counted");
}

enum { FIRST_SPACING = 256 };

static void mark(clsi_marks *m, uint64_t place) {
    if (m->n == CLSI_MARKS) {
        m->n /= 2;
        m->spacing *= 2;
        for (size_t i = 0; i < m->n; i++) m->place[i] = m->place[2 * i];
    }
    if (m->rows % m->spacing == 0) m->place[m->n++] = place;
}

/* Range `range` of file f; *can is 0 where it has to be read from its beginning. */
static cls_status count_range(clsi_walk *k, const cls_learn_options *o, size_t range, size_t f,
                              clsi_marks *m, int *can, cls_error *error) {
    cls_reader *r;
    size_t held = 0, got = 1;
    cls_status status = clsi_walk_open(k, f, &r, error);
    if (status != CLS_OK) return status;
    uint64_t size = clsi_reader_size(r), begin = size ? clsi_reader_place(r) : 0,
             n = k->st->n_ranges;
    *can = size > 0;
    m->spacing = FIRST_SPACING;
    if (*can)
        status =
            clsi_reader_seek(r, begin + cls_team_first(range, n, (size_t)(size - begin)),
                             begin + cls_team_first(range + 1, n, (size_t)(size - begin)), error);
    while (*can && status == CLS_OK && got) {
        uint64_t place = clsi_reader_place(r);
        k->count = 0;
        status = clsi_walk_read(k, r, FIRST_SPACING, &got, error);
        if (status == CLS_OK && got) mark(m, place);
        if (status == CLS_OK) status = clsi_walk_segments(k, 0, got, &held, k->st->paths[f], error);
        m->rows += got;
        if (status == CLS_OK && is_stopped(o)) status = stopped_counting(error);
    }
    cls_reader_close(&r);
    return status;
}

/* *can: the marks are there. An error is one of a rank; its lines are not numbered then. */
static cls_status count_shared(clsi_stream *st, const cls_learn_options *o, int *can,
                               cls_error *error) {
    size_t rank = clsi_stream_is_shared(st) ? st->team->rank : 0;
    clsi_walk k = {.st = st};
    st->n_ranges = clsi_stream_is_shared(st) ? st->team->ranks : 1;
    st->marks = clsi_calloc(st->n_ranges * st->n_files, sizeof *st->marks);
    cls_status status = st->marks ? CLS_OK : clsi_no_memory(error);
    *can = 1;
    for (size_t f = 0; f < st->n_files && *can && status == CLS_OK; f++)
        status = count_range(&k, o, rank, f, &st->marks[rank * st->n_files + f], can, error);
    clsi_walk_free(&k);
    if (clsi_stream_is_shared(st)) {
        status = cls_team_agree(st->team, status, error);
        if (status == CLS_OK && *can)
            status = st->team->share(st->team->context, "marks", NULL, st->n_ranges,
                                     st->n_files * sizeof *st->marks, st->marks, 0, error);
    }
    for (size_t f = 0; f < st->n_files && *can && status == CLS_OK; f++)
        st->rows += clsi_stream_rows_of(st, f);
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

static cls_status count_block(void *context, clsi_walk *k, const cls_table *head, size_t kept,
                              cls_error *error) {
    sampling *s = context;
    (void)head, (void)kept;
    s->counted += k->count;
    return is_stopped(s->o) ? stopped_counting(error) : CLS_OK;
}

static cls_status sample_block(void *context, clsi_walk *k, const cls_table *head, size_t kept,
                               cls_error *error) {
    sampling *s = context;
    clsi_stream *st = s->st;
    double *row = k->one;
    (void)kept;
    cls_status status = CLS_OK;
    if (!st->sample) {
        cls_table *shape;
        status = clsi_walk_table(k, head, &shape, error);
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

/* ---- the sample in its places ---- */

/* What a rank tells of a run: how many rows, then for each whether it begins a segment, and its numbers. */
static size_t run_size(size_t columns) {
    return 1 + RUN * (columns + 1);
}

static cls_status take_run(void *context, clsi_walk *k, const cls_table *head, size_t kept,
                           cls_error *error) {
    double *to = context;
    const double *segment = k->columns[k->n_columns];
    (void)head, (void)kept, (void)error;
    to[0] = (double)k->count;
    for (size_t i = 0; i < k->count; i++) {
        double *row = to + 1 + i * (k->n_columns + 1);
        row[0] = i == 0 || segment[i] != segment[i - 1];
        for (size_t c = 0; c < k->n_columns; c++) row[1 + c] = k->columns[c][i];
    }
    return CLS_OK;
}

/* Rows [from, from + RUN) of all files: a run may end in the next file. */
static cls_status read_run(clsi_walk *k, cls_reader **r, size_t *open, uint64_t from, double *to,
                           cls_error *error) {
    clsi_stream *st = k->st;
    uint64_t begin = 0;
    size_t count = 0, held = 0;
    cls_status status = CLS_OK;
    k->row = from;
    for (size_t f = 0; f < st->n_files && status == CLS_OK && count < RUN; f++) {
        uint64_t rows = clsi_stream_rows_of(st, f), at = from + count;
        if (at >= begin && at < begin + rows) {
            size_t got = 0;
            if (*open != f) {
                cls_reader_close(r);
                status = clsi_walk_open(k, f, r, error);
                *open = f;
            }
            k->last_time = INFINITY;
            if (status == CLS_OK) status = clsi_walk_to(k, *r, f, at - begin, error);
            k->count = count;
            if (status == CLS_OK) status = clsi_walk_read(k, *r, RUN - count, &got, error);
            if (status == CLS_OK)
                status = clsi_walk_segments(k, count, got, &held, st->paths[f], error);
            count = k->count;
        }
        begin += rows;
    }
    return status == CLS_OK ? take_run(to, k, NULL, 0, error) : status;
}

static cls_status add_run(sampling *s, size_t columns, uint64_t from, const double *run,
                          double *row, cls_error *error) {
    clsi_stream *st = s->st;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < (size_t)run[0] && status == CLS_OK; i++) {
        const double *is = run + 1 + i * (columns + 1);
        s->trajectory += is[0];
        memcpy(row, is + 1, columns * sizeof *row);
        row[columns] = s->trajectory;
        if (!clsi_grow(&st->row_of, &s->room, s->n + 1, sizeof *st->row_of))
            return clsi_no_memory(error);
        st->row_of[s->n++] = from + i;
        status = cls_table_append(st->sample, row, error);
    }
    return status;
}

/* Runs are shared out like rows. */
static cls_status sample_places(sampling *s, cls_error *error) {
    clsi_stream *st = s->st;
    size_t runs = (size_t)((st->rows + s->stride - 1) / s->stride), open = 0;
    clsi_walk k = {.st = st};
    cls_reader *r = NULL;
    cls_table *shape = NULL;
    double *told = NULL;
    cls_status status = clsi_walk_open(&k, 0, &r, error);
    if (status == CLS_OK) status = clsi_walk_table(&k, cls_reader_head(r), &shape, error);
    if (status == CLS_OK) status = cls_table_create(k.n_columns + 1, k.names, &st->sample, error);
    if (status == CLS_OK && !(told = clsi_calloc(runs * run_size(k.n_columns), sizeof *told)))
        status = clsi_no_memory(error);
    for (size_t i = 0; i < runs && status == CLS_OK; i++)
        if (!clsi_stream_is_shared(st) || cls_team_owns(st->team->rank, st->team->ranks, i, runs))
            status =
                read_run(&k, &r, &open, i * s->stride, told + i * run_size(k.n_columns), error);
    if (clsi_stream_is_shared(st)) {
        status = cls_team_agree(st->team, status, error);
        if (status == CLS_OK)
            status = st->team->share(st->team->context, "sample", NULL, runs,
                                     run_size(k.n_columns) * sizeof *told, told, 0, error);
    }
    for (size_t i = 0; i < runs && status == CLS_OK; i++)
        status =
            add_run(s, k.n_columns, i * s->stride, told + i * run_size(k.n_columns), k.one, error);
    cls_table_free(&shape);
    free(told);
    cls_reader_close(&r);
    clsi_walk_free(&k);
    return status;
}

cls_status clsi_stream_open(clsi_stream *st, const cls_learn_options *o, cls_error *error) {
    sampling s = {.st = st, .o = o, .run = UINT64_MAX};
    int can;
    st->team = o->team;
    cls_status status = count_shared(st, o, &can, error);
    if (!can || (status != CLS_OK && status != CLS_INTERRUPTED && clsi_stream_is_shared(st))) {
        free(st->marks); /* from beginning to end, which numbers the lines of errors */
        st->marks = NULL;
        status = clsi_walk_all(st, 0, count_block, &s, error);
        st->rows = s.counted;
    }
    s.stride = st->rows / RUNS > RUN ? st->rows / RUNS : RUN;
    if (status == CLS_OK && st->rows)
        status =
            st->marks ? sample_places(&s, error) : clsi_walk_all(st, 0, sample_block, &s, error);
    if (status == CLS_OK && !st->sample)
        status = clsi_fail(error, CLS_DATA, "%s has no rows", st->paths[0]);
    return status;
}

void clsi_stream_close(clsi_stream *st) {
    cls_table_free(&st->sample);
    free(st->row_of);
    free(st->held);
    free(st->marks);
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
    }
    for (size_t i = 0; x && i < us->n; i++) free(x[i]);
    free(x);
    free(at.weight);
    return status;
}

static cls_status pass_block(void *context, clsi_walk *k, const cls_table *head, size_t kept,
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
    if (!clsi_walk_has_windows(k, width)) return CLS_OK;
    snprintf(name, sizeof name, "%.400s, from row %llu of all on", s->st->paths[0],
             (unsigned long long)k->row_of[0] + 1);
    cls_status status = clsi_walk_table(k, head, &t, error);
    if (status == CLS_OK)
        status = clsi_points_create_like(s->w->system, t, name, s->w->points, &p, error);
    if (status == CLS_OK) status = take_points(s, p, k->row_of, error);
    clsi_points_free(&p);
    cls_table_free(&t);
    return status;
}

cls_status clsi_stream_pass(clsi_stream *st, const clsi_learner *w, uint64_t first, uint64_t last,
                            clsi_stream_take take, int (*read)(void *context, uint64_t rows),
                            void *context) {
    pass s = {st, w, take, read, context};
    const clsi_points *p = w->points;
    size_t width = p->rule.composite ? p->width : p->rule.neighbours;
    st->windows = 0;
    if (st->marks) return clsi_walk_some(st, first, last, width - 1, pass_block, &s, w->error);
    return clsi_walk_all(st, width - 1, pass_block, &s, w->error);
}
