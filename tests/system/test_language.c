/* Every class of mistake in a .clausius file: status, line, column and the word that helps. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "system/system.h"

#define GAS   "coordinate x\nentropy S\nparameter k = 1\n"  /* 3 lines */
#define GAS_L GAS "lagrangian v.x^2/2 - k*x^2/2 - exp(S)\n" /* 4 lines */
#define GAS_A                                                                                      \
    "coordinate x\ntemperature T\nthermal lagrangian G = v.x^2/2 + T*log(T)\n" /* 3 lines */
#define TWO   "coordinate x\ntemperature T1, T2\n"                             /* 2 lines */
#define TWO_G TWO "thermal lagrangian v.x^2/2 + T1*log(T1) + T2*log(T2)\n"     /* 3 lines */

static const struct {
    const char *text;
    int line, column; /* 0: not checked */
    const char *says;
} mistakes[] = {
    /* anchors */
    {GAS_A "anchor", 4, 7, "expected a quantity, found the end"},
    {GAS_A "anchor S2 = 1 at x = 0", 4, 8, "there are G, p.x, S and d QUANTITY"},
    {GAS_A "anchor v.x = 1 at x = 0, v.x = 0, T = 1", 4, 8, "expected a quantity"},
    {GAS_A "anchor G 1 at x = 0", 4, 10, "expected `=` after the quantity"},
    {GAS_A "anchor G = 1", 4, 13, "`at` and a state"},
    {GAS_A "anchor G = at x = 0", 4, 0, "expected a formula"},
    {GAS_A "anchor G = x at x = 0, v.x = 0, T = 1", 4, 12, "numbers and parameters"},
    {GAS_A "anchor G = 1 at", 4, 16, "expected a variable of the state of a thermal lagrangian"},
    {GAS_A "anchor G = 1 at x = 0, v.x = 0", 4, 31, "`T` is missing"},
    {GAS_A "anchor G = 1 at x = 0, x = 0", 4, 24, "`x` is given twice"},
    {GAS_A "anchor G = 1 at x = 0, p.x = 0, T = 1", 4, 24, "expected a variable"},
    {GAS_A "anchor G = 1 at x = 0, v.x = 0, T = -1", 4, 0, "outside its domain"},
    {GAS_A "anchor G = 1 at x = 0, v.x = 0, T = 1; x = y", 4, 0, "y"},
    {GAS_A "anchor G = 1 at x = 0, v.x = 0, T = 1;", 4, 0, "expected a variable"},
    {GAS_A "anchor d S = 1 at x = 0, v.x = 0, T = 1", 4, 12, "expected `/`"},
    {GAS_A "anchor d S / T = 1 at x = 0, v.x = 0, T = 1", 4, 14, "expected `d`"},
    {GAS_A "anchor d S / d S = 1 at x = 0, v.x = 0, T = 1", 4, 16, "expected a variable"},
    {GAS_L "anchor p.x = 0 at x = 0, v.x = 0, S = 1", 5, 8, "the formula has no name"},
    {GAS "hamiltonian H = p.x^2/2 + exp(S)\nanchor H = 0 at x = 0, v.x = 0, S = 1", 5, 24, "p.x"},
    {"coordinate at", 1, 12, "reserved"},
    /* statements and words */
    {GAS "lagrangain v.x^2/2", 4, 1, "did you mean `lagrangian`"},
    {GAS "wibble x", 4, 1, "no statement begins with `wibble`"},
    {GAS "force on x: 3", 4, 1, "a force from outside is `external force: x <- u`"},
    {GAS "mass x", 4, 1, "a mass is a number"},
    {GAS "state x", 4, 1, "what moves is a `coordinate x`"},
    {GAS "damping x", 4, 1, "`friction on T0: x <- -c*v.x`"},
    {"  coordinate x", 1, 1, "white space"},
    {"coordinate x\n= 3", 2, 1, "expected a statement"},
    {GAS "thermal v.x", 4, 9, "expected `lagrangian` or `noise` after `thermal`"},
    {GAS "external x", 4, 10, "force` or `potential"},
    {GAS "heat T", 4, 6, "expected `exchange`"},
    {"coordinate x\001", 1, 13, "control character"},
    {"system title", 1, 8, "expected `\"`"},
    {"system \"title", 1, 14, "closing"},
    /* declarations */
    {"coordinate 3", 1, 12, "expected a name"},
    {"coordinate x, x", 1, 15, "already a coordinate"},
    {"coordinate x\nparameter x = 1", 1, 12, "already a parameter, declared in line 2"},
    {"coordinate energy", 1, 12, "reserved"},
    {"coordinate sin", 1, 12, "reserved"},
    {"coordinate t", 1, 12, "reserved"},
    {"coordinate pi", 1, 12, "reserved"},
    {"coordinate x y", 1, 14, "expected `,`"},
    {"coordinate x [m", 1, 15, "closing `]`"},
    {"coordinate x in 3", 1, 17, "expected `(`"},
    {"coordinate x in (2, 1)", 1, 18, "empty"},
    {"coordinate x in (1, 1)", 1, 18, "empty"},
    {"coordinate x in (1)", 1, 18, "two bounds"},
    {"coordinate x in (1, 2", 1, 22, "closing `)`"},
    {"coordinate x in (x, 2)", 1, 18, "numbers and parameters"},
    {"coordinate x\ntemperature T in (-1, 2)", 2, 19, "positive"},
    {"coordinate x\nentropy heatless", 2, 17, "with temperature"},
    {"coordinate x\nentropy s_e with theta", 2, 18, "expected `temperature`"},
    {"entropy S", 1, 10, "no formula"},
    {"parameter a = 1", 1, 16, "nothing moves here"},
    {"coordinate x\ninput u\nlagrangian v.x^2/2 - u*x", 3, 22, "must not depend on the input `u`"},
    {"coordinate x\ninput u = x\nlagrangian v.x^2/2", 2, 11, "unknown name"},
    {"coordinate x\ninput x\nlagrangian v.x^2/2", 1, 12, "already an input"},
    {"coordinate x\ninput\nlagrangian v.x^2/2", 2, 6, "name of an input"},
    {"temperature T\nreservoir R = T\nthermal lagrangian T*log(T)", 2, 15, "must not depend"},
    {"temperature T\nreservoir R = 1, 2\nthermal lagrangian T*log(T)", 2, 16, "a comma"},
    {"temperature T\nreservoir R = 1\nreservoir Q = 2\nthermal lagrangian T*log(T)\n"
     "heat exchange R <-> Q: 1",
     5, 22, "between two reservoirs"},
    {"temperature T\nthermal lagrangian T*log(T)\nheat source on x: 1", 3, 16,
     "expected an entropy or a temperature"},
    {"temperature T\nthermal lagrangian T*log(T)\nheat source h: 1", 3, 14, "expected `on`"},
    {"parameter k", 1, 12, "expected `=`"},
    {"parameter k = ", 1, 0, "expected a formula"},
    {"parameter k = 1/0", 1, 0, "finite"},
    {"parameter z = 0, k = 1/z", 1, 22, "finite"},
    {"parameter z = -1, k = log(z)", 1, 23, "finite"},
    {"parameter k = m, m = 1", 1, 15, "m"},
    {"parameter k = 1 [kg] 2", 1, 22, "expected the end"},
    /* formulas */
    {GAS, 4, 1, "no formula"},
    {GAS_L "hamiltonian p.x^2/2 + S", 5, 13, "second formula"},
    {GAS "lagrangian v.x^2/2 - kk*x - S", 4, 22, "kk"},
    {GAS "lagrangian v.x^2/2 - (k*x - S", 4, 0, ")"},
    {GAS "lagrangian v.x^2/2 -\n   k*x - Q*S", 5, 10, "Q"},
    {GAS "hamiltonian v.x^2/2 + S", 4, 13, "use `p.x`"},
    {GAS "lagrangian p.x^2/2 - S", 4, 12, "use `v.x`"},
    {GAS "lagrangian v.x^2/2 - T", 4, 22, "use `S`"},
    {GAS "thermal lagrangian v.x^2/2 - S", 4, 30, "use `T`"},
    {GAS "reservoir Tr = 1\nlagrangian v.x^2/2 - S\nfriction on Tx: x <- -v.x", 6, 13,
     "a reservoir after `on`, found `Tx`; there are S, T, Tr"},
    {GAS "let w = p.x\nlagrangian v.x^2/2 - S - w", 5, 0, "use `v.x`"},
    {GAS "lagrangian v.x^2/2", 4, 12, "does not contain `S`"},
    {GAS "lagrangian x^2/2 - S", 4, 12, "does not contain `v.x`"},
    {GAS "part V = unknown of x\nlagrangian v.x^2/2 - V", 5, 12, "does not contain `S`"},
    {GAS "lagrangian unknown network(32, 32)", 4, 12, "needs a name"},
    {GAS_L "friction on S: x <- unknown dissipative", 5, 10, "needs a name"},
    {GAS "unknown G", 4, 1, "in the place of a formula"},
    {GAS "rigid body", 4, 0, "expected a name"},
    {GAS "metriplectic", 4, 1, "thermal lagrangian"},
    {GAS "component mass", 4, 15, "expected `{`"},
    {GAS "port a", 4, 1, "no statement begins with `port`"},
    {GAS "lagrangian G = v.x^2/2 - S\nlet G = 1", 4, 12, "already a let"},
    /* friction, heat, external */
    {"coordinate x\nlagrangian v.x^2/2\nfriction on S: x <- -v.x", 3, 10, "declare `entropy S`"},
    {TWO_G "friction: x <- -v.x", 4, 9, "there are S1, S2"},
    {TWO_G "friction F on T3: x <- -v.x", 4, 15, "there are"},
    {TWO_G "friction F on T1 x <- -v.x", 4, 18, "expected `:`"},
    {TWO_G "friction F on T1: y <- -v.x", 4, 19, "expected a coordinate"},
    {TWO_G "friction F on T1: x = -v.x", 4, 21, "expected `<-`"},
    {TWO_G "friction F on T1: x <- -v.x, x <- 1", 4, 0, "second force"},
    {TWO_G "friction F on T1: x <- -v.x,", 4, 0, "expected a coordinate"},
    {TWO_G "friction F on T1: x <- -v.x\nfriction F on T2: x <- -v.x", 5, 10, "already"},
    {TWO_G "heat exchange T1 <-> T1: 1", 4, 24, "two different"},
    {TWO_G "heat exchange T1 <-> T3: 1", 4, 22, "expected an entropy or a temperature"},
    {TWO_G "heat exchange T1 - T2: 1", 4, 0, "expected an entropy"},
    {GAS_L "external potential v.x", 5, 20, "must not depend on `v.x`"},
    {GAS_L "external force x <- 1", 5, 0, "expected `:`"},
    /* invariants, outputs, start, step */
    {GAS_L "invariant p.x", 5, 11, "invariant NAME = formula"},
    {GAS_L "output k = 1", 5, 8, "already a parameter"},
    {GAS_L "output work = 1", 5, 8, "reserved"},
    {GAS_L "start y = 1", 5, 7, "found `y`"},
    {GAS_L "start x = 1, x = 2", 5, 14, "already"},
    {GAS_L "start v.x = 1, p.x = 2", 5, 16, "one of the two"},
    {GAS_L "start S = 1, T = 2", 5, 14, "one of the two"},
    {GAS_L "start x 1", 5, 9, "expected `=`"},
    {GAS_L "start x = v.x", 5, 11, "numbers and parameters"},
    {GAS_L "step 0.1\nstep 0.2", 6, 6, "twice"},
    {GAS_L "step 0", 5, 6, "positive"},
    {GAS_L "until -k", 5, 7, "positive"},
    {GAS_L "start x = 1\n  friction on S: x <- 1", 6, 0, ""},
};

