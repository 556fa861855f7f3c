/* Where the laws of the definition are tried: the states of the data, then points of a box around
 * them (definition.c says which). */
#include "audit/sampler.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the box ---- */

static void box_side(clsi_sampler *b, size_t i) {
    const double *x = b->st->z + i * b->st->rows;
    double low = INFINITY, high = -INFINITY;
    for (size_t k = 0; k < b->st->rows; k++) {
        if (!isfinite(x[k])) continue;
        low = fmin(low, x[k]);
        high = fmax(high, x[k]);
    }
    if (low > high) low = high = 0;
    double centre = low / 2 + high / 2, half = high / 2 - low / 2;
    /* A variable that did not move gets a tenth of its value, so that the box has an inside. */
    if (half == 0 && i <= b->st->nz) half = centre != 0 ? fabs(centre) / 10 : 0.1;
    double wider = i < b->st->nz ? b->a->options.beyond : 1; /* time and inputs stay in the data */
    const clsi_variable *domain = clsi_state_variable(b->s, i);
    b->low[i] = fmax(centre - wider * half, domain->low);
    b->high[i] = fmin(centre + wider * half, domain->high);
}

static void sequence(double *stride, size_t d) {
    double phi = 1.5;
    for (int i = 0; i < 100; i++) phi = pow(1 + phi, 1 / (double)(d + 1));
    for (size_t j = 0; j < d; j++) stride[j] = pow(phi, -(double)(j + 1));
}

cls_status clsi_sampler_create(clsi_sampler *b, cls_error *error) {
    size_t d = b->st->nz + 1 + b->st->nu;
    b->low = clsi_calloc(d, sizeof *b->low);
    b->high = clsi_calloc(d, sizeof *b->high);
    b->stride = clsi_calloc(d, sizeof *b->stride);
    b->in = clsi_calloc(d * b->block, sizeof *b->in);
    if (!b->low || !b->high || !b->stride || !b->in) return clsi_no_memory(error);
    for (size_t i = 0; i < d; i++) box_side(b, i);
    sequence(b->stride, d);
    return CLS_OK;
}

void clsi_sampler_clear(clsi_sampler *b) {
    free(b->low);
    free(b->high);
    free(b->stride);
    free(b->in);
    free(b->out);
    free(b->matrix);
}

size_t clsi_sampler_fill(clsi_sampler *b, size_t begin) {
    size_t rows = b->st->rows, total = rows + b->a->options.samples;
    size_t count = total - begin < b->block ? total - begin : b->block;
    for (size_t c = 0; c < count; c++) {
        double *in = b->in + c;
        size_t k = begin + c, d = b->st->nz + 1 + b->st->nu;
        for (size_t i = 0; k < rows && i < d; i++) in[i * b->block] = b->st->z[i * rows + k];
        for (size_t i = 0; k >= rows && i < d; i++) {
            double u = 0.5 + (double)(k - rows + 1) * b->stride[i];
            u -= (double)(long long)u; /* u is positive */
            u = u > 1e-9 ? u : 1e-9;   /* domains are open */
            u = u < 1 - 1e-9 ? u : 1 - 1e-9;
            in[i * b->block] = b->low[i] + u * (b->high[i] - b->low[i]);
        }
    }
    return count;
}

cls_status clsi_kinetic_find(const cls_system *s, clsi_kinetic *out, cls_error *error) {
    const clsi_form *form = s->form;
    const clsi_sparse *moves = &s->bound.kinematics;
    const cls_node *dual = form->kind == CLSI_FORM_PHASE ? form->v : form->p;
    *out = (clsi_kinetic){.momentum = clsi_calloc(s->n, sizeof *out->momentum),
                          .native = clsi_calloc(s->n, sizeof *out->native),
                          .dual = clsi_calloc(s->n, sizeof *out->dual)};
    unsigned char *moved = clsi_calloc(s->n, 1);
    int whole = out->momentum && out->native && out->dual && moved;
    for (size_t e = 0; e < moves->n && whole; e++) moved[moves->entries[e].column] = 1;
    for (size_t j = 0; j < s->n && whole && !s->has_entropy; j++) {
        if (s->momentum[j].role != CLSI_MOTION || !(moved[j] || s->momentum[j].turns)) continue;
        out->momentum[out->n] = j;
        out->native[out->n] = form->z[form->nq + j];
        out->dual[out->n++] = dual[j];
    }
    free(moved);
    return whole ? CLS_OK : clsi_no_memory(error);
}

void clsi_kinetic_clear(clsi_kinetic *m) {
    free(m->momentum);
    free(m->native);
    free(m->dual);
    *m = (clsi_kinetic){0};
}
