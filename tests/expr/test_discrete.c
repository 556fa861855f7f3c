/* The discrete gradient: V(u) - V(w) = gbar.(u - w) to round-off, symmetric to the bit, the
 * gradient where u = w, second order in u - w, sane at every distance; against an independent ADD
 * in long double, against stored 20-digit values, and its Jacobian against the complex step.
 * (discrete_reference.h: the size of the terms, too, to which round-off is proportional.) */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/expr/discrete_reference.h"
#include "tests/expr/random_graph.h"
#include <float.h>
#include <stdio.h>

enum { DIM = REFERENCE_DIM }; /* two bodies in space */

typedef struct setup {
    cls_graph *g;
    size_t n;
    cls_node s[DIM], uw[2 * DIM]; /* V's symbols; u then w, n each */
} setup;

static setup open_graph(size_t n) {
    setup t = {.n = n};
    assert_int_equal(cls_graph_create(NULL, &t.g, NULL), CLS_OK);
    for (size_t i = 0; i < n; i++) t.s[i] = cls_symbol(t.g, (char[3]){'q', (char)('0' + i), 0});
    for (size_t i = 0; i < n; i++) {
        t.uw[i] = cls_symbol(t.g, (char[3]){'u', (char)('0' + i), 0});
        t.uw[n + i] = cls_symbol(t.g, (char[3]){'w', (char)('0' + i), 0});
    }
    return t;
}

static void discrete_gradient(const setup *t, cls_node a, cls_node *gbar) {
    assert_int_equal(cls_discrete_gradient(t->g, a, t->n, t->s, t->uw, t->uw + t->n, gbar), CLS_OK);
}

/* gbar at (u, w). */
static void discrete_values(const setup *t, const cls_node *gbar, const double *u, const double *w,
                            double *out) {
    double x[2 * DIM];
    memcpy(x, u, t->n * sizeof *x);
    memcpy(x + t->n, w, t->n * sizeof *x);
    assert_true(library_values(t->g, t->n, gbar, 2 * t->n, t->uw, x, out));
}

static double value(const setup *t, cls_node a, const double *x) {
    double v;
    assert_true(library_values(t->g, 1, &a, t->n, t->s, x, &v));
    return v;
}

static reference reference_of(const setup *t, cls_node a, const double *u, const double *w) {
    return reference_gradient(t->g, t->n, t->s, a, u, w);
}

/* ---- the laws ---- */

/* V(u) - V(w) - gbar.(u - w), and the sum of the sizes of its terms. */
static long double defect(const setup *t, cls_node a, const double *gbar, const double *u,
                          const double *w, long double *terms) {
    long double vu = value(t, a, u), vw = value(t, a, w), sum = vu - vw;
    *terms = fabsl(vu) + fabsl(vw);
    for (size_t i = 0; i < t->n; i++) {
        long double term = (long double)gbar[i] * ((long double)u[i] - w[i]);
        sum -= term;
        *terms += fabsl(term);
    }
    return fabsl(sum);
}

static void check_symmetry(const setup *t, const cls_node *gbar, const double *u, const double *w) {
    double uw[DIM], wu[DIM];
    discrete_values(t, gbar, u, w, uw);
    discrete_values(t, gbar, w, u, wu);
    assert_memory_equal(uw, wu, t->n * sizeof *uw);
}

static void check_at_equal_points(const setup *t, cls_node a, const cls_node *gbar,
                                  const double *u) {
    cls_node gradient[DIM];
    double equal[DIM], d[DIM];
    assert_int_equal(cls_gradient(t->g, a, t->n, t->s, gradient), CLS_OK);
    assert_true(library_values(t->g, t->n, gradient, t->n, t->s, u, d));
    discrete_values(t, gbar, u, u, equal);
    reference ref = reference_of(t, a, u, u);
    for (size_t i = 0; i < t->n; i++) {
        if (fabsl(equal[i] - (long double)d[i]) <= 1e-14L * ref.size[i]) continue;
        char *text = cls_print(t->g, a);
        fail_msg("%s at %.17g..: gradient[%zu] %.17g, discrete %.17g", text, u[0], i, d[i],
                 equal[i]);
    }
}

