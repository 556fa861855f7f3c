/* The dense kernels against loops that cannot be wrong, for sizes that do not fit the tiles. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "solve/kernels.h"
#include <clausius/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *noise(size_t n, uint64_t seed) {
    cls_random random;
    cls_random_seed(&random, seed);
    double *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = 2 * cls_random_uniform(&random) - 1;
    return x;
}

static void check_product(clsi_space *s, clsi_product_part part, size_t m, size_t n, size_t k,
                          int turned) {
    double *A = noise(m * k, 1), *B = noise(k * n, 2), *C = noise(m * (n + 3), 3);
    double *before = malloc(m * (n + 3) * sizeof *C);
    memcpy(before, C, m * (n + 3) * sizeof *C);
    clsi_view a = turned ? (clsi_view){A, 1, m} : (clsi_view){A, k, 1};
    clsi_view b = turned ? (clsi_view){B, 1, k} : (clsi_view){B, n, 1};
    clsi_multiply(s, part, m, n, k, -0.5, a, b, C, n + 3);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n + 3; j++) {
            if (part == CLSI_LOWER && j > i && j < n) continue;
            double sum = 0;
            for (size_t p = 0; p < k && j < n; p++)
                sum += a.at[i * a.row + p * a.column] * b.at[p * b.row + j * b.column];
            double expected = before[i * (n + 3) + j] - 0.5 * sum;
            assert_true(fabs(C[i * (n + 3) + j] - expected) <= 1e-13 * (double)(k + 1));
        }
    free(A), free(B), free(C), free(before);
}

static void product_of_any_size(void **state) {
    (void)state;
    static const size_t sizes[][3] = {{1, 1, 1},     {8, 24, 5},    {7, 23, 300}, {9, 25, 1},
                                      {50, 50, 257}, {193, 241, 3}, {200, 30, 0}};
    clsi_space *s;
    assert_int_equal(clsi_space_create(0, &s, NULL), CLS_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int turned = 0; turned < 2; turned++) {
            check_product(s, CLSI_WHOLE, sizes[i][0], sizes[i][1], sizes[i][2], turned);
            check_product(s, CLSI_LOWER, sizes[i][0], sizes[i][0], sizes[i][2], turned);
        }
    clsi_space_free(&s);
    assert_null(s);
}

static void same_bits_for_any_number_of_threads(void **state) {
    (void)state;
    size_t n = 300, k = 520;
    double *A = noise(k * n, 5), *C[3];
    for (int t = 0; t < 3; t++) {
        clsi_space *s;
        assert_int_equal(clsi_space_create(1 << t, &s, NULL), CLS_OK);
        C[t] = calloc(n * n, sizeof(double));
        clsi_multiply(s, CLSI_LOWER, n, n, k, 1, (clsi_view){A, 1, n}, (clsi_view){A, n, 1}, C[t],
                      n);
        assert_true(clsi_cholesky(s, n, C[t]));
        clsi_space_free(&s);
        for (size_t i = 0; i < n; i++)
            assert_memory_equal(C[0] + i * n, C[t] + i * n, (i + 1) * sizeof(double));
    }
    free(A), free(C[0]), free(C[1]), free(C[2]);
}

static void cholesky_solves(void **state) {
    (void)state;
    size_t n = 131;
    clsi_space *s;
    assert_int_equal(clsi_space_create(0, &s, NULL), CLS_OK);
    double *J = noise(2 * n * n, 6), *A = calloc(n * n, sizeof(double)), *x = noise(n, 7);
    double *b = calloc(n, sizeof(double));
    clsi_multiply(s, CLSI_WHOLE, n, n, 2 * n, 1, (clsi_view){J, 1, n}, (clsi_view){J, n, 1}, A, n);
    clsi_times(n, n, A, x, b);
    assert_true(clsi_cholesky(s, n, A));
    clsi_cholesky_solve(n, A, b);
    for (size_t i = 0; i < n; i++) assert_true(fabs(b[i] - x[i]) < 1e-10);
    memset(A, 0, n * n * sizeof *A);
    for (size_t i = 0; i < n; i++) A[i * n + i] = i == 100 ? -1 : 1;
    assert_false(clsi_cholesky(s, n, A));
    memset(A, 0, n * n * sizeof *A);
    A[0] = NAN;
    assert_false(clsi_cholesky(s, n, A));
    clsi_space_free(&s);
    free(J), free(A), free(x), free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product_of_any_size),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(cholesky_solves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
