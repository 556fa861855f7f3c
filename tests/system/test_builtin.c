/* The built-in systems: they load, they are what the papers say, and their forms obey the
 * identities between L, H and G. Numbers are those of physics/dtel.md and physics/vnots.md. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "system/system.h"

static cls_system *load(const char *name, const cls_assignments *set) {
    cls_error error = {0};
    cls_system *s = NULL;
    if (cls_system_load(name, set, &s, &error) != CLS_OK) fail_msg("%s: %s", name, error.message);
    return s;
}

/* The row at the file's start. */
static void start_row(const cls_system *s, double *row) {
    cls_error error = {0};
    double state[1024];
    assert_true(cls_system_state_count(s) <= 1024);
    if (cls_system_start(s, NULL, state, &error) != CLS_OK ||
        cls_system_row(s, 0, state, row, &error) != CLS_OK)
        fail_msg("%s: %s", cls_system_name(s), error.message);
}

static double column(const cls_system *s, const double *row, const char *name) {
    for (size_t i = 0; i < cls_system_column_count(s); i++)
        if (strcmp(cls_system_column(s, i), name) == 0) return row[i];
    fail_msg("%s has no column %s", cls_system_name(s), name);
    return NAN;
}

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance)) fail_msg("got %.17g, want %.17g", got, want);
}

static void every_builtin_loads(void **unused) {
    (void)unused;
    assert_true(cls_builtin_count() >= 12);
    for (size_t i = 0; i < cls_builtin_count(); i++) {
        double row[64];
        cls_system *s = load(cls_builtin_name(i), NULL);
        assert_string_equal(cls_system_name(s), cls_builtin_name(i));
        assert_string_equal(cls_system_title(s), cls_builtin_title(i));
        assert_string_equal(cls_system_text(s), cls_builtin_text(i));
        start_row(s, row);
        assert_string_equal(cls_system_column(s, 0), "time");
        for (size_t k = 0; k < s->form->nz; k++)
            assert_string_equal(cls_system_state_name(s, k), cls_system_column(s, 1 + k));
        cls_system_free(&s);
        assert_null(s);
    }
    cls_system *s = NULL;
    assert_int_equal(cls_system_parse(cls_template_text(), "template.clausius", NULL, &s, NULL), 0);
    assert_string_equal(cls_system_name(s), "template");
    cls_system_free(&s);
}

static void numbers_of_the_papers(void **unused) {
    (void)unused;
    static const struct {
        const char *system, *column;
        double value, tolerance;
    } want[] = {
        {"damped-oscillator", "energy", 0.5, 0},
        {"damped-oscillator", "T", 0.1, 0},
        {"ideal-gas-piston", "energy", 22026.4657948067, 1e-9},
        {"van-der-waals-piston", "energy", 22629.2432280721, 1e-9},
        {"van-der-waals-forced", "energy", 4.74, 1e-14},
        {"van-der-waals-forced", "sigma", 0.383027522810, 1e-12},
        {"van-der-waals-forced", "Tr", 1.01, 1e-15},
        {"adiabatic-piston", "energy", 1.817924787060, 1e-12},
        {"adiabatic-piston", "T1", 0.654295469878, 1e-12},
        {"adiabatic-piston", "T2", 1.038629317182, 1e-12},
        {"adiabatic-piston", "S1", 0.5, 1e-15},
        {"rigid-body", "energy", 1.87198560944077, 1e-13},
        {"rigid-body", "T", 1.87198560944077, 1e-13},
        {"rigid-body", "Omega1", -0.412180317675032, 1e-13},
        {"rigid-body", "Omega3", 0.274786878450021, 1e-13},
        {"two-body", "energy", -0.25, 1e-15},
        {"two-body", "Lz", 1, 1e-15},
        {"oscillator", "energy", 0.75, 0},
        {"thermoelastic-double-pendulum", "energy", 1019.449647037971, 1e-11},
        {"thermoelastic-double-pendulum", "theta_a", 380, 1e-12},
        {"thermoelastic-double-pendulum", "theta_b", 360, 1e-12},
        {"mass-spring", "energy", 0.5, 1e-15},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        double row[64];
        cls_system *s = load(want[i].system, NULL);
        start_row(s, row);
        near(column(s, row, want[i].column), want[i].value, want[i].tolerance);
        cls_system_free(&s);
    }
}

