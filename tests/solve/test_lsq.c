/* Linear least squares: the normal equations hold, constraints are exact, what cannot be seen is
 * named, inequalities agree with the enumeration of all active sets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "solve/lsq.h"
#include "solve/problem.h"
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

static double *copy_of(const double *x, size_t n) {
    double *y = malloc((n + 1) * sizeof *y);
    memcpy(y, x, n * sizeof *y);
    return y;
}

/* Adds the rows in blocks of `block` (A and b are kept) . */
static void add(clsi_lsq *q, size_t m, size_t n, const double *A, const double *b, size_t block) {
    double *a = copy_of(A, m * n), *c = copy_of(b, m);
    for (size_t i = 0; i < m; i += block) {
        size_t count = m - i < block ? m - i : block;
        assert_int_equal(clsi_lsq_add(q, count, a + i * n, c + i, NULL), CLS_OK);
    }
    free(a), free(c);
}

static double objective(size_t m, size_t n, const double *A, const double *b, const double *x) {
    double sum = 0;
    for (size_t i = 0; i < m; i++) {
        double r = -b[i];
        for (size_t j = 0; j < n; j++) r += A[i * n + j] * x[j];
        sum += r * r;
    }
    return sqrt(sum);
}

/* The gradient A^T (A x - b) along direction z. */
static double slope(size_t m, size_t n, const double *A, const double *b, const double *x,
                    const double *z) {
    double sum = 0;
    for (size_t i = 0; i < m; i++) {
        double r = -b[i], t = 0;
        for (size_t j = 0; j < n; j++) {
            r += A[i * n + j] * x[j];
            t += A[i * n + j] * z[j];
        }
        sum += r * t;
    }
    return sum;
}

static void normal_equations_hold(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{5, 5}, {40, 7}, {300, 33}, {2600, 65}};
    for (size_t k = 0; k < 4; k++) {
        size_t m = sizes[k][0], n = sizes[k][1];
        double *A = noise(m * n, 1), *b = noise(m, 2), *x = malloc(n * sizeof *x), kkt;
        double *z = calloc(n, sizeof *z);
        for (size_t i = 0; i < m; i++) A[i * n + n / 2] *= 1e6; /* scales do not matter */
        clsi_lsq *q;
        clsi_lsq_info info;
        assert_int_equal(clsi_lsq_create(n, 0, NULL, NULL, &q, NULL), CLS_OK);
        add(q, m, n, A, b, m);
        assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x, &info, &kkt, NULL), CLS_OK);
        assert_true(kkt < 1e-12);
        for (size_t j = 0; j < n; j++) {
            z[j] = 1;
            assert_true(fabs(slope(m, n, A, b, x, z)) < 1e-10 * (j == n / 2 ? 1e6 : 1));
            z[j] = 0;
        }
        assert_int_equal(info.rank, n);
        assert_int_equal(info.nullity, 0);
        assert_true(info.condition < 1e4);
        double rms = objective(m, n, A, b, x) / sqrt((double)m);
        assert_true(fabs(info.residual - rms) < 1e-10);
        clsi_lsq_free(&q);
        free(A), free(b), free(x), free(z);
    }
}

static void blocks_do_not_change_bits(void **state) {
    (void)state;
    size_t m = 2500, n = 40;
    double *A = noise(m * n, 3), *b = noise(m, 4), x[3][40];
    static const size_t block[] = {2500, 1, 777};
    for (int k = 0; k < 3; k++) {
        clsi_lsq *q;
        assert_int_equal(clsi_lsq_create(n, 0, NULL, NULL, &q, NULL), CLS_OK);
        add(q, m, n, A, b, block[k]);
        assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x[k], NULL, NULL, NULL), CLS_OK);
        clsi_lsq_free(&q);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
    assert_memory_equal(x[0], x[2], sizeof x[0]);
    free(A), free(b);
}

