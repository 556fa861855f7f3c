/* Steps with parameters, and the derivatives of what a step does by the implicit function theorem.
 *
 * A step solves r(z0, u; theta) = 0 for u and ends at z1 = next(z0, u; theta). To first order
 *
 *     dz1 = B dz0 + A dtheta,   B = next_z + L r_z,   A = next_theta + L r_theta,   L = -next_u r_u^-1
 *
 * (docs/physics/ports.md, with u eliminated). Nothing is differentiated through Newton's
 * iterations: only the equations at their solution. A is never formed as a matrix of expressions;
 * a combination of its rows is the gradient of lambda.r + mu.next in theta, one reverse walk of the
 * graph, which costs about as much as r itself for any number of parameters. This holds for every
 * scheme that is one step (or a composition of steps) and for every formalism, because it only sees
 * their expressions.
 *
 * Sixteen steps are made side by side: plain Newton in all lanes, and the damped one of newton.c
 * for the lanes in which that fails. A lane never looks at its neighbours, so results do not depend
 * on how steps are grouped. The results have the accuracy of Newton's last update: round-off. */
#include "simulate/sensitive.h"
#include "base/base.h"
#include "base/vectors.h"
#include "simulate/stepper.h"
#include "system/dense.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- compiled ---- */

/* d(r, next)/d(u, z0) in one go, so that what both have in common is walked through once. */
static cls_status compile_tangent(clsi_sensitive *s, const clsi_step *st, const cls_node *inputs,
                                  cls_error *error) {
    size_t k = s->k, nz = s->nz, both = k + nz, n = both * both;
    cls_node *memory = clsi_calloc(2 * n + 2 * both, sizeof *memory);
    if (!memory) return clsi_no_memory(error);
    cls_node *all = memory, *whole = memory + n, *rows = whole + n, *columns = rows + both;
    cls_node *r_z = all + k * k, *next_u = r_z + k * nz, *next_z = next_u + nz * k;
    if (k) memcpy(rows, st->residual, k * sizeof *rows);
    if (k) memcpy(columns, st->unknown, k * sizeof *columns);
    memcpy(rows + k, st->next, nz * sizeof *rows);
    memcpy(columns + k, st->z0, nz * sizeof *columns);
    cls_status status = cls_jacobian(st->g, both, rows, both, columns, whole);
    if (status != CLS_OK) (void)cls_graph_status(st->g, error);
    for (size_t i = 0; i < both; i++) {
        memcpy(i < k ? all + i * k : next_u + (i - k) * k, whole + i * both, k * sizeof *all);
        memcpy(i < k ? r_z + i * nz : next_z + (i - k) * nz, whole + i * both + k,
               nz * sizeof *all);
    }
    size_t n_in = s->stepper->n_base + k;
    if (status == CLS_OK)
        status =
            clsi_program_create_open(st->g, (clsi_parameters){s->stepper->first_free, s->n_theta},
                                     n_in, n_in, inputs, n, n, all, &s->tangent, error);
    free(memory);
    return status;
}

/* inputs: base, u, and room for lambda and mu. */
static cls_status compile_reverse(clsi_sensitive *s, const clsi_step *st, size_t n_theta,
                                  const cls_node *theta, cls_node *inputs, cls_error *error) {
    cls_graph *g = st->g;
    size_t k = s->k, nz = s->nz, at = s->stepper->n_base + k;
    cls_node sum = cls_constant(g, 0);
    for (size_t i = 0; i < k + nz; i++) {
        cls_node of = i < k ? st->residual[i] : st->next[i - k];
        inputs[at + i] = cls_fresh_symbol(g, i < k ? "lambda'" : "mu'");
        sum = cls_add(g, sum, cls_mul(g, inputs[at + i], of));
    }
    return clsi_program_create_reverse(g, (clsi_parameters){s->stepper->first_free, n_theta},
                                       at + k + nz, inputs, theta, sum, &s->reverse, error);
}

