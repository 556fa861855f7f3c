/* Noisy data: which of two dictionaries they prefer, polynomials or the terms of natural.c.
 *
 * The polynomial fit is there and follows the data. What it found is written in the other terms by least
 * squares over the data; about that point the information of the fit over the second dictionary tells which
 * of its terms would do (terms.c, from none on), they are fitted like the polynomials before them, and
 * Bayes' criterion, the sum of squares in units of the same noise and the price of the terms, decides
 * between the two fits. Where the other terms lose, cannot be simulated or cannot be told apart, the
 * polynomials stay: it costs about as much time as the fit before it. */
#include "base/base.h"
#include "learn/noise/shapes.h"
#include "learn/noise/terms.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OF_PART = 80, MOST_TERMS = 120, BLOCK = 64 };
static const double HUBER = 2, CLEAR = 1e-11; /* singular values below are what a fit cannot tell */

#define SWAP(type, a, b)                                                                           \
    do {                                                                                           \
        type swapped = (a);                                                                        \
        (a) = (b);                                                                                 \
        (b) = swapped;                                                                             \
    } while (0)

void clsi_noisy_swap(clsi_noisy *a, clsi_noisy *b) {
    SWAP(clsi_unknowns *, a->all, b->all);
    SWAP(size_t, a->P, b->P);
    SWAP(unsigned char *, a->keep, b->keep);
    SWAP(unsigned char *, a->locked, b->locked);
    SWAP(unsigned char *, a->barred, b->barred);
    SWAP(int, a->still, b->still);
    SWAP(unsigned char *, a->vague, b->vague);
    SWAP(size_t *, a->part, b->part);
    SWAP(double *, a->full, b->full);
    SWAP(double *, a->low, b->low);
    SWAP(double *, a->high, b->high);
    SWAP(double *, a->own_low, b->own_low);
    SWAP(double *, a->own_high, b->own_high);
    SWAP(clsi_multiple *, a->whole, b->whole);
    SWAP(cls_system *, a->whole_open, b->whole_open);
    SWAP(char **, a->specs, b->specs);
    SWAP(size_t, a->n_shaped, b->n_shaped);
    SWAP(struct clsi_shaped *, a->shaped, b->shaped);
}

void clsi_noisy_free_dictionary(clsi_noisy *k) {
    clsi_multiple_free(&k->whole);
    cls_system_free(&k->whole_open);
    clsi_unknowns_free(&k->all);
    free(k->keep);
    free(k->part);
    free(k->full);
    free(k->shaped);
}

clsi_noisy clsi_noisy_beside(const clsi_noisy *k) {
    clsi_noisy other = *k;
    other.all = NULL, other.keep = NULL, other.part = NULL, other.full = NULL;
    other.whole = NULL, other.whole_open = NULL, other.shaped = NULL, other.n_shaped = 0;
    return other;
}

char **clsi_noisy_specs(clsi_learner *w, cls_error *error) {
    char ***specs = clsi_realloc(w->specs, (w->n_specs + 1) * sizeof *specs);
    char **table = specs ? clsi_calloc(w->o->n_unknown + 1, sizeof *table) : NULL;
    if (specs) w->specs = specs;
    if (!table) (void)clsi_no_memory(error);
    if (table) w->specs[w->n_specs++] = table;
    return table;
}

/* ---- what is to be compared ---- */

/* Specs of the other dictionary, one for each part of the options; 0 in *any: there is nothing to gain, or
 * no other terms. Parts with fewer terms than `fewest` keep them. */
static cls_status find_specs(clsi_noisy *k, size_t fewest, char ***out, int *any) {
    clsi_learner *w = k->w;
    size_t left = MOST_TERMS;
    cls_status status = CLS_OK;
    *any = 0;
    char **specs = *out = clsi_noisy_specs(w, w->error);
    if (!specs) return CLS_MEMORY;
    for (size_t i = 0; i < k->all->n && status == CLS_OK; i = clsi_group_end(k->all, i)) {
        const clsi_learned *l = &k->all->list[i].learned;
        size_t part = 0, kept = 0, most = left < MOST_OF_PART ? left : MOST_OF_PART;
        while (strcmp(w->o->unknown[part], l->part) != 0) part++;
        for (size_t p = 0; p < l->field->n_parameters; p++) kept += k->keep[l->offset + p];
        if (kept < fewest || !clsi_terms_free(k->all, i) || specs[part]) continue;
        /* a friction on several momenta has many fields: they would be as many dictionaries */
        if (clsi_field_count(w->system, l->part, k->all->list[i].kind, NULL) > 1) continue;
        status = clsi_natural_terms(k->all, i, w->points, k->still, most, &specs[part], w->error);
        for (const char *c = specs[part]; c && *c && left; c++) left -= *c == ';';
        *any |= specs[part] != NULL;
    }
    return status;
}

