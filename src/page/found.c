/* What a model's provenance says of what was found: parameters with intervals, what the data cannot
 * tell, and how learning went. */
#include "model/json.h"
#include "model/model.h"
#include "page/page.h"
#include "system/system.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMETERS = 200, BAR = 150 };

typedef struct parameter {
    const char *name, *unit; /* borrowed */
    double value, error;     /* error NAN: the data cannot tell it */
    double low, high;        /* bounds of the file; infinite: none */
} parameter;

static double least(const parameter *p) {
    return fmax(p->value - CLSI_NINETY * p->error, p->low);
}

static double most(const parameter *p) {
    return fmin(p->value + CLSI_NINETY * p->error, p->high);
}

static json_t *provenance_of(const cls_model *m) {
    return m ? m->told : NULL;
}

static parameter read_parameter(const cls_model *m, const json_t *one) {
    const json_t *error = json_object_get(one, "error");
    const char *name = json_string_value(json_object_get(one, "name"));
    parameter p = {.name = name ? name : "",
                   .value = json_number_value(json_object_get(one, "value")),
                   .error = json_is_number(error) ? json_number_value(error)
                            : error               ? INFINITY
                                                  : NAN, /* not computed */
                   .low = -INFINITY,
                   .high = INFINITY};
    size_t k = m->system ? clsi_parameter_find(m->system, p.name) : SIZE_MAX;
    if (m->system && k < m->system->n_parameters) {
        const clsi_variable *v = &m->system->parameter[k];
        p.unit = v->unit;
        if (v->high > v->low) p.low = v->low, p.high = v->high;
    }
    const json_t *low = json_object_get(one, "low"), *high = json_object_get(one, "high");
    if (json_is_number(low)) p.low = json_number_value(low);
    if (json_is_number(high)) p.high = json_number_value(high);
    return p;
}

/* The interval about the value, on a scale on which the value and its sign have the same place in
 * every row: a bar that is as wide as the parameter is unsure. */
static void interval_bar(clsi_text *t, const parameter *p) {
    double half =
        isfinite(p->error) && p->value != 0 ? CLSI_NINETY * p->error / fabs(p->value) : INFINITY;
    double wide = fmin(half, 1) * (BAR / 2 - 8);
    clsi_text_printf(t,
                     "<svg class=\"bar\" viewBox=\"0 0 %d 16\" role=\"img\"><title>90 %% interval, "
                     "of the value</title><desc>%s %.3g times the value on either side</desc><path "
                     "class=\"axis\" d=\"M4 8H%d\"/><path class=\"l %s\" "
                     "d=\"M%.1f 8H%.1f\"/><circle class=\"p f0\" cx=\"%d\" cy=\"8\" r=\"3.5\"/>"
                     "</svg>",
                     BAR, half <= 1 ? "it reaches" : "it ends here, and reaches", half, BAR - 4,
                     half <= 1 ? "s0 thick" : "s4 thick", BAR / 2 - wide, BAR / 2 + wide, BAR / 2);
}

static void parameter_row(clsi_text *t, const parameter *p, int bounded) {
    clsi_text_append(t, "<tr><th scope=\"row\">");
    clsi_html(t, p->name, CLSI_HTML_NAME);
    clsi_text_printf(t, "</th><td class=\"n\">%.6g</td><td>", p->value);
    clsi_html(t, p->unit ? p->unit : "", CLSI_HTML_NAME);
    if (!isfinite(p->error)) {
        clsi_text_printf(t, "</td><td colspan=\"3\" class=\"broken\">%s</td>",
                         isinf(p->error) ? "the data cannot tell" : "not computed");
    } else {
        clsi_text_printf(t,
                         "</td><td class=\"n\">%.2g</td><td class=\"n\">%.5g to %.5g</td><td "
                         "class=\"n\">",
                         p->error, least(p), most(p));
        if (p->value <= p->low || p->value >= p->high)
            clsi_text_append(t, "at its bound</td>");
        else if (p->value == 0)
            clsi_text_append(t, "-</td>");
        else
            clsi_text_printf(t, "%.2g&#8239;%%</td>", 100 * p->error / fabs(p->value));
    }
    clsi_text_append(t, "<td>");
    interval_bar(t, p);
    if (bounded) clsi_text_append(t, "</td><td class=\"soft\">");
    if (isfinite(p->low) && isfinite(p->high))
        clsi_text_printf(t, "%.4g to %.4g", p->low, p->high);
    else if (isfinite(p->low) || isfinite(p->high))
        clsi_text_printf(t, isfinite(p->low) ? "above %.4g" : "below %.4g",
                         isfinite(p->low) ? p->low : p->high);
    clsi_text_append(t, "</td></tr>\n");
}

