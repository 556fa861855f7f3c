/* Data as people have them: few, in another order, outside of what the system declares; and what a
 * model says about where it comes from. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/learn/made_data.h"
#include "tests/sanitized.h"
#include <clausius/learn.h>

static const char *const frictions[] = {"F1", "F2"};

static cls_status learn_from(const cls_system *s, const cls_table *t, const char *field,
                             cls_model **m, cls_learn_info *info, cls_error *error) {
    const char *name = "few";
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = 2;
    o.unknown = frictions;
    o.field = field;
    o.threads = 1;
    return cls_learn(s, NULL, 1, &t, &name, &o, m, info, error);
}

static cls_learn_info learn_frictions(const cls_system *s, const cls_table *t, const char *field) {
    cls_model *m;
    cls_learn_info info;
    cls_error error;
    if (learn_from(s, t, field, &m, &info, &error)) fail_msg("%s", error.message);
    cls_learn_report_free(&info.report);
    cls_model_free(&m);
    return info;
}

/* 252 terms follow 342 windows of 20 motions to 1e-6 and are off by 5 in validation; nobody should
 * have to know that 70 are enough. */
static void terms_are_as_many_as_the_data_tell(void **unused) {
    (void)unused;
    SKIP_IF_SANITIZED();
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 20, 20, 0.01, 3);
    cls_learn_info usual = learn_frictions(s, t, "chebyshev(5)"),
                   chosen = learn_frictions(s, t, NULL);
    assert_true(usual.loss_validation > 3 * usual.loss_final);
    assert_true(chosen.parameters < usual.parameters);
    assert_true(chosen.loss_validation < 0.1 * usual.loss_validation);
    assert_true(chosen.rollout < 0.1 * usual.rollout);
    for (int degree = 1; degree <= 4; degree++) { /* those that it had to choose from */
        char field[32];
        snprintf(field, sizeof field, "chebyshev(%d)", degree);
        cls_learn_info other = learn_frictions(s, t, field);
        if (other.parameters == chosen.parameters)
            assert_true(other.loss_validation == chosen.loss_validation);
        else
            assert_true(other.loss_validation > chosen.loss_validation);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

/* A basis that was asked for follows the noise; one that the program chooses does not. */
static void noise_asks_for_few_terms(void **unused) {
    (void)unused;
    SKIP_IF_SANITIZED();
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 200, 20, 0.01, 3);
    cls_random random;
    cls_random_seed(&random, 5);
    for (size_t c = 2; c < 6; c++) { /* x, v, T1, T2 */
        double *column = (double *)cls_table_column(t, c);
        for (size_t i = 0; i < cls_table_rows(t); i++)
            column[i] += 5e-3 * cls_random_normal(&random);
    }
    cls_learn_info usual = learn_frictions(s, t, "chebyshev(5)"),
                   chosen = learn_frictions(s, t, NULL);
    assert_true(usual.loss_validation < 3 * usual.loss_final);
    print_message("%zu terms, rollout %.2e; chosen %zu, %.2e\n", usual.parameters, usual.rollout,
                  chosen.parameters, chosen.rollout);
    assert_true(chosen.parameters < usual.parameters / 10);
    assert_true(chosen.rollout < 0.5 * usual.rollout);
    cls_table_free(&t);
    cls_system_free(&s);
}

#define AROUND                                                                                     \
    "coordinate x\ntemperature T\nthermal lagrangian G = m*v.x^2/2 - V + h\n"                      \
    "start x = 1, v.x = 0, T = 1\nstep 0.02\n"
static const char truth[] = AROUND "part V = x^2 + x^4/4\npart h = 1.5*T*(log(T) - 1)\n"
                                   "part m = 1 + x^2/5\nfriction F on T: x <- -0.3*v.x\n";

/* A potential of x, a heat of T and a mass of x in one formula, and a friction. Without its parts
 * the formula has no T, and as a term of an energy m would have no constant. */
static void parts_of_one_formula(void **unused) {
    (void)unused;
    static const char *const mass[] = {"unknown of x", "unknown positive of x"};
    static const range box[] = {{"x", -1, 1}, {"v.x", -1, 1}, {"T", 0.6, 1.6}};
    cls_error error;
    cls_system *known;
    if (cls_system_parse(truth, "truth", NULL, &known, &error)) fail_msg("%s", error.message);
    cls_table *t = make_data(known, 3, box, 60, 20, 0.02, 3);
    const cls_table *table = t;
    for (size_t i = 0; i < 2; i++) {
        char text[400];
        const char *name = "parts";
        cls_system *s;
        cls_model *m;
        cls_learn_info info;
        snprintf(text, sizeof text,
                 AROUND "part V = unknown chebyshev(5) of x\npart h = unknown chebyshev(9) of T\n"
                        "part m = %s\nfriction F on T: unknown chebyshev(2)\n",
                 mass[i]);
        if (cls_system_parse(text, "parts", NULL, &s, &error)) fail_msg("%s", error.message);
        if (cls_learn(s, NULL, 1, &table, &name, NULL, &m, &info, &error))
            fail_msg("%s: %s", mass[i], error.message);
        assert_true(info.loss_validation < 1e-4); /* 0.9 without a constant */
        assert_true(info.rollout < 1e-4);
        cls_model_free(&m);
        cls_system_free(&s);
    }
    cls_table_free(&t);
    cls_system_free(&known);
}

