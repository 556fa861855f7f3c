/* Exported C computes the bits of the library: every built-in system by its default scheme, every
 * scheme that can be exported on some system; it compiles without a word. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/export/exported.h"
#include "tests/sanitized.h"

enum { STEPS = THINNED(2000, 100) };

/* Compiles fast; the long test has -O3. */
#define FAST "gcc -std=c99 -O0"

static void same_bits(const char *name, uint64_t steps) {
    cls_system *s;
    cls_error error = {0};
    exported x;
    if (cls_system_load(name, NULL, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    exported_open(&x, s, NULL, NULL, FAST);
    assert_int_equal(exported_compare(&x, s, NULL, steps, 1), steps);
    exported_close(&x);
    cls_system_free(&s);
}

/* A system of its own, by several compilers. */
static void same_bits_of(const char *text, uint64_t steps, size_t n, const char *const *compilers) {
    for (size_t k = 0; k < n; k++) {
        cls_system *s;
        exported x;
        cls_error error = {0};
        if (cls_system_parse(text, "functions", NULL, &s, &error) != CLS_OK)
            fail_msg("%s", error.message);
        exported_open(&x, s, NULL, NULL, compilers[k]);
        assert_int_equal(exported_compare(&x, s, NULL, steps, 1), steps);
        exported_close(&x);
        cls_system_free(&s);
    }
}

static void every_system(void **unused) {
    (void)unused;
    assert_true(cls_builtin_count() >= 14);
    for (size_t k = 0; k < cls_builtin_count(); k += THINNED(1, 4))
        if (strcmp(cls_builtin_name(k), "brownian-particle") != 0) /* refused, see below */
            same_bits(cls_builtin_name(k), STEPS);
}

/* Sparse equations: a chain, rows that touch all of it, a plate. The long test has the others. */
static void fields_in_space(void **unused) {
    (void)unused;
    static const char *const names[] = {"heat-rod", "viscoelastic-bar", "allen-cahn", "heat-plate"};
    for (size_t k = 0; k < THINNED(4, 1); k++) same_bits(names[k], STEPS / 10);
}

/* Loops over formulas of every kind (src/expr/loops.c): sums that read their own results, largest values, tables
 * of indices and of constants, cells at the ends that are others than those between. */
static void loops_of_functions(void **unused) {
    (void)unused;
    static const char text[] =
        "system \"cells of many functions\"\n"
        "parameter N = 30, k = 0.3, g = 0.7\n"
        "coordinate x[1..N]\n"
        "entropy S[1..N] with temperature T[1..N]\n"
        "let x[0] = 0\nlet x[N+1] = 0\nlet d[i] = 1.5 + x[i+1] - x[i]\n"
        "hamiltonian H = sum(i in 1..N: p.x[i]^2/2 + (1 + x[i]^2)^g + x[i]^4/4 + log(2 + "
        "cosh(x[i]))"
        " + softabs(x[i] - 0.1*i, 0.01)^3 + (2 + sin(i*x[i]))^0.7)"
        " + sum(i in 0..N: d[i]^(-2/3) + exp(-d[i])) + sum(i in 1..N: exp(S[i])/sqrt(1 + x[i]^2))\n"
        "for i in 1..N: friction on T[i]: x[i] <- -0.2*v.x[i]*sqrt(1 + v.x[i]^2)\n"
        "for i in 1..N-1: heat exchange T[i] <-> T[i+1]: k\n"
        "for i in 1..N: start x[i] = 0.3*sin(i), v.x[i] = 0.1*cos(3*i), T[i] = 1 + 0.1*sin(2*i)\n"
        "step 0.01\nuntil 10\n";
    static const char *const compilers[] = {FAST, "gcc -std=c99 -O3"};
    same_bits_of(text, STEPS / 10, THINNED(2, 1), compilers);
}

/* At rest next to S = 0, where entropies are measured by their heat capacities (newton_by_heat): dense equations
 * and sparse ones. */
static void entropies_that_vanish(void **unused) {
    (void)unused;
    static const char few[] =
        "parameter c = 0.01, k = 0.5, T0 = 300\nentropy S1, S2, S3\nreservoir bath = T0\n"
        "hamiltonian T0*exp(S1) + c*T0*exp(S2/c) + 10*T0*exp(S3/10)\nheat exchange T1 <-> T2: k\n"
        "heat exchange T2 <-> T3: k\nheat exchange T3 <-> bath: k\n"
        "start T1 = 300*(1 + 1e-9), T2 = 300*(1 - 1e-9), T3 = 300*(1 + 1e-8)\nstep 1\nuntil 10\n";
    static const char many[] =
        "parameter N = 30, k = 0.5, T0 = 300\nentropy S[1..N] with temperature T[1..N]\n"
        "reservoir bath = T0\nhamiltonian H = sum(i in 1..N: T0*exp(S[i]))\n"
        "for i in 1..N-1: heat exchange T[i] <-> T[i+1]: k\nheat exchange T[1] <-> bath: k\n"
        "for i in 1..N: start T[i] = T0*(1 + 1e-12*i)\nstep 1\nuntil 10\n";
    static const char *const compilers[] = {FAST};
    same_bits_of(few, STEPS, 1, compilers);
    same_bits_of(many, STEPS, 1, compilers);
}

/* The first built-in system that a scheme makes sense for. */
static cls_system *system_for(const char *scheme) {
    for (size_t k = 0; k < cls_builtin_count(); k++) {
        cls_system *s;
        assert_int_equal(cls_system_load(cls_builtin_name(k), NULL, &s, NULL), CLS_OK);
        if (cls_scheme_applies(scheme, s, NULL) == CLS_OK) return s;
        cls_system_free(&s);
    }
    fail_msg("no system for %s", scheme);
    return NULL;
}

static void every_scheme(void **unused) {
    (void)unused;
    size_t done = 0;
    for (size_t k = 0; k < cls_scheme_count(); k += THINNED(1, 4)) {
        const char *scheme = cls_scheme_at(k)->name;
        if (!strcmp(scheme, "bdf") || cls_scheme_is_adaptive(scheme) || !strcmp(scheme, "langevin"))
            continue;
        cls_system *s = system_for(scheme);
        exported x;
        exported_open(&x, s, NULL, scheme, FAST);
        exported_compare(&x, s, scheme, STEPS / 4, 1);
        exported_close(&x);
        cls_system_free(&s);
        done++;
    }
    assert_true(done >= THINNED(16, 3));
}

/* Steps without equations, of the default length and ten times as long, where weights move, steps are made in
 * halves, and some are refused: of every system that takes them, by each order in turn. */
static void explicit_steps_of_every_system(void **unused) {
    (void)unused;
    static const char *const schemes[] = {"lawful-rk4", "lawful-rk6", "lawful-rk8"};
    size_t done = 0;
    for (size_t k = 0; cls_builtin_name(k); k += THINNED(1, 7)) {
        cls_system *s;
        const char *scheme = schemes[k % 3];
        assert_int_equal(cls_system_load(cls_builtin_name(k), NULL, &s, NULL), CLS_OK);
        if (cls_scheme_applies(scheme, s, NULL) == CLS_OK) {
            exported x;
            exported_open(&x, s, NULL, scheme, FAST);
            assert_int_equal(exported_compare(&x, s, scheme, STEPS / 10, 1), STEPS / 10);
            x.defaults(x.motion);
            (void)exported_compare_by(&x, s, scheme, 10, STEPS / 100, 1);
            exported_close(&x);
            done++;
        }
        cls_system_free(&s);
    }
    assert_true(done >= THINNED(26, 4));
}

/* Of large states there are other loops, rates come with what is measured, and the state changes places: steps in one
 * attempt, in several and in halves. */
static void explicit_steps_of_many_cells(void **unused) {
    (void)unused;
    static const char text[] =
        "system \"a chain with heat\"\n"
        "parameter N = 200, c = 0.1, kappa = 0.2\ncoordinate u[1..N]\nentropy s[1..N]\n"
        "let d[i] = u[i+1] - u[i]\nlet u[0] = 0\nlet u[N+1] = 0\n"
        "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 0..N: d[i]^2/2 + d[i]^4/4)\n"
        "for i in 1..N: friction on s[i]: u[i] <- -c*v.u[i]\n"
        "for i in 1..N-1: heat exchange s[i] <-> s[i+1]: kappa\n"
        "for i in 1..N: start u[i] = sin(pi*i/8), v.u[i] = 0, s[i] = 0\n"
        "step 0.5\nuntil 10\n";
    static const char *const schemes[] = {"lawful-rk4", "lawful-rk6", "lawful-rk8"};
    static const double times[] = {0.1, 1, 2, 4, 10};
    cls_system *s;
    cls_error error = {0};
    if (cls_system_parse(text, "chain", NULL, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    for (size_t k = 0; k < THINNED(3, 1); k++) {
        exported x;
        exported_open(&x, s, NULL, schemes[k], FAST);
        for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
            x.defaults(x.motion);
            assert_int_equal(exported_compare_by(&x, s, schemes[k], times[i], STEPS / 50, 1),
                             STEPS / 50);
        }
        exported_close(&x);
    }
    cls_system_free(&s);
}

/* Directions are brought back to length one after a step, and the slopes of the energy are those along them: a
 * turning body was refused once. */
static void explicit_steps_of_directions(void **unused) {
    (void)unused;
    static const char text[] =
        "system \"a heavy body with its attitude; friction heats it\"\n"
        "rigid body mu1, mu2, mu3 with velocity w1, w2, w3\nvertical g1, g2, g3 of mu1, mu2, mu3\n"
        "attitude e0, e1, e2, e3 of mu1, mu2, mu3\nentropy S\n"
        "hamiltonian mu1^2/2 + mu2^2/4 + mu3^2/5 + 0.7*(g3 + 0.2*g1) + 2*exp(S/2)\n"
        "friction on S: mu1 <- -0.02*w1, mu2 <- -0.03*w2*(1 + T), mu3 <- -0.01*w3\n"
        "start mu1 = 0.5, mu2 = 1, mu3 = 2, g1 = 0.6, g2 = 0, g3 = 0.8, S = 0.3\n"
        "step 0.02\nuntil 20\n";
    /* of more numbers, whose sums are loops of their own */
    static const char two[] =
        "system \"two bodies with their attitudes\"\n"
        "rigid body a1, a2, a3 with velocity w1, w2, w3\nvertical g1, g2, g3 of a1, a2, a3\n"
        "attitude e0, e1, e2, e3 of a1, a2, a3\n"
        "rigid body b1, b2, b3 with velocity x1, x2, x3\nvertical f1, f2, f3 of b1, b2, b3\n"
        "attitude d0, d1, d2, d3 of b1, b2, b3\nentropy S\n"
        "hamiltonian a1^2/2 + a2^2/4 + a3^2/5 + 0.7*(g3 + 0.2*g1) + b1^2/3 + b2^2/4 + b3^2/6"
        " + 0.4*f3 + 0.1*g1*f1 + 2*exp(S/2)\n"
        "friction on S: a1 <- -0.02*w1, a2 <- -0.03*w2*(1 + T), b3 <- -0.01*x3\n"
        "start a1 = 0.5, a2 = 1, a3 = 2, g1 = 0.6, g2 = 0, g3 = 0.8, S = 0.3\n"
        "start b1 = 0.2, b2 = 1, b3 = -1, f1 = 0, f2 = 0.6, f3 = 0.8\n"
        "step 0.02\nuntil 20\n";
    static const char *const schemes[] = {"lawful-rk4", "lawful-rk6", "lawful-rk8"};
    for (size_t k = 0; k < 6; k++) {
        const char *scheme = schemes[k % 3];
        cls_system *s;
        cls_error error = {0};
        exported x;
        if (cls_system_parse(k < 3 ? text : two, "spin", NULL, &s, &error) != CLS_OK)
            fail_msg("%s", error.message);
        exported_open(&x, s, NULL, scheme, FAST);
        assert_int_equal(exported_compare(&x, s, scheme, STEPS / 2, 1), STEPS / 2);
        double off = x.energy_error(x.motion);
        if (!(fabs(off) <= 1e-14 * 5)) fail_msg("%s: the energy is off by %g", scheme, off);
        x.defaults(x.motion);
        (void)exported_compare_by(&x, s, scheme, 40, STEPS / 50, 1);
        exported_close(&x);
        cls_system_free(&s);
    }
}

/* A step that would have to be made in more halves than wanted is refused, where the library refuses it; one that
 * is made in no more is not. */
static void halvings_are_bounded(void **unused) {
    (void)unused;
    static const struct {
        const char *scheme;
        int max_halvings;
        double times;
        uint64_t steps; /* of 20 */
    } cases[] = {{"lawful-rk8", 0, 20, 0},          {"lawful-rk8", 2, 20, 0},
                 {"lawful-rk8", 10, 20, 20},        {"lawful-rk4", 10, 20, 20},
                 {"lawful-rk4", 0, 1, 20},          {"discrete-gradient", 0, 4000, 1},
                 {"discrete-gradient", 1, 4000, 20}};
    cls_system *s;
    assert_int_equal(cls_system_load("ideal-gas-piston", NULL, &s, NULL), CLS_OK);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        exported x;
        exported_open_halved(&x, s, NULL, cases[k].scheme, cases[k].max_halvings, FAST);
        uint64_t made = exported_compare_by(&x, s, cases[k].scheme, cases[k].times, 20, 1);
        assert_int_equal(made, cases[k].steps);
        exported_close(&x);
    }
    cls_system_free(&s);
}

static void schemes_that_stay(void **unused) {
    (void)unused;
    cls_system *s;
    assert_int_equal(cls_system_load("pendulum", NULL, &s, NULL), CLS_OK);
    static const char *const names[] = {"bdf", "discrete-gradient-adaptive"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        cls_error error = {0};
        cls_export_options o = cls_export_defaults();
        o.scheme = names[k];
        assert_int_equal(cls_export("c", s, NULL, &o, "/tmp/clausius-never", NULL, &error),
                         CLS_USAGE);
        assert_non_null(strstr(error.message, "cannot be exported"));
        assert_non_null(strstr(error.message, "take discrete-gradient"));
        assert_int_not_equal(access("/tmp/clausius-never", F_OK), 0);
    }
    cls_system_free(&s);
}

static int has_command(const char *word) {
    char command[64];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", word);
    return system(command) == 0;
}

/* Functions inside of functions, an odd number of each kind, and powers of different exponents: those that are
 * computed two at a time (src/expr/emit_pairs.c) do not wait for each other. */
static void functions_two_at_a_time(void **unused) {
    (void)unused;
    static const char text[] =
        "system \"functions of functions\"\n"
        "coordinate x, y, z\n"
        "hamiltonian (p.x^2 + p.y^2 + p.z^2)/2 + log(1 + exp(x)) + log(2 + exp(y) + exp(-x))"
        " + exp(log(3 + z^2)/3) + (2 + exp(z))^0.3 + (1 + log(3 + y^2))^0.3 + (3 + x^2)^0.7"
        " + exp(-exp(x/2)) + exp(-y) + log(2 + (1 + z^2)^0.3) + exp(-z)\n"
        "start x = 0.4, y = 0.3, z = -0.2, p.x = 0.5, p.y = -0.1, p.z = 0.3\nstep 0.02\nuntil 10\n";
    static const char *const compilers[] = {FAST, "gcc -std=c99 -O3", "gcc -std=c99 -Os"};
    same_bits_of(text, STEPS, THINNED(3, 1), compilers);
}

/* What the header promises to compile silently, by the compilers that are there. */
static void without_a_word(void **unused) {
    (void)unused;
    SKIP_IF_SANITIZED();
    static const char *const compilers[][2] = {
        {"gcc", "gcc -std=c99 -O2"}, {"clang", "clang -std=c99 -O1"}, {"g++", "g++ -x c++ -O1"}};
    static const char *const systems[] = {"rlc-circuit", "rigid-body", "adiabatic-piston"};
    for (size_t c = 0; c < 3; c++) {
        if (!has_command(compilers[c][0])) continue;
        for (size_t k = 0; k < 3; k++) {
            cls_system *s;
            exported x;
            char command[160];
            snprintf(command, sizeof command,
                     "%s -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror", compilers[c][1]);
            assert_int_equal(cls_system_load(systems[k], NULL, &s, NULL), CLS_OK);
            exported_open(&x, s, NULL, NULL, command);
            assert_int_equal(exported_compare(&x, s, NULL, 100, 1), 100);
            exported_close(&x);
            cls_system_free(&s);
        }
    }
}

/* A start is refused or taken, a step is refused, and each time a sentence says why. */
static void refusals(void **unused) {
    (void)unused;
    cls_system *s;
    exported x;
    double row[32], kept[32];
    cls_error error = {0};
    assert_int_equal(cls_system_load("brownian-particle", NULL, &s, NULL), CLS_OK);
    assert_int_equal(cls_export("c", s, NULL, NULL, "/tmp/clausius-noise", NULL, &error),
                     CLS_USAGE);
    assert_non_null(strstr(error.message, "thermal noise"));
    cls_system_free(&s);
    assert_int_equal(cls_system_load("adiabatic-piston", NULL, &s, NULL), CLS_OK);
    exported_open(&x, s, NULL, NULL, FAST);
    assert_int_not_equal(x.start(x.motion, 0, (double[]){0, 0, 1, NAN}), 0);
    assert_int_not_equal(x.start(x.motion, 0, (double[]){3, 0, 1, 1}), 0); /* x in (-2, 2) */
    assert_int_not_equal(x.start(x.motion, 0, (double[]){0, 0, -1, 1}), 0);
    assert_int_equal(x.start(x.motion, 5, (double[]){1.99, 40, 1, 1}), 0);
    x.row(x.motion, kept);
    int status = x.step(x.motion, 100);
    assert_int_not_equal(status, 0);
    assert_true(strlen(x.reason(status)) > 10);
    x.row(x.motion, row);
    assert_memory_equal(row, kept, cls_system_column_count(s) * sizeof *row);
    assert_int_not_equal(x.step(x.motion, 0), 0);
    assert_int_not_equal(x.step(x.motion, NAN), 0);
    assert_true(row[0] == 5);
    exported_close(&x);
    cls_system_free(&s);
}

/* A copy of the struct goes on like the original; steps of changing h keep the energy. */
static void copies_and_steps(void **unused) {
    (void)unused;
    cls_system *s;
    exported x;
    double row[32], other[32];
    assert_int_equal(cls_system_load("ideal-gas-piston", NULL, &s, NULL), CLS_OK);
    exported_open(&x, s, NULL, NULL, FAST);
    void *copy = malloc(x.size());
    assert_non_null(copy);
    for (int k = 0; k < 100; k++) assert_int_equal(x.step(x.motion, 0.001 * (1 + k % 7)), 0);
    memcpy(copy, x.motion, x.size());
    for (int k = 0; k < 100; k++) assert_int_equal(x.step(x.motion, 0.001 * (1 + k % 5)), 0);
    for (int k = 0; k < 100; k++) assert_int_equal(x.step(copy, 0.001 * (1 + k % 5)), 0);
    x.row(x.motion, row);
    x.row(copy, other);
    assert_memory_equal(row, other, cls_system_column_count(s) * sizeof *row);
    double error = x.energy_error(x.motion);
    if (!(fabs(error) <= 1e-13 * 4)) fail_msg("the energy is off by %g", error);
    free(copy);
    exported_close(&x);
    cls_system_free(&s);
}

/* Functions of the state are kept from one step for the next (src/export/programs.c): a motion that was
 * elsewhere, and refused a step there, must not take what belongs to another state. */
static void what_is_kept_belongs_to_a_state(void **unused) {
    (void)unused;
    static const char *const names[] = {"adiabatic-piston", "ideal-gas-piston",
                                        "thermal-oscillator"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cls_system *s;
        exported x;
        double start[32], row[32], other[32];
        assert_int_equal(cls_system_load(names[i], NULL, &s, NULL), CLS_OK);
        assert_int_equal(cls_system_start(s, NULL, start, NULL), CLS_OK);
        exported_open(&x, s, NULL, NULL, FAST);
        void *fresh = malloc(x.size());
        assert_non_null(fresh);
        for (int k = 0; k < 50; k++) assert_int_equal(x.step(x.motion, 0.01), 0);
        assert_int_not_equal(x.step(x.motion, 1e9), 0);
        start[0] += 0.125;
        assert_int_equal(x.start(x.motion, 0, start), 0);
        x.defaults(fresh);
        assert_int_equal(x.start(fresh, 0, start), 0);
        for (int k = 0; k < 50; k++) {
            assert_int_equal(x.step(x.motion, 0.01), 0);
            assert_int_equal(x.step(fresh, 0.01), 0);
        }
        x.row(x.motion, row);
        x.row(fresh, other);
        assert_memory_equal(row + 1, other + 1, (cls_system_column_count(s) - 1) * sizeof *row);
        free(fresh);
        exported_close(&x);
        cls_system_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_system),
        cmocka_unit_test(functions_two_at_a_time),
        cmocka_unit_test(fields_in_space),
        cmocka_unit_test(loops_of_functions),
        cmocka_unit_test(entropies_that_vanish),
        cmocka_unit_test(every_scheme),
        cmocka_unit_test(explicit_steps_of_every_system),
        cmocka_unit_test(explicit_steps_of_many_cells),
        cmocka_unit_test(explicit_steps_of_directions),
        cmocka_unit_test(halvings_are_bounded),
        cmocka_unit_test(schemes_that_stay),
        cmocka_unit_test(without_a_word),
        cmocka_unit_test(refusals),
        cmocka_unit_test(copies_and_steps),
        cmocka_unit_test(what_is_kept_belongs_to_a_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
