/* Rollouts: a learned model simulated from the start of trajectories it has not seen.
 *
 * A small residual does not say that a model can be simulated: errors add up, or Newton finds no
 * step. A few trajectories (MOST, spread over those kept for validation), POINTS points of each and
 * the default scheme (that of the rule, where rows are its steps) with the step of the data show
 * both. The error is
 *     sqrt(mean ((z - z_data) / spread)^2),   spread_k: root mean square of z_k about its mean.
 * It contains the error of the scheme, the same for all candidates; `parts` steps between two rows tell
 * how much that is. A
 * trajectory is followed while the spacing of its times is the first one; where that is one step
 * and positions are all there is, nothing can be said and NAN is. */
#include "base/base.h"
#include "learn/runs.h"
#include "simulate/simulator.h"
#include <clausius/simulate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A model that needs many halvings of a step of the data is not worth the time they take. */
enum { MOST = 4, POINTS = 100, HALVINGS = 2 };

/* One past the last point that can be compared. */
static size_t equal_steps(const clsi_points *p, size_t begin, size_t end, size_t most) {
    double h = p->time[begin + 1] - p->time[begin];
    size_t i = begin + 1;
    while (i < end && i - begin <= most && fabs(p->time[i] - p->time[i - 1] - h) < 1e-6 * h) i++;
    return i;
}

typedef struct comparison {
    const clsi_points *p;
    const cls_system *s;
    cls_simulator *simulator; /* with the step h */
    const char *scheme;       /* NULL: the default */
    double h, *spread, *state;
    size_t parts; /* steps between two rows */
    double sum;   /* of the squares of all differences, */
    size_t count;
    int (*hurry)(void *context); /* or NULL */
    void *context;
} comparison;

static cls_status advance(comparison *c) {
    if (c->hurry && c->hurry(c->context)) return CLS_INTERRUPTED;
    return cls_simulator_advance(c->simulator, c->parts, NULL);
}

static double conclude(const comparison *c, cls_status status) {
    if (status == CLS_INTERRUPTED) return -1;
    if (status == CLS_MEMORY) return CLSI_ROLLOUT_NO_MEMORY;
    if (status != CLS_OK || !isfinite(c->sum)) return INFINITY;
    return c->count ? sqrt(c->sum / (double)c->count) : NAN;
}

/* A simulator costs more than a run with it: kept, for other steps too. */
static cls_status prepare(comparison *c, double h) {
    if (c->simulator && fabs(h - c->h) < 1e-6 * h) return CLS_OK;
    cls_simulate_options o = cls_simulate_defaults();
    o.h = c->h = h;
    o.scheme = c->scheme;
    o.max_halvings = HALVINGS;
    o.monitor = 0;
    if (c->simulator && clsi_simulator_set_step(c->simulator, h)) return CLS_OK;
    cls_simulator_free(&c->simulator);
    return cls_simulator_create(c->s, &o, &c->simulator, NULL);
}

/* Data of a lagrangian are (q, v, S), whatever its state is. */
static int by_velocities(const comparison *c) {
    return c->s->formalism == CLS_LAGRANGIAN && c->s->form->kind == CLSI_FORM_PHASE;
}

enum { MOST_STATES = 64 };

/* The state at point i of the data. */
static cls_status state_at(comparison *c, size_t i) {
    const clsi_points *p = c->p;
    const char *names[MOST_STATES];
    for (size_t k = 0; k < p->nz; k++) c->state[k] = p->z[k * p->n + i];
    if (!by_velocities(c)) return CLS_OK;
    if (p->nz > MOST_STATES) return CLS_USAGE;
    double values[MOST_STATES];
    for (size_t k = 0; k < p->nz; k++) {
        names[k] = clsi_point_name(c->s, k);
        values[k] = c->state[k];
    }
    return cls_system_start(c->s, &(cls_assignments){p->nz, names, values}, c->state, NULL);
}

