/* The dictionary of terms of a fit to noisy data: those that are kept as a problem, and the choice of
 * others by what one evaluation over all of them says (terms.c). */
#include "base/base.h"
#include "learn/noise/noisy.h"
#include "learn/noise/terms.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HALVES = 10, MOST_TERMS = 150, MOST_LOCKED = 40 };

/* ---- the dictionary ---- */

static cls_status make_unknowns(clsi_noisy *k, size_t halved, clsi_unknowns **out) {
    const clsi_learner *w = k->w;
    clsi_choices choices = {.halved = halved, .wide = k->wide, .natural = k->specs};
    cls_status status =
        clsi_unknowns_create_small(w->system, w->set, w->o, w->points, &choices, out, w->error);
    if (status == CLS_OK && w->open) {
        (*out)->n_open = w->open->n;
        (*out)->open = w->open->name;
    }
    return status == CLS_OK ? clsi_terms_calm(*out, w->points, w->error) : status;
}

void clsi_noisy_begin(clsi_noisy *k, int energy, int other, size_t together) {
    clsi_terms_low(k->all, energy, other, together, k->keep);
    for (size_t p = 0; p < k->P; p++) k->keep[p] &= !(k->still && k->barred[p]);
}

/* For what is kept of k->all. */
static cls_status make_room(clsi_noisy *k) {
    size_t P = k->P = k->all->n_theta, all = P + k->Q;
    k->keep = clsi_calloc(4 * all + 1, 1);
    k->part = clsi_calloc(all + 1, sizeof *k->part);
    k->full = clsi_calloc(5 * all + 1, sizeof *k->full);
    if (!k->keep || !k->part || !k->full) return clsi_no_memory(k->w->error);
    k->locked = k->keep + all;
    k->vague = k->locked + all;
    k->barred = k->vague + all;
    k->low = k->full + all;
    k->high = k->low + all;
    k->own_low = k->high + all;
    k->own_high = k->own_low + all;
    for (size_t p = 0; p < P; p++) k->low[p] = -INFINITY, k->high[p] = INFINITY;
    for (size_t q = 0; q < k->Q; q++) {
        k->low[P + q] = k->w->open->low[q];
        k->high[P + q] = k->w->open->high[q];
        k->full[P + q] = k->w->open->value[q];
        k->keep[P + q] = k->locked[P + q] = 1;
        k->part[P + q] = k->all->n + q;
    }
    for (size_t i = 0; i < k->all->n; i = clsi_group_end(k->all, i)) {
        const clsi_learned *l = &k->all->list[i].learned;
        for (size_t p = 0; p < l->field->n_parameters; p++) {
            k->part[l->offset + p] = i;
            k->locked[l->offset + p] = !clsi_terms_free(k->all, i);
            if (clsi_terms_positive(k->all, i)) k->low[l->offset + p] = 0;
        }
    }
    k->still = clsi_terms_still(k->all, k->barred) > 0;
    return CLS_OK;
}

cls_status clsi_noisy_room(clsi_noisy *k, size_t halved) {
    cls_status status = make_unknowns(k, halved, &k->all);
    return status == CLS_OK ? make_room(k) : status;
}

cls_status clsi_noisy_dictionary(clsi_noisy *k) {
    size_t halved = 0;
    k->noise = clsi_calloc(k->data->ny, sizeof *k->noise);
    if (!k->noise) return clsi_no_memory(k->w->error);
    for (size_t c = 0; c < k->data->ny; c++) k->noise[c] = INFINITY;
    cls_status status = make_unknowns(k, 0, &k->all);
    while (status == CLS_OK && k->all->chosen && k->all->n_theta > MOST_TERMS &&
           halved < MOST_HALVES) { /* half of the limit may be the same degree */
        clsi_unknowns_free(&k->all);
        status = make_unknowns(k, ++halved, &k->all);
    }
    if (status == CLS_OK) status = make_room(k);
    if (status != CLS_OK) return status;
    clsi_noisy_begin(k, 2, 1, SIZE_MAX);
    size_t locked = 0, P = k->P;
    for (size_t p = 0; p < P; p++) locked += k->locked[p];
    k->declined = !k->blind && !k->driven && !k->w->o->loss && !clsi_noisy_lacks(k->w->points) &&
                  (locked > MOST_LOCKED || P > MOST_TERMS);
    return CLS_OK;
}

/* Room for the coefficients of the learner's unknowns and for the parameters. */
static cls_status prepare(clsi_noisy *k) {
    clsi_learner *w = k->w;
    size_t n = w->unknowns->n_theta;
    if (!k->blind) return clsi_learner_prepare(w);
    if (!(w->theta = clsi_calloc(n + k->Q + 1, sizeof *w->theta))) return clsi_no_memory(w->error);
    memset(k->vague, 0, n);
    for (size_t q = 0; q < k->Q; q++) k->vague[n + q] = w->open->vague[q];
    return CLS_OK;
}

