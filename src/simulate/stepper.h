/* simulate, inside: the compiled step (const, shared by an ensemble) and the data of one motion. */
#ifndef CLSI_STEPPER_H
#define CLSI_STEPPER_H

#include "scheme/scheme.h"
#include "simulate/krylov.h"
#include "simulate/signal.h"
#include <clausius/simulate.h>

/* Base inputs of every program of a step: z0 (nz), work and heat received so far, t, h, defect, owed,
 * inputs at the start and at the end of the step (nu each), free symbols of the system (parameters
 * that are being learned); unknowns follow. */
typedef struct clsi_stepper {
    const cls_system *s;
    cls_system *view;         /* s itself where the stepper has built on its own graph, else NULL */
    int lean;                 /* see clsi_stepper_create_lean ... */
    const cls_system *origin; /* ... and what it was made of */
    const clsi_scheme *scheme;
    cls_simulate_options options;
    size_t nz, nu, n_owed, n_free, first_free, n_base, n_unknowns, n_positive, n_guarded;
    cls_program *guess; /* base -> cold guess of the unknowns */
    /* base | unknowns -> r (k), quantities that must be positive; then J, whole (k, k) or its
     * entries by rows (lu) */
    cls_program *residual;
    cls_program *next;  /* base | unknowns -> z1, gains of the accounts */
    cls_program *guard; /* base | unknowns -> coordinates with a declared domain; NULL if none */
    /* NULL when there are free symbols that are learned: */
    cls_program *monitor; /* z, received, t, inputs -> energy - received, mean of 1/T, entropy of
                             the system, invariants */
    cls_program *ascent;  /* z, received, t, inputs -> energy - received, dE/dz; NULL: no tableau */
    cls_program *onward;  /* base -> those of next, those of monitor; NULL: they are run apart */
    cls_program *scale;   /* z, received, t, inputs -> CLSI_SCALES numbers */
    cls_program
        *heat; /* base -> T and dT/dS of each unknown that is a rate of an entropy; NULL: none */
    cls_program *paper; /* base -> z0 of the paper's first step; NULL if none */
    size_t *guarded;    /* (n_guarded) which states have a domain ... */
    double *domain;     /* (n_guarded, 2) ... and which */
    size_t *of_state;   /* (n_unknowns) see clsi_step */
    char *
        outside; /* (nz) entropies of environments, which say nothing of the others' sizes; NULL: none */
    size_t n_lifted;   /* the last of the unknowns, see clsi_step */
    double length;     /* for clsi_step_create to write the same equations again */
    size_t n_jacobian; /* entries of J in the residual program: k*k, or those of the pattern */
    struct clsi_sparse_lu *lu; /* of the pattern; NULL: J is dense */
    double price;              /* of a factorisation, in solutions; 0: made every time (krylov.c) */
    struct clsi_bath *bath;    /* thermal noise; NULL: none (langevin.c) */
    int books;                 /* states are sums that keep what rounding takes (step.inc) */
    size_t work_size;          /* doubles of scratch that one motion needs for all programs */
} clsi_stepper;

/* Monitor outputs. */
enum {
    CLSI_MONITOR_ENERGY,
    CLSI_MONITOR_BETA,
    CLSI_MONITOR_ENTROPY,
    CLSI_MONITOR_SIZE, /* sum |S_i|, or of the terms of a total entropy: what round-off of the
                          entropy is measured by */
    CLSI_MONITOR_HOT, /* mean of the temperatures that are formulas of the state, if few: finite while all are */
    CLSI_MONITOR_INVARIANTS
};

cls_status clsi_stepper_create(const cls_system *s, const cls_simulate_options *options,
                               clsi_stepper **out, cls_error *error);
/* The same for motions only: of a large system it keeps neither the graph of the step nor the instructions of
 * its programs, most of its memory. */
cls_status clsi_stepper_create_lean(const cls_system *s, const cls_simulate_options *options,
                                    clsi_stepper **out, cls_error *error);
/* The same for a system with free symbols, whose step is given to the caller for derivatives. Such
 * a stepper serves Newton; simulators need one without. */
cls_status clsi_stepper_create_open(const cls_system *s, const cls_simulate_options *options,
                                    size_t n_free, const cls_node *symbols, clsi_stepper **out,
                                    clsi_step **step, cls_error *error);
/* For a step that leaves (src/export): symbols are parameters that may change, the equations are those
 * of `like`. All programs read them, monitor and scale behind the inputs; simulators cannot have such a
 * stepper. */
cls_status clsi_stepper_create_settable(const cls_system *s, const clsi_stepper *like,
                                        size_t n_free, const cls_node *symbols, clsi_stepper **out,
                                        cls_error *error);
void clsi_stepper_free(clsi_stepper **stepper);
/* Machine code of the programs of a step, for one sample or for lanes. */
void clsi_stepper_make_native(clsi_stepper *sp, int lanes);
/* Before it, for lanes: rows of CLSI_WIDE_LANES. 0: nothing has changed. */
int clsi_stepper_widen(clsi_stepper *sp);

