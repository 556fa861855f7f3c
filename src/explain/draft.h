/* explain, inside: a draft between its columns (draft.c) and its text (draft_text.c). */
#ifndef CLSI_EXPLAIN_DRAFT_H
#define CLSI_EXPLAIN_DRAFT_H

#include "base/base.h"
#include <clausius/draft.h>
#include <clausius/table.h>

typedef enum clsi_role {
    COORDINATE,
    ANGLE,
    VELOCITY,
    TEMPERATURE,
    AMBIENT,
    INPUT,
    HEAT,
    AMOUNT, /* of a substance */
    CONSTANT,
    TIME,
    GROUP, /* the number of a motion */
    NAMED, /* v.x beside x: what systems call a velocity */
    COUNTER
} clsi_role;

typedef struct clsi_draft_column {
    const char *name, *unit; /* of the file; unit NULL: none */
    char stem[64];           /* the name without a unit at its end */
    int said_by_name;        /* the unit stood there, as in x_mm: a guess */
    char variable[48];
    clsi_role role;
    int hidden; /* a coordinate of which only the velocity is measured */
    int held;   /* stays where it is for most rows, then jumps: a switch */
    double first;
    cls_column_facts facts;
} clsi_draft_column;

typedef struct clsi_draft {
    size_t n;
    clsi_draft_column *c;
    const char *from, *next;
    double spacing, span; /* of times, in seconds where their unit is known; 0: not known */
    clsi_text *f;
} clsi_draft;

/* The k-th column of either role; NULL: there are fewer. */
clsi_draft_column *clsi_draft_nth(const clsi_draft *d, clsi_role a, clsi_role b, size_t k);
size_t clsi_draft_count(const clsi_draft *d, clsi_role a, clsi_role b);
clsi_draft_column *clsi_draft_coordinate(const clsi_draft *d, size_t k);
size_t clsi_draft_coordinates(const clsi_draft *d);
/* Does the unit convert to one of these (the last is NULL)? */
int clsi_draft_is_unit(const char *unit, const char *const *of);
int clsi_draft_is_chemistry(const clsi_draft *d);

/* ---- draft_text.c ---- */

void clsi_draft_write(const clsi_draft *d, const char *name);

#endif
