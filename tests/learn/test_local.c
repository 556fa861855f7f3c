/* Arrays with inputs, and noisy arrays: rows of the residual that know their neighbours in space, nothing is
 * simulated. A rod is heated at one end by a heater that is switched (held) and cools at the other end to the
 * weather (a line between rows); its conductivity is a function of the temperature that nobody knows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/base.h"
#include "learn/recording/neighbours.h"
#include "learn/noise/terms.h"
#include "tests/sanitized.h"
#include <clausius/learn.h>
#include <clausius/random.h>
#include <clausius/simulate.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 241, CELLS = 70 };

static const char rod[] =
    "parameter N = 70, dx = 0.1, a = %s, g = %s\ninput P, Tout\ntemperature T[1..N]\nreservoir Tr "
    "= Tout\n"
    "coefficient k(w) = %s\n"
    "thermal lagrangian sum(i in 1..N: dx*(T[i]*log(T[i]) - T[i]))\n"
    "for i in 1..N-1: heat exchange T[i] <-> T[i+1]: k((T[i] + T[i+1])/2)/dx\n"
    "heat exchange T[N] <-> Tr: g\nheat source heater on T[1]: P\n"
    "for i in 1..N: start T[i] = 1 + 0.3*cos(0.4*i)\nstep 0.05\n";

static double truth(double w) {
    return 0.02 * (1 + 0.5 * (w - 1) + 0.3 * (w - 1) * (w - 1));
}

static cls_system *parse(const char *k, const char *a, const char *g) {
    cls_error e;
    cls_system *s;
    clsi_text text = {0};
    clsi_text_printf(&text, rod, a, g, k);
    if (cls_system_parse(text.data, "rod", NULL, &s, &e)) fail_msg("%s", e.message);
    clsi_text_clear(&text);
    return s;
}

typedef struct made {
    double time[ROWS], input[2 * ROWS], T[CELLS][ROWS];
} made;

/* By a method that is not ours, with noise of this size. */
static made *make(double noise) {
    cls_error e;
    cls_system *s = parse("0.02*(1 + a*(w - 1) + 0.3*(w - 1)^2)", "0.5", "0.1");
    made *m = calloc(1, sizeof *m);
    cls_random random;
    cls_random_seed(&random, 11);
    for (size_t i = 0; i < ROWS; i++) {
        m->time[i] = 0.05 * (double)i;
        m->input[i] = 0.02 * (double)(i / 20 * 7 % 5); /* stands for twenty rows */
        m->input[ROWS + i] = 1 + 0.3 * sin(0.9 * m->time[i]) + 0.1 * sin(2.3 * m->time[i]);
    }
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = "bdf";
    o.h = 0.05;
    cls_simulator *sim;
    if (cls_simulator_create(s, &o, &sim, &e)) fail_msg("%s", e.message);
    if (cls_simulator_inputs_held(sim, ROWS, m->time, m->input, "P=zero, Tout=linear", &e))
        fail_msg("%s", e.message);
    double state[CELLS + 8];
    if (cls_system_start(s, NULL, state, &e)) fail_msg("%s", e.message);
    if (cls_simulator_start(sim, 0, state, &e)) fail_msg("%s", e.message);
    for (size_t i = 0; i < ROWS; i++) {
        if (i && cls_simulator_advance(sim, 1, &e)) fail_msg("%s", e.message);
        for (size_t k = 0; k < CELLS; k++) m->T[k][i] = cls_simulator_state(sim)[k];
    }
    for (size_t k = 0; k < CELLS && noise > 0; k++)
        for (size_t i = 0; i < ROWS; i++) m->T[k][i] += noise * cls_random_normal(&random);
    cls_simulator_free(&sim);
    cls_system_free(&s);
    return m;
}

static void learn(const made *m, cls_system *s, cls_learn_info *info, cls_model **model) {
    cls_error e;
    const char *names[CELLS + 3] = {"time", "P", "Tout"};
    const double *columns[CELLS + 3] = {m->time, m->input, m->input + ROWS};
    for (size_t k = 0; k < CELLS; k++) {
        names[3 + k] = cls_system_state_name(s, k);
        columns[3 + k] = m->T[k];
    }
    cls_table *t;
    if (cls_table_borrow(CELLS + 3, names, ROWS, columns, &t, &e)) fail_msg("%s", e.message);
    const cls_table *table = t;
    const char *file = "made here", *unknown[] = {s->n_unknown ? s->unknown[0] : NULL};
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = s->n_unknown;
    o.unknown = unknown;
    o.want_report = 1;
    if (cls_learn(s, NULL, 1, &table, &file, &o, model, info, &e)) fail_msg("%s", e.message);
    cls_table_free(&t);
    cls_system_free(&s);
    assert_non_null(info->report);
}

