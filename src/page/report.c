/* The page, section by section; docs/guide/13-report.md shows it. */
#include "base/alike.h"
#include "base/misuse.h"
#include "model/model.h"
#include "page/page.h"
#include <clausius/plot.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char clsi_page_css[];

enum { MOST_FORMULA = 4000, MOST_LINE = 300, MOST_TEXT = 20000, MOST_SET = 16, MOST_LINES = 60 };

typedef struct page {
    clsi_text t;
    size_t n;
    clsi_subject *subjects;
    const cls_report_options *o;
    size_t n_data;
    const cls_table *const *data;
    const char *const *names;
    unsigned long failures; /* of allocations, before it was begun */
} page;

cls_report_options cls_report_defaults(void) {
    return (cls_report_options){.size = sizeof(cls_report_options), .script = 1};
}

static void put(page *p, const char *s) {
    clsi_text_append(&p->t, s);
}

static void name(page *p, const char *s) {
    clsi_html(&p->t, s, CLSI_HTML_NAME);
}

static void open_section(page *p, const char *id, const char *title) {
    clsi_text_printf(&p->t, "<section id=\"%s\" aria-labelledby=\"%s-h\"><h2 id=\"%s-h\">%s</h2>\n",
                     id, id, id, title);
}

static void close_section(page *p) {
    put(p, "</section>\n");
}

/* Where several subjects stand side by side each gets a heading. */
static void heading(page *p, const clsi_subject *s) {
    if (p->n < 2) return;
    put(p, "<h3>");
    name(p, s->given->name);
    put(p, "</h3>\n");
}

/* ---- the verdict ---- */

/* A channel that stays as it is cannot be predicted better than by its first value: there round-off
 * is good enough. */
static int beats_persistence(const clsi_subject *s) {
    for (size_t i = 0; i < s->n_channels; i++) {
        const clsi_channel *c = &s->channels[i];
        if (!c->own && !(c->rmse < c->trivial) && !(c->rmse <= 1e-9 * c->size)) return 0;
    }
    return s->n_channels > 0;
}

static void verdict(page *p, const clsi_subject *s) {
    int judged = s->audit != NULL, laws = judged && cls_audit_passed(s->audit);
    int good = laws && (!s->n_channels || beats_persistence(s));
    clsi_text_printf(&p->t, "<p class=\"verdict %s\">", judged ? good ? "good" : "bad" : "");
    if (!s->system)
        put(p, "A file of numbers without a known system: shown, not judged.");
    else if (!judged)
        put(p, "The laws could not be judged.");
    else if (!laws)
        put(p, "<strong>Do not trust it:</strong> a law of physics is broken.");
    else if (s->n_channels && !beats_persistence(s))
        put(p, "<strong>Lawful, but not useful:</strong> for at least one channel, keeping the "
               "first value predicts better.");
    else if (s->n_channels)
        put(p, "<strong>Usable:</strong> it follows the measurements better than the trivial model "
               "and keeps energy and entropy as physics asks.");
    else
        put(p, "<strong>Lawful:</strong> it keeps energy and entropy as physics asks. No "
               "measurements were given to compare with.");
    put(p, "</p>\n");
}

static void trajectory_facts(page *p, const clsi_subject *s) {
    cls_time_facts f;
    clsi_text_printf(&p->t, "%zu rows of %zu columns", cls_table_rows(s->given->trajectory),
                     cls_table_columns(s->given->trajectory));
    if (!cls_table_inspect_time(s->given->trajectory, &f, NULL) && f.known)
        clsi_text_printf(&p->t, ", every %.4g from %.4g to %.4g", f.spacing, f.first, f.last);
    put(p, ". ");
    for (size_t i = 0; s->audit && i < cls_audit_count(s->audit); i++) {
        const cls_law *l = cls_audit_law(s->audit, i);
        if (strcmp(l->name, "energy")) continue;
        put(p, "The energy ");
        clsi_html(&p->t, l->text, 0);
        put(p, ". ");
    }
}

