/* Coefficients that exchange heat, learned through their logarithms.
 *
 * With the temperatures known (stages.c) a balance of two entropies reads  flow - kappa drop = 0. The
 * flow comes from entropies that were measured, the drop is a small difference of temperatures that
 * were learned: the errors are in the drop, and where conduction is strong they are all there is
 * of it. So rows are divided by kappa, errors of the drop in the place of errors of the flow:
 *
 *     r(phi) exp(-phi),     kappa = exp(phi),  phi linear in its parameters,
 *
 * minimised by Gauss-Newton steps with damping from a constant kappa = |flow|/|drop|, with Cauchy
 * weights for outliers. Where several coefficients share a row it is not divided. */
#include "base/base.h"
#include "learn/learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 40, ROUNDS = 4, BLOCK = 256, ENOUGH = 1500 }; /* windows that are looked at */

void clsi_find_exchange(clsi_residual *r) {
    const cls_system *s = r->unknowns->s;
    for (size_t k = 0; k < r->unknowns->n; k++) {
        clsi_part_kind kind = r->unknowns->list[k].kind;
        r->exchange[k] = kind == CLSI_PART_HEAT || kind == CLSI_PART_COUPLING;
    }
    for (size_t e = 0; e < r->n_equations; e++) {
        int balance = r->step ? clsi_step_rows_state(r->step, e) >= s->nq + s->n
                              : e >= r->n && e < r->n + r->m;
        for (size_t i = r->parts_start[e]; i < r->parts_start[e + 1] && !balance; i++)
            r->exchange[r->parts[i]] = 0;
    }
}

int clsi_is_exchange(const clsi_residual *r, size_t k) {
    return r->exchange[k];
}

int clsi_exchange_of(const clsi_residual *r, size_t e) {
    int found = -1;
    for (size_t i = r->parts_start[e]; i < r->parts_start[e + 1]; i++) {
        if (!clsi_is_exchange(r, r->parts[i])) continue;
        if (found >= 0) return -1;
        found = (int)r->parts[i];
    }
    return found;
}

static size_t middle_of(const clsi_points *p, size_t w) {
    size_t at[CLSI_MOST_WIDTH];
    clsi_window_points(p, w, at);
    return at[p->width / 2];
}

/* phi of part k there. */
static double field_at(const clsi_residual *r, size_t k, const double *theta, size_t w) {
    const clsi_unknown *u = &r->unknowns->list[k];
    const clsi_learned *l = &u->learned;
    double value;
    l->field->kind->evaluate(l->field, theta + l->offset, 1, u->x + middle_of(r->points, w) * l->d,
                             &value, NULL, NULL);
    return value;
}

double clsi_exchange_value(const clsi_residual *r, size_t k, const double *theta, size_t w) {
    const clsi_learned *l = &r->unknowns->list[k].learned;
    double phi = field_at(r, k, theta, w);
    return l->scale * (l->exponential ? exp(phi) : phi);
}

/* ---- a damped Gauss-Newton step after the other ---- */

typedef struct fit {
    clsi_learner *w;
    size_t n, *at;         /* columns of the fit */
    size_t n_list, *list;  /* its rows */
    int *part;             /* (E): what a row is divided by, or -1 */
    double *robust, *rows; /* (n_list): weights, divided rows */
    double *r, *J;         /* a block: (BLOCK), (BLOCK, P) */
    double *A, *g, *d;     /* (n, n), (n), (n) */
    double *trial;
} fit;

/* The divided row and, when wanted, its derivative (n) over the columns of the fit. */
static double divided(const fit *f, const double *theta, size_t w, size_t e, double r,
                      const double *J, double *out) {
    const clsi_residual *residual = f->w->residual;
    int k = f->part[e];
    double factor = k < 0 ? 1 : exp(-field_at(residual, (size_t)k, theta, w));
    if (out)
        for (size_t j = 0; j < f->n; j++) out[j] = factor * J[f->at[j]];
    if (out && k >= 0) {
        const clsi_unknown *u = &residual->unknowns->list[k];
        const clsi_learned *l = &u->learned;
        double *row = f->trial, minus = -factor * r; /* borrowed: (P) */
        memset(row, 0, residual->unknowns->n_theta * sizeof *row);
        l->field->kind->rows(l->field, NULL, 1, u->x + middle_of(residual->points, w) * l->d,
                             &minus, NULL, 0, row + l->offset, NULL);
        for (size_t j = 0; j < f->n; j++) out[j] += row[f->at[j]];
    }
    return factor * r;
}

