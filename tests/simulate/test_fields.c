/* Fields in space and other arrays: laws, invariants, orders in h and dx, by sparse steps. */
#include "tests/simulate/motion.h"
#include <stdio.h>
#include <stdlib.h>

static void laws_hold(const cls_system *s, uint64_t steps, double limit) {
    cls_simulator *sim = begin(s, NULL, cls_system_default_step(s));
    advance(sim, steps);
    cls_simulate_info info = cls_simulator_info(sim);
    if (!(info.energy_relative <= limit))
        fail_msg("%s: relative energy error %g", cls_system_name(s), info.energy_relative);
    if (info.entropy_falls)
        fail_msg("%s: %llu entropy falls, worst %g", cls_system_name(s),
                 (unsigned long long)info.entropy_falls, info.entropy_min_step);
    for (size_t i = 0; i < info.n_invariants; i++)
        if (!(info.invariants[i].max_error <= 1e-12 * (1 + fabs(info.invariants[i].initial))))
            fail_msg("%s: %s drifts by %g", cls_system_name(s), info.invariants[i].name,
                     info.invariants[i].max_error);
    cls_simulator_free(&sim);
}

static double apart(size_t n, const double *a, const double *b) {
    double largest = 0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(a[i] - b[i]));
    return largest;
}

static void every_field_keeps_its_laws(void **unused) {
    (void)unused;
    size_t fields = 0;
    for (size_t i = cls_builtin_count(); cls_builtin_name(i); i++, fields++) {
        cls_system *s = load(cls_builtin_name(i));
        assert_string_equal(cls_system_title(s), cls_builtin_title(i));
        laws_hold(s, 60, 1e-13);
        cls_system_free(&s);
    }
    assert_true(fields >= 10);
}

static void size_is_a_parameter(void **unused) {
    (void)unused;
    const struct {
        const char *name;
        double N;
    } large[] = {{"heat-rod", 700}, {"fput", 600}, {"kdv", 500},   {"elastic-string", 400},
                 {"building", 24},  {"fput", 3},   {"heat-rod", 2}};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        cls_system *s = load_set(large[i].name, "N", large[i].N);
        laws_hold(s, 5, 1e-12);
        cls_system_free(&s);
    }
}

/* A chain with a temperature for each mass, in either variables; an input's work is an account. */
#define CHAIN                                                                                      \
    "for i in 1..N: friction on %s[i]: u[i] <- -0.1*v.u[i]\n"                                      \
    "for i in 1..N-1: heat exchange %s[i] <-> %s[i+1]: 0.2\n"                                      \
    "for i in 1..N: start u[i] = sin(3*pi*i/(N+1)), v.u[i] = 0, %s[i] = %s\nstep 0.05"
#define SPRINGS "sum(i in 0..N: (u[i+1] - u[i])^2/2 + (u[i+1] - u[i])^4/4)\n"

static cls_system *chain_of(int thermal, size_t N) {
    char text[1500];
    const char *S = thermal ? "T" : "s";
    int n = snprintf(
        text, sizeof text,
        "parameter N = %zu\ncoordinate u[1..N]\n%s %s[1..N]\nlet u[0] = 0\n"
        "let u[N+1] = 0\n%s",
        N, thermal ? "temperature" : "entropy", S,
        thermal ? "thermal lagrangian sum(i in 1..N: v.u[i]^2/2 + T[i]*log(T[i])) - " SPRINGS
                : "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + " SPRINGS);
    snprintf(text + n, sizeof text - (size_t)n, CHAIN, S, S, S, S, thermal ? "1" : "0");
    return parse(text);
}

/* CVODE with a sparse Jacobian, or with GMRES where the state is not the one of the equations. */
static void reference_of_many(void **unused) {
    (void)unused;
    for (int thermal = 0; thermal < 2; thermal++) {
        static double exact[500], ours[500], coarse[500];
        cls_system *s = chain_of(thermal, 60);
        assert_int_equal(cls_system_state_count(s), 180);
        run(s, "bdf", 0.05, 1, exact);
        run(s, "discrete-gradient-4", 0.02, 1, ours);
        run(s, "discrete-gradient-4", 0.04, 1, coarse);
        double fine = apart(180, ours, exact), order = log2(apart(180, coarse, exact) / fine);
        if (!(fine <= 1e-8 && order > 3.8))
            fail_msg("%d: %g apart, order %g", thermal, fine, order);
        cls_system_free(&s);
    }
}

