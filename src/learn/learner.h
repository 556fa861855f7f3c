/* learn, inside: one call of cls_learn, from data to model, for the files that work on it.
 *
 *   ways.c     what is to be done, in order
 *   degree.c   unknowns and residual, with as many terms as the data can tell
 *   solve.c    the fit of the residual: one solve (linear.c) or iterations
 *   noisy.c    noisy data (noisy.h): terms that the noise allows, by multiple shooting from that fit
 *   fit.c      the fits that go on from there: shooting, derivatives
 *   learner.c   the model at the end */
#ifndef CLSI_LEARNER_H
#define CLSI_LEARNER_H

#include "learn/learn.h"
#include "solve/train.h"
#include <jansson.h>

/* What the loss was after so many iterations, thinned (curve.c). */
enum { CLSI_LOSS_POINTS = 64 };
typedef struct clsi_loss_curve {
    size_t n;
    uint64_t seen, stride;
    int open; /* the last one stands behind the n that are kept */
    double at[CLSI_LOSS_POINTS], loss[CLSI_LOSS_POINTS];
    double validation[CLSI_LOSS_POINTS]; /* -1: none */
} clsi_loss_curve;

typedef struct clsi_learner {
    cls_learn_options *o; /* a copy */
    const cls_system *system;
    const cls_assignments *set;
    struct clsi_open *open; /* parameters that are learned beside the parts; NULL: none */
    clsi_points *points;
    clsi_choices choices;
    clsi_unknowns *unknowns;
    clsi_residual *residual;
    clsi_anchors *anchors;
    double *theta;
    size_t n_specs;
    char ***specs; /* (n_specs, parts of the options) terms that were tried (noisy_natural.c) */
    int draft;     /* a choice is being made: outliers have their weights at the end */
    double gain;   /* of what was chosen, by the usual error in validation */
    int staged;    /* energies, then what exchanges heat: two solves (stages.c) */
    int started_affine; /* theta was solved for by a rule that is affine, before iterations */
    const char *taken;  /* the loss that was chosen where none was given; NULL: the residual */
    double *begin; /* what the fit of the residual left, for the fits after it: see clsi_begin */
    cls_learn_info *info;
    double started;
    int no_memory;  /* in a rollout, whose answer is a number */
    uint64_t trial; /* at most so many iterations, to compare schemes (schemes.c); 0: no trial */
    int own_iterations;     /* o->max_iterations was chosen here, not by the caller */
    double pressed;         /* seconds: when a wish to stop was first seen; 0: there is none */
    int alone;              /* every process solves by itself: a sample is not worth sharing */
    int long_heat;          /* temperatures are noisy: balances of heat over long times (pool.c) */
    struct clsi_pool *pool; /* while they are made */
    const clsi_residual *whole; /* of every window, where the points have some of them; else NULL */
    struct clsi_stream *stream; /* all rows, where the points are a sample of them; else NULL */
    struct clsi_stream *beyond; /* the same, for iterations (feed.c) */
    clsi_loss_curve curve;      /* of the last iterations */
    json_t *spread; /* covariance of coefficients, then of parameters; NULL: not known */
    json_t *split;  /* where rows were kept back, for the record; NULL: nowhere */
    cls_error *error;
} clsi_learner;

/* ---- curve.c ---- */
void clsi_loss_curve_clear(clsi_loss_curve *c);
void clsi_loss_curve_add(clsi_loss_curve *c, double iteration, double loss, double validation);
void clsi_loss_curve_keep(clsi_loss_curve *c, struct clsi_archive *a);
void clsi_learner_keep_curve(void *learner, struct clsi_archive *a);
void clsi_loss_curve_record(const clsi_loss_curve *c, json_t **to);

/* The head of the checkpoints of fits that go on from the fit of the residual: what it was told to
 * have done, and its parameters behind that. Resumed, it is not made again. */
enum {
    CLSI_BEGIN_ITERATIONS,
    CLSI_BEGIN_ROLLOUT,
    CLSI_BEGIN_RESTART,
    CLSI_BEGIN_EARLY,
    CLSI_BEGIN
};

