/* Stepping: predictor, Newton, halving, and the watch over the laws.
 *
 * The predictor extrapolates the last solutions, so that Newton begins within O(h^5) of the
 * answer. A step that Newton cannot solve is made again from the cold guess, then split into
 * halves, each of which may be split again; this is counted and reported. Energy that round-off
 * lost is handed to the next step (`defect`), as far as that cannot make the entropy fall. Nothing
 * here allocates after cls_simulator_create. */
#include "simulate/simulator.h"
#include "base/base.h"
#include "expr/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

cls_simulate_options cls_simulate_defaults(void) {
    return (cls_simulate_options){.size = sizeof(cls_simulate_options),
                                  .tolerance = 1e-14,
                                  .max_iterations = 50,
                                  .max_halvings = 10,
                                  .monitor = 1,
                                  .first_step = CLS_FIRST_MOMENTUM,
                                  .reference_tolerance = 1e-15,
                                  .accuracy = 1e-9};
}

/* ---- creation ---- */

static double *carve(double **at, size_t n) {
    double *here = *at;
    *at += n;
    return here;
}

static size_t substeps(const clsi_stepper *sp) {
    return sp->scheme->n_composition ? sp->scheme->n_composition : 1;
}

static void carve_all(cls_simulator *sim, double *at) {
    const clsi_stepper *sp = sim->stepper;
    clsi_newton *nw = &sim->newton;
    size_t k = sp->n_unknowns, out = k + k * k + sp->n_positive;
    size_t n_monitor = CLSI_MONITOR_INVARIANTS + sp->s->n_invariants;
    sim->state = carve(&at, sim->n_state);
    sim->saved = carve(&at, (size_t)(sp->options.max_halvings + 3) * sim->n_state);
    sim->history = carve(&at, substeps(sp) * CLSI_HISTORY * k);
    sim->row_in = carve(&at, sp->nz + 2);
    sim->monitor_out = carve(&at, n_monitor);
    sim->monitor_start = carve(&at, n_monitor);
    sim->next_out = carve(&at, sim->n_state);
    if (sp->scheme->estimate) {
        sim->adaptive.states = carve(&at, (substeps(sp) + 1) * sim->n_state);
        sim->adaptive.largest = carve(&at, sp->nz);
        sim->adaptive.middle = carve(&at, substeps(sp));
        sim->adaptive.rate = carve(&at, substeps(sp) * k);
    }
    nw->in = carve(&at, sp->n_base + k);
    nw->out = carve(&at, out);
    nw->trial_out = carve(&at, out);
    nw->lu = carve(&at, k * k);
    nw->d = carve(&at, k);
    nw->trial_d = carve(&at, k);
    nw->u = carve(&at, k);
    nw->scale = carve(&at, k);
    nw->least = carve(&at, k);
    nw->guarded = carve(&at, sp->n_guarded);
    struct {
        double **work;
        const cls_program *program;
    } programs[] = {
        {&nw->work_residual, sp->residual}, {&nw->work_next, sp->next},
        {&nw->work_guard, sp->guard},       {&nw->work_guess, sp->guess},
        {&nw->work_monitor, sp->monitor},   {&nw->work_paper, sp->paper},
        {&nw->work_scale, sp->scale},       {&nw->work_row, clsi_system_row_program(sp->s)}};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (!programs[i].program) continue;
        *programs[i].work = carve(&at, cls_program_work_size(programs[i].program));
        cls_program_prepare(programs[i].program, *programs[i].work);
    }
}

static size_t block_size(const cls_simulator *sim) {
    const clsi_stepper *sp = sim->stepper;
    size_t k = sp->n_unknowns, out = k + k * k + sp->n_positive;
    size_t n_monitor = CLSI_MONITOR_INVARIANTS + sp->s->n_invariants;
    size_t adaptive = sp->scheme->estimate
                          ? (substeps(sp) + 1) * sim->n_state + sp->nz + substeps(sp) * (k + 1)
                          : 0;
    return sim->n_state * (size_t)(sp->options.max_halvings + 5) + adaptive +
           substeps(sp) * CLSI_HISTORY * k + sp->nz + 2 + 2 * n_monitor + sp->n_base + k + 2 * out +
           k * k + 5 * k + sp->n_guarded + sp->work_size +
           cls_program_work_size(clsi_system_row_program(sp->s));
}

