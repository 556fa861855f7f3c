/* The graph: equal expressions are one node, failures stick and harm nothing, substitution is
 * simultaneous, and what the builder simplifies or folds keeps its value. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/expr/oracle.h"
#include "tests/expr/random_graph.h"

enum { SYMBOLS = 4 };

static cls_graph *open_graph(cls_node *s, const cls_graph_limits *limits) {
    cls_graph *g;
    assert_int_equal(cls_graph_create(limits, &g, NULL), CLS_OK);
    for (size_t k = 0; k < SYMBOLS; k++) s[k] = cls_symbol(g, (char[2]){(char)('a' + k), 0});
    return g;
}

static void test_sharing(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        cls_node s[SYMBOLS], first[40], second[40];
        cls_graph *g = open_graph(s, NULL);
        cls_random r;
        cls_random_seed(&r, seed);
        random_pool(g, &r, SYMBOLS, s, 40, first, 1);
        size_t size = cls_graph_size(g);
        cls_random_seed(&r, seed);
        random_pool(g, &r, SYMBOLS, s, 40, second, 1);
        assert_memory_equal(first, second, sizeof first);
        assert_int_equal(cls_graph_size(g), size);
        assert_int_equal(cls_graph_status(g, NULL), CLS_OK);
        cls_graph_free(&g);
        assert_null(g);
    }
}

static void test_canonical(void **state) {
    (void)state;
    cls_node s[SYMBOLS];
    cls_graph *g = open_graph(s, NULL);
    cls_node a = s[0], b = s[1], zero = cls_constant(g, 0), one = cls_constant(g, 1);
    cls_node two = cls_constant(g, 2);
    assert_int_equal(cls_constant(g, -0.0), zero);
    assert_int_equal(cls_symbol(g, "a"), a);
    assert_int_equal(cls_add(g, a, b), cls_add(g, b, a));
    assert_int_equal(cls_mul(g, a, b), cls_mul(g, b, a));
    assert_int_not_equal(cls_sub(g, a, b), cls_sub(g, b, a));
    assert_int_equal(cls_neg(g, cls_sub(g, a, b)), cls_sub(g, b, a));
    assert_int_equal(cls_neg(g, cls_neg(g, a)), a);
    assert_int_equal(cls_add(g, a, zero), a);
    assert_int_equal(cls_sub(g, a, a), zero);
    assert_int_equal(cls_mul(g, a, one), a);
    assert_int_equal(cls_mul(g, zero, a), zero);
    assert_int_equal(cls_div(g, a, a), one);
    assert_int_equal(cls_div(g, a, one), a);
    assert_int_equal(cls_mul(g, a, a), cls_pow(g, a, two));
    assert_int_equal(cls_add(g, a, a), cls_mul(g, two, a));
    assert_int_equal(cls_pow(g, a, zero), one);
    assert_int_equal(cls_pow(g, a, one), a);
    assert_int_equal(cls_pow(g, a, cls_constant(g, 0.5)), cls_apply(g, CLS_FN_SQRT, a));
    assert_int_equal(cls_add(g, a, cls_mul(g, cls_constant(g, -3), b)),
                     cls_sub(g, a, cls_mul(g, cls_constant(g, 3), b)));
    assert_int_equal(cls_quotient(g, CLS_FN_EXP, 2, 1, a, b, 0),
                     cls_quotient(g, CLS_FN_EXP, 1, 2, b, a, 0));
    cls_node fresh = cls_fresh_symbol(g, "a"), other = cls_fresh_symbol(g, "a");
    assert_true(fresh != a && fresh != other && other != a);
    cls_graph_free(&g);
}

/* A quotient of one point twice is a Taylor coefficient. */
static void test_quotient_of_one_point(void **state) {
    (void)state;
    cls_node s[SYMBOLS];
    cls_graph *g = open_graph(s, NULL);
    const double x = 0.6, expected[4] = {1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24};
    for (int k = 1; k <= 4; k++) {
        cls_node q = cls_quotient(g, CLS_FN_EXP, k, 1, s[0], s[0], 0);
        double v;
        assert_true(library_values(g, 1, &q, 1, s, &x, &v));
        assert_true(fabs(v - exp(x) * expected[k - 1]) < 1e-15);
        assert_int_equal(cls_depends(g, q, 1, s), 1);
    }
    cls_node power = cls_quotient(g, CLS_FN_POWER, 2, 1, s[0], s[0], 5); /* 5*4/2 x^3 */
    double v;
    assert_true(library_values(g, 1, &power, 1, s, &x, &v));
    assert_true(fabs(v - 10 * x * x * x) < 1e-15);
    assert_int_equal(cls_quotient(g, CLS_FN_EXP, 0, 1, s[0], s[1], 0), CLS_NO_NODE);
    assert_int_equal(cls_graph_status(g, NULL), CLS_USAGE);
    cls_graph_free(&g);
}

