/* Noisy data: fits in terms with constants inside (shapes.c).
 *
 * Which ones: noisy_look.c says.
 *
 * Their constants: a term g(x; c) stands in the dictionary with its derivatives dg/dc beside it, all of them linear. A fit
 * of both moves c by the ratio of their coefficients (Gauss and Newton's step for c, the coefficients being
 * free: variable projection), until it does not move; then the derivatives go. What is left is a formula with
 * numbers, like any other. At the end the information over terms and derivatives says how sure the constants
 * are, and how far the functions may be off because of them. */
#include "base/base.h"
#include "learn/noise/shapes.h"
#include "learn/noise/terms.h"
#include "solve/kernels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 6 };
static const double SEEN = 1e-11, STILL = 1e-5, NEAR = 8, HOPE = 20;

void clsi_noisy_free_library(clsi_noisy *k) {
    for (size_t i = 0; k->library && i < k->all->n; i++) clsi_shapes_free(&k->library[i]);
    free(k->library);
    free(k->shaped);
}

/* ---- a fit ---- */

/* "terms(g; h; dg/dc; dh/dc)". */
static char *write_spec(const clsi_shapes *s, const clsi_shape_set *set) {
    clsi_text t = {0};
    clsi_text_append(&t, "terms(");
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t e = 0; e < set->n; e++)
            for (size_t c = 0; c < (pass ? set->term[e].n_constants : 1); c++) {
                char *text = clsi_shape_text(s, &set->term[e], pass ? c : SIZE_MAX);
                clsi_text_printf(&t, "%s%s", pass || e ? "; " : "", text ? text : "");
                cls_text_free(&text);
            }
    clsi_text_append(&t, ")");
    return clsi_text_take(&t);
}

/* The dictionary of these sums, empty otherwise; `next` gets it, with the coefficients that k has for other parts. */
static cls_status make_dictionary(clsi_noisy *k, size_t n, const clsi_shaped *list,
                                  clsi_noisy *next) {
    clsi_learner *w = k->w;
    next->specs = clsi_noisy_specs(w, w->error);
    next->shaped = clsi_calloc(n + 1, sizeof *next->shaped);
    if (!next->specs || !next->shaped) return clsi_no_memory(w->error);
    memcpy(next->shaped, list, n * sizeof *list);
    next->n_shaped = n;
    for (size_t p = 0; p < w->o->n_unknown && k->specs; p++)
        if (k->specs[p] && !(next->specs[p] = clsi_strdup(k->specs[p])))
            return clsi_no_memory(w->error);
    for (size_t s = 0; s < n; s++) {
        size_t p = 0;
        while (strcmp(w->o->unknown[p], k->all->list[list[s].i].learned.part) != 0) p++;
        free(next->specs[p]);
        next->specs[p] = write_spec(k->library[list[s].i], &list[s].set);
        if (!next->specs[p]) return clsi_no_memory(w->error);
    }
    cls_status status = clsi_noisy_room(next, k->all->choices.halved);
    if (status != CLS_OK) return status;
    next->still &= k->still;
    for (size_t i = 0; i < next->all->n; i = clsi_group_end(next->all, i)) {
        clsi_learned *l = &next->all->list[i].learned;
        const clsi_learned *old = &k->all->list[i].learned;
        size_t s = 0;
        while (s < n && list[s].i != i) s++;
        l->floor = old->floor;
        if (s < n) {
            memcpy(next->full + l->offset, list[s].set.theta, list[s].set.n * sizeof *next->full);
            memset(next->keep + l->offset, 1, list[s].set.n);
            continue;
        }
        l->scale = old->scale;
        memcpy(next->full + l->offset, k->full + old->offset,
               l->field->n_parameters * sizeof *next->full);
        memcpy(next->keep + l->offset, k->keep + old->offset, l->field->n_parameters);
    }
    memcpy(next->full + next->P, k->full + k->P, k->Q * sizeof *next->full);
    clsi_unknowns_share(next->all);
    return CLS_OK;
}

static cls_status begin(clsi_noisy *k) {
    cls_status status = clsi_noisy_take_terms(k);
    return status == CLS_OK ? clsi_noisy_set_up(k) : status;
}

/* The place of the derivatives of term e among the coefficients. */
static size_t derivative_at(const clsi_noisy *k, const clsi_shaped *s, size_t e) {
    size_t at = k->all->list[s->i].learned.offset + s->set.n;
    for (size_t j = 0; j < e; j++) at += s->set.term[j].n_constants;
    return at;
}

