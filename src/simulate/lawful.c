/* Memory of explicit steps that keep both laws, and their loops over many numbers. The step itself is
 * lawful.inc, which exported C has, too. */
#include "base/vectors.h"
#include "expr/program.h"
#include "simulate/host.h"
#include <float.h>

/* Numbers of stepper->onward, whole cache lines. */
static size_t onward_size(const clsi_stepper *sp, size_t n_state) {
    size_t n = n_state + CLSI_MONITOR_INVARIANTS + sp->s->n_invariants;
    return (n + CLSI_VECTOR - 1) / CLSI_VECTOR * CLSI_VECTOR;
}

size_t clsi_lawful_size(const clsi_stepper *sp, size_t n_state) {
    size_t stages = (size_t)sp->scheme->tableau->stages;
    return (stages + 1) * n_state + sp->nz + 1 + cls_program_work_size(sp->ascent) +
           (sp->onward ? 2 * onward_size(sp, n_state) : 0);
}

void clsi_lawful_carve(cls_simulator *sim, double *at) {
    const clsi_stepper *sp = sim->stepper;
    clsi_lawful *l = &sim->lawful;
    l->first = at;
    if (sp->onward) {
        l->ahead = at + onward_size(sp, sim->n_state);
        at = l->ahead + onward_size(sp, sim->n_state);
    }
    l->home = sim->state;
    l->spare = sim->saved;
    l->change = at;
    l->stage = l->change + sim->n_state;
    l->slope = l->stage + (size_t)sp->scheme->tableau->stages * sim->n_state;
    l->work = l->slope + sp->nz + 1;
    if (!sp->onward) l->first = l->stage;
    cls_program_prepare(sp->ascent, l->work);
}

void clsi_lawful_measure(cls_simulator *sim, double *out) {
    const clsi_stepper *sp = sim->stepper;
    double *rates = sim->lawful.ahead;
    clsi_run_here(sim, sp->onward, sim->lawful.work_onward, rates);
    memcpy(out, rates + sp->nz, (CLSI_MONITOR_INVARIANTS + sp->s->n_invariants) * sizeof *out);
    sim->lawful.known = 1;
}

int clsi_lawful_known(cls_simulator *sim) {
    clsi_lawful *l = &sim->lawful;
    double *first = l->ahead;
    if (!l->known) return 0;
    l->ahead = l->first;
    l->first = first;
    l->known = 0;
    return 1;
}

/* ---- loops: as those of the same names in lawful.inc, with their bits, and fewer ways over memory ---- */

typedef struct terms {
    int n;
    const double *of[CLSI_MOST_STAGES];
    double weight[CLSI_MOST_STAGES];
} terms;

static terms terms_of(const cls_simulator *sim, int count, const int *which, const double *by) {
    terms t = {.n = count};
    for (int k = 0; k < count; k++) {
        t.of[k] = clsi_lawful_stage(sim, which[k]);
        t.weight[k] = by[k];
    }
    return t;
}

/* What a loop over the numbers of a state is about. */
typedef struct step_loop {
    size_t n;
    const terms *t;
    const double *from;  /* (n) */
    const double *more;  /* (terms) other weights */
    const double *owed;  /* (n) what the sums of `from` owe */
    double *to, *placed; /* (n) both: where the sum goes */
    double *begun;       /* (n) where the other sum goes */
    double *owes;        /* (n) what the sum owes */
} step_loop;

INLINE double sum_of(int n, const terms *t, size_t i) {
    double sum = t->weight[0] * t->of[0][i];
    UNROLL
    for (int k = 1; k < n; k++) sum += t->weight[k] * t->of[k][i];
    return sum;
}

#if defined(__clang__) /* which does not, and complains */
#define LOOP(n) for (size_t i = 0; i < (n); i++)
#else
#define LOOP(n) APART for (size_t i = 0; i < (n); i++)
#endif

INLINE int add_few(int m, const step_loop *l) {
    terms t = *l->t;
    const double *from = l->from;
    double *to = l->to;
    LOOP(l->n) to[i] = from[i] + sum_of(m, &t, i);
    return 1;
}

