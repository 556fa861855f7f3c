/* The parser: what expressions mean, what every error says and where, and that no text, however
 * hostile, does harm. */
#include <clausius/random.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include <clausius/graph.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS = 6 };
static const char *const names[SYMBOLS] = {"x", "y", "v.x", "p.x", "theta_a", "T1"};
static const double values[SYMBOLS] = {0.7, -1.3, 2.1, 0.4, 1.9, 3.3};

typedef struct setup {
    cls_graph *g;
    cls_node nodes[SYMBOLS];
    cls_scope scope;
} setup;

static void open_graph(setup *s, const cls_graph_limits *limits) {
    assert_int_equal(cls_graph_create(limits, &s->g, NULL), CLS_OK);
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

static double value(setup *s, cls_node a) {
    cls_program *p;
    assert_int_equal(cls_program_create(s->g, SYMBOLS, s->nodes, 1, &a, &p, NULL), CLS_OK);
    double *work = malloc((cls_program_work_size(p) + 1) * sizeof *work), out;
    cls_program_prepare(p, work);
    cls_program_run(p, work, values, &out);
    free(work);
    cls_program_free(&p);
    return out;
}

static void means(setup *s, const char *text, double expected) {
    double got = value(s, parse(s, text));
    if (!(fabs(got - expected) <= 1e-14 * (1 + fabs(expected))))
        fail_msg("%s is %.17g, not %.17g", text, got, expected);
}

static void test_meaning(void **state) {
    (void)state;
    setup s;
    open_graph(&s, NULL);
    double x = values[0], y = values[1], v = values[2], T = values[5];
    means(&s, "1 + 2*3", 7);
    means(&s, "x - y - 1", x - y - 1);
    means(&s, "x - (y - 1)", x - (y - 1));
    means(&s, "8/4/2", 1);
    means(&s, "x/(y*2)", x / (y * 2));
    means(&s, "-x^2", -(x * x));
    means(&s, "(-x)^2", x * x);
    means(&s, "2^-3", 0.125);
    means(&s, "2^3^2", 512);
    means(&s, "2^-x^2", pow(2, -(x * x)));
    means(&s, "--x", x);
    means(&s, "+x - -y", x + y);
    means(&s, "v.x*T1", v * T);
    means(&s, ".5 + 5. + 1e-3 + 2.5E+2", 255.501);
    means(&s, " x\t+\n y\r\n", x + y);
    means(&s, "sin(pi/2)", 1);
    means(&s, "mod(-3, 2*2) + 10*mod(7, 4) + 100*min(2, -3) + 1000*max(2, -3)", 1731);
    means(&s, "ln(T1) + log(T1)", 2 * log(T));
    means(&s, "log10(T1)", log10(T));
    means(&s, "log2(T1)", log2(T));
    means(&s, "cbrt(T1)", cbrt(T));
    means(&s, "sq(y)", y * y);
    means(&s, "softabs(y, 0.1)", hypot(y, 0.1));
    means(&s, "hypot(x, y)", hypot(x, y));
    means(&s, "norm(x, y, 2)", sqrt(x * x + y * y + 4));
    means(&s, "norm(y)", -y);
    means(&s, "softmax(x, y, 0)", x);
    means(&s, "softmin(x, y, 0)", y);
    means(&s, "softmax(x,y,0.3) + softmin(x,y,0.3)", x + y);
    for (int sx = -1; sx < 2; sx += 2)
        for (int sy = -1; sy < 2; sy += 2)
            means(&s,
                  sx < 0   ? sy < 0 ? "atan2(-x, -T1)" : "atan2(x, -T1)"
                  : sy < 0 ? "atan2(-x, T1)"
                           : "atan2(x, T1)",
                  atan2(sy * x, sx * T));
    means(&s, "quotient(exp, 1, 1, x, y)", (exp(x) - exp(y)) / (x - y));
    means(&s, "quotient(power, 1, 1, x, T1, 2.5)", (pow(x, 2.5) - pow(T, 2.5)) / (x - T));
    cls_graph_free(&s.g);
}

static void test_every_function(void **state) {
    (void)state;
    setup s;
    open_graph(&s, NULL);
    for (int f = 0; f < CLS_FN_POWER; f++) {
        char text[64];
        snprintf(text, sizeof text, "%s ( x )", cls_function_name((cls_function)f));
        assert_int_equal(parse(&s, text), cls_apply(s.g, (cls_function)f, s.nodes[0]));
    }
    cls_graph_free(&s.g);
}

/* A name of the scope hides pi and, unless it is called, a function. */
static void test_scope_first(void **state) {
    (void)state;
    setup s;
    open_graph(&s, NULL);
    const char *own[] = {"pi", "norm", "e"};
    cls_node nodes[] = {s.nodes[0], s.nodes[1], s.nodes[2]}, a;
    cls_scope scope = {3, own, nodes};
    assert_int_equal(cls_parse(s.g, "pi*norm*e", &scope, NULL, 1, 1, &a, NULL), CLS_OK);
    assert_int_equal(a, parse(&s, "x*y*v.x"));
    assert_int_equal(cls_parse(s.g, "norm(pi, norm)", &scope, NULL, 1, 1, &a, NULL), CLS_OK);
    assert_int_equal(a, parse(&s, "norm(x, y)"));
    assert_int_equal(cls_parse(s.g, "2*3", NULL, NULL, 1, 1, &a, NULL), CLS_OK);
    assert_true(cls_is_constant(s.g, a, 6));
    cls_graph_free(&s.g);
}

/* text, column of the error, words the message must contain */
static const struct {
    const char *text;
    int column;
    const char *first, *second;
} mistakes[] = {
    {"", 1, "empty", ""},
    {"  \t ", 1, "empty", ""},
    {"x +", 4, "missing after '+'", ""},
    {"* x", 1, "missing before '*'", ""},
    {"x - * y", 5, "missing after '-'", ""},
    {"(x + y", 1, "never closed", "add the missing )"},
    {"sin(x", 4, "never closed", ""},
    {"x + y)", 6, "closes no parenthesis", ""},
    {"()", 2, "nothing between", ""},
    {"2x", 2, "operator is missing before 'x'", "write *"},
    {"x y", 3, "operator is missing before 'y'", "write *"},
    {"2(x)", 2, "operator is missing before '('", "write *"},
    {"(x)(y)", 4, "operator is missing", "write *"},
    {"x [m]", 3, "unexpected '['", "a unit stands behind the name"},
    {"2exp(x)", 2, "operator is missing before 'exp'", ""},
    {"x**2", 2, "** is not an operator", "write ^"},
    {"1.2.3", 1, "bad number '1.2.'", "two decimal points"},
    {".", 1, "bad number", "no digits"},
    {"1e+", 1, "bad number '1e+'", "exponent has no digits"},
    {"x + 2e", 5, "bad number '2e'", ""},
    {"0x10", 1, "bad number", "decimal"},
    {"1e999", 1, "too large", ""},
    {"1e-999", 1, "too small", ""},
    {"x + thta_a", 5, "unknown name 'thta_a'", "did you mean theta_a?"},
    {"v.y", 1, "unknown name 'v.y'", "did you mean v.x?"},
    {"x + zzzzzz", 5, "unknown name", "known here: x y v.x"},
    {"sine(x)", 1, "unknown function 'sine'", "did you mean sin?"},
    {"softabbs(x, 1)", 1, "unknown function", "did you mean softabs?"},
    {"sin + 1", 1, "sin needs its argument in parentheses", ""},
    {"x(y)", 1, "'x' is not a function", "write *"},
    {"pi(y)", 1, "'pi' is not a function", ""},
    {"sin(x, y)", 1, "sin takes 1 argument, got 2", "write sin(x)"},
    {"sin()", 1, "sin takes 1 argument, got 0", ""},
    {"y + softabs(x)", 5, "softabs takes 2 arguments, got 1", "softabs(x, eps)"},
    {"norm()", 1, "norm takes at least 1 argument, got 0", ""},
    {"softmax(x,,y)", 11, "missing after ','", ""},
    {"x, y", 2, "comma", ""},
    {"(x, y)", 3, "comma", ""},
    {"e", 1, "not a constant", "exp(1)"},
    {"abs(x)", 1, "not smooth", "softabs(x, eps)"},
    {"sign(x)", 1, "not smooth", "tanh(x/eps)"},
    {"min(x, y)", 1, "not smooth", "softmin"},
    {"max(x, y)", 1, "not smooth", "softmax"},
    {"floor(x)", 1, "not smooth", "sigmoid"},
    {"ceil(x)", 1, "not smooth", "sigmoid"},
    {"mod(x, 2)", 1, "not smooth", "sin"},
    {"mod(2, x)", 1, "not smooth", "sin"},
    {"mod(2)", 1, "mod takes 2 arguments, got 1", "mod(a, b)"},
    {"mod(2, 0)", 1, "not a finite number", ""},
    {"x + \xce\xb8", 5, "'\xce\xb8' is not ASCII", "theta"},
    {"x \xe2\x88\x92 y", 3, "is not ASCII", "write -"},
    {"x + \xff", 5, "byte 0xff is not ASCII", ""},
    {"x + \x01", 5, "control character", ""},
    {"x = 1", 3, "unexpected '='", "equation"},
    {"x[y]", 2, "unexpected '['", "( )"},
    {"x + @", 5, "unexpected '@'", ""},
    {"1/0", 2, "'1/0' is not a finite number", ""},
    {"x + 2*log(-1)", 7, "'log(-1)' is not a finite number", ""},
    {"1e308*10", 6, "not a finite number", ""},
    {"x*1e308*10", 8, "not a finite number", ""},
    {"(-8)^(1/3)", 5, "not a finite number", ""},
    {"exp(1000)", 1, "not a finite number", ""},
    {"quotient(foo, 1, 1, x, y)", 10, "unknown function 'foo'", ""},
    {"quotient(1, 1, 1, x, y)", 10, "name of a function", ""},
    {"quotient(exp, 1, 1, x)", 1, "takes 5 arguments, got 4", ""},
    {"quotient(power, 1, 1, x, y)", 1, "takes 6 arguments, got 5", ""},
    {"quotient(power, 1, 1, x, y, x)", 1, "exponent", "number"},
    {"quotient(exp, 0, 1, x, y)", 1, "orders", ""},
    {"quotient(exp, 1.5, 1, x, y)", 1, "orders", ""},
    {"quotient(exp, x, 1, x, y)", 1, "orders", ""},
    {"quotient(exp, 100, 101, x, y)", 1, "orders", "200"},
    {"quotient(exp, 1, 1, x, x)", 1, "different points", ""},
};

/* The last but one or last line of the message is the caret line. */
static void check_caret(const char *message, const char *text, int column) {
    const char *source = strchr(message, '\n');
    assert_non_null(source);
    const char *below = strchr(source + 1, '\n');
    assert_non_null(below);
    size_t shown = (size_t)(below - source - 1);
    if (strcspn(text, "\x01\xff") == strlen(text)) {
        assert_int_equal(shown, strlen(text));
        assert_memory_equal(source + 1, text, shown);
    }
    assert_int_equal(strcspn(below + 1, "^"), column - 1);
}

static void test_mistakes(void **state) {
    (void)state;
    setup s;
    open_graph(&s, NULL);
    for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        const char *text = mistakes[k].text;
        cls_error error = {0};
        cls_node a = 0;
        cls_status status = cls_parse(s.g, text, &s.scope, "f.cls", 12, 1, &a, &error);
        if (status != CLS_SYSTEM) fail_msg("'%s' gave status %d", text, status);
        assert_int_equal(a, CLS_NO_NODE);
        char place[64];
        snprintf(place, sizeof place, "f.cls:12:%d: ", mistakes[k].column);
        if (strncmp(error.message, place, strlen(place)) != 0 ||
            !strstr(error.message, mistakes[k].first) || !strstr(error.message, mistakes[k].second))
            fail_msg("'%s' at %d (%s, %s) gave:\n%s", text, mistakes[k].column, mistakes[k].first,
                     mistakes[k].second, error.message);
        assert_int_equal(error.status, CLS_SYSTEM);
        assert_int_equal(error.line, 12);
        assert_int_equal(error.column, mistakes[k].column);
        check_caret(error.message, text, mistakes[k].column);
    }
    assert_int_equal(cls_graph_status(s.g, NULL),
                     CLS_OK); /* the user's mistakes are not the graph's */
    cls_graph_free(&s.g);
}

