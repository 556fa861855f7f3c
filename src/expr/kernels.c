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
