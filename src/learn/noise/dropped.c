/* What the choice of terms leaves open: how far fits with other terms are from the one that was taken.
 *
 * A term stays out when it explains less than its price (terms.c): it may be there all the same, only too
 * small to be seen for sure; one that came in may be noise that was lucky, or stand for another one. A band
 * from the covariance of the terms that were kept knows nothing of all this. Near the fit, with information
 * and gradient over the whole dictionary, every fit with one term more, one less, or one for another is known
 * without being made. They are weighed beside the one that was taken by exp(gain/2), gains in units of the
 * noise with its memory (doubt.c): a term less by the price that it had to pay, another one in its place by
 * the difference of prices, one more by the price ADDED alone, because to be left out costs nothing here. What
 * they are off from the fit that was taken, squared and averaged, is a variance that the band has on top of
 * its own.
 *
 * It is an average over single moves, and what the dictionary cannot say is not in it. Measured in
 * tests/long/test_function_coverage.c. */
#include "base/base.h"
#include "learn/noise/noisy.h"
#include "learn/noise/terms.h"
#include <math.h>
#include <stdlib.h>

static const double ADDED = 2;

/* Terms that are near enough to what was kept to be looked at. */
static int is_candidate(const clsi_noisy *k, size_t P, const unsigned char *parent, size_t j) {
    int needs = 0;
    if (k->keep[j] || k->locked[j] || (k->still && k->barred[j])) return 0;
    for (size_t i = 0; i < P; i++) {
        if (!parent[j * P + i]) continue;
        if (k->keep[i]) return 1;
        needs = 1;
    }
    return !needs;
}

/* The noise's memory: by how much scores vary more than independent rows would make them, on the average. */
static double mean_memory(const clsi_noisy *k, size_t P, const double *S, const double *more) {
    double sum = 0, n = 0;
    for (size_t i = 0; i < P; i++) {
        if (!k->keep[i] || !(S[i * P + i] > 0)) continue;
        sum += more[i];
        n++;
    }
    return n > 0 && isfinite(sum) ? sum / n : 1;
}

cls_status clsi_noisy_dropped(clsi_noisy *k, clsi_dropped *out) {
    size_t P = k->P + k->Q;
    double *S = clsi_calloc(P * P + 3 * P + 1, sizeof *S), *g = S + P * P, *price = g + P;
    double *more = price + P;
    unsigned char *parent = clsi_calloc(P * P + P + 1, 1), *open = parent + P * P;
    cls_status status =
        S && parent ? clsi_noisy_remembered(k, S, g, more) : clsi_no_memory(k->w->error);
    *out = (clsi_dropped){0};
    if (status == CLS_OK) {
        double memory = mean_memory(k, P, S, more);
        clsi_noisy_prices(k, clsi_multiple_values(k->multiple), price);
        clsi_terms_parents(k->all, P, parent);
        for (size_t j = 0; j < P; j++) open[j] = (unsigned char)is_candidate(k, P, parent, j);
        clsi_terms_choice c = {.P = P,
                               .S = S,
                               .g = g,
                               .theta = k->full,
                               .part = k->part,
                               .locked = k->locked,
                               .price = price};
        *out = (clsi_dropped){.stride = P, .all = k->all};
        status = clsi_terms_neighbours(&c, k->keep, open, ADDED, memory, &out->n, &out->direction,
                                       k->w->error);
        if (status == CLS_OK) status = clsi_noisy_constants(k, S, memory, out);
    }
    free(S);
    free(parent);
    return status;
}
