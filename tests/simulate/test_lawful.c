/* lawful-rk4, lawful-rk6, lawful-rk8: order conditions, observed orders, both laws on every system that they take
 * and at steps of any length, refusals. */
#include "tests/allocations.h"

#include "scheme/scheme.h"
#include "simulate/simulator.h"
#include "tests/simulate/motion.h"
#include <stdio.h>

enum { METHODS = 3 };
static const char *const schemes[METHODS] = {"lawful-rk4", "lawful-rk6", "lawful-rk8"};
static const int orders[METHODS] = {4, 6, 8};

/* ---- order conditions: sum b_i Phi_i(tree) = 1/gamma(tree) for every rooted tree ----
 *
 * A tree of order n is a root on a multiset of trees with n - 1 nodes in all; trees of an order are
 * made from those of lower ones, children in falling order of their number. */

enum { MOST_TREES = 600, ORDER = 9 };

typedef struct trees {
    int n, first[ORDER + 2]; /* those of order k begin at first[k] */
    double gamma[MOST_TREES], phi[MOST_TREES][CLSI_MOST_STAGES];
    int order[MOST_TREES];
} trees;

/* Adds all roots on children with numbers up to `most` and `left` nodes, on top of what is there. */
static void grow(trees *t, const clsi_tableau *m, int order, int left, int most, double gamma,
                 const double *phi) {
    if (left == 0) {
        t->order[t->n] = order;
        t->gamma[t->n] = gamma * order;
        memcpy(t->phi[t->n++], phi, sizeof t->phi[0]);
        return;
    }
    for (int child = 0; child <= most; child++) {
        if (t->order[child] > left) continue;
        double more[CLSI_MOST_STAGES] = {0};
        for (int i = 0; i < m->stages; i++) {
            double sum = 0;
            for (int j = 0; j < i; j++) sum += m->a[i * m->stages + j] * t->phi[child][j];
            more[i] = phi[i] * sum;
        }
        grow(t, m, order, left - t->order[child], child, gamma * t->gamma[child], more);
    }
}

/* The largest violation of each order. */
static void check_conditions(const clsi_tableau *m, double *worst, int *count) {
    static trees t;
    t = (trees){0};
    for (int order = 1; order <= ORDER; order++) {
        double ones[CLSI_MOST_STAGES];
        for (int i = 0; i < CLSI_MOST_STAGES; i++) ones[i] = 1;
        int begin = t.n;
        grow(&t, m, order, order - 1, begin - 1, 1, ones);
        worst[order] = 0;
        count[order] = t.n - begin;
        for (int k = begin; k < t.n; k++) {
            double sum = 0;
            for (int i = 0; i < m->stages; i++) sum += m->b[i] * t.phi[k][i];
            worst[order] = fmax(worst[order], fabs(sum - 1 / t.gamma[k]));
        }
    }
}

static void tableaux_have_their_orders_and_no_negative_weight(void **unused) {
    (void)unused;
    static const int trees_of[ORDER + 1] = {0, 1, 1, 2, 4, 9, 20, 48, 115, 286};
    for (int s = 0; s < METHODS; s++) {
        const clsi_scheme *scheme = clsi_scheme_find(schemes[s]);
        const clsi_tableau *m = scheme->tableau;
        double worst[ORDER + 1];
        int count[ORDER + 1];
        check_conditions(m, worst, count);
        for (int order = 1; order <= ORDER; order++) {
            assert_int_equal(count[order], trees_of[order]);
            if (order <= scheme->info.order) assert_true(worst[order] < 2e-15);
        }
        assert_true(worst[scheme->info.order + 1] > 1e-6);
        for (int i = 0; i < m->stages; i++) {
            double sum = 0;
            for (int j = 0; j < i; j++) sum += m->a[i * m->stages + j];
            assert_true(m->b[i] >= 0);
            assert_true(fabs(sum - m->c[i]) < 1e-14);
        }
    }
}

