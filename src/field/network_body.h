/* The inner loops of the network field, written once over a vector type; network_avx512.c,
 * network_avx2.c and network_portable.c include this file after defining
 *
 *     NAME, TARGET            the name of the table; the target attribute of every function
 *     V, vd, vi               lanes; vectors of V double and of V int64_t
 *     NV                      vectors across the register tile (ROWS x NV accumulators)
 *     FMA, FMA_ONE            a*b + c, fused where the machine can; of vectors, of numbers
 *     MIN, SPLAT              minimum, the second when unordered; all lanes equal
 *     HOLD(v)                 v stays in a register: compilers would load it again for each use
 *     QUOTIENT(i, a, b)       a/b of the vector i of several
 *     ANY_ABOVE(v, x)         whether a lane of v is above x
 *
 * Every element is one chain of multiply-adds in the order of k, whatever tile it falls into: the
 * bits do not depend on where a sample stands in its block, nor on the size of the block; and the
 * two versions with fused multiply-add agree to the last bit.
 *
 * Activations: exponential by a Taylor polynomial on |r| <= ln 2/2 (degree 13: 2e-17), tanh by
 * expm1 of its own, softplus by an atanh series, sin after Cody and Waite with the polynomials of
 * fdlibm. About 2 ulp; tests/field/test_network.c compares them with libm. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline)) TARGET
#define UNROLL _Pragma("GCC unroll 16")
enum { ROWS = CLSI_NETWORK_ROWS, PANEL = NV * V };

INLINE vd load(const double *p) {
    vd v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void store(double *p, vd v) {
    memcpy(p, &v, sizeof v);
}

INLINE vd pick(vi mask, vd yes, vd no) {
    return (vd)((mask & (vi)yes) | (~mask & (vi)no));
}

/* ---- activations ---- */

/* The polynomials are long chains of dependent operations. Taking GROUP vectors in step keeps the
 * processor busy, which cannot look ahead over several chains by itself. */
enum { GROUP = 4 };
#define EACH UNROLL for (int i = 0; i < group; i++)

/* expm1(x) = scale p + (scale - 1), with scale = 2^k and p = expm1(x - k ln 2), for every x[i]. */
INLINE void split_exp(int group, const vd *x, vd *scale, vd *p) {
    static const double c[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                               1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                               1.0 / 120,        1.0 / 24,        1.0 / 6,        1.0 / 2};
    vd shift = SPLAT(0x1.8p52), k[GROUP], r[GROUP];
    EACH scale[i] = FMA(x[i], SPLAT(0x1.71547652b82fep0), shift);
    EACH k[i] = scale[i] - shift;
    EACH r[i] = FMA(k[i], SPLAT(-0x1.62e42feep-1), x[i]); /* 30 bits: k times it is exact */
    EACH r[i] = FMA(k[i], SPLAT(-0x1.a39ef35793c76p-33), r[i]);
    EACH p[i] = SPLAT(c[0]);
    UNROLL
    for (int t = 1; t < 12; t++) EACH p[i] = FMA(p[i], r[i], SPLAT(c[t]));
    EACH p[i] = FMA(p[i], r[i] * r[i], r[i]);
    EACH scale[i] = (vd)(((vi)scale[i] << 52) + (vi)SPLAT(1)); /* k is in the low bits */
}

/* tanh |z| = m/(m + 2) with m = expm1(2 |z|) = 2 2^k h + (2^k - 1), h = expm1(2 r)/2 and
 * r = |z| - k ln 2/2. One multiply-add is enough for r: what is missing of k ln 2/2 is below half a
 * unit of r for k = 1, and the larger k, the less tanh feels it. h = r + r^2 Q(r) by the best
 * polynomial for |r| <= ln 2/4: 3e-17 relative. */
