/* What is exported: the compiled step of a scheme, its names, a default start, and what it did when
 * it was tried. The table of targets. */
#include "base/misuse.h"
#include "export/export.h"
#include "expr/program.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const clsi_target *const targets[] = {&clsi_target_c, &clsi_target_js, &clsi_target_fmu};
enum { n_targets = sizeof targets / sizeof *targets };

cls_export_options cls_export_defaults(void) {
    return (cls_export_options){.size = sizeof(cls_export_options), .max_halvings = -1};
}

size_t cls_export_target_count(void) {
    return n_targets;
}

const char *cls_export_target_name(size_t i) {
    return i < n_targets ? targets[i]->name : NULL;
}

const char *cls_export_target_doc(size_t i) {
    return i < n_targets ? targets[i]->doc : NULL;
}

/* ---- names ---- */

typedef struct units {
    clsi_lookup at;
    const char **unit;
    size_t n;
} units;

static void add_units(units *u, size_t n, const clsi_variable *list) {
    for (size_t k = 0; k < n; k++) {
        if (!list[k].unit) continue;
        clsi_lookup_add(&u->at, list[k].name, u->n);
        u->unit[u->n++] = list[k].unit;
    }
}

static int units_create(const cls_system *s, units *u) {
    size_t room = s->nq + s->n + 2 * s->m + s->nu;
    *u = (units){.unit = clsi_calloc(room, sizeof *u->unit)};
    if (!u->unit || !clsi_lookup_create(room, &u->at)) return 0;
    add_units(u, s->nq, s->coordinate);
    add_units(u, s->n, s->momentum);
    add_units(u, s->m, s->entropy);
    add_units(u, s->m, s->temperature);
    add_units(u, s->nu, s->input);
    return 1;
}

static const char *unit_of(const units *u, const char *name) {
    size_t at = clsi_lookup_find(&u->at, name);
    if (!strcmp(name, "time")) return "s";
    return at == SIZE_MAX ? NULL : u->unit[at];
}

static int label_all(const cls_system *s, const units *u, size_t n,
                     const char *(*name)(const cls_system *, size_t), clsi_label *labels) {
    clsi_lookup used;
    int good = clsi_lookup_create(n, &used);
    for (size_t k = 0; k < n && good; k++) {
        labels[k].name = name(s, k);
        labels[k].unit = unit_of(u, labels[k].name);
        labels[k].ident = clsi_identifier(labels[k].name, &used);
        good = labels[k].ident != NULL;
        if (good) clsi_lookup_add(&used, labels[k].ident, k);
    }
    clsi_lookup_clear(&used);
    return good;
}

static int label_lists(clsi_export *e) {
    units u;
    int good = units_create(e->s, &u) &&
               label_all(e->s, &u, e->n_inputs, cls_system_input_name, e->inputs) &&
               label_all(e->s, &u, e->n_state, cls_system_state_name, e->states) &&
               label_all(e->s, &u, e->n_columns, cls_system_column, e->columns) &&
               clsi_lookup_create(e->n_columns, &e->column_at);
    for (size_t k = 0; k < e->n_columns && good; k++)
        clsi_lookup_add(&e->column_at, e->columns[k].name, k);
    clsi_lookup_clear(&u.at);
    free(u.unit);
    return good;
}

static cls_status name_all(clsi_export *e, cls_error *error) {
    e->n_state = cls_system_state_count(e->s);
    e->n_columns = cls_system_column_count(e->s);
    e->states = clsi_calloc(e->n_state, sizeof *e->states);
    e->columns = clsi_calloc(e->n_columns, sizeof *e->columns);
    e->n_inputs = cls_system_input_count(e->s);
    e->inputs = clsi_calloc(e->n_inputs, sizeof *e->inputs);
    if (!e->states || !e->columns || !e->inputs || !label_lists(e)) return clsi_no_memory(error);
    const char *wanted = e->options.prefix;
    if (wanted) {
        cls_status status = clsi_check_prefix(wanted, error);
        if (status != CLS_OK) return status;
    }
    char *prefix = wanted ? clsi_strdup(wanted) : clsi_identifier(cls_system_name(e->s), NULL);
    if (!prefix) return clsi_no_memory(error);
    snprintf(e->prefix, 48, "%.40s%s", prefix, !wanted && clsi_is_local(prefix) ? "_model" : "");
    if (wanted) snprintf(e->prefix, 48, "%s", prefix);
    free(prefix);
    for (size_t k = 0; e->prefix[k]; k++) e->upper[k] = (char)toupper((unsigned char)e->prefix[k]);
    /* the prefix itself is the struct: it must differ from its own capitals */
    if (!strcmp(e->prefix, e->upper)) snprintf(e->upper, sizeof e->upper, "%s_", e->prefix);
    return CLS_OK;
}

/* ---- the step ---- */

