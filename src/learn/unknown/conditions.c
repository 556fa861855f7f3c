/* Anchors in fits that are iterated: kept exactly where they are linear, weighted rows elsewhere.
 *
 * A condition that is linear in the parameters, c.theta = d, needs no weight: the problem is looked
 * at on the plane of those that meet it,
 *
 *     theta -> theta - Q^T (Q theta - d),    J -> J - (J Q^T) Q,    Q orthonormal rows,
 *
 * so that every evaluation meets it to round-off, and no optimiser has to know. Directions across
 * the plane have no gradient; damping keeps steps out of them. Conditions of networks are rows like
 * others, weighted so that they hold to a thousandth (residual.c does the same). Linear is what has
 * the same row at two places. Costs (rows) (conditions) (parameters) for a Jacobian. */
#include "learn/unknown/conditions.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct clsi_conditions {
    const clsi_anchors *anchors;
    clsi_problem *inner;
    size_t P, n_hard, n_soft;
    double *Q, *d; /* (n_hard, P), (n_hard) */
    size_t *soft;  /* (n_soft) anchors */
    double weight;
};

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t j = 0; j < n; j++) sum += a[j] * b[j];
    return sum;
}

/* ---- hard or soft ---- */

/* 1: linear, row.theta = right; 0: not, or no parameter changes it; -1: no memory. `other` (2 P) is
 * scratch. */
static int is_linear(const clsi_conditions *c, size_t i, const double *theta, double *row,
                     double *right, double *other) {
    size_t P = c->P;
    double value, size = 0, change = 0, *moved = other + P;
    for (size_t j = 0; j < P; j++) moved[j] = 1.5 * theta[j] + 0.1;
    if (clsi_anchors_row(c->anchors, i, theta, &value, row) != CLS_OK ||
        clsi_anchors_row(c->anchors, i, moved, &value, other) != CLS_OK)
        return -1;
    memset(moved, 0, P * sizeof *moved);
    if (clsi_anchors_row(c->anchors, i, moved, &value, NULL) != CLS_OK) return -1;
    *right = clsi_anchors_value(c->anchors, i) - value;
    for (size_t j = 0; j < P; j++) {
        size = fmax(size, fabs(row[j]));
        change = fmax(change, fabs(other[j] - row[j]));
    }
    return size > 0 && change <= 1e-12 * size;
}

/* Joins row.theta = right to the hard ones, made orthogonal to them twice; a row that says nothing
 * new is left out. */
static void add_hard(clsi_conditions *c, double *row, double right) {
    size_t P = c->P;
    double before = sqrt(dot(P, row, row));
    for (int twice = 0; twice < 2; twice++)
        for (size_t q = 0; q < c->n_hard; q++) {
            const double *Q = c->Q + q * P;
            double part = dot(P, Q, row);
            for (size_t j = 0; j < P; j++) row[j] -= part * Q[j];
            right -= part * c->d[q];
        }
    double length = sqrt(dot(P, row, row));
    if (!(length > 1e-10 * before)) return;
    for (size_t j = 0; j < P; j++) c->Q[c->n_hard * P + j] = row[j] / length;
    c->d[c->n_hard++] = right / length;
}

static cls_status sort(clsi_conditions *c, const double *theta, double *row, cls_error *error) {
    size_t n = clsi_anchors_count(c->anchors);
    for (size_t i = 0; i < n; i++) {
        double right;
        int linear = is_linear(c, i, theta, row, &right, row + c->P);
        if (linear < 0) return clsi_no_memory(error);
        if (linear)
            add_hard(c, row, right);
        else
            c->soft[c->n_soft++] = i;
    }
    return CLS_OK;
}

/* ---- on the plane ---- */

void clsi_conditions_project(const clsi_conditions *c, double *theta) {
    for (int twice = 0; c && twice < 2; twice++) /* the second time for round-off */
        for (size_t q = 0; q < c->n_hard; q++) {
            const double *Q = c->Q + q * c->P;
            double off = dot(c->P, Q, theta) - c->d[q];
            for (size_t j = 0; j < c->P; j++) theta[j] -= off * Q[j];
        }
}

const double *clsi_conditions_meant(const clsi_conditions *c, const double *theta, double *place) {
    if (!c) return theta;
    memcpy(place, theta, c->P * sizeof *place);
    clsi_conditions_project(c, place);
    return place;
}

/* Row by row what lies along the plane. */
static void flatten(const clsi_conditions *c, size_t rows, double *J) {
    for (size_t i = 0; i < rows; i++)
        for (size_t q = 0; q < c->n_hard; q++) {
            const double *Q = c->Q + q * c->P;
            double part = dot(c->P, Q, J + i * c->P);
            for (size_t j = 0; j < c->P; j++) J[i * c->P + j] -= part * Q[j];
        }
}

static double *projected(const clsi_conditions *c, const double *theta) {
    double *copy = clsi_calloc(c->P, sizeof *copy);
    if (!copy) return NULL;
    memcpy(copy, theta, c->P * sizeof *copy);
    clsi_conditions_project(c, copy);
    return copy;
}