/* One factor for all components, one temperature for all frictions: borders of the matrix. */
static void what_all_depend_on_is_a_border(void **unused) {
    (void)unused;
    cls_system *s = parse("parameter N = 40\ncoordinate u[1..N]\ntemperature T[1..N]\n"
                          "let u[0] = 0\nlet u[N+1] = 0\n"
                          "thermal lagrangian G = sum(i in 1..N: v.u[i]^2/2 + T[i]*log(T[i])) - "
                          "sum(i in 0..N: (u[i+1] - u[i])^2/2 + (u[i+1] - u[i])^4/4)\n"
                          "for i in 1..N: friction on T[i]: u[i] <- -0.1*v.u[i]\n"
                          "for i in 1..N-1: heat exchange T[i] <-> T[i+1]: 0.2\n"
                          "for i in 1..N: start u[i] = sin(3*pi*i/(N+1)), v.u[i] = 0, T[i] = 1\n"
                          "step 0.05");
    laws_hold(s, 200, 1e-13);
    cls_system_free(&s);
    s = parse("parameter N = 60\ncoordinate u[1..N ring]\nentropy S\n"
              "hamiltonian sum(i in 1..N: p.u[i]^2/2 + (u[i+1] - u[i])^4/4 + u[i]^2/2) + exp(S)\n"
              "for i in 1..N: friction on S: u[i] <- -0.1*T*v.u[i]\n"
              "for i in 1..N: start u[i] = sin(2*pi*i/N), v.u[i] = 0\nstart S = 0\nstep 0.05");
    laws_hold(s, 200, 1e-13);
    cls_system_free(&s);
    s = parse("parameter N = 50\ncoordinate u[1..N]\n" /* a mean field */
              "hamiltonian sum(i in 1..N: p.u[i]^2/2 + u[i]^2/2) + (sum(i in 1..N: u[i]))^4/N^3\n"
              "for i in 1..N: start u[i] = 1 + i/N, v.u[i] = 0\nstep 0.05");
    laws_hold(s, 200, 1e-13);
    cls_system_free(&s);
    s = parse("parameter N = 60\ncoordinate u[1..N]\n" /* one such number is made of another */
              "let a = sum(i in 1..N: u[i])/N\nlet b = sum(i in 1..N: (u[i] - a)^2)/N\n"
              "hamiltonian sum(i in 1..N: p.u[i]^2/2 + u[i]^2/2) + exp(b) + a^4\n"
              "for i in 1..N: start u[i] = sin(0.3*i), v.u[i] = 0\nstep 0.05");
    laws_hold(s, 200, 1e-13);
    cls_system_free(&s);
}

/* Against a method that solves nothing. */
static void order_in_h_is_two(void **unused) {
    (void)unused;
    const char *const names[] = {"fput", "elastic-string"};
    const double steps[] = {0.02, 0.004};
    for (size_t i = 0; i < 2; i++) {
        static double exact[500], coarse[500], fine[500];
        cls_system *s = load_set(names[i], "N", 30);
        size_t n = cls_system_coordinate_count(s);
        run(s, "rk4", 0.0005, 1, exact);
        run(s, "discrete-gradient", steps[i], 1, coarse);
        run(s, "discrete-gradient", steps[i] / 2, 1, fine);
        double order = log2(apart(n, coarse, exact) / apart(n, fine, exact));
        if (!(fabs(order - 2) <= 0.1)) fail_msg("%s: order %g", names[i], order);
        cls_system_free(&s);
    }
}

static double *after(cls_system *s, double h, double time) {
    double *state = calloc(cls_system_state_count(s), sizeof *state);
    assert_non_null(state);
    run(s, NULL, h, time, state);
    return state;
}

