/* The model card: what is in an export, where it comes from, what it keeps, for a person. */
#include "export/export.h"
#include "export/ranges.h"
#include <clausius/audit.h>
#include <clausius/simulate.h>
#include <clausius/table.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the judge says ---- */

enum { JUDGED = 1000 }; /* steps, as `clausius audit` makes */
/* Of many columns fewer: the table and what the judge makes of it stay within some 100 MB. */
enum { JUDGED_NUMBERS = 4000000, JUDGED_LEAST = 20 };

static int most_judged(const clsi_export *e) {
    size_t steps = JUDGED_NUMBERS / e->n_columns;
    return steps < JUDGED_LEAST ? JUDGED_LEAST : steps < JUDGED ? (int)steps : JUDGED;
}

/* Rows of the motion from the default start, inputs at 0; fewer where it cannot go on. */
static cls_status make_rows(const clsi_export *e, cls_table *t, cls_error *error) {
    cls_simulator *sim = NULL;
    cls_simulate_options o = cls_simulate_defaults();
    const double times[] = {0, 1};
    double *row = clsi_calloc(e->n_columns, sizeof *row);
    double *zeros = clsi_calloc(2 * e->n_inputs, sizeof *zeros);
    o.scheme = e->sp->options.scheme;
    o.h = e->sp->options.h;
    o.max_halvings = e->sp->options.max_halvings;
    cls_status status = row && zeros ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) status = cls_simulator_create(e->s, &o, &sim, error);
    if (status == CLS_OK && e->n_inputs)
        status = cls_simulator_inputs(sim, 2, times, zeros, CLS_HOLD_ZERO, error);
    if (status == CLS_OK) status = cls_simulator_start(sim, 0, e->start, error);
    for (int k = 0; k <= most_judged(e) && status == CLS_OK; k++) {
        status = cls_simulator_row(sim, row, error);
        if (status == CLS_OK) status = cls_table_append(t, row, error);
        if (status == CLS_OK && cls_simulator_advance(sim, 1, NULL) != CLS_OK) break;
    }
    cls_simulator_free(&sim);
    free(row);
    free(zeros);
    return status;
}

static void append_verdict(clsi_text *out, const cls_audit *a) {
    size_t laws = 0, broken = 0;
    clsi_text_append(out, "| | law | value | limit | |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < cls_audit_count(a); i++) {
        const cls_law *l = cls_audit_law(a, i);
        laws += !l->finding;
        broken += !l->passed;
        clsi_text_printf(out, "| %s | %s | %.3g | %.3g | %s |\n",
                         l->passed ? l->finding ? "--" : "ok" : "FAIL", l->name, l->value, l->limit,
                         l->text);
    }
    if (broken)
        clsi_text_printf(out, "\n**%zu of %zu laws are broken.**\n", broken, laws);
    else
        clsi_text_printf(out, "\nAll %zu laws hold.\n", laws);
}

/* The audit of a motion from the default start. What cannot be judged is said. */
static void append_audit(clsi_text *out, const clsi_export *e) {
    const char **columns = clsi_calloc(e->n_columns, sizeof *columns);
    cls_table *t = NULL;
    cls_audit *audit = NULL;
    cls_error error = {0};
    for (size_t k = 0; columns && k < e->n_columns; k++) columns[k] = e->columns[k].name;
    cls_status status =
        columns ? cls_table_create(e->n_columns, columns, &t, &error) : clsi_no_memory(&error);
    if (status == CLS_OK) status = make_rows(e, t, &error);
    if (status == CLS_OK) status = cls_audit_trajectory(e->s, t, NULL, &audit, &error);
    clsi_text_printf(out,
                     "\n## Audit\n\nThe judge, which shares no code with the step, on %zu rows of "
                     "%g from the default start%s:\n\n",
                     t ? cls_table_rows(t) : 0, e->sp->options.h,
                     e->n_inputs ? ", inputs at 0" : "");
    if (status == CLS_OK)
        append_verdict(out, audit);
    else if (status == CLS_MEMORY)
        out->failed = 1;
    else
        clsi_text_printf(out, "no verdict: %s\n", error.message);
    cls_audit_free(&audit);
    cls_table_free(&t);
    free(columns);
}

