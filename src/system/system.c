/* A system as an object: freeing it, and asking it for names and numbers. */
#include "base/base.h"
#include "expr/graph.h"
#include "system/ports.h"
#include <stdlib.h>
#include <string.h>
#include <math.h>

static void free_named(clsi_named *list, size_t n) {
    for (size_t i = 0; list && i < n; i++) {
        free(list[i].name);
        free(list[i].unit);
    }
    free(list);
}

static void free_strings(char **list, size_t n) {
    for (size_t i = 0; list && i < n; i++) free(list[i]);
    free(list);
}

static void free_physics(const cls_system *s, clsi_physics *p) {
    clsi_sparse_clear(&p->kinematics);
    clsi_sparse_clear(&p->poisson);
    free(p->force);
    clsi_sparse_clear(&p->friction);
    clsi_sparse_clear(&p->conductance);
    free(p->source);
    free(p->bath);
    free(p->reservoir);
    free(p->friction_operator);
    free(p->operator_force);
    free(p->operator_heat);
    free_named(p->invariants, s->n_invariants);
    free_named(p->outputs, s->n_outputs);
}

cls_status clsi_system_view(const cls_system *s, cls_system **out, cls_error *error) {
    cls_system *view = *out = clsi_calloc(1, sizeof *view);
    if (!view) return clsi_no_memory(error);
    *view = *s;
    cls_status status = clsi_graph_copy(s->g, &view->g, error);
    if (status != CLS_OK) clsi_system_view_free(out);
    return status;
}

void clsi_system_view_free(cls_system **view) {
    if (*view) cls_graph_free(&(*view)->g);
    free(*view);
    *view = NULL;
}

void cls_system_free(cls_system **system) {
    if (!system) return;
    cls_system *s = system ? *system : NULL;
    if (!s) return;
    *system = NULL;
    clsi_variable *const variables[] = {s->coordinate,  s->momentum,  s->entropy,
                                        s->temperature, s->parameter, s->input};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) free(variables[i]);
    free_strings(s->kept, s->n_kept);
    free_named(s->lets, s->n_lets);
    free_strings(s->parts, s->n_parts);
    for (size_t i = 0; i < s->n_labels; i++) free(s->labels[i].name);
    free(s->labels);
    for (size_t i = 0; i < s->n_functions; i++) {
        clsi_function *f = &s->functions[i];
        for (size_t k = 0; k < f->n; k++) free(f->argument[k]);
        free(f->name);
    }
    free(s->functions);
    for (size_t i = 0; i < s->n_uses; i++) free(s->uses[i].args);
    free(s->uses);
    free_strings(s->unknown, s->n_unknown);
    free_strings(s->unknown_field, s->n_unknown);
    free_strings(s->unknown_of, s->n_unknown);
    free(s->unknown_positive);
    free(s->columns);
    for (size_t i = 0; i < s->n_part_inputs; i++) {
        free(s->part_inputs[i].part);
        free(s->part_inputs[i].list);
    }
    free(s->part_inputs);
    for (size_t i = 0; i < s->n_written; i++) free(s->as_written[i].part);
    free(s->as_written);
    free_strings(s->reservoir, s->nr);
    clsi_ports_free(&s->ports);
    for (size_t i = 0; i < s->n_anchors; i++) free(s->anchors[i].state);
    free(s->anchors);
    free(s->units);
    free_physics(s, &s->raw);
    free_physics(s, &s->bound);
    clsi_form_free(&s->form);
    cls_program_free(&s->row_program);
    cls_program_free(&s->dual_program);
    free(s->dual_start);
    free(s->dual_column);
    cls_node *const nodes[] = {
        s->q, s->v, s->p, s->S, s->T, s->u, s->input_formula, s->parameter_symbol};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) free(nodes[i]);
    free(s->parameter_value);
    free(s->parameter_unknown);
    free(s->parameter_learned);
    free(s->dS);
    free(s->entropy_slope);
    free(s->start);
    free(s->boltzmann);
    free(s->formula_name);
    free(s->name);
    free(s->title);
    free(s->data_map);
    free(s->picture);
    free(s->text);
    cls_graph_free(&s->g);
    free(s);
}

const char *clsi_part_inputs_of(const cls_system *s, const char *part) {
    for (size_t i = 0; i < s->n_part_inputs; i++)
        if (strcmp(s->part_inputs[i].part, part) == 0) return s->part_inputs[i].list;
    return NULL;
}

size_t clsi_part_acts_on(const cls_system *s, const char *part, size_t *on) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_written; i++) {
        if (strcmp(s->as_written[i].part, part) != 0) continue;
        size_t j = s->as_written[i].on, at = n++;
        for (; on && at && on[at - 1] > j; at--) on[at] = on[at - 1];
        if (on) on[at] = j;
    }
    if (n) return n;
    for (size_t j = 0; on && j < s->n; j++) on[j] = j;
    return s->n;
}

const char *clsi_label_of(const cls_system *s, const char *name) {
    for (size_t i = 0; i < s->n_labels; i++)
        if (strcmp(s->labels[i].name, name) == 0) return s->labels[i].what;
    return NULL;
}

const char *clsi_force_on(const cls_system *s, size_t j) {
    return j < s->paired ? s->coordinate[j].name : s->momentum[j].name;
}

const char *cls_system_name(const cls_system *s) {
    if (!s) return NULL;
    return s->name;
}

const char *cls_system_title(const cls_system *s) {
    if (!s) return NULL;
    return s->title;
}

const char *cls_system_text(const cls_system *s) {
    if (!s) return NULL;
    return s->text;
}

cls_formalism cls_system_formalism(const cls_system *s) {
    if (!s) return CLS_LAGRANGIAN;
    return s->ode ? CLS_ODE : s->metriplectic ? CLS_METRIPLECTIC : s->formalism;
}

