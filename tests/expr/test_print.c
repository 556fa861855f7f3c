/* The printer: printing and parsing are inverse on random graphs, derivatives and discrete
 * gradients included; parentheses only where they are needed; huge graphs do no harm. And LaTeX,
 * which is checked for its pieces and for balanced braces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/expr/random_graph.h"
#include <string.h>

enum { SYMBOLS = 6, POOL = 40 };
static const char *const names[SYMBOLS] = {"x", "y", "v.x", "p.x", "theta_a", "T1"};

typedef struct setup {
    cls_graph *g;
    cls_node nodes[SYMBOLS];
    cls_scope scope;
} setup;

static void open_graph(setup *s) {
    const cls_graph_limits limits = {.max_length = 1 << 21, .max_depth = 1900};
    assert_int_equal(cls_graph_create(&limits, &s->g, NULL), CLS_OK);
    for (size_t k = 0; k < SYMBOLS; k++) s->nodes[k] = cls_symbol(s->g, names[k]);
    s->scope = (cls_scope){SYMBOLS, names, s->nodes};
}

static cls_node parse(setup *s, const char *text) {
    cls_node a;
    cls_error error = {0};
    cls_status status = cls_parse(s->g, text, &s->scope, NULL, 1, 1, &a, &error);
    if (status != CLS_OK) fail_msg("%s", error.message);
    return a;
}

/* 1 if the text was short enough to be compared. */
static int round_trip(setup *s, cls_node a) {
    char *text = cls_print(s->g, a);
    assert_non_null(text);
    int small = text[0] != '<';
    if (small) {
        cls_node back = parse(s, text);
        if (back != a) {
            char *other = cls_print(s->g, back);
            fail_msg("node %u prints as\n%s\nwhich parses to %u, that is\n%s", a, text, back,
                     other);
        }
    }
    cls_text_free(&text);
    return small;
}

static void test_round_trip(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 1);
    size_t compared = 0;
    for (int round = 0; round < 600; round++) {
        setup s;
        cls_node pool[POOL];
        open_graph(&s);
        random_pool(s.g, &r, SYMBOLS, s.nodes, POOL, pool, 1);
        for (size_t k = 0; k < 25; k++) compared += (size_t)round_trip(&s, pool[k]);
        cls_graph_free(&s.g);
    }
    assert_true(compared > 10000);
}

static void test_round_trip_of_derivatives(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 2);
    size_t compared = 0;
    for (int round = 0; round < 200; round++) {
        setup s;
        cls_node pool[POOL], grad[2], discrete[2];
        open_graph(&s);
        random_pool(s.g, &r, SYMBOLS, s.nodes, POOL, pool, 0);
        cls_node a = pool[14];
        assert_int_equal(cls_gradient(s.g, a, 2, s.nodes, grad), CLS_OK);
        assert_int_equal(
            cls_discrete_gradient(s.g, a, 2, s.nodes, s.nodes + 2, s.nodes + 4, discrete), CLS_OK);
        for (size_t k = 0; k < 2; k++) {
            if (has_finite_numbers(s.g, grad[k])) compared += (size_t)round_trip(&s, grad[k]);
            if (has_finite_numbers(s.g, discrete[k]))
                compared += (size_t)round_trip(&s, discrete[k]);
            cls_node simple = cls_simplify(s.g, grad[k]);
            if (has_finite_numbers(s.g, simple)) compared += (size_t)round_trip(&s, simple);
        }
        cls_graph_free(&s.g);
    }
    assert_true(compared > 500);
}

