/* The paper's two programs as printed (Ruiz, Portillo, Romero 2021), with its misprints mended
 * (docs/physics/metriplectic.md F1 to F3) and its mistakes kept (F4 to F6).
 *
 *   (3.10)  every entry of the symmetric M_SS a sum of terms:  minimise |S' - M 1|^2 / Sbar^2
 *           subject to 1.M 1 >= 0 at the samples. Only M 1 is identifiable: the rank is less than
 *           the number of unknowns (22 of 33 in the paper's example), the smallest solution is
 *           taken, and M is indefinite.
 *   (3.11)  minimise the reversible residual of E subject to M dE = 0 at the samples. With that M
 *           the conditions force dE/dS = 0: the energy has no temperature, and "M dE = 0 to 1e-16"
 *           is the trivial solution.
 * It is here to show this; no model is made of it, because nothing of it holds by form. */
#include "identify/identify.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct stage {
    clsi_qp *q;
    clsi_convex c;
    size_t n, terms, entries; /* unknowns = entries of M (upper triangle) x terms */
} stage;

static size_t entry(size_t m, size_t i, size_t j) {
    return i < j ? i * m - i * (i + 1) / 2 + j : j * m - j * (j + 1) / 2 + i;
}

/* ---- (3.10) ---- */

static cls_status take_friction(void *context, const clsi_block *b) {
    stage *s = context;
    const clsi_qp_data *d = s->q->data;
    size_t m = d->m, base = d->nz - m;
    for (size_t probe = b->from; probe < b->to; probe++) {
        double *row = s->c.E + s->c.n_inequalities++ * s->n;
        for (size_t i = 0; i < m; i++) {
            double scale = d->size[2], want = d->target[(base + i) * d->n + probe] / scale;
            double *A = s->c.group[0].row;
            memset(A, 0, s->n * sizeof *A);
            for (size_t j = 0; j < m; j++)
                for (size_t t = 0; t < s->terms; t++) {
                    size_t at = entry(m, i, j) * s->terms + t;
                    A[at] += clsi_qp_mean(d, b, probe, t) / scale;
                    row[at] += clsi_qp_middle(d, b, probe, t);
                }
            cls_status status = clsi_convex_add(&s->c, 0, 0, want, want * want, s->q->error);
            if (status != CLS_OK) return status;
        }
    }
    return CLS_OK;
}

static cls_status build_operator(stage *s, const clsi_terms *t) {
    clsi_qp *q = s->q;
    cls_graph *g = q->s->g;
    size_t m = q->s->m;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            cls_node sum = cls_constant(g, 0);
            for (size_t k = 0; k < s->terms; k++) {
                double x = s->c.x[entry(m, i, j) * s->terms + k];
                sum = cls_add(g, sum, cls_mul(g, cls_constant(g, x), t->node[k]));
            }
            q->M[i * m + j] = sum;
        }
    return cls_graph_status(g, q->error);
}

static cls_status friction(stage *s, const clsi_terms *t) {
    clsi_qp *q = s->q;
    cls_program *program = NULL;
    size_t m = q->s->m;
    s->terms = t->n;
    s->entries = m * (m + 1) / 2;
    s->n = s->entries * s->terms;
    s->c.E = clsi_calloc(q->data->n_probes * s->n + 1, sizeof *s->c.E);
    s->c.e = clsi_calloc(q->data->n_probes + 1, sizeof *s->c.e);
    cls_status status = s->c.E && s->c.e ? CLS_OK : clsi_no_memory(q->error);
    if (status == CLS_OK) status = clsi_convex_open(s->n, 1, &s->c, q->error);
    if (status == CLS_OK) status = clsi_convex_group(&s->c, 0, NULL, q->error);
    if (status == CLS_OK)
        status = cls_program_create(q->s->g, q->data->nz, q->z, t->n, t->node, &program, q->error);
    if (status == CLS_OK) status = clsi_qp_sweep(q->data, program, take_friction, s, q->error);
    if (status == CLS_OK) {
        clsi_text unnamed = {0};
        status = clsi_convex_solve(&s->c, 0, "friction", 0, NULL, &unnamed, q->error);
        clsi_text_clear(&unnamed);
    }
    if (status == CLS_OK) {
        q->info->friction = s->c.info;
        clsi_text_printf(&q->words,
                         "friction: %zu of %zu combinations of the entries of M are not seen: the "
                         "data see M 1 only\n",
                         s->c.info.nullity, s->n);
        status = build_operator(s, t);
    }
    cls_program_free(&program);
    return status;
}

/* ---- (3.11) ---- */

typedef struct energy_stage {
    clsi_qp *q;
    clsi_convex c;
    const clsi_terms *t;
} energy_stage;

