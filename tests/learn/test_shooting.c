/* Shooting: derivatives of whole simulations, for every scheme and formalism, against differences;
 * and what shooting finds where residuals cannot. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "learn/residual/derivative.h"
#include "learn/shooting/multiple.h"
#include "learn/shooting/shoot.h"
#include "tests/learn/made_data.h"
#include <omp.h>
#include <stdio.h>

/* ---- a problem made by hand ---- */

typedef struct setup {
    cls_system *s;
    cls_table *t;
    clsi_points *points;
    clsi_unknowns *unknowns;
    clsi_motion motion;
    clsi_shooting *shooting;
    clsi_problem problem;
    double *theta;
} setup;

typedef struct shot {
    const char *name, *text; /* text NULL: a built-in system */
    const char *parts[3];
    size_t n_parts;
    const char *field, *scheme;
    range box[5];
    size_t n_box;
    double h;
} shot;

/* Noise of this size, in units of the spread, on all states of the points. */
static void add_noise(clsi_points *p, double size, uint64_t seed) {
    cls_random random;
    cls_random_seed(&random, seed);
    for (size_t k = 0; k < p->nz; k++) {
        double spread = clsi_points_spread(p, k);
        for (size_t i = 0; i < p->n; i++) {
            double sum = -6; /* twelve uniform numbers: normal enough */
            for (int j = 0; j < 12; j++) sum += cls_random_uniform(&random);
            p->z[k * p->n + i] += size * spread * sum;
        }
    }
}

static setup open_setup(const shot *c, size_t trajectories, size_t steps,
                        const clsi_shooting_options *w, double noise) {
    setup u = {0};
    cls_error e;
    const char *name = "made here";
    if (c->text ? cls_system_parse(c->text, c->name, NULL, &u.s, &e)
                : cls_system_load(c->name, NULL, &u.s, &e))
        fail_msg("%s", e.message);
    u.t = make_table(u.s, NULL, c->n_box, c->box, trajectories, steps, c->h, 7);
    cls_learn_options o = cls_learn_defaults();
    o.unknown = c->parts;
    o.n_unknown = c->n_parts;
    o.field = c->field;
    if (clsi_points_create(u.s, 1, (const cls_table *const *)&u.t, &name, &clsi_rule_quadrature, 0,
                           0, &u.points, &e))
        fail_msg("%s", e.message);
    if (noise > 0) add_noise(u.points, noise, 5);
    if (clsi_unknowns_create(u.s, NULL, &o, u.points, &u.unknowns, &e)) fail_msg("%s", e.message);
    for (size_t i = 0; i < u.unknowns->n; i++) { /* positive by form, as learning makes them */
        clsi_unknown *part = &u.unknowns->list[i];
        if (part->kind == CLSI_PART_FRICTION && !part->nonlinear) part->learned.floor = 0.01;
    }
    if (clsi_motion_create(u.unknowns, c->scheme, &u.motion, &e))
        fail_msg("%s, %s: %s", c->name, c->scheme, e.message);
    if (clsi_shooting_create(u.points, u.motion.step, w, 0, &u.shooting, &e))
        fail_msg("%s", e.message);
    clsi_shooting_problem(u.shooting, &u.problem);
    u.theta = calloc(u.unknowns->n_theta, sizeof *u.theta);
    cls_random random;
    cls_random_seed(&random, 3);
    for (size_t i = 0; i < u.unknowns->n; i++) {
        const clsi_learned *l = &u.unknowns->list[i].learned;
        l->field->kind->initialise(l->field, &random, u.theta + l->offset);
        for (size_t j = 0; l->field->kind->linear && j < l->field->n_parameters; j++)
            u.theta[l->offset + j] = (j == 0 ? 0.3 : 0) + 0.1 * cls_random_uniform(&random);
    }
    return u;
}

static void close_setup(setup *u) {
    free(u->theta);
    clsi_shooting_free(&u->shooting);
    clsi_motion_clear(&u->motion);
    clsi_unknowns_free(&u->unknowns);
    clsi_points_free(&u->points);
    cls_table_free(&u->t);
    cls_system_free(&u->s);
}