void clsi_found_parameters(clsi_text *t, const clsi_subject *s) {
    json_t *provenance = provenance_of(s->given->model), *one;
    const json_t *list = json_object_get(provenance, "parameters");
    size_t i;
    int bounded = 0;
    json_array_foreach(list, i, one) {
        parameter p = read_parameter(s->given->model, one);
        bounded |= isfinite(p.low) || isfinite(p.high);
    }
    if (json_array_size(list)) {
        clsi_text_append(
            t,
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"parameters\"><table "
            "class=\"parameters\"><caption>Parameters that were learned; the interval holds the "
            "true value in 90 of 100 cases, if the system is right.</caption><thead><tr><th "
            "scope=\"col\">parameter</th><th scope=\"col\" class=\"n\">value</th><th "
            "scope=\"col\">unit</th><th scope=\"col\" class=\"n\">standard error</th><th "
            "scope=\"col\" class=\"n\">90&#8239;% interval</th><th scope=\"col\" "
            "class=\"n\">relative</th><th scope=\"col\">interval, from 0 to twice the value</th>");
        clsi_text_append(t, bounded ? "<th scope=\"col\">allowed</th></tr></thead><tbody>\n"
                                    : "</tr></thead><tbody>\n");
        json_array_foreach(list, i, one) {
            if (i == MOST_PARAMETERS) break;
            parameter p = read_parameter(s->given->model, one);
            parameter_row(t, &p, bounded);
        }
        clsi_text_append(t, "</tbody></table></div>\n");
        if (i == MOST_PARAMETERS)
            clsi_text_printf(
                t, "<p class=\"soft\">%zu parameters in all; the first %d are shown.</p>\n",
                json_array_size(list), MOST_PARAMETERS);
    }
}

/* ---- rows that were kept back ---- */

static void score_cell(clsi_text *t, const json_t *one, const char *key) {
    const json_t *x = json_object_get(one, key);
    if (json_is_number(x))
        clsi_text_printf(t, "<td class=\"n\">%.4g</td>", json_number_value(x));
    else
        clsi_text_append(t, "<td class=\"n\">-</td>");
}

void clsi_found_scores(clsi_text *t, const clsi_subject *s) {
    static const char *const keys[] = {"noise", "fitted", "run", "persistence", "mean", "arx"};
    static const char *const words[] = {"noise of the data", "error where it learned",
                                        "error, kept back",  "last value stays",
                                        "mean of the data",  "linear autoregression"};
    json_t *provenance = provenance_of(s->given->model), *one;
    const json_t *list = json_object_get(provenance, "channels");
    size_t i, tested = 0;
    json_array_foreach(list, i, one) tested += json_is_number(json_object_get(one, "run"));
    if (tested) {
        clsi_text_append(t, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                            "aria-label=\"rows kept back\"><table><caption>Rows that ");
        clsi_html(t, s->given->name, CLSI_HTML_NAME);
        clsi_text_append(t, " did not learn from, each trajectory predicted in one free run: root "
                            "mean square errors, beside those of models that know no physics."
                            "</caption><thead><tr><th scope=\"col\">channel</th>");
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            clsi_text_printf(t, "<th scope=\"col\" class=\"n\">%s</th>", words[k]);
        clsi_text_append(t, "</tr></thead><tbody>\n");
        json_array_foreach(list, i, one) {
            const char *name = json_string_value(json_object_get(one, "name"));
            clsi_text_append(t, "<tr><th scope=\"row\">");
            clsi_html(t, name ? name : "", CLSI_HTML_NAME);
            clsi_text_append(t, "</th>");
            for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) score_cell(t, one, keys[k]);
            clsi_text_append(t, "</tr>\n");
        }
        clsi_text_append(t, "</tbody></table></div>\n");
    }
}

/* ---- what the data cannot tell ---- */

/* What learning said of the data, line by line. */
static void notes(clsi_text *t, const char *line) {
    for (const char *end; line && *line; line = *end ? end + 1 : end) {
        char text[1000];
        end = line + strcspn(line, "\n");
        snprintf(text, sizeof text, "%.*s", (int)(end - line), line);
        if (end - line > 6 && !strncmp(end - 6, " terms", 6))
            continue; /* how it went, not what is */
        clsi_text_append(t, "<li>");
        clsi_html(t, text, 0);
        clsi_text_append(t, "</li>\n");
    }
}

