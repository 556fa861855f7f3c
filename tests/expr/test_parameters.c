/* Programs with parameters, which are set and not read: the bits are those of the instructions one by
 * one, for one sample, for lanes of samples, in stages, and after the
 * parameters were set again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "expr/graph.h"
#include "expr/program.h"
#include "tests/expr/random_graph.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X = 3, MAX_WIDTH = 40, SEEDS = 2 };

/* Inputs: x (X), theta (P), seeds; outputs: values, their Jacobian in x, and the gradient of
 * seeds.values in theta. */
typedef struct setup {
    cls_graph *g;
    size_t P, n_in, n_out, n_first;
    int signs; /* some terms are subtracted */
    cls_node *in, *theta, *out;
    cls_program *p;
    double *work, *plain, *lanes, *numbers, *got, *expected;
} setup;

static cls_node network(setup *t, size_t layers, size_t width, cls_function f, size_t *used) {
    cls_graph *g = t->g;
    cls_node a[MAX_WIDTH], z[MAX_WIDTH];
    size_t n = X;
    /* inputs are scaled, as they are for a learned part: constants must not get in the way */
    for (size_t k = 0; k < X; k++)
        a[k] = cls_mul(g, cls_constant(g, 1.7), cls_sub(g, t->in[k], cls_constant(g, 0.3)));
    for (size_t l = 0; l <= layers; l++) {
        size_t m = l < layers ? width : 1;
        for (size_t i = 0; i < m; i++) {
            z[i] = l < layers ? t->theta[(*used)++] : cls_constant(g, 0);
            for (size_t k = 0; k < n; k++) {
                cls_node term = cls_mul(g, t->theta[(*used)++], a[k]);
                z[i] =
                    t->signs && (i + k) % 7 == 3 ? cls_sub(g, z[i], term) : cls_add(g, z[i], term);
            }
        }
        for (size_t i = 0; i < m; i++) a[i] = l < layers ? cls_apply(g, f, z[i]) : z[i];
        n = m;
    }
    return a[0];
}

static size_t weights(size_t layers, size_t width) {
    size_t n = X, sum = 0;
    for (size_t l = 0; l <= layers; l++) {
        size_t m = l < layers ? width : 1;
        sum += m * n + (l < layers ? m : 0);
        n = m;
    }
    return sum;
}

static void open_setup(setup *t, size_t layers, size_t width, cls_function f, size_t early,
                       int signs) {
    char name[32];
    size_t used = 0;
    *t = (setup){.P = 2 * weights(layers, width), .signs = signs};
    assert_int_equal(cls_graph_create(NULL, &t->g, NULL), CLS_OK);
    t->n_in = X + t->P + SEEDS;
    t->n_first = SEEDS;
    t->n_out = SEEDS + SEEDS * X + t->P;
    t->in = malloc(t->n_in * sizeof *t->in);
    t->out = malloc(t->n_out * sizeof *t->out);
    assert_true(t->in && t->out);
    t->theta = t->in + X;
    for (size_t k = 0; k < X; k++) t->in[k] = cls_symbol(t->g, (char[2]){(char)('a' + k), 0});
    for (size_t k = 0; k < t->P; k++) {
        snprintf(name, sizeof name, "theta'%zu", k);
        t->theta[k] = clsi_parameter_symbol(t->g, name);
    }
    cls_node sum = cls_constant(t->g, 0);
    for (size_t e = 0; e < SEEDS; e++) {
        cls_node seed = t->in[X + t->P + e] = cls_fresh_symbol(t->g, "seed");
        t->out[e] = cls_mul(t->g, t->in[e], network(t, layers, width, f, &used));
        sum = cls_add(t->g, sum, cls_mul(t->g, seed, t->out[e]));
    }
    assert_int_equal(used, t->P);
    assert_int_equal(cls_jacobian(t->g, SEEDS, t->out, X, t->in, t->out + SEEDS), CLS_OK);
    assert_int_equal(cls_gradient(t->g, sum, t->P, t->theta, t->out + SEEDS + SEEDS * X), CLS_OK);
    clsi_parameters parameters = {X, t->P};
    assert_int_equal(clsi_program_create_open(t->g, parameters, early, t->n_in, t->in, t->n_first,
                                              t->n_out, t->out, &t->p, NULL),
                     CLS_OK);
    size_t plain = t->p->n_constants + t->p->n_inputs + t->p->n_instructions;
    t->work = malloc(cls_program_work_size(t->p) * sizeof *t->work);
    t->plain = malloc(plain * sizeof *t->plain);
    t->lanes = malloc(clsi_lanes_size(t->p) * sizeof *t->lanes);
    t->numbers = malloc(CLSI_LANES * t->n_in * sizeof *t->numbers);
    t->got = malloc(2 * t->n_out * sizeof *t->got);
    assert_true(t->work && t->plain && t->lanes && t->numbers && t->got);
    t->expected = t->got + t->n_out;
    cls_program_prepare(t->p, t->work);
    clsi_lanes_prepare(t->p, t->lanes);
}

