/* Windows of a recording and their free starts.
 *
 * A row counts once: windows do not overlap, and nothing ties the end of one to the start of the
 * next. Short windows are nearly linear in everything, so that a search begun far away still finds
 * its way; long ones see slow things (damping, drifts). Starts have priors: next to nothing for
 * what is measured, about the size of the thing for what is hidden, so that a state that the
 * window does not see stays where the file puts it. */
#include "learn/shooting/multiple.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

double clsi_difference(const clsi_channel *c, double model, double measured) {
    double d = model - measured;
    return c->angle ? remainder(d, 6.283185307179586) : d;
}

/* What a fit makes small. */
static double misfit(const clsi_channel *c, double model, double measured) {
    return c->followed ? model - measured : clsi_difference(c, model, measured);
}

const clsi_signal *clsi_signal_of(const clsi_recording *d, size_t segment) {
    return d->signal ? d->signal[d->segment[segment].trajectory] : NULL;
}

/* ---- starts from data ---- */

static int has_channel(const clsi_recording *d, const char *name) {
    for (size_t c = 0; c < d->ny; c++)
        if (strcmp(d->channel[c].name, name) == 0) return 1;
    return 0;
}

typedef struct known_start {
    size_t n, most;
    clsi_known_value *list;
    int lost; /* no memory */
} known_start;

/* What is said later counts. */
static void add_known(known_start *k, const char *name, double value) {
    for (size_t i = 0; i < k->n; i++)
        if (strcmp(k->list[i].name, name) == 0) {
            k->list[i].value = value;
            return;
        }
    if (clsi_grow(&k->list, &k->most, k->n + 1, sizeof *k->list))
        k->list[k->n++] = (clsi_known_value){name, value};
    else
        k->lost = 1;
}

static known_start copy_known(const known_start *k) {
    known_start copy = {.lost = k->lost};
    for (size_t i = 0; i < k->n; i++) add_known(&copy, k->list[i].name, k->list[i].value);
    return copy;
}

/* Is it a variable that a start can name? Not twice the same by another name. */
static int can_start(const cls_system *s, const clsi_recording *d, const char *name) {
    for (size_t i = 0; i < s->nq; i++)
        if (strcmp(s->coordinate[i].name, name) == 0) return 1;
    for (size_t j = 0; j < s->n; j++) {
        if (strcmp(cls_node_name(s->g, s->v[j]), name) == 0) return 1;
        if (strcmp(s->momentum[j].name, name) == 0)
            return !has_channel(d, cls_node_name(s->g, s->v[j]));
    }
    for (size_t i = 0; i < s->m; i++) {
        if (strcmp(s->temperature[i].name, name) == 0) return 1;
        if (strcmp(s->entropy[i].name, name) == 0) return !has_channel(d, s->temperature[i].name);
    }
    return 0;
}

static void add_slopes(const clsi_multiple *m, const clsi_segment *g, size_t i, known_start *k) {
    const cls_system *s = m->system;
    clsi_parabola p;
    for (size_t j = 0; j < s->paired; j++) {
        const char *v = cls_node_name(s->g, s->v[j]);
        if (has_channel(m->data, v) || has_channel(m->data, s->momentum[j].name)) continue;
        for (size_t c = 0; c < m->ny; c++)
            if (strcmp(m->data->channel[c].name, s->coordinate[j].name) == 0 &&
                clsi_local_parabola(m->data, g, c, i, clsi_local_half(m->data), &p))
                add_known(k, v, p.slope);
    }
}

/* Temperatures that are not measured are about as high as those that are. */
static void add_temperatures(const clsi_multiple *m, size_t i, known_start *k) {
    const cls_system *s = m->system;
    double sum = 0, count = 0;
    for (size_t c = 0; c < m->ny; c++)
        for (size_t j = 0; j < s->m; j++) {
            double y = m->data->y[i * m->ny + c];
            if (strcmp(m->data->channel[c].name, s->temperature[j].name) != 0 || !isfinite(y))
                continue;
            sum += y;
            count++;
        }
    for (size_t j = 0; j < s->m && count > 0; j++)
        if (!has_channel(m->data, s->temperature[j].name) &&
            !has_channel(m->data, s->entropy[j].name) && !m->told[s->nq + s->n + j] &&
            !(m->beside && m->beside->filled[s->nq + s->n + j]))
            add_known(k, s->temperature[j].name, sum / count);
}

