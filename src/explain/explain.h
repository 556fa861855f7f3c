/* explain, inside: laws and short formulas of what is there already.
 *   sample.c      states at which functions are tried
 *   discrete.c    steps of a scheme from these states
 *   null.c        null spaces, in a basis that can be read
 *   invariants.c  invariants, symmetries, Casimir functions
 *   gauge.c       changes of (G, F) that nothing observed can tell
 *   found.c       what was found, as a list and as text */
#ifndef CLSI_EXPLAIN_H
#define CLSI_EXPLAIN_H

#include "base/base.h"
#include "model/model.h"
#include "system/system.h"
#include <clausius/invariants.h>

/* ---- sample.c ---- */

/* States with all that is known there; y = (q, p, S). */
typedef struct clsi_samples {
    const cls_system *s; /* with a graph of its own */
    cls_system *view;
    size_t nz, ny, nq, np, m;
    cls_program *program;
    size_t n;              /* states; the first half is for finding, the rest for trying */
    double *z;             /* (n, nz) */
    double *value;         /* (n, width): what the program gives, and the step of a scheme */
    size_t width, outputs; /* outputs: of the program, the first of them */
    size_t rate, slope, v, T, energy, declared, bracket; /* where things stand in it; y at 0 */
    /* Where y and its rate stand that count: those of the state, or with a scheme the mean of both ends of
     * a step and the change by h. Products have their change by these two as well as their rate:
     * a1 b1 - a0 b0 = (a1 - a0) (b0 + b1)/2 + (a0 + a1)/2 (b1 - b0). */
    size_t at, by;
    size_t n_bracket;
    uint32_t *bracket_row, *bracket_column; /* entries of the bracket over y, both triangles */
    size_t n_path;
    double *path; /* (n_path, ny) along the default motion */
} clsi_samples;

/* whole: of a model all of the range of its data, not only what is near the default motion. */
cls_status clsi_samples_create(const cls_system *s, const cls_model *m, size_t wanted,
                               const cls_invariants_options *o, int whole, clsi_samples *out,
                               cls_error *error);
void clsi_samples_clear(clsi_samples *a);
/* Name of y_k: x, p.x, S. */
const char *clsi_sample_name(const cls_system *s, size_t k);

/* ---- discrete.c ---- */

/* Columns at a->at and a->by from one step of o->scheme at each state; states from which there is none
 * are left out. Room for 2 ny columns is there. */
cls_status clsi_samples_step(clsi_samples *a, const cls_invariants_options *o, cls_error *error);

/* ---- null.c ---- */

/* Combinations of columns that vanish, in few terms. */
typedef struct clsi_null {
    size_t rows, n;
    double *A; /* (rows, n), overwritten */
    /* (n) squares of what the terms of a column are in size, summed over the rows: a column that is
     * nothing but their round-off counts as zero. */
    const double *size;
    double rcond, zero; /* singular values that count as 0; entries, in units of their columns */
    size_t n_known;     /* directions that are not wanted, (n_known, n) */
    const double *known;
} clsi_null;
/* *out (count, n), the caller's; the largest entry of each is 1. */
cls_status clsi_null_rows(clsi_null *p, size_t *count, double **out, cls_error *error);

/* ---- found.c ---- */

struct cls_invariants {
    size_t n, capacity, states;
    cls_found *list;
    char *title, *notes;
    int gauge; /* directions were looked for */
};
/* Texts become the list's own, also when it fails; NULL is "no memory". */
cls_status clsi_found_add(cls_invariants *f, cls_found *what, char *formula, char *name, char *why,
                          char *fixed_by, cls_error *error);
/* " + 2*x", sign and factor before a term; the first of a sum without plus. */
void clsi_term_print(clsi_text *t, double factor, const char *term);

/* ---- gauge.c ---- */
cls_status clsi_gauge_find(const clsi_samples *a, const cls_model *m, cls_invariants *out,
                           cls_error *error);

#endif
