/* Thermal noise and energies that contain t. Energy minus heat and work is constant to round-off; motions
 * have the distribution of Maxwell and Boltzmann at any step that can be solved; bits are a function of
 * seed and member; what would have another distribution is refused. */
#include "tests/allocations.h"
#include "motion.h"
#include <stdio.h>
#include <stdlib.h>

#define WELL                                                                                       \
    "coordinate x\nparameter kB = 1, T0 = 1, gamma = 0.5\nreservoir Tr = T0\n"                     \
    "hamiltonian p.x^2/2 + (x^2 - 1)^2\nfriction on Tr: x <- -gamma*v.x\n"                         \
    "thermal noise on Tr: kB\nstart x = 1, p.x = 0\n"
/* Masses that depend on the place and couple, friction that is a full matrix of the place. */
#define ARM                                                                                        \
    "coordinate x, y\nparameter kB = 0.5\nreservoir Tr = 2\nlet a = 2 + sin(x)\nlet b = 1 + "      \
    "0.3*y^2\n"                                                                                    \
    "hamiltonian a*p.x^2/2 + 0.4*p.x*p.y + b*p.y^2/2 + x^2 + y^2/2 + 0.2*x*y\n"                    \
    "friction on Tr: x <- -(0.5 + 0.2*y^2)*v.x - 0.1*v.y, y <- -0.1*v.x - 0.7*v.y\n"               \
    "thermal noise on Tr: kB\nstart x = 0.1, p.x = 0, y = 0, p.y = 0\n"
/* Two particles, each in its own fluid. */
#define PAIR                                                                                       \
    "coordinate x, y\nparameter kB = 1\nreservoir hot = 2\nreservoir cold = 1\n"                   \
    "hamiltonian (p.x^2 + p.y^2)/2 + (x^2 + y^2)/2 + (x - y)^2/2\n"                                \
    "friction on hot: x <- -v.x\nfriction on cold: y <- -v.y\n"                                    \
    "thermal noise on hot: kB\nthermal noise on cold: kB\n"                                        \
    "start x = 0, p.x = 0, y = 0, p.y = 0\n"
/* Noise beside friction that warms a body, and a force from outside. */
#define MIXED                                                                                      \
    "coordinate x, y\nentropy S\nparameter kB = 0.1\nreservoir Tr = 1 + 0.1*sin(t)\n"              \
    "hamiltonian p.x^2/2 + p.y^2/2 + x^4/4 + (x - y)^2/2 + exp(S)\nfriction on S: y <- -0.2*v.y\n" \
    "friction on Tr: x <- -0.5*v.x\nthermal noise on Tr: kB\nexternal force: x <- 0.3*sin(t)\n"    \
    "start x = 1, p.x = 0, y = 0, p.y = 0, S = 0\n"

static void expect_first_law(const char *what, cls_simulate_info i) {
    if (!(i.energy_max_error <= 2e-13 * (10 + fabs(i.energy_initial))))
        fail_msg("%s: energy - heat is off by %g", what, i.energy_max_error);
}

static void energy_less_heat_is_constant(void **unused) {
    (void)unused;
    const char *const texts[] = {WELL, ARM, PAIR, MIXED};
    for (size_t k = 0; k < 4; k++)
        for (int large = 0; large < 2; large++) {
            cls_system *s = parse(texts[k]);
            cls_simulator *sim = begin(s, NULL, large ? 0.3 : 0.02);
            assert_string_equal(cls_simulator_info(sim).scheme, "langevin");
            advance(sim, MANY(20000));
            expect_first_law(texts[k], cls_simulator_info(sim));
            cls_simulator_free(&sim);
            cls_system_free(&s);
        }
}

/* ---- distributions ---- */

enum { BLOCKS = 50 };
typedef double (*quantity)(const double *z);

static double kinetic_x(const double *z) {
    return z[1] * z[1] / 2; /* (x, p.x) */
}
static double square_x(const double *z) {
    return z[0] * z[0];
}
/* p.E_p of (x, y, p.x, p.y): the mean is 2 kB T whatever the masses are. */
static double equipartition(const double *z) {
    double a = 2 + sin(z[0]), b = 1 + 0.3 * z[1] * z[1];
    return a * z[2] * z[2] + 0.8 * z[2] * z[3] + b * z[3] * z[3];
}
/* x E_x + y E_y: 2 kB T. */
static double virial(const double *z) {
    double x = z[0], y = z[1];
    double kinetic = x * cos(x) * z[2] * z[2] / 2 + 0.3 * y * y * z[3] * z[3];
    return kinetic + 2 * x * x + y * y + 0.4 * x * y;
}

