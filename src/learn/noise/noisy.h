/* learn, inside: one fit to noisy data (noisy.c), for the files that work on it.
 *
 *   noisy.c         what is to be done, in order
 *   noisy_data.c    the data, and why they are taken so
 *   noisy_terms.c   the dictionary, the terms that are kept, the choice of others
 *   noisy_steps.c   the steps of its simulations
 *   noisy_natural.c the same in other terms, where the data prefer them: those of natural.c,
 *   noisy_look.c    which ones with constants inside,
 *   noisy_shapes.c  and fits of these
 *   dropped.c       what the choice leaves open */
#ifndef CLSI_LEARN_NOISY_H
#define CLSI_LEARN_NOISY_H

#include "data/table.h"
#include "learn/learner.h"
#include "learn/recording/measured.h"
#include "learn/shooting/multiple.h"

/* A fit as it was, to look at or to come back to. */
typedef struct clsi_noisy_kept {
    size_t n, P; /* windows; terms and parameters; n = 0: there is none */
    clsi_piece *piece;
    double *x;           /* (2, n, nz) starts and their guesses */
    double *full;        /* (P + ny) coefficients and scales */
    unsigned char *keep; /* (P + rows) terms and rows that were cut */
    int implicit;        /* its steps */
    double longest;
} clsi_noisy_kept;

typedef struct clsi_noisy {
    clsi_learner *w;
    size_t n_tables;
    cls_table **tables; /* the states alone, trajectories numbered */
    double **columns;   /* (n_tables) their numbers */
    clsi_recording *data;
    clsi_unknowns *all;  /* the dictionary */
    size_t P;            /* its terms */
    size_t wide;         /* of a part, in higher degrees than usual; 0: as usual */
    size_t Q;            /* parameters beside them, behind them everywhere */
    unsigned char *keep; /* (P + Q) */
    unsigned char *locked;
    unsigned char *barred;      /* (P + Q) terms that are not for the choice, while `still` */
    int still;                  /* terms of energies are potentials */
    int misfit;                 /* longer windows leave more than noise, or cannot be simulated */
    size_t *part;               /* (P + Q) */
    double *full;               /* (P + Q) coefficients over the dictionary, parameters */
    double *low, *high;         /* (P + Q) bounds: parameters have some */
    double *own_low, *own_high; /* the same for the terms that are kept */
    unsigned char *vague;       /* (P + Q) for them: it has no initial value */
    int blind;                  /* there is no residual to begin with */
    int driven;                 /* it has inputs, and rates between the rows begin it */
    int formed;                 /* what must be positive is so by form */
    clsi_multiple *multiple, *whole; /* of the terms that are kept; of the dictionary */
    cls_system *open, *whole_open, *built;
    clsi_recipe recipe;
    cls_learn_report *report;
    double until;
    int unseen;
    char **specs; /* (parts of the options) of the dictionary, NULL: polynomials; the learner's */
    size_t n_shaped;              /* parts that are terms with constants inside (shapes.h), */
    struct clsi_shaped *shaped;   /* with these constants; NULL: none */
    struct clsi_shapes **library; /* (parts) what these are made of; NULL: not asked for */
    int declined;                 /* a large basis was asked for: this is not for it */
    int implicit;                 /* explicit steps failed */
    double longest;               /* steps are not longer; 0: as usual */
    int steps_stay;               /* other ones could not be simulated */
    int field;                    /* elements of an array are found from those beside them */
    clsi_noisy_kept shortest;     /* the fit of the shortest windows */
    int prune;                    /* a last choice: prices contain the memory of the residuals */
    double *noise; /* (ny) what the shortest windows leave; longer ones leave misfit as well */
} clsi_noisy;

/* A stop for searches: time is up, or the caller wants it. */
int clsi_noisy_is_over(void *context);
/* One fit with windows of so many rows, `last`: to the end; the terms and their coefficients until nothing
 * changes. */
cls_status clsi_noisy_fit(clsi_noisy *k, size_t rows, int last);
cls_status clsi_noisy_settle(clsi_noisy *k, size_t rows);
/* Without terms that only follow noise with a memory. */
cls_status clsi_noisy_prune(clsi_noisy *k, size_t rows);

