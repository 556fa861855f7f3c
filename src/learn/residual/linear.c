/* The fit of a residual that is affine in the parameters: its rows, of all windows or of a stream,
 * folded into triangles that are joined in a fixed order, and one solve. */
#include "learn/stream/feed.h"
#include "base/base.h"
#include "learn/noise/pool.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int tell(clsi_learner *w, const char *phase, uint64_t done, uint64_t total, double loss) {
    if (!w->o->progress) return 0;
    cls_learn_progress p = {phase, done, total, loss, clsi_now() - w->started, NAN, 0};
    return w->o->progress(w->o->context, &p);
}

/* All rows alike, as the papers have them. */
void clsi_weigh_equally(const clsi_residual *r) {
    const clsi_points *p = r->points;
    for (size_t k = 0; k < p->n_windows; k++) {
        size_t at[CLSI_MOST_WIDTH];
        clsi_window_points(p, k, at);
        double length = p->time[at[p->width - 1]] - p->time[at[0]];
        for (size_t e = 0; e < r->n_equations; e++) r->weight[e * p->n_windows + k] = 1 / length;
    }
}

cls_status clsi_learner_weights(clsi_learner *w) {
    const char *name = w->o->weights ? w->o->weights : "balanced";
    const clsi_points *p = w->points;
    if (strcmp(name, "balanced") == 0 || p->intervals) return CLS_OK;
    if (strcmp(name, "equal") != 0)
        return clsi_fail(w->error, CLS_USAGE, "weights are balanced or equal, not '%s'", name);
    clsi_weigh_equally(w->residual);
    return CLS_OK;
}

/* Directions below this are not seen: entropies have no origin, and c T is nearly a polynomial in
 * log T. At 1e-13 the origin ran to thousands and hid the drift of the energy behind its size. */
#define RCOND 1e-10

enum { BLOCK = 512 }; /* windows whose rows are made and folded into the triangle together */

/* Windows between two looks for an interrupt: fewer where each costs more, 1e9 operations at most. */
static size_t heard(size_t cost) {
    size_t most = (size_t)1000000000 / (cost + 1);
    return most < 1 ? 1 : most < BLOCK ? most : BLOCK;
}

/* Rows of the windows [first, last) of r. */
static cls_status fold_rows(clsi_learner *w, const clsi_residual *r, clsi_lsq *q, size_t first,
                            size_t last, double *A, double *b) {
    size_t n = r->points->n_training, E = r->n_equations;
    int whole = r == w->residual || r == w->whole; /* not a block of more */
    cls_status status = CLS_OK;
    size_t block = heard(E * w->unknowns->n_theta * w->unknowns->n_theta);
    for (size_t at = first; at < last && status == CLS_OK; at += block) {
        size_t count = (last - at < block ? last - at : block) * E;
        status = clsi_residual_rows(r, NULL, at * E, count, NULL, b, A);
        for (size_t k = 0; k < count; k++) b[k] = -b[k];
        if (status == CLS_OK && w->pool) clsi_pool_take(w->pool, at, count / E, A, b);
        if (status == CLS_OK) status = clsi_lsq_add(q, count, A, b, w->error);
        if (status == CLS_OK && whole && tell(w, "rows", at + count / E, n, NAN))
            status = clsi_fail(w->error, CLS_INTERRUPTED, "stopped while the rows were made");
    }
    return status;
}

/* The windows are cut into parts, each with a triangle of its own, which are joined in a fixed tree:
 * so a team shares them and the bits do not change. Their number depends on the problem alone. To
 * join one costs as much as two rows for each parameter; all of them stay in memory together. */
enum { ROWS_OF_A_PART = 32, MOST_PARTS = 1024 };
static const double MOST_NUMBERS = 16e6;

static size_t count_parts(double rows, size_t P) {
    double p = (double)P + 1, parts = fmin(rows / (ROWS_OF_A_PART * p), MOST_NUMBERS / (p * p));
    return parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : (size_t)parts;
}

static int is_mine(const clsi_learner *w, const char *what, size_t part, size_t n) {
    const cls_team *team = w->o->team;
    return !team || w->alone || team->mine(team->context, what, part, n);
}