INLINE void activate_tanh(int group, const double *z, double *a, double *s) {
    static const double c[] = {0x1.af6f644cd27f5p-16, 0x1.289bee22805f1p-13, 0x1.71ddeee59164dp-11,
                               0x1.a019ae25b9078p-9,  0x1.a01a01b386624p-7,  0x1.6c16c17c49238p-5,
                               0x1.111111110ee1cp-3,  0x1.5555555552ec9p-2,  0x1.555555555555ap-1,
                               0x1.0000000000003p+0};
    vd shift = SPLAT(0x1.8p52 + 1024), y[GROUP], scale[GROUP], r[GROUP], m[GROUP];
    EACH y[i] = (vd)((vi)load(z + i * V) & ~(vi)SPLAT(-0.0));
    EACH y[i] = MIN(SPLAT(20), y[i]); /* tanh 20 = 1 in double; NaN stays */
    EACH scale[i] = FMA(y[i], SPLAT(0x1.71547652b82fep1), shift);
    EACH r[i] = FMA(scale[i] - shift, SPLAT(-0x1.62e42fefa39efp-2), y[i]);
    EACH m[i] = SPLAT(c[0]);
    UNROLL
    for (int t = 1; t < 10; t++) EACH m[i] = FMA(m[i], r[i], SPLAT(c[t]));
    EACH m[i] = FMA(m[i], r[i] * r[i], r[i]);
    EACH scale[i] = (vd)((vi)scale[i] << 52); /* k + 1024 is in the low bits: 2 2^k */
    EACH m[i] = FMA(scale[i], m[i], FMA(scale[i], SPLAT(0.5), SPLAT(-1)));
    EACH y[i] = QUOTIENT(i, m[i], m[i] + 2);
    if (s) EACH store(s + i * V, FMA(-y[i], y[i], SPLAT(1)));
    EACH store(a + i * V, (vd)((vi)y[i] | ((vi)load(z + i * V) & (vi)SPLAT(-0.0))));
}

/* max(z, 0) + log1p(u), u = e^-|z|; log1p u = 2 atanh w, w = u/(2 + u) <= 1/3. */
INLINE vd activate_softplus(vd z, vd *s) {
    vi sign = (vi)z & (vi)SPLAT(-0.0);
    vd scale, y = MIN(SPLAT(700), (vd)((vi)z ^ sign));
    vd p, x = -y;
    split_exp(1, &x, &scale, &p);
    vd u = FMA(scale, p, scale);
    vd w = u / (2 + u), w2 = w * w, q = SPLAT(1.0 / 33);
    for (int i = 31; i > 1; i -= 2) q = FMA(q, w2, SPLAT(1.0 / i));
    vi positive = z > 0;
    vd inverse = 1 / (1 + u);
    *s = pick(positive, inverse, u * inverse);
    vd l = FMA(q * w2, w + w, w + w);
    return pick(positive, z + l, l);
}

INLINE vd sin_polynomial(vd r, vd r2) {
    static const double c[] = {1.58969099521155010221e-10, -2.50507602534068634195e-08,
                               2.75573137070700676789e-06, -1.98412698298579493134e-04,
                               8.33333333332248946124e-03, -1.66666666666666324348e-01};
    vd p = SPLAT(c[0]);
    UNROLL
    for (int i = 1; i < 6; i++) p = FMA(p, r2, SPLAT(c[i]));
    return FMA(p * r2, r, r);
}

INLINE vd cos_polynomial(vd r2) {
    static const double c[] = {-1.13596475577881948265e-11, 2.08757232129817482790e-09,
                               -2.75573143513906633035e-07, 2.48015872894767294178e-05,
                               -1.38888888888741095749e-03, 4.16666666666666019037e-02};
    vd p = SPLAT(c[0]);
    UNROLL
    for (int i = 1; i < 6; i++) p = FMA(p, r2, SPLAT(c[i]));
    return FMA(p, r2 * r2, FMA(SPLAT(-0.5), r2, SPLAT(1)));
}

