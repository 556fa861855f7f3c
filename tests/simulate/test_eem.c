/* eem on the thermoelastic double pendulum and on a chain: the figures of
 * docs/physics/metriplectic.md. Energy and angular momentum to round-off, entropy never falls,
 * order 2; the first steps against a reference made independently. */
#include "tests/simulate/motion.h"
#include <stdio.h>
#include <stdlib.h>

static const double dt = 0.31415926535897931; /* 2 pi / 20 */

static cls_simulate_info watched(const cls_system *s, const char *scheme, double h, uint64_t n) {
    static cls_invariant_info kept[8];
    cls_simulator *sim = begin(s, scheme, h);
    advance(sim, n);
    cls_simulate_info info = cls_simulator_info(sim);
    memcpy(kept, info.invariants, info.n_invariants * sizeof *kept);
    info.invariants = kept;
    cls_simulator_free(&sim);
    return info;
}

static void laws(const cls_system *s, double h, uint64_t steps) {
    cls_simulate_info info = watched(s, "eem", h, steps);
    if (!(info.energy_relative <= 1e-14)) fail_msg("h=%g: |dE|/|E| = %g", h, info.energy_relative);
    assert_int_equal(info.entropy_falls, 0);
    assert_int_equal(info.n_invariants, 1);
    if (!(info.invariants[0].max_error <= 1e-12))
        fail_msg("h=%g: |dJ| = %g", h, info.invariants[0].max_error);
}

static void laws_of_the_pendulum(void **unused) {
    (void)unused;
    cls_system *s = load("thermoelastic-double-pendulum");
    for (double h = dt; h > dt / 10; h /= 2) laws(s, h, 320);
    cls_system_free(&s);
}

static void laws_of_a_chain(void **unused) {
    (void)unused;
    cls_system *s = load(CLSI_SOURCE_DIR "/examples/systems/thermoelastic-chain.clausius");
    for (double h = 0.05; h < 0.5; h *= 2) laws(s, h, 200);
    cls_system_free(&s);
}

/* Largest error of the state over the first period, against CVODE. */
static double error_in_a_period(const cls_system *s, const char *scheme, int parts) {
    cls_simulator *a = begin(s, scheme, dt / parts), *b = begin(s, "bdf", dt);
    double worst = 0;
    for (int k = 0; k < 20; k++) {
        advance(a, (uint64_t)parts);
        advance(b, 1);
        for (size_t i = 0; i < cls_system_state_count(s); i++)
            worst = fmax(worst, fabs(cls_simulator_state(a)[i] - cls_simulator_state(b)[i]));
    }
    cls_simulator_free(&a);
    cls_simulator_free(&b);
    return worst;
}

static void order_two_with_the_published_errors(void **unused) {
    (void)unused;
    static const double want[] = {.798, .205, .0516, .0129};
    cls_system *s = load("thermoelastic-double-pendulum");
    double before = NAN;
    for (int k = 0; k < 4; k++) {
        double error = error_in_a_period(s, "eem", 1 << k);
        if (!(fabs(error - want[k]) < 0.006 * want[k]))
            fail_msg("dt/%d: error %g, expected %g", 1 << k, error, want[k]);
        if (k == 3 && !(fabs(log2(before / error) - 2) < 0.01))
            fail_msg("order %g", log2(before / error));
        before = error;
    }
    cls_system_free(&s);
}

static void midpoint_loses_energy(void **unused) {
    (void)unused;
    cls_system *s = load("thermoelastic-double-pendulum");
    cls_simulate_info info = watched(s, "implicit-midpoint", dt, 320);
    assert_true(info.energy_max_error > 0.4 && info.energy_max_error < 0.7); /* .53 */
    cls_system_free(&s);
}

static void follows_the_reference(void **unused) {
    (void)unused;
    FILE *file = fopen(CLSI_SOURCE_DIR "/tests/reference/dp_eem_true_h_dt.csv", "r");
    assert_non_null(file);
    cls_system *s = load("thermoelastic-double-pendulum");
    cls_simulator *sim = begin(s, "eem", dt);
    char line[1024];
    int rows = 0;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#') continue;
        if (rows++) advance(sim, 1);
        char *at = line;
        assert_true(fabs(strtod(at, &at) - cls_simulator_time(sim)) < 1e-12);
        for (size_t i = 0; i < 10; i++) {
            double want = strtod(at + 1, &at), got = cls_simulator_state(sim)[i];
            if (!(fabs(got - want) < 2e-13)) fail_msg("row %d, state %zu: %g", rows, i, got - want);
        }
    }
    assert_int_equal(rows, 21);
    fclose(file);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

