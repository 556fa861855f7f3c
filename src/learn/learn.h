/* learn, inside: the data as points and windows, the unknown parts, the residual between them. */
#ifndef CLSI_LEARN_H
#define CLSI_LEARN_H

#include "solve/problem.h"
#include "model/model.h"
#include <clausius/simulate.h>
#include <clausius/learn.h>

/* ---- rules.c: how windows become equations ---- */

enum { CLSI_MAX_NODES = 3 };

/* Of positions alone (positions.c): the nodes of an interval, and what they say about its ends. */
typedef struct clsi_interval_rule {
    size_t nodes;
    int paired;                   /* forces of potentials are discrete gradients between the ends */
    int at_ends;                  /* the nodes are the ends, which neighbouring intervals share */
    int interpolated;             /* along the polynomial through eight positions; else straight */
    double place[CLSI_MAX_NODES]; /* where in the interval, 0 to 1 */
    double share[CLSI_MAX_NODES], right[CLSI_MAX_NODES], left[CLSI_MAX_NODES];
    const char *rollout; /* the scheme that such models are judged by; NULL: the default */
} clsi_interval_rule;

struct clsi_scheme;
typedef struct clsi_rule {
    const char *name;
    size_t neighbours; /* rows of the data in a window */
    int composite;     /* windows may be longer, where there is noise */
    int smooth;        /* or have one polynomial of higher order, where rows are far apart */
    int means;         /* the means of two neighbouring states are points too */
    int between;       /* rates are taken at nodes between rows (nodes.c), with inputs */
    int sloped;        /* and states have derivatives there */
    const char *hold;  /* of these, as cls_learn_options has it */
    int split;         /* momenta by the rate at the end, the others by that at the beginning */
    const clsi_interval_rule *positions; /* NULL: of whole states */
    const struct clsi_scheme *scheme;    /* rows are the step of a scheme; NULL: weighted rates */
} clsi_rule;

extern const clsi_rule clsi_rule_quadrature, clsi_rule_midpoint, clsi_rule_vnots, clsi_rule_gauss;
extern const clsi_rule clsi_rule_weak, clsi_rule_pairs, clsi_rule_leapfrog, clsi_rule_euler;
clsi_rule clsi_rule_of_scheme(const struct clsi_scheme *scheme);
/* The rule that --scheme NAME (NULL: the default) means for these data, or why there is none. */
cls_status clsi_rule_find(const cls_system *s, const char *name, int only_positions, clsi_rule *out,
                          cls_error *error);

/* ---- data.c: points and windows ---- */

typedef struct clsi_points {
    clsi_rule rule;
    size_t n, nz; /* all points; means of two neighbours, or nodes between them, follow the data */
    size_t nu;    /* inputs, where the rule has nodes */
    size_t smoothed;  /* rows of the longest cubics in the place of noisy rows; 0: as measured */
    double row_noise; /* of the rows as measured over the spread, at most, where there are nodes */
    size_t n_data;
    double *time; /* (n) */
    double *z;    /* (nz + nu, n): state k of point i is z[k*n + i]; inputs follow */
    double *rate; /* (nz, n): derivatives where the data have all of them (d.NAME); else NULL */
    unsigned char *observed; /* (nz): 0 for states that the data do not have (z is a guess) */
    size_t width;            /* points of a window: 3, or more of them for composite quadrature */
    size_t panel;            /* points that one polynomial of it goes through: 3, 5 or 7 */
    size_t n_windows, n_training;
    size_t n_there; /* windows to learn from that there are; n_training of them are used */
    size_t *window; /* (n_windows) first of the neighbouring points; training ones first */
    size_t n_held;  /* trajectories kept for validation (all, when none are) */
    size_t *held;   /* (n_held, 2): first point, one past the last */
    struct clsi_intervals *intervals; /* positions only: then points are nodes; else NULL */
    size_t n_trained, *trained;       /* the same for those to learn from */
    double noise; /* positions only: the largest share of noise in their second differences */
} clsi_points;

