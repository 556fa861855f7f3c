/* What the rows of a coordinate say about its motion: how fast it is, and whether it rests between motions or at their end.
 *
 * What rests where nothing holds it but friction tells how sharp dry friction is: a block that sticks stays where it is,
 * one on an oiled plane creeps on. The ready forms of friction have a width that is given, 0.01 of the unit, which is a
 * tenth of the speed of one thing and a millionth of that of another. Drafts of such motions have it as a parameter. */
#include "explain/draft.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEWEST = 40,
    BLOCK = 8,
    MOST_SHARE = 8
};                              /* rows; of a block; spans looked at, of all rows */
static const double CLEAR = 10; /* times the noise: that is moving */
static const double USUAL =
    0.9; /* the share of differences that are not larger than the speed says */
static const double SPREAD = 6, LITTLE = 0.02;    /* of noise in a block, in sigmas; of the range */
static const double SOME = 0.1, NEARLY_ALL = 0.9; /* of the blocks */

typedef struct rows {
    const clsi_draft_column *c;
    const double *v, *time;
    size_t n;
} rows;

static double step_between(const rows *r, size_t a, size_t b) {
    double by = r->v[b] - r->v[a];
    return r->c->facts.wraps ? remainder(by, r->c->facts.turn) : by;
}

/* Rows of one motion, without a gap in the column itself. */
static int together(const rows *r, size_t a, size_t b) {
    if (!isfinite(r->v[a]) || !isfinite(r->v[b])) return 0;
    return !r->time || r->time[b] > r->time[a];
}

static int upwards(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What most differences over k rows stay below; 0: there are too few. */
static double usual_step(const rows *r, size_t k, double *list) {
    size_t n = 0;
    for (size_t i = 0; i + k < r->n; i++)
        if (together(r, i, i + k)) list[n++] = fabs(step_between(r, i, i + k));
    qsort(list, n, sizeof *list, upwards);
    return n < FEWEST / 2 ? 0 : list[(size_t)(USUAL * (double)(n - 1))];
}

/* In units of a row. */
static double find_speed(const rows *r, double noise, double *list) {
    for (size_t k = 1; k <= r->n / MOST_SHARE; k *= 2) {
        double step = usual_step(r, k, list);
        if (step > CLEAR * noise) return step / (double)k;
    }
    return 0;
}

/* The share of blocks of so many rows in which nothing moves. */
static double resting_share(const rows *r, size_t block, double little) {
    double all = 0, still = 0;
    for (size_t i = 0; i + block <= r->n; i += block) {
        double low = 0, high = 0;
        int fine = together(r, i, i + block - 1);
        for (size_t k = 1; k < block && fine; k++) {
            double by = step_between(r, i, i + k);
            fine = together(r, i + k - 1, i + k);
            low = fmin(low, by);
            high = fmax(high, by);
        }
        all += fine;
        still += fine && high - low < little;
    }
    return all > 0 ? still / all : 0;
}

cls_status clsi_draft_look_at_motion(const clsi_draft *d, clsi_draft_column *c, const double *v,
                                     const double *time, size_t n, cls_error *error) {
    rows r = {c, v, time, n};
    double noise = fmax(isfinite(c->facts.noise) ? c->facts.noise : 0, c->facts.quantum);
    double range = c->facts.wraps ? c->facts.turn : c->facts.max - c->facts.min;
    c->speed = 0;
    if (n < FEWEST || !(d->spacing > 0) || c->facts.constant) return CLS_OK;
    double *list = clsi_calloc(n + 1, sizeof *list);
    if (!list) return clsi_no_memory(error);
    double speed = find_speed(&r, noise, list);
    free(list);
    if (!(speed > 0)) return CLS_OK;
    /* about a third of the period of what oscillates: at its turns it moves as well */
    size_t block = (size_t)fmax(BLOCK, ceil(range / speed));
    double share = resting_share(&r, block, fmax(SPREAD * noise, LITTLE * range));
    double unit = c->unit && !strcmp(c->unit, "deg") ? 0.017453292519943295 : 1;
    c->rests = share >= SOME && share <= NEARLY_ALL;
    c->speed = unit * speed / d->spacing;
    c->reach = unit * range / 2;
    return CLS_OK;
}
