/* Quantities along a path: a formula, its value at every state, and the size of its terms. */
#ifndef CLSI_AUDIT_QUANTITY_H
#define CLSI_AUDIT_QUANTITY_H

#include "audit/audit.h"

typedef enum clsi_quantity_kind {
    CLSI_OF_ENERGY,
    CLSI_OF_ENTROPY, /* the total */
    CLSI_OF_VELOCITY,
    CLSI_OF_MOMENTUM,
    CLSI_OF_ENTROPY_PART, /* one of them */
    CLSI_OF_TEMPERATURE,
    CLSI_OF_INVARIANT,
    CLSI_OF_OUTPUT,
    CLSI_OF_POWER /* rate of an account: work, heat, entropy of the outside */
} clsi_quantity_kind;

typedef struct clsi_quantity {
    char name[128]; /* its column in a table */
    clsi_quantity_kind kind;
    size_t index; /* which velocity, entropy, ... */
    cls_node node;
    double *value;  /* (rows) */
    double *held;   /* (rows), of powers: with the inputs of the row before; NULL without inputs */
    double *middle; /* (rows), of powers: halfway from the row before; else NULL */
    double *scale;  /* (parts) largest size of any additive term of the formula; never 0 */
    /* (parts) what rounding the states to doubles may change it by; 0 where it is not wanted */
    double *rounded;
} clsi_quantity;

cls_status clsi_quantities_create(const cls_system *s, const clsi_states *st, clsi_quantity **out,
                                  size_t *n, cls_error *error);
void clsi_quantities_free(clsi_quantity **list, size_t n);
/* The next one of a kind after `from` (NULL: the first); NULL when there is none. */
const clsi_quantity *clsi_quantity_next(const clsi_quantity *list, size_t n,
                                        clsi_quantity_kind kind, const clsi_quantity *from);

/* What is judged instead of the second law where frictions come with thermal noise (noise.c). */
cls_status clsi_audit_noise(cls_audit *a, const cls_system *s, const clsi_states *st,
                            const clsi_quantity *entropy, cls_error *error);

#endif
