/* Balances of heat over long times, from noisy temperatures.
 *
 *     S(z_end) - S(z_begin) = integral of heat/T
 *
 * Where the entropy S = G_T is unknown, the noise of temperatures is in what its coefficients are multiplied with, and
 * least squares makes them smaller by 1 + (noise/change)^2 (errors in variables): over a window of a second, in which
 * a body warms by less than the noise of a thermometer, heat capacities vanish, and what is then simulated explodes.
 * Over a whole trajectory it warms by as much as it ever does. So the rows of entropies are summed over the windows of
 * a trajectory, or of a part of it where there are few: the sum over all windows of l intervals is the change between
 * the means of the last l rows and of the first l, of which noise has averaged out.
 *
 * Momenta are not summed: over many periods their rows say nothing. */
#include "base/base.h"
#include "learn/noise/pool.h"
#include <math.h>
#include <stdlib.h>

enum { FEWEST = 24 }; /* sums, of each entropy */

struct clsi_pool {
    const clsi_residual *r;
    size_t E, P, n_runs;
    size_t *run;          /* (training windows) which sum it belongs to */
    double *A, *b;        /* (n_runs m, P), (n_runs m) */
    double *size, *count; /* (n_runs m): lengths and squared speeds, windows */
};

/* Parts of a trajectory: as many as make FEWEST of all, each of a window at least. */
static size_t number_runs(const clsi_points *p, size_t *run) {
    size_t parts = p->n_trained ? (FEWEST + p->n_trained - 1) / p->n_trained : 1, n = 0, at = 0;
    for (size_t t = 0; t < p->n_trained; t++) {
        size_t end = at;
        while (end < p->n_training && p->window[end] < p->trained[2 * t + 1]) end++;
        size_t own = end - at, most = own / (p->width - 1) + 1, into = parts < most ? parts : most;
        for (size_t w = at; w < end; w++) run[w] = n + (w - at) * into / own;
        if (own) n += into;
        at = end;
    }
    for (; at < p->n_training; at++) run[at] = n ? n - 1 : 0;
    return n ? n : 1;
}

int clsi_pool_serves(const clsi_residual *r) {
    const cls_system *s = r->unknowns->s;
    return s->formalism == CLS_THERMAL_LAGRANGIAN && s->m && !r->step && !r->hidden &&
           !r->points->intervals;
}

cls_status clsi_pool_create(const clsi_residual *r, clsi_pool **out, cls_error *error) {
    *out = NULL;
    clsi_pool *k = clsi_calloc(1, sizeof *k);
    if (!k) return clsi_no_memory(error);
    *k = (clsi_pool){.r = r, .E = r->n_equations, .P = r->unknowns->n_theta};
    k->run = clsi_calloc(r->points->n_training + 1, sizeof *k->run);
    k->n_runs = k->run ? number_runs(r->points, k->run) : 0;
    k->A = clsi_calloc(k->n_runs * r->m * (k->P + 3) + 1, sizeof *k->A);
    if (!k->run || !k->A) {
        clsi_pool_free(&k);
        return clsi_no_memory(error);
    }
    k->b = k->A + k->n_runs * r->m * k->P;
    k->size = k->b + k->n_runs * r->m;
    k->count = k->size + k->n_runs * r->m;
    *out = k;
    return CLS_OK;
}

void clsi_pool_take(clsi_pool *k, size_t first, size_t count, double *A, double *b) {
    size_t W = k->r->points->n_windows;
    for (size_t w = 0; w < count; w++)
        for (size_t i = 0; i < k->r->m; i++) {
            size_t e = k->r->n + i, row = w * k->E + e;
            size_t to = k->run[first + w] * k->r->m + i;
            double unit = 1 / k->r->weight[e * W + first + w];
            for (size_t j = 0; j < k->P; j++) {
                k->A[to * k->P + j] += A[row * k->P + j] * unit;
                A[row * k->P + j] = 0;
            }
            k->b[to] += b[row] * unit;
            b[row] = 0;
            k->size[to] += unit;
            k->count[to]++;
        }
}

cls_status clsi_pool_add(clsi_pool *k, clsi_lsq *q, cls_error *error) {
    size_t n = k->n_runs * k->r->m;
    for (size_t i = 0; i < n; i++) { /* as heavy as the rows that it has the place of */
        double scale = k->count[i] > 0 ? sqrt(k->count[i]) / k->size[i] : 0;
        for (size_t j = 0; j < k->P; j++) k->A[i * k->P + j] *= scale;
        k->b[i] *= scale;
    }
    return clsi_lsq_add(q, n, k->A, k->b, error);
}

void clsi_pool_free(clsi_pool **pool) {
    if (!*pool) return;
    free((*pool)->run);
    free((*pool)->A);
    free(*pool);
    *pool = NULL;
}