/* Are derivatives fitted beside their terms? */
static void keep_derivatives(clsi_noisy *k, int keep) {
    for (size_t i = 0; i < k->n_shaped; i++) {
        const clsi_shaped *s = &k->shaped[i];
        size_t first = derivative_at(k, s, 0), last = derivative_at(k, s, s->set.n);
        memset(k->keep + first, keep, last - first);
        for (size_t e = 0; e < s->set.n; e++) /* of a term that went */
            for (size_t c = 0; c < s->set.term[e].n_constants; c++)
                k->keep[derivative_at(k, s, e) + c] &= k->keep[first - s->set.n + e];
    }
}

/* Ten digits are far more than noise leaves; a formula with them can be read. */
static double brief(double c) {
    char text[32];
    snprintf(text, sizeof text, "%.10g", c);
    return strtod(text, NULL);
}

/* Constants move by what the fit says; the largest move, in units of their size. */
static double move_constants(clsi_noisy *k) {
    static const double FARTHEST = 0.5;
    double most = 0;
    for (size_t i = 0; i < k->n_shaped; i++) {
        clsi_shaped *s = &k->shaped[i];
        size_t first = k->all->list[s->i].learned.offset;
        for (size_t e = 0; e < s->set.n; e++) {
            clsi_shape *term = &s->set.term[e];
            double theta = s->set.theta[e] = k->full[first + e];
            for (size_t c = 0; c < term->n_constants && theta != 0; c++) {
                double size = fmax(fabs(term->c[c]), 1e-3 * (term->high[c] - term->low[c]));
                double by = k->full[derivative_at(k, s, e) + c] / theta;
                by = fmin(fmax(by, -FARTHEST * size), FARTHEST * size);
                double to = fmin(fmax(term->c[c] + by, term->low[c]), term->high[c]);
                most = fmax(most, fabs(to - term->c[c]) / size);
                term->c[c] = brief(to);
            }
        }
    }
    return most;
}

/* The dictionary anew, after constants or terms of k->shaped changed. */
static cls_status rebuild(clsi_noisy *k) {
    clsi_noisy next = clsi_noisy_beside(k);
    cls_status status = make_dictionary(k, k->n_shaped, k->shaped, &next);
    if (status == CLS_OK) clsi_noisy_swap(k, &next);
    clsi_noisy_free_dictionary(&next);
    return status;
}

/* With derivatives it is nearly as good as it will be: is that far from what there is? */
static int is_hopeless(clsi_noisy *k, const clsi_contest *c) {
    double cost;
    size_t rows;
    return clsi_noisy_describe(k, c->sigma, &cost, &rows) != CLS_OK || !(cost < c->cost + HOPE);
}

/* Constants and coefficients until they stay; c: not where that is not worth it, NULL: in any case. */
static cls_status settle(clsi_noisy *k, const clsi_contest *c) {
    cls_status status = CLS_OK;
    size_t window = k->recipe.window, constants = 0;
    for (size_t i = 0; i < k->n_shaped; i++)
        constants += derivative_at(k, &k->shaped[i], k->shaped[i].set.n) -
                     derivative_at(k, &k->shaped[i], 0);
    double moved = constants ? INFINITY : 0;
    for (size_t step = 0;
         step < STEPS && moved > STILL && status == CLS_OK && !clsi_noisy_is_over(k); step++) {
        keep_derivatives(k, 1);
        status = begin(k);
        if (status == CLS_OK) status = clsi_noisy_fit(k, window, 0);
        keep_derivatives(k, 0);
        if (status == CLS_OK && c && is_hopeless(k, c)) status = CLS_NUMERIC;
        if (status != CLS_OK) break;
        moved = move_constants(k);
        status = rebuild(k);
    }
    if (status == CLS_OK) status = begin(k);
    return status == CLS_OK ? clsi_noisy_fit(k, window, 1) : status;
}

cls_status clsi_noisy_last(clsi_noisy *k) {
    return k->n_shaped ? settle(k, NULL) : clsi_noisy_fit(k, k->recipe.window, 1);
}

/* ---- what it costs, and how sure it is ---- */

void clsi_noisy_prices(const clsi_noisy *k, size_t rows, double *price) {
    clsi_terms_prices(k->all, rows, price);
    for (size_t i = 0; i < k->n_shaped; i++) {
        const clsi_shaped *s = &k->shaped[i];
        size_t first = k->all->list[s->i].learned.offset, last = derivative_at(k, s, s->set.n);
        for (size_t e = 0; e < s->set.n; e++)
            price[first + e] = clsi_shape_price(&s->set.term[e], (double)rows);
        for (size_t p = first + s->set.n; p < last; p++) price[p] = INFINITY;
    }
}

