/* picture pendulum q: how the motion is sketched, for those that draw (the page of `report`). The kind
 * says what the names are:
 *
 *   pendulum q1, q2     angles of rods from the vertical, each hanging on the one before
 *   piston x            the place of a piston in a cylinder
 *   masses x1, x2       places of masses in a chain, or how far they are from their places
 *   body w1, w2, w3     angular velocities of a body about its axes
 *
 * Kept as text, "pendulum q1, q2". */
#include "system/language.h"
#include <stdlib.h>
#include <string.h>

typedef struct kind {
    const char *word;
    size_t least, most;
} kind;

static const kind kinds[] = {
    {"pendulum", 1, 8}, {"piston", 1, 1}, {"masses", 1, 64}, {"body", 3, 3}};

static cls_status read_name(clsi_reader *r, clsi_cursor *c, clsi_text *list) {
    clsi_skip_space(r, c);
    size_t where = c->at, length = clsi_word_length(r, c, 1);
    if (!length || !clsi_lookup(r, r->clean + where, length, ~0))
        return clsi_at(r, where, "expected a variable of this system, as in `picture pendulum q`");
    c->at += length;
    clsi_text_append_n(list, r->clean + where, length);
    return CLS_OK;
}

cls_status clsi_read_picture(clsi_reader *r, clsi_cursor c) {
    clsi_text list = {0};
    const kind *found = NULL;
    cls_status status = CLS_OK;
    size_t n = 0;
    clsi_skip_space(r, &c);
    size_t where = c.at;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !found; i++)
        if (clsi_accept_word(r, &c, kinds[i].word)) found = &kinds[i];
    if (!found)
        return clsi_at(r, where,
                       "expected `pendulum`, `piston`, `masses` or `body` after `picture`");
    if (r->s->picture) return clsi_at(r, where, "a second picture: a system has one");
    clsi_text_printf(&list, "%s ", found->word);
    do {
        if (n++) clsi_text_append(&list, ", ");
        status = read_name(r, &c, &list);
    } while (!status && clsi_accept(r, &c, ","));
    if (!status) status = clsi_expect_end(r, &c);
    if (!status && (n < found->least || n > found->most))
        status = clsi_at(r, where, "a picture of a %s takes %s, these are %zu", found->word,
                         found->most == 1    ? "one name"
                         : found->least == 3 ? "three names"
                         : found->most == 8  ? "up to 8 names"
                                             : "up to 64 names",
                         n);
    if (!status && !(r->s->picture = clsi_text_take(&list))) status = clsi_no_memory(r->error);
    clsi_text_clear(&list);
    return status;
}

const char *cls_system_picture(const cls_system *s) {
    return s && s->picture ? s->picture : "";
}
