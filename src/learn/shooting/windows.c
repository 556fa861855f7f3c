/* Which rows make a window: windows of a plan, and those that cannot be used as they are.
 *
 * No row is lost where a motion depends on its start too much: the window ends there, and what lies behind is
 * a window of its own. (Rows that were left out made a fit that explained three rows of four hundred the
 * best one.) What no parameters explain is cut out, a quarter of the rows at most. */
#include "learn/shooting/multiple.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST = 3,
    AHEAD = 4
}; /* rows of a window; times the last one that is looked at behind it */
static const double CHAOS = 100, BAD = 6, BAD_FLOORS = 5, MOST_CUT = 0.25;

/* ---- a plan ---- */

/* Pieces of about `rows` rows of [begin, end), equally long. Counts when list is NULL. */
static size_t divide(size_t segment, size_t begin, size_t end, size_t rows, clsi_piece *list) {
    size_t n = end - begin, parts = (n + rows / 2) / rows;
    if (parts == 0) parts = 1;
    for (size_t k = 0; k < parts && list; k++) {
        size_t a = begin + n * k / parts, b = begin + n * (k + 1) / parts;
        list[k] = (clsi_piece){a, b - a, segment};
    }
    return parts;
}

static size_t make_pieces(const clsi_multiple *m, size_t rows, clsi_piece *list) {
    size_t n = 0;
    for (size_t s = 0; s < m->data->n_segments; s++) {
        const clsi_segment *g = &m->data->segment[s];
        size_t end = g->first + g->train;
        for (size_t i = g->first; i < end;) {
            size_t stop = i;
            while (stop < end && !m->cut[stop]) stop++;
            if (stop >= i + 3) n += divide(s, i, stop, rows, list ? list + n : NULL);
            i = stop + 1;
        }
    }
    return n;
}

/* The state at row i by the window that contains it. */
static int state_at(clsi_multiple *m, const double *theta, size_t i, double *z) {
    for (size_t w = 0; w < m->n_pieces; w++) {
        const clsi_piece *p = &m->piece[w];
        if (i < p->first || i >= p->first + p->n) continue;
        return clsi_track_run(m->track[0], theta, clsi_signal_of(m->data, p->segment),
                              m->x + w * m->nz, i - p->first + 1, m->data->time + p->first,
                              m->y_scratch, NULL, z);
    }
    return 0;
}

/* A prior that followed what the equations imply at theta would follow theta: half the rate with twice the
 * substance, stage after stage. Amounts are held by what is known without theta. */
static cls_status center_amounts(const clsi_multiple *m, const clsi_piece *p, double *guess,
                                 cls_error *error) {
    if (!m->implied || clsi_motion_count(m->system) == m->system->n) return CLS_OK;
    double *plain = clsi_calloc(m->nz + 1, sizeof *plain);
    cls_status status = plain ? clsi_multiple_start(m, NULL, p->segment, p->first, plain, error)
                              : clsi_no_memory(error);
    for (size_t e = 0; e < m->nz && status == CLS_OK; e++)
        if (m->hidden[e] && clsi_is_amount(m->system, e)) guess[e] = plain[e];
    free(plain);
    return status;
}

cls_status clsi_multiple_plan(clsi_multiple *m, size_t rows, const double *theta,
                              cls_error *error) {
    size_t n = make_pieces(m, rows, NULL), nz = m->nz;
    clsi_beginnings_note(m);
    clsi_piece *piece = clsi_calloc(n + 1, sizeof *piece);
    double *x = clsi_calloc(2 * n * nz + 1, sizeof *x), *guess = x ? x + n * nz : NULL;
    cls_status status = piece && x ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) make_pieces(m, rows, piece);
    for (size_t w = 0; w < n && status == CLS_OK; w++) {
        int known = m->n_pieces && state_at(m, theta, piece[w].first, x + w * nz);
        status =
            clsi_multiple_start(m, theta, piece[w].segment, piece[w].first, guess + w * nz, error);
        if (!known && status == CLS_OK) memcpy(x + w * nz, guess + w * nz, nz * sizeof *x);
        if (status == CLS_OK) status = center_amounts(m, &piece[w], guess + w * nz, error);
    }
    if (status != CLS_OK) {
        free(piece);
        free(x);
        return status;
    }
    free(m->piece);
    free(m->x);
    m->n_pieces = n;
    m->piece = piece;
    m->x = x;
    m->x_guess = guess;
    return CLS_OK;
}

