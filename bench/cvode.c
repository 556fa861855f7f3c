/* The peer CVODE (SUNDIALS), used as well as a careful person would: the right-hand side and its
 * Jacobian written by hand in C, dense solver, no output on the way. A server like steps.c:
 *
 *     METHOD RTOL     METHOD bdf or adams; seconds, error of x(10), steps, right-hand sides
 *
 * The absolute tolerance is the relative one: x, p and S are all of size 1 or more. Creating the
 * solver is not timed (a user may keep it), starting it is. */
#include "problem.h"
#include <cvode/cvode.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

static int rhs(double t, N_Vector y, N_Vector dy, void *data) {
    (void)t, (void)data;
    const double *z = NV_DATA_S(y);
    double *d = NV_DATA_S(dy), U = exp(z[2]) * pow(z[0], -K);
    if (!(z[0] > 0)) return 1;
    d[0] = z[1];
    d[1] = K * U / z[0] - GAMMA * z[1];
    d[2] = GAMMA * z[1] * z[1] / U;
    return 0;
}

static int jacobian(double t, N_Vector y, N_Vector dy, SUNMatrix J, void *data, N_Vector a,
                    N_Vector b, N_Vector c) {
    (void)t, (void)dy, (void)data, (void)a, (void)b, (void)c;
    const double *z = NV_DATA_S(y);
    double U = exp(z[2]) * pow(z[0], -K), S1 = GAMMA * z[1] * z[1] / U;
    SM_ELEMENT_D(J, 0, 1) = 1;
    SM_ELEMENT_D(J, 1, 0) = -K * (K + 1) * U / (z[0] * z[0]);
    SM_ELEMENT_D(J, 1, 1) = -GAMMA;
    SM_ELEMENT_D(J, 1, 2) = K * U / z[0];
    SM_ELEMENT_D(J, 2, 0) = K * S1 / z[0];
    SM_ELEMENT_D(J, 2, 1) = 2 * GAMMA * z[1] / U;
    SM_ELEMENT_D(J, 2, 2) = -S1;
    return 0;
}

static void quiet(int code, const char *module, const char *function, char *message, void *data) {
    (void)code, (void)module, (void)function, (void)message, (void)data;
}

/* CVode's return value; the solution is left in y. */
static int solve(void *solver, N_Vector y, double rtol, double *t) {
    double *z = NV_DATA_S(y);
    z[0] = X_START, z[1] = 0, z[2] = S_START;
    int code = CVodeReInit(solver, 0, y);
    if (code >= 0) code = CVodeSStolerances(solver, rtol, rtol);
    return code < 0 ? code : CVode(solver, T_END, y, t, CV_NORMAL);
}

static void answer(void *solver, N_Vector y, double rtol) {
    double t = 0, best = INFINITY, spent = 0;
    int code = 0;
    for (int runs = 0; code >= 0 && !enough(spent, runs); runs++) {
        double begin = cpu_seconds();
        code = solve(solver, y, rtol, &t);
        double seconds = cpu_seconds() - begin;
        best = fmin(best, seconds);
        spent += seconds;
    }
    long steps = 0, calls = 0;
    CVodeGetNumSteps(solver, &steps);
    CVodeGetNumRhsEvals(solver, &calls);
    if (code < 0)
        printf("error CVODE gave up at t = %g\n", t);
    else
        printf("%.9g %.6e %ld %ld\n", best, fabs(NV_Ith_S(y, 0) - X_END), steps, calls);
}

int main(void) {
    SUNContext context;
    char line[256], method[16];
    double rtol;
    void *solver[2];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (SUNContext_Create(NULL, &context)) return 1;
    N_Vector y = N_VNew_Serial(3, context);
    NV_Ith_S(y, 0) = X_START, NV_Ith_S(y, 1) = 0, NV_Ith_S(y, 2) = S_START;
    SUNMatrix A[2];
    SUNLinearSolver linear[2];
    for (int i = 0; i < 2; i++) {
        solver[i] = CVodeCreate(i ? CV_ADAMS : CV_BDF, context);
        A[i] = SUNDenseMatrix(3, 3, context);
        linear[i] = SUNLinSol_Dense(y, A[i], context);
        if (CVodeInit(solver[i], rhs, 0, y)) return 1;
        CVodeSStolerances(solver[i], 1e-6, 1e-6);
        CVodeSetLinearSolver(solver[i], linear[i], A[i]);
        CVodeSetJacFn(solver[i], jacobian);
        CVodeSetMaxNumSteps(solver[i], 100000000);
        CVodeSetErrHandlerFn(solver[i], quiet, NULL);
    }
    while (fgets(line, sizeof line, stdin))
        if (sscanf(line, "%15s %lf", method, &rtol) == 2)
            answer(solver[!strcmp(method, "adams")], y, rtol);
        else
            printf("error unknown request\n");
    for (int i = 0; i < 2; i++) {
        CVodeFree(&solver[i]);
        SUNLinSolFree(linear[i]);
        SUNMatDestroy(A[i]);
    }
    N_VDestroy(y);
    SUNContext_Free(&context);
    return 0;
}
