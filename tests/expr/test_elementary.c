/* exp, log, pow, expm1 and log1p of our own: errors against long double where that has more digits,
 * special values against libm, and rows, quotients and powers from values against the single functions to
 * the bit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <clausius/graph.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expr/kernels.h"
#include "expr/program.h"
#include "tests/sanitized.h"

enum { SAMPLES = THINNED(1000000, 20000) };

static uint64_t state = 88172645463325252u;

static uint64_t next_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double uniform(double low, double high) {
    return low + (high - low) * (double)(next_bits() >> 11) * 0x1p-53;
}

/* Of any size: a random exponent. */
static double any_positive(void) {
    return ldexp(uniform(1, 2), (int)(next_bits() % 2045) - 1022);
}

/* Small numbers of all sizes and both signs. */
static double small(void) {
    return ldexp(uniform(-1, 1), -(int)(next_bits() % 60));
}

/* Errors in units of the last place of the exact result; subnormal ones have fewer places. */
static double ulps(double got, long double want) {
    if (isinf(got)) return fabsl(want) > 0x1.fffffffffffff7p1023L ? 0 : INFINITY;
    int e;
    (void)frexpl(want, &e);
    long double unit = ldexpl(1, e - 53 < -1074 ? -1074 : e - 53);
    return (double)(fabsl(got - want) / unit);
}

static double exp_of(double x) {
    return clsi_function_value(CLS_FN_EXP, x);
}
static double log_of(double x) {
    return clsi_function_value(CLS_FN_LOG, x);
}
static double expm1_of(double x) {
    return clsi_function_value(CLS_FN_EXPM1, x);
}
static double log1p_of(double x) {
    return clsi_function_value(CLS_FN_LOG1P, x);
}

typedef struct worst {
    double ulps, x, y;
} worst;

static void look(worst *w, double x, double y, double got, long double want) {
    double u = ulps(got, want);
    if (!(u <= w->ulps)) *w = (worst){u, x, y};
}

static void check(const char *name, const worst *w, double most) {
    if (!(w->ulps <= most)) fail_msg("%s(%.17g, %.17g): %.3f ulp", name, w->x, w->y, w->ulps);
}

static void test_errors(void **unused) {
    (void)unused;
    if (LDBL_MANT_DIG < 64) skip();
    worst e = {0}, l = {0}, m = {0}, p = {0};
    for (int i = 0; i < SAMPLES; i++) {
        double x = i % 3 == 0 ? uniform(-745, 710) : i % 3 == 1 ? uniform(-2, 2) : small();
        look(&e, x, 0, exp_of(x), expl(x));
        if (x > -45) look(&m, x, 0, expm1_of(x), expm1l(x));
        x = i % 3 == 0 ? any_positive() : i % 3 == 1 ? uniform(0.5, 2) : 1 + small() / 2;
        if (x > 0) look(&l, x, 0, log_of(x), logl(x));
        x = i % 3 == 0 ? any_positive() : i % 3 == 1 ? uniform(-1, 2) : small();
        if (x > -1) look(&p, x, 0, log1p_of(x), log1pl(x));
    }
    check("exp", &e, 1);
    check("expm1", &m, 1.3);
    check("log", &l, 0.6);
    check("log1p", &p, 0.8);
}

static void test_errors_of_powers(void **unused) {
    (void)unused;
    if (LDBL_MANT_DIG < 64) skip();
    worst w = {0};
    for (int i = 0; i < SAMPLES; i++) {
        double x = i % 3 == 0 ? any_positive() : i % 3 == 1 ? uniform(0.5, 2) : 1 + small() / 2;
        double y = i % 2 ? uniform(-5, 5) : uniform(-744, 709) / log(x);
        if (!(x > 0) || !isfinite(y) || fabs(y * log(x)) > 744) continue;
        look(&w, x, y, clsi_pow(x, y), powl(x, y));
    }
    check("pow", &w, 1.25);
}

