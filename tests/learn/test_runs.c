/* Free runs to their ends: a model that stops is bad, whichever way it was learned. And two comparisons that were none:
 * a solve against an energy of nothing, and a known mass as an anchor. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/learn/made_data.h"
#include "tests/sanitized.h"
#include <clausius/learn.h>

static cls_system *parse(const char *text) {
    cls_error e;
    cls_system *s;
    if (cls_system_parse(text, "run", NULL, &s, &e)) fail_msg("%s", e.message);
    return s;
}

static void spoil(cls_table *t, size_t n, const range *box, double noise) {
    cls_random random;
    cls_random_seed(&random, 5);
    for (size_t k = 0; k < n; k++) {
        double *z = (double *)cls_table_column(t, (size_t)cls_table_find(t, box[k].name));
        for (size_t i = 0; i < cls_table_rows(t); i++) z[i] += noise * cls_random_normal(&random);
    }
}

/* A body that a wall throws back, learned as one that falls: it falls through the wall, where nothing is declared. */
static const char wall[] = "coordinate x in (0, 10)\npart V = x + 0.15/x^2\n"
                           "hamiltonian H = p.x^2/2 + V\nstart x = 1, p.x = 0\n";
static const range box[] = {{"x", 0.7, 2}, {"p.x", -0.5, 0.5}};
static const char *const part[] = {"V"};

typedef struct way {
    const char *name, *field, *loss;
    double noise;
    int stops;
} way;

static void a_model_that_stops_is_bad(void **unused) {
    (void)unused;
    static const way list[] = {{"residual", "terms(x)", NULL, 0, 1},
                               {"noise", "terms(x)", NULL, 0.005, 1},
                               {"shooting", "terms(x)", "multiple-shooting", 0, 1},
                               {"residual, true form", "terms(x; x^-2)", NULL, 0, 0},
                               {"noise, true form", "terms(x; x^-2)", NULL, 0.005, 0}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (SANITIZED && (list[i].noise > 0 || list[i].loss)) continue;
        cls_system *s = parse(wall);
        cls_table *t = make_data(s, 2, box, 12, 80, 0.05, 3);
        cls_learn_info info;
        cls_learn_options o = cls_learn_defaults();
        cls_model *m;
        cls_error e;
        const char *name = "made here";
        spoil(t, 2, box, list[i].noise);
        o.unknown = part, o.n_unknown = 1;
        o.field = list[i].field, o.loss = list[i].loss;
        o.want_report = 1;
        if (cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &m, &info, &e))
            fail_msg("%s: %s", list[i].name, e.message);
        print_message("%s: %zu of %zu stop, %s\n", list[i].name, info.runs_stopped, info.runs,
                      info.runs_why);
        assert_true(info.runs > 0);
        assert_true((info.runs_stopped > 0) == list[i].stops);
        assert_true(!list[i].stops || info.report->better == 0);
        assert_true(!list[i].stops || strstr(info.runs_why, "leaves the declared domain"));
        assert_true(!list[i].stops || (info.runs_after > 0 && info.runs_after < 4));
        assert_true(list[i].stops || info.report->better != 0);
        cls_learn_report_free(&info.report);
        cls_model_free(&m);
        cls_table_free(&t);
        cls_system_free(&s);
    }
}

/* Parameters alone: the same motions, and a wall that is not in the file. */
static void parameters_run_to_their_ends(void **unused) {
    (void)unused;
    cls_system *truth = parse(wall);
    cls_system *s = parse("coordinate x in (0, 10)\nparameter g = unknown in (0.1, 10)\n"
                          "hamiltonian H = p.x^2/2 + g*x\nstart x = 1, p.x = 0\n");
    cls_table *t = make_data(truth, 2, box, 12, 80, 0.05, 3);
    cls_learn_info info;
    cls_model *m = learn(s, t, NULL, 0, NULL, &info);
    assert_true(info.runs == 12 && info.runs_stopped > 0);
    assert_int_equal(info.report->better, 0);
    cls_learn_report_free(&info.report);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&truth);
}

/* Temperatures follow from the energy: without it the rows of the first law are zero, which no fit can beat. */
static void no_energy_is_no_beginning(void **unused) {
    (void)unused;
    static const range both[] = {
        {"x", -0.5, 0.5}, {"p.x", -0.5, 0.5}, {"s_a", -0.3, 0.3}, {"s_b", -0.3, 0.3}};
    static const char *const parts[] = {"U", "M"};
    cls_system *s = parse("coordinate x\nentropy s_a, s_b\n"
                          "part U = exp(s_a + 0.3*x) + exp(s_b - 0.2*x) + x^2\n"
                          "hamiltonian H = p.x^2/2 + U\n"
                          "heat exchange M theta_a <-> theta_b: 0.3\n"
                          "start x = 0.3, p.x = 0, s_a = 0.2, s_b = 0\n");
    cls_table *t = make_data(s, 4, both, 12, 40, 0.05, 3);
    cls_learn_info info;
    cls_model *m = learn(s, t, parts, 2, "chebyshev(4, pairs)", &info);
    assert_true(isnan(info.loss_initial));
    assert_true(info.rollout < 1e-2 && info.runs && !info.runs_stopped);
    cls_learn_report_free(&info.report);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Terms without velocities leave the mass as it is: nothing is to be asked of it. */
static void a_known_mass_is_no_condition(void **unused) {
    (void)unused;
    SKIP_IF_SANITIZED();
    static const range band[] = {{"x", 0.7, 1.8}, {"v.x", -0.6, 0.6}, {"T", 0.6, 1.6}};
    cls_system *s = parse("coordinate x in (0, 10)\ntemperature T\npart V = T*(x^2/2 + 1/x)\n"
                          "thermal lagrangian G = v.x^2/2 - V - (x - 1.3)^2/4 + 2*T*(log(T) - 1)\n"
                          "friction F on T: x <- -0.15*v.x\nstart x = 1.2, v.x = 0, T = 1\n");
    cls_table *t = make_data(s, 3, band, 8, 40, 0.08, 3);
    cls_learn_info info;
    spoil(t, 3, band, 0.002);
    cls_model *m = learn(s, t, part, 1, "terms(T*x^2; T/x)", &info);
    assert_true(info.parameters == 2 && info.runs == 8 && !info.runs_stopped);
    assert_true(rollout(s, m, 0.02, 200) < 1e-3);
    cls_learn_report_free(&info.report);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_model_that_stops_is_bad),
                                       cmocka_unit_test(parameters_run_to_their_ends),
                                       cmocka_unit_test(no_energy_is_no_beginning),
                                       cmocka_unit_test(a_known_mass_is_no_condition)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
