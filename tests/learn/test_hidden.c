/* Unknown energies with entropies: temperatures follow from what is learned, so they are hidden.
 * Laws and orders: the true temperatures come out, what the data cannot tell is said, the laws hold. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/learn/made_data.h"
#include "tests/sanitized.h"
#include <clausius/learn.h>

static cls_system *parse(const char *text) {
    cls_error error;
    cls_system *s;
    if (cls_system_parse(text, "test", NULL, &s, &error)) fail_msg("%s", error.message);
    return s;
}

/* A column of the row at the model's start. */
static double at_start(const cls_system *s, const char *column) {
    cls_error error;
    double state[16], row[64];
    if (cls_system_start(s, NULL, state, &error)) fail_msg("%s", error.message);
    if (cls_system_row(s, 0, state, row, &error)) fail_msg("%s", error.message);
    size_t c = 0;
    while (strcmp(cls_system_column(s, c), column) != 0) c++;
    return row[c];
}

static const range gas_box[] = {{"x", 0.6, 1.8}, {"v.x", -1, 1}, {"S", 0.5, 1.5}};

/* The piston's energy and friction at once. The file begins at S = 10, far outside of the data. */
static void gas_and_friction(void **state) {
    (void)state;
    static const char *const unknown[] = {"U", "F"};
    const char *given[] = {"gamma"};
    double gamma[] = {0.3};
    cls_assignments set = {1, given, gamma};
    cls_error error;
    cls_system *s;
    cls_learn_info info;
    if (cls_system_load("ideal-gas-piston", &set, &s, &error)) fail_msg("%s", error.message);
    cls_table *t = make_data(s, 3, gas_box, 30, 20, 0.02, 3);
    cls_model *m = learn(s, t, unknown, 2, "chebyshev(6)", &info);
    assert_string_equal(info.optimizer, "linear");
    assert_true(info.rollout < 1e-4);
    assert_non_null(strstr(info.notes, "as the data say"));
    assert_non_null(strstr(info.notes, "logarithms"));
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

#define GASES(U1, U2, KAPPA)                                                                       \
    "system \"two gases\"\n"                                                                       \
    "coordinate q in (0, 2)\n"                                                                     \
    "entropy S1, S2\n"                                                                             \
    "let V1 = q\n"                                                                                 \
    "let V2 = 2 - q\n"                                                                             \
    "part U1 of V1, S1 = " U1 "\n"                                                                 \
    "part U2 of V2, S2 = " U2 "\n"                                                                 \
    "hamiltonian p.q^2/2 + U1 + U2\n"                                                              \
    "heat exchange wall T1 <-> T2: " KAPPA "\n"                                                    \
    "start q = 1.2, p.q = 0.3, S1 = 2, S2 = 2.2\n"
static const range gases_box[] = {
    {"q", 0.5, 1.5}, {"p.q", -1, 1}, {"S1", 1.5, 2.5}, {"S2", 1.5, 2.5}};

/* Two energies and a conductance that depends on temperatures which no column has. */
static void two_gases_with_a_wall(void **state) {
    (void)state;
    static const char *const unknown[] = {"U1", "U2", "wall"};
    cls_system *s = parse(GASES("(exp(S1)/V1)^(2/3)", "(exp(S2)/V2)^(2/3)", "3/(T1*T2)"));
    cls_system *open = parse(
        GASES("unknown chebyshev(6)", "unknown chebyshev(6)", "unknown chebyshev(2) of T1, T2"));
    cls_table *t = make_data(s, 4, gases_box, 24, 40, 0.02, 3);
    cls_learn_info info;
    cls_model *m = learn(open, t, unknown, 3, NULL, &info);
    double T1 = at_start(cls_model_system(m), "T1"), T2 = at_start(cls_model_system(m), "T2");
    assert_true(fabs(T1 / at_start(s, "T1") - 1) < 1e-4);
    assert_true(fabs(T2 / at_start(s, "T2") - 1) < 1e-4);
    assert_true(rollout(s, m, 0.01, 200) < 1e-3);
    assert_non_null(strstr(info.notes, "what exchanges heat was learned through its logarithm"));
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&open);
}

