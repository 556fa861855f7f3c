/* The model card: what is in an export, where it comes from, what it keeps, for a person. */
#include "export/export.h"
#include <string.h>

static void append_laws(clsi_text *out, const clsi_export *e) {
    const cls_scheme_info *info = &e->sp->scheme->info;
    clsi_text_printf(out, "\n## The step\n\nScheme `%s`: %s, order %d, %s. Keeps exactly: %s.\n\n",
                     info->name, info->doc, info->order, info->implicit ? "implicit" : "explicit",
                     info->keeps[0] ? info->keeps : "nothing");
    clsi_text_printf(
        out,
        "Tried here over %llu steps of %g from the default start: relative energy error "
        "%.2g, %llu steps in which the entropy fell, at most %d iterations of Newton's "
        "method in a solve (the limit is %d), halvings of a step at most %d (limit "
        "%d).\n",
        (unsigned long long)e->tried_steps, e->sp->options.h, e->energy_error,
        (unsigned long long)e->entropy_falls, e->worst_iterations, e->sp->options.max_iterations,
        e->deepest_halving, e->sp->options.max_halvings);
}

static void append_names(clsi_text *out, const clsi_export *e) {
    clsi_text_append(out, "\n## Names\n\n| column | in C | unit |\n|---|---|---|\n");
    for (size_t k = 0; k < e->n_columns; k++)
        clsi_text_printf(out, "| %s | `%s_COLUMN_%s` | %s |\n", e->columns[k].name, e->upper,
                         e->columns[k].ident, e->columns[k].unit ? e->columns[k].unit : "");
}

cls_status clsi_export_readme(const clsi_export *e, clsi_text *out, cls_error *error) {
    char *about = NULL;
    cls_status status = e->model ? cls_model_show(e->model, &about, error)
                                 : cls_system_show(e->s, CLS_SHOW_SUMMARY, &about, error);
    if (status != CLS_OK) return status;
    clsi_text_printf(out, "# %s\n\n%s\n\nWritten by clausius %s from `%s`.\n\n", e->prefix,
                     cls_system_title(e->s), cls_version(), e->source);
    clsi_append_template(
        out, e,
        "    cmake -B build && cmake --build build && build/$_main 1000 > $.csv\n"
        "    clausius audit $.csv\n\nor, without CMake,\n\n"
        "    cc -std=c99 -O3 -ffp-contract=off -fno-math-errno $.c main.c -lm -o $_main\n\n"
        "`$.h` says what there is to call. All state is one `$`; nothing is allocated, printed or "
        "kept elsewhere.\nCompiled without fused multiply-add and fast-math, on the same libm, "
        "every "
        "number has the bits that `clausius simulate` has.\n\n## What it is\n\n```text\n");
    clsi_text_append(out, about);
    clsi_text_append(out, "```\n");
    cls_text_free(&about);
    append_laws(out, e);
    append_names(out, e);
    return out->failed ? clsi_no_memory(error) : CLS_OK;
}
