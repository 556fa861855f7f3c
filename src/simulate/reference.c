/* The reference solution: SUNDIALS CVODE (BDF, dense, Newton) at tight tolerance.
 *
 * The variables are z, the native state, with z' = (dy/dz)^-1 y'(z); for z = y that matrix is the
 * identity and is not formed. The Jacobian of y' comes from the graph, too, where z = y. `work` is
 * integrated along. Absolute tolerances follow the size of each component at the start, and where that
 * is next to nothing the size of its motion. */
#include "simulate/stepper.h"
#include "base/base.h"
#include "system/dense.h"
#include <cvode/cvode.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

/* Smaller than this at the start, a state and its motion do not set the tolerances. */
#define LEAST_SIZE 1e-100

struct clsi_reference {
    const cls_system *s;
    size_t nz, n_state;
    int identity; /* z = y */
    double tolerance;
    size_t nu, n_accounts;
    /* z, t, u -> y' (nz), rates of accounts; then dy/dz (nz, nz) unless identity */
    cls_program *rates;
    cls_program *slope;        /* z, t, u -> d(y', accounts)/dz, for identity */
    const clsi_signal *signal; /* NULL: the inputs have formulas */
    double begin, end;         /* between these times the inputs are linear, from u0 to u1 (nu) */
    double *u0, *u1;
    double *in, *out, *work_rates, *slope_out, *work_slope;
    size_t *pivot;
    SUNContext context;
    void *cvode;
    N_Vector y, absolute;
    SUNMatrix matrix;
    SUNLinearSolver solver;
};

/* ---- the right-hand side ---- */

static void put_inputs(const clsi_reference *r, double t) {
    double part = isfinite(r->end) ? (t - r->begin) / (r->end - r->begin) : 0;
    r->in[r->nz] = t;
    for (size_t k = 0; k < r->nu && r->signal; k++)
        r->in[r->nz + 1 + k] = r->u0[k] + part * (r->u1[k] - r->u0[k]);
}

static int right_hand_side(realtype t, N_Vector y, N_Vector dy, void *data) {
    clsi_reference *r = data;
    memcpy(r->in, N_VGetArrayPointer(y), r->nz * sizeof(double));
    put_inputs(r, t);
    cls_program_run(r->rates, r->work_rates, r->in, r->out);
    double *rate = N_VGetArrayPointer(dy);
    if (!r->identity) {
        double *matrix = r->out + r->nz + r->n_accounts;
        if (clsi_lu_factor(r->nz, matrix, r->pivot)) return 1;
        clsi_lu_solve(r->nz, matrix, r->pivot, r->out);
    }
    memcpy(rate, r->out, r->n_state * sizeof(double));
    for (size_t i = 0; i < r->n_state; i++)
        if (!isfinite(rate[i])) return 1; /* recoverable: CVODE tries a smaller step */
    return 0;
}

static int jacobian(realtype t, N_Vector y, N_Vector fy, SUNMatrix J, void *data, N_Vector a,
                    N_Vector b, N_Vector c) {
    (void)fy, (void)a, (void)b, (void)c;
    clsi_reference *r = data;
    memcpy(r->in, N_VGetArrayPointer(y), r->nz * sizeof(double));
    put_inputs(r, t);
    cls_program_run(r->slope, r->work_slope, r->in, r->slope_out);
    SUNMatZero(J);
    for (size_t i = 0; i < r->n_state; i++)
        for (size_t j = 0; j < r->nz; j++)
            SM_ELEMENT_D(J, (sunindextype)i, (sunindextype)j) = r->slope_out[i * r->nz + j];
    return 0;
}

static void silent(int code, const char *module, const char *function, char *text, void *data) {
    (void)code, (void)module, (void)function, (void)text, (void)data;
}

/* ---- creation ---- */

