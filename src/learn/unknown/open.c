/* Parameters of the file that are to be learned: `unknown` there, or named by the caller. */
#include "base/base.h"
#include "base/misuse.h"
#include "learn/recording/measured.h"
#include <stdlib.h>
#include <string.h>

static int is_parameter(const cls_system *s, const char *name) {
    for (size_t i = 0; i < s->n_parameters; i++)
        if (strcmp(s->parameter[i].name, name) == 0) return 1;
    return 0;
}

static int is_open(const cls_system *s, const cls_learn_options *o, size_t i) {
    int named = 0;
    for (size_t k = 0; k < o->n_unknown; k++)
        named |= strcmp(o->unknown[k], s->parameter[i].name) == 0;
    return s->parameter_unknown[i] || named;
}

int clsi_has_open_parameters(const cls_system *s, const cls_learn_options *o) {
    for (size_t i = 0; i < s->n_parameters; i++)
        if (is_open(s, o, i)) return 1;
    return 0;
}

int clsi_has_open_parts(const cls_system *s, const cls_learn_options *o) {
    for (size_t i = 0; i < o->n_unknown; i++)
        if (!is_parameter(s, o->unknown[i])) return 1;
    return s->n_unknown > 0;
}

static int is_part(const cls_system *s, const char *name) {
    for (size_t i = 0; i < s->n_parts; i++)
        if (strcmp(s->parts[i], name) == 0) return 1;
    return 0;
}

cls_status cls_learn_names(const cls_system *system, size_t n, const char *const *names,
                           cls_error *error) {
    NEED(error, system && (names || !n));
    for (size_t i = 0; i < n; i++)
        if (!is_part(system, names[i]) && !is_parameter(system, names[i]))
            return clsi_no_such_part(system, names[i], error);
    return CLS_OK;
}

cls_status clsi_open_create(const cls_system *s, const cls_learn_options *o, clsi_open *out,
                            cls_error *error) {
    size_t most = s->n_parameters + 1, n_parts = s->n_unknown + o->n_unknown + 1;
    *out = (clsi_open){.name = clsi_calloc(most, sizeof *out->name),
                       .value = clsi_calloc(3 * most, sizeof *out->value),
                       .vague = clsi_calloc(most, 1),
                       .part = clsi_calloc(n_parts, sizeof *out->part)};
    if (!out->name || !out->value || !out->vague || !out->part) {
        clsi_open_clear(out);
        return clsi_no_memory(error);
    }
    out->low = out->value + most;
    out->high = out->low + most;
    for (size_t i = 0; i < s->n_parameters; i++) {
        if (!is_open(s, o, i)) continue;
        out->name[out->n] = s->parameter[i].name;
        out->vague[out->n] = s->parameter_unknown[i] == CLSI_UNKNOWN;
        out->value[out->n] = s->parameter_value[i];
        out->low[out->n] = s->parameter[i].low;
        out->high[out->n++] = s->parameter[i].high;
    }
    for (size_t i = 0; i < o->n_unknown; i++)
        if (!is_parameter(s, o->unknown[i])) out->part[out->n_parts++] = o->unknown[i];
    for (size_t i = 0; i < s->n_unknown && !out->n_parts; i++) out->part[i] = s->unknown[i];
    if (!out->n_parts) out->n_parts = s->n_unknown;
    return CLS_OK;
}

void clsi_open_clear(clsi_open *open) {
    free(open->name);
    free(open->value);
    free(open->vague);
    free(open->part);
    free(open->set_names);
    free(open->set_values);
    *open = (clsi_open){0};
}

cls_status clsi_open_set(clsi_open *open, const cls_assignments *set, cls_assignments *out,
                         cls_error *error) {
    size_t n = set ? set->n : 0, kept = 0;
    open->set_names = clsi_calloc(n + open->n + 1, sizeof *open->set_names);
    open->set_values = clsi_calloc(n + open->n + 1, sizeof *open->set_values);
    if (!open->set_names || !open->set_values) return clsi_no_memory(error);
    for (size_t i = 0; i < n; i++) {
        int mine = 0;
        for (size_t k = 0; k < open->n; k++) mine |= strcmp(open->name[k], set->names[i]) == 0;
        if (mine) continue;
        open->set_names[kept] = set->names[i];
        open->set_values[kept++] = set->values[i];
    }
    for (size_t k = 0; k < open->n; k++) {
        open->set_names[kept + k] = open->name[k];
        open->set_values[kept + k] = open->value[k];
    }
    open->at = kept;
    *out = (cls_assignments){kept + open->n, open->set_names, open->set_values};
    return CLS_OK;
}