static double at(const json_t *matrix, size_t i, size_t k) {
    return json_number_value(json_array_get(json_array_get(matrix, i), k));
}

/* Two parameters that are known only together. */
static void correlations(clsi_text *t, const json_t *list, const json_t *covariance) {
    size_t n = json_array_size(list);
    if (json_array_size(covariance) != n || n > MOST_PARAMETERS) return;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            double r = at(covariance, i, k) / sqrt(at(covariance, i, i) * at(covariance, k, k));
            if (!(fabs(r) > 0.95)) continue;
            const char *a = json_string_value(json_object_get(json_array_get(list, i), "name"));
            const char *b = json_string_value(json_object_get(json_array_get(list, k), "name"));
            clsi_text_append(t, "<li><strong>");
            clsi_html(t, a ? a : "", CLSI_HTML_NAME);
            clsi_text_append(t, "</strong> and <strong>");
            clsi_html(t, b ? b : "", CLSI_HTML_NAME);
            clsi_text_printf(t,
                             "</strong> are known better together than each alone (correlation "
                             "%.3f): %s.</li>\n",
                             r,
                             r > 0 ? "both may be larger, or both smaller"
                                   : "one may be larger where the other is smaller");
        }
}

/* States that no column of the data shows. */
static void unmeasured(clsi_text *t, const clsi_subject *s) {
    if (!s->n_trials || !s->system) return;
    size_t said = 0;
    for (size_t k = 0; k < s->system->form->nz; k++) {
        const char *name = cls_system_state_name(s->system, k);
        if (cls_table_find(s->trials[0].data, name) >= 0) continue;
        clsi_text_append(t, said++ ? ", <strong>" : "<li>Not measured: <strong>");
        clsi_html(t, name, CLSI_HTML_NAME);
        clsi_text_append(t, "</strong>");
    }
    if (said)
        clsi_text_append(t,
                         ". The free runs begin there with what follows from the rest, with what "
                         "explains the first rows, or with the default start.</li>\n");
}

static void unseen_ranges(clsi_text *t, const cls_model *m) {
    for (size_t i = 0; i < m->n_learned; i++) {
        const clsi_learned *l = &m->learned[i];
        for (size_t k = 0; k < l->d; k++) {
            if (!clsi_has_range(l, k)) continue;
            clsi_text_append(t, "<li><strong>");
            clsi_html(t, l->part, CLSI_HTML_NAME);
            clsi_text_append(t, "</strong> was seen for ");
            clsi_html(t, l->input[k], CLSI_HTML_NAME);
            clsi_text_printf(
                t,
                " from %.5g to %.5g; beyond, its form goes on, and nothing says that it is "
                "right.</li>\n",
                l->low[k], l->high[k]);
        }
    }
}

void clsi_found_doubts(clsi_text *t, const clsi_subject *s) {
    const cls_model *m = s->given->model;
    json_t *provenance = provenance_of(m), *one;
    const json_t *list = json_object_get(provenance, "parameters");
    size_t i, before = t->length;
    if (!m) return;
    clsi_text_append(t, "<ul>\n");
    size_t opened = t->length;
    json_array_foreach(list, i, one) {
        parameter p = read_parameter(m, one);
        if (!isinf(p.error)) continue;
        clsi_text_append(t, "<li><strong>");
        clsi_html(t, p.name, CLSI_HTML_NAME);
        clsi_text_append(t, "</strong>: any other value fits these data as well.</li>\n");
    }
    correlations(t, list, json_object_get(provenance, "covariance"));
    json_int_t directions = json_integer_value(json_object_get(provenance, "null_space"));
    if (directions > 0)
        clsi_text_printf(
            t,
            "<li>%lld direction%s of the coefficients change%s nothing that was measured (a "
            "null space): there the smallest coefficients were taken.</li>\n",
            (long long)directions, directions == 1 ? "" : "s", directions == 1 ? "s" : "");
    if (json_is_true(json_object_get(provenance, "scale_fixed")))
        clsi_text_append(t, "<li>The scale of the energy: the motion is the same with all energies "
                            "multiplied by one number, which was chosen.</li>\n");
    notes(t, json_string_value(json_object_get(provenance, "notes")));
    unmeasured(t, s);
    unseen_ranges(t, m);
    if (t->length == opened && !t->failed)
        t->data[t->length = before] = 0;
    else
        clsi_text_append(t, "</ul>\n");
}

