/* Amounts of substances that nobody measured, from none on: they stay positive, what is measured tells the
 * rate within its error, and nothing is said to be unexplained that is explained. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/learn/one_run.h"
#include "tests/sanitized.h"
#include <clausius/learn.h>
#include <clausius/random.h>

#define ESTER(FIRST)                                                                               \
    "system \"acid + alcohol <-> ester + water\"\n"                                                \
    "mole acid, alcohol, ester, water\n"                                                           \
    "entropy S\n"                                                                                  \
    "parameter R = 1, cv = 30, h = -1.5, k = 0.2\n"                                                \
    "let mixing = -R*(acid*(log(acid) - 1) + alcohol*(log(alcohol) - 1) + ester*(log(ester) - 1)"  \
    " + water*(log(water) - 1))\n"                                                                 \
    "hamiltonian U = cv*exp((S - mixing)/cv) + h*ester\n"                                          \
    "reaction esterification acid + alcohol <-> ester + water on T: k\n"                           \
    "start acid = 1, alcohol = 1.5, ester = " FIRST ", water = " FIRST ", T = 1\nstep 0.02\n"

static cls_system *parse(const char *text) {
    cls_error error;
    cls_system *s;
    if (cls_system_parse(text, "test", NULL, &s, &error)) fail_msg("%s", error.message);
    return s;
}

/* Two columns of a run of the system, every tenth row, with normal noise. */
static cls_table *measure(const cls_system *s, const char *first, const char *second, double noise,
                          uint64_t seed) {
    cls_error error;
    cls_table *run = one_run(s, NULL, THINNED(1000, 300), 0.02), *t;
    const char *names[] = {"time", first, second};
    cls_random random;
    cls_random_seed(&random, seed);
    if (cls_table_create(3, names, &t, &error)) fail_msg("%s", error.message);
    for (size_t i = 0; i < cls_table_rows(run); i += 10) {
        double row[3];
        for (size_t c = 0; c < 3; c++)
            row[c] = cls_table_column(run, (size_t)cls_table_find(run, names[c]))[i] +
                     (c ? noise * cls_random_normal(&random) : 0);
        if (cls_table_append(t, row, &error)) fail_msg("%s", error.message);
    }
    cls_table_free(&run);
    return t;
}

/* The rate from two columns: within four of its errors, which are no more than `most`. */
static void rate_from(const cls_system *s, double truth, const char *first, const char *second,
                      double noise, double most) {
    static const char *const unknown[] = {"k"};
    cls_learn_info info;
    cls_table *t = measure(s, first, second, noise, 3);
    cls_model *m = learn(s, t, unknown, 1, NULL, &info);
    const cls_learned_parameter *k = &info.report->parameters[0];
    if (!(fabs(k->value - truth) < 4 * k->error && k->error < THINNED(1, 100) * most))
        fail_msg("%s, %s: k = %g +- %g\n%s", first, second, k->value, k->error, info.report->notes);
    if (strstr(info.report->notes, "explain")) fail_msg("%s", info.report->notes);
    for (size_t c = 0; c < info.report->n_channels; c++)
        if (info.report->channels[c].rows != info.report->channels[c].given)
            fail_msg("%s: %zu of %zu rows", info.report->channels[c].name,
                     info.report->channels[c].rows, info.report->channels[c].given);
    cls_learn_report_free(&info.report);
    cls_model_free(&m);
    cls_table_free(&t);
}

static void two_of_four_amounts(void **state) {
    (void)state;
    cls_system *s = parse(ESTER("0.01"));
    rate_from(s, 0.2, "acid", "alcohol", 0.01, 0.01);
    rate_from(s, 0.2, "ester", "water", 0.01, 0.05);
    cls_system_free(&s);
}

/* Noise puts what was measured of nothing below zero; what was not measured begins at nothing. */
static void nothing_to_begin_with(void **state) {
    (void)state;
    cls_system *s = parse(ESTER("1e-9"));
    /* acid and ester move together, so that they hardly tell the rate: 0.06 from one window. With this noise the
     * first value is below zero and rows become two windows; 0.095 was said of the 15 rows that were left once */
    rate_from(s, 0.2, "acid", "ester", 0.01, 0.15);
    cls_system_free(&s);
    SKIP_IF_SANITIZED();
    s = load_system("adiabatic-reactor");
    rate_from(s, 0.3, "A", "C", 0.01, 0.02);
    cls_system_free(&s);
}

/* An amount of zero has no potential: said by the name of the substance. */
static void a_start_of_nothing_is_refused(void **state) {
    (void)state;
    cls_error error;
    cls_system *s;
    double z[8];
    if (cls_system_parse(ESTER("0"), "test", NULL, &s, &error) == CLS_OK)
        assert_int_not_equal(cls_system_start(s, NULL, z, &error), CLS_OK);
    if (!strstr(error.message, "ester = 0 is outside its domain")) fail_msg("%s", error.message);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_of_four_amounts),
        cmocka_unit_test(nothing_to_begin_with),
        cmocka_unit_test(a_start_of_nothing_is_refused),
    };
    return cmocka_run_group_tests_name("amounts", tests, NULL, NULL);
}