/* Texts that are already as short as they can be. */
static void test_minimal(void **state) {
    (void)state;
    static const char *const texts[] = {"x + y + v.x",
                                        "x - y - v.x",
                                        "x - (y - v.x)",
                                        "x - (y + v.x)",
                                        "x/y*v.x",
                                        "x/(y*v.x)",
                                        "-x^2",
                                        "x^-2",
                                        "x^y^v.x",
                                        "(x^y)^v.x",
                                        "v.x*(x + y)",
                                        "-(x + y)",
                                        "-x*y",
                                        "-x/y",
                                        "2*x",
                                        "-2*x",
                                        "x^-y",
                                        "x^(y + 1)",
                                        "sin(x)^2",
                                        "sin(x + y)",
                                        "1/x",
                                        "-(1/x)",
                                        "2*x*y*v.x",
                                        "2*(x/y)",
                                        "-x*y*v.x",
                                        "x - y + v.x",
                                        "2.5",
                                        "-0.1",
                                        "1e-05*x",
                                        "x - 3",
                                        "(-2)^x",
                                        "-2^x",
                                        "quotient(exp, 2, 1, x, y)",
                                        "quotient(power, 1, 2, x, y, 1.5)",
                                        "-(x - y)*v.x"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        setup s;
        open_graph(&s);
        cls_node a = parse(&s, texts[k]);
        char *text = cls_print(s.g, a);
        if (k + 1 < sizeof texts / sizeof *texts) {
            assert_string_equal(text, texts[k]);
        } else { /* the sign is absorbed by the difference, on both ways */
            assert_string_equal(text, "v.x*(y - x)");
        }
        cls_text_free(&text);
        assert_null(text);
        cls_graph_free(&s.g);
    }
}

static void test_numbers(void **state) {
    (void)state;
    setup s;
    open_graph(&s);
    cls_random r;
    cls_random_seed(&r, 3);
    for (int k = 0; k < 20000; k++) {
        uint64_t bits = cls_random_next(&r);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) round_trip(&s, cls_constant(s.g, value));
    }
    cls_graph_free(&s.g);
}

static void test_huge(void **state) {
    (void)state;
    const cls_graph_limits limits = {.max_length = 1 << 21};
    setup s;
    open_graph(&s);
    cls_graph_free(&s.g);
    assert_int_equal(cls_graph_create(&limits, &s.g, NULL), CLS_OK);
    for (size_t k = 0; k < SYMBOLS; k++) s.nodes[k] = cls_symbol(s.g, names[k]);
    cls_node x = s.nodes[0], deep = s.nodes[1], shared = x, left = x;
    for (int k = 0; k < 300000; k++) deep = cls_apply(s.g, CLS_FN_SIN, deep);
    for (int k = 0; k < 100; k++) shared = cls_mul(s.g, cls_apply(s.g, CLS_FN_EXP, shared), shared);
    for (int k = 0; k < 100000; k++) left = cls_sub(s.g, left, s.nodes[1 + k % 2]);
    const cls_node nodes[] = {deep, shared, left};
    for (size_t k = 0; k < 3; k++) {
        char *text = cls_print(s.g, nodes[k]), *latex = cls_print_latex(s.g, nodes[k]);
        assert_non_null(text);
        assert_non_null(latex);
        if (k < 2) {
            assert_string_equal(text, "<expression too large to print>");
            assert_string_equal(latex, text);
        } else {
            assert_int_equal(parse(&s, text), left); /* a long sum is no nesting */
        }
        cls_text_free(&text);
        cls_text_free(&latex);
    }
    char *none = cls_print(s.g, CLS_NO_NODE);
    assert_string_equal(none, "<no expression>");
    cls_text_free(&none);
    cls_text_free(&none);
    cls_graph_free(&s.g);
}

/* ---- LaTeX ---- */

