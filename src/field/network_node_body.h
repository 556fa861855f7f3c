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

/* ---- products ---- */

INLINE void node_tile(int vectors, int columns, int k_end, const double *W, const double *start,
                      const double *x, int x_step, double *y, int y_step) {
    vd sum[NODE_COLUMNS][NODE_VECTORS];
    UNROLL
    for (int c = 0; c < columns; c++) UNROLL
    for (int v = 0; v < vectors; v++) sum[c][v] = start ? load(start + v * V) : (vd)SPLAT(0);
    for (int k = 0; k < k_end; k++, W += vectors * V) {
        UNROLL
        for (int c = 0; c < columns; c++) {
            vd factor = SPLAT(x[c * x_step + k]);
            UNROLL
            for (int v = 0; v < vectors; v++) sum[c][v] = sum[c][v] + load(W + v * V) * factor;
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

/* y[c] = W^T x[c] + start, W (k_end, n) by panels, n a multiple of CLSI_NETWORK_LANES. A panel acts
 * on all columns while it is near. */
TARGET static void node_times(int k_end, int n, const double *W, const double *start, int columns,
                              const double *x, int x_step, double *y, int y_step) {
    for (int i = 0; i < n; i += NODE_PANEL) {
        int lanes = n - i < NODE_PANEL ? n - i : NODE_PANEL, c = 0;
        const double *from = start ? start + i : NULL;
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

INLINE vd node_sum15(const double *c, vd x) {
    vd x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
    vd low = ((c[0] + c[1] * x) + (c[2] + c[3] * x) * x2) +
             ((c[4] + c[5] * x) + (c[6] + c[7] * x) * x2) * x4;
    vd high =
        ((c[8] + c[9] * x) + (c[10] + c[11] * x) * x2) + ((c[12] + c[13] * x) + c[14] * x2) * x4;
    return low + high * x8;
}

INLINE vd node_tanh(vd x) {
    vi sign = (vi)x & (vi)SPLAT(-0.0);
    vd y = (vd)((vi)x ^ sign);
    y = 2 * pick(y > SPLAT(20), SPLAT(20), y);
    vd scale = (y * 0x1.71547652b82fep0 - 0.2935) + 0x1.8p52, k = scale - 0x1.8p52;
    vd r = y - k * 0x1.62e42feep-1;
    r = r - k * 0x1.a39ef35793c76p-33;
    vd p = node_sum15(clsi_k_exp_terms, r) * (r * r) + r;
    scale = (vd)(((vi)scale << 52) + (vi)SPLAT(1));
    vd m = scale * p + (scale - 1), q = m / (m + 2), small = pick(m > SPLAT(4), SPLAT(4), m);
    q = q - q * ((small - ((small + 2) - 2)) * (0.5 - 0.5 * q));
    return (vd)((vi)q | sign);
}

INLINE vd node_tanh_over(vd d) {
    vi zero = d == SPLAT(0);
    return pick(zero, SPLAT(1), node_tanh(d)) / pick(zero, SPLAT(1), d);
}

INLINE vd node_tanh_over_slope(vd d, vd over) {
    vd t = over * d, series = node_sum15(clsi_k_tanh_terms, d * d);
    vi near = (vd)((vi)d & ~(vi)SPLAT(-0.0)) < SPLAT(0.4);
    return pick(near, series * d, ((1 - t * t) - over) / pick(near, SPLAT(1), d));
}

TARGET static void node_tanh_all(int n, const double *z, double *a) {
    for (int i = 0; i < n; i += V) store(a + i, node_tanh(load(z + i)));
}

TARGET static void node_over_all(int n, const double *u, const double *w, double *over) {
    for (int i = 0; i < n; i += V) store(over + i, node_tanh_over(load(u + i) - load(w + i)));
}

TARGET static void node_slope_all(int n, const double *u, const double *w, const double *over,
                                  double *slope) {
    for (int i = 0; i < n; i += V)
        store(slope + i, node_tanh_over_slope(load(u + i) - load(w + i), load(over + i)));
}

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
