/* Positivity of linear frictions and conductances as inequalities of the least-squares problem.
 *
 * A coefficient lambda = sum theta_a phi_a has to be positive. Where the plain solution is negative
 * at the data, the worst of those points become inequalities lambda(x_i) >= 0 and the (convex)
 * problem is solved again, until none is left or the rounds are over; what remains negative
 * anywhere is made positive by form when the model is built (docs/physics/structure.md). */
#include "base/base.h"
#include "learn/learn.h"
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, PER_ROUND = 40, MOST = 64 };

/* For F = -L v the bound is -F.v/v.v = sum_ab v_a v_b L_ab/v.v >= 0; where v is no datum (a
 * hamiltonian) the form alone keeps it. */
static int is_bound(const clsi_unknowns *us, const clsi_unknown *u) {
    if (u->learned.form == CLSI_MATRIX)
        return u->learned.slot == 0 && us->s->formalism == CLS_THERMAL_LAGRANGIAN;
    return !u->nonlinear && !u->learned.exponential &&
           (u->kind == CLSI_PART_FRICTION || u->kind == CLSI_PART_HEAT);
}

/* The fields that a bound is made of: the one field, or all entries of L. */
static size_t fields_of(const clsi_unknowns *us, const clsi_unknown *u) {
    return u->learned.form == CLSI_MATRIX ? clsi_field_count(us->s, u->learned.part, u->kind, NULL)
                                          : 1;
}

/* v_a v_b/v.v at a datum, twice that above the diagonal. */
static double factor_of(const clsi_unknowns *us, const clsi_unknown *u, const clsi_points *p,
                        size_t i) {
    const cls_system *s = us->s;
    if (u->learned.form != CLSI_MATRIX) return 1;
    size_t on[MOST], n = clsi_part_acts_on(s, u->learned.part, NULL);
    if (n > MOST) return 0; /* the form alone keeps it */
    (void)clsi_part_acts_on(s, u->learned.part, on);
    size_t a = u->learned.slot, b = a;
    if (a >= n) { /* above the diagonal, row by row */
        size_t left = a - n;
        for (a = 0; left >= n - 1 - a; a++) left -= n - 1 - a;
        b = a + 1 + left;
    }
    const double *v = p->z + s->nq * p->n + i;
    double square = 1e-300;
    for (size_t j = 0; j < n; j++) square += v[on[j] * p->n] * v[on[j] * p->n];
    return (a == b ? 1 : 2) * v[on[a] * p->n] * v[on[b] * p->n] / square;
}

typedef struct worst {
    size_t n, unknown[PER_ROUND], point[PER_ROUND];
    double value[PER_ROUND];
} worst;

/* Keeps the PER_ROUND most negative values, relative to nothing: they share a unit. */
static void keep_worst(worst *w, size_t unknown, size_t point, double value) {
    size_t at = w->n;
    if (w->n == PER_ROUND) {
        at = 0;
        for (size_t i = 1; i < w->n; i++)
            if (w->value[i] > w->value[at]) at = i;
        if (value >= w->value[at]) return;
    } else {
        w->n++;
    }
    w->unknown[at] = unknown;
    w->point[at] = point;
    w->value[at] = value;
}

static cls_status find_worst(const clsi_unknowns *us, const clsi_points *p, const double *theta,
                             worst *w, size_t *negative, cls_error *error) {
    double *value = clsi_calloc(2 * p->n, sizeof *value), *sum = value + p->n;
    if (!value) return clsi_no_memory(error);
    w->n = *negative = 0;
    for (size_t k = 0; k < us->n; k++) {
        if (!is_bound(us, &us->list[k])) continue;
        memset(sum, 0, p->n * sizeof *sum);
        for (size_t j = 0; j < fields_of(us, &us->list[k]); j++) {
            const clsi_unknown *u = &us->list[k + j];
            const clsi_field *f = u->learned.field;
            f->kind->evaluate(f, theta + u->learned.offset, p->n, u->x, value, NULL, NULL);
            for (size_t i = 0; i < p->n_data; i++) sum[i] += factor_of(us, u, p, i) * value[i];
        }
        for (size_t i = 0; i < p->n_data; i++) {
            if (sum[i] >= 0) continue;
            ++*negative;
            keep_worst(w, k, i, sum[i]);
        }
    }
    free(value);
    return CLS_OK;
}

