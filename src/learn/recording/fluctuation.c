/* Parameters from motions with thermal noise, by the likelihood of what the momenta do.
 *
 * From row to row, h apart, with f the forces without the frictions that have noise, v = E_p:
 *
 *     p0' = p0 + h/2 f(z0),  p1' = p1 - h/2 f(z1)
 *     rho = p1' - p0' + h Gamma (v(p0') + v(p1'))/2,     normal, covariance Q = 2 h sum kB T Gamma
 *
 * the midpoint rule of the Ornstein-Uhlenbeck process, whose stationary distribution is exact; Gamma and
 * masses are means of both rows. A row costs
 *
 *     rho.Q^-1 rho/2 + log det Q/2 - log det(1 + h Gamma E_pp/2)
 *
 * and the sum is minimised: a regression of the changes of momenta, weighted by the noise that the
 * parameters themselves imply. Friction shows twice, in the drift and in the size of the noise. Scores
 * are central differences, steps come from their outer products (Berndt, Hall, Hall and Hausman), errors
 * too. Wrong by O((h Gamma/m)^2): rows should be closer than a tenth of m/Gamma. All states are needed. */
#include "learn/recording/fluctuation.h"
#include "base/base.h"
#include "scheme/scheme.h"
#include "system/dense.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ITERATIONS = 200 };

typedef struct work {
    const clsi_points *data;
    clsi_noise *noise;
    cls_program *program; /* z, t, theta -> E_pp, v, then Gamma and T of each reservoir, f */
    size_t n, nz, P, n_out, first_momentum;
    double *in, *out;   /* (nz + 1 + P, points), (n_out, points) */
    double *A, *B, *Q;  /* (n, n) each */
    double *rho, *x;    /* (n) */
    double *score, *up; /* (P, rows), (rows) */
    double *H, *step;   /* (P, P), (P) */
    size_t *pivot;
} work;

/* ---- compiling ---- */

static cls_status compile(work *w, cls_system *s, const cls_node *theta, cls_error *error) {
    size_t nz = w->nz = s->form->nz, n = w->n = w->noise->n;
    const clsi_form *f = s->form;
    const clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t, NULL, 1};
    cls_node *room = clsi_calloc(clsi_flows_size(s) + s->n, sizeof *room), *against = NULL;
    cls_node *in = clsi_calloc(nz + 1 + w->P, sizeof *in);
    cls_node *out = clsi_calloc(w->noise->n_nodes + n, sizeof *out);
    cls_status status = room && in && out ? CLS_OK : clsi_no_memory(error);
    clsi_flows flows;
    if (status == CLS_OK) {
        against = room + clsi_flows_size(s);
        if (clsi_flows_of(s, &at, NULL, room, &flows) != CLS_OK ||
            clsi_brackets_at(s, &s->bound, &at, f->energy_q, NULL, against) != CLS_OK)
            status = clsi_no_memory(error);
    }
    if (status == CLS_OK) {
        memcpy(in, f->z, nz * sizeof *in);
        in[nz] = s->t;
        memcpy(in + nz + 1, theta, w->P * sizeof *in);
        memcpy(out, w->noise->inverse_mass, w->noise->n_nodes * sizeof *out);
        w->n_out = w->noise->n_nodes + n;
        for (size_t a = 0; a < n; a++) {
            size_t j = w->noise->momentum[a];
            out[w->noise->n_nodes + a] = cls_sub(s->g, flows.force[j], against[j]);
        }
        status = cls_graph_status(s->g, error);
    }
    if (status == CLS_OK)
        status = cls_program_create(s->g, nz + 1 + w->P, in, w->n_out, out, &w->program, error);
    free(room);
    free(in);
    free(out);
    return status;
}

static cls_status allocate(work *w, cls_error *error) {
    size_t n = w->n, n2 = n * n, points = w->data->n_data, rows = w->data->n_training;
    size_t P = w->P;
    w->in = clsi_calloc((w->nz + 1 + P) * points, sizeof *w->in);
    w->out = clsi_calloc(w->n_out * points, sizeof *w->out);
    w->A = clsi_calloc(3 * n2 + 2 * n, sizeof *w->A);
    w->score = clsi_calloc((P + 1) * rows, sizeof *w->score);
    w->H = clsi_calloc(P * P + P, sizeof *w->H);
    w->pivot = clsi_calloc(n > P ? n : P, sizeof *w->pivot);
    if (!w->in || !w->out || !w->A || !w->score || !w->H || !w->pivot) return clsi_no_memory(error);
    w->B = w->A + n2;
    w->Q = w->B + n2;
    w->rho = w->Q + n2;
    w->x = w->rho + n;
    w->up = w->score + P * rows;
    w->step = w->H + P * P;
    for (size_t k = 0; k < w->nz; k++)
        memcpy(w->in + k * points, w->data->z + k * w->data->n, points * sizeof *w->in);
    memcpy(w->in + w->nz * points, w->data->time, points * sizeof *w->in);
    return CLS_OK;
}

