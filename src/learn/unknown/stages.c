/* Energies first, exchange after them: learning where temperatures are hidden.
 *
 * With balances of heat (balances.c) the rows are affine in energies and frictions, and, once these
 * are known, in the coefficients of exchange; their product is in some rows. So
 *
 *   1  energies and frictions from the rows without exchange: forces, and the first law;
 *   2  coefficients of exchange from all rows, with the temperatures that follow from 1.
 *
 * Both are one least-squares solve. Between them stands what the data say about temperatures: forces
 * leave functions of the entropies alone free, the first law fixes them up to a common T0 (sum of all
 * S times T0), and T0 is seen only as far as entropy is made. Its standard error is found by
 * solving again with another mean: the sum of squares grows by (change/error)^2. Where the data
 * cannot tell, or would have a temperature below zero, the mean is set, and said.
 *
 * Rows may have outliers that are no noise (another's Newton iteration that stopped early, a kink).
 * Where the largest errors are much larger than the usual ones, rows are weighed again by
 * 1/(1 + (r/c)^2) (Cauchy), each kind of equation by its own usual error; that is kept when the
 * usual error in validation falls. */
#include "base/base.h"
#include "learn/learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As in solve.c. */
#define RCOND 1e-10

/* With more windows than that the solves see every second, third, ... of them. */
enum { BLOCK = 512, PROBES = 24, ROUNDS = 8, ENOUGH = 4000, PREFERRED = 200, BLOCKS = 4 };
static const double LIGHT = 1e-7; /* of the rows' own weight */

typedef struct stage {
    clsi_learner *w;
    unsigned char *equation, *column; /* (E), (P): which take part */
    double *robust;                   /* (training windows, E), NULL: one */
    double squares, rows;             /* of the solution: sum of squares, number of rows */
    double norm;                      /* sum of squares of all folded rows */
    size_t rank;
    size_t block; /* of BLOCKS, counted from 1: only its windows; 0: all */
} stage;

/* ---- which rows, which columns ---- */

/* Stage 1: rows without exchange; stage 2: those with it, and its columns. */
static size_t choose(stage *g, int second) {
    const clsi_residual *r = g->w->residual;
    const clsi_unknowns *us = r->unknowns;
    size_t columns = 0;
    for (size_t e = 0; e < r->n_equations; e++) {
        int exchanged = 0;
        for (size_t i = r->parts_start[e]; i < r->parts_start[e + 1]; i++)
            exchanged |= clsi_is_exchange(r, r->parts[i]);
        g->equation[e] = (unsigned char)(exchanged == second);
    }
    for (size_t k = 0; k < us->n; k = clsi_group_end(us, k)) {
        const clsi_learned *l = &us->list[k].learned;
        for (size_t j = 0; j < l->field->n_parameters; j++) {
            g->column[l->offset + j] = (unsigned char)(clsi_is_exchange(r, k) == second);
            columns += g->column[l->offset + j];
        }
    }
    return columns;
}

/* Are the rows affine in the columns? By second differences in a random direction. */
static int is_affine(const stage *g, const double *theta) {
    clsi_residual *r = g->w->residual;
    size_t P = r->unknowns->n_theta, E = r->n_equations, n = r->points->n_training;
    size_t count = (n < PROBES ? n : PROBES) * E;
    double *all = clsi_calloc(3 * count + 3 * P, sizeof *all), most = 0, size = 0;
    if (!all) return 0;
    double *at = all + 3 * count;
    cls_random random;
    cls_random_seed(&random, 1);
    for (size_t j = 0; j < P; j++) {
        double d = g->column[j] ? cls_random_normal(&random) : 0;
        at[j] = theta[j] + d;
        at[P + j] = theta[j];
        at[2 * P + j] = theta[j] - d;
    }
    int ok = 1;
    for (int k = 0; k < 3 && ok; k++)
        ok = clsi_residual_rows(r, at + (size_t)k * P, 0, count, NULL, all + (size_t)k * count,
                                NULL) == CLS_OK;
    for (size_t i = 0; i < count && ok; i++) {
        if (!g->equation[i % E]) continue;
        double a = all[i], b = all[count + i], c = all[2 * count + i];
        ok = isfinite(a + b + c);
        most = fmax(most, fabs(a - 2 * b + c));
        size = fmax(size, fabs(a) + fabs(b) + fabs(c));
    }
    free(all);
    return ok && most <= 1e-8 * size;
}