/* The system's text has the parameters as they are now. */
static void put_parameters(const clsi_noisy *k) {
    for (size_t q = 0; q < k->Q; q++)
        k->w->open->set_values[k->w->open->at + q] = k->full[k->P + q];
}

/* The learner's unknowns with the terms that are kept, and their coefficients. */
cls_status clsi_noisy_take_terms(clsi_noisy *k) {
    clsi_learner *w = k->w;
    clsi_learner_forget(w);
    put_parameters(k);
    cls_status status = make_unknowns(k, k->all->choices.halved, &w->unknowns);
    if (status == CLS_OK) status = clsi_terms_keep(w->unknowns, k->keep, w->error);
    if (status == CLS_OK) status = prepare(k);
    for (size_t i = 0; i < k->all->n && status == CLS_OK; i++) {
        w->unknowns->list[i].learned.floor = k->all->list[i].learned.floor;
        w->unknowns->list[i].learned.scale = k->all->list[i].learned.scale;
    }
    for (size_t p = 0, at = 0; p < k->P + k->Q && status == CLS_OK; p++) {
        if (!k->keep[p]) continue;
        k->own_low[at] = k->low[p];
        k->own_high[at] = k->high[p];
        w->theta[at++] = k->full[p];
    }
    return status;
}

/* The other way round. */
void clsi_noisy_spread_terms(clsi_noisy *k) {
    for (size_t p = 0, at = 0; p < k->P + k->Q; p++)
        k->full[p] = k->keep[p] ? k->w->theta[at++] : 0;
    put_parameters(k);
}

/* Floors and scales of what is positive by form go into the dictionary. */
void clsi_noisy_keep_forms(clsi_noisy *k) {
    for (size_t i = 0; i < k->all->n; i++) {
        k->all->list[i].learned.floor = k->w->unknowns->list[i].learned.floor;
        k->all->list[i].learned.scale = k->w->unknowns->list[i].learned.scale;
    }
}

/* ---- the kept terms as a problem ---- */

/* The data as simulations of the unknowns see them. */
static cls_status observe(clsi_noisy *k, const clsi_unknowns *us, cls_system **open,
                          clsi_multiple **out) {
    cls_node *theta = NULL;
    clsi_observer *observer = NULL;
    const char **channel = clsi_calloc(k->data->ny + 1, sizeof *channel);
    if (!channel) return clsi_no_memory(k->w->error);
    for (size_t c = 0; c < k->data->ny; c++) channel[c] = k->data->channel[c].name;
    cls_status status = clsi_unknowns_open(us, CLSI_FORMULAS, open, &theta, k->w->error);
    if (status == CLS_OK) status = clsi_noisy_observer(k, *open, us, theta, channel, &observer);
    int own = us != k->all;
    if (status == CLS_OK)
        status = clsi_multiple_create(k->data, k->built ? k->built : k->w->system, observer,
                                      own ? k->own_low : k->low, own ? k->own_high : k->high, out,
                                      k->w->error);
    if (status == CLS_OK) {
        (*out)->stop = clsi_noisy_is_over;
        (*out)->stop_owner = k;
    }
    free(channel);
    free(theta);
    return status;
}

/* Windows, starts, scales and cuts of one go to another of the same data. */
static void move_windows(clsi_multiple *from, clsi_multiple *to) {
    free(to->piece);
    free(to->x);
    to->n_pieces = from->n_pieces;
    to->piece = from->piece;
    to->x = from->x;
    to->x_guess = from->x_guess;
    from->piece = NULL, from->x = NULL, from->n_pieces = 0;
    memcpy(to->sigma, from->sigma, from->ny * sizeof *to->sigma);
    memcpy(to->cut, from->cut, from->data->n);
}

/* The learner's unknowns as a problem; windows stay as they are. */
cls_status clsi_noisy_set_up(clsi_noisy *k) {
    clsi_learner *w = k->w;
    cls_system *open = NULL, *built = NULL, *before = k->built;
    clsi_multiple *next = NULL;
    cls_status status = k->formed ? clsi_learner_build(w, w->theta, &built, w->error) : CLS_OK;
    if (status != CLS_OK) return status;
    k->built = built;
    status = observe(k, w->unknowns, &open, &next);
    if (status == CLS_OK && k->multiple) move_windows(k->multiple, next);
    if (next && w->info->normalised) next->n_scaled = w->unknowns->n_theta;
    clsi_multiple_free(&k->multiple);
    cls_system_free(&k->open);
    cls_system_free(&before);
    k->multiple = next;
    k->open = open;
    k->recipe.m = next;
    k->recipe.theta = w->theta;
    k->recipe.open = k->blind ? k->vague : NULL;
    return status;
}

