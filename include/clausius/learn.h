/* Learning: parts of a system treated as unknown and found from measured trajectories.
 *
 * The residual of a quadrature of order 4 on three neighbouring points is linear in the gradient of
 * the generating function and in the friction coefficients; with fields that are linear in their
 * parameters the whole identification is one least-squares problem, solved at once. The result is a
 * model that keeps the laws for every parameter value, because the laws hold by the form of the
 * expressions it is put into. */
#ifndef CLAUSIUS_LEARN_H
#define CLAUSIUS_LEARN_H

#include <clausius/model.h>
#include <clausius/options.h>
#include <clausius/start.h>
#include <clausius/status.h>
#include <clausius/system.h>
#include <clausius/table.h>
#include <clausius/team.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The argument of the progress callback. */
typedef struct cls_learn_progress {
    const char *phase; /* "rows", "solve", "iterate" */
    uint64_t done, total;
    double loss, seconds;
    double validation; /* "iterate": loss on the validation trajectories; else NAN */
    size_t restart;    /* "iterate": counted from 0 */
} cls_learn_progress;

typedef struct cls_learn_options {
    size_t size;
    size_t n_unknown; /* parts to learn; 0: those that the system's file calls unknown */
    const char *const *unknown;
    const char *field; /* "chebyshev(8)", "network(32, 32)"; NULL: auto */
    /* of the residual: "quadrature" (NULL), or the step of any scheme with fixed steps that
     * simulates the system; of positions alone: "weak" (NULL), "discrete-gradient", "leapfrog",
     * "symplectic-euler", "euler" */
    const char *scheme;
    /* "residual" (NULL): the scheme's equations at the data. "shooting": after that, windows of the
     * data are simulated with `scheme` (NULL: the system's default) and compared. "derivative":
     * after that, rates against derivatives of the data (columns d.NAME, or estimated).
     * "multiple-shooting": windows of growing length are simulated, their starts are unknowns too,
     * and the number of terms is chosen by the noise (BIC). NULL: "multiple-shooting" where the data
     * are noisy and the unknown parts are bases, else "residual". */
    const char *loss;
    size_t window;         /* intervals of the data in a window; 0: auto */
    size_t substeps;       /* shooting: scheme steps in an interval of the data; 0: one */
    const char *optimizer; /* "auto", "linear", "lm", "spring", "lbfgs", "adam", "qp"; NULL: auto */
    const char *weights;   /* of the residual: "balanced" (NULL: rows are scaled so that friction at
                            * small v counts) or "equal" (as the papers have it) */
    double rate;           /* at which adam begins; 0: 1e-2 */
    double last_rate;      /* at which it ends; 0: a thousandth of that */
    const cls_model *from; /* iterations begin at its parameters: the same parts and fields */
    /* parts that were learned before (`use` of a component, or a model of which other parts are to
     * be learned): they are not changed and become parts of the result. `system` is then
     * cls_model_system(given) */
    const cls_model *given;
    uint64_t seed;
    double validate;         /* fraction of the trajectories kept for validation; 0.1. 0: none, and
                              * no rollouts either */
    uint64_t max_windows;    /* at most so many windows are used, spread over the data; 0: auto */
    uint64_t max_iterations; /* of iterative optimisers; 0: their own */
    double time_limit;       /* seconds; 0: none */
    uint64_t batch; /* adam, spring: rows in a batch (one for each equation of a window); 0: auto */
    int constant_rate; /* adam: no decay of the rate, as in the papers; else by three decades */
    int last;          /* adam: the result is the last iterate, as in the papers; else the best */
    double decay; /* adam: weight decay, decay theta is added to the gradient of the mean square */
    /* Iterative optimisers only: */
    size_t restarts;   /* starts from different seeds, the best by validation is kept; 0, 1: one */
    uint64_t patience; /* early stopping: reports without better validation; 0: never */
    const char *checkpoint;  /* file that keeps the state of the training, or NULL */
    double checkpoint_every; /* seconds between two of them (and one when stopped); 0: no pause */
    int resume;  /* go on from the checkpoint, if the file is there, with the bits of a run that was
                  * never stopped; time_limit and max_iterations may differ, nothing else may */
    int threads; /* 0: all cores; the result does not depend on it */
    /* Called with `context` several times a second; non-zero: stop with the best so far. NULL: never. */
    int (*progress)(void *context, const cls_learn_progress *progress);
    /* Called with `context` inside of long simulations, between two calls of `progress`; non-zero:
     * `progress` is going to stop, and the simulation is ended within a second. NULL: never. */
    int (*interrupted)(void *context);
    void *context; /* of both callbacks */
    /* shooting: "discrete" (NULL), the exact derivative of what is simulated, or "continuous", that
     * of the motion itself by an integration backwards, off by O(h^2): for comparison. Of lbfgs and
     * adam only. */
    const char *adjoint;
    /* Iterations, anchors that are not linear: the loss is mean r^2 + anchor_weight mean e^2, e the
     * errors of the anchors (relative to values other than 0). 0: each counts 100 times a mean
     * residual, so that they hold to a thousandth; adam converges faster with less. */
    double anchor_weight;
    /* Recordings (multiple shooting): */
    double test;   /* fraction of the rows kept for testing; < 0: 0.2 where there are 200 or more */
    size_t n_test; /* the last n_test tables are kept for testing instead */
    /* The caller takes info->report also where the residual is fitted (why, errors of functions, scores on
     * rows kept back), and frees it; else there is one of recordings only. The model has it in any case. */
    int want_report;
    int average;      /* rows of equal times are averaged; else refused */
    const char *hold; /* of inputs, as cls_simulator_inputs_held; NULL: auto */
    size_t n_horizons;
    double horizon[4]; /* of predictions, in units of time */
    size_t ensemble;   /* refits to blocks of the recording drawn anew; 0: none */
    /* Processes that share the work, each with the same data and options; NULL: this one alone. The
     * bits do not depend on it. */
    const cls_team *team;
} cls_learn_options;

