/* Linear equations whose entries are given one by one, solved again and again: whole below a few
 * unknowns, sparse above. */
#ifndef CLSI_EQUATIONS_H
#define CLSI_EQUATIONS_H

#include "system/sparse_lu.h"

typedef struct clsi_equations {
    size_t unknowns, n, rows_room, columns_room, froms_room;
    uint32_t *row, *column; /* (n) entries, rows ascending */
    size_t *from;           /* (n) the caller's: where a value comes from */
    double *value;          /* (n) to be filled before solving */
    int failed;             /* out of memory while adding */
    clsi_sparse_lu *lu;     /* NULL: dense */
    double *work;
    size_t *pivot;
} clsi_equations;

clsi_equations *clsi_equations_new(size_t unknowns);
void clsi_equations_add(clsi_equations *e, size_t row, size_t column, size_t from);
cls_status clsi_equations_ready(clsi_equations *e, cls_error *error); /* after the last entry */
/* b becomes the solution; 0 when there is none. */
int clsi_equations_solve(clsi_equations *e, double *b);
void clsi_equations_free(clsi_equations **e);

#endif
