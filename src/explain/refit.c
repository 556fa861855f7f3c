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

cls_status clsi_formulas_refit(cls_formulas *f, const cls_formulas_options *o, cls_error *error) {
    cls_learn_options learn = cls_learn_defaults();
    cls_learn_info info = {0};
    cls_system *open = NULL;
    cls_model *fitted = NULL;
    char *text = NULL;
    learn.seed = o->seed;
    cls_status status = clsi_formulas_rewrite(f, 1, &text, error);
    if (status == CLS_OK) status = cls_system_parse(text, f->model->name, NULL, &open, error);
    if (status == CLS_OK)
        status =
            cls_learn(open, NULL, o->n_tables, o->tables, o->names, &learn, &fitted, &info, error);
    if (status == CLS_OK && info.report) {
        take(f, info.report);
        f->refitted = 1;
        if (info.report->notes && *info.report->notes) {
            f->notes = clsi_strdup(info.report->notes);
            if (!f->notes) status = clsi_no_memory(error);
        }
    }
    cls_learn_report_free(&info.report);
    cls_model_free(&fitted);
    cls_system_free(&open);
    cls_text_free(&text);
    return status;
}
