/* The target `fmu`: FMI 2.0 or 3.0, model exchange and co-simulation in one file, with sources and
 * binaries (platforms.c; without a compiler the FMU has its sources only). The same export gives
 * the same bytes of everything but the binaries. */
#include "export/fmu.h"
#include "expr/program.h"
#include "expr/progressions.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- variables ---- */

static int is_state_name(const clsi_lookup *states, const char *name) {
    return clsi_lookup_find(states, name) != SIZE_MAX;
}

static int is_free_input(const clsi_export *e, const char *name) {
    for (size_t k = 0; k < e->n_inputs; k++)
        if (!strcmp(e->inputs[k].name, name)) return !cls_system_input_is_given(e->s, k);
    return 0;
}

/* On what the variable after those that have it depends, ascending. */
static void add_needs(clsi_fmu *f, size_t n, const uint32_t *of) {
    if (!clsi_needs_add(&f->depends, n, of)) f->failed = 1;
}

/* What formulas contain, among all states, inputs, parameters and time, and accounts first .. last - 1: in formulas
 * there are none. */
static void copy_needs(clsi_fmu *f, const clsi_needs *needs, size_t row, size_t first,
                       size_t last) {
    const clsi_export *e = f->e;
    size_t nz = e->sp->nz, n = 0;
    for (size_t k = needs->start[row]; k < needs->start[row + 1]; k++) {
        size_t of = needs->of[k];
        for (; of >= nz && first < last; first++) f->row[n++] = (uint32_t)first;
        f->row[n++] = (uint32_t)(of < nz ? of : of - nz + e->n_state);
    }
    for (; first < last; first++) f->row[n++] = (uint32_t)first;
    add_needs(f, n, f->row);
}

static void describe(clsi_fmu_variable *v, const char *format, const char *name) {
    snprintf(v->description, sizeof v->description, format, name);
}

static void add_states(clsi_fmu *f) {
    const clsi_export *e = f->e;
    for (size_t k = 0; k < e->n_state; k++) {
        clsi_fmu_variable *v = &f->variables[f->n++];
        *v = (clsi_fmu_variable){.name = e->states[k].name,
                                 .unit = e->states[k].unit,
                                 .causality = "output",
                                 .variability = "continuous",
                                 .initial = "exact",
                                 .has_start = 1,
                                 .start = e->start[k]};
        describe(v, k < e->sp->nz ? "state %s" : "account %s, part of the state", v->name);
        uint32_t itself = (uint32_t)k;
        add_needs(f, 1, &itself);
    }
}

static int add_derivatives(clsi_fmu *f) {
    const clsi_export *e = f->e;
    for (size_t k = 0; k < e->n_state; k++) {
        clsi_text name = {0};
        clsi_text_printf(&name, "der(%s)", e->states[k].name);
        clsi_fmu_variable *v = &f->variables[f->n++];
        *v = (clsi_fmu_variable){.owned = clsi_text_take(&name),
                                 .causality = "local",
                                 .variability = "continuous",
                                 .initial = "calculated",
                                 .derivative_of = 1 + k};
        if (!(v->name = v->owned)) return 0;
        describe(v, "rate of %s", e->states[k].name);
        copy_needs(f, &e->rate_needs, k, 0, 0);
    }
    return 1;
}

/* The variable of the state that column c can be set for at the start; -1: none. The temperature of
 * an environment, which depends on nothing, says nothing of its entropy. */
static int observes(const clsi_export *e, size_t c) {
    int k = clsi_column_gives(e, c);
    if (k < 0 || (size_t)k >= e->sp->nz || (size_t)k + 1 == c) return -1;
    return clsi_needs_has(&e->row_needs, c, (size_t)k) ? k : -1;
}

