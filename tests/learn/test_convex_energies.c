/* Convex lagrangians and hamiltonians: masses, heat capacities and temperatures are positive and
 * momentum vanishes at rest whatever the parameters are, what the schemes promise holds for
 * untrained ones, training finds a double pendulum from its positions and gases from momenta and
 * entropies, and where the word cannot hold it is refused. Thermal lagrangians: test_convex.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/learn/convex_learning.h"
#include "tests/sanitized.h"
#include <unistd.h>

/* ---- the systems ---- */

#define PENDULUM(formula)                                                                          \
    "system \"double pendulum\"\ncoordinate a, b\n" formula                                        \
    "start a = 1, b = 0.5, v.a = 0, v.b = 0\n"
#define PENDULUM_TRUE                                                                              \
    PENDULUM("lagrangian L = v.a^2 + v.b^2/2 + v.a*v.b*cos(a - b) + 2*cos(a) + cos(b)\n")
static const range pendulum_box[] = {
    {"a", -1.2, 1.2}, {"b", -1.2, 1.2}, {"v.a", -1, 1}, {"v.b", -1, 1}};

#define CHAMBERS(formula)                                                                          \
    "system \"two chambers\"\ncoordinate x in (-1.5, 1.5)\nentropy S1, S2\n" formula               \
    "friction F on S1: x <- -0.2*v.x\nheat exchange K S1 <-> S2: 0.1\n"                            \
    "start x = 0.7, p.x = 0, S1 = 0.5, S2 = 1\n"
#define CHAMBERS_TRUE                                                                              \
    CHAMBERS("hamiltonian H = p.x^2/2 + 1.5*(2 + x)^(-2/3)*exp(S1/1.5) + "                         \
             "1.5*(2 - x)^(-2/3)*exp(S2/1.5)\n")
static const range chambers_box[] = {
    {"x", -0.8, 0.8}, {"p.x", -1, 1}, {"S1", 0, 1.5}, {"S2", 0, 1.5}};

/* ---- what the form promises ---- */

static void masses_of_a_lagrangian_are_positive(void **unused) {
    (void)unused;
    learning l = open_learning(PENDULUM_TRUE, 4, pendulum_box, 10);
    check_every_parameter(&l, "L", "network(6, 6, convex)", 60, 31);
    close_learning(&l);
}

/* And temperatures: see least_eigenvalue. */
static void masses_and_heat_of_a_hamiltonian_are_positive(void **unused) {
    (void)unused;
    learning l = open_learning(CHAMBERS_TRUE, 4, chambers_box, 10);
    check_every_parameter(&l, "H", "network(6, 6, convex)", 60, 32);
    close_learning(&l);
}

/* v is zero at p = 0 to the bit, or p at v = 0, and both directions have the same energy. */
static void check_rest(learning *l, const char *part) {
    cls_random random;
    cls_model *m = untrained(l, part, "network(6, 6, convex)");
    cls_random_seed(&random, 33);
    for (int i = 0; i < 20; i++) {
        const clsi_form *f;
        cls_program *program;
        double z[8], other[8], a[4], b[4];
        set_parameters(m, pow(10, 4 * cls_random_uniform(&random) - 2), &random);
        f = m->system->form;
        cls_node out[4] = {f->generator};
        memcpy(out + 1, f->kind == CLSI_FORM_PHASE ? f->v : f->p, f->n * sizeof *out);
        if (cls_program_create(m->system->g, f->nz, f->z, 1 + f->n, out, &program, &l->error))
            fail_msg("%s", l->error.message);
        for (size_t k = 0; k < f->nz; k++) {
            int moves = k >= f->nq && k < f->nq + f->n;
            z[k] = 4 * cls_random_uniform(&random) - 2;
            other[k] = moves ? -z[k] : z[k];
        }
        assert_int_equal(cls_program_run_many(program, 1, 1, z, a), CLS_OK);
        assert_int_equal(cls_program_run_many(program, 1, 1, other, b), CLS_OK);
        for (size_t j = 0; j <= f->n; j++)
            assert_true(fabs(a[j] + (j ? b[j] : -b[j])) <= 1e-13 * (1 + fabs(a[j])));
        for (size_t j = 0; j < f->n; j++) z[f->nq + j] = 0;
        assert_int_equal(cls_program_run_many(program, 1, 1, z, a), CLS_OK);
        for (size_t j = 0; j < f->n; j++) assert_true(a[1 + j] == 0);
        cls_program_free(&program);
    }
    cls_model_free(&m);
    close_learning(l);
}