/* Of seven stages the linear part is next to order 7: b.A^6.1 = 1/7!. */
static void what_is_linear_is_nearly_of_order_7(void **unused) {
    (void)unused;
    const clsi_tableau *m = clsi_scheme_find("lawful-rk6")->tableau;
    double power[7] = {1, 1, 1, 1, 1, 1, 1}, sum = 0;
    assert_int_equal(m->stages, 7);
    for (int k = 0; k < 6; k++)
        for (int i = 6; i >= 0; i--) {
            double more = 0;
            for (int j = 0; j < i; j++) more += m->a[7 * i + j] * power[j];
            power[i] = more;
        }
    for (int i = 0; i < 7; i++) sum += m->b[i] * power[i];
    assert_true(fabs(5040 * sum - 1) < 1.3e-3);
}

/* Waves: the error of order 6 with 77 rates is less than that of order 8 with 121 and of order 4 with 120. */
static void waves_need_fewer_rates_by_order_6(void **unused) {
    (void)unused;
    static const int steps[METHODS] = {30, 11, 11};
    double error[METHODS];
    cls_system *s =
        parse("parameter N = 40\ncoordinate u[1..N]\nlet d[i] = u[i+1] - u[i]\nlet u[0] = 0\n"
              "let u[N+1] = 0\n"
              "hamiltonian sum(i in 1..N: p.u[i]^2/2) + sum(i in 0..N: d[i]^2/2 + d[i]^4/4)\n"
              "for i in 1..N: start u[i] = sin(pi*i/8), p.u[i] = 0\n");
    double reference[80], state[80];
    run(s, "bdf", 10, 10, reference);
    for (int k = 0; k < METHODS; k++) {
        run(s, schemes[k], 10.0 / steps[k], 10, state);
        error[k] = distance(s, state, reference);
        print_message("%s: %d steps, error %g\n", schemes[k], steps[k], error[k]);
    }
    assert_true(error[1] < error[0] && error[1] < error[2]);
    cls_system_free(&s);
}

/* ---- orders ---- */

static const char *const engine =
    "coordinate x, y\nentropy S1, S2\nparameter m = 1.5\n"
    "hamiltonian (p.x^2*(1 + 0.3*x^2) + p.y^2)/(2*m) + (x - y)^2*(1 + 0.2*S1) + x^4/4\n"
    "    + exp(S1) + 2*exp(S2/2)*(1 + 0.1*y^2)\n"
    "friction on S1: x <- -(0.1 + v.x^2)*v.x\n"
    "friction on S2: x <- -0.05*(v.x - v.y), y <- -0.05*(v.y - v.x)\n"
    "heat exchange T1 <-> T2: 0.3*(1 + x^2)\n"
    "start x = 0.7, y = -0.2, v.x = 0.1, v.y = 0.5, S1 = 0.1, S2 = 0.4\n";

static void orders_are_those_of_the_methods(void **unused) {
    (void)unused;
    static const double h[] = {0.05, 0.2, 0.2};
    for (int driven = 0; driven < 2; driven++)
        for (int k = 0; k < METHODS; k++) {
            char text[2000];
            snprintf(text, sizeof text, "%s%s", engine,
                     driven ? "external force: y <- 0.4*sin(2*t) - 0.1*x*v.y\n" : "");
            cls_system *s = parse(text);
            double order = order_of(s, schemes[k], h[k], 1);
            print_message("%s, driven %d: %.3f\n", schemes[k], driven, order);
            assert_true(fabs(order - orders[k]) < (k ? 0.5 : 0.1));
            cls_system_free(&s);
        }
}

/* Where the second derivative of E along the motion changes sign (a pendulum that goes round): relaxed
 * steps, which move along the step itself, lose their order and their time there. */
