/* What newton.inc, step.inc and lawful.inc ask of where they are compiled, answered for the library: sizes and
 * limits from the compiled step, programs by the evaluator. Exported C answers the same names with
 * numbers and functions of its own (src/export/host.c): keep both in step. */
#ifndef CLSI_HOST_H
#define CLSI_HOST_H

#include "expr/program.h"
#include "simulate/simulator.h"
#include "system/sparse_lu.h"
#include <math.h>
#include <string.h>

/* instructions of a Jacobian that is not computed where an old one does */
#define CLSI_COSTLY_LENGTH 2000

/* ---- of Newton's method ---- */

#define CLSI_UNKNOWNS(nw)         ((int)(nw)->sp->n_unknowns)
#define CLSI_MEASURED(nw)         ((int)((nw)->sp->n_unknowns - (nw)->sp->n_lifted))
#define CLSI_STATES(nw)           ((int)(nw)->sp->nz) /* without accounts */
#define CLSI_BASE(nw)             ((int)(nw)->sp->n_base)
#define CLSI_POSITIVE(nw)         ((int)(nw)->sp->n_positive)
#define CLSI_GUARDED(nw)          ((int)(nw)->sp->n_guarded)
#define CLSI_GUARDED_STATE(nw, k) ((nw)->sp->guarded[k])
#define CLSI_LOW(nw, k)           ((nw)->sp->domain[2 * (k)])
#define CLSI_HIGH(nw, k)          ((nw)->sp->domain[2 * (k) + 1])
#define CLSI_OF_STATE(nw, i)      clsi_of_state((nw)->sp, i) /* CLSI_STATES or more for none */
#define CLSI_OUTSIDE(nw, i)       ((nw)->sp->outside && (nw)->sp->outside[i]) /* an environment */
/* states from here on are temperatures whose unknowns are rates of their logarithms */
#define CLSI_LOGARITHMIC(nw) clsi_logarithmic((nw)->sp)
/* the last of the states, where unknowns are rates of them and newton_by_heat may look */
#define CLSI_ENTROPIES(nw)        ((nw)->sp->heat ? (int)(nw)->sp->s->m : 0)
#define CLSI_HEAT_ROOM(nw)        ((nw)->trial_out)
#define CLSI_RUN_HEAT(nw, to)     cls_program_run((nw)->sp->heat, (nw)->work_heat, (nw)->in, to)
#define CLSI_TOLERANCE(nw)        ((nw)->sp->options.tolerance)
#define CLSI_MAX_ITERATIONS(nw)   ((nw)->sp->options.max_iterations)
#define CLSI_HEATS(nw)            ((nw)->sp->scheme->carries && (nw)->sp->s->m)
#define CLSI_COSTLY(nw)           (clsi_program_rest_length((nw)->sp->residual) > CLSI_COSTLY_LENGTH)
#define CLSI_SPARSE(nw)           ((nw)->sp->lu != NULL)
#define CLSI_ENTRIES(nw)          ((int)(nw)->sp->n_jacobian)
#define CLSI_SPARSE_FACTOR(nw, a) clsi_sparse_factor(nw, a)
#define CLSI_SPARSE_SOLVE(nw, b)  clsi_sparse_solve(nw, b)
#define CLSI_SPARSE_CHECKS(nw)    (CLSI_SPARSE(nw) && clsi_sparse_lu_checks((nw)->sp->lu))
#define CLSI_UPDATE(nw, fresh)                                                                     \
    (CLSI_SPARSE(nw) ? clsi_sparse_update(nw, fresh) : newton_update(nw, fresh))
#define CLSI_SOLVE(nw)                                                                             \
    ((nw)->krylov.room && !(nw)->careful ? clsi_chord_solve(nw) : newton_solve(nw))
#define CLSI_RUN_EARLY(nw) clsi_run_early(nw)
#define CLSI_RUN_GUARD(nw)                                                                         \
    clsi_program_late((nw)->sp->guard, (nw)->work_guard, (nw)->in, (nw)->guarded)