/* Beyond 1e5 the three-part reduction loses digits: such lanes go to libm. */
static TARGET __attribute__((noinline)) void sin_far(const double *z, double *a, double *s) {
    for (int i = 0; i < V; i++) {
        if (!(fabs(z[i]) > 1e5)) continue;
        a[i] = sin(z[i]);
        s[i] = cos(z[i]);
    }
}

INLINE vd activate_sin(vd z, vd *s) {
    vd shift = SPLAT(0x1.8p52), t = FMA(z, SPLAT(6.36619772367581382433e-01), shift);
    vd k = t - shift, r = FMA(k, SPLAT(-1.57079632673412561417e+00), z);
    r = FMA(k, SPLAT(-6.07710050630396597660e-11), r);
    r = FMA(k, SPLAT(-2.02226624879595063154e-21), r);
    vd r2 = r * r, sine = sin_polynomial(r, r2), cosine = cos_polynomial(r2);
    vi quarter = (vi)t, odd = -(quarter & 1);
    vi flip_s = (quarter & 2) << 62, flip_c = ((quarter + 1) & 2) << 62;
    vd a = (vd)((vi)pick(odd, cosine, sine) ^ flip_s);
    *s = (vd)((vi)pick(odd, sine, cosine) ^ flip_c);
    if (ANY_ABOVE((vd)((vi)z & ~(vi)SPLAT(-0.0)), 1e5)) {
        double in[V], value[V], slope[V];
        store(in, z);
        store(value, a);
        store(slope, *s);
        sin_far(in, value, slope);
        *s = load(slope);
        return load(value);
    }
    return a;
}

/* f'' from a = f and s = f' of the other two. */
INLINE vd curvature(clsi_activation f, vd a, vd s) {
    if (f == CLSI_ACTIVATION_SIN) return -a;
    return FMA(-s, s, s);
}

static TARGET void activate(clsi_activation f, size_t n, const double *z, double *a, double *s) {
    size_t i = 0;
    vd slope;
    switch (f) {
    case CLSI_ACTIVATION_SOFTPLUS:
        for (; i < n; i += V) {
            store(a + i, activate_softplus(load(z + i), &slope));
            store(s + i, slope);
        }
        break;
    case CLSI_ACTIVATION_SIN:
        for (; i < n; i += V) {
            store(a + i, activate_sin(load(z + i), &slope));
            store(s + i, slope);
        }
        break;
    default:
        for (; i + GROUP * V <= n; i += GROUP * V)
            activate_tanh(GROUP, z + i, a + i, s ? s + i : NULL);
        for (; i < n; i += V) activate_tanh(1, z + i, a + i, s ? s + i : NULL);
    }
}

/* ---- the register tile ---- */

/* What will be wanted soon, and is fetched while a tile is computed: where its result goes, row by
 * row (up to three arrays), and for a product the next panel, `pace` bytes for each k. */
typedef struct soon {
    const double *row[3];
    size_t step;
    const char *panel;
    size_t pace;
} soon;

/* Fetches are spread over the tile in so many k at least: a row's worth at a time. */
enum { LONG = 64 };

/* Which of the three arrays are there is known wherever this is inlined. */
INLINE void fetch_row(int arrays, size_t n, size_t i, const soon *next) {
    UNROLL
    for (int t = 0; t < arrays; t++) {
        UNROLL
        for (size_t j = 0; j < n; j += 8)
            __builtin_prefetch(next->row[t] + i * next->step + j, 1, 3);
    }
}

/* c += left[i*row] right[j] */
INLINE void multiply_add(int rows, int vectors, const double *left, size_t row, const double *right,
                         vd c[ROWS][NV]) {
    vd r[NV];
    UNROLL
    for (int j = 0; j < vectors; j++) r[j] = load(right + j * V);
    UNROLL
    for (int i = 0; i < rows; i++) {
        vd l = SPLAT(left[(size_t)i * row]);
        UNROLL
        for (int j = 0; j < vectors; j++) c[i][j] = FMA(l, r[j], c[i][j]);
    }
}

