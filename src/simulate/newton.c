/* Newton's method for one step: exact Jacobian, natural monotonicity, a guard for the domain.
 *
 * The update d = J^-1 r is measured in units of what the unknown has to be accurate to: an unknown
 * u changes the state z by h u, so h d below the round-off of z is zero for all purposes. A trial
 * point is accepted when the simplified update J^-1 r(trial) is shorter than d (Deuflhard's natural
 * test: it does not depend on how the equations are scaled); otherwise the step is halved. Because
 * convergence is quadratic, an update whose successor would be below round-off is the last one, and
 * no evaluation is spent on confirming it. The Jacobian of a learned system is most of the work:
 * there, when the contraction shows that the old one leads below round-off in two more updates, it
 * stays. The domain is checked before the residual is evaluated,
 * never after; whether the solution itself lies inside is for the one who takes it to check. */
#include "simulate/stepper.h"
#include "expr/program.h"
#include "system/dense.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    MAX_LINE_SEARCH = 40,
    COSTLY = 2000 /* instructions of a Jacobian that is not computed where an old one does */
};

/* 1 when all guarded coordinates of the end of the step lie in their open intervals. */
static int inside(const clsi_stepper *sp, clsi_newton *nw) {
    if (!sp->guard) return 1;
    clsi_program_late(sp->guard, nw->work_guard, nw->in, nw->guarded);
    for (size_t k = 0; k < sp->n_guarded; k++) {
        const clsi_variable *x = &sp->s->coordinate[sp->guarded[k]];
        if (!(nw->guarded[k] > x->low && nw->guarded[k] < x->high)) return 0;
    }
    return 1;
}

static clsi_trouble evaluate(const clsi_stepper *sp, clsi_newton *nw, double *out) {
    if (!inside(sp, nw)) return CLSI_DOMAIN;
    clsi_program_first(sp->residual, nw->work_residual, nw->in, out);
    size_t k = sp->n_unknowns;
    for (size_t i = 0; i < k + sp->n_positive; i++)
        if (!isfinite(out[i])) return CLSI_NONFINITE;
    for (size_t i = k; i < k + sp->n_positive; i++)
        if (out[i] <= 0) return CLSI_DOMAIN;
    return CLSI_FINE;
}

/* fmax is a call; this is not. */
static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Infinite when d is not finite. */
static double size_of(const clsi_newton *nw, size_t k, const double *d) {
    double largest = 0;
    for (size_t i = 0; i < k; i++) {
        double size = fabs(d[i]) / nw->scale[i];
        if (!isfinite(size)) return INFINITY;
        largest = larger(largest, size);
    }
    return largest;
}

/* A state that passes zero is measured by the rest. The same for all iterations of a solve. */
void clsi_newton_least(const clsi_stepper *sp, const double *in, double *least) {
    double h = fabs(in[sp->nz + 2]), tolerance = sp->options.tolerance, rest = 0;
    for (size_t i = 0; i < sp->nz; i++) rest = larger(rest, fabs(in[i]));
    double ulp = 0.5 * DBL_EPSILON / (h * tolerance);
    for (size_t i = 0; i < sp->n_unknowns; i++) {
        size_t of = sp->of_state[i];
        double z = of < sp->nz ? larger(fabs(in[of]), 1e-3 * rest) : 0;
        if (sp->s->form->kind == CLSI_FORM_THERMAL && of >= sp->s->nq + sp->s->n && of < sp->nz)
            z = 1; /* the unknown is a rate of log T */
        least[i] = larger(ulp * z, DBL_MIN / tolerance);
    }
}

/* scale[i]: d is converged when |d| <= tolerance * scale. */
static void set_scale(const clsi_stepper *sp, clsi_newton *nw) {
    for (size_t i = 0; i < sp->n_unknowns; i++)
        nw->scale[i] = larger(fabs(nw->in[sp->n_base + i]), nw->least[i]);
}

/* ---- linear equations: one and two unknowns are most of them, and calls cost more than they ----
 */

static int usable(double pivot) {
    return fabs(pivot) > 0 && isfinite(pivot);
}

/* As clsi_lu_factor: nonzero when there is no inverse. */
static size_t factor(size_t k, double *a, size_t *pivot) {
    if (k > 2) return clsi_lu_factor(k, a, pivot);
    if (k == 1) return !usable(a[0]);
    pivot[0] = fabs(a[2]) > fabs(a[0]);
    if (pivot[0]) {
        double first = a[0], second = a[1];
        a[0] = a[2], a[1] = a[3];
        a[2] = first, a[3] = second;
    }
    if (!usable(a[0])) return 1;
    a[2] /= a[0];
    a[3] -= a[2] * a[1];
    return usable(a[3]) ? 0 : 2;
}

static void solve(size_t k, const double *lu, const size_t *pivot, double *b) {
    if (k > 2) {
        clsi_lu_solve(k, lu, pivot, b);
    } else if (k == 1) {
        b[0] /= lu[0];
    } else {
        double first = b[pivot[0]], second = b[!pivot[0]] - lu[2] * first;
        b[1] = second / lu[3];
        b[0] = (first - lu[1] * b[1]) / lu[0];
    }
}

