/* Matter: amounts that diffuse and react, internal variables. Atoms are kept to round-off, both laws hold
 * for every built-in system of this kind and for rough ones, equilibrium is where potentials are equal,
 * a rate is of mass action, and amounts stay positive. */
#include "motion.h"
#include <stdio.h>

/* An ideal solution; mu = R T log N + h. */
#define SOLUTION                                                                                   \
    "mole A, B, C\nentropy S\nparameter R = 1, cv = 8\n"                                           \
    "let mixing = -(A*(log(A) - 1) + B*(log(B) - 1) + C*(log(C) - 1))\n"                           \
    "hamiltonian cv*exp((S - mixing)/cv) - 0.5*C\nstart A = 2, B = 1, C = 0.2, T = 1\n"
/* An ideal gas at a reservoir of matter that changes in time. */
#define TANK                                                                                       \
    "mole N\nentropy S\nparameter c = 1.5\ninput u = 0.3*sin(3*t)\n"                               \
    "hamiltonian c*N*N^(1/c)*exp(S/(c*N))\ndiffusion valve N <-> (4 + u) on T: 0.3\n"              \
    "matter source feed on N: 0.05*u\nstart N = 1, T = 1\nstep 0.05\n"

static const char *const built_in[] = {"membrane", "adiabatic-reactor", "isothermal-reactor",
                                       "viscoelastic-bar", "fuel-cell"};
enum { BUILT_IN = sizeof built_in / sizeof *built_in };

static void expect_laws(const char *name, cls_simulate_info info) {
    if (!(info.energy_max_error <= 1e-13 * (1 + fabs(info.energy_initial))))
        fail_msg("%s: energy is off by %g", name, info.energy_max_error);
    if (info.entropy_falls) fail_msg("%s: %zu falls", name, (size_t)info.entropy_falls);
    for (size_t i = 0; i < info.n_invariants; i++)
        if (!(info.invariants[i].max_error <= 1e-14 * (1 + fabs(info.invariants[i].initial))))
            fail_msg("%s: invariant %zu is off by %g", name, i, info.invariants[i].max_error);
}

static void both_laws_hold_and_atoms_are_kept(void **unused) {
    (void)unused;
    for (size_t i = 0; i < BUILT_IN; i++)
        for (int large = 0; large < 2; large++) {
            cls_system *s = load(built_in[i]);
            cls_simulator *sim = begin(s, "discrete-gradient", large ? 0.5 : 0);
            advance(sim, MANY(4000));
            expect_laws(built_in[i], cls_simulator_info(sim));
            cls_simulator_free(&sim);
            cls_system_free(&s);
        }
}

static void the_order_is_two(void **unused) {
    (void)unused;
    for (size_t i = 0; i < BUILT_IN; i++) {
        cls_system *s = load(built_in[i]);
        double order = order_of(s, "discrete-gradient", 0.02, 1);
        if (!(fabs(order - 2) <= 0.15)) fail_msg("%s: order %g", built_in[i], order);
        cls_system_free(&s);
    }
}

static double column_at_end(const cls_system *s, cls_simulator *sim, const char *name) {
    cls_error error = {0};
    double row[64];
    if (cls_simulator_row(sim, row, &error)) fail_msg("%s", error.message);
    for (size_t k = 0; k < cls_system_column_count(s); k++)
        if (strcmp(cls_system_column(s, k), name) == 0) return row[k];
    fail_msg("no column %s", name);
    return NAN;
}

