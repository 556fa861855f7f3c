/* The figures of learning: five ways to know little about the piston, long rollouts, noise,
 * friction in two and three dimensions, and parameters that nobody trained.
 *
 * Runs when CLAUSIUS_LONG is set (make check-long); about eight minutes on two cores. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/model.h"
#include "tests/learn/dissipative.h"
#include "tests/learn/made_data.h"
#include <stdio.h>
#include <time.h>

enum { STEPS = 20000, FURTHER = 200000, STARTS = 100, VECTORS = 1000 };

typedef struct shared {
    cls_system *piston;
    cls_table *data; /* 5,000 trajectories of 21 points */
    double *truth;   /* (STEPS, 4) from the system's own start */
} shared;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cls_simulator *begin(const cls_system *s, const char *scheme, double h,
                            const double *start) {
    cls_error error;
    cls_simulator *sim;
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    o.h = h;
    if (cls_simulator_create(s, &o, &sim, &error)) fail_msg("%s", error.message);
    if (cls_simulator_start(sim, 0, start, &error)) fail_msg("%s", error.message);
    return sim;
}

static int set_up(void **state) {
    cls_error error;
    shared *all = calloc(1, sizeof *all);
    double start[4];
    all->piston = load_system("adiabatic-piston");
    all->data = make_data(all->piston, 4, piston_box, 5000, 20, 0.01, 1);
    all->truth = calloc(4 * STEPS, sizeof *all->truth);
    if (cls_system_start(all->piston, NULL, start, &error)) return 1;
    cls_simulator *sim = begin(all->piston, "bdf", 0.01, start);
    for (size_t k = 0; k < STEPS; k++) {
        if (cls_simulator_advance(sim, 1, &error)) return 1;
        memcpy(all->truth + 4 * k, cls_simulator_state(sim), 4 * sizeof(double));
    }
    cls_simulator_free(&sim);
    *state = all;
    return 0;
}

static int tear_down(void **state) {
    shared *all = *state;
    cls_table_free(&all->data);
    cls_system_free(&all->piston);
    free(all->truth);
    free(all);
    return 0;
}

static cls_model *learn_parts(const cls_system *s, const cls_table *t, size_t n,
                              const char *const *parts, const char *field, cls_learn_info *info) {
    cls_error error;
    cls_model *m;
    const char *name = "made here";
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = n;
    o.field = field;
    /* of the iterative ones; networks as long as they like */
    if (!field || strncmp(field, "network", 7)) o.max_iterations = 150;
    o.restarts = 1;
    if (cls_learn(s, NULL, 1, &t, &name, &o, &m, info, &error)) fail_msg("%s", error.message);
    return m;
}

/* ---- the laws along a run ---- */

static void assert_laws(const cls_simulator *sim, double energy) {
    cls_simulate_info info = cls_simulator_info(sim);
    if (!(info.energy_relative <= energy))
        fail_msg("energy is off by %g after %llu steps", info.energy_relative,
                 (unsigned long long)info.steps);
    assert_int_equal(info.entropy_falls, 0);
}

static void assert_in_domain(const double *z) {
    assert_true(fabs(z[0]) < 2);
    assert_true(z[2] > 0 && z[3] > 0);
}

/* STEPS steps from the system's own start: mean error against the truth. The simulator goes on. */
static double long_rollout(const shared *all, cls_simulator *sim) {
    cls_error error;
    double sum = 0;
    for (size_t k = 0; k < STEPS; k++) {
        if (cls_simulator_advance(sim, 1, &error)) fail_msg("step %zu: %s", k, error.message);
        const double *z = cls_simulator_state(sim);
        assert_in_domain(z);
        for (size_t i = 0; i < 4; i++) sum += fabs(z[i] - all->truth[4 * k + i]);
    }
    assert_laws(sim, 1e-12);
    return sum / (4.0 * STEPS);
}

