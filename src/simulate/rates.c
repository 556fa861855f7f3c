/* The equations of motion in continuous time, as a defect of given states and derivatives.
 *
 * In y = (q, p, S) the motion is y' = rate(z, t). For a state that is not y itself (velocities and
 * temperatures of a thermal lagrangian) the derivative of y is dy/dz z', exact by the graph. One
 * reverse walk gives the derivative of any combination of rows in the parameters. */
#include "simulate/rates.h"
#include "base/base.h"
#include "expr/program.h"
#include "scheme/scheme.h"
#include <stdlib.h>
#include <string.h>

static void build_nothing(clsi_step *st) {
    memcpy(st->next, st->z0, st->nz * sizeof *st->next);
}

const clsi_scheme clsi_no_scheme = {
    .info = {.name = "rates"}, .build = build_nothing, .varies = 1, .drift = 1};

/* The defects (nz) over z, t and the symbols `dot`. */
static cls_status defects(clsi_step *st, const cls_node *dot, cls_node *out) {
    cls_graph *g = st->g;
    size_t nz = st->nz;
    clsi_point *pt = clsi_point_start(st);
    cls_node *y = st->exhausted ? NULL : clsi_calloc(2 * nz + nz * nz, sizeof *y);
    if (!y) return CLS_MEMORY;
    cls_node *rate = y + nz, *slope = rate + nz;
    clsi_point_rates(st, pt, y, rate);
    cls_status status = cls_jacobian(g, nz, y, nz, st->z0, slope);
    for (size_t e = 0; e < nz && status == CLS_OK; e++) {
        out[e] = cls_neg(g, rate[e]);
        for (size_t k = 0; k < nz; k++)
            out[e] = cls_add(g, out[e], cls_mul(g, slope[e * nz + k], dot[k]));
    }
    free(y);
    return status;
}

cls_status clsi_defects_create(const cls_system *s, clsi_motion_defects *m, cls_error *error) {
    clsi_step *st = NULL;
    size_t nz = s->form->nz;
    m->z = clsi_calloc(3 * nz, sizeof *m->z);
    if (!m->z) return clsi_no_memory(error);
    m->dot = m->z + nz;
    m->defect = m->dot + nz;
    cls_status status = clsi_step_create(s, &clsi_no_scheme, 0, &st, error);
    if (status == CLS_OK) {
        memcpy(m->z, st->z0, nz * sizeof *m->z);
        m->t = st->t;
        for (size_t k = 0; k < nz; k++) m->dot[k] = cls_fresh_symbol(st->g, "dot'");
        status = defects(st, m->dot, m->defect);
        if (status != CLS_OK) (void)cls_graph_status(st->g, error);
    }
    clsi_step_free(&st);
    return status;
}

void clsi_defects_clear(clsi_motion_defects *m) {
    free(m->z);
    *m = (clsi_motion_defects){0};
}

/* inputs: room for z, t, z', theta, mu. */
static cls_status compile(clsi_rates *r, const cls_system *s, const cls_node *theta,
                          cls_node *inputs, cls_error *error) {
    cls_graph *g = s->g;
    size_t nz = r->nz, P = r->n_theta, before = 2 * nz + 1 + P;
    cls_node *rows = clsi_calloc(nz, sizeof *rows), sum = cls_constant(g, 0);
    if (!rows) return clsi_no_memory(error);
    clsi_motion_defects m = {.theta = theta};
    cls_status status = clsi_defects_create(s, &m, error);
    if (status == CLS_OK) {
        memcpy(inputs, m.z, nz * sizeof *inputs);
        inputs[nz] = m.t;
        memcpy(inputs + nz + 1, m.dot, nz * sizeof *inputs);
        if (P) memcpy(inputs + 2 * nz + 1, theta, P * sizeof *inputs);
        memcpy(rows, m.defect, nz * sizeof *rows);
    }
    clsi_defects_clear(&m);
    for (size_t e = 0; e < nz && status == CLS_OK; e++) {
        if (!cls_depends(g, rows[e], P, theta)) continue;
        cls_node mu = inputs[before + r->n_rows] = cls_fresh_symbol(g, "mu'");
        sum = cls_add(g, sum, cls_mul(g, mu, rows[e]));
        rows[r->n_rows] = rows[e];
        r->row[r->n_rows++] = e;
    }
    clsi_parameters learned = {2 * nz + 1, P};
    if (status == CLS_OK)
        status = clsi_program_create_open(g, learned, before, before, inputs, r->n_rows, r->n_rows,
                                          rows, &r->defect, error);
    if (status == CLS_OK)
        status = clsi_program_create_reverse(g, learned, before + r->n_rows, inputs, theta, sum,
                                             &r->reverse, error);
    if (status == CLS_MEMORY) (void)clsi_no_memory(error);
    free(rows);
    return status;
}

cls_status clsi_rates_create(const cls_system *s, size_t n_theta, const cls_node *theta,
                             clsi_rates **out, cls_error *error) {
    size_t nz = s->form->nz;
    clsi_rates *r = *out = clsi_calloc(1, sizeof *r);
    cls_node *inputs = clsi_calloc(3 * nz + 1 + n_theta, sizeof *inputs);
    cls_status status = r && inputs ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK && !(r->row = clsi_calloc(nz, sizeof *r->row)))
        status = clsi_no_memory(error);
    if (status == CLS_OK) {
        r->nz = nz;
        r->n_theta = n_theta;
        status = compile(r, s, theta, inputs, error);
    }
    free(inputs);
    if (status != CLS_OK) clsi_rates_free(out);
    return status;
}

void clsi_rates_free(clsi_rates **rates) {
    clsi_rates *r = *rates;
    if (!r) return;
    cls_program_free(&r->defect);
    cls_program_free(&r->reverse);
    free(r->row);
    free(r);
    *rates = NULL;
}
