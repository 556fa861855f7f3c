/* Learning from positions alone: the discretisation that a rule absorbs is the one that theory
 * says, equal and unequal steps; derivatives; friction and heat; symmetries that hold by form. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "made_data.h"
#include <stdio.h>

/* The columns trajectory, time and the coordinates of a table, with every `every`-th row. */
static cls_table *only_positions(const cls_system *s, const cls_table *full) {
    const char *names[16] = {"trajectory", "time"};
    size_t n = cls_system_coordinate_count(s), column[16];
    cls_table *t;
    for (size_t j = 0; j < n; j++) names[2 + j] = cls_system_state_name(s, j);
    for (size_t c = 0; c < n + 2; c++) column[c] = (size_t)cls_table_find(full, names[c]);
    assert_int_equal(cls_table_create(n + 2, names, &t, NULL), CLS_OK);
    for (size_t i = 0; i < cls_table_rows(full); i++) {
        double row[16];
        for (size_t c = 0; c < n + 2; c++) row[c] = cls_table_column(full, column[c])[i];
        assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
    }
    return t;
}

static cls_system *parse(const char *text) {
    cls_error error;
    cls_system *s;
    if (cls_system_parse(text, "test", NULL, &s, &error)) fail_msg("%s", error.message);
    return s;
}

static const char *const spring = "coordinate q\nhamiltonian p.q^2/2 + V\npart V = unknown\n";

/* q = cos(t + phase), two amplitudes; `unequal`: steps differ by up to a factor of 2. */
static cls_table *cosines(double h, size_t rows, int unequal) {
    const char *const names[] = {"trajectory", "time", "q"};
    cls_table *t;
    assert_int_equal(cls_table_create(3, names, &t, NULL), CLS_OK);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < rows; i++) {
            double time = h * ((double)i + (unequal ? 0.25 * sin(3.0 * (double)i) : 0));
            double row[] = {k, time, (1 - 0.4 * k) * cos(time + k)};
            assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
        }
    return t;
}

static cls_model *learn_by(const cls_system *s, const cls_table *t, const char *scheme,
                           const char *field, const char *optimizer, cls_learn_info *info) {
    cls_error error;
    cls_model *m;
    const char *name = "made here";
    cls_learn_options o = cls_learn_defaults();
    o.scheme = scheme;
    o.field = field;
    o.optimizer = optimizer;
    if (cls_learn(s, NULL, 1, &t, &name, &o, &m, info, &error)) fail_msg("%s", error.message);
    return m;
}

/* 2 (V(1/2) - V(0)) 4, the stiffness of a learned spring, by the model's own energy. */
static double stiffness(const cls_model *m) {
    const cls_system *s = cls_model_system(m);
    double row[16], at[] = {0.5, 0}, rest[] = {0, 0};
    size_t energy = 0;
    while (strcmp(cls_system_column(s, energy), "energy") != 0) energy++;
    assert_int_equal(cls_system_row(s, 0, at, row, NULL), CLS_OK);
    double above = row[energy];
    assert_int_equal(cls_system_row(s, 0, rest, row, NULL), CLS_OK);
    return 8 * (above - row[energy]);
}

/* Exact positions cos(t) with h = 0.2 are those of the rule with this stiffness
 * (docs/physics/discrete-gradient.md); the weak form finds the true one. */
