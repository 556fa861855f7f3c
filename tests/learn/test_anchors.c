/* Anchors and formulas as fields: knowledge that goes in is kept exactly, and sets the scale. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "solve/optimize.h"
#include "tests/learn/made_data.h"
#include <stdio.h>
#include <unistd.h>

#define NOBODY                                                                                     \
    "system \"a piston nobody has formulas for\"\n"                                                \
    "coordinate x in (-2, 2)\n"                                                                    \
    "temperature T1, T2\n"                                                                         \
    "thermal lagrangian G = unknown chebyshev(5)\n"                                                \
    "friction F1 on T1: unknown chebyshev(4, constant)\n"                                          \
    "friction F2 on T2: unknown chebyshev(4, constant)\n"                                          \
    "start x = 0, v.x = -0.3, T1 = 0.65, T2 = 1.04\n"

static cls_system *parse(const char *text) {
    cls_error error;
    cls_system *s;
    if (cls_system_parse(text, "test", NULL, &s, &error)) fail_msg("%s", error.message);
    return s;
}

/* The paper's piston, but of another mass: a scale of one would be wrong. */
static cls_system *heavy(double mass) {
    const char *names[] = {"m"};
    cls_assignments set = {1, names, &mass};
    cls_error error;
    cls_system *s;
    if (cls_system_load("adiabatic-piston", &set, &s, &error)) fail_msg("%s", error.message);
    return s;
}

/* A node over the native state, as a number. */
static double number(const cls_system *s, cls_node a, const double *z) {
    cls_program *p;
    double out;
    assert_int_equal(cls_program_create(s->g, s->form->nz, s->form->z, 1, &a, &p, NULL), CLS_OK);
    assert_int_equal(cls_program_run_many(p, 1, 1, z, &out), CLS_OK);
    cls_program_free(&p);
    return out;
}

/* What an anchor asks for, from the learned system's own expressions. */
static double quantity(const cls_system *s, const clsi_anchor *a) {
    cls_node node = s->form->generator;
    if (a->of == s->p[0]) node = s->form->p[0];
    for (size_t i = 0; i < s->m; i++)
        if (a->of == s->S[i]) node = s->form->S[i];
    if (a->by != CLS_NO_NODE) node = cls_derivative(s->g, node, a->by);
    return number(s, node, a->state);
}

static cls_model *learn_file(const cls_system *s, const cls_table *t, const char *optimizer,
                             cls_learn_info *info) {
    cls_error error;
    cls_model *m;
    const char *name = "made here";
    cls_learn_options o = cls_learn_defaults();
    o.optimizer = optimizer;
    if (cls_learn(s, NULL, 1, &t, &name, &o, &m, info, &error)) fail_msg("%s", error.message);
    return m;
}

/* ---- the scale ---- */

/* Nothing is known but a mass of 2 at three states: momenta, entropies' differences and frictions
 * then come out in the units of that mass. */
static void masses_at_rest_set_the_scale(void **unused) {
    (void)unused;
    cls_system *truth = heavy(2);
    cls_system *s =
        parse(NOBODY "anchor d p.x / d v.x = 2 at x = -0.5, v.x = 0, T1 = 0.7, T2 = 0.9;\n"
                     "    x = 0; x = 0.5, T1 = 0.6, T2 = 1\n"
                     "anchor p.x = 0 at x = 0, v.x = 0, T1 = 0.7, T2 = 0.9\n");
    assert_int_equal(s->n_anchors, 4);
    cls_table *t = make_data(truth, 4, piston_box, 300, 20, 0.01, 21);
    cls_learn_info info;
    cls_model *m = learn_file(s, t, NULL, &info);
    const cls_system *found = cls_model_system(m);
    assert_string_equal(info.optimizer, "linear");
    assert_int_equal(info.normalised, 0);
    for (size_t i = 0; i < s->n_anchors; i++) {
        double off = quantity(found, &found->anchors[i]) - found->anchors[i].value;
        if (!(fabs(off) <= 1e-9)) fail_msg("anchor %zu is missed by %g", i, off);
    }
    cls_random random;
    cls_random_seed(&random, 4);
    double p = 0, pp = 0, F = 0, FF = 0;
    for (int k = 0; k < 50; k++) {
        double z[4] = {cls_random_uniform(&random) - 0.5, 0.8 * cls_random_uniform(&random) - 0.4,
                       0.6 + 0.2 * cls_random_uniform(&random),
                       0.8 + 0.2 * cls_random_uniform(&random)};
        double a = number(truth, truth->form->p[0], z), b = number(found, found->form->p[0], z);
        p += (a - b) * (a - b);
        pp += a * a;
        a = number(truth, clsi_sparse_at(truth->g, &truth->bound.friction, 0, 0), z) +
            number(truth, clsi_sparse_at(truth->g, &truth->bound.friction, 1, 0), z);
        b = number(found, clsi_sparse_at(found->g, &found->bound.friction, 0, 0), z) +
            number(found, clsi_sparse_at(found->g, &found->bound.friction, 1, 0), z);
        F += (a - b) * (a - b);
        FF += a * a;
    }
    print_message("momenta off by %.2g, friction off by %.2g\n", sqrt(p / pp), sqrt(F / FF));
    assert_true(sqrt(p / pp) < 0.01);
    assert_true(sqrt(F / FF) < 0.05); /* of the degree; with the scale of mass one it is 0.5 */
    double mean = rollout(truth, m, 0.01, 300);
    if (!(mean <= 5e-3)) fail_msg("mean error %g", mean);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&truth);
}

