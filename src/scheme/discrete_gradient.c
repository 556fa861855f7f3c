/* discrete-gradient: energy exact, entropy monotone, order 2. The default.
 *
 * Let y = (q, p, S) and let g* = (Hq*, v*, T*) be a discrete gradient of the energy E between the
 * two ends of the step: E(y1) - E(y0) = g*.(y1 - y0), symmetric in the two ends. Then
 *
 *     q1 - q0   = h K v*
 *     p1 - p0   = h (-K^T Hq* + P v* + sum_i F_i* + F_ext*)
 *     S_i1 - S_i0 = (h / T_i*) [ -F_i*.v* + sum_k kappa_ik* (T_k* - T_i*) ]
 *
 * with the brackets K (1 for coordinates) and P (skew, 0 for coordinates) at the means of q, p, S.
 * Multiplying by g* and adding, Hq*.K v* cancels and v*.P v* is zero, what friction takes the heat
 * gives back, exchange is antisymmetric: E1 - E0 = h F_ext*.v* identically, whatever F, kappa and h
 * are. With F_i(q,v,T).v <= 0 for all arguments and T* > 0 every friction term raises its entropy. Forces are evaluated at
 * the mean position and at v*, T*. Symmetric in the two ends, so the order is 2.
 *
 * Two discrete gradients:
 *   z = (q,p,S): automatic discrete differentiation of H (Deep DTLM; docs/physics/dtel.md,
 *       "Better than the paper": for a gas it is the symmetrised Itoh-Abe form given there).
 *   z = (q,v,T) or (q,v,S), the energy known only through G (or L): with the discrete gradient
 *       (Gq*, Gv*, GT*) of G, and bars for means,
 *           E1 - E0 = -Gq*.dq + vbar.dp + Tbar.dS + R,   R = (pbar - Gv*).dv + (Sbar - GT*).dT
 *       exactly, and R is of third order. Adding R W dy / (dy.W dy) to (-Gq*, vbar, Tbar) makes it
 *       a discrete gradient (Gonzalez' correction; W: squares of the ends' own dE/dy, so that all
 *       terms are energies). Against the form in docs/physics/vnots.md, where E1 - E0 - g.dy is
 *       subtracted as it stands, R has no cancellation: its round-off is eps |p| |dv|, not eps |E|,
 *       so that nothing has to be switched off near equilibrium.
 *
 * Where the energy contains t, g* has a component in t as well, E1 - E0 = g*.(y1 - y0) + g_t* h, and
 * h g_t* is work: what changes the parameters of the energy does it.
 *
 * `defect` is the energy that round-off of earlier steps has lost; it is given to the heat balances
 * in equal parts, so that errors do not add up (the step's balance is written against the initial
 * energy). Without heat it is a number e, and forces with a potential are scaled by 1 + e: that changes
 * the energy by -e h Hq*.K v* and keeps every symmetry (docs/decisions/0040). Costs one Newton solve in at most 2n + m unknowns. */
#include "scheme/scheme.h"
#include "base/base.h"
#include <string.h>

typedef struct gradient {
    cls_node *Hq, *v, *T; /* g* */
    cls_node t;           /* of an energy that contains t */
} gradient;

/* Between both ends; of a formula that contains t also in t, one component more. */
static cls_node *slopes_between(clsi_step *st, const clsi_point *next) {
    size_t nz = st->nz, n = nz + (st->s->varies ? 1 : 0);
    cls_node *x = clsi_nodes(st, n), *to = clsi_nodes(st, n), *out = clsi_nodes(st, nz + 1);
    memcpy(x, st->z0, nz * sizeof *x);
    memcpy(to, next->z, nz * sizeof *to);
    out[nz] = cls_constant(st->g, 0);
    if (n > nz) {
        x[nz] = st->t;
        to[nz] = clsi_time(st, 1);
    }
    (void)cls_discrete_gradient(st->g, st->f->generator, n, x, to, x, out);
    return out;
}

static gradient of_hamiltonian(clsi_step *st, const clsi_point *next) {
    cls_node *out = slopes_between(st, next);
    return (gradient){out, out + st->nq, out + st->nq + st->n, out[st->nz]};
}

/* sum over k of (mean of y_k - slope_k) (z1_k - z0_k): the pieces of R. */
static cls_node remainder_of(clsi_step *st, size_t count, const cls_node *y0, const cls_node *y1,
                             const cls_node *slope, const cls_node *z0, const cls_node *z1) {
    cls_graph *g = st->g;
    cls_node sum = cls_constant(g, 0), *mean = clsi_mean(st, count, y0, y1);
    for (size_t k = 0; k < count; k++)
        sum = cls_add(g, sum, cls_mul(g, cls_sub(g, mean[k], slope[k]), cls_sub(g, z1[k], z0[k])));
    return sum;
}

