/* Long matrices in lanes: the bits of the loops over one matrix, and solutions, whatever the pattern;
 * what is not long is left alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "system/segments.h"
#include <clausius/random.h>

enum { MOST = 1400, ROW = 12 };

typedef struct matrix {
    size_t n, start[MOST + 1];
    uint32_t column[MOST * (ROW + 4)];
    double value[MOST * (ROW + 4)];
} matrix;

/* Cells of two unknowns: i touches what is at most two away. */
static int cells(size_t n, size_t i, size_t j) {
    size_t d = i > j ? i - j : j - i;
    (void)n;
    return d <= 1 || (d == 2 && i % 3);
}
static int ring(size_t n, size_t i, size_t j) {
    size_t d = i > j ? i - j : j - i;
    return d <= 1 || d + 1 == n;
}
/* Neighbours now near, now far: levels are not alike. */
static int uneven(size_t n, size_t i, size_t j) {
    size_t d = i > j ? i - j : j - i, k = i < j ? i : j;
    (void)n;
    return d <= 1 || (d <= 5 && k % 7 == 2) || (d == 3 && k % 11 < 4);
}
/* Three chains that do not touch. */
static int apart(size_t n, size_t i, size_t j) {
    return i / (n / 3 + 1) == j / (n / 3 + 1) && cells(n, i, j);
}
/* What all depend on is a border. */
static int bordered(size_t n, size_t i, size_t j) {
    return cells(n, i, j) || i == n / 2 || j == n / 2 || i == 3 || j == 3;
}
/* Only one half of the pattern is there. */
static int lower(size_t n, size_t i, size_t j) {
    (void)n;
    return j <= i && i - j <= 3;
}

/* Momenta (even) feel each other, temperatures (odd) each other and their momenta. */
static int warm(size_t n, size_t i, size_t j) {
    size_t d = i > j ? i - j : j - i;
    (void)n;
    return d == 2 || i == j || (i % 2 && j + 1 == i);
}

/* The numbers of unknowns are mixed, as far as `mixed` says. */
static void fill(matrix *m, size_t n, int mixed, cls_random *random,
                 int (*wanted)(size_t n, size_t i, size_t j)) {
    size_t at = 0, *name = calloc(n, sizeof *name);
    m->n = n;
    for (size_t i = 0; i < n; i++) name[i] = i;
    for (size_t i = n; mixed && i-- > 1;) {
        size_t j = (size_t)(cls_random_uniform(random) * (double)(i + 1)), kept = name[i];
        name[i] = name[j], name[j] = kept;
    }
    for (size_t i = 0; i < n; i++) {
        double sum = 0.1;
        size_t diagonal = 0;
        m->start[i] = at;
        for (size_t j = 0; j < n; j++) {
            if (i != j && !wanted(n, name[i], name[j])) continue;
            assert_true(at < MOST * (ROW + 4));
            m->column[at] = (uint32_t)j;
            m->value[at] = cls_random_uniform(random) - 0.5;
            if (i == j) diagonal = at;
            sum += fabs(m->value[at++]);
        }
        m->value[diagonal] = sum;
    }
    m->start[n] = at;
    free(name);
}

static void check(const matrix *m, clsi_sparse_lu *lu, cls_random *random) {
    static double b[MOST], x[MOST], y[MOST], z[MOST];
    clsi_sparse_lu plain = *lu;
    double *work = calloc(clsi_sparse_lu_size(lu), sizeof *work);
    plain.segments = NULL;
    for (size_t i = 0; i < m->n; i++) b[i] = x[i] = y[i] = cls_random_uniform(random);
    for (int twice = 0; twice < 2; twice++)
        assert_int_equal(clsi_sparse_lu_factor(lu, m->value, work), 0);
    clsi_sparse_lu_solve(lu, work, x);
    assert_int_equal(clsi_sparse_lu_factor_for(lu, m->value, b, work), 0);
    clsi_sparse_lu_finish(lu, work, b, z);
    assert_memory_equal(x, z, m->n * sizeof *x);
    assert_int_equal(clsi_sparse_lu_factor(&plain, m->value, work), 0);
    clsi_sparse_lu_solve(&plain, work, y);
    for (size_t i = 0; i < m->n; i++) {
        double sum = -b[i];
        for (size_t k = m->start[i]; k < m->start[i + 1]; k++) sum += m->value[k] * x[m->column[k]];
        assert_true(fabs(sum) <= 1e-11 * (1 + fabs(b[i])));
        if (memcmp(&x[i], &y[i], sizeof x[i]) != 0)
            fail_msg("n = %zu: unknown %zu is %.17g in lanes, %.17g alone", m->n, i, x[i], y[i]);
    }
    free(work);
}

