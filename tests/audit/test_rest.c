/* At rest next to S = 0: entropies that vanish together have no size of their own but their heat capacities
 * (newton_by_heat). Iterations stay few over the whole motion, both laws hold as the judge sees them, and lanes
 * have the bits of single motions. */
#include "tests/audit/trial.h"
#include "tests/sanitized.h"
#include "tests/simulate/motion.h"

/* Bodies whose heat capacities lie far apart; rates times a step of 0.05 from 1e-3 to 50. */
#define THREE_BODIES(energy)                                                                       \
    "parameter k = 0.5, T0 = 300\nentropy S1, S2, S3\nreservoir bath = T0\nhamiltonian " energy    \
    "\nheat exchange T1 <-> T2: k\nheat exchange T2 <-> T3: k\nheat exchange T3 <-> bath: k\n"     \
    "heat exchange T1 <-> bath: k\nstart T1 = 350, T2 = 250, T3 = 310\n"

static const char three_bodies[] =
    THREE_BODIES("T0*exp(S1) + 1e-2*T0*exp(100*S2) + 10*T0*exp(S3/10)");
/* Energies that vanish, too: their largest term so far is what they are measured by. */
static const char without_energy[] =
    THREE_BODIES("T0*(exp(S1) - 1) + 1e-2*T0*(exp(100*S2) - 1) + 10*T0*(exp(S3/10) - 1)");
/* A heat capacity of 3e12: a reservoir but for its formula. */
static const char nearly_a_reservoir[] =
    THREE_BODIES("T0*exp(S1) + 300*S2 + 5e-11*S2^2 + T0*exp(S3)");
/* Through S = 0 and on. */
static const char through_zero[] =
    "parameter T0 = 300\nentropy S1, S2\nreservoir bath = 400\n"
    "hamiltonian T0*exp(S1) + 2*T0*exp(S2/2)\nheat exchange T1 <-> T2: 0.5\n"
    "heat exchange T2 <-> bath: 0.1\nstart T1 = 250, T2 = 280\n";
/* Positions die down with the entropies. */
static const char with_a_spring[] =
    "parameter T0 = 300\ncoordinate x\nentropy S\nreservoir bath = T0\n"
    "hamiltonian p.x^2/2 + x^2/2 + T0*exp(S)\nfriction on S: x <- -v.x\n"
    "heat exchange T <-> bath: 0.5\nstart x = 1, p.x = 0, S = 0.01\n";

/* Iterations of the steps behind the first `begun`, and of the worst one of all. */
static void few_iterations(const cls_system *s, const char *scheme, double h, uint64_t begun,
                           uint64_t steps, double mean, int most) {
    cls_simulator *sim = begin(s, scheme, h);
    uint64_t before = 0;
    advance(sim, begun);
    before = cls_simulator_info(sim).newton_iterations;
    for (uint64_t k = 0; k < steps; k++) {
        advance(sim, 1);
        uint64_t now = cls_simulator_info(sim).newton_iterations;
        if (!(now - before <= (uint64_t)most))
            fail_msg("%s by %s, h = %g: %llu iterations in step %llu", cls_system_name(s), scheme,
                     h, (unsigned long long)(now - before), (unsigned long long)(begun + k));
        before = now;
    }
    cls_simulate_info info = cls_simulator_info(sim);
    double each = (double)info.newton_iterations / (double)info.steps;
    if (!(each <= mean)) fail_msg("%s, h = %g: %g iterations a step", cls_system_name(s), h, each);
    assert_true(info.energy_relative <= 1e-14);
    assert_int_equal(info.entropy_falls, 0);
    assert_int_equal(info.retried_steps, 0);
    cls_simulator_free(&sim);
}