static void test_places(void **state) {
    (void)state;
    setup s;
    open_graph(&s, NULL);
    cls_error error = {0};
    cls_node a;
    assert_int_equal(cls_parse(s.g, "x + @", &s.scope, NULL, 1, 1, &a, &error), CLS_SYSTEM);
    assert_string_equal(error.message, "column 5: unexpected '@'\nx + @\n    ^");
    /* where the text begins counts on its first line only */
    (void)cls_parse(s.g, "x +\n\ty + @ + 1\n+ 2", &s.scope, "m.cls", 7, 20, &a, &error);
    assert_string_equal(error.message, "m.cls:8:6: unexpected '@'\n\ty + @ + 1\n\t    ^");
    assert_int_equal(error.line, 8);
    (void)cls_parse(s.g, "x + @", &s.scope, "m.cls", 7, 20, &a, &error);
    assert_int_equal(error.column, 24);
    (void)cls_parse(s.g, "x\n@", &s.scope, NULL, 1, 1, &a, &error);
    assert_non_null(strstr(error.message, "line 2, column 1: "));
    assert_int_equal(cls_parse(s.g, "@", &s.scope, NULL, 1, 1, &a, NULL), CLS_SYSTEM);
    cls_graph_free(&s.g);
}

/* A long line is cut around the place; the caret still points at it. */
static void test_long_line(void **state) {
    (void)state;
    setup s;
    open_graph(&s, NULL);
    char text[4001];
    memset(text, ' ', 4000);
    text[4000] = 0;
    text[0] = 'x';
    text[2000] = '@';
    cls_error error = {0};
    cls_node a;
    (void)cls_parse(s.g, text, &s.scope, NULL, 1, 1, &a, &error);
    assert_int_equal(error.column, 2001);
    const char *source = strchr(error.message, '\n') + 1, *below = strchr(source, '\n') + 1;
    assert_true(below - source < 140);
    assert_int_equal(source[strcspn(below, "^")], '@');
    cls_graph_free(&s.g);
}

