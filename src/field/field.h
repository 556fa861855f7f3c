/* field: unknown scalar functions phi(x1 .. xd) of scaled inputs, behind one interface.
 *
 * A kind is one const descriptor (networks, bases). All parameters of a field are one block theta.
 * Inputs arrive scaled (about [-1, 1]); the learner owns the scaling and the chain rule for it.
 * What the residuals need is the value and the gradient in the inputs, their derivatives in theta
 * as rows (least squares) or contracted (reverse pass), and the field as an expression of a graph
 * (for simulation, printing, emission: there every transformation of the graph works on it). */
#ifndef CLSI_FIELD_H
#define CLSI_FIELD_H

#include <clausius/graph.h>
#include <clausius/random.h>
#include <clausius/status.h>
#include <stdint.h>

enum { CLSI_FIELD_MAX_INPUTS = 16, CLSI_FIELD_MAX_LAYERS = 8 };

typedef struct clsi_field clsi_field;

/* A loss in stages, for kinds whose reverse pass can go on from where evaluate stopped: open;
 * clear; for each block of n <= samples evaluate, then the coefficients from what came out, then
 * add (or rows, as often as wanted); close. Same results as evaluate and reverse, a quarter less
 * work. */
typedef struct clsi_field_blocks {
    size_t samples;                      /* the most in a block */
    size_t (*size)(const clsi_field *f); /* doubles of a pass */
    void (*open)(const clsi_field *f, const double *theta, double *pass);
    void (*clear)(double *pass); /* sums = 0 */
    /* gradient NULL: value only, at half the price, and then b NULL below. */
    void (*evaluate)(double *pass, size_t n, const double *x, double *value, double *gradient);
    /* sums += a dvalue/dtheta + b dgradient/dtheta of the samples. */
    void (*add)(double *pass, size_t n, const double *a, const double *b);
    /* rows[s] += the same for sample s; NULL: not wanted. */
    void (*rows)(double *pass, size_t n, const double *a, const double *b, double *const *rows);
    void (*close)(const double *pass, double *out); /* out += sums */
} clsi_field_blocks;

/* Discrete gradients between two points, those of automatic discrete differentiation of
 * `expression`: phi(u) - phi(w) = gbar.(u - w) (docs/physics/discrete-gradient.md). In stages
 * like the blocks above: open; clear; for each block evaluate, then add or rows; close. */
typedef struct clsi_field_pairs {
    size_t most; /* points, and pairs, in a block */
    /* NULL: there are discrete gradients. Else why not. */
    const char *(*missing)(const clsi_field *f);
    size_t (*size)(const clsi_field *f); /* doubles of a pass */
    void (*open)(const clsi_field *f, const double *theta, double *pass);
    void (*clear)(double *pass);
    /* Does a pair u, w cost more than most, so that such pairs should stand in few blocks? NULL:
     * they are all the same. */
    int (*near)(const clsi_field *f, const double *u, const double *w);
    /* x (points, d); pair (n, 2) numbers of points u, w; gbar (n, d), NULL: not wanted (theta may
     * then be NULL for a linear kind). x and pair must stay until the last add or rows. */
    void (*evaluate)(double *pass, size_t points, const double *x, size_t n, const size_t *pair,
                     double *gbar);
    /* sums += b dgbar/dtheta of the pairs, b (n, d). */
    void (*add)(double *pass, const double *b);
    /* rows[i] += the same for pair i; pairs with a common point must have the same row (or NULL:
     * not wanted, and then b is zero). */
    void (*rows)(double *pass, const double *b, double *const *rows);
    void (*close)(const double *pass, double *out); /* out += sums */
} clsi_field_pairs;

