/* Networks at one point (network_node.inc) in the vectors of an instruction set, for
 * network_body.h: products and tanh are here, the rest is the same text. Multiplications and
 * additions are rounded one by one in the order of the plain loops, so that the bits are those of
 * emitted C on every machine.
 *
 * Weights are by panels of NODE_PANEL columns, each (k, columns), the last one narrower: a product
 * reads memory in one stream. */
#include "expr/kernels.h"

#include "expr/elementary.inc"
#include "expr/kernels.inc"

enum { NODE_VECTORS = 4, NODE_PANEL = NODE_VECTORS * V, NODE_COLUMNS = V == 8 ? 4 : 2 };
enum { NODE_THIN = 8 }; /* columns that a panel of one vector acts on together */

/* ---- products ---- */

INLINE void node_tile(int vectors, int columns, int k_end, const double *W, const double *start,
                      const double *x, int x_step, double *y, int y_step) {
    vd sum[NODE_THIN][NODE_VECTORS];
    UNROLL
    for (int c = 0; c < columns; c++) UNROLL
    for (int v = 0; v < vectors; v++) sum[c][v] = start ? load(start + v * V) : (vd)SPLAT(0);
    for (int k = 0; k < k_end; k++, W += vectors * V) {
        vd factor[NODE_THIN];
        UNROLL
        for (int c = 0; c < columns; c++) factor[c] = SPLAT(x[c * x_step + k]);
        UNROLL
        for (int v = 0; v < vectors; v++) {
            vd weights = load(W + v * V);
            if (columns > 1) HOLD(weights);
            UNROLL
            for (int c = 0; c < columns; c++) sum[c][v] = sum[c][v] + weights * factor[c];
        }
    }
    UNROLL
    for (int c = 0; c < columns; c++) UNROLL
    for (int v = 0; v < vectors; v++) store(y + c * y_step + v * V, sum[c][v]);
}

INLINE void node_panel(int columns, int lanes, int k_end, const double *W, const double *start,
                       const double *x, int x_step, double *y, int y_step) {
    if (lanes >= 4 * V)
        node_tile(4, columns, k_end, W, start, x, x_step, y, y_step);
    else if (lanes > 2 * V)
        node_tile(3, columns, k_end, W, start, x, x_step, y, y_step);
    else if (lanes > V)
        node_tile(2, columns, k_end, W, start, x, x_step, y, y_step);
    else
        node_tile(1, columns, k_end, W, start, x, x_step, y, y_step);
}

/* Two panels of one column: sums enough that none waits for the one before it. */
INLINE void node_two_panels(int k_end, const double *W, const double *start, const double *x,
                            double *y) {
    const double *next = W + (size_t)NODE_PANEL * (size_t)k_end;
    vd sum[2 * NODE_VECTORS];
    UNROLL
    for (int v = 0; v < 2 * NODE_VECTORS; v++) sum[v] = start ? load(start + v * V) : (vd)SPLAT(0);
    for (int k = 0; k < k_end; k++, W += NODE_PANEL, next += NODE_PANEL) {
        vd factor = SPLAT(x[k]);
        UNROLL
        for (int v = 0; v < NODE_VECTORS; v++) sum[v] = sum[v] + load(W + v * V) * factor;
        UNROLL
        for (int v = 0; v < NODE_VECTORS; v++)
            sum[NODE_VECTORS + v] = sum[NODE_VECTORS + v] + load(next + v * V) * factor;
    }
    UNROLL
    for (int v = 0; v < 2 * NODE_VECTORS; v++) store(y + v * V, sum[v]);
}

/* y[c] = W^T x[c] + start, W (k_end, n) by panels, n a multiple of CLSI_NETWORK_LANES. A panel acts
 * on all columns while it is near. */
