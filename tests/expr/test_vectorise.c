/* Programs in vectors: the same bits as the instructions one by one, for networks with their
 * derivatives, Jacobians and discrete gradients, and for copies of random formulas; in stages as at
 * once; and the tanh that they are made of is as accurate as it says. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "expr/kernels.h"
#include "expr/program.h"
#include "tests/expr/random_graph.h"
#include <float.h>
#include <string.h>

enum { INPUTS = 6, MAX_WIDTH = 40, MAX_OUTPUTS = 256 };

typedef struct setup {
    cls_graph *g;
    cls_node in[INPUTS], out[MAX_OUTPUTS];
    size_t n_out, n_first;
    cls_program *p;
    double *work, *plain;
} setup;

static void open_setup(setup *t) {
    *t = (setup){0};
    assert_int_equal(cls_graph_create(NULL, &t->g, NULL), CLS_OK);
    for (size_t k = 0; k < INPUTS; k++) t->in[k] = cls_symbol(t->g, (char[2]){(char)('a' + k), 0});
}

static void compile(setup *t, size_t early) {
    assert_int_equal(clsi_program_create_staged(t->g, early, INPUTS, t->in, t->n_first, t->n_out,
                                                t->out, &t->p, NULL),
                     CLS_OK);
    size_t plain = t->p->n_constants + t->p->n_inputs + t->p->n_instructions;
    t->work = malloc((cls_program_work_size(t->p) + 1) * sizeof *t->work);
    t->plain = malloc((plain + 1) * sizeof *t->plain);
    assert_true(t->work && t->plain);
    cls_program_prepare(t->p, t->work);
}

static void close_setup(setup *t) {
    free(t->work);
    free(t->plain);
    cls_program_free(&t->p);
    cls_graph_free(&t->g);
}

static int same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void check_same(const char *what, size_t n, const double *got, const double *expected) {
    for (size_t k = 0; k < n; k++)
        if (!same_bits(got[k], expected[k]))
            fail_msg("%s: output %zu is %a, not %a", what, k, got[k], expected[k]);
}

static void random_inputs(cls_random *r, int odd, double *in) {
    static const double strange[] = {0.0, -0.0, 1.0, -1.0, INFINITY, NAN, 1e-300, 1e300};
    for (size_t k = 0; k < INPUTS; k++)
        in[k] = odd && random_below(r, 6) == 0 ? strange[random_below(r, 8)] : cls_random_normal(r);
}

/* At once, in stages, and stage by stage with the early inputs kept: all as one by one. */
static void compare(setup *t, cls_random *r, int samples) {
    double in[INPUTS], out[MAX_OUTPUTS], expected[MAX_OUTPUTS];
    for (int s = 0; s < samples; s++) {
        random_inputs(r, s % 2, in);
        clsi_program_run_plain(t->p, t->plain, in, expected);
        cls_program_run(t->p, t->work, in, out);
        check_same("run", t->n_out, out, expected);
        clsi_program_early(t->p, t->work, in);
        for (int again = 0; again < 2; again++) {
            clsi_program_first(t->p, t->work, in, out);
            check_same("first", t->n_first, out, expected);
            clsi_program_rest(t->p, t->work, in, out);
            check_same("rest", t->n_out, out, expected);
            for (size_t k = t->p->n_early_inputs; k < INPUTS; k++) in[k] += 1;
            clsi_program_run_plain(t->p, t->plain, in, expected);
        }
        clsi_program_late(t->p, t->work, in, out);
        check_same("late", t->n_out, out, expected);
        assert_int_equal(cls_program_run_many(t->p, 1, 1, in, out), CLS_OK);
        check_same("many", t->n_out, out, expected);
    }
}

/* Lanes of samples, without a plan. */
static void compare_lanes(setup *t, cls_random *r) {
    double in[CLSI_LANES][INPUTS], expected[MAX_OUTPUTS];
    double *work = malloc((clsi_lanes_size(t->p) + 1) * sizeof *work);
    assert_non_null(work);
    clsi_lanes_prepare(t->p, work);
    for (size_t s = 0; s < CLSI_LANES; s++) {
        random_inputs(r, s % 2, in[s]);
        for (size_t k = 0; k < INPUTS; k++) clsi_lanes_input(t->p, work, k)[s] = in[s][k];
    }
    clsi_lanes_early(t->p, CLSI_LANES, work);
    clsi_lanes_late(t->p, CLSI_LANES, work);
    for (size_t s = 0; s < CLSI_LANES; s++) {
        clsi_program_run_plain(t->p, t->plain, in[s], expected);
        for (size_t k = 0; k < t->n_out; k++) {
            double got = clsi_lanes_output(t->p, work, k)[s];
            check_same("lanes", 1, &got, &expected[k]);
        }
    }
    free(work);
}

/* ---- networks ---- */

