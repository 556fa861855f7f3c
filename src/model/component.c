/* Learned components that move from one system to another.
 *
 * Problem: a damper learned in one machine is the same damper in the next. It was learned as a
 * function of the efforts at its own ports (system/flatten.c), so nothing of the first system is in
 * it but the parameters and the range of efforts that the data had. A component file holds that:
 * the declaration (ports, units, directions), the fields with their scaling and ranges, the
 * parameters, and where they come from. `use "damper.safetensors" as damper` puts the declaration
 * into another text and the fields into its place; the result is a model.
 *
 * The ports and units are compared by the wiring itself; leaving the range of the data is told at
 * run time (range.c). A component learned as a function of anything but its ports stays where it
 * is. */
#include "base/base.h"
#include "base/misuse.h"
#include "model/json.h"
#include "model/model.h"
#include "model/safetensors.h"
#include "system/ports.h"
#include <stdlib.h>
#include <string.h>

#define FORMAT "clausius-component 2"
#define BEFORE "clausius-component 1" /* had no checksum */

/* ---- extracting ---- */

static cls_status no_component(const cls_model *m, const char *name, cls_error *error) {
    const clsi_ports *p = m->system->ports;
    size_t n = m->system->ode ? m->n_learned : p ? p->n_components : 0;
    const char **words = clsi_calloc(n + 1, sizeof *words);
    if (!words) return clsi_no_memory(error);
    for (size_t i = 0; i < n; i++)
        words[i] = m->system->ode ? m->learned[i].part : p->components[i].name;
    const char *near = cls_nearest_word(name, n, words);
    cls_status status =
        n ? clsi_fail(error, CLS_USAGE, "%s has no %s '%s'%s%s%s", m->name,
                      m->system->ode ? "learned part" : "component", name,
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "")
          : clsi_fail(error, CLS_USAGE, "%s is not made of components: nothing can be extracted",
                      m->name);
    free(words);
    return status;
}

static cls_status find_component(const cls_model *m, const char *name, clsi_component **out,
                                 cls_error *error) {
    const clsi_ports *p = m->system->ports;
    for (size_t i = 0; p && i < p->n_components; i++)
        if (strcmp(p->components[i].name, name) == 0) {
            *out = &p->components[i];
            return CLS_OK;
        }
    return no_component(m, name, error);
}

static const clsi_learned *find_learned(const cls_model *m, const char *part) {
    for (size_t i = 0; i < m->n_learned; i++)
        if (strcmp(m->learned[i].part, part) == 0) return &m->learned[i];
    return NULL;
}

/* terms(1), a constant, is a function of nothing: it can be made where there is no variable. */
static int is_constant(const clsi_learned *l) {
    const char *const none[] = {"'"};
    clsi_field *f = NULL;
    if (!l->field->kind->raw) return 0;
    int made = clsi_field_create(1, l->field->spec, none, &f, NULL) == CLS_OK;
    clsi_field_free(&f);
    return made;
}

static cls_status check_inputs(const clsi_component *c, const clsi_learned *l, cls_error *error) {
    int same = l->d == c->n_inputs; /* a shared one is learned over the names of its arguments */
    for (size_t i = 0; same && i < l->d && c->definition == SIZE_MAX; i++)
        same = strcmp(l->input[i], c->flat_input[i]) == 0;
    if (same || is_constant(l)) return CLS_OK;
    return clsi_fail(error, CLS_USAGE,
                     "'%s' was learned as a function of more than its own ports (%s, ...), so it "
                     "means nothing elsewhere; learn it with chebyshev, monomial or network",
                     c->name, l->d ? l->input[0] : "nothing");
}

/* (p [kg m/s], entropy s) */
static void declare_ports(const clsi_component *c, clsi_text *out) {
    for (size_t k = 0; k < c->n_ports; k++) {
        const clsi_port *port = &c->port[k];
        clsi_text_printf(out, "%s%s%s", k ? ", " : "(", port->thermal ? "entropy " : "",
                         port->name);
        if (port->unit) clsi_text_printf(out, " [%s]", port->unit);
        if (port->temperature) clsi_text_printf(out, " with temperature %s", port->temperature);
    }
    clsi_text_append(out, ")");
}