INLINE void start_tile(int rows, int vectors, const double *start, size_t stride, vd c[ROWS][NV]) {
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < vectors; j++) c[i][j] = load(start + (size_t)i * stride + j * V);
    }
}

/* c = start + sum over k of left[i*row + k] right[k*next + j]: rows x vectors accumulators, which
 * the compiler keeps in registers because both are constants wherever this is inlined. */
INLINE void tile(int rows, int vectors, size_t k, const double *left, size_t row,
                 const double *right, const double *start, const soon *then, vd c[ROWS][NV]) {
    size_t part = k < LONG ? k : k / (size_t)rows;
    const char *panel = then->panel;
    start_tile(rows, vectors, start, 0, c);
    for (size_t turn = 0; k > 0; turn++) {
        if (k >= part + part) fetch_row(3, V * (size_t)vectors, turn, then);
        if (part > k) part = k;
        k -= part;
        for (size_t m = part; m > 0; m--, left++, right += V * vectors) {
            multiply_add(rows, vectors, left, row, right, c);
            __builtin_prefetch(panel, 0, 2);
            panel += then->pace;
        }
    }
}

/* The same for the sum of outer products, one or two a sample. */
INLINE void outer_tile(int rows, int vectors, int pairs, const clsi_network_factors *f, size_t row,
                       size_t column, const double *start, size_t start_stride, const soon *then,
                       vd c[ROWS][NV]) {
    const double *left = f->left + row, *right = f->right + column;
    const double *left_dot = pairs == 2 ? f->left_dot + row : NULL;
    const double *right_dot = pairs == 2 ? f->right_dot + column : NULL;
    size_t k = f->samples, part = k < LONG / 2 ? k : k / (size_t)rows, step = f->left_stride,
           next = f->right_stride;
    start_tile(rows, vectors, start, start_stride, c);
    for (size_t turn = 0; k > 0; turn++) {
        if (k >= part + part) fetch_row(1, V * (size_t)vectors, turn, then);
        if (part > k) part = k;
        k -= part;
        for (size_t m = part; m > 0; m--, left += step, right += next) {
            multiply_add(rows, vectors, left, 1, right, c);
            if (pairs == 1) continue;
            multiply_add(rows, vectors, left_dot, 1, right_dot, c);
            left_dot += step;
            right_dot += next;
        }
    }
}

INLINE void put_tile(int rows, int vectors, vd c[ROWS][NV], double *out, size_t stride) {
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < vectors; j++) store(out + (size_t)i * stride + j * V, c[i][j]);
    }
}

typedef void (*product_tile)(size_t, const double *, size_t, const double *, const double *,
                             double *, size_t, const soon *);
typedef void (*sum_tile)(const clsi_network_factors *, size_t, size_t, const double *, size_t,
                         double *, const soon *);

/* For every number of rows and vectors: the tile of a product (packed right, rows of left far
 * apart) and that of a sum of outer products (rows of left adjacent). */
#define TILE(R, N)                                                                                 \
    static TARGET void product_##R##_##N(size_t k, const double *left, size_t stride,              \
                                         const double *right, const double *start, double *out,    \
                                         size_t out_stride, const soon *then) {                    \
        vd c[ROWS][NV];                                                                            \
        tile(R, N, k, left, stride, right, start, then, c);                                        \
        put_tile(R, N, c, out, out_stride);                                                        \
    }                                                                                              \
    static TARGET void outer_##R##_##N(const clsi_network_factors *f, size_t row, size_t column,   \
                                       const double *start, size_t start_stride, double *C,        \
                                       const soon *then) {                                         \
        vd c[ROWS][NV];                                                                            \
        if (f->left_dot)                                                                           \
            outer_tile(R, N, 2, f, row, column, start, start_stride, then, c);                     \
        else                                                                                       \
            outer_tile(R, N, 1, f, row, column, start, start_stride, then, c);                     \
        put_tile(R, N, c, C, V *N);                                                                \
    }
