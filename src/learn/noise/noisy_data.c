/* Noisy data: what they are, whether they are for multiple shooting, and why. */
#include "base/base.h"
#include "learn/noise/noisy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- is it for this? ---- */

static const double NOISY = 1e-4; /* of the spread; below it one solve is as good */
/* Of second differences. Below it the weak form is as good, and fifty times faster (decision 261). */
static const double FAINT_FORCES = 1e-4;

static double noise_of(const clsi_points *p) {
    double most = 0;
    for (size_t k = 0; k < p->nz; k++)
        most = fmax(most, clsi_points_noise(p, k) / clsi_points_spread(p, k));
    return most;
}

/* States that no column says. */
int clsi_noisy_lacks(const clsi_points *p) {
    for (size_t k = 0; k < p->nz && !p->intervals; k++)
        if (!p->observed[k]) return 1;
    return 0;
}

int clsi_noisy_unsaid(const clsi_noisy *k) {
    return clsi_lacks_states(k->w->system, k->n_tables, (const cls_table *const *)k->tables);
}

/* Did the caller choose how to learn? */
static int is_told(const cls_learn_options *o) {
    int optimizer = o->optimizer && strcmp(o->optimizer, "auto") != 0;
    return optimizer || o->scheme || o->window || o->weights || o->from || o->resume ||
           o->max_windows || o->max_iterations || o->restarts > 1 || o->anchor_weight > 0;
}

/* Is what is unknown for multiple shooting, if the data are, and the caller did not choose otherwise? */
static int is_free(const clsi_learner *w) {
    const cls_system *s = w->system;
    if (w->o->loss || is_told(w->o) || s->n_anchors || s->nu) return 0;
    for (size_t i = 0; i < w->o->n_unknown; i++) { /* networks have no terms to choose from */
        const char *spec = w->o->field;
        for (size_t k = 0; k < s->n_unknown; k++)
            if (strcmp(s->unknown[k], w->o->unknown[i]) == 0 && s->unknown_field[k])
                spec = s->unknown_field[k];
        const clsi_field_kind *kind = spec ? clsi_field_kind_of(spec) : NULL;
        if (kind && !kind->linear) return 0;
    }
    return 1;
}

static int is_wanted(const clsi_learner *w) {
    return w->o->loss && strcmp(w->o->loss, "multiple-shooting") == 0;
}

/* A lagrangian whose masses are known is a hamiltonian of which velocities are measured; others are not simulated while
 * they are learned. */
int clsi_noisy_moves(const clsi_learner *w) {
    const cls_system *s = w->system;
    if (s->formalism != CLS_LAGRANGIAN) return 1;
    if (s->form->kind != CLSI_FORM_PHASE) return 0;
    for (size_t i = 0; i < w->o->n_unknown; i++) {
        if (s->formula_name && !strcmp(s->formula_name, w->o->unknown[i])) return 0;
        for (size_t k = 0; k < s->n_lets; k++)
            if (!strcmp(s->lets[k].name, w->o->unknown[i]) &&
                cls_depends(s->g, s->lets[k].node, s->n, s->v))
                return 0;
    }
    return 1;
}

int clsi_learner_is_noisy(const clsi_learner *w) {
    const clsi_points *p = w->points;
    if (is_wanted(w)) return 1;
    if (!is_free(w) || p->intervals) return 0;
    if (!clsi_noisy_moves(w) && !clsi_noisy_lacks(p)) return 0;
    return noise_of(p) > NOISY || clsi_noisy_lacks(p) || clsi_points_uneven(p);
}

int clsi_learner_has_noisy_positions(const clsi_learner *w) {
    return w->points->intervals &&
           (is_wanted(w) || (is_free(w) && w->points->noise > FAINT_FORCES));
}

int clsi_learner_is_recorded(const clsi_learner *w) {
    const cls_system *s = w->system;
    int measured = 0;
    for (size_t k = 0; k < s->nu; k++) measured |= s->input_formula[k] == CLS_NO_NODE;
    return measured || w->open;
}

/* ---- the data ---- */

/* What says a state that was not measured itself: a temperature its entropy, a velocity its momentum. */
static const char *conjugate_of(const cls_system *s, size_t e) {
    const cls_node *list[] = {s->p, s->v, s->S, s->T}, *other[] = {s->v, s->p, s->T, s->S};
    const size_t n[] = {s->n, s->n, s->m, s->m};
    for (size_t k = 0; k < 4; k++)
        for (size_t j = 0; j < n[k]; j++)
            if (s->form->z[e] == list[k][j]) return cls_node_name(s->g, other[k][j]);
    return NULL;
}

/* Rows of one table as columns time, trajectory, the states that it has, or what says them, inputs and
 * outputs. A time
 * that goes back begins a trajectory where they have no numbers. */
