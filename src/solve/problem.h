/* solve: least squares over parameters, as the optimisers see it.
 *
 * minimise (1/2) |r(theta)|^2 with r in blocks of rows ("shards"): a fixed number of shards, always
 * summed in the same order, so that results do not depend on the number of threads. */
#ifndef CLSI_PROBLEM_H
#define CLSI_PROBLEM_H

#include <clausius/status.h>
#include <clausius/team.h>
#include <stddef.h>
#include <stdint.h>

/* Rows that do not stay in memory: they come in pieces, some of which are loaded together. A batch is drawn
 * from what was loaded last. */
typedef struct clsi_feed {
    void *context;
    size_t n_pieces, together; /* how many there are, and how many are loaded at once */
    /* The rows of these pieces are rows 0, 1, ... of the problem until the next call; how many groups. */
    cls_status (*load)(void *context, size_t n, const size_t *pieces, size_t *groups);
    double (*loss)(void *context, const double *theta); /* of a fixed sample of all rows */
    uint64_t used; /* groups of the first pass over all pieces that were drawn so far */
} clsi_feed;

typedef struct clsi_problem clsi_problem;
struct clsi_problem {
    void *context;
    size_t n_parameters, n_rows;
    size_t n_conditions;  /* the last rows: what must hold, so that every batch has them */
    size_t group;         /* so many neighbouring rows share their work; 0 counts as 1 */
    int affine;           /* r is affine in theta: one solve is enough */
    const cls_team *team; /* processes that share the sums over rows, same bits; NULL: none */
    clsi_feed *feed;      /* where batches come from; NULL: all rows are there */
    double
        enough; /* lm, lbfgs: the end, when an iteration lowers the loss by less than this share */
    /* Residuals of the rows listed (count of them; NULL: all, in order). */
    cls_status (*residual)(clsi_problem *p, const double *theta, size_t count, const size_t *rows,
                           double *r);
    /* Residuals and Jacobian rows J (count, n_parameters) row-major. */
    cls_status (*jacobian)(clsi_problem *p, const double *theta, size_t count, const size_t *rows,
                           double *r, double *J);
    /* Loss (1/2)|r|^2 / count and its gradient over the rows listed. */
    cls_status (*gradient)(clsi_problem *p, const double *theta, size_t count, const size_t *rows,
                           double *loss, double *gradient);
};

/* Progress; returning non-zero stops the optimiser cleanly (SIGINT, time limit, early stopping). */
typedef struct clsi_progress {
    uint64_t iteration;
    double loss, seconds;
    struct clsi_run *run; /* for clsi_run_save (optimize.h) */
} clsi_progress;
typedef int (*clsi_report_progress)(void *context, const clsi_progress *progress,
                                    const double *theta);

typedef struct clsi_optimize_options {
    uint64_t max_iterations;
    double loss_tolerance; /* stop below */
    uint64_t seed;
    size_t batch;      /* spring, adam: rows; 0: the optimiser's default */
    double rate;       /* adam; 0: its default */
    double last_rate;  /* adam: at the last iteration; 0: a thousandth of the first */
    int constant_rate; /* adam: the rate does not fall */
    int last;          /* adam: the best is not asked for: reports give the loss of a batch */
    double decay;      /* adam: weight decay of the mean squared residual */
    clsi_report_progress progress;
    /* Asked between reports that are far apart; non-zero: stop. NULL: never. */
    int (*stop)(void *context, const clsi_progress *progress);
    void *context;
    struct clsi_archive
        *resume; /* NULL, or what clsi_run_save wrote: goes on from there, same bits */
} clsi_optimize_options;

typedef struct clsi_optimize_info {
    uint64_t iterations;
    double initial_loss, final_loss;
    const char *reason; /* "converged", "iterations", "stopped", "no descent" */
} clsi_optimize_info;

typedef struct clsi_optimizer {
    const char *name, *doc;
    int needs_jacobian;
    size_t (*batch)(size_t n_parameters); /* usual rows of a batch; NULL: it takes all rows */
    cls_status (*minimize)(clsi_problem *p, const clsi_optimize_options *o, double *theta,
                           clsi_optimize_info *info, cls_error *error);
} clsi_optimizer;
const clsi_optimizer *clsi_optimizer_find(const char *name); /* lm, spring, lbfgs, adam */
size_t clsi_optimizer_count(void);
const clsi_optimizer *clsi_optimizer_at(size_t i);

/* Linear least squares by rows that come in blocks: minimise |A x - b| subject to C x = d. */
typedef struct clsi_lsq clsi_lsq;
typedef struct clsi_lsq_info {
    size_t rows, unknowns, constraints, rank;
    double condition; /* of the columns that are seen, after scaling */
    double residual;  /* sqrt(mean r^2) */
    size_t nullity;   /* unknowns - rank */
    /* (nullity, unknowns) orthonormal, owned by the lsq; scaled columns undone */
    const double *null_space;
    double gap; /* primal minus dual objective, relative to |b|^2 / 2; 0 without inequalities */
    size_t n_active;      /* inequalities that hold with equality and push */
    const size_t *active; /* (n_active), owned by the lsq */
} clsi_lsq_info;
/* Constraints first (n_constraints rows of C and d), then any number of blocks. */
cls_status clsi_lsq_create(size_t unknowns, size_t n_constraints, const double *C, const double *d,
                           clsi_lsq **out, cls_error *error);
/* stop(owner) is asked within joins and solves, which take long with many unknowns: CLS_INTERRUPTED. */
void clsi_lsq_watch(clsi_lsq *q, int (*stop)(void *owner), void *owner);
/* Adds rows: A (count, unknowns) row-major, b (count). A is overwritten. Blocks in the same order
 * give the same bits. */
cls_status clsi_lsq_add(clsi_lsq *q, size_t count, double *A, double *b, cls_error *error);
/* What the rows so far come to, as a part of clsi_lsq_part_size numbers that does not grow with
 * them; q is empty afterwards. */
size_t clsi_lsq_part_size(const clsi_lsq *q);
void clsi_lsq_take(clsi_lsq *q, double *part);
/* q gets the rows of all parts (count, part size), joined in a binary tree of their numbers: the same
 * bits whoever made them. The parts are overwritten. Of several ranks each joins what is within its own
 * parts, those that cls_team_first gives it, before all get all parts and join the rest; ranks 0: all of it
 * is joined here. */
cls_status clsi_lsq_join_own(clsi_lsq *q, size_t count, double *parts, size_t rank, size_t ranks,
                             cls_error *error);
cls_status clsi_lsq_join(clsi_lsq *q, size_t count, double *parts, size_t ranks, cls_error *error);
/* rcond: singular values below rcond * largest count as zero (1e-12 is usual); the solution is the
 * one of least (column-scaled) norm among the equally good ones. Optional inequalities E x >= e
 * (n_inequalities rows) by an active-set method with a KKT certificate (residual returned in *kkt,
 * NULL when not wanted). */
cls_status clsi_lsq_solve(clsi_lsq *q, double rcond, size_t n_inequalities, const double *E,
                          const double *e, double *x, clsi_lsq_info *info, double *kkt,
                          cls_error *error);
/* The same data for some of the unknowns (the others are zero) and with other constraints over
 * these; costs nothing that grows with the rows. `q` has no constraints of its own. */
cls_status clsi_lsq_subset(clsi_lsq *q, size_t n, const size_t *columns, size_t n_constraints,
                           const double *C, const double *d, clsi_lsq **out, cls_error *error);
void clsi_lsq_free(clsi_lsq **q);

#endif
