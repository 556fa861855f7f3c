/* Functions from noisy data: terms that the noise allows, by multiple shooting.
 *
 * A residual puts noisy states into formulas: more terms follow the noise, and what is found is
 * biased (errors in variables). Simulations from free starts have neither fault. So where the data
 * are noisy:
 *
 *  1. a dictionary of terms (the usual basis, at most MOST_TERMS), its inputs scaled by ranges that
 *     single wild values do not stretch;
 *  2. the residual's solution with terms of low degree, to begin with;
 *  3. multiple shooting with growing windows, free starts and Huber's loss (recipe.c), the
 *     coefficients being its parameters;
 *  4. terms added and dropped by Bayes' criterion, from the information of that very fit over the
 *     whole dictionary (terms.c); back to 3 until nothing changes;
 *  5. the same in the terms that laws are written in, and in terms with constants inside, where these
 *     explain as much with less (noisy_natural.c, noisy_shapes.c);
 *  6. scores on trajectories that were kept back, then a last fit to everything.
 *
 * The noise decides how many terms there are: a term has to explain more than noise would.
 *
 * Systems with inputs, and parameters that are unknown beside functions, have no residual that is one
 * solve. They go the same way from 3 on, the parameters behind the coefficients, and begin with what the
 * shortest windows say about terms of low degree that are zero at first. */
#include "base/base.h"
#include "learn/noise/noisy.h"
#include "learn/runs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SPREAD = 64, /* coefficients whose covariance goes into the model */
    ROUNDS = 6
};

static const double GROWS = 1.1; /* scales of short windows are those of noise, within a tenth */
static const double LOST = 3;    /* times the noise of the rows themselves */
static const double WORSE = 2;   /* scales of long windows above that are misfit */

static cls_status start(clsi_noisy *k) {
    clsi_learner *w = k->w;
    cls_status status = clsi_noisy_take_terms(k);
    w->long_heat = 1;
    if (status == CLS_OK) status = clsi_learner_solve(w);
    w->long_heat = 0;
    if (status == CLS_OK) status = clsi_learner_make_positive(w, w->theta);
    if (status == CLS_OK) {
        clsi_noisy_keep_forms(k);
        clsi_noisy_spread_terms(k);
        k->formed = 1;
    }
    return status;
}

/* All terms by rates between the rows, and then those that explain more than noise would. */
static cls_status start_driven(clsi_noisy *k) {
    enum { MOST = CLSI_SCORES_MOST };
    clsi_learner *w = k->w;
    if (k->P > MOST) return start(k);
    for (size_t p = 0; p < k->P; p++) k->keep[p] = !(k->still && k->barred[p]);
    cls_status status = clsi_noisy_take_terms(k);
    if (status == CLS_OK) status = clsi_learner_solve(w);
    size_t n = w->unknowns ? w->unknowns->n_theta : 0;
    unsigned char *keep = clsi_calloc(n + 1, 1);
    if (!keep) return clsi_no_memory(w->error);
    if (status == CLS_OK) status = clsi_learner_worthy(w, keep);
    for (size_t p = 0, at = 0; p < k->P && status == CLS_OK; p++)
        if (k->keep[p]) k->keep[p] = keep[at++];
    free(keep);
    if (status == CLS_OK) status = start(k);
    if (status == CLS_OK || status == CLS_MEMORY || status == CLS_INTERRUPTED) return status;
    clsi_noisy_begin(k, 2, 1, SIZE_MAX);
    return start(k);
}

/* ---- a fit ---- */

int clsi_noisy_is_over(void *context) {
    const clsi_noisy *k = context;
    const cls_learn_options *o = k->w->o;
    if (k->until > 0 && clsi_now() > k->until) return 1;
    if (o->interrupted && o->interrupted(o->context)) return 1;
    cls_learn_progress p = {.phase = "iterate",
                            .done = k->recipe.iterations,
                            .loss = NAN,
                            .validation = NAN,
                            .seconds = clsi_now() - k->w->started};
    return o->progress && o->progress(o->context, &p);
}

/* Where there is no residual: terms of low degree, zero at first, and the parameters as the file has
 * them, by the shortest windows; without any form first, that has no slope where it bends. */
static cls_status start_blind(clsi_noisy *k) {
    clsi_learner *w = k->w;
    cls_status status = clsi_options_mean(w, "lm", w->error);
    if (status == CLS_OK) status = clsi_noisy_take_terms(k);
    if (status == CLS_OK) status = clsi_noisy_set_up(k);
    if (status == CLS_OK) {
        size_t rows = clsi_recipe_first(k->multiple);
        status = clsi_recipe_search(&k->recipe, rows, w->error);
        if (status == CLS_OK) status = clsi_recipe_stage(&k->recipe, rows, 0, w->error);
    }
    if (status == CLS_OK) status = clsi_learner_make_positive(w, w->theta);
    if (status != CLS_OK) return status;
    clsi_noisy_keep_forms(k);
    clsi_noisy_spread_terms(k);
    k->formed = 1;
    return CLS_OK;
}

