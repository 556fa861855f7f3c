/* Components that are learned in one system and used in another (the EPHS thesis, sections 7.3 and 7.5):
 * the coefficients come out, the second system moves as if it knew them, the laws hold for any
 * parameters, and what does not fit is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/learn/one_run.h"
#include <stdio.h>
#include <unistd.h>

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[4][256];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/clausius-component-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    static const char *const files[] = {"damper.safetensors", "conduction.safetensors",
                                        "spring.safetensors", "other.clausius",
                                        "whole.safetensors"};
    (void)state;
    for (size_t i = 0; i < 5; i++) unlink(in_folder(files[i]));
    return rmdir(folder);
}

static cls_model *learn_parts(const cls_system *s, const cls_table *t, size_t n,
                              const char *const *parts, const char *field) {
    cls_error error;
    cls_model *m;
    cls_learn_info info;
    cls_learn_options o = cls_learn_defaults();
    const char *name = "made";
    o.n_unknown = n;
    o.unknown = parts;
    o.field = field;
    o.scheme = "implicit-midpoint";
    if (cls_learn(s, NULL, 1, &t, &name, &o, &m, &info, &error)) fail_msg("%s", error.message);
    return m;
}

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static const char *const both[] = {"damper", "conduction"};

#define OTHER                                                                                      \
    "parameter m = 4, c = 1, theta0 = 300\nstorage spring(q): q^2/(2*c)\n"                         \
    "storage mass(p): p^2/(2*m)\nenvironment air(entropy s_e): theta0\n"                           \
    "storage casing(entropy s_d): exp(s_d)\ngyrator link(q, p): 1\n"                               \
    "use \"damper.safetensors\" as brake\nuse \"conduction.safetensors\" as wall\n"                \
    "connect spring.q, link.q\nconnect mass.p, link.p, brake.p\n"                                  \
    "connect casing.s_d, brake.s, wall.s\nconnect air.s_e, wall.out\n"                             \
    "start q = 1, p = 2, s_e = 0.2, s_d = 5.8\nstep 0.1\n"

/* The experiment of 7.5: learn with m = 2, use with m = 4 and another start, 0 to 100. */
static void a_learned_damper_serves_another_mass(void **state) {
    (void)state;
    cls_error error;
    cls_system *s = load_system("thermal-oscillator"), *system = NULL;
    cls_table *t = one_run(s, "implicit-midpoint", 199, 0.1);
    cls_model *m = learn_parts(s, t, 2, both, "chebyshev(3)"), *other = NULL, *again = NULL;
    assert_true(distance(s, cls_model_system(m), 1000) < 1e-9);
    for (size_t i = 0; i < 2; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s.safetensors", both[i]);
        if (cls_model_extract(m, both[i], in_folder(file), &error)) fail_msg("%s", error.message);
    }
    write_text(in_folder("other.clausius"), OTHER);
    if (cls_model_compose(in_folder("other.clausius"), NULL, &system, &other, &error))
        fail_msg("%s", error.message);
    assert_null(system);
    cls_system *truth = NULL;
    const char *name = "m";
    double four = 4;
    assert_int_equal(
        cls_system_load("thermal-oscillator", &(cls_assignments){1, &name, &four}, &truth, &error),
        CLS_OK);
    truth->start[2] = 2; /* p.q: slots are q, v, p, S, T */
    assert_true(distance(truth, cls_model_system(other), 1000) < 1e-9);
    /* the composed model is a model: one file, and the same bits when read again */
    if (cls_model_write(other, in_folder("whole.safetensors"), &error) ||
        cls_model_read(in_folder("whole.safetensors"), &again, &error))
        fail_msg("%s", error.message);
    assert_true(distance(cls_model_system(other), cls_model_system(again), 100) == 0);
    cls_model_free(&again);
    cls_model_free(&other);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&truth);
    cls_system_free(&s);
}

