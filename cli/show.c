/* clausius show: a system as a person wants to read it, as LaTeX, as its source, or as JSON; of a
 * model what was learned from which data.
 * Each of --equations, --latex, --parts and --source prints only that, so that it can go into a
 * file; without them there is the summary. */
#include "cli.h"
#include "table.h"
#include <stdlib.h>

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

/* A text that was made, and goes. */
static cls_status print_made(cls_status status, char **text) {
    if (!status) fputs(*text, stdout);
    cls_text_free(text);
    return status;
}

static cls_status print_text(const cls_system *s, const cli_arguments *a, cls_error *error) {
    unsigned what = 0;
    char *text = NULL;
    if (cli_given(a, "latex")) what |= CLS_SHOW_LATEX;
    if (cli_given(a, "parts")) what |= CLS_SHOW_PARTS;
    if (cli_given(a, "source")) what |= CLS_SHOW_SOURCE;
    if (cli_given(a, "equations")) what |= CLS_SHOW_EQUATIONS;
    if (!what) what = CLS_SHOW_SUMMARY;
    return print_made(cls_system_show(s, what, &text, error), &text);
}

static int is_section(const cli_arguments *a) {
    return cli_given(a, "latex") || cli_given(a, "parts") || cli_given(a, "source") ||
           cli_given(a, "equations");
}

static json_t *found_json(const cls_found *w) {
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "kind", cls_found_kind_name(w->kind),
                          "formula", w->formula, "name", w->name, "why", w->why, "exact", w->exact,
                          "digits", cli_json_real(w->digits));
    if (o && w->kind == CLS_FOUND_GAUGE) {
        json_object_set_new(o, "fixed_by", json_string(w->fixed_by));
        json_object_set_new(o, "open", json_boolean(w->open));
    } else if (o) {
        json_object_set_new(o, "rate", cli_json_real(w->rate));
        json_object_set_new(o, "drift", cli_json_real(w->drift));
    }
    return o;
}

static cls_status print_invariants(const cli_arguments *a, const cli_motion *m, int json,
                                   cls_error *error) {
    cls_invariants *found = NULL;
    cls_invariants_options o = cls_invariants_defaults();
    char *text = NULL;
    o.scheme = cli_value(a, "scheme");
    cls_status status = cli_real(a, "h", &o.h, error);
    if (!status && o.scheme) status = cli_check_scheme(o.scheme, error);
    if (!status) status = cls_invariants_find(m->system, m->model, &o, &found, error);
    if (!status && json) {
        json_t *list = json_array();
        for (size_t i = 0; list && i < cls_invariants_count(found); i++)
            json_array_append_new(list, found_json(cls_invariants_at(found, i)));
        status =
            cli_print_json(json_pack("{s:s, s:i, s:o}", "name", cls_system_name(m->system),
                                     "states", (int)cls_invariants_states(found), "found", list),
                           error);
    } else if (!status) {
        status = print_made(cls_invariants_show(found, &text, error), &text);
    }
    cls_invariants_free(&found);
    return status;
}

static json_t *formula_json(const cls_formula *f) {
    json_t *terms = json_array(), *steps = json_array();
    for (size_t k = 0; terms && k < f->n_terms; k++) {
        const cls_formula_term *t = &f->terms[k];
        json_array_append_new(terms, json_pack("{s:s, s:s, s:o, s:o, s:o, s:s}", "term", t->text,
                                               "name", t->name, "value", cli_json_real(t->value),
                                               "stderr", cli_json_real(t->error), "without",
                                               cli_json_real(t->price), "unit", t->unit));
    }
    for (size_t k = 0; steps && k < f->n_steps; k++)
        json_array_append_new(steps, json_pack("{s:i, s:o, s:s}", "terms", (int)f->steps[k].terms,
                                               "error", cli_json_real(f->steps[k].error), "formula",
                                               f->steps[k].formula));
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "part", f->part, "what", f->what,
                     "form", f->form, "reason", f->reason, "error", cli_json_real(f->error),
                     "constant", cli_json_real(f->constant), "terms", terms, "path", steps);
}

static cls_status print_formulas(const cls_formulas *found, int json, cls_error *error) {
    char *text = NULL;
    if (!json) return print_made(cls_formulas_show(found, &text, error), &text);
    json_t *list = json_array();
    for (size_t i = 0; list && i < cls_formulas_count(found); i++)
        json_array_append_new(list, formula_json(cls_formulas_at(found, i)));
    return cli_print_json(
        json_pack("{s:b, s:o}", "refitted", cls_formulas_refitted(found), "formulas", list), error);
}

