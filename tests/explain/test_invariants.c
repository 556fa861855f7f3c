/* Laws that nobody declared: found where they are, and none where there are none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <clausius/clausius.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static cls_invariants *find_in(const char *text, const char *scheme, double h) {
    cls_invariants_options o = cls_invariants_defaults();
    cls_system *s = NULL;
    cls_invariants *found = NULL;
    cls_error error = {0};
    int builtin = !strchr(text, '\n');
    if (builtin ? cls_system_load(text, NULL, &s, &error)
                : cls_system_parse(text, "own", NULL, &s, &error))
        fail_msg("%s", error.message);
    o.scheme = scheme;
    o.h = h;
    if (cls_invariants_find(s, NULL, &o, &found, &error)) fail_msg("%s", error.message);
    cls_system_free(&s);
    return found;
}

static cls_invariants *find(const char *text) {
    return find_in(text, NULL, 0);
}

static size_t count(const cls_invariants *f, cls_found_kind kind) {
    size_t n = 0;
    for (size_t i = 0; i < cls_invariants_count(f); i++) n += cls_invariants_at(f, i)->kind == kind;
    return n;
}

static const cls_found *with(const cls_invariants *f, const char *formula) {
    for (size_t i = 0; i < cls_invariants_count(f); i++)
        if (!strcmp(cls_invariants_at(f, i)->formula, formula)) return cls_invariants_at(f, i);
    fail_msg("%s was not found", formula);
    return NULL;
}

static void two_bodies_have_momentum_and_angular_momentum(void **unused) {
    (void)unused;
    cls_invariants *f = find("two-body");
    assert_int_equal(count(f, CLS_FOUND_LINEAR), 2);
    const cls_found *P = with(f, "p.x1 + p.x2"),
                    *L = with(f, "x1*p.y1 + x2*p.y2 - y1*p.x1 - y2*p.x2");
    assert_true(P->exact && P->digits > 14 && P->drift < 1e-12);
    assert_true(L->exact && L->digits > 13 && L->drift < 1e-12);
    assert_non_null(strstr(P->name, "x1, x2 shifted together"));
    assert_non_null(strstr(P->name, "Px"));
    assert_non_null(strstr(L->name, "rotation of (x1, y1), (x2, y2)"));
    cls_invariants_free(&f);
}

static void two_pistons_keep_g_although_friction_breaks_the_symmetry(void **unused) {
    (void)unused;
    cls_invariants *f = find("two-pistons");
    assert_int_equal(count(f, CLS_FOUND_LINEAR) + count(f, CLS_FOUND_QUADRATIC), 1);
    const cls_found *g = with(f, "0.1*x - 0.1*y + p.x - p.y"), *p = with(f, "p.x - p.y");
    assert_true(g->exact && g->drift < 1e-12);
    assert_int_equal(p->kind, CLS_FOUND_SYMMETRY);
    assert_true(p->rate > 1e-3);
    cls_invariants_free(&f);
}

static void a_body_has_its_casimir_and_a_gauge_of_its_own(void **unused) {
    (void)unused;
    cls_invariants *f = find("rigid-body");
    assert_int_equal(with(f, "mu1^2 + mu2^2 + mu3^2")->kind, CLS_FOUND_CASIMIR);
    assert_int_equal(count(f, CLS_FOUND_LINEAR) + count(f, CLS_FOUND_QUADRATIC), 0);
    assert_true(with(f, "G + S0*T")->open);
    assert_true(with(f, "G + T^2")->open); /* T = gamma H never changes */
    cls_invariants_free(&f);
    f = find("system \"no friction\"\nrigid body mu1, mu2, mu3 with velocity O1, O2, O3\n"
             "hamiltonian mu1^2/2 + mu2^2/4 + mu3^2/6\n"
             "start mu1 = 0.3, mu2 = 0.5, mu3 = 0.4\n");
    assert_true(with(f, "mu1^2 + mu2^2 + mu3^2")->exact);
    cls_invariants_free(&f);
}

static void gauge_directions_of_the_lemma_are_named(void **unused) {
    (void)unused;
    cls_invariants *f = find("adiabatic-piston");
    assert_int_equal(count(f, CLS_FOUND_GAUGE),
                     6); /* scale, two origins, null lagrangian, two phi */
    assert_true(with(f, "G + S0*T1")->open && with(f, "G + S0*T2")->open);
    assert_false(with(f, "G + v.df/dq for any f(q)")->open); /* G is even in v */
    assert_false(with(f, "G + T1*phi(q), with the frictions on T1 less T1*dphi/dq")->open);
    assert_int_equal(count(f, CLS_FOUND_LINEAR) + count(f, CLS_FOUND_QUADRATIC), 0);
    cls_invariants_free(&f);
}

