/* learn, inside: parameters and parts from recordings as instruments write them. */
#ifndef CLSI_MEASURED_H
#define CLSI_MEASURED_H

#include "learn/recording.h"
#include <clausius/learn.h>

/* Is there a parameter to learn: open in the file, or named by the caller? */
int clsi_has_open_parameters(const cls_system *s, const cls_learn_options *o);
cls_status clsi_learn_measured(const cls_system *system, const cls_assignments *set,
                               size_t n_tables, const cls_table *const *tables,
                               const char *const *names, const cls_learn_options *o,
                               cls_model **out, cls_learn_info *info, cls_error *error);

/* Steps of order two where the data are dense; of order four, longer ones, where they are not. The
 * scheme's name, and the longest step. asked: the caller's scheme, or NULL. */
const char *clsi_measured_steps(const cls_system *open, const clsi_recording *data,
                                const char *asked, double *most);

/* ---- complete.c ---- */

/* Do the tables lack a state, have they a temperature or an entropy? */
int clsi_lacks_states(const cls_system *s, size_t n_tables, const cls_table *const *tables);
int clsi_has_heat_column(const cls_system *s, size_t n_tables, const cls_table *const *tables);
/* States of the points that were not observed, from what the equations imply. */
struct clsi_points;
cls_status clsi_points_complete(const cls_system *system, const cls_assignments *set,
                                const cls_learn_options *o, const clsi_recording *data,
                                struct clsi_points *p, cls_error *error);

#endif