TARGET static void node_times(int k_end, int n, const double *W, const double *start, int columns,
                              const double *x, int x_step, double *y, int y_step) {
    int i = 0;
    for (; columns == 1 && i + 2 * NODE_PANEL <= n; i += 2 * NODE_PANEL) {
        node_two_panels(k_end, W, start ? start + i : NULL, x, y + i);
        W += 2 * (size_t)NODE_PANEL * (size_t)k_end;
    }
    for (; i < n; i += NODE_PANEL) {
        int lanes = n - i < NODE_PANEL ? n - i : NODE_PANEL, c = 0;
        const double *from = start ? start + i : NULL;
        for (; lanes <= V && c + NODE_THIN <= columns; c += NODE_THIN)
            node_tile(1, NODE_THIN, k_end, W, from, x + c * x_step, x_step, y + c * y_step + i,
                      y_step);
        for (; lanes == 2 * V && c + 4 <= columns; c += 4)
            node_tile(2, 4, k_end, W, from, x + c * x_step, x_step, y + c * y_step + i, y_step);
        for (; c + NODE_COLUMNS <= columns; c += NODE_COLUMNS)
            node_panel(NODE_COLUMNS, lanes, k_end, W, from, x + c * x_step, x_step,
                       y + c * y_step + i, y_step);
        for (; c < columns; c++)
            node_panel(1, lanes, k_end, W, from, x + c * x_step, x_step, y + c * y_step + i,
                       y_step);
        W += (size_t)lanes * (size_t)k_end;
    }
}

/* ---- tanh: the kernels of kernels.inc, operation by operation ---- */

/* A tanh is a chain of forty operations that wait for each other: up to so many vectors take every
 * operation in turns. */
enum { NODE_ABREAST = 4 };
#define ABREAST UNROLL for (int j = 0; j < n; j++)

/* clsi_k_sum15 at x[j] */
INLINE void node_sums15(int n, const double *c, const vd *x, vd *y) {
    vd x2[NODE_ABREAST], x4[NODE_ABREAST], a[NODE_ABREAST], b[NODE_ABREAST];
    ABREAST x2[j] = x[j] * x[j];
    ABREAST y[j] = c[0] + c[1] * x[j];
    ABREAST x4[j] = x2[j] * x2[j];
    ABREAST y[j] = y[j] + (c[2] + c[3] * x[j]) * x2[j];
    ABREAST a[j] = c[4] + c[5] * x[j];
    ABREAST a[j] = a[j] + (c[6] + c[7] * x[j]) * x2[j];
    ABREAST y[j] = y[j] + a[j] * x4[j];
    ABREAST a[j] = c[8] + c[9] * x[j];
    ABREAST a[j] = a[j] + (c[10] + c[11] * x[j]) * x2[j];
    ABREAST b[j] = (c[12] + c[13] * x[j]) + c[14] * x2[j];
    ABREAST a[j] = a[j] + b[j] * x4[j];
    ABREAST y[j] = y[j] + a[j] * (x4[j] * x4[j]);
}

INLINE void node_tanhs(int n, vd *x) {
    vd r[NODE_ABREAST], scale[NODE_ABREAST], k[NODE_ABREAST], p[NODE_ABREAST];
    vi sign[NODE_ABREAST];
    ABREAST sign[j] = (vi)x[j] & (vi)SPLAT(-0.0);
    ABREAST r[j] = (vd)((vi)x[j] ^ sign[j]);
    ABREAST r[j] = 2 * pick(r[j] > SPLAT(20), SPLAT(20), r[j]);
    ABREAST scale[j] = (r[j] * 0x1.71547652b82fep0 - 0.2935) + 0x1.8p52;
    ABREAST k[j] = scale[j] - 0x1.8p52;
    ABREAST r[j] = r[j] - k[j] * 0x1.62e42feep-1;
    ABREAST r[j] = r[j] - k[j] * 0x1.a39ef35793c76p-33;
    node_sums15(n, clsi_k_exp_terms, r, p);
    ABREAST p[j] = p[j] * (r[j] * r[j]) + r[j];
    ABREAST scale[j] = (vd)(((vi)scale[j] << 52) + (vi)SPLAT(1));
    ABREAST k[j] = scale[j] * p[j] + (scale[j] - 1); /* m = e^2x - 1 */
    ABREAST p[j] = k[j] / (k[j] + 2);                /* q */
    ABREAST k[j] = pick(k[j] > SPLAT(4), SPLAT(4), k[j]);
    ABREAST k[j] = (k[j] - ((k[j] + 2) - 2)) * (0.5 - 0.5 * p[j]);
    ABREAST p[j] = p[j] - p[j] * k[j];
    ABREAST x[j] = (vd)((vi)p[j] | sign[j]);
}

