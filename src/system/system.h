/* system: the inside of a cls_system, for the rooms below (scheme, simulate, audit, ...).
 *
 * Symbols of the graph: positions q (nq), velocities v and momenta p (n each), entropies S and
 * temperatures T (m each), t. A coordinate brings all three of q, v, p; the first `paired` of each
 * list belong together. After them come positions without a momentum of their own (the vertical
 * seen from a body, an attitude) and momenta without a position (the angular momentum of a body).
 * The motion, with the brackets K_ij = {q_i, p_j} and P_ij = {p_i, p_j} = -P_ji:
 *
 *     q' = K v,    p' = -K^T E_q + P v + forces,    T_i S_i' = heat_i
 *
 * K = 1 and P = 0 unless the file says otherwise: then the system is canonical. A formula of the
 * user is an expression over the symbols. `raw` keeps the parameters as symbols (for printing);
 * `bound` has them replaced by their values (for numbers).
 *
 * What crosses the boundary (boundary.c): inputs u (nu), functions of time that come from data or
 * from a formula of t; external forces, whose work is counted; heat sources and reservoirs, whose
 * heat is counted and with it the entropy of the reservoirs. */
#ifndef CLSI_SYSTEM_H
#define CLSI_SYSTEM_H

#include "system/sparse.h"
#include <clausius/graph.h>
#include <clausius/system.h>

/* What a state without a coordinate is: its effort dE/dx is a velocity, a chemical potential, or
 * the force that drives an internal variable. */
typedef enum clsi_role { CLSI_MOTION, CLSI_MOLE, CLSI_INTERNAL } clsi_role;

typedef struct clsi_variable {
    const char *name, *unit; /* the graph's; one of s->kept, NULL when none was given */
    double low, high;        /* open interval; -INFINITY, INFINITY when not declared */
    int angle;               /* differences count modulo 2 pi */
    int has_domain;          /* the file gives one */
    clsi_role role;          /* of a momentum */
    int turns; /* a momentum of a rigid body, whose velocity is motion without a position */
} clsi_variable;

/* A parameter that is to be learned: does the file say where to begin? */
typedef enum clsi_unknown_parameter {
    CLSI_KNOWN,
    CLSI_UNKNOWN,     /* the guess is the middle of the bounds, or one */
    CLSI_UNKNOWN_NEAR /* `near` */
} clsi_unknown_parameter;

typedef struct clsi_named {
    char *name;
    cls_node node;
    char *unit; /* NULL: none was given */
} clsi_named;

/* Knowledge at one state, for learning: QUANTITY = value. `of` is p.x or S (a symbol), CLS_NO_NODE
 * for the formula itself; `by`, when not CLS_NO_NODE, is the variable of a derivative. */
typedef struct clsi_anchor {
    cls_node of, by;
    double value, *state; /* (nq + n + m): see clsi_anchor_variable */
    int gauge;            /* set by the learner where the data cannot tell: says nothing of scale */
} clsi_anchor;

/* Positions [first, first + count) whose squares add up to one. */
typedef struct clsi_unit {
    size_t first, count;
} clsi_unit;

