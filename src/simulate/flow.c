/* The motion in continuous time to first order, sixteen states side by side.
 *
 * All formalisms have the defect of rates.c, linear in z'; what f does to first order follows from
 * its derivatives by the implicit function theorem, so that no system is ever solved for z' in
 * formulas. For comparison with discrete steps (learn/shooting/continuous.c), not for simulating. */
#include "simulate/flow.h"
#include "base/base.h"
#include "scheme/scheme.h"
#include "system/dense.h"
#include <stdlib.h>
#include <string.h>

enum { VALUE, SLOPES, REVERSE, PROGRAMS };

struct clsi_current {
    const clsi_flow *f;
    const cls_program *program[PROGRAMS];
    double *lanes[PROGRAMS], *block, *factor;
    size_t *pivot;
};

/* ---- compiled ---- */

static cls_status compile(clsi_flow *f, const clsi_motion_defects *m, cls_graph *g,
                          cls_error *error) {
    size_t nz = f->rates->nz, P = f->rates->n_theta, n_in = 2 * nz + 1 + P;
    cls_node *inputs = clsi_calloc(n_in + nz + 2 * nz * nz, sizeof *inputs);
    if (!inputs) return clsi_no_memory(error);
    cls_node *rest = inputs + n_in, *M = rest + nz, *slope = M + nz * nz;
    cls_node *zero = clsi_calloc(nz, sizeof *zero);
    cls_status status = zero ? CLS_OK : clsi_no_memory(error);
    for (size_t k = 0; k < nz && zero; k++) zero[k] = cls_constant(g, 0);
    if (status == CLS_OK) status = cls_substitute(g, nz, m->defect, nz, m->dot, zero, rest);
    if (status == CLS_OK) status = cls_jacobian(g, nz, m->defect, nz, m->dot, M);
    if (status == CLS_OK) status = cls_jacobian(g, nz, m->defect, nz, m->z, slope);
    if (status != CLS_OK) (void)cls_graph_status(g, error);
    memcpy(inputs, m->z, nz * sizeof *inputs);
    inputs[nz] = m->t;
    if (P) memcpy(inputs + nz + 1, m->theta, P * sizeof *inputs);
    if (status == CLS_OK)
        status =
            clsi_program_create_open(g, (clsi_parameters){nz + 1, P}, nz + 1 + P, nz + 1 + P,
                                     inputs, nz + nz * nz, nz + nz * nz, rest, &f->value, error);
    memcpy(inputs + nz + 1, m->dot, nz * sizeof *inputs);
    if (P) memcpy(inputs + 2 * nz + 1, m->theta, P * sizeof *inputs);
    if (status == CLS_OK)
        status = clsi_program_create_open(g, (clsi_parameters){2 * nz + 1, P}, n_in, n_in, inputs,
                                          nz * nz, nz * nz, slope, &f->slopes, error);
    free(zero);
    free(inputs);
    return status;
}

cls_status clsi_flow_create(const cls_system *s, size_t n_theta, const cls_node *theta,
                            clsi_flow **out, cls_error *error) {
    clsi_flow *f = *out = clsi_calloc(1, sizeof *f);
    if (!f) return clsi_no_memory(error);
    clsi_motion_defects m = {.theta = theta};
    cls_status status = clsi_rates_create(s, n_theta, theta, &f->rates, error);
    if (status == CLS_OK) status = clsi_defects_create(s, &m, error);
    if (status == CLS_OK) status = compile(f, &m, s->g, error);
    clsi_defects_clear(&m);
    if (status != CLS_OK) clsi_flow_free(out);
    return status;
}

void clsi_flow_free(clsi_flow **flow) {
    clsi_flow *f = *flow;
    if (!f) return;
    clsi_rates_free(&f->rates);
    cls_program_free(&f->value);
    cls_program_free(&f->slopes);
    free(f);
    *flow = NULL;
}

/* ---- scratch ---- */

