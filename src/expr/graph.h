/* The inside of a cls_graph, for the files of this room.
 *
 * A node's arguments are made before it, so indices are a topological order: a forward walk is a
 * loop upwards, a reverse walk a loop downwards, and neither can overflow a stack. */
#ifndef CLSI_GRAPH_H
#define CLSI_GRAPH_H

#include "expr/fields.h"
#include <clausius/graph.h>
#include <string.h>

typedef struct clsi_node {
    uint8_t op, function, i, j; /* i, j: orders of a quotient; i = 1: a SYMBOL that is learned */
    /* CLS_NO_NODE where unused; a SYMBOL keeps its name's index in [0], a FIELD other numbers
     * (fields.c): its arguments are had by clsi_arg; a CONSTANT its value in [1] and [2], had by clsi_value:
     * of a large system there are millions of nodes */
    uint32_t arg[3];
} clsi_node;

/* Of a CONSTANT. */
static inline double clsi_value(const clsi_node *n) {
    double value;
    memcpy(&value, &n->arg[1], sizeof value);
    return value;
}

/* The inputs of a field: n nodes from `first` on. */
typedef struct clsi_point_list {
    uint32_t first, n;
} clsi_point_list;

/* 1 + the youngest node in the list of those made of this one; 1 + the next in the list that this one is in. */
typedef struct clsi_link {
    uint32_t first, next;
} clsi_link;

/* The symbols of the elements of an array, made at once: u[1], v.u[1], p.u[1], u[2], ... A name is as long as
 * `width`, so that element k of stem j is the one at (k stems + j) width, and its node first + k stems + j. */
enum { CLSI_MOST_STEMS = 3, CLSI_MOST_INDICES = 3, CLSI_BLOCK_NAME = 1 << 30 };
typedef struct clsi_symbol_block {
    size_t stems, indices, count, width;
    long low[CLSI_MOST_INDICES], high[CLSI_MOST_INDICES];
    char stem[CLSI_MOST_STEMS][80];
    cls_node first;
    uint32_t first_name; /* arg[0] of the first, without CLSI_BLOCK_NAME */
    char *names;         /* (count, stems, width) */
} clsi_symbol_block;

/* A large formula is made of more nodes than people write; so many are known to be such. */
enum { CLSI_LARGE_FORMULA = 2000, CLSI_KNOWN_LARGE = 64 };

struct cls_graph {
    clsi_node *nodes;
    size_t n, capacity;
    clsi_link *links; /* (n) where nodes are looked for (graph.c); NULL together with the table */
    size_t links_room;
    uint32_t *table; /* of those in no list: open addressing, node + 1, 0 empty */
    size_t table_size, in_table;
    cls_node common[4];               /* 1 + the nodes of the constants 0, 1, -1, 0.5 */
    cls_node recent[64];              /* and of some others, by hash */
    cls_node large[CLSI_KNOWN_LARGE]; /* 1 + nodes that are large (cone.c), by number */
    char **names;
    size_t n_names, names_capacity;
    uint32_t *name_table; /* (name_slots) open addressing, name + 1, 0 empty */
    size_t name_slots;
    clsi_symbol_block *blocks;
    size_t n_blocks, blocks_room, n_block_names;
    clsi_graph_field **fields;
    size_t n_fields, fields_capacity;
    clsi_point_list *points;
    size_t n_points, points_capacity;
    cls_node *point_nodes;
    size_t n_point_nodes, point_nodes_capacity;
    unsigned fresh; /* counter for cls_fresh_symbol */
    cls_graph_limits limits;
    cls_error error; /* the first failure; status CLS_OK while all is well */
};

/* A symbol for a number that is learned. Constants do not float past it: w (2 x) stays what it is,
 * the product of a coefficient with what a layer is given, and layers can be seen as matrices. */
cls_node clsi_parameter_symbol(cls_graph *g, const char *name);
/* Symbols for all elements of an array, whose names nobody has: `like` says stems, indices, low and high. 0: some
 * name is there already, or memory (then the graph has failed). */
const clsi_symbol_block *clsi_symbols(cls_graph *g, const clsi_symbol_block *like);
/* Which element (*element) and stem (*stem) this is, by its name or by its node; NULL: none. */
const clsi_symbol_block *clsi_block_by_name(const cls_graph *g, const char *name, size_t length,
                                            size_t *element, size_t *stem);
const clsi_symbol_block *clsi_block_by_node(const cls_graph *g, cls_node a, size_t *element,
                                            size_t *stem);