/* More rows after a solution: as if all had come at once. */
static void rows_may_follow_a_solution(void **state) {
    (void)state;
    size_t m = 900, n = 20;
    double *A = noise(m * n, 5), *b = noise(m, 6), x[20], y[20];
    clsi_lsq *q;
    assert_int_equal(clsi_lsq_create(n, 0, NULL, NULL, &q, NULL), CLS_OK);
    add(q, 500, n, A, b, 500);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x, NULL, NULL, NULL), CLS_OK);
    add(q, 400, n, A + 500 * n, b + 500, 400);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x, NULL, NULL, NULL), CLS_OK);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, y, NULL, NULL, NULL), CLS_OK);
    assert_memory_equal(x, y, sizeof x);
    double best = objective(m, n, A, b, x);
    for (size_t j = 0; j < n; j++) {
        y[j] += 1e-4;
        assert_true(objective(m, n, A, b, y) > best);
        y[j] = x[j];
    }
    clsi_lsq_free(&q);
    free(A), free(b);
}

/* Monomials to degree 11 on [0, 1]: condition above 1e7, where the normal equations would lose
 * nearly all digits. */
static void ill_conditioned_bases_keep_their_digits(void **state) {
    (void)state;
    enum { N = 12, M = 700 };
    double *A = malloc(M * N * sizeof *A), *b = malloc(M * sizeof *b), x[N];
    for (size_t i = 0; i < M; i++) {
        double t = (double)i / (M - 1), p = 1;
        b[i] = 0;
        for (size_t j = 0; j < N; j++, p *= t) {
            A[i * N + j] = p;
            b[i] += p;
        }
    }
    clsi_lsq *q;
    clsi_lsq_info info;
    assert_int_equal(clsi_lsq_create(N, 0, NULL, NULL, &q, NULL), CLS_OK);
    add(q, M, N, A, b, M);
    assert_int_equal(clsi_lsq_solve(q, 1e-14, 0, NULL, NULL, x, &info, NULL, NULL), CLS_OK);
    assert_int_equal(info.rank, N);
    assert_true(info.condition > 1e7);
    for (size_t j = 0; j < N; j++) assert_true(fabs(x[j] - 1) < 100 * 2.2e-16 * info.condition);
    assert_true(info.residual < 1e-14);
    clsi_lsq_free(&q);
    free(A), free(b);
}

static void constraints_are_exact(void **state) {
    (void)state;
    enum { N = 9, M = 60, P = 4 };
    double *A = noise(M * N, 7), *b = noise(M, 8), *C = noise(P * N, 9), *d = noise(P, 10), x[N];
    memset(C, 0, N * sizeof *C);
    C[3] = 2; /* x3 = 0.25, to the bit */
    d[0] = 0.5;
    for (size_t j = 0; j < N; j++)
        C[3 * N + j] = C[N + j] + 2 * C[2 * N + j]; /* says nothing new */
    d[3] = d[1] + 2 * d[2];
    clsi_lsq *q;
    clsi_lsq_info info;
    assert_int_equal(clsi_lsq_create(N, P, C, d, &q, NULL), CLS_OK);
    add(q, M, N, A, b, M);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x, &info, NULL, NULL), CLS_OK);
    assert_int_equal(info.constraints, P - 1);
    assert_int_equal(info.rank, N);
    assert_true(x[3] == 0.25);
    for (size_t i = 0; i < P; i++) {
        double t = -d[i];
        for (size_t j = 0; j < N; j++) t += C[i * N + j] * x[j];
        assert_true(fabs(t) < 1e-14);
    }
    clsi_lsq_free(&q);
    /* Directions that keep the constraints: the null space of C alone. */
    double y[N];
    assert_int_equal(clsi_lsq_create(N, P, C, d, &q, NULL), CLS_OK);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, y, &info, NULL, NULL), CLS_OK);
    assert_int_equal(info.nullity, N - P + 1);
    for (size_t k = 0; k < info.nullity; k++)
        assert_true(fabs(slope(M, N, A, b, x, info.null_space + k * N)) < 1e-12);
    clsi_lsq_free(&q);
    d[3] += 1e-3;
    cls_error error;
    assert_int_equal(clsi_lsq_create(N, P, C, d, &q, &error), CLS_NUMERIC);
    assert_null(q);
    assert_non_null(strstr(error.message, "contradict"));
    free(A), free(b), free(C), free(d);
}