/* Of every built-in field, by three steps: |z_h - z_h/2| over |z_h/2 - z_h/4|. */
static void every_field_is_of_order_two_in_h(void **unused) {
    (void)unused;
    const struct {
        const char *name;
        double h, time;
    } fields[] = {{"heat-rod", 0.02, 0.2},
                  {"heat-plate", 0.002, 0.02},
                  {"elastic-string", 0.004, 0.2},
                  {"elastic-beam", 0.0005, 0.02},
                  {"viscoelastic-bar", 0.004, 0.2},
                  {"fput", 0.05, 1},
                  {"kdv", 0.001, 0.02},
                  {"burgers", 0.001, 0.02},
                  {"cahn-hilliard", 1e-5, 2e-4},
                  {"allen-cahn", 0.02, 0.4},
                  {"building", 2, 40},
                  {"battery-pack", 0.5, 10}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        cls_system *s = load(fields[i].name);
        size_t n = cls_system_state_count(s);
        double *z[3];
        for (int k = 0; k < 3; k++) z[k] = after(s, fields[i].h / (1 << k), fields[i].time);
        double order = log2(apart(n, z[0], z[1]) / apart(n, z[1], z[2]));
        if (!(fabs(order - 2) <= 0.15)) fail_msg("%s: order %g in h", fields[i].name, order);
        for (int k = 0; k < 3; k++) free(z[k]);
        cls_system_free(&s);
    }
}

/* A soliton in the middle of a ring: kdv itself begins with two, whose tails do not meet. */
static cls_system *field_of(const char *name, double N) {
    char text[500];
    if (strcmp(name, "kdv") != 0) return load_set(name, "N", N);
    snprintf(text, sizeof text,
             "parameter N = %g, L = 20, dx = L/N, c = 4\nmomentum u[1..N ring]\n"
             "hamiltonian sum(i in 1..N: dx*(((u[i+1] - u[i])/dx)^2/2 - u[i]^3))\n"
             "for i in 1..N: poisson {u[i], u[i+1]} = 1/(2*dx^2)\n"
             "for i in 1..N: start u[i] = c/2/cosh(sqrt(c)/2*(i*dx - L/2))^2\n",
             N);
    return parse(text);
}

/* Of fields whose points i dx stay points of a grid twice as fine. */
static void fields_are_of_order_two_in_dx(void **unused) {
    (void)unused;
    const struct {
        const char *name;
        double N, h, time;
    } fields[] = {{"elastic-string", 16, 0.002, 0.05}, {"kdv", 160, 0.0005, 0.005},
                  {"burgers", 40, 0.0005, 0.05},       {"allen-cahn", 64, 0.01, 0.5},
                  {"cahn-hilliard", 64, 1e-6, 2e-5},   {"elastic-beam", 20, 0.002, 0.1},
                  {"viscoelastic-bar", 10, 0.005, 1}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        double *z[3], apart_by[2] = {0};
        for (int k = 0; k < 3; k++) {
            cls_system *s = field_of(fields[i].name, fields[i].N * (1 << k));
            z[k] = after(s, fields[i].h, fields[i].time);
            cls_system_free(&s);
        }
        for (size_t at = 1; at < (size_t)fields[i].N; at++)
            for (int k = 0; k < 2; k++) {
                double off = fabs(z[k][(at << k) - 1] - z[k + 1][(at << (k + 1)) - 1]);
                apart_by[k] = fmax(apart_by[k], off);
            }
        double order = log2(apart_by[0] / apart_by[1]);
        if (!(fabs(order - 2) <= 0.25)) fail_msg("%s: order %g in dx", fields[i].name, order);
        for (int k = 0; k < 3; k++) free(z[k]);
    }
}

/* The row after `time`: the state and what follows from it. */
static double *columns_after(const cls_system *s, double h, double time) {
    double *state = calloc(cls_system_state_count(s), sizeof *state);
    double *row = calloc(cls_system_column_count(s), sizeof *row);
    assert_true(state && row);
    run(s, NULL, h, time, state);
    assert_int_equal(cls_system_row(s, time, state, row, NULL), CLS_OK);
    free(state);
    return row;
}

static size_t column_called(const cls_system *s, const char *name) {
    size_t i = 0;
    while (cls_system_column(s, i) && strcmp(cls_system_column(s, i), name) != 0) i++;
    if (i == cls_system_column_count(s)) fail_msg("no column %s", name);
    return i;
}

/* Temperatures in the middles of pieces, which stay middles where there are three times as many: of a rod
 * with insulated ends, and of a plate with a bath along an edge. */