cls_status clsi_noisy_fit(clsi_noisy *k, size_t rows, int last) {
    cls_status status = clsi_recipe_stage(&k->recipe, rows, last, k->w->error);
    if (status == CLS_OK) clsi_noisy_spread_terms(k);
    return status;
}

/* ---- everything in order ---- */

/* Again with these terms and windows. */
static cls_status go_back(clsi_noisy *k, const unsigned char *keep, const double *full,
                          size_t rows) {
    if (keep != k->keep) memcpy(k->keep, keep, k->P + k->Q);
    memcpy(k->full, full, (k->P + k->Q) * sizeof *full);
    cls_status status = clsi_noisy_take_terms(k);
    if (k->multiple) k->multiple->n_pieces = 0; /* starts from the data */
    if (status == CLS_OK) status = clsi_noisy_set_up(k);
    return status == CLS_OK && rows ? clsi_noisy_fit(k, rows, 0) : status;
}

/* Other terms, and a fit of them; back to those before where that cannot be simulated. */
static cls_status change_terms(clsi_noisy *k, size_t rows, clsi_noisy_kept *before, int *changed) {
    cls_status status = clsi_noisy_remember(k, before);
    if (status == CLS_OK) status = clsi_noisy_choose(k, 0, changed);
    if (status != CLS_OK || !*changed) return status;
    status = clsi_noisy_take_terms(k);
    if (status == CLS_OK) status = clsi_noisy_set_up(k);
    if (status == CLS_OK) status = clsi_noisy_fit(k, rows, 0);
    if (status != CLS_NUMERIC) return status;
    clsi_text_printf(&k->recipe.notes, "other terms could not be simulated: those before stay\n");
    *changed = 0;
    return clsi_noisy_return(k, before, rows, 0);
}

/* A fit of short windows that leaves far more than the rows' noise has lost its way. */
static int is_lost(const clsi_noisy *k) {
    for (size_t c = 0; c < k->data->ny; c++) {
        const clsi_channel *ch = &k->data->channel[c];
        if (k->multiple->sigma[c] > LOST * fmax(ch->noise, ch->floor)) return 1;
    }
    return 0;
}

/* Once more with these terms, from the residual's solution and starts from the data; the fit before stays
 * where that is no better. */
static cls_status begin_again(clsi_noisy *k, size_t rows, clsi_noisy_kept *kept) {
    double before = k->recipe.loss;
    cls_status status = clsi_noisy_remember(k, kept);
    if (status == CLS_OK) status = start(k);
    k->multiple->n_pieces = 0;
    if (status == CLS_OK) status = clsi_noisy_set_up(k);
    if (status == CLS_OK) status = clsi_noisy_fit(k, rows, 0);
    if (status != CLS_MEMORY && (status != CLS_OK || (is_lost(k) && k->recipe.loss > before)))
        status = clsi_noisy_return(k, kept, rows, 0);
    return status;
}

/* Windows of so many rows: terms and their coefficients until nothing changes. */
cls_status clsi_noisy_settle(clsi_noisy *k, size_t rows) {
    int changed = 1, again = !k->blind && rows <= clsi_recipe_first(k->multiple);
    clsi_noisy_kept before = {0};
    cls_status status = clsi_noisy_fit(k, rows, 0);
    for (size_t round = 0; round < ROUNDS && changed && status == CLS_OK && !clsi_noisy_is_over(k);
         round++) {
        status = change_terms(k, rows, &before, &changed);
        if (status != CLS_OK || !again || !is_lost(k)) continue;
        again = 0;
        changed = 1;
        status = begin_again(k, rows, &before);
    }
    clsi_noisy_forget(&before);
    for (size_t c = 0; c < k->data->ny && status == CLS_OK; c++)
        k->noise[c] = fmin(k->noise[c], GROWS * k->multiple->sigma[c]);
    return status;
}

/* Longer windows leave more than noise: the dictionary does not hold what they show. */
static int is_misfit(const clsi_noisy *k) {
    for (size_t c = 0; c < k->data->ny; c++) {
        double sigma = k->multiple->sigma[c];
        if (sigma > WORSE * k->noise[c] && sigma > 0.02 * k->data->channel[c].std) return 1;
    }
    return 0;
}

static const double DEARER = 1.1; /* what is left of the rows without terms that memory made */

