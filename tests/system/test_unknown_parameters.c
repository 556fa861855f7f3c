/* Parameters that are not known: how they are written, what stands in their place, who refuses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "system/system.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT                                                                                       \
    "coordinate x\nparameter m = unknown near 2 in (0, 10) [kg], k = unknown in (1, 100)\n"        \
    "parameter l = unknown, a = 2*m, b = unknown in (-4, inf)\n"                                   \
    "hamiltonian p.x^2/(2*m) + k*x^2/2 + l*sin(x/a) + b\nexternal force motor: x <- sin(t)\n"      \
    "start x = a, p.x = 0\n"

static cls_system *parse(const char *text, const cls_assignments *set) {
    cls_error error = {0};
    cls_system *s;
    if (cls_system_parse(text, "test", set, &s, &error)) fail_msg("%s", error.message);
    return s;
}

static void guesses_and_bounds(void **unused) {
    (void)unused;
    cls_system *s = parse(TEXT, NULL);
    static const double guess[] = {2, 10, 1, 4, 1}, low[] = {0, 1, -INFINITY, -INFINITY, -4},
                        high[] = {10, 100, INFINITY, INFINITY, INFINITY};
    static const int unknown[] = {1, 1, 1, 0, 1};
    for (size_t i = 0; i < 5; i++) {
        double from, to;
        cls_system_parameter_range(s, i, &from, &to);
        assert_int_equal(cls_system_parameter_is_unknown(s, i), unknown[i]);
        assert_true(fabs(cls_system_parameter(s, i) - guess[i]) < 1e-14);
        assert_true(from == low[i] && to == high[i]);
    }
    assert_true(s->start[0] == 4);
    assert_int_not_equal(clsi_parameters_known(s, NULL), CLS_OK);
    cls_system_free(&s);
}

static void a_value_makes_them_known(void **unused) {
    (void)unused;
    const char *names[] = {"m", "k", "l", "b"};
    const double values[] = {3, 4, 5, 6};
    cls_assignments set = {4, names, values};
    cls_system *s = parse(TEXT, &set);
    assert_int_equal(clsi_parameters_known(s, NULL), CLS_OK);
    assert_true(cls_system_parameter(s, 3) == 6);
    cls_system_free(&s);
}

static cls_node symbol(void *context, const cls_system *s, clsi_part_kind kind, size_t j) {
    assert_true(kind == CLSI_PART_PARAMETER && j == 0);
    return cls_symbol(s->g, context);
}

/* What is learned stands in every formula, in parameters made of it too; numbers use the guess. */
static void a_symbol_takes_their_place(void **unused) {
    (void)unused;
    char theta[] = "theta'0";
    const char *names[] = {"k", "l", "b"};
    const double values[] = {4, 5, 6};
    cls_assignments set = {3, names, values};
    clsi_replacement r = {"m", symbol, theta, 0};
    cls_error error = {0};
    cls_system *s;
    if (clsi_system_parse_with(TEXT, "test", &set, 1, &r, 1, &s, &error))
        fail_msg("%s", error.message);
    cls_node symbols[8], t0 = cls_symbol(s->g, theta);
    assert_int_equal(r.used, 1);
    assert_int_equal(clsi_parameters_known(s, NULL), CLS_OK);
    assert_true(cls_depends(s->g, s->bound.formula, 1, &t0));
    assert_int_equal(cls_symbols_of(s->g, 1, &s->bound.formula, 8, symbols), 3); /* x, p.x, theta */
    assert_true(s->start[0] == 4);
    cls_system_free(&s);
}

static void mistakes(void **unused) {
    (void)unused;
    static const struct {
        const char *line, *text;
    } bad[] = {{"parameter k = unknown in (2, 1)", "the interval is empty"},
               {"parameter k = unknown in (2)", "two bounds"},
               {"parameter k = unknown in 2", "expected `(`"},
               {"parameter k = unknown near 7 in (1, 2)", "is not in (1, 2)"},
               {"parameter k = unknown banana", "expected the end"},
               {"parameter k = 2 + unknown", "`unknown` stands alone"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        cls_error error = {0};
        cls_system *s;
        snprintf(text, sizeof text, "%s\ncoordinate x\nlagrangian v.x^2/2\n", bad[i].line);
        assert_int_equal(cls_system_parse(text, "test", NULL, &s, &error), CLS_SYSTEM);
        if (!strstr(error.message, bad[i].text)) fail_msg("%s: %s", bad[i].line, error.message);
    }
}

/* "has no part 'motor'; did you mean 'motor'" */
static void a_force_is_no_unknown_part(void **unused) {
    (void)unused;
    cls_error error = {0};
    cls_system *s = parse(TEXT, NULL);
    clsi_replacement r = {"motor", symbol, NULL, 0};
    assert_int_equal(clsi_replacements_used(s, 1, &r, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "'motor' of test is an external force"));
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guesses_and_bounds), cmocka_unit_test(a_value_makes_them_known),
        cmocka_unit_test(a_symbol_takes_their_place), cmocka_unit_test(mistakes),
        cmocka_unit_test(a_force_is_no_unknown_part)};
    return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
