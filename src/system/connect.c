/* Connections: `connect a.x, b.y` joins ports to a junction.
 *
 * Ports are found by name in the scope of the statement: `component.port`, `instance.port`, or the
 * bare name of a port of the composite around it. What does not fit (an entropy and something else,
 * different units) and what stays open is an error that names the ports. Junctions are the classes
 * of a union; a statement costs a walk over the components for each name. */
#include "system/ports.h"
#include <stdlib.h>
#include <string.h>

static clsi_port *find_port(clsi_ports *p, size_t scope, const char *name, size_t length) {
    const char *dot = memchr(name, '.', length);
    if (!dot) {
        clsi_component own = {.n_ports = p->scopes[scope].n_ports, .port = p->scopes[scope].port};
        size_t i = clsi_port_find(&own, name, length);
        return i == SIZE_MAX ? NULL : &own.port[i];
    }
    char flat[256];
    snprintf(flat, sizeof flat, "%s%.*s", p->scopes[scope].prefix, (int)(dot - name), name);
    const clsi_component *c = clsi_component_find(p, flat);
    if (c) {
        size_t k = clsi_port_find(c, dot + 1, length - (size_t)(dot + 1 - name));
        return k == SIZE_MAX ? NULL : &c->port[k];
    }
    const clsi_scope_names *s = clsi_composite_find(p, flat);
    if (!s) return NULL;
    clsi_component as = {.n_ports = s->n_ports, .port = s->port};
    size_t k = clsi_port_find(&as, dot + 1, length - (size_t)(dot + 1 - name));
    return k == SIZE_MAX ? NULL : &as.port[k];
}

/* Names of ports, and the nearest of them. */
typedef struct offer {
    clsi_text list;
    size_t shown;
    char wanted[96];
    char near[96];
} offer;

static void add_offer(offer *o, const char *name) {
    const char *pair[] = {o->near, name}; /* of two that are as near, the first stays */
    if (o->shown++ < 40) clsi_text_printf(&o->list, "%s%s", o->list.length ? ", " : "", name);
    const char *best = cls_nearest_word(o->wanted, 2, pair);
    if (best == name) snprintf(o->near, sizeof o->near, "%.95s", name);
}

/* All ports that may be named in this scope. */
static cls_status no_port(clsi_ports *p, size_t scope, clsi_reader *r, size_t where,
                          size_t length) {
    offer o = {0};
    char name[256];
    const char *prefix = p->scopes[scope].prefix;
    snprintf(o.wanted, sizeof o.wanted, "%.*s", length < 95 ? (int)length : 95, r->clean + where);
    for (size_t i = 0; i < p->scopes[scope].n_ports; i++)
        add_offer(&o, p->scopes[scope].port[i].name);
    for (size_t i = 0; i < p->n_components; i++)
        for (size_t k = 0; p->components[i].scope == scope && k < p->components[i].n_ports; k++) {
            snprintf(name, sizeof name, "%.120s.%.120s", p->components[i].local,
                     p->components[i].port[k].name);
            add_offer(&o, name);
        }
    for (size_t i = 1; i < p->n_scopes; i++) {
        const char *inner = p->scopes[i].prefix;
        size_t n = strlen(prefix), m = strlen(inner);
        if (strncmp(inner, prefix, n) != 0 || m <= n + 1) continue;
        for (size_t k = 0; k < p->scopes[i].n_ports; k++) {
            snprintf(name, sizeof name, "%.*s.%.120s", (int)(m - n - 1 < 120 ? m - n - 1 : 120),
                     inner + n, p->scopes[i].port[k].name);
            add_offer(&o, name);
        }
    }
    cls_status status =
        clsi_at(r, where, "no port is called `%.*s`%s%s%s; there are %s", (int)length,
                r->clean + where, o.near[0] ? " (did you mean `" : "", o.near,
                o.near[0] ? "`?)" : "", o.list.failed || !o.list.data ? "none" : o.list.data);
    clsi_text_clear(&o.list);
    return status;
}

