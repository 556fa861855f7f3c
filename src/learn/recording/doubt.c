/* Standard errors of parameters found by multiple shooting.
 *
 * With rows J (starts eliminated), weighted residuals u and the information S = J^T J the estimate
 * moves by S^-1 J^T u, so that its covariance is
 *
 *     S^-1 Q S^-1,    Q = sum over rows t, s of J_t J_s^T cov(u_t, u_s).
 *
 * Residuals of real data are correlated: cov(u_t, u_s) = variance rho(t - s) in each channel, with
 * the autocorrelation rho of the autoregression of the residuals that Bayes' criterion chooses. A
 * slow error counts where the sensitivities are slow and hardly where they oscillate faster; the
 * factor 1 + 2 sum rho, which is the largest it can be, made 90 % intervals that contain 98 %.
 *
 * Beside it the scatter between blocks of the recording, Q = sum_b g_b g_b^T, g_b the score of block
 * b. It needs no model of the noise (it is what a block bootstrap converges to), but it is noisy
 * itself: the larger of two estimates is too large on average. So it counts where it is larger by
 * more than chance, which the 95 % quantile of its distribution says. Directions in which S is
 * singular have infinite errors.
 *
 * An ensemble fits the same windows to blocks that are drawn with replacement: rows count as often as
 * their block was drawn. Measured in tests/long/test_coverage.c and decision 46. */
#include "learn/shooting/multiple.h"
#include <clausius/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 24, MOST_ORDER = 4, MOST_LAG = 1000 };
static const double RCOND = 1e-10;
static const double BY_CHANCE =
    1.53; /* chi^2 with 23 degrees of freedom, over 23: 95 % are below */
static const double FORGOTTEN = 0.005; /* correlations below this are none */

/* ---- memory of residuals ---- */

/* Products of residuals `lag` rows apart, inside of windows. */
static double covariance_at(size_t n, const double *r, const size_t *which, size_t lag) {
    double sum = 0;
    for (size_t i = 0; i + lag < n; i++)
        if (which[i] == which[i + lag]) sum += r[i] * r[i + lag];
    return sum / (double)n;
}

/* The autocorrelation of n residuals in time order inside of the windows `which`, by the autoregression
 * that Bayes' criterion chooses: rho (most + 1), rho[0] = 1. Returns the last lag that counts. */
static size_t find_memory(size_t n, const double *r, const size_t *which, size_t most,
                          double *rho) {
    double c[MOST_ORDER + 1], a[MOST_ORDER + 1] = {0}, best[MOST_ORDER + 1] = {0};
    size_t order = 0;
    for (size_t l = 0; l <= MOST_ORDER; l++) c[l] = covariance_at(n, r, which, l);
    rho[0] = 1;
    if (n < 20 || !(c[0] > 0)) return 0;
    /* Levinson's recursion; each order has the variance that it leaves */
    double left = c[0], least = (double)n * log(left);
    for (size_t p = 1; p <= MOST_ORDER; p++) {
        double k = c[p], old[MOST_ORDER + 1];
        for (size_t i = 1; i < p; i++) k -= a[i] * c[p - i];
        k /= left;
        memcpy(old, a, sizeof a);
        for (size_t i = 1; i < p; i++) a[i] = old[i] - k * old[p - i];
        a[p] = k;
        left *= 1 - k * k;
        if (!(left > 1e-12 * c[0])) break;
        double bayes = (double)n * log(left) + (double)p * log((double)n);
        if (!(bayes < least)) continue;
        least = bayes;
        order = p;
        memcpy(best, a, sizeof a);
    }
    size_t last = 0;
    for (size_t l = 1; l <= most && order; l++) {
        rho[l] = l <= order ? c[l] / c[0] : 0;
        for (size_t i = 1; i <= order && l > order; i++) rho[l] += best[i] * rho[l - i];
        if (fabs(rho[l]) > FORGOTTEN) last = l;
        if (l > last + 2 * MOST_ORDER + 20) break;
    }
    return last;
}

