/* exp, log and powers two at a time (pairs.inc, for exported C): the bits of the single functions, for
 * numbers of all sizes and for all that are special, in both places. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#define CLSI_K_TWO
#define CLSI_K_TWO_LOG
#define CLSI_K_TWO_EXP
#include "expr/elementary.inc"
#include "expr/kernels.inc"
#include "expr/pairs.inc"
#include "tests/sanitized.h"

enum { SAMPLES = THINNED(2000000, 20000) };

static uint64_t state = 88172645463325252u;

static uint64_t next_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double uniform(double low, double high) {
    return low + (high - low) * (double)(next_bits() >> 11) * 0x1p-53;
}

/* Of ordinary size, of any size, any bits at all, or special. */
static double any(void) {
    static const double special[] = {0,           -0.0,     1,         -1,     0x1p-1022, 0x1p-1074,
                                     0x0.8p-1022, INFINITY, -INFINITY, NAN,    707,       -707,
                                     708,         -708,     709.9,     -745.2, 711,       1e308,
                                     -2.5,        0x1.68p0, 0x1.67fp0, 1e-9,   0.5,       -3};
    clsi_k_number x;
    switch (next_bits() % 8) {
    case 0: return special[next_bits() % (sizeof special / sizeof *special)];
    case 1: x.bits = next_bits(); return x.value;
    case 2: return ldexp(uniform(1, 2), (int)(next_bits() % 2045) - 1022);
    case 3: return uniform(-800, 800);
    default: return uniform(0, 4);
    }
}

static void same(const char *what, double a, double b, double mine, double single) {
    if (isnan(mine) && isnan(single)) return; /* the sign of no number is no matter */
    if (memcmp(&mine, &single, sizeof mine))
        fail_msg("%s of %a and %a: %a, alone %a", what, a, b, mine, single);
}

static void pairs_are_two(void **unused) {
    (void)unused;
    for (int k = 0; k < SAMPLES; k++) {
        double a = any(), b = any(), y = any(), second, first;
        first = clsi_k_log_2(a, b, &second);
        same("log", a, b, first, clsi_k_log(a));
        same("log", a, b, second, clsi_k_log(b));
        first = clsi_k_exp_2(a, b, &second);
        same("exp", a, b, first, clsi_k_exp(a));
        same("exp", a, b, second, clsi_k_exp(b));
        first = clsi_k_pow_2(a, b, y, &second);
        same("pow", a, b, first, clsi_k_pow(a, y));
        same("pow", a, b, second, clsi_k_pow(b, y));
    }
}

/* sqrt(x*x + c) without a root (clsi_k_root of kernels.inc): the bits of the root, for numbers of all sizes, for those
 * where c begins to count, and for all that are special. */
static void roots_of_squares(void **unused) {
    static const double special[] = {
        0,        -0.0,      1,    -1,  0x1p-450,           0x1p500, 0x1p-1074, 1e-308,
        0x1p1023, -INFINITY, 1e20, NAN, 0x1.fffffffffffffp0};
    static const double added[] = {0, 0x1.16c262777579cp-133, 1e-30, 1, 1e300, 0x1p-1074};
    (void)unused;
    for (size_t j = 0; j < sizeof added / sizeof *added; j++) {
        double c = added[j];
        for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
            double x = special[i];
            same("root", x, c, clsi_k_root(x, c), sqrt(x * x + c));
        }
        for (size_t i = 0; i < SAMPLES / 4; i++) {
            clsi_k_number bits = {.bits = next_bits()};
            double x = ldexp(uniform(-1, 1), (int)uniform(-560, 520));
            double near = sqrt(c) * ldexp(uniform(1, 2), (int)uniform(-2, 32));
            same("root", bits.value, c, clsi_k_root(bits.value, c),
                 sqrt(bits.value * bits.value + c));
            same("root", x, c, clsi_k_root(x, c), sqrt(x * x + c));
            same("root", near, c, clsi_k_root(near, c), sqrt(near * near + c));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_are_two),
                                       cmocka_unit_test(roots_of_squares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
