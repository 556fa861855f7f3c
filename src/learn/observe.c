/* Observed motions: steps of the scheme between the times of a recording, outputs there, and the
 * derivatives of the outputs in parameters and start.
 *
 * Forward sensitivities: with dz1 = B dz0 + A dtheta of each step (simulate/sensitive.h),
 *
 *     S_k+1 = B S_k + [A | 0],  S_0 = [0 | 1],     dy = (y_theta | 0) + y_z S.
 *
 * The motion is made first, step by step; then the matrices of all its steps, many at a time. It
 * costs (n_theta + nz) nz^2 operations a step beside those of the step. */
#include "learn/observe.h"
#include "base/base.h"
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
                         .nz = s->form->nz,
                         .n_theta = n_theta,
                         .ny = ny,
                         .nu = s->nu,
                         .most_step = INFINITY};
    cls_status status = clsi_sensitive_create(s, scheme, n_theta, theta, &o->step, error);
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
    free(o);
    *observer = NULL;
}

/* ---- scratch ---- */

struct clsi_track {
    const clsi_observer *o;
    const clsi_signal *signal; /* of this run */
    clsi_stride *stride;
    double *records;   /* (steps, record size) */
    size_t *row_begin; /* (rows + 1): steps made before the row */
    double *states;    /* (rows, nz) */
    size_t steps_capacity, rows_capacity, begin_capacity;
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
        k->block ? clsi_stride_create(o->step, 1, &k->stride, error) : clsi_no_memory(error);
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
    clsi_stride_free(&k->stride);
    free(k->records);
    free(k->row_begin);
    free(k->states);
    free(k->block);
    free(k);
    *track = NULL;
}

/* ---- the motion ---- */

static int reserve(clsi_track *k, size_t steps, size_t rows) {
    size_t size = clsi_record_size(k->o->step) * sizeof(double);
    return clsi_grow(&k->records, &k->steps_capacity, steps, size) &&
           clsi_grow(&k->states, &k->rows_capacity, rows, k->o->nz * sizeof(double)) &&
           clsi_grow(&k->row_begin, &k->begin_capacity, rows + 1, sizeof *k->row_begin);
}

/* One step of the scheme, stage by stage, from z (nz) to z; its records are kept. */
static int advance(clsi_track *k, double t, double h, double *z, size_t *steps) {
    const clsi_sensitive *s = k->o->step;
    size_t size = clsi_record_size(s), nz = k->o->nz;
    for (size_t i = 0; i < s->n_stages; i++) {
        double *record = k->records + *steps * size, own = h * s->stage[i];
        int fine, warm = 0;
        memcpy(record, z, nz * sizeof *z);
        record[nz] = t;
        record[nz + 1] = own;
        if (k->signal)
            clsi_signal_over(k->signal, t, own, record + nz + 2, record + nz + 2 + k->o->nu);
        clsi_stride_step(k->stride, 1, &record, &warm, &z, &fine);
        if (!fine) return 0;
        t += own;
        ++*steps;
    }
    return 1;
}

static size_t divisions(const clsi_observer *o, double interval) {
    if (!(interval > 0)) return 0;
    double parts = ceil(interval / o->most_step * (1 - 1e-9));
    return parts >= 1 ? (size_t)parts : 1;
}

static int walk(clsi_track *k, const double *z0, size_t n, const double *time) {
    const clsi_observer *o = k->o;
    size_t nz = o->nz, steps = 0;
    for (size_t i = 0; i < n; i++) {
        size_t parts = i ? divisions(o, time[i] - time[i - 1]) : 0;
        if (!reserve(k, steps + parts * o->step->n_stages + 1, i + 1)) return 0;
        double *z = k->states + i * nz;
        memcpy(z, i ? z - nz : z0, nz * sizeof *z);
        for (size_t p = 0; p < parts; p++) {
            double h = (time[i] - time[i - 1]) / (double)parts;
            if (!advance(k, time[i - 1] + (double)p * h, h, z, &steps)) return 0;
        }
        k->row_begin[i] = steps;
    }
    return 1;
}

/* ---- outputs ---- */

static void set_inputs(clsi_track *k, const double *theta, double t, const double *z) {
    k->in[0] = t;
    memcpy(k->in + 1, z, k->o->nz * sizeof *z);
    if (k->o->n_theta) memcpy(k->in + 1 + k->o->nz, theta, k->o->n_theta * sizeof *theta);
    if (k->signal) clsi_signal_at(k->signal, t, k->in + 1 + k->o->nz + k->o->n_theta);
}

