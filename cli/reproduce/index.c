/* DIR/index.html: every table and figure of the papers with its verdict, then the items that were run
 * with their pictures and cells. Items that this call did not run are those kept from earlier ones. */
#include "cli/reproduce/reproduce.h"
#include <errno.h>
#include <string.h>

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
    if (!item || json_object_get(item, "error")) return "not run";
    return passed(item) ? "holds" : "OUT OF TOLERANCE";
}

/* "34 s, 2026-11-17" and how it was run. */
static void when(FILE *to, const json_t *item) {
    const char *settings = word_of(item, "settings"), *made = word_of(item, "made");
    const json_t *seconds = json_object_get(item, "seconds");
    if (json_is_number(seconds)) fprintf(to, "%.3g s", json_number_value(seconds));
    if (settings && *settings) fprintf(to, ", %s", settings);
    if (made) fprintf(to, ", %s", made);
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
    fputs(" (", to);
    when(to, item);
    fputs(")</p>\n", to);
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

/* ---- the papers ---- */

static const json_t *item_called(const json_t *items, const char *name, size_t length) {
    size_t i;
    json_t *item;
    json_array_foreach(items, i, item) {
        const char *own = word_of(item, "item");
        if (strlen(own) == length && memcmp(own, name, length) == 0) return item;
    }
    return NULL;
}

static int drew(const json_t *items, const char *name, size_t length) {
    size_t i, k;
    json_t *item, *figure;
    json_array_foreach(items, i, item) {
        json_array_foreach(json_object_get(item, "figures"), k, figure) {
            const char *file = word_of(figure, "file");
            if (strlen(file) == length + 4 && memcmp(file, name, length) == 0) return 1;
        }
    }
    return 0;
}

/* How long the word at `list` is; its end is a blank or the end of the list. */
static size_t word_length(const char *list) {
    return strcspn(list, " ");
}

static const char *next_word(const char *list) {
    list += word_length(list);
    return *list ? list + 1 : list;
}

/* Each item with its verdict, or the command that would give one. */
static void verdicts(FILE *to, const json_t *items, const char *list) {
    for (; *list; list = next_word(list)) {
        int n = (int)word_length(list);
        const json_t *item = item_called(items, list, (size_t)n);
        const char *settings = item ? word_of(item, "settings") : NULL;
        int other = settings && *settings; /* than the paper's length */
        if (item)
            fprintf(to, "<a href=\"#%.*s\">%.*s</a>: %s%s%s%s<br>", n, list, n, list,
                    verdict_of(item), other ? " (" : "", other ? settings : "", other ? ")" : "");
        else
            fprintf(to, "%.*s: not run here; <code>clausius reproduce %.*s -o DIR</code><br>", n,
                    list, n, list);
    }
}

static void exhibit(FILE *to, const json_t *items, const cli_exhibit *e) {
    size_t wanted = 0, there = 0;
    fputs("<tr>", to);
    text_cell(to, e->paper);
    text_cell(to, e->number);
    text_cell(to, e->shows);
    fputs("<td>", to);
    if (e->items)
        verdicts(to, items, e->items);
    else
        escape(to, e->note);
    fputs("</td><td>", to);
    for (const char *list = e->figures ? e->figures : ""; *list; list = next_word(list), wanted++)
        there += (size_t)drew(items, list, word_length(list));
    if (wanted) fprintf(to, there == wanted ? "drawn" : "%zu of %zu drawn", there, wanted);
    fputs("</td></tr>\n", to);
}

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>clausius reproduce</title>\n<style>\n"
    "body{font:16px/1.5 sans-serif;max-width:70em;margin:auto;padding:1em}\n"
    "section,table{overflow-x:auto}table{border-collapse:collapse}\n"
    "td,th{padding:.1em .6em;text-align:left;vertical-align:top;border-bottom:1px solid #ccc}\n"
    ".n{text-align:right;font-variant-numeric:tabular-nums}.bad{color:#a00}\n"
    "figure{margin:1em 0}figure img{max-width:100%;height:auto}\n"
    "</style></head><body>\n<h1>The papers, table by table and figure by figure</h1>\n"
    "<table id=\"papers\"><tr><th>paper<th>number<th>what<th>item and verdict<th>figure</tr>\n";

static void item_rows(FILE *to, const json_t *items) {
    size_t i;
    json_t *item;
    fputs("<h1>The items that were run</h1>\n<table><tr><th>item<th>what<th>cells<th>figures"
          "<th>verdict<th>run</tr>\n",
          to);
    json_array_foreach(items, i, item) {
        fprintf(to, "<tr%s><td><a href=\"#%s\">%s</a></td>", passed(item) ? "" : " class=bad",
                word_of(item, "item"), word_of(item, "item"));
        text_cell(to, word_of(item, "doc"));
        fprintf(to, "<td class=n>%zu</td><td class=n>%zu</td><td>%s</td><td>",
                json_array_size(json_object_get(item, "cells")),
                json_array_size(json_object_get(item, "figures")), verdict_of(item));
        when(to, item);
        fputs("</td></tr>\n", to);
    }
    fputs("</table>\n", to);
}

static cls_status page(FILE *to, const char *folder, const json_t *items, cls_error *error) {
    size_t i;
    json_t *item;
    cls_status status = CLS_OK;
    fputs(head, to);
    for (const cli_exhibit *e = cli_exhibits; e->paper; e++) exhibit(to, items, e);
    fputs("</table>\n", to);
    item_rows(to, items);
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
