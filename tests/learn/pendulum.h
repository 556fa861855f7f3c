/* The double pendulum of docs/physics/metriplectic.md, written by hand: data for the tests of qp
 * that share nothing with the library but the integrator. */
#ifndef TESTS_PENDULUM_H
#define TESTS_PENDULUM_H

#include <clausius/random.h>
#include <clausius/simulate.h>
#include <clausius/table.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PENDULUM_DT = 0.31415926535897931;
static const char *const pendulum_names[] = {
    "time",  "q1x",     "q1y",     "q2x",     "q2y",     "p.q1x", "p.q1y", "p.q2x",
    "p.q2y", "s_a",     "s_b",     "theta_a", "theta_b", "d.q1x", "d.q1y", "d.q2x",
    "d.q2y", "d.p.q1x", "d.p.q1y", "d.p.q2x", "d.p.q2y", "d.s_a", "d.s_b"};
enum { PENDULUM_COLUMNS = sizeof pendulum_names / sizeof *pendulum_names };

/* Table 1: m = H = 1, lambda_ref = 0.1, theta_ref = 320, c = 10, k = 1/2. */
static inline void pendulum_rates(const double *z, double *theta, double *rate) {
    double la = hypot(z[0], z[1]), rx = z[2] - z[0], ry = z[3] - z[1], lb = hypot(rx, ry);
    double a = 1 - 0.1 / la, b = 1 - 0.1 / lb;
    memcpy(rate, z + 4, 4 * sizeof *rate);
    rate[4] = -a * z[0] + b * rx;
    rate[5] = -a * z[1] + b * ry;
    rate[6] = -b * rx;
    rate[7] = -b * ry;
    theta[0] = 320 * exp(z[8] / 10);
    theta[1] = 320 * exp(z[9] / 10);
    rate[8] = 0.5 * (theta[1] - theta[0]) / theta[0];
    rate[9] = 0.5 * (theta[0] - theta[1]) / theta[1];
}

/* `rows` states dt apart from a start (q, p, S), by CVODE. */
static inline cls_table *pendulum_path(const cls_system *s, const double *start, size_t rows,
                                       double dt) {
    cls_simulator *sim;
    cls_table *t;
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = "bdf";
    o.h = dt;
    assert_int_equal(cls_simulator_create(s, &o, &sim, NULL), CLS_OK);
    assert_int_equal(cls_simulator_start(sim, 0, start, NULL), CLS_OK);
    assert_int_equal(cls_table_create(11, pendulum_names, &t, NULL), CLS_OK);
    for (size_t i = 0; i < rows; i++) {
        double row[11] = {dt * (double)i};
        if (i) assert_int_equal(cls_simulator_advance(sim, 1, NULL), CLS_OK);
        memcpy(row + 1, cls_simulator_state(sim), 10 * sizeof *row);
        assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
    }
    cls_simulator_free(&sim);
    return t;
}

/* The first rows of a path as data: the first `columns` columns of the names above, with noise
 * relative to the spread of each state and temperature. */
static inline cls_table *pendulum_data(const cls_table *path, size_t rows, double noise,
                                       uint64_t seed, size_t columns) {
    cls_table *t;
    cls_random random;
    double *all = malloc(rows * PENDULUM_COLUMNS * sizeof *all), spread[12] = {0};
    for (size_t i = 0; i < rows; i++) {
        double *row = all + i * PENDULUM_COLUMNS;
        for (size_t k = 0; k < 11; k++) row[k] = cls_table_column(path, k)[i];
        pendulum_rates(row + 1, row + 11, row + 13);
    }
    for (size_t k = 0; k < 12; k++) {
        double mean = 0;
        for (size_t i = 0; i < rows; i++) mean += all[i * PENDULUM_COLUMNS + 1 + k] / (double)rows;
        for (size_t i = 0; i < rows; i++)
            spread[k] += pow(all[i * PENDULUM_COLUMNS + 1 + k] - mean, 2) / (double)rows;
    }
    cls_random_seed(&random, seed);
    assert_int_equal(cls_table_create(columns, pendulum_names, &t, NULL), CLS_OK);
    for (size_t i = 0; i < rows; i++) {
        double *row = all + i * PENDULUM_COLUMNS;
        for (size_t k = 1; k < 13 && k < columns && noise > 0; k++)
            row[k] += noise * sqrt(spread[k - 1]) * cls_random_normal(&random);
        assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
    }
    free(all);
    return t;
}

#endif
