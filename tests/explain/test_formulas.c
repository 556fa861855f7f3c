/* Short formulas: known ones come back, from clean and from noisy data; the file that is written runs
 * and keeps the laws. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <clausius/clausius.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* n motions of `steps` steps of h by bdf from starts in [low, high], noise added. */
static cls_table *observe(const cls_system *s, size_t n, const double *low, const double *high,
                          size_t steps, double h, double noise) {
    size_t nz = cls_system_state_count(s);
    const char *names[12] = {"time", "trajectory"};
    double row[12], state[10];
    cls_table *t = NULL;
    cls_error error = {0};
    cls_random random;
    cls_random_seed(&random, 5);
    for (size_t k = 0; k < nz; k++) names[2 + k] = cls_system_state_name(s, k);
    assert_int_equal(cls_table_create(2 + nz, names, &t, &error), CLS_OK);
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    o.scheme = "bdf";
    o.h = h;
    o.reference_tolerance = 1e-12;
    assert_int_equal(cls_simulator_create(s, &o, &sim, &error), CLS_OK);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < nz; k++)
            state[k] = low[k] + (high[k] - low[k]) * cls_random_uniform(&random);
        assert_int_equal(cls_simulator_start(sim, 0, state, &error), CLS_OK);
        for (size_t r = 0; r <= steps; r++) {
            if (r && cls_simulator_advance(sim, 1, &error)) fail_msg("%s", error.message);
            row[0] = h * (double)r;
            row[1] = (double)i;
            for (size_t k = 0; k < nz; k++)
                row[2 + k] = cls_simulator_state(sim)[k] + noise * cls_random_normal(&random);
            assert_int_equal(cls_table_append(t, row, &error), CLS_OK);
        }
    }
    cls_simulator_free(&sim);
    return t;
}

static cls_system *parse(const char *text) {
    cls_system *s = NULL;
    cls_error error = {0};
    if (cls_system_parse(text, "made", NULL, &s, &error)) fail_msg("%s\n%s", error.message, text);
    return s;
}

static cls_model *learn(const cls_system *s, const cls_table *t) {
    cls_learn_options o = cls_learn_defaults();
    cls_learn_info info = {0};
    cls_model *m = NULL;
    cls_error error = {0};
    const char *name = "made";
    if (cls_learn(s, NULL, 1, &t, &name, &o, &m, &info, &error)) fail_msg("%s", error.message);
    cls_learn_report_free(&info.report);
    return m;
}

static cls_formulas *distil(const cls_model *m, const cls_table *t) {
    cls_formulas_options o = cls_formulas_defaults();
    cls_formulas *f = NULL;
    cls_error error = {0};
    const char *name = "made";
    if (t) {
        o.n_tables = 1;
        o.tables = &t;
        o.names = &name;
    }
    if (cls_formulas_find(m, &o, &f, &error)) fail_msg("%s", error.message);
    return f;
}

static const cls_formula_term *term(const cls_formula *f, const char *text) {
    for (size_t k = 0; k < f->n_terms; k++)
        if (!strcmp(f->terms[k].text, text)) return &f->terms[k];
    fail_msg("%s has no term %s but %s", f->part, text, f->n_terms ? f->terms[0].text : "none");
    return NULL;
}

#define NEAR(x, y, within) assert_true(fabs((x) - (y)) <= (within))

#define GAS(friction, exchange)                                                                    \
    "system \"two gases\"\ncoordinate x in (-2, 2)\ntemperature T1, T2\n"                          \
    "let V1 = 2 + x\nlet V2 = 2 - x\n"                                                             \
    "thermal lagrangian G = v.x^2/2 + T1*(log(V1*T1) - 1) + T2*(log(V2*T2) - 1)\n"                 \
    "friction F on T1: " friction "\nheat exchange wall T1 <-> T2: " exchange "\n"                 \
    "start x = 0.2, v.x = 0.5, T1 = 1, T2 = 0.8\nstep 0.01\nuntil 10\n"
static const double gas_low[] = {-1, -1, 0.5, 0.5}, gas_high[] = {1, 1, 1.5, 1.5};

