/* Data and requests at the edge: every one is learned from or refused with a sentence that helps.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "learn/learn.h"
#include "tests/learn/made_data.h"
#include <stdio.h>
#include <unistd.h>

/* ---- rows made by a function of the row's number ---- */

enum { MOST_COLUMNS = 12 };
typedef void (*row_maker)(size_t i, double *row);

static cls_table *table_of(const char *columns, size_t rows, row_maker make) {
    cls_error error;
    cls_table *t;
    char text[200];
    const char *names[MOST_COLUMNS];
    size_t n = 0;
    snprintf(text, sizeof text, "%s", columns);
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) names[n++] = word;
    assert_int_equal(cls_table_create(n, names, &t, &error), CLS_OK);
    for (size_t i = 0; i < rows; i++) {
        double row[MOST_COLUMNS];
        make(i, row);
        assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
    }
    return t;
}

typedef struct request {
    const char *system; /* a name, or a text of several lines */
    const char *columns;
    row_maker make;
    size_t rows;
    const char *parts, *field, *scheme, *optimizer;
} request;

/* Learns; a model that comes out is finite and survives its file. */
static cls_status ask(request q, cls_learn_info *info, cls_error *error) {
    cls_system *s;
    cls_model *m;
    char text[100];
    const char *parts[8], *name = "data.csv";
    cls_status loaded = strchr(q.system, '\n') ? cls_system_parse(q.system, "edge", NULL, &s, error)
                                               : cls_system_load(q.system, NULL, &s, error);
    if (loaded != CLS_OK) fail_msg("%s", error->message);
    cls_table *t = table_of(q.columns, q.rows, q.make);
    const cls_table *table = t;
    cls_learn_options o = cls_learn_defaults();
    snprintf(text, sizeof text, "%s", q.parts);
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ","))
        parts[o.n_unknown++] = word;
    o.unknown = parts;
    o.field = q.field ? q.field : "chebyshev(2, constant)";
    o.scheme = q.scheme;
    o.optimizer = q.optimizer;
    o.max_iterations = 20;
    cls_status status = cls_learn(s, NULL, 1, &table, &name, &o, &m, info, error);
    if (status == CLS_OK) {
        cls_model *again;
        char path[] = "/tmp/clausius-edge-XXXXXX";
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
        for (size_t i = 0; i < m->n_theta; i++) assert_true(isfinite(m->theta[i]));
        if (cls_model_write(m, path, error)) fail_msg("%s", error->message);
        if (cls_model_read(path, &again, error)) fail_msg("%s", error->message);
        unlink(path);
        cls_model_free(&again);
    } else {
        assert_null(m);
    }
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    return status;
}

static void expect_refusal(request q, cls_status wanted, const char *words) {
    cls_error error;
    cls_learn_info info;
    cls_status status = ask(q, &info, &error);
    if (status != wanted || !strstr(error.message, words))
        fail_msg("status %d: %s", (int)status, status == CLS_OK ? "learned" : error.message);
}

static void expect_model(request q) {
    cls_error error;
    cls_learn_info info;
    if (ask(q, &info, &error)) fail_msg("%s", error.message);
    assert_true(isfinite(info.loss_final));
}

#define PISTON "adiabatic-piston", "time,x,v.x,T1,T2"

/* row = time, x, v, T1, T2 */
static void put(double *row, double t, double x, double v, double T1, double T2) {
    const double all[] = {t, x, v, T1, T2};
    memcpy(row, all, sizeof all);
}
static double at(size_t i) {
    return 0.01 * (double)i;
}
static void plain(size_t i, double *row) {
    put(row, at(i), 0.1 + at(i), 1 - at(i), 0.6 + at(i), 1);
}
static void at_rest(size_t i, double *row) {
    put(row, at(i), 0.1, 0, 0.6, 1);
}
static void same_times(size_t i, double *row) {
    put(row, at(i / 2), 0.1 + at(i), 1 - at(i), 0.6, 1);
}
static void huge_x(size_t i, double *row) {
    put(row, at(i), i % 2 ? 1e308 : -1e308, 1 + at(i), 0.6, 1);
}
static void huge_v(size_t i, double *row) {
    put(row, at(i), 0.1, 1e160 * (1 + at(i)), 0.6, 1);
}
static void extreme_T(size_t i, double *row) {
    put(row, at(i), 0.1 + at(i), 1 + at(i), 1e-300 * (1 + at(i)), 1e300);
}
static void negative_T(size_t i, double *row) {
    put(row, at(i), 0.1 + at(i), 1 + at(i), i < 7 ? 1 : -1, 1);
}
static void missing_v(size_t i, double *row) {
    put(row, at(i), 0.1 + at(i), i == 7 ? NAN : 1, 1, 1);
}
static void endless_time(size_t i, double *row) {
    put(row, i == 20 ? INFINITY : at(i), 0.1 + at(i), 1, 1 + at(i), 1);
}
static void tiny_times(size_t i, double *row) {
    put(row, 1e-310 * (double)i, 0.1 + at(i), 1, 1 + at(i), 1);
}
static void nearly_constant(size_t i, double *row) {
    put(row, at(i), 0.1 + 1e-17 * (double)(i % 3), 1 + at(i), 1 + at(i), 1);
}