/* Terms that only follow noise with a memory go, as long as the rest explains the rows as well. */
cls_status clsi_noisy_prune(clsi_noisy *k, size_t rows) {
    clsi_noisy_kept before = {0};
    double *sigma = clsi_calloc(k->data->ny + 1, sizeof *sigma);
    size_t terms = k->w->unknowns->n_theta;
    int changed = 0, worse = 0;
    if (!sigma) return clsi_no_memory(k->w->error);
    memcpy(sigma, k->multiple->sigma, k->data->ny * sizeof *sigma);
    k->prune = 1;
    cls_status status = change_terms(k, rows, &before, &changed);
    k->prune = 0;
    for (size_t c = 0; c < k->data->ny && status == CLS_OK && changed; c++)
        worse |= !(k->multiple->sigma[c] <= DEARER * sigma[c]);
    if (worse)
        status = clsi_noisy_return(k, &before, rows, 0);
    else if (status == CLS_OK && changed)
        clsi_text_printf(&k->recipe.notes,
                         "what is left remembers from row to row: %zu of %zu terms stay\n",
                         k->w->unknowns->n_theta, terms);
    clsi_noisy_forget(&before);
    free(sigma);
    return status;
}

static void note_terms(clsi_noisy *k, size_t rows) {
    clsi_text_printf(&k->recipe.notes, "windows of %zu rows: %zu of %zu terms\n", rows,
                     k->w->unknowns->n_theta, k->P);
}

/* Short windows say next to nothing about some parameters (what leaks to the room in a second), which then
 * wander to where longer ones find no way back. So these windows once more, with the terms as they were and
 * the parameters as the file has them. */
static cls_status settle_from_file(clsi_noisy *k, size_t rows, const clsi_noisy_kept *before) {
    size_t n = k->P + k->Q;
    double *begin = clsi_calloc(n + 1, sizeof *begin);
    if (!begin) return clsi_no_memory(k->w->error);
    memcpy(begin, before->full, n * sizeof *begin);
    for (size_t q = 0; q < k->Q; q++) begin[k->P + q] = k->w->open->value[q];
    cls_status status = go_back(k, before->keep, begin, 0);
    if (status == CLS_OK) status = clsi_noisy_settle(k, rows);
    if (status == CLS_OK && !is_misfit(k))
        clsi_text_printf(&k->recipe.notes,
                         "windows of %zu rows are fitted from the parameters of the file again\n",
                         rows);
    free(begin);
    return status;
}

/* From short windows to whole trajectories; where longer ones cannot be simulated or explained, the
 * terms and coefficients of those before are the result. */
static cls_status grow(clsi_noisy *k) {
    clsi_noisy_kept before = {0};
    size_t rows = clsi_recipe_first(k->multiple), most = clsi_recipe_longest(k->multiple);
    if (k->field) rows = most;
    cls_status status = clsi_noisy_settle_in_steps(k, rows);
    if (status == CLS_OK) status = clsi_noisy_remember(k, &k->shortest);
    k->misfit = 0;
    while (status == CLS_OK) {
        note_terms(k, rows);
        if (rows >= most || clsi_noisy_is_over(k)) break;
        size_t next = 5 * rows / 2 < most ? 5 * rows / 2 : most;
        status = clsi_noisy_remember(k, &before);
        if (status == CLS_OK) status = clsi_noisy_settle_in_steps(k, next);
        if (k->Q && (status == CLS_NUMERIC || (status == CLS_OK && is_misfit(k))))
            status = settle_from_file(k, next, &before);
        if (status == CLS_MEMORY) break;
        if (status != CLS_OK || is_misfit(k)) {
            clsi_text_printf(&k->recipe.notes,
                             "windows of %zu rows %s; what those of %zu rows gave was kept\n", next,
                             status == CLS_OK ? "leave more than noise, whatever the terms"
                                              : "cannot be simulated",
                             rows);
            k->misfit = 1;
            status = clsi_noisy_return(k, &before, rows, 0);
            break;
        }
        rows = next;
    }
    if (status == CLS_OK && !clsi_noisy_is_over(k)) status = clsi_noisy_prune(k, rows);
    clsi_noisy_forget(&before);
    return status == CLS_OK ? clsi_noisy_fit(k, rows, 1) : status;
}

