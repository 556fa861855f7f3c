/* Linear equations of grids by GMRES with factors of an older matrix: the solution is that of the
 * present matrix, old factors stay while they serve, and go when they do not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "simulate/krylov.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct grid {
    size_t n, *start;
    uint32_t *column;
    double *value, *factors, *b, *x, *scale;
    clsi_sparse_lu *lu;
    clsi_krylov k;
} grid;

/* A cell and its four neighbours on a plate of `side` cells, or with height 1 on a chain. */
static void open_grid(grid *g, size_t side, size_t height) {
    size_t n = side * height, at = 0;
    *g = (grid){.n = n, .start = calloc(n + 1, sizeof(size_t))};
    g->column = calloc(5 * n, sizeof *g->column);
    g->value = calloc(5 * n, sizeof *g->value);
    g->b = calloc(3 * n, sizeof *g->b);
    assert_true(g->start && g->column && g->value && g->b);
    g->x = g->b + n, g->scale = g->x + n;
    for (size_t i = 0; i < n; i++) {
        g->column[at++] = (uint32_t)i;
        if (i % side) g->column[at++] = (uint32_t)(i - 1);
        if (i % side + 1 < side) g->column[at++] = (uint32_t)(i + 1);
        if (i >= side) g->column[at++] = (uint32_t)(i - side);
        if (i + side < n) g->column[at++] = (uint32_t)(i + side);
        g->start[i + 1] = at;
        g->scale[i] = i % 2 ? 1e-3 : 1e3; /* unknowns of different units */
    }
    assert_int_equal(clsi_sparse_lu_create_fast(n, g->start, g->column, &g->lu, NULL), CLS_OK);
    g->factors = calloc(clsi_sparse_lu_size(g->lu), sizeof *g->factors);
    g->k.room = calloc(clsi_krylov_size(g->lu), sizeof(double));
    g->k.price = 1000;
    g->k.tolerance = 1e-14;
    assert_true(g->factors && g->k.room);
}

static void close_grid(grid *g) {
    clsi_sparse_lu_free(&g->lu);
    void *const lists[] = {g->start, g->column, g->value, g->b, g->factors, g->k.room};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
}

/* Columns in the units of the scale; `far` from the matrix with far = 0. */
static void fill(grid *g, double far) {
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = g->start[i]; k < g->start[i + 1]; k++) {
            size_t j = g->column[k];
            double here = 1 + far * sin((double)(3 * i + 7 * j));
            g->value[k] = (j == i ? 5 + here : -here) * g->scale[i] / g->scale[j];
        }
    for (size_t i = 0; i < g->n; i++) g->b[i] = 1e-5 * g->scale[i] * cos((double)i);
}

/* Solves, and looks at the largest residual in units of the right side. */
static double solve(grid *g) {
    double worst = 0;
    memcpy(g->x, g->b, g->n * sizeof *g->x);
    clsi_krylov_solve(&g->k, g->lu, g->factors, g->scale, g->x);
    for (size_t i = 0; i < g->n; i++) {
        double sum = -g->b[i];
        for (size_t k = g->start[i]; k < g->start[i + 1]; k++)
            sum += g->value[k] * g->x[g->column[k]];
        worst = fmax(worst, fabs(sum) / g->scale[i]);
    }
    return worst;
}

static void test_old_factors_serve(void **state) {
    (void)state;
    grid g;
    open_grid(&g, 60, 60);
    fill(&g, 0);
    assert_int_equal(clsi_krylov_factor(&g.k, g.lu, g.value, g.factors), 0);
    assert_true(solve(&g) < 1e-18);
    for (int turn = 1; turn <= 3; turn++) {
        fill(&g, 0.02 * turn);
        assert_int_equal(clsi_krylov_factor(&g.k, g.lu, g.value, g.factors), 0);
        assert_int_equal(g.k.old, 1);
        assert_true(solve(&g) < 1e-9); /* of 1e-5: the square is what Newton's method leaves */
    }
    assert_int_equal(g.k.made, 1);
    memset(g.b, 0, g.n * sizeof *g.b);
    assert_true(solve(&g) == 0);
    close_grid(&g);
}

/* At once where GMRES does not get there; before the next equations when it has become dear. */
static void test_factors_are_renewed(void **state) {
    (void)state;
    grid g;
    open_grid(&g, 60, 60);
    fill(&g, 0);
    assert_int_equal(clsi_krylov_factor(&g.k, g.lu, g.value, g.factors), 0);
    for (size_t i = 0; i < g.n; i++) g.value[g.start[i]] *= 1 + (double)(i * 7919 % 101);
    assert_int_equal(clsi_krylov_factor(&g.k, g.lu, g.value, g.factors), 0);
    assert_true(solve(&g) < 1e-9);
    assert_int_equal(g.k.made, 2);
    fill(&g, 0.9);
    g.k.price = 1;
    g.k.spent = 2;
    g.k.turns = 3;
    assert_int_equal(clsi_krylov_factor(&g.k, g.lu, g.value, g.factors), 0);
    assert_int_equal(g.k.made, 3);
    assert_true(solve(&g) < 1e-17);
    g.value[0] = NAN; /* no pivot: no solution either */
    g.k.spent = 0;
    assert_int_equal(clsi_krylov_factor(&g.k, g.lu, g.value, g.factors), 0);
    assert_true(isnan(solve(&g)) || isnan(g.x[0]));
    close_grid(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_old_factors_serve),
                                       cmocka_unit_test(test_factors_are_renewed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