static void names_of_the_contract(void **unused) {
    (void)unused;
    static const struct {
        const char *system, *parameters, *parts;
    } want[] = {
        {"damped-oscillator", "gamma", "U F"},
        {"ideal-gas-piston", "gamma c", "U F"},
        {"van-der-waals-piston", "gamma a b", "U F"},
        {"van-der-waals-forced", "gamma pA xc", "U F"},
        {"two-pistons", "gamma c", "U F"},
        {"adiabatic-piston", "m A1 A2 L nu1 nu2 kappa1 kappa2", "G F1 F2"},
        {"rigid-body", "I1 I2 I3 gamma U0 nu0 nu1", "G f"},
        {"mass-spring", "k", "V"},
        {"pendulum", "k", "V"},
        {"two-body", "G m1 m2", "V"},
        {"oscillator", "m c", "spring mass"},
        {"isothermal-oscillator", "m c d theta0", "spring mass damper"},
        {"thermal-oscillator", "m c d theta0 alpha c_tc", "spring mass casing damper conduction"},
        {"thermoelastic-double-pendulum", "m H lambda_ref theta_ref c k", "E M"},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        cls_system *s = load(want[i].system, NULL);
        char text[256] = "", parts[256] = "";
        for (size_t k = 0; k < cls_system_parameter_count(s); k++) {
            if (k) strcat(text, " ");
            strcat(text, cls_system_parameter_name(s, k));
        }
        for (size_t k = 0; k < s->n_parts; k++) {
            if (k) strcat(parts, " ");
            strcat(parts, s->parts[k]);
        }
        assert_string_equal(text, want[i].parameters);
        assert_string_equal(parts, want[i].parts);
        cls_system_free(&s);
    }
}

static void set_changes_parameters(void **unused) {
    (void)unused;
    const char *names[] = {"pA", "xc"};
    const double values[] = {0, 1};
    double row[64];
    cls_system *s = load("van-der-waals-forced", &(cls_assignments){2, names, values});
    start_row(s, row);
    near(column(s, row, "energy"), 2.04, 1e-14); /* no pA*V */
    near(column(s, row, "sigma"), 0.383027522810, 1e-12);
    double K = 2.0 / 3 * log(2.0) + 5.0 / 3; /* the let follows xc */
    near(column(s, row, "S"), 1 + column(s, row, "sigma") / K, 1e-14);
    cls_system_free(&s);

    cls_error error = {0};
    const char *wrong[] = {"gama"};
    assert_int_equal(
        cls_system_load("ideal-gas-piston", &(cls_assignments){1, wrong, values}, &s, &error),
        CLS_USAGE);
    assert_non_null(strstr(error.message, "did you mean `gamma`"));
    assert_null(s);
    const double bad[] = {NAN};
    assert_int_equal(
        cls_system_load("van-der-waals-forced", &(cls_assignments){1, names, bad}, &s, &error),
        CLS_USAGE);
    assert_null(s);
}

static void unknown_names_get_a_suggestion(void **unused) {
    (void)unused;
    cls_error error = {0};
    cls_system *s = (cls_system *)&error;
    assert_int_equal(cls_system_load("adiabatic-pistn", NULL, &s, &error), CLS_SYSTEM);
    assert_non_null(strstr(error.message, "adiabatic-piston"));
    assert_null(s);
    assert_int_equal(cls_system_load("/nowhere/x.clausius", NULL, &s, &error), CLS_SYSTEM);
    assert_int_equal(error.status, CLS_SYSTEM);
    assert_null(s);
}

/* For every system at a moved state: energy_q, v and T of the form against central differences of
 * the energy as a function of y = (q, p, S), moved through cls_system_start. */
static double energy_at(const cls_system *s, const double *slots, double *row) {
    const char *names[64];
    double values[64], state[64];
    size_t heat = s->nq + s->n;
    cls_error error = {0};
    for (size_t i = 0; i < s->nq; i++) names[i] = cls_node_name(s->g, s->q[i]);
    for (size_t i = 0; i < s->n; i++) names[s->nq + i] = cls_node_name(s->g, s->p[i]);
    for (size_t i = 0; i < s->m; i++) names[heat + i] = cls_node_name(s->g, s->S[i]);
    memcpy(values, slots, s->form->nz * sizeof *values);
    if (cls_system_start(s, &(cls_assignments){s->form->nz, names, values}, state, &error) ||
        cls_system_row(s, 0, state, row, &error))
        fail_msg("%s: %s", s->name, error.message);
    return column(s, row, "energy");
}