/* Elements of arrays that are not measured lie between those that are. */
static void add_neighbours(const clsi_multiple *m, known_start *k) {
    if (!m->beside) return;
    clsi_known_value *more = clsi_calloc(m->nz + 1, sizeof *more);
    size_t n = more ? clsi_neighbours_fill(m->beside, k->n, k->list, more) : SIZE_MAX;
    k->lost |= n == SIZE_MAX;
    for (size_t i = 0; i < n && n != SIZE_MAX; i++) add_known(k, more[i].name, more[i].value);
    free(more);
}

/* Integrals of inputs, from where the file or the trajectory begins. */
static void add_integrals(const clsi_multiple *m, size_t trajectory, size_t i, known_start *k) {
    const clsi_integrals *f = m->integrals;
    for (size_t j = 0; f && j < f->n; j++)
        add_known(k, cls_node_name(m->system->g, m->system->form->z[f->state[j]]),
                  m->first[f->state[j]] + f->sum[i * f->n + j] + f->shift[trajectory * f->n + j]);
}

static cls_status start_with(const cls_system *s, const known_start *k, double *z,
                             cls_error *error) {
    const char **names = clsi_calloc(k->n + 1, sizeof *names);
    double *values = clsi_calloc(k->n + 1, sizeof *values);
    cls_status status = names && values && !k->lost ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < k->n && status == CLS_OK; i++)
        names[i] = k->list[i].name, values[i] = k->list[i].value;
    cls_assignments given = {.n = k->n, .names = names, .values = values};
    if (status == CLS_OK) status = cls_system_start(s, &given, z, error);
    free(names);
    free(values);
    return status;
}

/* What the file's start leaves open begins at rest, at temperature one. */
static cls_status complete_start(const cls_system *s, const known_start *k, double *z,
                                 cls_error *error) {
    cls_status status = start_with(s, k, z, NULL);
    if (status == CLS_OK || status == CLS_MEMORY) return status ? clsi_no_memory(error) : CLS_OK;
    known_start more = copy_known(k);
    for (size_t e = 0; e < s->form->nz; e++) {
        const char *name = cls_node_name(s->g, s->form->z[e]);
        int there = 0;
        for (size_t i = 0; i < k->n; i++) there |= strcmp(k->list[i].name, name) == 0;
        if (!there) add_known(&more, name, e < s->nq + s->n ? 0 : 1);
    }
    status = start_with(s, &more, z, error);
    free(more.list);
    return status;
}

/* Noise takes an amount that is nearly used up below zero: it begins a little inside of its domain. */
static double possible(const clsi_multiple *m, size_t c, double y) {
    const clsi_channel *ch = &m->data->channel[c];
    double little = fmax(fmax(ch->noise, 1e-4 * ch->std), 1e-12) / 10;
    for (size_t e = 0; e < m->nz; e++)
        if (strcmp(cls_node_name(m->system->g, m->system->form->z[e]), ch->name) == 0)
            return fmin(fmax(y, m->x_low[e] + little), m->x_high[e] - little);
    return y;
}

/* A hidden state begins so much of its prior away from the ends of its domain: a substance that the file's
 * start has none of is there later on, and steps from nearly zero are stiff. */
static const double OFF = 0.01;

/* What outputs tell at theta, from the state that is there without them. */
static cls_status add_told(const clsi_multiple *m, const double *theta, size_t segment, size_t i,
                           known_start *k, double *state, cls_error *error) {
    const cls_system *s = m->system;
    double *dot = clsi_calloc(m->nz + 1, sizeof *dot);
    if (!dot) return clsi_no_memory(error);
    known_start without = copy_known(k);
    int fine = clsi_told_at(m, theta, segment, i, state, dot);
    for (size_t e = 0; e < m->nz && fine; e++) {
        if (!m->told[e]) continue;
        add_known(k, cls_node_name(s->g, s->form->z[e]), state[e]);
        if (e >= s->paired) continue;
        const char *v = cls_node_name(s->g, s->v[e]);
        if (!has_channel(m->data, v) && !has_channel(m->data, s->momentum[e].name))
            add_known(k, v, dot[e]);
    }
    free(dot);
    cls_status status = fine ? complete_start(s, k, state, NULL) : CLS_NUMERIC;
    if (status != CLS_OK) /* what they tell is no state */
        status = complete_start(s, &without, state, error);
    free(without.list);
    return status;
}

