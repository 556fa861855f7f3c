/* One function at the places of many elements: the work of learning it grows like their number, counted and not
 * timed (docs/decisions/0485). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "expr/graph.h"
#include "tests/learn/made_data.h"
#include <stdio.h>

static size_t visits; /* of walks over graphs */

void clsi_visit_hook(size_t n) {
    visits += n;
}

static const char ring[] =
    "parameter N = %d\ncoordinate u[1..N ring]\nentropy s[1..N ring]\n"
    "function V(d) = 1 - cos(d) + 0.1*d^2\ncoefficient f(w) = 0.1/(1 + w^2)\n"
    "hamiltonian H = sum(i in 1..N: p.u[i]^2/(2*(1 + 0.3*mod(i,3))) + exp(s[i])) + "
    "sum(i in 1..N: V(u[i+1] - u[i]))\n"
    "for i in 1..N: friction on s[i]: u[i] <- -f(v.u[i])*v.u[i]\n"
    "for i in 1..N: heat exchange theta[i] <-> theta[i+1]: 0.2\n"
    "for i in 1..N: start u[i] = sin(i), v.u[i] = 0.5*cos(2*i), s[i] = 0.1*sin(i)\n";
static const char *const both[] = {"V", "f"};

/* Some rows of its own motion. */
static cls_table *motion(const cls_system *s, int rows) {
    cls_error e;
    cls_table *t;
    cls_simulator *sim;
    size_t columns = cls_system_column_count(s);
    const char **names = calloc(columns, sizeof *names);
    double *row = calloc(2 * columns, sizeof *row), *state = row + columns;
    cls_simulate_options o = cls_simulate_defaults();
    o.h = 0.05;
    for (size_t i = 0; i < columns; i++) names[i] = cls_system_column(s, i);
    if (cls_table_create(columns, names, &t, &e) || cls_system_start(s, NULL, state, &e) ||
        cls_simulator_create(s, &o, &sim, &e) || cls_simulator_start(sim, 0, state, &e))
        fail_msg("%s", e.message);
    for (int k = 0; k < rows; k++)
        if ((k && cls_simulator_advance(sim, 1, &e)) || cls_simulator_row(sim, row, &e) ||
            cls_table_append(t, row, &e))
            fail_msg("%s", e.message);
    cls_simulator_free(&sim);
    free(names);
    free(row);
    return t;
}

static double visits_of(int N) {
    cls_error e;
    cls_system *s;
    cls_learn_info info;
    char text[sizeof ring + 16];
    (void)snprintf(text, sizeof text, ring, N);
    if (cls_system_parse(text, "ring", NULL, &s, &e)) fail_msg("%s", e.message);
    cls_table *t = motion(s, 12);
    size_t before = visits;
    cls_model *m = learn(s, t, both, 2, "chebyshev(4)", &info);
    double n = (double)(visits - before);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    return n;
}

static void places_of_a_function_cost_the_same_each(void **unused) {
    (void)unused;
    double few = visits_of(100), many = visits_of(400);
    print_message("%g visits at 100, %g at 400\n", few, many);
    assert_true(few > 0); /* the hook is called */
    if (!(many <= 5 * few)) fail_msg("%g times the nodes are visited, at most 5", many / few);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_of_a_function_cost_the_same_each)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
