/* learn, inside: parameters and parts from recordings as instruments write them. */
#ifndef CLSI_MEASURED_H
#define CLSI_MEASURED_H

#include "learn/recording/recording.h"
#include <clausius/learn.h>

/* ---- open.c ---- */

/* Is there a parameter to learn, is there a part: open in the file, or named by the caller? */
int clsi_has_open_parameters(const cls_system *s, const cls_learn_options *o);
int clsi_has_open_parts(const cls_system *s, const cls_learn_options *o);

/* What is to be learned: parameters (n) with where they begin and their bounds, and parts. */
typedef struct clsi_open {
    size_t n, n_parts;
    const char **name;
    double *value, *low, *high;
    unsigned char *vague; /* 1: it has no initial value */
    const char **part;
    /* the caller's values and, from `at` on, those of the parameters, which move with them */
    const char **set_names;
    double *set_values;
    size_t at;
} clsi_open;
cls_status clsi_open_create(const cls_system *s, const cls_learn_options *o, clsi_open *out,
                            cls_error *error);
/* Values for the text of the system: the caller's and those of the parameters. Lives as long as `open`. */
cls_status clsi_open_set(clsi_open *open, const cls_assignments *set, cls_assignments *out,
                         cls_error *error);
void clsi_open_clear(clsi_open *open);

/* ---- measured.c ---- */

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
/* A copy in *out in which rows of equal times of a trajectory are their mean, NULL where there are none;
 * without `average` they are refused. */
cls_status clsi_table_once(const cls_table *t, const char *file, int average, cls_table **out,
                           cls_error *error);
int clsi_lacks_states(const cls_system *s, size_t n_tables, const cls_table *const *tables);
int clsi_has_heat_column(const cls_system *s, size_t n_tables, const cls_table *const *tables);
/* States of the points that were not observed, from what the equations imply. */
struct clsi_points;
cls_status clsi_points_complete(const cls_system *system, const cls_assignments *set,
                                const cls_learn_options *o, const clsi_recording *data,
                                struct clsi_points *p, cls_error *error);

#endif