static void the_bits_of_one_lane(void **unused) {
    (void)unused;
    int (*const patterns[])(size_t, size_t, size_t) = {cells,    ring,  uneven, apart,
                                                       bordered, lower, warm};
    const size_t sizes[] = {97, 200, 401, 1203};
    static matrix m;
    size_t in_lanes = 0, count = sizeof patterns / sizeof *patterns;
    cls_random random;
    cls_random_seed(&random, 11);
    for (size_t p = 0; p < count; p++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int mixed = 0; mixed < 2; mixed++) {
                clsi_sparse_lu *lu = NULL;
                fill(&m, sizes[s], mixed, &random, patterns[p]);
                assert_int_equal(clsi_sparse_lu_create_fast(m.n, m.start, m.column, &lu, NULL),
                                 CLS_OK);
                if (lu->segments) check(&m, lu, &random), in_lanes++;
                if (sizes[s] > 400) assert_non_null(lu->segments);
                if (p == 4 && sizes[s] > 1000) assert_int_equal(lu->segments->full, 2);
                clsi_sparse_lu_free(&lu);
            }
    assert_true(in_lanes >= 4 * count);
}

/* Of the places of A + A^T only those that an entry or a product comes to: of two momenta and two temperatures in a
 * row 3 + 5 instead of 5 + 5, beside those of separators. */
static void places_that_stay_zero_are_left_out(void **unused) {
    (void)unused;
    static matrix m;
    clsi_sparse_lu *lu = NULL;
    cls_random random;
    cls_random_seed(&random, 7);
    fill(&m, 1200, 0, &random, warm);
    assert_int_equal(clsi_sparse_lu_create_fast(m.n, m.start, m.column, &lu, NULL), CLS_OK);
    assert_non_null(lu->segments);
    size_t reached = 0;
    unsigned char *one = calloc(m.n, 1);
    for (size_t i = 0; i < lu->segments->inside; i++) {
        memset(one, 0, m.n);
        for (size_t k = lu->from[i]; k < lu->from[i + 1]; k++) one[lu->target[k]] = 1;
        for (size_t k = lu->first[i]; k < lu->first[i + 1]; k++) {
            uint32_t above = lu->column[k];
            if (!one[above]) fail_msg("row %zu has a place that nothing comes to", i);
            for (size_t j = lu->diagonal[above] + 1;
                 k < lu->diagonal[i] && j < lu->first[above + 1]; j++)
                one[lu->column[j]] = 1;
        }
        for (size_t k = 0; k < m.n; k++) reached += one[k];
    }
    assert_int_equal(reached, lu->first[lu->segments->inside]);
    free(one);
    clsi_sparse_lu_free(&lu);
}

/* As `check`, of entries that stand by diagonals: by whole vectors of repeated rows, with machine code and without. */
static void check_placed(const matrix *m, const uint32_t *stands, clsi_sparse_lu *lu,
                         cls_random *random) {
    static double a[MOST * (ROW + 4)], b[MOST], x[MOST], y[MOST], z[MOST];
    clsi_sparse_lu plain = *lu;
    double *work = calloc(clsi_sparse_lu_size(lu), sizeof *work);
    plain.segments = NULL;
    for (size_t k = 0; k < m->start[m->n]; k++) a[stands[k]] = m->value[k];
    for (size_t i = 0; i < m->n; i++) b[i] = y[i] = cls_random_uniform(random);
    assert_int_equal(clsi_sparse_lu_factor(&plain, a, work), 0);
    clsi_sparse_lu_solve(&plain, work, y);
    for (int code = 1; code >= 0; code--) {
        if (!code) lu->segments->stretch.factor = lu->segments->stretch.back = NULL;
        for (size_t k = 0; k < clsi_sparse_lu_size(lu); k++)
            work[k] = NAN; /* nothing is read that is left over */
        assert_int_equal(clsi_sparse_lu_factor_for(lu, a, b, work), 0);
        clsi_sparse_lu_finish(lu, work, b, x);
        assert_memory_equal(x, y, m->n * sizeof *x);
        memcpy(z, b, sizeof b);
        clsi_sparse_lu_solve(lu, work, z);
        assert_memory_equal(z, y, m->n * sizeof *x);
        for (size_t k = 0; k < m->start[m->n]; k += 7) {
            double kept = a[k];
            a[k] = k % 2 ? NAN : INFINITY;
            assert_int_not_equal(clsi_sparse_lu_factor(lu, a, work), 0);
            a[k] = kept;
        }
    }
    free(work);
}

/* Kinds of unknowns stand behind each other: momenta, temperatures, ... */
static size_t apart_in(size_t cells, size_t i, size_t j) {
    size_t a = i % cells, b = j % cells;
    return a > b ? a - b : b - a;
}
static int warm_cells(size_t n, size_t i, size_t j) {
    size_t d = apart_in(n / 2, i, j);
    return i / (n / 2) == j / (n / 2) ? d <= 1 : i > j && d == 0;
}
static int three_kinds(size_t n, size_t i, size_t j) {
    return apart_in(n / 3, i, j) <= 1;
}
static int ring_of_cells(size_t n, size_t i, size_t j) {
    size_t d = apart_in(n / 2, i, j);
    return d <= 1 || d + 1 == n / 2;
}
static int bordered_cells(size_t n, size_t i, size_t j) {
    return warm_cells(n, i, j) || i == n / 2 - 1 || j == n / 2 - 1;
}

