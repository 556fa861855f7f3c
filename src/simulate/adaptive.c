/* Adaptive internal steps: order 6 by composition, exact energy, monotone entropy, accuracy asked.
 *
 * Problem: one h for a whole motion is set by its most violent moment. Here h is only the spacing
 * of the output. Between two outputs the motion goes by internal steps, each composed of stages
 * that are the same discrete-gradient step (Kahan and Li's nine for order 6), so that every one of
 * them keeps the energy exactly. What round-off lost is carried to the next one.
 *
 * Error: two fixed combinations of the states between the stages are O(h^5) and O(h^3) (the
 * scheme's `estimate`: no further solves). With e5 and e3 their sizes, e5 min(1, SAFETY e5 / e3) is
 * O(h^7) like the true local error, and cautious where h is too large for orders to mean anything
 * (the idea of DOP853; Hairer, Norsett, Wanner, Solving ODEs I, II.10). A PI controller chooses the
 * next h. Stages that cannot be solved, or that leave the domain, are rejections.
 *
 * Entropy: stages that go backwards give back what friction produced there; the sum rises once h
 * resolves the motion. A step over which it falls is rejected and made with half the h, and when
 * that does not help by the plain step, which cannot let it fall unless friction has the wrong
 * sign.
 *
 * Predictor: what is solved for is the rate of change over a stage, a smooth function of the
 * stage's middle. The stages go to and fro over the step, so most are interpolated, not
 * extrapolated.
 *
 * Costs nine solves a step, about two Newton iterations each. Does not promise a global error:
 * local errors add up as the motion makes them. */
#include "simulate/simulator.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define SAFETY 10.0
enum { POINTS = 3, MAX_PROBES = 40 };

void clsi_adaptive_start(cls_simulator *sim) {
    clsi_adaptive *a = &sim->adaptive;
    a->h = a->inner = 0;
    a->error = 1;
    a->lets_fall = 0;
    a->n_known = a->newest = 0;
    for (size_t i = 0; i < sim->stepper->nz; i++) a->largest[i] = fabs(sim->state[i]);
}

/* ---- the predictor ---- */

/* The known stages nearest to `middle`, nearest first. */
static size_t nearest(const clsi_adaptive *a, double middle, size_t *chosen) {
    size_t n = 0;
    for (size_t k = 0; k < a->n_known; k++) {
        double distance = fabs(a->middle[k] - middle);
        size_t at = n < POINTS ? n++ : POINTS;
        for (; at > 0 && distance < fabs(a->middle[chosen[at - 1]] - middle); at--)
            if (at < POINTS) chosen[at] = chosen[at - 1];
        if (at < POINTS) chosen[at] = k;
    }
    return n;
}

/* Lagrange through the nearest stages; 0 when none is known. */
static int predict(cls_simulator *sim, double middle) {
    const clsi_adaptive *a = &sim->adaptive;
    size_t k = sim->stepper->n_unknowns, chosen[POINTS], n = nearest(a, middle, chosen);
    double *u = sim->newton.in + sim->stepper->n_base;
    if (n < 2) return 0;
    memset(u, 0, k * sizeof *u);
    for (size_t i = 0; i < n; i++) {
        double at = a->middle[chosen[i]], above = 1, below = 1;
        for (size_t j = 0; j < n; j++) {
            if (j == i) continue;
            above *= middle - a->middle[chosen[j]];
            below *= at - a->middle[chosen[j]];
        }
        const double *rate = a->rate + chosen[i] * k;
        for (size_t c = 0; c < k; c++) u[c] += above / below * rate[c];
    }
    return 1;
}

static void remember(cls_simulator *sim, double middle) {
    clsi_adaptive *a = &sim->adaptive;
    size_t k = sim->stepper->n_unknowns, room = sim->stepper->scheme->n_composition;
    memcpy(a->rate + a->newest * k, sim->newton.in + sim->stepper->n_base, k * sizeof(double));
    a->middle[a->newest] = middle;
    a->newest = (a->newest + 1) % room;
    if (a->n_known < room) a->n_known++;
}

/* ---- one internal step ---- */

static double now(const cls_simulator *sim) {
    return cls_simulator_time(sim) + sim->adaptive.inner;
}

static void go_back(cls_simulator *sim) {
    memcpy(sim->state, sim->adaptive.states, sim->n_kept * sizeof(double));
}

