/* learn, inside: multiple shooting against a recording.
 *
 *   multiple.c   windows of a recording, their free starts, residuals and derivatives
 *   windows.c    which rows make a window
 *   beginnings.c where recordings begin, as parameters of the fit
 *   recipe.c     from short windows to long ones, with what cannot be explained cut out
 *   score.c      free runs and predictions on rows that were kept back, beside trivial models
 *   doubt.c      standard errors, ensembles
 *   advise.c     what to measure where something stays open */
#ifndef CLSI_MULTIPLE_H
#define CLSI_MULTIPLE_H

#include "base/base.h"
#include "learn/recording/hidden.h"
#include "learn/recording/neighbours.h"
#include "learn/recording/observe.h"
#include "learn/recording/recording.h"
#include "solve/arrow.h"
#include <clausius/learn.h>
#include <jansson.h>

typedef struct clsi_piece {
    size_t first, n; /* rows */
    size_t segment;
} clsi_piece;

/* Hidden states that are integrals of inputs, from the first row of their trajectory on (integrals.c). The first
 * trajectory begins where the file says, each other one that is learned from at a value that all of its windows share. */
typedef struct clsi_integrals {
    size_t n, *state; /* (n) components of z */
    double *sum;      /* (rows, n) */
    double *shift;    /* (trajectories, n) where they begin, beyond the file's start */
    size_t n_begun,
        *number; /* (trajectories) from 1 on those whose beginning is fitted, 0: others */
} clsi_integrals;

typedef struct clsi_multiple {
    const clsi_recording *data;
    const cls_system *system; /* with numbers: for starts */
    clsi_observer *observer;
    size_t nz, n_theta, ny, n_tracks;
    size_t n_scaled;    /* parameters whose common multiple is not identifiable (arrow.h) */
    clsi_track **track; /* one for each thread */
    size_t n_pieces;
    clsi_piece *piece;
    double *x;              /* (n_pieces, nz) starts */
    double *x_guess;        /* (n_pieces, nz) centers of their priors */
    double *prior;          /* (nz) standard deviations */
    double *x_low, *x_high; /* (nz) domains of the states, open */
    double *first;          /* (nz) the start of the first row */
    unsigned char *hidden;  /* (nz) 1: no column says it, not even by its slope */
    unsigned char *told;    /* (nz) 1: an output tells it (told.c) */
    size_t n_told;
    clsi_neighbours *beside; /* arrays of which some elements are measured; NULL: there are none */
    clsi_integrals *integrals; /* of inputs; NULL: there are none */
    clsi_hidden *implied;      /* what the equations say about these; NULL: there are none */
    double *sigma;             /* (ny) */
    const double *counts;      /* (rows) how often a row counts; NULL: once */
    unsigned char *cut;        /* (rows) 1: explained by no model, left out */
    const double *low, *high;
    int (*stop)(void *context);
    void *stop_owner;
    double *y_scratch; /* (rows, ny) */
    double *seen;      /* (rows, ny) outputs of the windows: clsi_multiple_simulate */
} clsi_multiple;

/* system: with numbers (for starts); the observer is taken over. */
cls_status clsi_multiple_create(const clsi_recording *data, const cls_system *system,
                                clsi_observer *observer, const double *low, const double *high,
                                clsi_multiple **out, cls_error *error);
void clsi_multiple_free(clsi_multiple **m);

/* Windows of about `rows` rows over what is to be learned from and not cut. Starts come from the
 * windows there were (NULL: from the data) at theta. */
cls_status clsi_multiple_plan(clsi_multiple *m, size_t rows, const double *theta, cls_error *error);
/* Shortens windows that cannot be simulated to their end at theta, or whose end depends on their start too much; the
 * rows behind are windows of their own. How many were shortened, -1: no memory. */
int clsi_cut_long(clsi_multiple *m, const double *theta);
/* Cuts out windows that are explained far worse than the others, and names them; list and which: room for all rows.
 * How many rows. */
size_t clsi_cut_bad(clsi_multiple *m, const double *theta, double *list, size_t *which,
                    clsi_text *notes);
