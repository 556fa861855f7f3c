/* The network field: every table of inner loops against plain loops and against the expression
 * graph (value, gradient, derivatives in theta by the graph's own differentiation), the laws that
 * tie rows to reverse and make results independent of blocks, and the room it takes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "field/network_kernels.h"
#include "tests/field/field_setup.h"
#include "tests/field/network_naive.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void use_kernel(setup *t, const clsi_network_kernel *kernel) {
    ((clsi_network *)t->f->data)->kernel = kernel;
}

static const clsi_network_kernel *supported_kernel(size_t i) {
    const clsi_network_kernel *kernel = clsi_network_kernel_at(i);
    return kernel->supported() ? kernel : NULL;
}

/* ---- activations ---- */

static long double exact(clsi_activation f, int order, long double z) {
    long double e = expl(-fabsl(z));
    switch (f) {
    case CLSI_ACTIVATION_TANH: return order ? 1 / (coshl(z) * coshl(z)) : tanhl(z);
    case CLSI_ACTIVATION_SIN: return order ? cosl(z) : sinl(z);
    default: return order ? (z > 0 ? 1 : e) / (1 + e) : (z > 0 ? z : 0) + log1pl(e);
    }
}

/* To 2 ulp or so at any size of z; its slope 1 - a^2, like sine and cosine, absolutely. */
static void check_activation(const clsi_network_kernel *kernel, clsi_activation f, double z) {
    double in[CLSI_NETWORK_LANES], a[CLSI_NETWORK_LANES], s[CLSI_NETWORK_LANES];
    for (int i = 0; i < CLSI_NETWORK_LANES; i++) in[i] = i % 2 ? z : 0.25 * i;
    kernel->activate(f, CLSI_NETWORK_LANES, in, a, s);
    for (int i = 0; i < CLSI_NETWORK_LANES; i++) {
        long double value = exact(f, 0, in[i]), slope = exact(f, 1, in[i]);
        long double unit = f == CLSI_ACTIVATION_SIN ? 1 : fabsl(value);
        if (!(fabsl(a[i] - value) <= 4 * 0x1p-53L * unit + 1e-300L))
            fail_msg("%s, activation %d at %.17g: %.17g, not %.20Lg", kernel->name, f, in[i], a[i],
                     value);
        if (!(fabsl(s[i] - slope) <= 4 * 0x1p-53L))
            fail_msg("%s, slope %d at %.17g: %.17g, not %.20Lg", kernel->name, f, in[i], s[i],
                     slope);
    }
}

static void test_activations(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 1);
    for (size_t k = 0; k < clsi_network_kernel_count(); k++) {
        const clsi_network_kernel *kernel = supported_kernel(k);
        for (int f = 0; kernel && f < CLSI_ACTIVATION_COUNT; f++) {
            for (int i = 0; i < 20000; i++) {
                double size = exp2(-30 + 37 * cls_random_uniform(&r));
                check_activation(kernel, (clsi_activation)f, cls_random_normal(&r) * size);
            }
            check_activation(kernel, (clsi_activation)f, 1e6);
            check_activation(kernel, (clsi_activation)f, -1e300);
            check_activation(kernel, (clsi_activation)f, 5e-324);
        }
    }
}

static void test_nan_stays(void **state) {
    (void)state;
    for (size_t k = 0; k < clsi_network_kernel_count(); k++) {
        const clsi_network_kernel *kernel = supported_kernel(k);
        for (int f = 0; kernel && f < CLSI_ACTIVATION_COUNT; f++) {
            double z[CLSI_NETWORK_LANES] = {1, NAN, 2}, a[CLSI_NETWORK_LANES],
                   s[CLSI_NETWORK_LANES];
            kernel->activate((clsi_activation)f, CLSI_NETWORK_LANES, z, a, s);
            assert_true(isnan(a[1]) && isnan(s[1]));
            assert_true(isfinite(a[0]) && isfinite(a[2]) && isfinite(s[0]) && isfinite(s[2]));
        }
    }
}

/* ---- against plain loops ---- */

static void check_evaluate(setup *t) {
    size_t d = t->f->d;
    double *value = numbers(t->n), *gradient = numbers(t->n * d), *alone = numbers(t->n * d);
    double *want = numbers(t->n), *want_gradient = numbers(t->n * d);
    for (size_t s = 0; s < t->n; s++)
        network_naive(t->f, t->theta, t->x + s * d, 0, NULL, want + s, want_gradient + s * d, NULL);
    t->f->kind->evaluate(t->f, t->theta, t->n, t->x, value, gradient, t->scratch);
    assert_near(t->n, value, want, 1e-12);
    assert_near(t->n * d, gradient, want_gradient, 1e-12);
    t->f->kind->evaluate(t->f, t->theta, t->n, t->x, alone, NULL, t->scratch);
    assert_memory_equal(alone, value, t->n * sizeof *value);
    t->f->kind->evaluate(t->f, t->theta, t->n, t->x, NULL, alone, t->scratch);
    assert_memory_equal(alone, gradient, t->n * d * sizeof *value);
    free(value);
    free(gradient);
    free(alone);
    free(want);
    free(want_gradient);
}

