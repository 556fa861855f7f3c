/* The peers of bench/large, and our steps beside them: a chain of n masses with n temperatures,
 *
 *     u'' = f_i+1 - f_i - c v,  f = d + d^3,  s' = (c v^2 + kappa (T_i-1 - 2 T_i + T_i+1))/T,  T = exp(s).
 *
 *     large elimination N          factor and solution of its Newton matrix by each way, microseconds
 *     large cvode METHOD N RTOL    BDF or ADAMS: seconds and error at t = 10 (BDF: sparse Jacobian, KLU)
 *     large ours SCHEME N H        the same by a scheme of the library; of an adaptive one H is its accuracy
 *     large steps N [SCHEME H]     seconds of one step of the default scheme, h = 0.05: the median of many
 *     large reference N FILE       the state at t = 10, for the errors
 *
 * KAPPA=200 in the environment makes the conduction, and nothing else, a thousand times stiffer.
 * Errors are the largest of u, v and s. Seconds are processor time; creating solvers is not timed. */
#include "system/sparse_lu.h"
#include <clausius/clausius.h>
#include <cvode/cvode.h>
#include <klu.h>
#include <lapacke.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>
#include <time.h>

/* Of a run to t = 10 the best of so many: others share the machine. Of short ones what is behind the best twentieth
 * of those that fit in these seconds: clocks of virtual machines jump, and a run was seen to take no time. */
enum { ROUNDS = 9, PART = 20, MOST_ROUNDS = 10000 };
static const double at_least = 0.3;

/* Of the processor; with BENCH_WALL set of the clock on the wall, for a quiet machine: processor clocks of virtual machines
 * were seen to be off by a factor of two. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(getenv("BENCH_WALL") ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- elimination ---- */

typedef struct matrix {
    size_t n, *start;
    uint32_t *column;
    double *value;
} matrix;

/* Cells (v, s): v knows its neighbours' v, s its own v and its neighbours' s. */
static matrix cells(size_t n) {
    matrix m = {2 * n, calloc(2 * n + 1, sizeof(size_t)), calloc(8 * n, sizeof(uint32_t)),
                calloc(8 * n, sizeof(double))};
    size_t at = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        for (size_t j = i < 2 ? 0 : i - 2; j <= i + 2 && j < 2 * n; j++) {
            if (j != i && (j + i) % 2 && !(i % 2 && j + 1 == i)) continue;
            m.column[at] = (uint32_t)j;
            m.value[at++] = j == i ? 2.5 : -0.4 + 0.01 * (double)((3 * i + j) % 7);
        }
        m.start[i + 1] = at;
    }
    return m;
}

#define TIME(what)                                                                                 \
    do {                                                                                           \
        double best = 1e9;                                                                         \
        for (int round = 0; round < 7; round++) {                                                  \
            double begin = seconds();                                                              \
            for (int k = 0; k < turns; k++) what;                                                  \
            double took = (seconds() - begin) / turns;                                             \
            best = took < best ? took : best;                                                      \
        }                                                                                          \
        printf(" %10.2f", best * 1e6);                                                             \
    } while (0)

static double off(const matrix *m, const double *x) {
    double worst = 0;
    for (size_t i = 0; i < m->n; i++) {
        double sum = -1;
        for (size_t k = m->start[i]; k < m->start[i + 1]; k++) sum += m->value[k] * x[m->column[k]];
        worst = fmax(worst, fabs(sum));
    }
    return worst;
}

static void ours(const matrix *m, int fast, int turns, double *x) {
    clsi_sparse_lu *lu;
    cls_status status = (fast ? clsi_sparse_lu_create_fast
                              : clsi_sparse_lu_create)(m->n, m->start, m->column, &lu, NULL);
    if (status != CLS_OK) exit(1);
    double *work = calloc(clsi_sparse_lu_size(lu), sizeof *work);
    printf("%-12s", fast ? "in lanes" : "scalar");
    TIME(clsi_sparse_lu_factor(lu, m->value, work));
    TIME((memcpy(x, x + m->n, m->n * sizeof *x), clsi_sparse_lu_solve(lu, work, x)));
    printf(" %10.1e\n", off(m, x));
}

