/* One residual: what a scheme made is learned back exactly by it, for every scheme that takes a
 * system; and what is learned from the exact motion is off by the order of the scheme. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "learn/learn.h"
#include "scheme/scheme.h"
#include "tests/learn/made_data.h"
#include "tests/learn/parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct problem {
    const char *system, *part, *field;
    size_t n_truth;
    double truth[8]; /* the parameters that the data were made with */
    double h, limit; /* step; relative error of what is learned back */
    size_t n_box;
    range box[12];
} problem;

/* limit: round-off of the data by h and by the condition of the problem. */
static const problem problems[] = {
    {"pendulum",
     "V",
     "terms(1 - cos(q); q^2)",
     2,
     {6, 0},
     0.1,
     1e-9,
     2,
     {{"q", -2, 2}, {"p.q", -2, 2}}},
    {"adiabatic-piston",
     "F1",
     "terms(1; v.x^2; v.x^2*T1^2)",
     3,
     {0.02, 2, 0.2},
     0.1,
     1e-8,
     4,
     {{"x", -1, 1}, {"p.x", -1, 1}, {"S1", 0, 1}, {"S2", 0, 1}}},
    {"ideal-gas-piston",
     "F",
     "terms(1)",
     1,
     {0.1},
     0.05,
     1e-8,
     3,
     {{"x", 1, 2}, {"v.x", -1, 1}, {"S", -1, 1}}},
    {"rigid-body",
     "f",
     "terms(1)",
     6,
     {0.01, 0.01, 0.01, 0, 0, 0},
     0.1,
     1e-7,
     4,
     {{"mu1", -0.3, 0.3}, {"mu2", -0.5, 0.5}, {"mu3", -0.5, 0.5}, {"S", 0.2, 0.8}}},
    {"thermoelastic-double-pendulum",
     "M",
     "terms(1)",
     1,
     {0.5},
     0.1,
     1e-7,
     2,
     {{"theta_a", 360, 400}, {"theta_b", 320, 380}}},
};

static cls_system *load_problem(const problem *p) {
    static const char *const names[] = {"nu1"};
    static const double values[] = {0};
    cls_assignments set = {1, names, values};
    cls_error error;
    cls_system *s;
    int body = strcmp(p->system, "rigid-body") == 0;
    if (cls_system_load(p->system, body ? &set : NULL, &s, &error)) fail_msg("%s", error.message);
    return s;
}

/* Largest relative error of the parameters learned with a scheme; INFINITY when it fails. */
static double learn_back(const problem *p, const cls_system *s, const cls_table *t,
                         const char *scheme, char *optimizer) {
    static const char *const names[] = {"nu1"};
    static const double values[] = {0};
    cls_assignments set = {1, names, values};
    int body = strcmp(p->system, "rigid-body") == 0;
    cls_error error;
    cls_learn_info info;
    cls_model *m;
    const char *name = "made here", *parts[] = {p->part};
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = 1;
    o.field = p->field;
    o.scheme = scheme;
    o.validate = 0;
    if (cls_learn(s, body ? &set : NULL, 1, &t, &name, &o, &m, &info, &error))
        fail_msg("%s by %s: %s", p->system, scheme, error.message);
    strcpy(optimizer, info.optimizer);
    double worst = 0, size = 0;
    assert_int_equal(m->n_theta, p->n_truth);
    for (size_t k = 0; k < p->n_truth; k++) {
        worst = fmax(worst, fabs(m->theta[k] - p->truth[k]));
        size = fmax(size, fabs(p->truth[k]));
    }
    cls_model_free(&m);
    return worst / size;
}

/* Between two rows; such schemes are refused. */
static int has_no_equation(const char *scheme) {
    return cls_scheme_is_adaptive(scheme) || !strncmp(scheme, "lawful", 6);
}

static void what_a_scheme_made_it_learns_back(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const problem *p = &problems[i];
        cls_system *s = load_problem(p);
        for (size_t k = 0; k < cls_scheme_count(); k++) {
            const char *scheme = cls_scheme_at(k)->name;
            char optimizer[32];
            if (has_no_equation(scheme) || cls_scheme_applies(scheme, s, NULL)) continue;
            cls_table *t = make_table(s, scheme, p->n_box, p->box, 12, 4, p->h, 5);
            double error = learn_back(p, s, t, scheme, optimizer);
            print_message("%s, %s by %s (%s): %.1e\n", p->system, p->part, scheme, optimizer,
                          error);
            if (!(error <= p->limit))
                fail_msg("%s, %s by %s: off by %g", p->system, p->part, scheme, error);
            cls_table_free(&t);
        }
        cls_system_free(&s);
    }
}

