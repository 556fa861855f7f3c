/* discrete-gradient-adaptive: the order conditions of its coefficients, accuracy, laws, output. */
#include "scheme/scheme.h"
#include "tests/simulate/motion.h"

static const char *const adaptive = "discrete-gradient-adaptive";

/* ---- order conditions ----
 *
 * A symmetric step of c h is exp(c h L + c^3 h^3 L3 + c^5 h^5 L5 + ...), L the motion, L3 and L5
 * what the step does wrong; a composition is a product of these, an embedded solution a weighted
 * sum of such products. L, L3, L5 do not commute: products are series over words. The right motion
 * is exp(h L), and order p means agreement on all words of degree up to p. */

enum { DEGREE = 6, MOST_WORDS = 64 };

typedef struct word {
    int length, degree, letter[DEGREE]; /* 1, 3, 5 */
} word;

typedef struct algebra {
    int n;
    word words[MOST_WORDS];
} algebra;

typedef double series[MOST_WORDS];

static void add_words(algebra *a, word w) {
    a->words[a->n++] = w;
    for (int letter = 1; letter <= 5; letter += 2) {
        if (w.degree + letter > DEGREE) continue;
        word longer = w;
        longer.letter[longer.length++] = letter;
        longer.degree += letter;
        add_words(a, longer);
    }
}

static int find(const algebra *a, const word *u, const word *v) {
    word w = *u;
    if (u->degree + v->degree > DEGREE) return -1;
    memcpy(w.letter + w.length, v->letter, (size_t)v->length * sizeof(int));
    w.length += v->length;
    w.degree += v->degree;
    for (int k = 0; k < a->n; k++)
        if (a->words[k].length == w.length &&
            !memcmp(a->words[k].letter, w.letter, (size_t)w.length * sizeof(int)))
            return k;
    fail_msg("a word is missing");
    return -1;
}

static void multiply(const algebra *a, const double *x, const double *y, double *out) {
    series sum = {0};
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->n; j++) {
            if (x[i] == 0 || y[j] == 0) continue;
            int k = find(a, &a->words[i], &a->words[j]);
            if (k >= 0) sum[k] += x[i] * y[j];
        }
    memcpy(out, sum, sizeof sum);
}

/* exp(c L + wrong (c^3 L3 + c^5 L5)) */
static void exponential(const algebra *a, double c, int wrong, double *out) {
    series x = {0}, term = {1};
    for (int k = 1; k < a->n; k++)
        if (a->words[k].length == 1 && (wrong || a->words[k].letter[0] == 1))
            x[k] = pow(c, a->words[k].letter[0]);
    memcpy(out, term, sizeof term);
    for (int power = 1; power <= DEGREE; power++) {
        multiply(a, term, x, term);
        for (int k = 0; k < a->n; k++) out[k] += term[k] /= power;
    }
}

/* The largest coefficient of the words of one degree. */
static double largest(const algebra *a, const double *x, int degree) {
    double most = 0;
    for (int k = 0; k < a->n; k++)
        if (a->words[k].degree == degree) most = fmax(most, fabs(x[k]));
    return most;
}

