/* Shooting: windows of the data simulated with the present parameters and compared at all their
 * times, as a problem for the optimisers.
 *
 *     loss = mean over windows, times and observed states of ((z - data)/spread)^2 / 2
 *
 * Unlike the residual, which puts noisy data into formulas (errors in variables: a bias that more
 * data do not cure), a simulation uses the data only to be compared with. It costs a Newton solve
 * for each step, so it comes last, after a fit of the residual.
 *
 * Windows of a group share the vector lanes (paths.c), groups are spread over the threads; sums are
 * made in a fixed order. What was computed for the last parameters is kept: an optimiser asks for
 * the loss in blocks of rows, then for the Jacobian at the same place. */
#include "learn/shooting/shooting.h"
#include "base/base.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct clsi_shooting {
    clsi_target target;
    size_t n_windows, n_rows;
    clsi_window *window;
    clsi_paths **paths; /* one for each thread, made when first used */
    size_t n_paths;
    /* for the last theta: */
    double *theta;
    int valid;            /* ... there is one */
    unsigned char *known; /* (n_windows) start and rows are there */
    double *start, *r;    /* (n_windows, nz), (n_rows) */
    double *J;            /* (most_rows, n_theta): of the window `kept`, if any */
    size_t kept;
};

/* ---- windows ---- */

/* Cuts trajectories into windows of `intervals`; a rest is a shorter window, or overlaps. Counts
 * when list is NULL. */
static size_t cut(const clsi_points *p, int held, size_t intervals, int equal, clsi_window *list) {
    const size_t *ends = held ? p->held : p->trained;
    size_t n_ends = held ? p->n_held : p->n_trained, n = 0;
    for (size_t i = 0; i < n_ends; i++) {
        size_t begin = ends[2 * i], end = ends[2 * i + 1];
        for (size_t at = begin, length; at + 1 < end; at += length) {
            length = intervals && intervals < end - 1 - at ? intervals : end - 1 - at;
            int back = equal && length < intervals && end - 1 - begin >= intervals;
            size_t first = back ? end - 1 - intervals : at;
            if (list) list[n] = (clsi_window){first, back ? intervals : length, 0};
            n++;
        }
    }
    return n;
}

/* At most `most` of them, spread evenly; numbers their rows. */
static void choose(clsi_shooting *s, size_t all, size_t most) {
    clsi_target *t = &s->target;
    size_t wanted = most && most < all ? most : all;
    for (size_t i = 0; i < all; i++) {
        if ((i + 1) * wanted / all == i * wanted / all) continue;
        clsi_window *w = &s->window[s->n_windows++];
        *w = s->window[i];
        w->row = s->n_rows;
        size_t rows = clsi_target_rows(t, w->intervals);
        size_t steps = clsi_target_steps(t, w->intervals);
        s->n_rows += rows;
        if (rows > t->most_rows) t->most_rows = rows;
        if (steps > t->most_steps) t->most_steps = steps;
    }
}

/* ---- life ---- */

static cls_status set_target(const clsi_points *points, const clsi_sensitive *motion,
                             const clsi_shooting_options *o, clsi_target *t, cls_error *error) {
    *t = (clsi_target){.points = points,
                       .motion = motion,
                       .flow = o->continuous,
                       .nz = points->nz,
                       .n_theta = motion->n_theta,
                       .substeps = o->substeps ? o->substeps : 1,
                       .free_starts = o->free_starts};
    t->observed = clsi_calloc(t->nz, sizeof *t->observed);
    t->weight = clsi_calloc(t->nz, sizeof *t->weight);
    if (!t->observed || !t->weight) return clsi_no_memory(error);
    for (size_t k = 0; k < t->nz; k++) {
        t->weight[k] = 1 / clsi_points_spread(points, k);
        if (points->observed[k])
            t->observed[t->n_observed++] = k;
        else
            t->free_starts = 1;
    }
    return CLS_OK;
}

