/* All rows of files as pieces, of which some are in memory: where they begin, and what they hold. */
#include "base/base.h"
#include "base/misuse.h"
#include "data/table.h"
#include "learn/stream/feed.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a piece: short enough that a file in some order is well mixed by few together; a load takes tens of
 * MB. */
enum { PIECE = 1 << 13, TOGETHER = 32 };

static size_t width_of(const clsi_learner *w) {
    const clsi_points *p = w->points;
    return p->rule.composite ? p->width : p->rule.neighbours;
}

int clsi_pieces_serve(const clsi_learner *w, const clsi_stream *st) {
    const clsi_residual *r = w->residual;
    const clsi_unknowns *us = r->unknowns;
    if (!st || !st->marks || w->o->max_windows || w->trial) return 0;
    if (r->points->intervals || r->hidden || r->heat) return 0;
    for (size_t i = 0; i < us->n; i++)
        if (us->list[i].late || us->list[i].convex) return 0;
    return 1;
}

/* ---- one load ---- */

static void drop(clsi_pieces *p) {
    for (size_t i = 0; p->x && i < p->w->unknowns->n; i++) {
        free(p->x[i]);
        p->x[i] = NULL;
    }
    free(p->at.weight);
    p->at = (clsi_residual){0};
    clsi_points_free(&p->points);
}

/* So many rows of the reader, behind those that are there. */
static cls_status take_rows(clsi_pieces *p, size_t rows, size_t *held, cls_error *error) {
    clsi_walk *k = &p->walk;
    cls_status status = CLS_OK;
    for (size_t got = 1; rows && got && status == CLS_OK; rows -= got) {
        status = clsi_walk_read(k, p->reader, rows, &got, error);
        if (status == CLS_OK)
            status = clsi_walk_segments(k, k->count, got, held, p->st->paths[p->open], error);
    }
    return status;
}

static cls_status open_file(clsi_pieces *p, size_t f, cls_error *error) {
    size_t count = p->walk.count;
    if (p->reader && p->open == f) return CLS_OK;
    cls_reader_close(&p->reader);
    cls_status status = clsi_walk_open(&p->walk, f, &p->reader, error);
    p->open = f;
    p->walk.count = count; /* names of columns are those of this file from now on */
    return status;
}

/* The reader is at the piece's first row; `next` is where the next piece begins. */
static cls_status read_piece(clsi_pieces *p, size_t i, uint64_t *next, cls_error *error) {
    const clsi_piece *is = &p->list[i];
    size_t held = 0;
    p->walk.row = is->row;
    p->walk.last_time = INFINITY; /* nothing goes on from the piece before */
    cls_status status = take_rows(p, PIECE, &held, error);
    if (status == CLS_OK && next) *next = clsi_reader_place(p->reader);
    return status == CLS_OK ? take_rows(p, width_of(p->w) - 1, &held, error) : status;
}

/* What was read becomes points, their residual and inputs. */
static cls_status make_points(clsi_pieces *p, cls_error *error) {
    clsi_learner *w = p->w;
    cls_table *t;
    drop(p);
    if (!clsi_walk_has_windows(&p->walk, width_of(w))) return CLS_OK;
    cls_status status = clsi_walk_table(&p->walk, cls_reader_head(p->reader), &t, error);
    if (status == CLS_OK)
        status = clsi_points_create_like(w->system, t, p->st->paths[p->open], w->points, &p->points,
                                         error);
    cls_table_free(&t);
    if (status == CLS_OK)
        status = clsi_unknowns_inputs(w->unknowns, w->system, p->points, p->x, error);
    if (status == CLS_OK) status = clsi_residual_at(w->residual, p->points, &p->at, error);
    if (status == CLS_OK && w->o->weights && strcmp(w->o->weights, "equal") == 0)
        clsi_weigh_equally(&p->at);
    return status;
}

cls_status clsi_pieces_load(clsi_pieces *p, size_t n, const size_t *list, size_t *windows) {
    cls_error *error = p->w->error;
    cls_status status = p->status;
    p->walk.count = 0;
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        const clsi_piece *is = &p->list[list[i]];
        status = open_file(p, is->file, error);
        if (status == CLS_OK) status = clsi_reader_seek(p->reader, is->place, 0, error);
        if (status == CLS_OK) status = read_piece(p, list[i], NULL, error);
    }
    if (status == CLS_OK) status = make_points(p, error);
    *windows = status == CLS_OK && p->points ? p->points->n_training : 0;
    p->status = status;
    return status;
}