/* ---- one solve ---- */

/* The stage's rows of windows that are wanted, at most BLOCK windows from *window on. */
static size_t list_rows(const stage *g, size_t *window, size_t *list) {
    size_t E = g->w->residual->n_equations, n = g->w->points->n_training, count = 0;
    size_t stride = 1 + (n - 1) / ENOUGH;
    for (size_t k = 0; k < BLOCK && *window < n; k++, *window += stride)
        for (size_t e = 0; e < E; e++)
            if (g->equation[e] && (!g->block || *window * BLOCKS / n + 1 == g->block))
                list[count++] = *window * E + e;
    return count;
}

/* r + J (new - theta) = 0 for the columns of the stage. */
static cls_status fold(stage *g, const double *theta, clsi_lsq *q, double *J, double *r) {
    clsi_residual *residual = g->w->residual;
    size_t P = residual->unknowns->n_theta, window = 0, count;
    size_t *list = clsi_calloc(BLOCK * residual->n_equations, sizeof *list);
    cls_status status = list ? CLS_OK : clsi_no_memory(g->w->error);
    g->norm = 0;
    while (status == CLS_OK && window < g->w->points->n_training) {
        if (!(count = list_rows(g, &window, list))) continue;
        status = clsi_residual_rows(residual, theta, 0, count, list, r, J);
        for (size_t i = 0; i < count && status == CLS_OK; i++) {
            double weight = g->robust ? g->robust[list[i]] : 1, right = -r[i], *row = J + i * P;
            for (size_t j = 0; j < P; j++) {
                if (g->column[j]) right += row[j] * theta[j];
                row[j] = g->column[j] ? weight * row[j] : 0;
                g->norm += row[j] * row[j];
            }
            r[i] = weight * right;
        }
        if (status == CLS_OK) status = clsi_lsq_add(q, count, J, r, g->w->error);
    }
    free(list);
    return status;
}

/* Anchors and the scale, less what the other columns say already. */
static cls_status conditions(const stage *g, const double *theta, double *C, double *d, size_t *n) {
    clsi_learner *w = g->w;
    size_t P = w->unknowns->n_theta;
    cls_status status = CLS_OK;
    double pv;
    size_t all = clsi_anchors_count(w->anchors) + (size_t)w->info->normalised;
    *n = 0;
    for (size_t i = 0; i < all && status == CLS_OK; i++) {
        double *row = C + *n * P, any = 0;
        if (i < clsi_anchors_count(w->anchors))
            status = clsi_anchors_constraint(w->anchors, i, row, &d[*n], w->error);
        else
            status = clsi_residual_scale(w->residual, NULL, 0, row, &pv, &d[*n]);
        for (size_t j = 0; j < P; j++) {
            if (!g->column[j]) d[*n] -= row[j] * theta[j], row[j] = 0;
            any += fabs(row[j]);
        }
        *n += any > 0;
    }
    return status;
}

/* The stage's columns of theta from the folded rows, with n conditions. */
static cls_status solve(stage *g, clsi_lsq *q, size_t n, const double *C, const double *d,
                        double *theta) {
    clsi_learner *w = g->w;
    size_t P = w->unknowns->n_theta, k = 0, *columns = clsi_calloc(P, sizeof *columns);
    double *few = clsi_calloc(n * P, sizeof *few);
    clsi_lsq *with = NULL;
    clsi_lsq_info found = {0};
    cls_status status = columns && few ? CLS_OK : clsi_no_memory(w->error);
    for (size_t j = 0; j < P && status == CLS_OK; j++)
        if (g->column[j]) columns[k++] = j;
    for (size_t i = 0; i < n && status == CLS_OK; i++)
        for (size_t j = 0; j < k; j++) few[i * k + j] = C[i * P + columns[j]];
    if (status == CLS_OK) status = clsi_lsq_subset(q, k, columns, n, few, d, &with, w->error);
    if (status == CLS_OK)
        status = clsi_solve_columns(with, RCOND, w->unknowns, w->points, k, columns, theta, &found,
                                    &w->info->negative, &w->info->kkt, w->error);
    g->rows = (double)found.rows;
    g->squares = found.residual * found.residual * g->rows;
    g->rank = found.rank;
    w->info->condition = fmax(w->info->condition, found.condition);
    clsi_lsq_free(&with);
    free(columns);
    free(few);
    return status;
}