#define BODY                                                                                       \
    "coordinate x, y\nentropy s_a, s_b\nparameter k = 0.5, c = 2\n"                                \
    "energy E = (p.x^2 + p.y^2)/2 + 1/sqrt(x^2 + y^2) + (x^2 + y^2)/2\n"                           \
    "  + 3*c*exp(s_a/c) + 3*c*exp(s_b/c)*(1 + 0.1*(x^2 + y^2))\n"                                  \
    "invariant J = x*p.y - y*p.x\n"                                                                \
    "start x = 1, y = 0.3, p.x = 0, p.y = 0.5, s_a = 1, s_b = -0.5\n"

/* M by form, in temperatures, and in entropies and positions, where it has to be projected. */
static const char *const writings[] = {
    BODY "heat exchange M theta_a <-> theta_b: k\n",
    BODY "dissipation M = k/(theta_a*theta_b): s_a <- theta_b, s_b <- -theta_a\n",
    BODY "friction operator M: {s_a, s_a} = k*theta_b/theta_a, {s_a, s_b} = -k,\n"
         "  {s_b, s_b} = k*theta_a/theta_b\n",
    BODY "let r = exp((s_b - s_a)/c)*(1 + 0.1*(x^2 + y^2))\n"
         "friction operator M: {s_a, s_a} = k*r, {s_b, s_a} = -k, {s_b, s_b} = k/r\n",
};

static void operators_keep_the_laws_however_written(void **unused) {
    (void)unused;
    for (int i = 0; i < 4; i++) {
        cls_system *s = parse(writings[i]);
        for (double h = 0.02; h < 0.5; h *= 2) laws(s, h, 400);
        double order = order_of(s, "eem", 0.02, 2);
        if (!(fabs(order - 2) < 0.05)) fail_msg("writing %d has order %g", i, order);
        cls_system_free(&s);
    }
}

static void writings_of_one_operator_move_alike(void **unused) {
    (void)unused;
    double first[6], other[6];
    for (int i = 0; i < 4; i++) {
        cls_system *s = parse(writings[i]);
        run(s, i < 3 ? "eem" : "bdf", 0.05, 2, i ? other : first);
        if (i == 3) { /* the projected one is another step of order 2: the same flow */
            cls_system *plain = parse(writings[0]);
            run(plain, "bdf", 0.05, 2, first);
            cls_system_free(&plain);
        }
        for (int k = 0; i && k < 6; k++) assert_true(fabs(first[k] - other[k]) < 1e-11);
        cls_system_free(&s);
    }
}

/* kappa w w^T with w = (T on p, -v on S) is the friction -kappa T v. */
static void friction_is_a_dissipation(void **unused) {
    (void)unused;
    double first[6], other[6];
    cls_system *a = parse(BODY "friction on s_a: x <- -0.3*v.x, y <- -0.3*v.y\n");
    cls_system *b = parse(BODY "dissipation 0.3/theta_a: p.x <- theta_a, s_a <- -v.x\n"
                               "dissipation 0.3/theta_a: y <- theta_a, s_a <- -v.y\n");
    run(a, "eem", 0.05, 3, first);
    run(b, "eem", 0.05, 3, other);
    for (int k = 0; k < 6; k++) assert_true(fabs(first[k] - other[k]) < 1e-12);
    cls_system_free(&a);
    cls_system_free(&b);
}

static void expect_mistake(const char *text, const char *words) {
    cls_error error = {0};
    cls_system *s;
    assert_int_equal(cls_system_parse(text, "test", NULL, &s, &error), CLS_SYSTEM);
    assert_null(s);
    if (!strstr(error.message, words)) fail_msg("'%s' lacks '%s'", error.message, words);
}

static void degeneracy_is_checked_at_states(void **unused) {
    (void)unused;
    expect_mistake(BODY "friction operator M: {s_a, s_a} = k, {s_a, s_b} = -k, {s_b, s_b} = k\n",
                   "M dE = 0 fails in the row of `s_a` by");
    expect_mistake(BODY "friction operator M: {s_a, s_a} = k, {s_a, s_b} = -k, {s_b, s_b} = k\n",
                   "s_b = ");
    expect_mistake(BODY "dissipation k: s_a <- theta_b, s_b <- theta_a\n", "M dE = 0 fails");
    expect_mistake(BODY "dissipation k s_a <- theta_b\n", "a colon");
    expect_mistake(BODY "dissipation k: x_a <- theta_b\n", "expected a momentum or an entropy");
    expect_mistake(BODY "friction operator M: {s_a} = k\n", "`,`");
    expect_mistake(BODY "poisson {s_a, p.x} = 1\n", "L dS = 0");
    expect_mistake("coordinate x in (0, inf)\nmomentum U with velocity e_U\n"
                   "energy E = p.x^2/2 + U\ntotal entropy = log(U) + log(x)\n"
                   "poisson {p.x, U} = 2*U/x\nstart x = 1, p.x = 0, U = 2\n",
                   "L dS = 0 fails in the row of `p.x` by");
    expect_mistake("momentum U with velocity e\nenergy E = U\ndissipation 1: U <- 0\n"
                   "start U = 1\n",
                   "total entropy");
}

