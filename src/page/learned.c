/* Learned functions as curves over the range of the data: one input varies, the others stay in the
 * middle of what was seen. Outside of the range the ground is shaded. */
#include "model/model.h"
#include "page/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 121 };

/* The value of the part for scaled inputs x: scale, and the form that makes it positive. */
static double value_of(const clsi_learned *l, const double *theta, const double *x,
                       double *scratch) {
    double phi = NAN;
    l->field->kind->evaluate(l->field, theta + l->offset, 1, x, &phi, NULL, scratch);
    double u = l->scale * phi;
    if (l->exponential) return l->scale * exp(phi);
    if (l->square) return l->scale * phi * phi;
    return l->floor > 0 ? (u + sqrt(u * u + l->floor * l->floor)) / 2 : u;
}

static void curve(clsi_text *t, const clsi_learned *l, const double *theta, size_t k,
                  double *scratch) {
    double x[POINTS], y[POINTS], point[CLSI_FIELD_MAX_INPUTS], width = l->high[k] - l->low[k];
    for (size_t i = 0; i < l->d; i++) {
        double middle = clsi_has_range(l, i) ? (l->low[i] + l->high[i]) / 2 : l->center[i];
        point[i] = l->field->kind->raw ? middle : (middle - l->center[i]) / l->half[i];
    }
    for (int i = 0; i < POINTS; i++) {
        x[i] = l->low[k] - 0.15 * width + 1.3 * width * i / (POINTS - 1);
        point[k] = l->field->kind->raw ? x[i] : (x[i] - l->center[k]) / l->half[k];
        y[i] = value_of(l, theta, point, scratch);
    }
    clsi_text title = {0};
    clsi_text_printf(&title, "%s%s as a function of %s", l->part, l->slot ? " (another entry)" : "",
                     l->input[k]);
    clsi_series s = {l->part, CLSI_LINE, POINTS, x, y, 0};
    clsi_chart c = {.title = title.data ? title.data : l->part,
                    .x_label = l->input[k],
                    .y_label = l->part,
                    .note = "Shaded: no data there. Other inputs are in the middle of their range",
                    .n = 1,
                    .series = &s,
                    .shade_from = l->low[k],
                    .shade_to = l->high[k]};
    clsi_chart_write(t, &c);
    clsi_text_clear(&title);
}

void clsi_learned_curves(clsi_text *t, const cls_model *m, int json) {
    for (size_t i = 0; i < m->n_learned; i++) {
        const clsi_learned *l = &m->learned[i];
        double *scratch = clsi_calloc(l->field->kind->scratch(l->field, 1) + 1, sizeof *scratch);
        if (!scratch) {
            t->failed = 1;
            return;
        }
        if (json) {
            clsi_text_append(t, i ? ", {\"part\": " : "{\"part\": ");
            clsi_json_string(t, l->part);
            clsi_text_append(t, ", \"inputs\": [");
        }
        for (size_t k = 0; k < l->d; k++) {
            int known = clsi_has_range(l, k) && l->high[k] > l->low[k];
            if (json) {
                clsi_text_append(t, k ? ", {\"name\": " : "{\"name\": ");
                clsi_json_string(t, l->input[k]);
                clsi_text_append(t, ", \"low\": ");
                clsi_json_number(t, known ? l->low[k] : NAN);
                clsi_text_append(t, ", \"high\": ");
                clsi_json_number(t, known ? l->high[k] : NAN);
                clsi_text_append(t, "}");
            } else if (known) {
                curve(t, l, m->theta, k, scratch);
            }
        }
        if (json) clsi_text_append(t, "]}");
        free(scratch);
    }
}