static void check_reference(const setup *t, cls_node a, const double *gbar, const double *u,
                            const double *w) {
    reference ref = reference_of(t, a, u, w);
    long double terms;
    /* 1e-14: next to its zero a slope has the rounding of its argument, sin'(x) = 1e-6 at pi/2 */
    for (size_t i = 0; i < t->n; i++)
        if (!(fabsl(gbar[i] - ref.gbar[i]) <= 1e-13L * ref.size[i] + 1e-14L)) {
            char *text = cls_print(t->g, a);
            fail_msg("gbar[%zu] of %s at u %.17g.. w %.17g..: %.17g, not %.17Lg (terms %.3Lg)", i,
                     text, u[0], w[0], gbar[i], ref.gbar[i], ref.size[i]);
        }
    long double d = defect(t, a, gbar, u, w, &terms);
    if (!(d <= 2 * DBL_EPSILON * (ref.terms + terms))) {
        char *text = cls_print(t->g, a);
        fail_msg("identity of %s at u %.17g.. w %.17g..: off by %.3Lg, terms %.3Lg", text, u[0],
                 w[0], d, ref.terms);
    }
}

/* One operation alone: the identity to so many ulp of its terms. */
static void check_exact(const setup *t, cls_node a, const double *u, const double *w,
                        double units) {
    cls_node gbar[DIM];
    double v[DIM];
    long double terms;
    discrete_gradient(t, a, gbar);
    discrete_values(t, gbar, u, w, v);
    long double d = defect(t, a, v, u, w, &terms);
    if (!(d <= units * DBL_EPSILON * terms)) {
        char *text = cls_print(t->g, a);
        fail_msg("%s at u %.17g w %.17g: %.3Lg units", text, u[0], w[0], d / terms / DBL_EPSILON);
    }
    check_symmetry(t, gbar, u, w);
}

/* A second point at a distance that is 1, or much smaller than that, or nothing. */
static double near(cls_random *r, double x, double low, double high) {
    double y = cls_random_uniform(r) < 0.3 ? low + (high - low) * cls_random_uniform(r)
                                           : x + pow(10, -18 * cls_random_uniform(r));
    return y >= low && y <= high ? y : x;
}

static void test_every_function(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 31);
    for (int f = 0; f < CLS_FN_POWER; f++) {
        setup t = open_graph(1);
        double low, high;
        tame_domain((cls_function)f, &low, &high);
        cls_node a = cls_apply(t.g, (cls_function)f, t.s[0]), gbar[1];
        discrete_gradient(&t, a, gbar);
        for (int k = 0; k < 200; k++) {
            double u = low + (high - low) * cls_random_uniform(&r);
            double w = near(&r, u, low, high);
            check_exact(&t, a, &u, &w, 2);
            check_at_equal_points(&t, a, gbar, &u);
        }
        cls_graph_free(&t.g);
    }
}

static void test_powers(void **state) {
    (void)state;
    static const double exponents[] = {2,  3,  4,    5,   7,       12,  -1,
                                       -2, -3, -4.0, 0.5, 2.0 / 3, 1.4, -2.5};
    cls_random r;
    cls_random_seed(&r, 32);
    setup t = open_graph(1);
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
        double c = exponents[e];
        /* x^12 by multiplication carries up to 11 half units itself */
        double units = fmax(2, fabs(c) / 2);
        cls_node a = cls_pow(t.g, t.s[0], cls_constant(t.g, c)), gbar[1];
        discrete_gradient(&t, a, gbar);
        for (int k = 0; k < 200; k++) {
            double u = 0.2 + 3 * cls_random_uniform(&r), w = near(&r, u, 0.2, 4);
            check_exact(&t, a, &u, &w, units);
            check_at_equal_points(&t, a, gbar, &u);
            if (c != floor(c)) continue;
            w = -w; /* across zero */
            check_exact(&t, a, &u, &w, units);
        }
    }
    cls_graph_free(&t.g);
}

static void test_products_and_divisions(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 33);
    setup t = open_graph(2);
    const cls_node a[] = {cls_mul(t.g, t.s[0], t.s[1]), cls_div(t.g, t.s[0], t.s[1]),
                          cls_add(t.g, t.s[0], t.s[1]), cls_sub(t.g, t.s[0], t.s[1]),
                          cls_mul(t.g, cls_constant(t.g, -3), t.s[1])};
    for (size_t c = 0; c < sizeof a / sizeof *a; c++)
        for (int k = 0; k < 500; k++) {
            double u[2] = {cls_random_normal(&r), 0.2 + 3 * cls_random_uniform(&r)};
            double w[2] = {near(&r, u[0], -4, 4), near(&r, u[1], 0.2, 4)};
            check_exact(&t, a[c], u, w, 2);
        }
    cls_graph_free(&t.g);
}

