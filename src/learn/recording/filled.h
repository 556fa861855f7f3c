/* learn, inside: tables of which every state has a column. */
#ifndef CLSI_FILLED_H
#define CLSI_FILLED_H

#include "system/system.h"
#include <clausius/table.h>

typedef struct clsi_filled {
    size_t n;
    cls_table **tables; /* (n) what they borrow is the caller's and in `columns` */
    double **columns;   /* (n) */
    size_t beside;      /* states that only their neighbours in an array tell */
} clsi_filled;

/* The same tables with columns of the states that are not among them: from what says them at the same time (a
 * temperature its entropy, a velocity its momentum), and between elements of their array (neighbours.h). *out
 * stays empty where nothing is missing, or something cannot be told so. */
cls_status clsi_filled_create(const cls_system *s, size_t n, const cls_table *const *tables,
                              clsi_filled *out, cls_error *error);
void clsi_filled_clear(clsi_filled *f);

#endif
