/* Laws along the path: exact motions pass, and every planted crime is found where it was planted.
 */
#include "judge.h"

static const oscillator damped = {0.1, 2, 0.05};

/* What a test changes in one row of an honest table. */
typedef struct crime {
    size_t row; /* SIZE_MAX: none */
    int column; /* 1 q, 2 v, 3 S, 4 energy */
    double by;
} crime;
static const crime none = {SIZE_MAX, 0, 0};

/* time q v.q S energy entropy */
static void damped_row(size_t k, const void *data, double *row) {
    const crime *c = data;
    row[0] = damped.h * (double)k;
    oscillator_at(&damped, row[0], &row[1], &row[2], &row[3]);
    row[4] = (row[1] * row[1] + row[2] * row[2]) / 2 + damped.T * row[3];
    row[5] = row[3];
    if (k == c->row) row[c->column] += c->by;
}

static cls_audit *audit_damped(const char *columns, crime c) {
    cls_system *s = system_from(OSCILLATOR);
    cls_table *t = table_from(columns, 401, damped_row, &c);
    cls_audit *a = audit_with(s, t, NULL);
    cls_table_free(&t);
    cls_system_free(&s);
    return a;
}

static void exact_motion_passes(void **unused) {
    (void)unused;
    cls_audit *a = audit_damped("time q v.q S energy entropy", none);
    assert_all_pass(a);
    assert_true(law(a, "energy")->value < 1e-14);
    assert_true(law(a, "entropy")->value >= 0);
    assert_true(fabs(law(a, "temperature positive")->value - 2) < 1e-15);
    assert_null(find_law(a, "work"));
    cls_audit_free(&a);
    assert_null(a);
    cls_audit_free(&a);
}

static void momenta_and_velocities_are_the_same_states(void **unused) {
    (void)unused;
    cls_audit *v = audit_damped("time q v.q S", none), *p = audit_damped("time q p.q S", none);
    assert_all_pass(v);
    assert_int_equal(cls_audit_count(v), cls_audit_count(p));
    for (size_t i = 0; i < cls_audit_count(v); i++)
        if (strcmp(cls_audit_law(v, i)->name, "columns") != 0)
            assert_true(cls_audit_law(v, i)->value == cls_audit_law(p, i)->value);
    cls_audit_free(&v);
    cls_audit_free(&p);
}

/* time q v.q: a mass 2 on a spring 2, so that p is not v. */
static void heavy_row(size_t k, const void *unused, double *row) {
    (void)unused;
    row[0] = 0.1 * (double)k;
    row[1] = sin(row[0]);
    row[2] = cos(row[0]);
}

static void momenta_come_from_the_lagrangian(void **unused) {
    (void)unused;
    cls_system *s = system_from("system \"heavy\"\ncoordinate q\nlagrangian v.q^2 - q^2\n");
    cls_table *t = table_from("time q v.q", 100, heavy_row, NULL);
    cls_audit *a = audit_with(s, t, NULL);
    assert_all_pass(a);
    cls_audit_free(&a);
    cls_table_free(&t);
    cls_system_free(&s);
}

static void energy_drift_is_caught(void **unused) {
    (void)unused;
    cls_audit *a = audit_damped("time q v.q S", (crime){200, 2, 1e-6});
    assert_broken(a, "energy", "time 10");
    assert_true(law(a, "entropy")->passed);
    cls_audit_free(&a);
    a = audit_damped("time q v.q S", (crime){200, 2, 1e-15});
    assert_true(law(a, "energy")->passed);
    cls_audit_free(&a);
}

static void entropy_fall_is_caught_at_its_time(void **unused) {
    (void)unused;
    cls_audit *a = audit_damped("time q v.q S", (crime){300, 3, -1e-2});
    assert_broken(a, "entropy", "falls in 1 of 400 steps");
    assert_non_null(strstr(law(a, "entropy")->text, "time 15"));
    assert_true(law(a, "entropy")->value < -9e-3);
    cls_audit_free(&a);
}

static void domain_is_watched(void **unused) {
    (void)unused;
    cls_audit *a = audit_damped("time q v.q S", (crime){100, 1, 3});
    assert_broken(a, "domain", "time 5");
    assert_true(law(a, "domain")->value == 1);
    cls_audit_free(&a);
}

