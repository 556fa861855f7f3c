/* Single runs of a system from its own start, as tables, for tests of components. */
#ifndef TESTS_LEARN_ONE_RUN_H
#define TESTS_LEARN_ONE_RUN_H

#include "tests/learn/made_data.h"

/* One trajectory from the system's own start. */
static cls_table *one_run(const cls_system *s, const char *scheme, uint64_t steps, double h) {
    cls_error error;
    cls_table *t;
    cls_simulator *sim;
    const char *names[64];
    double row[64], state[64];
    size_t columns = cls_system_column_count(s);
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    o.h = h;
    for (size_t i = 0; i < columns; i++) names[i] = cls_system_column(s, i);
    if (cls_table_create(columns, names, &t, &error) || cls_system_start(s, NULL, state, &error) ||
        cls_simulator_create(s, &o, &sim, &error) || cls_simulator_start(sim, 0, state, &error))
        fail_msg("%s", error.message);
    for (uint64_t k = 0; k <= steps; k++) {
        if ((k && cls_simulator_advance(sim, 1, &error)) || cls_simulator_row(sim, row, &error) ||
            cls_table_append(t, row, &error))
            fail_msg("%s", error.message);
    }
    cls_simulator_free(&sim);
    return t;
}

/* Largest distance of the states of two systems on equal schemes. */
static inline double distance(const cls_system *a, const cls_system *b, uint64_t steps) {
    cls_table *x = one_run(a, "implicit-midpoint", steps, 0.1);
    cls_table *y = one_run(b, "implicit-midpoint", steps, 0.1);
    double most = 0;
    for (size_t c = 1; c <= cls_system_state_count(a); c++)
        for (size_t k = 0; k < cls_table_rows(x); k++)
            most = fmax(most, fabs(cls_table_column(x, c)[k] - cls_table_column(y, c)[k]));
    cls_table_free(&x);
    cls_table_free(&y);
    return most;
}

#endif
