#include "system/equations.h"
#include "base/base.h"
#include "system/dense.h"
#include <stdlib.h>
#include <string.h>

enum { FEW = 24 }; /* unknowns up to which the matrix is written whole */

clsi_equations *clsi_equations_new(size_t unknowns) {
    clsi_equations *e = clsi_calloc(1, sizeof *e);
    if (e) e->unknowns = unknowns;
    return e;
}

void clsi_equations_add(clsi_equations *e, size_t row, size_t column, size_t from) {
    if (!clsi_grow(&e->row, &e->rows_room, e->n + 1, sizeof *e->row) ||
        !clsi_grow(&e->column, &e->columns_room, e->n + 1, sizeof *e->column) ||
        !clsi_grow(&e->from, &e->froms_room, e->n + 1, sizeof *e->from)) {
        e->failed = 1;
        return;
    }
    e->row[e->n] = (uint32_t)row;
    e->column[e->n] = (uint32_t)column;
    e->from[e->n++] = from;
}

cls_status clsi_equations_ready(clsi_equations *e, cls_error *error) {
    size_t u = e->unknowns, work = u * u;
    e->value = clsi_calloc(e->n, sizeof *e->value);
    e->pivot = clsi_calloc(u + 1, sizeof *e->pivot);
    if (!e->value || !e->pivot) return clsi_no_memory(error);
    if (u > FEW) {
        for (size_t k = 0; k < e->n; k++) e->pivot[e->row[k] + 1]++; /* starts of the rows */
        for (size_t i = 0; i < u; i++) e->pivot[i + 1] += e->pivot[i];
        cls_status status = clsi_sparse_lu_create(u, e->pivot, e->column, &e->lu, error);
        if (status != CLS_OK) return status;
        work = clsi_sparse_lu_size(e->lu);
    }
    e->work = clsi_calloc(work, sizeof *e->work);
    return e->work ? CLS_OK : clsi_no_memory(error);
}

int clsi_equations_solve(clsi_equations *e, double *b) {
    size_t u = e->unknowns;
    if (e->lu) {
        if (clsi_sparse_lu_factor(e->lu, e->value, e->work)) return 0;
        clsi_sparse_lu_solve(e->lu, e->work, b);
        return 1;
    }
    memset(e->work, 0, u * u * sizeof *e->work);
    for (size_t k = 0; k < e->n; k++) e->work[e->row[k] * u + e->column[k]] = e->value[k];
    if (clsi_lu_factor(u, e->work, e->pivot)) return 0;
    clsi_lu_solve(u, e->work, e->pivot, b);
    return 1;
}

void clsi_equations_free(clsi_equations **e) {
    clsi_equations *x = *e;
    if (!x) return;
    clsi_sparse_lu_free(&x->lu);
    void *const lists[] = {x->row, x->column, x->from, x->value, x->work, x->pivot, x};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    *e = NULL;
}
