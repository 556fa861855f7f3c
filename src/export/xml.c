/* modelDescription.xml and buildDescription.xml: variables with names, units, causality and start,
 * and the exact structure: which derivative and which output depends on which state, from the graph.
 *
 * Value references (fmu.c.in): 0 time, states, derivatives, outputs, energy_error, inputs. */
#include "export/fmu.h"
#include <math.h>
#include <string.h>

static void append_xml(clsi_text *out, const char *text) {
    for (const char *c = text; *c; c++) switch (*c) {
        case '&': clsi_text_append(out, "&amp;"); break;
        case '<': clsi_text_append(out, "&lt;"); break;
        case '"': clsi_text_append(out, "&quot;"); break;
        case '\n': clsi_text_append(out, " "); break;
        default: clsi_text_append_n(out, c, 1);
        }
}

static void attribute(clsi_text *out, const char *name, const char *value) {
    clsi_text_printf(out, " %s=\"", name);
    append_xml(out, value);
    clsi_text_append(out, "\"");
}

static void number(clsi_text *out, const char *name, double value) {
    char text[32];
    clsi_format_double(value, text);
    attribute(out, name, text);
}

/* ---- units ---- */

static void append_units(clsi_text *out, const clsi_fmu *f) {
    clsi_lookup seen;
    if (!clsi_lookup_create(f->n, &seen)) out->failed = 1;
    clsi_text_append(out, "  <UnitDefinitions>\n");
    for (size_t k = 0; k < f->n && !out->failed; k++) {
        const char *unit = f->variables[k].unit;
        if (!unit || clsi_lookup_find(&seen, unit) != SIZE_MAX) continue;
        clsi_lookup_add(&seen, unit, k);
        clsi_text_append(out, "    <Unit");
        attribute(out, "name", f->variables[k].unit);
        clsi_text_append(out, "/>\n");
    }
    clsi_text_append(out, "  </UnitDefinitions>\n");
    clsi_lookup_clear(&seen);
}

/* ---- variables ---- */

static void append_variable(clsi_text *out, const clsi_fmu *f, size_t k) {
    const clsi_fmu_variable *v = &f->variables[k];
    int three = f->version == 3;
    clsi_text_append(out, three ? "    <Float64" : "    <ScalarVariable");
    attribute(out, "name", v->name);
    clsi_text_printf(out, " valueReference=\"%zu\"", k);
    attribute(out, "description", v->description);
    attribute(out, "causality", v->causality);
    attribute(out, "variability", v->variability);
    if (v->initial) attribute(out, "initial", v->initial);
    if (!three) clsi_text_append(out, ">\n      <Real");
    if (v->unit) attribute(out, "unit", v->unit);
    if (v->has_start) number(out, "start", v->start);
    if (v->derivative_of)
        clsi_text_printf(out, " derivative=\"%zu\"", v->derivative_of + (three ? 0 : 1));
    clsi_text_append(out, three ? "/>\n" : "/>\n    </ScalarVariable>\n");
}

/* ---- structure ---- */

/* Value references as the version counts them, with blanks between. */
typedef struct references {
    clsi_text *out;
    size_t first; /* FMI 2.0 counts from 1 */
    int some;
} references;

static void append_reference(references *r, size_t k) {
    clsi_text_printf(r->out, "%s%zu", r->some ? " " : "", k + r->first);
    r->some = 1;
}

/* States, of which a direction or an attitude is brought to length one at the start: on a component as on all. */
static void append_units_at_start(references *r, const clsi_fmu *f, size_t k) {
    const cls_system *s = f->e->s;
    for (size_t state = 0; state < f->e->n_state; state++) {
        int some = clsi_needs_has(&f->depends, k, state);
        for (size_t i = 0; i < s->n_units; i++) {
            const clsi_unit *u = &s->units[i];
            if (state < u->first || state >= u->first + u->count) continue;
            for (size_t j = u->first; j < u->first + u->count; j++)
                some |= clsi_needs_has(&f->depends, k, j);
        }
        if (some) append_reference(r, 1 + state);
    }
}

/* What variable k depends on from `first` to last - 1 of all that may be, of which the first has the reference `as`. */
static void append_range(references *r, const clsi_fmu *f, size_t k, size_t first, size_t last,
                         size_t as) {
    const clsi_needs *x = &f->depends;
    for (size_t i = x->start[k]; i < x->start[k + 1]; i++)
        if (x->of[i] >= first && x->of[i] < last) append_reference(r, as + x->of[i] - first);
}

/* Known are the states, the inputs, time, and at the start the parameters. */
static void append_unknown(clsi_text *out, const clsi_fmu *f, const char *tag, size_t k,
                           int at_start) {
    const clsi_export *e = f->e;
    size_t parameters = e->n_state + e->sp->nu, first = f->n - f->n_inputs - e->n_parameters;
    int three = f->version == 3;
    references r = {out, three ? 0 : 1, 0};
    clsi_text_printf(out,
                     three ? "    <%s valueReference=\"%zu\" dependencies=\""
                           : "      <%s index=\"%zu\" dependencies=\"",
                     tag, k + r.first);
    append_range(&r, f, k, f->width - 1, f->width, 0);
    if (at_start && e->s->n_units)
        append_units_at_start(&r, f, k);
    else
        append_range(&r, f, k, 0, e->n_state, 1);
    if (at_start) append_range(&r, f, k, parameters, parameters + e->n_parameters, first);
    for (size_t i = 0; i < f->n_inputs; i++)
        if (clsi_needs_has(&f->depends, k, e->n_state + f->input[i]))
            append_reference(&r, f->n - f->n_inputs + i);
    clsi_text_append(out, "\"/>\n");
}

