/* Points, unknowns and residual of a learner, opened for a test, and its derivatives against
 * differences. For test_*.c only. */
#ifndef TESTS_PARTS_H
#define TESTS_PARTS_H

#include "learn/learn.h"
#include <clausius/random.h>
#include <math.h>
#include <stdlib.h>

typedef struct opened {
    clsi_points *points;
    clsi_unknowns *unknowns;
    clsi_residual *residual;
} opened;

static inline opened open_parts(const cls_system *s, const cls_table *t, size_t n,
                                const char *const *names, const char *field,
                                const clsi_rule *rule) {
    cls_error error;
    opened p;
    const char *name = "made here";
    cls_learn_options o = cls_learn_defaults();
    o.unknown = names;
    o.n_unknown = n;
    o.field = field;
    if (clsi_points_create(s, 1, &t, &name, rule, 0, 0, &p.points, &error) ||
        clsi_unknowns_create(s, NULL, &o, p.points, &p.unknowns, &error) ||
        clsi_residual_create(p.points, p.unknowns, &p.residual, &error))
        fail_msg("%s", error.message);
    return p;
}

static inline void close_parts(opened *p) {
    clsi_residual_free(&p->residual);
    clsi_unknowns_free(&p->unknowns);
    clsi_points_free(&p->points);
}

/* Largest difference between Jacobian and central differences, and between gradient and J^T r, both
 * relative to the largest entry. */
static inline void check_derivatives(const clsi_residual *r, size_t rows, size_t P, double off[2]) {
    double *theta = calloc(P, sizeof *theta), *value = calloc(3 * rows, sizeof *value);
    double *J = calloc(rows * P, sizeof *J), *gradient = calloc(P, sizeof *gradient), loss;
    cls_random random;
    cls_random_seed(&random, 9);
    for (size_t i = 0; i < P; i++) theta[i] = 0.3 * cls_random_normal(&random);
    assert_int_equal(clsi_residual_rows(r, theta, 0, rows, NULL, value, J), CLS_OK);
    assert_int_equal(clsi_residual_gradient(r, theta, rows, NULL, &loss, gradient), CLS_OK);
    double largest = 0, worst = 0, worst_gradient = 0, scale = 0;
    for (size_t j = 0; j < P; j++) {
        double kept = theta[j], h = 1e-6, sum = 0;
        theta[j] = kept + h;
        (void)clsi_residual_rows(r, theta, 0, rows, NULL, value + rows, NULL);
        theta[j] = kept - h;
        (void)clsi_residual_rows(r, theta, 0, rows, NULL, value + 2 * rows, NULL);
        theta[j] = kept;
        for (size_t i = 0; i < rows; i++) {
            double difference = (value[rows + i] - value[2 * rows + i]) / (2 * h);
            worst = fmax(worst, fabs(difference - J[i * P + j]));
            largest = fmax(largest, fabs(J[i * P + j]));
            sum += value[i] * J[i * P + j] / (double)rows;
        }
        worst_gradient = fmax(worst_gradient, fabs(sum - gradient[j]));
        scale = fmax(scale, fabs(gradient[j]));
    }
    off[0] = worst / largest;
    off[1] = worst_gradient / scale;
    free(theta);
    free(value);
    free(J);
    free(gradient);
}

#endif