/* T = S here, and one row is below absolute zero. */
static void temperature_is_watched(void **unused) {
    (void)unused;
    cls_system *s = system_from("system \"warm\"\ncoordinate q\nentropy S\n"
                                "lagrangian v.q^2/2 - q^2/2 - S^2/2\n");
    crime cold = {100, 3, -9};
    cls_table *t = table_from("time q v.q S", 401, damped_row, &cold);
    cls_audit *a = audit_with(s, t, NULL);
    assert_broken(a, "temperature positive", "time 5");
    assert_true(law(a, "temperature positive")->value < -8);
    assert_broken(a, "domain", "T = ");
    assert_true(law(a, "domain")->value == 2); /* the cold row, and S = 0 at the start */
    cls_audit_free(&a);
    cls_table_free(&t);
    cls_system_free(&s);
}

static void not_finite_is_not_passed_over(void **unused) {
    (void)unused;
    cls_audit *a = audit_damped("time q v.q S", (crime){100, 2, NAN});
    assert_broken(a, "energy", "not finite in 1 of 401 rows, the first at time 5");
    assert_broken(a, "dissipation", "first not finite");
    cls_audit_free(&a);
}

static void lying_columns_are_caught(void **unused) {
    (void)unused;
    cls_audit *a = audit_damped("time q v.q S energy entropy", (crime){7, 4, 1e-8});
    assert_broken(a, "columns", "worst in energy at time 0.35");
    assert_true(law(a, "energy")->passed); /* recomputed, so the lie does not matter */
    cls_audit_free(&a);
    a = audit_damped("time q v.q S energy entropy", (crime){7, 5, NAN});
    assert_broken(a, "columns", "1 values are not finite");
    cls_audit_free(&a);
}

static void expect_error(const cls_system *s, const cls_table *t, cls_status status,
                         const char *hint) {
    cls_audit *a = (cls_audit *)&a;
    cls_error error = {0};
    assert_int_equal(cls_audit_trajectory(s, t, NULL, &a, &error), status);
    assert_null(a);
    assert_int_equal(error.status, status);
    if (!strstr(error.message, hint)) fail_msg("\"%s\" lacks \"%s\"", error.message, hint);
}

static void bad_tables_are_refused(void **unused) {
    (void)unused;
    static const struct {
        const char *columns;
        size_t rows;
        const char *hint;
    } cases[] = {
        {"t q v.q S", 5, "no column time"},
        {"time x v.q S", 5, "no column q"},
        {"time q speed S", 5, "no column p.q or v.q; the audit of"},
        {"time q speed S", 5, "there are: time, q, speed, S"},
        {"time q v.q heat", 5, "no column S or T"},
        {"time q v.q S", 1, "1 row;"},
        {"time q v.q S", 0, "0 rows"},
    };
    cls_system *s = system_from(OSCILLATOR);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cls_table *t = table_from(cases[i].columns, cases[i].rows, damped_row, &none);
        expect_error(s, t, CLS_DATA, cases[i].hint);
        cls_table_free(&t);
    }
    crime backwards = {3, 0, -1};
    cls_table *t = table_from("time q v.q S", 5, damped_row, &backwards);
    expect_error(s, t, CLS_DATA, "row 4: time");
    cls_table_free(&t);
    cls_system_free(&s);
}

/* trajectory time q v.q S: two motions of different energy, row by row in turn. */
static void interleaved_row(size_t k, const void *data, double *row) {
    row[0] = (double)(k % 2) + 1;
    row[1] = damped.h * (double)(k / 2);
    oscillator_at(&damped, row[1], &row[2], &row[3], &row[4]);
    if (k % 2) { /* the equations are linear in (q, v); S follows by energy */
        row[2] *= 0.5, row[3] *= 0.5;
        row[4] = (0.25 - row[2] * row[2] - row[3] * row[3]) / (2 * damped.T) + 3;
    }
    if (k == *(const size_t *)data) row[4] -= 0.5;
}