static cls_status allocate(cls_simulator *sim, cls_error *error) {
    const clsi_stepper *sp = sim->stepper;
    size_t n_invariants = sp->s->n_invariants;
    sim->n_state = sp->nz + (sp->s->has_work ? 1 : 0);
    sim->block = clsi_calloc(block_size(sim), sizeof(double));
    sim->history_length = clsi_calloc(substeps(sp), sizeof *sim->history_length);
    sim->invariants = clsi_calloc(n_invariants, sizeof *sim->invariants);
    sim->newton.pivot = clsi_calloc(sp->n_unknowns, sizeof *sim->newton.pivot);
    if (!sim->block || !sim->history_length || !sim->invariants || !sim->newton.pivot)
        return clsi_no_memory(error);
    carve_all(sim, sim->block);
    for (size_t i = 0; i < n_invariants; i++)
        sim->invariants[i].name = sp->s->raw.invariants[i].name;
    sim->info = (cls_simulate_info){.scheme = sp->scheme->info.name,
                                    .h = sp->options.h,
                                    .n_invariants = n_invariants,
                                    .invariants = sim->invariants};
    if (sp->scheme->build) return CLS_OK;
    return clsi_reference_create(sp->s, &sp->options, &sim->reference, error);
}

cls_status clsi_simulator_attach(clsi_stepper *stepper, cls_simulator **out, cls_error *error) {
    *out = NULL;
    cls_simulator *sim = clsi_calloc(1, sizeof *sim);
    if (!sim) return clsi_no_memory(error);
    sim->stepper = stepper;
    cls_status status = allocate(sim, error);
    if (status == CLS_OK)
        *out = sim;
    else
        cls_simulator_free(&sim);
    return status;
}

static cls_status check_options(const cls_simulate_options *o, cls_error *error) {
    if (!isfinite(o->h) || o->h <= 0)
        return clsi_fail(error, CLS_USAGE, "the step h is %g; it must be a positive number", o->h);
    if (!(o->tolerance > 0 && o->tolerance < 1e-2))
        return clsi_fail(error, CLS_USAGE, "the tolerance is %g; it must lie between 0 and 0.01",
                         o->tolerance);
    if (o->max_iterations < 1 || o->max_halvings < 0 || o->max_halvings > 60)
        return clsi_fail(error, CLS_USAGE,
                         "max_iterations must be positive and max_halvings from 0 to 60");
    if (!(o->accuracy >= 1e-13 && o->accuracy <= 0.1))
        return clsi_fail(error, CLS_USAGE, "the accuracy is %g; it must lie between 1e-13 and 0.1",
                         o->accuracy);
    return CLS_OK;
}

cls_status cls_simulator_create(const cls_system *system, const cls_simulate_options *options,
                                cls_simulator **out, cls_error *error) {
    *out = NULL;
    cls_simulate_options o = options ? *options : cls_simulate_defaults();
    if (o.h == 0 && !(options && signbit(o.h))) o.h = cls_system_default_step(system);
    cls_status status = check_options(&o, error);
    if (status != CLS_OK) return status;
    clsi_stepper *sp;
    status = clsi_stepper_create(system, &o, &sp, error);
    if (status != CLS_OK) return status;
    if (o.first_step == CLS_FIRST_PAPER && !sp->paper) {
        clsi_stepper_free(&sp);
        return clsi_fail(error, CLS_USAGE,
                         "the paper's first step belongs to dtel on a system given by a lagrangian "
                         "or hamiltonian; leave it out");
    }
    status = clsi_simulator_attach(sp, out, error);
    if (status == CLS_OK)
        (*out)->owns_stepper = 1;
    else
        clsi_stepper_free(&sp);
    return status;
}

void cls_simulator_free(cls_simulator **simulator) {
    cls_simulator *sim = *simulator;
    if (!sim) return;
    if (sim->owns_stepper) clsi_stepper_free(&sim->stepper);
    clsi_reference_free(&sim->reference);
    free(sim->block);
    free(sim->history_length);
    free(sim->invariants);
    free(sim->newton.pivot);
    free(sim);
    *simulator = NULL;
}

/* ---- watching ---- */

/* A program over (z, work, t) at the present state. */
static void run_here(cls_simulator *sim, const cls_program *p, double *work, double *out) {
    const clsi_stepper *sp = sim->stepper;
    double *in = sim->row_in;
    memcpy(in, sim->state, sp->nz * sizeof(double));
    in[sp->nz] = sp->s->has_work ? sim->state[sp->nz] : 0;
    in[sp->nz + 1] = cls_simulator_time(sim);
    cls_program_run(p, work, in, out);
}

