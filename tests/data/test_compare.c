/* Comparison of trajectories: distances by their definition, rows by time and trajectory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <clausius/table.h>
#include <math.h>
#include <string.h>

static cls_table *make(size_t n, const char *const *names) {
    cls_table *t;
    cls_error error;
    if (cls_table_create(n, names, &t, &error)) fail_msg("%s", error.message);
    return t;
}

static const char *const plain[] = {"time", "x", "y"};

static void put(cls_table *t, double a, double b, double c) {
    assert_int_equal(cls_table_append(t, (double[]){a, b, c}, NULL), CLS_OK);
}

/* A table compared with itself is zero; against a shift by d every distance is |d|. */
static void test_distances(void **state) {
    (void)state;
    cls_table *a = make(3, plain), *b = make(3, plain);
    for (int i = 0; i < 100; i++) {
        put(a, 0.1 * i, sin(i), 5);
        put(b, 0.1 * i, sin(i) - 0.25, i == 40 ? 8 : 5);
    }
    cls_difference d[3];
    size_t n, rows;
    assert_int_equal(cls_table_compare(a, a, 0, NULL, d, &n, &rows, NULL), CLS_OK);
    assert_int_equal(n, 2);
    assert_int_equal(rows, 100);
    assert_true(d[0].mae == 0 && d[0].max == 0 && d[0].rmse == 0);
    assert_int_equal(cls_table_compare(a, b, 0, NULL, d, &n, &rows, NULL), CLS_OK);
    assert_string_equal(d[0].column, "x");
    assert_float_equal(d[0].mae, 0.25, 1e-14);
    assert_float_equal(d[0].max, 0.25, 1e-14);
    assert_float_equal(d[0].rmse, 0.25, 1e-14);
    assert_float_equal(d[1].mae, 3.0 / 100, 1e-14);
    assert_float_equal(d[1].max, 3, 0);
    assert_float_equal(d[1].rmse, 3.0 / 10, 1e-14);
    assert_float_equal(d[1].time_of_max, 4, 1e-12);
    cls_table_free(&a);
    cls_table_free(&b);
}

