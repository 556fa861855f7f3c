/* Loading many elements: what each of them costs, counted and not timed. Work that is done once for all elements
 * (docs/decisions/0320) and comes back for each of them is seen here. */
#include "expr/graph.h"
#include "expr/program.h"
#include "simulate/simulator.h"
#include "system/system.h"
#include "tests/allocations.h"
#include "tests/simulate/motion.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t visits; /* of walks over graphs */

void clsi_visit_hook(size_t n) {
    visits += n;
}

static const char *const chain =
    "parameter N = 8, k = 1, c = 0.1, kappa = 0.2\n"
    "coordinate u[1..N]\nentropy s[1..N]\n"
    "let d[i] = u[i+1] - u[i]\nlet u[0] = 0\nlet u[N+1] = 0\n"
    "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 0..N: k*d[i]^2/2 + d[i]^4/4)\n"
    "for i in 1..N: friction on s[i]: u[i] <- -c*v.u[i]\n"
    "for i in 1..N-1: heat exchange s[i] <-> s[i+1]: kappa\n"
    "for i in 1..N: start u[i] = sin(pi*i/8), v.u[i] = 0, s[i] = 0\n";

static const char *const ring =
    "parameter N = 8, k = 1, c = 0.1, kappa = 0.2\n"
    "coordinate a[1..N ring]\nentropy s[1..N ring]\n"
    "hamiltonian sum(i in 1..N: p.a[i]^2/2 + exp(s[i]) + k*(1 - cos(a[i+1] - a[i])))\n"
    "for i in 1..N: friction on s[i]: a[i] <- -c*v.a[i]\n"
    "for i in 1..N: heat exchange s[i] <-> s[i+1]: kappa\n"
    "for i in 1..N: start a[i] = sin(2*pi*i/N), v.a[i] = 0, s[i] = 0\n";

typedef struct cost {
    double allocations, nodes, elsewhere; /* nodes that are in no list of an argument */
} cost;