static void every_mistake_is_found_where_it_is(void **unused) {
    (void)unused;
    int wrong = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        cls_error error = {0};
        cls_system *s = NULL;
        cls_status status = cls_system_parse(mistakes[i].text, "a.clausius", NULL, &s, &error);
        char place[64];
        snprintf(place, sizeof place, "a.clausius:%d:%d: ", error.line, error.column);
        if (status != CLS_SYSTEM || error.status != CLS_SYSTEM || s ||
            error.line != mistakes[i].line ||
            (mistakes[i].column && error.column != mistakes[i].column) ||
            !strstr(error.message, mistakes[i].says) ||
            strncmp(error.message, place, strlen(place))) {
            print_error("%s\n-- expected %d:%d %s, status %d, got\n%s\n", mistakes[i].text,
                        mistakes[i].line, mistakes[i].column, mistakes[i].says, status,
                        error.message);
            wrong++;
        }
        cls_system_free(&s);
    }
    assert_int_equal(wrong, 0);
}

/* The caret stands under the letter that the column names. */
static void the_caret_points(void **unused) {
    (void)unused;
    cls_error error = {0};
    cls_system *s = NULL;
    assert_int_equal(cls_system_parse(GAS "lagrangian v.x^2/2 - kk*x - S", "a", NULL, &s, &error),
                     CLS_SYSTEM);
    const char *caret = strrchr(error.message, '\n'), *source = caret - 1;
    while (*source != '\n') source--;
    size_t offset = strcspn(caret, "^");
    assert_int_equal(strncmp(source + offset, "kk*x", 4), 0);
}