static cls_status compile(clsi_sensitive *s, const clsi_step *st, size_t n_theta,
                          const cls_node *theta, cls_error *error) {
    size_t nz = s->nz, n_base = s->stepper->n_base;
    cls_node *inputs = clsi_calloc(n_base + 2 * s->k + nz, sizeof *inputs);
    if (!inputs) return clsi_no_memory(error);
    memcpy(inputs, st->z0, nz * sizeof *inputs);
    inputs[nz] = st->received;
    inputs[nz + 1] = st->t;
    inputs[nz + 2] = st->h;
    inputs[nz + 3] = st->defect;
    size_t n_owed = s->stepper->n_owed, at = nz + 4 + n_owed;
    for (size_t k = 0; k < n_owed; k++) inputs[nz + 4 + k] = st->owed[k];
    if (s->nu) memcpy(inputs + at, st->u0, s->nu * sizeof *inputs);
    if (s->nu) memcpy(inputs + at + s->nu, st->u1, s->nu * sizeof *inputs);
    if (n_theta) memcpy(inputs + s->stepper->first_free, theta, n_theta * sizeof *inputs);
    memcpy(inputs + n_base, st->unknown, s->k * sizeof *inputs);
    cls_status status = compile_tangent(s, st, inputs, error);
    if (status == CLS_OK) status = compile_reverse(s, st, n_theta, theta, inputs, error);
    free(inputs);
    return status;
}

static const double WHOLE = 1;

cls_status clsi_sensitive_create(const cls_system *system, const char *scheme, size_t n_theta,
                                 const cls_node *theta, clsi_sensitive **out, cls_error *error) {
    *out = NULL;
    const char *name = scheme ? scheme : cls_scheme_default(system);
    const clsi_scheme *found = clsi_scheme_find(name);
    if (found && (!found->build || found->estimate))
        return clsi_fail(error, CLS_USAGE,
                         "%s chooses its own steps, which cannot be differentiated in parameters; "
                         "take discrete-gradient or implicit-midpoint",
                         name);
    if (found && found->tableau)
        return clsi_fail(error, CLS_USAGE,
                         "steps of %s have no derivatives in parameters here; take rk4, "
                         "discrete-gradient or implicit-midpoint",
                         name);
    clsi_sensitive *s = clsi_calloc(1, sizeof *s);
    if (!s) return clsi_no_memory(error);
    cls_simulate_options o = cls_simulate_defaults();
    clsi_step *st = NULL;
    o.scheme = name;
    cls_status status =
        clsi_stepper_create_open(system, &o, n_theta, theta, &s->stepper, &st, error);
    if (status == CLS_OK) {
        s->nz = s->stepper->nz;
        s->nu = s->stepper->nu;
        s->k = s->stepper->n_unknowns;
        s->n_theta = n_theta;
        s->n_stages = found->composition ? found->n_composition : 1;
        s->stage = found->composition ? found->composition : &WHOLE;
        status = compile(s, st, n_theta, theta, error);
    }
    clsi_step_free(&st);
    if (status == CLS_OK)
        *out = s;
    else
        clsi_sensitive_free(&s);
    return status;
}

void clsi_sensitive_free(clsi_sensitive **sensitive) {
    clsi_sensitive *s = *sensitive;
    if (!s) return;
    clsi_stepper_free(&s->stepper);
    cls_program_free(&s->tangent);
    cls_program_free(&s->reverse);
    free(s);
    *sensitive = NULL;
}

size_t clsi_record_unknowns(const clsi_sensitive *s) {
    return s->nz + 2 + 2 * s->nu;
}

size_t clsi_record_size(const clsi_sensitive *s) {
    return clsi_record_unknowns(s) + s->k;
}

/* ---- scratch ---- */

enum { GUESS, RESIDUAL, NEXT, TANGENT, REVERSE, PROGRAMS };

struct clsi_stride {
    const clsi_sensitive *s;
    int alone;
    const cls_program *program[PROGRAMS];
    double *lanes[PROGRAMS]; /* work of each program */
    double *base, *least;    /* (n_base), (k): of one lane */
    double *next;            /* (nz + CLSI_ACCOUNTS): the end of one step, and its gains */
    double *u, *size;        /* (CLSI_LANES, k), (CLSI_LANES): Newton's unknowns, last updates */
    double *J, *d, *X;       /* (k, k), (k), (k + 1, nz) */
    size_t *pivot;
    clsi_newton newton; /* for lanes that need the damped method */
    double *block;
};

static double *carve(double **at, size_t n) {
    double *here = *at;
    *at += n;
    return here;
}

