/* Simplification: the value stays to round-off, the formula does not grow, known ones come out as
 * expected, and huge sums and products do no harm. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/expr/oracle.h"
#include "tests/expr/random_graph.h"

static cls_graph *open_graph(cls_node *s) {
    static const char *const names[TAME_DIM] = {"T", "V", "x", "y"};
    cls_graph *g;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    for (size_t i = 0; i < TAME_DIM; i++) s[i] = cls_symbol(g, names[i]);
    return g;
}

/* Its operations and symbols; numbers are free. */
static size_t size_of(const cls_graph *g, cls_node a, const cls_node *s) {
    cls_program *p;
    cls_node used[TAME_DIM];
    assert_int_equal(cls_program_create(g, TAME_DIM, s, 1, &a, &p, NULL), CLS_OK);
    size_t n = cls_program_length(p) + cls_symbols_of(g, 1, &a, TAME_DIM, used);
    cls_program_free(&p);
    return n;
}

/* The same with shared parts written out, as a reader meets them. */
static size_t written_size(const cls_graph *g, cls_node a) {
    size_t n = cls_node_op(g, a) != CLS_OP_CONSTANT;
    for (size_t i = 0; i < cls_node_arg_count(g, a); i++)
        n += written_size(g, cls_node_arg(g, a, i));
    return n;
}

/* 1 if the written formula has grown. Each collecting step compares what it changes alone, so that
 * a part that was shared with another may come apart: rare, and bounded here. */
static int check(cls_graph *g, cls_node a, const cls_node *s, const double *x) {
    cls_node b = cls_simplify(g, a), c = cls_simplify(g, b);
    assert_int_not_equal(b, CLS_NO_NODE);
    assert_int_not_equal(c, CLS_NO_NODE);
    oracle o;
    oracle_open(&o, g);
    long double va = oracle_real(&o, a, TAME_DIM, s, x), vb = oracle_real(&o, b, TAME_DIM, s, x);
    oracle_close(&o);
    size_t na = written_size(g, a), nb = written_size(g, b), nc = written_size(g, c);
    if (!(fabsl(va - vb) <= 1e-12L * (1 + fabsl(va))) || 4 * nb > 5 * na || 4 * nc > 5 * nb) {
        char *before = cls_print(g, a), *after = cls_print(g, b);
        fail_msg("%s\n(%.17Lg, size %zu) became\n%s\n(%.17Lg, size %zu, then %zu)", before, va, na,
                 after, vb, nb, nc);
    }
    return nb > na || nc > nb;
}

static void test_random(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 61);
    int grown = 0, smaller = 0;
    for (int round = 0; round < 1500; round++) {
        cls_node s[TAME_DIM];
        cls_graph *g = open_graph(s);
        double x[TAME_DIM];
        for (size_t i = 0; i < TAME_DIM; i++) x[i] = 3 * cls_random_uniform(&r) - 1.5;
        cls_node a = tame_expression(g, &r, 2 + random_below(&r, 3), s, 1, x, 10);
        cls_node d = cls_derivative(g, a, s[0]);
        grown += check(g, a, s, x) + check(g, d, s, x);
        smaller += written_size(g, cls_simplify(g, d)) < written_size(g, d);
        cls_graph_free(&g);
    }
    assert_true(grown < 15);    /* of 3000 */
    assert_true(smaller > 300); /* of 1500 derivatives */
}

static cls_node parse(cls_graph *g, const cls_node *s, const char *text) {
    static const char *const names[] = {"T", "V", "x", "y"};
    const cls_scope scope = {TAME_DIM, names, s};
    cls_node a;
    cls_error error = {0};
    if (cls_parse(g, text, &scope, NULL, 1, 1, &a, &error) != CLS_OK) fail_msg("%s", error.message);
    return a;
}

