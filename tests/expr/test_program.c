/* Programs: run equals a naive walk over the graph bit for bit, blocks and split programs equal run
 * bit for bit, a run allocates nothing, and what is wrong is named: a symbol without a value, the
 * first operation that leaves the numbers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "expr/kernels.h"
#include "expr/program.h"
#include "tests/allocations.h"
#include "tests/expr/random_graph.h"
#include <string.h>

enum { SYMBOLS = 5, OUTPUTS = 30 };

/* ---- programs to try ---- */

typedef struct setup {
    cls_graph *g;
    cls_node s[SYMBOLS], out[OUTPUTS];
    cls_program *p;
    double *work;
} setup;

static cls_graph *open_graph(cls_node *s) {
    cls_graph *g;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    for (size_t k = 0; k < SYMBOLS; k++) s[k] = cls_symbol(g, (char[2]){(char)('a' + k), 0});
    return g;
}

static double *work_of(const cls_program *p) {
    double *work = malloc((cls_program_work_size(p) + 1) * sizeof *work);
    assert_non_null(work);
    cls_program_prepare(p, work);
    return work;
}

static void open_random(setup *t, cls_random *r) {
    cls_node pool[SYMBOLS + 4 + OUTPUTS];
    t->g = open_graph(t->s);
    random_pool(t->g, r, SYMBOLS, t->s, SYMBOLS + 4 + OUTPUTS, pool, 1);
    for (size_t k = 0; k < OUTPUTS; k++) t->out[k] = pool[SYMBOLS + 4 + k];
    t->out[0] = t->s[3]; /* an input and a constant among the outputs */
    t->out[1] = pool[SYMBOLS];
    assert_int_equal(cls_program_create(t->g, SYMBOLS, t->s, OUTPUTS, t->out, &t->p, NULL), CLS_OK);
    t->work = work_of(t->p);
}

static void close_setup(setup *t) {
    free(t->work);
    cls_program_free(&t->p);
    assert_null(t->p);
    cls_graph_free(&t->g);
}

static void random_inputs(cls_random *r, size_t n, double *in) {
    static const double odd[] = {0.0, -0.0, 1.0, -1.0, INFINITY, NAN, 1e-300, 1e300};
    for (size_t k = 0; k < n; k++) {
        size_t kind = random_below(r, 60);
        in[k] = kind < 8 ? odd[kind] : cls_random_normal(r);
    }
}

static int same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void check_same(size_t n, const double *got, const double *expected) {
    for (size_t k = 0; k < n; k++)
        if (!same_bits(got[k], expected[k]))
            fail_msg("output %zu: %a, not %a", k, got[k], expected[k]);
}

/* ---- the naive walk ---- */

static double naive(const cls_graph *g, cls_node k, const cls_node *s, const double *in) {
    double x[3] = {0, 0, 0};
    int i, j;
    for (size_t a = 0; a < cls_node_arg_count(g, k); a++)
        x[a] = naive(g, cls_node_arg(g, k, a), s, in);
    switch (cls_node_op(g, k)) {
    case CLS_OP_CONSTANT: return cls_node_value(g, k);
    case CLS_OP_SYMBOL:
        for (size_t a = 0; a < SYMBOLS; a++)
            if (s[a] == k) return in[a];
        fail_msg("a symbol from nowhere");
        return NAN;
    case CLS_OP_ADD: return x[0] + x[1];
    case CLS_OP_SUB: return x[0] - x[1];
    case CLS_OP_MUL: return x[0] * x[1];
    case CLS_OP_DIV: return x[0] / x[1];
    case CLS_OP_NEG: return -x[0];
    case CLS_OP_POW:
        if (cls_node_op(g, cls_node_arg(g, k, 1)) == CLS_OP_CONSTANT && x[1] == floor(x[1]) &&
            fabs(x[1]) <= 64)
            return clsi_powi(x[0], (int)x[1]);
        return clsi_pow(x[0], x[1]);
    case CLS_OP_FUNCTION: return clsi_function_value((int)cls_node_function(g, k), x[0]);
    case CLS_OP_QUOTIENT:
        cls_node_orders(g, k, &i, &j);
        return clsi_quotient_value((int)cls_node_function(g, k), i, j, x[0], x[1], x[2]);
    case CLS_OP_FIELD: break; /* tests/field/test_node.c */
    }
    return NAN;
}

