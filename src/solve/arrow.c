/* Levenberg-Marquardt on an arrow: one block of normal equations for theta, one for each x_w, and
 * nothing between two of the x_w.
 *
 *     [ A   B_1 .. B_n ] [dtheta]     [ g ]        S dtheta = -(g - sum B_w D_w^-1 h_w),
 *     [ B_w^T     D_w  ] [ dx_w ] = - [h_w]        S = A - sum B_w D_w^-1 B_w^T
 *
 * (Schur complement). Memory and time are linear in the number of windows. Bounds: a component of
 * theta that stands at its bound and is pushed outwards is left out of the step; a step is cut off
 * at the bounds. Those of x are open: they are approached, never reached. Windows are evaluated side by side, in groups that do not depend on the number of
 * threads, and sums over theta are added in shards of neighbouring groups, then in order: neither does
 * the result. */
#include "solve/arrow.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 16, MOST_GROUP = 16 };

typedef struct arrow_work {
    const clsi_arrow *a;
    size_t P, X, W, most;    /* most: rows of a window */
    size_t group, shards;    /* windows that are evaluated together; sums over theta */
    double *A, *g;           /* (shards, P, P), (shards, P) */
    double *B, *D, *h;       /* (W, P, X), (W, X, X), (W, X) */
    double *B0, *D0, *h0;    /* the same before they are eliminated */
    double *S, *s, *step;    /* (P, P), (P), (P) */
    double *trial, *trial_x; /* (P), (W, X) */
    double *held; /* (W, X) how far components at an end of their interval go; NAN: free */
    double *cost; /* (W) */
    double *block;
    int lacks; /* memory: what was evaluated is no answer */
} arrow_work;

static double *carve(double **at, size_t n) {
    double *here = *at;
    *at += n;
    return here;
}

static cls_status open_work(const clsi_arrow *a, arrow_work *k, cls_error *error) {
    size_t P = a->n_theta, X = a->n_x, W = a->n_windows;
    *k = (arrow_work){.a = a, .P = P, .X = X, .W = W};
    k->group = !a->windows || !a->group ? 1 : a->group < MOST_GROUP ? a->group : MOST_GROUP;
    size_t groups = (W + k->group - 1) / k->group;
    k->shards = groups < SHARDS ? groups : SHARDS;
    for (size_t w = 0; w < W; w++) {
        size_t rows = a->rows(a->context, w);
        if (rows > k->most) k->most = rows;
    }
    size_t size =
        k->shards * (P * P + P) + W * (2 * (P * X + X * X + X) + 2 * X + 1) + P * P + 3 * P;
    if (!(k->block = clsi_calloc(size + 1, sizeof(double)))) return clsi_no_memory(error);
    double *at = k->block;
    k->A = carve(&at, k->shards * P * P);
    k->g = carve(&at, k->shards * P);
    k->B = carve(&at, W * P * X);
    k->D = carve(&at, W * X * X);
    k->h = carve(&at, W * X);
    k->B0 = carve(&at, W * P * X);
    k->D0 = carve(&at, W * X * X);
    k->h0 = carve(&at, W * X);
    k->trial_x = carve(&at, W * X);
    k->held = carve(&at, W * X);
    for (size_t i = 0; i < W * X; i++) k->held[i] = NAN;
    k->cost = carve(&at, W);
    k->S = carve(&at, P * P);
    k->s = carve(&at, P);
    k->step = carve(&at, P);
    k->trial = carve(&at, P);
    return CLS_OK;
}

/* ---- sums ---- */

static int is_prior(const arrow_work *k, size_t rows, size_t i) {
    return i + k->X >= rows;
}

static double row_cost(const clsi_arrow *a, double r, int prior) {
    double size = fabs(r);
    return prior || size <= a->huber ? r * r / 2 : a->huber * (size - a->huber / 2);
}

static double row_weight(const clsi_arrow *a, double r, int prior) {
    double size = fabs(r);
    return prior || size <= a->huber ? 1 : a->huber / size;
}