/* ---- options.c ---- */

/* Fails when an option is given that means nothing for the loss, or for the optimiser that the
 * residual is fitted by. */
struct clsi_learner;
cls_status clsi_options_mean(const struct clsi_learner *w, const char *optimizer, cls_error *error);
/* For the provenance of a model, a new object. */
json_t *clsi_options_asked(const cls_learn_options *o, const char *optimizer);

int clsi_is_loss(const clsi_learner *w, const char *name);

/* ---- degree.c ---- */

/* Makes what is to be learned (unknowns, residual, anchors) from points, and solves for it. */
cls_status clsi_learner_fit(clsi_learner *w);
/* Residual and anchors of the unknowns there are, and room for their parameters. */
cls_status clsi_learner_prepare(clsi_learner *w);
/* The same with the choices of logs.c that validation prefers. */
cls_status clsi_learner_choose(clsi_learner *w);
/* Frees all that but the points. */
void clsi_learner_forget(clsi_learner *w);

/* ---- solve.c ---- */

/* Root mean square of the scaled residual over the windows [first, last). */
cls_status clsi_learner_loss(clsi_learner *w, const double *theta, size_t first, size_t last,
                             double *loss);
cls_status clsi_learner_solve(clsi_learner *w);
/* Frictions and conductances are made positive by form, with a floor far below their size. */
cls_status clsi_learner_make_positive(clsi_learner *w, const double *theta);
/* (k G, k F) is as good as (G, F): the scale condition is met exactly. */
cls_status clsi_learner_rescale(clsi_learner *w);
/* The system with these parameters, in the form the parts have now. */
cls_status clsi_learner_build(const clsi_learner *w, const double *theta, cls_system **out,
                              cls_error *error);
/* Simulates with these parameters. */
double clsi_learner_rollout(void *context, const double *theta);
/* Rank 0 of a team, or alone. */
int clsi_learner_is_first(const clsi_learner *w);
/* The number that rank 0 has. */
double clsi_learner_tell_all(const clsi_learner *w, double x);
/* The time is over, or the user wants to stop, for a second already. */
int clsi_learner_hurry(void *context);
int clsi_learner_progress(void *context, const clsi_training_progress *p);
cls_status clsi_learner_check_from(const clsi_learner *w);
/* What a checkpoint belongs to: settings as words, data and system as a hash. `what` is the
 * optimiser of the residual, or the loss of the fit after it. */
char *clsi_learner_identity(const clsi_learner *w, const char *what);

/* ---- linear.c ---- */

/* Theta by one least-squares solve, or by that of the energies and that of what exchanges heat. */
cls_status clsi_learner_solve_at_once(clsi_learner *w);
/* All rows alike, as the papers have them. */
cls_status clsi_learner_weights(clsi_learner *w);

/* ---- noisy.c ---- */

/* Are the data so noisy, and is what is unknown such, that multiple shooting is to be taken? */
int clsi_learner_is_noisy(const clsi_learner *w);
/* Can the system be simulated while it is learned, for what its masses are? */
int clsi_noisy_moves(const clsi_learner *w);
/* The points are positions, and so noisy that velocities are better found as hidden states. */
int clsi_learner_has_noisy_positions(const clsi_learner *w);
/* Is it simulations that this can be learned by and nothing else: inputs, or parameters beside parts? */
int clsi_learner_is_recorded(const clsi_learner *w);
/* In the place of clsi_learner_fit; not *taken: it is not for a basis as large as the one asked for.
 */
cls_status clsi_learner_fit_noisy(clsi_learner *w, size_t n_tables, const cls_table *const *tables,
                                  const char *const *names, int *taken);

/* ---- bands.c ---- */

/* Terms that were left out of what was learned: n directions over the coefficients of the unknowns `all`, of
 * which each moves the functions by about itself. */
typedef struct clsi_dropped {
    size_t n, stride;
    const clsi_unknowns *all;
    double *direction; /* (n, stride) */
} clsi_dropped;