static void unseen_directions_are_named(void **state) {
    (void)state;
    enum { N = 8, M = 50 };
    double *A = noise(M * N, 11), *b = noise(M, 12), x[N];
    for (size_t i = 0; i < M; i++) {
        A[i * N + 5] = 3 * A[i * N + 1] - 1e3 * A[i * N + 2]; /* dependent */
        A[i * N + 7] = 0;                                     /* never seen */
    }
    clsi_lsq *q;
    clsi_lsq_info info;
    assert_int_equal(clsi_lsq_create(N, 0, NULL, NULL, &q, NULL), CLS_OK);
    add(q, M, N, A, b, 13);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x, &info, NULL, NULL), CLS_OK);
    assert_int_equal(info.rank, 6);
    assert_int_equal(info.nullity, 2);
    assert_true(x[7] == 0);
    double zero[M] = {0};
    for (size_t k = 0; k < 2; k++) {
        const double *z = info.null_space + k * N;
        assert_true(objective(M, N, A, zero, z) < 1e-10);
        for (size_t l = 0; l <= k; l++) {
            double t = 0;
            for (size_t j = 0; j < N; j++) t += z[j] * info.null_space[l * N + j];
            assert_true(fabs(t - (k == l)) < 1e-12);
        }
    }
    /* Least scaled norm: no step along the null space shortens it. */
    for (size_t k = 0; k < 2; k++) {
        double t = 0, size = 0;
        for (size_t j = 0; j < N; j++) {
            double norm = 0;
            for (size_t i = 0; i < M; i++) norm += A[i * N + j] * A[i * N + j];
            if (norm == 0) norm = 1;
            t += norm * x[j] * info.null_space[k * N + j];
            size += norm * x[j] * x[j];
        }
        assert_true(fabs(t) < 1e-9 * (1 + size));
    }
    clsi_lsq_free(&q);
    free(A), free(b);
}

static void bad_rows_are_refused(void **state) {
    (void)state;
    clsi_lsq *q;
    cls_error error;
    double A[] = {1, 2, 3, NAN}, b[] = {1, 2}, x[2];
    clsi_lsq_info info;
    assert_int_equal(clsi_lsq_create(2, 0, NULL, NULL, &q, NULL), CLS_OK);
    assert_int_equal(clsi_lsq_add(q, 2, A, b, &error), CLS_NUMERIC);
    assert_non_null(strstr(error.message, "row 2"));
    clsi_lsq_free(&q);
    assert_int_equal(clsi_lsq_create(2, 0, NULL, NULL, &q, NULL), CLS_OK);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x, &info, NULL, NULL), CLS_OK);
    assert_true(x[0] == 0 && x[1] == 0 && info.rank == 0 && info.nullity == 2);
    clsi_lsq_free(&q);
}

/* ---- inequalities ---- */

enum { N = 4, M = 12, K = 7 };

static int feasible(const double *E, const double *e, const double *x) {
    for (size_t i = 0; i < K; i++) {
        double t = -e[i];
        for (size_t j = 0; j < N; j++) t += E[i * N + j] * x[j];
        if (t < -1e-9) return 0;
    }
    return 1;
}

/* The best feasible point over all sets of at most N inequalities taken as equations; INFINITY when
 * there is none. */
static double enumerate(const double *A, const double *b, const double *E, const double *e) {
    double best = INFINITY;
    for (unsigned set = 0; set < 1u << K; set++) {
        double C[K * N], d[K], x[N];
        size_t count = 0;
        for (size_t i = 0; i < K; i++)
            if (set >> i & 1) {
                memcpy(C + count * N, E + i * N, N * sizeof *C);
                d[count++] = e[i];
            }
        clsi_lsq *q;
        if (count > N || clsi_lsq_create(N, count, C, d, &q, NULL) != CLS_OK) continue;
        add(q, M, N, A, b, M);
        assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x, NULL, NULL, NULL), CLS_OK);
        clsi_lsq_free(&q);
        if (feasible(E, e, x)) best = fmin(best, objective(M, N, A, b, x));
    }
    return best;
}

