/* Unknown energies that are convex in velocities and temperatures by form: masses and heat
 * capacities are positive whatever the parameters are, (p, S) determine (v, T), training finds the
 * piston's G, the form survives the file, and where `convex` cannot hold it is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/learn/convex_learning.h"
#include "tests/sanitized.h"
#include <jansson.h>
#include <unistd.h>

/* 100 parameter vectors of sizes 0.01 to 1000, 100 states each: not below zero but for round-off.
 */
static void mass_and_heat_capacity_are_positive(void **unused) {
    (void)unused;
    learning l = open_learning(NULL, 4, piston_box, 20);
    check_every_parameter(&l, "G", "network(6, 6, convex)", 100, 12);
    close_learning(&l);
}

/* Two coordinates and one temperature: a mass matrix. */
#define PLANE                                                                                      \
    "system \"plane\"\ncoordinate x, y\ntemperature T\n"                                           \
    "thermal lagrangian G = (2*v.x^2 + v.x*v.y + v.y^2)/2 - x^2 - y^2/2 + T*(log(T) - 1) + "       \
    "0.2*x*T\nfriction F on T: x <- -0.1*v.x, y <- -0.2*v.y\nstart x = 0, v.x = 0, y = 0, v.y = "  \
    "0, T = 1\n"
static const range plane_box[] = {
    {"x", -1, 1}, {"v.x", -1, 1}, {"y", -1, 1}, {"v.y", -1, 1}, {"T", 0.5, 1.5}};

static void mass_matrices_are_positive(void **unused) {
    (void)unused;
    learning l = open_learning(PLANE, 5, plane_box, 20);
    check_every_parameter(&l, "G", "network(8, 6, convex)", 30, 13);
    close_learning(&l);
}

/* (v, T) -> (p, S) by derivatives, and back by the Legendre transform, from another start. */
static void momenta_and_entropies_determine_the_state(void **unused) {
    (void)unused;
    learning l = open_learning(NULL, 4, piston_box, 20);
    const char *const given[] = {"x", "p.x", "S1", "S2"};
    cls_random random;
    cls_model *m = untrained(&l, "G", "network(8, 8, convex)");
    cls_random_seed(&random, 14);
    for (int i = 0; i < 200; i++) {
        double z[4], row[16], back[4], values[4];
        if (i % 10 == 0) set_parameters(m, 0.1 + 0.01 * i, &random);
        for (int k = 0; k < 4; k++)
            z[k] =
                k < 2 ? 4 * cls_random_uniform(&random) - 2 : 0.1 + 3 * cls_random_uniform(&random);
        assert_int_equal(cls_system_row(m->system, 0, z, row, &l.error), CLS_OK);
        values[0] = z[0];
        for (size_t c = 0; c < cls_system_column_count(m->system); c++)
            for (int k = 1; k < 4; k++)
                if (strcmp(cls_system_column(m->system, c), given[k]) == 0) values[k] = row[c];
        cls_assignments set = {4, given, values};
        if (cls_system_start(m->system, &set, back, &l.error)) fail_msg("%s", l.error.message);
        for (int k = 0; k < 4; k++)
            if (!(fabs(back[k] - z[k]) < 1e-6 * (1 + fabs(z[k]))))
                fail_msg("case %d: variable %d is %g, not %g", i, k, back[k], z[k]);
    }
    cls_model_free(&m);
    close_learning(&l);
}

/* How many of `trials` models with untrained parameters, small to large, run 100 steps; both laws
 * hold in all of them as far as they go. */
static int count_runs(const char *field, int trials) {
    learning l = open_learning(NULL, 4, piston_box, 20);
    const char *const parts[] = {"G", "F1", "F2"};
    cls_random random;
    int ran = 0;
    double start[4];
    l.o.field = field;
    l.o.max_iterations = 1;
    cls_model *m = finish(&l, 3, parts);
    assert_int_equal(cls_system_start(l.s, NULL, start, &l.error), CLS_OK);
    cls_random_seed(&random, 17);
    for (int i = 0; i < trials; i++) {
        double size = pow(10, 4 * cls_random_uniform(&random) - 3);
        cls_simulate_options o = cls_simulate_defaults();
        cls_simulator *sim;
        set_parameters(m, size, &random);
        o.h = 0.01;
        o.max_halvings = 3;
        assert_int_equal(cls_simulator_create(m->system, &o, &sim, &l.error), CLS_OK);
        cls_status status = cls_simulator_start(sim, 0, start, &l.error);
        if (status == CLS_OK) status = cls_simulator_advance(sim, 100, &l.error);
        cls_simulate_info laws = cls_simulator_info(sim);
        if (laws.steps && !(laws.energy_relative <= 1e-11))
            fail_msg("%s, %g: energy off by %g", field, size, laws.energy_relative);
        assert_int_equal(laws.entropy_falls, 0);
        ran += status == CLS_OK;
        cls_simulator_free(&sim);
    }
    cls_model_free(&m);
    close_learning(&l);
    return ran;
}