#define TILES(N) TILE(1, N) TILE(2, N) TILE(3, N) TILE(4, N) TILE(5, N) TILE(6, N)
#define ROW_OF(kind, N)                                                                            \
    { kind##_1_##N, kind##_2_##N, kind##_3_##N, kind##_4_##N, kind##_5_##N, kind##_6_##N }
#if NV == 4
#define ALL_TILES   TILES(1) TILES(2) TILES(3) TILES(4)
#define TABLE(kind) ROW_OF(kind, 1), ROW_OF(kind, 2), ROW_OF(kind, 3), ROW_OF(kind, 4)
#else /* NV == 2 */
#define ALL_TILES   TILES(1) TILES(2)
#define TABLE(kind) ROW_OF(kind, 1), ROW_OF(kind, 2)
#endif

ALL_TILES

static const product_tile product_tiles[NV][ROWS] = {TABLE(product)};
static const sum_tile outer_tiles[NV][ROWS] = {TABLE(outer)};

/* ---- products ---- */

/* What becomes of a vector c of a product; it belongs `at` in the arrays of the layer. tanh keeps
 * no slopes: 1 - a^2 costs less than the way to memory. */
INLINE void finish_vector(clsi_network_op op, clsi_activation f, vd c, const clsi_network_layer *y,
                          size_t at) {
    int quick = f == CLSI_ACTIVATION_TANH;
    vd a = load(y->a + at), s, h;
    if (quick)
        s = FMA(-a, a, SPLAT(1));
    else
        s = load(y->s + at);
    switch (op) {
    case CLSI_NETWORK_BACKWARD:
        store(y->delta + at, s * c);
        if (!quick) store(y->h + at, curvature(f, a, s) * c);
        break;
    case CLSI_NETWORK_TANGENT:
        if (quick)
            h = -2 * a * load(y->delta + at);
        else
            h = load(y->h + at);
        store(y->adot + at, s * c);
        store(y->e + at, h * c);
        break;
    case CLSI_NETWORK_ADJOINT: store(y->e + at, s * c); break;
    default: store(y->e + at, FMA(s, c, load(y->e + at))); /* SECOND */
    }
}

INLINE void finish_row(clsi_network_op op, clsi_activation f, size_t n, const double *z,
                       const clsi_network_layer *y, size_t at) {
    for (size_t j = 0; j < n; j += V) finish_vector(op, f, load(z + j), y, at + j);
}

/* The arrays that a tile's operation touches. */
INLINE soon place_of(clsi_network_op op, const clsi_network_layer *y, size_t at) {
    const double *a = y->a + at, *e = y->e + at, *delta = y->delta + at;
    soon then = {.row = {a, e, a}, .step = y->ld};
    if (op == CLSI_NETWORK_FORWARD) then.row[1] = a;
    if (op == CLSI_NETWORK_BACKWARD) then.row[1] = delta;
    if (op == CLSI_NETWORK_TANGENT) then.row[2] = delta;
    return then;
}

/* The whole tiles of a panel in a network of tanh, finished while they are in registers or in the
 * first-level cache. Returns the samples that are done. */
INLINE size_t whole(clsi_network_op op, int vectors, const clsi_network_product *p, size_t column,
                    const double *right, const char *ahead, size_t pace) {
    const clsi_network_layer y = *p->layer;
    const double *left = p->left, *start = p->start + column;
    double z[ROWS * PANEL] __attribute__((aligned(64)));
    size_t i = 0, at = column, k = p->k, stride = p->left_stride, samples = p->samples;
    for (; i + ROWS <= samples; i += ROWS, left += ROWS * stride, ahead += k * pace) {
        vd c[ROWS][NV];
        soon then = place_of(op, &y, at);
        then.panel = ahead;
        then.pace = pace;
        tile(ROWS, vectors, k, left, stride, right, start, &then, c);
        if (op == CLSI_NETWORK_FORWARD) {
            put_tile(ROWS, vectors, c, z, PANEL);
            UNROLL
            for (int r = 0; r < ROWS; r++, at += y.ld)
                activate_tanh(vectors, z + r * PANEL, y.a + at, NULL);
            continue;
        }
        UNROLL
        for (int r = 0; r < ROWS; r++, at += y.ld) {
            UNROLL
            for (int j = 0; j < vectors; j++)
                finish_vector(op, CLSI_ACTIVATION_TANH, c[r][j], &y, at + (size_t)j * V);
        }
    }
    return i;
}

typedef size_t (*whole_panel)(const clsi_network_product *, size_t, const double *, const char *,
                              size_t);

#define WHOLE(name, op)                                                                            \
    static TARGET size_t name(const clsi_network_product *p, size_t column, const double *right,   \
                              const char *ahead, size_t pace) {                                    \
        return whole(op, NV, p, column, right, ahead, pace);                                       \
    }                                                                                              \
    static TARGET size_t name##_less(const clsi_network_product *p, size_t column,                 \
                                     const double *right, const char *ahead, size_t pace) {        \
        return whole(op, NV - 1, p, column, right, ahead, pace);                                   \
    }