/* ---- outliers ---- */

/* Median of |r| over equation e of the windows [first, last). */
static double usual(const stage *g, const double *r, size_t first, size_t last, size_t e,
                    double *room) {
    size_t E = g->w->residual->n_equations;
    for (size_t k = first; k < last; k++) room[k - first] = fabs(r[k * E + e]);
    return clsi_median(last - first, room);
}

/* Rows of all windows at theta. */
static cls_status all_rows(const stage *g, const double *theta, double *r) {
    const clsi_residual *residual = g->w->residual;
    size_t count = residual->points->n_windows * residual->n_equations;
    return clsi_residual_rows(residual, theta, 0, count, NULL, r, NULL);
}

/* Usual errors of the stage's equations in validation (training where there is none), as one
 * number: their geometric mean. */
static double judge(const stage *g, const double *r, double *room) {
    const clsi_points *p = g->w->points;
    size_t first = p->n_windows > p->n_training ? p->n_training : 0, n = 0;
    double sum = 0;
    for (size_t e = 0; e < g->w->residual->n_equations; e++)
        if (g->equation[e]) {
            sum += log(usual(g, r, first, p->n_windows, e, room) + 1e-300);
            n++;
        }
    return exp(sum / (double)(n ? n : 1));
}

double clsi_learner_usual(clsi_learner *w) {
    const clsi_residual *r = w->residual;
    size_t E = r->n_equations, n = r->points->n_windows;
    double *rows = clsi_calloc(n * E, sizeof *rows), *room = clsi_calloc(n, sizeof *room);
    stage g = {.w = w, .equation = clsi_calloc(E, 1)};
    double found = INFINITY;
    if (rows && room && g.equation && all_rows(&g, w->theta, rows) == CLS_OK) {
        for (size_t e = 0; e < E; e++) {
            int k = r->hidden ? clsi_exchange_of(r, e) : -1;
            g.equation[e] = 1;
            for (size_t i = 0; k >= 0 && i < n; i++)
                rows[i * E + e] /= clsi_exchange_value(r, (size_t)k, w->theta, i);
        }
        found = judge(&g, rows, room);
    }
    free(rows);
    free(room);
    free(g.equation);
    return found;
}

static const double CAUCHY = 2.385, TAIL = 2; /* efficient on normal errors; rms by usual error */

/* Weights of the training rows from their errors; is there any reason for them? */
static int weigh(const stage *g, const double *r, double *robust, double *room) {
    size_t E = g->w->residual->n_equations, n = g->w->points->n_training;
    int tails = 0;
    for (size_t e = 0; e < E; e++) {
        if (!g->equation[e]) continue;
        double squares = 0, size = 1.4826 * usual(g, r, 0, n, e, room);
        for (size_t k = 0; k < n; k++) squares += r[k * E + e] * r[k * E + e] / (double)n;
        size = fmax(size, 1e-8 * sqrt(squares));
        if (!(size > 0)) size = 1;
        tails |= sqrt(squares) > TAIL * size;
        for (size_t k = 0; k < n; k++) {
            double x = r[k * E + e] / (CAUCHY * size);
            robust[k * E + e] = 1 / (size * sqrt(1 + x * x));
        }
    }
    return tails;
}

/* ---- together ---- */

typedef struct room {
    double *J, *r, *C, *d, *rows, *sorted, *robust, *kept;
    clsi_lsq *q;
} room;

static void room_free(room *m) {
    free(m->J), free(m->r), free(m->C), free(m->d), free(m->rows), free(m->sorted);
    free(m->robust), free(m->kept);
    clsi_lsq_free(&m->q);
}

static cls_status room_open(const clsi_learner *w, room *m) {
    size_t P = w->unknowns->n_theta, E = w->residual->n_equations, n = w->points->n_windows;
    size_t most = clsi_anchors_count(w->anchors) + 1 + w->residual->m;
    *m = (room){.J = clsi_calloc(BLOCK * E * P, sizeof(double)),
                .r = clsi_calloc(BLOCK * E, sizeof(double)),
                .C = clsi_calloc(most * P, sizeof(double)),
                .d = clsi_calloc(most, sizeof(double)),
                .rows = clsi_calloc(n * E, sizeof(double)),
                .sorted = clsi_calloc(n, sizeof(double)),
                .robust = clsi_calloc(n * E, sizeof(double)),
                .kept = clsi_calloc(P, sizeof(double))};
    int whole = m->J && m->r && m->C && m->d && m->rows && m->sorted && m->robust && m->kept;
    return whole ? CLS_OK : clsi_no_memory(w->error);
}

