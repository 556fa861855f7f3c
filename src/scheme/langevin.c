/* langevin: friction with the noise that its temperature demands.
 *
 * A friction F = -Gamma v whose heat goes to a reservoir of temperature T comes with a random force
 * sqrt(2 kB T Gamma) dW (fluctuation and dissipation): then exp(-E/(kB T)) is the distribution that
 * motions end in, whatever Gamma is. A step of h is
 *
 *     O(h/2)   at fixed positions, the momenta by the exact solution of their linear equation
 *     D(h)     everything else, by discrete-gradient: the energy is exact
 *     O(h/2)
 *
 * Weak order 2 (Strang). What O does to the energy is heat from the reservoir, counted as it is; so
 * E - W - Q is constant to round-off. Both parts keep exp(-E/(kB T)) as it is, at any h: O because it
 * is exact; D because it keeps E, up to what it does to volumes in phase space, which is made good by
 * turning the momentum round with probability 1 - |det D'| where that is less than one (Metropolis;
 * E is even in p). That is rare, of order h^3, and is counted. simulate/langevin.c does it.
 *
 * Not promised: single motions as accurate as their mean; statistics where Newton's method fails. */
#include "base/base.h"
#include "scheme/scheme.h"
#include "system/language.h"
#include <stdlib.h>

static cls_status needs_noise(const cls_system *s, cls_error *error) {
    for (size_t k = 0; k < s->nr; k++)
        if (clsi_has_noise(s, k)) {
            if (s->form->kind == CLSI_FORM_PHASE) return CLS_OK;
            return clsi_fail(error, CLS_USAGE,
                             "thermal noise needs energies that are quadratic in the momenta, and "
                             "'%s' gives its energy by %s: write it as a hamiltonian",
                             s->name, cls_formalism_name(s->formalism));
        }
    return clsi_fail(error, CLS_USAGE,
                     "'%s' has no thermal noise: write `thermal noise on RESERVOIR: kB`, or take "
                     "discrete-gradient",
                     s->name);
}

const clsi_scheme clsi_scheme_langevin = {
    .info = {"langevin", "thermal noise: discrete gradients between exact Ornstein-Uhlenbeck steps",
             2, 1, "energy - heat, exp(-E/kT)", "Strang 1968; Leimkuhler, Matthews 2013"},
    .applies = needs_noise,
    .build = clsi_build_discrete_gradient,
    .carries = 1,
    .varies = 1,
    .noise = 1};

/* ---- what the noise is made of ---- */

void clsi_noise_free(clsi_noise **noise) {
    clsi_noise *x = *noise;
    if (!x) return;
    free(x->momentum);
    free(x->inverse_mass);
    free(x->boltzmann);
    free(x);
    *noise = NULL;
}

/* Momenta that a friction with noise acts on. */
static void find_momenta(const cls_system *s, clsi_noise *x) {
    for (size_t j = 0; j < s->n; j++) {
        int found = 0;
        for (size_t k = 0; k < s->nr; k++) {
            if (!clsi_has_noise(s, k)) continue;
            CLSI_EACH(&s->bound.friction, s->m + k, e)
            found |= s->bound.friction.entries[e].column == j;
        }
        if (found) x->momentum[x->n++] = j;
    }
}

/* F_j of reservoir k, over q, v, S, T, t: zero where there is none. */
static cls_node force_of(const cls_system *s, size_t k, size_t j) {
    CLSI_EACH(&s->bound.friction, s->m + k, e)
    if (s->bound.friction.entries[e].column == j) return s->bound.friction.entries[e].node;
    return cls_constant(s->g, 0);
}

static cls_status refuse(const cls_system *s, size_t k, size_t j, const char *why,
                         cls_error *error) {
    return clsi_fail(error, CLS_SYSTEM,
                     "the friction on `%s` that heats `%s` cannot have thermal noise: %s",
                     clsi_force_on(s, j), s->reservoir[k], why);
}

/* Without the symbols, simplified where they would only cancel. */
static cls_node free_of(cls_graph *g, cls_node a, size_t n, const cls_node *symbols) {
    if (!cls_depends(g, a, n, symbols)) return a;
    a = cls_simplify(g, a);
    return cls_depends(g, a, n, symbols) ? CLS_NO_NODE : a;
}

