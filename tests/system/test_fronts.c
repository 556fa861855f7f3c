/* Elimination in full blocks: the solution of the dense equations for any pattern, work that grows as nested dissection
 * promises, and a missing pivot that is told. */
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
#include "system/dissect.h"
#include "system/fronts.h"
#include <clausius/random.h>

enum { MOST = 640 };

typedef struct matrix {
    size_t n, *start;
    uint32_t *column;
    double *value;
} matrix;

typedef int pattern(size_t n, size_t i, size_t j);

static size_t distance(size_t i, size_t j) {
    return i > j ? i - j : j - i;
}
static int plate(size_t n, size_t i, size_t j) {
    (void)n;
    return distance(i, j) == 20 || (distance(i, j) == 1 && i / 20 == j / 20);
}
static int solid(size_t n, size_t i, size_t j) {
    size_t d = distance(i, j);
    (void)n;
    return d == 64 || (d == 8 && i / 64 == j / 64) || (d == 1 && i / 8 == j / 8);
}
/* Two unknowns in a cell, which feel each other in one direction only. */
static int cells(size_t n, size_t i, size_t j) {
    return (i % 2 && i == j + 1) || (i % 2 == j % 2 && plate(n / 2, i / 2, j / 2));
}
static int shared(size_t n, size_t i, size_t j) {
    return plate(n, i, j) || i == n / 3 || j == n / 3;
}
static int any(size_t n, size_t i, size_t j) {
    return (i * i * 7 + j * 131) % (n / 2 + 3) == 3;
}
static int nobody(size_t n, size_t i, size_t j) {
    return (void)n, (void)i, (void)j, 0;
}
static int everybody(size_t n, size_t i, size_t j) {
    return (void)n, (void)i, (void)j, 1;
}
static int star(size_t n, size_t i, size_t j) {
    return (void)n, i == 0 || j == 0;
}

static void fill(matrix *m, size_t n, pattern *wanted, cls_random *random) {
    size_t at = 0;
    *m = (matrix){n, calloc(n + 1, sizeof(size_t)), calloc(n * n, sizeof(uint32_t)),
                  calloc(n * n, sizeof(double))};
    for (size_t i = 0; i < n; i++) {
        double sum = 0.1;
        size_t own = 0;
        for (size_t j = 0; j < n; j++) {
            if (i != j && !wanted(n, i, j)) continue;
            m->column[at] = (uint32_t)j;
            m->value[at] = cls_random_uniform(random) - 0.5;
            if (i == j) own = at;
            sum += fabs(m->value[at++]);
        }
        m->value[own] = sum;
        m->start[i + 1] = at;
    }
}

static void clear(matrix *m) {
    free(m->start);
    free(m->column);
    free(m->value);
}

/* Neighbours of A + A^T. */
static clsi_net net_of(const matrix *m) {
    size_t n = m->n, at = 0;
    unsigned char *has = calloc(n * n, 1);
    clsi_net net = {.n = n, .start = calloc(n + 1, sizeof(size_t))};
    for (size_t i = 0; i < n; i++)
        for (size_t k = m->start[i]; k < m->start[i + 1]; k++)
            has[i * n + m->column[k]] = has[m->column[k] * n + i] = 1;
    net.near = calloc(n * n, sizeof *net.near);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            if (j != i && has[i * n + j]) net.near[at++] = (uint32_t)j;
        net.start[i + 1] = at;
    }
    free(has);
    return net;
}

static void clear_net(clsi_net *net) {
    free(net->start);
    free(net->near);
}

static int is_order(size_t n, const uint32_t *order) {
    unsigned char seen[MOST] = {0};
    for (size_t i = 0; i < n; i++)
        if (order[i] >= n || seen[order[i]]++) return 0;
    return 1;
}

