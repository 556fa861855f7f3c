/* Motions: memory, starting, stepping (step.inc), and the monitor of the laws.
 *
 * Nothing here allocates after cls_simulator_create. */
#include "simulate/simulator.h"
#include "base/alike.h"
#include "base/misuse.h"
#include "expr/program.h"
#include "simulate/host.h"
#include "system/dense.h"
#include <clausius/options.h>
#include <float.h>
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
                                  .accuracy = 1e-9,
                                  .max_internal = 1000000};
}

#define AT(field) offsetof(cls_simulate_options, field)
const cls_option *cls_simulate_option_table(size_t *n) {
    if (!n) return NULL;
    static const cls_option table[] = {
        {"scheme", CLS_OPTION_WORD, AT(scheme), 0, 0, 0, NULL, "NAME", 0, 0,
         "the scheme (see `clausius schemes`); else the system's default"},
        {"h", CLS_OPTION_REAL, AT(h), 0, 0, INFINITY, NULL, "H", 0, 0,
         "the step; else the system's"},
        {"tolerance", CLS_OPTION_REAL, AT(tolerance), 1e-14, 0, 1e-2, NULL, "X", 0, 0,
         "where Newton stops (relative update); for bdf its relative tolerance"},
        {"max-iterations", CLS_OPTION_INT, AT(max_iterations), 50, 1, 1e6, NULL, NULL, 0, 0,
         "of Newton in a step"},
        {"max-halvings", CLS_OPTION_INT, AT(max_halvings), 10, 0, 60, NULL, NULL, 0, 0,
         "a step that Newton cannot solve is split in halves up to this often"},
        {"first-step", CLS_OPTION_CHOICE, AT(first_step), 0, 0, 1, "momentum, paper", "KIND", 0, 0,
         "dtel's first step: momentum (default) or paper (q1 = q0 + h v0)"},
        {"reference-tolerance", CLS_OPTION_REAL, AT(reference_tolerance), 1e-15, 0, 1, NULL, NULL,
         0, 0, "relative tolerance of bdf"},
        {"seed", CLS_OPTION_UINT64, AT(seed), 0, 0, 0x1p53, NULL, "S", 0, 0,
         "of random starts and of thermal noise; else 0"},
        {"accuracy", CLS_OPTION_REAL, AT(accuracy), 1e-9, 1e-13, 0.1, NULL, "X", 0, 0,
         "local error that an adaptive scheme allows, relative; else 1e-9"},
        {"max-internal", CLS_OPTION_UINT64, AT(max_internal), 1e6, 1, 0x1p53, NULL, NULL, 0, 0,
         "internal steps of an adaptive scheme in a step"},
    };
    *n = sizeof table / sizeof *table;
    return table;
}
#undef AT

/* ---- creation ---- */

/* Everything begins on a cache line: loops over vectors as wide as one read each line once. */
static double *carve(double **at, size_t n) {
    double *here = clsi_on_cache_line(*at);
    *at = here + n;
    return here;
}

enum { CARVED = 48 }; /* pieces at most */

static size_t substeps(const clsi_stepper *sp) {
    return sp->scheme->n_composition ? sp->scheme->n_composition : 1;
}

/* Room for the inputs of the row program and of what clsi_run_here runs. */
static size_t row_inputs(const clsi_stepper *sp) {
    return sp->nz + CLSI_ACCOUNTS + 4 + sp->nu;
}

enum { BORROWED_MOST = 64 };

/* The end of a step reads what the residual reads: state and unknowns, which are not copied if both programs have
 * their inputs in the same place. Its constants then stand where some of the residual's do, while it runs. */
static void borrow(clsi_newton *nw) {
    const clsi_stepper *sp = nw->sp;
    const clsi_plan *residual = sp->residual->plan, *next = sp->next->plan;
    if (!residual || !next || sp->next->n_parameters ||
        sp->next->n_inputs != sp->residual->n_inputs)
        return;
    size_t n = next->n_constants, m = residual->n_constants;
    double *work = nw->in - n;
    if (!n || n > BORROWED_MOST || n > m || clsi_on_cache_line(work) != work ||
        clsi_plan_size(next) - n > clsi_plan_size(residual) - m)
        return;
    nw->work_next = work;
    nw->borrowed = n;
}