/* Channel i alone, or its whole array: how far off the worst element is. */
static void channel_fact(page *p, const clsi_subject *s, size_t i, unsigned char *told) {
    const clsi_channel *worst = &s->channels[i];
    size_t n = 0;
    double squares = 0;
    for (size_t k = i; k < s->n_channels; k++) {
        const clsi_channel *c = &s->channels[k];
        if (k != i && (c->own || !clsi_same_array(s->channels[i].name, c->name))) continue;
        n++;
        squares += c->rmse * c->rmse;
        if (!(c->rmse <= worst->rmse)) worst = c;
    }
    if (n < CLSI_ALIKE_FROM) {
        put(p, "RMSE of ");
        worst = &s->channels[i];
    } else {
        for (size_t k = i; k < s->n_channels; k++)
            told[k] |= clsi_same_array(s->channels[i].name, s->channels[k].name) != 0;
        clsi_text_printf(&p->t, "%zu elements like ", n);
        name(p, s->channels[i].name);
        clsi_text_printf(&p->t, ": RMSE %.3g in all, the worst is ", sqrt(squares / (double)n));
    }
    name(p, worst->name);
    clsi_text_printf(&p->t, " in free run %.3g (persistence %.3g, spread %.3g). ", worst->rmse,
                     worst->persistence, worst->spread);
}

static void channel_facts(page *p, const clsi_subject *s) {
    unsigned char *told = clsi_calloc(s->n_channels + 1, 1);
    if (!told) p->t.failed = 1;
    for (size_t i = 0; told && i < s->n_channels; i++)
        if (!told[i] && !s->channels[i].own) channel_fact(p, s, i, told);
    free(told);
}

static void expert(page *p, const clsi_subject *s) {
    put(p, "<p class=\"soft\">For an expert: ");
    if (s->simulated)
        clsi_text_printf(&p->t, "%llu steps of %g by %s, largest energy error %.2g (relative %.1g)",
                         (unsigned long long)s->laws.steps, s->laws.h, s->laws.scheme,
                         s->laws.energy_max_error, s->laws.energy_relative);
    if (s->simulated && clsi_has_entropy(s))
        clsi_text_printf(&p->t, ", %llu entropy falls", (unsigned long long)s->laws.entropy_falls);
    put(p, s->simulated ? ". " : "");
    if (s->given->trajectory) trajectory_facts(p, s);
    channel_facts(p, s);
    if (s->followed) {
        clsi_text_printf(&p->t, "Judged along the free run over trajectory %zu of the data. ",
                         s->trials[s->followed - 1].number + 1);
    } else if (s->stopped.message[0]) {
        put(p, "The simulation ended: ");
        clsi_html(&p->t, s->stopped.message, 1000);
    }
    if (s->unjudged.message[0]) {
        put(p, "Not judged: ");
        clsi_html(&p->t, s->unjudged.message, 1000);
    }
    put(p, "</p>\n");
}

/* ---- the laws ---- */

static void laws(page *p, const clsi_subject *s) {
    if (!s->audit) return;
    heading(p, s);
    put(p, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
           "aria-label=\"laws\"><table><thead><tr><th scope=\"col\">verdict</th><th "
           "scope=\"col\">law</th><th scope=\"col\" class=\"n\">value</th><th scope=\"col\" "
           "class=\"n\">limit</th><th scope=\"col\">what was seen</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < cls_audit_count(s->audit); i++) {
        const cls_law *l = cls_audit_law(s->audit, i);
        clsi_text_printf(&p->t, "<tr><td class=\"%s\">%s</td><td>",
                         !l->passed   ? "broken"
                         : l->finding ? "soft"
                                      : "ok",
                         !l->passed   ? "broken"
                         : l->finding ? "finding"
                                      : "holds");
        name(p, l->name);
        clsi_text_printf(
            &p->t, "</td><td class=\"n\">%.3g</td><td class=\"n\">%.3g</td><td class=\"long\">",
            l->value, l->limit);
        clsi_html(&p->t, l->text, 0);
        put(p, "</td></tr>\n");
    }
    put(p, "</tbody></table></div>\n");
}

/* ---- what was found, the system ---- */

/* What cannot be shown is left out, but a page without it for lack of memory is no page. */
static int is_there(page *p, cls_status status) {
    if (status == CLS_MEMORY) p->t.failed = 1;
    return status == CLS_OK;
}

/* The line alone is looked at: behind it there may be a book. */
static int is_refused(const char *line, const char *end) {
    static const char words[] = "expression too large to print";
    for (; end - line >= (ptrdiff_t)sizeof words - 1; line++)
        if (*line == *words && !strncmp(line, words, sizeof words - 1)) return 1;
    return 0;
}