static void add_products(arrow_work *k, size_t shard, size_t w, double weight, const double *J,
                         double r) {
    size_t P = k->P, X = k->X;
    double *A = k->A + shard * P * P, *B = k->B0 + w * P * X, *D = k->D0 + w * X * X;
    double *g = k->g + shard * P, *h = k->h0 + w * X;
    const double *Jx = J + P;
    for (size_t i = 0; i < P; i++) {
        double u = weight * J[i];
        if (u == 0) continue;
        for (size_t j = 0; j <= i; j++) A[i * P + j] += u * J[j];
        for (size_t j = 0; j < X; j++) B[i * X + j] += u * Jx[j];
        g[i] += u * r;
    }
    for (size_t i = 0; i < X; i++) {
        double u = weight * Jx[i];
        for (size_t j = 0; j <= i; j++) D[i * X + j] += u * Jx[j];
        h[i] += u * r;
    }
}

static void sum_window(arrow_work *k, size_t shard, size_t w, size_t rows, const double *r,
                       const double *J) {
    size_t P = k->P, X = k->X;
    memset(k->B0 + w * P * X, 0, P * X * sizeof(double));
    memset(k->D0 + w * X * X, 0, X * X * sizeof(double));
    memset(k->h0 + w * X, 0, X * sizeof(double));
    for (size_t i = 0; i < rows; i++)
        add_products(k, shard, w, row_weight(k->a, r[i], is_prior(k, rows, i)), J + i * (P + X),
                     r[i]);
}

/* Rows of windows w .. w + n - 1. */
static int run_windows(const arrow_work *k, size_t w, size_t n, const double *theta,
                       const double *x, double *const *r, double *const *J) {
    const clsi_arrow *a = k->a;
    const double *own = x + w * k->X;
    if (a->windows) return a->windows(a->context, w, n, theta, own, r, J);
    return a->window(a->context, w, theta, own, r[0], J ? J[0] : NULL);
}

/* Windows [first, end), the groups of one shard. */
static int evaluate_shard(arrow_work *k, size_t shard, size_t first, size_t end,
                          const double *theta, const double *x, double *room, int products) {
    size_t P = k->P, X = k->X, width = 1 + (products ? P + X : 0);
    double *r[MOST_GROUP], *J[MOST_GROUP];
    for (size_t i = 0; i < k->group; i++) {
        r[i] = room + i * k->most * width;
        J[i] = r[i] + k->most;
    }
    if (products) memset(k->A + shard * P * P, 0, P * P * sizeof(double));
    if (products) memset(k->g + shard * P, 0, P * sizeof(double));
    for (size_t w = first; w < end; w += k->group) {
        size_t n = end - w < k->group ? end - w : k->group;
        if (!run_windows(k, w, n, theta, x, r, products ? J : NULL)) return 0;
        for (size_t i = 0; i < n; i++) {
            size_t rows = k->a->rows(k->a->context, w + i);
            k->cost[w + i] = 0;
            for (size_t e = 0; e < rows; e++)
                k->cost[w + i] += row_cost(k->a, r[i][e], is_prior(k, rows, e));
            if (products) sum_window(k, shard, w + i, rows, r[i], J[i]);
        }
    }
    return 1;
}

/* The whole sum at theta, x; with the products when wanted. INFINITY: not there. */
static double evaluate(arrow_work *k, const double *theta, const double *x, int products) {
    int failed = 0;
    size_t groups = (k->W + k->group - 1) / k->group;
    size_t width = 1 + (products ? k->P + k->X : 0);
#pragma omp parallel reduction(| : failed) if (k->shards > 1)
    {
        unsigned long before = clsi_failures();
        double *room = clsi_calloc(k->group * k->most * width + 1, sizeof *room);
        failed = !room;
#pragma omp for schedule(dynamic)
        for (size_t s = 0; s < k->shards; s++) {
            size_t first = groups * s / k->shards * k->group;
            size_t end = groups * (s + 1) / k->shards * k->group;
            if (end > k->W) end = k->W;
            if (!failed) failed = !evaluate_shard(k, s, first, end, theta, x, room, products);
        }
        free(room);
        if (clsi_failures() != before) failed |= 2;
    }
    k->lacks |= failed & 2;
    double sum = 0;
    for (size_t w = 0; w < k->W && !failed; w++) sum += k->cost[w];
    return failed || !isfinite(sum) ? INFINITY : sum;
}

