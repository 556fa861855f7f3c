/* page, inside: one self-contained HTML page about systems, models and trajectories.
 *
 *   html.c     text that is safe in HTML
 *   chart.c    curves as inline SVG, with the numbers behind them
 *   panel.c    a measured channel and its simulation, small, with the residual below
 *   mathml.c   formulas as MathML, from the LaTeX that the graph writes
 *   measure.c  what the page reports: simulations, scores, laws
 *   doubt.c    bands of what the data allow
 *   compare.c  measured and simulated: which are drawn, the scores
 *   energy.c   energy, entropy, exergy
 *   sankey.c   where the energy went, as bands
 *   found.c    parameters with intervals, what the data cannot tell, how learning went
 *   learned.c  learned functions as curves over the range of the data
 *   surface.c  a function of two inputs as a map of levels
 *   try_it.c   the model, to be run in the page
 *   cards.c    the figures that one looks for first
 *   made.c     provenance
 *   report.c   the sections in order
 *
 * page.css, zoom.js and try.js are embedded as texts. */
#ifndef CLSI_PAGE_H
#define CLSI_PAGE_H

#include "base/base.h"
#include <clausius/audit.h>
#include <clausius/report.h>
#include <clausius/simulate.h>
#include <clausius/start.h>

/* ---- html.c ---- */

enum { CLSI_HTML_NAME = 160 };
/* Appends s with <, >, &, quotes escaped; control characters and marks that turn the direction of
 * writing are left out. Names longer than `most` bytes (0: any) end with an ellipsis. */
void clsi_html(clsi_text *t, const char *s, size_t most);
/* The same for the inside of a JSON string. */
void clsi_json_string(clsi_text *t, const char *s);
void clsi_json_number(clsi_text *t, double x); /* null when it is not finite */

/* ---- chart.c ---- */

typedef enum clsi_mark { CLSI_LINE, CLSI_POINTS } clsi_mark;
typedef struct clsi_series {
    const char *label;
    clsi_mark mark;
    size_t n;
    const double *x, *y;
    int style;                /* 0 .. 5: colour and dashes */
    const double *low, *high; /* a band about the line, NAN: none there; NULL: no band */
} clsi_series;
typedef struct clsi_chart {
    const char *title, *x_label, *y_label, *note; /* note NULL: none */
    size_t n;
    const clsi_series *series;
    double shade_from, shade_to; /* outside of it the ground is shaded; NAN: nowhere */
    size_t n_rug;                /* values of x that were seen, as marks on the axis */
    const double *rug;
} clsi_chart;
/* A figure with title, description, and a table of at most 24 rows in <details>; it is as wide as a
 * column of a <div class="grid">. */
void clsi_chart_write(clsi_text *t, const clsi_chart *c);
/* The places of the least and the largest of y in each of `slices` equal slices, in their order; all
 * where there are not more than two per slice. keep: room for 2 slices. Returns how many. */
size_t clsi_thin(size_t n, const double *y, size_t slices, size_t *keep);
/* A round step that divides the range into about n. */
double clsi_tick(double range, int n);
/* The one behind x; behind everything where the step is below the rounding of x. */
double clsi_next_tick(double x, double step);
/* A number beside a mark, with as many digits as steps of this size need. */
void clsi_tick_label(clsi_text *t, double x, double step);

/* ---- panel.c ---- */

typedef struct clsi_panel {
    const char *title, *unit, *note; /* unit "": none; note NULL: none */
    size_t n;                        /* measured */
    const double *time, *y;
    size_t n_lines; /* simulated, at the same times, perhaps ending early */
    const clsi_series *lines;
    const double *low, *high; /* band about the first line; NULL: none */
    double held_from;         /* from this time on the data were not learned from; NAN: no such */
} clsi_panel;
void clsi_panel_write(clsi_text *t, const clsi_panel *p);

/* ---- mathml.c ---- */

/* One formula of the LaTeX that cls_print_latex writes; what it does not know becomes text. */
void clsi_mathml(clsi_text *t, const char *latex, size_t n);

/* ---- measure.c ---- */

typedef struct clsi_channel {
    const char *name;                 /* borrowed from the data table */
    double rmse, persistence, spread; /* over all rows of all trajectories */
    double
        trivial; /* what rmse is held against: persistence, at least LEAST of the most in its array */
    double size; /* root mean square of the values */
    size_t rows;
    int own; /* of learned formulas: nothing is measured by it */
} clsi_channel;