static void test_known(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"x - y + y - x", "0"},   {"3*x*y - 2*y*x", "x*y"},     {"x*y*x/y", "x^2"},
        {"x^1.5*x^1.5", "x^3"},   {"sqrt(T)*sqrt(T)*V/T", "V"}, {"exp(x)*exp(y)*exp(-x)", "exp(y)"},
        {"V^(2/3)*V^(1/3)", "V"}, {"x*(1/x) + 1", "2"},         {"(x + y)*2 - x - y", "x + y"}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        cls_node s[TAME_DIM];
        cls_graph *g = open_graph(s);
        cls_node simple = cls_simplify(g, parse(g, s, pairs[k][0]));
        char *text = cls_print(g, simple);
        if (simple != parse(g, s, pairs[k][1]))
            fail_msg("%s became %s, not %s", pairs[k][0], text, pairs[k][1]);
        cls_text_free(&text);
        cls_graph_free(&g);
    }
}

/* The temperature law of an ideal gas from its free energy. */
static void test_ideal_gas(void **state) {
    (void)state;
    cls_node s[TAME_DIM];
    cls_graph *g = open_graph(s);
    cls_node d = cls_derivative(g, parse(g, s, "T*(log(V^(2/3)*T) - 1)"), s[0]);
    assert_int_equal(cls_simplify(g, d), parse(g, s, "log(V^(2/3)*T)"));
    cls_graph_free(&g);
}

/* No NaN where there was none: fractional powers of products of negative numbers stay whole. */
static void test_signs(void **state) {
    (void)state;
    static const char *const texts[] = {"sqrt(x*y)*sqrt(x*y)*T", "(x*y)^1.5/(x*y)",
                                        "sqrt(x^2)/x",           "(x^2)^1.5*T/T^2",
                                        "(x^4)^0.25*x",          "sqrt(x^2*y^2)*T*T"};
    const double x[TAME_DIM] = {1.3, 0.8, -1.1, -0.6};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        cls_node s[TAME_DIM];
        cls_graph *g = open_graph(s);
        assert_int_equal(check(g, parse(g, s, texts[k]), s, x), 0);
        cls_graph_free(&g);
    }
}

/* Too many members to collect, nested too deep for a recursion. */
static void test_huge(void **state) {
    (void)state;
    cls_node s[TAME_DIM];
    cls_graph *g = open_graph(s);
    cls_node left = s[0], right = s[0], term = s[1];
    for (int k = 0; k < 60000; k++) {
        term = cls_apply(g, CLS_FN_SIN, term);
        left = cls_add(g, left, term);
        right = cls_sub(g, term, right);
    }
    assert_int_equal(cls_simplify(g, left), left);
    assert_int_equal(cls_simplify(g, right), right);
    cls_graph_free(&g);
}

/* Long sums, products and fractions of few different members. */
static void test_long(void **state) {
    (void)state;
    cls_node s[TAME_DIM];
    cls_graph *g = open_graph(s);
    cls_node sum = s[0], product = s[1], fraction = s[2];
    double slope[TAME_DIM] = {1, 0, 0, 0};
    for (int k = 0; k < 3000; k++) {
        sum = cls_sub(g, cls_mul(g, s[k % TAME_DIM], cls_constant(g, 1 + k)), sum);
        for (int i = 0; i < TAME_DIM; i++) slope[i] = (i == k % TAME_DIM ? 1 + k : 0) - slope[i];
        product = cls_mul(g, product, cls_add(g, s[k % TAME_DIM], s[1]));
        fraction = cls_div(g, cls_add(g, s[1], cls_constant(g, k)), fraction);
    }
    cls_node simple = cls_simplify(g, sum), gradient[TAME_DIM];
    assert_true(size_of(g, simple, s) <= 4 * TAME_DIM);
    assert_int_equal(cls_gradient(g, simple, TAME_DIM, s, gradient), CLS_OK);
    for (int i = 0; i < TAME_DIM; i++) assert_true(cls_is_constant(g, gradient[i], slope[i]));
    assert_true(size_of(g, cls_simplify(g, product), s) <= size_of(g, product, s));
    assert_true(size_of(g, cls_simplify(g, fraction), s) <= size_of(g, fraction, s));
    assert_int_equal(cls_graph_status(g, NULL), CLS_OK);
    cls_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_known),
        cmocka_unit_test(test_signs),  cmocka_unit_test(test_ideal_gas),
        cmocka_unit_test(test_huge),   cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
