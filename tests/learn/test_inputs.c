/* A part that has a formula is learned as a function of what the formula is one of. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/learn/made_data.h"
#include "tests/sanitized.h"
#include <clausius/learn.h>

static const char hamiltonian[] =
    "coordinate a, b, c\nparameter k = 1\nlet r = a - b\npart V = k*r^2/2 + r^4/4 + a^2/2\n"
    "part W = c^2 + c^4/4\nhamiltonian H = (p.a^2 + p.b^2 + p.c^2)/2 + V + W + 0.3*a*c\n"
    "start a = 1, b = 0, c = 0.5, p.a = 0, p.b = 0.3, p.c = 0\nstep 0.05\n";
static const char thermal[] =
    "coordinate x, y\ntemperature T1, T2\npart V = x^2/2 + x^4/8\npart U = T2*(log(T2) - 1)*(1 + "
    "y^2/9)\npart M = v.y^2/2\n"
    "thermal lagrangian G = v.x^2/2 + M - V - y^2/2 + T1*(log(T1) - 1) + U\n"
    "friction F on T1: x <- -0.2*v.x, y <- -0.1*v.y\nheat exchange w T1 <-> T2: 0.1\n"
    "start x = 1, v.x = 0, y = 0.5, v.y = 0, T1 = 1, T2 = 2\nstep 0.05\n";

/* Two coordinates: a friction on one of them, one on both, conductances that vary and that do not. */
static const char moved[] =
    "coordinate x, y\ntemperature T1, T2\nparameter c = 0.2\nlet stiff = c + x^2\n"
    "thermal lagrangian G = (v.x^2 + v.y^2 - x^2 - y^2)/2 + T1*(log(T1) - 1) + T2*(log(T2) - 1)\n"
    "friction A on T1: y <- -stiff*v.y\nfriction B on T2: x <- -0.2*v.x, y <- -0.1*v.y*T1\n"
    "friction C on T1: x <- unknown\n"
    "heat exchange w T1 <-> T2: 0.1*T2\nheat exchange u T1 <-> T2: c\n"
    "start x = 1, v.x = 0, y = 0.5, v.y = 0, T1 = 1, T2 = 2\nstep 0.05\n";
static const char phase[] =
    "coordinate a, b\nentropy S\nhamiltonian H = (p.a^2 + p.b^2 + a^2 + b^2)/2 + exp(S)\n"
    "friction F on S: b <- -0.1*(1 + a^2)*v.b\n"
    "start a = 1, b = 0, p.a = 0, p.b = 0.3, S = 0\nstep 0.05\n";

static const range box[] = {{"a", -1, 1},   {"b", -1, 1},   {"c", -1, 1},
                            {"p.a", -1, 1}, {"p.b", -1, 1}, {"p.c", -1, 1}};
static const range warm[] = {{"x", -1, 1},   {"y", -1, 1},   {"v.x", -1, 1},
                             {"v.y", -1, 1}, {"T1", 0.8, 2}, {"T2", 0.8, 2}};

static const range hot[] = {
    {"a", -1, 1}, {"b", -1, 1}, {"p.a", -1, 1}, {"p.b", -1, 1}, {"S", 0, 1}};

