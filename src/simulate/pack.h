/* Members of an ensemble that are advanced together, one in each lane. */
#ifndef CLSI_PACK_H
#define CLSI_PACK_H

#include "simulate/simulator.h"

typedef struct clsi_pack clsi_pack;

/* Whether the step is one that lanes can make. */
int clsi_pack_applies(const clsi_stepper *sp);
/* How many members a pack has: of all packs of a stepper, before the first is made. */
size_t clsi_pack_lanes(clsi_stepper *sp, size_t members, int threads);
/* The stepper must outlive the pack. */
cls_status clsi_pack_create(clsi_stepper *sp, clsi_pack **out, cls_error *error);
void clsi_pack_free(clsi_pack **pack);
/* n <= lanes members from starts (n, state count). A member that cannot start stays out, with its
 * error in clsi_pack_error. */
void clsi_pack_start(clsi_pack *p, size_t n, const double *starts);
/* n steps of every member that is still under way, with the bits of cls_simulator_advance. */
void clsi_pack_advance(clsi_pack *p, uint64_t n);
/* The row of member i. */
cls_status clsi_pack_row(clsi_pack *p, size_t i, double *row, cls_error *error);
/* CLS_OK while member i is under way. */
cls_status clsi_pack_status(const clsi_pack *p, size_t i, cls_error *error);

#endif