static void trajectories_are_judged_apart(void **unused) {
    (void)unused;
    cls_system *s = system_from(OSCILLATOR);
    size_t nowhere = SIZE_MAX, fall = 2 * 60 + 1;
    cls_table *t = table_from("trajectory time q v.q S", 400, interleaved_row, &nowhere);
    cls_audit *a = audit_with(s, t, NULL);
    assert_all_pass(a);
    cls_audit_free(&a);
    cls_table_free(&t);
    t = table_from("trajectory time q v.q S", 400, interleaved_row, &fall);
    a = audit_with(s, t, NULL);
    assert_broken(a, "entropy", "time 3 of trajectory 2");
    assert_broken(a, "energy", "time 3 of trajectory 2");
    cls_audit_free(&a);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* q'' = -q + cos 2t from rest at q = 0: q = (cos t - cos 2t)/3. time q v.q work */
typedef struct driven {
    double h, factor, lost; /* work is `factor` times the true one; q loses `lost` each unit time */
} driven;

static void driven_row(size_t k, const void *data, double *row) {
    const driven *d = data;
    double t = d->h * (double)k, q = (cos(t) - cos(2 * t)) / 3, v = (2 * sin(2 * t) - sin(t)) / 3;
    row[0] = t;
    row[1] = q;
    row[2] = v * (1 - d->lost * t);
    row[3] = d->factor * (q * q + row[2] * row[2]) / 2;
}

static cls_audit *audit_driven(driven d, size_t rows) {
    cls_system *s = system_from("system \"driven\"\ncoordinate q\nlagrangian v.q^2/2 - q^2/2\n"
                                "external force: q <- cos(2*t)\n");
    cls_table *t = table_from("time q v.q work", rows, driven_row, &d);
    cls_audit *a = audit_with(s, t, NULL);
    cls_table_free(&t);
    t = table_from("time q v.q w", rows, driven_row, &d);
    expect_error(s, t, CLS_DATA, "no potential");
    cls_table_free(&t);
    cls_system_free(&s);
    return a;
}

static void work_enters_the_balance(void **unused) {
    (void)unused;
    cls_audit *a = audit_driven((driven){0.01, 1, 0}, 1001);
    assert_all_pass(a);
    assert_true(law(a, "work")->value < 1e-3);
    assert_null(find_law(a, "entropy"));
    cls_audit_free(&a);
    a = audit_driven((driven){0.5, 1, 0}, 21); /* coarse rows widen the limit, not the verdict */
    assert_true(law(a, "work")->passed);
    cls_audit_free(&a);
    a = audit_driven((driven){0.01, 2, 0}, 1001);
    assert_broken(a, "energy", "after the work");
    assert_broken(a, "work", "trapezoidal");
    cls_audit_free(&a);
    a = audit_driven((driven){0.01, 1, 0.03}, 1001); /* a drift hidden in the work column */
    assert_true(law(a, "energy")->passed);
    assert_broken(a, "work", "trapezoidal");
    cls_audit_free(&a);
}

/* Two free masses: momentum sum and, as a decoy, something that is not kept. time x y v.x v.y */
static void free_row(size_t k, const void *data, double *row) {
    double t = 0.1 * (double)k, w = *(const double *)data;
    row[0] = t;
    row[1] = 3.7 * t + sin(w * t);
    row[2] = 3.7 * t - sin(w * t);
    row[3] = 3.7 + w * cos(w * t);
    row[4] = 3.7 - w * cos(w * t);
}

static void invariants_are_judged_by_name(void **unused) {
    (void)unused;
    cls_system *s = system_from("system \"pair\"\ncoordinate x, y\n"
                                "lagrangian v.x^2/2 + v.y^2/2 - (x - y)^2/4\n"
                                "invariant total = p.x + p.y\ninvariant wrong = p.x - p.y\n"
                                "invariant zero = p.x^2/2 + p.y^2/2 + (x - y)^2/4 - 14.69\n");
    double w = 1;
    cls_table *t = table_from("time x y v.x v.y", 300, free_row, &w);
    cls_audit *a = audit_with(s, t, NULL);
    assert_true(law(a, "energy")->passed);
    assert_true(law(a, "invariant total")->passed);
    assert_true(law(a, "invariant zero")->passed); /* round-off of its terms, not of its value */
    assert_broken(a, "invariant wrong", "drifts");
    cls_audit_free(&a);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* The reference solution of the piston: t,x,v,T1,T2,p,S1,S2,H. */
static void piston_row(size_t k, const void *data, double *row) {
    const cls_table *reference = data;
    for (size_t i = 0; i < 9; i++) row[i] = cls_table_column(reference, i)[k];
}

static void piston_reference_passes(void **unused) {
    (void)unused;
    cls_table *reference = NULL;
    cls_error error = {0};
    if (cls_table_read(CLSI_SOURCE_DIR "/tests/reference/piston_ref.csv", &reference, &error))
        fail_msg("%s", error.message);
    cls_system *s = NULL;
    if (cls_system_load("adiabatic-piston", NULL, &s, &error)) fail_msg("%s", error.message);
    cls_audit_options o = cls_audit_defaults();
    o.energy_limit = o.invariant_limit = o.entropy_limit = 1e-9;
    /* native columns; then entropies in the place of temperatures, solved row by row */
    static const char *const names[] = {"time x v.x T1 T2 p.x S1 S2 energy",
                                        "time x v.x other1 other2 p.x S1 S2 energy"};
    for (int i = 0; i < 2; i++) {
        size_t rows = i ? 100 : cls_table_rows(reference);
        cls_table *t = table_from(names[i], rows, piston_row, reference);
        cls_audit *a = audit_with(s, t, &o);
        assert_all_pass(a);
        assert_true(law(a, "energy")->value < 1e-12);
        assert_true(law(a, "dissipation S1")->passed);
        assert_true(law(a, "dissipation S2")->passed);
        cls_audit_free(&a);
        cls_table_free(&t);
    }
    cls_table_free(&reference);
    cls_system_free(&s);
}

static void options_are_checked(void **unused) {
    (void)unused;
    cls_system *s = system_from(OSCILLATOR);
    cls_table *t = table_from("time q v.q S", 5, damped_row, &none);
    cls_audit_options bad[4] = {cls_audit_defaults(), cls_audit_defaults(), cls_audit_defaults(),
                                cls_audit_defaults()};
    bad[3].samples = SIZE_MAX; /* would never end */
    bad[0].energy_limit = NAN;
    bad[1].beyond = 0.5;
    bad[2].order_expected = -1;
    for (int i = 0; i < 4; i++) {
        cls_audit *a = NULL;
        assert_int_equal(cls_audit_trajectory(s, t, &bad[i], &a, NULL), CLS_USAGE);
        assert_null(a);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

/* A pendulum after a million turns: time q p.q, each the double next to the motion of energy 0.5. What
 * rounding q does to the energy, 4e-10, is beyond 1e-12 of its terms and is nobody's fault. */
static void many_turns_row(size_t k, const void *data, double *row) {
    const crime *c = data;
    long double q = 6283185.307179586L + 0.4L * sinl(0.37L * (long double)k);
    row[0] = 0.1 * (double)k;
    row[1] = (double)q;
    row[2] = (double)sqrtl(2 * (0.5L - (1 - cosl(q))));
    if (k == c->row) row[c->column] += c->by;
}

static void rounded_states_are_no_crime(void **unused) {
    (void)unused;
    cls_system *s = system_from("coordinate q\nhamiltonian p.q^2/2 + 1 - cos(q)\n");
    const crime large = {50, 2, 1e-8};
    for (int guilty = 0; guilty < 2; guilty++) {
        cls_table *t = table_from("time q p.q", 101, many_turns_row, guilty ? &large : &none);
        cls_audit *a = audit_with(s, t, NULL);
        assert_true(law(a, "energy")->value > 1e-11); /* more than the terms' own round-off */
        if (guilty)
            assert_broken(a, "energy", "5");
        else
            assert_true(law(a, "energy")->passed);
        cls_audit_free(&a);
        cls_table_free(&t);
    }
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_motion_passes),
        cmocka_unit_test(momenta_and_velocities_are_the_same_states),
        cmocka_unit_test(momenta_come_from_the_lagrangian),
        cmocka_unit_test(energy_drift_is_caught),
        cmocka_unit_test(rounded_states_are_no_crime),
        cmocka_unit_test(entropy_fall_is_caught_at_its_time),
        cmocka_unit_test(domain_is_watched),
        cmocka_unit_test(temperature_is_watched),
        cmocka_unit_test(not_finite_is_not_passed_over),
        cmocka_unit_test(lying_columns_are_caught),
        cmocka_unit_test(bad_tables_are_refused),
        cmocka_unit_test(trajectories_are_judged_apart),
        cmocka_unit_test(work_enters_the_balance),
        cmocka_unit_test(invariants_are_judged_by_name),
        cmocka_unit_test(piston_reference_passes),
        cmocka_unit_test(options_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
