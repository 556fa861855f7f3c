/* Newton's method for grids: a factorisation serves many updates, and may be one of an earlier step.
 *
 * Problem: of a step of a plate factors are the dearest part, then solutions with them, then the residual; the Jacobian
 * J changes little from iteration to iteration. So one matrix M is kept, each iteration is
 *
 *     f = M^-1 r(u),   u <- u - d,   d = f + (what differences of former f say about M^-1 J)
 *
 * and the differences make up for what M is not: of a pair (v, e) with M^-1 J e = v, known from former updates, the part
 * of f along v is taken by e (Anderson's method of 1965; as Carlson and Miller have it, SIAM J. Sci. Comput. 19, 1998). On
 * linear equations these are the iterations of GMRES, without products by J; measured in the units in which Newton's
 * method measures its updates. J is evaluated and factorised where, as the iterations contract, that is cheaper
 * than going on: costs are counted, never timed, so that bits do not depend on the machine. What does not contract is left to
 * newton.inc with its line search. Nothing is allocated. */
#include "base/vectors.h"
#include "simulate/host.h"
#include "system/dense.h"
#include <float.h>
#include <math.h>
#include <string.h>

#include "simulate/newton.inc"

enum { PAIRS = 10, RENEWALS = 4, MOST_WAIT = 15 };
/* A solution and a residual, in solutions. */
static const double iteration_cost = 1.6;
/* What the second update is of the first where nothing is known yet. */
static const double usual_rate = 1e-2;

/* As CLSI_STILL and CLSI_SLOW, with factors of another step. */
static const double STILLER = 100, SLOWER = 0.7;

typedef struct chord {
    clsi_newton *nw;
    size_t n;
    double *weight, *before; /* (n) 1/scale of the first update; the last f */
    double *pair;            /* (PAIRS, 2, n) v and e in these units, v orthonormal */
    int pairs, fresh, renewals;
    int plain; /* no pairs any more */
    double size, last_size;
} chord;

size_t clsi_chord_size(size_t unknowns) {
    return (2 + 2 * PAIRS) * unknowns;
}

/* ---- vectors ---- */

/* In sixteen sums: the same bits in vectors of any width. */
CLONES
static double dot(size_t n, const double *restrict a, const double *restrict b) {
    double sum[16] = {0}, all = 0;
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (size_t k = 0; k < 16; k++) sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum[0] += a[i] * b[i];
    for (size_t k = 0; k < 16; k++) all += sum[k];
    return all;
}

CLONES
static double dot_weighed(size_t n, const double *restrict a, const double *restrict weight,
                          const double *restrict b) {
    double sum[16] = {0}, all = 0;
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (size_t k = 0; k < 16; k++) sum[k] += a[i + k] * weight[i + k] * b[i + k];
    for (; i < n; i++) sum[0] += a[i] * weight[i] * b[i];
    for (size_t k = 0; k < 16; k++) all += sum[k];
    return all;
}

/* a -= factor b, and the same of their companions */
CLONES
static void take_both(size_t n, double factor, const double *restrict b, const double *restrict bb,
                      double *restrict a, double *restrict aa) {
    for (size_t i = 0; i < n; i++) {
        a[i] -= factor * b[i];
        aa[i] -= factor * bb[i];
    }
}

CLONES
static void divide_both(size_t n, double by, double *restrict a, double *restrict b) {
    for (size_t i = 0; i < n; i++) {
        a[i] /= by;
        b[i] /= by;
    }
}

CLONES
static void invert(size_t n, const double *restrict from, double *restrict to) {
    for (size_t i = 0; i < n; i++) to[i] = 1 / from[i];
}

/* v = (f before - f) weight, f before = f, e = last update in these units */
CLONES
static void take_difference(size_t n, const double *restrict f, const double *restrict weight,
                            const double *restrict update, double *restrict before,
                            double *restrict v, double *restrict e) {
    for (size_t i = 0; i < n; i++) {
        v[i] = (before[i] - f[i]) * weight[i];
        e[i] = update[i] * weight[i];
        before[i] = f[i];
    }
}

/* update += (what e is beyond v) */
CLONES
static void correct(size_t n, double along, const double *restrict v, const double *restrict e,
                    const double *restrict weight, double *restrict update) {
    for (size_t i = 0; i < n; i++) update[i] += along * (e[i] - v[i]) / weight[i];
}