/* What it was learned on is its range; further out it is told. */
static void leaving_the_range_is_told(void **state) {
    (void)state;
    cls_error error;
    cls_system *system = NULL;
    cls_model *m = NULL;
    cls_range *seen = NULL;
    cls_outside out;
    write_text(in_folder("other.clausius"), OTHER);
    if (cls_model_compose(in_folder("other.clausius"), NULL, &system, &m, &error) ||
        cls_range_create(m, &seen, &error))
        fail_msg("%s", error.message);
    double inside[] = {0, 0.4, 0.2, 5.75}, fast[] = {0, 4 * 0.7, 0.2, 5.75}, hot[] = {0, 0, 0.2, 6};
    assert_false(cls_range_check(seen, inside, &out));
    assert_true(cls_range_check(seen, fast, &out));
    assert_string_equal(out.part, "brake");
    assert_string_equal(out.input, "v.q");
    assert_true(fabs(out.value - 0.7) < 1e-15 && out.high == 0.5);
    assert_true(cls_range_check(seen, hot, &out));
    assert_string_equal(out.input, "log(theta_d)");
    cls_range_free(&seen);
    cls_model_free(&m);
}

static void expect_refused(const char *text, const char *says) {
    cls_error error = {0};
    cls_system *s = NULL;
    cls_model *m = NULL;
    write_text(in_folder("other.clausius"), text);
    if (cls_model_compose(in_folder("other.clausius"), NULL, &s, &m, &error) != CLS_SYSTEM ||
        !strstr(error.message, says))
        fail_msg("expected %s, got %s", says, error.message);
    assert_null(s);
    assert_null(m);
}

#define DRIVEN                                                                                     \
    "storage mass(p [kg]): p^2/2\nenvironment air(entropy s_e): 300\n"                             \
    "use \"damper.safetensors\" as brake\n"

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    expect_refused(DRIVEN "connect mass.p, brake.q\nconnect air.s_e, brake.s",
                   "other.clausius:4:17: no port is called `brake.q` (did you mean `brake.p`?); "
                   "there are mass.p, air.s_e, brake.p, brake.s");
    expect_refused(DRIVEN "connect mass.p, brake.s\nconnect air.s_e, brake.p", "do not fit");
    expect_refused(DRIVEN
                   "environment a2(entropy s): 1\nconnect mass.p, brake.p\nconnect air.s_e, a2.s",
                   "the port `brake.s` is open");
    expect_refused("use \"nothing.safetensors\" as x\n", "nothing.safetensors: cannot open");
    expect_refused("use \"whole.safetensors\" as x\n", "is not a component");
}

