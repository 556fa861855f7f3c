/* What an unknown part is a function of, and the field that it gets: as the file or the caller says,
 * else what its kind needs and about as many terms as data can tell. */
#include "base/base.h"
#include "base/locale.h"
#include "learn/unknown/unknown.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cls_status clsi_too_many_inputs(const clsi_learned *l, cls_error *error) {
    return clsi_fail(
        error, CLS_USAGE,
        "'%s' would be a function of more than %d variables; say which ones count, as "
        "in `part U of x, y = unknown` or `coefficient d of v.x = unknown`, or write a "
        "formula with unknown parameters",
        l->part, (int)CLSI_FIELD_MAX_INPUTS);
}

cls_status clsi_add_input(clsi_learned *l, cls_error *error, const char *format, ...) {
    char text[256];
    va_list args;
    if (l->d == CLSI_FIELD_MAX_INPUTS) return clsi_too_many_inputs(l, error);
    va_start(args, format);
    int n = clsi_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text)
        return clsi_fail(error, CLS_USAGE, "the names in the inputs of '%s' are too long", l->part);
    l->input[l->d] = clsi_strdup(text);
    return l->input[l->d++] ? CLS_OK : clsi_no_memory(error);
}

/* "a; b" as the file declares it. */
static cls_status declared_inputs(clsi_unknown *u, int raw, cls_error *error) {
    if (raw && !u->natural) /* those are made of what is declared */
        return clsi_fail(error, CLS_USAGE,
                         "'%s': terms(...) name the variables they are made of, so that `of` says "
                         "nothing; leave it out, or take chebyshev, monomial or network",
                         u->learned.part);
    for (const char *at = u->of; *at;) {
        clsi_learned *l = &u->learned;
        size_t length = strcspn(at, ";");
        if (l->d == CLSI_FIELD_MAX_INPUTS) return clsi_too_many_inputs(l, error);
        if (!(l->input[l->d] = clsi_strndup(at, length))) return clsi_no_memory(error);
        l->d++;
        at += length + strspn(at + length, "; ");
    }
    return CLS_OK;
}

/* Of a function: its arguments. */
static cls_status argument_inputs(const cls_system *s, clsi_learned *l, cls_error *error) {
    const clsi_function *f = &s->functions[s->uses[l->use - 1].function];
    cls_status status = CLS_OK;
    for (size_t k = 0; k < f->n && status == CLS_OK; k++)
        status = clsi_add_input(l, error, "%s", f->argument[k]);
    return status;
}

/* "a; x - y": is one of them more than a name? */
static int has_formula(const char *of) {
    for (const char *c = of; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.'; []", *c)) return 1; /* T[3] is a name */
    return 0;
}

static int is_named(const char *spec, const char *name) {
    size_t n = strlen(name);
    for (const char *at = spec; (at = strstr(at, name)); at += n) {
        char before = at > spec ? at[-1] : ' ', behind = at[n];
        if (!isalnum((unsigned char)before) && !strchr("_.", before) &&
            !isalnum((unsigned char)behind) && !strchr("_['", behind))
            return 1;
    }
    return 0;
}

/* Of terms in a system of many variables: those that the terms are made of; of none, as in terms(1), any one, for a
 * field has an input. */
static cls_status inputs_of_terms(const cls_system *s, clsi_unknown *u, cls_error *error) {
    const cls_node *const lists[] = {s->q, s->formalism == CLS_HAMILTONIAN ? s->p : s->v,
                                     s->formalism == CLS_THERMAL_LAGRANGIAN ? s->T : s->S};
    const size_t sizes[] = {s->nq, s->n, s->m};
    const char *first = NULL;
    cls_status status = CLS_OK;
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < sizes[k] && status == CLS_OK; i++) {
            const char *name = cls_node_name(s->g, lists[k][i]);
            if (!first) first = name;
            if (is_named(u->spec, name)) status = clsi_add_input(&u->learned, error, "%s", name);
        }
    if (status == CLS_OK && !u->learned.d && first)
        status = clsi_add_input(&u->learned, error, "%s", first);
    return status;
}

/* Observables (q, v, log T) for a thermal lagrangian; (q, p, S) for a hamiltonian, where a named
 * part is a potential and has no momenta. For fields that name their inputs: the variables as they
 * are. */
