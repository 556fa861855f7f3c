/* The target `c`: a header, a source, an example, a CMakeLists.txt and a README.
 *
 * The source is C99 that is C++ too: the programs of the step written out, the tables of the model,
 * and the texts that the library compiles itself (dense.inc, newton.inc, step.inc, kernels.inc),
 * with what they ask for as macros (host.c). All state is one struct without pointers: it can be
 * copied, kept and restored by assignment. */
#include "expr/kernels.h"
#include "expr/program.h"
#include "expr/progressions.h"
#include "export/export.h"
#include "export/programs.h"
#include "export/ranges.h"
#include "export/trim.h"
#include "system/sparse_lu.h"
#include <ctype.h>
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
void clsi_append_comment(clsi_text *out, const char *text) {
    for (const char *c = text; *c; c++) {
        clsi_text_append_n(out, *c == '\n' ? " " : c, 1);
        if (*c == '*' && c[1] == '/') clsi_text_append(out, " ");
        if (*c == '/' && c[1] == '*') clsi_text_append(out, " ");
    }
}

static void append_ranges(clsi_text *out, const clsi_export *e, const char *kind, size_t n,
                          const clsi_label *labels) {
    clsi_ranges r;
    if (clsi_ranges_find(n, labels, &r))
        clsi_append_range_names(out, e, kind, &r);
    else
        out->failed = 1;
    clsi_ranges_clear(&r);
}

static void append_labels(clsi_text *out, const clsi_export *e, const char *kind, size_t n,
                          const clsi_label *labels) {
    if (!n) return;
    if (e->runs) {
        append_ranges(out, e, kind, n, labels);
        return;
    }
    clsi_text_append(out, "enum {\n");
    for (size_t k = 0; k < n; k++) {
        clsi_text_printf(out, "    %s_%s_%s%s /* ", e->upper, kind, labels[k].ident,
                         k + 1 < n ? "," : "");
        clsi_append_comment(out, labels[k].name);
        if (labels[k].unit) {
            clsi_text_append(out, " [");
            clsi_append_comment(out, labels[k].unit);
            clsi_text_append(out, "]");
        }
        clsi_text_append(out, " */\n");
    }
    clsi_text_append(out, "};\n");
}

/* Operations of one stage of a program, those of networks included. */
static double cost_of(const cls_program *p, int stage) {
    size_t from = stage ? p->end[stage - 1] : 0;
    return (double)(p->end[stage] - from) + (double)p->field_cost[stage];
}

/* What an iteration costs, and what a step cost at most where it was tried. */
static void append_cost(clsi_text *out, const clsi_export *e) {
    const clsi_stepper *sp = e->sp;
    double k = (double)sp->n_unknowns, solve = k > 1 ? 2 * k * k * k / 3 + 2 * k * k : 2;
    if (sp->lu) solve = clsi_sparse_cost(sp->lu);
    double residual = cost_of(sp->residual, CLSI_STAGE_FIRST),
           slopes = cost_of(sp->residual, CLSI_STAGE_REST);
    double all = residual + slopes + solve;
    clsi_text_printf(
        out,
        " * An iteration costs about %.0f operations: the residual %.0f, its slopes "
        "%.0f, the linear\n * equations %.0f. Seen over %llu steps of %g from the default "
        "start%s: at most %d iterations\n * in a solve and %llu in a step (%.0f operations), "
        "%s.\n",
        all, residual, slopes, solve, (unsigned long long)e->tried_steps, sp->options.h,
        e->n_inputs ? ", inputs at 0" : "", e->worst_iterations, (unsigned long long)e->worst_step,
        (double)e->worst_step * all,
        e->deepest_halving ? "with steps that had to be halved" : "no step had to be halved");
    if (e->refused[0]) clsi_text_printf(out, " * Then a step was refused: %s.\n", e->refused);
}