/* Explicit steps first, then the system's own; then fewer terms. */
static cls_status find_terms(clsi_noisy *k) {
    size_t P = k->P + k->Q;
    int implicit =
        k->implicit; /* from the beginning; explicit steps may have been left on the way */
    unsigned char *first = clsi_calloc(P + 1, 1);
    double *begin = clsi_calloc(P + 1, sizeof *begin);
    cls_status status = first && begin ? CLS_OK : clsi_no_memory(k->w->error);
    if (status == CLS_OK) {
        memcpy(first, k->keep, P);
        memcpy(begin, k->full, P * sizeof *begin);
        status = clsi_noisy_set_up(k);
    }
    if (status == CLS_OK) status = clsi_noisy_first_steps(k);
    implicit |= k->implicit;
    if (status == CLS_OK) status = grow(k);
    if (status == CLS_NUMERIC && !implicit) {
        clsi_text_printf(&k->recipe.notes, "explicit steps failed: those of the system's scheme\n");
        k->implicit = 1;
        k->longest = 0;
        k->steps_stay = 0;
        clsi_multiple_free(&k->whole);
        cls_system_free(&k->whole_open);
        status = go_back(k, first, begin, 0);
        if (status == CLS_OK) status = grow(k);
    }
    if (status == CLS_NUMERIC && !k->blind && !k->specs) {
        clsi_text_printf(&k->recipe.notes, "no fit with the first terms: begun with fewer\n");
        clsi_noisy_begin(k, 2, 0, 1);
        memset(k->full, 0, P * sizeof *begin);
        status = start(k);
        memcpy(first, k->keep, P);
        memcpy(begin, k->full, P * sizeof *begin);
        if (status == CLS_OK) status = go_back(k, first, begin, 0);
        if (status == CLS_OK) status = grow(k);
    }
    free(first);
    free(begin);
    return status;
}

static cls_status begin(clsi_noisy *k) {
    cls_status status = k->blind ? start_blind(k) : k->driven ? start_driven(k) : start(k);
    if (k->driven && status != CLS_OK && status != CLS_MEMORY && status != CLS_INTERRUPTED) {
        k->driven = 0;
        k->blind = 1;
        clsi_noisy_begin(k, 2, 1, SIZE_MAX);
        memset(k->full, 0, k->P * sizeof *k->full);
        status = start_blind(k);
    }
    if (status != CLS_NUMERIC || !k->blind) return status;
    k->implicit = 1; /* explicit steps are not for everything */
    return start_blind(k);
}

/* Terms of energies may be more than potentials. */
static cls_status begin_moving(clsi_noisy *k) {
    k->still = k->implicit = 0;
    k->longest = 0;
    k->steps_stay = 0;
    clsi_noisy_begin(k, 2, 1, SIZE_MAX);
    memset(k->full, 0, k->P * sizeof *k->full);
    return begin(k);
}

/* Terms of energies are potentials first: what they say about masses and heat capacities beside the known
 * ones is tried where potentials leave more than noise, and stays where it explains more. */
static cls_status find_all_terms(clsi_noisy *k) {
    cls_status status = find_terms(k);
    int there = status == CLS_OK, enough = there && !is_lost(k) && !k->misfit;
    if (!k->still || enough || status == CLS_MEMORY || clsi_noisy_is_over(k)) return status;
    clsi_noisy_kept kept = {0};
    double before = k->recipe.loss;
    size_t rows = k->recipe.window;
    status = there ? clsi_noisy_remember(k, &kept) : CLS_OK;
    if (status == CLS_OK) {
        clsi_text_printf(&k->recipe.notes, "as potentials, the terms of the energy leave more than "
                                           "noise: of velocities and temperatures too\n");
        status = begin_moving(k);
        if (status == CLS_OK) status = find_terms(k);
        int worse = status || (k->misfit && k->recipe.window < rows) ||
                    (is_lost(k) && !(k->recipe.loss < before));
        if (there && worse && status != CLS_MEMORY) status = clsi_noisy_return(k, &kept, rows, 1);
    }
    clsi_noisy_forget(&kept);
    return status;
}

/* In units of the rows' own noise, with what the terms cost. */
static cls_status cost_of(clsi_noisy *k, double *cost) {
    size_t rows;
    double *sigma = clsi_calloc(k->data->ny + 1, sizeof *sigma);
    if (!sigma) return clsi_no_memory(k->w->error);
    for (size_t c = 0; c < k->data->ny; c++)
        sigma[c] = fmax(k->data->channel[c].noise, k->data->channel[c].floor);
    cls_status status = clsi_noisy_describe(k, sigma, cost, &rows);
    free(sigma);
    return status;
}

/* Single moves and exchanges end where several terms would have to go at once. So the terms are chosen once more from
 * none on, by what the fit there is says of the whole dictionary, as long as that costs less. */