static void append_laws(clsi_text *out, const clsi_export *e) {
    const cls_scheme_info *info = &e->sp->scheme->info;
    clsi_text_printf(out, "\n## The step\n\nScheme `%s`: %s, order %d, %s. Keeps exactly: %s.\n\n",
                     info->name, info->doc, info->order, info->implicit ? "implicit" : "explicit",
                     info->keeps[0] ? info->keeps : "nothing");
    clsi_text_printf(
        out,
        "Tried here over %llu steps of %g from the default start%s: relative energy error "
        "%.2g, %llu steps in which the entropy fell",
        (unsigned long long)e->tried_steps, e->sp->options.h, e->n_inputs ? ", inputs at 0" : "",
        e->energy_error, (unsigned long long)e->entropy_falls);
    if (e->sp->n_unknowns)
        clsi_text_printf(out,
                         ", at most %d iterations of Newton's method in a solve (the limit is %d)",
                         e->worst_iterations, e->sp->options.max_iterations);
    if (e->sp->n_unknowns || clsi_export_is_lawful(e))
        clsi_text_printf(out, ", halvings of a step at most %d (limit %d)", e->deepest_halving,
                         e->sp->options.max_halvings);
    clsi_text_append(out, ".\n");
    if (e->refused[0])
        clsi_text_printf(out, "\nThen a step was refused: %s.%s\n", e->refused,
                         e->n_inputs ? " Inputs are 0 until they are set: give them values before "
                                       "the first step."
                                     : "");
}

static void append_value(clsi_text *out, const double *values, size_t first, size_t stride,
                         size_t count) {
    int same = 1;
    for (size_t k = 1; k < count; k++)
        same &= !memcmp(&values[first], &values[first + k * stride], sizeof *values);
    clsi_text_printf(out, same ? "%.17g" : "%.17g, ...", values[first]);
    clsi_text_append(out, " | ");
}

/* A row for each name, of a large model for each array; with values unless there are none. */
static void append_rows(clsi_text *out, const clsi_export *e, const char *kind, size_t n,
                        const clsi_label *labels, const double *values) {
    clsi_ranges r = {0};
    for (size_t k = 0; k < n && !e->runs; k++) {
        clsi_text_printf(out, "| %s | `%s_%s_%s` | ", labels[k].name, e->upper, kind,
                         labels[k].ident);
        if (values) append_value(out, values, k, 1, 1);
        clsi_text_printf(out, "%s |\n", labels[k].unit ? labels[k].unit : "");
    }
    if (e->runs && !clsi_ranges_find(n, labels, &r)) out->failed = 1;
    for (size_t k = 0; k < r.n; k++) {
        const clsi_range *x = &r.list[k];
        clsi_text_append(out, "| ");
        clsi_append_range(out, x);
        clsi_text_append(out, " | `");
        clsi_append_range_use(out, e, kind, x);
        clsi_text_append(out, "` | ");
        if (values) append_value(out, values, x->first, x->stride, x->count);
        clsi_text_printf(out, "%s |\n", x->unit ? x->unit : "");
    }
    clsi_ranges_clear(&r);
}

/* The first name of a kind, as a program has it. */
static void append_first(clsi_text *out, const clsi_export *e, const char *kind, size_t n,
                         const clsi_label *labels) {
    clsi_ranges r = {0};
    if (!e->runs)
        clsi_text_printf(out, "%s_%s_%s", e->upper, kind, labels[0].ident);
    else if (clsi_ranges_find(n, labels, &r))
        clsi_append_range_use(out, e, kind, &r.list[0]);
    else
        out->failed = 1;
    clsi_ranges_clear(&r);
}

static void append_names(clsi_text *out, const clsi_export *e) {
    clsi_text_append(out, "\n## Names\n\n| column | in C | unit |\n|---|---|---|\n");
    append_rows(out, e, "COLUMN", e->n_columns, e->columns, NULL);
    if (e->n_inputs)
        clsi_text_append(
            out, "\nInputs, 0 until they are set:\n\n| input | in C | unit |\n|---|---|---|\n");
    append_rows(out, e, "INPUT", e->n_inputs, e->inputs, NULL);
    if (e->n_parameters)
        clsi_text_append(out, "\nParameters that may change, with the values they have here (what "
                              "runs then agrees with `clausius simulate --set` to round-off):\n\n"
                              "| parameter | in C | value | unit |\n|---|---|---|---|\n");
    append_rows(out, e, "PARAMETER", e->n_parameters, e->parameters, e->parameter_value);
}

