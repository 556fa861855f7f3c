/* What the items of paper 004 share: motions as --sample draws them, positions as data, models
 * judged by runs from two positions (reproduce_dtlm.c). */
#ifndef CLAUSIUS_CLI_REPRODUCE_DTLM_H
#define CLAUSIUS_CLI_REPRODUCE_DTLM_H

#include "reproduce.h"

typedef struct cli_motions {
    const cls_system *s;
    size_t n, columns;
    uint64_t steps;
    double *rows; /* (n, steps + 1, columns) */
} cli_motions;

/* n motions by bdf, starts drawn by `draws`. rows are the caller's. */
cls_status cli_motions_make(const cls_system *s, const char *draws, uint64_t seed, size_t n,
                            uint64_t steps, double h, cli_motions *out, cls_error *error);
/* trajectory, time and the positions, with normal noise added when sigma > 0. */
cls_status cli_motions_positions(const cli_motions *m, double sigma, uint64_t seed, cls_table **out,
                                 cls_error *error);

/* Mean squares of positions and of the true energy, variance of the modelled energy in time. */
typedef struct cli_score {
    double value[3], seconds;
} cli_score;
/* Added to `out`: a mean over the motions, which a run that fails makes infinite. */
cls_status cli_motions_judge(const cli_motions *truth, const cls_system *model, const char *scheme,
                             double h, cli_score *out, cls_error *error);

#endif