/* A convex model stops only where the motion leaves the cylinder or is too fast for the step;
 * others stop at states without a solution as well, more often than not. */
static void untrained_models_run(void **unused) {
    (void)unused;
    enum { TRIALS = THINNED(30, 2) };
    int convex = count_runs("network(6, 6, convex)", TRIALS);
    int plain = count_runs("network(6, 6)", TRIALS);
    print_message("of %d untrained models %d convex and %d plain ones ran 100 steps\n", TRIALS,
                  convex, plain);
    assert_true(SANITIZED || 10 * convex >= 8 * TRIALS);
    assert_true(SANITIZED || plain < convex);
}

/* ---- learning ---- */

/* p = v and G_T T = T/T: mass 1 and capacity 1 at random states of the box, to 1e-3; the motion to
 * 1e-4 over 300 steps. */
static void the_piston_is_learned(void **unused) {
    (void)unused;
    learning l = open_learning(NULL, 4, piston_box, THINNED(100, 5));
    const char *const parts[] = {"G"};
    cls_random random;
    l.o.field = "network(12, 12, convex)";
    l.o.max_iterations = THINNED(150, 2);
    cls_model *m = finish(&l, 1, parts);
    const cls_system *s = m->system;
    cls_node H[2] = {cls_derivative(s->g, s->form->p[0], s->v[0]),
                     cls_mul(s->g, s->T[0], cls_derivative(s->g, s->form->S[0], s->T[0]))};
    cls_program *program;
    if (cls_program_create(s->g, 4, s->form->z, 2, H, &program, &l.error))
        fail_msg("%s", l.error.message);
    cls_random_seed(&random, 15);
    for (int i = 0; i < 1000; i++) {
        double z[4], out[2];
        for (int k = 0; k < 4; k++)
            z[k] = k < 2 ? 1.6 * cls_random_uniform(&random) - 0.8
                         : 0.7 + 0.6 * cls_random_uniform(&random);
        assert_int_equal(cls_program_run_many(program, 1, 1, z, out), CLS_OK);
        for (int k = 0; k < 2; k++)
            if (!SANITIZED && !(fabs(out[k] - 1) < 1e-3))
                fail_msg("%s: %g", k ? "capacity" : "mass", out[k]);
    }
    double off = rollout(l.s, m, 0.01, THINNED(300, 2));
    if (!SANITIZED && !(off < 1e-4)) fail_msg("rollout off by %g", off);
    cls_program_free(&program);
    cls_model_free(&m);
    close_learning(&l);
}

/* Heat capacity that depends on T and x, and a mass that depends on x: not what the trunk is. */
#define REAL_GAS                                                                                   \
    "system \"no ideal gas\"\ncoordinate x\ntemperature T\n"                                       \
    "thermal lagrangian G = (1 + 0.3*x^2)*v.x^2/2 - x^2/2 + T*(log(T) - 1) + "                     \
    "0.3*T^2*exp(0.5*x) + 0.1/(2 + x)\nfriction F on T: x <- -0.3*v.x\n"                           \
    "start x = 0.5, v.x = 0, T = 1\n"
static const range gas_box[] = {{"x", -1, 1}, {"v.x", -1, 1}, {"T", 0.5, 1.5}};

static void a_real_gas_is_learned(void **unused) {
    (void)unused;
    learning l = open_learning(REAL_GAS, 3, gas_box, THINNED(100, 5));
    const char *const parts[] = {"G"};
    l.o.field = "network(12, 12, convex)";
    l.o.max_iterations = THINNED(250, 2);
    cls_model *m = finish(&l, 1, parts);
    double off = rollout(l.s, m, 0.01, THINNED(300, 2));
    if (!SANITIZED && !(off < 1e-3)) fail_msg("rollout off by %g", off);
    cls_model_free(&m);
    close_learning(&l);
}

/* Kelvin, joule and metres: G is 40,000 times as large as the fields that it is made of. */
#define KELVIN                                                                                     \
    "system \"kelvin and joule\"\ncoordinate x\ntemperature T\n"                                   \
    "thermal lagrangian G = 10*v.x^2/2 - 500*x^2/2 + 20*T*(log(T) - 1) + 0.2*x*T\n"                \
    "friction F on T: x <- -(5 + 3*v.x^2)*v.x\nstart x = 0.5, v.x = 0, T = 300\n"
