/* Noisy data: which sums of terms with constants inside (shapes.c) a fit in polynomials looks like.
 *
 * The quadratic model of the fit over its whole dictionary, the other parts' terms eliminated, is |A theta - y|^2
 * after a change of coordinates, with a column of A for every function (shape_search.c).
 *
 * Two things spoil such a picture. A law is no polynomial: what the degrees there are leave out of it is more than
 * noise, and the search would take wrong terms, which follow the polynomials, for the right ones. So the model is
 * made, about the same fit, over functions of the library itself that span the others. And where no polynomial follows
 * the longest windows, their fit is no picture of the law at all: that of the shortest windows is, which see little
 * at a time and are explained by little. */
#include "base/base.h"
#include "learn/noise/shapes.h"
#include "learn/unknown/unknown.h"
#include "solve/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 500, MOST_WIDE = 150, WAVES = 12 };
static const double SEEN = 1e-11;
static const double STRAINED = 1.1; /* times what the shortest windows leave: more than noise */

/* ---- what the fit in polynomials looks like ---- */

/* Eliminates coefficient o from M (n, n). */
static void eliminate(size_t n, double *M, size_t o) {
    double own = M[o * n + o];
    for (size_t i = 0; i < n; i++) {
        double b = M[i * n + o] / own;
        if (i == o || b == 0) continue;
        for (size_t j = 0; j < n; j++)
            if (j != o) M[i * n + j] -= b * M[o * n + j];
    }
}

/* S and S theta - g of the coefficients at[m] of a part, those of other parts' terms free. */
static cls_status reduce(clsi_noisy *k, size_t part, size_t m, const size_t *at, const double *S,
                         const double *g, double *A, double *b) {
    size_t P = k->P + k->Q, n = P + 1;
    double *M = clsi_calloc(n * n, sizeof *M);
    if (!M) return clsi_no_memory(k->w->error);
    for (size_t i = 0; i < P; i++) {
        double sum = -g[i];
        for (size_t j = 0; j < P; j++) {
            M[i * n + j] = S[i * P + j];
            sum += S[i * P + j] * k->full[j];
        }
        M[i * n + P] = M[P * n + i] = sum;
    }
    for (size_t o = 0; o < P; o++)
        if (k->keep[o] && k->part[o] != part && M[o * n + o] > 1e-7 * S[o * P + o])
            eliminate(n, M, o);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) A[i * m + j] = M[at[i] * n + at[j]];
        b[i] = M[at[i] * n + P];
    }
    free(M);
    return CLS_OK;
}

/* Points that the polynomials are scaled by, at most MOST_POINTS, over all places of a function; their number. */
static size_t take_points(const clsi_noisy *k, size_t i, size_t *at) {
    const clsi_unknown *from = &k->all->list[i];
    size_t points = k->w->points->n, group = clsi_group_end(k->all, i) - i, n = 0;
    size_t d = from->learned.d, stride = group * points / MOST_POINTS + 1;
    for (size_t s = 0; s < group * points && n < MOST_POINTS; s += stride) {
        const double *u = from[s / points].x + s % points * d;
        int inside = 1;
        for (size_t e = 0; e < d; e++) inside &= fabs(u[e]) <= 1;
        if (inside) at[n++] = s;
    }
    return n;
}

/* Inputs x (n, d) of part i in the dictionary of k at these points. */
static void take_inputs(const clsi_noisy *k, size_t i, size_t n, const size_t *at, double *x) {
    size_t points = k->w->points->n, d = k->all->list[i].learned.d;
    for (size_t s = 0; s < n; s++)
        memcpy(x + s * d, k->all->list[i + at[s] / points].x + at[s] % points * d, d * sizeof *x);
}