/* cls_learn refuses what is out of the range of its table (cls_learn_option_table) and what means
 * nothing for the loss and the optimiser that are used. */
CLS_API cls_learn_options cls_learn_defaults(void);

/* The result of a fit of recordings (multiple shooting): estimates, standard errors, and test errors
 * on rows that were kept back. A standard error is the larger of the one from the residuals' size and
 * autocorrelation and of the scatter between blocks of the recording; INFINITY: not identifiable. */
typedef struct cls_learned_parameter {
    char *name;
    double value, error;
    double low, high; /* its bounds */
    int at_bound;
    double scatter; /* standard deviation between the members of an ensemble; NAN: none */
} cls_learned_parameter;

/* A learned part over the range of one of its inputs, the others at their medians: n places with values
 * and standard errors (INFINITY: the data cannot tell). relative: an energy, of which only differences mean
 * anything, from its value at the medians. slot: which entry of the matrix of a friction on several
 * momenta. */
typedef struct cls_learned_function {
    char *part, *input;
    size_t slot, n;
    int relative;
    double middle;              /* of the input: the median, where a relative function is zero */
    double *at, *value, *error; /* one block */
} cls_learned_function;

enum { CLS_MAX_HORIZONS = 4 };

/* Root mean square errors in the unit of the column. Of rows kept back: a free run that goes on
 * from the end of what was learned from; runs of `horizon` that begin with a state estimated from
 * the rows before; beside both the last value (persistence), the mean, the same system without its unknown
 * parts and with the parameters as the file has them (before), and a linear autoregressive model with the same inputs (arx). NAN: not made. */
typedef struct cls_learned_channel {
    char *name, *unit; /* unit NULL: none */
    size_t rows, test_rows;
    double noise; /* standard deviation about a smooth curve */
    double fitted;
    double run, run_persistence, run_mean, run_before, run_arx;
    double ahead[CLS_MAX_HORIZONS], ahead_persistence[CLS_MAX_HORIZONS],
        ahead_arx[CLS_MAX_HORIZONS];
    size_t
        given; /* rows with a value that were there to learn from; rows < given: some were cut out */
} cls_learned_channel;

typedef struct cls_learn_report {
    char *choice; /* which loss was taken and why, one sentence */
    char *notes;  /* lines: what was cut, what is not identifiable; empty: none */
    size_t n_parameters, n_channels, n_horizons;
    cls_learned_parameter *parameters;
    cls_learned_channel *channels;
    double horizon[CLS_MAX_HORIZONS]; /* in units of time */
    size_t window;                    /* rows of the longest windows */
    double time_scale;
    size_t n_functions;
    cls_learned_function *functions;
    /* 1: better than the trivial models in every channel where something had to be predicted, 0: not,
     * -1: no test, or nothing happens in the rows kept back that the last value does not predict */
    int better;
} cls_learn_report;
CLS_API void cls_learn_report_free(cls_learn_report **report);

