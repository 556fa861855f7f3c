/* Points of which some states were not measured, completed by what the equations of the others imply.
 *
 * Unknown functions are learned from points with all states. Where a temperature was not measured the
 * known part of the equations says what it must be about: a gas pushes its piston, whatever rubs
 * there (hidden.c), with everything unknown taken for zero. That is a start for inputs, ranges and
 * the residual's solution; multiple shooting, which compares with measured columns only, finds the
 * rest. */
#include "learn/learn.h"
#include "learn/recording/measured.h"
#include "learn/shooting/multiple.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int clsi_lacks_states(const cls_system *s, size_t n_tables, const cls_table *const *tables) {
    for (size_t i = 0; i < n_tables; i++)
        for (size_t k = 0; k < s->form->nz; k++)
            if (cls_table_find(tables[i], clsi_point_name(s, k)) < 0) return 1;
    return 0;
}

int clsi_has_heat_column(const cls_system *s, size_t n_tables, const cls_table *const *tables) {
    for (size_t i = 0; i < n_tables; i++)
        for (size_t k = 0; k < s->m; k++)
            if (cls_table_find(tables[i], s->temperature[k].name) >= 0 ||
                cls_table_find(tables[i], s->entropy[k].name) >= 0)
                return 1;
    return 0;
}

/* Row i of the recording is point i: nothing was sorted, nothing left out. */
static int same_rows(const clsi_recording *d, const clsi_points *p) {
    if (d->n != p->n_data) return 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->time[i] != p->time[i]) return 0;
    return 1;
}

static void fill(const clsi_multiple *m, const double *theta, clsi_points *p) {
    double *z = clsi_calloc(m->nz + 1, sizeof *z);
    for (size_t s = 0; z && s < m->data->n_segments; s++) {
        const clsi_segment *g = &m->data->segment[s];
        for (size_t i = g->first; i < g->end; i++) {
            if (clsi_multiple_start(m, theta, s, i, z, NULL) != CLS_OK) continue;
            for (size_t e = 0; e < p->nz; e++)
                if (!p->observed[e] && isfinite(z[e])) p->z[e * p->n + i] = z[e];
        }
    }
    free(z);
}

cls_status clsi_points_complete(const cls_system *system, const cls_assignments *set,
                                const cls_learn_options *o, const clsi_recording *data,
                                clsi_points *p, cls_error *error) {
    clsi_choices smallest = {.halved = 10};
    clsi_unknowns *us = NULL;
    cls_system *open = NULL;
    cls_node *symbols = NULL;
    clsi_observer *observer = NULL;
    clsi_multiple *m = NULL;
    const char **channel = clsi_calloc(data->ny + 1, sizeof *channel);
    double *theta = NULL, *bounds = NULL, most;
    if (!same_rows(data, p)) {
        free(channel);
        return CLS_OK;
    }
    cls_status status = channel
                            ? clsi_unknowns_create_small(system, set, o, p, &smallest, &us, error)
                            : clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_unknowns_open(us, CLSI_FORMULAS, &open, &symbols, error);
    if (status == CLS_OK) {
        for (size_t c = 0; c < data->ny; c++) channel[c] = data->channel[c].name;
        theta = clsi_calloc(us->n_theta + 1, sizeof *theta);
        bounds = clsi_calloc(2 * us->n_theta + 1, sizeof *bounds);
        const char *scheme = clsi_measured_steps(open, data, NULL, &most);
        status = theta && bounds ? clsi_observer_create(open, scheme, us->n_theta, symbols,
                                                        data->ny, channel, &observer, error)
                                 : clsi_no_memory(error);
    }
    for (size_t i = 0; status == CLS_OK && i < us->n_theta; i++) {
        bounds[i] = -INFINITY;
        bounds[us->n_theta + i] = INFINITY;
    }
    if (status == CLS_OK)
        status =
            clsi_multiple_create(data, system, observer, bounds, bounds + us->n_theta, &m, error);
    if (status == CLS_OK) fill(m, theta, p);
    clsi_multiple_free(&m);
    cls_system_free(&open);
    clsi_unknowns_free(&us);
    free(symbols);
    free(channel);
    free(theta);
    free(bounds);
    return status;
}