#define CLSI_RUN_RESIDUAL_FIRST(nw, out)                                                           \
    clsi_program_first((nw)->sp->residual, (nw)->work_residual, (nw)->in, out)
#define CLSI_RUN_RESIDUAL_REST(nw, out)                                                            \
    clsi_program_rest((nw)->sp->residual, (nw)->work_residual, (nw)->in, out)

/* Loops over more than a few numbers (wide.c). */
double clsi_wide_size(size_t n, const double *d, const double *scale);
/* newton_scale, and the size of d in it. */
double clsi_wide_scale(const clsi_newton *nw, const double *d);
int clsi_wide_finite(size_t n, const double *x);
void clsi_wide_least(const clsi_stepper *sp, const double *in, double *least);
int clsi_wide_smooth(size_t n, const double *a, const double *b, const double *c, const double *d,
                     const double *e, const double *f);
/* step_add and the state from it, without a way over memory for each: nonzero, or not finite. */
int clsi_wide_take(cls_simulator *sim);
#define CLSI_TAKES_MANY(sim)                                                                       \
    ((sim)->stepper->lu && CLSI_BOOKS(sim) && !CLSI_GUARDED(&(sim)->newton))
#define CLSI_TAKE_MANY(sim) clsi_wide_take(sim)
#define CLSI_KEEP(sim, n, to)                                                                      \
    (CLSI_TAKES_MANY(sim) ? (void)((sim)->keep = (to)) : step_copy(n, (sim)->state, to))
void clsi_wide_predict(const cls_simulator *sim, int sub, int length, double *u);
#define CLSI_PREDICT_MANY(length, a, u) ((void)(a), clsi_wide_predict(sim, sub, length, u))
#define CLSI_LEAST(nw)                                                                             \
    (CLSI_UNKNOWNS(nw) > CLSI_FEW ? clsi_wide_least((nw)->sp, (nw)->in, (nw)->least)               \
                                  : newton_least(nw, (nw)->in, (nw)->least))
#define CLSI_SMOOTH(k, a)                                                                          \
    ((k) > CLSI_FEW ? clsi_wide_smooth((size_t)(k), a, b, c, d, e, clsi_history_at(sim, sub, 5))   \
                    : step_is_smooth(k, a))
#define CLSI_FINITE(x, first, n)                                                                   \
    ((n) > CLSI_FEW ? clsi_wide_finite((size_t)(n), (x) + (first)) : newton_finite(x, first, n))
#define CLSI_SIZE(nw, d)                                                                           \
    (CLSI_MEASURED(nw) > CLSI_FEW ? clsi_wide_size((size_t)CLSI_MEASURED(nw), d, (nw)->scale)      \
                                  : newton_size(nw, d))

static inline int clsi_of_state(const clsi_stepper *sp, int i) {
    size_t of = sp->of_state[i];
    return of < sp->nz ? (int)of : (int)sp->nz;
}

static inline int clsi_logarithmic(const clsi_stepper *sp) {
    return (int)(sp->s->form->kind == CLSI_FORM_THERMAL ? sp->s->nq + sp->s->n : sp->nz);
}

static inline int clsi_sparse_factor(clsi_newton *nw, const double *a) {
    if (nw->krylov.room) return clsi_krylov_factor(&nw->krylov, nw->sp->lu, a, nw->work_lu);
    return clsi_sparse_lu_factor_for(nw->sp->lu, a, nw->out, nw->work_lu) != 0;
}

static inline void clsi_sparse_solve(clsi_newton *nw, double *b) {
    if (nw->krylov.room)
        clsi_krylov_solve(&nw->krylov, nw->sp->lu, nw->work_lu, nw->scale, b);
    else
        clsi_sparse_lu_solve(nw->sp->lu, nw->work_lu, b);
}

/* As newton_update. */
static inline double clsi_sparse_update(clsi_newton *nw, int fresh) {
    if (fresh && !nw->krylov.room)
        clsi_sparse_lu_finish(nw->sp->lu, nw->work_lu, nw->out, nw->d);
    else
        memcpy(nw->d, fresh ? nw->out : nw->trial_d, nw->sp->n_unknowns * sizeof(double));
    if (fresh && nw->krylov.room) clsi_sparse_solve(nw, nw->d);
    return clsi_wide_scale(nw, nw->d);
}