/* V over 1 to 4 variables at points of all distances, w = u + distance * direction. */
static void test_random(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 34);
    for (int round = 0; round < 1200; round++) {
        setup t = open_graph(1 + random_below(&r, TAME_DIM));
        double x[TAME_POINTS * TAME_DIM], v[DIM], *u = x;
        for (size_t i = 0; i < t.n; i++) u[i] = 3 * cls_random_uniform(&r) - 1.5;
        for (size_t p = 1; p < TAME_POINTS; p++)
            for (size_t i = 0; i < t.n; i++)
                x[p * t.n + i] = u[i] + pow(10, -2.5 * (double)(p - 1)) * cls_random_normal(&r);
        cls_node gbar[DIM];
        cls_node a = tame_expression(t.g, &r, t.n, t.s, TAME_POINTS, x, 1 + random_below(&r, 9));
        discrete_gradient(&t, a, gbar);
        for (size_t p = 1; p < TAME_POINTS; p++) {
            const double *w = x + p * t.n;
            discrete_values(&t, gbar, u, w, v);
            check_reference(&t, a, v, u, w);
            check_symmetry(&t, gbar, u, w);
        }
        check_at_equal_points(&t, a, gbar, u);
        cls_graph_free(&t.g);
    }
}

/* |gbar - gradient(midpoint)| as a multiple of the terms, u and w = centre +- distance/2. */
static long double midpoint_error(const setup *t, const cls_node *gbar, const cls_node *gradient,
                                  cls_node a, const double *centre, const double *direction,
                                  double distance) {
    double u[DIM], w[DIM], m[DIM], v[DIM], d[DIM];
    for (size_t i = 0; i < t->n; i++) {
        u[i] = centre[i] + 0.5 * distance * direction[i];
        w[i] = centre[i] - 0.5 * distance * direction[i];
        m[i] = 0.5 * u[i] + 0.5 * w[i];
    }
    discrete_values(t, gbar, u, w, v);
    assert_true(library_values(t->g, t->n, gradient, t->n, t->s, m, d));
    reference ref = reference_of(t, a, m, m);
    long double worst = 0;
    for (size_t i = 0; i < t->n; i++) {
        long double e = fabsl((long double)v[i] - d[i]) / (1 + ref.size[i]);
        assert_true(e >= 0);
        if (e > worst) worst = e;
    }
    return worst;
}

/* Second order from 0.1 down, round-off below, to the smallest distances there are: around zero,
 * where 1e-300 is a distance, and around a general point, where nothing is below 1e-16. */
static void test_distances(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 35);
    for (int round = 0; round < 300; round++) {
        setup t = open_graph(1 + random_below(&r, TAME_DIM));
        double centre[DIM] = {0}, direction[DIM], x[3 * TAME_DIM];
        for (size_t i = 0; i < t.n; i++) {
            direction[i] = 2 * cls_random_uniform(&r) - 1;
            if (round % 2) centre[i] = 3 * cls_random_uniform(&r) - 1.5;
            x[i] = centre[i];
            x[t.n + i] = centre[i] + 0.05 * direction[i];
            x[2 * t.n + i] = centre[i] - 0.05 * direction[i];
        }
        cls_node gbar[DIM], gradient[DIM];
        cls_node a = tame_expression(t.g, &r, t.n, t.s, 3, x, 1 + random_below(&r, 7));
        discrete_gradient(&t, a, gbar);
        assert_int_equal(cls_gradient(t.g, a, t.n, t.s, gradient), CLS_OK);
        long double constant = 0;
        for (int k = 0; k < 3; k++) {
            double h = ldexp(0.1, -k);
            long double e = midpoint_error(&t, gbar, gradient, a, centre, direction, h) / (h * h);
            if (e > constant) constant = e;
        }
        for (double h = 3e-3; h > 1e-301; h *= h > 1e-18 ? 0.1 : 1e-20) {
            long double e = midpoint_error(&t, gbar, gradient, a, centre, direction, h);
            if (!(e <= 4 * constant * h * h + 2e-14L)) {
                char *text = cls_print(t.g, a);
                fail_msg("%s at distance %g: %.3Lg, constant %.3Lg", text, h, e, constant);
            }
        }
        cls_graph_free(&t.g);
    }
}