/* Zeros set no scale: then the learner's own condition is there as well. */
static void zeros_leave_the_scale_free(void **unused) {
    (void)unused;
    cls_system *truth = heavy(2);
    cls_system *s = parse(NOBODY "anchor S1 = 0 at x = 0, v.x = 0, T1 = 0.7, T2 = 0.9\n");
    cls_table *t = make_data(truth, 4, piston_box, 60, 10, 0.02, 22);
    cls_learn_info info;
    cls_model *m = learn_file(s, t, NULL, &info);
    const cls_system *found = cls_model_system(m);
    assert_int_equal(info.normalised, 1);
    assert_true(fabs(quantity(found, &found->anchors[0])) < 1e-10);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&truth);
}

/* ---- every quantity ---- */

#define STATE " at x = 0.1, v.x = 0.2, T1 = 0.7, T2 = 0.9\n"

/* Values that belong to the true G, except for the origins of G, p and S, which no data can see. */
static void all_quantities_are_met(void **unused) {
    (void)unused;
    cls_system *truth = load_system("adiabatic-piston");
    cls_system *s = parse("coordinate x in (-2, 2)\n"
                          "temperature T1, T2\n"
                          "thermal lagrangian G = unknown chebyshev(5, constant)\n"
                          "friction F1 on T1: x <- -(0.02 + 2*v.x^2*(1 + 0.1*T1^2))*v.x\n"
                          "friction F2 on T2: x <- -(0.04 + v.x^2*(1 + 0.1*T2^2))*v.x\n"
                          "start x = 0, v.x = -0.5, T1 = 0.65, T2 = 1.04\n"
                          "anchor G = -3" STATE "anchor S1 = 5" STATE "anchor p.x = 0.2" STATE
                          "anchor d S1 / d T1 = 1/0.7" STATE "anchor d S2 / d T2 = 1/0.9" STATE
                          "anchor d S2 / d T1 = 0" STATE "anchor d p.x / d v.x = 1" STATE
                          "anchor d p.x / d x = 0" STATE "anchor d G / d T2 = 7" STATE);
    assert_int_equal(s->n_anchors, 9);
    cls_table *t = make_data(truth, 4, piston_box, 100, 20, 0.02, 23);
    cls_learn_info info;
    cls_model *m = learn_file(s, t, NULL, &info);
    const cls_system *found = cls_model_system(m);
    for (size_t i = 0; i < found->n_anchors; i++) {
        const clsi_anchor *a = &found->anchors[i];
        double off = quantity(found, a) - a->value;
        if (!(fabs(off) <= 1e-9)) fail_msg("anchor %zu is missed by %g", i, off);
    }
    double mean = rollout(truth, m, 0.01, 200);
    if (!(mean <= 2e-3)) fail_msg("mean error %g", mean);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&truth);
}

/* ---- derivatives ---- */

typedef struct setup {
    cls_system *truth, *s;
    cls_table *t;
    clsi_points *points;
    clsi_unknowns *us;
    clsi_residual *residual;
    clsi_anchors *anchors;
    double *theta;
} setup;

