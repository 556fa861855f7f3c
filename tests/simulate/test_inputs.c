/* Inputs: holds and their projection, exactness at the samples, the laws with work and heat, thermal
 * systems without coordinates, orders against the reference. */
#include "motion.h"
#include "simulate/signal.h"
#include <stdio.h>

/* Everything that an input may stand in. */
#define DRIVEN                                                                                     \
    "input f, w, r, k\ncoordinate x\ntemperature T1, T2\n"                                         \
    "reservoir Tr = 1 + 0.3*r\n"                                                                   \
    "thermal lagrangian v.x^2/2 - x^2/2 + T1*(log(T1) - 1) + 2*T2*(log((2 + tanh(x))*T2) - 1)\n"   \
    "friction on T1: x <- -(0.1 + k^2)*v.x\nfriction on Tr: x <- -0.05*v.x\n"                      \
    "heat exchange T1 <-> T2: 0.2 + k^2\nheat exchange T2 <-> Tr: 0.3\n"                           \
    "external force: x <- f\nheat source on T1: w\n"                                               \
    "output force = f + 0*x\nstart x = 0.3, v.x = 0, T1 = 1, T2 = 1.5\nstep 0.1\n"
#define ROOMS                                                                                      \
    "input q, out\ntemperature T1, T2, T3\nreservoir Tout = 280 + out\n"                           \
    "thermal lagrangian 3*T1*(log(T1) - 1) + 4*T2*(log(T2) - 1) + 5*T3*(log(T3) - 1)\n"            \
    "heat exchange T1 <-> T2: 0.4\nheat exchange T2 <-> T3: 0.5\nheat exchange T3 <-> Tout: 0.2\n" \
    "heat source on T1: 10*q\nstart T1 = 290, T2 = 292, T3 = 285\n"
#define ROOMS_BY_ENTROPY                                                                           \
    "input q, out\nentropy S1, S2, S3\nreservoir Tout = 280 + out\n"                               \
    "hamiltonian 3*exp(S1/3) + 4*exp(S2/4) + 5*exp(S3/5)\n"                                        \
    "heat exchange T1 <-> T2: 0.4\nheat exchange T2 <-> T3: 0.5\nheat exchange T3 <-> Tout: 0.2\n" \
    "heat source on T1: 10*q\nstart T1 = 290, T2 = 292, T3 = 285\n"

enum { SAMPLES = 41 };

/* Rough values in (-1, 1) at times 0, 0.25, ... */
static void samples(size_t nu, double *times, double *values) {
    for (size_t i = 0; i < SAMPLES; i++) times[i] = 0.25 * (double)i;
    for (size_t k = 0; k < nu * SAMPLES; k++)
        values[k] = sin(12.9898 * (double)(k + 1) * (double)k);
}

static cls_simulator *driven(const cls_system *s, const char *scheme, double h, cls_hold hold) {
    cls_error error = {0};
    cls_simulator *sim;
    double state[64], times[SAMPLES], values[4 * SAMPLES];
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    o.h = h;
    samples(cls_system_input_count(s), times, values);
    if (cls_system_start(s, NULL, state, &error) || cls_simulator_create(s, &o, &sim, &error) ||
        cls_simulator_inputs(sim, SAMPLES, times, values, hold, &error) ||
        cls_simulator_start(sim, 0, state, &error))
        fail_msg("%s", error.message);
    return sim;
}

static clsi_signal *signal_of(size_t n, const double *t, const double *u, cls_hold hold) {
    cls_error error = {0};
    clsi_signal *s;
    if (clsi_signal_create(1, n, t, u, &hold, &s, &error)) fail_msg("%s", error.message);
    return s;
}