/* The physics as expressions. Absent things are the constant 0. */
typedef struct clsi_physics {
    cls_node formula;        /* L(q,v,S), H(q,p,S) or G(q,v,T) as the user wrote it */
    cls_node potential;      /* external potential W(q), in the energy; constant forces land here */
    clsi_sparse kinematics;  /* (nq, n) K, over q, p, S */
    clsi_sparse poisson;     /* (n, n) P, over q, p, S */
    cls_node *force;         /* (n) external forces without potential, over q,v,p,S,T,t */
    clsi_sparse friction;    /* (m + nr, n) F_ij: force on coordinate j that heats entropy i, or for
                              i >= m reservoir i - m */
    clsi_sparse conductance; /* (m, m) symmetric, zero diagonal: heat kappa_ij (T_j - T_i) into i */
    cls_node *source;        /* (m) heat from sources into entropy i, over q,v,p,S,T,t,u */
    cls_node *bath;          /* (m, nr) heat bath_ir (T_r - T_i) from reservoir r into entropy i */
    cls_node *reservoir;     /* (nr) temperatures T_r, over t and u */
    /* Metriplectic (operator.c): M over (p, S) for showing and judging, and what it does: forces
     * (n) and heats T S' (m) over q,v,p,S,T, whose work and heat cancel for any v and T. The matrix
     * is there only where the system has one (has_operator). */
    cls_node *friction_operator, *operator_force, *operator_heat;
    cls_node entropy; /* the total entropy over q, p, S, where the file gives one (entropy.c) */
    clsi_named *invariants, *outputs;
} clsi_physics;

/* Something that has a name and cannot be unknown: "an external force". */
typedef struct clsi_tag {
    char *name;
    const char *what;
} clsi_tag;

/* `function V(d) = ...` (functions.c). `other`, `defining` and the like are the reader's. */
enum { CLSI_MOST_ARGUMENTS = 16 };
struct clsi_replacement;
typedef struct clsi_function {
    char *name;
    int kind; /* clsi_part_kind */
    int unknown;
    int deep; /* its formula uses one that is unknown or learned */
    size_t n;
    char *argument[CLSI_MOST_ARGUMENTS];
    cls_node symbol[CLSI_MOST_ARGUMENTS];
    size_t begin, end; /* its formula in the text */
    cls_node body;     /* as written, over the arguments; CLS_NO_NODE: unknown */
    cls_node stand_in; /* of an unknown one, until it is learned */
    struct clsi_replacement *other;
    size_t where;
} clsi_function;

/* A place where a function that is unknown or learned is used, with other arguments than at the
 * places before. The order is that of the text. */
typedef struct clsi_use {
    size_t function, let; /* which; the let that stands there */
    cls_node *args;       /* over the system's variables, parameters put in */
} clsi_use;

/* What a part is a function of, where the file says so: "v.x; log(T)". */
typedef struct clsi_part_inputs {
    char *part, *list;
} clsi_part_inputs;

/* What the file writes for a named friction or conductance: of frictions an entry for each force. */
typedef struct clsi_written {
    char *part;
    size_t on;        /* the momentum */
    cls_node formula; /* over the symbols and names of the file; CLS_NO_NODE: it is unknown */
} clsi_written;