/* Everything up to the residual, on data of `truth`, which the setup then owns. */
static setup open_text(cls_system *truth, const char *text, size_t n, uint64_t steps, double h) {
    setup u = {.truth = truth};
    cls_error error;
    const char *name = "made here";
    u.s = parse(text);
    u.t = make_data(u.truth, 4, piston_box, n, steps, h, 25);
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = u.s->n_unknown;
    o.unknown = (const char *const *)u.s->unknown;
    if (clsi_points_create(u.s, 1, (const cls_table *const *)&u.t, &name, &clsi_rule_quadrature, 0,
                           0, &u.points, &error) ||
        clsi_unknowns_create(u.s, NULL, &o, u.points, &u.us, &error) ||
        clsi_residual_create(u.points, u.us, &u.residual, &error) ||
        clsi_anchors_create(u.us, &u.anchors, &error))
        fail_msg("%s", error.message);
    cls_random random;
    cls_random_seed(&random, 26);
    u.theta = calloc(u.us->n_theta, sizeof *u.theta);
    for (size_t i = 0; i < u.us->n_theta; i++) u.theta[i] = 0.3 * cls_random_normal(&random);
    return u;
}

static setup open_setup(const char *field) {
    char text[1000];
    snprintf(text, sizeof text,
             "coordinate x in (-2, 2)\ntemperature T1, T2\nthermal lagrangian G = unknown %s\n"
             "friction F1 on T1: unknown %s\n"
             "anchor G = 1" STATE "anchor p.x = 2" STATE "anchor d p.x / d v.x = 3" STATE
             "anchor d S1 / d T1 = 0" STATE "anchor d S1 / d T2 = 5" STATE
             "anchor d G / d x = 1" STATE,
             field, field);
    return open_text(load_system("adiabatic-piston"), text, 6, 5, 0.05);
}

static void close_setup(setup *u) {
    clsi_anchors_free(&u->anchors);
    clsi_residual_free(&u->residual);
    clsi_unknowns_free(&u->us);
    clsi_points_free(&u->points);
    cls_table_free(&u->t);
    cls_system_free(&u->s);
    cls_system_free(&u->truth);
    free(u->theta);
}

/* Networks: anchors are weighted rows among the others, and a minimisation meets them nearly,
 * through Jacobians and through gradients. The optimisers themselves are asked: what a training
 * keeps is chosen by validation and rollout, and may meet the anchors less well. */
static void optimisers_meet_anchors_of_networks_nearly(void **unused) {
    (void)unused;
    const char *const optimizers[] = {"lm", "lbfgs"};
    for (int k = 0; k < 2; k++) {
        setup u = open_text(heavy(2),
                            "coordinate x in (-2, 2)\n"
                            "temperature T1, T2\n"
                            "thermal lagrangian G = unknown network(8)\n"
                            "friction F1 on T1: unknown network(5)\n"
                            "friction F2 on T2: unknown network(5)\n"
                            "anchor d p.x / d v.x = 2 at x = 0, v.x = 0, T1 = 0.7, T2 = 0.9\n"
                            "anchor d S1 / d T1 = 1.4 at x = 0, v.x = 0, T1 = 0.7, T2 = 0.9\n",
                            30, 10, 0.02);
        clsi_problem p;
        clsi_optimize_info info;
        cls_error error;
        u.residual->anchors = u.anchors;
        u.residual->anchor_weight =
            10 * sqrt((double)(u.points->n_training * u.residual->n_equations));
        clsi_residual_problem(u.residual, &p);
        clsi_optimize_options o = {.max_iterations = k ? 300 : 40, .seed = 1};
        if (clsi_optimizer_find(optimizers[k])->minimize(&p, &o, u.theta, &info, &error))
            fail_msg("%s", error.message);
        for (size_t i = 0; i < 2; i++) {
            double value, wanted = clsi_anchors_value(u.anchors, i);
            assert_int_equal(clsi_anchors_row(u.anchors, i, u.theta, &value, NULL), CLS_OK);
            print_message("%s: anchor %zu off by %.2g\n", optimizers[k], i, value / wanted - 1);
            assert_true(fabs(value / wanted - 1) < 2e-3);
        }
        close_setup(&u);
    }
}