/* What round-off is measured by at a state (the program `scale`). */
enum {
    CLSI_SCALE_ENERGY,        /* the largest additive term of the energy */
    CLSI_SCALE_ENERGY_SLOPES, /* sum |z_i dE/dz_i|: times half an epsilon, what rounding z does to E */
    CLSI_SCALE_ENTROPY_SLOPES, /* the same for the entropy */
    CLSI_SCALE_COLD,           /* sum of 1/T of the reservoirs */
    CLSI_SCALE_POWER, /* of the forces that have a potential, where there is no heat; else 0 */
    CLSI_SCALES
};

/* Why a step could not be solved. */
#define CLSI_TROUBLES(X)                                                                           \
    X(FINE, "")                                                                                    \
    X(NONFINITE, "the equations of the step became non-finite")                                    \
    X(DOMAIN, "the motion leaves the declared domain")                                             \
    X(SINGULAR, "the Jacobian of the step is singular")                                            \
    X(STALLED, "Newton's method did not converge")                                                 \
    X(RUNAWAY, "the motion runs away: the terms of the energy have grown until their round-off "   \
               "exceeds the energy itself")                                                        \
    X(INACCURATE, "the accuracy asked for needs steps below round-off") /* adaptive.c */           \
    X(FALLING, "the entropy falls over every step down to round-off")                              \
    X(COLD, "a temperature became zero or infinite")                                               \
    X(DRIVEN, "a friction with thermal noise drives instead of slowing down, or a mass is not "    \
              "positive")                                                                          \
    X(LOST, "the step cannot be solved well enough to keep the energy")                            \
    X(ENDLESS, "the accuracy asked for needs more internal steps than max_internal allows")

typedef enum clsi_trouble {
#define CLSI_TROUBLE_NAME(name, sentence) CLSI_##name,
    CLSI_TROUBLES(CLSI_TROUBLE_NAME)
#undef CLSI_TROUBLE_NAME
} clsi_trouble;

/* Scratch of the Newton solver; carved from one block, nothing is allocated while stepping. */
typedef struct clsi_newton {
    const clsi_stepper *sp;
    double *in;              /* n_base + k: base inputs, then the unknowns */
    double *out, *trial_out; /* k + n_positive + n_jacobian each */
    double *lu, *d, *trial_d, *u, *scale, *least, *guarded;
    size_t *pivot;
    double *work_residual, *work_next, *work_guard, *work_guess, *work_monitor, *work_row,
        *work_paper, *work_scale, *work_heat, *work_lu;
    size_t
        borrowed; /* constants of `next` where it runs in the work of the residual; 0: in its own */
    uint64_t iterations;
    double energy;     /* its largest term so far */
    double simplified; /* size of the update that the old Jacobian gives at the new point */
    int last_iterations, max_iterations;
    int careful; /* no update is taken for the last one before it is round-off */
    int by_heat; /* entropies are measured by their heat capacities, too */
    /* of many unknowns: an update of known_size, in a step of known_h, was seen to leave its square times
     * known_curvature; known: 0 nothing is, else 1 + how many solves may trust it */
    double known_size, known_curvature, known_h;
    int known;
    clsi_krylov krylov;
} clsi_newton;

/* least[i] (n_unknowns): an update of unknown i below the tolerance times this changes the state by
 * less than half an ulp. `in` are the base inputs. */
void clsi_newton_least(const clsi_stepper *sp, const double *in, double *least);
/* Solves the step whose base inputs are in nw->in, beginning at the unknowns that are there. The
 * end of the step may lie outside the domain. */
clsi_trouble clsi_newton_solve(const clsi_stepper *sp, clsi_newton *nw);

/* The same for grids (chord.c); doubles of krylov.room that it takes. */
clsi_trouble clsi_chord_solve(clsi_newton *nw);
size_t clsi_chord_size(size_t unknowns);

/* n steps, and what is watched after each; the motion is where the last good one ended. */
struct cls_simulator;
typedef clsi_trouble clsi_few(struct cls_simulator *sim, uint64_t n);
/* For the sizes of a compiled step, or NULL (few.c). */
clsi_few *clsi_few_find(const clsi_stepper *sp);

/* Thermal noise, compiled; on the stepper's own graph. */
cls_status clsi_bath_create(clsi_stepper *sp, cls_error *error);
void clsi_bath_free(struct clsi_bath **bath);

/* Reference solution by CVODE. */
typedef struct clsi_reference clsi_reference;
cls_status clsi_reference_create(const cls_system *s, const cls_simulate_options *options,
                                 clsi_reference **out, cls_error *error);
void clsi_reference_free(clsi_reference **r);
/* `signal`: the inputs' values, NULL where all have formulas. */
cls_status clsi_reference_start(clsi_reference *r, double time, const double *state,
                                const clsi_signal *signal, cls_error *error);
cls_status clsi_reference_advance(clsi_reference *r, double time, double *state, cls_error *error);

#endif
