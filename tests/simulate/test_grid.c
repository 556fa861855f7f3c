/* Steps of grids: factors that serve many updates give the motion of fresh ones, keep both laws, allocate nothing, and
 * have the same bits when the motion is started again. */
#include "simulate/simulator.h"
#include "system/fronts.h"
#include "system/system.h"
#include "tests/allocations.h"
#include "tests/simulate/motion.h"
#include <stdio.h>
#include <stdlib.h>

/* Plates of 36 x 36 pieces; of the stiff one a step is ten thousand times what a piece takes. */
#define PLATE(k)                                                                                   \
    "parameter N = 36, k = " #k ", T0 = 300\n"                                                     \
    "entropy S[1..N, 1..N] with temperature T[1..N, 1..N]\nreservoir bath = T0\n"                  \
    "hamiltonian sum(i in 1..N, j in 1..N: T0*exp(S[i,j]))\n"                                      \
    "for i in 1..N-1, j in 1..N: heat exchange T[i,j] <-> T[i+1,j]: k\n"                           \
    "for i in 1..N, j in 1..N-1: heat exchange T[i,j] <-> T[i,j+1]: k\n"                           \
    "for j in 1..N: heat exchange T[1,j] <-> bath: 2*k\n"                                          \
    "for i in 1..N, j in 1..N: start T[i,j] = T0*(1 + 0.5*exp(-((i-18)^2 + (j-12)^2)/40))\n"

static const char membrane[] =
    "parameter N = 26, c = 0.1, kappa = 0.2\ncoordinate u[1..N, 1..N]\nentropy s[1..N, 1..N]\n"
    "let a[i,j] = u[i+1,j] - u[i,j]\nlet b[i,j] = u[i,j+1] - u[i,j]\n"
    "hamiltonian sum(i in 1..N, j in 1..N: p.u[i,j]^2/2 + exp(s[i,j]))"
    " + sum(i in 1..N-1, j in 1..N: a[i,j]^2/2 + a[i,j]^4/4)"
    " + sum(i in 1..N, j in 1..N-1: b[i,j]^2/2 + b[i,j]^4/4)\n"
    "for i in 1..N, j in 1..N: friction on s[i,j]: u[i,j] <- -c*v.u[i,j]\n"
    "for i in 1..N-1, j in 1..N: heat exchange s[i,j] <-> s[i+1,j]: kappa\n"
    "for i in 1..N, j in 1..N-1: heat exchange s[i,j] <-> s[i,j+1]: kappa\n"
    "for i in 1..N, j in 1..N: start u[i,j] = sin(pi*i/8)*sin(pi*j/8), v.u[i,j] = 0, s[i,j] = 0\n";

/* All pieces heat one bath: a full row and column. */
static const char bath[] =
    "parameter N = 34, c = 0.1\ncoordinate u[1..N, 1..N]\nentropy s\n"
    "let a[i,j] = u[i+1,j] - u[i,j]\nlet b[i,j] = u[i,j+1] - u[i,j]\n"
    "hamiltonian sum(i in 1..N, j in 1..N: p.u[i,j]^2/2) + N^2*exp(s/N^2)"
    " + sum(i in 1..N-1, j in 1..N: 10*a[i,j]^2 + a[i,j]^4/4)"
    " + sum(i in 1..N, j in 1..N-1: 10*b[i,j]^2 + b[i,j]^4/4)\n"
    "for i in 1..N, j in 1..N: friction on s: u[i,j] <- -c*v.u[i,j]\n"
    "for i in 1..N, j in 1..N: start u[i,j] = sin(pi*i/8)*sin(pi*j/8), v.u[i,j] = 0\nstart s = 0\n";

static const struct {
    const char *name, *text;
    double h;
} grids[] = {{"plate", PLATE(0.5), 0.1},
             {"stiff plate", PLATE(500), 0.1},
             {"membrane", membrane, 0.05},
             {"one bath", bath, 0.05}};
enum { GRIDS = sizeof grids / sizeof *grids, STEPS = 12 };

/* Largest difference of two states of n numbers, in units of the largest number. */
static double apart(size_t n, const double *a, const double *b) {
    double worst = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(a[i] - b[i]));
        most = fmax(most, fabs(b[i]));
    }
    return worst / most;
}

static void old_factors_give_the_motion_of_fresh_ones(void **unused) {
    (void)unused;
    for (int k = 0; k < GRIDS; k++) {
        cls_system *s = parse(grids[k].text);
        cls_simulator *sim = begin(s, NULL, grids[k].h), *fresh = begin(s, NULL, grids[k].h);
        size_t n = cls_system_state_count(s);
        assert_non_null(sim->stepper->lu->fronts);
        assert_non_null(sim->newton.krylov.room);
        fresh->newton.krylov.room = NULL; /* every Jacobian is factorised */
        advance(sim, STEPS);
        advance(fresh, STEPS);
        double off = apart(n, cls_simulator_state(sim), cls_simulator_state(fresh));
        if (!(off < 1e-11)) fail_msg("%s: %g", grids[k].name, off);
        assert_true(sim->newton.krylov.made > 0 &&
                    sim->newton.krylov.made < fresh->newton.iterations);
        cls_simulator_free(&sim);
        cls_simulator_free(&fresh);
        cls_system_free(&s);
    }
}

static void both_laws_hold(void **unused) {
    (void)unused;
    for (int k = 0; k < GRIDS; k++) {
        cls_system *s = parse(grids[k].text);
        cls_simulator *sim = begin(s, NULL, grids[k].h);
        advance(sim, MANY(40));
        cls_simulate_info info = cls_simulator_info(sim);
        if (!(info.energy_relative <= 1e-13 && info.entropy_falls == 0))
            fail_msg("%s: energy off by %g, %llu falls", grids[k].name, info.energy_relative,
                     (unsigned long long)info.entropy_falls);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* Factors, rates and what was tried belong to a motion, not to the simulator. */
static void a_second_start_has_the_bits_of_the_first(void **unused) {
    (void)unused;
    for (int k = 0; k < GRIDS; k++) {
        cls_error error;
        cls_system *s = parse(grids[k].text);
        cls_simulator *sim = begin(s, NULL, grids[k].h);
        size_t n = cls_system_state_count(s);
        double *start = calloc(2 * n, sizeof *start), *end = start + n;
        assert_int_equal(cls_system_start(s, NULL, start, &error), CLS_OK);
        advance(sim, 7);
        memcpy(end, cls_simulator_state(sim), n * sizeof *end);
        assert_int_equal(cls_simulator_start(sim, 0, start, &error), CLS_OK);
        advance(sim, 7);
        assert_memory_equal(end, cls_simulator_state(sim), n * sizeof *end);
        free(start);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

static void steps_allocate_nothing(void **unused) {
    (void)unused;
    if (!COUNTS_ALLOCATIONS) skip();
    for (int k = 0; k < GRIDS; k++) {
        cls_system *s = parse(grids[k].text);
        cls_simulator *sim = begin(s, NULL, grids[k].h);
        size_t before = allocations;
        advance(sim, 5);
        assert_int_equal(allocations, before);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_factors_give_the_motion_of_fresh_ones),
        cmocka_unit_test(both_laws_hold),
        cmocka_unit_test(a_second_start_has_the_bits_of_the_first),
        cmocka_unit_test(steps_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