static void holds_are_what_they_say(void **unused) {
    (void)unused;
    const double t[] = {0, 1, 3, 4}, u[] = {2, 6, -2, 1};
    double a, b;
    clsi_signal *zero = signal_of(4, t, u, CLS_HOLD_ZERO);
    clsi_signal *line = signal_of(4, t, u, CLS_HOLD_LINEAR);
    const double at[] = {-1, 0, 0.5, 1, 2, 3, 4, 9}, held[] = {2, 2, 2, 6, 6, -2, 1, 1},
                 joined[] = {2, 2, 4, 6, 2, -2, 1, 1};
    for (int i = 0; i < 8; i++) {
        clsi_signal_at(zero, at[i], &a);
        clsi_signal_at(line, at[i], &b);
        assert_true(a == held[i] && b == joined[i]);
    }
    /* inside one piece the ends are the hold's own, forwards and backwards */
    clsi_signal_over(zero, 0, 1, &a, &b);
    assert_true(a == 2 && b == 2);
    clsi_signal_over(line, 1, 1, &a, &b);
    assert_true(a == 6 && b == 2);
    clsi_signal_over(line, 2, -1, &a, &b);
    assert_true(a == 2 && b == 6);
    /* over several pieces the mean is kept and the ends stay in the range of the hold */
    clsi_signal_over(zero, 0, 4, &a, &b);
    if (!(fabs((a + b) / 2 - (2 + 2 * 6 - 2) / 4.0) <= 1e-15)) fail_msg("%g %g", a, b);
    clsi_signal_over(line, 0, 4, &a, &b);
    if (!(fabs((a + b) / 2 - (4 + 2 * 2 - 0.5) / 4.0) <= 1e-15)) fail_msg("%g %g", a, b);
    assert_true(a <= 6 && a >= -2 && b <= 6 && b >= -2 && a > b);
    assert_true(clsi_signal_corner(zero, 1) == 3 && isinf(clsi_signal_corner(zero, 4)));
    clsi_signal_free(&zero);
    clsi_signal_free(&line);
}

static void gaps_are_held_over(void **unused) {
    (void)unused;
    const double t[] = {0, 1, 2, 3, 4}, u[] = {NAN, 1, NAN, 5, NAN}, bad[] = {0, 1, 1, 2, 3};
    double none[] = {NAN, NAN, NAN, NAN, NAN}, a;
    cls_error error = {0};
    clsi_signal *s = signal_of(5, t, u, CLS_HOLD_LINEAR);
    const double joined[] = {1, 1, 3, 5, 5}, held[] = {1, 1, 1, 5, 5};
    for (int i = 0; i < 5; i++) {
        clsi_signal_at(s, t[i], &a);
        assert_true(a == joined[i]);
    }
    clsi_signal_free(&s);
    s = signal_of(5, t, u, CLS_HOLD_ZERO);
    for (int i = 0; i < 5; i++) {
        clsi_signal_at(s, t[i], &a);
        assert_true(a == held[i]);
    }
    clsi_signal_free(&s);
    const cls_hold zero = CLS_HOLD_ZERO;
    assert_int_equal(clsi_signal_create(1, 5, bad, u, &zero, &s, &error), CLS_DATA);
    assert_int_equal(clsi_signal_create(1, 5, t, none, &zero, &s, &error), CLS_DATA);
}

/* Energy minus work minus heat to round-off, entropy of system and outside never falling, for
 * every kind of step: at the samples, between them, over several of them. */
static void the_laws_hold_with_any_input(void **unused) {
    (void)unused;
    static const char *const texts[] = {DRIVEN, ROOMS, ROOMS_BY_ENTROPY};
    static const char *const schemes[] = {"discrete-gradient", "discrete-gradient-adaptive"};
    static const double steps[] = {0.25, 0.05, 0.0813, 0.7};
    for (size_t i = 0; i < 3; i++) {
        cls_system *s = parse(texts[i]);
        for (int hold = 0; hold < 2; hold++)
            for (int scheme = 0; scheme < 2; scheme++)
                for (size_t h = 0; h < 4; h++) {
                    cls_simulator *sim = driven(s, schemes[scheme], steps[h], (cls_hold)hold);
                    advance(sim, (uint64_t)(9.8 / steps[h]));
                    cls_simulate_info info = cls_simulator_info(sim);
                    if (!(info.energy_relative <= 2e-14) || info.entropy_falls)
                        fail_msg("system %zu, %s, h %g: energy %g, %d falls, least %g", i,
                                 schemes[scheme], steps[h], info.energy_relative,
                                 (int)info.entropy_falls, info.entropy_min_step);
                    cls_simulator_free(&sim);
                }
        cls_system_free(&s);
    }
}

/* What passes through a system for long is much larger than what stays in it: its accounts are known
 * better than they can be written. Without a body that is heated, and with one. */