/* On exact data the error of the coefficients has the order of the scheme. */
static void errors_have_the_order_of_the_scheme(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const problem *p = &problems[i];
        cls_system *s = load_problem(p);
        for (size_t k = 0; k < cls_scheme_count(); k++) {
            const cls_scheme_info *scheme = cls_scheme_at(k);
            double error[2];
            char optimizer[32];
            if (has_no_equation(scheme->name) || cls_scheme_applies(scheme->name, s, NULL))
                continue;
            for (int j = 0; j < 2; j++) {
                cls_table *t = make_data(s, p->n_box, p->box, 12, 4, p->h / (double)(16 << j), 5);
                error[j] = learn_back(p, s, t, scheme->name, optimizer);
                cls_table_free(&t);
            }
            double order = log2(error[0] / error[1]);
            print_message("%s, %s by %s: %.1e, %.1e, order %.2f of %d\n", p->system, p->part,
                          scheme->name, error[0], error[1], order, scheme->order);
            /* more where the error's first term does not touch this part; the reference is good to
             * about 1e-11 */
            if (!(order >= scheme->order - 0.3 || error[1] <= 1e-10))
                fail_msg("%s, %s by %s: order %g", p->system, p->part, scheme->name, order);
        }
        cls_system_free(&s);
    }
}

/* Rows with unknowns between the ends (stages) have the derivatives of the implicit function
 * theorem; the gradient is theirs. */
static void derivatives_agree_with_differences(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 6, 4, 0.05, 8);
    const char *const names[] = {"G", "F1"};
    const char *const schemes[] = {"rk4", "implicit-midpoint", "dtel", "leapfrog"};
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++) {
        double off[2];
        clsi_rule rule = clsi_rule_of_scheme(clsi_scheme_find(schemes[k]));
        opened p = open_parts(s, t, 1, names + 1, "network(3)", &rule);
        check_derivatives(p.residual, p.points->n_training * p.residual->n_equations,
                          p.unknowns->n_theta, off);
        if (!(off[0] <= 1e-6) || !(off[1] <= 1e-10))
            fail_msg("%s: %g and %g", schemes[k], off[0], off[1]);
        close_parts(&p);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

/* The built-in gas begins with a blow, where the midpoint rule is far off: iterations that began at its
 * solution found no step, or nothing. */
static void long_steps_are_learned_back(void **unused) {
    (void)unused;
    cls_system *s = load_system("ideal-gas-piston");
    const char *const schemes[] = {"rk3", "rk4"};
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++) {
        cls_error error;
        cls_learn_info info;
        cls_model *m;
        const char *name = "made here", *parts[] = {"F"};
        range start[] = {{"x", 1, 1}, {"v.x", 0, 0}, {"S", 10, 10}};
        cls_table *t = make_table(s, schemes[k], 3, start, 1, 60, 0.01, 5);
        const cls_table *table = t;
        cls_learn_options o = cls_learn_defaults();
        o.unknown = parts;
        o.n_unknown = 1;
        o.field = "chebyshev(1)";
        o.scheme = schemes[k];
        o.max_iterations = 100;
        if (cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &error))
            fail_msg("%s: %s", schemes[k], error.message);
        if (!(info.loss_final <= 1e-10)) fail_msg("%s: residual %g", schemes[k], info.loss_final);
        cls_model_free(&m);
        cls_table_free(&t);
    }
    cls_system_free(&s);
}

/* The states of a lagrangian are (q, v, S); the default rule learns from them too. */
static void lagrangians_are_learned_from_their_states(void **unused) {
    (void)unused;
    const problem *p = &problems[2];
    cls_system *s = load_problem(p);
    cls_table *t = make_data(s, p->n_box, p->box, 20, 6, 0.01, 5);
    char optimizer[32];
    double error = learn_back(p, s, t, NULL, optimizer);
    if (!(error <= 1e-6)) fail_msg("off by %g", error);
    assert_string_equal(optimizer, "linear");
    cls_table_free(&t);
    cls_system_free(&s);
}

static void schemes_that_choose_their_steps_are_refused(void **unused) {
    (void)unused;
    cls_system *s = load_system("pendulum");
    const problem *p = &problems[0];
    cls_table *t = make_data(s, p->n_box, p->box, 3, 4, 0.1, 5);
    const cls_table *table = t;
    const char *const refused[] = {"bdf", "discrete-gradient-adaptive", "cayley", "eeem",
                                   "lawful-rk4"};
    const char *const why[] = {"chooses its own steps", "chooses its own steps",
                               "not those of rigid bodies", "did you mean 'eem'",
                               "finds its weights"};
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        cls_error error;
        cls_learn_info info;
        cls_model *m;
        const char *name = "made here", *parts[] = {"V"};
        cls_learn_options o = cls_learn_defaults();
        o.unknown = parts;
        o.n_unknown = 1;
        o.scheme = refused[k];
        assert_int_equal(cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &error), CLS_USAGE);
        if (!strstr(error.message, why[k])) fail_msg("%s", error.message);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_scheme_made_it_learns_back),
        cmocka_unit_test(errors_have_the_order_of_the_scheme),
        cmocka_unit_test(derivatives_agree_with_differences),
        cmocka_unit_test(long_steps_are_learned_back),
        cmocka_unit_test(lagrangians_are_learned_from_their_states),
        cmocka_unit_test(schemes_that_choose_their_steps_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
