/* The exported kernels: thin names for what kernels.inc defines, so that evaluation here and the
 * emitted C compile the same text. See kernels.inc for the method, its cost and its limits. */
#include "expr/kernels.h"

#include <clausius/graph.h>

#include "expr/elementary.inc"
#include "expr/kernels.inc"

/* kernels.inc knows no header of ours, so its numbers are checked here. */
#define SAME_NUMBER(name, text)                                                                    \
    _Static_assert((int)CLSI_K_##name == (int)CLS_FN_##name, "kernels.inc: number of " text);
CLS_FUNCTION_LIST(SAME_NUMBER)
_Static_assert((int)CLSI_K_POWER == (int)CLS_FN_POWER, "kernels.inc: number of power");

double clsi_function_value(int function, double x) {
    return clsi_k_function_value(function, x);
}

_Static_assert((int)CLSI_EXP_RESTS == (int)(sizeof clsi_k_exp_rests / sizeof *clsi_k_exp_rests),
               "elementary.inc: number of coefficients");

const double *clsi_exp_rests(void) {
    return clsi_k_exp_rests;
}

double clsi_powi(double x, int n) {
    return clsi_k_powi(x, n);
}

double clsi_quotient_value(int function, int i, int j, double a, double b, double exponent) {
    return clsi_k_quotient_value(function, i, j, a, b, exponent);
}

double clsi_pow(double x, double y) {
    return clsi_k_pow(x, y);
}

double clsi_quotient_from(int function, int i, int j, double a, double b, double v,
                          double exponent) {
    return clsi_k_quotient_from(function, i, j, a, b, v, exponent);
}

double clsi_pow_from(int inverse, double x, double v, double c) {
    return clsi_k_pow_from(inverse, x, v, c);
}

/* ---- for machine code ---- */

#define VALUE(name, text)                                                                          \
    static double value_##name(double a) {                                                         \
        return clsi_k_function_value(CLSI_K_##name, a);                                            \
    }
CLS_FUNCTION_LIST(VALUE)

clsi_kernel1 *clsi_kernel_value(int function) {
#define TO_VALUE(name, text) [CLSI_K_##name] = value_##name,
    static clsi_kernel1 *const to[] = {CLS_FUNCTION_LIST(TO_VALUE)};
    return function >= 0 && (size_t)function < sizeof to / sizeof *to ? to[function] : NULL;
}

#define QUOTIENT(name, i, j)                                                                       \
    static double quotient_##name##_##i##j(double a, double b) {                                   \
        return clsi_k_quotient_value(CLSI_K_##name, i, j, a, b, 0);                                \
    }
#define FROM(i, j)                                                                                 \
    static double exp_from_##i##j(double a, double b, double v) {                                  \
        return clsi_k_quotient_from(CLSI_K_EXP, i, j, a, b, v, 0);                                 \
    }
/* clang-format off */
#define QUOTIENTS(name) QUOTIENT(name, 1, 1) QUOTIENT(name, 1, 2) QUOTIENT(name, 2, 1)
QUOTIENTS(EXP) QUOTIENTS(LOG) QUOTIENTS(SQRT) QUOTIENTS(SIN) QUOTIENTS(COS) QUOTIENTS(TANH)
FROM(1, 1) FROM(1, 2) FROM(2, 1)
    /* clang-format on */

    /* 0, 1, 2 for (1,1), (1,2), (2,1); else -1. */
    static int which_ends(int i, int j) {
    return i + j == 2 && i == 1 ? 0 : i + j == 3 && (i == 1 || i == 2) ? i : -1;
}

clsi_kernel2 *clsi_kernel_quotient(int function, int i, int j) {
#define TO_QUOTIENT(name)                                                                          \
    [CLSI_K_##name] = { quotient_##name##_11, quotient_##name##_12, quotient_##name##_21 }
    static clsi_kernel2 *const to[][3] = {TO_QUOTIENT(EXP), TO_QUOTIENT(LOG), TO_QUOTIENT(SQRT),
                                          TO_QUOTIENT(SIN), TO_QUOTIENT(COS), TO_QUOTIENT(TANH)};
    int ends = which_ends(i, j);
    if (function < 0 || (size_t)function >= sizeof to / sizeof *to || ends < 0) return NULL;
    return to[function][ends];
}

clsi_kernel3 *clsi_kernel_exp_from(int i, int j) {
    static clsi_kernel3 *const to[] = {exp_from_11, exp_from_12, exp_from_21};
    int ends = which_ends(i, j);
    return ends < 0 ? NULL : to[ends];
}

_Static_assert((int)CLSI_POWER_TERMS == (int)CLSI_K_BINOMIALS, "kernels.inc: number of terms");

void clsi_power_terms(int i, int j, double c, double *of) {
    clsi_k_binomials(i, j, c, of);
}

double clsi_power_from(const double *of, int i, int j, double a, double b, double v, double c) {
    return clsi_k_power_by(of, i, j, a, b, v, c);
}

double clsi_pow_inverse(double x, double c, double v) {
    return clsi_k_pow_from(1, x, v, c);
}

double clsi_pow_slope(double x, double c, double v) {
    return clsi_k_pow_from(0, x, v, c);
}