typedef struct clsi_field_kind {
    const char *name; /* "chebyshev", "monomial", "network": the word before the parenthesis */
    const char *doc;
    int linear; /* linear in theta */
    int raw;    /* inputs are the system's own variables, by name and not scaled */
    /* Reads the numbers and words inside the parentheses, e.g. "8" or "32, 32, tanh"; sets
     * n_parameters and whatever the kind keeps in `data` (freed with free()). */
    cls_status (*create)(clsi_field *f, const char *arguments, cls_error *error);
    void (*clear)(clsi_field *f); /* what `data` owns; NULL: nothing */
    void (*initialise)(const clsi_field *f, cls_random *random, double *theta);
    /* n samples, x (n, d) row-major. value (n) and gradient (n, d); either may be NULL. */
    void (*evaluate)(const clsi_field *f, const double *theta, size_t n, const double *x,
                     double *value, double *gradient, double *scratch);
    /* rows[s*stride + k] += a[s] dvalue_s/dtheta_k + sum_j b[s*d + j] dgradient_sj/dtheta_k,
     * k < n_parameters. a or b may be NULL (zero). */
    void (*rows)(const clsi_field *f, const double *theta, size_t n, const double *x,
                 const double *a, const double *b, size_t stride, double *rows, double *scratch);
    /* rows[s*stride + k] += c[s] d/dtheta_k of d2 value_s / (dx_i dx_j). NULL: not here. */
    void (*second_rows)(const clsi_field *f, const double *theta, size_t n, const double *x,
                        size_t i, size_t j, const double *c, size_t stride, double *rows,
                        double *scratch);
    /* out[k] += the same as rows, summed over samples s in order. */
    void (*reverse)(const clsi_field *f, const double *theta, size_t n, const double *x,
                    const double *a, const double *b, double *out, double *scratch);
    /* doubles of scratch that the functions above need for n samples */
    size_t (*scratch)(const clsi_field *f, size_t n);
    /* phi at the nodes x (d); theta (n_parameters) are nodes too: constants in a model, symbols
     * where the motion is differentiated in them. */
    cls_node (*expression)(const clsi_field *f, cls_graph *g, const cls_node *x,
                           const cls_node *theta);
    /* phi at x with known parameters, evaluated by kernels: networks in it are field nodes of the
     * graph (expr/fields.h). NULL: as an expression. */
    cls_node (*node)(const clsi_field *f, cls_graph *g, const cls_node *x, const double *theta);
    /* The same with parameters that are being learned: symbols, numbered from `first` on. */
    cls_node (*open)(const clsi_field *f, cls_graph *g, const cls_node *x, const cls_node *theta,
                     size_t first);
    const clsi_field_blocks *blocks; /* or NULL */
    const clsi_field_pairs *pairs;   /* or NULL */
} clsi_field_kind;

struct clsi_field {
    const clsi_field_kind *kind;
    size_t d, n_parameters;
    size_t even_first, even_count; /* inputs that it is even in: their scaling must keep zero */
    char *spec;                    /* "chebyshev(8)" as given */
    const char *const *names;      /* (d) of the inputs, during create only; NULL: they have none */
    void *data;
};

/* "chebyshev(8)", "monomial(4)", "network(32, 32)", "terms(1; v.x^2)": spec as the user writes it.
 * names (d) are needed by kinds that speak of their inputs by name; NULL otherwise. */
cls_status clsi_field_create(size_t d, const char *spec, const char *const *names, clsi_field **out,
                             cls_error *error);
void clsi_field_free(clsi_field **field);
/* The powers (d) of term k of a polynomial basis; NULL of any other kind. */
const unsigned char *clsi_field_powers(const clsi_field *f, size_t k);
/* The kind that a spec begins with, NULL when there is no such kind. */
const clsi_field_kind *clsi_field_kind_of(const char *spec);
/* Does the spec end with this word for the learner? It may stand behind the arguments of any kind,
 * which does not see it: "network(32, 32, plain)". The words: plain (inputs as they are measured,
 * no symmetry), square (positive by phi^2), gyroscopic (a friction has a part across v as well),
 * convex (an energy has positive masses, heat capacities and temperatures: the learner makes the
 * kind "convex" of the network). */
int clsi_field_word(const char *spec, const char *word);

/* Of a field of the kind "convex" (convex.c): how many inputs are free, even, convex, thermal and
 * monotone, in this order; returns 0 for other kinds. */
enum { CLSI_CONVEX_INPUTS = 5 };
int clsi_field_convex_inputs(const clsi_field *f, size_t count[CLSI_CONVEX_INPUTS]);

/* kind->expression with the parameters as constants. */
cls_node clsi_field_expression(const clsi_field *f, cls_graph *g, const cls_node *x,
                               const double *theta);

/* kind->node, or the expression where the kind has none. */
cls_node clsi_field_node(const clsi_field *f, cls_graph *g, const cls_node *x, const double *theta);

/* d2 value / (dx_i dx_j) at one x, for linear kinds that have second_rows. row: n_parameters
 * numbers of scratch. */
double clsi_field_second(const clsi_field *f, const double *theta, const double *x, size_t i,
                         size_t j, double *row, double *scratch);

#endif