static void equations(page *p, const cls_system *s) {
    char *latex = NULL;
    if (!is_there(p, cls_system_show(s, CLS_SHOW_EQUATIONS | CLS_SHOW_LATEX, &latex, NULL))) return;
    size_t long_ones = 0, set = 0;
    for (char *line = latex, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        if (!memchr(line, '&', (size_t)(end - line))) continue;
        if (end - line > MOST_FORMULA || set == MOST_SET || is_refused(line, end)) {
            long_ones++;
            continue;
        }
        set++;
        put(p, "<div class=\"eq\" tabindex=\"0\" role=\"group\" aria-label=\"equation\">");
        clsi_mathml(&p->t, line, (size_t)(end - line));
        put(p, "</div>\n");
    }
    if (long_ones)
        clsi_text_printf(
            &p->t,
            "<p class=\"soft\">%zu more formula%s; <code>clausius show --equations</code> prints "
            "what is too long, or too much, to be typeset here.</p>\n",
            long_ones, long_ones == 1 ? "" : "s");
    cls_text_free(&latex);
}

static void found(page *p, const clsi_subject *s) {
    char *text = NULL;
    if (!s->given->model) return;
    heading(p, s);
    clsi_found_parameters(&p->t, s);
    if (!cls_model_show(s->given->model, &text, NULL)) {
        char *end = strstr(text, "learned from\n"); /* told below */
        if (end) *end = 0;
        put(p, "<pre tabindex=\"0\">");
        clsi_html(&p->t, text, 20000);
        put(p, "</pre>\n");
    }
    cls_text_free(&text);
    clsi_learned_figures(&p->t, s);
}

static void doubts(page *p, const clsi_subject *s) {
    size_t before = p->t.length;
    heading(p, s);
    size_t opened = p->t.length;
    clsi_found_doubts(&p->t, s);
    if (p->t.length == opened && !p->t.failed && p->t.data) p->t.data[p->t.length = before] = 0;
}

/* A picture that another room writes to a file, as inline SVG. */
static void bond_graph(page *p, const cls_system *s) {
    char folder[] = "/tmp/clausius-page-XXXXXX", path[64], *svg = NULL;
    size_t length;
    if (!mkdtemp(folder)) return;
    snprintf(path, sizeof path, "%s/bonds.svg", folder);
    if (is_there(p, cls_bond_graph(s, path, NULL)) &&
        is_there(p, clsi_read_file(path, 1 << 20, &svg, &length, NULL))) {
        const char *at = strstr(svg, "<svg");
        if (at) {
            put(p, "<h3>Bond graph</h3><figure role=\"img\" aria-label=\"bond graph of the "
                   "components\">");
            put(p, at);
            put(p, "</figure>\n");
        }
    }
    free(svg);
    unlink(path);
    rmdir(folder);
}

/* A text of which no line goes on for pages: a learned formula has its thousand terms elsewhere. */
static void text_lines(page *p, char *text) {
    size_t told = 0;
    for (char *line = text, *end; *line && told < MOST_TEXT; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        size_t n = (size_t)(end - line), shown = n > MOST_LINE ? MOST_LINE : n;
        while (shown < n && shown && ((unsigned char)line[shown] & 0xc0) == 0x80) shown--;
        char last = line[shown];
        line[shown] = 0;
        clsi_html(&p->t, line, 0);
        line[shown] = last;
        if (shown < n) clsi_text_printf(&p->t, " ... (%zu characters in all)", n);
        put(p, "\n");
        told += shown + 1;
    }
}

static void system_section(page *p) {
    for (size_t i = 0; i < p->n; i++) {
        const clsi_subject *s = &p->subjects[i];
        if (!s->system) continue;
        char *summary = NULL;
        heading(p, s);
        if (is_there(p, cls_system_show(s->system, CLS_SHOW_SUMMARY, &summary, NULL))) {
            size_t lines = 0; /* what has a line for each cell is shown when asked for */
            for (const char *c = summary; *c; c++) lines += *c == '\n';
            put(p, lines > MOST_LINES ? "<details><summary>The whole system</summary>" : "");
            put(p, "<pre tabindex=\"0\">");
            text_lines(p, summary);
            put(p, lines > MOST_LINES ? "</pre></details>\n" : "</pre>\n");
        }
        cls_text_free(&summary);
        equations(p, s->system);
        bond_graph(p, s->system);
    }
}