static void rows_that_repeat(void **unused) {
    (void)unused;
    int (*const patterns[])(size_t, size_t, size_t) = {ring,        lower,         warm_cells,
                                                       three_kinds, ring_of_cells, bordered_cells};
    const size_t sizes[] = {402, 600, 1206};
    static matrix m;
    static uint32_t stands[MOST * (ROW + 4)];
    size_t repeated = 0, walls = 0;
    cls_random random;
    cls_random_seed(&random, 13);
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            clsi_sparse_lu *lu = NULL;
            fill(&m, sizes[s], 0, &random, patterns[p]);
            assert_true(clsi_sparse_lu_by_diagonals(m.n, m.start, m.column, stands));
            assert_int_equal(
                clsi_sparse_lu_create_placed(m.n, m.start, m.column, stands, 0, &lu, NULL), CLS_OK);
            assert_non_null(lu->segments);
            if (lu->segments->stretch.blocks) repeated++;
            if (lu->segments->stretch.n_walls) walls++;
            check_placed(&m, stands, lu, &random);
            clsi_sparse_lu_free(&lu);
        }
    assert_true(repeated >= 14 && walls >= 14); /* short ones may have no block of periods */
}

static int grid(size_t n, size_t i, size_t j) {
    size_t d = i > j ? i - j : j - i;
    (void)n;
    return d <= 1 || d == 30;
}

static void a_grid_is_left_alone(void **unused) {
    (void)unused;
    static matrix m;
    clsi_sparse_lu *lu = NULL;
    cls_random random;
    cls_random_seed(&random, 2);
    fill(&m, 900, 0, &random, grid);
    assert_int_equal(clsi_sparse_lu_create_fast(m.n, m.start, m.column, &lu, NULL), CLS_OK);
    assert_null(lu->segments);
    clsi_sparse_lu_free(&lu);
}

/* Of any segment, of a separator, of the border. */
static void a_missing_pivot_is_told(void **unused) {
    (void)unused;
    static matrix m;
    clsi_sparse_lu *lu = NULL;
    cls_random random;
    cls_random_seed(&random, 3);
    fill(&m, 1203, 0, &random, bordered);
    assert_int_equal(clsi_sparse_lu_create_fast(m.n, m.start, m.column, &lu, NULL), CLS_OK);
    assert_non_null(lu->segments);
    double *work = calloc(clsi_sparse_lu_size(lu), sizeof *work);
    const size_t places[] = {0, 500, lu->segments->inside + 3, m.n - 1};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (int nan = 0; nan < 2; nan++) {
            size_t row = lu->order[places[p]];
            static double broken[MOST * (ROW + 4)];
            memcpy(broken, m.value, m.start[m.n] * sizeof *broken);
            for (size_t k = m.start[row]; k < m.start[row + 1]; k++) broken[k] = nan ? NAN : 0;
            assert_int_equal(clsi_sparse_lu_factor(lu, broken, work), places[p] + 1);
        }
    free(work);
    clsi_sparse_lu_free(&lu);
}

/* One entry, anywhere: of segments, separators, the border. */
static void an_entry_that_is_no_number_is_told(void **unused) {
    (void)unused;
    static matrix m;
    clsi_sparse_lu *lu = NULL;
    cls_random random;
    cls_random_seed(&random, 5);
    fill(&m, 401, 0, &random, bordered);
    assert_int_equal(clsi_sparse_lu_create_fast(m.n, m.start, m.column, &lu, NULL), CLS_OK);
    assert_true(clsi_sparse_lu_checks(lu));
    double *work = calloc(clsi_sparse_lu_size(lu), sizeof *work);
    for (size_t k = 0; k < m.start[m.n]; k++) {
        double kept = m.value[k];
        m.value[k] = k % 2 ? NAN : INFINITY;
        assert_int_not_equal(clsi_sparse_lu_factor(lu, m.value, work), 0);
        m.value[k] = kept;
    }
    assert_int_equal(clsi_sparse_lu_factor(lu, m.value, work), 0);
    free(work);
    clsi_sparse_lu_free(&lu);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bits_of_one_lane),
        cmocka_unit_test(places_that_stay_zero_are_left_out),
        cmocka_unit_test(rows_that_repeat),
        cmocka_unit_test(a_grid_is_left_alone),
        cmocka_unit_test(a_missing_pivot_is_told),
        cmocka_unit_test(an_entry_that_is_no_number_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