static void rows_of_anchors_agree_with_differences(void **unused) {
    (void)unused;
    const char *const fields[] = {"chebyshev(4)", "network(5, 4)",
                                  "terms(x*v.x; T1*log(T1); v.x^4*T1*T2)"};
    for (int k = 0; k < 3; k++) {
        setup u = open_setup(fields[k]);
        size_t P = u.us->n_theta;
        double *row = calloc(P, sizeof *row), value, side[2];
        assert_int_equal(clsi_anchors_count(u.anchors), 6);
        assert_true(clsi_anchors_set_scale(u.anchors));
        for (size_t i = 0; i < 6; i++) {
            double worst = 0, largest = 1e-3;
            assert_int_equal(clsi_anchors_row(u.anchors, i, u.theta, &value, row), CLS_OK);
            for (size_t j = 0; j < P; j++) {
                double kept = u.theta[j], h = 1e-4;
                for (int q = 0; q < 2; q++) {
                    u.theta[j] = kept + (q ? h : -h);
                    (void)clsi_anchors_row(u.anchors, i, u.theta, &side[q], NULL);
                }
                u.theta[j] = kept;
                worst = fmax(worst, fabs((side[1] - side[0]) / (2 * h) - row[j]));
                largest = fmax(largest, fabs(row[j]));
            }
            if (!(worst <= 1e-5 * largest))
                fail_msg("%s, anchor %zu: off by %g of %g", fields[k], i, worst, largest);
        }
        free(row);
        close_setup(&u);
    }
}

/* All at once, of some in any order, is what they give one by one. */
static void the_gradient_of_anchors_is_that_of_their_rows(void **unused) {
    (void)unused;
    const char *const fields[] = {"chebyshev(4)", "network(5, 4)",
                                  "terms(x*v.x; T1*log(T1); v.x^4*T1*T2)"};
    const size_t which[] = {5, 0, 3, 2, 1, 4, 3, 3};
    for (int k = 0; k < 3; k++) {
        setup u = open_setup(fields[k]);
        size_t P = u.us->n_theta;
        double *all = calloc(3 * P, sizeof *all), *sum = all + P, *row = all + 2 * P;
        double loss = 0, expected = 0, worst = 0, size = 0, r;
        assert_int_equal(clsi_anchors_gradient(u.anchors, 8, which, u.theta, 3, &loss, all),
                         CLS_OK);
        for (size_t i = 0; i < 8; i++) {
            assert_int_equal(clsi_anchors_weighted(u.anchors, which[i], u.theta, 3, &r, row),
                             CLS_OK);
            expected += r * r / 2;
            for (size_t j = 0; j < P; j++) sum[j] += r * row[j];
        }
        for (size_t j = 0; j < P; j++) {
            worst = fmax(worst, fabs(sum[j] - all[j]));
            size = fmax(size, fabs(sum[j]));
        }
        assert_true(fabs(loss - expected) <= 1e-12 * expected);
        if (!(worst <= 1e-11 * size)) fail_msg("%s: off by %g of %g", fields[k], worst, size);
        free(all);
        close_setup(&u);
    }
}

/* The loss with a weight is mean r^2 + weight mean e^2, halved. */
static void a_share_weighs_means_beside_each_other(void **unused) {
    (void)unused;
    setup u = open_setup("network(3)");
    clsi_problem p;
    size_t n = clsi_anchors_count(u.anchors),
           regular = u.points->n_training * u.residual->n_equations;
    double mean = 0, alone, together, share = 0.7;
    clsi_residual_problem(u.residual, &p);
    alone = clsi_full_loss(&p, u.theta);
    for (size_t i = 0; i < n; i++) {
        double value, wanted = clsi_anchors_value(u.anchors, i);
        assert_int_equal(clsi_anchors_row(u.anchors, i, u.theta, &value, NULL), CLS_OK);
        double e = (value - wanted) / (wanted != 0 ? fabs(wanted) : 1);
        mean += e * e / (double)n;
    }
    u.residual->anchors = u.anchors;
    u.residual->anchor_weight = clsi_anchors_weight(u.anchors, regular, share);
    clsi_residual_problem(u.residual, &p);
    together = clsi_full_loss(&p, u.theta) * (double)(regular + n) / (double)regular;
    assert_true(mean > 0);
    assert_true(fabs(together - alone - share * mean / 2) <= 1e-12 * together);
    close_setup(&u);
}

