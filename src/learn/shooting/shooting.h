/* learn, inside: the shooting loss. Windows of the data are simulated as a whole and compared. */
#ifndef CLSI_SHOOTING_H
#define CLSI_SHOOTING_H

#include "learn/learn.h"
#include "simulate/flow.h"
#include "simulate/sensitive.h"

/* ---- what a window is compared with ---- */

typedef struct clsi_window {
    size_t begin, intervals; /* first point of the data, and how many intervals follow */
    size_t row;              /* its first row */
} clsi_window;

/* Everything that evaluations share; const while they run. Row (i, c) of a window: component c of
 * the observed states at its point i; behind them, where starts are free, one weak row for each
 * state that is not observed. */
typedef struct clsi_target {
    const clsi_points *points;
    const clsi_sensitive *motion;
    const clsi_flow *flow; /* not NULL: gradients by the continuous adjoint (continuous.c) */
    size_t nz, n_theta, n_observed, *observed;
    double *weight;  /* (nz) 1 / spread */
    size_t substeps; /* scheme steps in an interval of the data */
    int free_starts; /* the start of a window is what fits it best; else the measured point */
    int alone;       /* one window only: nothing to fill vectors with while it is simulated */
    size_t most_steps, most_rows; /* of a window */
} clsi_target;

size_t clsi_target_rows(const clsi_target *t, size_t intervals);
size_t clsi_target_steps(const clsi_target *t, size_t intervals); /* with those of a composition */

/* ---- paths.c: up to CLSI_LANES windows together, on one thread ---- */

typedef struct clsi_paths clsi_paths;
cls_status clsi_paths_create(const clsi_target *t, clsi_paths **out, cls_error *error);
void clsi_paths_free(clsi_paths **paths);
/* Simulates n windows with theta and makes their rows r[i]. start[i] (nz): where known[i], the
 * start to take; else it is found and put there. Rows of a window that cannot be simulated are
 * INFINITY. What a window gets does not depend on its neighbours. */
void clsi_paths_run(clsi_paths *p, const double *theta, size_t n, const clsi_window *const *window,
                    double *const *start, const int *known, double *const *r);
/* After a run: gradient[j] += sum of seed . dr/dtheta_j, by the discrete adjoint, or something near
 * it by the continuous one. seed[i] has one number for each row of window i. Zero when a window has
 * no derivative. */
int clsi_paths_adjoint(clsi_paths *p, const double *const *seed, double *gradient);
/* After a run: the rows dr/dtheta of window i into J (rows, n_theta), by forward sensitivities.
 * Free starts move with theta (variable projection, Kaufman's form). */
int clsi_paths_jacobian(clsi_paths *p, size_t i, double *J);

/* ---- shooting.c: all windows, as a problem ---- */

typedef struct clsi_shooting_options {
    const char *scheme; /* NULL: the system's default */
    size_t intervals;   /* of a window; 0: whole trajectories */
    size_t substeps;    /* 0: one */
    int free_starts;
    size_t max_windows;          /* spread over the data; 0: all */
    const clsi_flow *continuous; /* not NULL: gradients by the continuous adjoint */
    int equal; /* what is left of a trajectory is no shorter window but overlaps the one
                * before it, so that windows can be drawn in batches */
} clsi_shooting_options;

typedef struct clsi_shooting clsi_shooting;
/* `motion` is the step with theta as symbols (it outlives this). held: windows of the trajectories
 * for validation. */
cls_status clsi_shooting_create(const clsi_points *points, const clsi_sensitive *motion,
                                const clsi_shooting_options *o, int held, clsi_shooting **out,
                                cls_error *error);
void clsi_shooting_free(clsi_shooting **s);
size_t clsi_shooting_windows(const clsi_shooting *s);
/* Leaves out the windows that cannot be simulated with theta: where a learned formula has no motion
 * at all there is nothing to improve. */
cls_status clsi_shooting_prune(clsi_shooting *s, const double *theta);
void clsi_shooting_problem(clsi_shooting *s, clsi_problem *out);

#endif