cls_status clsi_choose_inputs(const cls_system *s, clsi_unknown *u, const clsi_points *points,
                              int raw, cls_error *error) {
    clsi_learned *l = &u->learned;
    if (l->use && !u->of) {
        cls_status status = argument_inputs(s, l, error);
        return status == CLS_OK && u->convex ? clsi_convex_inputs(s, points, u, error) : status;
    }
    if (u->of && !(u->natural && has_formula(u->of))) { /* terms of formulas are of states */
        cls_status status = declared_inputs(u, raw, error);
        if (status == CLS_OK) status = clsi_learned_check(l, s, error);
        return status == CLS_OK && u->convex ? clsi_convex_inputs(s, points, u, error) : status;
    }
    if (u->convex) return clsi_convex_inputs(s, points, u, error);
    /* a potential beside momenta has positions alone */
    int potential = s->formalism == CLS_HAMILTONIAN && u->kind == CLSI_PART_LET;
    if (raw && u->spec && !points->intervals && !s->ode &&
        s->nq + s->n + s->m > CLSI_FIELD_MAX_INPUTS)
        return inputs_of_terms(s, u, error);
    if (points->intervals) return clsi_position_inputs(s, l, raw && !potential, error);
    int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN;
    int moving = thermal || s->ode || u->kind != CLSI_PART_LET;
    if (s->ode) raw = 1; /* nothing is known to be even */
    cls_status status = CLS_OK;
    const cls_node *moved = s->formalism == CLS_HAMILTONIAN ? s->p : s->v;
    for (size_t j = 0; j < s->nq && status == CLS_OK; j++)
        status = clsi_add_input(l, error, "%s", s->coordinate[j].name);
    int plain = raw || u->even; /* an even field has no need of products */
    for (size_t j = 0; j < s->n && moving && plain && status == CLS_OK; j++)
        status = clsi_add_input(l, error, "%s", cls_node_name(s->g, moved[j]));
    for (size_t j = 0; j < s->n && moving && !plain; j++)
        for (size_t k = j; k < s->n && status == CLS_OK; k++)
            status = clsi_add_input(l, error, "%s*%s", cls_node_name(s->g, moved[j]),
                                    cls_node_name(s->g, moved[k]));
    for (size_t i = 0; i < s->m && status == CLS_OK; i++) {
        /* a potential is no function of what was not measured */
        size_t state = s->nq + s->n + i;
        int hidden = state < points->nz && !points->observed[state];
        if (!thermal && u->kind == CLSI_PART_LET && hidden && l->d) continue;
        status = thermal ? clsi_add_input(l, error, raw ? "%s" : "log(%s)", s->temperature[i].name)
                         : clsi_add_input(l, error, "%s", s->entropy[i].name);
    }
    return status;
}

/* binomial(n + k, k) */
static double choices(size_t n, size_t k) {
    double product = 1;
    for (size_t i = 1; i <= k; i++) product *= (double)n / (double)i + 1;
    return product;
}

enum { WIDEST = 30 }; /* a degree that points which lie unevenly still tell */

/* Terms of a degree in d inputs, `even` of which come in pairs (0: none). */
static double count_terms(size_t d, size_t even, size_t degree) {
    if (!even) return choices(degree, d);
    double sum = 0;
    for (size_t pairs = 0; pairs <= degree; pairs++)
        sum += choices(2 * pairs, even - 1) * choices(degree - pairs, d - even);
    return sum;
}

/* Degrees that keep the number of terms near 1000 for a generating function, 130 for a friction, 20
 * where parts are multiplied with each other (a matrix) and one solve is not enough. `halved` so
 * many times where there are few data. Terms of one input cost nothing, and a function that is used at many places
 * has many rows for them. */
static int auto_degree(size_t d, size_t even, int formula, int products, int shared,
                       size_t halved) {
    double most = ldexp(formula ? 1010 : products ? 20 : 140, -(int)halved);
    int degree = 1, top = d == 1 ? (shared ? 30 : 20) : formula ? 12 : 8;
    while (degree < top && count_terms(d, even, (size_t)degree + 1) <= most) degree++;
    return degree;
}

/* The same for a sum of an energy of `apart` inputs and one of the others. */
static int split_degree(size_t d, size_t apart, size_t even, int quadratic, size_t halved) {
    double most = ldexp(1010, -(int)halved);
    int degree = 1, top = even ? 10 : d == 2 ? 12 : 20;
    while (degree < top && (quadratic ? 0 : count_terms(apart, even, (size_t)degree + 1)) +
                                   count_terms(d - apart, 0, (size_t)degree + 1) <=
                               most)
        degree++;
    return degree;
}

/* A part that multiplies something, m of m*v^2/2: its constant is not that of the energy. */
static int is_factor(const clsi_unknowns *us, const clsi_unknown *u) {
    const cls_system *s = us->s;
    const cls_node *lists[] = {s->q, s->v, s->p, s->S, s->T};
    const size_t counts[] = {s->nq, s->n, s->n, s->m, s->m};
    if (u->kind != CLSI_PART_LET) return 0;
    cls_node beside = cls_derivative(s->g, s->bound.formula, u->value);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        if (counts[k] && cls_depends(s->g, beside, counts[k], lists[k])) return 1;
    for (size_t i = 0; i < us->n; i++)
        if (cls_depends(s->g, beside, 1, &us->list[i].value)) return 1;
    return 0;
}