void clsi_run_next_there(clsi_newton *nw, double *out) {
    const cls_program *p = nw->sp->next;
    size_t size = nw->borrowed * sizeof(double);
    double kept[BORROWED_MOST];
    memcpy(kept, nw->work_next, size);
    cls_program_prepare(p, nw->work_next);
    clsi_program_early(p, nw->work_next, nw->in);
    clsi_program_late(p, nw->work_next, nw->in, out);
    memcpy(nw->work_next, kept, size);
}

static void carve_all(cls_simulator *sim, double *at) {
    const clsi_stepper *sp = sim->stepper;
    clsi_newton *nw = &sim->newton;
    nw->sp = sp;
    size_t k = sp->n_unknowns, out = k + sp->n_jacobian + sp->n_positive;
    size_t n_monitor = CLSI_MONITOR_INVARIANTS + sp->s->n_invariants;
    sim->state = carve(&at, sim->n_kept);
    sim->saved = carve(&at, (size_t)(sp->options.max_halvings + 3) * sim->n_kept);
    sim->history = carve(&at, substeps(sp) * (size_t)clsi_history_length(sp) * k);
    sim->row_in = carve(&at, row_inputs(sp));
    sim->monitor_out = carve(&at, n_monitor);
    sim->monitor_start = carve(&at, n_monitor);
    sim->next_out = carve(&at, sim->n_kept);
    double **of_path[] = {&sim->alternation.before, &sim->alternation.change,
                          &sim->alternation.largest, &sim->alternation.turns};
    for (int i = 0; i < 4; i++) *of_path[i] = carve(&at, clsi_alternation_width(sp->nz));
    if (sp->scheme->estimate) {
        sim->adaptive.states = carve(&at, (substeps(sp) + 1) * sim->n_kept);
        sim->adaptive.largest = carve(&at, sp->nz);
        sim->adaptive.middle = carve(&at, substeps(sp));
        sim->adaptive.rate = carve(&at, substeps(sp) * k);
    }
    if (sp->scheme->tableau) clsi_lawful_carve(sim, carve(&at, clsi_lawful_size(sp, sim->n_state)));
    nw->in = carve(&at, sp->n_base + k);
    nw->out = carve(&at, out);
    nw->trial_out = carve(&at, out);
    nw->lu = sp->lu ? NULL : carve(&at, sp->n_jacobian);
    nw->work_lu = sp->lu ? carve(&at, clsi_sparse_lu_size(sp->lu)) : NULL;
    nw->krylov.price = sp->price;
    nw->krylov.tolerance = sp->options.tolerance;
    nw->krylov.room = sp->price > 0 ? carve(&at, clsi_krylov_size(sp->lu)) : NULL;
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
        {&nw->work_monitor, sp->monitor},   {&sim->lawful.work_onward, sp->onward},
        {&nw->work_paper, sp->paper},       {&nw->work_scale, sp->scale},
        {&nw->work_heat, sp->heat},         {&nw->work_row, clsi_system_row_program(sp->s)}};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (!programs[i].program) continue;
        *programs[i].work = carve(&at, cls_program_work_size(programs[i].program));
        cls_program_prepare(programs[i].program, *programs[i].work);
    }
    /* many numbers stand where the residual reads them */
    if (!sp->lu || sp->residual->n_parameters) return;
    nw->in = clsi_program_inputs(sp->residual, nw->work_residual);
    borrow(nw);
}

static size_t block_size(const cls_simulator *sim) {
    const clsi_stepper *sp = sim->stepper;
    size_t k = sp->n_unknowns, out = k + sp->n_jacobian + sp->n_positive;
    size_t n_monitor = CLSI_MONITOR_INVARIANTS + sp->s->n_invariants;
    size_t adaptive = sp->scheme->estimate
                          ? (substeps(sp) + 1) * sim->n_kept + sp->nz + substeps(sp) * (k + 1)
                          : 0;
    size_t lawful = sp->scheme->tableau ? clsi_lawful_size(sp, sim->n_state) : 0;
    return CARVED * CLSI_PLAN_LANES + sim->n_kept * (size_t)(sp->options.max_halvings + 5) +
           adaptive + lawful + 4 * clsi_alternation_width(sp->nz) +
           substeps(sp) * (size_t)clsi_history_length(sp) * k + row_inputs(sp) + 2 * n_monitor +
           sp->n_base + k + 2 * out + sp->n_jacobian + 5 * k + sp->n_guarded + sp->work_size +
           cls_program_work_size(clsi_system_row_program(sp->s));
}