/* tanh(d)/d */
INLINE void node_tanhs_over(int n, const vd *d, vd *over) {
    ABREAST over[j] = d[j];
    node_tanhs(n, over);
    ABREAST {
        vi zero = d[j] == SPLAT(0);
        over[j] = pick(zero, SPLAT(1), over[j]) / pick(zero, SPLAT(1), d[j]);
    }
}

INLINE vd node_tanh_over_slope(vd d, vd over) {
    vd t = over * d, square = d * d, series;
    node_sums15(1, clsi_k_tanh_terms, &square, &series);
    vi near = (vd)((vi)d & ~(vi)SPLAT(-0.0)) < SPLAT(0.4);
    return pick(near, series * d, ((1 - t * t) - over) / pick(near, SPLAT(1), d));
}

INLINE void node_tanh_at(int count, const int *at, const double *z, double *a) {
    vd x[NODE_ABREAST];
    UNROLL
    for (int j = 0; j < count; j++) x[j] = load(z + at[j]);
    node_tanhs(count, x);
    UNROLL
    for (int j = 0; j < count; j++) store(a + at[j], x[j]);
}

/* a = tanh(z) of n vectors at each of `points`, which are `step` apart. */
TARGET static void node_tanh_points(int n, int points, const double *z, double *a, int step) {
    int at[NODE_ABREAST], have = 0;
    for (int s = 0; s < points; s++)
        for (int i = 0; i < n; i++) {
            at[have++] = s * step + i * V;
            if (have < NODE_ABREAST) continue;
            node_tanh_at(NODE_ABREAST, at, z, a);
            have = 0;
        }
    if (have & 2) node_tanh_at(2, at, z, a);
    if (have & 1) node_tanh_at(1, at + (have & 2), z, a);
}

TARGET static void node_tanh_all(int n, const double *z, double *a) {
    node_tanh_points(n / V, 1, z, a, 0);
}

INLINE void node_over_some(int count, const double *u, const double *w, double *over) {
    vd d[NODE_ABREAST], q[NODE_ABREAST];
    UNROLL
    for (int j = 0; j < count; j++) d[j] = load(u + j * V) - load(w + j * V);
    node_tanhs_over(count, d, q);
    UNROLL
    for (int j = 0; j < count; j++) store(over + j * V, q[j]);
}

TARGET static void node_over_all(int n, const double *u, const double *w, double *over) {
    int i = 0;
    for (; i + 4 * V <= n; i += 4 * V) node_over_some(4, u + i, w + i, over + i);
    for (; i < n; i += V) node_over_some(1, u + i, w + i, over + i);
}

TARGET static void node_slope_all(int n, const double *u, const double *w, const double *over,
                                  double *slope) {
    for (int i = 0; i < n; i += V)
        store(slope + i, node_tanh_over_slope(load(u + i) - load(w + i), load(over + i)));
}

#undef ABREAST

/* One copy of the rarer kernels will do. */
#define clsi_k_function_value clsi_function_value
#define clsi_k_quotient_value clsi_quotient_value
#define CLSI_N_OWN_LOOPS
#define CLSI_N_FUNCTION TARGET static
/* behind CLSI_N_SHAPE the library's shape has where the panels begin */
#define clsi_n_before(f, l) ((l) ? (f)[CLSI_N_WIDTH + (l)-1] : (f)[CLSI_N_D])
#define clsi_n_times(f, theta, l, biased, columns, x, x_step, y, y_step)                           \
    node_times(clsi_n_before(f, l), CLSI_N_PAD((f)[CLSI_N_WIDTH + (l)]),                           \
               (theta) + (f)[CLSI_NODE_FORWARD + (l)],                                             \
               (biased) ? (theta) + (f)[CLSI_N_BIAS + (l)] : NULL, columns, x, x_step, y, y_step)
#define clsi_n_back(f, theta, l, columns, e, e_step, y, y_step)                                    \
    node_times((f)[CLSI_N_WIDTH + (l)], CLSI_N_PAD(clsi_n_before(f, l)),                           \
               (theta) + (f)[CLSI_NODE_BACKWARD + (l)], NULL, columns, e, e_step, y, y_step)
#define clsi_n_tanh            node_tanh_all
#define clsi_n_tanh_over       node_over_all
#define clsi_n_tanh_over_slope node_slope_all
#include "field/network_node.inc"
#include "field/network_node_back.h"
