/* data x = "position [mm]", time = "t [ms]": which columns of measured files are which variables,
 * written once in the system file instead of --map at every command. The list is kept as text; the
 * reader of tables (src/data/map.c) gives it its meaning. */
#include "system/language.h"
#include <stdlib.h>
#include <string.h>

static int is_column(const clsi_reader *r, const char *name, size_t length) {
    static const char *const always[] = {"time", "trajectory", "energy", "entropy", "work"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strlen(always[i]) == length && !memcmp(always[i], name, length)) return 1;
    return clsi_lookup(r, name, length, ~0) != NULL;
}

/* `"COLUMN [UNIT]"`, with the unit inside of the quotes or behind them, or `COLUMN [UNIT]` where the name
 * has no comma: up to the next comma outside of brackets. */
static cls_status read_column(clsi_reader *r, clsi_cursor *c, clsi_text *list) {
    clsi_skip_space(r, c);
    const char *text = r->clean + c->at, *unit = NULL;
    size_t n = 0, most = c->end - c->at, quoted = most && text[0] == '"', unit_length = 0;
    if (quoted) {
        const char *end = memchr(text + 1, '"', most - 1);
        if (!end) return clsi_at(r, c->end, "the column has no closing `\"`");
        text++;
        n = (size_t)(end - text);
        c->at += n + 2;
        clsi_skip_space(r, c);
        unit = r->clean + c->at;
        if (c->at < c->end && *unit == '[') {
            const char *close = memchr(unit, ']', c->end - c->at);
            if (!close) return clsi_at(r, c->at, "the unit has no closing `]`");
            unit_length = (size_t)(close - unit) + 1;
            c->at += unit_length;
        }
    } else {
        for (int depth = 0; n < most && (depth || text[n] != ','); n++)
            depth += (text[n] == '[') - (text[n] == ']');
        c->at += n;
        while (n && strchr(" \t\r\n", text[n - 1])) n--;
    }
    if (!n || n > 200 || memchr(text, '\n', n) || memchr(text, '"', n))
        return clsi_at(r, (size_t)(text - r->clean),
                       "expected the name of a column, on one line: `data x = \"COLUMN [UNIT]\"`");
    clsi_text_printf(list, "\"%.*s%s%.*s\"", (int)n, text, unit_length ? " " : "", (int)unit_length,
                     unit_length ? unit : "");
    return CLS_OK;
}

static cls_status read_one(clsi_reader *r, clsi_cursor *c, clsi_text *list) {
    clsi_skip_space(r, c);
    size_t where = c->at, length = clsi_word_length(r, c, 1);
    if (!length || !is_column(r, r->clean + where, length)) {
        while (!length && where + length < c->end && r->clean[where + length] != '=') length++;
        return clsi_at(r, where,
                       "`%.*s` is not a variable of this system: expected `data x = \"COLUMN "
                       "[UNIT]\"`",
                       (int)length, r->clean + where);
    }
    c->at += length;
    cls_status status = clsi_expect(r, c, "=", "the name");
    if (status) return status;
    if (list->length) clsi_text_append(list, ", ");
    clsi_text_append_n(list, r->clean + where, length);
    clsi_text_append(list, "=");
    return read_column(r, c, list);
}

cls_status clsi_read_data(clsi_reader *r, clsi_cursor c) {
    clsi_text list = {0};
    cls_status status = CLS_OK;
    if (r->s->data_map) clsi_text_append(&list, r->s->data_map);
    do status = read_one(r, &c, &list);
    while (!status && clsi_accept(r, &c, ","));
    if (!status) status = clsi_expect_end(r, &c);
    if (!status) {
        free(r->s->data_map);
        if (!(r->s->data_map = clsi_text_take(&list))) status = clsi_no_memory(r->error);
    }
    clsi_text_clear(&list);
    return status;
}
