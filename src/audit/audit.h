/* audit: the inside of the judge. It includes system, data and what is before them; never a scheme
 * or the simulator (law L7 of docs/laws.md). */
#ifndef CLSI_AUDIT_H
#define CLSI_AUDIT_H

#include "base/base.h"
#include "system/system.h"
#include <clausius/audit.h>

struct cls_audit {
    cls_audit_options options;
    cls_law *laws;
    size_t n, capacity;
};

/* Appends a law, named `kind` or `kind subject` (subject may be NULL). A value or limit that is not
 * finite is written as the largest double, so that files stay readable. */
cls_status clsi_law_add(cls_audit *a, const char *kind, const char *subject, int passed,
                        double value, double limit, cls_error *error, const char *format, ...)
    CLS_PRINTF(8, 9);

/* Many laws from number `begin` on that are of one kind and hold become one. */
void clsi_laws_gather(cls_audit *a, size_t begin);

/* The native states of a table, ordered by trajectory, structure of arrays. */
typedef struct clsi_states {
    size_t nz, rows, parts;
    size_t *row;   /* (rows) row of the table this came from */
    size_t *first; /* (parts + 1) where each trajectory begins */
    double *id;    /* (parts) its number; 0 without a trajectory column */
    size_t nu;     /* inputs of the system */
    double *z;     /* (nz + 1 + nu, rows): z, the time, inputs: what every program here takes */
    double *account[CLSI_ACCOUNTS]; /* (rows) each, NULL where the system has none */
    double *received;               /* (rows) work and heat together, NULL without both */
    int numbered;                   /* the table has a trajectory column */
} clsi_states;

cls_status clsi_states_read(const cls_system *s, const cls_table *t, clsi_states *out,
                            cls_error *error);
void clsi_states_clear(clsi_states *st);
/* The time of state k. */
double clsi_states_time(const clsi_states *st, size_t k);
/* "time 3.2", "time 3.2 of trajectory 4". */
typedef struct clsi_where {
    char text[80];
} clsi_where;
clsi_where clsi_states_where(const clsi_states *st, size_t k);

/* The program that computes `count` nodes from (z, t, u). */
cls_status clsi_audit_program(const cls_system *s, size_t count, const cls_node *nodes,
                              cls_program **out, cls_error *error);
/* Nodes over q,v,p,S,T,t,u rewritten over (z, t, u). */
cls_status clsi_audit_native(const cls_system *s, size_t count, const cls_node *nodes,
                             cls_node *out, cls_error *error);

/* Laws along the path (path.c) and of the definition (definition.c). */
cls_status clsi_audit_path(cls_audit *a, const cls_system *s, const cls_table *t,
                           const clsi_states *st, cls_error *error);
cls_status clsi_audit_definition(cls_audit *a, const cls_system *s, const clsi_states *st,
                                 cls_error *error);

#endif
