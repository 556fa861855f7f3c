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
