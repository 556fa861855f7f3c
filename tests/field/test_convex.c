/* The convex field: its passes against the expression graph, and what its form promises for every
 * theta: convex in (v, T, S, r), even in v, increasing in S, monotone in r. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "field/convex.h"
#include "tests/field/field_setup.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *spec;
    size_t d;
} cases[] = {{"convex(9, 7; 1 1 2)", 6},
             {"convex(8; 2 2 1)", 6},
             {"convex(5, 6, 4; 0 3 1)", 5},
             {"convex(6, 6; 2 0 2)", 4},
             {"convex(12, 8; 3 1 0)", 4},
             {"convex(1; 1 1 1)", 4},
             {"convex(7, 2; 0 0 2)", 2},
             {"convex(16, 16; 1 2 2)", 7},
             {"convex(3, 3; 0 1 0)", 1},
             {"convex(9, 7; 1 1 0 1)", 3},
             {"convex(8; 2 2 0 2)", 6},
             {"convex(5, 6, 4; 0 2 0 2)", 4},
             {"convex(6, 4; 1 0 1 2)", 5},
             {"convex(7, 7; 2 2 0 varying)", 4},
             {"convex(6, 5; 1 3 0 1 varying)", 5},
             {"convex(6, 5; 2 1 1 1 varying)", 6},
             {"convex(6, 6; 2 0 0 1)", 3}};
enum { N_CASES = sizeof cases / sizeof *cases };

/* ---- against the graph: theta as symbols, the graph differentiates ---- */

typedef struct oracle {
    cls_program *program;
    double *out; /* phi, its gradient, d(a phi + b.gradient)/dtheta */
} oracle;

/* inputs: x, theta, a, b */
static oracle make_oracle(const clsi_field *f) {
    size_t d = f->d, p = f->n_parameters, n = 2 * d + p + 1;
    cls_graph *g = NULL;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    cls_node *in = calloc(n, sizeof *in), *out = calloc(1 + d + p, sizeof *out);
    assert_true(g && in && out);
    for (size_t i = 0; i < n; i++) in[i] = cls_fresh_symbol(g, "s");
    cls_node *x = in, *theta = in + d, a = in[d + p], *b = in + d + p + 1;
    out[0] = f->kind->expression(f, g, x, theta);
    assert_int_equal(cls_gradient(g, out[0], d, x, out + 1), CLS_OK);
    cls_node F = cls_mul(g, a, out[0]);
    for (size_t i = 0; i < d; i++) F = cls_add(g, F, cls_mul(g, b[i], out[1 + i]));
    assert_int_equal(cls_gradient(g, F, p, theta, out + 1 + d), CLS_OK);
    oracle o = {.out = numbers(1 + d + p)};
    assert_int_equal(cls_program_create(g, n, in, 1 + d + p, out, &o.program, NULL), CLS_OK);
    cls_graph_free(&g);
    free(in);
    free(out);
    return o;
}

static void ask(oracle *o, const setup *t, size_t s, double a, const double *b) {
    size_t d = t->d, p = t->p;
    double *in = numbers(2 * d + p + 1);
    memcpy(in, t->x + s * d, d * sizeof *in);
    memcpy(in + d, t->theta, p * sizeof *in);
    in[d + p] = a;
    if (b) memcpy(in + d + p + 1, b + s * d, d * sizeof *in);
    assert_int_equal(cls_program_run_many(o->program, 1, 1, in, o->out), CLS_OK);
    free(in);
}

static void check_derivatives(const setup *t, oracle *o, const double *a, const double *b) {
    size_t d = t->d, p = t->p, n = t->n;
    double *rows = numbers(n * p), *sum = numbers(p), *want = numbers(p);
    t->f->kind->rows(t->f, t->theta, n, t->x, a, b, p, rows, t->scratch);
    for (size_t s = 0; s < n; s++) {
        ask(o, t, s, a ? a[s] : 0, b);
        assert_near(p, rows + s * p, o->out + 1 + d, 1e-12);
        for (size_t k = 0; k < p; k++) want[k] += o->out[1 + d + k];
    }
    t->f->kind->reverse(t->f, t->theta, n, t->x, a, b, sum, t->scratch);
    assert_near(p, sum, want, 1e-12);
    free(rows);
    free(sum);
    free(want);
}

