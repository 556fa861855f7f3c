/* Discrete gradients of fields between two points: the identity that makes them one, agreement with
 * automatic discrete differentiation of the field's own expression, derivatives in theta, and the
 * reference values of tests/reference/a1_phi_reference.csv and a2_scheme12_reference.csv. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "field/field.h"
#include "tests/expr/quotients.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 8 };

typedef struct setup {
    clsi_field *f;
    size_t d, p;
    double *theta, *pass, x[MAX * CLSI_FIELD_MAX_INPUTS];
} setup;

static double *numbers(size_t n) {
    double *v = calloc(n + 1, sizeof *v);
    assert_non_null(v);
    return v;
}

static setup open_setup(const char *spec, size_t d, uint64_t seed) {
    static const char *const names[] = {"x", "y", "z"};
    setup t = {.d = d};
    cls_random r;
    assert_int_equal(clsi_field_create(d, spec, names, &t.f, NULL), CLS_OK);
    assert_non_null(t.f->kind->pairs);
    assert_null(t.f->kind->pairs->missing(t.f));
    cls_random_seed(&r, seed);
    t.p = t.f->n_parameters;
    t.theta = numbers(t.p);
    t.f->kind->initialise(t.f, &r, t.theta);
    for (size_t k = 0; k < t.p; k++) t.theta[k] += 0.3 * cls_random_normal(&r);
    for (size_t k = 0; k < MAX * d; k++) t.x[k] = 2 * cls_random_uniform(&r) - 1;
    size_t size = t.f->kind->pairs->size(t.f);
    t.pass = numbers(size);
    for (size_t k = 0; k < size; k++) t.pass[k] = NAN; /* unset is poison */
    t.f->kind->pairs->open(t.f, t.theta, t.pass);
    return t;
}

static void close_setup(setup *t) {
    clsi_field_free(&t->f);
    free(t->theta);
    free(t->pass);
}

static double value_at(const setup *t, const double *x) {
    double value, *scratch = numbers(t->f->kind->scratch(t->f, 1));
    t->f->kind->evaluate(t->f, t->theta, 1, x, &value, NULL, scratch);
    free(scratch);
    return value;
}

static const struct {
    const char *spec;
    size_t d;
} cases[] = {{"network(7, 5)", 1},
             {"network(9, 6, 4)", 3},
             {"network(3)", 2},
             {"chebyshev(7)", 1},
             {"chebyshev(5)", 3},
             {"monomial(6, constant)", 2},
             {"terms(x^2*y; sin(x)*exp(y); sqrt(2 + x*y))", 2}};
enum { CASES = sizeof cases / sizeof *cases };

/* phi(u) - phi(w) = gbar.(u - w) from far to nearly equal, and the gradient where they are. */
static void identity_at_any_distance(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(cases[c].spec, cases[c].d, 3 + c);
        const clsi_field_pairs *pairs = t.f->kind->pairs;
        double gbar[3], slope[3], *u = t.x, *w = t.x + t.d;
        const size_t pair[] = {0, 1};
        for (double distance = 1; distance > 1e-18; distance /= 16) {
            double sum = 0, size = 0;
            for (size_t j = 0; j < t.d; j++) w[j] = u[j] + distance * (j % 2 ? -0.7 : 0.4);
            pairs->evaluate(t.pass, 2, t.x, 1, pair, gbar);
            for (size_t j = 0; j < t.d; j++) {
                sum += gbar[j] * (u[j] - w[j]);
                size += fabs(gbar[j]);
            }
            double phi = value_at(&t, u);
            assert_true(fabs(phi - value_at(&t, w) - sum) <= 2e-14 * (fabs(phi) + size + 1));
        }
        double *scratch = numbers(t.f->kind->scratch(t.f, 1));
        memcpy(w, u, t.d * sizeof *w);
        pairs->evaluate(t.pass, 2, t.x, 1, pair, gbar);
        t.f->kind->evaluate(t.f, t.theta, 1, u, NULL, slope, scratch);
        for (size_t j = 0; j < t.d; j++) assert_true(fabs(gbar[j] - slope[j]) < 1e-13);
        free(scratch);
        close_setup(&t);
    }
}

/* The same numbers as the graph's discrete gradient of `expression`, which is what simulates. */
static void equals_the_discrete_gradient_of_the_expression(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(cases[c].spec, cases[c].d, 30 + c);
        cls_graph *g;
        cls_program *program;
        cls_node x[3], ends[6], out[3];
        static const char *const names[] = {"x", "y", "z", "a", "b", "c", "e", "f", "h"};
        size_t d = t.d;
        assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
        for (size_t j = 0; j < d; j++) {
            x[j] = cls_symbol(g, names[j]);
            ends[j] = cls_symbol(g, names[3 + j]);
            ends[d + j] = cls_symbol(g, names[6 + j]);
        }
        cls_node *theta = calloc(t.p, sizeof *theta);
        for (size_t k = 0; k < t.p; k++) theta[k] = cls_constant(g, t.theta[k]);
        cls_node phi = t.f->kind->expression(t.f, g, x, theta);
        assert_int_equal(cls_discrete_gradient(g, phi, d, x, ends, ends + d, out), CLS_OK);
        assert_int_equal(cls_program_create(g, 2 * d, ends, d, out, &program, NULL), CLS_OK);
        double gbar[3 * 3], expected[3], *work = numbers(cls_program_work_size(program));
        const size_t pair[] = {0, 1, 2, 1, 3, 0};
        t.f->kind->pairs->evaluate(t.pass, 4, t.x, 3, pair, gbar);
        cls_program_prepare(program, work);
        for (size_t i = 0; i < 3; i++) {
            double in[6];
            memcpy(in, t.x + pair[2 * i] * d, d * sizeof *in);
            memcpy(in + d, t.x + pair[2 * i + 1] * d, d * sizeof *in);
            cls_program_run(program, work, in, expected);
            for (size_t j = 0; j < d; j++)
                assert_true(fabs(gbar[i * d + j] - expected[j]) <= 1e-13 * (1 + fabs(expected[j])));
        }
        free(work);
        free(theta);
        cls_program_free(&program);
        cls_graph_free(&g);
        close_setup(&t);
    }
}

