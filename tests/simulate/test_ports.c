/* Systems of components in motion: the figures of physics/ports.md, and the two laws. */
#include "tests/simulate/motion.h"

static double value(const cls_simulator *sim, const cls_system *s, const char *name) {
    double row[64];
    cls_error error;
    if (cls_system_row(s, 0, cls_simulator_state(sim), row, &error) != CLS_OK)
        fail_msg("%s", error.message);
    for (size_t i = 0; i < cls_system_column_count(s); i++)
        if (strcmp(cls_system_column(s, i), name) == 0) return row[i];
    fail_msg("no column %s", name);
    return NAN;
}

static void expect(const cls_simulator *sim, const cls_system *s, const char *name, double wanted) {
    double found = value(sim, s, name);
    if (!(fabs(found - wanted) <= 6e-13 * fmax(1, fabs(wanted))))
        fail_msg("%s: %s is %.15g, not %.15g", cls_system_name(s), name, found, wanted);
}

/* z(19.9) of the midpoint rule at h = 0.1, to all printed digits. */
static void midpoint_gives_the_published_states(void **unused) {
    (void)unused;
    cls_system *s = load("oscillator");
    cls_simulator *sim = begin(s, "implicit-midpoint", 0.1);
    advance(sim, 199);
    expect(sim, s, "q", .776834540331);
    expect(sim, s, "p.q", -1.339050482207);
    cls_simulator_free(&sim);
    cls_system_free(&s);

    s = load("isothermal-oscillator");
    sim = begin(s, "implicit-midpoint", 0.1);
    advance(sim, 199);
    expect(sim, s, "q", .095716709564);
    expect(sim, s, "p.q", -.105005759248);
    expect(sim, s, "s_e", .202475542011);
    cls_simulator_free(&sim);
    cls_system_free(&s);

    s = load("thermal-oscillator");
    sim = begin(s, "implicit-midpoint", 0.1);
    assert_true(fabs(value(sim, s, "theta_d") - 330.29956) < 5e-6);
    expect(sim, s, "energy", 391.049559909649);
    advance(sim, 199);
    expect(sim, s, "q", .095716709564);
    expect(sim, s, "p.q", -.105005759248);
    expect(sim, s, "s_e", .301422471050);
    expect(sim, s, "s_d", 5.705831972236);
    double lost = fabs(value(sim, s, "energy") - 391.049559909649);
    assert_true(lost > 1.425e-6 && lost < 1.435e-6); /* "midpoint loses E_tot 1.43e-6" */
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* The end of the motion: all mechanical energy has become heat. */
static void entropy_rises_to_the_published_end(void **unused) {
    (void)unused;
    cls_system *s = load("thermal-oscillator");
    cls_simulator *sim = begin(s, "discrete-gradient", 0.1);
    advance(sim, 2000);
    assert_true(fabs(value(sim, s, "entropy") - 6.007281007688) < 1e-12);
    assert_true(cls_simulator_info(sim).energy_max_error < 1e-11); /* 4.5e-12 at any h */
    cls_simulator_free(&sim);
    cls_system_free(&s);
    s = load("isothermal-oscillator");
    sim = begin(s, "discrete-gradient", 0.1);
    advance(sim, 5000);
    assert_true(fabs(value(sim, s, "s_e") - .2025) < 1e-13);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* Two reservoirs end at one temperature, the one that the first law gives. */
static void reservoirs_meet_at_the_common_temperature(void **unused) {
    (void)unused;
    cls_system *s = load("heat-reservoirs");
    cls_simulator *sim = begin(s, NULL, 0.5);
    double T = value(sim, s, "energy") / 3; /* C1 + C2 = 3, U = C T */
    advance(sim, 400);
    expect(sim, s, "theta1", T);
    expect(sim, s, "theta2", T);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

static const char *const systems[] = {"oscillator",  "isothermal-oscillator", "thermal-oscillator",
                                      "rlc-circuit", "heat-reservoirs",       "motor"};

/* Energy to round-off, entropy never falling, exergy never rising where nothing is put in. */
static void laws_hold_at_any_step(void **unused) {
    (void)unused;
    for (size_t i = 0; i < 6; i++) {
        cls_system *s = load(systems[i]);
        double own = cls_system_default_step(s);
        for (double h = own / 4; h < 9 * own; h *= 2) {
            cls_simulator *sim = begin(s, "discrete-gradient", h);
            advance(sim, MANY(2000));
            cls_simulate_info info = cls_simulator_info(sim);
            double size = fmax(fabs(info.energy_initial), fabs(value(sim, s, "energy")));
            if (!(info.energy_max_error <= 1e-13 * size) || info.entropy_falls)
                fail_msg("%s h=%g: energy %g of %g, %llu falls", systems[i], h,
                         info.energy_max_error, size, (unsigned long long)info.entropy_falls);
            cls_simulator_free(&sim);
        }
        cls_system_free(&s);
    }
}

static void exergy_never_rises(void **unused) {
    (void)unused;
    const char *const names[] = {"isothermal-oscillator", "thermal-oscillator", "rlc-circuit"};
    for (size_t i = 0; i < 3; i++) {
        cls_system *s = load(names[i]);
        cls_simulator *sim = begin(s, NULL, 5 * cls_system_default_step(s));
        double before = value(sim, s, "exergy"), start = before;
        for (int k = 0; k < 300; k++) {
            advance(sim, 1);
            double now = value(sim, s, "exergy");
            if (!(now <= before + 1e-12 * fmax(1, fabs(start))))
                fail_msg("%s: exergy rose by %g", names[i], now - before);
            before = now;
        }
        assert_true(before < start - 1e-3);
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

/* A motor that is let go: what the supply put in is kinetic energy, magnetic energy and heat. */
static void the_motor_keeps_its_books(void **unused) {
    (void)unused;
    cls_system *s = load("motor");
    cls_simulator *sim = begin(s, NULL, 0.002);
    advance(sim, 1000);
    double phi = value(sim, s, "phi"), l = value(sim, s, "l"),
           heat = 293 * (value(sim, s, "s") - 1);
    double kept = phi * phi / 0.1 + l * l / 0.02 + heat;
    assert_true(fabs(value(sim, s, "work") - kept) < 1e-11 * kept);
    assert_true(l > 0); /* it turns the way it is driven */
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* ---- dependent storages ---- */

#define AXLE                                                                                       \
    "storage spring(q): q^2/2 + q^4/4\nstorage casing(entropy s): exp(s)\ngyrator link(q, p): 1\n" \
    "connect spring.q, link.q\nconnect casing.s, bearing.s\n"
/* A wheel behind a gear of ratio 3 with its bearing, and a second mass that moves with the first. */
#define GEARED                                                                                     \
    AXLE "parameter J = 0.5, n = 3\nstorage mass(p): p^2/2\nstorage load(x): x^2/(2*0.25)\n"       \
         "storage wheel(l): l^2/(2*J)\ntransformer gear(a, b): n\n"                                \
         "resistive bearing(l, entropy s): 0.1\nconnect mass.p, load.x, link.p, gear.a\n"          \
         "connect wheel.l, gear.b, bearing.l\nstart q = 1, p = 0.3, s = 0\n"
/* The same with the inertia that the gear makes of it. */
#define BY_HAND                                                                                    \
    AXLE "storage mass(p): p^2/(2*(1 + 0.25 + 9*0.5))\nresistive bearing(p, entropy s): 9*0.1\n"   \
         "connect mass.p, link.p, bearing.p\nstart q = 1, p = 0.3, s = 0\n"

static void dependent_storages_are_one(void **unused) {
    (void)unused;
    cls_system *a = parse(GEARED), *b = parse(BY_HAND);
    cls_simulator *x = begin(a, "discrete-gradient", 0.05),
                  *y = begin(b, "discrete-gradient", 0.05);
    advance(x, MANY(4000));
    advance(y, MANY(4000));
    const double *z = cls_simulator_state(x), *w = cls_simulator_state(y);
    assert_int_equal(cls_system_state_count(a), 3);
    for (size_t k = 0; k < 3; k++)
        if (!(fabs(z[k] - w[k]) <= 1e-9)) fail_msg("state %zu: %.15g and %.15g", k, z[k], w[k]);
    cls_simulate_info info = cls_simulator_info(x);
    assert_true(info.energy_max_error <= 1e-14 * (1 + info.energy_initial));
    assert_int_equal(info.entropy_falls, 0);
    cls_simulator_free(&x);
    cls_simulator_free(&y);
    cls_system_free(&a);
    cls_system_free(&b);
}

/* Inertia that depends on the place, and energies with a linear term: the share of each is what its own
 * effort says. */
static void shares_have_one_effort(void **unused) {
    (void)unused;
    cls_system *s = parse("storage spring(q): q^2/2\nstorage mass(p): p^2/2 - 0.3*p\n"
                          "storage arm(y): (2 + sin(q))*y^2/2 + 0.1*y\ngyrator link(q, p): 1\n"
                          "connect spring.q, link.q\nconnect mass.p, link.p, arm.y\n"
                          "output one = p_own - 0.3\noutput other = (2 + sin(q))*y + 0.1\n"
                          "output sum = p_own + y\nstart q = 1, p = 0.3\n");
    cls_simulator *sim = begin(s, "discrete-gradient", 0.05);
    for (int k = 0; k < 20; k++) {
        double row[16], one = NAN, other = NAN, sum = NAN, v = NAN, p = NAN;
        advance(sim, 10);
        assert_int_equal(cls_simulator_row(sim, row, NULL), CLS_OK);
        for (size_t c = 0; c < cls_system_column_count(s); c++) {
            const char *name = cls_system_column(s, c);
            if (!strcmp(name, "one")) one = row[c];
            if (!strcmp(name, "other")) other = row[c];
            if (!strcmp(name, "sum")) sum = row[c];
            if (!strcmp(name, "v.q")) v = row[c];
            if (!strcmp(name, "p.q")) p = row[c];
        }
        if (!(fabs(one - v) <= 1e-14 && fabs(other - v) <= 1e-14 && fabs(sum - p) <= 1e-14))
            fail_msg("efforts %g, %g, %g; shares %g of %g", one, other, v, sum, p);
    }
    assert_true(cls_simulator_info(sim).energy_max_error <= 1e-14);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* Energies that are not quadratic: a relativistic mass, a stiffening spring whose second derivative vanishes
 * at rest, one that saturates behind a gear. Efforts agree to rounding, shares sum to the state, both laws
 * hold. */
static void shares_of_any_energy(void **unused) {
    (void)unused;
    cls_system *s = parse(
        "storage spring(q): q^2/2 + 0.1*q^4\nstorage soft(x): x^4/4\nstorage fast(p): "
        "sqrt(1 + p^2)\n"
        "storage wheel(y): 2*log(cosh(y))\ngyrator link(q, p): 1\ntransformer gear(a, b): 0.5\n"
        "storage body(entropy s): exp(s)\nresistive drag(p, entropy s): 0.05\n"
        "connect spring.q, link.q, soft.x\nconnect fast.p, link.p, gear.a, drag.p\n"
        "connect wheel.y, gear.b\nconnect drag.s, body.s\n"
        "output spring_effort = q_own + 0.4*q_own^3\noutput soft_effort = x^3\n"
        "output fast_effort = p_own/sqrt(1 + p_own^2)\noutput wheel_effort = 4*tanh(y)\n"
        "output share = p_own + 0.5*y - p.q\nstart q = 2, p = 0, s = 0\n");
    cls_simulator *sim = begin(s, "discrete-gradient", 0.05);
    for (int k = 0; k < 40; k++) {
        double row[32], e[5] = {NAN, NAN, NAN, NAN, NAN};
        static const char *const names[] = {"spring_effort", "soft_effort", "fast_effort",
                                            "wheel_effort", "share"};
        advance(sim, MANY(100));
        assert_int_equal(cls_simulator_row(sim, row, NULL), CLS_OK);
        for (size_t c = 0; c < cls_system_column_count(s); c++)
            for (int i = 0; i < 5; i++)
                if (!strcmp(cls_system_column(s, c), names[i])) e[i] = row[c];
        if (!(fabs(e[0] - e[1]) <= 2e-14 && fabs(e[2] - e[3]) <= 2e-14 && fabs(e[4]) <= 1e-15))
            fail_msg("efforts %.17g, %.17g; %.17g, %.17g; %g", e[0], e[1], e[2], e[3], e[4]);
    }
    cls_simulate_info info = cls_simulator_info(sim);
    if (!(info.energy_max_error <= 2e-14)) fail_msg("energy off by %g", info.energy_max_error);
    assert_int_equal(info.entropy_falls, 0);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* A crank and a slider: the ratio is a formula of the angle, and inertia depends on it. */
#define CRANK                                                                                      \
    "storage weight(q): -3*cos(q)\nstorage crank(p): p^2/(2*0.5)\nstorage slider(k): k^2/(2*2)\n"  \
    "gyrator link(q, p): 1\ntransformer rod(a, b): -sin(q)*(1 + 0.3*cos(q))\n"                     \
    "resistive guide(k, entropy s): 0.1\nstorage casing(entropy s): exp(s)\n"                      \
    "connect weight.q, link.q\nconnect crank.p, link.p, rod.a\nconnect slider.k, rod.b, guide.k\n" \
    "connect casing.s, guide.s\nstart q = 1, p = 0, s = 0\n"
#define CRANK_BY_HAND                                                                              \
    "coordinate q\nentropy s with temperature theta\nlet r = -sin(q)*(1 + 0.3*cos(q))\n"           \
    "hamiltonian p.q^2/(2*(0.5 + 2*r^2)) - 3*cos(q) + exp(s)\nfriction on s: q <- -0.1*r^2*v.q\n"  \
    "start q = 1, p.q = 0, s = 0\n"

static void a_ratio_of_the_position_between_dependent_storages(void **unused) {
    (void)unused;
    cls_system *a = parse(CRANK), *b = parse(CRANK_BY_HAND);
    cls_simulator *x = begin(a, "bdf", 1), *y = begin(b, "bdf", 1);
    for (int k = 0; k < 8; k++) {
        advance(x, 1);
        advance(y, 1);
        for (size_t i = 0; i < 3; i++)
            if (!(fabs(cls_simulator_state(x)[i] - cls_simulator_state(y)[i]) <= 1e-10))
                fail_msg("state %zu at %d: %.15g and %.15g", i, k + 1, cls_simulator_state(x)[i],
                         cls_simulator_state(y)[i]);
    }
    cls_simulator_free(&x);
    cls_simulator_free(&y);
    x = begin(a, "discrete-gradient", 0.05);
    advance(x, MANY(4000));
    cls_simulate_info info = cls_simulator_info(x);
    assert_true(info.energy_max_error <= 1e-13);
    assert_int_equal(info.entropy_falls, 0);
    cls_simulator_free(&x);
    cls_system_free(&a);
    cls_system_free(&b);
}

/* ---- structures by their matrices ---- */

#define THREE                                                                                      \
    "parameter r = 2\nstorage spring(q): q^2/2\nstorage mass(p): p^2/2\nstorage tank(v): v^2/4\n"  \
    "storage body(entropy s): exp(s)\nresistive drag(p, entropy s): 0.1\nconnect spring.q, "       \
    "link.a\n"                                                                                     \
    "connect mass.p, link.b, drag.p\nconnect tank.v, link.c\nconnect drag.s, body.s\n"             \
    "start q = 1, p = 0, v = 0, s = 0\n"
#define RATIO "r*(1 + 0.2*sin(a))"
#define DRIVE(wheels)                                                                              \
    "storage spring(q): q^2/2\nstorage body(entropy s): exp(s)\nconnect spring.q, drive.a\n"       \
    "connect drag.s, body.s\nstart q = 1, l = 0, s = 0\nresistive drag(p, entropy s): "            \
    "0.1\n" wheels
#define WHEELS                                                                                     \
    "storage rotor(l): l^2/2\nstorage wheel(k): k^2\nconnect rotor.l, drive.b, drag.p\n"           \
    "connect wheel.k, drive.c\n"

/* Explicit and kernel form, modulated, scrambled rows, a row that ties efforts: each beside the same system
 * without matrices. */
static void structures_by_matrices(void **unused) {
    (void)unused;
    static const char *const pairs[][2] = {
        {THREE "junction link(a, b, c): {a, b} = 1, {b, c} = " RATIO "\n",
         THREE "dirac link(a, b, c): J = [0, 1, 0; -1, 0, " RATIO "; 0, -" RATIO ", 0]\n"},
        {THREE "junction link(a, b, c): {a, b} = 1, {b, c} = 3\n", THREE
         "dirac link(a, b, c): F = [1, 1, 0; 0, 2, 0; 0, 0, 1/2], E = [1, -1, -3; 2, 0, -6; 0, "
         "1.5, 0]\n"},
        {DRIVE("storage rotor(l): l^2/(2*5.5)\nconnect rotor.l, drive.b, drag.p\n"
               "gyrator drive(a, b): 1\n"),
         DRIVE(WHEELS) "dirac drive(a, b, c): F = [1, 0, 0; 0, 1, 3; 0, 0, 0], E = [0, -1, 0; 1, "
                       "0, 0; "
                       "0, 3, -1]\n"},
    };
    for (size_t i = 0; i < 3; i++) {
        cls_system *a = parse(pairs[i][0]), *b = parse(pairs[i][1]);
        cls_simulator *x = begin(a, "discrete-gradient", 0.05),
                      *y = begin(b, "discrete-gradient", 0.05);
        advance(x, MANY(1000));
        advance(y, MANY(1000));
        const double *z = cls_simulator_state(x), *w = cls_simulator_state(y);
        assert_int_equal(cls_system_state_count(a), cls_system_state_count(b));
        for (size_t k = 0; k < cls_system_state_count(a); k++)
            if (!(fabs(z[k] - w[k]) <= 1e-10))
                fail_msg("pair %zu, state %zu: %.15g and %.15g", i, k, z[k], w[k]);
        cls_simulate_info info = cls_simulator_info(y);
        assert_true(info.energy_max_error <= 1e-14 * (1 + info.energy_initial));
        assert_int_equal(info.entropy_falls, 0);
        cls_simulator_free(&x);
        cls_simulator_free(&y);
        cls_system_free(&a);
        cls_system_free(&b);
    }
}

/* Of a composite that is used twice, with parameters of its own. */
static void matrices_in_composites(void **unused) {
    (void)unused;
    cls_system *s = parse("component cell(out) {\n    parameter r = 1\n    storage m(p): p^2/2\n"
                          "    storage k(q): q^2/2\n"
                          "    dirac d(a, b, c): J = [0, r, 0; -r, 0, 1; 0, -1, 0]\n"
                          "    connect k.q, d.a\n    connect m.p, d.b\n    connect out, d.c\n}\n"
                          "use cell as left: r = 2\nuse cell as right\nstorage middle(x): x^2\n"
                          "connect left.out, right.out, middle.x\n"
                          "start left_q = 1, left_p = 0, right_q = 0, right_p = 0, x = 0\n");
    cls_simulator *sim = begin(s, "discrete-gradient", 0.1);
    advance(sim, MANY(1000));
    assert_true(cls_simulator_info(sim).energy_relative <= 1e-14);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dependent_storages_are_one),
        cmocka_unit_test(shares_have_one_effort),
        cmocka_unit_test(shares_of_any_energy),
        cmocka_unit_test(a_ratio_of_the_position_between_dependent_storages),
        cmocka_unit_test(structures_by_matrices),
        cmocka_unit_test(matrices_in_composites),
        cmocka_unit_test(midpoint_gives_the_published_states),
        cmocka_unit_test(entropy_rises_to_the_published_end),
        cmocka_unit_test(reservoirs_meet_at_the_common_temperature),
        cmocka_unit_test(laws_hold_at_any_step),
        cmocka_unit_test(exergy_never_rises),
        cmocka_unit_test(the_motor_keeps_its_books),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
