/* Learned functions over the range of the data: one input varies, the others stay in the middle of
 * what was seen; of two inputs a map as well. Outside of the range the ground is shaded; marks show
 * where the free runs over the data were. */
#include "model/json.h"
#include "model/model.h"
#include "page/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 97, MESH = 24, MOST_SEEN = 400, MOST_DENSITY = 160 };

/* What was seen of the inputs: n rows of `width` values. */
typedef struct seen {
    cls_range *range;
    size_t n, width;
    double *rows;
} seen;

/* The value of the part for inputs x: scale, and the form that makes it positive. */
static double value_of(const clsi_learned *l, const double *theta, const double *x,
                       double *scratch) {
    double phi = NAN, scaled[CLSI_FIELD_MAX_INPUTS];
    for (size_t i = 0; i < l->d; i++)
        scaled[i] = l->field->kind->raw ? x[i] : (x[i] - l->center[i]) / l->half[i];
    l->field->kind->evaluate(l->field, theta + l->offset, 1, scaled, &phi, NULL, scratch);
    double u = l->scale * phi;
    if (l->exponential) return l->scale * exp(phi);
    if (l->square) return l->scale * phi * phi;
    return l->floor > 0 ? (u + sqrt(u * u + l->floor * l->floor)) / 2 : u;
}

static int is_known(const clsi_learned *l, size_t k) {
    return clsi_has_range(l, k) && l->high[k] > l->low[k];
}

static void middle(const clsi_learned *l, double *x) {
    for (size_t i = 0; i < l->d; i++)
        x[i] = clsi_has_range(l, i) ? (l->low[i] + l->high[i]) / 2 : l->center[i];
}

static void name_of(clsi_text *title, const clsi_learned *l) {
    clsi_text_append(title, l->part);
    if (l->slot) clsi_text_printf(title, " (entry %zu)", l->slot + 1);
    if (l->trunk != 0) clsi_text_append(title, " beyond a constant heat capacity");
}

/* ---- where the data were ---- */

static void add_run(const clsi_subject *s, const cls_table *run, size_t step, seen *w,
                    double *state) {
    size_t n = cls_system_state_count(s->system);
    for (size_t r = 0; run && r < cls_table_rows(run) && w->n < MOST_SEEN; r += step) {
        for (size_t i = 0; i < n; i++) {
            int k = cls_table_find(run, cls_system_state_name(s->system, i));
            state[i] = k < 0 ? 0 : cls_table_column(run, (size_t)k)[r];
        }
        memcpy(w->rows + w->n++ * w->width, clsi_range_inputs(w->range, state),
               w->width * sizeof *w->rows);
    }
}

/* No data, or no memory: no marks. */
static void look(const clsi_subject *s, seen *w) {
    const cls_model *m = s->given->model;
    double *state = clsi_calloc(cls_system_state_count(s->system) + 1, sizeof *state);
    size_t total = 0;
    for (size_t i = 0; i < m->n_learned; i++)
        for (size_t k = 0; k < m->learned[i].d; k++) w->width += clsi_has_range(&m->learned[i], k);
    for (size_t i = 0; i < s->n_trials; i++) total += s->trials[i].rows;
    if (total && w->width && state && !cls_range_create(m, &w->range, NULL)) {
        w->rows = clsi_calloc(MOST_SEEN * w->width, sizeof *w->rows);
        for (size_t i = 0; i < s->n_trials && w->rows; i++)
            add_run(s, s->trials[i].run, (total + MOST_SEEN - 1) / MOST_SEEN, w, state);
    }
    free(state);
}

/* The values of one input, `most` at most; how many. */
static size_t values_of(const seen *w, const clsi_learned *l, size_t k, size_t most, double *out) {
    size_t at = w->n ? clsi_range_find(w->range, l, k) : SIZE_MAX, n = 0,
           step = w->n / most + (w->n % most != 0);
    if (at == SIZE_MAX) return 0;
    for (size_t r = 0; r < w->n && n < most; r += step) out[n++] = w->rows[r * w->width + at];
    return n;
}

/* ---- figures ---- */

/* What the model's record says of this part over this input; NULL: nothing. */
static const json_t *record_of(const json_t *functions, const clsi_learned *l, size_t k) {
    size_t i;
    json_t *one;
    json_array_foreach(functions, i, one) {
        const char *part = json_string_value(json_object_get(one, "part"));
        const char *input = json_string_value(json_object_get(one, "input"));
        if (part && input && !strcmp(part, l->part) && !strcmp(input, l->input[k]) &&
            json_integer_value(json_object_get(one, "slot")) == (json_int_t)l->slot)
            return one;
    }
    return NULL;
}

/* The standard error at x between two places of the record; NAN: unknown. */
static double error_at(const json_t *record, double x) {
    const json_t *at = json_object_get(record, "at"), *errors = json_object_get(record, "error");
    for (size_t i = 0; i + 1 < json_array_size(at); i++) {
        double a = json_number_value(json_array_get(at, i)),
               b = json_number_value(json_array_get(at, i + 1)), part = (x - a) / (b - a);
        const json_t *left = json_array_get(errors, i), *right = json_array_get(errors, i + 1);
        if (!(x >= a && x <= b && b > a)) continue;
        if (!json_is_number(left) || !json_is_number(right)) return NAN;
        return (1 - part) * json_number_value(left) + part * json_number_value(right);
    }
    return NAN;
}

static void tell_band(clsi_text *note, const clsi_learned *l, const json_t *record) {
    clsi_text_append(note, ". Band: 90 % interval");
    if (json_is_true(json_object_get(record, "relative")))
        clsi_text_append(note, " of differences from the value in the middle");
    if (l->d > 1) clsi_text_append(note, ", as wide as at the medians of the other inputs");
}