static void energy(page *p, const clsi_subject *s) {
    if (!s->motion) return;
    heading(p, s);
    clsi_energy(&p->t, s);
}

/* ---- how it was made ---- */

static void provenance(page *p, const clsi_subject *s) {
    if (!s->given->model) return;
    heading(p, s);
    clsi_made(&p->t, s->given->model);
    clsi_training_curve(&p->t, s->given->model);
}

static void data_section(page *p) {
    if (!p->n_data) return;
    open_section(p, "data", "The data");
    put(p, "<ul>\n");
    for (size_t i = 0; i < p->n_data; i++) {
        cls_time_facts f;
        put(p, "<li>");
        name(p, p->names[i]);
        clsi_text_printf(&p->t, ": %zu rows", cls_table_rows(p->data[i]));
        if (!cls_table_inspect_time(p->data[i], &f, NULL) && f.known) {
            clsi_text_printf(&p->t, " in %zu trajector%s, every %.4g from %.4g to %.4g",
                             f.trajectories, f.trajectories == 1 ? "y" : "ies", f.spacing, f.first,
                             f.last);
            if (f.gaps)
                clsi_text_printf(&p->t, "; <strong>%zu gaps</strong>, the widest %.4g after %.4g",
                                 f.gaps, f.widest, f.widest_after);
            if (f.duplicates)
                clsi_text_printf(&p->t, "; <strong>%zu repeated times</strong>", f.duplicates);
            if (f.jitter > 0.01 * f.spacing) clsi_text_printf(&p->t, "; jitter %.2g", f.jitter);
        }
        for (size_t k = 0; k < cls_table_columns(p->data[i]); k++) {
            cls_column_facts c;
            if (cls_table_inspect_column(p->data[i], k, &c, NULL)) continue;
            if (!c.outliers && !c.constant && !c.wraps) continue;
            put(p, "; ");
            name(p, cls_table_name(p->data[i], k));
            if (c.constant) put(p, " is constant");
            if (c.outliers) clsi_text_printf(&p->t, " has %zu outliers", c.outliers);
            if (c.wraps) clsi_text_printf(&p->t, " jumps %zu times by a full turn", c.wraps);
        }
        put(p, "</li>\n");
    }
    put(p, "</ul>\n");
    close_section(p);
}

static void source(page *p) {
    for (size_t i = 0; i < p->n; i++) {
        if (!p->subjects[i].system) continue;
        put(p, "<details><summary>The system file of ");
        name(p, p->subjects[i].given->name);
        put(p, "</summary><pre tabindex=\"0\">");
        clsi_html(&p->t, cls_system_text(p->subjects[i].system), 60000);
        put(p, "</pre></details>\n");
    }
}

/* ---- the whole ---- */

static void title(page *p) {
    if (p->o->title) {
        name(p, p->o->title);
        return;
    }
    for (size_t i = 0; i < p->n; i++) {
        if (i) put(p, " and ");
        name(p, p->subjects[i].given->name);
    }
}

static void head(page *p) {
    put(p, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
           "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
           "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n<title>");
    title(p);
    put(p, " - clausius report</title>\n<style>\n");
    put(p, clsi_page_css);
    put(p, "</style></head><body>\n<header><h1>");
    title(p);
    put(p, "</h1>\n");
    for (size_t i = 0; i < p->n; i++)
        if (p->subjects[i].system && *cls_system_title(p->subjects[i].system)) {
            put(p, "<p>");
            name(p, cls_system_title(p->subjects[i].system));
            put(p, "</p>\n");
            break;
        }
    put(p, "<nav aria-label=\"sections\"><ul>");
    static const char *const links[][2] = {{"verdict", "Verdict"},
                                           {"laws", "Laws"},
                                           {"measured", "Measured"},
                                           {"scores", "Scores"},
                                           {"found", "Found"},
                                           {"system", "System"},
                                           {"energy", "Energy and entropy"},
                                           {"doubts", "What the data cannot tell"},
                                           {"data", "Data"},
                                           {"made", "How it was made"},
                                           {"try-it", "Try it"}};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        clsi_text_printf(&p->t, "<!--%s--><li><a href=\"#%s\">%s</a></li><!--%s-->", links[i][0],
                         links[i][0], links[i][1], links[i][0]);
    put(p, "</ul></nav></header>\n<main>\n");
}