static void each_rule_absorbs_its_own_error(void **state) {
    (void)state;
    static const struct {
        const char *scheme;
        double k, tolerance;
    } rules[] = {{"discrete-gradient", 1.0067046422494890, 1e-11},
                 {"leapfrog", 0.99667110793791847, 1e-11},
                 {"symplectic-euler", 0.99667110793791847, 1e-11},
                 {"weak", 1, 1e-8},
                 {NULL, 1, 1e-8}};
    cls_system *s = parse(spring);
    cls_table *t = cosines(0.2, 100, 0);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        cls_learn_info info;
        cls_model *m = learn_by(s, t, rules[i].scheme, "chebyshev(4)", NULL, &info);
        assert_true(fabs(stiffness(m) - rules[i].k) < rules[i].tolerance);
        assert_string_equal(info.optimizer, "linear");
        cls_model_free(&m);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Order 2 and order 8 in the step, with equal and unequal steps. */
static void unequal_steps_keep_the_order(void **state) {
    (void)state;
    static const struct {
        const char *scheme;
        double least, most;
    } rules[] = {{"discrete-gradient", 1.8, 2.4}, {"weak", 7, 9}};
    cls_system *s = parse(spring);
    for (size_t i = 0; i < 2; i++)
        for (int unequal = 0; unequal < 2; unequal++) {
            double error[2];
            for (int k = 0; k < 2; k++) {
                cls_learn_info info;
                double h = k ? 0.4 : 0.8;
                cls_table *t = cosines(h, 60, unequal);
                cls_model *m = learn_by(s, t, rules[i].scheme, "monomial(2)", NULL, &info);
                error[k] = fabs(stiffness(m) - 1);
                cls_model_free(&m);
                cls_table_free(&t);
            }
            double order = log2(error[0] / error[1]);
            assert_true(order > rules[i].least && order < rules[i].most);
        }
    cls_system_free(&s);
}

/* ---- derivatives ---- */

typedef struct inside {
    cls_system *s;
    clsi_points *points;
    clsi_unknowns *unknowns;
    clsi_residual *residual;
    double *theta;
    size_t n, rows;
} inside;

static inside look_inside(const char *text, const cls_table *t, const clsi_rule *rule,
                          const char *field) {
    cls_error error;
    const char *name = "made here";
    inside x = {.s = parse(text)};
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = x.s->n_unknown;
    o.unknown = (const char *const *)x.s->unknown;
    o.field = field;
    if (clsi_points_create(x.s, 1, &t, &name, rule, 0, 0, &x.points, &error) ||
        clsi_unknowns_create(x.s, NULL, &o, x.points, &x.unknowns, &error) ||
        clsi_residual_create(x.points, x.unknowns, &x.residual, &error))
        fail_msg("%s", error.message);
    x.n = x.unknowns->n_theta;
    x.rows = x.points->n_training * x.residual->n_equations;
    x.theta = calloc(x.n, sizeof(double));
    cls_random random;
    cls_random_seed(&random, 5);
    for (size_t k = 0; k < x.n; k++) x.theta[k] = 0.4 * cls_random_normal(&random);
    return x;
}

static void close_inside(inside *x) {
    clsi_residual_free(&x->residual);
    clsi_unknowns_free(&x->unknowns);
    clsi_points_free(&x->points);
    cls_system_free(&x->s);
    free(x->theta);
}

/* Rows against differences of residuals, the gradient against rows, any order of rows. */
static void check_derivatives(inside *x) {
    size_t n = x->n, rows = x->rows;
    double *r = calloc(3 * rows, sizeof *r), *up = r + rows, *down = up + rows;
    double *J = calloc(rows * n, sizeof *J), *g = calloc(2 * n, sizeof *g), loss, sum = 0;
    size_t *list = calloc(rows, sizeof *list);
    assert_int_equal(clsi_residual_rows(x->residual, x->theta, 0, rows, NULL, r, J), CLS_OK);
    for (size_t k = 0; k < n; k++) {
        double keep = x->theta[k], h = 1e-5;
        x->theta[k] = keep + h;
        assert_int_equal(clsi_residual_rows(x->residual, x->theta, 0, rows, NULL, up, NULL), 0);
        x->theta[k] = keep - h;
        assert_int_equal(clsi_residual_rows(x->residual, x->theta, 0, rows, NULL, down, NULL), 0);
        x->theta[k] = keep;
        for (size_t i = 0; i < rows; i++)
            assert_true(fabs((up[i] - down[i]) / (2 * h) - J[i * n + k]) <
                        1e-7 * (1 + fabs(J[i * n + k])));
    }
    for (size_t i = 0; i < rows; i++) {
        list[i] = rows - 1 - i;
        sum += r[i] * r[i] / (2 * (double)rows);
        for (size_t k = 0; k < n; k++) g[n + k] += r[i] * J[i * n + k] / (double)rows;
    }
    assert_int_equal(clsi_residual_gradient(x->residual, x->theta, rows, list, &loss, g), CLS_OK);
    assert_true(fabs(loss - sum) < 1e-12 * sum);
    for (size_t k = 0; k < n; k++) assert_true(fabs(g[k] - g[n + k]) < 1e-10 * (1 + fabs(g[k])));
    free(r);
    free(J);
    free(g);
    free(list);
}

static cls_table *ellipses(void) {
    const char *const names[] = {"trajectory", "time", "x", "y"};
    cls_table *t;
    assert_int_equal(cls_table_create(4, names, &t, NULL), CLS_OK);
    for (int i = 0; i < 40; i++) {
        double time = 0.1 * (i % 20) + 0.01 * sin(i);
        double row[] = {i / 20, time, cos(time + i / 20), 0.6 * sin(1.3 * time)};
        assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
    }
    return t;
}

static void derivatives_are_exact(void **state) {
    (void)state;
    static const char *const texts[] = {
        "coordinate x, y\nhamiltonian (p.x^2 + p.y^2/2)/2 + x^2*y + V\npart V = unknown\n",
        "coordinate x, y\nentropy S\nlagrangian (v.x^2 + v.y^2)/2 - V - S\npart V = unknown of "
        "x^2, "
        "x*y\nfriction F on S: unknown of y\n",
        "coordinate x, y\nlagrangian m*v.x^2/2 + v.y^2 + x*v.x*v.y/5 - 2*V\npart V = unknown\n"
        "part m = unknown of y\n"};
    static const clsi_rule *const rules[] = {&clsi_rule_weak, &clsi_rule_pairs, &clsi_rule_leapfrog,
                                             &clsi_rule_euler};
    static const char *const fields[] = {"network(4, 3)", "chebyshev(3)"};
    cls_table *t = ellipses();
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < 4; i++)
            for (size_t f = 0; f < 2; f++) {
                if (k == 2 && rules[i] == &clsi_rule_pairs) continue; /* the mass depends on y */
                inside x = look_inside(texts[k], t, rules[i], fields[f]);
                check_derivatives(&x);
                close_inside(&x);
            }
    cls_table_free(&t);
}