/* All stages of a step of h; leaves the states between them for the estimate. */
static clsi_trouble stages(cls_simulator *sim, double h) {
    const clsi_scheme *scheme = sim->stepper->scheme;
    double *state = sim->adaptive.states, t = now(sim);
    memcpy(state, sim->state, sim->n_kept * sizeof(double));
    for (size_t i = 0; i < scheme->n_composition; i++) {
        double part = scheme->composition[i] * h, middle = t + part / 2;
        int warm = predict(sim, middle);
        clsi_trouble trouble = clsi_simulator_solve(sim, t, part, i ? 0 : sim->defect, warm);
        if (trouble != CLSI_FINE) return trouble;
        remember(sim, middle);
        t += part;
        state += sim->n_kept;
        memcpy(state, sim->state, sim->n_kept * sizeof(double));
    }
    return CLSI_FINE;
}

static double scale_of(const cls_simulator *sim, size_t i, double rest) {
    return fmax(fmax(sim->adaptive.largest[i], fabs(sim->state[i])), fmax(1e-3 * rest, DBL_MIN));
}

/* A component that stays small is measured by the others, as in newton.c. */
static double largest_of_all(const cls_simulator *sim) {
    double rest = 0;
    for (size_t i = 0; i < sim->stepper->nz; i++)
        rest = fmax(rest, fmax(sim->adaptive.largest[i], fabs(sim->state[i])));
    return rest;
}

/* The local error of the stages just made, relative to the size of each component. */
static double estimate(const cls_simulator *sim) {
    const clsi_scheme *scheme = sim->stepper->scheme;
    size_t n = scheme->n_composition + 1;
    const double *high = scheme->estimate, *low = high + n, *states = sim->adaptive.states;
    double rest = largest_of_all(sim), e5 = 0, e3 = 0;
    for (size_t i = 0; i < sim->stepper->nz; i++) {
        double first = 0, second = 0, scale = scale_of(sim, i, rest);
        for (size_t j = 0; j < n; j++) {
            double moved = states[j * sim->n_kept + i] - states[i];
            first += high[j] * moved;
            second += low[j] * moved;
        }
        if (!isfinite(first)) return INFINITY;
        e5 = fmax(e5, fabs(first) / scale);
        e3 = fmax(e3, fabs(second) / scale);
    }
    return e5 * SAFETY < e3 ? e5 * (SAFETY * e5 / e3) : e5;
}

/* The first size. One plain step against two halves is O(h^3) with a constant that says on which
 * time the motion changes; from there to the size that order 6 can afford is a guess that the
 * controller corrects. The step that the author of the system found sensible says where to begin
 * looking. */
static void probe(cls_simulator *sim) {
    clsi_adaptive *a = &sim->adaptive;
    double *start = a->states, *whole = start + sim->n_kept;
    double h = fmin(sim->h, 10 * cls_system_default_step(sim->stepper->s));
    memcpy(start, sim->state, sim->n_kept * sizeof(double));
    for (int tries = 0; tries < MAX_PROBES; tries++, h *= 0.1) {
        clsi_trouble trouble = clsi_simulator_solve(sim, now(sim), h, 0, 0);
        memcpy(whole, sim->state, sim->n_kept * sizeof(double));
        go_back(sim);
        for (int half = 0; half < 2 && trouble == CLSI_FINE; half++)
            trouble = clsi_simulator_solve(sim, now(sim) + half * h / 2, h / 2, 0, 0);
        double error = 0, rest = largest_of_all(sim);
        for (size_t i = 0; i < sim->stepper->nz; i++)
            error = fmax(error, fabs(whole[i] - sim->state[i]) / scale_of(sim, i, rest));
        go_back(sim);
        a->h = h;
        if (trouble != CLSI_FINE || error > 0.1) continue;
        double change = cbrt(fmax(error, 1e-12)),
               fine = pow(sim->stepper->options.accuracy, 1.0 / 7);
        a->h = fmin(sim->h, h * fmin(0.3 * fine / change, 5));
        return;
    }
}

/* ---- choosing ---- */

static void accept(cls_simulator *sim, double h, double error, int shrunk) {
    clsi_adaptive *a = &sim->adaptive;
    error = fmax(error, 1e-4); /* a lucky zero must not frighten the next step */
    double factor = 0.9 * pow(error, -0.7 / 7) * pow(a->error, 0.4 / 7);
    factor = fmin(fmax(factor, 0.2), shrunk ? 1 : 5);
    /* a step cut short by the output says nothing against the one that was planned */
    a->h = factor < 1 ? h * factor : fmax(a->h, h * factor);
    a->error = error;
    a->inner += h;
    for (size_t i = 0; i < sim->stepper->nz; i++)
        a->largest[i] = fmax(a->largest[i], fabs(sim->state[i]));
    sim->info.internal_steps++;
}

/* Back to the start of the step with a shorter one. */
static void reject(cls_simulator *sim, double h) {
    go_back(sim);
    sim->adaptive.h = h;
    sim->adaptive.n_known = sim->adaptive.newest = 0;
    sim->info.rejected_steps++;
}

