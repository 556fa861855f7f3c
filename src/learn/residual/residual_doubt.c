/* How sure functions are that were learned by the residual: the covariance of the least-squares problem.
 *
 * With rows J and r of the residual at the solution the coefficients move by S^-1 J^T r, S = J^T J, so
 * that their covariance is S^-1 Q S^-1. Neighbouring windows share rows of the data, and what the basis
 * cannot say is no noise at all: residuals are correlated, and a variance times S^-1 would promise far
 * too much. So Q is the scatter between blocks of the data, sum_b g_b g_b^T, g_b = J_b^T r_b. Blocks are
 * stretches of neighbouring windows, spread over the data; what all windows together would know is that
 * times the share that was looked at. Bases with more than MOST coefficients have no errors: that would
 * cost more than the solve. */
#include "base/base.h"
#include "learn/learner.h"
#include "solve/arrow.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = CLSI_SCORES_BLOCKS, LENGTH = 60, MOST = CLSI_SCORES_MOST };
static const double RCOND = 1e-15;

cls_status clsi_learner_scores(clsi_learner *w, clsi_scores *s) {
    const clsi_residual *r = w->residual;
    size_t P = w->unknowns->n_theta, E = r->n_equations, n = w->points->n_training;
    size_t length = n / BLOCKS < LENGTH ? n / BLOCKS : LENGTH, rows = length * E;
    double *J = clsi_calloc(rows * (P + 1) + 1, sizeof *J), *out = J + rows * P;
    cls_status status = J ? CLS_OK : clsi_no_memory(w->error);
    double *S = s->S, *g = s->g;
    s->windows = length * BLOCKS;
    s->squares = 0;
    s->rows = 0;
    for (size_t b = 0; b < BLOCKS && status == CLS_OK && length; b++) {
        size_t first = (n - length) * b / (BLOCKS - 1);
        memset(J, 0, rows * P * sizeof *J);
        status = clsi_residual_rows(r, w->theta, first * E, rows, NULL, out, J);
        for (size_t k = 0; k < rows && status == CLS_OK; k++) {
            const double *row = J + k * P;
            if (!isfinite(out[k])) continue;
            s->squares += out[k] * out[k];
            s->rows++;
            for (size_t i = 0; i < P; i++) {
                g[b * P + i] += row[i] * out[k];
                for (size_t j = 0; j < P && row[i] != 0; j++) S[i * P + j] += row[i] * row[j];
            }
        }
    }
    free(J);
    return status;
}

/* S^-1 Q S^-1 and standard errors. */
static cls_status make_covariance(size_t P, const double *S, const double *g, double share,
                                  double *C, double *errors, cls_error *error) {
    double *inverse = clsi_calloc(P * P + P + 1, sizeof *inverse), *move = inverse + P * P;
    unsigned char *unseen = clsi_calloc(P + 1, 1);
    cls_status status = inverse && unseen && clsi_seen_inverse(P, S, RCOND, inverse, unseen) >= 0
                            ? CLS_OK
                            : clsi_no_memory(error);
    for (size_t b = 0; b < BLOCKS && status == CLS_OK; b++) {
        for (size_t i = 0; i < P; i++) {
            move[i] = 0;
            for (size_t j = 0; j < P; j++) move[i] += inverse[i * P + j] * g[b * P + j];
        }
        for (size_t i = 0; i < P; i++)
            for (size_t j = 0; j < P; j++)
                C[i * P + j] += share * BLOCKS / (BLOCKS - 1) * move[i] * move[j];
    }
    for (size_t i = 0; i < P && status == CLS_OK; i++)
        errors[i] = unseen[i] ? INFINITY : sqrt(C[i * P + i]);
    free(inverse);
    free(unseen);
    return status;
}

static cls_status doubt(clsi_learner *w, cls_learn_report *report) {
    size_t P = w->unknowns->n_theta;
    if (!P || P > MOST || w->points->n_training < 2 * BLOCKS) return CLS_OK;
    double *S = clsi_calloc(2 * P * P + (BLOCKS + 1) * P + 1, sizeof *S), *C = S + P * P;
    double *g = C + P * P, *errors = g + BLOCKS * P;
    clsi_scores s = {.S = S, .g = g};
    cls_status status = S ? clsi_learner_scores(w, &s) : clsi_no_memory(w->error);
    double used = fmin((double)w->info->samples, (double)w->info->windows);
    double share = (double)s.windows / fmax(used, (double)s.windows);
    if (status == CLS_OK) status = make_covariance(P, S, g, share, C, errors, w->error);
    if (status == CLS_OK) status = clsi_learner_bands(w, P, C, errors, NULL, report, w->error);
    free(S);
    return status;
}

void clsi_tell_smoothed(const clsi_points *p, clsi_text *t) {
    if (!p->smoothed) return;
    clsi_text_printf(
        t,
        "; rows were smoothed by cubics through up to %zu of them: noise that is left in "
        "them biases what was found, by more than its errors say where it is large",
        p->smoothed);
}

/* Windows that are simulated were not taken, and what that costs. */
static void explain_nodes(const clsi_points *p, clsi_text *t) {
    clsi_text_printf(
        t,
        "because all of %zu states are measured, which are too many to simulate windows "
        "of; noise at most %.1g of the spread",
        p->nz, p->row_noise);
    clsi_tell_smoothed(p, t);
}

static char *explain(const clsi_learner *w) {
    clsi_text t = {0};
    const clsi_points *p = w->points;
    double most = 0;
    clsi_text_append(&t, "the residual of the equations of motion, ");
    for (size_t k = 0; k < p->nz && !p->intervals && !p->rule.between; k++)
        most = fmax(most, clsi_points_noise(p, k) / clsi_points_spread(p, k));
    if (w->o->loss)
        clsi_text_append(&t, "as asked for");
    else if (p->rule.between)
        explain_nodes(p, &t);
    else if (p->intervals)
        clsi_text_append(&t, "in the weak form for positions alone");
    else
        clsi_text_printf(&t, "because all states are measured; noise at most %.1g of the spread",
                         most);
    return clsi_text_take(&t);
}

cls_status clsi_learner_report_residual(clsi_learner *w, cls_learn_report **out) {
    cls_learn_report *r = *out = clsi_calloc(1, sizeof *r);
    if (!r) return clsi_no_memory(w->error);
    r->better = -1;
    r->choice = explain(w);
    r->notes = clsi_strdup("");
    cls_status status = r->choice && r->notes ? doubt(w, r) : clsi_no_memory(w->error);
    if (status != CLS_OK) cls_learn_report_free(out);
    return status;
}
