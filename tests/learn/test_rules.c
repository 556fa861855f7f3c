/* Residuals that are expressions over whole windows, and which rule fits which system. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "learn/learn.h"
#include "scheme/scheme.h"
#include "tests/learn/made_data.h"
#include "tests/learn/parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static cls_model *learn_by(const cls_system *s, const cls_table *t, size_t n,
                           const char *const *parts, const char *field, const char *rule,
                           cls_learn_info *info) {
    cls_error error;
    cls_model *m;
    const char *name = "made here";
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = n;
    o.field = field;
    o.scheme = rule;
    if (cls_learn(s, NULL, 1, &t, &name, &o, &m, info, &error)) fail_msg("%s", error.message);
    return m;
}

/* ---- the discrete gradient ---- */

static void derivatives_agree_with_differences(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 12, 6, 0.05, 8);
    const char *const names[] = {"G", "F1"};
    const char *const fields[] = {"network(5, 4)", "chebyshev(2)"};
    for (int k = 0; k < 2; k++) {
        double off[2];
        clsi_rule rule = clsi_rule_of_scheme(clsi_scheme_find("discrete-gradient"));
        opened p = open_parts(s, t, 2, names, fields[k], &rule);
        assert_false(p.residual->affine);
        check_derivatives(p.residual, p.points->n_training * p.residual->n_equations,
                          p.unknowns->n_theta, off);
        if (!(off[0] <= 1e-6) || !(off[1] <= 1e-10))
            fail_msg("%s: %g and %g", fields[k], off[0], off[1]);
        close_parts(&p);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Steps whose networks stand at given points go by the kernels of the fields (step_blocks.c), Jacobians
 * by field nodes in lanes: one checks the other. Forces of three momenta, Q D Q^T, and a scheme of order 1
 * that has values at one end and slopes at both. */
static void blocks_agree_with_nodes(void **unused) {
    (void)unused;
    static const struct {
        const char *system, *scheme, *field, *parts[2];
        size_t n, n_ranges;
        range box[4];
    } cases[] = {
        {"rigid-body",
         "cayley",
         "network(6, 5, plain, rotation)",
         {"G", "f"},
         2,
         4,
         {{"mu1", -0.5, 0.5}, {"mu2", -0.5, 0.5}, {"mu3", -0.5, 0.5}, {"S", 0.2, 0.8}}},
        {"rigid-body",
         "cayley-symmetric",
         "network(7, softplus)",
         {"f"},
         1,
         4,
         {{"mu1", -0.5, 0.5}, {"mu2", -0.5, 0.5}, {"mu3", -0.5, 0.5}, {"S", 0.2, 0.8}}},
        {"pendulum", "leapfrog", "network(9)", {"V"}, 1, 2, {{"q", -2, 2}, {"p.q", -2, 2}}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double off[2];
        cls_system *s = load_system(cases[k].system);
        cls_table *t = make_data(s, cases[k].n_ranges, cases[k].box, 12, 8, 0.05, 8);
        clsi_rule rule = clsi_rule_of_scheme(clsi_scheme_find(cases[k].scheme));
        opened p = open_parts(s, t, cases[k].n, cases[k].parts, cases[k].field, &rule);
        if (!clsi_step_rows_blocks(p.residual->step)) fail_msg("%s: no blocks", cases[k].scheme);
        check_derivatives(p.residual, p.points->n_training * p.residual->n_equations,
                          p.unknowns->n_theta, off);
        if (!(off[0] <= 1e-5) || !(off[1] <= 1e-12)) /* the first: differences over 1e-6 */
            fail_msg("%s: %g and %g", cases[k].scheme, off[0], off[1]);
        close_parts(&p);
        cls_table_free(&t);
        cls_system_free(&s);
    }
}

/* Root mean square of the rows on the exact flow with the true friction, a constant. */
static double rows_of_truth(double h) {
    static const char *const text = "system \"a sliding block\"\n"
                                    "coordinate x\n"
                                    "temperature T\n"
                                    "thermal lagrangian G = v.x^2/2 - x^4/4 + T*(log(T) - 1)\n"
                                    "friction F on T: x <- -0.3*v.x\n"
                                    "start x = 0.5, v.x = 0.2, T = 1\n";
    static const range box[] = {{"x", -1, 1}, {"v.x", -1, 1}, {"T", 0.8, 1.2}};
    cls_error error;
    cls_system *s;
    if (cls_system_parse(text, "block", NULL, &s, &error)) fail_msg("%s", error.message);
    cls_table *t = make_data(s, 3, box, 200, 1, h, 21);
    const char *const names[] = {"F"};
    clsi_rule rule = clsi_rule_of_scheme(clsi_scheme_find("discrete-gradient"));
    opened p = open_parts(s, t, 1, names, "monomial(1, constant)", &rule);
    size_t P = p.unknowns->n_theta, rows = p.points->n_training * p.residual->n_equations;
    double *theta = calloc(P, sizeof *theta), *r = calloc(rows, sizeof *r), sum = 0;
    const clsi_learned *l = &p.unknowns->list[0].learned;
    double *value = calloc(p.points->n, sizeof *value);
    for (size_t k = 0; k < P; k++) { /* the parameter that multiplies one */
        theta[k] = 0.3;
        l->field->kind->evaluate(l->field, theta, p.points->n, p.unknowns->list[0].x, value, NULL,
                                 NULL);
        double spread = 0;
        for (size_t i = 1; i < p.points->n; i++) spread = fmax(spread, fabs(value[i] - 0.3));
        if (spread < 1e-15) break;
        theta[k] = 0;
    }
    assert_int_equal(clsi_residual_rows(p.residual, theta, 0, rows, NULL, r, NULL), CLS_OK);
    for (size_t i = 0; i < rows; i++) sum += r[i] * r[i];
    free(value);
    free(theta);
    free(r);
    close_parts(&p);
    cls_table_free(&t);
    cls_system_free(&s);
    return sqrt(sum / (double)rows);
}

/* On the exact flow the rows per length are of order h^2. */
static void rows_are_of_second_order(void **unused) {
    (void)unused;
    double coarse = rows_of_truth(0.04), fine = rows_of_truth(0.02);
    double order = log2(coarse / fine);
    if (!(fabs(order - 2) <= 0.15)) fail_msg("%g, %g: order %g", coarse, fine, order);
}

/* A model learned with it does as well as with the other rule of order 2. */
static void frictions_are_learned(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 100, 10, 0.05, 3);
    const char *const names[] = {"F1", "F2"};
    const char *const rules[] = {"vnots", "vnots-symmetric", "discrete-gradient"};
    double error[3];
    for (int i = 0; i < 3; i++) {
        cls_learn_info info;
        cls_model *m = learn_by(s, t, 2, names, "chebyshev(4, constant)", rules[i], &info);
        assert_string_equal(info.optimizer, "linear");
        error[i] = rollout(s, m, 0.01, 500);
        cls_model_free(&m);
    }
    print_message("vnots %g, vnots-symmetric %g, discrete-gradient %g\n", error[0], error[1],
                  error[2]);
    assert_true(error[2] < 0.2 * error[0]);
    assert_true(error[2] < 3 * error[1]);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Everything unknown: the scale condition holds here too. */
static void everything_is_learned(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 100, 10, 0.02, 3);
    const char *const names[] = {"G", "F1", "F2"};
    cls_learn_info info;
    cls_model *m = learn_by(s, t, 3, names, "chebyshev(4, constant)", "discrete-gradient", &info);
    assert_int_equal(info.normalised, 1);
    double error = rollout(s, m, 0.01, 300);
    if (!(error <= 0.02)) fail_msg("mean error %g", error);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* ---- the implicit midpoint rule ---- */

static void implicit_midpoint_is_for_hamiltonians(void **unused) {
    (void)unused;
    cls_system *s = load_system("pendulum");
    const range box[] = {{"q", -2, 2}, {"p.q", -2, 2}};
    cls_table *t = make_data(s, 2, box, 60, 20, 0.02, 13);
    const char *const V[] = {"V"};
    const char *const rules[] = {"implicit-midpoint", "discrete-gradient"};
    for (int i = 0; i < 2; i++) {
        cls_learn_info info;
        cls_model *m = learn_by(s, t, 1, V, "chebyshev(8)", rules[i], &info);
        double error = rollout(s, m, 0.002, 1000);
        if (!(error <= 2e-4)) fail_msg("%s: mean error %g", rules[i], error);
        cls_model_free(&m);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(derivatives_agree_with_differences),
                                       cmocka_unit_test(blocks_agree_with_nodes),
                                       cmocka_unit_test(rows_are_of_second_order),
                                       cmocka_unit_test(frictions_are_learned),
                                       cmocka_unit_test(everything_is_learned),
                                       cmocka_unit_test(implicit_midpoint_is_for_hamiltonians)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