/* ---- nodes.c: rates between rows ---- */

/* Two nodes in every interval, with states and inputs. joined[i]: row i + 1 follows row i. */
cls_status clsi_points_between(const cls_system *s, size_t n_tables, const cls_table *const *tables,
                               const char *const *names, const unsigned char *joined,
                               clsi_points *p, cls_error *error);
/* The weights (width) of a window with these points. */
void clsi_node_weights(const clsi_points *p, const size_t *at, double *w);
/* Says that rows were smoothed, and what that means. */
struct clsi_text;
void clsi_tell_smoothed(const clsi_points *p, struct clsi_text *t);
/* States, then inputs: rows of z. */
static inline size_t clsi_point_rows(const clsi_points *p) {
    return p->nz + p->nu;
}

/* ---- positions.c: what is measured are positions, from interval to interval ---- */

/* Between two neighbouring positions a rule gives the momentum at both ends,
 *     right = sum share_k p_k + h right_k f_k,     left = sum share_k p_k - h left_k f_k,
 * of the momenta p and the forces f (p' = f) at its nodes; a window's equation is: right end of one
 * interval = left end of the next. Points of clsi_points are the nodes, z = (q, v) there; `paired`:
 * forces of potentials are discrete gradients between the ends, which follow the nodes. */
typedef struct clsi_intervals {
    size_t dimension, nodes;
    int paired;
    double share[CLSI_MAX_NODES], right[CLSI_MAX_NODES], left[CLSI_MAX_NODES];
    size_t n; /* intervals; number i begins at datum i */
    double *h;
    size_t n_data;
    double *time, *q; /* (n_data), (dimension, n_data): the data */
} clsi_intervals;

/* The tables have positions but neither velocities nor momenta. */
int clsi_only_positions(const cls_system *s, size_t n_tables, const cls_table *const *tables);
/* Nodes in the place of the data. joined[i]: datum i + 1 follows i in the same trajectory. */
cls_status clsi_points_expand(clsi_points *p, size_t dimension, const unsigned char *joined,
                              cls_error *error);
void clsi_intervals_free(clsi_intervals **intervals);
/* Windows lose this many points at each end of a trajectory, where interpolation is one-sided. */
size_t clsi_position_margin(const clsi_rule *rule, size_t length);

/* Column k of whole states: the native state, but (q, v, S) for every lagrangian. */
const char *clsi_point_name(const cls_system *s, size_t k);
cls_status clsi_points_create(const cls_system *s, size_t n_tables, const cls_table *const *tables,
                              const char *const *names, const clsi_rule *rule, double validate,
                              uint64_t max_windows, clsi_points **out, cls_error *error);
/* The same with so many intervals in a window of the quadrature; 0, and above: two, or more where
 * there is noise. partial: states may be missing from the data; they are guessed (v and p by
 * differences of q, the others by the system's start) and not `observed`. */
cls_status clsi_points_create_wide(const cls_system *s, size_t n_tables,
                                   const cls_table *const *tables, const char *const *names,
                                   const clsi_rule *rule, double validate, uint64_t max_windows,
                                   size_t window, int partial, clsi_points **out, cls_error *error);
void clsi_points_free(clsi_points **points);
enum { CLSI_MOST_WIDTH = 41, CLSI_MOST_PANEL = 7 };
/* The points of window w: neighbours, or both ends and their mean in the middle. */
void clsi_window_points(const clsi_points *p, size_t w, size_t at[CLSI_MOST_WIDTH]);
/* Root mean square of state k of the data about its mean; 1 when it is constant. */
double clsi_points_spread(const clsi_points *p, size_t k);
/* Root mean square of the noise of state k, from differences of order 6 (or less, in short
 * trajectories) that a smooth motion does not have: what is left is noise, and a little of the
 * motion's own sixth derivative. 0 when no trajectory has three points. */
