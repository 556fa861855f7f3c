/* Derivatives against the complex step of an independent evaluator (oracle.h): every function,
 * every composition of two, random expressions; orders one to three; the reverse walk and the
 * Jacobian against the forward walk.
 *
 * Errors are measured against the sum of the absolute values of the terms (all paths of the chain
 * rule), which is what round-off is proportional to; the derivative itself may cancel. Next to the
 * zero of a slope it is the rounding of the slope's argument that counts: 1e-14 for terms of
 * order 1. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/expr/oracle.h"
#include "tests/expr/random_graph.h"

static const char *const names[TAME_DIM] = {"x", "y", "z", "t"};

static cls_graph *open_graph(cls_node *symbols) {
    cls_graph *g;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    for (size_t i = 0; i < TAME_DIM; i++) symbols[i] = cls_symbol(g, names[i]);
    return g;
}

/* Whether node `d` is the derivative of `a` in symbol i at x. */
static void check_derivative(cls_graph *g, cls_node a, cls_node d, size_t n, const cls_node *s,
                             const double *x, size_t i) {
    oracle o;
    long double spread;
    double got;
    assert_int_not_equal(d, CLS_NO_NODE);
    oracle_open(&o, g);
    long double expected = oracle_derivative(&o, a, n, s, x, i, &spread);
    assert_true(library_values(g, 1, &d, n, s, x, &got));
    if (!(fabsl(got - expected) <= 1e-13L * spread + 1e-14L)) {
        char *text = cls_print(g, a);
        fail_msg("d/d%s of %s at %.17g %.17g %.17g: %.17g, not %.17Lg (terms %.3Lg)", names[i],
                 text, x[0], n > 1 ? x[1] : 0, n > 2 ? x[2] : 0, got, expected, spread);
    }
    oracle_close(&o);
}

/* The first `orders` derivatives in one symbol, each against the complex step of the one before. */
static void check_orders(cls_graph *g, cls_node a, size_t n, const cls_node *s, const double *x,
                         size_t i, int orders) {
    for (int k = 0; k < orders; k++) {
        cls_node d = cls_derivative(g, a, s[i]);
        check_derivative(g, a, d, n, s, x, i);
        a = d;
    }
}

static void test_every_function(void **state) {
    (void)state;
    for (int f = 0; f < CLS_FN_POWER; f++) {
        cls_node s[TAME_DIM];
        cls_graph *g = open_graph(s);
        double low, high;
        tame_domain((cls_function)f, &low, &high);
        for (int k = 0; k <= 20; k++) {
            double x = low + (high - low) * k / 20;
            if (f == CLS_FN_ERF && fabs(x) > 3) continue;
            check_orders(g, cls_apply(g, (cls_function)f, s[0]), 1, s, &x, 0, 3);
        }
        cls_graph_free(&g);
    }
}

static void test_powers(void **state) {
    (void)state;
    static const double exponents[] = {2, 3, 4, 7, 65, -1, -2, -3, 0.5, 1.5, 1.4, -0.5, -2.5};
    cls_node s[TAME_DIM];
    cls_graph *g = open_graph(s);
    for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
        double c = exponents[k];
        cls_node a = cls_pow(g, s[0], cls_constant(g, c));
        for (double x = 0.3; x < 2; x += 0.3) check_orders(g, a, 1, s, &x, 0, 3);
        if (c != floor(c)) continue;
        for (double x = -1.7; x < 0; x += 0.3) check_orders(g, a, 1, s, &x, 0, 3);
    }
    cls_node a = cls_pow(g, s[0], s[1]), b = cls_pow(g, cls_constant(g, 2.5), s[0]);
    const double x[2] = {1.3, -0.7};
    check_orders(g, a, 2, s, x, 0, 3);
    check_orders(g, a, 2, s, x, 1, 3);
    check_orders(g, b, 1, s, x, 0, 3);
    cls_graph_free(&g);
}

/* At zero the whole powers must not meet 0^0 or 0/0. */
static void test_powers_at_zero(void **state) {
    (void)state;
    cls_node s[TAME_DIM];
    cls_graph *g = open_graph(s);
    const double zero = 0;
    for (int n = 1; n <= 4; n++) {
        cls_node a = cls_pow(g, s[0], cls_constant(g, n));
        double factorial = 1;
        for (int k = 1; k <= n; k++) {
            double got;
            a = cls_derivative(g, a, s[0]);
            factorial *= n - k + 1;
            assert_true(library_values(g, 1, &a, 1, s, &zero, &got));
            assert_true(got == (k == n ? factorial : 0));
        }
    }
    cls_graph_free(&g);
}