static void run_monitor(cls_simulator *sim, double *out) {
    run_here(sim, sim->stepper->monitor, sim->newton.work_monitor, out);
}

/* The energy that is missing. A positive amount may always be given to the heat; a negative one
 * only up to half of what the last step produced, so that it cannot make the entropy fall (and only
 * when that production stands out of the round-off of S). */
static void set_defect(cls_simulator *sim, double missing) {
    const double *now = sim->monitor_out;
    double beta = now[CLSI_MONITOR_BETA], produced = sim->step_entropy;
    int real = beta > 0 && produced > 1e-14 * now[CLSI_MONITOR_SIZE];
    double least = real ? -0.5 * produced / beta : 0;
    sim->defect = fmax(missing, least);
}

/* Energy, entropy and invariants after a step; what the step did to the entropy. */
void clsi_simulator_measure(cls_simulator *sim) {
    double before = sim->monitor_out[CLSI_MONITOR_ENTROPY];
    run_monitor(sim, sim->monitor_out);
    sim->step_entropy = sim->monitor_out[CLSI_MONITOR_ENTROPY] - before;
}

static void watch(cls_simulator *sim) {
    cls_simulate_info *info = &sim->info;
    const double *start = sim->monitor_start, *now = sim->monitor_out;
    double entropy = now[CLSI_MONITOR_ENTROPY];
    double error = fabs(now[CLSI_MONITOR_ENERGY] - start[CLSI_MONITOR_ENERGY]);
    info->energy_max_error = fmax(info->energy_max_error, error);
    info->entropy_final = entropy;
    if (sim->steps == 1 || sim->step_entropy < info->entropy_min_step)
        info->entropy_min_step = sim->step_entropy;
    if (sim->step_entropy < -1e-14 * now[CLSI_MONITOR_SIZE]) info->entropy_falls++;
    for (size_t i = 0; i < info->n_invariants; i++) {
        double drift = fabs(now[CLSI_MONITOR_INVARIANTS + i] - sim->invariants[i].initial);
        sim->invariants[i].max_error = fmax(sim->invariants[i].max_error, drift);
    }
}

static void watch_start(cls_simulator *sim) {
    run_monitor(sim, sim->monitor_start);
    run_here(sim, sim->stepper->scale, sim->newton.work_scale, &sim->energy_scale);
    memcpy(sim->monitor_out, sim->monitor_start,
           (CLSI_MONITOR_INVARIANTS + sim->info.n_invariants) * sizeof(double));
    cls_simulate_info *info = &sim->info;
    *info = (cls_simulate_info){.scheme = info->scheme,
                                .h = info->h,
                                .n_invariants = info->n_invariants,
                                .invariants = sim->invariants,
                                .energy_initial = sim->monitor_start[CLSI_MONITOR_ENERGY],
                                .entropy_initial = sim->monitor_start[CLSI_MONITOR_ENTROPY],
                                .entropy_final = sim->monitor_start[CLSI_MONITOR_ENTROPY]};
    for (size_t i = 0; i < info->n_invariants; i++) {
        sim->invariants[i].initial = sim->monitor_start[CLSI_MONITOR_INVARIANTS + i];
        sim->invariants[i].max_error = 0;
    }
}

/* ---- starting ---- */

static cls_status check_start(const cls_system *s, const double *state, cls_error *error) {
    for (size_t i = 0; i < s->form->nz; i++) {
        const char *name = cls_system_state_name(s, i);
        if (!isfinite(state[i]))
            return clsi_fail(error, CLS_USAGE, "the start has %s = %g; it must be a finite number",
                             name, state[i]);
        size_t heat = s->nq + s->n;
        const clsi_variable *x = i < s->nq ? &s->coordinate[i] : NULL;
        if (i >= heat && s->form->kind == CLSI_FORM_THERMAL) x = &s->temperature[i - heat];
        if (x && !(state[i] > x->low && state[i] < x->high))
            return clsi_fail(error, CLS_USAGE, "the start has %s = %g; it must lie in (%g, %g)",
                             name, state[i], x->low, x->high);
    }
    return CLS_OK;
}