static void test_latex_symbols(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"x", "x"},
                                           {"gamma", "\\gamma"},
                                           {"theta_a", "\\theta_{a}"},
                                           {"v.x", "\\dot{x}"},
                                           {"p.x", "p_{x}"},
                                           {"T1", "T_{1}"},
                                           {"mass", "\\mathrm{mass}"},
                                           {"k_spring", "k_{\\mathrm{spring}}"},
                                           {"v.theta_a", "\\dot{\\theta}_{a}"},
                                           {"p.theta_a", "p_{\\theta_{a}}"},
                                           {"T1_a", "T_{1,a}"},
                                           {"c_alpha_2", "c_{\\alpha,2}"},
                                           {"S.gas", "S_{\\mathrm{gas}}"},
                                           {"Omega12", "\\Omega_{12}"},
                                           {"_x", "\\mathrm{\\_x}"},
                                           {"x_", "x_{}"}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        cls_graph *g;
        assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
        char *text = cls_print_latex(g, cls_symbol(g, pairs[k][0]));
        assert_string_equal(text, pairs[k][1]);
        cls_text_free(&text);
        cls_graph_free(&g);
    }
}

static void test_latex_forms(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"x/y", "\\frac{x}{y}"},
        {"(x + 1)/y", "\\frac{x + 1}{y}"},
        {"(x/y)^2", "\\left(\\frac{x}{y}\\right)^{2}"},
        {"v.x^2", "\\dot{x}^{2}"},
        {"sqrt(x + y)", "\\sqrt{x + y}"},
        {"exp(-x)", "\\mathrm{e}^{-x}"},
        {"log(x)", "\\log\\left(x\\right)"},
        {"sin(x)^2", "\\sin^{2}\\left(x\\right)"},
        {"sin(x)^-2", "\\left(\\sin\\left(x\\right)\\right)^{-2}"},
        {"2*x", "2 \\, x"},
        {"2*3^x", "2 \\cdot 3^{x}"},
        {"x*(y + 1)", "x \\, \\left(y + 1\\right)"},
        {"x + (y + v.x)", "x + y + \\dot{x}"},
        {"x - (y - v.x)", "x - \\left(y - \\dot{x}\\right)"},
        {"x + -3", "x - 3"},
        {"x + -3*y", "x - 3 \\, y"},
        {"x - -3*y", "x + 3 \\, y"},
        {"-x*y", "-x \\, y"},
        {"1e-05", "1 \\cdot 10^{-5}"},
        {"1e-05^x", "\\left(1 \\cdot 10^{-5}\\right)^{x}"},
        {"quotient(exp, 2, 1, x, y)", "\\exp\\left[x, x, y\\right]"},
        {"quotient(power, 1, 1, x, y, 1.5)", "\\operatorname{pow}_{1.5}\\left[x, y\\right]"}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        setup s;
        open_graph(&s);
        char *text = cls_print_latex(s.g, parse(&s, pairs[k][0]));
        assert_string_equal(text, pairs[k][1]);
        cls_text_free(&text);
        cls_graph_free(&s.g);
    }
}

static size_t count(const char *text, const char *word) {
    size_t n = 0;
    for (const char *s = text; (s = strstr(s, word)); s += strlen(word)) n++;
    return n;
}

static void test_latex_balanced(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 4);
    for (int round = 0; round < 300; round++) {
        setup s;
        cls_node pool[POOL];
        open_graph(&s);
        random_pool(s.g, &r, SYMBOLS, s.nodes, POOL, pool, 1);
        for (size_t k = 0; k < 20; k++) {
            char *text = cls_print_latex(s.g, pool[k]);
            int depth = 0;
            for (const char *c = text; *c; c++) {
                depth += (*c == '{') - (*c == '}');
                assert_true(depth >= 0);
            }
            assert_int_equal(depth, 0);
            assert_int_equal(count(text, "\\left"), count(text, "\\right"));
            assert_int_equal(count(text, "+ -") + count(text, "- -") + count(text, "--"), 0);
            cls_text_free(&text);
        }
        cls_graph_free(&s.g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_round_trip_of_derivatives),
        cmocka_unit_test(test_minimal),     cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_huge),        cmocka_unit_test(test_latex_symbols),
        cmocka_unit_test(test_latex_forms), cmocka_unit_test(test_latex_balanced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