/* ---- windows that cannot be used as they are ---- */

/* What a component of a start may differ by: no more than the first row would show as the spread of a
 * column. A temperature of 300 K in data that span 3 K differs by 3 K. */
static double difference_of(const clsi_multiple *m, size_t e, const double *x, const double *J) {
    double size = fmin(m->prior[e] / 1e3, fabs(x[e]) + 1);
    for (size_t c = 0; c < m->ny; c++) {
        double slope = fabs(J[c * (m->n_theta + m->nz) + m->n_theta + e]);
        if (slope > 0) size = fmin(size, m->data->channel[c].std / slope);
    }
    return size;
}

/* Rows of a window before the first that such a difference moves by a hundred spreads; J (rows, ny, all). */
static size_t sensible_rows(const clsi_multiple *m, const clsi_piece *p, const double *x,
                            const double *J) {
    size_t all = m->n_theta + m->nz, good = p->n;
    for (size_t e = 0; e < m->nz; e++) {
        double size = difference_of(m, e, x, J);
        for (size_t i = 0; i < good; i++)
            for (size_t c = 0; c < m->ny; c++) {
                double moved = fabs(J[(i * m->ny + c) * all + m->n_theta + e]) * size;
                if (moved > CHAOS * m->data->channel[c].std && !m->data->channel[c].still) good = i;
            }
    }
    return good;
}

/* Rows of a window that can be simulated and used; J: room for them. Nobody waits for derivatives when time is over. */
static size_t good_rows(const clsi_multiple *m, const clsi_piece *p, const double *theta,
                        const double *x, double *J) {
    const double *t = m->data->time + p->first;
    const clsi_signal *u = clsi_signal_of(m->data, p->segment);
    double *slopes = clsi_multiple_is_over(m) ? NULL : J;
    size_t good = p->n;
    if (clsi_track_run(m->track[0], theta, u, x, p->n, t, m->y_scratch, slopes, NULL)) {
        if (slopes) good = sensible_rows(m, p, x, J);
    } else {
        while (good > LEAST &&
               !clsi_track_run(m->track[0], theta, u, x, good, t, m->y_scratch, NULL, NULL))
            good /= 2;
    }
    if (good < LEAST) good = LEAST < p->n ? LEAST : p->n;
    return good;
}

/* Windows that are made anew. */
typedef struct windows {
    size_t n, most, x_most, guess_most;
    clsi_piece *piece;
    double *x, *guess; /* (n, nz) */
} windows;

static int add_window(const clsi_multiple *m, windows *to, clsi_piece p, const double *x,
                      const double *guess) {
    size_t nz = m->nz, all = (to->n + 1) * nz;
    if (!clsi_grow(&to->piece, &to->most, to->n + 1, sizeof *to->piece) ||
        !clsi_grow(&to->x, &to->x_most, all + 1, sizeof *to->x) ||
        !clsi_grow(&to->guess, &to->guess_most, all + 1, sizeof *to->guess))
        return 0;
    to->piece[to->n] = p;
    memcpy(to->x + to->n * nz, x, nz * sizeof *x);
    memcpy(to->guess + to->n++ * nz, guess, nz * sizeof *guess);
    return 1;
}

/* The rows behind a window that was shortened to `good` rows, as windows that begin from the data; z: room for
 * a start and its guess. */
static int add_rest(const clsi_multiple *m, const double *theta, clsi_piece whole, size_t good,
                    double *J, double *z, windows *to) {
    size_t at = whole.first + good, end = whole.first + whole.n;
    while (end - at >= LEAST) {
        clsi_piece p = {at, AHEAD * good < end - at ? AHEAD * good : end - at, whole.segment};
        if (clsi_multiple_start(m, theta, p.segment, p.first, z, NULL) != CLS_OK ||
            center_amounts(m, &p, memcpy(z + m->nz, z, m->nz * sizeof *z), NULL) != CLS_OK)
            return 1; /* no start: it waits for the next plan */
        p.n = good = good_rows(m, &p, theta, z, J);
        if (!add_window(m, to, p, z, z + m->nz)) return 0;
        at += p.n;
    }
    return 1;
}