/* ---- sums over rows ---- */

typedef struct doubting {
    clsi_multiple *m;
    size_t P;          /* parameters of the problem */
    double *rho;       /* (ny, MOST_LAG + 1) */
    size_t *last;      /* (ny) lags that count */
    double *Q;         /* (P, P): sum of rho J_t J_s^T, each channel times its variance */
    double *power;     /* (ny) mean squares of the weighted residuals */
    size_t fitted;     /* parameters that were */
    clsi_along *along; /* NULL: all directions */
} doubting;

/* Blocks are equal numbers of rows; they do not cross windows' ends by more than that. */
static size_t block_of(void *context, size_t w, size_t row) {
    const clsi_multiple *m = ((doubting *)context)->m;
    size_t at = m->piece[w].first + row / m->ny;
    return at * BLOCKS / m->data->n;
}

/* J rows of a channel smoothed by its memory, times themselves: K_t = sum_s rho(t - s) J_s. The prior of a
 * hidden start is off by about what it says: without its rows a rate that only the prior tells would
 * have no error. */
static void tell(void *context, size_t w, size_t n, size_t width, const double *J,
                 const double *r) {
    doubting *d = context;
    size_t P = d->P, ny = d->m->ny, rows = n / ny;
    (void)w;
    (void)r;
    for (size_t c = 0; c < ny; c++) {
        const double *rho = d->rho + c * (MOST_LAG + 1);
        for (size_t t = 0; t < rows; t++) {
            const double *a = J + (t * ny + c) * width;
            for (size_t l = 0; l <= d->last[c] && l <= t; l++) {
                const double *b = J + ((t - l) * ny + c) * width;
                double weight = d->power[c] * rho[l];
                for (size_t i = 0; i < P; i++)
                    for (size_t j = 0; j < P; j++) {
                        d->Q[i * P + j] += weight * a[i] * b[j];
                        if (l) d->Q[j * P + i] += weight * a[i] * b[j];
                    }
            }
        }
    }
    for (size_t e = 0; e < d->m->nz; e++) {
        const double *a = J + (n + e) * width;
        for (size_t i = 0; i < P; i++)
            for (size_t j = 0; j < P; j++) d->Q[i * P + j] += a[i] * a[j];
    }
}

/* The same along few directions. */
static void tell_along(void *context, size_t w, size_t n, size_t width, const double *J,
                       const double *r) {
    doubting *d = context;
    size_t P = d->m->n_theta, ny = d->m->ny, rows = n / ny;
    double *part = d->Q;
    (void)w;
    (void)r;
    for (size_t k = 0; k < d->along->n; k++) {
        const double *v = d->along->direction + k * P;
        for (size_t i = 0; i < n + d->m->nz; i++) {
            part[i] = 0;
            for (size_t j = 0; j < P; j++) part[i] += J[i * width + j] * v[j];
            if (i >= n) d->along->variance[k] += part[i] * part[i];
        }
        for (size_t i = 0; i < n; i++) {
            const double *rho = d->rho + i % ny * (MOST_LAG + 1);
            for (size_t l = 0; l <= d->last[i % ny] && l <= i / ny && i / ny < rows; l++)
                d->along->variance[k] +=
                    (l ? 2 : 1) * d->power[i % ny] * rho[l] * part[i] * part[i - l * ny];
        }
    }
}

static double degrees(const clsi_multiple *m, size_t fitted) {
    double rows = (double)clsi_multiple_values(m);
    double free = rows - (double)(fitted + m->n_pieces * m->nz);
    return free > 0.2 * rows ? rows / free : 5;
}

