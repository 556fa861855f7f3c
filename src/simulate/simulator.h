/* The data of one motion: state, history for the predictor, scratch, what was monitored. */
#ifndef CLSI_SIMULATOR_H
#define CLSI_SIMULATOR_H

#include "simulate/stepper.h"

enum { CLSI_FEW = 16 }; /* unknowns; more are in wide loops (host.h) and rings */
/* solutions kept for the predictor: five to extrapolate, one to check; of many unknowns seven and one */
enum { CLSI_HISTORY = 6, CLSI_LONG_HISTORY = 8 };
enum { CLSI_SECANTS = 6 }; /* energies that lawful.inc looks at in an attempt */

/* What an adaptive scheme remembers between its internal steps (adaptive.c). */
typedef struct clsi_adaptive {
    double h;        /* of the next internal step; 0 at the start of a motion */
    double error;    /* of the last one, in units of the accuracy */
    double inner;    /* time since the last output */
    double *states;  /* (n_composition + 1, n_kept) before, between and after the stages */
    double *largest; /* (nz) size of each component so far */
    double *middle;  /* (n_composition) middles of the last stages, a ring ... */
    double *rate;    /* (n_composition, unknowns) ... and what solved them */
    size_t n_known, newest;
    double output_entropy; /* at the last output */
    uint64_t attempts;     /* internal steps since then */
    clsi_trouble reason;   /* of the last rejection */
    int lets_fall;         /* the system's own friction takes entropy away */
} clsi_adaptive;

/* Of explicit steps whose weights keep the energy (lawful.c). */
typedef struct clsi_lawful {
    double *stage;        /* (stages, n_state) y' and the rates of the accounts */
    double *change;       /* (n_state) a sum of them, or a state that is begun with */
    double *slope, *work; /* (1 + nz) of stepper->ascent */
    /* of stepper->onward: the first of the stages, and (n_state + monitor's) what the next one begins with, ... */
    double *first, *ahead, *work_onward;
    int known; /* ... which is known of the state */
    /* (n_kept) what a large state changes places with from step to step, and where it is between calls */
    double *spare, *home;
} clsi_lawful;

/* What a path that goes to and fro is known by (alternate.c), for each component of the state that is
 * watched. */
typedef struct clsi_alternation {
    double *before, *change, *largest, *turns; /* the last value and change, turns on end */
    size_t first;                              /* of those that are watched ... */
    int steps;                                 /* ... for so many steps */
} clsi_alternation;

struct cls_simulator {
    clsi_stepper *stepper;
    clsi_few *few; /* steps of few unknowns (few.inc), or NULL */
    int owns_stepper;
    clsi_reference *reference;  /* bdf only */
    size_t n_state, n_accounts; /* accounts are the last of the state */
    size_t n_kept;              /* 2 n_state: the state, then what each of its sums still owes */
    clsi_signal *signal;        /* values of the inputs; NULL where all have formulas */
    double h;                   /* the present step: options.h, or shorter (cls_simulator_go) */
    uint64_t first;             /* the time is t0 + (steps - first) h */
    double t0, defect, step_entropy, energy_scale;
    struct clsi_noise_room *noise; /* of thermal noise; NULL: none */
    uint64_t member;               /* whose noise it is */
    double ahead;   /* within a step: how much later than the time the state is that is measured */
    double highest; /* the highest entropy since the start */
    double largest_size;             /* and the largest size of its terms */
    double scale[CLSI_SCALES];       /* the largest where they were looked at since the start */
    double scale_start[CLSI_SCALES]; /* there */
    uint64_t steps;
    int paper_pending;    /* the paper's first step is still to be made */
    double *block;        /* everything below is carved from here */
    double *state;        /* (n_kept) */
    double *saved;        /* (max_halvings + 3, n_kept) states to return to */
    const double *placed; /* inputs of a program where the state stands already, or NULL */
    double *keep;        /* where the state is copied to when it is left (many unknowns), or NULL */
    double *history;     /* (substeps, clsi_history_length, unknowns), rings */
    int *history_length; /* (substeps) */
    int *history_newest; /* (substeps) where the newest is; older ones follow */
    double *row_in, *monitor_out, *monitor_start, *next_out;
    clsi_newton newton;
    clsi_adaptive adaptive;
    clsi_lawful lawful;
    clsi_alternation alternation;
    clsi_trouble trouble; /* of the last step that failed */
    cls_simulate_info info;
    cls_invariant_info *invariants;
};

