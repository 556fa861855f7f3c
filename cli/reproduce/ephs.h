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
 * columns time, q, p, error, then the outputs H, force, ... that the system has. */
cls_status ephs_follow(const ephs_truth *t, const cls_system *s, cls_table **out, cls_error *error);
/* Largest value of a column for time < until. */
double ephs_most(const cls_table *t, const char *column, double until);
/* One experiment: a truth of mass 2 and the models that are learned from it, with their curves. */
enum { EPHS_MOST = 6 };
typedef struct ephs_study {
    cli_findings *f;
    ephs_truth truth;
    size_t n; /* tables: the truth's first */
    cls_table *table[EPHS_MOST];
    const char *label[EPHS_MOST];
    ephs_model model[EPHS_MOST]; /* [0]: none */
} ephs_study;
cls_status ephs_begin(ephs_study *s, cli_findings *f, const char *text, const char *start,
                      uint64_t steps, cls_error *error);
cls_status ephs_add(ephs_study *s, const ephs_way *way, cls_error *error);
/* Its picture in f->folder, if there is one. */
cls_status ephs_draw(const ephs_study *s, const char *name, const char *const *columns,
                     cls_error *error);
void ephs_end(ephs_study *s);

#endif