/* From random starts: short runs that keep the laws. */
static void random_starts(const shared *all, const cls_model *m) {
    cls_error error;
    cls_random random;
    double none[4];
    cls_random_seed(&random, 17);
    double *starts = draw_starts(all->piston, 4, piston_box, STARTS, &random);
    assert_int_equal(cls_system_start(all->piston, NULL, none, &error), CLS_OK);
    cls_simulator *sim = begin(cls_model_system(m), NULL, 0.01, none);
    for (size_t i = 0; i < STARTS; i++) {
        if (cls_simulator_start(sim, 0, starts + 4 * i, &error)) fail_msg("%s", error.message);
        if (cls_simulator_advance(sim, 100, &error)) fail_msg("start %zu: %s", i, error.message);
        assert_in_domain(cls_simulator_state(sim));
        assert_laws(sim, 1e-12);
    }
    cls_simulator_free(&sim);
    free(starts);
}

/* FURTHER steps: the energy stays, the state stays where it came to rest. */
static void go_on(cls_simulator *sim) {
    cls_error error;
    double rest[4];
    memcpy(rest, cls_simulator_state(sim), sizeof rest);
    for (int k = 0; k < 20; k++) {
        if (cls_simulator_advance(sim, FURTHER / 20, &error)) fail_msg("%s", error.message);
        assert_in_domain(cls_simulator_state(sim));
    }
    assert_laws(sim, 1e-12);
    for (size_t i = 0; i < 4; i++) {
        double moved = fabs(cls_simulator_state(sim)[i] - rest[i]);
        if (!(moved <= 2e-3)) fail_msg("state %zu has moved by %g since step %d", i, moved, STEPS);
    }
}

static void one_case(const shared *all, const char *title, size_t n, const char *const *parts,
                     const char *field, double goal, int further) {
    cls_error error;
    cls_learn_info info;
    double start[4], began = seconds();
    cls_model *m = learn_parts(all->piston, all->data, n, parts, field, &info);
    assert_int_equal(cls_system_start(all->piston, NULL, start, &error), CLS_OK);
    cls_simulator *sim = begin(cls_model_system(m), NULL, 0.01, start);
    double mean = long_rollout(all, sim), rolled = seconds();
    random_starts(all, m);
    double started = seconds();
    if (further) go_on(sim);
    print_message("%-22s MAE %.2e (goal %.0e), energy %.1e; learned in %.1f s, %.1f s in all, "
                  "%.1f s random starts, %.1f s further steps\n",
                  title, mean, goal, cls_simulator_info(sim).energy_relative, info.seconds,
                  seconds() - began, started - rolled, seconds() - started);
    if (!(mean <= goal)) fail_msg("%s: mean error %g, the goal is %g", title, mean, goal);
    cls_simulator_free(&sim);
    cls_model_free(&m);
}

static void case_a(void **state) {
    const char *const parts[] = {"G"};
    one_case(*state, "a: G unknown", 1, parts, NULL, 1e-5, 1);
}

static void case_b(void **state) {
    const char *const parts[] = {"F1", "F2"};
    one_case(*state, "b: both F unknown", 2, parts, NULL, 5e-5, 1);
}

static void one_friction(void **state) {
    const char *const first[] = {"F1"}, *const second[] = {"F2"};
    one_case(*state, "F1 unknown", 1, first, NULL, 5e-5, 0);
    one_case(*state, "F2 unknown", 1, second, NULL, 5e-5, 0);
}

static void case_c(void **state) {
    const char *const parts[] = {"G", "F1", "F2"};
    one_case(*state, "c: everything unknown", 3, parts, NULL, 1e-4, 1);
}

/* The same figures by networks, from random parameters. */
static void by_networks(void **state) {
    const char *const all[] = {"G", "F1", "F2"};
    one_case(*state, "a by networks", 1, all, "network(24, 24)", 1e-5, 1);
    one_case(*state, "b by networks", 2, all + 1, "network(24, 24)", 5e-5, 1);
    one_case(*state, "F1 by a network", 1, all + 1, "network(24, 24)", 5e-5, 1);
    one_case(*state, "F2 by a network", 1, all + 2, "network(24, 24)", 5e-5, 1);
    one_case(*state, "c by networks", 3, all, "network(24, 24)", 1e-4, 1);
}

/* ---- parameters that nobody trained ---- */

/* |p v| + sum |S_i T_i| + |E|: the terms of the energy, whose sum may be much smaller. What is kept
 * is kept up to their round-off. */
