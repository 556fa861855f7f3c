/* Divided differences against a table of 40-digit values (tools/make-kernel-reference), and the
 * laws every discrete gradient stands on: symmetry to the bit, the limit a = b, and
 * f(a) - f(b) = q (a - b). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <clausius/graph.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expr/kernels.h"
#include "tests/expr/quotients.h"

#define ORDERS 6
static const int order_i[ORDERS] = {1, 2, 1, 2, 3, 3};
static const int order_j[ORDERS] = {1, 1, 2, 2, 1, 3};

struct reference {
    int function;
    double a, b, exponent;
    double value[ORDERS];
    double condition[ORDERS];
};

static const struct reference table[] = {
#include "kernel_reference.inc"
};

static const char *name_of(int function) {
    static const char *const names[] = {
#define TEXT(name, text) text,
        CLS_FUNCTION_LIST(TEXT)
#undef TEXT
            "power"};
    return names[function];
}

/* A small generator, so that every run tests the same points. */
static double uniform(uint64_t *state, double low, double high) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*state >> 11) * 0x1p-53;
}

/* A point of the domain, at least a little inside. */
static double sample(int function, uint64_t *state) {
    switch (function) {
    case CLS_FN_LOG:
    case CLS_FN_SQRT:
    case CLS_FN_POWER: return pow(10, uniform(state, -4, 4));
    case CLS_FN_LOG1P: return pow(10, uniform(state, -4, 4)) - 0.999;
    case CLS_FN_ASIN:
    case CLS_FN_ACOS:
    case CLS_FN_ATANH: return uniform(state, -0.999, 0.999);
    case CLS_FN_ACOSH: return 1 + pow(10, uniform(state, -4, 4));
    default: return uniform(state, -8, 8);
    }
}

/* A second point: anywhere, or at a distance down to 1e-16 of the first. */
static double partner(int function, double a, uint64_t *state) {
    if (uniform(state, 0, 1) < 0.4) return sample(function, state);
    double b = a * (1 - pow(10, uniform(state, -16, -1)));
    return (function == CLS_FN_ACOSH && b < 1) ? a : b;
}

static double exponent_for(uint64_t *state) {
    static const double exponents[] = {2,   3,       -1,       -2,  7,    0.5,
                                       1.5, 5.0 / 3, -2.0 / 3, 1.4, 12.5, -3.5};
    return exponents[(int)uniform(state, 0, 11.999)];
}

/* f'(x), written out by hand. */
static double slope(int function, double x, double c) {
    double s;
    switch (function) {
    case CLS_FN_EXP:
    case CLS_FN_EXPM1: return exp(x);
    case CLS_FN_LOG: return 1 / x;
    case CLS_FN_LOG1P: return 1 / (1 + x);
    case CLS_FN_SQRT: return 0.5 / sqrt(x);
    case CLS_FN_SIN: return cos(x);
    case CLS_FN_COS: return -sin(x);
    case CLS_FN_TAN: return 1 / (cos(x) * cos(x));
    case CLS_FN_ASIN: return 1 / sqrt((1 - x) * (1 + x));
    case CLS_FN_ACOS: return -1 / sqrt((1 - x) * (1 + x));
    case CLS_FN_ATAN: return 1 / (1 + x * x);
    case CLS_FN_SINH: return cosh(x);
    case CLS_FN_COSH: return sinh(x);
    case CLS_FN_TANH: return 1 / (cosh(x) * cosh(x));
    case CLS_FN_ASINH: return 1 / sqrt(1 + x * x);
    case CLS_FN_ACOSH: return 1 / sqrt((x - 1) * (x + 1));
    case CLS_FN_ATANH: return 1 / ((1 - x) * (1 + x));
    case CLS_FN_SOFTPLUS: return 1 / (1 + exp(-x));
    case CLS_FN_SIGMOID: s = 2 * cosh(0.5 * x); return 1 / (s * s);
    case CLS_FN_ERF: return 2 / sqrt(acos(-1)) * exp(-x * x);
    default: return c * pow(x, c - 1);
    }
}

static double value(int function, double x, double c) {
    return function == CLS_FN_POWER ? pow(x, c) : clsi_function_value(function, x);
}

static void close_to(double got, double want, double bound, const char *what, double a, double b) {
    if (!(fabs(got - want) <= bound))
        fail_msg("%s at a=%.17g b=%.17g: %.17g, expected %.17g, allowed error %.3g", what, a, b,
                 got, want, bound);
}