static cls_status choose_anew(clsi_noisy *k) {
    enum { MOST = 3 };
    clsi_noisy_kept before = {0};
    double cost = INFINITY, other = 0;
    size_t rows = k->recipe.window;
    int changed;
    cls_status status = cost_of(k, &cost);
    for (size_t round = 0; round < MOST && status == CLS_OK && !clsi_noisy_is_over(k); round++) {
        status = clsi_noisy_remember(k, &before);
        if (status != CLS_OK) break;
        memset(k->keep, 0, k->P);
        for (size_t p = 0; p < k->P; p++) k->keep[p] = k->locked[p];
        status = clsi_noisy_choose(k, 1, &changed);
        if (status == CLS_OK && !memcmp(k->keep, before.keep, k->P)) round = MOST;
        if (status == CLS_OK) status = clsi_noisy_take_terms(k);
        if (status == CLS_OK) status = clsi_noisy_set_up(k);
        if (status == CLS_OK) status = clsi_noisy_settle(k, rows);
        if (status == CLS_OK) status = clsi_noisy_fit(k, rows, 1);
        if (status == CLS_OK) status = cost_of(k, &other);
        if (status == CLS_MEMORY || status == CLS_INTERRUPTED) break;
        if (status == CLS_OK && other < cost) {
            cost = other;
            continue;
        }
        status = clsi_noisy_return(k, &before, rows, 1);
        break;
    }
    clsi_noisy_forget(&before);
    return status;
}

/* An energy with heat in it of which nothing is known: its polynomials are of many inputs at once, and temperatures,
 * heat capacities and forces all come from them. */
static int is_whole_energy(const clsi_noisy *k) {
    const clsi_unknowns *us = k->w->unknowns ? k->w->unknowns : k->all;
    for (size_t i = 0; i < us->n; i++)
        if (us->list[i].kind == CLSI_PART_FORMULA) return us->s->m > 0;
    return 0;
}

/* Polynomials end in nothing where a law is far from all of them (logarithms of four inputs): their first terms cannot
 * be simulated, or leave more than noise whatever is added, or follow it with too many. Then the terms of laws are
 * begun with, not arrived at. What explains longer windows stays, of equal ones what costs less. */
static cls_status find_by_laws(clsi_noisy *k, cls_status found) {
    int there = found == CLS_OK, begun = 0, better = 1;
    if (k->blind || (there && !is_whole_energy(k)) || (!there && found != CLS_NUMERIC) ||
        clsi_noisy_is_over(k))
        return found;
    clsi_noisy before;
    clsi_noisy_kept kept = {0};
    double cost = INFINITY, other = INFINITY;
    size_t rows = there ? k->recipe.window : 0;
    clsi_text notes = k->recipe.notes; /* of what is given up are no news */
    cls_status status = there ? clsi_noisy_remember(k, &kept) : CLS_OK;
    if (status == CLS_OK && there) status = cost_of(k, &cost);
    if (status == CLS_OK) status = clsi_noisy_begin_laws(k, &before, &begun);
    if (status != CLS_OK || !begun) {
        clsi_noisy_forget(&kept);
        return status == CLS_OK ? found : status;
    }
    clsi_noisy_kept shortest = k->shortest; /* it is of other terms */
    k->shortest = (clsi_noisy_kept){0};
    k->implicit = 0;
    k->longest = 0;
    k->steps_stay = 0;
    k->recipe.notes = (clsi_text){0};
    clsi_text_printf(&k->recipe.notes, "%s: begun in the terms that laws are written in\n",
                     there ? "nothing of the energy is known"
                           : "polynomials could not be simulated");
    status = start(k);
    if (status == CLS_OK) status = find_terms(k);
    if (status == CLS_OK) status = choose_anew(k);
    if (status == CLS_OK && there) status = cost_of(k, &other);
    if (there)
        better =
            status == CLS_OK && (k->recipe.window != rows ? k->recipe.window > rows : other < cost);
    if (!better && status != CLS_MEMORY && status != CLS_INTERRUPTED) {
        clsi_noisy_swap(k, &before);
        status = clsi_noisy_return(k, &kept, rows, 1);
        clsi_noisy_forget(&k->shortest);
        k->shortest = shortest;
        clsi_text_clear(&k->recipe.notes);
        k->recipe.notes = notes;
    } else {
        clsi_noisy_forget(&shortest);
        clsi_text_clear(&notes);
    }
    clsi_noisy_free_dictionary(&before);
    clsi_noisy_forget(&kept);
    return status;
}

