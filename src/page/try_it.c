/* The model itself in the page: the module that `export js` writes, and controls for it. Models that
 * cannot be exported (schemes that choose their own steps), or are too large, have no such section. */
#include "export/export.h"
#include "model/model.h"
#include "page/page.h"
#include "system/system.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const char clsi_page_try[], clsi_page_sketch[];

enum { MOST_SCRIPT = 400000 };

/* The module's text with its exports made local and nothing that could end a script element. */
static int script_of(clsi_text *t, const clsi_subject *s, const char *parameters, char **out) {
    cls_export_options o = cls_export_defaults();
    clsi_export *e = NULL;
    clsi_text text = {0};
    o.start = s->given->start;
    o.parameters = parameters;
    cls_status status = clsi_export_create(s->system, s->given->model, &o, 0, &e, NULL);
    if (!status) status = clsi_export_module(e, 1, &text, NULL);
    if (status == CLS_MEMORY || text.failed) t->failed = 1; /* no page, rather than one without */
    clsi_export_free(&e);
    *out = !status && text.length < MOST_SCRIPT ? clsi_text_take(&text) : NULL;
    clsi_text_clear(&text);
    if (!*out) return 0;
    for (char *at = *out; (at = strstr(at, "export ")) != NULL; at += 7)
        if (at == *out || at[-1] == '\n') memset(at, ' ', 7);
    for (char *at = *out; (at = strstr(at, "</")) != NULL; at += 2) at[1] = ' ';
    return 1;
}

static void ranges(clsi_text *t, const cls_model *m) {
    clsi_text_append(t, "<script type=\"application/json\" id=\"try-ranges\">[");
    size_t n = 0;
    for (size_t i = 0; m && i < m->n_learned; i++)
        for (size_t k = 0; k < m->learned[i].d; k++) {
            const clsi_learned *l = &m->learned[i];
            if (!clsi_has_range(l, k) || !(l->high[k] > l->low[k])) continue;
            clsi_text_append(t, n++ ? ", {\"name\": " : "{\"name\": ");
            clsi_json_string(t, l->input[k]);
            clsi_text_append(t, ", \"low\": ");
            clsi_json_number(t, l->low[k]);
            clsi_text_append(t, ", \"high\": ");
            clsi_json_number(t, l->high[k]);
            clsi_text_append(t, "}");
        }
    clsi_text_append(t, "]</script>\n");
}

/* {"kind": "piston", "names": ["x"], "low": [-2], "high": [2]}; null without a picture. */
static void picture(clsi_text *t, const cls_system *s) {
    const char *at = cls_system_picture(s), *end = strchr(at, ' ');
    clsi_text low = {0}, high = {0};
    clsi_text_append(t, "<script type=\"application/json\" id=\"try-picture\">");
    if (!end) {
        clsi_text_append(t, "null</script>\n");
        return;
    }
    clsi_text_printf(t, "{\"kind\": \"%.*s\", \"names\": [", (int)(end - at), at);
    for (at = end + 1; *at; at = *end ? end + 2 : end) {
        char name[256];
        end = at + strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(end - at), at);
        double from = NAN, to = NAN;
        for (size_t i = 0; i < s->nq; i++)
            if (!strcmp(s->coordinate[i].name, name))
                from = s->coordinate[i].low, to = s->coordinate[i].high;
        if (low.length) clsi_text_append(t, ", ");
        clsi_json_string(t, name);
        clsi_text_append(&low, low.length ? ", " : "[");
        clsi_json_number(&low, from);
        clsi_text_append(&high, high.length ? ", " : "[");
        clsi_json_number(&high, to);
    }
    clsi_text_printf(t, "], \"low\": %s], \"high\": %s]}</script>\n", low.data ? low.data : "[",
                     high.data ? high.data : "[");
    clsi_text_clear(&low);
    clsi_text_clear(&high);
}

void clsi_try_it(clsi_text *t, const clsi_subject *s) {
    char *script;
    if (!s->system || s->given->trajectory) return;
    if (!(script_of(t, s, NULL, &script) || script_of(t, s, "none", &script))) {
        free(script);
        return;
    }
    clsi_text_append(
        t, "<section id=\"try-it\" aria-labelledby=\"try-it-h\"><h2 id=\"try-it-h\">Try it</h2>\n");
    clsi_text_append(
        t, "<noscript><p>The model can be run in this page when JavaScript is on.</p></noscript>\n"
           "<div id=\"try\" class=\"try\" hidden><div class=\"controls\"></div><p class=\"warn\" "
           "role=\"status\"></p>"
           "<p><button type=\"button\" class=\"run\">Run</button> <label for=\"try-what\" "
           "style=\"display:inline\">shown: </label><select id=\"try-what\"></select></p>"
           "<div class=\"sketch\" hidden><canvas role=\"img\" aria-label=\"a sketch of the "
           "motion\"></canvas><label>time <input type=\"range\" min=\"0\" value=\"0\"> "
           "<output></output></label></div>"
           "<canvas class=\"plot\" role=\"img\" aria-label=\"the motion that was run\"></canvas><p "
           "class=\"laws\" "
           "role=\"status\"></p>"
           "<p class=\"soft\">The step is the exported one; functions of a browser differ from "
           "libm in the last digits.</p></div>\n");
    ranges(t, s->given->model);
    picture(t, s->system);
    clsi_text_append(t, "<script type=\"module\">\n");
    clsi_text_append(t, script);
    clsi_text_append(t, "\n");
    clsi_text_append(t, clsi_page_sketch);
    clsi_text_append(t, clsi_page_try);
    clsi_text_append(t, "</script>\n");
    clsi_text_append(t, "</section>\n");
    free(script);
}
