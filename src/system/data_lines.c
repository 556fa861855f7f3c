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
    if (!status) status = clsi_expect(r, c, "\"", "`=`");
    if (status) return status;
    const char *end = memchr(r->clean + c->at, '"', c->end - c->at);
    size_t n = end ? (size_t)(end - (r->clean + c->at)) : 0;
    if (!end) return clsi_at(r, c->end, "the column has no closing `\"`");
    if (!n || n > 200 || memchr(r->clean + c->at, '\n', n))
        return clsi_at(r, c->at, "expected the name of a column, on one line");
    if (list->length) clsi_text_append(list, ", ");
    clsi_text_append_n(list, r->clean + where, length);
    clsi_text_append(list, "=");
    clsi_text_append_n(list, r->clean + c->at - 1, n + 2);
    c->at += n + 1;
    return CLS_OK;
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
