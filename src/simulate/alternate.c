/* Paths that go to and fro from step to step.
 *
 * Far beyond the time constant tau of a friction or a conduction a symmetric step takes a difference d
 * to (1 - x/2)/(1 + x/2) d with x = h/tau: up and down, hardly smaller. Both laws hold; the path is
 * nothing that the system does. A swing of which h is half a period looks the same. So a component
 * that turns round RUN times on end, each time by nearly as much, is told (cls_simulate_info). Costs
 * four numbers and some comparisons for each component of the state; no allocation. */
#include "base/vectors.h"
#include "simulate/simulator.h"
#include <math.h>
#include <string.h>

enum { RUN = 16 };
static const double nearly = 0.9;   /* x above 38 */
static const double visible = 1e-6; /* of the component's largest value: not its round-off */
static const double least = 1e-12;  /* nor that of what it is computed from */

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
        if (a->turns[i] >= RUN && (found == nz || a->turns[i] > a->turns[found])) found = i;
    return found;
}

/* Whether a run is long; without branches, for all components at once. */
CLONES
static int watch(size_t nz, const double *restrict state, const clsi_alternation *a) {
    double *restrict before = a->before, *restrict change = a->change;
    double *restrict largest = a->largest, *restrict turns = a->turns;
    int found = 0;
    for (size_t i = 0; i < nz; i++) {
        double z = state[i], d = z - before[i], size = fabs(d), high = fabs(z);
        high = high > largest[i] ? high : largest[i];
        int turned = (d * change[i] < 0) & (size >= nearly * fabs(change[i])) &
                     (size > visible * high) & (size > least);
        double run = turned ? turns[i] + 1 : 0;
        largest[i] = high;
        turns[i] = run;
        before[i] = z;
        change[i] = d;
        found |= run >= RUN;
    }
    return found;
}

void clsi_alternation_watch(cls_simulator *sim) {
    clsi_alternation *a = &sim->alternation;
    cls_simulate_info *info = &sim->info;
    info->alternates = watch(sim->stepper->nz, sim->state, a);
    if (!info->alternates) return;
    size_t found = longest(a, sim->stepper->nz);
    if (a->turns[found] < (double)info->alternations) return;
    info->alternating = found;
    info->alternations = (uint64_t)a->turns[found];
    info->alternation = fabs(a->change[found]);
}