/* What was learned of it: the parts' names and what the declaration says behind the colon. */
static cls_status parts_of(clsi_ports *p, const clsi_component *c, size_t *n, char (**list)[160],
                           char **text, cls_error *error) {
    if (c->kind != CLSI_STORAGE && c->kind != CLSI_RESISTIVE)
        return clsi_fail(error, CLS_USAGE,
                         "'%s' is neither a storage nor resistive: nothing of it is "
                         "learned",
                         c->name);
    cls_error *kept = p->error; /* the reader's own is gone */
    p->error = error;
    for (size_t i = 0; i < p->n_sources; i++) p->sources[i]->error = error;
    cls_status status = clsi_component_parts(p, c, n, list, text);
    p->error = kept;
    return status;
}

static char *declaration_of(const clsi_component *c, const char *body) {
    clsi_text out = {0};
    declare_ports(c, &out);
    clsi_text_printf(&out, ": %s", body);
    for (size_t i = 0; i < c->n_inputs; i++)
        clsi_text_printf(&out, "%s%s", i ? ", " : " of ", c->input[i]);
    return clsi_text_take(&out);
}

/* The learned fields of the terms with inputs over the ports, and their parameters in one block. */
static cls_status collect(const cls_model *m, const clsi_component *c, size_t n, char (*parts)[160],
                          clsi_learned *list, double **theta, size_t *n_theta, cls_error *error) {
    *n_theta = 0;
    for (size_t k = 0; k < n; k++) {
        const clsi_learned *l = find_learned(m, parts[k]);
        if (!l)
            return clsi_fail(error, CLS_USAGE,
                             "'%s' of %s was not learned: its formula is in the system's file",
                             parts[k], m->name);
        cls_status status = check_inputs(c, l, error);
        if (status != CLS_OK) return status;
        list[k] = *l; /* borrowed, but for what is renamed */
        list[k].d = c->n_inputs;
        for (size_t i = 0; i < c->n_inputs; i++) {
            list[k].input[i] = c->input[i];
            if (!l->field->kind->raw) continue;
            list[k].center[i] = list[k].low[i] = list[k].high[i] = 0; /* no range: a constant */
            list[k].half[i] = 1;
        }
        *n_theta += l->field->n_parameters;
    }
    *theta = clsi_calloc(*n_theta, sizeof **theta);
    if (!*theta) return clsi_no_memory(error);
    for (size_t k = 0, at = 0; k < n; k++) {
        size_t count = list[k].field->n_parameters;
        memcpy(*theta + at, m->theta + list[k].offset, count * sizeof **theta);
        at += count;
    }
    return CLS_OK;
}

static char *history_of(const cls_model *m, const char *component) {
    json_t *from = m->told ? json_incref(m->told) : json_object();
    json_t *o =
        json_pack("{s:s, s:s, s:o}", "system", m->name, "component", component, "learned", from);
    char *text = clsi_json_text(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(o);
    return text;
}

static cls_status write_component(const char *path, const char *kind, const char *text,
                                  const char *fields, const char *history, size_t n_theta,
                                  const double *theta, cls_error *error) {
    clsi_container out = {0};
    const char *const notes[][2] = {{"format", FORMAT},
                                    {"kind", kind},
                                    {"declaration", text},
                                    {"unknown", fields},
                                    {"provenance", history}};
    cls_status status = text && fields && history ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < 5 && status == CLS_OK; i++)
        status = clsi_container_add_note(&out, notes[i][0], notes[i][1], error);
    if (status == CLS_OK) status = clsi_container_add_tensor(&out, "theta", n_theta, theta, error);
    if (status == CLS_OK) status = clsi_container_seal(&out, error);
    if (status == CLS_OK) status = clsi_container_write(path, &out, error);
    clsi_container_clear(&out);
    return status;
}

/* A learned term of an ode, with the formulas it is a function of: there they are looked for by
 * name. */
