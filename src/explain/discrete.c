/* Steps of a scheme from the states at which functions are tried: the discrete Noether theorem.
 *
 * A symmetry dq = A q + b of the discrete Lagrangian Ld(q0, q1, S0) keeps p.(A q + b): with the discrete
 * momenta p-, p+ of a step, D1 Ld.(A q0 + b) + D2 Ld.(A q1 + b) = (p+.(A q1 + b) - p-.(A q0 + b))/h, and forces
 * add their work (DTEL, Theorem 13). The right side is the change of p.(A q + b) in one step, whatever the
 * scheme is, so that what is looked for are functions that a step from no state changes, as without a
 * scheme those that have no rate. For the midpoint rule of dtel, Ld = L((q0 + q1)/2, (q1 - q0)/h, S0), affine
 * maps are symmetries of Ld where they are symmetries of L; that list is the same. */
#include "explain/explain.h"
#include <clausius/random.h>
#include <clausius/simulate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The state after a step, NULL: there is none. */
static const double *step_from(cls_simulator *sim, double time, const double *state) {
    if (cls_simulator_start(sim, time, state, NULL) != CLS_OK) return NULL;
    return cls_simulator_advance(sim, 1, NULL) == CLS_OK ? cls_simulator_state(sim) : NULL;
}

static cls_status check(const cls_system *s, const char *scheme, cls_error *error) {
    if (cls_system_is_noisy(s))
        return clsi_fail(
            error, CLS_USAGE,
            "'%s' has thermal noise: a step from a state ends anywhere, and nothing is "
            "kept by each",
            s->name);
    if (s->nu)
        return clsi_fail(
            error, CLS_USAGE,
            "'%s' has inputs: set them to formulas (`--set`) to ask for laws of a step", s->name);
    return cls_scheme_applies(scheme, s, error);
}

/* Columns of sample i; 0: a number is not finite. */
static int fill(clsi_samples *a, size_t i, double h, const double *y1) {
    double *value = a->value + i * a->width;
    for (size_t k = 0; k < a->ny; k++) {
        value[a->at + k] = value[k] / 2 + y1[k] / 2;
        value[a->by + k] = (y1[k] - value[k]) / h;
        if (!isfinite(value[a->by + k])) return 0;
    }
    return 1;
}

cls_status clsi_samples_step(clsi_samples *a, const cls_invariants_options *o, cls_error *error) {
    const cls_system *s = a->s;
    size_t states = cls_system_state_count(s), kept = 0, work = cls_program_work_size(a->program);
    cls_simulate_options so = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    cls_random random;
    so.scheme = o->scheme;
    so.h = o->h > 0 ? o->h : cls_system_default_step(s);
    so.monitor = 0;
    cls_random_seed(&random, o->seed + 1);
    double *in = clsi_calloc(states + a->nz + 1 + work + a->width, sizeof *in);
    cls_status status = in ? check(s, o->scheme, error) : clsi_no_memory(error);
    if (status == CLS_OK) status = cls_simulator_create(s, &so, &sim, error);
    double *end = in ? in + states : NULL, *room = in ? end + a->nz + 1 : NULL;
    if (status == CLS_OK) cls_program_prepare(a->program, room);
    for (size_t i = 0; status == CLS_OK && i < a->n; i++) {
        double time = 2 * cls_random_uniform(&random) - 1;
        memset(in, 0, states * sizeof *in);
        memcpy(in, a->z + i * a->nz, a->nz * sizeof *in);
        const double *z = step_from(sim, time, in);
        if (!z) continue;
        memcpy(end, z, a->nz * sizeof *end);
        end[a->nz] = time + so.h;
        cls_program_run(a->program, room, end, room + work);
        memmove(a->z + kept * a->nz, a->z + i * a->nz, a->nz * sizeof *a->z);
        memmove(a->value + kept * a->width, a->value + i * a->width, a->width * sizeof *a->value);
        kept += (size_t)fill(a, kept, so.h, room + work);
    }
    cls_simulator_free(&sim);
    free(in);
    if (status == CLS_OK && kept < a->n / 4)
        status =
            clsi_fail(error, CLS_NUMERIC,
                      "%s makes a step of %g from too few of the states of '%s' that were tried "
                      "(%zu of %zu): take a smaller h",
                      o->scheme, so.h, s->name, kept, a->n);
    a->n = kept;
    return status;
}
