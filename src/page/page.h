/* page, inside: one self-contained HTML page about systems, models and trajectories.
 *
 *   html.c     text that is safe in HTML
 *   chart.c    curves as inline SVG, with the numbers behind them
 *   mathml.c   formulas as MathML, from the LaTeX that the graph writes
 *   measure.c  what the page reports: simulations, scores, laws
 *   learned.c  learned functions as curves over the range of the data
 *   try_it.c   the model, to be run in the page
 *   report.c   the sections in order */
#ifndef CLSI_PAGE_H
#define CLSI_PAGE_H

#include "base/base.h"
#include <clausius/audit.h>
#include <clausius/report.h>
#include <clausius/simulate.h>

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
    int style; /* 0 .. 5: colour and dashes */
} clsi_series;
typedef struct clsi_chart {
    const char *title, *x_label, *y_label, *note; /* note NULL: none */
    size_t n;
    const clsi_series *series;
    double shade_from, shade_to; /* outside of it the ground is shaded; NAN: nowhere */
    int height;                  /* of 720 wide; 0: 240 */
    int logarithmic;             /* powers of ten of |y| */
} clsi_chart;
/* A figure with title, description, and a table of at most 60 rows in <details>. */
void clsi_chart_write(clsi_text *t, const clsi_chart *c);

/* ---- mathml.c ---- */

/* One formula of the LaTeX that cls_print_latex writes; what it does not know becomes text. */
void clsi_mathml(clsi_text *t, const char *latex, size_t n);

/* ---- measure.c ---- */

typedef struct clsi_channel {
    const char *name;                 /* borrowed from the data table */
    double rmse, persistence, spread; /* over all rows of all trajectories */
    size_t rows;
} clsi_channel;

/* A trajectory of the data and the free run of a subject at its times. */
typedef struct clsi_trial {
    const char *file;   /* borrowed */
    size_t first, rows; /* in the table */
    const cls_table *data;
    cls_table *run; /* NULL: it could not be made */
    cls_error why;  /* then */
} clsi_trial;

typedef struct clsi_subject {
    const cls_report_subject *given;
    const cls_system *system;
    cls_table *own;          /* simulated here */
    const cls_table *motion; /* own, or the trajectory that was given */
    cls_simulate_info laws;
    int simulated;
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

/* ---- learned.c ---- */

void clsi_learned_curves(clsi_text *t, const cls_model *m, int json);

/* ---- try_it.c ---- */

void clsi_try_it(clsi_text *t, const clsi_subject *s);

#endif
