/* Learning, end to end: what was put into the data comes out, and what comes out keeps the laws. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "learn/learn.h"
#include "scheme/scheme.h"
#include "tests/learn/made_data.h"
#include "tests/learn/parts.h"
#include <clausius/simulate.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what was put in comes out ---- */

#ifdef __SANITIZE_ADDRESS__
enum {
    CASES = 1,
    TRIALS = 10,
    RAN = 0
}; /* the sanitizer build looks for other things than errors */
#else
enum { CASES = 3, TRIALS = 60, RAN = 5 };
#endif

static void the_piston_is_learned_from_observables(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 300, 20, 0.01, 1);
    static const struct {
        const char *parts[3];
        size_t n;
        const char *field;
        double limit; /* of the mean error over 500 steps */
    } cases[] = {{{"F1", "F2"}, 2, NULL, 5e-5},
                 {{"G"}, 1, "chebyshev(6)", 1e-3},
                 {{"G", "F1", "F2"}, 3, "chebyshev(5, constant)", 5e-3}};
    for (int i = 0; i < CASES; i++) {
        cls_learn_info info;
        cls_model *m = learn(s, t, cases[i].parts, cases[i].n, cases[i].field, &info);
        assert_string_equal(info.optimizer, "linear");
        assert_int_equal(info.normalised, i == 2);
        double error = rollout(s, m, 0.01, 500);
        if (!(error <= cases[i].limit)) fail_msg("case %d: mean error %g", i, error);
        cls_model_free(&m);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

/* The constant of a generating function and the origins of its entropies cannot be seen. */
static void unseen_directions_are_counted(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 100, 20, 0.01, 2);
    const char *const G[] = {"G"};
    cls_learn_info info;
    cls_model *m = learn(s, t, G, 1, "chebyshev(3, constant)", &info);
    assert_int_equal(info.nullity, 1); /* the constant, and nothing else */
    assert_int_equal(info.rank + info.nullity, info.parameters);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Order of the residual's rule shows in what is learned: the first-order one is biased by O(h). */
static void higher_order_residuals_are_less_biased(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 200, 10, 0.08, 3);
    const char *const parts[] = {"F1", "F2"}, *name = "made here";
    const char *const rules[] = {"vnots", "vnots-symmetric", "quadrature"};
    double error[3];
    for (int i = 0; i < 3; i++) {
        cls_error e;
        cls_learn_info info;
        cls_model *m;
        cls_learn_options o = cls_learn_defaults();
        o.unknown = parts;
        o.n_unknown = 2;
        o.scheme = rules[i];
        if (cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &m, &info, &e))
            fail_msg("%s", e.message);
        error[i] = rollout(s, m, 0.01, 500);
        cls_model_free(&m);
    }
    print_message("vnots %g, vnots-symmetric %g, quadrature %g\n", error[0], error[1], error[2]);
    assert_true(error[1] < 0.1 * error[0]);
    assert_true(error[2] < 0.7 * error[1]);
    cls_table_free(&t);
    cls_system_free(&s);
}

static const char *const plate =
    "system \"a plate on an anisotropic floor\"\n"
    "coordinate x, y\n"
    "temperature T\n"
    "thermal lagrangian G = (v.x^2 + v.y^2)/2 - (x^2 + 2*y^2)/2 + T*(log(T) - 1)\n"
    "friction F on T: x <- -(0.5 + 0.2*x^2)*v.x - 0.2*v.y, y <- -0.2*v.x - 0.3*v.y\n"
    "start x = 0.5, y = -0.3, v.x = 0.2, v.y = 0.4, T = 1\n";

/* F = -L v by one solve, which has the truth; F = -Q D Q^T v by iterations. Both dissipate
 * everywhere by form. */