/* What the columns say alone; with theta what outputs tell as well. */
static cls_status plain_start(const clsi_multiple *m, const double *theta, size_t segment, size_t i,
                              double *z, cls_error *error) {
    const clsi_segment *g = &m->data->segment[segment];
    known_start k = {0};
    clsi_parabola p;
    for (size_t c = 0; c < m->ny; c++) {
        const char *name = m->data->channel[c].name;
        double y = m->data->y[i * m->ny + c];
        if (!can_start(m->system, m->data, name)) continue;
        if (clsi_local_parabola(m->data, g, c, i, 2, &p)) y = p.value;
        if (isfinite(y)) add_known(&k, name, possible(m, c, y));
    }
    add_slopes(m, g, i, &k);
    add_temperatures(m, i, &k);
    add_neighbours(m, &k);
    add_integrals(m, g->trajectory, i, &k);
    double *state = clsi_calloc(cls_system_state_count(m->system) + 1, sizeof *state);
    cls_status status = state ? complete_start(m->system, &k, state, error) : clsi_no_memory(error);
    if (status == CLS_OK && theta && m->n_told)
        status = add_told(m, theta, segment, i, &k, state, error);
    if (status == CLS_OK) memcpy(z, state, m->nz * sizeof *z);
    for (size_t e = 0; e < m->nz && status == CLS_OK; e++)
        if (m->hidden[e]) /* the prior is zero before there is one */
            z[e] =
                fmin(fmax(z[e], m->x_low[e] + OFF * m->prior[e]), m->x_high[e] - OFF * m->prior[e]);
    free(state);
    free(k.list);
    return status;
}

/* Derivatives (nz) of the plain starts about row i, by parabolas. Zero: too few rows. */
static int plain_slopes(const clsi_multiple *m, const double *theta, size_t segment, size_t i,
                        double *dot) {
    const clsi_recording *d = m->data;
    const clsi_segment *g = &d->segment[segment];
    size_t half = clsi_local_half(d), nz = m->nz;
    size_t low = i > g->first + half ? i - half : g->first;
    size_t high = i + half + 1 < g->end ? i + half + 1 : g->end, rows = high - low;
    double *z = clsi_calloc(rows * nz + nz, sizeof *z);
    int fine = z && rows >= 5;
    for (size_t k = 0; k < rows && fine; k++)
        fine = plain_start(m, theta, segment, low + k, z + k * nz, NULL) == CLS_OK;
    clsi_recording own = {.n = rows, .ny = nz, .time = d->time + low, .y = z};
    clsi_segment all = {.first = 0, .train = rows, .end = rows};
    for (size_t e = 0; e < nz && fine; e++) {
        clsi_parabola p;
        fine = clsi_local_parabola(&own, &all, e, i - low, half, &p);
        dot[e] = fine && !m->hidden[e] ? p.slope : 0;
    }
    free(z);
    return fine;
}

/* Ready to be asked: slopes (nz) and inputs (nu) at row i. */
static int implied_at(const clsi_multiple *m, const double *theta, size_t segment, size_t i,
                      double *dot, double *u) {
    const clsi_signal *signal = clsi_signal_of(m->data, segment);
    if (signal) clsi_signal_at(signal, m->data->time[i], u);
    return plain_slopes(m, theta, segment, i, dot);
}

cls_status clsi_multiple_start(const clsi_multiple *m, const double *theta, size_t segment,
                               size_t i, double *z, cls_error *error) {
    cls_status status = plain_start(m, theta, segment, i, z, error);
    if (status != CLS_OK || !theta || !m->implied) return status;
    double *dot = clsi_calloc(m->nz + m->data->nu + 1, sizeof *dot);
    if (!dot) return clsi_no_memory(error);
    double *u = dot + m->nz;
    if (implied_at(m, theta, segment, i, dot, u))
        clsi_hidden_find(m->implied, theta, m->data->time[i], m->data->nu ? u : NULL, dot, z);
    free(dot);
    return CLS_OK;
}

