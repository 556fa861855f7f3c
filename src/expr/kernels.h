/* The numeric kernels that evaluation and emitted C share, to the last bit. kernels.inc holds their
 * definitions as self-contained C99 (it is compiled here and carried as text into emitted C). */
#ifndef CLSI_KERNELS_H
#define CLSI_KERNELS_H

/* f(x), f a cls_function (not CLS_FN_POWER). */
double clsi_function_value(int function, double x);
/* x^n by repeated multiplication, n any int. */
double clsi_powi(double x, int n);
double clsi_pow(double x, double y);
/* The coefficients of exp in elementary.inc, for those who write it themselves. */
enum { CLSI_EXP_RESTS = 11 };
const double *clsi_exp_rests(void);
/* f[a x i, b x j]: see CLS_OP_QUOTIENT; exponent only for CLS_FN_POWER. */
double clsi_quotient_value(int function, int i, int j, double a, double b, double exponent);
/* The same of exp and powers, i + j <= 3, with v = f(a). */
double clsi_quotient_from(int function, int i, int j, double a, double b, double v,
                          double exponent);
/* x^c from v = x^(c+1), or (inverse) from v = x^-c. */
double clsi_pow_from(int inverse, double x, double v, double c);

/* ---- for machine code: kernels whose constants are fixed ---- */

typedef double clsi_kernel1(double a);
typedef double clsi_kernel2(double a, double b);
typedef double clsi_kernel3(double a, double b, double v);
clsi_kernel1 *clsi_kernel_value(int function);
/* i + j <= 3; NULL where only the general one above serves. */
clsi_kernel2 *clsi_kernel_quotient(int function, int i, int j);
clsi_kernel3 *clsi_kernel_exp_from(int i, int j);
/* clsi_quotient_from of a power, with its coefficients `of` (CLSI_POWER_TERMS) made once. */
enum { CLSI_POWER_TERMS = 13 };
void clsi_power_terms(int i, int j, double c, double *of);
/* clsi_pow_from, the operands in another order. */
double clsi_pow_inverse(double x, double c, double v);
double clsi_pow_slope(double x, double c, double v);
double clsi_power_from(const double *of, int i, int j, double a, double b, double v, double c);

/* The text of elementary.inc and kernels.inc (embedded by CMake). */
extern const char clsi_kernels_text[];
/* Of pairs.inc. */
extern const char clsi_pairs_text[];

#endif