/* ---- steps ---- */

/* Cholesky's factor in the lower triangle, in place; a pivot that is lost becomes huge, so that its
 * unknown does not move. */
static void factor(size_t n, double *A) {
    for (size_t j = 0; j < n; j++) {
        double top = A[j * n + j], pivot = top;
        for (size_t k = 0; k < j; k++) pivot -= A[j * n + k] * A[j * n + k];
        pivot = pivot > 1e-14 * top && top > 0 ? sqrt(pivot) : 1e150;
        A[j * n + j] = pivot;
        for (size_t i = j + 1; i < n; i++) {
            double sum = A[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = sum / pivot;
        }
    }
}

static void forward(size_t n, const double *L, double *b) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) b[i] -= L[i * n + k] * b[k];
        b[i] /= L[i * n + i];
    }
}

static void backward(size_t n, const double *L, double *b) {
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) b[i] -= L[k * n + i] * b[k];
        b[i] /= L[i * n + i];
    }
}

static void damp(size_t n, double lambda, double *A) {
    for (size_t i = 0; i < n; i++) A[i * n + i] *= 1 + lambda;
}

/* Components of window w whose step is known are no unknowns: what they do to the others is. */
static void hold(arrow_work *k, size_t w) {
    size_t P = k->P, X = k->X;
    double *D = k->D + w * X * X, *B = k->B + w * P * X, *h = k->h + w * X;
    for (size_t e = 0; e < X; e++) {
        double d = k->held[w * X + e];
        if (isnan(d)) continue;
        for (size_t i = 0; i < X; i++) {
            double *other = &D[(i > e ? i : e) * X + (i > e ? e : i)];
            h[i] += *other * d;
            *other = i == e;
        }
        h[e] = 0;
        for (size_t i = 0; i < P; i++) {
            k->s[i] += B[i * X + e] * d;
            B[i * X + e] = 0;
        }
    }
    for (size_t e = 0; e < X; e++)
        if (!isnan(k->held[w * X + e])) h[e] = 0;
}

/* S and s of all windows: rows of B are replaced by B L^-T, h by L^-1 h, D by its factor L. */
static void eliminate(arrow_work *k, double lambda) {
    size_t P = k->P, X = k->X;
    memset(k->S, 0, P * P * sizeof(double));
    memset(k->s, 0, P * sizeof(double));
    memcpy(k->B, k->B0, k->W * P * X * sizeof(double));
    memcpy(k->D, k->D0, k->W * X * X * sizeof(double));
    memcpy(k->h, k->h0, k->W * X * sizeof(double));
    for (size_t w = 0; w < k->shards; w++) {
        const double *A = k->A + w * P * P;
        for (size_t i = 0; i < P; i++) {
            for (size_t j = 0; j <= i; j++) k->S[i * P + j] += A[i * P + j];
            k->s[i] += k->g[w * P + i];
        }
    }
    damp(P, lambda, k->S);
    for (size_t w = 0; w < k->W && X; w++) {
        double *D = k->D + w * X * X, *B = k->B + w * P * X, *h = k->h + w * X;
        damp(X, lambda, D);
        hold(k, w);
        factor(X, D);
        forward(X, D, h);
        for (size_t i = 0; i < P; i++) forward(X, D, B + i * X);
        for (size_t i = 0; i < P; i++) {
            for (size_t j = 0; j <= i; j++)
                for (size_t e = 0; e < X; e++) k->S[i * P + j] -= B[i * X + e] * B[j * X + e];
            for (size_t e = 0; e < X; e++) k->s[i] -= B[i * X + e] * h[e];
        }
    }
}