/* --formulas: from the model, its constants from --data where there are any; -o FILE.clausius. */
static cls_status find_formulas(const cli_arguments *a, const cli_motion *m, cls_error *error) {
    cls_formulas_options o = cls_formulas_defaults();
    cls_formulas *found = NULL;
    const char *paths = cli_value(a, "data"), *out = cli_value(a, "output");
    char **words = NULL;
    cls_table **tables = NULL;
    uint64_t terms = 0;
    if (!m->model)
        return cli_fail(error, CLS_USAGE,
                        "--formulas is for learned models; a system has its formulas: --equations");
    cls_status status = cli_integer(a, "terms", 1, &terms, error);
    if (!status) status = cli_positive(a, "tolerance", &o.tolerance, error);
    o.terms = (size_t)terms;
    if (!status && paths) status = cli_words("--data", paths, &o.n_tables, &words, error);
    if (!status && o.n_tables && !(tables = calloc(o.n_tables, sizeof *tables)))
        status = cli_no_memory(error);
    for (size_t i = 0; !status && i < o.n_tables; i++)
        status = cli_read_table(NULL, words[i], m->system, &tables[i], error);
    o.tables = (const cls_table *const *)tables;
    o.names = (const char *const *)words;
    if (!status) status = cls_formulas_find(m->model, &o, &found, error);
    if (!status) status = print_formulas(found, cli_given(a, "json"), error);
    if (!status && out) status = cls_formulas_write(found, out, error);
    if (!status && out) cli_notice("%s written: `clausius simulate %s`", out, out);
    cls_formulas_free(&found);
    for (size_t i = 0; tables && i < o.n_tables; i++) cls_table_free(&tables[i]);
    free(tables);
    free(words);
    return status;
}

/* A folder that happens to have the name of a built-in system is ./NAME. */
static cls_status run(const cli_arguments *a, cls_error *error) {
    cli_motion m = {0};
    char *text = NULL;
    if (!cli_is_system(a->words[0]) && cls_export_is_path(a->words[0]))
        return print_made(cls_export_show(a->words[0], &text, error), &text);
    const char *out = cli_value(a, "output");
    cls_status status = cli_motion_open(a->words[0], cli_value(a, "set"), &m, error);
    if (!status && out && !cli_given(a, "graph") && !cli_given(a, "formulas"))
        status = cli_fail(error, CLS_USAGE,
                          "-o is for the picture of --graph and the system file of --formulas");
    if (!status && (cli_given(a, "scheme") || cli_given(a, "h")) && !cli_given(a, "invariants"))
        status = cli_fail(error, CLS_USAGE, "--scheme and --h are for --invariants");
    if (!status && cli_given(a, "h") && !cli_given(a, "scheme"))
        status = cli_fail(error, CLS_USAGE, "--h is the step of --scheme NAME");
    if (!status && cli_given(a, "graph"))
        status = cls_bond_graph(m.system, out ? out : "-", error);
    else if (!status && cli_given(a, "formulas"))
        status = find_formulas(a, &m, error);
    else if (!status && cli_given(a, "invariants"))
        status = print_invariants(a, &m, cli_given(a, "json"), error);
    else if (!status && cli_given(a, "json"))
        status = print_json(m.system, error);
    else if (!status && m.model && !is_section(a))
        status = print_made(cls_model_show(m.model, &text, error), &text);
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
    {"invariants", 0, NULL,
     "invariants, symmetries, Casimir functions and gauge directions, found numerically"},
    {"scheme", 0, "NAME",
     "with --invariants: of a step of this scheme instead (discrete Noether theorem)"},
    {"h", 0, "X", "with --scheme: the step; else the system's"},
    {"formulas", 0, NULL,
     "short formulas for what was learned, with the price of each term; -o FILE.clausius"},
    {"data", 0, "FILE,...", "with --formulas: motions that the constants are fitted to"},
    {"terms", 0, "N", "with --formulas: so many terms of each part; else as many as pay"},
    {"tolerance", 0, "E", "with --formulas: relative error that a formula may have, 1e-3"},
    {"graph", 0, NULL, "the bond graph of a system of components, SVG on standard output or to -o"},
    {"output", 'o', "FILE",
     "where the picture of --graph goes (.svg, .png), or the system with formulas (.clausius)"},
    {"set", 0, "LIST", "parameter values, \"m=2, k=1\""},
    {"json", 0, NULL, "one JSON object: name, title, formalism, parameters, state, columns, ..."},
    {0},
};

const cli_command cli_show = {
    .name = "show",
    .doc = "a system's variables, parameters, laws and formulas",
    .usage = "SYSTEM|MODEL|DIR|FILE.fmu [options]",
    .examples =
        "  clausius show adiabatic-piston\n"
        "  clausius show ideal-gas-piston --equations\n"
        "  clausius show pendulum --latex > pendulum.tex\n"
        "  clausius show two-body --source > mine.clausius\n"
        "  clausius show thermal-oscillator --graph -o oscillator.svg\n"
        "  clausius show learned.safetensors\n"
        "  clausius show two-body --invariants\n"
        "  clausius show two-body --invariants --scheme dtel --h 0.1\n"
        "  clausius show learned.safetensors --formulas --data train.csv -o short.clausius\n"
        "  clausius show piston.fmu\n",
    .notes = "SYSTEM is a built-in name (see `clausius systems`) or a .clausius file, MODEL a\n"
             "learned .safetensors file; DIR and FILE.fmu were written by `clausius export`.\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