/* rows and reverse of alpha phi + beta . grad phi; alpha or beta may be absent. */
static void check_derivatives(setup *t, const double *a, const double *b) {
    size_t d = t->f->d, p = t->p, stride = p + 3;
    double *rows = numbers(t->n * stride), *want = numbers(p), *sum = numbers(p), *out = numbers(p);
    for (size_t s = 0; s < t->n; s++)
        for (size_t k = 0; k < stride; k++) rows[s * stride + k] = 0.5; /* added to, not set */
    t->f->kind->rows(t->f, t->theta, t->n, t->x, a, b, stride, rows, t->scratch);
    for (size_t s = 0; s < t->n; s++) {
        double *row = rows + s * stride;
        for (size_t k = p; k < stride; k++) assert_true(row[k] == 0.5);
        for (size_t k = 0; k < p; k++) want[k] = 0.5;
        network_naive(t->f, t->theta, t->x + s * d, a ? a[s] : 0, b ? b + s * d : NULL, NULL, NULL,
                      want);
        assert_near(p, row, want, 1e-12);
        for (size_t k = 0; k < p; k++) sum[k] += row[k] - 0.5;
    }
    for (size_t k = 0; k < p; k++) sum[k] += out[k] = (double)(k % 7) - 3; /* added to as well */
    t->f->kind->reverse(t->f, t->theta, t->n, t->x, a, b, out, t->scratch);
    assert_near(p, out, sum, 1e-12);
    free(rows);
    free(want);
    free(sum);
    free(out);
}

static void test_naive(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        size_t d, n;
    } cases[] = {{"network(32, 32)", 4, 100},     {"network(1)", 1, 1},
                 {"network(7, 13, sin)", 2, 7},   {"network(33, 17, 40, softplus)", 3, 50},
                 {"network(9, 9, 9, 9)", 5, 96},  {"network(8, 24, tanh)", 6, 48},
                 {"network(64, 31, sin)", 16, 5}, {"network(5,4,3,2,3,4,5,6)", 4, 49},
                 {"network(130, 65)", 8, 100},    {"network(16, softplus)", 9, 100},
                 {"network(512, 3)", 2, 3},       {"network(23, 56)", 7, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup t = open_setup(cases[i].spec, cases[i].d, cases[i].n, 10 + i);
        for (size_t k = 0; k < clsi_network_kernel_count(); k++) {
            if (!supported_kernel(k)) continue;
            use_kernel(&t, supported_kernel(k));
            check_evaluate(&t);
            check_derivatives(&t, t.a, t.b);
            check_derivatives(&t, t.a, NULL);
            check_derivatives(&t, NULL, t.b);
        }
        close_setup(&t);
    }
}

/* ---- laws of bits ---- */

static double *reversed(setup *t, size_t first, size_t n, double *out) {
    t->f->kind->reverse(t->f, t->theta, n, t->x + first * t->f->d, t->a + first,
                        t->b + first * t->f->d, out, t->scratch);
    return out;
}

/* One call, calls with parts, the rows added up in order: the same bits. */
static void test_blocks_do_not_matter(void **state) {
    (void)state;
    for (size_t k = 0; k < clsi_network_kernel_count(); k++) {
        setup t = open_setup("network(20, 37)", 3, 131, 5);
        size_t bytes = t.p * sizeof(double);
        double *one = numbers(t.p), *parts = numbers(t.p), *row = numbers(t.p);
        if (supported_kernel(k)) use_kernel(&t, supported_kernel(k));
        reversed(&t, 0, 131, one);
        reversed(&t, 0, 50, parts);
        reversed(&t, 50, 1, parts);
        reversed(&t, 51, 80, parts);
        assert_memory_equal(one, parts, bytes);
        for (size_t s = 0; s < t.n; s++)
            t.f->kind->rows(t.f, t.theta, 1, t.x + 3 * s, t.a + s, t.b + 3 * s, t.p, row,
                            t.scratch);
        assert_memory_equal(one, row, bytes);
        free(one);
        free(parts);
        free(row);
        close_setup(&t);
    }
}

