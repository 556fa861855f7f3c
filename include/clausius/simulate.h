/* Simulation: one trajectory step by step, or an ensemble in parallel. A step allocates nothing. */
#ifndef CLAUSIUS_SIMULATE_H
#define CLAUSIUS_SIMULATE_H

#include <clausius/scheme.h>
#include <clausius/status.h>
#include <clausius/system.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_simulator cls_simulator;

/* How dtel makes its first step. */
typedef enum cls_first_step {
    CLS_FIRST_MOMENTUM, /* from p0: solve p- = p0 (the right one) */
    CLS_FIRST_PAPER /* q1 = q0 + h v0: an O(h) momentum error, to reproduce the paper's tables */
} cls_first_step;

typedef struct cls_simulate_options {
    size_t size;        /* sizeof(cls_simulate_options) */
    const char *scheme; /* NULL: cls_scheme_default */
    double h;           /* step; 0: the system's default */
    double tolerance;   /* Newton stops when the update is below this, relative; 1e-14 */
    int max_iterations; /* 50 */
    int max_halvings; /* a step that Newton cannot solve is split in halves up to this often; 10 */
    int monitor;      /* 1: energy, entropy and invariants are monitored at every step */
    cls_first_step first_step;
    double reference_tolerance; /* relative tolerance of bdf; 1e-15 */
    double accuracy; /* local error of an internal step of an adaptive scheme, relative; 1e-9 */
    /* internal steps of an adaptive scheme between two outputs, rejected ones included; 1000000 */
    uint64_t max_internal;
    /* Ensembles: called with `context` every few thousand steps, by any thread; non-zero ends the run
     * with CLS_INTERRUPTED. NULL: never. */
    int (*stop)(void *context);
    void *context;
    uint64_t
        first_member; /* ensembles: the number of the first one, in messages and for noise; 0 */
    uint64_t seed;    /* of thermal noise: the same seed and member, the same motion; 0 */
} cls_simulate_options;

CLS_API cls_simulate_options cls_simulate_defaults(void);

typedef struct cls_invariant_info {
    const char *name; /* borrowed from the system */
    double initial, max_error;
} cls_invariant_info;

typedef struct cls_simulate_info {
    const char *scheme;
    double h;
    uint64_t steps;
    double energy_initial, energy_max_error, energy_relative; /* energy minus work and heat */
    double entropy_initial, entropy_final, entropy_min_step;
    uint64_t entropy_falls;     /* steps with dS < -1e-14 sum |S_i| */
    uint64_t newton_iterations; /* of all solves; a step may take several */
    int newton_max_iterations;  /* of one solve */
    uint64_t retried_steps;     /* steps that had to be split */
    int deepest_halving;
    /* adaptive schemes: h is the spacing of the output, internal steps lie between */
    uint64_t internal_steps, rejected_steps;
    size_t n_invariants;
    const cls_invariant_info *invariants; /* owned by the simulator */
    /* A path that goes to and fro from step to step, nearly as far each time: h is far above the time
     * in which something settles. The laws hold; the path is not that of the system. */
    uint64_t alternations; /* steps on end, the longest run; 0: none of 16 or more */
    size_t alternating;    /* the state's number in it */
    double alternation;    /* by how much it last went */
    int alternates;        /* it still does */
    uint64_t reversals; /* langevin: steps that were turned round to keep volumes in phase space */
} cls_simulate_info;

/* The system must outlive the simulator. */
CLS_API cls_status cls_simulator_create(const cls_system *system,
                                        const cls_simulate_options *options, cls_simulator **out,
                                        cls_error *error);
CLS_API void cls_simulator_free(cls_simulator **sim);
/* state: cls_system_state_count numbers, as cls_system_start gives them. Checks the domain. */
CLS_API cls_status cls_simulator_start(cls_simulator *sim, double time, const double *state,
                                       cls_error *error);
/* The same from two positions: the momenta (or velocities) of `state` are set so that the first
 * step of h ends at the positions `target` (one number per coordinate); the rest of `state` is
 * given. For discrete-gradient: Deep DTLM, equation (11). */
CLS_API cls_status cls_simulator_aim(cls_simulator *sim, double time, const double *target,
                                     double *state, cls_error *error);
/* The discrete Legendre maps of the scheme on one interval (DTEL, section 3.2): the positions of
 * `state` at `time` and `target` at time + h, and the entropies or temperatures of `state`, give the
 * momentum at the beginning, `minus`, and at the end, `plus` (one number per coordinate each). The
 * scheme is plus after the inverse of minus, so that along a motion the plus of an interval is the
 * minus of the next: for dtel this is equation (22a). Leaves the simulator at the end of the step. */
CLS_API cls_status cls_simulator_legendre(cls_simulator *sim, double time, const double *state,
                                          const double *target, double *minus, double *plus,
                                          cls_error *error);
/* What an input is between the times of its samples. */
typedef enum cls_hold {
    CLS_HOLD_ZERO,   /* the last value (zero-order hold) */
    CLS_HOLD_LINEAR, /* the line to the next */
    CLS_HOLD_AUTO /* zero where values stand for several samples and jump (a controller's), else linear */
} cls_hold;
/* The values of the system's inputs: n increasing times, values (input count, n) with those of one input
 * side by side, in the order of cls_system_input_name. Copied. A value that is not a number is a
 * gap. Inputs that have a formula keep it. Between samples a step sees exactly the hold; a step
 * over several samples its mean (and slope). To be called before cls_simulator_start. */
CLS_API cls_status cls_simulator_inputs(cls_simulator *sim, size_t n, const double *times,
                                        const double *values, cls_hold hold, cls_error *error);
/* The same with a hold for each input: `zero`, `linear` or `auto` for all, or a list such as `u=zero, Tout=linear`,
 * in which inputs that are not named keep their last value. NULL: all do. */
CLS_API cls_status cls_simulator_inputs_held(cls_simulator *sim, size_t n, const double *times,
                                             const double *values, const char *hold,
                                             cls_error *error);
/* To `time` in whole equal steps, as long as possible and not longer than h. */
CLS_API cls_status cls_simulator_go(cls_simulator *sim, double time, cls_error *error);
/* n steps of h. On failure the simulator stays at the last good step; the error names step, time,
 * state and the term that became non-finite. */
CLS_API cls_status cls_simulator_advance(cls_simulator *sim, uint64_t n, cls_error *error);
CLS_API double cls_simulator_time(const cls_simulator *sim);
CLS_API const double *cls_simulator_state(const cls_simulator *sim);
/* A row of cls_system_column_count numbers. No allocation. */
CLS_API cls_status cls_simulator_row(cls_simulator *sim, double *row, cls_error *error);
CLS_API cls_simulate_info cls_simulator_info(const cls_simulator *sim);

/* Ensemble: n_members starts (member-major, state_count numbers each), n_steps each, a row every
 * `every` steps including the start. rows[(member*n_rows + r)*columns + c], with
 * n_rows = n_steps/every + 1. threads 0: all cores. Same bits for any number of threads. */
CLS_API cls_status cls_ensemble_run(const cls_system *system, const cls_simulate_options *options,
                                    size_t n_members, const double *starts, uint64_t n_steps,
                                    uint64_t every, int threads, double *rows, cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
