/* Observed motions: steps of the scheme between the times of a recording, outputs there, and the
 * derivatives of the outputs in parameters and start.
 *
 * Forward sensitivities: with dz1 = B dz0 + A dtheta of each step (simulate/sensitive.h),
 *
 *     S_k+1 = B S_k + [A | 0],  S_0 = [0 | 1],     dy = (y_theta | 0) + y_z S.
 *
 * The motions are made first, step by step, several side by side in the lanes of vectors; then the
 * matrices of the steps of each, many at a time. It costs (n_theta + nz) nz^2 operations a step beside
 * those of the step. */
#include "learn/recording/observe.h"
#include "base/base.h"
#include "base/vectors.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- compiled ---- */

static cls_status find_outputs(const cls_system *s, size_t ny, const char *const *channel,
                               cls_node *y, cls_error *error) {
    for (size_t c = 0; c < ny; c++)
        if ((y[c] = clsi_system_column_node(s, channel[c])) == CLS_NO_NODE)
            return clsi_fail(error, CLS_USAGE, "the column '%s' has no formula", channel[c]);
    return CLS_OK;
}

static cls_status compile(clsi_observer *o, const cls_node *theta, const char *const *channel,
                          cls_error *error) {
    const cls_system *s = o->system;
    size_t nz = o->nz, P = o->n_theta, ny = o->ny, n_in = 1 + nz + P + s->nu,
           n_out = ny * (1 + nz + P);
    cls_node *inputs = clsi_calloc(n_in + n_out + ny * (nz + P), sizeof *inputs);
    if (!inputs) return clsi_no_memory(error);
    cls_node *out = inputs + n_in, *J = out + n_out;
    inputs[0] = s->t;
    memcpy(inputs + 1, s->form->z, nz * sizeof *inputs);
    if (P) memcpy(inputs + 1 + nz, theta, P * sizeof *inputs);
    if (s->nu) memcpy(inputs + 1 + nz + P, s->u, s->nu * sizeof *inputs);
    cls_status status = find_outputs(s, ny, channel, out, error);
    if (status == CLS_OK) status = cls_jacobian(s->g, ny, out, nz + P, inputs + 1, J);
    for (size_t c = 0; c < ny && status == CLS_OK; c++) {
        memcpy(out + ny + c * nz, J + c * (nz + P), nz * sizeof *out);
        memcpy(out + ny + ny * nz + c * P, J + c * (nz + P) + nz, P * sizeof *out);
    }
    if (status != CLS_OK) (void)cls_graph_status(s->g, error);
    if (status == CLS_OK)
        status = cls_program_create(s->g, n_in, inputs, ny, out, &o->output, error);
    if (status == CLS_OK)
        status = cls_program_create(s->g, n_in, inputs, n_out, out, &o->slopes, error);
    free(inputs);
    return status;
}

cls_status clsi_observer_create(const cls_system *s, const char *scheme, size_t n_theta,
                                const cls_node *theta, size_t ny, const char *const *channel,
                                clsi_observer **out, cls_error *error) {
    clsi_observer *o = *out = clsi_calloc(1, sizeof *o);
    if (!o) return clsi_no_memory(error);
    *o = (clsi_observer){.system = s,
                         .scheme = scheme,
                         .nz = s->form->nz,
                         .n_theta = n_theta,
                         .ny = ny,
                         .nu = s->nu,
                         .most_step = INFINITY};
    o->theta = clsi_calloc(n_theta + 1, sizeof *o->theta);
    if (o->theta && n_theta) memcpy(o->theta, theta, n_theta * sizeof *theta);
    cls_status status = o->theta ? clsi_sensitive_create(s, scheme, n_theta, theta, &o->step, error)
                                 : clsi_no_memory(error);
    if (status == CLS_OK) status = compile(o, theta, channel, error);
    if (status != CLS_OK) clsi_observer_free(out);
    return status;
}

void clsi_observer_free(clsi_observer **observer) {
    clsi_observer *o = *observer;
    if (!o) return;
    clsi_sensitive_free(&o->step);
    cls_program_free(&o->output);
    cls_program_free(&o->slopes);
    free(o->theta);
    free(o);
    *observer = NULL;
}

/* ---- scratch ---- */