double clsi_points_noise(const clsi_points *p, size_t k);
/* Are windows longer than without noise? */
int clsi_points_long(const clsi_points *p);
/* Are rows so far apart, and so unevenly, that a quadrature over them is poor? */
int clsi_points_uneven(const clsi_points *p);
/* Weights w with integral over [t_0, t_n-1] of g = sum w_k g_k, by parabolas through three points
 * each (n is odd), or where panel is n by one polynomial through all (at most 7). */
void clsi_window_weights(size_t n, size_t panel, const double *t, double *w);

/* ---- unknown.c: the parts to learn ---- */

typedef struct clsi_unknown {
    clsi_learned learned; /* moved into the model at the end */
    /* A function of the file has an entry for each place where it is used; the first of them has the
     * field, the others borrow it and have the same parameters. */
    int again;
    clsi_part_kind kind;
    const char *spec; /* the field that the system's file or the caller names for it, or NULL */
    const char *of;   /* the inputs that it names, "a; b", or NULL */
    char *found_of;   /* the same from its formula (inputs.c) */
    int positive;     /* a named part that the file calls positive */
    int nonlinear;    /* the field is not linear: positivity is part of the residual */
    int even;         /* a polynomial that is even in the velocities, which are its inputs: */
    size_t even_first, even_count; /* these */
    int natural;                   /* spec is terms of natural.c, to choose from */
    int declared;                  /* spec is what the file says of this part alone */
    int convex;                    /* in velocities and temperatures, by form */
    int late; /* a function of hidden temperatures: its inputs follow the energies */
    cls_node value,
        slope[CLSI_FIELD_MAX_INPUTS]; /* symbols: phi and its derivatives in scaled inputs */
    size_t symbol;                    /* index of `value` among all field symbols */
    double *x;                        /* (points, d) scaled inputs at the data */
} clsi_unknown;

/* Other choices than the usual ones. */
typedef struct clsi_choices {
    size_t halved;   /* bases that the caller did not name: their number of terms halved so often */
    size_t wide;     /* those bases in higher degrees, with so many terms; 0: as usual */
    int logs;        /* inputs that are positive as their logarithms (logs.c) */
    int exponential; /* coefficients that exchange heat through their logarithms */
    int tied;        /* inputs that the data tie to each other as their combinations (ties.c) */
    int split; /* an energy of momenta plus an energy of the rest (split.c); 2: quadratic in momenta */
    int isotropic; /* an energy that turning does not change (split.c); 2: and that is split */
    char *const *natural; /* (parts of the options) terms of natural.c, NULL: not for this one */
} clsi_choices;

typedef struct clsi_unknowns {
    const cls_system *system; /* the original, loaded with `set` (may be NULL) */
    const cls_assignments *set;
    cls_system *s; /* skeleton: formulas with the symbols of the unknown parts */
    int linear;    /* the formula is linear in all unknown parts together */
    size_t n, n_symbols, n_theta;
    double trunk;           /* > 0: no temperature changes along the data (heat.c) */
    const cls_model *given; /* learned before, or NULL */
    double unit;            /* of convex energies */
    clsi_choices choices;
    int offered;   /* inputs that could be logarithms, or are */
    int tied;      /* parts with inputs that the data tie to each other */
    int isotropic; /* energies of as many places as momenta */
    int split;     /* energies that could be a sum of one of momenta and one of the rest */
    int chosen;    /* a basis was chosen here */
    size_t n_open; /* parameters of the file that are learned as well, behind the n_theta */
    const char *const *open; /* (n_open) borrowed */
    clsi_unknown *list;
    cls_node *symbols; /* (n_symbols): for each unknown value, slope 1 .. d */
} clsi_unknowns;

cls_status clsi_unknowns_create(const cls_system *system, const cls_assignments *set,
                                const cls_learn_options *o, const clsi_points *points,
                                clsi_unknowns **out, cls_error *error);
cls_status clsi_unknowns_create_small(const cls_system *system, const cls_assignments *set,
                                      const cls_learn_options *o, const clsi_points *points,
                                      const clsi_choices *choices, clsi_unknowns **out,
                                      cls_error *error);