/* Adds the square of the direction along the multiples of theta to S, as large as S is along the parameters one by
 * one. The sum has no slope there, so that this moves no minimum; it keeps steps short that nothing else does. */
static void hold_multiple(arrow_work *k, const double *theta) {
    size_t P = k->P, n = k->a->n_scaled;
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += k->S[i * P + i] * theta[i] * theta[i];
    if (!(sum > 0) || !isfinite(sum)) return;
    for (size_t i = 0; i < n; i++) k->step[i] = k->S[i * P + i] * theta[i] / sqrt(sum);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) k->S[i * P + j] += k->step[i] * k->step[j];
}

/* Parameters at a bound that are pushed outwards stay. */
static void solve_theta(arrow_work *k, const double *theta) {
    size_t P = k->P;
    hold_multiple(k, theta);
    for (size_t i = 0; i < P; i++) {
        int held =
            (theta[i] <= k->a->low[i] && k->s[i] > 0) || (theta[i] >= k->a->high[i] && k->s[i] < 0);
        k->step[i] = held ? 0 : -k->s[i];
        if (!held) continue;
        for (size_t j = 0; j < P; j++) k->S[(i > j ? i : j) * P + (i > j ? j : i)] = 0;
        k->S[i * P + i] = 1;
    }
    factor(P, k->S);
    forward(P, k->S, k->step);
    backward(P, k->S, k->step);
    for (size_t i = 0; i < P; i++) {
        k->trial[i] = fmin(fmax(theta[i] + k->step[i], k->a->low[i]), k->a->high[i]);
        k->step[i] = k->trial[i] - theta[i];
    }
}

/* Component e of an x that goes from x to `next`, kept off the ends of its interval. */
static double inside(const clsi_arrow *a, size_t e, double x, double next) {
    const double REACH = 0.9;
    if (a->x_low) next = fmax(next, x - REACH * (x - a->x_low[e]));
    if (a->x_high) next = fmin(next, x + REACH * (a->x_high[e] - x));
    return next;
}

/* The number of components that would have left their intervals; they are held from now on. */
static size_t solve_windows(arrow_work *k, const double *x) {
    size_t P = k->P, X = k->X, left = 0;
    for (size_t w = 0; w < k->W; w++) {
        double *h = k->h + w * X, *held = k->held + w * X;
        const double *B = k->B + w * P * X;
        for (size_t e = 0; e < X; e++) {
            h[e] = -h[e];
            for (size_t i = 0; i < P; i++) h[e] -= B[i * X + e] * k->step[i];
        }
        backward(X, k->D + w * X * X, h);
        for (size_t e = 0; e < X; e++) {
            double from = x[w * X + e], to = from + (isnan(held[e]) ? h[e] : held[e]);
            double next = k->trial_x[w * X + e] = inside(k->a, e, from, to);
            if (!isnan(held[e]) || next == to) continue;
            held[e] = next - from;
            left++;
        }
    }
    return left;
}

/* The step from theta and x. Amounts and temperatures are positive: where the step of one would take it
 * over zero it goes nearly there, and the others take theirs knowing that. */
static void solve_step(arrow_work *k, double lambda, const double *theta, const double *x) {
    enum { ROUNDS = 4 };
    for (size_t i = 0; i < k->W * k->X; i++) k->held[i] = NAN;
    for (int round = 0; round < ROUNDS; round++) {
        eliminate(k, lambda);
        solve_theta(k, theta);
        if (!solve_windows(k, x)) return;
    }
}