static void coefficients_satisfy_the_order_conditions(void **unused) {
    (void)unused;
    const clsi_scheme *scheme = clsi_scheme_find(adaptive);
    size_t n = scheme->n_composition;
    algebra a = {0};
    add_words(&a, (word){0});
    series product = {1}, factor, exact, high = {0}, low = {0};
    double cubes = 0, sum = 0;
    for (size_t i = 0; i <= n; i++) {
        for (int k = 0; k < a.n; k++) {
            high[k] += scheme->estimate[i] * product[k];
            low[k] += scheme->estimate[n + 1 + i] * product[k];
        }
        if (i == n) break;
        double c = scheme->composition[i];
        assert_true(c == scheme->composition[n - 1 - i]); /* symmetric */
        sum += c;
        cubes += c * c * c;
        exponential(&a, c, 1, factor);
        multiply(&a, product, factor, product);
        assert_true(sum > 0 && sum < 1 + 1e-15); /* the stages stay within the step */
    }
    assert_true(fabs(sum - 1) < 1e-15);
    assert_true(fabs(cubes) < 1e-15);
    exponential(&a, 1, 0, exact);
    for (int k = 0; k < a.n; k++) product[k] -= exact[k];
    for (int degree = 0; degree <= DEGREE; degree++)
        assert_true(largest(&a, product, degree) < 1e-14);
    for (int degree = 0; degree <= 4; degree++) assert_true(largest(&a, high, degree) < 1e-14);
    for (int degree = 0; degree <= 2; degree++) assert_true(largest(&a, low, degree) < 1e-14);
    assert_true(largest(&a, high, 5) > 1e-3); /* they do measure something */
    assert_true(largest(&a, low, 3) > 1e-3);
}

/* ---- motions ---- */

static cls_simulator *begin_with(const cls_system *s, double h, double accuracy) {
    cls_error error;
    cls_simulator *sim;
    double state[64];
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = adaptive;
    o.h = h;
    o.accuracy = accuracy;
    if (cls_system_start(s, NULL, state, &error) != CLS_OK) fail_msg("%s", error.message);
    if (cls_simulator_create(s, &o, &sim, &error) != CLS_OK) fail_msg("%s", error.message);
    if (cls_simulator_start(sim, 0, state, &error) != CLS_OK) fail_msg("%s", error.message);
    return sim;
}

/* With outputs so close that every internal step is one of them, h is the step. */
static void fixed_steps_show_order_six(void **unused) {
    (void)unused;
    static const struct {
        const char *system;
        double h, until;
    } rows[] = {{"pendulum", 0.2, 4}, {"adiabatic-piston", 0.125, 2}, {"two-pistons", 0.25, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cls_system *s = load(rows[i].system);
        double reference[64], error[2];
        run(s, "bdf", rows[i].until, rows[i].until, reference);
        for (int k = 0; k < 2; k++) {
            double h = rows[i].h / (k + 1);
            cls_simulator *sim = begin_with(s, h, 0.1);
            advance(sim, (uint64_t)(rows[i].until / h + 0.5));
            cls_simulate_info info = cls_simulator_info(sim);
            assert_int_equal(info.internal_steps, info.steps);
            error[k] = distance(s, cls_simulator_state(sim), reference);
            cls_simulator_free(&sim);
        }
        double order = log2(error[0] / error[1]);
        if (!(fabs(order - 6) <= 0.5))
            fail_msg("%s: order %.2f (%g, %g)", rows[i].system, order, error[0], error[1]);
        cls_system_free(&s);
    }
}

typedef struct motion {
    const char *system;
    double until, h;
} motion;

static const motion motions[] = {{"ideal-gas-piston", 10, 10},
                                 {"ideal-gas-piston", 10, 0.25},
                                 {"adiabatic-piston", 5, 1},
                                 {"two-body", 5, 0.5},
                                 {"pendulum", 5, 2.5},
                                 {"van-der-waals-piston", 10, 1},
                                 {"van-der-waals-forced", 5, 0.5},
                                 {"damped-oscillator", 5, 1}};

/* The error falls with the accuracy, and stays within a factor 100 of it. */
static void errors_follow_the_accuracy(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof motions / sizeof *motions; i++) {
        const motion *m = &motions[i];
        cls_system *s = load(m->system);
        double reference[64], before = INFINITY;
        uint64_t steps = 0;
        run(s, "bdf", m->until, m->until, reference);
        for (double accuracy = 1e-4; accuracy > 1e-11; accuracy *= 1e-3) {
            cls_simulator *sim = begin_with(s, m->h, accuracy);
            advance(sim, (uint64_t)(m->until / m->h + 0.5));
            double error = distance(s, cls_simulator_state(sim), reference);
            uint64_t internal = cls_simulator_info(sim).internal_steps;
            if (!(error <= 100 * accuracy))
                fail_msg("%s: %g asked, %g got", m->system, accuracy, error);
            if (!(error <= fmax(0.5 * before, 2e-11)))
                fail_msg("%s: %g asked, %g got, %g before", m->system, accuracy, error, before);
            assert_true(internal >= steps);
            before = error;
            steps = internal;
            cls_simulator_free(&sim);
        }
        cls_system_free(&s);
    }
}