static void orders_hold_where_the_energy_is_not_convex(void **unused) {
    (void)unused;
    static const double h[] = {0.1, 0.4, 0.4};
    static const char *const plain[METHODS] = {"rk4"};
    for (int k = 0; k < METHODS; k++) {
        double coarse = 0, fine = 0, without = 0;
        for (double p = 0.5; p < 3.5; p += 0.25) {
            char text[200];
            double reference[2], state[2];
            snprintf(text, sizeof text,
                     "coordinate x\nhamiltonian p.x^2/2 - cos(x)\nstart x = 0, p.x = %g\n", p);
            cls_system *s = parse(text);
            run(s, "bdf", 4, 4, reference);
            run(s, schemes[k], h[k], 4, state);
            coarse = fmax(coarse, distance(s, state, reference));
            run(s, schemes[k], h[k] / 2, 4, state);
            fine = fmax(fine, distance(s, state, reference));
            if (plain[k]) run(s, plain[k], h[k] / 2, 4, state);
            without = fmax(without, distance(s, state, reference));
            cls_system_free(&s);
        }
        double order = log2(coarse / fine);
        print_message("%s: worst errors %g, %g, order %.2f; rk4 %g\n", schemes[k], coarse, fine,
                      order, without);
        assert_true(order > (k == 2 ? 7 : orders[k] - 0.5));
        assert_true(fine <= without);
    }
}

/* ---- laws ---- */

static void expect_laws_of(const cls_simulator *sim, const char *what, double h, double limit,
                           double scale) {
    cls_simulate_info info = cls_simulator_info(sim);
    if (!(info.energy_max_error <= limit * scale))
        fail_msg("%s, %s, h = %g: energy off by %g of %g", info.scheme, what, h,
                 info.energy_max_error, scale);
    if (info.entropy_falls)
        fail_msg("%s, %s, h = %g: the entropy falls %llu times, by %g", info.scheme, what, h,
                 (unsigned long long)info.entropy_falls, info.entropy_min_step);
}

static void expect_laws(const cls_simulator *sim, const char *what, double h, double limit) {
    expect_laws_of(sim, what, h, limit, fabs(cls_simulator_info(sim).energy_initial));
}

/* What energies are measured by, as the judge does: their largest term, and what came in. */
static double scale_of(const cls_system *s, const cls_simulator *sim) {
    double scale = fmax(sim->energy_scale, sim->scale[CLSI_SCALE_ENERGY]);
    for (size_t i = 0; i < cls_system_state_count(s); i++) {
        const char *name = cls_system_state_name(s, i);
        if (!strcmp(name, "work") || !strcmp(name, "heat"))
            scale = fmax(scale, fabs(cls_simulator_state(sim)[i]));
    }
    return scale;
}

static void energy_is_exact_over_100000_steps(void **unused) {
    (void)unused;
    static const char *const names[] = {"damped-oscillator", "ideal-gas-piston",
                                        "van-der-waals-forced", "two-pistons", "pendulum"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int k = 0; k < METHODS; k++) {
            cls_system *s = load(names[i]);
            cls_simulator *sim = begin(s, schemes[k], 0.02);
            advance(sim, MANY(100000));
            expect_laws(sim, names[i], 0.02, 1e-13);
            cls_simulator_free(&sim);
            cls_system_free(&s);
        }
}

/* Every built-in system that they take, from short steps to ones that are much too long: both laws hold, or
 * the step is refused, and the state is that of the last good one. */
static void laws_hold_on_every_system_or_steps_are_refused(void **unused) {
    (void)unused;
    int taken = 0, refused = 0;
    for (size_t i = 0; cls_builtin_name(i); i++) { /* fields, too */
        cls_system *s = load(cls_builtin_name(i));
        cls_error error;
        for (int k = 0; k < METHODS; k++) {
            if (cls_scheme_applies(schemes[k], s, &error) != CLS_OK) continue;
            for (double times = 0.1; times < 1000; times *= 10) {
                double h = times * cls_system_default_step(s);
                cls_simulator *sim = begin(s, schemes[k], h);
                cls_status status = cls_simulator_advance(sim, MANY(100), &error);
                taken++;
                if (status != CLS_OK) {
                    refused++;
                    assert_int_equal(status, CLS_NUMERIC);
                    assert_non_null(strstr(error.message, "halved"));
                    print_message("%s, %s, h = %g: %.150s\n", schemes[k], cls_builtin_name(i), h,
                                  error.message);
                }
                expect_laws_of(sim, cls_builtin_name(i), h, 1e-12, scale_of(s, sim));
                cls_simulator_free(&sim);
            }
        }
        cls_system_free(&s);
    }
    print_message("%d motions, %d of them refused\n", taken, refused);
    assert_true(taken >= 300 && refused < taken / 2);
}

