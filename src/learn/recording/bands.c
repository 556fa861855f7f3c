/* How sure a learned function is: its value over the range of the data with standard errors, from the
 * covariance of its coefficients and from what terms that were left out may do (dropped.c). One curve for each
 * input, the others at their medians. A coefficient
 * that is positive by form is shown as it is used; of an energy only differences mean anything, so it is
 * shown relative to its value where all inputs have their medians. */
#include "base/base.h"
#include "learn/learner.h"
#include "learn/shooting/multiple.h"
#include "learn/unknown/unknown.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 21 };

/* Medians (d) of the scaled inputs. */
static cls_status find_middle(const clsi_unknown *u, size_t n, double *middle, cls_error *error) {
    size_t d = u->learned.d;
    double *list = clsi_calloc(n + 1, sizeof *list);
    if (!list) return clsi_no_memory(error);
    for (size_t k = 0; k < d; k++) {
        for (size_t i = 0; i < n; i++) list[i] = u->x[i * d + k];
        middle[k] = clsi_median(n, list);
    }
    free(list);
    return CLS_OK;
}

/* A part whose curve is made, and what may be missing in it. */
typedef struct curve {
    const clsi_learned *l;
    const double *theta, *C, *errors; /* of its coefficients; C (stride, stride) of all */
    size_t stride;
    const clsi_field *whole; /* NULL: nothing was left out */
    const double *direction; /* (n, step) along its coefficients */
    size_t n, step;
} curve;

/* The field at scaled inputs x, and its derivatives in the coefficients that it has, and behind them in those
 * that it might have had. */
static double value_at(const curve *c, const double *x, double *slope) {
    const clsi_learned *l = c->l;
    const clsi_field *f = l->field, *whole = c->whole;
    const double one = 1;
    size_t n = f->n_parameters, more = whole ? whole->n_parameters : 0;
    double phi;
    memset(slope, 0, (n + more) * sizeof *slope);
    f->kind->evaluate(f, c->theta, 1, x, &phi, NULL, NULL);
    f->kind->rows(f, c->theta, 1, x, &one, NULL, 0, slope, NULL);
    if (whole) whole->kind->rows(whole, NULL, 1, x, &one, NULL, 0, slope + n, NULL);
    return phi;
}

/* What is used of phi: positive by form. */
static double formed(const clsi_learned *l, double phi) {
    double u = l->scale * phi;
    if (l->square) return u * phi;
    if (l->exponential) return l->scale * exp(phi);
    return l->form != CLSI_MATRIX && l->floor > 0 ? (u + hypot(u, l->floor)) / 2 : u;
}

/* What an error of phi makes of it. What a form cut off, and by how much, is an error as well. */
static double formed_error(const clsi_learned *l, double phi, double error) {
    double u = l->scale * phi;
    if (!isfinite(error)) return error;
    if (l->square || l->exponential)
        return fabs(formed(l, phi + error) - formed(l, phi - error)) / 2;
    int cut = l->form != CLSI_MATRIX && l->floor > 0 && u < 0;
    return hypot(fabs(l->scale) * error, cut ? u : 0);
}

/* Where terms were chosen: functions that no terms say exactly, and the memory of noise as residuals show it (they
 * have less of it), make bands of single moves too narrow. Found with 400 recordings of other seeds than those
 * of tests/long/test_function_coverage.c, which judges it. */
static const double WIDER = 1.15;

/* sqrt(slope.C slope), INFINITY where a coefficient that counts is not known at all; with the squares of what
 * was left out. */
static double error_of(const curve *c, const double *slope) {
    size_t n = c->l->field->n_parameters;
    double sum = 0, size = 0;
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(slope[i]));
    for (size_t i = 0; i < n; i++) {
        if (isinf(c->errors[i]) && fabs(slope[i]) > 1e-3 * size) return INFINITY;
        for (size_t j = 0; j < n; j++) sum += slope[i] * c->C[i * c->stride + j] * slope[j];
    }
    for (size_t k = 0; k < c->n && c->whole; k++) {
        double moved = 0;
        for (size_t i = 0; i < c->whole->n_parameters; i++)
            moved += slope[n + i] * c->direction[k * c->step + i];
        sum += moved * moved;
    }
    return (c->whole ? WIDER : 1) * sqrt(fmax(sum, 0));
}

