/* learn, inside: parameters of systems with thermal noise, from the changes of momenta. */
#ifndef CLSI_FLUCTUATION_H
#define CLSI_FLUCTUATION_H

#include "learn/learn.h"

typedef struct clsi_fluctuation {
    size_t rows; /* changes of momenta that were used */
    uint64_t iterations;
    double cost;    /* mean of what a row costs */
    double fastest; /* the largest Gamma h/m of a row */
    int converged;
} clsi_fluctuation;

/* `open` contains the symbols theta (P). Begins at values (P), stays within low and high, and leaves
 * the values, their standard errors (INFINITY: the data do not tell) and covariance (P, P). */
cls_status clsi_fluctuation_fit(cls_system *open, const clsi_points *data, size_t P,
                                const cls_node *theta, const double *low, const double *high,
                                double *values, double *errors, double *covariance,
                                clsi_fluctuation *info, cls_error *error);

#endif