int clsi_multiple_is_over(const clsi_multiple *m);
/* Is component e of the state an amount of a substance? */
int clsi_is_amount(const cls_system *s, size_t e);
/* As a problem; `huber` in sigmas. */
void clsi_multiple_problem(clsi_multiple *m, double huber, clsi_arrow *out);
/* What that evaluates: windows w .. w + n - 1 simulated from z (n, nz), with priors of x (n, nz). */
int clsi_multiple_windows(clsi_multiple *m, size_t w, size_t n, const double *theta,
                          const double *z, const double *x, double *const *r, double *const *J);
/* Simulates all windows at theta for the next function. Zero when not evaluable. */
int clsi_multiple_simulate(clsi_multiple *m, const double *theta);
/* Values of all windows, missing ones included. */
size_t clsi_multiple_values(const clsi_multiple *m);
/* Residuals of channel c of the windows that were simulated, in time order (list: room for all rows),
 * without missing ones; their number. With `which` (piece of each), unless NULL. */
size_t clsi_multiple_residuals(const clsi_multiple *m, size_t c, double *list, size_t *which);
/* A start from the data at row i: parabolas for what is measured, slopes for velocities; for the rest
 * the temperatures there are or the file's start, and then what the equations of motion imply at theta
 * (NULL: nothing is asked of them). */
cls_status clsi_multiple_start(const clsi_multiple *m, const double *theta, size_t segment,
                               size_t i, double *z, cls_error *error);
/* The inputs of a segment; NULL: none. */
const clsi_signal *clsi_signal_of(const clsi_recording *d, size_t segment);
double clsi_difference(const clsi_channel *c, double model, double measured);

/* wild.c: values that stand alone become missing (the caller puts back what is in kept); their number. wild,
 * list, kept: room for as many as there are values. */
size_t clsi_wild_hide(const clsi_recording *d, unsigned char *wild, double *list, double *kept);
void clsi_wild_tell(size_t alone, size_t n, const char *what, clsi_text *notes);

/* ---- told.c ---- */

/* Marks in told (nz) the states that outputs among the channels tell; said (nz): those that columns say,
 * enlarged by them. Returns how many. */
size_t clsi_told_find(const clsi_observer *o, const clsi_recording *d, unsigned char *said,
                      unsigned char *told);
/* Moves what is told of z (nz) to where the outputs about row i put it at theta, and writes its derivatives
 * into dot (nz). Zero: they put it nowhere. */
int clsi_told_at(const clsi_multiple *m, const double *theta, size_t segment, size_t i, double *z,
                 double *dot);

/* ---- integrals.c ---- */

/* Finds them among the states that m->hidden does not mark as said yet, at a start z0 (nz) and parameters theta. */
cls_status clsi_integrals_find(const clsi_multiple *m, const double *z0, const double *theta,
                               clsi_integrals **out, cls_error *error);
void clsi_integrals_free(clsi_integrals **integrals);
/* The largest value of the k-th over so many rows; how closely it keeps to its sum. */
double clsi_integrals_size(const clsi_integrals *f, size_t rows, size_t k);
double clsi_integrals_prior(const clsi_integrals *f, size_t rows, size_t k);

/* ---- beginnings.c ---- */

/* The problem with what is unknown of where integrals begin behind theta; without such it is the problem itself. */
typedef struct clsi_wide {
    clsi_multiple *m;
    size_t more;   /* parameters behind theta */
    double *theta; /* (n_theta + more) where a search begins, and ends */
    clsi_arrow arrow, narrow;
    double *moved; /* starts of windows, for each thread */
} clsi_wide;
cls_status clsi_wide_open(clsi_multiple *m, double huber, const double *theta, clsi_wide *q,
                          cls_error *error);
void clsi_wide_free(clsi_wide *q);
/* What a search left becomes theta and starts of the windows; frees q. */
void clsi_wide_settle(clsi_wide *q, double *theta);

/* How many numbers say where integrals begin beyond what the file says. */
size_t clsi_beginnings_count(const clsi_multiple *m);
/* Takes them from the windows that there are. */
void clsi_beginnings_note(const clsi_multiple *m);
/* Zero: nothing says where this trajectory begins. */
int clsi_beginnings_known(const clsi_multiple *m, size_t trajectory);
/* A line for each integral. */
void clsi_beginnings_tell(const clsi_multiple *m, clsi_text *notes);

/* ---- recipe.c ---- */

