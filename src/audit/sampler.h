/* audit, inside: the points at which laws of the definition are tried. */
#ifndef CLSI_SAMPLER_H
#define CLSI_SAMPLER_H

#include "audit/audit.h"

typedef struct clsi_sampler {
    cls_audit *a;
    const cls_system *s;
    const clsi_states *st;
    size_t block;                /* samples that are looked at together */
    double *low, *high, *stride; /* (nz + 1 + nu) the box, and the R_d sequence */
    double *in, *out;            /* blocks, structure of arrays */
    double *matrix;              /* room for an eigenvalue problem */
    size_t out_capacity;
} clsi_sampler;

/* a, s, st and block are set; the rest is zero. */
cls_status clsi_sampler_create(clsi_sampler *b, cls_error *error);
void clsi_sampler_clear(clsi_sampler *b);
/* Samples `begin` and following to b->in: the rows of the data first, then the points of the box.
 * Their number. */
size_t clsi_sampler_fill(clsi_sampler *b, size_t begin);

/* Momenta of motion: what they are when nothing moves, and their masses, are laws. Their velocities move
 * positions or turn a rigid body; what is declared as a momentum and moves nothing (an amount of
 * matter, a charge, the value of a field) has an energy, not a kinetic one: it need not be convex.
 * Without any where a total entropy is given: then momenta may be anything, such as internal energies. */
typedef struct clsi_kinetic {
    size_t n;
    size_t *momentum;        /* (n) */
    cls_node *native, *dual; /* (n) what is native of p and v, and the other over the state */
} clsi_kinetic;
cls_status clsi_kinetic_find(const cls_system *s, clsi_kinetic *out, cls_error *error);
void clsi_kinetic_clear(clsi_kinetic *m);

/* Systems with more momenta and entropies than this are judged by kinds (many.c). */
enum { CLSI_AUDIT_MANY = 40 };
cls_status clsi_audit_many(cls_audit *a, const cls_system *s, const clsi_states *st,
                           cls_error *error);

#endif