/* The same nodes on both sides: the gradient, by difference quotients that are derivatives. */
static void test_same_nodes(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 38);
    for (int round = 0; round < 500; round++) {
        setup t = open_graph(1 + random_below(&r, TAME_DIM));
        double u[DIM], d[DIM], e[DIM];
        cls_node gradient[DIM], same[DIM];
        for (size_t i = 0; i < t.n; i++) u[i] = 3 * cls_random_uniform(&r) - 1.5;
        cls_node a = tame_expression(t.g, &r, t.n, t.s, 1, u, 1 + random_below(&r, 6));
        assert_int_equal(cls_gradient(t.g, a, t.n, t.s, gradient), CLS_OK);
        assert_int_equal(cls_discrete_gradient(t.g, a, t.n, t.s, t.s, t.s, same), CLS_OK);
        assert_true(library_values(t.g, t.n, gradient, t.n, t.s, u, d));
        assert_true(library_values(t.g, t.n, same, t.n, t.s, u, e));
        reference ref = reference_of(&t, a, u, u);
        for (size_t i = 0; i < t.n; i++) {
            if (fabsl(e[i] - (long double)d[i]) <= 1e-14L * ref.size[i]) continue;
            char *text = cls_print(t.g, a);
            fail_msg("%s at %.17g..: gradient[%zu] %.17g, discrete %.17g", text, u[0], i, d[i],
                     e[i]);
        }
        cls_graph_free(&t.g);
    }
}

/* u and w may be any nodes: numbers, expressions, one fixed and one free. */
static void test_any_nodes(void **state) {
    (void)state;
    setup t = open_graph(2);
    cls_graph *g = t.g;
    cls_node power = cls_pow(g, t.s[0], t.s[1]), out[2];
    const cls_node u[2] = {cls_constant(g, 1.7), cls_constant(g, 3)};
    const cls_node w[2] = {cls_constant(g, 0.9), cls_constant(g, 2)};
    assert_int_equal(cls_discrete_gradient(g, power, 2, t.s, u, w, out), CLS_OK);
    double v[2];
    assert_true(library_values(g, 2, out, 0, NULL, NULL, v));
    assert_true(fabs(v[0] * 0.8 + v[1] - (pow(1.7, 3) - pow(0.9, 2))) < 1e-14);
    /* p constant at both ends */
    const cls_node free_w[2] = {t.uw[2], u[1]};
    assert_int_equal(cls_discrete_gradient(g, power, 2, t.s, u, free_w, out), CLS_OK);
    const double x[4] = {0, 0, 0.9, 0};
    assert_true(library_values(g, 2, out, 4, t.uw, x, v));
    assert_true(fabs(v[0] * 0.8 - (pow(1.7, 3) - pow(0.9, 3))) < 1e-14);
    cls_graph_free(&t.g);
}

/* A symbol that is not listed is the same on both sides. */
static void test_parameters(void **state) {
    (void)state;
    setup t = open_graph(1);
    cls_graph *g = t.g;
    cls_node k = cls_symbol(g, "k"), gbar, all[3] = {t.uw[0], t.uw[1], k};
    cls_node a = cls_add(g, cls_mul(g, k, cls_apply(g, CLS_FN_COS, t.s[0])),
                         cls_add(g, cls_div(g, t.s[0], k), cls_pow(g, t.s[0], k)));
    assert_int_equal(cls_discrete_gradient(g, a, 1, t.s, t.uw, t.uw + 1, &gbar), CLS_OK);
    const double x[3] = {1.5, 0.4, 2.5};
    double v, vu = 2.5 * cos(1.5) + 1.5 / 2.5 + pow(1.5, 2.5),
              vw = 2.5 * cos(0.4) + 0.4 / 2.5 + pow(0.4, 2.5);
    assert_true(library_values(g, 1, &gbar, 3, all, x, &v));
    assert_true(fabs(v * 1.1 - (vu - vw)) < 4e-15);
    cls_graph_free(&t.g);
}

/* ---- physics ---- */

static void cross(const double *a, const double *b, long double *out) {
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] += (long double)a[j] * b[k] - (long double)a[k] * b[j];
    }
}

/* Pair potentials through rho = d.d: the forces of the bodies on each other are opposite to the
 * bit (momentum), and with means of the positions they exert no torque (angular momentum). */
