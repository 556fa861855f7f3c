/* The constants of chosen terms from the motions themselves: the rewritten system with unknown
 * parameters near their values is learned like any other (multiple shooting), which gives standard
 * errors that count the correlation of residuals (decision 46). */
#include "explain/formulas.h"
#include <clausius/learn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void take(cls_formulas *f, const cls_learn_report *r) {
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->list[i].n_terms; k++) {
            cls_formula_term *term = (cls_formula_term *)&f->list[i].terms[k];
            for (size_t p = 0; p < r->n_parameters; p++)
                if (!strcmp(r->parameters[p].name, term->name)) {
                    term->value = r->parameters[p].value;
                    term->error = r->parameters[p].error;
                }
        }
}

/* Energies and entropies have origins of their own in what was learned: a file that has them, of another
 * system and without noise, would outweigh the motions. */
static cls_status without_totals(const cls_table *t, cls_table **out, cls_error *error) {
    size_t n = 0, all = cls_table_columns(t);
    const char **names = clsi_calloc(all + 1, sizeof *names);
    size_t *column = clsi_calloc(all + 1, sizeof *column);
    double *row = clsi_calloc(all + 1, sizeof *row);
    cls_status status = names && column && row ? CLS_OK : clsi_no_memory(error);
    for (size_t c = 0; c < all && status == CLS_OK; c++) {
        const char *name = cls_table_name(t, c);
        if (!strncmp(name, "energy", 6) || !strncmp(name, "entropy", 7)) continue;
        names[n] = name;
        column[n++] = c;
    }
    if (status == CLS_OK) status = cls_table_create(n, names, out, error);
    for (size_t r = 0; r < cls_table_rows(t) && status == CLS_OK; r++) {
        for (size_t c = 0; c < n; c++) row[c] = cls_table_column(t, column[c])[r];
        status = cls_table_append(*out, row, error);
    }
    free(names);
    free(column);
    free(row);
    return status;
}

cls_status clsi_formulas_refit(cls_formulas *f, const cls_formulas_options *o, cls_error *error) {
    cls_learn_options learn = cls_learn_defaults();
    cls_learn_info info = {0};
    cls_system *open = NULL;
    cls_model *fitted = NULL;
    char *text = NULL;
    learn.seed = o->seed;
    cls_table **motions = clsi_calloc(o->n_tables + 1, sizeof *motions);
    cls_status status = motions ? clsi_formulas_rewrite(f, 1, &text, error) : clsi_no_memory(error);
    for (size_t i = 0; i < o->n_tables && status == CLS_OK; i++)
        status = without_totals(o->tables[i], &motions[i], error);
    if (status == CLS_OK) status = cls_system_parse(text, f->model->name, NULL, &open, error);
    if (status == CLS_OK)
        status = cls_learn(open, NULL, o->n_tables, (const cls_table *const *)motions, o->names,
                           &learn, &fitted, &info, error);
    if (status == CLS_OK && info.report) {
        take(f, info.report);
        f->refitted = 1;
        if (info.report->notes && *info.report->notes) {
            f->notes = clsi_strdup(info.report->notes);
            if (!f->notes) status = clsi_no_memory(error);
        }
    }
    for (size_t i = 0; motions && i < o->n_tables; i++) cls_table_free(&motions[i]);
    free(motions);
    cls_learn_report_free(&info.report);
    cls_model_free(&fitted);
    cls_system_free(&open);
    cls_text_free(&text);
    return status;
}