WHOLE(whole_forward, CLSI_NETWORK_FORWARD)
WHOLE(whole_adjoint, CLSI_NETWORK_ADJOINT)
WHOLE(whole_backward, CLSI_NETWORK_BACKWARD)
WHOLE(whole_tangent, CLSI_NETWORK_TANGENT)
WHOLE(whole_second, CLSI_NETWORK_SECOND)

/* For panels of NV vectors, and of one less. */
static const whole_panel whole_panels[][2] = {
    [CLSI_NETWORK_FORWARD] = {whole_forward, whole_forward_less},
    [CLSI_NETWORK_ADJOINT] = {whole_adjoint, whole_adjoint_less},
    [CLSI_NETWORK_BACKWARD] = {whole_backward, whole_backward_less},
    [CLSI_NETWORK_TANGENT] = {whole_tangent, whole_tangent_less},
    [CLSI_NETWORK_SECOND] = {whole_second, whole_second_less},
    [CLSI_NETWORK_PLAIN] = {NULL, NULL}};

/* A tile (rows, n) to rows that are `stride` apart. With n a constant, as for most tiles, compilers
 * do not make calls of memcpy or slow string instructions of it. */
INLINE void spread_rows(size_t rows, size_t n, const double *tile, double *to, size_t stride) {
    for (size_t r = 0; r < rows; r++, tile += n, to += stride) {
        UNROLL
        for (size_t j = 0; j < n; j += V) store(to + j, load(tile + j));
    }
}

INLINE void spread(size_t rows, size_t n, const double *tile, double *to, size_t stride) {
    if (n == PANEL)
        spread_rows(rows, PANEL, tile, to, stride);
    else if (n == V)
        spread_rows(rows, V, tile, to, stride);
    else
        spread_rows(rows, n, tile, to, stride);
}

/* The rows of narrow tiles go all together: they keep the processor busier. */
static TARGET void finish_forward(const clsi_network_product *p, size_t rows, size_t n,
                                  const double *z, size_t at) {
    const clsi_network_layer *y = p->layer;
    double value[ROWS * PANEL] __attribute__((aligned(64)));
    double slope[ROWS * PANEL] __attribute__((aligned(64)));
    int slopes = p->activation != CLSI_ACTIVATION_TANH;
    activate(p->activation, rows * n, z, value, slopes ? slope : NULL);
    spread(rows, n, value, y->a + at, y->ld);
    if (slopes) spread(rows, n, slope, y->s + at, y->ld);
}

#define FINISH_ROW(op) finish_row(op, p->activation, n, z, p->layer, at)

