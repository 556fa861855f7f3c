/* solve: least squares whose unknowns are few that everything depends on and many that only one
 * window does (free starts of simulations, sources of single recordings).
 *
 *     minimise  sum_w sum_i rho(r_wi(theta, x_w)),   low <= theta <= high
 *
 * rho(r) = r^2/2, beyond |r| = huber c it is c |r| - c^2/2, so that outliers pull with a constant
 * force only. */
#ifndef CLSI_ARROW_H
#define CLSI_ARROW_H

#include <clausius/status.h>
#include <stddef.h>

typedef struct clsi_arrow {
    void *context;
    size_t n_theta, n_x, n_windows;
    /* Rows of window w; the last n_x of them are priors of x_w and always count as squares. */
    size_t (*rows)(void *context, size_t w);
    /* r (rows) and, unless NULL, J (rows, n_theta + n_x). Zero: cannot be evaluated there. Called
     * by many threads at a time. */
    int (*window)(void *context, size_t w, const double *theta, const double *x, double *r,
                  double *J);
    /* The same of windows w .. w + n - 1 together, n <= group, where that is faster; x (n, n_x). NULL:
     * one by one. What a window gets may depend on the group it is in by rounding only. */
    int (*windows)(void *context, size_t w, size_t n, const double *theta, const double *x,
                   double *const *r, double *const *J);
    size_t group;             /* 0: 1 */
    const double *low, *high; /* (n_theta) */
    /* Multiples of the first n_scaled parameters all give the same rows: steps do not go along them, where nothing
     * would hold them. 0: not so. */
    size_t n_scaled;
    /* (n_x) open intervals that each x_w stays in: a step goes nine tenths of the way to an end at
     * most. NULL: anything. */
    const double *x_low, *x_high;
    double huber;               /* INFINITY: squares everywhere */
    int (*stop)(void *context); /* called once an iteration; non-zero ends it. NULL: never */
    /* Told the sum where the search begins and after each of its iterations. NULL: nobody is. */
    void (*tell)(void *listener, size_t iterations, double sum);
    void *listener;
} clsi_arrow;

typedef struct clsi_arrow_info {
    double initial, final; /* the sum above */
    size_t iterations;
    const char *reason; /* "converged", "iterations", "no descent", "stopped" */
} clsi_arrow_info;

/* Levenberg-Marquardt with the x_w eliminated; starts at theta and x (n_windows, n_x), which must
 * be evaluable, and leaves the best there. Stops at a relative decrease below `enough`. */
cls_status clsi_arrow_minimize(const clsi_arrow *a, size_t max_iterations, double enough,
                               double *theta, double *x, clsi_arrow_info *info, cls_error *error);

/* What the minimum says about theta: S (n_theta, n_theta), the information left when the x_w are
 * eliminated, sum over blocks of the scores' squares Q (n_theta, n_theta), where rows of a block
 * may be correlated with each other but not with those of other blocks; block(context, w, i) numbers
 * them, below n_blocks. Without Huber's weights where |r| is small. */
typedef struct clsi_arrow_scores {
    void *context; /* of `block` and `tell`; NULL: that of the problem */
    size_t n_blocks;
    size_t (*block)(void *context, size_t w, size_t row);
    double *S, *Q; /* Q NULL: not wanted */
    double *g;     /* (n_theta) the gradient with the x_w eliminated; NULL: not wanted */
    /* Told of each window: its rows without priors, n of them, x_w eliminated: J (n, width), of which
     * the first n_theta are meant, and weight times r; the n_x rows of J behind them are the priors'.
     * NULL: not wanted. */
    void (*tell)(void *context, size_t w, size_t n, size_t width, const double *J, const double *r);
} clsi_arrow_scores;
cls_status clsi_arrow_information(const clsi_arrow *a, const double *theta, const double *x,
                                  clsi_arrow_scores *out, cls_error *error);

/* Eigenvalues (n, ascending) and eigenvectors (rows of V) of a symmetric matrix A (n, n), which is
 * overwritten, by Jacobi's rotations. */
void clsi_symmetric_eigen(size_t n, double *A, double *value, double *V);
/* S^-1 on the directions that are seen, after scaling the diagonal to one: eigenvalues below rcond
 * are the null space. C (n, n) the inverse outside of it; open[i] = 1 when parameter i takes part in such a
 * direction by more than a thousandth. Returns the dimension of the null space; -1: no memory. */
int clsi_seen_inverse(size_t n, const double *S, double rcond, double *C, unsigned char *open);

#endif
