/* clausius show: a system as a person wants to read it, as LaTeX, as its source, or as JSON; of a
 * model what was learned from which data.
 * Each of --equations, --latex, --parts and --source prints only that, so that it can go into a
 * file; without them there is the summary. */
#include "cli.h"

static json_t *names(const cls_system *s, size_t n,
                     const char *(*name)(const cls_system *, size_t)) {
    json_t *list = json_array();
    for (size_t i = 0; list && i < n; i++) json_array_append_new(list, json_string(name(s, i)));
    return list;
}

static cls_status print_json(const cls_system *s, cls_error *error) {
    json_t *parameters = json_object();
    for (size_t i = 0; parameters && i < cls_system_parameter_count(s); i++)
        json_object_set_new(parameters, cls_system_parameter_name(s, i),
                            cli_json_real(cls_system_parameter(s, i)));
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:o, s:f, s:f, s:s}", "name", cls_system_name(s), "title",
                  cls_system_title(s), "formalism", cls_formalism_name(cls_system_formalism(s)),
                  "parameters", parameters, "step", cls_system_default_step(s), "until",
                  cls_system_default_until(s), "scheme", cls_scheme_default(s));
    if (o) {
        json_object_set_new(o, "state", names(s, cls_system_state_count(s), cls_system_state_name));
        json_object_set_new(o, "columns", names(s, cls_system_column_count(s), cls_system_column));
    }
    return cli_print_json(o, error);
}

static cls_status print_text(const cls_system *s, const cli_arguments *a, cls_error *error) {
    unsigned what = 0;
    char *text = NULL;
    if (cli_given(a, "latex")) what |= CLS_SHOW_LATEX;
    if (cli_given(a, "parts")) what |= CLS_SHOW_PARTS;
    if (cli_given(a, "source")) what |= CLS_SHOW_SOURCE;
    if (cli_given(a, "equations")) what |= CLS_SHOW_EQUATIONS;
    if (!what) what = CLS_SHOW_SUMMARY;
    cls_status status = cls_system_show(s, what, &text, error);
    if (status) return status;
    fputs(text, stdout);
    cls_text_free(&text);
    return CLS_OK;
}

static cls_status print_model(const cls_model *m, cls_error *error) {
    char *text = NULL;
    cls_status status = cls_model_show(m, &text, error);
    if (status) return status;
    fputs(text, stdout);
    cls_text_free(&text);
    return CLS_OK;
}

static int is_section(const cli_arguments *a) {
    return cli_given(a, "latex") || cli_given(a, "parts") || cli_given(a, "source") ||
           cli_given(a, "equations");
}

static cls_status print_export(const char *path, cls_error *error) {
    char *text = NULL;
    cls_status status = cls_export_show(path, &text, error);
    if (status) return status;
    fputs(text, stdout);
    cls_text_free(&text);
    return CLS_OK;
}

static cls_status run(const cli_arguments *a, cls_error *error) {
    cli_motion m = {0};
    if (cls_export_is_path(a->words[0])) return print_export(a->words[0], error);
    const char *out = cli_value(a, "output");
    cls_status status = cli_motion_open(a->words[0], cli_value(a, "set"), &m, error);
    if (!status && out && !cli_given(a, "graph"))
        status = cli_fail(error, CLS_USAGE, "-o is for the picture of --graph");
    if (!status && cli_given(a, "graph"))
        status = cls_bond_graph(m.system, out ? out : "-", error);
    else if (!status && cli_given(a, "json"))
        status = print_json(m.system, error);
    else if (!status && m.model && !is_section(a))
        status = print_model(m.model, error);
    else if (!status)
        status = print_text(m.system, a, error);
    cli_motion_free(&m);
    return status;
}

static const cli_option options[] = {
    {"equations", 0, NULL, "the formula and the equations of motion, derived symbolically"},
    {"latex", 0, NULL, "the equations as LaTeX"},
    {"parts", 0, NULL, "the names of the parts that learning can treat as unknown"},
    {"source", 0, NULL, "the .clausius file itself"},
    {"graph", 0, NULL, "the bond graph of a system of components, SVG on standard output or to -o"},
    {"output", 'o', "FILE", "where the picture of --graph goes, .svg or .png"},
    {"set", 0, "LIST", "parameter values, \"m=2, k=1\""},
    {"json", 0, NULL, "one JSON object: name, title, formalism, parameters, state, columns, ..."},
    {0},
};

const cli_command cli_show = {
    .name = "show",
    .doc = "a system's variables, parameters, laws and formulas",
    .usage = "SYSTEM|MODEL|DIR|FILE.fmu [options]",
    .examples = "  clausius show adiabatic-piston\n"
                "  clausius show ideal-gas-piston --equations\n"
                "  clausius show pendulum --latex > pendulum.tex\n"
                "  clausius show two-body --source > mine.clausius\n"
                "  clausius show thermal-oscillator --graph -o oscillator.svg\n"
                "  clausius show learned.safetensors\n"
                "  clausius show piston.fmu\n",
    .notes = "SYSTEM is a built-in name (see `clausius systems`) or a .clausius file, MODEL a\n"
             "learned .safetensors file; DIR and FILE.fmu were written by `clausius export`.\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
