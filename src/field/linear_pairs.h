/* Discrete gradients of kinds that are linear in theta: b.gbar as a row over theta is all they need
 * to know; a kind includes this and says CLSI_LINEAR_PAIRS(its row). */
#ifndef CLSI_LINEAR_PAIRS_H
#define CLSI_LINEAR_PAIRS_H

#include "field/field.h"

/* row (n_parameters) += the derivative of b.gbar(u, w) in theta. */
typedef void (*clsi_discrete_row)(const clsi_field *f, const double *u, const double *w,
                                  const double *b, double *row);

const char *clsi_linear_pairs_missing(const clsi_field *f);
size_t clsi_linear_pairs_size(const clsi_field *f);
void clsi_linear_pairs_open(const clsi_field *f, const double *theta, clsi_discrete_row row,
                            double *pass);
void clsi_linear_pairs_clear(double *pass);
void clsi_linear_pairs_evaluate(double *pass, size_t points, const double *x, size_t n,
                                const size_t *pair, double *gbar);
void clsi_linear_pairs_add(double *pass, const double *b);
void clsi_linear_pairs_rows(double *pass, const double *b, double *const *rows);
void clsi_linear_pairs_close(const double *pass, double *out);

#define CLSI_LINEAR_PAIRS(row)                                                                     \
    {                                                                                              \
        .most = 64, .missing = clsi_linear_pairs_missing, .size = clsi_linear_pairs_size,          \
        .open = row##_open, .clear = clsi_linear_pairs_clear,                                      \
        .evaluate = clsi_linear_pairs_evaluate, .add = clsi_linear_pairs_add,                      \
        .rows = clsi_linear_pairs_rows, .close = clsi_linear_pairs_close                           \
    }
/* In front of CLSI_LINEAR_PAIRS(row). */
#define CLSI_LINEAR_PAIRS_OPEN(row)                                                                \
    static void row##_open(const clsi_field *f, const double *theta, double *pass) {               \
        clsi_linear_pairs_open(f, theta, row, pass);                                               \
    }

#endif