static void temperatures_are_of_order_two_in_dx(void **unused) {
    (void)unused;
    for (int plate = 0; plate < 2; plate++) {
        const char *name = plate ? "heat-plate" : "heat-rod";
        int N = plate ? 6 : 9;
        double T[3][36], apart_by[2] = {0};
        for (int k = 0, each = 1; k < 3; k++, each *= 3) {
            cls_system *s = load_set(name, "N", N * each);
            double *row = columns_after(s, 0.002, 0.05);
            for (int i = 0; i < N; i++)
                for (int j = 0; j < (plate ? N : 1); j++) {
                    char at[40];
                    snprintf(at, sizeof at, plate ? "T[%d][%d]" : "T[%d]", each * i + each / 2 + 1,
                             each * j + each / 2 + 1);
                    T[k][i * (plate ? N : 1) + j] = row[column_called(s, at)];
                }
            free(row);
            cls_system_free(&s);
        }
        for (int k = 0; k < 2; k++)
            apart_by[k] = apart((size_t)(plate ? N * N : N), T[k], T[k + 1]);
        double order = log(apart_by[0] / apart_by[1]) / log(3);
        if (!(fabs(order - 2) <= 0.15)) fail_msg("%s: order %g in dx", name, order);
    }
}

/* The entropy that friction makes, also at the ends. */
static void entropies_are_of_order_two_in_dx(void **unused) {
    (void)unused;
    const struct {
        const char *name;
        double N, h, time;
    } fields[] = {{"elastic-string", 16, 0.002, 0.05},
                  {"elastic-beam", 20, 0.002, 0.1},
                  {"viscoelastic-bar", 10, 0.005, 1},
                  {"burgers", 40, 0.0005, 0.05},
                  {"cahn-hilliard", 64, 1e-6, 2e-5}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        double S[3];
        for (int k = 0; k < 3; k++) {
            cls_system *s = load_set(fields[i].name, "N", fields[i].N * (1 << k));
            double *row = columns_after(s, fields[i].h, fields[i].time);
            S[k] = row[column_called(s, "entropy")];
            free(row);
            cls_system_free(&s);
        }
        double order = log2((S[0] - S[1]) / (S[1] - S[2]));
        if (!(fabs(order - 2) <= 0.15)) fail_msg("%s: order %g in dx", fields[i].name, order);
    }
}

/* A cosine of the temperature decays like exp(-k pi^2 t). */
static void order_in_dx_is_two(void **unused) {
    (void)unused;
    double error[2];
    for (int fine = 0; fine < 2; fine++) {
        char text[600];
        size_t N = fine ? 24 : 12;
        snprintf(text, sizeof text,
                 "parameter N = %zu, dx = 1/N\nentropy S[1..N]\n"
                 "hamiltonian sum(i in 1..N: dx*exp(S[i]/dx))\n"
                 "for i in 1..N-1: heat exchange T[i] <-> T[i+1]: 0.1/dx\n"
                 "for i in 1..N: start T[i] = 1 + 0.1*cos(pi*(i - 1/2)*dx)\n",
                 N);
        cls_system *s = parse(text);
        static double state[100], row[300];
        run(s, NULL, 0.002, 1, state);
        assert_int_equal(cls_system_row(s, 1, state, row, NULL), CLS_OK);
        size_t first = 0;
        while (strcmp(cls_system_column(s, first), "T[1]") != 0) first++;
        double pi = acos(-1), x = 0.5 / (double)N;
        error[fine] = fabs(row[first] - 1 - 0.1 * exp(-0.1 * pi * pi) * cos(pi * x));
        cls_system_free(&s);
    }
    double order = log2(error[0] / error[1]);
    if (!(fabs(order - 2) <= 0.15)) fail_msg("order %g", order);
}

static void free_energy_falls(void **unused) {
    (void)unused;
    const char *const names[] = {"cahn-hilliard", "allen-cahn"};
    for (size_t i = 0; i < 2; i++) {
        cls_system *s = load(names[i]);
        static double row[1000];
        size_t energy = 0;
        while (strcmp(cls_system_column(s, energy), "energy") != 0) energy++;
        for (double h = cls_system_default_step(s); h < 3; h *= 100) { /* at any step */
            cls_simulator *sim = begin(s, NULL, h);
            double before = INFINITY;
            for (int k = 0; k < 40; k++) {
                assert_int_equal(cls_system_row(s, 0, cls_simulator_state(sim), row, NULL), CLS_OK);
                if (!(row[energy] <= before + 1e-15))
                    fail_msg("%s: h = %g: F rises from %.17g to %.17g", names[i], h, before,
                             row[energy]);
                before = row[energy];
                advance(sim, 1);
            }
            cls_simulator_free(&sim);
        }
        cls_system_free(&s);
    }
}