static cls_status allocate(cls_simulator *sim, cls_error *error) {
    const clsi_stepper *sp = sim->stepper;
    size_t n_invariants = sp->s->n_invariants;
    sim->n_accounts = clsi_account_count(sp->s);
    sim->n_state = sp->nz + sim->n_accounts;
    sim->n_kept = 2 * sim->n_state;
    sim->h = sp->options.h;
    sim->few = clsi_few_find(sp);
    sim->block = clsi_calloc(block_size(sim), sizeof(double));
    sim->history_length = clsi_calloc(2 * substeps(sp), sizeof *sim->history_length);
    sim->invariants = clsi_calloc(n_invariants, sizeof *sim->invariants);
    sim->newton.pivot = clsi_calloc(sp->n_unknowns, sizeof *sim->newton.pivot);
    if (!sim->block || !sim->history_length || !sim->invariants || !sim->newton.pivot)
        return clsi_no_memory(error);
    clsi_expect_use(sim->block, block_size(sim) * sizeof(double));
    sim->history_newest = sim->history_length + substeps(sp);
    carve_all(sim, sim->block);
    for (size_t i = 0; i < n_invariants; i++)
        sim->invariants[i].name = sp->s->raw.invariants[i].name;
    sim->info = (cls_simulate_info){.scheme = sp->scheme->info.name,
                                    .h = sp->options.h,
                                    .n_invariants = n_invariants,
                                    .invariants = sim->invariants};
    sim->member = sp->options.first_member;
    if (sp->bath) return clsi_noise_room_create(sp, &sim->noise, error);
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
    if (o->max_internal < 1) return clsi_fail(error, CLS_USAGE, "max_internal must be positive");
    return CLS_OK;
}

cls_status cls_simulator_create(const cls_system *system, const cls_simulate_options *options,
                                cls_simulator **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, system);
    *out = NULL;
    cls_simulate_options o = cls_simulate_defaults();
    TAKE_OPTIONS(&o, options);
    o.size = sizeof o;
    if (o.h == 0 && !(options && signbit(o.h))) o.h = cls_system_default_step(system);
    cls_status status = check_options(&o, error);
    if (status != CLS_OK) return status;
    clsi_stepper *sp;
    status = clsi_stepper_create_lean(system, &o, &sp, error);
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
    if (!simulator) return;
    cls_simulator *sim = *simulator;
    if (!sim) return;
    if (sim->owns_stepper) clsi_stepper_free(&sim->stepper);
    clsi_reference_free(&sim->reference);
    clsi_signal_free(&sim->signal);
    clsi_noise_room_free(&sim->noise);
    free(sim->block);
    free(sim->history_length);
    free(sim->invariants);
    free(sim->newton.pivot);
    free(sim);
    *simulator = NULL;
}

/* ---- watching ---- */

/* Newton's method is compiled here a second time: with the steps around it in one file the compiler
 * sees through both. */
#include "simulate/newton.inc"
#include "simulate/step.inc"
#include "simulate/watch.inc"
#include "simulate/lawful.inc"

void clsi_simulator_measure(cls_simulator *sim, double ahead) {
    step_measure(sim, ahead);
}

int clsi_simulator_falls_below(cls_simulator *sim, double highest) {
    return step_has_fallen(sim, highest);
}

int clsi_simulator_falls_unsolved(cls_simulator *sim) {
    double fall = sim->highest - sim->monitor_out[CLSI_MONITOR_ENTROPY];
    return clsi_simulator_falls_below(sim, sim->highest) && fall <= step_unsolved(sim);
}

int clsi_simulator_has_lost(cls_simulator *sim) {
    memset(sim->scale, 0, sizeof sim->scale); /* of states between, which nobody sees */
    return step_has_lost(
        sim, fabs(sim->monitor_start[CLSI_MONITOR_ENERGY] - sim->monitor_out[CLSI_MONITOR_ENERGY]));
}

clsi_trouble clsi_simulator_balance(cls_simulator *sim) {
    return step_balance(sim);
}

clsi_trouble clsi_simulator_solve(cls_simulator *sim, double t, double h, double defect, int warm) {
    return step_solve(sim, t, h, defect, warm);
}