/* Every built-in system, coarse and fine output and accuracy: the laws hold to round-off. */
static void laws_hold_at_any_accuracy(void **unused) {
    (void)unused;
    for (size_t i = 0; i < cls_builtin_count(); i++) {
        cls_system *s = load(cls_builtin_name(i));
        for (double accuracy = 1e-2; accuracy > 1e-10 && !cls_system_is_noisy(s); accuracy *= 1e-3)
            for (double h = 0.03; h < 3; h *= 9) {
                cls_simulator *sim = begin_with(s, h, accuracy);
                advance(sim, MANY(200));
                cls_simulate_info info = cls_simulator_info(sim);
                if (!(info.energy_relative <= 1e-13))
                    fail_msg("%s: energy %g", cls_builtin_name(i), info.energy_relative);
                if (info.entropy_falls)
                    fail_msg("%s: %d falls at %g, smallest step %g", cls_builtin_name(i),
                             (int)info.entropy_falls, accuracy, info.entropy_min_step);
                for (size_t k = 0; k < info.n_invariants; k++)
                    if (!(info.invariants[k].max_error <= 1e-12))
                        fail_msg("%s: %s %g", cls_builtin_name(i), info.invariants[k].name,
                                 info.invariants[k].max_error);
                cls_simulator_free(&sim);
            }
        cls_system_free(&s);
    }
}

static void output_times_are_exact(void **unused) {
    (void)unused;
    cls_system *s = load("ideal-gas-piston");
    double h = 0.1, row[64], start[64];
    cls_simulator *sim = begin_with(s, h, 1e-9);
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *fine;
    o.scheme = adaptive;
    o.h = h / 8;
    assert_int_equal(cls_system_start(s, NULL, start, NULL), CLS_OK);
    assert_int_equal(cls_simulator_create(s, &o, &fine, NULL), CLS_OK);
    assert_int_equal(cls_simulator_start(fine, 0, start, NULL), CLS_OK);
    for (int k = 1; k <= 20; k++) {
        advance(sim, 1);
        advance(fine, 8);
        assert_int_equal(cls_simulator_row(sim, row, NULL), CLS_OK);
        assert_true(row[0] == (double)k * h);
        assert_true(distance(s, cls_simulator_state(sim), cls_simulator_state(fine)) < 1e-9);
    }
    cls_simulate_info info = cls_simulator_info(sim);
    assert_int_equal(info.steps, 20);
    assert_true(info.internal_steps > 20);
    cls_simulator_free(&sim);
    cls_simulator_free(&fine);
    cls_system_free(&s);
}

