/* Brackets: momenta without coordinates, positions without momenta. */
#include "system/system.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static cls_system *parse(const char *text) {
    cls_system *s = NULL;
    cls_error error = {0};
    if (cls_system_parse(text, "test.clausius", NULL, &s, &error) != CLS_OK)
        fail_msg("%s", error.message);
    return s;
}

static void refused(const char *text, const char *because) {
    cls_system *s = NULL;
    cls_error error = {0};
    assert_int_equal(cls_system_parse(text, "test.clausius", NULL, &s, &error), CLS_SYSTEM);
    assert_null(s);
    if (!strstr(error.message, because)) fail_msg("no '%s' in: %s", because, error.message);
}

/* The rates K v and P v - K^T E_q at numbers, by evaluating the bound brackets. */
static void rates(const cls_system *s, const double *z, double *q, double *p) {
    const clsi_form *f = s->form;
    cls_node nodes[32];
    double out[32], work[4096];
    clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t};
    assert_int_equal(clsi_brackets_at(s, &s->bound, &at, f->energy_q, nodes, nodes + s->nq),
                     CLS_OK);
    cls_program *program = NULL;
    assert_int_equal(cls_program_create(s->g, f->nz, f->z, s->nq + s->n, nodes, &program, NULL),
                     CLS_OK);
    assert_true(cls_program_work_size(program) <= 4096);
    cls_program_prepare(program, work);
    cls_program_run(program, work, z, out);
    for (size_t i = 0; i < s->nq; i++) q[i] = out[i];
    for (size_t j = 0; j < s->n; j++) p[j] = -out[s->nq + j];
    cls_program_free(&program);
}

static void cross(const double *a, const double *b, double sign, double *out) {
    out[0] += sign * (a[1] * b[2] - a[2] * b[1]);
    out[1] += sign * (a[2] * b[0] - a[0] * b[2]);
    out[2] += sign * (a[0] * b[1] - a[1] * b[0]);
}

static void equal(size_t n, const double *a, const double *b) {
    for (size_t i = 0; i < n; i++) assert_true(fabs(a[i] - b[i]) < 1e-15);
}

static void test_rotations(void **state) {
    (void)state;
    cls_system *s = parse("momentum a, b, c with velocity u, v, w\n"
                          "hamiltonian a^2/2 + b^2/4 + c^2/6\nalgebra so(3) on a, b, c\n"
                          "start a = 1, v = 2, c = 3\n");
    double z[3] = {0.3, -0.7, 1.1}, v[3] = {0.3, -0.35, 1.1 / 3}, p[3], want[3] = {0};
    rates(s, z, NULL, p);
    cross(z, v, 1, want);
    equal(3, p, want);
    assert_int_equal(cls_system_state_count(s), 3);
    assert_int_equal(cls_system_coordinate_count(s), 0);
    assert_string_equal(cls_system_column(s, 4), "u");
    double start[3];
    assert_int_equal(cls_system_start(s, NULL, start, NULL), CLS_OK);
    assert_true(fabs(start[1] - 4) < 1e-14); /* from the velocity v = b/2 */
    cls_system_free(&s);
}

static void test_motions_of_a_body_in_a_fluid(void **state) {
    (void)state;
    cls_system *s = parse("momentum m1, m2, m3, p1, p2, p3\n"
                          "hamiltonian (m1^2 + m2^2/2 + m3^2/3 + p1^2/4 + p2^2/5 + p3^2/6)/2\n"
                          "algebra se(3) on m1, m2, m3, p1, p2, p3\n");
    double z[6] = {0.3, -0.7, 1.1, 0.2, 0.9, -0.4}, v[6], p[6], want[6] = {0};
    for (int i = 0; i < 6; i++) v[i] = z[i] / (i + 1);
    rates(s, z, NULL, p);
    cross(z, v, 1, want);
    cross(z + 3, v + 3, 1, want);
    cross(z + 3, v, 1, want + 3);
    equal(6, p, want);
    cls_system_free(&s);
}