cls_status clsi_noisy_describe(clsi_noisy *k, const double *sigma, double *cost, size_t *rows) {
    const clsi_multiple *m = k->multiple;
    double *list = clsi_calloc(m->data->n + k->P + 1, sizeof *list), *price = list + m->data->n;
    if (!list) return clsi_no_memory(k->w->error);
    *cost = INFINITY;
    *rows = 0;
    if (clsi_multiple_simulate(k->multiple, k->w->theta)) {
        *cost = 0;
        for (size_t c = 0; c < m->ny; c++) {
            size_t n = clsi_multiple_residuals(m, c, list, NULL);
            *rows += n;
            for (size_t i = 0; i < n; i++) {
                double r = fabs(list[i]) / sigma[c];
                *cost += r <= HUBER ? r * r : HUBER * (2 * r - HUBER);
            }
        }
        clsi_noisy_prices(k, *rows, price);
        for (size_t p = 0; p < k->P; p++)
            if (k->keep[p]) *cost += price[p];
    }
    free(list);
    return CLS_OK;
}

/* ---- the fit in other terms ---- */

/* Is the point inside of the range that the polynomials are scaled by? */
static int is_inside(const clsi_unknown *u, size_t s) {
    for (size_t k = 0; k < u->learned.d; k++)
        if (!(fabs(u->x[s * u->learned.d + k]) <= 1)) return 0;
    return 1;
}

/* What polynomial `from` with its coefficients is in the terms of `to`, over all its places; energies but
 * for a constant. */
static cls_status translate(const clsi_learner *w, const clsi_unknowns *before,
                            const clsi_unknowns *now, size_t i, const double *theta, double *out) {
    const clsi_unknown *from = &before->list[i], *to = &now->list[i];
    const clsi_field *f = from->learned.field, *g = to->learned.field;
    size_t n = g->n_parameters, all = n + 1, points = w->points->n, rows = 0;
    size_t group = clsi_group_end(before, i) - i;
    double *A = clsi_calloc(BLOCK * (all + 1) + all, sizeof *A), *b = A + BLOCK * all,
           *x = b + BLOCK, one = 1;
    clsi_lsq *q = NULL;
    clsi_lsq_info info;
    cls_status status =
        A ? clsi_lsq_create(all, 0, NULL, NULL, &q, w->error) : clsi_no_memory(w->error);
    for (size_t s = 0; s < group * points && status == CLS_OK; s++) {
        const clsi_unknown *u = from + s / points, *v = to + s / points;
        size_t at = s % points;
        if (is_inside(u, at)) {
            double *row = A + rows * all;
            memset(row, 0, all * sizeof *row);
            f->kind->evaluate(f, theta, 1, u->x + at * u->learned.d, b + rows, NULL, NULL);
            g->kind->rows(g, NULL, 1, v->x + at * v->learned.d, &one, NULL, 0, row, NULL);
            row[n] = 1;
            rows++;
        }
        if (rows == BLOCK || (s + 1 == group * points && rows)) {
            status = clsi_lsq_add(q, rows, A, b, w->error);
            rows = 0;
        }
    }
    if (status == CLS_OK)
        status = clsi_lsq_solve(q, CLEAR, 0, NULL, NULL, x, &info, NULL, w->error);
    for (size_t p = 0; p < n && status == CLS_OK; p++) out[p] = x[p] * from->learned.scale;
    clsi_lsq_free(&q);
    free(A);
    return status;
}

cls_status clsi_noisy_translate(clsi_noisy *k, const clsi_noisy *before) {
    cls_status status = CLS_OK;
    for (size_t i = 0; i < k->all->n && status == CLS_OK; i = clsi_group_end(k->all, i)) {
        clsi_learned *l = &k->all->list[i].learned, *old = &before->all->list[i].learned;
        l->floor = old->floor;
        if (k->all->list[i].natural) {
            status = translate(k->w, before->all, k->all, i, before->full + old->offset,
                               k->full + l->offset);
            continue;
        }
        l->scale = old->scale;
        memcpy(k->full + l->offset, before->full + old->offset,
               l->field->n_parameters * sizeof *k->full);
        memcpy(k->keep + l->offset, before->keep + old->offset, l->field->n_parameters);
    }
    memcpy(k->full + k->P, before->full + before->P, k->Q * sizeof *k->full);
    clsi_unknowns_share(k->all);
    return status;
}