CLONES
static void subtract(size_t n, const double *restrict d, double *restrict u) {
    for (size_t i = 0; i < n; i++) u[i] -= d[i];
}

/* ---- updates ---- */

static double *direction(const chord *c, int k) {
    return c->pair + (size_t)k * 2 * c->n;
}

/* The pair that the last update d and the change of f are, orthogonal to the former ones. */
static void remember(chord *c, const double *f, const double *update) {
    size_t n = c->n;
    if (c->pairs == PAIRS) c->pairs = 0;
    double *v = direction(c, c->pairs), *e = v + n;
    take_difference(n, f, c->weight, update, c->before, v, e);
    double size = sqrt(dot(n, v, v));
    for (int k = 0; k < c->pairs; k++) {
        const double *old = direction(c, k);
        take_both(n, dot(n, v, old), old, old + n, v, e);
    }
    double rest = sqrt(dot(n, v, v));
    if (!(rest > 1e-6 * size && isfinite(rest))) return; /* nothing new, or round-off */
    divide_both(n, rest, v, e);
    c->pairs++;
}

/* d from f, with what the pairs know. The pairs are orthonormal in v: the parts of f along them are taken one by one. */
static void make_update(chord *c, const double *f, double *update) {
    size_t n = c->n;
    double along[PAIRS];
    memcpy(update, f, n * sizeof *update);
    for (int k = 0; k < c->pairs; k++) along[k] = dot_weighed(n, f, c->weight, direction(c, k));
    for (int k = 0; k < c->pairs; k++)
        correct(n, along[k], direction(c, k), direction(c, k) + n, c->weight, update);
}

/* ---- factors ---- */

/* Factors of the Jacobian where the residual was evaluated last. */
static clsi_trouble renew(chord *c) {
    clsi_newton *nw = c->nw;
    int first = CLSI_UNKNOWNS(nw) + CLSI_POSITIVE(nw);
    CLSI_RUN_RESIDUAL_REST(nw, nw->out);
    if (!CLSI_FINITE(nw->out, first, CLSI_ENTRIES(nw))) return CLSI_NONFINITE;
    c->fresh = 1;
    c->pairs = 0;
    c->last_size = INFINITY;
    if (++c->renewals > RENEWALS) return CLSI_STALLED;
    return clsi_krylov_renew(&nw->krylov, nw->sp->lu, nw->out + first, nw->work_lu) ? CLSI_SINGULAR
                                                                                    : CLSI_FINE;
}

/* How many more iterations there will be. */
static double left(double size, double enough, double rate) {
    if (!(rate < 0.9)) return INFINITY;
    return size > enough ? log(size / enough) / -log(rate) : 0;
}

/* Whether new factors are cheaper than to go on with these. */
static int is_dear(const chord *c, double enough) {
    const clsi_krylov *k = &c->nw->krylov;
    double rate = c->size / c->last_size;
    if (!isfinite(c->last_size) || c->size < CLSI_STILL) return 0;
    double here = left(c->size, enough, rate),
           there = left(c->size, enough, c->fresh ? rate * rate : k->rate);
    return here > k->price / iteration_cost + there + 1;
}

/* Where the last update led is no good: back, and on with factors from there. */
static clsi_trouble go_back(chord *c) {
    clsi_newton *nw = c->nw;
    double *u = nw->in + CLSI_BASE(nw);
    if (c->fresh) return CLSI_STALLED;
    for (size_t i = 0; i < c->n; i++) u[i] += nw->trial_d[i];
    clsi_trouble trouble = newton_evaluate(nw, nw->out);
    return trouble == CLSI_FINE ? renew(c) : trouble;
}

/* ---- iterations ---- */

/* Whether the update nw->d is the last one; its size. Entropies that vanish are measured by heat capacities
 * where updates no longer shrink, as in newton.inc. */
static int is_last(chord *c, double enough) {
    clsi_newton *nw = c->nw;
    double tolerance = CLSI_TOLERANCE(nw), ratio;
    c->size = clsi_wide_scale(nw, nw->d);
    ratio = c->size / c->last_size;
    if (CLSI_ENTROPIES(nw) && !nw->by_heat && c->size < CLSI_STILL) {
        nw->by_heat = 1;
        if (newton_by_heat(nw)) c->size = clsi_wide_scale(nw, nw->d);
    }
    if (c->size <= 0.01 * tolerance) return 1;
    if (!isfinite(c->last_size)) return 0;
    if (c->size * fmin(ratio, 1) <= enough) return 1;
    if (!c->fresh && c->pairs && c->size < CLSI_STILL && ratio > CLSI_SLOW) {
        c->pairs = 0; /* differences are round-off by now */
        c->plain = 1;
        return 0;
    }
    /* round-off does not contract, nor do old factors as they should */
    return c->fresh ? c->size < CLSI_STILL && ratio > CLSI_SLOW
                    : c->size < STILLER * tolerance && ratio > SLOWER;
}