/* The monitor has computed functions of the state already, if it is the one that was measured last. */
static inline void clsi_run_early(clsi_newton *nw) {
    const clsi_stepper *sp = nw->sp;
    if (sp->guard) clsi_program_early(sp->guard, nw->work_guard, nw->in);
    if (nw->work_monitor)
        clsi_program_early_from(sp->residual, nw->work_residual, nw->in, sp->monitor,
                                nw->work_monitor, sp->nz + 1);
    else
        clsi_program_early(sp->residual, nw->work_residual, nw->in);
}

/* ---- of a motion ---- */

#define CLSI_STATE_COUNT(sim) ((int)(sim)->n_state) /* with accounts: work, heat, ... */
/* work and heat that came in so far; inputs over [t, t + h] into the base inputs */
/* solutions of former steps; of many unknowns they are a ring, and none of them is moved */
#define CLSI_AGE(k)                clsi_history_age(sim, sub, k) /* numbers to be moved */
#define CLSI_HISTORY_OF(sim)       clsi_history_length((sim)->stepper)
#define CLSI_PAST(i)               clsi_history_at(sim, sub, i)
#define CLSI_RECEIVED(sim)         clsi_received((sim)->stepper->s, (sim)->state)
#define CLSI_SET_INPUTS(sim, t, h) clsi_set_inputs(sim, t, h)
#define CLSI_TIME(sim)             cls_simulator_time(sim)
#define CLSI_STEP(sim)             ((sim)->h)
#define CLSI_MAX_HALVINGS(sim)     ((sim)->stepper->options.max_halvings)
#define CLSI_STAGES_OF(sim)        ((int)(sim)->stepper->scheme->n_composition)
#define CLSI_STAGE_OF(sim, i)      ((sim)->stepper->scheme->composition[i])
#define CLSI_OWED(sim)             ((int)(sim)->stepper->n_owed)
#define CLSI_BOOKS(sim)            ((sim)->stepper->books)
#define CLSI_CARRIES(sim)          ((sim)->stepper->scheme->carries)
#define CLSI_NORMALISE(sim)        clsi_system_normalise((sim)->stepper->s, (sim)->state)
#define CLSI_RUN_GUESS(sim)        clsi_run_guess(sim)
#define CLSI_RUN_NEXT(sim)         clsi_run_next(sim)
#define CLSI_RUN_NEXT_HERE(sim)    clsi_run_next(sim)
#define CLSI_RUN_MONITOR(s, to)    clsi_run_monitor(s, to)
#define CLSI_RUN_SCALE(sim, to)    clsi_run_scale(sim, to)
#define CLSI_ALTERNATES(sim)       clsi_alternation_watch(sim)

static inline void clsi_set_inputs(cls_simulator *sim, double t, double h) {
    const clsi_stepper *sp = sim->stepper;
    double *u = sim->newton.in + sp->nz + 4 + sp->n_owed;
    if (sim->signal) clsi_signal_over(sim->signal, t, h, u, u + sp->nu);
}

static inline void clsi_run_guess(cls_simulator *sim) {
    double *in = sim->newton.in;
    cls_program_run(sim->stepper->guess, sim->newton.work_guess, in, in + sim->stepper->n_base);
}

/* `next` over the inputs of the residual, whose results nobody wants any more. */
void clsi_run_next_there(clsi_newton *nw, double *out);

static inline void clsi_run_next(cls_simulator *sim) {
    clsi_newton *nw = &sim->newton;
    if (nw->borrowed) {
        clsi_run_next_there(nw, sim->next_out);
        return;
    }
    clsi_program_early(sim->stepper->next, nw->work_next, nw->in);
    clsi_program_late(sim->stepper->next, nw->work_next, nw->in, sim->next_out);
}

/* A program over (z, received, t, inputs) at the present state. They go where it keeps them: the next step
 * compares (clsi_run_early). Who made the state may have put it there. */