static double energy_terms(const cls_system *s, cls_simulator *sim) {
    static const char *const pairs[][2] = {{"p.x", "v.x"}, {"S1", "T1"}, {"S2", "T2"}};
    double row[32], sum = 0;
    assert_true(cls_system_column_count(s) <= 32);
    if (cls_simulator_row(sim, row, NULL) != CLS_OK) return INFINITY;
    for (size_t i = 0; i < 3; i++) {
        double product = 1;
        for (size_t c = 0; c < cls_system_column_count(s); c++)
            if (!strcmp(cls_system_column(s, c), pairs[i][0]) ||
                !strcmp(cls_system_column(s, c), pairs[i][1]))
                product *= row[c];
        sum += fabs(product);
    }
    return sum;
}

/* `inner`: the size of the products that make up the slopes of a network. */
static cls_status run_untrained(const shared *all, const cls_model *m, double size, double inner) {
    cls_error error;
    double start[4];
    cls_simulator *sim;
    cls_simulate_options o = cls_simulate_defaults();
    o.h = 0.01;
    o.max_halvings = 2;
    assert_int_equal(cls_simulator_create(cls_model_system(m), &o, &sim, &error), CLS_OK);
    assert_int_equal(cls_system_start(all->piston, NULL, start, &error), CLS_OK);
    error.message[0] = '\0';
    cls_status status = cls_simulator_start(sim, 0, start, &error);
    double terms = 0;
    for (int k = 0; k < 200 && status == CLS_OK; k++) {
        status = cls_simulator_advance(sim, 1, &error);
        terms = fmax(terms, energy_terms(cls_model_system(m), sim));
    }
    if (status != CLS_OK) assert_true(strlen(error.message) > 20);
    cls_simulate_info laws = cls_simulator_info(sim);
    terms += fabs(laws.energy_initial) + inner;
    if (laws.steps > 0 && !(laws.energy_max_error <= 1e-12 * terms))
        fail_msg("size %g: energy, of terms up to %g, is off by %g after %llu steps", size, terms,
                 laws.energy_max_error, (unsigned long long)laws.steps);
    if (laws.steps > 0 && !(laws.entropy_min_step >= -1e-13 * (1 + size)))
        fail_msg("size %g: entropy falls by %g", size, laws.entropy_min_step);
    cls_simulator_free(&sim);
    return status;
}

/* Parameters from a little to a hundred times off (networks: of that size altogether): a run keeps
 * the laws or stops and says why. */
static int untrained(const shared *all, const cls_table *t, const char *form, int from_nothing) {
    const char *const parts[] = {"G", "F1", "F2"};
    cls_learn_info info;
    cls_model *m = learn_parts(all->piston, t, 3, parts, form, &info);
    double *kept = malloc(m->n_theta * sizeof *kept);
    cls_random random;
    int ran = 0;
    cls_random_seed(&random, 7);
    memcpy(kept, m->theta, m->n_theta * sizeof *kept);
    for (int trial = 0; trial < VECTORS; trial++) {
        cls_error error;
        double size = pow(10, 5 * cls_random_uniform(&random) - 3);
        for (size_t i = 0; i < m->n_theta; i++)
            m->theta[i] = (from_nothing ? 0 : kept[i]) + size * cls_random_normal(&random);
        if (clsi_model_build(m, &error)) fail_msg("%s", error.message);
        ran += run_untrained(all, m, size, from_nothing ? size * size * size : 0) == CLS_OK;
    }
    print_message("%s: %d of %d untrained models ran 200 steps, the others stopped with an error\n",
                  form, ran, VECTORS);
    free(kept);
    cls_model_free(&m);
    return ran;
}

static void untrained_parameters(void **state) {
    const shared *all = *state;
    cls_table *t = make_data(all->piston, 4, piston_box, 40, 10, 0.02, 6);
    assert_true(untrained(all, t, "chebyshev(2, constant)", 0) > VECTORS / 20);
    assert_true(untrained(all, t, "network(8, 8)", 1) > 0);
    cls_table_free(&t);
}

/* ---- friction in several dimensions ---- */

