/* Identification by convex programs, on the thermoelastic double pendulum: the figures of
 * docs/physics/metriplectic.md, the laws at states that were never seen, what the literal method
 * of the paper does, noise, gaps, symmetries, and what cannot be told from the data. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "identify/identify.h"
#include "tests/learn/pendulum.h"
#include <stdlib.h>

enum { ALL = PENDULUM_COLUMNS, STATES = 11, WITH_T = 13, ONE_T = 12 };

#define MECHANICAL "polynomial(2; q1x, q1y, q2x, q2y, p.q1x, p.q1y, p.q2x, p.q2y)"

static cls_system *pendulum;
static double own_start[10], other_start[10];
static cls_table *own_path, *other_path; /* 321 states from each */
static const char *const unknown[] = {"E", "M"};

static int load(void **unused) {
    (void)unused;
    const char *names[] = {"q1x",   "q1y",   "q2x",   "q2y",     "p.q1x",
                           "p.q1y", "p.q2x", "p.q2y", "theta_a", "theta_b"};
    const double values[] = {3, 2, 1, 4, 0.5, -0.5, 0.3, 1, 400, 380};
    cls_assignments given = {10, names, values};
    if (cls_system_load("thermoelastic-double-pendulum", NULL, &pendulum, NULL) ||
        cls_system_start(pendulum, NULL, own_start, NULL) ||
        cls_system_start(pendulum, &given, other_start, NULL))
        return 1;
    own_path = pendulum_path(pendulum, own_start, 321, PENDULUM_DT);
    other_path = pendulum_path(pendulum, other_start, 321, PENDULUM_DT);
    return 0;
}

static int unload(void **unused) {
    (void)unused;
    cls_table_free(&own_path);
    cls_table_free(&other_path);
    cls_system_free(&pendulum);
    return 0;
}

static cls_identify_options options(const char *dictionary) {
    cls_identify_options o = cls_identify_defaults();
    o.n_unknown = 2;
    o.unknown = unknown;
    o.dictionary = dictionary;
    return o;
}

static cls_identified *identify(cls_table *data, const cls_identify_options *o,
                                cls_identify_info *info) {
    cls_error error;
    cls_identified *id;
    const cls_table *tables[] = {data};
    const char *name = "made";
    if (cls_identify(pendulum, NULL, 1, tables, &name, o, &id, info, &error) != CLS_OK)
        fail_msg("%s", error.message);
    cls_table_free(&data);
    return id;
}

static cls_table *own_data(size_t columns) {
    return pendulum_data(own_path, 160, 0, 1, columns);
}

/* What was identified against the truth, along a path of 321 points. */
typedef struct comparison {
    double T, sdot, sdot_beyond, k_low, k_high, degeneracy, lowest_production, eigen, temperature;
    size_t negative;
} comparison;

static comparison compare(const cls_identified *id, const cls_table *path) {
    comparison c = {.k_low = INFINITY, .k_high = -INFINITY, .lowest_production = INFINITY};
    double size = 0.0307; /* characteristic rate of the entropies on the training data */
    for (size_t i = 0; i < 321; i++) {
        double z[10], rate[10], slope[10], M[4], theta[2], truth[10];
        for (size_t k = 0; k < 10; k++) z[k] = cls_table_column(path, 1 + k)[i];
        assert_int_equal(cls_identified_at(id, z, rate, slope, M, NULL), CLS_OK);
        pendulum_rates(z, theta, truth);
        double worst = fmax(fabs(rate[8] - truth[8]), fabs(rate[9] - truth[9])) / size;
        double production = M[0] + M[1] + M[2] + M[3];
        if (i < 160) {
            c.sdot = fmax(c.sdot, worst);
            c.T = fmax(c.T, fmax(fabs(slope[8] - theta[0]), fabs(slope[9] - theta[1])));
            c.k_low = fmin(c.k_low, -M[1]);
            c.k_high = fmax(c.k_high, -M[1]);
        } else {
            c.sdot_beyond = fmax(c.sdot_beyond, worst);
        }
        for (int l = 0; l < 2; l++)
            c.degeneracy = fmax(c.degeneracy, fabs(M[2 * l] * slope[8] + M[2 * l + 1] * slope[9]));
        c.temperature = fmax(c.temperature, fmax(fabs(slope[8]), fabs(slope[9])));
        c.lowest_production = fmin(c.lowest_production, production);
        c.negative += production < 0;
        c.eigen = fmin(c.eigen, (M[0] + M[3]) / 2 - hypot((M[0] - M[3]) / 2, M[1]));
    }
    return c;
}

