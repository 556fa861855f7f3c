/* The data of one motion: state, history for the predictor, scratch, what was watched. */
#ifndef CLSI_SIMULATOR_H
#define CLSI_SIMULATOR_H

#include "simulate/stepper.h"

enum { CLSI_HISTORY = 3 }; /* solutions kept for the predictor: quadratic extrapolation */

struct cls_simulator {
    clsi_stepper *stepper;
    int owns_stepper;
    clsi_reference *reference; /* bdf only */
    size_t n_state;
    double t0, defect, step_entropy, energy_scale;
    uint64_t steps;
    int paper_pending; /* the paper's first step is still to be made */
    double *block;     /* everything below is carved from here */
    double *state;     /* (n_state) */
    double *saved;     /* (max_halvings + 3, n_state) states to return to */
    double *history;   /* (substeps, CLSI_HISTORY, unknowns), newest first */
    int *history_length; /* (substeps) */
    double *row_in, *monitor_out, *monitor_start, *next_out;
    clsi_newton newton;
    clsi_trouble trouble; /* of the last step that failed */
    cls_simulate_info info;
    cls_invariant_info *invariants;
};

/* A simulator on a compiled step that somebody else owns. */
cls_status clsi_simulator_attach(clsi_stepper *stepper, cls_simulator **out, cls_error *error);

#endif