struct cls_system {
    char *name, *title, *text;
    size_t n_kept;
    char **kept;    /* units, each once */
    char *data_map; /* the `data` lines as one list, or NULL */
    char *picture;  /* the `picture` line, "pendulum q1, q2", or NULL */
    cls_formalism formalism;
    cls_graph *g;
    size_t nq, n, m, n_parameters, n_invariants, n_outputs, n_lets, n_parts;
    size_t paired;                    /* coordinates: the first of q, v and p */
    int canonical;                    /* nq = n = paired, K = 1, P = 0 */
    clsi_variable *coordinate;        /* (nq) positions */
    clsi_variable *momentum;          /* (n) */
    clsi_variable *entropy;           /* (m) */
    clsi_variable *temperature;       /* (m); low is 0 unless the file says otherwise */
    clsi_variable *parameter;         /* low, high: of an unknown one, where the file says so */
    double *parameter_value;          /* of an unknown one: the guess to begin with */
    unsigned char *parameter_unknown; /* clsi_unknown_parameter */
    unsigned char
        *parameter_learned; /* a replaced part was written with it, or is a function of it */
    cls_node *parameter_symbol;
    cls_node *q, *v, *p, *S, *T, t; /* symbols: (nq), (n), (n), (m), (m) */
    clsi_named *lets;               /* raw definitions, for printing */
    char **parts;                   /* names that --unknown can take */
    size_t n_functions, n_uses;
    clsi_function *functions;
    clsi_use *uses;
    size_t n_labels;
    clsi_tag *labels;     /* names that it cannot take */
    size_t n_unknown;     /* parts that the file calls unknown (and nothing has replaced) */
    char **unknown;       /* their names */
    char **unknown_field; /* the field the file wants for each, NULL for none */
    char **unknown_of;    /* formulas it is a function of, "a; b", NULL: those of its kind */
    unsigned char *unknown_positive; /* a part whose values are positive */
    size_t n_part_inputs;
    clsi_part_inputs *part_inputs;
    size_t n_written;
    clsi_written *as_written;
    size_t nu, nr;            /* inputs; reservoirs */
    clsi_variable *input;     /* (nu) */
    cls_node *u;              /* (nu) symbols */
    cls_node *input_formula;  /* (nu) over t, bound; CLS_NO_NODE: its values come from data */
    char **reservoir;         /* (nr) names */
    double *boltzmann;        /* (nr) kB where frictions on it come with thermal noise; NAN: none */
    struct clsi_ports *ports; /* the components it was made from, or NULL */
    size_t n_anchors;
    clsi_anchor *anchors;
    size_t n_units;
    clsi_unit *units; /* directions and attitudes of rigid bodies (body.c) */
    clsi_physics raw, bound;
    int has_operator, metriplectic; /* M is not zero; the formula was called `energy` */
    int has_entropy, coupled; /* a total entropy is given; L dS = 0 needs its exact gradient */
    cls_node *dS;             /* (n + m) symbols for its gradient in p and S, in operator_* */
    cls_node *entropy_slope;  /* (nq + n + m) its gradient, bound; the same again raw */
    int ode;      /* no structure at all: rates are forces, the hamiltonian is zero (ode.c) */
    int has_work; /* external forces without potential, or an energy that contains t: the state
                     carries `work` */
    int varies;   /* the energy contains t: what changes it from outside is work */
    int has_heat; /* heat sources or reservoirs: the state carries `heat` and `entropy.outside` */
    /* default start: for each q, v, p, S, T symbol in this order (nq + 2n + 2m), NAN when not given
     */
    double *start;
    double step, until;
    int says_step, says_until; /* the file does; else they are defaults */
    struct clsi_form *form;    /* the native first-order form, built at the end of parsing */
    /* For printing and for rows; the rooms below need none of these. */
    char *formula_name; /* NULL when the file gives none */
    cls_node written;   /* the formula with lets as symbols */
    size_t n_columns;
    const char **
        columns; /* (n_columns) names, which others own; column 1 + i is state i for i < nq + n + m */
    cls_program *row_program;  /* inputs t, z, accounts, u; outputs the columns */
    cls_program *dual_program; /* see start.c: conjugate variables and their slopes over z ... */
    size_t *dual_start;        /* ... (n + m + 1) by rows ... */
    uint32_t *dual_column;     /* ... and columns */
};

/* The native state z and everything as an expression over z (and t).
 *   PHASE    z = (q, p, S): hamiltonian; lagrangian whose momentum is affine in v
 *   VELOCITY z = (q, v, S): any other lagrangian
 *   THERMAL  z = (q, v, T): thermal lagrangian
 * y = (q, p, S) are the variables that have rates; y(z) is the identity for PHASE. */
typedef enum clsi_form_kind {
    CLSI_FORM_PHASE,
    CLSI_FORM_VELOCITY,
    CLSI_FORM_THERMAL
} clsi_form_kind;