static void add_outputs(clsi_fmu *f, const clsi_lookup *states) {
    const clsi_export *e = f->e;
    size_t nz = e->sp->nz, energy = 0;
    size_t receivers = (size_t)(e->s->has_work != 0) + (e->s->has_heat != 0);
    for (size_t k = 1; k < e->n_columns; k++) {
        if (!strcmp(e->columns[k].name, "energy")) energy = k;
        if (is_state_name(states, e->columns[k].name) || is_free_input(e, e->columns[k].name))
            continue;
        clsi_fmu_variable *v = &f->variables[f->n];
        *v = (clsi_fmu_variable){.name = e->columns[k].name,
                                 .unit = e->columns[k].unit,
                                 .causality = "output",
                                 .variability = "continuous",
                                 .initial = "calculated"};
        describe(v, "%s, from the state", v->name);
        if (observes(e, k) >= 0) { /* a start may give it instead of the state */
            describe(v, "%s, from the state; may be set at the start in its place", v->name);
            v->initial = "approx";
            v->has_start = 1;
            v->start = f->start_row[k];
        }
        /* the entropy contains that of the outside, an account */
        int outside = e->s->has_heat && !strcmp(e->columns[k].name, "entropy");
        copy_needs(f, &e->row_needs, k, e->n_state - (size_t)outside, e->n_state);
        f->output_column[f->n_outputs++] = k;
        f->n++;
    }
    clsi_fmu_variable *v = &f->variables[f->n];
    *v = (clsi_fmu_variable){.name = "energy_error",
                             .causality = "output",
                             .variability = "continuous",
                             .initial = "calculated"};
    describe(v, "%s minus what came in, against the start", "energy");
    if (!energy) /* the time, of which no energy is */
        for (size_t s = nz; s < nz + receivers; s++) f->row[s - nz] = (uint32_t)s;
    if (energy)
        copy_needs(f, &e->row_needs, energy, nz, nz + receivers);
    else
        add_needs(f, receivers, f->row);
    f->n++;
}

static void add_parameters(clsi_fmu *f) {
    const clsi_export *e = f->e;
    for (size_t k = 0; k < e->n_parameters; k++) {
        clsi_fmu_variable *v = &f->variables[f->n++];
        *v = (clsi_fmu_variable){.name = e->parameters[k].name,
                                 .unit = e->parameters[k].unit,
                                 .causality = "parameter",
                                 .variability = "tunable",
                                 .initial = "exact",
                                 .has_start = 1,
                                 .start = e->parameter_value[k]};
        describe(v, "parameter %s", v->name);
        add_needs(f, 0, NULL);
    }
}

/* Inputs that have no formula. */
static void add_inputs(clsi_fmu *f) {
    const clsi_export *e = f->e;
    for (size_t k = 0; k < e->n_inputs; k++) {
        if (cls_system_input_is_given(e->s, k)) continue;
        clsi_fmu_variable *v = &f->variables[f->n++];
        *v = (clsi_fmu_variable){.name = e->inputs[k].name,
                                 .unit = e->inputs[k].unit,
                                 .causality = "input",
                                 .variability = "continuous",
                                 .has_start = 1};
        describe(v, "input %s, held over a step", v->name);
        add_needs(f, 0, NULL);
        f->input[f->n_inputs++] = k;
    }
}

/* All columns at the default start, inputs at zero. */
static cls_status find_start_row(clsi_fmu *f, cls_error *error) {
    const clsi_export *e = f->e;
    size_t first = 1 + e->n_state + e->sp->nu;
    double *in = clsi_calloc(first + e->n_parameters, sizeof *in);
    double *work = clsi_calloc(cls_program_work_size(e->base.row), sizeof *work);
    f->start_row = clsi_calloc(e->n_columns, sizeof *f->start_row);
    int failed = !in || !work || !f->start_row;
    if (!failed) {
        memcpy(in + 1, e->start, e->n_state * sizeof *in);
        for (size_t k = 0; k < e->n_parameters; k++) in[first + k] = e->parameter_value[k];
        cls_program_prepare(e->base.row, work);
        cls_program_run(e->base.row, work, in, f->start_row);
    }
    free(in);
    free(work);
    return failed ? clsi_no_memory(error) : CLS_OK;
}

static int add_all(clsi_fmu *f) {
    const clsi_export *e = f->e;
    clsi_lookup states;
    int good = clsi_lookup_create(e->n_state, &states);
    for (size_t k = 0; k < e->n_state && good; k++) clsi_lookup_add(&states, e->states[k].name, k);
    f->variables[f->n++] = (clsi_fmu_variable){.name = "time",
                                               .unit = "s",
                                               .description = "time",
                                               .causality = "independent",
                                               .variability = "continuous"};
    add_needs(f, 0, NULL);
    if (good) add_states(f);
    good = good && add_derivatives(f);
    if (good) add_outputs(f, &states);
    if (good) add_parameters(f);
    if (good) add_inputs(f);
    clsi_lookup_clear(&states);
    return good && !f->failed;
}