void clsi_unknowns_free(clsi_unknowns **u);
/* The system with the parameters of the unknown parts as symbols (clsi_model_open), and these
 * (n_theta + n_open, to be freed). */
cls_status clsi_unknowns_open(const clsi_unknowns *us, clsi_opening how, cls_system **out,
                              cls_node **theta, cls_error *error);
/* A formula or a term of one: not a coefficient. */
int clsi_is_energy(const clsi_unknown *u);
/* Entries [i, end) are the places of one function; else it is one. */
size_t clsi_group_end(const clsi_unknowns *us, size_t i);
/* Field, scalings, offset and form of the first place are those of the others. */
void clsi_unknowns_share(clsi_unknowns *us);
/* The learned parts, each once, borrowed: (us->n) at most, to be freed. */
clsi_learned *clsi_unknowns_learned(const clsi_unknowns *us, size_t *n);
/* One more input, a formula in the language. */
/* CLS_USAGE with what to write instead. */
cls_status clsi_too_many_inputs(const clsi_learned *l, cls_error *error);
cls_status clsi_add_input(clsi_learned *l, cls_error *error, const char *format, ...)
    CLS_PRINTF(3, 4);
/* d node / d symbol with the chain rule through the unknown parts, in n symbols by one walk: costs what `a` and
 * the inputs of the parts cost, not n times that. */
cls_status clsi_total_derivatives(const clsi_unknowns *u, cls_node a, size_t n,
                                  const cls_node *symbols, cls_node *out);
/* Does an unknown energy depend on any of these variables (or is that not known, for want of memory)? Then its
 * derivative there is not known. */
int clsi_any_hidden(const clsi_unknowns *u, size_t n, const cls_node *variables, cls_error *error);
/* On which: hidden (n). */
cls_status clsi_find_hidden(const clsi_unknowns *u, size_t n, const cls_node *variables,
                            unsigned char *hidden, cls_error *error);

/* Inputs of a part from in (n, points), the values of z (n); then their scaling. */
cls_status clsi_scale_late(const clsi_unknowns *us, clsi_unknown *u, const clsi_points *p, size_t n,
                           const cls_node *z, const double *in, cls_error *error);

/* ---- logs.c ---- */

struct clsi_residual;

/* Inputs of u that are positive at all data, other than entropies, become their logarithms when
 * `take`; counts them. */
cls_status clsi_log_inputs(const clsi_unknowns *us, clsi_unknown *u, const clsi_points *p,
                           const cls_node *z, int take, int *count, cls_error *error);
/* The inputs of a part that depends on hidden temperatures, at all points, from these. */
cls_status clsi_late_inputs(clsi_unknowns *us, const struct clsi_residual *r, const double *theta,
                            cls_error *error);

/* ---- ties.c ---- */

/* The combinations of inputs that the data tell apart, in the place of the inputs, where `take`;
 * counts the parts that have such. */
cls_status clsi_tied_inputs(const clsi_unknowns *us, clsi_unknown *u, const clsi_points *p,
                            const cls_node *z, int take, int *count, cls_error *error);

/* ---- split.c ---- */

/* Where the momenta are among the inputs of an energy of many: [*first, *first + result), of which no input
 * depends on anything else. 0: it cannot be split. */
size_t clsi_split_inputs(const clsi_unknowns *us, const clsi_unknown *u, size_t *first);

/* Energies of two or three places and as many momenta as functions of their lengths and product, where
 * `take`; counts them. */
cls_status clsi_isotropic_inputs(const clsi_unknowns *us, clsi_unknown *u, const clsi_points *p,
                                 const cls_node *z, int take, int *count, cls_error *error);

/* ---- inputs.c ---- */

