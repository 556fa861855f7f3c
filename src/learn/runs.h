/* learn, inside: free runs to their ends. A model that stops along the motions it was learned from, or those it is judged
 * by, is bad, however well it predicts a little ahead. */
#ifndef CLSI_LEARN_RUNS_H
#define CLSI_LEARN_RUNS_H

#include "learn/learn.h"

struct clsi_multiple;

typedef struct clsi_runs {
    const cls_system *s;
    const char *scheme, *hold; /* NULL: the default */
    size_t parts;              /* steps between two rows where one stops; 1: rows are steps */
    int (*hurry)(void *context);
    void *context;
    cls_learn_info *info; /* runs, runs_stopped, ... are counted here */
    cls_simulator *sim;   /* the caller frees it */
    double h;
} clsi_runs;

/* From z at time[0] on for as long as the n times reach, inputs u (nu, n; NULL: none). CLS_OK where it stops, too:
 * that is counted. */
cls_status clsi_runs_add(clsi_runs *r, const double *z, size_t n, const double *time,
                         const double *u);
/* Motions kept for validation from their first rows (rollout.c), and all segments of a recording from the starts that
 * explain them; s is what was learned. */
cls_status clsi_runs_of_points(const clsi_points *p, clsi_runs *r);
cls_status clsi_runs_of_recording(struct clsi_multiple *m, const double *theta, clsi_runs *r);

#endif
