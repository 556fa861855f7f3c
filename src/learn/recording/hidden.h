/* learn, inside: states that were not measured, from what the equations of the others imply. */
#ifndef CLSI_HIDDEN_H
#define CLSI_HIDDEN_H

#include "learn/recording/observe.h"

/* The equations of motion as a defect; const once created. */
typedef struct clsi_hidden {
    size_t nz, n_theta, nu, n;
    size_t *state;       /* (n) components of z that are not measured */
    double *scale;       /* (nz) usual sizes of the equations' terms */
    double *prior;       /* (nz) what the components may be off by */
    double time;         /* in which they change by that */
    cls_program *defect; /* z, t, z', theta, u -> dy/dz z' - y'(z, t), y = (q, p, S) */
} clsi_hidden;

/* hidden (nz): which; prior (nz) is copied. `theta` are symbols of s. */
cls_status clsi_hidden_create(const cls_system *s, size_t n_theta, const cls_node *theta,
                              const unsigned char *hidden, const double *prior, double time,
                              clsi_hidden **out, cls_error *error);
void clsi_hidden_free(clsi_hidden **hidden);

/* Takes the sizes of the equations' terms from one more state and its derivative. */
void clsi_hidden_weigh(clsi_hidden *h, const double *theta, double t, const double *u,
                       const double *z, const double *dot);
/* Moves the hidden components of z to where the equations hold best with dot (nz), the derivative of
 * the others; they stay where nothing is said about them. u: inputs, or NULL. */
void clsi_hidden_find(const clsi_hidden *h, const double *theta, double t, const double *u,
                      const double *dot, double *z);

/* Solves M x = b for a small positive matrix, by Gauss, in place; zero when it has no inverse. */
int clsi_solve_small(size_t n, double *M, double *b);

#endif