/* A spring learned as an energy is a component as well. */
static void a_learned_spring_is_a_component(void **state) {
    (void)state;
    cls_error error;
    const char *const spring[] = {"spring"};
    cls_system *s = load_system("oscillator"), *system = NULL;
    cls_table *t = one_run(s, "implicit-midpoint", 199, 0.1);
    cls_model *m = learn_parts(s, t, 1, spring, "chebyshev(4)"), *other = NULL;
    if (cls_model_extract(m, "spring", in_folder("spring.safetensors"), &error))
        fail_msg("%s", error.message);
    write_text(in_folder("other.clausius"),
               "storage mass(p): p^2/4\ngyrator link(x, p): 1\nuse \"spring.safetensors\" as bow\n"
               "connect bow.q, link.x\nconnect mass.p, link.p\nstart q = 1, p = 1");
    if (cls_model_compose(in_folder("other.clausius"), NULL, &system, &other, &error))
        fail_msg("%s", error.message);
    assert_true(distance(s, cls_model_system(other), 1000) < 1e-8);
    cls_model_free(&other);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* ---- learning beside what was learned ---- */

#define BESIDE                                                                                     \
    "parameter m = 2, c = 1, theta0 = 300\nstorage spring(q): q^2/(2*c)\n"                         \
    "storage mass(p): p^2/(2*m)\nenvironment air(entropy s_e): theta0\n"                           \
    "storage casing(entropy s_d): exp(s_d)\ngyrator link(q, p): 1\n"                               \
    "use \"damper.safetensors\" as brake\n"                                                        \
    "resistive wall(entropy s, entropy out): unknown chebyshev(2)\nconnect spring.q, link.q\n"     \
    "connect mass.p, link.p, brake.p\nconnect casing.s_d, brake.s, wall.s\n"                       \
    "connect air.s_e, wall.out\nstart q = 1, p = 1, s_e = 0.2, s_d = 5.8\nstep 0.1\n"

/* A file that uses a learned damper and leaves the wall unknown: the damper stays to the bit, the
 * wall is found, and both can be taken out of the result. */
static void parts_are_learned_beside_learned_ones(void **state) {
    (void)state;
    static const char *const losses[] = {"residual", "shooting", "derivative"};
    cls_error error;
    cls_system *truth = load_system("thermal-oscillator"), *system = NULL;
    cls_table *t = one_run(truth, "implicit-midpoint", 199, 0.1);
    cls_model *first = learn_parts(truth, t, 1, both, "chebyshev(2)"), *given = NULL;
    if (cls_model_extract(first, "damper", in_folder("damper.safetensors"), &error))
        fail_msg("%s", error.message);
    write_text(in_folder("other.clausius"), BESIDE);
    if (cls_model_compose(in_folder("other.clausius"), NULL, &system, &given, &error))
        fail_msg("%s", error.message);
    for (size_t i = 0; i < 3; i++) {
        cls_model *m = NULL;
        cls_learn_info info;
        cls_learn_options o = cls_learn_defaults();
        const char *name = "made";
        o.scheme = "implicit-midpoint";
        o.loss = losses[i];
        o.given = given;
        if (cls_learn(cls_model_system(given), NULL, 1, (const cls_table *const *)&t, &name, &o, &m,
                      &info, &error))
            fail_msg("%s", error.message);
        assert_int_equal(m->n_learned, 2);
        assert_string_equal(m->learned[1].part, "brake");
        assert_memory_equal(m->theta + m->learned[1].offset, first->theta,
                            first->n_theta * sizeof(double));
        double far = distance(truth, cls_model_system(m), 200);
        if (!(far < (i < 2 ? 1e-7 : 1e-2))) fail_msg("%s: off by %g", losses[i], far);
        if (cls_model_extract(m, "wall", in_folder("conduction.safetensors"), &error) ||
            cls_model_extract(m, "brake", in_folder("whole.safetensors"), &error))
            fail_msg("%s", error.message);
        cls_model_free(&m);
        o.optimizer = "qp";
        assert_int_equal(cls_learn(cls_model_system(given), NULL, 1, (const cls_table *const *)&t,
                                   &name, &o, &m, &info, &error),
                         CLS_USAGE);
    }
    cls_model_free(&given);
    cls_model_free(&first);
    cls_table_free(&t);
    cls_system_free(&truth);
}

/* A learned term of an ode serves another ode that has the same variables. */
static void a_term_of_an_ode_is_reused(void **state) {
    (void)state;
    cls_error error;
    const char *const f[] = {"f"};
    cls_system *s = NULL, *truth = NULL, *system = NULL;
    cls_model *other = NULL;
    if (cls_system_parse(
            "part f of q = -q - 0.1*q^3\node q' = p/2\node p' = f\nstart q = 1, p = 1\n", "box",
            NULL, &s, &error) ||
        cls_system_parse("ode q' = p\node p' = -q - 0.1*q^3 - 0.2*p\nstart q = 1, p = 0\n", "box",
                         NULL, &truth, &error))
        fail_msg("%s", error.message);
    cls_table *t = one_run(s, "implicit-midpoint", 199, 0.1);
    cls_model *m = learn_parts(s, t, 1, f, "chebyshev(3)");
    if (cls_model_extract(m, "f", in_folder("spring.safetensors"), &error))
        fail_msg("%s", error.message);
    assert_int_equal(cls_model_extract(m, "g", in_folder("x"), &error), CLS_USAGE);
    write_text(in_folder("other.clausius"), "use \"spring.safetensors\" as force\node q' = p\n"
                                            "ode p' = force - 0.2*p\nstart q = 1, p = 0\n");
    if (cls_model_compose(in_folder("other.clausius"), NULL, &system, &other, &error))
        fail_msg("%s", error.message);
    assert_true(distance(truth, cls_model_system(other), 200) < 1e-9);
    expect_refused("use \"spring.safetensors\" as force\node x' = p\node p' = force\n",
                   "was learned as a function of q, and 'other' has no such variables");
    expect_refused("component c(p) {\n    use \"spring.safetensors\" as f\n    storage m(p): p^2\n"
                   "    connect m.p, p\n}\nuse c as d\n",
                   "not inside a component");
    cls_model_free(&other);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&truth);
    cls_system_free(&s);
}