/* Rest, free motion, and a state next to rest whose energy is all heat: nothing to mend, and no step
 * that is refused for it. */
static void where_nothing_moves_nothing_is_mended(void **unused) {
    (void)unused;
    static const char *const texts[] = {
        "coordinate x\nhamiltonian p.x^2/2 + x^2/2\nstart x = 0, p.x = 0\n",
        "coordinate x\nhamiltonian p.x^2/2\nstart x = 1, p.x = 0.3\n",
        "coordinate x\nentropy S\nhamiltonian p.x^2/2 + x^2/2 + 1e6*exp(S)\n"
        "friction on S: x <- -0.1*v.x\nstart x = 1e-7, p.x = 0, S = 0.1\n",
        "entropy S1, S2\nhamiltonian exp(S1) + exp(S2)\nheat exchange S1 <-> S2: 0.1\n"
        "start S1 = 1, S2 = 1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int k = 0; k < METHODS; k++) {
            cls_system *s = parse(texts[i]);
            cls_simulator *sim = begin(s, schemes[k], 0.1);
            advance(sim, MANY(20000));
            expect_laws(sim, texts[i], 0.1, 1e-14);
            assert_int_equal(cls_simulator_info(sim).retried_steps, 0);
            cls_simulator_free(&sim);
            cls_system_free(&s);
        }
}

/* 1 - cos q is known to an epsilon of 1, however small it is, and no additive term says so: below q = 0.03 the
 * judge would not believe any motion. */
static void round_off_inside_of_terms_is_no_loss(void **unused) {
    (void)unused;
    for (int k = 0; k < METHODS; k++)
        for (double q = 0.1; q < 1; q *= 2) {
            char text[200];
            snprintf(text, sizeof text,
                     "coordinate q\nhamiltonian p.q^2/2 + 3*(1 - cos(q))\nstart q = %g, p.q = 0\n",
                     q);
            cls_system *s = parse(text);
            cls_simulator *sim = begin(s, schemes[k], 0.1);
            advance(sim, MANY(20000));
            expect_laws(sim, text, 0.1, 1e-12);
            assert_true(cls_simulator_info(sim).retried_steps < MANY(20000) / 100);
            cls_simulator_free(&sim);
            cls_system_free(&s);
        }
}

