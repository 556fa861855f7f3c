/* The file of a model: what stands in it, how it is read by somebody who does not trust it, and
 * what it says to a person.
 *
 * A safetensors container (safetensors.c checks lengths before anything is allocated) with notes
 * for the text of the system, parameter values, learned parts and provenance, and two tensors:
 * theta, and the start in native variables. A file that does not fit itself is refused with its
 * name; a formula in it that does not parse is reported as one of a system file would be.
 * docs/model-format.md has every field. */
#include "base/base.h"
#include "base/misuse.h"
#include "model/json.h"
#include "model/model.h"
#include "model/safetensors.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "clausius-model 2"
#define BEFORE "clausius-model 1" /* had no checksum */

/* ---- writing ---- */

static json_t *numbers(size_t n, const double *values) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) clsi_json_add(&list, json_real(values[i]));
    return list;
}

/* "rotation" is what files without a form have. */
static const char *const forms[] = {"rotation", "matrix", "cholesky"};
enum { N_FORMS = sizeof forms / sizeof *forms };

static json_t *learned_json(const clsi_learned *l) {
    json_t *inputs = json_array();
    for (size_t i = 0; i < l->d; i++) clsi_json_add(&inputs, json_string(l->input[i]));
    json_t *all = json_pack("{s:s, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:f}", "part", l->part,
                            "slot", (json_int_t)l->slot, "field", l->field->spec, "inputs", inputs,
                            "center", numbers(l->d, l->center), "half", numbers(l->d, l->half),
                            "low", numbers(l->d, l->low), "high", numbers(l->d, l->high), "scale",
                            l->scale, "floor", l->floor);
    if (l->square) clsi_json_put(&all, "square", json_true());
    if (l->exponential) clsi_json_put(&all, "exponential", json_true());
    if (l->form) clsi_json_put(&all, "form", json_string(forms[l->form]));
    if (l->trunk > 0) clsi_json_put(&all, "trunk", json_real(l->trunk));
    return all;
}

char *clsi_learned_describe(size_t n, const clsi_learned *learned) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) clsi_json_add(&list, learned_json(&learned[i]));
    char *text = clsi_json_text(list, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(list);
    return text;
}

static char *describe_set(const cls_model *m) {
    json_t *values = json_object();
    for (size_t i = 0; i < m->n_set; i++)
        clsi_json_put(&values, m->set_names[i], json_real(m->set_values[i]));
    char *text = clsi_json_text(values, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(values);
    return text;
}

cls_status cls_model_write(const cls_model *m, const char *path, cls_error *error) {
    NEED(error, m);
    NEED(error, path);
    clsi_container c = {0};
    char *set = describe_set(m), *unknown = clsi_learned_describe(m->n_learned, m->learned);
    const char *const notes[][2] = {{"format", FORMAT},   {"system_name", m->name},
                                    {"system", m->text},  {"set", set},
                                    {"unknown", unknown}, {"provenance", m->provenance}};
    cls_status status = unknown && set ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < 6 && status == CLS_OK; i++)
        status = clsi_container_add_note(&c, notes[i][0], notes[i][1] ? notes[i][1] : "{}", error);
    if (status == CLS_OK)
        status = clsi_container_add_tensor(&c, "theta", m->n_theta, m->theta, error);
    if (status == CLS_OK)
        status = clsi_container_add_tensor(&c, "start", m->n_start, m->start, error);
    if (status == CLS_OK) status = clsi_container_seal(&c, error);
    if (status == CLS_OK) status = clsi_container_write(path, &c, error);
    clsi_container_clear(&c);
    free(set);
    free(unknown);
    return status;
}

/* ---- reading ---- */

static cls_status bad(const char *path, const char *what, cls_error *error) {
    return clsi_fail(error, CLS_SYSTEM, "%s: %s; it was not written by clausius, or is damaged",
                     path, what);
}

/* What a room below said, with the name of the file; whatever it is there, here it is a bad file.
 */
static cls_status in_file(const char *path, cls_status status, const cls_error *why,
                          cls_error *error) {
    if (status == CLS_MEMORY || why->status == CLS_MEMORY) return clsi_no_memory(error);
    return clsi_fail(error, CLS_SYSTEM, "%s: %s", path, why->message);
}

static int read_numbers(const json_t *list, size_t n, double *out) {
    if (json_array_size(list) != n) return 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = json_number_value(json_array_get(list, i));
        if (!json_is_number(json_array_get(list, i)) || !isfinite(out[i])) return 0;
    }
    return 1;
}

