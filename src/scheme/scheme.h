/* scheme: discretisations as residuals on the graph.
 *
 * A scheme writes ONE step from z0 (time t) to z1 (time t + h) as expressions: unknowns u,
 * equations r(z0, u, h) = 0, and z1 as an expression of z0, u and h. Simulation solves r = 0 for u;
 * learning puts data in the place of z1 and minimises |r| (between.c). Nothing here evaluates
 * anything.
 *
 * Adding a scheme: one file with one `const clsi_scheme`, one line in table.c. */
#ifndef CLSI_SCHEME_H
#define CLSI_SCHEME_H

#include "system/system.h"
#include <clausius/scheme.h>

/* A point of the motion: everything a scheme may want there, as nodes. */
typedef struct clsi_point {
    cls_node *z;                        /* (nz) native state */
    cls_node *q, *v, *p, *S, *T;        /* (nq), (n), (n), (m), (m) */
    cls_node *rate_q, *rate_p, *rate_S; /* (nq), (n), (m): q', p' and S' */
    cls_node account[CLSI_ACCOUNTS];    /* rates of work, heat and entropy of the outside */
    cls_node t;
    size_t first_unknown; /* its own unknowns begin here (where it has any) */
} clsi_point;

enum { CLSI_MAX_SLABS = 64 };

typedef struct clsi_step {
    const cls_system *s;
    const clsi_form *f;
    cls_graph *g;
    size_t nq, n, m, nz;
    cls_node *z0;            /* (nz) symbols, those of the form */
    cls_node received, t, h; /* symbols; received: work and heat so far, for monitors */
    double length;           /* about what h will be; 0: not known; INFINITY: stiff */
    int stiff;               /* conduction among many entropies is damped (balance.c) */
    cls_node *u0, *u1;       /* (nu) symbols: inputs at the start and at the end of the step */
    cls_node defect;         /* symbol: energy missing from earlier steps' round-off (carry) */
    cls_node *owed; /* (n_owed) symbols: what the equations of earlier steps were left at */
    size_t n_owed;  /* n_unknowns for states with temperatures in schemes that carry, else 0 */
    size_t n_unknowns, capacity;
    size_t n_lifted; /* the last of the unknowns, which follow from the others (lift.c) */
    cls_node *unknown, *residual, *guess; /* (n_unknowns): symbol, equation, cold guess over z0 */
    size_t *of_state; /* (n_unknowns): the state component that h u changes, SIZE_MAX for none */
    cls_node *next;   /* (nz) z1 over z0, t, h, unknowns */
    cls_node *change; /* (nz) z1 - z0, where next is the sum of the two */
    cls_node gain[CLSI_ACCOUNTS]; /* what the step adds to each account */
    size_t n_positive;            /* expressions that must stay positive (discrete temperatures) */
    cls_node *positive;
    cls_node *paper_start; /* dtel: (nz) z0 as the paper's first step has it, else NULL */
    cls_node *slab;        /* node arrays of the builders are carved from here ... */
    size_t slab_size, slab_used;
    cls_node *slabs[CLSI_MAX_SLABS]; /* ... one after the other */
    size_t n_slabs;
    size_t first_open;  /* no equation before this one is missing */
    clsi_point *points; /* the same for points */
    clsi_point *start;  /* among them, once it is asked for */
    size_t n_points;
    const cls_node *dS; /* (n + m) for clsi_flows_at; NULL: the gradient at the place */
    int composed;       /* stages of the scheme go to and fro */
    int as_written;     /* flows are not collected as like terms (presolve.c) */
    int quiet;          /* frictions that come with noise are left out: langevin's own step */
    int exhausted;      /* the slab or the unknowns ran out: an error of clsi_step_create */
    /* Between two given states (between.c), else NULL: the unknowns are those that z0 and z1 do not
     * give, and what z1 has to satisfy are rows. */
    cls_node *z1;   /* (nz) symbols */
    size_t n_rows;  /* at most nz */
    cls_node *row;  /* (n_rows) */
    size_t *row_of; /* (n_rows) the state component whose equation it is */
} clsi_step;