/* Entropies that are states and only get heat: the strict form. */
static void entropy_is_monotone_to_the_last_place(void **unused) {
    (void)unused;
    for (int k = 0; k < METHODS; k++) {
        cls_system *s = load("van-der-waals-forced");
        cls_simulator *sim = begin(s, schemes[k], 0.05);
        double before = cls_simulator_state(sim)[2];
        for (uint64_t n = 0; n < MANY(20000); n++) {
            advance(sim, 1);
            double now = cls_simulator_state(sim)[2];
            assert_true(now >= before);
            before = now;
        }
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* A rod that has come to rest stays there. Flows collected as like terms, kappa (T1 + T3 - 2 T2), round otherwise than
 * the neighbours' ones: the entropy went up and down by rounding, and step 9,362 was refused. */
static void fields_at_rest_stay_there(void **unused) {
    (void)unused;
    for (int k = 0; k < METHODS; k++) {
        cls_system *s = load("heat-rod");
        cls_simulator *sim = begin(s, schemes[k], 0.002);
        advance(sim, MANY(30000));
        expect_laws(sim, schemes[k], 0.002, 1e-14);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

static void momentum_is_kept(void **unused) {
    (void)unused;
    for (int k = 0; k < METHODS; k++) {
        cls_system *s = load("two-body");
        cls_simulator *sim = begin(s, schemes[k], 0.02);
        advance(sim, MANY(10000));
        cls_simulate_info info = cls_simulator_info(sim);
        int found = 0;
        for (size_t i = 0; i < info.n_invariants; i++) {
            if (strncmp(info.invariants[i].name, "P", 1) != 0) continue;
            found++;
            if (!(info.invariants[i].max_error <= 1e-14))
                fail_msg("%s drifts by %g", info.invariants[i].name, info.invariants[i].max_error);
        }
        assert_true(found > 0);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* ---- large systems: tiles, machine code, few at the ends ---- */

static const char *const chain =
    "parameter N = 1504, c = 0.1, kappa = 0.2\ncoordinate u[1..N]\nentropy s[1..N]\n"
    "let d[i] = u[i+1] - u[i]\nlet u[0] = 0\nlet u[N+1] = 0\n"
    "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 0..N: d[i]^2/2 + d[i]^4/4)\n"
    "for i in 1..N: friction on s[i]: u[i] <- -c*v.u[i]\n"
    "for i in 1..N-1: heat exchange s[i] <-> s[i+1]: kappa\n"
    "for i in 1..N: start u[i] = sin(pi*i/8), v.u[i] = 0, s[i] = 0\n";

static void a_chain_keeps_the_laws_and_follows_the_default(void **unused) {
    (void)unused;
    cls_system *s = parse(chain);
    static double ends[METHODS][4512];
    static const double most[METHODS] = {1e-3, 1e-6, 1e-7};
    for (int k = 0; k < METHODS; k++) {
        cls_simulator *sim = begin(s, schemes[k], 0.25);
        advance(sim, 20);
        expect_laws(sim, "chain", 0.25, 2e-14);
        memcpy(ends[k], cls_simulator_state(sim), sizeof ends[k]);
        cls_simulator_free(&sim);
    }
    cls_simulator *sim = begin(s, "rk4", 0.005);
    advance(sim, 1000);
    for (int k = 0; k < METHODS; k++) {
        double error = 0;
        for (size_t i = 0; i < 4512; i++)
            error = fmax(error, fabs(ends[k][i] - cls_simulator_state(sim)[i]));
        print_message("%s: error of the chain at t = 5: %g\n", schemes[k], error);
        assert_true(error < most[k]);
    }
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* The state changes places from step to step, and rates are kept for the next one: who asks after each step sees what
 * who asks once does, and finds the state where it was; steps in halves among them. */
static void steps_of_a_chain_are_the_same_one_by_one(void **unused) {
    (void)unused;
    cls_system *s = parse(chain);
    for (int k = 0; k < METHODS; k++)
        for (double h = 0.5; h < 8; h *= 3) {
            cls_simulator *together = begin(s, schemes[k], h), *apart = begin(s, schemes[k], h);
            const double *at = cls_simulator_state(together);
            advance(together, 9);
            for (int i = 0; i < 9; i++) advance(apart, 1);
            assert_ptr_equal(at, cls_simulator_state(together));
            assert_memory_equal(at, cls_simulator_state(apart), 4512 * sizeof *at);
            uint64_t retried = cls_simulator_info(together).retried_steps;
            if (h > 4) assert_true(retried > 0);
            assert_int_equal(retried, cls_simulator_info(apart).retried_steps);
            cls_simulator_free(&together);
            cls_simulator_free(&apart);
        }
    cls_system_free(&s);
}

/* Conduction that is much faster than the step. */
static void stiff_steps_are_refused_or_lawful(void **unused) {
    (void)unused;
    cls_error error;
    cls_assignments set = {2, (const char *[]){"N", "kappa"}, (double[]){40, 1e4}};
    cls_system *s;
    assert_int_equal(cls_system_parse(chain, "chain", &set, &s, &error), CLS_OK);
    for (int k = 0; k < METHODS; k++)
        for (double h = 1e-4; h < 10; h *= 10) {
            cls_simulator *sim = begin(s, schemes[k], h);
            if (cls_simulator_advance(sim, 50, &error) != CLS_OK)
                assert_non_null(strstr(error.message, "stiff"));
            expect_laws(sim, "stiff chain", h, 1e-11);
            cls_simulator_free(&sim);
        }
    cls_system_free(&s);
}

/* ---- promises ---- */

static void steps_allocate_nothing(void **unused) {
    (void)unused;
    if (!COUNTS_ALLOCATIONS) skip();
    for (int k = 0; k < METHODS; k++) {
        cls_system *s = parse(k ? chain : engine);
        cls_simulator *sim = begin(s, schemes[k], 0.1);
        size_t before = allocations;
        advance(sim, 10);
        assert_int_equal(allocations, before);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

static void ensembles_have_the_same_bits_for_any_number_of_threads(void **unused) {
    (void)unused;
    enum { MEMBERS = 7, STEPS = 40, ROOM = MEMBERS * 5 * 32 };
    static double starts[MEMBERS * 16], rows[3][ROOM];
    cls_system *s = parse(engine);
    cls_error error;
    size_t n = cls_system_state_count(s), columns = cls_system_column_count(s);
    assert_true(columns <= 32);
    cls_simulate_options o = cls_simulate_defaults();
    o.h = 0.1;
    for (int k = 0; k < METHODS; k++) {
        o.scheme = schemes[k];
        for (size_t i = 0; i < MEMBERS; i++) {
            assert_int_equal(cls_system_start(s, NULL, starts + i * n, &error), CLS_OK);
            starts[i * n] += 0.01 * (double)i;
        }
        for (int t = 0; t < 3; t++)
            assert_int_equal(
                cls_ensemble_run(s, &o, MEMBERS, starts, STEPS, 10, 1 + 2 * t, rows[t], &error),
                CLS_OK);
        size_t size = MEMBERS * 5 * columns * sizeof(double);
        assert_memory_equal(rows[0], rows[1], size);
        assert_memory_equal(rows[0], rows[2], size);
        cls_simulator *sim = begin(s, schemes[k], 0.1);
        double row[32];
        advance(sim, STEPS);
        assert_int_equal(cls_simulator_row(sim, row, &error), CLS_OK);
        assert_memory_equal(row, rows[0] + 4 * columns, columns * sizeof(double));
        cls_simulator_free(&sim);
    }
    cls_system_free(&s);
}

static void expect_refused(cls_system *s, const char *why) {
    for (int k = 0; k < METHODS; k++) {
        cls_error error;
        assert_int_equal(cls_scheme_applies(schemes[k], s, &error), CLS_USAGE);
        if (!strstr(error.message, why)) fail_msg("%s", error.message);
    }
    cls_system_free(&s);
}

static void they_say_what_they_do_not_take(void **unused) {
    (void)unused;
    expect_refused(load("adiabatic-piston"), "velocities and temperatures");
    expect_refused(load("brownian-particle"), "langevin");
    expect_refused(parse("coordinate x\nlagrangian -sqrt(1 - v.x^2) - x^2/8\nstart x = 1\n"),
                   "velocities");
    expect_refused(
        parse("coordinate x\nhamiltonian p.x^2/2 + (1 + 0.1*sin(t))*x^2/2\nstart x = 1\n"),
        "contains t");
    cls_system *s = parse(OUT_OF_THE_WORLD);
    for (int k = 0; k < METHODS; k++) {
        cls_error error;
        cls_simulator *sim = begin(s, schemes[k], 0.1);
        assert_int_equal(cls_simulator_advance(sim, 1000, &error), CLS_NUMERIC);
        assert_non_null(strstr(error.message, "domain"));
        assert_true(cls_simulator_state(sim)[0] < 1);
        cls_simulator_free(&sim);
    }
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tableaux_have_their_orders_and_no_negative_weight),
        cmocka_unit_test(what_is_linear_is_nearly_of_order_7),
        cmocka_unit_test(waves_need_fewer_rates_by_order_6),
        cmocka_unit_test(orders_are_those_of_the_methods),
        cmocka_unit_test(orders_hold_where_the_energy_is_not_convex),
        cmocka_unit_test(energy_is_exact_over_100000_steps),
        cmocka_unit_test(laws_hold_on_every_system_or_steps_are_refused),
        cmocka_unit_test(where_nothing_moves_nothing_is_mended),
        cmocka_unit_test(round_off_inside_of_terms_is_no_loss),
        cmocka_unit_test(entropy_is_monotone_to_the_last_place),
        cmocka_unit_test(fields_at_rest_stay_there),
        cmocka_unit_test(momentum_is_kept),
        cmocka_unit_test(a_chain_keeps_the_laws_and_follows_the_default),
        cmocka_unit_test(steps_of_a_chain_are_the_same_one_by_one),
        cmocka_unit_test(stiff_steps_are_refused_or_lawful),
        cmocka_unit_test(steps_allocate_nothing),
        cmocka_unit_test(ensembles_have_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(they_say_what_they_do_not_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
