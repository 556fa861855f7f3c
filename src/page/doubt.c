/* Bands: the run of a trial with parameters that the data allow as well as those of the model
 * (cls_model_member). Between the quantiles 90 % of them lie. All begin at the same measured values;
 * the noise of measurements is not in the bands. */
#include "model/model.h"
#include "page/page.h"
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 50, FEWEST = 20, MOST_WORK = 200000 };

/* The run of a member; NULL: it cannot be simulated. */
static cls_status run_member(const cls_model *m, uint64_t number, const clsi_trial *trial,
                             cls_table **run, cls_error *error) {
    size_t n = cls_model_doubt_count(m);
    cls_model copy = *m; /* shares all but its numbers and its system */
    const char **names = clsi_calloc(n + 1, sizeof *names);
    double *values = clsi_calloc(n + 1, sizeof *values);
    cls_starter *starter = NULL;
    clsi_trial again = *trial;
    cls_status status = names && values ? CLS_OK : clsi_no_memory(error);
    copy.system = NULL;
    copy.set_values = clsi_calloc(m->n_set + 1, sizeof *copy.set_values);
    if (!copy.set_values) status = clsi_no_memory(error);
    again.run = NULL;
    if (!status) status = cls_model_member(m, number, names, values, error);
    if (!status) memcpy(copy.set_values, m->set_values, m->n_set * sizeof *m->set_values);
    for (size_t i = 0; i < n && !status; i++)
        for (size_t k = 0; k < m->n_set; k++)
            if (!strcmp(m->set_names[k], names[i])) copy.set_values[k] = values[i];
    if (!status) status = clsi_model_build(&copy, error);
    if (!status) status = cls_starter_create(NULL, &copy, &starter, error);
    if (!status) status = clsi_trial_follow(copy.system, starter, &again, error);
    *run = again.run;
    if (*run && cls_table_rows(*run) < trial->rows) cls_table_free(run);
    cls_starter_free(&starter);
    cls_system_free(&copy.system);
    free(names), free(values), free(copy.set_values);
    return status == CLS_MEMORY ? status : CLS_OK;
}

static void quantiles(size_t n, cls_table *const *runs, size_t columns, size_t rows, double *low,
                      double *high) {
    double sorted[DRAWS];
    for (size_t c = 0; c < columns; c++)
        for (size_t k = 0; k < rows; k++) {
            for (size_t i = 0; i < n; i++) sorted[i] = cls_table_column(runs[i], c)[k];
            clsi_sort(n, sorted);
            low[c * rows + k] = clsi_quantile(n, sorted, 0.05);
            high[c * rows + k] = clsi_quantile(n, sorted, 0.95);
        }
}

cls_status clsi_trial_bands(const clsi_subject *s, const clsi_trial *trial, double **low,
                            double **high, cls_error *error) {
    const cls_model *m = s->given->model;
    cls_table *runs[DRAWS];
    size_t columns = s->system ? cls_system_column_count(s->system) : 0, n = 0;
    *low = *high = NULL;
    if (!m || !trial->run || cls_table_rows(trial->run) < trial->rows || !cls_model_doubt_count(m))
        return CLS_OK;
    size_t wanted = MOST_WORK / trial->rows, members = cls_model_member_count(m);
    if (wanted > DRAWS) wanted = DRAWS;
    if (members && wanted > members) wanted = members;
    if (wanted < FEWEST) return CLS_OK;
    cls_status status = CLS_OK;
    for (size_t i = 0; i < wanted && !status; i++) {
        status = run_member(m, i, trial, &runs[n], error);
        if (!status && runs[n]) n++;
    }
    if (!status && 2 * n >= wanted) { /* else too unsure for bands */
        *low = clsi_calloc(columns * trial->rows, sizeof **low);
        *high = clsi_calloc(columns * trial->rows, sizeof **high);
        if (*low && *high)
            quantiles(n, runs, columns, trial->rows, *low, *high);
        else
            status = clsi_no_memory(error);
    }
    if (status) free(*low), free(*high), *low = *high = NULL;
    for (size_t i = 0; i < n; i++) cls_table_free(&runs[i]);
    return status;
}
