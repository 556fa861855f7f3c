/* The unit of a column of output, from the units that a file declares for its variables. */
#include "system/system.h"
#include <stdio.h>
#include <string.h>

static int declared(size_t n, const clsi_variable *list, const char *name, const char *rate,
                    char unit[64]) {
    for (size_t i = 0; i < n; i++)
        if (list[i].unit && *list[i].unit && strcmp(list[i].name, name) == 0) {
            int compound = *rate && strpbrk(list[i].unit, "/ *") != NULL;
            snprintf(unit, 64, compound ? "(%s)%s" : "%s%s", list[i].unit, rate);
            return 1;
        }
    return 0;
}

int cls_system_unit(const cls_system *s, const char *column, char unit[64]) {
    if (!s) return 0;
    if (!column || !unit) return 0;
    unit[0] = 0;
    if (!strcmp(column, "time") || !strcmp(column, "t")) {
        snprintf(unit, 64, "s");
        return 1;
    }
    if (!strncmp(column, "v.", 2))
        return declared(s->paired, s->coordinate, column + 2, "/s", unit);
    for (size_t i = 0; i < s->n_outputs; i++)
        if (s->raw.outputs[i].unit && !strcmp(s->raw.outputs[i].name, column)) {
            snprintf(unit, 64, "%s", s->raw.outputs[i].unit);
            return 1;
        }
    return declared(s->nq, s->coordinate, column, "", unit) ||
           declared(s->n, s->momentum, column, "", unit) ||
           declared(s->m, s->entropy, column, "", unit) ||
           declared(s->m, s->temperature, column, "", unit) ||
           declared(s->nu, s->input, column, "", unit) ||
           declared(s->n_parameters, s->parameter, column, "", unit);
}

static int any_unit(size_t n, const clsi_variable *list) {
    size_t i = 0;
    while (i < n && (!list[i].unit || !*list[i].unit)) i++;
    return i < n;
}

int clsi_system_has_units(const cls_system *s) {
    int found = any_unit(s->nq, s->coordinate) || any_unit(s->n, s->momentum) ||
                any_unit(s->m, s->entropy) || any_unit(s->m, s->temperature) ||
                any_unit(s->nu, s->input) || any_unit(s->n_parameters, s->parameter);
    for (size_t i = 0; i < s->n_outputs && !found; i++) found = s->raw.outputs[i].unit != NULL;
    return found;
}

const char *cls_system_data_map(const cls_system *s) {
    if (!s) return NULL;
    return s->data_map ? s->data_map : "";
}