static int is_output(const clsi_fmu *f, size_t k) {
    return !strcmp(f->variables[k].causality, "output");
}

static void append_structure(clsi_text *out, const clsi_fmu *f) {
    int three = f->version == 3;
    const char *const tags[2][3] = {{"Unknown", "Unknown", "Unknown"},
                                    {"Output", "ContinuousStateDerivative", "InitialUnknown"}};
    size_t n = f->e->n_state;
    clsi_text_append(out, three ? "  <ModelStructure>\n" : "  <ModelStructure>\n    <Outputs>\n");
    for (size_t k = 0; k < f->n; k++)
        if (is_output(f, k)) append_unknown(out, f, tags[three][0], k, 0);
    if (!three) clsi_text_append(out, "    </Outputs>\n    <Derivatives>\n");
    for (size_t k = 1 + n; k < 1 + 2 * n; k++) append_unknown(out, f, tags[three][1], k, 0);
    if (!three) clsi_text_append(out, "    </Derivatives>\n    <InitialUnknowns>\n");
    for (size_t k = 0; k < f->n; k++)
        if (f->variables[k].initial && (!strcmp(f->variables[k].initial, "calculated") ||
                                        !strcmp(f->variables[k].initial, "approx")))
            append_unknown(out, f, tags[three][2], k, 1);
    clsi_text_append(out, three ? "  </ModelStructure>\n"
                                : "    </InitialUnknowns>\n  </ModelStructure>\n");
}

/* ---- the files ---- */

static void append_interfaces(clsi_text *out, const clsi_fmu *f) {
    const char *name = f->e->prefix;
    if (f->version == 2) {
        clsi_text_printf(out,
                         "  <ModelExchange modelIdentifier=\"%s\" canGetAndSetFMUstate=\"true\" "
                         "canSerializeFMUstate=\"true\" providesDirectionalDerivative=\"true\" "
                         "canNotUseMemoryManagementFunctions=\"true\">\n",
                         name);
        clsi_text_printf(out,
                         "    <SourceFiles>\n      <File name=\"%s.c\"/>\n      <File "
                         "name=\"fmi2.c\"/>\n    </SourceFiles>\n  </ModelExchange>\n",
                         name);
        clsi_text_printf(out,
                         "  <CoSimulation modelIdentifier=\"%s\" canGetAndSetFMUstate=\"true\" "
                         "canSerializeFMUstate=\"true\" providesDirectionalDerivative=\"true\" "
                         "canNotUseMemoryManagementFunctions=\"true\" "
                         "canHandleVariableCommunicationStepSize=\"true\">\n",
                         name);
        clsi_text_printf(out,
                         "    <SourceFiles>\n      <File name=\"%s.c\"/>\n      <File "
                         "name=\"fmi2.c\"/>\n    </SourceFiles>\n  </CoSimulation>\n",
                         name);
        return;
    }
    for (int cs = 0; cs < 2; cs++)
        clsi_text_printf(out,
                         "  <%s modelIdentifier=\"%s\" canGetAndSetFMUState=\"true\" "
                         "canSerializeFMUState=\"true\" providesDirectionalDerivatives=\"true\" "
                         "providesAdjointDerivatives=\"true\"%s/>\n",
                         cs ? "CoSimulation" : "ModelExchange", name,
                         cs ? " canHandleVariableCommunicationStepSize=\"true\"" : "");
}

/* Names like S[1][2], of grids, are no structured names (these have S[1,2]); columns keep theirs. */
static const char *naming(const clsi_export *e) {
    for (size_t k = 0; k < e->n_columns; k++)
        if (strstr(e->columns[k].name, "][")) return "flat";
    return "structured";
}

void clsi_fmu_describe(const clsi_fmu *f, clsi_text *out) {
    int three = f->version == 3;
    clsi_text_append(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription");
    attribute(out, "fmiVersion", three ? "3.0" : "2.0");
    attribute(out, "modelName", f->e->prefix);
    attribute(out, three ? "instantiationToken" : "guid", f->token);
    attribute(out, "description", cls_system_title(f->e->s));
    clsi_text_printf(out, " generationTool=\"clausius %s\"", cls_version());
    if (!three) clsi_text_append(out, " numberOfEventIndicators=\"0\"");
    attribute(out, "variableNamingConvention", naming(f->e));
    clsi_text_append(out, ">\n");
    append_interfaces(out, f);
    append_units(out, f);
    clsi_text_append(out,
                     "  <LogCategories>\n    <Category name=\"logStatusError\"/>\n"
                     "  </LogCategories>\n  <DefaultExperiment startTime=\"0\" tolerance=\"1e-8\"");
    number(out, "stopTime", cls_system_default_until(f->e->s));
    number(out, "stepSize", f->e->sp->options.h);
    clsi_text_append(out, "/>\n  <ModelVariables>\n");
    for (size_t k = 0; k < f->n; k++) append_variable(out, f, k);
    clsi_text_append(out, "  </ModelVariables>\n");
    append_structure(out, f);
    clsi_text_append(out, "</fmiModelDescription>\n");
}

void clsi_fmu_build_description(const clsi_fmu *f, clsi_text *out) {
    clsi_text_printf(out,
                     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<fmiBuildDescription fmiVersion=\"3.0\">\n"
                     "  <BuildConfiguration modelIdentifier=\"%s\">\n"
                     "    <SourceFileSet language=\"C99\">\n      <SourceFile name=\"%s.c\"/>\n"
                     "      <SourceFile name=\"fmi3.c\"/>\n    </SourceFileSet>\n"
                     "    <Library name=\"m\"/>\n  </BuildConfiguration>\n"
                     "</fmiBuildDescription>\n",
                     f->e->prefix, f->e->prefix);
}