/* Values of the terms at[m] at inputs x (n, d), and a constant behind them, F (n, m + 1). */
static cls_status take_values(const clsi_noisy *k, size_t i, size_t n, const double *x, size_t m,
                              const size_t *at, double *F) {
    const clsi_learned *l = &k->all->list[i].learned;
    double *row = clsi_calloc(l->field->n_parameters + 1, sizeof *row), one = 1;
    int fine = row != NULL;
    for (size_t s = 0; s < n && row; s++) {
        memset(row, 0, l->field->n_parameters * sizeof *row);
        l->field->kind->rows(l->field, NULL, 1, x + s * l->d, &one, NULL, 0, row, NULL);
        for (size_t e = 0; e < m; e++) F[s * (m + 1) + e] = row[at[e] - l->offset];
        F[s * (m + 1) + m] = 1;
        for (size_t e = 0; e < m; e++) fine &= isfinite(F[s * (m + 1) + e]);
    }
    free(row);
    return fine ? CLS_OK : row ? CLS_NUMERIC : clsi_no_memory(k->w->error);
}

/* W: from values at the points to coefficients, by least squares with a constant beside
 * energies, and from there to coordinates in which the quadratic model is a sum of squares; the span of the
 * terms at the points, if that is asked for. */
static cls_status make_target(const clsi_noisy *k, size_t i, size_t m, const double *F, double *A,
                              const double *b, clsi_shape_target *t) {
    size_t all = m + (size_t)clsi_lacks_constant(k->all, &k->all->list[i]), n = t->n;
    double *N = clsi_calloc(2 * all * all + all + 2 * m * m + m + all * n + 1, sizeof *N);
    if (!N) return clsi_no_memory(k->w->error);
    double *V = N + all * all, *value = V + all * all, *U = value + all, *own = U + m * m;
    double *C = own + m, *back = C + m * m;
    for (size_t s = 0; s < n; s++)
        for (size_t e = 0; e < all; e++)
            clsi_vector_add(all, F[s * (m + 1) + e], F + s * (m + 1), N + e * all);
    clsi_symmetric_eigen(all, N, value, V);
    for (size_t v = 0; v < all; v++) /* the inverse times F^T, row by row */
        for (size_t s = 0; s < n && value[v] > SEEN * value[all - 1]; s++) {
            double along = clsi_vector_dot(all, V + v * all, F + s * (m + 1)) / value[v];
            for (size_t e = 0; e < m; e++) back[e * n + s] += along * V[v * all + e];
            if (t->span) t->span[t->n_span * n + s] = along * sqrt(value[v]);
            if (t->span && s == n - 1) t->n_span++;
        }
    memcpy(C, A, m * m * sizeof *C);
    clsi_symmetric_eigen(m, C, own, U);
    t->m = 0;
    for (size_t v = 0; v < m; v++) {
        if (!(own[v] > SEEN * own[m - 1])) continue;
        double root = sqrt(own[v]), *row = t->W + t->m * n;
        memset(row, 0, n * sizeof *row);
        for (size_t e = 0; e < m; e++) clsi_vector_add(n, root * U[v * m + e], back + e * n, row);
        t->y[t->m++] = clsi_vector_dot(m, U + v * m, b) / root;
    }
    free(N);
    return CLS_OK;
}

/* ---- pictures ---- */

/* The place of term e of part i of `from` in the polynomials `to`, which have it too; SIZE_MAX: they do not. */
static size_t find_term(const clsi_unknowns *from, const clsi_unknowns *to, size_t i, size_t e) {
    const clsi_learned *a = &from->list[i].learned, *b = &to->list[i].learned;
    const unsigned char *powers = clsi_field_powers(a->field, e);
    if (!strcmp(a->field->spec, b->field->spec)) return b->offset + e;
    for (size_t f = 0; f < b->field->n_parameters && powers && a->d == b->d; f++) {
        const unsigned char *other = clsi_field_powers(b->field, f);
        if (other && !memcmp(other, powers, a->d)) return b->offset + f;
    }
    return SIZE_MAX;
}

/* The coefficients of k in a dictionary that has all of its terms; CLS_NUMERIC: it has not. */
static cls_status embed(const clsi_noisy *k, clsi_noisy *to) {
    memset(to->keep, 0, to->P);
    for (size_t i = 0; i < k->all->n; i = clsi_group_end(k->all, i)) {
        const clsi_learned *l = &k->all->list[i].learned;
        to->all->list[i].learned.floor = l->floor;
        to->all->list[i].learned.scale = l->scale;
        for (size_t e = 0; e < l->field->n_parameters; e++) {
            size_t at = find_term(k->all, to->all, i, e);
            if (at == SIZE_MAX) return CLS_NUMERIC;
            to->keep[at] = k->keep[l->offset + e];
            to->full[at] = k->full[l->offset + e];
        }
    }
    for (size_t q = 0; q < k->Q; q++) to->full[to->P + q] = k->full[k->P + q];
    clsi_unknowns_share(to->all);
    return CLS_OK;
}

