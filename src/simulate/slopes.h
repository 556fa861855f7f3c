/* simulate, inside: a sparse Jacobian for CVODE, and the solver of its equations. */
#ifndef CLSI_SLOPES_H
#define CLSI_SLOPES_H

#include "expr/graph.h"
#include <sundials/sundials_linearsolver.h>

typedef struct clsi_slopes clsi_slopes;

/* Of n rates after n variables; `rows` are the slopes that are not zero, columns in any order. */
cls_status clsi_slopes_create(size_t n, const clsi_rows *rows, clsi_slopes **out, cls_error *error);
void clsi_slopes_free(clsi_slopes **s);
/* NULL: no memory. The solver uses s as long as it lives. */
SUNMatrix clsi_slopes_matrix(const clsi_slopes *s, SUNContext context);
SUNLinearSolver clsi_slopes_solver(clsi_slopes *s, SUNContext context);
/* The values of `rows`, in their order, to the matrix. */
void clsi_slopes_put(const clsi_slopes *s, const double *values, SUNMatrix to);

#endif