/* Internal energies as states: dS is a gradient, not 1. The first has brackets that change U; they
 * make no entropy only with the exact gradient, so that the scheme has to project them. */
static const char *const by_energies[] = {
    "coordinate x in (0, inf)\nmomentum U with velocity e_U\n"
    "parameter c = 1.5, R = 1, g = 0.2\n"
    "energy E = p.x^2/2 + x + U\ntotal entropy = c*log(U) + R*log(x)\n"
    "poisson {p.x, U} = R*U/(c*x)\ndissipation g*U/c: p.x <- e_U, U <- -v.x\n"
    "start x = 1, p.x = 0.3, U = 2\n",
    "momentum U1, U2 with velocity e1, e2\nenergy E = U1 + U2\n"
    "total entropy = log(U1) + 2*log(U2)\ndissipation 0.3*U1*U2: U1 <- e2, U2 <- -e1\n"
    "start U1 = 2, U2 = 1\n",
    "momentum U1, U2 with velocity e1, e2\nenergy E = U1 + U2 + 0.1*U1*U2\n"
    "total entropy = log(U1) + 2*log(U2)\n"
    "friction operator M: {U1, U1} = (1 + 0.1*U1)^2, {U2, U2} = (1 + 0.1*U2)^2,\n"
    "  {U1, U2} = -(1 + 0.1*U1)*(1 + 0.1*U2)\nstart U1 = 2, U2 = 1\n",
};

static void total_entropies_keep_the_laws(void **unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        cls_system *s = parse(by_energies[i]);
        for (double h = 0.01; h < 0.4; h *= 2) {
            cls_simulate_info info = watched(s, "eem", h, 500);
            if (!(info.energy_relative <= 1e-13))
                fail_msg("%d, h=%g: |dE|/|E| = %g", i, h, info.energy_relative);
            if (info.entropy_falls)
                fail_msg("%d, h=%g: smallest step %g", i, h, info.entropy_min_step);
            assert_true(info.entropy_final > info.entropy_initial + 1e-3);
        }
        double order = order_of(s, "eem", 0.05, 1);
        if (!(fabs(order - 2) < 0.05)) fail_msg("%d has order %g", i, order);
        cls_system_free(&s);
    }
}

/* A gas by (x, p, S) and by (x, p, U) moves alike. */
static void energies_and_entropies_agree(void **unused) {
    (void)unused;
    double a[3], b[3];
    cls_system *U = parse(by_energies[0]);
    cls_system *S = parse("coordinate x in (0, inf)\nentropy S\n"
                          "hamiltonian p.x^2/2 + x + exp((S - log(x))/1.5)\n"
                          "friction on S: x <- -0.2*v.x\n"
                          "start x = 1, p.x = 0.3, S = 1.5*log(2)\n");
    run(U, "bdf", 0.1, 3, a);
    run(S, "bdf", 0.1, 3, b);
    assert_true(fabs(a[0] - b[0]) < 1e-10 && fabs(a[1] - b[1]) < 1e-10);
    assert_true(fabs(1.5 * log(a[2]) + log(a[0]) - b[2]) < 1e-10);
    cls_system_free(&U);
    cls_system_free(&S);
}

static void refuses_observables(void **unused) {
    (void)unused;
    cls_error error;
    cls_system *s = load("adiabatic-piston");
    assert_int_equal(cls_scheme_applies("eem", s, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "discrete-gradient"));
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_of_the_pendulum),
        cmocka_unit_test(laws_of_a_chain),
        cmocka_unit_test(order_two_with_the_published_errors),
        cmocka_unit_test(midpoint_loses_energy),
        cmocka_unit_test(follows_the_reference),
        cmocka_unit_test(operators_keep_the_laws_however_written),
        cmocka_unit_test(writings_of_one_operator_move_alike),
        cmocka_unit_test(friction_is_a_dissipation),
        cmocka_unit_test(degeneracy_is_checked_at_states),
        cmocka_unit_test(total_entropies_keep_the_laws),
        cmocka_unit_test(energies_and_entropies_agree),
        cmocka_unit_test(refuses_observables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
