/* Hidden states from the equations of the measured ones.
 *
 * A temperature that no sensor saw stands in the equations of what was seen: a pressure accelerates
 * a piston, a warm neighbour heats a sensor. With z' of the measured components (parabolas through
 * neighbouring rows) the equations of motion in continuous time,
 *
 *     r = dy/dz z' - y'(z, t) = 0,    y = (q, p, S),
 *
 * are nz equations for the hidden components and their derivatives. Those that no equation contains
 * stay at the guess: weak rows hold them there. A few damped Gauss-Newton steps; it is a start for a
 * fit, no more: derivatives of noisy rows are noisier still. */
#include "learn/recording/hidden.h"
#include "base/base.h"
#include "simulate/rates.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 12, MOST_HIDDEN = 12 };
static const double WEAK = 0.02; /* of the guess, against an equation */

cls_status clsi_hidden_create(const cls_system *s, size_t n_theta, const cls_node *theta,
                              const unsigned char *hidden, const double *prior, double time,
                              clsi_hidden **out, cls_error *error) {
    size_t nz = s->form->nz, n_in = 2 * nz + 1 + n_theta + s->nu;
    clsi_hidden *h = *out = clsi_calloc(1, sizeof *h);
    if (!h) return clsi_no_memory(error);
    *h = (clsi_hidden){.nz = nz, .n_theta = n_theta, .nu = s->nu, .time = time};
    h->state = clsi_calloc(nz, sizeof *h->state);
    h->scale = clsi_calloc(2 * nz, sizeof *h->scale);
    cls_node *inputs = clsi_calloc(n_in, sizeof *inputs);
    clsi_motion_defects m = {.theta = theta};
    cls_status status =
        h->state && h->scale && inputs ? clsi_defects_create(s, &m, error) : clsi_no_memory(error);
    if (status == CLS_OK) {
        h->prior = h->scale + nz;
        memcpy(h->prior, prior, nz * sizeof *prior);
        for (size_t e = 0; e < nz; e++)
            if (hidden[e] && h->n < MOST_HIDDEN) h->state[h->n++] = e;
        memcpy(inputs, m.z, nz * sizeof *inputs);
        inputs[nz] = m.t;
        memcpy(inputs + nz + 1, m.dot, nz * sizeof *inputs);
        if (n_theta) memcpy(inputs + 2 * nz + 1, theta, n_theta * sizeof *inputs);
        if (s->nu) memcpy(inputs + 2 * nz + 1 + n_theta, s->u, s->nu * sizeof *inputs);
        status = cls_program_create(s->g, n_in, inputs, nz, m.defect, &h->defect, error);
    }
    clsi_defects_clear(&m);
    free(inputs);
    if (status != CLS_OK) clsi_hidden_free(out);
    return status;
}

void clsi_hidden_free(clsi_hidden **hidden) {
    clsi_hidden *h = *hidden;
    if (!h) return;
    cls_program_free(&h->defect);
    free(h->state);
    free(h->scale);
    free(h);
    *hidden = NULL;
}

/* ---- one state ---- */

typedef struct finding {
    const clsi_hidden *h;
    double *in, *work, *r; /* (n_in), program's, (nz) */
    double *block;
} finding;

static int begin(const clsi_hidden *h, const double *theta, double t, const double *u,
                 const double *z, const double *dot, finding *f) {
    size_t nz = h->nz, n_in = 2 * nz + 1 + h->n_theta + h->nu;
    f->h = h;
    f->block = clsi_calloc(n_in + nz + cls_program_work_size(h->defect) + 1, sizeof(double));
    if (!f->block) return 0;
    f->in = f->block;
    f->r = f->in + n_in;
    f->work = f->r + nz;
    cls_program_prepare(h->defect, f->work);
    memcpy(f->in, z, nz * sizeof *z);
    f->in[nz] = t;
    memcpy(f->in + nz + 1, dot, nz * sizeof *dot);
    if (h->n_theta) memcpy(f->in + 2 * nz + 1, theta, h->n_theta * sizeof *theta);
    if (h->nu && u) memcpy(f->in + 2 * nz + 1 + h->n_theta, u, h->nu * sizeof *u);
    return 1;
}

void clsi_hidden_weigh(clsi_hidden *h, const double *theta, double t, const double *u,
                       const double *z, const double *dot) {
    finding f;
    size_t nz = h->nz;
    if (!begin(h, theta, t, u, z, dot, &f)) return;
    cls_program_run(h->defect, f.work, f.in, f.r);
    memset(f.in + nz + 1, 0, nz * sizeof *f.in);
    double *still = clsi_calloc(nz, sizeof *still); /* -y' alone */
    if (still) cls_program_run(h->defect, f.work, f.in, still);
    for (size_t e = 0; e < nz && still; e++) {
        double size = fmax(fabs(still[e]), fabs(f.r[e] - still[e]));
        if (isfinite(size)) h->scale[e] = fmax(h->scale[e], size);
    }
    free(still);
    free(f.block);
}