/* In stages with the coefficients known late: the same bits as evaluate, reverse and rows. */
static void test_stages(void **state) {
    (void)state;
    static const char *const specs[] = {"network(21, 34, sin)", "network(21, 34)"};
    for (size_t k = 0; k < 2; k++) {
        setup t = open_setup(specs[k], 3, 300, 9);
        const clsi_field_blocks *blocks = t.f->kind->blocks;
        size_t step = blocks->samples, p = t.p, n = t.n;
        double *value = numbers(n), *gradient = numbers(3 * n), *got = numbers(n),
               *slope = numbers(3 * n), *pass = numbers(blocks->size(t.f)), *out = numbers(p),
               *rows = numbers(n * p), *late = numbers(n * p), *to[300];
        double *want = reversed(&t, 0, n, numbers(p));
        for (size_t s = 0; s < n; s++) to[s] = late + s * p;
        t.f->kind->evaluate(t.f, t.theta, n, t.x, value, gradient, t.scratch);
        t.f->kind->rows(t.f, t.theta, n, t.x, t.a, t.b, p, rows, t.scratch);
        blocks->open(t.f, t.theta, pass);
        blocks->clear(pass);
        for (size_t s = 0; s < n; s += step) {
            size_t m = n - s < step ? n - s : step;
            blocks->evaluate(pass, m, t.x + 3 * s, got + s, slope + 3 * s);
            blocks->rows(pass, m, t.a + s, t.b + 3 * s, to + s);
            blocks->add(pass, m, t.a + s, t.b + 3 * s);
        }
        blocks->close(pass, out);
        assert_memory_equal(got, value, n * sizeof *got);
        assert_memory_equal(slope, gradient, 3 * n * sizeof *got);
        assert_memory_equal(out, want, p * sizeof *out);
        assert_memory_equal(late, rows, n * p * sizeof *rows);
        double *all[] = {value, gradient, got, slope, pass, out, rows, late, want};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
        close_setup(&t);
    }
}

/* The versions with fused multiply-add do the same operations in the same order. */
static void test_fused_versions_agree(void **state) {
    (void)state;
    if (!supported_kernel(0) || !supported_kernel(1)) skip();
    static const char *const specs[] = {"network(20, 37)", "network(20, 37, sin)",
                                        "network(20, 37, softplus)"};
    for (size_t i = 0; i < 3; i++) {
        setup t = open_setup(specs[i], 3, 60, 8);
        double *out[2];
        for (size_t k = 0; k < 2; k++) {
            use_kernel(&t, supported_kernel(k));
            out[k] = reversed(&t, 0, 60, numbers(t.p));
        }
        assert_memory_equal(out[0], out[1], t.p * sizeof(double));
        free(out[0]);
        free(out[1]);
        close_setup(&t);
    }
}

static void test_any_alignment(void **state) {
    (void)state;
    setup t = open_setup("network(12, 12)", 2, 10, 6);
    double *want = reversed(&t, 0, 10, numbers(t.p));
    double *block = t.scratch;
    for (size_t shift = 1; shift < 8; shift++) {
        double *out = numbers(t.p), *moved = malloc((t.room + shift) * sizeof *moved);
        t.scratch = moved + shift;
        reversed(&t, 0, 10, out);
        assert_memory_equal(out, want, t.p * sizeof *out);
        free(out);
        free(moved);
    }
    t.scratch = block;
    free(want);
    close_setup(&t);
}

/* ---- against the graph ---- */

static void symbols(cls_graph *g, const char *stem, size_t n, cls_node *out) {
    char name[32];
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s%zu", stem, i);
        out[i] = cls_symbol(g, name);
    }
}

static void test_expression(void **state) {
    (void)state;
    static const char *const specs[] = {"network(32, 32)", "network(10, 11, 12, softplus)",
                                        "network(6, 5, 6, 5, sin)"};
    for (size_t i = 0; i < 18; i++) {
        size_t d = 1 + i % 6;
        setup t = open_setup(specs[i / 6], d, 7, 20 + i);
        cls_node x[6], out[7];
        cls_graph *g;
        cls_program *program;
        assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
        symbols(g, "x", d, x);
        out[0] = clsi_field_expression(t.f, g, x, t.theta);
        assert_int_equal(cls_gradient(g, out[0], d, x, out + 1), CLS_OK);
        assert_int_equal(cls_program_create(g, d, x, d + 1, out, &program, NULL), CLS_OK);
        double *work = numbers(cls_program_work_size(program));
        cls_program_prepare(program, work);
        for (size_t s = 0; s < t.n; s++) {
            double value, gradient[6], want[7];
            t.f->kind->evaluate(t.f, t.theta, 1, t.x + s * d, &value, gradient, t.scratch);
            cls_program_run(program, work, t.x + s * d, want);
            assert_true(fabs(value - want[0]) <= 1e-13 * (1 + fabs(want[0])));
            for (size_t j = 0; j < d; j++)
                assert_true(fabs(gradient[j] - want[j + 1]) <= 1e-13 * (1 + fabs(want[j + 1])));
        }
        free(work);
        cls_program_free(&program);
        cls_graph_free(&g);
        close_setup(&t);
    }
}