static cls_status create(clsi_shooting *s, const clsi_points *points, const clsi_sensitive *motion,
                         const clsi_shooting_options *o, int held, cls_error *error) {
    clsi_target *t = &s->target;
    cls_status status = set_target(points, motion, o, t, error);
    if (status != CLS_OK) return status;
    size_t all = cut(points, held, o->intervals, o->equal, NULL);
    s->window = clsi_calloc(all, sizeof *s->window);
    if (!s->window) return clsi_no_memory(error);
    cut(points, held, o->intervals, o->equal, s->window);
    choose(s, all, o->max_windows);
    t->alone = s->n_windows == 1;
    s->kept = SIZE_MAX;
    s->theta = clsi_calloc(t->n_theta, sizeof *s->theta);
    s->known = clsi_calloc(s->n_windows, 1);
    s->start = clsi_calloc(s->n_windows * t->nz, sizeof *s->start);
    s->r = clsi_calloc(s->n_rows, sizeof *s->r);
    return s->theta && s->known && s->start && s->r ? CLS_OK : clsi_no_memory(error);
}

cls_status clsi_shooting_create(const clsi_points *points, const clsi_sensitive *motion,
                                const clsi_shooting_options *o, int held, clsi_shooting **out,
                                cls_error *error) {
    clsi_shooting *s = *out = clsi_calloc(1, sizeof *s);
    if (!s) return clsi_no_memory(error);
    cls_status status = create(s, points, motion, o, held, error);
    if (status != CLS_OK) clsi_shooting_free(out);
    return status;
}

void clsi_shooting_free(clsi_shooting **shooting) {
    clsi_shooting *s = *shooting;
    if (!s) return;
    for (size_t i = 0; i < s->n_paths; i++) clsi_paths_free(&s->paths[i]);
    free(s->paths);
    free(s->target.observed);
    free(s->target.weight);
    free(s->window);
    free(s->theta);
    free(s->known);
    free(s->start);
    free(s->r);
    free(s->J);
    free(s);
    *shooting = NULL;
}

size_t clsi_shooting_windows(const clsi_shooting *s) {
    return s->n_windows;
}

/* Paths for all threads. */
static cls_status make_paths(clsi_shooting *s) {
    size_t threads = (size_t)omp_get_max_threads();
    if (s->n_paths < threads) {
        clsi_paths **more = clsi_realloc(s->paths, threads * sizeof *more);
        if (!more) return CLS_MEMORY;
        s->paths = more;
        while (s->n_paths < threads) {
            cls_status status = clsi_paths_create(&s->target, &s->paths[s->n_paths], NULL);
            if (status != CLS_OK) return status;
            s->n_paths++;
        }
    }
    return CLS_OK;
}

/* Forgets what belongs to other parameters. */
static void turn_to(clsi_shooting *s, const double *theta) {
    size_t size = s->target.n_theta * sizeof *theta;
    if (s->valid && memcmp(s->theta, theta, size) == 0) return;
    memcpy(s->theta, theta, size);
    memset(s->known, 0, s->n_windows);
    s->kept = SIZE_MAX;
    s->valid = 1;
}

/* ---- groups of windows ---- */

/* Runs the windows list[0..n) on this thread's paths. */
static clsi_paths *run_group(clsi_shooting *s, size_t n, const size_t *list) {
    clsi_paths *p = s->paths[omp_get_thread_num()];
    const clsi_window *window[CLSI_LANES];
    double *start[CLSI_LANES], *r[CLSI_LANES];
    int known[CLSI_LANES];
    for (size_t i = 0; i < n; i++) {
        window[i] = &s->window[list[i]];
        start[i] = s->start + list[i] * s->target.nz;
        r[i] = s->r + window[i]->row;
        known[i] = s->known[list[i]];
    }
    clsi_paths_run(p, s->theta, n, window, start, known, r);
    for (size_t i = 0; i < n; i++) s->known[list[i]] = 1;
    return p;
}

/* Rows of all windows that are not known yet. */
static cls_status make_rows(clsi_shooting *s, const double *theta) {
    turn_to(s, theta);
    size_t *todo = clsi_calloc(s->n_windows, sizeof *todo), n = 0;
    if (!todo || make_paths(s) != CLS_OK) {
        free(todo);
        return CLS_MEMORY;
    }
    for (size_t w = 0; w < s->n_windows; w++)
        if (!s->known[w]) todo[n++] = w;
    size_t groups = (n + CLSI_LANES - 1) / CLSI_LANES;
#pragma omp parallel for schedule(dynamic) if (groups > 1)
    for (size_t g = 0; g < groups; g++) {
        size_t first = g * CLSI_LANES;
        run_group(s, n - first < CLSI_LANES ? n - first : CLSI_LANES, todo + first);
    }
    free(todo);
    return CLS_OK;
}