/* Where nothing happens any more the potentials of both sides are equal. */
static void equilibrium_is_where_potentials_are_equal(void **unused) {
    (void)unused;
    cls_system *s = parse(SOLUTION "reaction A + B <-> 2 C on T: 0.3\n");
    cls_simulator *sim = begin(s, "discrete-gradient", 0.05);
    advance(sim, MANY(20000));
    double from = column_at_end(s, sim, "mu.A") + column_at_end(s, sim, "mu.B"),
           to = 2 * column_at_end(s, sim, "mu.C");
    if (!(fabs(from - to) <= (MANY(20) == 20 ? 1e-12 : 1e-3))) fail_msg("%g and %g", from, to);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* exp(mu/RT) of an ideal solution is N exp(h/RT): dA/dt = -k (A B - C^2 exp(-1/T)) at the start. */
static void the_rate_is_of_mass_action(void **unused) {
    (void)unused;
    cls_system *s = parse(SOLUTION "reaction A + B <-> 2 C on T: 0.3\n");
    double h = 1e-6, state[8];
    run(s, "discrete-gradient", h, h, state);
    double rate = (2 - state[0]) / h, expected = 0.3 * (2 * 1 - 0.2 * 0.2 * exp(-1.0));
    if (!(fabs(rate - expected) <= 1e-5 * expected)) fail_msg("%.12g, not %.12g", rate, expected);
    if (!(fabs((state[2] - 0.2) - 2 * (2 - state[0])) <= 1e-15)) fail_msg("2 C for each A");
    cls_system_free(&s);
}

static void what_comes_from_a_reservoir_is_counted(void **unused) {
    (void)unused;
    cls_system *s = parse(TANK);
    cls_simulator *sim = begin(s, "discrete-gradient", 0.05);
    advance(sim, MANY(20000));
    expect_laws("a tank", cls_simulator_info(sim));
    if (!(column_at_end(s, sim, "work") != 0)) fail_msg("no work was counted");
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* A substance that is used up stays positive, or the step is refused. */
static void amounts_stay_positive(void **unused) {
    (void)unused;
    static const double steps[] = {0.01, 0.3, 3};
    for (int i = 0; i < 3; i++) {
        cls_system *s = parse(SOLUTION "reaction 2 A <-> C on T: 40\nreaction 3*B <-> C on T: 7\n");
        cls_simulator *sim = begin(s, "discrete-gradient", steps[i]);
        cls_error error = {0};
        cls_status status = CLS_OK;
        for (int k = 0; k < 200 && status == CLS_OK; k++) {
            status = cls_simulator_advance(sim, 1, &error);
            const double *z = cls_simulator_state(sim);
            if (!(z[0] > 0 && z[1] > 0 && z[2] > 0)) fail_msg("%g %g %g", z[0], z[1], z[2]);
        }
        if (status != CLS_OK && status != CLS_NUMERIC) fail_msg("%s", error.message);
        expect_laws("a fast reaction", cls_simulator_info(sim));
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

static void wrong_statements_are_refused_where_they_stand(void **unused) {
    (void)unused;
    static const char *const texts[][2] = {
        {SOLUTION "diffusion A <-> A on T: 1\n", "`A` twice"},
        {SOLUTION "diffusion A <-> D on T: 1\n", "there are A, B, C"},
        {SOLUTION "diffusion A <-> B: 1\n", "expected `on`"},
        {SOLUTION "diffusion A <-> (B) on T: 1\n", "must not depend on"},
        {SOLUTION "reaction A + A <-> B on T: 1\n", "write `2 A`"},
        {SOLUTION "reaction 0 A <-> B on T: 1\n", "must be positive"},
        {SOLUTION "matter source on S: 1\n", "expected an amount"},
        {"mole A, B\nentropy S\nhamiltonian A^2 + B^2 + exp(S)\nreaction A <-> B on T: 1\n",
         "declare `parameter R"},
        {"coordinate x\nentropy S\nhamiltonian p.x^2 + exp(S)\ndiffusion x <-> x on T: 1\n",
         "declare it with `mole N`"},
        {"mole A, B with potential m\nentropy S\nhamiltonian A^2 + B^2 + exp(S)\n",
         "1 chemical potentials for 2 amounts"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cls_error error = {0};
        cls_system *s = NULL;
        assert_int_equal(cls_system_parse(texts[i][0], "test", NULL, &s, &error), CLS_SYSTEM);
        if (!strstr(error.message, texts[i][1])) fail_msg("%zu: %s", i, error.message);
    }
    /* a start outside of the domain */
    cls_error error = {0};
    cls_system *s = parse(SOLUTION "reaction A <-> B on T: 1\n");
    cls_simulator *sim;
    const double state[] = {-1, 1, 1, 0};
    assert_int_equal(cls_simulator_create(s, NULL, &sim, &error), CLS_OK);
    assert_int_equal(cls_simulator_start(sim, 0, state, &error), CLS_USAGE);
    if (!strstr(error.message, "A = -1; it must lie in (0, inf)")) fail_msg("%s", error.message);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_laws_hold_and_atoms_are_kept),
        cmocka_unit_test(the_order_is_two),
        cmocka_unit_test(equilibrium_is_where_potentials_are_equal),
        cmocka_unit_test(the_rate_is_of_mass_action),
        cmocka_unit_test(what_comes_from_a_reservoir_is_counted),
        cmocka_unit_test(amounts_stay_positive),
        cmocka_unit_test(wrong_statements_are_refused_where_they_stand),
    };
    return cmocka_run_group_tests_name("matter", tests, NULL, NULL);
}