/* A friction and a conductance, without noise; the file that comes out runs, and the judge agrees. */
static void friction_and_conductance(void **unused) {
    (void)unused;
    cls_system *truth = parse(GAS("x <- -(0.1 + 0.5*v.x^2)*v.x", "0.3 + 0.2*T1*T2"));
    cls_system *open = parse(GAS("unknown", "unknown of T1, T2"));
    cls_table *t = observe(truth, 120, gas_low, gas_high, 12, 0.02, 0);
    cls_model *m = learn(open, t);
    cls_formulas *f = distil(m, NULL);
    assert_int_equal(cls_formulas_count(f), 2);
    const cls_formula *F = cls_formulas_at(f, 0), *wall = cls_formulas_at(f, 1);
    assert_int_equal(F->n_terms, 2);
    NEAR(term(F, "1")->value, 0.1, 1e-3);
    NEAR(term(F, "v.x^2")->value, 0.5, 5e-3);
    assert_true(term(F, "v.x^2")->price > 0.1); /* dropped, it costs */
    assert_int_equal(wall->n_terms, 2);
    NEAR(term(wall, "1")->value, 0.3, 3e-3);
    NEAR(term(wall, "T1*T2")->value, 0.2, 3e-3);
    assert_string_equal(F->form, "plain"); /* squares with positive constants dissipate */
    assert_true(F->n_steps >= 3 && F->steps[F->n_steps - 1].terms == 1);
    char *text = NULL;
    cls_error error = {0};
    assert_int_equal(cls_formulas_source(f, &text, &error), CLS_OK);
    assert_non_null(strstr(text, "parameter F_1 = "));
    cls_system *again = parse(text);
    cls_text_free(&text);
    double a[4] = {0.2, 0.5, 1, 0.8}, b[4];
    cls_system *both[] = {truth, again};
    for (int i = 0; i < 2; i++) {
        cls_simulator *sim = NULL;
        cls_simulate_options o = cls_simulate_defaults();
        o.h = 0.01;
        assert_int_equal(cls_simulator_create(both[i], &o, &sim, &error), CLS_OK);
        assert_int_equal(cls_simulator_start(sim, 0, (double[]){0.2, 0.5, 1, 0.8}, &error), CLS_OK);
        assert_int_equal(cls_simulator_advance(sim, 500, &error), CLS_OK);
        memcpy(i ? b : a, cls_simulator_state(sim), sizeof a);
        assert_int_equal(cls_simulator_info(sim).entropy_falls, 0);
        cls_simulator_free(&sim);
    }
    for (int k = 0; k < 4; k++) NEAR(a[k], b[k], 2e-3);
    cls_system_free(&again);
    cls_formulas_free(&f);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&open);
    cls_system_free(&truth);
}

#define PENDULUM(V)                                                                                \
    "system \"pendulum\"\ncoordinate q\npart V = " V                                               \
    "\nhamiltonian p.q^2/2 + V\nstart q = 1, p.q = 0\nstep 0.05\nuntil 10\n"
static const double swing_low[] = {-2, -1}, swing_high[] = {2, 1};

/* A potential, from noisy data; the constants from the motions, with errors that cover. */
static void a_potential_from_noisy_motions(void **unused) {
    (void)unused;
    cls_system *truth = parse(PENDULUM("-1.7*cos(q)")), *open = parse(PENDULUM("unknown"));
    cls_table *t = observe(truth, 12, swing_low, swing_high, 60, 0.1, 0.01);
    cls_model *m = learn(open, t);
    cls_formulas *f = distil(m, t);
    const cls_formula *V = cls_formulas_at(f, 0);
    assert_true(cls_formulas_refitted(f));
    const cls_formula_term *c = term(V, "cos(q)");
    assert_int_equal(V->n_terms, 1);
    NEAR(c->value, -1.7, 0.02);
    assert_true(c->error > 0 && fabs(c->value + 1.7) <= 4 * c->error);
    cls_formulas_free(&f);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&open);
    cls_system_free(&truth);
}

/* A friction whose formula has a negative constant is made positive by form. */
static void what_could_be_negative_is_not(void **unused) {
    (void)unused;
    cls_system *truth = parse(GAS("x <- -(0.6 - 0.1*x)*v.x", "0.3"));
    cls_system *open = parse(GAS("unknown", "0.3"));
    cls_table *t = observe(truth, 100, gas_low, gas_high, 12, 0.02, 0);
    cls_model *m = learn(open, t);
    cls_formulas *f = distil(m, NULL);
    const cls_formula *F = cls_formulas_at(f, 0);
    assert_string_equal(F->form, "positive");
    char *text = NULL;
    cls_error error = {0};
    assert_int_equal(cls_formulas_source(f, &text, &error), CLS_OK);
    assert_non_null(strstr(text, "sqrt(F_u^2"));
    cls_system *again = parse(text);
    double state[4] = {1.9, -2, 1, 1}, row[40]; /* far outside of the data */
    assert_int_equal(cls_system_row(again, 0, state, row, &error), CLS_OK);
    cls_text_free(&text);
    cls_system_free(&again);
    cls_formulas_free(&f);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&open);
    cls_system_free(&truth);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(friction_and_conductance),
        cmocka_unit_test(a_potential_from_noisy_motions),
        cmocka_unit_test(what_could_be_negative_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