cls_status cls_simulator_start(cls_simulator *sim, double time, const double *state,
                               cls_error *error) {
    const clsi_stepper *sp = sim->stepper;
    cls_status status = check_start(sp->s, state, error);
    if (status != CLS_OK) return status;
    if (!isfinite(time)) return clsi_fail(error, CLS_USAGE, "the start time is %g", time);
    memcpy(sim->state, state, sim->n_state * sizeof(double));
    status = clsi_system_check_units(sp->s, sim->state, error);
    if (status != CLS_OK) return status;
    sim->t0 = time;
    sim->steps = 0;
    sim->defect = sim->step_entropy = 0;
    sim->paper_pending = sp->options.first_step == CLS_FIRST_PAPER;
    memset(sim->history_length, 0, substeps(sp) * sizeof *sim->history_length);
    sim->newton.iterations = 0;
    sim->newton.max_iterations = 0;
    watch_start(sim);
    if (sp->scheme->estimate) clsi_adaptive_start(sim);
    if (!isfinite(sim->monitor_start[CLSI_MONITOR_ENERGY]))
        return clsi_fail(error, CLS_USAGE,
                         "the energy at the start is not a finite number; choose another start");
    return sim->reference ? clsi_reference_start(sim->reference, time, state, error) : CLS_OK;
}

/* ---- stepping ---- */

static void set_base(cls_simulator *sim, double t, double h, double defect) {
    const clsi_stepper *sp = sim->stepper;
    double *in = sim->newton.in;
    memcpy(in, sim->state, sp->nz * sizeof(double));
    in[sp->nz] = sp->s->has_work ? sim->state[sp->nz] : 0;
    in[sp->nz + 1] = t;
    in[sp->nz + 2] = h;
    in[sp->nz + 3] = defect;
}

/* Whether five solutions foretell the last one much better than three, in every component: the
 * motion is smooth at this step, not rough and not about to leave. */
static int is_smooth(size_t k, const double *a) {
    const double *b = a + k, *c = b + k, *d = c + k, *e = d + k, *f = e + k;
    for (size_t i = 0; i < k; i++) {
        double by_three = a[i] - (3 * (b[i] - c[i]) + d[i]);
        double by_five = a[i] - (5 * (b[i] - e[i]) - 10 * (c[i] - d[i]) + f[i]);
        if (!(fabs(by_five) <= 0.1 * fabs(by_three) + 1e-12 * fabs(a[i]))) return 0;
    }
    return 1;
}

/* Lagrange extrapolation of the last five solutions, else three; 0 when there are fewer. With five
 * Newton begins so near that one update is enough for most motions. */
static int predict(cls_simulator *sim, size_t sub) {
    size_t k = sim->stepper->n_unknowns;
    int length = sim->history_length[sub];
    const double *a = sim->history + sub * CLSI_HISTORY * k, *b = a + k, *c = b + k, *d = c + k;
    double *u = sim->newton.in + sim->stepper->n_base;
    if (length < 3) return 0;
    if (length == CLSI_HISTORY && is_smooth(k, a)) {
        for (size_t i = 0; i < k; i++) u[i] = 5 * (a[i] - d[i]) - 10 * (b[i] - c[i]) + d[k + i];
    } else {
        for (size_t i = 0; i < k; i++) u[i] = 3 * (a[i] - b[i]) + c[i];
    }
    return 1;
}

static void remember(cls_simulator *sim, size_t sub) {
    size_t k = sim->stepper->n_unknowns;
    double *newest = sim->history + sub * CLSI_HISTORY * k;
    memmove(newest + k, newest, (CLSI_HISTORY - 1) * k * sizeof(double));
    memcpy(newest, sim->newton.in + sim->stepper->n_base, k * sizeof(double));
    if (sim->history_length[sub] < CLSI_HISTORY) sim->history_length[sub]++;
}

/* The end of the step from the solution, if it is one: finite and in the domain. */
static clsi_trouble take_next(cls_simulator *sim) {
    const clsi_stepper *sp = sim->stepper;
    clsi_newton *nw = &sim->newton;
    clsi_program_early(sp->next, nw->work_next, nw->in);
    clsi_program_late(sp->next, nw->work_next, nw->in, sim->next_out);
    for (size_t i = 0; i < sim->n_state; i++)
        if (!isfinite(sim->next_out[i])) return CLSI_NONFINITE;
    for (size_t k = 0; k < sp->n_guarded; k++) {
        const clsi_variable *x = &sp->s->coordinate[sp->guarded[k]];
        double reached = sim->next_out[sp->guarded[k]];
        if (!(reached > x->low && reached < x->high)) return CLSI_DOMAIN;
    }
    memcpy(sim->state, sim->next_out, sim->n_state * sizeof(double));
    clsi_system_normalise(sp->s, sim->state);
    return CLSI_FINE;
}

