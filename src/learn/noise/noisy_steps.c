/* Noisy data: the steps that windows are simulated with.
 *
 * Explicit steps of order four, short enough that their error is far below the noise: a search keeps no laws, the
 * model that it finds does. What they cannot simulate has the system's own steps. So have fields in space: neighbours
 * exchange things in far less than the time between rows, and a search with explicit steps ends at the largest
 * conductivity that these can simulate.
 *
 * Whether the error is far below the noise is looked at, at each length of the windows: the fit that there is is
 * simulated with steps of half the length. Dry friction is what fails: a block that sticks has a friction of 1e5/s, about
 * which explicit steps chatter, with derivatives that grow from step to step, and every turn of its motion is a corner.
 * Then the steps are shorter, or the system's own. */
#include "learn/noise/noisy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 16,
    FIELD_STEPS = 4,
    LENGTHS = 4
};                              /* in a time scale; between two rows; h, h/2, .. */
static const double SEEN = 0.2; /* of the scale of residuals: longer steps change more */
static const double SMOOTH = 4; /* times less are changes where steps of order four are halved */
static const double HELPS =
    1.5; /* the same of the system's own steps, where that is worth its time */

static int is_explicit(const clsi_noisy *k) {
    return !k->w->o->scheme && !k->implicit && !k->field;
}

cls_status clsi_noisy_observer(const clsi_noisy *k, const cls_system *open, const clsi_unknowns *us,
                               const cls_node *theta, const char *const *channel,
                               clsi_observer **out) {
    double most = k->data->time_scale / STEPS;
    const char *scheme = k->w->o->scheme;
    cls_status status = CLS_USAGE;
    if (is_explicit(k))
        status = clsi_observer_create(open, "rk4", us->n_theta + us->n_open, theta, k->data->ny,
                                      channel, out, NULL);
    if (status != CLS_OK) {
        int fine = k->field && !scheme;
        scheme =
            clsi_measured_steps(open, k->data, fine ? cls_scheme_default(open) : scheme, &most);
        if (fine) most = fmin(most, k->data->interval / FIELD_STEPS);
        status = clsi_observer_create(open, scheme, us->n_theta + us->n_open, theta, k->data->ny,
                                      channel, out, k->w->error);
    }
    if (status == CLS_OK) (*out)->most_step = k->longest > 0 ? fmin(most, k->longest) : most;
    return status;
}

/* ---- are they short enough? ---- */

/* What the windows are simulated to with steps of h, into seen; 0: they cannot be. */
static int simulate(const clsi_noisy *k, double h, double *seen) {
    clsi_multiple *m = k->multiple;
    double before = m->observer->most_step;
    m->observer->most_step = h;
    int fine = clsi_multiple_simulate(m, k->w->theta);
    m->observer->most_step = before;
    if (fine) memcpy(seen, m->seen, m->data->n * m->ny * sizeof *seen);
    return fine;
}

/* How far two of them are apart, in units of the residuals' scales: the column where they are most. */
static double change(const clsi_multiple *m, const double *a, const double *b) {
    double most = 0;
    for (size_t c = 0; c < m->ny; c++) {
        double sum = 0, n = 0;
        for (size_t w = 0; w < m->n_pieces; w++)
            for (size_t i = m->piece[w].first; i < m->piece[w].first + m->piece[w].n; i++, n++) {
                double d = (a[i * m->ny + c] - b[i * m->ny + c]) / m->sigma[c];
                sum += d * d;
            }
        most = fmax(most, n > 0 ? sqrt(sum / n) : 0);
    }
    return most;
}

/* Which length to take: h/2^n; -1: explicit steps do not get better. */
static int find_length(const clsi_noisy *k, double h, double *a, double *b) {
    double last = INFINITY, helps = is_explicit(k) ? SMOOTH : HELPS;
    if (!simulate(k, h, a)) return 0;
    for (int n = 0; n < LENGTHS; n++) {
        if (!simulate(k, ldexp(h, -n - 1), b)) return 0;
        double now = change(k->multiple, a, b), *swap = a;
        if (now <= SEEN) return n;
        if (!(now * helps < last)) return is_explicit(k) ? -1 : n ? n - 1 : 0;
        last = now;
        a = b, b = swap;
    }
    return is_explicit(k) ? -1 : LENGTHS - 1;
}

cls_status clsi_noisy_check_steps(clsi_noisy *k, int *changed) {
    const clsi_multiple *m = k->multiple;
    size_t n = m->data->n * m->ny;
    double most = m->observer->most_step, interval = m->data->interval;
    double h = interval / fmax(1, ceil(interval / most * (1 - 1e-9)));
    double *seen = clsi_calloc(2 * n + 1, sizeof *seen);
    *changed = 0;
    if (!seen) return clsi_no_memory(k->w->error);
    int length = k->w->o->scheme || k->field ? 0 : find_length(k, h, seen, seen + n);
    free(seen);
    if (!length) return CLS_OK;
    *changed = 1;
    if (length < 0)
        k->implicit = 1;
    else
        k->longest = ldexp(h, -length);
    clsi_multiple_free(&k->whole);
    cls_system_free(&k->whole_open);
    return clsi_noisy_set_up(k);
}