/* The total entropy has fallen by more than round-off, since `before` or since the output. */
static int entropy_falls(cls_simulator *sim, double before) {
    return clsi_simulator_falls_below(sim, fmax(before, sim->adaptive.output_entropy));
}

/* The plain step of h, in which nothing goes backwards. */
static clsi_trouble plain_step(cls_simulator *sim, double h) {
    clsi_trouble trouble = clsi_simulator_solve(sim, now(sim), h, 0, 0);
    if (trouble == CLSI_FINE) clsi_simulator_measure(sim, sim->adaptive.inner + h);
    return trouble;
}

/* When the entropy falls over the plain step too, then by the system's own formulas (friction of
 * the wrong sign), and there is nothing to insist on. */
static int falls_by_itself(cls_simulator *sim, double h, double before) {
    go_back(sim);
    int falls = plain_step(sim, h) == CLSI_FINE && entropy_falls(sim, before);
    sim->monitor_out[CLSI_MONITOR_ENTROPY] = before;
    return falls;
}

/* Tries a step of h. 1: made and measured; 0: not, a->reason says why, and a->h is smaller. */
static int attempt(cls_simulator *sim, double h, int shrunk) {
    clsi_adaptive *a = &sim->adaptive;
    double before = sim->monitor_out[CLSI_MONITOR_ENTROPY];
    a->reason = stages(sim, h);
    if (a->reason != CLSI_FINE) return reject(sim, h / 4), 0;
    double error = estimate(sim) / sim->stepper->options.accuracy;
    if (!(error <= 1)) {
        a->reason = CLSI_INACCURATE;
        return reject(sim, h * fmax(0.2, 0.9 * pow(error, -1.0 / 7))), 0;
    }
    clsi_simulator_measure(sim, sim->adaptive.inner + h);
    if (!a->lets_fall && entropy_falls(sim, before)) {
        a->reason = CLSI_FALLING;
        a->lets_fall = falls_by_itself(sim, h, before);
        sim->defect = fmax(sim->defect, 0);
        return reject(sim, a->lets_fall ? h : h / 2), 0;
    }
    accept(sim, h, error, shrunk);
    return 1;
}

static clsi_trouble internal_step(cls_simulator *sim) {
    const cls_simulate_options *o = &sim->stepper->options;
    clsi_adaptive *a = &sim->adaptive;
    double least = 16 * DBL_EPSILON * fmax(sim->h, fabs(now(sim))), left = sim->h - a->inner;
    for (int tries = 0, falls = 0;; tries++) {
        double parts = ceil(left / a->h), h = left / parts;
        if (a->attempts++ >= o->max_internal) return CLSI_ENDLESS;
        int made = attempt(sim, h, tries > 0);
        if (!made && a->reason == CLSI_FALLING && ++falls > o->max_halvings) {
            clsi_trouble trouble = plain_step(sim, h);
            if (trouble != CLSI_FINE) return trouble;
            accept(sim, h, 0, 0);
            made = 1;
        }
        if (!made && a->h > least) continue;
        if (!made) return a->reason;
        if (parts == 1) a->inner = sim->h;
        return clsi_simulator_balance(sim);
    }
}

clsi_trouble clsi_adaptive_step(cls_simulator *sim) {
    clsi_adaptive *a = &sim->adaptive;
    const clsi_stepper *sp = sim->stepper;
    double *saved = sim->saved + (size_t)(sp->options.max_halvings + 2) * sim->n_kept;
    double entropy = sim->monitor_out[CLSI_MONITOR_ENTROPY];
    clsi_trouble trouble = CLSI_FINE;
    memcpy(saved, sim->state, sim->n_kept * sizeof(double));
    a->output_entropy = entropy;
    a->attempts = 0;
    if (a->h == 0) probe(sim);
    while (a->inner < sim->h && trouble == CLSI_FINE) trouble = internal_step(sim);
    a->inner = 0;
    if (trouble == CLSI_FINE && clsi_simulator_has_lost(sim)) trouble = CLSI_LOST;
    sim->step_entropy = sim->monitor_out[CLSI_MONITOR_ENTROPY] - entropy;
    if (trouble == CLSI_FINE && clsi_simulator_falls_unsolved(sim)) trouble = CLSI_FALLING;
    if (trouble != CLSI_FINE) {
        memcpy(sim->state, saved, sim->n_kept * sizeof(double));
        sim->monitor_out[CLSI_MONITOR_ENTROPY] = entropy;
        a->n_known = a->newest = 0;
        sim->defect = 0;
    }
    sim->step_entropy = sim->monitor_out[CLSI_MONITOR_ENTROPY] - entropy;
    return trouble;
}
