/* explain, inside: a draft between its columns (draft.c) and its text (draft_text.c, draft_kinds.c). */
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
    RATE,   /* an angular velocity of a body that turns */
    OUTPUT, /* the voltage of a cell */
    CONSTANT,
    LEFT_OUT,
    TIME,
    GROUP, /* the number of a motion */
    NAMED, /* v.x beside x: what systems call a velocity */
    COUNTER
} clsi_role;

typedef struct clsi_draft_column {
    const char *name, *unit; /* of the file; unit NULL: none */
    const char *in;          /* the unit of the variable; NULL: that of the file */
    char stem[64];           /* the name without a unit at its end */
    int said_by_name;        /* the unit stood there, as in x_mm: a guess */
    char variable[48];
    const char *why; /* it is left out */
    clsi_role role;
    int hidden; /* a coordinate of which only the velocity is measured */
    int held;   /* stays where it is for most rows, then jumps: a switch */
    double first;
    cls_column_facts facts;
    int rests;           /* a coordinate that stays where it is for a while, having moved */
    double speed, reach; /* of a coordinate, in the units of the draft; 0: not known */
} clsi_draft_column;

typedef struct clsi_draft clsi_draft;

/* A system of its own kind: `takes` says whether these columns are of it, and gives them their roles. */
typedef struct clsi_draft_kind {
    int (*takes)(clsi_draft *d, const cls_table *t);
    void (*write)(const clsi_draft *d); /* behind the head */
} clsi_draft_kind;
extern const clsi_draft_kind clsi_draft_body, clsi_draft_cell, clsi_draft_chemistry;

struct clsi_draft {
    size_t n;
    clsi_draft_column *c;
    const char *from, *next;
    const clsi_draft_kind *kind; /* NULL: bodies on lines, angles, temperatures */
    double spacing, span;        /* of times, in seconds where their unit is known; 0: not known */
    double resistance,
        charge; /* of a cell: how its voltage answers (negative: the current charges it), what flows */
    clsi_text *f;
};

/* The k-th column of either role; NULL: there are fewer. */
clsi_draft_column *clsi_draft_nth(const clsi_draft *d, clsi_role a, clsi_role b, size_t k);
size_t clsi_draft_count(const clsi_draft *d, clsi_role a, clsi_role b);
clsi_draft_column *clsi_draft_coordinate(const clsi_draft *d, size_t k);
size_t clsi_draft_coordinates(const clsi_draft *d);
/* Does the unit convert to one of these (the last is NULL)? */
int clsi_draft_is_unit(const char *unit, const char *const *of);

/* ---- draft_motion.c ---- */

/* speed, reach and rests of a coordinate with these values; time NULL: rows are equally far apart. */
cls_status clsi_draft_look_at_motion(const clsi_draft *d, clsi_draft_column *c, const double *v,
                                     const double *time, size_t n, cls_error *error);

/* ---- draft_text.c ---- */

void clsi_draft_write(const clsi_draft *d, const char *name);
/* Lines of it, for the kinds: inputs and what is left out, `data` lines, step and end, the range of a column. */
void clsi_draft_write_inputs(const clsi_draft *d);
void clsi_draft_write_columns(const clsi_draft *d);
void clsi_draft_write_step(const clsi_draft *d);
void clsi_draft_write_range(const clsi_draft *d, const clsi_draft_column *c);
/* The first value in a unit, as it is where the column has none that converts to it. */
double clsi_draft_first(const clsi_draft_column *c, const char *unit);
/* What a first value of a column of temperatures is in kelvin; its unit, degC by guess. */
const char *clsi_draft_kelvin(const clsi_draft_column *c, double *value);

#endif
