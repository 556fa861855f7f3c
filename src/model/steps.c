/* Steps forth and back, sixteen side by side, and the loss of whole trajectories.
 *
 * To first order a step does dz1 = B dz0 + A dtheta with the B and L of sensitive.h. With the
 * adjoint a of z1,
 *
 *     a0 = B^T a,   theta_bar += d(lambda.r + mu.next)/dtheta  at  mu = a, lambda = L^T a.
 *
 * A trajectory keeps all its steps (z0, t, h, u: a few numbers each) and goes back through them
 * once. Gradients in theta are added up in a fixed order, group by group. */
#include "base/base.h"
#include "base/misuse.h"
#include "expr/program.h"
#include "model/model.h"
#include "simulate/sensitive.h"
#include <clausius/steps.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct cls_steps {
    const cls_model *model;
    cls_system *open; /* with theta as symbols; NULL for a system */
    cls_system *view; /* of a system, else NULL */
    clsi_sensitive *step;
    size_t nz, n_theta, record;
};

cls_status cls_steps_create(const cls_system *system, const cls_model *model, const char *scheme,
                            cls_steps **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, system || model);
    cls_steps *s = *out = clsi_calloc(1, sizeof *s);
    if (!s) return clsi_no_memory(error);
    s->model = model;
    s->n_theta = model ? model->n_theta : 0;
    cls_node *theta = clsi_calloc(s->n_theta + 1, sizeof *theta);
    cls_status status = theta ? CLS_OK : clsi_no_memory(error);
    if (!status && !model) status = clsi_system_view(system, &s->view, error);
    for (int how = model ? CLSI_NODES : CLSI_CLOSED; !status; how = CLSI_FORMULAS) {
        if (model) status = clsi_model_open(model, (clsi_opening)how, &s->open, error);
        for (size_t i = 0; !status && i < s->n_theta; i++) theta[i] = clsi_model_symbol(s->open, i);
        if (!status)
            status = clsi_sensitive_create(model ? s->open : s->view, scheme, s->n_theta, theta,
                                           &s->step, error);
        if (status != CLS_USAGE || how != CLSI_NODES) break;
        cls_system_free(&s->open); /* no kernel for what the scheme asks for */
        status = CLS_OK;
    }
    free(theta);
    if (!status) {
        s->nz = s->step->nz;
        s->record = clsi_record_size(s->step);
    } else {
        cls_steps_free(out);
    }
    return status;
}

void cls_steps_free(cls_steps **steps) {
    if (!steps) return;
    cls_steps *s = *steps;
    if (!s) return;
    clsi_sensitive_free(&s->step);
    cls_system_free(&s->open);
    clsi_system_view_free(&s->view);
    free(s);
    *steps = NULL;
}

size_t cls_steps_count(const cls_steps *steps) {
    if (!steps) return 0;
    return steps->nz;
}

size_t cls_steps_parameters(const cls_steps *steps) {
    if (!steps) return 0;
    return steps->n_theta;
}

/* ---- one group of lanes ---- */

typedef struct group {
    const cls_steps *s;
    clsi_stride *stride;
    size_t n, stages, substeps;   /* lanes; parts of a step; steps in an interval */
    size_t intervals[CLSI_LANES]; /* of each lane */
    const double *time[CLSI_LANES];
    size_t room;                       /* steps of the longest lane, stages counted */
    double *record;                    /* (lanes, room + 1, record) */
    double *B, *L;                     /* (lanes, nz, nz), (lanes, nz, k) */
    double *adjoint, *before, *lambda; /* (lanes, nz), (lanes, nz), (lanes, k) */
} group;

static double *record_at(const group *g, size_t lane, size_t k) {
    return g->record + (lane * (g->room + 1) + k) * g->s->record;
}

static cls_status group_create(const cls_steps *s, const double *theta, size_t n, size_t room,
                               group *g, cls_error *error) {
    size_t nz = s->nz, k = s->step->k;
    *g = (group){.s = s, .n = n, .stages = s->step->n_stages, .substeps = 1, .room = room};
    size_t each = (room + 1) * s->record;
    g->record = clsi_calloc(CLSI_LANES * (each + nz * nz + nz * k + 2 * nz + k), sizeof(double));
    if (!g->record) return clsi_no_memory(error);
    g->B = g->record + CLSI_LANES * each;
    g->L = g->B + CLSI_LANES * nz * nz;
    g->adjoint = g->L + CLSI_LANES * nz * k;
    g->before = g->adjoint + CLSI_LANES * nz;
    g->lambda = g->before + CLSI_LANES * nz;
    cls_status status = clsi_stride_create(s->step, n == 1, &g->stride, error);
    if (!status) clsi_stride_set(g->stride, theta);
    return status;
}

static void group_clear(group *g) {
    clsi_stride_free(&g->stride);
    free(g->record);
}

