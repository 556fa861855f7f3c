/* identify, inside: identification by convex programs.
 *   window.c         weights on a window of points: derivatives, weak form, noise
 *   data.c           tables as samples, runs without gaps, probes
 *   dictionary.c     text as terms
 *   energy.c         the first program: reversible rows, first law, temperatures
 *   friction.c       the second program: conductances >= 0
 *   literal.c        the paper's two programs as printed
 *   solve.c          what the programs share: sparsity, certificate, null space in words
 *   identify.c       everything in order, the model */
#ifndef CLSI_QP_H
#define CLSI_QP_H

#include "base/base.h"
#include "solve/problem.h"
#include "model/model.h"
#include <clausius/identify.h>

/* ---- window.c ---- */

enum { CLSI_WINDOW = 41, CLSI_WINDOW_DEGREE = 10 }; /* points and degree of rates, at most */

/* On n points at times t: w and c (n) with  sum c_i y(t_i) = sum w_i y'(t_i)  for polynomials y up
 * to `degree`, sum w = 1. weak: w is a bump that vanishes outside, else it is 1 at the middle. */
void clsi_window_rates(size_t n, const double *t, size_t degree, int weak, double *w, double *c);
/* Unit weights (n) that no polynomial below degree n - 1 passes: what comes out is noise. */
void clsi_window_noise(size_t n, const double *t, double *c);

/* ---- data.c ---- */

/* A place where the equations are written: over `count` points from `first` on. */
typedef struct clsi_probe {
    size_t first, count;
    size_t weights; /* offset of w (count) and c (count) in data->weight */
} clsi_probe;

typedef struct clsi_qp_data {
    const cls_system *s;
    size_t n, nz, m; /* samples */
    double *time;
    double *z;     /* (nz, n) */
    double *theta; /* (m, n), NAN where not measured */
    double *rate;  /* (nz, n): measured, or local estimates (NAN at the ends of runs) */
    size_t *run;   /* (n_runs + 1): first samples of pieces without gaps */
    size_t n_runs, points, degree;
    cls_rates rates;
    size_t n_probes;
    clsi_probe *probe;
    double *weight;
    double *target;         /* (nz, n_probes): the weighted rates */
    double *noise, *spread; /* (nz) */
    double size[3];         /* characteristic rates of q, p and S: mean + deviation of the norm */
    double level, swing;    /* of the measured temperatures: mean, standard deviation */
} clsi_qp_data;

cls_status clsi_qp_data_create(const cls_system *s, size_t n_tables, const cls_table *const *tables,
                               const char *const *names, cls_rates rates, clsi_qp_data **out,
                               cls_error *error);
void clsi_qp_data_free(clsi_qp_data **data);
/* What a row of state k at a probe is divided by. */
double clsi_qp_scale(const clsi_qp_data *d, size_t k, const clsi_probe *p);

/* ---- dictionary.c ---- */

typedef struct clsi_terms {
    char *part;
    clsi_part_kind kind;
    size_t n, capacity;
    cls_node *node;        /* (n) over q, p, S (and v, T for conductances) */
    char **text;           /* (n) */
    cls_node *coefficient; /* (n) symbols */
    size_t offset;         /* of its coefficients in its program */
} clsi_terms;

/* What stands after `part:` in the dictionary, the file's own words, or the default. */
cls_status clsi_terms_create(const cls_system *s, const char *part, clsi_part_kind kind,
                             const char *dictionary, const char *wanted, clsi_terms *out,
                             cls_error *error);
void clsi_terms_clear(clsi_terms *t);
/* Names in a dictionary that are no parts. */
cls_status clsi_dictionary_check(const char *dictionary, size_t n, const char *const *parts,
                                 cls_error *error);

/* ---- solve.c ---- */

enum { CLSI_QP_BLOCKS = 4 }; /* q, p, first law, temperatures; or the rates of entropy */

/* One program on its way: columns are the coefficients of all its parts, one after another. */
typedef struct clsi_convex {
    size_t n; /* unknowns */
    clsi_lsq *all;
    size_t n_groups;
    struct clsi_group *group;
    double *x;                    /* (n) the solution; zero for terms that were dropped */
    double *norm[CLSI_QP_BLOCKS]; /* (n) sums of squares of the columns, kind of row by kind */
    double right[CLSI_QP_BLOCKS]; /* sums of squares of what the rows explain */
    size_t n_conditions, n_inequalities;
    double *C, *d, *E, *e;
    cls_convex_info info;
} clsi_convex;

/* Rows of one equation see few of the unknowns: they get a triangle of their own. */
typedef struct clsi_group {
    size_t n, *column; /* the unknowns in it, increasing */
    clsi_lsq *lsq;
    double *row; /* (n) scratch for the caller */
} clsi_group;

cls_status clsi_convex_open(size_t n, size_t n_groups, clsi_convex *c, cls_error *error);
void clsi_convex_close(clsi_convex *c);
/* Group g will see the unknowns j with seen[j]; NULL: all. */
cls_status clsi_convex_group(clsi_convex *c, size_t g, const unsigned char *seen, cls_error *error);
/* A row group[g].row (n of the group) = b; `explained` is the sum of squares that counts for the
 * kind of row. */
cls_status clsi_convex_add(clsi_convex *c, size_t g, int block, double b, double explained,
                           cls_error *error);
/* Solves, drops terms below `sparse` one by one, fills c->x and c->info; says in `words` what the
 * data cannot see. */
cls_status clsi_convex_solve(clsi_convex *c, double sparse, const char *what, size_t n_parts,
                             const clsi_terms *parts, clsi_text *words, cls_error *error);

/* ---- the programs ---- */

typedef struct clsi_qp {
    const cls_identify_options *o;
    cls_system *s; /* skeleton: unknown parts are sums over coefficient symbols */
    clsi_qp_data *data;
    size_t n_parts, n_energy; /* parts of the energy come first */
    clsi_terms *part;
    size_t n_alpha, n_beta;
    double *alpha, *beta;
    cls_node *z;     /* (nz) symbols q, p, S */
    cls_node *v, *T; /* (n), (m): E_p, E_S over z once the energy is known */
    cls_node energy;
    cls_node *M; /* literal: (m, m) */
    size_t n_entries;
    double *entries; /* literal: coefficients of the upper triangle of M, row by row */
    clsi_text words;
    cls_identify_info *info;
    cls_error *error;
} clsi_qp;

cls_status clsi_qp_energy(clsi_qp *q);
cls_status clsi_qp_friction(clsi_qp *q);
cls_status clsi_qp_literal(clsi_qp *q);

/* A program maps z to numbers. They are computed for blocks of probes and given to `take`: the
 * probes [from, to), the points they need are those from `first` on, out[k*stride + i]. */
typedef struct clsi_block {
    size_t from, to, first, stride;
    const double *out;
} clsi_block;
typedef cls_status (*clsi_qp_take)(void *context, const clsi_block *block);
cls_status clsi_qp_sweep(const clsi_qp_data *d, const cls_program *program, clsi_qp_take take,
                         void *context, cls_error *error);
/* Output k of a block: weighted over a probe's window; at its middle point. */
double clsi_qp_mean(const clsi_qp_data *d, const clsi_block *b, size_t probe, size_t k);
double clsi_qp_middle(const clsi_qp_data *d, const clsi_block *b, size_t probe, size_t k);

#endif
