/* The network's inner loops with AVX2 and fused multiply-add: 6 x 2 accumulators of 4 doubles, 12
 * of the 16 registers. On other processors and compilers: a table that says it is not supported. */
#include "field/network_tables.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define NAME      clsi_network_avx2
#define NAME_TEXT "avx2"
#define TARGET    __attribute__((target("avx2,fma")))
#define V         4
#define NV        2
typedef double vd __attribute__((vector_size(32)));
typedef long long vi __attribute__((vector_size(32)));

#define FMA(a, b, c)      _mm256_fmadd_pd(a, b, c)
#define FMA_ONE(a, b, c)  __builtin_fma(a, b, c)
#define MIN(a, b)         _mm256_min_pd(a, b)
#define QUOTIENT(i, a, b) ((a) / (b))
#define SPLAT(x)          _mm256_set1_pd(x)
#define HOLD(v)           __asm__("" : "+x"(v))
#define ANY_ABOVE(v, x)   (_mm256_movemask_pd(_mm256_cmp_pd(v, _mm256_set1_pd(x), _CMP_GT_OQ)) != 0)

static int supported(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#include "field/network_body.h"
#else
static int supported(void) {
    return 0;
}
const clsi_network_kernel clsi_network_avx2 = {.name = "avx2", .supported = supported};
#endif
