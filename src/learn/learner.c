/* The end of learning: what was learned becomes a model, with where it comes from. */
#include "base/locale.h"
#include "learn/learner.h"
#include "base/base.h"
#include "learn/shooting/multiple.h"
#include "model/json.h"
#include "model/safetensors.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int clsi_is_loss(const clsi_learner *w, const char *name) {
    return strcmp(w->o->loss ? w->o->loss : "residual", name) == 0;
}

void clsi_learner_note(clsi_learner *w, const char *format, ...) {
    char *at = w->info->notes;
    size_t used = strlen(at), size = sizeof w->info->notes;
    if (used + 2 >= size) return;
    va_list args;
    va_start(args, format);
    clsi_vsnprintf(at + used, size - used - 1, format, args);
    va_end(args);
    used += strlen(at + used);
    at[used] = '\n', at[used + 1] = 0; /* a place was kept for it */
}

static void add_word(json_t **o, const char *key, const char *word) {
    if (word) clsi_json_put(o, key, json_string(word));
}

/* The one asked for, or the default; with shooting the default is the system's. */
static const char *scheme_of(const clsi_learner *w) {
    if (w->o->scheme || clsi_is_loss(w, "shooting")) return w->o->scheme;
    return w->points->intervals ? "weak" : "quadrature";
}

/* What was asked, or chosen where nothing was. */
static json_t *asked(const clsi_learner *w) {
    json_t *all = json_object(), *given = clsi_options_asked(w->o, w->info->optimizer);
    add_word(&all, "loss", w->taken ? w->taken : w->o->loss ? w->o->loss : "residual");
    add_word(&all, "scheme", scheme_of(w));
    add_word(&all, "weights", w->o->weights ? w->o->weights : "balanced");
    clsi_json_put(&all, "validate", json_real(w->o->validate));
    if (!given || !all || json_object_update_missing(all, given)) {
        json_decref(all);
        all = NULL;
    }
    json_decref(given);
    if (w->o->from) clsi_json_put(&all, "from_a_model", json_true());
    return all;
}

