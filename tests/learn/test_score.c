/* The verdict on rows that were kept back: columns in which nothing happens do not decide it, and do
 * nothing to the fit; a model that is wrong is called so. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/learn/one_run.h"
#include <clausius/learn.h>
#include <clausius/random.h>

#define SWING(FRICTION)                                                                            \
    "system \"a swing\"\ncoordinate q\nentropy S\nparameter k = 3, b = 0.1\n"                      \
    "hamiltonian H = p.q^2/2 + k*(1 - cos(q)) + exp(S/10)\n" FRICTION                              \
    "output twice = 2*(p.q^2/2 + k*(1 - cos(q)) + exp(S/10))\n"                                    \
    "start q = 1.2, p.q = 0, S = 0\nstep 0.02\n"
#define DAMPED "friction F on T: q <- -b*v.q\n"

static cls_system *parse(const char *text) {
    cls_error error;
    cls_system *s;
    if (cls_system_parse(text, "test", NULL, &s, &error)) fail_msg("%s", error.message);
    return s;
}

/* q and v.q with noise, every third row; with everything else, which has none, when `all`. */
static cls_table *measure(const cls_system *s, size_t steps, int all) {
    cls_error error;
    cls_table *run = one_run(s, NULL, steps, 0.02), *t;
    const char *names[16] = {"time", "q", "v.q"};
    size_t n = 3;
    static const char *const still[] = {"energy", "twice"};
    for (size_t i = 0; i < 2 && all; i++) names[n++] = still[i];
    cls_random random;
    cls_random_seed(&random, 5);
    if (cls_table_create(n, names, &t, &error)) fail_msg("%s", error.message);
    for (size_t i = 0; i < cls_table_rows(run); i += 3) {
        double row[16];
        for (size_t c = 0; c < n; c++)
            row[c] = cls_table_column(run, (size_t)cls_table_find(run, names[c]))[i];
        for (size_t c = 1; c < 3; c++) row[c] += 0.01 * cls_random_normal(&random);
        if (cls_table_append(t, row, &error)) fail_msg("%s", error.message);
    }
    cls_table_free(&run);
    return t;
}

/* k of this text from the table; what is said of the rows kept back. */
static cls_learned_parameter judge(const char *text, const cls_table *t, int *better) {
    static const char *const unknown[] = {"k"};
    cls_system *s = parse(text);
    cls_learn_info info;
    cls_model *m = learn(s, t, unknown, 1, NULL, &info);
    cls_learned_parameter k = info.report->parameters[0];
    k.name = NULL;
    *better = info.report->better;
    cls_learn_report_free(&info.report);
    cls_model_free(&m);
    cls_system_free(&s);
    return k;
}

/* Energy, and what depends on it alone, are constants to round-off. */
static void conserved_columns_decide_nothing(void **state) {
    (void)state;
    cls_system *s = parse(SWING(DAMPED));
    cls_learned_parameter k[2];
    for (int all = 0; all < 2; all++) {
        int better;
        cls_table *t = measure(s, 620, all);
        k[all] = judge(SWING(DAMPED), t, &better);
        assert_int_equal(better, 1);
        assert_true(fabs(k[all].value - 3) < 4 * k[all].error);
        cls_table_free(&t);
    }
    assert_true(k[1].error < 1.5 * k[0].error); /* more data do not give less */
    cls_system_free(&s);
}

/* A body that flies on instead of swinging; what has come to rest is predicted by anybody. */
static void a_wrong_model_is_bad(void **state) {
    (void)state;
    cls_system *s = parse(SWING(DAMPED));
    cls_table *t = measure(s, 620, 0);
    int better;
    (void)judge("coordinate q\nparameter k = unknown in (0, 1)\nhamiltonian p.q^2/2 + 0.01*k*q^2\n"
                "start q = 1, p.q = 0\nstep 0.02\n",
                t, &better);
    assert_int_equal(better, 0);
    cls_table_free(&t);
    cls_system_free(&s);
    s = parse(SWING("friction F on T: q <- -12*b*v.q\n"));
    t = measure(s, 620, 1);
    (void)judge(SWING("friction F on T: q <- -12*b*v.q\n"), t, &better);
    assert_int_equal(better, -1);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* A linear model of temperatures in kelvin is not crippled by their size: what it predicts of a
 * body that cools is what it predicts of the difference. */
static void baselines_do_not_depend_on_an_offset(void **state) {
    (void)state;
    double found[2];
    for (int warm = 0; warm < 2; warm++) {
        char text[400];
        snprintf(text, sizeof text,
                 "coordinate q\nparameter k = 3\nhamiltonian H = p.q^2/2 + k*(q - %d)^2/2\n"
                 "start q = %d, p.q = 0\nstep 0.02\n",
                 warm ? 1000 : 0, warm ? 1001 : 1);
        static const char *const unknown[] = {"k"};
        cls_system *s = parse(text);
        cls_table *t = measure(s, 620, 0);
        cls_learn_info info;
        cls_model *m = learn(s, t, unknown, 1, NULL, &info);
        found[warm] = info.report->channels[0].run_arx;
        cls_learn_report_free(&info.report);
        cls_model_free(&m);
        cls_table_free(&t);
        cls_system_free(&s);
    }
    assert_true(fabs(found[1] / found[0] - 1) < 0.01);
}

/* Two bodies in kelvin whose temperatures span a few: a start may differ by what the data span, not by
 * 300 K, so that no window ends for chaos; conductances come out at the noise. */
static void kelvins_are_no_chaos(void **state) {
    (void)state;
    static const char *const unknown[] = {"G"}, *const names[] = {"time", "T1", "T2"};
    cls_system *s =
        parse("temperature T1, T2\nreservoir room = 293\nparameter c1 = 500, c2 = 900, G = 12\n"
              "thermal lagrangian c1*T1*(log(T1) - 1) + c2*T2*(log(T2) - 1)\n"
              "heat exchange wire T1 <-> T2: G\nheat exchange loss T2 <-> room: 4\n"
              "start T1 = 320, T2 = 300\nstep 1\n");
    cls_error error;
    cls_table *run = one_run(s, NULL, 240, 1), *t;
    cls_random random;
    cls_random_seed(&random, 5);
    if (cls_table_create(3, names, &t, &error)) fail_msg("%s", error.message);
    for (size_t i = 0; i < cls_table_rows(run); i++) {
        double row[3];
        for (size_t c = 0; c < 3; c++)
            row[c] = cls_table_column(run, (size_t)cls_table_find(run, names[c]))[i] +
                     (c ? 0.03 * cls_random_normal(&random) : 0);
        if (cls_table_append(t, row, &error)) fail_msg("%s", error.message);
    }
    cls_learn_info info;
    cls_model *m = learn(s, t, unknown, 1, NULL, &info);
    const cls_learned_parameter *G = &info.report->parameters[0];
    assert_true(fabs(G->value - 12) < 4 * G->error && G->error < 0.1);
    assert_true(info.report->channels[0].rows > 150); /* all that were not kept back */
    assert_int_equal(info.report->better, 1);
    cls_learn_report_free(&info.report);
    cls_model_free(&m);
    cls_table_free(&run);
    cls_table_free(&t);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conserved_columns_decide_nothing),
        cmocka_unit_test(a_wrong_model_is_bad),
        cmocka_unit_test(kelvins_are_no_chaos),
        cmocka_unit_test(baselines_do_not_depend_on_an_offset),
    };
    return cmocka_run_group_tests_name("score", tests, NULL, NULL);
}
