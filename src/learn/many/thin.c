/* Terms that noisy rows of the residual justify, where no window is simulated (nodes.c).
 *
 * At the solution the sum of squares is S/2 about it, with the rows J of the residual S = J^T J, in units of the
 * rows' variance. Rows share data with their neighbours (windows overlap, polynomials smooth), so that the gradient
 * scatters from block to block of the data by more than S says: the usual ratio of both, over the coefficients, divides
 * S. Then Bayes' criterion chooses (terms.c), and what stays is solved for once more. */
#include "base/base.h"
#include "learn/learner.h"
#include "learn/noise/terms.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = CLSI_SCORES_MOST };

static int may_thin(const clsi_learner *w) {
    const clsi_unknowns *us = w->unknowns;
    int open = 0;
    for (size_t i = 0; i < us->n; i++) open |= clsi_terms_free(us, i);
    return open && strcmp(w->info->optimizer, "linear") == 0 && !w->residual->scale_free &&
           !clsi_is_staged(w) && us->n_theta <= MOST &&
           w->points->n_training >= 2 * CLSI_SCORES_BLOCKS;
}

/* What a sum of squares is worth: the variance of a row times how much more than its share the gradient of blocks
 * scatters. room (P). */
static double price_of_memory(const clsi_scores *s, size_t P, double *room) {
    double variance = s->squares / (double)s->rows;
    for (size_t k = 0; k < P; k++) {
        double scatter = 0, own = s->S[k * P + k];
        for (size_t b = 0; b < CLSI_SCORES_BLOCKS; b++)
            scatter += s->g[b * P + k] * s->g[b * P + k];
        room[k] = own > 0 ? scatter / (own * variance) : 1;
    }
    return variance * fmax(clsi_median(P, room), 1);
}

static cls_status choose(const clsi_learner *w, clsi_scores *s, unsigned char *keep,
                         cls_error *error) {
    const clsi_unknowns *us = w->unknowns;
    size_t P = us->n_theta, moves;
    double *price = clsi_calloc(3 * P + 1, sizeof *price), *found = price + P, *g = found + P;
    size_t *part = clsi_calloc(P + 1, sizeof *part);
    unsigned char *locked = clsi_calloc(P + P * P + 1, 1), *parent = locked + P;
    cls_status status = price && part && locked ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) {
        double worth = price_of_memory(s, P, found);
        for (size_t i = 0; i < P * P; i++) s->S[i] /= worth;
        for (size_t b = 0; b < CLSI_SCORES_BLOCKS; b++)
            for (size_t k = 0; k < P; k++) g[k] += s->g[b * P + k] / worth;
        for (size_t i = 0; i < us->n; i = clsi_group_end(us, i)) {
            const clsi_learned *l = &us->list[i].learned;
            for (size_t k = 0; k < l->field->n_parameters; k++) {
                part[l->offset + k] = i;
                locked[l->offset + k] = (unsigned char)!clsi_terms_free(us, i);
            }
        }
        clsi_terms_prices(us, (size_t)(s->squares / worth) + 2, price); /* rows that count */
        clsi_terms_parents(us, P, parent);
        clsi_terms_low(us, 2, 1, SIZE_MAX, keep);
        clsi_terms_choice c = {.P = P,
                               .S = s->S,
                               .g = g,
                               .theta = w->theta,
                               .part = part,
                               .locked = locked,
                               .price = price,
                               .parent = parent};
        status = clsi_terms_choose(&c, keep, found, &moves, error);
    }
    free(price);
    free(part);
    free(locked);
    return status;
}

/* The same bases with these terms, solved. */
static cls_status solve_again(clsi_learner *w, const unsigned char *keep) {
    clsi_choices choices = w->unknowns->choices;
    clsi_learner_forget(w);
    cls_status status = clsi_unknowns_create_small(w->system, w->set, w->o, w->points, &choices,
                                                   &w->unknowns, w->error);
    if (status == CLS_OK) status = clsi_terms_keep(w->unknowns, keep, w->error);
    if (status == CLS_OK) status = clsi_learner_prepare(w);
    return status == CLS_OK ? clsi_learner_solve(w) : status;
}

cls_status clsi_learner_worthy(clsi_learner *w, unsigned char *keep) {
    size_t P = w->unknowns->n_theta;
    memset(keep, 1, P);
    if (!may_thin(w)) return CLS_OK;
    clsi_scores s = {.S = clsi_calloc(P * P + CLSI_SCORES_BLOCKS * P + 1, sizeof(double))};
    cls_status status = s.S ? CLS_OK : clsi_no_memory(w->error);
    if (status == CLS_OK) {
        s.g = s.S + P * P;
        status = clsi_learner_scores(w, &s);
    }
    if (status == CLS_OK) status = choose(w, &s, keep, w->error);
    free(s.S);
    return status;
}

cls_status clsi_learner_thin(clsi_learner *w) {
    if (!w->points->smoothed) return CLS_OK;
    size_t P = w->unknowns->n_theta, kept = 0;
    unsigned char *keep = clsi_calloc(P + 1, 1);
    cls_status status = keep ? clsi_learner_worthy(w, keep) : clsi_no_memory(w->error);
    for (size_t k = 0; k < P; k++) kept += keep && keep[k];
    if (status == CLS_OK && kept < P) {
        status = solve_again(w, keep);
        clsi_learner_note(w, "%zu of %zu terms explain more than noise would", kept, P);
    }
    free(keep);
    return status;
}