/* A port and how the text calls it. */
typedef struct mention {
    clsi_port *port;
    size_t where, length;
} mention;

static cls_status join(clsi_ports *p, const mention *first, const mention *second, clsi_reader *r) {
    const clsi_port *a = first->port, *b = second->port;
    const char *one_name = r->clean + first->where, *other_name = r->clean + second->where;
    int n = (int)first->length, m = (int)second->length;
    if (a->thermal != b->thermal)
        return clsi_at(r, second->where,
                       "`%.*s` and `%.*s` do not fit: one carries entropy, the other does not "
                       "(`entropy` in front of a port's name says that it does)",
                       n, one_name, m, other_name);
    if (a->unit && b->unit && strcmp(a->unit, b->unit) != 0)
        return clsi_at(r, second->where,
                       "`%.*s` [%s] and `%.*s` [%s] do not fit: their units differ", n, one_name,
                       a->unit, m, other_name, b->unit);
    size_t one = clsi_node_root(p, a->node), other = clsi_node_root(p, b->node);
    p->parent[one > other ? one : other] = one > other ? other : one;
    return CLS_OK;
}

static cls_status connect(clsi_ports *p, const clsi_connection *link) {
    clsi_reader *r = clsi_source_of(p, link->list);
    clsi_cursor c = {link->list.begin, link->list.end};
    mention first = {0};
    size_t n = 0;
    char found[48];
    do {
        size_t length = clsi_word_length(r, &c, 1), where = c.at;
        if (!length)
            return clsi_at(r, c.at, "expected a port, `component.port`, found %s",
                           clsi_found(r, &c, found));
        clsi_port *port = find_port(p, link->scope, r->clean + where, length);
        if (!port) return no_port(p, link->scope, r, where, length);
        /* a port of a composite is connected twice, inside and outside */
        port->connected |= memchr(r->clean + where, '.', length) ? 1 : 2;
        mention now = {port, where, length};
        cls_status status = first.port && !link->free ? join(p, &first, &now, r) : CLS_OK;
        if (status != CLS_OK) return status;
        if (!first.port) first = now;
        n++;
        c.at = where + length;
    } while (clsi_accept(r, &c, ","));
    if (n < 2 && !link->free)
        return clsi_at(r, link->list.begin, "`connect` joins two ports or more, this is one");
    return clsi_expect_end(r, &c);
}

static cls_status check_open(clsi_ports *p) {
    for (size_t i = 0; i < p->n_components; i++)
        for (size_t k = 0; k < p->components[i].n_ports; k++) {
            const clsi_component *c = &p->components[i];
            if (c->port[k].connected) continue;
            clsi_span at = c->used ? c->whole : c->port[k].where;
            return clsi_at(clsi_source_of(p, at), at.begin,
                           "the port `%s.%s` is open: `connect` it to another port, or say "
                           "`free %s.%s`",
                           c->name, c->port[k].name, c->name, c->port[k].name);
        }
    for (size_t i = 1; i < p->n_scopes; i++)
        for (size_t k = 0; k < p->scopes[i].n_ports; k++) {
            const clsi_scope_names *s = &p->scopes[i];
            const clsi_port *port = &s->port[k];
            int n = (int)strlen(s->prefix) - 1;
            if (!(port->connected & 2))
                return clsi_at(clsi_source_of(p, port->where), port->where.begin,
                               "the port `%s` is open inside the component: `connect` it there",
                               port->name);
            if (!(port->connected & 1))
                return clsi_at(clsi_source_of(p, s->title), s->title.begin,
                               "the port `%.*s.%s` is open: `connect` it to another port, or say "
                               "`free %.*s.%s`",
                               n, s->prefix, port->name, n, s->prefix, port->name);
        }
    return CLS_OK;
}

cls_status clsi_ports_connect(clsi_ports *p) {
    cls_status status = CLS_OK;
    for (size_t i = 0; i < p->n_connections && status == CLS_OK; i++)
        status = connect(p, &p->connections[i]);
    return status == CLS_OK ? check_open(p) : status;
}