static void test_compositions(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 21);
    for (int f = 0; f < CLS_FN_POWER; f++) {
        for (int h = 0; h < CLS_FN_POWER; h++) {
            cls_node s[TAME_DIM];
            cls_graph *g = open_graph(s);
            double x = 0.2 + 1.5 * cls_random_uniform(&r);
            tame_maker m = {g, &r, 1};
            tame a = {.node = s[0], .v = {x}};
            tame inner = tame_apply(&m, (cls_function)h, &a);
            tame outer = tame_apply(&m, (cls_function)f, &inner);
            check_orders(g, outer.node, 1, s, &x, 0, 3);
            cls_graph_free(&g);
        }
    }
}

/* Derivatives of difference quotients of several orders, where the complex step has no value to
 * offer: central differences of the library's own values, good for nine digits. */
static void test_quotients(void **state) {
    (void)state;
    for (int f = 0; f < CLS_FN_COUNT; f++) {
        cls_node s[TAME_DIM];
        cls_graph *g = open_graph(s);
        const double middle = f == CLS_FN_ACOSH ? 2 : 0.4, h = 1e-5;
        for (int order = 0; order < 9; order++) {
            cls_node a =
                cls_quotient(g, (cls_function)f, 1 + order / 3, 1 + order % 3, s[0], s[1], 1.7);
            for (size_t i = 0; i < 2; i++) {
                const double x[2] = {middle + 0.15, middle - 0.15};
                double low[2] = {x[0], x[1]}, high[2] = {x[0], x[1]}, d, v[2];
                low[i] -= h;
                high[i] += h;
                cls_node slope = cls_derivative(g, a, s[i]);
                assert_true(library_values(g, 1, &slope, 2, s, x, &d));
                assert_true(library_values(g, 1, &a, 2, s, low, &v[0]));
                assert_true(library_values(g, 1, &a, 2, s, high, &v[1]));
                assert_true(fabs((v[1] - v[0]) / (2 * h) - d) <= 1e-7 * (fabs(d) + fabs(v[0])));
            }
        }
        cls_graph_free(&g);
    }
}

static void random_point(cls_random *r, size_t n, double *x) {
    for (size_t i = 0; i < n; i++) x[i] = 3 * cls_random_uniform(r) - 1.5;
}

static void test_random(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 22);
    for (int round = 0; round < 1500; round++) {
        cls_node s[TAME_DIM];
        cls_graph *g = open_graph(s);
        size_t n = 1 + random_below(&r, TAME_DIM), i = random_below(&r, n);
        double x[TAME_DIM];
        random_point(&r, n, x);
        cls_node a = tame_expression(g, &r, n, s, 1, x, 2 + random_below(&r, 9));
        for (size_t k = 0; k < n; k++)
            check_derivative(g, a, cls_derivative(g, a, s[k]), n, s, x, k);
        check_orders(g, cls_derivative(g, a, s[i]), n, s, x, random_below(&r, n), 1);
        cls_graph_free(&g);
    }
}

static void test_random_third(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 23);
    for (int round = 0; round < 300; round++) {
        cls_node s[TAME_DIM];
        cls_graph *g = open_graph(s);
        double x[2];
        random_point(&r, 2, x);
        cls_node a = tame_expression(g, &r, 2, s, 1, x, 2 + random_below(&r, 4));
        check_orders(g, a, 2, s, x, 0, 3);
        cls_graph_free(&g);
    }
}

/* The reverse walk and the Jacobian against the derivative one by one, at one point. */
static void test_gradient_and_jacobian(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 24);
    for (int round = 0; round < 800; round++) {
        enum { COUNT = 3 };
        cls_node s[TAME_DIM], a[COUNT], jacobian[COUNT * TAME_DIM], all[TAME_DIM * 3];
        cls_graph *g = open_graph(s);
        size_t n = 1 + random_below(&r, TAME_DIM);
        double x[TAME_DIM], v[TAME_DIM * 3];
        random_point(&r, n, x);
        for (size_t k = 0; k < COUNT; k++) a[k] = tame_expression(g, &r, n, s, 1, x, 8);
        assert_int_equal(cls_jacobian(g, COUNT, a, n, s, jacobian), CLS_OK);
        for (size_t k = 0; k < COUNT; k++) {
            assert_int_equal(cls_gradient(g, a[k], n, s, all), CLS_OK);
            for (size_t i = 0; i < n; i++) {
                all[n + i] = cls_derivative(g, a[k], s[i]);
                all[2 * n + i] = jacobian[k * n + i];
            }
            assert_true(library_values(g, 3 * n, all, n, s, x, v));
            oracle o;
            oracle_open(&o, g);
            for (size_t i = 0; i < n; i++) {
                long double spread;
                oracle_derivative(&o, a[k], n, s, x, i, &spread);
                assert_true(fabsl(v[i] - v[n + i]) <= 1e-13L * spread);
                assert_int_equal(all[2 * n + i], all[n + i]); /* the same walk, the same node */
            }
            oracle_close(&o);
        }
        cls_graph_free(&g);
    }
}