/* The same fit among polynomials of higher degrees. */
static cls_status make_wide(const clsi_noisy *k, clsi_noisy *picture) {
    size_t parts = 0;
    for (size_t i = 0; i < k->all->n; i = clsi_group_end(k->all, i)) parts++;
    picture->wide = MOST_WIDE / parts;
    cls_status status = clsi_noisy_room(picture, k->all->choices.halved);
    if (status == CLS_OK) picture->still = k->still;
    return status == CLS_OK ? embed(k, picture) : status;
}

/* The same fit, but for what turning changes: waves of the squared distance r over twice its range, which are to
 * smooth functions on the half of it what polynomials are, and finite everywhere. CLS_NUMERIC: there is no distance. */
static cls_status make_round(const clsi_noisy *k, size_t i, clsi_noisy *picture) {
    clsi_learner *w = k->w;
    const clsi_shapes *s = k->library[i];
    const clsi_shape_base *b = s->base;
    clsi_text t = {0};
    size_t p = 0;
    while (b < s->base + s->n_bases && !b->squared) b++;
    if (b == s->base + s->n_bases || !(b->high > b->low)) return CLS_NUMERIC;
    picture->specs = clsi_noisy_specs(w, w->error);
    if (!picture->specs) return CLS_MEMORY;
    clsi_text_append(&t, "terms(");
    for (size_t e = 1; e <= WAVES; e++) {
        double rate = (double)e * 3.14159265358979 / 2 / (b->high - b->low);
        clsi_text_printf(&t, "%scos(%.9g*(%s)); sin(%.9g*(%s))", e > 1 ? "; " : "", rate, b->text,
                         rate, b->text);
    }
    clsi_text_append(&t, ")");
    while (strcmp(w->o->unknown[p], k->all->list[i].learned.part) != 0) p++;
    picture->specs[p] = clsi_text_take(&t);
    if (!picture->specs[p]) return clsi_no_memory(w->error);
    cls_status status = clsi_noisy_room(picture, k->all->choices.halved);
    if (status == CLS_OK) picture->still &= k->still;
    return status == CLS_OK ? clsi_noisy_translate(picture, k) : status;
}

/* What a picture says of part i, as a sum of squares. */
static cls_status take_target(clsi_noisy *p, size_t i, size_t m, const size_t *at, const double *F,
                              clsi_shape_target *t) {
    size_t P = p->P + p->Q;
    double *S = clsi_calloc(P * P + P + m * (m + 2) + 1, sizeof *S), *g = S + P * P;
    double *A = g + P, *b = A + m * m;
    cls_status status = S ? clsi_noisy_quadratic(p, S, g) : clsi_no_memory(p->w->error);
    if (status == CLS_OK) status = reduce(p, i, m, at, S, g, A, b);
    if (status == CLS_OK) status = make_target(p, i, m, F, A, b, t);
    t->rows += (double)clsi_multiple_values(p->multiple);
    free(S);
    return status;
}

