/* Data made in the test, and rollouts of what was learned from them. For test_*.c only. */
#ifndef TESTS_MADE_DATA_H
#define TESTS_MADE_DATA_H

#include "learn/learn.h"
#include <clausius/random.h>
#include <clausius/simulate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct range {
    const char *name;
    double low, high;
} range;

static const range piston_box[] = {{"x", -1, 1}, {"p.x", -1, 1}, {"S1", 0, 1}, {"S2", 0, 1}};

static inline cls_system *load_system(const char *name) {
    cls_error error;
    cls_system *s;
    if (cls_system_load(name, NULL, &s, &error)) fail_msg("%s", error.message);
    return s;
}

/* n starts drawn uniformly, (n, states). */
static inline double *draw_starts(const cls_system *s, size_t n_ranges, const range *ranges,
                                  size_t n, cls_random *random) {
    cls_error error;
    size_t nz = cls_system_state_count(s);
    double *starts = calloc(n * nz, sizeof *starts), values[16];
    const char *given[16];
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n_ranges; k++) {
            given[k] = ranges[k].name;
            values[k] =
                ranges[k].low + (ranges[k].high - ranges[k].low) * cls_random_uniform(random);
        }
        cls_assignments set = {n_ranges, given, values};
        if (cls_system_start(s, &set, starts + i * nz, &error)) fail_msg("%s", error.message);
    }
    return starts;
}

/* n trajectories of `steps` steps of h from such starts. */
static inline cls_table *make_table(const cls_system *s, const char *scheme, size_t n_ranges,
                                    const range *ranges, size_t n, uint64_t steps, double h,
                                    uint64_t seed) {
    cls_error error;
    size_t columns = cls_system_column_count(s);
    const char *names[64] = {"trajectory"};
    double *rows = calloc(n * (steps + 1) * columns, sizeof *rows), row[64];
    cls_random random;
    cls_random_seed(&random, seed);
    double *starts = draw_starts(s, n_ranges, ranges, n, &random);
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    o.h = h;
    if (cls_ensemble_run(s, &o, n, starts, steps, 1, 0, rows, &error))
        fail_msg("%s", error.message);
    for (size_t c = 0; c < columns; c++) names[c + 1] = cls_system_column(s, c);
    cls_table *t;
    assert_int_equal(cls_table_create(columns + 1, names, &t, &error), CLS_OK);
    for (size_t i = 0; i < n * (steps + 1); i++) {
        row[0] = (double)(i / (steps + 1));
        memcpy(row + 1, rows + i * columns, columns * sizeof *row);
        assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
    }
    free(starts);
    free(rows);
    return t;
}

/* The same by CVODE, as good as exact. */
static inline cls_table *make_data(const cls_system *s, size_t n_ranges, const range *ranges,
                                   size_t n, uint64_t steps, double h, uint64_t seed) {
    return make_table(s, "bdf", n_ranges, ranges, n, steps, h, seed);
}

/* Mean error of a rollout of the model against the true system from its own start; the laws are
 * asserted on the way. */
static inline double rollout(const cls_system *truth, const cls_model *m, double h,
                             uint64_t steps) {
    cls_error error;
    cls_simulator *a, *b;
    double start[16], sum = 0;
    size_t nz = cls_system_state_count(truth);
    cls_simulate_options o = cls_simulate_defaults();
    o.h = h;
    if (cls_system_start(truth, NULL, start, &error)) fail_msg("%s", error.message);
    if (cls_simulator_create(cls_model_system(m), &o, &b, &error)) fail_msg("%s", error.message);
    o.scheme = "bdf";
    if (cls_simulator_create(truth, &o, &a, &error)) fail_msg("%s", error.message);
    if (cls_simulator_start(a, 0, start, &error)) fail_msg("%s", error.message);
    if (cls_simulator_start(b, 0, start, &error)) fail_msg("%s", error.message);
    for (uint64_t k = 0; k < steps; k++) {
        if (cls_simulator_advance(a, 1, &error)) fail_msg("%s", error.message);
        if (cls_simulator_advance(b, 1, &error)) fail_msg("%s", error.message);
        for (size_t i = 0; i < nz; i++)
            sum += fabs(cls_simulator_state(a)[i] - cls_simulator_state(b)[i]);
    }
    cls_simulate_info info = cls_simulator_info(b);
    assert_true(info.energy_relative < 1e-12);
    assert_int_equal(info.entropy_falls, 0);
    cls_simulator_free(&a);
    cls_simulator_free(&b);
    return sum / (double)(nz * steps);
}

/* The parts learned from the table with the defaults and this field. */
static inline cls_model *learn(const cls_system *s, const cls_table *t, const char *const *unknown,
                               size_t n, const char *field, cls_learn_info *info) {
    cls_error error;
    cls_model *m;
    const char *name = "made here";
    cls_learn_options o = cls_learn_defaults();
    o.unknown = unknown;
    o.n_unknown = n;
    o.field = field;
    if (cls_learn(s, NULL, 1, &t, &name, &o, &m, info, &error)) fail_msg("%s", error.message);
    return m;
}

#endif
