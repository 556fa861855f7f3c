/* Laws of the definition: a wrong sign in the file is found, inside the data's range or beyond it.
 */
#include "judge.h"

static const oscillator damped = {0.1, 2, 0.05};

/* time q v.q S */
static void damped_row(size_t k, const void *unused, double *row) {
    (void)unused;
    row[0] = damped.h * (double)k;
    oscillator_at(&damped, row[0], &row[1], &row[2], &row[3]);
}

static cls_audit *audit_text(const char *text, const char *columns, row_function row,
                             const cls_audit_options *options) {
    cls_system *s = system_from(text);
    cls_table *t = table_from(columns, 200, row, NULL);
    cls_audit *a = audit_with(s, t, options);
    cls_table_free(&t);
    cls_system_free(&s);
    return a;
}

static void wrong_friction_is_caught(void **unused) {
    (void)unused;
    cls_audit *a = audit_text(OSCILLATOR_HEAD "friction on S: q <- +gamma*v.q\n", "time q v.q S",
                              damped_row, NULL);
    assert_broken(a, "dissipation", "p.q = ");
    assert_true(law(a, "dissipation")->value == -1);
    cls_audit_free(&a);
    a = audit_text(OSCILLATOR, "time q v.q S", damped_row, NULL);
    assert_true(law(a, "dissipation")->passed);
    cls_audit_free(&a);
    a = audit_text(OSCILLATOR_HEAD, "time q v.q S", damped_row, NULL);
    assert_null(find_law(a, "dissipation")); /* no friction, nothing to judge */
    cls_audit_free(&a);
}

/* Dissipative up to |v| = 1.2; the data reach 1, the box 2. */
static void beyond_the_data_is_looked_at(void **unused) {
    (void)unused;
    const char *text = OSCILLATOR_HEAD "friction on S: q <- -gamma*v.q*(1.44 - v.q^2)\n";
    cls_audit_options o = cls_audit_defaults();
    o.beyond = 1;
    cls_audit *a = audit_text(text, "time q v.q S", damped_row, &o);
    assert_true(law(a, "dissipation")->passed);
    cls_audit_free(&a);
    a = audit_text(text, "time q v.q S", damped_row, NULL);
    assert_broken(a, "dissipation", "worst at");
    cls_audit_free(&a);
}

/* The box is cut off at the domain: friction that is wrong only outside of it is right. */
static void box_stays_in_the_domain(void **unused) {
    (void)unused;
    const char *text = OSCILLATOR_HEAD "friction on S: q <- -gamma*v.q*(4 - q^2)\n";
    cls_audit_options o = cls_audit_defaults();
    o.beyond = 100;
    cls_audit *a = audit_text(text, "time q v.q S", damped_row, &o);
    assert_true(law(a, "dissipation")->passed);
    assert_true(law(a, "dissipation")->value >= 0);
    cls_audit_free(&a);
}

static void not_finite_points_are_told(void **unused) {
    (void)unused;
    cls_audit *a = audit_text(OSCILLATOR_HEAD "friction on S: q <- -gamma*v.q*sqrt(1.3 - q)\n",
                              "time q v.q S", damped_row, NULL);
    const cls_law *l = law(a, "dissipation");
    assert_true(l->passed);
    size_t states, points;
    const char *told = strstr(l->text, "not finite: ");
    assert_non_null(told);
    assert_int_equal(sscanf(told, "not finite: %zu and %zu", &states, &points), 2);
    assert_int_equal(states, 0);
    assert_true(points > 0 && points < 4096);
    cls_audit_free(&a);
}

/* A gas at rest in two chambers: time x v.x T1 T2. */
static void chambers_row(size_t k, const void *unused, double *row) {
    (void)unused;
    row[0] = (double)k;
    row[1] = 0.1 * sin(row[0]);
    row[2] = 0.1 * cos(row[0]);
    row[3] = 1 + 0.1 * sin(0.7 * row[0]);
    row[4] = 2 + 0.1 * cos(0.3 * row[0]);
}