/* ---- friction, heat, symmetry ---- */

/* A damped pendulum seen only through its angle: potential and friction in one solve; the model
 * keeps the total energy, its entropy never falls, and its motion does not depend on its heat. */
static void damped_pendulum_from_its_angle(void **state) {
    (void)state;
    static const range box[] = {{"q", -2, 2}, {"p.q", -1, 1}, {"S", 1, 1}};
    static const char *const known =
        "coordinate q\nentropy S\nhamiltonian p.q^2/2 + V + exp(S)\npart V = 6*(1 - cos(q))\n"
        "friction F on S: q <- -(0.2 + 0.1*q^2)*v.q\nstart q = 1.5, p.q = 0, S = 1\n";
    static const char *const guess =
        "coordinate q\nentropy S\nhamiltonian p.q^2/2 + V + exp(S)\npart V = unknown\n"
        "friction F on S: unknown chebyshev(4)\nstart q = 1.5, p.q = 0, S = 1\n";
    cls_system *truth = parse(known), *s = parse(guess);
    cls_table *full = make_data(truth, 3, box, 20, 60, 0.05, 4), *t = only_positions(s, full);
    cls_learn_info info;
    cls_model *m = learn_by(s, t, NULL, NULL, NULL, &info);
    assert_string_equal(info.optimizer, "linear");
    assert_true(rollout(truth, m, 0.0025, 2000) < 2e-5);
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *warm, *cold;
    double hot[] = {1.5, 0, 3}, cool[] = {1.5, 0, -1};
    o.h = 0.05;
    assert_int_equal(cls_simulator_create(cls_model_system(m), &o, &warm, NULL), CLS_OK);
    assert_int_equal(cls_simulator_create(cls_model_system(m), &o, &cold, NULL), CLS_OK);
    assert_int_equal(cls_simulator_start(warm, 0, hot, NULL), CLS_OK);
    assert_int_equal(cls_simulator_start(cold, 0, cool, NULL), CLS_OK);
    assert_int_equal(cls_simulator_advance(warm, 200, NULL), CLS_OK);
    assert_int_equal(cls_simulator_advance(cold, 200, NULL), CLS_OK);
    assert_true(fabs(cls_simulator_state(warm)[0] - cls_simulator_state(cold)[0]) < 1e-11);
    cls_simulator_free(&warm);
    cls_simulator_free(&cold);
    cls_model_free(&m);
    cls_table_free(&full);
    cls_table_free(&t);
    cls_system_free(&truth);
    cls_system_free(&s);
}

