/* The peers of bench/grid, and our steps beside them: the plate of `heat-plate`, N x N pieces,
 *
 *     S_i' = sum of k (T_j - T_i)/T_i over neighbours j (2 k to the bath along one edge),  T = T0 exp(S/(c dx^2)).
 *
 *     grid reference N FILE        T at t = 1 by CVODE at 1e-10, for the errors
 *     grid cvode N RTOL FILE       BDF, the same right-hand side and sparse Jacobian in C, KLU: seconds and error at t = 1
 *     grid ours SCHEME N H FILE    the same by a scheme of the library
 *     grid elimination N           factor and solution of its Newton matrix by KLU and by the library, milliseconds
 *
 * K=50 in the environment makes the conduction a thousand times larger. Errors are the largest of T/T0. Seconds are processor
 * time, with BENCH_WALL those of the clock on the wall; creating solvers is not timed. */
#include "system/fronts.h"
#include <clausius/clausius.h>
#include <cvode/cvode.h>
#include <klu.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <time.h>

enum { ROUNDS = 3 };

static double seconds(void) {
    struct timespec t;
    clock_gettime(getenv("BENCH_WALL") ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct plate {
    long N;
    double k, C, *T; /* T/T0 */
} plate;

/* Neighbours of piece i, the number of them. */
static int around(const plate *p, long i, long out[4]) {
    int n = 0;
    long N = p->N;
    if (i >= N) out[n++] = i - N;
    if (i % N) out[n++] = i - 1;
    if (i % N + 1 < N) out[n++] = i + 1;
    if (i + N < N * N) out[n++] = i + N;
    return n;
}

/* What a piece takes in, divided by k T0: also what its entropy changes by, times T/T0. */
static double inflow(const plate *p, long i, const long *near, int n) {
    double sum = i < p->N ? 2 : 0; /* the bath is at T0 */
    for (int a = 0; a < n; a++) sum += p->T[near[a]];
    return sum;
}

static int rhs(realtype t, N_Vector y, N_Vector dy, void *data) {
    plate *p = data;
    long N = p->N, near[4];
    const double *S = N_VGetArrayPointer(y);
    double *to = N_VGetArrayPointer(dy);
    (void)t;
    for (long i = 0; i < N * N; i++) p->T[i] = exp(S[i] / p->C);
    for (long i = 0; i < N * N; i++) {
        int n = around(p, i, near);
        to[i] = p->k * (inflow(p, i, near, n) / p->T[i] - n - (i < N ? 2 : 0));
    }
    return 0;
}

static int jacobian(realtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *data, N_Vector a1,
                    N_Vector a2, N_Vector a3) {
    plate *p = data;
    long N = p->N, near[4], own[4];
    sunindextype at = 0, *start = SUNSparseMatrix_IndexPointers(J),
                 *row = SUNSparseMatrix_IndexValues(J);
    double *value = SUNSparseMatrix_Data(J);
    const double *S = N_VGetArrayPointer(y);
    (void)t, (void)fy, (void)a1, (void)a2, (void)a3;
    for (long i = 0; i < N * N; i++) p->T[i] = exp(S[i] / p->C);
    for (long j = 0; j < N * N; j++) { /* columns */
        int n = around(p, j, near), mine = around(p, j, own), put = 0;
        start[j] = at;
        for (int a = 0; a <= n; a++) {
            if (!put && (a == n || near[a] > j)) {
                row[at] = j;
                value[at++] = -p->k * inflow(p, j, own, mine) / (p->T[j] * p->C);
                put = 1;
            }
            if (a == n) break;
            row[at] = near[a];
            value[at++] = p->k * p->T[j] / (p->T[near[a]] * p->C);
        }
    }
    start[N * N] = at;
    return 0;
}

static plate plate_of(long N) {
    plate p = {.N = N, .k = getenv("K") ? atof(getenv("K")) : 0.05};
    p.C = 1.0 / (double)(N * N);
    p.T = calloc((size_t)(N * N), sizeof *p.T);
    return p;
}

static void start_state(const plate *p, double *S) {
    double dx = 1.0 / (double)p->N;
    for (long i = 0; i < p->N * p->N; i++) {
        double x = ((double)(i / p->N) + 0.5) * dx - 0.5, y = ((double)(i % p->N) + 0.5) * dx - 0.5;
        S[i] = p->C * log(1 + 0.5 * exp(-(x * x + y * y) * 36));
    }
}

static double run_cvode(const plate *p, double rtol, N_Vector y, SUNContext context, int tell) {
    sunindextype n = p->N * p->N;
    void *cvode = CVodeCreate(CV_BDF, context);
    SUNMatrix J = SUNSparseMatrix(n, n, 5 * n, CSC_MAT, context);
    SUNLinearSolver solver = SUNLinSol_KLU(y, J, context);
    double t, begin, took;
    long steps, jacobians;
    SUNLinSol_KLUSetOrdering(solver, 0); /* AMD, which is faster here than COLAMD */
    start_state(p, N_VGetArrayPointer(y));
    CVodeInit(cvode, rhs, 0, y);
    CVodeSStolerances(cvode, rtol, rtol * p->C);
    CVodeSetUserData(cvode, (void *)p);
    CVodeSetMaxNumSteps(cvode, 100000000);
    CVodeSetLinearSolver(cvode, solver, J);
    CVodeSetJacFn(cvode, jacobian);
    begin = seconds();
    if (CVode(cvode, 1, y, &t, CV_NORMAL) < 0) exit(1);
    took = seconds() - begin;
    CVodeGetNumSteps(cvode, &steps);
    CVodeGetNumLinSolvSetups(cvode, &jacobians);
    if (tell) fprintf(stderr, "%ld steps, %ld factorisations\n", steps, jacobians);
    CVodeFree(&cvode);
    SUNLinSolFree(solver);
    SUNMatDestroy(J);
    return took;
}

static double error_of(const plate *p, const double *S, const char *file) {
    size_t n = (size_t)(p->N * p->N);
    double *exact = calloc(n, sizeof *exact), worst = 0;
    FILE *f = fopen(file, "rb");
    if (!f || fread(exact, sizeof *exact, n, f) != n) exit(2);
    fclose(f);
    for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs(exp(S[i] / p->C) - exact[i]));
    free(exact);
    return worst;
}

static int by_library(const char *scheme, const plate *p, double h, const char *file) {
    cls_error error;
    cls_system *s;
    cls_simulator *sim;
    cls_simulate_options o = cls_simulate_defaults();
    double best = 1e9;
    char text[2000];
    snprintf(text, sizeof text,
             "parameter N = %ld, c = 1, k = %g, T0 = 300, dx = 1/N\n"
             "entropy S[1..N, 1..N] with temperature T[1..N, 1..N]\nreservoir bath = T0\n"
             "hamiltonian H = sum(i in 1..N, j in 1..N: c*dx^2*T0*exp(S[i,j]/(c*dx^2)))\n"
             "for i in 1..N-1, j in 1..N: heat exchange T[i,j] <-> T[i+1,j]: k\n"
             "for i in 1..N, j in 1..N-1: heat exchange T[i,j] <-> T[i,j+1]: k\n"
             "for j in 1..N: heat exchange T[1,j] <-> bath: 2*k\n",
             p->N, p->k);
    o.scheme = scheme;
    o.h = h;
    if (strstr(scheme, "adaptive")) o.h = 1, o.accuracy = h;
    double *z = calloc((size_t)(p->N * p->N) + 1000, sizeof *z);
    if (cls_system_parse(text, "plate", NULL, &s, &error) != CLS_OK ||
        cls_simulator_create(s, &o, &sim, &error) != CLS_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    start_state(p, z);
    for (int round = 0; round < ROUNDS; round++) {
        if (cls_simulator_start(sim, 0, z, &error) != CLS_OK)
            return fprintf(stderr, "%s\n", error.message), 1;
        double begin = seconds();
        if (cls_simulator_go(sim, 1, &error) != CLS_OK)
            return fprintf(stderr, "%s\n", error.message), 1;
        best = fmin(best, seconds() - begin);
    }
    printf("%.6f %.3e\n", best, error_of(p, cls_simulator_state(sim), file));
    return 0;
}

/* ---- elimination ---- */

#define TIME(to, what)                                                                             \
    for (int round = 0; round < 7; round++) {                                                      \
        double begin = seconds();                                                                  \
        what;                                                                                      \
        (to) = fmin((to), seconds() - begin);                                                      \
    }

static int elimination(long N) {
    plate p = {.N = N};
    long near[4];
    size_t n = (size_t)(N * N), at = 0, *start = calloc(n + 1, sizeof *start);
    uint32_t *column = calloc(5 * n, sizeof *column);
    double *value = calloc(5 * n, sizeof *value), *x = calloc(n, sizeof *x), times[4];
    int *first = calloc(n + 1, sizeof *first), *row = calloc(5 * n, sizeof *row);
    for (size_t i = 0; i < n; i++) {
        int k = around(&p, (long)i, near);
        for (int a = 0; a <= k; a++) {
            column[at] = (uint32_t)(a < k ? near[a] : (long)i);
            value[at++] = a < k ? -1 + 0.1 * sin((double)(3 * i) + a) : 4.5;
        }
        start[i + 1] = at;
        first[i + 1] = (int)at;
    }
    for (size_t k = 0; k < at; k++) row[k] = (int)column[k];
    for (int k = 0; k < 4; k++) times[k] = 1e9;
    clsi_sparse_lu *lu;
    double begin = seconds();
    if (clsi_sparse_lu_create_fast(n, start, column, &lu, NULL) != CLS_OK) return 1;
    double order = seconds() - begin;
    double *work = calloc(clsi_sparse_lu_size(lu), sizeof *work);
    TIME(times[0], clsi_sparse_lu_factor(lu, value, work))
    TIME(times[1], (memset(x, 0, n * sizeof *x), x[n / 2] = 1, clsi_sparse_lu_solve(lu, work, x)))
    printf("%ld x %ld: library  order %.3f s, factor %.2f ms, solution %.2f ms", N, N, order,
           times[0] * 1e3, times[1] * 1e3);
    if (lu->fronts)
        printf(", %.1f MB, %.3g products", 8e-6 * (double)lu->fronts->n_values, lu->fronts->work);
    klu_common common;
    klu_defaults(&common);
    common.btf = 0;
    common.scale = 0;
    klu_symbolic *symbolic = klu_analyze((int)n, first, row, &common);
    klu_numeric *numeric = klu_factor(first, row, value, symbolic, &common);
    TIME(times[2], klu_refactor(first, row, value, symbolic, numeric, &common))
    TIME(times[3], klu_solve(symbolic, numeric, (int)n, 1, x, &common))
    printf("\n          KLU (AMD)  factor %.2f ms, solution %.2f ms\n", times[2] * 1e3,
           times[3] * 1e3);
    return 0;
}

int main(int argc, char **argv) {
    SUNContext context;
    SUNContext_Create(NULL, &context);
    if (argc > 2 && !strcmp(argv[1], "elimination")) return elimination(atol(argv[2]));
    if (argc > 5 && !strcmp(argv[1], "ours")) {
        plate p = plate_of(atol(argv[3]));
        return by_library(argv[2], &p, atof(argv[4]), argv[5]);
    }
    if (argc < 4) return fprintf(stderr, "see the head of bench/grid.c\n"), 2;
    plate p = plate_of(atol(argv[2]));
    N_Vector y = N_VNew_Serial(p.N * p.N, context);
    double best = 1e9, *S = N_VGetArrayPointer(y);
    if (!strcmp(argv[1], "reference")) {
        run_cvode(&p, 1e-10, y, context, 1);
        FILE *f = fopen(argv[3], "wb");
        for (long i = 0; i < p.N * p.N; i++) S[i] = exp(S[i] / p.C);
        return !f || fwrite(S, sizeof *S, (size_t)(p.N * p.N), f) == 0 || fclose(f) != 0;
    }
    for (int round = 0; round < ROUNDS; round++)
        best = fmin(best, run_cvode(&p, atof(argv[3]), y, context, round == 0));
    printf("%.6f %.3e\n", best, error_of(&p, S, argv[4]));
    return 0;
}