/* ---- a fit as it was ---- */

cls_status clsi_noisy_remember(clsi_noisy *k, clsi_noisy_kept *out) {
    const clsi_multiple *m = k->multiple;
    size_t n = m->n_pieces, P = k->P + k->Q;
    clsi_noisy_forget(out);
    out->piece = clsi_calloc(n + 1, sizeof *out->piece);
    out->x = clsi_calloc(2 * n * m->nz + 1, sizeof *out->x);
    out->full = clsi_calloc(P + m->ny + 1, sizeof *out->full);
    out->keep = clsi_calloc(P + m->data->n + 1, 1);
    if (!out->piece || !out->x || !out->full || !out->keep) return clsi_no_memory(k->w->error);
    out->n = n;
    out->P = P;
    out->implicit = k->implicit;
    out->longest = k->longest;
    memcpy(out->piece, m->piece, n * sizeof *out->piece);
    memcpy(out->x, m->x, n * m->nz * sizeof *out->x);
    memcpy(out->x + n * m->nz, m->x_guess, n * m->nz * sizeof *out->x);
    memcpy(out->full, k->full, P * sizeof *out->full);
    memcpy(out->full + P, m->sigma, m->ny * sizeof *out->full);
    memcpy(out->keep, k->keep, P);
    memcpy(out->keep + P, m->cut, m->data->n);
    return CLS_OK;
}

void clsi_noisy_forget(clsi_noisy_kept *kept) {
    free(kept->piece);
    free(kept->x);
    free(kept->full);
    free(kept->keep);
    *kept = (clsi_noisy_kept){0};
}

static cls_status put_windows(clsi_multiple *m, const clsi_noisy_kept *kept, cls_error *error) {
    size_t n = kept->n;
    clsi_piece *piece = clsi_calloc(n + 1, sizeof *piece);
    double *x = clsi_calloc(2 * n * m->nz + 1, sizeof *x);
    if (!piece || !x) {
        free(piece);
        free(x);
        return clsi_no_memory(error);
    }
    memcpy(piece, kept->piece, n * sizeof *piece);
    memcpy(x, kept->x, 2 * n * m->nz * sizeof *x);
    free(m->piece);
    free(m->x);
    m->n_pieces = n;
    m->piece = piece;
    m->x = x;
    m->x_guess = x + n * m->nz;
    memcpy(m->sigma, kept->full + kept->P, m->ny * sizeof *m->sigma);
    memcpy(m->cut, kept->keep + kept->P, m->data->n);
    return CLS_OK;
}

cls_status clsi_noisy_return(clsi_noisy *k, const clsi_noisy_kept *kept, size_t rows, int last) {
    if (k->implicit != kept->implicit || k->longest < kept->longest || k->longest > kept->longest) {
        k->implicit = kept->implicit;
        k->longest = kept->longest;
        clsi_multiple_free(&k->whole);
        cls_system_free(&k->whole_open);
    }
    memcpy(k->keep, kept->keep, kept->P);
    memcpy(k->full, kept->full, kept->P * sizeof *k->full);
    cls_status status = clsi_noisy_take_terms(k);
    if (status == CLS_OK) status = clsi_noisy_set_up(k);
    if (status == CLS_OK) status = put_windows(k->multiple, kept, k->w->error);
    return status == CLS_OK ? clsi_noisy_fit(k, rows, last) : status;
}

/* ---- which terms ---- */

/* Its programs are made once: they are larger than those of the fit. */
cls_status clsi_noisy_inform(clsi_noisy *k, double *S, double *g, clsi_along *along) {
    clsi_arrow a;
    cls_status status = k->whole ? CLS_OK : observe(k, k->all, &k->whole_open, &k->whole);
    if (status != CLS_OK) return status;
    clsi_multiple *m = k->whole;
    m->system = NULL; /* no start is made here */
    move_windows(k->multiple, m);
    clsi_multiple_problem(m, 2, &a);
    clsi_arrow_scores scores = {.S = S, .g = g};
    status = clsi_arrow_information(&a, k->full, m->x, &scores, k->w->error);
    if (status == CLS_OK && along) status = clsi_doubt_along(m, k->full, along, k->w->error);
    move_windows(m, k->multiple);
    return status;
}

