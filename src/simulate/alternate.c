/* Paths that go to and fro from step to step.
 *
 * Far beyond the time constant tau of a friction or a conduction a symmetric step takes a difference d
 * to (1 - x/2)/(1 + x/2) d with x = h/tau: up and down, hardly smaller. Both laws hold; the path is
 * nothing that the system does. A swing of which h is half a period looks the same. So a component
 * that turns round CLSI_ALTERNATE_RUN times on end, each time by nearly as much, is told (cls_simulate_info). Costs
 * four numbers and some comparisons for each component of the state; no allocation. */
#include "base/vectors.h"
#include "simulate/simulator.h"
#include <math.h>
#include <string.h>

#include "simulate/alternate.inc"

void clsi_alternation_start(cls_simulator *sim) {
    size_t nz = sim->stepper->nz;
    clsi_alternation *a = &sim->alternation;
    memcpy(a->before, sim->state, nz * sizeof(double));
    memset(a->change, 0, nz * sizeof(double));
    memset(a->turns, 0, nz * sizeof(double));
    for (size_t i = 0; i < nz; i++) a->largest[i] = fabs(sim->state[i]);
}

/* The component of the longest run, or nz. */
static size_t longest(const clsi_alternation *a, size_t nz) {
    size_t found = nz;
    for (size_t i = 0; i < nz; i++)
        if (a->turns[i] >= CLSI_ALTERNATE_RUN && (found == nz || a->turns[i] > a->turns[found]))
            found = i;
    return found;
}

CLONES
static int watch(size_t nz, const double *state, const clsi_alternation *a) {
    return alternate_watch(nz, state, a);
}

int clsi_alternation_watch(cls_simulator *sim) {
    return watch(sim->stepper->nz, sim->state, &sim->alternation);
}

void clsi_alternation_tell(cls_simulator *sim) {
    clsi_alternation *a = &sim->alternation;
    cls_simulate_info *info = &sim->info;
    size_t found = longest(a, sim->stepper->nz);
    if (a->turns[found] < (double)info->alternations) return;
    info->alternating = found;
    info->alternations = (uint64_t)a->turns[found];
    info->alternation = fabs(a->change[found]);
}
