/* DTEL, Theorem 12: what a step does to omega = dq ^ dp on the states (q, p, S).
 *
 * The discrete Legendre maps p-(q0, q1, S0) and p+(q0, q1, S0) give omega- = dq0 ^ dp- and
 * omega+ = dq1 ^ dp+, and the theorem says Phi* omega- = omega+. Seen from (q0, p0, S0) that is
 * the tangent map J of a step (cls_steps_back): row q ^ row p of J is omega+ with q1 taken from
 * p- = p0. Here p- and p+ are written by hand and differentiated by a complex step, so that what
 * judges shares nothing with the library. The second claim, Phi* omega+ = omega-, is wrong with
 * friction (docs/physics/dtel.md, E4), and so is that omega+ has no dS: both are shown. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <clausius/simulate.h>
#include <clausius/steps.h>
#include <clausius/system.h>
#include <complex.h>
#include <math.h>
#include <string.h>

enum { AT_Q, AT_P, AT_S, NZ };
static const double friction = 0.1, h = 0.1;
typedef double complex number;

/* ---- the Legendre maps by hand ---- */

typedef struct gas {
    const char *system;
    number (*U)(number q, number S), (*U_q)(number q, number S);
    number (*S1)(number q0, number q1, number S0, number heat); /* of discrete-gradient */
    double start[NZ];
} gas;

static number oscillator_U(number q, number S) {
    return q * q / 2 + friction * S;
}
static number oscillator_U_q(number q, number S) {
    (void)S;
    return q;
}
static number oscillator_S1(number q0, number q1, number S0, number heat) {
    (void)q0, (void)q1;
    return S0 + heat / friction;
}
static number ideal_U(number q, number S) {
    return cexp(S) * cpow(q, -2.0 / 3);
}
static number ideal_U_q(number q, number S) {
    return -2.0 / 3 * cexp(S) * cpow(q, -5.0 / 3);
}
/* U(q0, S1) + U(q1, S1) = U(q0, S0) + U(q1, S0) + 2 heat */
static number ideal_S1(number q0, number q1, number S0, number heat) {
    number f = cpow(q0, -2.0 / 3) + cpow(q1, -2.0 / 3);
    return clog(cexp(S0) + 2 * heat / f);
}

static const gas oscillator = {
    "damped-oscillator", oscillator_U, oscillator_U_q, oscillator_S1, {0.3, 0.9, 0.2}};
static const gas ideal = {"ideal-gas-piston", ideal_U, ideal_U_q, ideal_S1, {1.2, 2.0, 0.7}};

/* p- (sign 1) or p+ (sign -1) at x = (q0, q1, S0): v +- (h/2)(the force against v). */
static number legendre(const gas *g, int ours, int sign, const number x[3]) {
    number v = (x[1] - x[0]) / h, slope;
    if (ours) {
        number S1 = g->S1(x[0], x[1], x[2], h * friction * v * v);
        slope = (g->U(x[1], x[2]) - g->U(x[0], x[2]) + g->U(x[1], S1) - g->U(x[0], S1)) /
                (2 * (x[1] - x[0]));
    } else {
        slope = g->U_q((x[0] + x[1]) / 2, x[2]);
    }
    return v + sign * h / 2 * (slope + friction * v);
}

static void gradient(const gas *g, int ours, int sign, const double at[3], double out[3]) {
    for (int k = 0; k < 3; k++) {
        number x[3] = {at[0], at[1], at[2]};
        x[k] += 1e-30 * I;
        out[k] = cimag(legendre(g, ours, sign, x)) / 1e-30;
    }
}

/* ---- the step ---- */

static void step(const gas *g, const char *scheme, const double *z, double *next,
                 double J[NZ][NZ]) {
    static const char *const names[] = {"gamma"};
    const cls_assignments set = {1, names, &friction};
    cls_system *s = NULL;
    cls_steps *steps = NULL;
    assert_int_equal(cls_system_load(g->system, &set, &s, NULL), CLS_OK);
    assert_int_equal(cls_steps_create(s, NULL, scheme, &steps, NULL), CLS_OK);
    assert_int_equal(cls_steps_count(steps), NZ);
    assert_string_equal(cls_system_state_name(s, AT_S), "S");
    assert_int_equal(cls_steps_make(steps, NULL, 1, 0, h, z, 1, next, NULL), CLS_OK);
    for (int k = 0; k < NZ; k++) {
        double seed[NZ] = {0};
        seed[k] = 1;
        assert_int_equal(cls_steps_back(steps, NULL, 1, 0, h, z, seed, 1, J[k], NULL, NULL),
                         CLS_OK);
    }
    cls_steps_free(&steps);
    cls_system_free(&s);
}

/* Components (q, p), (q, S), (p, S) of a ^ b. */
static void wedge(const double a[NZ], const double b[NZ], double out[3]) {
    out[0] = a[AT_Q] * b[AT_P] - a[AT_P] * b[AT_Q];
    out[1] = a[AT_Q] * b[AT_S] - a[AT_S] * b[AT_Q];
    out[2] = a[AT_P] * b[AT_S] - a[AT_S] * b[AT_P];
}

