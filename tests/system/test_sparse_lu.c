/* Sparse equations: the solution of the dense ones, for chains, grids, borders and any pattern. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "system/dense.h"
#include "system/sparse_lu.h"
#include <clausius/random.h>

enum { MOST = 120 };

typedef struct matrix {
    size_t n, start[MOST + 1];
    uint32_t column[MOST * MOST];
    double value[MOST * MOST], dense[MOST * MOST];
} matrix;

/* Entries where `wanted`, the diagonal a little heavier than the rest of its row. */
static void fill(matrix *m, size_t n, cls_random *random,
                 int (*wanted)(size_t n, size_t i, size_t j)) {
    size_t at = 0;
    m->n = n;
    memset(m->dense, 0, sizeof m->dense);
    for (size_t i = 0; i < n; i++) {
        double sum = 0.1;
        size_t diagonal = 0;
        m->start[i] = at;
        for (size_t j = 0; j < n; j++) {
            if (i != j && !wanted(n, i, j)) continue;
            m->column[at] = (uint32_t)j;
            m->value[at] = cls_random_uniform(random) - 0.5;
            if (i == j) diagonal = at;
            sum += fabs(m->value[at++]);
        }
        m->value[diagonal] = sum;
        for (size_t k = m->start[i]; k < at; k++) m->dense[i * n + m->column[k]] = m->value[k];
    }
    m->start[n] = at;
}

static int chain(size_t n, size_t i, size_t j) {
    (void)n;
    return i + 1 == j || j + 1 == i;
}
static int ring(size_t n, size_t i, size_t j) {
    return (i + 1) % n == j || (j + 2) % n == i;
}
static int grid(size_t n, size_t i, size_t j) {
    size_t d = i > j ? i - j : j - i;
    (void)n;
    return d == 1 || d == 10;
}
static int border(size_t n, size_t i, size_t j) {
    return chain(n, i, j) || i == n / 2 || j == n / 2;
}
static int any(size_t n, size_t i, size_t j) {
    (void)n;
    return (i * 7 + j * 13) % 17 == 3;
}

static void solves_like_dense(void **unused) {
    (void)unused;
    int (*const patterns[])(size_t, size_t, size_t) = {chain, ring, grid, border, any};
    static matrix m;
    cls_random random;
    cls_random_seed(&random, 5);
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
        for (size_t n = 1; n <= MOST; n += p == 3 ? 119 : 17) {
            clsi_sparse_lu *lu = NULL;
            fill(&m, n, &random, patterns[p]);
            assert_int_equal(clsi_sparse_lu_create(n, m.start, m.column, &lu, NULL), CLS_OK);
            double *work = calloc(clsi_sparse_lu_size(lu), sizeof *work), b[MOST], x[MOST];
            size_t pivot[MOST];
            for (size_t i = 0; i < n; i++) b[i] = x[i] = cls_random_uniform(&random);
            for (int twice = 0; twice < 2; twice++)
                assert_int_equal(clsi_sparse_lu_factor(lu, m.value, work), 0);
            clsi_sparse_lu_solve(lu, work, x);
            assert_int_equal(clsi_lu_factor(n, m.dense, pivot), 0);
            clsi_lu_solve(n, m.dense, pivot, b);
            for (size_t i = 0; i < n; i++)
                if (!(fabs(x[i] - b[i]) <= 1e-11 * (1 + fabs(b[i]))))
                    fail_msg("pattern %zu, n = %zu: %g for %g", p, n, x[i], b[i]);
            if (p == 0 && n > 2) /* a chain has no fill: L and U have its entries */
                assert_int_equal(lu->first[n], m.start[n]);
            free(work);
            clsi_sparse_lu_free(&lu);
        }
}

static void a_missing_pivot_is_told(void **unused) {
    (void)unused;
    const size_t start[] = {0, 1, 2};
    const uint32_t column[] = {0, 1};
    const double value[] = {1, 0};
    double work[16];
    clsi_sparse_lu *lu = NULL;
    assert_int_equal(clsi_sparse_lu_create(2, start, column, &lu, NULL), CLS_OK);
    assert_true(clsi_sparse_lu_size(lu) <= 16);
    assert_true(clsi_sparse_lu_factor(lu, value, work) != 0);
    clsi_sparse_lu_free(&lu);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_like_dense),
        cmocka_unit_test(a_missing_pivot_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