static const range kelvin_box[] = {{"x", -1, 1}, {"v.x", -3, 3}, {"T", 280, 320}};

static void units_do_not_matter(void **unused) {
    (void)unused;
    learning l = open_learning(KELVIN, 3, kelvin_box, THINNED(60, 5));
    const char *const parts[] = {"G", "F"};
    l.o.field = "network(12, 12, convex)";
    l.o.max_iterations = THINNED(150, 2);
    cls_model *m = finish(&l, 2, parts);
    assert_non_null(strstr(m->learned[0].input[3], "T*(log(T/"));
    if (!SANITIZED && !(l.info.loss_final < 0.02)) fail_msg("loss %g", l.info.loss_final);
    double off = rollout(l.s, m, 0.01, THINNED(100, 2));
    if (!SANITIZED && !(off < 0.05)) fail_msg("rollout off by %g", off); /* T changes by 10 */
    cls_model_free(&m);
    close_learning(&l);
}

static void every_optimizer_learns_it(void **unused) {
    (void)unused;
    static const struct {
        const char *name;
        uint64_t iterations;
        double least; /* the loss falls by this much */
    } all[] = {{"spring", 30, 50}, {"lm", 20, 50}, {"lbfgs", 100, 20}, {"adam", 200, 1.5}};
    const char *const parts[] = {"G", "F1", "F2"};
    for (size_t i = 0; i < 4; i++) {
        learning l = open_learning(NULL, 4, piston_box, THINNED(30, 4));
        l.o.field = "network(8, 8, convex)";
        l.o.optimizer = all[i].name;
        l.o.max_iterations = THINNED(all[i].iterations, 2);
        cls_model *m = finish(&l, 3, parts);
        assert_string_equal(m->learned[0].field->spec, "convex(8, 8; 1 1 2 varying)");
        assert_string_equal(m->learned[1].field->spec, "network(8, 8)");
        if (!SANITIZED && !(all[i].least * l.info.loss_final < l.info.loss_initial))
            fail_msg("%s: %g to %g", all[i].name, l.info.loss_initial, l.info.loss_final);
        cls_model_free(&m);
        close_learning(&l);
    }
}

/* ---- parts with a known trunk, declared inputs ---- */

#define TRUNK                                                                                      \
    "system \"trunk\"\ncoordinate x\ntemperature T1, T2\n"                                         \
    "thermal lagrangian G = v.x^2/2 + T1*(log(T1) - 1) + T2*(log(T2) - 1) + W\n"                   \
    "friction F on T1: x <- -0.3*v.x\nstart x = 0, v.x = 0, T1 = 1, T2 = 1\n"
static const range trunk_box[] = {{"x", -1, 1}, {"v.x", -1, 1}, {"T1", 0.5, 1.5}, {"T2", 0.5, 1.5}};

static void parts_join_a_known_trunk(void **unused) {
    (void)unused;
    static const struct {
        const char *declared, *spec, *truth;
    } forms[] = {{"network(8, 8, convex)", "convex(8, 8; 1 1 2 varying)",
                  TRUNK "part W = 0.1*T2^2 - x^2/2\n"},
                 {"network(8, convex) of T1 - T2, x", "convex(8; 1 0 1)",
                  TRUNK "part W = 0.1*(T1 - T2)^2 - x^2/2\n"},
                 {"network(8, convex) of T1", "convex(8; 0 0 1)", TRUNK "part W = 0.1*T1^2\n"}};
    const char *const parts[] = {"W"};
    for (size_t i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text, "%spart W = unknown %s\n", TRUNK, forms[i].declared);
        learning l = open_learning(forms[i].truth, 4, trunk_box, 20);
        cls_system_free(&l.s);
        l.s = parse_text(text);
        l.o.max_iterations = 20;
        cls_model *m = finish(&l, 1, parts);
        assert_string_equal(m->learned[0].field->spec, forms[i].spec);
        if (!(l.info.loss_final < 0.3 * l.info.loss_initial))
            fail_msg("%s: %g to %g", forms[i].declared, l.info.loss_initial, l.info.loss_final);
        check_parameters(m, 10, 16);
        cls_model_free(&m);
        close_learning(&l);
    }
}

/* ---- files ---- */