enum { MOST_HALVINGS = 60 }; /* as in simulations */

static cls_status check_scheme(const cls_system *s, const char *name, cls_error *error) {
    const clsi_scheme *scheme = clsi_scheme_find(name);
    if (!scheme) return cls_scheme_applies(name, s, error);
    if (scheme->build && !scheme->estimate) return CLS_OK;
    return clsi_fail(error, CLS_USAGE, "the scheme %s cannot be exported: %s; take %s", name,
                     scheme->build ? "it chooses its own steps" : "it is a solution by CVODE",
                     strcmp(name, "discrete-gradient-adaptive") ? cls_scheme_default(s)
                                                                : "discrete-gradient-4");
}

static cls_status compile(clsi_export *e, cls_error *error) {
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = e->options.scheme ? e->options.scheme : cls_scheme_default(e->s);
    o.h = e->options.h > 0 ? e->options.h : cls_system_default_step(e->s);
    if (e->options.max_halvings >= 0) o.max_halvings = e->options.max_halvings;
    cls_status status = check_scheme(e->s, o.scheme, error);
    if (status == CLS_OK && o.max_halvings > MOST_HALVINGS)
        status = clsi_fail(error, CLS_USAGE, "max_halvings must be from 0 to %d", MOST_HALVINGS);
    if (status == CLS_OK) status = clsi_stepper_create(e->s, &o, &e->base.sp, error);
    if (status == CLS_OK && e->base.sp->bath)
        status = clsi_fail(error, CLS_USAGE,
                           "'%s' has thermal noise, and exported steps have no random numbers: a "
                           "Boltzmann constant of 0 leaves the noise out",
                           e->s->name);
    e->base.s = e->s;
    e->sp = e->base.sp;
    if (status == CLS_OK && !clsi_find_gives(e)) status = clsi_no_memory(error);
    return status;
}

/* The base again, with parameters that may change among its inputs. */
static cls_status compile_settable(clsi_export *e, cls_error *error) {
    if (!e->n_parameters) return CLS_OK;
    cls_node *symbols = clsi_calloc(e->n_parameters, sizeof *symbols);
    if (!symbols) return clsi_no_memory(error);
    clsi_stepper *plain = e->base.sp;
    clsi_parameter_nodes(e, e->s, symbols);
    cls_status status =
        clsi_stepper_create_settable(e->s, plain, e->n_parameters, symbols, &e->base.sp, error);
    free(symbols);
    clsi_stepper_free(&plain);
    e->sp = e->base.sp;
    return status;
}

static cls_status begin(clsi_export *e, cls_error *error) {
    e->start = clsi_calloc(e->n_state, sizeof *e->start);
    if (!e->start) return clsi_no_memory(error);
    cls_status status = cls_system_start(e->s, NULL, e->start, e->options.start ? NULL : error);
    if (!e->options.start) return status;
    e->native_start =
        status != CLS_OK || memcmp(e->start, e->options.start, e->n_state * sizeof *e->start) != 0;
    memcpy(e->start, e->options.start, e->n_state * sizeof *e->start);
    return CLS_OK;
}

enum { TRIED = 10000 }; /* steps at most: a fraction of a second */
/* Of a long state fewer: so many numbers are stepped. */
static const double TRIED_NUMBERS = 1e7;

static double most_tried(const clsi_export *e) {
    return fmin(TRIED, fmax(100, ceil(TRIED_NUMBERS / (double)e->n_state)));
}

/* Inputs that have no formula begin with 0, as in the exported code. */
static cls_status hold_inputs(const clsi_export *e, cls_simulator *sim, cls_error *error) {
    const double times[] = {0, 1};
    if (!e->n_inputs) return CLS_OK;
    double *zeros = clsi_calloc(2 * e->n_inputs, sizeof *zeros);
    if (!zeros) return clsi_no_memory(error);
    cls_status status = cls_simulator_inputs(sim, 2, times, zeros, CLS_HOLD_ZERO, error);
    free(zeros);
    return status;
}

/* A motion from the default start, for what Newton costs and what the laws say. One that fails is
 * told, not refused: a user may start elsewhere. */
static cls_status try_it(clsi_export *e, cls_error *error) {
    cls_simulator *sim = NULL;
    double steps = ceil(cls_system_default_until(e->s) / e->sp->options.h);
    cls_status status = clsi_simulator_attach(e->sp, &sim, error);
    if (status == CLS_OK) status = hold_inputs(e, sim, error);
    if (status == CLS_OK) status = cls_simulator_start(sim, 0, e->start, error);
    if (status == CLS_OK) {
        cls_simulate_info info = cls_simulator_info(sim);
        for (uint64_t k = (uint64_t)fmax(1, fmin(steps, most_tried(e))), before; k > 0; k--) {
            before = info.newton_iterations;
            cls_error why = {0};
            if (cls_simulator_advance(sim, 1, &why) != CLS_OK) {
                snprintf(e->refused, sizeof e->refused, "%.*s", (int)strcspn(why.message, ";"),
                         why.message);
                break;
            }
            info = cls_simulator_info(sim);
            if (info.newton_iterations - before > e->worst_step)
                e->worst_step = info.newton_iterations - before;
        }
        e->tried_steps = info.steps;
        e->worst_iterations = info.newton_max_iterations;
        e->deepest_halving = info.deepest_halving;
        e->energy_error = info.energy_relative;
        e->entropy_min_step = info.entropy_min_step;
        e->entropy_falls = info.entropy_falls;
    }
    cls_simulator_free(&sim);
    return status;
}

