/* The target `c`: a header, a source, an example, a CMakeLists.txt and a README.
 *
 * The source is C99 that is C++ too: the programs of the step written out, the tables of the model,
 * and the texts that the library compiles itself (dense.inc, newton.inc, step.inc, kernels.inc),
 * with what they ask for as macros (host.c). All state is one struct without pointers: it can be
 * copied, kept and restored by assignment. */
#include "expr/kernels.h"
#include "expr/program.h"
#include "export/export.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void clsi_append_template(clsi_text *out, const clsi_export *e, const char *text) {
    for (const char *end; (end = strchr(text, '$')); text = end) {
        clsi_text_append_n(out, text, (size_t)(end - text));
        int both = end[1] == '$';
        clsi_text_append(out, both ? e->upper : e->prefix);
        end += 1 + both;
    }
    clsi_text_append(out, text);
}

/* ---- the header ---- */

static size_t at_least(size_t n, size_t least) {
    return n < least ? least : n;
}

/* A comment may not contain its end. */
static void append_comment(clsi_text *out, const char *text) {
    for (const char *c = text; *c; c++) {
        clsi_text_append_n(out, *c == '\n' ? " " : c, 1);
        if (*c == '*' && c[1] == '/') clsi_text_append(out, " ");
        if (*c == '/' && c[1] == '*') clsi_text_append(out, " ");
    }
}

static void append_labels(clsi_text *out, const clsi_export *e, const char *kind, size_t n,
                          const clsi_label *labels) {
    if (!n) return;
    clsi_text_append(out, "enum {\n");
    for (size_t k = 0; k < n; k++) {
        clsi_text_printf(out, "    %s_%s_%s%s /* ", e->upper, kind, labels[k].ident,
                         k + 1 < n ? "," : "");
        append_comment(out, labels[k].name);
        if (labels[k].unit) {
            clsi_text_append(out, " [");
            append_comment(out, labels[k].unit);
            clsi_text_append(out, "]");
        }
        clsi_text_append(out, " */\n");
    }
    clsi_text_append(out, "};\n");
}

static void append_about(clsi_text *out, const clsi_export *e) {
    const cls_scheme_info *info = &e->sp->scheme->info;
    clsi_text_printf(out, "/* %s: ", e->prefix);
    append_comment(out, cls_system_title(e->s));
    clsi_text_printf(out, "\n * Written by clausius %s from ", cls_version());
    append_comment(out, e->source);
    clsi_text_printf(out,
                     " with the scheme %s (order %d%s%s).\n"
                     " * C99, no dependency but libm, no allocation, no globals, no input or "
                     "output.\n *\n",
                     info->name, info->order, info->keeps[0] ? "; keeps " : "", info->keeps);
    if (e->sp->n_unknowns) {
        clsi_text_printf(
            out,
            " * A step solves %zu equation%s by Newton's method: at most %d iterations "
            "a solve,\n * and a step that cannot be solved is halved at most %d "
            "times.\n",
            e->sp->n_unknowns, e->sp->n_unknowns == 1 ? "" : "s", e->sp->options.max_iterations,
            e->sp->options.max_halvings);
        clsi_text_printf(out,
                         " * Seen over %llu steps of %g from the default start: at most %d "
                         "iterations, %s.\n",
                         (unsigned long long)e->tried_steps, e->sp->options.h, e->worst_iterations,
                         e->deepest_halving ? "with steps that had to be halved"
                                            : "no step had to be halved");
    }
    clsi_text_append(out, " *\n * Names that are no identifiers of C stand in the comments beside "
                          "what replaces them. */\n");
}

