/* Fields of formulas, and second derivatives of all kinds of fields. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "field/field.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { D = 3, SAMPLES = 4 };
static const char *const names[D] = {"x", "v.x", "T1"};
static const char *const formulas = "terms(1; x^2*v.x; T1*log(T1)\n; sin(x*T1) + v.x^3/2)";

typedef struct setup {
    clsi_field *f;
    double theta[500], x[SAMPLES * D], *scratch;
} setup;

static setup open_setup(const char *spec) {
    setup t = {0};
    cls_error error;
    cls_random r;
    if (clsi_field_create(D, spec, names, &t.f, &error)) fail_msg("%s", error.message);
    assert_true(t.f->n_parameters <= 500);
    cls_random_seed(&r, 3);
    for (size_t k = 0; k < t.f->n_parameters; k++) t.theta[k] = cls_random_normal(&r);
    for (size_t k = 0; k < SAMPLES * D; k++)
        t.x[k] = k % D == 2 ? 0.3 + cls_random_uniform(&r) : 2 * cls_random_uniform(&r) - 1;
    t.scratch = calloc(t.f->kind->scratch(t.f, SAMPLES) + 1, sizeof *t.scratch);
    return t;
}

static void close_setup(setup *t) {
    clsi_field_free(&t->f);
    free(t->scratch);
}

static double value_at(const setup *t, const double *theta, const double *x) {
    double value;
    t->f->kind->evaluate(t->f, theta, 1, x, &value, NULL, t->scratch);
    return value;
}

/* Second difference of the value alone, in theta_k alone where the field is linear. */
static double difference(const setup *t, const double *theta, const double *x, size_t i, size_t j) {
    double h = 1e-3, sum = 0, at[D];
    for (int a = -1; a <= 1; a += 2)
        for (int b = -1; b <= 1; b += 2) {
            memcpy(at, x, sizeof at);
            at[i] += a * h;
            at[j] += b * h;
            sum += a * b * value_at(t, theta, at);
        }
    return sum / (4 * h * h);
}

/* rows: sum_k row_k theta_k is the curvature for linear kinds, and each entry by itself. */
static void check_second(const char *spec) {
    setup t = open_setup(spec);
    size_t P = t.f->n_parameters, stride = P + 2;
    double *rows = calloc(SAMPLES * stride, sizeof *rows), *alone = calloc(P, sizeof *alone);
    double c[SAMPLES] = {1, -2, 0.5, 3};
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) {
            memset(rows, 0, SAMPLES * stride * sizeof *rows);
            t.f->kind->second_rows(t.f, t.theta, SAMPLES, t.x, i, j, c, stride, rows, t.scratch);
            for (size_t s = 0; s < SAMPLES; s++) {
                const double *x = t.x + s * D;
                double wanted = difference(&t, t.theta, x, i, j), size = 1 + fabs(wanted);
                double found = clsi_field_second(t.f, t.theta, x, i, j, alone, t.scratch);
                if (!(fabs(found - wanted) <= 2e-4 * size))
                    fail_msg("%s (%zu,%zu): %.9g, differences give %.9g", spec, i, j, found,
                             wanted);
                for (size_t k = 0; k < P; k++) {
                    double h = 1e-3, d2[2], kept = t.theta[k];
                    for (int side = 0; side < 2; side++) {
                        t.theta[k] = kept + (side ? h : -h);
                        d2[side] = difference(&t, t.theta, x, i, j);
                    }
                    t.theta[k] = kept;
                    double slope = c[s] * (d2[1] - d2[0]) / (2 * h);
                    if (!(fabs(rows[s * stride + k] - slope) <= 1e-3 * (1 + fabs(slope))))
                        fail_msg("%s (%zu,%zu) row %zu: %.9g, differences give %.9g", spec, i, j, k,
                                 rows[s * stride + k], slope);
                }
                assert_true(rows[s * stride + P] == 0 && rows[s * stride + P + 1] == 0);
            }
        }
    free(rows);
    free(alone);
    close_setup(&t);
}

static void second_rows_agree_with_differences(void **unused) {
    (void)unused;
    check_second("chebyshev(5)");
    check_second("monomial(4, constant)");
    check_second("monomial(1)");
    check_second(formulas);
}