static void friction_in_two_dimensions(void **unused) {
    (void)unused;
    cls_error error;
    cls_system *s;
    if (cls_system_parse(plate, "plate", NULL, &s, &error)) fail_msg("%s", error.message);
    const range box[] = {
        {"x", -1, 1}, {"y", -1, 1}, {"v.x", -1, 1}, {"v.y", -1, 1}, {"T", 0.8, 1.2}};
    cls_table *t = make_data(s, 5, box, 200, 10, 0.02, 4);
    const char *const parts[] = {"F"};
    cls_learn_info info;
    cls_model *m = learn(s, t, parts, 1, "monomial(2, constant)", &info);
    assert_string_equal(info.optimizer, "linear");
    double mean = rollout(s, m, 0.02, 300);
    if (!(mean <= 1e-4)) fail_msg("mean error %g", mean);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* A potential from positions and momenta: V of the pendulum, up to its constant. */
static void a_potential_is_learned(void **unused) {
    (void)unused;
    cls_system *s = load_system("pendulum");
    const range box[] = {{"q", -2, 2}, {"p.q", -2, 2}};
    cls_table *t = make_data(s, 2, box, 60, 20, 0.02, 13);
    const char *const parts[] = {"V"};
    cls_learn_info info;
    cls_model *m = learn(s, t, parts, 1, "chebyshev(12)", &info);
    double mean = rollout(s, m, 0.002, 2000);
    if (!(mean <= 1e-4)) fail_msg("mean error %g", mean);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* One friction, then everything with no condition but the scale: networks from random parameters.
 * A scale that is only wished for collapses, and the model that is left does not move as it
 * should. */
static void networks_learn_too(void **unused) {
    (void)unused;
    static const struct {
        const char *parts[3];
        size_t n, trajectories, iterations;
        const char *field;
        double goal; /* mean error after 200 steps */
    } cases[] = {{{"F1"}, 1, 60, 60, "network(8, 8)", 5e-4},
                 {{"G", "F1", "F2"}, 3, 200, 600, "network(12, 12)", 2e-4}};
    cls_system *s = load_system("adiabatic-piston");
    for (size_t i = 0; i < 2; i++) {
        cls_table *t = make_data(s, 4, piston_box, cases[i].trajectories, 10, 0.02, 5);
        const char *name = "made here";
        cls_error error;
        cls_learn_info info;
        cls_model *m;
        cls_learn_options o = cls_learn_defaults();
        o.unknown = cases[i].parts;
        o.n_unknown = cases[i].n;
        o.field = cases[i].field;
        o.max_iterations = cases[i].iterations;
        if (cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &m, &info, &error))
            fail_msg("%s", error.message);
        assert_string_equal(info.optimizer, "spring");
        assert_int_equal(info.normalised, i == 1);
        assert_true(info.loss_final < 0.05 * info.loss_initial);
        double mean = rollout(s, m, 0.01, 200);
        print_message("%s: residual %.2e, rollout %.2e\n", cases[i].field, info.loss_final, mean);
        if (!(mean < cases[i].goal)) fail_msg("mean error %g", mean);
        cls_model_free(&m);
        cls_table_free(&t);
    }
    cls_system_free(&s);
}

/* Networks as the papers have them: plain inputs, lambda = N^2, all rows alike; Adam, then L-BFGS
 * from where it ended. The model's file keeps the form. */
static void forms_of_the_papers(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 40, 10, 0.02, 5);
    const char *const parts[] = {"F1"}, *name = "made here";
    const char *path = "forms_of_the_papers.safetensors";
    cls_error error;
    cls_learn_info first, second;
    cls_model *m, *more, *read;
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = 1;
    o.field = "network(8, 8, plain, square)";
    o.scheme = "vnots";
    o.weights = "equal";
    o.optimizer = "adam";
    o.rate = 1e-2;
    o.max_iterations = 300;
    if (cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &m, &first, &error))
        fail_msg("%s", error.message);
    assert_int_equal(m->learned[0].square, 1);
    assert_string_equal(m->learned[0].input[1], "v.x");
    assert_string_equal(m->learned[0].input[2], "T1");
    o.optimizer = "lbfgs";
    o.rate = 0;
    o.max_iterations = 50;
    o.from = m;
    if (cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &more, &second, &error))
        fail_msg("%s", error.message);
    assert_true(second.loss_final < first.loss_final);
    assert_int_equal(cls_model_write(more, path, &error), CLS_OK);
    assert_int_equal(cls_model_read(path, &read, &error), CLS_OK);
    assert_int_equal(read->learned[0].square, 1);
    assert_true(rollout(s, read, 0.01, 100) == rollout(s, more, 0.01, 100));
    read->learned[0].scale = -1; /* a friction that drives is no model */
    assert_int_equal(clsi_model_build(read, &error), CLS_SYSTEM);
    cls_model_free(&read);
    cls_model_free(&more);
    o.field = "network(8, 7, plain, square)";
    assert_int_equal(
        cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &more, &second, &error),
        CLS_USAGE);
    assert_non_null(strstr(error.message, "to begin from"));
    remove(path);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* ---- laws for every parameter value ---- */