static cls_status share_parts(clsi_learner *w, size_t n, size_t size, double *parts) {
    const cls_team *team = w->o->team;
    if (!team || w->alone) return CLS_OK;
    char *identity = clsi_learner_identity(w, "rows");
    if (!identity) return clsi_no_memory(w->error);
    cls_status status =
        team->share(team->context, "rows", identity, n, size * sizeof *parts, parts, 0, w->error);
    free(identity);
    return status;
}

/* ---- all rows of a stream ---- */

typedef struct folding {
    clsi_learner *w;
    clsi_lsq *q;
    double *A, *b, *parts;
    size_t count, size, part; /* parts, numbers of one, the one that is being made */
    int ranks;                /* several: each sees its own windows */
} folding;

static void close_part(folding *f) {
    if (is_mine(f->w, "rows", f->part, f->count)) clsi_lsq_take(f->q, f->parts + f->part * f->size);
    f->part++;
}

/* A window belongs to the part of its first row. */
static cls_status fold_block(void *context, const clsi_residual *r, const uint64_t *row_of,
                             cls_error *error) {
    folding *f = context;
    const clsi_points *p = r->points;
    cls_status status = CLS_OK;
    (void)error;
    if (f->w->o->weights && strcmp(f->w->o->weights, "equal") == 0) clsi_weigh_equally(r);
    for (size_t k = 0, end; k < p->n_training && status == CLS_OK; k = end) {
        size_t rows = f->w->stream->rows;
        while (row_of[p->window[k]] >= cls_team_first(f->part + 1, f->count, rows)) close_part(f);
        size_t next = cls_team_first(f->part + 1, f->count, rows);
        for (end = k; end < p->n_training && row_of[p->window[end]] < next;) end++;
        int mine = is_mine(f->w, "rows", f->part, f->count);
        if (mine) status = fold_rows(f->w, r, f->q, k, end, f->A, f->b);
        if (mine || !f->ranks) f->w->stream->windows += end - k;
    }
    return status;
}

static int was_read(void *context, uint64_t rows) {
    folding *f = context;
    return tell(f->w, "rows", rows, f->w->stream->rows, NAN);
}

/* Windows and ranges of inputs that a rank has seen, to `list` or (from it) into what is known. */
static void tell_seen(const clsi_learner *w, const clsi_stream *st, double *list) {
    *list++ = (double)st->windows;
    for (size_t i = 0; i < w->unknowns->n; i++)
        for (size_t k = 0; k < w->unknowns->list[i].learned.d; k++) {
            *list++ = w->unknowns->list[i].learned.low[k];
            *list++ = w->unknowns->list[i].learned.high[k];
        }
}

static void add_seen(clsi_learner *w, clsi_stream *st, const double *list) {
    st->windows += (uint64_t)*list++;
    for (size_t i = 0; i < w->unknowns->n; i++)
        for (size_t k = 0; k < w->unknowns->list[i].learned.d; k++, list += 2) {
            clsi_learned *l = &w->unknowns->list[i].learned;
            l->low[k] = fmin(l->low[k], list[0]);
            l->high[k] = fmax(l->high[k], list[1]);
        }
}

/* Of all ranks. */
cls_status clsi_stream_add_windows(clsi_learner *w, clsi_stream *st) {
    const cls_team *team = w->o->team;
    size_t size = 1;
    for (size_t i = 0; i < w->unknowns->n; i++) size += 2 * w->unknowns->list[i].learned.d;
    double *all = clsi_calloc(team->ranks * size, sizeof *all);
    if (!all) return clsi_no_memory(w->error); /* the others wait: the program ends them */
    tell_seen(w, st, all + team->rank * size);
    cls_status status = team->share(team->context, "windows", NULL, team->ranks, size * sizeof *all,
                                    all, 0, w->error);
    st->windows = 0;
    for (size_t i = 0; i < team->ranks && status == CLS_OK; i++) add_seen(w, st, all + i * size);
    free(all);
    return status;
}