static void passes_are_those_of_the_expression(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        setup t = open_setup(cases[i].spec, cases[i].d, i ? 50 : 101, 20 + i);
        oracle o = make_oracle(t.f);
        double *value = numbers(t.n), *alone = numbers(t.n), *gradient = numbers(t.n * t.d);
        t.f->kind->evaluate(t.f, t.theta, t.n, t.x, value, gradient, t.scratch);
        t.f->kind->evaluate(t.f, t.theta, t.n, t.x, alone, NULL, t.scratch);
        for (size_t s = 0; s < t.n; s++) {
            ask(&o, &t, s, 0, NULL);
            assert_true(fabs(value[s] - o.out[0]) <= 1e-12 * (1 + fabs(o.out[0])));
            assert_true(fabs(alone[s] - o.out[0]) <= 1e-12 * (1 + fabs(o.out[0])));
            assert_near(t.d, gradient + s * t.d, o.out + 1, 1e-12);
        }
        check_derivatives(&t, &o, t.a, t.b);
        check_derivatives(&t, &o, NULL, t.b);
        check_derivatives(&t, &o, t.a, NULL);
        cls_program_free(&o.program);
        free(o.out);
        free(value);
        free(alone);
        free(gradient);
        close_setup(&t);
    }
}

/* Rows of a block may be common to several samples, or not wanted. */
static void rows_may_be_shared(void **state) {
    (void)state;
    setup t = open_setup("convex(9, 7; 1 1 2)", 6, 12, 4);
    double *pass = numbers(t.f->kind->blocks->size(t.f)), *gradient = numbers(12 * 6);
    double *rows = numbers(12 * t.p), *shared = numbers(2 * t.p), *to[12], value[12];
    t.f->kind->rows(t.f, t.theta, 12, t.x, t.a, t.b, t.p, rows, t.scratch);
    t.f->kind->blocks->open(t.f, t.theta, pass);
    t.f->kind->blocks->evaluate(pass, 12, t.x, value, gradient);
    for (size_t s = 0; s < 12; s++) to[s] = s == 5 ? NULL : shared + (s % 3 == 0) * t.p;
    t.f->kind->blocks->rows(pass, 12, t.a, t.b, to);
    for (size_t k = 0; k < t.p; k++) {
        double sum[2] = {0};
        for (size_t s = 0; s < 12; s++) sum[s % 3 == 0] += s == 5 ? 0 : rows[s * t.p + k];
        for (int i = 0; i < 2; i++)
            assert_true(fabs(shared[(size_t)i * t.p + k] - sum[i]) <= 1e-12 * (1 + fabs(sum[i])));
    }
    free(pass);
    free(gradient);
    free(rows);
    free(shared);
    close_setup(&t);
}

/* ---- what the form promises ---- */

static cls_program *hessian_program(const clsi_field *f, const double *theta, size_t first,
                                    size_t n) {
    cls_graph *g = NULL;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    cls_node x[CLSI_FIELD_MAX_INPUTS], slope[CLSI_FIELD_MAX_INPUTS];
    cls_node *out = calloc(n * n, sizeof *out);
    assert_true(g && out);
    for (size_t i = 0; i < f->d; i++) x[i] = cls_fresh_symbol(g, "x");
    cls_node phi = clsi_field_expression(f, g, x, theta);
    assert_int_equal(cls_gradient(g, phi, n, x + first, slope), CLS_OK);
    assert_int_equal(cls_jacobian(g, n, slope, n, x + first, out), CLS_OK);
    cls_program *program;
    assert_int_equal(cls_program_create(g, f->d, x, n * n, out, &program, NULL), CLS_OK);
    cls_graph_free(&g);
    free(out);
    return program;
}

/* Cholesky: is H + shift > 0? */
static int is_definite(size_t n, double *H, double shift) {
    for (size_t j = 0; j < n; j++) {
        double pivot = H[j * n + j] + shift;
        for (size_t k = 0; k < j; k++) pivot -= H[j * n + k] * H[j * n + k];
        if (!(pivot > 0)) return 0;
        H[j * n + j] = sqrt(pivot);
        for (size_t i = j + 1; i < n; i++) {
            for (size_t k = 0; k < j; k++) H[i * n + j] -= H[i * n + k] * H[j * n + k];
            H[i * n + j] /= H[j * n + j];
        }
    }
    return 1;
}

/* At `points` random states of (-3, 3)^d the smallest eigenvalue of the Hessian is above -1e-12 of
 * its trace. */