static void accounts_may_grow(void **unused) {
    (void)unused;
    static const char *const heated[] = {
        "reservoir Tr = 293\nlagrangian 0.04*v.x^2 + 1.4*cos(x)\n"
        "friction on Tr: x <- -0.5*v.x\nstart x = 0.5, v.x = 0\n",
        "reservoir Tr = 293\ntemperature T1\n"
        "thermal lagrangian 0.04*v.x^2 + 1.4*cos(x) + 0.01*T1*(log(T1) - 1)\n"
        "friction on T1: x <- -0.5*v.x\nheat exchange T1 <-> Tr: 2\n"
        "start x = 0.5, v.x = 0, T1 = 293\n",
        "reservoir Tr = 293\nentropy S1\n"
        "hamiltonian p.x^2/0.16 - 1.4*cos(x) + 0.01*exp(S1/0.01)\n"
        "friction on S1: x <- -0.5*v.x\nheat exchange T1 <-> Tr: 2\n"
        "start x = 0.5, p.x = 0, T1 = 293\n"};
    for (size_t i = 0; i < 3; i++) {
        char text[600];
        snprintf(text, sizeof text, "coordinate x\n%sexternal force: x <- 3*sin(4.2*t)\n",
                 heated[i]);
        cls_system *s = parse(text);
        cls_simulator *sim = begin(s, NULL, 0.01);
        advance(sim, 20000);
        cls_simulate_info info = cls_simulator_info(sim);
        double work = cls_simulator_state(sim)[cls_system_state_count(s) - 3];
        if (!(info.energy_relative <= 2e-14) || info.entropy_falls || !(fabs(work) > 1000))
            fail_msg("system %zu: energy %g, %d falls, work %g", i, info.energy_relative,
                     (int)info.entropy_falls, work);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* Conduction to reservoirs that move, from soft to stiff, one and two at a time. */
static void stiff_reservoirs_keep_the_laws(void **unused) {
    (void)unused;
    static const double k[] = {1, 1e6, 1e10}, other[] = {0, 0.1, 1e8};
    for (int i = 0; i < 9; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "temperature T1, T2\nreservoir Tr = 293 + 20*sin(t)\nreservoir Tq = 250\n"
                 "thermal lagrangian 5*T1*(log(T1) - 1) + 5*T2*(log(T2) - 1)\n"
                 "heat exchange T1 <-> T2: 0.3\nheat exchange T1 <-> Tr: %g\n"
                 "heat exchange T2 <-> Tr: 0.1\nheat exchange T2 <-> Tq: %g\n"
                 "start T1 = 300, T2 = 293\n",
                 k[i / 3], other[i % 3]);
        cls_system *s = parse(text);
        cls_simulator *sim = begin(s, NULL, 0.1);
        advance(sim, 200);
        cls_simulate_info info = cls_simulator_info(sim);
        if (!(info.energy_relative <= 1e-14) || info.entropy_falls)
            fail_msg("%g, %g: energy %g, %d falls", k[i / 3], other[i % 3], info.energy_relative,
                     (int)info.entropy_falls);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* What came in is the integral of the input, wherever steps and samples lie. */
static void heat_is_the_integral_of_the_input(void **unused) {
    (void)unused;
    cls_system *s = parse("input w\ntemperature T\nthermal lagrangian T*(log(T) - 1)\n"
                          "heat source on T: 0.5 + 0.4*w\nstart T = 1\n");
    double times[SAMPLES], values[SAMPLES], whole = 0;
    samples(1, times, values);
    for (size_t i = 0; i + 1 < SAMPLES; i++) whole += 0.25 * (0.5 + 0.4 * values[i]);
    static const double steps[] = {0.25, 0.1, 1, 2.5};
    for (size_t h = 0; h < 4; h++) {
        cls_simulator *sim = driven(s, NULL, steps[h], CLS_HOLD_ZERO);
        advance(sim, (uint64_t)(10 / steps[h] + 0.5));
        const double *z = cls_simulator_state(sim); /* T, heat, entropy.outside */
        if (!(fabs(z[1] - whole) <= 1e-13 * whole && fabs(z[0] - 1 - whole) <= 1e-13 * whole))
            fail_msg("h %g: heat %.17g, temperature %.17g, integral %.17g", steps[h], z[1], z[0],
                     whole);
        assert_true(z[2] == 0); /* a heater brings no entropy */
        cls_simulator_free(&sim);
    }
    cls_system_free(&s);
}

/* Samples of a straight line joined by lines are the same as its formula. */
static void a_line_is_a_line(void **unused) {
    (void)unused;
    static const char *const text =
        "input f\ncoordinate x\nhamiltonian p.x^2/2 + x^4/4\nexternal force: x <- f\n"
        "start x = 1, p.x = 0\n";
    static const char *const schemes[] = {"discrete-gradient", "rk4",   "implicit-midpoint",
                                          "leapfrog",          "euler", "dtel"};
    const char *name = "f", *formula = "0.3 - 0.2*t";
    double zero = 0, times[SAMPLES], values[SAMPLES], state[8];
    cls_assignments set = {1, &name, &zero, &formula};
    cls_error error = {0};
    cls_system *a = parse(text), *b;
    if (cls_system_parse(text, "test", &set, &b, &error)) fail_msg("%s", error.message);
    assert_true(cls_system_input_is_given(b, 0) && !cls_system_input_is_given(a, 0));
    for (size_t i = 0; i < SAMPLES; i++) {
        times[i] = 0.25 * (double)i;
        values[i] = 0.3 - 0.2 * times[i];
    }
    for (size_t k = 0; k < 6; k++) {
        cls_simulate_options o = cls_simulate_defaults();
        cls_simulator *one, *other = begin(b, schemes[k], 0.0625);
        o.scheme = schemes[k];
        o.h = 0.0625;
        if (cls_system_start(a, NULL, state, &error) || cls_simulator_create(a, &o, &one, &error) ||
            cls_simulator_inputs(one, SAMPLES, times, values, CLS_HOLD_LINEAR, &error) ||
            cls_simulator_start(one, 0, state, &error))
            fail_msg("%s", error.message);
        advance(one, 100);
        advance(other, 100);
        double d = distance(a, cls_simulator_state(one), cls_simulator_state(other));
        if (!(d <= 1e-13)) fail_msg("%s: %g", schemes[k], d);
        cls_simulator_free(&one);
        cls_simulator_free(&other);
    }
    cls_system_free(&a);
    cls_system_free(&b);
}

/* The error against CVODE, which begins anew at every sample, at steps that end there. */
static void the_order_is_kept_at_the_samples(void **unused) {
    (void)unused;
    cls_system *s = parse(DRIVEN);
    for (int hold = 0; hold < 2; hold++) {
        double state[3][8], error[2];
        for (int k = 0; k < 3; k++) {
            double h = k == 0 ? 0.25 : k == 1 ? 0.125 : 0.0625;
            cls_simulator *sim = driven(s, k ? "discrete-gradient" : "bdf", h, (cls_hold)hold);
            advance(sim, (uint64_t)(5 / h + 0.5));
            memcpy(state[k], cls_simulator_state(sim), 7 * sizeof(double));
            cls_simulator_free(&sim);
        }
        for (int k = 0; k < 2; k++) error[k] = distance(s, state[k + 1], state[0]);
        double order = log2(error[0] / error[1]);
        if (!(order > 1.8 && order < 2.3)) fail_msg("hold %d: order %g", hold, order);
    }
    cls_system_free(&s);
}

/* Going to given times ends there exactly, keeps the laws, and equal distances are equal steps. */
static void times_are_reached(void **unused) {
    (void)unused;
    cls_error error = {0};
    cls_system *s = parse(DRIVEN);
    cls_simulator *sim = driven(s, NULL, 0.1, CLS_HOLD_ZERO), *plain = driven(s, NULL, 0.1, 0);
    for (int i = 1; i <= 20; i++)
        if (cls_simulator_go(plain, 0.1 * i, &error)) fail_msg("%s", error.message);
    advance(sim, 20);
    double d = distance(s, cls_simulator_state(sim), cls_simulator_state(plain));
    if (!(d <= 1e-13)) fail_msg("%g", d);
    static const double at[] = {2, 2.003, 2.5, 3.14159, 9};
    for (int i = 0; i < 5; i++) {
        if (cls_simulator_go(plain, at[i], &error)) fail_msg("%s", error.message);
        assert_true(cls_simulator_time(plain) == at[i]);
    }
    cls_simulate_info info = cls_simulator_info(plain);
    assert_true(info.steps == 20 + 0 + 1 + 5 + 7 + 59);
    assert_true(info.energy_relative <= 2e-14 && info.entropy_falls == 0);
    assert_int_equal(cls_simulator_go(plain, 8, &error), CLS_USAGE);
    cls_simulator_free(&sim);
    cls_simulator_free(&plain);
    cls_system_free(&s);
}

static void inputs_without_values_are_refused(void **unused) {
    (void)unused;
    cls_error error = {0};
    double state[8];
    cls_system *s = parse(DRIVEN);
    cls_simulator *sim;
    assert_int_equal(cls_system_start(s, NULL, state, &error), CLS_OK);
    assert_int_equal(cls_simulator_create(s, NULL, &sim, &error), CLS_OK);
    assert_int_equal(cls_simulator_start(sim, 0, state, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "the input f of test has no values"));
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(holds_are_what_they_say),
                                       cmocka_unit_test(gaps_are_held_over),
                                       cmocka_unit_test(the_laws_hold_with_any_input),
                                       cmocka_unit_test(accounts_may_grow),
                                       cmocka_unit_test(stiff_reservoirs_keep_the_laws),
                                       cmocka_unit_test(heat_is_the_integral_of_the_input),
                                       cmocka_unit_test(a_line_is_a_line),
                                       cmocka_unit_test(the_order_is_kept_at_the_samples),
                                       cmocka_unit_test(times_are_reached),
                                       cmocka_unit_test(inputs_without_values_are_refused)};
    return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