static void the_form_survives_the_file(void **unused) {
    (void)unused;
    learning l = open_learning(NULL, 4, piston_box, 20);
    const char *const parts[] = {"G"};
    char path[] = "/tmp/clausius-convex-XXXXXX", *text;
    l.o.field = "network(8, 8, convex)";
    l.o.max_iterations = 3;
    cls_model *m = finish(&l, 1, parts), *again;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    if (cls_model_write(m, path, &l.error)) fail_msg("%s", l.error.message);
    if (cls_model_read(path, &again, &l.error)) fail_msg("%s", l.error.message);
    double z[4] = {0.3, -0.2, 0.9, 1.5}, a[16], b[16];
    assert_int_equal(cls_system_row(m->system, 0, z, a, &l.error), CLS_OK);
    assert_int_equal(cls_system_row(again->system, 0, z, b, &l.error), CLS_OK);
    assert_memory_equal(a, b, cls_system_column_count(l.s) * sizeof *a);
    assert_int_equal(cls_model_show(again, &text, &l.error), CLS_OK);
    assert_non_null(strstr(text, "convex in v.x, T1, T2, even in v.x"));
    cls_text_free(&text);
    /* a file that takes the form away is refused */
    static const char *const bent[] = {"log(T1)", "T1^2", "T1*(log(T1/0)-1)"};
    static const size_t where[] = {2, 2, 4};
    for (int i = 0; i < 4; i++) {
        clsi_learned *g = &m->learned[0];
        char *kept = g->input[i < 3 ? where[i] : 0];
        if (i < 3) g->input[where[i]] = (char *)(uintptr_t)bent[i];
        if (i == 3) g->scale = -1;
        assert_int_equal(cls_model_write(m, path, &l.error), CLS_OK);
        if (i < 3) g->input[where[i]] = kept;
        cls_model *bad;
        assert_int_equal(cls_model_read(path, &bad, &l.error), CLS_SYSTEM);
        if (!strstr(l.error.message, "convex by form")) fail_msg("%s", l.error.message);
        assert_null(bad);
    }
    remove(path);
    cls_model_free(&again);
    cls_model_free(&m);
    close_learning(&l);
}

/* ---- mistakes ---- */

static void mistakes_are_told(void **unused) {
    (void)unused;
    static const struct {
        const char *text, *part, *field, *want;
    } bad[] = {
        {NULL, "F1", "network(8, convex)", "about an unknown energy"},
        {NULL, "G", "network(8, plain, convex)", "`plain`"},
        {NULL, "G", "network(8, tanh, convex)", "softplus"},
        {NULL, "G", "chebyshev(4, convex)", "only networks"},
        {TRUNK "part W = unknown network(8, convex) of log(T1), x\n", "W", NULL, "not affine"},
        {TRUNK "part W = unknown network(8, convex) of T1*T2, x\n", "W", NULL, "not affine"},
        {TRUNK "part W = unknown network(8, convex) of x\n", "W", NULL, "neither velocities"},
        {TRUNK "part W = unknown network(8, convex, square)\n", "W", NULL, "`square`"},
        {TRUNK "part U = unknown network(8, convex)\npart W = -2*U\n", "U", NULL,
         "positive number"},
        {TRUNK "part U = unknown positive network(8, convex)\npart W = U\n", "U", NULL,
         "that is for energies"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        learning l = bad[i].text ? open_learning(TRUNK "part W = -x^2/2\n", 4, trunk_box, 5)
                                 : open_learning(NULL, 4, piston_box, 5);
        cls_model *m;
        const char *name = "made here";
        if (bad[i].text) {
            cls_system_free(&l.s);
            if (cls_system_parse(bad[i].text, "here", NULL, &l.s, &l.error))
                fail_msg("%s", l.error.message);
        }
        l.o.unknown = &bad[i].part;
        l.o.n_unknown = 1;
        l.o.field = bad[i].field;
        cls_status status = cls_learn(l.s, NULL, 1, (const cls_table *const *)&l.t, &name, &l.o, &m,
                                      &l.info, &l.error);
        if (status != CLS_USAGE || !strstr(l.error.message, bad[i].want))
            fail_msg("case %zu: %d, %s", i, status, status ? l.error.message : "learned");
        assert_null(m);
        close_learning(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_and_heat_capacity_are_positive),
        cmocka_unit_test(mass_matrices_are_positive),
        cmocka_unit_test(momenta_and_entropies_determine_the_state),
        cmocka_unit_test(untrained_models_run),
        cmocka_unit_test(the_piston_is_learned),
        cmocka_unit_test(a_real_gas_is_learned),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(every_optimizer_learns_it),
        cmocka_unit_test(parts_join_a_known_trunk),
        cmocka_unit_test(the_form_survives_the_file),
        cmocka_unit_test(mistakes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
