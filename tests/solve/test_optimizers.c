/* The optimisers: linear problems exactly, valleys, networks to the losses they are used for; and
 * they survive what problems do to them: residuals that are not finite, directions without slope,
 * callbacks that say stop. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/solve/toy_network.h"

/* ---- small problems: a residual function with finite differences nowhere ---- */

typedef double (*row_function)(const double *theta, size_t row, double *J);

static cls_status small_jacobian(clsi_problem *p, const double *theta, size_t count,
                                 const size_t *rows, double *r, double *J) {
    row_function f = *(row_function *)p->context;
    double aside[64];
    for (size_t i = 0; i < count; i++)
        r[i] = f(theta, rows ? rows[i] : i, J ? J + i * p->n_parameters : aside);
    return CLS_OK;
}

static cls_status small_residual(clsi_problem *p, const double *theta, size_t count,
                                 const size_t *rows, double *r) {
    return small_jacobian(p, theta, count, rows, r, NULL);
}

static cls_status small_gradient(clsi_problem *p, const double *theta, size_t count,
                                 const size_t *rows, double *loss, double *gradient) {
    *loss = 0;
    memset(gradient, 0, p->n_parameters * sizeof *gradient);
    for (size_t i = 0; i < count; i++) {
        double r, J[64];
        size_t row = rows ? rows[i] : i;
        (void)small_jacobian(p, theta, 1, &row, &r, J);
        *loss += r * r / 2 / (double)count;
        for (size_t j = 0; j < p->n_parameters; j++) gradient[j] += r * J[j] / (double)count;
    }
    return CLS_OK;
}

static clsi_problem small(size_t n, size_t rows, row_function *f) {
    return (clsi_problem){.context = f,
                          .n_parameters = n,
                          .n_rows = rows,
                          .residual = small_residual,
                          .jacobian = small_jacobian,
                          .gradient = small_gradient};
}

static clsi_optimize_info minimise(const char *name, clsi_problem *p, double *theta, uint64_t most,
                                   double tolerance) {
    clsi_optimize_options o = {.max_iterations = most, .loss_tolerance = tolerance, .seed = 5};
    clsi_optimize_info info;
    const clsi_optimizer *optimizer = clsi_optimizer_find(name);
    assert_non_null(optimizer);
    assert_int_equal(optimizer->minimize(p, &o, theta, &info, NULL), CLS_OK);
    assert_true(info.final_loss <= info.initial_loss);
    return info;
}

/* 40 rows in 6 unknowns of different sizes; solution 1, 2, ... 6 (in those sizes). */
static double linear_row(const double *theta, size_t row, double *J) {
    double r = 0;
    for (size_t j = 0; j < 6; j++) {
        J[j] = cos((double)((row + 1) * (j + 1) * (j + 2)));
        if (j == 3) J[j] *= 1e3;
        r += J[j] * (theta[j] - (double)(j + 1));
    }
    return r;
}

/* The same with a part no parameter can explain. */
static double noisy_row(const double *theta, size_t row, double *J) {
    return linear_row(theta, row, J) + sin(7.0 * (double)(row * row));
}

/* Only theta0 + theta1 matters, theta2 not at all. */
static double deficient_row(const double *theta, size_t row, double *J) {
    double t = (double)row / 10;
    J[0] = J[1] = cos(t + theta[0] + theta[1]);
    J[2] = 0;
    return sin(t + theta[0] + theta[1]) - sin(t + 0.5);
}

static double rosenbrock_row(const double *theta, size_t row, double *J) {
    J[0] = row ? -1 : -20 * theta[0];
    J[1] = row ? 0 : 10;
    return row ? 1 - theta[0] : 10 * (theta[1] - theta[0] * theta[0]);
}

/* log(theta): NaN for the full steps of Gauss-Newton from 20. */
static double log_row(const double *theta, size_t row, double *J) {
    J[0] = 1 / theta[0];
    return theta[0] > 0 ? log(theta[0]) + 0 * (double)row : NAN;
}

static double nan_row(const double *theta, size_t row, double *J) {
    (void)row;
    J[0] = theta[0];
    return NAN;
}

/* ---- tests ---- */

static void table_is_whole(void **state) {
    (void)state;
    static const char *const names[] = {"lm", "spring", "lbfgs", "adam"};
    assert_int_equal(clsi_optimizer_count(), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_ptr_equal(clsi_optimizer_find(names[i]), clsi_optimizer_at(i));
        assert_true(strlen(clsi_optimizer_at(i)->doc) > 20);
    }
    assert_null(clsi_optimizer_find("sgd"));
    assert_null(clsi_optimizer_at(4));
}