static void check_some(const char *text, size_t n, const range *ranges, const char *part,
                       const char *inputs, size_t fields) {
    cls_error e;
    cls_system *s;
    if (cls_system_parse(text, "formula", NULL, &s, &e)) fail_msg("%s", e.message);
    size_t open = s->n_unknown; /* the part that the file leaves open is learned as well */
    cls_system *made = NULL;
    if (open) {
        clsi_text known = {0};
        const char *at = strstr(text, "unknown");
        clsi_text_printf(&known, "%.*s-0.1*v.x%s", (int)(at - text), text, at + 7);
        if (cls_system_parse(known.data, "formula", NULL, &made, &e)) fail_msg("%s", e.message);
        clsi_text_clear(&known);
    }
    cls_table *t = make_data(open ? made : s, n, ranges, 8, 20, 0.05, 3);
    const char *parts[] = {part, open ? s->unknown[0] : NULL};
    clsi_points *p;
    clsi_unknowns *us;
    clsi_rule rule;
    const cls_table *table = t;
    const char *name = "made here";
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = open && strcmp(parts[0], parts[1]) != 0 ? 2 : 1;
    o.unknown = parts;
    assert_int_equal(clsi_rule_find(s, NULL, 0, &rule, &e), CLS_OK);
    assert_int_equal(clsi_points_create(s, 1, &table, &name, &rule, 0.1, 0, &p, &e), CLS_OK);
    if (clsi_unknowns_create(s, NULL, &o, p, &us, &e)) fail_msg("%s", e.message);
    clsi_text found = {0};
    const clsi_learned *l = &us->list[0].learned;
    for (size_t k = 0; k < l->d; k++) clsi_text_printf(&found, "%s%s", k ? "; " : "", l->input[k]);
    assert_string_equal(found.data, inputs);
    size_t same = 0;
    while (same < us->n && strcmp(us->list[same].learned.part, part) == 0) same++;
    assert_int_equal(same, fields);
    clsi_text_clear(&found);
    clsi_unknowns_free(&us);
    clsi_points_free(&p);
    cls_table_free(&t);
    cls_system_free(&made);
    cls_system_free(&s);
}

static void check(const char *text, const range *ranges, const char *part, const char *inputs) {
    check_some(text, 6, ranges, part, inputs, 1);
}

static void inputs_are_those_of_the_formula(void **unused) {
    (void)unused;
    check(hamiltonian, box, "V", "a; b"); /* b through r */
    check(hamiltonian, box, "W", "c");
    check(thermal, warm, "V", "x");
    check(thermal, warm, "U", "y; log(T2)");
    check(thermal, warm, "M", "v.y*v.y");
}

/* Velocities are single inputs of a field that is even in them, as soon as there are two. */
static void frictions_stay_where_they_are(void **unused) {
    (void)unused;
    check_some(moved, 6, warm, "A", "x; v.y*v.y", 1);
    check_some(moved, 6, warm, "B", "v.x; v.y; log(T1)", 3);
    check_some(moved, 6, warm, "C", "x; y; v.x; v.y; log(T1); log(T2)", 1);
    check_some(moved, 6, warm, "w", "log(T2)", 1);
    check_some(moved, 6, warm, "u", "x; y; v.x; v.y; log(T1); log(T2)", 1); /* a number */
    check_some(phase, 5, hot, "F", "a; v.b*v.b", 1);
}

/* Two bodies, always opposite to each other: an energy of four inputs is seen on a plane. It is
 * learned as a function of what is seen, and what the data hold constant stays so. */