/* The Jacobian where the residual was evaluated last. */
static clsi_trouble renew(const clsi_stepper *sp, clsi_newton *nw) {
    size_t k = sp->n_unknowns;
    clsi_program_rest(sp->residual, nw->work_residual, nw->out);
    memcpy(nw->lu, nw->out + k + sp->n_positive, k * k * sizeof(double));
    for (size_t i = 0; i < k * k; i++)
        if (!isfinite(nw->lu[i])) return CLSI_NONFINITE;
    return factor(k, nw->lu, nw->pivot) ? CLSI_SINGULAR : CLSI_FINE;
}

/* The guess may lie outside the domain: pull it towards no change at all, which lies inside. */
static clsi_trouble first_evaluation(const clsi_stepper *sp, clsi_newton *nw) {
    double *u = nw->in + sp->n_base;
    clsi_trouble trouble = evaluate(sp, nw, nw->out);
    for (int tries = 0; trouble != CLSI_FINE && tries < 6; tries++) {
        double keep = tries < 5 ? 0.25 : 0;
        for (size_t i = 0; i < sp->n_unknowns; i++) u[i] *= keep;
        trouble = evaluate(sp, nw, nw->out);
    }
    return trouble;
}

/* From nw->u along -d to a point that is better; leaves r there in nw->out, and in *simplified the
 * size of the update that the old Jacobian gives. */
static clsi_trouble line_search(const clsi_stepper *sp, clsi_newton *nw, double size,
                                double *simplified) {
    size_t k = sp->n_unknowns;
    double *u = nw->in + sp->n_base;
    clsi_trouble trouble = CLSI_STALLED;
    double lambda = 1;
    for (int tries = 0; tries < MAX_LINE_SEARCH; tries++, lambda *= 0.5) {
        for (size_t i = 0; i < k; i++) u[i] = nw->u[i] - lambda * nw->d[i];
        clsi_trouble here = evaluate(sp, nw, nw->trial_out);
        if (here != CLSI_FINE) {
            trouble = here;
            continue;
        }
        memcpy(nw->trial_d, nw->trial_out, k * sizeof(double));
        solve(k, nw->lu, nw->pivot, nw->trial_d);
        *simplified = size_of(nw, k, nw->trial_d);
        if (!(*simplified <= (1 - 0.25 * lambda) * size)) {
            trouble = CLSI_STALLED;
            continue;
        }
        double *better = nw->trial_out;
        nw->trial_out = nw->out;
        nw->out = better;
        return CLSI_FINE;
    }
    return trouble;
}

/* An update that changes nothing more, or no less than the one before it. */
static int is_round_off(double size, double before, double tolerance) {
    return size <= 0.01 * tolerance || (size < 1e-9 && size > 0.5 * before);
}

/* Whether an update of this size, by a fresh Jacobian, is the last one. Convergence is quadratic:
 * the next update would be about size * (size / before)^2; the plain square root of the tolerance
 * stands in while there is no update before. */
static int is_last(double size, double before, double tolerance) {
    double ratio = fmin(size / before, 1),
           next = isinf(before) ? size * size : size * ratio * ratio;
    int at_round_off = size < 1e-9 && size > 0.25 * before;
    return size <= tolerance || (size < 1e-5 && next <= 0.1 * tolerance) || at_round_off;
}

clsi_trouble clsi_newton_solve(const clsi_stepper *sp, clsi_newton *nw) {
    size_t k = sp->n_unknowns;
    double *u = nw->in + sp->n_base, tolerance = sp->options.tolerance, before = INFINITY;
    double simplified = INFINITY;
    /* errors of an old Jacobian have a direction: below round-off where they would add up */
    double enough = sp->scheme->carries && sp->s->m ? tolerance : 0.01 * tolerance;
    int costly = !nw->careful && clsi_program_rest_length(sp->residual) > COSTLY;
    nw->last_iterations = 0;
    if (k == 0) return CLSI_FINE;
    if (sp->guard) clsi_program_early(sp->guard, nw->work_guard, nw->in);
    clsi_program_early(sp->residual, nw->work_residual, nw->in);
    clsi_newton_least(sp, nw->in, nw->least);
    clsi_trouble trouble = first_evaluation(sp, nw);
    if (trouble != CLSI_FINE) return trouble;
    while (nw->last_iterations < sp->options.max_iterations) {
        double ratio = simplified / before;
        int fresh = !(costly && ratio * ratio * simplified <= enough);
        nw->last_iterations++;
        nw->iterations++;
        if (fresh && (trouble = renew(sp, nw)) != CLSI_FINE) return trouble;
        memcpy(nw->d, nw->out, k * sizeof(double));
        solve(k, nw->lu, nw->pivot, nw->d);
        set_scale(sp, nw);
        double size = size_of(nw, k, nw->d);
        memcpy(nw->u, u, k * sizeof(double));
        int last = nw->careful ? is_round_off(size, before, tolerance)
                   : fresh     ? is_last(size, before, tolerance)
                               : size * size / before <= enough;
        if (last) {
            for (size_t i = 0; i < k; i++) u[i] = nw->u[i] - nw->d[i];
            return CLSI_FINE;
        }
        trouble = line_search(sp, nw, size, &simplified);
        if (trouble == CLSI_STALLED && size < 1e-9) { /* no descent because there is none left */
            memcpy(u, nw->u, k * sizeof(double));
            return CLSI_FINE;
        }
        if (trouble != CLSI_FINE) return trouble;
        before = size;
    }
    return CLSI_STALLED;
}