/* Mostly normal numbers; now and then one that the graph folds away. */
static double random_weight(cls_random *r, int odd) {
    static const double folded[] = {0, 1, -1};
    return odd && random_below(r, 40) == 0 ? folded[random_below(r, 3)] : cls_random_normal(r);
}

static cls_node network(setup *t, cls_random *r, size_t layers, size_t width, cls_function f,
                        int odd) {
    cls_graph *g = t->g;
    cls_node a[MAX_WIDTH], z[MAX_WIDTH];
    size_t n = INPUTS;
    memcpy(a, t->in, sizeof t->in);
    for (size_t l = 0; l <= layers; l++) {
        size_t m = l < layers ? width : 1;
        for (size_t i = 0; i < m; i++) {
            z[i] = cls_constant(g, l < layers ? random_weight(r, odd) : 0);
            for (size_t k = 0; k < n; k++) {
                double w = random_weight(r, odd) / sqrt((double)n);
                z[i] = cls_add(g, z[i], cls_mul(g, cls_constant(g, w), a[k]));
            }
        }
        for (size_t i = 0; i < m; i++) a[i] = l < layers ? cls_apply(g, f, z[i]) : z[i];
        n = m;
    }
    return a[0];
}

/* Value, gradient, Hessian and the discrete gradient between (a, b, c) and (d, e, f). */
static void network_outputs(setup *t, cls_node y) {
    cls_graph *g = t->g;
    cls_node half[INPUTS / 2];
    t->out[0] = y;
    assert_int_equal(cls_gradient(g, y, INPUTS, t->in, t->out + 1), CLS_OK);
    assert_int_equal(cls_jacobian(g, INPUTS, t->out + 1, INPUTS, t->in, t->out + 1 + INPUTS),
                     CLS_OK);
    t->n_first = 1 + INPUTS;
    t->n_out = 1 + INPUTS + INPUTS * INPUTS;
    assert_int_equal(
        cls_discrete_gradient(g, y, INPUTS / 2, t->in, t->in, t->in + INPUTS / 2, half), CLS_OK);
    memcpy(t->out + t->n_out, half, sizeof half);
    t->n_out += INPUTS / 2;
    assert_int_equal(cls_jacobian(g, INPUTS / 2, half, INPUTS / 2, t->in, t->out + t->n_out),
                     CLS_OK);
    t->n_out += INPUTS * INPUTS / 4;
}

static void test_networks(void **state) {
    (void)state;
    static const size_t widths[] = {5, 8, 13};
    static const cls_function functions[] = {CLS_FN_TANH, CLS_FN_TANH, CLS_FN_SOFTPLUS, CLS_FN_SIN};
    cls_random r;
    cls_random_seed(&r, 91);
    for (size_t w = 0; w < 3; w++)
        for (size_t f = 0; f < 4; f++)
            for (size_t early = 0; early <= INPUTS; early += INPUTS / 2) {
                setup t;
                open_setup(&t);
                network_outputs(&t, network(&t, &r, 1 + w % 2, widths[w], functions[f], f != 0));
                compile(&t, early);
                compare(&t, &r, 12);
                compare_lanes(&t, &r);
                close_setup(&t);
            }
}

/* sum over i of tanh(c_i a + d_i b), COUNT cells of an array. */
static cls_node cells(setup *t, cls_random *r, size_t count) {
    cls_graph *g = t->g;
    cls_node sum = cls_constant(g, 0);
    for (size_t i = 0; i < count; i++) {
        cls_node a = cls_mul(g, cls_constant(g, cls_random_normal(r)), t->in[0]);
        cls_node b = cls_mul(g, cls_constant(g, cls_random_normal(r)), t->in[1]);
        sum = cls_add(g, sum, cls_apply(g, CLS_FN_TANH, cls_add(g, a, b)));
    }
    return sum;
}

/* What a plan is for: few operations in the place of many. The sum of cells runs in its order. */
static void test_few_operations(void **state) {
    (void)state;
    enum { COUNT = 500 };
    cls_random r;
    cls_random_seed(&r, 92);
    setup t;
    open_setup(&t);
    t.out[0] = cells(&t, &r, COUNT);
    t.n_out = t.n_first = 1;
    compile(&t, 0);
    assert_non_null(t.p->plan);
    assert_true(t.p->n_instructions >= 5 * COUNT - 1);
    size_t operations = 0;
    for (size_t k = 0; k < t.p->plan->n_ops; k++)
        operations += t.p->plan->ops[k].kind == CLSI_VECTOR_EACH;
    if (operations != 4) fail_msg("%zu operations", operations);
    compare(&t, &r, 12);
    close_setup(&t);
}

/* ---- copies of random formulas ---- */