static void by_klu(const matrix *m, int turns, double *x) {
    int n = (int)m->n, *p = calloc(m->n + 1, sizeof *p), *c = calloc(m->start[n], sizeof *c);
    klu_common common;
    klu_defaults(&common);
    common.ordering = 2; /* as it stands */
    common.btf = 0;
    common.scale = 0;
    for (int i = 0; i <= n; i++) p[i] = (int)m->start[i];
    for (size_t k = 0; k < m->start[n]; k++) c[k] = (int)m->column[k];
    klu_symbolic *symbolic = klu_analyze_given(n, p, c, NULL, NULL, &common); /* of A^T */
    klu_numeric *numeric = klu_factor(p, c, m->value, symbolic, &common);
    printf("%-12s", "KLU");
    TIME(klu_refactor(p, c, m->value, symbolic, numeric, &common));
    TIME((memcpy(x, x + n, m->n * sizeof *x), klu_tsolve(symbolic, numeric, n, 1, x, &common)));
    printf(" %10.1e\n", off(m, x));
}

static void by_lapack(const matrix *m, int banded, int turns, double *x) {
    int n = (int)m->n, rows = banded ? 7 : n;
    double *a = calloc((size_t)rows * m->n, sizeof *a),
           *lu = calloc((size_t)rows * m->n, sizeof *a);
    int *pivot = calloc(m->n, sizeof *pivot);
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = m->start[i]; k < m->start[i + 1]; k++) {
            size_t j = m->column[k];
            a[banded ? j * 7 + (4 + i - j) : j * m->n + i] = m->value[k];
        }
    printf("%-12s", banded ? "banded" : "dense");
    TIME((memcpy(lu, a, (size_t)rows * m->n * sizeof *a),
          banded ? LAPACKE_dgbtrf_work(LAPACK_COL_MAJOR, n, n, 2, 2, lu, 7, pivot)
                 : LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, lu, n, pivot)));
    TIME((memcpy(x, x + n, m->n * sizeof *x),
          banded ? LAPACKE_dgbtrs_work(LAPACK_COL_MAJOR, 'N', n, 2, 2, 1, lu, 7, pivot, x, n)
                 : LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, 1, lu, n, pivot, x, n)));
    printf(" %10.1e\n", off(m, x));
}

static void elimination(size_t n) {
    matrix m = cells(n);
    double *x = calloc(2 * m.n, sizeof *x);
    int turns = n < 1000 ? 400 : n < 20000 ? 20 : 3;
    for (size_t i = 0; i < m.n; i++) x[m.n + i] = 1;
    printf("%zu cells     factor us   solve us   residual\n", n);
    if (n <= 200) by_lapack(&m, 0, 1 + turns / 100, x);
    by_lapack(&m, 1, turns, x);
    by_klu(&m, turns, x);
    ours(&m, 0, turns, x);
    ours(&m, 1, turns, x);
}

/* ---- CVODE ---- */

static const double c = 0.1;
static double kappa = 0.2; /* or what KAPPA in the environment says: 200 is a stiff chain */
typedef struct chain {
    sunindextype n;
    double *T;
} chain;

static int rhs(realtype t, N_Vector y, N_Vector dy, void *data) {
    chain *k = data;
    sunindextype n = k->n;
    const double *u = N_VGetArrayPointer(y), *v = u + n, *s = v + n;
    double *du = N_VGetArrayPointer(dy), *dv = du + n, *ds = dv + n, *T = k->T;
    (void)t;
    double d = u[0], f = d + d * d * d;
    for (sunindextype i = 0; i < n; i++) T[i] = exp(s[i]);
    for (sunindextype i = 0; i < n; i++) {
        double next = (i + 1 < n ? u[i + 1] : 0) - u[i], g = next + next * next * next;
        double heat = (i ? T[i - 1] - T[i] : 0) + (i + 1 < n ? T[i + 1] - T[i] : 0);
        du[i] = v[i];
        dv[i] = g - f - c * v[i];
        ds[i] = (c * v[i] * v[i] + kappa * heat) / T[i];
        f = g;
    }
    return 0;
}

