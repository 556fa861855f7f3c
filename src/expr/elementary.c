/* Rows of exp, log, powers and of their quotients: the texts of elementary.inc and kernels.inc, operation by
 * operation, on vectors. Only the usual arguments are here: a sample that is anything else
 * (zero, infinite, ends far apart) is computed again by the text itself, so that the bits are its
 * bits. What is usual is asked of the bits of numbers: compilers make no vectors of comparisons here.
 * Compiled for each kind of machine. */
#include "expr/program.h"
#include <math.h>
#include <string.h>

#include "expr/elementary.inc"
#include "expr/kernels.inc"

static const long long EXPONENT = 0x0010000000000000, SIZE = 0x7fffffffffffffff;

/* Sizes up to which 2^k is one factor. */
static const double EXP_MOST = 708, POW_MOST = 706;

typedef struct elementary_loops {
    void (*exp)(size_t n, const double *a, double *r);
    void (*log)(size_t n, const double *a, double *r);
    void (*pow)(size_t n, const double *a, const double *b, int step, double *r);
    void (*powi)(size_t n, const double *a, int power, double *r);
    void (*log_quotient)(const clsi_instruction *in, size_t n, const double *a, const double *b,
                         double *r);
    void (*exp_quotient)(const clsi_instruction *in, size_t n, const double *a, const double *b,
                         double *r);
    void (*exp_from)(const clsi_instruction *in, size_t n, const double *a, const double *b,
                     const double *v, double *r);
    void (*power_from)(const clsi_instruction *in, size_t n, const double *a, const double *b,
                       const double *v, double *r);
    void (*pow_from)(int inverse, size_t n, const double *a, const double *b, const double *v,
                     double *r);
} elementary_loops;

/* Vectors are as wide as the machine's: of wider ones GCC 12 makes detours over the stack. */
/* Something that is not zero where one of them is negative. */
#define NEGATIVE(off) ((off)[0] < 0 || (off)[1] < 0)
#define LOOP(name)    name##_plain
#define TARGET
#define WIDTH 2
#define ALL(x)                                                                                     \
    { x, x }
#include "expr/elementary_loops.h"
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define NEGATIVE(off) _mm256_movemask_pd((__m256d)(off))
#define LOOP(name)    name##_avx2
#define TARGET        __attribute__((target("avx2")))
#define WIDTH         4
#define ALL(x)                                                                                     \
    { x, x, x, x }
#include "expr/elementary_loops.h"
#define NEGATIVE(off) _mm512_cmplt_epi64_mask((__m512i)(off), _mm512_setzero_si512())
#define LOOP(name)    name##_avx512
#define TARGET        __attribute__((target("avx512f")))
#define WIDTH         8
#define ALL(x)                                                                                     \
    { x, x, x, x, x, x, x, x }
#include "expr/elementary_loops.h"

static const elementary_loops *loops_of_machine(void) {
    if (__builtin_cpu_supports("avx512f")) return &loops_avx512;
    return __builtin_cpu_supports("avx2") ? &loops_avx2 : &loops_plain;
}
#else
static const elementary_loops *loops_of_machine(void) {
    return &loops_plain;
}
#endif

/* ---- the ways in ---- */

int clsi_run_elementary(const clsi_instruction *in, const clsi_vector_op *op, const double *a,
                        const double *b, double *r) {
    const elementary_loops *loops = loops_of_machine();
    size_t n = op->n;
    if (!op->step_a) return 0;
    if (in->code == CLSI_CALL && in->function == CLS_FN_EXP)
        loops->exp(n, a, r);
    else if (in->code == CLSI_CALL && in->function == CLS_FN_LOG)
        loops->log(n, a, r);
    else if (in->code == CLSI_POW)
        loops->pow(n, a, b, op->step_b, r);
    else if (in->code == CLSI_POWI && in->power > 0)
        loops->powi(n, a, in->power, r);
    else if (in->code != CLSI_QUOTIENT || in->i + in->j > 3 || !op->step_b)
        return 0;
    else if (in->function == CLS_FN_LOG)
        loops->log_quotient(in, n, a, b, r);
    else if (in->function == CLS_FN_EXP)
        loops->exp_quotient(in, n, a, b, r);
    else
        return 0;
    return 1;
}

void clsi_run_from(const clsi_instruction *in, size_t n, const double *a, const double *b,
                   const double *v, double *r) {
    const elementary_loops *loops = loops_of_machine();
    if (in->code == CLSI_POW_FROM)
        loops->pow_from(in->i, n, a, b, v, r);
    else if (in->function == CLS_FN_EXP)
        loops->exp_from(in, n, a, b, v, r);
    else
        loops->power_from(in, n, a, b, v, r);
}