static void append_about(clsi_text *out, const clsi_export *e) {
    const cls_scheme_info *info = &e->sp->scheme->info;
    clsi_text_printf(out, "/* %s: ", e->prefix);
    clsi_append_comment(out, cls_system_title(e->s));
    clsi_text_printf(out, "\n * Written by clausius %s from ", cls_version());
    clsi_append_comment(out, e->source);
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
        append_cost(out, e);
    }
    if (clsi_export_is_lawful(e)) clsi_append_lawful_cost(out, e);
    if (e->options.single)
        clsi_text_printf(
            out,
            " *\n * Weights of networks are in single precision, sums in double: the "
            "laws hold as with any\n * weights. From the default start the motion lies "
            "within %.1g of that with weights in\n * double precision, of the largest "
            "value of each state, over %llu steps.\n",
            e->single_error, (unsigned long long)e->single_steps);
    clsi_text_append(out, " *\n * Names that are no identifiers of C stand in the comments beside "
                          "what replaces them. */\n");
}

static void append_struct(clsi_text *out, const clsi_export *e) {
    const clsi_stepper *sp = e->sp;
    size_t k = sp->n_unknowns, stages = at_least(sp->scheme->n_composition, 1);
    const clsi_stepper *open = e->open.sp ? e->open.sp : sp;
    size_t entries = at_least(at_least(sp->n_jacobian, open->n_jacobian), 4), one = at_least(k, 2);
    if (sp->heat) entries = at_least(entries, 2 * k);
    size_t positive = at_least(open->n_positive, sp->n_positive), factors = 0;
    if (sp->lu) factors = sp->lu->first[k] + 2 * k; /* in rows, not in lanes */
    if (open->lu) factors = at_least(factors, open->lu->first[k] + 2 * k);
    clsi_text_printf(out,
                     "/* Scratch of Newton's method. */\ntypedef struct %s_newton {\n"
                     "    double in[%zu], out[%zu], trial_out[%zu], lu[%zu];\n"
                     "    double d[%zu], trial_d[%zu], u[%zu], scale[%zu], least[%zu];\n"
                     "    double guarded[%zu], keep[%zu], keep_guard[%zu], simplified, energy;\n"
                     "    double known_size, known_curvature, known_h;\n"
                     "    size_t pivot[%zu];\n    uint64_t iterations;\n"
                     "    double at[%zu]; /* the state to which what is kept belongs */\n"
                     "    int last_iterations, max_iterations, careful, by_heat, known;\n"
                     "    int ended; /* the residual was computed at the end of the step */\n"
                     "    int changed; /* a parameter has another value than it was written with "
                     "*/\n",
                     e->prefix, sp->n_base + one, entries + one + positive, one + positive,
                     sp->lu && open->lu ? 4 : entries, one, one, one, one, one,
                     at_least(sp->n_guarded, 1), at_least(e->n_kept, 1),
                     at_least(e->n_guard_kept, 1), one, e->shares_now ? sp->nz : 1);
    if (factors) clsi_text_printf(out, "    double work_lu[%zu];\n", factors);
    clsi_text_printf(out, "} %s_newton;\n\n", e->prefix);
    clsi_append_lawful_struct(out, e);
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
        "    double defect, step_entropy, energy_scale, ahead, highest, largest_size, scale[%d],\n"
        "        scale_start[%d];\n"
        "    double monitor_out[%zu], monitor_start[%zu], next_out[%zu], row_in[%zu];\n"
        "    double saved[%zu], history[%zu], input[%zu], parameter[%zu];\n"
        "    int history_length[%zu], single; /* the last step was one solve */\n"
        "    %s_newton newton;\n    %s_info info;\n",
        e->prefix, 2 * e->n_state, e->upper, (int)CLSI_SCALES, (int)CLSI_SCALES,
        CLSI_MONITOR_INVARIANTS + e->s->n_invariants, CLSI_MONITOR_INVARIANTS + e->s->n_invariants,
        2 * e->n_state, sp->nz + 2 + sp->nu + e->n_parameters,
        (size_t)(sp->options.max_halvings + (clsi_export_is_lawful(e) ? 1 : 3)) * 2 * e->n_state,
        stages * (size_t)clsi_export_history(e) * one, at_least(sp->nu, 1),
        at_least(e->n_parameters, 1), stages, e->prefix, e->prefix);
    if (clsi_export_is_lawful(e)) clsi_text_printf(out, "    %s_lawful lawful;\n", e->prefix);
    clsi_text_printf(out, "} %s;\n\n", e->prefix);
}