static cls_status fold_anew(stage *g, room *m, const double *theta) {
    clsi_lsq_free(&m->q);
    cls_status status = clsi_lsq_create(g->w->unknowns->n_theta, 0, NULL, NULL, &m->q, g->w->error);
    return status == CLS_OK ? fold(g, theta, m->q, m->J, m->r) : status;
}

/* Solves, and again with weights that outliers get while that helps. n conditions stand in m. */
static cls_status solve_robustly(stage *g, room *m, size_t n, double *theta, int *robust) {
    size_t P = g->w->unknowns->n_theta;
    g->robust = NULL;
    *robust = 0;
    cls_status status = fold_anew(g, m, theta);
    if (status == CLS_OK) status = solve(g, m->q, n, m->C, m->d, theta);
    if (status == CLS_OK) status = all_rows(g, theta, m->rows);
    if (status != CLS_OK || g->w->draft || !weigh(g, m->rows, m->robust, m->sorted)) return status;
    double best = judge(g, m->rows, m->sorted);
    memcpy(m->kept, theta, P * sizeof *theta);
    double now = best, last = INFINITY;
    for (int round = 0; round < ROUNDS && status == CLS_OK && now < 0.97 * last; round++) {
        if (clsi_learner_hurry(g->w)) break;
        g->robust = m->robust;
        status = fold_anew(g, m, theta);
        if (status == CLS_OK) status = solve(g, m->q, n, m->C, m->d, theta);
        if (status == CLS_OK) status = all_rows(g, theta, m->rows);
        if (status == CLS_OK) weigh(g, m->rows, m->robust, m->sorted);
        last = now;
        now = judge(g, m->rows, m->sorted);
    }
    if (status != CLS_OK) return status;
    *robust = now < best;
    if (*robust) return CLS_OK; /* m->q has the weights */
    g->robust = NULL;
    memcpy(theta, m->kept, P * sizeof *theta);
    status = fold_anew(g, m, theta);
    return status == CLS_OK ? solve(g, m->q, n, m->C, m->d, theta) : status;
}

/* Among energies that fit equally well the one whose temperatures are nearest to `mean`: rows that
 * are too light to be felt by anything that the data do tell. */
static cls_status prefer(stage *g, room *m, const clsi_temperatures *t, size_t root, double mean,
                         double *theta) {
    clsi_learner *w = g->w;
    size_t P = w->unknowns->n_theta, n = w->points->n_data, stride = 1 + n / PREFERRED;
    double *row = clsi_calloc(P, sizeof *row), size = 0;
    cls_status status = row ? fold_anew(g, m, theta) : clsi_no_memory(w->error);
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < n && status == CLS_OK; k += stride)
            for (size_t i = root; i < w->residual->m && status == CLS_OK; i++) {
                if (clsi_temperatures_root(t, i) != root) continue;
                clsi_temperatures_row(t, theta, i, k, row);
                double light = LIGHT * sqrt(g->norm / (size + 1e-300)), right = light * mean;
                for (size_t j = 0; j < P && !pass; j++) size += row[j] * row[j];
                for (size_t j = 0; j < P && pass; j++) row[j] *= g->column[j] ? light : 0;
                if (pass) status = clsi_lsq_add(m->q, 1, row, &right, w->error);
            }
    free(row);
    return status;
}

/* The mean temperature that some of the rows say, or all of them with other weights. */
static cls_status mean_of(stage *part, room *m, size_t n, const clsi_temperatures *t, size_t root,
                          const double *theta, double *own, double *mean) {
    size_t P = part->w->unknowns->n_theta;
    memcpy(own, theta, P * sizeof *own);
    cls_status status = fold_anew(part, m, own);
    if (status == CLS_OK) status = solve(part, m->q, n, m->C, m->d, own);
    if (status == CLS_OK) *mean = clsi_temperatures_at(t, own, root, own + P).mean;
    return status;
}