static const double special[] = {0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 -0.5,
                                 2,
                                 -2,
                                 3,
                                 -3,
                                 1e-310,
                                 -1e-310,
                                 5e-324,
                                 -5e-324,
                                 1e300,
                                 -1e300,
                                 1e-300,
                                 709.78,
                                 709.79,
                                 -745.13,
                                 -745.14,
                                 0.3333,
                                 -37,
                                 53,
                                 1024,
                                 -1075,
                                 0x1p53,
                                 0x1p53 + 2,
                                 9007199254740991.0,
                                 DBL_MAX,
                                 -DBL_MAX,
                                 DBL_MIN,
                                 INFINITY,
                                 -INFINITY,
                                 NAN};
enum { SPECIAL = sizeof special / sizeof *special };

static void check_special(const char *name, double x, double y, double got, double want) {
    if (isnan(got) && isnan(want)) return;
    if (signbit(got) == signbit(want) && (got == want || ulps(got, want) <= 1.01)) return;
    fail_msg("%s(%a, %a) is %a, not %a", name, x, y, got, want);
}

static void test_special_values(void **unused) {
    (void)unused;
    for (size_t i = 0; i < SPECIAL; i++) {
        double x = special[i];
        check_special("exp", x, 0, exp_of(x), exp(x));
        check_special("expm1", x, 0, expm1_of(x), expm1(x));
        check_special("log", x, 0, log_of(x), log(x));
        check_special("log1p", x, 0, log1p_of(x), log1p(x));
        for (size_t j = 0; j < SPECIAL; j++)
            check_special("pow", x, special[j], clsi_pow(x, special[j]), pow(x, special[j]));
    }
}

/* ---- rows ---- */

/* Numbers of all kinds, ends that are near and far. */
static void fill_ends(size_t n, double *a, double *b) {
    for (size_t i = 0; i < n; i++) {
        uint64_t kind = next_bits() % 40;
        a[i] = kind < 4   ? special[next_bits() % SPECIAL]
               : kind < 8 ? any_positive()
                          : uniform(0.2, 4);
        b[i] = kind < 2    ? special[next_bits() % SPECIAL]
               : kind < 20 ? a[i] * (1 + 0.3 * small())
               : kind < 22 ? a[i]
                           : uniform(0.2, 4);
    }
}

/* exp, log, a power, a whole power and their quotients; half of them staged, from values. */
static size_t make_nodes(cls_graph *g, cls_node a, cls_node b, cls_node *out) {
    static const int orders[3][2] = {{1, 1}, {2, 1}, {1, 2}};
    const double exponents[] = {-2.0 / 3, 1.4, 0.01, 7.3};
    size_t n = 0;
    out[n++] = cls_apply(g, CLS_FN_EXP, a);
    out[n++] = cls_apply(g, CLS_FN_LOG, a);
    out[n++] = cls_pow(g, a, b);
    out[n++] = cls_pow(g, a, cls_constant(g, 5));
    for (size_t c = 0; c < 4; c++) {
        cls_node e = cls_constant(g, exponents[c]);
        out[n++] = cls_pow(g, a, e);
        out[n++] = cls_pow(g, a, cls_constant(g, exponents[c] - 1));
        out[n++] = cls_pow(g, a, cls_constant(g, -exponents[c]));
        for (int k = 0; k < 3; k++)
            out[n++] =
                cls_quotient(g, CLS_FN_POWER, orders[k][0], orders[k][1], a, b, exponents[c]);
    }
    for (int k = 0; k < 3; k++) {
        out[n++] = cls_quotient(g, CLS_FN_EXP, orders[k][0], orders[k][1], a, b, 0);
        out[n++] = cls_quotient(g, CLS_FN_LOG, orders[k][0], orders[k][1], a, b, 0);
    }
    return n;
}