/* The same bits again, also after another motion in between. */
static void starting_again_repeats(void **unused) {
    (void)unused;
    cls_system *s = load("adiabatic-piston");
    double start[64], other[64], first[64];
    assert_int_equal(cls_system_start(s, NULL, start, NULL), CLS_OK);
    memcpy(other, start, sizeof other);
    other[1] = 1;
    cls_simulator *sim = begin_with(s, 0.5, 1e-8);
    advance(sim, 20);
    memcpy(first, cls_simulator_state(sim), 4 * sizeof(double));
    assert_int_equal(cls_simulator_start(sim, 0, other, NULL), CLS_OK);
    advance(sim, 7);
    assert_int_equal(cls_simulator_start(sim, 0, start, NULL), CLS_OK);
    advance(sim, 20);
    assert_memory_equal(first, cls_simulator_state(sim), 4 * sizeof(double));
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* ---- hard places ---- */

static void walls_are_respected(void **unused) {
    (void)unused;
    cls_system *s = parse(WALL_OF_GAS);
    for (double h = 0.01; h < 10; h *= 8) {
        cls_simulator *sim = begin_with(s, h, 1e-6);
        for (int k = 0; k < MANY(200); k++) {
            advance(sim, 1);
            double x = cls_simulator_state(sim)[0];
            assert_true(x > 0 && x < 3);
        }
        cls_simulate_info info = cls_simulator_info(sim);
        assert_true(info.energy_relative < 1e-13);
        assert_int_equal(info.entropy_falls, 0);
        cls_simulator_free(&sim);
    }
    cls_system_free(&s);
}

static void leaving_the_domain_is_an_error(void **unused) {
    (void)unused;
    cls_system *s = parse(OUT_OF_THE_WORLD);
    cls_simulator *sim = begin_with(s, 0.1, 1e-9);
    cls_error error;
    assert_int_equal(cls_simulator_advance(sim, 100, &error), CLS_NUMERIC);
    assert_non_null(strstr(error.message, "leaves the declared domain"));
    assert_non_null(strstr(error.message, "step 15 at time 1.4"));
    assert_true(fabs(cls_simulator_state(sim)[0] - 0.98) < 1e-9); /* the last output */
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

static void a_runaway_is_stopped(void **unused) {
    (void)unused;
    cls_system *s = parse(FALLS_FOREVER);
    for (double h = 0.001; h < 2; h *= 5) {
        cls_simulator *sim = begin_with(s, h, 1e-9);
        cls_error error;
        assert_int_equal(cls_simulator_advance(sim, 100000, &error), CLS_NUMERIC);
        assert_true(cls_simulator_info(sim).energy_relative < 1e-5);
        cls_simulator_free(&sim);
    }
    cls_system_free(&s);
}

/* Friction of the wrong sign is for the judge to condemn; here it must not hang or be hidden. */
static void wrong_friction_is_simulated_and_counted(void **unused) {
    (void)unused;
    cls_system *s = parse("system \"a motor run by heat\"\n"
                          "coordinate x\n"
                          "entropy S\n"
                          "lagrangian v.x^2/2 - x^2/2 - exp(S)\n"
                          "friction on S: x <- 0.05*v.x\n"
                          "start x = 1, v.x = 0, S = 1\n");
    cls_simulator *sim = begin_with(s, 0.5, 1e-8);
    double reference[3];
    advance(sim, 6);
    run(s, "bdf", 3, 3, reference);
    assert_true(distance(s, cls_simulator_state(sim), reference) < 1e-6);
    assert_true(cls_simulator_info(sim).entropy_falls > 0);
    assert_true(cls_simulator_info(sim).rejected_steps < 50);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

static void bad_accuracies_are_refused(void **unused) {
    (void)unused;
    cls_system *s = load("pendulum");
    const double bad[] = {0, -1e-9, 1e-14, 1, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cls_simulate_options o = cls_simulate_defaults();
        cls_simulator *sim;
        cls_error error;
        o.scheme = adaptive;
        o.accuracy = bad[i];
        assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_USAGE);
        assert_null(sim);
        assert_non_null(strstr(error.message, "accuracy"));
    }
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(coefficients_satisfy_the_order_conditions),
                                       cmocka_unit_test(fixed_steps_show_order_six),
                                       cmocka_unit_test(errors_follow_the_accuracy),
                                       cmocka_unit_test(laws_hold_at_any_accuracy),
                                       cmocka_unit_test(output_times_are_exact),
                                       cmocka_unit_test(starting_again_repeats),
                                       cmocka_unit_test(walls_are_respected),
                                       cmocka_unit_test(leaving_the_domain_is_an_error),
                                       cmocka_unit_test(a_runaway_is_stopped),
                                       cmocka_unit_test(wrong_friction_is_simulated_and_counted),
                                       cmocka_unit_test(bad_accuracies_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
