/* Laws of motions with thermal noise, judged from their rows.
 *
 *     fluctuation      sum |dp + h (E_q - F_ext)|^2 against sum 2 kB T Gamma h: the noise is as large as
 *                      the friction and the temperature demand. Over n increments the ratio is 1 within
 *                      sqrt(2/n); friction over a row changes it by lambda h/2, lambda = Gamma/m. Rows
 *                      further apart than 0.3/lambda are not judged: there noise has been forgotten.
 *     entropy.outside  one reservoir of constant temperature and nothing else: R = -Q/T
 *     entropy          told, not judged: the second law holds in the mean of many motions, and with the
 *                      entropy of their spread, which no single motion has */
#include "audit/quantity.h"
#include <math.h>
#include <stdlib.h>

static const double FORGOTTEN = 0.3, EXACT = 1e-9;

/* Everything at the rows: force, 2 kB T Gamma, lambda of each momentum with noise, T of the reservoir. */
typedef struct noisy {
    size_t n, *momentum;
    double *values; /* (3 n + 1, rows) */
} noisy;

/* Sums over reservoirs of kB T dF_j/dv_j and of dF_j/dv_j, with the sign of friction. */
static void slopes(const cls_system *s, size_t j, cls_node *spread, cls_node *gamma) {
    cls_graph *g = s->g;
    *spread = *gamma = cls_constant(g, 0);
    for (size_t k = 0; k < s->nr; k++) {
        if (!clsi_has_noise(s, k)) continue;
        CLSI_EACH(&s->bound.friction, s->m + k, e) {
            const clsi_entry *x = &s->bound.friction.entries[e];
            if (x->column != j) continue;
            cls_node slope = cls_neg(g, cls_derivative(g, x->node, s->v[j]));
            cls_node kT = cls_mul(g, cls_constant(g, s->boltzmann[k]), s->bound.reservoir[k]);
            *gamma = cls_add(g, *gamma, slope);
            *spread = cls_add(g, *spread, cls_mul(g, kT, slope));
        }
    }
}

static cls_status look(const cls_system *s, const clsi_states *st, noisy *x, cls_error *error) {
    cls_graph *g = s->g;
    const clsi_form *f = s->form;
    const clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t, NULL};
    cls_node *nodes = clsi_calloc(3 * s->n + 1, sizeof *nodes), two = cls_constant(g, 2);
    cls_node *against = clsi_calloc(s->n, sizeof *against);
    cls_program *program = NULL;
    x->momentum = clsi_calloc(s->n, sizeof *x->momentum);
    cls_status status = nodes && against && x->momentum ? CLS_OK : clsi_no_memory(error);
    if (!status && clsi_brackets_at(s, &s->bound, &at, f->energy_q, NULL, against))
        status = clsi_no_memory(error);
    for (size_t j = 0; j < s->n && !status; j++) {
        cls_node spread, gamma, *to = nodes + 3 * x->n;
        slopes(s, j, &spread, &gamma);
        if (cls_is_constant(g, gamma, 0)) continue;
        to[0] = cls_sub(g, s->bound.force[j], against[j]);
        to[1] = cls_mul(g, two, spread);
        to[2] = cls_mul(g, gamma, cls_derivative(g, f->v[j], s->p[j]));
        x->momentum[x->n++] = j;
    }
    if (!status) nodes[3 * x->n] = s->bound.reservoir[0];
    if (!status) status = clsi_audit_native(s, 3 * x->n + 1, nodes, nodes, error);
    if (!status) status = clsi_audit_program(s, 3 * x->n + 1, nodes, &program, error);
    if (!status) {
        x->values = clsi_calloc((3 * x->n + 1) * st->rows, sizeof *x->values);
        if (!x->values || cls_program_run_many(program, st->rows, st->rows, st->z, x->values))
            status = clsi_no_memory(error);
    }
    cls_program_free(&program);
    free(nodes);
    free(against);
    return status;
}

