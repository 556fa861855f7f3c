/* Other parameters for a model: those that what was learned does not depend on.
 *
 * A learned part stands for a formula at the parameters it was learned with. A mass that the file
 * has elsewhere is another matter: the part stays what it is and the system around it changes. The
 * reader of the text notes which parameters the formula of a learned part, or what the part is a
 * function of, was written with (clsi_mark_learned); those are refused. Inputs take formulas of t. */
#include "base/base.h"
#include "base/misuse.h"
#include "model/model.h"
#include <stdlib.h>
#include <string.h>

static size_t find(const cls_model *m, const char *name) {
    for (size_t i = 0; i < m->n_set; i++)
        if (strcmp(m->set_names[i], name) == 0) return i;
    return m->n_set;
}

/* The parts that were learned, "F1, F2". */
static cls_status refuse(const cls_model *m, const char *name, cls_error *error) {
    clsi_text parts = {0}, free_ones = {0};
    const cls_system *s = m->system;
    for (size_t i = 0; i < m->n_learned; i++)
        clsi_text_printf(&parts, "%s%s", i ? ", " : "", m->learned[i].part);
    for (size_t i = 0; i < s->n_parameters; i++)
        if (!s->parameter_learned[i])
            clsi_text_printf(&free_ones, "%s%s", free_ones.length ? ", " : "",
                             s->parameter[i].name);
    (void)clsi_fail(error, CLS_USAGE,
                    "what was learned (%s) depends on %s, which cannot be changed any more%s%s",
                    parts.data ? parts.data : "", name,
                    free_ones.length ? "; these can: " : ", nor can any other parameter",
                    free_ones.length ? free_ones.data : "");
    clsi_text_clear(&parts);
    clsi_text_clear(&free_ones);
    return CLS_USAGE;
}

static cls_status put(cls_model *m, const cls_assignments *set, size_t i, cls_error *error) {
    size_t k = find(m, set->names[i]);
    const char *formula = set->formulas ? set->formulas[i] : NULL;
    if (k == m->n_set && !(m->set_names[k] = clsi_strdup(set->names[i])))
        return clsi_no_memory(error);
    if (k == m->n_set) m->n_set++;
    m->set_values[k] = set->values[i];
    free(m->set_formulas[k]);
    m->set_formulas[k] = formula ? clsi_strdup(formula) : NULL;
    return formula && !m->set_formulas[k] ? clsi_no_memory(error) : CLS_OK;
}

static cls_status make_room(cls_model *m, size_t more, cls_error *error) {
    size_t n = m->n_set + more;
    char **names = clsi_calloc(n, sizeof *names), **formulas = clsi_calloc(n, sizeof *formulas);
    double *values = clsi_calloc(n, sizeof *values);
    if (!names || !formulas || !values) {
        free(names);
        free(formulas);
        free(values);
        return clsi_no_memory(error);
    }
    if (m->n_set) {
        memcpy(names, m->set_names, m->n_set * sizeof *names);
        memcpy(values, m->set_values, m->n_set * sizeof *values);
        if (m->set_formulas) memcpy(formulas, m->set_formulas, m->n_set * sizeof *formulas);
    }
    free(m->set_names);
    free(m->set_values);
    free(m->set_formulas);
    m->set_names = names;
    m->set_values = values;
    m->set_formulas = formulas;
    return CLS_OK;
}

cls_status cls_model_set(cls_model *m, const cls_assignments *set, cls_error *error) {
    NEED(error, m);
    if (!set || !set->n) return CLS_OK;
    for (size_t i = 0; i < set->n; i++) {
        size_t k = clsi_parameter_find(m->system, set->names[i]);
        if (k != SIZE_MAX && m->system->parameter_learned[k])
            return refuse(m, set->names[i], error);
    }
    cls_status status = make_room(m, set->n, error);
    for (size_t i = 0; i < set->n && status == CLS_OK; i++) status = put(m, set, i, error);
    return status == CLS_OK ? clsi_model_build(m, error) : status;
}
