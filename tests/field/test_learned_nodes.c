/* Networks whose weights are being learned as field nodes: values have the bits of nodes with known
 * weights, in lanes and alone, and the slopes of a number in all weights are those of the same
 * network written out as formulas. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "expr/graph.h"
#include "expr/program.h"
#include "field/network_node.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 3, INPUTS = 2 * D + 1, LANES = 11, VALUES = 6 };

static const char *const specs[] = {
    "network(5)",      "network(13, 9)",           "network(7, softplus)",  "network(9, 8, 5, sin)",
    "network(35, 33)", "network(6, 17, softplus)", "convex(9, 7; 1 1 0 1)", "convex(7, 6; 1 0 2)"};
enum { CASES = sizeof specs / sizeof *specs, NETWORKS = CASES - 2 };

typedef enum how { FORMULAS, NODES, KNOWN } how;

typedef struct setup {
    clsi_field *f;
    cls_graph *g;
    size_t P, n_in; /* two networks share the field's form: weights of the first, of the second */
    double *theta;
    cls_node *in;      /* u (D), w (D), seed, theta (P) */
    cls_node *symbols; /* (P) */
    cls_node value[VALUES], sum;
} setup;

static cls_node phi(const setup *t, how h, size_t which, const cls_node *x) {
    size_t n = t->P / 2, first = which * n;
    if (h == NODES) return t->f->kind->open(t->f, t->g, x, t->symbols + first, first);
    if (h == KNOWN) return clsi_field_node(t->f, t->g, x, t->theta + first);
    return t->f->kind->expression(t->f, t->g, x, t->symbols + first);
}

/* A value, a component of the gradient, one of the discrete gradient, a network inside of
 * another, and two curvatures (one at a point that nothing else stands at); the sum of their sines times the seed. One weight stands in it as a symbol, too. */
static setup open_setup(size_t c, how h) {
    static const char *const names[] = {"a", "b", "c", "r", "s", "t", "seed"};
    setup t = {0};
    cls_random r;
    char name[32];
    assert_int_equal(clsi_field_create(D, specs[c], NULL, &t.f, NULL), CLS_OK);
    assert_int_equal(cls_graph_create(NULL, &t.g, NULL), CLS_OK);
    t.P = 2 * t.f->n_parameters;
    t.n_in = INPUTS + t.P;
    t.theta = calloc(t.P, sizeof *t.theta);
    t.in = calloc(t.n_in, sizeof *t.in);
    t.symbols = t.in + INPUTS;
    cls_random_seed(&r, 7 + c);
    for (size_t i = 0; i < INPUTS; i++) t.in[i] = cls_symbol(t.g, names[i]);
    for (size_t k = 0; k < t.P; k++) {
        snprintf(name, sizeof name, "theta'%zu", k);
        t.symbols[k] = clsi_parameter_symbol(t.g, name);
        t.theta[k] = 0.6 * cls_random_normal(&r);
    }
    cls_node u = phi(&t, h, 0, t.in), x[D], bar[D], inner = phi(&t, h, 1, t.in + D);
    t.value[0] = u;
    t.value[1] = cls_derivative(t.g, u, t.in[1]);
    assert_int_equal(cls_discrete_gradient(t.g, u, D, t.in, t.in, t.in + D, bar), CLS_OK);
    t.value[2] = bar[2];
    memcpy(x, t.in + D, sizeof x);
    x[0] = cls_add(t.g, x[0], inner);
    t.value[3] = phi(&t, h, 0, x);
    t.value[4] = cls_derivative(t.g, t.value[1], t.in[0]);
    t.value[5] = cls_derivative(t.g, cls_derivative(t.g, inner, t.in[D + 2]), t.in[D + 2]);
    t.sum = h == KNOWN ? cls_constant(t.g, 0) : cls_mul(t.g, t.in[0], t.symbols[3]);
    for (size_t k = 0; k < VALUES; k++)
        t.sum =
            cls_add(t.g, t.sum, cls_mul(t.g, t.in[2 * D], cls_apply(t.g, CLS_FN_SIN, t.value[k])));
    return t;
}

static void close_setup(setup *t) {
    clsi_field_free(&t->f);
    cls_graph_free(&t->g);
    free(t->theta);
    free(t->in);
}

static void sample(size_t lane, double *in) {
    cls_random r;
    cls_random_seed(&r, 100 + lane);
    for (size_t i = 0; i < 2 * D; i++) in[i] = cls_random_normal(&r);
    for (size_t i = 0; i < D && lane % 3 == 1; i++) in[D + i] = in[i] + 1e-7; /* near */
    in[2 * D] = 1 + 0.1 * (double)lane;
}