static double loss_at(setup *u, size_t k, double shift) {
    size_t n = u->problem.n_rows;
    double *r = calloc(n, sizeof *r), keep = u->theta[k], sum = 0;
    u->theta[k] = keep + shift;
    assert_int_equal(u->problem.residual(&u->problem, u->theta, n, NULL, r), CLS_OK);
    for (size_t i = 0; i < n; i++) sum += r[i] * r[i];
    u->theta[k] = keep;
    free(r);
    assert_true(isfinite(sum));
    return sum / (2 * (double)n);
}

/* Central difference of order 8. */
static double difference(setup *u, size_t k, double h) {
    static const double c[] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += c[i] * (loss_at(u, k, (i + 1) * h) - loss_at(u, k, -(i + 1) * h));
    return sum / h;
}

static void check_gradient(const shot *c, const clsi_shooting_options *w, double noise,
                           double limit) {
    setup u = open_setup(c, 3, 12, w, noise);
    size_t P = u.problem.n_parameters;
    double loss, *g = calloc(P, sizeof *g), largest = 0, worst = 0;
    assert_int_equal(u.problem.gradient(&u.problem, u.theta, u.problem.n_rows, NULL, &loss, g),
                     CLS_OK);
    assert_true(fabs(loss - loss_at(&u, 0, 0)) <= 1e-14 * loss);
    for (size_t k = 0; k < P; k++) largest = fmax(largest, fabs(g[k]));
    assert_true(largest > 0);
    for (size_t i = 0; i < 5; i++) {
        size_t k = i * (P - 1) / 4;
        worst = fmax(worst, fabs(difference(&u, k, 0.005) - g[k]) / largest);
    }
    print_message("%s by %s%s: %zu parameters, difference %.1e\n", c->name, c->scheme,
                  w->free_starts ? ", free starts" : "", P, worst);
    if (!(worst < limit)) fail_msg("%s by %s: off by %g", c->name, c->scheme, worst);
    free(g);
    close_setup(&u);
}

static const char *const spring = "system \"a spring that heats what damps it\"\n"
                                  "coordinate q\n"
                                  "entropy S\n"
                                  "hamiltonian H = p.q^2/2 + q^2/2 + exp(S)\n"
                                  "friction F on S: q <- -0.3*v.q\n"
                                  "start q = 0.5, p.q = 0.3, S = 0.1\n";

static const shot shots[] = {
    {"spring",
     spring,
     {"F"},
     1,
     "network(5, 4)",
     "implicit-midpoint",
     {{"q", -1, 1}, {"p.q", -1, 1}, {"S", 0, 0.5}},
     3,
     0.1},
    {"spring",
     spring,
     {"F"},
     1,
     "network(5, 4)",
     "discrete-gradient",
     {{"q", -1, 1}, {"p.q", -1, 1}, {"S", 0, 0.5}},
     3,
     0.1},
    {"spring",
     spring,
     {"F"},
     1,
     "chebyshev(2)",
     "rk4",
     {{"q", -1, 1}, {"p.q", -1, 1}, {"S", 0, 0.5}},
     3,
     0.1},
    {"spring",
     spring,
     {"F"},
     1,
     "network(4)",
     "dtel",
     {{"q", -1, 1}, {"p.q", -1, 1}, {"S", 0, 0.5}},
     3,
     0.1},
    {"spring",
     spring,
     {"F"},
     1,
     "network(4)",
     "discrete-gradient-4",
     {{"q", -1, 1}, {"p.q", -1, 1}, {"S", 0, 0.5}},
     3,
     0.1},
    {"pendulum", NULL, {"V"}, 1, "network(6)", "leapfrog", {{"q", -1, 1}, {"p.q", -1, 1}}, 2, 0.1},
    {"pendulum",
     NULL,
     {"V"},
     1,
     "network(4, 4)",
     "discrete-gradient",
     {{"q", -1, 1}, {"p.q", -1, 1}},
     2,
     0.1},
    {"adiabatic-piston",
     NULL,
     {"F1", "F2"},
     2,
     "network(3)",
     "vnots-symmetric",
     {{"x", -1, 1}, {"p.x", -1, 1}, {"S1", 0, 1}, {"S2", 0, 1}},
     4,
     0.02},
    {"adiabatic-piston",
     NULL,
     {"F1"},
     1,
     "chebyshev(1)",
     "discrete-gradient",
     {{"x", -1, 1}, {"p.x", -1, 1}, {"S1", 0, 1}, {"S2", 0, 1}},
     4,
     0.02}};