/* Rows behind the regular ones: the same wherever an optimiser's list has them. */
static void extra_rows_may_stand_anywhere(void **unused) {
    (void)unused;
    setup u = open_setup("network(3)");
    clsi_problem p;
    u.residual->anchors = u.anchors;
    u.residual->anchor_weight = 3;
    clsi_residual_problem(u.residual, &p);
    size_t P = p.n_parameters, n = p.n_rows;
    assert_int_equal(n, u.points->n_training * u.residual->n_equations + 6);
    double *r = calloc(2 * n, sizeof *r), *J = calloc(2 * n * P, sizeof *J), loss, sum = 0;
    double *gradient = calloc(2 * P, sizeof *gradient);
    size_t *list = calloc(n, sizeof *list);
    for (size_t i = 0; i < n; i++) list[i] = (i * 7 + 3) % n; /* n is not a multiple of 7 */
    assert_true(n % 7 != 0);
    assert_int_equal(p.jacobian(&p, u.theta, n, NULL, r, J), CLS_OK);
    assert_int_equal(p.jacobian(&p, u.theta, n, list, r + n, J + n * P), CLS_OK);
    assert_int_equal(p.gradient(&p, u.theta, n, list, &loss, gradient), CLS_OK);
    for (size_t i = 0; i < n; i++) {
        assert_true(r[n + i] == r[list[i]]);
        assert_memory_equal(J + (n + i) * P, J + list[i] * P, P * sizeof *J);
        sum += r[i] * r[i] / (2 * (double)n);
        for (size_t j = 0; j < P; j++) gradient[P + j] += r[i] * J[i * P + j] / (double)n;
    }
    assert_true(fabs(loss / sum - 1) < 1e-12);
    for (size_t j = 0; j < P; j++)
        assert_true(fabs(gradient[j] - gradient[P + j]) < 1e-10 * (1 + fabs(gradient[j])));
    /* extra rows alone, as a small batch may have them */
    size_t last[2] = {n - 1, n - 2};
    assert_int_equal(p.residual(&p, u.theta, 2, last, r + n), CLS_OK);
    assert_true(r[n] == r[n - 1] && r[n + 1] == r[n - 2]);
    assert_int_equal(p.gradient(&p, u.theta, 2, last, &loss, gradient), CLS_OK);
    assert_true(fabs(loss / ((r[n] * r[n] + r[n + 1] * r[n + 1]) / 4) - 1) < 1e-12);
    free(r);
    free(J);
    free(gradient);
    free(list);
    close_setup(&u);
}

/* ---- formulas as fields ---- */

/* lambda = nu + kappa v^2 (1 + 0.1 T^2), (38): its numbers come out, up to the error of the
 * quadrature, which falls with the step. */
static void coefficients_of_a_friction_are_found(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    const char *const parts[] = {"F1"};
    const double exact[] = {0.02, 2, 0.2}, steps[] = {0.01, 0.005};
    double worst[2] = {0};
    for (int i = 0; i < 2; i++) {
        cls_table *t = make_data(s, 4, piston_box, 100, 20, steps[i], 27);
        cls_learn_info info;
        cls_model *m = learn(s, t, parts, 1, "terms(1; v.x^2; v.x^2*T1^2)", &info);
        assert_int_equal(m->n_theta, 3);
        assert_int_equal(info.rank, 3);
        for (int k = 0; k < 3; k++) worst[i] = fmax(worst[i], fabs(m->theta[k] - exact[k]));
        double mean = rollout(s, m, 0.01, 500);
        if (!(mean <= 1e-5)) fail_msg("mean error %g", mean);
        cls_model_free(&m);
        cls_table_free(&t);
    }
    print_message("coefficients off by %.2g, %.2g\n", worst[0], worst[1]);
    assert_true(worst[1] < 1e-6);
    assert_true(worst[1] < worst[0] / 6);
    cls_system_free(&s);
}

