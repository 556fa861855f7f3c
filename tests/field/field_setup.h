/* A field with parameters, samples and guarded scratch, for tests of the passes of a kind. For
 * test_*.c only, after cmocka.h. */
#ifndef TESTS_FIELD_SETUP_H
#define TESTS_FIELD_SETUP_H

#include "field/field.h"
#include <math.h>
#include <stdlib.h>

enum { SETUP_GUARD = 16 };

typedef struct setup {
    clsi_field *f;
    size_t n, d, p;            /* samples, inputs, parameters */
    double *theta, *x, *a, *b; /* (p), (n, d), (n), (n, d) */
    double *scratch, *block;   /* scratch is inside block, between guards */
    size_t room;
} setup;

static inline double *numbers(size_t n) {
    double *v = calloc(n ? n : 1, sizeof *v);
    assert_non_null(v);
    return v;
}

static inline double *uniform(cls_random *r, size_t n) {
    double *v = numbers(n);
    for (size_t i = 0; i < n; i++) v[i] = 2 * cls_random_uniform(r) - 1;
    return v;
}

static inline void guard_scratch(setup *t) {
    t->room = t->f->kind->scratch(t->f, t->n);
    t->block = malloc((t->room + 2 * SETUP_GUARD) * sizeof *t->block);
    assert_non_null(t->block);
    for (size_t i = 0; i < t->room + 2 * SETUP_GUARD; i++) t->block[i] = NAN; /* unset is poison */
    for (size_t i = 0; i < SETUP_GUARD; i++)
        t->block[i] = t->block[t->room + SETUP_GUARD + i] = 12345;
    t->scratch = t->block + SETUP_GUARD;
}

/* Parameters near those that training begins with, samples and coefficients from -1 to 1. */
static inline setup open_setup(const char *spec, size_t d, size_t n, uint64_t seed) {
    setup t = {.n = n, .d = d};
    cls_random r;
    assert_int_equal(clsi_field_create(d, spec, NULL, &t.f, NULL), CLS_OK);
    cls_random_seed(&r, seed);
    t.p = t.f->n_parameters;
    t.theta = numbers(t.p);
    t.f->kind->initialise(t.f, &r, t.theta);
    for (size_t k = 0; k < t.p; k++) t.theta[k] += 0.2 * cls_random_normal(&r); /* and biases */
    t.x = uniform(&r, n * d);
    t.a = uniform(&r, n);
    t.b = uniform(&r, n * d);
    guard_scratch(&t);
    return t;
}

static inline void close_setup(setup *t) {
    for (size_t i = 0; i < SETUP_GUARD; i++) {
        assert_true(t->block[i] == 12345);
        assert_true(t->block[t->room + SETUP_GUARD + i] == 12345);
    }
    clsi_field_free(&t->f);
    free(t->theta);
    free(t->x);
    free(t->a);
    free(t->b);
    free(t->block);
}

/* Relative to the largest of the reference: round-off of a sum goes with its terms. */
static inline void assert_near(size_t n, const double *got, const double *want, double tolerance) {
    double size = 0;
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(want[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * size))
            fail_msg("element %zu: %.17g, not %.17g (size %.3g)", i, got[i], want[i], size);
}

#endif
