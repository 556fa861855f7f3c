/* Steps compiled for few unknowns: the bits of the same steps for any number of them, of all systems, schemes and
 * lengths that have them, of motions that fail as of those that do not. */
#include "expr/native.h"
#include "simulate/simulator.h"
#include "tests/simulate/motion.h"

typedef struct pair {
    cls_simulator *few, *any;
} pair;

static pair open_pair(const cls_system *s, const char *scheme, double h, int monitor) {
    cls_simulate_options o = cls_simulate_defaults();
    double start[64];
    pair p;
    o.scheme = scheme;
    o.h = h;
    o.monitor = monitor;
    assert_int_equal(cls_system_start(s, NULL, start, NULL), CLS_OK);
    assert_int_equal(cls_simulator_create(s, &o, &p.few, NULL), CLS_OK);
    assert_int_equal(cls_simulator_create(s, &o, &p.any, NULL), CLS_OK);
    p.any->few = NULL;
    assert_int_equal(cls_simulator_start(p.few, 0, start, NULL), CLS_OK);
    assert_int_equal(cls_simulator_start(p.any, 0, start, NULL), CLS_OK);
    return p;
}

static void check_equal(const pair *p, const char *what) {
    cls_simulate_info a = cls_simulator_info(p->few), b = cls_simulator_info(p->any);
    if (memcmp(p->few->state, p->any->state, p->any->n_kept * sizeof(double)) != 0)
        fail_msg("%s: the states differ after %llu steps", what, (unsigned long long)b.steps);
    if (a.steps != b.steps || a.newton_iterations != b.newton_iterations ||
        a.retried_steps != b.retried_steps || a.entropy_falls != b.entropy_falls ||
        a.alternations != b.alternations || a.energy_max_error != b.energy_max_error ||
        a.entropy_min_step != b.entropy_min_step || a.entropy_final != b.entropy_final)
        fail_msg("%s: what was watched differs after %llu steps", what,
                 (unsigned long long)b.steps);
    for (size_t i = 0; i < b.n_invariants; i++)
        assert_true(p->few->invariants[i].max_error == p->any->invariants[i].max_error);
}

/* Until both fail, with one sentence, or for `steps`; how many steps were compared. */
static size_t compare(const cls_system *s, const char *scheme, double h, int monitor,
                      size_t steps) {
    pair p = open_pair(s, scheme, h, monitor);
    size_t done = 0;
    if (p.few->few) {
        cls_error one, other;
        cls_status status = CLS_OK;
        for (size_t n = 1; done < steps && status == CLS_OK; done += n, n = n < 64 ? 2 * n : n) {
            status = cls_simulator_advance(p.few, n, &one);
            assert_int_equal(cls_simulator_advance(p.any, n, &other), status);
            check_equal(&p, scheme);
        }
        if (status != CLS_OK) assert_string_equal(one.message, other.message);
    }
    cls_simulator_free(&p.few);
    cls_simulator_free(&p.any);
    return done;
}

/* Not on a machine for which there is no machine code. */
static int has_few(void) {
    cls_system *s = load("ideal-gas-piston");
    cls_simulator *sim = begin(s, NULL, 0.01);
    int has = sim->few != NULL;
    assert_int_equal(has, sim->stepper->residual->native != NULL);
    cls_simulator_free(&sim);
    cls_system_free(&s);
    return has;
}

static void few_unknowns_have_the_bits_of_any(void **unused) {
    (void)unused;
    if (!has_few()) skip();
    size_t compared = 0;
    for (size_t i = 0; i < cls_builtin_count(); i++) {
        cls_system *s = load(cls_builtin_name(i));
        double h = cls_system_default_step(s);
        for (size_t k = 0; k < cls_scheme_count() && cls_system_state_count(s) < 8; k++) {
            const char *scheme = cls_scheme_at(k)->name;
            if (strcmp(scheme, "bdf") == 0 || cls_scheme_applies(scheme, s, NULL) != CLS_OK)
                continue;
            compared += compare(s, scheme, h, 1, 700);
            compared += compare(s, scheme, h, 0, 100);
            compared += compare(s, scheme, 30 * h, 1, 200);  /* halved, retried, careful */
            compared += compare(s, scheme, 400 * h, 1, 100); /* failing */
        }
        cls_system_free(&s);
    }
    assert_true(compared > 20000); /* the test would be about little otherwise */
}

/* A domain, which is asked before and after each solve. */
static void few_unknowns_stay_in_the_domain(void **unused) {
    (void)unused;
    if (!has_few()) skip();
    cls_system *s = parse(WALL_OF_GAS);
    size_t compared = 0;
    for (double h = 0.01; h < 4; h *= 2) compared += compare(s, NULL, h, 1, 300);
    cls_system_free(&s);
    assert_true(compared > 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_unknowns_have_the_bits_of_any),
        cmocka_unit_test(few_unknowns_stay_in_the_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