#define CHAMBERS                                                                                   \
    "system \"chambers\"\ncoordinate x in (-1, 1)\ntemperature T1, T2\n"                           \
    "thermal lagrangian v.x^2/2 + T1*(log(T1*(1 + x)) - 1) + T2*(log(T2*(1 - x)) - 1)\n"

static void heat_exchange_sign(void **unused) {
    (void)unused;
    const char *columns = "time x v.x T1 T2";
    cls_audit *a =
        audit_text(CHAMBERS "heat exchange T1 <-> T2: 0.3*T1\n", columns, chambers_row, NULL);
    assert_true(law(a, "heat exchange")->passed);
    assert_true(law(a, "heat exchange")->value > 0);
    assert_true(law(a, "heat capacity")->passed);
    cls_audit_free(&a);
    a = audit_text(CHAMBERS "heat exchange T1 <-> T2: 1.15 - T1\n", columns, chambers_row, NULL);
    assert_broken(a, "heat exchange", "T1 = ");
    cls_audit_free(&a);
}

/* time x y v.x v.y */
static void plane_row(size_t k, const void *unused, double *row) {
    (void)unused;
    row[0] = 0.1 * (double)k;
    row[1] = 0.6 * sin(row[0]);
    row[2] = 0.6 * cos(row[0]);
    row[3] = 0.6 * cos(row[0]);
    row[4] = -0.6 * sin(row[0]);
}

/* time x y v.x v.y T */
static void spinning_row(size_t k, const void *unused, double *row) {
    plane_row(k, unused, row);
    row[5] = 1.5;
}

#define PLANE "system \"plane\"\ncoordinate x, y\n"

static void mass_matrix_sign(void **unused) {
    (void)unused;
    const char *columns = "time x y v.x v.y";
    cls_audit *a = audit_text(PLANE "lagrangian v.x^2 + v.x*v.y + 3*v.y^2/2 - x^2/2 - y^2/2\n",
                              columns, plane_row, NULL);
    /* M = [[2, 1], [1, 3]] */
    assert_true(fabs(law(a, "mass matrix")->value - (5 - sqrt(5)) / 2) < 1e-14);
    assert_true(law(a, "mass matrix")->passed);
    cls_audit_free(&a);
    a = audit_text(PLANE "lagrangian v.x^2/2 - v.y^2/2 - x^2/2\n", columns, plane_row, NULL);
    assert_broken(a, "mass matrix", "dp/dv is -1");
    cls_audit_free(&a);
    /* positive along the data (|x| <= 0.6), not in the box (1.2) */
    const char *shrinking = PLANE "lagrangian (1 - x^2)*v.x^2/2 + v.y^2/2\n";
    cls_audit_options o = cls_audit_defaults();
    o.samples = 0;
    a = audit_text(shrinking, columns, plane_row, &o);
    assert_true(law(a, "mass matrix")->passed);
    cls_audit_free(&a);
    a = audit_text(shrinking, columns, plane_row, NULL);
    assert_broken(a, "mass matrix", "worst at x = ");
    cls_audit_free(&a);
}

/* The volume of the air outside is a state without inertia, and no fault; a coordinate without one is. */
static void linear_states_have_no_mass(void **unused) {
    (void)unused;
    const char *columns = "time x y p.x p.y U";
    cls_audit *a = audit_text(
        PLANE "momentum U\nhamiltonian p.x^2/4 + p.y^2/6 + x^2/2 - 3*U\npoisson {U, p.x} = 1\n",
        columns, spinning_row, NULL);
    assert_true(law(a, "mass matrix")->passed);
    assert_true(fabs(law(a, "mass matrix")->value - 2) < 1e-14);
    cls_audit_free(&a);
    a = audit_text(PLANE "momentum U\nhamiltonian p.x^2/4 + x^2/2 - 3*U\npoisson {U, p.x} = 1\n",
                   columns, spinning_row, NULL);
    assert_broken(a, "mass matrix", "singular");
    cls_audit_free(&a);
}