static TARGET void finish(const clsi_network_product *p, size_t rows, size_t n, const double *z,
                          size_t at) {
    if (p->op == CLSI_NETWORK_FORWARD) {
        finish_forward(p, rows, n, z, at);
        return;
    }
    for (size_t r = 0; r < rows; r++, z += n, at += p->layer->ld) {
        switch (p->op) {
        case CLSI_NETWORK_BACKWARD: FINISH_ROW(CLSI_NETWORK_BACKWARD); break;
        case CLSI_NETWORK_TANGENT: FINISH_ROW(CLSI_NETWORK_TANGENT); break;
        case CLSI_NETWORK_ADJOINT: FINISH_ROW(CLSI_NETWORK_ADJOINT); break;
        default: FINISH_ROW(CLSI_NETWORK_SECOND);
        }
    }
}

/* Any tile of `rows` samples and n columns. */
static TARGET void part(const clsi_network_product *p, size_t sample, size_t rows, size_t column,
                        size_t n, const double *right, const char *ahead, size_t pace) {
    double z[ROWS * PANEL] __attribute__((aligned(64)));
    const double *left = p->left + sample * p->left_stride, *start = p->start + column;
    int plain = p->op == CLSI_NETWORK_PLAIN;
    size_t at = column + sample * (plain ? p->plain_stride : p->layer->ld);
    soon then = {.row = {z, z, z}};
    if (!plain) then = place_of(p->op, p->layer, at);
    then.panel = ahead;
    then.pace = pace;
    product_tiles[n / V - 1][rows - 1](p->k, left, p->left_stride, right, start,
                                       plain ? p->plain + at : z, plain ? p->plain_stride : n,
                                       &then);
    if (!plain) finish(p, rows, n, z, at);
}

/* Panel by panel, so that the panel of `right` stays in the first-level cache; all tiles of a panel
 * together fetch the next one into the second, where the processor alone would be late. */
static TARGET void product(const clsi_network_product *p) {
    const double *right = p->right;
    size_t n, tiles = (p->samples + ROWS - 1) / ROWS;
    for (size_t column = 0; column < p->n; column += n, right += p->k * n) {
        n = clsi_network_panel(&NAME, p->n - column);
        const char *ahead = (const char *)(column + n < p->n ? right + p->k * n : p->next);
        size_t pace = (n * sizeof *right + tiles - 1) / tiles, less = NV - n / V, i = 0;
        whole_panel quick =
            p->activation == CLSI_ACTIVATION_TANH && less < 2 ? whole_panels[p->op][less] : NULL;
        if (quick) i = quick(p, column, right, ahead, pace);
        for (; i < p->samples; i += ROWS)
            part(p, i, p->samples - i < ROWS ? p->samples - i : ROWS, column, n, right,
                 ahead + i / ROWS * p->k * pace, pace);
    }
}

static TARGET void outer(size_t rows, size_t columns, const clsi_network_factors *f,
                         const double *zero, double *C) {
    size_t n;
    for (size_t column = 0; column < columns; column += n) {
        n = clsi_network_panel(&NAME, columns - column);
        for (size_t i = 0; i < rows; i += ROWS) {
            size_t count = rows - i < ROWS ? rows - i : ROWS;
            soon s = {.row = {C + count * n}, .step = n};
            outer_tiles[n / V - 1][count - 1](f, i, column, zero ? zero : C, zero ? 0 : n, C, &s);
            C += count * n;
        }
    }
}

/* ---- one sample's row ---- */

/* `vectors` vectors across; what multiplies stays in registers. */
INLINE void row_panel(int pairs, int vectors, size_t rows, size_t columns,
                      const clsi_network_factors *f, size_t column, double *C) {
    vd r[NV], rdot[NV];
    C += column;
    UNROLL
    for (int j = 0; j < vectors; j++) {
        r[j] = load(f->right + column + j * V);
        if (pairs == 2) rdot[j] = load(f->right_dot + column + j * V);
    }
    for (size_t i = 0; i < rows; i++, C += columns) {
        vd l = SPLAT(f->left[i]), ldot = SPLAT(pairs == 2 ? f->left_dot[i] : 0);
        UNROLL
        for (int j = 0; j < vectors; j++) {
            vd c = FMA(l, r[j], load(C + j * V));
            if (pairs == 2) c = FMA(ldot, rdot[j], c);
            store(C + j * V, c);
        }
    }
}

