/* The two laws, as laws: energy exact and entropy monotone for discrete-gradient on every system
 * with entropy, at any h, for any friction, exchange and force; symmetries kept. */
#include "tests/simulate/motion.h"
#include <stdio.h>

static const char *const with_entropy[] = {"damped-oscillator",
                                           "ideal-gas-piston",
                                           "van-der-waals-piston",
                                           "van-der-waals-forced",
                                           "two-pistons",
                                           "adiabatic-piston",
                                           "rigid-body"};
enum { N_ENTROPY = sizeof with_entropy / sizeof *with_entropy };

static void laws_hold(const cls_system *s, double h, uint64_t steps, double limit) {
    cls_simulator *sim = begin(s, "discrete-gradient", h);
    advance(sim, steps);
    cls_simulate_info info = cls_simulator_info(sim);
    if (!(info.energy_relative <= limit))
        fail_msg("%s h=%g: relative energy error %g", cls_system_name(s), h, info.energy_relative);
    if (info.entropy_falls)
        fail_msg("%s h=%g: %llu entropy falls, worst %g", cls_system_name(s), h,
                 (unsigned long long)info.entropy_falls, info.entropy_min_step);
    cls_simulator_free(&sim);
}

static void energy_is_exact_over_100000_steps(void **unused) {
    (void)unused;
    for (int i = 0; i < N_ENTROPY; i++) {
        cls_system *s = load(with_entropy[i]);
        laws_hold(s, 0.01, MANY(100000), 1e-13);
        cls_system_free(&s);
    }
}

static void laws_hold_at_any_step(void **unused) {
    (void)unused;
    for (int i = 0; i < N_ENTROPY; i++) {
        cls_system *s = load(with_entropy[i]);
        for (double h = 0.001; h < 0.6; h *= 2) laws_hold(s, h, MANY(4000), 1e-13);
        laws_hold(s, 0.5, MANY(4000), 1e-13);
        cls_system_free(&s);
    }
}

/* Entropies of a state are never lower than before by more than round-off of the last place: the
 * strict form, where S itself is a state. */