/* The momentum is not affine in v: the native state has velocities. */
static void mass_matrix_of_a_quartic(void **unused) {
    (void)unused;
    cls_audit *a = audit_text(PLANE "lagrangian v.x^2/2 + v.x^4/12 + v.y^2/2\n", "time x y v.x v.y",
                              plane_row, NULL);
    assert_true(law(a, "mass matrix")->passed);
    assert_true(law(a, "mass matrix")->value >= 1 - 1e-15);
    cls_audit_free(&a);
    a = audit_text(PLANE "lagrangian v.x^2/2 - v.x^4/12 + v.y^2/2\n", "time x y v.x v.y", plane_row,
                   NULL); /* 1 - v^2, and the box reaches 1.2 */
    assert_broken(a, "mass matrix", "v.x = ");
    cls_audit_free(&a);
}

static void momentum_at_rest_is_told(void **unused) {
    (void)unused;
    cls_audit *a = audit_text(PLANE "lagrangian v.x^2/2 + v.y^2/2 - x^2/2\n", "time x y v.x v.y",
                              plane_row, NULL);
    assert_non_null(strstr(law(a, "momentum at rest")->text, "is zero"));
    assert_true(law(a, "momentum at rest")->value == 0);
    cls_audit_free(&a);
    a = audit_text(PLANE "lagrangian v.x^2/2 + v.y^2/2 + 3*y*v.x\n", "time x y v.x v.y", plane_row,
                   NULL);
    assert_non_null(strstr(law(a, "momentum at rest")->text, "gyroscopic"));
    assert_true(law(a, "momentum at rest")->passed);
    assert_true(law(a, "momentum at rest")->value > 1);
    cls_audit_free(&a);
}

/* time q v.q S with S well above zero */
static void warm_row(size_t k, const void *unused, double *row) {
    damped_row(k, unused, row);
    row[3] += 3;
}

/* T = S: the box reaches below zero, where friction proportional to T would have the wrong sign. */
static void points_below_absolute_zero_are_no_states(void **unused) {
    (void)unused;
    cls_audit_options o = cls_audit_defaults();
    o.beyond = 100;
    cls_audit *a = audit_text("system \"warm\"\ncoordinate q\nentropy S\n"
                              "lagrangian v.q^2/2 - q^2/2 - S^2/2\nfriction on S: q <- -T*v.q\n",
                              "time q v.q S", warm_row, &o);
    assert_true(law(a, "dissipation")->passed);
    size_t none;
    const char *told = strstr(law(a, "dissipation")->text, "no states: ");
    assert_non_null(told);
    assert_int_equal(sscanf(told, "no states: %zu", &none), 1);
    assert_in_range(none, 1000, 3000); /* about half of 4096 */
    cls_audit_free(&a);
}

/* A force at right angles to the velocity does no work, whatever round-off says. */
static void round_off_is_no_crime(void **unused) {
    (void)unused;
    cls_audit *a = audit_text("system \"spinning\"\ncoordinate x, y\nentropy S\n"
                              "lagrangian v.x^2/2 + v.y^2/2 - exp(S)\n"
                              "friction on S: x <- (0.1 + x)*v.y, y <- -0.1*v.x - x*v.x\n",
                              "time x y v.x v.y T", spinning_row, NULL);
    assert_true(law(a, "dissipation")->passed);
    assert_true(law(a, "dissipation")->value == 0);
    cls_audit_free(&a);
}

static void heat_capacity_sign(void **unused) {
    (void)unused;
    const char *columns = "time q v.q S";
    cls_audit *a = audit_text(OSCILLATOR, columns, damped_row, NULL);
    assert_true(law(a, "heat capacity")->passed);
    assert_non_null(strstr(law(a, "heat capacity")->text, "reservoir"));
    cls_audit_free(&a);
    /* T = 1/S falls when heat comes in, like a black hole */
    a = audit_text("system \"hole\"\ncoordinate q\nentropy S in (0, 100)\n"
                   "lagrangian v.q^2/2 - q^2/2 - log(S)\n",
                   columns, warm_row, NULL);
    assert_broken(a, "heat capacity", "dT/dS is -");
    cls_audit_free(&a);
}

/* The Hessian of G in (v, T) of chambers is diag(1, 1/T1, 1/T2); T2 is 2.1 in the first row. With
 * 250 T1 v^2 masses and heat capacities are positive, and yet it is not convex. */