/* A part of forces, heat or rates that the energy does not contain. */
static int is_elsewhere(const clsi_unknowns *us, const clsi_unknown *u) {
    const clsi_physics *b = &us->s->bound;
    return u->kind == CLSI_PART_LET && !cls_depends(us->s->g, b->formula, 1, &u->value) &&
           !cls_depends(us->s->g, b->potential, 1, &u->value);
}

/* An energy has no constant and is differentiated; a rate of an ode is neither, nor is a force. A part
 * that is positive needs its constant. */
int clsi_lacks_constant(const clsi_unknowns *us, const clsi_unknown *u) {
    return !us->s->ode && clsi_is_energy(u) && !is_factor(us, u) && !is_elsewhere(us, u);
}

/* Polynomials of several velocities are even in them; see src/field/basis.c. */
int clsi_wants_even(const cls_system *s, const clsi_unknown *u, const clsi_points *points) {
    const char *spec = u->spec;
    int basis = !spec || strncmp(spec, "chebyshev(", 10) == 0 || strncmp(spec, "monomial(", 9) == 0;
    int moving = s->formalism == CLS_THERMAL_LAGRANGIAN || u->kind != CLSI_PART_LET;
    if (!basis || !moving || u->learned.use || points->intervals || s->n < 2 || s->ode) return 0;
    if (clsi_field_word(spec, "plain")) return 0;
    return !spec || (!strstr(spec, "even") && atoi(strchr(spec, '(') + 1) <= 15);
}

static int has_couplings(const clsi_unknowns *us) {
    for (size_t i = 0; i < us->n; i++)
        if (us->list[i].kind == CLSI_PART_COUPLING) return 1;
    return 0;
}

cls_status clsi_choose_field(clsi_unknowns *us, clsi_unknown *u, cls_error *error) {
    const cls_system *s = us->s;
    int formula = clsi_lacks_constant(us, u);
    char chosen[128], more[48] = "";
    const char *spec = u->spec;
    const clsi_field_kind *kind = spec ? clsi_field_kind_of(spec) : NULL;
    clsi_learned *l = &u->learned;
    if (!spec) {
        size_t at = (size_t)(u - us->list);
        int degree = auto_degree(l->d, u->even ? u->even_count : 0, formula, has_couplings(us),
                                 clsi_group_end(us, at) > at + 1, us->choices.halved);
        size_t first = 0, apart = clsi_split_inputs(us, u, &first);
        while (us->choices.wide && degree < WIDEST &&
               count_terms(l->d, u->even ? u->even_count : 0, (size_t)degree + 1) <=
                   (double)us->choices.wide)
            degree++;
        us->split += apart > 0;
        if (apart && us->choices.isotropic == 2) /* |p|^2 is one input: a mass */
            snprintf(chosen, sizeof chosen, "chebyshev(%d, split %zu %zu 1)",
                     split_degree(l->d, apart, 0, 1, us->choices.halved), first, apart);
        else if (apart && us->choices.split)
            snprintf(chosen, sizeof chosen, "chebyshev(%d, split %zu %zu%s)",
                     split_degree(l->d, apart, u->even ? u->even_count : 0, us->choices.split > 1,
                                  us->choices.halved),
                     first, apart, us->choices.split > 1 ? " 2" : "");
        else
            snprintf(chosen, sizeof chosen, "chebyshev(%d)", degree);
        us->chosen = 1;
        spec = chosen;
        kind = clsi_field_kind_of(spec);
    }
    if (clsi_field_word(spec, "convex")) {
        cls_status status = clsi_convex_spec(s, u, sizeof chosen, chosen, error);
        if (status != CLS_OK) return status;
        spec = chosen;
        kind = clsi_field_kind_of(spec);
    }
    if (kind && !strcmp(kind->name, "convex") && !clsi_is_energy(u))
        return clsi_fail(
            error, CLS_USAGE,
            "'%s' cannot be '%.60s': that is the form of an energy, as models have it; "
            "write `network(8, 8)`",
            l->part, spec);
    /* a friction needs its constant, a generating function cannot have one */
    int bare = !formula && kind && kind->linear && !kind->raw && !strstr(spec, "constant");
    if (u->even) snprintf(more, sizeof more, ", even %zu %zu", u->even_first, u->even_count);
    if ((bare || u->even) && strlen(spec) < 48 && strchr(spec, ')')) {
        char given[64]; /* words for the learner stand at the end */
        snprintf(given, sizeof given, "%.63s", spec);
        size_t at = strcspn(given, ",)");
        snprintf(chosen, sizeof chosen, "%.*s%s%s%s", (int)at, given, more,
                 bare ? ", constant" : "", given + at);
        spec = chosen;
    }
    return clsi_field_create(l->d, spec, (const char *const *)l->input, &l->field, error);
}