static cls_system *parse(const char *text) {
    cls_error error = {0};
    cls_system *s = NULL;
    if (cls_system_parse(text, "dir/own-gas.clausius", NULL, &s, &error) != CLS_OK)
        fail_msg("%s", error.message);
    return s;
}

static void writing_is_free(void **unused) {
    (void)unused;
    cls_system *s = parse("# comment first\r\n"
                          "lagrangian v.x^2/2 + m*v.y^2/2 # comment\r\n"
                          "\n"
                          "      - exp(s_e)   # continued after a blank line\n"
                          "\t- k*x^2/2\n"
                          "friction on theta0_e: x <- -d*v.x, y <- -v.y*(1 + x^2)\n"
                          "friction on s_e: y <- -v.y\n"
                          "coordinate x [m], y [rad] in (-lim, 2*lim)\n"
                          "entropy s_e with temperature theta0_e [J/K]\n"
                          "parameter k = 2 [N/m], m = k/2, lim = 10^2\n"
                          "parameter d = m*k\n"
                          "system \"own # gas\"\n"
                          "start x = k, v.x = -1, y = 0, p.y = 0, theta0_e = 2\n");
    assert_string_equal(cls_system_name(s), "own-gas");
    assert_string_equal(cls_system_title(s), "own # gas");
    assert_int_equal(s->n, 2);
    assert_string_equal(s->coordinate[0].unit, "m");
    assert_string_equal(s->coordinate[1].unit, "rad");
    assert_true(s->coordinate[1].low == -100 && s->coordinate[1].high == 200);
    assert_true(s->coordinate[0].low == -100); /* shared: it had none of its own */
    assert_true(cls_system_parameter(s, 3) == 2);
    /* friction of several statements adds */
    double work[64], state[5], row[16];
    cls_error error = {0};
    assert_int_equal(cls_system_start(s, NULL, state, &error), CLS_OK);
    assert_true(fabs(state[4] - log(2.0)) < 1e-15);
    cls_program *p = NULL;
    cls_node inputs[] = {s->q[0], s->v[1]};
    cls_node force = clsi_sparse_at(s->g, &s->bound.friction, 0, 1);
    assert_int_equal(cls_program_create(s->g, 2, inputs, 1, &force, &p, &error), 0);
    assert_true(cls_program_work_size(p) < 64);
    cls_program_prepare(p, work);
    cls_program_run(p, work, (double[]){3, 2}, row);
    assert_true(row[0] == -22);
    cls_program_free(&p);
    cls_system_free(&s);
}

