/* Rows kept back from a fit of the residual: whole trajectories where there are five or more, else the
 * end of each; or files named for it. The residual sees the others only; the model is then simulated and
 * scored on these like any other (score.c). */
#include "base/base.h"
#include "data/table.h"
#include "learn/learner.h"
#include "learn/recording/measured.h"
#include "learn/shooting/multiple.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE = 5 };

/* Does row r go on with the motion of the row before? */
static int goes_on(const cls_table *t, size_t r) {
    int group = cls_table_find(t, "trajectory"), time = clsi_table_time(t);
    const double *g = group < 0 ? NULL : cls_table_column(t, (size_t)group);
    const double *at = time < 0 ? NULL : cls_table_column(t, (size_t)time);
    return r && (g ? g[r] == g[r - 1] : !at || at[r] > at[r - 1]);
}

static size_t count_motions(const cls_table *t) {
    size_t n = 0;
    for (size_t r = 0; r < cls_table_rows(t); r++) n += !goes_on(t, r);
    return n;
}

/* The rows of t to learn from; motions from `limit` on are kept back whole (they are counted in *number),
 * of the others all rows but `test` of them at their ends. */
static cls_status cut_table(const cls_table *t, double test, size_t limit, size_t *number,
                            cls_table **out, cls_error *error) {
    size_t n = cls_table_columns(t), rows = cls_table_rows(t);
    const char **names = clsi_calloc(n, sizeof *names);
    double *row = clsi_calloc(n, sizeof *row);
    cls_status status = names && row ? CLS_OK : clsi_no_memory(error);
    for (size_t c = 0; c < n && status == CLS_OK; c++) names[c] = cls_table_name(t, c);
    if (status == CLS_OK) status = cls_table_create(n, names, out, error);
    for (size_t r = 0, end; r < rows && status == CLS_OK; r = end, ++*number) {
        for (end = r + 1; end < rows && goes_on(t, end);) end++;
        size_t keep = r + (size_t)floor((1 - test) * (double)(end - r) + 0.5);
        if (*number >= limit) keep = r;
        for (size_t k = r; k < keep && status == CLS_OK; k++) {
            for (size_t c = 0; c < n; c++) row[c] = cls_table_column(t, c)[k];
            status = cls_table_append(*out, row, error);
        }
    }
    free(names);
    free(row);
    return status;
}

cls_status clsi_held_create(size_t n_tables, const cls_table *const *tables,
                            const cls_learn_options *o, cls_table ***out, cls_error *error) {
    size_t motions = 0, number = 0, learn_from = n_tables - o->n_test, limit = SIZE_MAX;
    *out = clsi_calloc(n_tables + 1, sizeof **out);
    if (!*out) return clsi_no_memory(error);
    for (size_t i = 0; i < n_tables; i++) motions += count_motions(tables[i]);
    double test = o->n_test ? 0 : o->test;
    if (test > 0 && motions >= WHOLE) {
        limit = motions - (size_t)ceil(test * (double)motions - 1e-9);
        test = 0;
    }
    cls_status status = CLS_OK;
    for (size_t i = 0; i < n_tables && status == CLS_OK; i++)
        status = cut_table(tables[i], test, i < learn_from ? limit : 0, &number, &(*out)[i], error);
    return status;
}

void clsi_held_free(size_t n_tables, cls_table ***held) {
    for (size_t i = 0; *held && i < n_tables; i++) cls_table_free(&(*held)[i]);
    free(*held);
    *held = NULL;
}

/* ---- the score ---- */

cls_status clsi_multiple_of(const cls_system *s, const clsi_recording *d, clsi_multiple **out,
                            cls_error *error) {
    double most;
    clsi_observer *observer = NULL;
    const char **channel = clsi_calloc(d->ny + 1, sizeof *channel);
    if (!channel) return clsi_no_memory(error);
    for (size_t c = 0; c < d->ny; c++) channel[c] = d->channel[c].name;
    const char *scheme = clsi_measured_steps(s, d, NULL, &most);
    cls_status status = clsi_observer_create(s, scheme, 0, NULL, d->ny, channel, &observer, error);
    if (status == CLS_OK) {
        observer->most_step = most;
        status = clsi_multiple_create(d, s, observer, NULL, NULL, out, error);
    }
    for (size_t c = 0; c < d->ny && status == CLS_OK; c++)
        (*out)->sigma[c] = fmax(fmax(d->channel[c].noise, d->channel[c].floor), 1e-300);
    free(channel);
    return status;
}

/* Scores into the report of the residual, which has none yet. */
static void take_scores(cls_learn_report *from, cls_learn_report *to) {
    to->n_channels = from->n_channels;
    to->channels = from->channels;
    to->n_horizons = from->n_horizons;
    memcpy(to->horizon, from->horizon, sizeof to->horizon);
    to->time_scale = from->time_scale;
    to->better = from->better;
    from->n_channels = 0;
    from->channels = NULL;
}

cls_status clsi_held_score(clsi_learner *w, const cls_system *model, size_t n_tables,
                           const cls_table *const *tables, const char *const *names) {
    const cls_learn_options *o = w->o;
    clsi_recording *d = NULL;
    clsi_multiple *m = NULL;
    cls_learn_report *scores = NULL;
    clsi_text notes = {0};
    cls_status status = clsi_recording_create(model, n_tables, tables, names, o->test, o->average,
                                              o->hold, o->n_test, &d, w->error);
    char *choice = clsi_strdup("");
    if (status == CLS_OK)
        status = clsi_report_create(d, o, 0, choice, &scores, w->error), choice = NULL;
    if (status == CLS_OK) status = clsi_multiple_of(model, d, &m, w->error);
    if (status == CLS_OK) status = clsi_score(m, NULL, NULL, scores, &notes, w->error);
    if (status == CLS_OK) {
        w->split = clsi_recording_split(d);
        take_scores(scores, w->info->report);
        if (notes.length) {
            free(w->info->report->notes);
            w->info->report->notes = clsi_text_take(&notes);
            if (!w->info->report->notes) status = clsi_no_memory(w->error);
        }
    }
    free(choice);
    clsi_text_clear(&notes);
    cls_learn_report_free(&scores);
    clsi_multiple_free(&m);
    clsi_recording_free(&d);
    return status;
}
