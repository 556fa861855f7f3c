/* Loops of Newton's method over many unknowns, without branches: the loader picks the version for the
 * machine. The bits are those of newton.inc, where the same is written for a few. */
#include "base/vectors.h"
#include "simulate/host.h"
#include <float.h>
#include <stdint.h>

/* Sizes are not negative: as whole numbers they have the same order, infinite and undefined ones last,
 * and the largest of whole numbers may be looked for in any order. */
CLONES
static uint64_t largest_ratio(size_t n, const double *restrict d, const double *restrict scale) {
    uint64_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        double size = fabs(fabs(d[i]) / scale[i]);
        uint64_t number;
        memcpy(&number, &size, sizeof number);
        largest = number > largest ? number : largest;
    }
    return largest;
}

double clsi_wide_size(size_t n, const double *d, const double *scale) {
    uint64_t number = largest_ratio(n, d, scale);
    double size;
    memcpy(&size, &number, sizeof size);
    return isfinite(size) ? size : INFINITY;
}

CLONES
static uint64_t scale_all(size_t n, size_t measured, const double *restrict u,
                          const double *restrict least, const double *restrict d,
                          double *restrict scale) {
    uint64_t largest = 0;
    for (size_t i = 0; i < measured; i++) {
        double of = fabs(u[i]), to = of > least[i] ? of : least[i], size = fabs(fabs(d[i]) / to);
        uint64_t number;
        memcpy(&number, &size, sizeof number);
        largest = number > largest ? number : largest;
        scale[i] = to;
    }
    for (size_t i = measured; i < n; i++) {
        double of = fabs(u[i]);
        scale[i] = of > least[i] ? of : least[i];
    }
    return largest;
}

double clsi_wide_scale(const clsi_newton *nw, const double *d) {
    const clsi_stepper *sp = nw->sp;
    uint64_t number = scale_all(sp->n_unknowns, sp->n_unknowns - sp->n_lifted, nw->in + sp->n_base,
                                nw->least, d, nw->scale);
    double size;
    memcpy(&size, &number, sizeof size);
    return isfinite(size) ? size : INFINITY;
}

CLONES
static int all_finite(size_t n, const double *x) {
    int wrong = 0;
    for (size_t i = 0; i < n; i++) wrong |= !(fabs(x[i]) <= DBL_MAX);
    return !wrong;
}

int clsi_wide_finite(size_t n, const double *x) {
    return all_finite(n, x);
}

/* Finite numbers only. */
CLONES
static uint64_t largest_number(size_t n, const double *x) {
    uint64_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t number;
        memcpy(&number, &x[i], sizeof number);
        number &= INT64_MAX;
        largest = number > largest ? number : largest;
    }
    return largest;
}

typedef struct limits {
    double ulp, rest, tiny;
    size_t nz, logarithmic;
} limits;

CLONES
static void fill_least(size_t n, const size_t *restrict of_state, limits l,
                       const double *restrict in, double *restrict least) {
    for (size_t i = 0; i < n; i++) {
        size_t of = of_state[i];
        double x = fabs(in[of < l.nz ? of : 0]), z = x > l.rest ? x : l.rest;
        z = of >= l.logarithmic ? 1 : z;
        z = of < l.nz ? z : 0;
        double size = l.ulp * z;
        least[i] = size > l.tiny ? size : l.tiny;
    }
}

/* As newton_least. */
void clsi_wide_least(const clsi_stepper *sp, const double *in, double *least) {
    double h = fabs(in[sp->nz + 2]), tolerance = sp->options.tolerance, rest;
    uint64_t number = largest_number(sp->nz, in);
    memcpy(&rest, &number, sizeof rest);
    if (sp->outside) rest = 0;
    for (size_t i = 0; i < sp->nz && sp->outside; i++)
        if (!sp->outside[i] && fabs(in[i]) > rest) rest = fabs(in[i]);
    limits l = {0.5 * DBL_EPSILON / (h * tolerance), 1e-3 * rest, DBL_MIN / tolerance, sp->nz,
                (size_t)clsi_logarithmic(sp)};
    fill_least(sp->n_unknowns, sp->of_state, l, in, least);
}

/* As step_is_smooth. */
CLONES
static int is_rough(size_t n, const double *a, const double *b, const double *c, const double *d,
                    const double *e, const double *f) {
    int rough = 0;
    for (size_t i = 0; i < n; i++) {
        double by_three = a[i] - (3 * (b[i] - c[i]) + d[i]);
        double by_five = a[i] - (5 * (b[i] - e[i]) - 10 * (c[i] - d[i]) + f[i]);
        rough |= !(fabs(by_five) <= 0.1 * fabs(by_three) + 1e-12 * fabs(a[i]));
    }
    return rough;
}

int clsi_wide_smooth(size_t n, const double *a, const double *b, const double *c, const double *d,
                     const double *e, const double *f) {
    enum { BLOCK = 512 };
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t count = n - i < BLOCK ? n - i : BLOCK;
        if (is_rough(count, a + i, b + i, c + i, d + i, e + i, f + i)) return 0;
    }
    return 1;
}

/* ---- the end of a step, as step_add ---- */

CLONES
static int sums_are_finite(size_t n, const double *state, const double *owed, const double *next) {
    int wrong = 0;
    for (size_t i = 0; i < n; i++) wrong |= !(fabs(state[i] + (next[i] + owed[i])) <= DBL_MAX);
    return !wrong;
}

CLONES
static void add(size_t n, double *restrict state, double *restrict owed,
                const double *restrict next) {
    for (size_t i = 0; i < n; i++) {
        double d = next[i] + owed[i], sum = state[i] + d, taken = sum - state[i];
        owed[i] = (state[i] - (sum - taken)) + (d - taken);
        state[i] = sum;
    }
}

