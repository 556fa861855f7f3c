/* The rigid body: the figures of docs/physics/vnots.md for cayley and discrete-gradient, what is
 * exact (energy, |mu|, |M|, T, length of the attitude), orders, gravity and motors. */
#include "tests/simulate/motion.h"

static cls_system *without_friction(void) {
    cls_system *s;
    cls_error error;
    const char *const names[] = {"nu0", "nu1"};
    const double zero[] = {0, 0};
    cls_assignments set = {2, names, zero};
    if (cls_system_load("rigid-body", &set, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    return s;
}

/* Columns: time, Omega1 .. 3, T, mu1 .. 3, S, energy, entropy. */
enum { OMEGA = 1, TEMPERATURE = 4, MU = 5, COLUMNS = 11 };

static void row_of(cls_simulator *sim, const cls_system *s, double row[COLUMNS]) {
    assert_int_equal(cls_system_column_count(s), COLUMNS);
    assert_int_equal(cls_simulator_row(sim, row, NULL), CLS_OK);
}

static double length(const double *a) {
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

/* |mu + (h/2) Omega x mu + (h^2/4)(Omega.mu) Omega| */
static double transported_length(const double *row, double h) {
    const double *o = row + OMEGA, *m = row + MU;
    double along = o[0] * m[0] + o[1] * m[1] + o[2] * m[2], M[3];
    for (int a = 0; a < 3; a++) {
        int j = (a + 1) % 3, k = (a + 2) % 3;
        M[a] = m[a] + h / 2 * (o[j] * m[k] - o[k] * m[j]) + h * h / 4 * along * o[a];
    }
    return length(M);
}

static void kept_without_friction(void **unused) {
    (void)unused;
    cls_system *s = without_friction();
    const double h = 0.1;
    double row[COLUMNS], mu0, M0, worst_mu = 0, worst_M = 0, cayley_mu = 0;
    cls_simulator *exact = begin(s, "discrete-gradient", h), *cayley = begin(s, "cayley", h);
    row_of(exact, s, row);
    mu0 = length(row + MU);
    M0 = transported_length(row, h);
    for (uint64_t k = 0; k < MANY(20000); k++) {
        advance(exact, 1);
        row_of(exact, s, row);
        worst_mu = fmax(worst_mu, fabs(length(row + MU) - mu0));
        advance(cayley, 1);
        row_of(cayley, s, row);
        worst_M = fmax(worst_M, fabs(transported_length(row, h) - M0));
        cayley_mu = fmax(cayley_mu, fabs(length(row + MU) - mu0));
    }
    print_message("|mu| %g, |M| of cayley %g (its |mu| %g)\n", worst_mu, worst_M, cayley_mu);
    assert_true(worst_mu < 5e-15); /* rounding does not add up */
    assert_true(worst_M < 1e-13);
    assert_true(cayley_mu > 1e-5 && cayley_mu < 1e-4); /* O(h^2), bounded */
    assert_true(cls_simulator_info(exact).energy_relative < 1e-13);
    assert_true(cls_simulator_info(cayley).energy_relative < 1e-4);
    cls_simulator_free(&exact);
    cls_simulator_free(&cayley);
    cls_system_free(&s);
}

/* Mean absolute errors of Omega and T over `steps` steps of 0.1. */
static cls_simulate_info errors(const cls_system *s, const char *scheme, uint64_t steps,
                                double *omega, double *T) {
    cls_simulator *sim = begin(s, scheme, 0.1), *reference = begin(s, "bdf", 0.1);
    double row[COLUMNS], truth[COLUMNS];
    *omega = *T = 0;
    for (uint64_t k = 0; k < steps; k++) {
        advance(sim, 1);
        advance(reference, 1);
        row_of(sim, s, row);
        row_of(reference, s, truth);
        for (int i = 0; i < 3; i++) *omega += fabs(row[OMEGA + i] - truth[OMEGA + i]) / 3;
        *T += fabs(row[TEMPERATURE] - truth[TEMPERATURE]);
    }
    *omega /= (double)steps;
    *T /= (double)steps;
    cls_simulate_info info = cls_simulator_info(sim);
    cls_simulator_free(&sim);
    cls_simulator_free(&reference);
    return info;
}

/* vnots.md, 20,000 steps of h = 0.1: cayley 3.8e-5, 8.2e-4, energy 8.4e-4; symmetric 2.5e-5,
 * 3.8e-4, 3.8e-4; midpoint in observables 2.1e-6 on the mean of the four. */
static void published_errors(void **unused) {
    (void)unused;
    cls_system *s = load("rigid-body");
    const struct {
        const char *scheme;
        double omega, T, energy;
    } rows[] = {{"cayley", 3.8e-5, 8.2e-4, 8.4e-4}, {"cayley-symmetric", 2.5e-5, 3.8e-4, 3.8e-4}};
    for (int i = 0; i < 2 && MANY(20000) == 20000; i++) {
        double omega, T;
        cls_simulate_info info = errors(s, rows[i].scheme, 20000, &omega, &T);
        print_message("%s: Omega %.3g, T %.3g, energy %.3g\n", rows[i].scheme, omega, T,
                      info.energy_max_error);
        assert_true(fabs(omega - rows[i].omega) < 0.06 * rows[i].omega);
        assert_true(fabs(T - rows[i].T) < 0.03 * rows[i].T);
        assert_true(fabs(info.energy_max_error - rows[i].energy) < 0.03 * rows[i].energy);
        assert_int_equal(info.entropy_falls, 0);
    }
    double omega, T;
    cls_simulate_info info = errors(s, "discrete-gradient", MANY(20000), &omega, &T);
    print_message("discrete-gradient: Omega %.3g, T %.3g, energy %.3g\n", omega, T,
                  info.energy_max_error);
    assert_true(T < 1e-13 && info.energy_relative < 1e-13 && info.entropy_falls == 0);
    if (MANY(20000) == 20000) assert_true((3 * omega + T) / 4 < 2.1e-6);
    cls_system_free(&s);
}

static void orders(void **unused) {
    (void)unused;
    cls_system *s = load("rigid-body");
    double published = order_of(s, "cayley", 0.01, 5);
    double symmetric = order_of(s, "cayley-symmetric", 0.05, 5);
    double exact = order_of(s, "discrete-gradient", 0.05, 5);
    print_message("orders: cayley %.3f, cayley-symmetric %.3f, discrete-gradient %.3f\n", published,
                  symmetric, exact);
    assert_true(published > 0.9 && published < 2);
    assert_true(fabs(symmetric - 2) < 0.02);
    assert_true(fabs(exact - 2) < 0.02);
    cls_system_free(&s);
}

static void far_from_the_data(void **unused) {
    (void)unused;
    cls_system *s = load("rigid-body");
    const char *const names[] = {"mu1", "mu2", "mu3"};
    const double mu[] = {-0.5, 1, sqrt(2.75)}; /* |mu| = 2 */
    cls_assignments given = {3, names, mu};
    double state[4];
    cls_error error;
    if (cls_system_start(s, &given, state, &error) != CLS_OK) fail_msg("%s", error.message);
    cls_simulator *sim = begin(s, NULL, 0.1);
    assert_int_equal(cls_simulator_start(sim, 0, state, NULL), CLS_OK);
    advance(sim, MANY(20000));
    cls_simulate_info info = cls_simulator_info(sim);
    assert_true(info.energy_relative < 1e-13);
    assert_int_equal(info.entropy_falls, 0);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

#define TOP                                                                                        \
    "rigid body m1, m2, m3 with velocity w1, w2, w3\nvertical g1, g2, g3\nattitude e0, e1, e2, "   \
    "e3\nhamiltonian m1^2/2 + m2^2/2.4 + m3^2/0.8 + g3\n"                                          \
    "start m1 = 0.1, m2 = 0, m3 = 1.5, g1 = 0, g2 = 0.6, g3 = 0.8\n"

/* A spinning top that falls over and rises again for 100,000 steps. */
static void directions_keep_their_length(void **unused) {
    (void)unused;
    cls_system *s = parse(TOP "invariant v = m1*g1 + m2*g2 + m3*g3\n");
    const char *const schemes[] = {"discrete-gradient", "cayley-symmetric", "rk4"};
    for (int k = 0; k < 3; k++) {
        cls_simulator *sim = begin(s, schemes[k], 0.05);
        double worst = 0;
        for (uint64_t i = 0; i < MANY(100000); i++) {
            advance(sim, 1);
            const double *g = cls_simulator_state(sim), *e = g + 3;
            worst = fmax(worst, fabs(length(g) - 1));
            worst =
                fmax(worst, fabs(sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]) - 1));
        }
        assert_true(worst <= 4.5e-16);
        cls_simulate_info info = cls_simulator_info(sim);
        print_message("%s: length %g, energy %g, vertical momentum %g\n", schemes[k], worst,
                      info.energy_relative, info.invariants[0].max_error);
        if (k == 0) assert_true(info.energy_relative < 1e-13);
        if (k == 0) assert_true(info.invariants[0].max_error < 1e-12);
        cls_simulator_free(&sim);
    }
    cls_system_free(&s);
}

/* Stopping and going on gives the same bits: the length is not corrected twice. */
static void going_on_keeps_the_bits(void **unused) {
    (void)unused;
    cls_system *s = parse(TOP);
    double half[16], whole[16];
    cls_simulator *a = begin(s, "rk4", 0.05), *b = begin(s, "rk4", 0.05);
    advance(a, 1000);
    memcpy(whole, cls_simulator_state(a), 10 * sizeof(double));
    for (int i = 0; i < 1000; i++) {
        advance(b, 1);
        memcpy(half, cls_simulator_state(b), 10 * sizeof(double));
        assert_int_equal(cls_simulator_start(b, 0, half, NULL), CLS_OK);
    }
    assert_memory_equal(whole, cls_simulator_state(b), 10 * sizeof(double));
    cls_simulator_free(&a);
    cls_simulator_free(&b);
    cls_system_free(&s);
}

/* A motor turns the body up: energy minus work is constant. */
static void motor(void **unused) {
    (void)unused;
    cls_system *s = parse("rigid body m1, m2, m3 with velocity w1, w2, w3\nentropy S\n"
                          "hamiltonian m1^2/2 + m2^2/4 + m3^2/6 + exp(S)\n"
                          "friction f on S: m1 <- -0.1*w1, m2 <- -0.1*w2, m3 <- -0.1*w3\n"
                          "external force motor: m3 <- 0.5 + 0.2*sin(t)\n"
                          "start m1 = 0.1, m2 = 0.2, m3 = 0.3, S = 0\n");
    cls_simulator *sim = begin(s, NULL, 0.1);
    advance(sim, 1000);
    assert_true(cls_simulator_state(sim)[2] > 1);
    double row[16];
    assert_int_equal(cls_simulator_row(sim, row, NULL), CLS_OK);
    double grown = row[cls_system_column_count(s) - 3]; /* energy, entropy, work */
    assert_true(grown > 10);
    assert_true(cls_simulator_info(sim).energy_max_error < 1e-13 * grown);
    assert_int_equal(cls_simulator_info(sim).entropy_falls, 0);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

static void cayley_is_for_bodies(void **unused) {
    (void)unused;
    cls_error error;
    cls_system *s = load("adiabatic-piston");
    assert_int_equal(cls_scheme_applies("cayley", s, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "SO(3)"));
    cls_system_free(&s);
    s = parse("momentum a, b, c, d, e, f\nalgebra se(3) on a, b, c, d, e, f\n"
              "hamiltonian a^2 + b^2 + c^2 + d^2 + e^2 + f^2\n");
    assert_int_equal(cls_scheme_applies("cayley-symmetric", s, &error), CLS_USAGE);
    assert_int_equal(cls_scheme_applies("discrete-gradient", s, &error), CLS_OK);
    cls_system_free(&s);
    s = parse("momentum a, b, c\nalgebra so(3) on c, a, b\nhamiltonian a^2 + b^2 + c^2\n");
    assert_int_equal(cls_scheme_applies("cayley", s, &error), CLS_OK);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_without_friction),
        cmocka_unit_test(published_errors),
        cmocka_unit_test(orders),
        cmocka_unit_test(far_from_the_data),
        cmocka_unit_test(directions_keep_their_length),
        cmocka_unit_test(going_on_keeps_the_bits),
        cmocka_unit_test(motor),
        cmocka_unit_test(cayley_is_for_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