typedef struct clsi_form {
    clsi_form_kind kind;
    size_t nq, n, m, nz; /* nz = nq + n + m, without work */
    cls_node *z;         /* (nz) symbols: those of the system */
    cls_node *q, *v, *p; /* (nq), (n), (n) over z */
    cls_node *S, *T;     /* (m) over z */
    cls_node energy;     /* total energy with the external potential, over z */
    cls_node entropy;    /* sum of S */
    cls_node *energy_q;  /* (nq) dE/dq at fixed p, S:  H_q = -L_q = -G_q, over z */
    cls_node energy_t;   /* dE/dt at fixed q, p, S, over z and t; constant 0 as a rule */
    /* The generating function with the external potential inside, over the native symbols:
     * H(q,p,S) for PHASE, L(q,v,S) for VELOCITY, G(q,v,T) for THERMAL. */
    cls_node generator;
    /* L(q,v,S) over the symbols q,v,S where it is known in closed form (PHASE with velocity affine
     * in p, VELOCITY), else CLS_NO_NODE. */
    cls_node lagrangian;
} clsi_form;

/* Expressions written over q,v,p,S,T,t,u rewritten with the given nodes in their place (NULL keeps
 * the symbols). */
typedef struct clsi_place {
    const cls_node *q, *v, *p, *S, *T; /* (nq), (n), (n), (m), (m) */
    cls_node t;
    const cls_node *u; /* (nu) */
    int quiet;         /* of flows: frictions that come with noise are left out */
} clsi_place;
cls_status clsi_place_at(const cls_system *s, const clsi_place *at, size_t count,
                         const cls_node *nodes, cls_node *out);

/* The same for the entries of a table, in their order; the array is the caller's. */
cls_status clsi_sparse_place(const cls_system *s, const clsi_place *at, const clsi_sparse *t,
                             cls_node **out);

/* What crossed the boundary so far; the state carries these behind z, in this order. */
typedef enum clsi_account {
    CLSI_WORK,   /* of the external forces without potential, and of an energy that contains t */
    CLSI_HEAT,   /* from heat sources and reservoirs */
    CLSI_OUTSIDE /* entropy that the outside has gained */
} clsi_account;
enum { CLSI_ACCOUNTS = 3 };
size_t clsi_account_count(const cls_system *s);
/* Account number k of the state (k < clsi_account_count), and its name. */
clsi_account clsi_account_at(const cls_system *s, size_t k);
const char *clsi_account_name(clsi_account a);
/* Energy that came in, and entropy that the outside gained, of a state that is followed by what its
 * sums still owe (simulator.h): work and heat of opposite sign may be much larger than what
 * they leave. */
double clsi_received(const cls_system *s, const double *state);
double clsi_outside(const cls_system *s, const double *state);
/* Rates of all CLSI_ACCOUNTS accounts at a place where forces, frictions (those of the system's
 * table, in the order of its entries), sources (m),
 * conductances to reservoirs (m, nr) and temperatures of reservoirs (nr) have been put in. */
typedef struct clsi_crossing {
    const cls_node *force, *friction, *source, *bath, *reservoir, *v, *T;
    const cls_node *conducts; /* (m) temperatures between which heat is conducted: T as a rule */
    cls_node varying;         /* dE/dt of an energy that contains t; else 0 */
} clsi_crossing;
void clsi_account_rates(const cls_system *s, const clsi_crossing *at, cls_node *rates);
/* The parameter of this name, or SIZE_MAX; fails with a sentence when one is unknown. */
size_t clsi_parameter_find(const cls_system *s, const char *name);
cls_status clsi_parameters_known(const cls_system *s, cls_error *error);
/* Forces at a place: force[j] = sum of frictions and external forces, heat[i] = T_i S_i', rates of
 * the accounts. The pieces of heat[i]: own[i] of frictions, outside[i] of heat sources and
 * reservoirs, operator_heat[i] of a friction operator (whose force is operator_force), and of
 * conduction the sum over k of kappa_ik (T_k - T_i). What frictions give to reservoirs is `escaped`. */