/* A heavy top: the vertical g is carried along, g' = g x Omega, and pulls, mu' += g x H_g. */
static void expect_heavy_top(const cls_system *s) {
    double z[6] = {0.1, 0.5, 0.8, 0.3, -0.7, 1.1}, v[3] = {0.3, -0.35, 1.1 / 3},
           H_g[3] = {0.5, 0, 2};
    double q[3], p[3], want_q[3] = {0}, want_p[3] = {0};
    rates(s, z, q, p);
    cross(z, v, 1, want_q);
    cross(z + 3, v, 1, want_p);
    cross(z, H_g, 1, want_p);
    equal(3, q, want_q);
    equal(3, p, want_p);
}

static void test_heavy_top(void **state) {
    (void)state;
    cls_system *s = parse("position g1, g2, g3\nmomentum a, b, c with velocity u, v, w\n"
                          "algebra so(3) on a, b, c\n"
                          "poisson {g1, b} = -g3\npoisson {g1, c} = g2\npoisson {g2, a} = g3\n"
                          "poisson {g2, c} = -g1\npoisson {g3, a} = -g2\npoisson {g3, b} = g1\n"
                          "hamiltonian a^2/2 + b^2/4 + c^2/6 + 0.5*g1 + 2*g3\n");
    expect_heavy_top(s);
    cls_system_free(&s);
}

/* so(3), in other units, and the algebra of the plane's motions, by their commutators. */
static void test_commutators(void **state) {
    (void)state;
    cls_system *s = parse("parameter k = 2\nmomentum a, b, c, d, e, f\n"
                          "hamiltonian (a^2 + b^2/2 + c^2/3 + d^2 + e^2/2 + f^2/5)/2\n"
                          "algebra [a, b] = k*c, [b, c] = a/k, [c, a] = b\n"
                          "algebra [d, e] = f, [d, f] = -e\n");
    double z[6] = {0.3, -0.7, 1.1, 0.2, 0.9, -0.4}, p[6];
    double v[6] = {0.3, -0.35, 1.1 / 3, 0.2, 0.45, -0.08};
    rates(s, z, NULL, p);
    double want[6] = {-2 * z[2] * v[1] + z[1] * v[2],
                      2 * z[2] * v[0] - 0.5 * z[0] * v[2],
                      0.5 * z[0] * v[1] - z[1] * v[0],
                      -z[5] * v[1 + 3] + z[4] * v[5],
                      z[5] * v[3],
                      -z[4] * v[3]};
    equal(6, p, want);
    cls_system_free(&s);
}

/* `rigid body` and `vertical` are the same thing in two lines. */
static void test_body_and_vertical(void **state) {
    (void)state;
    cls_system *s =
        parse("vertical g1, g2, g3 of a, b, c\nrigid body a, b, c with velocity u, v, w\n"
              "hamiltonian a^2/2 + b^2/4 + c^2/6 + 0.5*g1 + 2*g3\n");
    expect_heavy_top(s);
    cls_system_free(&s);
}

/* e' = e (0, Omega)/2 turns the vertical R^T e_z of the attitude by g' = g x Omega. */
static void test_attitude_turns_the_vertical(void **state) {
    (void)state;
    cls_system *s = parse("rigid body a, b, c with velocity u, v, w\nattitude e0, e1, e2, e3\n"
                          "hamiltonian a^2/2 + b^2/4 + c^2/6\nstart a = 1, b = 1, c = 1\n");
    double z[7] = {0.1, 0.7, -0.5, 0.5, 0.3, -0.7, 1.1}, v[3] = {0.3, -0.35, 1.1 / 3};
    const double *e = z;
    double q[4], p[3], want[3] = {0};
    double g[3] = {2 * (e[1] * e[3] - e[0] * e[2]), 2 * (e[2] * e[3] + e[0] * e[1]),
                   e[0] * e[0] - e[1] * e[1] - e[2] * e[2] + e[3] * e[3]};
    rates(s, z, q, p);
    double rate[3] = {2 * (q[1] * e[3] + e[1] * q[3] - q[0] * e[2] - e[0] * q[2]),
                      2 * (q[2] * e[3] + e[2] * q[3] + q[0] * e[1] + e[0] * q[1]),
                      2 * (e[0] * q[0] - e[1] * q[1] - e[2] * q[2] + e[3] * q[3])};
    cross(g, v, 1, want);
    equal(3, rate, want);
    double start[7];
    assert_int_equal(cls_system_start(s, NULL, start, NULL), CLS_OK);
    assert_true(start[0] == 1 && start[1] == 0 && start[2] == 0 && start[3] == 0);
    cls_system_free(&s);
}