/* Coefficients that are fitted, and behind them the derivatives of their terms: at (n of all); their number. */
static size_t list_columns(clsi_noisy *k, size_t *at, size_t *all) {
    size_t n = 0;
    for (size_t p = 0; p < k->P + k->Q; p++)
        if (k->keep[p]) at[n++] = p;
    *all = n;
    keep_derivatives(k, 1);
    for (size_t i = 0; i < k->n_shaped; i++)
        for (size_t p = derivative_at(k, &k->shaped[i], 0);
             p < derivative_at(k, &k->shaped[i], k->shaped[i].set.n); p++)
            if (k->keep[p]) at[(*all)++] = p;
    keep_derivatives(k, 0);
    return n;
}

static void tell(clsi_noisy *k, const double *error_at) {
    for (size_t i = 0; i < k->n_shaped; i++) {
        const clsi_shaped *s = &k->shaped[i];
        const clsi_learned *l = &k->all->list[s->i].learned;
        for (size_t e = 0; e < s->set.n; e++)
            for (size_t c = 0; c < s->set.term[e].n_constants && k->keep[l->offset + e]; c++) {
                double error = error_at[derivative_at(k, s, e) + c] / fabs(k->full[l->offset + e]);
                char *text = clsi_shape_text(k->library[s->i], &s->set.term[e], SIZE_MAX);
                clsi_text_printf(&k->recipe.notes,
                                 "%s: the constant %.5g in %s is known to +- %.2g\n", l->part,
                                 s->set.term[e].c[c], text ? text : "", error);
                cls_text_free(&text);
            }
    }
}

/* The covariance of everything is that of the coefficients with the constants known, which the bands have
 * already, and [C_kt; C_tt] C_tt^-1 [C_tk C_tt], k coefficients, t derivatives: its roots are the directions. */
static cls_status add_directions(clsi_noisy *k, size_t n, size_t all, const size_t *at,
                                 const double *C, double memory, clsi_dropped *out) {
    size_t P = k->P + k->Q, t = all - n;
    double *more = clsi_realloc(out->direction, (out->n + t) * P * sizeof *more + 1);
    double *T = clsi_calloc(2 * t * t + t + 1, sizeof *T), *V = T + t * t, *value = V + t * t;
    if (more) out->direction = more;
    if (!more || !T) {
        free(T);
        return clsi_no_memory(k->w->error);
    }
    out->stride = P;
    out->all = k->all;
    for (size_t i = 0; i < t; i++)
        for (size_t j = 0; j < t; j++) T[i * t + j] = C[(n + i) * all + n + j];
    clsi_symmetric_eigen(t, T, value, V);
    for (size_t v = 0; v < t; v++) {
        double *to = out->direction + out->n * P;
        memset(to, 0, P * sizeof *to);
        if (!(value[v] > 0)) continue;
        for (size_t i = 0; i < all; i++)
            to[at[i]] = clsi_vector_dot(t, C + i * all + n, V + v * t) * sqrt(memory / value[v]);
        out->n++;
    }
    free(T);
    return CLS_OK;
}

/* Covariance C (all, all) of the columns at[all], n coefficients and derivatives behind them, and the errors
 * (P + Q) of the latter, by the information S. */
static cls_status find_errors(clsi_noisy *k, const double *S, double memory, size_t *at, size_t *n,
                              size_t *all, double *C, double *error_at) {
    size_t P = k->P + k->Q;
    double *M = clsi_calloc(P * P + 1, sizeof *M);
    unsigned char *open = clsi_calloc(P + 1, 1);
    cls_status status = M && open ? CLS_OK : clsi_no_memory(k->w->error);
    *n = list_columns(k, at, all);
    for (size_t i = 0; i < *all && M; i++)
        for (size_t j = 0; j < *all; j++) M[i * *all + j] = S[at[i] * P + at[j]];
    if (status == CLS_OK && clsi_seen_inverse(*all, M, SEEN, C, open) < 0)
        status = clsi_no_memory(k->w->error);
    for (size_t i = *n; i < *all && status == CLS_OK; i++)
        error_at[at[i]] = open[i] ? INFINITY : sqrt(memory * fmax(C[i * *all + i], 0));
    free(M);
    free(open);
    return status;
}

cls_status clsi_noisy_constants(clsi_noisy *k, const double *S, double memory, clsi_dropped *out) {
    size_t P = k->P + k->Q, n = 0, all = 0;
    if (!k->n_shaped) return CLS_OK;
    size_t *at = clsi_calloc(2 * P + 1, sizeof *at);
    double *C = clsi_calloc(P * P + P + 1, sizeof *C), *error_at = C + P * P;
    cls_status status = at && C ? find_errors(k, S, memory, at, &n, &all, C, error_at)
                                : clsi_no_memory(k->w->error);
    if (status == CLS_OK && all > n) status = add_directions(k, n, all, at, C, memory, out);
    if (status == CLS_OK) tell(k, error_at);
    free(at);
    free(C);
    return status;
}

