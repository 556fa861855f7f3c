/* Forms and starts: the Legendre transform in closed form and by Newton, round trips between
 * (v, p) and (S, T), and starts that cannot be. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include <clausius/random.h>
#include "system/dense.h"
#include "system/system.h"

static cls_system *parse(const char *text) {
    cls_error error = {0};
    cls_system *s = NULL;
    if (cls_system_parse(text, "test", NULL, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    return s;
}

static double value(const cls_system *s, const double *row, cls_node symbol) {
    const char *name = cls_node_name(s->g, symbol);
    for (size_t i = 0; i < cls_system_column_count(s); i++)
        if (strcmp(cls_system_column(s, i), name) == 0) return row[i];
    fail_msg("no column %s", name);
    return NAN;
}

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
        fail_msg("got %.17g, want %.17g", got, want);
}

/* From a native state to each of the four ways of giving it, and back to the same state. */
static void round_trip(const cls_system *s, const double *z, double tolerance) {
    double row[64], again[64];
    cls_error error = {0};
    assert_int_equal(cls_system_row(s, 0, z, row, &error), CLS_OK);
    for (int way = 0; way < 4; way++) {
        const cls_node *mechanical = way & 1 ? s->p : s->v, *thermal = way & 2 ? s->T : s->S;
        const char *names[64];
        double values[64];
        size_t k = 0;
        for (size_t i = 0; i < s->nq; i++) {
            names[k] = cls_node_name(s->g, s->q[i]);
            values[k++] = value(s, row, s->q[i]);
        }
        for (size_t i = 0; i < s->n; i++) {
            names[k] = cls_node_name(s->g, mechanical[i]);
            values[k++] = value(s, row, mechanical[i]);
        }
        for (size_t i = 0; i < s->m; i++) {
            cls_node any; /* the temperature of an environment says nothing about its entropy */
            int constant = cls_symbols_of(s->g, 1, &s->form->T[i], 1, &any) == 0;
            names[k] = cls_node_name(s->g, constant ? s->S[i] : thermal[i]);
            values[k++] = value(s, row, constant ? s->S[i] : thermal[i]);
        }
        if (cls_system_start(s, &(cls_assignments){k, names, values}, again, &error) != CLS_OK)
            fail_msg("%s way %d: %s", s->name, way, error.message);
        for (size_t i = 0; i < s->form->nz; i++) near(again[i], z[i], tolerance);
    }
}

static void builtins_round_trip(void **unused) {
    (void)unused;
    for (size_t b = 0; b < cls_builtin_count(); b++) {
        cls_system *s = NULL;
        cls_error error = {0};
        double z[64];
        assert_int_equal(cls_system_load(cls_builtin_name(b), NULL, &s, &error), CLS_OK);
        assert_int_equal(cls_system_start(s, NULL, z, &error), CLS_OK);
        for (size_t i = 0; i < s->form->nz; i++) z[i] += 0.05 * (double)(i + 1);
        round_trip(s, z, 1e-12);
        cls_system_free(&s);
    }
}

static void a_quadratic_lagrangian_becomes_a_hamiltonian(void **unused) {
    (void)unused;
    /* full mass matrix that depends on x, a term linear in v, a potential from outside */
    cls_system *s =
        parse("coordinate x, y\nentropy S\nlagrangian (2 + x^2)*v.x^2/2 + v.x*v.y*x/3 + "
              "v.y^2 + y*v.x - exp(S)*(1 + x^2)\nexternal potential x*y");
    assert_int_equal(s->form->kind, CLSI_FORM_PHASE);
    assert_int_not_equal(s->form->lagrangian, CLS_NO_NODE);
    double x = 0.4, y = -0.7, vx = 0.3, vy = -1.1, S = 0.2, row[16];
    double px = (2 + x * x) * vx + vy * x / 3 + y, py = vx * x / 3 + 2 * vy;
    double L =
        (2 + x * x) * vx * vx / 2 + vx * vy * x / 3 + vy * vy + y * vx - exp(S) * (1 + x * x);
    const double z[] = {x, y, px, py, S};
    assert_int_equal(cls_system_row(s, 0, z, row, NULL), CLS_OK);
    near(value(s, row, s->v[0]), vx, 1e-14);
    near(value(s, row, s->v[1]), vy, 1e-14);
    near(value(s, row, s->T[0]), exp(S) * (1 + x * x), 1e-14);
    near(value(s, row, cls_symbol(s->g, "energy")), px * vx + py * vy - L + x * y, 1e-14);
    round_trip(s, z, 1e-12);
    cls_system_free(&s);
}