typedef struct clsi_flows {
    cls_node *force, *heat, account[CLSI_ACCOUNTS], escaped;
    cls_node *own, *outside, *operator_force, *operator_heat; /* (m, m, n, m) */
    cls_node *kappa;            /* of the entries of the system's table of conductances */
    cls_node *reservoir, *bath; /* temperatures (nr), conductances to them (m, nr) */
    clsi_crossing crossing;     /* what outside and account are made of */
} clsi_flows;
size_t clsi_flows_size(const cls_system *s);
/* `room` for clsi_flows_size() nodes is the caller's, and what `out` points into. Where the system
 * has a total entropy: dS (n + m) is its gradient in p and S there; NULL: the exact one. */
cls_status clsi_flows_of(const cls_system *s, const clsi_place *at, const cls_node *dS,
                         cls_node *room, clsi_flows *out);
/* outside[] and account[] once more, after a change of the temperatures that conduct. */
void clsi_flows_cross(const cls_system *s, clsi_flows *flows);
/* Frictions on reservoir k come with thermal noise. */
int clsi_has_noise(const cls_system *s, size_t k);
/* Fails with a sentence when an input has neither formula nor data. */
cls_status clsi_inputs_known(const cls_system *s, cls_error *error);

/* The name that a force on momentum j is written with: its coordinate, or itself. */
const char *clsi_force_on(const cls_system *s, size_t j);

/* The brackets K and P of `physics` at a place (its v; NULL: the symbols), with slope (nq) = dE/dq
 * there: rate_q (nq, may be NULL) = K v, and against (n) = K^T slope - P v, what the forces on the
 * momenta work against: p' = forces - against. */
cls_status clsi_brackets_at(const cls_system *s, const clsi_physics *physics, const clsi_place *at,
                            const cls_node *slope, cls_node *rate_q, cls_node *against);

/* Parts in other forms: what `clausius learn` makes unknown, and what a model puts in its place. */
typedef enum clsi_part_kind {
    CLSI_PART_FORMULA,  /* the whole formula */
    CLSI_PART_FRICTION, /* the node is the force on momentum j */
    CLSI_PART_HEAT,     /* the node is a conductance or another coefficient, >= 0 */
    CLSI_PART_LET,      /* `part NAME = ...`: the node is its value */
    CLSI_PART_COUPLING, /* `coupling NAME = ...`: a coefficient of either sign */
    CLSI_PART_PARAMETER /* a parameter: the node stands in its place in every bound formula */
} clsi_part_kind;

typedef struct clsi_replacement {
    const char *part;
    /* The node that stands in the part's place, over the symbols of s; j: for frictions the
     * momentum, for functions the place in s->uses. */
    cls_node (*node)(void *context, const cls_system *s, clsi_part_kind kind, size_t j);
    void *context;
    int used; /* set when the part was found */
} clsi_replacement;

/* The function of this name, or NULL. */
const clsi_function *clsi_function_find(const cls_system *s, const char *name, size_t length);

/* Learned components that a file uses: the statement that declares the component in the file at
 * `path`, under this name. The text is the caller's. */
typedef struct clsi_loader {
    cls_status (*declaration)(void *context, const char *path, const char *name, char **text,
                              cls_error *error);
    void *context;
} clsi_loader;
cls_status clsi_system_parse_using(const char *text, const char *file, const cls_assignments *set,
                                   const clsi_loader *loader, cls_system **out, cls_error *error);
cls_status clsi_system_load_using(const char *name_or_path, const cls_assignments *set,
                                  const clsi_loader *loader, cls_system **out, cls_error *error);
int clsi_system_has_ports(const cls_system *s);
/* "p.q" for the `p` of a storage that became the momentum of q; NULL for any other name. */
const char *clsi_port_momentum(const cls_system *s, const char *name);
/* What a part is a function of, as the file says ("a; b"), or NULL. */
const char *clsi_part_inputs_of(const cls_system *s, const char *part);
/* The momenta that a friction acts on: those the file names, or all; ascending, in `on` (room for n,
 * may be NULL). Returns how many. */
size_t clsi_part_acts_on(const cls_system *s, const char *part, size_t *on);