static void take_windows(clsi_multiple *m, windows *from, double *x) {
    size_t nz = m->nz;
    memcpy(x, from->x, from->n * nz * sizeof *x);
    memcpy(x + from->n * nz, from->guess, from->n * nz * sizeof *x);
    free(m->piece);
    free(m->x);
    m->n_pieces = from->n;
    m->piece = from->piece;
    m->x = x;
    m->x_guess = x + from->n * nz;
    from->piece = NULL;
}

int clsi_cut_long(clsi_multiple *m, const double *theta) {
    size_t all = m->n_theta + m->nz, most = 0, nz = m->nz;
    int count = 0, fine = 1;
    for (size_t w = 0; w < m->n_pieces; w++)
        if (m->piece[w].n > most) most = m->piece[w].n;
    double *J = clsi_calloc(most * m->ny * all + 2 * nz + 1, sizeof *J), *x = NULL;
    windows next = {0};
    if (!J) return -1;
    for (size_t w = 0; w < m->n_pieces && fine; w++) {
        clsi_piece p = m->piece[w], whole = p;
        p.n = good_rows(m, &p, theta, m->x + w * nz, J);
        count += p.n < whole.n;
        fine = add_window(m, &next, p, m->x + w * nz, m->x_guess + w * nz);
        if (fine && p.n < whole.n)
            fine = add_rest(m, theta, whole, p.n, J, J + most * m->ny * all, &next);
    }
    if (fine && count && !(x = clsi_calloc(2 * next.n * nz + 1, sizeof *x))) fine = 0;
    if (fine && count) take_windows(m, &next, x);
    free(next.piece);
    free(next.x);
    free(next.guess);
    free(J);
    return fine ? count : -1;
}

/* Windows that are explained far worse than the others. Returns how many rows were cut. */
size_t clsi_cut_bad(clsi_multiple *m, const double *theta, double *list, size_t *which,
                    clsi_text *notes) {
    size_t before = 0, cut, W = m->n_pieces;
    if (W < 5) return 0;
    double *rms = clsi_calloc(2 * W, sizeof *rms), *sorted = rms ? rms + W : NULL;
    if (!rms || !clsi_multiple_simulate(m, theta)) {
        free(rms);
        return 0;
    }
    for (size_t i = 0; i < m->data->n; i++) before += m->cut[i];
    cut = before;
    for (size_t c = 0; c < m->ny; c++) {
        size_t n = clsi_multiple_residuals(m, c, list, which);
        memset(rms, 0, W * sizeof *rms);
        for (size_t i = 0; i < n; i++) rms[which[i]] += list[i] * list[i];
        for (size_t w = 0; w < W; w++) rms[w] = sqrt(rms[w] / (double)m->piece[w].n);
        memcpy(sorted, rms, W * sizeof *rms);
        double middle = clsi_median(W, sorted);
        const clsi_channel *ch = &m->data->channel[c];
        double limit = fmax(BAD * middle, BAD_FLOORS * fmax(ch->floor, ch->noise));
        for (size_t w = 0; w < W; w++) {
            const clsi_piece *p = &m->piece[w];
            if (!(rms[w] > limit) || m->cut[p->first]) continue;
            if ((double)(cut + p->n) > MOST_CUT * (double)m->data->n_training) continue;
            memset(m->cut + p->first, 1, p->n);
            cut += p->n;
            clsi_text_printf(notes,
                             "cut: %g to %g, where %s is off by %.3g (elsewhere %.3g): no value of "
                             "the parameters explains it\n",
                             m->data->time[p->first], m->data->time[p->first + p->n - 1], ch->name,
                             rms[w], middle);
        }
    }
    free(rms);
    return cut - before;
}
