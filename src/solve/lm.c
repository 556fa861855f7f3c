/* Levenberg-Marquardt with the full Jacobian: the step d solves (J^T J + lambda D) d = -J^T r.
 *
 * D is the largest diagonal of J^T J so far (More 1978: invariant against the scale of parameters),
 * with a floor for parameters no residual feels. lambda follows the gain ratio (Nielsen 1999). The
 * Jacobian comes in blocks of rows and is never stored. After a refused step only the factor is
 * computed again.
 *
 * Cost per iteration: the Jacobian, rows * n^2 operations for J^T J (0.2 s for 6,000 rows and
 * 1,250 parameters on one core), n^3 / 3 for each factor. Memory n^2 numbers twice. Best up to a
 * few thousand parameters. The normal equations square the condition: directions weaker than 1e-8
 * of the strongest converge slowly, by the damping. */
#include "solve/optimize.h"
#include "base/base.h"
#include "solve/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 512, MOST = 16384 }; /* parameters: two matrices of 2 GiB */

static const double FIRST_DAMPING = 1e-3, LEAST_DAMPING = 1e-15, MOST_DAMPING = 1e12;
/* Relative to the largest element of the diagonal. */
static const double FLOOR = 1e-10;

typedef struct lm {
    size_t n;
    clsi_space *space;
    double *G, *A; /* (n, n): J^T J / rows, lower; its damped factor, or a part's sums */
    double *g, *D, *step, *at; /* (n): J^T r / rows, scales, step, trial point */
    double *J, *r;             /* (ROWS, n), (ROWS) */
    size_t *rows;
    double damping, growth;
    size_t flat; /* 1: the last step changed nothing that counts */
} lm;

static void release(lm *m) {
    clsi_space_free(&m->space);
    free(m->G), free(m->A), free(m->g), free(m->D), free(m->step), free(m->at);
    free(m->J), free(m->r), free(m->rows);
}

static cls_status prepare(lm *m, const clsi_problem *p, cls_error *error) {
    size_t n = m->n = p->n_parameters;
    if (n > MOST)
        return clsi_fail(error, CLS_USAGE,
                         "lm keeps matrices of %zu x %zu numbers, %.0f GiB; take spring, lbfgs or "
                         "adam, or smaller fields",
                         n, n, 16 * (double)n * (double)n / 1073741824);
    cls_status status = clsi_space_create(0, &m->space, error);
    if (status != CLS_OK) return status;
    m->G = clsi_calloc(n * n + 1, sizeof(double));
    m->A = clsi_calloc(n * n + n + 1, sizeof(double));
    m->g = clsi_calloc(n + 1, sizeof(double));
    m->D = clsi_calloc(n + 1, sizeof(double));
    m->step = clsi_calloc(n + 1, sizeof(double));
    m->at = clsi_calloc(n + 1, sizeof(double));
    m->J = clsi_calloc(ROWS * n + 1, sizeof(double));
    m->r = clsi_calloc(ROWS, sizeof(double));
    m->rows = clsi_calloc(ROWS, sizeof(size_t));
    m->damping = p->affine ? 1e-13 : FIRST_DAMPING;
    m->growth = 2;
    int whole = m->G && m->A && m->g && m->D && m->step && m->at && m->J && m->r && m->rows;
    return whole ? CLS_OK : clsi_no_memory(error);
}

/* G (n, n) and g (n) behind it, of the rows [first, last), added. */
static cls_status add_rows(lm *m, clsi_problem *p, const double *theta, size_t first, size_t last,
                           double *G, cls_error *error) {
    size_t n = m->n;
    double *g = G + n * n;
    for (size_t i = first; i < last; i += ROWS) {
        size_t count = last - i < ROWS ? last - i : ROWS;
        for (size_t k = 0; k < count; k++) m->rows[k] = i + k;
        cls_status status = p->jacobian(p, theta, count, m->rows, m->r, m->J);
        if (status != CLS_OK)
            return clsi_fail(error, status, "the Jacobian of residuals %zu to %zu failed", i + 1,
                             i + count);
        double scale = 1 / (double)p->n_rows;
        clsi_multiply(m->space, CLSI_LOWER, n, n, count, scale, (clsi_view){m->J, 1, n},
                      (clsi_view){m->J, n, 1}, G, n);
        for (size_t k = 0; k < count; k++) m->r[k] *= scale;
        clsi_transposed_times(count, n, m->J, m->r, g);
    }
    return CLS_OK;
}

/* The rows are summed in so many parts, whoever makes them, and those in their order. */
enum { PARTS = 16 };

static size_t part_begin(const clsi_problem *p, size_t k) {
    size_t blocks = (p->n_rows + ROWS - 1) / ROWS, at = cls_team_first(k, PARTS, blocks) * ROWS;
    return at < p->n_rows ? at : p->n_rows;
}

static void add_part(lm *m, const double *G) {
    size_t n = m->n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) m->G[i * n + j] += G[i * n + j];
    for (size_t j = 0; j < n; j++) m->g[j] += G[n * n + j];
}

static cls_status share_sums(lm *m, clsi_problem *p, const double *theta, cls_error *error) {
    size_t size = m->n * m->n + m->n;
    double *parts = clsi_calloc(PARTS * size, sizeof *parts);
    cls_status status = parts ? CLS_OK : clsi_no_memory(error);
    for (size_t k = 0; k < PARTS && status == CLS_OK; k++)
        if (p->team->mine(p->team->context, "sums", k, PARTS))
            status = add_rows(m, p, theta, part_begin(p, k), part_begin(p, k + 1), parts + k * size,
                              error);
    status = cls_team_agree(p->team, status, error);
    if (status == CLS_OK)
        status = p->team->share(p->team->context, "sums", NULL, PARTS, size * sizeof *parts, parts,
                                0, error);
    for (size_t k = 0; k < PARTS && status == CLS_OK; k++) add_part(m, parts + k * size);
    free(parts);
    return status;
}