cls_status clsi_arrow_minimize(const clsi_arrow *a, size_t max_iterations, double enough,
                               double *theta, double *x, clsi_arrow_info *info, cls_error *error) {
    arrow_work k;
    *info = (clsi_arrow_info){.reason = "iterations"};
    cls_status status = open_work(a, &k, error);
    if (status != CLS_OK) return status;
    for (size_t i = 0; i < k.P; i++) theta[i] = fmin(fmax(theta[i], a->low[i]), a->high[i]);
    double cost = info->initial = evaluate(&k, theta, x, 0), lambda = 1e-3;
    if (!isfinite(cost)) {
        free(k.block);
        if (k.lacks) return clsi_no_memory(error);
        return clsi_fail(error, CLS_NUMERIC, "the search has no finite value where it begins");
    }
    int small = 0;
    if (a->tell) a->tell(a->listener, 0, cost);
    for (; !k.lacks && info->iterations < max_iterations; info->iterations++) {
        if (a->stop && a->stop(a->context)) {
            info->reason = "stopped";
            break;
        }
        double next = INFINITY;
        int tries = 0;
        evaluate(&k, theta, x, 1);
        for (; !k.lacks && tries < 24;
             tries++) { /* by 3: larger factors lose the thread of a curved valley */
            solve_step(&k, lambda, theta, x);
            next = evaluate(&k, k.trial, k.trial_x, 0);
            if (next < cost) break;
            lambda = fmax(lambda * 3, 1e-6);
        }
        if (!(next < cost)) {
            info->reason = small ? "converged" : "no descent";
            break;
        }
        if (tries == 0) lambda = fmax(lambda / 3, 1e-12);
        if (k.P) memcpy(theta, k.trial, k.P * sizeof *theta);
        memcpy(x, k.trial_x, k.W * k.X * sizeof *x);
        /* twice in a row: one small step may be the damping's */
        small = cost - next < enough * cost ? small + 1 : 0;
        cost = next;
        if (a->tell) a->tell(a->listener, info->iterations + 1, cost);
        if (small < 2) continue;
        info->reason = "converged";
        break;
    }
    info->final = cost;
    free(k.block);
    return k.lacks ? clsi_no_memory(error) : CLS_OK;
}

/* ---- what the minimum says ---- */

/* Rows of window w with x_w eliminated: J_theta - J_x D^-1 B^T, into J. */
static void project_rows(arrow_work *k, size_t w, size_t rows, double *J) {
    size_t P = k->P, X = k->X;
    const double *L = k->D + w * X * X, *B = k->B + w * P * X; /* L, B L^-T */
    for (size_t i = 0; i < rows; i++) {
        double *row = J + i * (P + X), *Jx = row + P;
        forward(X, L, Jx);
        for (size_t p = 0; p < P; p++)
            for (size_t e = 0; e < X; e++) row[p] -= B[p * X + e] * Jx[e];
    }
}

cls_status clsi_arrow_information(const clsi_arrow *a, const double *theta, const double *x,
                                  clsi_arrow_scores *out, cls_error *error) {
    arrow_work k;
    void *context = out->context ? out->context : a->context;
    cls_status status = open_work(a, &k, error);
    if (status != CLS_OK) return status;
    size_t P = k.P, X = k.X;
    double *r = clsi_calloc(k.most + 1, sizeof *r),
           *J = clsi_calloc(k.most * (P + X) + 1, sizeof *J);
    double *score = clsi_calloc(out->n_blocks * P + 1, sizeof *score);
    if (!r || !J || !score) status = clsi_no_memory(error);
    if (status == CLS_OK && !isfinite(evaluate(&k, theta, x, 1)))
        status = k.lacks ? clsi_no_memory(error)
                         : clsi_fail(error, CLS_NUMERIC, "the minimum has no finite value");
    if (status == CLS_OK) {
        eliminate(&k, 0);
        for (size_t i = 0; i < P; i++)
            for (size_t j = 0; j <= i; j++) out->S[i * P + j] = out->S[j * P + i] = k.S[i * P + j];
        if (out->g) memcpy(out->g, k.s, P * sizeof *k.s);
    }
    for (size_t w = 0; w < k.W && status == CLS_OK && (out->Q || out->tell); w++) {
        size_t rows = a->rows(a->context, w);
        if (!run_windows(&k, w, 1, theta, x, &r, &J)) continue;
        project_rows(&k, w, rows, J);
        for (size_t i = 0; i + X < rows; i++) {
            size_t b = out->block ? out->block(context, w, i) : 0;
            r[i] *= row_weight(a, r[i], 0);
            for (size_t p = 0; p < P && b < out->n_blocks; p++)
                score[b * P + p] += r[i] * J[i * (P + X) + p];
        }
        if (out->tell) out->tell(context, w, rows - X, P + X, J, r);
    }
    if (out->Q) memset(out->Q, 0, P * P * sizeof(double));
    for (size_t b = 0; b < out->n_blocks && status == CLS_OK && out->Q; b++)
        for (size_t i = 0; i < P; i++)
            for (size_t j = 0; j < P; j++) out->Q[i * P + j] += score[b * P + i] * score[b * P + j];
    free(r);
    free(J);
    free(score);
    free(k.block);
    return status;
}

