/* States that are integrals of inputs.
 *
 * The charge of a cell is the integral of the current that a cycler logs; the volume of a tank may be that of its pump.
 * Nobody measures such a state, and nobody has to: from the start that the file gives it every later value is known.
 * With a free value at the start of every window instead, short windows cannot tell the slope of an open-circuit
 * voltage from the voltage of a capacitor in series.
 *
 * A hidden component e of z is one where
 *   1. its equation of motion is z_e' = f(inputs, t), without a state or an unknown parameter in it,
 *   2. no other equation of motion contains z_e, and
 *   3. parameters undo a shift of it in every output: dy/dz_e is a combination of the columns of dy/dtheta. Then its
 *      zero is a matter of convention (a potential that is being learned), and the file's start says where it is.
 * One shift is a matter of convention, not one for each trajectory: of several recordings the first begins where the file
 * says, and where each other one begins is a parameter of the fit (beginnings.c). Where 3 does not hold (a capacitor:
 * q = C V) the outputs tell the zero, and windows find it as before. */
#include "learn/shooting/multiple.h"
#include "simulate/rates.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double UNDONE = 1e-6;     /* of dy/dz_e, what no parameter undoes */
static const double DEPENDENT = 1e-10; /* a column that is a combination of the others */
static const double TIED = 1e-6;       /* prior of such a state, of the largest value that it has */
enum { MOST = 200 }; /* trajectories; of more such a state is hidden as others are */

void clsi_integrals_free(clsi_integrals **integrals) {
    if (*integrals) {
        free((*integrals)->state);
        free((*integrals)->number);
        free((*integrals)->shift);
        free((*integrals)->sum);
    }
    free(*integrals);
    *integrals = NULL;
}

/* ---- equations ---- */

/* 1 and 2, by the graph: the derivative enters the e-th equation alone and linearly (checked by numbers), z_e none. */
static int stands_alone(const cls_system *s, const clsi_motion_defects *d, size_t n_theta,
                        size_t e) {
    size_t nz = s->form->nz;
    cls_graph *g = s->g;
    if (cls_depends(g, d->defect[e], nz, d->z)) return 0;
    if (cls_depends(g, d->defect[e], n_theta, d->theta)) return 0;
    for (size_t k = 0; k < nz; k++) {
        if (cls_depends(g, d->defect[k], 1, &d->z[e])) return 0;
        if (k != e && (cls_depends(g, d->defect[e], 1, &d->dot[k]) ||
                       cls_depends(g, d->defect[k], 1, &d->dot[e])))
            return 0;
    }
    return cls_depends(g, d->defect[e], s->nu, s->u);
}

/* A program t, inputs, derivatives of the states -> their defects. */
static cls_status compile(const cls_system *s, const clsi_motion_defects *d,
                          const clsi_integrals *f, cls_program **out, cls_error *error) {
    size_t n = f->n, n_in = 1 + s->nu + n;
    cls_node *node = clsi_calloc(n_in + n, sizeof *node), *row = node ? node + n_in : NULL;
    if (!node) return clsi_no_memory(error);
    node[0] = d->t;
    memcpy(node + 1, s->u, s->nu * sizeof *node);
    for (size_t k = 0; k < n; k++) {
        node[1 + s->nu + k] = d->dot[f->state[k]];
        row[k] = d->defect[f->state[k]];
    }
    cls_status status = cls_program_create(s->g, n_in, node, n, row, out, error);
    free(node);
    return status;
}

/* Which states, and the program of their rates; none: *out is NULL. */
static cls_status find_states(const clsi_multiple *m, clsi_integrals *f, cls_program **out,
                              cls_error *error) {
    const clsi_observer *o = m->observer;
    const cls_system *s = o->system;
    clsi_motion_defects d = {.theta = o->theta};
    cls_status status = clsi_defects_create(s, &d, error);
    /* a form of motion without such equations has no such states */
    if (status != CLS_OK && status != CLS_MEMORY) {
        clsi_defects_clear(&d);
        return CLS_OK;
    }
    for (size_t e = 0; e < m->nz && status == CLS_OK; e++)
        if (!m->hidden[e] && stands_alone(s, &d, m->n_theta, e)) f->state[f->n++] = e;
    if (status == CLS_OK && f->n) status = compile(s, &d, f, out, error);
    clsi_defects_clear(&d);
    return status;
}