/* ---- noisy_data.c ---- */

/* States that no column of the data says, whatever fills them in. */
int clsi_noisy_unsaid(const clsi_noisy *k);
/* States that no column says. */
int clsi_noisy_lacks(const clsi_points *p);
cls_status clsi_noisy_record(clsi_noisy *k, const cls_table *const *tables,
                             const char *const *names);
/* Why this way was taken; the caller's, NULL: no memory. */
char *clsi_noisy_explain(const clsi_noisy *k);

/* ---- noisy_terms.c ---- */

cls_status clsi_noisy_dictionary(clsi_noisy *k);
/* The unknowns of a dictionary and room for what is kept of it. */
cls_status clsi_noisy_room(clsi_noisy *k, size_t halved);
/* Terms up to these total degrees, of energies and of other parts, of so many inputs at most. */
void clsi_noisy_begin(clsi_noisy *k, int energy, int other, size_t together);
/* The learner's unknowns with the terms that are kept, and their coefficients; the other way round;
 * floors and scales of what is positive by form. */
cls_status clsi_noisy_take_terms(clsi_noisy *k);
void clsi_noisy_spread_terms(clsi_noisy *k);
void clsi_noisy_keep_forms(clsi_noisy *k);
/* The learner's unknowns as a problem; windows stay as they are. */
cls_status clsi_noisy_set_up(clsi_noisy *k);
/* The fit there is, into *out, which holds one before or is empty; back to it, in the dictionary that it had: its
 * terms, coefficients, windows and their starts. Starts from the data instead may end in another valley. */
cls_status clsi_noisy_remember(clsi_noisy *k, clsi_noisy_kept *out);
void clsi_noisy_forget(clsi_noisy_kept *kept);
cls_status clsi_noisy_return(clsi_noisy *k, const clsi_noisy_kept *kept, size_t rows, int last);
/* Information S (P + Q, P + Q) and gradient g over the dictionary, at the windows and scales of the fit; with
 * `along` the scores' variances along directions as well. */
cls_status clsi_noisy_inform(clsi_noisy *k, double *S, double *g, clsi_along *along);
/* And by how much the scores vary more than independent rows would make them, more (P + Q); 0: no row sees the term. */
cls_status clsi_noisy_remembered(clsi_noisy *k, double *S, double *g, double *more);
/* The same with scales no larger than the noise, and where a multiple of everything is free with that held: what
 * terms are chosen by. */
cls_status clsi_noisy_quadratic(clsi_noisy *k, double *S, double *g);
/* Which terms there should be, near the fit that there is; `move`: with their coefficients. */
cls_status clsi_noisy_choose(clsi_noisy *k, int move, int *changed);

/* ---- noisy_steps.c ---- */

cls_status clsi_noisy_observer(const clsi_noisy *k, const cls_system *open, const clsi_unknowns *us,
                               const cls_node *theta, const char *const *channel,
                               clsi_observer **out);
/* clsi_noisy_settle with steps that are short enough for the fit that is found. */
cls_status clsi_noisy_settle_in_steps(clsi_noisy *k, size_t rows);
/* Explicit steps that are stable where rates between the rows ended, or the system's own. */
cls_status clsi_noisy_first_steps(clsi_noisy *k);

/* ---- noisy_natural.c, natural.c ---- */

/* The fit in other terms where they explain as much with less. */
cls_status clsi_noisy_prefer(clsi_noisy *k);
/* The dictionary of these terms with the few that everything begins with; `before`, which is empty, has the one that
 * there was, the caller frees it. *begun 0: there is none, nothing has changed. */
cls_status clsi_noisy_begin_laws(clsi_noisy *k, clsi_noisy *before, int *begun);
/* The coefficients of `before`, polynomials, in the dictionary of k. */
cls_status clsi_noisy_translate(clsi_noisy *k, const clsi_noisy *before);
/* A table of specs, one for each part of the options; the learner has it, and frees its texts. */
char **clsi_noisy_specs(clsi_learner *w, cls_error *error);
/* What belongs to a dictionary, from one to the other. */
void clsi_noisy_swap(clsi_noisy *a, clsi_noisy *b);
void clsi_noisy_free_dictionary(clsi_noisy *k);
/* The same fit, for another dictionary: without one. */
clsi_noisy clsi_noisy_beside(const clsi_noisy *k);