/* Does every part have a term? */
static int is_whole(const clsi_noisy *k) {
    for (size_t i = 0; i < k->all->n; i = clsi_group_end(k->all, i)) {
        const clsi_learned *l = &k->all->list[i].learned;
        size_t kept = 0;
        for (size_t p = 0; p < l->field->n_parameters; p++) kept += k->keep[l->offset + p];
        if (!kept) return 0;
    }
    return 1;
}

/* From the fit `before` to one in the dictionary of k. CLS_NUMERIC: there is none. */
static cls_status fit_other(clsi_noisy *k, const clsi_noisy *before) {
    int changed;
    cls_status status = clsi_noisy_translate(k, before);
    if (status == CLS_OK) status = clsi_noisy_choose(k, 1, &changed);
    if (status == CLS_OK && !is_whole(k)) status = CLS_NUMERIC;
    if (status == CLS_OK) status = clsi_noisy_take_terms(k);
    if (status == CLS_OK) status = clsi_noisy_set_up(k);
    if (status == CLS_OK) status = clsi_noisy_settle(k, k->recipe.window);
    if (status == CLS_OK && !clsi_noisy_is_over(k)) status = clsi_noisy_prune(k, k->recipe.window);
    return status == CLS_OK ? clsi_noisy_fit(k, k->recipe.window, 1) : status;
}

static void tell(clsi_noisy *k, size_t polynomials) {
    size_t n = k->w->unknowns->n_theta;
    clsi_text_printf(&k->recipe.notes,
                     "%zu term%s in the place of %zu polynomials explain%s as much:", n,
                     n == 1 ? "" : "s", polynomials, n == 1 ? "s" : "");
    for (size_t i = 0; i < k->w->unknowns->n; i++) {
        const clsi_unknown *u = &k->w->unknowns->list[i];
        if (u->natural && !u->again)
            clsi_text_printf(&k->recipe.notes, " %s %s", u->learned.part, u->learned.field->spec);
    }
    clsi_text_append(&k->recipe.notes, "\n");
}

/* k has been fitted in another dictionary than `before`, or could not be: the one that costs less stays. */
static cls_status decide(clsi_noisy *k, clsi_noisy *before, cls_status fitted, clsi_contest *c,
                         int *taken) {
    double cost = INFINITY;
    size_t rows = 0;
    cls_status status = fitted == CLS_OK ? clsi_noisy_describe(k, c->sigma, &cost, &rows) : fitted;
    if (status != CLS_MEMORY && status != CLS_INTERRUPTED && status != CLS_OK)
        status = CLS_OK, cost = INFINITY; /* no values, or a start outside of a domain */
    *taken = status == CLS_OK && cost < c->cost && rows >= c->rows; /* windows may be cut short */
    if (*taken) {
        c->cost = cost, c->rows = rows;
        status = clsi_noisy_remember(k, &c->best);
    } else if (status == CLS_OK) {
        clsi_noisy_swap(k, before);
        status = clsi_noisy_return(k, &c->best, c->window, 1);
    }
    return status;
}

/* The terms of natural.c; `named` has their dictionary, and gets the one that is not taken. */
static cls_status prefer_natural(clsi_noisy *k, clsi_noisy *named, clsi_contest *c) {
    named->still &= k->still;
    clsi_noisy_swap(k, named); /* named has the polynomials */
    cls_status status = fit_other(k, named);
    int taken;
    return status == CLS_MEMORY ? status : decide(k, named, status, c, &taken);
}

/* Sums with constants inside, the best ones first, until one is taken. */
static cls_status prefer_shapes(clsi_noisy *k, const clsi_shape_set *found, const size_t *count,
                                clsi_contest *c, int *taken) {
    cls_status status = CLS_OK;
    for (size_t which = 0;
         which < CLSI_SHAPE_SETS && status == CLS_OK && !*taken && !clsi_noisy_is_over(k);
         which++) {
        clsi_noisy other = clsi_noisy_beside(k);
        int swapped = 0;
        status = clsi_noisy_shape(k, &other, found, count, which, c, &swapped);
        if (status != CLS_MEMORY && swapped)
            status = decide(k, &other, status, c, taken);
        else if (status != CLS_MEMORY)
            status = CLS_OK; /* there is none, or it is not finite at the data */
        clsi_noisy_free_dictionary(&other);
    }
    return status;
}

