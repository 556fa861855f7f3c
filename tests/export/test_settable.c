/* What may change where a model lands: parameters, starts by what is known, and the slopes of a
 * step. Parameters agree with `--set` to round-off and keep both laws; at the values of the export
 * the bits are the library's (test_bits.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/export/exported.h"
#include "tests/sanitized.h"

#define FAST "gcc -std=c99 -O0"

typedef struct settable {
    int (*set)(void *m, int k, double value);
    double (*get)(const void *m, int k);
    int (*start_at)(void *m, double time, int n, const int *columns, const double *values);
    int (*step_slope)(const void *m, double *slope);
    const char *const *names;
} settable;

static void take_settable(const exported *x, settable *s) {
    static const char *const names[] = {"ex_set_parameter", "ex_parameter", "ex_start_at",
                                        "ex_step_jacobian", "ex_parameters"};
    void *const places[] = {&s->set, &s->get, &s->start_at, &s->step_slope};
    for (int k = 0; k < 5; k++) {
        void *symbol = symbol_of(x, names[k]);
        if (k == 4)
            s->names = symbol; /* an array, not a function */
        else
            memcpy(places[k], &symbol, sizeof symbol);
    }
}

static cls_system *load(const char *name, size_t n, const char *const *names,
                        const double *values) {
    cls_system *s;
    cls_error error = {0};
    cls_assignments set = {n, names, values, NULL};
    if (cls_system_load(name, &set, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    return s;
}

static size_t column_of(const cls_system *s, const char *name) {
    for (size_t c = 0; c < cls_system_column_count(s); c++)
        if (!strcmp(cls_system_column(s, c), name)) return c;
    fail_msg("no column %s", name);
    return 0;
}

/* Formulas with symbols and with folded values are rounded differently, a few times each: after one
 * step that is this part of the largest value at most; then it goes on as the motion carries it. */
#define ONE_STEP 2e-14

/* Every parameter that may change, by 7 % each, all at once: 400 steps against the library. */
static void compare_with_set(const char *name, const char *scheme, size_t *counted) {
    cls_system *s = load(name, 0, NULL, NULL);
    const char *names[32];
    double values[32], row[256], got[256], size[256] = {0}, state[256];
    exported x;
    settable p;
    exported_open(&x, s, NULL, scheme, FAST);
    take_settable(&x, &p);
    int n = 0;
    for (; p.names[n][0]; n++) {
        names[n] = p.names[n];
        values[n] = p.get(x.motion, n) != 0 ? p.get(x.motion, n) * (1.07 - 0.01 * n) : 0.1;
        (void)p.set(x.motion, n, values[n]); /* the present state may not exist any more */
        assert_true(p.get(x.motion, n) == values[n]);
    }
    *counted += (size_t)n;
    cls_system_free(&s);
    s = load(name, (size_t)n, names, values);
    cls_simulator *sim;
    cls_error error = {0};
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_OK);
    if (cls_system_start(s, NULL, state, &error) != CLS_OK) fail_msg("%s", error.message);
    assert_int_equal(cls_simulator_start(sim, 0, state, &error), CLS_OK);
    if (p.start_at(x.motion, 0, 0, NULL, NULL) != 0) fail_msg("%s: no start", name);
    double h = cls_simulator_info(sim).h;
    for (int k = 0; k < 400; k++) {
        if (cls_simulator_advance(sim, 1, &error) != CLS_OK) fail_msg("%s", error.message);
        int status = x.step(x.motion, h);
        if (status) fail_msg("%s, step %d: %s", name, k, x.reason(status));
        assert_int_equal(cls_simulator_row(sim, row, &error), CLS_OK);
        x.row(x.motion, got);
        for (size_t c = 0; c < cls_system_column_count(s); c++) {
            size[c] = fmax(fmax(size[c], fabs(row[c])), 1e-2);
            if (!(fabs(got[c] - row[c]) <= (k ? 1e-11 : ONE_STEP) * size[c]))
                fail_msg("%s, step %d, %s: %.17g, not %.17g", name, k, cls_system_column(s, c),
                         got[c], row[c]);
        }
    }
    double energy = size[column_of(s, "energy")];
    if (!(fabs(x.energy_error(x.motion)) <= 1e-12 * energy))
        fail_msg("%s: the energy is off by %g", name, x.energy_error(x.motion));
    cls_simulator_free(&sim);
    exported_close(&x);
    cls_system_free(&s);
}

static void parameters(void **unused) {
    (void)unused;
    static const char *const names[] = {"adiabatic-piston",   "pendulum",   "motor",
                                        "thermal-oscillator", "rigid-body", "heat-reservoirs"};
    size_t counted = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k += THINNED(1, 3))
        compare_with_set(names[k], NULL, &counted);
    assert_true(counted >= THINNED(25, 8));
}