static void check_convex(const clsi_field *f, const double *theta, size_t points, double size,
                         cls_random *r) {
    size_t count[CLSI_CONVEX_INPUTS];
    assert_true(clsi_field_convex_inputs(f, count));
    size_t d = f->d, n = d - count[0];
    cls_program *program = hessian_program(f, theta, count[0], n);
    double *in = numbers(d * points), *out = numbers(n * n * points);
    for (size_t i = 0; i < d * points; i++) in[i] = 6 * cls_random_uniform(r) - 3;
    assert_int_equal(cls_program_run_many(program, points, points, in, out), CLS_OK);
    for (size_t s = 0; s < points; s++) {
        double H[CLSI_FIELD_MAX_INPUTS * CLSI_FIELD_MAX_INPUTS], trace = 0;
        for (size_t i = 0; i < n * n; i++) H[i] = out[i * points + s];
        for (size_t i = 0; i < n; i++) trace += H[i * n + i];
        if (!is_definite(n, H, 1e-12 * fabs(trace) + 1e-300))
            fail_msg("%s with parameters of %g is not convex", f->spec, size);
    }
    cls_program_free(&program);
    free(in);
    free(out);
}

/* 150 large parameter vectors of sizes from 0.01 to 10,000, 100 states each. */
static void convex_for_every_parameter(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 77);
    for (size_t i = 0; i < 150; i++) {
        setup t = open_setup(cases[i % N_CASES].spec, cases[i % N_CASES].d, 1, i);
        double size = pow(10, -2 + 6 * cls_random_uniform(&r));
        for (size_t k = 0; k < t.p; k++) t.theta[k] = size * cls_random_normal(&r);
        check_convex(t.f, t.theta, 100, size, &r);
        close_setup(&t);
    }
}

/* Even in v, and not decreasing in r, to the bit: both sides are the same sums. */
static void even_and_rising(void **state) {
    (void)state;
    setup t = open_setup("convex(9, 7; 1 2 2)", 7, 40, 3);
    double *value = numbers(t.n), *turned = numbers(t.n), *gradient = numbers(t.n * 7);
    for (int k = 0; k < 20; k++) {
        cls_random r;
        cls_random_seed(&r, 100 + (uint64_t)k);
        for (size_t i = 0; i < t.p; i++) t.theta[i] = 100 * cls_random_normal(&r);
        t.f->kind->evaluate(t.f, t.theta, t.n, t.x, value, gradient, t.scratch);
        for (size_t s = 0; s < t.n; s++) {
            assert_true(gradient[7 * s + 5] > 0 && gradient[7 * s + 6] > 0);
            t.x[7 * s + 1] = -t.x[7 * s + 1];
            t.x[7 * s + 2] = -t.x[7 * s + 2];
        }
        t.f->kind->evaluate(t.f, t.theta, t.n, t.x, turned, gradient, t.scratch);
        assert_memory_equal(value, turned, t.n * sizeof *value);
        for (size_t s = 0; s < t.n; s++) t.x[7 * s + 1] = t.x[7 * s + 2] = 0;
        t.f->kind->evaluate(t.f, t.theta, t.n, t.x, turned, gradient, t.scratch);
        for (size_t s = 0; s < t.n; s++) assert_true(gradient[7 * s + 1] == 0);
        free(t.x);
        t.x = uniform(&r, t.n * 7);
    }
    free(value);
    free(turned);
    free(gradient);
    close_setup(&t);
}

/* Temperatures: slopes in S, at 200 states of (-10, 10)^d for each of 100 parameter vectors of
 * sizes from 0.01 to 10,000. */
static void increasing_for_every_parameter(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        size_t d;
    } warm[] = {{"convex(9, 7; 1 1 0 2 varying)", 4},
                {"convex(5, 6, 4; 0 2 0 2)", 4},
                {"convex(6, 4; 2 0 1 1)", 4}};
    cls_random r;
    cls_random_seed(&r, 78);
    for (size_t i = 0; i < 100; i++) {
        setup t = open_setup(warm[i % 3].spec, 4, 200, i);
        size_t count[CLSI_CONVEX_INPUTS];
        double size = pow(10, -2 + 6 * cls_random_uniform(&r)), *gradient = numbers(t.n * t.d);
        assert_true(clsi_field_convex_inputs(t.f, count));
        size_t first = count[0] + count[1] + count[2];
        for (size_t k = 0; k < t.p; k++) t.theta[k] = size * cls_random_normal(&r);
        for (size_t k = 0; k < t.n * t.d; k++) t.x[k] *= 10;
        t.f->kind->evaluate(t.f, t.theta, t.n, t.x, NULL, gradient, t.scratch);
        for (size_t s = 0; s < t.n; s++)
            for (size_t k = first; k < first + count[3]; k++)
                if (!(gradient[s * t.d + k] > 0 && isfinite(gradient[s * t.d + k])))
                    fail_msg("%s with parameters of %g: %g", warm[i % 3].spec, size,
                             gradient[s * t.d + k]);
        free(gradient);
        close_setup(&t);
    }
}

