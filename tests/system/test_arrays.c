/* Arrays, sums and loops: the same system as its text written out, by the node; errors with index. */
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

static cls_system *parse(const char *text, const cls_assignments *set) {
    cls_system *s = NULL;
    cls_error error = {0};
    if (cls_system_parse(text, "a", set, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    return s;
}

/* Both print the same: states, laws, formulas, start. */
static void same(const char *a, const char *b) {
    cls_system *x = parse(a, NULL), *y = parse(b, NULL);
    size_t n = cls_system_state_count(x);
    assert_int_equal(n, cls_system_state_count(y));
    for (size_t i = 0; i < n; i++)
        assert_string_equal(cls_system_state_name(x, i), cls_system_state_name(y, i));
    char *one = cls_print(x->g, x->form->energy), *two = cls_print(y->g, y->form->energy);
    assert_string_equal(one, two);
    cls_text_free(&one);
    cls_text_free(&two);
    double u[64], v[64], row_u[200], row_v[200];
    assert_int_equal(cls_system_start(x, NULL, u, NULL), CLS_OK);
    assert_int_equal(cls_system_start(y, NULL, v, NULL), CLS_OK);
    assert_memory_equal(u, v, n * sizeof *u);
    assert_int_equal(cls_system_column_count(x), cls_system_column_count(y));
    assert_int_equal(cls_system_row(x, 0, u, row_u, NULL), CLS_OK);
    assert_int_equal(cls_system_row(y, 0, v, row_v, NULL), CLS_OK);
    assert_memory_equal(row_u, row_v, cls_system_column_count(x) * sizeof *row_u);
    cls_system_free(&x);
    cls_system_free(&y);
}

static void a_chain_is_its_elements(void **unused) {
    (void)unused;
    same("parameter N = 3, k = 2\n"
         "coordinate u[1..N] [m] in (-9, 9)\n"
         "entropy s[1..N]\n"
         "let d[i] = u[i+1] - u[i]\n"
         "let u[0] = 0\n"
         "let u[N+1] = 1\n"
         "hamiltonian H = sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 0..N: k*d[i]^2/2)\n"
         "for i in 1..N: friction on s[i]: u[i] <- -0.1*i*v.u[i]\n"
         "for i in 1..N-1: heat exchange theta[i] <-> theta[i+1]: 0.5\n"
         "for i in 1..N:\n"
         "  start u[i] = i/(N + 1)\n"
         "  start v.u[i] = 0,\n"
         "        s[i] = -i\n",
         "parameter N = 3, k = 2\n"
         "coordinate u[1], u[2], u[3] [m] in (-9, 9)\n"
         "entropy s[1], s[2], s[3]\n"
         "let u[0] = 0\n"
         "let u[4] = 1\n"
         "hamiltonian H = ((p.u[1]^2/2 + exp(s[1])) + (p.u[2]^2/2 + exp(s[2]))) + (p.u[3]^2/2 + "
         "exp(s[3])) + ((k*(u[1] - u[0])^2/2 + k*(u[2] - u[1])^2/2) + (k*(u[3] - u[2])^2/2 + "
         "k*(u[4] - "
         "u[3])^2/2))\n"
         "friction on s[1]: u[1] <- -0.1*v.u[1]\n"
         "friction on s[2]: u[2] <- -0.2*v.u[2]\n"
         "friction on s[3]: u[3] <- -0.1*3*v.u[3]\n"
         "heat exchange theta[1] <-> theta[2]: 0.5\n"
         "heat exchange theta[2] <-> theta[3]: 0.5\n"
         "start u[1] = 0.25, v.u[1] = 0, s[1] = -1\n"
         "start u[2] = 0.5, v.u[2] = 0, s[2] = -2\n"
         "start u[3] = 0.75, v.u[3] = 0, s[3] = -3\n");
}

static void rings_and_grids(void **unused) {
    (void)unused;
    same("coordinate x[0..2 ring]\n"
         "hamiltonian sum(i in 0..2: p.x[i]^2/2 + (x[i+1] - x[i-1])^2/2)\n"
         "start x[0] = 1, v.x[0] = 0, x[1] = 2, v.x[1] = 0, x[2] = 3, v.x[2] = 0\n",
         "coordinate x[0], x[1], x[2]\n"
         "hamiltonian ((p.x[0]^2/2 + (x[1] - x[2])^2/2) + (p.x[1]^2/2 + (x[2] - x[0])^2/2)) + "
         "(p.x[2]^2/2 + (x[0] - x[1])^2/2)\n"
         "start x[0] = 1, v.x[0] = 0, x[1] = 2, v.x[1] = 0, x[2] = 3, v.x[2] = 0\n");
    same("entropy S[1..2, 1..2] with temperature Q[1..2, 1..2]\n"
         "hamiltonian sum(i in 1..2, j in 1..2: exp(S[i,j]))\n"
         "for i in 1..2: heat exchange Q[i,1] <-> Q[i][2]: i\n"
         "for i in 1..2, j in 1..2: start S[i,j] = i + j\n",
         "entropy S[1][1] with temperature Q[1][1], S[1][2] with temperature Q[1][2], S[2][1] with "
         "temperature Q[2][1], S[2][2] with temperature Q[2][2]\n"
         "hamiltonian (exp(S[1][1]) + exp(S[1][2])) + (exp(S[2][1]) + exp(S[2][2]))\n"
         "heat exchange Q[1][1] <-> Q[1][2]: 1\n"
         "heat exchange Q[2][1] <-> Q[2][2]: 2\n"
         "start S[1][1] = 2, S[1][2] = 3, S[2][1] = 3, S[2][2] = 4\n");
}

static void set_changes_the_size(void **unused) {
    (void)unused;
    const char *names[] = {"N"};
    const double values[] = {7};
    cls_assignments set = {1, names, values, NULL};
    cls_system *s = parse("parameter N = 2*2\ncoordinate x[1..N]\n"
                          "hamiltonian sum(i in 1..N: p.x[i]^2/2)\n",
                          &set);
    assert_int_equal(cls_system_coordinate_count(s), 7);
    assert_string_equal(cls_system_state_name(s, 6), "x[7]");
    cls_system_free(&s);
}

/* What --set gives is at fault, not the file. */
static void set_is_blamed(void **unused) {
    (void)unused;
    static const char *const names[] = {"k", "N"};
    static const struct {
        double k, N;
        const char *says;
    } tries[] = {{1, 0, "--set N=0: a:2:14: the range is empty"},
                 {1, -3, "--set N=-3: a:2:14: the range is empty"},
                 {2, 2.5, "--set N=2.5: a:2:17: an index is a whole number, this is 2.5"},
                 {5, 3, "--set k=5: a:3:0: "},
                 {3, 2, "--set k=3, N=2: a:3:0: "}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const double values[] = {tries[i].k, tries[i].N};
        cls_assignments set = {2, names, values, NULL};
        cls_system *s = NULL;
        cls_error error = {0};
        cls_status status = cls_system_parse("parameter N = 4, k = 1\ncoordinate x[1..N]\n"
                                             "hamiltonian p.x[k]^2/2 + sum(i in 1..N: x[i]^2)\n",
                                             "a", &set, &s, &error);
        const char *colon = strstr(tries[i].says, ":0: ");
        size_t n = colon ? (size_t)(colon - tries[i].says) : strlen(tries[i].says);
        if (status != CLS_USAGE || error.status != CLS_USAGE ||
            strncmp(error.message, tries[i].says, n))
            fail_msg("%s", error.message);
        assert_null(s);
    }
}

/* let a[i] = a[i-1] + x[i] comes to an end at let a[0] = ..., wherever that stands. */
static void lets_end_at_an_edge(void **unused) {
    (void)unused;
    same("parameter N = 4\ncoordinate x[1..N]\nlet a[0] = 2\nlet a[i] = a[i-1] + x[i]\n"
         "hamiltonian sum(i in 1..N: p.x[i]^2/2) + a[N]^2 + a[0]\n"
         "for i in 1..N: start x[i] = i, v.x[i] = 0\n",
         "parameter N = 4\ncoordinate x[1], x[2], x[3], x[4]\nlet a0 = 2\n"
         "hamiltonian ((p.x[1]^2/2 + p.x[2]^2/2) + (p.x[3]^2/2 + p.x[4]^2/2)) + "
         "((((a0 + x[1]) + x[2]) + x[3]) + x[4])^2 + a0\n"
         "start x[1] = 1, x[2] = 2, x[3] = 3, x[4] = 4, v.x[1] = 0, v.x[2] = 0, v.x[3] = 0, "
         "v.x[4] = 0\n");
}

/* Many components of one kind without a loop. */
static void components_with_a_range(void **unused) {
    (void)unused;
#define KIND   "parameter N = 2\ncomponent kind(entropy s): storage exp(s/2)\n"
#define STARTS "for i in 1..N:\n  free a[i].s\n  free b[i].s\n  start a[i]_s = i, b[i]_s = 2*i\n"
    same(
        KIND "storage a[1..N](entropy s): exp(s)\nuse kind as b[1..N]\n" STARTS, KIND
        "for i in 1..N: storage a[i](entropy s): exp(s)\nfor i in 1..N: use kind as b[i]\n" STARTS);
}

#define CHAIN   "parameter N = 3\ncoordinate x[1..N]\nentropy s[1..N]\n" /* 3 lines */
#define CHAIN_H CHAIN "hamiltonian sum(i in 1..N: p.x[i]^2/2 + exp(s[i]))\n"

static void errors_name_the_index(void **unused) {
    (void)unused;
    static const struct {
        const char *text;
        int line, column;
        const char *says;
    } mistakes[] = {
        {CHAIN "hamiltonian sum(i in 1..N: (x[i+1] - x[i])^2)", 4, 29, "index 4 is outside"},
        {CHAIN "hamiltonian sum(i in 1..N: (x[i+1] - x[i])^2)", 4, 29, "(i = 3)"},
        {CHAIN "let d[i] = x[i+1] - x[i]\nhamiltonian sum(i in 1..N: d[i]^2)", 4, 12, " (i = 3)"},
        {CHAIN "let d[i] = x[i]\nhamiltonian sum(i in 1..N: d[i-1])", 4, 12, "(i = 0, i = 1)"},
        {CHAIN_H "for i in 1..N: friction on s[i]: x[i] <- -y[i]", 5, 43, "unknown name 'y[1]'"},
        {CHAIN_H "for i in 2..N: friction on s[i]: x[i] <- -v.x[i", 5, 46, "never closed"},
        {CHAIN_H "for i in 1..N friction on s[i]: x[i] <- 0", 5, 0, "expected"},
        {CHAIN_H "for i 1..N: start x[i] = 0", 5, 7, "expected `in`"},
        {CHAIN_H "for i in 1..M: start x[i] = 0", 5, 13, "`M` is no number here"},
        {CHAIN_H "for i in 1..N: start x[i/2] = 0", 5, 24, "a whole number, this is 0.5 (i = 1)"},
        {CHAIN_H "for i in 1..N: start x[i,i] = 0", 5, 22, "has 1 index, here are 2"},
        {CHAIN_H "for i in 1..2: start x[1] = 0", 5, 22, "has a start already (i = 2)"},
        {"parameter N = 0\ncoordinate x[1..N]", 2, 14, "the range is empty"},
        {"parameter N = M, M = N\ncoordinate x[1..N]", 1, 0, "defined by itself"},
        {CHAIN "let d[i] = d[i+1]\nhamiltonian d[1]", 4, 12,
         "`d[1]` is defined by itself without end: give it an edge, `let d[0] = ...`"},
        {CHAIN "let d[i] = d[i] + 1\nlet d[0] = 1\nhamiltonian d[2]", 4, 12,
         "`d[2]` is defined by itself"},
        {CHAIN "let d[i] = e[i, 2]\nlet e[i, j] = d[i] + j\nhamiltonian d[2]", 5, 15,
         "`d[2]` is defined by itself"},
        {CHAIN "let d[0] = 1\nlet d[i] = 2*d[i-1]\nhamiltonian d[45]", 5, 14,
         "`d[45]` needs more than 40 values of `d` within each other: write `for i in 1..N: let "
         "d[i] = ...`"},
        {CHAIN "hamiltonian sum(i in 1..N: x[i^2/2)", 4, 29, "this [ is never closed"},
        {CHAIN "hamiltonian sum(i in 1..N: x[i]^2/2", 4, 16, "this ( is never closed"},
        {CHAIN "coordinate y[1..N", 4, 13, "this [ is never closed"},
        {CHAIN "hamiltonian sum(i in 1..N x[i]^2/2)", 4, 26,
         "expected `:` after the range: `i in 1..N: ...`"},
        {CHAIN "hamiltonian sum(i in 1..N (x[i]^2/2))", 4, 26, "expected `:` after the range"},
        {CHAIN "hamiltonian sum(i in 1..max(N, 2) x[i], j in 1..N: x[i]^2/2)", 4, 34,
         "expected `:` after the range"},
        {CHAIN_H "for i in 1..N friction on s[i]: x[i] <- 0", 5, 14,
         "expected `:` after the range: `i in 1..N: ...`"},
        {CHAIN "coordinate y[1..N rign]", 4, 19, "did you mean `ring`?"},
        {CHAIN "coordinate y[1..2*N cyclic]", 4, 21, "expected `]` or the word `ring`"},
        {CHAIN "component cell[1..N](entropy s): exp(s)", 4, 11, "`use cell as c[1..N]`"},
        {CHAIN "coordinate s[1..N]", 4, 12, "`s[1]` is already an entropy, declared in line 3"},
        {CHAIN "entropy x[1..N]", 4, 9, "`x[1]` is already a coordinate, declared in line 2"},
        {CHAIN "coordinate x", 4, 12,
         "`x` is already a coordinate with indices, declared in line 2: a name means one thing"},
        {"parameter N = 2, x = 1\ncoordinate x[1..N]", 2, 12,
         "`x` is already a parameter, declared in line 1: a name means one thing"},
        {"parameter N = 2\nfor i in 1..N: coordinate x[i]\ncoordinate x", 2, 27,
         "`x` is already a coordinate, declared in line 3: a name means one thing (i = 1)"},
        {"parameter N = unknown\ncoordinate x[1..N]", 1, 15, "a size is no unknown"},
        {"coordinate x[1..N]", 1, 17, "parameters (`parameter N = 10` makes it one)"},
        {CHAIN_H "for i in 1..N: start x[j] = 0", 5, 24, "a loop around it, `for j in 1..10: ...`"},
        {CHAIN "hamiltonian sum(i in 1..N: p.x[i]^2/2 + mod(i, N)*exp(s[i]))", 4, 41,
         "of parameters and variables it is not smooth"},
        {"entropy T[1..2, 1..3] with temperature Q[1..2, 1..3]\nhamiltonian T[2, 4]", 2, 13,
         "write `let T[2][4] = ...` for what stands at the edge, or `T[1..2, 1..3 ring]`"},
        {"momentum x[1..2 ring]\nhamiltonian sum(i in 1..2: x[i]^2)\n"
         "for i in 1..2: poisson {x[i], x[i+1]} = 1",
         3, 25, "a ring has a bracket of neighbours from three elements on (i = 2)"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        cls_system *s = NULL;
        cls_error error = {0};
        cls_status status = cls_system_parse(mistakes[i].text, "a", NULL, &s, &error);
        if (status != CLS_SYSTEM || !strstr(error.message, mistakes[i].says) ||
            error.line != mistakes[i].line ||
            (mistakes[i].column && error.column != mistakes[i].column))
            fail_msg("mistake %zu: %d:%d %s", i, error.line, error.column, error.message);
        assert_null(s);
    }
}

static void components_repeat(void **unused) {
    (void)unused;
    cls_system *s = parse("parameter N = 4\n"
                          "for i in 1..N: storage cell[i](entropy s[i]): exp(s[i])\n"
                          "for i in 1..N-1:\n"
                          "  resistive wall[i](entropy a, entropy b): 0.2\n"
                          "  connect cell[i].s[i], wall[i].a\n"
                          "  connect cell[i+1].s[i+1], wall[i].b\n"
                          "for i in 1..N: start s[i] = i/10\n",
                          NULL);
    assert_int_equal(cls_system_entropy_count(s), 4);
    assert_string_equal(cls_system_state_name(s, 3), "s[4]");
    cls_system_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_its_elements), cmocka_unit_test(rings_and_grids),
        cmocka_unit_test(set_changes_the_size),    cmocka_unit_test(errors_name_the_index),
        cmocka_unit_test(components_repeat),       cmocka_unit_test(components_with_a_range),
        cmocka_unit_test(lets_end_at_an_edge),     cmocka_unit_test(set_is_blamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