static void kinetic_energy_is_written_plainly(void **unused) {
    (void)unused;
    cls_system *s = parse("coordinate x\nparameter m = 3\nlagrangian m*v.x^2/2 - x^2/2");
    cls_node two = cls_constant(s->g, 2);
    cls_node p = cls_div(s->g, cls_pow(s->g, s->p[0], two), cls_constant(s->g, 6));
    cls_node x = cls_div(s->g, cls_pow(s->g, s->q[0], two), two);
    assert_int_equal(s->form->generator, cls_add(s->g, p, x)); /* the same node: hash-consed */
    cls_system_free(&s);
}

static void other_lagrangians_keep_velocities(void **unused) {
    (void)unused;
    cls_system *s =
        parse("coordinate x\nentropy S\nlagrangian -sqrt(1 - v.x^2) - exp(S)*(2 + x^2)");
    assert_int_equal(s->form->kind, CLSI_FORM_VELOCITY);
    const double z[] = {0.5, 0.6, 0.1};
    double row[16];
    assert_int_equal(cls_system_row(s, 0, z, row, NULL), CLS_OK);
    near(value(s, row, s->p[0]), 0.6 / 0.8, 1e-15);
    near(value(s, row, s->T[0]), exp(0.1) * 2.25, 1e-15);
    near(value(s, row, cls_symbol(s->g, "energy")), 1 / 0.8 + exp(0.1) * 2.25, 1e-14);
    round_trip(s, z, 1e-12);
    cls_system_free(&s);
}

static void hamiltonians_know_their_lagrangian(void **unused) {
    (void)unused;
    cls_system *s = parse("coordinate x\nhamiltonian (p.x - 2*x)^2/6 + x^4");
    assert_int_not_equal(s->form->lagrangian, CLS_NO_NODE);
    cls_program *p = NULL;
    const cls_node inputs[] = {s->q[0], s->v[0]};
    double work[64], L;
    assert_int_equal(cls_program_create(s->g, 2, inputs, 1, &s->form->lagrangian, &p, NULL),
                     CLS_OK);
    assert_true(cls_program_work_size(p) <= 64);
    cls_program_prepare(p, work);
    cls_program_run(p, work, (double[]){0.5, 0.7}, &L);
    near(L, 3 * 0.49 / 2 + 2 * 0.5 * 0.7 - 0.0625, 1e-15); /* p = 3v + 2x */
    cls_program_free(&p);
    cls_system_free(&s);
    s = parse("coordinate x\nhamiltonian sqrt(1 + p.x^2)");
    assert_int_equal(s->form->lagrangian, CLS_NO_NODE);
    cls_system_free(&s);
}