/* Adds R W dy / (dy.W dy) to g; `a` and `b` are dE/dy at the two ends. */
static void correct(clsi_step *st, cls_node R, const cls_node *dy, const cls_node *a,
                    const cls_node *b, cls_node *gradient_star) {
    cls_graph *g = st->g;
    /* at rest dy = 0 and so is R; the floor keeps 0/0 away (its square must not underflow) */
    cls_node two = cls_constant(g, 2), norm = cls_constant(g, 1e-100);
    cls_node *W = clsi_nodes(st, st->nz);
    for (size_t k = 0; k < st->nz; k++) {
        W[k] = cls_add(g, cls_pow(g, a[k], two), cls_pow(g, b[k], two));
        norm = cls_add(g, norm, cls_mul(g, W[k], cls_pow(g, dy[k], two)));
    }
    cls_node factor = cls_div(g, R, norm);
    for (size_t k = 0; k < st->nz; k++)
        gradient_star[k] =
            cls_add(g, gradient_star[k], cls_mul(g, factor, cls_mul(g, W[k], dy[k])));
}

/* dE/dy = (E_q, v, T) at a point, where E_q = -(rate_p without forces) is the generator's -G_q. */
static cls_node *energy_gradient(clsi_step *st, const clsi_point *pt) {
    cls_node *out = clsi_nodes(st, st->nz);
    (void)cls_substitute(st->g, st->nq, st->f->energy_q, st->nz, st->f->z, pt->z, out);
    if (pt->t != st->t) (void)cls_substitute(st->g, st->nq, out, 1, &st->t, &pt->t, out);
    memcpy(out + st->nq, pt->v, st->n * sizeof *out);
    memcpy(out + st->nq + st->n, pt->T, st->m * sizeof *out);
    return out;
}

static gradient in_observables(clsi_step *st, const clsi_point *start, const clsi_point *next) {
    cls_graph *g = st->g;
    size_t nq = st->nq, n = st->n, m = st->m;
    int thermal = st->f->kind == CLSI_FORM_THERMAL;
    cls_node *slope = slopes_between(st, next), *star = clsi_nodes(st, st->nz);
    cls_node *dy = clsi_nodes(st, st->nz);
    cls_node *v = clsi_mean(st, n, start->v, next->v), *T = clsi_mean(st, m, start->T, next->T);
    cls_node R = remainder_of(st, n, start->p, next->p, slope + nq, start->v, next->v);
    if (thermal)
        R = cls_add(g, R,
                    remainder_of(st, m, start->S, next->S, slope + nq + n, start->T, next->T));
    for (size_t j = 0; j < nq; j++) {
        star[j] = cls_neg(g, slope[j]);
        dy[j] = cls_sub(g, next->q[j], start->q[j]);
    }
    for (size_t j = 0; j < n; j++) {
        star[nq + j] = v[j];
        dy[nq + j] = cls_sub(g, next->p[j], start->p[j]);
    }
    for (size_t i = 0; i < m; i++) {
        star[nq + n + i] = thermal ? T[i] : cls_neg(g, slope[nq + n + i]);
        dy[nq + n + i] = cls_sub(g, next->S[i], start->S[i]);
    }
    correct(st, R, dy, energy_gradient(st, start), energy_gradient(st, next), star);
    return (gradient){star, star + nq, star + nq + n, cls_neg(g, slope[st->nz])};
}

/* L dE with L made degenerate for the discrete gradient D of the entropy (nz), where it is so only
 * for the exact one: Q L Q^T, Q = 1 - u D^T/(u.D), u the part of D on momenta and entropies. Skew,
 * so that the energy stays; D.Q = 0, so that no entropy is made. */
static void projected_brackets(clsi_step *st, const clsi_place *middle, const gradient *star,
                               const cls_node *D, cls_node *rate_q, cls_node *against,
                               cls_node *heat) {
    cls_graph *g = st->g;
    size_t nq = st->nq, n = st->n, m = st->m;
    cls_node norm = clsi_dot(st, n + m, D + nq, D + nq);
    cls_node power =
        cls_add(g, clsi_dot(st, n, D + nq, star->v), clsi_dot(st, m, D + nq + n, star->T));
    cls_node share = cls_neg(g, cls_div(g, power, norm));
    clsi_place at = *middle;
    at.v = clsi_axpy(st, n, star->v, share, D + nq);
    const cls_node *slope = clsi_axpy(st, nq, star->Hq, share, D);
    if (clsi_brackets_at(st->s, &st->s->bound, &at, slope, rate_q, against) != CLS_OK)
        st->exhausted = 1;
    cls_node made = cls_sub(g, clsi_dot(st, nq, D, rate_q), clsi_dot(st, n, D + nq, against));
    made = cls_div(g, made, norm);
    for (size_t j = 0; j < n; j++) against[j] = cls_add(g, against[j], cls_mul(g, made, D[nq + j]));
    for (size_t i = 0; i < m; i++)
        heat[i] = cls_sub(g, heat[i], cls_mul(g, star->T[i], cls_mul(g, made, D[nq + n + i])));
}

