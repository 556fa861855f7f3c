/* Training: restarts, early stopping, the choice of the result, checkpoints.
 *
 * The optimiser lowers the training loss. What counts is how well the model predicts, so the result
 * is chosen by two measures the optimiser does not see: the residual on validation trajectories
 * (`validation`, after every report) and simulations compared with data (`rollout`, at reports 8,
 * 16, 32, ... and at the end of a restart, because building and simulating a model costs as much
 * as many iterations). Within a restart the candidate is the iterate of least validation loss. It
 * replaces the result so far when its rollout is not clearly worse (a factor of 2) and its
 * validation loss is less, or when its rollout is clearly better; a candidate whose rollout fails
 * never replaces one that works.
 *
 * With `last` none of this decides: the result is where the optimiser ends, as papers have it.
 *
 * A restart ends when the optimiser does, when `patience` reports brought no better validation, or
 * when three checks in a row had a clearly worse rollout than the best of this restart.
 *
 * All of this state, and the optimiser's, goes into the checkpoint after a report; everything
 * random comes from seeds in it. Resumed, the training takes the same decisions with the same bits.
 * Time does not: a training that a time limit stops is repeated only by resuming it. */
#include "solve/train.h"
#include "base/base.h"
#include "solve/checkpoint.h"
#include "solve/optimize.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_CHECK = 8, MOST_WORSE = 3, MOST_RESTARTS = 1000000 };
static const double CLEARLY = 2; /* factor between rollout errors */

/* Parameters and how they were judged. */
typedef struct candidate {
    double *theta; /* (n) */
    double validation, rollout;
    size_t restart;
} candidate;

typedef struct training {
    const clsi_training *t;
    size_t n;
    candidate now, result; /* least validation of this restart; the best of all that were checked */
    size_t restart;
    uint64_t reports, next_check, stale; /* of this restart; reports without better validation */
    size_t worse;                        /* checks in a row with a clearly worse rollout */
    double best_rollout;                 /* of this restart */
    uint64_t before, iterations;         /* of the restarts before, of this one */
    size_t early;
    int checked; /* `now` has been judged */
    int owed;    /* a check was due and broken off: the first thing to do when resumed */
    int over;    /* this restart is to end */
    int stopped;
    double written; /* when the last checkpoint was */
    cls_status status;
    cls_error *error;
} training;

/* Everything that later decisions depend on. */
static void state(training *s, clsi_archive *a) {
    if (s->t->keep) s->t->keep(s->t->context, a);
    candidate *both[] = {&s->now, &s->result};
    for (int i = 0; i < 2; i++) {
        clsi_archive_doubles(a, s->n, both[i]->theta);
        clsi_archive_doubles(a, 1, &both[i]->validation);
        clsi_archive_doubles(a, 1, &both[i]->rollout);
        clsi_archive_size(a, MOST_RESTARTS, &both[i]->restart);
    }
    clsi_archive_size(a, MOST_RESTARTS, &s->restart);
    clsi_archive_word(a, &s->reports);
    clsi_archive_word(a, &s->next_check);
    clsi_archive_word(a, &s->stale);
    clsi_archive_word(a, &s->before);
    clsi_archive_word(a, &s->iterations);
    clsi_archive_size(a, MOST_WORSE, &s->worse);
    clsi_archive_doubles(a, 1, &s->best_rollout);
    clsi_archive_size(a, MOST_RESTARTS, &s->early);
    clsi_archive_flag(a, &s->checked);
    clsi_archive_flag(a, &s->owed);
    clsi_archive_flag(a, &s->over);
}

/* ---- judging ---- */

static void copy(size_t n, candidate *to, const candidate *from) {
    double *theta = to->theta;
    memcpy(theta, from->theta, n * sizeof *theta);
    *to = *from;
    to->theta = theta;
}

/* An empty candidate has an infinite validation loss. Rollouts that were not made are NAN and
 * decide nothing. */
static int better(const candidate *a, const candidate *b) {
    if (a->rollout > CLEARLY * b->rollout) return 0;
    if (CLEARLY * a->rollout < b->rollout) return 1;
    return a->validation < b->validation;
}

static void take(training *s) {
    if (!isfinite(s->result.validation) || s->t->last || better(&s->now, &s->result))
        copy(s->n, &s->result, &s->now);
}

/* Rolls the candidate out, unless it was, and lets it replace the result. 0: broken off. */
static int check(training *s) {
    const clsi_training *t = s->t;
    if (s->checked || !isfinite(s->now.validation)) return 1;
    double rollout = t->rollout ? t->rollout(t->context, s->now.theta) : NAN;
    if (rollout < 0) return 0;
    s->checked = 1;
    s->now.rollout = rollout;
    s->worse = rollout > CLEARLY * s->best_rollout ? s->worse + 1 : 0;
    s->best_rollout = fmin(s->best_rollout, rollout);
    take(s);
    return 1;
}

