/* Where recordings begin, as parameters of the fit.
 *
 * An integral of an input (integrals.c) begins where the file says in the first recording only. Each other one that is
 * learned from begins at a value that all of its windows share. These values stand behind theta in a wider problem,
 * where a window is simulated from its start x moved by the shift s of its trajectory,
 *
 *     r(theta, s, x) = r(theta, x + s),     dr/ds = dr/dx of that component,
 *
 * while its prior holds x, not x + s: nothing is stiff in s. When a search ends, s moves into the windows and their
 * priors, so that everything else sees the problem without it. */
#include "learn/learn.h"
#include "learn/shooting/multiple.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static size_t trajectory_of(const clsi_multiple *m, size_t w) {
    return m->data->segment[m->piece[w].segment].trajectory;
}

/* The parameter (behind theta) that moves the k-th integral in window w; SIZE_MAX: the file says where it begins. */
static size_t column_of(const clsi_multiple *m, size_t w, size_t k) {
    size_t number = m->integrals->number[trajectory_of(m, w)];
    return number ? (number - 1) * m->integrals->n + k : SIZE_MAX;
}

size_t clsi_beginnings_count(const clsi_multiple *m) {
    return m->integrals ? m->integrals->n_begun * m->integrals->n : 0;
}

/* ---- the wider problem ---- */

/* x (n, nz) of windows w .. w + n - 1, each moved to where its trajectory begins. */
static const double *move(const clsi_wide *q, size_t w, size_t n, const double *wide,
                          const double *x) {
    const clsi_multiple *m = q->m;
    const clsi_integrals *f = m->integrals;
    double *z = q->moved + (size_t)omp_get_thread_num() * CLSI_LANES * m->nz;
    memcpy(z, x, n * m->nz * sizeof *z);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < f->n; k++) {
            size_t column = column_of(m, w + i, k);
            if (column != SIZE_MAX) z[i * m->nz + f->state[k]] += wide[m->n_theta + column];
        }
    return z;
}

/* J of window w, (rows, n_theta + nz), becomes (rows, n_theta + more + nz); its last nz rows are priors. */
static void widen(const clsi_wide *q, size_t w, double *J) {
    const clsi_multiple *m = q->m;
    const clsi_integrals *f = m->integrals;
    size_t P = m->n_theta, nz = m->nz, more = q->more, outputs = m->piece[w].n * m->ny;
    for (size_t i = outputs + nz; i-- > 0;) { /* never behind what is still to be read */
        double *to = J + i * (P + more + nz), *beginnings = to + P, *start = beginnings + more;
        const double *from = J + i * (P + nz);
        memmove(start, from + P, nz * sizeof *J);
        memmove(to, from, P * sizeof *J);
        memset(beginnings, 0, more * sizeof *J);
        for (size_t k = 0; k < f->n && i < outputs; k++) {
            size_t column = column_of(m, w, k);
            if (column != SIZE_MAX) beginnings[column] = start[f->state[k]];
        }
    }
}

static size_t wide_rows(void *context, size_t w) {
    const clsi_wide *q = context;
    return q->narrow.rows(q->m, w);
}

static int wide_windows(void *context, size_t w, size_t n, const double *wide, const double *x,
                        double *const *r, double *const *J) {
    const clsi_wide *q = context;
    const double *z = move(q, w, n, wide, x);
    if (!clsi_multiple_windows(q->m, w, n, wide, z, x, r, J)) return 0;
    for (size_t i = 0; i < n && J; i++) widen(q, w + i, J[i]);
    return 1;
}

static int wide_stop(void *context) {
    const clsi_wide *q = context;
    return q->narrow.stop(q->m);
}

cls_status clsi_wide_open(clsi_multiple *m, double huber, const double *theta, clsi_wide *q,
                          cls_error *error) {
    size_t P = m->n_theta, more = clsi_beginnings_count(m), all = P + more;
    *q = (clsi_wide){.m = m, .more = more};
    clsi_multiple_problem(m, huber, &q->narrow);
    size_t moved = more ? m->n_tracks * CLSI_LANES * m->nz : 0;
    q->theta = clsi_calloc(3 * all + moved + 1, sizeof *q->theta);
    if (!q->theta) return clsi_no_memory(error);
    if (P) memcpy(q->theta, theta, P * sizeof *theta);
    q->arrow = q->narrow;
    if (!more) return CLS_OK; /* the problem as it is */
    double *low = q->theta + all, *high = low + all;
    q->moved = high + all;
    for (size_t i = 0; i < all; i++) {
        low[i] = i < P ? m->low[i] : -INFINITY;
        high[i] = i < P ? m->high[i] : INFINITY;
    }
    q->arrow.context = q;
    q->arrow.n_theta = all;
    q->arrow.low = low;
    q->arrow.high = high;
    q->arrow.rows = wide_rows;
    q->arrow.windows = wide_windows;
    q->arrow.stop = wide_stop;
    return CLS_OK;
}

void clsi_wide_free(clsi_wide *q) {
    free(q->theta);
    q->theta = NULL;
}

void clsi_wide_settle(clsi_wide *q, double *theta) {
    clsi_multiple *m = q->m;
    if (m->n_theta) memcpy(theta, q->theta, m->n_theta * sizeof *theta);
    for (size_t w = 0; w < m->n_pieces && q->more; w++)
        for (size_t k = 0; k < m->integrals->n; k++) {
            size_t column = column_of(m, w, k), at = w * m->nz + m->integrals->state[k];
            if (column == SIZE_MAX) continue;
            m->x[at] += q->theta[m->n_theta + column];
            m->x_guess[at] += q->theta[m->n_theta + column];
        }
    clsi_wide_free(q);
}

/* ---- where the windows that there are begin ---- */

void clsi_beginnings_note(const clsi_multiple *m) {
    const clsi_integrals *f = m->integrals;
    for (size_t w = m->n_pieces; f && w-- > 0;) /* the first window of each trajectory says it */
        for (size_t k = 0; k < f->n; k++) {
            size_t e = f->state[k], t = trajectory_of(m, w);
            if (column_of(m, w, k) == SIZE_MAX) continue;
            f->shift[t * f->n + k] =
                m->x[w * m->nz + e] - m->first[e] - f->sum[m->piece[w].first * f->n + k];
        }
}

int clsi_beginnings_known(const clsi_multiple *m, size_t trajectory) {
    return !m->integrals || !trajectory || m->integrals->number[trajectory];
}

/* ---- in words ---- */

void clsi_beginnings_tell(const clsi_multiple *m, clsi_text *notes) {
    enum { MOST_TOLD = 8 };
    const clsi_integrals *f = m->integrals;
    for (size_t k = 0; f && f->n_begun && k < f->n; k++) {
        size_t e = f->state[k], told = 0;
        clsi_text_printf(notes,
                         "%s, the integral of an input, begins in recording 1 at %.6g, as the file "
                         "says; where it begins in the others was found:",
                         clsi_point_name(m->system, e), m->first[e]);
        for (size_t t = 1; t < m->data->n_trajectories && told <= MOST_TOLD; t++) {
            if (!f->number[t]) continue;
            if (told++ == MOST_TOLD)
                clsi_text_append(notes, ", ...");
            else
                clsi_text_printf(notes, "%s %zu at %.6g", told > 1 ? "," : "", t + 1,
                                 m->first[e] + f->shift[t * f->n + k]);
        }
        clsi_text_append(notes, "\n");
    }
}
