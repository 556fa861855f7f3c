/* What the choice of terms leaves open: how far terms that were dropped would move the function.
 *
 * A term stays out when it explains less than its price (terms.c): it may be there all the same, only too
 * small to be seen for sure. A band from the covariance of the terms that were kept knows nothing of it. Near
 * the fit, with information S and gradient g over the whole dictionary, term j beside those that were kept
 * moves all coefficients along
 *
 *     v_j = e_j - S_MM^-1 S_Mj,    by -(v_j.g)/(v_j.S v_j),
 *
 * which is t_j times its own standard error, that error with the memory of the residuals (doubt.c). The
 * fits with one more term are weighed beside the one without by exp(t_j^2/2) at a price of PRICE: less than a
 * term has to pay to be taken, because to be left out costs nothing here. What they are off from it, squared
 * and averaged, is a variance along v_j that the band has on top of its own. A term that is far from what
 * was kept (terms.h: parents) is not looked at.
 *
 * It is an average over single additions: neither pairs nor exchanges, and what the dictionary cannot
 * say at all is not in it. Measured in tests/long/test_function_coverage.c. */
#include "base/base.h"
#include "learn/noisy.h"
#include "learn/terms.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40 };
static const double PRICE = 2, RCOND = 1e-10, COPY = 1e-7;

typedef struct dropping {
    clsi_noisy *k;
    size_t P, M, n;             /* all coefficients, those kept, candidates */
    size_t *kept, *candidate;   /* (M), (n) */
    double *S, *g, *inverse;    /* (P, P), (P), (M, M) */
    double *direction, *spread; /* (n, P), (n) variances of their scores */
    unsigned char *parent;      /* (P, P) */
} dropping;

static int is_candidate(const dropping *d, size_t j) {
    int needs = 0;
    const clsi_noisy *k = d->k;
    if (k->keep[j] || k->locked[j] || (k->still && k->barred[j])) return 0;
    for (size_t i = 0; i < d->P; i++) {
        if (!d->parent[j * d->P + i]) continue;
        if (k->keep[i]) return 1;
        needs = 1;
    }
    return !needs;
}

/* v_j of all candidates; those that are copies of what was kept are left out. */
static void find_directions(dropping *d) {
    size_t P = d->P, n = 0;
    for (size_t j = 0; j < P && n < MOST; j++) {
        if (!is_candidate(d, j) || !(d->S[j * P + j] > 0)) continue;
        double *v = d->direction + n * P, own = d->S[j * P + j];
        memset(v, 0, P * sizeof *v);
        v[j] = 1;
        for (size_t a = 0; a < d->M; a++)
            for (size_t b = 0; b < d->M; b++)
                v[d->kept[a]] -= d->inverse[a * d->M + b] * d->S[d->kept[b] * P + j];
        for (size_t a = 0; a < d->M; a++) own += v[d->kept[a]] * d->S[d->kept[a] * P + j];
        if (own > COPY * d->S[j * P + j]) d->candidate[n++] = j;
    }
    d->n = n;
}

static cls_status invert(dropping *d) {
    size_t M = d->M;
    double *A = clsi_calloc(M * M + 1, sizeof *A);
    unsigned char *open = clsi_calloc(M + 1, 1);
    cls_status status = A && open ? CLS_OK : clsi_no_memory(d->k->w->error);
    for (size_t i = 0; i < M * M && status == CLS_OK; i++)
        A[i] = d->S[d->kept[i / M] * d->P + d->kept[i % M]];
    if (status == CLS_OK && clsi_seen_inverse(M, A, RCOND, d->inverse, open) < 0)
        status = clsi_no_memory(d->k->w->error);
    free(A);
    free(open);
    return status;
}

/* Directions become what they add to a standard deviation. */
static void weigh(dropping *d) {
    size_t P = d->P;
    double sum = 1, t2[MOST], scale[MOST];
    for (size_t c = 0; c < d->n; c++) {
        double *v = d->direction + c * P, score = 0, own = 0;
        for (size_t i = 0; i < P; i++) {
            score += v[i] * d->g[i];
            own += v[i] * d->S[d->candidate[c] * P + i]; /* S v is zero along what was kept */
        }
        t2[c] = d->spread[c] > 0 ? score * score / d->spread[c] : 0;
        scale[c] = sqrt(d->spread[c]) / own;
        sum += exp(fmin(t2[c] - PRICE, 100) / 2);
    }
    for (size_t c = 0; c < d->n; c++) {
        double weight = exp(fmin(t2[c] - PRICE, 100) / 2) / sum;
        double factor = scale[c] * sqrt(weight * t2[c]);
        for (size_t i = 0; i < P; i++) d->direction[c * P + i] *= factor;
    }
}

cls_status clsi_noisy_dropped(clsi_noisy *k, clsi_dropped *out) {
    size_t P = k->P + k->Q;
    dropping d = {.k = k, .P = P};
    *out = (clsi_dropped){0};
    d.kept = clsi_calloc(P + MOST + 1, sizeof *d.kept);
    d.S = clsi_calloc(2 * P * P + P + MOST + 1, sizeof *d.S);
    d.direction = clsi_calloc(MOST * P + 1, sizeof *d.direction);
    d.parent = clsi_calloc(P * P + 1, 1);
    cls_status status =
        d.kept && d.S && d.direction && d.parent ? CLS_OK : clsi_no_memory(k->w->error);
    if (status == CLS_OK) {
        d.candidate = d.kept + P;
        d.g = d.S + P * P;
        d.spread = d.g + P;
        d.inverse = d.spread + MOST;
        for (size_t p = 0; p < P; p++)
            if (k->keep[p]) d.kept[d.M++] = p;
        clsi_terms_parents(k->all, P, d.parent);
        status = clsi_noisy_inform(k, d.S, d.g, NULL);
    }
    if (status == CLS_OK) status = invert(&d);
    if (status == CLS_OK) {
        find_directions(&d);
        clsi_along along = {
            .n = d.n, .fitted = d.M, .direction = d.direction, .variance = d.spread};
        if (d.n) status = clsi_noisy_inform(k, d.S, d.g, &along);
    }
    if (status == CLS_OK) {
        weigh(&d);
        *out = (clsi_dropped){.n = d.n, .stride = P, .all = k->all, .direction = d.direction};
        d.direction = NULL;
    }
    free(d.kept);
    free(d.S);
    free(d.direction);
    free(d.parent);
    return status;
}
