/* Sparse LU with the pivots on the diagonal and a pattern that stays.
 *
 * Problem: the Jacobian of a step of a chain, a mesh or a rod has a few entries in each row. The
 * unknown and its own equation make the pivot (h times one, a mass, a heat capacity: never zero by
 * pattern), so that the order of elimination is a matter of fill alone and is found once: minimum
 * degree on the pattern of A + A^T, cliques written out. Rows and columns that touch nearly
 * everything (one temperature for all) are put last and taken as full: a border. In the step rows
 * are eliminated one after the other into lists of fixed places; nothing is allocated, and the bits
 * depend on the matrix alone. Not promised: that a pivot is not small. Newton's method sees that by
 * an update that does not contract, and the step is halved. */
#include "system/sparse_lu.h"
#include "base/base.h"
#include "system/dissect.h"
#include "system/fronts.h"
#include "system/segments.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of neighbours ---- */

typedef clsi_neighbours list;

typedef struct graph {
    size_t n, n_full;
    double spent;         /* products of what is eliminated */
    int dear;             /* more of them than finding another order takes: not all is eliminated */
    list *near;           /* (n) neighbours, ascending; after elimination: row of U */
    unsigned char *state; /* (n) */
    uint32_t *head, *next, *previous; /* buckets of nodes by degree */
    list merged;
} graph;

enum { WAITING, DONE, FULL };
#define NOBODY UINT32_MAX

static int append(list *l, uint32_t a) {
    if (!clsi_grow(&l->at, &l->room, l->n + 1, sizeof *l->at)) return 0;
    l->at[l->n++] = a;
    return 1;
}

static int by_number(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort_once(list *l) {
    size_t kept = 0;
    if (l->n) qsort(l->at, l->n, sizeof *l->at, by_number);
    for (size_t k = 0; k < l->n; k++)
        if (!kept || l->at[kept - 1] != l->at[k]) l->at[kept++] = l->at[k];
    l->n = kept;
}

/* A + A^T without the diagonal; what touches nearly everything is FULL and in nobody's list. */
static int find_neighbours(graph *g, const size_t *start, const uint32_t *column) {
    size_t limit = 16 + (size_t)(10 * sqrt((double)g->n)),
           *count = clsi_calloc(g->n, sizeof *count);
    if (!count) return 0;
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = start[i]; k < start[i + 1]; k++)
            if (column[k] != i) count[i]++, count[column[k]]++;
    for (size_t i = 0; i < g->n; i++)
        if (count[i] > 2 * limit) g->state[i] = FULL, g->n_full++;
    free(count);
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = start[i]; k < start[i + 1] && g->state[i] != FULL; k++) {
            uint32_t j = column[k];
            if (j == i || g->state[j] == FULL) continue;
            if (!append(&g->near[i], j) || !append(&g->near[j], (uint32_t)i)) return 0;
        }
    for (size_t i = 0; i < g->n; i++) sort_once(&g->near[i]);
    return 1;
}

/* ---- the order ---- */

static void put_bucket(graph *g, uint32_t v) {
    size_t d = g->near[v].n;
    g->previous[v] = NOBODY;
    g->next[v] = g->head[d];
    if (g->head[d] != NOBODY) g->previous[g->head[d]] = v;
    g->head[d] = v;
}

static void take_bucket(graph *g, uint32_t v) {
    size_t d = g->near[v].n;
    if (g->previous[v] != NOBODY)
        g->next[g->previous[v]] = g->next[v];
    else
        g->head[d] = g->next[v];
    if (g->next[v] != NOBODY) g->previous[g->next[v]] = g->previous[v];
}

/* near[u] = near[u] + near[v] - u - v. Most of the time of ordering a mesh: nothing is asked for single elements, and
 * no branch depends on them. */
static int join(graph *g, uint32_t u, uint32_t v) {
    list *a = &g->near[u], *merged = &g->merged;
    const list *b = &g->near[v];
    if (!clsi_grow(&merged->at, &merged->room, a->n + b->n, sizeof *merged->at)) return 0;
    uint32_t *to = merged->at;
    size_t i = 0, j = 0;
    while (i < a->n && j < b->n) {
        uint32_t x = a->at[i], y = b->at[j], least = x < y ? x : y;
        i += x == least;
        j += y == least;
        *to = least;
        to += (least != u) & (least != v);
    }
    for (; i < a->n; i++) {
        *to = a->at[i];
        to += (*to != u) & (*to != v);
    }
    for (; j < b->n; j++) {
        *to = b->at[j];
        to += (*to != u) & (*to != v);
    }
    merged->n = (size_t)(to - merged->at);
    if (!clsi_grow(&a->at, &a->room, merged->n, sizeof *a->at)) return 0;
    if (merged->n) memcpy(a->at, merged->at, merged->n * sizeof *a->at);
    a->n = merged->n;
    return 1;
}