static void convexity_is_told(void **unused) {
    (void)unused;
    const char *columns = "time x v.x T1 T2";
    cls_audit *a = audit_text(CHAMBERS, columns, chambers_row, NULL);
    assert_true(fabs(law(a, "convexity")->value - 1 / 2.1) < 1e-15);
    assert_non_null(strstr(law(a, "convexity")->text, "convex: the smallest eigenvalue"));
    cls_audit_free(&a);
    a = audit_text("system \"bent\"\ncoordinate x\ntemperature T1, T2\n"
                   "thermal lagrangian 250*T1*v.x^2 + T1*(log(T1) - 1) + T2*(log(T2) - 1)\n",
                   columns, chambers_row, NULL);
    assert_true(law(a, "mass matrix")->passed && law(a, "heat capacity")->passed);
    assert_true(law(a, "convexity")->passed && law(a, "convexity")->value < 0);
    assert_non_null(strstr(law(a, "convexity")->text, "not convex"));
    cls_audit_free(&a);
}

static void momentum_row(size_t k, const void *unused, double *row) {
    (void)unused;
    row[0] = row[1] = 0.01 * (double)k;
    row[2] = 1 - row[1];
    row[3] = 1 + row[1];
}

/* A hamiltonian's Hessian is that in (p, S): diag(1, exp(S)), exp(1) in the first row; a reservoir
 * is convex, but not strictly; with S p^2/2 masses and heat capacities are positive and it is not
 * convex. */
static void convexity_of_a_hamiltonian(void **unused) {
    (void)unused;
    static const struct {
        const char *formula, *says;
        double value;
    } cases[] = {
        {"p.q^2/2 + exp(S)", "convex: the smallest eigenvalue of the Hessian in (p, S)", 1},
        {"p.q^2/2 + 3*S", "convex, not strictly", 0},
        {"S*p.q^2/2 + S^2/200 + S", "not convex", -0.62}};
    for (size_t i = 0; i < 3; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "system \"s\"\ncoordinate q\nentropy S in (0, 100)\nhamiltonian %s\n",
                 cases[i].formula);
        cls_audit *a = audit_text(text, "time q p.q S", momentum_row, NULL);
        const cls_law *found = law(a, "convexity");
        assert_true(found->passed && fabs(found->value - cases[i].value) < 0.01);
        if (!strstr(found->text, cases[i].says)) fail_msg("%s", found->text);
        assert_true(law(a, "mass matrix")->passed && law(a, "heat capacity")->passed);
        cls_audit_free(&a);
    }
}

/* Nothing moves in this table, so the path laws are trivial; the box around it is not. */
static void every_built_in_system_is_sound(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cls_builtin_count(); i++) {
        cls_system *s = NULL;
        cls_error error = {0};
        double state[64], row[64];
        const char *names[64];
        if (cls_system_load(cls_builtin_name(i), NULL, &s, &error)) fail_msg("%s", error.message);
        size_t columns = cls_system_column_count(s);
        assert_true(columns <= 64 && cls_system_state_count(s) <= 64);
        for (size_t c = 0; c < columns; c++) names[c] = cls_system_column(s, c);
        cls_assignments nothing = {0};
        if (cls_system_start(s, &nothing, state, &error)) fail_msg("%s", error.message);
        cls_table *t = NULL;
        assert_int_equal(cls_table_create(columns, names, &t, NULL), CLS_OK);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(cls_system_row(s, k, state, row, NULL), CLS_OK);
            assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
        }
        cls_audit_options o = cls_audit_defaults();
        o.beyond = 8; /* a tenth of each value, eight times as wide */
        cls_audit *a = audit_with(s, t, &o);
        assert_all_pass(a);
        assert_non_null(find_law(a, "columns"));
        cls_audit_free(&a);
        cls_table_free(&t);
        cls_system_free(&s);
    }
}