/* ---- noisy_look.c ---- */

/* Sums of terms with constants inside that the fit in polynomials looks like, into k->library and found (parts,
 * CLSI_SHAPE_SETS), count (parts) of them; `named` is the dictionary of natural.c. */
struct clsi_shape_set;
cls_status clsi_noisy_look(clsi_noisy *k, const clsi_noisy *named, int turned,
                           struct clsi_shape_set *found, size_t *count);
/* Polynomials leave more of the longest windows than of the shortest ones; what the fit looks like by these. */
int clsi_noisy_is_strained(const clsi_noisy *k);
cls_status clsi_noisy_look_short(clsi_noisy *k, const clsi_noisy *named, int turned,
                                 struct clsi_shape_set *found, size_t *count);

/* ---- noisy_shapes.c ---- */

/* Fits that are compared: by their sum of squares in units of the same noise, and what their terms cost. */
typedef struct clsi_contest {
    double *sigma; /* (ny) */
    double cost;   /* of the fit that there is */
    size_t rows, window;
    clsi_noisy_kept best;
} clsi_contest;
/* The sum of squares (Huber's) in units of sigma, and what the terms cost; rows: how many there were. */
cls_status clsi_noisy_describe(clsi_noisy *k, const double *sigma, double *cost, size_t *rows);
/* A fit in sums of this rank; CLS_NUMERIC also where it will not be the better one. *swapped: `other`, which is empty, has the dictionary of k then. */
cls_status clsi_noisy_shape(clsi_noisy *k, clsi_noisy *other, const struct clsi_shape_set *found,
                            const size_t *count, size_t which, const clsi_contest *c, int *swapped);
/* A last fit; constants inside of terms move with the coefficients. */
cls_status clsi_noisy_last(clsi_noisy *k);
void clsi_noisy_free_library(clsi_noisy *k);
/* What terms cost (terms.c), those with constants inside included. */
void clsi_noisy_prices(const clsi_noisy *k, size_t rows, double *price);
/* What the constants inside may be off moves the functions as well: further directions, and a note. S (P + Q, P +
 * Q): information at the fit; memory: of the noise. */
cls_status clsi_noisy_constants(clsi_noisy *k, const double *S, double memory, clsi_dropped *out);

/* What a part depends on. */
enum { CLSI_LAW_VARIABLES = 6, CLSI_LAW_LENGTHS = 6, CLSI_LAW_LENGTH_TEXT = 80 };
typedef enum { CLSI_LAW_PLACE, CLSI_LAW_MOVING, CLSI_LAW_HEAT, CLSI_LAW_ENTROPY } clsi_law_kind;
typedef struct clsi_law_variable {
    char name[CLSI_LAW_LENGTH_TEXT]; /* of a declared formula: in parentheses */
    clsi_law_kind kind;
    double low, high;
} clsi_law_variable;
/* Those of part i, `still`: positions alone; their number, 0: it depends on others as well, or on too many. */
size_t clsi_law_variables(const clsi_unknowns *us, size_t i, const clsi_points *p, int still,
                          clsi_law_variable *out);
/* Texts of the distances of its places from the ends of their domains, "(x + 2)"; their number. */
size_t clsi_law_lengths(const clsi_unknowns *us, size_t i, const clsi_points *p, int still,
                        char out[][CLSI_LAW_LENGTH_TEXT]);
/* Which terms of part i, that has the dictionary of natural.c, a search begins with; keep of that part alone. */
void clsi_natural_first(const clsi_unknowns *us, size_t i, const clsi_points *p, int still,
                        unsigned char *keep);
/* "terms(...)" for part i, at most so many, `still`: of positions alone; NULL: there are none for it. */
cls_status clsi_natural_terms(const clsi_unknowns *us, size_t i, const clsi_points *p, int still,
                              size_t most, char **spec, cls_error *error);

/* ---- dropped.c ---- */

/* How far the terms that were dropped may move the functions; the caller frees out->direction. */
cls_status clsi_noisy_dropped(clsi_noisy *k, clsi_dropped *out);

#endif
