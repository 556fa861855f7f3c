/* Steps as expressions: what presolve leaves, and that the residual is the scheme's own equations.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "scheme/scheme.h"
#include <math.h>
#include <string.h>

static clsi_step *step_of(const cls_system *s, const char *scheme) {
    cls_error error;
    clsi_step *st;
    if (clsi_step_create(s, clsi_scheme_find(scheme), 0, &st, &error) != CLS_OK)
        fail_msg("%s: %s", scheme, error.message);
    return st;
}

static cls_system *load(const char *name) {
    cls_error error;
    cls_system *s;
    if (cls_system_load(name, NULL, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    return s;
}

static size_t unknowns(const char *system, const char *scheme) {
    cls_system *s = load(system);
    clsi_step *st = step_of(s, scheme);
    size_t n = st->n_unknowns;
    clsi_step_free(&st);
    cls_system_free(&s);
    return n;
}

static void explicit_schemes_have_no_unknowns(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cls_builtin_count(); i++) {
        cls_system *s = load(cls_builtin_name(i));
        for (size_t k = 0; k < cls_scheme_count(); k++) {
            const cls_scheme_info *info = cls_scheme_at(k);
            if (info->implicit || s->form->kind != CLSI_FORM_PHASE ||
                cls_scheme_applies(info->name, s, NULL) != CLS_OK)
                continue;
            clsi_step *st = step_of(s, info->name);
            if (st->n_unknowns)
                fail_msg("%s on %s: %zu unknowns", info->name, cls_builtin_name(i), st->n_unknowns);
            clsi_step_free(&st);
        }
        cls_system_free(&s);
    }
}

static void presolve_leaves_what_is_nonlinear(void **unused) {
    (void)unused;
    assert_int_equal(unknowns("damped-oscillator", "discrete-gradient"), 0); /* all linear */
    assert_int_equal(unknowns("mass-spring", "implicit-midpoint"), 0);
    assert_int_equal(unknowns("pendulum", "discrete-gradient"), 1); /* 2 before */
    assert_int_equal(unknowns("pendulum", "leapfrog"), 0);
    assert_int_equal(unknowns("ideal-gas-piston", "discrete-gradient"), 2); /* 3 before */
    assert_int_equal(unknowns("ideal-gas-piston", "dtel"), 1);
    assert_int_equal(unknowns("two-body", "discrete-gradient"), 4); /* 8 before */
}

/* Nothing of an eliminated unknown is left anywhere. */
static void no_stranger_is_left(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cls_builtin_count(); i++) {
        cls_system *s = load(cls_builtin_name(i));
        for (size_t k = 0; k < cls_scheme_count(); k++) {
            const char *name = cls_scheme_at(k)->name;
            if (!clsi_scheme_find(name)->build || cls_scheme_applies(name, s, NULL) != CLS_OK)
                continue;
            clsi_step *st = step_of(s, name);
            cls_node symbols[64];
            size_t n = cls_symbols_of(st->g, st->nz, st->next, 64, symbols);
            for (size_t j = 0; j < n; j++) {
                int known = symbols[j] == st->h || symbols[j] == st->t || symbols[j] == st->defect;
                for (size_t u = 0; u < st->n_unknowns; u++) known |= symbols[j] == st->unknown[u];
                for (size_t z = 0; z < st->nz; z++) known |= symbols[j] == st->z0[z];
                if (!known)
                    fail_msg("%s on %s: next depends on %s", name, cls_builtin_name(i),
                             cls_node_name(st->g, symbols[j]));
            }
            clsi_step_free(&st);
        }
        cls_system_free(&s);
    }
}

/* One residual, two uses: with the data's own velocity in the place of the unknown, the residual of
 * dtel on the oscillator is v + (h/2)(q + h v/2 + gamma v) - p, for any v. */
static void the_residual_is_the_published_equation(void **unused) {
    (void)unused;
    cls_system *s = load("pendulum");
    clsi_step *st = step_of(s, "dtel");
    assert_int_equal(st->n_unknowns, 1);
    cls_node inputs[] = {st->z0[0], st->z0[1], st->h, st->unknown[0]};
    cls_program *p;
    cls_error error;
    assert_int_equal(cls_program_create(st->g, 4, inputs, 1, st->residual, &p, &error), CLS_OK);
    double work[256], r;
    assert_true(cls_program_work_size(p) < 256);
    cls_program_prepare(p, work);
    for (int k = 0; k < 50; k++) {
        double q = 0.1 * k - 2, momentum = 0.3 - 0.02 * k, h = 0.01 * (k + 1), v = 0.05 * k;
        double in[] = {q, momentum, h, v};
        cls_program_run(p, work, in, &r);
        double published = v + h / 2 * 6 * sin(q + h * v / 2) - momentum;
        assert_true(fabs(r - published) < 1e-14 || fabs(r + published) < 1e-14);
    }
    cls_program_free(&p);
    clsi_step_free(&st);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(explicit_schemes_have_no_unknowns),
                                       cmocka_unit_test(presolve_leaves_what_is_nonlinear),
                                       cmocka_unit_test(no_stranger_is_left),
                                       cmocka_unit_test(the_residual_is_the_published_equation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