/* What is named is true: the same motion after the change. */
static void follow(const char *G, const char *F, double *out) {
    char text[1000];
    cls_system *s = NULL;
    cls_error error = {0};
    cls_simulator *sim = NULL;
    cls_simulate_options o = cls_simulate_defaults();
    snprintf(text, sizeof text,
             "system \"gas\"\ncoordinate x in (-1, 5)\ntemperature T\n"
             "thermal lagrangian G = %s\nfriction F on T: x <- %s\n"
             "start x = 0.3, v.x = 0.4, T = 1.2\nstep 0.005\nuntil 2\n",
             G, F);
    if (cls_system_parse(text, "gas", NULL, &s, &error)) fail_msg("%s", error.message);
    double state[3] = {0.3, 0.4, 1.2};
    o.scheme = "bdf";
    o.h = 0.5;
    assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_OK);
    assert_int_equal(cls_simulator_start(sim, 0, state, &error), CLS_OK);
    if (cls_simulator_advance(sim, 4, &error)) fail_msg("%s", error.message);
    memcpy(out, cls_simulator_state(sim), sizeof state);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

static void gauge_directions_move_nothing(void **unused) {
    (void)unused;
    static const char *const changed[][2] = {
        {"2*(v.x^2/2 + T*(log((1 + x)*T) - 1))", "-0.4*v.x"},            /* scale */
        {"v.x^2/2 + T*(log((1 + x)*T) - 1) + 3*T", "-0.2*v.x"},          /* origin */
        {"v.x^2/2 + T*(log((1 + x)*T) - 1) + 2*x*v.x", "-0.2*v.x"},      /* null lagrangian */
        {"v.x^2/2 + T*(log((1 + x)*T) - 1) + T*x^2", "-0.2*v.x - 2*T*x"} /* potential */
    };
    double truth[3], z[3];
    follow("v.x^2/2 + T*(log((1 + x)*T) - 1)", "-0.2*v.x", truth);
    for (int i = 0; i < 4; i++) {
        follow(changed[i][0], changed[i][1], z);
        for (int k = 0; k < 3; k++) assert_true(fabs(z[k] - truth[k]) < 1e-8);
    }
    follow("v.x^2/2 + T*(log((1 + x)*T) - 1) + 0.1*T^2", "-0.2*v.x", z); /* not one of them */
    assert_true(fabs(z[0] - truth[0]) > 1e-4);
}

static void nothing_is_found_where_there_is_nothing(void **unused) {
    (void)unused;
    static const char *const none[] = {
        "pendulum", "damped-oscillator", "van-der-waals-piston", "thermal-oscillator",
        /* slow, nearly harmonic, nearly symmetric: no invariants all the same */
        "system \"slow\"\ncoordinate q, r\nentropy S\n"
        "hamiltonian p.q^2/2 + 1e-6*p.r^2 + q^2/2 + 0.01*q^4 + 1e-5*r^2 + 1e-3*q*r + exp(S)\n"
        "friction F on S: q <- -1e-3*v.q, r <- -1e-4*v.r\n"
        "start q = 0.1, p.q = 0, r = 0.1, p.r = 0.1, S = 0\n",
        "system \"nearly central\"\ncoordinate x, y\n"
        "hamiltonian (p.x^2 + p.y^2)/2 + (x^2 + 1.001*y^2)/2 + 0.1*(x^2 + y^2)^2\n"
        "start x = 1, y = 0.2, p.x = 0, p.y = 0.5\n"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        cls_invariants *f = find(none[i]);
        for (size_t k = 0; k < cls_invariants_count(f); k++)
            if (cls_invariants_at(f, k)->kind <= CLS_FOUND_QUADRATIC)
                fail_msg("%s: %s", none[i], cls_invariants_at(f, k)->formula);
        cls_invariants_free(&f);
    }
}

static void other_laws_that_were_not_thought_of(void **unused) {
    (void)unused;
    /* isotropic springs: Fradkin's tensor */
    cls_invariants *f = find("system \"isotropic\"\ncoordinate x, y\n"
                             "hamiltonian (p.x^2 + p.y^2)/2 + (x^2 + y^2)/2\n"
                             "start x = 1, y = 0.2, p.x = 0, p.y = 0.5\n");
    assert_int_equal(count(f, CLS_FOUND_QUADRATIC), 3);
    assert_true(with(f, "x*y + p.x*p.y")->exact);
    cls_invariants_free(&f);
    /* a single product whose rates cancel; no structure at all */
    f = find("system \"saddle\"\node a' = a\node b' = -b\nstart a = 1, b = 2\n");
    assert_true(with(f, "a*b")->exact);
    cls_invariants_free(&f);
}

