/* Networks as field nodes of a graph: every derivative and discrete derivative of a node is that of
 * the network written out as formulas, kernels of all machines and emitted C compute the bits of the
 * plain loops, and programs share passes without changing a bit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "expr/graph.h"
#include "expr/program.h"
#include "field/network_node.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 3, OUTPUTS = 64 };

static const struct {
    const char *spec;
    size_t d;
} cases[] = {{"network(5)", 1},           {"network(13, 9)", 3},
             {"network(7, softplus)", 2}, {"network(9, 8, 5, sin)", 2},
             {"network(35, 33)", 3},      {"network(6, 17, softplus)", 3}};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct setup {
    clsi_field *f;
    double *theta;
    cls_graph *g;
    size_t d;
    cls_node in[2 * MOST]; /* symbols: u, then w */
} setup;

static setup open_setup(size_t c) {
    static const char *const names[] = {"a", "b", "c", "r", "s", "t"};
    setup t = {.d = cases[c].d};
    cls_random r;
    assert_int_equal(clsi_field_create(t.d, cases[c].spec, NULL, &t.f, NULL), CLS_OK);
    assert_int_equal(cls_graph_create(NULL, &t.g, NULL), CLS_OK);
    t.theta = calloc(t.f->n_parameters, sizeof *t.theta);
    cls_random_seed(&r, 40 + c);
    t.f->kind->initialise(t.f, &r, t.theta);
    for (size_t k = 0; k < t.f->n_parameters; k++) t.theta[k] += 0.1 * cls_random_normal(&r);
    for (size_t i = 0; i < t.d; i++) {
        t.in[i] = cls_symbol(t.g, names[i]);
        t.in[t.d + i] = cls_symbol(t.g, names[MOST + i]);
    }
    return t;
}

static void close_setup(setup *t) {
    clsi_field_free(&t->f);
    cls_graph_free(&t->g);
    free(t->theta);
}

static cls_node node_at(const setup *t, const cls_node *x) {
    return clsi_network_node(t->f, t->g, x, t->theta, NULL);
}

static cls_node formula_at(const setup *t, const cls_node *x) {
    return clsi_field_expression(t->f, t->g, x, t->theta);
}

/* The points: far from each other, near, equal. */
static void inputs(const setup *t, int sample, double *in) {
    static const double apart[] = {1, 0.03, 1e-9, 0};
    for (size_t i = 0; i < t->d; i++) {
        in[i] = sin(1.7 * (double)i + 0.9 * sample);
        in[t->d + i] = in[i] + apart[sample % 4] * cos(2.3 * (double)i + sample);
    }
}

static void evaluate(const setup *t, size_t n, const cls_node *nodes, const double *in,
                     double *out) {
    cls_program *p;
    cls_error error;
    if (cls_program_create(t->g, 2 * t->d, t->in, n, nodes, &p, &error))
        fail_msg("%s", error.message);
    double *work = calloc(cls_program_work_size(p), sizeof *work);
    cls_program_prepare(p, work);
    cls_program_run(p, work, in, out);
    free(work);
    cls_program_free(&p);
}

static void assert_same(const setup *t, size_t n, const cls_node *a, const cls_node *b,
                        double limit) {
    double in[2 * MOST], got[OUTPUTS], expected[OUTPUTS];
    assert_true(n <= OUTPUTS);
    for (int sample = 0; sample < 8; sample++) {
        inputs(t, sample, in);
        evaluate(t, n, a, in, got);
        evaluate(t, n, b, in, expected);
        for (size_t k = 0; k < n; k++)
            if (!(fabs(got[k] - expected[k]) <= limit * (1 + fabs(expected[k]))))
                fail_msg("sample %d, output %zu: %.17g, not %.17g", sample, k, got[k], expected[k]);
    }
}

/* ---- derivatives ---- */

static size_t all_derivatives(const setup *t, cls_node phi, int order, cls_node *out) {
    size_t n = 0;
    out[n++] = phi;
    for (size_t first = 0, last = n; order-- > 0; first = last, last = n)
        for (size_t k = first; k < last; k++)
            for (size_t i = 0; i < t->d; i++) out[n++] = cls_derivative(t->g, out[k], t->in[i]);
    return n;
}