/* The check that is due, and whether the restart goes on. */
static void settle(training *s) {
    const clsi_training *t = s->t;
    s->owed = s->owed && !check(s);
    if (s->owed) return;
    s->over = (t->patience && s->stale >= t->patience) || s->worse >= MOST_WORSE;
    s->early += s->over != 0;
}

/* Non-zero: better than what this restart had, or simply later where the last is wanted. */
static int consider(training *s, const double *theta, double validation) {
    if (!(validation < (s->t->last ? INFINITY : s->now.validation))) return 0;
    memcpy(s->now.theta, theta, s->n * sizeof *theta);
    s->now.validation = validation;
    s->now.rollout = NAN;
    s->now.restart = s->restart;
    s->checked = 0;
    return 1;
}

/* ---- progress ---- */

static int is_first(const clsi_training *t) {
    return !t->team || t->team->rank == 0;
}

static void write_checkpoint(training *s, clsi_run *run) {
    const clsi_training *t = s->t;
    clsi_archive own = {0}, other = {0};
    state(s, &own);
    clsi_run_save(run, &other);
    s->status = clsi_checkpoint_write(t->checkpoint, t->identity, &own, &other, s->error);
    s->written = clsi_now();
    clsi_archive_clear(&own);
    clsi_archive_clear(&other);
}

/* The loss that stands for validation when there is nothing to validate with is the training's. */
static double validation_of(const clsi_training *t, const double *theta, double loss) {
    double validation = t->validate ? t->validate(t->context, theta) : loss;
    return isfinite(validation) ? validation : INFINITY;
}

/* Clocks and disks differ: whether to go on is decided by all. */
static void agree(training *s) {
    const cls_team *team = s->t->team;
    if (!team || team->ranks < 2) return;
    unsigned char *all = clsi_calloc(team->ranks, 1), any = 0;
    if (!all) s->status = clsi_no_memory(s->error);
    if (!all) return; /* the others wait: the program ends them */
    all[team->rank] = (unsigned char)((s->stopped != 0) | (s->status != CLS_OK) << 1);
    cls_status shared =
        team->share(team->context, "decision", NULL, team->ranks, 1, all, 0, s->error);
    for (size_t r = 0; r < team->ranks; r++) any |= all[r];
    s->stopped = any & 1;
    if (any & 2) shared = cls_team_agree(team, s->status, s->error);
    if (shared != CLS_OK) s->status = shared;
    free(all);
}

static int report_progress(void *context, const clsi_progress *p, const double *theta) {
    training *s = context;
    const clsi_training *t = s->t;
    double validation = validation_of(t, theta, p->loss);
    s->iterations = p->iteration;
    s->stale = consider(s, theta, validation) ? 0 : s->stale + 1;
    if (++s->reports == s->next_check) {
        s->next_check *= 2;
        s->owed = !t->last; /* else it would decide nothing */
    }
    settle(s);
    clsi_training_progress told = {s->restart, s->before + p->iteration, p->loss,
                                   t->validate ? validation : NAN, 0};
    s->stopped = (t->progress && t->progress(t->context, &told)) || s->owed;
    agree(s);
    int due = s->stopped || clsi_now() - s->written >= t->checkpoint_every;
    if (t->checkpoint && due && is_first(t)) write_checkpoint(s, p->run);
    if (s->stopped) agree(s); /* whether it could be written */
    return s->over || s->stopped || s->status != CLS_OK;
}

/* An epoch of a wide network takes seconds; who interrupts does not wait for its end. Ranks of a team
 * decide together, at reports. */
static int stops_between(void *context, const clsi_progress *p) {
    training *s = context;
    const clsi_training *t = s->t;
    if (!t->progress || (t->team && t->team->ranks > 1)) return 0;
    clsi_training_progress told = {s->restart, s->before + p->iteration, p->loss, NAN, 1};
    s->stopped = t->progress(t->context, &told);
    if (!s->stopped) return 0;
    s->iterations = p->iteration;
    if (t->checkpoint) write_checkpoint(s, p->run);
    return 1;
}

/* ---- restarts ---- */

/* The first restart has the seed itself; the others are far away (the step of splitmix64). */
static uint64_t seed_of(const clsi_training *t, size_t restart) {
    return t->seed + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)restart;
}

static void begin_restart(training *s) {
    s->now.validation = s->best_rollout = INFINITY;
    s->now.rollout = NAN;
    s->reports = s->stale = s->iterations = 0;
    s->worse = 0;
    s->next_check = FIRST_CHECK;
    s->checked = s->over = s->owed = 0;
}