/* Nodes y' (nz), rates of accounts, dy/dz (nz, nz) over z, through a step's point at the start. */
static cls_status compile(clsi_reference *r, clsi_step *st, cls_error *error) {
    size_t nz = r->nz, all = r->nz + r->n_accounts;
    cls_graph *g = st->g;
    clsi_point *pt = clsi_point_start(st);
    cls_node *nodes = clsi_calloc(all + nz * nz, sizeof *nodes);
    cls_node *slopes = clsi_calloc(all * nz, sizeof *slopes);
    cls_node *y = clsi_calloc(2 * nz + 1 + r->nu, sizeof *y), *inputs = y ? y + nz : NULL;
    cls_status status = CLS_MEMORY;
    if (nodes && slopes && y) {
        clsi_point_rates(st, pt, y, nodes);
        for (size_t k = 0; k < r->n_accounts; k++)
            nodes[nz + k] = pt->account[clsi_account_at(r->s, k)];
        memcpy(inputs, st->z0, nz * sizeof *y);
        inputs[nz] = st->t;
        for (size_t k = 0; k < r->nu; k++) inputs[nz + 1 + k] = st->u0[k];
        status = cls_jacobian(g, nz, y, nz, st->z0, nodes + all);
        if (status == CLS_OK) status = cls_jacobian(g, all, nodes, nz, st->z0, slopes);
        size_t count = r->identity ? all : all + nz * nz, n_in = nz + 1 + r->nu;
        if (status == CLS_OK)
            status = cls_program_create(g, n_in, inputs, count, nodes, &r->rates, error);
        if (status == CLS_OK && r->identity)
            status = cls_program_create(g, n_in, inputs, all * nz, slopes, &r->slope, error);
    }
    free(nodes);
    free(slopes);
    free(y);
    return status == CLS_MEMORY ? clsi_no_memory(error) : status;
}

static void build_nothing(clsi_step *st) {
    memcpy(st->next, st->z0, st->nz * sizeof *st->next);
}

static cls_status allocate(clsi_reference *r, cls_error *error) {
    size_t nz = r->nz;
    r->in = clsi_calloc(nz + 1 + r->nu, sizeof(double));
    r->u0 = clsi_calloc(2 * r->nu, sizeof(double));
    r->u1 = r->u0 ? r->u0 + r->nu : NULL;
    r->out = clsi_calloc(r->n_state + nz * nz, sizeof(double));
    r->work_rates = clsi_calloc(cls_program_work_size(r->rates), sizeof(double));
    r->slope_out = clsi_calloc(r->n_state * nz, sizeof(double));
    r->work_slope = clsi_calloc(r->slope ? cls_program_work_size(r->slope) : 1, sizeof(double));
    r->pivot = clsi_calloc(nz, sizeof *r->pivot);
    if (!r->in || !r->out || !r->u0 || !r->work_rates || !r->slope_out || !r->work_slope ||
        !r->pivot)
        return clsi_no_memory(error);
    cls_program_prepare(r->rates, r->work_rates);
    if (r->slope) cls_program_prepare(r->slope, r->work_slope);
    if (SUNContext_Create(NULL, &r->context)) return clsi_no_memory(error);
    sunindextype n = (sunindextype)r->n_state;
    r->y = N_VNew_Serial(n, r->context);
    r->absolute = N_VNew_Serial(n, r->context);
    r->matrix = SUNDenseMatrix(n, n, r->context);
    r->cvode = CVodeCreate(CV_BDF, r->context);
    if (!r->y || !r->absolute || !r->matrix || !r->cvode) return clsi_no_memory(error);
    r->solver = SUNLinSol_Dense(r->y, r->matrix, r->context);
    return r->solver ? CLS_OK : clsi_no_memory(error);
}

cls_status clsi_reference_create(const cls_system *s, const cls_simulate_options *options,
                                 clsi_reference **out, cls_error *error) {
    *out = NULL;
    clsi_reference *r = clsi_calloc(1, sizeof *r);
    if (!r) return clsi_no_memory(error);
    r->s = s;
    r->nz = s->form->nz;
    r->nu = s->nu;
    r->n_accounts = clsi_account_count(s);
    r->n_state = r->nz + r->n_accounts;
    r->identity = s->form->kind == CLSI_FORM_PHASE;
    r->tolerance = options->reference_tolerance;
    static const clsi_scheme nothing = {
        .info = {.name = "bdf"}, .build = build_nothing, .varies = 1, .drift = 1};
    clsi_step *st;
    cls_status status = clsi_step_create(s, &nothing, &st, error);
    if (status == CLS_OK) status = compile(r, st, error);
    clsi_step_free(&st);
    if (status == CLS_OK) status = allocate(r, error);
    if (status == CLS_OK)
        *out = r;
    else
        clsi_reference_free(&r);
    return status;
}

