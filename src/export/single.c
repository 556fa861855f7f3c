/* Weights of networks in single precision (--float).
 *
 * Both laws hold by construction for every value of the weights, so that rounding them breaks none:
 * the export is another model, next to the one that was learned. Arithmetic stays in double
 * precision, in which the laws are kept to round-off. A table of weights is half as large; how far the
 * motion moves is measured, and said in the header. */
#include "export/export.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARED = 2000 }; /* steps at most */

static int has_network(const cls_model *m) {
    for (size_t k = 0; k < m->n_learned; k++)
        if (!strcmp(m->learned[k].field->kind->name, "network")) return 1;
    return 0;
}

/* Values of parameters that s has and the model's own system has not: those of --set. */
static cls_status keep_settings(const cls_system *s, cls_model *own, cls_error *error) {
    cls_assignments set = {0, NULL, NULL, NULL};
    const char **names = clsi_calloc(s->n_parameters + 1, sizeof *names);
    double *values = clsi_calloc(s->n_parameters + 1, sizeof *values);
    cls_system *again = NULL;
    cls_status status = names && values ? CLS_OK : clsi_no_memory(error);
    for (size_t k = 0; k < s->n_parameters && status == CLS_OK; k++)
        if (own->system->parameter_value[k] != s->parameter_value[k]) {
            names[set.n] = s->parameter[k].name;
            values[set.n++] = s->parameter_value[k];
        }
    set.names = names;
    set.values = values;
    if (status == CLS_OK && set.n)
        status = clsi_system_settable(s, own, &set, 0, NULL, &again, error);
    if (again) {
        cls_system_free(&own->system);
        own->system = again;
    }
    free(names);
    free(values);
    return status;
}

cls_status clsi_single_model(const cls_system *s, const cls_model *m, cls_model *own,
                             cls_error *error) {
    if (!m || !has_network(m))
        return clsi_fail(error, CLS_USAGE,
                         "--float is for the weights of networks, and there are none here: numbers "
                         "of formulas stay in double precision");
    *own = *m; /* shares all but its numbers and its system */
    own->system = NULL;
    own->theta = clsi_calloc(m->n_theta + 1, sizeof *own->theta);
    if (!own->theta) return clsi_no_memory(error);
    for (size_t k = 0; k < m->n_theta; k++) own->theta[k] = (double)(float)m->theta[k];
    cls_status status = clsi_model_build(own, error);
    return status == CLS_OK ? keep_settings(s, own, error) : status;
}

void clsi_single_clear(cls_model *own) {
    cls_system_free(&own->system);
    free(own->theta);
}

static cls_status begin(const cls_system *s, const clsi_export *e, cls_simulator **sim,
                        cls_error *error) {
    cls_simulate_options o = cls_simulate_defaults();
    const double times[] = {0, 1};
    double *zeros = clsi_calloc(2 * e->n_inputs + 1, sizeof *zeros);
    o.scheme = e->sp->options.scheme;
    o.h = e->sp->options.h;
    o.max_halvings = e->sp->options.max_halvings;
    cls_status status = zeros ? cls_simulator_create(s, &o, sim, error) : clsi_no_memory(error);
    if (status == CLS_OK && e->n_inputs)
        status = cls_simulator_inputs(*sim, 2, times, zeros, CLS_HOLD_ZERO, error);
    if (status == CLS_OK) status = cls_simulator_start(*sim, 0, e->start, error);
    free(zeros);
    return status;
}

cls_status clsi_single_compare(clsi_export *e, const cls_system *s, cls_error *error) {
    cls_simulator *exact = NULL, *rounded = NULL;
    size_t n = e->sp->nz;
    double *off = clsi_calloc(2 * n + 1, sizeof *off), *size = off + n;
    cls_status status = off ? begin(s, e, &exact, error) : clsi_no_memory(error);
    if (status == CLS_OK) status = begin(e->s, e, &rounded, error);
    for (; status == CLS_OK && e->single_steps < COMPARED; e->single_steps++) {
        if (cls_simulator_advance(exact, 1, NULL) || cls_simulator_advance(rounded, 1, NULL)) break;
        const double *x = cls_simulator_state(exact), *y = cls_simulator_state(rounded);
        for (size_t i = 0; i < n; i++) {
            off[i] = fmax(off[i], fabs(y[i] - x[i]));
            size[i] = fmax(size[i], fabs(x[i]));
        }
    }
    for (size_t i = 0; i < n && status == CLS_OK; i++)
        if (size[i] > 0) e->single_error = fmax(e->single_error, off[i] / size[i]);
    cls_simulator_free(&exact);
    cls_simulator_free(&rounded);
    free(off);
    return status;
}