static void append_statuses(clsi_text *out, const clsi_export *e) {
    clsi_text_printf(out, "typedef enum %s_status {\n    %s_OK = 0,\n", e->prefix, e->upper);
#define STATUS(name, sentence)                                                                     \
    if (sentence[0]) clsi_text_printf(out, "    %s_%s, /* %s */\n", e->upper, #name, sentence);
    CLSI_TROUBLES(STATUS)
#undef STATUS
    clsi_text_printf(
        out,
        "    %s_BAD_START, /* no possible state, or not what a start may be given by */\n"
        "    %s_BAD_STEP,  /* the step must be a positive number */\n"
        "    %s_BAD_INPUT, /* there is no such input or parameter, or no such value */\n"
        "    %s_STATUS_COUNT\n} %s_status;\n\n",
        e->upper, e->upper, e->upper, e->upper, e->prefix);
}

static const char texts_of_it[] =
    "extern const char $_system[], $_scheme[], $_version[];\n"
    "extern const char $_set[]; /* values of parameters that were given when it was written */\n";

static const char names_of_few[] =
    "extern const char *const $_columns[$$_COLUMNS]; /* as clausius writes them */\n";

static const char names_of_many[] =
    "/* Column k as clausius writes it; name has room for $$_NAME_ROOM characters. */\n"
    "void $_column_name(int k, char *name);\n";

static const char slopes_of_many[] =
    "/* How rates and outputs ($$_STATES, $$_COLUMNS numbers) change along v, a change of states "
    "and inputs "
    "($$_STATES + $$_INPUTS):\n * the two matrices above times v, without them. */\n"
    "$_status $_slopes_along(const $ *m, const double *v, double *rate, double *row);\n";

static const char functions[] =
    "extern const char *const $_parameters[$$_PARAMETERS + 1], *const $_inputs[$$_INPUTS + 1];\n\n"
    "/* The default start at time 0, with the default step. */\n"
    "void $_defaults($ *m);\n"
    "/* A start from the native state ($$_STATES numbers, $$_STATE_...). */\n"
    "$_status $_start($ *m, double time, const double *state);\n"
    "/* A start from what is known: n columns ($$_COLUMN_...: positions, v or p, S or T, "
    "accounts)\n"
    " * and their values. The others are as in the default start. */\n"
    "$_status $_start_at($ *m, double time, int n, const int *columns, const double *values);\n"
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
    "/* A parameter ($$_PARAMETER_...). The motion goes on from where it is with the new value, "
    "and\n"
    " * energies are measured from there; where that is no possible state any more the answer is\n"
    " * $$_BAD_START: start again. $_defaults brings the first values back. Parameters that are "
    "not\n"
    " * listed cannot change. */\n"
    "$_status $_set_parameter($ *m, int k, double value);\n"
    "double $_parameter(const $ *m, int k);\n"
    "double $_energy_error(const $ *m); /* energy minus work, against the start */\n"
    "/* The motion in continuous time: rates of the state ($$_STATES numbers), their slopes in\n"
    " * it and in the inputs ($$_STATES, $$_STATES + $$_INPUTS), and those of the outputs "
    "($$_COLUMNS,\n"
    " * $$_STATES + $$_INPUTS), row after row. */\n"
    "$_status $_rates(const $ *m, double *rate);\n"
    "$_status $_jacobian(const $ *m, double *slope);\n"
    "void $_row_jacobian(const $ *m, double *slope);\n"
    "/* The slopes of the last step: how the first $$_CORE states after it depend on those before "
    "it\n"
    " * ($$_CORE, $$_CORE), exact. Refused unless that step was a single solve. */\n"
    "$_status $_step_jacobian(const $ *m, double *slope);\n"
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
                     "enum {\n    %s_STATES = %zu,\n    %s_INPUTS = %zu,\n"
                     "    %s_PARAMETERS = %zu,\n    %s_COLUMNS = %zu,\n"
                     "    %s_STAGES = %zu,\n"
                     "    %s_MONITORS = %zu,\n    %s_DEFAULT_STEPS = %.0f\n};\n",
                     e->upper, e->n_state, e->upper, sp->nu, e->upper, e->n_parameters, e->upper,
                     e->n_columns, e->upper, at_least(sp->scheme->n_composition, 1), e->upper,
                     CLSI_MONITOR_INVARIANTS + e->s->n_invariants, e->upper,
                     fmin(ceil(cls_system_default_until(e->s) / sp->options.h - 1e-9), 1e9));
    clsi_text_printf(out, "enum { %s_HAS_HEAT = %d, %s_RECEIVERS = %d };\n", e->upper,
                     e->s->has_heat != 0, e->upper, (e->s->has_work != 0) + (e->s->has_heat != 0));
    if (e->runs)
        clsi_text_printf(out, "enum { %s_NAME_ROOM = %zu };\n", e->upper,
                         clsi_name_room(e->n_columns, e->columns));
    append_labels(out, e, "INPUT", e->n_inputs, e->inputs);
    clsi_text_printf(out, "enum { %s_CORE = %zu, %s_IDENTITY = %d };\n", e->upper, sp->nz, e->upper,
                     e->identity);
    clsi_text_printf(out, "enum { %s_HEAT = %zu, %s_THERMAL = %d };\n", e->upper,
                     e->s->nq + e->s->n, e->upper, e->s->form->kind == CLSI_FORM_THERMAL);
    append_labels(out, e, "PARAMETER", e->n_parameters, e->parameters);
    append_labels(out, e, "STATE", e->n_state, e->states);
    append_labels(out, e, "COLUMN", e->n_columns, e->columns);
    clsi_text_append(out, "\n");
    append_statuses(out, e);
    append_struct(out, e);
    clsi_append_template(out, e, texts_of_it);
    clsi_append_template(out, e, e->runs ? names_of_many : names_of_few);
    clsi_append_template(out, e, functions);
    if (e->runs) clsi_append_template(out, e, slopes_of_many);
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