static void test_starts_have_length_one(void **state) {
    (void)state;
    cls_system *s = parse("rigid body a, b, c\nvertical x, y, z\nhamiltonian a^2 + b^2 + c^2 + z\n"
                          "start a = 1, b = 1, c = 1\n");
    const char *names[3] = {"x", "y", "z"};
    double near_one[3] = {0.6, 0, 0.8001}, two[3] = {0, 0, 2}, z[6];
    cls_assignments good = {3, names, near_one}, bad = {3, names, two};
    cls_error error;
    assert_int_equal(cls_system_start(s, &good, z, &error), CLS_OK);
    assert_true(fabs(z[0] * z[0] + z[2] * z[2] - 1) < 4e-16);
    assert_int_equal(cls_system_start(s, &bad, z, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "length 2"));
    cls_system_free(&s);
}

/* A coordinate keeps its own bracket beside others, wherever it is declared. */
static void test_mixed_with_coordinates(void **state) {
    (void)state;
    cls_system *s = parse("momentum a, b with velocity u, w\ncoordinate x\n"
                          "hamiltonian p.x^2/2 + x^2/2 + a^2/2 + b^2/2 + x*a\n"
                          "poisson {a, b} = 1 + x^2\npoisson {p.x, a} = 3\n");
    double z[4] = {0.5, 0.2, 0.7, -0.3}, q[1], p[3]; /* x, p.x, a, b; u = a + x, w = b */
    rates(s, z, q, p);
    assert_int_equal(s->paired, 1);
    assert_true(fabs(q[0] - 0.2) < 1e-15);
    assert_true(fabs(p[0] - (-(0.5 + 0.7) + 3 * 1.2)) < 1e-15);
    assert_true(fabs(p[1] - (1.25 * -0.3 - 3 * 0.2)) < 1e-15);
    assert_true(fabs(p[2] - (-1.25 * 1.2)) < 1e-15);
    cls_system_free(&s);
}

static void test_mistakes(void **state) {
    (void)state;
#define BODY "momentum a, b, c\nhamiltonian a^2 + b^2 + c^2\n"
    refused(BODY "algebra so(4) on a, b, c\n", "expected so(3) or se(3)");
    refused(BODY "algebra so(3) on a, b\n", "needs more");
    refused(BODY "algebra so(3) on a, b, b\n", "twice");
    refused(BODY "algebra [a, b] = c, [b, c] = b\n", "Jacobi");
    refused(BODY "algebra [a, b] = c^2\n", "constant factors");
    refused(BODY "algebra [a, b] = 1\n", "constant factors");
    refused(BODY "algebra [a, a] = b\n", "itself");
    refused("position x\n" BODY "algebra [a, x] = b\n", "is a position");
    refused("rigid body a, b\nhamiltonian a^2 + b^2\n", "three momenta, here are 2");
    refused(BODY "vertical x, y, z\n", "expected `of`");
    refused(BODY "vertical x, y of a, b, c\n", "3 components, here are 2");
    refused(BODY "attitude e, f, g, h of a, b\n", "three are needed");
    refused(BODY "attitude e, f, g, h of a, b, e\n", "is a position");
    refused(BODY "vertical x, y, z of a, b, b\n", "twice");
    refused(BODY "poisson {a, a} = 1\n", "itself");
    refused(BODY "poisson {a, d} = 1\n", "expected a position or a momentum");
    refused(BODY "poisson {a, b} = v.c\n", "bracket");
    refused("position x, y\n" BODY "poisson {x, y} = 1\n", "positions have no bracket");
    refused("momentum a, b with velocity u\nhamiltonian a^2 + b^2\n", "1 velocities for 2 momenta");
    refused("coordinate x\nentropy S\nhamiltonian p.x^2 + S\nfriction on S: p.x <- 1\n",
            "expected a coordinate");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rotations),
        cmocka_unit_test(test_motions_of_a_body_in_a_fluid),
        cmocka_unit_test(test_heavy_top),
        cmocka_unit_test(test_mixed_with_coordinates),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_body_and_vertical),
        cmocka_unit_test(test_commutators),
        cmocka_unit_test(test_attitude_turns_the_vertical),
        cmocka_unit_test(test_starts_have_length_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
