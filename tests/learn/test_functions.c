/* One unknown function in many places: one set of parameters, exact derivatives, models that run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/learn/made_data.h"
#include <stdio.h>

/* Between two walls a constant force of the spring shows nowhere. */
static const char known[] =
    "coordinate x, y\nentropy s\nfunction V(d) = d^2/2 + d^4/4\ncoefficient f(w) = 0.1 + 0.2*w^2\n"
    "let far = y - x\n"
    "hamiltonian H = (p.x^2 + p.y^2)/2 + V(x) + V(far) + V(-y) + exp(s)\n"
    "friction on s: x <- -f(v.x)*v.x, y <- -f(v.y)*v.y\n"
    "start x = 0.6, y = -0.3, p.x = 0, p.y = 0.2, s = 0\nstep 0.02\n";
static const range box[] = {
    {"x", -1, 1}, {"y", -1, 1}, {"p.x", -1, 1}, {"p.y", -1, 1}, {"s", -0.5, 0.5}};
static const char *const both[] = {"V", "f"};

static cls_system *parse(const char *text) {
    cls_error e;
    cls_system *s;
    if (cls_system_parse(text, "springs", NULL, &s, &e)) fail_msg("%s", e.message);
    return s;
}

static void places_share_parameters(void **unused) {
    (void)unused;
    cls_system *s = parse(known);
    cls_table *t = make_data(s, 5, box, 12, 20, 0.02, 3);
    cls_learn_info info;
    cls_model *m = learn(s, t, both, 2, "chebyshev(6)", &info);
    assert_int_equal(m->n_learned, 2);
    assert_int_equal(m->n_theta, 6 + 7);
    assert_int_equal(info.nullity, 1); /* the constant force, by form and not by round-off */
    double off = rollout(s, m, 0.005, 400);
    if (!(off < 2e-5)) fail_msg("off by %g", off);
    /* as a file and back, the same bits */
    cls_error e;
    char path[64];
    snprintf(path, sizeof path, "functions-%d.safetensors", (int)info.nullity);
    if (cls_model_write(m, path, &e)) fail_msg("%s", e.message);
    cls_model *again;
    if (cls_model_read(path, &again, &e)) fail_msg("%s", e.message);
    remove(path);
    double a = rollout(s, m, 0.02, 50), b = rollout(s, again, 0.02, 50);
    assert_true(a == b);
    cls_range *seen;
    cls_outside out;
    if (cls_range_create(again, &seen, &e)) fail_msg("%s", e.message);
    double far[] = {0.1, 30, 0, 0, 0}, near[] = {0.1, 0.2, 0, 0, 0};
    assert_false(cls_range_check(seen, near, &out));
    assert_true(cls_range_check(seen, far, &out)); /* at the places of y */
    assert_string_equal(out.part, "V");
    cls_range_free(&seen);
    cls_model_free(&again);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Gradient and Jacobian against differences, for a basis and for networks. */
static void derivatives(const char *field) {
    cls_system *s = parse(known);
    cls_table *t = make_data(s, 5, box, 3, 8, 0.05, 5);
    const cls_table *table = t;
    const char *name = "made here";
    clsi_points *p;
    clsi_unknowns *us;
    clsi_rule rule;
    clsi_residual *r;
    cls_error e;
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = 2;
    o.unknown = both;
    o.field = field;
    assert_int_equal(clsi_rule_find(s, NULL, 0, &rule, &e), CLS_OK);
    assert_int_equal(clsi_points_create(s, 1, &table, &name, &rule, 0.1, 0, &p, &e), CLS_OK);
    if (clsi_unknowns_create(s, NULL, &o, p, &us, &e)) fail_msg("%s", e.message);
    assert_int_equal(us->n, 5);
    if (clsi_residual_create(p, us, &r, &e)) fail_msg("%s", e.message);
    size_t P = us->n_theta, rows = p->n_training * r->n_equations;
    double *theta = calloc(P, sizeof *theta), *J = calloc(rows * P, sizeof *J);
    double *res = calloc(3 * rows, sizeof *res), *gradient = calloc(P, sizeof *gradient), loss;
    cls_random random;
    cls_random_seed(&random, 7);
    for (size_t j = 0; j < P; j++) theta[j] = 0.3 * cls_random_normal(&random);
    assert_int_equal(clsi_residual_rows(r, theta, 0, rows, NULL, res, J), CLS_OK);
    assert_int_equal(clsi_residual_gradient(r, theta, rows, NULL, &loss, gradient), CLS_OK);
    for (size_t j = 0; j < P; j++) {
        double h = 1e-5, own = theta[j], sum = 0, size = 0;
        theta[j] = own + h;
        assert_int_equal(clsi_residual_rows(r, theta, 0, rows, NULL, res + rows, NULL), CLS_OK);
        theta[j] = own - h;
        assert_int_equal(clsi_residual_rows(r, theta, 0, rows, NULL, res + 2 * rows, NULL), CLS_OK);
        theta[j] = own;
        for (size_t i = 0; i < rows; i++) {
            double slope = (res[rows + i] - res[2 * rows + i]) / (2 * h);
            assert_true(fabs(slope - J[i * P + j]) <= 1e-6 * (1 + fabs(slope)));
            sum += res[i] * J[i * P + j] / (double)rows;
            size += fabs(res[i] * J[i * P + j]) / (double)rows;
        }
        assert_true(fabs(sum - gradient[j]) <= 1e-11 * (1e-3 + size));
    }
    free(theta), free(J), free(res), free(gradient);
    clsi_residual_free(&r);
    clsi_unknowns_free(&us);
    clsi_points_free(&p);
    cls_table_free(&t);
    cls_system_free(&s);
}

static void derivatives_are_sums_over_places(void **unused) {
    (void)unused;
    derivatives("chebyshev(4)");
    derivatives("network(5)");
}

/* One function of the squared distance of three particles in a plane: momentum and angular momentum
 * are kept to round-off whatever was learned, and no particle is another. */
static void symmetries_hold_by_form(void **unused) {
    (void)unused;
    cls_system *s = parse(
        "parameter N = 3\ncoordinate x[1..N], y[1..N]\nfunction V(r2) = r2/2 + r2^2/20\n"
        "hamiltonian H = sum(i in 1..N: (p.x[i]^2 + p.y[i]^2)/2) +\n"
        "  sum(i in 1..N, j in 1..i-1: V((x[i] - x[j])^2 + (y[i] - y[j])^2))\n"
        "invariant P = sum(i in 1..N: p.x[i])\n"
        "invariant L = sum(i in 1..N: x[i]*p.y[i] - y[i]*p.x[i])\n"
        "for i in 1..N: start x[i] = cos(2*i), y[i] = sin(3*i), p.x[i] = 0.3*i, p.y[i] = 0.1\n"
        "step 0.02\n");
    static const range plane[] = {{"x[1]", -1, 1},   {"y[1]", -1, 1},   {"p.x[1]", -1, 1},
                                  {"p.y[1]", -1, 1}, {"x[2]", -1, 1},   {"y[2]", -1, 1},
                                  {"p.x[2]", -1, 1}, {"p.y[2]", -1, 1}, {"x[3]", -1, 1},
                                  {"y[3]", -1, 1},   {"p.x[3]", -1, 1}, {"p.y[3]", -1, 1}};
    cls_table *t = make_data(s, 12, plane, 8, 20, 0.02, 4);
    cls_model *m = learn(s, t, both, 1, "chebyshev(3)", &(cls_learn_info){0});
    assert_int_equal(m->n_theta, 3);
    cls_error e;
    cls_simulator *b;
    cls_simulate_options o = cls_simulate_defaults();
    double start[16], row[64], first[2] = {0, 0};
    const cls_system *own = cls_model_system(m);
    if (cls_system_start(own, NULL, start, &e)) fail_msg("%s", e.message);
    if (cls_simulator_create(own, &o, &b, &e)) fail_msg("%s", e.message);
    if (cls_simulator_start(b, 0, start, &e)) fail_msg("%s", e.message);
    for (int k = 0; k < 300; k++) {
        assert_int_equal(cls_system_row(own, 0, cls_simulator_state(b), row, &e), CLS_OK);
        for (size_t c = 0; c < cls_system_column_count(own); c++)
            for (int i = 0; i < 2; i++) {
                if (strcmp(cls_system_column(own, c), i ? "L" : "P") != 0) continue;
                if (k == 0) first[i] = row[c];
                assert_true(fabs(row[c] - first[i]) < 1e-13);
            }
        if (cls_simulator_advance(b, 1, &e)) fail_msg("%s", e.message);
    }
    assert_true(first[0] != 0 && first[1] != 0);
    cls_simulator_free(&b);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Derivatives of the residual of a chain that are not zero. */
static size_t entries_of_chain(int cells) {
    char text[512];
    snprintf(text, sizeof text,
             "parameter N = %d\ncoordinate u[1..N]\nentropy s[1..N]\nfunction V(d) = d^2/2\n"
             "coefficient f(w) = 0.1 + w^2\nlet u[0] = 0\nlet u[N+1] = 0\n"
             "hamiltonian H = sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 0..N: V(u[i+1] - "
             "u[i]))\n"
             "for i in 1..N: friction on s[i]: u[i] <- -f(v.u[i])*v.u[i]\n"
             "for i in 1..N: start u[i] = 0.1*i, p.u[i] = 0, s[i] = 0\nstep 0.05\n",
             cells);
    cls_system *s = parse(text);
    static const range one[] = {{"u[1]", -1, 1}};
    cls_table *t = make_data(s, 1, one, 1, 8, 0.05, 5);
    const cls_table *table = t;
    const char *name = "made here";
    clsi_points *p;
    clsi_unknowns *us;
    clsi_rule rule;
    clsi_residual *r;
    cls_error e;
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = 2;
    o.unknown = both;
    o.field = "chebyshev(3)";
    assert_int_equal(clsi_rule_find(s, NULL, 0, &rule, &e), CLS_OK);
    assert_int_equal(clsi_points_create(s, 1, &table, &name, &rule, 0, 0, &p, &e), CLS_OK);
    if (clsi_unknowns_create(s, NULL, &o, p, &us, &e)) fail_msg("%s", e.message);
    if (clsi_residual_create(p, us, &r, &e)) fail_msg("%s", e.message);
    size_t entries = r->slope_start[r->n_quantities];
    clsi_residual_free(&r);
    clsi_unknowns_free(&us);
    clsi_points_free(&p);
    cls_table_free(&t);
    cls_system_free(&s);
    return entries;
}

static void places_cost_like_their_number(void **unused) {
    (void)unused;
    size_t few = entries_of_chain(4), many = entries_of_chain(8), more = entries_of_chain(12);
    assert_true(few > 0);
    assert_int_equal(more - many, many - few);
    assert_true(many - few <= 4 * 8); /* a cell more: its force and its heat */
}

/* The same by components: two springs of one kind between three dampers of another, one of which hangs
 * at a composite. */
static const char masses[] =
    "use spring as wall\nuse spring as middle\nstorage one(p1): p1^2/2\n"
    "component heavy(p, entropy s) {\n  storage two(p2): p2^2/4\n  use damper as inner\n"
    "  connect two.p2, inner.p, p\n  connect inner.s, s\n}\nuse heavy as end\n"
    "storage body(entropy s): exp(s)\nuse damper as d1\n"
    "junction link(q1, q2, p1, p2): {q1, p1} = 1, {q2, p2} = 1, {q2, p1} = -1\n"
    "connect wall.q, link.q1\nconnect middle.q, link.q2\nconnect one.p1, link.p1, d1.p\n"
    "connect end.p, link.p2\nconnect body.s, d1.s, end.s\n"
    "start wall_q = 0.6, middle_q = -0.3, p1 = 0, end_p2 = 0.2, s = 0\nstep 0.02\n";

static void components_share_their_law(void **unused) {
    (void)unused;
    char text[2048];
    snprintf(text, sizeof text,
             "component spring(q): storage q^2/2 + q^4/4\n"
             "component damper(p, entropy s): resistive 0.1 + 0.2*e.p^2\n%s",
             masses);
    cls_system *truth = parse(text);
    snprintf(text, sizeof text,
             "component spring(q): storage unknown chebyshev(4)\n"
             "component damper(p, entropy s): resistive unknown chebyshev(2) of e.p\n%s",
             masses);
    cls_system *open = parse(text);
    static const range plane[] = {{"wall_q", -1, 1},
                                  {"p.wall_q", -1, 1},
                                  {"middle_q", -1, 1},
                                  {"end_p2", -1, 1},
                                  {"s", -0.5, 0.5}};
    cls_table *t = make_data(truth, 5, plane, 12, 20, 0.02, 3);
    cls_learn_info info;
    cls_error e;
    cls_model *m;
    const char *name = "made here";
    cls_learn_options o = cls_learn_defaults();
    o.want_report = 1;
    if (cls_learn(open, NULL, 1, (const cls_table *const *)&t, &name, &o, &m, &info, &e))
        fail_msg("%s", e.message);
    assert_int_equal(m->n_learned, 2);
    assert_int_equal(m->n_theta, 4 + 3);
    assert_int_equal(info.nullity, 0);
    assert_int_equal(info.report->n_functions, 2); /* each once, however many instances there are */
    cls_learn_report_free(&info.report);
    double off = rollout(truth, m, 0.005, 400);
    if (!(off < 2e-5)) fail_msg("off by %g", off);
    /* each instance is a component that can move */
    static const char *const parts[] = {"wall", "middle", "end_inner"};
    for (size_t i = 0; i < 3; i++) {
        if (cls_model_extract(m, parts[i], "shared.safetensors", &e)) fail_msg("%s", e.message);
        remove("shared.safetensors");
    }
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&open);
    cls_system_free(&truth);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_share_parameters),
                                       cmocka_unit_test(derivatives_are_sums_over_places),
                                       cmocka_unit_test(symmetries_hold_by_form),
                                       cmocka_unit_test(places_cost_like_their_number),
                                       cmocka_unit_test(components_share_their_law)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