static void compare_lanes(const cls_program *p, double *lanes, double *work, const double *a,
                          const double *b) {
    double out[64];
    memcpy(clsi_lanes_input(p, lanes, 0), a, CLSI_LANES * sizeof *a);
    memcpy(clsi_lanes_input(p, lanes, 1), b, CLSI_LANES * sizeof *b);
    clsi_lanes_early(p, CLSI_LANES, lanes);
    clsi_lanes_late(p, CLSI_LANES, lanes);
    for (size_t i = 0; i < CLSI_LANES; i++) {
        cls_program_run(p, work, (double[2]){a[i], b[i]}, out);
        for (size_t k = 0; k < cls_program_output_count(p); k++) {
            double in_lane = clsi_lanes_output(p, lanes, k)[i];
            if (!memcmp(&in_lane, &out[k], sizeof in_lane) || (isnan(in_lane) && isnan(out[k])))
                continue;
            fail_msg("output %zu at %a, %a: %a in lanes, %a alone", k, a[i], b[i], in_lane, out[k]);
        }
    }
}

static void check_rows(size_t n_early) {
    cls_graph *g;
    cls_program *p;
    cls_node in[2], out[64];
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    in[0] = cls_symbol(g, "a"), in[1] = cls_symbol(g, "b");
    size_t n = make_nodes(g, in[0], in[1], out);
    assert_int_equal(clsi_program_create_staged(g, n_early, 2, in, n, n, out, &p, NULL), CLS_OK);
    double *lanes = malloc(clsi_lanes_size(p) * sizeof *lanes);
    double *work = malloc(cls_program_work_size(p) * sizeof *work);
    clsi_lanes_prepare(p, lanes);
    cls_program_prepare(p, work);
    for (int i = 0; i < THINNED(20000, 1000); i++) {
        double a[CLSI_LANES], b[CLSI_LANES];
        fill_ends(CLSI_LANES, a, b);
        compare_lanes(p, lanes, work, a, b);
    }
    free(lanes);
    free(work);
    cls_program_free(&p);
    cls_graph_free(&g);
}

static void test_rows(void **unused) {
    (void)unused;
    check_rows(2);
    check_rows(1);
}

/* ---- from values ---- */

/* With the value at one end, near and far: as good as the symmetric kernel. */
static void test_from_values(void **unused) {
    (void)unused;
    for (int i = 0; i < THINNED(200000, 10000); i++) {
        double a = uniform(0.1, 5), b = a * (1 + 0.4 * small()), c = uniform(-4, 4);
        int p = 1 + i % 3 / 2, q = 1 + i % 3 % 2;
        double got = clsi_quotient_from(CLS_FN_POWER, p, q, a, b, clsi_pow(a, c), c);
        double want = clsi_quotient_value(CLS_FN_POWER, p, q, a, b, c);
        double size = fabs(want) + clsi_pow(a, c - p - q + 1) * (p + q == 2 ? 0 : 1e-3);
        if (!(fabs(got - want) <= 1e-14 * size))
            fail_msg("x^%g [%d, %d] at %.17g, %.17g: %.17g, not %.17g", c, p, q, a, b, got, want);
        got = clsi_quotient_from(CLS_FN_EXP, p, q, a, b, exp_of(a), 0);
        want = clsi_quotient_value(CLS_FN_EXP, p, q, a, b, 0);
        if (!(fabs(got - want) <= 4e-15 * want))
            fail_msg("exp [%d, %d] at %.17g, %.17g: %.17g, not %.17g", p, q, a, b, got, want);
        assert_true(fabs(clsi_pow_from(0, a, clsi_pow(a, c + 1), c) / clsi_pow(a, c) - 1) < 3e-15);
        assert_true(fabs(clsi_pow_from(1, a, clsi_pow(a, -c), c) / clsi_pow(a, c) - 1) < 1e-15);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),         cmocka_unit_test(test_errors_of_powers),
        cmocka_unit_test(test_special_values), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_from_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
