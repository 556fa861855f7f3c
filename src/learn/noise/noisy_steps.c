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
 * Then the steps are shorter, or the system's own. Where no parameters are searched beside terms nothing can become so
 * sharp, and half fits on the way to other terms are no reason to change steps. */
#include "learn/noise/noisy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 16,
    FIELD_STEPS = 4,
    LENGTHS = 4,
    STABLE_LENGTHS = 7
};                                /* in a time scale; between two rows; h, h/2, .. */
static const double SEEN = 0.1;   /* of the scale of residuals: longer steps change more */
static const double FIRST = 1e-3; /* of the spread: residuals before there is a fit */
static const double SMOOTH = 4;   /* times less are changes where steps of order four are halved */
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

/* The same of explicit steps where what is exchanged may be far faster than rows follow each other: none at all, or
 * nothing that gets better, is what steps look like that are too long to be stable. */
static int find_stable(const clsi_noisy *k, double h, double *a, double *b) {
    int there = simulate(k, h, a);
    for (int n = 0; n < STABLE_LENGTHS; n++) {
        int next = simulate(k, ldexp(h, -n - 1), b);
        double *swap = a;
        if (there && next && change(k->multiple, a, b) <= SEEN) return n;
        there = next;
        a = b, b = swap;
    }
    return -1;
}

/* How long steps between rows are. */
static double length_of(const clsi_noisy *k) {
    double interval = k->data->interval, most = k->multiple->observer->most_step;
    return interval / fmax(1, ceil(interval / most * (1 - 1e-9)));
}

static void forget_dictionary(clsi_noisy *k) {
    clsi_multiple_free(&k->whole);
    cls_system_free(&k->whole_open);
}

/* Whether shorter steps would move the windows of the fit; *changed: they would, and are to be taken. */
static cls_status check(clsi_noisy *k, int *changed) {
    size_t n = k->multiple->data->n * k->multiple->ny;
    double h = length_of(k), *seen = clsi_calloc(2 * n + 1, sizeof *seen);
    *changed = 0;
    if (!seen) return clsi_no_memory(k->w->error);
    int stiff = k->driven && is_explicit(k);
    int length = stiff ? find_stable(k, h, seen, seen + n) : find_length(k, h, seen, seen + n);
    free(seen);
    if (!length) return CLS_OK;
    *changed = 1;
    if (length < 0)
        k->implicit = 1;
    else
        k->longest = ldexp(h, -length);
    forget_dictionary(k);
    return CLS_OK;
}

cls_status clsi_noisy_first_steps(clsi_noisy *k) {
    clsi_multiple *m = k->multiple;
    int changed;
    if (!k->driven || !is_explicit(k)) return CLS_OK;
    cls_status status = clsi_multiple_plan(m, clsi_recipe_first(m), k->w->theta, k->w->error);
    for (size_t c = 0; c < m->ny; c++) {
        const clsi_channel *ch = &m->data->channel[c];
        m->sigma[c] = fmax(fmax(ch->noise, ch->floor), FIRST * ch->std);
        if (!(m->sigma[c] > 0)) m->sigma[c] = 1;
    }
    if (status == CLS_OK) status = check(k, &changed);
    m->n_pieces = 0;
    return status == CLS_OK && changed ? clsi_noisy_set_up(k) : status;
}

/* The fit `before` with the steps that are to be taken now; with shorter ones where these have no solution. */
static cls_status fit_anew(clsi_noisy *k, size_t rows, clsi_noisy_kept *before) {
    enum { TRIES = 3 };
    cls_status status = CLS_NUMERIC;
    for (int n = 0; n < TRIES && status == CLS_NUMERIC && !clsi_noisy_is_over(k); n++) {
        if (n) k->longest = length_of(k) / 2;
        forget_dictionary(k);
        before->implicit = k->implicit;
        before->longest = k->longest;
        status = clsi_noisy_return(k, before, rows, 0);
        if (status == CLS_OK) status = clsi_noisy_settle(k, rows);
    }
    return status;
}

cls_status clsi_noisy_settle_in_steps(clsi_noisy *k, size_t rows) {
    clsi_noisy_kept before = {0};
    cls_status status = clsi_noisy_settle(k, rows);
    while (status == CLS_OK && (k->Q || k->driven) && !k->steps_stay && !k->w->o->scheme &&
           !k->field && !clsi_noisy_is_over(k)) {
        int changed = 0, implicit = k->implicit;
        double longest = k->longest;
        status = check(k, &changed);
        if (!changed) break;
        if (status == CLS_OK) status = clsi_noisy_remember(k, &before);
        if (status == CLS_OK) status = fit_anew(k, rows, &before);
        if (status != CLS_NUMERIC) continue;
        k->steps_stay = 1;
        before.implicit = implicit;
        before.longest = longest;
        status = clsi_noisy_return(k, &before, rows, 0);
    }
    clsi_noisy_forget(&before);
    return status;
}