/* Everything that one clsi_newton needs; `at` NULL-based to count. */
static void carve_newton(const clsi_stepper *sp, double **at, clsi_newton *nw) {
    size_t k = sp->n_unknowns, out = k + k * k + sp->n_positive;
    nw->in = carve(at, sp->n_base + k);
    nw->out = carve(at, out);
    nw->trial_out = carve(at, out);
    nw->lu = carve(at, k * k);
    nw->d = carve(at, k);
    nw->trial_d = carve(at, k);
    nw->u = carve(at, k);
    nw->scale = carve(at, k);
    nw->least = carve(at, k);
    nw->guarded = carve(at, sp->n_guarded);
    nw->work_residual = carve(at, cls_program_work_size(sp->residual));
    nw->work_guess = carve(at, cls_program_work_size(sp->guess));
    nw->work_next = carve(at, cls_program_work_size(sp->next));
    nw->work_guard = sp->guard ? carve(at, cls_program_work_size(sp->guard)) : NULL;
}

static size_t newton_size(const clsi_stepper *sp) {
    size_t k = sp->n_unknowns;
    return sp->n_base + 7 * k + k * k + 2 * (k + k * k + sp->n_positive) + sp->n_guarded +
           cls_program_work_size(sp->residual) + cls_program_work_size(sp->guess) +
           cls_program_work_size(sp->next) + (sp->guard ? cls_program_work_size(sp->guard) : 0);
}

static void prepare_newton(const clsi_stepper *sp, clsi_newton *nw) {
    cls_program_prepare(sp->residual, nw->work_residual);
    cls_program_prepare(sp->guess, nw->work_guess);
    cls_program_prepare(sp->next, nw->work_next);
    if (sp->guard) cls_program_prepare(sp->guard, nw->work_guard);
}

cls_status clsi_stride_create(const clsi_sensitive *s, int alone, clsi_stride **out,
                              cls_error *error) {
    const clsi_stepper *sp = s->stepper;
    clsi_stride *d = *out = clsi_calloc(1, sizeof *d);
    if (!d) return clsi_no_memory(error);
    *d = (clsi_stride){.s = s,
                       .alone = alone,
                       .program = {sp->guess, sp->residual, sp->next, s->tangent, s->reverse}};
    size_t k = s->k, size = newton_size(sp) + sp->n_base + k + CLSI_LANES * (k + 1) + k * k + k +
                            (k + 2) * s->nz + CLSI_ACCOUNTS;
    for (int i = 0; i < PROGRAMS; i++) size += clsi_lanes_size(d->program[i]);
    d->block = clsi_calloc(size, sizeof(double));
    d->pivot = clsi_calloc(k, sizeof *d->pivot);
    d->newton.pivot = clsi_calloc(k, sizeof *d->pivot);
    if (!d->block || !d->pivot || !d->newton.pivot) {
        clsi_stride_free(out);
        return clsi_no_memory(error);
    }
    double *at = d->block;
    carve_newton(sp, &at, &d->newton);
    prepare_newton(sp, &d->newton);
    d->base = carve(&at, sp->n_base);
    d->least = carve(&at, k);
    d->next = carve(&at, s->nz + CLSI_ACCOUNTS);
    d->u = carve(&at, CLSI_LANES * k);
    d->size = carve(&at, CLSI_LANES);
    d->J = carve(&at, k * k);
    d->d = carve(&at, k);
    d->X = carve(&at, (k + 1) * s->nz);
    for (int i = 0; i < PROGRAMS; i++) {
        d->lanes[i] = carve(&at, clsi_lanes_size(d->program[i]));
        clsi_lanes_prepare(d->program[i], d->lanes[i]);
    }
    return CLS_OK;
}

void clsi_stride_free(clsi_stride **stride) {
    clsi_stride *d = *stride;
    if (!d) return;
    free(d->block);
    free(d->pivot);
    free(d->newton.pivot);
    free(d);
    *stride = NULL;
}

static void fill_row(double *row, double value) {
    for (size_t i = 0; i < CLSI_LANES; i++) row[i] = value;
}

void clsi_stride_set(clsi_stride *d, const double *theta) {
    const clsi_stepper *sp = d->s->stepper;
    clsi_newton *nw = &d->newton;
    clsi_program_set(sp->residual, nw->work_residual, theta);
    clsi_program_set(sp->guess, nw->work_guess, theta);
    clsi_program_set(sp->next, nw->work_next, theta);
    if (sp->guard) clsi_program_set(sp->guard, nw->work_guard, theta);
    for (int p = 0; p < PROGRAMS; p++) clsi_lanes_set(d->program[p], d->lanes[p], theta);
}