static int put_outputs(clsi_track *k, const double *theta, size_t n, const double *time,
                       double *y) {
    int finite = 1;
    for (size_t i = 0; i < n; i++) {
        set_inputs(k, theta, time[i], k->states + i * k->o->nz);
        cls_program_run(k->o->output, k->work_output, k->in, y + i * k->o->ny);
        for (size_t c = 0; c < k->o->ny; c++) finite &= isfinite(y[i * k->o->ny + c]) != 0;
    }
    return finite;
}

/* ---- derivatives ---- */

/* B and A of the records [first, first + n). */
static int make_matrices(clsi_track *k, size_t first, size_t n) {
    const clsi_observer *o = k->o;
    size_t nz = o->nz, P = o->n_theta, u = o->step->k, size = clsi_record_size(o->step);
    const double *record[CLSI_LANES], *lambda[CLSI_LANES], *mu[CLSI_LANES];
    double *B[CLSI_LANES], *L[CLSI_LANES];
    for (size_t i = 0; i < n; i++) {
        record[i] = k->records + (first + i) * size;
        B[i] = k->B + i * nz * nz;
        L[i] = k->L + i * nz * u;
        mu[i] = k->mu + i * nz;
    }
    if (!clsi_stride_tangent(k->stride, n, record, B, L)) return 0;
    for (size_t e = 0; e < nz && P; e++) {
        memset(k->mu, 0, CLSI_LANES * nz * sizeof *k->mu);
        for (size_t i = 0; i < n; i++) {
            k->mu[i * nz + e] = 1;
            lambda[i] = L[i] + e * u;
        }
        clsi_stride_reverse(k->stride, n, record, lambda, mu);
        for (size_t j = 0; j < P; j++) {
            const double *result = clsi_stride_result(k->stride, j);
            for (size_t i = 0; i < n; i++) k->A[(i * nz + e) * P + j] = result[i];
        }
    }
    return 1;
}

/* S = B S + [A | 0] */
static void propagate(clsi_track *k, size_t lane) {
    size_t nz = k->o->nz, P = k->o->n_theta, all = P + nz;
    const double *B = k->B + lane * nz * nz, *A = k->A + lane * nz * P;
    for (size_t e = 0; e < nz; e++) {
        double *row = k->next + e * all;
        for (size_t j = 0; j < all; j++) row[j] = j < P ? A[e * P + j] : 0;
        for (size_t f = 0; f < nz; f++) {
            double b = B[e * nz + f];
            const double *from = k->S + f * all;
            for (size_t j = 0; j < all && b != 0; j++) row[j] += b * from[j];
        }
    }
    double *swap = k->S;
    k->S = k->next;
    k->next = swap;
}

static void put_slopes(clsi_track *k, const double *theta, double t, const double *z, double *J) {
    const clsi_observer *o = k->o;
    size_t nz = o->nz, P = o->n_theta, all = P + nz;
    set_inputs(k, theta, t, z);
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

static int put_jacobian(clsi_track *k, const double *theta, size_t n, const double *time,
                        double *J) {
    size_t nz = k->o->nz, P = k->o->n_theta, all = P + nz, made = 0, begin = 0;
    size_t steps = k->row_begin[n - 1];
    memset(k->S, 0, nz * all * sizeof *k->S);
    for (size_t e = 0; e < nz; e++) k->S[e * all + P + e] = 1;
    for (size_t i = 0, at = 0; i < n; i++) {
        for (; at < k->row_begin[i]; at++) {
            if (at == made) {
                size_t more = steps - at < CLSI_LANES ? steps - at : CLSI_LANES;
                if (!make_matrices(k, at, more)) return 0;
                begin = at;
                made = at + more;
            }
            propagate(k, at - begin);
        }
        put_slopes(k, theta, time[i], k->states + i * nz, J + i * k->o->ny * all);
    }
    return 1;
}

int clsi_track_run(clsi_track *k, const double *theta, const clsi_signal *signal, const double *z0,
                   size_t n, const double *time, double *y, double *J, double *end) {
    k->signal = signal;
    clsi_stride_set(k->stride, theta);
    if (n == 0 || !walk(k, z0, n, time) || !put_outputs(k, theta, n, time, y)) return 0;
    if (end) memcpy(end, k->states + (n - 1) * k->o->nz, k->o->nz * sizeof *end);
    return !J || put_jacobian(k, theta, n, time, J);
}
