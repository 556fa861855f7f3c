/* Lists of what depends on what (needs.h). Cost: for each row what its formula is made of, times a logarithm; a matrix
 * of all pairs, (8 N, 3 N) for N cells with three states, was the limit of FMUs. */
#include "export/needs.h"
#include <stdlib.h>
#include <string.h>

int clsi_needs_add(clsi_needs *x, size_t n, const uint32_t *of) {
    size_t from = x->m ? x->start[x->m] : 0;
    if (!clsi_grow(&x->start, &x->rows_room, x->m + 2, sizeof *x->start) ||
        !clsi_grow(&x->of, &x->room, from + n + 1, sizeof *x->of))
        return 0;
    if (n) memcpy(x->of + from, of, n * sizeof *of);
    x->start[0] = 0;
    x->start[++x->m] = from + n;
    return 1;
}

void clsi_needs_clear(clsi_needs *x) {
    free(x->start);
    free(x->of);
    *x = (clsi_needs){0};
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int clsi_needs_has(const clsi_needs *x, size_t row, size_t of) {
    uint32_t key = (uint32_t)of;
    return bsearch(&key, x->of + x->start[row], x->start[row + 1] - x->start[row], sizeof key,
                   ascending) != NULL;
}

/* ---- by formulas ---- */

typedef struct keyed {
    cls_node node;
    uint32_t number;
} keyed;

static int by_node(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

int clsi_known_create(size_t n, const cls_node *by, clsi_known *out) {
    keyed *k = clsi_calloc(n, sizeof *k);
    *out = (clsi_known){.by = by, .n = n, .sorted = clsi_calloc(2 * n, sizeof *out->sorted)};
    out->row = out->sorted ? out->sorted + n : NULL;
    int good = k && out->sorted;
    for (size_t i = 0; i < n && good; i++) k[i] = (keyed){by[i], (uint32_t)i};
    if (good) qsort(k, n, sizeof *k, by_node);
    for (size_t i = 0; i < n && good; i++) out->sorted[i] = k[i].number;
    free(k);
    return good;
}

void clsi_known_clear(clsi_known *k) {
    free(k->sorted);
    *k = (clsi_known){0};
}

/* The first of the sorted that is not below the node. */
static size_t first_at(const clsi_known *k, cls_node node) {
    size_t low = 0, high = k->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (k->by[k->sorted[middle]] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int clsi_needs_add_cone(clsi_needs *x, const cls_graph *g, const clsi_known *known, size_t count,
                        const cls_node *nodes) {
    clsi_cone cone;
    size_t n = 0;
    if (!clsi_cone_create(g, count, nodes, &cone)) return 0;
    if (cone.n > known->n / 8) {
        for (size_t k = 0; k < known->n; k++)
            if (clsi_cone_at(&cone, known->by[k])) known->row[n++] = (uint32_t)k;
    } else {
        for (size_t i = 0; i < cone.n; i++) {
            cls_node node = cone.node[i];
            for (size_t k = first_at(known, node);
                 k < known->n && known->by[known->sorted[k]] == node; k++)
                known->row[n++] = known->sorted[k];
        }
        qsort(known->row, n, sizeof *known->row, ascending);
    }
    clsi_cone_free(&cone);
    return clsi_needs_add(x, n, known->row);
}