static void add_rows(const clsi_unknowns *us, const clsi_points *p, const worst *w, double *E) {
    memset(E, 0, w->n * us->n_theta * sizeof *E);
    for (size_t i = 0; i < w->n; i++)
        for (size_t j = 0; j < fields_of(us, &us->list[w->unknown[i]]); j++) {
            const clsi_unknown *u = &us->list[w->unknown[i] + j];
            const clsi_learned *l = &u->learned;
            double factor = factor_of(us, u, p, w->point[i]);
            l->field->kind->rows(l->field, NULL, 1, u->x + w->point[i] * l->d, &factor, NULL, 0,
                                 E + i * us->n_theta + l->offset, NULL);
        }
}

/* Of rows over all parameters those of the columns, in place. */
static void gather(size_t rows, size_t n_theta, size_t n, const size_t *columns, double *E) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < n; j++) E[i * n + j] = E[i * n_theta + columns[j]];
}

/* The inequalities F x >= f (n) hold from the beginning. */
static cls_status solve(clsi_lsq *q, double rcond, const clsi_unknowns *us, const clsi_points *p,
                        size_t n_columns, const size_t *columns, size_t n, const double *F,
                        const double *f, double *theta, clsi_lsq_info *found, size_t *negative,
                        double *kkt, cls_error *error) {
    double *x = clsi_calloc(n_columns, sizeof *x);
    double *E = clsi_calloc(((size_t)ROUNDS * PER_ROUND + n) * us->n_theta, sizeof *E);
    double *e = clsi_calloc((size_t)ROUNDS * PER_ROUND + n, sizeof *e);
    worst w = {0};
    cls_status status = E && e && x ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK && n) {
        memcpy(E, F, n * n_columns * sizeof *E);
        memcpy(e, f, n * sizeof *e);
    }
    *negative = 0;
    *kkt = 0;
    for (int round = 0; round <= ROUNDS && status == CLS_OK; round++) {
        status = clsi_lsq_solve(q, rcond, n, n ? E : NULL, n ? e : NULL, x, found, kkt, error);
        for (size_t j = 0; j < n_columns && status == CLS_OK; j++)
            theta[columns ? columns[j] : j] = x[j];
        if (status == CLS_OK) status = find_worst(us, p, theta, &w, negative, error);
        if (status != CLS_OK || *negative == 0 || round == ROUNDS) break;
        add_rows(us, p, &w, E + n * n_columns);
        if (columns) gather(w.n, us->n_theta, n_columns, columns, E + n * n_columns);
        n += w.n;
    }
    free(x);
    free(E);
    free(e);
    return status;
}

cls_status clsi_solve_positive(clsi_lsq *q, double rcond, const clsi_unknowns *us,
                               const clsi_points *p, size_t n, const double *F, const double *f,
                               double *theta, clsi_lsq_info *found, size_t *negative, double *kkt,
                               cls_error *error) {
    return solve(q, rcond, us, p, us->n_theta, NULL, n, F, f, theta, found, negative, kkt, error);
}

cls_status clsi_solve_columns(clsi_lsq *q, double rcond, const clsi_unknowns *us,
                              const clsi_points *p, size_t n_columns, const size_t *columns,
                              double *theta, clsi_lsq_info *found, size_t *negative, double *kkt,
                              cls_error *error) {
    return solve(q, rcond, us, p, n_columns, columns, 0, NULL, NULL, theta, found, negative, kkt,
                 error);
}