static int measure_memory(doubting *d, const double *theta) {
    clsi_multiple *m = d->m;
    double *list = clsi_calloc(m->data->n + 1, sizeof *list);
    size_t *which = clsi_calloc(m->data->n + 1, sizeof *which);
    int fine = list && which && clsi_multiple_simulate(m, theta);
    for (size_t c = 0; c < m->ny && fine; c++) {
        size_t n = clsi_multiple_residuals(m, c, list, which);
        double limit = 2 * m->sigma[c], sum = 0;
        for (size_t i = 0; i < n; i++) {
            list[i] = fmax(fmin(list[i], limit), -limit); /* as Huber's loss counts them */
            sum += list[i] * list[i] / (m->sigma[c] * m->sigma[c]);
        }
        d->power[c] = n ? sum / (double)n * degrees(m, d->fitted) : 1;
        d->last[c] = find_memory(n, list, which, MOST_LAG, d->rho + c * (MOST_LAG + 1));
    }
    free(list);
    free(which);
    return fine;
}

/* C Q C */
static void sandwich(size_t P, const double *C, const double *Q, double factor, double *out,
                     double *CQ) {
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++) {
            double sum = 0;
            for (size_t k = 0; k < P; k++) sum += C[i * P + k] * Q[k * P + j];
            CQ[i * P + j] = sum;
        }
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++) {
            double sum = 0;
            for (size_t k = 0; k < P; k++) sum += CQ[i * P + k] * C[k * P + j];
            out[i * P + j] = factor * sum;
        }
}

/* The covariance, with rows and columns of parameters that scatter more made as large as that. */
static void combine(size_t P, double *own, const double *scatter, double *grow) {
    for (size_t i = 0; i < P; i++) {
        double ratio = own[i * P + i] > 0 ? scatter[i * P + i] / own[i * P + i] : 1;
        grow[i] = ratio > BY_CHANCE ? sqrt(ratio) : 1;
    }
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++) own[i * P + j] *= grow[i] * grow[j];
}

cls_status clsi_doubt(clsi_multiple *m, const double *theta, double *error_of, double *covariance,
                      int *nullity, cls_error *error) {
    size_t n = m->n_theta, P = n + clsi_beginnings_count(m);
    double *S = clsi_calloc(7 * P * P + P + 1, sizeof *S), *Q = S + P * P, *C = Q + P * P;
    double *scatter = C + P * P, *CQ = scatter + P * P, *own = CQ + P * P;
    unsigned char *hidden = clsi_calloc(P + 1, 1);
    doubting d = {.m = m, .P = P, .Q = own + P * P, .fitted = P};
    double *grow = d.Q + P * P;
    d.rho = clsi_calloc(m->ny * (MOST_LAG + 2), sizeof *d.rho);
    d.last = clsi_calloc(m->ny, sizeof *d.last);
    cls_status status = S && hidden && d.rho && d.last ? CLS_OK : clsi_no_memory(error);
    clsi_wide q = {0};
    if (status == CLS_OK) status = clsi_wide_open(m, 2, theta, &q, error);
    if (status == CLS_OK) {
        d.power = d.rho + m->ny * (MOST_LAG + 1);
        if (!measure_memory(&d, theta))
            status = clsi_fail(error, CLS_NUMERIC, "the fitted motion cannot be simulated");
    }
    clsi_arrow_scores scores = {
        .n_blocks = BLOCKS, .block = block_of, .S = S, .Q = Q, .tell = tell, .context = &d};
    if (status == CLS_OK) status = clsi_arrow_information(&q.arrow, q.theta, m->x, &scores, error);
    if (status == CLS_OK && (*nullity = clsi_seen_inverse(P, S, RCOND, C, hidden)) < 0)
        status = clsi_no_memory(error);
    if (status == CLS_OK) {
        sandwich(P, C, d.Q, 1, own, CQ);
        sandwich(P, C, Q, (double)BLOCKS / (BLOCKS - 1), scatter, CQ);
        combine(P, own, scatter, grow);
        for (size_t i = 0; i < n; i++) {
            error_of[i] = hidden[i] ? INFINITY : sqrt(fmax(own[i * P + i], 0));
            if (covariance) memcpy(covariance + i * n, own + i * P, n * sizeof *own);
        }
    }
    clsi_wide_free(&q);
    free(S);
    free(hidden);
    free(d.rho);
    free(d.last);
    return status;
}