const char *cls_formalism_name(cls_formalism f) {
    switch (f) {
    case CLS_LAGRANGIAN: return "lagrangian";
    case CLS_HAMILTONIAN: return "hamiltonian";
    case CLS_THERMAL_LAGRANGIAN: return "thermal lagrangian";
    case CLS_METRIPLECTIC: return "metriplectic";
    case CLS_ODE: return "ordinary differential equations";
    }
    return "unknown formalism";
}

size_t cls_system_coordinate_count(const cls_system *s) {
    if (!s) return 0;
    return s->nq;
}

size_t cls_system_momentum_count(const cls_system *s) {
    if (!s) return 0;
    return s->n;
}

int cls_system_has_entropy(const cls_system *s) {
    if (!s) return 0;
    return s->m > 0 || s->has_entropy || s->has_heat;
}

size_t cls_system_entropy_count(const cls_system *s) {
    if (!s) return 0;
    return s->m;
}

size_t cls_system_parameter_count(const cls_system *s) {
    if (!s) return 0;
    return s->n_parameters;
}

const char *cls_system_parameter_name(const cls_system *s, size_t i) {
    if (!s) return NULL;
    if (i >= cls_system_parameter_count(s)) return NULL;
    return i < s->n_parameters ? s->parameter[i].name : NULL;
}

double cls_system_parameter(const cls_system *s, size_t i) {
    if (!s) return NAN;
    if (i >= cls_system_parameter_count(s)) return NAN;
    return i < s->n_parameters ? s->parameter_value[i] : 0;
}

int cls_system_coordinate_is_angle(const cls_system *s, size_t i) {
    if (!s) return 0;
    if (i >= cls_system_coordinate_count(s)) return 0;
    return i < s->nq && s->coordinate[i].angle;
}

int cls_system_parameter_is_unknown(const cls_system *s, size_t i) {
    if (!s) return 0;
    if (i >= cls_system_parameter_count(s)) return 0;
    return i < s->n_parameters && s->parameter_unknown[i];
}

void cls_system_parameter_range(const cls_system *s, size_t i, double *low, double *high) {
    if (!s) return;
    if (!low || !high) return;
    *low = i < s->n_parameters ? s->parameter[i].low : 0;
    *high = i < s->n_parameters ? s->parameter[i].high : 0;
}

size_t clsi_parameter_find(const cls_system *s, const char *name) {
    for (size_t i = 0; i < s->n_parameters; i++)
        if (strcmp(s->parameter[i].name, name) == 0) return i;
    return SIZE_MAX;
}

cls_status clsi_parameters_known(const cls_system *s, cls_error *error) {
    for (size_t i = 0; i < s->n_parameters; i++)
        if (s->parameter_unknown[i])
            return clsi_fail(
                error, CLS_SYSTEM,
                "the parameter '%s' of '%s' is unknown: learn it from data first, with "
                "`clausius learn SYSTEM DATA`, or give it a value (--set \"%s=1\")",
                s->parameter[i].name, s->name, s->parameter[i].name);
    return CLS_OK;
}

double cls_system_default_step(const cls_system *s) {
    if (!s) return NAN;
    return s->step;
}

int cls_system_says_step(const cls_system *s) {
    return s && s->says_step;
}

double cls_system_default_until(const cls_system *s) {
    if (!s) return NAN;
    return s->until;
}

size_t cls_system_state_count(const cls_system *s) {
    if (!s) return 0;
    return s->form->nz + clsi_account_count(s);
}

const char *cls_system_state_name(const cls_system *s, size_t i) {
    if (!s) return NULL;
    if (i >= cls_system_state_count(s)) return NULL;
    size_t nz = s->form->nz;
    if (i >= cls_system_state_count(s)) return NULL;
    return i < nz ? s->columns[1 + i] : clsi_account_name(clsi_account_at(s, i - nz));
}

size_t cls_system_account_count(const cls_system *s) {
    if (!s) return 0;
    return clsi_account_count(s);
}

size_t cls_system_input_count(const cls_system *s) {
    if (!s) return 0;
    return s->nu;
}

const char *cls_system_input_name(const cls_system *s, size_t i) {
    if (!s) return NULL;
    if (i >= cls_system_input_count(s)) return NULL;
    return i < s->nu ? s->input[i].name : NULL;
}

int cls_system_input_is_given(const cls_system *s, size_t i) {
    if (!s) return 0;
    if (i >= cls_system_input_count(s)) return 0;
    return i < s->nu && s->input_formula[i] != CLS_NO_NODE;
}

size_t cls_system_column_count(const cls_system *s) {
    if (!s) return 0;
    return s->n_columns;
}

const char *cls_system_column(const cls_system *s, size_t i) {
    if (!s) return NULL;
    if (i >= cls_system_column_count(s)) return NULL;
    return i < s->n_columns ? s->columns[i] : NULL;
}

const clsi_variable *clsi_state_variable(const cls_system *s, size_t i) {
    static const clsi_variable anything = {.low = -INFINITY, .high = INFINITY};
    size_t heat = s->nq + s->n;
    if (i < s->nq) return &s->coordinate[i];
    if (i < heat && s->form->kind == CLSI_FORM_PHASE) return &s->momentum[i - s->nq];
    if (i < heat || i >= heat + s->m) return &anything;
    return s->form->kind == CLSI_FORM_THERMAL ? &s->temperature[i - heat] : &s->entropy[i - heat];
}

size_t clsi_motion_count(const cls_system *s) {
    size_t count = 0;
    for (size_t j = 0; j < s->n; j++) count += s->momentum[j].role == CLSI_MOTION;
    return count;
}
