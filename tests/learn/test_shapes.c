/* Laws with constants inside: their derivatives, what is found in noisy data, and what is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/learn/made_data.h"
#include "learn/noise/shapes.h"
#include <clausius/learn.h>

static double value_of(cls_graph *g, cls_node x, cls_node node, double at) {
    cls_program *p;
    cls_error e;
    double work[200], out;
    if (cls_program_create(g, 1, &x, 1, &node, &p, &e)) fail_msg("%s", e.message);
    assert_true(cls_program_work_size(p) <= 200);
    cls_program_prepare(p, work);
    cls_program_run(p, work, &at, &out);
    cls_program_free(&p);
    return out;
}

/* Of every family that has a constant; a program over constants has the same values. */
static void derivatives_in_constants_are_differences(void **unused) {
    (void)unused;
    cls_error e;
    cls_graph *g;
    assert_int_equal(cls_graph_create(NULL, &g, &e), CLS_OK);
    cls_node x = cls_symbol(g, "x");
    clsi_shape_base base = {.node = x, .low = 0.5, .high = 2};
    clsi_shapes s = {.g = g, .d = 1, .x = &x, .n_bases = 1, .base = &base};
    for (size_t f = 2; f < clsi_shape_families(); f++) {
        clsi_shape shape = {.n = 1, .factor = {{f, 0}}, .c = {0.7, 1.3}};
        shape.n_constants = clsi_shape_constants(f);
        assert_true(shape.n_constants > 0);
        for (size_t k = 0; k < shape.n_constants; k++) {
            static const double h = 1e-5;
            clsi_shape up = shape, down = shape;
            up.c[k] += h, down.c[k] -= h;
            double difference = (value_of(g, x, clsi_shape_node(&s, &up, SIZE_MAX), 1.1) -
                                 value_of(g, x, clsi_shape_node(&s, &down, SIZE_MAX), 1.1)) /
                                (2 * h);
            double slope = value_of(g, x, clsi_shape_node(&s, &shape, k), 1.1);
            if (!(fabs(slope - difference) < 1e-8)) fail_msg("family %zu, constant %zu", f, k);
        }
        cls_program *p;
        double work[200], in[3] = {1.1, 0.7, 1.3}, out;
        assert_int_equal(clsi_shape_program(&s, &shape, &p, &e), CLS_OK);
        cls_program_prepare(p, work);
        cls_program_run(p, work, in, &out);
        assert_true(out == value_of(g, x, clsi_shape_node(&s, &shape, SIZE_MAX), 1.1));
        cls_program_free(&p);
    }
    cls_graph_free(&g);
}

/* Learns `part` of `told`, of data made by `text` from starts in the box, with noise on these states; the report's notes, the
 * caller's. */
static char *learn_told(const char *text, const char *told, const char *part, size_t n,
                        const range *box, double noise, size_t motions, size_t rows) {
    cls_error e;
    cls_system *s, *open;
    if (cls_system_parse(text, "made", NULL, &s, &e)) fail_msg("%s", e.message);
    if (cls_system_parse(told, "told", NULL, &open, &e)) fail_msg("%s", e.message);
    cls_table *t = make_data(s, n, box, motions, rows, 0.1, 3);
    const cls_table *table = t;
    const char *name = "made here";
    cls_random random;
    cls_random_seed(&random, 5);
    for (size_t k = 0; k < n; k++) {
        double *z = (double *)cls_table_column(t, (size_t)cls_table_find(t, box[k].name));
        for (size_t i = 0; i < cls_table_rows(t); i++) z[i] += noise * cls_random_normal(&random);
    }
    cls_learn_options o = cls_learn_defaults();
    cls_learn_info info;
    cls_model *m;
    o.n_unknown = 1;
    o.unknown = &part;
    if (cls_learn(open, NULL, 1, &table, &name, &o, &m, &info, &e)) fail_msg("%s", e.message);
    assert_non_null(info.report);
    char *notes = strdup(info.report->notes);
    print_message("%s", notes);
    cls_learn_report_free(&info.report);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&open);
    return notes;
}

static char *learn_part(const char *text, const char *part, size_t n, const range *box,
                        double noise, size_t motions, size_t rows) {
    return learn_told(text, text, part, n, box, noise, motions, rows);
}

static char *learn_r(const char *text, double noise) {
    static const range box[] = {{"s", 0.5, 3}};
    return learn_part(text, "r", 1, box, noise, 12, 50);
}

/* The form, its constant within three of the errors that are told, and these no larger than a tenth. */
static void a_saturation_is_found_with_its_constant(void **unused) {
    (void)unused;
    char *notes = learn_r("part r = s/(0.5 + s)\node s' = -r\nstart s = 1\nstep 0.1\n", 0.01);
    const char *at = strstr(notes, "r: the constant ");
    double c, error;
    assert_non_null(at);
    assert_int_equal(sscanf(at, "r: the constant %lf", &c), 1);
    assert_non_null(strstr(at, "in s/(s + "));
    assert_int_equal(sscanf(strstr(at, "+- "), "+- %lf", &error), 1);
    assert_true(error > 0 && error < 0.05);
    assert_true(fabs(c - 0.5) < 3 * error);
    free(notes);
}

/* What a plain term says has no constant inside. */
static void a_plain_law_stays_plain(void **unused) {
    (void)unused;
    char *notes = learn_r("part r = 0.3*s^2\node s' = -r\nstart s = 1\nstep 0.1\n", 0.02);
    assert_null(strstr(notes, "the constant"));
    free(notes);
}

