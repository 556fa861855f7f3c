/* Learning: the call, its options, and by which of three means.
 *
 *   programs     energy and friction as formulas, by two convex programs (src/identify), where asked for
 *   parameters   numbers in formulas that are known otherwise (measured.c)
 *   functions    unknown parts, parameters beside them included (ways.c)
 *
 * Files are read as a whole or, where functions are learned by the residual, in blocks (stream.c). */
#include "learn/stream/feed.h"
#include "base/base.h"
#include "base/misuse.h"
#include "base/options.h"
#include "learn/recording/measured.h"
#include <clausius/identify.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

cls_learn_options cls_learn_defaults(void) {
    return (cls_learn_options){.size = sizeof(cls_learn_options),
                               .validate = 0.1,
                               .seed = 1,
                               .restarts = 1,
                               .patience = 100,
                               .test = -1,
                               .checkpoint_every = 10};
}

static void say_repeated(clsi_learner *w, size_t repeated) {
    static const char line[] = "%zu rows with a time that stood there already were averaged";
    cls_learn_report *r = w->info->report;
    clsi_learner_note(w, line, repeated);
    if (!r) return; /* whoever shows it shows its notes */
    clsi_text t = {0};
    clsi_text_printf(&t, "%s", r->notes);
    clsi_text_printf(&t, line, repeated);
    clsi_text_append(&t, "\n");
    char *notes = clsi_text_take(&t);
    if (!notes) return;
    free(r->notes);
    r->notes = notes;
}

/* The same from tables in which no time stands twice. */
static cls_status run_once(clsi_learner *w, const cls_system *system, const cls_assignments *set,
                           size_t n_tables, const cls_table *const *tables,
                           const char *const *names, clsi_stream *stream, cls_model **out) {
    if (!w->o->average)
        return clsi_learn_functions(w, system, set, n_tables, tables, names, stream, out);
    cls_table **copies = clsi_calloc(n_tables + 1, sizeof *copies);
    const cls_table **used = clsi_calloc(n_tables + 1, sizeof *used);
    cls_status status = copies && used ? CLS_OK : clsi_no_memory(w->error);
    size_t repeated = 0;
    for (size_t i = 0; i < n_tables && status == CLS_OK; i++) {
        status = clsi_table_once(tables[i], names[i], 1, &copies[i], w->error);
        used[i] = copies[i] ? copies[i] : tables[i];
        repeated += cls_table_rows(tables[i]) - cls_table_rows(used[i]);
    }
    if (status == CLS_OK)
        status = clsi_learn_functions(w, system, set, n_tables, used, names, stream, out);
    if (status == CLS_OK && repeated) say_repeated(w, repeated);
    for (size_t i = 0; copies && i < n_tables; i++) cls_table_free(&copies[i]);
    free(copies);
    free(used);
    return status;
}

/* The optimiser qp: cls_identify with its defaults (it has more to choose and more to report). */
static cls_status identify(const cls_system *system, const cls_assignments *set, size_t n_tables,
                           const cls_table *const *tables, const char *const *names,
                           const cls_learn_options *o, cls_model **out, cls_learn_info *info,
                           cls_error *error) {
    cls_identified *id;
    cls_identify_info found;
    cls_identify_options options = cls_identify_defaults();
    options.n_unknown = o->n_unknown;
    options.unknown = o->unknown;
    cls_status status =
        cls_identify(system, set, n_tables, tables, names, &options, &id, &found, error);
    if (status != CLS_OK) return status;
    *out = cls_identified_take_model(id);
    *info = (cls_learn_info){.parameters = found.energy.terms + found.friction.terms,
                             .samples = found.equations,
                             .loss_final = found.energy.residual,
                             .loss_validation = NAN,
                             .seconds = found.seconds,
                             .optimizer = "qp",
                             .rank = found.energy.rank + found.friction.rank,
                             .nullity = found.energy.nullity + found.friction.nullity,
                             .condition = found.energy.condition,
                             .kkt = fmax(found.energy.kkt, found.friction.kkt),
                             .rollout = NAN};
    cls_identified_free(&id);
    return CLS_OK;
}

/* Numbers in formulas. */
static cls_status learn_parameters(const cls_system *system, const cls_assignments *set,
                                   size_t n_tables, const cls_table *const *tables,
                                   const char *const *names, const cls_learn_options *o,
                                   cls_model **out, cls_learn_info *info, cls_error *error) {
    double started = clsi_now();
    int before = omp_get_max_threads();
    info->rollout = info->rollout_still = NAN;
    if (o->threads > 0) omp_set_num_threads(o->threads);
    cls_status status =
        clsi_learn_measured(system, set, n_tables, tables, names, o, out, info, error);
    omp_set_num_threads(before);
    info->seconds = clsi_now() - started;
    return status;
}

