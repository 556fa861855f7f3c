/* What the items ephs-6.4 to ephs-7.5 share: a truth, models that are learned from one trajectory
 * of it, their errors and laws, and pictures. */
#ifndef CLAUSIUS_CLI_EPHS_H
#define CLAUSIUS_CLI_EPHS_H

#include "cli/reproduce/reproduce.h"

/* A way to learn. `text` is a system file with unknown parts; its states are called as those of the
 * truth, or `p` for p.q. Outputs E and S (where it has them) are the true total energy and entropy;
 * without them the columns energy and entropy are taken. */
typedef struct ephs_way {
    const char *row, *text;
    const char *loss;    /* NULL: residual */
    const char *rule;    /* of the residual; NULL: implicit-midpoint, the map of the data */
    const char *scheme;  /* that simulates over 100,000 steps */
    uint64_t iterations; /* 0: the optimiser's own */
    uint64_t polish;     /* then so many of Levenberg-Marquardt; 0: none */
    const char *paper, *paper_100; /* largest squared error for t < 20, t < 100; NULL: none */
    const char *want, *want_100;   /* bounds; NULL: shown */
    const char *energy, *falls;    /* bounds of |dE| and of entropy falls in 100,000 steps */
    const char *note;
} ephs_way;

typedef struct ephs_model {
    cls_model *model;
    cls_learn_info info;
} ephs_model;

typedef struct ephs_truth {
    cli_motion motion;
    cls_table *data;      /* what is learned from, with p beside p.q */
    cls_table *reference; /* to time 100 */
} ephs_truth;

/* A system with mass m from a start, its trajectory of `steps` steps by implicit-midpoint at
 * h = 0.1. */
cls_status ephs_open(const char *text, double m, const char *start, uint64_t steps, ephs_truth *out,
                     cls_error *error);
void ephs_close(ephs_truth *t);
cls_status ephs_learn(const ephs_truth *t, const ephs_way *way, ephs_model *out, cls_error *error);
/* `s` from the truth's start by implicit-midpoint to time 100, and the squared error beside it:
 * columns time, q, p, error, then those of `outputs` (NULL-terminated) that the system has. */
cls_status ephs_follow(const ephs_truth *t, const cls_system *s, const char *const *outputs,
                       cls_table **out, cls_error *error);
/* Largest value of a column for time < until. */
double ephs_most(const cls_table *t, const char *column, double until);
/* Energy and entropy over many steps. */
typedef struct ephs_laws {
    double energy, falls; /* largest |E - E0|; steps in which S falls by more than round-off */
} ephs_laws;
cls_status ephs_watch(const ephs_truth *t, const cls_system *s, const char *scheme, uint64_t steps,
                      ephs_laws *out, cls_error *error);
/* Learns one way and hands in its cells; *table (with a model's curves) is the caller's. */
cls_status ephs_try(cli_findings *f, const ephs_truth *t, const ephs_way *way, ephs_model *model,
                    cls_table **table, cls_error *error);
/* The pictures of an experiment, where a folder was asked for. */
cls_status ephs_draw(const cli_findings *f, const char *name, size_t n,
                     const cls_table *const *tables, const char *const *labels,
                     const char *const *columns, cls_error *error);

#endif