static void append_struct(clsi_text *out, const clsi_export *e) {
    const clsi_stepper *sp = e->sp;
    size_t k = sp->n_unknowns, stages = at_least(sp->scheme->n_composition, 1);
    size_t square = at_least(k * k, 4), one = at_least(k, 2);
    clsi_text_printf(out,
                     "/* Scratch of Newton's method. */\ntypedef struct %s_newton {\n"
                     "    double in[%zu], out[%zu], trial_out[%zu], lu[%zu];\n"
                     "    double d[%zu], trial_d[%zu], u[%zu], scale[%zu], least[%zu];\n"
                     "    double guarded[%zu], keep[%zu], keep_guard[%zu], simplified;\n"
                     "    size_t pivot[%zu];\n    uint64_t iterations;\n"
                     "    int last_iterations, max_iterations, careful;\n} %s_newton;\n\n",
                     e->prefix, sp->n_base + one, square + one + sp->n_positive,
                     square + one + sp->n_positive, square, one, one, one, one, one,
                     at_least(sp->n_guarded, 1), at_least(e->n_kept, 1),
                     at_least(e->n_guard_kept, 1), one, e->prefix);
    clsi_text_printf(out,
                     "typedef struct %s_info {\n    uint64_t retried_steps; /* had to be halved "
                     "*/\n    int deepest_halving;\n} %s_info;\n\n",
                     e->prefix, e->prefix);
    clsi_text_printf(
        out,
        "/* One motion. No pointers: copy it to keep it. Read, but do not write. */\n"
        "typedef struct %s {\n"
        "    double state[%zu]; /* see %s_STATE_...; then what each sum still owes */\n"
        "    double t0, h;     /* time is t0 + steps h */\n    uint64_t steps;\n"
        "    double defect, step_entropy, energy_scale, scale[%d];\n"
        "    double monitor_out[%zu], monitor_start[%zu], next_out[%zu], row_in[%zu];\n"
        "    double saved[%zu], history[%zu], input[%zu];\n    int history_length[%zu];\n"
        "    %s_newton newton;\n    %s_info info;\n} %s;\n\n",
        e->prefix, 2 * e->n_state, e->upper, (int)CLSI_SCALES,
        CLSI_MONITOR_INVARIANTS + e->s->n_invariants, CLSI_MONITOR_INVARIANTS + e->s->n_invariants,
        2 * e->n_state, sp->nz + 2 + sp->nu,
        (size_t)(sp->options.max_halvings + 3) * 2 * e->n_state, stages * CLSI_HISTORY * one,
        at_least(sp->nu, 1), stages, e->prefix, e->prefix, e->prefix);
}