static void only_what_was_learned_is_extracted(void **state) {
    (void)state;
    cls_error error;
    cls_system *s = load_system("thermal-oscillator");
    cls_table *t = one_run(s, "implicit-midpoint", 199, 0.1);
    const char *const one[] = {"damper"};
    cls_model *m = learn_parts(s, t, 1, one, "chebyshev(2)");
    assert_int_equal(cls_model_extract(m, "conduction", in_folder("x"), &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "was not learned"));
    assert_int_equal(cls_model_extract(m, "dampr", in_folder("x"), &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "did you mean 'damper'"));
    assert_int_equal(cls_model_extract(m, "link", in_folder("x"), &error), CLS_USAGE);
    cls_model_free(&m);
    m = learn_parts(s, t, 1, one, "terms(1; q^2)");
    assert_int_equal(cls_model_extract(m, "damper", in_folder("x"), &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "more than its own ports"));
    cls_model_free(&m);
    m = learn_parts(s, t, 2, both, "terms(1)"); /* constants are functions of nothing */
    for (size_t i = 0; i < 2; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s.safetensors", both[i]);
        if (cls_model_extract(m, both[i], in_folder(file), &error)) fail_msg("%s", error.message);
    }
    cls_system *system = NULL, *known = NULL;
    cls_model *other = NULL;
    write_text(in_folder("other.clausius"), OTHER);
    if (cls_model_compose(in_folder("other.clausius"), NULL, &system, &other, &error))
        fail_msg("%s", error.message);
    const char *name = "m";
    double four = 4;
    assert_int_equal(
        cls_system_load("thermal-oscillator", &(cls_assignments){1, &name, &four}, &known, &error),
        CLS_OK);
    known->start[2] = 2; /* p.q */
    assert_true(distance(known, cls_model_system(other), 200) < 1e-10);
    cls_system_free(&known);
    cls_model_free(&other);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* The family for comparison (sections 6.2 and 6.3): an unknown hamiltonian, both rates unknown, one
 * rate unknown. Each follows the orbit it was learned on; the hamiltonian needs q' = H_p among its
 * equations for that. */
static void black_boxes_follow_their_orbit(void **state) {
    (void)state;
    static const char *const texts[] = {
        "coordinate q\nhamiltonian H = unknown network(12)\nstart q = 1, p.q = 1\n",
        "part f of q, p = unknown network(12)\npart g of q, p = unknown network(12)\node q' = f\n"
        "ode p' = g\nstart q = 1, p = 1\n",
        "part g of q = unknown network(12)\node q' = p/2\node p' = g\nstart q = 1, p = 1\n"};
    cls_system *truth = load_system("oscillator");
    cls_table *t = one_run(truth, "implicit-midpoint", 199, 0.1), *data = NULL;
    const char *names[] = {"time", "q", "p.q", "p"}, *name = "made";
    assert_int_equal(cls_table_create(4, names, &data, NULL), CLS_OK);
    for (size_t k = 0; k < cls_table_rows(t); k++) {
        double row[4];
        for (size_t c = 0; c < 4; c++) row[c] = cls_table_column(t, c < 3 ? c : 2)[k];
        assert_int_equal(cls_table_append(data, row, NULL), CLS_OK);
    }
    for (size_t i = 0; i < 3; i++) {
        cls_error error;
        cls_system *s = NULL;
        cls_model *m = NULL;
        cls_learn_info info;
        cls_learn_options o = cls_learn_defaults();
        o.scheme = "implicit-midpoint";
        o.max_iterations = 200;
        if (cls_system_parse(texts[i], "box", NULL, &s, &error) ||
            cls_learn(s, NULL, 1, (const cls_table *const *)&data, &name, &o, &m, &info, &error))
            fail_msg("%s", error.message);
        double far = distance(truth, cls_model_system(m), 199);
        if (!(far < 1e-3)) fail_msg("box %zu is off by %g", i, far);
        cls_model_free(&m);
        cls_system_free(&s);
    }
    cls_table_free(&data);
    cls_table_free(&t);
    cls_system_free(&truth);
}

#ifdef __SANITIZE_ADDRESS__
enum { DRAWS = 50 };
#else
enum { DRAWS = 1000 };
#endif

/* Networks with parameters drawn at random, huge ones among them, in the places of damper and
 * conduction: energy is exact and entropy never falls, in discrete time, for each of them. With
 * weights of thousands (coefficients of ten thousands where 0.5 and 0.2 are the truth) the flows
 * are that much larger than what they leave, and so is their round-off. */
static void laws_hold_for_any_network(void **state) {
    (void)state;
    cls_error error;
    cls_random random;
    cls_system *s = load_system("thermal-oscillator");
    cls_table *t = one_run(s, "implicit-midpoint", 60, 0.1);
    const char *name = "made";
    cls_learn_info info;
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = 2;
    o.unknown = both;
    o.field = "network(6)";
    o.max_iterations = 1;
    cls_model *m = NULL;
    if (cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &m, &info, &error))
        fail_msg("%s", error.message);
    cls_random_seed(&random, 4);
    int refused = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        double size = pow(10, 5 * cls_random_uniform(&random) - 1); /* 0.1 to 10,000 */
        for (size_t i = 0; i < m->n_theta; i++)
            m->theta[i] = size * (2 * cls_random_uniform(&random) - 1);
        if (clsi_model_build(m, &error)) fail_msg("%s", error.message);
        cls_simulate_options so = cls_simulate_defaults();
        cls_simulator *sim;
        double start[8];
        so.h = 0.1;
        so.monitor = 1;
        if (cls_system_start(m->system, NULL, start, &error) ||
            cls_simulator_create(m->system, &so, &sim, &error) ||
            cls_simulator_start(sim, 0, start, &error))
            fail_msg("draw %d, size %g: %s", draw, size, error.message);
        /* held, or refused: weights of thousands make a friction that a double cannot follow */
        cls_status status = cls_simulator_advance(sim, 100, &error);
        if (status && (status != CLS_NUMERIC || size <= 100))
            fail_msg("draw %d, size %g: %s", draw, size, error.message);
        refused += status == CLS_NUMERIC;
        cls_simulate_info seen = cls_simulator_info(sim);
        double limit = size <= 100 ? 1e-12 : 1e-12 * size;
        if (!(seen.energy_relative <= limit) || seen.entropy_falls)
            fail_msg("draw %d, size %g: energy %g, %llu falls", draw, size, seen.energy_relative,
                     (unsigned long long)seen.entropy_falls);
        cls_simulator_free(&sim);
    }
    print_message("%d of %d refused\n", refused, (int)DRAWS);
    assert_true(100 * refused <= DRAWS);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_learned_damper_serves_another_mass),
        cmocka_unit_test(leaving_the_range_is_told),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_learned_spring_is_a_component),
        cmocka_unit_test(parts_are_learned_beside_learned_ones),
        cmocka_unit_test(a_term_of_an_ode_is_reused),
        cmocka_unit_test(only_what_was_learned_is_extracted),
        cmocka_unit_test(black_boxes_follow_their_orbit),
        cmocka_unit_test(laws_hold_for_any_network),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