/* The mean over a motion, in standard errors from `expected`; blocks are longer than memory. */
static double off(cls_system *s, double h, size_t steps, quantity f, double expected) {
    cls_simulator *sim = begin(s, NULL, h);
    double mean = 0, squares = 0;
    advance(sim, 200);
    for (size_t b = 0; b < BLOCKS; b++) {
        double sum = 0;
        for (size_t k = 0; k < steps / BLOCKS; k++) {
            advance(sim, 1);
            sum += f(cls_simulator_state(sim));
        }
        sum /= (double)(steps / BLOCKS);
        mean += sum / BLOCKS;
        squares += sum * sum / BLOCKS;
    }
    expect_first_law("statistics", cls_simulator_info(sim));
    cls_simulator_free(&sim);
    double error = sqrt((squares - mean * mean) / (BLOCKS - 1));
    return (mean - expected) / error;
}

/* <x^2> of exp(-(x^2 - 1)^2). */
static double well_square(void) {
    double sum = 0, all = 0;
    for (double x = -4; x <= 4; x += 1e-3) {
        double w = exp(-(x * x - 1) * (x * x - 1));
        sum += w * x * x;
        all += w;
    }
    return sum / all;
}

/* The small oscillations at the bottom are stable for leapfrog up to h = 2/sqrt(8) = 0.71. */
static void motions_have_the_distribution_of_maxwell_and_boltzmann(void **unused) {
    (void)unused;
    static const double steps[] = {0.1, 0.3, 0.6};
    cls_system *s = parse(WELL), *arm = parse(ARM);
    for (size_t k = 0; k < 3; k++) {
        double kinetic = off(s, steps[k], MANY(100000), kinetic_x, 0.5);
        double square = off(s, steps[k], MANY(100000), square_x, well_square());
        double momenta = off(arm, steps[k], MANY(60000), equipartition, 2);
        double places = off(arm, steps[k], MANY(60000), virial, 2);
        if (!(fabs(kinetic) <= 3 && fabs(square) <= 3.5 && fabs(momenta) <= 3 &&
              fabs(places) <= 3.5))
            fail_msg("h = %g: kinetic %.2f, x^2 %.2f, p.v %.2f, q.E_q %.2f standard errors off",
                     steps[k], kinetic, square, momenta, places);
    }
    cls_system_free(&s);
    cls_system_free(&arm);
}

/* A linear oscillator at three times the step where leapfrog explodes, and strong friction. */
static void linear_motions_have_it_at_any_step(void **unused) {
    (void)unused;
    cls_system *s = parse("coordinate x\nparameter kB = 1\nreservoir Tr = 1\n"
                          "hamiltonian p.x^2/2 + x^2/2\nfriction on Tr: x <- -5*v.x\n"
                          "thermal noise on Tr: kB\nstart x = 0, p.x = 0\n");
    double kinetic = off(s, 6, MANY(50000), kinetic_x, 0.5),
           place = off(s, 6, MANY(50000), square_x, 1);
    if (!(fabs(kinetic) <= 3 && fabs(place) <= 3)) fail_msg("%g and %g errors", kinetic, place);
    cls_system_free(&s);
}

