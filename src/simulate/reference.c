/* The reference solution: SUNDIALS CVODE (BDF, Newton) at tight tolerance.
 *
 * The variables are z, the native state, with z' = (dy/dz)^-1 y'(z); for z = y that matrix is the
 * identity and is not formed. The Jacobian of y' comes from the graph, too, where z = y. Of many
 * variables both matrices are sparse; then Newton's equations of the others are solved by GMRES. `work` is
 * integrated along. Absolute tolerances follow the size of each component at the start, and where that
 * is next to nothing the size of its motion. */
#include "simulate/stepper.h"
#include "base/base.h"
#include "expr/graph.h"
#include "simulate/slopes.h"
#include "system/dense.h"
#include "system/equations.h"
#include <cvode/cvode.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_dense.h>

/* Smaller than this at the start, a state and its motion do not set the tolerances. */
#define LEAST_SIZE 1e-100

struct clsi_reference {
    const cls_system *s;
    size_t nz, n_state;
    int identity; /* z = y */
    int many;     /* variables: sparse matrices */
    double tolerance;
    size_t nu, n_accounts;
    /* z, t, u -> y' (nz), rates of accounts; then dy/dz unless identity: (nz, nz) or its entries */
    cls_program *rates;
    cls_program *slope;        /* z, t, u -> d(y', accounts)/dz, for identity: the same */
    clsi_slopes *slopes;       /* of many, for identity */
    clsi_equations *chart;     /* of many: dy/dz, unless identity */
    size_t n_chart, n_slopes;  /* entries of the two */
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
    if (r->chart) {
        memcpy(r->chart->value, r->out + r->n_state, r->n_chart * sizeof(double));
        if (!clsi_equations_solve(r->chart, r->out)) return 1;
    } else if (!r->identity) {
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
    if (r->slopes) {
        clsi_slopes_put(r->slopes, r->slope_out, J);
        return 0;
    }
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

/* What is compiled: y' (nz) and rates of accounts, y, inputs of the programs. */
typedef struct parts {
    cls_node *rate, *y, *inputs;
    size_t n_rates, n_inputs;
} parts;

/* Program of the first n_rates nodes of p->rate (0: none of them) and of n entries. */
static cls_status compile_with(const parts *p, cls_graph *g, size_t n_rates, size_t n,
                               const cls_node *entries, cls_program **out, cls_error *error) {
    cls_node *nodes = clsi_calloc(n_rates + n, sizeof *nodes);
    if (!nodes) return clsi_no_memory(error);
    if (n_rates) memcpy(nodes, p->rate, n_rates * sizeof *nodes);
    if (n) memcpy(nodes + n_rates, entries, n * sizeof *nodes);
    cls_status status =
        cls_program_create(g, p->n_inputs, p->inputs, n_rates + n, nodes, out, error);
    free(nodes);
    return status;
}

static cls_status compile_few(clsi_reference *r, const parts *p, clsi_step *st, cls_error *error) {
    size_t nz = r->nz, rows = r->identity ? p->n_rates : nz;
    cls_node *slopes = clsi_calloc(rows * nz, sizeof *slopes);
    if (!slopes) return clsi_no_memory(error);
    cls_status status = cls_jacobian(st->g, rows, r->identity ? p->rate : p->y, nz, st->z0, slopes);
    if (status != CLS_OK) status = cls_graph_status(st->g, error);
    r->n_chart = r->identity ? 0 : nz * nz;
    r->n_slopes = r->identity ? rows * nz : 0;
    if (status == CLS_OK)
        status = compile_with(p, st->g, p->n_rates, r->n_chart, slopes, &r->rates, error);
    if (status == CLS_OK && r->identity)
        status = compile_with(p, st->g, 0, r->n_slopes, slopes, &r->slope, error);
    free(slopes);
    return status;
}

static cls_status compile_many(clsi_reference *r, const parts *p, clsi_step *st, cls_error *error) {
    clsi_rows rows;
    size_t n = r->identity ? p->n_rates : r->nz;
    cls_status status =
        clsi_sparse_jacobian(st->g, n, r->identity ? p->rate : p->y, r->nz, st->z0, &rows);
    if (status != CLS_OK) return clsi_graph_failed(st->g, error);
    r->n_chart = r->identity ? 0 : rows.n;
    r->n_slopes = r->identity ? rows.n : 0;
    status = compile_with(p, st->g, p->n_rates, r->n_chart, rows.node, &r->rates, error);
    if (status == CLS_OK && r->identity) {
        status = compile_with(p, st->g, 0, rows.n, rows.node, &r->slope, error);
        if (status == CLS_OK) status = clsi_slopes_create(n, &rows, &r->slopes, error);
    } else if (status == CLS_OK) {
        r->chart = clsi_equations_new(n);
        for (size_t i = 0; i < n && r->chart; i++)
            for (size_t k = rows.start[i]; k < rows.start[i + 1]; k++)
                clsi_equations_add(r->chart, i, rows.column[k], k);
        status = r->chart && !r->chart->failed ? clsi_equations_ready(r->chart, error)
                                               : clsi_no_memory(error);
    }
    clsi_rows_clear(&rows);
    return status;
}

/* Through a step's point at the start. */
static cls_status compile(clsi_reference *r, clsi_step *st, cls_error *error) {
    size_t nz = r->nz, all = r->n_state;
    clsi_point *pt = clsi_point_start(st);
    cls_node *block = clsi_calloc(all + 2 * nz + 1 + r->nu, sizeof *block);
    if (!block || st->exhausted) {
        free(block);
        return clsi_no_memory(error);
    }
    parts p = {block, block + all, block + all + nz, all, nz + 1 + r->nu};
    clsi_point_rates(st, pt, p.y, p.rate);
    for (size_t k = 0; k < r->n_accounts; k++)
        p.rate[nz + k] = pt->account[clsi_account_at(r->s, k)];
    memcpy(p.inputs, st->z0, nz * sizeof *block);
    p.inputs[nz] = st->t;
    for (size_t k = 0; k < r->nu; k++) p.inputs[nz + 1 + k] = st->u0[k];
    cls_status status = r->many ? compile_many(r, &p, st, error) : compile_few(r, &p, st, error);
    free(block);
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
    r->out = clsi_calloc(r->n_state + r->n_chart, sizeof(double));
    r->work_rates = clsi_calloc(cls_program_work_size(r->rates), sizeof(double));
    r->slope_out = clsi_calloc(r->n_slopes, sizeof(double));
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
    r->cvode = CVodeCreate(CV_BDF, r->context);
    if (!r->y || !r->absolute || !r->cvode) return clsi_no_memory(error);
    if (r->slopes)
        r->matrix = clsi_slopes_matrix(r->slopes, r->context);
    else if (!r->many)
        r->matrix = SUNDenseMatrix(n, n, r->context);
    if (!r->matrix && (r->slopes || !r->many)) return clsi_no_memory(error);
    r->solver = r->slopes ? clsi_slopes_solver(r->slopes, r->context)
                : r->many ? SUNLinSol_SPGMR(r->y, SUN_PREC_NONE, 0, r->context)
                          : SUNLinSol_Dense(r->y, r->matrix, r->context);
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
    r->many = r->nz > CLSI_MANY_UNKNOWNS;
    r->tolerance = options->reference_tolerance;
    static const clsi_scheme nothing = {
        .info = {.name = "bdf"}, .build = build_nothing, .varies = 1, .drift = 1};
    clsi_step *st;
    cls_status status = clsi_step_create(s, &nothing, 0, &st, error);
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
    clsi_slopes_free(&r->slopes);
    clsi_equations_free(&r->chart);
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