/* Everything on a full graph: an absent node, the first error, no crash. */
static void test_limit(void **state) {
    (void)state;
    for (size_t limit = 4; limit < 60; limit += 5) {
        const cls_graph_limits limits = {.max_nodes = limit};
        cls_node s[SYMBOLS], out[SYMBOLS] = {0}, a;
        cls_error error = {0};
        cls_graph *g = open_graph(s, &limits);
        a = s[0];
        for (int k = 0; k < 100; k++)
            a = cls_add(g, cls_apply(g, CLS_FN_SIN, a), cls_mul(g, a, s[k % SYMBOLS]));
        assert_int_equal(a, CLS_NO_NODE);
        assert_int_equal(cls_graph_status(g, &error), CLS_SYSTEM);
        assert_non_null(strstr(error.message, "too large"));
        assert_true(cls_graph_size(g) <= limit);
        cls_node nothing[] = {cls_neg(g, a),
                              cls_pow(g, a, s[0]),
                              cls_div(g, s[0], a),
                              cls_apply(g, CLS_FN_EXP, a),
                              cls_quotient(g, CLS_FN_EXP, 1, 1, a, s[0], 0),
                              cls_derivative(g, a, s[0]),
                              cls_derivative(g, s[0], a),
                              cls_simplify(g, a),
                              cls_constant(g, 123.25),
                              cls_symbol(g, "a_new_symbol"),
                              cls_pow(g, cls_apply(g, CLS_FN_TAN, s[1]), s[0])};
        for (size_t k = 0; k < sizeof nothing / sizeof *nothing; k++)
            assert_int_equal(nothing[k], CLS_NO_NODE);
        assert_int_equal(cls_gradient(g, a, SYMBOLS, s, out), CLS_SYSTEM);
        assert_int_equal(cls_substitute(g, 1, &a, 1, s, s + 1, out), CLS_SYSTEM);
        assert_int_equal(cls_discrete_gradient(g, a, SYMBOLS, s, s, s, out), CLS_SYSTEM);
        assert_int_equal(cls_jacobian(g, 1, &a, SYMBOLS, s, out), CLS_SYSTEM);
        cls_program *p;
        assert_int_equal(cls_program_create(g, SYMBOLS, s, 1, &a, &p, &error), CLS_SYSTEM);
        assert_null(p);
        assert_int_equal(cls_symbol(g, "a"), s[0]); /* what is there stays */
        cls_graph_free(&g);
    }
}

/* The walks run into the limit in the middle. */
static void test_limit_in_walks(void **state) {
    (void)state;
    cls_node s[SYMBOLS], out[SYMBOLS];
    cls_graph *g = open_graph(s, NULL);
    cls_random r;
    for (uint64_t seed = 0; seed < 100; seed++) {
        cls_node pool[30];
        cls_graph_free(&g);
        g = open_graph(s, NULL);
        cls_random_seed(&r, seed);
        random_pool(g, &r, SYMBOLS, s, 30, pool, 0);
        size_t need = cls_graph_size(g);
        for (size_t extra = 0; extra < 40; extra += 3) {
            const cls_graph_limits limits = {.max_nodes = need + extra};
            cls_graph_free(&g);
            g = open_graph(s, &limits);
            cls_random_seed(&r, seed);
            random_pool(g, &r, SYMBOLS, s, 30, pool, 0);
            assert_int_equal(cls_graph_status(g, NULL), CLS_OK);
            cls_status status = cls_discrete_gradient(g, pool[29], 2, s, s, s + 2, out);
            assert_int_equal(status, cls_graph_status(g, NULL));
            status = cls_gradient(g, pool[29], SYMBOLS, s, out);
            assert_int_equal(status, cls_graph_status(g, NULL));
            cls_node simple = cls_simplify(g, pool[28]);
            assert_true((simple == CLS_NO_NODE) == (cls_graph_status(g, NULL) != CLS_OK));
            assert_true(cls_graph_size(g) <= need + extra);
        }
    }
    cls_graph_free(&g);
}

static void test_substitute(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 41);
    for (int round = 0; round < 300; round++) {
        cls_node s[SYMBOLS], swapped;
        cls_graph *g = open_graph(s, NULL);
        double x[2] = {3 * cls_random_uniform(&r) - 1.5, 3 * cls_random_uniform(&r) - 1.5};
        double y[2] = {x[1], x[0]}, v, w;
        cls_node a = tame_expression(g, &r, 2, s, 1, x, 8);
        assert_int_equal(cls_substitute(g, 1, &a, 2, s, (cls_node[]){s[1], s[0]}, &swapped),
                         CLS_OK);
        assert_true(library_values(g, 1, &a, 2, s, x, &v));
        assert_true(library_values(g, 1, &swapped, 2, s, y, &w));
        oracle o;
        oracle_open(&o, g);
        long double expected = oracle_real(&o, a, 2, s, x);
        oracle_close(&o);
        assert_true(fabsl(v - expected) <= 1e-12L * (1 + fabsl(expected)));
        assert_true(fabsl(w - expected) <= 1e-12L * (1 + fabsl(expected)));
        assert_int_equal(cls_substitute(g, 1, &swapped, 2, s, (cls_node[]){s[1], s[0]}, &swapped),
                         CLS_OK);
        assert_true(library_values(g, 1, &swapped, 2, s, x, &w));
        assert_true(fabs(w - v) <= 1e-12 * (1 + fabs(v)));
        cls_graph_free(&g);
    }
}

