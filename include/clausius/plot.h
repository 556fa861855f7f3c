/* Pictures of tables: time series, phase portraits, energy and entropy; SVG or PNG by ending. */
#ifndef CLAUSIUS_PLOT_H
#define CLAUSIUS_PLOT_H

#include <clausius/status.h>
#include <clausius/system.h>
#include <clausius/table.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cls_plot_options {
    size_t size;
    int width, height; /* pixels; 0: chosen from the number of panels */
    const char *title; /* NULL: none */
    size_t n_columns;  /* 0: chosen: state, phase portrait, energy error, entropy */
    /* a column against time, "x:v.x" for a phase portrait, "log(x)" for powers of ten */
    const char *const *columns;
    /* Where rows begin that a model was not learned from: panels over time are shaded from there on. */
    int has_test;
    double test_from;
} cls_plot_options;

CLS_API cls_plot_options cls_plot_defaults(void);
/* Several tables are drawn over each other, labelled. Written atomically. */
CLS_API cls_status cls_plot(size_t n, const cls_table *const *tables, const char *const *labels,
                            const cls_plot_options *options, const char *path, cls_error *error);

/* The bond graph of a system of components: storage blue, lossless links green, resistive red. */
CLS_API cls_status cls_bond_graph(const cls_system *s, const char *path, cls_error *error);

#ifdef __cplusplus
}
#endif
#endif
