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
    RUNS = 250, /* rows of a run of the sample, and how many there are */
    MOST_COLUMNS = 512
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

/* Opens file f, whose columns must be those of the first. */
static cls_status walk_open(walk *k, size_t f, cls_reader **r, cls_error *error) {
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
    if (status == CLS_OK && k->n_columns > MOST_COLUMNS)
        status =
            clsi_fail(error, CLS_DATA, "%s has more than %d columns", st->paths[f], MOST_COLUMNS);
    if (status != CLS_OK) cls_reader_close(r);
    k->count = 0;
    k->last_time = INFINITY; /* nothing goes on from the file before */
    return status;
}

/* At most `room` rows behind those that are there; *got 0 at the end. */
static cls_status walk_read(walk *k, cls_reader *r, size_t room, size_t *got, cls_error *error) {
    double *to[MOST_COLUMNS];
    for (size_t c = 0; c < k->n_columns; c++) to[c] = k->columns[c] + k->count;
    return cls_reader_next(r, room, to, got, error);
}

/* Blocks of file f, to its end or so many. */
static cls_status walk_blocks(walk *k, cls_reader *r, size_t f, uint64_t blocks, size_t reach,
                              size_t *held, use_block use, void *context, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t got = 1; status == CLS_OK && got && blocks; blocks--) {
        size_t kept = k->count;
        status = walk_read(k, r, BLOCK, &got, error);
        if (status == CLS_OK) status = mark_segments(k, kept, got, held, k->st->paths[f], error);
        if (status == CLS_OK && got) status = use(context, k, cls_reader_head(r), kept, error);
        if (status == CLS_OK) keep_tail(k, reach);
    }
    return status;
}

static cls_status walk_all(clsi_stream *st, size_t reach, use_block use, void *context,
                           cls_error *error) {
    walk k = {.st = st};
    size_t held = 0;
    cls_status status = CLS_OK;
    for (size_t f = 0; f < st->n_files && status == CLS_OK; f++) {
        cls_reader *r;
        status = walk_open(&k, f, &r, error);
        if (status == CLS_OK)
            status = walk_blocks(&k, r, f, UINT64_MAX, reach, &held, use, context, error);
        cls_reader_close(&r);
    }
    walk_free(&k);
    return status;
}

/* ---- rows of some places ---- */

static int is_team(const clsi_stream *st) {
    return st->team && st->team->ranks > 1;
}

static const clsi_marks *marks_of(const clsi_stream *st, size_t range, size_t f) {
    return &st->marks[range * st->n_files + f];
}

static uint64_t rows_of(const clsi_stream *st, size_t f) {
    uint64_t rows = 0;
    for (size_t i = 0; i < st->n_ranges; i++) rows += marks_of(st, i, f)->rows;
    return rows;
}

/* The reader of file f goes to its row `row`, over rows behind the mark before it. */
static cls_status walk_to(walk *k, cls_reader *r, size_t f, uint64_t row, cls_error *error) {
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
        status = walk_read(k, r, left < BLOCK ? (size_t)left : BLOCK, &got, error);
    return status;
}

/* Those blocks of all files whose windows begin in the rows [first, last). They begin where those of
 * walk_all do, with the rows before them that windows reach back to. */
static cls_status walk_some(clsi_stream *st, uint64_t first, uint64_t last, size_t reach,
                            use_block use, void *context, cls_error *error) {
    walk k = {.st = st};
    size_t held = 0;
    uint64_t begin = 0;
    cls_status status = CLS_OK;
    for (size_t f = 0; f < st->n_files && status == CLS_OK; f++) {
        uint64_t rows = rows_of(st, f), end = begin + rows;
        if (rows && first < last && first < end && last + reach > begin) {
            uint64_t from = first > begin ? (first - begin) / BLOCK : 0,
                     to = (last + reach - begin + BLOCK - 1) / BLOCK;
            uint64_t lead = from ? (reach + 1 < BLOCK ? reach + 1 : BLOCK) : 0;
            size_t got = 0;
            cls_reader *r;
            status = walk_open(&k, f, &r, error);
            k.row = begin + from * BLOCK - lead;
            if (status == CLS_OK) status = walk_to(&k, r, f, from * BLOCK - lead, error);
            if (status == CLS_OK && lead) status = walk_read(&k, r, (size_t)lead, &got, error);
            if (status == CLS_OK) status = mark_segments(&k, 0, got, &held, st->paths[f], error);
            if (status == CLS_OK) keep_tail(&k, reach);
            if (status == CLS_OK)
                status = walk_blocks(&k, r, f, to - from, reach, &held, use, context, error);
            cls_reader_close(&r);
        }
        begin = end;
    }
    walk_free(&k);
    return status;
}

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
static cls_status count_range(walk *k, const cls_learn_options *o, size_t range, size_t f,
                              clsi_marks *m, int *can, cls_error *error) {
    cls_reader *r;
    size_t held = 0, got = 1;
    cls_status status = walk_open(k, f, &r, error);
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
        status = walk_read(k, r, FIRST_SPACING, &got, error);
        if (status == CLS_OK && got) mark(m, place);
        if (status == CLS_OK) status = mark_segments(k, 0, got, &held, k->st->paths[f], error);
        m->rows += got;
        if (status == CLS_OK && is_stopped(o)) status = stopped_counting(error);
    }
    cls_reader_close(&r);
    return status;
}