static clsi_trouble iterate(chord *c) {
    clsi_newton *nw = c->nw;
    clsi_krylov *k = &nw->krylov;
    double *u = nw->in + CLSI_BASE(nw), *d = nw->d, *update = nw->trial_d;
    double enough = CLSI_HEATS(nw) ? CLSI_TOLERANCE(nw) : 0.01 * CLSI_TOLERANCE(nw);
    clsi_trouble trouble = CLSI_FINE;
    for (int turn = 0; turn < CLSI_MAX_ITERATIONS(nw); turn++) {
        memcpy(d, nw->out, c->n * sizeof *d);
        clsi_sparse_lu_solve(nw->sp->lu, nw->work_lu, d);
        nw->last_iterations++;
        nw->iterations++;
        int last = is_last(c, enough);
        if (!isfinite(c->size) || (!last && c->size > CLSI_STILL && c->size > 2 * c->last_size)) {
            if (!isfinite(c->last_size) || (trouble = go_back(c)) != CLSI_FINE)
                return trouble == CLSI_FINE ? CLSI_STALLED : trouble;
            continue;
        }
        if (c->fresh == 1 && isfinite(c->last_size)) { /* what they are worth, for later */
            k->rate = fmin(fmax(c->size / c->last_size, 1e-6), 0.5);
            c->fresh = 2;
        }
        if (!last && is_dear(c, enough)) {
            if ((trouble = renew(c)) != CLSI_FINE) return trouble;
            continue;
        }
        if (!isfinite(c->last_size)) {
            invert(c->n, nw->scale, c->weight);
            memcpy(c->before, d, c->n * sizeof *d);
        } else if (!last && !c->plain) {
            remember(c, d, update);
        }
        if (last) {
            subtract(c->n, d, u);
            return CLSI_FINE;
        }
        make_update(c, d, update);
        subtract(c->n, update, u);
        c->last_size = c->size;
        trouble = newton_evaluate(nw, nw->out);
        if (trouble != CLSI_FINE && (trouble = go_back(c)) != CLSI_FINE) return trouble;
    }
    return CLSI_STALLED;
}

/* Old factors are tried where they did not fail lately. */
static clsi_trouble begin(chord *c) {
    clsi_krylov *k = &c->nw->krylov;
    c->last_size = INFINITY;
    if (!(k->rate > 0)) k->rate = usual_rate;
    if (k->known && !k->wait) return CLSI_FINE;
    if (k->wait) k->wait--;
    return renew(c);
}

static void learn(const chord *c, int tried) {
    clsi_krylov *k = &c->nw->krylov;
    if (!tried) return;
    k->patience = c->renewals ? 2 * k->patience + 1 : 0;
    if (k->patience > MOST_WAIT) k->patience = MOST_WAIT;
    k->wait = k->patience;
}

clsi_trouble clsi_chord_solve(clsi_newton *nw) {
    chord c = {.nw = nw, .n = (size_t)CLSI_UNKNOWNS(nw), .weight = nw->krylov.room};
    double *u = nw->in + CLSI_BASE(nw);
    int tried = nw->krylov.known && !nw->krylov.wait;
    c.before = c.weight + c.n;
    c.pair = c.before + c.n;
    nw->last_iterations = 0;
    nw->by_heat = 0;
    nw->simplified = INFINITY;
    memcpy(nw->u, u, c.n * sizeof *u);
    CLSI_RUN_EARLY(nw);
    CLSI_LEAST(nw);
    clsi_trouble trouble = newton_first(nw);
    if (trouble != CLSI_FINE) return trouble;
    trouble = begin(&c);
    if (trouble == CLSI_FINE) trouble = iterate(&c);
    learn(&c, tried);
    if (trouble == CLSI_FINE) return CLSI_FINE;
    memcpy(u, nw->u, c.n * sizeof *u); /* with a line search, from the beginning */
    nw->krylov.known = 0;
    return newton_solve(nw);
}
