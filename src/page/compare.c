/* Measured and simulated: of many trajectories the worst, the median and the best are drawn, of their
 * channels those of the state; what follows from them (momenta beside velocities, entropies beside
 * temperatures) stands in <details>, for the worst only. Then the scores beside the trivial model. */
#include "base/locale.h"
#include "page/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const char clsi_page_zoom[];

enum { MOST_SUBJECTS = 6, MOST_DRAWN = 3, MOST_CHANNELS = 6, MOST_DERIVED = 6 };

typedef struct work {
    clsi_text *t;
    size_t n;
    const clsi_subject *subjects;
    const clsi_subject *first; /* that has channels */
    int bands;                 /* some are drawn */
} work;

static const double *column(const cls_table *t, const char *word) {
    int k = t ? cls_table_find(t, word) : -1;
    return k < 0 ? NULL : cls_table_column(t, (size_t)k);
}

/* ---- which trajectories ---- */

static int by_error(const void *a, const void *b) {
    const clsi_trial *x = *(const clsi_trial *const *)a, *y = *(const clsi_trial *const *)b;
    if (x->error != y->error) return x->error > y->error ? -1 : 1; /* the worst first */
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The numbers (in `trials`) of those that are drawn, the worst first. */
static size_t choose(const clsi_subject *s, size_t drawn[MOST_DRAWN], cls_status *status) {
    const clsi_trial **list = clsi_calloc(s->n_trials + 1, sizeof *list);
    size_t n = s->n_trials < MOST_DRAWN ? s->n_trials : MOST_DRAWN;
    if (!list) {
        *status = CLS_MEMORY;
        return 0;
    }
    for (size_t i = 0; i < s->n_trials; i++) list[i] = &s->trials[i];
    qsort(list, s->n_trials, sizeof *list, by_error);
    for (size_t i = 0; i < n; i++)
        drawn[i] = (size_t)(list[n < 2 ? 0 : i * (s->n_trials - 1) / (n - 1)] - s->trials);
    free(list);
    return n;
}

/* ---- the pictures ---- */

static const char *origin(const clsi_trial *t) {
    if (t->learned < 0) return "";
    if (!t->learned) return "test: not learned from";
    return isnan(t->held_from) ? "train: learned from" : "train, then (darker ground) test";
}

static int is_own(const clsi_subject *s, const char *name) {
    for (size_t c = 0; c < s->n_channels; c++)
        if (!strcmp(s->channels[c].name, name)) return s->channels[c].own;
    return 0;
}

static void one_panel(work *w, const clsi_channel *ch, size_t trial, const double *low,
                      const double *high) {
    const clsi_trial *t = &w->first->trials[trial];
    const double *time = column(t->data, "time"), *y = column(t->data, ch->name);
    clsi_series lines[MOST_SUBJECTS];
    size_t n = 0;
    char unit[64] = "", note[64] = "";
    if (!time || !y) return; /* another file than the first, without this channel */
    for (size_t i = 0; i < w->n && n < MOST_SUBJECTS; i++) {
        const clsi_subject *s = &w->subjects[i];
        const cls_table *run = trial < s->n_trials ? s->trials[trial].run : NULL;
        if (!column(run, ch->name) || !cls_table_rows(run) || is_own(s, ch->name)) continue;
        static const int styles[MOST_SUBJECTS] = {0, 2, 3, 4, 5, 2}; /* 1 is the measured one's */
        lines[n] = (clsi_series){w->n > 1 ? s->given->name : "simulated",
                                 CLSI_LINE,
                                 cls_table_rows(run),
                                 column(run, "time"),
                                 column(run, ch->name),
                                 styles[i % MOST_SUBJECTS]};
        n++;
    }
    double sum = 0;
    size_t rows = n ? lines[0].n < t->rows ? lines[0].n : t->rows : 0, counted = 0;
    for (size_t k = 1; k < rows; k++) {
        double off = y[t->first + k] - lines[0].y[k];
        if (isfinite(off)) sum += off * off, counted++;
    }
    if (counted) clsi_snprintf(note, sizeof note, "RMSE %.3g", sqrt(sum / (double)counted));
    cls_system_unit(w->first->system, ch->name, unit);
    clsi_panel p = {.title = ch->name,
                    .unit = unit,
                    .note = *note ? note : NULL,
                    .n = t->rows,
                    .time = time + t->first,
                    .y = y + t->first,
                    .n_lines = n,
                    .lines = lines,
                    .low = low,
                    .high = high,
                    .held_from = t->held_from};
    clsi_panel_write(w->t, &p);
}

/* The panels of a trajectory, derived channels or the others. */
static size_t panels(work *w, size_t trial, int derived, const double *low, const double *high) {
    const clsi_subject *s = w->first;
    size_t drawn = 0, most = derived ? MOST_DERIVED : MOST_CHANNELS;
    for (size_t c = 0; c < s->n_channels; c++) {
        if (clsi_is_derived(s, s->channels[c].name) != derived || drawn >= most ||
            s->channels[c].own)
            continue;
        size_t k = 0, columns = cls_system_column_count(s->system), rows = s->trials[trial].rows;
        while (k < columns && strcmp(cls_system_column(s->system, k), s->channels[c].name)) k++;
        one_panel(w, &s->channels[c], trial, low && k < columns ? low + k * rows : NULL,
                  high && k < columns ? high + k * rows : NULL);
        drawn++;
    }
    return drawn;
}

static void trial_heading(work *w, size_t trial, const char *rank) {
    const clsi_trial *t = &w->first->trials[trial];
    clsi_text_printf(w->t, "<h3>Trajectory %zu", t->number + 1);
    if (*rank) clsi_text_printf(w->t, ", %s", rank);
    if (*origin(t)) clsi_text_printf(w->t, " <span class=\"tag\">%s</span>", origin(t));
    clsi_text_append(w->t, "</h3>\n<p class=\"soft\">");
    clsi_html(w->t, t->file, CLSI_HTML_NAME);
    clsi_text_printf(w->t, ", %zu rows", t->rows);
    if (isfinite(t->error))
        clsi_text_printf(w->t, ", error %.3g of the spread of the data", t->error);
    clsi_text_append(w->t, ".</p>\n");
    for (size_t i = 0; i < w->n; i++) {
        const clsi_subject *s = &w->subjects[i];
        if (trial >= s->n_trials || !s->trials[trial].why.message[0]) continue;
        clsi_text_append(w->t, "<p class=\"warn\">");
        clsi_html(w->t, s->given->name, CLSI_HTML_NAME);
        clsi_text_append(w->t, ": ");
        clsi_html(w->t, s->trials[trial].why.message, 1000);
        clsi_text_append(w->t, "</p>\n");
    }
}

static cls_status one_trial(work *w, size_t trial, const char *rank, int derived,
                            cls_error *error) {
    double *low = NULL, *high = NULL;
    cls_status status = CLS_OK;
    trial_heading(w, trial, rank);
    if (w->n == 1)
        status = clsi_trial_bands(w->first, &w->first->trials[trial], &low, &high, error);
    w->bands |= low != NULL;
    clsi_text_append(w->t, "<div class=\"grid\">\n");
    panels(w, trial, 0, low, high);
    clsi_text_append(w->t, "</div>\n");
    size_t before = w->t->length;
    if (derived) {
        clsi_text_append(w->t, "<details><summary>Channels that follow from these: momenta, "
                               "entropies</summary><div class=\"grid\">\n");
        if (panels(w, trial, 1, low, high))
            clsi_text_append(w->t, "</div></details>\n");
        else if (!w->t->failed)
            w->t->data[w->t->length = before] = 0;
    }
    free(low), free(high);
    return status;
}

static void key(work *w) {
    static const char *const words[] = {
        "solid line", "", "dotted line", "dash-dotted line", "long dashes", "fine dots"};
    static const int styles[] = {0, 2, 3, 4, 5, 2};
    clsi_text_append(w->t, "<ul class=\"key\"><li><span class=\"k1\">●</span> dots: measured</li>");
    for (size_t i = 0; i < w->n && i < MOST_SUBJECTS; i++) {
        clsi_text_printf(w->t, "<li><span class=\"k%d\">━</span> %s: ", styles[i],
                         words[styles[i]]);
        clsi_html(w->t, w->n > 1 ? w->subjects[i].given->name : "simulated, free run",
                  CLSI_HTML_NAME);
        clsi_text_append(w->t, "</li>");
    }
    clsi_text_append(w->t,
                     "<li><span class=\"k5\">●</span> below: measured minus simulated</li></ul>\n");
}

/* Two sliders for the window in time, of all panels at once; shown by the script only. */
static void zoom(work *w) {
    clsi_text_append(
        w->t, "<div id=\"zoom\" class=\"zoom\" role=\"group\" aria-label=\"time shown\" hidden>"
              "<label>from <input type=\"range\" min=\"0\" max=\"990\" value=\"0\"> "
              "<output></output></label> "
              "<label>to <input type=\"range\" min=\"10\" max=\"1000\" value=\"1000\"> "
              "<output></output></label> <button type=\"button\">All</button></div>\n");
}

static void how_many(work *w, size_t n) {
    const clsi_subject *s = w->first;
    size_t plain = 0;
    for (size_t c = 0; c < s->n_channels; c++) plain += !clsi_is_derived(s, s->channels[c].name);
    if (plain > MOST_CHANNELS)
        clsi_text_printf(w->t,
                         "<p>%d of %zu channels are drawn; the table of scores has all.</p>\n",
                         MOST_CHANNELS, plain);
    if (n < s->n_found)
        clsi_text_printf(w->t,
                         "<p>%zu of %zu trajectories are drawn: the worst, the median and the best "
                         "of %zu that were followed%s.</p>\n",
                         n, s->n_found, s->n_trials,
                         s->n_trials < s->n_found ? ", spread evenly over the data" : "");
    if (w->bands)
        clsi_text_append(w->t, "<p>The band about a line: 90 % of the runs with parameters that "
                               "the data allow. The noise of the measurements is not in it.</p>\n");
}

static cls_status pictures(work *w, int script, cls_error *error) {
    size_t drawn[MOST_DRAWN];
    static const char *const ranks[] = {"the worst", "the median", "the best"};
    cls_status status = CLS_OK;
    clsi_text_append(w->t, "<section id=\"measured\" aria-labelledby=\"measured-h\"><h2 "
                           "id=\"measured-h\">Measured and simulated</h2>\n<p>Each free run begins "
                           "at the first row of a trajectory and sees nothing "
                           "of the rest but the inputs. Dots and lines of long trajectories are "
                           "thinned for drawing; the extremes are kept.</p>\n");
    key(w);
    if (script) zoom(w);
    size_t n = choose(w->first, drawn, &status);
    if (status) return clsi_no_memory(error);
    for (size_t i = 0; i < n && !status; i++)
        status = one_trial(w, drawn[i],
                           n < 2         ? ""
                           : n == 2 && i ? ranks[2]
                                         : ranks[i],
                           i == 0, error);
    how_many(w, n);
    if (script) {
        clsi_text_append(w->t, "<script>\n");
        clsi_text_append(w->t, clsi_page_zoom);
        clsi_text_append(w->t, "</script>\n");
    }
    clsi_text_append(w->t, "</section>\n");
    return status;
}

/* ---- the scores ---- */

enum { MOST_SCORES = 40 }; /* in sight; of arrays there may be thousands */

static void scores(work *w) {
    const clsi_subject *first = w->first;
    clsi_text *t = w->t;
    int own = 0;
    clsi_text_append(t, "<section id=\"scores\" aria-labelledby=\"scores-h\"><h2 "
                        "id=\"scores-h\">Scores beside the trivial models</h2>\n"
                        "<p>Free runs over the data of this page; the trivial models are that the "
                        "first value stays, and the mean of each channel.</p>\n");
    int many = first->n_channels > MOST_SCORES;
    if (many)
        clsi_text_printf(t, "<details><summary>The scores of all %zu channels</summary>\n",
                         first->n_channels);
    clsi_text_append(t, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                        "aria-label=\"scores\"><table><thead><tr><th scope=\"col\">channel</th>");
    for (size_t i = 0; i < w->n; i++) {
        clsi_text_append(t, "<th scope=\"col\" class=\"n\">RMSE, ");
        clsi_html(t, w->subjects[i].given->name, CLSI_HTML_NAME);
        clsi_text_append(t, "</th>");
    }
    clsi_text_append(t, "<th scope=\"col\" class=\"n\">first value stays</th><th scope=\"col\" "
                        "class=\"n\">mean (the spread of the data)</th></tr></thead><tbody>\n");
    for (size_t c = 0; c < first->n_channels; c++) {
        clsi_text_append(t, "<tr><th scope=\"row\">");
        clsi_html(t, first->channels[c].name, CLSI_HTML_NAME);
        clsi_text_append(t, "</th>");
        for (size_t i = 0; i < w->n; i++) {
            double rmse = c < w->subjects[i].n_channels ? w->subjects[i].channels[c].rmse : NAN;
            if (c < w->subjects[i].n_channels && w->subjects[i].channels[c].own) {
                clsi_text_append(t, "<td class=\"n\">has an origin of its own</td>");
                own = 1;
            } else if (isfinite(rmse))
                clsi_text_printf(t, "<td class=\"n\">%.4g</td>", rmse);
            else
                clsi_text_append(t, "<td class=\"n broken\">does not run to the end</td>");
        }
        clsi_text_printf(t, "<td class=\"n\">%.4g</td><td class=\"n\">%.4g</td></tr>\n",
                         first->channels[c].persistence, first->channels[c].spread);
    }
    clsi_text_append(t, "</tbody></table></div>\n");
    if (many) clsi_text_append(t, "</details>\n");
    if (own)
        clsi_text_append(t, "<p class=\"soft\">Momenta and entropies of a learned energy begin "
                            "where the model chose, which no measurement tells: they are not "
                            "compared.</p>\n");
    for (size_t i = 0; i < w->n; i++) clsi_found_scores(t, &w->subjects[i]);
    clsi_text_append(t, "</section>\n");
}

cls_status clsi_compare(clsi_text *t, size_t n, const clsi_subject *subjects, int script,
                        cls_error *error) {
    work w = {t, n, subjects, subjects, 0};
    if (!subjects->n_channels) return CLS_OK;
    cls_status status = pictures(&w, script, error);
    if (!status) scores(&w);
    return status;
}
