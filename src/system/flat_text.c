/* The flat text of components (flatten.c): written with a map back to the files, and formulas of a
 * component with its own names replaced by those of the whole.
 *
 * Each letter of the flat text knows the letter it comes from, so that the reader's complaints name
 * the right file. */
#include "base/locale.h"
#include "system/arrays.h"
#include "system/ports.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing with a map ---- */

static void note_origin(clsi_ports *p, clsi_span at, size_t offset, int exact) {
    if (!clsi_grow(&p->map, &p->map_capacity, p->n_map + 1, sizeof *p->map)) {
        p->flat.failed = 1;
        return;
    }
    p->map[p->n_map++] = (clsi_origin){p->flat.length, at.source, offset, exact};
}

/* Made-up text that belongs to a place. */
void clsi_put(clsi_ports *p, clsi_span at, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = clsi_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text) p->flat.failed = 1;
    note_origin(p, at, at.begin, 0);
    clsi_text_append(&p->flat, text);
}

const char *clsi_state_text(const clsi_ports *p, size_t state, char out[128]) {
    const clsi_store *s = &p->stores[state];
    if (s->partner != SIZE_MAX && !s->position)
        snprintf(out, 128, "p.%s", p->stores[s->partner].name);
    else
        snprintf(out, 128, "%s", s->name);
    return out;
}

/* The name a force on the state is written with. */
const char *clsi_force_text(const clsi_ports *p, size_t state) {
    const clsi_store *s = &p->stores[state];
    return s->partner != SIZE_MAX && !s->position ? p->stores[s->partner].name : s->name;
}

void clsi_effort_text(const clsi_ports *p, size_t joint, char out[512]) {
    const clsi_joint *j = &p->joints[joint];
    const clsi_store *s = &p->stores[j->state];
    if (s->thermal)
        snprintf(out, 512, "%s", s->temperature);
    else if (j->factor)
        snprintf(out, 512, "(%s*v.%s)", j->factor, clsi_force_text(p, j->state));
    else
        snprintf(out, 512, "v.%s", clsi_force_text(p, j->state));
}

/* ---- formulas with their names replaced ---- */

const char *clsi_scope_text(const clsi_ports *p, size_t scope, const char *word, size_t length,
                            char out[512]) {
    const clsi_scope_names *s = &p->scopes[scope];
    for (size_t i = 0; i < s->n; i++)
        if (strlen(s->names[i]) == length && memcmp(s->names[i], word, length) == 0) {
            snprintf(out, 512, "%s%s", s->prefix, s->names[i]);
            return out;
        }
    return NULL;
}

/* What a word of a component's formula stands for, NULL: itself. */
static const char *component_text(clsi_ports *p, const clsi_component *c, const char *word,
                                  size_t length, char out[512]) {
    char name[128];
    int effort = length > 2 && word[0] == 'e' && word[1] == '.';
    size_t port = clsi_port_find(c, word + 2 * effort, length - 2 * (size_t)effort);
    if (port == SIZE_MAX) return NULL;
    const clsi_joint *j = &p->joints[c->port[port].node];
    if (c->kind == CLSI_STORAGE && p->stores[c->first_state + port].share)
        snprintf(out, 512, "%s", p->stores[c->first_state + port].share);
    else if (c->kind == CLSI_STORAGE || !effort)
        snprintf(
            out, 512, "%s",
            clsi_state_text(p, c->kind == CLSI_STORAGE ? c->first_state + port : j->state, name));
    else
        clsi_effort_text(p, c->port[port].node, out);
    return out;
}

/* In the statements of the file itself a momentum may be called as its storage calls it. */
static const char *file_text(const clsi_ports *p, const char *word, size_t length, char out[512]) {
    for (size_t i = 0; i < p->n_stores; i++) {
        const clsi_store *s = &p->stores[i];
        if (s->partner == SIZE_MAX || s->position) continue;
        if (strlen(s->name) == length && memcmp(s->name, word, length) == 0) {
            snprintf(out, 512, "p.%s", p->stores[s->partner].name);
            return out;
        }
    }
    return NULL;
}

/* Copies a range word by word; c NULL: a statement of the file or of a composite. */
void clsi_put_span(clsi_ports *p, const clsi_component *c, size_t scope, clsi_span s) {
    const clsi_reader *r = clsi_source_of(p, s);
    int quoted = 0;
    for (size_t at = s.begin; at < s.end;) {
        const char *t = r->clean + at;
        clsi_cursor cursor = {at, s.end};
        char out[512];
        const char *other = NULL;
        size_t n = 1;
        quoted ^= *t == '"';
        if (isdigit((unsigned char)*t) || *t == '.') {
            n = clsi_number_length(r, at, s.end);
        } else if (!quoted && (isalpha((unsigned char)*t) || *t == '_')) {
            n = clsi_word_length(r, &cursor, 1);
            if (c) other = component_text(p, c, t, n, out);
            if (!other) other = clsi_scope_text(p, scope, t, n, out);
            if (!other && !c && !scope) other = file_text(p, t, n, out);
        }
        if (!n) n = 1;
        note_origin(p, s, at, other == NULL);
        if (other)
            clsi_text_append(&p->flat, other);
        else
            clsi_text_append_n(&p->flat, t, n);
        at += n;
    }
}