static cls_status fold_stream(clsi_learner *w, clsi_lsq *q, size_t count, double *parts, double *A,
                              double *b) {
    const cls_team *team = w->o->team;
    int ranks = team && !w->alone && team->ranks > 1;
    folding f = {w, q, A, b, parts, count, clsi_lsq_part_size(q), 0, ranks};
    size_t rows = (size_t)w->stream->rows, first = 0, last = rows;
    if (ranks) {
        first = cls_team_first(cls_team_first(team->rank, team->ranks, count), count, rows);
        last = cls_team_first(cls_team_first(team->rank + 1, team->ranks, count), count, rows);
    }
    cls_status status = clsi_stream_pass(w->stream, w, first, last, fold_block, was_read, &f);
    while (status == CLS_OK && f.part < count) close_part(&f);
    status = cls_team_agree(ranks ? team : NULL, status, w->error);
    if (status == CLS_OK && ranks) status = clsi_stream_add_windows(w, w->stream);
    w->info->samples = w->stream->windows;
    w->info->windows = w->stream->windows;
    return status;
}

static cls_status fold_parts(clsi_learner *w, clsi_lsq *q, double *A, double *b) {
    int streams = w->stream && clsi_stream_serves(w->residual);
    const clsi_residual *r = w->whole ? w->whole : w->residual;
    size_t n = r->points->n_training, size = clsi_lsq_part_size(q);
    double rows =
        (streams ? (double)w->stream->rows : (double)n) * (double)w->residual->n_equations;
    size_t count = count_parts(rows, w->unknowns->n_theta);
    double *parts = clsi_calloc(count * size, sizeof *parts);
    cls_status status = parts ? CLS_OK : clsi_no_memory(w->error);
    if (status == CLS_OK && streams) status = fold_stream(w, q, count, parts, A, b);
    for (size_t k = 0; !streams && k < count && status == CLS_OK; k++) {
        if (!is_mine(w, "rows", k, count)) continue;
        status =
            fold_rows(w, r, q, cls_team_first(k, count, n), cls_team_first(k + 1, count, n), A, b);
        if (status == CLS_OK) clsi_lsq_take(q, parts + k * size);
    }
    const cls_team *team = w->alone ? NULL : w->o->team;
    size_t ranks = team && team->ranks > 1 ? team->ranks : 0;
    if (status == CLS_OK && ranks)
        status = clsi_lsq_join_own(q, count, parts, team->rank, ranks, w->error);
    status = cls_team_agree(w->o->team, status, w->error);
    if (status == CLS_OK) status = share_parts(w, count, size, parts);
    if (status == CLS_OK) status = clsi_lsq_join(q, count, parts, ranks, w->error);
    free(parts);
    return status;
}

static int is_interrupted(void *owner) {
    const cls_learn_options *o = ((clsi_learner *)owner)->o;
    return o->interrupted && o->interrupted(o->context);
}

static const double WEAK =
    1e-8; /* of the rows: far below what they tell, far above what they cannot */

/* Where everything is unknown the data leave lagrangians open that move the same way (of an oscillator any
 * mass that is a function of its energy): the one with the lowest terms is taken, which does not turn its mass
 * negative beside the data. Rows of the terms, weak ones, twice as heavy from degree to degree. */
static cls_status take_lowest(clsi_learner *w, clsi_lsq *q, double *A, double *b) {
    const clsi_unknowns *us = w->unknowns;
    size_t P = us->n_theta;
    clsi_lsq_info found;
    double kkt, size = WEAK * sqrt((double)w->points->n_training);
    cls_status status = CLS_OK;
    for (size_t i = 0; i < us->n && status == CLS_OK; i = clsi_group_end(us, i)) {
        const clsi_learned *l = &us->list[i].learned;
        for (size_t k = 0; k < l->field->n_parameters && status == CLS_OK; k++) {
            const unsigned char *powers = clsi_field_powers(l->field, k);
            int degree = 0;
            for (size_t j = 0; powers && j < l->d; j++) degree += powers[j];
            memset(A, 0, P * sizeof *A);
            A[l->offset + k] = ldexp(size, degree);
            b[0] = 0;
            status = clsi_lsq_add(q, 1, A, b, w->error);
        }
    }
    if (status == CLS_OK)
        status = clsi_solve_positive(q, RCOND, us, w->points, 0, NULL, NULL, w->theta, &found,
                                     &w->info->negative, &kkt, w->error);
    return status;
}