static size_t steps_of(const group *g, size_t lane) {
    return g->intervals[lane] * g->substeps * g->stages;
}

/* Time and length of step k of a lane. */
static void place(const group *g, size_t lane, size_t k, double *record) {
    const double *stage = g->s->step->stage;
    size_t interval = k / (g->substeps * g->stages), part = k % g->stages,
           sub = k / g->stages % g->substeps;
    double begin = g->time[lane][interval],
           h = (g->time[lane][interval + 1] - begin) / (double)g->substeps, done = 0;
    for (size_t i = 0; i < part; i++) done += stage[i];
    record[g->s->nz] = begin + ((double)sub + done) * h;
    record[g->s->nz + 1] = stage[part] * h;
}

/* All steps of all lanes; the lane that has no step, or CLSI_LANES. Starts are in record 0. */
static size_t forth(group *g) {
    for (size_t k = 0; k < g->room; k++) {
        double *record[CLSI_LANES], *next[CLSI_LANES];
        int warm[CLSI_LANES] = {0}, fine[CLSI_LANES];
        size_t lane[CLSI_LANES], n = 0;
        for (size_t i = 0; i < g->n; i++) {
            if (k >= steps_of(g, i)) continue;
            lane[n] = i;
            record[n] = record_at(g, i, k);
            place(g, i, k, record[n]);
            next[n++] = record_at(g, i, k + 1);
        }
        if (!n) break;
        clsi_stride_step(g->stride, n, record, warm, next, fine);
        for (size_t i = 0; i < n; i++)
            if (!fine[i]) return lane[i];
    }
    return CLSI_LANES;
}

/* adjoint[lane] through step k of these lanes; 0 where a step has no derivative. */
static int back_one(group *g, size_t n, const size_t *lane, size_t k, double *theta_bar) {
    size_t nz = g->s->nz, nu = g->s->step->k;
    const double *record[CLSI_LANES] = {0}, *mu[CLSI_LANES] = {0}, *lambda[CLSI_LANES] = {0};
    double *B[CLSI_LANES] = {0}, *L[CLSI_LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        record[i] = record_at(g, lane[i], k);
        B[i] = g->B + i * nz * nz;
        L[i] = g->L + i * nz * nu;
        mu[i] = g->before + i * nz;
        lambda[i] = g->lambda + i * nu;
    }
    if (!clsi_stride_tangent(g->stride, n, record, B, L)) return 0;
    for (size_t i = 0; i < n; i++) {
        double *a = g->adjoint + lane[i] * nz, *old = g->before + i * nz;
        memcpy(old, a, nz * sizeof *a);
        for (size_t j = 0; j < nz; j++) {
            a[j] = 0;
            for (size_t e = 0; e < nz; e++) a[j] += B[i][e * nz + j] * old[e];
        }
        for (size_t j = 0; j < nu; j++) {
            double sum = 0;
            for (size_t e = 0; e < nz; e++) sum += L[i][e * nu + j] * old[e];
            g->lambda[i * nu + j] = sum;
        }
    }
    if (theta_bar && g->s->n_theta) {
        clsi_stride_reverse(g->stride, n, record, lambda, mu);
        clsi_stride_add(g->stride, n, theta_bar);
    }
    return 1;
}

/* ---- single steps ---- */

typedef struct request {
    const cls_steps *s;
    const double *theta, *states, *seeds;
    size_t n;
    double times[2];
    double *next, *states_bar, *theta_bars; /* the last: (groups, n_theta) */
    size_t failed;                          /* the first state without a step */
} request;

static cls_status do_group(const request *q, size_t first, size_t *failed, cls_error *error) {
    size_t nz = q->s->nz, n = q->n - first < CLSI_LANES ? q->n - first : CLSI_LANES;
    group g;
    cls_status status = group_create(q->s, q->theta, n, q->s->step->n_stages, &g, error);
    for (size_t i = 0; !status && i < n; i++) {
        g.intervals[i] = 1;
        g.time[i] = q->times;
        memcpy(record_at(&g, i, 0), q->states + (first + i) * nz, nz * sizeof(double));
    }
    size_t lost = status ? CLSI_LANES : forth(&g);
    if (lost < CLSI_LANES) status = CLS_NUMERIC, *failed = first + lost;
    for (size_t i = 0; !status && q->next && i < n; i++)
        memcpy(q->next + (first + i) * nz, record_at(&g, i, g.room), nz * sizeof(double));
    if (!status && q->seeds) {
        size_t lane[CLSI_LANES];
        for (size_t i = 0; i < n; i++) lane[i] = i;
        memcpy(g.adjoint, q->seeds + first * nz, n * nz * sizeof(double));
        for (size_t k = g.room; !status && k-- > 0;)
            if (!back_one(&g, n, lane, k,
                          q->theta_bars ? q->theta_bars + first / CLSI_LANES * q->s->n_theta
                                        : NULL))
                status = CLS_NUMERIC, *failed = first;
        if (!status && q->states_bar)
            memcpy(q->states_bar + first * nz, g.adjoint, n * nz * sizeof(double));
    }
    group_clear(&g);
    return status;
}