/* Nodes of equal degree go in the order of their numbers as far as buckets tell: a chain is
 * eliminated from its ends, or from everywhere at once; the fill is the same. */
static int eliminate(graph *g, double most, uint32_t *order) {
    size_t placed = 0, least = 0;
    g->spent = 0;
    g->dear = 0;
    for (size_t d = 0; d < g->n; d++) g->head[d] = NOBODY;
    for (size_t i = g->n; i-- > 0;)
        if (g->state[i] == WAITING) put_bucket(g, (uint32_t)i);
    while (placed < g->n - g->n_full) {
        while (g->head[least] == NOBODY) least++;
        uint32_t v = g->head[least];
        g->spent += (double)(least + g->n_full) * (double)(least + g->n_full + 1);
        g->dear = g->spent > most;
        if (g->dear) return 1;
        take_bucket(g, v);
        g->state[v] = DONE;
        order[placed++] = v;
        for (size_t k = 0; k < g->near[v].n; k++) {
            uint32_t u = g->near[v].at[k];
            take_bucket(g, u);
            if (!join(g, u, v)) return 0;
            put_bucket(g, u);
            if (g->near[u].n < least) least = g->near[u].n;
        }
    }
    for (size_t i = 0; i < g->n; i++)
        if (g->state[i] == FULL) order[placed++] = (uint32_t)i;
    return 1;
}

/* In an order that is given (the border left out). */
static int follow(graph *g, const uint32_t *order) {
    for (size_t i = 0; i < g->n - g->n_full; i++) {
        const list *near = &g->near[order[i]];
        g->state[order[i]] = DONE;
        for (size_t k = 0; k < near->n; k++)
            if (!join(g, near->at[k], order[i])) return 0;
    }
    return 1;
}

/* Operations of the elimination of the rows at `place` and behind, when the lists are those of U. */
static double cost(const graph *g, const uint32_t *order, size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
        double d = (double)(g->near[order[i]].n + g->n_full);
        sum += d * (d + 1);
    }
    return sum;
}

/* ---- rows of L and U ---- */

/* Lists of rows: near[] has U without the border; L is its transpose. */
static int lay_rows(graph *g, clsi_sparse_lu *lu) {
    size_t n = g->n, border = n - g->n_full, *fill = clsi_calloc(n + 1, sizeof *fill);
    lu->first = clsi_calloc(n + 1, sizeof *lu->first);
    lu->diagonal = clsi_calloc(n, sizeof *lu->diagonal);
    if (!fill || !lu->first || !lu->diagonal) return free(fill), 0;
    for (size_t i = 0; i < n; i++) lu->place[lu->order[i]] = (uint32_t)i;
    for (size_t i = 0; i < border; i++) { /* lengths of the rows of L */
        list *u = &g->near[lu->order[i]];
        for (size_t k = 0; k < u->n; k++) u->at[k] = lu->place[u->at[k]];
        if (u->n) qsort(u->at, u->n, sizeof *u->at, by_number);
        for (size_t k = 0; k < u->n; k++) fill[u->at[k]]++;
    }
    for (size_t i = 0; i < n; i++) {
        size_t below = i < border ? fill[i] : i;
        size_t above = i < border ? g->near[lu->order[i]].n + g->n_full : n - 1 - i;
        lu->diagonal[i] = lu->first[i] + below;
        lu->first[i + 1] = lu->diagonal[i] + 1 + above;
        fill[i] = lu->first[i];
    }
    lu->column = clsi_calloc(lu->first[n], sizeof *lu->column);
    for (size_t i = 0; i < n && lu->column; i++) {
        size_t at = lu->diagonal[i];
        lu->column[at++] = (uint32_t)i;
        const list *u = &g->near[lu->order[i]];
        for (size_t k = 0; k < u->n && i < border; k++) {
            lu->column[at++] = u->at[k];
            lu->column[fill[u->at[k]]++] = (uint32_t)i;
        }
        for (size_t j = i < border ? border : i + 1; j < n; j++) lu->column[at++] = (uint32_t)j;
        for (size_t j = 0; i >= border && j < i; j++) lu->column[lu->first[i] + j] = (uint32_t)j;
    }
    free(fill);
    return lu->column != NULL;
}