static void inequalities_agree_with_enumeration(void **state) {
    (void)state;
    int solved = 0, refused = 0, active = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        double *A = noise(M * N, 3 * seed), *b = noise(M, 3 * seed + 1);
        double *E = noise(K * N, 3 * seed + 2), *e = noise(K, 3 * seed + 3), x[N], kkt = NAN;
        if (seed % 4 == 1) memcpy(E + N, E, N * sizeof *E), e[1] = e[0]; /* twice the same */
        if (seed % 4 == 2)                                               /* a corner: degenerate */
            for (size_t i = 0; i < K; i++) e[i] = 0;
        if (seed % 8 == 3)
            for (size_t j = 0; j < N; j++) E[j] = -E[N + j]; /* parallel faces */
        double best = enumerate(A, b, E, e);
        clsi_lsq *q;
        assert_int_equal(clsi_lsq_create(N, 0, NULL, NULL, &q, NULL), CLS_OK);
        add(q, M, N, A, b, M);
        cls_status status = clsi_lsq_solve(q, 1e-12, K, E, e, x, NULL, &kkt, NULL);
        assert_int_equal(status, isinf(best) ? CLS_NUMERIC : CLS_OK);
        if (status == CLS_OK) {
            assert_true(feasible(E, e, x));
            assert_true(fabs(objective(M, N, A, b, x) - best) < 1e-9);
            assert_true(kkt < 1e-11);
            double free_x[N];
            assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, free_x, NULL, NULL, NULL),
                             CLS_OK);
            active += objective(M, N, A, b, free_x) < best - 1e-6;
            solved++;
        } else
            refused++;
        clsi_lsq_free(&q);
        free(A), free(b), free(E), free(e);
    }
    assert_true(solved > 20 && refused > 0 && active > 10);
}

/* Unknown 2 never occurs in the data, and an inequality asks for it; x0 + x1 is fixed. */
static void unseen_unknowns_obey_inequalities(void **state) {
    (void)state;
    double A[] = {1, 0, 0, 0, 1, 0, 1, 1, 0}, b[] = {1, -1, 0}, C[] = {1, 1, 0}, d[] = {1};
    double E[] = {0, 0, 1, 0, 1, 0}, e[] = {2, 0.75}, x[3], kkt;
    clsi_lsq *q;
    clsi_lsq_info info;
    assert_int_equal(clsi_lsq_create(3, 1, C, d, &q, NULL), CLS_OK);
    add(q, 3, 3, A, b, 3);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, 2, E, e, x, &info, &kkt, NULL), CLS_OK);
    assert_int_equal(info.nullity, 1);
    assert_true(fabs(x[2] - 2) < 1e-9);
    assert_true(fabs(x[1] - 0.75) < 1e-12);
    assert_true(x[0] + x[1] == 1);
    assert_true(kkt < 1e-9);
    clsi_lsq_free(&q);
}

/* A polynomial of degree 17 through data that dips below zero, asked to be positive on a grid. */
static void a_positive_polynomial(void **state) {
    (void)state;
    enum { D = 18, ROWS = 400, GRID = 300 };
    double *A = malloc(ROWS * D * sizeof *A), *b = malloc(ROWS * sizeof *b), x[D], kkt;
    double *E = malloc(GRID * D * sizeof *E), *e = calloc(GRID, sizeof *e);
    for (size_t i = 0; i < ROWS + GRID; i++) {
        double *row = i < ROWS ? A + i * D : E + (i - ROWS) * D;
        double t = i < ROWS ? -1 + 2.0 * (double)i / (ROWS - 1)
                            : -1 + 2.0 * (double)(i - ROWS) / (GRID - 1);
        for (size_t j = 0; j < D; j++) row[j] = cos((double)j * acos(t));
        if (i < ROWS) b[i] = sin(9 * t) + 0.3;
    }
    clsi_lsq *q;
    assert_int_equal(clsi_lsq_create(D, 0, NULL, NULL, &q, NULL), CLS_OK);
    add(q, ROWS, D, A, b, ROWS);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, GRID, E, e, x, NULL, &kkt, NULL), CLS_OK);
    assert_true(kkt < 1e-10);
    size_t touching = 0;
    for (size_t i = 0; i < GRID; i++) {
        double t = 0;
        for (size_t j = 0; j < D; j++) t += E[i * D + j] * x[j];
        assert_true(t > -1e-10);
        touching += t < 1e-10;
    }
    assert_true(touching > 0 && touching < D);
    clsi_lsq_free(&q);
    free(A), free(b), free(E), free(e);
}