static cls_learned_function *learn_function(const made *m, cls_learn_info *info,
                                            cls_model **model) {
    learn(m, parse("unknown", "0.5", "0.1"), info, model);
    assert_int_equal(info->report->n_functions, 1);
    return &info->report->functions[0];
}

static void a_driven_rod_is_learned_without_simulating(void **unused) {
    (void)unused;
    made *m = make(0);
    cls_learn_info info;
    cls_model *model;
    cls_learned_function *k = learn_function(m, &info, &model);
    assert_string_equal(info.optimizer, "linear");
    assert_non_null(strstr(info.report->choice, "70 states"));
    for (size_t i = 0; i < k->n; i++)
        if (!(fabs(k->value[i] / truth(k->at[i]) - 1) <= 1e-6))
            fail_msg("k(%g) = %g +- %g, not %g", k->at[i], k->value[i], k->error[i],
                     truth(k->at[i]));
    cls_learn_report_free(&info.report);
    cls_model_free(&model);
    free(m);
}

/* Noise that is more than what cells change by from row to row: the terms of the truth, within the bias that
 * smoothing leaves (1 %). */
static void noise_leaves_few_terms(void **unused) {
    (void)unused;
    SKIP_IF_SANITIZED();
    made *m = make(0.003);
    cls_learn_info info;
    cls_model *model;
    cls_learned_function *k = learn_function(m, &info, &model);
    assert_non_null(strstr(info.report->choice, "smoothed by cubics"));
    assert_int_equal(info.parameters, 3); /* those of the truth */
    for (size_t i = 0; i < k->n; i++)
        if (!(fabs(k->value[i] / truth(k->at[i]) - 1) <= 0.02))
            fail_msg("k(%g) = %g +- %g, not %g", k->at[i], k->value[i], k->error[i],
                     truth(k->at[i]));
    cls_learn_report_free(&info.report);
    cls_model_free(&model);
    free(m);
}

static void bits_do_not_depend_on_threads(void **unused) {
    (void)unused;
    SKIP_IF_SANITIZED();
    made *m = make(0.003);
    double value[2][64];
    size_t n = 0;
    for (int threads = 1; threads <= 2; threads++) {
        cls_learn_info info;
        cls_model *model;
        omp_set_num_threads(threads);
        cls_learned_function *k = learn_function(m, &info, &model);
        n = k->n < 64 ? k->n : 64;
        memcpy(value[threads - 1], k->value, n * sizeof **value);
        cls_learn_report_free(&info.report);
        cls_model_free(&model);
    }
    assert_memory_equal(value[0], value[1], n * sizeof **value);
    free(m);
}

/* The same with a formula of which a number is unknown, and what the end loses. */
static void parameters_of_many_states_need_no_simulation(void **unused) {
    (void)unused;
    const double noise[] = {0, 0.003}, within[] = {1e-6, 0.05};
    for (size_t i = THINNED(0, 1); i < 2; i++) {
        made *m = make(noise[i]);
        cls_learn_info info;
        cls_model *model;
        learn(m, parse("0.02*(1 + a*(w - 1) + 0.3*(w - 1)^2)", "unknown", "unknown"), &info,
              &model);
        assert_non_null(strstr(info.report->choice, "70 states"));
        assert_int_equal(info.report->n_parameters, 2);
        const cls_learned_parameter *a = &info.report->parameters[0];
        for (size_t k = 0; k < 2; k++) {
            double right = strcmp(a[k].name, "a") == 0 ? 0.5 : 0.1;
            if (!(fabs(a[k].value / right - 1) <= within[i]) || !(a[k].error > 0))
                fail_msg("%s = %.12g +- %g, noise %g", a[k].name, a[k].value, a[k].error, noise[i]);
            if (i && !(fabs(a[k].value - right) <= 5 * a[k].error))
                fail_msg("%s = %.12g +- %g is no error", a[k].name, a[k].value, a[k].error);
        }
        cls_learn_report_free(&info.report);
        cls_model_free(&model);
        free(m);
    }
}