static double coefficient(const cls_identified *id, const char *term) {
    for (size_t i = 0; i < cls_identified_terms(id); i++) {
        double x;
        if (strcmp(cls_identified_term(id, i, NULL, &x), term) == 0) return x;
    }
    return NAN;
}

/* ---- the sound method ---- */

static void temperatures_and_conductance(void **unused) {
    (void)unused;
    cls_identify_info info;
    cls_identify_options o = options(NULL);
    cls_identified *id = identify(own_data(ALL), &o, &info);
    comparison c = compare(id, own_path);
    assert_int_equal(info.rates, CLS_RATES_MEASURED);
    assert_int_equal(info.energy.unknowns, 65);
    assert_int_equal(info.energy.rank, 65);
    assert_int_equal(info.friction.rank, 11);
    assert_true(info.energy.kkt < 1e-12 && info.friction.kkt < 1e-12);
    assert_true(c.T < 7.3e-3);
    assert_true(c.k_low > 0.4998 - 1e-4 && c.k_high < 0.5003);
    assert_true(c.sdot < 1.1e-3 && c.sdot_beyond < 3.0e-3);
    assert_true(c.degeneracy < 1e-12 && c.negative == 0 && c.eigen > -1e-12);
    assert_string_equal(cls_identified_words(id), "");
    cls_identified_free(&id);
}

static void one_temperature_is_enough(void **unused) {
    (void)unused;
    cls_identify_info info;
    cls_identify_options o = options("E: " MECHANICAL ", polynomial(2; s_a), polynomial(2; s_b)");
    cls_table *all = own_data(ALL), *some;
    const char *names[ALL - 1];
    for (size_t k = 0, n = 0; k < ALL; k++)
        if (strcmp(pendulum_names[k], "theta_b") != 0) names[n++] = pendulum_names[k];
    assert_int_equal(cls_table_create(ALL - 1, names, &some, NULL), CLS_OK);
    for (size_t i = 0; i < cls_table_rows(all); i++) {
        double row[ALL - 1];
        for (size_t k = 0, n = 0; k < ALL; k++)
            if (k != 12) row[n++] = cls_table_column(all, k)[i];
        assert_int_equal(cls_table_append(some, row, NULL), CLS_OK);
    }
    cls_table_free(&all);
    cls_identified *id = identify(some, &o, &info);
    comparison c = compare(id, own_path);
    if (!(c.T < 0.09)) fail_msg("temperature off by %g K", c.T);
    cls_identified_free(&id);
}

static void spring_lengths_are_found_exactly(void **unused) {
    (void)unused;
    cls_identify_info info;
    cls_identify_options o =
        options("E: " MECHANICAL ", polynomial(2; s_a, s_b), lambda_a, lambda_b");
    cls_identified *id = identify(own_data(ALL), &o, &info);
    assert_true(info.reversible < 1e-13);
    assert_true(fabs(coefficient(id, "sqrt(q1x^2 + q1y^2)") + 0.1) < 1e-10);
    assert_true(fabs(coefficient(id, "sqrt((q2x - q1x)^2 + (q2y - q1y)^2)") + 0.1) < 1e-10);
    cls_identified_free(&id);
}

static void few_terms_that_a_person_can_read(void **unused) {
    (void)unused;
    cls_identify_info info;
    cls_identify_options o =
        options("E: polynomial(2), lambda_a, lambda_b, exp(s_a/c), exp(s_b/c); M: polynomial(1)");
    o.sparse = 1e-6;
    cls_identified *id = identify(own_data(ALL), &o, &info);
    assert_int_equal(info.energy.terms, 14); /* of 69 */
    assert_int_equal(info.friction.terms, 1);
    assert_true(fabs(coefficient(id, "exp(s_a/10)") - 3200) < 1e-8);
    assert_true(fabs(coefficient(id, "q1x*q2x") + 1) < 1e-12);
    assert_true(fabs(coefficient(id, "1") - 0.5) < 1e-12);
    assert_non_null(strstr(cls_identified_formulas(id), "3200*exp(s_a/10)"));
    assert_non_null(strstr(cls_identified_formulas(id), "M = 0.5\n"));
    cls_identified_free(&id);
}