/* energy_q is dE/dq at fixed p and S in every form. */
static void energy_q_holds_p_and_S_fixed(void **unused) {
    (void)unused;
    static const char *const texts[] = {
        "coordinate x\nentropy S\nhamiltonian p.x^2/(2 + x^2) + exp(S)*x^(-2/3)\nexternal "
        "potential x",
        "coordinate x\nentropy S\nlagrangian (2 + x^2)*v.x^4 + v.x^2 - exp(S)*x^(-2/3)",
        "coordinate x\nentropy S\nthermal lagrangian (1 + x^2)*v.x^2/2 + T*(log(x^(2/3)*T) - 1) + "
        "T*v.x^2\nexternal potential x^2",
    };
    for (int i = 0; i < 3; i++) {
        cls_system *s = parse(texts[i]);
        const char *names[] = {"x", "p.x", "S"};
        const double h = 1e-5;
        double values[] = {1.2, 0.4, 0.3}, state[3], row[16], E[2], slope, work[256];
        for (int side = 0; side < 2; side++) {
            cls_error error = {0};
            values[0] = side ? 1.2 + h : 1.2 - h;
            if (cls_system_start(s, &(cls_assignments){3, names, values}, state, &error))
                fail_msg("%d: %s", i, error.message);
            assert_int_equal(cls_system_row(s, 0, state, row, NULL), CLS_OK);
            E[side] = value(s, row, cls_symbol(s->g, "energy"));
        }
        values[0] = 1.2;
        assert_int_equal(cls_system_start(s, &(cls_assignments){3, names, values}, state, NULL), 0);
        cls_program *p = NULL;
        assert_int_equal(cls_program_create(s->g, 3, s->form->z, 1, s->form->energy_q, &p, NULL),
                         0);
        assert_true(cls_program_work_size(p) <= 256);
        cls_program_prepare(p, work);
        cls_program_run(p, work, state, &slope);
        near(slope, (E[1] - E[0]) / (2 * h), 1e-9);
        cls_program_free(&p);
        cls_system_free(&s);
    }
}