static void derivatives_are_those_of_the_formula(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(c);
        cls_node a[OUTPUTS], b[OUTPUTS];
        size_t n = all_derivatives(&t, node_at(&t, t.in), 3, a);
        assert_int_equal(all_derivatives(&t, formula_at(&t, t.in), 3, b), n);
        for (size_t k = 0; k < n; k++) assert_int_equal(cls_node_op(t.g, a[k]), CLS_OP_FIELD);
        assert_same(&t, n, a, b, 1e-12);
        close_setup(&t);
    }
}

/* Inputs that are formulas: the chain rule, forwards, backwards, after substitution. */
static void the_chain_rule_holds(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(c);
        cls_graph *g = t.g;
        cls_node x[MOST], y[MOST], phi[2], a[2 * MOST], b[2 * MOST], jacobian[2 * MOST];
        for (size_t i = 0; i < t.d; i++)
            x[i] = cls_mul(g, t.in[i], cls_apply(g, CLS_FN_SIN, t.in[t.d - 1]));
        for (int k = 0; k < 2; k++) {
            phi[k] = k ? formula_at(&t, x) : node_at(&t, x);
            phi[k] = cls_mul(g, phi[k], cls_apply(g, CLS_FN_TANH, phi[k]));
        }
        assert_int_equal(cls_gradient(g, phi[0], t.d, t.in, a), CLS_OK);
        assert_int_equal(cls_gradient(g, phi[1], t.d, t.in, b), CLS_OK);
        assert_same(&t, t.d, a, b, 1e-12);
        assert_int_equal(cls_jacobian(g, 1, phi, t.d, t.in, jacobian), CLS_OK);
        assert_same(&t, t.d, jacobian, b, 1e-12);
        for (size_t i = 0; i < t.d; i++) y[i] = cls_pow(g, t.in[t.d + i], cls_constant(g, 2));
        assert_int_equal(cls_substitute(g, 2, phi, t.d, t.in, y, phi), CLS_OK);
        assert_same(&t, 1, phi, phi + 1, 1e-12);
        assert_same(&t, 1, phi, (cls_node[]){cls_simplify(g, phi[0])}, 1e-13);
        close_setup(&t);
    }
}

/* Order four, and discrete gradients of derivatives, are written out. */
static void what_kernels_lack_is_written_out(void **state) {
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        setup t = open_setup(c);
        cls_node x[] = {t.in[0], t.in[0], t.in[0], t.in[t.d - 1]};
        cls_node a = node_at(&t, t.in), b = formula_at(&t, t.in), bar_a[MOST], bar_b[MOST];
        for (int k = 0; k < 4; k++) {
            a = cls_derivative(t.g, a, x[k]);
            b = cls_derivative(t.g, b, x[k]);
            if (k == 0) {
                (void)cls_discrete_gradient(t.g, a, t.d, t.in, t.in, t.in + t.d, bar_a);
                (void)cls_discrete_gradient(t.g, b, t.d, t.in, t.in, t.in + t.d, bar_b);
            }
        }
        assert_int_equal(cls_graph_status(t.g, NULL), CLS_OK);
        assert_same(&t, 1, &a, &b, 1e-11);
        assert_same(&t, t.d, bar_a, bar_b, 1e-11);
        close_setup(&t);
    }
}

/* ---- discrete gradients ---- */

static void discrete_gradients_are_those_of_the_formula(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(c);
        cls_node a[OUTPUTS], b[OUTPUTS], *u = t.in, *w = t.in + t.d;
        size_t d = t.d, n = d;
        cls_node phi[] = {node_at(&t, u), formula_at(&t, u)};
        assert_int_equal(cls_discrete_gradient(t.g, phi[0], d, u, u, w, a), CLS_OK);
        assert_int_equal(cls_discrete_gradient(t.g, phi[1], d, u, u, w, b), CLS_OK);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < 2 * d; j++, n++) {
                a[n] = cls_derivative(t.g, a[i], t.in[j]);
                b[n] = cls_derivative(t.g, b[i], t.in[j]);
                assert_int_equal(cls_node_op(t.g, a[n]), CLS_OP_FIELD);
            }
        assert_same(&t, n, a, b, 1e-11);
        close_setup(&t);
    }
}