static void set_overrides_expressions(void **unused) {
    (void)unused;
    const char *text =
        "coordinate x\nparameter a = 2, b = 3*a, c = b + 1\nlagrangian v.x^2/2 - c*x";
    const char *names[] = {"a", "b"};
    const double values[] = {5, 7};
    cls_system *s = NULL;
    cls_error error = {0};
    assert_int_equal(cls_system_parse(text, NULL, &(cls_assignments){1, names, values}, &s, &error),
                     CLS_OK);
    assert_true(cls_system_parameter(s, 1) == 15 && cls_system_parameter(s, 2) == 16);
    cls_system_free(&s);
    assert_int_equal(cls_system_parse(text, NULL, &(cls_assignments){2, names, values}, &s, &error),
                     CLS_OK);
    assert_true(cls_system_parameter(s, 1) == 7 && cls_system_parameter(s, 2) == 8);
    cls_system_free(&s);
}

static void names_of_entropies_and_temperatures(void **unused) {
    (void)unused;
    cls_system *s = parse("coordinate x\nentropy S, S1, s_a\ntemperature T2, theta_b, Q with "
                          "entropy sigma\nhamiltonian p.x^2/2 + exp(S) + exp(S1) + exp(s_a) + "
                          "exp(S2) + exp(s_b) + exp(sigma)");
    static const char *const want[][2] = {{"S", "T"},   {"S1", "T1"},       {"s_a", "theta_a"},
                                          {"S2", "T2"}, {"s_b", "theta_b"}, {"sigma", "Q"}};
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(s->entropy[i].name, want[i][0]);
        assert_string_equal(s->temperature[i].name, want[i][1]);
    }
    cls_system_free(&s);
}

