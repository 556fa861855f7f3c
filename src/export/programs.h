/* The programs of a step as C (programs.c). */
#ifndef CLSI_EXPORT_PROGRAMS_H
#define CLSI_EXPORT_PROGRAMS_H

#include "export/export.h"
#include "expr/program.h"

/* What the programs of both variants use. */
void clsi_export_used(const clsi_export *e, clsi_programs_use *use);
/* The functions of all programs; to `kernels`, `weights` and `calls` what networks are and are computed with, in this order
 * before them; to `choices` clsi_NAME(changed, in, room, out) that chooses among the variants. Counts what the header
 * needs. */
cls_status clsi_append_programs(clsi_text *kernels, clsi_text *weights, clsi_text *calls,
                                clsi_text *out, clsi_text *choices, clsi_export *e,
                                cls_error *error);
/* The functions of programs with names for the numbers that they have in common (constants.c). */
cls_status clsi_name_constants(const char *text, clsi_text *out, cls_error *error);

#endif
