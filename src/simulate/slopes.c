/* The equations (I - gamma J) x = b of CVODE for many variables that know few of each other.
 *
 * CVODE keeps J as its own sparse matrix, by rows and with every diagonal entry; the pattern is that of
 * the graph. Solved by the LU of the steps (system/sparse_lu.c): the pivots are on the diagonal, which
 * for small gamma is the largest of its row; CVODE's Newton sees a solution that is none, and then takes a
 * smaller step. */
#include "simulate/slopes.h"
#include "base/base.h"
#include "system/sparse_lu.h"
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_sparse.h>

struct clsi_slopes {
    size_t n, *start; /* (n + 1) */
    uint32_t *column;
    size_t *from; /* of the values that are given, NOTHING on a diagonal without slope */
    clsi_sparse_lu *lu;
    double *work;
};

#define NOTHING SIZE_MAX

/* Rows with their diagonal. */
static int lay(clsi_slopes *s, const clsi_rows *rows) {
    size_t at = 0;
    s->start = clsi_calloc(s->n + 1, sizeof *s->start);
    s->column = clsi_calloc(rows->n + s->n, sizeof *s->column);
    s->from = clsi_calloc(rows->n + s->n, sizeof *s->from);
    if (!s->start || !s->column || !s->from) return 0;
    for (size_t i = 0; i < s->n; i++) {
        int diagonal = 0;
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
            diagonal |= rows->column[k] == i;
            s->column[at] = rows->column[k];
            s->from[at++] = k;
        }
        if (!diagonal) {
            s->column[at] = (uint32_t)i;
            s->from[at++] = NOTHING;
        }
        s->start[i + 1] = at;
    }
    return 1;
}

cls_status clsi_slopes_create(size_t n, const clsi_rows *rows, clsi_slopes **out,
                              cls_error *error) {
    clsi_slopes *s = *out = clsi_calloc(1, sizeof *s);
    cls_status status = CLS_MEMORY;
    if (s) {
        s->n = n;
        if (lay(s, rows))
            status = clsi_sparse_lu_create_fast(n, s->start, s->column, &s->lu, error);
        if (status == CLS_OK) s->work = clsi_calloc(clsi_sparse_lu_size(s->lu), sizeof *s->work);
        if (s->work) return CLS_OK;
    }
    clsi_slopes_free(out);
    return clsi_no_memory(error);
}

void clsi_slopes_free(clsi_slopes **slopes) {
    clsi_slopes *s = *slopes;
    if (!s) return;
    clsi_sparse_lu_free(&s->lu);
    free(s->start);
    free(s->column);
    free(s->from);
    free(s->work);
    free(s);
    *slopes = NULL;
}

SUNMatrix clsi_slopes_matrix(const clsi_slopes *s, SUNContext context) {
    sunindextype n = (sunindextype)s->n;
    return SUNSparseMatrix(n, n, (sunindextype)s->start[s->n], CSR_MAT, context);
}

void clsi_slopes_put(const clsi_slopes *s, const double *values, SUNMatrix to) {
    double *data = SUNSparseMatrix_Data(to);
    sunindextype *starts = SUNSparseMatrix_IndexPointers(to);
    sunindextype *columns = SUNSparseMatrix_IndexValues(to);
    for (size_t i = 0; i <= s->n; i++) starts[i] = (sunindextype)s->start[i];
    for (size_t k = 0; k < s->start[s->n]; k++) {
        columns[k] = (sunindextype)s->column[k];
        data[k] = s->from[k] == NOTHING ? 0 : values[s->from[k]];
    }
}

/* ---- as CVODE calls it ---- */

static SUNLinearSolver_Type type_of(SUNLinearSolver solver) {
    (void)solver;
    return SUNLINEARSOLVER_DIRECT;
}

static int factor(SUNLinearSolver solver, SUNMatrix a) {
    clsi_slopes *s = solver->content;
    return clsi_sparse_lu_factor(s->lu, SUNSparseMatrix_Data(a), s->work) ? 1 : 0;
}

static int solve(SUNLinearSolver solver, SUNMatrix a, N_Vector x, N_Vector b, realtype tolerance) {
    clsi_slopes *s = solver->content;
    (void)a, (void)tolerance;
    memcpy(N_VGetArrayPointer(x), N_VGetArrayPointer(b), s->n * sizeof(double));
    clsi_sparse_lu_solve(s->lu, s->work, N_VGetArrayPointer(x));
    return 0;
}

static int release(SUNLinearSolver solver) {
    solver->content = NULL;
    SUNLinSolFreeEmpty(solver);
    return 0;
}

SUNLinearSolver clsi_slopes_solver(clsi_slopes *s, SUNContext context) {
    SUNLinearSolver solver = SUNLinSolNewEmpty(context);
    if (!solver) return NULL;
    solver->ops->gettype = type_of;
    solver->ops->setup = factor;
    solver->ops->solve = solve;
    solver->ops->free = release;
    solver->content = s;
    return solver;
}