/* G by terms: masses and heat capacities of the gas law, through the model's file and back. */
static void a_gas_law_is_found_and_survives_its_file(void **unused) {
    (void)unused;
    char path[] = "/tmp/clausius-terms-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    cls_system *truth = load_system("adiabatic-piston");
    cls_system *s =
        parse("coordinate x in (-2, 2)\n"
              "temperature T1, T2\n"
              "thermal lagrangian G = unknown terms(v.x^2/2; T1*(log(T1) - 1); T1*log(2 + x);\n"
              "    T2*(log(T2) - 1); T2*log(2 - x))\n"
              "friction F1 on T1: unknown terms(1; v.x^2; v.x^2*T1^2)\n"
              "friction F2 on T2: unknown terms(1; v.x^2; v.x^2*T2^2)\n"
              "start x = 0, v.x = -0.5, T1 = 0.65, T2 = 1.04\n"
              "anchor d p.x / d v.x = 1 at x = 0, v.x = 0, T1 = 1, T2 = 1\n");
    cls_table *t = make_data(truth, 4, piston_box, 100, 20, 0.01, 28);
    cls_error error;
    cls_learn_info info;
    cls_model *m = learn_file(s, t, NULL, &info), *again;
    const double exact[] = {1, 1, 2.0 / 3, 1, 2.0 / 3, 0.02, 2, 0.2, 0.04, 1, 0.1};
    assert_int_equal(m->n_theta, 11);
    for (int k = 0; k < 11; k++)
        if (!(fabs(m->theta[k] - exact[k]) <= 2e-5)) fail_msg("%d: %.12g", k, m->theta[k]);
    assert_int_equal(cls_model_write(m, path, &error), CLS_OK);
    if (cls_model_read(path, &again, &error)) fail_msg("%s", error.message);
    double mean = rollout(truth, again, 0.01, 300);
    if (!(mean <= 1e-5)) fail_msg("mean error %g", mean);
    unlink(path);
    cls_model_free(&m);
    cls_model_free(&again);
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&truth);
}

/* ---- mistakes ---- */

static void anchors_that_cannot_be_met(void **unused) {
    (void)unused;
#define AT " at x = 0, v.x = 0, T1 = 1, T2 = 1\n"
    static const struct {
        const char *text, *says;
    } bad[] = {{NOBODY "anchor p.x = 1" AT,
                "anchor p.x = 1 at x = 0, v.x = 0, T1 = 1, T2 = 1: no parameter"},
               {NOBODY "anchor d p.x / d v.x = 1" AT "anchor d p.x / d v.x = 2" AT, "contradict"}};
    cls_system *truth = load_system("adiabatic-piston");
    cls_table *t = make_data(truth, 4, piston_box, 20, 5, 0.02, 29);
    const char *name = "made here";
    for (size_t i = 0; i < 2; i++) {
        cls_system *s = parse(bad[i].text);
        cls_error error;
        cls_learn_info info;
        cls_model *m;
        assert_true(cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, NULL, &m, &info,
                              &error) != CLS_OK);
        assert_null(m);
        if (!strstr(error.message, bad[i].says)) fail_msg("%s", error.message);
        cls_system_free(&s);
    }
    cls_table_free(&t);
    cls_system_free(&truth);
}

/* A formula without a value at some of the data is named, with the row. */
static void terms_must_be_finite_at_the_data(void **unused) {
    (void)unused;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 20, 5, 0.02, 30);
    const char *const fields[] = {"terms(1; log(x))", "terms(1; log(T1))"}, *name = "made here";
    const char *const parts[] = {"F1"};
    for (int k = 0; k < 2; k++) {
        cls_error error;
        cls_learn_info info;
        cls_model *m;
        cls_learn_options o = cls_learn_defaults();
        o.unknown = parts;
        o.n_unknown = 1;
        o.field = fields[k];
        cls_status status =
            cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &m, &info, &error);
        assert_int_equal(status, k ? CLS_OK : CLS_DATA);
        if (!k)
            assert_non_null(strstr(error.message, "'F1': a formula of terms(1; log(x)) is not"));
        cls_model_free(&m);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masses_at_rest_set_the_scale),
        cmocka_unit_test(zeros_leave_the_scale_free),
        cmocka_unit_test(all_quantities_are_met),
        cmocka_unit_test(optimisers_meet_anchors_of_networks_nearly),
        cmocka_unit_test(rows_of_anchors_agree_with_differences),
        cmocka_unit_test(extra_rows_may_stand_anywhere),
        cmocka_unit_test(the_gradient_of_anchors_is_that_of_their_rows),
        cmocka_unit_test(a_share_weighs_means_beside_each_other),
        cmocka_unit_test(coefficients_of_a_friction_are_found),
        cmocka_unit_test(a_gas_law_is_found_and_survives_its_file),
        cmocka_unit_test(anchors_that_cannot_be_met),
        cmocka_unit_test(terms_must_be_finite_at_the_data)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
