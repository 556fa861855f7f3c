/* The momentum with which one step of the scheme goes from one position to another.
 *
 * Where only positions are known, a run starts from two of them. For discrete-gradient and a
 * constant mass M this is Deep DTLM (11) at the other end, p0 = M (q1 - q0)/h + (h/2) gbar; for
 * every scheme it is the p0 that makes its first step end at q1, found by Newton's method with the
 * Jacobian by differences, from v = (q1 - q0)/h. Costs about 3 (n + 1) steps. Where friction makes
 * heat, that of the state is taken as the initial one. */
#include "base/base.h"
#include "base/misuse.h"
#include "simulate/simulator.h"
#include "system/dense.h"
#include "system/system.h"
#include <clausius/simulate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 20 };

typedef struct aim {
    cls_simulator *sim;
    const cls_system *s;
    size_t n;
    double time, *state; /* state[n ..] are looked for */
    const double *target;
    double *miss, *best, *A, *shifted;
    size_t *pivot;
    cls_error *error;
} aim;

/* v = (q1 - q0)/h, and of everything but the momenta what the state says. */
static cls_status guess(aim *a) {
    size_t n = a->n, states = cls_system_state_count(a->s), count = 0;
    double h = cls_simulator_info(a->sim).h;
    const char **names = clsi_calloc(states + 1, sizeof *names);
    double *values = clsi_calloc(states + 1, sizeof *values);
    cls_status status = names && values ? CLS_OK : clsi_no_memory(a->error);
    for (size_t k = 0; k < states && status == CLS_OK; k++) {
        const char *name = cls_system_state_name(a->s, k);
        if (k >= a->s->form->nz) continue; /* accounts begin at 0 */
        int moving = k >= n && k < 2 * n;
        names[count] = moving ? cls_node_name(a->s->g, a->s->v[k - n]) : name;
        values[count++] = moving ? (a->target[k - n] - a->state[k - n]) / h : a->state[k];
    }
    cls_assignments given = {count, names, values};
    if (status == CLS_OK) status = cls_system_start(a->s, &given, a->state, a->error);
    free(names);
    free(values);
    return status;
}

/* Where a step from `state` ends, minus the target; its largest component. */
static double shoot(aim *a, const double *state, double *miss) {
    double most = 0;
    if (cls_simulator_start(a->sim, a->time, state, a->error) != CLS_OK) return INFINITY;
    if (cls_simulator_advance(a->sim, 1, a->error) != CLS_OK) return INFINITY;
    const double *z = cls_simulator_state(a->sim);
    for (size_t j = 0; j < a->n; j++) {
        miss[j] = z[j] - a->target[j];
        most = fmax(most, fabs(miss[j]));
    }
    return most;
}

/* A (n, n) = d(end)/d(momenta). */
static int jacobian(aim *a) {
    size_t n = a->n, states = cls_system_state_count(a->s);
    double *other = a->best; /* free while this runs */
    for (size_t j = 0; j < n; j++) {
        memcpy(a->shifted, a->state, states * sizeof *a->shifted);
        double step = 1e-7 * fmax(1, fabs(a->state[n + j]));
        a->shifted[n + j] += step;
        if (!isfinite(shoot(a, a->shifted, other))) return 0;
        for (size_t i = 0; i < n; i++) a->A[i * n + j] = (other[i] - a->miss[i]) / step;
    }
    return clsi_lu_factor(n, a->A, a->pivot) == 0;
}

static cls_status solve(aim *a) {
    size_t n = a->n;
    double last = shoot(a, a->state, a->miss), size = 0;
    for (size_t j = 0; j < n; j++) size = fmax(size, fabs(a->state[j]) + fabs(a->target[j]));
    for (int k = 0; k < ITERATIONS && isfinite(last) && last > 4e-16 * size; k++) {
        if (!jacobian(a)) break;
        clsi_lu_solve(n, a->A, a->pivot, a->miss);
        memcpy(a->shifted, a->state, cls_system_state_count(a->s) * sizeof *a->shifted);
        for (size_t j = 0; j < n; j++) a->shifted[n + j] -= a->miss[j];
        double now = shoot(a, a->shifted, a->miss);
        if (!(now < last)) break; /* round-off */
        memcpy(a->state + n, a->shifted + n, n * sizeof *a->state);
        last = now;
    }
    if (last <= 1e-9 * size + 1e-300) return CLS_OK;
    if (!isfinite(last) && a->error && a->error->status != CLS_OK) return a->error->status;
    return clsi_fail(a->error, CLS_NUMERIC,
                     "no momentum brings %s from the first position to the second in one step; "
                     "the nearest misses by %g",
                     a->s->name, last);
}

cls_status cls_simulator_aim(cls_simulator *sim, double time, const double *target, double *state,
                             cls_error *error) {
    NEED(error, sim);
    NEED(error, target);
    NEED(error, state);
    const cls_system *s = sim->stepper->s;
    size_t n = cls_system_coordinate_count(s), states = cls_system_state_count(s);
    aim a = {.sim = sim, .s = s, .n = n, .time = time, .state = state, .target = target};
    cls_error own = {0};
    a.error = &own;
    if (!s->canonical)
        return clsi_fail(error, CLS_USAGE,
                         "two positions do not start '%s', whose momenta are not those of its "
                         "positions alone",
                         s->name);
    a.miss = clsi_calloc(2 * n + n * n + states, sizeof *a.miss);
    a.pivot = clsi_calloc(n, sizeof *a.pivot);
    cls_status status = a.miss && a.pivot ? CLS_OK : clsi_no_memory(&own);
    a.best = a.miss ? a.miss + n : NULL;
    a.A = a.miss ? a.best + n : NULL;
    a.shifted = a.miss ? a.A + n * n : NULL;
    if (status == CLS_OK) status = guess(&a);
    if (status == CLS_OK) status = solve(&a);
    if (status == CLS_OK) status = cls_simulator_start(sim, time, state, &own);
    if (status != CLS_OK && error) *error = own;
    free(a.miss);
    free(a.pivot);
    return status;
}

/* ---- discrete Legendre maps ---- */

/* The momenta of the row that the simulator stands at. */
static cls_status momenta(cls_simulator *sim, double *row, double *p, cls_error *error) {
    const cls_system *s = sim->stepper->s;
    cls_status status = cls_simulator_row(sim, row, error);
    for (size_t j = 0; j < s->n && status == CLS_OK; j++) {
        size_t c = 0, n = cls_system_column_count(s);
        while (c < n && strcmp(cls_system_column(s, c), cls_node_name(s->g, s->p[j])) != 0) c++;
        p[j] = c < n ? row[c] : NAN;
    }
    return status;
}

cls_status cls_simulator_legendre(cls_simulator *sim, double time, const double *state,
                                  const double *target, double *minus, double *plus,
                                  cls_error *error) {
    NEED(error, sim);
    NEED(error, state);
    NEED(error, target);
    NEED(error, minus);
    NEED(error, plus);
    const cls_system *s = sim->stepper->s;
    size_t states = cls_system_state_count(s);
    double *own = clsi_calloc(states + cls_system_column_count(s) + 1, sizeof *own);
    if (!own) return clsi_no_memory(error);
    memcpy(own, state, states * sizeof *own);
    cls_status status = cls_simulator_aim(sim, time, target, own, error);
    if (status == CLS_OK) status = momenta(sim, own + states, minus, error);
    if (status == CLS_OK) status = cls_simulator_advance(sim, 1, error);
    if (status == CLS_OK) status = momenta(sim, own + states, plus, error);
    free(own);
    return status;
}
