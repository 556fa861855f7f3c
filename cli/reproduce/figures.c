/* The figures of the papers, drawn from our runs, and the page of all items of a call.
 *
 * A figure has the axes of the paper's; what the paper's curves do is said in words beside it, for
 * its pictures are not ours to copy. */
#include "cli/reproduce/reproduce.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- drawing ---- */

cls_status cli_draw_figure(cli_findings *f, const cli_figure *figure, size_t n,
                           const cls_table *const *tables, const char *const *labels,
                           cls_error *error) {
    char path[1024];
    cls_plot_options o = cls_plot_defaults();
    if (!f->folder) return CLS_OK;
    if (f->n_figures == cli_most_figures) abort(); /* our mistake, not the user's */
    while (figure->columns[o.n_columns]) o.n_columns++;
    o.columns = figure->columns;
    o.title = figure->title;
    snprintf(path, sizeof path, "%.900s/%s.svg", f->folder, figure->name);
    cls_status status = cls_plot(n, tables, labels, &o, path, error);
    if (!status) f->figures[f->n_figures++] = *figure;
    return status;
}

void cli_keep_curve(cli_findings *f, const char *label, cls_table **t) {
    if (f->folder && label && f->n_curves < cli_most_curves) {
        f->labels[f->n_curves] = label;
        f->curves[f->n_curves++] = *t;
        *t = NULL;
    }
    cls_table_free(t);
}

void cli_forget_curves(cli_findings *f) {
    while (f->n_curves) cls_table_free(&f->curves[--f->n_curves]);
}

cls_status cli_draw_curves(cli_findings *f, const cli_figure *figure, cls_error *error) {
    return cli_draw_figure(f, figure, f->n_curves, (const cls_table *const *)f->curves, f->labels,
                           error);
}

static cls_status errors_of(const cls_table *t, const cls_table *truth, size_t n,
                            const char *const *columns, cls_table **out, cls_error *error) {
    static const char *const names[] = {"time", "energy - E0", "mean |error|"};
    const double *time = cli_series(t, "time"), *E = cli_series(t, "energy");
    cls_status status = cls_table_create(3, names, out, error);
    for (size_t k = 0; !status && k < cls_table_rows(t); k++) {
        double row[3] = {time[k], E[k] - E[0], 0};
        for (size_t c = 0; c < n; c++)
            row[2] +=
                fabs(cli_series(t, columns[c])[k] - cli_series(truth, columns[c])[k]) / (double)n;
        status = cls_table_append(*out, row, error);
    }
    return status;
}

cls_status cli_draw_errors(cli_findings *f, const cli_figure *figure, size_t n,
                           const char *const *columns, cls_error *error) {
    cls_table *tables[cli_most_curves] = {0};
    cls_status status = CLS_OK;
    for (size_t i = 0; !status && i < f->n_curves; i++)
        status = errors_of(f->curves[i], f->curves[0], n, columns, &tables[i], error);
    if (!status)
        status = cli_draw_figure(f, figure, f->n_curves, (const cls_table *const *)tables,
                                 f->labels, error);
    for (size_t i = 0; i < f->n_curves; i++) cls_table_free(&tables[i]);
    return status;
}

/* ---- the folder ---- */

cls_status cli_make_folder(const char *path, cls_error *error) {
    struct stat facts;
    if (mkdir(path, 0777) && errno != EEXIST)
        return cli_fail(error, CLS_IO, "-o %s: cannot make this directory: %s", path,
                        strerror(errno));
    if (stat(path, &facts) || !S_ISDIR(facts.st_mode))
        return cli_fail(error, CLS_IO, "-o %s is not a directory: name one, or a new name", path);
    if (access(path, W_OK | X_OK))
        return cli_fail(error, CLS_IO, "-o %s: cannot write there: %s", path, strerror(errno));
    return CLS_OK;
}

/* ---- the page ---- */

static void escape(FILE *to, const char *text) {
    for (; *text; text++) switch (*text) {
        case '&': fputs("&amp;", to); break;
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '"': fputs("&quot;", to); break;
        default: fputc(*text, to);
        }
}

static void text_cell(FILE *to, const char *text) {
    fputs("<td>", to);
    escape(to, text ? text : "");
    fputs("</td>", to);
}

static void number_cell(FILE *to, const json_t *value) {
    if (json_is_number(value))
        fprintf(to, "<td class=n>%.4g</td>", json_number_value(value));
    else
        fputs("<td class=n>-</td>", to);
}

static const char *word_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static int passed(const json_t *item) {
    return json_is_true(json_object_get(item, "passed"));
}

static const char *verdict_of(const json_t *item) {
    return json_object_get(item, "error") ? "not run" : passed(item) ? "holds" : "OUT OF TOLERANCE";
}

/* The picture goes into the page whole, as an address of its own: the glyphs of several SVGs would
 * have the same names in one page. */
