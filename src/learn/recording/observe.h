/* learn, inside: a system with open parameters, simulated at the times of a recording, as the
 * instruments would have seen it, and its derivatives. */
#ifndef CLSI_OBSERVE_H
#define CLSI_OBSERVE_H

#include "simulate/sensitive.h"
#include "simulate/signal.h"
#include "system/system.h"

/* Const once created, shared by all threads. */
typedef struct clsi_observer {
    const cls_system *system; /* with symbols theta; borrowed */
    clsi_sensitive *step;
    size_t nz, n_theta, ny, nu;
    cls_program *output; /* t, z (nz), theta, u (nu) -> y (ny) */
    cls_program *slopes; /* the same -> y, y_z (ny, nz), y_theta (ny, n_theta) */
    const char *scheme;  /* as asked for; NULL: the default */
    cls_node *theta;     /* (n_theta) */
    double most_step;    /* intervals of the data are divided into steps that are not longer */
} clsi_observer;

/* channel (ny): names of columns of the system. `scheme` NULL: its default. */
cls_status clsi_observer_create(const cls_system *s, const char *scheme, size_t n_theta,
                                const cls_node *theta, size_t ny, const char *const *channel,
                                clsi_observer **out, cls_error *error);
void clsi_observer_free(clsi_observer **observer);

/* Scratch of one thread. */
typedef struct clsi_track clsi_track;
cls_status clsi_track_create(const clsi_observer *o, clsi_track **out, cls_error *error);
void clsi_track_free(clsi_track **track);
/* A motion to be made: from z0 at time[0] on, driven by `signal` (NULL: without inputs), y (n, ny) at
 * the n times, which do not fall, J (n, ny, n_theta + nz) = dy/d(theta, z0) unless NULL, the state at
 * the last of them in `end` (nz) unless NULL. */
typedef struct clsi_journey {
    const clsi_signal *signal;
    const double *z0, *time;
    size_t n;
    double *y, *J, *end;
} clsi_journey;

/* Up to CLSI_LANES motions side by side. Zero: a step of one of them has no solution. */
int clsi_track_run_many(clsi_track *k, const double *theta, size_t n, const clsi_journey *list);
/* One of them. */
int clsi_track_run(clsi_track *k, const double *theta, const clsi_signal *signal, const double *z0,
                   size_t n, const double *time, double *y, double *J, double *end);

#endif