/* Without equations: weights are found anew for every value. */
static void parameters_of_explicit_steps(void **unused) {
    (void)unused;
    size_t counted = 0;
    compare_with_set("two-pistons", "lawful-rk4", &counted);
    compare_with_set("thermal-oscillator", "lawful-rk8", &counted);
    assert_true(counted >= 8);
}

/* Inputs that jump, a parameter that changes between, and steps of other lengths: held inputs of the library. */
static void inputs_of_explicit_steps(void **unused) {
    (void)unused;
    static const char text[] =
        "parameter m = 2, k = 3, c = 0.4\ninput F\ncoordinate x\nentropy s with temperature T\n"
        "reservoir air = 1.2\nhamiltonian p.x^2/(2*m) + k*x^2/2 + x^4 + 2*exp(s/2)\n"
        "friction on T: x <- -c*v.x*sqrt(1 + v.x^2)\nheat exchange T <-> air: 0.3\n"
        "external force: x <- F\nstart x = 0.4, v.x = 0, T = 1\nstep 0.05\nuntil 10\n";
    enum { JUMPS = 40, BETWEEN = 25 };
    double times[JUMPS], values[JUMPS], state[8], row[32], got[32];
    size_t columns;
    cls_system *s;
    cls_simulator *sim;
    exported x;
    int (*set_input)(void *, int, double);
    cls_error error = {0};
    cls_simulate_options o = cls_simulate_defaults();
    if (cls_system_parse(text, "pushed", NULL, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    o.scheme = "lawful-rk8";
    o.h = 1.0 / 16; /* times of jumps are exact */
    for (int k = 0; k < JUMPS; k++) {
        times[k] = k * BETWEEN * o.h;
        values[k] = 0.3 * sin(1.7 * k);
    }
    exported_open(&x, s, NULL, o.scheme, FAST);
    void *symbol = symbol_of(&x, "ex_set_input"); /* ISO C has no cast from object to function */
    memcpy(&set_input, &symbol, sizeof set_input);
    columns = cls_system_column_count(s);
    assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_OK);
    assert_int_equal(cls_simulator_inputs(sim, JUMPS, times, values, CLS_HOLD_ZERO, &error),
                     CLS_OK);
    assert_int_equal(cls_system_start(s, NULL, state, &error), CLS_OK);
    assert_int_equal(cls_simulator_start(sim, 0, state, &error), CLS_OK);
    for (int k = 0; k < JUMPS * BETWEEN; k++) {
        if (k % BETWEEN == 0) assert_int_equal(set_input(x.motion, 0, values[k / BETWEEN]), 0);
        assert_int_equal(cls_simulator_row(sim, row, &error), CLS_OK);
        x.row(x.motion, got);
        if (memcmp(row, got, columns * sizeof *row) != 0) fail_msg("step %d differs", k);
        if (cls_simulator_advance(sim, 1, &error) != CLS_OK) fail_msg("%s", error.message);
        assert_int_equal(x.step(x.motion, o.h), 0);
    }
    cls_simulator_free(&sim);
    exported_close(&x);
    cls_system_free(&s);
}

/* A step of which the slopes are not told says so. */
static void no_slopes_of_explicit_steps(void **unused) {
    (void)unused;
    cls_system *s = load("pendulum", 0, NULL, NULL);
    exported x;
    settable p;
    double slope[4];
    exported_open(&x, s, NULL, "lawful-rk4", FAST);
    take_settable(&x, &p);
    assert_int_equal(x.step(x.motion, 0.1), 0);
    assert_int_not_equal(p.step_slope(x.motion, slope), 0);
    exported_close(&x);
    cls_system_free(&s);
}

/* Many unknowns: with k = 0 the equations of a step have another pattern than with any other. */
static const char chain[] =
    "parameter k = 0, c = 0.1\n"
    "coordinate u[1..30]\n"
    "entropy s\n"
    "let u[0] = 0\nlet u[-1] = 0\n"
    "hamiltonian H = exp(s) + sum(i in 1..30: p.u[i]^2/2 + (u[i] - u[i-1])^2/2\n"
    "                             + k*(u[i] - u[i-2])^4)\n"
    "for i in 1..30: friction on s: u[i] <- -c*v.u[i]\n"
    "for i in 1..30: start u[i] = sin(pi*i/31), v.u[i] = 0\n"
    "start s = 0\nstep 0.05\nuntil 5\n";

static void patterns(void **unused) {
    (void)unused;
    char path[] = "/tmp/clausius-chain-XXXXXX";
    size_t counted = 0;
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, chain, sizeof chain - 1) == sizeof chain - 1);
    close(file);
    compare_with_set(path, NULL, &counted);
    unlink(path);
    assert_int_equal(counted, 2);
}