static cls_status picture(FILE *to, const char *folder, const json_t *figure, cls_error *error) {
    char path[1024];
    int c;
    snprintf(path, sizeof path, "%.900s/%s", folder, word_of(figure, "file"));
    FILE *from = fopen(path, "r");
    if (!from) return cli_fail(error, CLS_IO, "%s: cannot read: %s", path, strerror(errno));
    fputs("<img alt=\"", to);
    escape(to, word_of(figure, "title"));
    fputs("\" src=\"data:image/svg+xml,", to);
    while ((c = getc(from)) != EOF) {
        if (c <= ' ' || c >= 127 || strchr("%#\"<>&'", c))
            fprintf(to, "%%%02X", (unsigned)c);
        else
            putc(c, to);
    }
    fputs("\">", to);
    int bad = ferror(from);
    (void)fclose(from);
    return bad ? cli_fail(error, CLS_IO, "%s: cannot read", path) : CLS_OK;
}

static void cells(FILE *to, const json_t *item) {
    size_t i;
    json_t *c;
    fputs("<table><tr><th>row<th>column<th>paper<th>expected<th>ours<th>verdict</tr>\n", to);
    json_array_foreach(json_object_get(item, "cells"), i, c) {
        const char *relation = word_of(c, "relation");
        json_t *expected = json_object_get(c, "expected");
        fprintf(to, "<tr%s>", passed(c) ? "" : " class=bad");
        text_cell(to, word_of(c, "row"));
        text_cell(to, word_of(c, "column"));
        number_cell(to, json_object_get(c, "paper"));
        if (json_is_number(expected)) {
            fputs("<td class=n>", to);
            if (relation && strcmp(relation, "=") != 0) escape(to, relation);
            fprintf(to, " %.10g</td>", json_number_value(expected));
        } else {
            number_cell(to, NULL);
        }
        number_cell(to, json_object_get(c, "ours"));
        text_cell(to, word_of(c, "note"));
        fputs("</tr>\n", to);
    }
    fputs("</table>\n", to);
}

static cls_status section(FILE *to, const char *folder, const json_t *item, cls_error *error) {
    size_t i;
    json_t *figure;
    cls_status status = CLS_OK;
    fprintf(to, "<section id=\"%s\"><h2>%s: %s</h2>\n<p>", word_of(item, "item"),
            word_of(item, "item"), verdict_of(item));
    escape(to, word_of(item, "doc"));
    fputs("</p>\n", to);
    if (json_object_get(item, "error")) {
        fputs("<p class=bad>", to);
        escape(to, word_of(item, "error"));
        fputs("</p>\n", to);
    }
    json_array_foreach(json_object_get(item, "figures"), i, figure) {
        if (status) break;
        fputs("<figure>", to);
        status = picture(to, folder, figure, error);
        fputs("<figcaption>", to);
        escape(to, word_of(figure, "title"));
        fputs(". In the paper: ", to);
        escape(to, word_of(figure, "paper"));
        fputs("</figcaption></figure>\n", to);
    }
    if (!json_array_size(json_object_get(item, "figures"))) fputs("<p>No figure.</p>\n", to);
    cells(to, item);
    fputs("</section>\n", to);
    return status;
}

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>clausius reproduce</title>\n<style>\n"
    "body{font:16px/1.5 sans-serif;max-width:70em;margin:auto;padding:1em}\n"
    "section,table{overflow-x:auto}table{border-collapse:collapse}\n"
    "td,th{padding:.1em .6em;text-align:left;border-bottom:1px solid #ccc}\n"
    ".n{text-align:right;font-variant-numeric:tabular-nums}.bad{color:#a00}\n"
    "figure{margin:1em 0}figure img{max-width:100%;height:auto}\n"
    "</style></head><body>\n<h1>The papers, item by item</h1>\n"
    "<table><tr><th>item<th>what<th>cells<th>figures<th>verdict</tr>\n";

static cls_status page(FILE *to, const char *folder, const json_t *items, cls_error *error) {
    size_t i;
    json_t *item;
    cls_status status = CLS_OK;
    fputs(head, to);
    json_array_foreach(items, i, item) {
        fprintf(to, "<tr%s><td><a href=\"#%s\">%s</a></td>", passed(item) ? "" : " class=bad",
                word_of(item, "item"), word_of(item, "item"));
        text_cell(to, word_of(item, "doc"));
        fprintf(to, "<td class=n>%zu</td><td class=n>%zu</td><td>%s</td></tr>\n",
                json_array_size(json_object_get(item, "cells")),
                json_array_size(json_object_get(item, "figures")), verdict_of(item));
    }
    fputs("</table>\n", to);
    json_array_foreach(items, i, item) {
        if (!status) status = section(to, folder, item, error);
    }
    fputs("</body></html>\n", to);
    return status;
}

cls_status cli_write_index(const char *folder, const json_t *items, cls_error *error) {
    char path[1024];
    cli_output file;
    snprintf(path, sizeof path, "%.900s/index.html", folder);
    cls_status status = cli_output_open(&file, path, 0, error);
    if (status) return status;
    return cli_output_close(&file, page(file.stream, folder, items, error), error);
}
