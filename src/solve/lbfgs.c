/* L-BFGS: limited-memory quasi-Newton with a strong Wolfe line search (Nocedal and Wright,
 * Numerical Optimization 2006, algorithms 7.4, 7.5, 3.5 and 3.6).
 *
 * Each step costs one loss with gradient over all rows (rarely two) and 4 * MEMORY * n operations,
 * so it is the choice for many parameters. It uses no Jacobian and does not see that the loss is a
 * sum of squares: expect thousands of steps where lm takes tens. A trial point with a loss that is
 * not finite counts as infinitely high: the search steps back. */
#include "solve/optimize.h"
#include "base/base.h"
#include "solve/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 50, MAX_TRIALS = 30 };

/* Sufficient decrease and curvature, the usual ones for quasi-Newton directions. */
static const double C1 = 1e-4, C2 = 0.9;

typedef struct lbfgs {
    clsi_problem *p;
    size_t n, count, newest;
    double *s, *y, *rho; /* (MEMORY, n) steps and changes of the gradient; (MEMORY) 1 / s.y */
    double *g, *d;       /* (n): gradient, direction */
    double *at, *g_at;   /* (n): trial point and its gradient */
    double loss;         /* where g is the gradient */
} lbfgs;

/* A point of the line: t, loss and slope there. */
typedef struct point {
    double t, loss, slope;
} point;

static void release(lbfgs *m) {
    free(m->s), free(m->y), free(m->rho), free(m->g), free(m->d), free(m->at), free(m->g_at);
}

static cls_status prepare(lbfgs *m, clsi_problem *p, cls_error *error) {
    size_t n = m->n = p->n_parameters;
    m->p = p;
    m->s = clsi_calloc(MEMORY * n + 1, sizeof(double));
    m->y = clsi_calloc(MEMORY * n + 1, sizeof(double));
    m->rho = clsi_calloc(MEMORY, sizeof(double));
    m->g = clsi_calloc(n + 1, sizeof(double));
    m->d = clsi_calloc(n + 1, sizeof(double));
    m->at = clsi_calloc(n + 1, sizeof(double));
    m->g_at = clsi_calloc(n + 1, sizeof(double));
    int whole = m->s && m->y && m->rho && m->g && m->d && m->at && m->g_at;
    return whole ? CLS_OK : clsi_no_memory(error);
}

static double evaluate(lbfgs *m, const double *theta, double *gradient) {
    double loss;
    if (m->p->gradient(m->p, theta, m->p->n_rows, NULL, &loss, gradient) != CLS_OK) return INFINITY;
    double slope = clsi_vector_dot(m->n, gradient, gradient);
    return isfinite(loss) && isfinite(slope) ? loss : INFINITY;
}

/* d = -H g by the two loops. */
static void direction(lbfgs *m) {
    double alpha[MEMORY];
    size_t n = m->n;
    for (size_t j = 0; j < n; j++) m->d[j] = -m->g[j];
    for (size_t i = 0; i < m->count; i++) {
        size_t k = (m->newest + MEMORY - i) % MEMORY;
        alpha[k] = m->rho[k] * clsi_vector_dot(n, m->s + k * n, m->d);
        clsi_vector_add(n, -alpha[k], m->y + k * n, m->d);
    }
    if (!m->count) return;
    const double *y = m->y + m->newest * n;
    double scale = 1 / (m->rho[m->newest] * clsi_vector_dot(n, y, y));
    for (size_t j = 0; j < n; j++) m->d[j] *= scale;
    for (size_t i = m->count; i-- > 0;) {
        size_t k = (m->newest + MEMORY - i) % MEMORY;
        double beta = m->rho[k] * clsi_vector_dot(n, m->y + k * n, m->d);
        clsi_vector_add(n, alpha[k] - beta, m->s + k * n, m->d);
    }
}

/* Remembers the step from theta to m->at; pairs without curvature are left out. */
static void remember(lbfgs *m, const double *theta) {
    size_t n = m->n, k = m->count ? (m->newest + 1) % MEMORY : 0;
    double *s = m->s + k * n, *y = m->y + k * n;
    for (size_t j = 0; j < n; j++) {
        s[j] = m->at[j] - theta[j];
        y[j] = m->g_at[j] - m->g[j];
    }
    double sy = clsi_vector_dot(n, s, y);
    if (!(sy > 1e-14 * clsi_vector_dot(n, y, y))) {
        /* The slot may have held the oldest pair, which is now lost. */
        if (m->count == MEMORY) m->count--;
        return;
    }
    m->rho[k] = 1 / sy;
    m->newest = k;
    if (m->count < MEMORY) m->count++;
}

static point probe(lbfgs *m, const double *theta, double t) {
    for (size_t j = 0; j < m->n; j++) m->at[j] = theta[j] + t * m->d[j];
    double loss = evaluate(m, m->at, m->g_at);
    return (point){t, loss, isfinite(loss) ? clsi_vector_dot(m->n, m->g_at, m->d) : INFINITY};
}