const char *clsi_block_name(const cls_graph *g, uint32_t name);
static inline int clsi_is_block_symbol(const clsi_node *n) {
    return n->op == CLS_OP_SYMBOL && (n->arg[0] & CLSI_BLOCK_NAME);
}
/* The place of an element by its indices, the last running fastest; SIZE_MAX: outside. */
static inline size_t clsi_block_element(const clsi_symbol_block *b, const long *index) {
    size_t k = 0;
    for (size_t i = 0; i < b->indices; i++) {
        if (index[i] < b->low[i] || index[i] > b->high[i]) return SIZE_MAX;
        k = k * (size_t)(b->high[i] - b->low[i] + 1) + (size_t)(index[i] - b->low[i]);
    }
    return k;
}
/* The one place where nodes are made; all bytes of the key count. */
cls_node clsi_intern(cls_graph *g, const clsi_node *key);
/* Argument i of node k, any operation. */
static inline cls_node clsi_arg(const cls_graph *g, size_t k, size_t i) {
    const clsi_node *n = &g->nodes[k];
    if (n->op != CLS_OP_FIELD) return n->arg[i];
    size_t d = g->points[n->arg[0]].n;
    if (i < d) return clsi_point_node(g, n->arg[0], i);
    return n->arg[1] == CLS_NO_NODE ? CLS_NO_NODE : clsi_point_node(g, n->arg[1], i - d);
}
/* The number of arguments of node k, which is one. */
static inline size_t clsi_arg_count(const cls_graph *g, size_t k) {
    static const uint8_t counts[] = {
        [CLS_OP_CONSTANT] = 0, [CLS_OP_SYMBOL] = 0,  [CLS_OP_ADD] = 2, [CLS_OP_SUB] = 2,
        [CLS_OP_MUL] = 2,      [CLS_OP_DIV] = 2,     [CLS_OP_NEG] = 1, [CLS_OP_POW] = 2,
        [CLS_OP_FUNCTION] = 1, [CLS_OP_QUOTIENT] = 2};
    const clsi_node *n = &g->nodes[k];
    if (n->op == CLS_OP_FIELD) return g->points[n->arg[0]].n * (n->arg[1] == CLS_NO_NODE ? 1 : 2);
    return counts[n->op] + (n->op == CLS_OP_QUOTIENT && n->function == CLS_FN_POWER);
}
/* The first parameter of a field node that is being learned, which stands for all of them; else
 * CLS_NO_NODE. */
static inline cls_node clsi_block(const cls_graph *g, size_t k) {
    const clsi_node *n = &g->nodes[k];
    return n->op == CLS_OP_FIELD ? g->fields[n->arg[2] & 0xffffff]->block : CLS_NO_NODE;
}
/* A graph with the same nodes under the same numbers, to build on where the other is const. */
cls_status clsi_graph_copy(const cls_graph *g, cls_graph **out, cls_error *error);
/* Gives back the table that nodes are looked up in, a good part of a large graph's memory; it is made again
 * when something is built. */
void clsi_graph_pack(cls_graph *g);
/* Drops all nodes that the lists are not made of, and gives these their new numbers (keep.c): every other number of a
 * node that anybody has means nothing then. 0: nothing was done, for want of memory or since there are fields. */
typedef struct clsi_node_list {
    size_t n;
    cls_node *node; /* CLS_NO_NODE stays */
} clsi_node_list;
int clsi_graph_keep(cls_graph *g, size_t n, const clsi_node_list *lists);
/* Gives back all nodes: there are none then. Its names and its status stay. */
void clsi_graph_empty(cls_graph *g);
const cls_graph_limits *clsi_graph_limits(const cls_graph *g);
/* What x^c is where both are constants. */
double clsi_folded_power(double x, double c);
/* Records a failure (the first one stays) and returns CLS_NO_NODE. */
cls_node clsi_graph_fail(cls_graph *g, cls_status status, const char *text);
/* The status of a walk over the graph that failed: the graph's own, else memory of the walk. */
cls_status clsi_graph_failed(const cls_graph *g, cls_error *error);
/* The same for memory, also in answers to questions, whose graph is const: a wrong answer must not
 * go unnoticed. What is built on a graph may ignore the status of single transformations, because
 * cls_graph_status at the end has it. */
cls_status clsi_graph_no_memory(const cls_graph *g);
/* t_1 + t_2 + ..., from left to right; of more than CLSI_MANY_TERMS in pairs, so that round-off and
 * depth grow like log n. */