/* One motion. */
typedef struct lane {
    double *records;   /* (steps, record size) */
    size_t *row_begin; /* (rows + 1): steps made before the row */
    double *states;    /* (rows, nz) */
    size_t steps_capacity, rows_capacity, begin_capacity;
    /* while it is made */
    size_t row, part, parts, stage, steps; /* row that is gone to, its step of so many, its stage */
    double t, *z;
} lane;

struct clsi_track {
    const clsi_observer *o;
    clsi_stride *alone, *together; /* for one motion, for several */
    lane lanes[CLSI_LANES];
    double *in, *values, *work_output, *work_slopes; /* of the outputs */
    double *S, *next;                                /* (nz, P + nz) */
    double *B, *L, *A; /* (CLSI_LANES, nz, nz), (.., nz, k), (.., nz, P) */
    double *mu;        /* (CLSI_LANES, nz) */
    double *block;
};

static double *carve(double **at, size_t n) {
    double *here = *at;
    *at += n;
    return here;
}

cls_status clsi_track_create(const clsi_observer *o, clsi_track **out, cls_error *error) {
    clsi_track *k = *out = clsi_calloc(1, sizeof *k);
    if (!k) return clsi_no_memory(error);
    size_t nz = o->nz, P = o->n_theta, all = P + nz, u = o->step->k;
    size_t w1 = cls_program_work_size(o->output), w2 = cls_program_work_size(o->slopes);
    k->o = o;
    k->block = clsi_calloc(1 + all + o->nu + o->ny * (1 + all) + w1 + w2 + 2 * nz * all +
                               CLSI_LANES * nz * (nz + u + P + 1) + 1,
                           sizeof(double));
    cls_status status =
        k->block ? clsi_stride_create(o->step, 1, &k->alone, error) : clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_stride_create(o->step, 0, &k->together, error);
    if (status != CLS_OK) {
        clsi_track_free(out);
        return status;
    }
    double *at = k->block;
    k->in = carve(&at, 1 + all + o->nu);
    k->values = carve(&at, o->ny * (1 + all));
    k->work_output = carve(&at, w1);
    k->work_slopes = carve(&at, w2);
    k->S = carve(&at, nz * all);
    k->next = carve(&at, nz * all);
    k->B = carve(&at, CLSI_LANES * nz * nz);
    k->L = carve(&at, CLSI_LANES * nz * u);
    k->A = carve(&at, CLSI_LANES * nz * P);
    k->mu = carve(&at, CLSI_LANES * nz);
    cls_program_prepare(o->output, k->work_output);
    cls_program_prepare(o->slopes, k->work_slopes);
    return CLS_OK;
}

void clsi_track_free(clsi_track **track) {
    clsi_track *k = *track;
    if (!k) return;
    clsi_stride_free(&k->alone);
    clsi_stride_free(&k->together);
    for (size_t i = 0; i < CLSI_LANES; i++) {
        free(k->lanes[i].records);
        free(k->lanes[i].row_begin);
        free(k->lanes[i].states);
    }
    free(k->block);
    free(k);
    *track = NULL;
}

/* ---- the motion ---- */

static size_t divisions(const clsi_observer *o, double interval) {
    if (!(interval > 0)) return 0;
    double parts = ceil(interval / o->most_step * (1 - 1e-9));
    return parts >= 1 ? (size_t)parts : 1;
}

static int reserve(const clsi_observer *o, lane *l, const clsi_journey *j) {
    size_t size = clsi_record_size(o->step) * sizeof(double), steps = 1;
    for (size_t i = 1; i < j->n; i++)
        steps += divisions(o, j->time[i] - j->time[i - 1]) * o->step->n_stages;
    return clsi_grow(&l->records, &l->steps_capacity, steps, size) &&
           clsi_grow(&l->states, &l->rows_capacity, j->n, o->nz * sizeof(double)) &&
           clsi_grow(&l->row_begin, &l->begin_capacity, j->n + 1, sizeof *l->row_begin);
}

/* The next row with an interval before it; rows of the same time have the same state. */
static void next_row(const clsi_observer *o, lane *l, const clsi_journey *j) {
    while (++l->row < j->n) {
        l->row_begin[l->row] = l->steps;
        l->z = l->states + l->row * o->nz;
        memcpy(l->z, l->z - o->nz, o->nz * sizeof *l->z);
        l->parts = divisions(o, j->time[l->row] - j->time[l->row - 1]);
        l->part = l->stage = 0;
        l->t = j->time[l->row - 1];
        if (l->parts) return;
    }
}