static void wrong_starts(void **unused) {
    (void)unused;
    static const struct {
        const char *system, *name[2];
        double value[2];
        cls_status status;
        const char *says;
    } wrong[] = {
        {"ideal-gas-piston", {"y"}, {1}, CLS_USAGE, "no variable `y`"},
        {"ideal-gas-piston", {"v.X"}, {1}, CLS_USAGE, "v.x"},
        {"ideal-gas-piston", {"x"}, {NAN}, CLS_USAGE, "finite"},
        {"ideal-gas-piston", {"x"}, {-1}, CLS_USAGE, "x = -1 is outside its domain (0, inf)"},
        {"ideal-gas-piston", {"T"}, {0}, CLS_USAGE, "T = 0 is outside its domain (0, inf)"},
        {"ideal-gas-piston", {"v.x", "p.x"}, {1, 1}, CLS_USAGE, "both given"},
        {"ideal-gas-piston", {"S", "T"}, {1, 1}, CLS_USAGE, "both given"},
        {"ideal-gas-piston", {"S", "S"}, {1, 1}, CLS_USAGE, "twice"},
        {"ideal-gas-piston", {"S"}, {1e6}, CLS_USAGE, "not a possible state"},
        {"adiabatic-piston", {"x"}, {2}, CLS_USAGE, "outside its domain (-2, 2)"},
        {"adiabatic-piston", {"T1"}, {-3}, CLS_USAGE, "T1 = -3"},
        {"damped-oscillator", {"T"}, {0.3}, CLS_NUMERIC, "T does not depend on S"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cls_error error = {0};
        cls_system *s = NULL;
        double state[16];
        assert_int_equal(cls_system_load(wrong[i].system, NULL, &s, &error), CLS_OK);
        cls_assignments given = {wrong[i].name[1] ? 2 : 1, wrong[i].name, wrong[i].value};
        cls_status status = cls_system_start(s, &given, state, &error);
        if (status != wrong[i].status || !strstr(error.message, wrong[i].says))
            fail_msg("case %zu: status %d: %s", i, status, error.message);
        cls_system_free(&s);
    }
}

static void a_missing_start_is_named(void **unused) {
    (void)unused;
    cls_error error = {0};
    double state[8];
    cls_system *s = parse("coordinate x\nlagrangian v.x^2/2\nstart x = 1");
    assert_int_equal(cls_system_start(s, NULL, state, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "v.x or p.x is missing"));
    const char *names[] = {"p.x"};
    assert_int_equal(
        cls_system_start(s, &(cls_assignments){1, names, (double[]){2}}, state, &error), CLS_OK);
    assert_true(state[1] == 2);
    cls_system_free(&s);
}

static void a_transform_without_solution_fails(void **unused) {
    (void)unused;
    cls_error error = {0};
    double state[8];
    /* |p| = |tanh v| < 1 */
    cls_system *s = parse("coordinate x\nlagrangian log(cosh(v.x)) - x\nstart x = 0");
    const char *names[] = {"p.x"};
    assert_int_equal(
        cls_system_start(s, &(cls_assignments){1, names, (double[]){0.5}}, state, &error), CLS_OK);
    near(state[1], atanh(0.5), 1e-12);
    assert_int_equal(
        cls_system_start(s, &(cls_assignments){1, names, (double[]){2}}, state, &error),
        CLS_NUMERIC);
    assert_non_null(strstr(error.message, "no v.x solves p.x = 2"));
    cls_system_free(&s);
}

static void temperature_below_zero_is_no_state(void **unused) {
    (void)unused;
    cls_error error = {0};
    double state[8];
    cls_system *s = parse("coordinate x\nentropy S\nlagrangian v.x^2/2 + S\nstart x=0, v.x=0, S=1");
    assert_int_equal(cls_system_start(s, NULL, state, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "T = -1 is outside"));
    cls_system_free(&s);
}

/* clsi_place is filled with zeros by people who do not think of t: node 0 is t itself. */
static void a_place_without_t_keeps_t(void **unused) {
    (void)unused;
    cls_system *s = parse("coordinate x\nlagrangian v.x^2/2\nexternal force: x <- v.x*t");
    assert_int_equal(s->t, 0);
    cls_node two = cls_constant(s->g, 2), out;
    const clsi_place at = {.v = &two};
    assert_int_equal(clsi_place_at(s, &at, 1, s->bound.force, &out), CLS_OK);
    assert_int_equal(out, cls_mul(s->g, s->t, two));
    cls_system_free(&s);
}

static void lu_solves(void **unused) {
    (void)unused;
    enum { N = 12 };
    cls_random r;
    cls_random_seed(&r, 7);
    for (int trial = 0; trial < 50; trial++) {
        double a[N * N], lu[N * N], x[N], b[N];
        size_t pivot[N];
        for (int i = 0; i < N * N; i++) lu[i] = a[i] = cls_random_normal(&r);
        for (int i = 0; i < N; i++) x[i] = cls_random_normal(&r);
        for (int i = 0; i < N; i++) {
            b[i] = 0;
            for (int j = 0; j < N; j++) b[i] += a[i * N + j] * x[j];
        }
        assert_int_equal(clsi_lu_factor(N, lu, pivot), 0);
        clsi_lu_solve(N, lu, pivot, b);
        for (int i = 0; i < N; i++) near(b[i], x[i], 1e-10);
    }
    double singular[] = {1, 2, 2, 4};
    size_t pivot[2];
    assert_int_equal(clsi_lu_factor(2, singular, pivot), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builtins_round_trip),
        cmocka_unit_test(a_quadratic_lagrangian_becomes_a_hamiltonian),
        cmocka_unit_test(kinetic_energy_is_written_plainly),
        cmocka_unit_test(other_lagrangians_keep_velocities),
        cmocka_unit_test(hamiltonians_know_their_lagrangian),
        cmocka_unit_test(energy_q_holds_p_and_S_fixed),
        cmocka_unit_test(wrong_starts),
        cmocka_unit_test(a_missing_start_is_named),
        cmocka_unit_test(a_transform_without_solution_fails),
        cmocka_unit_test(temperature_below_zero_is_no_state),
        cmocka_unit_test(a_place_without_t_keeps_t),
        cmocka_unit_test(lu_solves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