/* The state of the simulator as the data have it, in c->state. */
static cls_status observe(comparison *c) {
    const cls_system *s = c->s;
    const double *z = cls_simulator_state(c->simulator);
    memcpy(c->state, z, c->p->nz * sizeof *c->state);
    if (!by_velocities(c)) return CLS_OK;
    size_t columns = cls_system_column_count(s);
    double *row = clsi_calloc(columns, sizeof *row);
    cls_status status =
        row ? cls_system_row(s, cls_simulator_time(c->simulator), z, row, NULL) : CLS_MEMORY;
    for (size_t j = 0; j < s->n && status == CLS_OK; j++)
        for (size_t k = 0; k < columns; k++)
            if (strcmp(cls_system_column(s, k), clsi_point_name(s, s->nq + j)) == 0)
                c->state[s->nq + j] = row[k];
    free(row);
    return status;
}

/* What drove the trajectory. */
static cls_status drive(comparison *c, size_t begin, size_t end) {
    const clsi_points *p = c->p;
    size_t n = end - begin;
    if (!p->nu) return CLS_OK;
    double *u = clsi_calloc(p->nu * n, sizeof *u);
    for (size_t k = 0; k < p->nu && u; k++)
        memcpy(u + k * n, p->z + (p->nz + k) * p->n + begin, n * sizeof *u);
    const char *hold = p->rule.hold ? p->rule.hold : "auto";
    cls_status status =
        u ? cls_simulator_inputs_held(c->simulator, n, p->time + begin, u, hold, NULL) : CLS_MEMORY;
    free(u);
    return status;
}

/* The difference between c->state and row i. */
static void add_row(comparison *c, size_t i) {
    const clsi_points *p = c->p;
    for (size_t k = 0; k < p->nz; k++, c->count++) {
        double off = c->state[k] - p->z[k * p->n + i];
        if (k < c->s->nq && c->s->coordinate[k].angle) off = remainder(off, 6.283185307179586);
        double difference = off / c->spread[k];
        c->sum += difference * difference;
    }
}

/* One trajectory. */
static cls_status follow(comparison *c, size_t begin, size_t end) {
    const clsi_points *p = c->p;
    cls_status status = prepare(c, (p->time[begin + 1] - p->time[begin]) / (double)c->parts);
    if (status == CLS_OK) status = drive(c, begin, end);
    end = equal_steps(p, begin, end, POINTS);
    if (status == CLS_OK) status = state_at(c, begin);
    if (status == CLS_OK)
        status = cls_simulator_start(c->simulator, p->time[begin], c->state, NULL);
    for (size_t i = begin + 1; i < end && status == CLS_OK; i++) {
        status = advance(c);
        if (status == CLS_OK) status = observe(c);
        add_row(c, i);
    }
    return status;
}

/* ---- positions ---- */

static double spread_of_positions(const clsi_intervals *all, size_t j) {
    const double *q = all->q + j * all->n_data;
    double mean = 0, sum = 0;
    for (size_t i = 0; i < all->n_data; i++) mean += q[i] / (double)all->n_data;
    for (size_t i = 0; i < all->n_data; i++) sum += (q[i] - mean) * (q[i] - mean);
    return sum > 0 ? sqrt(sum / (double)all->n_data) : 1;
}

/* The state at datum i with the momentum that leads to the next one. What heat there is belongs to
 * the start of the system's file; where that has none, every temperature or entropy is 1. */
static cls_status aim_at(comparison *c, const clsi_intervals *all, size_t i) {
    size_t n = all->dimension, states = cls_system_state_count(c->s);
    if (cls_system_start(c->s, NULL, c->state, NULL) != CLS_OK)
        for (size_t k = 0; k < states; k++) c->state[k] = k < 2 * n ? 0 : 1;
    double *target = c->spread + n;
    for (size_t j = 0; j < n; j++) {
        c->state[j] = all->q[j * all->n_data + i];
        target[j] = all->q[j * all->n_data + i + 1];
    }
    return cls_simulator_aim(c->simulator, all->time[i], target, c->state, NULL);
}

static size_t equal_intervals(const clsi_intervals *all, size_t begin, size_t end) {
    size_t last = begin + 1;
    double h = all->h[begin];
    while (last < end && last - begin <= POINTS && fabs(all->h[last - 1] - h) < 1e-6 * h) last++;
    return last;
}