INLINE int pair_few(int m, const step_loop *l) {
    terms t = *l->t, other = *l->t;
    const double *from = l->from;
    double *to = l->to, *begun = l->begun;
    for (int k = 0; k < m; k++) other.weight[k] = l->more[k];
    LOOP(l->n) {
        double at = from[i], here = sum_of(m, &t, i), there = sum_of(m, &other, i);
        to[i] = at + here;
        begun[i] = at + there;
    }
    return 1;
}

INLINE int leave_few(int m, const step_loop *l) {
    terms t = *l->t;
    const double *from = l->from;
    double *placed = l->placed;
    int wrong = 0;
    LOOP(l->n) {
        double sum = from[i] + sum_of(m, &t, i);
        placed[i] = sum;
        wrong |= !(fabs(sum) <= DBL_MAX);
    }
    return !wrong;
}

INLINE int take_few(int m, const step_loop *l) {
    terms t = *l->t;
    const double *from = l->from, *owed = l->owed;
    double *to = l->to, *placed = l->placed, *owes = l->owes;
    int wrong = 0;
    LOOP(l->n) {
        double at = from[i], d = sum_of(m, &t, i) + owed[i], sum = at + d, taken = sum - at;
        owes[i] = (at - (sum - taken)) + (d - taken);
        to[i] = sum;
        placed[i] = sum;
        wrong |= !(fabs(sum) <= DBL_MAX);
    }
    return !wrong;
}

/* Loops over few terms are written out for each number of them. */
#define FOR_TERMS(name, few)                                                                       \
    CLONES static int name(const step_loop *l) {                                                   \
        switch (l->t->n) {                                                                         \
        case 1: return few(1, l);                                                                  \
        case 2: return few(2, l);                                                                  \
        case 3: return few(3, l);                                                                  \
        case 4: return few(4, l);                                                                  \
        case 5: return few(5, l);                                                                  \
        case 6: return few(6, l);                                                                  \
        case 7: return few(7, l);                                                                  \
        case 8: return few(8, l);                                                                  \
        default: return few(l->t->n, l);                                                           \
        }                                                                                          \
    }

FOR_TERMS(add_terms, add_few)
FOR_TERMS(pair_terms, pair_few)
FOR_TERMS(leave_terms, leave_few)
FOR_TERMS(take_terms, take_few)

enum { PARTS = 8 };

/* m products with a, side by side: what a is multiplied by is read once, and it once for all of them. */
INLINE void multiply_few(int m, size_t n, const double *a, const terms *t, double *product) {
    const terms own = *t;
    vector part[CLSI_MOST_STAGES];
    size_t i = 0;
    UNROLL
    for (int k = 0; k < m; k++) part[k] = splat(0);
    for (; i + PARTS <= n; i += PARTS) {
        vector by = load(a + i);
        UNROLL
        for (int k = 0; k < m; k++) part[k] = part[k] + by * load(own.of[k] + i);
    }
    UNROLL
    for (int k = 0; k < m; k++) {
        double sums[PARTS], sum = 0;
        store(sums, part[k]);
        for (size_t j = i; j < n; j++) sums[j % PARTS] += a[j] * own.of[k][j];
        for (size_t l = 0; l < PARTS; l++) sum += sums[l];
        product[k] = sum;
    }
}

CLONES
static void multiply(size_t n, const double *a, const terms *t, double *product) {
    switch (t->n) {
    case 4: multiply_few(4, n, a, t, product); break;
    case 5: multiply_few(5, n, a, t, product); break;
    case 6: multiply_few(6, n, a, t, product); break;
    default: multiply_few(t->n, n, a, t, product);
    }
}

void clsi_lawful_add(const cls_simulator *sim, int n, int count, const int *which, const double *by,
                     const double *from, double *to) {
    terms t = terms_of(sim, count, which, by);
    if (count)
        (void)add_terms(&(step_loop){.n = (size_t)n, .t = &t, .from = from, .to = to});
    else
        memcpy(to, from, (size_t)n * sizeof *to);
}