/* ---- the problem ---- */

/* Runs of the inner rows together, soft ones one by one, wherever the list has them. */
static cls_status evaluate(clsi_conditions *c, const double *theta, size_t count,
                           const size_t *rows, double *r, double *J) {
    clsi_problem *in = c->inner;
    size_t P = c->P, *list = rows ? NULL : clsi_calloc(count, sizeof *list);
    cls_status status = rows || list ? CLS_OK : CLS_MEMORY;
    for (size_t i = 0; i < count && list; i++) list[i] = i;
    if (!rows) rows = list;
    for (size_t at = 0, end; at < count && status == CLS_OK; at = end) {
        for (end = at; end < count && rows[end] < in->n_rows;) end++;
        if (end == at)
            status = clsi_anchors_weighted(c->anchors, c->soft[rows[end++] - in->n_rows], theta,
                                           c->weight, r + at, J ? J + at * P : NULL);
        else
            status = J ? in->jacobian(in, theta, end - at, rows + at, r + at, J + at * P)
                       : in->residual(in, theta, end - at, rows + at, r + at);
    }
    free(list);
    return status;
}

static cls_status problem_jacobian(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *r, double *J) {
    clsi_conditions *c = p->context;
    double *at = projected(c, theta);
    cls_status status = at ? evaluate(c, at, count, rows, r, J) : CLS_MEMORY;
    if (status == CLS_OK && J) flatten(c, count, J);
    free(at);
    return status;
}

static cls_status problem_residual(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *r) {
    return problem_jacobian(p, theta, count, rows, r, NULL);
}

/* list (count): scratch. */
static cls_status gradient_at(clsi_conditions *c, const double *theta, size_t count,
                              const size_t *rows, size_t *list, double *loss, double *gradient) {
    clsi_problem *in = c->inner;
    size_t plain = 0, soft = 0;
    for (size_t k = 0; k < count; k++) {
        size_t row = rows ? rows[k] : k;
        if (row < in->n_rows)
            list[plain++] = row;
        else
            list[count - ++soft] = c->soft[row - in->n_rows];
    }
    *loss = 0;
    memset(gradient, 0, c->P * sizeof *gradient);
    cls_status status = plain ? in->gradient(in, theta, plain, list, loss, gradient) : CLS_OK;
    *loss *= (double)plain;
    for (size_t j = 0; j < c->P; j++) gradient[j] *= (double)plain;
    if (status == CLS_OK)
        status =
            clsi_anchors_gradient(c->anchors, soft, list + plain, theta, c->weight, loss, gradient);
    *loss /= (double)count;
    for (size_t j = 0; j < c->P; j++) gradient[j] /= (double)count;
    flatten(c, 1, gradient);
    return status;
}

static cls_status problem_gradient(clsi_problem *p, const double *theta, size_t count,
                                   const size_t *rows, double *loss, double *gradient) {
    clsi_conditions *c = p->context;
    double *at = projected(c, theta);
    size_t *list = clsi_calloc(count, sizeof *list);
    cls_status status =
        at && list ? gradient_at(c, at, count, rows, list, loss, gradient) : CLS_MEMORY;
    free(at);
    free(list);
    return status;
}

static void make_problem(clsi_conditions *c, clsi_problem *out) {
    *out = (clsi_problem){.context = c,
                          .n_parameters = c->P,
                          .n_rows = c->inner->n_rows + c->n_soft,
                          .n_conditions = c->n_soft,
                          .group = c->inner->group,
                          .residual = problem_residual,
                          .jacobian = problem_jacobian,
                          .gradient = problem_gradient};
}

/* ---- life ---- */

cls_status clsi_conditions_create(const clsi_anchors *anchors, clsi_problem *inner, double share,
                                  const double *theta, clsi_conditions **out, clsi_problem *problem,
                                  cls_error *error) {
    *out = NULL;
    *problem = *inner;
    if (!clsi_anchors_count(anchors)) return CLS_OK;
    clsi_conditions *c = *out = clsi_calloc(1, sizeof *c);
    if (!c) return clsi_no_memory(error);
    size_t n = clsi_anchors_count(anchors), P = inner->n_parameters;
    *c = (clsi_conditions){.anchors = anchors,
                           .inner = inner,
                           .P = P,
                           .Q = clsi_calloc(n * P, sizeof *c->Q),
                           .d = clsi_calloc(n, sizeof *c->d),
                           .soft = clsi_calloc(n, sizeof *c->soft),
                           .weight = clsi_anchors_weight(anchors, inner->n_rows, share)};
    double *row = clsi_calloc(3 * P, sizeof *row);
    cls_status status = c->Q && c->d && c->soft && row ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) status = sort(c, theta, row, error);
    if (status == CLS_OK) make_problem(c, problem);
    free(row);
    if (status != CLS_OK) clsi_conditions_free(out);
    return status;
}

void clsi_conditions_free(clsi_conditions **conditions) {
    clsi_conditions *c = *conditions;
    if (!c) return;
    free(c->Q);
    free(c->d);
    free(c->soft);
    free(c);
    *conditions = NULL;
}