static void write_step(clsi_step *st, int settles) {
    cls_graph *g = st->g;
    size_t nq = st->nq, n = st->n, m = st->m;
    int phase = st->f->kind == CLSI_FORM_PHASE;
    /* in observables nobody asks for the rates either, but they are older than what contains them: the bits stay */
    clsi_point *start = clsi_point_start(st),
               *next = phase ? clsi_point_end(st) : clsi_point_next(st);
    gradient star = phase ? of_hamiltonian(st, next) : in_observables(st, start, next);
    clsi_place middle = {clsi_mean(st, nq, start->q, next->q),
                         star.v,
                         clsi_mean(st, n, start->p, next->p),
                         clsi_mean(st, m, start->S, next->S),
                         star.T,
                         clsi_time(st, 0.5),
                         clsi_inputs(st, 0.5)};
    cls_node *D = clsi_nodes(st, st->nz);
    if (st->s->has_entropy) {
        (void)cls_discrete_gradient(g, st->f->entropy, st->nz, st->z0, next->z, st->z0, D);
        st->dS = D + nq;
    }
    clsi_flows flows = clsi_flows_at(st, &middle);
    st->dS = NULL;
    cls_node share = cls_div(g, st->defect, cls_constant(g, m ? (double)m : 1));
    cls_node *dS = clsi_nodes(st, m), *row = clsi_nodes(st, m);
    int thermal = st->f->kind == CLSI_FORM_THERMAL;
    for (size_t i = 0; i < m; i++)
        dS[i] = thermal ? cls_sub(g, next->S[i], start->S[i]) : st->change[nq + n + i];
    if (settles) clsi_damp_exchange(st, start, &middle, dS, share, &flows);
    if (st->s->varies) {
        flows.crossing.varying = star.t;
        clsi_flows_cross(st->s, &flows);
    }
    cls_node scaled = cls_add(g, cls_constant(g, 1), st->defect); /* where there is no heat */
    cls_node *rate_q = clsi_nodes(st, nq), *against = clsi_nodes(st, n);
    if (st->s->coupled)
        projected_brackets(st, &middle, &star, D, rate_q, against, flows.own);
    else if (clsi_brackets_at(st->s, &st->s->bound, &middle, star.Hq, rate_q, against) != CLS_OK)
        st->exhausted = 1;
    for (size_t j = 0; j < nq; j++) {
        clsi_equation(st, cls_sub(g, st->change[j], cls_mul(g, st->h, rate_q[j])));
    }
    for (size_t j = 0; j < n; j++) {
        /* what is added to a state is not computed from the sum, which is rounded */
        cls_node dp = phase ? st->change[nq + j] : cls_sub(g, next->p[j], start->p[j]);
        if (!m) against[j] = cls_mul(g, scaled, against[j]);
        cls_node force = cls_sub(g, flows.force[j], against[j]);
        clsi_equation(st, cls_sub(g, dp, cls_mul(g, st->h, force)));
    }
    if (clsi_heat_balances(st, &flows, &middle, dS, share, row) != CLS_OK) st->exhausted = 1;
    for (size_t i = 0; i < m; i++) {
        clsi_equation(st, row[i]);
        /* With the correction T* may come near 0 although both ends are warm; where there is little
         * friction that is a root too, on which dS is anything. */
        cls_node ends = cls_add(g, start->T[i], next->T[i]);
        cls_node least = cls_mul(g, cls_constant(g, phase ? 0 : 1e-3), ends);
        clsi_keep_positive(st, cls_sub(g, star.T[i], least));
    }
    for (size_t k = 0; k < st->s->nr; k++) clsi_keep_positive(st, flows.reservoir[k]);
    clsi_finish_accounts(st, flows.account, flows.account);
    if (clsi_exact_heat(st, &flows, &middle, dS, share) != CLS_OK) st->exhausted = 1;
}

static void build(clsi_step *st) {
    write_step(st, 1);
}