/* Back at the values of the export the bits are back; nonsense is refused. */
static void there_and_back(void **unused) {
    (void)unused;
    cls_system *s = load("adiabatic-piston", 0, NULL, NULL);
    exported x;
    settable p;
    exported_open(&x, s, NULL, NULL, FAST);
    take_settable(&x, &p);
    double m = p.get(x.motion, 0);
    assert_string_equal(p.names[0], "m");
    assert_int_equal(p.set(x.motion, 0, 2 * m), 0);
    assert_int_equal(x.step(x.motion, 0.01), 0);
    assert_int_not_equal(p.set(x.motion, 0, NAN), 0);
    assert_int_not_equal(p.set(x.motion, 99, 1), 0);
    assert_int_not_equal(p.set(x.motion, -1, 1), 0);
    assert_true(p.get(x.motion, 0) == 2 * m);
    assert_int_equal(p.set(x.motion, 0, m), 0);
    double state[8];
    assert_int_equal(cls_system_start(s, NULL, state, NULL), CLS_OK);
    assert_int_equal(x.start(x.motion, 0, state), 0);
    assert_int_equal(exported_compare(&x, s, NULL, 300, 1), 300);
    exported_close(&x);
    cls_system_free(&s);
}

/* A bound, a learned part, none: what cannot change is not offered. */
static void what_stays(void **unused) {
    (void)unused;
    cls_system *s = load("adiabatic-piston", 0, NULL, NULL);
    exported x;
    settable p;
    exported_open(&x, s, NULL, NULL, FAST);
    take_settable(&x, &p);
    for (int k = 0; p.names[k][0]; k++) assert_string_not_equal(p.names[k], "L"); /* x in (-L, L) */
    exported_close(&x);
    cls_export_options o = cls_export_defaults();
    cls_error error = {0};
    o.parameters = "m, L";
    assert_int_equal(cls_export("c", s, NULL, &o, "/tmp/clausius-never", NULL, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "L cannot change"));
    assert_int_not_equal(access("/tmp/clausius-never", F_OK), 0);
    cls_system_free(&s);
}