/* A heat of C (exp(alpha S) - 1)/alpha, alpha between its two ends: a reservoir, T = C, and a gas.
 */
static void reservoirs_and_gases(void **state) {
    (void)state;
    setup t = open_setup("convex(4; 0 0 0 1)", 1, 5, 9);
    double value[5], gradient[5];
    for (size_t k = 0; k < t.p; k++) t.theta[k] = -1e4; /* N = 0 */
    for (int hot = 0; hot < 2; hot++) {
        double alpha = hot ? CLSI_CONVEX_HOT : CLSI_CONVEX_COLD;
        t.theta[t.p - 2] = 2; /* C */
        t.theta[t.p - 1] = hot ? 1e4 : -1e4;
        double C = CLSI_CONVEX_SLOPE + clsi_convex_map(2);
        t.f->kind->evaluate(t.f, t.theta, 5, t.x, value, gradient, t.scratch);
        for (size_t s = 0; s < 5; s++) {
            assert_true(fabs(value[s] - C * expm1(alpha * t.x[s]) / alpha) <
                        1e-12 * fabs(value[s]));
            assert_true(fabs(gradient[s] - C * exp(alpha * t.x[s])) < 1e-12 * gradient[s]);
            if (!hot) assert_true(fabs(gradient[s] / C - 1) <= 1.01 * CLSI_CONVEX_COLD);
        }
    }
    close_setup(&t);
}

/* All positive weights underflow: what is left is the floor, and it is not zero. */
static void curvature_does_not_underflow(void **state) {
    (void)state;
    setup t = open_setup("convex(6, 6; 1 1 1)", 4, 1, 8);
    for (size_t k = 0; k < t.p; k++) t.theta[k] = -1e4;
    double gradient[4];
    t.f->kind->evaluate(t.f, t.theta, 1, t.x, NULL, gradient, t.scratch);
    assert_true(gradient[3] == CLSI_CONVEX_SLOPE);
    cls_program *program = hessian_program(t.f, t.theta, 1, 1);
    double mass;
    assert_int_equal(cls_program_run_many(program, 1, 1, t.x, &mass), CLS_OK);
    assert_true(fabs(mass / (CLSI_CONVEX_DIAGONAL * CLSI_CONVEX_DIAGONAL) - 1) < 1e-9);
    cls_program_free(&program);
    close_setup(&t);
}

static void mistakes_are_told(void **state) {
    (void)state;
    static const struct {
        const char *spec, *want;
    } bad[] = {{"convex(24, 24)", "network(WIDTH, ..., convex)"},
               {"convex(24, tanh; 1 1 2)", "softplus"},
               {"convex(24; 1 1 5)", "widths only"},
               {"convex(24; 4 0 0)", "widths only"},
               {"convex(24; 1 -1 2)", "widths only"},
               {"convex(24; 1 1)", "widths only"},
               {"convex(24; 1 1 2 3)", "widths only"},
               {"convex(24; 1 1 2 0 1)", "widths only"},
               {"convex(24; 1 1 2 vary)", "widths only"},
               {"convex(24; 0 1 2 varying)", "widths only"},
               {"convex(; 1 1 2)", "expected widths"},
               {"convex(600; 1 1 2)", "1 to 512"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        clsi_field *f;
        cls_error error = {0};
        assert_int_equal(clsi_field_create(6, bad[i].spec, NULL, &f, &error), CLS_USAGE);
        assert_null(f);
        if (!strstr(error.message, bad[i].want)) fail_msg("%s: %s", bad[i].spec, error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_are_those_of_the_expression),
        cmocka_unit_test(rows_may_be_shared),
        cmocka_unit_test(convex_for_every_parameter),
        cmocka_unit_test(even_and_rising),
        cmocka_unit_test(increasing_for_every_parameter),
        cmocka_unit_test(reservoirs_and_gases),
        cmocka_unit_test(curvature_does_not_underflow),
        cmocka_unit_test(mistakes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