static char *provenance(const clsi_learner *w, size_t n_tables, const char *const *names) {
    json_t *files = clsi_data_files(n_tables, names, w->o->interrupted, w->o->context);
    const cls_learn_info *f = w->info;
    json_t *all = json_pack(
        "{s:o, s:s, s:s, s:I, s:o, s:I, s:I, s:f, s:I, s:f, s:b}", "data", files, "version",
        cls_version(), "optimizer", f->optimizer, "seed", (json_int_t)w->o->seed, "options",
        asked(w), "windows", (json_int_t)f->samples, "validation_windows",
        (json_int_t)f->validation_samples, "loss", f->loss_final, "null_space",
        (json_int_t)f->nullity, "condition", f->condition, "scale_fixed", f->normalised);
    if (isfinite(f->loss_validation))
        clsi_json_put(&all, "validation_loss", json_real(f->loss_validation));
    if (f->report) clsi_report_record(f->report, &all);
    clsi_loss_curve_record(&w->curve, &all);
    if (w->split) clsi_json_put(&all, "split", json_incref(w->split));
    if (w->spread) clsi_json_put(&all, "spread", json_incref(w->spread));
    if (w->o->given && w->o->given->told)
        clsi_json_put(&all, "given", json_incref(w->o->given->told));
    char *text = clsi_json_text(all, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(all);
    return text;
}

static cls_status keep_start(cls_model *m, size_t n, const double *start, cls_error *error) {
    m->start = clsi_calloc(n, sizeof *m->start);
    m->n_start = m->start ? n : 0;
    if (!m->start) return clsi_no_memory(error);
    memcpy(m->start, start, n * sizeof *m->start);
    return CLS_OK;
}

enum { MOST_START = 256 };

/* A lagrangian's momentum is another one once it is learned, and whether it is in the state may
 * change as well: the model begins with the same positions, velocities and entropies. */
static cls_status start_by_velocities(const cls_system *s, const double *start, cls_model *m,
                                      cls_error *error) {
    size_t columns = cls_system_column_count(s), n = 0;
    double row[MOST_START], values[MOST_START], state[MOST_START];
    const char *names[MOST_START];
    if (columns > MOST_START || cls_system_row(s, 0, start, row, NULL) != CLS_OK) return CLS_OK;
    for (size_t c = 0; c < columns; c++) {
        const char *name = cls_system_column(s, c);
        int wanted = 0;
        for (size_t j = 0; j < s->nq; j++) wanted |= strcmp(name, s->coordinate[j].name) == 0;
        for (size_t j = 0; j < s->n; j++) wanted |= strcmp(name, cls_node_name(s->g, s->v[j])) == 0;
        for (size_t i = 0; i < s->m; i++) wanted |= strcmp(name, s->entropy[i].name) == 0;
        if (!wanted) continue;
        names[n] = name;
        values[n++] = row[c];
    }
    cls_assignments given = {n, names, values};
    cls_status status = cls_system_start(m->system, &given, state, NULL);
    if (status == CLS_MEMORY) return clsi_no_memory(error);
    if (status != CLS_OK) return CLS_OK;
    status = keep_start(m, m->system->form->nz, state, error);
    return status == CLS_OK ? clsi_model_build(m, error) : status;
}

cls_status clsi_learner_model(clsi_learner *w, const cls_system *system, const cls_assignments *set,
                              size_t n_tables, const char *const *names, cls_model **out) {
    if (!isfinite(w->info->loss_final))
        return clsi_fail(
            w->error, CLS_NUMERIC,
            "with the parameters that were found the loss is not finite (some windows cannot be "
            "simulated): nothing was learned; give it more --epochs, another --optimizer or "
            "--field, or shorter windows (--window)");
    cls_model *m = clsi_calloc(1, sizeof *m);
    if (!m) return clsi_no_memory(w->error);
    clsi_unknowns *us = w->unknowns;
    size_t n_set = set ? set->n : 0;
    m->name = clsi_strdup(system->name);
    m->text = clsi_strdup(system->text);
    m->provenance = provenance(w, n_tables, names);
    m->learned = clsi_calloc(us->n, sizeof *m->learned);
    m->set_names = clsi_calloc(n_set, sizeof *m->set_names);
    m->set_values = clsi_calloc(n_set, sizeof *m->set_values);
    cls_status status =
        m->name && m->text && m->provenance && m->learned && m->set_names && m->set_values
            ? CLS_OK
            : clsi_no_memory(w->error);
    for (size_t i = 0; i < n_set && status == CLS_OK; i++, m->n_set++) {
        m->set_values[i] = set->values[i];
        if (!(m->set_names[i] = clsi_strdup(set->names[i]))) status = clsi_no_memory(w->error);
    }
    for (size_t i = 0; i < us->n && status == CLS_OK; i++) {
        if (us->list[i].again) continue;
        m->learned[m->n_learned++] = us->list[i].learned; /* moved */
        us->list[i].learned = (clsi_learned){0};
    }
    double start[MOST_START];
    int lagrangian = system->formalism == CLS_LAGRANGIAN;
    cls_status has_start = cls_system_state_count(system) < MOST_START
                               ? cls_system_start(system, NULL, start, NULL)
                               : CLS_USAGE;
    int started = has_start == CLS_OK;
    if (status == CLS_OK && has_start == CLS_MEMORY) status = clsi_no_memory(w->error);
    if (status == CLS_OK && started && !lagrangian)
        status = keep_start(m, system->form->nz, start, w->error);
    m->theta = w->theta;
    m->n_theta = us->n_theta;
    w->theta = NULL;
    if (status == CLS_OK && w->o->given) status = clsi_model_take(m, w->o->given, w->error);
    if (status == CLS_OK) status = clsi_model_build(m, w->error);
    if (status == CLS_OK && started && lagrangian)
        status = start_by_velocities(system, start, m, w->error);
    if (status == CLS_OK)
        *out = m;
    else
        cls_model_free(&m);
    return status;
}
