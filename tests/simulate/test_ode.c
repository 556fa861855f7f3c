/* Ordinary differential equations: rates and nothing else. The schemes that apply have their order,
 * the others are refused with a reason, and nobody claims a law. */
#include "tests/simulate/motion.h"
#include <clausius/graph.h>

static const char circle[] = "parameter w = 2\node x' = w*y\node y' = -w*x\noutput r = x^2 + y^2\n"
                             "start x = 1, y = 0\n";

static double error_at_one(const cls_system *s, const char *scheme, uint64_t steps) {
    cls_simulator *sim = begin(s, scheme, 1.0 / (double)steps);
    advance(sim, steps);
    const double *z = cls_simulator_state(sim);
    double error = hypot(z[0] - cos(2), z[1] + sin(2));
    cls_simulator_free(&sim);
    return error;
}

static void schemes_have_their_order(void **unused) {
    (void)unused;
    static const struct {
        const char *scheme;
        double order;
    } want[] = {{"euler", 1}, {"implicit-euler", 1},    {"rk2", 2},
                {"rk3", 3},   {"implicit-midpoint", 2}, {"rk4", 4}};
    cls_system *s = parse(circle);
    for (size_t i = 0; i < 5; i++) {
        double order =
            log2(error_at_one(s, want[i].scheme, 64) / error_at_one(s, want[i].scheme, 128));
        if (!(fabs(order - want[i].order) <= 0.1))
            fail_msg("%s: order %g, not %g", want[i].scheme, order, want[i].order);
    }
    assert_true(error_at_one(s, "bdf", 10) < 1e-9);
    assert_string_equal(cls_scheme_default(s), "implicit-midpoint");
    cls_system_free(&s);
}

static void schemes_of_an_energy_are_refused(void **unused) {
    (void)unused;
    static const char *const names[] = {"discrete-gradient", "dtel", "vnots", "leapfrog",
                                        "symplectic-euler"};
    cls_system *s = parse(circle);
    for (size_t i = 0; i < 5; i++) {
        cls_error error = {0};
        assert_int_equal(cls_scheme_applies(names[i], s, &error), CLS_USAGE);
        assert_non_null(strstr(error.message, "which has none; take rk4"));
    }
    cls_system_free(&s);
}

static void there_is_no_energy(void **unused) {
    (void)unused;
    cls_system *s = parse(circle);
    assert_int_equal(cls_system_formalism(s), CLS_ODE);
    assert_int_equal(cls_system_column_count(s), 4); /* time, x, y, r */
    assert_int_equal(cls_system_state_count(s), 2);
    for (size_t i = 0; i < 4; i++) assert_string_not_equal(cls_system_column(s, i), "energy");
    char *text = NULL;
    assert_int_equal(cls_system_show(s, CLS_SHOW_SUMMARY, &text, NULL), CLS_OK);
    assert_non_null(strstr(text, "none is promised"));
    assert_non_null(strstr(text, "x' = w*y"));
    cls_text_free(&text);
    cls_system_free(&s);
}

static void mistakes_are_told(void **unused) {
    (void)unused;
    static const struct {
        const char *text;
        int line, column;
        const char *says;
    } mistakes[] = {
        {"ode x = 1", 1, 7, "expected `'`"},
        {"ode x' 1", 1, 8, "expected `=`"},
        {"ode", 1, 4, "expected `ode x' = formula`"},
        {"ode x' = y", 1, 10, "y"},
        {"ode x' = v.x", 1, 10, "not a function of velocity `v.x`"},
        {"ode x' = 1\node x' = 2", 2, 5, "already"},
        {"ode x' = 1\ncoordinate q", 1, 5, "`ode` stands alone"},
        {"ode x' = 1\nhamiltonian 1", 1, 5, "`ode` stands alone"},
        {"ode x' = unknown", 1, 0, "needs a name: `part f = unknown`"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        cls_error e = {0};
        cls_system *s = NULL;
        cls_status status = cls_system_parse(mistakes[i].text, "bad", NULL, &s, &e);
        if (status != CLS_SYSTEM || e.line != mistakes[i].line ||
            (mistakes[i].column && e.column != mistakes[i].column) ||
            !strstr(e.message, mistakes[i].says))
            fail_msg("%s: %s", mistakes[i].text, e.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemes_have_their_order),
        cmocka_unit_test(schemes_of_an_energy_are_refused),
        cmocka_unit_test(there_is_no_energy),
        cmocka_unit_test(mistakes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