static char *repeat(const char *head, const char *unit, size_t n, const char *tail) {
    size_t h = strlen(head), u = strlen(unit);
    char *text = malloc(h + n * u + strlen(tail) + 1);
    memcpy(text, head, h);
    for (size_t k = 0; k < n; k++) memcpy(text + h + k * u, unit, u);
    strcpy(text + h + n * u, tail);
    return text;
}

static void test_limits(void **state) {
    (void)state;
    setup s;
    open_graph(&s, NULL);
    cls_error error = {0};
    cls_node a;
    /* long chains are loops */
    const char *const units[] = {"+1", "-x", "*y", "/y", "+sin(x)*2"};
    for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
        char *text = repeat("x", units[k], 60000 / strlen(units[k]), "");
        parse(&s, text);
        free(text);
    }
    /* nesting of every kind stops at the limit and says so */
    const char *const nests[] = {"(", "-", "x^", "sin(", "norm(x,", "2*(x+", "+-"};
    for (size_t k = 0; k < sizeof nests / sizeof *nests; k++) {
        char *text = repeat("", nests[k], 60000 / strlen(nests[k]), "x");
        assert_int_equal(cls_parse(s.g, text, &s.scope, NULL, 1, 1, &a, &error), CLS_SYSTEM);
        assert_non_null(strstr(error.message, "nested deeper than 200 levels"));
        free(text);
    }
    char *text = repeat("x", "+1", 1 << 19, "");
    assert_int_equal(cls_parse(s.g, text, &s.scope, NULL, 1, 1, &a, &error), CLS_SYSTEM);
    assert_non_null(strstr(error.message, "longer than 65536 characters"));
    free(text);
    cls_graph_free(&s.g);
    /* limits that are too generous for the stack are cut, too small ones are kept */
    open_graph(&s, &(cls_graph_limits){.max_depth = SIZE_MAX, .max_length = 1 << 20});
    text = repeat("", "sin(", 200000, "x");
    assert_int_equal(cls_parse(s.g, text, &s.scope, NULL, 1, 1, &a, &error), CLS_SYSTEM);
    assert_non_null(strstr(error.message, "nested deeper than"));
    free(text);
    cls_graph_free(&s.g);
    open_graph(&s, &(cls_graph_limits){.max_nodes = 10});
    assert_int_equal(cls_parse(s.g, "x + sin(x) + cos(x) + tan(x) + exp(x) + log(x)", &s.scope, "f",
                               3, 1, &a, &error),
                     CLS_SYSTEM);
    assert_non_null(strstr(error.message, "f:3:"));
    assert_non_null(strstr(error.message, "more than 10 nodes"));
    cls_graph_free(&s.g);
}