/* Where a search begins, masses and heat capacities are positive. */
static cls_status make_sound(clsi_learner *w, clsi_lsq *q) {
    size_t n;
    double *F, *f, kkt;
    clsi_lsq_info found;
    cls_status status = clsi_sound_rows(w->unknowns, w->points, w->theta, &n, &F, &f, w->error);
    if (status == CLS_OK && n)
        status = clsi_solve_positive(q, RCOND, w->unknowns, w->points, n, F, f, w->theta, &found,
                                     &w->info->negative, &kkt, w->error);
    free(F);
    free(f);
    return status;
}

static cls_status solve_folded(clsi_learner *w, size_t n, const double *C, const double *d,
                               double *A, double *b) {
    clsi_lsq *q;
    clsi_lsq_info found;
    size_t P = w->unknowns->n_theta;
    cls_status status = clsi_lsq_create(P, n, C, d, &q, w->error);
    if (status == CLS_OK && !w->o->team)
        clsi_lsq_watch(q, is_interrupted, w); /* ranks stop together */
    if (status == CLS_NUMERIC && clsi_anchors_count(w->anchors))
        status = clsi_fail(w->error, CLS_SYSTEM,
                           "the %zu anchors contradict each other in these fields: no parameters "
                           "meet all of them; remove one, or take larger fields",
                           clsi_anchors_count(w->anchors));
    if (status == CLS_OK && w->long_heat && clsi_pool_serves(w->residual))
        status = clsi_pool_create(w->residual, &w->pool, w->error);
    if (status == CLS_OK) status = fold_parts(w, q, A, b);
    if (status == CLS_OK && w->pool) status = clsi_pool_add(w->pool, q, w->error);
    clsi_pool_free(&w->pool);
    if (status == CLS_OK) tell(w, "solve", 0, 1, NAN);
    if (status == CLS_OK)
        status = clsi_solve_positive(q, RCOND, w->unknowns, w->points, 0, NULL, NULL, w->theta,
                                     &found, &w->info->negative, &w->info->kkt, w->error);
    if (status == CLS_OK) {
        w->info->rank = found.rank;
        w->info->nullity = found.nullity;
        w->info->condition = found.condition;
        if (w->info->normalised && found.nullity) status = take_lowest(w, q, A, b);
    }
    if (status == CLS_OK && w->long_heat) status = make_sound(w, q);
    clsi_lsq_free(&q);
    return status;
}

/* C x = d: the anchors, and the scale. When nothing in the residual is known, k G and k F fit as
 * well as G and F: the mean of p.v is then set to the mean of v.v, which is a mean mass of one,
 * unless an anchor sets the scale. */
static cls_status conditions(clsi_learner *w, double *C, double *d) {
    size_t n = clsi_anchors_count(w->anchors), P = w->unknowns->n_theta;
    cls_status status = CLS_OK;
    double pv;
    for (size_t i = 0; i < n && status == CLS_OK; i++)
        status = clsi_anchors_constraint(w->anchors, i, C + i * P, &d[i], w->error);
    if (status == CLS_OK && w->info->normalised)
        status = clsi_residual_scale(w->residual, NULL, 0, C + n * P, &pv, &d[n]);
    return status;
}

static cls_status solve_linear(clsi_learner *w) {
    size_t P = w->unknowns->n_theta, E = w->residual->n_equations;
    size_t n = clsi_anchors_count(w->anchors) + (size_t)w->info->normalised;
    double *A = clsi_calloc(BLOCK * E * P, sizeof *A), *b = clsi_calloc(BLOCK * E, sizeof *b);
    double *C = clsi_calloc(n * P, sizeof *C), *d = clsi_calloc(n, sizeof *d);
    cls_status status = A && b && C && d ? CLS_OK : clsi_no_memory(w->error);
    if (status == CLS_OK) status = conditions(w, C, d);
    if (status == CLS_OK) status = solve_folded(w, n, C, d, A, b);
    free(A);
    free(b);
    free(C);
    free(d);
    return status;
}

cls_status clsi_learner_solve_at_once(clsi_learner *w) {
    return w->staged ? clsi_solve_staged(w) : solve_linear(w);
}