/* Other terms than polynomials may explain longer windows, which these could not. */
static cls_status grow_further(clsi_noisy *k) {
    size_t most = clsi_recipe_longest(k->multiple), rows = k->recipe.window, began = rows;
    clsi_noisy_kept before = {0};
    cls_status status = CLS_OK;
    while (status == CLS_OK && rows < most && !clsi_noisy_is_over(k)) {
        size_t next = 5 * rows / 2 < most ? 5 * rows / 2 : most;
        status = clsi_noisy_remember(k, &before);
        if (status == CLS_OK) status = clsi_noisy_fit(k, next, 0);
        if (status != CLS_MEMORY && (status != CLS_OK || is_misfit(k))) {
            status = clsi_noisy_return(k, &before, rows, 1);
            break;
        }
        rows = next;
    }
    clsi_noisy_forget(&before);
    if (status != CLS_OK || rows == began) return status;
    k->misfit = rows < most;
    clsi_text_printf(&k->recipe.notes, "with these terms windows of %zu rows are explained\n",
                     rows);
    return clsi_noisy_last(k);
}

static cls_status finish(clsi_noisy *k) {
    clsi_learner *w = k->w;
    cls_learn_info *info = w->info;
    info->parameters = w->unknowns->n_theta + k->Q;
    info->samples = k->multiple->n_pieces;
    info->loss_initial = info->loss_validation = NAN;
    info->condition = 0;
    info->loss_final = sqrt(2 * k->recipe.loss / (double)(k->data->n_training * k->data->ny));
    info->iterations = k->recipe.iterations;
    info->nullity = (size_t)k->unseen;
    info->rank = w->unknowns->n_theta + k->Q - info->nullity;
    info->kkt = 0;
    strcpy(info->optimizer, "lm");
    snprintf(info->ended, sizeof info->ended, "%s",
             k->recipe.ended ? k->recipe.ended : "converged");
    k->report->window = k->recipe.window;
    k->report->notes = k->recipe.notes.length ? clsi_text_take(&k->recipe.notes) : clsi_strdup("");
    return k->report->notes ? CLS_OK : clsi_no_memory(w->error);
}

/* Rows that were kept back for the scores are data as well. */
static cls_status use_all_rows(clsi_noisy *k) {
    int kept = 0;
    if (k->w->o->test >= 0 || k->w->o->n_test) return CLS_OK;
    for (size_t s = 0; s < k->data->n_segments; s++) {
        clsi_segment *g = &k->data->segment[s];
        kept |= g->train < g->end - g->first;
        k->data->n_training += g->end - g->first - g->train;
        g->train = g->end - g->first;
    }
    return kept ? clsi_noisy_last(k) : CLS_OK;
}

/* Beside what knows nothing: the same system without the unknown parts, the parameters as in the file. */
static cls_status score(clsi_noisy *k) {
    clsi_learner *w = k->w;
    size_t n = w->unknowns->n_theta;
    int possible = 1; /* without its energy there is no system */
    for (size_t i = 0; i < w->unknowns->n; i++)
        possible &= w->unknowns->list[i].kind != CLSI_PART_FORMULA;
    double *before = clsi_calloc(n + k->Q + 1, sizeof *before);
    if (!before) return clsi_no_memory(w->error);
    for (size_t q = 0; q < k->Q; q++) before[n + q] = w->open->value[q];
    cls_status status = clsi_score(k->multiple, w->theta, possible ? before : NULL, k->report,
                                   &k->recipe.notes, w->error);
    free(before);
    return status;
}

static cls_status report_parameters(clsi_noisy *k, const double *errors) {
    size_t n = k->w->unknowns->n_theta;
    cls_learn_report *r = k->report;
    for (size_t q = 0; q < k->Q; q++) {
        double v = k->w->theta[n + q], low = k->w->open->low[q], high = k->w->open->high[q];
        r->parameters[q] = (cls_learned_parameter){.name = clsi_strdup(k->w->open->name[q]),
                                                   .value = v,
                                                   .error = errors[n + q],
                                                   .low = low,
                                                   .high = high,
                                                   .scatter = NAN,
                                                   .at_bound = v <= low || v >= high};
        if (!r->parameters[r->n_parameters++].name) return clsi_no_memory(k->w->error);
    }
    return CLS_OK;
}

/* Everything unknown: the mean mass is one from here on, and nothing is in doubt along the multiples
 * of all coefficients: C becomes D C D^T with D = 1 - theta m^T/(m.theta), m the row of the mass. */