static cls_status extract_part(const cls_model *m, const clsi_learned *l, const char *path,
                               cls_error *error) {
    clsi_text out = {0};
    for (size_t i = 0; i < l->d; i++)
        clsi_text_printf(&out, "%s%s", i ? ", " : " of ", l->input[i]);
    clsi_text_append(&out, " = unknown");
    char *text = clsi_text_take(&out), *fields = clsi_learned_describe(1, l);
    char *history = history_of(m, l->part);
    cls_status status = write_component(path, "part", text, fields, history, l->field->n_parameters,
                                        m->theta + l->offset, error);
    free(text);
    free(fields);
    free(history);
    return status;
}

cls_status cls_model_extract(const cls_model *m, const char *component, const char *path,
                             cls_error *error) {
    NEED(error, m);
    NEED(error, path);
    const clsi_learned *term = m->system->ode ? find_learned(m, component) : NULL;
    if (term) return extract_part(m, term, path, error);
    clsi_component *c = NULL;
    char(*parts)[160] = NULL, *body = NULL, *text = NULL, *fields = NULL, *history = NULL;
    clsi_learned *list = NULL;
    double *theta = NULL;
    size_t n = 0, n_theta = 0;
    cls_status status = find_component(m, component, &c, error);
    if (status == CLS_OK) status = parts_of(m->system->ports, c, &n, &parts, &body, error);
    if (status == CLS_OK && !(list = clsi_calloc(n, sizeof *list))) status = clsi_no_memory(error);
    if (status == CLS_OK) status = collect(m, c, n, parts, list, &theta, &n_theta, error);
    if (status == CLS_OK) {
        text = declaration_of(c, body);
        fields = clsi_learned_describe(n, list);
        history = history_of(m, component);
        status = write_component(path, c->kind == CLSI_STORAGE ? "storage" : "resistive", text,
                                 fields, history, n_theta, theta, error);
    }
    void *const all[] = {parts, body, text, fields, history, list, theta};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    return status;
}

/* ---- using ---- */

/* A component file that was read. */
typedef struct piece {
    char *path, *kind, *declaration, sha[65];
    size_t n, n_theta;
    clsi_learned *learned;
    double *theta;
} piece;

typedef struct kit {
    piece *pieces;
    size_t n, capacity;
} kit;

static void kit_clear(kit *k) {
    for (size_t i = 0; i < k->n; i++) {
        piece *p = &k->pieces[i];
        for (size_t j = 0; p->learned && j < p->n; j++) clsi_learned_clear(&p->learned[j]);
        free(p->learned);
        free(p->theta);
        free(p->path);
        free(p->kind);
        free(p->declaration);
    }
    free(k->pieces);
}

static cls_status fill_piece(const char *path, const clsi_container *c, piece *p,
                             cls_error *error) {
    const char *format = clsi_container_note(c, "format"), *kind = clsi_container_note(c, "kind");
    const char *text = clsi_container_note(c, "declaration");
    if (!format || (strcmp(format, FORMAT) != 0 && strcmp(format, BEFORE) != 0))
        return clsi_fail(error, CLS_SYSTEM,
                         "%s is not a component (its format is '%s'): `clausius extract MODEL "
                         "--component NAME -o FILE` makes one",
                         path, format ? format : "unknown");
    if (!kind || !text || strchr(text, '\n') || c->n_tensors != 1 ||
        strcmp(c->tensors[0].name, "theta") != 0)
        return clsi_fail(error, CLS_SYSTEM, "%s: the component is damaged", path);
    p->path = clsi_strdup(path);
    p->kind = clsi_strdup(kind);
    p->declaration = clsi_strdup(text);
    p->n_theta = c->tensors[0].n;
    p->theta = clsi_calloc(p->n_theta, sizeof *p->theta);
    if (!p->path || !p->kind || !p->declaration || !p->theta) return clsi_no_memory(error);
    memcpy(p->theta, c->tensors[0].values, p->n_theta * sizeof *p->theta);
    cls_status status = clsi_learned_read(path, c, p->n_theta, &p->learned, &p->n, error);
    return status == CLS_OK ? clsi_sha256_file(path, NULL, NULL, p->sha, error) : status;
}