static int jacobian(realtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *data, N_Vector a1,
                    N_Vector a2, N_Vector a3) {
    chain *k = data;
    sunindextype n = k->n, at = 0;
    const double *u = N_VGetArrayPointer(y), *v = u + n, *s = v + n,
                 *ds = N_VGetArrayPointer(fy) + 2 * n;
    sunindextype *start = SUNSparseMatrix_IndexPointers(J), *row = SUNSparseMatrix_IndexValues(J);
    double *value = SUNSparseMatrix_Data(J), *T = k->T;
    (void)t, (void)a1, (void)a2, (void)a3;
    for (sunindextype i = 0; i < n; i++) T[i] = exp(s[i]);
#define PUT(r, x) (row[at] = (r), value[at++] = (x))
    for (sunindextype j = 0; j < n; j++) { /* columns of u */
        double before = u[j] - (j ? u[j - 1] : 0), after = (j + 1 < n ? u[j + 1] : 0) - u[j];
        double f = 1 + 3 * before * before, g = 1 + 3 * after * after;
        start[j] = at;
        PUT(j, 0);
        if (j) PUT(n + j - 1, f);
        PUT(n + j, -f - g);
        if (j + 1 < n) PUT(n + j + 1, g);
    }
    for (sunindextype j = 0; j < n; j++) { /* of v */
        start[n + j] = at;
        PUT(j, 1);
        PUT(n + j, -c);
        PUT(2 * n + j, 2 * c * v[j] / T[j]);
    }
    for (sunindextype j = 0; j < n; j++) { /* of s */
        start[2 * n + j] = at;
        if (j) PUT(2 * n + j - 1, kappa * T[j] / T[j - 1]);
        PUT(2 * n + j, -ds[j] - kappa * ((j > 0) + (j + 1 < n)));
        if (j + 1 < n) PUT(2 * n + j + 1, kappa * T[j] / T[j + 1]);
    }
    start[3 * n] = at;
    return 0;
}

static void start_state(sunindextype n, double *y) {
    for (sunindextype i = 0; i < n; i++) y[i] = sin(acos(-1) * (double)(i + 1) / 8);
    memset(y + n, 0, (size_t)(2 * n) * sizeof *y);
}

/* Seconds; the state at t = 10 in y. */
static double run_cvode(int bdf, sunindextype n, double rtol, N_Vector y, SUNContext context) {
    chain k = {n, calloc((size_t)n, sizeof(double))};
    void *cvode = CVodeCreate(bdf ? CV_BDF : CV_ADAMS, context);
    SUNMatrix J = NULL;
    double t, begin, took;
    start_state(n, N_VGetArrayPointer(y));
    CVodeInit(cvode, rhs, 0, y);
    CVodeSStolerances(cvode, rtol, rtol);
    CVodeSetUserData(cvode, &k);
    CVodeSetMaxNumSteps(cvode, 100000000);
    if (bdf) {
        J = SUNSparseMatrix(3 * n, 3 * n, 10 * n, CSC_MAT, context);
        SUNLinearSolver solver = SUNLinSol_KLU(y, J, context);
        SUNLinSol_KLUSetOrdering(solver, 1); /* COLAMD, which is faster here than AMD */
        CVodeSetLinearSolver(cvode, solver, J);
        CVodeSetJacFn(cvode, jacobian);
    } else {
        CVodeSetNonlinearSolver(cvode, SUNNonlinSol_FixedPoint(y, 0, context));
    }
    begin = seconds();
    if (CVode(cvode, 10, y, &t, CV_NORMAL) < 0) exit(1);
    took = seconds() - begin;
    free(k.T);
    CVodeFree(&cvode);
    return took;
}

static double error_of(sunindextype n, const double *y, const char *file) {
    double *exact = calloc((size_t)(3 * n), sizeof *exact), worst = 0;
    FILE *f = fopen(file, "rb");
    if (!f || fread(exact, sizeof *exact, (size_t)(3 * n), f) != (size_t)(3 * n)) exit(2);
    fclose(f);
    for (sunindextype i = 0; i < 3 * n; i++) worst = fmax(worst, fabs(y[i] - exact[i]));
    free(exact);
    return worst;
}

/* ---- the library ---- */