cls_status clsi_noisy_prefer(clsi_noisy *k) {
    clsi_learner *w = k->w;
    clsi_noisy other = clsi_noisy_beside(k);
    size_t parts = k->all->n, polynomials = w->unknowns->n_theta;
    clsi_contest c = {.cost = INFINITY, .window = k->recipe.window};
    int any = 0, taken = 0;
    clsi_shape_set *found = clsi_calloc(2 * parts * CLSI_SHAPE_SETS + 1, sizeof *found);
    clsi_shape_set *first = found ? found + parts * CLSI_SHAPE_SETS : NULL;
    size_t *count = clsi_calloc(2 * parts + 1, sizeof *count);
    c.sigma = clsi_calloc(k->data->ny + 1, sizeof *c.sigma);
    cls_status status =
        c.sigma && found && count ? find_specs(k, 2, &other.specs, &any) : clsi_no_memory(w->error);
    if (status == CLS_OK && any && !clsi_noisy_is_over(k)) {
        memcpy(c.sigma, k->multiple->sigma, k->data->ny * sizeof *c.sigma);
        status = clsi_noisy_describe(k, c.sigma, &c.cost, &c.rows);
        if (status == CLS_OK) status = clsi_noisy_remember(k, &c.best);
        if (status == CLS_OK) status = clsi_noisy_room(&other, k->all->choices.halved);
        if (status == CLS_OK) status = clsi_noisy_look(k, &other, 0, found, count);
        if (status == CLS_OK && clsi_noisy_is_strained(k) && !clsi_noisy_is_over(k))
            status = clsi_noisy_look_short(k, &other, 1, first, count + parts);
        if (status == CLS_OK && !clsi_noisy_is_over(k)) status = prefer_natural(k, &other, &c);
        if (status == CLS_OK) status = prefer_shapes(k, found, count, &c, &taken);
        taken = 0; /* by the shortest windows there may be better ones */
        if (status == CLS_OK) status = prefer_shapes(k, first, count + parts, &c, &taken);
        if (status != CLS_MEMORY && status != CLS_INTERRUPTED)
            status = CLS_OK; /* a term that is not finite at the data */
        if (status == CLS_OK && k->specs) tell(k, polynomials);
        if (status == CLS_OK && w->error) w->error->message[0] = '\0'; /* an answer, no mistake */
        clsi_noisy_free_dictionary(&other);
    }
    clsi_noisy_forget(&c.best);
    free(found);
    free(count);
    free(c.sigma);
    return status;
}

/* ---- where polynomials end in nothing ---- */

/* Terms that everything begins with, their coefficients zero. */
static void begin_first(clsi_noisy *k) {
    clsi_terms_low(k->all, 2, 0, 1, k->keep);
    for (size_t i = 0; i < k->all->n; i = clsi_group_end(k->all, i))
        if (k->all->list[i].natural)
            clsi_natural_first(k->all, i, k->w->points, k->still,
                               k->keep + k->all->list[i].learned.offset);
    memset(k->full, 0, k->P * sizeof *k->full);
}

cls_status clsi_noisy_begin_laws(clsi_noisy *k, clsi_noisy *before, int *begun) {
    clsi_learner *w = k->w;
    int any = 0, energies = 0;
    *begun = 0;
    *before = clsi_noisy_beside(k);
    cls_status status = find_specs(k, 0, &before->specs, &any);
    if (status == CLS_OK && any) status = clsi_noisy_room(before, k->all->choices.halved);
    for (size_t i = 0; any && status == CLS_OK && i < before->all->n; i++)
        energies += before->all->list[i].natural && clsi_is_energy(&before->all->list[i]);
    if (status != CLS_OK || !energies) {
        clsi_noisy_free_dictionary(before);
        return status;
    }
    before->still &= k->still;
    clsi_noisy_swap(k, before);
    begin_first(k);
    clsi_multiple_free(&k->whole);
    cls_system_free(&k->whole_open);
    if (k->multiple) k->multiple->n_pieces = 0; /* starts from the data */
    for (size_t c = 0; c < k->data->ny; c++) k->noise[c] = INFINITY;
    if (w->error) w->error->message[0] = '\0';
    *begun = 1;
    return CLS_OK;
}