/* Newton from the unknowns that are there. */
static clsi_trouble solve(cls_simulator *sim) {
    clsi_newton *nw = &sim->newton;
    clsi_trouble trouble = clsi_newton_solve(sim->stepper, nw);
    if (nw->last_iterations > nw->max_iterations) nw->max_iterations = nw->last_iterations;
    return trouble == CLSI_FINE ? take_next(sim) : trouble;
}

clsi_trouble clsi_simulator_solve(cls_simulator *sim, double t, double h, double defect, int warm) {
    const clsi_stepper *sp = sim->stepper;
    double *in = sim->newton.in;
    set_base(sim, t, h, defect);
    if (warm && solve(sim) == CLSI_FINE) return CLSI_FINE;
    cls_program_run(sp->guess, sim->newton.work_guess, in, in + sp->n_base);
    return solve(sim);
}

/* One step of h from time t; split in halves as often as it must be and may be. */
static clsi_trouble step(cls_simulator *sim, size_t sub, double t, double h, double defect,
                         int depth) {
    int warm = depth == 0 && predict(sim, sub);
    clsi_trouble trouble = clsi_simulator_solve(sim, t, h, defect, warm);
    if (trouble == CLSI_FINE) {
        if (depth == 0) remember(sim, sub);
        return CLSI_FINE;
    }
    if (depth >= sim->stepper->options.max_halvings) return trouble;
    if (depth == 0) {
        sim->info.retried_steps++;
        sim->history_length[sub] = 0;
    }
    if (depth + 1 > sim->info.deepest_halving) sim->info.deepest_halving = depth + 1;
    double *saved = sim->saved + (size_t)depth * sim->n_state;
    memcpy(saved, sim->state, sim->n_state * sizeof(double));
    trouble = step(sim, sub, t, h / 2, defect, depth + 1);
    if (trouble == CLSI_FINE) trouble = step(sim, sub, t + h / 2, h / 2, 0, depth + 1);
    if (trouble != CLSI_FINE) memcpy(sim->state, saved, sim->n_state * sizeof(double));
    return trouble;
}

static clsi_trouble composed_step(cls_simulator *sim) {
    const clsi_scheme *scheme = sim->stepper->scheme;
    double t = cls_simulator_time(sim), h = sim->stepper->options.h;
    if (!scheme->composition) return step(sim, 0, t, h, sim->defect, 0);
    double *saved = sim->saved + (size_t)(sim->stepper->options.max_halvings + 1) * sim->n_state;
    memcpy(saved, sim->state, sim->n_state * sizeof(double));
    clsi_trouble trouble = CLSI_FINE;
    for (size_t i = 0; i < scheme->n_composition && trouble == CLSI_FINE; i++) {
        trouble = step(sim, i, t, scheme->composition[i] * h, i ? 0 : sim->defect, 0);
        t += scheme->composition[i] * h;
    }
    if (trouble != CLSI_FINE) memcpy(sim->state, saved, sim->n_state * sizeof(double));
    return trouble;
}

/* A scheme that keeps energy has lost it when the error is this part of the energies at the start:
 * the terms have grown until their round-off is larger than their sum. */
#define RUNAWAY 1e-6

clsi_trouble clsi_simulator_balance(cls_simulator *sim) {
    double missing =
        sim->monitor_start[CLSI_MONITOR_ENERGY] - sim->monitor_out[CLSI_MONITOR_ENERGY];
    if (!(fabs(missing) <= RUNAWAY * sim->energy_scale) && sim->energy_scale > 0)
        return CLSI_RUNAWAY;
    set_defect(sim, missing);
    return CLSI_FINE;
}

/* A step that is solved to round-off changes the energy by the defect it was given and by no more
 * than this part of the energies at the start. */
#define SLIP 1e-13

/* Newton stops one update early where convergence looks quadratic. With steep formulas (a network
 * with large weights) it may look so and not be: the energy tells, and the step is made again with
 * every update made until it is round-off. */