static cls_status create(clsi_fmu *f, cls_error *error) {
    const clsi_export *e = f->e;
    size_t room = 2 + 2 * e->n_state + e->n_columns + e->n_inputs + e->n_parameters;
    f->width = e->n_state + clsi_needs_width(e) - e->sp->nz;
    if (find_start_row(f, error) != CLS_OK) return CLS_MEMORY;
    f->input = clsi_calloc(e->n_inputs, sizeof *f->input);
    f->variables = clsi_calloc(room, sizeof *f->variables);
    f->output_column = clsi_calloc(e->n_columns, sizeof *f->output_column);
    f->row = clsi_calloc(f->width + 2, sizeof *f->row);
    int good = f->variables && f->output_column && f->row && f->input && add_all(f);
    return good ? CLS_OK : clsi_no_memory(error);
}

static void clear(clsi_fmu *f) {
    for (size_t k = 0; f->variables && k < f->n; k++) free(f->variables[k].owned);
    free(f->variables);
    free(f->output_column);
    free(f->start_row);
    clsi_needs_clear(&f->depends);
    free(f->row);
    free(f->input);
}

/* ---- sources ---- */

/* FNV-1a, twice with different starts: the same export has the same token, another one another. */
static void make_token(clsi_fmu *f, const char *source, const char *header) {
    uint64_t a = 14695981039346656037u, b = a ^ 0x5bd1e995u;
    for (const char *texts[] = {source, header, NULL}, **t = texts; *t; t++)
        for (const char *c = *t; *c; c++) {
            a = (a ^ (unsigned char)*c) * 1099511628211u;
            b = (b ^ ((unsigned char)*c + 1u)) * 1099511628211u;
        }
    snprintf(f->token, sizeof f->token, "{%08x-%04x-%04x-%04x-%012llx}", (unsigned)(a >> 32),
             (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xffff), (unsigned)(b >> 48),
             (unsigned long long)(b & 0xffffffffffffu));
}

/* A table of whole numbers `prefix_name`, of the system's sizes. */
static void append_ints(const clsi_fmu *f, clsi_text *out, const char *name, size_t n,
                        const int *v) {
    char full[80];
    snprintf(full, sizeof full, "%s_%s", f->e->prefix, name);
    clsi_append_ints(out, f->e, full, n, v, "0");
}

static int column_of(const clsi_export *e, const char *name) {
    size_t k = clsi_lookup_find(&e->column_at, name);
    return k == SIZE_MAX ? -1 : (int)k;
}

/* v and x: room for a number of each input, state and column. */
static void append_lists(const clsi_fmu *f, clsi_text *out, int *v, double *x) {
    const clsi_export *e = f->e;
    char full[80];
    for (size_t k = 0; k < f->n_inputs; k++) v[k] = (int)f->input[k];
    append_ints(f, out, "free_inputs", f->n_inputs, v);
    clsi_text_printf(out, "static const char %s_token[] = \"%s\";\n", e->prefix, f->token);
    clsi_text_printf(out, "static const double %s_default_step = ", e->prefix);
    clsi_append_number(out, e->sp->options.h);
    clsi_text_append(out, ";\n");
    for (size_t k = 0; k < f->n_outputs; k++) v[k] = (int)f->output_column[k];
    append_ints(f, out, "output_columns", f->n_outputs, v);
    clsi_text_append(out, "/* the state that a start may give by this output; -1: none */\n");
    for (size_t k = 0; k < f->n_outputs; k++) v[k] = observes(e, f->output_column[k]);
    append_ints(f, out, "output_gives", f->n_outputs, v);
    for (size_t k = 0; k < f->n_outputs; k++) x[k] = f->start_row[f->output_column[k]];
    snprintf(full, sizeof full, "%s_output_start", e->prefix);
    clsi_append_doubles(out, e, full, f->n_outputs, x, "0");
    size_t n = 0;
    for (size_t s = 0; s < e->n_state; s++) {
        v[n] = column_of(e, e->states[s].name);
        n += v[n] >= 0;
    }
    append_ints(f, out, "state_columns", n, v);
}