static void test_two_bodies(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 36);
    for (int kind = 0; kind < 4; kind++) {
        setup t = open_graph(6);
        cls_graph *g = t.g;
        cls_node rho = cls_constant(g, 0), two = cls_constant(g, 2), gbar[DIM];
        for (size_t i = 0; i < 3; i++)
            rho = cls_add(g, rho, cls_pow(g, cls_sub(g, t.s[i], t.s[3 + i]), two));
        cls_node root = cls_apply(g, CLS_FN_SQRT, rho), one = cls_constant(g, 1);
        const cls_node potentials[4] = {
            cls_div(g, cls_constant(g, -2.5), root), cls_pow(g, cls_sub(g, root, one), two),
            cls_apply(g, CLS_FN_LOG, rho),
            cls_sub(g, cls_pow(g, rho, cls_constant(g, -6)), cls_pow(g, rho, cls_constant(g, -3)))};
        discrete_gradient(&t, potentials[kind], gbar);
        for (int sample = 0; sample < 200; sample++) {
            double u[6], w[6], v[6], mean[6];
            for (size_t i = 0; i < 6; i++) {
                u[i] = cls_random_normal(&r) + (i == 0) * 3;
                w[i] = u[i] + 0.3 * cls_random_normal(&r);
                mean[i] = 0.5 * (u[i] + w[i]);
            }
            discrete_values(&t, gbar, u, w, v);
            long double torque[3] = {0, 0, 0}, scale = 0;
            cross(mean, v, torque);
            cross(mean + 3, v + 3, torque);
            for (size_t i = 0; i < 3; i++) {
                assert_true(v[i] == -v[3 + i] && v[i] != 0);
                for (size_t j = 0; j < 3; j++)
                    scale += (fabs(mean[i]) + fabs(mean[3 + i])) * fabs(v[j]);
            }
            for (size_t i = 0; i < 3; i++) assert_true(fabsl(torque[i]) < 4 * DBL_EPSILON * scale);
            check_symmetry(&t, gbar, u, w);
        }
        cls_graph_free(&t.g);
    }
}

/* ---- stored values ---- */

#define REFERENCE_FILE CLSI_SOURCE_DIR "/tests/reference/a2_scheme12_reference.csv"

/* The network that the first line of the file describes, with three neurons a layer. */
static cls_node network(const setup *t) {
    enum { WIDTH = 3 };
    cls_graph *g = t->g;
    cls_node layer[WIDTH], sum = cls_constant(g, 0);
    for (int i = 0; i < WIDTH; i++) {
        cls_node z = cls_constant(g, 0.1 * (i + 1));
        for (int j = 0; j < 2; j++)
            z = cls_add(g, z, cls_mul(g, cls_constant(g, sin(1 + i + 2 * j)), t->s[j]));
        layer[i] = cls_apply(g, CLS_FN_TANH, z);
    }
    for (int i = 0; i < WIDTH; i++) {
        cls_node z = cls_constant(g, -0.2 * (i + 1));
        for (int j = 0; j < WIDTH; j++)
            z = cls_add(g, z, cls_mul(g, cls_constant(g, cos(1 + 2 * i + j)), layer[j]));
        z = cls_apply(g, CLS_FN_TANH, z);
        sum = cls_add(g, sum, cls_mul(g, cls_constant(g, 0.5 + 0.3 * i), z));
    }
    cls_node two = cls_constant(g, 2), first = cls_pow(g, t->s[0], two);
    cls_node second = cls_mul(g, two, cls_pow(g, t->s[1], two));
    return cls_add(g, sum, cls_div(g, cls_add(g, first, second), two));
}