static int column_of(const clsi_export *e, const char *name) {
    size_t k = clsi_lookup_find(&e->column_at, name);
    return k == SIZE_MAX ? -1 : (int)k;
}

double clsi_state_limit(const clsi_export *e, size_t k, int high) {
    const cls_system *s = e->s;
    size_t heat = s->nq + s->n;
    const clsi_variable *x = k < s->nq ? &s->coordinate[k] : NULL;
    if (k >= heat && k < e->sp->nz && s->form->kind == CLSI_FORM_THERMAL)
        x = &s->temperature[k - heat];
    return high ? (x ? x->high : INFINITY) : (x ? x->low : -INFINITY);
}

/* Room for a number of each state and column, of either kind. */
typedef struct room {
    int *ints;
    double *doubles;
} room;

static int room_create(const clsi_export *e, room *r) {
    size_t n = e->n_state + e->n_columns;
    *r = (room){clsi_calloc(n, sizeof *r->ints), clsi_calloc(n, sizeof *r->doubles)};
    return r->ints && r->doubles;
}

static void room_clear(room *r) {
    free(r->ints);
    free(r->doubles);
}

static void append_limits(clsi_text *out, const clsi_export *e, const room *r) {
    for (int high = 0; high < 2; high++) {
        for (size_t k = 0; k < e->sp->nz; k++) r->doubles[k] = clsi_state_limit(e, k, high);
        clsi_append_doubles(out, e, high ? "clsi_start_high" : "clsi_start_low", e->sp->nz,
                            r->doubles, "0");
    }
}

/* The last one is empty. */
static void append_names(clsi_text *out, const clsi_export *e, const char *what, size_t n,
                         const clsi_label *labels) {
    clsi_text_printf(out, "const char *const %s_%s[%zu] = {", e->prefix, what, n + 1);
    for (size_t k = 0; k < n; k++) {
        clsi_append_string(out, labels[k].name);
        clsi_text_append(out, ", ");
    }
    clsi_text_append(out, "\"\"};\n");
}