/* Functions of the report: curves with errors, from the covariance (n, n) of what was learned, the standard
 * errors (n) of its coefficients and what was left out of it (NULL: nothing). */
cls_status clsi_learner_bands(clsi_learner *w, size_t n, const double *covariance,
                              const double *errors, const clsi_dropped *dropped,
                              cls_learn_report *report, cls_error *error);

/* ---- residual_doubt.c ---- */

/* What rows of the residual say about its coefficients (P), by blocks of neighbouring windows. */
enum { CLSI_SCORES_BLOCKS = 24, CLSI_SCORES_MOST = 160 };
typedef struct clsi_scores {
    double *S, *g;  /* (P, P) J^T J; (BLOCKS, P) J^T r of each block; zero before */
    double squares; /* of the residuals, */
    size_t rows, windows;
} clsi_scores;
cls_status clsi_learner_scores(clsi_learner *w, clsi_scores *s);

/* The report of a fit of the residual: why it was taken, how sure the functions are. */
cls_status clsi_learner_report_residual(clsi_learner *w, cls_learn_report **out);

/* ---- thin.c ---- */

/* Which terms (n_theta) explain more than noise would, from the solution with all of them. */
cls_status clsi_learner_worthy(clsi_learner *w, unsigned char *keep);
/* Fewer terms, where rows were noisy and smoothed. */
cls_status clsi_learner_thin(clsi_learner *w);

/* ---- held.c: rows kept back from a fit of the residual ---- */

cls_status clsi_held_create(size_t n_tables, const cls_table *const *tables,
                            const cls_learn_options *o, cls_table ***out, cls_error *error);
void clsi_held_free(size_t n_tables, cls_table ***held);
/* Scores of the model on them, into the learner's report. */
cls_status clsi_held_score(clsi_learner *w, const cls_system *model, size_t n_tables,
                           const cls_table *const *tables, const char *const *names);

/* ---- schemes.c: data that a scheme made ---- */

/* Where the rows are steps of a scheme rather than a motion: its rule in the place of the
 * quadrature, w->o->scheme, and a line that says so, the caller's. */
cls_status clsi_learner_scheme(clsi_learner *w, size_t n_tables, const cls_table *const *tables,
                               const char *const *names, clsi_rule *rule, char **said);

/* ---- stages.c: where temperatures are hidden ---- */

/* Are energies one solve, and what exchanges heat another one? */
int clsi_is_staged(const clsi_learner *w);
cls_status clsi_solve_staged(clsi_learner *w);

/* Usual (median) errors of the equations in validation as one number: their geometric mean. Exchange
 * of heat counts as an error of the temperatures' difference. */
double clsi_learner_usual(clsi_learner *w);

/* ---- exchange.c: coefficients that exchange heat, through their logarithms ---- */

/* The columns of these parts, all other parameters given. `equation` (E): rows to take. */
cls_status clsi_solve_exchange(clsi_learner *w, const unsigned char *equation,
                               const unsigned char *column, double *theta);
/* The only part that exchanges heat in equation e, or -1: none, or several. */
int clsi_exchange_of(const clsi_residual *r, size_t e);
/* Which parts are such; from the lists of parts. */
void clsi_find_exchange(clsi_residual *r);
/* A coefficient that moves heat and nothing else. */
int clsi_is_exchange(const clsi_residual *r, size_t k);
/* The value of part k at the middle of window w. */
double clsi_exchange_value(const clsi_residual *r, size_t k, const double *theta, size_t w);

/* ---- fit.c ---- */

/* The fit of the residual goes on as a fit of simulations. */
cls_status clsi_learner_shoot(clsi_learner *w);
/* From the fit of the residual on, by the rates themselves. */
cls_status clsi_learner_derive(clsi_learner *w);

/* ---- learner.c ---- */

/* A line for the user: what was chosen, what the data cannot tell. */
void clsi_learner_note(clsi_learner *w, const char *format, ...) CLS_PRINTF(2, 3);

cls_status clsi_learner_model(clsi_learner *w, const cls_system *system, const cls_assignments *set,
                              size_t n_tables, const char *const *names, cls_model **out);

#endif