/* omega+ on (q0, p0, S0), from the Legendre maps alone. */
static void omega_plus(const gas *g, int ours, const double *z, double q1, double out[3]) {
    const double at[3] = {z[AT_Q], q1, z[AT_S]};
    double minus[3], plus[3];
    gradient(g, ours, 1, at, minus);
    gradient(g, ours, -1, at, plus);
    const double dq1[NZ] = {-minus[0] / minus[1], 1 / minus[1], -minus[2] / minus[1]};
    const double dp[NZ] = {plus[0] + plus[1] * dq1[AT_Q], plus[1] * dq1[AT_P],
                           plus[2] + plus[1] * dq1[AT_S]};
    wedge(dq1, dp, out);
}

static void check(const gas *g, const char *scheme, int ours) {
    double z[NZ], next[NZ], J[NZ][NZ], from_step[3], from_maps[3];
    memcpy(z, g->start, sizeof z);
    for (int k = 0; k < 20; k++) {
        step(g, scheme, z, next, J);
        const number x[3] = {z[AT_Q], next[AT_Q], z[AT_S]};
        double minus = creal(legendre(g, ours, 1, x)), plus = creal(legendre(g, ours, -1, x));
        assert_true(fabs(minus - z[AT_P]) < 1e-13 * (1 + fabs(z[AT_P])));
        assert_true(fabs(plus - next[AT_P]) < 1e-13 * (1 + fabs(z[AT_P])));
        wedge(J[AT_Q], J[AT_P], from_step);
        omega_plus(g, ours, z, next[AT_Q], from_maps);
        for (int i = 0; i < 3; i++) assert_true(fabs(from_step[i] - from_maps[i]) < 1e-13);
        memcpy(z, next, sizeof z);
    }
}

static void test_first_claim(void **state) {
    (void)state;
    check(&oscillator, "dtel", 0);
    check(&ideal, "dtel", 0);
    check(&oscillator, "discrete-gradient", 1);
    check(&ideal, "discrete-gradient", 1);
}

/* With friction a step of the oscillator shrinks areas by the same factor everywhere: Phi* omega+
 * is its square times omega-, 0.980247, and not omega-. */
static void test_second_claim_is_wrong(void **state) {
    static const char *const schemes[] = {"dtel", "discrete-gradient"};
    double c = 1 + h * h / 4, factor = (c - h * friction / 2) / (c + h * friction / 2);
    (void)state;
    for (int k = 0; k < 2; k++) {
        double one[NZ], two[NZ], J1[NZ][NZ], J2[NZ][NZ], both[2][NZ] = {{0}}, area[3];
        step(&oscillator, schemes[k], oscillator.start, one, J1);
        step(&oscillator, schemes[k], one, two, J2);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < NZ; j++)
                for (int m = 0; m < NZ; m++) both[i][j] += J2[i][m] * J1[m][j];
        wedge(both[AT_Q], both[AT_P], area);
        assert_true(fabs(area[0] - factor * factor) < 1e-14);
        assert_true(fabs(area[0] - 0.980247) < 5e-7);
    }
}

/* The entropy takes part wherever the force depends on it: omega+ of a gas has a part with dS. */
static void test_entropy_takes_part(void **state) {
    double next[NZ], J[NZ][NZ], area[3];
    (void)state;
    step(&ideal, "dtel", ideal.start, next, J);
    wedge(J[AT_Q], J[AT_P], area);
    assert_true(fabs(area[1]) > 1e-3);
    step(&oscillator, "dtel", oscillator.start, next, J);
    wedge(J[AT_Q], J[AT_P], area);
    assert_true(fabs(area[1]) < 1e-15 && fabs(area[2]) < 1e-15);
}

/* The library's Legendre maps are the formulas above, from positions and entropy alone. */
static void test_legendre_maps(void **state) {
    static const gas *const gases[] = {&oscillator, &ideal};
    static const char *const schemes[] = {"dtel", "discrete-gradient"}, *const names[] = {"gamma"};
    const cls_assignments set = {1, names, &friction};
    (void)state;
    for (int k = 0; k < 4; k++) {
        const gas *g = gases[k / 2];
        cls_system *s = NULL;
        cls_simulator *sim = NULL;
        cls_simulate_options o = cls_simulate_defaults();
        o.scheme = schemes[k % 2];
        o.h = h;
        assert_int_equal(cls_system_load(g->system, &set, &s, NULL), CLS_OK);
        assert_int_equal(cls_simulator_create(s, &o, &sim, NULL), CLS_OK);
        for (int i = 1; i < 8; i++) { /* any two positions, not those of a motion */
            double z[8] = {g->start[AT_Q], 1e3, g->start[AT_S]};
            double q1 = z[AT_Q] + 0.03 * i * (i % 2 ? 1 : -1), minus = 0, plus = 0;
            const number x[3] = {z[AT_Q], q1, z[AT_S]};
            assert_int_equal(cls_simulator_legendre(sim, 0, z, &q1, &minus, &plus, NULL), CLS_OK);
            assert_true(fabs(minus - creal(legendre(g, k % 2, 1, x))) < 1e-12);
            assert_true(fabs(plus - creal(legendre(g, k % 2, -1, x))) < 1e-12);
            assert_true(z[AT_P] == 1e3); /* not looked at */
        }
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_legendre_maps),
        cmocka_unit_test(test_first_claim),
        cmocka_unit_test(test_second_claim_is_wrong),
        cmocka_unit_test(test_entropy_takes_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