/* Momenta and entropies, or temperatures, as the library takes them. */
static void starts(void **unused) {
    (void)unused;
    static const struct {
        const char *system, *names[3];
        double values[3];
    } cases[] = {{"adiabatic-piston", {"x", "p.x", "S2"}, {0.4, 0.7, 0.9}},
                 {"ideal-gas-piston", {"x", "v.x", "T"}, {1.2, 0.3, 1.7}},
                 {"pendulum", {"q", "v.q", NULL}, {0.5, 1.5, 0}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        cls_system *s = load(cases[c].system, 0, NULL, NULL);
        exported x;
        settable p;
        int columns[3], n = 0;
        double state[16], row[32], got[32];
        exported_open(&x, s, NULL, NULL, FAST);
        take_settable(&x, &p);
        for (; n < 3 && cases[c].names[n]; n++) columns[n] = (int)column_of(s, cases[c].names[n]);
        cls_assignments given = {(size_t)n, cases[c].names, cases[c].values, NULL};
        cls_error error = {0};
        if (cls_system_start(s, &given, state, &error) != CLS_OK) fail_msg("%s", error.message);
        assert_int_equal(cls_system_row(s, 2, state, row, &error), CLS_OK);
        assert_int_equal(p.start_at(x.motion, 2, n, columns, cases[c].values), 0);
        x.row(x.motion, got);
        for (size_t k = 0; k < cls_system_column_count(s); k++)
            if (!(fabs(got[k] - row[k]) <= 1e-11 * (1e-3 + fabs(row[k]))))
                fail_msg("%s: %s is %.17g, not %.17g", cases[c].system, cls_system_column(s, k),
                         got[k], row[k]);
        columns[1] = columns[0]; /* given twice */
        assert_int_not_equal(p.start_at(x.motion, 0, 2, columns, cases[c].values), 0);
        columns[0] = (int)column_of(s, "energy"); /* no energy gives a state */
        assert_int_not_equal(p.start_at(x.motion, 0, 1, columns, cases[c].values), 0);
        x.row(x.motion, row); /* and the motion is where it was */
        assert_memory_equal(row, got, cls_system_column_count(s) * sizeof *row);
        exported_close(&x);
        cls_system_free(&s);
    }
}

/* The slopes of a step against central differences of the step itself. */
static void slopes(void **unused) {
    (void)unused;
    /* the last has sparse equations */
    static const char *const names[] = {"adiabatic-piston", "pendulum", "ideal-gas-piston", "fput"};
    for (size_t c = 0; c < THINNED(4, 3); c++) {
        cls_system *s = load(names[c], 0, NULL, NULL);
        exported x;
        settable p;
        double z[64], slope[64 * 64], up[256], down[256], here[256];
        exported_open(&x, s, NULL, NULL, FAST);
        take_settable(&x, &p);
        double h = cls_system_default_step(s);
        size_t n = cls_system_state_count(s);
        assert_true(n <= 64 && cls_system_column_count(s) <= 256);
        assert_int_not_equal(p.step_slope(x.motion, slope), 0); /* there was no step yet */
        for (int k = 0; k < 20; k++) assert_int_equal(x.step(x.motion, h), 0);
        x.row(x.motion, here);
        memcpy(z, here + 1, n * sizeof *z);
        assert_int_equal(x.start(x.motion, 0, z), 0);
        assert_int_equal(x.step(x.motion, h), 0);
        assert_int_equal(p.step_slope(x.motion, slope), 0);
        for (size_t j = 0; j < n; j++) {
            double d = 1e-5 * (1e-2 + fabs(here[1 + j]));
            for (int side = -1; side <= 1; side += 2) {
                z[j] = here[1 + j] + side * d;
                assert_int_equal(x.start(x.motion, 0, z), 0);
                assert_int_equal(x.step(x.motion, h), 0);
                x.row(x.motion, side > 0 ? up : down);
            }
            z[j] = here[1 + j];
            for (size_t i = 0; i < n; i++) {
                double by = (up[1 + i] - down[1 + i]) / (2 * d), size = fabs(here[1 + i]) + 1e-2;
                if (!(fabs(slope[i * n + j] - by) <=
                      1e-7 * (fabs(by) + size / (fabs(here[1 + j]) + 1e-2))))
                    fail_msg("%s: d%zu/d%zu is %g, not %g", names[c], i, j, slope[i * n + j], by);
            }
        }
        exported_close(&x);
        cls_system_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters),
        cmocka_unit_test(patterns),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(what_stays),
        cmocka_unit_test(starts),
        cmocka_unit_test(slopes),
        cmocka_unit_test(parameters_of_explicit_steps),
        cmocka_unit_test(inputs_of_explicit_steps),
        cmocka_unit_test(no_slopes_of_explicit_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