cls_status clsi_export_create(const cls_system *s, const cls_model *model,
                              const cls_export_options *options, int needs, clsi_export **out,
                              cls_error *error) {
    *out = NULL;
    clsi_export *e = clsi_calloc(1, sizeof *e);
    if (!e) return clsi_no_memory(error);
    cls_status status = clsi_system_view(s, &e->view, error);
    e->s = e->view;
    e->model = model;
    e->options = *options;
    e->source = e->options.source ? e->options.source : cls_system_name(s);
    if (status == CLS_OK) status = name_all(e, error);
    if (status == CLS_OK) status = compile(e, error);
    if (status == CLS_OK) status = begin(e, error);
    if (status == CLS_OK) status = try_it(e, error);
    if (status == CLS_OK) status = clsi_export_parameters(e, error);
    if (status == CLS_OK) status = compile_settable(e, error);
    e->wants_needs = needs;
    if (status == CLS_OK && e->open.sp) status = clsi_export_rates(e, &e->open, error);
    if (status == CLS_OK) status = clsi_export_rates(e, &e->base, error);
    if (status == CLS_OK) status = clsi_export_equations(e, error);
    int agree = status != CLS_OK || (!e->patterns_differ && clsi_export_fields_agree(e));
    if (status == CLS_OK && agree)
        *out = e;
    else
        clsi_export_free(&e);
    if (agree) return status;
    cls_export_options fixed = *options;
    fixed.parameters = "none";
    return clsi_export_create(s, model, &fixed, needs, out, error);
}

static void free_labels(size_t n, clsi_label *labels) {
    for (size_t k = 0; labels && k < n; k++) free(labels[k].ident);
    free(labels);
}

static void free_variant(clsi_variant *v) {
    clsi_stepper_free(&v->sp);
    cls_program_free(&v->rate);
    cls_program_free(&v->slope);
    cls_program_free(&v->row);
    cls_program_free(&v->row_slope);
    cls_program_free(&v->step_slope);
}

void clsi_export_free(clsi_export **export) {
    clsi_export *e = *export;
    if (!e) return;
    free_labels(e->n_state, e->states);
    free_labels(e->n_columns, e->columns);
    clsi_lookup_clear(&e->column_at);
    free(e->gives);
    free_labels(e->n_inputs, e->inputs);
    free_labels(e->n_parameters, e->parameters);
    free_variant(&e->base);
    free_variant(&e->open);
    cls_system_free(&e->open_system);
    clsi_equations_clear(e);
    free(e->parameter_value);
    clsi_needs_clear(&e->row_needs);
    clsi_needs_clear(&e->rate_needs);
    free(e->start);
    clsi_system_view_free(&e->view);
    free(e);
    *export = NULL;
}

/* ---- the public side ---- */

cls_status cls_export(const char *target, const cls_system *s, const cls_model *model,
                      const cls_export_options *options, const char *path, cls_export_info *info,
                      cls_error *error) {
    NEED(error, target);
    NEED(error, path);
    const clsi_target *to = NULL;
    cls_export_info own;
    for (size_t k = 0; k < n_targets; k++)
        if (!strcmp(target, targets[k]->name)) to = targets[k];
    if (!to) return clsi_fail(error, CLS_USAGE, "there is no export target '%.40s'", target);
    clsi_export *e = NULL;
    cls_model single = {0};
    cls_status status = CLS_OK;
    cls_export_options o = cls_export_defaults();
    TAKE_OPTIONS(&o, options);
    int rounds = o.single;
    if (rounds) status = clsi_single_model(s, model, &single, error);
    if (status == CLS_OK)
        status = clsi_export_create(rounds ? single.system : s, rounds ? &single : model, &o,
                                    to->needs, &e, error);
    if (status == CLS_OK && rounds) status = clsi_single_compare(e, s, error);
    if (!info) info = &own;
    if (status == CLS_OK) {
        *info =
            (cls_export_info){.scheme = e->sp->scheme->info.name, .single_error = e->single_error};
        memcpy(info->prefix, e->prefix, sizeof info->prefix);
        status = to->write(e, path, info, error);
    }
    clsi_export_free(&e);
    clsi_single_clear(&single);
    return status;
}