typedef struct clsi_recipe {
    clsi_multiple *m;
    double *theta;
    const unsigned char *open;         /* (n_theta) 1: no initial value was given. NULL: all were */
    clsi_text notes;                   /* lines for the report */
    size_t iterations, stages, window; /* rows of the last windows */
    double loss;
    const char *ended; /* how the last search did: a reason of clsi_arrow_info */
    double *inflation; /* (ny) of the variance, by the residuals' autocorrelation */
    /* What is off in its windows, as a share of what the columns spread. NULL: not wanted. */
    struct clsi_loss_curve *curve;
} clsi_recipe;
cls_status clsi_recipe_run(clsi_recipe *r, cls_error *error);
/* One stage alone: windows of so many rows, fitted twice with scales from the residuals between;
 * `last`: to the end. */
cls_status clsi_recipe_stage(clsi_recipe *r, size_t rows, int last, cls_error *error);
/* Where it begins: the order of magnitude of what is open, by windows of so many rows. */
cls_status clsi_recipe_search(clsi_recipe *r, size_t rows, cls_error *error);
size_t clsi_recipe_first(const clsi_multiple *m); /* rows of the first windows, by the time scale */
size_t clsi_recipe_longest(const clsi_multiple *m); /* rows of the longest segment */

/* ---- score.c ---- */

/* Fills the channels (ny): test rows and fits at theta, `before` the parameters of the file (NULL:
 * it has none). */
cls_status clsi_score(clsi_multiple *m, const double *theta, const double *before,
                      cls_learn_report *report, clsi_text *notes, cls_error *error);

/* Fits the start of rows [first, first + n) with fixed parameters, from the data or from `from`. */
cls_status clsi_fit_state(clsi_multiple *m, const double *theta, size_t first, size_t n,
                          const double *from, double *x, cls_error *error);
/* Rows that a state is fitted to. */
size_t clsi_state_rows(const clsi_multiple *m);

/* ---- held.c ---- */

/* A system as it is, nothing to learn, over a recording. */
cls_status clsi_multiple_of(const cls_system *s, const clsi_recording *d, clsi_multiple **out,
                            cls_error *error);

/* ---- report.c ---- */

/* An empty report of a fit to these channels; `choice` is taken over (NULL: no memory). */
cls_status clsi_report_create(const clsi_recording *data, const cls_learn_options *o,
                              size_t n_parameters, char *choice, cls_learn_report **out,
                              cls_error *error);

/* (n, m) as rows of an array, null where it is not finite. */
json_t *clsi_json_matrix(size_t n, size_t m, const double *A);
void clsi_function_clear(cls_learned_function *f);
/* For each trajectory the time of the first row that was kept back; null: none was. A new object. */
json_t *clsi_recording_split(const clsi_recording *r);
/* Parameters, scores and functions into the provenance of a model. */
void clsi_report_record(const cls_learn_report *r, json_t **to);

/* ---- doubt.c ---- */

/* Standard errors (n_theta) at the minimum, INFINITY where nothing is known, and their covariance
 * (n_theta, n_theta; NULL: not wanted). *nullity: dimension of the null space. */
cls_status clsi_doubt(clsi_multiple *m, const double *theta, double *error_of, double *covariance,
                      int *nullity, cls_error *error);

/* Variances of the score along directions (n, n_theta) of the parameters, with the residuals' memory; `fitted`
 * of them were fitted. */
typedef struct clsi_along {
    size_t n, fitted;
    const double *direction;
    double *variance; /* (n) */
} clsi_along;
cls_status clsi_doubt_along(clsi_multiple *m, const double *theta, clsi_along *along,
                            cls_error *error);

/* Names what stays open: parameters (names; a null space of dimension `nullity`) and hidden states that no
 * column tells, each with the column of the system that would. */
cls_status clsi_advise(clsi_multiple *m, const double *theta, const char *const *names, int nullity,
                       clsi_text *notes, cls_error *error);

/* Refits from theta to blocks of the recording drawn anew with replacement: members (n, n_theta), the
 * standard deviation of each parameter between them. The windows' starts move along; what the fit left
 * in m stays. */
cls_status clsi_bootstrap(clsi_multiple *m, const double *theta, size_t n, uint64_t seed,
                          double *members, double *scatter, cls_error *error);

#endif