/* ---- little, constant and extreme data ---- */

static void few_rows(void **unused) {
    (void)unused;
    expect_model((request){PISTON, plain, 3, .parts = "F1"});
    expect_model((request){PISTON, plain, 3, .parts = "G,F1,F2"});
    expect_model((request){PISTON, plain, 3, .parts = "G,F1,F2", .scheme = "discrete-gradient"});
    expect_model((request){PISTON, plain, 2, .parts = "F1", .scheme = "vnots-symmetric"});
    expect_refusal((request){PISTON, plain, 2, .parts = "F1"}, CLS_DATA, "not enough neighbouring");
    expect_refusal((request){PISTON, plain, 0, .parts = "F1"}, CLS_DATA, "not enough neighbouring");
}

static void constant_columns(void **unused) {
    (void)unused;
    expect_model((request){PISTON, at_rest, 30, .parts = "F1"});
    expect_model((request){PISTON, at_rest, 30, .parts = "G,F1", .scheme = "discrete-gradient"});
    expect_refusal((request){PISTON, at_rest, 30, .parts = "G,F1,F2"}, CLS_DATA, "nothing moves");
    expect_refusal((request){PISTON, at_rest, 30, .parts = "G,F1,F2", .field = "network(4)"},
                   CLS_DATA, "nothing moves");
    expect_model((request){PISTON, nearly_constant, 30, .parts = "G,F1"});
}

static void times_that_stand_still(void **unused) {
    (void)unused;
    expect_refusal((request){PISTON, same_times, 30, .parts = "F1"}, CLS_DATA, "the same time");
    expect_refusal((request){PISTON, same_times, 30, .parts = "F1", .scheme = "vnots"}, CLS_DATA,
                   "the same time");
    expect_refusal((request){PISTON, tiny_times, 30, .parts = "F1"}, CLS_DATA, "cannot be weighed");
    expect_refusal((request){PISTON, endless_time, 30, .parts = "F1"}, CLS_DATA,
                   "row 21: time is inf");
}

/* What cannot be computed with is refused; nothing is called a lack of memory. */
static void extreme_values(void **unused) {
    (void)unused;
    expect_refusal((request){PISTON, huge_x, 30, .parts = "F1"}, CLS_DATA, "row 1: x is -1e+308");
    expect_refusal((request){PISTON, huge_v, 30, .parts = "F1"}, CLS_DATA,
                   "v.x*v.x is not finite at row 1 ");
    expect_refusal((request){PISTON, extreme_T, 30, .parts = "F1,F2"}, CLS_NUMERIC, "not finite");
    expect_refusal((request){PISTON, negative_T, 30, .parts = "F1"}, CLS_DATA,
                   "row 8: T1 is -1, which is not a positive number");
    expect_refusal((request){PISTON, missing_v, 30, .parts = "F1"}, CLS_DATA, "row 8: v.x is nan");
}

static void fast_pendulum(size_t i, double *row) {
    const double all[] = {at(i), 0.1 + at(i), 1e200};
    memcpy(row, all, sizeof all);
}

/* Weights that vanish would let anything pass as learned. */
static void momenta_without_square(void **unused) {
    (void)unused;
    expect_refusal((request){"pendulum", "time,q,p.q", fast_pendulum, 30, .parts = "V"}, CLS_DATA,
                   "cannot be weighed");
}