/* phi with parameters as symbols, from the definition in network.c. */
static cls_node symbolic(cls_graph *g, const clsi_network *net, cls_function f, const cls_node *x,
                         const cls_node *theta) {
    cls_node a[16], z[16];
    memcpy(a, x, net->layer[0].in * sizeof *a);
    for (size_t l = 0; l < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        int last = l + 1 == net->n_layers;
        for (size_t i = 0; i < w->out; i++) {
            z[i] = last ? cls_constant(g, 0) : theta[w->bias + i];
            for (size_t j = 0; j < w->in; j++)
                z[i] = cls_add(g, z[i], cls_mul(g, theta[w->weight + i * w->in + j], a[j]));
        }
        for (size_t i = 0; i < w->out; i++) a[i] = last ? z[i] : cls_apply(g, f, z[i]);
    }
    return a[0];
}

/* d/dtheta (alpha phi + beta . grad phi) by the graph alone. */
static void check_symbolic(const char *spec, cls_function f, size_t d) {
    setup t = open_setup(spec, d, 5, 40 + d);
    size_t p = t.p, n_in = p + 2 * d + 1;
    cls_node in[128], out[64], slope[6];
    double values[128], want[64], row[64];
    cls_graph *g;
    cls_program *program;
    assert_true(p <= 64 && n_in <= 128);
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    symbols(g, "t", p, in);
    symbols(g, "x", d, in + p);
    symbols(g, "b", d, in + p + d);
    in[p + 2 * d] = cls_symbol(g, "alpha");
    cls_node phi = symbolic(g, t.f->data, f, in + p, in);
    assert_true(t.f->kind->expression(t.f, g, in + p, in) == phi); /* one node: the same formula */
    cls_node F = cls_mul(g, in[p + 2 * d], phi);
    assert_int_equal(cls_gradient(g, phi, d, in + p, slope), CLS_OK);
    for (size_t j = 0; j < d; j++) F = cls_add(g, F, cls_mul(g, in[p + d + j], slope[j]));
    assert_int_equal(cls_gradient(g, F, p, in, out), CLS_OK);
    assert_int_equal(cls_program_create(g, n_in, in, p, out, &program, NULL), CLS_OK);
    double *work = numbers(cls_program_work_size(program));
    cls_program_prepare(program, work);
    memcpy(values, t.theta, p * sizeof *values);
    for (size_t s = 0; s < t.n; s++) {
        memcpy(values + p, t.x + s * d, d * sizeof *values);
        memcpy(values + p + d, t.b + s * d, d * sizeof *values);
        values[p + 2 * d] = t.a[s];
        cls_program_run(program, work, values, want);
        memset(row, 0, sizeof row);
        t.f->kind->rows(t.f, t.theta, 1, t.x + s * d, t.a + s, t.b + s * d, p, row, t.scratch);
        assert_near(p, row, want, 1e-13);
    }
    free(work);
    cls_program_free(&program);
    cls_graph_free(&g);
    close_setup(&t);
}

static void test_rows_by_the_graph(void **state) {
    (void)state;
    for (size_t d = 1; d <= 6; d++) {
        check_symbolic("network(3, 4)", CLS_FN_TANH, d);
        check_symbolic("network(4, 3, sin)", CLS_FN_SIN, d);
        check_symbolic("network(2, 3, 2, softplus)", CLS_FN_SOFTPLUS, d);
    }
}

/* Central differences of evaluate in theta. */
static void test_rows_by_differences(void **state) {
    (void)state;
    setup t = open_setup("network(9, 10)", 3, 1, 50);
    double *row = numbers(t.p), h = 1e-5;
    t.f->kind->rows(t.f, t.theta, 1, t.x, t.a, t.b, t.p, row, t.scratch);
    for (size_t k = 0; k < t.p; k++) {
        double F[2], value, gradient[3], keep = t.theta[k];
        for (int side = 0; side < 2; side++) {
            t.theta[k] = keep + (side ? h : -h);
            t.f->kind->evaluate(t.f, t.theta, 1, t.x, &value, gradient, t.scratch);
            F[side] = t.a[0] * value;
            for (int j = 0; j < 3; j++) F[side] += t.b[j] * gradient[j];
        }
        t.theta[k] = keep;
        assert_true(fabs((F[1] - F[0]) / (2 * h) - row[k]) <= 1e-8);
    }
    free(row);
    close_setup(&t);
}

