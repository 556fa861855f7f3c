/* Rates are the limit of steps, and derivatives of steps and of whole trajectories are those of
 * differences; a block of states has the bits of each state alone, for any number of threads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <clausius/flow.h>
#include <clausius/simulate.h>
#include <clausius/steps.h>
#include <clausius/system.h>
#include <math.h>
#include <string.h>

enum { NZ = 4, N = 37 }; /* N is no multiple of the lanes */

static cls_system *piston(void) {
    cls_system *s = NULL;
    assert_int_equal(cls_system_load("adiabatic-piston", NULL, &s, NULL), CLS_OK);
    return s;
}

static void fill(double *states) {
    for (size_t i = 0; i < N; i++) {
        double a = (double)i / N;
        const double z[NZ] = {a - 0.5, 0.7 * sin(5 * a), 0.6 + a, 1.4 - a};
        memcpy(states + i * NZ, z, sizeof z);
    }
}

static void test_rates(void **state) {
    (void)state;
    cls_system *s = piston();
    cls_flow *flow = NULL;
    double z[N * NZ], rates[N * NZ], alone[NZ], jacobian[N * NZ * NZ], energy[N], row[16];
    fill(z);
    assert_int_equal(cls_flow_create(s, &flow, NULL), CLS_OK);
    assert_int_equal(cls_flow_rates(flow, N, NZ, z, NULL, 2, rates, jacobian, NULL), CLS_OK);
    assert_int_equal(cls_flow_laws(flow, N, NZ, z, NULL, 2, energy, NULL, NULL), CLS_OK);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(cls_flow_rates(flow, 1, NZ, z + i * NZ, NULL, 1, alone, NULL, NULL),
                         CLS_OK);
        assert_memory_equal(alone, rates + i * NZ, sizeof alone);
        assert_int_equal(cls_system_row(s, 0, z + i * NZ, row, NULL), CLS_OK);
        assert_true(row[8] == energy[i]);
        for (size_t j = 0; j < NZ; j++) { /* column j of the Jacobian by differences */
            double up[NZ], low[NZ], at[NZ];
            memcpy(at, z + i * NZ, sizeof at);
            at[j] += 1e-6;
            (void)cls_flow_rates(flow, 1, NZ, at, NULL, 1, up, NULL, NULL);
            at[j] -= 2e-6;
            (void)cls_flow_rates(flow, 1, NZ, at, NULL, 1, low, NULL, NULL);
            for (size_t k = 0; k < NZ; k++)
                assert_true(fabs(jacobian[(i * NZ + k) * NZ + j] - (up[k] - low[k]) / 2e-6) < 1e-7);
        }
    }
    double few[N * NZ], same[N * NZ * NZ];
    cls_flow_work *work = NULL;
    assert_int_equal(cls_flow_work_create(flow, &work, NULL), CLS_OK);
    for (int again = 0; again < 2; again++)
        assert_int_equal(cls_flow_rates_in(flow, work, N, NZ, z, NULL, few, same, NULL), CLS_OK);
    assert_memory_equal(few, rates, sizeof few);
    assert_memory_equal(same, jacobian, sizeof same);
    cls_flow_work_free(&work);
    cls_flow_work_free(&work);
    cls_flow_free(&flow);
    cls_system_free(&s);
}

/* Velocities that a mass matrix couples: two are solved by formulas, three by factors, state by
 * state; without an inverse there is no number. */
