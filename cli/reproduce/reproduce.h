/* What reproduce.c and its items share: an item measures, and hands in cells; reproduce.c judges
 * and prints them. An item is one const cli_item in cli/reproduce/ and one line in reproduce.c.
 */
#ifndef CLAUSIUS_CLI_REPRODUCE_H
#define CLAUSIUS_CLI_REPRODUCE_H

#include "cli/cli.h"

/* Numbers of the paper, and those expected, are texts: their last digit says how well they are
 * known. Every text is borrowed from the item's constants. */
typedef struct cli_cell {
    char row[64];
    const char *column;
    const char *paper;    /* as printed, "5.41e-4"; NULL: the paper has no such number */
    const char *expected; /* "6.182e-7", "<=1e-13" or ">=0.1"; NULL: shown, not judged */
    double tolerance;     /* relative; 0: half a unit of the last digit of `expected` */
    double ours;
    int beaten;          /* smaller than the paper's is better: an error of the same kind */
    const char *differs; /* why ours is not the paper's number */
    const char *note;
} cli_cell;

/* A figure of the paper, drawn from our runs: FOLDER/NAME.svg. */
typedef struct cli_figure {
    const char *name, *title;
    const char *paper;          /* what the paper's figure shows */
    const char *const *columns; /* as cls_plot takes them, NULL at the end */
} cli_figure;

enum { cli_most_figures = 12, cli_most_curves = 8 };

typedef struct cli_findings {
    const struct cli_item *item; /* that is run */
    int quick, quiet;            /* --quick; no progress wanted */
    uint64_t literal;            /* steps of the paper's own method of learning; 0: not wanted */
    const char *folder;          /* for pictures and for what is kept, NULL: none wanted */
    const char *only;            /* of its systems; NULL: all */
    size_t wanted_trials;        /* 0: as many as the paper */
    struct cli_trials *trials;   /* of the dtlm tables: kept from one item to the next */
    size_t n, capacity;
    cli_cell *cells;
    int full;         /* a cell had no memory: the item fails at its end */
    size_t n_figures; /* drawn by the item that is run */
    cli_figure figures[cli_most_figures];
    size_t n_curves; /* runs kept to be drawn */
    cls_table *curves[cli_most_curves];
    char label_texts[cli_most_curves][64];
    const char *labels[cli_most_curves]; /* into the texts */
} cli_findings;
/* In the row of this text. */
void cli_add_cell(cli_findings *f, cli_cell cell, const char *row, ...) CLS_PRINTF(3, 4);

typedef struct cli_item {
    const char *name;
    const char *doc;  /* one line */
    const char *text; /* what was run and what to know about it; each line ends in \n */
    cls_status (*run)(cli_findings *f, cls_error *error);
    const void *subject; /* of items that share `run` */
} cli_item;

extern const cli_item cli_dtel_table_2, cli_dtel_table_3, cli_dtel_table_4, cli_dtel_forced,
    cli_dtel_noether;
extern const cli_item cli_qp_pendulum;
extern const cli_item cli_gfinn_gas, cli_spnn_pendulum;
extern const cli_item cli_ephs_graphs, cli_ephs_6_4, cli_ephs_6_5, cli_ephs_7_3, cli_ephs_7_4,
    cli_ephs_7_5;
extern const cli_item cli_dtlm_table_2, cli_dtlm_table_3, cli_dtlm_noise;
extern const cli_item cli_dgnet_noise, cli_dgnet_real, cli_dgnet_bodies, cli_dgnet_kdv,
    cli_dgnet_ch;
extern const cli_item cli_vnots_piston_a, cli_vnots_piston_b, cli_vnots_piston_c;
extern const cli_item cli_vnots_body_a, cli_vnots_body_b, cli_vnots_body_c;

/* ---- figures (figures.c) ---- */

/* Drawn when there is a folder. Texts are borrowed until the item's end. */
cls_status cli_draw_figure(cli_findings *f, const cli_figure *figure, size_t n,
                           const cls_table *const *tables, const char *const *labels,
                           cls_error *error);
/* *t is kept for a figure with several runs, or freed when none is wanted; NULL afterwards. */
void cli_keep_curve(cli_findings *f, const char *label, cls_table **t);
cls_status cli_draw_curves(cli_findings *f, const cli_figure *figure, cls_error *error);
/* The same curves as `energy - its first value` and `mean |error|` over n columns; the first curve
 * is the truth. */