/* What a default start gives for each variable of the state: itself, or its other side (p for v, T
 * for S, ...); and which variable a column gives, -1 for none. */
static void append_start(clsi_text *out, const clsi_export *e, const room *r) {
    size_t nz = e->sp->nz;
    for (size_t k = 0; k < nz; k++)
        r->ints[k] = column_of(e, clsi_start_name(e, k, e->native_start));
    clsi_append_ints(out, e, "clsi_given_column", nz, r->ints, "0");
    int same = 1;
    for (size_t k = 0; k < nz; k++) {
        r->doubles[k] = clsi_start_value(e, k);
        same &= !memcmp(&r->doubles[k], &e->start[k], sizeof *r->doubles);
    }
    if (same && nz)
        clsi_text_append(out, "#define clsi_given_value clsi_default_start\n");
    else
        clsi_append_doubles(out, e, "clsi_given_value", nz, r->doubles, "0");
    for (size_t c = 0; c < e->n_columns; c++) r->ints[c] = clsi_column_gives(e, c);
    clsi_append_ints(out, e, "clsi_column_gives", e->n_columns, r->ints, "-1");
}

/* By states and columns. */
static void append_lists(clsi_text *out, const clsi_export *e) {
    size_t nz = e->sp->nz;
    room r;
    if (room_create(e, &r)) {
        clsi_append_doubles(out, e, "clsi_default_start", e->n_state, e->start, NULL);
        clsi_append_doubles(out, e, "clsi_default_parameter", e->n_parameters, e->parameter_value,
                            NULL);
        clsi_text_printf(out,
                         "static const int clsi_energy_column = %d, clsi_entropy_column = %d;\n",
                         column_of(e, "energy"), column_of(e, "entropy"));
        for (size_t k = nz; k < e->n_state; k++) r.ints[k] = column_of(e, e->states[k].name);
        clsi_append_ints(out, e, "clsi_account_column", e->n_state - nz, r.ints + nz, "-1");
        append_limits(out, e, &r);
        append_start(out, e, &r);
    } else {
        out->failed = 1;
    }
    room_clear(&r);
}

/* A table of names, or what writes them. */
static void append_columns(clsi_text *out, const clsi_export *e) {
    clsi_ranges r = {0};
    if (e->runs) {
        if (clsi_ranges_find(e->n_columns, e->columns, &r))
            clsi_append_column_name(out, e, &r);
        else
            out->failed = 1;
        clsi_ranges_clear(&r);
        return;
    }
    clsi_text_printf(out, "const char *const %s_columns[%s_COLUMNS] = {", e->prefix, e->upper);
    for (size_t k = 0; k < e->n_columns; k++) {
        clsi_text_append(out, k ? ", " : "");
        clsi_append_string(out, e->columns[k].name);
    }
    clsi_text_append(out, "};\n");
}

