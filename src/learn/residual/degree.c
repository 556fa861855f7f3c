/* What is to be learned, in the size that the data can tell.
 *
 * Bases that the caller did not name have up to 1,010 terms (an energy) and 140 (a friction). With few
 * data they follow them to the last digit and mean nothing between them: the validation shows it.
 * Then the number of terms is halved, and halved again, until two fits in a row are no better in
 * validation; the best one stays. The terms are never more than the rows of the residual, either.
 *
 * Only where one solve finds the parameters: half of the terms cost a quarter of the time.
 * Measured in docs/decisions/0024-as-many-terms-as-the-data-tell.md. */
#include "base/base.h"
#include "learn/learner.h"
#include <stdlib.h>
#include <string.h>

/* Validation this much above the rest is no longer chance. With noise, which is in both, it says
 * nothing, and smaller sizes are always tried. */
static const double ABOVE = 3;

enum { MOST_HALVES = 10, WORSE = 2 }; /* 1,010 terms and below one; fits that may be worse */

void clsi_learner_forget(clsi_learner *w) {
    clsi_residual_free(&w->residual);
    clsi_anchors_free(&w->anchors);
    clsi_unknowns_free(&w->unknowns);
    free(w->theta);
    free(w->begin);
    w->theta = w->begin = NULL;
}

static cls_status make_unknowns(clsi_learner *w, size_t halved) {
    clsi_unknowns_free(&w->unknowns);
    clsi_choices choices = w->choices;
    choices.halved = halved;
    return clsi_unknowns_create_small(w->system, w->set, w->o, w->points, &choices, &w->unknowns,
                                      w->error);
}

cls_status clsi_learner_prepare(clsi_learner *w) {
    cls_status status = clsi_residual_create(w->points, w->unknowns, &w->residual, w->error);
    if (status == CLS_OK) status = clsi_learner_weights(w);
    if (status == CLS_OK) status = clsi_learner_check_from(w);
    if (status == CLS_OK) status = clsi_anchors_create(w->unknowns, &w->anchors, w->error);
    if (status != CLS_OK) return status;
    size_t P = w->unknowns->n_theta;
    w->info->parameters = P;
    w->info->isothermal = 0;
    for (size_t i = 0; i < w->unknowns->n; i++)
        w->info->isothermal |= w->unknowns->list[i].learned.trunk > 0;
    w->info->samples = w->points->n_training;
    w->info->windows = w->points->n_there;
    w->info->validation_samples = w->points->n_windows - w->points->n_training;
    w->theta = clsi_calloc(P, sizeof *w->theta);
    w->begin = clsi_calloc(CLSI_BEGIN + P, sizeof *w->begin);
    if (!w->theta || !w->begin) return clsi_no_memory(w->error);
    return clsi_learner_loss(w, w->theta, 0, w->points->n_training, &w->info->loss_initial);
}

static int is_solved_at_once(const clsi_learner *w) {
    const char *name = w->o->optimizer ? w->o->optimizer : "auto";
    return (w->residual->affine || clsi_is_staged(w)) &&
           (!strcmp(name, "auto") || !strcmp(name, "linear"));
}

/* A smaller basis with fewer parameters than `most`, or the same when there is none. */
static cls_status make_smaller(clsi_learner *w, size_t most, size_t *halved) {
    cls_status status = CLS_OK;
    while (status == CLS_OK && w->unknowns->n_theta > most && *halved < MOST_HALVES)
        status = make_unknowns(w, ++*halved);
    return status;
}

/* Not more terms than rows; anchors are not rows, and may need the terms. */
static cls_status begin(clsi_learner *w, size_t *halved) {
    *halved = 0;
    cls_status status = make_unknowns(w, 0);
    if (status == CLS_OK) status = clsi_learner_prepare(w);
    if (status != CLS_OK || !w->unknowns->chosen || !is_solved_at_once(w)) return status;
    size_t rows = w->points->n_training * w->residual->n_equations;
    if (clsi_anchors_count(w->anchors) || w->unknowns->n_theta <= rows) return CLS_OK;
    clsi_learner_forget(w);
    status = make_unknowns(w, 0);
    if (status == CLS_OK) status = make_smaller(w, rows, halved);
    return status == CLS_OK ? clsi_learner_prepare(w) : status;
}

static int is_too_large(const clsi_learner *w) {
    const cls_learn_info *f = w->info;
    int is_noisy = clsi_points_long(w->points); /* or the windows were not longer (data.c) */
    int late = w->o->time_limit > 0 && clsi_now() - w->started > w->o->time_limit;
    if (w->o->time_limit > 0) late = clsi_learner_tell_all(w, late) > 0;
    if (w->points->smoothed) return 0; /* terms are chosen one by one (thin.c) */
    return w->unknowns->chosen && is_solved_at_once(w) && f->validation_samples && !late &&
           (f->loss_validation > ABOVE * f->loss_final || is_noisy);
}

static void take_back(clsi_learner *w, const clsi_learner *kept, const cls_learn_info *info) {
    clsi_learner_forget(w);
    *w = *kept;
    *w->info = *info;
}

/* One smaller fit beside the best so far. A smaller basis may not meet what the larger one does (an
 * anchor): then it is no better. Stopped by `progress`, the best so far is the result. */
static cls_status try_smaller(clsi_learner *w, size_t *halved, int *better) {
    clsi_learner kept = *w;
    cls_learn_info info = *w->info;
    size_t most = w->unknowns->n_theta - 1;
    *better = 0;
    w->unknowns = NULL, w->residual = NULL, w->anchors = NULL, w->theta = w->begin = NULL;
    cls_status status = make_unknowns(w, *halved);
    if (status == CLS_OK) status = make_smaller(w, most, halved);
    int smaller = status == CLS_OK && w->unknowns->n_theta <= most;
    if (smaller) status = clsi_learner_prepare(w);
    if (smaller && status == CLS_OK) status = clsi_learner_solve(w);
    *better = smaller && status == CLS_OK && w->info->loss_validation < info.loss_validation;
    if (*better) {
        clsi_learner_forget(&kept);
        return CLS_OK;
    }
    take_back(w, &kept, &info);
    if (status == CLS_INTERRUPTED) w->info->stopped = 1;
    if (status == CLS_MEMORY) return status;
    if (w->error) w->error->message[0] = '\0'; /* an answer, not a mistake */
    return CLS_OK;
}

cls_status clsi_learner_fit(clsi_learner *w) {
    size_t halved, worse = 0;
    int better;
    cls_status status = begin(w, &halved);
    if (status == CLS_OK) status = clsi_learner_solve(w);
    while (status == CLS_OK && worse < WORSE && halved < MOST_HALVES && !w->info->stopped &&
           is_too_large(w)) {
        halved++;
        status = try_smaller(w, &halved, &better);
        worse = better ? 0 : worse + 1;
    }
    return status;
}