/* What the formula of a part is a function of. */
typedef struct clsi_found_inputs {
    char *of; /* "a; b", the caller's; NULL: the inputs of its kind */
    int even; /* asked for: the field can be even in velocities, which are single inputs then */
    size_t even_first, even_count; /* these (count 0: there are products) */
} clsi_found_inputs;
/* The inputs of a named term, a friction or a conductance from its formula. */
cls_status clsi_inputs_of_formula(const cls_system *s, const char *part, clsi_part_kind kind,
                                  int only_positions, clsi_found_inputs *out, cls_error *error);

/* ---- convex.c ---- */

/* Which parts the word `convex` is about; it is refused where it cannot hold. */
cls_status clsi_convex_choose(const cls_learn_options *o, const clsi_points *points,
                              clsi_unknowns *us, cls_error *error);
/* The unit in which convex energies are learned. */
double clsi_convex_unit(const cls_system *s, const clsi_points *p);
/* Inputs of a convex part where the file declares none; those it declares, in order. */
cls_status clsi_convex_inputs(const cls_system *s, const clsi_points *points, clsi_unknown *u,
                              cls_error *error);
/* The field for a spec with the word: "convex(24, 24; 1 1 2)", without it for other parts. */
cls_status clsi_convex_spec(const cls_system *s, clsi_unknown *u, size_t size, char *spec,
                            cls_error *error);

/* Makes rows of a hamiltonian's entropies as large as those of its momenta, where the hamiltonian
 * is convex: temperatures are found from them. */
void clsi_convex_balance(struct clsi_residual *r);

/* ---- position_form.c ---- */

/* Variable k of (q, v). */
cls_node clsi_position_variable(const cls_system *s, size_t k);
/* The inputs of a part when nothing is declared: the positions. */
cls_status clsi_position_inputs(const cls_system *s, clsi_learned *l, int raw, cls_error *error);
/* The programs of r: z = (q, v), t, field symbols, both ends -> p, f. */
struct clsi_residual;
cls_status clsi_position_compile(struct clsi_residual *r, cls_error *error);

/* ---- heat.c: what isothermal data cannot tell ---- */

/* The heat capacity at rest that is to be taken for a thermal lagrangian, 0: the data tell it. */
double clsi_unseen_heat(const cls_system *s, const clsi_points *p);
/* Anchors that keep the unknown formula from having another one. */
cls_status clsi_set_heat(const clsi_unknowns *us, const clsi_points *p, cls_error *error);

/* ---- position_states.c ---- */

/* The data as states of `model` of which only the positions are observed. */
cls_status clsi_points_of_positions(const clsi_points *p, const cls_system *model,
                                    clsi_points **out, cls_error *error);

/* ---- positive.c ---- */

/* clsi_lsq_solve with linear frictions and conductances kept from being negative at the data, as
 * far as a few rounds of inequalities do it: *negative data values are left. F (n, parameters) theta >= f hold, too. */
cls_status clsi_solve_positive(clsi_lsq *q, double rcond, const clsi_unknowns *us,
                               const clsi_points *p, size_t n, const double *F, const double *f,
                               double *theta, clsi_lsq_info *found, size_t *negative, double *kkt,
                               cls_error *error);

/* The same for some of the parameters, the unknowns of q; the others of theta are given. */
cls_status clsi_solve_columns(clsi_lsq *q, double rcond, const clsi_unknowns *us,
                              const clsi_points *p, size_t n_columns, const size_t *columns,
                              double *theta, clsi_lsq_info *found, size_t *negative, double *kkt,
                              cls_error *error);

/* ---- sound.c ---- */

/* Inequalities F theta >= f (n) that keep masses and heat capacities positive at the data; n = 0: theta (n_theta) does
 * so already, or there is none of them to learn. The caller frees F and f. */
cls_status clsi_sound_rows(const clsi_unknowns *us, const clsi_points *p, const double *theta,
                           size_t *n, double **F, double **f, cls_error *error);

/* ---- residual.c: one row per window and equation ---- */