static int lay_entries(clsi_sparse_lu *lu, const size_t *start, const uint32_t *column,
                       const uint32_t *stands) {
    lu->n_entries = start[lu->n];
    lu->target = clsi_calloc(lu->n_entries, sizeof *lu->target);
    lu->source = clsi_calloc(lu->n_entries, sizeof *lu->source);
    lu->from = clsi_calloc(lu->n + 1, sizeof *lu->from);
    if (!lu->target || !lu->source || !lu->from) return 0;
    size_t at = 0;
    for (size_t i = 0; i < lu->n; i++) {
        uint32_t row = lu->order[i];
        for (size_t k = start[row]; k < start[row + 1]; k++, at++) {
            lu->source[at] = stands ? stands[k] : (uint32_t)k;
            lu->target[at] = lu->place[column[k]];
        }
        lu->from[i + 1] = at;
    }
    return 1;
}

/* The pattern of A + A^T has places that no operation ever reaches: momenta do not feel the temperatures that their
 * friction feeds. Rows are eliminated once more without numbers, and only what an entry or a product comes to stays:
 * of a chain with temperatures a fifth of the places and half of the operations go. As much work as an elimination,
 * so for chains only. */
static int leave_out_zeros(clsi_sparse_lu *lu) {
    unsigned char *reached = clsi_calloc(lu->n, 1);
    size_t at = 0, begin = 0;
    if (!reached) return 0;
    for (size_t i = 0; i < lu->n; i++) {
        size_t middle = lu->diagonal[i], end = lu->first[i + 1], k = begin;
        begin = end;
        reached[i] = 1;
        for (size_t e = lu->from[i]; e < lu->from[i + 1]; e++) reached[lu->target[e]] = 1;
        lu->first[i] = at;
        for (; k < end; k++) { /* what is kept of the rows above stands before this one */
            uint32_t c = lu->column[k];
            if (!reached[c]) continue;
            if (k == middle) lu->diagonal[i] = at;
            lu->column[at++] = c;
            for (size_t j = lu->diagonal[c] + 1; k < middle && j < lu->first[c + 1]; j++)
                reached[lu->column[j]] = 1;
        }
        for (k = lu->first[i]; k < at; k++) reached[lu->column[k]] = 0;
    }
    lu->first[lu->n] = at;
    free(reached);
    return 1;
}

int clsi_sparse_lu_by_diagonals(size_t n, const size_t *start, const uint32_t *column,
                                uint32_t *stands) {
    enum { LONG = 32 };
    size_t *begin = clsi_calloc(2 * n + 1, sizeof *begin), at = 0, rest = SIZE_MAX;
    if (!begin) return 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = start[i]; k < start[i + 1]; k++) begin[n + column[k] - i]++;
    for (size_t d = 0; d <= 2 * n; d++) {
        size_t count = begin[d];
        begin[d] = count < LONG ? rest : at;
        if (count >= LONG) at += count;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = start[i]; k < start[i + 1]; k++) {
            size_t *next = &begin[n + column[k] - i];
            stands[k] = (uint32_t)(*next == rest ? at++ : (*next)++);
        }
    free(begin);
    return 1;
}

static int open_graph(graph *g, size_t n, const size_t *start, const uint32_t *column) {
    *g = (graph){.n = n};
    g->near = clsi_calloc(n, sizeof *g->near);
    g->state = clsi_calloc(n, 1);
    g->head = clsi_calloc(3 * n, sizeof *g->head);
    if (!g->near || !g->state || !g->head) return 0;
    g->next = g->head + n;
    g->previous = g->next + n;
    return find_neighbours(g, start, column);
}

static void close_graph(graph *g) {
    for (size_t i = 0; i < g->n && g->near; i++) free(g->near[i].at);
    free(g->merged.at);
    free(g->near);
    free(g->state);
    free(g->head);
    *g = (graph){0};
}

/* The order of the cuts in place of the one that is there, if it is done faster: of eight lanes that are
 * not alike two may be wasted, and walls are done one by one. */