/* Links of sections that are not there are taken out again. */
static void prune_links(page *p) {
    static const char *const ids[] = {"measured", "scores", "found",  "data",  "try-it",
                                      "laws",     "energy", "system", "doubts"};
    if (p->t.failed) return;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char section[48], mark[32];
        snprintf(section, sizeof section, "<section id=\"%s\"", ids[i]);
        snprintf(mark, sizeof mark, "<!--%s-->", ids[i]);
        if (strstr(p->t.data, section)) continue;
        char *from = strstr(p->t.data, mark), *to = from ? strstr(from + 1, mark) : NULL;
        if (to)
            memmove(from, to, p->t.length - (size_t)(to - p->t.data) + 1),
                p->t.length -= (size_t)(to - from);
    }
}

static void each(page *p, const char *id, const char *words,
                 void (*what)(page *, const clsi_subject *)) {
    size_t before = p->t.length;
    open_section(p, id, words);
    size_t opened = p->t.length;
    for (size_t i = 0; i < p->n; i++) what(p, &p->subjects[i]);
    if (p->t.length == opened && !p->t.failed)
        p->t.data[p->t.length = before] = 0; /* nothing to say: no section */
    else
        close_section(p);
}

static void verdict_of(page *p, const clsi_subject *s) {
    heading(p, s);
    verdict(p, s);
    clsi_cards(&p->t, s);
    expert(p, s);
}

static cls_status body(page *p, cls_error *error) {
    each(p, "verdict", "The verdict", verdict_of);
    each(p, "laws", "The laws", laws);
    cls_status status = clsi_compare(&p->t, p->n, p->subjects, p->o->script, error);
    each(p, "found", "What was found", found);
    int any = 0;
    for (size_t i = 0; i < p->n; i++) any |= p->subjects[i].system != NULL;
    if (any) {
        open_section(p, "system", "The system");
        system_section(p);
        close_section(p);
    }
    each(p, "energy", "Motion, energy, entropy and exergy", energy);
    each(p, "doubts", "What the data cannot tell", doubts);
    data_section(p);
    open_section(p, "made", "How it was made");
    if (p->o->command) {
        put(p, "<pre tabindex=\"0\">");
        clsi_html(&p->t, p->o->command, 4000);
        put(p, "</pre>\n");
    }
    clsi_text_printf(&p->t, "<p>clausius %s", cls_version());
    if (p->o->seconds > 0) clsi_text_printf(&p->t, "; learning took %.3g s", p->o->seconds);
    put(p, ".</p>\n");
    for (size_t i = 0; i < p->n; i++) provenance(p, &p->subjects[i]);
    source(p);
    close_section(p);
    if (p->o->script) clsi_try_it(&p->t, &p->subjects[0]);
    put(p, "</main>\n<footer><p class=\"soft\">One file, no network. Numbers behind each picture "
           "are in its table.</p></footer></body></html>\n");
    return status;
}

static cls_status measure(page *p, size_t n, const cls_report_subject *subjects, cls_error *error) {
    p->failures = clsi_failures();
    if (!n)
        return clsi_fail(error, CLS_USAGE,
                         "a report is about at least one system, model or trajectory");
    NEED(error, subjects);
    NEED(error, (p->data && p->names) || !p->n_data);
    for (size_t i = 0; i < n; i++)
        NEED(error, subjects[i].name && (subjects[i].system || subjects[i].trajectory));
    p->subjects = clsi_calloc(n, sizeof *p->subjects);
    if (!p->subjects) return clsi_no_memory(error);
    cls_status status = CLS_OK;
    for (; p->n < n && !status; p->n++)
        status = clsi_subject_measure(&p->subjects[p->n], &subjects[p->n], p->n_data, p->data,
                                      p->names, error);
    return status;
}

static cls_status finish(page *p, cls_status status, char **out, cls_error *error) {
    status = clsi_failed_since(p->failures, status, error);
    for (size_t i = 0; i < p->n; i++) clsi_subject_clear(&p->subjects[i]);
    free(p->subjects);
    *out = status ? NULL : clsi_text_take(&p->t);
    if (status) clsi_text_clear(&p->t);
    return status || *out ? status : clsi_no_memory(error);
}

