/* Masses and heat capacities of an unknown thermal lagrangian that are positive at the data.
 *
 *     dp_j/dv_j = G_vv > 0,    dS_i/dT_i = G_TT > 0
 *
 * Where one of them is zero its equation of motion has no solution, and behind it energy does not tell the state: what
 * was solved for from noisy rows cannot be simulated then, and a search has nowhere to begin. They are linear in the
 * coefficients, like rows of the residual: where the plain solution lets one of them fall below a tenth of its mean
 * somewhere at the data, it is solved again with that as an inequality (convex, as in positive.c). Diagonals alone: of
 * several velocities the matrix may still turn negative between the axes. */
#include "base/base.h"
#include "learn/learn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EVENLY = 40, MOST_STATES = 12, POINTS = EVENLY + 2 * MOST_STATES };
static const double LEAST = 0.1; /* of the mean */

/* Which of the data: EVENLY of them, then those with the least and the most of each state. */
static size_t point(const clsi_points *p, size_t i) {
    if (i < EVENLY) return (2 * i + 1) * p->n_data / (2 * EVENLY);
    size_t k = (i - EVENLY) / 2 % p->nz, best = 0;
    double sign = i % 2 ? 1 : -1;
    for (size_t at = 1; at < p->n_data; at++)
        if (sign * p->z[k * p->n + at] > sign * p->z[k * p->n + best]) best = at;
    return best;
}

/* Rows (n, P) of d of/d by at some of the data, and what stands on their right side; n: without those that
 * nothing unknown is in. */
static cls_status make_rows(const clsi_unknowns *us, const clsi_points *p, cls_node of, cls_node by,
                            size_t *n, double *E, double *e, cls_error *error) {
    cls_system *s = us->s;
    clsi_anchor *before = s->anchors, own[POINTS];
    size_t count = s->n_anchors, nz = s->nq + s->n + s->m, P = us->n_theta;
    clsi_anchors *rows = NULL;
    double *state = clsi_calloc(POINTS * nz + 1, sizeof *state);
    if (!state) return clsi_no_memory(error);
    size_t points = EVENLY + 2 * (nz < MOST_STATES ? nz : MOST_STATES);
    for (size_t i = 0; i < points; i++) {
        size_t at = point(p, i);
        for (size_t k = 0; k < nz; k++) state[i * nz + k] = p->z[k * p->n + at];
        own[i] = (clsi_anchor){.of = of, .by = by, .state = state + i * nz};
    }
    s->anchors = own;
    s->n_anchors = points;
    cls_status status = clsi_anchors_create(us, &rows, error);
    s->anchors = before;
    s->n_anchors = count;
    *n = 0;
    for (size_t i = 0; status == CLS_OK && i < clsi_anchors_count(rows); i++) {
        double *row = E + *n * P, constant, size = 0;
        if (clsi_anchors_row(rows, i, NULL, &constant, row) != CLS_OK)
            status = clsi_no_memory(error);
        for (size_t j = 0; j < P && status == CLS_OK; j++) size += fabs(row[j]);
        if (status != CLS_OK || !(size > 0) || !isfinite(size + constant)) continue;
        e[(*n)++] = -constant;
    }
    clsi_anchors_free(&rows);
    free(state);
    return status;
}

/* A tenth of the mean at least. 1: it is less somewhere with these parameters. */
static int bound(size_t n, size_t P, const double *E, const double *theta, double *e) {
    double mean = 0, least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double value = -e[i];
        for (size_t j = 0; j < P; j++) value += E[i * P + j] * theta[j];
        mean += fabs(value) / (double)n;
        least = fmin(least, value);
    }
    for (size_t i = 0; i < n; i++) e[i] += LEAST * mean;
    return !(least >= LEAST * mean);
}

cls_status clsi_sound_rows(const clsi_unknowns *us, const clsi_points *p, const double *theta,
                           size_t *n, double **E, double **e, cls_error *error) {
    const cls_system *s = us->s;
    size_t P = us->n_theta, kinds = s->n + s->m;
    cls_status status = CLS_OK;
    int low = 0;
    *n = 0;
    *E = *e = NULL;
    if (s->formalism != CLS_THERMAL_LAGRANGIAN || p->intervals || !p->n_data) return CLS_OK;
    *E = clsi_calloc(kinds * POINTS * P + 1, sizeof **E);
    *e = clsi_calloc(kinds * POINTS + 1, sizeof **e);
    if (!*E || !*e) status = clsi_no_memory(error);
    for (size_t k = 0; k < kinds && status == CLS_OK; k++) {
        size_t own;
        double *rows = *E + *n * P, *right = *e + *n;
        cls_node of = k < s->n ? s->p[k] : s->S[k - s->n];
        status =
            make_rows(us, p, of, k < s->n ? s->v[k] : s->T[k - s->n], &own, rows, right, error);
        if (status == CLS_OK) low |= bound(own, P, rows, theta, right);
        *n += own;
    }
    if (status == CLS_OK && low) return CLS_OK;
    free(*E);
    free(*e);
    *E = *e = NULL;
    *n = 0;
    return status;
}