static void close_setup(setup *t) {
    free(t->in), free(t->out), free(t->work), free(t->plain), free(t->lanes);
    free(t->numbers), free(t->got);
    cls_program_free(&t->p);
    cls_graph_free(&t->g);
}

static void check_same(const char *what, size_t n, const double *got, const double *expected) {
    for (size_t k = 0; k < n; k++)
        if (memcmp(&got[k], &expected[k], sizeof *got) != 0 && !isnan(expected[k]))
            fail_msg("%s: output %zu is %a, not %a", what, k, got[k], expected[k]);
}

/* Samples share the parameters. `strange`: now and then an input that is no ordinary number. */
static void random_numbers(setup *t, cls_random *r, int strange) {
    static const double odd[] = {0.0, -0.0, INFINITY, NAN, 1e300};
    for (size_t s = 0; s < CLSI_LANES; s++)
        for (size_t k = 0; k < t->n_in; k++) {
            double *x = &t->numbers[s * t->n_in + k];
            *x = cls_random_normal(r);
            if (strange && random_below(r, 20) == 0) *x = odd[random_below(r, 5)];
            if (k >= X && k < X + t->P) *x = s ? t->numbers[k] : *x;
        }
}

static void compare_one(setup *t) {
    const double *in = t->numbers;
    clsi_program_run_plain(t->p, t->plain, in, t->expected);
    clsi_program_set(t->p, t->work, in + X);
    cls_program_run(t->p, t->work, in, t->got);
    check_same("run", t->n_out, t->got, t->expected);
    clsi_program_early(t->p, t->work, in);
    clsi_program_first(t->p, t->work, in, t->got);
    check_same("first", t->n_first, t->got, t->expected);
    clsi_program_rest(t->p, t->work, in, t->got);
    check_same("rest", t->n_out, t->got, t->expected);
}

static void compare_lanes(setup *t, size_t n) {
    clsi_lanes_set(t->p, t->lanes, t->numbers + X);
    for (size_t k = 0; k < t->n_in; k++)
        for (size_t s = 0; s < CLSI_LANES && (k < X || k >= X + t->P); s++)
            clsi_lanes_input(t->p, t->lanes, k)[s] = t->numbers[(s < n ? s : 0) * t->n_in + k];
    clsi_lanes_early(t->p, n, t->lanes);
    clsi_lanes_late(t->p, n, t->lanes);
    for (size_t s = 0; s < n; s++) {
        clsi_program_run_plain(t->p, t->plain, t->numbers + s * t->n_in, t->expected);
        for (size_t k = 0; k < t->n_out; k++) t->got[k] = clsi_lanes_output(t->p, t->lanes, k)[s];
        check_same("lanes", t->n_out, t->got, t->expected);
    }
}

static void test_bits(void **state) {
    (void)state;
    static const size_t widths[] = {3, 8, 17};
    static const cls_function functions[] = {CLS_FN_TANH, CLS_FN_SOFTPLUS, CLS_FN_SIN};
    cls_random r;
    cls_random_seed(&r, 191);
    for (size_t w = 0; w < 3; w++)
        for (size_t f = 0; f < 3; f++) {
            setup t;
            size_t layers = 1 + (w + f) % 2, P = 2 * weights(layers, widths[w]);
            open_setup(&t, layers, widths[w], functions[f], f < 2 ? f * X : X + P, f != 1);
            for (int round = 0; round < 4; round++) {
                random_numbers(&t, &r, round % 2);
                compare_one(&t);
                compare_lanes(&t, round < 2 ? CLSI_LANES : 3);
            }
            close_setup(&t);
        }
}

/* Constants do not float past what is learned, and everywhere else they do. */
static void test_symbols(void **state) {
    (void)state;
    cls_graph *g;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    cls_node w = clsi_parameter_symbol(g, "w"), x = cls_symbol(g, "x"), y = cls_symbol(g, "y");
    cls_node twice = cls_mul(g, cls_constant(g, 2), x);
    cls_node learned = cls_mul(g, w, twice), written = cls_mul(g, y, twice);
    assert_int_equal(cls_node_op(g, cls_node_arg(g, written, 0)), CLS_OP_CONSTANT);
    assert_true(cls_node_arg(g, learned, 0) == w || cls_node_arg(g, learned, 1) == w);
    assert_int_equal(clsi_parameter_symbol(g, "w"), w);
    cls_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_symbols)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
