/* Every scheme: its order, its published values, its start. */
#include "tests/simulate/motion.h"
#include <stdio.h>

/* Orders on systems with friction and entropy. dtel is of order 1 for gases, 2 for the oscillator;
 * adaptive ones choose their own steps (test_adaptive.c). */
static void orders_are_as_stated(void **unused) {
    (void)unused;
    const char *const names[] = {"two-pistons", "adiabatic-piston"};
    for (int i = 0; i < 2; i++) {
        cls_system *s = load(names[i]);
        for (size_t k = 0; k < cls_scheme_count(); k++) {
            const cls_scheme_info *scheme = cls_scheme_at(k);
            if (cls_scheme_is_adaptive(scheme->name)) continue;
            if (cls_scheme_applies(scheme->name, s, NULL) != CLS_OK) continue;
            /* high orders meet round-off early: coarser steps */
            static const double steps[] = {[4] = 1.0 / 8, [6] = 1.0 / 2, [8] = 1},
                                allowed[] = {[4] = 0.25, [6] = 0.15, [8] = 0.8};
            double h = scheme->order < 4 ? 1.0 / 64 : steps[scheme->order];
            double order = order_of(s, scheme->name, h, 1);
            double off = scheme->order < 4 ? 0.07 : allowed[scheme->order];
            if (!(fabs(order - scheme->order) <= off))
                fail_msg("%s on %s: order %.3f, stated %d", scheme->name, names[i], order,
                         scheme->order);
        }
        cls_system_free(&s);
    }
}

static void discrete_gradient_is_of_order_two(void **unused) {
    (void)unused;
    const char *const names[] = {"damped-oscillator",
                                 "ideal-gas-piston",
                                 "van-der-waals-piston",
                                 "van-der-waals-forced",
                                 "two-pistons",
                                 "adiabatic-piston",
                                 "pendulum",
                                 "two-body",
                                 "mass-spring",
                                 "oscillator"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int stiff = strstr(names[i], "gas-piston") || strstr(names[i], "waals-piston");
        cls_system *s = load(names[i]);
        double until = stiff ? 0.02 : 1,
               order = order_of(s, "discrete-gradient", until / 64, until);
        if (!(fabs(order - 2) <= 0.02)) fail_msg("%s: order %.4f", names[i], order);
        cls_system_free(&s);
    }
}

static void schemes_explain_when_they_do_not_apply(void **unused) {
    (void)unused;
    cls_error error;
    cls_system *s = load("pendulum");
    assert_int_equal(cls_scheme_applies("vnots-symmetric", s, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "implicit-midpoint"));
    assert_int_equal(cls_scheme_applies("discrete-gradiant", s, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "did you mean 'discrete-gradient'"));
    cls_system_free(&s);
}

/* tests/reference/onestep_acceptance.csv: columns problem,scheme,h,k,q,p,S,H, 15 digits. */
typedef struct accepted {
    const char *problem, *system, *set;
    double value, x, v, S;
} accepted;

static void one_step_reference(void **unused) {
    (void)unused;
    const char *path = CLSI_SOURCE_DIR "/tests/reference/onestep_acceptance.csv";
    FILE *in = fopen(path, "r");
    if (!in) fail_msg("%s is missing", path);
    static const accepted problems[] = {{"ideal", "ideal-gas-piston", "gamma", 0.1, 1, 0, 10},
                                        {"vdw", "van-der-waals-piston", "gamma", 0.1, 1, 0, 10},
                                        {"ideal_g1", "ideal-gas-piston", "gamma", 1, 1, 1, 0}};
    char line[256], problem[32], scheme[32];
    int checked = 0;
    while (fgets(line, sizeof line, in)) {
        double h, q, p, S, H;
        unsigned long k;
        if (sscanf(line, "%31[^,],%31[^,],%lf,%lu,%lf,%lf,%lf,%lf", problem, scheme, &h, &k, &q, &p,
                   &S, &H) != 8)
            continue;
        const char *ours = strcmp(scheme, "paper") == 0 ? "dtel"
                           : strcmp(scheme, "mid") == 0 ? "implicit-midpoint"
                           : strcmp(scheme, "dg") == 0  ? "discrete-gradient"
                                                        : NULL;
        for (int i = 0; i < 3 && ours; i++) {
            if (strcmp(problem, problems[i].problem) != 0) continue;
            cls_system *s = load_set(problems[i].system, problems[i].set, problems[i].value);
            cls_simulate_options o = cls_simulate_defaults();
            o.scheme = ours;
            o.h = h;
            cls_simulator *sim;
            double start[3] = {problems[i].x, problems[i].v, problems[i].S};
            assert_int_equal(cls_simulator_create(s, &o, &sim, NULL), CLS_OK);
            assert_int_equal(cls_simulator_start(sim, 0, start, NULL), CLS_OK);
            advance(sim, k);
            const double *z = cls_simulator_state(sim), want[3] = {q, p, S};
            for (int c = 0; c < 3; c++)
                if (!(fabs(z[c] - want[c]) <= 2e-13 * fabs(want[c]) + 1e-15))
                    fail_msg("%s %s k=%lu component %d: %.16g, wanted %.16g", problem, scheme, k, c,
                             z[c], want[c]);
            checked++;
            cls_simulator_free(&sim);
            cls_system_free(&s);
        }
    }
    fclose(in);
    assert_int_equal(checked, 36);
}

