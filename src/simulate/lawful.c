/* Explicit steps that keep both laws (scheme/lawful.c): stages, and weights that keep the energy.
 *
 *     k_i    y' at stage i, accounts of work and heat with it: the explicit Euler step with h = 1
 *     b_i    the method's weights;  y1 = y0 + h sum b_i k_i
 *     g_i    what a unit of weight i adds to E - work - heat at y1: h E'(y1).k_i - h (work and heat in k_i)
 *     g, V   mean and variance of g_i by the weights b_i
 *     D      h sum b_i (g_i - g)/V k_i, along which the energy rises by 1
 *
 * y1 + lambda D has the weights b_i (1 + lambda (g_i - g)/V), whose sum is 1: of all changes of weights
 * that add lambda to the energy the smallest, each measured by its weight. lambda is found by the secant
 * rule, beginning with minus the energy that is too much, against the energy at the start of the motion,
 * so that nothing adds up. No weight may change by more than MOST of itself; a step that would need more is too
 * long and is made in halves. Where nothing moves all g_i are the same and nothing can be added, nor has to.
 *
 * Costs the stages, a gradient of the energy, and one or two energies. Nothing is allocated. */
#include "base/vectors.h"
#include "expr/program.h"
#include "simulate/host.h"
#include <float.h>

/* A weight that moves by half has lost the method's order; below 1 none becomes negative. */
static const double MOST = 0.5;
/* What an energy is known to, of its largest term: some units in the last place of a long sum. (And what rounding
 * of the state does to it.) */
static const double ENOUGH = 4 * DBL_EPSILON;
/* What a step may be off by (CLSI_SLIP in step.inc). */
static const double SLIP = 1e-13;
enum { MOST_SECANTS = 6 };

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

/* ---- loops ---- */

typedef struct terms {
    int n;
    const double *of[CLSI_MOST_STAGES];
    double weight[CLSI_MOST_STAGES];
} terms;

/* The stages whose weight is not zero; h times their weights. */
static terms terms_of(const cls_simulator *sim, int n, double h, const double *weight) {
    terms t = {0};
    for (int i = 0; i < n; i++) {
        if (weight[i] == 0) continue;
        t.of[t.n] = sim->lawful.stage + (size_t)i * sim->n_state;
        t.weight[t.n++] = h * weight[i];
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
#if !defined(__clang__) /* which does not, and complains */
    APART
#endif
    for (size_t i = 0; i < n; i++) to[i] = from[i] + sum_of(m, &own, i);
}

/* to = from + sum weight_k of_k; `to` is none of the others. */
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
    default:
        add_few(6, n, from, t, to);
        for (int k = 6; k < t->n; k++)
            for (size_t i = 0; i < n; i++) to[i] += t->weight[k] * t->of[k][i];
    }
}

/* state = from + change + lambda along, sums that keep what rounding takes (step_add); whether all are
 * finite. */
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

enum {
    PARTS = 8
}; /* of a sum, so that it is one of vectors; the order is the same on all machines */

CLONES
static double product(size_t n, const double *a, const double *b) {
    double part[PARTS] = {0}, sum = 0;
    size_t i = 0;
    for (; i + PARTS <= n; i += PARTS)
        for (size_t k = 0; k < PARTS; k++) part[k] += a[i + k] * b[i + k];
    for (; i < n; i++) part[i % PARTS] += a[i] * b[i];
    for (size_t k = 0; k < PARTS; k++) sum += part[k];
    return sum;
}

/* ---- stages ---- */

static int in_domain(const clsi_stepper *sp, const double *z) {
    for (size_t k = 0; k < sp->n_guarded; k++) {
        double x = z[sp->guarded[k]];
        if (!(x > sp->domain[2 * k] && x < sp->domain[2 * k + 1])) return 0;
    }
    return 1;
}

/* All k_i of a step of h from time t and the state `from`. */
static clsi_trouble run_stages(cls_simulator *sim, const double *from, double t, double h) {
    const clsi_stepper *sp = sim->stepper;
    const clsi_tableau *method = sp->scheme->tableau;
    size_t nz = sp->nz, nu = sp->nu;
    double *in = clsi_program_inputs(sp->next, sim->newton.work_next),
           *u = in + nz + 4 + sp->n_owed;
    const double *begin = sim->newton.in + nz + 4 + sp->n_owed, *end = begin + nu;
    clsi_set_inputs(sim, t, h);
    for (int i = 0; i < method->stages; i++) {
        double c = method->c[i];
        terms before = terms_of(sim, i, h, method->a + i * method->stages);
        add_terms(nz, from, &before, in);
        if (!in_domain(sp, in)) return CLSI_DOMAIN;
        in[nz] = 0; /* what came in so far says nothing of what comes */
        in[nz + 1] = t + c * h;
        in[nz + 2] = in[nz + 3] = 0; /* of no use */
        for (size_t k = 0; k < nu; k++) u[k] = u[nu + k] = (1 - c) * begin[k] + c * end[k];
        cls_program_run(sp->next, sim->newton.work_next, in,
                        sim->lawful.stage + (size_t)i * sim->n_state);
    }
    return CLSI_FINE;
}