/* ---- starting values and specs ---- */

/* |gain| of the product of W with its transpose, on the smaller side; off-diagonal zero. */
static void check_orthogonal(const clsi_network_shape *w, const double *W) {
    int wide = w->out <= w->in;
    size_t n = wide ? w->out : w->in, m = wide ? w->in : w->out;
    double first = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double dot = 0;
            for (size_t k = 0; k < m; k++)
                dot += wide ? W[i * m + k] * W[j * m + k] : W[k * n + i] * W[k * n + j];
            if (i == 0) first = dot;
            assert_true(fabs(dot - (i == j ? first : 0)) <= 1e-13 * first);
        }
    }
    assert_true(first >= 1 - 1e-13);
}

static void test_start(void **state) {
    (void)state;
    setup t = open_setup("network(40, 30, 30)", 4, 1, 3);
    const clsi_network *net = t.f->data;
    double *again = numbers(t.p);
    cls_random r;
    for (int i = 0; i < 2; i++) {
        cls_random_seed(&r, 77);
        t.f->kind->initialise(t.f, &r, i ? again : t.theta);
    }
    assert_memory_equal(again, t.theta, t.p * sizeof *again);
    for (size_t l = 0; l < net->n_layers; l++) {
        check_orthogonal(&net->layer[l], t.theta + net->layer[l].weight);
        for (size_t i = 0; l < 3 && i < net->layer[l].out; i++)
            assert_true(t.theta[net->layer[l].bias + i] == 0);
    }
    free(again);
    close_setup(&t);
}

/* As papers have it: rows or columns of length 1 whatever the shape, so that of one input the first
 * weights are small. */
static void test_unscaled_start(void **state) {
    (void)state;
    setup t = open_setup("network(40, 30, unscaled)", 1, 1, 3);
    const clsi_network *net = t.f->data;
    cls_random r;
    cls_random_seed(&r, 77);
    t.f->kind->initialise(t.f, &r, t.theta);
    for (size_t l = 0; l < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        double sum = 0;
        check_orthogonal(w, t.theta + w->weight);
        for (size_t k = 0; k < w->out * w->in; k++)
            sum += t.theta[w->weight + k] * t.theta[w->weight + k];
        assert_true(fabs(sum - (double)(w->out < w->in ? w->out : w->in)) < 1e-12);
    }
    close_setup(&t);
}

static void test_specs(void **state) {
    (void)state;
    static const struct {
        const char *spec, *says;
    } bad[] = {{"network()", "network(32, 32)"},
               {"network(tanh)", "at least one width"},
               {"network(32, tanh, 32)", "at the end"},
               {"network(32,, 32)", "expected widths"},
               {"network(0)", "1 to 512"},
               {"network(513)", "1 to 512"},
               {"network(99999999999999999999999)", "1 to 512"},
               {"network(-3)", "neither"},
               {"network(3.5)", "neither"},
               {"network(8, tan)", "did you mean tanh?"},
               {"network(1,1,1,1,1,1,1,1,1)", "at most 8"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        clsi_field *f;
        cls_error error;
        assert_int_equal(clsi_field_create(2, bad[i].spec, NULL, &f, &error), CLS_USAGE);
        assert_null(f);
        if (!strstr(error.message, bad[i].says)) fail_msg("%s: %s", bad[i].spec, error.message);
    }
    clsi_field *f;
    assert_int_equal(clsi_field_create(4, "network( 32 ,32 , softplus )", NULL, &f, NULL), CLS_OK);
    assert_int_equal(f->n_parameters, 4 * 32 + 32 + 32 * 32 + 32 + 32);
    assert_int_equal(((clsi_network *)f->data)->activation, CLSI_ACTIVATION_SOFTPLUS);
    clsi_field_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_nan_stays),
        cmocka_unit_test(test_naive),
        cmocka_unit_test(test_blocks_do_not_matter),
        cmocka_unit_test(test_fused_versions_agree),
        cmocka_unit_test(test_any_alignment),
        cmocka_unit_test(test_expression),
        cmocka_unit_test(test_rows_by_the_graph),
        cmocka_unit_test(test_rows_by_differences),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_unscaled_start),
        cmocka_unit_test(test_specs),
        cmocka_unit_test(test_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
