/* export, inside: an FMU, its variables and what depends on what. */
#ifndef CLSI_FMU_H
#define CLSI_FMU_H

#include "export/export.h"

typedef struct clsi_fmu_variable {
    const char *name, *unit, *causality, *variability, *initial; /* unit, initial may be NULL */
    char *owned;                                                 /* the name, where it was made */
    char description[160];
    int has_start;
    double start;
    size_t derivative_of; /* the value reference of a state, 0 for none */
} clsi_fmu_variable;

/* Variables in the order of their value references. */
typedef struct clsi_fmu {
    clsi_export *e;
    int version; /* 2 or 3 */
    char token[80];
    size_t n, n_outputs;
    clsi_fmu_variable *variables;
    size_t *output_column;   /* (n_outputs) */
    size_t n_inputs, *input; /* those without a formula: which of the system's */
    double *start_row;       /* (columns) at the default start */
    size_t width;            /* n_state + inputs of the system + parameters + time */
    uint32_t *row;           /* (width) scratch */
    int failed;              /* no memory for them */
    clsi_needs depends;      /* rows are variables: on these, ascending */
} clsi_fmu;

/* Adds the binaries that can be made to `out`; counts them. */
cls_status clsi_fmu_binaries(const clsi_fmu *f, const clsi_outputs *sources, clsi_outputs *out,
                             int *count, cls_error *error);
void clsi_fmu_describe(const clsi_fmu *f, clsi_text *out);
void clsi_fmu_build_description(const clsi_fmu *f, clsi_text *out);

#endif
