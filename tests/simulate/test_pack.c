/* Ensembles in lanes have the bits of single motions: every built-in system, every scheme, gentle
 * and hard steps, members that fail among members that do not. */
#include "expr/native.h"
#include "simulate/pack.h"
#include "tests/simulate/motion.h"
#include <clausius/random.h>
#include <stdlib.h>

enum { MEMBERS = 77, FEW = 21, ROWS = 4, EVERY = 12 };

/* Starts around the system's own; some may lie outside what the system allows. */
static void make_starts(const cls_system *s, double spread, double *starts) {
    size_t n = cls_system_state_count(s);
    cls_random random;
    cls_random_seed(&random, 3);
    for (size_t i = 0; i < MEMBERS; i++) {
        double *z = starts + i * n;
        assert_int_equal(cls_system_start(s, NULL, z, NULL), CLS_OK);
        for (size_t k = 0; k < n; k++)
            z[k] += spread * (1 + fabs(z[k])) * cls_random_normal(&random);
    }
}

/* The rows of one member by its own simulator; 0 when it failed. */
static int alone(cls_simulator *sim, size_t columns, const double *start, double *rows) {
    cls_status status = cls_simulator_start(sim, 0, start, NULL);
    for (size_t k = 0; k < ROWS && status == CLS_OK; k++) {
        if (k) status = cls_simulator_advance(sim, EVERY, NULL);
        if (status == CLS_OK) status = cls_simulator_row(sim, rows + k * columns, NULL);
    }
    return status == CLS_OK;
}

/* The first n of them together. */
static void compare_some(const cls_system *s, const cls_simulate_options *o, size_t n,
                         const double *starts, const double *one, double *many) {
    size_t size = ROWS * cls_system_column_count(s);
    cls_error error;
    cls_status status =
        cls_ensemble_run(s, o, n, starts, (ROWS - 1) * EVERY, EVERY, 1, many, &error);
    if (status != CLS_OK) fail_msg("%s by %s: %s", cls_system_name(s), o->scheme, error.message);
    if (memcmp(one, many, n * size * sizeof *one))
        fail_msg("%zu of %s by %s, h = %g: not the bits of single motions", n, cls_system_name(s),
                 o->scheme, o->h);
}

/* Only those that go well alone, together: in sixteen lanes, and where enough of them do in thirty-two. Returns how
 * many. */
static size_t compare(const cls_system *s, const char *scheme, double h, double spread,
                      int *in_lanes) {
    size_t n = cls_system_state_count(s), size = ROWS * cls_system_column_count(s), good = 0;
    double *starts = calloc(MEMBERS * n, sizeof *starts);
    double *one = calloc(MEMBERS * size, sizeof *one), *many = calloc(MEMBERS * size, sizeof *many);
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    o.h = h;
    make_starts(s, spread, starts);
    cls_simulator *sim;
    assert_int_equal(cls_simulator_create(s, &o, &sim, NULL), CLS_OK);
    *in_lanes = clsi_pack_applies(sim->stepper);
    for (size_t i = 0; i < MEMBERS; i++) {
        if (!alone(sim, cls_system_column_count(s), starts + i * n, one + good * size)) continue;
        memmove(starts + good * n, starts + i * n, n * sizeof *starts);
        good++;
    }
    cls_simulator_free(&sim);
    if (good) compare_some(s, &o, good < FEW ? good : FEW, starts, one, many);
    if (good > FEW) compare_some(s, &o, good, starts, one, many);
    free(starts);
    free(one);
    free(many);
    return good;
}