static void test_substitute_exactly(void **state) {
    (void)state;
    cls_node s[SYMBOLS];
    cls_graph *g = open_graph(s, NULL);
    cls_node a = cls_sub(g, s[0], cls_apply(g, CLS_FN_EXP, s[1]));
    cls_node nodes[2] = {a, s[2]}, to[2] = {s[1], cls_add(g, s[0], s[1])};
    assert_int_equal(cls_substitute(g, 2, nodes, 2, s, to, nodes), CLS_OK); /* in place */
    assert_int_equal(nodes[0], cls_sub(g, s[1], cls_apply(g, CLS_FN_EXP, cls_add(g, s[0], s[1]))));
    assert_int_equal(nodes[1], s[2]);
    assert_int_equal(cls_substitute(g, 1, &a, 0, NULL, NULL, nodes), CLS_OK);
    assert_int_equal(nodes[0], a);
    cls_graph_free(&g);
}

static void test_symbols(void **state) {
    (void)state;
    cls_node s[SYMBOLS], found[SYMBOLS];
    cls_graph *g = open_graph(s, NULL);
    cls_node a = cls_mul(g, s[0], cls_apply(g, CLS_FN_SIN, s[2]));
    assert_int_equal(cls_depends(g, a, 1, s), 1);
    assert_int_equal(cls_depends(g, a, 1, s + 1), 0);
    assert_int_equal(cls_depends(g, a, 2, s + 1), 1);
    assert_int_equal(cls_depends(g, a, 0, NULL), 0);
    assert_int_equal(cls_depends(g, cls_constant(g, 2), SYMBOLS, s), 0);
    assert_int_equal(cls_symbols_of(g, 1, &a, SYMBOLS, found), 2);
    assert_true((found[0] == s[0] && found[1] == s[2]) || (found[0] == s[2] && found[1] == s[0]));
    found[1] = 77;
    assert_int_equal(cls_symbols_of(g, 1, &a, 1, found), 2); /* counts beyond the room */
    assert_int_equal(found[1], 77);
    assert_int_equal(cls_symbols_of(g, 2, (cls_node[]){a, s[1]}, SYMBOLS, found), 3);
    assert_int_equal(cls_symbols_of(g, 0, NULL, SYMBOLS, found), 0);
    assert_string_equal(cls_node_name(g, s[2]), "c");
    cls_graph_free(&g);
}

/* An operation on constants folds to what the program computes from inputs, bit for bit. */
static void test_folding(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 42);
    cls_node s[SYMBOLS];
    for (int round = 0; round < 3000; round++) {
        cls_graph *g = open_graph(s, NULL);
        const double x[2] = {4 * cls_random_uniform(&r), 4 * cls_random_uniform(&r) - 1};
        cls_random before = r;
        cls_node open = random_node(g, &r, s[0], s[1], 1), folded;
        r = before;
        folded = random_node(g, &r, cls_constant(g, x[0]), cls_constant(g, x[1]), 1);
        assert_int_equal(cls_node_op(g, folded), CLS_OP_CONSTANT);
        double v, c = cls_node_value(g, folded);
        assert_true(library_values(g, 1, &open, 2, s, x, &v));
        if (!(v == c || (isnan(v) && isnan(c)))) {
            char *text = cls_print(g, open);
            fail_msg("%s at %a, %a: folded %a, run %a", text, x[0], x[1], c, v);
        }
        cls_graph_free(&g);
    }
}

/* Deep and wide graphs: no walk may use the stack. */
static void test_deep(void **state) {
    (void)state;
    cls_node s[SYMBOLS], out[2], found[SYMBOLS];
    cls_graph *g = open_graph(s, NULL);
    cls_node a = s[0];
    for (int k = 0; k < 40000; k++)
        a = cls_add(g, cls_apply(g, k % 2 ? CLS_FN_SIN : CLS_FN_ATAN, a), s[1]);
    assert_int_equal(cls_symbols_of(g, 1, &a, SYMBOLS, found), 2);
    assert_int_equal(cls_gradient(g, a, 2, s, out), CLS_OK);
    assert_int_equal(cls_substitute(g, 1, &a, 1, s, s + 2, out), CLS_OK);
    assert_int_equal(cls_depends(g, out[0], 1, s), 0);
    assert_int_equal(cls_discrete_gradient(g, a, 2, s, s, s + 2, out), CLS_OK);
    const double x[SYMBOLS] = {0.1, 0.2, 0.1, 0.2};
    double v[2];
    assert_true(library_values(g, 2, out, SYMBOLS, s, x, v));
    assert_true(isfinite(v[0]) && isfinite(v[1]));
    cls_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sharing),        cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_limit),          cmocka_unit_test(test_quotient_of_one_point),
        cmocka_unit_test(test_limit_in_walks), cmocka_unit_test(test_substitute),
        cmocka_unit_test(test_symbols),        cmocka_unit_test(test_substitute_exactly),
        cmocka_unit_test(test_folding),        cmocka_unit_test(test_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
