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

#define FMA(a, b, c)      _mm512_fmadd_pd(a, b, c)
#define FMA_ONE(a, b, c)  __builtin_fma(a, b, c)
#define MIN(a, b)         _mm512_min_pd(a, b)
#define QUOTIENT(i, a, b) ((i) == 2 ? quotient(a, b) : (a) / (b))
#define SPLAT(x)          _mm512_set1_pd(x)
#define HOLD(v)           (void)(v)
#define ANY_ABOVE(v, x)   (_mm512_cmp_pd_mask(v, _mm512_set1_pd(x), _CMP_GT_OQ) != 0)

/* a/b of every fourth vector without the divider, which is slower than all the rest of tanh: b r =
 * 1 - e with |e| < 2^-14, 1/b = r (1 + e + e^2 + e^3) to 2^-56, and a step of Newton's method with
 * the exact remainder. That rounds as the division does (Markstein 1990), but for one quotient in
 * some 1e15. */
static inline __attribute__((always_inline)) TARGET vd quotient(vd a, vd b) {
    vd r = _mm512_rcp14_pd(b), e = _mm512_fnmadd_pd(b, r, SPLAT(1));
    r = FMA(r, FMA(e, FMA(e, e, e), e), r);
    vd q = a * r;
    return FMA(_mm512_fnmadd_pd(q, b, a), r, q);
}

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