static clsi_trouble careful_step(cls_simulator *sim, const double *saved, const double *before) {
    double slip = sim->monitor_out[CLSI_MONITOR_ENERGY] - before[CLSI_MONITOR_ENERGY] - sim->defect;
    if (fabs(slip) <= SLIP * sim->energy_scale) return CLSI_FINE;
    memcpy(sim->state, saved, sim->n_state * sizeof(double));
    memcpy(sim->monitor_out, before, CLSI_MONITOR_INVARIANTS * sizeof(double));
    sim->newton.careful = 1;
    clsi_trouble trouble = composed_step(sim);
    sim->newton.careful = 0;
    if (trouble == CLSI_FINE) clsi_simulator_measure(sim);
    return trouble;
}

/* A step is solved up to this part of the energies. Where a temperature is next to nothing that is
 * much entropy (COLD: a part of all there is), and a fall within it says that the step cannot be
 * solved well enough. Other falls are what the formulas say (a friction that drives). */
#define UNSOLVED 1e-13
#define COLD     1e-11

static int falls_by_round_off(const cls_simulator *sim) {
    const double *now = sim->monitor_out;
    double fall = -sim->step_entropy, size = now[CLSI_MONITOR_SIZE];
    double unsolved = UNSOLVED * now[CLSI_MONITOR_BETA] * sim->energy_scale;
    return unsolved > COLD * size && fall > 1e-14 * size && fall <= unsolved;
}

/* A whole step with the carried defect. Production may drop so fast (a turning point) that taking
 * the defect away would make the entropy fall: then the step is made again without it. */
static clsi_trouble carried_step(cls_simulator *sim) {
    const clsi_stepper *sp = sim->stepper;
    double *saved = sim->saved + (size_t)(sp->options.max_halvings + 2) * sim->n_state;
    double entropy = sim->monitor_out[CLSI_MONITOR_ENTROPY], before[CLSI_MONITOR_INVARIANTS];
    memcpy(before, sim->monitor_out, sizeof before);
    memcpy(saved, sim->state, sim->n_state * sizeof(double));
    clsi_trouble trouble = composed_step(sim);
    if (trouble != CLSI_FINE) return trouble;
    clsi_simulator_measure(sim);
    trouble = careful_step(sim, saved, before);
    if (trouble != CLSI_FINE) return trouble;
    if (sim->defect < 0 && sim->step_entropy < 0) {
        memcpy(sim->state, saved, sim->n_state * sizeof(double));
        sim->monitor_out[CLSI_MONITOR_ENTROPY] = entropy;
        sim->defect = 0;
        trouble = composed_step(sim);
        if (trouble == CLSI_FINE) clsi_simulator_measure(sim);
    }
    if (trouble != CLSI_FINE) return trouble;
    trouble = falls_by_round_off(sim) ? CLSI_FALLING : clsi_simulator_balance(sim);
    if (trouble != CLSI_FINE) memcpy(sim->state, saved, sim->n_state * sizeof(double));
    return trouble;
}

static clsi_trouble whole_step(cls_simulator *sim) {
    const clsi_scheme *scheme = sim->stepper->scheme;
    if (scheme->estimate) return clsi_adaptive_step(sim);
    return scheme->carries ? carried_step(sim) : composed_step(sim);
}

static void make_paper_start(cls_simulator *sim) {
    const clsi_stepper *sp = sim->stepper;
    set_base(sim, sim->t0, sp->options.h, 0);
    double *work = sim->newton.work_paper;
    cls_program_run(sp->paper, work, sim->newton.in, sim->next_out);
    memcpy(sim->state, sim->next_out, sp->nz * sizeof(double));
    sim->paper_pending = 0;
}

/* ---- failing ---- */

static void describe_state(const cls_simulator *sim, clsi_text *text) {
    for (size_t i = 0; i < sim->n_state && i < 12; i++)
        clsi_text_printf(text, "%s%s = %.8g", i ? ", " : "",
                         cls_system_state_name(sim->stepper->s, i), sim->state[i]);
    if (sim->n_state > 12) clsi_text_append(text, ", ...");
}

/* The term of the residual that is not finite, as the user would write it. */
static void describe_term(cls_simulator *sim, clsi_text *text) {
    const clsi_stepper *sp = sim->stepper;
    const cls_program *programs[] = {sp->residual, sp->next};
    double *work[] = {sim->newton.work_residual, sim->newton.work_next};
    for (int i = 0; i < 2; i++) {
        cls_node term = cls_program_first_nonfinite(programs[i], work[i], sim->newton.in);
        if (term == CLS_NO_NODE) continue;
        char *printed = cls_print(sp->s->g, term);
        clsi_text_printf(text, "; the term %.300s is not finite", printed ? printed : "?");
        cls_text_free(&printed);
        return;
    }
}