static void lanes_have_the_bits_of_single_motions(void **unused) {
    (void)unused;
    size_t total = 0, lanes = 0;
    for (size_t i = 0; i < cls_builtin_count(); i++) {
        cls_system *s = load(cls_builtin_name(i));
        double h = cls_system_default_step(s);
        for (size_t k = 0; k < cls_scheme_count(); k++) {
            const char *scheme = cls_scheme_at(k)->name;
            int in_lanes = 0;
            if (cls_scheme_applies(scheme, s, NULL) != CLS_OK || strcmp(scheme, "bdf") == 0 ||
                cls_system_is_noisy(s)) /* each member has its own noise */
                continue;
            total += compare(s, scheme, h, 0.02, &in_lanes);
            lanes += (size_t)in_lanes;
            /* steps that are split, lines that are searched, domains that are left */
            if (in_lanes) total += compare(s, scheme, 20 * h, 0.2, &in_lanes);
        }
        cls_system_free(&s);
    }
    assert_true(total > 1000);
    assert_true(lanes > 20); /* the test would be about nothing otherwise */
}

static void the_usual_systems_are_in_lanes(void **unused) {
    (void)unused;
    const char *const names[] = {"ideal-gas-piston", "adiabatic-piston", "thermal-oscillator"};
    for (size_t i = 0; i < 3; i++) {
        cls_system *s = load(names[i]);
        cls_simulator *sim = begin(s, NULL, 0);
        assert_true(clsi_pack_applies(sim->stepper));
        int wide = clsi_native_supports(CLSI_NATIVE_EIGHT);
        assert_int_equal(clsi_pack_lanes(sim->stepper, FEW, 1), CLSI_LANES);
        assert_int_equal(clsi_pack_lanes(sim->stepper, MEMBERS, 2), CLSI_LANES);
        assert_int_equal(clsi_pack_lanes(sim->stepper, MEMBERS, 1),
                         wide ? CLSI_WIDE_LANES : CLSI_LANES);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* What follows from the residual's inputs is not computed again. */
static void next_states_and_guards_borrow(void **unused) {
    (void)unused;
    const char *const names[] = {"ideal-gas-piston", "adiabatic-piston", "thermal-oscillator"};
    for (size_t i = 0; i < 3; i++) {
        cls_system *s = load(names[i]);
        cls_simulator *sim = begin(s, NULL, 0);
        clsi_stepper_make_native(sim->stepper, 1);
        assert_true(clsi_lanes_borrows(sim->stepper->next));
        if (sim->stepper->guard) assert_true(clsi_lanes_borrows(sim->stepper->guard));
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* A member that fails does not touch the others, and the lowest number is named. */
static void members_fail_alone(void **unused) {
    (void)unused;
    cls_system *s = parse(WALL_OF_GAS);
    size_t n = cls_system_state_count(s), columns = cls_system_column_count(s);
    double *starts = calloc(40 * n, sizeof *starts), *rows = calloc(40 * 2 * columns, sizeof *rows);
    cls_simulate_options o = cls_simulate_defaults();
    cls_error error;
    o.h = 0.01;
    for (size_t i = 0; i < 40; i++) {
        assert_int_equal(cls_system_start(s, NULL, starts + i * n, NULL), CLS_OK);
        starts[i * n] += 0.001 * (double)i;
    }
    starts[23 * n] = starts[29 * n] = -1; /* outside */
    o.first_member = 100;
    assert_int_equal(cls_ensemble_run(s, &o, 40, starts, 10, 10, 2, rows, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "trajectory 123"));
    double *own = calloc(2 * columns, sizeof *own);
    cls_simulator *sim = begin(s, NULL, 0.01);
    for (size_t i = 0; i < 40; i++) {
        if (i == 23 || i == 29) continue;
        assert_int_equal(cls_simulator_start(sim, 0, starts + i * n, NULL), CLS_OK);
        assert_int_equal(cls_simulator_row(sim, own, NULL), CLS_OK);
        advance(sim, 10);
        assert_int_equal(cls_simulator_row(sim, own + columns, NULL), CLS_OK);
        assert_memory_equal(own, rows + i * 2 * columns, 2 * columns * sizeof *own);
    }
    cls_simulator_free(&sim);
    free(own);
    free(starts);
    free(rows);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_have_the_bits_of_single_motions),
        cmocka_unit_test(the_usual_systems_are_in_lanes),
        cmocka_unit_test(next_states_and_guards_borrow),
        cmocka_unit_test(members_fail_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