/* Half the sum of squares; with A and g its normal equations. `rows`: the unweighted ones. */
static double evaluate(const fit *f, const double *theta, int normal) {
    const clsi_residual *residual = f->w->residual;
    size_t E = residual->n_equations, P = residual->unknowns->n_theta, n = f->n;
    double sum = 0, *row = f->d;
    if (normal) {
        memset(f->A, 0, n * n * sizeof *f->A);
        memset(f->g, 0, n * sizeof *f->g);
    }
    for (size_t at = 0; at < f->n_list; at += BLOCK) {
        size_t count = f->n_list - at < BLOCK ? f->n_list - at : BLOCK;
        const size_t *list = f->list + at;
        if (clsi_residual_rows(residual, theta, 0, count, list, f->r, normal ? f->J : NULL))
            return INFINITY;
        for (size_t i = 0; i < count; i++) {
            double value = divided(f, theta, list[i] / E, list[i] % E, f->r[i], f->J + i * P,
                                   normal ? row : NULL);
            double weight = f->robust[at + i];
            f->rows[at + i] = value;
            sum += weight * value * value / 2;
            for (size_t a = 0; a < n && normal; a++) {
                f->g[a] += weight * value * row[a];
                for (size_t b = 0; b <= a; b++) f->A[a * n + b] += weight * row[a] * row[b];
            }
        }
    }
    return isfinite(sum) ? sum : INFINITY;
}

/* (A + damping diag A) d = -g by Cholesky; 0: not positive. */
static int step_of(const fit *f, double damping, double *L) {
    size_t n = f->n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = f->A[i * n + j];
            if (i == j) sum += damping * sum + 1e-300;
            for (size_t k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            if (i == j && !(sum > 0)) return 0;
            L[i * n + j] = i == j ? sqrt(sum) : sum / L[j * n + j];
        }
    }
    for (size_t i = 0; i < n; i++) {
        f->d[i] = -f->g[i];
        for (size_t k = 0; k < i; k++) f->d[i] -= L[i * n + k] * f->d[k];
        f->d[i] /= L[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) f->d[i] -= L[k * n + i] * f->d[k];
        f->d[i] /= L[i * n + i];
    }
    return 1;
}

static cls_status minimise(const fit *f, double *theta) {
    size_t n = f->n, P = f->w->unknowns->n_theta;
    double *L = clsi_calloc(n * n + P, sizeof *L), *next = L + n * n, damping = 1e-3;
    if (!L) return clsi_no_memory(f->w->error);
    double now = evaluate(f, theta, 1);
    for (int i = 0; i < STEPS && damping < 1e12; i++) {
        memcpy(next, theta, P * sizeof *next);
        if (step_of(f, damping, L))
            for (size_t j = 0; j < n; j++) next[f->at[j]] += f->d[j];
        double after = evaluate(f, next, 0);
        if (!(after < now)) {
            damping *= 10;
            continue;
        }
        double gain = (now - after) / now;
        memcpy(theta, next, P * sizeof *next);
        now = evaluate(f, theta, 1);
        damping *= 0.1;
        if (gain < 1e-12) break;
    }
    free(L);
    return CLS_OK;
}

/* ---- where it begins ---- */

/* Parameters of part k at which phi is one everywhere (in the middle of all windows). */
static cls_status constant_field(const clsi_learner *w, size_t k, double *theta) {
    const clsi_residual *r = w->residual;
    const clsi_unknown *u = &r->unknowns->list[k];
    const clsi_learned *l = &u->learned;
    size_t n = l->field->n_parameters, windows = r->points->n_training;
    clsi_lsq *q = NULL;
    clsi_lsq_info found;
    double *row = clsi_calloc(n, sizeof *row), one;
    cls_status status =
        row ? clsi_lsq_create(n, 0, NULL, NULL, &q, w->error) : clsi_no_memory(w->error);
    for (size_t i = 0; i < windows && status == CLS_OK; i += 1 + windows / 1000) {
        memset(row, 0, n * sizeof *row);
        one = 1;
        l->field->kind->rows(l->field, NULL, 1, u->x + middle_of(r->points, i) * l->d, &one, NULL,
                             0, row, NULL);
        status = clsi_lsq_add(q, 1, row, &one, w->error);
    }
    if (status == CLS_OK)
        status = clsi_lsq_solve(q, 1e-10, 0, NULL, NULL, theta, &found, NULL, w->error);
    clsi_lsq_free(&q);
    free(row);
    return status;
}

/* kappa next to nothing and kappa = 1 say what flow and drop are. */
static const double NOTHING = -690;