static void add_positions(comparison *c, const clsi_intervals *all, const double *q, size_t i) {
    for (size_t j = 0; j < all->dimension; j++, c->count++) {
        double difference = (q[j] - all->q[j * all->n_data + i]) / c->spread[j];
        c->sum += difference * difference;
    }
}

static cls_status follow_positions(comparison *c, const clsi_intervals *all, size_t begin,
                                   size_t end) {
    size_t last = equal_intervals(all, begin, end);
    cls_status status = prepare(c, all->h[begin]);
    if (status == CLS_OK) status = aim_at(c, all, begin);
    for (size_t i = begin + 1; i < last && status == CLS_OK; i++) {
        status = advance(c);
        if (i > begin + 1) /* the first was aimed at */
            add_positions(c, all, cls_simulator_state(c->simulator), i);
    }
    return status;
}

static double rollout_of_positions(const clsi_points *p, const cls_system *s,
                                   int (*hurry)(void *context), void *context) {
    const clsi_intervals *all = p->intervals;
    size_t n = p->n_held < MOST ? p->n_held : MOST;
    comparison c = {.p = p,
                    .s = s,
                    .scheme = p->rule.positions->rollout,
                    .parts = 1,
                    .hurry = hurry,
                    .context = context};
    c.spread = clsi_calloc(2 * all->dimension + cls_system_state_count(s) + 1, sizeof(double));
    if (!c.spread) return CLSI_ROLLOUT_NO_MEMORY;
    c.state = c.spread + 2 * all->dimension;
    cls_status status = CLS_OK;
    for (size_t j = 0; j < all->dimension; j++) c.spread[j] = spread_of_positions(all, j);
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        const size_t *ends = p->held + 2 * (i * p->n_held / n);
        status = follow_positions(&c, all, ends[0], ends[1]);
    }
    cls_simulator_free(&c.simulator);
    free(c.spread);
    return conclude(&c, status);
}

/* A cell of a long array that nothing has reached yet has a spread of rounding: what others of its kind (coordinates,
 * momenta, heat) do not resolve is no difference. */
static const double FLAT = 1e-9;

static void set_spreads(const clsi_points *p, const cls_system *s, double *spread) {
    const size_t ends[] = {s->nq, s->nq + s->n, p->nz};
    for (size_t kind = 0, k = 0; kind < 3; kind++) {
        double most = 0;
        size_t end = ends[kind] < p->nz ? ends[kind] : p->nz, first = k;
        for (; k < end; k++) most = fmax(most, spread[k] = clsi_points_spread(p, k));
        for (size_t i = first; i < end; i++) spread[i] = fmax(spread[i], FLAT * most);
    }
}

double clsi_rollout(const clsi_points *p, const cls_system *s, size_t parts, cls_simulator **kept,
                    int (*hurry)(void *context), void *context) {
    if (p->intervals) return rollout_of_positions(p, s, hurry, context);
    size_t n = p->n_held < MOST ? p->n_held : MOST;
    comparison c = {.p = p,
                    .s = s,
                    .scheme = p->rule.scheme ? p->rule.scheme->info.name : NULL,
                    .parts = parts,
                    .spread = clsi_calloc(p->nz + cls_system_state_count(s) + 1, sizeof(double)),
                    .hurry = hurry,
                    .context = context};
    if (!c.spread) return CLSI_ROLLOUT_NO_MEMORY;
    c.state = c.spread + p->nz;
    c.simulator = kept ? *kept : NULL;
    cls_status status = CLS_OK;
    set_spreads(p, s, c.spread);
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        const size_t *ends = p->held + 2 * (i * p->n_held / n);
        status = follow(&c, ends[0], ends[1]);
    }
    if (kept)
        *kept = c.simulator;
    else
        cls_simulator_free(&c.simulator);
    free(c.spread);
    return conclude(&c, status);
}