/* b in the place of x by both ways, by `order`; the largest difference. */
static double compare(const matrix *m, uint32_t *order, cls_random *random) {
    size_t n = m->n, *pivot = calloc(n, sizeof *pivot);
    clsi_fronts *f;
    double *dense = calloc(n * n, sizeof *dense), *b = calloc(2 * n, sizeof *b), *x = b + n,
           worst = 0;
    assert_true(clsi_fronts_create(n, m->start, m->column, NULL, order, &f));
    assert_true(is_order(n, order));
    double *work = clsi_aligned(clsi_fronts_size(f) * sizeof *work);
    for (size_t k = 0; k < clsi_fronts_size(f); k++) work[k] = NAN; /* nothing unset is read */
    for (size_t i = 0; i < n; i++) {
        b[i] = x[i] = cls_random_uniform(random);
        for (size_t k = m->start[i]; k < m->start[i + 1]; k++)
            dense[i * n + m->column[k]] = m->value[k];
    }
    for (int twice = 0; twice < 2; twice++)
        assert_int_equal(clsi_fronts_factor(f, m->value, work), 0);
    clsi_fronts_solve(f, order, work, x);
    assert_int_equal(clsi_lu_factor(n, dense, pivot), 0);
    clsi_lu_solve(n, dense, pivot, b);
    for (size_t i = 0; i < n; i++) {
        double off = fabs(x[i] - b[i]) / (1 + fabs(b[i]));
        if (!(off <= worst)) worst = off;
    }
    clsi_fronts_free(&f);
    free(pivot);
    free(dense);
    free(b);
    free(work);
    return worst;
}

static void blocks_solve_like_dense(void **unused) {
    static const struct {
        const char *name;
        pattern *wanted;
        size_t n[3];
    } of[] = {{"plate", plate, {20, 210, 400}},
              {"solid", solid, {64, 150, 512}},
              {"cells", cells, {2, 80, 640}},
              {"shared", shared, {7, 60, 400}},
              {"any", any, {5, 90, 300}},
              {"nobody", nobody, {1, 2, 50}},
              {"everybody", everybody, {1, 9, 180}},
              {"star", star, {3, 17, 200}}};
    (void)unused;
    cls_random random;
    cls_random_seed(&random, 11);
    for (size_t p = 0; p < sizeof of / sizeof *of; p++)
        for (int k = 0; k < 3; k++)
            for (int dissected = 0; dissected < 2; dissected++) {
                matrix m;
                uint32_t order[MOST];
                fill(&m, of[p].n[k], of[p].wanted, &random);
                for (size_t i = 0; i < m.n; i++) order[i] = (uint32_t)(m.n - 1 - i);
                clsi_net net = net_of(&m);
                if (dissected) assert_true(clsi_dissect(&net, order));
                assert_true(is_order(m.n, order));
                double off = compare(&m, order, &random);
                if (!(off <= 1e-11))
                    fail_msg("%s, n = %zu, %s: %g", of[p].name, m.n,
                             dissected ? "dissected" : "as it stands", off);
                clear_net(&net);
                clear(&m);
            }
}

/* No edge from one side to the other, and neither of them takes nearly everything. */
static void separators_separate(void **unused) {
    static pattern *const of[] = {plate, solid, cells};
    (void)unused;
    cls_random random;
    cls_random_seed(&random, 3);
    for (size_t p = 0; p < 3; p++) {
        matrix m;
        unsigned char side[MOST];
        size_t count[3] = {0};
        fill(&m, p == 1 ? 512 : 400, of[p], &random);
        clsi_net net = net_of(&m);
        assert_true(clsi_separate(&net, side));
        for (size_t i = 0; i < net.n; i++) {
            count[side[i]]++;
            for (size_t k = net.start[i]; k < net.start[i + 1]; k++)
                assert_false(side[i] + side[net.near[k]] == 1);
        }
        assert_true(count[0] <= net.n * 3 / 5 && count[1] <= net.n * 3 / 5);
        assert_true(count[2] <= (p == 1 ? 72 : 24)); /* a line of 20, a plane of 64 */
        clear_net(&net);
        clear(&m);
    }
}

/* Products of a plate of side x side cells. */
static clsi_fronts *plate_of(size_t side, int least_degree, clsi_sparse_lu **lu, double *value) {
    size_t n = side * side, at = 0, *start = calloc(n + 1, sizeof *start);
    uint32_t *column = calloc(5 * n, sizeof *column), *order = calloc(n, sizeof *order);
    clsi_net net = {.n = n, .start = calloc(n + 1, sizeof *net.start), .near = calloc(4 * n, 4)};
    clsi_fronts *f = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t near[4] = {i - side, i - 1, i + 1, i + side}, edge = net.start[i];
        int there[4] = {i >= side, i % side > 0, i % side + 1 < side, i + side < n};
        for (int k = 0; k < 4; k++)
            if (there[k]) {
                if (value) value[at] = -1;
                column[at++] = (uint32_t)near[k];
                net.near[edge++] = (uint32_t)near[k];
            }
        net.start[i + 1] = edge;
        if (value) value[at] = 4.5;
        column[at++] = (uint32_t)i;
        start[i + 1] = at;
    }
    if (least_degree) {
        assert_int_equal(clsi_sparse_lu_create_fast(n, start, column, lu, NULL), CLS_OK);
    } else {
        assert_true(clsi_dissect(&net, order));
        assert_true(clsi_fronts_create(n, start, column, NULL, order, &f));
    }
    free(start);
    free(column);
    free(order);
    clear_net(&net);
    return f;
}