static void curve(clsi_text *t, const clsi_learned *l, const double *theta, size_t k, const seen *w,
                  const json_t *record, double *scratch) {
    double x[POINTS], y[POINTS], low[POINTS], high[POINTS], point[CLSI_FIELD_MAX_INPUTS],
        rug[MOST_DENSITY], width = l->high[k] - l->low[k];
    int known = 0;
    middle(l, point);
    for (int i = 0; i < POINTS; i++) {
        point[k] = x[i] = l->low[k] - 0.15 * width + 1.3 * width * i / (POINTS - 1);
        y[i] = value_of(l, theta, point, scratch);
        double half = CLSI_NINETY * error_at(record, x[i]);
        low[i] = y[i] - half, high[i] = y[i] + half;
        known |= isfinite(half);
    }
    clsi_text title = {0}, note = {0};
    name_of(&title, l);
    clsi_text_printf(&title, " as a function of %s", l->input[k]);
    size_t n = values_of(w, l, k, MOST_DENSITY, rug);
    clsi_text_append(&note, "Shaded: no data there");
    if (n) clsi_text_append(&note, ". Marks on the axis: where the runs over the data were");
    if (l->d > 1) clsi_text_append(&note, ". Other inputs are in the middle of their range");
    if (known) tell_band(&note, l, record);
    clsi_series s = {l->part, CLSI_LINE, POINTS, x, y, 0, known ? low : NULL, known ? high : NULL};
    clsi_chart c = {.title = title.data ? title.data : l->part,
                    .x_label = l->input[k],
                    .y_label = l->part,
                    .note = note.data,
                    .n = 1,
                    .series = &s,
                    .shade_from = l->low[k],
                    .shade_to = l->high[k],
                    .n_rug = n,
                    .rug = rug};
    clsi_chart_write(t, &c);
    clsi_text_clear(&title);
    clsi_text_clear(&note);
}

static void surface(clsi_text *t, const clsi_learned *l, const double *theta, const seen *w,
                    double *scratch) {
    double z[MESH * MESH], x_seen[MOST_DENSITY], y_seen[MOST_DENSITY], border[2];
    for (int i = 0; i < 2; i++) border[i] = 0.1 * (l->high[i] - l->low[i]);
    clsi_surface s = {.x_label = l->input[0],
                      .y_label = l->input[1],
                      .x0 = l->low[0] - border[0],
                      .x1 = l->high[0] + border[0],
                      .y0 = l->low[1] - border[1],
                      .y1 = l->high[1] + border[1],
                      .low = {l->low[0], l->low[1]},
                      .high = {l->high[0], l->high[1]},
                      .n = MESH,
                      .n_seen = values_of(w, l, 0, MOST_DENSITY, x_seen),
                      .z = z,
                      .x_seen = x_seen,
                      .y_seen = y_seen};
    size_t other = values_of(w, l, 1, MOST_DENSITY, y_seen);
    if (other < s.n_seen) s.n_seen = other;
    for (size_t i = 0; i < MESH * MESH; i++) {
        double x[2] = {s.x0 + (s.x1 - s.x0) * ((double)(i % MESH) + 0.5) / MESH,
                       s.y0 + (s.y1 - s.y0) * ((double)(i / MESH) + 0.5) / MESH};
        z[i] = value_of(l, theta, x, scratch);
    }
    clsi_text title = {0};
    name_of(&title, l);
    clsi_text_printf(&title, " over %s and %s", l->input[0], l->input[1]);
    s.title = title.data ? title.data : l->part;
    clsi_surface_write(t, &s);
    clsi_text_clear(&title);
}

void clsi_learned_figures(clsi_text *t, const clsi_subject *s) {
    const cls_model *m = s->given->model;
    seen w = {0};
    if (!m->n_learned) return;
    look(s, &w);
    const json_t *functions = json_object_get(m->told, "functions");
    clsi_text_append(t, "<div class=\"grid\">\n");
    for (size_t i = 0; i < m->n_learned; i++) {
        const clsi_learned *l = &m->learned[i];
        double *scratch = clsi_calloc(l->field->kind->scratch(l->field, 1) + 1, sizeof *scratch);
        if (!scratch) {
            t->failed = 1;
            break;
        }
        for (size_t k = 0; k < l->d; k++)
            if (is_known(l, k)) curve(t, l, m->theta, k, &w, record_of(functions, l, k), scratch);
        if (l->d == 2 && is_known(l, 0) && is_known(l, 1)) surface(t, l, m->theta, &w, scratch);
        free(scratch);
    }
    clsi_text_append(t, "</div>\n");
    cls_range_free(&w.range);
    free(w.rows);
}

void clsi_learned_json(clsi_text *t, const cls_model *m) {
    for (size_t i = 0; i < m->n_learned; i++) {
        const clsi_learned *l = &m->learned[i];
        clsi_text_append(t, i ? ", {\"part\": " : "{\"part\": ");
        clsi_json_string(t, l->part);
        clsi_text_append(t, ", \"inputs\": [");
        for (size_t k = 0; k < l->d; k++) {
            clsi_text_append(t, k ? ", {\"name\": " : "{\"name\": ");
            clsi_json_string(t, l->input[k]);
            clsi_text_append(t, ", \"low\": ");
            clsi_json_number(t, is_known(l, k) ? l->low[k] : NAN);
            clsi_text_append(t, ", \"high\": ");
            clsi_json_number(t, is_known(l, k) ? l->high[k] : NAN);
            clsi_text_append(t, "}");
        }
        clsi_text_append(t, "]}");
    }
}