static const char text[] =
    "parameter N = %ld, c = 0.1, kappa = %g\ncoordinate u[1..N]\nentropy s[1..N]\n"
    "let d[i] = u[i+1] - u[i]\nlet u[0] = 0\nlet u[N+1] = 0\n"
    "hamiltonian sum(i in 1..N: p.u[i]^2/2 + exp(s[i])) + sum(i in 0..N: d[i]^2/2 + d[i]^4/4)\n"
    "for i in 1..N: friction on s[i]: u[i] <- -c*v.u[i]\n"
    "for i in 1..N-1: heat exchange s[i] <-> s[i+1]: kappa\n"
    "for i in 1..N: start u[i] = sin(pi*i/8), v.u[i] = 0, s[i] = 0\n";

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_library(const char *scheme, sunindextype n, double h, const char *file) {
    char system[2000];
    cls_error error;
    cls_system *s;
    cls_simulator *sim;
    cls_simulate_options o = cls_simulate_defaults();
    double *z = calloc((size_t)(3 * n), sizeof *z), spent = 0;
    static double took[MOST_ROUNDS];
    size_t rounds = 0;
    snprintf(system, sizeof system, text, (long)n, kappa);
    o.scheme = scheme;
    o.h = h;
    if (strstr(scheme, "adaptive")) o.h = 10, o.accuracy = h;
    if (cls_system_parse(system, "chain", NULL, &s, &error) != CLS_OK ||
        cls_simulator_create(s, &o, &sim, &error) != CLS_OK ||
        cls_system_start(s, NULL, z, &error) != CLS_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    while (rounds < ROUNDS || (spent < at_least && rounds < MOST_ROUNDS)) {
        if (cls_simulator_start(sim, 0, z, &error) != CLS_OK) return 1;
        double begin = seconds();
        if (cls_simulator_go(sim, 10, &error) != CLS_OK)
            return fprintf(stderr, "%s\n", error.message), 1;
        took[rounds] = seconds() - begin;
        spent += took[rounds++];
    }
    qsort(took, rounds, sizeof *took, ascending);
    printf("%.6f %.3e\n", took[rounds / PART], error_of(n, cls_simulator_state(sim), file));
    return 0;
}

static int steps(long n, const char *scheme, double h) {
    enum { MOST = 2000 };
    static double took[MOST];
    size_t count = n > 20000 ? 40 : n > 2000 ? 400 : MOST;
    char system[2000];
    cls_error error;
    cls_system *s;
    cls_simulator *sim;
    cls_simulate_options o = cls_simulate_defaults();
    double *z = calloc((size_t)(3 * n), sizeof *z);
    snprintf(system, sizeof system, text, n, kappa);
    o.h = h;
    o.scheme = scheme;
    if (cls_system_parse(system, "chain", NULL, &s, &error) != CLS_OK ||
        cls_simulator_create(s, &o, &sim, &error) != CLS_OK ||
        cls_system_start(s, NULL, z, &error) != CLS_OK ||
        cls_simulator_start(sim, 0, z, &error) != CLS_OK ||
        cls_simulator_advance(sim, 10, &error) != CLS_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    for (size_t k = 0; k < count; k++) {
        double begin = seconds();
        if (cls_simulator_advance(sim, 1, &error) != CLS_OK) return 1;
        took[k] = seconds() - begin;
    }
    qsort(took, count, sizeof *took, ascending);
    printf("%.9f\n", took[count / 2]);
    return 0;
}

int main(int argc, char **argv) {
    SUNContext context;
    SUNContext_Create(NULL, &context);
    if (getenv("KAPPA")) kappa = atof(getenv("KAPPA"));
    if (argc > 2 && !strcmp(argv[1], "elimination")) return elimination((size_t)atol(argv[2])), 0;
    if (argc > 2 && !strcmp(argv[1], "steps"))
        return steps(atol(argv[2]), argc > 4 ? argv[3] : NULL, argc > 4 ? atof(argv[4]) : 0.05);
    if (argc > 5 && !strcmp(argv[1], "ours"))
        return by_library(argv[2], atol(argv[3]), atof(argv[4]), argv[5]);
    if (argc > 3 && !strcmp(argv[1], "reference")) {
        sunindextype n = atol(argv[2]);
        N_Vector y = N_VNew_Serial(3 * n, context);
        run_cvode(1, n, 1e-12, y, context);
        FILE *f = fopen(argv[3], "wb");
        return !f || fwrite(N_VGetArrayPointer(y), 8, (size_t)(3 * n), f) == 0 || fclose(f) != 0;
    }
    if (argc > 5 && !strcmp(argv[1], "cvode")) {
        sunindextype n = atol(argv[3]);
        N_Vector y = N_VNew_Serial(3 * n, context);
        double best = 1e9;
        for (int round = 0; round < ROUNDS; round++)
            best = fmin(best, run_cvode(!strcmp(argv[2], "BDF"), n, atof(argv[4]), y, context));
        printf("%.6f %.3e\n", best, error_of(n, N_VGetArrayPointer(y), argv[5]));
        return 0;
    }
    return fprintf(stderr, "see the head of bench/large.c\n"), 2;
}
