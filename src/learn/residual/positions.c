/* Positions alone as data: from windows of three positions to intervals and their nodes.
 *
 * Velocities are rarely measured well (Deep DTLM). Every rule here gives the momentum at both ends
 * of the interval between two positions, and a window says that the right end of the left interval
 * and the left end of the right one are the same momentum; steps may differ. With v = dq/h:
 *
 *   discrete-gradient  p = M v -+ (h/2) gbar(q1, q0): (11); the window is (12)
 *   leapfrog           p = M v -+ (h/2) V'(q) at that end; the window is (13)
 *   symplectic-euler   the same equation in positions (17)
 *   euler              p1 = M v - h V'(q0), p0 = M v; (19)
 *   weak               the weak form with a hat function: p1 = mean p + int s f dt over the
 *                      interval, p0 = mean p - int (1 - s) f dt, s from 0 to 1, f = L_q + F, along
 *                      the polynomial through eight neighbouring positions, three Gauss points.
 *                      This is p' = f multiplied with the hat and integrated; the only error is that
 *                      of interpolation: order 8 inside a trajectory where steps are equal.
 *
 * The first four are of order 2, 2, 2, 1 and put that error into what is learned; weak does not,
 * and takes any lagrangian, masses that depend on q and friction included. Noise sigma in positions
 * is noise of about 2.4 sigma/h^2 in any of them. */
#include "base/base.h"
#include "learn/learn.h"
#include <stdlib.h>
#include <string.h>

enum { STENCIL = 8 };

int clsi_only_positions(const cls_system *s, size_t n_tables, const cls_table *const *tables) {
    if (!s->canonical) return 0;
    for (size_t i = 0; i < n_tables; i++)
        for (size_t j = 0; j < s->n; j++) {
            char name[160];
            if (cls_table_find(tables[i], s->coordinate[j].name) < 0) return 0;
            for (const char *kind = "vp"; *kind; kind++) {
                snprintf(name, sizeof name, "%c.%.120s", *kind, s->coordinate[j].name);
                if (cls_table_find(tables[i], name) >= 0) return 0;
            }
        }
    return n_tables > 0;
}

size_t clsi_position_margin(const clsi_rule *rule, size_t length) {
    return rule->positions && rule->positions->interpolated && length >= 2 * STENCIL
               ? STENCIL / 2 - 1
               : 0;
}

/* ---- interpolation ---- */

/* Weights of the values and of the derivative at t of the polynomial through n points x: the
 * recurrence of Fornberg, Math. Comp. 51 (1988). */
static void interpolation(size_t n, const double *x, double t, double *value, double *slope) {
    double before = 1;
    memset(value, 0, n * sizeof *value);
    memset(slope, 0, n * sizeof *slope);
    value[0] = 1;
    for (size_t i = 1; i < n; i++) {
        double product = 1, near = x[i] - t, last = x[i - 1] - t;
        for (size_t j = 0; j < i; j++) {
            double gap = x[i] - x[j];
            product *= gap;
            if (j + 1 == i) {
                slope[i] = before / product * (value[i - 1] - last * slope[i - 1]);
                value[i] = -before / product * last * value[i - 1];
            }
            slope[j] = (near * slope[j] - value[j]) / gap;
            value[j] = near * value[j] / gap;
        }
        before = product;
    }
}

/* Eight points around interval i, or those that its trajectory has. */
static size_t stencil(const clsi_intervals *all, const unsigned char *joined, size_t i,
                      size_t *first) {
    size_t begin = i, end = i + 1; /* inclusive */
    while (begin > 0 && joined[begin - 1] && i - begin < STENCIL) begin--;
    while (end + 1 < all->n_data && joined[end] && end - i < STENCIL) end++;
    size_t low = i + 1 > STENCIL / 2 + begin ? i + 1 - STENCIL / 2 : begin;
    size_t n = end - begin + 1 < STENCIL ? end - begin + 1 : STENCIL;
    *first = low + n - 1 > end ? end + 1 - n : low;
    return n;
}