/* Each copy at other places, so that equal operations meet. */
static void test_copies(void **state) {
    (void)state;
    enum { COPIES = 24, POOL = 40 };
    cls_random r;
    cls_random_seed(&r, 93);
    size_t planned = 0;
    for (int round = 0; round < 60; round++) {
        setup t;
        cls_node pool[POOL], to[INPUTS];
        open_setup(&t);
        random_pool(t.g, &r, INPUTS, t.in, POOL, pool, 1);
        for (size_t c = 0; c < COPIES; c++) {
            for (size_t k = 0; k < INPUTS; k++) {
                cls_node scaled = cls_mul(t.g, cls_constant(t.g, cls_random_normal(&r)), t.in[k]);
                to[k] = cls_add(t.g, scaled, cls_constant(t.g, cls_random_normal(&r)));
            }
            assert_int_equal(
                cls_substitute(t.g, 10, pool + POOL - 10, INPUTS, t.in, to, t.out + t.n_out),
                CLS_OK);
            t.n_out += 10;
        }
        t.n_first = t.n_out / 3;
        compile(&t, random_below(&r, INPUTS + 1));
        planned += t.p->plan != NULL;
        compare(&t, &r, 6);
        compare_lanes(&t, &r);
        close_setup(&t);
    }
    assert_true(planned > 20);
}

/* ---- what went wrong is found although nobody kept it ---- */

static void test_nonfinite(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 94);
    setup t;
    open_setup(&t);
    cls_node log = cls_apply(t.g, CLS_FN_LOG, t.in[0]);
    t.out[0] = cls_mul(t.g, log, cells(&t, &r, 200));
    t.n_out = t.n_first = 1;
    compile(&t, 0);
    assert_non_null(t.p->plan);
    double in[INPUTS] = {0, 1, 1, 1, 1, 1}, out;
    cls_program_run(t.p, t.work, in, &out);
    assert_false(isfinite(out));
    assert_int_equal(cls_program_first_nonfinite(t.p, t.work, in), log);
    in[0] = 1;
    assert_int_equal(cls_program_first_nonfinite(t.p, t.work, in), CLS_NO_NODE);
    close_setup(&t);
}

/* ---- tanh ---- */

static double ulps(double got, long double exact) {
    int e;
    frexpl(exact, &e);
    return (double)(fabsl(got - exact) / ldexpl(1, e - DBL_MANT_DIG));
}

static void test_tanh(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 95);
    double worst = 0;
    for (int k = 0; k < 300000; k++) {
        double x = cls_random_normal(&r) * exp2(5 - (double)random_below(&r, 60) / 2);
        double got = clsi_function_value(CLS_FN_TANH, x);
        worst = fmax(worst, ulps(got, tanhl(x)));
        assert_true(got == -clsi_function_value(CLS_FN_TANH, -x));
    }
    assert_true(worst < 2);
    assert_true(clsi_function_value(CLS_FN_TANH, 1e-310) == 1e-310);
    assert_true(clsi_function_value(CLS_FN_TANH, INFINITY) == 1);
    assert_true(clsi_function_value(CLS_FN_TANH, -300) == -1);
    assert_true(isnan(clsi_function_value(CLS_FN_TANH, NAN)));
    assert_true(signbit(clsi_function_value(CLS_FN_TANH, -0.0)));
}

/* tanh(d)/d and its derivative, from long double where that does not cancel and by series where it
 * does. */
static void test_tanh_quotients(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 96);
    for (int k = 0; k < 100000; k++) {
        double d = cls_random_normal(&r) * exp2(4 - (double)random_below(&r, 40) / 2);
        long double t = tanhl(d), y = (long double)d * d, slope = ((1 - t * t) - t / d) / d;
        if (fabs(d) < 0.02)
            slope = d * (-2.0L / 3 + y * (8.0L / 15 + y * (-34.0L / 105 + y * 496.0L / 2835)));
        double got = clsi_quotient_value(CLS_FN_TANH, 2, 1, d, 0, 0);
        assert_true(fabsl(clsi_quotient_value(CLS_FN_TANH, 1, 1, d, 0, 0) * d - t) <
                    6e-16L * fabsl(t));
        assert_true(fabsl(got - slope) < 2e-14L * fabsl(slope));
        assert_true(clsi_quotient_value(CLS_FN_TANH, 1, 2, 0, d, 0) ==
                    clsi_quotient_value(CLS_FN_TANH, 2, 1, d, 0, 0));
    }
    assert_true(clsi_quotient_value(CLS_FN_TANH, 1, 1, 0, 0, 0) == 1);
    assert_true(clsi_quotient_value(CLS_FN_TANH, 2, 1, 0, 0, 0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_networks), cmocka_unit_test(test_few_operations),
        cmocka_unit_test(test_copies),   cmocka_unit_test(test_nonfinite),
        cmocka_unit_test(test_tanh),     cmocka_unit_test(test_tanh_quotients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
