/* The range of what a model has seen: each input of a learned part lay between two numbers in the
 * data, and outside of them the part is an extrapolation. Bounded fields stay bounded there and the
 * laws hold everywhere, but the motion is no longer one that data speak for. One program gives all
 * inputs at a state; a state costs one run of it. */
#include "base/base.h"
#include "base/misuse.h"
#include "model/model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cls_range {
    const cls_model *model;
    size_t n;
    cls_program *program; /* state -> inputs, not scaled */
    const char **part, **input;
    double *low, *high, *value, *work;
};

static void add_input(cls_range *r, cls_node *x, const clsi_learned *l, size_t k, cls_node own) {
    int skip = !clsi_has_range(l, k);
    for (size_t j = 0; j < r->n && !skip; j++)
        skip = x[j] == own && r->low[j] == l->low[k] && r->high[j] == l->high[k];
    if (skip) return;
    x[r->n] = own;
    r->part[r->n] = l->part;
    r->input[r->n] = l->input[k];
    r->low[r->n] = l->low[k];
    r->high[r->n++] = l->high[k];
}

/* used_k: whether the function of a learned part has its input k. A friction with terms in v alone says nothing of a
 * temperature that it might have had as well, whatever range that was seen in. */
static cls_status find_used(const cls_model *m, const clsi_learned *l, unsigned char *used,
                            cls_error *error) {
    cls_graph *g;
    cls_node x[CLSI_FIELD_MAX_INPUTS];
    char name[24];
    cls_status status = cls_graph_create(NULL, &g, error);
    if (status) return status;
    for (size_t k = 0; k < l->d; k++) {
        snprintf(name, sizeof name, "x%zu", k);
        x[k] = cls_symbol(g, name);
    }
    cls_node value = clsi_field_node(l->field, g, x, m->theta + l->offset);
    status = cls_graph_status(g, error);
    for (size_t k = 0; k < l->d && !status; k++) used[k] = cls_depends(g, value, 1, &x[k]) != 0;
    cls_graph_free(&g);
    return status;
}

/* Every input once, as an expression of the state. */
static cls_status make_inputs(const cls_model *m, cls_range *r, cls_node *x, cls_error *error) {
    const cls_system *s = m->system;
    for (size_t i = 0; i < m->n_learned; i++) {
        clsi_learned l = m->learned[i];
        for (size_t k = 0; k < l.d; k++) {
            l.center[k] = 0;
            l.half[k] = 1;
        }
        unsigned char used[CLSI_FIELD_MAX_INPUTS];
        cls_status status = find_used(m, &l, used, error);
        if (status) return status;
        for (size_t turn = 0; clsi_learned_turn(&l, s, &turn);) {
            cls_node own[CLSI_FIELD_MAX_INPUTS];
            if (clsi_learned_inputs(&l, s, own) != CLS_OK) return clsi_no_memory(error);
            for (size_t k = 0; k < l.d; k++)
                if (used[k]) add_input(r, x, &l, k, own[k]);
        }
    }
    const clsi_form *f = s->form;
    clsi_place at = {f->q, f->v, f->p, f->S, f->T, s->t};
    return clsi_place_at(s, &at, r->n, x, x) == CLS_OK ? CLS_OK : clsi_no_memory(error);
}

cls_status cls_range_create(const cls_model *m, cls_range **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, m);
    size_t most = 0;
    *out = NULL;
    for (size_t i = 0; i < m->n_learned; i++) {
        clsi_learned l = m->learned[i];
        for (size_t turn = 0; clsi_learned_turn(&l, m->system, &turn);) most += l.d;
    }
    cls_range *r = clsi_calloc(1, sizeof *r);
    cls_node *x = clsi_calloc(most, sizeof *x);
    if (r) {
        r->model = m;
        r->part = clsi_calloc(2 * most, sizeof *r->part);
        r->low = clsi_calloc(3 * most, sizeof *r->low);
    }
    cls_status status = r && x && r->part && r->low ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) {
        r->input = r->part + most;
        r->high = r->low + most;
        r->value = r->high + most;
        status = make_inputs(m, r, x, error);
    }
    const clsi_form *f = m->system->form;
    if (status == CLS_OK)
        status = cls_program_create(m->system->g, f->nz, f->z, r->n, x, &r->program, error);
    if (status == CLS_OK) {
        r->work = clsi_calloc(cls_program_work_size(r->program), sizeof *r->work);
        if (r->work)
            cls_program_prepare(r->program, r->work);
        else
            status = clsi_no_memory(error);
    }
    free(x);
    if (status == CLS_OK)
        *out = r;
    else
        cls_range_free(&r);
    return status;
}

void cls_range_free(cls_range **range) {
    if (!range) return;
    cls_range *r = *range;
    if (!r) return;
    cls_program_free(&r->program);
    free(r->part);
    free(r->low);
    free(r->work);
    free(r);
    *range = NULL;
}

const double *clsi_range_inputs(cls_range *r, const double *state) {
    cls_program_run(r->program, r->work, state, r->value);
    return r->value;
}

size_t clsi_range_find(const cls_range *r, const clsi_learned *l, size_t k) {
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->input[i], l->input[k]) && r->low[i] == l->low[k] && r->high[i] == l->high[k])
            return i;
    return SIZE_MAX;
}

int cls_range_check(cls_range *r, const double *state, cls_outside *out) {
    if (!r) return 0;
    cls_program_run(r->program, r->work, state, r->value);
    double worst = 0;
    size_t at = SIZE_MAX;
    for (size_t i = 0; i < r->n; i++) {
        double width = fmax(r->high[i] - r->low[i], 1e-12 * fmax(1, fabs(r->low[i])));
        double beyond = fmax(r->low[i] - r->value[i], r->value[i] - r->high[i]) / width;
        if (!(beyond <= 0.01) && !(beyond <= worst)) { /* a hair beyond the border is inside */
            worst = beyond;
            at = i;
        }
    }
    if (at == SIZE_MAX) return 0;
    *out = (cls_outside){r->part[at], r->input[at], r->value[at], r->low[at], r->high[at]};
    return 1;
}