static cls_status fail(cls_simulator *sim, clsi_trouble trouble, cls_error *error) {
    static const char *const why[] = {
        [CLSI_FINE] = "",
        [CLSI_NONFINITE] = "the equations of the step became non-finite",
        [CLSI_DOMAIN] = "the motion leaves the declared domain",
        [CLSI_SINGULAR] = "the Jacobian of the step is singular",
        [CLSI_STALLED] = "Newton's method did not converge",
        [CLSI_RUNAWAY] = "the motion runs away: the terms of the energy have grown until their "
                         "round-off exceeds the energy itself",
        [CLSI_INACCURATE] = "the accuracy asked for needs steps below round-off",
        [CLSI_FALLING] = "the entropy falls over every step down to round-off"};
    clsi_text text = {0};
    clsi_text_printf(&text, "step %llu at time %.10g: %s", (unsigned long long)sim->steps + 1,
                     cls_simulator_time(sim), why[trouble]);
    if (trouble == CLSI_NONFINITE) describe_term(sim, &text);
    clsi_text_append(&text, "; the last good state is ");
    describe_state(sim, &text);
    int adaptive = sim->stepper->scheme->estimate != NULL;
    if (adaptive)
        clsi_text_printf(&text, "; internal steps were made as short as %.3g in vain",
                         sim->adaptive.h);
    else if (trouble != CLSI_RUNAWAY)
        clsi_text_printf(&text, "; h = %g was halved %d times in vain", sim->stepper->options.h,
                         sim->stepper->options.max_halvings);
    clsi_text_printf(&text, ": take a %s, or look at the system's formulas there",
                     adaptive ? "larger accuracy" : "smaller h");
    cls_status status =
        clsi_fail(error, CLS_NUMERIC, "%s", text.data ? text.data : "the step failed");
    clsi_text_clear(&text);
    return status;
}

/* ---- the public side ---- */

static cls_status reference_step(cls_simulator *sim, cls_error *error) {
    double t = sim->t0 + (double)(sim->steps + 1) * sim->stepper->options.h;
    cls_status status = clsi_reference_advance(sim->reference, t, sim->state, error);
    clsi_system_normalise(sim->stepper->s, sim->state);
    return status;
}

cls_status cls_simulator_advance(cls_simulator *sim, uint64_t n, cls_error *error) {
    if (sim->paper_pending && n) make_paper_start(sim);
    for (uint64_t k = 0; k < n; k++) {
        const clsi_stepper *sp = sim->stepper;
        if (sim->reference) {
            cls_status status = reference_step(sim, error);
            if (status != CLS_OK) return status;
        } else {
            clsi_trouble trouble = whole_step(sim);
            if (trouble != CLSI_FINE) return fail(sim, trouble, error);
        }
        sim->steps++;
        if (!sp->options.monitor) continue;
        if (!sp->scheme->carries) clsi_simulator_measure(sim);
        watch(sim);
    }
    return CLS_OK;
}

double cls_simulator_time(const cls_simulator *sim) {
    return sim->t0 + (double)sim->steps * sim->stepper->options.h;
}

const double *cls_simulator_state(const cls_simulator *sim) {
    return sim->state;
}

cls_status cls_simulator_row(cls_simulator *sim, double *row, cls_error *error) {
    const clsi_stepper *sp = sim->stepper;
    (void)error;
    double *in = sim->row_in;
    in[0] = cls_simulator_time(sim);
    memcpy(in + 1, sim->state, sp->nz * sizeof(double));
    in[sp->nz + 1] = sp->s->has_work ? sim->state[sp->nz] : 0;
    cls_program_run(clsi_system_row_program(sp->s), sim->newton.work_row, in, row);
    return CLS_OK;
}

cls_simulate_info cls_simulator_info(const cls_simulator *sim) {
    cls_simulate_info info = sim->info;
    double scale = fabs(info.energy_initial);
    info.steps = sim->steps;
    info.energy_relative = scale > 0 ? info.energy_max_error / scale : info.energy_max_error;
    info.newton_iterations = sim->newton.iterations;
    info.newton_max_iterations = sim->newton.max_iterations;
    return info;
}