/* phi(u) - phi(w) = g.(u - w) to round-off: the law that keeps the energy. */
static void discrete_gradients_are_exact(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(c);
        cls_node a[MOST + 2], *u = t.in, *w = t.in + t.d, other[MOST];
        double in[2 * MOST], out[MOST + 2];
        a[0] = node_at(&t, u);
        a[1] = node_at(&t, w);
        assert_int_equal(cls_discrete_gradient(t.g, a[0], t.d, u, u, w, a + 2), CLS_OK);
        assert_int_equal(cls_discrete_gradient(t.g, a[0], t.d, u, w, u, other), CLS_OK);
        for (size_t i = 0; i < t.d; i++) assert_int_equal(a[2 + i], other[i]); /* one node */
        for (int sample = 0; sample < 40; sample++) {
            inputs(&t, sample, in);
            evaluate(&t, t.d + 2, a, in, out);
            double sum = 0, size = 0;
            for (size_t i = 0; i < t.d; i++) {
                sum += out[2 + i] * (in[i] - in[t.d + i]);
                size += fabs(out[2 + i] * (in[i] - in[t.d + i]));
            }
            assert_true(fabs(out[0] - out[1] - sum) <= 4e-15 * (fabs(out[0]) + size + 1));
        }
        close_setup(&t);
    }
}

static void equal_points_give_the_gradient(void **state) {
    (void)state;
    setup t = open_setup(1);
    cls_node phi = node_at(&t, t.in), bar[MOST], slope[MOST], same = node_at(&t, t.in);
    assert_int_equal(phi, same);
    assert_int_equal(t.g->n_fields, 1);
    assert_int_equal(cls_discrete_gradient(t.g, phi, t.d, t.in, t.in, t.in + t.d, bar), CLS_OK);
    assert_int_equal(cls_gradient(t.g, phi, t.d, t.in, slope), CLS_OK);
    cls_node half = cls_mul(t.g, cls_constant(t.g, 0.5), cls_derivative(t.g, slope[0], t.in[1]));
    cls_node by_u = cls_derivative(t.g, bar[0], t.in[1]);
    (void)cls_substitute(t.g, 1, &by_u, t.d, t.in + t.d, t.in, &by_u);
    (void)cls_substitute(t.g, t.d, bar, t.d, t.in + t.d, t.in, bar);
    for (size_t i = 0; i < t.d; i++) assert_int_equal(bar[i], slope[i]);
    assert_int_equal(by_u, half);
    close_setup(&t);
}

static void text_says_what_it_is(void **state) {
    (void)state;
    setup t = open_setup(1);
    cls_node phi = node_at(&t, t.in), bar[MOST];
    (void)cls_discrete_gradient(t.g, phi, t.d, t.in, t.in, t.in + t.d, bar);
    cls_node second = cls_derivative(t.g, cls_derivative(t.g, phi, t.in[2]), t.in[0]);
    const struct {
        cls_node node;
        const char *text, *latex;
    } list[] = {{phi, "phi1(a, b, c)", "\\phi_{1}\\left(a, b, c\\right)"},
                {second, "phi1[1, 0, 1](a, b, c)",
                 "\\partial_{1} \\partial_{3} \\phi_{1}\\left(a, b, c\\right)"},
                {bar[1], "phi1[2]<a, b, c; r, s, t>",
                 "\\overline{\\partial}_{2} \\phi_{1}\\left(a, b, c;\\, r, s, t\\right)"},
                {cls_derivative(t.g, bar[1], t.in[3]), "phi1[2, w1]<a, b, c; r, s, t>",
                 "\\partial_{w_{1}} \\overline{\\partial}_{2} \\phi_{1}\\left(a, b, c;\\, r, s, "
                 "t\\right)"}};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        char *text = cls_print(t.g, list[k].node), *latex = cls_print_latex(t.g, list[k].node);
        assert_string_equal(text, list[k].text);
        assert_string_equal(latex, list[k].latex);
        cls_text_free(&text);
        cls_text_free(&latex);
    }
    close_setup(&t);
}

/* ---- bits ---- */

/* What Newton's method asks for: slopes and a discrete gradient first, then their derivatives. */
static size_t newton_nodes(const setup *t, cls_node phi, cls_node *out, size_t *first) {
    size_t d = t->d, n = d;
    (void)cls_discrete_gradient(t->g, phi, d, t->in, t->in, t->in + d, out);
    out[n++] = phi;
    for (size_t i = 0; i < d; i++) out[n++] = cls_derivative(t->g, phi, t->in[i]);
    *first = n;
    for (size_t k = 0; k < *first; k++)
        for (size_t i = 0; i < d; i++) out[n++] = cls_derivative(t->g, out[k], t->in[i]);
    return n;
}