/* The standard error of the mean temperature by the scatter between BLOCKS of the data: what rows
 * have in common (energies that drift) is not in their usual errors. What all rows have in common is not
 * in that, either; the weights of a robust fit change its share, and so does what they change belong to
 * the error. */
static cls_status scatter(stage *g, room *m, size_t n, const clsi_temperatures *t, size_t root,
                          const double *theta, double *error) {
    double *own = clsi_calloc(2 * g->w->unknowns->n_theta, sizeof *own), sum = 0, squares = 0;
    if (!own) return clsi_no_memory(g->w->error);
    double now = clsi_temperatures_at(t, theta, root, own).mean, mean = now;
    stage part = *g;
    cls_status status = CLS_OK;
    for (part.block = 1; part.block <= BLOCKS && status == CLS_OK; part.block++) {
        status = mean_of(&part, m, n, t, root, theta, own, &mean);
        sum += mean / BLOCKS;
        squares += mean * mean / BLOCKS;
    }
    part.block = 0;
    part.robust = NULL;
    mean = now;
    if (g->robust && status == CLS_OK) status = mean_of(&part, m, n, t, root, theta, own, &mean);
    *error = hypot(sqrt(fmax(0, squares - sum * sum) / (BLOCKS - 1)), mean - now);
    if (status == CLS_OK) status = fold_anew(g, m, theta);
    free(own);
    return status;
}

/* What the data say about the temperatures that belong together; sets their mean where they do
 * not. */
static cls_status find_temperature(stage *g, room *m, size_t *n, const clsi_temperatures *t,
                                   size_t root, double *theta) {
    clsi_learner *w = g->w;
    size_t P = w->unknowns->n_theta;
    double *row = m->C + *n * P, before = g->squares, rows = g->rows - (double)g->rank;
    clsi_warmth found = clsi_temperatures_at(t, theta, root, row);
    double spread = fmax(found.mean - found.low, found.high - found.mean);
    double change = fmax(fabs(found.mean), spread), error = INFINITY;
    const char *name = w->unknowns->s->temperature[root].name;
    if (!(change > 0)) change = 1;
    memcpy(m->kept, theta, P * sizeof *theta);
    m->d[*n] = found.mean + change;
    cls_status status = solve(g, m->q, *n + 1, m->C, m->d, theta);
    if (status == CLS_NUMERIC) { /* no parameter moves it */
        if (w->error) w->error->message[0] = '\0';
        status = CLS_OK;
    } else if (status == CLS_OK && g->squares > before * (1 + 1e-9)) {
        error = change * sqrt(before / fmax(rows, 1) / (g->squares - before));
    }
    memcpy(theta, m->kept, P * sizeof *theta);
    g->squares = before;
    if (status == CLS_OK && isfinite(error) && !w->draft) {
        double between = 0;
        status = scatter(g, m, *n, t, root, theta, &between);
        error = fmax(error, between);
    }
    if (status != CLS_OK) return status;
    if (root == 0) {
        w->info->temperature = found.mean;
        w->info->temperature_error = error;
    }
    if (error < 0.5 * found.mean && found.low > 0) {
        clsi_learner_note(w,
                          "temperature %s: mean %.4g +- %.2g, from %.4g to %.4g, as the data say",
                          name, found.mean, error, found.low, found.high);
        return CLS_OK;
    }
    double mean = spread > 1e-9 * fabs(found.mean) ? 2 * (found.mean - found.low) : 1;
    if (found.low > 0 && isfinite(error)) mean = found.mean; /* doubtful, but possible */
    for (int tries = 0; tries < 5 && status == CLS_OK; tries++, mean *= 8) {
        status = prefer(g, m, t, root, mean, theta);
        if (status == CLS_OK) status = solve(g, m->q, *n, m->C, m->d, theta);
        if (status == CLS_OK && clsi_temperatures_at(t, theta, root, m->kept).low > 0) break;
    }
    clsi_learner_note(w,
                      "temperature %s: the data cannot tell its origin (mean %.3g +- %.2g): a mean "
                      "of %.4g was taken; `anchor d E / d S = ... at ...` sets another",
                      name, found.mean, error, mean);
    return status;
}