static void append_wrapper(const clsi_fmu *f, clsi_text *out) {
    const clsi_export *e = f->e;
    size_t room = e->n_inputs + e->n_state + e->n_columns;
    int *v = clsi_calloc(room, sizeof *v);
    double *x = clsi_calloc(room, sizeof *x);
    clsi_text_printf(out, "/* %s: the functions of FMI %d.0. Written by clausius %s. */\n",
                     e->prefix, f->version, cls_version());
    clsi_text_printf(out, "#include \"%s.h\"\n\n", e->prefix);
    if (e->runs) clsi_append_row_macros(out);
    clsi_text_printf(out, "enum { %s_OUTPUTS = %zu, %s_FREE_INPUTS = %zu };\n", e->upper,
                     f->n_outputs, e->upper, f->n_inputs);
    if (v && x)
        append_lists(f, out, v, x);
    else
        out->failed = 1;
    free(v);
    free(x);
    clsi_text_printf(out, "static const int %s_energy_column = %d;\n", e->prefix,
                     column_of(e, "energy"));
    clsi_text_printf(out, "static const char *const %s_variables[] = {", e->prefix);
    for (size_t k = 0; k < f->n; k++) {
        clsi_text_append(out, k ? ", " : "");
        clsi_append_string(out, f->variables[k].name);
    }
    clsi_text_append(out, "};\n\n");
    clsi_append_parts(out, e, clsi_export_fmu_text,
                      e->sparse ? clsi_export_slopes_text : clsi_export_dense_slopes_text);
    clsi_append_template(out, e, f->version == 3 ? clsi_export_fmi3_text : clsi_export_fmi2_text);
}

/* ---- together ---- */

static void copy_into(clsi_outputs *all, const char *folder, const clsi_outputs *from) {
    char name[160];
    for (size_t k = 0; k < from->n; k++) {
        snprintf(name, sizeof name, "%s%s", folder, from->list[k].name);
        clsi_text *to = clsi_output_add(all, name);
        clsi_text_append_n(to, from->list[k].text.data, from->list[k].text.length);
    }
}

static cls_status make_sources(clsi_fmu *f, clsi_outputs *sources, cls_error *error) {
    char name[80];
    clsi_text source = {0}, header = {0};
    cls_status status = clsi_export_source(f->e, CLSI_SOURCE_FMU, &source, error);
    if (status == CLS_OK) status = clsi_export_header(f->e, &header, error);
    if (status == CLS_OK) {
        make_token(f, source.data, header.data);
        snprintf(name, sizeof name, "%s.c", f->e->prefix);
        clsi_text_append_n(clsi_output_add(sources, name), source.data, source.length);
        snprintf(name, sizeof name, "%s.h", f->e->prefix);
        clsi_text_append_n(clsi_output_add(sources, name), header.data, header.length);
        snprintf(name, sizeof name, "fmi%d.c", f->version);
        append_wrapper(f, clsi_output_add(sources, name));
    }
    clsi_text_clear(&source);
    clsi_text_clear(&header);
    return status;
}

static cls_status assemble(clsi_fmu *f, const char *path, cls_export_info *info, cls_error *error) {
    clsi_outputs sources = {0}, all = {0};
    cls_status status = make_sources(f, &sources, error);
    if (status == CLS_OK) {
        clsi_fmu_describe(f, clsi_output_add(&all, "modelDescription.xml"));
        copy_into(&all, "sources/", &sources);
        if (f->version == 3)
            clsi_fmu_build_description(f, clsi_output_add(&all, "sources/buildDescription.xml"));
        status =
            clsi_export_readme(f->e, 1, clsi_output_add(&all, "documentation/README.md"), error);
    }
    if (status == CLS_OK) status = clsi_fmu_binaries(f, &sources, &all, &info->binaries, error);
    int failed = all.failed || sources.failed;
    for (size_t k = 0; k < all.n; k++) failed |= all.list[k].text.failed;
    if (status == CLS_OK && failed) status = clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_outputs_archive(&all, path, info, error);
    clsi_outputs_clear(&sources);
    clsi_outputs_clear(&all);
    return status;
}

static cls_status write_fmu(clsi_export *e, const char *path, cls_export_info *info,
                            cls_error *error) {
    clsi_fmu f = {.e = e, .version = e->options.fmi ? e->options.fmi : 2};
    if (f.version != 2 && f.version != 3)
        return clsi_fail(error, CLS_USAGE, "FMI %d: there are versions 2 and 3", f.version);
    cls_status status = create(&f, error);
    if (status == CLS_OK) status = assemble(&f, path, info, error);
    clear(&f);
    return status;
}

const clsi_target clsi_target_fmu = {
    .name = "fmu",
    .doc = "an FMU (FMI 2.0 or 3.0), model exchange and co-simulation, with sources",
    .write = write_fmu,
    .needs = 1,
};