static const struct {
    const char *text; /* or a built-in system */
    double h;
    uint64_t begun, steps; /* the first ones may begin far from where they end */
} motions[] = {
    {three_bodies, 0.05, 20, 20000}, {three_bodies, 1, 20, 8000},
    {three_bodies, 50, 20, 3000},    {without_energy, 0.05, 20, 20000},
    {without_energy, 1, 20, 8000},   {nearly_a_reservoir, 0.1, 20, 8000},
    {through_zero, 0.01, 5, 10000},  {through_zero, 1, 5, 3000},
    {with_a_spring, 0.05, 5, 10000}, {"heat-rod", 0, 5, 20000},
    {"heat-rod", 1, 20, 5000},       {"heat-plate", 0, 5, 12000},
    {"heat-plate", 1, 20, 2000},
};
/* The sanitizer build has no time for the last two, the plate. */
enum { MOTIONS = sizeof motions / sizeof *motions, SMALL = MOTIONS - 2 };

static cls_system *system_of(const char *text) {
    return strchr(text, '\n') ? parse(text) : load(text);
}

static void iterations_stay_few(void **unused) {
    (void)unused;
    for (size_t k = 0; k < THINNED(MOTIONS, SMALL); k++) {
        cls_system *s = system_of(motions[k].text);
        double h = motions[k].h > 0 ? motions[k].h : cls_system_default_step(s);
        few_iterations(s, "discrete-gradient", h, motions[k].begun,
                       motions[k].steps / THINNED(1, 20), 3.5, 8);
        cls_system_free(&s);
    }
}

static void the_judge_finds_both_laws(void **unused) {
    (void)unused;
    static double state[512];
    char why[600];
    for (size_t k = 0; k < THINNED(MOTIONS, SMALL); k++) {
        cls_system *s = system_of(motions[k].text);
        double h = motions[k].h > 0 ? motions[k].h : cls_system_default_step(s);
        uint64_t steps = motions[k].steps / THINNED(1, 20);
        assert_int_equal(cls_system_start(s, NULL, state, NULL), CLS_OK);
        trial r = {"discrete-gradient", h, steps, steps < 200 ? 1 : steps / 200, 0};
        if (try_motion(s, state, r, why, sizeof why) != HELD)
            fail_msg("%s, h = %g: %s", motions[k].text, h, why);
        cls_system_free(&s);
    }
}

/* Lanes in which updates no longer shrink are left to the single step. */
static void lanes_at_rest(void **unused) {
    (void)unused;
    enum { MEMBERS = 40, STEPS = 6000, EVERY = 1000, ROWS = STEPS / EVERY + 1 };
    cls_system *s = parse(three_bodies);
    size_t n = cls_system_state_count(s), columns = cls_system_column_count(s);
    double *starts = calloc(MEMBERS * n, sizeof *starts), *row = calloc(columns, sizeof *row);
    double *rows = calloc(MEMBERS * ROWS * columns, sizeof *rows);
    cls_simulate_options o = cls_simulate_defaults();
    o.h = 0.5;
    for (size_t i = 0; i < MEMBERS; i++) {
        assert_int_equal(cls_system_start(s, NULL, starts + i * n, NULL), CLS_OK);
        for (size_t k = 0; k < n; k++) starts[i * n + k] *= 1 + 0.02 * (double)i;
    }
    assert_int_equal(cls_ensemble_run(s, &o, MEMBERS, starts, STEPS, EVERY, 1, rows, NULL), CLS_OK);
    for (size_t i = 0; i < MEMBERS; i += 13) {
        cls_simulator *sim;
        assert_int_equal(cls_simulator_create(s, &o, &sim, NULL), CLS_OK);
        assert_int_equal(cls_simulator_start(sim, 0, starts + i * n, NULL), CLS_OK);
        for (size_t k = 0; k < ROWS; k++) {
            if (k) advance(sim, EVERY);
            assert_int_equal(cls_simulator_row(sim, row, NULL), CLS_OK);
            assert_memory_equal(row, rows + (i * ROWS + k) * columns, columns * sizeof *row);
        }
        cls_simulator_free(&sim);
    }
    free(starts);
    free(row);
    free(rows);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_stay_few),
        cmocka_unit_test(the_judge_finds_both_laws),
        cmocka_unit_test(lanes_at_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