static void stages_and_samples_give_the_same_bits(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(c);
        cls_node out[OUTPUTS], inputs_w_first[2 * MOST];
        size_t d = t.d, first, n = newton_nodes(&t, node_at(&t, t.in), out, &first);
        memcpy(inputs_w_first, t.in + d, d * sizeof *t.in);
        memcpy(inputs_w_first + d, t.in, d * sizeof *t.in);
        cls_program *staged;
        assert_int_equal(
            clsi_program_create_staged(t.g, d, 2 * d, inputs_w_first, first, n, out, &staged, NULL),
            CLS_OK);
        assert_true(staged->n_early_calls > 0); /* w is passed through once */
        double in[2 * MOST], swapped[2 * MOST], expected[OUTPUTS], got[OUTPUTS];
        double many_in[2 * MOST * 3], many[OUTPUTS * 3];
        double *work = calloc(cls_program_work_size(staged), sizeof *work);
        cls_program_prepare(staged, work);
        for (int sample = 0; sample < 8; sample++) {
            inputs(&t, sample, in);
            evaluate(&t, n, out, in, expected);
            memcpy(swapped, in + d, d * sizeof *in);
            memcpy(swapped + d, in, d * sizeof *in);
            clsi_program_early(staged, work, swapped);
            for (int again = 0; again < 2; again++) {
                clsi_program_first(staged, work, swapped, got);
                clsi_program_rest(staged, work, swapped, got);
                assert_memory_equal(got, expected, n * sizeof *got);
            }
            for (size_t k = 0; k < 2 * d; k++)
                for (int s = 0; s < 3; s++)
                    many_in[k * 3 + (size_t)s] = s == 1 ? swapped[k] : 0.1 * s;
            assert_int_equal(cls_program_run_many(staged, 3, 3, many_in, many), CLS_OK);
            for (size_t k = 0; k < n; k++)
                assert_memory_equal(&many[k * 3 + 1], &expected[k], sizeof *many);
        }
        free(work);
        cls_program_free(&staged);
        close_setup(&t);
    }
}

/* A program that was at a point before lends its state: the same bits, and the passes are not run again,
 * which a state that was spoiled shows. At another point they are. */
static void a_state_is_taken_from_another_program(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(c);
        cls_node out[OUTPUTS], early[2 * MOST], x[2 * MOST], at_w[1 + MOST];
        size_t d = t.d, first;
        for (size_t i = 0; i < 2 * d; i++) /* both programs compute the place of the point */
            x[i] = cls_mul(t.g, t.in[i], cls_add(t.g, t.in[i], cls_constant(t.g, 0.5)));
        memcpy(early, t.in + d, d * sizeof *early);
        memcpy(early + d, t.in, d * sizeof *early);
        size_t n = newton_nodes(&t, node_at(&t, t.in), out, &first);
        assert_int_equal(cls_substitute(t.g, n, out, 2 * d, t.in, x, out), CLS_OK);
        cls_node phi = node_at(&t, x + d);
        at_w[0] = phi;
        for (size_t i = 0; i < d; i++) at_w[1 + i] = cls_derivative(t.g, phi, t.in[d + i]);
        cls_program *p, *other;
        assert_int_equal(clsi_program_create_staged(t.g, d, 2 * d, early, first, n, out, &p, NULL),
                         CLS_OK);
        assert_int_equal(cls_program_create(t.g, d, early, 1 + d, at_w, &other, NULL), CLS_OK);
        uint32_t same[2 * MOST];
        for (size_t i = 0; i < 2 * d; i++)
            same[i] = i < d ? (uint32_t)(other->n_constants + i) : CLSI_NOT_SHARED;
        clsi_program_link(p, other, same);
        assert_int_equal(p->n_copies, 1);
        double *work = calloc(cls_program_work_size(p), sizeof *work);
        double *of = calloc(cls_program_work_size(other), sizeof *of), in[2 * MOST];
        double expected[OUTPUTS], got[OUTPUTS], values[1 + MOST];
        cls_program_prepare(p, work);
        cls_program_prepare(other, of);
        for (int sample = 0; sample < 4; sample++) {
            inputs(&t, sample, in);
            cls_program_run(p, work, in, expected);
            cls_program_run(other, of, in, values);
            clsi_program_early_from(p, work, in, other, of, d);
            clsi_program_late(p, work, in, got);
            assert_memory_equal(got, expected, n * sizeof *got);
            double *lent = clsi_on_cache_line(of + other->n_constants + other->n_inputs +
                                              other->n_instructions);
            for (size_t k = 0; k < p->copies[0].n; k++) lent[p->copies[0].other + k] = NAN;
            clsi_program_early_from(p, work, in, other, of, d);
            clsi_program_late(p, work, in, got);
            assert_true(isnan(got[0]));
            in[0] += 0.125;
            cls_program_run(p, work, in, expected);
            clsi_program_early_from(p, work, in, other, of, d);
            clsi_program_late(p, work, in, got);
            assert_memory_equal(got, expected, n * sizeof *got);
        }
        free(work);
        free(of);
        cls_program_free(&p);
        cls_program_free(&other);
        close_setup(&t);
    }
}