static void clear(work *w) {
    cls_program_free(&w->program);
    clsi_noise_free(&w->noise);
    free(w->in);
    free(w->out);
    free(w->A);
    free(w->score);
    free(w->H);
    free(w->pivot);
}

/* ---- what a row costs ---- */

static double at(const work *w, size_t k, size_t i) {
    return w->out[k * w->data->n_data + i];
}

static double mean(const work *w, size_t k, size_t i) {
    return 0.5 * (at(w, k, i) + at(w, k, i + 1));
}

/* log |det| of a matrix, which becomes its factors. */
static double log_det(size_t n, double *a, size_t *pivot) {
    double sum = 0;
    if (clsi_lu_factor(n, a, pivot)) return NAN;
    for (size_t k = 0; k < n; k++) sum += log(fabs(a[k * (n + 1)]));
    return sum;
}

/* Gamma and Q, means of both rows. */
static void frictions(work *w, size_t i, double h) {
    size_t n2 = w->n * w->n;
    memset(w->A, 0, n2 * sizeof *w->A);
    memset(w->Q, 0, n2 * sizeof *w->Q);
    for (size_t k = 0; k < w->noise->n_baths; k++) {
        size_t gamma = n2 + w->n + k * (n2 + 1);
        double kT = w->noise->boltzmann[k] * mean(w, gamma + n2, i);
        for (size_t e = 0; e < n2; e++) {
            w->A[e] += mean(w, gamma + e, i);
            w->Q[e] += 2 * h * kT * mean(w, gamma + e, i);
        }
    }
}

/* (v(p0') + v(p1'))/2 of momentum b. */
static double speed(const work *w, size_t b, size_t i, double h) {
    size_t n = w->n, f = w->noise->n_nodes;
    double v = mean(w, n * n + b, i);
    for (size_t c = 0; c < n; c++)
        v +=
            0.25 * h *
            (at(w, b * n + c, i) * at(w, f + c, i) - at(w, b * n + c, i + 1) * at(w, f + c, i + 1));
    return v;
}

static double cost_of(work *w, size_t i) {
    size_t n = w->n, f = w->noise->n_nodes;
    double h = w->data->time[i + 1] - w->data->time[i], sum = 0;
    frictions(w, i, h);
    for (size_t a = 0; a < n; a++) {
        const double *p = w->data->z + (w->first_momentum + w->noise->momentum[a]) * w->data->n;
        w->rho[a] = p[i + 1] - p[i] - h * mean(w, f + a, i);
        for (size_t b = 0; b < n; b++) {
            double product = 0;
            w->rho[a] += h * w->A[a * n + b] * speed(w, b, i, h);
            for (size_t c = 0; c < n; c++) product += w->A[a * n + c] * mean(w, c * n + b, i);
            w->B[a * n + b] = (a == b) + 0.5 * h * product;
        }
        w->x[a] = w->rho[a];
    }
    double spread = log_det(n, w->Q, w->pivot);
    if (isnan(spread)) return NAN;
    clsi_lu_solve(n, w->Q, w->pivot, w->x);
    for (size_t a = 0; a < n; a++) sum += w->rho[a] * w->x[a];
    return sum >= 0 ? 0.5 * (sum + spread) - log_det(n, w->B, w->pivot) : NAN;
}

/* The cost of every row at these values, and their sum; INFINITY where one is none. */
static double costs(work *w, const double *values, double *cost) {
    size_t points = w->data->n_data;
    double sum = 0;
    for (size_t k = 0; k < w->P; k++)
        for (size_t i = 0; i < points; i++) w->in[(w->nz + 1 + k) * points + i] = values[k];
    if (cls_program_run_many(w->program, points, points, w->in, w->out) != CLS_OK) return NAN;
    for (size_t r = 0; r < w->data->n_training; r++)
        sum += cost[r] = cost_of(w, w->data->window[r]);
    return isfinite(sum) ? sum : INFINITY;
}

/* ---- minimising ---- */

static double size_of(double value) {
    return fmax(fabs(value), 1e-3);
}

/* Scores of all rows and the sum of their outer products; 0: not finite here. */
static int look(work *w, double *values, double *gradient) {
    size_t P = w->P, rows = w->data->n_training;
    for (size_t k = 0; k < P; k++) {
        double kept = values[k], d = 1e-5 * size_of(kept), *score = w->score + k * rows;
        values[k] = kept + d;
        double above = costs(w, values, w->up);
        values[k] = kept - d;
        double below = costs(w, values, score);
        values[k] = kept;
        if (!isfinite(above) || !isfinite(below)) return 0;
        gradient[k] = 0;
        for (size_t r = 0; r < rows; r++) {
            score[r] = (w->up[r] - score[r]) / (2 * d);
            gradient[k] += score[r];
        }
    }
    for (size_t a = 0; a < P; a++)
        for (size_t b = 0; b < P; b++) {
            double sum = 0;
            for (size_t r = 0; r < rows; r++)
                sum += w->score[a * rows + r] * w->score[b * rows + r];
            w->H[a * P + b] = sum;
        }
    return 1;
}