/* G, g and D at theta. */
static cls_status linearise(lm *m, clsi_problem *p, const double *theta, cls_error *error) {
    size_t n = m->n;
    cls_status status = CLS_OK;
    memset(m->G, 0, n * n * sizeof(double));
    memset(m->g, 0, n * sizeof(double));
    if (p->team && p->team->ranks > 1) status = share_sums(m, p, theta, error);
    for (size_t k = 0; k < PARTS && status == CLS_OK && !(p->team && p->team->ranks > 1); k++) {
        size_t first = part_begin(p, k), last = part_begin(p, k + 1);
        if (first == last) continue;
        memset(m->A, 0, (n * n + n) * sizeof(double));
        status = add_rows(m, p, theta, first, last, m->A, error);
        if (status == CLS_OK) add_part(m, m->A);
    }
    if (status != CLS_OK) return status;
    double largest = 0;
    for (size_t j = 0; j < n; j++) largest = fmax(largest, m->G[j * n + j]);
    for (size_t j = 0; j < n; j++) m->D[j] = fmax(m->D[j], fmax(m->G[j * n + j], FLOOR * largest));
    return CLS_OK;
}

/* The step and the trial point for the damping; 0 when the factor does not exist. */
static int find_step(lm *m, const double *theta) {
    size_t n = m->n;
    for (size_t i = 0; i < n; i++) {
        memcpy(m->A + i * n, m->G + i * n, (i + 1) * sizeof(double));
        m->A[i * n + i] += m->damping * m->D[i];
    }
    if (!clsi_cholesky(m->space, n, m->A)) return 0;
    for (size_t i = 0; i < n; i++) m->step[i] = -m->g[i];
    clsi_cholesky_solve(n, m->A, m->step);
    for (size_t i = 0; i < n; i++) m->at[i] = theta[i] + m->step[i];
    return 1;
}

/* The decrease the linear model promises: d^T (lambda D d - g) / 2. */
static double promised(const lm *m) {
    double sum = 0;
    for (size_t i = 0; i < m->n; i++)
        sum += m->step[i] * (m->damping * m->D[i] * m->step[i] - m->g[i]);
    return sum / 2;
}

static void refuse(lm *m) {
    m->damping *= m->growth;
    m->growth *= 2;
}

static void accept(lm *m, double gain) {
    double t = 2 * gain - 1, factor = 1 - t * t * t;
    m->damping = fmax(LEAST_DAMPING, m->damping * fmax(0.1, factor));
    m->growth = 2;
}

/* Tries dampings until the loss falls. Returns 1, or 0 when there is no descent. */
static int descend(lm *m, clsi_run *run, double *loss) {
    while (m->damping < MOST_DAMPING) {
        double promise = 0, trial = INFINITY;
        if (find_step(m, run->theta)) {
            promise = promised(m);
            trial = clsi_full_loss(run->problem, m->at);
        }
        if (trial < *loss && promise > 0) {
            accept(m, fmin(1, (*loss - trial) / promise));
            memcpy(run->theta, m->at, m->n * sizeof(double));
            *loss = trial;
            return 1;
        }
        if (isfinite(trial) && promise <= 1e-15 * *loss) return 0;
        refuse(m);
    }
    return 0;
}

/* All that the next iteration depends on, besides theta. */
static void state(void *optimizer, clsi_archive *a) {
    lm *m = optimizer;
    clsi_archive_doubles(a, m->n, m->D);
    clsi_archive_doubles(a, 1, &m->damping);
    clsi_archive_doubles(a, 1, &m->growth);
    clsi_archive_size(a, 1, &m->flat);
}

static cls_status iterate(lm *m, clsi_run *run, cls_error *error) {
    double loss = run->best_loss;
    if (loss <= run->options->loss_tolerance) {
        run->info->reason = "converged";
        return CLS_OK;
    }
    for (uint64_t k = run->info->iterations; !m->flat && k < run->options->max_iterations; k++) {
        cls_status status = linearise(m, run->problem, run->theta, error);
        if (status != CLS_OK) return status;
        double norm = sqrt(clsi_vector_dot(m->n, m->g, m->g)), before = loss;
        int down = descend(m, run, &loss);
        run->info->iterations = k + 1;
        if (!down) {
            /* The floor of rounding, unless there is still a slope. */
            run->info->reason = norm <= 1e-7 * sqrt(loss) + 1e-15 ? "converged" : "no descent";
            return CLS_OK;
        }
        m->flat = before - loss <= fmax(1e-14, run->problem->enough) * before;
        if (clsi_run_report(run, loss)) return CLS_OK;
    }
    if (m->flat) run->info->reason = "converged";
    return CLS_OK;
}

static cls_status minimize(clsi_problem *p, const clsi_optimize_options *o, double *theta,
                           clsi_optimize_info *info, cls_error *error) {
    clsi_run run;
    lm m = {0};
    cls_status status = clsi_run_begin(&run, p, o, theta, info, error);
    if (status == CLS_OK) status = prepare(&m, p, error);
    if (status == CLS_OK) status = clsi_run_resume(&run, state, &m, error);
    if (status == CLS_OK) status = iterate(&m, &run, error);
    release(&m);
    return clsi_run_end(&run, status);
}

const clsi_optimizer clsi_lm = {
    "lm", "Levenberg-Marquardt with the full Jacobian: precise, up to a few thousand parameters", 1,
    NULL, minimize};