static cls_status take_states(clsi_noisy *k, const cls_table *t, const char *file, size_t i) {
    const cls_system *s = k->w->system;
    size_t nz = k->w->points->nz, rows = cls_table_rows(t), n = 2;
    int time = clsi_table_time(t), group = cls_table_find(t, "trajectory");
    if (time < 0) return clsi_no_column(t, file, "time", CLS_DATA, k->w->error);
    size_t more = s->nu + s->n_outputs;
    const char **names = clsi_calloc(nz + more + 2, sizeof *names);
    const double **list = clsi_calloc(nz + more + 2, sizeof *list);
    double *number = k->columns[i] = clsi_calloc(rows + 1, sizeof *number);
    if (!names || !list || !number) {
        free(names);
        free(list);
        return clsi_no_memory(k->w->error);
    }
    const double *at = cls_table_column(t, (size_t)time);
    const double *given = group < 0 ? NULL : cls_table_column(t, (size_t)group);
    for (size_t r = 0; r < rows; r++)
        number[r] = given               ? given[r]
                    : r == 0            ? 0
                    : at[r] > at[r - 1] ? number[r - 1]
                                        : number[r - 1] + 1;
    names[0] = "time", list[0] = at;
    names[1] = "trajectory", list[1] = number;
    for (size_t e = 0; e < nz; e++) {
        const char *name = clsi_point_name(s, e);
        int c = cls_table_find(t, name);
        if (c < 0 && (name = conjugate_of(s, e))) c = cls_table_find(t, name);
        if (c < 0) continue;
        names[n] = name;
        list[n++] = cls_table_column(t, (size_t)c);
    }
    for (size_t e = 0; e < more; e++) { /* inputs, and what is measured of the state */
        const char *name = e < s->nu ? s->input[e].name : s->bound.outputs[e - s->nu].name;
        int c = cls_table_find(t, name);
        if (c < 0) continue;
        names[n] = name;
        list[n++] = cls_table_column(t, (size_t)c);
    }
    cls_status status = cls_table_borrow(n, names, rows, list, &k->tables[i], k->w->error);
    free(names);
    free(list);
    return status;
}

cls_status clsi_noisy_record(clsi_noisy *k, const cls_table *const *tables,
                             const char *const *names) {
    const cls_learn_options *o = k->w->o;
    size_t rows = 0;
    cls_status status = CLS_OK;
    k->tables = clsi_calloc(k->n_tables, sizeof *k->tables);
    k->columns = clsi_calloc(k->n_tables, sizeof *k->columns);
    if (!k->tables || !k->columns) return clsi_no_memory(k->w->error);
    for (size_t i = 0; i < k->n_tables && status == CLS_OK; i++) {
        status = take_states(k, tables[i], names[i], i);
        rows += cls_table_rows(tables[i]);
    }
    double test = o->test < 0 ? (rows >= 200 ? 0.2 : 0) : o->test;
    if (status == CLS_OK)
        status = clsi_recording_create(k->w->system, k->n_tables,
                                       (const cls_table *const *)k->tables, names, test, o->average,
                                       o->hold, o->n_test, &k->data, k->w->error);
    return status;
}

/* ---- why ---- */

char *clsi_noisy_explain(const clsi_noisy *k) {
    clsi_text t = {0};
    const clsi_points *p = k->w->points;
    if (k->w->o->loss)
        clsi_text_printf(&t, "multiple shooting, as asked for");
    else if (k->field) {
        clsi_text_printf(
            &t,
            "multiple shooting, because %zu of %zu states are measured, by which those "
            "between them begin; %zu rows every %.3g, time scale %.3g",
            k->data->ny, p->nz, k->data->n, k->data->interval, k->data->time_scale);
        return clsi_text_take(&t);
    } else if (k->blind || k->driven) {
        const char *why = k->Q ? "parameters are unknown beside parts" : "the system has inputs";
        clsi_text_printf(&t, "multiple shooting, because %s; %zu rows every %.3g, time scale %.3g",
                         why, k->data->n, k->data->interval, k->data->time_scale);
        return clsi_text_take(&t);
    } else if (clsi_noisy_lacks(p)) {
        clsi_text_append(&t, "multiple shooting, because no column says");
        for (size_t e = 0, n = 0; e < p->nz; e++)
            if (!p->observed[e]) {
                const char *by = conjugate_of(k->w->system, e);
                int said = by && cls_table_find(k->tables[0], by) >= 0;
                clsi_text_printf(&t, "%s %s", n++ ? "," : "", clsi_point_name(k->w->system, e));
                if (said) clsi_text_printf(&t, " (but %s)", by);
            }
        return clsi_text_take(&t);
    } else if (!(noise_of(p) > NOISY)) {
        clsi_text_printf(&t, "multiple shooting, because rows are far apart and not evenly so");
        return clsi_text_take(&t);
    } else
        clsi_text_printf(&t, "multiple shooting, because the data are noisy:");
    for (size_t e = 0, n = 0; e < p->nz; e++) {
        double noise = clsi_points_noise(p, e), spread = clsi_points_spread(p, e);
        if (!(noise > 0.1 * NOISY * spread)) continue;
        clsi_text_printf(&t, "%s %s %.2g (%.2g %% of its spread)", n++ ? "," : "",
                         clsi_point_name(k->w->system, e), noise, 100 * noise / spread);
    }
    return clsi_text_take(&t);
}