/* Formulas before, around and behind a network as machine code: the same bits, and the same place is named
 * where something is not finite. */
static void machine_code_around_networks_has_the_same_bits(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(c);
        cls_node out[OUTPUTS], x[MOST], quarter = cls_constant(t.g, 0.25);
        double in[2 * MOST], expected[8][OUTPUTS], got[OUTPUTS];
        size_t first, d = t.d;
        for (size_t i = 0; i < d; i++)
            x[i] = cls_add(t.g, t.in[i], cls_mul(t.g, quarter, cls_mul(t.g, t.in[0], t.in[i])));
        cls_node phi = node_at(&t, x), product = cls_mul(t.g, phi, cls_add(t.g, phi, t.in[0]));
        size_t n = newton_nodes(&t, product, out, &first);
        cls_program *p;
        assert_int_equal(cls_program_create(t.g, 2 * d, t.in, n, out, &p, NULL), CLS_OK);
        double *room = calloc(cls_program_work_size(p) + 8, sizeof *room);
        cls_node where[2];
        for (int native = 0; native < 2; native++) {
            double *work = room + 3 * native; /* anywhere on a cache line */
            if (native) clsi_program_make_native(p, 0);
            memset(work, 0, cls_program_work_size(p) * sizeof *work);
            cls_program_prepare(p, work);
            for (int sample = 0; sample < 8; sample++) {
                inputs(&t, sample, in);
                cls_program_run(p, work, in, native ? got : expected[sample]);
                if (native) assert_memory_equal(got, expected[sample], n * sizeof *got);
            }
            in[0] = 1e200;
            cls_program_run(p, work, in, got);
            where[native] = cls_program_first_nonfinite(p, work, in);
        }
        assert_true(where[0] == where[1] && where[0] != CLS_NO_NODE);
        free(room);
        cls_program_free(&p);
        close_setup(&t);
    }
}

/* Every pass by every kernel of this machine is that of the plain loops. */
static void kernels_have_the_bits_of_plain_loops(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        size_t d;
    } more[] = {{"network(64, 70)", 5}, {"network(100, 3, 41)", 4}, {"network(33, sin)", 9}};
    for (size_t c = 0; c < CASES + 3; c++)
        for (size_t kernel = 0; kernel < clsi_network_kernel_count(); kernel++) {
            const char *spec = c < CASES ? cases[c].spec : more[c - CASES].spec;
            size_t d = c < CASES ? cases[c].d : more[c - CASES].d;
            if (!clsi_network_kernel_at(kernel)->supported()) continue;
            clsi_field *f;
            cls_graph *g;
            cls_random r;
            cls_node x[16];
            assert_int_equal(clsi_field_create(d, spec, NULL, &f, NULL), CLS_OK);
            assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
            double *theta = calloc(f->n_parameters, sizeof *theta);
            cls_random_seed(&r, 3 + c);
            f->kind->initialise(f, &r, theta);
            for (size_t i = 0; i < d; i++) x[i] = cls_fresh_symbol(g, "x");
            cls_node phi = clsi_network_node(f, g, x, theta, clsi_network_kernel_at(kernel));
            const clsi_graph_field *node = clsi_view_field(g, phi).field;
            size_t point = node->kind->size(node, CLSI_PASS_THIRD) + 8;
            size_t pair = node->kind->size(node, CLSI_PASS_PAIR_W) + 8;
            size_t total = (2 * point + pair) / 8 * 8 + 8;
            double *fast = aligned_alloc(64, total * sizeof *fast), *plain = calloc(total, 8);
            for (int sample = 0; sample < 4; sample++) {
                double at[2][16];
                memset(fast, 0, total * sizeof *fast);
                memset(plain, 0, total * sizeof *plain);
                for (size_t i = 0; i < d; i++) {
                    at[0][i] = 2 * cls_random_normal(&r);
                    at[1][i] = at[0][i] + (sample % 2 ? 1e-3 : 1) * cls_random_normal(&r);
                }
                for (int pass = 0; pass < CLSI_PASSES; pass++)
                    for (size_t which = 0; which < (pass < CLSI_PASS_PAIR ? 2 : 1); which++) {
                        size_t own = pass < CLSI_PASS_PAIR ? which * point : 2 * point;
                        node->kind->run(node, NULL, (clsi_field_pass)pass, at[which], fast + own,
                                        fast, fast + point);
                        clsi_network_node_plain(node, (clsi_field_pass)pass, at[which], plain + own,
                                                plain, plain + point);
                    }
                for (size_t which = 0; which < 2; which++)
                    assert_memory_equal(fast + which * point, plain + which * point,
                                        clsi_field_point_results(d) * sizeof *fast);
                assert_memory_equal(fast + 2 * point, plain + 2 * point,
                                    clsi_field_pair_results(d) * sizeof *fast);
            }
            free(fast);
            free(plain);
            free(theta);
            cls_graph_free(&g);
            clsi_field_free(&f);
        }
}