static cls_status add_curve(const curve *c, int relative, size_t k, const double *middle,
                            cls_learned_function *out, cls_error *error) {
    const clsi_learned *l = c->l;
    size_t n = l->field->n_parameters + (c->whole ? c->whole->n_parameters : 0);
    double x[CLSI_FIELD_MAX_INPUTS], *slope = clsi_calloc(2 * n + 1, sizeof *slope);
    out->part = clsi_strdup(l->part);
    out->input = clsi_strdup(l->input[k]);
    out->slot = l->slot;
    out->relative = relative;
    out->at = clsi_calloc(3 * PLACES, sizeof *out->at);
    if (!slope || !out->part || !out->input || !out->at) {
        free(slope);
        return clsi_no_memory(error);
    }
    out->n = PLACES;
    out->value = out->at + PLACES;
    out->error = out->value + PLACES;
    int scaled = l->center[k] != 0 || l->half[k] != 1; /* then -1 to 1 are the data */
    double low = scaled ? fmax(l->low[k], l->center[k] - l->half[k]) : l->low[k];
    double high = scaled ? fmin(l->high[k], l->center[k] + l->half[k]) : l->high[k];
    if (!(low <= high)) low = high = l->center[k]; /* no range is known */
    memcpy(x, middle, l->d * sizeof *x);
    out->middle = l->center[k] + l->half[k] * middle[k];
    double *from = slope + n, base = out->relative ? formed(l, value_at(c, x, from)) : 0;
    for (size_t i = 0; i < PLACES; i++) {
        out->at[i] = low + (high - low) * (double)i / (PLACES - 1);
        x[k] = (out->at[i] - l->center[k]) / l->half[k];
        double phi = value_at(c, x, slope);
        out->value[i] = formed(l, phi) - base;
        for (size_t j = 0; j < n && out->relative; j++) slope[j] -= from[j];
        out->error[i] = formed_error(l, phi, error_of(c, slope));
    }
    free(slope);
    return CLS_OK;
}

/* A curve that is the same everywhere says nothing, unless it is all there is. */
static int is_flat(const cls_learned_function *f) {
    double low = f->value[0], high = low;
    for (size_t i = 1; i < f->n; i++) low = fmin(low, f->value[i]), high = fmax(high, f->value[i]);
    return high - low <= 1e-9 * fmax(fabs(low), fabs(high));
}

static void drop_flat(cls_learn_report *r, size_t first) {
    size_t kept = first;
    for (size_t i = first; i < r->n_functions; i++) {
        int last = kept == first && i + 1 == r->n_functions;
        if (is_flat(&r->functions[i]) && !last)
            clsi_function_clear(&r->functions[i]);
        else
            r->functions[kept++] = r->functions[i];
    }
    r->n_functions = kept;
}

cls_status clsi_learner_bands(clsi_learner *w, size_t n, const double *covariance,
                              const double *errors, const clsi_dropped *dropped,
                              cls_learn_report *report, cls_error *error) {
    const clsi_unknowns *us = w->unknowns;
    size_t curves = 0;
    for (size_t i = 0; i < us->n; i++) curves += us->list[i].learned.d;
    report->functions = clsi_calloc(curves + 1, sizeof *report->functions);
    cls_status status = report->functions ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < us->n && status == CLS_OK; i++) {
        const clsi_unknown *u = &us->list[i];
        double middle[CLSI_FIELD_MAX_INPUTS];
        size_t at = u->learned.offset, first = report->n_functions;
        if (!u->learned.field->kind->linear || !u->x || u->again) continue; /* a function once */
        int relative = clsi_lacks_constant(us, u);
        curve c = {.l = &u->learned,
                   .theta = w->theta + at,
                   .C = covariance + at * n + at,
                   .errors = errors + at,
                   .stride = n};
        if (dropped && dropped->n) {
            const clsi_learned *whole = &dropped->all->list[i].learned;
            c.whole = whole->field;
            c.direction = dropped->direction + whole->offset;
            c.n = dropped->n;
            c.step = dropped->stride;
        }
        status = find_middle(u, w->points->n_data, middle, error);
        for (size_t k = 0; k < u->learned.d && status == CLS_OK; k++)
            status = add_curve(&c, relative, k, middle, &report->functions[report->n_functions++],
                               error);
        if (status == CLS_OK) drop_flat(report, first);
    }
    return status;
}
