/* Heat that isothermal data cannot tell.
 *
 * Of a rigid body with H = exp(gamma S) h(mu) the temperature is gamma H, constant along every
 * trajectory, whatever the friction (docs/physics/vnots.md). From such data G + C(T) is as good
 * as G for any function C: the heat capacity of the body at rest is not in them, and a learned G
 * has any, also a negative one, for which energy does not determine the temperature. So
 *
 *     G = N + c sum_i T_i (log T_i - 1)    with    N_T = 0 at rest
 *
 * by form (trunk) and by anchors at as many temperatures as the field can resolve. The motion in
 * observables does not depend on c as long as T is constant; a large c keeps it constant against
 * the errors of N. A file with anchors of its own fixes the gauge itself. */
#include "base/base.h"
#include "learn/learn.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAT_CAPACITY 100

double clsi_unseen_heat(const cls_system *s, const clsi_points *p) {
    if (s->formalism != CLS_THERMAL_LAGRANGIAN || s->m != 1 || s->nq || s->n_anchors) return 0;
    if (p->intervals) return 0;
    const double *T = p->z + s->n * p->n;
    for (size_t w = 0; w < p->n_windows; w++) {
        size_t at[CLSI_MOST_WIDTH];
        clsi_window_points(p, w, at);
        if (fabs(T[at[p->width - 1]] - T[at[0]]) > 1e-10 * T[at[0]]) return 0;
    }
    return HEAT_CAPACITY;
}

/* N_T at rest of a polynomial of degree D in log T has D coefficients. Formulas of the user say
 * what they mean. */
static size_t nodes_for(const clsi_field *f) {
    int polynomial = f->kind->linear && !f->kind->raw;
    return polynomial ? (size_t)atoi(strchr(f->spec, '(') + 1) : 0;
}

static cls_status add_anchor(cls_system *s, double T, double value, cls_error *error) {
    double *state = clsi_calloc(s->n + 1, sizeof *state);
    if (!state) return clsi_no_memory(error);
    state[s->n] = T;
    s->anchors[s->n_anchors++] = (clsi_anchor){s->S[0], CLS_NO_NODE, value, state, 1};
    return CLS_OK;
}

cls_status clsi_set_heat(const clsi_unknowns *us, const clsi_points *p, cls_error *error) {
    const clsi_field *f = NULL;
    for (size_t k = 0; k < us->n; k++)
        if (us->list[k].learned.trunk > 0) f = us->list[k].learned.field;
    if (!f) return CLS_OK;
    double low = INFINITY, high = -INFINITY;
    const double *T = p->z + us->s->n * p->n;
    for (size_t i = 0; i < p->n_data; i++) {
        low = fmin(low, log(T[i]));
        high = fmax(high, log(T[i]));
    }
    size_t n = high > low ? nodes_for(f) : 0;
    free(us->s->anchors); /* there are none */
    us->s->anchors = clsi_calloc(n, sizeof *us->s->anchors);
    cls_status status = us->s->anchors ? CLS_OK : clsi_no_memory(error);
    for (size_t k = 0; k < n && status == CLS_OK; k++) { /* Chebyshev's nodes */
        double x = cos(acos(-1) * ((double)k + 0.5) / (double)n);
        double at = 0.5 * (low + high) + 0.5 * (high - low) * x;
        status = add_anchor(us->s, exp(at), us->trunk * at, error);
    }
    return status;
}
