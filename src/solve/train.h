/* solve, inside: a training is several minimisations, monitored and validated on rows that they do not use.
 */
#ifndef CLSI_TRAIN_H
#define CLSI_TRAIN_H

#include "solve/problem.h"

struct clsi_archive;

/* What an iteration is told as. */
typedef struct clsi_training_progress {
    size_t restart;
    uint64_t iteration;      /* over all restarts */
    double loss, validation; /* as the problem and `validate` measure; validation may be NAN */
    int between; /* two reports: nothing was measured, the question is whether to stop */
} clsi_training_progress;

typedef struct clsi_training {
    clsi_problem *problem;
    const clsi_optimizer *optimizer;
    uint64_t max_iterations, seed; /* of each restart; of the first one */
    size_t restarts;               /* 0 counts as 1 */
    double rate, last_rate;        /* see clsi_optimize_options */
    uint64_t patience;             /* reports without better validation; 0: no early stopping */
    size_t batch;                  /* of optimisers that draw batches; 0: their own */
    int constant_rate;             /* adam: see clsi_optimize_options */
    int last;                      /* the last parameters are the result, not the best */
    double decay;
    void *context;
    /* Start parameters for a seed. */
    void (*initialise)(void *context, uint64_t seed, double *theta);
    /* Loss on data that is not trained on; NULL: the training loss stands for it. */
    double (*validate)(void *context, const double *theta);
    /* Error of simulations with these parameters; INFINITY: they fail; negative: broken off,
     * because `progress` is going to stop. NULL: no rollouts. */
    double (*rollout)(void *context, const double *theta);
    int (*progress)(void *context, const clsi_training_progress *progress); /* non-zero: stop */
    const char *checkpoint;                                                 /* path or NULL */
    const char *identity;    /* what the checkpoint belongs to */
    double checkpoint_every; /* seconds; 0: after every report */
    /* What else the caller's decisions depend on, at the head of the checkpoint; NULL: nothing. */
    void (*keep)(void *context, struct clsi_archive *a);
    int resume;
    const cls_team *team; /* that takes every decision together; rank 0 writes. NULL: none */
} clsi_training;

typedef struct clsi_training_info {
    uint64_t iterations;        /* over all restarts */
    size_t restart;             /* that gave the result */
    double validation, rollout; /* of the result; NAN when not measured */
    int stopped;                /* by `progress` */
    int early;                  /* restarts that patience or the rollouts ended */
    const char *reason;         /* of the last minimisation */
} clsi_training_info;

/* theta (n_parameters): the result. Stopped by `progress` it is the best so far, and CLS_OK. A
 * checkpoint is left only by a stop (or a kill); finished, it is removed. */
cls_status clsi_train(const clsi_training *t, double *theta, clsi_training_info *info,
                      cls_error *error);

#endif
