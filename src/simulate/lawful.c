/* Memory of explicit steps that keep both laws, and their loops over many numbers. The step itself is
 * lawful.inc, which exported C has, too. */
#include "base/vectors.h"
#include "expr/program.h"
#include "simulate/host.h"
#include <float.h>

size_t clsi_lawful_size(const clsi_stepper *sp, size_t n_state) {
    size_t stages = (size_t)sp->scheme->tableau->stages;
    return (stages + 2) * n_state + sp->nz + 1 + cls_program_work_size(sp->ascent);
}

void clsi_lawful_carve(cls_simulator *sim, double *at) {
    const clsi_stepper *sp = sim->stepper;
    clsi_lawful *l = &sim->lawful;
    l->change = at;
    l->along = l->change + sim->n_state;
    l->stage = l->along + sim->n_state;
    l->slope = l->stage + (size_t)sp->scheme->tableau->stages * sim->n_state;
    l->work = l->slope + sp->nz + 1;
    cls_program_prepare(sp->ascent, l->work);
}

/* ---- loops: as lawful_sum, lawful_add, lawful_move, lawful_product, with their bits ---- */

typedef struct terms {
    int n;
    const double *of[CLSI_MOST_STAGES];
    double weight[CLSI_MOST_STAGES];
} terms;

static terms terms_of(const cls_simulator *sim, int n, const int *which, const double *by) {
    terms t = {.n = n};
    for (int k = 0; k < n; k++) {
        t.of[k] = sim->lawful.stage + (size_t)which[k] * sim->n_state;
        t.weight[k] = by[k];
    }
    return t;
}

INLINE double sum_of(int n, const terms *t, size_t i) {
    double sum = t->weight[0] * t->of[0][i];
    UNROLL
    for (int k = 1; k < n; k++) sum += t->weight[k] * t->of[k][i];
    return sum;
}

INLINE void add_few(int m, size_t n, const double *from, const terms *t, double *to) {
    terms own = *t;
    if (!from) {
#if !defined(__clang__) /* which does not, and complains */
        APART
#endif
        for (size_t i = 0; i < n; i++) to[i] = sum_of(m, &own, i);
        return;
    }
#if !defined(__clang__)
    APART
#endif
    for (size_t i = 0; i < n; i++) to[i] = from[i] + sum_of(m, &own, i);
}

/* to = sum weight_k of_k, and `from` unless it is NULL; `to` is none of the others. */
CLONES
static void add_terms(size_t n, const double *from, const terms *t, double *to) {
    switch (t->n) {
    case 0: memcpy(to, from, n * sizeof *to); break;
    case 1: add_few(1, n, from, t, to); break;
    case 2: add_few(2, n, from, t, to); break;
    case 3: add_few(3, n, from, t, to); break;
    case 4: add_few(4, n, from, t, to); break;
    case 5: add_few(5, n, from, t, to); break;
    case 6: add_few(6, n, from, t, to); break;
    default: add_few(t->n, n, from, t, to);
    }
}

CLONES
static int add_change(size_t n, const double *from, const double *change, double lambda,
                      const double *along, double *state) {
    int wrong = 0;
    APART for (size_t i = 0; i < n; i++) {
        double d = (change[i] + lambda * along[i]) + from[n + i], sum = from[i] + d,
               taken = sum - from[i];
        state[n + i] = (from[i] - (sum - taken)) + (d - taken);
        state[i] = sum;
        wrong |= !(fabs(sum) <= DBL_MAX);
    }
    return !wrong;
}

enum { PARTS = 8 };

CLONES
static double add_products(size_t n, const double *a, const double *b) {
    double part[PARTS] = {0}, sum = 0;
    size_t i = 0;
    for (; i + PARTS <= n; i += PARTS)
        for (size_t k = 0; k < PARTS; k++) part[k] += a[i + k] * b[i + k];
    for (; i < n; i++) part[i % PARTS] += a[i] * b[i];
    for (size_t k = 0; k < PARTS; k++) sum += part[k];
    return sum;
}

void clsi_lawful_sum(const cls_simulator *sim, int n, int count, const int *which, const double *by,
                     double *to) {
    terms t = terms_of(sim, count, which, by);
    add_terms((size_t)n, NULL, &t, to);
}

void clsi_lawful_add(const cls_simulator *sim, int n, int count, const int *which, const double *by,
                     const double *from, double *to) {
    terms t = terms_of(sim, count, which, by);
    add_terms((size_t)n, from, &t, to);
}

int clsi_lawful_move(cls_simulator *sim, const double *from, double lambda) {
    const clsi_lawful *l = &sim->lawful;
    return add_change(sim->n_state, from, l->change, lambda, l->along, sim->state);
}

double clsi_lawful_product(int n, const double *a, const double *b) {
    return add_products((size_t)n, a, b);
}
