/* What simulate.c and ensemble.c share: one job, as the command line describes it. */
#ifndef CLAUSIUS_CLI_SIMULATE_H
#define CLAUSIUS_CLI_SIMULATE_H

#include "cli.h"

typedef struct cli_job {
    const cli_arguments *a;
    cli_motion motion;
    cls_simulate_options options; /* scheme and h are filled in */
    uint64_t steps, every;
    cli_inputs inputs;
    size_t n_times; /* --at: rows at these times instead of every so many steps */
    double *times;
    size_t row;         /* of --from, from 1 on */
    const char *output; /* "-" is stdout; NULL: no rows are wanted (--json without -o) */
    int json, quiet;
} cli_job;

/* Rows of one motion. */
uint64_t cli_job_rows(const cli_job *job);
/* Opens the output of so many rows with its notes (system, set, scheme, h, version; sample and seed of
 * an ensemble). *out stays NULL when no rows are wanted. */
cls_status cli_job_open(const cli_job *job, uint64_t rows, cls_writer **out, cls_error *error);
cls_status cli_job_open_with(const cli_job *job, uint64_t rows, size_t n_columns,
                             const char *const *columns, cls_writer **out, cls_error *error);

/* The job with --samples: many starts, one file with a `trajectory` column. */
cls_status cli_ensemble(const cli_job *job, cls_error *error);

/* The job with --bands: a learned model with quantiles beside its columns. */
cls_status cli_bands(const cli_job *job, cls_error *error);

/* The job with --outputs legendre: columns p-.NAME and p+.NAME. */
cls_status cli_legendre(const cli_job *job, cls_error *error);

#endif