/* The states of a system, placed in the inputs of a program, too, and then the accounts. */
static int in_two(cls_simulator *sim, int (*loop)(const step_loop *), step_loop l, terms *t,
                  double *inputs) {
    const clsi_stepper *sp = sim->stepper;
    int good;
    l.n = sp->nz;
    l.t = t;
    l.placed = inputs;
    good = loop(&l);
    l.n = sim->n_accounts;
    l.from += sp->nz;
    l.to += sp->nz;
    l.placed = l.to;
    if (l.owes) {
        l.owed += sp->nz;
        l.owes += sp->nz;
    }
    for (int k = 0; k < t->n; k++) t->of[k] += sp->nz;
    good = loop(&l) && good;
    sim->placed = good && !sp->s->n_units ? inputs : NULL; /* directions are yet to be normalised */
    return good;
}

void clsi_lawful_pair(cls_simulator *sim, int count, const int *which, const double *by,
                      const double *more, double *to) {
    terms t = terms_of(sim, count, which, by);
    size_t nz = sim->stepper->nz;
    double *begun = sim->lawful.change;
    (void)pair_terms(
        &(step_loop){.n = nz, .t = &t, .from = sim->state, .more = more, .to = to, .begun = begun});
    for (int k = 0; k < count; k++) t.weight[k] = more[k];
    for (size_t i = nz; i < sim->n_state; i++) begun[i] = sim->state[i] + sum_of(count, &t, i);
}

/* The state is not left where nothing is to be looked at but its energy and slopes: those of the next one are where the
 * program reads it. Accounts are, and directions, which are yet to be normalised; `from` keeps what they were. */
int clsi_lawful_leave(cls_simulator *sim, int count, const int *which, const double *by,
                      const double *begun, double **from) {
    const clsi_stepper *sp = sim->stepper;
    terms t = terms_of(sim, count, which, by);
    double *inputs = clsi_program_inputs(sp->ascent, sim->lawful.work);
    memcpy(*from + sp->nz, sim->state + sp->nz, sim->n_accounts * sizeof **from);
    int good = in_two(sim, leave_terms, (step_loop){.from = begun, .to = sim->state}, &t, inputs);
    if (!sp->s->n_units) return good;
    memcpy(*from, sim->state, sp->nz * sizeof **from);
    memcpy(sim->state, inputs, sp->nz * sizeof **from);
    return good;
}

/* The state is what it was before it was left. */
static void restore(cls_simulator *sim, const double *from) {
    size_t nz = sim->stepper->nz, first = sim->stepper->s->n_units ? 0 : nz;
    memcpy(sim->state + first, from + first, (sim->n_state - first) * sizeof *from);
}

void clsi_lawful_back(cls_simulator *sim, double *from) {
    restore(sim, from);
    memcpy(from, sim->state, sim->n_kept * sizeof *from);
}

int clsi_lawful_take(cls_simulator *sim, int count, const int *which, const double *by,
                     double **from, int first) {
    const clsi_stepper *sp = sim->stepper;
    terms t = terms_of(sim, count, which, by);
    if (first) { /* they change places */
        double *was = sim->state;
        restore(sim, *from);
        sim->state = *from;
        *from = was;
    }
    step_loop l = {.from = *from,
                   .owed = *from + sim->n_state,
                   .to = sim->state,
                   .owes = sim->state + sim->n_state};
    return in_two(sim, take_terms, l, &t,
                  sp->onward ? clsi_program_inputs(sp->onward, sim->lawful.work_onward)
                             : clsi_program_inputs(sp->monitor, sim->newton.work_monitor));
}

/* Halves return to the room of their depth; of whole steps it is where the state was. */
void clsi_lawful_settle(cls_simulator *sim, double **from, int depth) {
    double *room = sim->saved + (size_t)depth * sim->n_kept;
    if (!depth) {
        sim->lawful.spare = *from;
    } else if (*from != room) {
        memcpy(*from, sim->state, sim->n_kept * sizeof *room);
        sim->state = *from;
        *from = room;
    }
}

void clsi_lawful_home(cls_simulator *sim) {
    clsi_lawful *l = &sim->lawful;
    if (!l->home || sim->state == l->home) return;
    memcpy(l->home, sim->state, sim->n_kept * sizeof(double));
    l->spare = sim->state;
    sim->state = l->home;
}

void clsi_lawful_products(const cls_simulator *sim, int n, int count, const int *which,
                          const double *by, const double *a, double *product) {
    terms t = terms_of(sim, count, which, by);
    multiply((size_t)n, a, &t, product);
}
