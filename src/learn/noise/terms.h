/* learn, inside: which terms of a basis noisy data justify. */
#ifndef CLSI_TERMS_H
#define CLSI_TERMS_H

#include "learn/learn.h"

/* Ranges of the inputs that single wild values do not stretch: the middle 98 % of the data and a
 * tenth more, about zero where they nearly are. */
cls_status clsi_terms_calm(clsi_unknowns *us, const clsi_points *p, cls_error *error);

/* May the terms of unknown i be chosen: a polynomial basis that the caller did not name? */
int clsi_terms_free(const clsi_unknowns *us, size_t i);
/* Whether part i is one of the ready frictions (dry, viscous, quadratic): each term is positive, and so is
 * its coefficient. The form alone would keep the sum positive, but a search that it bends has no slope where
 * the sum is negative and does not come back from there. */
int clsi_terms_positive(const clsi_unknowns *us, size_t i);

/* The next formula of "terms(a; b)" from *rest on, which begins behind the bracket and ends empty. */
const char *clsi_terms_next(const char **rest, size_t *length);

/* Leaves of the parts' bases the terms with keep[k], k counted over all parameters there are; us
 * has fewer parameters then. */
cls_status clsi_terms_keep(clsi_unknowns *us, const unsigned char *keep, cls_error *error);

/* A first choice: terms up to these total degrees, of energies and of other parts, of so many inputs at most. */
void clsi_terms_low(const clsi_unknowns *us, int energy, int other, size_t together,
                    unsigned char *keep);

/* Which of the parameters let a term of an energy (that has other terms) be more than a potential: masses and heat
 * capacities beside the known ones. Their number. */
size_t clsi_terms_still(const clsi_unknowns *us, unsigned char *moving);

/* What each of the parameters has to explain among so many rows: log rows, and what it costs to name
 * it, 2 log of the number of terms of its part up to its degree. */
void clsi_terms_prices(const clsi_unknowns *us, size_t rows, double *price);

/* Which terms (j, of P) are next to term k of the same part and simpler, parent[k, j]: powers lower by one or
 * two in all. Terms up to the second degree need none. */
void clsi_terms_parents(const clsi_unknowns *us, size_t P, unsigned char *parent);

/* What a fit says about terms, by its quadratic model about theta (P; zero for terms that are not
 * in it): information S (P, P), gradient g (P). */
typedef struct clsi_terms_choice {
    size_t P;
    const double *S, *g, *theta;
    const size_t *part;          /* (P) number of the part; each keeps one term at least */
    const unsigned char *locked; /* (P) 1: stays, whatever it explains */
    const double *price;         /* (P) a term has to lower the sum of squares by more */
    const unsigned char *parent; /* (P, P) [k, j] 1: j is next to k and simpler. NULL: none is */
    const unsigned char *few; /* (P) 1: of a part that may be three terms at once. NULL: none is */
} clsi_terms_choice;
/* Terms are added and dropped one at a time, the best move first; where none pays, one for another; where that
 * does not pay, all of a part for the best three. keep: where to
 * begin, then the result; found (P): the minimum of the quadratic model there. Moves made. */
cls_status clsi_terms_choose(const clsi_terms_choice *c, unsigned char *keep, double *found,
                             size_t *moves, cls_error *error);

/* Fits with one term more (of those with open[k] = 1), one less, or one for another, beside the one that was
 * kept: what each is off from it over all coefficients, times the root of its weight (dropped.c): n rows of P,
 * the caller's. memory: of the noise, by which gains are divided. */
cls_status clsi_terms_neighbours(const clsi_terms_choice *c, const unsigned char *keep,
                                 const unsigned char *open, double added, double memory, size_t *n,
                                 double **direction, cls_error *error);

#endif