static void watch_start(cls_simulator *sim) {
    clsi_alternation_start(sim);
    CLSI_RUN_MONITOR(sim, sim->monitor_start);
    CLSI_RUN_SCALE(sim, sim->scale);
    step_copy(CLSI_SCALES, sim->scale, sim->scale_start);
    sim->energy_scale = sim->scale[CLSI_SCALE_ENERGY];
    sim->highest = sim->monitor_start[CLSI_MONITOR_ENTROPY];
    sim->largest_size = sim->monitor_start[CLSI_MONITOR_SIZE];
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
        const clsi_variable *x = clsi_state_variable(s, i);
        if (!(state[i] > x->low && state[i] < x->high))
            return clsi_fail(error, CLS_USAGE, "the start has %s = %g; it must lie in (%g, %g)",
                             name, state[i], x->low, x->high);
    }
    return CLS_OK;
}

cls_status cls_simulator_start(cls_simulator *sim, double time, const double *state,
                               cls_error *error) {
    NEED(error, sim);
    NEED(error, state);
    const clsi_stepper *sp = sim->stepper;
    cls_status status = check_start(sp->s, state, error);
    if (status == CLS_OK && !sim->signal) status = clsi_inputs_known(sp->s, error);
    if (status != CLS_OK) return status;
    if (!isfinite(time)) return clsi_fail(error, CLS_USAGE, "the start time is %g", time);
    if (time + sp->options.h == time) /* seconds since 1970, and steps of 0.1 us */
        return clsi_fail(error, CLS_USAGE,
                         "a step of %g does not move the time %.17g; count time from another zero",
                         sp->options.h, time);
    memset(sim->state, 0, sim->n_kept * sizeof(double));
    memcpy(sim->state, state, sim->n_state * sizeof(double));
    status = clsi_system_check_units(sp->s, sim->state, error);
    if (status != CLS_OK) return status;
    sim->t0 = time;
    sim->steps = sim->first = 0;
    sim->h = sp->options.h;
    sim->defect = sim->step_entropy = sim->energy_scale = 0;
    sim->paper_pending = sp->options.first_step == CLS_FIRST_PAPER;
    memset(sim->history_length, 0, substeps(sp) * sizeof *sim->history_length);
    sim->newton.iterations = 0;
    sim->newton.max_iterations = 0;
    sim->newton.krylov.known = 0;
    sim->newton.krylov.rate = 0;
    sim->newton.krylov.wait = sim->newton.krylov.patience = 0;
    watch_start(sim);
    if (sp->scheme->estimate) clsi_adaptive_start(sim);
    if (sim->noise) clsi_langevin_start(sim);
    if (!isfinite(sim->monitor_start[CLSI_MONITOR_ENERGY]))
        return clsi_fail(error, CLS_USAGE,
                         "the energy at the start is not a finite number; choose another start");
    if (!sim->reference) return CLS_OK;
    return clsi_reference_start(sim->reference, time, state, sim->signal, error);
}

/* ---- stepping ---- */

clsi_trouble clsi_simulator_whole(cls_simulator *sim) {
    return step_whole(sim);
}

static clsi_trouble whole_step(cls_simulator *sim) {
    if (sim->noise) return clsi_langevin_step(sim);
    if (sim->stepper->scheme->tableau) return lawful_step(sim);
    return sim->stepper->scheme->estimate ? clsi_adaptive_step(sim) : step_whole(sim);
}

static void make_paper_start(cls_simulator *sim) {
    const clsi_stepper *sp = sim->stepper;
    step_set_base(sim, sim->t0, sim->h, 0);
    double *work = sim->newton.work_paper;
    cls_program_run(sp->paper, work, sim->newton.in, sim->next_out);
    memcpy(sim->state, sim->next_out, sp->nz * sizeof(double));
    sim->paper_pending = 0;
}

/* ---- failing ---- */

enum { MOST_TOLD = 12 };

