/* Work on formulas of one shape, mapped over their nodes: the values that the work itself gives, for
 * random formulas between neighbours, whatever was built before. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "expr/graph.h"
#include "expr/program.h"
#include "tests/expr/random_graph.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 90, COLUMNS = CELLS + 2, OPERATIONS = 12 };

static cls_node combined(cls_graph *g, size_t kind, cls_node a, cls_node b) {
    switch (kind) {
    case 0: return cls_add(g, a, b);
    case 1: return cls_sub(g, a, b);
    case 2: return cls_mul(g, a, b);
    case 3: return cls_div(g, a, cls_add(g, cls_mul(g, b, b), cls_constant(g, 1)));
    case 4: return cls_apply(g, CLS_FN_TANH, cls_mul(g, cls_constant(g, -3), a));
    case 5: return a == b ? a : cls_quotient(g, CLS_FN_EXP, 2, 1, a, b, 0);
    case 6: return a == b ? a : cls_quotient(g, CLS_FN_TANH, 1, 1, a, b, 0);
    default: return cls_pow(g, cls_apply(g, CLS_FN_SIN, a), cls_constant(g, 3));
    }
}

/* A formula of cells i, i+1, i+2 by a list of operations that is the same for all i. */
static cls_node formula(cls_graph *g, const cls_node *x, size_t i, uint64_t seed) {
    cls_random r;
    cls_node pool[4 + OPERATIONS] = {x[i], x[i + 1], x[i + 2], cls_constant(g, 1.5)};
    cls_random_seed(&r, seed);
    for (size_t k = 4; k < 4 + OPERATIONS; k++) {
        cls_node a = pool[random_below(&r, k)], b = pool[random_below(&r, k)];
        pool[k] = cls_apply(g, CLS_FN_TANH, combined(g, random_below(&r, 8), a, b));
    }
    return cls_add(g, pool[3 + OPERATIONS], cls_mul(g, pool[2 + OPERATIONS], pool[1 + OPERATIONS]));
}

/* Some of what the rows will need is there already, so that numbers of nodes do not follow the cells. */
static void build_some(cls_graph *g, const cls_node *x, uint64_t seed) {
    cls_random r;
    cls_random_seed(&r, seed);
    for (size_t k = 0; k < CELLS; k++) {
        cls_node a = x[random_below(&r, COLUMNS)], b = x[random_below(&r, COLUMNS)];
        (void)combined(g, random_below(&r, 8), a, b);
        (void)cls_derivative(g, formula(g, x, random_below(&r, CELLS), seed), a);
    }
}

static void make_cells(cls_graph *g, int backwards, cls_node *x) {
    char name[32];
    for (size_t k = 0; k < COLUMNS; k++) {
        size_t i = backwards ? COLUMNS - 1 - k : k;
        (void)snprintf(name, sizeof name, "x%zu", i);
        x[i] = cls_symbol(g, name);
    }
}

/* Row i of the Jacobian as it stands, then each slope by itself. */
static void list_slopes(cls_graph *g, const clsi_rows *rows, size_t i, const cls_node *slope,
                        cls_node *out) {
    for (size_t j = 0; j < COLUMNS; j++) out[j] = cls_constant(g, 0), out[COLUMNS + j] = slope[j];
    for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
        out[rows->column[k]] = rows->node[k];
}

static void compare_values(const cls_graph *g, const cls_node *x, const cls_node *nodes,
                           const double *at) {
    cls_program *p;
    double value[2 * COLUMNS];
    assert_int_equal(cls_program_create(g, COLUMNS, x, 2 * COLUMNS, nodes, &p, NULL), CLS_OK);
    double *work = malloc(cls_program_work_size(p) * sizeof *work);
    assert_non_null(work);
    cls_program_prepare(p, work);
    cls_program_run(p, work, at, value);
    for (size_t j = 0; j < COLUMNS; j++)
        if (!(fabs(value[j] - value[COLUMNS + j]) <= 1e-11 * (1 + fabs(value[j]))))
            fail_msg("column %zu: %.17g by its shape, %.17g by itself", j, value[j],
                     value[COLUMNS + j]);
    free(work);
    cls_program_free(&p);
}

static void check_rows(cls_graph *g, const cls_node *row, const cls_node *x, cls_random *r) {
    clsi_rows rows;
    cls_node slope[COLUMNS], both[2 * COLUMNS];
    double at[COLUMNS];
    for (size_t k = 0; k < COLUMNS; k++) at[k] = cls_random_normal(r);
    assert_int_equal(clsi_sparse_jacobian(g, CELLS, row, COLUMNS, x, &rows), CLS_OK);
    for (size_t i = 0; i < CELLS; i++) {
        assert_int_equal(cls_gradient(g, row[i], COLUMNS, x, slope), CLS_OK);
        list_slopes(g, &rows, i, slope, both);
        compare_values(g, x, both, at);
    }
    clsi_rows_clear(&rows);
}

static void test_rows_of_one_shape(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        cls_graph *g;
        cls_random r;
        cls_node x[COLUMNS], row[CELLS];
        cls_random_seed(&r, seed);
        assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
        make_cells(g, seed % 3 == 0, x);
        if (seed % 2) build_some(g, x, seed);
        for (size_t i = 0; i < CELLS; i++) row[i] = formula(g, x, i, seed);
        check_rows(g, row, x, &r);
        cls_graph_free(&g);
    }
}

