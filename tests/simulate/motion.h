/* Shared by the tests of simulate: load, start, run; failing loudly. */
#ifndef TESTS_MOTION_H
#define TESTS_MOTION_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <clausius/simulate.h>
#include <clausius/system.h>
#include <math.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#define MANY(n) ((n) / 20) /* the sanitizer build looks for other things than drift */
#else
#define MANY(n) (n)
#endif

/* Hard places, for every scheme that must survive them. */
#define WALL_OF_GAS                                                                                \
    "coordinate x in (0, 3)\nentropy S\nlagrangian v.x^2/2 - exp(S)/x - 5*x\n"                     \
    "friction on S: x <- -0.1*v.x\nstart x = 2, v.x = 0, S = -3\n"
#define OUT_OF_THE_WORLD "coordinate x in (-1, 1)\nhamiltonian p.x^2/2 - x\nstart x = 0, p.x = 0\n"
#define FALLS_FOREVER    "coordinate q\nhamiltonian p.q^2/2 - q^4\nstart q = 1, p.q = 1\n"

static inline cls_system *load(const char *name) {
    cls_error error;
    cls_system *s;
    if (cls_system_load(name, NULL, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    return s;
}

static inline cls_system *load_set(const char *name, const char *parameter, double value) {
    cls_error error;
    cls_system *s;
    cls_assignments set = {1, &parameter, &value};
    if (cls_system_load(name, &set, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    return s;
}

static inline cls_system *parse(const char *text) {
    cls_error error;
    cls_system *s;
    if (cls_system_parse(text, "test", NULL, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    return s;
}

/* A simulator at the system's own start. */
static inline cls_simulator *begin(const cls_system *s, const char *scheme, double h) {
    cls_error error;
    cls_simulator *sim;
    static double state[32768];
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    o.h = h;
    if (cls_system_start(s, NULL, state, &error) != CLS_OK) fail_msg("%s", error.message);
    if (cls_simulator_create(s, &o, &sim, &error) != CLS_OK) fail_msg("%s", error.message);
    if (cls_simulator_start(sim, 0, state, &error) != CLS_OK) fail_msg("%s", error.message);
    return sim;
}

static inline void advance(cls_simulator *sim, uint64_t n) {
    cls_error error;
    if (cls_simulator_advance(sim, n, &error) != CLS_OK) fail_msg("%s", error.message);
}

/* The state after the time `until`. */
static inline void run(const cls_system *s, const char *scheme, double h, double until,
                       double *state) {
    cls_simulator *sim = begin(s, scheme, h);
    advance(sim, (uint64_t)(until / h + 0.5));
    memcpy(state, cls_simulator_state(sim), cls_system_state_count(s) * sizeof(double));
    cls_simulator_free(&sim);
}

static inline double distance(const cls_system *s, const double *a, const double *b) {
    double largest = 0;
    for (size_t i = 0; i < cls_system_state_count(s); i++)
        largest = fmax(largest, fabs(a[i] - b[i]) / (1e-3 + fabs(b[i])));
    return largest;
}

/* Observed order at the time `until`, from h and h/2 against CVODE. */
static inline double order_of(const cls_system *s, const char *scheme, double h, double until) {
    double reference[64], coarse[64], fine[64];
    run(s, "bdf", until, until, reference);
    run(s, scheme, h, until, coarse);
    run(s, scheme, h / 2, until, fine);
    return log2(distance(s, coarse, reference) / distance(s, fine, reference));
}

#endif