static void never_more_terms_than_rows(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 1, 10, 0.01, 3);
    cls_learn_info info = learn_frictions(s, t, NULL);
    assert_int_equal(info.validation_samples, 0);
    assert_true(info.parameters <= 3 * info.samples);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* The rows of `t` in another order: row i of the result is row from(i). */
static cls_table *reordered(const cls_table *t, size_t (*from)(size_t i, size_t rows)) {
    cls_error error;
    cls_table *out;
    const char *names[64];
    double row[64];
    size_t columns = cls_table_columns(t), rows = cls_table_rows(t);
    for (size_t c = 0; c < columns; c++) names[c] = cls_table_name(t, c);
    assert_int_equal(cls_table_create(columns, names, &out, &error), CLS_OK);
    for (size_t i = 0; i < rows; i++) {
        for (size_t c = 0; c < columns; c++) row[c] = cls_table_column(t, c)[from(i, rows)];
        assert_int_equal(cls_table_append(out, row, &error), CLS_OK);
    }
    return out;
}

enum { MOTIONS = 12, POINTS = 11 };

static size_t by_time(size_t i, size_t rows) {
    (void)rows;
    return i % MOTIONS * POINTS + i / MOTIONS;
}

static size_t backwards(size_t i, size_t rows) {
    return rows - 1 - i;
}

/* A file that lists every motion at each time is the same data. */
static void scattered_rows_are_brought_together(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, MOTIONS, POINTS - 1, 0.01, 3);
    cls_table *mixed = reordered(t, by_time), *back = reordered(t, backwards);
    cls_model *a, *b, *c;
    cls_learn_info info;
    cls_error error;
    if (learn_from(s, t, "chebyshev(2)", &a, &info, &error)) fail_msg("%s", error.message);
    if (learn_from(s, mixed, "chebyshev(2)", &b, &info, &error)) fail_msg("%s", error.message);
    assert_int_equal(a->n_theta, b->n_theta);
    assert_memory_equal(a->theta, b->theta, a->n_theta * sizeof *a->theta);
    assert_int_equal(learn_from(s, back, "chebyshev(2)", &c, &info, &error), CLS_DATA);
    assert_null(c);
    assert_non_null(strstr(error.message, "time goes back from 0.1 to 0.09 in trajectory 11"));
    cls_model_free(&a);
    cls_model_free(&b);
    cls_table_free(&t);
    cls_table_free(&mixed);
    cls_table_free(&back);
    cls_system_free(&s);
}

/* L is 2: a position of 2.5 is in another unit, or wrong. */
static void outside_of_the_domain_is_told(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    const char *names[] = {"time", "x", "v.x", "T1", "T2"};
    cls_table *t;
    cls_model *m;
    cls_learn_info info;
    cls_error error;
    assert_int_equal(cls_table_create(5, names, &t, &error), CLS_OK);
    for (size_t i = 0; i < 9; i++) {
        double row[] = {0.1 * (double)i, i == 6 ? 2.5 : 0.1, 1, 1, 1};
        assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
    }
    assert_int_equal(learn_from(s, t, "chebyshev(2)", &m, &info, &error), CLS_DATA);
    assert_null(m);
    assert_non_null(strstr(error.message, "few: row 7: x is 2.5, outside of its domain (-2, 2)"));
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Data, seed, options, version and loss. */
static void models_say_how_they_were_learned(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 2, 10, 0.01, 3);
    const char *name = "few";
    cls_model *m;
    cls_learn_info info;
    cls_error error;
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = 2;
    o.unknown = frictions;
    o.field = "network(3)";
    o.scheme = "vnots-symmetric";
    o.weights = "equal";
    o.optimizer = "adam";
    o.rate = 0.125;
    o.seed = 17;
    o.max_iterations = 3;
    o.validate = 0;
    const cls_table *table = t;
    if (cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &error)) fail_msg("%s", error.message);
    static const char *const said[] = {"\"file\":\"few\"", "\"seed\":17",
                                       "\"version\":\"",   "\"optimizer\":\"adam\"",
                                       "\"loss\":",        "\"epochs\":3",
                                       "\"rate\":0.125",   "\"weights\":\"equal\"",
                                       "\"validate\":0.0", "\"scheme\":\"vnots-symmetric\""};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strstr(m->provenance, said[i])) fail_msg("no %s in %s", said[i], m->provenance);
    assert_null(strstr(m->provenance, "validation_loss")); /* there was none */
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_are_as_many_as_the_data_tell),
        cmocka_unit_test(noise_asks_for_few_terms),
        cmocka_unit_test(parts_of_one_formula),
        cmocka_unit_test(never_more_terms_than_rows),
        cmocka_unit_test(scattered_rows_are_brought_together),
        cmocka_unit_test(outside_of_the_domain_is_told),
        cmocka_unit_test(models_say_how_they_were_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
