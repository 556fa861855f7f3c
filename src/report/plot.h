/* report, inside: what a picture consists of. Panels hold curves; axes hold ticks; drawing knows
 * cairo and nothing about columns. */
#ifndef CLSI_PLOT_H
#define CLSI_PLOT_H

#include "base/base.h"
#include "data/arrays.h"
#include "data/table.h"
#include <cairo.h>
#include <clausius/plot.h>

/* n points; a change of `trajectory` (may be NULL) breaks the line. */
typedef struct clsi_curve {
    const double *x, *y, *trajectory;
    double *owned;            /* y, where it was computed here */
    const double *low, *high; /* a band about it; NULL: none */
    int points;               /* measured: dots, no line */
    size_t n;
    size_t table, name; /* which table it comes from, which name of the panel it shows */
} clsi_curve;

/* An array as a picture: of one index over time, or of two indices at one time. */
typedef struct clsi_field {
    const double *const *columns; /* of its elements, the last index running fastest; NULL: none */
    const double *time;
    size_t rows, row, axes, count[2]; /* row: of the one time */
    long low[2];
    double least, most; /* of all panels that share its colours */
    char heading[160];
} clsi_field;

typedef struct clsi_panel {
    const char *x_name; /* borrowed from the first table */
    const char **names; /* what is drawn against it; borrowed */
    size_t n_names;
    int portrait;            /* x is not time: room around the curve, a dot where it starts */
    double least_span;       /* the y axis is never shorter: noise below this is not magnified */
    clsi_field field;        /* instead of curves */
    const double **elements; /* its columns */
    int residual;            /* model minus measurement */
    int powers;              /* y is a logarithm to base 10 and labelled by powers of ten */
    clsi_curve *curves;
    size_t n_curves, room;
} clsi_panel;

typedef struct clsi_panels {
    clsi_panel *items;
    size_t n, room;
} clsi_panels;

/* The panels of `options`, or a choice made from the columns of the first table. */
cls_status clsi_panels_make(size_t n, const cls_table *const *tables, const char *const *labels,
                            const cls_plot_options *options, clsi_panels *out, cls_error *error);
void clsi_panels_clear(clsi_panels *panels);

/* Columns from number `first` on that make one picture, 0 for others (spacetime.c). */
size_t clsi_array_columns(const cls_table *t, size_t first, clsi_elements *span);
/* The smallest and the largest number of what is drawn; lo > hi where there is none. */
void clsi_field_range(const clsi_field *f, double *lo, double *hi);

/* Numbers further out are drawn like numbers that are not finite: not at all. Differences of the
 * others do not overflow. */
int clsi_drawable(double value);

/* Ticks are (first + i) * mantissa * 10^power, i < n_ticks; a label is that minus the offset, over
 * 10^exponent; `note` says so ("x10^-9 + 0.5", empty for plain labels). */
typedef struct clsi_axis {
    double lo, hi;
    double first, offset; /* in steps */
    int n_ticks, mantissa, power, exponent, decimals;
    int powers; /* labels are powers of ten */
    char note[80];
} clsi_axis;
clsi_axis clsi_axis_make(double lo, double hi, int most_ticks);
/* Of logarithms: ends and ticks at whole powers of ten. */
clsi_axis clsi_axis_make_powers(double lo, double hi, int most_ticks);
double clsi_axis_tick(const clsi_axis *a, int i);
void clsi_axis_label(const clsi_axis *a, int i, char out[32]);
/* Opens an interval that is a point, or nearly one, to something that can be drawn. */
void clsi_axis_widen(double *lo, double *hi, double least_span);

typedef struct clsi_box {
    double x, y, w, h;
} clsi_box;

/* Strokes the curve into the box with the current colour, width and dash. */
cls_status clsi_curve_draw(cairo_t *cr, const clsi_curve *c, clsi_box box, const clsi_axis *x,
                           const clsi_axis *y, int by_columns, cls_error *error);

/* An array as a picture, and its colours from the least value below to the most above. */
cls_status clsi_spacetime_draw(cairo_t *cr, const clsi_field *f, clsi_box box, cls_error *error);
cls_status clsi_colours_draw(cairo_t *cr, double lo, double hi, clsi_box box, cls_error *error);

/* Everything on the page: size in page units, and the drawing of it. */
typedef struct clsi_page {
    const clsi_panels *panels;
    size_t n_tables;
    const char *const *labels;
    const char *title, *subtitle; /* NULL: none */
    double width, height;
    int has_test; /* rows from test_from on were kept back */
    double test_from;
} clsi_page;
void clsi_page_measure(clsi_page *page); /* sets the natural width and height */
cls_status clsi_page_draw(const clsi_page *page, cairo_t *cr, cls_error *error);

/* Texts: align 0 left, 0.5 centre, 1 right of x; cut to the width. Returns the width it took. */
void clsi_font(cairo_t *cr, double size, int bold);
double clsi_show(cairo_t *cr, const char *text, double x, double y, double align, double width);

/* A picture of w x h pixels, `scale` pixels per page unit, drawn by the callback and written
 * atomically, SVG or PNG by the ending of the path. */
typedef cls_status (*clsi_drawing)(void *context, cairo_t *cr, cls_error *error);
cls_status clsi_picture_write(const char *path, int w, int h, double scale, clsi_drawing draw,
                              void *context, cls_error *error);

#endif