static void laws_at_states_never_seen(void **unused) {
    (void)unused;
    cls_identify_info info;
    cls_identify_options o = options(NULL);
    cls_identified *id = identify(own_data(WITH_T), &o, &info);
    comparison c = compare(id, other_path);
    assert_int_equal(c.negative, 0);
    assert_true(c.lowest_production >= 0 && c.eigen > -1e-12 && c.degeneracy < 1e-12);
    cls_model *m = cls_identified_take_model(id);
    cls_simulator *sim;
    cls_simulate_options so = cls_simulate_defaults();
    so.scheme = "eem";
    so.h = PENDULUM_DT;
    assert_int_equal(cls_simulator_create(cls_model_system(m), &so, &sim, NULL), CLS_OK);
    assert_int_equal(cls_simulator_start(sim, 0, other_start, NULL), CLS_OK);
    assert_int_equal(cls_simulator_advance(sim, 320, NULL), CLS_OK);
    cls_simulate_info run = cls_simulator_info(sim);
    if (!(run.energy_relative <= 1e-14)) fail_msg("energy error %g", run.energy_relative);
    assert_int_equal(run.entropy_falls, 0);
    cls_simulator_free(&sim);
    cls_model_free(&m);
    cls_identified_free(&id);
}

/* ---- conditions ---- */

static void symmetry_is_a_condition(void **unused) {
    (void)unused;
    cls_identify_info info;
    cls_identify_options o = options("E: polynomial(2), lambda_a, lambda_b; M: 1");
    o.symmetries = "J";
    cls_identified *id = identify(pendulum_data(own_path, 160, 0.01, 3, WITH_T), &o, &info);
    cls_random random;
    cls_random_seed(&random, 5);
    assert_true(info.energy.conditions > 30);
    for (int i = 0; i < 100; i++) {
        double z[10], g[10], turn = 0, size = 0;
        for (int k = 0; k < 10; k++) z[k] = 5 * cls_random_normal(&random);
        assert_int_equal(cls_identified_at(id, z, NULL, g, NULL, NULL), CLS_OK);
        for (int k = 0; k < 8; k += 2) {
            turn += z[k] * g[k + 1] - z[k + 1] * g[k];
            size += fabs(z[k] * g[k + 1]);
        }
        if (!(fabs(turn) < 1e-10 * size)) fail_msg("energy turns by %g", turn / size);
    }
    cls_identified_free(&id);
}