static void momentum_vanishes_at_rest(void **unused) {
    (void)unused;
    learning l = open_learning(PENDULUM_TRUE, 4, pendulum_box, 10);
    check_rest(&l, "L");
    l = open_learning(CHAMBERS_TRUE, 4, chambers_box, 10);
    check_rest(&l, "H");
}

/* (p, S) -> (v, T) by derivatives, and back by solving for them. */
static void velocities_and_temperatures_determine_the_state(void **unused) {
    (void)unused;
    learning l = open_learning(CHAMBERS_TRUE, 4, chambers_box, 10);
    const char *const given[] = {"x", "v.x", "T1", "T2"};
    cls_random random;
    cls_model *m = untrained(&l, "H", "network(8, 8, convex)");
    cls_random_seed(&random, 34);
    for (int i = 0; i < 200; i++) {
        double z[4], row[16], back[4], values[4];
        if (i % 10 == 0) set_parameters(m, 0.1 + 0.01 * i, &random);
        for (int k = 0; k < 4; k++)
            z[k] = k ? 4 * cls_random_uniform(&random) - 2 : 2 * cls_random_uniform(&random) - 1;
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

/* Of the energy: p.v of a lagrangian may be 100,000 times what is left of p.v - L. */
static double largest_term(const cls_system *s, const double *z, double energy) {
    double row[32], size = fabs(energy);
    assert_int_equal(cls_system_row(s, 0, z, row, NULL), CLS_OK);
    for (size_t j = 0; j < s->n; j++) {
        double term = 1;
        for (size_t c = 0; c < cls_system_column_count(s); c++)
            if (strcmp(cls_system_column(s, c), cls_node_name(s->g, s->v[j])) == 0 ||
                strcmp(cls_system_column(s, c), cls_node_name(s->g, s->p[j])) == 0)
                term *= row[c];
        size = fmax(size, fabs(term));
    }
    return size;
}

/* How many of `trials` models with untrained parameters, small to large, run 100 steps; both laws
 * hold in all of them as far as they go. */
static int count_runs(learning *l, const char *part, const char *field, int trials) {
    cls_random random;
    int ran = 0;
    cls_model *m = untrained(l, part, field);
    cls_random_seed(&random, 35);
    for (int i = 0; i < trials; i++) {
        double size = pow(10, 4 * cls_random_uniform(&random) - 3), start[4];
        cls_simulate_options o = cls_simulate_defaults();
        cls_simulator *sim;
        set_parameters(m, size, &random);
        o.h = 0.01;
        o.max_halvings = 3;
        /* a plain one may have a negative temperature there */
        if (cls_system_start(m->system, NULL, start, &l->error) != CLS_OK) continue;
        assert_int_equal(cls_simulator_create(m->system, &o, &sim, &l->error), CLS_OK);
        cls_status status = cls_simulator_start(sim, 0, start, &l->error);
        if (status == CLS_OK) status = cls_simulator_advance(sim, 100, &l->error);
        cls_simulate_info laws = cls_simulator_info(sim);
        double scale = largest_term(m->system, cls_simulator_state(sim), laws.energy_initial);
        if (laws.steps && !(laws.energy_max_error <= 1e-12 * scale))
            fail_msg("%s, %g: energy off by %g of %g", field, size, laws.energy_max_error, scale);
        assert_int_equal(laws.entropy_falls, 0);
        ran += status == CLS_OK;
        cls_simulator_free(&sim);
    }
    cls_model_free(&m);
    close_learning(l);
    return ran;
}

/* A convex model stops where the motion leaves the cylinder or is too fast for the step; others
 * where a temperature or a mass is not positive as well. */
static void untrained_models_run(void **unused) {
    (void)unused;
    enum { TRIALS = THINNED(16, 2) };
    int ran[2][2];
    static const char *const fields[2][2] = {{"network(6, 6, convex)", "network(6, 6)"},
                                             {"network(6, 6, convex)", "network(6, 6, plain)"}};
    for (int k = 0; k < 2; k++) {
        learning l = open_learning(CHAMBERS_TRUE, 4, chambers_box, 10);
        ran[0][k] = count_runs(&l, "H", fields[0][k], TRIALS);
        l = open_learning(PENDULUM_TRUE, 4, pendulum_box, 10);
        ran[1][k] = count_runs(&l, "L", fields[1][k], TRIALS);
    }
    for (int i = 0; i < 2; i++) {
        print_message("of %d untrained %s %d convex and %d plain ones ran 100 steps\n", TRIALS,
                      i ? "lagrangians" : "hamiltonians", ran[i][0], ran[i][1]);
        assert_true(SANITIZED || 10 * ran[i][0] >= 8 * TRIALS);
        assert_true(SANITIZED || ran[i][1] < ran[i][0]);
    }
}

/* ---- learning ---- */

/* Mean error of the named columns along `steps` steps, from the same start in the given variables;
 * the laws are asserted on the way. */
static double off_by(const cls_system *truth, const cls_model *m, const cls_assignments *start,
                     size_t n, const char *const *columns, double h, uint64_t steps) {
    const cls_system *both[2] = {truth, m->system};
    cls_simulator *sim[2];
    cls_error error;
    double state[16], row[2][32], sum = 0;
    for (int i = 0; i < 2; i++) {
        cls_simulate_options o = cls_simulate_defaults();
        o.h = h;
        o.scheme = i ? "discrete-gradient-4" : "bdf";
        if (cls_system_start(both[i], start, state, &error) ||
            cls_simulator_create(both[i], &o, &sim[i], &error) ||
            cls_simulator_start(sim[i], 0, state, &error))
            fail_msg("%s", error.message);
    }
    for (uint64_t step = 0; step < steps; step++) {
        for (int i = 0; i < 2; i++)
            if (cls_simulator_advance(sim[i], 1, &error) ||
                cls_simulator_row(sim[i], row[i], &error))
                fail_msg("%s", error.message);
        for (size_t k = 0; k < n; k++) {
            double value[2] = {0};
            for (int i = 0; i < 2; i++)
                for (size_t c = 0; c < cls_system_column_count(both[i]); c++)
                    if (strcmp(cls_system_column(both[i], c), columns[k]) == 0)
                        value[i] = row[i][c];
            sum += fabs(value[0] - value[1]) / (double)(n * steps);
        }
    }
    cls_simulate_info laws = cls_simulator_info(sim[1]);
    assert_true(laws.energy_relative < 1e-12);
    assert_int_equal(laws.entropy_falls, 0);
    for (int i = 0; i < 2; i++) cls_simulator_free(&sim[i]);
    return sum;
}

/* Masses depend on the angles, and only the angles are seen. */
static void a_double_pendulum_is_learned(void **unused) {
    (void)unused;
    learning l = {.o = cls_learn_defaults(), .s = parse_text(PENDULUM_TRUE)};
    const char *const parts[] = {"L"}, *const columns[] = {"a", "b"};
    const char *const names[] = {"a", "b", "v.a", "v.b"};
    const double values[] = {1, 0.5, 0, 0};
    const cls_assignments start = {4, names, values};
    l.t = make_data(l.s, 4, pendulum_box, THINNED(60, 4), 40, 0.05, 5);
    l.o.scheme = "weak";
    l.o.field = "network(12, 12, convex)";
    l.o.max_iterations = THINNED(200, 2);
    cls_model *m = finish(&l, 1, parts);
    assert_string_equal(m->learned[0].field->spec, "convex(12, 12; 2 2 0 varying)");
    double off = off_by(l.s, m, &start, 2, columns, 0.05, THINNED(200, 2));
    print_message("double pendulum off by %g\n", off);
    assert_true(SANITIZED || off < 5e-3);
    cls_model_free(&m);
    close_learning(&l);
}

static void chambers_are_learned(void **unused) {
    (void)unused;
    learning l = open_learning(CHAMBERS_TRUE, 4, chambers_box, THINNED(100, 5));
    const char *const parts[] = {"H"}, *const columns[] = {"x", "p.x", "S1", "S2", "T1", "T2"};
    l.o.field = "network(8, 8, convex)";
    l.o.max_iterations = THINNED(300, 2);
    cls_model *m = finish(&l, 1, parts);
    assert_string_equal(m->learned[0].field->spec, "convex(8, 8; 1 1 0 2 varying)");
    double off = off_by(l.s, m, NULL, 6, columns, 0.02, THINNED(300, 2));
    print_message("chambers off by %g\n", off);
    assert_true(SANITIZED || off < 2e-3);
    cls_model_free(&m);
    close_learning(&l);
}

/* The built-in gas as a hamiltonian: energies of 30,000 in the system's units. T is nowhere in the
 * data; friction tells it. */
static void the_ideal_gas_is_learned(void **unused) {
    (void)unused;
    static const range box[] = {{"x", 0.6, 3}, {"p.x", -100, 300}, {"S", 9.5, 10.2}};
    static const char text[] = "system \"gas\"\ncoordinate x in (0, inf)\nentropy S\n"
                               "hamiltonian H = unknown network(8, 8, convex)\n"
                               "friction F on S: x <- -0.1*v.x\nstart x = 1, p.x = 0, S = 10\n";
    learning l = {.o = cls_learn_defaults(), .s = load_system("ideal-gas-piston")};
    cls_system *truth = l.s;
    const char *const columns[] = {"x", "S"}, *const warm[] = {"T"};
    l.t = make_data(l.s, 3, box, THINNED(100, 5), 40, 0.001, 5);
    l.s = parse_text(text);
    l.o.max_iterations = THINNED(250, 2);
    cls_model *m = finish(&l, 0, NULL);
    double off = off_by(truth, m, NULL, 2, columns, 1e-3, THINNED(30, 2));
    double heat = off_by(truth, m, NULL, 1, warm, 1e-3, THINNED(30, 2));
    print_message("ideal gas off by %g, its temperature by %g\n", off, heat);
    assert_true(SANITIZED || (off < 2e-3 && heat < 100)); /* of 15,000 */
    cls_model_free(&m);
    cls_system_free(&truth);
    close_learning(&l);
}

/* ---- terms, declared inputs ---- */

static void terms_are_convex_in_what_they_are_of(void **unused) {
    (void)unused;
    static const struct {
        const char *formula, *declared, *spec;
    } forms[] = {
        {"hamiltonian W + exp(S1) + exp(S2)\n", "network(8, convex)", "convex(8; 1 1 0 2 varying)"},
        {"hamiltonian W + exp(S1) + exp(S2)\n", "network(8, convex) of 2*p.x, x",
         "convex(8; 1 1 0 varying)"},
        {"hamiltonian p.x^2/2 + W + exp(S1) + exp(S2)\n", "network(8, convex) of S1 + 2*S2, x",
         "convex(8; 1 0 0 1)"},
        {"hamiltonian p.x^2/2 + 2*W + exp(S1) + exp(S2)\n", "network(8, convex) of p.x + 1, S1",
         "convex(8; 0 0 1 1)"}};
    const char *const parts[] = {"W"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[600];
        snprintf(text, sizeof text, CHAMBERS("%s") "part W = unknown %s\n", forms[i].formula,
                 forms[i].declared);
        learning l = open_learning(CHAMBERS_TRUE, 4, chambers_box, 10);
        cls_system_free(&l.s);
        l.s = parse_text(text);
        l.o.max_iterations = 5;
        cls_model *m = finish(&l, 1, parts);
        assert_string_equal(m->learned[0].field->spec, forms[i].spec);
        check_parameters(m, 10, 36);
        cls_model_free(&m);
        close_learning(&l);
    }
}

/* ---- files ---- */

/* A file that takes the form away is refused. */
static void the_form_survives_the_file(void **unused) {
    (void)unused;
    static const struct {
        size_t input;
        const char *text;
    } bent[] = {{1, "p.x^2"}, {1, "p.x - 0.1"}, {2, "-S1"}, {2, "S1*x"}, {2, "S1^3"}};
    learning l = open_learning(CHAMBERS_TRUE, 4, chambers_box, 10);
    char path[] = "/tmp/clausius-convex-XXXXXX", *text;
    cls_model *m = untrained(&l, "H", "network(6, 6, convex)"), *again;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    if (cls_model_write(m, path, &l.error)) fail_msg("%s", l.error.message);
    if (cls_model_read(path, &again, &l.error)) fail_msg("%s", l.error.message);
    assert_int_equal(cls_model_show(again, &text, &l.error), CLS_OK);
    assert_non_null(strstr(text, "convex in p.x, S1, S2, even in p.x, increasing in S1, S2"));
    cls_text_free(&text);
    for (size_t i = 0; i < sizeof bent / sizeof *bent; i++) {
        char **input = &m->learned[0].input[bent[i].input], *kept = *input;
        *input = (char *)(uintptr_t)bent[i].text;
        assert_int_equal(cls_model_write(m, path, &l.error), CLS_OK);
        *input = kept;
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

/* A lagrangian whose momentum is another one once it is learned still begins where its file says.
 */
static void the_start_keeps_its_velocity(void **unused) {
    (void)unused;
    static const range box[] = {{"q", -1, 1}, {"v.q", -1, 1}};
    learning l = open_learning("system \"mass two\"\ncoordinate q\nlagrangian L = v.q^2 - q^2\n"
                               "start q = 0.5, v.q = 0.3\n",
                               2, box, 10);
    cls_model *m = untrained(&l, "L", "network(6, convex)");
    double state[2];
    assert_string_equal(cls_system_state_name(l.s, 1), "p.q");
    assert_string_equal(cls_system_state_name(m->system, 1), "v.q");
    assert_int_equal(cls_system_start(m->system, NULL, state, &l.error), CLS_OK);
    assert_true(state[0] == 0.5 && state[1] == 0.3);
    cls_model_free(&m);
    close_learning(&l);
}

/* ---- mistakes ---- */

static void mistakes_are_told(void **unused) {
    (void)unused;
    static const struct {
        const char *text, *scheme, *want;
    } bad[] = {
        {CHAMBERS("hamiltonian H = unknown network(8, convex)\n"), "weak", "convex in momenta"},
        {CHAMBERS("lagrangian H = unknown network(8, convex)\n"), "weak", "concave in entropies"},
        {CHAMBERS("hamiltonian H = unknown network(8, convex, plain)\n"), NULL, "`plain`"},
        {CHAMBERS("hamiltonian H = unknown chebyshev(4, convex)\n"), NULL, "only networks"},
        {CHAMBERS("part W = unknown network(8, convex) of S1 - S2, x\n"
                  "hamiltonian p.x^2/2 + exp(S1) + exp(S2) + W\n"),
         NULL, "does not rise"},
        {CHAMBERS("part W = unknown network(8, convex) of p.x^2, x\n"
                  "hamiltonian p.x^2/2 + exp(S1) + exp(S2) + W\n"),
         NULL, "not affine"},
        {CHAMBERS("part W = unknown network(8, convex) of x\n"
                  "hamiltonian p.x^2/2 + exp(S1) + exp(S2) + W\n"),
         NULL, "neither momenta nor entropies"},
        {CHAMBERS("part W = unknown network(8, convex)\n"
                  "hamiltonian p.x^2/2 + exp(S1) + exp(S2) - W\n"),
         NULL, "positive number"},
        {CHAMBERS("part W = unknown network(8, convex) of v.x, S1\n"
                  "lagrangian v.x^2/2 - exp(S1) - exp(S2) + W\n"),
         "weak", "not affine"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        learning l = open_learning(CHAMBERS_TRUE, 4, chambers_box, 5);
        cls_model *m;
        const char *name = "made here";
        cls_system_free(&l.s);
        l.s = parse_text(bad[i].text);
        l.o.scheme = bad[i].scheme;
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
        cmocka_unit_test(masses_of_a_lagrangian_are_positive),
        cmocka_unit_test(masses_and_heat_of_a_hamiltonian_are_positive),
        cmocka_unit_test(momentum_vanishes_at_rest),
        cmocka_unit_test(velocities_and_temperatures_determine_the_state),
        cmocka_unit_test(untrained_models_run),
        cmocka_unit_test(a_double_pendulum_is_learned),
        cmocka_unit_test(chambers_are_learned),
        cmocka_unit_test(the_ideal_gas_is_learned),
        cmocka_unit_test(terms_are_convex_in_what_they_are_of),
        cmocka_unit_test(the_form_survives_the_file),
        cmocka_unit_test(the_start_keeps_its_velocity),
        cmocka_unit_test(mistakes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
