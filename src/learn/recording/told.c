/* States that outputs tell.
 *
 * A camera sees pixels, a sensor volts: `output px = ox + s*sin(phi)`. An output that contains one state
 * which no column says tells it; with that state known the next output may tell the next one. At given
 * parameters the values are a least-squares solution of h(z) = y over those states, and their
 * derivatives that of h_z z' = y'. It is a start for windows, ranges and residuals; the fit compares
 * the outputs themselves. */
#include "learn/shooting/multiple.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 20, MOST_TOLD = 24 };
static const double WEAK = 1e-3; /* of where a state stands, against the outputs' spreads */

/* ---- which ---- */

static int is_output(const cls_system *s, const char *name) {
    for (size_t i = 0; i < s->n_outputs; i++)
        if (strcmp(s->bound.outputs[i].name, name) == 0) return 1;
    return 0;
}

/* The one component of z that an output contains and nothing says yet; nz: there is none, or more. */
static size_t only_unsaid(const cls_system *s, cls_node y, const unsigned char *said) {
    size_t nz = s->form->nz, found = nz;
    for (size_t e = 0; e < nz; e++) {
        if (said[e] || !cls_depends(s->g, y, 1, &s->form->z[e])) continue;
        if (found < nz) return nz;
        found = e;
    }
    return found;
}

size_t clsi_told_find(const clsi_observer *o, const clsi_recording *d, unsigned char *said,
                      unsigned char *told) {
    const cls_system *s = o->system;
    size_t nz = o->nz, n = 0;
    for (int again = 1; again && n < MOST_TOLD;) {
        again = 0;
        for (size_t c = 0; c < d->ny && n < MOST_TOLD; c++) {
            if (!is_output(s, d->channel[c].name)) continue;
            cls_node y = clsi_system_column_node(s, d->channel[c].name);
            size_t e = y == CLS_NO_NODE ? nz : only_unsaid(s, y, said);
            if (e == nz) continue;
            said[e] = told[e] = 1;
            if (e < s->paired) said[s->nq + e] = 1; /* by the slope */
            again = 1;
            n++;
        }
    }
    return n;
}

/* ---- their values ---- */

typedef struct telling {
    const clsi_multiple *m;
    const double *theta;
    const clsi_signal *signal;
    double time, *y, *J;          /* (ny), (ny, n_theta + nz) of the model */
    double *value, *slope;        /* (ny) of the rows about; NAN: no output, or no rows */
    size_t n, state[MOST_TOLD];   /* what is told */
    double from[MOST_TOLD], *one; /* where they stood; (nz) */
} telling;

/* Sum of squares at z with rows H (ny, n) and misfits r (ny) in spreads; INFINITY where there is none. */
static double misfit(telling *t, const double *z, double *H, double *r) {
    const clsi_multiple *m = t->m;
    size_t all = m->n_theta + m->nz;
    double sum = 0;
    if (!clsi_track_run(m->track[0], t->theta, t->signal, z, 1, &t->time, t->y, t->J, NULL))
        return INFINITY;
    for (size_t c = 0; c < m->ny; c++) {
        double scale = m->data->channel[c].std;
        int counts = isfinite(t->value[c]) && scale > 0;
        r[c] = counts ? (t->y[c] - t->value[c]) / scale : 0;
        sum += r[c] * r[c];
        for (size_t k = 0; k < t->n; k++)
            H[c * t->n + k] = counts ? t->J[c * all + m->n_theta + t->state[k]] / scale : 0;
    }
    for (size_t k = 0; k < t->n; k++) {
        double off = WEAK * (z[t->state[k]] - t->from[k]) / fmax(fabs(t->from[k]), 1);
        sum += off * off;
    }
    return isfinite(sum) ? sum : INFINITY;
}

/* (H^T H + weak) x = H^T b, the diagonal enlarged by `damping`. */
static int solve_step(const telling *t, const double *z, const double *H, const double *b,
                      double damping, double *M, double *x) {
    size_t n = t->n, ny = t->m->ny;
    for (size_t i = 0; i < n; i++) {
        double size = fmax(fabs(t->from[i]), 1), weak = WEAK * WEAK / (size * size);
        x[i] = z ? -weak * (z[t->state[i]] - t->from[i]) : 0;
        for (size_t c = 0; c < ny; c++) x[i] += H[c * n + i] * b[c];
        for (size_t j = 0; j < n; j++) {
            double sum = i == j ? weak : 0;
            for (size_t c = 0; c < ny; c++) sum += H[c * n + i] * H[c * n + j];
            M[i * n + j] = i == j ? sum * (1 + damping) : sum;
        }
    }
    return clsi_solve_small(n, M, x);
}