static void linear_problems_exactly(void **state) {
    (void)state;
    row_function f = linear_row;
    clsi_problem p = small(6, 40, &f);
    static const struct {
        const char *name;
        uint64_t most;
    } cases[] = {{"lm", 5}, {"spring", 200}, {"lbfgs", 60}};
    for (size_t k = 0; k < 3; k++) {
        double theta[6] = {0};
        minimise(cases[k].name, &p, theta, cases[k].most, 1e-24);
        for (size_t j = 0; j < 6; j++) assert_true(fabs(theta[j] - (double)(j + 1)) < 1e-7);
    }
    p.affine = 1;
    double theta[6] = {0};
    clsi_optimize_info info = minimise("lm", &p, theta, 3, 1e-20);
    assert_true(info.iterations <= 2 && info.final_loss < 1e-20);
    assert_string_equal(info.reason, "converged");
}

/* With noise the minimum is not zero: all arrive at the least-squares value. */
static void noise_leaves_the_least_squares_value(void **state) {
    (void)state;
    row_function f = noisy_row;
    clsi_problem p = small(6, 40, &f);
    double theta[6] = {0}, other[6] = {0};
    clsi_optimize_info best = minimise("lm", &p, theta, 50, 0);
    assert_true(best.final_loss > 0.01 && best.iterations < 20);
    assert_true(minimise("lbfgs", &p, other, 200, 0).final_loss < best.final_loss * (1 + 1e-9));
    memset(other, 0, sizeof other);
    assert_true(minimise("spring", &p, other, 2000, 0).final_loss < best.final_loss * (1 + 1e-6));
    /* Batches smaller than the problem contradict each other. */
    memset(other, 0, sizeof other);
    clsi_optimize_options o = {.max_iterations = 4000, .seed = 1, .batch = 10};
    clsi_optimize_info info;
    assert_int_equal(clsi_optimizer_find("spring")->minimize(&p, &o, other, &info, NULL), CLS_OK);
    assert_true(info.final_loss < 1.05 * best.final_loss);
}

static void valleys(void **state) {
    (void)state;
    row_function f = rosenbrock_row;
    clsi_problem p = small(2, 2, &f);
    static const char *const names[] = {"lm", "spring", "lbfgs"};
    for (size_t k = 0; k < 3; k++) {
        double theta[] = {-1.2, 1};
        minimise(names[k], &p, theta, 300, 1e-20);
        assert_true(fabs(theta[0] - 1) < 1e-8 && fabs(theta[1] - 1) < 1e-8);
    }
}

static void directions_without_slope(void **state) {
    (void)state;
    row_function f = deficient_row;
    clsi_problem p = small(3, 30, &f);
    static const char *const names[] = {"lm", "spring", "lbfgs"};
    for (size_t k = 0; k < 3; k++) {
        double theta[] = {0.1, -0.2, 3};
        minimise(names[k], &p, theta, 200, 1e-22);
        assert_true(fabs(theta[0] + theta[1] - 0.5) < 1e-9);
        assert_true(fabs(theta[2] - 3) < 1e-9);
    }
}

static void steps_to_nan_are_refused(void **state) {
    (void)state;
    row_function f = log_row, hopeless = nan_row;
    clsi_problem p = small(1, 5, &f), q = small(1, 5, &hopeless);
    for (size_t k = 0; k < clsi_optimizer_count(); k++) {
        const clsi_optimizer *optimizer = clsi_optimizer_at(k);
        double theta = 20, start = 1;
        clsi_optimize_info info = minimise(optimizer->name, &p, &theta, 5000, 1e-16);
        assert_true(isfinite(theta) && theta > 0);
        if (strcmp(optimizer->name, "adam")) assert_true(fabs(theta - 1) < 1e-7);
        assert_true(info.final_loss < info.initial_loss);
        clsi_optimize_options o = {.max_iterations = 5};
        cls_error error;
        assert_int_equal(optimizer->minimize(&q, &o, &start, &info, &error), CLS_NUMERIC);
        assert_true(start == 1);
        assert_non_null(strstr(error.message, "not finite"));
    }
}

/* The hand-written Jacobian of the network, against central differences. */
static void toy_jacobian_is_right(void **state) {
    (void)state;
    toy_network t;
    toy_create(&t, 5, 3, 1);
    size_t n = t.problem.n_parameters;
    double *theta = toy_start(&t, 2), *J = malloc(n * sizeof *J), r, low, high;
    for (size_t row = 0; row < t.problem.n_rows; row++) {
        (void)toy_jacobian(&t.problem, theta, 1, &row, &r, J);
        for (size_t j = 0; j < n; j++) {
            double keep = theta[j];
            theta[j] = keep + 1e-5;
            (void)toy_residual(&t.problem, theta, 1, &row, &high);
            theta[j] = keep - 1e-5;
            (void)toy_residual(&t.problem, theta, 1, &row, &low);
            theta[j] = keep;
            assert_true(fabs((high - low) / 2e-5 - J[j]) < 1e-8);
        }
    }
    free(theta), free(J);
    toy_free(&t);
}

