/* learn, inside: a fit by shooting, in stages of growing windows. */
#ifndef CLSI_SHOOT_H
#define CLSI_SHOOT_H

#include "learn/unknown/conditions.h"
#include "learn/shooting/shooting.h"
#include "solve/train.h"

/* The system with the unknown parts' parameters as symbols, and its step. */
typedef struct clsi_motion {
    cls_system *system;
    clsi_sensitive *step;
    cls_system *written; /* as formulas, for the flow; both NULL until it is asked for */
    clsi_flow *flow;
} clsi_motion;
cls_status clsi_motion_create(const clsi_unknowns *us, const char *scheme, clsi_motion *out,
                              cls_error *error);
/* The rates of a motion that was created, for the continuous adjoint. */
cls_status clsi_motion_flow(clsi_motion *m, const clsi_unknowns *us, cls_error *error);
/* The same system and its rates instead of a step. */
struct clsi_rates;
cls_status clsi_motion_rates(const clsi_unknowns *us, clsi_motion *out, struct clsi_rates **rates,
                             cls_error *error);
void clsi_motion_clear(clsi_motion *m);

typedef struct clsi_shoot {
    const cls_system *system;
    const cls_assignments *set;
    const clsi_unknowns *unknowns;
    const clsi_points *points;
    const cls_learn_options *options;
    const clsi_anchors *anchors;
    /* the head of its checkpoints: what came before (learner.h) */
    size_t n_begin;
    double *begin;
    /* rollout, progress, checkpoint, seed, patience, identity, context: as for any training */
    clsi_training training;
} clsi_shoot;

typedef struct clsi_shoot_info {
    clsi_training_info training; /* of the last stage; iterations of all */
    size_t stages, intervals;    /* how many there were; of the last stage's windows */
    size_t windows, validation_windows;
    int free_starts;
    double initial, final, validation; /* root mean squares of the rows, last stage */
    char optimizer[32];
} clsi_shoot_info;

/* theta: where to begin (the fit of a residual), then the result. */
cls_status clsi_shoot_fit(const clsi_shoot *j, double *theta, clsi_shoot_info *info,
                          cls_error *error);

#endif