static void energy_generates_velocity_and_temperature(void **unused) {
    (void)unused;
    for (size_t b = 0; b < cls_builtin_count(); b++) {
        double row[64], y[64], scratch[64];
        cls_system *s = load(cls_builtin_name(b), NULL);
        start_row(s, row);
        size_t nq = s->nq, heat = nq + s->n;
        for (size_t i = 0; i < nq; i++) y[i] = column(s, row, s->coordinate[i].name) + 0.1;
        for (size_t i = 0; i < s->n; i++)
            y[nq + i] = column(s, row, cls_node_name(s->g, s->p[i])) + 0.2;
        for (size_t i = 0; i < s->m; i++) y[heat + i] = column(s, row, s->entropy[i].name);
        double E = energy_at(s, y, row);
        for (size_t k = nq; k < s->form->nz; k++) {
            double kept = y[k], h = 1e-5;
            y[k] = kept + h;
            double up = energy_at(s, y, scratch);
            y[k] = kept - h;
            double down = energy_at(s, y, scratch);
            y[k] = kept;
            cls_node dual = k < heat ? s->v[k - nq] : s->T[k - heat];
            near((up - down) / (2 * h), column(s, row, cls_node_name(s->g, dual)),
                 1e-8 * (1 + fabs(E)));
        }
        cls_system_free(&s);
    }
}

static void shown_text_is_complete(void **unused) {
    (void)unused;
    for (size_t b = 0; b < cls_builtin_count(); b++) {
        char *text = NULL;
        cls_error error = {0};
        cls_system *s = load(cls_builtin_name(b), NULL);
        assert_int_equal(cls_system_show(s, CLS_SHOW_SUMMARY | CLS_SHOW_EQUATIONS, &text, &error),
                         0);
        for (size_t i = 0; i < s->n_parameters; i++)
            assert_non_null(strstr(text, s->parameter[i].name));
        for (size_t i = 0; i < s->form->nz; i++) {
            char rate[80];
            cls_node moved = i < s->nq          ? s->q[i]
                             : i < s->nq + s->n ? s->p[i - s->nq]
                                                : s->S[i - s->nq - s->n];
            snprintf(rate, sizeof rate, "d/dt %s =", cls_node_name(s->g, moved));
            assert_non_null(strstr(text, rate));
        }
        assert_null(strstr(text, " \n")); /* no trailing blanks */
        cls_text_free(&text);
        assert_int_equal(cls_system_show(s, CLS_SHOW_LATEX, &text, &error), 0);
        assert_non_null(strstr(text, "\\end{align*}"));
        cls_text_free(&text);
        assert_int_equal(cls_system_show(s, CLS_SHOW_SOURCE, &text, &error), 0);
        assert_string_equal(text, cls_builtin_text(b));
        cls_text_free(&text);
        cls_system_free(&s);
    }
    cls_system *s = load("adiabatic-piston", NULL);
    char *text = NULL;
    assert_int_equal(cls_system_show(s, CLS_SHOW_PARTS, &text, NULL), 0);
    assert_string_equal(text, "G\nF1\nF2\n");
    cls_text_free(&text);
    cls_system_free(&s);
}

/* Every block marked `clausius` in the language reference is a whole file and works. */
static void the_manual_is_true(void **unused) {
    (void)unused;
    char *manual = NULL;
    size_t length, blocks = 0;
    cls_error error = {0};
    assert_int_equal(
        clsi_read_file(CLSI_SOURCE_DIR "/docs/language.md", 1 << 20, &manual, &length, &error),
        CLS_OK);
    for (char *at = manual; (at = strstr(at, "```clausius\n")); blocks++) {
        char *begin = at + strlen("```clausius\n"), *end = strstr(begin, "```");
        cls_system *s = NULL;
        assert_non_null(end);
        *end = 0;
        if (cls_system_parse(begin, "docs/language.md", NULL, &s, &error))
            fail_msg("%s", error.message);
        double *row = clsi_calloc(cls_system_column_count(s), sizeof *row);
        assert_non_null(row);
        start_row(s, row);
        free(row);
        cls_system_free(&s);
        at = end + 1;
    }
    assert_true(blocks >= 2);
    free(manual);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_builtin_loads),
        cmocka_unit_test(numbers_of_the_papers),
        cmocka_unit_test(names_of_the_contract),
        cmocka_unit_test(set_changes_parameters),
        cmocka_unit_test(unknown_names_get_a_suggestion),
        cmocka_unit_test(energy_generates_velocity_and_temperature),
        cmocka_unit_test(shown_text_is_complete),
        cmocka_unit_test(the_manual_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