/* n^1.5 products and n log n numbers: from 30 x 30 to 120 x 120 cells 64 and 16 times 1.7 of it. */
static void work_grows_as_it_should(void **unused) {
    (void)unused;
    clsi_fronts *few = plate_of(30, 0, NULL, NULL), *many = plate_of(120, 0, NULL, NULL);
    double n = 14400;
    assert_true(many->work < 18 * pow(n, 1.5));
    assert_true(many->work < 100 * few->work);
    assert_true((double)many->n_values < 8 * n * log2(n));
    assert_true(many->n_rest < many->n_values / 4);
    clsi_fronts_free(&few);
    clsi_fronts_free(&many);
}

/* Plates of a thousand cells and more are done in blocks, chains and small ones are not. */
static void blocks_are_chosen_for_plates(void **unused) {
    (void)unused;
    clsi_sparse_lu *lu;
    (void)plate_of(20, 1, &lu, NULL);
    assert_null(lu->fronts);
    assert_true(clsi_sparse_lu_price(lu) == 0);
    clsi_sparse_lu_free(&lu);
    double *value = calloc(5 * 3600, sizeof *value), *x = calloc(3600, sizeof *x);
    (void)plate_of(60, 1, &lu, value);
    assert_non_null(lu->fronts);
    assert_true(clsi_sparse_lu_price(lu) > 2);
    double *work = clsi_aligned(clsi_sparse_lu_size(lu) * sizeof *work), sum = 0;
    assert_int_equal(clsi_sparse_lu_factor(lu, value, work), 0);
    x[1830] =
        1; /* columns and rows of the matrix sum up to half of the diagonal's surplus inside */
    clsi_sparse_lu_solve(lu, work, x);
    for (size_t i = 0; i < 3600; i++) assert_true(x[i] > 0), sum += x[i];
    assert_true(sum > 1.9 && sum < 2);
    clsi_sparse_lu_free(&lu);
    free(value);
    free(x);
    free(work);
}

/* A zero on the way, an entry that is no number; a small pivot is one. */
static void missing_pivots_are_told(void **unused) {
    (void)unused;
    cls_random random;
    matrix m;
    clsi_fronts *f;
    uint32_t order[MOST];
    cls_random_seed(&random, 5);
    fill(&m, 400, plate, &random);
    clsi_net net = net_of(&m);
    assert_true(clsi_dissect(&net, order));
    assert_true(clsi_fronts_create(m.n, m.start, m.column, NULL, order, &f));
    double *work = clsi_aligned(clsi_fronts_size(f) * sizeof *work), *x = calloc(m.n, sizeof *x);
    static const double bad[] = {0, NAN, INFINITY};
    for (size_t place = 0; place < m.n; place += 133)
        for (int k = 0; k < 3; k++) {
            size_t i = order[place], e = m.start[i];
            double kept[8];
            memcpy(kept, m.value + e, (m.start[i + 1] - e) * sizeof *kept);
            for (size_t at = e; at < m.start[i + 1]; at++)
                m.value[at] = m.column[at] == i ? bad[k] : 0;
            assert_int_equal(clsi_fronts_factor(f, m.value, work), place + 1);
            memcpy(m.value + e, kept, (m.start[i + 1] - e) * sizeof *kept);
        }
    size_t i = order[200], own = m.start[i];
    while (m.column[own] != i) own++;
    double kept = m.value[own];
    for (size_t at = m.start[i]; at < m.start[i + 1]; at++) m.value[at] = at == own ? 1e-200 : 0;
    assert_true(kept > 0);
    assert_int_equal(clsi_fronts_factor(f, m.value, work), 0);
    x[i] = 3e-200;
    clsi_fronts_solve(f, order, work, x);
    assert_true(fabs(x[i] - 3) < 1e-14);
    clsi_fronts_free(&f);
    clear_net(&net);
    clear(&m);
    free(work);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_solve_like_dense), cmocka_unit_test(separators_separate),
        cmocka_unit_test(work_grows_as_it_should), cmocka_unit_test(blocks_are_chosen_for_plates),
        cmocka_unit_test(missing_pivots_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