static void entropy_is_monotone_to_the_last_place(void **unused) {
    (void)unused;
    const char *const names[] = {"damped-oscillator", "ideal-gas-piston", "van-der-waals-forced"};
    for (int i = 0; i < 3; i++) {
        cls_system *s = load(names[i]);
        cls_simulator *sim = begin(s, NULL, 0.05);
        double before = cls_simulator_state(sim)[2];
        for (uint64_t k = 0; k < MANY(20000); k++) {
            advance(sim, 1);
            double now = cls_simulator_state(sim)[2];
            if (now < before)
                fail_msg("%s: S fell by %g at step %llu", names[i], before - now,
                         (unsigned long long)k);
            before = now;
        }
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* Where S is computed from temperatures, rounding does not add up either: behind an adiabatic wall,
 * at rest, no step brings back what it moves. */
static void rounding_does_not_add_up_at_rest(void **unused) {
    (void)unused;
    enum { ROWS = 200 };
    cls_system *s = load("adiabatic-piston");
    cls_simulator *sim = begin(s, NULL, 0.01);
    double highest = cls_simulator_info(sim).entropy_final, deepest = 0;
    for (int row = 0; row < ROWS; row++) {
        advance(sim, MANY(1000));
        double now = cls_simulator_info(sim).entropy_final;
        deepest = fmax(deepest, highest - now);
        highest = fmax(highest, now);
    }
    double energy = cls_simulator_info(sim).energy_relative;
    print_message("energy %g, S %.17g, %g below the highest\n", energy, highest, deepest);
    assert_true(deepest <= 2e-15 * highest);
    assert_true(energy <= 5e-15);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

static const char *const engine =
    "system \"two masses, three entropies, exchange, driving\"\n"
    "coordinate x, y\n"
    "entropy S1, S2, S3\n"
    "parameter m = 1.5\n"
    "hamiltonian (p.x^2*(1 + 0.3*x^2) + p.y^2)/(2*m) + (x - y)^2*(1 + 0.2*S1) + x^4/4\n"
    "    + exp(S1) + 2*exp(S2/2)*(1 + 0.1*y^2) + 3*exp(S3/3)\n"
    "friction on S1: x <- -(0.1 + v.x^2)*v.x\n"
    "friction on S2: x <- -0.05*(v.x - v.y), y <- -0.05*(v.y - v.x)\n"
    "friction on S3: y <- -0.2*T1*v.y\n"
    "heat exchange T1 <-> T2: 0.3*(1 + x^2)\n"
    "heat exchange T2 <-> T3: 0.1\n"
    "external force: y <- 0.4*sin(2*t) - 0.1*x*v.y\n"
    "start x = 0.7, y = -0.2, v.x = 0.1, v.y = 0.5, S1 = 0.1, S2 = 0.4, S3 = -0.3\n";

static void any_system_keeps_the_laws(void **unused) {
    (void)unused;
    cls_system *s = parse(engine);
    for (double h = 0.01; h < 0.3; h *= 3) laws_hold(s, h, MANY(5000), 2e-14);
    double order = order_of(s, "discrete-gradient", 0.02, 1);
    assert_true(fabs(order - 2) < 0.02);
    cls_system_free(&s);
}

/* The energy given only through G(q,v,T) or a Lagrangian that is not quadratic in v: no closed
 * Hamiltonian, the discrete gradient is built in observables. */
static void laws_hold_without_a_hamiltonian(void **unused) {
    (void)unused;
    static const char *const texts[] = {
        "system \"relativistic mass in a gas\"\n"
        "coordinate x in (0, inf)\n"
        "entropy S\n"
        "lagrangian -sqrt(1 - v.x^2) - exp(S)*x^(-2/3) - x^2/8\n"
        "friction on S: x <- -0.3*v.x\n"
        "start x = 1, v.x = 0.3, S = -0.5\n",
        "system \"G that mixes everything\"\n"
        "coordinate x, y\n"
        "temperature T1, T2\n"
        "thermal lagrangian (1 + 0.2*x^2)*v.x^2/2 + v.y^2/2 + 0.1*v.x*v.y*T1 - x^2/2 - (x - y)^2\n"
        "    + T1*(log(T1*(2 + x)) - 1) + 0.5*T2^2*(1 + 0.1*y^2) + 0.05*v.y^4\n"
        "friction on T1: x <- -0.2*v.x\n"
        "friction on T2: y <- -(0.1 + v.y^2)*v.y\n"
        "heat exchange T1 <-> T2: 0.2\n"
        "start x = 0.3, y = -0.4, v.x = 0.2, v.y = 0.1, T1 = 1, T2 = 1.4\n"};
    for (int i = 0; i < 2; i++) {
        cls_system *s = parse(texts[i]);
        for (double h = 0.01; h < 0.3; h *= 3) laws_hold(s, h, MANY(5000), 2e-14);
        double order = order_of(s, "discrete-gradient", 0.02, 1);
        assert_true(fabs(order - 2) < 0.02);
        cls_system_free(&s);
    }
}

/* DTEL, example 1 with the sign of docs/physics/dtel.md E3 */
static void two_pistons_keep_their_invariant(void **unused) {
    (void)unused;
    const char *const schemes[] = {"dtel", "discrete-gradient"};
    for (int i = 0; i < 2; i++) {
        cls_system *s = load("two-pistons");
        cls_simulator *sim = begin(s, schemes[i], 0.1);
        advance(sim, MANY(10000));
        cls_simulate_info info = cls_simulator_info(sim);
        assert_int_equal(info.n_invariants, 1);
        if (!(info.invariants[0].max_error <= 1e-13))
            fail_msg("%s: g drifts by %g", schemes[i], info.invariants[0].max_error);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

static void two_body_keeps_momentum_and_angular_momentum(void **unused) {
    (void)unused;
    cls_system *s = load("two-body");
    cls_simulator *sim = begin(s, "discrete-gradient", 0.05);
    advance(sim, MANY(10000));
    cls_simulate_info info = cls_simulator_info(sim);
    assert_int_equal(info.n_invariants, 3);
    for (size_t k = 0; k < 3; k++) assert_true(info.invariants[k].max_error < 1e-13);
    assert_true(info.energy_relative < 1e-13);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* Tables 3 and 4 with the discrete-gradient scheme: 0.290 and 0.318 (docs/physics/dtel.md). */
static void gas_tables(void **unused) {
    (void)unused;
    const char *const names[] = {"ideal-gas-piston", "van-der-waals-piston"};
    const double position[] = {0.290, 0.318}, entropy[] = {3.18e-3, 3.51e-3};
    for (int i = 0; i < 2; i++) {
        cls_system *s = load(names[i]);
        cls_simulator *ours = begin(s, "discrete-gradient", 0.01), *truth = begin(s, "bdf", 0.01);
        double dx = 0, dS = 0;
        for (int k = 0; k < 1000; k++) {
            advance(ours, 1);
            advance(truth, 1);
            const double *a = cls_simulator_state(ours), *b = cls_simulator_state(truth);
            dx = fmax(dx, fabs(a[0] - b[0]));
            dS = fmax(dS, fabs(a[2] - b[2]));
        }
        assert_true(fabs(dx - position[i]) < 0.5e-3);
        assert_true(fabs(dS - entropy[i]) < 0.5e-5);
        cls_simulator_free(&ours);
        cls_simulator_free(&truth);
        cls_system_free(&s);
    }
}

/* The forced gas does work on its surroundings; with a force that has a potential the total stays.
 */
static void forced_gas_counts_the_surroundings(void **unused) {
    (void)unused;
    cls_system *s = load("van-der-waals-forced");
    cls_simulator *sim = begin(s, NULL, 0.01);
    advance(sim, 100);
    assert_true(fabs(cls_simulator_info(sim).energy_initial - 4.74) < 1e-12);
    assert_true(cls_simulator_info(sim).energy_relative < 1e-14);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* Without heat nothing takes up what rounding leaves of the energy; the forces that have a potential
 * give it back, and the error does not walk however long the motion (decision 40). */
static void forces_give_back_what_rounding_took(void **unused) {
    (void)unused;
    const char *const names[] = {"pendulum", "mass-spring", "two-body"};
    const double h[] = {0.2, 0.1, 0.05};
    for (int i = 0; i < 3; i++) {
        cls_system *s = load(names[i]);
        cls_simulator *sim = begin(s, "discrete-gradient", h[i]);
        advance(sim, MANY(i ? 50000 : 200000));
        double error = cls_simulator_info(sim).energy_relative;
        if (!(error <= 1e-14)) fail_msg("%s: relative energy error %g", names[i], error);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* exp(-745) is nothing: at a temperature of zero no entropy is a number. */
static void temperature_of_zero_is_refused(void **unused) {
    (void)unused;
    cls_system *s = parse("coordinate x\nentropy S\nhamiltonian p.x^2/2 + exp(S - 1000*x)\n"
                          "start x = 0, p.x = 0.5, S = -600\n");
    const char *const schemes[] = {"discrete-gradient", "discrete-gradient-4",
                                   "discrete-gradient-adaptive", "eem"};
    for (int i = 0; i < 4; i++) {
        cls_simulator *sim = begin(s, schemes[i], 0.125);
        cls_error error = {0};
        assert_int_equal(cls_simulator_advance(sim, 100, &error), CLS_NUMERIC);
        if (!strstr(error.message, "a temperature became zero"))
            fail_msg("%s: %s", schemes[i], error.message);
        cls_simulator_free(&sim);
    }
    cls_system_free(&s);
}

/* Where nobody can say how much energy is missing nothing is promised: refused, not let pass. */
static void energy_beyond_all_bounds_is_refused(void **unused) {
    (void)unused;
    cls_system *s =
        parse("parameter c = 1.5\nstorage body(entropy s): c*exp(s/c)\n"
              "environment air(entropy s1): 3\nenvironment weather(entropy s3): 2 + sin(t)\n"
              "resistive one(entropy s, entropy out): 1\n"
              "resistive three(entropy s, entropy out): 0.3\n"
              "connect body.s, one.s, three.s\nconnect air.s1, one.out\n"
              "connect weather.s3, three.out\nstart s = 1000.99, s1 = 0.2\n");
    cls_simulator *sim = begin(s, "discrete-gradient-4", 0.0005);
    cls_error error = {0};
    assert_int_equal(cls_simulator_advance(sim, 100, &error), CLS_NUMERIC);
    assert_non_null(strstr(error.message, "energy"));
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* Schemes in observables that carry no energy owe what rounding leaves of their equations. */
static void rounding_makes_no_entropy_fall(void **unused) {
    (void)unused;
    const struct {
        const char *system, *scheme;
        double h;
    } runs[] = {{"rigid-body", "cayley", 0.1},
                {"rigid-body", "cayley-symmetric", 0.1},
                {"adiabatic-piston", "vnots", 0.01}};
    for (int i = 0; i < 3; i++) {
        cls_system *s = load(runs[i].system);
        cls_simulator *sim = begin(s, runs[i].scheme, runs[i].h);
        advance(sim, MANY(20000));
        if (cls_simulator_info(sim).entropy_falls)
            fail_msg("%s by %s: %llu falls", runs[i].system, runs[i].scheme,
                     (unsigned long long)cls_simulator_info(sim).entropy_falls);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* At T = 1 the entropy C log T is zero, and so are its terms: what rounding the temperature does is all
 * of it. Motions that come to rest there were refused, and paying back none of what rounding owes made
 * the energy walk. */
static void rest_where_the_entropy_is_zero(void **unused) {
    (void)unused;
    const double starts[] = {0.19936, 0.1993, 0.1};
    const double steps[] = {0.02, 0.005};
    for (int i = 0; i < 6; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "system \"stiff oscillator\"\ncoordinate x\ntemperature T\n"
                 "thermal lagrangian v.x^2/2 - 500*x^2 - 250*x^4 + T*(log(T) - 1)\n"
                 "friction on T: x <- -500*v.x\nstart x = 0.04, v.x = 0, T = %g\n",
                 starts[i % 3]);
        cls_system *s = parse(text);
        cls_simulator *sim = begin(s, NULL, steps[i / 3]);
        advance(sim, MANY(40000));
        cls_simulate_info info = cls_simulator_info(sim);
        assert_int_equal(info.entropy_falls, 0);
        if (!(info.energy_relative <= 5e-15))
            fail_msg("from T = %g: energy off by %g", starts[i % 3], info.energy_relative);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_is_exact_over_100000_steps),
        cmocka_unit_test(laws_hold_at_any_step),
        cmocka_unit_test(entropy_is_monotone_to_the_last_place),
        cmocka_unit_test(rounding_does_not_add_up_at_rest),
        cmocka_unit_test(any_system_keeps_the_laws),
        cmocka_unit_test(laws_hold_without_a_hamiltonian),
        cmocka_unit_test(two_pistons_keep_their_invariant),
        cmocka_unit_test(two_body_keeps_momentum_and_angular_momentum),
        cmocka_unit_test(gas_tables),
        cmocka_unit_test(forced_gas_counts_the_surroundings),
        cmocka_unit_test(forces_give_back_what_rounding_took),
        cmocka_unit_test(temperature_of_zero_is_refused),
        cmocka_unit_test(energy_beyond_all_bounds_is_refused),
        cmocka_unit_test(rounding_makes_no_entropy_fall),
        cmocka_unit_test(rest_where_the_entropy_is_zero)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