/* ---- eigenvalues ---- */

enum { SWEEPS = 60 };

static void rotate(size_t n, double *A, double *V, size_t p, size_t q) {
    double off = A[p * n + q];
    if (off == 0) return;
    double tau = (A[q * n + q] - A[p * n + p]) / (2 * off);
    double t = copysign(1, tau) / (fabs(tau) + sqrt(1 + tau * tau));
    double c = 1 / sqrt(1 + t * t), s = t * c;
    for (size_t k = 0; k < n; k++) {
        double a = A[k * n + p], b = A[k * n + q];
        A[k * n + p] = c * a - s * b;
        A[k * n + q] = s * a + c * b;
    }
    for (size_t k = 0; k < n; k++) {
        double a = A[p * n + k], b = A[q * n + k];
        A[p * n + k] = c * a - s * b;
        A[q * n + k] = s * a + c * b;
        a = V[p * n + k], b = V[q * n + k];
        V[p * n + k] = c * a - s * b;
        V[q * n + k] = s * a + c * b;
    }
}

void clsi_symmetric_eigen(size_t n, double *A, double *value, double *V) {
    for (size_t i = 0; i < n * n; i++) V[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0, all = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                all += A[i * n + j] * A[i * n + j];
                if (i != j) off += A[i * n + j] * A[i * n + j];
            }
        if (!(off > 1e-30 * all)) break;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) rotate(n, A, V, p, q);
    }
    for (size_t i = 0; i < n; i++) value[i] = A[i * n + i];
    for (size_t i = 0; i < n; i++) { /* in order */
        size_t least = i;
        for (size_t j = i + 1; j < n; j++)
            if (value[j] < value[least]) least = j;
        if (least == i) continue;
        double swap = value[i];
        value[i] = value[least];
        value[least] = swap;
        for (size_t k = 0; k < n; k++) {
            swap = V[i * n + k];
            V[i * n + k] = V[least * n + k];
            V[least * n + k] = swap;
        }
    }
}

int clsi_seen_inverse(size_t n, const double *S, double rcond, double *C, unsigned char *open) {
    double *A = clsi_calloc(2 * n * n + 2 * n + 1, sizeof *A), *V = A + n * n, *value = V + n * n;
    double *scale = value + n;
    int lost = 0;
    if (!A) return -1;
    for (size_t i = 0; i < n; i++) {
        scale[i] = S[i * n + i] > 0 ? 1 / sqrt(S[i * n + i]) : 0;
        open[i] = 0;
    }
    for (size_t i = 0; i < n * n; i++) A[i] = S[i] * scale[i / n] * scale[i % n];
    clsi_symmetric_eigen(n, A, value, V);
    memset(C, 0, n * n * sizeof *C);
    for (size_t k = 0; k < n; k++) {
        const double *v = V + k * n;
        int seen = value[k] > rcond;
        lost += !seen;
        for (size_t i = 0; i < n; i++) {
            if (!seen && (fabs(v[i]) > 1e-3 || scale[i] == 0)) open[i] |= fabs(v[i]) > 1e-3;
            for (size_t j = 0; j < n && seen; j++)
                C[i * n + j] += scale[i] * scale[j] * v[i] * v[j] / value[k];
        }
    }
    free(A);
    return lost;
}