enum { CLSI_MANY_TERMS = 48 };
cls_node clsi_sum(cls_graph *g, size_t n, const cls_node *terms);
/* How many of n marks are 0 before the first that is not: eight at a time, mostly. */
static inline size_t clsi_unmarked(const unsigned char *mark, size_t n) {
    size_t k = 0;
    uint64_t eight = 0;
    while (k + 8 <= n && (memcpy(&eight, mark + k, 8), !eight)) k += 8;
    while (k < n && !mark[k]) k++;
    return k;
}
/* reach[k] = 1 for every node that the given ones contain; `reach` has g->n bytes, zeroed here. */
void clsi_reach(const cls_graph *g, size_t n, const cls_node *nodes, unsigned char *reach);
/* The nodes that some are made of, ascending, found at the cost of their number (cone.c). Not to be
 * copied: a small one stands in itself. */
enum { CLSI_FEW_NODES = 64 };
typedef struct clsi_cone {
    size_t n, room;
    cls_node *node;  /* (n) */
    uint32_t *place; /* open addressing (slots), or by node (size) when dense: position + 1 */
    uint64_t *bits;  /* when dense: which nodes are members */
    size_t slots, size;
    int dense, marks; /* marks: when dense there are bits alone */
    int small;        /* then all is here */
    cls_node few[CLSI_FEW_NODES];
    uint8_t few_places[2 * CLSI_FEW_NODES];
} clsi_cone;
/* 0 when out of memory. */
int clsi_cone_create(const cls_graph *g, size_t count, const cls_node *nodes, clsi_cone *out);
/* The same in no order, for questions; to be freed in any case. */
int clsi_cone_collect(const cls_graph *g, size_t count, const cls_node *nodes, clsi_cone *out);
void clsi_cone_free(clsi_cone *c);
/* Whether `a` contains more than CLSI_LARGE_FORMULA nodes: at most so many are visited, and of a large part that
 * was met before none. Also 1 when out of memory, or for no node. */
int clsi_is_large(cls_graph *g, cls_node a);
/* Is told how many nodes a walk has visited; the library has none, a test that counts work brings it. */
void clsi_visit_hook(size_t n);
void clsi_tell_visits(size_t n);
/* Operations and symbols that a node is made of; SIZE_MAX: out of memory. */
size_t clsi_cone_weight(const cls_graph *g, cls_node a);
/* For the question which nodes are members alone; to be freed in any case. */
int clsi_cone_mark(const cls_graph *g, size_t count, const cls_node *nodes, clsi_cone *out);
static inline int clsi_cone_has(const clsi_cone *c, cls_node a);
/* The position of a member + 1, 0 for others. */
uint32_t clsi_cone_look_up(const clsi_cone *c, cls_node a); /* where it is not dense */
static inline uint32_t clsi_cone_at(const clsi_cone *c, cls_node a) {
    if (c->dense) return a < c->size && (c->bits[a / 64] >> a % 64 & 1) ? c->place[a] : 0;
    return clsi_cone_look_up(c, a);
}
static inline int clsi_cone_has(const clsi_cone *c, cls_node a) {
    if (c->dense) return a < c->size && (c->bits[a / 64] >> a % 64 & 1);
    return clsi_cone_look_up(c, a) != 0;
}
/* active[k] = 1 (n bytes, zeroed by the caller) for members that contain one of the symbols. */
void clsi_cone_active(const cls_graph *g, const clsi_cone *c, size_t n, const cls_node *symbols,
                      unsigned char *active);
/* Work on formulas of equal shape, done once and mapped over their nodes (repeats.c). Marks: members that have
 * a part of their own in the work (the symbols differentiated by), in an order that the work follows; what
 * else it depends on must be the same for all formulas that one clsi_repeats is asked about. find: 1 when
 * a formula of this shape was kept, and then its results, at most as many as the work gives; else the
 * caller does the work and may keep its results, before anything else is asked. NULL: never found. */
typedef struct clsi_repeats clsi_repeats;
clsi_repeats *clsi_repeats_create(cls_graph *g); /* NULL: no memory, and no harm */
void clsi_repeats_free(clsi_repeats **repeats);
int clsi_repeats_find(clsi_repeats *r, const clsi_cone *cone, size_t n_marks, const cls_node *marks,
                      size_t *n_out, cls_node *out);