static double *make_lanes(const setup *t, const cls_program *p, size_t n) {
    double *work = calloc(clsi_lanes_size(p), sizeof *work), in[INPUTS];
    clsi_lanes_prepare(p, work);
    clsi_lanes_set(p, work, t->theta);
    for (size_t lane = 0; lane < CLSI_LANES; lane++) {
        sample(lane < n ? lane : 0, in);
        if (lane >= n) in[2 * D] = 0;
        for (size_t i = 0; i < INPUTS; i++) clsi_lanes_input(p, work, i)[lane] = in[i];
    }
    clsi_lanes_early(p, n, work);
    clsi_lanes_late(p, n, work);
    return work;
}

/* (LANES, P) rows, then their sum. */
static double *slopes_of(size_t c, how h) {
    setup t = open_setup(c, h);
    cls_program *p;
    cls_error e;
    double *out = calloc((LANES + 1) * t.P, sizeof *out);
    if (clsi_program_create_reverse(t.g, (clsi_parameters){INPUTS, t.P}, t.n_in, t.in, t.symbols,
                                    t.sum, &p, &e))
        fail_msg("%s: %s", specs[c], e.message);
    double *work = make_lanes(&t, p, LANES);
    for (size_t lane = 0; lane < LANES; lane++) clsi_lanes_slopes(p, work, lane, out + lane * t.P);
    clsi_lanes_add(p, LANES, work, out + LANES * t.P);
    cls_program_free(&p);
    free(work);
    close_setup(&t);
    return out;
}

static void slopes_are_those_of_formulas(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(c, FORMULAS);
        size_t P = t.P;
        double *expected = slopes_of(c, FORMULAS), *got = slopes_of(c, NODES), size = 0;
        for (size_t k = 0; k < (LANES + 1) * P; k++) size = fmax(size, fabs(expected[k]));
        for (size_t k = 0; k < (LANES + 1) * P; k++)
            if (!(fabs(got[k] - expected[k]) <= 1e-13 * size))
                fail_msg("%s, row %zu, weight %zu: %.17g, not %.17g", specs[c], k / P, k % P,
                         got[k], expected[k]);
        free(expected);
        free(got);
        close_setup(&t);
    }
}

static void values_have_the_bits_of_known_weights(void **state) {
    (void)state;
    for (size_t c = 0; c < NETWORKS; c++) {
        setup t = open_setup(c, NODES), known = open_setup(c, KNOWN);
        cls_program *p, *q;
        double in[INPUTS], out[VALUES], expected[VALUES];
        assert_int_equal(clsi_program_create_open(t.g, (clsi_parameters){INPUTS, t.P}, t.n_in,
                                                  t.n_in, t.in, VALUES, VALUES, t.value, &p, NULL),
                         CLS_OK);
        assert_int_equal(
            cls_program_create(known.g, INPUTS, known.in, VALUES, known.value, &q, NULL), CLS_OK);
        double *lanes = make_lanes(&t, p, LANES);
        double *work = calloc(cls_program_work_size(p), sizeof *work);
        double *other = calloc(cls_program_work_size(q), sizeof *other);
        cls_program_prepare(p, work);
        clsi_program_set(p, work, t.theta);
        cls_program_prepare(q, other);
        for (size_t lane = 0; lane < LANES; lane++) {
            sample(lane, in);
            cls_program_run(p, work, in, out);
            cls_program_run(q, other, in, expected);
            assert_memory_equal(out, expected, sizeof out);
            for (size_t k = 0; k < VALUES; k++)
                assert_memory_equal(&clsi_lanes_output(p, lanes, k)[lane], &expected[k],
                                    sizeof *expected);
        }
        free(lanes);
        free(work);
        free(other);
        cls_program_free(&p);
        cls_program_free(&q);
        close_setup(&t);
        close_setup(&known);
    }
}

/* What has no kernel is refused, not zero. */
static void third_derivatives_are_refused(void **state) {
    (void)state;
    setup t = open_setup(1, NODES);
    cls_program *p;
    cls_error e;
    cls_node thrice = cls_derivative(t.g, t.value[4], t.in[0]), slopes[1];
    assert_int_equal(clsi_program_create_reverse(t.g, (clsi_parameters){INPUTS, t.P}, t.n_in, t.in,
                                                 t.symbols, thrice, &p, &e),
                     CLS_USAGE);
    assert_null(p);
    assert_true(cls_depends(t.g, thrice, t.P / 2, t.symbols));
    assert_int_not_equal(cls_gradient(t.g, t.value[0], 1, t.symbols, slopes), CLS_OK);
    close_setup(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_those_of_formulas),
        cmocka_unit_test(values_have_the_bits_of_known_weights),
        cmocka_unit_test(third_derivatives_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