/* Of arrays the smallest and the largest element: the mistake is mostly where one of them is. */
static void describe_state(const cls_simulator *sim, clsi_text *text) {
    const cls_system *s = sim->stepper->s;
    size_t first[MOST_TOLD], least[MOST_TOLD], most[MOST_TOLD], n = 0, k, rest = 0;
    for (size_t i = 0; i < sim->n_state; i++) {
        const char *name = cls_system_state_name(s, i);
        for (k = 0; k < n && sim->n_state > MOST_TOLD; k++)
            if (clsi_same_array(cls_system_state_name(s, first[k]), name)) break;
        if (k == n || sim->n_state <= MOST_TOLD) {
            if ((k = n) == MOST_TOLD) {
                rest = 1;
                continue;
            }
            first[n] = least[n] = most[n] = i;
            n++;
        }
        if (sim->state[i] < sim->state[least[k]]) least[k] = i;
        if (sim->state[i] > sim->state[most[k]]) most[k] = i;
    }
    for (k = 0; k < n; k++) {
        clsi_text_printf(text, "%s%s = %.8g", k ? ", " : "", cls_system_state_name(s, least[k]),
                         sim->state[least[k]]);
        if (most[k] != least[k])
            clsi_text_printf(text, " (the least) to %s = %.8g (the most)",
                             cls_system_state_name(s, most[k]), sim->state[most[k]]);
    }
    if (rest) clsi_text_append(text, ", ...");
}

/* The term of the residual that is not finite, as the user would write it; of equations like those of `sp`. */
static void describe_term_of(cls_simulator *sim, const clsi_stepper *sp, clsi_text *text) {
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

/* A lean stepper has forgotten its terms: the equations are written once more. */
static void describe_term(cls_simulator *sim, clsi_text *text) {
    const clsi_stepper *sp = sim->stepper;
    clsi_stepper *whole = NULL;
    if (!sp->residual || sp->residual->node) {
        describe_term_of(sim, sp, text);
    } else if (clsi_stepper_create(sp->origin, &sp->options, &whole, NULL) == CLS_OK) {
        describe_term_of(sim, whole, text);
        clsi_stepper_free(&whole);
    }
}

static cls_status fail(cls_simulator *sim, clsi_trouble trouble, cls_error *error) {
#define SENTENCE(name, sentence) sentence,
    static const char *const why[] = {CLSI_TROUBLES(SENTENCE)};
#undef SENTENCE
    clsi_text text = {0};
    clsi_text_printf(&text, "step %llu at time %.10g: %s", (unsigned long long)sim->steps + 1,
                     cls_simulator_time(sim), why[trouble]);
    if (trouble == CLSI_NONFINITE) describe_term(sim, &text);
    clsi_text_append(&text, "; the last good state is ");
    describe_state(sim, &text);
    const clsi_scheme *scheme = sim->stepper->scheme;
    int adaptive = scheme->estimate != NULL, explicit = scheme->tableau != NULL;
    if (adaptive)
        clsi_text_printf(&text, "; internal steps were made as short as %.3g in vain",
                         sim->adaptive.h);
    else if (explicit ||
             (trouble != CLSI_RUNAWAY && trouble != CLSI_LOST && trouble != CLSI_FALLING &&
              trouble != CLSI_COLD && trouble != CLSI_DRIVEN))
        clsi_text_printf(&text, "; h = %g was halved %d times in vain", sim->h,
                         sim->stepper->options.max_halvings);
    clsi_text_printf(&text, ": take a %s, %sor look at the system's formulas there",
                     adaptive ? "larger accuracy" : "smaller h",
                     explicit ? "discrete-gradient where the system is stiff, " : "");
    cls_status status =
        clsi_fail(error, CLS_NUMERIC, "%s", text.data ? text.data : "the step failed");
    clsi_text_clear(&text);
    return status;
}

/* ---- the public side ---- */

static cls_status reference_step(cls_simulator *sim, cls_error *error) {
    double t = sim->t0 + (double)(sim->steps - sim->first + 1) * sim->h;
    cls_status status = clsi_reference_advance(sim->reference, t, sim->state, error);
    clsi_system_normalise(sim->stepper->s, sim->state);
    return status;
}

static cls_status advance(cls_simulator *sim, uint64_t n, cls_error *error) {
    if (sim->paper_pending && n) make_paper_start(sim);
    if (sim->few) {
        clsi_trouble trouble = sim->few(sim, n);
        return trouble == CLSI_FINE ? CLS_OK : fail(sim, trouble, error);
    }
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
        if (!sp->scheme->carries) clsi_simulator_measure(sim, 0);
        watch_laws(sim);
    }
    return CLS_OK;
}

cls_status cls_simulator_advance(cls_simulator *sim, uint64_t n, cls_error *error) {
    NEED(error, sim);
    cls_status status = advance(sim, n, error);
    clsi_lawful_home(sim);
    return status;
}