void clsi_repeats_keep(clsi_repeats *r, size_t n_out, const cls_node *out);
/* The same without a cone, where a formula has the shape of one that was found lately: its members but for
 * constants, ascending, of which the caller takes the marks; 0: not so. Then the results, unless marks are others. */
size_t clsi_repeats_members(clsi_repeats *r, cls_node formula, const cls_node **members);
int clsi_repeats_again(clsi_repeats *r, size_t n_marks, const cls_node *marks, size_t *n_out,
                       cls_node *out);
/* The symbols that some nodes contain, ascending, for the caller to free; NULL: no memory. */
cls_node *clsi_list_symbols(const cls_graph *g, size_t count, const cls_node *nodes, size_t *n);
/* The number of nodes that `a` contains; without constants and symbols. */
size_t clsi_expression_length(const cls_graph *g, cls_node a);
/* The node with the same operation as `a` and other arguments, simplified locally. */
cls_node clsi_rebuild(cls_graph *g, cls_node a, const cls_node *args);
/* cls_simplify for expressions of a size that people write; larger ones, which are learned, stay:
 * nothing cancels in them, and looking would take longer than using them. */
cls_node clsi_simplify_written(cls_graph *g, cls_node a);
/* active[k] = 1 for nodes below `top` of `reach` that contain one of the symbols. */
void clsi_mark_active(const cls_graph *g, size_t top, const unsigned char *reach, size_t n,
                      const cls_node *symbols, unsigned char *active);

/* Pieces of a graph that forward walks step over, because the slopes of the exit in the entries are
 * known (jacobian.c). */
typedef struct clsi_shortcut {
    size_t first, n; /* of entries and slopes */
} clsi_shortcut;
typedef struct clsi_shortcuts {
    size_t size, n, n_entries, list_room, entries_room, slopes_room;
    uint32_t *of; /* (size) 0: a node like any other, CLSI_WALKED_AROUND, or 1 + its shortcut */
    clsi_shortcut *list;
    cls_node *entries, *slopes;
} clsi_shortcuts;
#define CLSI_WALKED_AROUND UINT32_MAX

/* out[i*stride] = d nodes[i] / d symbol; shortcuts may be NULL. */
cls_status clsi_forward(cls_graph *g, size_t count, const cls_node *nodes, cls_node symbol,
                        const clsi_shortcuts *shortcuts, size_t stride, cls_node *out);
/* The same along a direction: out[i*stride] = sum of d nodes[i]/d symbols[j] direction[j]. */
cls_status clsi_along(cls_graph *g, size_t count, const cls_node *nodes, size_t n,
                      const cls_node *symbols, const cls_node *direction,
                      const clsi_shortcuts *shortcuts, size_t stride, cls_node *out);
/* The slopes of a in nodes below it, as if these were symbols. */
cls_status clsi_slopes_between(cls_graph *g, cls_node a, size_t n, const cls_node *nodes,
                               cls_node *out);
/* The slopes of a in parameters that are being learned: in those that stand in it as symbols by
 * out (n), those of fields by the slopes in the nodes of these (the caller frees `node`). */
typedef struct clsi_field_slopes_list {
    size_t n;
    cls_node *node, *slope;
} clsi_field_slopes_list;
cls_status clsi_learned_slopes(cls_graph *g, cls_node a, size_t n, const cls_node *symbols,
                               cls_node *out, clsi_field_slopes_list *fields);
/* Symbols by number: of[node] is the column + 1, 0 for others; `of` is the caller's. */
typedef struct clsi_columns {
    size_t size;
    uint32_t *of;
} clsi_columns;
int clsi_columns_create(const cls_graph *g, size_t n, const cls_node *symbols, clsi_columns *out);
/* Entries of a matrix by rows: those of row i are [start[i], start[i + 1]), columns in no order. */
typedef struct clsi_rows {
    size_t n, columns_room, nodes_room;
    size_t *start;
    uint32_t *column;
    cls_node *node;
} clsi_rows;
/* d nodes[i] / d symbols[j] where it is not zero (sparse_jacobian.c). */
cls_status clsi_sparse_jacobian(cls_graph *g, size_t count, const cls_node *nodes, size_t n,
                                const cls_node *symbols, clsi_rows *out);
void clsi_rows_clear(clsi_rows *rows);
/* f'(x) and the constant factor-free pieces are built from the language's own functions. */
cls_node clsi_function_derivative(cls_graph *g, cls_function f, cls_node x);

#endif