/* The minimum of the cubic through two points, kept away from the ends; the middle when there is
 * none. */
static double between(point a, point b) {
    double low = fmin(a.t, b.t), high = fmax(a.t, b.t), width = high - low;
    double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t);
    double d2 = sqrt(d1 * d1 - a.slope * b.slope);
    if (b.t < a.t) d2 = -d2;
    double t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2));
    if (!isfinite(t)) return low + width / 2;
    return fmin(fmax(t, low + 0.1 * width), high - 0.1 * width);
}

/* low: the best point that decreases enough; the interval to high holds a good one. */
static point zoom(lbfgs *m, const double *theta, point start, point low, point high) {
    for (int k = 0; k < MAX_TRIALS; k++) {
        point x = probe(m, theta, between(low, high));
        if (!(x.loss <= start.loss + C1 * x.t * start.slope) || x.loss >= low.loss) {
            high = x;
        } else {
            if (fabs(x.slope) <= -C2 * start.slope) return x;
            if (x.slope * (high.t - low.t) >= 0) high = low;
            low = x;
        }
        if (fabs(high.t - low.t) < 1e-12 * fmax(low.t, high.t)) break;
    }
    return low.t > 0 ? probe(m, theta, low.t) : low;
}

/* Ends with m->at, m->g_at at the point returned; t = 0 when the loss cannot be lowered. */
static point line_search(lbfgs *m, const double *theta, point start, double first) {
    point last = start;
    double t = first;
    for (int k = 0; k < MAX_TRIALS; k++) {
        point x = probe(m, theta, t);
        if (!(x.loss <= start.loss + C1 * t * start.slope) || (k && x.loss >= last.loss))
            return zoom(m, theta, start, last, x);
        if (fabs(x.slope) <= -C2 * start.slope) return x;
        if (x.slope >= 0) return zoom(m, theta, start, x, last);
        last = x;
        t *= 2;
    }
    return last;
}

/* One step; 0 when there is no descent even along the gradient. */
static int descend(lbfgs *m, double *theta, double *loss) {
    for (;;) {
        direction(m);
        point start = {0, *loss, clsi_vector_dot(m->n, m->g, m->d)};
        double length = sqrt(clsi_vector_dot(m->n, m->g, m->g));
        double first = m->count ? 1 : fmin(1, 1 / length);
        point x = {0};
        if (start.slope < 0) x = line_search(m, theta, start, first);
        if (x.t > 0 && x.loss < *loss) {
            remember(m, theta);
            memcpy(theta, m->at, m->n * sizeof(double));
            memcpy(m->g, m->g_at, m->n * sizeof(double));
            *loss = x.loss;
            return 1;
        }
        if (!m->count) return 0;
        m->count = 0; /* forget, and try the gradient itself */
    }
}

/* All that the next iteration depends on, besides theta. */
static void state(void *optimizer, clsi_archive *a) {
    lbfgs *m = optimizer;
    clsi_archive_size(a, MEMORY, &m->count);
    clsi_archive_size(a, MEMORY - 1, &m->newest);
    clsi_archive_doubles(a, MEMORY * m->n, m->s);
    clsi_archive_doubles(a, MEMORY * m->n, m->y);
    clsi_archive_doubles(a, MEMORY, m->rho);
    clsi_archive_doubles(a, m->n, m->g);
    clsi_archive_doubles(a, 1, &m->loss);
}

static void iterate(lbfgs *m, clsi_run *run) {
    if (!run->options->resume) m->loss = evaluate(m, run->theta, m->g);
    for (uint64_t k = run->info->iterations; k < run->options->max_iterations; k++) {
        double norm = sqrt(clsi_vector_dot(m->n, m->g, m->g));
        int flat = norm <= 1e-15 || m->loss <= run->options->loss_tolerance;
        double before = m->loss;
        if (flat || !descend(m, run->theta, &m->loss)) {
            run->info->reason =
                flat || norm <= 1e-7 * sqrt(m->loss) + 1e-15 ? "converged" : "no descent";
            return;
        }
        run->info->iterations = k + 1;
        int over = clsi_run_report(run, m->loss);
        if (!over && before - m->loss < m->p->enough * before) run->info->reason = "converged";
        if (over || before - m->loss < m->p->enough * before) return;
    }
}

static cls_status minimize(clsi_problem *p, const clsi_optimize_options *o, double *theta,
                           clsi_optimize_info *info, cls_error *error) {
    clsi_run run;
    lbfgs m = {0};
    cls_status status = clsi_run_begin(&run, p, o, theta, info, error);
    if (status == CLS_OK) status = prepare(&m, p, error);
    if (status == CLS_OK) status = clsi_run_resume(&run, state, &m, error);
    if (status == CLS_OK) iterate(&m, &run);
    release(&m);
    return clsi_run_end(&run, status);
}

const clsi_optimizer clsi_lbfgs = {
    "lbfgs", "limited-memory BFGS, 50 pairs, strong Wolfe search: for many parameters", 0, NULL,
    minimize};
