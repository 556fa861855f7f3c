/* For tests of learned frictions: they dissipate wherever one looks, and are near the true ones. */
#ifndef TESTS_DISSIPATIVE_H
#define TESTS_DISSIPATIVE_H

#include "model/model.h"
#include <clausius/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Inputs and forces (n, states) of the system's friction: q, v, T by rows of `states`. */
static inline void friction_at(const cls_system *s, size_t states, const double *in, double *out) {
    cls_error error;
    size_t n = s->n;
    cls_node inputs[16];
    cls_program *program;
    memcpy(inputs, s->q, n * sizeof *inputs);
    memcpy(inputs + n, s->v, n * sizeof *inputs);
    memcpy(inputs + 2 * n, s->T, s->m * sizeof *inputs);
    cls_node force[8];
    for (size_t j = 0; j < n; j++) force[j] = clsi_sparse_at(s->g, &s->bound.friction, 0, j);
    if (cls_program_create(s->g, 2 * n + s->m, inputs, n, force, &program, &error))
        fail_msg("%s", error.message);
    assert_int_equal(cls_program_run_many(program, states, states, in, out), CLS_OK);
    cls_program_free(&program);
}

/* Root mean square of F - F_true over the box that starts are drawn from in the tests: positions
 * and velocities in (-1, 1), temperatures in (0.8, 1.2). */
static inline double friction_error(const cls_system *truth, const cls_model *m) {
    enum { STATES = 4000 };
    size_t n = truth->n, nz = 2 * n + truth->m;
    cls_random random;
    double *in = calloc(nz * STATES, sizeof *in), *out = calloc(2 * n * STATES, sizeof *out);
    double sum = 0;
    cls_random_seed(&random, 99);
    for (size_t i = 0; i < 2 * n * STATES; i++) in[i] = 2 * cls_random_uniform(&random) - 1;
    for (size_t i = 2 * n * STATES; i < nz * STATES; i++)
        in[i] = 0.8 + 0.4 * cls_random_uniform(&random);
    friction_at(truth, STATES, in, out);
    friction_at(cls_model_system(m), STATES, in, out + n * STATES);
    for (size_t i = 0; i < n * STATES; i++)
        sum += (out[i] - out[n * STATES + i]) * (out[i] - out[n * STATES + i]);
    free(in);
    free(out);
    return sqrt(sum / (double)(n * STATES));
}

/* F.v at `states` states far outside the data: never positive beyond the round-off of its own
 * terms. (The sums inside F are larger than F where they cancel: of 10,000 states of a random
 * network in three dimensions one shows 1.1e-13.) */
static inline void assert_dissipative(const cls_model *m, size_t states) {
    const cls_system *s = cls_model_system(m);
    size_t n = s->n, nz = 2 * n + s->m;
    cls_random random;
    cls_random_seed(&random, 23);
    double *in = calloc(nz * states, sizeof *in), *out = calloc(n * states, sizeof *out);
    for (size_t i = 0; i < 2 * n * states; i++) in[i] = 20 * cls_random_uniform(&random) - 10;
    for (size_t i = 0; i < s->m * states; i++)
        in[2 * n * states + i] = pow(10, 4 * cls_random_uniform(&random) - 2);
    friction_at(s, states, in, out);
    for (size_t k = 0; k < states; k++) {
        double power = 0, size = 0;
        for (size_t j = 0; j < n; j++) {
            double term = out[j * states + k] * in[(n + j) * states + k];
            assert_true(isfinite(term));
            power += term;
            size += fabs(term);
        }
        if (!(power <= 1e-13 * size))
            fail_msg("friction drives at state %zu: %g of %g", k, power, size);
    }
    free(in);
    free(out);
}

#endif