/* Gamma of reservoir k (n, n), as the derivatives of the forces. */
static cls_status gamma_of(const cls_system *s, const clsi_noise *x, size_t k, cls_node *out,
                           cls_error *error) {
    cls_graph *g = s->g;
    size_t n = x->n;
    for (size_t a = 0; a < n; a++) {
        size_t j = x->momentum[a];
        cls_node force = force_of(s, k, j), terms[2] = {force, cls_constant(g, 0)};
        if (cls_depends(g, force, s->n, s->p))
            return refuse(s, k, j, "write it with velocities v, not with momenta", error);
        for (size_t b = 0; b < n; b++) {
            cls_node v = s->v[x->momentum[b]], slope = cls_neg(g, cls_derivative(g, force, v));
            slope = out[a * n + b] = free_of(g, slope, s->n, s->v);
            if (slope == CLS_NO_NODE)
                return refuse(s, k, j, "it is not linear in the velocities", error);
            terms[1] = cls_add(g, terms[1], cls_mul(g, slope, v));
        }
        if (!clsi_is_identity(g, 2, terms))
            return refuse(s, k, j, "it does not vanish at rest", error);
    }
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            cls_node pair[2] = {out[a * n + b], cls_neg(g, out[b * n + a])};
            if (!clsi_is_identity(g, 2, pair))
                return refuse(s, k, x->momentum[a],
                              "its matrix is not symmetric (a part across the velocity belongs "
                              "into brackets, `poisson {p.x, p.y} = b`)",
                              error);
        }
    return CLS_OK;
}

/* E_pp and v of these momenta, over z. */
static cls_status masses_of(const cls_system *s, clsi_noise *x, cls_error *error) {
    cls_graph *g = s->g;
    size_t n = x->n;
    for (size_t a = 0; a < n; a++) {
        cls_node v = s->form->v[x->momentum[a]];
        x->inverse_mass[n * n + a] = v;
        for (size_t b = 0; b < n; b++) {
            cls_node c = cls_derivative(g, v, s->p[x->momentum[b]]);
            for (size_t i = 0; i < n && c != CLS_NO_NODE; i++)
                c = free_of(g, c, 1, &s->p[x->momentum[i]]);
            if (c == CLS_NO_NODE)
                return clsi_fail(error, CLS_SYSTEM,
                                 "thermal noise needs an energy that is quadratic in the momenta "
                                 "that it acts on; that of '%s' is not, in %s",
                                 s->name, cls_node_name(g, s->p[x->momentum[a]]));
            x->inverse_mass[a * n + b] = c;
        }
    }
    return CLS_OK;
}

/* Whether what is left without the noisy frictions is a conservative motion that runs backwards
 * when all momenta are turned round. */
static int is_reversible(const cls_system *s) {
    cls_graph *g = s->g;
    if (!s->canonical || s->m || s->has_work || s->varies || s->nu || s->has_operator) return 0;
    for (size_t k = 0; k < s->nr; k++)
        if (!clsi_has_noise(s, k)) CLSI_EACH(&s->bound.friction, s->m + k, e) return 0;
    cls_node *turned = clsi_calloc(s->n, sizeof *turned), back = CLS_NO_NODE;
    for (size_t j = 0; turned && j < s->n; j++) turned[j] = cls_neg(g, s->p[j]);
    if (turned) (void)cls_substitute(g, 1, &s->form->energy, s->n, s->p, turned, &back);
    free(turned);
    if (back == CLS_NO_NODE) return 0;
    cls_node terms[2] = {s->form->energy, cls_neg(g, back)};
    return clsi_is_identity(g, 2, terms);
}

static cls_status describe(const cls_system *s, clsi_noise *x, cls_error *error) {
    const clsi_form *f = s->form;
    const clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t, NULL};
    size_t n = x->n, n2 = n * n, used = n2 + n;
    cls_status status = masses_of(s, x, error);
    for (size_t k = 0; k < s->nr && status == CLS_OK; k++) {
        if (!clsi_has_noise(s, k)) continue;
        cls_node *to = x->inverse_mass + used;
        x->boltzmann[x->n_baths++] = s->boltzmann[k];
        status = gamma_of(s, x, k, to, error);
        to[n2] = s->bound.reservoir[k];
        if (status == CLS_OK && clsi_place_at(s, &at, n2 + 1, to, to) != CLS_OK)
            status = cls_graph_status(s->g, error);
        used += n2 + 1;
    }
    x->n_nodes = used;
    x->reversible = is_reversible(s);
    return status == CLS_OK ? cls_graph_status(s->g, error) : status;
}

cls_status clsi_noise_create(const cls_system *s, clsi_noise **out, cls_error *error) {
    clsi_noise *x = *out = clsi_calloc(1, sizeof *x);
    if (!x || !(x->momentum = clsi_calloc(s->n, sizeof *x->momentum))) {
        clsi_noise_free(out);
        return clsi_no_memory(error);
    }
    find_momenta(s, x);
    size_t n2 = x->n * x->n;
    x->inverse_mass = clsi_calloc(n2 + x->n + s->nr * (n2 + 1), sizeof *x->inverse_mass);
    x->boltzmann = clsi_calloc(s->nr, sizeof *x->boltzmann);
    cls_status status = x->inverse_mass && x->boltzmann ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK && !x->n)
        status = clsi_fail(error, CLS_SYSTEM,
                           "thermal noise of '%s' belongs to no friction: write one whose heat "
                           "goes to that reservoir, `friction on Tr: x <- -gamma*v.x`",
                           s->name);
    if (status == CLS_OK) status = describe(s, x, error);
    if (status != CLS_OK) clsi_noise_free(out);
    return status;
}