static cls_status read_learned(const char *path, json_t *json, clsi_learned *l, cls_error *error) {
    const char *part = NULL, *spec = NULL, *form = NULL;
    json_t *inputs = NULL, *center = NULL, *half = NULL;
    json_int_t slot = 0;
    if (json_unpack(json, "{s:s, s:I, s:s, s:o, s:o, s:o, s:F, s:F, s?b, s?b, s?s, s?F}", "part",
                    &part, "slot", &slot, "field", &spec, "inputs", &inputs, "center", &center,
                    "half", &half, "scale", &l->scale, "floor", &l->floor, "square", &l->square,
                    "exponential", &l->exponential, "form", &form, "trunk", &l->trunk) != 0)
        return bad(path, "a learned part lacks something", error);
    size_t known = 0;
    while (form && known < N_FORMS && strcmp(form, forms[known]) != 0) known++;
    if (known == N_FORMS)
        return bad(path, "a learned part has a form that this version does not know", error);
    l->form = (clsi_friction_form)known;
    l->d = json_array_size(inputs);
    l->slot = (size_t)slot;
    if (slot < 0 || !isfinite(l->scale) || !isfinite(l->floor) || !isfinite(l->trunk))
        return bad(path, "a learned part has a bad slot, scale, floor or trunk", error);
    if (l->d < 1 || l->d > CLSI_FIELD_MAX_INPUTS || !read_numbers(center, l->d, l->center) ||
        !read_numbers(half, l->d, l->half))
        return bad(path, "a learned part has bad inputs", error);
    if (!(l->part = clsi_strdup(part))) return clsi_no_memory(error);
    for (size_t i = 0; i < l->d; i++) {
        const char *text = json_string_value(json_array_get(inputs, i));
        if (!text || !(l->half[i] > 0)) return bad(path, "a learned part has bad inputs", error);
        if (!(l->input[i] = clsi_strdup(text))) return clsi_no_memory(error);
    }
    json_t *low = json_object_get(json, "low"), *high = json_object_get(json, "high");
    if ((low || high) && !(read_numbers(low, l->d, l->low) && read_numbers(high, l->d, l->high)))
        return bad(path, "a learned part has a bad range", error);
    cls_error why;
    cls_status status =
        clsi_field_create(l->d, spec, (const char *const *)l->input, &l->field, &why);
    return status == CLS_OK ? CLS_OK : in_file(path, status, &why, error);
}

/* JSON inside a note, parsed only when it is as short as what we write. */
static json_t *parse_note(const clsi_container *c, const char *key) {
    const char *text = clsi_container_note(c, key);
    int no_memory = 0; /* then errno says so, and clsi_fail */
    size_t length = text ? strlen(text) : 0;
    return length && length < 1 << 20 ? clsi_json_read(text, length, &no_memory, NULL) : NULL;
}

cls_status clsi_learned_read(const char *path, const clsi_container *c, size_t n_theta,
                             clsi_learned **learned, size_t *n_learned, cls_error *error) {
    json_t *list = parse_note(c, "unknown");
    size_t n = json_array_size(list), offset = 0;
    cls_status status = CLS_OK;
    if (!json_is_array(list) || n > 256) {
        status = bad(path, "its list of learned parts cannot be read", error);
    } else if (!(*learned = clsi_calloc(n, sizeof **learned))) {
        status = clsi_no_memory(error);
    }
    for (size_t i = 0; i < n && status == CLS_OK; i++) {
        clsi_learned *l = &(*learned)[i];
        *n_learned = i + 1;
        status = read_learned(path, json_array_get(list, i), l, error);
        if (status != CLS_OK) break;
        l->offset = offset;
        offset += l->field->n_parameters;
    }
    if (status == CLS_OK && offset != n_theta)
        status = bad(path, "its number of parameters is not what its parts need", error);
    json_decref(list);
    return status;
}

static cls_status read_set(const char *path, const clsi_container *c, cls_model *m,
                           cls_error *error) {
    const char *key;
    json_t *values = parse_note(c, "set"), *value;
    size_t n = json_object_size(values);
    cls_status status = json_is_object(values) ? CLS_OK : bad(path, "bad parameter values", error);
    m->set_names = clsi_calloc(n, sizeof *m->set_names);
    m->set_values = clsi_calloc(n, sizeof *m->set_values);
    if (!m->set_names || !m->set_values) status = clsi_no_memory(error);
    if (status == CLS_OK) {
        json_object_foreach(values, key, value) {
            if (!json_is_number(value)) status = bad(path, "bad parameter values", error);
            m->set_values[m->n_set] = json_number_value(value);
            m->set_names[m->n_set] = clsi_strdup(key);
            if (!m->set_names[m->n_set++]) status = clsi_no_memory(error);
        }
    }
    json_decref(values);
    return status;
}