static double contracted(setup *t, const size_t *pair, size_t n, const double *b) {
    double gbar[MAX * 3], sum = 0;
    t->f->kind->pairs->open(t->f, t->theta, t->pass);
    t->f->kind->pairs->evaluate(t->pass, 4, t->x, n, pair, gbar);
    for (size_t k = 0; k < n * t->d; k++) sum += b[k] * gbar[k];
    return sum;
}

/* Sums against central differences, rows against sums; points are shared by the pairs. */
static void derivatives_in_theta(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(cases[c].spec, cases[c].d, 60 + c);
        const clsi_field_pairs *pairs = t.f->kind->pairs;
        const size_t pair[] = {0, 1, 1, 2, 3, 3};
        double b[9], *sums = numbers(t.p), *row = numbers(t.p), *other = numbers(t.p);
        for (size_t k = 0; k < 9; k++) b[k] = cos(1 + (double)k);
        pairs->clear(t.pass);
        pairs->evaluate(t.pass, 4, t.x, 3, pair, NULL);
        pairs->add(t.pass, b);
        pairs->close(t.pass, sums);
        pairs->rows(t.pass, b, (double *[]){row, row, other});
        for (size_t k = 0; k < t.p; k++) {
            double keep = t.theta[k], h = 1e-5;
            assert_true(fabs(row[k] + other[k] - sums[k]) <= 1e-13 * (1 + fabs(sums[k])));
            t.theta[k] = keep + h;
            double above = contracted(&t, pair, 3, b);
            t.theta[k] = keep - h;
            double below = contracted(&t, pair, 3, b);
            t.theta[k] = keep;
            assert_true(fabs((above - below) / (2 * h) - sums[k]) < 2e-8 * (1 + fabs(sums[k])));
        }
        free(sums);
        free(row);
        free(other);
        close_setup(&t);
    }
}

/* One neuron is the quotient itself, its bias both slopes. */
static void quotients_of_the_reference(void **state) {
    (void)state;
    setup t = open_setup("network(1)", 2, 1);
    const size_t pair[] = {0, 1};
    t.theta[0] = t.theta[3] = 1; /* W, w */
    t.theta[1] = t.theta[2] = 0; /* W of the second input, b */
    for (size_t i = 0; i < QUOTIENTS; i++) {
        double gbar[2], b[] = {1, 0}, sums[4] = {0};
        t.x[0] = tanh_quotients[i][0];
        t.x[2] = tanh_quotients[i][1];
        t.x[1] = t.x[3] = 0;
        t.f->kind->pairs->open(t.f, t.theta, t.pass);
        t.f->kind->pairs->clear(t.pass);
        t.f->kind->pairs->evaluate(t.pass, 2, t.x, 1, pair, gbar);
        t.f->kind->pairs->add(t.pass, b);
        t.f->kind->pairs->close(t.pass, sums);
        assert_true(fabs(gbar[0] - tanh_quotients[i][2]) <= 1e-14 * tanh_quotients[i][2]);
        double slopes = tanh_quotients[i][3] + tanh_quotients[i][4],
               size = fabs(tanh_quotients[i][3]) + fabs(tanh_quotients[i][4]);
        assert_true(fabs(sums[2] - slopes) <= 1e-14 * (size + tanh_quotients[i][2]));
    }
    close_setup(&t);
}

/* tests/reference/a2_scheme12_reference.csv: the network of its first line (3 and 3 neurons: only
 * that gives its V(u)), without the trunk. */
static void network_of_the_reference(void **state) {
    (void)state;
    setup t = open_setup("network(3, 3)", 2, 1);
    const double x[] = {0.4, -0.7, -0.2, 0.1};
    const double expected[] = {0.35439996026263513582, -1.2327505330063414625};
    const size_t pair[] = {0, 1};
    double gbar[2], trunk[] = {(0.4 - 0.2) / 2, -0.7 + 0.1};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) t.theta[2 * i + j] = sin(1 + i + 2 * j);
        for (int j = 0; j < 3; j++) t.theta[9 + 3 * i + j] = cos(1 + 2 * i + j);
        t.theta[6 + i] = 0.1 * (i + 1);
        t.theta[18 + i] = -0.2 * (i + 1);
        t.theta[21 + i] = 0.5 + 0.3 * i;
    }
    memcpy(t.x, x, sizeof x);
    t.f->kind->pairs->open(t.f, t.theta, t.pass);
    t.f->kind->pairs->evaluate(t.pass, 2, t.x, 1, pair, gbar);
    for (int j = 0; j < 2; j++) assert_true(fabs(gbar[j] + trunk[j] - expected[j]) < 1e-15);
    close_setup(&t);
}

static void other_activations_say_that_they_cannot(void **state) {
    (void)state;
    clsi_field *f;
    assert_int_equal(clsi_field_create(1, "network(4, sin)", NULL, &f, NULL), CLS_OK);
    assert_non_null(strstr(f->kind->pairs->missing(f), "tanh"));
    clsi_field_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_at_any_distance),
        cmocka_unit_test(equals_the_discrete_gradient_of_the_expression),
        cmocka_unit_test(derivatives_in_theta),
        cmocka_unit_test(quotients_of_the_reference),
        cmocka_unit_test(network_of_the_reference),
        cmocka_unit_test(other_activations_say_that_they_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