static void friction_of(const char *text, size_t n_ranges, const range *box, const char *field,
                        double goal) {
    cls_error error;
    cls_learn_info info;
    cls_system *s;
    const char *const parts[] = {"F"};
    if (cls_system_parse(text, "plate", NULL, &s, &error)) fail_msg("%s", error.message);
    cls_table *t = make_data(s, n_ranges, box, 300, 10, 0.02, 4);
    cls_model *m = learn_parts(s, t, 1, parts, field, &info);
    double mean = rollout(s, m, 0.02, 500), off = friction_error(s, m);
    print_message("friction in %zu dimensions: mean error %.2e, F is off by %.2e, %zu parameters, "
                  "%s, %.1f s\n",
                  s->n, mean, off, info.parameters, info.optimizer, info.seconds);
    assert_dissipative(m, 10000);
    if (!(mean <= 1e-4)) fail_msg("mean error %g", mean);
    if (!(off <= goal)) fail_msg("F is off by %g", off);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Anisotropic, coupled and depending on the state; eigenvalues that are equal somewhere. */
static void friction_in_several_dimensions(void **state) {
    (void)state;
    static const range box[] = {{"x", -1, 1},    {"y", -1, 1}, {"v.x", -1, 1}, {"v.y", -1, 1},
                                {"T", 0.8, 1.2}, {"z", -1, 1}, {"v.z", -1, 1}};
    static const char plate[] =
        "system \"a plate on an anisotropic floor\"\n"
        "coordinate x, y\n"
        "temperature T\n"
        "thermal lagrangian G = (v.x^2 + v.y^2)/2 - (x^2 + 2*y^2)/2 + T*(log(T) - 1)\n"
        "friction F on T: x <- -(0.5 + 0.2*x^2)*v.x - 0.2*v.y, y <- -0.2*v.x - 0.3*v.y\n"
        "start x = 0.5, y = -0.3, v.x = 0.2, v.y = 0.4, T = 1\n";
    static const char turning[] =
        "system \"a plate on a floor that turns\"\n"
        "coordinate x, y\n"
        "temperature T\n"
        "thermal lagrangian G = (v.x^2 + v.y^2)/2 - (x^2 + 2*y^2)/2 + T*(log(T) - 1)\n"
        "friction F on T: x <- -(0.5 + 0.3*x)*v.x - 0.3*y*v.y, y <- -0.3*y*v.x - (0.5 - "
        "0.3*x)*v.y\n"
        "start x = 0.5, y = -0.3, v.x = 0.2, v.y = 0.4, T = 1\n";
    static const char liquid[] =
        "system \"a body in an anisotropic liquid\"\n"
        "coordinate x, y, z\n"
        "temperature T\n"
        "thermal lagrangian G = (v.x^2 + v.y^2 + v.z^2)/2 - (x^2 + 2*y^2 + z^2)/2\n"
        "    + T*(log(T) - 1)\n"
        "friction F on T: x <- -(0.6 + 0.2*x^2)*v.x - 0.2*v.y,\n"
        "    y <- -0.2*v.x - 0.4*v.y - 0.1*v.z, z <- -0.1*v.y - 0.3*v.z\n"
        "start x = 0.5, y = -0.3, z = 0.1, v.x = 0.2, v.y = 0.4, v.z = -0.3, T = 1\n";
    static const char polynomial[] = "monomial(2, constant)", network[] = "network(12, 12)";
    friction_of(plate, 5, box, polynomial, 1e-4);
    friction_of(turning, 5, box, polynomial, 1e-4);
    friction_of(liquid, 7, box, polynomial, 1e-4);
    friction_of(plate, 5, box, network, 1e-3);
    friction_of(turning, 5, box, network, 1e-3);
    friction_of(liquid, 7, box, network, 1e-3);
}

/* ---- noise ---- */

/* A copy of the data with 0.1 % noise on v and both T. */
static cls_table *with_noise(const shared *all) {
    static const char *const names[] = {"trajectory", "time", "x", "v.x", "T1", "T2"};
    cls_error error;
    cls_table *t;
    cls_random random;
    const double *column[6];
    double sum = 0, row[6];
    size_t n = cls_table_rows(all->data);
    cls_random_seed(&random, 31);
    for (size_t c = 0; c < 6; c++) {
        int at = cls_table_find(all->data, names[c]);
        if (at < 0 && c == 1) at = cls_table_find(all->data, "t");
        assert_true(at >= 0);
        column[c] = cls_table_column(all->data, (size_t)at);
    }
    for (size_t i = 0; i < n; i++) sum += column[3][i] * column[3][i] / (double)n;
    assert_int_equal(cls_table_create(6, names, &t, &error), CLS_OK);
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < 6; c++) row[c] = column[c][i];
        row[3] += 1e-3 * sqrt(sum) * cls_random_normal(&random);
        row[4] *= 1 + 1e-3 * cls_random_normal(&random);
        row[5] *= 1 + 1e-3 * cls_random_normal(&random);
        assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
    }
    return t;
}

