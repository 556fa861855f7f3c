/* Least squares with few shared unknowns and many private ones: the exact minimum of a linear
 * problem, bounds, Huber's loss against an outlier, what is not identifiable. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "solve/arrow.h"
#include <math.h>
#include <string.h>

enum { WINDOWS = 6, ROWS = 7 };

/* y = theta_0 t + theta_1 t^2 + x_w, with the truth (2, -1), x_w = w. */
typedef struct line {
    double y[WINDOWS][ROWS];
    int twins; /* both parameters multiply t */
} line;

static double at(size_t i) {
    return (double)i / ROWS;
}

static size_t rows(void *context, size_t w) {
    (void)context;
    (void)w;
    return ROWS + 1;
}

static int window(void *context, size_t w, const double *theta, const double *x, double *r,
                  double *J) {
    const line *l = context;
    for (size_t i = 0; i < ROWS; i++) {
        double t = at(i), second = l->twins ? t : t * t;
        r[i] = theta[0] * t + theta[1] * second + x[0] - l->y[w][i];
        if (!J) continue;
        J[3 * i] = t;
        J[3 * i + 1] = second;
        J[3 * i + 2] = 1;
    }
    r[ROWS] = 1e-6 * x[0];
    if (J) memcpy(J + (size_t)3 * ROWS, (double[]){0, 0, 1e-6}, 3 * sizeof *J);
    return 1;
}

static const double FREE_LOW[] = {-INFINITY, -INFINITY}, FREE_HIGH[] = {INFINITY, INFINITY};

static clsi_arrow problem(line *l) {
    for (size_t w = 0; w < WINDOWS; w++)
        for (size_t i = 0; i < ROWS; i++) l->y[w][i] = 2 * at(i) - at(i) * at(i) + (double)w;
    return (clsi_arrow){.context = l,
                        .n_theta = 2,
                        .n_x = 1,
                        .n_windows = WINDOWS,
                        .rows = rows,
                        .window = window,
                        .low = FREE_LOW,
                        .high = FREE_HIGH,
                        .huber = INFINITY};
}

static void test_linear_problem_is_solved(void **state) {
    (void)state;
    line l = {0};
    clsi_arrow a = problem(&l);
    clsi_arrow_info info;
    double theta[2] = {0}, x[WINDOWS] = {0};
    assert_int_equal(clsi_arrow_minimize(&a, 50, 1e-12, theta, x, &info, NULL), CLS_OK);
    assert_true(fabs(theta[0] - 2) < 1e-6 && fabs(theta[1] + 1) < 1e-6);
    for (size_t w = 0; w < WINDOWS; w++) assert_true(fabs(x[w] - (double)w) < 1e-6);
}

static void test_bounds_hold(void **state) {
    (void)state;
    line l = {0};
    clsi_arrow a = problem(&l);
    const double low[] = {-INFINITY, -0.25};
    a.low = low;
    clsi_arrow_info info;
    double theta[2] = {0, 3}, x[WINDOWS] = {0};
    assert_int_equal(clsi_arrow_minimize(&a, 80, 1e-12, theta, x, &info, NULL), CLS_OK);
    assert_true(theta[1] == -0.25);
    /* the best slope beside a fixed curvature: regression of t^2 on t inside of windows */
    double tt = 0, ts = 0, mt = 0, ms = 0;
    for (size_t i = 0; i < ROWS; i++) {
        mt += at(i) / ROWS;
        ms += at(i) * at(i) / ROWS;
    }
    for (size_t i = 0; i < ROWS; i++) {
        tt += (at(i) - mt) * (at(i) - mt);
        ts += (at(i) - mt) * (at(i) * at(i) - ms);
    }
    assert_true(fabs(theta[0] - (2 - 0.75 * ts / tt)) < 1e-5);
}

/* A search that begins outside of its bounds found no descent and stayed there. */
static void test_a_search_begins_inside_of_its_bounds(void **state) {
    (void)state;
    line l = {0};
    clsi_arrow a = problem(&l);
    const double low[] = {0, -INFINITY}, high[] = {INFINITY, -0.5};
    clsi_arrow_info info;
    double theta[2] = {-7, 4}, x[WINDOWS] = {0};
    a.low = low;
    a.high = high;
    assert_int_equal(clsi_arrow_minimize(&a, 50, 1e-12, theta, x, &info, NULL), CLS_OK);
    assert_true(fabs(theta[0] - 2) < 1e-6 && fabs(theta[1] + 1) < 1e-6);
}

