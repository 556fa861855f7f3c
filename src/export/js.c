/* The target `js`: one ES module, the exported C translated word by word (translate.c) and a class
 * around it. Browsers and node have their own exp and log: paths agree with the library's to about
 * 1e-12, laws hold to round-off. */
#include "export/export.h"
#include "export/translate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The character of UTF-8 at c and its bytes; 0: it is none. */
static size_t decode(const unsigned char *c, unsigned *code) {
    size_t n = *c < 0x80 ? 1 : *c >= 0xf0 ? 4 : *c >= 0xe0 ? 3 : *c >= 0xc0 ? 2 : 0;
    *code = n > 1 ? *c & (0x7fu >> n) : *c;
    for (size_t k = 1; k < n; k++) {
        if ((c[k] & 0xc0) != 0x80) return 0;
        *code = *code << 6 | (c[k] & 0x3fu);
    }
    return *code < 0x110000 ? n : 0;
}

/* Nothing but printable ASCII: "</script>" may stand in a page, and marks that turn text around. */
static void append_string(clsi_text *out, const char *text) {
    unsigned code;
    clsi_text_append(out, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t n = decode(c, &code);
        if (!n)
            clsi_text_append(out, "?");
        else if (code < 32 || code >= 127 || code == '"' || code == '\\' || code == '<')
            clsi_text_printf(out, "\\u{%x}", code);
        else
            clsi_text_append_n(out, (const char *)c, 1);
        c += n ? n : 1;
    }
    clsi_text_append(out, "\"");
}

/* A name in a comment of one line, which a line end of it would leave. */
static void append_plain(clsi_text *out, const char *text) {
    for (; *text; text++)
        clsi_text_append_n(out, *text < 32 || *text > 126 || *text == '<' ? "?" : text, 1);
}

static void append_value(clsi_text *out, const char *key, double value) {
    char text[32];
    clsi_format_double(value, text);
    clsi_text_printf(out, ", %s: %s", key,
                     isfinite(value) ? text
                     : value > 0     ? "Infinity"
                                     : "-Infinity");
}

static void append_label(clsi_text *out, const clsi_label *l) {
    clsi_text_append(out, "{ name: ");
    append_string(out, l->name);
    clsi_text_append(out, ", unit: ");
    append_string(out, l->unit ? l->unit : "");
}

static void append_info(clsi_text *out, const clsi_export *e) {
    const struct {
        const char *key, *value;
    } texts[] = {{"system", e->source},
                 {"title", cls_system_title(e->s)},
                 {"scheme", e->sp->scheme->info.name},
                 {"keeps", e->sp->scheme->info.keeps},
                 {"version", e->options.version ? e->options.version : cls_version()}};
    clsi_text_append(out, "\nexport const info = {");
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        clsi_text_printf(out, "%s %s: ", k ? "," : "", texts[k].key);
        append_string(out, texts[k].value);
    }
    append_value(out, "h", e->sp->options.h);
    append_value(out, "until", cls_system_default_until(e->s));
    clsi_text_append(out, ",\n  states: [");
    for (size_t k = 0; k < e->n_state; k++) {
        clsi_text_append(out, k ? ",\n    " : "\n    ");
        append_label(out, &e->states[k]);
        append_value(out, "start", e->start[k]);
        append_value(out, "low", clsi_state_limit(e, k, 0));
        append_value(out, "high", clsi_state_limit(e, k, 1));
        clsi_text_append(out, " }");
    }
    clsi_text_append(out, "],\n  columns: [");
    for (size_t k = 0; k < e->n_columns; k++) {
        clsi_text_append(out, k ? ",\n    " : "\n    ");
        append_label(out, &e->columns[k]);
        clsi_text_append(out, " }");
    }
    clsi_text_append(out, "],\n  parameters: [");
    for (size_t k = 0; k < e->n_parameters; k++) {
        clsi_text_append(out, k ? ", " : "");
        append_label(out, &e->parameters[k]);
        append_value(out, "value", e->parameter_value[k]);
        clsi_text_append(out, " }");
    }
    clsi_text_append(out, "],\n  inputs: [");
    for (size_t k = 0, n = 0; k < e->n_inputs; k++) {
        if (cls_system_input_is_given(e->s, k)) continue;
        clsi_text_append(out, n++ ? ", " : "");
        append_label(out, &e->inputs[k]);
        clsi_text_printf(out, ", value: 0, index: %zu }", k);
    }
    clsi_text_append(out, "] };\n");
}

static const char class_begin[] =
    "\n// One motion. start, step and set return '' or a sentence that says why they were "
    "refused;\n"
    "// the motion then stays where it was.\n"
    "export class Model {\n"
    "  constructor() { this.m = new model(); model_defaults(this.m); }\n";