static void test_stored_values(void **state) {
    (void)state;
    FILE *file = fopen(REFERENCE_FILE, "r");
    assert_non_null(file);
    char line[512];
    double u[2], w[2], vu = NAN, vw = NAN, expected[2] = {NAN, NAN}, got[2];
    int found = 0;
    while (fgets(line, sizeof line, file)) {
        found += sscanf(line, "u=%lf,%lf v=%lf,%lf", &u[0], &u[1], &w[0], &w[1]) == 4;
        found += sscanf(line, "V(u)=%lf", &vu) == 1;
        found += sscanf(line, "V(v)=%lf", &vw) == 1;
        found += sscanf(line, "dgrad_ADD(u,v)=%lf,%lf", &expected[0], &expected[1]) == 2;
    }
    fclose(file);
    assert_int_equal(found, 4);
    setup t = open_graph(2);
    cls_node a = network(&t), gbar[2];
    discrete_gradient(&t, a, gbar);
    discrete_values(&t, gbar, u, w, got);
    assert_true(fabs(value(&t, a, u) - vu) <= 1e-14 * fabs(vu));
    assert_true(fabs(value(&t, a, w) - vw) <= 1e-14 * fabs(vw));
    for (int i = 0; i < 2; i++)
        assert_true(fabs(got[i] - expected[i]) <= 1e-14 * fabs(expected[i]));
    cls_graph_free(&t.g);
}

/* ---- the Jacobian, which a Newton step needs ---- */

/* d gbar / du at points where all quotients are of arguments well apart; 1 if compared. */
static int check_jacobian(const setup *t, const cls_node *gbar, const double *uw) {
    cls_node jacobian[DIM * DIM];
    double v[DIM * DIM];
    assert_int_equal(cls_jacobian(t->g, t->n, gbar, t->n, t->uw, jacobian), CLS_OK);
    assert_true(library_values(t->g, t->n * t->n, jacobian, 2 * t->n, t->uw, uw, v));
    oracle o;
    oracle_open(&o, t->g);
    int compared = 1;
    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0; j < t->n; j++) {
            long double size, d = oracle_derivative(&o, gbar[i], 2 * t->n, t->uw, uw, j, &size);
            if (isnan(d)) compared = 0; /* two arguments too close for the plain quotient */
            double got = v[i * t->n + j];
            if (compared && !(fabsl(got - d) <= 1e-12L * size + 1e-14L)) {
                char *text = cls_print(t->g, gbar[i]);
                fail_msg("d/du[%zu] of %s: %.17g, not %.17Lg (terms %.3Lg)", j, text, got, d, size);
            }
        }
    oracle_close(&o);
    return compared;
}

static void test_jacobian(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 37);
    int compared = 0;
    for (int f = 0; f < CLS_FN_POWER; f++) {
        setup t = open_graph(1);
        double low, high;
        tame_domain((cls_function)f, &low, &high);
        low = fmax(low, -3);  /* beyond, tanh and others are flat and the plain quotient is not */
        high = fmin(high, 3); /* accurate, not even in long double */
        cls_node gbar[1];
        discrete_gradient(&t, cls_apply(t.g, (cls_function)f, t.s[0]), gbar);
        for (int k = 0; k < 100; k++) {
            double uw[2] = {low + (high - low) * cls_random_uniform(&r),
                            low + (high - low) * cls_random_uniform(&r)};
            compared += check_jacobian(&t, gbar, uw);
        }
        cls_graph_free(&t.g);
    }
    assert_true(compared > 1500);
    compared = 0;
    for (int round = 0; round < 600; round++) {
        setup t = open_graph(1 + random_below(&r, 3));
        double uw[2 * DIM];
        cls_node gbar[DIM];
        for (size_t i = 0; i < 2 * t.n; i++) uw[i] = 3 * cls_random_uniform(&r) - 1.5;
        cls_node a = tame_expression(t.g, &r, t.n, t.s, 2, uw, 1 + random_below(&r, 6));
        discrete_gradient(&t, a, gbar);
        compared += check_jacobian(&t, gbar, uw);
        cls_graph_free(&t.g);
    }
    assert_true(compared > 200);
}

/* A difference quotient has no discrete gradient: said, not guessed. */
static void test_refused(void **state) {
    (void)state;
    setup t = open_graph(2);
    cls_error error = {0};
    cls_node out[2];
    cls_node a = cls_quotient(t.g, CLS_FN_EXP, 1, 1, t.s[0], t.s[1], 0);
    assert_int_equal(cls_discrete_gradient(t.g, a, 2, t.s, t.uw, t.uw + 2, out), CLS_USAGE);
    assert_int_equal(cls_graph_status(t.g, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "quotient"));
    cls_graph_free(&t.g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function),
        cmocka_unit_test(test_powers),
        cmocka_unit_test(test_products_and_divisions),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_any_nodes),
        cmocka_unit_test(test_same_nodes),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_two_bodies),
        cmocka_unit_test(test_stored_values),
        cmocka_unit_test(test_jacobian),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