/* Without friction entropy is a constant of the motion, and any function of it may be added to the
 * energy: that is said, temperatures are positive, and the model follows the motion. */
static void reversible_data_do_not_tell_temperatures(void **state) {
    (void)state;
    static const char *const unknown[] = {"U"};
    cls_system *s = parse("system \"gas\"\ncoordinate x in (0, inf)\nentropy S\n"
                          "part U of x, S = (exp(S)/x)^(2/3) + x\nhamiltonian p.x^2/2 + U\n"
                          "start x = 1, p.x = 0.2, S = 1\n");
    static const range box[] = {{"x", 0.6, 1.8}, {"p.x", -0.5, 0.5}, {"S", 0.5, 1.5}};
    cls_table *t = make_data(s, 3, box, 30, 20, 0.02, 3);
    cls_learn_info info;
    cls_model *m = learn(s, t, unknown, 1, "chebyshev(8)", &info);
    assert_non_null(strstr(info.notes, "cannot tell"));
    assert_true(at_start(cls_model_system(m), "T") > 0);
    assert_true(rollout(s, m, 0.01, 200) < 1e-3);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

static const range swing[] = {{"q", -1.5, 1.5}, {"p.q", -1, 1}};

/* Rows far apart that a scheme made: which one is found, and the truth to round-off. Data of the motion
 * itself are left alone. */
static void the_scheme_of_the_data_is_found(void **state) {
    (void)state;
    static const char *const unknown[] = {"V"};
    static const struct {
        const char *scheme, *said;
    } cases[] = {{"discrete-gradient", "steps of discrete-gradient"},
                 {"leapfrog", "steps of leapfrog"},
                 {"symplectic-euler", "steps of symplectic-euler"},
                 {"rk3", "steps of rk3"}};
    cls_system *s = load_system("pendulum");
    cls_learn_info info;
    for (size_t k = 0; k < THINNED(sizeof cases / sizeof *cases, 1); k++) {
        cls_table *t = make_table(s, cases[k].scheme, 2, swing, 12, 30, 0.2, 5);
        cls_model *m = learn(s, t, unknown, 1, NULL, &info);
        if (!strstr(info.notes, cases[k].said)) fail_msg("%s: %s", cases[k].scheme, info.notes);
        if (!(info.loss_final < 1e-8)) fail_msg("%s: %g", cases[k].scheme, info.loss_final);
        if (!(info.rollout < 1e-8)) fail_msg("%s: %g", cases[k].scheme, info.rollout);
        cls_model_free(&m);
        cls_table_free(&t);
    }
    cls_table *t = make_data(s, 2, swing, 12, 30, 0.2, 5);
    cls_model *m = learn(s, t, unknown, 1, NULL, &info);
    assert_null(strstr(info.notes, "steps of"));
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Two gases with a wall, from coarse steps of the discrete gradient: learned back by default. The energies
 * are sums of products, as bases are, so that their discrete gradients are of the same form. */
static void steps_with_hidden_temperatures(void **state) {
    (void)state;
    static const char *const unknown[] = {"U1", "U2", "wall"};
    cls_system *s = parse(GASES("exp(S1)*V1^(-2/3)", "exp(S2)*V2^(-2/3)", "3"));
    cls_system *open =
        parse(GASES("unknown chebyshev(6)", "unknown chebyshev(6)", "unknown terms(1)"));
    cls_table *t = make_table(s, "discrete-gradient", 4, gases_box, 20, 20, 0.1, 3);
    cls_learn_info info;
    cls_model *m = learn(open, t, unknown, 3, NULL, &info);
    assert_non_null(strstr(info.notes, "steps of eem"));
    assert_true(info.rollout < 1e-4);
    assert_true(fabs(at_start(cls_model_system(m), "T1") / at_start(s, "T1") - 1) < 1e-3);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&open);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gas_and_friction),
        cmocka_unit_test(two_gases_with_a_wall),
        cmocka_unit_test(reversible_data_do_not_tell_temperatures),
        cmocka_unit_test(the_scheme_of_the_data_is_found),
        cmocka_unit_test(steps_with_hidden_temperatures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
