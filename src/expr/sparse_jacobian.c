/* Jacobians of which most entries are zero, row by row.
 *
 * Each row is one reverse walk over what the row is made of, so that the cost is the sum of the
 * sizes of the rows: for rows that are local (cells that know their neighbours) it grows like their
 * number. What rows share is one node whoever makes it first; rows of one shape are walked once (repeats.c). */
#include "base/base.h"
#include "expr/graph.h"
#include <stdlib.h>
#include <string.h>

/* The symbols of one row, with their columns. */
typedef struct row {
    cls_node *symbol, *slope;
    uint32_t *column;
    size_t n, symbols_room, slopes_room, columns_room;
} row;

static int find_symbols(size_t n, const cls_node *node, const clsi_columns *columns, row *r) {
    r->n = 0;
    int good = clsi_grow(&r->symbol, &r->symbols_room, n, sizeof *r->symbol) &&
               clsi_grow(&r->slope, &r->slopes_room, n, sizeof *r->slope) &&
               clsi_grow(&r->column, &r->columns_room, n, sizeof *r->column);
    for (size_t k = 0; k < n && good; k++) {
        uint32_t of = node[k] < columns->size ? columns->of[node[k]] : 0;
        if (!of) continue;
        r->symbol[r->n] = node[k];
        r->column[r->n++] = of - 1;
    }
    return good;
}

/* The slopes of a row in its symbols. */
static int differentiate(cls_graph *g, cls_node a, const clsi_columns *columns,
                         clsi_repeats *repeats, row *r) {
    clsi_cone cone;
    const cls_node *members;
    size_t n = clsi_repeats_members(repeats, a, &members);
    if (n && !find_symbols(n, members, columns, r)) return 0;
    if (n && clsi_repeats_again(repeats, r->n, r->symbol, &n, r->slope)) return 1;
    if (!clsi_cone_create(g, 1, &a, &cone)) return 0;
    int good = find_symbols(cone.n, cone.node, columns, r);
    if (good && !clsi_repeats_find(repeats, &cone, r->n, r->symbol, &n, r->slope)) {
        good = cls_gradient(g, a, r->n, r->symbol, r->slope) == CLS_OK;
        if (good) clsi_repeats_keep(repeats, r->n, r->slope);
    }
    clsi_cone_free(&cone);
    return good;
}

static int add_entry(clsi_rows *out, uint32_t column, cls_node node) {
    if (!clsi_grow(&out->column, &out->columns_room, out->n + 1, sizeof *out->column) ||
        !clsi_grow(&out->node, &out->nodes_room, out->n + 1, sizeof *out->node))
        return 0;
    out->column[out->n] = column;
    out->node[out->n++] = node;
    return 1;
}

int clsi_columns_create(const cls_graph *g, size_t n, const cls_node *symbols, clsi_columns *out) {
    out->size = 0;
    for (size_t j = 0; j < n; j++)
        if (symbols[j] >= out->size) out->size = (size_t)symbols[j] + 1;
    (void)g;
    out->of = clsi_calloc(out->size, sizeof *out->of);
    for (size_t j = 0; j < n && out->of; j++) out->of[symbols[j]] = (uint32_t)j + 1;
    return out->of != NULL;
}

cls_status clsi_sparse_jacobian(cls_graph *g, size_t count, const cls_node *nodes, size_t n,
                                const cls_node *symbols, clsi_rows *out) {
    clsi_columns columns;
    row r = {0};
    clsi_repeats *repeats = count > CLSI_MANY_TERMS ? clsi_repeats_create(g) : NULL;
    *out = (clsi_rows){.start = clsi_calloc(count + 1, sizeof *out->start)};
    int good = clsi_columns_create(g, n, symbols, &columns) && out->start;
    for (size_t i = 0; i < count && good; i++) {
        good = differentiate(g, nodes[i], &columns, repeats, &r);
        for (size_t k = 0; k < r.n && good; k++)
            if (!cls_is_constant(g, r.slope[k], 0)) good = add_entry(out, r.column[k], r.slope[k]);
        out->start[i + 1] = out->n;
    }
    clsi_repeats_free(&repeats);
    free(columns.of);
    free(r.symbol);
    free(r.slope);
    free(r.column);
    if (good) return cls_graph_status(g, NULL);
    clsi_rows_clear(out);
    clsi_graph_fail(g, CLS_MEMORY, "out of memory");
    return cls_graph_status(g, NULL);
}

void clsi_rows_clear(clsi_rows *rows) {
    free(rows->start);
    free(rows->column);
    free(rows->node);
    *rows = (clsi_rows){0};
}