/* From any columns that tell the state. */
static const char class_start[] =
    "  start(values = {}, time = 0) {\n"
    "    const columns = [], given = [];\n"
    "    for (const [name, value] of Object.entries(values)) {\n"
    "      const k = info.columns.findIndex(c => c.name === name);\n"
    "      if (k < 0 || clsi_column_gives[k] < 0)\n"
    "        return `no state is called ${name}; there are ` + info.columns.filter((c, k) =>\n"
    "          clsi_column_gives[k] >= 0).map(c => c.name).join(', ');\n"
    "      columns.push(k); given.push(Number(value));\n"
    "    }\n"
    "    const kept = structuredClone(this.m.state);\n"
    "    const status = model_start_at(this.m, time, given.length, columns, given);\n"
    "    if (status) this.m.state.set(kept);\n"
    "    return status ? model_reason(status) : '';\n"
    "  }\n";

/* From states alone, which is all that a page asks for. */
static const char class_start_of_page[] =
    "  start(values = {}, time = 0) {\n"
    "    const kept = structuredClone(this.m.state);\n"
    "    const status = model_start(this.m, time, info.states.map(s => Number(values[s.name] ?? "
    "s.start)));\n"
    "    if (status) this.m.state.set(kept);\n"
    "    return status ? model_reason(status) : '';\n"
    "  }\n";

static const char class_rest[] =
    "  step(h = info.h) {\n"
    "    const status = model_step(this.m, h);\n"
    "    return status ? model_reason(status) : '';\n"
    "  }\n"
    "  set(values = {}) {\n"
    "    for (const name of Object.keys(values))\n"
    "      if (!info.inputs.some(u => u.name === name) && !info.parameters.some(p => p.name === "
    "name))\n"
    "        return `no input and no parameter that may change is called ${name}`;\n"
    "    for (const [k, p] of info.parameters.entries())\n"
    "      if (p.name in values) {\n"
    "        const status = model_set_parameter(this.m, k, values[p.name]);\n"
    "        if (status) return `${p.name}: ${model_reason(status)}`;\n"
    "      }\n"
    "    for (const u of info.inputs)\n"
    "      if (u.name in values) {\n"
    "        const status = model_set_input(this.m, u.index, values[u.name]);\n"
    "        if (status) return model_reason(status);\n"
    "      }\n"
    "    return '';\n"
    "  }\n"
    "  get time() { return model_time(this.m); }\n"
    "  get state() { return this.m.state.slice(0, info.states.length); }\n"
    "  row() { const row = new Float64Array(info.columns.length); model_row(this.m, row); return "
    "row; }\n"
    "  get(name) { return this.row()[info.columns.findIndex(c => c.name === name)]; }\n"
    "  energy() { return model_energy(this.m); }\n"
    "  entropy() { return model_entropy(this.m); }\n"
    "  work() { return model_work(this.m); }\n"
    "  energyError() { return model_energy_error(this.m); }\n"
    "}\n";

cls_status clsi_export_module(clsi_export *e, int in_page, clsi_text *out, cls_error *error) {
    clsi_text header = {0}, source = {0}, module = {0}, class = {0}, roots = {0};
    clsi_text_append(&class, class_begin);
    clsi_text_append(&class, in_page ? class_start_of_page : class_start);
    clsi_text_append(&class, class_rest);
    snprintf(e->prefix, sizeof e->prefix, "model"); /* a module has a scope of its own */
    snprintf(e->upper, sizeof e->upper, "MODEL");
    cls_status status = clsi_export_source(e, CLSI_SOURCE_SCRIPT, &source, error);
    if (status == CLS_OK) status = clsi_export_header(e, &header, error);
    clsi_text_append(out, "// ");
    append_plain(out, e->source);
    clsi_text_printf(out, " by %s, written by clausius %s. An ES module without imports.\n",
                     e->sp->scheme->info.name, cls_version());
    clsi_text_append(out, clsi_export_prelude_text);
    clsi_text_append_n(&header, source.data ? source.data : "", source.length);
    if (status == CLS_OK && (header.failed || source.failed || class.failed))
        status = clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_translate(header.data, &module, error);
    clsi_text_printf(&roots, "%s%s", class.data ? class.data : "", clsi_export_prelude_text);
    if (status == CLS_OK && roots.failed) status = clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_shrink(module.data, roots.data, out, error);
    clsi_text_clear(&roots);
    clsi_text_clear(&module);
    append_info(out, e);
    clsi_text_append(out, class.data ? class.data : "");
    clsi_text_clear(&class);
    clsi_text_clear(&header);
    clsi_text_clear(&source);
    return status;
}

static cls_status write_js(clsi_export *e, const char *path, cls_export_info *info,
                           cls_error *error) {
    clsi_text text = {0};
    clsi_file file;
    cls_status status = clsi_export_module(e, 0, &text, error);
    if (status == CLS_OK && text.failed) status = clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_file_open(&file, path, error);
    if (status == CLS_OK) {
        fwrite(text.data, 1, text.length, file.stream);
        status = clsi_file_commit(&file, error);
    }
    info->files = 1;
    info->bytes = text.length;
    clsi_text_clear(&text);
    return status;
}

const clsi_target clsi_target_js = {
    .name = "js",
    .doc = "one ES module without imports, for pages and node",
    .write = write_js,
};