/* A sum of many terms in x and y, some with and some without s[3]: a large piece with one exit. */
static cls_node large_piece(cls_graph *g, cls_random *r, cls_node x, cls_node y) {
    cls_node sum = cls_constant(g, 1);
    for (int k = 0; k < 60; k++) {
        cls_node u = cls_mul(g, cls_constant(g, cls_random_normal(r)), x);
        u = cls_add(g, u, cls_mul(g, cls_constant(g, cls_random_normal(r)), y));
        sum = cls_add(g, sum, cls_apply(g, k % 2 ? CLS_FN_SIN : CLS_FN_TANH, u));
    }
    return sum;
}

/* Pieces with one exit are differentiated backwards: other nodes, the same values; and the walk
 * is shorter for it. Pieces inside pieces, pieces that results see into, symbols as entries. */
static void test_pieces(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 25);
    for (int round = 0; round < 20; round++) {
        cls_node s[TAME_DIM], a[3], jacobian[3 * TAME_DIM], all[6 * TAME_DIM];
        cls_graph *g = open_graph(s);
        double x[TAME_DIM], v[6 * TAME_DIM];
        random_point(&r, TAME_DIM, x);
        cls_node inner = large_piece(g, &r, cls_mul(g, s[0], s[1]), s[2]);
        cls_node outer = large_piece(g, &r, inner, cls_apply(g, CLS_FN_COS, s[3]));
        a[0] = cls_mul(g, outer, s[0]);
        a[1] = cls_sub(g, cls_apply(g, CLS_FN_SIN, outer), s[3]);
        a[2] = round % 2 ? cls_mul(g, inner, s[1]) : large_piece(g, &r, s[0], s[3]);
        size_t before = cls_graph_size(g);
        assert_int_equal(cls_jacobian(g, 3, a, TAME_DIM, s, jacobian), CLS_OK);
        size_t by_pieces = cls_graph_size(g) - before;
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < TAME_DIM; i++) {
                all[k * TAME_DIM + i] = jacobian[k * TAME_DIM + i];
                all[(3 + k) * TAME_DIM + i] = cls_derivative(g, a[k], s[i]);
            }
        assert_true(by_pieces < 0.75 * (double)(cls_graph_size(g) - before));
        assert_true(library_values(g, 6 * TAME_DIM, all, TAME_DIM, s, x, v));
        for (size_t i = 0; i < 3 * TAME_DIM; i++)
            assert_true(fabs(v[i] - v[3 * TAME_DIM + i]) <= 1e-10 * (1 + fabs(v[i])));
        cls_graph_free(&g);
    }
}

/* What does not contain the symbol, sums of a symbol with itself, nothing at all. */
static void test_corners(void **state) {
    (void)state;
    cls_node s[TAME_DIM], out[2] = {0, 0};
    cls_graph *g = open_graph(s);
    cls_node a = cls_apply(g, CLS_FN_SIN, s[0]);
    assert_true(cls_is_constant(g, cls_derivative(g, a, s[1]), 0));
    assert_true(cls_is_constant(g, cls_derivative(g, s[0], s[0]), 1));
    assert_true(cls_is_constant(g, cls_derivative(g, cls_constant(g, 3), s[0]), 0));
    assert_true(cls_is_constant(g, cls_derivative(g, cls_add(g, s[0], s[0]), s[0]), 2));
    assert_int_equal(cls_derivative(g, CLS_NO_NODE, s[0]), CLS_NO_NODE);
    cls_node late = cls_symbol(g, "made_after_the_expression");
    assert_int_equal(cls_gradient(g, a, 2, (const cls_node[]){late, s[0]}, out), CLS_OK);
    assert_true(cls_is_constant(g, out[0], 0));
    assert_int_equal(out[1], cls_apply(g, CLS_FN_COS, s[0]));
    assert_int_equal(cls_gradient(g, a, 0, NULL, NULL), CLS_OK);
    assert_int_equal(cls_graph_status(g, NULL), CLS_OK);
    cls_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function),
        cmocka_unit_test(test_powers),
        cmocka_unit_test(test_powers_at_zero),
        cmocka_unit_test(test_compositions),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_random_third),
        cmocka_unit_test(test_gradient_and_jacobian),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_corners),
        cmocka_unit_test(test_quotients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