/* One minimisation, from the beginning or from the optimiser's state. A start without finite
 * residuals is not the end while there are other restarts. */
static cls_status run_restart(training *s, clsi_archive *resume, double *theta,
                              clsi_training_info *info) {
    const clsi_training *t = s->t;
    clsi_optimize_info found = {.reason = "stopped"};
    clsi_optimize_options o = {.max_iterations = t->max_iterations,
                               .seed = seed_of(t, s->restart),
                               .batch = t->batch,
                               .rate = t->rate,
                               .last_rate = t->last_rate,
                               .decay = t->decay,
                               .constant_rate = t->constant_rate,
                               .last = t->last,
                               .progress = report_progress,
                               .stop = stops_between,
                               .context = s,
                               .resume = resume};
    cls_status status = CLS_OK;
    if (s->owed) settle(s);
    s->stopped = s->owed; /* there is no time for it now either */
    if (!s->over &&
        !s->stopped) { /* it is when the checkpoint was written at the end of a restart */
        status = t->optimizer->minimize(t->problem, &o, theta, &found, s->error);
        s->iterations = found.iterations;
    }
    info->reason = found.reason;
    s->before += s->iterations;
    if (status == CLS_NUMERIC) return CLS_OK;
    if (status == CLS_OK) status = s->status;
    if (status == CLS_OK && !s->reports)
        consider(s, theta, validation_of(t, theta, found.final_loss)); /* nothing was to be done */
    /* stopped, without the time to roll it out: validation alone speaks for it */
    if (status == CLS_OK && !check(s)) take(s);
    return status;
}

static cls_status run_all(training *s, clsi_archive *resume, double *theta,
                          clsi_training_info *info) {
    const clsi_training *t = s->t;
    size_t restarts = t->restarts ? t->restarts : 1;
    cls_status status = CLS_OK;
    for (; s->restart < restarts && !s->stopped && status == CLS_OK; s->restart++) {
        if (!resume) {
            begin_restart(s);
            t->initialise(t->context, seed_of(t, s->restart), theta);
        }
        status = run_restart(s, resume, theta, info);
        resume = NULL;
    }
    if (status == CLS_OK && !isfinite(s->result.validation))
        return clsi_fail(s->error, CLS_NUMERIC,
                         "the residuals of training or validation are not finite in any of %zu "
                         "restarts; choose another seed, or scale the data",
                         restarts);
    return status;
}

/* ---- all together ---- */

/* Fills the state from the file; resume->values stays NULL when there is none. */
static cls_status read_checkpoint(training *s, clsi_archive *resume) {
    const clsi_training *t = s->t;
    clsi_archive own;
    int found;
    cls_status status =
        clsi_checkpoint_read(t->checkpoint, t->identity, &found, &own, resume, s->error);
    if (status != CLS_OK || !found) return status;
    state(s, &own);
    int whole = clsi_archive_whole(&own);
    clsi_archive_clear(&own);
    if (whole) return CLS_OK;
    return clsi_fail(s->error, CLS_SYSTEM, "%s is damaged; learn without resuming", t->checkpoint);
}

static void finish(training *s, double *theta, clsi_training_info *info) {
    memcpy(theta, s->result.theta, s->n * sizeof *theta);
    info->iterations = s->before;
    info->restart = s->result.restart;
    info->validation = s->t->validate ? s->result.validation : NAN;
    info->rollout = s->result.rollout;
    info->stopped = s->stopped;
    info->early = (int)s->early;
    if (s->t->checkpoint && !s->stopped && is_first(s->t)) unlink(s->t->checkpoint);
}

cls_status clsi_train(const clsi_training *t, double *theta, clsi_training_info *info,
                      cls_error *error) {
    training s = {.t = t, .n = t->problem->n_parameters, .error = error, .written = clsi_now()};
    clsi_archive resume = {0};
    *info = (clsi_training_info){.reason = "stopped"};
    s.now.theta = clsi_calloc(s.n + 1, sizeof(double));
    s.result.theta = clsi_calloc(s.n + 1, sizeof(double));
    s.result.validation = INFINITY;
    s.result.rollout = NAN;
    cls_status status = s.now.theta && s.result.theta ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK && t->resume && t->checkpoint) status = read_checkpoint(&s, &resume);
    status = cls_team_agree(t->team, status, error); /* before anybody goes on and removes it */
    if (status == CLS_OK) status = run_all(&s, resume.values ? &resume : NULL, theta, info);
    if (status == CLS_OK) finish(&s, theta, info);
    clsi_archive_clear(&resume);
    free(s.now.theta);
    free(s.result.theta);
    return status;
}