/* (1,1) to 4.5 ulp without any allowance. Higher orders have zeros, next to which the last digits
 * of a and b decide, hence the condition number. */
static void test_reference_table(void **state) {
    static const double allowed[ORDERS] = {1e-15, 2e-14, 2e-14, 1e-11, 1e-11, 1e-10};
    (void)state;
    for (size_t r = 0; r < sizeof table / sizeof *table; r++) {
        const struct reference *t = &table[r];
        for (int o = 0; o < ORDERS; o++) {
            double q =
                clsi_quotient_value(t->function, order_i[o], order_j[o], t->a, t->b, t->exponent);
            double bound = allowed[o] * fabs(t->value[o]);
            if (o > 0 && t->condition[o] > 10) bound *= 0.1 * t->condition[o];
            close_to(q, t->value[o], bound, name_of(t->function), t->a, t->b);
        }
    }
}

static void test_tanh_reference(void **state) {
    (void)state;
    for (size_t r = 0; r < QUOTIENTS; r++) {
        const double *t = tanh_quotients[r];
        for (int o = 0; o < 3; o++) {
            double q = clsi_quotient_value(CLS_FN_TANH, order_i[o], order_j[o], t[0], t[1], 0);
            /* the reference belongs to the decimal arguments: one rounding of each */
            close_to(q, t[2 + o], 2e-15 * fabs(t[2 + o]), "tanh", t[0], t[1]);
        }
    }
}

static void test_symmetric_to_the_bit(void **state) {
    uint64_t seed = 1;
    (void)state;
    for (int f = 0; f < CLS_FN_COUNT; f++) {
        for (int k = 0; k < 2000; k++) {
            double a = sample(f, &seed), b = partner(f, a, &seed), c = exponent_for(&seed);
            int o = k % ORDERS;
            double x = clsi_quotient_value(f, order_i[o], order_j[o], a, b, c);
            double y = clsi_quotient_value(f, order_j[o], order_i[o], b, a, c);
            if (memcmp(&x, &y, sizeof x) != 0)
                fail_msg("%s (%d,%d) a=%.17g b=%.17g: %.17g is not %.17g", name_of(f), order_i[o],
                         order_j[o], a, b, x, y);
        }
    }
}

static void test_limit_is_the_derivative(void **state) {
    uint64_t seed = 2;
    (void)state;
    for (int f = 0; f < CLS_FN_COUNT; f++) {
        for (int k = 0; k < 500; k++) {
            double a = sample(f, &seed), c = exponent_for(&seed), want = slope(f, a, c);
            close_to(clsi_quotient_value(f, 1, 1, a, a, c), want, 2e-14 * fabs(want), name_of(f), a,
                     a);
        }
    }
}

/* The law that makes a discrete gradient conserve: 2 ulp, and 1 for the rounding of the two values
 * and of the product here. */
static void test_difference_identity(void **state) {
    uint64_t seed = 3;
    (void)state;
    for (int f = 0; f < CLS_FN_COUNT; f++) {
        for (int k = 0; k < 5000; k++) {
            double a = sample(f, &seed), b = partner(f, a, &seed), c = exponent_for(&seed);
            double fa = value(f, a, c), fb = value(f, b, c);
            double largest = fmax(fmax(fabs(fa), fabs(fb)), fabs(fa - fb));
            double got = clsi_quotient_value(f, 1, 1, a, b, c) * (a - b);
            close_to(got, fa - fb, 3 * DBL_EPSILON * largest, name_of(f), a, b);
        }
    }
}

/* (a-b) f[a x (i+1), b x (j+1)] = f[a x (i+1), b x j] - f[a x i, b x (j+1)], where far apart. */
static void test_recurrence_between_orders(void **state) {
    uint64_t seed = 4;
    (void)state;
    for (int f = 0; f < CLS_FN_COUNT; f++) {
        for (int k = 0; k < 1000; k++) {
            double a = sample(f, &seed), b = partner(f, a, &seed), c = exponent_for(&seed);
            int i = 1 + k % 3, j = 1 + (k / 3) % 2;
            double q = clsi_quotient_value(f, i + 1, j + 1, a, b, c);
            double x = clsi_quotient_value(f, i + 1, j, a, b, c);
            double y = clsi_quotient_value(f, i, j + 1, a, b, c);
            close_to(q * (a - b), x - y, 1e-11 * fmax(fabs(x), fabs(y)), name_of(f), a, b);
        }
    }
}

/* Orders nobody tabulated: exp at one point gives e^a/(n-1)!, and 1/x has the differences
 * (-1)^(n-1) a^-i b^-j. */