static cls_status find_piece(kit *k, const char *path, piece **out, cls_error *error) {
    for (size_t i = 0; i < k->n; i++)
        if (strcmp(k->pieces[i].path, path) == 0) {
            *out = &k->pieces[i];
            return CLS_OK;
        }
    if (!clsi_grow(&k->pieces, &k->capacity, k->n + 1, sizeof *k->pieces))
        return clsi_no_memory(error);
    *out = &k->pieces[k->n++];
    **out = (piece){0};
    clsi_container c = {0};
    cls_status status = clsi_container_read(path, &c, error);
    if (status == CLS_OK) status = fill_piece(path, &c, *out, error);
    clsi_container_clear(&c);
    return status;
}

static cls_status declaration(void *context, const char *path, const char *name, char **text,
                              cls_error *error) {
    piece *p = NULL;
    clsi_text out = {0};
    cls_status status = find_piece(context, path, &p, error);
    if (status != CLS_OK) return status;
    clsi_text_printf(&out, "%s %s%s", p->kind, name, p->declaration);
    *text = clsi_text_take(&out);
    return *text ? CLS_OK : clsi_no_memory(error);
}

/* One learned field in its new place. */
static cls_status place_field(cls_model *m, size_t n_inputs, char *const *inputs, const piece *p,
                              size_t k, const char *part, cls_error *error) {
    const clsi_learned *from = &p->learned[k];
    clsi_learned *to = &m->learned[m->n_learned++];
    *to = *from;
    to->part = NULL;
    to->field = NULL;
    memset(to->input, 0, sizeof to->input);
    if (from->d != n_inputs)
        return clsi_fail(error, CLS_SYSTEM, "%s: the component is damaged: its inputs do not fit",
                         p->path);
    if (!(to->part = clsi_strdup(part))) return clsi_no_memory(error);
    for (size_t i = 0; i < to->d; i++)
        if (!(to->input[i] = clsi_strdup(inputs[i]))) return clsi_no_memory(error);
    to->offset = m->n_theta;
    memcpy(m->theta + m->n_theta, p->theta + from->offset,
           from->field->n_parameters * sizeof *m->theta);
    m->n_theta += from->field->n_parameters;
    return clsi_field_create(to->d, from->field->spec, (const char *const *)to->input, &to->field,
                             error);
}

/* All fields of a component, in the order of its parts. */
static cls_status place_piece(cls_model *m, clsi_ports *ports, const clsi_component *c,
                              const piece *p, cls_error *error) {
    char(*parts)[160] = NULL, *body = NULL;
    size_t n = 0;
    cls_status status = parts_of(ports, c, &n, &parts, &body, error);
    if (status == CLS_OK && n != p->n)
        status =
            clsi_fail(error, CLS_SYSTEM, "%s: the component is damaged: it has %zu fields, not %zu",
                      p->path, p->n, n);
    for (size_t k = 0; k < n && status == CLS_OK; k++)
        status = place_field(m, c->n_inputs, c->flat_input, p, k, parts[k], error);
    free(parts);
    free(body);
    return status;
}

/* Room for all fields of all pieces that the system uses. */
static cls_status make_room(cls_model *m, const clsi_ports *ports, kit *k, cls_error *error) {
    size_t fields = 0, numbers = 0;
    piece *p = NULL;
    for (size_t i = 0; i < ports->n_components + ports->n_used_parts; i++) {
        const char *path = i < ports->n_components
                               ? ports->components[i].used
                               : ports->used_parts[i - ports->n_components].path;
        cls_status status = path ? find_piece(k, path, &p, error) : CLS_OK;
        if (status != CLS_OK) return status;
        fields += path ? p->n : 0;
        numbers += path ? p->n_theta : 0;
    }
    m->learned = clsi_calloc(fields, sizeof *m->learned);
    m->theta = clsi_calloc(numbers, sizeof *m->theta);
    return m->learned && m->theta ? CLS_OK : clsi_no_memory(error);
}

static void note_use(json_t **uses, const char *name, const piece *p) {
    clsi_json_add(
        uses, json_pack("{s:s, s:s, s:s}", "component", name, "file", p->path, "sha256", p->sha));
}