/* ---- cells between those that are measured ---- */

enum { FEW = 61, PIECES = 18 };

/* A cooling rod of which every fourth cell has a thermocouple; with a heater or without. */
static const char cooling[] =
    "parameter N = 18, dx = 0.05\n%s"
    "temperature T[1..N]\ncoefficient k(w) = %s\n"
    "thermal lagrangian sum(i in 1..N: dx*(T[i]*log(T[i]) - T[i]))\n"
    "for i in 1..N-1: heat exchange T[i] <-> T[i+1]: k((T[i] + T[i+1])/2)/dx\n"
    "for i in 1..N: start T[i] = 1 + 0.4*cos(pi*(i - 1/2)/N) + 0.2*cos(2*pi*(i - 1/2)/N)\n"
    "step 0.1\n";

static cls_system *parse_cooling(int heated, const char *k) {
    cls_error e;
    cls_system *s;
    clsi_text text = {0};
    clsi_text_printf(&text, cooling, heated ? "input P\nheat source heater on T[1]: P\n" : "", k);
    if (cls_system_parse(text.data, "rod", NULL, &s, &e)) fail_msg("%s", e.message);
    clsi_text_clear(&text);
    return s;
}

static cls_table *cool(int heated, double noise, double *room) {
    cls_error e;
    cls_system *s = parse_cooling(heated, "0.03*(1 + 0.5*(w - 1))");
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *sim;
    cls_random random;
    const char *names[PIECES + 2] = {"time"};
    const double *columns[PIECES + 2] = {room};
    double state[PIECES + 8], *heater = room + FEW, *at = room + 2 * FEW;
    size_t n = 1;
    cls_random_seed(&random, 5);
    o.scheme = "bdf";
    o.h = 0.1;
    for (size_t i = 0; i < FEW; i++) {
        room[i] = 0.1 * (double)i;
        heater[i] = i / 20 % 2 ? 0 : 0.05;
    }
    if (cls_simulator_create(s, &o, &sim, &e)) fail_msg("%s", e.message);
    if (heated && cls_simulator_inputs_held(sim, FEW, room, heater, "zero", &e))
        fail_msg("%s", e.message);
    if (cls_system_start(s, NULL, state, &e)) fail_msg("%s", e.message);
    if (cls_simulator_start(sim, 0, state, &e)) fail_msg("%s", e.message);
    for (size_t i = 0; i < FEW; i++) {
        if (i && cls_simulator_advance(sim, 1, &e)) fail_msg("%s", e.message);
        for (size_t k = 0; k < PIECES; k++)
            at[k * FEW + i] = cls_simulator_state(sim)[k] + noise * cls_random_normal(&random);
    }
    if (heated) names[n] = "P", columns[n++] = heater;
    for (size_t k = 1; k < PIECES; k += 4) {
        names[n] = cls_system_state_name(s, k);
        columns[n++] = at + k * FEW;
    }
    cls_table *t;
    if (cls_table_borrow(n, names, FEW, columns, &t, &e)) fail_msg("%s", e.message);
    cls_simulator_free(&sim);
    cls_system_free(&s);
    return t;
}

/* Thirteen of 18 states have no column: k(T) is found all the same, from clean rows and from noisy ones. */
static void thermocouples_tell_a_conductivity(void **unused) {
    (void)unused;
    SKIP_IF_SANITIZED();
    const struct {
        int heated;
        double noise, within;
    } cases[] = {{0, 0, 1e-3}, {1, 0, 1e-3}, {0, 0.002, 0.03}};
    double *room = calloc((PIECES + 2) * FEW, sizeof *room);
    for (size_t c = 0; c < 3; c++) {
        cls_error e;
        cls_learn_info info;
        cls_model *model;
        cls_table *t = cool(cases[c].heated, cases[c].noise, room);
        const cls_table *table = t;
        const char *file = "made here", *unknown[] = {"k"};
        cls_system *s = parse_cooling(cases[c].heated, "unknown");
        cls_learn_options o = cls_learn_defaults();
        o.n_unknown = 1;
        o.unknown = unknown;
        o.want_report = 1;
        if (cls_learn(s, NULL, 1, &table, &file, &o, &model, &info, &e)) fail_msg("%s", e.message);
        assert_non_null(info.report);
        assert_non_null(strstr(info.report->choice, "5 of 18 states are measured"));
        const cls_learned_function *k = &info.report->functions[0];
        for (size_t i = 0; i < k->n; i++) {
            double right = 0.03 * (1 + 0.5 * (k->at[i] - 1));
            if (!(fabs(k->value[i] / right - 1) <= cases[c].within))
                fail_msg("case %zu: k(%g) = %g +- %g, not %g", c, k->at[i], k->value[i],
                         k->error[i], right);
        }
        cls_learn_report_free(&info.report);
        cls_model_free(&model);
        cls_table_free(&t);
        cls_system_free(&s);
    }
    free(room);
}

