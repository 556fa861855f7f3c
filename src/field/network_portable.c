/* The network's inner loops in the vector extensions of C compilers, two lanes, no fused
 * multiply-add: for every processor. Differs from the fused versions by round-off. */
#include "field/network_tables.h"

#define NAME      clsi_network_portable
#define NAME_TEXT "portable"
#define TARGET
#define V  2
#define NV 2
typedef double vd __attribute__((vector_size(16)));
typedef long long vi __attribute__((vector_size(16)));

#define FMA(a, b, c)      ((a) * (b) + (c))
#define FMA_ONE(a, b, c)  ((a) * (b) + (c))
#define MIN(a, b)         smaller(a, b)
#define QUOTIENT(i, a, b) ((a) / (b))
#define SPLAT(x)          ((vd){(x), (x)})
#define HOLD(v)           (void)(v)
#define ANY_ABOVE(v, x)   ((v)[0] > (x) || (v)[1] > (x))

static inline vd smaller(vd a, vd b) {
    vi mask = a < b;
    return (vd)((mask & (vi)a) | (~mask & (vi)b));
}

static int supported(void) {
    return 1;
}

#include "field/network_body.h"