/* The sums that part i looks like in a picture; x (n, d): inputs of the library at the points. */
static cls_status search(clsi_noisy *k, clsi_noisy *picture, size_t i, int turned, size_t n,
                         const size_t *points, double *x, clsi_shape_set *found, size_t *count) {
    const clsi_learned *l = &picture->all->list[i].learned;
    size_t all = l->field->n_parameters, m = 0;
    size_t *at = clsi_calloc(all + 1, sizeof *at);
    double *F = clsi_calloc(n * (2 * all + 2 + l->d) + all * (n + 1) + 1, sizeof *F);
    double *y = F + n * (all + 1), *own = y + all * (n + 1), *span = own + n * l->d;
    clsi_shape_target t = {.n = n, .y = y, .W = y + all, .x = x, .span = turned ? span : NULL};
    cls_status status = at && F ? CLS_OK : clsi_no_memory(k->w->error);
    for (size_t e = 0; e < all && status == CLS_OK; e++)
        if (!(picture->still && picture->barred[l->offset + e])) at[m++] = l->offset + e;
    if (status == CLS_OK) {
        take_inputs(picture, i, n, points, own);
        status = take_values(picture, i, n, own, m, at, F);
    }
    if (status == CLS_OK && n > m) status = take_target(picture, i, m, at, F, &t);
    if (status == CLS_OK && t.m)
        status = clsi_shapes_search(k->library[i], &t, found, count, k->w->error);
    for (size_t s = 0; s < *count; s++)
        for (size_t e = 0; e < found[s].n; e++) found[s].theta[e] *= l->scale;
    free(at);
    free(F);
    return status;
}

/* Of part i: its library, and the sums that it looks like, by one picture or the other. */
static cls_status look_at(clsi_noisy *k, const clsi_noisy *named, size_t i, int turned,
                          clsi_shape_set *found, size_t *count) {
    size_t d = named->all->list[i].learned.d, points[MOST_POINTS], n = take_points(k, i, points);
    double *x = clsi_calloc(n * d + 1, sizeof *x);
    clsi_noisy picture = clsi_noisy_beside(k);
    cls_status status = x ? CLS_OK : clsi_no_memory(k->w->error);
    if (status == CLS_OK) take_inputs(named, i, n, points, x);
    if (status == CLS_OK && !k->library[i])
        status = clsi_shapes_create(k->all, named->all, i, k->w->points, k->still, n, x,
                                    &k->library[i], k->w->error);
    if (status == CLS_OK && k->library[i])
        status = turned ? make_round(k, i, &picture) : make_wide(k, &picture);
    if (status == CLS_OK && k->library[i])
        status = search(k, &picture, i, turned, n, points, x, found, count);
    clsi_noisy_free_dictionary(&picture);
    free(x);
    return status;
}

cls_status clsi_noisy_look(clsi_noisy *k, const clsi_noisy *named, int turned,
                           clsi_shape_set *found, size_t *count) {
    cls_status status = CLS_OK;
    if (!k->library) k->library = clsi_calloc(k->all->n + 1, sizeof *k->library);
    if (!k->library) return clsi_no_memory(k->w->error);
    for (size_t i = 0; i < k->all->n && status != CLS_MEMORY; i = clsi_group_end(k->all, i))
        if (named->all->list[i].natural && !clsi_noisy_is_over(k))
            status = look_at(k, named, i, turned, found + i * CLSI_SHAPE_SETS, &count[i]);
    return status == CLS_MEMORY ? status : CLS_OK; /* nothing is found then */
}

/* ---- the shortest windows ---- */

int clsi_noisy_is_strained(const clsi_noisy *k) {
    const clsi_noisy_kept *s = &k->shortest;
    if (!s->n || s->P != k->P + k->Q) return 0;
    if (k->misfit) return 1; /* longer windows than these were not explained */
    if (k->multiple->n_pieces >= s->n) return 0;
    for (size_t c = 0; c < k->data->ny; c++)
        if (k->multiple->sigma[c] > STRAINED * s->full[s->P + c]) return 1;
    return 0;
}

cls_status clsi_noisy_look_short(clsi_noisy *k, const clsi_noisy *named, int turned,
                                 clsi_shape_set *found, size_t *count) {
    const clsi_noisy_kept *s = &k->shortest;
    clsi_multiple windows = *k->multiple, *m = k->multiple;
    clsi_noisy before = *k;
    m->n_pieces = s->n;
    m->piece = s->piece;
    m->x = s->x;
    m->x_guess = s->x + s->n * m->nz;
    m->sigma = s->full + s->P;
    m->cut = s->keep + s->P;
    k->keep = s->keep;
    k->full = s->full;
    cls_status status = clsi_noisy_look(k, named, turned, found, count);
    k->shortest.piece = m->piece; /* they go to another problem and back */
    k->shortest.x = m->x;
    *m = windows;
    k->keep = before.keep;
    k->full = before.full;
    return status;
}