/* Exact where it claims to be: T_5''(x) = 80 x^3 - 30 x... at x = 1 it is D^2 (D^2 - 1)/3. */
static void curvature_of_chebyshev_is_exact(void **unused) {
    (void)unused;
    clsi_field *f;
    double row[5] = {0}, one = 1;
    assert_int_equal(clsi_field_create(1, "chebyshev(5)", NULL, &f, NULL), CLS_OK);
    f->kind->second_rows(f, NULL, 1, &one, 0, 0, &one, 5, row, NULL);
    for (int k = 1; k <= 5; k++) assert_true(row[k - 1] == k * k * (k * k - 1) / 3.0);
    clsi_field_free(&f);
}

/* Values, gradients, rows and reverse of formulas against the formulas written in C. */
static void terms_are_their_formulas(void **unused) {
    (void)unused;
    setup t = open_setup(formulas);
    assert_int_equal(t.f->n_parameters, 4);
    double value[SAMPLES], gradient[SAMPLES * D], a[SAMPLES] = {1, 2, 3, 4}, b[SAMPLES * D];
    double rows[SAMPLES * 4] = {0}, sum[4] = {0};
    for (size_t k = 0; k < SAMPLES * D; k++) b[k] = 0.1 * (double)k - 0.4;
    t.f->kind->evaluate(t.f, t.theta, SAMPLES, t.x, value, gradient, t.scratch);
    t.f->kind->rows(t.f, t.theta, SAMPLES, t.x, a, b, 4, rows, t.scratch);
    t.f->kind->reverse(t.f, t.theta, SAMPLES, t.x, a, b, sum, t.scratch);
    for (size_t s = 0; s < SAMPLES; s++) {
        double x = t.x[s * D], v = t.x[s * D + 1], T = t.x[s * D + 2];
        const double e[4] = {1, x * x * v, T * log(T), sin(x * T) + v * v * v / 2};
        const double d[4][D] = {{0, 0, 0},
                                {2 * x * v, x * x, 0},
                                {0, 0, log(T) + 1},
                                {T * cos(x * T), 1.5 * v * v, x * cos(x * T)}};
        double total = 0, slope[D] = {0};
        for (int k = 0; k < 4; k++) {
            double row = a[s] * e[k];
            total += t.theta[k] * e[k];
            for (int i = 0; i < D; i++) {
                slope[i] += t.theta[k] * d[k][i];
                row += b[s * D + (size_t)i] * d[k][i];
            }
            assert_true(fabs(rows[s * 4 + (size_t)k] - row) < 1e-13);
            sum[k] -= row;
        }
        assert_true(fabs(value[s] - total) < 1e-13);
        for (int i = 0; i < D; i++)
            assert_true(fabs(gradient[s * D + (size_t)i] - slope[i]) < 1e-13);
    }
    for (int k = 0; k < 4; k++) assert_true(fabs(sum[k]) < 1e-12);
    close_setup(&t);
}

/* As an expression, at nodes that are not symbols, it has the values that evaluate has. */
static void terms_become_expressions(void **unused) {
    (void)unused;
    setup t = open_setup(formulas);
    cls_graph *g;
    cls_program *program;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    cls_node u = cls_symbol(g, "u"), x[D];
    const double scale[D] = {0.5, -0.7, 1.1};
    for (int i = 0; i < D; i++) x[i] = cls_mul(g, cls_constant(g, scale[i]), u);
    cls_node node = clsi_field_expression(t.f, g, x, t.theta);
    assert_int_equal(cls_program_create(g, 1, &u, 1, &node, &program, NULL), CLS_OK);
    for (double at = 0.2; at < 1; at += 0.2) {
        double in[D], out;
        for (int i = 0; i < D; i++) in[i] = scale[i] * at;
        assert_int_equal(cls_program_run_many(program, 1, 1, &at, &out), CLS_OK);
        assert_true(fabs(out - value_at(&t, t.theta, in)) < 1e-13);
    }
    cls_program_free(&program);
    cls_graph_free(&g);
    close_setup(&t);
}