/* Two fields of the same kind and one of another activation in one function. */
/* Weights as C: each a floating constant (-0 would be a whole number) that reads as the same bits. */
static void emitted_weights_are_exact(void **state) {
    (void)state;
    static const double odd[] = {-0.0,
                                 0,
                                 1,
                                 -3,
                                 1e16,
                                 0x1p-1074,
                                 0x1.fffffffffffffp1023,
                                 0.1,
                                 -1.0 / 3e-5,
                                 1e-310,
                                 -0.25,
                                 2e-5,
                                 123456789012345678.0,
                                 (double)0.1f};
    setup t = open_setup(1);
    cls_program *p;
    char *text;
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) t.theta[k] = odd[k];
    cls_node node = clsi_network_node(t.f, t.g, t.in, t.theta, NULL);
    assert_int_equal(cls_program_create(t.g, t.d, t.in, 1, &node, &p, NULL), CLS_OK);
    assert_int_equal(cls_program_emit_c(p, "learned", &text, NULL), CLS_OK);
    const char *s = strstr(text, "clsi_field0[");
    assert_non_null(s);
    s = strchr(s, '{') + 1;
    for (size_t k = 0; k < t.f->n_parameters; k++) {
        char *end;
        double value = strtod(s, &end);
        size_t n = strcspn(s, ",}");
        assert_memory_equal(&value, &t.theta[k], sizeof value);
        assert_ptr_equal(end, s + n);
        assert_true(strcspn(s, ".xe") < n);
        s = end + 1;
    }
    cls_text_free(&text);
    cls_program_free(&p);
    close_setup(&t);
}

static void emitted_c_has_the_same_bits(void **state) {
    (void)state;
    setup t = open_setup(1), o = open_setup(5);
    cls_node out[OUTPUTS];
    size_t d = t.d, first, n = newton_nodes(&t, node_at(&t, t.in), out, &first);
    for (size_t k = 0; k < o.f->n_parameters; k++) o.theta[k] *= 0.9;
    cls_node sum = cls_add(t.g, clsi_network_node(o.f, t.g, t.in, o.theta, NULL),
                           clsi_network_node(t.f, t.g, t.in + d, t.theta, NULL));
    out[n++] = sum;
    out[n++] = cls_derivative(t.g, cls_derivative(t.g, sum, t.in[0]), t.in[1]);
    cls_program *p;
    char *text, path[] = "/tmp/clausius-node-XXXXXX", command[256], file[64], library[64];
    assert_int_equal(cls_program_create(t.g, 2 * d, t.in, n, out, &p, NULL), CLS_OK);
    assert_int_equal(cls_program_emit_c(p, "learned", &text, NULL), CLS_OK);
    assert_true(strlen(text) < 90000); /* arrays and loops: kernels.inc is 37 kB of it */
    assert_non_null(mkdtemp(path));
    snprintf(file, sizeof file, "%s/m.c", path);
    snprintf(library, sizeof library, "%s/m.so", path);
    FILE *stream = fopen(file, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    snprintf(command, sizeof command,
             "cc -std=c99 -O2 -Wall -Wextra -Wshadow -Werror -pedantic -shared -fPIC -o %s %s -lm",
             library, file);
    assert_int_equal(system(command), 0);
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), *symbol;
    assert_non_null(handle);
    assert_non_null(symbol = dlsym(handle, "learned"));
    void (*learned)(const double *, double *);
    memcpy(&learned, &symbol, sizeof symbol);
    for (int sample = 0; sample < 40; sample++) {
        double in[2 * MOST], expected[OUTPUTS], got[OUTPUTS];
        inputs(&t, sample, in);
        evaluate(&t, n, out, in, expected);
        learned(in, got);
        assert_memory_equal(got, expected, n * sizeof *got);
    }
    dlclose(handle);
    unlink(file);
    unlink(library);
    rmdir(path);
    cls_text_free(&text);
    cls_program_free(&p);
    close_setup(&t);
    close_setup(&o);
}