static int choose_cuts(graph *g, clsi_sparse_lu *lu, const size_t *start, const uint32_t *column,
                       clsi_cuts *cuts) {
    graph other;
    int good = open_graph(&other, g->n, start, column);
    unsigned char *border = other.state;
    good = good && clsi_cuts_find(g->n, other.near, border, cuts);
    if (good && cuts->order) {
        good = follow(&other, cuts->order);
        size_t apart = cuts->inside + cuts->apart;
        double lanes = cost(&other, cuts->order, 0, cuts->inside) / 4 +
                       cost(&other, cuts->order, cuts->inside, apart);
        if (good && lanes < (g->dear ? g->spent : cost(g, lu->order, 0, apart))) {
            graph kept = *g;
            *g = other;
            other = kept;
            g->dear = 0;
            memcpy(lu->order, cuts->order, apart * sizeof *lu->order);
        } else {
            clsi_cuts_clear(cuts);
        }
    }
    close_graph(&other);
    return good;
}

/* ---- blocks ---- */

enum { FEW = 1000 }; /* rows: of fewer every matrix is eliminated entry by entry */
/* Products for each entry of L and U from which on full blocks are faster. */
static const double FILLED = 10;
/* Products for each row that nested dissection takes the time of, a dozen factorisations counted. */
static const double ORDERED = 5000;

/* The waiting nodes and their neighbours as they were. */
static int dissect(const graph *g, uint32_t *order) {
    size_t edges = 0, n = 0, placed = 0;
    uint32_t *number = clsi_calloc(3 * g->n, sizeof *number), *node = number + g->n,
             *found = node + g->n;
    clsi_net net = {.start = clsi_calloc(g->n + 1, sizeof *net.start)};
    for (size_t i = 0; i < g->n; i++) edges += g->near[i].n;
    net.near = clsi_calloc(edges, sizeof *net.near);
    int good = number && net.start && net.near;
    for (size_t i = 0; i < g->n && good; i++)
        if (g->state[i] == WAITING) node[net.n] = (uint32_t)i, number[i] = (uint32_t)net.n++;
    for (size_t i = 0; i < net.n && good; i++) {
        const list *near = &g->near[node[i]];
        for (size_t k = 0; k < near->n; k++) net.near[n++] = number[near->at[k]];
        net.start[i + 1] = n;
    }
    good = good && clsi_dissect(&net, found);
    for (size_t i = 0; i < net.n && good; i++) order[placed++] = node[found[i]];
    for (size_t i = 0; i < g->n && good; i++)
        if (g->state[i] == FULL) order[placed++] = (uint32_t)i;
    free(number);
    free(net.start);
    free(net.near);
    return good;
}

/* Whether so much is filled that blocks are faster; then their tables. */
static int choose_fronts(const graph *g, clsi_sparse_lu *lu, const size_t *start,
                         const uint32_t *column, const uint32_t *stands) {
    double fill = (double)lu->n;
    if (lu->n < FEW) return 1;
    for (size_t i = 0; i < lu->n && !g->dear; i++) fill += 2 * (double)(g->near[i].n + g->n_full);
    if (!g->dear && g->spent <= FILLED * fill) return 1;
    if (g->dear) {
        graph other;
        int good = open_graph(&other, g->n, start, column) && dissect(&other, lu->order);
        close_graph(&other);
        if (!good) return 0;
    }
    return clsi_fronts_create(lu->n, start, column, stands, lu->order, &lu->fronts);
}

/* Tables of places, unless there are blocks. */
static int lay_tables(graph *g, clsi_sparse_lu *lu, const size_t *start, const uint32_t *column,
                      const uint32_t *stands, clsi_cuts *cuts) {
    if (lu->fronts) return 1;
    return lay_rows(g, lu) && lay_entries(lu, start, column, stands) &&
           (!cuts->order || leave_out_zeros(lu)) &&
           (!cuts->order || clsi_segments_create(lu, cuts, &lu->segments));
}