/* A term of an ode means the variables it names; they must be there. */
static cls_status check_names(const clsi_learned *l, const cls_system *s, const char *path,
                              cls_error *error) {
    for (size_t i = 0; i < l->d; i++) {
        clsi_learned one = *l;
        cls_node x;
        one.d = 1;
        one.input[0] = l->input[i];
        if (clsi_learned_inputs(&one, s, &x) != CLS_OK)
            return clsi_fail(error, CLS_SYSTEM,
                             "%s was learned as a function of %s, and '%s' has no such variables: "
                             "give its states the names they had there",
                             path, l->input[i], s->name);
    }
    return CLS_OK;
}

static cls_status place_fields(cls_model *m, const cls_system *s, kit *k, cls_error *error) {
    clsi_ports *ports = s->ports;
    json_t *uses = json_array();
    piece *p = NULL;
    cls_status status = make_room(m, ports, k, error);
    for (size_t i = 0; i < ports->n_components && status == CLS_OK; i++) {
        const clsi_component *c = &ports->components[i];
        if (!c->used) continue;
        status = find_piece(k, c->used, &p, error);
        if (status == CLS_OK) status = place_piece(m, ports, c, p, error);
        if (status == CLS_OK) note_use(&uses, c->name, p);
    }
    for (size_t i = 0; i < ports->n_used_parts && status == CLS_OK; i++) {
        const clsi_used_part *u = &ports->used_parts[i];
        status = find_piece(k, u->path, &p, error);
        if (status == CLS_OK && p->n != 1)
            status = clsi_fail(error, CLS_SYSTEM, "%s: the part is damaged", u->path);
        if (status == CLS_OK)
            status = place_field(m, p->learned->d, p->learned->input, p, 0, u->name, error);
        if (status == CLS_OK) status = check_names(&p->learned[0], s, u->path, error);
        if (status == CLS_OK) note_use(&uses, u->name, p);
    }
    json_t *o = json_pack("{s:o}", "uses", uses);
    m->provenance = clsi_json_text(o, JSON_COMPACT);
    json_decref(o);
    return status == CLS_OK && !m->provenance ? clsi_no_memory(error) : status;
}

static cls_status keep_set(cls_model *m, const cls_assignments *set, cls_error *error) {
    size_t n = set ? set->n : 0;
    m->set_names = clsi_calloc(n, sizeof *m->set_names);
    m->set_values = clsi_calloc(n, sizeof *m->set_values);
    if (!m->set_names || !m->set_values) return clsi_no_memory(error);
    for (size_t i = 0; i < n; i++) {
        m->set_values[i] = set->values[i];
        if (!(m->set_names[i] = clsi_strdup(set->names[i]))) return clsi_no_memory(error);
        m->n_set++;
    }
    return CLS_OK;
}

static cls_status compose(const cls_system *s, const cls_assignments *set, kit *k, cls_model **out,
                          cls_error *error) {
    cls_model *m = clsi_calloc(1, sizeof *m);
    if (!m) return clsi_no_memory(error);
    m->name = clsi_strdup(s->name);
    m->text = clsi_strdup(s->text);
    cls_status status = m->name && m->text ? keep_set(m, set, error) : clsi_no_memory(error);
    if (status == CLS_OK) status = place_fields(m, s, k, error);
    if (status == CLS_OK) status = clsi_model_build(m, error);
    if (status == CLS_OK)
        *out = m;
    else
        cls_model_free(&m);
    return status;
}

cls_status cls_model_compose(const char *name_or_path, const cls_assignments *set,
                             cls_system **system, cls_model **model, cls_error *error) {
    NEED(error, system);
    *system = NULL;
    NEED(error, model);
    *model = NULL;
    NEED(error, name_or_path);
    kit k = {0};
    clsi_loader loader = {declaration, &k};
    cls_status status = clsi_system_load_using(name_or_path, set, &loader, system, error);
    if (status == CLS_OK && k.n) {
        status = compose(*system, set, &k, model, error);
        cls_system_free(system);
    }
    kit_clear(&k);
    return status;
}