static cls_status judge_fluctuation(cls_audit *a, const cls_system *s, const clsi_states *st,
                                    const noisy *x, cls_error *error) {
    double seen = 0, due = 0, fastest = 0;
    size_t n = 0, rows = st->rows;
    for (size_t part = 0; part < st->parts; part++)
        for (size_t k = st->first[part] + 1; k < st->first[part + 1]; k++)
            for (size_t i = 0; i < x->n; i++) {
                const double *p = st->z + (s->nq + x->momentum[i]) * rows,
                             *y = x->values + 3 * i * rows;
                double h = clsi_states_time(st, k) - clsi_states_time(st, k - 1);
                double d = p[k] - p[k - 1] - h * (y[k] + y[k - 1]) / 2;
                seen += d * d;
                due += h * (y[rows + k] + y[rows + k - 1]) / 2;
                fastest = fmax(fastest, h * y[2 * rows + k]);
                n++;
            }
    if (!n || !(due > 0) || !(fastest <= FORGOTTEN)) return CLS_OK;
    double ratio = seen / due, limit = 4 * sqrt(2 / (double)n) + fastest;
    return clsi_law_add(
        a, "fluctuation", NULL, fabs(ratio - 1) <= limit, fabs(ratio - 1), limit, error,
        "the squares of %zu changes of momenta, less those of the forces, are %.5g of "
        "what friction and temperature demand",
        n, ratio);
}

static cls_status judge_outside(cls_audit *a, const cls_system *s, const clsi_states *st,
                                const noisy *x, cls_error *error) {
    const double *Q = st->account[CLSI_HEAT], *R = st->account[CLSI_OUTSIDE];
    const double *T = x->values + 3 * x->n * st->rows;
    double worst = 0, scale = 0;
    size_t at = 0, bad = 0;
    if (s->nr != 1 || s->m || !Q || !R) return CLS_OK;
    for (size_t part = 0; part < st->parts; part++)
        for (size_t k = st->first[part]; k < st->first[part + 1]; k++) {
            size_t begin = st->first[part];
            double off = fabs(R[k] - R[begin] + (Q[k] - Q[begin]) / T[k]);
            if (T[k] != T[begin]) return CLS_OK; /* it changes: nothing so simple holds */
            scale = fmax(scale, fabs(Q[k] - Q[begin]) / T[k]);
            bad += !isfinite(off);
            if (off > worst) worst = off, at = k;
        }
    if (scale > 0) worst /= scale;
    return clsi_law_add(
        a, "entropy.outside", NULL, !bad && worst <= EXACT, worst, EXACT, error,
        "the column entropy.outside differs from -heat over the temperature by at most "
        "%.3g of its size, worst at %s; %zu rows not finite",
        worst, clsi_states_where(st, at).text, bad);
}

cls_status clsi_audit_noise(cls_audit *a, const cls_system *s, const clsi_states *st,
                            const clsi_quantity *entropy, cls_error *error) {
    noisy x = {0};
    double sum = 0, squares = 0, parts = (double)st->parts;
    cls_status status = look(s, st, &x, error);
    if (!status) status = judge_fluctuation(a, s, st, &x, error);
    if (!status) status = judge_outside(a, s, st, &x, error);
    for (size_t part = 0; part < st->parts && entropy; part++) {
        double rise = entropy->value[st->first[part + 1] - 1] - entropy->value[st->first[part]];
        sum += rise;
        squares += rise * rise;
    }
    double mean = sum / parts, spread = sqrt(fmax(squares / parts - mean * mean, 0) / parts);
    if (!status && entropy)
        status =
            clsi_law_add(a, "entropy in the mean", NULL, 1, mean, 0, error,
                         "that of system and outside changes by %.4g +- %.2g, the mean of %zu "
                         "motions; with thermal noise it rises in the mean only, together with the "
                         "entropy of the motions' spread",
                         mean, spread, st->parts);
    free(x.momentum);
    free(x.values);
    return status;
}