/* A trajectory of the data and the free run of a subject at its times. */
typedef struct clsi_trial {
    const char *file;   /* borrowed */
    size_t first, rows; /* in the table */
    const cls_table *data;
    cls_table *run;   /* NULL: it could not be made */
    cls_error why;    /* then */
    size_t number;    /* counted over all trajectories of the data, from 0 */
    double error;     /* root mean square error of its channels, each over its spread; INFINITY: it
                     * does not run to the end */
    int learned;      /* 1: from these rows the subject was learned, 0: not, -1: not known */
    double held_from; /* learned = 1, and rows from this time on were kept back; NAN: none */
} clsi_trial;

typedef struct clsi_subject {
    const cls_report_subject *given;
    const cls_system *system;
    cls_table *own;          /* simulated here */
    const cls_table *motion; /* own, or the trajectory that was given */
    cls_simulate_info laws;
    int simulated;
    size_t followed;   /* the motion is the run of this trial, from 1; 0: it is not */
    cls_error stopped; /* .message[0]: why the simulation ended early */
    cls_audit *audit;
    cls_error unjudged;       /* .message[0]: why there is no audit */
    size_t n_trials, n_found; /* followed, of so many in the data */
    clsi_trial *trials;
    size_t n_channels;
    clsi_channel *channels;
} clsi_subject;

cls_status clsi_subject_measure(clsi_subject *s, const cls_report_subject *given, size_t n_data,
                                const cls_table *const *data, const char *const *names,
                                cls_error *error);
void clsi_subject_clear(clsi_subject *s);
/* Does it follow from other channels that are there? */
int clsi_is_derived(const clsi_subject *s, const char *name);
int clsi_has_entropy(const clsi_subject *s); /* its motion has */
/* The free run of a trial; why it could not be made is in the trial. */
cls_status clsi_trial_follow(const cls_system *system, const cls_starter *starter,
                             clsi_trial *trial, cls_error *error);

/* ---- doubt.c ---- */

/* Between which values 90 % of the runs lie that the data allow: (columns of the system, rows) each,
 * the caller's. NULL: the model does not say how sure it is. */
cls_status clsi_trial_bands(const clsi_subject *s, const clsi_trial *trial, double **low,
                            double **high, cls_error *error);

/* ---- compare.c ---- */

/* The section, and one of the scores; nothing without data. */
cls_status clsi_compare(clsi_text *t, size_t n, const clsi_subject *subjects, int script,
                        cls_error *error);

/* ---- energy.c ---- */

void clsi_energy(clsi_text *t, const clsi_subject *s); /* it has a motion */

/* ---- cards.c, made.c ---- */

void clsi_cards(clsi_text *t, const clsi_subject *s);
void clsi_made(clsi_text *t, const cls_model *m);

/* ---- sankey.c ---- */

/* Energies that came in as work and heat, what is stored more, exergy destroyed at T0 (0: unknown). */
void clsi_sankey(clsi_text *t, double work, double heat, double stored, double lost, double T0);

/* ---- found.c ---- */

/* Of a normal distribution, on both sides of it 5 %. */
#define CLSI_NINETY 1.6448536269514722

/* A table of the parameters that were learned, nothing where there are none. */
void clsi_found_parameters(clsi_text *t, const clsi_subject *s);
/* How rows that were kept back were predicted while it was learned; nothing where none were. */
void clsi_found_scores(clsi_text *t, const clsi_subject *s);
/* What the data cannot tell, as a list; nothing where nothing is known of it. */
void clsi_found_doubts(clsi_text *t, const clsi_subject *s);
void clsi_found_json(clsi_text *t, const cls_model *m);
/* What the provenance has under this key, as JSON; null: nothing. */
void clsi_found_record(clsi_text *t, const cls_model *m, const char *key);
/* The loss while it was learned, or that there were no iterations. */
void clsi_training_curve(clsi_text *t, const cls_model *m);

/* ---- learned.c ---- */

/* Every learned function of the subject's model, one figure for each input, with marks where the free
 * runs over the data were; of two inputs a surface too. */
void clsi_learned_figures(clsi_text *t, const clsi_subject *s);
void clsi_learned_json(clsi_text *t, const cls_model *m);

/* ---- surface.c ---- */

typedef struct clsi_surface {
    const char *title, *x_label, *y_label;
    double x0, x1, y0, y1;             /* what is drawn */
    double low[2], high[2];            /* outside of it there were no data */
    size_t n, n_seen;                  /* n by n values, row by row from y0 up */
    const double *z, *x_seen, *y_seen; /* where the data were */
    const char *note; /* behind the title; NULL: what is said of learned functions */
} clsi_surface;
void clsi_surface_write(clsi_text *t, const clsi_surface *s);

/* ---- try_it.c ---- */

void clsi_try_it(clsi_text *t, const clsi_subject *s);

#endif
