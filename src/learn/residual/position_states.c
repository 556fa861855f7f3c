/* Positions as states that are partly hidden, for shooting.
 *
 * Shooting (shooting.c) compares simulations with what was observed and lets the starts of its
 * windows be free; states that were not measured need a guess to begin with. Velocities are central
 * differences, momenta are those that the fit of the residual gives them, and heat is that of the
 * system's start, or 1: positions do not depend on it. */
#include "base/base.h"
#include "learn/learn.h"
#include <stdlib.h>
#include <string.h>

static void *copied(size_t n, size_t size, const void *from) {
    void *to = clsi_calloc(n, size);
    if (to && n) memcpy(to, from, n * size);
    return to;
}

static cls_status copy_windows(const clsi_points *p, clsi_points *to, cls_error *error) {
    to->n_windows = p->n_windows;
    to->n_training = p->n_training;
    to->n_held = p->n_held;
    to->n_trained = p->n_trained;
    to->window = copied(p->n_windows, sizeof *p->window, p->window);
    to->held = copied(2 * p->n_held, sizeof *p->held, p->held);
    to->trained = copied(2 * p->n_trained, sizeof *p->trained, p->trained);
    to->time = copied(p->intervals->n_data, sizeof *p->time, p->intervals->time);
    to->z = clsi_calloc(to->nz * to->n, sizeof *to->z);
    to->observed = clsi_calloc(to->nz, 1);
    int whole = to->window && to->held && to->trained && to->time && to->z && to->observed;
    return whole ? CLS_OK : clsi_no_memory(error);
}

typedef struct guess {
    const clsi_intervals *all;
    const cls_system *model;
    size_t n, count; /* coordinates; of the names below */
    const char **names;
    double *values, *state;
} guess;

static cls_status guess_open(guess *g, cls_error *error) {
    const cls_system *s = g->model;
    size_t states = cls_system_state_count(s), m = cls_system_entropy_count(s);
    g->names = clsi_calloc(2 * g->n + m + 1, sizeof *g->names);
    g->values = clsi_calloc(2 * g->n + m + states + 1, sizeof *g->values);
    if (!g->names || !g->values) return clsi_no_memory(error);
    g->state = g->values + 2 * g->n + m;
    int warm = cls_system_start(s, NULL, g->state, NULL) == CLS_OK;
    for (size_t j = 0; j < g->n; j++) {
        g->names[j] = cls_system_state_name(s, j);
        g->names[g->n + j] = cls_node_name(s->g, s->v[j]);
    }
    for (size_t i = 0; i < m; i++) {
        g->names[2 * g->n + i] = cls_system_state_name(s, 2 * g->n + i);
        g->values[2 * g->n + i] = warm ? g->state[2 * g->n + i] : 1;
    }
    g->count = 2 * g->n + m;
    return CLS_OK;
}

/* The trajectory [begin, end). */
static cls_status fill(guess *g, size_t begin, size_t end, clsi_points *to, cls_error *error) {
    const clsi_intervals *all = g->all;
    cls_status status = CLS_OK;
    for (size_t i = begin; i < end && status == CLS_OK; i++) {
        size_t a = i > begin ? i - 1 : i, b = i + 1 < end ? i + 1 : i;
        for (size_t j = 0; j < g->n; j++) {
            const double *q = all->q + j * all->n_data;
            g->values[j] = q[i];
            g->values[g->n + j] = (q[b] - q[a]) / (all->time[b] - all->time[a]);
        }
        cls_assignments given = {g->count, g->names, g->values};
        status = cls_system_start(g->model, &given, g->state, error);
        for (size_t k = 0; k < to->nz; k++) to->z[k * to->n + i] = g->state[k];
    }
    return status;
}

cls_status clsi_points_of_positions(const clsi_points *p, const cls_system *model,
                                    clsi_points **out, cls_error *error) {
    *out = NULL;
    clsi_points *to = clsi_calloc(1, sizeof *to);
    guess g = {.all = p->intervals, .model = model, .n = p->intervals->dimension};
    if (!to) return clsi_no_memory(error);
    to->rule = clsi_rule_quadrature;
    to->n = to->n_data = p->intervals->n_data;
    to->nz = model->form->nz;
    cls_status status = copy_windows(p, to, error);
    if (status == CLS_OK) status = guess_open(&g, error);
    for (size_t j = 0; j < g.n && status == CLS_OK; j++) to->observed[j] = 1;
    for (size_t i = 0; i < p->n_trained && status == CLS_OK; i++)
        status = fill(&g, p->trained[2 * i], p->trained[2 * i + 1], to, error);
    for (size_t i = 0; i < p->n_held && status == CLS_OK; i++)
        status = fill(&g, p->held[2 * i], p->held[2 * i + 1], to, error);
    free(g.names);
    free(g.values);
    if (status == CLS_OK)
        *out = to;
    else
        clsi_points_free(&to);
    return status;
}