/* ---- masses ---- */

/* Learned from positions of `known` by the weak form, `guess` moves as it does. */
static void masses_are_found(const char *known, const char *guess, size_t n, const range *box,
                             double tolerance) {
    cls_system *truth = parse(known), *s = parse(guess);
    cls_table *full = make_data(truth, n, box, 20, 60, 0.05, 4), *t = only_positions(s, full);
    cls_learn_info info;
    cls_model *m = learn_by(s, t, NULL, NULL, NULL, &info);
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *a, *b;
    double start[8], aimed[8], target[4], most = 0;
    size_t q = cls_system_coordinate_count(s);
    /* twice the mass and twice the force move the same way; factors of a product have no scale */
    assert_int_equal(info.normalised, q == 1);
    o.h = 0.05;
    o.scheme = "discrete-gradient-4";
    assert_int_equal(cls_system_start(truth, NULL, start, NULL), CLS_OK);
    assert_int_equal(cls_simulator_create(truth, &o, &a, NULL), CLS_OK);
    assert_int_equal(cls_simulator_create(cls_model_system(m), &o, &b, NULL), CLS_OK);
    assert_int_equal(cls_simulator_start(a, 0, start, NULL), CLS_OK);
    assert_int_equal(cls_simulator_advance(a, 1, NULL), CLS_OK);
    memcpy(target, cls_simulator_state(a), q * sizeof *target);
    memcpy(aimed, start, sizeof aimed);
    assert_int_equal(cls_simulator_aim(b, 0, target, aimed, NULL), CLS_OK);
    assert_int_equal(cls_simulator_advance(b, 1, NULL), CLS_OK);
    for (int k = 0; k < 100; k++) {
        for (size_t j = 0; j < q; j++)
            most = fmax(most, fabs(cls_simulator_state(a)[j] - cls_simulator_state(b)[j]));
        assert_int_equal(cls_simulator_advance(a, 1, NULL), CLS_OK);
        assert_int_equal(cls_simulator_advance(b, 1, NULL), CLS_OK);
    }
    assert_true(most < tolerance);
    assert_true(cls_simulator_info(b).energy_relative < 1e-12);
    cls_simulator_free(&a);
    cls_simulator_free(&b);
    cls_model_free(&m);
    cls_table_free(&full);
    cls_table_free(&t);
    cls_system_free(&truth);
    cls_system_free(&s);
}

static void mass_of_the_position(void **state) {
    (void)state;
    static const range box[] = {{"q", -1, 1}, {"v.q", -1, 1}};
    masses_are_found("coordinate q\nlagrangian (1 + q^2/2)*v.q^2/2 - q^2\nstart q = 0.7, v.q = 0\n",
                     "coordinate q\nlagrangian m*v.q^2/2 - V\npart V = unknown chebyshev(6)\n"
                     "part m = unknown positive chebyshev(6)\nstart q = 0.7, v.q = 0\n",
                     2, box, 1e-4);
}

/* M = A A^T by form, A lower triangular with a positive diagonal. */
static void constant_mass_matrix(void **state) {
    (void)state;
    static const range box[] = {{"x", -1, 1}, {"y", -1, 1}, {"v.x", -1, 1}, {"v.y", -1, 1}};
    masses_are_found(
        "coordinate x, y\nlagrangian v.x^2 + v.x*v.y/2 + v.y^2/2 - x^2 - x*y^3/2 - y^4\n"
        "start x = 0.7, v.x = 0, y = 0.2, v.y = 0.1\n",
        "coordinate x, y\nlagrangian ((a*v.x + b*v.y)^2 + (c*v.y)^2)/2 - V\n"
        "part V = unknown chebyshev(4)\npart a = unknown positive terms(1)\n"
        "part b = unknown terms(1)\npart c = unknown positive terms(1)\n"
        "start x = 0.7, v.x = 0, y = 0.2, v.y = 0.1\n",
        4, box, 1e-6);
}

