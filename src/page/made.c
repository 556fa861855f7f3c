/* How a model was made: its provenance, in words where there are some, else as it stands. */
#include "model/json.h"
#include "model/model.h"
#include "page/page.h"
#include <stdlib.h>
#include <string.h>

/* Keys that the page shows elsewhere, or that are tables for machines. */
static int is_elsewhere(const char *key) {
    static const char *const keys[] = {"parameters", "functions", "covariance", "ensemble",
                                       "channels",   "split",     "data",       "curve",
                                       "spread",     "notes"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (!strcmp(key, keys[k])) return 1;
    return 0;
}

static void row(clsi_text *t, const char *key) {
    clsi_text_append(t, "<tr><th scope=\"row\">");
    clsi_html(t, key, CLSI_HTML_NAME);
    clsi_text_append(t, "</th><td>");
}

static void files(clsi_text *t, const json_t *list) {
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one) {
        const char *file = json_string_value(json_object_get(one, "file"));
        const char *hash = json_string_value(json_object_get(one, "sha256"));
        clsi_text_append(t, i ? "<br>" : "");
        clsi_html(t, file ? file : "", CLSI_HTML_NAME);
        clsi_text_append(t, hash ? " <span class=\"soft\">SHA-256 <code>" : "");
        clsi_html(t, hash ? hash : "", CLSI_HTML_NAME);
        clsi_text_append(t, hash ? "</code></span>" : "");
    }
}

static void value_text(clsi_text *t, const json_t *value) {
    const char *key;
    json_t *one;
    if (json_is_object(value)) {
        size_t n = 0;
        json_object_foreach((json_t *)value, key, one) {
            clsi_text_append(t, n++ ? ", " : "");
            clsi_html(t, key, CLSI_HTML_NAME);
            clsi_text_append(t, " ");
            value_text(t, one);
        }
        return;
    }
    if (json_is_string(value)) {
        clsi_html(t, json_string_value(value), 4000);
        return;
    }
    char *text = clsi_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    if (!text) t->failed = 1;
    clsi_html(t, text ? text : "", 4000);
    free(text);
}

void clsi_made(clsi_text *t, const cls_model *m) {
    json_t *o = m ? m->told : NULL, *value;
    const char *key;
    if (!o) return;
    clsi_text_append(t, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                        "aria-label=\"provenance\"><table><tbody>\n");
    if (json_array_size(json_object_get(o, "data"))) {
        row(t, "data");
        files(t, json_object_get(o, "data"));
        clsi_text_append(t, "</td></tr>\n");
    }
    json_object_foreach(o, key, value) {
        if (is_elsewhere(key)) continue;
        row(t, key);
        value_text(t, value);
        clsi_text_append(t, "</td></tr>\n");
    }
    clsi_text_append(t, "</tbody></table></div>\n");
}