/* Outputs: dPhi/dz (n, nz), then M (m, m). */
static cls_status take_energy(void *context, const clsi_block *b) {
    energy_stage *s = context;
    clsi_qp *q = s->q;
    const clsi_qp_data *d = q->data;
    size_t n = s->t->n, nq = q->s->nq, m = d->m, base = d->nz - m;
    for (size_t probe = b->from; probe < b->to; probe++) {
        for (size_t k = 0; k < base; k++) {
            int position = k < nq;
            size_t slope = position ? nq + k : k - nq;
            double scale = (position ? 1 : -1) * d->size[position ? 0 : 1];
            double *A = s->c.group[0].row, want = d->target[k * d->n + probe] / fabs(scale);
            for (size_t j = 0; j < n; j++)
                A[j] = clsi_qp_mean(d, b, probe, j * d->nz + slope) / scale;
            cls_status status =
                clsi_convex_add(&s->c, 0, position ? 0 : 1, want, want * want, q->error);
            if (status != CLS_OK) return status;
        }
        for (size_t i = 0; i < m; i++) {
            double *row = s->c.C + s->c.n_conditions++ * n;
            for (size_t l = 0; l < m; l++)
                for (size_t j = 0; j < n; j++)
                    row[j] += clsi_qp_middle(d, b, probe, n * d->nz + i * m + l) *
                              clsi_qp_middle(d, b, probe, j * d->nz + base + l);
        }
    }
    return CLS_OK;
}

static cls_status energy_program(energy_stage *s, cls_program **out) {
    clsi_qp *q = s->q;
    size_t n = s->t->n, nz = q->data->nz, m = q->s->m;
    cls_node *nodes = clsi_calloc(n * nz + m * m, sizeof *nodes);
    if (!nodes) return clsi_no_memory(q->error);
    cls_status status = CLS_OK;
    for (size_t j = 0; j < n && status == CLS_OK; j++)
        status = cls_gradient(q->s->g, s->t->node[j], nz, q->z, nodes + j * nz);
    memcpy(nodes + n * nz, q->M, m * m * sizeof *nodes);
    if (status == CLS_OK)
        status = cls_program_create(q->s->g, nz, q->z, n * nz + m * m, nodes, out, q->error);
    free(nodes);
    return status;
}

static cls_status energy(energy_stage *s) {
    clsi_qp *q = s->q;
    cls_graph *g = q->s->g;
    cls_program *program = NULL;
    size_t n = s->t->n, rows = q->s->m * q->data->n_probes;
    s->c.C = clsi_calloc(rows * n + 1, sizeof *s->c.C);
    s->c.d = clsi_calloc(rows + 1, sizeof *s->c.d);
    cls_status status = s->c.C && s->c.d ? CLS_OK : clsi_no_memory(q->error);
    if (status == CLS_OK) status = clsi_convex_open(n, 1, &s->c, q->error);
    if (status == CLS_OK) status = clsi_convex_group(&s->c, 0, NULL, q->error);
    if (status == CLS_OK) status = energy_program(s, &program);
    if (status == CLS_OK) status = clsi_qp_sweep(q->data, program, take_energy, s, q->error);
    if (status == CLS_OK)
        status = clsi_convex_solve(&s->c, 0, "energy", 1, s->t, &q->words, q->error);
    cls_program_free(&program);
    if (status != CLS_OK) return status;
    q->info->energy = s->c.info;
    q->info->reversible = s->c.info.residual;
    memcpy(q->alpha, s->c.x, n * sizeof *q->alpha);
    q->energy = cls_constant(g, 0);
    for (size_t j = 0; j < n; j++)
        q->energy = cls_add(g, q->energy, cls_mul(g, cls_constant(g, q->alpha[j]), s->t->node[j]));
    return cls_graph_status(g, q->error);
}

/* The dictionary of the first heat exchange serves all entries of M, as in the paper. */
cls_status clsi_qp_literal(clsi_qp *q) {
    if (q->n_energy != 1 || q->part[0].kind != CLSI_PART_FORMULA || q->n_parts < 2 ||
        !q->s->canonical)
        return clsi_fail(q->error, CLS_USAGE,
                         "--literal is the paper's method: the whole energy and a heat exchange of "
                         "a canonical system are unknown");
    stage s = {.q = q};
    energy_stage e = {.q = q, .t = &q->part[0]};
    cls_status status = friction(&s, &q->part[q->n_energy]);
    if (status == CLS_OK) {
        q->n_entries = s.n;
        q->entries = s.c.x; /* kept for the report */
        s.c.x = NULL;
        status = energy(&e);
    }
    clsi_convex_close(&s.c);
    clsi_convex_close(&e.c);
    return status;
}
