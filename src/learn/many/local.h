/* learn, inside: parameters of large systems without simulations (local.c). */
#ifndef CLSI_LEARN_LOCAL_H
#define CLSI_LEARN_LOCAL_H

#include "learn/learn.h"

/* From so many states on windows are not simulated where all of them are measured: n states have n^2
 * sensitivities. */
enum { CLSI_LARGE = 60 };

typedef struct clsi_local {
    size_t rows, iterations;
    double loss; /* root mean square, in units of the rows' usual size */
    const char *ended;
    int nullity;
} clsi_local;

/* open: the system with symbols theta (P). points: with nodes and slopes. values (P): where to begin, then what was
 * found; errors (P), covariance (P, P). */
cls_status clsi_local_fit(const cls_system *open, const clsi_points *p, size_t P,
                          const cls_node *theta, const double *low, const double *high,
                          double *values, double *errors, double *covariance, clsi_local *out,
                          cls_error *error);

#endif