void clsi_pieces_exchange(clsi_pieces *p) {
    clsi_unknowns *us = p->w->unknowns;
    for (size_t i = 0; i < us->n; i++) {
        double *own = us->list[i].x;
        us->list[i].x = p->x[i];
        p->x[i] = own;
    }
}

/* ---- where they are ---- */

static cls_status list_pieces(clsi_pieces *p, cls_error *error) {
    uint64_t begin = 0, rows;
    size_t room = 0;
    for (size_t f = 0; f < p->st->n_files; f++, begin += rows) {
        rows = clsi_stream_rows_of(p->st, f);
        for (uint64_t at = 0; at < rows; at += PIECE) {
            if (!clsi_grow(&p->list, &room, p->n + 1, sizeof *p->list))
                return clsi_no_memory(error);
            p->list[p->n++] = (clsi_piece){.file = f, .row = begin + at};
        }
    }
    return CLS_OK;
}

static int tell(const clsi_pieces *p, uint64_t rows) {
    const cls_learn_options *o = p->w->o;
    cls_learn_progress now = {"rows", rows, p->st->rows, NAN, clsi_now() - p->w->started, NAN, 0};
    return o->progress && o->progress(o->context, &now);
}

/* The pieces [first, last), one by one; the reader goes on from one to the next. */
static cls_status look_at(clsi_pieces *p, size_t first, size_t last, cls_error *error) {
    uint64_t begin = 0, next = 0;
    cls_status status = CLS_OK;
    for (size_t i = first, f = 0; i < last && status == CLS_OK; i++) {
        clsi_piece *is = &p->list[i];
        int goes_on = i > first && p->open == is->file;
        for (; f < is->file; f++) begin += clsi_stream_rows_of(p->st, f);
        p->walk.count = 0;
        status = open_file(p, is->file, error);
        if (status == CLS_OK)
            status = goes_on ? clsi_reader_seek(p->reader, next, 0, error)
                             : clsi_walk_to(&p->walk, p->reader, f, is->row - begin, error);
        p->walk.count = 0; /* of rows that were read on the way */
        if (status == CLS_OK) is->place = clsi_reader_place(p->reader);
        if (status == CLS_OK) status = read_piece(p, i, &next, error);
        if (status == CLS_OK) status = make_points(p, error);
        is->windows = p->points ? p->points->n_training : 0;
        p->st->windows += is->windows;
        if (status == CLS_OK && tell(p, is->row))
            status = clsi_fail(error, CLS_INTERRUPTED, "stopped while the rows were looked at");
    }
    return status;
}

static cls_status look_at_all(clsi_pieces *p, cls_error *error) {
    const cls_team *team = p->st->team;
    if (!clsi_stream_is_shared(p->st)) return look_at(p, 0, p->n, error);
    cls_status status = look_at(p, cls_team_first(team->rank, team->ranks, p->n),
                                cls_team_first(team->rank + 1, team->ranks, p->n), error);
    status = cls_team_agree(team, status, error);
    if (status == CLS_OK)
        status =
            team->share(team->context, "pieces", NULL, p->n, sizeof *p->list, p->list, 0, error);
    return status == CLS_OK ? clsi_stream_add_windows(p->w, p->st) : status;
}

cls_status clsi_pieces_open(clsi_pieces *p, clsi_learner *w, clsi_stream *st) {
    cls_error *error = w->error;
    *p = (clsi_pieces){.w = w, .st = st, .together = TOGETHER};
    p->walk = (clsi_walk){.st = st, .room = TOGETHER * (PIECE + width_of(w))};
    p->asked = st->reading;
    p->reading = cls_read_defaults();
    TAKE_OPTIONS(&p->reading, st->reading);
    p->reading.stop = NULL;
    st->reading = &p->reading;
    p->x = clsi_calloc(w->unknowns->n, sizeof *p->x);
    cls_status status = p->x ? clsi_stream_hold(st, w->points, error) : clsi_no_memory(error);
    st->windows = 0;
    if (status == CLS_OK) status = list_pieces(p, error);
    if (status == CLS_OK) status = look_at_all(p, error);
    p->windows = st->windows;
    if (status == CLS_OK && !p->windows)
        status = clsi_fail(error, CLS_DATA, "%s: no window is left to learn from", st->paths[0]);
    return status;
}

void clsi_pieces_close(clsi_pieces *p) {
    drop(p);
    if (p->st) p->st->reading = p->asked;
    free(p->x);
    free(p->list);
    cls_reader_close(&p->reader);
    clsi_walk_free(&p->walk);
    *p = (clsi_pieces){0};
}