/* Empty ones stand at the same place in the file, in either order. */
static const clsi_tensor *find_tensor(const clsi_container *c, const char *name) {
    for (size_t i = 0; i < c->n_tensors; i++)
        if (strcmp(c->tensors[i].name, name) == 0) return &c->tensors[i];
    return NULL;
}

static cls_status take(const char *path, const clsi_container *c, cls_model *m, cls_error *error) {
    const char *format = clsi_container_note(c, "format");
    const char *text = clsi_container_note(c, "system"),
               *name = clsi_container_note(c, "system_name");
    const char *provenance = clsi_container_note(c, "provenance");
    if (!format || (strcmp(format, FORMAT) != 0 && strcmp(format, BEFORE) != 0))
        return clsi_fail(
            error, CLS_SYSTEM,
            "%s: its format is '%s', this program reads '%s'; did a newer one write it?", path,
            format && clsi_is_shown(format) ? format : "unknown", FORMAT);
    const clsi_tensor *theta = find_tensor(c, "theta"), *start = find_tensor(c, "start");
    if (!text || !name || !provenance || c->n_tensors != 2 || !theta || !start)
        return bad(path, "system, provenance or theta is missing", error);
    m->text = clsi_strdup(text);
    m->name = clsi_shown_text(name, strlen(name));
    m->provenance = clsi_strdup(provenance);
    m->n_theta = theta->n;
    m->n_start = start->n;
    m->theta = clsi_calloc(m->n_theta, sizeof *m->theta);
    m->start = clsi_calloc(m->n_start, sizeof *m->start);
    if (!m->text || !m->name || !m->provenance || !m->theta || !m->start)
        return clsi_no_memory(error);
    if (m->n_theta) memcpy(m->theta, theta->values, m->n_theta * sizeof *m->theta);
    if (m->n_start) memcpy(m->start, start->values, m->n_start * sizeof *m->start);
    for (size_t i = 0; i < m->n_theta; i++)
        if (!isfinite(m->theta[i])) return bad(path, "a parameter is not a finite number", error);
    for (size_t i = 0; i < m->n_start; i++)
        if (!isfinite(m->start[i])) return bad(path, "its start is not finite", error);
    cls_status status = read_set(path, c, m, error);
    if (status == CLS_OK)
        status = clsi_learned_read(path, c, m->n_theta, &m->learned, &m->n_learned, error);
    if (status != CLS_OK) return status;
    cls_error why;
    status = clsi_model_build(m, &why);
    if (status != CLS_OK) return in_file(path, status, &why, error);
    if (m->n_start && m->n_start != m->system->form->nz) /* work and heat begin at 0 */
        return bad(path, "its start is not of its system", error);
    return CLS_OK;
}

cls_status cls_model_read(const char *path, cls_model **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, path);
    *out = NULL;
    clsi_container c = {0};
    cls_status status = clsi_container_read(path, &c, error);
    if (status != CLS_OK) return status;
    cls_model *m = clsi_calloc(1, sizeof *m);
    status = m ? take(path, &c, m, error) : clsi_no_memory(error);
    clsi_container_clear(&c);
    if (status == CLS_OK)
        *out = m;
    else
        cls_model_free(&m);
    return status;
}

/* ---- explaining ---- */

int clsi_has_range(const clsi_learned *l, size_t k) {
    return l->low[k] != 0 || l->high[k] != 0;
}

/* The formulas of terms(a; b; ...) with the numbers that were found: that is what was learned. */
static void tell_terms(const cls_model *m, const clsi_learned *l, clsi_text *t) {
    static const char begin[] = "terms(";
    const char *at = l->field->spec;
    if (strncmp(at, begin, sizeof begin - 1) != 0 || l->square || l->exponential) return;
    at += sizeof begin - 1;
    for (size_t i = 0; i < l->field->n_parameters; i++) {
        size_t length = strcspn(at, ";"), last = at[length] == '\0', blanks = strspn(at, " ");
        double u = l->scale * m->theta[l->offset + i];
        /* a constant that is positive by form is what the form makes of it; sums are not that simple */
        int alone = l->field->n_parameters == 1 && at[blanks] == '1' && length - blanks - last == 1;
        int bent = l->floor > 0 && l->form != CLSI_MATRIX;
        if (bent && alone) u = (u + sqrt(u * u + l->floor * l->floor)) / 2;
        clsi_text_printf(t, "    %-12.6g times %.*s%s\n", u, (int)(length - blanks - last),
                         at + blanks, bent && !alone ? ", before the form keeps it positive" : "");
        at += length + !last;
    }
}