static double search(telling *t, double *z, double *room) {
    const clsi_multiple *m = t->m;
    size_t n = t->n, ny = m->ny;
    double *H = room, *r = H + ny * n, *M = r + ny, *x = M + n * n, *H2 = x + n, *r2 = H2 + ny * n;
    double sum = misfit(t, z, H, r), damping = 1e-6;
    for (int step = 0; step < STEPS && isfinite(sum); step++) {
        for (size_t c = 0; c < ny; c++) r2[c] = -r[c];
        if (!solve_step(t, z, H, r2, damping, M, x)) return sum;
        memcpy(t->one, z, m->nz * sizeof *z);
        for (size_t k = 0; k < n; k++) {
            size_t e = t->state[k];
            double to = z[e] + x[k];
            if (to <= m->x_low[e]) to = 0.9 * m->x_low[e] + 0.1 * z[e];
            if (to >= m->x_high[e]) to = 0.9 * m->x_high[e] + 0.1 * z[e];
            t->one[e] = to;
        }
        double next = misfit(t, t->one, H2, r2);
        if (!(next < sum)) {
            damping = 10 * fmax(damping, 1e-3);
            if (damping > 1e6) break;
            continue;
        }
        int done = next > (1 - 1e-6) * sum;
        memcpy(z, t->one, m->nz * sizeof *z);
        sum = next;
        damping /= 10;
        if (done) break;
        misfit(t, z, H, r);
    }
    return sum;
}

static void read_rows(telling *t, size_t segment, size_t i) {
    const clsi_recording *d = t->m->data;
    const clsi_segment *g = &d->segment[segment];
    clsi_parabola p;
    for (size_t c = 0; c < d->ny; c++) {
        t->value[c] = t->slope[c] = NAN;
        if (!is_output(t->m->system, d->channel[c].name)) continue;
        t->value[c] = d->y[i * d->ny + c];
        if (clsi_local_parabola(d, g, c, i, 2, &p)) t->value[c] = p.value;
        if (clsi_local_parabola(d, g, c, i, clsi_local_half(d), &p)) t->slope[c] = p.slope;
    }
}

/* The best of where it stands, its reflection, and zero: an output may be even, or flat somewhere. */
static int find_values(telling *t, double *z, double *room) {
    static const double FACTOR[] = {1, -1, 0};
    const clsi_multiple *m = t->m;
    double best = INFINITY, *trial = room, *found = room + m->nz;
    room += 2 * m->nz;
    for (int k = 0; k < 3; k++) {
        memcpy(trial, z, m->nz * sizeof *z);
        for (size_t i = 0; i < t->n; i++) {
            size_t e = t->state[i];
            double to = FACTOR[k] * t->from[i];
            if (to > m->x_low[e] && to < m->x_high[e]) trial[e] = to;
        }
        double sum = search(t, trial, room);
        if (!(sum < 0.99 * best)) continue;
        best = sum;
        memcpy(found, trial, m->nz * sizeof *z);
    }
    if (isfinite(best)) memcpy(z, found, m->nz * sizeof *z);
    return isfinite(best);
}

static void find_slopes(telling *t, const double *z, double *dot, double *room) {
    size_t ny = t->m->ny, n = t->n;
    double *H = room, *r = H + ny * n, *M = r + ny, *x = M + n * n;
    if (!isfinite(misfit(t, z, H, r))) return;
    for (size_t c = 0; c < ny; c++) {
        int counts = isfinite(t->slope[c]) && t->m->data->channel[c].std > 0;
        r[c] = counts ? t->slope[c] / t->m->data->channel[c].std : 0;
        for (size_t k = 0; k < n && !counts; k++) H[c * n + k] = 0;
    }
    if (!solve_step(t, NULL, H, r, 0, M, x)) return;
    for (size_t k = 0; k < n; k++) dot[t->state[k]] = x[k];
}

int clsi_told_at(const clsi_multiple *m, const double *theta, size_t segment, size_t i, double *z,
                 double *dot) {
    telling t = {.m = m,
                 .theta = theta,
                 .signal = clsi_signal_of(m->data, segment),
                 .time = m->data->time[i]};
    size_t ny = m->ny, all = m->n_theta + m->nz, n = 0;
    for (size_t e = 0; e < m->nz; e++)
        if (m->told[e]) {
            t.state[t.n] = e;
            t.from[t.n++] = z[e];
        }
    n = t.n;
    double *block =
        clsi_calloc(ny * (3 + all) + 3 * m->nz + 2 * ny * (n + 1) + n * (n + 1) + 1, sizeof *block);
    if (!block) return 0;
    t.y = block;
    t.value = t.y + ny;
    t.slope = t.value + ny;
    t.J = t.slope + ny;
    t.one = t.J + ny * all;
    double *room = t.one + m->nz;
    read_rows(&t, segment, i);
    int fine = find_values(&t, z, room);
    if (fine) find_slopes(&t, z, dot, room);
    free(block);
    return fine;
}
