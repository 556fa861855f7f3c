/* Systems of components in motion: the figures of physics/ports.md, and the two laws. */
#include "tests/simulate/motion.h"

static double value(const cls_simulator *sim, const cls_system *s, const char *name) {
    double row[64];
    cls_error error;
    if (cls_system_row(s, 0, cls_simulator_state(sim), row, &error) != CLS_OK)
        fail_msg("%s", error.message);
    for (size_t i = 0; i < cls_system_column_count(s); i++)
        if (strcmp(cls_system_column(s, i), name) == 0) return row[i];
    fail_msg("no column %s", name);
    return NAN;
}

static void expect(const cls_simulator *sim, const cls_system *s, const char *name, double wanted) {
    double found = value(sim, s, name);
    if (!(fabs(found - wanted) <= 6e-13 * fmax(1, fabs(wanted))))
        fail_msg("%s: %s is %.15g, not %.15g", cls_system_name(s), name, found, wanted);
}

/* z(19.9) of the midpoint rule at h = 0.1, to all printed digits. */
static void midpoint_gives_the_published_states(void **unused) {
    (void)unused;
    cls_system *s = load("oscillator");
    cls_simulator *sim = begin(s, "implicit-midpoint", 0.1);
    advance(sim, 199);
    expect(sim, s, "q", .776834540331);
    expect(sim, s, "p.q", -1.339050482207);
    cls_simulator_free(&sim);
    cls_system_free(&s);

    s = load("isothermal-oscillator");
    sim = begin(s, "implicit-midpoint", 0.1);
    advance(sim, 199);
    expect(sim, s, "q", .095716709564);
    expect(sim, s, "p.q", -.105005759248);
    expect(sim, s, "s_e", .202475542011);
    cls_simulator_free(&sim);
    cls_system_free(&s);

    s = load("thermal-oscillator");
    sim = begin(s, "implicit-midpoint", 0.1);
    assert_true(fabs(value(sim, s, "theta_d") - 330.29956) < 5e-6);
    expect(sim, s, "energy", 391.049559909649);
    advance(sim, 199);
    expect(sim, s, "q", .095716709564);
    expect(sim, s, "p.q", -.105005759248);
    expect(sim, s, "s_e", .301422471050);
    expect(sim, s, "s_d", 5.705831972236);
    double lost = fabs(value(sim, s, "energy") - 391.049559909649);
    assert_true(lost > 1.425e-6 && lost < 1.435e-6); /* "midpoint loses E_tot 1.43e-6" */
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* The end of the motion: all mechanical energy has become heat. */
static void entropy_rises_to_the_published_end(void **unused) {
    (void)unused;
    cls_system *s = load("thermal-oscillator");
    cls_simulator *sim = begin(s, "discrete-gradient", 0.1);
    advance(sim, 2000);
    assert_true(fabs(value(sim, s, "entropy") - 6.007281007688) < 1e-12);
    assert_true(cls_simulator_info(sim).energy_max_error < 1e-11); /* 4.5e-12 at any h */
    cls_simulator_free(&sim);
    cls_system_free(&s);
    s = load("isothermal-oscillator");
    sim = begin(s, "discrete-gradient", 0.1);
    advance(sim, 5000);
    assert_true(fabs(value(sim, s, "s_e") - .2025) < 1e-13);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* Two reservoirs end at one temperature, the one that the first law gives. */
static void reservoirs_meet_at_the_common_temperature(void **unused) {
    (void)unused;
    cls_system *s = load("heat-reservoirs");
    cls_simulator *sim = begin(s, NULL, 0.5);
    double T = value(sim, s, "energy") / 3; /* C1 + C2 = 3, U = C T */
    advance(sim, 400);
    expect(sim, s, "theta1", T);
    expect(sim, s, "theta2", T);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

static const char *const systems[] = {"oscillator",  "isothermal-oscillator", "thermal-oscillator",
                                      "rlc-circuit", "heat-reservoirs",       "motor"};

/* Energy to round-off, entropy never falling, exergy never rising where nothing is put in. */
static void laws_hold_at_any_step(void **unused) {
    (void)unused;
    for (size_t i = 0; i < 6; i++) {
        cls_system *s = load(systems[i]);
        double own = cls_system_default_step(s);
        for (double h = own / 4; h < 9 * own; h *= 2) {
            cls_simulator *sim = begin(s, "discrete-gradient", h);
            advance(sim, MANY(2000));
            cls_simulate_info info = cls_simulator_info(sim);
            double size = fmax(fabs(info.energy_initial), fabs(value(sim, s, "energy")));
            if (!(info.energy_max_error <= 1e-13 * size) || info.entropy_falls)
                fail_msg("%s h=%g: energy %g of %g, %llu falls", systems[i], h,
                         info.energy_max_error, size, (unsigned long long)info.entropy_falls);
            cls_simulator_free(&sim);
        }
        cls_system_free(&s);
    }
}

static void exergy_never_rises(void **unused) {
    (void)unused;
    const char *const names[] = {"isothermal-oscillator", "thermal-oscillator", "rlc-circuit"};
    for (size_t i = 0; i < 3; i++) {
        cls_system *s = load(names[i]);
        cls_simulator *sim = begin(s, NULL, 5 * cls_system_default_step(s));
        double before = value(sim, s, "exergy"), start = before;
        for (int k = 0; k < 300; k++) {
            advance(sim, 1);
            double now = value(sim, s, "exergy");
            if (!(now <= before + 1e-12 * fmax(1, fabs(start))))
                fail_msg("%s: exergy rose by %g", names[i], now - before);
            before = now;
        }
        assert_true(before < start - 1e-3);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* A motor that is let go: what the supply put in is kinetic energy, magnetic energy and heat. */
static void the_motor_keeps_its_books(void **unused) {
    (void)unused;
    cls_system *s = load("motor");
    cls_simulator *sim = begin(s, NULL, 0.002);
    advance(sim, 1000);
    double phi = value(sim, s, "phi"), l = value(sim, s, "l"),
           heat = 293 * (value(sim, s, "s") - 1);
    double kept = phi * phi / 0.1 + l * l / 0.02 + heat;
    assert_true(fabs(value(sim, s, "work") - kept) < 1e-11 * kept);
    assert_true(l > 0); /* it turns the way it is driven */
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(midpoint_gives_the_published_states),
        cmocka_unit_test(entropy_rises_to_the_published_end),
        cmocka_unit_test(reservoirs_meet_at_the_common_temperature),
        cmocka_unit_test(laws_hold_at_any_step),
        cmocka_unit_test(exergy_never_rises),
        cmocka_unit_test(the_motor_keeps_its_books),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