static cls_status begin(const fit *f, double *theta) {
    clsi_learner *w = f->w;
    const clsi_residual *r = w->residual;
    size_t E = r->n_equations, n = r->points->n_training;
    double *rows = clsi_calloc(2 * n * E, sizeof *rows);
    cls_status status = rows ? CLS_OK : clsi_no_memory(w->error);
    for (size_t k = 0; k < r->unknowns->n && status == CLS_OK; k++) {
        const clsi_learned *l = &r->unknowns->list[k].learned;
        if (!l->exponential || !clsi_is_exchange(r, k)) continue;
        double *own = theta + l->offset, flow = 0, drop = 0;
        status = constant_field(w, k, own);
        for (size_t j = 0; j < l->field->n_parameters; j++) own[j] *= NOTHING;
        if (status == CLS_OK) status = clsi_residual_rows(r, theta, 0, n * E, NULL, rows, NULL);
        memset(own, 0, l->field->n_parameters * sizeof *own);
        if (status == CLS_OK)
            status = clsi_residual_rows(r, theta, 0, n * E, NULL, rows + n * E, NULL);
        for (size_t i = 0; i < n * E && status == CLS_OK; i++) {
            if (!clsi_contains(r, i % E, k)) continue;
            flow += rows[i] * rows[i];
            drop += (rows[n * E + i] - rows[i]) * (rows[n * E + i] - rows[i]);
        }
        if (status == CLS_OK) status = constant_field(w, k, own);
        double c = flow > 0 && drop > 0 ? log(flow / drop) / 2 : 0;
        for (size_t j = 0; j < l->field->n_parameters; j++) own[j] *= c;
    }
    free(rows);
    return status;
}

/* ---- outliers ---- */

static void weigh(const fit *f, double *room) {
    size_t E = f->w->residual->n_equations;
    for (size_t e = 0; e < E; e++) {
        size_t n = 0;
        for (size_t i = 0; i < f->n_list; i++)
            if (f->list[i] % E == e) room[n++] = fabs(f->rows[i]);
        double largest = 0;
        for (size_t i = 0; i < n; i++) largest = fmax(largest, room[i]);
        double size = 2.385 * 1.4826 * fmax(clsi_median(n, room), 1e-8 * largest);
        for (size_t i = 0; i < f->n_list && size > 0; i++) {
            double x = f->rows[i] / size;
            if (f->list[i] % E == e) f->robust[i] = 1 / (1 + x * x);
        }
    }
}

cls_status clsi_solve_exchange(clsi_learner *w, const unsigned char *equation,
                               const unsigned char *column, double *theta) {
    const clsi_residual *r = w->residual;
    size_t P = w->unknowns->n_theta, E = r->n_equations, windows = r->points->n_training;
    fit f = {.w = w};
    f.at = clsi_calloc(P, sizeof *f.at);
    f.part = clsi_calloc(E, sizeof *f.part);
    f.list = clsi_calloc((windows < ENOUGH ? windows : ENOUGH) * E + E, sizeof *f.list);
    for (size_t j = 0; f.at && j < P; j++)
        if (column[j]) f.at[f.n++] = j;
    for (size_t e = 0; f.part && e < E; e++) f.part[e] = clsi_exchange_of(r, e);
    for (size_t k = 0; f.list && k < windows; k += 1 + (windows - 1) / ENOUGH)
        for (size_t e = 0; e < E; e++)
            if (equation[e]) f.list[f.n_list++] = k * E + e;
    size_t size = 3 * f.n_list + BLOCK * (P + 1) + f.n * f.n + f.n + 2 * P;
    double *all = clsi_calloc(size, sizeof *all), *room = all;
    cls_status status = f.at && f.part && f.list && all ? CLS_OK : clsi_no_memory(w->error);
    if (status == CLS_OK) {
        f.robust = room + f.n_list;
        f.rows = f.robust + f.n_list;
        f.r = f.rows + f.n_list;
        f.J = f.r + BLOCK;
        f.A = f.J + BLOCK * P;
        f.g = f.A + f.n * f.n;
        f.d = f.g + f.n;
        f.trial = f.d + P;
        for (size_t i = 0; i < f.n_list; i++) f.robust[i] = 1;
        status = begin(&f, theta);
    }
    for (int round = 0; round < ROUNDS && status == CLS_OK; round++) {
        status = minimise(&f, theta);
        if (status == CLS_OK) weigh(&f, room);
    }
    free(all);
    free(f.at);
    free(f.part);
    free(f.list);
    return status;
}