/* A potential of the distance: momentum and angular momentum of what was learned are kept. */
static void declared_symmetry_is_exact(void **state) {
    (void)state;
    static const char *const guess =
        "coordinate x1, x2, y1, y2\nlet rho = (x1 - x2)^2 + (y1 - y2)^2\n"
        "part V = unknown chebyshev(12) of log(rho)\n"
        "hamiltonian (p.x1^2 + p.y1^2 + p.x2^2 + p.y2^2)/2 + V\n"
        "invariant Px = p.x1 + p.x2\ninvariant Py = p.y1 + p.y2\n"
        "invariant Lz = x1*p.y1 - y1*p.x1 + x2*p.y2 - y2*p.x2\n";
    static const range box[] = {{"x1", 0.5, 0.9}, {"y1", 0.4, 0.7}, {"p.x1", -0.5, -0.2}};
    cls_system *truth = load_system("two-body"), *s = parse(guess);
    cls_table *full = make_data(truth, 3, box, 20, 100, 0.05, 4), *t = only_positions(s, full);
    cls_learn_info info;
    for (int k = 0; k < 2; k++) {
        cls_model *m = learn_by(s, t, k ? "discrete-gradient" : NULL, NULL, NULL, &info);
        cls_simulate_options o = cls_simulate_defaults();
        cls_simulator *sim;
        double start[8], first[64], last[64];
        o.h = 0.05;
        assert_int_equal(cls_system_start(truth, NULL, start, NULL), CLS_OK);
        assert_int_equal(cls_simulator_create(cls_model_system(m), &o, &sim, NULL), CLS_OK);
        assert_int_equal(cls_simulator_start(sim, 0, start, NULL), CLS_OK);
        assert_int_equal(cls_simulator_row(sim, first, NULL), CLS_OK);
        assert_int_equal(cls_simulator_advance(sim, 10000, NULL), CLS_OK);
        assert_int_equal(cls_simulator_row(sim, last, NULL), CLS_OK);
        cls_simulate_info found = cls_simulator_info(sim);
        assert_int_equal(found.n_invariants, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_true(found.invariants[i].max_error < 1e-13);
        }
        assert_true(found.energy_max_error < 1e-12);
        cls_simulator_free(&sim);
        cls_model_free(&m);
    }
    cls_table_free(&full);
    cls_table_free(&t);
    cls_system_free(&truth);
    cls_system_free(&s);
}

/* ---- two positions start a run ---- */

/* tests/reference/a2_scheme12_reference.csv: p by (11) at the second position, and the steps that follow. */
static void aimed_start_is_formula_11(void **state) {
    (void)state;
    char text[2048], *at = text;
    at += sprintf(at, "coordinate x, y\n");
    for (int i = 0; i < 3; i++)
        at += sprintf(at, "let a%d = tanh(%.17g*x + %.17g*y + %.17g)\n", i, sin(1 + i), sin(3 + i),
                      0.1 * (i + 1));
    for (int i = 0; i < 3; i++)
        at += sprintf(at, "let c%d = tanh(%.17g*a0 + %.17g*a1 + %.17g*a2 - %.17g)\n", i,
                      cos(1 + 2 * i), cos(2 + 2 * i), cos(3 + 2 * i), 0.2 * (i + 1));
    sprintf(at, "hamiltonian (p.x^2 + p.y^2)/2 + 0.5*c0 + 0.8*c1 + 1.1*c2 + (x^2 + 2*y^2)/2\n");
    cls_system *s = parse(text);
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *sim;
    double z[4] = {0.5, -0.3}, target[] = {0.55, -0.2};
    const double first[] = {0.55, -0.2, 0.16524503433002329028, 0.59090414118238842328};
    const double last[] = {0.40331882974169067549, 0.34913201658776018714, 0.64677626196731093538,
                           -0.9295419532923452708};
    o.h = 0.2;
    assert_int_equal(cls_simulator_create(s, &o, &sim, NULL), CLS_OK);
    assert_int_equal(cls_simulator_aim(sim, 0, target, z, NULL), CLS_OK);
    assert_int_equal(cls_simulator_advance(sim, 1, NULL), CLS_OK);
    for (int k = 0; k < 4; k++) assert_true(fabs(cls_simulator_state(sim)[k] - first[k]) < 2e-15);
    assert_int_equal(cls_simulator_advance(sim, 50, NULL), CLS_OK);
    for (int k = 0; k < 4; k++) assert_true(fabs(cls_simulator_state(sim)[k] - last[k]) < 3e-13);
    cls_simulator_free(&sim);
    cls_system_free(&s);
}