static void interpolate(const clsi_points *p, const clsi_intervals *all,
                        const unsigned char *joined, size_t i, double t, double *q, double *v) {
    double value[STENCIL], slope[STENCIL];
    size_t first, n = stencil(all, joined, i, &first);
    interpolation(n, all->time + first, t, value, slope);
    for (size_t j = 0; j < all->dimension; j++) {
        const double *x = all->q + j * all->n_data + first;
        double sum = 0, rate = 0;
        for (size_t k = 0; k < n; k++) {
            sum += value[k] * x[k];
            rate += slope[k] * x[k];
        }
        q[j * p->n] = sum;
        v[j * p->n] = rate;
    }
}

/* ---- nodes ---- */

/* Intervals between trajectories are never used by a window; they stand still. */
static void fill_nodes(clsi_points *p, const clsi_intervals *all, const unsigned char *joined,
                       size_t i) {
    double t0 = all->time[i], h = all->h[i];
    for (size_t k = 0; k < all->nodes; k++) {
        size_t at = i * all->nodes + k;
        double s = p->rule.positions->place[k], *q = p->z + at, *v = q + all->dimension * p->n;
        p->time[at] = t0 + s * h;
        if (p->rule.positions->interpolated && joined[i]) {
            interpolate(p, all, joined, i, p->time[at], q, v);
            continue;
        }
        for (size_t j = 0; j < all->dimension; j++) {
            const double *x = all->q + j * all->n_data + i;
            q[j * p->n] = s == 0 || !joined[i] ? x[0] : s == 1 ? x[1] : 0.5 * (x[0] + x[1]);
            v[j * p->n] = joined[i] ? (x[1] - x[0]) / h : 0;
        }
    }
}

/* The data as points behind the nodes: ends of pairs. */
static void fill_ends(clsi_points *p, const clsi_intervals *all) {
    size_t first = all->n * all->nodes;
    for (size_t i = 0; i < all->n_data; i++) {
        p->time[first + i] = all->time[i];
        for (size_t j = 0; j < all->dimension; j++)
            p->z[j * p->n + first + i] = all->q[j * all->n_data + i];
    }
}

static cls_status take_data(clsi_points *p, size_t dimension, clsi_intervals *all,
                            cls_error *error) {
    const clsi_interval_rule *rule = p->rule.positions;
    all->nodes = rule->nodes;
    all->paired = rule->paired;
    memcpy(all->share, rule->share, sizeof all->share);
    memcpy(all->right, rule->right, sizeof all->right);
    memcpy(all->left, rule->left, sizeof all->left);
    all->dimension = dimension;
    all->n_data = p->n_data;
    all->n = p->n_data ? p->n_data - 1 : 0;
    all->time = p->time; /* moved */
    all->q = p->z;
    p->n = all->n * all->nodes + (all->paired ? all->n_data : 0);
    p->n_data = all->n * all->nodes;
    p->nz = 2 * dimension;
    p->time = clsi_calloc(p->n, sizeof *p->time);
    p->z = clsi_calloc(p->n * p->nz, sizeof *p->z);
    all->h = clsi_calloc(all->n + 1, sizeof *all->h);
    return p->time && p->z && all->h ? CLS_OK : clsi_no_memory(error);
}

cls_status clsi_points_expand(clsi_points *p, size_t dimension, const unsigned char *joined,
                              cls_error *error) {
    clsi_intervals *all = p->intervals = clsi_calloc(1, sizeof *all);
    if (!all) return clsi_no_memory(error);
    cls_status status = take_data(p, dimension, all, error);
    if (status != CLS_OK) return status;
    for (size_t i = 0; i < all->n; i++) {
        all->h[i] = joined[i] ? all->time[i + 1] - all->time[i] : 1;
        fill_nodes(p, all, joined, i);
    }
    if (all->paired) fill_ends(p, all);
    return CLS_OK;
}

void clsi_intervals_free(clsi_intervals **intervals) {
    clsi_intervals *all = *intervals;
    if (!all) return;
    free(all->h);
    free(all->time);
    free(all->q);
    free(all);
    *intervals = NULL;
}
