/* The second program: conductances, with the temperatures of the first.
 *
 *     S_i' = (1/T_i) sum_k kappa_ik (T_k - T_i),   kappa = kappa_0 + sum_j beta_j psi_j(x)
 *     minimise over beta  |S' - ...|^2 / Sbar^2   subject to   kappa >= 0 at every sample
 *
 * In the words of the formalism: w = T_k e_i - T_i e_k, M = sum kappa/(T_i T_k) w w^T; so M dE = 0
 * identically and M >= 0 where kappa >= 0 (docs/physics/metriplectic.md, the sound method). At
 * states that are no samples the model keeps kappa positive by its form (model.c). Convex; linear
 * in the samples but for the active set, which is small. A `dissipation` that the file leaves
 * unknown is found the same way: its kappa then is the coefficient of w w^T itself. */
#include "identify/identify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct stage {
    clsi_qp *q;
    clsi_convex c;
    size_t n;
} stage;

/* S_i' over z and the coefficients. */
static cls_status rate_nodes(const clsi_qp *q, cls_node *out) {
    const cls_system *s = q->s;
    cls_graph *g = s->g;
    for (size_t i = 0; i < s->m; i++) {
        cls_node heat = s->bound.operator_heat[i];
        CLSI_EACH(&s->bound.conductance, i, e) {
            const clsi_entry *x = &s->bound.conductance.entries[e];
            cls_node drop = cls_sub(g, s->T[x->column], s->T[i]);
            heat = cls_add(g, heat, cls_mul(g, x->node, drop));
        }
        out[i] = cls_div(g, heat, s->T[i]);
    }
    const clsi_place at = {.v = q->v, .T = q->T, .t = CLS_NO_NODE};
    return clsi_place_at(s, &at, s->m, out, out);
}

/* Outputs: for each coefficient the rates (m) that it adds, the known rates (m), the terms (n). */
static cls_status make_program(stage *s, cls_program **out) {
    clsi_qp *q = s->q;
    cls_graph *g = q->s->g;
    size_t m = q->s->m, n = s->n, count = (n + 1) * m + n, at = 0;
    cls_node *nodes = clsi_calloc(count + m + 2 * n, sizeof *nodes);
    if (!nodes) return clsi_no_memory(q->error);
    cls_node *rate = nodes + count, *beta = rate + m, *zero = beta + n;
    const clsi_place place = {.v = q->v, .T = q->T, .t = CLS_NO_NODE};
    cls_status status = rate_nodes(q, rate);
    for (size_t k = q->n_energy; k < q->n_parts; k++)
        for (size_t i = 0; i < q->part[k].n; i++, at++) {
            beta[at] = q->part[k].coefficient[i];
            zero[at] = cls_constant(g, 0);
            if (status == CLS_OK)
                status =
                    clsi_place_at(q->s, &place, 1, &q->part[k].node[i], &nodes[(n + 1) * m + at]);
        }
    for (size_t j = 0; j < n && status == CLS_OK; j++)
        for (size_t i = 0; i < m; i++) nodes[j * m + i] = cls_derivative(g, rate[i], beta[j]);
    if (status == CLS_OK) status = cls_substitute(g, m, rate, n, beta, zero, nodes + n * m);
    if (status == CLS_OK)
        status = cls_program_create(g, q->data->nz, q->z, count, nodes, out, q->error);
    free(nodes);
    return status == CLS_MEMORY ? clsi_no_memory(q->error) : status;
}

/* kappa of each part is a row of inequalities. */
static void add_inequalities(stage *s, const clsi_block *b, size_t probe) {
    clsi_qp *q = s->q;
    size_t values = (s->n + 1) * q->s->m;
    for (size_t k = q->n_energy; k < q->n_parts; k++) {
        double *row = s->c.E + s->c.n_inequalities++ * s->n;
        for (size_t i = 0; i < q->part[k].n; i++) {
            size_t j = q->part[k].offset + i;
            row[j] = clsi_qp_middle(q->data, b, probe, values + j);
        }
    }
}

static cls_status take(void *context, const clsi_block *b) {
    stage *s = context;
    const clsi_qp_data *d = s->q->data;
    size_t m = d->m, base = d->nz - m;
    for (size_t probe = b->from; probe < b->to; probe++) {
        add_inequalities(s, b, probe);
        for (size_t i = 0; i < m; i++) {
            double scale = clsi_qp_scale(d, base + i, &d->probe[probe]);
            double want = d->target[(base + i) * d->n + probe] / scale;
            double *row = s->c.group[i].row, known = clsi_qp_mean(d, b, probe, s->n * m + i);
            for (size_t j = 0; j < s->n; j++) row[j] = clsi_qp_mean(d, b, probe, j * m + i) / scale;
            cls_status status =
                clsi_convex_add(&s->c, i, 0, want - known / scale, want * want, s->q->error);
            if (status != CLS_OK) return status;
        }
    }
    return CLS_OK;
}

static cls_status solve(stage *s) {
    clsi_qp *q = s->q;
    cls_program *program = NULL;
    size_t rows = (q->n_parts - q->n_energy) * q->data->n_probes;
    s->c.E = clsi_calloc(rows * s->n + 1, sizeof *s->c.E);
    s->c.e = clsi_calloc(rows + 1, sizeof *s->c.e);
    cls_status status = s->c.E && s->c.e ? CLS_OK : clsi_no_memory(q->error);
    if (status == CLS_OK) status = clsi_convex_open(s->n, q->s->m, &s->c, q->error);
    for (size_t i = 0; i < q->s->m && status == CLS_OK; i++)
        status = clsi_convex_group(&s->c, i, NULL, q->error);
    if (status == CLS_OK) status = make_program(s, &program);
    if (status == CLS_OK) status = clsi_qp_sweep(q->data, program, take, s, q->error);
    if (status == CLS_OK)
        status = clsi_convex_solve(&s->c, q->o->sparse, "friction", q->n_parts - q->n_energy,
                                   q->part + q->n_energy, &q->words, q->error);
    if (status == CLS_OK) {
        memcpy(q->beta, s->c.x, s->n * sizeof *q->beta);
        q->info->friction = s->c.info;
    }
    cls_program_free(&program);
    return status;
}

cls_status clsi_qp_friction(clsi_qp *q) {
    stage s = {.q = q, .n = q->n_beta};
    if (s.n == 0) return CLS_OK;
    cls_status status = solve(&s);
    clsi_convex_close(&s.c);
    return status;
}