/* Functions, and the parameters `open` beside them (NULL: none). */
static cls_status learn_functions(const cls_system *system, const cls_assignments *set,
                                  size_t n_tables, const cls_table *const *tables,
                                  const char *const *names, cls_learn_options *o, clsi_open *open,
                                  clsi_stream *stream, cls_model **out, cls_learn_info *info,
                                  cls_error *error) {
    info->rollout = info->rollout_still = NAN;
    clsi_learner w = {.o = o,
                      .system = system,
                      .set = set,
                      .open = open,
                      .info = info,
                      .started = clsi_now(),
                      .error = error};
    int threads = omp_get_max_threads(); /* of the caller's thread, given back below */
    if (o->threads > 0) omp_set_num_threads(o->threads);
    cls_status status = run_once(&w, system, set, n_tables, tables, names, stream, out);
    omp_set_num_threads(threads);
    info->seconds = clsi_now() - w.started;
    clsi_learner_forget(&w);
    for (size_t k = 0; k < w.n_specs; k++) {
        for (size_t i = 0; i < o->n_unknown; i++) free(w.specs[k][i]);
        free(w.specs[k]);
    }
    free(w.specs);
    clsi_points_free(&w.points);
    json_decref(w.split);
    json_decref(w.spread);
    return status;
}

static int is_program(const cls_learn_options *o) {
    return o->optimizer && strcmp(o->optimizer, "qp") == 0;
}

static cls_status check_parts(const cls_system *system, const cls_learn_options *o,
                              const clsi_open *open, cls_error *error) {
    if (o->n_unknown == 0)
        return clsi_fail(error, CLS_USAGE,
                         "nothing is unknown: name the parts to learn; `clausius show %s --parts` "
                         "lists them",
                         system->name);
    if (is_program(o) && open)
        return clsi_fail(error, CLS_USAGE,
                         "'%s' has unknown parameters: `--optimizer qp` does not find them; set "
                         "them (--set), or leave the optimizer out",
                         system->name);
    if (is_program(o) && o->given)
        return clsi_fail(error, CLS_USAGE,
                         "'%s' uses parts that were learned before: `--optimizer qp` does not; "
                         "take another optimizer",
                         system->name);
    return CLS_OK;
}

static cls_status learn(const cls_system *system, const cls_assignments *set, size_t n_tables,
                        const cls_table *const *tables, const char *const *names,
                        const cls_learn_options *options, clsi_stream *stream, cls_model **out,
                        cls_learn_info *info, cls_error *error) {
    cls_learn_options o = cls_learn_defaults();
    TAKE_OPTIONS(&o, options);
    o.size = sizeof o;
    size_t n_rows;
    const cls_option *rows = cls_learn_option_table(&n_rows);
    if (clsi_options_in_range(n_rows, rows, &o, error) != CLS_OK) return CLS_USAGE;
    cls_assignments kept = {0}; /* the numbers that the given parts were learned with */
    if (o.given) {
        kept = (cls_assignments){o.given->n_set, (const char *const *)o.given->set_names,
                                 o.given->set_values};
        set = &kept;
    }
    int parts = clsi_has_open_parts(system, &o);
    int parameters = !o.given && clsi_has_open_parameters(system, &o);
    if (cls_system_is_noisy(system) && (o.given || parts))
        return clsi_fail(error, CLS_USAGE,
                         "'%s' has thermal noise: its parts are not learned as functions; write "
                         "the friction with unknown parameters, `parameter g = unknown near 0.5` "
                         "and `friction on Tr: x <- -(g + k*x^2)*v.x`",
                         system->name);
    if (parameters && !parts)
        return learn_parameters(system, set, n_tables, tables, names, &o, out, info, error);
    clsi_open open = {0}, *beside = parameters ? &open : NULL;
    cls_assignments all;
    cls_status status = beside ? clsi_open_create(system, &o, beside, error) : CLS_OK;
    if (status == CLS_OK && beside) status = clsi_open_set(beside, set, &all, error);
    if (status == CLS_OK && beside) {
        set = &all;
        o.n_unknown = open.n_parts;
        o.unknown = open.part;
    }
    if (status == CLS_OK && o.n_unknown == 0) {
        o.n_unknown = system->n_unknown;
        o.unknown = (const char *const *)system->unknown;
    }
    if (status == CLS_OK) status = check_parts(system, &o, beside, error);
    if (status == CLS_OK && is_program(&o))
        status = identify(system, set, n_tables, tables, names, &o, out, info, error);
    else if (status == CLS_OK)
        status = learn_functions(system, set, n_tables, tables, names, &o, beside, stream, out,
                                 info, error);
    clsi_open_clear(&open);
    return status;
}

/* ---- the times of a model ---- */

/* Steps of order two in the time in which the data change: a hundred. */
enum { STEPS_IN_SCALE = 100, MOST_IN_ROW = 100 };

static void say_time(clsi_text *t, const char *word, double value) {
    char number[CLSI_NUMBER];
    clsi_format_double(value, number);
    clsi_text_printf(t, "%s %s\n", word, number);
}

/* A system whose file says no step and no end is simulated as its data are: a default of 0.01 is a
 * second's work for a spring and a day's for a house. A scheme that was asked for learned its own step. */
