/* Errors that can be believed: the 90 % intervals of parameters learned from noisy recordings contain
 * the truth in 85 to 95 of 100 cases, for noise of every row alone and for noise that remembers.
 *
 * Runs when CLAUSIUS_LONG is set (make check-long); about two minutes of processor time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <clausius/learn.h>
#include <clausius/random.h>
#include <clausius/system.h>
#include <clausius/table.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 240, PARAMETERS = 2, CASES = 200 };
static const double K = 4, C = 0.15, NOISE = 0.03, STEP = 0.1;
static const double QUANTILE = 1.6449; /* of the normal distribution: 90 % lie inside */

static const char text[] = "system \"an oscillator\"\n"
                           "coordinate x [m]\n"
                           "temperature T [K]\n"
                           "parameter k = unknown near 3 in (0, 100)\n"
                           "parameter c = unknown near 0.3 in (0, 10)\n"
                           "thermal lagrangian v.x^2/2 - k*x^2/2 + 100*T*(log(T) - 1)\n"
                           "friction F on T: x <- -c*v.x\n"
                           "start x = 1, v.x = 0, T = 300\n";

/* x'' = -K x - C x' from x(0) = a, x'(0) = 0, and noise with this memory from row to row. */
static void measure(uint64_t seed, double memory, double *time, double *x) {
    cls_random r;
    cls_random_seed(&r, seed);
    double w = sqrt(K - C * C / 4), a = 0.8 + 0.4 * cls_random_uniform(&r),
           e = cls_random_normal(&r);
    for (size_t i = 0; i < ROWS; i++) {
        double t = time[i] = (double)i * STEP;
        x[i] = a * exp(-C * t / 2) * (cos(w * t) + C / (2 * w) * sin(w * t)) + NOISE * e;
        e = memory * e + sqrt(1 - memory * memory) * cls_random_normal(&r);
    }
}

/* Counts the parameters whose interval contains the truth. */
static void count(double memory, size_t cases, size_t inside[PARAMETERS]) {
    static const double truth[PARAMETERS] = {K, C};
    const char *names[] = {"time", "x"};
    double time[ROWS], x[ROWS], ratio[PARAMETERS] = {0};
    cls_system *s;
    assert_int_equal(cls_system_parse(text, "oscillator", NULL, &s, NULL), CLS_OK);
    for (size_t i = 0; i < cases; i++) {
        const double *columns[] = {time, x};
        cls_table *t;
        cls_model *m;
        cls_learn_info info;
        cls_error error;
        cls_learn_options o = cls_learn_defaults();
        o.test = 0;
        measure(100 + i, memory, time, x);
        assert_int_equal(cls_table_borrow(2, names, ROWS, columns, &t, &error), CLS_OK);
        const cls_table *tables[] = {t};
        const char *file[] = {"made"};
        cls_status status = cls_learn(s, NULL, 1, tables, file, &o, &m, &info, &error);
        if (status != CLS_OK) printf("case %zu: %s\n", i, error.message);
        assert_int_equal(status, CLS_OK);
        for (size_t p = 0; p < PARAMETERS; p++) {
            const cls_learned_parameter *q = &info.report->parameters[p];
            inside[p] += fabs(q->value - truth[p]) <= QUANTILE * q->error;
            ratio[p] += (q->value - truth[p]) * (q->value - truth[p]) / (q->error * q->error);
        }
        cls_learn_report_free(&info.report);
        cls_model_free(&m);
        cls_table_free(&t);
    }
    cls_system_free(&s);
    for (size_t p = 0; p < PARAMETERS; p++)
        printf("memory %.1f, %s: %zu of %zu inside, rms(error / standard error) %.3f\n", memory,
               p ? "c" : "k", inside[p], cases, sqrt(ratio[p] / (double)cases));
}

static void check(double memory) {
    const char *asked = getenv("CLAUSIUS_COVERAGE_CASES");
    size_t cases = asked ? (size_t)atoi(asked) : CASES, inside[PARAMETERS] = {0};
    count(memory, cases, inside);
    for (size_t p = 0; p < PARAMETERS; p++) {
        double share = (double)inside[p] / (double)cases;
        assert_true(share >= 0.85 && share <= 0.95);
    }
}

static void white_noise(void **unused) {
    (void)unused;
    check(0);
}

static void noise_that_remembers(void **unused) {
    (void)unused;
    check(0.8);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(white_noise),
                                       cmocka_unit_test(noise_that_remembers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