/* ---- priors ---- */

static double spread_of(const clsi_recording *d, const char *name) {
    for (size_t c = 0; c < d->ny; c++)
        if (strcmp(d->channel[c].name, name) == 0) return d->channel[c].std;
    return 0;
}

/* Loose for what is measured (directly, or as a slope); else what a state of its kind may be off
 * by: the spread of measured ones of the kind, or a tenth of its size. */
static int is_seen(const clsi_multiple *m, size_t e) {
    const cls_system *s = m->system;
    const clsi_recording *d = m->data;
    size_t j = e - s->nq, i = j - s->n;
    if (has_channel(d, cls_node_name(s->g, s->form->z[e]))) return 1;
    if (e < s->nq) return 0;
    if (j < s->n)
        return has_channel(d, s->momentum[j].name) ||
               has_channel(d, cls_node_name(s->g, s->v[j])) ||
               (j < s->paired && has_channel(d, s->coordinate[j].name));
    return i < s->m &&
           (has_channel(d, s->temperature[i].name) || has_channel(d, s->entropy[i].name));
}

int clsi_is_amount(const cls_system *s, size_t e) {
    return e >= s->nq && e < s->nq + s->n && s->momentum[e - s->nq].role == CLSI_MOLE;
}

/* How much there is of substances: the largest amount that was measured, or that the start has. */
static double amounts_of(const clsi_multiple *m, const double *z) {
    const cls_system *s = m->system;
    double most = 0;
    for (size_t e = 0; e < m->nz; e++)
        if (clsi_is_amount(s, e))
            most = fmax(most, fmax(z[e], spread_of(m->data, cls_node_name(s->g, s->form->z[e]))));
    return most;
}

static void set_priors(clsi_multiple *m, const double *z) {
    const cls_system *s = m->system;
    double amounts = amounts_of(m, z);
    double temperature = 0;
    for (size_t c = 0; c < s->m; c++)
        temperature = fmax(temperature, spread_of(m->data, s->temperature[c].name));
    m->n_told = clsi_told_find(m->observer, m->data, m->hidden, m->told);
    for (size_t e = 0; e < m->nz; e++) {
        const char *name = cls_node_name(s->g, s->form->z[e]);
        double own = spread_of(m->data, name);
        size_t j = e - s->nq;
        int moving = e >= s->nq && j < s->paired;
        int seen = m->hidden[e]; /* until now: what is said */
        m->hidden[e] = (unsigned char)!seen;
        int matter = clsi_is_amount(s, e);
        double size = matter ? amounts : fmax(fabs(z[e]), 1);
        if (moving && spread_of(m->data, s->coordinate[j].name) > 0)
            size =
                fmax(size, 6.3 * spread_of(m->data, s->coordinate[j].name) / m->data->time_scale);
        int thermal = e >= s->nq + s->n && s->form->kind == CLSI_FORM_THERMAL;
        m->prior[e] = seen                         ? 1e3 * fmax(own, size)
                      : thermal && temperature > 0 ? temperature
                      : thermal                    ? 0.1 * size
                      : matter                     ? size
                                                   : 10 * size;
    }
    for (size_t k = 0; m->integrals && k < m->integrals->n; k++)
        m->prior[m->integrals->state[k]] = clsi_integrals_prior(m->integrals, m->data->n, k);
}

/* ---- the problem ---- */

static size_t problem_rows(void *context, size_t w) {
    const clsi_multiple *m = context;
    return m->piece[w].n * m->ny + m->nz;
}

static void put_priors(const clsi_multiple *m, size_t w, const double *x, double *r, double *J) {
    size_t all = m->n_theta + m->nz, first = m->piece[w].n * m->ny;
    const double *guess = m->x_guess + w * m->nz;
    const clsi_neighbours *b = m->beside;
    for (size_t e = 0; e < m->nz; e++) {
        double *row = J ? J + (first + e) * all : NULL;
        r[first + e] = 0;
        if (row) memset(row, 0, all * sizeof *row);
        double size = b ? clsi_neighbours_size(b, e) : 0;
        if (size > 0) /* it bends no more than the field does */
            for (size_t i = b->start[e]; i < b->start[e + 1]; i++) {
                size_t f = b->column[i];
                r[first + e] += b->entry[i] * (x[f] - guess[f]) / size;
                if (row) row[m->n_theta + f] += b->entry[i] / size;
            }
        else {
            r[first + e] = (x[e] - guess[e]) / m->prior[e];
            if (row) row[m->n_theta + e] = 1 / m->prior[e];
        }
    }
}