static void same_audit_twice_is_the_same(void **unused) {
    (void)unused;
    cls_audit *a = audit_text(OSCILLATOR, "time q v.q S", damped_row, NULL);
    cls_audit *b = audit_text(OSCILLATOR, "time q v.q S", damped_row, NULL);
    assert_int_equal(cls_audit_count(a), cls_audit_count(b));
    for (size_t i = 0; i < cls_audit_count(a); i++) {
        assert_string_equal(cls_audit_law(a, i)->text, cls_audit_law(b, i)->text);
        assert_true(cls_audit_law(a, i)->value == cls_audit_law(b, i)->value);
    }
    assert_null(cls_audit_law(a, cls_audit_count(a)));
    cls_audit_free(&a);
    cls_audit_free(&b);
}

/* Two rows of entropies that stand still. */
static cls_table *at_rest_of(const cls_system *s) {
    enum { MOST = 64 };
    size_t n = cls_system_state_count(s);
    const char *names[MOST] = {"time"};
    double row[MOST] = {0};
    cls_table *t = NULL;
    assert_true(n < MOST);
    for (size_t i = 0; i < n; i++) {
        names[i + 1] = cls_system_state_name(s, i);
        row[i + 1] = sin((double)i);
    }
    assert_int_equal(cls_table_create(n + 1, names, &t, NULL), CLS_OK);
    for (; row[0] < 2; row[0]++) assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
    return t;
}

/* Few elements are judged one by one, many by kinds: the same verdict. M has a null space, its pivots are
 * round-off there. */
static void friction_operator_of_few_and_of_many(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; k++) {
        int wrong = k % 2;
        char text[400];
        snprintf(text, sizeof text,
                 "parameter N = %d\nentropy s[1..N] with temperature T[1..N]\n"
                 "energy E = sum(i in 1..N: exp(s[i]))\n"
                 "for i in 1..N-1: dissipation %s/(T[i]*T[i+1]): s[i] <- T[i+1], s[i+1] <- -T[i]\n",
                 k < 2 ? 6 : 50, wrong ? "(1 - 2*mod(i, 2))" : "1");
        cls_system *s = system_from(text);
        cls_table *t = at_rest_of(s);
        cls_audit *a = audit_with(s, t, NULL);
        const cls_law *l = law(a, "friction operator");
        assert_int_equal(l->passed, !wrong);
        assert_true(wrong ? l->value < -0.1 : l->value == 0);
        cls_audit_free(&a);
        cls_table_free(&t);
        cls_system_free(&s);
    }
}

/* Names of laws without their subjects: "dissipation S[1]" and "dissipation" are one kind. */
static void kinds_of(const cls_audit *a, char *out, size_t room) {
    static const char *const subjects[] = {"dissipation", "heat exchange", "reservoir positive"};
    size_t used = 0;
    char last[64] = "";
    for (size_t i = 0; i < cls_audit_count(a) && used < room; i++) {
        char kind[64];
        snprintf(kind, sizeof kind, "%.63s", cls_audit_law(a, i)->name);
        for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++)
            if (!strncmp(kind, subjects[k], strlen(subjects[k]))) kind[strlen(subjects[k])] = 0;
        if (strcmp(kind, last)) used += (size_t)snprintf(out + used, room - used, "%s; ", kind);
        snprintf(last, sizeof last, "%s", kind);
    }
}

/* Few elements are judged one by one, many by kinds: the same laws, the same verdict. The values of a field
 * have an energy that need not be convex and no mass; velocities of coordinates have one beside other
 * states, too. */
