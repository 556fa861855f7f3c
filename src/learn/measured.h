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

#endif