static cost cost_of(const char *text, double N) {
    const char *name = "N";
    cls_assignments set = {1, &name, &N};
    cls_error error;
    cls_system *s;
    size_t before = allocations;
    if (cls_system_parse(text, "test", &set, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    cls_simulator *sim = begin(s, NULL, 0.05);
    const cls_graph *g = sim->stepper->s->g;
    cost c = {(double)(allocations - before), (double)g->n, (double)g->in_table};
    advance(sim, 1);
    cls_simulator_free(&sim);
    cls_system_free(&s);
    return c;
}

/* Most that one element more may bring. */
static void check(const char *what, const char *text, cost most) {
    enum { FEW = 400, MANY = 800 };
    cost few = cost_of(text, FEW), many = cost_of(text, MANY);
    double n = MANY - FEW;
    cost each = {(many.allocations - few.allocations) / n, (many.nodes - few.nodes) / n,
                 (many.elsewhere - few.elsewhere) / n};
    if (!COUNTS_ALLOCATIONS) each.allocations = 0;
    if (!(each.allocations <= most.allocations && each.nodes <= most.nodes &&
          each.elsewhere <= most.elsewhere))
        fail_msg("%s: an element takes %g allocations, %g nodes, %g of them in the table; at most "
                 "%g, %g, %g",
                 what, each.allocations, each.nodes, each.elsewhere, most.allocations, most.nodes,
                 most.elsewhere);
}

static void an_element_costs_little(void **unused) {
    (void)unused;
    check("chain", chain, (cost){62, 201, 12});
    check("ring", ring, (cost){66, 165, 13.5});
}

/* ---- what elements share is walked through once ---- */

static const char *const mean_field =
    "parameter N = 8, c = 0.2, k = 3\n"
    "coordinate u[1..N]\nentropy s[1..N]\n"
    "let mean = sum(i in 1..N: u[i])/N\nlet u[0] = 0\nlet u[N+1] = 0\n"
    "hamiltonian sum(i in 1..N: p.u[i]^2/2) + sum(i in 1..N: exp(s[i])) + "
    "sum(i in 0..N: k*(u[i+1]-u[i])^2/2) + N*mean^4/4\n"
    "for i in 1..N: friction on s[i]: u[i] <- -c*theta[i]*v.u[i]\n"
    "for i in 1..N: start u[i] = sin(i), v.u[i] = 0.1*sin(i), s[i] = 0\n";

static const char *const two_means =
    "parameter N = 8, K = 1\ncoordinate a[1..N]\n"
    "let cx = sum(i in 1..N: cos(a[i]))/N\nlet sx = sum(i in 1..N: sin(a[i]))/N\n"
    "hamiltonian sum(i in 1..N: p.a[i]^2/2) - N*K*(cx^2+sx^2)/2\n"
    "for i in 1..N: start a[i] = i, v.a[i] = 0.1*sin(3*i)\n";

/* Its equations are made of more than 48 unknowns each, so that a number of them becomes an unknown. */
static const char *const cube =
    "parameter N = 4, k = 0.1\ntemperature T[1..N,1..N,1..N]\n"
    "thermal lagrangian sum(i in 1..N, j in 1..N, l in 1..N: T[i,j,l]*(log(T[i,j,l])-1))\n"
    "for i in 1..N-1, j in 1..N, l in 1..N: heat exchange T[i,j,l] <-> T[i+1,j,l]: k*T[i,j,l]\n"
    "for i in 1..N, j in 1..N-1, l in 1..N: heat exchange T[i,j,l] <-> T[i,j+1,l]: k\n"
    "for i in 1..N, j in 1..N, l in 1..N-1: heat exchange T[i,j,l] <-> T[i,j,l+1]: k\n"
    "for i in 1..N, j in 1..N, l in 1..N: start T[i,j,l] = 1.2\n";

static const char *const running_sum =
    "parameter N = 8\ncoordinate u[1..N]\nlet a[0] = 0\n"
    "for i in 1..N: let a[i] = a[i-1] + u[i]\n"
    "hamiltonian sum(i in 1..N: p.u[i]^2/2 + u[i]^2/2) + a[2]^2\n"
    "for i in 1..N: start u[i] = i, v.u[i] = 0\n";

static double visits_of(const char *text, double N) {
    size_t before = visits;
    (void)cost_of(text, N);
    return (double)(visits - before);
}

/* Many elements cost as many times more as they are; the square of it would be far beyond. */
static void check_growth(const char *what, const char *text, double few, double many,
                         double power) {
    double before = visits_of(text, few), after = visits_of(text, many);
    double most = 1.25 * pow(many / few, power);
    print_message("%s: %g visits at %g, %g at %g\n", what, before, few, after, many);
    assert_true(before > 0); /* the hook is called */
    if (!(after <= most * before))
        fail_msg("%s: %g times the nodes are visited, at most %g", what, after / before, most);
}

static void what_elements_share_is_visited_once(void **unused) {
    (void)unused;
    check_growth("mean field", mean_field, 1500, 6000, 1);
    check_growth("two means", two_means, 1500, 6000, 1);
    check_growth("running sum", running_sum, 500, 2000, 1);
    check_growth("cube", cube, 5, 9, 3);
}

/* A friction with a root that a motion leaves: which term is not finite is said by equations that are written once
 * more, for a large stepper has given them back (docs/decisions/0370). */
static void large_steps_keep_no_code_and_name_their_terms(void **unused) {
    static const char *const leaving =
        "parameter N = 8\ncoordinate u[1..N]\nentropy s[1..N]\n"
        "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 1..N-1: (u[i+1] - u[i])^2/2 "
        "+ "
        "(u[i+1] - u[i])^4/4)\n"
        "for i in 1..N: friction on s[i]: u[i] <- -0.1*sqrt(1.05 - u[i])*v.u[i]\n"
        "for i in 1..N-1: heat exchange s[i] <-> s[i+1]: 0.2\n"
        "for i in 1..N: start u[i] = 1, v.u[i] = 0.9, s[i] = 0\n";
    const char *name = "N";
    double sizes[] = {40, 9000};
    (void)unused;
    for (int large = 0; large < 2; large++) {
        cls_assignments set = {1, &name, &sizes[large]};
        cls_error error;
        cls_system *s;
        if (cls_system_parse(leaving, "leaving", &set, &s, &error) != CLS_OK)
            fail_msg("%s", error.message);
        cls_simulator *sim = begin(s, NULL, 0.05);
        const clsi_stepper *sp = sim->stepper;
        assert_int_equal(sp->residual->code == NULL, large);
        assert_int_equal(sp->scale->code == NULL, large);
        assert_int_equal(sp->s->g == s->g, large);
        assert_string_equal(cls_node_name(sp->s->g, sp->s->q[3]), "u[4]");
        cls_status status = CLS_OK;
        for (int k = 0; k < 20 && status == CLS_OK; k++)
            status = cls_simulator_advance(sim, 1, &error);
        assert_int_equal(status, CLS_NUMERIC);
        assert_non_null(strstr(error.message, "the term sqrt(1.05 - "));
        assert_non_null(strstr(error.message, " is not finite; the last good state is "));
        cls_simulator_free(&sim);
        cls_system_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_costs_little),
        cmocka_unit_test(what_elements_share_is_visited_once),
        cmocka_unit_test(large_steps_keep_no_code_and_name_their_terms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