typedef struct clsi_residual {
    const clsi_points *points;
    const clsi_unknowns *unknowns;
    size_t n, m, n_equations; /* n momenta, m entropies, and positions where H_p is unknown */
    size_t n_quantities;      /* p, S, q, then their rates, at a point */
    int affine;               /* in the field symbols */
    int homogeneous;          /* nothing is known: all terms contain an unknown part */
    cls_program *values;      /* z, t, field symbols -> the quantities */
    cls_program *slopes; /* the same -> the quantities, then their derivatives in the symbols, */
    size_t *
        slope_start; /* (n_quantities + 1) those of a quantity, of which only these are not zero: */
    uint32_t *slope_of;          /* in which symbols, ascending */
    cls_program *adjoint;        /* the same, c (n_quantities) -> d(c . quantities)/d symbols */
    struct clsi_step_rows *step; /* rows are the step of a scheme; NULL: weighted rates */
    int hidden;   /* a temperature follows from an unknown energy, and all fields are linear: */
    double *heat; /* then entropies have balances of heat (balances.c), with S' (m, points) */
    size_t *parts_start;       /* (n_equations + 1) where the list of an equation begins in */
    uint32_t *parts;           /* the parts that equations contain, ascending */
    unsigned char *exchange;   /* (unknowns): coefficients that move heat and nothing else */
    double *weight;            /* (n_equations, windows) */
    unsigned char *sloped;     /* (unknowns): derivatives of the field occur, not only its value, */
    unsigned char *valued;     /* and this one occurs as well */
    unsigned char *paired;     /* (unknowns): slopes are discrete gradients; positions only */
    unsigned char *only_force; /* (unknowns): of q, in f and not in p; positions only */
    int all_nodes;             /* some unknown is neither that nor paired */
    struct clsi_blocks *memory; /* of the threads (shards.h): one caller at a time */
    int scale_free;             /* set: the problem is divided by the scale of energy and forces */
    double scale, *scale_theta, *scale_row; /* the scale at a theta, and its row */
    const struct clsi_anchors *anchors;     /* not NULL: one more row for each, after that */
    double anchor_weight;
    const cls_team *team; /* processes that share the shards of the gradient; NULL: none */
    double slow;          /* squared speed below which rows are weighed alike */
} clsi_residual;

cls_status clsi_residual_create(const clsi_points *points, const clsi_unknowns *unknowns,
                                clsi_residual **out, cls_error *error);
void clsi_residual_free(clsi_residual **r);

/* From y and the inputs: affine, homogeneous, the programs. */
cls_status clsi_residual_compile(clsi_residual *r, size_t n_inputs, const cls_node *inputs,
                                 const cls_node *y, cls_error *error);