void clsi_found_json(clsi_text *t, const cls_model *m) {
    json_t *provenance = provenance_of(m), *one;
    size_t i;
    json_array_foreach(json_object_get(provenance, "parameters"), i, one) {
        parameter p = read_parameter(m, one);
        clsi_text_append(t, i ? ", {\"name\": " : "{\"name\": ");
        clsi_json_string(t, p.name);
        clsi_text_append(t, ", \"value\": ");
        clsi_json_number(t, p.value);
        clsi_text_append(t, ", \"error\": ");
        clsi_json_number(t, p.error);
        clsi_text_append(t, ", \"low\": ");
        clsi_json_number(t, least(&p));
        clsi_text_append(t, ", \"high\": ");
        clsi_json_number(t, most(&p));
        clsi_text_append(t, "}");
    }
}

void clsi_found_record(clsi_text *t, const cls_model *m, const char *key) {
    json_t *provenance = provenance_of(m);
    const json_t *value = json_object_get(provenance, key);
    char *text = value ? clsi_json_text(value, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    if (value && !text) t->failed = 1;
    clsi_text_append(t, text ? text : "null");
    free(text);
}

/* ---- how learning went ---- */

/* Numbers of a list, others NAN; the caller's. */
static double *numbers_of(const json_t *list, size_t n) {
    double *x = clsi_calloc(n + 1, sizeof *x);
    for (size_t k = 0; x && k < n; k++) {
        const json_t *one = json_array_get(list, k);
        x[k] = json_is_number(one) ? json_number_value(one) : NAN;
    }
    return x;
}

/* By multiple shooting the loss is that of windows, which grow. */
static int is_by_windows(const json_t *provenance) {
    const char *loss = json_string_value(json_object_get(provenance, "loss"));
    if (!loss)
        loss = json_string_value(json_object_get(json_object_get(provenance, "options"), "loss"));
    return loss && !strcmp(loss, "multiple-shooting");
}

static void draw_curve(clsi_text *t, const json_t *curve, int by_windows) {
    size_t n = json_array_size(json_object_get(curve, "iteration"));
    const json_t *lists[] = {json_object_get(curve, "loss"), json_object_get(curve, "validation")};
    double *x = numbers_of(json_object_get(curve, "iteration"), n);
    double *y[] = {numbers_of(lists[0], n), numbers_of(lists[1], n)};
    clsi_series s[] = {{"on the data it learns from", CLSI_LINE, n, x, y[0], 0, NULL, NULL},
                       {"on the data for validation", CLSI_LINE, n, x, y[1], 1, NULL, NULL}};
    clsi_chart c = {.title = "Training curve",
                    .x_label = "iterations",
                    .y_label = "logarithm (base 10) of the loss",
                    .note = by_windows
                                ? "Upwards: the logarithm (base 10) of the loss, which is what the "
                                  "simulated windows are off by as a share of what the columns "
                                  "spread; the windows grow while it learns, and the loss may rise "
                                  "where they do"
                                : "Upwards: the logarithm (base 10) of the loss",
                    .n = json_array_size(lists[1]) ? 2 : 1,
                    .series = s,
                    .shade_from = NAN,
                    .shade_to = NAN};
    if (!x || !y[0] || !y[1]) t->failed = 1;
    for (size_t k = 0; k < n && !t->failed; k++)
        for (int i = 0; i < 2; i++) y[i][k] = y[i][k] > 0 ? log10(y[i][k]) : NAN;
    if (!t->failed) {
        clsi_text_append(t, "<div class=\"grid\">\n");
        clsi_chart_write(t, &c);
        clsi_text_append(t, "</div>\n");
    }
    free(x);
    free(y[0]);
    free(y[1]);
}

void clsi_training_curve(clsi_text *t, const cls_model *m) {
    json_t *provenance = provenance_of(m);
    const json_t *curve = json_object_get(provenance, "curve");
    const char *optimizer = json_string_value(json_object_get(provenance, "optimizer"));
    if (json_array_size(json_object_get(curve, "iteration")) > 1)
        draw_curve(t, curve, is_by_windows(provenance));
    else if (optimizer && (!strcmp(optimizer, "linear") || !strcmp(optimizer, "qp")))
        clsi_text_append(t, "<p class=\"soft\">It was solved for at once, not by iterations: there "
                            "is no training curve.</p>\n");
}