static void constant_forces_join_the_energy(void **unused) {
    (void)unused;
    cls_system *s =
        parse("coordinate x\nparameter F = 3\nlagrangian v.x^2/2\nexternal force: x <- F\n"
              "start x = 2, v.x = 0");
    double state[4], row[8];
    assert_int_equal(cls_system_state_count(s), 2);
    assert_int_equal(cls_system_start(s, NULL, state, NULL), CLS_OK);
    assert_int_equal(cls_system_row(s, 0, state, row, NULL), CLS_OK);
    assert_string_equal(cls_system_column(s, 4), "energy");
    assert_true(row[4] == -6);
    cls_system_free(&s);

    s = parse("coordinate x\nparameter F = 3\nlagrangian v.x^2/2\nexternal force: x <- F*sin(t)\n"
              "external potential x\noutput twice = 2*x\nstart x = 2, v.x = 0");
    assert_int_equal(cls_system_state_count(s), 3);
    assert_string_equal(cls_system_state_name(s, 2), "work");
    assert_string_equal(cls_system_column(s, 6), "work");
    assert_string_equal(cls_system_column(s, 7), "twice");
    const char *names[] = {"work"};
    const double values[] = {0.5};
    assert_int_equal(cls_system_start(s, &(cls_assignments){1, names, values}, state, NULL),
                     CLS_OK);
    assert_true(state[2] == 0.5);
    assert_int_equal(cls_system_row(s, 1.5, state, row, NULL), CLS_OK);
    assert_true(row[0] == 1.5 && row[4] == 2 && row[6] == 0.5 && row[7] == 4);
    cls_system_free(&s);
}