static void test_coupled(void **state) {
    (void)state;
    static const char *const text[] = {
        "coordinate a\ncoordinate b\n"
        "lagrangian L = v.a^2 + v.a*v.b/2 + v.b^2 + (v.a^2 + v.b^2)^2/8 + cos(a) + cos(a - b)\n"
        "start a = 1, b = 0.3, v.a = 0.2, v.b = -0.4\n",
        "coordinate a\ncoordinate b\ncoordinate c\n"
        "lagrangian L = v.a^2 + v.a*v.b/2 + v.b^2 + v.b*v.c*cos(a) + 2*v.c^2"
        " + (v.a^2 + v.b^2 + v.c^2)^2/8 + cos(a - b) + cos(b - c)\n"
        "start a = 1, b = 0.3, c = -0.5, v.a = 0.2, v.b = -0.4, v.c = 0.1\n",
        "coordinate a\ncoordinate b\ncoordinate c\n"
        "lagrangian L = (v.a + v.b)^2 + (v.b + v.c)^2 + (v.a + v.b)^4 + a*b*c\n"
        "start a = 1, b = 0.3, c = -0.5, v.a = 0.75, v.b = -0.25, v.c = 0.5\n",
    };
    for (size_t k = 0; k < 3; k++) {
        cls_system *s = NULL;
        cls_flow *flow = NULL;
        double z[6] = {1, 0.3, 0.2, -0.4}, f[6], J[36];
        const double other[6] = {1, 0.3, -0.5, 0.75, -0.25, 0.5};
        if (k) memcpy(z, other, sizeof z);
        assert_int_equal(cls_system_parse(text[k], "coupled", NULL, &s, NULL), CLS_OK);
        assert_int_equal(cls_flow_create(s, &flow, NULL), CLS_OK);
        size_t nz = cls_flow_count(flow);
        assert_int_equal(nz, k ? 6 : 4);
        assert_int_equal(cls_flow_rates(flow, 1, nz, z, NULL, 1, f, J, NULL), CLS_OK);
        for (size_t j = 0; j < nz; j++) {
            double up[6], low[6], at[6];
            if (k == 2) assert_false(isfinite(f[j]) || isfinite(J[j]));
            memcpy(at, z, sizeof at);
            at[j] += 1e-6;
            (void)cls_flow_rates(flow, 1, nz, at, NULL, 1, up, NULL, NULL);
            at[j] -= 2e-6;
            (void)cls_flow_rates(flow, 1, nz, at, NULL, 1, low, NULL, NULL);
            for (size_t i = 0; i < nz && k < 2; i++)
                assert_true(fabs(J[i * nz + j] - (up[i] - low[i]) / 2e-6) < 1e-7);
        }
        cls_flow_free(&flow);
        cls_system_free(&s);
    }
}

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void test_steps(void **state) {
    (void)state;
    static const char *const schemes[] = {NULL, "discrete-gradient-4", "implicit-midpoint"};
    cls_system *s = piston();
    double z[N * NZ], next[N * NZ], seed[N * NZ], bar[N * NZ], other[N * NZ];
    fill(z);
    for (size_t i = 0; i < N * NZ; i++) seed[i] = cos((double)i);
    for (size_t k = 0; k < 3; k++) {
        cls_steps *steps = NULL;
        cls_simulate_options o = cls_simulate_defaults();
        cls_simulator *sim = NULL;
        o.scheme = schemes[k];
        o.h = 0.05;
        assert_int_equal(cls_steps_create(s, NULL, schemes[k], &steps, NULL), CLS_OK);
        assert_int_equal(cls_steps_make(steps, NULL, N, 0, 0.05, z, 2, next, NULL), CLS_OK);
        assert_int_equal(cls_steps_back(steps, NULL, N, 0, 0.05, z, seed, 2, bar, NULL, NULL),
                         CLS_OK);
        assert_int_equal(cls_steps_back(steps, NULL, N, 0, 0.05, z, seed, 1, other, NULL, NULL),
                         CLS_OK);
        assert_memory_equal(bar, other, sizeof bar);
        assert_int_equal(cls_simulator_create(s, &o, &sim, NULL), CLS_OK);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(cls_simulator_start(sim, 0, z + i * NZ, NULL), CLS_OK);
            assert_int_equal(cls_simulator_advance(sim, 1, NULL), CLS_OK);
            for (size_t j = 0; j < NZ; j++)
                assert_true(fabs(cls_simulator_state(sim)[j] - next[i * NZ + j]) < 1e-13);
        }
        for (size_t j = 0; j < N * NZ; j += 7) {
            double up, low, at[N * NZ];
            memcpy(at, z, sizeof at);
            at[j] += 1e-6;
            (void)cls_steps_make(steps, NULL, N, 0, 0.05, at, 1, other, NULL);
            up = dot(N * NZ, seed, other);
            at[j] -= 2e-6;
            (void)cls_steps_make(steps, NULL, N, 0, 0.05, at, 1, other, NULL);
            low = dot(N * NZ, seed, other);
            assert_true(fabs(bar[j] - (up - low) / 2e-6) < 1e-7);
        }
        cls_simulator_free(&sim);
        cls_steps_free(&steps);
    }
    cls_system_free(&s);
}

/* A trajectory that was simulated by the same steps has no error and no gradient; from elsewhere the
 * gradient in the start is that of differences, also where numbers are missing. */
static void test_shoot(void **state) {
    (void)state;
    enum { ROWS = 12 };
    cls_system *s = piston();
    cls_steps *steps = NULL;
    double data[ROWS * NZ], time[ROWS], start[NZ] = {0.2, -0.4, 0.9, 1.1}, bar[NZ], loss, up, low;
    const double scale[NZ] = {1, 0.5, 1, 2};
    const size_t begin[] = {0, ROWS};
    assert_int_equal(cls_steps_create(s, NULL, NULL, &steps, NULL), CLS_OK);
    memcpy(data, start, sizeof start);
    for (size_t k = 0; k < ROWS; k++) {
        time[k] = 0.1 * (double)k;
        if (k)
            (void)cls_steps_make(steps, NULL, 1, 0, 0.1, data + (k - 1) * NZ, 1, data + k * NZ,
                                 NULL);
    }
    cls_shots shots = {1, begin, time, data, scale, 1};
    assert_int_equal(cls_steps_shoot(steps, NULL, &shots, start, 1, &loss, NULL, bar, NULL),
                     CLS_OK);
    assert_true(loss < 1e-28 && fabs(bar[1]) < 1e-13);
    data[5 * NZ + 2] = NAN;
    start[1] = -0.5;
    assert_int_equal(cls_steps_shoot(steps, NULL, &shots, start, 1, &loss, NULL, bar, NULL),
                     CLS_OK);
    for (size_t j = 0; j < NZ; j++) {
        double at[NZ];
        memcpy(at, start, sizeof at);
        at[j] += 1e-6;
        (void)cls_steps_shoot(steps, NULL, &shots, at, 1, &up, NULL, NULL, NULL);
        at[j] -= 2e-6;
        (void)cls_steps_shoot(steps, NULL, &shots, at, 1, &low, NULL, NULL, NULL);
        assert_true(fabs(bar[j] - (up - low) / 2e-6) < 1e-8 * fmax(1, fabs(bar[j])));
    }
    cls_error error = {0};
    for (size_t i = 0; i < ROWS * NZ; i++) data[i] = NAN;
    assert_int_equal(cls_steps_shoot(steps, NULL, &shots, start, 1, &loss, NULL, NULL, &error),
                     CLS_DATA);
    start[0] = 5; /* outside the cylinder */
    data[0] = 1;
    assert_int_equal(cls_steps_shoot(steps, NULL, &shots, start, 1, &loss, NULL, NULL, &error),
                     CLS_NUMERIC);
    assert_non_null(strstr(error.message, "trajectory 0"));
    cls_steps_free(&steps);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_coupled),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_shoot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