static cls_status create(size_t n, const size_t *start, const uint32_t *column, int fast,
                         int blocks, const uint32_t *stands, clsi_sparse_lu **out,
                         cls_error *error) {
    clsi_sparse_lu *lu = *out = clsi_calloc(1, sizeof *lu);
    graph g = {0};
    clsi_cuts cuts = {0};
    double most = blocks && n >= FEW ? ORDERED * (double)n : INFINITY;
    int good = lu && open_graph(&g, n, start, column);
    if (good) {
        lu->n = n;
        lu->n_entries = start[n];
        lu->order = clsi_calloc(n, sizeof *lu->order);
        lu->place = clsi_calloc(n, sizeof *lu->place);
        good = lu->order && lu->place && eliminate(&g, most, lu->order) &&
               (!fast || choose_cuts(&g, lu, start, column, &cuts)) &&
               (!blocks || cuts.order || choose_fronts(&g, lu, start, column, stands)) &&
               lay_tables(&g, lu, start, column, stands, &cuts);
    }
    close_graph(&g);
    clsi_cuts_clear(&cuts);
    if (good) return CLS_OK;
    clsi_sparse_lu_free(out);
    return clsi_no_memory(error);
}

cls_status clsi_sparse_lu_create(size_t n, const size_t *start, const uint32_t *column,
                                 clsi_sparse_lu **out, cls_error *error) {
    return create(n, start, column, 0, 0, NULL, out, error);
}

cls_status clsi_sparse_lu_create_fast(size_t n, const size_t *start, const uint32_t *column,
                                      clsi_sparse_lu **out, cls_error *error) {
    return create(n, start, column, 1, 1, NULL, out, error);
}

cls_status clsi_sparse_lu_create_placed(size_t n, const size_t *start, const uint32_t *column,
                                        const uint32_t *stands, int blocks, clsi_sparse_lu **out,
                                        cls_error *error) {
    return create(n, start, column, 1, blocks, stands, out, error);
}

void clsi_sparse_lu_free(clsi_sparse_lu **lu) {
    clsi_sparse_lu *x = *lu;
    if (!x) return;
    clsi_segments_free(&x->segments);
    clsi_fronts_free(&x->fronts);
    void *const lists[] = {x->order,  x->place, x->first, x->diagonal, x->column, x->target,
                           x->source, x->from,  x};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    *lu = NULL;
}

/* ---- numbers ---- */

/* Products of a factorisation in registers take so much less time than those of a solution, whose factors come from
 * far (measured: plates of 100 x 100 and 200 x 200 cells, solids of 20 x 20 x 20). */
double clsi_sparse_lu_price(const clsi_sparse_lu *lu) {
    return lu->fronts ? 1 + lu->fronts->work / (8 * (double)lu->fronts->n_values) : 0;
}

size_t clsi_sparse_lu_size(const clsi_sparse_lu *lu) {
    if (lu->fronts) return clsi_fronts_size(lu->fronts);
    size_t plain = lu->first[lu->n] + 2 * lu->n, lanes = lu->segments ? clsi_segments_size(lu) : 0;
    return lanes > plain ? lanes : plain;
}

#define CLSI_LU_START size_t
#define CLSI_LU_INDEX uint32_t
#include "system/sparse_lu.inc"

size_t clsi_sparse_lu_factor_for(const clsi_sparse_lu *lu, const double *a, const double *b,
                                 double *work) {
    if (lu->segments) return clsi_segments_factor(lu, a, b, work);
    if (lu->fronts) return clsi_fronts_factor(lu->fronts, a, work);
    return sparse_factor(lu->n, lu->first, lu->diagonal, lu->column, lu->from, lu->target,
                         lu->source, a, work);
}

/* (Any list of n numbers: nobody asks for its solution.) */
size_t clsi_sparse_lu_factor(const clsi_sparse_lu *lu, const double *a, double *work) {
    return clsi_sparse_lu_factor_for(lu, a, a, work);
}

int clsi_sparse_lu_checks(const clsi_sparse_lu *lu) {
    return lu->segments != NULL;
}

void clsi_sparse_lu_solve(const clsi_sparse_lu *lu, double *work, double *b) {
    if (lu->segments)
        clsi_segments_solve(lu, work, b);
    else if (lu->fronts)
        clsi_fronts_solve(lu->fronts, lu->order, work, b);
    else
        sparse_solve(lu->n, lu->first, lu->diagonal, lu->column, lu->order, work, b);
}

void clsi_sparse_lu_finish(const clsi_sparse_lu *lu, double *work, const double *b, double *x) {
    if (lu->segments) {
        clsi_segments_finish(lu, work, b, x);
        return;
    }
    memcpy(x, b, lu->n * sizeof *x);
    clsi_sparse_lu_solve(lu, work, x);
}