static cls_status do_request(request *q, int threads, cls_error *error) {
    size_t groups = (q->n + CLSI_LANES - 1) / CLSI_LANES;
    cls_status status = CLS_OK;
    q->failed = q->n;
    if (!q->theta && q->s->model) q->theta = q->s->model->theta;
    if (threads <= 0) threads = omp_get_max_threads();
    if ((size_t)threads > groups) threads = (int)groups;
    if (groups < 4) threads = 1;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (size_t g = 0; g < groups; g++) {
        size_t failed = q->n;
        cls_error mine = {0};
        cls_status result = do_group(q, g * CLSI_LANES, &failed, &mine);
        if (result == CLS_OK) continue;
#pragma omp critical(clsi_steps)
        if (status == CLS_OK || failed < q->failed) status = result, q->failed = failed;
    }
    if (status == CLS_NUMERIC)
        return clsi_fail(error, status,
                         "state %zu: there is no step of h = %g from it; take a smaller h",
                         q->failed, q->times[1] - q->times[0]);
    return status ? clsi_no_memory(error) : CLS_OK;
}

cls_status cls_steps_make(const cls_steps *steps, const double *theta, size_t n, double t, double h,
                          const double *states, int threads, double *next, cls_error *error) {
    NEED(error, steps);
    NEED(error, (states && next) || !n);
    request q = {
        .s = steps, .theta = theta, .states = states, .n = n, .times = {t, t + h}, .next = next};
    return do_request(&q, threads, error);
}

static void add_up(size_t groups, size_t n, const double *parts, double *sum) {
    memset(sum, 0, n * sizeof *sum);
    for (size_t g = 0; g < groups; g++)
        for (size_t j = 0; j < n; j++) sum[j] += parts[g * n + j];
}

cls_status cls_steps_back(const cls_steps *steps, const double *theta, size_t n, double t, double h,
                          const double *states, const double *seeds, int threads,
                          double *states_bar, double *theta_bar, cls_error *error) {
    NEED(error, steps);
    NEED(error, (states && seeds && states_bar) || !n);
    size_t groups = (n + CLSI_LANES - 1) / CLSI_LANES;
    request q = {.s = steps,
                 .theta = theta,
                 .states = states,
                 .seeds = seeds,
                 .n = n,
                 .times = {t, t + h},
                 .states_bar = states_bar};
    if (theta_bar) q.theta_bars = clsi_calloc(groups * steps->n_theta + 1, sizeof *q.theta_bars);
    if (theta_bar && !q.theta_bars) return clsi_no_memory(error);
    cls_status status = do_request(&q, threads, error);
    if (!status && theta_bar) add_up(groups, steps->n_theta, q.theta_bars, theta_bar);
    free(q.theta_bars);
    return status;
}

/* ---- whole trajectories ---- */

typedef struct contest {
    const cls_steps *s;
    const double *theta, *starts;
    const cls_shots *shots;
    size_t substeps;
    double *losses, *theta_bars, *starts_bar; /* (groups), (groups, n_theta), (n, nz) */
    size_t failed;
} contest;

/* Adds the squares of lane i at its row `row` and their slopes. */
static double compare(const contest *c, const group *g, size_t lane, size_t trajectory, size_t row,
                      int slopes) {
    size_t nz = c->s->nz;
    const double *z = record_at(g, lane, row * g->substeps * g->stages);
    const double *data = c->shots->state + (c->shots->begin[trajectory] + row) * nz;
    double sum = 0;
    for (size_t j = 0; j < nz; j++) {
        double error = (z[j] - data[j]) / c->shots->scale[j];
        if (isnan(data[j])) continue;
        sum += error * error;
        if (slopes) g->adjoint[lane * nz + j] += 2 * error / c->shots->scale[j];
    }
    return sum;
}

static int go_back(contest *c, group *g, size_t first, double *theta_bar) {
    size_t part = g->substeps * g->stages;
    for (size_t k = g->room + 1; k-- > 0;) {
        size_t lane[CLSI_LANES], n = 0;
        for (size_t i = 0; i < g->n; i++) {
            if (k % part == 0 && k / part <= g->intervals[i])
                compare(c, g, i, first + i, k / part, 1);
            if (k && k <= steps_of(g, i)) lane[n++] = i;
        }
        if (k && n && !back_one(g, n, lane, k - 1, theta_bar)) return 0;
    }
    return 1;
}