cls_status cls_report_html(size_t n, const cls_report_subject *subjects, size_t n_data,
                           const cls_table *const *data, const char *const *names,
                           const cls_report_options *options, char **html, cls_error *error) {
    NEED(error, html);
    *html = NULL;
    cls_report_options o = cls_report_defaults();
    TAKE_OPTIONS(&o, options);
    page p = {.o = &o, .n_data = n_data, .data = data, .names = names};
    *html = NULL;
    cls_status status = measure(&p, n, subjects, error);
    if (!status) {
        head(&p);
        status = body(&p, error);
        prune_links(&p);
    }
    return finish(&p, status, html, error);
}

static void subject_json(page *p, const clsi_subject *s) {
    put(p, "{\"name\": ");
    clsi_json_string(&p->t, s->given->name);
    clsi_text_printf(&p->t, ", \"passed\": %s",
                     !s->audit                    ? "null"
                     : cls_audit_passed(s->audit) ? "true"
                                                  : "false");
    put(p, ", \"laws\": [");
    for (size_t i = 0; s->audit && i < cls_audit_count(s->audit); i++) {
        const cls_law *l = cls_audit_law(s->audit, i);
        put(p, i ? ", {\"name\": " : "{\"name\": ");
        clsi_json_string(&p->t, l->name);
        clsi_text_printf(&p->t, ", \"passed\": %s, \"finding\": %s, \"value\": ",
                         l->passed ? "true" : "false", l->finding ? "true" : "false");
        clsi_json_number(&p->t, l->value);
        put(p, ", \"limit\": ");
        clsi_json_number(&p->t, l->limit);
        put(p, "}");
    }
    put(p, "], \"channels\": [");
    for (size_t i = 0; i < s->n_channels; i++) {
        put(p, i ? ", {\"name\": " : "{\"name\": ");
        clsi_json_string(&p->t, s->channels[i].name);
        put(p, ", \"rmse\": ");
        clsi_json_number(&p->t, s->channels[i].own ? NAN : s->channels[i].rmse);
        put(p, ", \"persistence\": ");
        clsi_json_number(&p->t, s->channels[i].persistence);
        put(p, ", \"spread\": ");
        clsi_json_number(&p->t, s->channels[i].spread);
        put(p, "}");
    }
    put(p, "], \"learned\": [");
    if (s->given->model) clsi_learned_json(&p->t, s->given->model);
    put(p, "], \"parameters\": [");
    if (s->given->model) clsi_found_json(&p->t, s->given->model);
    put(p, "], \"functions\": ");
    clsi_found_record(&p->t, s->given->model, "functions");
    put(p, ", \"training\": ");
    clsi_found_record(&p->t, s->given->model, "curve");
    if (s->simulated) {
        put(p, ", \"energy\": {\"max_error\": ");
        clsi_json_number(&p->t, s->laws.energy_max_error);
        put(p, ", \"relative\": ");
        clsi_json_number(&p->t, s->laws.energy_relative);
        clsi_text_printf(&p->t, "}, \"entropy\": {\"falls\": %llu}",
                         (unsigned long long)s->laws.entropy_falls);
    }
    put(p, "}");
}

cls_status cls_report_json(size_t n, const cls_report_subject *subjects, size_t n_data,
                           const cls_table *const *data, const char *const *names,
                           const cls_report_options *options, char **json, cls_error *error) {
    NEED(error, json);
    *json = NULL;
    cls_report_options o = cls_report_defaults();
    TAKE_OPTIONS(&o, options);
    page p = {.o = &o, .n_data = n_data, .data = data, .names = names};
    *json = NULL;
    cls_status status = measure(&p, n, subjects, error);
    if (!status) {
        put(&p, "{\"subjects\": [");
        for (size_t i = 0; i < p.n; i++) {
            if (i) put(&p, ", ");
            subject_json(&p, &p.subjects[i]);
        }
        put(&p, "]}");
    }
    return finish(&p, status, json, error);
}

cls_status cls_report_write(size_t n, const cls_report_subject *subjects, size_t n_data,
                            const cls_table *const *data, const char *const *names,
                            const cls_report_options *options, const char *path, cls_error *error) {
    NEED(error, path);
    char *html;
    clsi_file f;
    cls_status status = cls_report_html(n, subjects, n_data, data, names, options, &html, error);
    if (status) return status;
    status = clsi_file_open(&f, path, error);
    if (!status) {
        fputs(html, f.stream);
        status = clsi_file_commit(&f, error);
    }
    cls_text_free(&html);
    return status;
}