static inline void clsi_run_here(cls_simulator *sim, const cls_program *p, double *work,
                                 double *out) {
    const clsi_stepper *sp = sim->stepper;
    double *in = clsi_program_inputs(p, work);
    if (in != sim->placed) memcpy(in, sim->state, sp->nz * sizeof *in);
    sim->placed = NULL;
    in[sp->nz] = clsi_received(sp->s, sim->state);
    in[sp->nz + 1] = cls_simulator_time(sim) + sim->ahead;
    if (sim->signal) clsi_signal_at(sim->signal, in[sp->nz + 1], in + sp->nz + 2);
    cls_program_run(p, work, in, out);
}

static inline void clsi_run_scale(cls_simulator *sim, double *out) {
    clsi_run_here(sim, sim->stepper->scale, sim->newton.work_scale, out);
}

/* Of large explicit steps, with the rates there (lawful.c); whether those of the state are known so, which are the first
 * stage then. */
void clsi_lawful_measure(cls_simulator *sim, double *out);
int clsi_lawful_known(cls_simulator *sim);

/* The entropy is that of the system and of the outside. Energies that came in are part of what the
 * round-off of the energy is measured by. */
static inline void clsi_run_monitor(cls_simulator *sim, double *out) {
    const cls_system *s = sim->stepper->s;
    if (sim->stepper->onward) {
        clsi_lawful_measure(sim, out);
        return;
    }
    clsi_run_here(sim, sim->stepper->monitor, sim->newton.work_monitor, out);
    if (!sim->n_accounts) return;
    double outside = clsi_outside(s, sim->state);
    out[CLSI_MONITOR_ENTROPY] += outside;
    out[CLSI_MONITOR_SIZE] += fabs(outside);
    sim->energy_scale = fmax(sim->energy_scale, fabs(clsi_received(s, sim->state)));
}

/* ---- of explicit steps that keep both laws (lawful.inc) ---- */

#define CLSI_STAGE_COUNT(sim) ((sim)->stepper->scheme->tableau->stages)
#define CLSI_STAGE_ROW(sim, i)                                                                     \
    ((i) < CLSI_STAGE_COUNT(sim) ? (sim)->stepper->scheme->tableau->a + (i)*CLSI_STAGE_COUNT(sim)  \
                                 : CLSI_STAGE_WEIGHTS(sim))
#define CLSI_STAGE_WEIGHTS(sim)  ((sim)->stepper->scheme->tableau->b)
#define CLSI_STAGE_TIME(sim, i)  ((sim)->stepper->scheme->tableau->c[i])
#define CLSI_INPUTS(sim)         ((int)(sim)->stepper->nu)
#define CLSI_INPUT_FIRST(sim, k) clsi_input_at(sim, k)
#define CLSI_INPUT_LAST(sim, k)  clsi_input_at(sim, CLSI_INPUTS(sim) + (k))
/* the first of the accounts: energies that come in */
#define CLSI_RECEIVERS(sim)                                                                        \
    (((sim)->stepper->s->has_work != 0) + ((sim)->stepper->s->has_heat != 0))
/* where a stage reads its base inputs */
#define CLSI_STAGE_ROOM(sim) clsi_program_inputs((sim)->stepper->next, (sim)->newton.work_next)
#define CLSI_RUN_STAGE(sim, in, to)                                                                \
    cls_program_run((sim)->stepper->next, (sim)->newton.work_next, in, to)
#define CLSI_RUN_ASCENT(sim, to) clsi_run_here(sim, (sim)->stepper->ascent, (sim)->lawful.work, to)
#define CLSI_LAWFUL_WIDE(sim)    (CLSI_STATE_COUNT(sim) > CLSI_FEW)
#define CLSI_SUM_OF(t)           (t)->count, (t)->which, (t)->by
#define CLSI_LAWFUL_ADD(sim, n, t, from, to)                                                       \
    (CLSI_LAWFUL_WIDE(sim) ? clsi_lawful_add(sim, n, CLSI_SUM_OF(t), from, to)                     \
                           : lawful_add(sim, n, t, from, to))