/* Untrained parameters, small to large: a run either keeps the laws or stops with an error. */
static void laws_hold_for_any_parameters(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 40, 10, 0.02, 6);
    const char *const parts[] = {"G", "F1", "F2"};
    cls_learn_info info;
    cls_model *m = learn(s, t, parts, 3, "chebyshev(3, constant)", &info);
    cls_random random;
    cls_random_seed(&random, 7);
    int stopped = 0, ran = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        cls_error error;
        double size = pow(10, 3 * cls_random_uniform(&random) - 3), start[4];
        double *kept = malloc(m->n_theta * sizeof *kept);
        memcpy(kept, m->theta, m->n_theta * sizeof *kept);
        for (size_t i = 0; i < m->n_theta; i++) m->theta[i] += size * cls_random_normal(&random);
        assert_int_equal(clsi_model_build(m, &error), CLS_OK);
        memcpy(m->theta, kept, m->n_theta * sizeof *kept);
        free(kept);
        cls_simulate_options o = cls_simulate_defaults();
        o.h = 0.01;
        o.max_halvings = 3;
        cls_simulator *sim;
        assert_int_equal(cls_simulator_create(m->system, &o, &sim, &error), CLS_OK);
        assert_int_equal(cls_system_start(s, NULL, start, &error), CLS_OK);
        cls_status status = cls_simulator_start(sim, 0, start, &error);
        if (status == CLS_OK) status = cls_simulator_advance(sim, 50, &error);
        cls_simulate_info laws = cls_simulator_info(sim);
        if (laws.steps > 0 && !(laws.energy_relative <= 1e-12))
            fail_msg("trial %d: energy %g after %llu steps", trial, laws.energy_relative,
                     (unsigned long long)laws.steps);
        assert_int_equal(laws.entropy_falls, 0);
        if (status == CLS_OK)
            ran++;
        else
            stopped++;
        cls_simulator_free(&sim);
    }
    assert_true(ran > RAN); /* the test has seen runs, not only refusals */
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* ---- derivatives ---- */