/* x_w = w > 0 but for the first window, whose minimum lies outside: it goes to the end, never over it, and
 * the others and theta are what they are with x_0 = 0. */
static void test_open_intervals_are_not_left(void **state) {
    (void)state;
    line l = {0};
    clsi_arrow a = problem(&l);
    for (size_t i = 0; i < ROWS; i++) l.y[0][i] -= 1;
    const double low[] = {0}, high[] = {INFINITY};
    clsi_arrow_info info;
    double theta[2] = {0}, x[WINDOWS] = {3, 3, 3, 3, 3, 3};
    a.x_low = low;
    a.x_high = high;
    assert_int_equal(clsi_arrow_minimize(&a, 100, 1e-14, theta, x, &info, NULL), CLS_OK);
    assert_true(x[0] > 0 && x[0] < 1e-4);
    /* the rest of the gradient of theta: window 0 is off by one everywhere that theta does not explain */
    double g[2] = {0};
    for (size_t w = 0; w < WINDOWS; w++)
        for (size_t i = 0; i < ROWS; i++) {
            double r = theta[0] * at(i) + theta[1] * at(i) * at(i) + x[w] - l.y[w][i];
            g[0] += r * at(i);
            g[1] += r * at(i) * at(i);
        }
    assert_true(fabs(g[0]) < 1e-3 && fabs(g[1]) < 1e-3);
}

static void test_an_outlier_pulls_little(void **state) {
    (void)state;
    double error[2];
    for (int robust = 0; robust < 2; robust++) {
        line l = {0};
        clsi_arrow a = problem(&l);
        l.y[2][5] += 50;
        a.huber = robust ? 0.01 : INFINITY;
        clsi_arrow_info info;
        double theta[2] = {2, -1}, x[WINDOWS] = {0};
        assert_int_equal(clsi_arrow_minimize(&a, 200, 1e-10, theta, x, &info, NULL), CLS_OK);
        error[robust] = fabs(theta[0] - 2);
    }
    assert_true(error[0] > 1 && error[1] < 0.02);
}

static void test_twins_are_not_identifiable(void **state) {
    (void)state;
    line l = {.twins = 1};
    clsi_arrow a = problem(&l);
    double theta[2] = {1, 0}, x[WINDOWS] = {0}, S[4], Q[4], C[4];
    unsigned char open[2];
    clsi_arrow_scores scores = {.n_blocks = 1, .S = S, .Q = Q};
    assert_int_equal(clsi_arrow_information(&a, theta, x, &scores, NULL), CLS_OK);
    assert_int_equal(clsi_seen_inverse(2, S, 1e-10, C, open), 1);
    assert_true(open[0] && open[1]);
    l.twins = 0;
    assert_int_equal(clsi_arrow_information(&a, theta, x, &scores, NULL), CLS_OK);
    assert_int_equal(clsi_seen_inverse(2, S, 1e-10, C, open), 0);
    /* C is the inverse of S */
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            assert_true(fabs(C[2 * i] * S[j] + C[2 * i + 1] * S[2 + j] - (i == j)) < 1e-9);
}

static void test_eigenvalues(void **state) {
    (void)state;
    double A[9] = {2, 1, 0, 1, 2, 1, 0, 1, 2}, value[3], V[9];
    clsi_symmetric_eigen(3, A, value, V);
    for (int k = 0; k < 3; k++) {
        double wanted = 2 + (k - 1) * sqrt(2);
        assert_true(fabs(value[k] - wanted) < 1e-12);
        const double *v = V + (ptrdiff_t)3 * k;
        assert_true(fabs(2 * v[0] + v[1] - wanted * v[0]) < 1e-12);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_linear_problem_is_solved),
                                       cmocka_unit_test(test_bounds_hold),
                                       cmocka_unit_test(test_a_search_begins_inside_of_its_bounds),
                                       cmocka_unit_test(test_open_intervals_are_not_left),
                                       cmocka_unit_test(test_an_outlier_pulls_little),
                                       cmocka_unit_test(test_twins_are_not_identifiable),
                                       cmocka_unit_test(test_eigenvalues)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