/* Does equation e contain part k? */
static inline int clsi_contains(const clsi_residual *r, size_t e, size_t k) {
    size_t low = r->parts_start[e], high = r->parts_start[e + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->parts[middle] == k) return 1;
        if (r->parts[middle] < k)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* The first derivative of quantity q in a symbol of u, at [Q + that] of what `slopes` makes; *end: the
 * first that is in another's. */
static inline size_t clsi_slopes_of(const clsi_residual *r, size_t q, const clsi_unknown *u,
                                    size_t *end) {
    size_t low = r->slope_start[q], high = r->slope_start[q + 1];
    for (size_t last = high; low < last;) {
        size_t middle = low + (last - low) / 2;
        if (r->slope_of[middle] < u->symbol)
            low = middle + 1;
        else
            last = middle;
    }
    for (*end = low; *end < high && r->slope_of[*end] <= u->symbol + u->learned.d;) ++*end;
    return low;
}

/* ---- position_rows.c: the functions of batch.c for positions ---- */

cls_status clsi_position_rows(const clsi_residual *r, const double *theta, size_t first,
                              size_t count, const size_t *list, double *out, double *J);
cls_status clsi_position_gradient(const clsi_residual *r, const double *theta, size_t count,
                                  const size_t *list, double *loss, double *gradient);
cls_status clsi_position_scale(const clsi_residual *r, const double *theta, size_t most,
                               double *row, double *mean_pv, double *mean_vv);

/* ---- batch.c: evaluated ---- */

/* Rows are numbered window * n_equations + equation. Residuals of `count` rows (list NULL: the rows
 * from `first` on) at theta, and their Jacobian J (count, n_theta) when wanted. theta NULL: all
 * fields zero (an affine residual's constant part). Same bits for any number of threads. */
cls_status clsi_residual_rows(const clsi_residual *r, const double *theta, size_t first,
                              size_t count, const size_t *list, double *out, double *J);
/* The first row of shard s (shards.h); shards begin with a window. */
size_t clsi_shard_begin(const clsi_residual *r, size_t count, size_t shards, size_t s);
/* (1/2)|r|^2 / count over the rows and its gradient. */
cls_status clsi_residual_gradient(const clsi_residual *r, const double *theta, size_t count,
                                  const size_t *list, double *loss, double *gradient);
/* mean of p.v over the first points of the training windows (at most `most` of them, spread evenly;
 * 0: all): value and row over theta (at theta), and the mean of v.v: the scale condition is  mean
 * p.v = mean v.v. */
cls_status clsi_residual_scale(const clsi_residual *r, const double *theta, size_t most,
                               double *row, double *mean_pv, double *mean_vv);
/* The residual as a problem for the optimisers. */
void clsi_residual_problem(clsi_residual *r, clsi_problem *out);

/* ---- rollout.c: simulations against data ---- */

/* Root mean square difference between simulations of the system from the starts of some
 * trajectories kept for validation, in `parts` steps from row to row, and those trajectories, each state divided by its spread in the
 * data. INFINITY when a simulation fails; NAN when there is nothing to compare with; -1 when
 * `hurry` (may be NULL), which is asked before each step, broke it off; -2 without memory. *kept: the simulator, for
 * the next rollout of the same system, the caller's (NULL: made and freed). */
#define CLSI_ROLLOUT_NO_MEMORY (-2.0)
double clsi_rollout(const clsi_points *p, const cls_system *s, size_t parts, cls_simulator **kept,
                    int (*hurry)(void *context), void *context);
/* The same of a motion that stays where it begins: what a model must beat. */
double clsi_rollout_still(const clsi_points *p, const cls_system *s);

/* ---- balances.c: entropies where their temperature is hidden ---- */

/* Some temperature follows from an unknown energy, and every field is linear. */
int clsi_has_hidden_temperature(const clsi_unknowns *us, const clsi_points *p);
/* S' at all points, (m, n): derivatives at data, differences at means. */
cls_status clsi_entropy_rates(const clsi_points *p, const cls_system *s, double **out,
                              cls_error *error);
/* rate_i = heat_i - T_i S_i', where S' are symbols; of entropies that exchange heat the first has
 * the sum of all, without the exchange. */
void clsi_balance_rates(const cls_system *s, const clsi_flows *flows, const cls_node *v,
                        const cls_node *T, const cls_node *S_rate, cls_node *rate);
/* Weights of the balances, in the units of the momenta's. */
void clsi_weigh_balances(clsi_residual *r);
/* The temperatures as functions of the parameters, at some of the data. */
typedef struct clsi_temperatures clsi_temperatures;
cls_status clsi_temperatures_create(const clsi_residual *r, clsi_temperatures **out,
                                    cls_error *error);
void clsi_temperatures_free(clsi_temperatures **t);
/* Of all entropies with this root: lowest, mean and highest value, and the row of the mean. */
typedef struct clsi_warmth {
    double low, mean, high;
} clsi_warmth;
clsi_warmth clsi_temperatures_at(const clsi_temperatures *t, const double *theta, size_t root,
                                 double *row);
size_t clsi_temperatures_root(const clsi_temperatures *t, size_t i);
/* T_i at point k, and its row. */
double clsi_temperatures_row(const clsi_temperatures *t, const double *theta, size_t i, size_t k,
                             double *row);
/* T (m, every `stride` numbers) at point k, for parts that are functions of it. */
void clsi_temperatures_all(const clsi_temperatures *t, const double *theta, size_t k, size_t stride,
                           double *T);

/* ---- step_rows.c: rows that are the step of a scheme between two neighbours ---- */

typedef struct clsi_step_rows clsi_step_rows;
cls_status clsi_step_rows_create(const clsi_points *points, const clsi_unknowns *us,
                                 clsi_step_rows **out, cls_error *error);
void clsi_step_rows_free(clsi_step_rows **rows);
size_t clsi_step_rows_count(const clsi_step_rows *s);                 /* of a window */
int clsi_step_rows_affine(const clsi_step_rows *s);                   /* in the parameters */
const unsigned char *clsi_step_rows_contain(const clsi_step_rows *s); /* (rows, unknowns) */
/* The state component whose equation row e is: positions, momenta, entropies. */
size_t clsi_step_rows_state(const clsi_step_rows *s, size_t e);
/* clsi_residual_rows and clsi_residual_gradient of such a residual. Rows of a window in which the
 * step has no solution are INFINITY. */
cls_status clsi_step_rows_values(const clsi_residual *r, const double *theta, size_t first,
                                 size_t count, const size_t *list, double *out, double *J);
cls_status clsi_step_rows_gradient(const clsi_residual *r, const double *theta, size_t count,
                                   const size_t *list, double *loss, double *gradient);

/* ---- step_blocks.c: the same where all fields stand at given points ---- */

typedef struct clsi_step_blocks clsi_step_blocks;
struct clsi_step;
/* *out NULL: the step has unknowns, discrete gradients, or a part without blocks. */
cls_status clsi_step_blocks_create(const struct clsi_step *st, const clsi_unknowns *us,
                                   const cls_node *theta, clsi_step_blocks **out, cls_error *error);
void clsi_step_blocks_free(clsi_step_blocks **blocks);
clsi_step_blocks *clsi_step_rows_blocks(const clsi_step_rows *s); /* or NULL */
cls_status clsi_step_blocks_values(const clsi_residual *r, const double *theta, size_t first,
                                   size_t count, const size_t *list, double *out);
cls_status clsi_step_blocks_gradient(const clsi_residual *r, const double *theta, size_t count,
                                     const size_t *list, double *loss, double *gradient);

/* ---- anchors.c: what is known at chosen states ---- */

typedef struct clsi_anchors clsi_anchors;
/* Of the skeleton's anchors those that contain an unknown part. */
cls_status clsi_anchors_create(const clsi_unknowns *us, clsi_anchors **out, cls_error *error);
void clsi_anchors_free(clsi_anchors **anchors);
size_t clsi_anchors_count(const clsi_anchors *as);
double clsi_anchors_value(const clsi_anchors *as, size_t i); /* as given */
/* An anchor has a value other than zero, and so sets the scale of energy and forces. */
int clsi_anchors_set_scale(const clsi_anchors *as);
/* The quantity of anchor i at theta (NULL: all fields zero), and its row over theta when wanted. */
cls_status clsi_anchors_row(const clsi_anchors *as, size_t i, const double *theta, double *value,
                            double *row);
/* weight (quantity - value), relative to the value where there is one, and its row when wanted. */
cls_status clsi_anchors_weighted(const clsi_anchors *as, size_t i, const double *theta,
                                 double weight, double *r, double *row);
/* That weight, for a loss that is the mean over so many rows + share mean(errors^2); share 0: as
 * much as makes them hold to a thousandth. */
double clsi_anchors_weight(const clsi_anchors *as, size_t rows, double share);
/* Of n of them together: loss += sum r^2 / 2, gradient += its gradient. */
cls_status clsi_anchors_gradient(const clsi_anchors *as, size_t n, const size_t *which,
                                 const double *theta, double weight, double *loss,
                                 double *gradient);
/* The same as a linear condition row.theta = right, for affine problems. */
cls_status clsi_anchors_constraint(const clsi_anchors *as, size_t i, double *row, double *right,
                                   cls_error *error);

#endif