/* Some columns, other constraints: the same as a problem that never had the others. */
static void a_subset_is_a_problem_of_its_own(void **state) {
    (void)state;
    enum { ROWS = 700, ALL = 12, SOME = 5 };
    static const size_t columns[SOME] = {1, 3, 4, 8, 11};
    double *A = noise(ROWS * ALL, 11), *b = noise(ROWS, 12),
           *small = malloc(ROWS * SOME * sizeof *small);
    double C[SOME] = {1, -1, 2, 0, 1}, d = 0.5, x[SOME], y[SOME];
    clsi_lsq *all, *some, *plain;
    clsi_lsq_info one, two;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < SOME; j++) small[i * SOME + j] = A[i * ALL + columns[j]];
    assert_int_equal(clsi_lsq_create(ALL, 0, NULL, NULL, &all, NULL), CLS_OK);
    add(all, ROWS, ALL, A, b, 100);
    assert_int_equal(clsi_lsq_subset(all, SOME, columns, 1, C, &d, &some, NULL), CLS_OK);
    assert_int_equal(clsi_lsq_create(SOME, 1, C, &d, &plain, NULL), CLS_OK);
    add(plain, ROWS, SOME, small, b, 100);
    assert_int_equal(clsi_lsq_solve(some, 1e-12, 0, NULL, NULL, x, &one, NULL, NULL), CLS_OK);
    assert_int_equal(clsi_lsq_solve(plain, 1e-12, 0, NULL, NULL, y, &two, NULL, NULL), CLS_OK);
    for (size_t j = 0; j < SOME; j++) assert_true(fabs(x[j] - y[j]) < 1e-13);
    assert_int_equal(one.rows, ROWS);
    assert_true(fabs(one.residual - two.residual) < 1e-13 * two.residual);
    assert_true(fabs(x[0] - x[1] + 2 * x[2] + x[4] - 0.5) < 1e-15);
    clsi_lsq_free(&all), clsi_lsq_free(&some), clsi_lsq_free(&plain);
    free(A), free(b), free(small);
}

/* What pushes is what binds, and the dual objective reaches the primal one. */
static void active_set_and_gap_are_true(void **state) {
    (void)state;
    enum { ROWS = 60, FEW = 4, BOUNDS = 9 };
    for (uint64_t seed = 1; seed < 30; seed++) {
        double *A = noise(ROWS * FEW, seed), *b = noise(ROWS, seed + 100),
               *E = noise(BOUNDS * FEW, seed + 200);
        double e[BOUNDS], x[FEW], kkt;
        clsi_lsq *q;
        clsi_lsq_info info;
        for (size_t i = 0; i < BOUNDS; i++) e[i] = 0.1;
        for (size_t i = 0; i < BOUNDS; i++) E[i * FEW] = fabs(E[i * FEW]) + 2; /* feasible */
        assert_int_equal(clsi_lsq_create(FEW, 0, NULL, NULL, &q, NULL), CLS_OK);
        add(q, ROWS, FEW, A, b, ROWS);
        assert_int_equal(clsi_lsq_solve(q, 1e-12, BOUNDS, E, e, x, &info, &kkt, NULL), CLS_OK);
        assert_true(info.n_active <= FEW && info.gap < 1e-13 && kkt < 1e-12);
        for (size_t k = 0; k < info.n_active; k++) {
            double slack = -e[info.active[k]];
            for (size_t j = 0; j < FEW; j++) slack += E[info.active[k] * FEW + j] * x[j];
            assert_true(fabs(slack) < 1e-12);
        }
        clsi_lsq_free(&q);
        free(A), free(b), free(E);
    }
}

