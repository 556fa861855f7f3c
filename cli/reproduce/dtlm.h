/* What the items of Deep DTLM share: motions as --sample draws them, positions as data, models
 * judged by runs from two positions (motions.c), and the trials of tables 2 and 3 (trials.c). */
#ifndef CLAUSIUS_CLI_REPRODUCE_DTLM_H
#define CLAUSIUS_CLI_REPRODUCE_DTLM_H

#include "cli/reproduce/reproduce.h"

/* ---- motions ---- */

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

/* Mean squares of positions and of the true energy, variance of the modelled energy in time;
 * processor seconds of the training. */
typedef struct cli_score {
    double value[3], seconds;
} cli_score;
/* Added to `out`: a mean over the motions, which a run that fails makes infinite. */
cls_status cli_motions_judge(const cli_motions *truth, const cls_system *model, const char *scheme,
                             double h, cli_score *out, cls_error *error);

/* The first motion, and a model's from its first two positions: time, positions, `energy` (the true one)
 * and how the modelled energy changes. */
cls_status cli_motions_truth(const cli_motions *truth, cls_table **out, cls_error *error);
cls_status cli_motions_curve(const cli_motions *truth, const cls_system *model, const char *scheme,
                             double h, cls_table **out, cls_error *error);

/* The known system by leapfrog: the variance of its energy as it is, and with the last half kick
 * of a step by the gradient where the step began; added as above. Masses are 1. */
cls_status cli_motions_kicks(const cli_motions *truth, double h, double *right, double *old,
                             cls_error *error);

/* ---- trials ---- */

enum { cli_n_trials = 15, cli_n_systems = 3, cli_n_rules = 4, cli_n_rows = 6 };

/* How a row learns and how it runs; rows with the same rule share a model. */
enum { cli_euler, cli_symplectic_euler, cli_leapfrog, cli_proposed, cli_mixed, cli_ours };
typedef struct cli_dtlm_row {
    const char *label;
    int rule; /* of cli_dtlm_rules */
    const char *scheme;
} cli_dtlm_row;
extern const cli_dtlm_row cli_dtlm_rows[cli_n_rows];
extern const char *const cli_dtlm_systems[cli_n_systems]; /* as the paper calls them */

/* Scores of the trials, kept from table to table of one call. */
struct cli_trials {
    size_t n[cli_n_systems]; /* 0: not wanted */
    unsigned char done[cli_n_systems][cli_n_trials][cli_n_rules];
    cli_score score[cli_n_systems][cli_n_rows][cli_n_trials];
};
/* f->trials, made when it is not there. */
cls_status cli_trials_run(cli_findings *f, cls_error *error);
/* The equation of a row solved for a polynomial instead: what a V can reach with it. */
cls_status cli_trials_floor(const cli_findings *f, size_t system, int row, cli_score *out,
                            cls_error *error);
/* The motion that the figures show, as kept by the first trial: of a row, or the truth (row cli_n_rows).
 * CLS_OK and NULL: it was not kept. */
cls_status cli_trials_curve(const cli_findings *f, size_t system, int row, cls_table **out,
                            cls_error *error);
/* cli_motions_kicks over the test motions of all trials of a system, 3 with --quick. */
cls_status cli_trials_kicks(const cli_findings *f, size_t system, double *right, double *old,
                            cls_error *error);

#endif