/* Two ways to compute a gradient differ by no more than what terms_in_fields says of its rounding, and
 * it does not say much more: the sums inside are much larger than the result. */
static void rounding_is_that_of_the_paths(void **state) {
    (void)state;
    for (size_t c = 0; c < CASES; c++) {
        setup t = open_setup(c);
        cls_node phi = node_at(&t, t.in), psi = formula_at(&t, t.in), out[3 * MOST];
        double in[2 * MOST], x[3 * MOST], worst = 0;
        for (size_t i = 0; i < t.d; i++) {
            out[i] = cls_mul(t.g, t.in[0], cls_derivative(t.g, phi, t.in[i]));
            out[t.d + i] = cls_mul(t.g, t.in[0], cls_derivative(t.g, psi, t.in[i]));
            out[2 * t.d + i] = clsi_terms_in_fields(t.g, out[i]);
        }
        assert_true(cls_node_value(t.g, clsi_terms_in_fields(t.g, t.in[0])) == 0);
        for (int sample = 0; sample < 200; sample++) {
            inputs(&t, sample, in);
            evaluate(&t, 3 * t.d, out, in, x);
            for (size_t i = 0; i < t.d; i++)
                worst = fmax(worst, fabs(x[i] - x[t.d + i]) / (2e-15 * x[2 * t.d + i]));
        }
        if (!(worst <= 1) || !(worst >= 0.002)) fail_msg("%s: %g", cases[c].spec, worst);
        close_setup(&t);
    }
}

/* A program lives longer than its graph. */
static void programs_own_their_fields(void **state) {
    (void)state;
    setup t = open_setup(4);
    cls_node out[OUTPUTS];
    size_t first, n = newton_nodes(&t, node_at(&t, t.in), out, &first), d = t.d;
    double in[2 * MOST], expected[OUTPUTS], got[OUTPUTS];
    inputs(&t, 1, in);
    evaluate(&t, n, out, in, expected);
    cls_program *p;
    assert_int_equal(cls_program_create(t.g, 2 * d, t.in, n, out, &p, NULL), CLS_OK);
    close_setup(&t);
    double *work = calloc(cls_program_work_size(p), sizeof *work);
    cls_program_prepare(p, work);
    cls_program_run(p, work, in, got);
    assert_memory_equal(got, expected, n * sizeof *got);
    assert_true(cls_program_first_nonfinite(p, work, in) == CLS_NO_NODE);
    free(work);
    cls_program_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_are_those_of_the_formula),
        cmocka_unit_test(the_chain_rule_holds),
        cmocka_unit_test(what_kernels_lack_is_written_out),
        cmocka_unit_test(discrete_gradients_are_those_of_the_formula),
        cmocka_unit_test(discrete_gradients_are_exact),
        cmocka_unit_test(equal_points_give_the_gradient),
        cmocka_unit_test(text_says_what_it_is),
        cmocka_unit_test(stages_and_samples_give_the_same_bits),
        cmocka_unit_test(a_state_is_taken_from_another_program),
        cmocka_unit_test(machine_code_around_networks_has_the_same_bits),
        cmocka_unit_test(kernels_have_the_bits_of_plain_loops),
        cmocka_unit_test(emitted_weights_are_exact),
        cmocka_unit_test(emitted_c_has_the_same_bits),
        cmocka_unit_test(rounding_is_that_of_the_paths),
        cmocka_unit_test(programs_own_their_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