static cls_status find_temperatures(stage *g, room *m, size_t n, double *theta) {
    clsi_temperatures *t = NULL;
    clsi_learner *w = g->w;
    const clsi_residual *r = w->residual;
    cls_status status = clsi_temperatures_create(r, &t, w->error);
    unsigned char *hidden = clsi_calloc(r->m + 1, 1);
    if (status == CLS_OK && !hidden) status = clsi_no_memory(w->error);
    if (status == CLS_OK)
        status = clsi_find_hidden(w->unknowns, r->m, r->unknowns->s->S, hidden, w->error);
    for (size_t i = 0; i < r->m && status == CLS_OK; i++)
        if (clsi_temperatures_root(t, i) == i && hidden[i])
            status = find_temperature(g, m, &n, t, i, theta);
    free(hidden);
    clsi_temperatures_free(&t);
    return status;
}

static int is_exponential(const clsi_unknowns *us) {
    for (size_t k = 0; k < us->n; k++)
        if (us->list[k].learned.exponential) return 1;
    return 0;
}

/* The steps of a scheme have the scalings of their inputs compiled in. */
static cls_status make_late(clsi_learner *w, const double *theta) {
    int late = 0;
    for (size_t k = 0; k < w->unknowns->n; k++) late |= w->unknowns->list[k].late;
    cls_status status = clsi_late_inputs(w->unknowns, w->residual, theta, w->error);
    if (status != CLS_OK || !late || !w->residual->step) return status;
    clsi_residual_free(&w->residual);
    status = clsi_residual_create(w->points, w->unknowns, &w->residual, w->error);
    return status == CLS_OK ? clsi_learner_weights(w) : status;
}

static cls_status run_exchange(stage *g, room *m, double *theta) {
    clsi_learner *w = g->w;
    size_t n, columns = choose(g, 1);
    int robust;
    if (!columns) return CLS_OK;
    cls_status status = make_late(w, theta);
    if (status == CLS_OK && is_exponential(w->unknowns)) {
        w->info->rank += columns;
        return clsi_solve_exchange(w, g->equation, g->column, theta);
    }
    if (status == CLS_OK) status = conditions(g, theta, m->C, m->d, &n);
    if (status == CLS_OK) status = solve_robustly(g, m, n, theta, &robust);
    w->info->rank += g->rank;
    return status;
}

static cls_status run(stage *g, room *m, double *theta) {
    clsi_learner *w = g->w;
    size_t n;
    int robust;
    size_t columns = choose(g, 0);
    cls_status status = conditions(g, theta, m->C, m->d, &n);
    if (status == CLS_OK && columns) status = solve_robustly(g, m, n, theta, &robust);
    if (status == CLS_OK && robust)
        clsi_learner_note(w, "outliers: rows with large errors count less (Cauchy weights); the "
                             "usual error in validation is smaller so");
    if (status == CLS_OK) w->info->rank = g->rank;
    if (status == CLS_OK) status = find_temperatures(g, m, n, theta);
    return status == CLS_OK ? run_exchange(g, m, theta) : status;
}

int clsi_is_staged(const clsi_learner *learner) {
    clsi_learner copy = *learner, *w = &copy;
    const clsi_residual *r = w->residual;
    size_t P = w->unknowns->n_theta;
    if (!r->hidden) return 0;
    stage g = {.w = w};
    double *zero = clsi_calloc(P, sizeof *zero);
    g.equation = clsi_calloc(r->n_equations, 1);
    g.column = clsi_calloc(P, 1);
    int staged = zero && g.equation && g.column;
    /* what exchanges heat is affine by its form, or has its own way (exchange.c) */
    if (staged && choose(&g, 0)) staged = is_affine(&g, zero);
    free(zero);
    free(g.equation);
    free(g.column);
    return staged;
}

cls_status clsi_solve_staged(clsi_learner *w) {
    size_t P = w->unknowns->n_theta;
    stage g = {.w = w};
    room m = {0};
    g.equation = clsi_calloc(w->residual->n_equations, 1);
    g.column = clsi_calloc(P, 1);
    memset(w->theta, 0, P * sizeof *w->theta);
    w->info->condition = 0;
    cls_status status = g.equation && g.column ? room_open(w, &m) : clsi_no_memory(w->error);
    if (status == CLS_OK) status = run(&g, &m, w->theta);
    if (status == CLS_OK) w->info->nullity = P > w->info->rank ? P - w->info->rank : 0;
    room_free(&m);
    free(g.equation);
    free(g.column);
    return status;
}