double clsi_rollout_still(const clsi_points *p, const cls_system *s) {
    const clsi_intervals *all = p->intervals;
    size_t n = p->n_held < MOST ? p->n_held : MOST, width = all ? all->dimension : p->nz;
    comparison c = {.p = p, .s = s, .spread = clsi_calloc(2 * width + 1, sizeof(double))};
    if (!c.spread) return CLSI_ROLLOUT_NO_MEMORY;
    c.state = c.spread + width;
    if (!all) set_spreads(p, s, c.spread);
    for (size_t j = 0; all && j < width; j++) c.spread[j] = spread_of_positions(all, j);
    for (size_t t = 0; t < n; t++) {
        const size_t *ends = p->held + 2 * (t * p->n_held / n), from = ends[0];
        size_t end =
            all ? equal_intervals(all, from, ends[1]) : equal_steps(p, from, ends[1], POINTS);
        for (size_t j = 0; j < width; j++)
            c.state[j] = all ? all->q[j * all->n_data + from] : p->z[j * p->n + from];
        for (size_t i = from + 1; i < end; i++)
            if (!all)
                add_row(&c, i);
            else if (i > from + 1)
                add_positions(&c, all, c.state, i);
    }
    free(c.spread);
    return conclude(&c, CLS_OK);
}

/* ---- to their ends ---- */

/* With many rows some of the motions, evenly: one validates as well as the next. */
enum { MOST_RUN_ROWS = 20000, MOST_RUN_VALUES = 200000, FEWEST_RUN_ROWS = 500 };

static size_t run_stride(const clsi_points *p) {
    size_t rows = 0, most = MOST_RUN_VALUES / (p->nz + 1);
    for (size_t i = 0; i < p->n_held; i++) rows += p->held[2 * i + 1] - p->held[2 * i];
    if (most > MOST_RUN_ROWS) most = MOST_RUN_ROWS;
    if (most < FEWEST_RUN_ROWS) most = FEWEST_RUN_ROWS;
    return 1 + rows / (most + 1);
}

static cls_status run_points(comparison *c, size_t begin, size_t end, clsi_runs *r) {
    const clsi_points *p = c->p;
    size_t n = equal_steps(p, begin, end, SIZE_MAX - 1) - begin;
    double *u = clsi_calloc(p->nu * n + 1, sizeof *u);
    if (!u) return CLS_MEMORY;
    for (size_t k = 0; k < p->nu; k++)
        memcpy(u + k * n, p->z + (p->nz + k) * p->n + begin, n * sizeof *u);
    cls_status status = state_at(c, begin);
    if (status == CLS_OK) status = clsi_runs_add(r, c->state, n, p->time + begin, p->nu ? u : NULL);
    free(u);
    return status;
}

/* Positions say the velocity at the beginning; where they do not, `rollout` says that it fails. */
static cls_status run_positions(comparison *c, size_t begin, size_t end, clsi_runs *r) {
    const clsi_intervals *all = c->p->intervals;
    cls_status status = prepare(c, all->h[begin]);
    if (status == CLS_OK) status = aim_at(c, all, begin);
    if (status == CLS_OK) status = clsi_runs_add(r, c->state, end - begin, all->time + begin, NULL);
    return status;
}

cls_status clsi_runs_of_points(const clsi_points *p, clsi_runs *r) {
    const clsi_intervals *all = p->intervals;
    size_t width = all ? 2 * all->dimension : p->nz, stride = run_stride(p);
    comparison c = {.p = p, .s = r->s, .parts = 1};
    c.scheme = r->scheme = all              ? p->rule.positions->rollout
                           : p->rule.scheme ? p->rule.scheme->info.name
                                            : NULL;
    r->parts = all || p->rule.scheme ? 1 : 0;
    r->hold = p->rule.hold;
    c.spread = clsi_calloc(width + cls_system_state_count(r->s) + 1, sizeof(double));
    if (!c.spread) return CLS_MEMORY;
    c.state = c.spread + width;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < p->n_held && status == CLS_OK; i += stride) {
        size_t begin = p->held[2 * i], end = p->held[2 * i + 1];
        if (end < begin + 2) continue;
        status = all ? run_positions(&c, begin, end, r) : run_points(&c, begin, end, r);
        if (status != CLS_MEMORY && status != CLS_INTERRUPTED) status = CLS_OK;
    }
    cls_simulator_free(&c.simulator);
    free(c.spread);
    return status;
}