/* A neighbour is seen without its cone, with the results that its cone would give; others are not. */
static void test_neighbours_are_matched(void **state) {
    enum { MANY = 200 };
    cls_graph *g;
    clsi_cone cone;
    cls_node x[MANY + 1], row[MANY], out[2], slope;
    const cls_node *members;
    size_t n, matched = 0;
    char name[16];
    (void)state;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    clsi_repeats *r = clsi_repeats_create(g);
    for (size_t k = 0; k <= MANY; k++) {
        (void)snprintf(name, sizeof name, "x[%zu]", k);
        x[k] = cls_symbol(g, name);
    }
    for (size_t k = 0; k < MANY; k++)
        row[k] =
            cls_mul(g, cls_constant(g, 3), cls_apply(g, CLS_FN_SIN, cls_sub(g, x[k + 1], x[k])));
    for (size_t k = 0; k < MANY; k++) {
        slope = CLS_NO_NODE;
        if (clsi_repeats_members(r, row[k], &members)) {
            assert_int_equal(members[0], x[k]);
            assert_false(clsi_repeats_again(r, 1, &x[k + 1], &n, out)); /* another mark */
            assert_true(clsi_repeats_again(r, 1, &x[k], &n, &slope));
            assert_int_equal(n, 1);
            matched++;
        }
        assert_true(clsi_cone_create(g, 1, &row[k], &cone));
        int found = clsi_repeats_find(r, &cone, 1, &x[k], &n, out);
        assert_true(found == (k > 0));
        if (!found) {
            out[0] = cls_derivative(g, row[k], x[k]);
            clsi_repeats_keep(r, 1, out);
        }
        if (slope != CLS_NO_NODE) assert_int_equal(slope, out[0]);
        clsi_cone_free(&cone);
    }
    assert_int_equal(matched, MANY - 1); /* work on each comes back: this is what notices */
    cls_node three = cls_constant(g, 3), four = cls_constant(g, 4);
    cls_node sine = cls_apply(g, CLS_FN_SIN, cls_sub(g, x[1], x[0]));
    const cls_node others[] = {cls_mul(g, four, sine),
                               cls_mul(g, three, cls_apply(g, CLS_FN_COS, sine)),
                               cls_mul(g, three, cls_apply(g, CLS_FN_SIN, cls_sub(g, x[0], x[1]))),
                               cls_mul(g, three, cls_apply(g, CLS_FN_SIN, cls_sub(g, sine, x[0]))),
                               three,
                               x[0],
                               CLS_NO_NODE};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        assert_int_equal(clsi_repeats_members(r, others[k], &members), 0);
    clsi_repeats_free(&r);
    cls_graph_free(&g);
}

/* What is found is what was kept; another mark, constant or symbol that stands twice is another shape. */
static void test_shapes_differ(void **state) {
    cls_graph *g;
    clsi_cone cone;
    cls_node x[3], a, b, out[2];
    size_t n = 7;
    (void)state;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    clsi_repeats *r = clsi_repeats_create(g);
    for (size_t k = 0; k < 3; k++) x[k] = cls_symbol(g, (const char *[]){"x", "y", "z"}[k]);
    a = cls_mul(g, cls_constant(g, 3), cls_mul(g, x[0], x[1]));
    b = cls_mul(g, cls_constant(g, 3), cls_mul(g, x[1], x[2]));
    assert_true(clsi_cone_create(g, 1, &a, &cone));
    assert_false(clsi_repeats_find(r, &cone, 1, &x[0], &n, out));
    out[0] = cls_derivative(g, a, x[0]);
    clsi_repeats_keep(r, 1, out);
    assert_false(clsi_repeats_find(r, &cone, 1, &x[1], &n, out));
    clsi_cone_free(&cone);
    assert_true(clsi_cone_create(g, 1, &b, &cone));
    assert_true(clsi_repeats_find(r, &cone, 1, &x[1], &n, out));
    assert_int_equal(n, 1);
    assert_int_equal(out[0], cls_derivative(g, b, x[1]));
    clsi_cone_free(&cone);
    const cls_node others[] = {cls_mul(g, cls_constant(g, 2), cls_mul(g, x[1], x[2])),
                               cls_mul(g, cls_constant(g, 3), cls_mul(g, x[1], x[1]))};
    for (size_t k = 0; k < 2; k++) {
        assert_true(clsi_cone_create(g, 1, &others[k], &cone));
        assert_false(clsi_repeats_find(r, &cone, 1, &x[1], &n, out));
        clsi_cone_free(&cone);
    }
    clsi_repeats_free(&r);
    cls_graph_free(&g);
}

/* The table of a packed graph is made again: the nodes are found, not made twice. */
static void test_packed(void **state) {
    cls_graph *g;
    (void)state;
    assert_int_equal(cls_graph_create(NULL, &g, NULL), CLS_OK);
    cls_node x = cls_symbol(g, "x"), a = cls_apply(g, CLS_FN_EXP, cls_mul(g, x, x));
    size_t before = cls_graph_size(g);
    clsi_graph_pack(g);
    assert_int_equal(cls_apply(g, CLS_FN_EXP, cls_mul(g, x, x)), a);
    assert_int_equal(cls_graph_size(g), before);
    cls_graph_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_one_shape), cmocka_unit_test(test_neighbours_are_matched),
        cmocka_unit_test(test_shapes_differ), cmocka_unit_test(test_packed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