static void test_naive(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 51);
    size_t finite = 0;
    for (int round = 0; round < 150; round++) {
        setup t;
        double in[SYMBOLS], out[OUTPUTS], expected[OUTPUTS];
        open_random(&t, &r);
        assert_int_equal(cls_program_input_count(t.p), SYMBOLS);
        assert_int_equal(cls_program_output_count(t.p), OUTPUTS);
        for (int sample = 0; sample < 20; sample++) {
            random_inputs(&r, SYMBOLS, in);
            cls_program_run(t.p, t.work, in, out);
            /* the deepest ones have too many paths for a walk without memory */
            for (size_t k = 0; k < 15; k++) {
                expected[k] = naive(t.g, t.out[k], t.s, in);
                finite += isfinite(expected[k]) != 0;
            }
            check_same(15, out, expected);
        }
        close_setup(&t);
    }
    assert_true(finite > 10000);
}

/* The program lives on without its graph. */
static void test_outlives_graph(void **state) {
    (void)state;
    cls_node s[SYMBOLS];
    cls_graph *g = open_graph(s);
    cls_node a = cls_mul(g, cls_apply(g, CLS_FN_EXP, s[0]), cls_constant(g, 3));
    cls_program *p;
    assert_int_equal(cls_program_create(g, SYMBOLS, s, 1, &a, &p, NULL), CLS_OK);
    cls_graph_free(&g);
    double *work = work_of(p), in[SYMBOLS] = {0.5}, out;
    cls_program_run(p, work, in, &out);
    assert_true(out == 3 * exp(0.5));
    free(work);
    cls_program_free(&p);
    cls_program_free(&p);
}

/* ---- blocks ---- */

static void test_many(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 127, 128, 129, 1000};
    enum { STRIDE = 1013 };
    cls_random r;
    cls_random_seed(&r, 52);
    double *in = malloc(SYMBOLS * STRIDE * sizeof *in),
           *out = malloc(OUTPUTS * STRIDE * sizeof *out);
    assert_true(in && out);
    for (int round = 0; round < 20; round++) {
        setup t;
        open_random(&t, &r);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            size_t n = counts[c];
            random_inputs(&r, SYMBOLS * STRIDE, in);
            for (size_t k = 0; k < OUTPUTS * STRIDE; k++) out[k] = 12345;
            assert_int_equal(cls_program_run_many(t.p, n, STRIDE, in, out), CLS_OK);
            for (size_t s = 0; s < STRIDE; s++) {
                double x[SYMBOLS], one[OUTPUTS], got[OUTPUTS];
                for (size_t k = 0; k < SYMBOLS; k++) x[k] = in[k * STRIDE + s];
                for (size_t k = 0; k < OUTPUTS; k++) got[k] = out[k * STRIDE + s];
                if (s < n) cls_program_run(t.p, t.work, x, one);
                for (size_t k = 0; s >= n && k < OUTPUTS; k++) one[k] = 12345; /* untouched */
                check_same(OUTPUTS, got, one);
            }
        }
        close_setup(&t);
    }
    free(in);
    free(out);
}

/* ---- split programs ---- */

static void test_split(void **state) {
    (void)state;
    cls_random r;
    cls_random_seed(&r, 53);
    size_t saved = 0;
    for (int round = 0; round < 100; round++) {
        setup t;
        double in[SYMBOLS], out[OUTPUTS], expected[OUTPUTS];
        open_random(&t, &r);
        for (size_t early = 0; early <= SYMBOLS; early++) {
            cls_program *p;
            assert_int_equal(
                clsi_program_create_split(t.g, early, SYMBOLS, t.s, OUTPUTS, t.out, &p, NULL),
                CLS_OK);
            assert_int_equal(cls_program_length(p), cls_program_length(t.p));
            if (early == 2) saved += p->end[CLSI_STAGE_EARLY];
            double *work = work_of(p);
            random_inputs(&r, SYMBOLS, in);
            clsi_program_early(p, work, in);
            for (int sample = 0; sample < 5; sample++) { /* the early inputs stay */
                random_inputs(&r, SYMBOLS - early, in + early);
                double hidden[SYMBOLS];
                memcpy(hidden, in, sizeof in);
                for (size_t k = 0; k < early; k++) hidden[k] = 777; /* must not be read again */
                clsi_program_late(p, work, hidden, out);
                cls_program_run(t.p, t.work, in, expected);
                check_same(OUTPUTS, out, expected);
            }
            cls_program_run(p, work, in, out);
            check_same(OUTPUTS, out, expected);
            free(work);
            cls_program_free(&p);
        }
        close_setup(&t);
    }
    assert_true(saved > 200); /* something was early */
}