/* From here on in steps of h. Solutions of other steps are of no use to the predictor. */
static void change_step(cls_simulator *sim, double h) {
    sim->t0 = cls_simulator_time(sim);
    sim->first = sim->steps;
    if (!(fabs(h - sim->h) <= 1e-9 * h))
        memset(sim->history_length, 0, substeps(sim->stepper) * sizeof *sim->history_length);
    sim->h = h;
}

int clsi_simulator_set_step(cls_simulator *sim, double h) {
    const clsi_scheme *scheme = sim->stepper->scheme;
    if (sim->reference || sim->noise || scheme->estimate || !sim->owns_stepper || !(h > 0))
        return 0;
    sim->stepper->options.h = h;
    return 1;
}

cls_status cls_simulator_go(cls_simulator *sim, double time, cls_error *error) {
    NEED(error, sim);
    double left = time - cls_simulator_time(sim), h = sim->stepper->options.h;
    if (!isfinite(time) || left < 0)
        return clsi_fail(error, CLS_USAGE, "time %.17g is before the present time %.17g", time,
                         cls_simulator_time(sim));
    if (left == 0) return CLS_OK;
    double n = fmax(ceil(left / h - 1e-9), 1);
    if (n > 0x1p53)
        return clsi_fail(error, CLS_USAGE, "%.3g steps to time %g are too many", n, time);
    /* times that are multiples of h but for their own round-off: the bits of steps of h */
    double rounding = 4 * DBL_EPSILON * (fabs(time) + n * h);
    change_step(sim, fabs(left - n * h) <= rounding ? h : left / n);
    cls_status status = cls_simulator_advance(sim, (uint64_t)n, error);
    if (status != CLS_OK) return status;
    sim->t0 = time; /* not by round-off beside it */
    sim->first = sim->steps;
    return CLS_OK;
}

static cls_status take_inputs(cls_simulator *sim, size_t n, const double *times,
                              const double *values, const char *text, cls_hold hold,
                              cls_error *error) {
    const cls_system *s = sim->stepper->s;
    clsi_signal *signal = NULL;
    cls_hold *each = clsi_calloc(s->nu + 1, sizeof *each);
    cls_status status =
        each ? clsi_holds(s, text, hold, n, values, each, error) : clsi_no_memory(error);
    if (status == CLS_OK)
        status = clsi_signal_create(s->nu, n, times, values, each, &signal, error);
    free(each);
    if (status != CLS_OK) return status;
    clsi_signal_free(&sim->signal);
    sim->signal = signal;
    return CLS_OK;
}

cls_status cls_simulator_inputs(cls_simulator *sim, size_t n, const double *times,
                                const double *values, cls_hold hold, cls_error *error) {
    NEED(error, sim);
    NEED(error, times && values);
    return take_inputs(sim, n, times, values, NULL, hold, error);
}

cls_status cls_simulator_inputs_held(cls_simulator *sim, size_t n, const double *times,
                                     const double *values, const char *hold, cls_error *error) {
    NEED(error, sim);
    NEED(error, times && values);
    return take_inputs(sim, n, times, values, hold, CLS_HOLD_ZERO, error);
}

double cls_simulator_time(const cls_simulator *sim) {
    if (!sim) return NAN;
    return sim->t0 + (double)(sim->steps - sim->first) * sim->h;
}

const double *cls_simulator_state(const cls_simulator *sim) {
    if (!sim) return NULL;
    return sim->state;
}

cls_status cls_simulator_row(cls_simulator *sim, double *row, cls_error *error) {
    NEED(error, sim);
    NEED(error, row);
    const clsi_stepper *sp = sim->stepper;
    (void)error;
    double *in = sim->row_in;
    in[0] = cls_simulator_time(sim);
    memcpy(in + 1, sim->state, sim->n_state * sizeof(double));
    if (sim->signal) clsi_signal_at(sim->signal, in[0], in + 1 + sim->n_state);
    cls_program_run(clsi_system_row_program(sp->s), sim->newton.work_row, in, row);
    return CLS_OK;
}

cls_simulate_info cls_simulator_info(const cls_simulator *sim) {
    if (!sim) return (cls_simulate_info){0};
    cls_simulate_info info = sim->info;
    double scale = fabs(info.energy_initial);
    info.steps = sim->steps;
    info.energy_relative = scale > 0 ? info.energy_max_error / scale : info.energy_max_error;
    info.newton_iterations = sim->newton.iterations;
    info.newton_max_iterations = sim->newton.max_iterations;
    return info;
}