/* What a program does with it, with the names of this model. */
static void append_program(clsi_text *out, const clsi_export *e) {
    clsi_append_template(out, e,
                         "In a program of your own:\n\n"
                         "    $ m; /* one motion; copy it to keep it, assign it to go back */\n"
                         "    double row[$$_COLUMNS];\n    $_defaults(&m);\n");
    if (e->n_inputs) {
        clsi_text_printf(out, "    %s_set_input(&m, ", e->prefix);
        append_first(out, e, "INPUT", e->n_inputs, e->inputs);
        clsi_text_append(out, ", 1.0); /* it stays until it gets another; at any time */\n");
    }
    clsi_append_template(
        out, e,
        "    for (int k = 0; k < 1000; k++) {\n"
        "        $_status status = $_step(&m, m.h);\n"
        "        if (status != $$_OK) return puts($_reason(status)); /* m is where it was */\n"
        "    }\n    $_row(&m, row); /* row[$$_COLUMN_...], see Names */\n\n"
        "`$_start_at(&m, time, n, columns, values)` begins with what is known, T or S, v or p; the "
        "others are as in the default start. `$_step` takes any h,\n"
        "the same or another one each time. Refused means a status that is not $$_OK: after a step "
        "go on (with a smaller h, another input); after a start\n"
        "or a parameter start again.\n");
    if (!e->n_parameters) return;
    clsi_text_printf(out, "`%s_set_parameter(&m, ", e->prefix);
    append_first(out, e, "PARAMETER", e->n_parameters, e->parameters);
    clsi_text_printf(out,
                     ", value)` changes a parameter of a motion; `%s_energy_error` counts from "
                     "there.\n",
                     e->prefix);
}

enum { LONG_LINE = 240 };

/* Of a large model lines are cut: an energy of thousands of terms says nothing more by its hundredth. */
static void append_about(clsi_text *out, const clsi_export *e, const char *about) {
    while (*about) {
        size_t n = strcspn(about, "\n"), cut = n;
        if (e->runs && n > LONG_LINE)
            for (cut = LONG_LINE; cut > LONG_LINE / 2 && about[cut] != ' ';) cut--;
        clsi_text_append_n(out, about, cut);
        clsi_text_append(out, cut < n ? " ...\n" : about[n] ? "\n" : "");
        about += n + (about[n] != 0);
    }
}

cls_status clsi_export_readme(const clsi_export *e, int fmu, clsi_text *out, cls_error *error) {
    char *about = NULL;
    cls_status status = e->model ? cls_model_show(e->model, &about, error)
                                 : cls_system_show(e->s, CLS_SHOW_SUMMARY, &about, error);
    if (status != CLS_OK) return status;
    clsi_text_printf(out, "# %s\n\n%s\n\nWritten by clausius %s from `%s`", e->prefix,
                     cls_system_title(e->s), cls_version(), e->source);
    if (e->options.set) clsi_text_printf(out, " with `--set \"%s\"`", e->options.set);
    clsi_text_append(out, ".\n\n");
    if (fmu)
        clsi_append_template(
            out, e,
            "A functional mock-up unit: model exchange and co-simulation, binaries for the "
            "platforms "
            "below, and the sources they were compiled from. Any importer of FMI runs it, for "
            "example\n\n    fmpy simulate $.fmu --show-plot\n\n"
            "In co-simulation a communication step is taken as whole steps of the scheme: both "
            "laws "
            "hold. In model exchange the importer's solver decides; ask it for a tolerance of 1e-8 "
            "or less.\n");
    else
        clsi_append_template(
            out, e,
            "    cmake -B build && cmake --build build && build/$_main 1000 > $.csv\n"
            "    clausius audit $.csv\n\nor, without CMake,\n\n"
            "    cc -std=c99 -O3 -ffp-contract=off -fno-math-errno $.c main.c -lm -o $_main\n\n"
            "`$.h` says what there is to call. All state is one `$`; nothing is allocated, printed "
            "or "
            "kept elsewhere.\nCompiled without fused multiply-add and fast-math, on the same libm, "
            "every "
            "number has the bits that `clausius simulate` has.\n\n");
    if (!fmu) append_program(out, e);
    clsi_text_append(out, "\n## What it is\n\n```text\n");
    append_about(out, e, about);
    clsi_text_append(out, "```\n");
    cls_text_free(&about);
    append_laws(out, e);
    append_audit(out, e);
    append_names(out, e);
    return out->failed ? clsi_no_memory(error) : CLS_OK;
}
