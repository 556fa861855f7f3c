/* The network's inner loops with AVX-512: 6 x 4 accumulators of 8 doubles, 24 of the 32 registers.
 * On other processors and compilers this file is a table that says it is not supported. */
#include "field/network_tables.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define NAME      clsi_network_avx512
#define NAME_TEXT "avx512"
#define TARGET    __attribute__((target("avx512f,avx512dq,avx2,fma")))
#define V         8
#define NV        4
typedef double vd __attribute__((vector_size(64)));
typedef long long vi __attribute__((vector_size(64)));

#define FMA(a, b, c)     _mm512_fmadd_pd(a, b, c)
#define FMA_ONE(a, b, c) __builtin_fma(a, b, c)
#define MIN(a, b)        _mm512_min_pd(a, b)
#define SPLAT(x)         _mm512_set1_pd(x)
#define ANY_ABOVE(v, x)  (_mm512_cmp_pd_mask(v, _mm512_set1_pd(x), _CMP_GT_OQ) != 0)

static int supported(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

#include "field/network_body.h"
#else
static int supported(void) {
    return 0;
}
const clsi_network_kernel clsi_network_avx512 = {.name = "avx512", .supported = supported};
#endif