cls_status cli_draw_errors(cli_findings *f, const cli_figure *figure, size_t n,
                           const char *const *columns, cls_error *error);
void cli_forget_curves(cli_findings *f);
/* The folder is there and can be written to, made if need be. */
cls_status cli_make_folder(const char *path, cls_error *error);
/* A table or figure of a paper (papers.c): the items and pictures, names with blanks between, or why there
 * is nothing to run. The last has no paper. */
typedef struct cli_exhibit {
    const char *paper, *number, *shows;
    const char *items, *figures;
    const char *note;
} cli_exhibit;
extern const cli_exhibit cli_exhibits[];
/* FOLDER/index.html (index.c) from what as_json gives for each item. */
cls_status cli_write_index(const char *folder, const json_t *items, cls_error *error);

/* ---- what is kept of a finished item (kept.c) ---- */

/* `result` gets how and when f->item was run, and is kept when there is a folder. */
cls_status cli_keep_item(const cli_findings *f, json_t *result, double seconds, cls_error *error);
/* The caller's; NULL: none. */
json_t *cli_kept_item(const cli_findings *f, const cli_item *item);
/* Was it run with the options of this call? */
int cli_kept_fits(const cli_findings *f, const cli_item *item, const json_t *kept);

/* ---- learning from what a system does (learn.c) ---- */

/* n_points of each of n trajectories by bdf, with a column `trajectory`. */
cls_status cli_observe(const cls_system *s, size_t n, const double *starts, size_t n_points,
                       double h, cls_table **out, cls_error *error);
/* cls_learn with progress; `name` is for the record, the data were made here. */
cls_status cli_learning(const cli_findings *f, const cls_system *s, const cls_table *data,
                        const char *name, cls_learn_options options, cls_model **model,
                        cls_learn_info *info, cls_error *error);
/* The same of a system's text, by the defaults. */
cls_status cli_learn_text(const cli_findings *f, const char *text, const char *system,
                          const cls_table *data, const char *name, cls_model **model,
                          cls_learn_info *info, cls_error *error);
/* A system with other lines in the place of those that begin so, and of what goes on with them. anchors: printed behind
 * them, NULL: none; then there is no start in entropies, because what is learned has its own. */
typedef struct cli_line {
    const char *begin, *line;
} cli_line;
cls_status cli_rewrite(const cls_system *s, const char *name, size_t n, const cli_line *lines,
                       void (*anchors)(FILE *to), cls_system **out, cls_error *error);
/* As V-NOTS learns: mean squares of a scheme's rows, all alike, and of the anchors, Adam from 1e-3 to `last_rate`,
 * its last iterate; a step has 1,000 pairs where an epoch of the paper has 100,000. With -o DIR it goes on from
 * DIR/FILE.checkpoint and leaves DIR/FILE.safetensors. */
typedef struct cli_literal {
    size_t n_unknown;
    const char *const *unknown;
    const char *scheme;
    double last_rate;
    int anchored;
    uint64_t pairs, equations;
} cli_literal;
cls_status cli_learn_literally(const cli_findings *f, const cls_system *s, const cls_table *data,
                               const char *file, const cli_literal *how, cls_model **model,
                               cls_learn_info *info, cls_error *error);
/* Steps of a simulation that stops before its end. */
double cli_count_steps(const cls_system *s, const double *start, const char *scheme, double h);
/* A cell whose paper's number, if any, is an error to be beaten. */
void cli_add_number(cli_findings *f, const char *row, const char *column, const char *paper,
                    const char *expected, double ours, const char *note);

/* ---- short motions kept in memory ---- */

/* A row at each of `steps` steps of h. */
cls_status cli_short_run(const cli_motion *m, const char *scheme, cls_first_step first, double h,
                         uint64_t steps, cls_table **out, cls_error *error);
/* A column that the system is known to have. */
const double *cli_series(const cls_table *t, const char *name);
/* The larger of `most` and |error|; a NaN stays (fmax would drop it). */
double cli_worse(double most, double error);
/* max |a_k - b_k| over the rows of both. */
double cli_max_distance(const cls_table *a, const cls_table *b, const char *column);
/* max |a_k - origin| over the rows from `first` on. */
double cli_max_drift(const cls_table *a, const char *column, double origin, size_t first);

#endif