/* Where the elimination is sparse. */
static inline int clsi_history_length(const clsi_stepper *sp) {
    return sp->lu ? CLSI_LONG_HISTORY : CLSI_HISTORY;
}

/* The solution of a sub-step `age` steps ago. */
static inline double *clsi_history_at(const cls_simulator *sim, int sub, int age) {
    int at = sim->history_newest[sub] + age, length = clsi_history_length(sim->stepper);
    if (at >= length) at -= length;
    return sim->history + (size_t)(sub * length + at) * sim->stepper->n_unknowns;
}

/* All are a step older, and the newest is to be written; the numbers that have to be moved for it. */
static inline int clsi_history_age(cls_simulator *sim, int sub, int k) {
    int *newest = &sim->history_newest[sub];
    if (k <= CLSI_FEW) return CLSI_HISTORY * k;
    *newest = (*newest ? *newest : clsi_history_length(sim->stepper)) - 1;
    return 0;
}

/* A simulator on a compiled step that somebody else owns. */
cls_status clsi_simulator_attach(clsi_stepper *stepper, cls_simulator **out, cls_error *error);

/* ---- for those who compose steps ---- */

/* One solve of h from time t, without halving. warm: the unknowns hold a prediction. The state
 * moves only when all went well. */
clsi_trouble clsi_simulator_solve(cls_simulator *sim, double t, double h, double defect, int warm);
/* Energy, entropy and invariants here, `ahead` of the simulator's time; step_entropy is the difference
 * to the last call. */
void clsi_simulator_measure(cls_simulator *sim, double ahead);
/* From the next start on in steps of h, as if created so. Zero: its steps are not of one size, or are made for it. */
int clsi_simulator_set_step(cls_simulator *sim, double h);
/* Whether the entropy lies below `highest` by more than rounding explains (docs/laws.md, 2). */
int clsi_simulator_falls_below(cls_simulator *sim, double highest);
/* The entropy is below its highest by more than the judge allows, and by no more than what a step is
 * solved to: not what the formulas say. */
int clsi_simulator_falls_unsolved(cls_simulator *sim);
/* After measuring: whether the energy is lost, of the energies here and at the start only (not those
 * between, which nobody sees). */
int clsi_simulator_has_lost(cls_simulator *sim);
/* After measuring: the energy that is missing goes to the next step; or a runaway. */
clsi_trouble clsi_simulator_balance(cls_simulator *sim);

/* One step by step_whole, for langevin.c. */
clsi_trouble clsi_simulator_whole(cls_simulator *sim);
/* Thermal noise around it (langevin.c). */
cls_status clsi_noise_room_create(const clsi_stepper *sp, struct clsi_noise_room **out,
                                  cls_error *error);
void clsi_noise_room_free(struct clsi_noise_room **room);
void clsi_langevin_start(cls_simulator *sim);
clsi_trouble clsi_langevin_step(cls_simulator *sim);

size_t clsi_alternation_width(size_t nz); /* components that are watched at a time */
void clsi_alternation_start(cls_simulator *sim);
int clsi_alternation_watch(cls_simulator *sim); /* after each step: whether one does */
void clsi_alternation_tell(cls_simulator *sim); /* and then which, to info */

void clsi_adaptive_start(cls_simulator *sim);
/* From one output to the next by internal steps. */
clsi_trouble clsi_adaptive_step(cls_simulator *sim);

/* Explicit steps with weights that keep the energy (lawful.c): numbers that they need, and where. */
size_t clsi_lawful_size(const clsi_stepper *sp, size_t n_state);
void clsi_lawful_carve(cls_simulator *sim, double *at);

/* Whoever asked for the state finds it where it was. */
void clsi_lawful_home(cls_simulator *sim);

static inline double *clsi_lawful_stage(const cls_simulator *sim, int i) {
    return i ? sim->lawful.stage + (size_t)i * sim->n_state : sim->lawful.first;
}

#endif