static cls_status fix_scale(clsi_noisy *k, size_t n, double *C, double *errors, int *unseen) {
    clsi_learner *w = k->w;
    size_t P = w->unknowns->n_theta;
    double *row = clsi_calloc(2 * n + 1, sizeof *row), *along = row + n, pv, vv, sum = 0, both = 0;
    if (!row) return clsi_no_memory(w->error);
    cls_status status = clsi_residual_scale(w->residual, w->theta, 0, row, &pv, &vv);
    for (size_t i = 0; i < P; i++) sum += row[i] * w->theta[i];
    if (status == CLS_OK && *unseen == 1 && isfinite(1 / sum)) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < P; j++) along[i] += C[i * n + j] * row[j] / sum;
        for (size_t i = 0; i < P; i++) both += row[i] * along[i] / sum;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double a = i < P ? w->theta[i] : 0, b = j < P ? w->theta[j] : 0;
                C[i * n + j] += a * b * both - a * along[j] - b * along[i];
            }
        for (size_t i = 0; i < n; i++) errors[i] = sqrt(fmax(C[i * n + i], 0));
        *unseen = 0;
    }
    free(row);
    w->residual->scale_free = 1;
    clsi_text_printf(&k->recipe.notes, "a multiple of energy and forces moves the same way, which "
                                       "no data can tell: the mean mass was set to 1\n");
    return status == CLS_OK ? clsi_learner_rescale(w) : status;
}

/* Standard errors of parameters, and of the functions over the range of the data. */
static cls_status doubt(clsi_noisy *k) {
    size_t n = k->w->unknowns->n_theta + k->Q;
    int unseen = 0;
    double *errors = clsi_calloc(n * n + n + 1, sizeof *errors), *covariance = errors + n;
    cls_status status =
        errors ? clsi_doubt(k->multiple, k->w->theta, errors, covariance, &unseen, k->w->error)
               : clsi_no_memory(k->w->error);
    if (status == CLS_OK && k->w->info->normalised)
        status = fix_scale(k, n, covariance, errors, &unseen);
    if (status == CLS_OK) status = report_parameters(k, errors);
    clsi_dropped dropped = {0};
    if (status == CLS_OK && !k->w->info->normalised && !clsi_noisy_is_over(k))
        status = clsi_noisy_dropped(k, &dropped);
    if (status == CLS_NUMERIC) status = CLS_OK; /* other terms cannot be simulated here */
    if (status == CLS_OK)
        status = clsi_learner_bands(k->w, n, covariance, errors, &dropped, k->report, k->w->error);
    free(dropped.direction);
    k->unseen = unseen;
    if (status == CLS_OK && n <= MOST_SPREAD) k->w->spread = clsi_json_matrix(n, n, covariance);
    free(errors);
    return status;
}

/* Rows kept back that lie outside of those learned from ask what no row has told. */
static void note_beyond(clsi_noisy *k) {
    const clsi_recording *d = k->data;
    const double CLEARLY = 0.1; /* of what was learned from */
    size_t worst = 0;
    double most = CLEARLY, bounds[2] = {0, 0}, there = 0;
    for (size_t c = 0; c < d->ny; c++) {
        double low = INFINITY, high = -INFINITY, least = INFINITY, top = -INFINITY;
        for (size_t s = 0; s < d->n_segments; s++)
            for (size_t i = d->segment[s].first; i < d->segment[s].end; i++) {
                double y = d->y[i * d->ny + c];
                if (!isfinite(y)) continue;
                if (i < d->segment[s].first + d->segment[s].train)
                    low = fmin(low, y), high = fmax(high, y);
                else
                    least = fmin(least, y), top = fmax(top, y);
            }
        double beyond = fmax(top - high, low - least) / (high - low);
        if (!(beyond > most) || d->channel[c].angle) continue;
        most = beyond;
        worst = c;
        bounds[0] = low, bounds[1] = high;
        there = top - high > low - least ? top : least;
    }
    if (most > CLEARLY)
        clsi_text_printf(&k->recipe.notes,
                         "rows kept back go beyond those learned from: %s reaches %.4g, there it "
                         "is %.4g to %.4g; what is scored there is extrapolated\n",
                         d->channel[worst].name, there, bounds[0], bounds[1]);
}

/* The model as it will be written, along every motion. */
static cls_status run_to_ends(clsi_noisy *k) {
    clsi_learner *w = k->w;
    cls_system *s = NULL;
    cls_status status = clsi_learner_build(w, w->theta, &s, w->error);
    if (status == CLS_OK) {
        clsi_runs r = {
            .s = s, .hold = w->o->hold, .hurry = clsi_noisy_is_over, .context = k, .info = w->info};
        status = clsi_runs_of_recording(k->multiple, w->theta, &r);
        cls_simulator_free(&r.sim);
    }
    cls_system_free(&s);
    if (status == CLS_INTERRUPTED) status = CLS_OK; /* the runs so far */
    if (w->info->runs_stopped) k->report->better = 0;
    return status == CLS_MEMORY ? clsi_no_memory(w->error) : status;
}