static void append_tables(clsi_text *out, const clsi_export *e) {
    const char *const texts[] = {e->source, e->sp->scheme->info.name,
                                 e->options.version ? e->options.version : cls_version(),
                                 e->options.set ? e->options.set : ""};
    static const char *const names[] = {"system", "scheme", "version", "set"};
    for (size_t k = 0; k < 4; k++) {
        clsi_text_printf(out, "const char %s_%s[] = ", e->prefix, names[k]);
        clsi_append_string(out, texts[k]);
        clsi_text_append(out, ";\n");
    }
    append_columns(out, e);
    append_names(out, e, "parameters", e->n_parameters, e->parameters);
    append_names(out, e, "inputs", e->n_inputs, e->inputs);
    clsi_text_append(out, "static const char *const clsi_reasons[] = {");
#define SENTENCE(name, sentence)                                                                   \
    clsi_append_string(out, sentence[0] ? sentence : "all is well");                               \
    clsi_text_append(out, ",\n    ");
    CLSI_TROUBLES(SENTENCE)
#undef SENTENCE
    clsi_text_append(out, "\"this is no possible state, or a start cannot be given by this\",\n    "
                          "\"the step must be a positive "
                          "number\",\n    \"there is no such input or parameter, or it cannot have "
                          "this value\"};\nstatic const double clsi_default_step = ");
    clsi_append_number(out, e->sp->options.h);
    clsi_text_append(out, ";\n");
    append_lists(out, e);
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

/* The header's numbers of this model, which stand as numbers in the source. */
static void append_counts(clsi_text *out, const clsi_export *e) {
    const clsi_stepper *sp = e->sp;
    const struct {
        const char *name;
        size_t value;
    } counts[] = {{"STATES", e->n_state},
                  {"INPUTS", sp->nu},
                  {"PARAMETERS", e->n_parameters},
                  {"COLUMNS", e->n_columns},
                  {"STAGES", at_least(sp->scheme->n_composition, 1)},
                  {"MONITORS", CLSI_MONITOR_INVARIANTS + e->s->n_invariants},
                  {"CORE", sp->nz},
                  {"HEAT", e->s->nq + e->s->n},
                  {"IDENTITY", e->identity != 0},
                  {"THERMAL", e->s->form->kind == CLSI_FORM_THERMAL},
                  {"HAS_HEAT", e->s->has_heat != 0}};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        clsi_text_printf(out, "#define %s_%s %zu\n", e->upper, counts[k].name, counts[k].value);
}

/* What kernels.inc and the texts of fields ask before they are compiled. */
static void append_used(clsi_text *out, const clsi_export *e, const clsi_programs_use *use) {
    int some = 0;
    append_counts(out, e);
    if (e->runs) clsi_append_row_macros(out);
    if (e->options.single) clsi_text_append(out, "#define CLSI_N_NUMBER float\n");
    for (size_t f = 0; f <= CLS_FN_POWER; f++) some |= use->function[f];
    clsi_text_printf(out, "#define CLSI_K_ONLY(f) ((void)(f), %d)\n",
                     some); /* others are left out */
    if (use->general) clsi_text_append(out, "#define CLSI_K_GENERAL\n");
    if (use->inputs) clsi_text_printf(out, "#define CLSI_N_MOST %zu\n", (use->inputs + 7) / 8 * 8);
}

/* What pairs.inc asks: which functions the programs compute two at a time. */
static void append_pairs_used(clsi_text *out, const clsi_text *programs) {
    const char *text = programs->data ? programs->data : "";
    int power = strstr(text, "clsi_k_pow_2(") != NULL;
    int log = power || strstr(text, "clsi_k_log_2("), exp = power || strstr(text, "clsi_k_exp_2(");
    if (log || exp) clsi_text_append(out, "#define CLSI_K_TWO\n");
    if (log) clsi_text_append(out, "#define CLSI_K_TWO_LOG\n");
    if (exp) clsi_text_append(out, "#define CLSI_K_TWO_EXP\n");
}

/* Names of functions, activations and passes that no program has. */
#define DEAD_NAME(name, text) "CLSI_K_" #name,
static const char *const function_names[] = {CLS_FUNCTION_LIST(DEAD_NAME) "CLSI_K_POWER"};
static const char *const pass_names[CLSI_PASSES] = {
    "CLSI_N_VALUE", "CLSI_N_GRADIENT", "CLSI_N_TANGENT", "CLSI_N_CURVATURE",
    "CLSI_N_THIRD", "CLSI_N_PAIR",     "CLSI_N_PAIR_U",  "CLSI_N_PAIR_W"};
enum { DEAD = CLS_FN_COUNT + CLSI_PASSES + 3 };

static void list_dead(const clsi_programs_use *use, const char *dead[DEAD]) {
    size_t n = 0;
    for (size_t f = 0; f < CLS_FN_COUNT; f++)
        if (!use->function[f]) dead[n++] = function_names[f];
    for (size_t k = 0; k < CLSI_PASSES; k++)
        if (!use->pass[k]) dead[n++] = pass_names[k];
    if (!use->activation[CLS_FN_TANH]) dead[n++] = "CLSI_N_TANH";
    if (!use->activation[CLS_FN_SOFTPLUS]) dead[n++] = "CLSI_N_SOFTPLUS";
    dead[n] = NULL;
}

/* The activation that all networks have, where it has a text of its own. */
static const char *only_activation(const clsi_programs_use *use) {
    int n = 0;
    for (size_t f = 0; f < CLS_FN_COUNT; f++) n += use->activation[f];
    if (n != 1) return NULL;
    return use->activation[CLS_FN_TANH]       ? "CLSI_N_TANH"
           : use->activation[CLS_FN_SOFTPLUS] ? "CLSI_N_SOFTPLUS"
                                              : NULL;
}

static const char source_head[] =
    "/* $.c: see $.h. The numerical methods are those of clausius, to the bit; their texts, with\n"
    " * comments: kernels.inc, pairs.inc, dense.inc, network_node.inc, sparse_lu.inc,\n"
    " * newton.inc, step.inc";
static const char source_includes[] = " in its sources. Here is what this model calls of them. */\n"
                                      "#include \"$.h\"\n#include <float.h>\n#include "
                                      "<string.h>\n\n"; /* kernels.inc brings <math.h> */

/* For the binaries of an FMU. */
static const char old_glibc[] =
    "/* A library for any Linux of its kind: the versions of these functions that\n"
    " * old C libraries have too (they compute the same). */\n"
    "#if defined(CLSI_OLD_GLIBC) && defined(__gnu_linux__)\n"
    "#if defined(__x86_64__)\n#define CLSI_OLD(f) __asm__(\".symver \" #f \",\" #f "
    "\"@GLIBC_2.2.5\")\n"
    "#elif defined(__aarch64__)\n#define CLSI_OLD(f) __asm__(\".symver \" #f \",\" #f "
    "\"@GLIBC_2.17\")\n"
    "#elif defined(__riscv) && __riscv_xlen == 64\n"
    "#define CLSI_OLD(f) __asm__(\".symver \" #f \",\" #f \"@GLIBC_2.27\")\n#endif\n"
    "#ifdef CLSI_OLD\nCLSI_OLD(exp);\nCLSI_OLD(log);\nCLSI_OLD(pow);\nCLSI_OLD(hypot);\n"
    "CLSI_OLD(fmod);\nCLSI_OLD(exp2);\n#endif\n#endif\n\n";

static const char rounded_twice[] =
    "/* a*b + c is rounded twice, as clausius does. */\n"
    "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n"
    "#elif defined(__GNUC__)\n#pragma GCC optimize(\"fp-contract=off\")\n"
    "#elif defined(_MSC_VER)\n#pragma fp_contract(off)\n#endif\n";

/* Vectors of numbers that were stored one by one a moment before wait for them (gcc 12: 5 to 10 %). */
static const char few_numbers[] =
    "#if defined(__GNUC__) && !defined(__clang__) /* faster where a step has few numbers */\n"
    "#pragma GCC optimize(\"no-tree-vectorize\", \"no-tree-loop-distribute-patterns\")\n#endif\n";

static int has_few_numbers(const clsi_export *e) {
    return e->n_state <= 16 && e->sp->residual && !e->sp->residual->n_takes;
}

void clsi_append_parts(clsi_text *out, const clsi_export *e, const char *text, const char *parts) {
    clsi_text part = {0};
    while (*text) {
        const char *mark = strchr(text, '@');
        size_t n = mark ? (size_t)(mark - text) : strlen(text);
        clsi_text_append_n(&part, text, n);
        text += n;
        if (!mark) break;
        size_t word = strcspn(mark, "\n") + 1;
        const char *from = parts;
        while (strncmp(from, mark, word) != 0) from = strchr(from + 1, '@');
        clsi_text_append_n(&part, from + word, (size_t)(strchr(from + word, '@') - from) - word);
        text += word;
    }
    if (part.failed)
        out->failed = 1;
    else
        clsi_append_template(out, e, part.data);
    clsi_text_clear(&part);
}

/* The functions of the header; those about slopes are others where there are many states. */
static void append_model(clsi_text *out, const clsi_export *e) {
    clsi_append_parts(out, e, clsi_export_model_text,
                      e->sparse ? clsi_export_slopes_text : clsi_export_dense_slopes_text);
}

/* The texts that are not this model's alone, in the order of the file. */
typedef struct source_parts {
    clsi_text used, tables, kernels, weights, calls, programs, host, model, trimmed;
} source_parts;

static cls_status trim_parts(const clsi_programs_use *use, const source_parts *p, int lawful,
                             int script, clsi_text *out, cls_error *error) {
    const char *dead[DEAD];
    /* what the module around the script calls */
    static const char *const also[] = {"clsi_k_sum15", "clsi_k_exp_terms", "clsi_column_gives",
                                       NULL};
    const clsi_source_piece pieces[] = {
        {p->used.data, 0},    {clsi_kernels_text, 0},
        {clsi_pairs_text, 0}, {"#define CLSI_DENSE CLSI_KERNEL\n", 0},
        {clsi_dense_text, 0}, {p->tables.data, 0},
        {p->kernels.data, 0}, {p->weights.data, 1},
        {p->calls.data, 0},   {p->programs.data, 1},
        {p->host.data, 0},    {clsi_newton_text, 0},
        {clsi_step_text, 0},  {lawful ? clsi_lawful_text : "", 0},
        {p->model.data, 0}};
    list_dead(use, dead);
    return clsi_trim_source(sizeof pieces / sizeof *pieces, pieces, dead, only_activation(use),
                            script, script ? also : NULL, out, error);
}

cls_status clsi_export_source(clsi_export *e, clsi_source_kind kind, clsi_text *out,
                              cls_error *error) {
    int script = kind == CLSI_SOURCE_SCRIPT;
    source_parts p = {0};
    clsi_programs_use use;
    clsi_export_used(e, &use);
    e->runs = e->sparse && !script;
    e->two = !script && !(e->sp->residual && e->sp->residual->n_takes);
    append_used(&p.used, e, &use);
    append_tables(&p.tables, e);
    cls_status status =
        clsi_append_programs(&p.kernels, &p.weights, &p.calls, &p.programs, &p.host, e, error);
    append_pairs_used(&p.used, &p.programs);
    clsi_append_host(&p.host, e);
    append_unit_check(&p.host, e);
    append_model(&p.model, e);
    clsi_append_template(out, e, source_head);
    if (clsi_export_is_lawful(e)) clsi_text_append(out, ", lawful.inc");
    clsi_append_template(out, e, source_includes);
    if (kind == CLSI_SOURCE_FMU) clsi_text_append(out, old_glibc);
    clsi_text_append(out, rounded_twice);
    if (has_few_numbers(e)) clsi_text_append(out, few_numbers);
    if (p.used.failed || p.tables.failed || p.kernels.failed || p.weights.failed ||
        p.calls.failed || p.programs.failed || p.host.failed || p.model.failed)
        status = status == CLS_OK ? clsi_no_memory(error) : status;
    clsi_text *to = script ? out : &p.trimmed;
    if (status == CLS_OK)
        status = trim_parts(&use, &p, clsi_export_is_lawful(e), script, to, error);
    if (status == CLS_OK && !script)
        status = clsi_shorten_source(p.trimmed.data, e->prefix, out, error);
    clsi_text_clear(&p.trimmed);
    clsi_text_clear(&p.used);
    clsi_text_clear(&p.tables);
    clsi_text_clear(&p.kernels);
    clsi_text_clear(&p.weights);
    clsi_text_clear(&p.calls);
    clsi_text_clear(&p.programs);
    clsi_text_clear(&p.host);
    clsi_text_clear(&p.model);
    return status;
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
    cls_status status = clsi_export_source(e, CLSI_SOURCE_C, clsi_output_add(&files, name), error);
    snprintf(name, sizeof name, "%s.h", e->prefix);
    if (status == CLS_OK) status = clsi_export_header(e, clsi_output_add(&files, name), error);
    if (status == CLS_OK) {
        clsi_append_parts(clsi_output_add(&files, "main.c"), e, clsi_export_main_text,
                          e->runs ? clsi_export_many_names_text : clsi_export_few_names_text);
        append_cmake(clsi_output_add(&files, "CMakeLists.txt"), e);
        status = clsi_export_readme(e, 0, clsi_output_add(&files, "README.md"), error);
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