static cls_status shoot_group(contest *c, size_t first, size_t *failed, cls_error *error) {
    size_t nz = c->s->nz, n = c->shots->n - first, most = 0, number = first / CLSI_LANES;
    size_t part = c->substeps * c->s->step->n_stages;
    const size_t *begin = c->shots->begin;
    group g;
    if (n > CLSI_LANES) n = CLSI_LANES;
    for (size_t i = 0; i < n; i++)
        if (begin[first + i + 1] - begin[first + i] - 1 > most)
            most = begin[first + i + 1] - begin[first + i] - 1;
    cls_status status = group_create(c->s, c->theta, n, most * part, &g, error);
    g.substeps = c->substeps;
    for (size_t i = 0; !status && i < n; i++) {
        g.intervals[i] = begin[first + i + 1] - begin[first + i] - 1;
        g.time[i] = c->shots->time + begin[first + i];
        memcpy(record_at(&g, i, 0), c->starts + (first + i) * nz, nz * sizeof(double));
    }
    size_t lost = status ? CLSI_LANES : forth(&g);
    if (lost < CLSI_LANES) status = CLS_NUMERIC, *failed = first + lost;
    for (size_t i = 0; !status && i < n; i++)
        for (size_t row = 0; row <= g.intervals[i]; row++)
            c->losses[number] += compare(c, &g, i, first + i, row, 0);
    if (!status && (c->theta_bars || c->starts_bar)) {
        double *bar = c->theta_bars ? c->theta_bars + number * c->s->n_theta : NULL;
        if (!go_back(c, &g, first, bar)) status = CLS_NUMERIC, *failed = first;
    }
    if (!status && c->starts_bar)
        memcpy(c->starts_bar + first * nz, g.adjoint, n * nz * sizeof(double));
    group_clear(&g);
    return status;
}

static cls_status shoot_all(contest *c, size_t groups, int threads, cls_error *error) {
    cls_status status = CLS_OK;
    if (threads <= 0) threads = omp_get_max_threads();
    if ((size_t)threads > groups) threads = groups ? (int)groups : 1;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (size_t g = 0; g < groups; g++) {
        size_t failed = c->shots->n;
        cls_error mine = {0};
        cls_status result = shoot_group(c, g * CLSI_LANES, &failed, &mine);
        if (result == CLS_OK) continue;
#pragma omp critical(clsi_steps)
        if (status == CLS_OK || failed < c->failed) status = result, c->failed = failed;
    }
    if (status == CLS_NUMERIC)
        return clsi_fail(error, status,
                         "trajectory %zu cannot be simulated with these parameters; take more "
                         "substeps or shorter trajectories",
                         c->failed);
    return status ? clsi_no_memory(error) : CLS_OK;
}

cls_status cls_steps_shoot(const cls_steps *steps, const double *theta, const cls_shots *shots,
                           const double *starts, int threads, double *loss, double *theta_bar,
                           double *starts_bar, cls_error *error) {
    NEED(error, steps);
    NEED(error, shots);
    NEED(error, starts);
    size_t groups = (shots->n + CLSI_LANES - 1) / CLSI_LANES, P = steps->n_theta, measured = 0;
    for (size_t i = 0; i < shots->n; i++)
        if (shots->begin[i + 1] <= shots->begin[i])
            return clsi_fail(error, CLS_DATA, "trajectory %zu has no rows", i);
    for (size_t i = 0; shots->n && i < shots->begin[shots->n] * steps->nz; i++)
        measured += !isnan(shots->state[i]);
    if (!measured)
        return clsi_fail(error, CLS_DATA, "nothing was measured: no number to compare with");
    contest c = {.s = steps,
                 .theta = theta          ? theta
                          : steps->model ? steps->model->theta
                                         : NULL,
                 .starts = starts,
                 .shots = shots,
                 .substeps = shots->substeps ? shots->substeps : 1,
                 .losses = clsi_calloc(groups, sizeof(double)),
                 .theta_bars = theta_bar ? clsi_calloc(groups * P + 1, sizeof(double)) : NULL,
                 .starts_bar = starts_bar,
                 .failed = shots->n};
    cls_status status = c.losses && (!theta_bar || c.theta_bars) ? CLS_OK : clsi_no_memory(error);
    if (!status) status = shoot_all(&c, groups, threads, error);
    if (!status) {
        double scale = 1 / (double)measured;
        *loss = 0;
        for (size_t g = 0; g < groups; g++) *loss += c.losses[g];
        *loss *= scale;
        if (theta_bar) add_up(groups, P, c.theta_bars, theta_bar);
        for (size_t j = 0; theta_bar && j < P; j++) theta_bar[j] *= scale;
        for (size_t j = 0; starts_bar && j < shots->n * steps->nz; j++) starts_bar[j] *= scale;
    }
    free(c.losses);
    free(c.theta_bars);
    return status;
}