/* The paper's first step has q1 = q0 for v0 = 0. */
static void paper_start_stands_still(void **unused) {
    (void)unused;
    cls_system *s = load("ideal-gas-piston");
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = "dtel";
    o.h = 0.01;
    o.first_step = CLS_FIRST_PAPER;
    cls_simulator *sim;
    double start[3] = {1, 0, 10};
    assert_int_equal(cls_simulator_create(s, &o, &sim, NULL), CLS_OK);
    assert_int_equal(cls_simulator_start(sim, 0, start, NULL), CLS_OK);
    advance(sim, 1);
    assert_true(fabs(cls_simulator_state(sim)[0] - 1) < 1e-15);
    cls_simulator_free(&sim);
    o.scheme = "rk4";
    cls_error error;
    assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_USAGE);
    assert_null(sim);
    cls_system_free(&s);
}

/* docs/physics/dtel.md and vnots.md; CVODE at its tightest is good to some 1e-12. */
static void reference_values(void **unused) {
    (void)unused;
    static const struct {
        const char *system, *parameter;
        double value, until, x, S; /* S (or T1) 0: not given */
    } rows[] = {{"ideal-gas-piston", "gamma", 0.1, 10, 1588.59401595, 14.507850150887},
                {"van-der-waals-piston", "gamma", 0.1, 10, 1610.80147903, 14.544160221568},
                {"van-der-waals-forced", "pA", 1.8, 1, 1.160888584758, 0},
                {"van-der-waals-forced", "pA", 1.8, 50, 1.217269004238, 0},
                {"van-der-waals-forced", "pA", 0, 1, 1.925972008621, 0},
                {"van-der-waals-forced", "pA", 0, 50, 37.840363448620, 0},
                {"adiabatic-piston", "m", 1, 200, -0.243170440630, 0.798064747431}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cls_system *s = load_set(rows[i].system, rows[i].parameter, rows[i].value);
        double z[8], x = rows[i].x;
        run(s, "bdf", rows[i].until, rows[i].until, z);
        if (!(fabs(z[0] - x) <= 1e-11 * fabs(x)))
            fail_msg("%s at t = %g: %.14g, wanted %.14g", rows[i].system, rows[i].until, z[0], x);
        if (rows[i].S > 0 && !(fabs(z[2] - rows[i].S) <= 1e-11 * rows[i].S))
            fail_msg("%s at t = %g: %.14g, wanted %.14g", rows[i].system, rows[i].until, z[2],
                     rows[i].S);
        cls_system_free(&s);
    }
}

/* vnots.md: 20,000 steps of h = .01, mean over x, v, T1, T2 of the MAE against the true motion. */
static void piston_class(void **unused) {
    (void)unused;
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    static const struct {
        const char *scheme;
        double low, high;
    } rows[] = {{"vnots", 5.5e-4, 5.7e-4},
                {"vnots-symmetric", 1.32e-6, 1.34e-6},
                {"discrete-gradient", 0, 2e-6}};
    cls_system *s = load("adiabatic-piston");
    for (int i = 0; i < 3; i++) {
        cls_simulator *ours = begin(s, rows[i].scheme, 0.01), *truth = begin(s, "bdf", 0.01);
        double sum = 0;
        for (int k = 0; k < 20000; k++) {
            advance(ours, 1);
            advance(truth, 1);
            for (int c = 0; c < 4; c++)
                sum += fabs(cls_simulator_state(ours)[c] - cls_simulator_state(truth)[c]);
        }
        double mae = sum / 4 / 20001;
        if (!(mae >= rows[i].low) || !(mae <= rows[i].high))
            fail_msg("%s: mean MAE %.4g", rows[i].scheme, mae);
        cls_simulator_free(&ours);
        cls_simulator_free(&truth);
    }
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_are_as_stated),
                                       cmocka_unit_test(discrete_gradient_is_of_order_two),
                                       cmocka_unit_test(schemes_explain_when_they_do_not_apply),
                                       cmocka_unit_test(one_step_reference),
                                       cmocka_unit_test(paper_start_stands_still),
                                       cmocka_unit_test(reference_values),
                                       cmocka_unit_test(piston_class)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