/* The natural spline of a line, a parabola's middle; a plane in two indices; nothing where two are known. */
static int says(void *context, const char *name) {
    const char *const *list = context;
    for (; *list; list++)
        if (strcmp(*list, name) == 0) return 1;
    return 0;
}

static void neighbours_tell_what_lies_between(void **unused) {
    (void)unused;
    cls_error e;
    cls_system *s;
    if (cls_system_parse(
            "parameter N = 5\ntemperature T[1..N, 1..N]\nthermal lagrangian sum(i in 1..N: "
            "sum(j in 1..N: T[i,j]*log(T[i,j])))\n",
            "plate", NULL, &s, &e))
        fail_msg("%s", e.message);
    const char *said[] = {"T[1][1]", "T[5][1]", "T[2][5]", "T[4][4]", NULL};
    const double at[][2] = {{1, 1}, {5, 1}, {2, 5}, {4, 4}};
    unsigned char hidden[25];
    for (size_t k = 0; k < 25; k++)
        hidden[k] = (unsigned char)!says(said, cls_system_state_name(s, k));
    clsi_neighbours *b;
    if (clsi_neighbours_create(s, hidden, says, said, &b, &e)) fail_msg("%s", e.message);
    assert_non_null(b);
    assert_int_equal(b->n_filled, 21);
    clsi_known_value known[4], more[25];
    for (size_t k = 0; k < 4; k++)
        known[k] = (clsi_known_value){said[k], 1 + 0.3 * at[k][0] - 0.2 * at[k][1]};
    assert_int_equal(clsi_neighbours_fill(b, 4, known, more), 21);
    for (size_t k = 0; k < 21; k++) {
        int i, j;
        assert_int_equal(sscanf(more[k].name, "T[%d][%d]", &i, &j), 2);
        if (!(fabs(more[k].value - (1 + 0.3 * i - 0.2 * j)) <= 1e-12))
            fail_msg("%s is %g", more[k].name, more[k].value);
    }
    clsi_neighbours_free(&b);
    said[2] = NULL;
    if (clsi_neighbours_create(s, hidden, says, said, &b, &e)) fail_msg("%s", e.message);
    assert_null(b);
    cls_system_free(&s);
}

/* A part's number is that of its first place: beside a function in a thousand places the next one is the thousandth.
 * (Counts were kept in an array as long as the terms: the sanitizers see what was written behind it.) */
static void parts_of_many_places_are_counted(void **unused) {
    (void)unused;
    const double S[] = {10, 0, 0, 10}, g[] = {0, 0}, theta[] = {3, 1e-3}, price[] = {2, 2};
    const size_t part[] = {0, 1000};
    const unsigned char locked[] = {0, 0};
    clsi_terms_choice c = {
        .P = 2, .S = S, .g = g, .theta = theta, .part = part, .locked = locked, .price = price};
    unsigned char keep[] = {1, 1};
    double found[2];
    size_t moves;
    cls_error e;
    assert_int_equal(clsi_terms_choose(&c, keep, found, &moves, &e), CLS_OK);
    assert_true(keep[0] && keep[1]); /* the last one of each part stays, whatever it explains */
    if (!(fabs(found[0] - 3) <= 1e-12)) fail_msg("%g", found[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driven_rod_is_learned_without_simulating),
        cmocka_unit_test(noise_leaves_few_terms),
        cmocka_unit_test(parameters_of_many_states_need_no_simulation),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(neighbours_tell_what_lies_between),
        cmocka_unit_test(parts_of_many_places_are_counted),
        cmocka_unit_test(thermocouples_tell_a_conductivity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