enum { SHOTS = sizeof shots / sizeof *shots };

/* The discrete adjoint is exact to round-off: 1e-10 of the largest component, which is what
 * differences of order 8 can see. */
static void gradients_are_exact(void **unused) {
    (void)unused;
    for (size_t i = 0; i < SHOTS; i++) {
        clsi_shooting_options w = {.intervals = i % 2 ? 0 : 5, .substeps = 1 + i % 3};
        check_gradient(&shots[i], &w, 0.01, 1e-10);
    }
}

static void gradients_with_free_starts_are_exact(void **unused) {
    (void)unused;
    for (size_t i = 0; i < SHOTS; i += 3) {
        clsi_shooting_options w = {.intervals = 6, .free_starts = 1};
        check_gradient(&shots[i], &w, 0.01, 1e-10);
    }
}

/* Rows by forward sensitivities: J^T r is the gradient by the adjoint, in whatever blocks the rows
 * are asked for, and with fixed starts each row is the difference of its residual. */
static void rows_agree_with_the_gradient(void **unused) {
    (void)unused;
    for (size_t i = 0; i < SHOTS; i++) {
        clsi_shooting_options w = {.intervals = 5, .free_starts = i % 2 == 1};
        setup u = open_setup(&shots[i], 3, 12, &w, 0.01);
        clsi_problem *p = &u.problem;
        size_t P = p->n_parameters, n = p->n_rows, cut = n / 3 + 1;
        double loss, *g = calloc(P, sizeof *g), *r = calloc(2 * n, sizeof *r), *all = r + n;
        double *J = calloc(n * P, sizeof *J), largest = 0;
        size_t *rows = calloc(n, sizeof *rows);
        for (size_t k = 0; k < n; k++) rows[k] = k;
        assert_int_equal(p->gradient(p, u.theta, n, NULL, &loss, g), CLS_OK);
        for (size_t at = 0; at < n; at += cut)
            assert_int_equal(
                p->jacobian(p, u.theta, n - at < cut ? n - at : cut, rows + at, r + at, J + at * P),
                CLS_OK);
        assert_int_equal(p->residual(p, u.theta, n, NULL, all), CLS_OK);
        assert_memory_equal(r, all, n * sizeof *r);
        for (size_t j = 0; j < P; j++) largest = fmax(largest, fabs(g[j]));
        for (size_t j = 0; j < P; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) sum += J[k * P + j] * r[k] / (double)n;
            assert_true(fabs(sum - g[j]) <= 1e-11 * largest);
        }
        /* a part of the rows has its part of the gradient, the start moving with theta */
        assert_int_equal(p->gradient(p, u.theta, cut, rows + 3, &loss, g), CLS_OK);
        for (size_t j = 0; j < P; j++) {
            double sum = 0;
            for (size_t k = 3; k < cut + 3; k++) sum += J[k * P + j] * r[k] / (double)cut;
            assert_true(fabs(sum - g[j]) <= 1e-11 * largest);
        }
        free(rows), free(J), free(r), free(g);
        close_setup(&u);
    }
}

/* Same bits for one thread and for three. */
static void threads_do_not_matter(void **unused) {
    (void)unused;
    clsi_shooting_options w = {.intervals = 2, .free_starts = 1};
    setup u = open_setup(&shots[0], 40, 12, &w, 0.01);
    size_t P = u.problem.n_parameters;
    double loss[2], other, *g = calloc(3 * P, sizeof *g);
    double keep = u.theta[0];
    int threads = omp_get_max_threads();
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(i ? 3 : 1);
        u.theta[0] = keep + 1; /* nothing is remembered */
        assert_int_equal(
            u.problem.gradient(&u.problem, u.theta, u.problem.n_rows, NULL, &other, g + 2 * P),
            CLS_OK);
        u.theta[0] = keep;
        assert_int_equal(u.problem.gradient(&u.problem, u.theta, u.problem.n_rows, NULL, &loss[i],
                                            g + (size_t)i * P),
                         CLS_OK);
    }
    omp_set_num_threads(threads);
    assert_true(loss[0] == loss[1]);
    assert_memory_equal(g, g + P, P * sizeof *g);
    free(g);
    close_setup(&u);
}