/* The orders of PERFORMANCE.md, on a network of a size that tests can afford. */
static void networks_reach_their_losses(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t most;
        double loss;
    } cases[] = {
        {"lm", 30, 1e-5}, {"spring", 200, 1e-5}, {"lbfgs", 120, 5e-4}, {"adam", 1000, 3e-3}};
    toy_network t;
    toy_create(&t, 16, 300, 1);
    for (size_t k = 0; k < 4; k++) {
        double *theta = toy_start(&t, 3);
        clsi_optimize_info info = minimise(cases[k].name, &t.problem, theta, cases[k].most, 1e-9);
        assert_true(info.initial_loss > 0.05);
        assert_true(info.final_loss < cases[k].loss);
        free(theta);
    }
    toy_free(&t);
}

static void same_seed_same_bits(void **state) {
    (void)state;
    toy_network t;
    toy_create(&t, 6, 200, 1);
    for (size_t k = 0; k < clsi_optimizer_count(); k++) {
        double *theta = toy_start(&t, 3), *again = toy_start(&t, 3);
        minimise(clsi_optimizer_at(k)->name, &t.problem, theta, 15, 0);
        minimise(clsi_optimizer_at(k)->name, &t.problem, again, 15, 0);
        assert_memory_equal(theta, again, t.problem.n_parameters * sizeof(double));
        free(theta), free(again);
    }
    toy_free(&t);
}

typedef struct watcher {
    uint64_t calls, stop_at, last;
    double best;
} watcher;

static int look(void *context, const clsi_progress *progress, const double *theta) {
    watcher *w = context;
    assert_true(isfinite(theta[0]) && progress->seconds >= 0);
    assert_true(progress->iteration > w->last);
    w->last = progress->iteration;
    w->best = fmin(w->best, progress->loss);
    return ++w->calls == w->stop_at;
}

static double loss_of(clsi_problem *p, const double *theta) {
    double *g = malloc(p->n_parameters * sizeof *g), loss;
    (void)p->gradient(p, theta, p->n_rows, NULL, &loss, g);
    free(g);
    return loss;
}

static void a_stop_returns_the_best(void **state) {
    (void)state;
    toy_network t;
    toy_create(&t, 6, 200, 1);
    for (size_t k = 0; k < clsi_optimizer_count(); k++) {
        double *theta = toy_start(&t, 3);
        watcher w = {.stop_at = 3, .best = loss_of(&t.problem, theta)};
        clsi_optimize_options o = {
            .max_iterations = 1000, .progress = look, .context = &w, .batch = 40};
        clsi_optimize_info info;
        assert_int_equal(clsi_optimizer_at(k)->minimize(&t.problem, &o, theta, &info, NULL),
                         CLS_OK);
        assert_string_equal(info.reason, "stopped");
        assert_int_equal(w.calls, 3);
        assert_true(info.final_loss == w.best);
        assert_true(fabs(loss_of(&t.problem, theta) - w.best) <= 1e-12 * w.best);
        free(theta);
    }
    toy_free(&t);
}

static void no_iterations_change_nothing(void **state) {
    (void)state;
    row_function f = linear_row;
    clsi_problem p = small(6, 40, &f);
    for (size_t k = 0; k < clsi_optimizer_count(); k++) {
        double theta[6] = {1, 1, 1, 1, 1, 1};
        clsi_optimize_info info = minimise(clsi_optimizer_at(k)->name, &p, theta, 0, 0);
        for (size_t j = 0; j < 6; j++) assert_true(theta[j] == 1);
        assert_true(info.final_loss == info.initial_loss && info.iterations == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_whole),
        cmocka_unit_test(linear_problems_exactly),
        cmocka_unit_test(noise_leaves_the_least_squares_value),
        cmocka_unit_test(valleys),
        cmocka_unit_test(directions_without_slope),
        cmocka_unit_test(steps_to_nan_are_refused),
        cmocka_unit_test(toy_jacobian_is_right),
        cmocka_unit_test(networks_reach_their_losses),
        cmocka_unit_test(same_seed_same_bits),
        cmocka_unit_test(a_stop_returns_the_best),
        cmocka_unit_test(no_iterations_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