static int begin_lane(const clsi_observer *o, lane *l, const clsi_journey *j) {
    if (j->n == 0 || !reserve(o, l, j)) return 0;
    l->row = l->steps = l->row_begin[0] = 0;
    memcpy(l->states, j->z0, o->nz * sizeof *l->states);
    next_row(o, l, j);
    return 1;
}

/* The record of the next stage of a step; the whole step goes from part to part of the interval. */
static double *next_record(const clsi_observer *o, lane *l, const clsi_journey *j) {
    size_t nz = o->nz;
    double interval = j->time[l->row] - j->time[l->row - 1], h = interval / (double)l->parts;
    double *record = l->records + l->steps * clsi_record_size(o->step);
    double own = h * o->step->stage[l->stage];
    if (l->stage == 0) l->t = j->time[l->row - 1] + (double)l->part * h;
    memcpy(record, l->z, nz * sizeof *record);
    record[nz] = l->t;
    record[nz + 1] = own;
    if (j->signal) clsi_signal_over(j->signal, l->t, own, record + nz + 2, record + nz + 2 + o->nu);
    return record;
}

static void step_made(const clsi_observer *o, lane *l, const clsi_journey *j) {
    l->t += l->records[l->steps * clsi_record_size(o->step) + o->nz + 1];
    l->steps++;
    if (++l->stage < o->step->n_stages) return;
    l->stage = 0;
    if (++l->part < l->parts) return;
    l->row_begin[l->row] = l->steps;
    next_row(o, l, j);
}

static int walk(clsi_track *k, size_t n, const clsi_journey *list) {
    const clsi_observer *o = k->o;
    clsi_stride *stride = n == 1 ? k->alone : k->together;
    for (size_t i = 0; i < n; i++)
        if (!begin_lane(o, &k->lanes[i], &list[i])) return 0;
    for (;;) {
        double *record[CLSI_LANES], *next[CLSI_LANES];
        size_t which[CLSI_LANES], busy = 0;
        int warm[CLSI_LANES] = {0}, fine[CLSI_LANES];
        for (size_t i = 0; i < n; i++) {
            lane *l = &k->lanes[i];
            if (l->row >= list[i].n) continue;
            which[busy] = i;
            record[busy] = next_record(o, l, &list[i]);
            next[busy++] = l->z;
        }
        if (!busy) return 1;
        clsi_stride_step(stride, busy, record, warm, next, fine);
        for (size_t i = 0; i < busy; i++) {
            if (!fine[i]) return 0;
            step_made(o, &k->lanes[which[i]], &list[which[i]]);
        }
    }
}

/* ---- outputs ---- */

static void set_inputs(clsi_track *k, const double *theta, const clsi_signal *signal, double t,
                       const double *z) {
    k->in[0] = t;
    memcpy(k->in + 1, z, k->o->nz * sizeof *z);
    if (k->o->n_theta) memcpy(k->in + 1 + k->o->nz, theta, k->o->n_theta * sizeof *theta);
    if (signal) clsi_signal_at(signal, t, k->in + 1 + k->o->nz + k->o->n_theta);
}

static int put_outputs(clsi_track *k, const double *theta, const lane *l, const clsi_journey *j) {
    int finite = 1;
    size_t ny = k->o->ny;
    for (size_t i = 0; i < j->n; i++) {
        set_inputs(k, theta, j->signal, j->time[i], l->states + i * k->o->nz);
        cls_program_run(k->o->output, k->work_output, k->in, j->y + i * ny);
        for (size_t c = 0; c < ny; c++) finite &= isfinite(j->y[i * ny + c]) != 0;
    }
    return finite;
}

/* ---- derivatives ---- */

/* B and A of the records [first, first + n). */
static int make_matrices(clsi_track *k, const lane *l, size_t first, size_t n) {
    const clsi_observer *o = k->o;
    size_t nz = o->nz, P = o->n_theta, u = o->step->k, size = clsi_record_size(o->step);
    const double *record[CLSI_LANES], *lambda[CLSI_LANES], *mu[CLSI_LANES];
    double *B[CLSI_LANES], *L[CLSI_LANES];
    for (size_t i = 0; i < n; i++) {
        record[i] = l->records + (first + i) * size;
        B[i] = k->B + i * nz * nz;
        L[i] = k->L + i * nz * u;
        mu[i] = k->mu + i * nz;
    }
    if (!clsi_stride_tangent(k->alone, n, record, B, L)) return 0;
    for (size_t e = 0; e < nz && P; e++) {
        memset(k->mu, 0, CLSI_LANES * nz * sizeof *k->mu);
        for (size_t i = 0; i < n; i++) {
            k->mu[i * nz + e] = 1;
            lambda[i] = L[i] + e * u;
        }
        clsi_stride_reverse(k->alone, n, record, lambda, mu);
        for (size_t i = 0; i < n; i++) {
            double *row = k->A + (i * nz + e) * P;
            memset(row, 0, P * sizeof *row);
            clsi_stride_slopes(k->alone, i, row);
        }
    }
    return 1;
}