/* Two reservoirs: heat goes from the hot one to the cold one, and the entropy of both rises. */
static void heat_flows_from_hot_to_cold(void **unused) {
    (void)unused;
    cls_system *s = parse(PAIR);
    cls_simulator *sim = begin(s, NULL, 0.1);
    advance(sim, MANY(40000));
    cls_simulate_info i = cls_simulator_info(sim);
    double time = cls_simulator_time(sim), rate = i.entropy_final / time;
    /* gamma = m = 1, springs of one: the heat per time is kappa (2 - 1) and makes kappa (1 - 1/2) of
     * entropy; kappa of two coupled oscillators by solving for their covariances */
    double kappa = 1.0 / 6;
    int long_enough = MANY(20) == 20; /* the mean of a short motion says nothing */
    if (long_enough && !(fabs(rate - kappa * 0.5) <= 0.1 * kappa))
        fail_msg("entropy per time %g, expected %g", rate, kappa * 0.5);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* With kB = 0 the scheme is a splitting of friction: its order shows. */
static void the_order_is_two(void **unused) {
    (void)unused;
    cls_system *s = parse("coordinate x\nparameter kB = 0\nreservoir Tr = 1\n"
                          "hamiltonian p.x^2/2 + (x^2 - 1)^2\nfriction on Tr: x <- -(1 + x^2)*v.x\n"
                          "thermal noise on Tr: kB\nstart x = 2, p.x = 0\n");
    assert_string_equal(cls_scheme_default(s), "discrete-gradient");
    double order = order_of(s, "langevin", 0.02, 1);
    if (!(fabs(order - 2) <= 0.15)) fail_msg("order %g", order);
    cls_system_free(&s);
}

/* Means and variances at one time against the exact ones, over an ensemble. */
static void the_way_to_equilibrium_is_right(void **unused) {
    (void)unused;
    cls_system *s = parse("coordinate x\nparameter kB = 1\nreservoir Tr = 1\n"
                          "hamiltonian p.x^2/2\nfriction on Tr: x <- -v.x\n"
                          "thermal noise on Tr: kB\nstart x = 0, p.x = 0\n");
    enum { MEMBERS = 4000 };
    size_t n = MANY(MEMBERS), columns = cls_system_column_count(s),
           size = cls_system_state_count(s);
    double *starts = calloc(n * size, sizeof *starts),
           *rows = calloc(n * 2 * columns, sizeof *rows);
    cls_error error;
    cls_simulate_options o = cls_simulate_defaults();
    o.h = 0.1;
    if (cls_ensemble_run(s, &o, n, starts, 10, 10, 2, rows, &error)) fail_msg("%s", error.message);
    double p2 = 0, x2 = 0, t = 1;
    for (size_t k = 0; k < n; k++) {
        const double *row = rows + (2 * k + 1) * columns;
        x2 += row[1] * row[1] / (double)n;
        p2 += row[2] * row[2] / (double)n;
    }
    double P2 = 1 - exp(-2 * t), X2 = 2 * t - 3 + 4 * exp(-t) - exp(-2 * t);
    double error_of = 4 * sqrt(2.0 / (double)n);
    if (!(fabs(p2 / P2 - 1) <= error_of && fabs(x2 / X2 - 1) <= error_of + 0.02))
        fail_msg("<p^2> %g of %g, <x^2> %g of %g", p2, P2, x2, X2);
    free(starts);
    free(rows);
    cls_system_free(&s);
}

/* ---- weak order ---- */

enum { MOMENTS = 5 }; /* <x>, <p>, <x^2>, <x p>, <p^2> of a linear oscillator in a fluid */
static const double drag = 0.4, warmth = 0.5;

static cls_system *oscillator(double kB) {
    char text[256];
    snprintf(text, sizeof text,
             "coordinate x\nparameter kB = %g\nreservoir Tr = %g\nhamiltonian (p.x^2 + x^2)/2\n"
             "friction on Tr: x <- -%g*v.x\nthermal noise on Tr: kB\nstart x = 1, p.x = 0\n",
             kB, warmth, drag);
    return parse(text);
}

static void moment_rates(const double *m, double *out) {
    out[0] = m[1];
    out[1] = -m[0] - drag * m[1];
    out[2] = 2 * m[3];
    out[3] = m[4] - m[2] - drag * m[3];
    out[4] = -2 * m[3] - 2 * drag * m[4] + 2 * drag * warmth;
}

/* By RK4 in so many steps that nothing is left. */
static void exact_moments(double t, double *m) {
    enum { N = 4000 };
    double h = t / N, k[4][MOMENTS], y[MOMENTS];
    for (int step = 0; step < N; step++) {
        for (int stage = 0; stage < 4; stage++) {
            for (int i = 0; i < MOMENTS; i++)
                y[i] = m[i] + (stage ? h * k[stage - 1][i] * (stage == 3 ? 1 : 0.5) : 0);
            moment_rates(y, k[stage]);
        }
        for (int i = 0; i < MOMENTS; i++)
            m[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
}

/* A step is z1 = M z0 + noise: M from steps without noise, the covariance of the noise from the
 * distribution of Boltzmann, which a step keeps (the test above): kT (1 - M M^T). */
static void step_matrix(double h, double M[4], double noise[3]) {
    cls_system *s = oscillator(0);
    for (int k = 0; k < 2; k++) {
        cls_simulator *sim = begin(s, "langevin", h);
        double z[8] = {k == 0, k == 1};
        assert_int_equal(cls_simulator_start(sim, 0, z, NULL), CLS_OK);
        advance(sim, 1);
        M[k] = cls_simulator_state(sim)[0];
        M[2 + k] = cls_simulator_state(sim)[1];
        cls_simulator_free(&sim);
    }
    cls_system_free(&s);
    noise[0] = warmth * (1 - M[0] * M[0] - M[1] * M[1]);
    noise[1] = -warmth * (M[0] * M[2] + M[1] * M[3]);
    noise[2] = warmth * (1 - M[2] * M[2] - M[3] * M[3]);
}

static void moments_after(double h, int steps, double *m) {
    double M[4], noise[3];
    step_matrix(h, M, noise);
    for (int k = 0; k < steps; k++) {
        double x = m[0], p = m[1], xx = m[2], xp = m[3], pp = m[4];
        m[0] = M[0] * x + M[1] * p;
        m[1] = M[2] * x + M[3] * p;
        m[2] = M[0] * M[0] * xx + 2 * M[0] * M[1] * xp + M[1] * M[1] * pp + noise[0];
        m[3] = M[0] * M[2] * xx + (M[0] * M[3] + M[1] * M[2]) * xp + M[1] * M[3] * pp + noise[1];
        m[4] = M[2] * M[2] * xx + 2 * M[2] * M[3] * xp + M[3] * M[3] * pp + noise[2];
    }
}

/* The noise of a step that members have is that covariance. */
static void expect_noise(double h) {
    enum { MEMBERS = 20000 };
    cls_system *s = oscillator(1);
    size_t n = MANY(MEMBERS), columns = cls_system_column_count(s),
           size = cls_system_state_count(s);
    double *starts = calloc(n * size, sizeof *starts),
           *rows = calloc(n * 2 * columns, sizeof *rows);
    double M[4], noise[3], found[3] = {0};
    cls_error error;
    cls_simulate_options o = cls_simulate_defaults();
    o.h = h;
    step_matrix(h, M, noise);
    if (cls_ensemble_run(s, &o, n, starts, 1, 1, 2, rows, &error)) fail_msg("%s", error.message);
    for (size_t k = 0; k < n; k++) {
        const double *z = rows + (2 * k + 1) * columns + 1;
        found[0] += z[0] * z[0] / (double)n;
        found[1] += z[0] * z[1] / (double)n;
        found[2] += z[1] * z[1] / (double)n;
    }
    double size_of[3] = {noise[0], sqrt(noise[0] * noise[2]), noise[2]};
    for (int i = 0; i < 3; i++)
        if (!(fabs(found[i] - noise[i]) <= 5 * sqrt(2 / (double)n) * size_of[i]))
            fail_msg("covariance %d is %g, expected %g", i, found[i], noise[i]);
    free(starts);
    free(rows);
    cls_system_free(&s);
}

/* Errors of all means of degree one and two at t = 2: half the step, a fourth of the error. */
static void the_weak_order_is_two(void **unused) {
    (void)unused;
    double truth[MOMENTS] = {1, 0, 1, 0, 0};
    exact_moments(2, truth);
    for (int steps = 20; steps <= 40; steps *= 2) {
        double coarse[MOMENTS] = {1, 0, 1, 0, 0}, fine[MOMENTS] = {1, 0, 1, 0, 0};
        moments_after(2.0 / steps, steps, coarse);
        moments_after(1.0 / steps, 2 * steps, fine);
        for (int i = 0; i < MOMENTS; i++) {
            double ratio = (coarse[i] - truth[i]) / (fine[i] - truth[i]);
            if (!(fabs(log2(ratio) - 2) <= 0.03))
                fail_msg("moment %d, h = %g: errors %g and %g, order %g", i, 2.0 / steps,
                         coarse[i] - truth[i], fine[i] - truth[i], log2(ratio));
        }
    }
    expect_noise(0.1);
    expect_noise(0.5);
}

/* ---- bits ---- */

static void bits_are_a_function_of_seed_and_member(void **unused) {
    (void)unused;
    cls_system *s = parse(WELL);
    enum { MEMBERS = 12, STEPS = 40 };
    size_t columns = cls_system_column_count(s), size = cls_system_state_count(s);
    double *starts = calloc(MEMBERS * size, sizeof *starts);
    double *rows[3];
    cls_error error;
    for (int i = 0; i < 3; i++) {
        cls_simulate_options o = cls_simulate_defaults();
        o.h = 0.05;
        o.seed = 5;
        o.first_member = i == 2 ? 3 : 0;
        rows[i] = calloc(MEMBERS * 2 * columns, sizeof(double));
        size_t n = i == 2 ? MEMBERS - 3 : MEMBERS;
        if (cls_ensemble_run(s, &o, n, starts, STEPS, STEPS, i == 1 ? 3 : 1, rows[i], &error))
            fail_msg("%s", error.message);
    }
    size_t member = 2 * columns;
    assert_memory_equal(rows[0], rows[1], MEMBERS * member * sizeof(double));
    assert_memory_equal(rows[0] + 3 * member, rows[2], (MEMBERS - 3) * member * sizeof(double));
    assert_true(rows[0][columns + 1] != rows[0][member + columns + 1]); /* each has its own */
    for (int i = 0; i < 3; i++) free(rows[i]);
    free(starts);
    cls_system_free(&s);
}

static void going_on_has_the_same_noise(void **unused) {
    (void)unused;
    cls_system *s = parse(WELL);
    cls_simulator *sim = begin(s, NULL, 0.05), *more = begin(s, NULL, 0.05);
    double middle[8];
    cls_error error;
    advance(sim, 100);
    memcpy(middle, cls_simulator_state(sim), cls_system_state_count(s) * sizeof *middle);
    if (cls_simulator_start(more, cls_simulator_time(sim), middle, &error))
        fail_msg("%s", error.message);
    advance(sim, 100);
    advance(more, 100);
    const double *a = cls_simulator_state(sim), *b = cls_simulator_state(more);
    if (!(fabs(a[0] - b[0]) <= 1e-10)) fail_msg("x is %.17g and %.17g", a[0], b[0]);
    cls_simulator_free(&sim);
    cls_simulator_free(&more);
    cls_system_free(&s);
}

static void a_noisy_step_allocates_nothing(void **unused) {
    (void)unused;
    if (!COUNTS_ALLOCATIONS) skip();
    cls_system *s = parse(ARM);
    cls_simulator *sim = begin(s, NULL, 0.1);
    size_t before = allocations;
    advance(sim, 100);
    assert_int_equal(allocations, before);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* ---- refused ---- */

static void expect_refused(const char *text, const char *scheme, const char *why) {
    cls_error error = {0};
    cls_system *s = NULL;
    cls_simulator *sim = NULL;
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    cls_status status = cls_system_parse(text, "test", NULL, &s, &error);
    if (!status) status = cls_simulator_create(s, &o, &sim, &error);
    if (!status || !strstr(error.message, why))
        fail_msg("expected '%s', got '%s'", why, status ? error.message : "no error");
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

static void what_has_another_distribution_is_refused(void **unused) {
    (void)unused;
#define OF(friction, energy)                                                                       \
    "coordinate x, y\nparameter kB = 1\nreservoir Tr = 1\nhamiltonian " energy                     \
    "\nfriction on Tr: " friction                                                                  \
    "\nthermal noise on Tr: kB\nstart x = 0, p.x = 0, y = 0, p.y = 0\n"
#define PLAIN "(p.x^2 + p.y^2)/2 + x^2 + y^2"
    expect_refused(OF("x <- -v.x^3", PLAIN), NULL, "not linear in the velocities");
    expect_refused(OF("x <- -v.x - 1", PLAIN), NULL, "does not vanish at rest");
    expect_refused(OF("x <- -p.x", PLAIN), NULL, "write it with velocities");
    expect_refused(OF("x <- -v.x + v.y, y <- -v.y - v.x", PLAIN), NULL, "not symmetric");
    expect_refused(OF("x <- -v.x", "p.x^2/2 + p.x^4 + p.y^2/2"), NULL, "quadratic in the momenta");
    expect_refused(OF("x <- -v.x", PLAIN), "rk4", "only the scheme langevin");
    expect_refused("coordinate x\nhamiltonian p.x^2/2\nstart x = 0, p.x = 1\n", "langevin",
                   "no thermal noise");
    expect_refused("coordinate x\nentropy S\nhamiltonian p.x^2/2 + exp(S)\nthermal noise on T: 1\n",
                   NULL, "comes from a reservoir");
    expect_refused("coordinate x\nreservoir Tr = 1\nhamiltonian p.x^2/2\nthermal noise on Tr: -1\n",
                   NULL, "must not be negative");
    expect_refused("coordinate x\nreservoir Tr = 1\nhamiltonian p.x^2/2\nthermal noise on Tr: 1\n"
                   "start x = 0, p.x = 0\n",
                   NULL, "belongs to no friction");
    expect_refused("coordinate x\nhamiltonian p.x^2/2\nthermal nose on Tr: 1\n", NULL,
                   "lagrangian` or `noise");
}

/* ---- energies that contain t ---- */

#define SWING                                                                                      \
    "coordinate x\nlet k = 4*(1 + 0.9*sin(4*t))\nhamiltonian p.x^2/2 + k*x^2/2 + 0.1*x^4\n"        \
    "start x = 0.1, p.x = 0\n"
#define GROWING                                                                                    \
    "coordinate x in (-1.9, 1.9)\ntemperature T\ninput k = 2 + sin(3*t)\nlet m = 1 + 0.3*sin(t)\n" \
    "thermal lagrangian m*v.x^2/2 - k*x^2/2 + T*(log((2 + x)^(2/3)*T) - 1)\n"                      \
    "friction F on T: x <- -0.1*v.x\nstart x = 0.1, v.x = 0.5, T = 1\n"
#define POTENTIAL                                                                                  \
    "coordinate x\nlagrangian v.x^2/2 - v.x^4/9 - x^2/2\nexternal potential 0.3*x*cos(2*t)\n"      \
    "start x = 0.1, v.x = 0\n"

static void what_changes_an_energy_is_work(void **unused) {
    (void)unused;
    const char *const texts[] = {SWING, GROWING, POTENTIAL};
    static const char *const schemes[] = {"discrete-gradient", "discrete-gradient-4",
                                          "discrete-gradient-adaptive"};
    for (size_t k = 0; k < 3; k++) {
        cls_system *s = parse(texts[k]);
        for (size_t i = 0; i < 3; i++) {
            cls_simulator *sim = begin(s, schemes[i], 0.01);
            advance(sim, MANY(2000));
            cls_simulate_info info = cls_simulator_info(sim);
            if (!(info.energy_max_error <= 1e-12) || (i == 0 && info.entropy_falls))
                fail_msg("%s on %s: energy - work is off by %g, %zu falls", schemes[i], texts[k],
                         info.energy_max_error, (size_t)info.entropy_falls);
            cls_simulator_free(&sim);
        }
        double order = order_of(s, "discrete-gradient", 0.02, 1);
        if (!(fabs(order - 2) <= 0.15)) fail_msg("%s: order %g", texts[k], order);
        cls_system_free(&s);
    }
    expect_refused(SWING, "dtel", "contains t");
    expect_refused("coordinate x\ninput u\nhamiltonian p.x^2/2 + u*x\nstart x = 0, p.x = 0\n", NULL,
                   "whose values come from data");
}

/* A driven pendulum whose heat goes to a reservoir, without an entropy of its own: the energy that
 * rounding takes is no heat (it was once counted as such, and the motion refused). */
static void a_reservoir_alone_keeps_its_account(void **unused) {
    (void)unused;
    cls_system *s =
        parse("coordinate q\nreservoir air = 300\nhamiltonian p.q^2/2e-4 - 1e-3*cos(q)\n"
              "friction on air: q <- -2e-6*v.q\nexternal force: q <- 1e-4*sin(2*t)\n"
              "start q = 2, p.q = 0\n");
    cls_simulator *sim = begin(s, "discrete-gradient", 0.02);
    advance(sim, MANY(50000));
    cls_simulate_info i = cls_simulator_info(sim);
    if (!(i.energy_max_error <= 1e-16)) fail_msg("energy is off by %g", i.energy_max_error);
    assert_int_equal(i.entropy_falls, 0);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_less_heat_is_constant),
        cmocka_unit_test(motions_have_the_distribution_of_maxwell_and_boltzmann),
        cmocka_unit_test(linear_motions_have_it_at_any_step),
        cmocka_unit_test(heat_flows_from_hot_to_cold),
        cmocka_unit_test(the_order_is_two),
        cmocka_unit_test(the_way_to_equilibrium_is_right),
        cmocka_unit_test(the_weak_order_is_two),
        cmocka_unit_test(bits_are_a_function_of_seed_and_member),
        cmocka_unit_test(going_on_has_the_same_noise),
        cmocka_unit_test(a_noisy_step_allocates_nothing),
        cmocka_unit_test(what_has_another_distribution_is_refused),
        cmocka_unit_test(what_changes_an_energy_is_work),
        cmocka_unit_test(a_reservoir_alone_keeps_its_account)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