/* The same in units of the noise: longer windows leave misfit as well. */
static cls_status inform(clsi_noisy *k, double *S, double *g) {
    clsi_multiple *m = k->multiple;
    double *sigma = clsi_calloc(m->ny + 1, sizeof *sigma);
    if (!sigma) return clsi_no_memory(k->w->error);
    memcpy(sigma, m->sigma, m->ny * sizeof *sigma);
    for (size_t c = 0; c < m->ny; c++) m->sigma[c] = fmin(m->sigma[c], k->noise[c]);
    cls_status status = clsi_noisy_inform(k, S, g, NULL);
    memcpy(m->sigma, sigma, m->ny * sizeof *sigma);
    free(sigma);
    return status;
}

/* Where a multiple of everything moves the same way, no terms at all are as good as those there are:
 * the multiple is held where it is, as firmly as the data would know it beside one known part. */
static void hold_scale(const clsi_noisy *k, double *S) {
    size_t P = k->P + k->Q;
    double sum = 0;
    for (size_t i = 0; i < k->P; i++) sum += S[i * P + i] * k->full[i] * k->full[i];
    if (!(sum > 0) || !isfinite(sum)) return;
    double *row = clsi_calloc(k->P + 1, sizeof *row);
    for (size_t i = 0; row && i < k->P; i++) row[i] = S[i * P + i] * k->full[i] / sqrt(sum);
    for (size_t i = 0; row && i < k->P; i++)
        for (size_t j = 0; j < k->P; j++) S[i * P + j] += row[i] * row[j];
    free(row);
}

cls_status clsi_noisy_remembered(clsi_noisy *k, double *S, double *g, double *more) {
    size_t P = k->P + k->Q;
    double *unit = clsi_calloc(P * P + P + 1, sizeof *unit), *variance = unit + P * P;
    if (!unit) return clsi_no_memory(k->w->error);
    for (size_t i = 0; i < P; i++) unit[i * P + i] = 1;
    clsi_along along = {
        .n = P, .fitted = k->w->unknowns->n_theta + k->Q, .direction = unit, .variance = variance};
    cls_status status = clsi_noisy_inform(k, S, g, &along);
    for (size_t i = 0; i < P && status == CLS_OK; i++)
        more[i] = S[i * P + i] > 0 ? variance[i] / S[i * P + i] : 0;
    free(unit);
    return status;
}

cls_status clsi_noisy_quadratic(clsi_noisy *k, double *S, double *g) {
    cls_status status = inform(k, S, g);
    if (status == CLS_OK && k->w->info->normalised) hold_scale(k, S);
    return status;
}

cls_status clsi_noisy_choose(clsi_noisy *k, int move, int *changed) {
    size_t P = k->P + k->Q, moves = 0;
    double *S = clsi_calloc(P * P + 3 * P + 1, sizeof *S), *g = S + P * P, *found = g + P;
    double *price = found + P;
    unsigned char *keep = clsi_calloc(2 * P + P * P + 1, 1), *parent = keep + P;
    unsigned char *few = parent + P * P;
    cls_status status = S && keep ? CLS_OK : clsi_no_memory(k->w->error);
    if (status == CLS_OK) {
        clsi_noisy_prices(k, clsi_multiple_values(k->multiple), price);
        status = k->prune ? clsi_noisy_remembered(k, S, g, found) : clsi_noisy_quadratic(k, S, g);
    }
    /* what the residuals' memory makes more uncertain costs as much more */
    for (size_t p = 0; p < P && status == CLS_OK && k->prune; p++) price[p] *= fmax(found[p], 1);
    if (status == CLS_OK && k->prune && k->w->info->normalised) hold_scale(k, S);
    if (status == CLS_OK) {
        memcpy(keep, k->keep, P);
        for (size_t p = 0; p < k->P; p++)
            if (k->still && k->barred[p]) price[p] = INFINITY;
        clsi_terms_parents(k->all, P, parent);
        for (size_t i = 0; i < k->all->n; i = clsi_group_end(k->all, i))
            if (k->all->list[i].natural)
                memset(few + k->all->list[i].learned.offset, 1,
                       k->all->list[i].learned.field->n_parameters);
        clsi_terms_choice c = {.P = P,
                               .S = S,
                               .g = g,
                               .theta = k->full,
                               .part = k->part,
                               .locked = k->locked,
                               .price = price,
                               .parent = parent,
                               .few = k->n_shaped ? NULL : few};
        status = clsi_terms_choose(&c, keep, found, &moves, k->w->error);
    }
    *changed = status == CLS_OK && memcmp(keep, k->keep, P) != 0;
    if (*changed) memcpy(k->keep, keep, P);
    if (status == CLS_OK && move) memcpy(k->full, found, P * sizeof *found);
    free(S);
    free(keep);
    return status;
}