/* Along the step, halved until the sum falls; 0: it does not. */
static int descend(work *w, const double *low, const double *high, double *values, double *sum,
                   double *trial) {
    for (double part = 1; part > 1e-9; part /= 2) {
        int moved = 0;
        for (size_t k = 0; k < w->P; k++) {
            double d = fmax(-0.5 * size_of(values[k]), fmin(0.5 * size_of(values[k]), w->step[k]));
            trial[k] = fmin(fmax(values[k] - part * d, low[k]), high[k]);
            moved |= fabs(trial[k] - values[k]) > 1e-9 * size_of(values[k]);
        }
        double now = costs(w, trial, w->up);
        if (now < *sum) {
            memcpy(values, trial, w->P * sizeof *values);
            *sum = now;
            return moved;
        }
        if (!moved) return 0;
    }
    return 0;
}

/* The inverse of the outer products, with a scale of one for each parameter; rows that cannot be
 * inverted have no error. */
static void find_errors(work *w, double *errors, double *covariance, double *column) {
    size_t P = w->P;
    for (size_t a = 0; a < P; a++)
        if (!(w->H[a * (P + 1)] > 0)) w->H[a * (P + 1)] = 1e-300;
    for (size_t a = 0; a < P; a++) w->step[a] = sqrt(w->H[a * (P + 1)]);
    for (size_t a = 0; a < P; a++)
        for (size_t b = 0; b < P; b++) w->H[a * P + b] /= w->step[a] * w->step[b];
    int bad = clsi_lu_factor(P, w->H, w->pivot) || clsi_lu_quality(P, w->H) < 1e-12;
    for (size_t a = 0; a < P; a++) {
        for (size_t b = 0; b < P; b++) column[b] = a == b;
        if (!bad) clsi_lu_solve(P, w->H, w->pivot, column);
        for (size_t b = 0; b < P; b++)
            covariance[b * P + a] = bad ? INFINITY : column[b] / (w->step[a] * w->step[b]);
        errors[a] = w->step[a] > 1e-140 && !bad ? sqrt(covariance[a * (P + 1)]) : INFINITY;
    }
}

static cls_status minimise(work *w, const double *low, const double *high, double *values,
                           double *errors, double *covariance, clsi_fluctuation *info,
                           cls_error *error) {
    double sum = costs(w, values, w->up), *room = clsi_calloc(2 * w->P, sizeof *room);
    if (!room) return clsi_no_memory(error);
    if (!isfinite(sum)) {
        free(room);
        return clsi_fail(error, CLS_NUMERIC,
                         "no motion with noise is possible at the values to begin with: is the "
                         "friction there, and positive? Say where to begin (`= unknown near 0.5`)");
    }
    for (info->iterations = 0; info->iterations < MOST_ITERATIONS; info->iterations++) {
        if (!look(w, values, w->step)) break;
        double *H = covariance; /* factors for a while */
        memcpy(H, w->H, w->P * w->P * sizeof *H);
        for (size_t k = 0; k < w->P; k++) H[k * (w->P + 1)] *= 1 + 1e-10;
        if (clsi_lu_factor(w->P, H, w->pivot)) break;
        clsi_lu_solve(w->P, H, w->pivot, w->step);
        info->converged = !descend(w, low, high, values, &sum, room);
        if (info->converged) break;
    }
    if (look(w, values, w->step)) find_errors(w, errors, covariance, room);
    info->rows = w->data->n_training;
    info->cost = sum / (double)w->data->n_training;
    (void)costs(w, values, w->up);
    for (size_t r = 0; r < w->data->n_training; r++) {
        size_t i = w->data->window[r], n = w->n;
        double h = w->data->time[i + 1] - w->data->time[i];
        frictions(w, i, h);
        for (size_t a = 0; a < n; a++)
            info->fastest = fmax(info->fastest, h * w->A[a * (n + 1)] * at(w, a * (n + 1), i));
    }
    free(room);
    return CLS_OK;
}

cls_status clsi_fluctuation_fit(cls_system *open, const clsi_points *data, size_t P,
                                const cls_node *theta, const double *low, const double *high,
                                double *values, double *errors, double *covariance,
                                clsi_fluctuation *info, cls_error *error) {
    work w = {.data = data, .P = P, .first_momentum = open->nq};
    *info = (clsi_fluctuation){0};
    cls_status status = clsi_noise_create(open, &w.noise, error);
    if (status == CLS_OK) status = compile(&w, open, theta, error);
    if (status == CLS_OK) status = allocate(&w, error);
    if (status == CLS_OK) status = minimise(&w, low, high, values, errors, covariance, info, error);
    clear(&w);
    return status;
}
