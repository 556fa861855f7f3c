/* Starts of motions: of systems and of learned models, by names or from a row of a table.
 *
 * The start in a model's system file was written for the formulas of that file: S = 1 there is not
 * S = 1 of a learned formula, whose entropy has an origin of its own. So what is not given is taken
 * from the file as a state of the file's own system, in its native variables. */
#ifndef CLAUSIUS_START_H
#define CLAUSIUS_START_H

#include <clausius/model.h>
#include <clausius/status.h>
#include <clausius/system.h>
#include <clausius/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What completes starts; const once created. */
typedef struct cls_starter cls_starter;

/* Of a system (model NULL), or of a model (system NULL); both outlive the starter. */
CLS_API cls_status cls_starter_create(const cls_system *system, const cls_model *model,
                                      cls_starter **out, cls_error *error);
CLS_API void cls_starter_free(cls_starter **starter);
/* Any of q, v.q or p.q, S or T by name; `given` may be NULL. `state`: cls_system_state_count. */
CLS_API cls_status cls_starter_state(const cls_starter *starter, const cls_assignments *given,
                                     double *state, cls_error *error);
/* Row `row` of a table, or the last one when there are fewer, as a start; `name` is the table's in
 * messages. The native state is taken bit for bit when the table has it, else it is completed: heat
 * that it does not have from the system's own start, velocities from neighbouring positions. A
 * table that has positions but neither velocities nor momenta gives the momentum that leads from
 * this row to the next (at the end: from the one before) in one step of the default scheme. */
CLS_API cls_status cls_starter_row(const cls_starter *starter, const cls_table *t, size_t row,
                                   const char *name, double *time, double *state, cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