/* ---- refusals ---- */

static void refused(const char *text, const cls_table *t, const char *scheme, const char *field,
                    const char *word) {
    cls_error error = {0};
    cls_model *m;
    cls_learn_info info;
    const char *name = "made here";
    cls_learn_options o = cls_learn_defaults();
    cls_system *s = parse(text);
    o.scheme = scheme;
    o.field = field;
    assert_int_equal(cls_learn(s, NULL, 1, &t, &name, &o, &m, &info, &error), CLS_USAGE);
    assert_null(m);
    assert_non_null(strstr(error.message, word));
    cls_system_free(&s);
}

static void what_positions_cannot_show_is_refused(void **state) {
    (void)state;
    cls_table *t = ellipses();
    refused("coordinate x, y\nentropy S\nhamiltonian (p.x^2 + p.y^2)/2 + S*x^2 + V + S\n"
            "part V = unknown\n",
            t, NULL, NULL, "depends on the heat of S");
    refused("coordinate x, y\nhamiltonian p.x^4 + p.y^2/2 + V\npart V = unknown\n", t, NULL, NULL,
            "not quadratic");
    refused("coordinate x, y\nlagrangian (1 + x^2)*v.x^2/2 + v.y^2/2 - V\npart V = unknown\n", t,
            "discrete-gradient", NULL, "constant masses");
    refused("coordinate x, y\nlagrangian v.x^2/2 + v.y^2/2 - V^2\npart V = unknown\n", t,
            "discrete-gradient", NULL, "not a term");
    refused("coordinate x, y\nlagrangian v.x^2/2 + v.y^2/2 - V\npart V = unknown\n", t,
            "discrete-gradient", "network(4, sin)", "tanh");
    refused("coordinate x, y\nlagrangian v.x^2/2 + v.y^2/2 - V\npart V = unknown terms(x^2) of y\n",
            t, NULL, NULL, "`of` says");
    cls_table_free(&t);
}

typedef struct seen {
    double best, last;
} seen;

static int remember(void *context, const cls_learn_progress *p) {
    seen *s = context;
    if (p->loss < s->best) s->best = p->loss;
    s->last = p->loss;
    return 0;
}

/* Too large a rate: the loss goes up again, and what is asked for is what is given. */
static void the_last_parameters_are_kept(void **state) {
    (void)state;
    cls_system *s = parse(spring);
    cls_table *t = cosines(0.2, 100, 0);
    const char *name = "made here";
    for (int last = 0; last < 2; last++) {
        seen saw = {INFINITY, 0};
        cls_learn_info info;
        cls_model *m;
        cls_learn_options o = cls_learn_defaults();
        o.scheme = "leapfrog";
        o.field = "network(8, unscaled)";
        o.optimizer = "adam";
        o.rate = 0.5;
        o.constant_rate = 1;
        o.batch = 20;
        o.validate = 0;
        o.max_iterations = 315;
        o.last = last;
        o.progress = remember;
        o.context = &saw;
        assert_int_equal(
            cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &m, &info, NULL),
            CLS_OK);
        assert_true(saw.best < 0.9 * saw.last);
        double kept = last ? saw.last : saw.best;
        assert_true(fabs(info.loss_final - kept) < 1e-12 * kept);
        cls_model_free(&m);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_absorbs_its_own_error),
        cmocka_unit_test(unequal_steps_keep_the_order),
        cmocka_unit_test(derivatives_are_exact),
        cmocka_unit_test(damped_pendulum_from_its_angle),
        cmocka_unit_test(mass_of_the_position),
        cmocka_unit_test(constant_mass_matrix),
        cmocka_unit_test(declared_symmetry_is_exact),
        cmocka_unit_test(aimed_start_is_formula_11),
        cmocka_unit_test(the_last_parameters_are_kept),
        cmocka_unit_test(what_positions_cannot_show_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