/* ---- their values ---- */

/* Rates at time t into rate (n); in: room for the program's inputs. Zero: an equation is not linear in them with slope 1. */
static int rates_at(const clsi_integrals *f, const cls_program *p, double *work, double *in,
                    const clsi_signal *signal, size_t nu, double t, double *rate) {
    double *one = in + 1 + nu + f->n;
    in[0] = t;
    clsi_signal_at(signal, t, in + 1);
    for (size_t k = 0; k < f->n; k++) in[1 + nu + k] = 0;
    cls_program_run(p, work, in, rate);
    for (size_t k = 0; k < f->n; k++) in[1 + nu + k] = 1;
    cls_program_run(p, work, in, one);
    int fine = 1;
    for (size_t k = 0; k < f->n; k++) {
        fine &= fabs(one[k] - rate[k] - 1) <= 1e-9 * (1 + fabs(rate[k]));
        rate[k] = -rate[k];
        fine &= isfinite(rate[k]);
    }
    return fine;
}

/* Sums since the first row of each trajectory, over intervals of rows by Gauss's rule of two points: exact for inputs that
 * are held and for inputs that are lines. Zero: there are none. */
static int add_up(const clsi_multiple *m, clsi_integrals *f, const cls_program *p, double *room) {
    static const double AT[2] = {0.21132486540518712, 0.78867513459481288};
    const clsi_recording *d = m->data;
    size_t n = f->n;
    double *in = room, *rate = in + 1 + d->nu + 2 * n, *work = rate + n;
    cls_program_prepare(p, work);
    for (size_t s = 0; s < d->n_segments; s++) {
        const clsi_segment *g = &d->segment[s];
        int goes_on = s && d->segment[s - 1].trajectory == g->trajectory;
        for (size_t i = g->first; i < g->end; i++) {
            if (i == g->first && !goes_on) continue; /* zero */
            size_t last = i > g->first ? i - 1 : d->segment[s - 1].end - 1;
            double h = d->time[i] - d->time[last];
            memcpy(f->sum + i * n, f->sum + last * n, n * sizeof(double));
            for (int k = 0; k < 2; k++) {
                if (!rates_at(f, p, work, in, clsi_signal_of(d, s), d->nu,
                              d->time[last] + AT[k] * h, rate))
                    return 0;
                for (size_t j = 0; j < n; j++) f->sum[i * n + j] += rate[j] * h / 2;
            }
        }
    }
    return 1;
}

/* ---- their zero ---- */

/* What is left of the last of n columns (rows each) without its part in the span of the others, as a share of it; 1 where
 * it is zero. By Gram and Schmidt, twice. */
static double left_over(size_t rows, size_t n, double *A) {
    double *last = A + (n - 1) * rows, before = 0, after = 0;
    for (size_t i = 0; i < rows; i++) before += last[i] * last[i];
    for (size_t k = 0; k < n; k++) {
        double *a = A + k * rows, size = 0, rest = 0;
        for (size_t i = 0; i < rows; i++) size += a[i] * a[i];
        for (int twice = 0; twice < 2; twice++)
            for (size_t j = 0; j < k; j++) {
                double dot = 0;
                for (size_t i = 0; i < rows; i++) dot += A[j * rows + i] * a[i];
                for (size_t i = 0; i < rows; i++) a[i] -= dot * A[j * rows + i];
            }
        for (size_t i = 0; i < rows; i++) rest += a[i] * a[i];
        if (k + 1 == n) after = rest;
        double scale = rest > DEPENDENT * DEPENDENT * size && rest > 0 ? 1 / sqrt(rest) : 0;
        for (size_t i = 0; i < rows; i++) a[i] *= scale;
    }
    return before > 0 && isfinite(after) ? sqrt(after / before) : 1;
}

