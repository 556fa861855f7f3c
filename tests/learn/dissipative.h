/* For tests of learned frictions: they dissipate wherever one looks. */
#ifndef TESTS_DISSIPATIVE_H
#define TESTS_DISSIPATIVE_H

#include "model/model.h"
#include <clausius/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* F.v at `states` states far outside the data: never positive beyond the round-off of its own
 * terms. (The sums inside F are larger than F where they cancel: of 10,000 states of a random
 * network in three dimensions one shows 1.1e-13.) */
static void assert_dissipative(const cls_model *m, size_t states) {
    const cls_system *s = cls_model_system(m);
    cls_error error;
    size_t n = s->n, nz = 2 * n + s->m;
    cls_node inputs[16];
    cls_program *program;
    cls_random random;
    cls_random_seed(&random, 23);
    memcpy(inputs, s->q, n * sizeof *inputs);
    memcpy(inputs + n, s->v, n * sizeof *inputs);
    memcpy(inputs + 2 * n, s->T, s->m * sizeof *inputs);
    if (cls_program_create(s->g, nz, inputs, n, s->bound.friction, &program, &error))
        fail_msg("%s", error.message);
    double *in = calloc(nz * states, sizeof *in), *out = calloc(n * states, sizeof *out);
    for (size_t i = 0; i < 2 * n * states; i++) in[i] = 20 * cls_random_uniform(&random) - 10;
    for (size_t i = 0; i < s->m * states; i++)
        in[2 * n * states + i] = pow(10, 4 * cls_random_uniform(&random) - 2);
    assert_int_equal(cls_program_run_many(program, states, states, in, out), CLS_OK);
    for (size_t k = 0; k < states; k++) {
        double power = 0, size = 0;
        for (size_t j = 0; j < n; j++) {
            double term = out[j * states + k] * in[(n + j) * states + k];
            assert_true(isfinite(term));
            power += term;
            size += fabs(term);
        }
        if (power > 1e-13 * size)
            fail_msg("friction drives at state %zu: %g of %g", k, power, size);
    }
    free(in);
    free(out);
    cls_program_free(&program);
}

#endif