cls_status clsi_doubt_along(clsi_multiple *m, const double *theta, clsi_along *along,
                            cls_error *error) {
    size_t P = m->n_theta, most = m->data->n * m->ny + m->nz;
    doubting d = {.m = m, .P = P, .along = along, .fitted = along->fitted};
    double *S = clsi_calloc(P * P + most + 1, sizeof *S);
    d.rho = clsi_calloc(m->ny * (MOST_LAG + 2), sizeof *d.rho);
    d.last = clsi_calloc(m->ny, sizeof *d.last);
    cls_status status = S && d.rho && d.last ? CLS_OK : clsi_no_memory(error);
    clsi_arrow a;
    clsi_multiple_problem(m, 2, &a);
    for (size_t k = 0; k < along->n; k++) along->variance[k] = 0;
    if (status == CLS_OK) {
        d.power = d.rho + m->ny * (MOST_LAG + 1);
        d.Q = S + P * P;
        if (!measure_memory(&d, theta))
            status = clsi_fail(error, CLS_NUMERIC, "the fitted motion cannot be simulated");
    }
    clsi_arrow_scores scores = {.S = S, .tell = tell_along, .context = &d};
    if (status == CLS_OK) status = clsi_arrow_information(&a, theta, m->x, &scores, error);
    free(S);
    free(d.rho);
    free(d.last);
    return status;
}

/* ---- ensembles ---- */

enum { REFIT = 12 };

/* Blocks of rows that are learned from, each counted as often as it is drawn. */
static void draw_blocks(const clsi_multiple *m, cls_random *random, double *counts) {
    double times[BLOCKS] = {0};
    size_t rows = 0, all = 0;
    for (size_t w = 0; w < m->n_pieces; w++) all += m->piece[w].n;
    for (size_t b = 0; b < BLOCKS; b++) times[cls_random_next(random) % BLOCKS]++;
    for (size_t w = 0; w < m->n_pieces; w++)
        for (size_t i = 0; i < m->piece[w].n; i++)
            counts[m->piece[w].first + i] = times[rows++ * BLOCKS / all];
}

cls_status clsi_bootstrap(clsi_multiple *m, const double *theta, size_t n, uint64_t seed,
                          double *members, double *scatter, cls_error *error) {
    size_t P = m->n_theta, X = m->n_pieces * m->nz;
    double *counts = clsi_calloc(m->data->n + X + 1, sizeof *counts), *x = counts + m->data->n;
    cls_status status = counts ? CLS_OK : clsi_no_memory(error);
    cls_random random;
    cls_random_seed(&random, seed);
    for (size_t k = 0; k < n && status == CLS_OK; k++) {
        clsi_wide q;
        clsi_arrow_info info;
        if ((status = clsi_wide_open(m, 2, theta, &q, error)) != CLS_OK) break;
        draw_blocks(m, &random, counts);
        m->counts = counts;
        memcpy(x, m->x, X * sizeof *x);
        status = clsi_arrow_minimize(&q.arrow, REFIT, 1e-4, q.theta, x, &info, error);
        if (P) memcpy(members + k * P, q.theta, P * sizeof *theta);
        m->counts = NULL;
        clsi_wide_free(&q);
    }
    for (size_t i = 0; i < P && status == CLS_OK; i++) {
        double mean = 0, sum = 0;
        for (size_t k = 0; k < n; k++) mean += members[k * P + i] / (double)n;
        for (size_t k = 0; k < n; k++)
            sum += (members[k * P + i] - mean) * (members[k * P + i] - mean);
        scatter[i] = n > 1 ? sqrt(sum / (double)(n - 1)) : NAN;
    }
    free(counts);
    return status;
}