/* The same, while the state goes to `keep`; 0: back to it, a sum is not finite. */
CLONES
static int add_kept(size_t n, double *restrict state, double *restrict owed,
                    const double *restrict next, double *restrict keep,
                    double *restrict keep_owed) {
    int wrong = 0;
    for (size_t i = 0; i < n; i++) {
        double z = state[i], o = owed[i], d = next[i] + o, sum = z + d, taken = sum - z;
        keep[i] = z;
        keep_owed[i] = o;
        owed[i] = (z - (sum - taken)) + (d - taken);
        state[i] = sum;
        wrong |= !(fabs(sum) <= DBL_MAX);
    }
    return !wrong;
}

int clsi_wide_take(cls_simulator *sim) {
    size_t n = sim->n_state;
    double *state = sim->state, *keep = sim->keep;
    if (keep) {
        sim->keep = NULL;
        if (add_kept(n, state, state + n, sim->next_out, keep, keep + n)) return 1;
        memcpy(state, keep, 2 * n * sizeof *state);
        return 0;
    }
    if (!sums_are_finite(n, state, state + n, sim->next_out)) return 0;
    add(n, state, state + n, sim->next_out);
    return 1;
}

/* ---- prediction, as step_predict_many ---- */

typedef struct solutions {
    const double *at[CLSI_LONG_HISTORY]; /* the newest first */
} solutions;

enum { JUDGED = 3 }; /* 3, 5 and 7 points */
typedef struct judged {
    uint64_t error[JUDGED]; /* the largest, as whole numbers (see largest_ratio) */
} judged;

INLINE double three(const double *a, const double *b, const double *c, size_t i) {
    return 3 * (a[i] - b[i]) + c[i];
}

INLINE double five(const double *a, const double *b, const double *c, const double *d,
                   const double *e, size_t i) {
    return 5 * (a[i] - d[i]) - 10 * (b[i] - c[i]) + e[i];
}

INLINE double seven(const double *a, const double *b, const double *c, const double *d,
                    const double *e, const double *f, const double *g, size_t i) {
    return 7 * (a[i] - f[i]) - 21 * (b[i] - e[i]) + 35 * (c[i] - d[i]) + g[i];
}

INLINE uint64_t larger(uint64_t largest, double off, double scale) {
    double size = fabs(off) / scale;
    uint64_t number;
    memcpy(&number, &size, sizeof number);
    return number > largest ? number : largest;
}

/* Errors of all three in the last solution, and the prediction by seven. */
CLONES
static judged judge_all(size_t n, const double *restrict scale, solutions s, double *restrict u) {
    const double *const *p = s.at, *a = p[0], *b = p[1], *c = p[2], *d = p[3], *e = p[4], *f = p[5],
                        *g = p[6], *h = p[7];
    judged j = {{0}};
    for (size_t i = 0; i < n; i++) {
        j.error[0] = larger(j.error[0], a[i] - three(b, c, d, i), scale[i]);
        j.error[1] = larger(j.error[1], a[i] - five(b, c, d, e, f, i), scale[i]);
        j.error[2] = larger(j.error[2], a[i] - seven(b, c, d, e, f, g, h, i), scale[i]);
        u[i] = seven(a, b, c, d, e, f, g, i);
    }
    return j;
}

/* Without a solution that could judge seven. */
CLONES
static judged judge_two(size_t n, const double *restrict scale, solutions s) {
    const double *const *p = s.at, *a = p[0], *b = p[1], *c = p[2], *d = p[3], *e = p[4], *f = p[5];
    judged j = {{0}};
    for (size_t i = 0; i < n; i++) {
        j.error[0] = larger(j.error[0], a[i] - three(b, c, d, i), scale[i]);
        j.error[1] = larger(j.error[1], a[i] - five(b, c, d, e, f, i), scale[i]);
    }
    return j;
}

CLONES
static void predict(size_t first, size_t n, int points, solutions s, double *restrict u) {
    const double *const *p = s.at, *a = p[0], *b = p[1], *c = p[2], *d = p[3], *e = p[4], *f = p[5],
                        *g = p[6];
    if (points == 7)
        for (size_t i = first; i < n; i++) u[i] = seven(a, b, c, d, e, f, g, i);
    else if (points == 5)
        for (size_t i = first; i < n; i++) u[i] = five(a, b, c, d, e, i);
    else
        for (size_t i = first; i < n; i++) u[i] = three(a, b, c, i);
}

/* As step_points. */
static int points_of(const clsi_newton *nw, int length, const judged *j) {
    double error[JUDGED];
    memcpy(error, j->error, sizeof error);
    if (length < 6 || nw->known == 1 || !(error[1] <= 0.1 * error[0] + 1e-12)) return 3;
    return length < 8 || !(error[2] <= 0.5 * error[1]) ? 5 : 7;
}

void clsi_wide_predict(const cls_simulator *sim, int sub, int length, double *u) {
    size_t n = sim->stepper->n_unknowns, measured = n - sim->stepper->n_lifted, done = 0;
    judged j = {{0}};
    solutions s;
    for (int i = 0; i < CLSI_LONG_HISTORY; i++) s.at[i] = clsi_history_at(sim, sub, i);
    if (length >= 8)
        j = judge_all(measured, sim->newton.scale, s, u);
    else if (length >= 6)
        j = judge_two(measured, sim->newton.scale, s);
    int points = points_of(&sim->newton, length, &j);
    if (length >= 8 && points == 7) done = measured;
    predict(done, n, points, s, u);
}