/* Fractions for validation that no whole number of trajectories fits. */
static void odd_validation(void **unused) {
    (void)unused;
    static const double fractions[] = {0, 1e-300, 0.9, 1, 1e300, NAN, -1};
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 4, 6, 0.02, 2);
    const cls_table *table = t;
    const char *name = "data.csv";
    for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
        cls_error error;
        clsi_points *p;
        assert_int_equal(clsi_points_create(s, 1, &table, &name, &clsi_rule_quadrature,
                                            fractions[i], 0, &p, &error),
                         CLS_OK);
        assert_true(p->n_training > 0);
        assert_int_equal(p->n_training, p->n_windows > p->n_training ? 10 : 20);
        clsi_points_free(&p);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Of one trajectory the end is kept, and no window of the rest reaches into it. */
static void one_trajectory_is_cut(void **unused) {
    (void)unused;
    static const clsi_rule *const rules[] = {&clsi_rule_quadrature, &clsi_rule_midpoint};
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = make_data(s, 4, piston_box, 1, 100, 0.02, 2);
    const cls_table *table = t;
    const char *name = "data.csv", *const parts[] = {"F1"};
    cls_error error;
    for (size_t i = 0; i < 2; i++) {
        clsi_points *p;
        size_t width = rules[i] == &clsi_rule_quadrature ? 3 : 2, last = 0;
        assert_int_equal(clsi_points_create(s, 1, &table, &name, rules[i], 0.1, 0, &p, &error),
                         CLS_OK);
        assert_int_equal(p->n_windows - p->n_training, i ? 10 : 9);
        assert_int_equal(p->n_held, 1);
        assert_int_equal(p->held[1], 101);
        for (size_t k = 0; k < p->n_training; k++)
            if (p->window[k] > last) last = p->window[k];
        assert_int_equal(last + width - 1, p->held[0] - 1);
        clsi_points_free(&p);
    }
    cls_learn_info info;
    cls_model *m;
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = 1;
    o.field = "chebyshev(2)";
    assert_int_equal(cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &error), CLS_OK);
    assert_string_equal(info.optimizer, "linear");
    assert_int_equal(info.validation_samples, 9);
    assert_true(isfinite(info.loss_validation) && info.rollout < 0.05);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* ---- requests ---- */

#define OPEN                                                                                       \
    "coordinate x\ntemperature T\nthermal lagrangian G = unknown chebyshev(2)\n"                   \
    "friction F on T: unknown\nstart x = 0, v.x = 1, T = 1\n",                                     \
        "time,x,v.x,T"

static void swinging(size_t i, double *row) {
    const double all[] = {at(i), sin(3 * at(i)), cos(3 * at(i)), 1 + 0.1 * at(i), 2 - 0.1 * at(i)};
    memcpy(row, all, sizeof all);
}

static void parts_named_twice_or_not_at_all(void **unused) {
    (void)unused;
    expect_refusal((request){PISTON, plain, 9, .parts = "F1,F1"}, CLS_USAGE, "listed twice");
    expect_refusal((request){OPEN, swinging, 40, .parts = "G,F,G"}, CLS_USAGE, "listed twice");
    expect_refusal((request){OPEN, swinging, 40, .parts = "F"}, CLS_USAGE,
                   "'G' of 'edge' is unknown");
    expect_model((request){OPEN, swinging, 40, .parts = "F,G"});
    expect_model((request){OPEN, swinging, 40, .parts = ""});
}

#define EXCHANGE                                                                                   \
    "coordinate x\ntemperature T1, T2\nthermal lagrangian G = v.x^2/2 - x^2/2 + T1*(log(T1) - 1) " \
    "+ T2*(log(T2) - 1)\nfriction F on T1: x <- -0.1*v.x\nheat exchange K T1 <-> T2: 0.3\n"        \
    "start x = 0, v.x = 1, T1 = 1, T2 = 2\n"