/* ---- the continuous adjoint ---- */

/* Its distance from the exact gradient, of the largest component. */
static double continuous_error(const shot *c, clsi_shooting_options w) {
    setup u = open_setup(c, 3, 12, &w, 0.01);
    size_t P = u.problem.n_parameters, n = u.problem.n_rows;
    double loss[2], *g = calloc(2 * P, sizeof *g), largest = 0, worst = 0;
    clsi_shooting *other;
    clsi_problem p;
    cls_error e;
    if (clsi_motion_flow(&u.motion, u.unknowns, &e)) fail_msg("%s", e.message);
    w.continuous = u.motion.flow;
    if (clsi_shooting_create(u.points, u.motion.step, &w, 0, &other, &e)) fail_msg("%s", e.message);
    clsi_shooting_problem(other, &p);
    assert_int_equal(u.problem.gradient(&u.problem, u.theta, n, NULL, &loss[0], g), CLS_OK);
    assert_int_equal(p.gradient(&p, u.theta, n, NULL, &loss[1], g + P), CLS_OK);
    assert_true(loss[0] == loss[1]);
    for (size_t j = 0; j < P; j++) {
        largest = fmax(largest, fabs(g[j]));
        worst = fmax(worst, fabs(g[P + j] - g[j]));
    }
    free(g);
    clsi_shooting_free(&other);
    close_setup(&u);
    return worst / largest;
}

/* The gradient of the motion is not that of the numbers: the difference is of order two in the
 * step, whatever the order of the scheme. */
static void the_continuous_adjoint_is_off_by_order_two(void **unused) {
    (void)unused;
    static const size_t of[] = {0, 1, 2, 4, 7};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const shot *c = &shots[of[i]];
        double error[3];
        for (size_t k = 0; k < 3; k++) {
            clsi_shooting_options w = {
                .intervals = 6, .substeps = (size_t)2 << k, .free_starts = i == 1};
            error[k] = continuous_error(c, w);
        }
        print_message("%s by %s: continuous adjoint off by %.1e, %.1e, %.1e for h/2, h/4, h/8\n",
                      c->name, c->scheme, error[0], error[1], error[2]);
        assert_true(error[0] < 0.1 && error[0] > 1e-9); /* near, and not the same */
        for (size_t k = 0; k < 2; k++)
            if (!(error[k] > 3.2 * error[k + 1] && error[k] < 5 * error[k + 1]))
                fail_msg("%s by %s: not of order two", c->name, c->scheme);
    }
}

/* ---- noise ---- */

/* White noise is measured, and a motion that is sampled well is not taken for noise. */
static void noise_is_told_from_motion(void **unused) {
    (void)unused;
    clsi_shooting_options w = {.intervals = 0};
    for (int i = 0; i < 3; i++) {
        double size = i == 0 ? 0 : i == 1 ? 1e-5 : 1e-2;
        setup u = open_setup(&shots[0], 20, 20, &w, size);
        for (size_t k = 0; k < u.points->nz; k++) {
            double found = clsi_points_noise(u.points, k) / clsi_points_spread(u.points, k);
            if (size > 0)
                assert_true(found > 0.8 * size && found < 1.25 * size);
            else
                assert_true(found == 0);
        }
        close_setup(&u);
    }
}

/* The table's columns with normal noise of `size` times their spread. */
static cls_table *with_noise(const cls_table *t, size_t n, const char *const *columns, double size,
                             uint64_t seed) {
    size_t rows = cls_table_rows(t), width = cls_table_columns(t);
    const char *names[64];
    double row[64], spread[64] = {0};
    cls_error e;
    cls_table *out;
    cls_random random;
    cls_random_seed(&random, seed);
    for (size_t c = 0; c < width; c++) names[c] = cls_table_name(t, c);
    for (size_t k = 0; k < n; k++) {
        size_t c = (size_t)cls_table_find(t, columns[k]);
        const double *z = cls_table_column(t, c);
        double mean = 0;
        for (size_t i = 0; i < rows; i++) mean += z[i] / (double)rows;
        for (size_t i = 0; i < rows; i++) spread[c] += (z[i] - mean) * (z[i] - mean) / (double)rows;
        spread[c] = sqrt(spread[c]);
    }
    assert_int_equal(cls_table_create(width, names, &out, &e), CLS_OK);
    for (size_t i = 0; i < rows; i++) {
        for (size_t c = 0; c < width; c++) {
            double sum = -6;
            for (int j = 0; j < 12; j++) sum += cls_random_uniform(&random);
            row[c] = cls_table_column(t, c)[i] + size * spread[c] * sum;
        }
        assert_int_equal(cls_table_append(out, row, &e), CLS_OK);
    }
    return out;
}