void clsi_build_discrete_gradient(clsi_step *st) {
    write_step(st, 1);
}

/* As the literature has it: temperatures that conduction equalises within a step swing about each
 * other. Data of others are such steps (`clausius reproduce spnn-pendulum`). */
static void build_as_published(clsi_step *st) {
    write_step(st, 0);
}

const clsi_scheme clsi_scheme_discrete_gradient = {
    .info = {"discrete-gradient", "the default: discrete gradients of the energy", 2, 1,
             "energy, entropy >= 0, symmetries",
             "Gonzalez 1996; Itoh, Abe 1988; automatic discrete differentiation: Deep DTLM"},
    .build = build,
    .carries = 1,
    .varies = 1};

/* eem: the same step under the name of its literature, where the energy is a function of the state:
 * (y1 - y0)/h = L DE + M DS with DE by the graph's discrete derivative, M built from the discrete
 * velocities and temperatures, so that M DE = 0 identically (docs/physics/metriplectic.md). The
 * correction in observables would spoil the momentum, so other forms are refused. */
static cls_status needs_phase(const cls_system *s, cls_error *error) {
    if (s->form->kind == CLSI_FORM_PHASE) return CLS_OK;
    return clsi_fail(error, CLS_USAGE,
                     "eem needs the energy as a function of positions, momenta and entropies; '%s' "
                     "gives it by %s: use discrete-gradient, or write it as a hamiltonian",
                     s->name, cls_formalism_name(s->formalism));
}

const clsi_scheme clsi_scheme_eem = {
    .info = {"eem", "energy-entropy-momentum, for metriplectic systems", 2, 1,
             "energy, entropy >= 0, symmetries", "Romero 2009; QP; ADD of Deep DTLM"},
    .applies = needs_phase,
    .build = build_as_published,
    .carries = 1,
    .varies = 1};

/* Order 4 by Suzuki's composition of the symmetric scheme: five steps of c h with c = 1/(4 -
 * 4^1/3), the middle one backwards. Energy stays exact; entropy falls inside the middle step by
 * what friction produced there, so the total over the five rises only as long as h resolves the
 * motion. */
static const double suzuki[] = {0.41449077179437573714, 0.41449077179437573714,
                                -0.65796308717750294857, 0.41449077179437573714,
                                0.41449077179437573714};

const clsi_scheme clsi_scheme_discrete_gradient_4 = {
    .info = {"discrete-gradient-4", "five composed steps of discrete-gradient", 4, 1,
             "energy, symmetries", "Suzuki 1990"},
    .build = build,
    .composition = suzuki,
    .n_composition = 5,
    .carries = 1,
    .varies = 1};

/* Order 6: the nine stages of Kahan and Li 1997 (s9odr6a; Hairer, Lubich, Wanner, Geometric
 * Numerical Integration, V.3.11). All intermediate times lie within the step. */
static const double kahan_li[] = {
    0.39216144400731413928,  0.33259913678935943860, -0.70624617255763935981,
    0.082213596293550800230, 0.79854399093482996340, 0.082213596293550800230,
    -0.70624617255763935981, 0.33259913678935943860, 0.39216144400731413928};

/* The first row solves the order conditions up to 4 with the last state weighted 1 (there is one
 * solution with the smallest weights); the second those up to 2 with the smallest antisymmetric
 * weights. tests/simulate/test_adaptive.c checks composition and rows against the conditions. */
static const double kahan_li_estimate[] = {-1,
                                           2.0130883967075405119,
                                           0.67912444810840266437,
                                           1.7425054523899890994,
                                           -1.0104375309741344935,
                                           1.0104375309741344935,
                                           -1.7425054523899890994,
                                           -0.67912444810840266437,
                                           -2.0130883967075405119,
                                           1,
                                           -1,
                                           0.11892393807463458721,
                                           -0.24786509005272133041,
                                           0.53098042876513988808,
                                           0.4403155960946210228,
                                           -0.4403155960946210228,
                                           -0.53098042876513988808,
                                           0.24786509005272133041,
                                           -0.11892393807463458721,
                                           1};

const clsi_scheme clsi_scheme_discrete_gradient_adaptive = {
    .info = {"discrete-gradient-adaptive",
             "nine composed steps of discrete-gradient, as long as the accuracy allows", 6, 1,
             "energy, entropy >= 0, symmetries", "Kahan, Li 1997; Hairer, Lubich, Wanner 2006"},
    .build = build,
    .composition = kahan_li,
    .n_composition = 9,
    .estimate = kahan_li_estimate,
    .carries = 1,
    .varies = 1};