/* ---- fits that are tried ---- */

/* What the last fit left, for a dictionary that is made anew. */
static void keep_coefficients(clsi_noisy *k) {
    for (size_t i = 0; i < k->n_shaped; i++)
        memcpy(k->shaped[i].set.theta, k->full + k->all->list[k->shaped[i].i].learned.offset,
               k->shaped[i].set.n * sizeof *k->full);
}

/* Takes out the term whose constant is known least, if that is less than its own size: no law has such a one.
 * *gone: there was one. */
static cls_status drop_vague(clsi_noisy *k, int *gone) {
    size_t P = k->P + k->Q, n = 0, all = 0, part = 0, which = SIZE_MAX;
    size_t *at = clsi_calloc(2 * P + 1, sizeof *at);
    double *S = clsi_calloc(2 * P * P + 2 * P + 1, sizeof *S), most = 1;
    double *C = S + P * P, *g = C + P * P, *error_at = g + P;
    cls_status status = at && S ? clsi_noisy_inform(k, S, g, NULL) : clsi_no_memory(k->w->error);
    if (status == CLS_OK) status = find_errors(k, S, 1, at, &n, &all, C, error_at);
    for (size_t i = 0; i < k->n_shaped && status == CLS_OK; i++) {
        const clsi_shaped *s = &k->shaped[i];
        for (size_t e = 0; e < s->set.n; e++)
            for (size_t c = 0; c < s->set.term[e].n_constants; c++) {
                double theta = k->full[k->all->list[s->i].learned.offset + e];
                double share =
                    error_at[derivative_at(k, s, e) + c] / fabs(theta * s->set.term[e].c[c]);
                if (!(share <= most)) most = share, part = i, which = e;
            }
    }
    *gone = which != SIZE_MAX;
    if (*gone && k->shaped[part].set.n < 2) status = CLS_NUMERIC;
    if (*gone && status == CLS_OK) {
        clsi_shape_set *set = &k->shaped[part].set;
        set->n--;
        for (size_t e = which; e < set->n; e++) {
            set->term[e] = set->term[e + 1];
            set->theta[e] = set->theta[e + 1];
        }
        status = rebuild(k);
    }
    free(at);
    free(S);
    return status;
}

/* Terms of any part that explain less than they cost beside these: what polynomials had needed elsewhere goes with
 * them. *gone: there were some. */
static cls_status drop_idle(clsi_noisy *k, int *gone) {
    cls_status status = clsi_noisy_choose(k, 0, gone);
    if (status != CLS_OK || !*gone) return status;
    for (size_t i = 0; i < k->n_shaped; i++) {
        clsi_shape_set *set = &k->shaped[i].set;
        const unsigned char *keep = k->keep + k->all->list[k->shaped[i].i].learned.offset;
        size_t n = 0;
        for (size_t e = 0; e < set->n; e++) {
            if (!keep[e]) continue;
            set->term[n] = set->term[e];
            set->theta[n++] = set->theta[e];
        }
        set->n = n;
    }
    return rebuild(k);
}

cls_status clsi_noisy_shape(clsi_noisy *k, clsi_noisy *other, const clsi_shape_set *found,
                            const size_t *count, size_t which, const clsi_contest *c,
                            int *swapped) {
    size_t n = 0;
    clsi_shaped *list = clsi_calloc(k->all->n + 1, sizeof *list);
    if (!list) return clsi_no_memory(k->w->error);
    for (size_t i = 0; i < k->all->n; i++) {
        const clsi_shape_set *set = found + i * CLSI_SHAPE_SETS;
        if (count[i] > which && (which == 0 || set[which].cost < set->cost + NEAR))
            list[n++] = (clsi_shaped){i, set[which]};
    }
    cls_status status = n ? make_dictionary(k, n, list, other) : CLS_OK;
    if (status == CLS_OK && n) {
        clsi_noisy_swap(k, other);
        *swapped = 1;
        for (int gone = 1, idle = 1; gone && status == CLS_OK;) {
            status = settle(k, c);
            keep_coefficients(k);
            if (status == CLS_OK) status = drop_vague(k, &gone);
            if (status == CLS_OK && !gone && idle) status = drop_idle(k, &gone), idle = 0;
        }
    }
    free(list);
    return status;
}