/* cls_system_parse with parts replaced. `skeleton`: the result has no form and no rows (its formula
 * may contain symbols that nothing defines); for building residuals only. */
cls_status clsi_system_parse_with(const char *text, const char *file, const cls_assignments *set,
                                  size_t n, clsi_replacement *replacements, int skeleton,
                                  cls_system **out, cls_error *error);
/* For tests: by one of the two readers of files with arrays (pattern.h) alone. `lean` 1: fails where cls_system_parse
 * would read the file again, written out; a file without arrays is read in one way. */
cls_status clsi_system_parse_alone(const char *text, const char *file, const cls_assignments *set,
                                   int lean, cls_system **out, cls_error *error);
/* What the system has under this name that cannot be unknown, or NULL. */
const char *clsi_label_of(const cls_system *s, const char *name);
/* Were all of them found? If not, says which part the system does not have. */
/* Refuses a name that is no part: says what it is, or which one may be meant. */
cls_status clsi_no_such_part(const cls_system *s, const char *name, cls_error *error);
cls_status clsi_replacements_used(const cls_system *s, size_t n, const clsi_replacement *list,
                                  cls_error *error);

/* The declaration of state i of z: its name and domain. */
const clsi_variable *clsi_state_variable(const cls_system *s, size_t i);
/* Momenta of motion: those that are not amounts of matter or internal variables. */
size_t clsi_motion_count(const cls_system *s);

/* Variable number `slot` of an anchor's state: (q, v, T), (q, p, S) or (q, v, S) by formalism. */
cls_node clsi_anchor_variable(const cls_system *s, size_t slot);
/* "d p.x / d v.x = 1 at x = 0, v.x = 0, T = 1", as one would write it. */
struct clsi_text;
void clsi_anchor_print(const cls_system *s, const clsi_anchor *a, struct clsi_text *out);

/* A row as a program, for callers that bring their own work array: inputs t, z (nz), accounts
 * (clsi_account_count), u (nu); outputs the columns in order. */
const cls_program *clsi_system_row_program(const cls_system *s);
/* The same system with a graph of its own. A system that is const may be used by any number of
 * threads, so that nothing is built on its graph: who builds takes a view. All else is the system's,
 * which outlives it. */
cls_status clsi_system_view(const cls_system *s, cls_system **out, cls_error *error);
void clsi_system_view_free(cls_system **view);

/* The formula of a column over z, t (and inputs), or CLS_NO_NODE: for systems without rows too. */
cls_node clsi_system_column_node(const cls_system *s, const char *name);

/* Divides directions and attitudes by their lengths: round-off adds to them. */
void clsi_system_normalise(const cls_system *s, double *state);
/* The same for a start, which must have length one but for the last figures. */
cls_status clsi_system_check_units(const cls_system *s, double *state, cls_error *error);
/* Whether it says a unit of measurement of any variable or output. */
int clsi_system_has_units(const cls_system *s);

/* ---- used inside this room ---- */
/* The native form of `physics` (raw or bound). `kind` NULL: decide; else build that one. */
cls_status clsi_form_create(const cls_system *s, const clsi_physics *physics,
                            const clsi_form_kind *kind, clsi_form **out, cls_error *error);
void clsi_form_free(clsi_form **form);
/* Columns and the row program; the conjugate variables for cls_system_start. */
cls_status clsi_system_build_rows(cls_system *s, cls_error *error);
cls_status clsi_system_build_duals(cls_system *s, cls_error *error);
/* If f is quadratic in x (n symbols) with an invertible matrix f_xx that is free of x: its Legendre
 * transform f*(y) and x(y) (n); returns 1. Else 0; -1 when out of memory. */
int clsi_legendre(cls_graph *g, cls_node f, size_t n, const cls_node *x, const cls_node *y,
                  cls_node *conjugate, cls_node *x_of_y);

#endif