static double learned_coefficient(const cls_system *s, const cls_table *t, const char *loss,
                                  size_t window, cls_learn_info *info) {
    const char *const parts[] = {"F"}, *name = "made here";
    cls_error e;
    cls_model *m;
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = 1;
    o.field = "terms(1)";
    o.loss = loss;
    o.window = window;
    o.substeps = loss && !strcmp(loss, "shooting") ? 2 : 0;
    if (cls_learn(s, NULL, 1, &t, &name, &o, &m, info, &e)) fail_msg("%s", e.message);
    double d = cls_model_parameters(m)[0];
    cls_learn_report_free(&info->report);
    cls_model_free(&m);
    return d;
}

/* One friction coefficient, noise of 1 %: the residual over three points is biased (it puts noisy
 * data into formulas), windows are better, shooting is right within its own scatter, and so is what
 * is taken by default, multiple shooting. */
static void shooting_finds_what_noise_hides(void **unused) {
    (void)unused;
    cls_error e;
    cls_system *s;
    cls_learn_info info;
    static const char *const columns[] = {"q", "p.q", "S"};
    if (cls_system_parse(spring, "spring", NULL, &s, &e)) fail_msg("%s", e.message);
    cls_table *exact = make_data(s, 3, shots[0].box, 60, 40, 0.1, 11);
    static const char *const losses[] = {"residual", "residual", "shooting", NULL};
    double error[4] = {0}; /* root mean squares over several noises */
    for (uint64_t seed = 0; seed < 4; seed++) {
        cls_table *t = with_noise(exact, 3, columns, 0.01, 12 + seed);
        for (int i = 0; i < 4; i++) {
            double d = learned_coefficient(s, t, losses[i], i ? 0 : 2, &info);
            error[i] += (d - 0.3) * (d - 0.3) / 4;
            if (i < 2) continue;
            assert_string_equal(info.optimizer, "lm");
            if (i == 2) /* the noise is what is left */
                assert_true(info.loss_final > 0.009 && info.loss_final < 0.0105);
        }
        cls_table_free(&t);
    }
    for (int i = 0; i < 4; i++) error[i] = sqrt(error[i]);
    print_message("error of 0.3: three points %.1e, windows %.1e, shooting %.1e, chosen %.1e\n",
                  error[0], error[1], error[2], error[3]);
    assert_true(error[1] < 0.5 * error[0]);
    assert_true(error[2] < 0.7 * error[1]);
    assert_true(error[3] < 0.7 * error[1]);
    cls_table_free(&exact);
    cls_system_free(&s);
}

/* Only some columns of a table. */
static cls_table *columns_of(const cls_table *t, size_t n, const char *const *names) {
    cls_table *out;
    cls_error e;
    double row[8];
    assert_int_equal(cls_table_create(n, names, &out, &e), CLS_OK);
    for (size_t i = 0; i < cls_table_rows(t); i++) {
        for (size_t c = 0; c < n; c++)
            row[c] = cls_table_column(t, (size_t)cls_table_find(t, names[c]))[i];
        assert_int_equal(cls_table_append(out, row, &e), CLS_OK);
    }
    return out;
}

/* Friction from positions alone, momentum and entropy never seen; with entropies hidden only, it is
 * the heat of a friction that does not show. */