/* Residuals with the unknowns w (2 n): hidden components, then their derivatives, both in units of
 * their priors about z0. The sum of squares, INFINITY where there is none. */
static double residuals(finding *f, const double *z0, const double *w, double *r) {
    const clsi_hidden *h = f->h;
    double sum = 0;
    for (size_t k = 0; k < h->n; k++) {
        size_t e = h->state[k];
        f->in[e] = z0[e] + h->prior[e] * w[k];
        f->in[h->nz + 1 + e] = h->prior[e] / h->time * w[h->n + k];
    }
    cls_program_run(h->defect, f->work, f->in, r);
    for (size_t e = 0; e < h->nz; e++) {
        r[e] = h->scale[e] > 0 ? r[e] / h->scale[e] : 0;
        sum += r[e] * r[e];
    }
    for (size_t k = 0; k < 2 * h->n; k++) {
        r[h->nz + k] = WEAK * w[k];
        sum += r[h->nz + k] * r[h->nz + k];
    }
    return isfinite(sum) ? sum : INFINITY;
}

int clsi_solve_small(size_t n, double *M, double *b) {
    for (size_t j = 0; j < n; j++) {
        if (!(M[j * n + j] > 0)) return 0;
        for (size_t i = j + 1; i < n; i++) {
            double q = M[i * n + j] / M[j * n + j];
            for (size_t k = j; k < n; k++) M[i * n + k] -= q * M[j * n + k];
            b[i] -= q * b[j];
        }
    }
    for (size_t j = n; j-- > 0;) {
        for (size_t k = j + 1; k < n; k++) b[j] -= M[j * n + k] * b[k];
        b[j] /= M[j * n + j];
    }
    return 1;
}

/* One damped step from w; the sum after it. */
static double improve(finding *f, const double *z0, double sum, double *w, double *r, double *J,
                      double *M, double *step) {
    size_t n = 2 * f->h->n, rows = f->h->nz + n;
    const double D = 1e-5;
    for (size_t k = 0; k < n; k++) {
        double keep = w[k];
        w[k] = keep + D;
        if (!isfinite(residuals(f, z0, w, J + k * rows))) return sum;
        w[k] = keep - D;
        if (!isfinite(residuals(f, z0, w, r))) return sum;
        w[k] = keep;
        for (size_t i = 0; i < rows; i++) J[k * rows + i] = (J[k * rows + i] - r[i]) / (2 * D);
    }
    residuals(f, z0, w, r);
    for (double damping = 1e-6; damping < 1e6; damping *= 30) {
        for (size_t a = 0; a < n; a++) {
            step[a] = 0;
            for (size_t i = 0; i < rows; i++) step[a] -= J[a * rows + i] * r[i];
            for (size_t b = 0; b < n; b++) {
                double s = 0;
                for (size_t i = 0; i < rows; i++) s += J[a * rows + i] * J[b * rows + i];
                M[a * n + b] = a == b ? s * (1 + damping) : s;
            }
        }
        if (!clsi_solve_small(n, M, step)) continue;
        for (size_t a = 0; a < n; a++) step[a] += w[a];
        double next = residuals(f, z0, step, J + n * rows);
        if (!(next < sum)) continue;
        memcpy(w, step, n * sizeof *w);
        return next;
    }
    return sum;
}

void clsi_hidden_find(const clsi_hidden *h, const double *theta, double t, const double *u,
                      const double *dot, double *z) {
    finding f;
    size_t n = 2 * h->n, rows = h->nz + n;
    if (!n || !begin(h, theta, t, u, z, dot, &f)) return;
    double *w = clsi_calloc(2 * n + rows * (n + 2) + n * n, sizeof *w);
    if (w) {
        double *step = w + n, *r = step + n, *J = r + rows, *M = J + rows * (n + 1);
        double sum = residuals(&f, z, w, r);
        for (int i = 0; i < STEPS && isfinite(sum); i++) {
            double next = improve(&f, z, sum, w, r, J, M, step);
            int done = !(next < 0.999 * sum);
            sum = next;
            if (done) break;
        }
        for (size_t k = 0; k < h->n && isfinite(sum); k++)
            z[h->state[k]] += h->prior[h->state[k]] * w[k];
    }
    free(w);
    free(f.block);
}
