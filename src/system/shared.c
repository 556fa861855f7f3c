/* One unknown law in many components.
 *
 * Problem: a chain of a thousand springs that are all alike is one unknown spring. `component
 * spring(q): storage unknown` says so: every `use spring as ...` is a storage of its own, and the
 * energy of all of them is one function of what stands at their ports. In the flat text that is an
 * unknown function of the language (functions.c), declared once and used by every instance:
 *
 *   function spring(q) = unknown
 *   part left = spring(q1)
 *   part right = spring(q2)
 *
 * so learning, files and export see nothing new. A resistive one shares its coefficient, a function of
 * its efforts. Costs the number of instances. */
#include "system/ports.h"
#include <ctype.h>
#include <string.h>

int clsi_is_shared(const clsi_ports *p, const clsi_component *c) {
    if (c->definition == SIZE_MAX) return 0;
    const clsi_reader *r = clsi_source_of(p, c->body);
    return clsi_find_plain_word(r, c->body.begin, c->body.end, "unknown") < c->body.end;
}

const char *clsi_law_name(const clsi_ports *p, const clsi_component *c) {
    return clsi_is_shared(p, c) ? p->definitions[c->definition].name : c->name;
}

/* e.p -> e_p, log(e.s) -> log_e_s: a name for an argument. */
static void argument_name(const char *input, char out[64]) {
    size_t n = 0;
    for (; *input && n < 63; input++) {
        int word = isalnum((unsigned char)*input) || *input == '_';
        if (word || (n && out[n - 1] != '_')) out[n++] = word ? *input : '_';
    }
    while (n > 1 && out[n - 1] == '_') n--;
    out[n] = 0;
}

void clsi_declare_shared(clsi_ports *p, const clsi_component *c, const char *word,
                         const char *number, clsi_span law) {
    const clsi_definition *d = &p->definitions[c->definition];
    const clsi_reader *r = clsi_source_of(p, law);
    for (const clsi_component *o = p->components; o < c; o++)
        if (o->definition == c->definition) return; /* there already */
    clsi_put(p, d->title, "%s %s%s", word, d->name, number);
    for (size_t i = 0; i < c->n_inputs; i++) {
        char name[64];
        argument_name(c->input[i], name);
        clsi_put(p, d->title, "%s%s", i ? ", " : "(", name);
    }
    clsi_put(p, d->title, ") = ");
    clsi_put(p, law, "%.*s\n", (int)(law.end - law.begin), r->clean + law.begin);
}

void clsi_put_shared(clsi_ports *p, const clsi_component *c, const char *number) {
    clsi_put(p, c->title, "%s%s", p->definitions[c->definition].name, number);
    for (size_t i = 0; i < c->n_inputs; i++)
        clsi_put(p, c->title, "%s%s", i ? ", " : "(", c->flat_input[i]);
    clsi_put(p, c->title, ")");
}
