/* symplectic-euler, leapfrog, generic-euler: kicks and drifts.
 *
 * symplectic-euler:  p1 = p0 + h p'(q0,p1,S0);  q1 = q0 + h v(q0,p1,S0);  S1 = S0 + h S'(q0,p1,S0).
 * leapfrog:          half a kick of (p, S) at q0, explicit; the drift of q with the velocity at the
 *                    half-way momentum, averaged over q0 and q1; half a kick at q1, implicit (its
 *                    adjoint). Without friction and with H = K(p) + V(q) it is the explicit
 *                    Stormer-Verlet scheme; symmetric, so of order 2 with friction as well.
 * generic-euler:     the explicit GENERIC-motivated splitting that DTEL compares with (its
 *                    reference [11] with both coefficients 1), as we read it: kick with all forces
 *                    at the old state, drift with the new velocity, entropy production at the new
 *                    position and velocity. Order 1. */
#include "scheme/scheme.h"

static void build_symplectic_euler(clsi_step *st) {
    clsi_point *start = clsi_point_start(st), *next = clsi_point_next(st);
    clsi_point *mixed = clsi_point_of_y(st, start->q, next->p, start->S, 0);
    clsi_finish(st, next, clsi_axpy(st, st->nq, start->q, st->h, mixed->rate_q),
                clsi_axpy(st, st->n, start->p, st->h, mixed->rate_p),
                clsi_axpy(st, st->m, start->S, st->h, mixed->rate_S));
    clsi_finish_accounts(st, mixed->account, mixed->account);
}

static void build_leapfrog(clsi_step *st) {
    cls_graph *g = st->g;
    cls_node half_h = cls_mul(g, cls_constant(g, 0.5), st->h);
    clsi_point *start = clsi_point_start(st), *next = clsi_point_next(st);
    cls_node *p = clsi_axpy(st, st->n, start->p, half_h, start->rate_p);
    cls_node *S = clsi_axpy(st, st->m, start->S, half_h, start->rate_S);
    clsi_point *before = clsi_point_of_y(st, start->q, p, S, 0.5);
    clsi_point *after = clsi_point_of_y(st, next->q, p, S, 0.5);
    cls_node *drift = clsi_mean(st, st->nq, before->rate_q, after->rate_q);
    clsi_finish(st, next, clsi_axpy(st, st->nq, start->q, st->h, drift),
                clsi_axpy(st, st->n, p, half_h, next->rate_p),
                clsi_axpy(st, st->m, S, half_h, next->rate_S));
    cls_node *rates = clsi_mean(st, CLSI_ACCOUNTS, start->account, next->account);
    clsi_finish_accounts(st, rates, rates);
}

static void build_generic_euler(clsi_step *st) {
    clsi_point *start = clsi_point_start(st), *next = clsi_point_next(st);
    cls_node *p = clsi_axpy(st, st->n, start->p, st->h, start->rate_p);
    clsi_point *kicked = clsi_point_of_y(st, start->q, p, start->S, 0);
    cls_node *q = clsi_axpy(st, st->nq, start->q, st->h, kicked->rate_q);
    clsi_point *moved = clsi_point_of_y(st, q, p, start->S, 0);
    clsi_finish(st, next, q, p, clsi_axpy(st, st->m, start->S, st->h, moved->rate_S));
    clsi_finish_accounts(st, kicked->account, moved->account);
}

const clsi_scheme clsi_scheme_symplectic_euler = {
    .info = {"symplectic-euler", "symplectic Euler", 1, 1,
             "entropy >= 0, symplectic without friction", "de Vogelaere 1956"},
    .build = build_symplectic_euler};

const clsi_scheme clsi_scheme_leapfrog = {.info = {"leapfrog",
                                                   "Stormer-Verlet, extended to friction", 2, 1,
                                                   "symplectic without friction", "Verlet 1967"},
                                          .build = build_leapfrog};

const clsi_scheme clsi_scheme_generic_euler = {.info = {"generic-euler",
                                                        "explicit GENERIC-motivated splitting", 1,
                                                        0, "entropy >= 0", "DTEL, reference [11]"},
                                               .build = build_generic_euler};