/* Input `at` of program p: number `from` of each record; idle lanes repeat the first. */
static void put(clsi_stride *d, int p, size_t at, size_t n, const double *const *record,
                size_t from) {
    double *row = clsi_lanes_input(d->program[p], d->lanes[p], at);
    fill_row(row, record[0][from]);
    for (size_t i = 0; i < n; i++) row[i] = record[i][from];
}

/* z0, t, h and inputs of the records into program p (what was received, defect and owed stay zero). */
static void put_base(clsi_stride *d, int p, size_t n, const double *const *record) {
    for (size_t j = 0; j < d->s->nz; j++) put(d, p, j, n, record, j);
    put(d, p, d->s->nz + 1, n, record, d->s->nz);
    put(d, p, d->s->nz + 2, n, record, d->s->nz + 1);
    for (size_t j = 0; j < 2 * d->s->nu; j++)
        put(d, p, d->s->nz + 4 + d->s->stepper->n_owed + j, n, record, d->s->nz + 2 + j);
}

static void put_unknowns(clsi_stride *d, int p, size_t n, const double *const *record) {
    for (size_t j = 0; j < d->s->k; j++)
        put(d, p, d->s->stepper->n_base + j, n, record, clsi_record_unknowns(d->s) + j);
}

static double output(const clsi_stride *d, int p, size_t k, size_t lane) {
    return clsi_lanes_output(d->program[p], d->lanes[p], k)[lane];
}

/* ---- steps ---- */

enum { MOST_ITERATIONS = 10, BUSY = 0, SOLVED = 1, LOST = 2 };

/* One update of lane i; BUSY, SOLVED or LOST. */
static int update(clsi_stride *d, size_t i, double *record) {
    const clsi_stepper *sp = d->s->stepper;
    size_t k = d->s->k;
    double size = 0, *u = record + clsi_record_unknowns(d->s);
    for (size_t e = 0; e < k; e++) d->d[e] = output(d, RESIDUAL, e, i);
    for (size_t e = 0; e < k * k; e++) d->J[e] = output(d, RESIDUAL, k + sp->n_positive + e, i);
    for (size_t e = 0; e < sp->n_positive; e++)
        if (!(output(d, RESIDUAL, k + e, i) > 0)) return LOST;
    if (clsi_lu_factor(k, d->J, d->pivot)) return LOST;
    clsi_lu_solve(k, d->J, d->pivot, d->d);
    memcpy(d->base, record, d->s->nz * sizeof(double));
    d->base[d->s->nz + 2] = record[d->s->nz + 1];
    clsi_newton_least(sp, d->base, d->least);
    for (size_t e = 0; e < k; e++) {
        size = fmax(size, fabs(d->d[e]) / fmax(fabs(u[e]), d->least[e]));
        if (!isfinite(d->d[e])) return LOST;
        u[e] -= d->d[e];
    }
    double before = d->size[i], ratio = fmin(size / before, 1), tolerance = sp->options.tolerance;
    double next = isinf(before) ? size * size : size * ratio * ratio;
    d->size[i] = size;
    if (size <= tolerance || (size < 1e-5 && next <= 0.1 * tolerance)) return SOLVED;
    if (size < 1e-9 && size > 0.25 * before) return SOLVED; /* round-off */
    return size > 2 * before ? LOST : BUSY;
}

/* The damped method, from the cold guess unless u is warm. */
static int solve_alone(clsi_stride *d, double *record, int warm) {
    const clsi_stepper *sp = d->s->stepper;
    clsi_newton *nw = &d->newton;
    size_t nz = d->s->nz, size = d->s->k * sizeof(double);
    memcpy(nw->in, record, nz * sizeof(double));
    nw->in[nz + 1] = record[nz];
    nw->in[nz + 2] = record[nz + 1];
    memcpy(nw->in + nz + 4 + sp->n_owed, record + nz + 2, 2 * d->s->nu * sizeof(double));
    if (warm)
        memcpy(nw->in + sp->n_base, record + clsi_record_unknowns(d->s), size);
    else
        cls_program_run(sp->guess, nw->work_guess, nw->in, nw->in + sp->n_base);
    if (clsi_newton_solve(sp, nw) != CLSI_FINE) return 0;
    memcpy(record + clsi_record_unknowns(d->s), nw->in + sp->n_base, size);
    return 1;
}