/* The discrete Noether theorem: momenta of translations and rotations, found from steps alone. */
static void steps_keep_the_momenta_of_symmetries(void **unused) {
    (void)unused;
    static const char *const schemes[] = {"dtel", "discrete-gradient", "leapfrog"};
    for (int i = 0; i < 3; i++) {
        cls_invariants *f = find_in("two-body", schemes[i], 0.1);
        const cls_found *P = with(f, "p.x1 + p.x2"),
                        *L = with(f, "x1*p.y1 + x2*p.y2 - y1*p.x1 - y2*p.x2");
        assert_true(P->exact && P->drift <= 1e-12 && L->exact && L->drift <= 1e-12);
        assert_non_null(strstr(P->name, "x1, x2 shifted together"));
        assert_non_null(strstr(L->name, "rotation of (x1, y1), (x2, y2)"));
        assert_int_equal(count(f, CLS_FOUND_SYMMETRY), 0);
        cls_invariants_free(&f);
        f = find_in("two-pistons", schemes[i], 0.1);
        if (i < 2) assert_true(with(f, "0.1*x - 0.1*y + p.x - p.y")->drift <= 1e-12);
        assert_int_equal(count(f, CLS_FOUND_LINEAR), 1); /* leapfrog has one of its own */
        assert_true(with(f, "p.x - p.y")->rate > 1e-3);
        cls_invariants_free(&f);
    }
}

static void a_scheme_may_lose_what_the_motion_keeps(void **unused) {
    (void)unused;
    cls_invariants *f = find_in("two-body", "rk4", 0.1);
    size_t lost = 0;
    with(f, "p.x1 + p.x2");
    for (size_t i = 0; i < cls_invariants_count(f); i++) {
        const cls_found *w = cls_invariants_at(f, i);
        lost += w->kind == CLS_FOUND_SYMMETRY && strstr(w->why, "the scheme does not") &&
                strstr(w->name, "rotation") && w->drift > 1e-10;
    }
    assert_int_equal(lost, 2);
    cls_invariants_free(&f);
}

/* x by a factor, y by its inverse. */
static void scalings_are_symmetries(void **unused) {
    (void)unused;
    static const char text[] = "system \"saddle\"\ncoordinate x, y\nhamiltonian p.x*p.y + x*y\n"
                               "start x = 1, y = 0.5, p.x = 0.2, p.y = -0.3\nstep 0.1\n";
    static const char *const schemes[] = {NULL, "dtel", "discrete-gradient"};
    for (int i = 0; i < 3; i++) {
        cls_invariants *f = find_in(text, schemes[i], 0.1);
        const cls_found *c = with(f, "x*p.x - y*p.y");
        assert_non_null(strstr(c->name, "scaling of x by 1, y by -1"));
        assert_true(c->exact && c->drift <= 1e-12);
        cls_invariants_free(&f);
    }
}

static void steps_that_are_not_a_map_are_refused(void **unused) {
    (void)unused;
    cls_invariants_options o = cls_invariants_defaults();
    cls_invariants *f = NULL;
    cls_error error = {0};
    cls_system *s = NULL;
    o.scheme = "langevin";
    assert_int_equal(cls_system_load("brownian-particle", NULL, &s, &error), CLS_OK);
    assert_int_equal(cls_invariants_find(s, NULL, &o, &f, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "thermal noise"));
    cls_system_free(&s);
    o.scheme = "dtel";
    assert_int_equal(cls_system_load("rigid-body", NULL, &s, &error), CLS_OK);
    assert_int_equal(cls_invariants_find(s, NULL, &o, &f, &error), CLS_USAGE);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_keep_the_momenta_of_symmetries),
        cmocka_unit_test(a_scheme_may_lose_what_the_motion_keeps),
        cmocka_unit_test(scalings_are_symmetries),
        cmocka_unit_test(steps_that_are_not_a_map_are_refused),
        cmocka_unit_test(two_bodies_have_momentum_and_angular_momentum),
        cmocka_unit_test(two_pistons_keep_g_although_friction_breaks_the_symmetry),
        cmocka_unit_test(a_body_has_its_casimir_and_a_gauge_of_its_own),
        cmocka_unit_test(gauge_directions_of_the_lemma_are_named),
        cmocka_unit_test(gauge_directions_move_nothing),
        cmocka_unit_test(nothing_is_found_where_there_is_nothing),
        cmocka_unit_test(other_laws_that_were_not_thought_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