/* A run with a tenth of the step, its times summed up instead of multiplied, in reverse order. */
static void test_times_are_matched(void **state) {
    (void)state;
    cls_table *a = make(3, plain), *b = make(3, plain);
    for (int i = 0; i <= 100; i++) put(a, 0.1 * i, i, 0);
    double sums[1001], t = 0;
    for (int i = 0; i <= 1000; i++, t += 0.01) sums[i] = t;
    for (int i = 1000; i >= 0; i--) put(b, i ? sums[i] : 1e-13, 0.1 * i, 0);
    cls_difference d[3];
    size_t n, rows;
    assert_int_equal(cls_table_compare(a, b, 1, (const char *[]){"x"}, d, &n, &rows, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(rows, 101);
    assert_true(d[0].max < 1e-12);
    assert_int_equal(cls_table_compare(b, a, 0, NULL, d, &n, &rows, NULL), CLS_OK);
    assert_int_equal(rows, 101);
    cls_table_free(&a);
    cls_table_free(&b);
}

static void test_a_near_time_is_not_the_same(void **state) {
    (void)state;
    cls_table *a = make(3, plain), *b = make(3, plain);
    for (int i = 0; i < 10; i++) {
        put(a, i, 0, 0);
        put(b, i == 5 ? 5 + 1e-7 : i, 0, 0);
    }
    cls_difference d[3];
    size_t n, rows;
    assert_int_equal(cls_table_compare(a, b, 0, NULL, d, &n, &rows, NULL), CLS_OK);
    assert_int_equal(rows, 9);
    cls_table_free(&a);
    cls_table_free(&b);
}

static void test_trajectories(void **state) {
    (void)state;
    const char *const named[] = {"trajectory", "t", "x"};
    const char *const single[] = {"t", "x", "z"};
    cls_table *a = make(3, named), *b = make(3, named), *c = make(3, single);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 20; i++) put(a, k, i, 100 * k + i);
    for (int i = 0; i < 20; i++)
        for (int k = 2; k >= 1; k--) put(b, k, i, 100 * k + i);
    for (int i = 0; i < 20; i++) put(c, i, i, 0);
    cls_difference d[3];
    size_t n, rows;
    cls_error error;
    assert_int_equal(cls_table_compare(a, b, 0, NULL, d, &n, &rows, NULL), CLS_OK);
    assert_int_equal(n, 1);
    assert_int_equal(rows, 40);
    assert_true(d[0].max == 0);
    assert_int_equal(cls_table_compare(a, c, 0, NULL, d, &n, &rows, &error), CLS_DATA);
    assert_non_null(strstr(error.message, "several trajectories"));
    assert_int_equal(cls_table_compare(c, a, 0, NULL, d, &n, &rows, &error), CLS_DATA);
    cls_table_free(&a);
    cls_table_free(&b);
    cls_table_free(&c);
}

/* Equal times pair up in file order, each row at most once. */
static void test_equal_times(void **state) {
    (void)state;
    cls_table *a = make(3, plain), *b = make(3, plain);
    put(a, 1, 10, 0);
    put(a, 1, 20, 0);
    put(a, 2, 30, 0);
    put(b, 1, 10, 0);
    put(b, 1, 20, 0);
    put(b, 1, 99, 0);
    put(b, 2, 30, 0);
    cls_difference d[3];
    size_t n, rows;
    assert_int_equal(cls_table_compare(a, b, 0, NULL, d, &n, &rows, NULL), CLS_OK);
    assert_int_equal(rows, 3);
    assert_true(d[0].max == 0);
    cls_table_free(&a);
    cls_table_free(&b);
}

static void test_a_nan_does_not_hide(void **state) {
    (void)state;
    cls_table *a = make(3, plain), *b = make(3, plain);
    for (int i = 0; i < 5; i++) {
        put(a, i, i == 2 ? NAN : 1, 0);
        put(b, i, 0, 0);
    }
    cls_difference d[3];
    size_t n, rows;
    assert_int_equal(cls_table_compare(a, b, 0, NULL, d, &n, &rows, NULL), CLS_OK);
    assert_true(isnan(d[0].max) && isnan(d[0].mae) && isnan(d[0].rmse));
    assert_true(d[0].time_of_max == 2);
    cls_table_free(&a);
    cls_table_free(&b);
}

static void test_refusals(void **state) {
    (void)state;
    const char *const other[] = {"time", "velocity", "y"};
    const char *const timeless[] = {"n", "x", "y"};
    const char *const strangers[] = {"time", "p", "q"};
    cls_table *a = make(3, plain), *b = make(3, other), *c = make(3, timeless);
    cls_table *s = make(3, strangers), *empty = make(3, plain);
    put(a, 0, 0, 0);
    put(a, 1, 0, 0);
    put(b, 2.5, 0, 0);
    put(b, 3.5, 0, 0);
    put(c, 0, 0, 0);
    put(s, 0, 0, 0);
    cls_difference d[3];
    size_t n = 9, rows = 9;
    cls_error e;
    assert_int_equal(cls_table_compare(a, b, 0, NULL, d, &n, &rows, &e), CLS_DATA);
    assert_true(n == 0 && rows == 0);
    assert_non_null(strstr(e.message, "time 0 to 1"));
    assert_non_null(strstr(e.message, "time 2.5 to 3.5"));
    assert_int_equal(cls_table_compare(a, c, 0, NULL, d, &n, &rows, &e), CLS_DATA);
    assert_non_null(strstr(e.message, "the second table has no column \"time\""));
    assert_non_null(strstr(e.message, "it has: n, x, y"));
    assert_int_equal(cls_table_compare(a, s, 0, NULL, d, &n, &rows, &e), CLS_DATA);
    assert_non_null(strstr(e.message, "share no column but time"));
    assert_int_equal(cls_table_compare(empty, a, 0, NULL, d, &n, &rows, &e), CLS_DATA);
    assert_non_null(strstr(e.message, "the first table has no rows"));
    const char *wrong[] = {"velocitx"};
    assert_int_equal(cls_table_compare(b, b, 1, wrong, d, &n, &rows, &e), CLS_USAGE);
    assert_non_null(strstr(e.message, "did you mean \"velocity\"?"));
    const char *twice[] = {"y", "y", "y", "y"};
    assert_int_equal(cls_table_compare(a, a, 4, twice, d, &n, &rows, &e), CLS_OK);
    assert_int_equal(n, 1);
    const char *const grid[] = {"time", "S[1][2]", "y"}; /* nor under two spellings */
    const char *spelt[] = {"S[1,2]", "S[1][2]", "y", "S[1,2]"};
    cls_table *g = make(3, grid);
    put(g, 0, 1, 2);
    assert_int_equal(cls_table_compare(g, g, 4, spelt, d, &n, &rows, &e), CLS_OK);
    assert_int_equal(n, 2);
    assert_string_equal(d[0].column, "S[1][2]");
    cls_table_free(&g);
    cls_table *all[] = {a, b, c, s, empty};
    for (int i = 0; i < 5; i++) cls_table_free(&all[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_times_are_matched),
        cmocka_unit_test(test_a_near_time_is_not_the_same),
        cmocka_unit_test(test_trajectories),
        cmocka_unit_test(test_equal_times),
        cmocka_unit_test(test_a_nan_does_not_hide),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