static void newton(clsi_stride *d, size_t n, double *const *record, int *fine) {
    const double *const *read = (const double *const *)record;
    int state[CLSI_LANES];
    size_t busy = d->s->k ? n : 0;
    for (size_t i = 0; i < n; i++) {
        state[i] = d->s->k ? BUSY : SOLVED;
        d->size[i] = INFINITY;
    }
    put_base(d, RESIDUAL, n, read);
    if (busy) clsi_lanes_early(d->program[RESIDUAL], n, d->lanes[RESIDUAL]);
    for (int tries = 0; busy && tries < MOST_ITERATIONS; tries++) {
        put_unknowns(d, RESIDUAL, n, read);
        clsi_lanes_late(d->program[RESIDUAL], n, d->lanes[RESIDUAL]);
        busy = 0;
        for (size_t i = 0; i < n; i++) {
            if (state[i] == BUSY) state[i] = update(d, i, record[i]);
            busy += state[i] == BUSY;
        }
    }
    for (size_t i = 0; i < n; i++) fine[i] = state[i] == SOLVED || solve_alone(d, record[i], 0);
}

static int is_inside(const clsi_stepper *sp, size_t nz, const double *z) {
    for (size_t j = 0; j < nz; j++)
        if (!isfinite(z[j])) return 0;
    for (size_t j = 0; j < sp->n_guarded; j++) {
        const clsi_variable *x = clsi_state_variable(sp->s, sp->guarded[j]);
        if (!(z[sp->guarded[j]] > x->low && z[sp->guarded[j]] < x->high)) return 0;
    }
    return 1;
}

static void guess(clsi_stride *d, size_t n, double *const *record, const int *warm) {
    int cold = 0;
    for (size_t i = 0; i < n; i++) cold |= !warm[i];
    if (!cold) return;
    put_base(d, GUESS, n, (const double *const *)record);
    clsi_lanes_early(d->program[GUESS], n, d->lanes[GUESS]);
    clsi_lanes_late(d->program[GUESS], n, d->lanes[GUESS]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d->s->k && !warm[i]; j++)
            record[i][clsi_record_unknowns(d->s) + j] = output(d, GUESS, j, i);
}

static void step_alone(clsi_stride *d, double *record, int warm, double *next, int *fine) {
    const clsi_stepper *sp = d->s->stepper;
    clsi_newton *nw = &d->newton;
    *fine = (warm && solve_alone(d, record, 1)) || solve_alone(d, record, 0);
    if (!*fine) return;
    cls_program_run(sp->next, nw->work_next, nw->in, d->next);
    memcpy(next, d->next, d->s->nz * sizeof(double));
    *fine = is_inside(sp, d->s->nz, next);
}

void clsi_stride_step(clsi_stride *d, size_t n, double *const *record, const int *warm,
                      double *const *next, int *fine) {
    const double *const *read = (const double *const *)record;
    for (size_t i = 0; i < n && d->alone; i++) step_alone(d, record[i], warm[i], next[i], &fine[i]);
    if (d->alone) return;
    guess(d, n, record, warm);
    newton(d, n, record, fine);
    put_base(d, NEXT, n, read);
    put_unknowns(d, NEXT, n, read);
    clsi_lanes_early(d->program[NEXT], n, d->lanes[NEXT]);
    clsi_lanes_late(d->program[NEXT], n, d->lanes[NEXT]);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < d->s->nz; j++) next[i][j] = output(d, NEXT, j, i);
        fine[i] = fine[i] && is_inside(d->s->stepper, d->s->nz, next[i]);
    }
}

/* ---- derivatives ---- */

/* The columns of X (k, n) with the factors of a matrix: clsi_lu_solve for each, in the same order of operations,
 * side by side. What is zero in the factors of local systems is skipped. */
CLONES static void solve_columns(size_t k, const double *lu, const size_t *pivot, size_t n,
                                 double *X) {
    for (size_t i = 0; i < k; i++)
        for (size_t c = 0; c < n && pivot[i] != i; c++) {
            double kept = X[pivot[i] * n + c];
            X[pivot[i] * n + c] = X[i * n + c];
            X[i * n + c] = kept;
        }
    for (size_t i = 1; i < k; i++)
        for (size_t j = 0; j < i; j++)
            for (size_t c = 0; c < n && lu[i * k + j] != 0; c++)
                X[i * n + c] -= lu[i * k + j] * X[j * n + c];
    for (size_t i = k; i-- > 0;) {
        for (size_t j = i + 1; j < k; j++)
            for (size_t c = 0; c < n && lu[i * k + j] != 0; c++)
                X[i * n + c] -= lu[i * k + j] * X[j * n + c];
        for (size_t c = 0; c < n; c++) X[i * n + c] /= lu[i * k + i];
    }
}