/* An explicit Runge-Kutta method, whose stages are Euler steps (lawful.c). */
typedef struct clsi_tableau {
    int stages;
    const double *a; /* (stages, stages), below the diagonal */
    const double *b; /* (stages) none is negative; their sum is 1 */
    const double *c; /* (stages) */
} clsi_tableau;
enum { CLSI_MOST_STAGES = 11 };

typedef struct clsi_scheme {
    cls_scheme_info info;
    cls_status (*applies)(const cls_system *s, cls_error *error); /* NULL: always */
    void (*build)(clsi_step *step); /* failures stay in the graph; NULL for bdf */
    const double *composition;      /* fractions of h, or NULL for one whole step */
    size_t n_composition;
    /* (2, n_composition + 1), or NULL. Weights of the states after 0, 1, ... stages whose sums are
     * O(h^5) and O(h^3): errors of embedded solutions. With them a step chooses its own stages' h.
     */
    const double *estimate;
    const clsi_tableau *tableau; /* steps are made of several of what is built, or NULL */
    int carries;                 /* uses `defect`, or keeps the energy by itself */
    int varies;                  /* for energies that contain t, too */
    int noise; /* of systems with thermal noise; the frictions that it belongs to are left out */
    int drift; /* of no motion: rates and what else has no noise */
} clsi_scheme;

const clsi_scheme *clsi_scheme_find(const char *name);
/* Does the scheme make sense for the system? Else the error says why. */
cls_status clsi_scheme_fits(const clsi_scheme *scheme, const cls_system *s, cls_error *error);

/* Builds the step of a scheme for a system and eliminates the unknowns that stand alone. h is about
 * how long steps will be, 0 where it is not known: what is written down depends on it (balance.c);
 * INFINITY where it is known to be stiff. */
cls_status clsi_step_create(const cls_system *s, const clsi_scheme *scheme, double h,
                            clsi_step **out, cls_error *error);
void clsi_step_free(clsi_step **step);
/* The step between two given states z0 and z1, over a system whose expressions contain the symbols
 * theta: rows that are zero when z1 is a step of the scheme from z0, as far as they depend on theta,
 * and the unknowns with their equations that are left to be solved for (stages, a Legendre transform
 * of an unknown function). The states of a lagrangian are (q, v, S) here whatever its form. */
cls_status clsi_step_between(const cls_system *s, const clsi_scheme *scheme, size_t n_theta,
                             const cls_node *theta, clsi_step **out, cls_error *error);
/* The explicit Euler step, for schemes made of several. */
void clsi_build_euler(clsi_step *step);
/* The step of discrete-gradient, for schemes around it. */
void clsi_build_discrete_gradient(clsi_step *step);

/* Thermal noise (langevin.c). At fixed positions momenta p that frictions F = -Gamma v with noise
 * act on move by
 *     dp = -Gamma v dt + sqrt(2 kB T Gamma) dW,    v = E_p affine in p,
 * for each reservoir. All over z, t and inputs. */
typedef struct clsi_noise {
    size_t n, n_baths;      /* momenta; reservoirs with noise */
    size_t *momentum;       /* (n) which */
    cls_node *inverse_mass; /* (n, n) E_pp, then v (n), then Gamma (n, n) and T of each reservoir */
    size_t n_nodes;
    double *boltzmann; /* (n_baths) */
    int reversible;    /* without these frictions the motion is reversible: E is even in p, and
                          nothing else dissipates, drives or depends on time */
} clsi_noise;
/* Fails with a sentence where the noise would not be that of Maxwell and Boltzmann: friction that is
 * not linear and symmetric in v, energies that are not quadratic in p. Builds on the graph of s. */
cls_status clsi_noise_create(const cls_system *s, clsi_noise **out, cls_error *error);
void clsi_noise_free(clsi_noise **noise);

/* The first half of clsi_step_create: allocated and built, nothing eliminated. */
cls_status clsi_step_build(const cls_system *s, const clsi_scheme *scheme, int between, double h,
                           clsi_step **out, cls_error *error);
/* Solves the equations that are affine in their own unknown with a coefficient free of unknowns,
 * and puts the solution in (presolve.c). */