/* Parameters of the file, with their standard errors. */
static void tell_parameters(const json_t *list, clsi_text *t) {
    size_t i;
    json_t *p;
    json_array_foreach(list, i, p) {
        const json_t *error = json_object_get(p, "error");
        clsi_text_printf(t, "  %-12s = %.8g", json_string_value(json_object_get(p, "name")),
                         json_number_value(json_object_get(p, "value")));
        if (json_is_number(error))
            clsi_text_printf(t, " +- %.2g\n", json_number_value(error));
        else /* a stopped search has no errors */
            clsi_text_append(t, error ? ", which the data cannot tell\n" : "\n");
    }
}

static double at_place(const json_t *f, const char *key, size_t i) {
    return json_number_value(json_array_get(json_object_get(f, key), i));
}

/* Learned functions at five places of their range, with standard errors. */
static void tell_functions(const json_t *list, clsi_text *t) {
    size_t i;
    json_t *f;
    json_array_foreach(list, i, f) {
        size_t n = json_array_size(json_object_get(f, "at"));
        json_int_t slot = json_integer_value(json_object_get(f, "slot"));
        if (n < 5) continue;
        clsi_text_printf(t, "  %s", json_string_value(json_object_get(f, "part")));
        if (slot) clsi_text_printf(t, " (entry %d)", (int)slot + 1);
        clsi_text_printf(
            t, " over %s, with standard errors%s\n", json_string_value(json_object_get(f, "input")),
            json_is_true(json_object_get(f, "relative")) ? ", relative to the middle" : "");
        for (size_t k = 0; k < 5; k++) {
            size_t at = k * (n - 1) / 4;
            const json_t *error = json_array_get(json_object_get(f, "error"), at);
            clsi_text_printf(t, "    at %-12.4g %.6g", at_place(f, "at", at),
                             at_place(f, "value", at));
            if (json_is_number(error))
                clsi_text_printf(t, " +- %.2g\n", json_number_value(error));
            else
                clsi_text_append(t, ", which the data cannot tell\n");
        }
    }
}

/* Told above, or too long to be read. */
static int is_told(const char *key) {
    static const char *const keys[] = {"parameters", "functions", "covariance",
                                       "ensemble",   "curve",     "spread"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0) return 1;
    return 0;
}

cls_status cls_model_show(const cls_model *m, char **text, cls_error *error) {
    NEED(error, text);
    *text = NULL;
    NEED(error, m);
    clsi_text t = {0};
    json_t *provenance = m->told, *value;
    size_t n = json_array_size(json_object_get(provenance, "parameters"));
    clsi_text_printf(&t, "model of %s: ", m->name);
    if (n) clsi_text_printf(&t, "%zu learned parameter%s\n", n, n == 1 ? "" : "s");
    if (!n || m->n_learned)
        clsi_text_printf(&t, "%zu learned part%s, %zu parameters\n", m->n_learned,
                         m->n_learned == 1 ? "" : "s", m->n_theta);
    tell_parameters(json_object_get(provenance, "parameters"), &t);
    for (size_t i = 0; i < m->n_learned; i++) {
        const clsi_learned *l = &m->learned[i];
        clsi_text_printf(&t, "  %s = %s, %zu parameters%s", l->part, l->field->spec,
                         l->field->n_parameters,
                         l->exponential              ? ", of the logarithm"
                         : l->floor > 0 || l->square ? ", positive by form"
                                                     : "");
        clsi_learned_tell_convex(l, &t);
        clsi_text_append(&t, "\n");
        tell_terms(m, l, &t);
        for (size_t k = 0; k < l->d; k++)
            clsi_text_printf(&t, "    of %-12s seen from %.6g to %.6g\n", l->input[k],
                             clsi_has_range(l, k) ? l->low[k] : l->center[k] - l->half[k],
                             clsi_has_range(l, k) ? l->high[k] : l->center[k] + l->half[k]);
    }
    tell_functions(json_object_get(provenance, "functions"), &t);
    const char *key;
    clsi_text_append(&t, "learned from\n");
    json_object_foreach(provenance, key, value) {
        if (is_told(key)) continue;
        char *printed =
            clsi_json_text(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
        if (!printed) t.failed = 1;
        clsi_text_printf(&t, "  %-14s %s\n", key, printed ? printed : "");
        free(printed);
    }
    char *told = clsi_text_take(&t);
    *text = told ? clsi_shown_lines(told) : NULL; /* the file may come from anywhere */
    free(told);
    return *text ? CLS_OK : clsi_no_memory(error);
}
