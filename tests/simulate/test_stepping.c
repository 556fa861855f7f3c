/* Stepping: domains, halving, divergence, no allocation, ensembles that do not depend on threads.
 */
#include "simulate/host.h"
#include "tests/allocations.h"
#include "tests/simulate/motion.h"
#include <float.h>
#include <stdlib.h>

static void a_step_allocates_nothing(void **unused) {
    (void)unused;
    if (!COUNTS_ALLOCATIONS) skip();
    for (size_t i = 0; i < cls_builtin_count(); i++) {
        cls_system *s = load(cls_builtin_name(i));
        for (size_t k = 0; k < cls_scheme_count(); k++) {
            const char *scheme = cls_scheme_at(k)->name;
            if (strcmp(scheme, "bdf") == 0 || cls_scheme_applies(scheme, s, NULL) != CLS_OK)
                continue;
            cls_simulator *sim = begin(s, scheme, 0.001);
            double row[64];
            size_t before = allocations;
            advance(sim, 50);
            (void)cls_simulator_row(sim, row, NULL);
            size_t made = allocations - before;
            if (made)
                fail_msg("%s on %s: %zu allocations in 50 steps", scheme, cls_builtin_name(i),
                         made);
            cls_simulator_free(&sim);
        }
        cls_system_free(&s);
    }
    size_t before = allocations;
    void *volatile p = malloc(1);
    free(p);
    assert_int_equal(allocations, before + 1); /* the counter counts */
}

/* ---- domains ---- */

static void steps_stay_in_the_domain(void **unused) {
    (void)unused;
    cls_system *s = parse(WALL_OF_GAS);
    for (double h = 0.01; h < 1; h *= 2) {
        cls_simulator *sim = begin(s, NULL, h);
        for (int k = 0; k < 400; k++) {
            advance(sim, 1);
            double x = cls_simulator_state(sim)[0];
            assert_true(x > 0 && x < 3);
        }
        assert_true(cls_simulator_info(sim).energy_relative < 1e-13);
        cls_simulator_free(&sim);
    }
    cls_system_free(&s);
}