cls_status clsi_step_presolve(clsi_step *step, cls_error *error);
/* Makes unknowns of numbers that all others depend on (lift.c). */
cls_status clsi_step_lift(clsi_step *step, cls_error *error);
/* Unknowns from which on systems are treated as large: presolve in one pass, lifting. */
enum { CLSI_MANY_UNKNOWNS = 48 };
/* Takes unknown k and its equation out. */
void clsi_step_drop(clsi_step *step, size_t k);

/* ---- for scheme builders ---- */

/* n nodes (at most nz + n m) that live as long as the step; never NULL. */
cls_node *clsi_nodes(clsi_step *st, size_t n);
/* A new unknown with its cold guess; of_state tells Newton how accurate h u has to be. Equations
 * are added in the same order as unknowns. */
cls_node clsi_step_unknown(clsi_step *st, cls_node guess, size_t of_state);
void clsi_equation(clsi_step *st, cls_node residual);
void clsi_keep_positive(clsi_step *st, cls_node a);

/* The time t + c h, and the inputs (nu) there: u(t + c h) = (1 - c) u0 + c u1. */
cls_node clsi_time(clsi_step *st, double c);
cls_node *clsi_inputs(clsi_step *st, double c);

/* The point with native state z at time t + c h. */
clsi_point *clsi_point_of_state(clsi_step *st, const cls_node *z, double c);
/* y = (q, p, S) there, and what dy/dz z' must be (nz each): the rates without dy/dt at fixed z. */
void clsi_point_rates(clsi_step *st, const clsi_point *pt, cls_node *y, cls_node *rate);
/* The point at the start of the step: z0, t. */
clsi_point *clsi_point_start(clsi_step *st);
/* The point with given y = (q, p, S): for PHASE that is the state itself; otherwise z is unknown
 * and y(z) = y are equations (the Legendre transform, solved numerically with the rest). */
clsi_point *clsi_point_of_y(clsi_step *st, const cls_node *q, const cls_node *p, const cls_node *S,
                            double c);
/* The end of the step, z1 = z0 + h u (temperatures T1 = T0 exp(h u)), u unknown, guessed from the
 * motion at z0; becomes step->next. The caller owes nz equations. */
clsi_point *clsi_point_next(clsi_step *st);
/* The same without how y moves there: no rates, no accounts. */
clsi_point *clsi_point_end(clsi_step *st);
/* The nz equations  y(next) = (q, p, S). */
void clsi_finish(clsi_step *st, const clsi_point *next, const cls_node *q, const cls_node *p,
                 const cls_node *S);
/* Every account gains h times its rate: that of the work from `moving`, those of heat and entropy
 * from `thermal`, so that they belong to the place where the forces, and where the heats, are taken.
 */
void clsi_finish_accounts(clsi_step *st, const cls_node *moving, const cls_node *thermal);

/* Forces and heats at a place given piece by piece (discrete velocities, temperatures, ...). */
clsi_flows clsi_flows_at(clsi_step *st, const clsi_place *at);
/* Temperatures that conduction would make change places over the step, and those that it moves to and
 * fro, settle: heat is conducted between damped ones, flows->crossing.conducts (balance.c). */
void clsi_damp_exchange(clsi_step *st, const clsi_point *start, const clsi_place *at,
                        const cls_node *dS, cls_node share, clsi_flows *flows);
/* The m heat balances with dS the changes of the entropies at the place's temperatures, each flow
 * between entropies in one place; `share` is given to every entropy (balance.c). */
cls_status clsi_heat_balances(clsi_step *st, const clsi_flows *flows, const clsi_place *at,
                              const cls_node *dS, cls_node share, cls_node *row);
/* The gains of the accounts of heat, from what the entropies that conduct to reservoirs have
 * (balance.c); after clsi_finish_accounts. */
cls_status clsi_exact_heat(clsi_step *st, const clsi_flows *flows, const clsi_place *at,
                           const cls_node *dS, cls_node share);

/* a + c b and (a + b)/2, component by component. */
cls_node *clsi_axpy(clsi_step *st, size_t n, const cls_node *a, cls_node c, const cls_node *b);
cls_node *clsi_mean(clsi_step *st, size_t n, const cls_node *a, const cls_node *b);
cls_node clsi_dot(clsi_step *st, size_t n, const cls_node *a, const cls_node *b);

#endif