static int counts_down(void *owner) {
    return --*(int *)owner < 0;
}

/* A solve that is told to stop ends with CLS_INTERRUPTED, and can be asked again. */
static void a_solve_can_be_stopped(void **state) {
    (void)state;
    enum { MANY = 200 };
    double *A = noise(2 * MANY * MANY, 31), *b = noise(2 * MANY, 32), x[MANY];
    int left = 3;
    clsi_lsq *q;
    assert_int_equal(clsi_lsq_create(MANY, 0, NULL, NULL, &q, NULL), CLS_OK);
    add(q, 2 * MANY, MANY, A, b, 100);
    clsi_lsq_watch(q, counts_down, &left);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x, NULL, NULL, NULL), CLS_INTERRUPTED);
    assert_true(left == -1);
    clsi_lsq_watch(q, NULL, NULL);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x, NULL, NULL, NULL), CLS_OK);
    clsi_lsq_free(&q);
    free(A), free(b);
}

/* 20 rows for 300 unknowns: the triangle's rows are rounding of rounding, down to 1e-300, and no
 * rotation makes them orthogonal. They are left alone, and the solution is the shortest one. */
static void few_rows_for_many_unknowns(void **state) {
    (void)state;
    enum { MANY = 300, SEEN = 20 };
    double *A = noise(SEEN * MANY, 21), *b = noise(SEEN, 22), *x = malloc(MANY * sizeof *x);
    clsi_lsq *q;
    clsi_lsq_info info;
    assert_int_equal(clsi_lsq_create(MANY, 0, NULL, NULL, &q, NULL), CLS_OK);
    add(q, SEEN, MANY, A, b, SEEN);
    assert_int_equal(clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x, &info, NULL, NULL), CLS_OK);
    assert_int_equal(info.rank, SEEN);
    assert_int_equal(info.nullity, MANY - SEEN);
    assert_true(info.residual < 1e-13);
    for (size_t k = 0; k < info.nullity; k++)
        for (size_t i = 0; i < SEEN; i++) {
            double t = 0;
            for (size_t j = 0; j < MANY; j++) t += A[i * MANY + j] * info.null_space[k * MANY + j];
            assert_true(fabs(t) < 1e-12);
        }
    clsi_lsq_free(&q);
    /* the same matrix, and how often it was swept over */
    double *V = calloc(MANY * (MANY + 1), sizeof *V), sigma[MANY], work[3 * MANY + 1];
    size_t order[MANY];
    for (size_t i = 0; i < SEEN; i++) memcpy(V + i * (MANY + 1), A + i * MANY, MANY * sizeof *A);
    for (size_t i = SEEN; i < MANY; i++) /* what rounding makes of zero */
        for (size_t j = 0; j < MANY; j++)
            V[i * (MANY + 1) + j] = 1e-17 * A[j % SEEN * MANY + (i + j) % MANY];
    assert_true(clsi_svd_rows(MANY, V, sigma, order, work, NULL, NULL) <= 20);
    assert_true(sigma[SEEN - 1] > 0.1 && sigma[SEEN] == 0);
    free(A), free(b), free(x), free(V);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_equations_hold),
        cmocka_unit_test(blocks_do_not_change_bits),
        cmocka_unit_test(rows_may_follow_a_solution),
        cmocka_unit_test(ill_conditioned_bases_keep_their_digits),
        cmocka_unit_test(constraints_are_exact),
        cmocka_unit_test(unseen_directions_are_named),
        cmocka_unit_test(bad_rows_are_refused),
        cmocka_unit_test(inequalities_agree_with_enumeration),
        cmocka_unit_test(unseen_unknowns_obey_inequalities),
        cmocka_unit_test(a_positive_polynomial),
        cmocka_unit_test(a_subset_is_a_problem_of_its_own),
        cmocka_unit_test(active_set_and_gap_are_true),
        cmocka_unit_test(few_rows_for_many_unknowns),
        cmocka_unit_test(a_solve_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