static void noisy_data(void **state) {
    const shared *all = *state;
    static const struct {
        const char *title, *parts[3];
        size_t n;
    } cases[] = {{"a", {"G"}, 1}, {"b", {"F1", "F2"}, 2}, {"c", {"G", "F1", "F2"}, 3}};
    cls_table *t = with_noise(all);
    for (int i = 0; i < 3; i++) {
        cls_error error;
        cls_learn_info info;
        double start[4], sum = 0;
        size_t k = 0;
        cls_model *m = learn_parts(all->piston, t, cases[i].n, cases[i].parts,
                                   "chebyshev(4, constant)", &info);
        assert_int_equal(cls_system_start(all->piston, NULL, start, &error), CLS_OK);
        cls_simulator *sim = begin(cls_model_system(m), NULL, 0.01, start);
        for (; k < 2000 && cls_simulator_advance(sim, 1, &error) == CLS_OK; k++)
            for (size_t j = 0; j < 4; j++)
                sum += fabs(cls_simulator_state(sim)[j] - all->truth[4 * k + j]);
        assert_laws(sim, 1e-11);
        print_message("0.1 %% noise, case %s: mean error %.2e over %zu steps%s%s\n", cases[i].title,
                      sum / (4 * (double)(k ? k : 1)), k, k < 2000 ? "; then: " : "",
                      k < 2000 ? error.message : "");
        cls_simulator_free(&sim);
        cls_model_free(&m);
    }
    cls_table_free(&t);
}

static int count_iterations(void *context, const cls_learn_progress *p) {
    *(size_t *)context += strcmp(p->phase, "iterate") == 0;
    return 0;
}

/* Four layers of 512 are more formulas than a graph holds: said before the training, not after. */
static void too_wide_is_said_before_training(void **state) {
    const shared *all = *state;
    const cls_table *data = all->data;
    const char *name = "piston", *part = "G";
    cls_model *m;
    cls_learn_info info;
    cls_error error;
    size_t iterations = 0;
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = 1;
    o.unknown = &part;
    o.field = "network(512, 512, 512, 512)";
    o.max_windows = 100;
    o.progress = count_iterations;
    o.context = &iterations;
    assert_int_not_equal(cls_learn(all->piston, NULL, 1, &data, &name, &o, &m, &info, &error),
                         CLS_OK);
    assert_null(m);
    assert_non_null(strstr(error.message, "a model with 791040 parameters cannot be built"));
    assert_non_null(strstr(error.message, "take smaller fields"));
    assert_int_equal(iterations, 0);
}

int main(void) {
    if (!getenv("CLAUSIUS_LONG")) {
        puts("skipped: CLAUSIUS_LONG is not set (make check-long sets it)");
        return 0;
    }
    cmocka_set_test_filter(getenv("CLAUSIUS_TEST")); /* one of them, by name */
    const struct CMUnitTest tests[] = {cmocka_unit_test(case_a),
                                       cmocka_unit_test(case_b),
                                       cmocka_unit_test(one_friction),
                                       cmocka_unit_test(case_c),
                                       cmocka_unit_test(by_networks),
                                       cmocka_unit_test(untrained_parameters),
                                       cmocka_unit_test(friction_in_several_dimensions),
                                       cmocka_unit_test(noisy_data),
                                       cmocka_unit_test(too_wide_is_said_before_training)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