static void tied_inputs_are_combined(void **unused) {
    (void)unused;
    cls_error e;
    cls_system *one, *two;
    static const range start[] = {{"a", -1, 1}, {"p.a", -1, 1}};
    static const char *const names[] = {"trajectory", "time", "a", "b", "p.a", "p.b"};
    if (cls_system_parse("coordinate a\nhamiltonian p.a^2/2 + a^2 + a^4/2\n"
                         "start a = 1, p.a = 0\nstep 0.05\n",
                         "one", NULL, &one, &e) ||
        cls_system_parse("coordinate a, b\nhamiltonian H = unknown of a, b, p.a, p.b\n"
                         "start a = 0.5, b = -0.5, p.a = 0.2, p.b = -0.2\nstep 0.05\n",
                         "two", NULL, &two, &e))
        fail_msg("%s", e.message);
    cls_table *t = make_data(one, 2, start, 12, 40, 0.05, 3), *both;
    if (cls_table_create(6, names, &both, &e)) fail_msg("%s", e.message);
    for (size_t i = 0; i < cls_table_rows(t); i++) {
        double row[6];
        for (size_t k = 0; k < 6; k++) {
            const char *name = k == 3 ? "a" : k == 5 ? "p.a" : names[k];
            const double *z = cls_table_column(t, (size_t)cls_table_find(t, name));
            row[k] = (k == 3 || k == 5 ? -1 : 1) * z[i];
        }
        if (cls_table_append(both, row, &e)) fail_msg("%s", e.message);
    }
    cls_model *m;
    cls_learn_info info;
    cls_learn_options o = cls_learn_defaults();
    const cls_table *data = both;
    const char *name = "made here";
    if (cls_learn(two, NULL, 1, &data, &name, &o, &m, &info, &e)) fail_msg("%s", e.message);
    assert_non_null(strstr(info.notes, "tie to each other"));
    assert_non_null(strstr(info.notes, "b - a of H"));
    cls_simulator *sim;
    cls_simulate_options run = cls_simulate_defaults();
    run.h = 0.05;
    if (cls_simulator_create(cls_model_system(m), &run, &sim, &e) ||
        cls_simulator_start(sim, 0, (double[]){0.5, -0.5, 0.2, -0.2}, &e) ||
        cls_simulator_advance(sim, 2000, &e))
        fail_msg("%s", e.message);
    const double *z = cls_simulator_state(sim);
    assert_true(fabs(z[0] + z[1]) < 1e-9 && fabs(z[2] + z[3]) < 1e-9);
    cls_simulator_free(&sim);
    cls_learn_report_free(&info.report);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_table_free(&both);
    cls_system_free(&one);
    cls_system_free(&two);
}

/* Energies of four inputs with less in them, and one that has all of them: masses that depend on places. */
static void energies_are_split_or_isotropic_where_they_are(void **unused) {
    (void)unused;
    static const struct {
        const char *energy, *spec;
        size_t inputs;
    } cases[] = {
        {"(p.x^2 + 2*p.y^2)/2 - 3*cos(x - 2*y) - cos(y)", "split 2 2 2", 4},
        {"(p.x^2 + p.y^2)/2 + 2*sqrt(1 + 3*(x^2 + y^2))", "split 1 1 1", 2},
        {"p.x^2/(2 + cos(x)) + p.y^2/2 - 3*cos(x - 2*y) - cos(y)", "chebyshev(", 4},
    };
    static const range start[] = {
        {"x", -1, 1}, {"y", -1, 1}, {"p.x", -0.5, 0.5}, {"p.y", -0.5, 0.5}};
    for (size_t i = THINNED(0, 1); i < THINNED(3, 2); i++) {
        char text[256];
        cls_error e;
        cls_system *s;
        snprintf(text, sizeof text,
                 "coordinate x, y\nhamiltonian H = %s\nstart x = 1, y = 0, p.x = 0, p.y = 0\n"
                 "step 0.05\n",
                 cases[i].energy);
        if (cls_system_parse(text, "energy", NULL, &s, &e)) fail_msg("%s", e.message);
        cls_table *t = make_data(s, 4, start, 12, 40, 0.05, 3);
        const cls_table *data = t;
        const char *name = "made here", *part = "H";
        cls_model *m;
        cls_learn_info info;
        cls_learn_options o = cls_learn_defaults();
        o.n_unknown = 1;
        o.unknown = &part;
        if (cls_learn(s, NULL, 1, &data, &name, &o, &m, &info, &e)) fail_msg("%s", e.message);
        print_message("%s: %s, %s\n", cases[i].energy, m->learned[0].field->spec, info.notes);
        assert_non_null(strstr(m->learned[0].field->spec, cases[i].spec));
        assert_true(!strstr(m->learned[0].field->spec, "split") == (i == 2));
        assert_int_equal(m->learned[0].d, cases[i].inputs);
        cls_learn_report_free(&info.report);
        cls_model_free(&m);
        cls_table_free(&t);
        cls_system_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_those_of_the_formula),
        cmocka_unit_test(frictions_stay_where_they_are), cmocka_unit_test(tied_inputs_are_combined),
        cmocka_unit_test(energies_are_split_or_isotropic_where_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