/* The conductance of the truth comes out, and is positive by form. */
static void heat_exchange(void **unused) {
    (void)unused;
    static const range box[] = {{"x", -1, 1}, {"v.x", -1, 1}, {"T1", 0.6, 1.4}, {"T2", 0.6, 1.4}};
    cls_error error;
    cls_system *s;
    if (cls_system_parse(EXCHANGE, "two", NULL, &s, &error)) fail_msg("%s", error.message);
    cls_table *t = make_data(s, 4, box, 60, 6, 0.02, 4);
    const cls_table *table = t;
    const char *const parts[] = {"K"}, *name = "made here";
    const char *const rules[] = {"quadrature", "discrete-gradient"};
    for (int i = 0; i < 2; i++) {
        cls_model *m;
        cls_learn_info info;
        cls_learn_options o = cls_learn_defaults();
        o.unknown = parts;
        o.n_unknown = 1;
        o.field = "chebyshev(1, constant)";
        o.scheme = rules[i];
        if (cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &error))
            fail_msg("%s", error.message);
        assert_true(m->learned[0].floor > 0);
        double mean = rollout(s, m, 0.02, 200);
        if (!(mean <= 2e-4)) fail_msg("%s: mean error %g", rules[i], mean);
        cls_model_free(&m);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

#define NO_HEAT                                                                                    \
    "coordinate x\nthermal lagrangian G = v.x^2/2 - x^2/2\nstart x = 0, v.x = 1\n", "time,x,v.x"

/* Every optimiser, also where the scale is free. */
static void systems_without_entropies(void **unused) {
    (void)unused;
    expect_model((request){NO_HEAT, swinging, 40, .parts = "G"});
    expect_model((request){NO_HEAT, swinging, 40, .parts = "G", .scheme = "discrete-gradient"});
    static const char *const optimizers[] = {"lm", "spring", "lbfgs", "adam"};
    for (int i = 0; i < 4; i++) {
        cls_error error;
        cls_learn_info info;
        cls_status status = ask((request){NO_HEAT, swinging, 40, .parts = "G",
                                          .field = "network(4)", .optimizer = optimizers[i]},
                                &info, &error);
        if (status != CLS_OK && !strstr(error.message, "no positive mass"))
            fail_msg("%s: %s", optimizers[i], error.message);
    }
}

static void tumbling(size_t i, double *row) {
    double t = at(i);
    const double all[] = {t, sin(t), cos(2 * t), t, cos(t), -2 * sin(2 * t), 1, 1 + 0.1 * t};
    memcpy(row, all, sizeof all);
}

#define THREE                                                                                      \
    "coordinate x, y, z\ntemperature T\nthermal lagrangian G = (v.x^2 + v.y^2 + v.z^2)/2 + "       \
    "T*(log(T) - 1)\nfriction F on T: x <- -v.x, y <- -v.y, z <- -2*v.z\n"                         \
    "start x = 0, y = 1, z = 0, v.x = 1, v.y = 0, v.z = 1, T = 1\n",                               \
        "time,x,y,z,v.x,v.y,v.z,T"

static void three_coordinates(void **unused) {
    (void)unused;
    expect_model((request){THREE, tumbling, 12, .parts = "F", .field = "monomial(1, constant)"});
    expect_model((request){THREE, tumbling, 12, .parts = "G,F", .field = "monomial(1, constant)"});
    expect_model((request){THREE, tumbling, 12, .parts = "F", .field = "monomial(1, constant)",
                           .scheme = "discrete-gradient"});
}

/* A part without its form would break a law some day: such a model is not built. */
static void models_without_their_form(void **unused) {
    (void)unused;
    cls_error error;
    cls_learn_info info;
    cls_model *m;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = table_of("time,x,v.x,T1,T2", 9, plain);
    const cls_table *table = t;
    const char *const parts[] = {"F1", "F2"}, *name = "data.csv";
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = 2;
    o.field = "chebyshev(1, constant)";
    if (cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &error)) fail_msg("%s", error.message);
    double floor = m->learned[1].floor;
    m->learned[1].floor = 0;
    assert_int_equal(clsi_model_build(m, &error), CLS_SYSTEM);
    assert_non_null(strstr(error.message, "'F2' is damaged: it is not positive by form"));
    m->learned[1].floor = floor;
    m->learned[1].slot = 1;
    assert_int_equal(clsi_model_build(m, &error), CLS_SYSTEM);
    assert_non_null(strstr(error.message, "not in order"));
    m->learned[1].slot = 0;
    assert_int_equal(clsi_model_build(m, &error), CLS_OK);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_learn_report_free(&info.report);
    cls_system_free(&s);
}

/* Frictions that are positive by form are never zero, and the scale is free all the same. */
static void scale_is_free_with_positive_forms(void **unused) {
    (void)unused;
    static const char *const fields[] = {"network(4)", "chebyshev(2)"};
    for (int i = 0; i < 2; i++) {
        cls_error error;
        cls_learn_info info;
        cls_status status = ask(
            (request){PISTON, plain, 30, .parts = "G,F1,F2", .field = fields[i]}, &info, &error);
        if (status != CLS_OK) fail_msg("%s", error.message);
        assert_int_equal(info.normalised, 1);
    }
}