/* The start has a jump at the seam of the ring, whose accelerations are without bound on a fine grid, and its fast
 * waves turn from step to step: guesses that go on with either are worse than none (decision 475). */
static void fine_grids_are_solved_at_once(void **unused) {
    (void)unused;
    for (double N = 500; N <= 2000; N *= 2) {
        cls_system *s = load_set("kdv", "N", N);
        cls_simulator *sim = begin(s, NULL, cls_system_default_step(s));
        advance(sim, 10);
        cls_simulate_info info = cls_simulator_info(sim);
        assert_int_equal(info.retried_steps, 0);
        assert_true(info.newton_max_iterations <= 10);
        assert_true(info.newton_iterations <=
                    80); /* of 2,000 cells 709 before, and 11 steps were split */
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* Of many unknowns one always turns: seven points predict the others, and one update of Newton is enough.
 * Begun again at every step it has nothing to predict from and asks what is left; the motion is the same
 * up to round-off. */
static void one_update_is_enough(void **unused) {
    (void)unused;
    enum { N = 100, STEPS = MANY(1000) };
    cls_system *s = chain_of(0, N);
    cls_simulator *sim = begin(s, NULL, 0.05), *again = begin(s, NULL, 0.05);
    cls_error error;
    double z[3 * N];
    uint64_t asked = 0;
    advance(sim, STEPS);
    for (int k = 0; k < STEPS; k++) {
        memcpy(z, cls_simulator_state(again), sizeof z);
        assert_int_equal(cls_simulator_start(again, 0, z, &error), CLS_OK);
        advance(again, 1);
        asked += cls_simulator_info(again).newton_iterations;
    }
    cls_simulate_info info = cls_simulator_info(sim);
    assert_true(info.energy_relative <= 1e-14);
    assert_int_equal(info.entropy_falls, 0);
    assert_true(asked >= 2 * STEPS);
    if (STEPS >= 1000) assert_true((double)info.newton_iterations <= 1.1 * STEPS);
    double off = apart((size_t)3 * N, cls_simulator_state(sim), cls_simulator_state(again));
    if (!(off <= 1e-11)) fail_msg("off by %g", off);
    cls_simulator_free(&again);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* Of a large state a part is watched at a time; that the last mass goes to and fro is told. */
static void large_states_that_alternate_are_told(void **unused) {
    (void)unused;
    cls_system *s = parse("parameter N = 9000\ncoordinate u[1..N]\n"
                          "hamiltonian sum(i in 1..N: p.u[i]^2/2 + 5e5*u[i]^2)\n"
                          "for i in 1..N-1: start u[i] = 0, v.u[i] = 0\n"
                          "start u[N] = 1, v.u[N] = 0\nstep 1");
    cls_simulator *sim = begin(s, NULL, 1);
    advance(sim, 100);
    cls_simulate_info info = cls_simulator_info(sim);
    assert_true(info.alternates);
    assert_true(info.alternations >= 16);
    assert_int_equal(info.alternating, 8999);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_keeps_its_laws),
        cmocka_unit_test(size_is_a_parameter),
        cmocka_unit_test(reference_of_many),
        cmocka_unit_test(what_all_depend_on_is_a_border),
        cmocka_unit_test(order_in_h_is_two),
        cmocka_unit_test(every_field_is_of_order_two_in_h),
        cmocka_unit_test(fields_are_of_order_two_in_dx),
        cmocka_unit_test(order_in_dx_is_two),
        cmocka_unit_test(temperatures_are_of_order_two_in_dx),
        cmocka_unit_test(entropies_are_of_order_two_in_dx),
        cmocka_unit_test(fine_grids_are_solved_at_once),
        cmocka_unit_test(one_update_is_enough),
        cmocka_unit_test(large_states_that_alternate_are_told),
        cmocka_unit_test(free_energy_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