/* L = -next_u r_u^-1: r_u^T L^T = -next_u^T. */
static int find_L(clsi_stride *d, size_t lane, double *L) {
    size_t k = d->s->k, nz = d->s->nz, first = k * k + k * nz;
    for (size_t a = 0; a < k; a++)
        for (size_t b = 0; b < k; b++) d->J[b * k + a] = output(d, TANGENT, a * k + b, lane);
    if (k && clsi_lu_factor(k, d->J, d->pivot)) return 0;
    for (size_t e = 0; e < nz; e++)
        for (size_t a = 0; a < k; a++)
            d->X[a * nz + e] = -output(d, TANGENT, first + e * k + a, lane);
    solve_columns(k, d->J, d->pivot, nz, d->X);
    for (size_t e = 0; e < nz; e++)
        for (size_t a = 0; a < k; a++) L[e * k + a] = d->X[a * nz + e];
    return 1;
}

/* B (nz, nz) += l x^T, l every k numbers, x where it is not zero. */
CLONES static void add_products(size_t nz, size_t k, const double *l, size_t low, size_t high,
                                const double *x, double *B) {
    for (size_t e = 0; e < nz; e++)
        for (size_t j = low; j < high; j++) B[e * nz + j] += l[e * k] * x[j];
}

/* B = next_z + L r_z; a row of r_z of a local system is zero but for a few neighbours. */
static void find_B(clsi_stride *d, size_t lane, const double *L, double *B) {
    size_t k = d->s->k, nz = d->s->nz, last = k * k + 2 * k * nz;
    for (size_t i = 0; i < nz * nz; i++) B[i] = output(d, TANGENT, last + i, lane);
    for (size_t a = 0; a < k; a++) {
        size_t low = nz, high = 0;
        for (size_t j = 0; j < nz; j++) {
            d->X[j] = output(d, TANGENT, k * k + a * nz + j, lane);
            if (d->X[j] == 0) continue;
            if (low == nz) low = j;
            high = j + 1;
        }
        add_products(nz, k, L + a, low, high, d->X, B);
    }
}

int clsi_stride_tangent(clsi_stride *d, size_t n, const double *const *record, double *const *B,
                        double *const *L) {
    int whole = 1;
    put_base(d, TANGENT, n, record);
    put_unknowns(d, TANGENT, n, record);
    clsi_lanes_early(d->program[TANGENT], n, d->lanes[TANGENT]);
    clsi_lanes_late(d->program[TANGENT], n, d->lanes[TANGENT]);
    for (size_t i = 0; i < n; i++) {
        whole &= find_L(d, i, L[i]);
        find_B(d, i, L[i], B[i]);
    }
    return whole;
}

/* Idle lanes have none, so that they add nothing to sums. */
static void put_seed(clsi_stride *d, size_t at, size_t n, const double *const *seed, size_t from) {
    double *row = clsi_lanes_input(d->program[REVERSE], d->lanes[REVERSE], at);
    fill_row(row, 0);
    for (size_t i = 0; i < n; i++) row[i] = seed[i][from];
}

void clsi_stride_reverse(clsi_stride *d, size_t n, const double *const *record,
                         const double *const *lambda, const double *const *mu) {
    size_t at = d->s->stepper->n_base + d->s->k;
    put_base(d, REVERSE, n, record);
    put_unknowns(d, REVERSE, n, record);
    for (size_t j = 0; j < d->s->k; j++) put_seed(d, at + j, n, lambda, j);
    for (size_t j = 0; j < d->s->nz; j++) put_seed(d, at + d->s->k + j, n, mu, j);
    clsi_lanes_early(d->program[REVERSE], n, d->lanes[REVERSE]);
    clsi_lanes_late(d->program[REVERSE], n, d->lanes[REVERSE]);
}

void clsi_stride_add(const clsi_stride *d, size_t n, double *sums) {
    clsi_lanes_add(d->program[REVERSE], n, d->lanes[REVERSE], sums);
}

void clsi_stride_slopes(const clsi_stride *d, size_t i, double *row) {
    clsi_lanes_slopes(d->program[REVERSE], d->lanes[REVERSE], i, row);
}