static void jacobian_and_gradient_agree_with_differences(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 12, 6, 0.05, 8);
    const char *const names[] = {"G", "F1"};
    const char *const fields[] = {"network(5, 4)", "chebyshev(2)"};
    for (int k = 0; k < 2; k++) {
        double off[2];
        opened p = open_parts(s, t, 2, names, fields[k], &clsi_rule_quadrature);
        check_derivatives(p.residual, p.points->n_training * p.residual->n_equations,
                          p.unknowns->n_theta, off);
        if (!(off[0] <= 1e-7)) fail_msg("%s: Jacobian off by %g", fields[k], off[0]);
        if (!(off[1] <= 1e-11)) fail_msg("%s: gradient off by %g", fields[k], off[1]);
        close_parts(&p);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Every rule, rows in any order, one thread or several: the gradient is J^T r / rows. */
static void gradients_are_those_of_the_rows(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 40, 10, 0.05, 8);
    const cls_table *table = t;
    const char *const parts[] = {"G", "F1", "F2"}, *name = "made here";
    clsi_rule step = clsi_rule_of_scheme(clsi_scheme_find("discrete-gradient"));
    const clsi_rule *const rules[] = {&clsi_rule_quadrature, &clsi_rule_vnots, &clsi_rule_midpoint,
                                      &step};
    for (int k = 0; k < 8; k++) {
        cls_error error;
        clsi_points *points;
        clsi_unknowns *unknowns;
        clsi_residual *residual;
        cls_learn_options o = cls_learn_defaults();
        o.unknown = parts;
        o.n_unknown = 3;
        o.field = k % 2 ? "chebyshev(2)" : "network(7, 5)";
        assert_int_equal(
            clsi_points_create(s, 1, &table, &name, rules[k / 2], 0, 0, &points, &error), CLS_OK);
        assert_int_equal(clsi_unknowns_create(s, NULL, &o, points, &unknowns, &error), CLS_OK);
        assert_int_equal(clsi_residual_create(points, unknowns, &residual, &error), CLS_OK);
        size_t P = unknowns->n_theta, rows = points->n_training * residual->n_equations;
        double *theta = calloc(4 * P, sizeof *theta), *r = calloc(rows, sizeof *r), loss, again;
        double *J = calloc(rows * P, sizeof *J), *sum = theta + P, *got = sum + P, *other = got + P;
        size_t *list = calloc(rows, sizeof *list);
        cls_random random;
        cls_random_seed(&random, 9);
        for (size_t i = 0; i < P; i++) theta[i] = 0.3 * cls_random_normal(&random);
        for (size_t i = 0; i < rows; i++)
            list[i] = (size_t)(cls_random_uniform(&random) * (double)rows);
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            const size_t *order = shuffled ? list : NULL;
            double worst = 0, largest = 0, squares = 0;
            omp_set_num_threads(1);
            (void)clsi_residual_rows(residual, theta, 0, rows, order, r, J);
            (void)clsi_residual_gradient(residual, theta, rows, order, &loss, got);
            omp_set_num_threads(3);
            (void)clsi_residual_gradient(residual, theta, rows, order, &again, other);
            assert_memory_equal(got, other, P * sizeof *got);
            assert_true(loss == again);
            memset(sum, 0, P * sizeof *sum);
            for (size_t i = 0; i < rows; i++) {
                squares += r[i] * r[i] / (2 * (double)rows);
                for (size_t j = 0; j < P; j++) sum[j] += r[i] * J[i * P + j] / (double)rows;
            }
            for (size_t j = 0; j < P; j++) {
                worst = fmax(worst, fabs(sum[j] - got[j]));
                largest = fmax(largest, fabs(got[j]));
            }
            assert_true(fabs(loss - squares) < 1e-12 * squares);
            if (!(worst < 1e-12 * largest)) fail_msg("case %d: off by %g of %g", k, worst, largest);
        }
        free(theta);
        free(r);
        free(J);
        free(list);
        clsi_residual_free(&residual);
        clsi_unknowns_free(&unknowns);
        clsi_points_free(&points);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

static void weights_integrate_parabolas(void **unused) {
    (void)unused;
    const double t[] = {0.3, 0.5, 1.1, 1.2, 1.5, 1.8, 2};
    double w[7];
    for (size_t i = 0; i < 4; i++) { /* two panels of three, one of five and seven */
        size_t n = i < 2 ? 3 + 2 * i : 1 + 2 * i, panel = i < 2 ? 3 : n;
        clsi_window_weights(n, panel, t, w);
        for (int power = 0; power < (int)panel; power++) {
            double sum = 0, exact = (pow(t[n - 1], power + 1) - pow(t[0], power + 1)) / (power + 1);
            for (size_t k = 0; k < n; k++) sum += w[k] * pow(t[k], power);
            assert_true(fabs(sum - exact) < (panel > 3 ? 1e-13 : 1e-15));
        }
    }
}

/* ---- files ---- */

static void a_model_survives_its_file(void **unused) {
    (void)unused;
    char folder[] = "/tmp/clausius-model-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 40, 10, 0.02, 10);
    const char *const parts[] = {"G", "F2"};
    cls_learn_info info;
    cls_error error;
    cls_model *m = learn(s, t, parts, 2, "chebyshev(3, constant)", &info), *again;
    assert_int_equal(cls_model_write(m, path, &error), CLS_OK);
    if (cls_model_read(path, &again, &error)) fail_msg("%s", error.message);
    assert_int_equal(again->n_theta, m->n_theta);
    assert_memory_equal(again->theta, m->theta, m->n_theta * sizeof(double));
    double a[4], b[4];
    cls_simulator *sim;
    const cls_model *both[] = {m, again};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cls_simulator_create(cls_model_system(both[i]), NULL, &sim, &error),
                         CLS_OK);
        assert_int_equal(cls_system_start(cls_model_system(both[i]), NULL, a, &error), CLS_OK);
        assert_int_equal(cls_simulator_start(sim, 0, a, &error), CLS_OK);
        assert_int_equal(cls_simulator_advance(sim, 20, &error), CLS_OK);
        memcpy(i ? a : b, cls_simulator_state(sim), sizeof a);
        cls_simulator_free(&sim);
    }
    assert_memory_equal(a, b, sizeof a);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
    cls_model_free(&m);
    cls_model_free(&again);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* A person with data and no formulas: the file says what is unknown. */