static void test_high_orders(void **state) {
    double factorial = 1;
    (void)state;
    for (int n = 2; n <= 16; n++) {
        int i = n / 2, j = n - i;
        double want = exp(1.25) / factorial;
        factorial *= n;
        close_to(clsi_quotient_value(CLS_FN_EXP, i, j, 1.25, 1.25, 0), want, 1e-14 * want, "exp",
                 1.25, 1.25);
        want = (n % 2 ? 1 : -1) * pow(1.5, -i) * pow(0.7, -j);
        close_to(clsi_quotient_value(CLS_FN_POWER, i, j, 1.5, 0.7, -1), want, 1e-14 * fabs(want),
                 "1/x", 1.5, 0.7);
    }
    assert_true(clsi_quotient_value(CLS_FN_POWER, 3, 2, 1.5, 0.7, 3) == 0);
    assert_true(clsi_quotient_value(CLS_FN_POWER, 2, 2, 1.5, 0.7, 3) == 1);
    assert_true(isnan(clsi_quotient_value(CLS_FN_EXP, 30, 30, 1, 2, 0)));
}

static void test_finite_at_extremes(void **state) {
    static const struct {
        int function, i, j;
        double a, b, exponent, want;
    } cases[] = {
        {CLS_FN_EXP, 1, 1, 712, 0, 0, 0.0},
        {CLS_FN_EXP, 2, 1, 712, 0, 0, 0.0},
        {CLS_FN_EXP, 1, 2, 712, 0, 0, 0.0},
        {CLS_FN_EXP, 2, 2, 712, 0, 0, 0.0},
        {CLS_FN_EXP, 1, 1, 1, -1e300, 0, 2.718281828459045e-300},
        {CLS_FN_LOG, 1, 1, 1e300, 1e-300, 0, 1.381551055796427e-297},
        {CLS_FN_LOG, 2, 1, 4, 1e-320, 0, 0.0},
        {CLS_FN_SQRT, 1, 1, 1e308, 0, 0, 1e-154},
        {CLS_FN_POWER, 1, 1, 1e200, 1, 1.75, 1e150},
        {CLS_FN_POWER, 1, 1, 2, 0, 1.5, 1.4142135623730951},
        {CLS_FN_POWER, 2, 1, 4, 0, 1.5, 0.25},
        {CLS_FN_POWER, 1, 1, 1e300, 1e299, -1, -1e-299 * 1e-300},
        {CLS_FN_ATAN, 1, 1, 1e200, 5e199, 0, 0.0},
        {CLS_FN_ATAN, 1, 1, 1.5e308, -1.5e308, 0, 1.0471975511965977e-308},
        {CLS_FN_ASINH, 1, 1, 1e300, 5e299, 0, 1.3862943611198906e-300},
        {CLS_FN_ACOSH, 1, 1, 1e300, 5e299, 0, 1.3862943611198906e-300},
        {CLS_FN_ASIN, 1, 1, 1, -1, 0, 1.5707963267948966},
        {CLS_FN_TANH, 1, 1, 1e300, -1e300, 0, 1e-300},
        {CLS_FN_TANH, 2, 1, 1e3, 2, 0, 0.0},
        {CLS_FN_SOFTPLUS, 1, 1, 1e300, -1e300, 0, 0.5},
        {CLS_FN_SOFTPLUS, 1, 1, 1e5, 1e4, 0, 1},
        {CLS_FN_SIGMOID, 1, 1, 800, -800, 0, 6.25e-4},
        {CLS_FN_SIN, 1, 1, 1e22, -1e22, 0, -8.522008497671888e-23},
        {CLS_FN_ERF, 1, 1, 1e300, -1e300, 0, 1e-300},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double q = clsi_quotient_value(cases[k].function, cases[k].i, cases[k].j, cases[k].a,
                                       cases[k].b, cases[k].exponent);
        if (!isfinite(q)) fail_msg("case %zu, %s: %g", k, name_of(cases[k].function), q);
        if (cases[k].want != 0)
            close_to(q, cases[k].want, 1e-14 * fabs(cases[k].want), name_of(cases[k].function),
                     cases[k].a, cases[k].b);
    }
}