cls_status clsi_current_create(const clsi_flow *f, clsi_current **out, cls_error *error) {
    clsi_current *c = *out = clsi_calloc(1, sizeof *c);
    if (!c) return clsi_no_memory(error);
    *c = (clsi_current){.f = f, .program = {f->value, f->slopes, f->rates->reverse}};
    size_t nz = f->rates->nz, size = nz * nz;
    for (int i = 0; i < PROGRAMS; i++) size += clsi_lanes_size(c->program[i]);
    c->block = clsi_calloc(size, sizeof *c->block);
    c->pivot = clsi_calloc(nz, sizeof *c->pivot);
    if (!c->block || !c->pivot) {
        clsi_current_free(out);
        return clsi_no_memory(error);
    }
    c->factor = c->block;
    double *at = c->block + nz * nz;
    for (int i = 0; i < PROGRAMS; i++) {
        c->lanes[i] = at;
        clsi_lanes_prepare(c->program[i], at);
        at += clsi_lanes_size(c->program[i]);
    }
    return CLS_OK;
}

void clsi_current_free(clsi_current **current) {
    clsi_current *c = *current;
    if (!c) return;
    free(c->block);
    free(c->pivot);
    free(c);
    *current = NULL;
}

void clsi_current_set(clsi_current *c, const double *theta) {
    for (int i = 0; i < PROGRAMS; i++) clsi_lanes_set(c->program[i], c->lanes[i], theta);
}

/* Number `from` of each list into input `at`; idle lanes repeat the first. */
static void put(clsi_current *c, int p, size_t at, size_t n, const double *const *list,
                size_t from) {
    double *row = clsi_lanes_input(c->program[p], c->lanes[p], at);
    for (size_t i = 0; i < CLSI_LANES; i++) row[i] = list[i < n ? i : 0][from];
}

static void put_states(clsi_current *c, int p, size_t n, const double *const *z, const double *t) {
    size_t nz = c->f->rates->nz;
    double *row = clsi_lanes_input(c->program[p], c->lanes[p], nz);
    for (size_t k = 0; k < nz; k++) put(c, p, k, n, z, k);
    for (size_t i = 0; i < CLSI_LANES; i++) row[i] = t[i < n ? i : 0];
}

static void run(clsi_current *c, int p, size_t n) {
    clsi_lanes_early(c->program[p], n, c->lanes[p]);
    clsi_lanes_late(c->program[p], n, c->lanes[p]);
}

static double output(const clsi_current *c, int p, size_t k, size_t lane) {
    return clsi_lanes_output(c->program[p], c->lanes[p], k)[lane];
}

int clsi_current_rates(clsi_current *c, size_t n, const double *const *z, const double *t,
                       double *const *dot, double *const *M, size_t *const *pivot) {
    size_t nz = c->f->rates->nz;
    int whole = 1;
    put_states(c, VALUE, n, z, t);
    run(c, VALUE, n);
    for (size_t i = 0; i < n; i++) {
        double *factor = M ? M[i] : c->factor;
        size_t *order = pivot ? pivot[i] : c->pivot;
        for (size_t k = 0; k < nz; k++) dot[i][k] = -output(c, VALUE, k, i);
        for (size_t k = 0; k < nz * nz; k++) factor[k] = output(c, VALUE, nz + k, i);
        if (clsi_lu_factor(nz, factor, order))
            whole = 0;
        else
            clsi_lu_solve(nz, factor, order, dot[i]);
    }
    return whole;
}

void clsi_current_slopes(clsi_current *c, size_t n, const double *const *z, const double *t,
                         const double *const *dot, double *const *slope) {
    size_t nz = c->f->rates->nz;
    put_states(c, SLOPES, n, z, t);
    for (size_t k = 0; k < nz; k++) put(c, SLOPES, nz + 1 + k, n, dot, k);
    run(c, SLOPES, n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < nz * nz; k++) slope[i][k] = output(c, SLOPES, k, i);
}

void clsi_current_add(clsi_current *c, size_t n, const double *const *z, const double *t,
                      const double *const *dot, const double *const *mu, double *sums) {
    const clsi_rates *r = c->f->rates;
    size_t nz = r->nz, at = 2 * nz + 1 + r->n_theta;
    put_states(c, REVERSE, n, z, t);
    for (size_t k = 0; k < nz; k++) put(c, REVERSE, nz + 1 + k, n, dot, k);
    for (size_t e = 0; e < r->n_rows; e++) {
        double *row = clsi_lanes_input(c->program[REVERSE], c->lanes[REVERSE], at + e);
        memset(row, 0, CLSI_LANES * sizeof *row); /* idle lanes add nothing */
        for (size_t i = 0; i < n; i++) row[i] = mu[i][r->row[e]];
    }
    run(c, REVERSE, n);
    clsi_lanes_add(c->program[REVERSE], n, c->lanes[REVERSE], sums);
}