/* Columns that fill no vector, one by one: a masked load right after the masked store of the row
 * before, which overlaps it, would wait for that store. */
INLINE void row_part(int pairs, size_t rows, size_t columns, const clsi_network_factors *f,
                     size_t column, double *C) {
    for (size_t i = 0; i < rows; i++, C += columns) {
        for (size_t j = column; j < columns; j++) {
            double c = FMA_ONE(f->left[i], f->right[j], C[j]);
            if (pairs == 2) c = FMA_ONE(f->left_dot[i], f->right_dot[j], c);
            C[j] = c;
        }
    }
}

INLINE void row_any(int pairs, size_t rows, size_t columns, const clsi_network_factors *f,
                    double *C) {
    size_t j = 0;
    for (; j + PANEL <= columns; j += PANEL) row_panel(pairs, NV, rows, columns, f, j, C);
    for (; j + V <= columns; j += V) row_panel(pairs, 1, rows, columns, f, j, C);
    if (j < columns) row_part(pairs, rows, columns, f, j, C);
}

static TARGET void row(size_t rows, size_t columns, const clsi_network_factors *f, double *C) {
    if (f->left_dot)
        row_any(2, rows, columns, f, C);
    else
        row_any(1, rows, columns, f, C);
}

/* Eight lanes, whatever V is: the same bits for all. */
static TARGET void dot(size_t samples, size_t k, const double *left, size_t stride, const double *w,
                       double *out) {
    enum { PARTS = CLSI_NETWORK_LANES / V };
    for (size_t s = 0; s < samples; s++, left += stride) {
        double l[CLSI_NETWORK_LANES] __attribute__((aligned(64)));
        vd c[PARTS];
        UNROLL
        for (int i = 0; i < PARTS; i++) c[i] = load(left + i * V) * load(w + i * V);
        for (size_t j = CLSI_NETWORK_LANES; j < k; j += CLSI_NETWORK_LANES) {
            UNROLL
            for (int i = 0; i < PARTS; i++)
                c[i] = FMA(load(left + j + i * V), load(w + j + i * V), c[i]);
        }
        UNROLL
        for (int i = 0; i < PARTS; i++) store(l + i * V, c[i]);
        out[s] = ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    }
}

INLINE void sum_part(int vectors, size_t k, const double *left, size_t stride, double *out) {
    vd c[NV];
    UNROLL
    for (int j = 0; j < vectors; j++) c[j] = load(out + j * V);
    for (size_t t = 0; t < k; t++, left += stride) {
        UNROLL
        for (int j = 0; j < vectors; j++) c[j] += load(left + j * V);
    }
    UNROLL
    for (int j = 0; j < vectors; j++) store(out + j * V, c[j]);
}

static TARGET void sum(size_t k, size_t n, const double *left, size_t stride, double *out) {
    size_t i = 0;
    for (; i + NV * V <= n; i += NV * V) sum_part(NV, k, left + i, stride, out + i);
    for (; i < n; i += V) sum_part(1, k, left + i, stride, out + i);
}

static TARGET void add(size_t n, double *from, double *out, size_t step) {
    size_t i = 0;
    for (; step == 1 && i + V <= n; i += V) store(out + i, load(out + i) + load(from + i));
    for (; i < n; i++) out[i * step] += from[i];
}

#include "field/network_node_body.h"

const clsi_network_kernel NAME = {.name = NAME_TEXT,
                                  .panel = PANEL,
                                  .supported = supported,
                                  .product = product,
                                  .dot = dot,
                                  .outer = outer,
                                  .row = row,
                                  .sum = sum,
                                  .add = add,
                                  .activate = activate,
                                  .node_panel = NODE_PANEL,
                                  .node = clsi_n_run,
                                  .node_values = node_values,
                                  .node_gradients = node_gradients,
                                  .node_back = node_back};