/* Simulated outputs become residuals, their derivatives those of residuals. */
static void weigh(const clsi_multiple *m, size_t w, const double *x, double *r, double *J) {
    const clsi_piece *p = &m->piece[w];
    size_t ny = m->ny, all = m->n_theta + m->nz;
    for (size_t i = 0; i < p->n; i++)
        for (size_t c = 0; c < ny; c++) {
            double measured = m->data->y[(p->first + i) * ny + c], *at = &r[i * ny + c];
            double weight = isfinite(measured) ? 1 / m->sigma[c] : 0;
            if (m->counts) weight *= sqrt(m->counts[p->first + i]);
            *at = weight > 0 ? weight * misfit(&m->data->channel[c], *at, measured) : 0;
            for (size_t j = 0; j < all && J; j++) J[(i * ny + c) * all + j] *= weight;
        }
    put_priors(m, w, x, r, J);
}

static size_t group_size(const clsi_multiple *m) {
    size_t half = (m->n_pieces + 1) / 2; /* two groups at least, for two processors */
    return half < CLSI_LANES ? half : CLSI_LANES;
}

static clsi_journey journey_of(const clsi_multiple *m, size_t w, const double *x) {
    const clsi_piece *p = &m->piece[w];
    return (clsi_journey){.signal = clsi_signal_of(m->data, p->segment),
                          .z0 = x,
                          .time = m->data->time + p->first,
                          .n = p->n};
}

int clsi_multiple_windows(clsi_multiple *m, size_t w, size_t n, const double *theta,
                          const double *z, const double *x, double *const *r, double *const *J) {
    clsi_journey list[CLSI_LANES];
    for (size_t i = 0; i < n; i++) {
        list[i] = journey_of(m, w + i, z + i * m->nz);
        list[i].y = r[i];
        list[i].J = J ? J[i] : NULL;
    }
    if (!clsi_track_run_many(m->track[omp_get_thread_num()], theta, n, list)) return 0;
    for (size_t i = 0; i < n; i++) weigh(m, w + i, x + i * m->nz, r[i], J ? J[i] : NULL);
    return 1;
}

static int problem_windows(void *context, size_t w, size_t n, const double *theta, const double *x,
                           double *const *r, double *const *J) {
    return clsi_multiple_windows(context, w, n, theta, x, x, r, J);
}

int clsi_multiple_is_over(const clsi_multiple *m) {
    return m->stop && m->stop(m->stop_owner);
}

static int problem_stop(void *context) {
    return clsi_multiple_is_over(context);
}

void clsi_multiple_problem(clsi_multiple *m, double huber, clsi_arrow *out) {
    *out = (clsi_arrow){.context = m,
                        .n_theta = m->n_theta,
                        .n_x = m->nz,
                        .n_windows = m->n_pieces,
                        .rows = problem_rows,
                        .windows = problem_windows,
                        .group = group_size(m),
                        .low = m->low,
                        .n_scaled = m->n_scaled,
                        .high = m->high,
                        .x_low = m->x_low,
                        .x_high = m->x_high,
                        .huber = huber,
                        .stop = problem_stop};
}

int clsi_multiple_simulate(clsi_multiple *m, const double *theta) {
    size_t group = group_size(m);
    int failed = 0;
#pragma omp parallel for schedule(dynamic) reduction(| : failed)
    for (size_t w = 0; w < m->n_pieces; w += group) {
        size_t n = m->n_pieces - w < group ? m->n_pieces - w : group;
        clsi_journey list[CLSI_LANES];
        for (size_t i = 0; i < n; i++) {
            list[i] = journey_of(m, w + i, m->x + (w + i) * m->nz);
            list[i].y = m->seen + m->piece[w + i].first * m->ny;
        }
        failed |= !clsi_track_run_many(m->track[omp_get_thread_num()], theta, n, list);
    }
    return !failed;
}