static cls_status say_times(const cls_learn_options *options, const cls_table *data,
                            const cls_learn_info *info, cls_model *m, cls_error *error) {
    cls_system *s = m->system;
    cls_time_facts f;
    cls_learn_options o = cls_learn_defaults();
    TAKE_OPTIONS(&o, options);
    if (s->says_step && s->says_until) return CLS_OK;
    cls_status status = cls_table_inspect_time(data, &f, error);
    if (status != CLS_OK || !f.known || !(f.spacing > 0)) return status;
    double parts = info->rollout_parts > 1 ? (double)info->rollout_parts : 1,
           scale = info->report ? info->report->time_scale : 0;
    if (scale > 0) parts = fmax(parts, ceil(STEPS_IN_SCALE * f.spacing / scale - 1e-9));
    if (o.scheme) parts = 1;
    clsi_text t = {0};
    clsi_text_printf(&t, "%s\n# of the data that it was learned from\n", m->text);
    if (!s->says_step) say_time(&t, "step", s->step = f.spacing / fmin(parts, MOST_IN_ROW));
    if (!s->says_until && f.last > f.first) say_time(&t, "until", s->until = f.last - f.first);
    s->says_step = s->says_until = 1;
    char *text = clsi_text_take(&t);
    if (!text) return clsi_no_memory(error);
    free(m->text);
    m->text = text;
    return CLS_OK;
}

/* Candidates that fail are passed over while forms, terms, schemes and starts are compared; for want of
 * memory the best of the others would be another answer than the one that was asked for. */
static cls_status answered(unsigned long before, cls_status status, cls_model **out,
                           cls_learn_info *info, cls_error *error) {
    status = clsi_failed_since(before, status, error);
    if (status == CLS_MEMORY) {
        cls_model_free(out);
        cls_learn_report_free(&info->report);
    }
    return status;
}

/* Trajectories whose rows do not stand together are sorted first, in copies. */
cls_status cls_learn(const cls_system *system, const cls_assignments *set, size_t n_tables,
                     const cls_table *const *tables, const char *const *names,
                     const cls_learn_options *options, cls_model **out, cls_learn_info *info,
                     cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, system);
    *out = NULL;
    NEED(error, info);
    NEED(error, (tables && names) || !n_tables);
    *info = (cls_learn_info){0};
    unsigned long before = clsi_failures();
    cls_table **copies = clsi_calloc(n_tables + 1, sizeof *copies);
    const cls_table **used = clsi_calloc(n_tables + 1, sizeof *used);
    cls_status status = copies && used ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < n_tables && status == CLS_OK; i++) {
        status = cls_table_group(tables[i], &copies[i], error);
        used[i] = copies[i] ? copies[i] : tables[i];
    }
    if (status == CLS_OK)
        status = learn(system, set, n_tables, used, names, options, NULL, out, info, error);
    if (status == CLS_OK && n_tables &&
        (status = say_times(options, used[0], info, *out, error)) != CLS_OK)
        cls_model_free(out);
    for (size_t i = 0; copies && i < n_tables; i++) cls_table_free(&copies[i]);
    free(copies);
    free(used);
    return answered(before, status, out, info, error);
}

/* ---- files ---- */

/* What is learned by other means than the residual needs all rows in memory. */
static int needs_all(const cls_system *system, const cls_learn_options *o) {
    return o->average || (!o->given && clsi_has_open_parameters(system, o)) ||
           (o->optimizer && strcmp(o->optimizer, "qp") == 0) ||
           (o->loss && strcmp(o->loss, "residual") != 0);
}

static cls_status learn_whole(const cls_system *system, const cls_assignments *set, size_t n_files,
                              const char *const *paths, const cls_read_options *reading,
                              const cls_learn_options *options, cls_model **out,
                              cls_learn_info *info, cls_error *error) {
    cls_table **tables = clsi_calloc(n_files, sizeof *tables);
    cls_status status = tables ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < n_files && status == CLS_OK; i++)
        status = cls_table_read_with(paths[i], reading, &tables[i], error);
    if (status == CLS_OK)
        status = cls_learn(system, set, n_files, (const cls_table *const *)tables, paths, options,
                           out, info, error);
    for (size_t i = 0; tables && i < n_files; i++) cls_table_free(&tables[i]);
    free(tables);
    return status;
}

cls_status cls_learn_files(const cls_system *system, const cls_assignments *set, size_t n_files,
                           const char *const *paths, const cls_read_options *reading,
                           const cls_learn_options *options, cls_model **out, cls_learn_info *info,
                           cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, system);
    NEED(error, paths);
    cls_learn_options o = cls_learn_defaults();
    TAKE_OPTIONS(&o, options);
    NEED(error, info);
    *info = (cls_learn_info){0};
    if (needs_all(system, &o))
        return learn_whole(system, set, n_files, paths, reading, options, out, info, error);
    unsigned long before = clsi_failures();
    clsi_stream st = {.n_files = n_files, .paths = paths, .reading = reading};
    cls_status status = clsi_stream_open(&st, &o, error);
    const cls_table *sample = st.sample;
    if (status == CLS_OK)
        status = learn(system, set, 1, &sample, paths, options, &st, out, info, error);
    if (status == CLS_OK && (status = say_times(options, sample, info, *out, error)) != CLS_OK)
        cls_model_free(out);
    clsi_stream_close(&st);
    return answered(before, status, out, info, error);
}