static void test_outside_the_domain(void **state) {
    static const struct {
        int function;
        double a, b, exponent;
    } cases[] = {
        {CLS_FN_LOG, -1, -2, 0},      {CLS_FN_LOG, 1, -2, 0},      {CLS_FN_LOG1P, -2, -3, 0},
        {CLS_FN_SQRT, -1, -1, 0},     {CLS_FN_ASIN, 1.5, 0.5, 0},  {CLS_FN_ASIN, 1.5, 1.4, 0},
        {CLS_FN_ACOS, -1.5, -1.4, 0}, {CLS_FN_ACOSH, 2, 0.5, 0},   {CLS_FN_ATANH, 2, 3, 0},
        {CLS_FN_ATANH, 0, -3, 0},     {CLS_FN_POWER, -1, -2, 1.5}, {CLS_FN_POWER, 1, -2, 0.5},
        {CLS_FN_EXP, NAN, 1, 0},      {CLS_FN_POWER, NAN, 1, 1},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (int o = 0; o < ORDERS; o++) {
            double q = clsi_quotient_value(cases[k].function, order_i[o], order_j[o], cases[k].a,
                                           cases[k].b, cases[k].exponent);
            if (!isnan(q))
                fail_msg("case %zu, %s, order %d: %g", k, name_of(cases[k].function), o, q);
        }
    }
    assert_true(isnan(clsi_quotient_value(CLS_FN_EXP, 0, 1, 1, 2, 0)));
}

/* exp, tanh and softplus have slopes of one sign and order: so have their quotients. */
static void test_monotone(void **state) {
    double exp_before = 0, softplus_before = 0, log_before = INFINITY;
    (void)state;
    for (int k = -300; k <= 300; k++) {
        double a = 0.1 * k, e = clsi_quotient_value(CLS_FN_EXP, 1, 1, a, 0.25, 0);
        double s = clsi_quotient_value(CLS_FN_SOFTPLUS, 1, 1, a, 0.25, 0);
        double l = clsi_quotient_value(CLS_FN_LOG, 1, 1, exp(a), 0.25, 0);
        assert_true(e > exp_before);
        assert_true(s > softplus_before && s < 1);
        assert_true(l < log_before && l > 0);
        assert_true(clsi_quotient_value(CLS_FN_TANH, 1, 1, a, 0.25, 0) > 0);
        exp_before = e;
        softplus_before = s;
        log_before = l;
    }
}

static void test_values_at_both_ends(void **state) {
    (void)state;
    assert_true(clsi_function_value(CLS_FN_SOFTPLUS, 1e4) == 1e4);
    assert_true(clsi_function_value(CLS_FN_SOFTPLUS, -50) == exp(-50));
    assert_true(clsi_function_value(CLS_FN_SOFTPLUS, 0) == log(2));
    assert_true(clsi_function_value(CLS_FN_SIGMOID, 1e4) == 1);
    assert_true(clsi_function_value(CLS_FN_SIGMOID, -50) == exp(-50));
    assert_true(clsi_function_value(CLS_FN_SIGMOID, -1e4) == 0);
    assert_true(clsi_function_value(CLS_FN_SIGMOID, 0) == 0.5);
    assert_true(isnan(clsi_function_value(CLS_FN_SOFTPLUS, NAN)));
    assert_true(isnan(clsi_function_value(CLS_FN_POWER, 1)));
}

static void test_powi(void **state) {
    uint64_t seed = 5;
    (void)state;
    for (int k = 0; k < 5000; k++) {
        double x = uniform(&seed, -3, 3), want;
        int n = (int)uniform(&seed, -60, 60);
        want = pow(x, n);
        close_to(clsi_powi(x, n), want, (2 + abs(n)) * DBL_EPSILON * fabs(want), "powi", x, n);
    }
    assert_true(clsi_powi(3, 4) == 81);
    assert_true(clsi_powi(0, 0) == 1);
    assert_true(clsi_powi(-2, 3) == -8);
    assert_true(clsi_powi(2, -1074) == 0x1p-1074);
    assert_true(clsi_powi(1, INT_MIN) == 1);
    assert_true(clsi_powi(-1, INT_MAX) == -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_table),
        cmocka_unit_test(test_tanh_reference),
        cmocka_unit_test(test_symmetric_to_the_bit),
        cmocka_unit_test(test_limit_is_the_derivative),
        cmocka_unit_test(test_difference_identity),
        cmocka_unit_test(test_recurrence_between_orders),
        cmocka_unit_test(test_high_orders),
        cmocka_unit_test(test_finite_at_extremes),
        cmocka_unit_test(test_outside_the_domain),
        cmocka_unit_test(test_monotone),
        cmocka_unit_test(test_values_at_both_ends),
        cmocka_unit_test(test_powi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