/* Values that stand alone are missing from here on: a window that begins with one may end in another valley. */
static cls_status hide_wild(clsi_noisy *k) {
    size_t n = k->data->n * k->data->ny;
    double *list = clsi_calloc(2 * n + 1, sizeof *list);
    unsigned char *wild = clsi_calloc(n + 1, 1);
    size_t alone = list && wild ? clsi_wild_hide(k->data, wild, list, list + n) : 0;
    if (alone) clsi_wild_tell(alone, n, "left out", &k->recipe.notes);
    free(list);
    free(wild);
    return list && wild ? CLS_OK : clsi_no_memory(k->w->error);
}

static cls_status run(clsi_noisy *k, const cls_table *const *tables, const char *const *names) {
    clsi_learner *w = k->w;
    k->blind = clsi_learner_is_recorded(w) && !w->points->rule.between;
    k->Q = w->open ? w->open->n : 0;
    cls_status status = clsi_noisy_record(k, tables, names);
    k->field = w->points->rule.between && clsi_noisy_unsaid(k);
    k->driven = w->points->rule.between && !k->field;
    if (status == CLS_OK) status = hide_wild(k);
    if (status == CLS_OK)
        status =
            clsi_report_create(k->data, w->o, k->Q, clsi_noisy_explain(k), &k->report, w->error);
    if (status == CLS_OK && clsi_noisy_lacks(w->points))
        status = clsi_points_complete(w->system, w->set, w->o, k->data, w->points, w->error);
    if (status == CLS_OK) status = clsi_noisy_dictionary(k);
    if (status != CLS_OK || k->declined) return status;
    w->taken = "multiple-shooting";
    clsi_loss_curve_clear(&w->curve);
    k->recipe.curve = &w->curve;
    status = begin(k);
    if (status && status != CLS_MEMORY && k->still) /* heat that only they have */
        status = begin_moving(k);
    if (status == CLS_OK) status = find_all_terms(k);
    status = find_by_laws(k, status);
    if (status == CLS_OK && !k->specs) status = clsi_noisy_prefer(k);
    if (status == CLS_OK && k->misfit && k->specs) status = grow_further(k);
    if (status == CLS_OK) note_beyond(k);
    if (status == CLS_OK) status = score(k);
    if (status == CLS_OK && clsi_noisy_lacks(w->points))
        status = clsi_advise(k->multiple, w->theta, NULL, 0, &k->recipe.notes, w->error);
    if (status == CLS_OK) status = use_all_rows(k);
    if (status == CLS_OK) status = doubt(k);
    if (status == CLS_OK) status = run_to_ends(k);
    return status == CLS_OK ? finish(k) : status;
}

/* Nothing could be simulated, neither by explicit steps nor by the system's, nor with fewer terms. */
static void advise(const clsi_learner *w) {
    char why[sizeof w->error->message];
    if (!w->error) return;
    snprintf(why, sizeof why, "%s", w->error->message);
    (void)clsi_fail(
        w->error, CLS_NUMERIC,
        "%.600s, with any terms that were tried: say what the unknown parts depend on (`%s = "
        "unknown of ...`), give them a form (--field), %smeasure more columns",
        why, w->o->n_unknown ? w->o->unknown[0] : "part V",
        w->points && w->points->rule.between ? "take --loss residual, or " : "or ");
}

cls_status clsi_learner_fit_noisy(clsi_learner *w, size_t n_tables, const cls_table *const *tables,
                                  const char *const *names, int *taken) {
    clsi_noisy k = {.w = w, .n_tables = n_tables};
    if (w->o->time_limit > 0) k.until = clsi_now() + w->o->time_limit;
    cls_status status = run(&k, tables, names);
    if (status == CLS_NUMERIC) advise(w);
    *taken = status == CLS_OK && !k.declined;
    if (*taken && (w->o->test > 0 || w->o->n_test)) w->split = clsi_recording_split(k.data);
    if (*taken)
        w->info->report = k.report;
    else
        cls_learn_report_free(&k.report);
    clsi_text_clear(&k.recipe.notes);
    free(k.recipe.inflation);
    clsi_multiple_free(&k.multiple);
    clsi_multiple_free(&k.whole);
    cls_system_free(&k.open);
    cls_system_free(&k.whole_open);
    cls_system_free(&k.built);
    clsi_noisy_free_library(&k);
    clsi_noisy_forget(&k.shortest);
    clsi_unknowns_free(&k.all);
    clsi_recording_free(&k.data);
    for (size_t i = 0; k.tables && i < n_tables; i++) cls_table_free(&k.tables[i]);
    for (size_t i = 0; k.columns && i < n_tables; i++) free(k.columns[i]);
    free(k.tables);
    free(k.columns);
    free(k.keep);
    free(k.part);
    free(k.noise);
    free(k.full);
    return status;
}