void clsi_reference_free(clsi_reference **reference) {
    clsi_reference *r = *reference;
    if (!r) return;
    if (r->cvode) CVodeFree(&r->cvode);
    if (r->solver) SUNLinSolFree(r->solver);
    if (r->matrix) SUNMatDestroy(r->matrix);
    if (r->y) N_VDestroy(r->y);
    if (r->absolute) N_VDestroy(r->absolute);
    if (r->context) SUNContext_Free(&r->context);
    cls_program_free(&r->rates);
    cls_program_free(&r->slope);
    free(r->in);
    free(r->u0);
    free(r->out);
    free(r->work_rates);
    free(r->slope_out);
    free(r->work_slope);
    free(r->pivot);
    free(r);
    *reference = NULL;
}

/* ---- integrating ---- */

static cls_status cvode_failed(int flag, double t, cls_error *error) {
    char *name = CVodeGetReturnFlagName(flag);
    cls_status status =
        clsi_fail(error, CLS_NUMERIC, "the reference integrator stopped at time %.10g (%s)", t,
                  name ? name : "unknown reason");
    free(name);
    return status;
}

/* The piece of the signal that begins at time t. */
static void enter_piece(clsi_reference *r, double t) {
    r->begin = t;
    r->end = r->signal ? clsi_signal_corner(r->signal, t) : INFINITY;
    if (!r->signal) return;
    if (isfinite(r->end))
        clsi_signal_over(r->signal, t, r->end - t, r->u0, r->u1);
    else
        clsi_signal_at(r->signal, t, r->u0);
}

/* The largest change of a component by its rate at the start over the step of the system. */
static double movement(clsi_reference *r, double time) {
    N_Vector rate = r->absolute; /* free until the tolerances are written */
    if (right_hand_side(time, r->y, rate, r)) return 0;
    double largest = 0;
    for (size_t i = 0; i < r->n_state; i++)
        largest = fmax(largest, fabs(N_VGetArrayPointer(rate)[i]));
    return largest * cls_system_default_step(r->s);
}

cls_status clsi_reference_start(clsi_reference *r, double time, const double *state,
                                const clsi_signal *signal, cls_error *error) {
    r->signal = signal;
    enter_piece(r, time);
    double *y = N_VGetArrayPointer(r->y), *absolute = N_VGetArrayPointer(r->absolute), largest = 0;
    for (size_t i = 0; i < r->n_state; i++) {
        y[i] = state[i];
        largest = fmax(largest, fabs(y[i]));
    }
    /* At or near zero the start says nothing about the size of the motion: what a step of the system's
     * own size moves it by does, else one. */
    double moved = movement(r, time);
    largest = fmin(fmax(largest, moved), 1);
    if (!(largest > LEAST_SIZE)) largest = 1;
    for (size_t i = 0; i < r->n_state; i++)
        absolute[i] = 0.01 * r->tolerance * fmax(fabs(y[i]), largest);
    CVodeFree(&r->cvode);
    r->cvode = CVodeCreate(CV_BDF, r->context);
    if (!r->cvode) return clsi_no_memory(error);
    int flag = CVodeInit(r->cvode, right_hand_side, time, r->y);
    if (!flag) flag = CVodeSetErrHandlerFn(r->cvode, silent, NULL);
    if (!flag) flag = CVodeSVtolerances(r->cvode, r->tolerance, r->absolute);
    if (!flag) flag = CVodeSetUserData(r->cvode, r);
    if (!flag) flag = CVodeSetLinearSolver(r->cvode, r->solver, r->matrix);
    if (!flag && r->identity) flag = CVodeSetJacFn(r->cvode, jacobian);
    if (!flag) flag = CVodeSetMaxNumSteps(r->cvode, 10000000);
    return flag ? cvode_failed(flag, time, error) : CLS_OK;
}

cls_status clsi_reference_advance(clsi_reference *r, double time, double *state, cls_error *error) {
    double reached = r->begin;
    for (int whole = 0; !whole;) {
        /* where the inputs have a corner the integrator begins anew */
        whole = !(r->end < time);
        double to = whole ? time : r->end;
        int flag = isfinite(r->end) ? CVodeSetStopTime(r->cvode, r->end) : 0;
        if (!flag) flag = CVode(r->cvode, to, r->y, &reached, CV_NORMAL);
        if (flag == CV_TOO_CLOSE) flag = 0; /* a corner of the inputs and a row, round-off apart */
        if (flag >= 0 && to == r->end) {
            enter_piece(r, to);
            flag = CVodeReInit(r->cvode, to, r->y);
        }
        if (flag < 0) return cvode_failed(flag, reached, error);
    }
    memcpy(state, N_VGetArrayPointer(r->y), r->n_state * sizeof(double));
    return CLS_OK;
}