size_t clsi_multiple_values(const clsi_multiple *m) {
    size_t rows = 0;
    for (size_t w = 0; w < m->n_pieces; w++) rows += m->piece[w].n;
    return rows * m->ny;
}

size_t clsi_multiple_residuals(const clsi_multiple *m, size_t c, double *list, size_t *which) {
    size_t n = 0;
    for (size_t w = 0; w < m->n_pieces; w++) {
        const clsi_piece *p = &m->piece[w];
        for (size_t i = p->first; i < p->first + p->n; i++) {
            double measured = m->data->y[i * m->ny + c];
            if (!isfinite(measured)) continue;
            if (which) which[n] = w;
            list[n++] = misfit(&m->data->channel[c], m->seen[i * m->ny + c], measured);
        }
    }
    return n;
}

/* ---- life ---- */

enum { SAMPLES = 40 };

/* What the equations say about hidden states. A form of motion that they cannot be written for is no
 * mistake: starts are the plain ones then. */
static cls_status find_implied(clsi_multiple *m, cls_error *error) {
    const clsi_observer *o = m->observer;
    const clsi_recording *d = m->data;
    int any = 0;
    unsigned char *which = clsi_calloc(m->nz + 1, 1);
    if (!which) return clsi_no_memory(error);
    for (size_t e = 0; e < m->nz; e++) {
        which[e] = m->hidden[e] && !(m->beside && m->beside->filled[e]);
        any |= which[e];
    }
    if (any && clsi_hidden_create(o->system, m->n_theta, o->theta, which, m->prior,
                                  d->time_scale / 6.3, &m->implied, NULL) != CLS_OK)
        any = 0;
    free(which);
    if (!any) return CLS_OK;
    double *z = clsi_calloc(2 * m->nz + d->nu + m->n_theta + 1, sizeof *z);
    if (!z) return clsi_no_memory(error);
    double *dot = z + m->nz, *u = dot + m->nz, *theta = u + d->nu;
    for (size_t p = 0; p < m->n_theta; p++) /* sizes of terms: about one, inside of the bounds */
        theta[p] = fmin(fmax(m->low[p] > 0 ? m->low[p] : 0, m->low[p]), m->high[p]);
    for (size_t k = 0; k < SAMPLES; k++) {
        size_t i = d->n * k / SAMPLES, s = 0;
        while (s + 1 < d->n_segments && i >= d->segment[s].end) s++;
        if (plain_start(m, theta, s, i, z, NULL) == CLS_OK && implied_at(m, theta, s, i, dot, u))
            clsi_hidden_weigh(m->implied, theta, d->time[i], d->nu ? u : NULL, z, dot);
    }
    free(z);
    return CLS_OK;
}

/* Parameters of about one inside of their bounds: where something depends on all of them. */
static cls_status find_integrals(clsi_multiple *m, cls_error *error) {
    double *theta = clsi_calloc(m->n_theta + 1, sizeof *theta);
    if (!theta) return clsi_no_memory(error);
    for (size_t p = 0; p < m->n_theta; p++) {
        double least = fmax(m->low[p], -1e300), most = fmin(m->high[p], 1e300);
        theta[p] = least < 1 && most > 1 ? 1 : least / 2 + most / 2;
    }
    cls_status status = clsi_integrals_find(m, m->first, theta, &m->integrals, error);
    for (size_t k = 0; status == CLS_OK && m->integrals && k < m->integrals->n; k++)
        m->hidden[m->integrals->state[k]] = 1;
    free(theta);
    return status;
}

static int is_said(void *context, const char *name) {
    const clsi_multiple *m = context;
    const cls_system *s = m->system;
    if (has_channel(m->data, name)) return 1;
    for (size_t j = 0; j < s->paired; j++) /* by its slope */
        if (strcmp(cls_node_name(s->g, s->v[j]), name) == 0)
            return has_channel(m->data, s->coordinate[j].name);
    return 0;
}

