/* Replacing the same nodes in many formulas (replace.h): tables by number of a node, what it became. */
#include "expr/replace.h"
#include "base/base.h"
#include <stdlib.h>
#include <string.h>

enum { NEW, SAME, CHANGED, SET, FOUND }; /* SET: by the caller; FOUND: on the way to be replaced */

struct clsi_replacer {
    cls_graph *g;
    clsi_value_of value_of;
    const void *context;
    unsigned char *state; /* (room) */
    cls_node *to;         /* (room) where not NEW */
    cls_node *found;      /* of a call */
    size_t room, found_room;
};

clsi_replacer *clsi_replacer_create(cls_graph *g, clsi_value_of value_of, const void *context) {
    clsi_replacer *r = clsi_calloc(1, sizeof *r);
    if (r) *r = (clsi_replacer){.g = g, .value_of = value_of, .context = context};
    return r;
}

void clsi_replacer_free(clsi_replacer **r) {
    if (*r) {
        free((*r)->state);
        free((*r)->to);
        free((*r)->found);
    }
    free(*r);
    *r = NULL;
}

/* For all nodes that there are now. Pages that nobody writes to cost nothing. */
static int make_room(clsi_replacer *r) {
    size_t n = r->g->n;
    if (n <= r->room) return 1;
    size_t room = n + n / 2 + 64;
    unsigned char *state = clsi_calloc(room, 1);
    cls_node *to = clsi_calloc(room, sizeof *to);
    if (!state || !to) {
        free(state);
        free(to);
        return 0;
    }
    if (r->room) memcpy(state, r->state, r->room);
    for (size_t k = 0; k < r->room; k++)
        if (state[k]) to[k] = r->to[k];
    free(r->state);
    free(r->to);
    r->state = state;
    r->to = to;
    r->room = room;
    return 1;
}

int clsi_replacer_set(clsi_replacer *r, cls_node from, cls_node to) {
    if (from >= r->g->n) return 1;
    if (!make_room(r)) return 0;
    r->state[from] = SET;
    r->to[from] = to;
    return 1;
}

void clsi_replacer_forget(clsi_replacer *r, cls_node symbol) {
    if (!r || symbol >= r->room || r->state[symbol] == NEW) return;
    for (size_t k = 0; k < r->room; k++)
        if (r->state[k] != SET) r->state[k] = NEW;
}

/* ---- what has to be looked at ---- */

static int find(clsi_replacer *r, cls_node a, size_t *n) {
    if (r->state[a] != NEW) return 1;
    if (!clsi_grow(&r->found, &r->found_room, *n + 1, sizeof *r->found)) return 0;
    r->state[a] = FOUND;
    r->found[(*n)++] = a;
    return 1;
}

/* All that the nodes are made of and that was not met before. */
static int find_all(clsi_replacer *r, size_t count, const cls_node *nodes, size_t *n) {
    const cls_graph *g = r->g;
    int good = 1;
    for (size_t i = 0; i < count && good; i++)
        if (nodes[i] < g->n) good = find(r, nodes[i], n);
    for (size_t k = 0; k < *n && good; k++) { /* the list is its own queue */
        cls_node a = r->found[k], block = clsi_block(g, a);
        size_t args = clsi_arg_count(g, a);
        for (size_t i = 0; i < args && good; i++) good = find(r, clsi_arg(g, a, i), n);
        if (block != CLS_NO_NODE && good) good = find(r, block, n);
    }
    clsi_tell_visits(*n);
    for (size_t k = 0; k < *n && !good; k++) r->state[r->found[k]] = NEW;
    return good;
}

static int by_number(const void *a, const void *b) {
    const cls_node x = *(const cls_node *)a, y = *(const cls_node *)b;
    return (x > y) - (x < y);
}

/* Ascending: by a look at all in between where these are not many more. */
static void sort(clsi_replacer *r, size_t n) {
    cls_node first = CLS_NO_NODE, last = 0;
    for (size_t k = 0; k < n; k++) {
        if (r->found[k] < first) first = r->found[k];
        if (r->found[k] > last) last = r->found[k];
    }
    if (n < 64 || (last - first) / 32 > n) {
        if (n > 1) qsort(r->found, n, sizeof *r->found, by_number);
        return;
    }
    size_t at = 0;
    for (size_t k = first; k <= last; k++)
        if (r->state[k] == FOUND) r->found[at++] = (cls_node)k;
}

/* ---- replacing ---- */

static int is_active(const clsi_replacer *r, cls_node a) {
    return r->state[a] == CHANGED || r->state[a] == SET;
}

static void keep(clsi_replacer *r, cls_node a, int changed, cls_node to) {
    r->state[a] = changed ? CHANGED : SAME;
    r->to[a] = to;
}

static void replace_symbol(clsi_replacer *r, cls_node a) {
    cls_node to = r->value_of ? r->value_of(r->context, a) : CLS_NO_NODE;
    keep(r, a, to != CLS_NO_NODE, to != CLS_NO_NODE ? to : a);
}

static void replace_one(clsi_replacer *r, cls_node a) {
    cls_graph *g = r->g;
    if (cls_node_op(g, a) == CLS_OP_SYMBOL) {
        replace_symbol(r, a);
        return;
    }
    cls_node args[CLSI_NODE_ARGS] = {CLS_NO_NODE, CLS_NO_NODE, CLS_NO_NODE}, block;
    size_t n = clsi_arg_count(g, a);
    int active = (block = clsi_block(g, a)) != CLS_NO_NODE && is_active(r, block);
    for (size_t i = 0; i < n; i++) {
        cls_node b = clsi_arg(g, a, i);
        active |= is_active(r, b);
        args[i] = r->to[b];
    }
    keep(r, a, active, active ? clsi_rebuild(g, a, args) : a);
}

cls_status clsi_replace(clsi_replacer *r, size_t count, const cls_node *nodes, cls_node *out) {
    size_t n = 0, size = r->g->n;
    int good = make_room(r) && find_all(r, count, nodes, &n);
    if (good) {
        sort(r, n);
        for (size_t k = 0; k < n; k++) replace_one(r, r->found[k]);
    } else {
        (void)clsi_graph_no_memory(r->g);
    }
    for (size_t i = 0; i < count; i++)
        out[i] = good && nodes[i] < size ? r->to[nodes[i]] : CLS_NO_NODE;
    return cls_graph_status(r->g, NULL);
}