static void unknown_parts_of_a_file(void **unused) {
    (void)unused;
    static const char *const text = "system \"a piston nobody has formulas for\"\n"
                                    "coordinate x in (-2, 2)\n"
                                    "temperature T1, T2\n"
                                    "thermal lagrangian G = unknown chebyshev(5)\n"
                                    "friction F1 on T1: unknown dissipative\n"
                                    "friction F2 on T2: unknown chebyshev(4, constant)\n"
                                    "start x = 0, v.x = -0.5, T1 = 0.65, T2 = 1.04\n";
    cls_error error;
    cls_learn_info info;
    cls_model *m;
    cls_simulator *sim;
    cls_system *truth = load_system("adiabatic-piston"), *s;
    cls_table *t = make_data(truth, 4, piston_box, 200, 20, 0.01, 12);
    const cls_table *table = t;
    const char *name = "data.csv";
    if (cls_system_parse(text, "nobody", NULL, &s, &error)) fail_msg("%s", error.message);
    assert_int_equal(cls_simulator_create(s, NULL, &sim, &error), CLS_SYSTEM);
    assert_non_null(strstr(error.message, "'G' of 'nobody' is unknown"));
    if (cls_learn(s, NULL, 1, &table, &name, NULL, &m, &info, &error))
        fail_msg("%s", error.message);
    assert_int_equal(info.normalised, 1);
    double mean = rollout(truth, m, 0.01, 300);
    if (!(mean <= 5e-3)) fail_msg("mean error %g", mean);
    cls_model_free(&m);
    cls_system_free(&s);
    assert_int_equal(cls_system_parse("coordinate x\nentropy S\nhamiltonian H = p.x^2/2 + exp(S)\n"
                                      "friction on S: unknown\n",
                                      "unnamed", NULL, &s, &error),
                     CLS_SYSTEM);
    assert_non_null(strstr(error.message, "needs a name"));
    cls_table_free(&t);
    cls_system_free(&truth);
}

static void mistakes_are_explained(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 5, 10, 0.02, 11);
    const cls_table *table = t;
    const char *name = "data.csv", *wrong[] = {"F3"}, *right[] = {"F1"};
    cls_error error;
    cls_learn_info info;
    cls_model *m;
    cls_learn_options o = cls_learn_defaults();
    assert_int_equal(cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &error), CLS_USAGE);
    o.unknown = wrong;
    o.n_unknown = 1;
    assert_int_equal(cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "has no part 'F3'; did you mean"));
    o.unknown = right;
    o.field = "chebychev(3)";
    assert_int_equal(cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "did you mean 'chebyshev'"));
    o.field = "network(4)";
    o.optimizer = "linear";
    assert_int_equal(cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "not affine"));
    o = (cls_learn_options){.size = sizeof o, .unknown = right, .n_unknown = 1, .scheme = "bdf"};
    assert_int_equal(cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &error), CLS_USAGE);
    assert_null(m);
    cls_table_free(&t);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_piston_is_learned_from_observables),
        cmocka_unit_test(unseen_directions_are_counted),
        cmocka_unit_test(higher_order_residuals_are_less_biased),
        cmocka_unit_test(friction_in_two_dimensions),
        cmocka_unit_test(a_potential_is_learned),
        cmocka_unit_test(networks_learn_too),
        cmocka_unit_test(forms_of_the_papers),
        cmocka_unit_test(laws_hold_for_any_parameters),
        cmocka_unit_test(jacobian_and_gradient_agree_with_differences),
        cmocka_unit_test(gradients_are_those_of_the_rows),
        cmocka_unit_test(weights_integrate_parabolas),
        cmocka_unit_test(a_model_survives_its_file),
        cmocka_unit_test(unknown_parts_of_a_file),
        cmocka_unit_test(mistakes_are_explained)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