#define CLSI_LAWFUL_PAIR(sim, t, other, to)                                                        \
    (CLSI_LAWFUL_WIDE(sim) ? clsi_lawful_pair(sim, CLSI_SUM_OF(t), (other)->by, to)                \
                           : lawful_pair(sim, t, other, to))
#define CLSI_LAWFUL_LEAVE(sim, t, begun, from)                                                     \
    (CLSI_LAWFUL_WIDE(sim) ? clsi_lawful_leave(sim, CLSI_SUM_OF(t), begun, from)                   \
                           : lawful_leave(sim, t, begun, *(from)))
#define CLSI_LAWFUL_TAKE(sim, t, from, first)                                                      \
    (CLSI_LAWFUL_WIDE(sim) ? clsi_lawful_take(sim, CLSI_SUM_OF(t), from, first)                    \
                           : lawful_take(sim, t, *(from), first))
#define CLSI_LAWFUL_BACK(sim, from)                                                                \
    (CLSI_LAWFUL_WIDE(sim) ? clsi_lawful_back(sim, *(from)) : lawful_back(sim, *(from)))
/* where a state is that was only placed */
#define CLSI_LAWFUL_HERE(sim) ((sim)->placed ? (sim)->placed : (sim)->state)
/* of the first attempt what the state changes places with */
#define CLSI_LAWFUL_ROOM(sim, depth, n)                                                            \
    ((depth) ? (sim)->saved + (size_t)((depth) * (n)) : (sim)->lawful.spare)
#define CLSI_LAWFUL_SETTLE(sim, from, depth) clsi_lawful_settle(sim, from, depth)
#define CLSI_LAWFUL_LOST(sim)                ((sim)->placed = NULL, (sim)->lawful.known = 0)
#define CLSI_LAWFUL_KNOWN(sim)               clsi_lawful_known(sim)
#define CLSI_LAWFUL_STAGE(sim, i)            clsi_lawful_stage(sim, i)
#define CLSI_LAWFUL_PRODUCTS(sim, n, t, a, product)                                                \
    (CLSI_LAWFUL_WIDE(sim) ? clsi_lawful_products(sim, n, CLSI_SUM_OF(t), a, product)              \
                           : lawful_products(sim, n, t, a, product))

#define CLSI_TANGENT(sim, slope) clsi_tangent(sim, slope)

/* Of slopes at the state what moves directions and attitudes, not what lengthens them. */
static inline void clsi_tangent(const cls_simulator *sim, double *slope) {
    const cls_system *s = sim->stepper->s;
    for (size_t k = 0; k < s->n_units; k++) {
        size_t first = s->units[k].first, end = first + s->units[k].count;
        double out = 0;
        for (size_t i = first; i < end; i++) out += slope[i] * sim->state[i];
        for (size_t i = first; i < end; i++) slope[i] -= out * sim->state[i];
    }
}

/* Loops over more than a few numbers (lawful.c), of the same names in lawful.inc. */
void clsi_lawful_add(const cls_simulator *sim, int n, int count, const int *which, const double *by,
                     const double *from, double *to);
void clsi_lawful_pair(cls_simulator *sim, int count, const int *which, const double *by,
                      const double *more, double *to);
int clsi_lawful_leave(cls_simulator *sim, int count, const int *which, const double *by,
                      const double *begun, double **from);
int clsi_lawful_take(cls_simulator *sim, int count, const int *which, const double *by,
                     double **from, int first);
void clsi_lawful_back(cls_simulator *sim, double *from);
void clsi_lawful_settle(cls_simulator *sim, double **from, int depth);
void clsi_lawful_products(const cls_simulator *sim, int n, int count, const int *which,
                          const double *by, const double *a, double *product);

/* Of the base inputs of the step. */
static inline double clsi_input_at(const cls_simulator *sim, int k) {
    return sim->newton.in[sim->stepper->nz + 4 + sim->stepper->n_owed + (size_t)k];
}

#endif