/* 3: at rows spread over the recording, from the start that the file gives. */
static int is_convention(const clsi_multiple *m, const clsi_integrals *f, size_t k,
                         const double *z0, const double *theta, double *room) {
    const clsi_recording *d = m->data;
    size_t nt = m->n_theta, all = nt + m->nz, samples = 4 * (nt + 2), e = f->state[k];
    size_t rows = samples * m->ny;
    double *A = room, *y = A + rows * (nt + 1), *J = y + m->ny, *z = J + m->ny * all;
    memcpy(z, z0, m->nz * sizeof *z);
    for (size_t i = 0, s = 0; i < samples; i++) {
        size_t row = d->n * i / samples;
        while (s + 1 < d->n_segments && row >= d->segment[s].end) s++;
        z[e] = z0[e] + f->sum[row * f->n + k];
        if (!clsi_track_run(m->track[0], theta, clsi_signal_of(d, s), z, 1, &d->time[row], y, J,
                            NULL))
            return 0;
        for (size_t c = 0; c < m->ny; c++)
            for (size_t p = 0; p <= nt; p++)
                A[p * rows + i * m->ny + c] =
                    J[c * all + (p < nt ? p : nt + e)] / fmax(d->channel[c].std, 1e-300);
    }
    return left_over(rows, nt + 1, A) <= UNDONE;
}

/* Numbers the trajectories after the first of which rows are learned from. */
static cls_status number_trajectories(const clsi_recording *d, clsi_integrals *f,
                                      cls_error *error) {
    f->number = clsi_calloc(d->n_trajectories, sizeof *f->number);
    if (!f->number) return clsi_no_memory(error);
    for (size_t s = 0; s < d->n_segments; s++) {
        size_t t = d->segment[s].trajectory;
        if (t && d->segment[s].train && !f->number[t]) f->number[t] = ++f->n_begun;
    }
    return CLS_OK;
}

/* Keeps those whose zero is a convention. */
static void keep_conventions(const clsi_multiple *m, clsi_integrals *f, const double *z0,
                             const double *theta, double *room) {
    size_t kept = 0, n = f->n, most = m->data->n;
    for (size_t k = 0; k < n; k++) {
        if (!is_convention(m, f, k, z0, theta, room)) continue;
        f->state[kept] = f->state[k];
        for (size_t i = 0; i < most && kept != k; i++) f->sum[i * n + kept] = f->sum[i * n + k];
        kept++;
    }
    for (size_t i = 0; i < most && kept < n;
         i++) /* closer together; never behind where it is read */
        memmove(f->sum + i * kept, f->sum + i * n, kept * sizeof(double));
    f->n = kept;
}

cls_status clsi_integrals_find(const clsi_multiple *m, const double *z0, const double *theta,
                               clsi_integrals **out, cls_error *error) {
    const clsi_recording *d = m->data;
    size_t nt = m->n_theta, samples = 4 * (nt + 2);
    clsi_integrals *f = *out = NULL;
    cls_program *p = NULL;
    if (!d->nu || d->n_trajectories > MOST) return CLS_OK;
    f = clsi_calloc(1, sizeof *f);
    if (f) f->state = clsi_calloc(m->nz, sizeof *f->state);
    cls_status status = f && f->state ? find_states(m, f, &p, error) : clsi_no_memory(error);
    double *room = NULL;
    if (status == CLS_OK && f->n) {
        size_t work = cls_program_work_size(p) + 1 + d->nu + 3 * f->n;
        size_t test = samples * m->ny * (nt + 1) + m->ny * (1 + nt + m->nz) + m->nz;
        room = clsi_calloc(work > test ? work : test, sizeof *room);
        f->sum = clsi_calloc(d->n * f->n, sizeof *f->sum);
        f->shift = clsi_calloc(d->n_trajectories * f->n, sizeof *f->shift);
        if (!room || !f->sum || !f->shift) status = clsi_no_memory(error);
    }
    if (status == CLS_OK && f->n && !add_up(m, f, p, room)) f->n = 0;
    if (status == CLS_OK && f->n) keep_conventions(m, f, z0, theta, room);
    if (status == CLS_OK && f->n) status = number_trajectories(d, f, error);
    cls_program_free(&p);
    free(room);
    if (status != CLS_OK || !f->n) clsi_integrals_free(&f);
    *out = f;
    return status;
}

double clsi_integrals_size(const clsi_integrals *f, size_t rows, size_t k) {
    double most = 0;
    for (size_t i = 0; i < rows; i++) most = fmax(most, fabs(f->sum[i * f->n + k]));
    return most > 0 ? most : 1;
}

double clsi_integrals_prior(const clsi_integrals *f, size_t rows, size_t k) {
    return TIED * clsi_integrals_size(f, rows, k);
}