static void known_terms_stay(void **unused) {
    (void)unused;
    cls_error error;
    cls_identified *id;
    cls_identify_info info;
    cls_identify_options o = cls_identify_defaults();
    cls_system *s;
    const char *text =
        "coordinate q1x, q1y, q2x, q2y\nentropy s_a, s_b\n"
        "part U = unknown polynomial(2; q1x, q1y, q2x, q2y)\n"
        "hamiltonian E = (p.q1x^2 + p.q1y^2 + p.q2x^2 + p.q2y^2)/2\n"
        "  - 0.1*sqrt(q1x^2 + q1y^2) - 0.1*sqrt((q2x - q1x)^2 + (q2y - q1y)^2) + U\n"
        "  + 3200*exp(s_a/10) + 3200*exp(s_b/10)\n"
        "heat exchange M theta_a <-> theta_b: unknown terms(1)\n"
        "start q1x = 1, q1y = 1, q2x = 0, q2y = 2, p.q1x = 0, p.q1y = 0, p.q2x = 0, p.q2y = 0,\n"
        "  s_a = 1, s_b = 2\n";
    if (cls_system_parse(text, "known", NULL, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    cls_table *data = own_data(ALL);
    const cls_table *tables[] = {data};
    const char *name = "made";
    if (cls_identify(s, NULL, 1, tables, &name, &o, &id, &info, &error) != CLS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(info.energy.unknowns, 14);
    assert_true(info.reversible < 1e-13 && info.friction.residual < 1e-12);
    assert_true(fabs(coefficient(id, "q1x*q2x") + 1) < 1e-12);
    assert_true(fabs(coefficient(id, "1") - 0.5) < 1e-12);
    cls_identified_free(&id);
    cls_table_free(&data);
    cls_system_free(&s);
}

/* kappa of a `dissipation`: the coefficient of w w^T, k/(theta_a theta_b). */
static void dissipations_are_found(void **unused) {
    (void)unused;
    cls_error error;
    cls_identified *id;
    cls_identify_info info;
    cls_identify_options o = cls_identify_defaults();
    cls_system *s;
    const char *text =
        "coordinate q1x, q1y, q2x, q2y\nentropy s_a, s_b\n"
        "energy E = unknown polynomial(2), sqrt(q1x^2 + q1y^2), exp(s_a/10), exp(s_b/10),\n"
        "  sqrt((q2x - q1x)^2 + (q2y - q1y)^2)\n"
        "dissipation M = unknown 1, 1/(theta_a*theta_b): s_a <- theta_b, s_b <- -theta_a\n"
        "start q1x = 1, q1y = 1, q2x = 0, q2y = 2, p.q1x = 0, p.q1y = 0, p.q2x = 0, p.q2y = 0,\n"
        "  s_a = 1, s_b = 2\n";
    if (cls_system_parse(text, "w", NULL, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    cls_table *data = own_data(ALL);
    const cls_table *tables[] = {data};
    const char *name = "made";
    o.sparse = 1e-6;
    if (cls_identify(s, NULL, 1, tables, &name, &o, &id, &info, &error) != CLS_OK)
        fail_msg("%s", error.message);
    assert_true(fabs(coefficient(id, "1/(theta_a*theta_b)") - 0.5) < 1e-9);
    comparison c = compare(id, other_path);
    assert_true(c.negative == 0 && c.sdot < 1e-9 && c.degeneracy < 1e-12);
    cls_model *m = cls_identified_take_model(id);
    assert_int_equal(cls_system_formalism(cls_model_system(m)), CLS_METRIPLECTIC);
    cls_model_free(&m);
    cls_identified_free(&id);
    cls_table_free(&data);
    cls_system_free(&s);
}

/* A conductance that wants to be negative meets its bound, with a certificate. */
static void conductance_is_not_negative(void **unused) {
    (void)unused;
    cls_identify_info info;
    cls_identify_options o = options(NULL);
    cls_table *t = own_data(ALL), *back;
    assert_int_equal(cls_table_create(ALL, pendulum_names, &back, NULL), CLS_OK);
    for (size_t i = 0; i < cls_table_rows(t); i++) {
        double row[ALL];
        for (size_t k = 0; k < ALL; k++) row[k] = cls_table_column(t, k)[i];
        row[21] *= -1; /* heat from cold to warm */
        row[22] *= -1;
        assert_int_equal(cls_table_append(back, row, NULL), CLS_OK);
    }
    cls_table_free(&t);
    cls_identified *id = identify(back, &o, &info);
    assert_true(info.friction.active > 0);
    assert_true(info.friction.kkt < 1e-9 && info.friction.gap < 1e-12);
    comparison c = compare(id, own_path);
    assert_true(c.k_low > -1e-9);
    cls_identified_free(&id);
}

/* ---- the paper's method ---- */

static void literal_method_and_what_is_wrong_with_it(void **unused) {
    (void)unused;
    cls_identify_info info;
    cls_identify_options o = options(NULL);
    o.literal = 1;
    cls_identified *id = identify(own_data(ALL), &o, &info);
    comparison here = compare(id, own_path), there = compare(id, other_path);
    assert_int_equal(info.friction.unknowns, 33);
    assert_int_equal(info.friction.rank, 22);
    assert_true(fabs(info.friction.residual - 1.1e-5) < 0.05e-5);
    assert_true(fabs(info.energy.residual - 2.75e-3) < 0.005e-3);
    assert_true(here.temperature < 1e-10); /* dE/dS = 0 */
    assert_true(here.degeneracy < 1e-12);  /* trivially */
    assert_true(here.eigen < -0.02);       /* M is indefinite */
    assert_int_equal(there.negative, 321);
    assert_null(cls_identified_take_model(id));
    cls_identified_free(&id);
}

/* ---- rates ---- */

static void windows_are_exact_for_polynomials(void **unused) {
    (void)unused;
    cls_random random;
    cls_random_seed(&random, 2);
    for (int trial = 0; trial < 200; trial++) {
        size_t n = 3 + 2 * (size_t)(cls_random_uniform(&random) * 19);
        size_t degree = 2 + (size_t)(cls_random_uniform(&random) * 8);
        double t[CLSI_WINDOW], w[CLSI_WINDOW], c[CLSI_WINDOW], sum = 0;
        if (degree >= n) degree = n - 1;
        for (size_t i = 0; i < n; i++)
            t[i] = (i ? t[i - 1] : -3) + 0.1 * (0.5 + cls_random_uniform(&random));
        clsi_window_rates(n, t, degree, trial % 2, w, c);
        for (size_t i = 0; i < n; i++) sum += w[i];
        assert_true(fabs(sum - 1) < 1e-12);
        for (size_t k = 0; k <= degree; k++) {
            double left = 0, right = 0, size = 1e-300, half = (t[n - 1] - t[0]) / 2;
            for (size_t i = 0; i < n; i++) {
                double s = (t[i] - t[0]) / half - 1;
                left += c[i] * pow(s, (double)k);
                right += k ? w[i] * (double)k * pow(s, (double)k - 1) / half : 0;
                size += fabs(c[i]);
            }
            if (!(fabs(left - right) < 1e-11 * size)) fail_msg("n %zu degree %zu", n, k);
        }
    }
}

static void noise_is_measured(void **unused) {
    (void)unused;
    cls_identify_info info;
    cls_identify_options o = options(NULL);
    for (double noise = 0.01; noise < 0.05; noise *= 2) {
        cls_identified *id = identify(pendulum_data(own_path, 320, noise, 7, WITH_T), &o, &info);
        if (!(info.noise > 0.8 * noise && info.noise < 1.3 * noise))
            fail_msg("noise %g measured as %g", noise, info.noise);
        cls_identified_free(&id);
    }
}

static void noise_does_not_break_the_laws(void **unused) {
    (void)unused;
    cls_identify_info info;
    cls_identify_options o = options("E: polynomial(2), lambda_a, lambda_b; M: 1");
    o.symmetries = "J";
    for (uint64_t seed = 1; seed <= 3; seed++) {
        cls_identified *id = identify(pendulum_data(own_path, 160, 0.01, seed, WITH_T), &o, &info);
        comparison c = compare(id, other_path);
        assert_int_equal(info.rates, CLS_RATES_WEAK);
        assert_true(c.negative == 0 && c.degeneracy < 1e-12 && c.eigen > -1e-12);
        if (!(fabs(c.k_low - 0.5) < 0.01)) fail_msg("k = %g", c.k_low);
        cls_identified_free(&id);
    }
}

/* The weak form forms no derivative: it is the better one for coarse and for noisy data. */
static void weak_form_beats_local_derivatives(void **unused) {
    (void)unused;
    for (int noisy = 0; noisy < 2; noisy++) {
        double off[2];
        for (int local = 0; local < 2; local++) {
            cls_identify_info info;
            cls_identify_options o = options("E: polynomial(2), lambda_a, lambda_b; M: 1");
            o.rates = local ? CLS_RATES_LOCAL : CLS_RATES_WEAK;
            o.symmetries = "J";
            cls_identified *id =
                identify(pendulum_data(own_path, 160, noisy ? 0.01 : 0, 1, WITH_T), &o, &info);
            off[local] = fabs(coefficient(id, "q1x*q2x") + 1);
            cls_identified_free(&id);
        }
        if (!(off[0] < off[1])) fail_msg("weak %g, local %g", off[0], off[1]);
    }
}

static void gaps_are_not_bridged(void **unused) {
    (void)unused;
    cls_table *t = own_data(STATES), *holes;
    clsi_qp_data *d;
    assert_int_equal(cls_table_create(STATES, pendulum_names, &holes, NULL), CLS_OK);
    for (size_t i = 0; i < cls_table_rows(t); i++) {
        double row[STATES];
        for (size_t k = 0; k < STATES; k++) row[k] = cls_table_column(t, k)[i];
        if (i / 10 != 5) assert_int_equal(cls_table_append(holes, row, NULL), CLS_OK);
    }
    const cls_table *tables[] = {holes};
    const char *name = "holes";
    assert_int_equal(clsi_qp_data_create(pendulum, 1, tables, &name, CLS_RATES_WEAK, &d, NULL),
                     CLS_OK);
    assert_int_equal(d->n_runs, 2);
    for (size_t i = 0; i < d->n_probes; i++) {
        const clsi_probe *p = &d->probe[i];
        assert_true(d->time[p->first + p->count - 1] - d->time[p->first] <
                    ((double)p->count - 0.5) * PENDULUM_DT);
    }
    clsi_qp_data_free(&d);
    cls_table_free(&t);
    cls_table_free(&holes);
}

/* ---- what cannot be told ---- */

static void expect_refusal(cls_table *data, const cls_identify_options *o, cls_status status,
                           const char *words) {
    cls_error error = {0};
    cls_identified *id;
    cls_identify_info info;
    const cls_table *tables[] = {data};
    const char *name = "made";
    assert_int_equal(cls_identify(pendulum, NULL, 1, tables, &name, o, &id, &info, &error), status);
    assert_null(id);
    if (!strstr(error.message, words)) fail_msg("'%s' lacks '%s'", error.message, words);
    cls_table_free(&data);
}

static void refusals_say_why(void **unused) {
    (void)unused;
    cls_identify_options o = options(NULL);
    expect_refusal(own_data(STATES), &o, CLS_DATA, "no temperature is measured");
    o.rates = CLS_RATES_MEASURED;
    expect_refusal(own_data(WITH_T), &o, CLS_DATA, "d.q1x");
    o = options("E: polynomial(2), lambda_c");
    expect_refusal(own_data(ALL), &o, CLS_USAGE, "lambda_c");
    o = options("E: polynomial(2; q1z)");
    expect_refusal(own_data(ALL), &o, CLS_USAGE, "did you mean");
    o = options("K: polynomial(2)");
    expect_refusal(own_data(ALL), &o, CLS_USAGE, "'K'");
    o = options(NULL);
    o.symmetries = "L";
    expect_refusal(own_data(ALL), &o, CLS_USAGE, "there are J");
    o = options(NULL);
    o.sparse = 2;
    expect_refusal(own_data(ALL), &o, CLS_USAGE, "sparsity");
}

static void unseen_directions_have_words(void **unused) {
    (void)unused;
    cls_identify_info info;
    cls_identify_options o =
        options("E: polynomial(2), q1x^2 + 3*s_b; M: theta_a, theta_b, theta_a + theta_b");
    cls_identified *id = identify(own_data(ALL), &o, &info);
    const char *words = cls_identified_words(id);
    assert_int_equal(info.energy.nullity, 1);
    assert_int_equal(info.friction.nullity, 1);
    assert_non_null(strstr(words, "energy: the data cannot tell"));
    assert_non_null(strstr(words, "q1x^2 + 3*s_b"));
    assert_non_null(strstr(words, "friction: the data cannot tell"));
    cls_identified_free(&id);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(temperatures_and_conductance),
        cmocka_unit_test(one_temperature_is_enough),
        cmocka_unit_test(spring_lengths_are_found_exactly),
        cmocka_unit_test(few_terms_that_a_person_can_read),
        cmocka_unit_test(laws_at_states_never_seen),
        cmocka_unit_test(symmetry_is_a_condition),
        cmocka_unit_test(known_terms_stay),
        cmocka_unit_test(dissipations_are_found),
        cmocka_unit_test(conductance_is_not_negative),
        cmocka_unit_test(literal_method_and_what_is_wrong_with_it),
        cmocka_unit_test(windows_are_exact_for_polynomials),
        cmocka_unit_test(noise_is_measured),
        cmocka_unit_test(noise_does_not_break_the_laws),
        cmocka_unit_test(weak_form_beats_local_derivatives),
        cmocka_unit_test(gaps_are_not_bridged),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(unseen_directions_have_words),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
