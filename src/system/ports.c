/* The seam between components and the rest of the language: a text with components is turned into
 * a flat text before it is read, and complaints about the flat text are led back to where its
 * letters come from (a binary search in the map, paid once per error). */
#include "system/ports.h"
#include <stdlib.h>
#include <string.h>

static const clsi_reader *of_arrays(const clsi_reader *r, size_t *where, char note[160]) {
    const struct clsi_loops *a = r->arrays;
    size_t turn;
    if (!a || a == r->expanding) return r;
    r = clsi_array_origin(a, where, &turn);
    if (note) clsi_turn_text(a, turn, note, 160);
    return r;
}

const clsi_reader *clsi_origin_of(const clsi_reader *r, size_t *where, char note[160]) {
    const clsi_ports *p = r->ports;
    if (note) note[0] = 0;
    if (!p || !p->n_map) return of_arrays(r, where, note);
    size_t low = 0, high = p->n_map;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (p->map[middle].flat <= *where)
            low = middle;
        else
            high = middle;
    }
    const clsi_origin *o = &p->map[low];
    *where = o->offset + (o->exact && *where > o->flat ? *where - o->flat : 0);
    return of_arrays(p->sources[o->source], where, note);
}

/* The flat text takes the place of the reader's own. */
static cls_status take_flat(clsi_reader *r, clsi_ports *p) {
    if (!p->flat.data) clsi_text_append(&p->flat, "");
    if (p->flat.failed) return clsi_no_memory(r->error);
    if (p->n_inclusions) {
        char *text;
        cls_status status = clsi_ports_expand(p, &text);
        if (status != CLS_OK) return status;
        free(r->s->text);
        r->s->text = text;
    }
    free(r->clean);
    r->clean = NULL;
    r->text = p->flat.data;
    r->length = p->flat.length;
    r->ports = p;
    return clsi_clean_text(r);
}

cls_status clsi_read_ports(clsi_reader *r, const clsi_loader *loader) {
    if (!clsi_has_ports(r)) return CLS_OK;
    clsi_ports *p = clsi_calloc(1, sizeof *p);
    if (!p) return clsi_no_memory(r->error);
    r->s->ports = p;
    p->error = r->error;
    p->loader = loader;
    cls_status status = clsi_ports_elaborate(p, r);
    if (status == CLS_OK) status = clsi_ports_wire(p);
    if (status == CLS_OK) status = clsi_ports_flatten(p);
    return status == CLS_OK ? take_flat(r, p) : status;
}

int clsi_system_has_ports(const cls_system *s) {
    return s->ports && s->ports->n_components;
}

const char *clsi_port_momentum(const cls_system *s, const char *name) {
    const clsi_ports *p = s->ports;
    for (size_t i = 0; p && i < p->n_stores; i++) {
        const clsi_store *x = &p->stores[i];
        if (x->partner == SIZE_MAX || x->position || strcmp(x->name, name) != 0) continue;
        for (size_t j = 0; j < s->paired; j++)
            if (strcmp(s->coordinate[j].name, p->stores[x->partner].name) == 0)
                return cls_node_name(s->g, s->p[j]);
    }
    return NULL;
}