/* Every operation once, and early exactly when it can be. */
static void test_lengths(void **state) {
    (void)state;
    cls_node s[SYMBOLS];
    cls_graph *g = open_graph(s);
    cls_node early = cls_apply(g, CLS_FN_EXP, cls_mul(g, s[0], s[1]));
    cls_node late = cls_add(g, cls_mul(g, early, s[2]), cls_apply(g, CLS_FN_SIN, s[2]));
    const cls_node out[] = {late, early, late, s[2]};
    cls_program *p;
    assert_int_equal(clsi_program_create_split(g, 2, SYMBOLS, s, 4, out, &p, NULL), CLS_OK);
    assert_int_equal(cls_program_length(p), 5);
    assert_int_equal(p->end[CLSI_STAGE_EARLY], 2);
    cls_program_free(&p);
    cls_graph_free(&g);
}

/* ---- what is wrong is named ---- */

static void test_missing_symbol(void **state) {
    (void)state;
    cls_node s[SYMBOLS];
    cls_graph *g = open_graph(s);
    cls_node odd = cls_symbol(g, "friction_k"), none = CLS_NO_NODE;
    cls_node a = cls_add(g, s[0], cls_mul(g, s[1], cls_apply(g, CLS_FN_SIN, odd)));
    cls_program *p = (cls_program *)g;
    cls_error error = {0};
    assert_int_equal(cls_program_create(g, SYMBOLS, s, 1, &a, &p, &error), CLS_SYSTEM);
    assert_null(p);
    assert_non_null(strstr(error.message, "friction_k"));
    assert_int_equal(cls_program_create(g, 1, &odd, 1, &a, &p, NULL), CLS_SYSTEM);
    assert_int_equal(cls_program_create(g, SYMBOLS, s, 1, &none, &p, &error), CLS_SYSTEM);
    assert_null(p);
    assert_int_equal(cls_program_create(g, SYMBOLS, s, 0, NULL, &p, NULL), CLS_OK);
    cls_program_free(&p);
    cls_graph_free(&g);
}

static void test_first_nonfinite(void **state) {
    (void)state;
    cls_node s[SYMBOLS];
    cls_graph *g = open_graph(s);
    cls_node log_a = cls_apply(g, CLS_FN_LOG, s[0]), root = cls_apply(g, CLS_FN_SQRT, s[1]);
    cls_node inverse = cls_div(g, s[2], s[3]), power = cls_pow(g, s[4], cls_constant(g, 5));
    cls_node sum = cls_add(g, cls_mul(g, log_a, root), cls_add(g, inverse, power));
    const struct {
        double in[SYMBOLS];
        cls_node culprit;
    } cases[] = {{{1, 1, 1, 1, 1}, CLS_NO_NODE},  {{-1, 1, 1, 1, 1}, log_a},
                 {{0, 1, 1, 1, 1}, log_a},        {{1, -1, 1, 1, 1}, root},
                 {{1, 1, 1, 0, 1}, inverse},      {{1, 1, 0, 0, 1}, inverse},
                 {{1, 1, 1, 1, 1e300}, power},    {{1, 1, NAN, 1, 1}, CLS_NO_NODE},
                 {{1, 1, 1, NAN, 1}, CLS_NO_NODE}};
    cls_program *p;
    assert_int_equal(cls_program_create(g, SYMBOLS, s, 1, &sum, &p, NULL), CLS_OK);
    double *work = work_of(p), out;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        cls_program_run(p, work, cases[k].in, &out);
        assert_int_equal(cls_program_first_nonfinite(p, work, cases[k].in), cases[k].culprit);
    }
    free(work);
    cls_program_free(&p);
    cls_graph_free(&g);
}

/* ---- memory ---- */

static void test_no_allocation(void **state) {
    (void)state;
    if (!COUNTS_ALLOCATIONS) skip();
    cls_random r;
    cls_random_seed(&r, 54);
    setup t;
    double in[SYMBOLS], out[OUTPUTS];
    open_random(&t, &r);
    size_t before = allocations;
    assert_true(before > 0); /* the counter counts */
    for (int k = 0; k < 10000; k++) {
        random_inputs(&r, SYMBOLS, in);
        cls_program_run(t.p, t.work, in, out);
        clsi_program_early(t.p, t.work, in);
        clsi_program_late(t.p, t.work, in, out);
        cls_program_first_nonfinite(t.p, t.work, in);
    }
    assert_int_equal(allocations, before);
    double many[OUTPUTS * 300], inputs[SYMBOLS * 300];
    random_inputs(&r, SYMBOLS * 300, inputs);
    assert_int_equal(cls_program_run_many(t.p, 300, 300, inputs, many), CLS_OK);
    assert_int_equal(allocations, before + 1); /* its block, once for all blocks */
    close_setup(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_naive),          cmocka_unit_test(test_outlives_graph),
        cmocka_unit_test(test_many),           cmocka_unit_test(test_split),
        cmocka_unit_test(test_missing_symbol), cmocka_unit_test(test_first_nonfinite),
        cmocka_unit_test(test_no_allocation),  cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