/* *can: the marks are there. An error is one of a rank; its lines are not numbered then. */
static cls_status count_shared(clsi_stream *st, const cls_learn_options *o, int *can,
                               cls_error *error) {
    size_t rank = is_team(st) ? st->team->rank : 0;
    walk k = {.st = st};
    st->n_ranges = is_team(st) ? st->team->ranks : 1;
    st->marks = clsi_calloc(st->n_ranges * st->n_files, sizeof *st->marks);
    cls_status status = st->marks ? CLS_OK : clsi_no_memory(error);
    *can = 1;
    for (size_t f = 0; f < st->n_files && *can && status == CLS_OK; f++)
        status = count_range(&k, o, rank, f, &st->marks[rank * st->n_files + f], can, error);
    walk_free(&k);
    if (is_team(st)) {
        status = cls_team_agree(st->team, status, error);
        if (status == CLS_OK && *can)
            status = st->team->share(st->team->context, "marks", NULL, st->n_ranges,
                                     st->n_files * sizeof *st->marks, st->marks, 0, error);
    }
    for (size_t f = 0; f < st->n_files && *can && status == CLS_OK; f++) st->rows += rows_of(st, f);
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
    return is_stopped(s->o) ? stopped_counting(error) : CLS_OK;
}

static cls_status sample_block(void *context, walk *k, const cls_table *head, size_t kept,
                               cls_error *error) {
    sampling *s = context;
    clsi_stream *st = s->st;
    double row[MOST_COLUMNS + 1];
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

/* ---- the sample in its places ---- */

/* What a rank tells of a run: how many rows, then for each whether it begins a segment, and its numbers. */
static size_t run_size(size_t columns) {
    return 1 + RUN * (columns + 1);
}

static cls_status take_run(void *context, walk *k, const cls_table *head, size_t kept,
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
static cls_status read_run(walk *k, cls_reader **r, size_t *open, uint64_t from, double *to,
                           cls_error *error) {
    clsi_stream *st = k->st;
    uint64_t begin = 0;
    size_t count = 0, held = 0;
    cls_status status = CLS_OK;
    k->row = from;
    for (size_t f = 0; f < st->n_files && status == CLS_OK && count < RUN; f++) {
        uint64_t rows = rows_of(st, f), at = from + count;
        if (at >= begin && at < begin + rows) {
            size_t got = 0;
            if (*open != f) {
                cls_reader_close(r);
                status = walk_open(k, f, r, error);
                *open = f;
            }
            k->last_time = INFINITY;
            if (status == CLS_OK) status = walk_to(k, *r, f, at - begin, error);
            k->count = count;
            if (status == CLS_OK) status = walk_read(k, *r, RUN - count, &got, error);
            if (status == CLS_OK) status = mark_segments(k, count, got, &held, st->paths[f], error);
            count = k->count;
        }
        begin += rows;
    }
    return status == CLS_OK ? take_run(to, k, NULL, 0, error) : status;
}

static cls_status add_run(sampling *s, size_t columns, uint64_t from, const double *run,
                          cls_error *error) {
    clsi_stream *st = s->st;
    double row[MOST_COLUMNS + 1];
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
    walk k = {.st = st};
    cls_reader *r = NULL;
    cls_table *shape = NULL;
    double *told = NULL;
    cls_status status = walk_open(&k, 0, &r, error);
    if (status == CLS_OK) status = walk_table(&k, cls_reader_head(r), &shape, error);
    if (status == CLS_OK) status = cls_table_create(k.n_columns + 1, k.names, &st->sample, error);
    if (status == CLS_OK && !(told = clsi_calloc(runs * run_size(k.n_columns), sizeof *told)))
        status = clsi_no_memory(error);
    for (size_t i = 0; i < runs && status == CLS_OK; i++)
        if (!is_team(st) || cls_team_owns(st->team->rank, st->team->ranks, i, runs))
            status =
                read_run(&k, &r, &open, i * s->stride, told + i * run_size(k.n_columns), error);
    if (is_team(st)) {
        status = cls_team_agree(st->team, status, error);
        if (status == CLS_OK)
            status = st->team->share(st->team->context, "sample", NULL, runs,
                                     run_size(k.n_columns) * sizeof *told, told, 0, error);
    }
    for (size_t i = 0; i < runs && status == CLS_OK; i++)
        status = add_run(s, k.n_columns, i * s->stride, told + i * run_size(k.n_columns), error);
    cls_table_free(&shape);
    free(told);
    cls_reader_close(&r);
    walk_free(&k);
    return status;
}

cls_status clsi_stream_open(clsi_stream *st, const cls_learn_options *o, cls_error *error) {
    sampling s = {.st = st, .o = o, .run = UINT64_MAX};
    int can;
    st->team = o->team;
    cls_status status = count_shared(st, o, &can, error);
    if (!can || (status != CLS_OK && status != CLS_INTERRUPTED && is_team(st))) {
        free(st->marks); /* from beginning to end, which numbers the lines of errors */
        st->marks = NULL;
        status = walk_all(st, 0, count_block, &s, error);
        st->rows = s.counted;
    }
    s.stride = st->rows / RUNS > RUN ? st->rows / RUNS : RUN;
    if (status == CLS_OK && st->rows)
        status = st->marks ? sample_places(&s, error) : walk_all(st, 0, sample_block, &s, error);
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

cls_status clsi_stream_pass(clsi_stream *st, const clsi_learner *w, uint64_t first, uint64_t last,
                            clsi_stream_take take, int (*read)(void *context, uint64_t rows),
                            void *context) {
    pass s = {st, w, take, read, context};
    const clsi_points *p = w->points;
    size_t width = p->rule.composite ? p->width : p->rule.neighbours;
    st->windows = 0;
    if (st->marks) return walk_some(st, first, last, width - 1, pass_block, &s, w->error);
    return walk_all(st, width - 1, pass_block, &s, w->error);
}