/* Where notes tell a constant of the part near `value`: within four of the errors that are told. */
static int tells_constant(const char *notes, double value) {
    double c, error;
    for (const char *at = notes; (at = strstr(at, "the constant ")); at++) {
        const char *sign = strstr(at, "+- ");
        if (sscanf(at, "the constant %lf", &c) == 1 && sign &&
            sscanf(sign, "+- %lf", &error) == 1 && fabs(c - value) < 4 * error)
            return 1;
    }
    return 0;
}

/* Each of the two is next to nothing without the other: no search that adds one at a time came there. */
static void two_terms_that_need_each_other_are_found(void **unused) {
    static const range box[] = {{"q", 0.8, 1.6}, {"p.q", -0.3, 0.3}};
    (void)unused;
    char *notes =
        learn_part("coordinate q in (0, 20)\npart V = q^-4 - 2*q^-2\n"
                   "hamiltonian H = p.q^2/2 + V + q^2/4\nstart q = 1, p.q = 0\nstep 0.1\n",
                   "V", 2, box, 0.002, 20, 60);
    assert_non_null(strstr(notes, "2 terms in the place of"));
    assert_true(tells_constant(notes, -2) && tells_constant(notes, -4));
    free(notes);
}

/* A deep well in the plane, which no polynomial follows for long: the shortest windows show what turning does
 * not change. */
static void a_softened_center_is_found(void **unused) {
    static const range box[] = {
        {"x", 0.5, 1.2}, {"y", -0.5, 0.5}, {"p.x", -0.4, 0.4}, {"p.y", 0.3, 0.9}};
    (void)unused;
    char *notes = learn_part("coordinate x, y\npart V = -1/sqrt(0.2 + x^2 + y^2)\n"
                             "hamiltonian H = (p.x^2 + p.y^2)/2 + V\n"
                             "start x = 1, y = 0, p.x = 0, p.y = 0.7\nstep 0.1\n",
                             "V", 4, box, 0.005, 20, 80);
    assert_non_null(strstr(notes, "1/sqrt(x^2 + y^2 + 0.2"));
    assert_true(tells_constant(notes, 0.2));
    free(notes);
}

/* What somebody says a part is a function of: a state, a velocity, a let. */
static void laws_of_declared_inputs_are_found(void **unused) {
    static const range places[] = {{"q", 0.5, 3}, {"p.q", -0.3, 0.3}};
    static const range warm[] = {{"x", -1, 1}, {"v.x", -1, 1}, {"T", 0.7, 2}};
    (void)unused;
    char *notes = learn_told(
        "coordinate q in (0, 9)\nhamiltonian H = p.q^2/2 + 1/(0.7 + q) + q^2/8\nstart q = 1, p.q = "
        "0\nstep 0.1\n",
        "coordinate q in (0, 9)\npart V of q = unknown\nhamiltonian H = p.q^2/2 + V + q^2/8\n"
        "start q = 1, p.q = 0\nstep 0.1\n",
        "V", 2, places, 0.002, 20, 60);
    assert_non_null(strstr(notes, "1 term in the place of"));
    assert_true(tells_constant(notes, 0.7));
    free(notes);
    notes = learn_told(
        "coordinate x\ntemperature T\nthermal lagrangian v.x^2/2 - x^2 + 2*T*(log(T) - 1)\n"
        "friction F on T: x <- -0.1*exp(1/T)*v.x\nstart x = 1, v.x = 0, T = 1\nstep 0.1\n",
        "coordinate x\ntemperature T\nthermal lagrangian v.x^2/2 - x^2 + 2*T*(log(T) - 1)\n"
        "friction F on T: x <- unknown of T\nstart x = 1, v.x = 0, T = 1\nstep 0.1\n",
        "F", 3, warm, 0.005, 20, 60);
    assert_non_null(strstr(notes, "F terms(exp("));
    free(notes);
}

/* `of b - a` is a variable like any other. */
static void laws_of_declared_formulas_are_found(void **unused) {
    static const range box[] = {{"a", -1, 1}, {"b", -1, 1}, {"p.a", -0.5, 0.5}, {"p.b", -0.5, 0.5}};
    (void)unused;
    char *notes = learn_told(
        "coordinate a, b\nhamiltonian H = (p.a^2 + p.b^2)/2 + 0.8*sqrt(0.3 + (b - a)^2) + a^2/4\n"
        "start a = 0, b = 1, p.a = 0, p.b = 0\nstep 0.1\n",
        "coordinate a, b\npart V = unknown of b - a\nhamiltonian H = (p.a^2 + p.b^2)/2 + V + "
        "a^2/4\n"
        "start a = 0, b = 1, p.a = 0, p.b = 0\nstep 0.1\n",
        "V", 4, box, 0.01, 15, 60);
    assert_non_null(strstr(notes, "1 term in the place of"));
    assert_non_null(strstr(notes, "sqrt((b - a)^2 + "));
    assert_true(tells_constant(notes, 0.3));
    free(notes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_in_constants_are_differences),
        cmocka_unit_test(a_saturation_is_found_with_its_constant),
        cmocka_unit_test(a_plain_law_stays_plain),
        cmocka_unit_test(two_terms_that_need_each_other_are_found),
        cmocka_unit_test(a_softened_center_is_found),
        cmocka_unit_test(laws_of_declared_inputs_are_found),
        cmocka_unit_test(laws_of_declared_formulas_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