/* to = B S + [A | 0], with S (nz, P + nz) */
CLONES static void multiply(size_t nz, size_t P, const double *B, const double *A, const double *S,
                            double *to) {
    size_t all = P + nz;
    for (size_t e = 0; e < nz; e++) {
        double *row = to + e * all;
        for (size_t j = 0; j < all; j++) row[j] = j < P ? A[e * P + j] : 0;
        for (size_t f = 0; f < nz; f++) {
            double b = B[e * nz + f];
            const double *from = S + f * all;
            for (size_t j = 0; j < all && b != 0; j++) row[j] += b * from[j];
        }
    }
}

static void propagate(clsi_track *k, size_t sample) {
    size_t nz = k->o->nz, P = k->o->n_theta;
    multiply(nz, P, k->B + sample * nz * nz, k->A + sample * nz * P, k->S, k->next);
    double *swap = k->S;
    k->S = k->next;
    k->next = swap;
}

static void put_slopes(clsi_track *k, const double *theta, const clsi_signal *signal, double t,
                       const double *z, double *J) {
    const clsi_observer *o = k->o;
    size_t nz = o->nz, P = o->n_theta, all = P + nz;
    set_inputs(k, theta, signal, t, z);
    cls_program_run(o->slopes, k->work_slopes, k->in, k->values);
    const double *y_z = k->values + o->ny, *y_theta = y_z + o->ny * nz;
    for (size_t c = 0; c < o->ny; c++) {
        double *row = J + c * all;
        for (size_t j = 0; j < all; j++) row[j] = j < P ? y_theta[c * P + j] : 0;
        for (size_t e = 0; e < nz; e++) {
            double slope = y_z[c * nz + e];
            for (size_t j = 0; j < all && slope != 0; j++) row[j] += slope * k->S[e * all + j];
        }
    }
}

static int put_jacobian(clsi_track *k, const double *theta, const lane *l, const clsi_journey *j) {
    size_t nz = k->o->nz, P = k->o->n_theta, all = P + nz, made = 0, begin = 0;
    size_t steps = l->row_begin[j->n - 1];
    memset(k->S, 0, nz * all * sizeof *k->S);
    for (size_t e = 0; e < nz; e++) k->S[e * all + P + e] = 1;
    for (size_t i = 0, at = 0; i < j->n; i++) {
        for (; at < l->row_begin[i]; at++) {
            if (at == made) {
                size_t more = steps - at < CLSI_LANES ? steps - at : CLSI_LANES;
                if (!make_matrices(k, l, at, more)) return 0;
                begin = at;
                made = at + more;
            }
            propagate(k, at - begin);
        }
        put_slopes(k, theta, j->signal, j->time[i], l->states + i * nz, j->J + i * k->o->ny * all);
    }
    return 1;
}

int clsi_track_run_many(clsi_track *k, const double *theta, size_t n, const clsi_journey *list) {
    size_t nz = k->o->nz;
    clsi_stride_set(k->alone, theta);
    if (n > 1) clsi_stride_set(k->together, theta);
    if (!walk(k, n, list)) return 0;
    for (size_t i = 0; i < n; i++) {
        const clsi_journey *j = &list[i];
        const lane *l = &k->lanes[i];
        if (!put_outputs(k, theta, l, j)) return 0;
        if (j->end) memcpy(j->end, l->states + (j->n - 1) * nz, nz * sizeof *j->end);
        if (j->J && !put_jacobian(k, theta, l, j)) return 0;
    }
    return 1;
}

int clsi_track_run(clsi_track *k, const double *theta, const clsi_signal *signal, const double *z0,
                   size_t n, const double *time, double *y, double *J, double *end) {
    clsi_journey j = {.signal = signal, .z0 = z0, .time = time, .n = n, .y = y, .J = J, .end = end};
    return clsi_track_run_many(k, theta, 1, &j);
}