cls_status clsi_shooting_prune(clsi_shooting *s, const double *theta) {
    cls_status status = make_rows(s, theta);
    size_t n = 0, rows = 0;
    for (size_t w = 0; w < s->n_windows && status == CLS_OK; w++) {
        clsi_window kept = s->window[w];
        if (!isfinite(s->r[kept.row])) continue;
        kept.row = rows;
        rows += clsi_target_rows(&s->target, kept.intervals);
        s->window[n++] = kept;
    }
    if (status != CLS_OK) return status;
    s->n_windows = n;
    s->n_rows = rows;
    s->valid = 0; /* what is known stands in other places now */
    return CLS_OK;
}

/* The window that row belongs to. */
static size_t window_of(const clsi_shooting *s, size_t row) {
    size_t low = 0, high = s->n_windows;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (s->window[middle].row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- the problem ---- */

static cls_status problem_residual(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *r) {
    clsi_shooting *s = p->context;
    cls_status status = make_rows(s, theta);
    for (size_t i = 0; i < count && status == CLS_OK; i++) r[i] = s->r[rows ? rows[i] : i];
    return status;
}

/* The windows of the rows, each once, in the order in which they come. */
static cls_status windows_of(const clsi_shooting *s, size_t count, const size_t *rows,
                             size_t **list, size_t *n) {
    unsigned char *seen = clsi_calloc(s->n_windows, 1);
    *n = 0;
    *list = clsi_calloc(s->n_windows, sizeof **list);
    for (size_t i = 0; i < count && seen && *list; i++) {
        size_t w = window_of(s, rows ? rows[i] : i);
        if (!seen[w]) (*list)[(*n)++] = w;
        seen[w] = 1;
    }
    free(seen);
    return seen && *list ? CLS_OK : CLS_MEMORY;
}

/* Copies what is asked for out of the rows of window w, which begin at J. */
static void give_rows(const clsi_shooting *s, size_t w, const double *own, size_t count,
                      const size_t *rows, double *r, double *J) {
    size_t P = s->target.n_theta, begin = s->window[w].row;
    size_t end = begin + clsi_target_rows(&s->target, s->window[w].intervals);
    for (size_t i = 0; i < count; i++) {
        size_t row = rows ? rows[i] : i;
        if (row < begin || row >= end) continue;
        r[i] = s->r[row];
        memcpy(J + i * P, own + (row - begin) * P, P * sizeof *J);
    }
}

/* Windows that a block of rows cuts in two would be made twice: the last one is kept. */
static cls_status problem_jacobian(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *r, double *J) {
    clsi_shooting *s = p->context;
    size_t *list = NULL, n, size = s->target.most_rows * s->target.n_theta;
    turn_to(s, theta);
    cls_status status = make_paths(s);
    if (status == CLS_OK && !s->J && !(s->J = clsi_calloc(size, sizeof *s->J))) status = CLS_MEMORY;
    if (status == CLS_OK) status = windows_of(s, count, rows, &list, &n);
    size_t first = status == CLS_OK && n && list[0] == s->kept;
    if (first) give_rows(s, s->kept, s->J, count, rows, r, J);
    int failed = 0;
#pragma omp parallel reduction(| : failed) if (status == CLS_OK && n > 1)
    {
        unsigned long before = clsi_failures();
        double *own = status == CLS_OK ? clsi_calloc(size, sizeof *own) : NULL;
        failed = !own;
#pragma omp for schedule(dynamic)
        for (size_t at = first; at < (status == CLS_OK ? n : 0); at += CLSI_LANES) {
            size_t lanes = n - at < CLSI_LANES ? n - at : CLSI_LANES;
            clsi_paths *paths = failed ? NULL : run_group(s, lanes, list + at);
            for (size_t i = 0; i < lanes && !failed; i++) {
                double *into = at + i + 1 == n ? s->J : own;
                failed |= !clsi_paths_jacobian(paths, i, into);
                if (!failed) give_rows(s, list[at + i], into, count, rows, r, J);
            }
        }
        free(own);
        if (clsi_failures() != before) failed |= 2;
    }
    s->kept = status == CLS_OK && n && !failed ? list[n - 1] : SIZE_MAX;
    free(list);
    if (status == CLS_OK && failed) status = failed & 2 ? CLS_MEMORY : CLS_NUMERIC;
    return status;
}

enum { SHARDS = 16 };

/* Windows [begin, end) of the list: squares and gradient. weight: how often each row counts. */
static int shard(clsi_shooting *s, const size_t *list, size_t begin, size_t end,
                 const double *weight, double *seeds, double *sum, double *gradient) {
    for (size_t at = begin; at < end; at += CLSI_LANES) {
        size_t n = end - at < CLSI_LANES ? end - at : CLSI_LANES;
        const double *seed[CLSI_LANES];
        clsi_paths *paths = run_group(s, n, list + at);
        for (size_t i = 0; i < n; i++) {
            const clsi_window *w = &s->window[list[at + i]];
            size_t rows = clsi_target_rows(&s->target, w->intervals);
            for (size_t k = w->row; k < w->row + rows; k++) {
                seeds[k] = weight ? weight[k] * s->r[k] : s->r[k];
                *sum += seeds[k] * s->r[k];
            }
            seed[i] = seeds + w->row;
        }
        if (!isfinite(*sum) || !clsi_paths_adjoint(paths, seed, gradient)) return 0;
    }
    return 1;
}

static cls_status gradient_of(clsi_shooting *s, size_t count, size_t n, const size_t *list,
                              const double *weight, double *seeds, double *loss, double *gradient) {
    size_t P = s->target.n_theta, shards = (n + CLSI_LANES - 1) / CLSI_LANES;
    if (shards > SHARDS) shards = SHARDS;
    double sums[SHARDS] = {0}, *parts = clsi_calloc(SHARDS * P, sizeof *parts);
    int failed = 0;
    if (!parts) return CLS_MEMORY;
#pragma omp parallel for schedule(dynamic) reduction(| : failed) if (n > CLSI_LANES)
    for (size_t i = 0; i < shards; i++)
        failed |= !shard(s, list, n * i / shards, n * (i + 1) / shards, weight, seeds, &sums[i],
                         parts + i * P);
    *loss = 0;
    memset(gradient, 0, P * sizeof *gradient);
    for (size_t i = 0; i < shards; i++) {
        *loss += sums[i] / (2 * (double)count);
        for (size_t j = 0; j < P; j++) gradient[j] += parts[i * P + j] / (double)count;
    }
    if (failed) *loss = INFINITY;
    free(parts);
    return CLS_OK;
}

static cls_status problem_gradient(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *loss, double *gradient) {
    clsi_shooting *s = p->context;
    size_t *list = NULL, n = 0;
    turn_to(s, theta);
    double *seeds = clsi_calloc(s->n_rows, sizeof *seeds), *weight = NULL;
    if (rows && seeds) weight = clsi_calloc(s->n_rows, sizeof *weight);
    for (size_t i = 0; i < count && weight; i++) weight[rows[i]] += 1;
    cls_status status = seeds && (weight || !rows) ? make_paths(s) : CLS_MEMORY;
    if (status == CLS_OK) status = windows_of(s, count, rows, &list, &n);
    if (status == CLS_OK) status = gradient_of(s, count, n, list, weight, seeds, loss, gradient);
    free(list);
    free(seeds);
    free(weight);
    return status;
}

/* Rows of a window, when all have as many: batches are drawn window by window. */
static size_t rows_together(const clsi_shooting *s) {
    size_t rows = s->n_windows ? clsi_target_rows(&s->target, s->window[0].intervals) : 0;
    return rows * s->n_windows == s->n_rows && rows == s->target.most_rows ? rows : 0;
}

void clsi_shooting_problem(clsi_shooting *s, clsi_problem *out) {
    *out = (clsi_problem){.context = s,
                          .n_parameters = s->target.n_theta,
                          .n_rows = s->n_rows,
                          .group = rows_together(s),
                          .residual = problem_residual,
                          .jacobian = problem_jacobian,
                          .gradient = problem_gradient};
}