static void mistakes_in_terms(void **unused) {
    (void)unused;
    static const struct {
        const char *spec, *says;
    } bad[] = {{"terms(1; y^2)", "term 2 ` y^2`"},
               {"terms(1; )", "term 2"},
               {"terms()", "term 1"},
               {"terms(x; (v.x)", "term 2"},
               {"terms(v.y)", "v.y"},
               {"terms 1", "expected terms("},
               {"term(1)", "did you mean 'terms'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        clsi_field *f;
        cls_error error;
        assert_int_equal(clsi_field_create(D, bad[i].spec, names, &f, &error), CLS_USAGE);
        assert_null(f);
        if (!strstr(error.message, bad[i].says)) fail_msg("%s: %s", bad[i].spec, error.message);
    }
    clsi_field *f;
    cls_error error;
    assert_int_equal(clsi_field_create(D, "terms(1)", NULL, &f, &error), CLS_USAGE);
    char *many = calloc(1, 1000);
    strcpy(many, "terms(1");
    for (int i = 0; i < 200; i++) strcat(many, ";x");
    strcat(many, ")");
    assert_int_equal(clsi_field_create(D, many, names, &f, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "at most"));
    free(many);
}

/* chebyshev(D, even ...) is even, and has as many terms as there are even monomials. */
static void even_bases(void **unused) {
    (void)unused;
    setup t = open_setup("chebyshev(4, even 0 2, constant)");
    /* 1, 3, 5, 7, 9 monomials of degree 0, 2, 4, 6, 8 in two inputs; the third fills up to 4 */
    assert_int_equal(t.f->n_parameters, 1 * 5 + 3 * 4 + 5 * 3 + 7 * 2 + 9);
    for (size_t s = 0; s < SAMPLES; s++) {
        double other[D] = {-t.x[s * D], -t.x[s * D + 1], t.x[s * D + 2]};
        double a = value_at(&t, t.theta, t.x + s * D), b = value_at(&t, t.theta, other);
        assert_true(fabs(a - b) <= 1e-14 * (1 + fabs(a)));
        other[1] = t.x[s * D + 1];
        assert_true(fabs(a - value_at(&t, t.theta, other)) > 1e-6); /* together, not each */
    }
    close_setup(&t);
    const char *const bad[] = {"chebyshev(4, even 2 2)", "chebyshev(4, even 0 0)",
                               "chebyshev(16, even 0 2)", "chebyshev(4, even 0)"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        clsi_field *f;
        cls_error error;
        assert_int_equal(clsi_field_create(D, bad[i], names, &f, &error), CLS_USAGE);
        assert_null(f);
    }
}

/* Sums of functions of two inputs have no mixed difference in three, those of one input none in two. */
static void sums_of_functions_of_few_inputs(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        size_t d, terms, together;
    } cases[] = {{"chebyshev(4, pairs)", 3, 30, 2},
                 {"chebyshev(8, pairs)", 10, 1340, 2},
                 {"monomial(5, constant, additive)", 3, 16, 1},
                 {"chebyshev(8, additive)", 10, 80, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        cls_error error;
        clsi_field *f;
        if (clsi_field_create(cases[k].d, cases[k].spec, NULL, &f, &error))
            fail_msg("%s", error.message);
        assert_int_equal(f->n_parameters, cases[k].terms);
        double *theta = calloc(f->n_parameters, sizeof *theta), mixed = 0, size = 0;
        for (size_t i = 0; i < f->n_parameters; i++) theta[i] = sin(1.0 + (double)i);
        size_t n = cases[k].together + 1; /* corners of a cube in so many inputs */
        for (size_t corner = 0; corner < (size_t)1 << n; corner++) {
            double x[CLSI_FIELD_MAX_INPUTS] = {0}, value;
            int sign = 1;
            for (size_t i = 0; i < n; i++) {
                int up = (corner >> i) & 1;
                x[i] = up ? 0.7 : -0.3 - 0.1 * (double)i;
                sign *= up ? 1 : -1;
            }
            f->kind->evaluate(f, theta, 1, x, &value, NULL, NULL);
            mixed += sign * value;
            size += fabs(value);
        }
        assert_true(fabs(mixed) <= 1e-13 * size);
        free(theta);
        clsi_field_free(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(even_bases),
                                       cmocka_unit_test(sums_of_functions_of_few_inputs),
                                       cmocka_unit_test(second_rows_agree_with_differences),
                                       cmocka_unit_test(curvature_of_chebyshev_is_exact),
                                       cmocka_unit_test(terms_are_their_formulas),
                                       cmocka_unit_test(terms_become_expressions),
                                       cmocka_unit_test(mistakes_in_terms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
