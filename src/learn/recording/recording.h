/* learn, inside: measured columns as they were measured. Times are irregular, values may be
 * missing, and nothing says that a column is a state. */
#ifndef CLSI_RECORDING_H
#define CLSI_RECORDING_H

#include "simulate/signal.h"
#include "system/system.h"
#include <clausius/table.h>

typedef struct clsi_channel {
    const char *name; /* column of the system; the table's text */
    const char *unit; /* NULL: none */
    double std;       /* of the values about their mean */
    double quantum;   /* the smallest difference of an instrument that rounds; 0: none is seen */
    double noise;     /* root mean square of what no parabola through five rows explains */
    double floor;     /* no residual is counted as more accurate than this */
    int angle;        /* differences are modulo 2 pi */
    int followed; /* an angle whose rows show every turn: a fit follows them, a score does not */
    int counted;  /* an angle whose turns the instrument counts: used as it is */
    int still;    /* one value, but for rounding: a conserved quantity, a setting */
} clsi_channel;

/* Rows [first, end) of one trajectory without a large gap; the first `train` of them are to learn
 * from. */
typedef struct clsi_segment {
    size_t first, train, end;
    size_t trajectory; /* counted over all tables */
} clsi_segment;

typedef struct clsi_recording {
    size_t n, ny;
    double *time, *y; /* (n), (n, ny); NAN: missing */
    clsi_channel *channel;
    size_t n_segments, n_trajectories, n_training; /* rows */
    clsi_segment *segment;
    double interval;      /* median distance of times */
    double time_scale;    /* 2 pi rms(slope) / rms(curvature) of the fastest channel */
    size_t nu;            /* inputs of the system */
    double *u;            /* (n, nu); NAN: missing, or given by a formula */
    clsi_signal **signal; /* (n_trajectories), NULL without inputs */
    size_t repeated;      /* rows whose time stands twice */
} clsi_recording;

/* The columns of the tables that the system has. test: the share of rows at the end of each
 * trajectory (or of whole trajectories, where there are five or more) that is kept back.
 * n_test: the last so many tables are kept back as a whole, and nothing else is.
 * average: rows of equal times are averaged, else refused. hold: of the inputs (clsi_holds); NULL: auto. */
cls_status clsi_recording_create(const cls_system *s, size_t n_tables,
                                 const cls_table *const *tables, const char *const *names,
                                 double test, int average, const char *hold, size_t n_test,
                                 clsi_recording **out, cls_error *error);
void clsi_recording_free(clsi_recording **recording);

/* value, slope and curvature of channel c at row i by a parabola through up to `half` rows to each
 * side; the residual's variance, and that of the curvature by it. Zero: too few rows. */
typedef struct clsi_parabola {
    double value, slope, curvature, variance, curvature_variance;
} clsi_parabola;
int clsi_local_parabola(const clsi_recording *r, const clsi_segment *s, size_t c, size_t i,
                        size_t half, clsi_parabola *out);
/* Rows to each side that a parabola may span: a quarter of the time scale. */
size_t clsi_local_half(const clsi_recording *r);

#endif
