/* Parameters from motions with thermal noise: within their errors, and the errors are right. */
#include "tests/simulate/motion.h"
#include <clausius/learn.h>
#include <stdlib.h>

#define WELL(gamma, stiffness)                                                                     \
    "coordinate x\nparameter m = 2, g = " gamma ", a = " stiffness                                 \
    ", kB = 0.5\nreservoir Tr = 2\n"                                                               \
    "hamiltonian p.x^2/(2*m) + a*(x^2 - 1)^2\nfriction on Tr: x <- -(g + 0.2*x^2)*v.x\n"           \
    "thermal noise on Tr: kB\nstart x = 1, p.x = 0\n"

static cls_table *observe(const cls_system *s, uint64_t seed, size_t rows, double h,
                          uint64_t every) {
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *sim;
    cls_error error;
    static const char *const names[] = {"time", "x", "p.x"};
    double state[8];
    cls_table *t;
    o.h = h;
    o.seed = seed;
    assert_int_equal(cls_table_create(3, names, &t, &error), CLS_OK);
    assert_int_equal(cls_system_start(s, NULL, state, &error), CLS_OK);
    assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_OK);
    assert_int_equal(cls_simulator_start(sim, 0, state, &error), CLS_OK);
    for (size_t k = 0; k < rows; k++) {
        const double *z = cls_simulator_state(sim), row[3] = {cls_simulator_time(sim), z[0], z[1]};
        assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
        if (cls_simulator_advance(sim, every, &error)) fail_msg("%s", error.message);
    }
    cls_simulator_free(&sim);
    return t;
}

static void friction_is_found_within_its_error(void **unused) {
    (void)unused;
    enum { SEEDS = 8 };
    cls_system *truth = parse(WELL("0.6", "1")),
               *s = parse(WELL("unknown near 0.2", "unknown near 0.6"));
    double squares[2] = {0};
    int seeds = MANY(20) == 20 ? SEEDS : 2;
    for (int k = 0; k < seeds; k++) {
        cls_table *t = observe(truth, 10 + (uint64_t)k, 4000, 0.01, 4);
        const char *name = "made";
        cls_learn_options o = cls_learn_defaults();
        cls_learn_info info = {0};
        cls_model *m = NULL;
        cls_error error;
        if (cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &m, &info, &error))
            fail_msg("%s", error.message);
        assert_int_equal(info.report->n_parameters, 2);
        static const double expected[] = {0.6, 1};
        for (int i = 0; i < 2; i++) {
            const cls_learned_parameter *p = &info.report->parameters[i];
            double z = (p->value - expected[i]) / p->error;
            if (!(fabs(z) <= 4)) fail_msg("seed %d: %s = %g +- %g", k, p->name, p->value, p->error);
            squares[i] += z * z / seeds;
        }
        assert_true(info.report->parameters[0].error < 0.05);
        assert_true(cls_system_is_noisy(cls_model_system(m)));
        cls_learn_report_free(&info.report);
        cls_model_free(&m);
        cls_table_free(&t);
    }
    for (int i = 0; i < 2 && seeds == SEEDS; i++)
        if (!(squares[i] > 0.15 && squares[i] < 3)) fail_msg("errors are off: %g", squares[i]);
    cls_system_free(&truth);
    cls_system_free(&s);
}

static void functions_are_refused(void **unused) {
    (void)unused;
    cls_system *truth = parse(WELL("0.6", "1"));
    cls_system *s = parse("coordinate x\nparameter kB = 1\nreservoir Tr = 1\n"
                          "hamiltonian p.x^2/2 + x^2/2\nfriction F on Tr: unknown\n"
                          "thermal noise on Tr: kB\nstart x = 1, p.x = 0\n");
    cls_table *t = observe(truth, 1, 50, 0.01, 1);
    const char *name = "made";
    cls_learn_options o = cls_learn_defaults();
    cls_learn_info info = {0};
    cls_model *m = NULL;
    cls_error error = {0};
    assert_int_equal(
        cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &m, &info, &error),
        CLS_USAGE);
    assert_non_null(strstr(error.message, "not learned as functions"));
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&truth);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(friction_is_found_within_its_error),
                                       cmocka_unit_test(functions_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
