/* simulate, inside: the values of inputs over time, from samples. */
#ifndef CLSI_SIGNAL_H
#define CLSI_SIGNAL_H

#include "system/system.h"
#include <clausius/simulate.h>

/* Const once created: any number of threads may ask. */
typedef struct clsi_signal clsi_signal;

/* n increasing times; values (nu, n), those of one input side by side. A value that is not a number is
 * a gap: the hold goes on over it. hold (nu). All are copied. */
cls_status clsi_signal_create(size_t nu, size_t n, const double *times, const double *values,
                              const cls_hold *hold, clsi_signal **out, cls_error *error);
/* The hold of each input (nu): text is zero, linear, auto, or a list `u=zero, Tout=linear`; inputs that it does
 * not name, or all where it is NULL, have `otherwise`. auto: linear, and zero where values stand for several
 * rows. values (nu, n) as above. */
cls_status clsi_holds(const cls_system *s, const char *text, cls_hold otherwise, size_t n,
                      const double *values, cls_hold *hold, cls_error *error);
void clsi_signal_free(clsi_signal **signal);

/* The values (nu) at time t; before the first sample and behind the last its value. */
void clsi_signal_at(const clsi_signal *s, double t, double *u);
/* The inputs over [t, t + h] as linear functions, u0 (nu) at the start and u1 (nu) at the end:
 * exact where no sample lies inside, else the linear function with the same mean and, as far as it
 * stays between the values that the hold takes there, the same first moment. h may be negative. */
void clsi_signal_over(const clsi_signal *s, double t, double h, double *u0, double *u1);
/* The first time behind t at which the signal is not smooth (a sample), INFINITY when none is. */
double clsi_signal_corner(const clsi_signal *s, double t);

#endif