/* ---- weights ---- */

/* The energy that is too much, of the start of the motion. */
static double excess(const cls_simulator *sim, double energy) {
    return energy - sim->monitor_start[CLSI_MONITOR_ENERGY];
}

/* y1 + lambda D becomes the state. */
static clsi_trouble place(cls_simulator *sim, const double *from, double lambda) {
    const clsi_lawful *l = &sim->lawful;
    if (!add_change(sim->n_state, from, l->change, lambda, l->along, sim->state))
        return CLSI_NONFINITE;
    clsi_system_normalise(sim->stepper->s, sim->state);
    return in_domain(sim->stepper, sim->state) ? CLSI_FINE : CLSI_DOMAIN;
}

/* D from the slopes of the energy at the state; the largest |lambda| that it may be taken with. */
static double find_direction(cls_simulator *sim, double h) {
    const clsi_stepper *sp = sim->stepper;
    const clsi_tableau *method = sp->scheme->tableau;
    clsi_lawful *l = &sim->lawful;
    double g[CLSI_MOST_STAGES], weight[CLSI_MOST_STAGES], mean = 0, variance = 0, largest = 0;
    for (int i = 0; i < method->stages; i++) {
        const double *rate = l->stage + (size_t)i * sim->n_state;
        if (method->b[i] == 0) continue;
        double received = 0;
        for (size_t k = 0; k < sim->n_accounts; k++)
            if (clsi_account_at(sp->s, k) != CLSI_OUTSIDE) received += rate[sp->nz + k];
        g[i] = h * (product(sp->nz, l->slope + 1, rate) - received);
        mean += method->b[i] * g[i];
    }
    for (int i = 0; i < method->stages; i++)
        if (method->b[i] != 0) variance += method->b[i] * (g[i] - mean) * (g[i] - mean);
    if (!(variance >= DBL_MIN && variance <= DBL_MAX)) return 0;
    for (int i = 0; i < method->stages; i++) {
        double part = method->b[i] == 0 ? 0 : (g[i] - mean) / variance;
        weight[i] = method->b[i] * part;
        largest = fmax(largest, fabs(part));
    }
    terms all = terms_of(sim, method->stages, h, weight);
    memset(l->along, 0, sim->n_state * sizeof *l->along);
    memcpy(sim->next_out, l->along, sim->n_state * sizeof *l->along);
    add_terms(sim->n_state, sim->next_out, &all, l->along);
    return MOST / largest;
}

/* What part of MOST weights may be moved by: all of it for what a step may not be off by, and for less by its
 * square. Next to rest, and where the slopes are nearly the same, rounding of a large energy is no reason
 * to disturb a small motion; the next steps mend it. */
static double worth(const cls_simulator *sim, double over) {
    double part = over / (SLIP * sim->energy_scale);
    return part * part;
}

static double known_to(const cls_simulator *sim) {
    return ENOUGH * fmax(sim->energy_scale, sim->scale[CLSI_SCALE_ENERGY]) +
           DBL_EPSILON * sim->scale[CLSI_SCALE_ENERGY_SLOPES];
}

/* A step is good that ends within what one may be off by, or leaves no more to mend than it found; the state
 * is looked at only for doubt. */
static clsi_trouble is_mended(cls_simulator *sim, double found, double over) {
    double allowed = fmax(fabs(found), SLIP * sim->energy_scale);
    if (fabs(over) <= allowed + known_to(sim)) return CLSI_FINE;
    clsi_simulator_look(sim);
    return fabs(over) <= allowed + known_to(sim) ? CLSI_FINE : CLSI_LOST;
}

/* The state with the energy of the start, measured; from y1, whose energy is `over` too much; that of the
 * state before was `found` too much. */
static clsi_trouble keep_energy(cls_simulator *sim, const double *from, double h, double found,
                                double over, double ahead) {
    double enough = known_to(sim), lambda = 0, slope = 1, most = 0;
    if (!(fabs(over) <= enough)) most = find_direction(sim, h) * fmin(1, worth(sim, over));
    int short_of = most == 0 && !(fabs(over) <= enough);
    if (most == 0) clsi_simulator_measure(sim, ahead); /* D is of no use, or nothing is to do */
    for (int k = 0; k < MOST_SECANTS && most > 0; k++) {
        double next = fmax(fmin(lambda - over / slope, most), -most), before = over;
        if (fabs(next) == most) short_of = 1;
        if (k && next == lambda) break; /* no more is allowed */
        clsi_trouble trouble = place(sim, from, next);
        if (trouble != CLSI_FINE) return trouble;
        clsi_simulator_measure(sim, ahead);
        over = excess(sim, sim->monitor_out[CLSI_MONITOR_ENERGY]);
        if (fabs(over) <= enough) break;
        slope = (over - before) / (next - lambda);
        lambda = next;
        if (!(slope > 0) || !(fabs(over) < fabs(before)))
            break; /* what rounding leaves, or nonsense */
    }
    /* what is left after D was taken as far as it is wanted is rounding: the judge's limit is asked of it, later */
    return short_of ? is_mended(sim, found, over) : CLSI_FINE;
}

