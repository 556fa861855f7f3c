/* newton.inc compiled for those who bring their own scratch (sensitive.c). */
#include "simulate/host.h"
#include "system/dense.h"
#include <float.h>
#include <math.h>

#include "simulate/newton.inc"

void clsi_newton_least(const clsi_stepper *sp, const double *in, double *least) {
    clsi_newton nw = {.sp = sp};
    newton_least(&nw, in, least);
}

clsi_trouble clsi_newton_solve(const clsi_stepper *sp, clsi_newton *nw) {
    nw->sp = sp;
    nw->known = 0; /* nothing of another place */
    return newton_solve(nw);
}
