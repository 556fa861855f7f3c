/* The expression graph: storage, hash-consing, and what can be asked of a node.
 *
 * Equal subexpressions are one node, so a derivative costs memory in proportion to what is new in
 * it. Nodes are made in build.c. */
#include "expr/graph.h"
#include "base/base.h"
#include "base/misuse.h"
#include "expr/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- storage ---- */

/* Two words, each spread over the whole by a multiplication (the constant is 2^64 / golden ratio). */
static uint64_t hash_node(const clsi_node *node) {
    uint64_t word[2], h = 0;
    memcpy(word, node, sizeof word);
    for (int k = 0; k < 2; k++) {
        h = (h ^ word[k]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

/* Where a node is looked for: among the nodes that are made of its younger argument, then of the older
 * one, as far as they have less than MOST of them, then in a table by hash. What is built together stands
 * together, so that a graph of millions of nodes is built out of the cache, and nothing has to be entered
 * anew when it grows; an argument that everything is made of has a list of MOST all the same. Lists only
 * grow, so that a node is looked for where it was put. */
enum { MOST = 8, FIRST_SLOTS = 64 };

/* The key is compared as bytes: 0.0 and -0.0 differ, a NaN equals itself. clsi_node has no padding
 * (4 bytes, 3 words). */
_Static_assert(sizeof(clsi_node) == 16, "clsi_node is hashed as bytes");

static int is_same(const clsi_node *a, const clsi_node *b) {
    uint64_t x[2], y[2];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    return x[1] == y[1] && x[0] == y[0];
}

/* Whose lists a node may stand in. Constants, symbols and fields stand in none, and no constant has one. */
static size_t lists_of(const cls_graph *g, const clsi_node *n, cls_node list[2]) {
    size_t count = 0;
    if (n->op == CLS_OP_CONSTANT || n->op == CLS_OP_SYMBOL || n->op == CLS_OP_FIELD) return 0;
    for (int i = 0; i < 2; i++)
        if (n->arg[i] < g->n && g->nodes[n->arg[i]].op != CLS_OP_CONSTANT)
            list[count++] = n->arg[i];
    if (count == 2 && list[0] == list[1]) count = 1;
    if (count == 2 && list[0] < list[1]) {
        cls_node older = list[0];
        list[0] = list[1];
        list[1] = older;
    }
    return count;
}

/* Where a node is, or where it belongs. */
typedef struct place {
    uint32_t found; /* node + 1 */
    cls_node list;  /* CLS_NO_NODE: in the table */
    size_t slot;
} place;

static place place_of(const cls_graph *g, const clsi_node *key) {
    cls_node list[2];
    size_t lists = lists_of(g, key, list);
    for (size_t i = 0; i < lists; i++) {
        size_t seen = 0;
        for (uint32_t at = g->links[list[i]].first; at; at = g->links[at - 1].next, seen++)
            if (is_same(&g->nodes[at - 1], key)) return (place){at, list[i], 0};
        if (seen < MOST) return (place){0, list[i], 0};
    }
    size_t mask = g->table_size - 1, slot = hash_node(key) & mask;
    while (g->table[slot] && !is_same(&g->nodes[g->table[slot] - 1], key)) slot = (slot + 1) & mask;
    return (place){g->table[slot], CLS_NO_NODE, slot};
}

cls_status cls_graph_create(const cls_graph_limits *limits, cls_graph **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    *out = NULL;
    cls_graph *g = clsi_calloc(1, sizeof *g);
    if (!g) return clsi_no_memory(error);
    if (limits) g->limits = *limits;
    if (!g->limits.max_nodes) g->limits.max_nodes = 1000000;
    if (!g->limits.max_length) g->limits.max_length = 65536;
    if (!g->limits.max_depth) g->limits.max_depth = 200;
    g->table_size = FIRST_SLOTS;
    g->table = clsi_calloc(g->table_size, sizeof *g->table);
    if (!g->table) {
        free(g);
        return clsi_no_memory(error);
    }
    *out = g;
    return CLS_OK;
}

void cls_graph_free(cls_graph **graph) {
    if (!graph) return;
    cls_graph *g = *graph;
    if (!g) return;
    for (size_t k = 0; k < g->n_names; k++) free(g->names[k]);
    free(g->names);
    free(g->name_table);
    for (size_t k = 0; k < g->n_blocks; k++) free(g->blocks[k].names);
    free(g->blocks);
    clsi_graph_drop_fields(g);
    free(g->nodes);
    free(g->table);
    free(g->links);
    free(g);
    *graph = NULL;
}

/* A copy of n elements, with as much room as they take; *ok becomes 0 without memory. */
static void *copied(const void *from, size_t n, size_t size, int *ok) {
    void *to = n ? clsi_calloc(n, size) : NULL;
    if (n && !to) *ok = 0;
    if (to) memcpy(to, from, n * size);
    return to;
}

cls_status clsi_graph_copy(const cls_graph *g, cls_graph **out, cls_error *error) {
    int ok = 1;
    cls_graph *c = *out = copied(g, 1, sizeof *g, &ok);
    if (!c) return clsi_no_memory(error);
    c->n_names = c->n_fields = c->n_blocks = 0; /* what is owned is counted when it is there */
    c->nodes = copied(g->nodes, g->n, sizeof *g->nodes, &ok);
    c->table = g->table ? copied(g->table, g->table_size, sizeof *g->table, &ok) : NULL;
    c->links = g->table ? copied(g->links, g->n, sizeof *g->links, &ok) : NULL;
    c->name_table = copied(g->name_table, g->name_slots, sizeof *g->name_table, &ok);
    c->points = copied(g->points, g->n_points, sizeof *g->points, &ok);
    c->point_nodes = copied(g->point_nodes, g->n_point_nodes, sizeof *g->point_nodes, &ok);
    c->names = copied(g->names, g->n_names, sizeof *g->names, &ok);
    c->blocks = copied(g->blocks, g->n_blocks, sizeof *g->blocks, &ok);
    c->fields = copied(g->fields, g->n_fields, sizeof *g->fields, &ok);
    c->capacity = g->n;
    c->links_room = c->links ? g->n : 0;
    c->names_capacity = g->n_names;
    c->blocks_room = g->n_blocks;
    c->points_capacity = g->n_points;
    c->point_nodes_capacity = g->n_point_nodes;
    c->fields_capacity = g->n_fields;
    for (; ok && c->n_names < g->n_names; c->n_names += (size_t)ok)
        ok = (c->names[c->n_names] = clsi_strdup(g->names[c->n_names])) != NULL;
    for (; ok && c->n_blocks < g->n_blocks; c->n_blocks += (size_t)ok) {
        clsi_symbol_block *b = &c->blocks[c->n_blocks];
        b->names = copied(b->names, b->count * b->stems, b->width, &ok);
    }
    for (; ok && c->n_fields < g->n_fields; c->n_fields++)
        clsi_graph_field_keep(c->fields[c->n_fields]);
    if (!ok) cls_graph_free(out);
    return ok ? CLS_OK : clsi_no_memory(error);
}

cls_status cls_graph_status(const cls_graph *g, cls_error *error) {
    NEED(error, g);
    if (g->error.status != CLS_OK && error) *error = g->error;
    return g->error.status;
}

const cls_graph_limits *clsi_graph_limits(const cls_graph *g) {
    return &g->limits;
}

cls_node clsi_graph_fail(cls_graph *g, cls_status status, const char *text) {
    if (g->error.status == CLS_OK) (void)clsi_fail(&g->error, status, "%s", text);
    return CLS_NO_NODE;
}

cls_status clsi_graph_failed(const cls_graph *g, cls_error *error) {
    cls_status status = cls_graph_status(g, error);
    return status == CLS_OK ? clsi_no_memory(error) : status;
}

cls_status clsi_graph_no_memory(const cls_graph *g) {
    clsi_graph_fail((cls_graph *)g, CLS_MEMORY, "out of memory");
    return CLS_MEMORY;
}

/* Node k into the list or the table; the place is that of its key. */
static void put(cls_graph *g, size_t k, const place *at) {
    g->links[k] = (clsi_link){0, 0};
    if (at->list == CLS_NO_NODE) {
        g->table[at->slot] = (uint32_t)k + 1;
        g->in_table++;
        return;
    }
    g->links[k].next = g->links[at->list].first;
    g->links[at->list].first = (uint32_t)k + 1;
}

/* A table twice as large, which is at most half full. */
static int grow_table(cls_graph *g) {
    size_t size = 2 * g->table_size;
    uint32_t *table = clsi_calloc(size, sizeof *table);
    if (!table) return 0;
    for (size_t i = 0; i < g->table_size; i++) {
        if (!g->table[i]) continue;
        size_t slot = hash_node(&g->nodes[g->table[i] - 1]) & (size - 1);
        while (table[slot]) slot = (slot + 1) & (size - 1);
        table[slot] = g->table[i];
    }
    free(g->table);
    g->table = table;
    g->table_size = size;
    return 1;
}

void clsi_graph_pack(cls_graph *g) {
    free(g->table);
    free(g->links);
    g->table = NULL;
    g->links = NULL;
    g->links_room = 0;
}

void clsi_graph_empty(cls_graph *g) {
    clsi_graph_pack(g);
    free(g->nodes);
    g->nodes = NULL;
    g->n = g->capacity = 0;
    memset(g->large, 0, sizeof g->large);
}

/* The lists and the table of the nodes that are there: what was given back. */
static int unpack(cls_graph *g) {
    size_t n = g->n;
    if (!clsi_grow(&g->links, &g->links_room, n, sizeof *g->links)) return 0;
    if (!(g->table = clsi_calloc(g->table_size, sizeof *g->table))) return 0;
    g->in_table = 0;
    for (size_t k = 0; k < n; k++) {
        g->n = k; /* as it was when this one was made */
        g->links[k] = (clsi_link){0, 0};
        if (clsi_is_block_symbol(&g->nodes[k])) continue;
        place at = place_of(g, &g->nodes[k]);
        put(g, k, &at);
    }
    g->n = n;
    return 1;
}

static int room_for_one(cls_graph *g) {
    if (g->n < g->capacity && g->n < g->links_room) return 1;
    return clsi_grow(&g->nodes, &g->capacity, g->n + 1, sizeof *g->nodes) &&
           clsi_grow(&g->links, &g->links_room, g->n + 1, sizeof *g->links);
}

static cls_node too_large(cls_graph *g) {
    char text[128];
    snprintf(text, sizeof text, "expression too large: more than %zu nodes; simplify the formulas",
             g->limits.max_nodes);
    return clsi_graph_fail(g, CLS_SYSTEM, text);
}

cls_node clsi_intern(cls_graph *g, const clsi_node *key) {
    if (!g->table && !unpack(g)) return clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    place at = place_of(g, key);
    if (at.found) return at.found - 1;
    if (g->error.status != CLS_OK) return CLS_NO_NODE;
    if (g->n >= g->limits.max_nodes) return too_large(g);
    if (!room_for_one(g)) return clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    g->nodes[g->n] = *key;
    put(g, g->n, &at);
    g->n++;
    if (2 * g->in_table > g->table_size && !grow_table(g))
        return clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    return (cls_node)(g->n - 1);
}

/* ---- looking ---- */

size_t cls_graph_size(const cls_graph *g) {
    if (!g) return 0;
    return g->n;
}

/* Of what is no node: the constant nan. */
cls_op cls_node_op(const cls_graph *g, cls_node a) {
    if (!g) return CLS_OP_CONSTANT;
    if (a >= g->n) return CLS_OP_CONSTANT;
    return (cls_op)g->nodes[a].op;
}

size_t cls_node_arg_count(const cls_graph *g, cls_node a) {
    if (!g) return 0;
    return a < g->n ? clsi_arg_count(g, a) : 0;
}

cls_node cls_node_arg(const cls_graph *g, cls_node a, size_t i) {
    if (!g) return CLS_NO_NODE;
    return i < cls_node_arg_count(g, a) ? clsi_arg(g, a, i) : CLS_NO_NODE;
}

double cls_node_value(const cls_graph *g, cls_node a) {
    if (!g) return NAN;
    if (a >= g->n) return NAN;
    return g->nodes[a].op == CLS_OP_CONSTANT ? clsi_value(&g->nodes[a]) : 0;
}

const char *cls_node_name(const cls_graph *g, cls_node a) {
    if (!g) return NULL;
    if (cls_node_op(g, a) != CLS_OP_SYMBOL) return "";
    uint32_t name = g->nodes[a].arg[0];
    return name & CLSI_BLOCK_NAME ? clsi_block_name(g, name) : g->names[name];
}

cls_function cls_node_function(const cls_graph *g, cls_node a) {
    if (!g) return CLS_FN_EXP;
    return a < g->n ? (cls_function)g->nodes[a].function : CLS_FN_EXP;
}

void cls_node_orders(const cls_graph *g, cls_node a, int *i, int *j) {
    if (!g) return;
    if (!i || !j) return;
    *i = a < g->n ? g->nodes[a].i : 0;
    *j = a < g->n ? g->nodes[a].j : 0;
}

const char *cls_function_name(cls_function f) {
    static const char *const names[] = {
#define CLSI_FUNCTION_NAME(name, text) text,
        CLS_FUNCTION_LIST(CLSI_FUNCTION_NAME)
#undef CLSI_FUNCTION_NAME
            "power"};
    return (size_t)f < sizeof names / sizeof *names ? names[f] : "";
}

int cls_is_constant(const cls_graph *g, cls_node a, double value) {
    if (!g) return 0;
    return a < g->n && g->nodes[a].op == CLS_OP_CONSTANT && clsi_value(&g->nodes[a]) == value;
}

void clsi_reach(const cls_graph *g, size_t n, const cls_node *nodes, unsigned char *reach) {
    memset(reach, 0, g->n);
    size_t top = 0;
    for (size_t k = 0; k < n; k++) {
        if (nodes[k] >= g->n) continue;
        reach[nodes[k]] = 1;
        if (nodes[k] + 1 > top) top = nodes[k] + 1;
    }
    for (size_t k = top; k-- > 0;) {
        uint64_t eight = 0;
        while (k >= 8 && !reach[k] && (memcpy(&eight, reach + k - 7, 8), !eight)) k -= 8;
        if (!reach[k]) continue;
        size_t args = clsi_arg_count(g, k);
        for (size_t i = 0; i < args; i++) reach[clsi_arg(g, k, i)] = 1;
        if (clsi_block(g, k) != CLS_NO_NODE) reach[clsi_block(g, k)] = 1;
    }
}

size_t clsi_expression_length(const cls_graph *g, cls_node a) {
    clsi_cone cone;
    if (a == CLS_NO_NODE) return SIZE_MAX;
    if (!clsi_cone_collect(g, 1, &a, &cone)) {
        clsi_cone_free(&cone);
        (void)clsi_graph_no_memory(g);
        return SIZE_MAX;
    }
    size_t count = 0;
    for (size_t k = 0; k < cone.n; k++) count += cls_node_arg_count(g, cone.node[k]) > 0;
    clsi_cone_free(&cone);
    return count;
}

int cls_depends(const cls_graph *g, cls_node a, size_t n, const cls_node *symbols) {
    if (!g) return 0;
    clsi_cone cone;
    if (a >= g->n || !n) return 0;
    if (!clsi_cone_mark(g, 1, &a, &cone)) {
        clsi_cone_free(&cone); /* the safe answer for every caller: assume it does */
        (void)clsi_graph_no_memory(g);
        return 1;
    }
    int found = 0;
    for (size_t k = 0; k < n && !found; k++) found = clsi_cone_has(&cone, symbols[k]);
    clsi_cone_free(&cone);
    return found;
}

static int by_number(const void *a, const void *b) {
    const cls_node x = *(const cls_node *)a, y = *(const cls_node *)b;
    return (x > y) - (x < y);
}

static void sort_nodes(size_t n, cls_node *list) {
    if (n > 16) {
        qsort(list, n, sizeof *list, by_number);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        cls_node a = list[i];
        size_t j = i;
        for (; j > 0 && list[j - 1] > a; j--) list[j] = list[j - 1];
        list[j] = a;
    }
}

cls_node *clsi_list_symbols(const cls_graph *g, size_t count, const cls_node *nodes, size_t *n) {
    clsi_cone cone;
    cls_node *out = NULL;
    size_t room = 0;
    *n = 0;
    if (!clsi_cone_mark(g, count, nodes, &cone)) {
        clsi_cone_free(&cone);
        (void)clsi_graph_no_memory(g);
        return NULL;
    }
    int good = clsi_grow(&out, &room, 1, sizeof *out);
    for (size_t k = 0; k < cone.n && !cone.dense && good; k++)
        if (g->nodes[cone.node[k]].op == CLS_OP_SYMBOL &&
            (good = clsi_grow(&out, &room, *n + 1, sizeof *out)))
            out[(*n)++] = cone.node[k];
    for (size_t w = 0; cone.dense && w <= g->n / 64 && good; w++)
        for (uint64_t left = cone.bits[w]; left && good; left &= left - 1) {
            cls_node a = (cls_node)(64 * w + (unsigned)__builtin_ctzll(left));
            if (g->nodes[a].op == CLS_OP_SYMBOL &&
                (good = clsi_grow(&out, &room, *n + 1, sizeof *out)))
                out[(*n)++] = a;
        }
    if (good && !cone.dense && *n > 1) sort_nodes(*n, out);
    clsi_cone_free(&cone);
    if (!good) free(out);
    return good ? out : NULL;
}

size_t cls_symbols_of(const cls_graph *g, size_t n, const cls_node *nodes, size_t cap,
                      cls_node *out) {
    if (!g || (n && !nodes) || (cap && !out)) return 0;
    size_t count;
    cls_node *symbols = clsi_list_symbols(g, n, nodes, &count);
    if (!symbols) (void)clsi_graph_no_memory(g);
    for (size_t k = 0; k < count && k < cap; k++) out[k] = symbols[k];
    free(symbols);
    return count;
}