/* Arrays of which some elements are measured, and how much they bend. */
static cls_status find_neighbours(clsi_multiple *m, cls_error *error) {
    const clsi_recording *d = m->data;
    cls_status status = clsi_neighbours_create(m->system, m->hidden, is_said, m, &m->beside, error);
    double *z = clsi_calloc(m->nz + 1, sizeof *z);
    if (status == CLS_OK && !z) status = clsi_no_memory(error);
    for (size_t k = 0; k < SAMPLES && status == CLS_OK && m->beside; k++) {
        size_t i = d->n * k / SAMPLES, s = 0;
        while (s + 1 < d->n_segments && i >= d->segment[s].end) s++;
        if (plain_start(m, NULL, s, i, z, NULL) == CLS_OK) clsi_neighbours_weigh(m->beside, z);
    }
    free(z);
    return status;
}

static cls_status make_tracks(clsi_multiple *m, cls_error *error) {
    size_t threads = (size_t)omp_get_max_threads();
    m->track = clsi_calloc(threads, sizeof *m->track);
    cls_status status = m->track ? CLS_OK : clsi_no_memory(error);
    for (; m->n_tracks < threads && status == CLS_OK; m->n_tracks++)
        status = clsi_track_create(m->observer, &m->track[m->n_tracks], error);
    return status;
}

cls_status clsi_multiple_create(const clsi_recording *data, const cls_system *system,
                                clsi_observer *observer, const double *low, const double *high,
                                clsi_multiple **out, cls_error *error) {
    clsi_multiple *m = *out = clsi_calloc(1, sizeof *m);
    if (!m) {
        clsi_observer_free(&observer);
        return clsi_no_memory(error);
    }
    *m = (clsi_multiple){.data = data,
                         .system = system,
                         .observer = observer,
                         .nz = observer->nz,
                         .n_theta = observer->n_theta,
                         .ny = data->ny,
                         .low = low,
                         .high = high};
    m->prior = clsi_calloc(4 * m->nz + 1, sizeof *m->prior);
    m->x_low = m->prior ? m->prior + m->nz : NULL;
    m->x_high = m->prior ? m->x_low + m->nz : NULL;
    m->first = m->prior ? m->x_high + m->nz : NULL;
    for (size_t e = 0; e < m->nz && m->prior; e++) {
        m->x_low[e] = clsi_state_variable(system, e)->low;
        m->x_high[e] = clsi_state_variable(system, e)->high;
    }
    m->sigma = clsi_calloc(m->ny, sizeof *m->sigma);
    m->cut = clsi_calloc(data->n, 1);
    m->hidden = clsi_calloc(2 * m->nz + 1, 1);
    m->told = m->hidden ? m->hidden + m->nz : NULL;
    m->y_scratch = clsi_calloc(2 * data->n * m->ny, sizeof *m->y_scratch);
    m->seen = m->y_scratch ? m->y_scratch + data->n * m->ny : NULL;
    cls_status status = m->prior && m->sigma && m->cut && m->hidden && m->y_scratch
                            ? make_tracks(m, error)
                            : clsi_no_memory(error);
    if (status == CLS_OK) status = plain_start(m, NULL, 0, data->segment[0].first, m->first, error);
    for (size_t e = 0; status == CLS_OK && e < m->nz; e++)
        m->hidden[e] = (unsigned char)is_seen(m, e); /* what is said, until there are priors */
    if (status == CLS_OK) status = find_integrals(m, error);
    if (status == CLS_OK) set_priors(m, m->first);
    if (status == CLS_OK) status = find_neighbours(m, error);
    if (status == CLS_OK) status = find_implied(m, error);
    if (status != CLS_OK) clsi_multiple_free(out);
    return status;
}

void clsi_multiple_free(clsi_multiple **multiple) {
    clsi_multiple *m = *multiple;
    if (!m) return;
    for (size_t i = 0; i < m->n_tracks; i++) clsi_track_free(&m->track[i]);
    clsi_observer_free(&m->observer);
    clsi_hidden_free(&m->implied);
    clsi_integrals_free(&m->integrals);
    clsi_neighbours_free(&m->beside);
    free(m->hidden);
    free(m->track);
    free(m->piece);
    free(m->x);
    free(m->prior);
    free(m->sigma);
    free(m->cut);
    free(m->y_scratch);
    free(m);
    *multiple = NULL;
}