static void heat_exchange_is_symmetric(void **unused) {
    (void)unused;
    cls_system *s = parse("coordinate x\ntemperature T1, T2, T3\nthermal lagrangian v.x^2/2 + "
                          "T1*log(T1) + T2*log(T2) + T3*log(T3)\nheat exchange wall T1 <-> T2: "
                          "0.3*x^2\nheat exchange S2 <-> S3: 2\nheat exchange T2 <-> T1: 1");
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) {
            cls_node a = clsi_sparse_at(s->g, &s->bound.conductance, i, j);
            assert_int_equal(a, clsi_sparse_at(s->g, &s->bound.conductance, j, i));
            if (i == j || i + j == 2) assert_true(cls_is_constant(s->g, a, 0));
        }
    assert_true(cls_depends(s->g, clsi_sparse_at(s->g, &s->bound.conductance, 0, 1), 1, s->q));
    assert_int_equal(s->n_parts, 1);
    cls_system_free(&s);
}

/* Anchors are kept and shown; they change nothing of the system itself. */
static void anchors_are_kept(void **unused) {
    (void)unused;
    cls_system *s = parse("anchor d p.x / d v.x = 2*m at x = m/2, v.x = 0, T = 1; x = 1,\n T = 3\n"
                          "coordinate x\ntemperature T\nparameter m = 1\n"
                          "thermal lagrangian G = v.x^2/2 + T*log(T)\n"
                          "anchor S = -1 at T = 2, v.x = 0.5, x = 0\n"
                          "anchor G = 0 at x = 0, v.x = 0, T = 1\nstart x = 0, v.x = 1, T = 1");
    static const double states[4][3] = {{0.5, 0, 1}, {1, 0, 3}, {0, 0.5, 2}, {0, 0, 1}};
    assert_int_equal(s->n_anchors, 4);
    for (int i = 0; i < 4; i++)
        assert_memory_equal(s->anchors[i].state, states[i], sizeof states[i]);
    assert_true(s->anchors[0].of == s->p[0] && s->anchors[0].by == s->v[0]);
    assert_true(s->anchors[0].value == 2 && s->anchors[1].value == 2);
    assert_true(s->anchors[2].of == s->S[0] && s->anchors[2].by == CLS_NO_NODE);
    assert_true(s->anchors[3].of == CLS_NO_NODE && s->anchors[3].by == CLS_NO_NODE);
    char *text;
    assert_int_equal(cls_system_show(s, CLS_SHOW_SUMMARY, &text, NULL), CLS_OK);
    assert_non_null(strstr(text, "    d p.x / d v.x = 2 at x = 1, v.x = 0, T = 3\n"));
    assert_non_null(strstr(text, "    S = -1 at x = 0, v.x = 0.5, T = 2\n"));
    cls_text_free(&text);
    double state[3], row[8];
    assert_int_equal(cls_system_start(s, NULL, state, NULL), CLS_OK);
    assert_int_equal(cls_system_row(s, 0, state, row, NULL), CLS_OK);
    assert_int_equal(s->n_parts, 1);
    cls_system_free(&s);
    s = parse("coordinate x\nentropy S\nhamiltonian H = p.x^2/2 + exp(S)\n"
              "anchor d H / d p.x = 0 at x = 0, p.x = 0, S = 0");
    assert_true(s->anchors[0].by == s->p[0]);
    cls_system_free(&s);
}

static void limits_hold(void **unused) {
    (void)unused;
    cls_error error = {0};
    cls_system *s = NULL;
    char *big = malloc((1 << 20) + 2);
    memset(big, '#', (1 << 20) + 1);
    big[(1 << 20) + 1] = 0;
    assert_int_equal(cls_system_parse(big, "a", NULL, &s, &error), CLS_SYSTEM);
    free(big);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_found_where_it_is),
        cmocka_unit_test(the_caret_points),
        cmocka_unit_test(writing_is_free),
        cmocka_unit_test(set_overrides_expressions),
        cmocka_unit_test(names_of_entropies_and_temperatures),
        cmocka_unit_test(constant_forces_join_the_energy),
        cmocka_unit_test(heat_exchange_is_symmetric),
        cmocka_unit_test(anchors_are_kept),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