static void append_statuses(clsi_text *out, const clsi_export *e) {
    clsi_text_printf(out, "typedef enum %s_status {\n    %s_OK = 0,\n", e->prefix, e->upper);
#define STATUS(name, sentence)                                                                     \
    if (sentence[0]) clsi_text_printf(out, "    %s_%s, /* %s */\n", e->upper, #name, sentence);
    CLSI_TROUBLES(STATUS)
#undef STATUS
    clsi_text_printf(
        out,
        "    %s_BAD_START, /* not a possible state */\n"
        "    %s_BAD_STEP,  /* the step must be a positive number */\n"
        "    %s_BAD_INPUT, /* there is no such input or parameter, or no such value */\n"
        "    %s_STATUS_COUNT\n} %s_status;\n\n",
        e->upper, e->upper, e->upper, e->upper, e->prefix);
}

static const char functions[] =
    "extern const char $_system[], $_scheme[], $_version[];\n"
    "extern const char *const $_columns[$$_COLUMNS]; /* as clausius writes them */\n\n"
    "/* The default start at time 0, with the default step. */\n"
    "void $_defaults($ *m);\n"
    "/* A start from the native state ($$_STATES numbers, $$_STATE_...). */\n"
    "$_status $_start($ *m, double time, const double *state);\n"
    "/* One step of h. The motion stays where it was when the step is refused. */\n"
    "$_status $_step($ *m, double h);\n"
    "double $_time(const $ *m);\n"
    "/* All outputs ($$_COLUMNS numbers, $$_COLUMN_...). */\n"
    "void $_row(const $ *m, double *row);\n"
    "double $_energy(const $ *m);\n"
    "double $_entropy(const $ *m);\n"
    "double $_work(const $ *m);         /* done on it by forces from outside, since the start */\n"
    "double $_heat(const $ *m);         /* from heat sources and reservoirs, since the start */\n"
    "/* An input ($$_INPUT_...) keeps its value until it gets another; all begin with 0. */\n"
    "$_status $_set_input($ *m, int k, double value);\n"
    "double $_input(const $ *m, int k);\n"
    "double $_energy_error(const $ *m); /* energy minus work, against the start */\n"
    "/* The motion in continuous time: rates of the state ($$_STATES numbers), their slopes in\n"
    " * it and in the inputs ($$_STATES, $$_STATES + $$_INPUTS), and those of the outputs "
    "($$_COLUMNS,\n"
    " * $$_STATES + $$_INPUTS), row after row. */\n"
    "$_status $_rates(const $ *m, double *rate);\n"
    "$_status $_jacobian(const $ *m, double *slope);\n"
    "void $_row_jacobian(const $ *m, double *slope);\n"
    "const char *$_reason($_status status); /* a sentence for a person */\n"
    "size_t $_size(void); /* of the struct, for those who cannot see it */\n";

cls_status clsi_export_header(clsi_export *e, clsi_text *out, cls_error *error) {
    const clsi_stepper *sp = e->sp;
    append_about(out, e);
    clsi_append_template(
        out, e,
        "#ifndef $$_H\n#define $$_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    clsi_text_printf(out,
                     "enum {\n    %s_STATES = %zu,\n    %s_INPUTS = %zu,\n    %s_COLUMNS = %zu,\n"
                     "    %s_STAGES = %zu,\n"
                     "    %s_MONITORS = %zu,\n    %s_DEFAULT_STEPS = %.0f\n};\n",
                     e->upper, e->n_state, e->upper, sp->nu, e->upper, e->n_columns, e->upper,
                     at_least(sp->scheme->n_composition, 1), e->upper,
                     CLSI_MONITOR_INVARIANTS + e->s->n_invariants, e->upper,
                     fmin(ceil(cls_system_default_until(e->s) / sp->options.h - 1e-9), 1e9));
    clsi_text_printf(out, "enum { %s_HAS_HEAT = %d, %s_RECEIVERS = %d };\n", e->upper,
                     e->s->has_heat != 0, e->upper, (e->s->has_work != 0) + (e->s->has_heat != 0));
    append_labels(out, e, "INPUT", e->n_inputs, e->inputs);
    clsi_text_printf(out, "enum { %s_CORE = %zu, %s_IDENTITY = %d };\n", e->upper, sp->nz, e->upper,
                     e->identity);
    append_labels(out, e, "STATE", e->n_state, e->states);
    append_labels(out, e, "COLUMN", e->n_columns, e->columns);
    clsi_text_append(out, "\n");
    append_statuses(out, e);
    append_struct(out, e);
    clsi_append_template(out, e, functions);
    clsi_append_template(out, e, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return out->failed ? clsi_no_memory(error) : CLS_OK;
}

/* ---- the source ---- */

void clsi_append_string(clsi_text *out, const char *text) {
    clsi_text_append(out, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 32 || *c > 126 || *c == '"' || *c == '\\' || *c == '?')
            clsi_text_printf(out, "\\%03o", *c);
        else
            clsi_text_append_n(out, (const char *)c, 1);
    clsi_text_append(out, "\"");
}

static void append_numbers(clsi_text *out, const char *name, size_t n, const double *values) {
    clsi_text_printf(out, "static const double %s[] = {", name);
    for (size_t k = 0; k < n; k++) {
        clsi_text_append(out, k ? ", " : "");
        clsi_append_number(out, values[k]);
    }
    clsi_text_append(out, n ? "};\n" : "0};\n");
}

static int column_of(const clsi_export *e, const char *name) {
    for (size_t k = 0; k < e->n_columns; k++)
        if (!strcmp(e->columns[k].name, name)) return (int)k;
    return -1;
}

double clsi_state_limit(const clsi_export *e, size_t k, int high) {
    const cls_system *s = e->s;
    size_t heat = s->nq + s->n;
    const clsi_variable *x = k < s->nq ? &s->coordinate[k] : NULL;
    if (k >= heat && k < e->sp->nz && s->form->kind == CLSI_FORM_THERMAL)
        x = &s->temperature[k - heat];
    return high ? (x ? x->high : INFINITY) : (x ? x->low : -INFINITY);
}

static void append_limits(clsi_text *out, const clsi_export *e) {
    for (int high = 0; high < 2; high++) {
        clsi_text_append(out, high ? "static const double clsi_start_high[] = {"
                                   : "static const double clsi_start_low[] = {");
        for (size_t k = 0; k < e->sp->nz; k++) {
            clsi_append_number(out, clsi_state_limit(e, k, high));
            clsi_text_append(out, ", ");
        }
        clsi_text_append(out, "0};\n");
    }
}

static void append_tables(clsi_text *out, const clsi_export *e) {
    const char *const texts[] = {e->source, e->sp->scheme->info.name,
                                 e->options.version ? e->options.version : cls_version()};
    static const char *const names[] = {"system", "scheme", "version"};
    for (size_t k = 0; k < 3; k++) {
        clsi_text_printf(out, "const char %s_%s[] = ", e->prefix, names[k]);
        clsi_append_string(out, texts[k]);
        clsi_text_append(out, ";\n");
    }
    clsi_text_printf(out, "const char *const %s_columns[%s_COLUMNS] = {", e->prefix, e->upper);
    for (size_t k = 0; k < e->n_columns; k++) {
        clsi_text_append(out, k ? ", " : "");
        clsi_append_string(out, e->columns[k].name);
    }
    clsi_text_append(out, "};\nstatic const char *const clsi_reasons[] = {");
#define SENTENCE(name, sentence)                                                                   \
    clsi_append_string(out, sentence[0] ? sentence : "all is well");                               \
    clsi_text_append(out, ",\n    ");
    CLSI_TROUBLES(SENTENCE)
#undef SENTENCE
    clsi_text_append(out, "\"this is not a possible state\",\n    \"the step must be a positive "
                          "number\",\n    \"there is no such input or parameter, or it cannot have "
                          "this value\"};\nstatic const double clsi_default_step = ");
    clsi_append_number(out, e->sp->options.h);
    clsi_text_append(out, ";\n");
    append_numbers(out, "clsi_default_start", e->n_state, e->start);
    clsi_text_printf(out, "static const int clsi_energy_column = %d, clsi_entropy_column = %d;\n",
                     column_of(e, "energy"), column_of(e, "entropy"));
    clsi_text_append(out, "static const int clsi_account_column[] = {");
    for (size_t k = e->sp->nz; k < e->n_state; k++)
        clsi_text_printf(out, "%d, ", column_of(e, e->states[k].name));
    clsi_text_append(out, "-1};\n");
    append_limits(out, e);
}

static void append_unit_check(clsi_text *out, const clsi_export *e) {
    clsi_text_append(
        out, "\n/* Directions and attitudes have length one, but for the last figures. "
             "*/\nstatic int clsi_check_units(const cls_simulator *sim) {\n    (void)sim;\n");
    for (size_t k = 0; k < e->s->n_units; k++) {
        const clsi_unit *u = &e->s->units[k];
        clsi_text_append(out, "    {\n        double sum = 0;\n");
        clsi_text_printf(out,
                         "        for (int i = %zu; i < %zu; i++) sum += sim->state[i] * "
                         "sim->state[i];\n        if (!(fabs(sqrt(sum) - 1) < 1e-3)) return 0;\n"
                         "    }\n",
                         u->first, u->first + u->count);
    }
    clsi_text_append(out, "    return 1;\n}\n\n");
}

static cls_status append_programs(clsi_text *out, clsi_export *e, cls_error *error) {
    const clsi_stepper *sp = e->sp;
    struct {
        const char *name;
        const cls_program *program;
    } whole[] = {{"clsi_guess", sp->guess},        {"clsi_next", sp->next},
                 {"clsi_monitor", sp->monitor},    {"clsi_scale", sp->scale},
                 {"clsi_rate", e->rate},           {"clsi_slope", e->slope},
                 {"clsi_row_slope", e->row_slope}, {"clsi_row", clsi_system_row_program(e->s)}};
    const cls_program *all[sizeof whole / sizeof *whole + 2] = {sp->residual, sp->guard};
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++) all[k + 2] = whole[k].program;
    clsi_programs_emit_fields(sizeof all / sizeof *all, all, out);
    cls_status status = CLS_OK;
    for (size_t k = 0; k < sizeof whole / sizeof *whole && status == CLS_OK; k++) {
        status = clsi_program_emit_function(whole[k].program, whole[k].name, out, error);
        clsi_text_append(out, "\n");
    }
    if (status == CLS_OK)
        status = clsi_program_emit_stages(sp->residual, "clsi_residual", out, &e->n_kept, error);
    if (status == CLS_OK && sp->guard)
        status = clsi_program_emit_stages(sp->guard, "clsi_guard", out, &e->n_guard_kept, error);
    return status;
}

cls_status clsi_export_source(clsi_export *e, clsi_text *out, cls_error *error) {
    clsi_append_template(
        out, e,
        "/* $.c: see $.h. The numerical methods are those of clausius, to the bit. "
        "*/\n#include \"$.h\"\n#include <float.h>\n#include <math.h>\n"
        "#include <string.h>\n\n"
        "/* A library for any x86-64 Linux: the versions of these functions that\n"
        " * old C libraries have too (they compute the same). */\n"
        "#if defined(CLSI_OLD_GLIBC) && defined(__x86_64__) && "
        "defined(__gnu_linux__)\n"
        "__asm__(\".symver exp,exp@GLIBC_2.2.5\");\n"
        "__asm__(\".symver log,log@GLIBC_2.2.5\");\n"
        "__asm__(\".symver pow,pow@GLIBC_2.2.5\");\n"
        "__asm__(\".symver hypot,hypot@GLIBC_2.2.5\");\n"
        "__asm__(\".symver fmod,fmod@GLIBC_2.2.5\");\n"
        "__asm__(\".symver exp2,exp2@GLIBC_2.2.5\");\n#endif\n\n"
        "/* a*b + c is rounded twice, as clausius does. */\n"
        "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n"
        "#elif defined(__GNUC__)\n#pragma GCC optimize(\"fp-contract=off\")\n"
        "#elif defined(_MSC_VER)\n#pragma fp_contract(off)\n#endif\n\n");
    clsi_text_append(out, clsi_kernels_text);
    clsi_text_append(out, "\n#define CLSI_DENSE CLSI_KERNEL\n");
    clsi_text_append(out, clsi_dense_text);
    clsi_text_append(out, "\n");
    append_tables(out, e);
    cls_status status = append_programs(out, e, error);
    if (status != CLS_OK) return status;
    clsi_append_host(out, e);
    append_unit_check(out, e);
    clsi_text_append(out, clsi_newton_text);
    clsi_text_append(out, "\n");
    clsi_text_append(out, clsi_step_text);
    clsi_text_append(out, "\n");
    clsi_append_template(out, e, clsi_export_model_text);
    return out->failed ? clsi_no_memory(error) : CLS_OK;
}

/* ---- all files ---- */

static void append_cmake(clsi_text *out, const clsi_export *e) {
    clsi_text_printf(
        out,
        "cmake_minimum_required(VERSION 3.10)\nproject(%s C)\n"
        "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\n"
        "# no fused multiply-add and no fast-math: the bits and the laws depend on it\n"
        "if(NOT MSVC)\n  add_compile_options(-ffp-contract=off -fno-math-errno)\n"
        "endif()\nadd_library(%s STATIC %s.c)\n"
        "set_target_properties(%s PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)\n"
        "target_include_directories(%s PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
        "if(UNIX)\n  target_link_libraries(%s PUBLIC m)\nendif()\n"
        "add_executable(%s_main main.c)\ntarget_link_libraries(%s_main %s)\n",
        e->prefix, e->prefix, e->prefix, e->prefix, e->prefix, e->prefix, e->prefix, e->prefix,
        e->prefix);
}

static cls_status write_c(clsi_export *e, const char *path, cls_export_info *info,
                          cls_error *error) {
    clsi_outputs files = {0};
    char name[80];
    snprintf(name, sizeof name, "%s.c", e->prefix);
    cls_status status = clsi_export_source(e, clsi_output_add(&files, name), error);
    snprintf(name, sizeof name, "%s.h", e->prefix);
    if (status == CLS_OK) status = clsi_export_header(e, clsi_output_add(&files, name), error);
    if (status == CLS_OK) {
        clsi_append_template(clsi_output_add(&files, "main.c"), e, clsi_export_main_text);
        append_cmake(clsi_output_add(&files, "CMakeLists.txt"), e);
        status = clsi_export_readme(e, clsi_output_add(&files, "README.md"), error);
    }
    if (status == CLS_OK) status = clsi_outputs_write(&files, path, info, error);
    clsi_outputs_clear(&files);
    return status;
}

const clsi_target clsi_target_c = {
    .name = "c",
    .doc = "C99 source in a directory: header, source, example, CMakeLists.txt, README.md",
    .write = write_c,
};