static void states_that_are_not_seen_are_found(void **unused) {
    (void)unused;
    static const char *const seen[] = {"trajectory", "time", "q", "p.q"};
    cls_error e;
    cls_system *s;
    cls_learn_info info;
    if (cls_system_parse(spring, "spring", NULL, &s, &e)) fail_msg("%s", e.message);
    cls_table *all = make_table(s, NULL, 3, shots[0].box, 20, 40, 0.1, 11);
    for (size_t n = 3; n <= 4; n++) {
        cls_table *t = columns_of(all, n, seen);
        double d = learned_coefficient(s, t, "shooting", 0, &info);
        print_message("%zu columns: error of 0.3 %.1e, loss %.1e\n", n, fabs(d - 0.3),
                      info.loss_final);
        assert_true(fabs(d - 0.3) < 5e-4); /* h = 0.1 made the data, 0.05 follows them */
        cls_table_free(&t);
    }
    cls_table_free(&all);
    cls_system_free(&s);
}

/* ---- derivatives ---- */

/* The spring's table with its derivatives as columns. */
static cls_table *with_rates(const cls_table *t) {
    static const char *const names[] = {"trajectory", "time", "q",     "p.q",
                                        "S",          "d.q",  "d.p.q", "d.S"};
    cls_table *out;
    cls_error e;
    assert_int_equal(cls_table_create(8, names, &out, &e), CLS_OK);
    for (size_t i = 0; i < cls_table_rows(t); i++) {
        double row[8];
        for (int c = 0; c < 5; c++)
            row[c] = cls_table_column(t, (size_t)cls_table_find(t, names[c]))[i];
        row[5] = row[3];
        row[6] = -row[2] - 0.3 * row[3];
        row[7] = 0.3 * row[3] * row[3] / exp(row[4]);
        assert_int_equal(cls_table_append(out, row, &e), CLS_OK);
    }
    return out;
}

/* With derivatives as columns the coefficient is exact, without them as good as the estimate, which
 * is of order four. */
static void derivatives_teach_rates(void **unused) {
    (void)unused;
    cls_error e;
    cls_system *s;
    cls_learn_info info;
    double error[2];
    if (cls_system_parse(spring, "spring", NULL, &s, &e)) fail_msg("%s", e.message);
    for (int i = 0; i < 2; i++) {
        cls_table *t = make_data(s, 3, shots[0].box, 20, i ? 40 : 20, i ? 0.1 : 0.2, 11);
        error[i] = fabs(learned_coefficient(s, t, "derivative", 0, &info) - 0.3);
        cls_table *rich = with_rates(t);
        double d = learned_coefficient(s, rich, "derivative", 0, &info);
        assert_true(fabs(d - 0.3) < 1e-9);
        cls_table_free(&rich);
        cls_table_free(&t);
    }
    print_message("error of 0.3 by derivatives: %.1e for h = 0.2, %.1e for 0.1\n", error[0],
                  error[1]);
    assert_true(error[0] < 1e-3 && error[1] < error[0] / 8);
    cls_system_free(&s);
}

/* Everything unknown: the scale is divided out, and the gradient knows it. */
static void check_derivative_loss(const shot *c, size_t rows, int scale_free) {
    clsi_shooting_options w = {.intervals = 2};
    setup u = open_setup(c, 6, 12, &w, 0);
    clsi_motion motion;
    clsi_rates *rates;
    clsi_residual *residual;
    clsi_derivative *d;
    clsi_problem p;
    cls_error e;
    if (clsi_motion_rates(u.unknowns, &motion, &rates, &e) ||
        clsi_residual_create(u.points, u.unknowns, &residual, &e))
        fail_msg("%s", e.message);
    residual->scale_free = scale_free;
    if (clsi_derivative_create(u.points, rates, residual, 0, 0, &d, &e)) fail_msg("%s", e.message);
    clsi_derivative_problem(d, &p);
    size_t P = p.n_parameters, n = p.n_rows;
    assert_int_equal(rates->n_rows, rows);
    double loss, ends[2], *g = calloc(2 * P, sizeof *g), *r = calloc(n, sizeof *r), largest = 0;
    double *J = calloc(n * P, sizeof *J), *unused_gradient = g + P;
    for (size_t j = 0; j < P; j++) u.theta[j] = 0.2 + 0.1 * sin((double)j);
    if (p.gradient(&p, u.theta, n, NULL, &loss, g) == CLS_NUMERIC) /* a negative mass */
        for (size_t j = 0; j < P; j++) u.theta[j] = -u.theta[j];
    assert_int_equal(p.gradient(&p, u.theta, n, NULL, &loss, g), CLS_OK);
    assert_int_equal(p.jacobian(&p, u.theta, n, NULL, r, J), CLS_OK);
    for (size_t j = 0; j < P; j++) largest = fmax(largest, fabs(g[j]));
    for (size_t j = 0; j < P; j++) {
        double sum = 0, keep = u.theta[j], h = 1e-5;
        for (size_t i = 0; i < n; i++) sum += J[i * P + j] * r[i] / (double)n;
        assert_true(fabs(sum - g[j]) < 1e-11 * largest);
        for (int k = 0; k < 2; k++) {
            u.theta[j] = keep + (k ? h : -h);
            (void)p.gradient(&p, u.theta, n, NULL, &ends[k], unused_gradient);
        }
        u.theta[j] = keep;
        assert_true(fabs((ends[1] - ends[0]) / (2 * h) - g[j]) < 1e-6 * largest);
    }
    free(g), free(r), free(J);
    clsi_derivative_free(&d);
    clsi_residual_free(&residual);
    clsi_rates_free(&rates);
    clsi_motion_clear(&motion);
    close_setup(&u);
}

