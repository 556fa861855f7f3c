/* Paths that go to and fro from step to step.
 *
 * Far beyond the time constant tau of a friction or a conduction a symmetric step takes a difference d
 * to (1 - x/2)/(1 + x/2) d with x = h/tau: up and down, hardly smaller. Both laws hold; the path is
 * nothing that the system does. A swing of which h is half a period looks the same. So a component
 * that turns round CLSI_ALTERNATE_RUN times on end, each time by nearly as much, is told (cls_simulate_info). Costs
 * four numbers and some comparisons for each component of the state; no allocation. Of a large state a
 * part is watched at a time, and the next one after WATCHED steps without a run: what goes to and fro
 * goes on doing so, and to look at all of it would be a tenth of a step. */
#include "base/vectors.h"
#include "simulate/simulator.h"
#include <math.h>
#include <string.h>

#include "simulate/alternate.inc"

enum { WATCHED = 32, SMALL = 512, FEW_PARTS = 6, PARTS = 8, MOST = 8192 };

/* A sixth at a time, of more than MOST * FEW_PARTS numbers MOST, and an eighth of very many. */
size_t clsi_alternation_width(size_t nz) {
    size_t sixth = (nz + FEW_PARTS - 1) / FEW_PARTS, part = (nz + PARTS - 1) / PARTS;
    if (nz <= SMALL) return nz;
    if (sixth <= MOST) return sixth > SMALL ? sixth : SMALL;
    return part > MOST ? part : MOST;
}

/* How many are watched, from a->first on. */
static size_t count(const cls_simulator *sim) {
    size_t nz = sim->stepper->nz, width = clsi_alternation_width(nz),
           left = nz - sim->alternation.first;
    return left < width ? left : width;
}

static void begin(cls_simulator *sim, size_t first) {
    clsi_alternation *a = &sim->alternation;
    a->first = first;
    a->steps = 0;
    size_t n = count(sim);
    memcpy(a->before, sim->state + first, n * sizeof(double));
    memset(a->change, 0, n * sizeof(double));
    memset(a->turns, 0, n * sizeof(double));
    for (size_t i = 0; i < n; i++) a->largest[i] = fabs(a->before[i]);
}

void clsi_alternation_start(cls_simulator *sim) {
    begin(sim, 0);
}

/* Of n the longest run, or n. */
static size_t longest(const clsi_alternation *a, size_t n) {
    size_t found = n;
    for (size_t i = 0; i < n; i++)
        if (a->turns[i] >= CLSI_ALTERNATE_RUN && (found == n || a->turns[i] > a->turns[found]))
            found = i;
    return found;
}

/* Of alternate_watch four components at once: a compiler makes branches of it. */
enum { FOUR = 4 };
typedef double four __attribute__((vector_size(FOUR * sizeof(double))));
typedef long long mask __attribute__((vector_size(FOUR * sizeof(double))));

INLINE four read_four(const double *from) {
    four v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void write_four(double *to, four v) {
    memcpy(to, &v, sizeof v);
}

INLINE four size_of(four x) {
    const mask sign = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};
    return (four)((mask)x & ~sign);
}

INLINE mask watch_four(const double *state, double *before, double *change, double *largest,
                       double *turns) {
    four z = read_four(state), d = z - read_four(before), size = size_of(d), high = size_of(z),
         was = read_four(change), most = read_four(largest);
    mask more = high > most;
    high = (four)((more & (mask)high) | (~more & (mask)most));
    mask turned = (d * was < 0) & (size >= alternate_nearly * size_of(was)) &
                  (size > alternate_visible * high) & (size > alternate_least);
    four run = (four)(turned & (mask)(read_four(turns) + 1));
    write_four(largest, high);
    write_four(turns, run);
    write_four(before, z);
    write_four(change, d);
    return run >= CLSI_ALTERNATE_RUN;
}

CLONES
static int watch(size_t nz, const double *state, const clsi_alternation *a) {
    mask found = {0};
    size_t i = 0;
    for (; i + FOUR <= nz; i += FOUR)
        found |= watch_four(state + i, a->before + i, a->change + i, a->largest + i, a->turns + i);
    clsi_alternation rest = {.before = a->before + i,
                             .change = a->change + i,
                             .largest = a->largest + i,
                             .turns = a->turns + i};
    int any = alternate_watch(nz - i, state + i, &rest);
    for (int k = 0; k < FOUR; k++) any |= found[k] != 0;
    return any;
}

int clsi_alternation_watch(cls_simulator *sim) {
    clsi_alternation *a = &sim->alternation;
    size_t n = count(sim), nz = sim->stepper->nz;
    int found = watch(n, sim->state + a->first, a);
    if (!found && n < nz && ++a->steps >= WATCHED) begin(sim, a->first + n < nz ? a->first + n : 0);
    return found;
}

void clsi_alternation_tell(cls_simulator *sim) {
    clsi_alternation *a = &sim->alternation;
    cls_simulate_info *info = &sim->info;
    size_t found = longest(a, count(sim));
    if (a->turns[found] < (double)info->alternations) return;
    info->alternating = a->first + found;
    info->alternations = (uint64_t)a->turns[found];
    info->alternation = fabs(a->change[found]);
}