/* Jacobian and gradient of the residuals that are divided by their scale: against each other,
 * against differences, and k G, k F has the residuals of G, F. */
static void residuals_divided_by_their_scale(void **unused) {
    (void)unused;
    cls_error error;
    clsi_points *points;
    clsi_unknowns *unknowns;
    clsi_residual *residual;
    clsi_problem problem;
    cls_system *s = load_system("adiabatic-piston");
    cls_table *t = table_of("time,x,v.x,T1,T2", 9, plain);
    const cls_table *table = t;
    const char *const parts[] = {"G", "F1", "F2"}, *name = "data.csv";
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = 3;
    o.field = "chebyshev(2)";
    if (clsi_points_create(s, 1, &table, &name, &clsi_rule_quadrature, 0, 0, &points, &error) ||
        clsi_unknowns_create(s, NULL, &o, points, &unknowns, &error) ||
        clsi_residual_create(points, unknowns, &residual, &error))
        fail_msg("%s", error.message);
    residual->scale_free = 1;
    clsi_residual_problem(residual, &problem);
    enum { N = 4 };
    size_t P = problem.n_parameters;
    const size_t rows[N] = {4, 0, 7, 4};
    double *theta = calloc(P, sizeof *theta), *gradient = calloc(P, sizeof *gradient);
    double *J = calloc(N * P, sizeof *J), r[N], side[2][N], loss, sum = 0;
    for (size_t j = 0; j < P; j++) theta[j] = 0.1 + 0.01 * (double)j;
    if (problem.residual(&problem, theta, N, rows, r) == CLS_NUMERIC) /* a negative mass */
        for (size_t j = 0; j < P; j++) theta[j] = -theta[j];
    assert_int_equal(problem.jacobian(&problem, theta, N, rows, r, J), CLS_OK);
    assert_int_equal(problem.gradient(&problem, theta, N, rows, &loss, gradient), CLS_OK);
    for (size_t i = 0; i < N; i++) sum += r[i] * r[i] / (2 * N);
    assert_true(sum > 0 && fabs(loss - sum) < 1e-12 * sum);
    for (size_t j = 0; j < P; j++) {
        double expected = 0, size = 0, kept = theta[j], h = 1e-6;
        for (size_t i = 0; i < N; i++) {
            expected += r[i] * J[i * P + j] / N;
            size += fabs(r[i] * J[i * P + j]);
        }
        assert_true(fabs(gradient[j] - expected) <= 1e-11 * (size + sum));
        for (int k = 0; k < 2; k++) {
            theta[j] = kept + (k ? h : -h);
            assert_int_equal(problem.residual(&problem, theta, N, rows, side[k]), CLS_OK);
        }
        theta[j] = kept;
        for (size_t i = 0; i < N; i++) {
            double difference = (side[1][i] - side[0][i]) / (2 * h);
            assert_true(fabs(difference - J[i * P + j]) < 1e-6 * (1 + fabs(J[i * P + j])));
        }
    }
    for (size_t j = 0; j < P; j++) theta[j] *= 1e-3;
    assert_int_equal(problem.residual(&problem, theta, N, rows, side[0]), CLS_OK);
    for (size_t i = 0; i < N; i++) assert_true(fabs(side[0][i] - r[i]) < 1e-10 * (1 + fabs(r[i])));
    for (size_t j = 0; j < P; j++) theta[j] = -theta[j];
    assert_int_equal(problem.residual(&problem, theta, N, rows, r), CLS_NUMERIC);
    free(theta);
    free(gradient);
    free(J);
    clsi_residual_free(&residual);
    clsi_unknowns_free(&unknowns);
    clsi_points_free(&points);
    cls_table_free(&t);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_rows),
                                       cmocka_unit_test(constant_columns),
                                       cmocka_unit_test(times_that_stand_still),
                                       cmocka_unit_test(extreme_values),
                                       cmocka_unit_test(momenta_without_square),
                                       cmocka_unit_test(odd_validation),
                                       cmocka_unit_test(one_trajectory_is_cut),
                                       cmocka_unit_test(parts_named_twice_or_not_at_all),
                                       cmocka_unit_test(heat_exchange),
                                       cmocka_unit_test(systems_without_entropies),
                                       cmocka_unit_test(three_coordinates),
                                       cmocka_unit_test(models_without_their_form),
                                       cmocka_unit_test(scale_is_free_with_positive_forms),
                                       cmocka_unit_test(residuals_divided_by_their_scale)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