static void the_gradient_of_derivatives_is_exact(void **unused) {
    (void)unused;
    const shot c = {"adiabatic-piston",
                    NULL,
                    {"G", "F1", "F2"},
                    3,
                    "chebyshev(3, constant)",
                    NULL,
                    {{"x", -1, 1}, {"p.x", -1, 1}, {"S1", 0, 1}, {"S2", 0, 1}},
                    4,
                    0.02};
    check_derivative_loss(&c, 3, 1); /* x' = v holds whatever G is */
}

/* Networks of a hamiltonian are nodes there (values and gradients only), those of G, whose second derivatives
 * occur, are formulas. */
static void derivatives_of_networks_are_exact(void **unused) {
    (void)unused;
    const shot cases[] = {{"pendulum",
                           NULL,
                           {"V"},
                           1,
                           "network(6, 5)",
                           NULL,
                           {{"q", -2, 2}, {"p.q", -2, 2}},
                           2,
                           0.05},
                          {"adiabatic-piston",
                           NULL,
                           {"G", "F1"},
                           2,
                           "network(4, softplus)",
                           NULL,
                           {{"x", -1, 1}, {"p.x", -1, 1}, {"S1", 0, 1}, {"S2", 0, 1}},
                           4,
                           0.02}};
    check_derivative_loss(&cases[0], 1, 0);
    check_derivative_loss(&cases[1], 3, 0);
}

/* ---- what a model says of itself ---- */

static size_t json_allocations, json_fails;

static void *json_allocate(size_t size) {
    return ++json_allocations == json_fails ? NULL : malloc(size);
}

/* Each allocation of a matrix fails in its turn: all of it or nothing, never one with fewer numbers. */
static void matrices_are_whole_or_missing(void **unused) {
    (void)unused;
    double A[12];
    for (size_t i = 0; i < 12; i++) A[i] = i == 5 ? NAN : (double)i;
    json_set_alloc_funcs(json_allocate, free);
    for (json_fails = 1;; json_fails++) {
        json_allocations = 0;
        json_t *rows = clsi_json_matrix(3, 4, A);
        if (json_allocations < json_fails) {
            assert_int_equal(json_array_size(rows), 3);
            for (size_t i = 0; i < 3; i++)
                assert_int_equal(json_array_size(json_array_get(rows, i)), 4);
            json_decref(rows);
            break;
        }
        assert_null(rows);
    }
    assert_true(json_fails > 12);
    json_set_alloc_funcs(malloc, free);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_exact),
                                       cmocka_unit_test(matrices_are_whole_or_missing),
                                       cmocka_unit_test(gradients_with_free_starts_are_exact),
                                       cmocka_unit_test(rows_agree_with_the_gradient),
                                       cmocka_unit_test(threads_do_not_matter),
                                       cmocka_unit_test(the_continuous_adjoint_is_off_by_order_two),
                                       cmocka_unit_test(noise_is_told_from_motion),
                                       cmocka_unit_test(shooting_finds_what_noise_hides),
                                       cmocka_unit_test(states_that_are_not_seen_are_found),
                                       cmocka_unit_test(derivatives_teach_rates),
                                       cmocka_unit_test(the_gradient_of_derivatives_is_exact),
                                       cmocka_unit_test(derivatives_of_networks_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
