/* Rollouts: a learned model simulated from the start of trajectories it has not seen.
 *
 * A small residual does not say that a model can be simulated: errors add up, or Newton finds no
 * step. A few trajectories (MOST, spread over those kept for validation), POINTS points of each and
 * the default scheme with the step of the data show both. The error is
 *     sqrt(mean ((z - z_data) / spread)^2),   spread_k: root mean square of z_k about its mean.
 * It contains the error of the scheme, the same for all candidates: compare it, do not quote it. A
 * trajectory is followed while the spacing of its times is the first one. */
#include "base/base.h"
#include "learn/learn.h"
#include <clausius/simulate.h>
#include <math.h>
#include <stdlib.h>

/* A model that needs many halvings of a step of the data is not worth the time they take. */
enum { MOST = 4, POINTS = 100, HALVINGS = 2 };

static double spread_of(const clsi_points *p, size_t k) {
    const double *z = p->z + k * p->n;
    double mean = 0, sum = 0;
    for (size_t i = 0; i < p->n_data; i++) mean += z[i] / (double)p->n_data;
    for (size_t i = 0; i < p->n_data; i++) sum += (z[i] - mean) * (z[i] - mean);
    return sum > 0 ? sqrt(sum / (double)p->n_data) : 1;
}

/* One past the last point that can be compared. */
static size_t equal_steps(const clsi_points *p, size_t begin, size_t end) {
    double h = p->time[begin + 1] - p->time[begin];
    size_t i = begin + 1;
    while (i < end && i - begin <= POINTS && fabs(p->time[i] - p->time[i - 1] - h) < 1e-6 * h) i++;
    return i;
}

typedef struct comparison {
    const clsi_points *p;
    const cls_system *s;
    cls_simulator *simulator; /* with the step h */
    double h, *spread, *state;
    double sum; /* of the squares of all differences, */
    size_t count;
} comparison;

/* A simulator costs more than a run with it: kept while the step is the same. */
static cls_status prepare(comparison *c, double h) {
    if (c->simulator && fabs(h - c->h) < 1e-6 * h) return CLS_OK;
    cls_simulate_options o = cls_simulate_defaults();
    o.h = c->h = h;
    o.max_halvings = HALVINGS;
    o.monitor = 0;
    cls_simulator_free(&c->simulator);
    return cls_simulator_create(c->s, &o, &c->simulator, NULL);
}

/* One trajectory. */
static cls_status follow(comparison *c, size_t begin, size_t end) {
    const clsi_points *p = c->p;
    cls_status status = prepare(c, p->time[begin + 1] - p->time[begin]);
    end = equal_steps(p, begin, end);
    for (size_t k = 0; k < p->nz; k++) c->state[k] = p->z[k * p->n + begin];
    if (status == CLS_OK)
        status = cls_simulator_start(c->simulator, p->time[begin], c->state, NULL);
    for (size_t i = begin + 1; i < end && status == CLS_OK; i++) {
        status = cls_simulator_advance(c->simulator, 1, NULL);
        const double *z = cls_simulator_state(c->simulator);
        for (size_t k = 0; k < p->nz; k++, c->count++) {
            double difference = (z[k] - p->z[k * p->n + i]) / c->spread[k];
            c->sum += difference * difference;
        }
    }
    return status;
}

double clsi_rollout(const clsi_points *p, const cls_system *s) {
    size_t n = p->n_held < MOST ? p->n_held : MOST;
    comparison c = {.p = p, .s = s, .spread = clsi_calloc(2 * p->nz + 1, sizeof(double))};
    if (!c.spread) return NAN;
    c.state = c.spread + p->nz;
    cls_status status = CLS_OK;
    for (size_t k = 0; k < p->nz; k++) c.spread[k] = spread_of(p, k);
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        const size_t *ends = p->held + 2 * (i * p->n_held / n);
        status = follow(&c, ends[0], ends[1]);
    }
    cls_simulator_free(&c.simulator);
    free(c.spread);
    if (status != CLS_OK || !isfinite(c.sum)) return INFINITY;
    return c.count ? sqrt(c.sum / (double)c.count) : NAN;
}