/* Random bytes, random tokens and mutations of good text: any answer, but an orderly one. */
static void attempt(setup *s, const char *text) {
    cls_error error = {0};
    cls_node a = 0;
    cls_status status = cls_parse(s->g, text, &s->scope, "f", 1, 1, &a, &error);
    if (status == CLS_OK) {
        assert_true(a < cls_graph_size(s->g));
        return;
    }
    assert_int_equal(a, CLS_NO_NODE);
    assert_int_equal(status, CLS_SYSTEM);
    assert_true(error.line >= 1 && error.column >= 1);
    assert_true((size_t)error.column <= strlen(text) + 1);
    assert_true(strlen(error.message) < sizeof error.message - 1);
}

static void test_hostile(void **state) {
    (void)state;
    setup s;
    open_graph(&s, NULL);
    cls_random r;
    cls_random_seed(&r, 7);
    static const char *const tokens[] = {"x",         "y",
                                         "v.x",       "1",
                                         "2.5",       "1e3",
                                         "(",         ")",
                                         "+",         "-",
                                         "*",         "/",
                                         "^",         ",",
                                         " ",         "\n",
                                         "sin",       "sin(",
                                         "quotient(", "quotient(power,1,2,",
                                         "norm(",     "exp(",
                                         "e",         ".",
                                         "\xce\xb8",  "quotient(tanh,2,1,x,y)",
                                         "0",         "pi",
                                         "softmax(",  "atan2(x,y)",
                                         "'",         "log(",
                                         "\x80",      "1e400"};
    for (int round = 0; round < 20000; round++) {
        char text[256] = "";
        size_t n = cls_random_next(&r) % 12;
        for (size_t k = 0; k < n; k++)
            strcat(text, tokens[cls_random_next(&r) % (sizeof tokens / sizeof *tokens)]);
        attempt(&s, text);
    }
    for (int round = 0; round < 20000; round++) {
        char text[64] = {0};
        size_t n = cls_random_next(&r) % 63;
        for (size_t k = 0; k < n; k++) text[k] = (char)(cls_random_next(&r) % 255 + 1);
        attempt(&s, text);
    }
    for (int round = 0; round < 20000; round++) {
        char text[] = "x^2/(2*v.x) + softmax(sin(theta_a), -T1, 1e-3)*quotient(exp, 1, 1, x, y)";
        for (int k = 0; k < 3; k++) {
            size_t at = cls_random_next(&r) % (sizeof text - 1);
            text[at] = cls_random_next(&r) & 1 ? text[cls_random_next(&r) % (sizeof text - 1)]
                                               : (char)(cls_random_next(&r) % 255 + 1);
        }
        attempt(&s, text);
    }
    assert_int_equal(cls_graph_status(s.g, NULL), CLS_OK);
    cls_graph_free(&s.g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning),     cmocka_unit_test(test_every_function),
        cmocka_unit_test(test_scope_first), cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_places),      cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_limits),      cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