/* ---- steps ---- */

/* One step of h from time t; the state is anything where it fails. */
static clsi_trouble attempt(cls_simulator *sim, const double *from, double t, double h) {
    const clsi_stepper *sp = sim->stepper;
    const clsi_tableau *method = sp->scheme->tableau;
    clsi_lawful *l = &sim->lawful;
    double ahead = t + h - cls_simulator_time(sim),
           found = excess(sim, sim->monitor_out[CLSI_MONITOR_ENERGY]);
    clsi_trouble trouble = run_stages(sim, from, t, h);
    if (trouble != CLSI_FINE) return trouble;
    terms all = terms_of(sim, method->stages, h, method->b);
    memset(l->along, 0, sim->n_state * sizeof *l->along);
    add_terms(sim->n_state, l->along, &all, l->change);
    trouble = place(sim, from, 0);
    if (trouble != CLSI_FINE) return trouble;
    sim->ahead = ahead;
    clsi_run_here(sim, sp->ascent, l->work, l->slope);
    sim->ahead = 0;
    double over = excess(sim, l->slope[0]);
    if (!isfinite(over)) return CLSI_NONFINITE;
    trouble = keep_energy(sim, from, h, found, over, ahead);
    if (trouble != CLSI_FINE) return trouble;
    if (!isfinite(sim->monitor_out[CLSI_MONITOR_ENTROPY])) return CLSI_NONFINITE;
    if (clsi_simulator_falls_below(sim, sim->highest)) return CLSI_FALLING;
    return clsi_simulator_balance(sim);
}

/* What is known of the state that a step begins at, and of those before: a step that is made again was
 * nowhere. */
typedef struct known {
    double monitor[CLSI_MONITOR_INVARIANTS], scale[CLSI_SCALES], energy_scale, largest_size,
        highest;
} known;

static known remember(const cls_simulator *sim) {
    known k = {.energy_scale = sim->energy_scale,
               .largest_size = sim->largest_size,
               .highest = sim->highest};
    memcpy(k.monitor, sim->monitor_out, sizeof k.monitor);
    memcpy(k.scale, sim->scale, sizeof k.scale);
    return k;
}

static void go_back(cls_simulator *sim, const double *from, const known *k) {
    memcpy(sim->state, from, sim->n_kept * sizeof *from);
    memcpy(sim->monitor_out, k->monitor, sizeof k->monitor);
    memcpy(sim->scale, k->scale, sizeof k->scale);
    sim->energy_scale = k->energy_scale;
    sim->largest_size = k->largest_size;
    sim->highest = k->highest;
}

/* The same, in halves as often as it must be and may be; the state stays where it fails. */
static clsi_trouble halved(cls_simulator *sim, double t, double h, int depth) {
    double *from = sim->saved + (size_t)depth * sim->n_kept;
    known before = remember(sim);
    memcpy(from, sim->state, sim->n_kept * sizeof *from);
    clsi_trouble trouble = attempt(sim, from, t, h);
    if (trouble == CLSI_FINE) {
        sim->highest = fmax(sim->highest, sim->monitor_out[CLSI_MONITOR_ENTROPY]);
        return CLSI_FINE;
    }
    go_back(sim, from, &before);
    if (depth >= sim->stepper->options.max_halvings) return trouble;
    if (depth == 0) sim->info.retried_steps++;
    if (depth + 1 > sim->info.deepest_halving) sim->info.deepest_halving = depth + 1;
    trouble = halved(sim, t, h / 2, depth + 1);
    if (trouble == CLSI_FINE) trouble = halved(sim, t + h / 2, h / 2, depth + 1);
    if (trouble != CLSI_FINE) go_back(sim, from, &before);
    return trouble;
}

clsi_trouble clsi_lawful_step(cls_simulator *sim) {
    double entropy = sim->monitor_out[CLSI_MONITOR_ENTROPY];
    clsi_trouble trouble = halved(sim, cls_simulator_time(sim), sim->h, 0);
    sim->defect = 0; /* the next step finds what is missing by itself */
    sim->step_entropy = sim->monitor_out[CLSI_MONITOR_ENTROPY] - entropy;
    return trouble;
}