static void laws_do_not_depend_on_the_size(void **unused) {
    (void)unused;
    static const char *const fields[] = {"kdv",          "allen-cahn",       "cahn-hilliard",
                                         "burgers",      "viscoelastic-bar", "fput",
                                         "elastic-beam", "battery-pack"};
    static const double sizes[] = {3, 9, 40, 41, 48}; /* states differ: n + m is N to 3 N */
    static double state[512];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char first[400] = "", kinds[400] = "";
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            cls_system *s = NULL;
            cls_error error = {0};
            const char *N = "N";
            cls_assignments set = {.n = 1, .names = &N, .values = &sizes[k]}, nothing = {0};
            if (cls_system_load(fields[i], &set, &s, &error)) fail_msg("%s", error.message);
            assert_int_equal(cls_system_start(s, &nothing, state, NULL), CLS_OK);
            size_t columns = cls_system_column_count(s);
            const char **names = calloc(columns, sizeof *names);
            double *row = calloc(columns, sizeof *row);
            for (size_t c = 0; c < columns; c++) names[c] = cls_system_column(s, c);
            cls_table *t = NULL;
            assert_int_equal(cls_table_create(columns, names, &t, NULL), CLS_OK);
            for (int at = 0; at < 2; at++) {
                assert_int_equal(cls_system_row(s, at, state, row, NULL), CLS_OK);
                assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
            }
            cls_audit_options o = cls_audit_defaults();
            o.samples = 64;
            cls_audit *a = audit_with(s, t, &o);
            for (size_t l = 0; l < cls_audit_count(a);
                 l++) { /* nothing moves: not the laws of paths */
                const cls_law *law = cls_audit_law(a, l);
                if (!law->passed && strcmp(law->name, "heat") &&
                    strcmp(law->name, "entropy.outside"))
                    fail_msg("%s, N = %g: %s: %s", fields[i], sizes[k], law->name, law->text);
            }
            kinds_of(a, k ? kinds : first, sizeof kinds);
            if (k && strcmp(kinds, first))
                fail_msg("%s, N = %g: %s, not %s", fields[i], sizes[k], kinds, first);
            cls_audit_free(&a);
            cls_table_free(&t);
            free(names);
            free(row);
            cls_system_free(&s);
        }
        assert_int_equal(strstr(first, "mass matrix") != NULL, i >= 4 && i < 7);
    }
}

/* A term that is linear in the velocities, in few coordinates and in many. */
static void rest_of_few_and_of_many(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; k++) {
        char text[200];
        snprintf(text, sizeof text,
                 "parameter N = %d\ncoordinate x[1..N]\n"
                 "lagrangian sum(i in 1..N: v.x[i]^2/2 + %s*v.x[i])\n",
                 k < 2 ? 6 : 50, k % 2 ? "sin(x[i])" : "0");
        cls_system *s = system_from(text);
        const char **names = calloc(102, sizeof *names);
        double row[102];
        cls_table *t = NULL;
        size_t n = cls_system_state_count(s);
        names[0] = "time";
        for (size_t i = 0; i < n; i++) {
            names[i + 1] = cls_system_state_name(s, i);
            row[i + 1] = 2 + sin((double)i);
        }
        assert_int_equal(cls_table_create(n + 1, names, &t, NULL), CLS_OK);
        for (row[0] = 0; row[0] < 2; row[0]++)
            assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
        cls_audit *a = audit_with(s, t, NULL);
        const cls_law *rest = law(a, "momentum at rest");
        assert_true(rest->passed && rest->finding);
        if (!strstr(rest->text, k % 2 ? "gyroscopic" : "is zero")) fail_msg("%s", rest->text);
        assert_true(k % 2 ? rest->value > 0.9 && rest->value <= 1 : rest->value == 0);
        cls_audit_free(&a);
        cls_table_free(&t);
        cls_system_free(&s);
        free(names);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_friction_is_caught),
        cmocka_unit_test(beyond_the_data_is_looked_at),
        cmocka_unit_test(box_stays_in_the_domain),
        cmocka_unit_test(not_finite_points_are_told),
        cmocka_unit_test(heat_exchange_sign),
        cmocka_unit_test(mass_matrix_sign),
        cmocka_unit_test(linear_states_have_no_mass),
        cmocka_unit_test(mass_matrix_of_a_quartic),
        cmocka_unit_test(momentum_at_rest_is_told),
        cmocka_unit_test(points_below_absolute_zero_are_no_states),
        cmocka_unit_test(round_off_is_no_crime),
        cmocka_unit_test(heat_capacity_sign),
        cmocka_unit_test(convexity_is_told),
        cmocka_unit_test(convexity_of_a_hamiltonian),
        cmocka_unit_test(every_built_in_system_is_sound),
        cmocka_unit_test(same_audit_twice_is_the_same),
        cmocka_unit_test(friction_operator_of_few_and_of_many),
        cmocka_unit_test(laws_do_not_depend_on_the_size),
        cmocka_unit_test(rest_of_few_and_of_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