static void split_steps_are_reported(void **unused) {
    (void)unused;
    cls_system *s = load("ideal-gas-piston");
    cls_simulator *sim = begin(s, "discrete-gradient", 0.5);
    advance(sim, 10);
    cls_simulate_info info = cls_simulator_info(sim);
    assert_true((info.retried_steps > 0) == (info.deepest_halving > 0));
    assert_int_equal(info.steps, 10);
    assert_true(fabs(cls_simulator_time(sim) - 5) < 1e-15);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

static void leaving_the_domain_is_an_error(void **unused) {
    (void)unused;
    cls_system *s = parse(OUT_OF_THE_WORLD);
    cls_simulator *sim = begin(s, NULL, 0.1);
    cls_error error;
    assert_int_equal(cls_simulator_advance(sim, 100, &error), CLS_NUMERIC);
    assert_non_null(strstr(error.message, "leaves the declared domain"));
    assert_non_null(strstr(error.message, "step 15 at time 1.4"));
    assert_true(cls_simulator_state(sim)[0] < 1); /* the last good state */
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

static void divergence_names_the_term(void **unused) {
    (void)unused;
    cls_system *s = parse("system \"runs away\"\n"
                          "coordinate x\n"
                          "hamiltonian p.x^2/2 - exp(x^2)\n"
                          "start x = 1, p.x = 1\n");
    cls_simulator *sim = begin(s, "rk4", 0.1);
    cls_error error;
    assert_int_equal(cls_simulator_advance(sim, 1000, &error), CLS_NUMERIC);
    assert_non_null(strstr(error.message, "is not finite"));
    assert_non_null(strstr(error.message, "exp("));
    assert_non_null(strstr(error.message, "x = "));
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* A potential without bottom: the exact motion blows up in finite time. A scheme that keeps energy
 * must not jump over that and go on. */
static void a_runaway_is_stopped(void **unused) {
    (void)unused;
    cls_system *s = parse(FALLS_FOREVER);
    for (double h = 0.001; h < 0.2; h *= 3) {
        cls_simulator *sim = begin(s, NULL, h);
        cls_error error;
        assert_int_equal(cls_simulator_advance(sim, 100000, &error), CLS_NUMERIC);
        assert_true(cls_simulator_info(sim).energy_relative < 1e-6);
        cls_simulator_free(&sim);
    }
    cls_system_free(&s);
}

static void bad_options_are_refused(void **unused) {
    (void)unused;
    cls_system *s = load("pendulum");
    cls_simulator *sim;
    cls_error error;
    const double bad[] = {-0.1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        cls_simulate_options o = cls_simulate_defaults();
        o.h = bad[i];
        assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_USAGE);
        assert_null(sim);
        assert_non_null(strstr(error.message, "positive"));
    }
    sim = begin(s, NULL, 0);
    double state[2] = {NAN, 0};
    assert_int_equal(cls_simulator_start(sim, 0, state, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "q = nan"));
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* ---- ensembles ---- */

static void ensembles_do_not_depend_on_threads(void **unused) {
    (void)unused;
    cls_system *s = load("adiabatic-piston");
    size_t n = 12, columns = cls_system_column_count(s), rows = 6;
    size_t size = n * rows * columns * sizeof(double);
    double starts[12 * 4], *one = malloc(size), *many = malloc(size);
    for (size_t i = 0; i < n; i++) {
        double start[4] = {0.1 * (double)i - 0.5, 0.3, 1 + 0.05 * (double)i, 1.2};
        memcpy(starts + 4 * i, start, sizeof start);
    }
    cls_simulate_options o = cls_simulate_defaults();
    o.h = 0.01;
    cls_error error;
    assert_int_equal(cls_ensemble_run(s, &o, n, starts, 100, 20, 1, one, &error), CLS_OK);
    for (int threads = 2; threads <= 5; threads++) {
        memset(many, 0, size);
        assert_int_equal(cls_ensemble_run(s, &o, n, starts, 100, 20, threads, many, &error),
                         CLS_OK);
        assert_memory_equal(one, many, size);
    }
    cls_simulator *sim;
    assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_OK);
    assert_int_equal(cls_simulator_start(sim, 0, starts + 4 * 7, &error), CLS_OK);
    advance(sim, 100);
    const double *last = one + (7 * rows + 5) * columns;
    assert_memory_equal(last + 1, cls_simulator_state(sim), 4 * sizeof(double));
    cls_simulator_free(&sim);
    starts[4 * 3] = 5; /* outside (-2, 2) */
    assert_int_equal(cls_ensemble_run(s, &o, n, starts, 100, 20, 2, many, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "trajectory 3"));
    free(one);
    free(many);
    cls_system_free(&s);
}

/* Starting again from a state goes on as if nothing had happened, to round-off. */
static void a_restart_continues(void **unused) {
    (void)unused;
    cls_system *s = load("van-der-waals-forced");
    cls_simulator *a = begin(s, NULL, 0.01), *b = begin(s, NULL, 0.01);
    advance(a, 400);
    advance(b, 200);
    double state[8];
    memcpy(state, cls_simulator_state(b), sizeof(double) * cls_system_state_count(s));
    assert_int_equal(cls_simulator_start(b, 2, state, NULL), CLS_OK);
    advance(b, 200);
    assert_true(distance(s, cls_simulator_state(a), cls_simulator_state(b)) < 1e-13);
    assert_true(fabs(cls_simulator_time(a) - cls_simulator_time(b)) < 1e-15);
    cls_simulator_free(&a);
    cls_simulator_free(&b);
    cls_system_free(&s);
}

/* Of many unknowns the state is kept while the new one is added: the same sums, and back to it where one
 * is not finite. */
static void a_state_that_is_left_is_kept(void **unused) {
    (void)unused;
    enum { N = 37 };
    double before[2 * N], state[2 * N], plain[2 * N], kept[2 * N], next[N];
    for (size_t i = 0; i < 2 * N; i++) {
        before[i] = state[i] = plain[i] = (i < N ? 1 : 1e-17) * sin((double)i + 1);
        next[i % N] = 1e-3 * cos((double)i);
    }
    cls_simulator sim = {.n_state = N, .state = plain, .next_out = next};
    assert_true(clsi_wide_take(&sim));
    sim.state = state;
    sim.keep = kept;
    assert_true(clsi_wide_take(&sim));
    assert_memory_equal(state, plain, sizeof state);
    assert_memory_equal(kept, before, sizeof kept);
    assert_null(sim.keep);
    state[N - 1] = DBL_MAX;
    next[N - 1] = DBL_MAX;
    memcpy(before, state, sizeof before);
    assert_false(clsi_wide_take(&sim));
    assert_memory_equal(state, before, sizeof state);
    sim.keep = kept;
    assert_false(clsi_wide_take(&sim));
    assert_memory_equal(state, before, sizeof state);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_allocates_nothing),
                                       cmocka_unit_test(steps_stay_in_the_domain),
                                       cmocka_unit_test(split_steps_are_reported),
                                       cmocka_unit_test(leaving_the_domain_is_an_error),
                                       cmocka_unit_test(divergence_names_the_term),
                                       cmocka_unit_test(a_runaway_is_stopped),
                                       cmocka_unit_test(bad_options_are_refused),
                                       cmocka_unit_test(ensembles_do_not_depend_on_threads),
                                       cmocka_unit_test(a_restart_continues),
                                       cmocka_unit_test(a_state_that_is_left_is_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