typedef struct cls_learn_info {
    size_t parameters, samples, validation_samples; /* windows */
    uint64_t windows; /* to learn from that the data have, of which `samples` were used */
    double loss_initial, loss_final, loss_validation; /* root mean square of the scaled residual */
    uint64_t iterations;
    double seconds;
    char optimizer[32];
    size_t rank, nullity; /* linear: rank of the problem, dimension of its null space */
    double condition;
    int normalised;  /* the scale of energy and forces was free and has been fixed */
    double kkt;      /* linear: residual of the optimality conditions */
    size_t negative; /* friction values below zero at the data before the form made them positive */
    int stopped;     /* 1: by `progress`, 2: by the time limit; the model is the best so far */
    double rollout;  /* error of simulations against validation trajectories, in units
                      * of the spread of the data; INFINITY: they fail; NAN: not made */
    /* the same in `rollout_parts` steps from row to row, where it is less than half of it: the rest is
     * the error of steps as long as the data are apart, not of the model; 0 parts: it is not */
    double rollout_fine;
    size_t rollout_parts;
    /* what motions that stay where they begin are off by: a model whose rollout is not below it is bad; NAN: not made */
    double rollout_still;
    size_t restart; /* iterative: the one that was kept */
    /* iterative: how the last restart ended: "converged", "iterations" (the most allowed), "no
     * descent", "patience" (ended_early), "stopped" */
    char ended[16];
    size_t ended_early; /* iterative: restarts ended by patience or by rollouts that got worse */
    cls_learn_report *report; /* of recordings (else see want_report), the caller's; or NULL */
    int isothermal; /* no temperature changes along the data: the heat capacity at rest was set */
    /* temperatures that follow from an unknown energy: mean over the data and its standard error, of
     * the first entropy and those that it exchanges heat with; INFINITY: not identifiable. 0, 0: none */
    double temperature, temperature_error;
    char notes[1200]; /* lines: what was chosen automatically, what is not identifiable */
    /* Free runs of the model along motions kept for validation (of recordings along all of them), each to its end,
     * and how many stop before it: a model of which one does is bad. Of the first that stops: how long it ran, and why. */
    size_t runs, runs_stopped;
    double runs_after;
    char runs_why[240];
} cls_learn_info;

/* CLS_USAGE, and why, where one of the n names is neither a part nor a parameter of the system: for
 * those who want to know before they read data. */
CLS_API cls_status cls_learn_names(const cls_system *system, size_t n, const char *const *names,
                                   cls_error *error);

/* `system` was loaded with the parameter values `set` (may be NULL). Tables hold trajectories
 * (a `trajectory` column separates several), `names` their file names for the record. */
CLS_API cls_status cls_learn(const cls_system *system, const cls_assignments *set, size_t n_tables,
                             const cls_table *const *tables, const char *const *names,
                             const cls_learn_options *options, cls_model **out,
                             cls_learn_info *info, cls_error *error);

/* The same from files of any length, which are read in blocks: memory does not grow with them. Where
 * one solve finds the parameters every row is used; scales, validation and rollouts look at a sample
 * of 25,000 rows, as do iterations. Rows of a trajectory stand together; all files have the columns
 * of the first. */
CLS_API cls_status cls_learn_files(const cls_system *system, const cls_assignments *set,
                                   size_t n_files, const char *const *paths,
                                   const cls_read_options *reading,
                                   const cls_learn_options *options, cls_model **out,
                                   cls_learn_info *info, cls_error *error);

/* A start from row `row` of data that need not have all states: cls_starter_row, and where states are
 * lacking the ones that explain the rows that follow, the system being as it is. *fitted (may be NULL): how many
 * rows they were fitted to, 0: the row says them itself. */
CLS_API cls_status cls_start_from_data(const cls_system *system, const cls_starter *starter,
                                       const cls_table *t, size_t row, const char *name,
                                       double *time, double *state, size_t *fitted,
                                       cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
