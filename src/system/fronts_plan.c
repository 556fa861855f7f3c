/* Which rows of a sparse matrix are eliminated together as a full block, and where its numbers stand.
 *
 * The tree of elimination: column j leaves its rows to the first of them. A column that has the rows of the one
 * before it, and that one, belongs to the same block; small blocks are taken with the one above them although
 * zeros are computed then, because a block of eight columns costs hardly more than one of two. The tree is walked
 * through so that what is left waits on a stack. All of it costs about as many turns as there are rows in all
 * blocks; done once (Liu, SIAM Rev. 34, 1992; Ashcraft and Grimes, ACM Trans. Math. Softw. 15, 1989). */
#include "base/base.h"
#include "system/fronts.h"
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

/* Blocks of so few columns take the block below them in any case; of more, where this part of the numbers are zeros. */
enum { TINY = 4, LITTLE = 16, SOME = 48 };
static const double LITTLE_ZEROS = 0.5, SOME_ZEROS = 0.1, ZEROS = 0.05;

typedef struct plan {
    size_t n;
    const size_t *start;
    const uint32_t *column;
    size_t *begin;            /* (n + 1) neighbours behind a place ... */
    uint32_t *later;          /* ... which are not sorted, and some twice */
    uint32_t *place;          /* (n) of a row of the matrix */
    uint32_t *parent, *count; /* (n) of the tree; rows below */
    uint32_t *mark;           /* (n) */
} plan;

static void close_plan(plan *p) {
    void *const lists[] = {p->begin, p->later, p->place, p->parent, p->count, p->mark};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
}

static int open_plan(plan *p) {
    size_t n = p->n;
    p->begin = clsi_calloc(n + 2, sizeof *p->begin);
    p->later = clsi_calloc(p->start[n] + 1, sizeof *p->later);
    p->place = clsi_calloc(n, sizeof *p->place);
    p->parent = clsi_calloc(n, sizeof *p->parent);
    p->count = clsi_calloc(n, sizeof *p->count);
    p->mark = clsi_calloc(n, sizeof *p->mark);
    return p->begin && p->later && p->place && p->parent && p->count && p->mark;
}

/* For each place those behind it in the pattern of A + A^T. */
static void find_later(plan *p, const uint32_t *order) {
    memset(p->begin, 0, (p->n + 2) * sizeof *p->begin);
    for (size_t i = 0; i < p->n; i++) p->place[order[i]] = (uint32_t)i;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < p->n; i++)
            for (size_t k = p->start[i]; k < p->start[i + 1]; k++) {
                uint32_t a = p->place[i], b = p->place[p->column[k]];
                uint32_t low = a < b ? a : b, high = a < b ? b : a;
                if (a == b) continue;
                if (turn)
                    p->later[p->begin[low + 1]++] = high;
                else
                    p->begin[low + 2]++;
            }
        for (size_t i = 0; i < p->n && !turn; i++) p->begin[i + 2] += p->begin[i + 1];
    }
}

/* Adds to rows (room of n) those in a list that are behind `least`, each once. */
static size_t add_rows(plan *p, size_t own, uint32_t least, const uint32_t *list, size_t length,
                       uint32_t *rows, size_t n) {
    for (size_t k = 0; k < length; k++) {
        uint32_t r = list[k];
        if (r < least || p->mark[r] == own) continue;
        p->mark[r] = (uint32_t)own;
        rows[n++] = r;
    }
    return n;
}

/* Parents and numbers of rows. Rows of a column are kept until its parent has taken them. */
static int find_tree(plan *p) {
    size_t n = p->n;
    uint32_t **kept = clsi_calloc(n, sizeof *kept), *rows = clsi_calloc(n, sizeof *rows);
    uint32_t *child = clsi_calloc(2 * n, sizeof *child), *sibling = child + n;
    int good = kept && rows && child;
    for (size_t j = 0; j < n && good; j++) child[j] = sibling[j] = p->mark[j] = NOBODY;
    for (size_t j = 0; j < n && good; j++) {
        size_t length = add_rows(p, j, (uint32_t)j + 1, p->later + p->begin[j],
                                 p->begin[j + 1] - p->begin[j], rows, 0);
        for (uint32_t c = child[j]; c != NOBODY; c = sibling[c]) {
            length = add_rows(p, j, (uint32_t)j + 1, kept[c], p->count[c], rows, length);
            free(kept[c]);
            kept[c] = NULL;
        }
        p->count[j] = (uint32_t)length;
        p->parent[j] = NOBODY;
        for (size_t k = 0; k < length; k++)
            if (rows[k] < p->parent[j]) p->parent[j] = rows[k];
        if (!length) continue;
        kept[j] = clsi_malloc(length * sizeof *rows);
        good = kept[j] != NULL;
        if (good) memcpy(kept[j], rows, length * sizeof *rows);
        sibling[j] = child[p->parent[j]];
        child[p->parent[j]] = (uint32_t)j;
    }
    for (size_t j = 0; j < n && kept; j++) free(kept[j]);
    free(kept);
    free(rows);
    free(child);
    return good;
}

/* Children before parents, those of a parent together, the one with the most rows last: it may become part of
 * its parent. The tables of the tree are renamed. */
static int walk_tree(plan *p, uint32_t *order) {
    size_t n = p->n, at = 0, top = 0;
    uint32_t *child = clsi_calloc(7 * n, sizeof *child), *sibling = child + n,
             *stack = child + 2 * n, *old = child + 3 * n, *fresh = child + 4 * n,
             *parent = child + 5 * n, *count = child + 6 * n;
    if (!child) return 0;
    for (size_t j = 0; j < n; j++) child[j] = sibling[j] = NOBODY;
    for (size_t j = n; j-- > 0;) {
        uint32_t q = p->parent[j];
        if (q == NOBODY) continue;
        uint32_t *link = &child[q]; /* the largest first: the walk from the roots turns it round */
        if (*link != NOBODY && p->count[*link] > p->count[j]) link = &sibling[*link];
        sibling[j] = *link;
        *link = (uint32_t)j;
    }
    for (size_t j = 0; j < n; j++)
        if (p->parent[j] == NOBODY) stack[top++] = (uint32_t)j;
    while (top) { /* parents first, from behind */
        uint32_t j = stack[--top];
        old[n - 1 - at++] = j;
        size_t from = top;
        for (uint32_t c = child[j]; c != NOBODY; c = sibling[c]) stack[top++] = c;
        for (size_t a = from, b = top; a + 1 < b; a++, b--) { /* the first one on top */
            uint32_t swap = stack[a];
            stack[a] = stack[b - 1];
            stack[b - 1] = swap;
        }
    }
    for (size_t k = 0; k < n; k++) fresh[old[k]] = (uint32_t)k;
    for (size_t k = 0; k < n; k++) {
        uint32_t q = p->parent[old[k]];
        parent[k] = q == NOBODY ? NOBODY : fresh[q];
        count[k] = p->count[old[k]];
        stack[k] = order[old[k]];
    }
    memcpy(p->parent, parent, n * sizeof *parent);
    memcpy(p->count, count, n * sizeof *count);
    memcpy(order, stack, n * sizeof *order);
    free(child);
    return 1;
}

/* ---- blocks ---- */

/* Whether a block of s columns and r rows takes the one before it, of t columns and q rows. */
static int worth(double s, double r, double t, double q, double *zeros) {
    double more = *zeros + t * (s + r - q), columns = s + t;
    double all = columns * (columns + 1) / 2 + columns * r, part = more / all;
    int good = columns <= TINY || part < ZEROS || (columns <= LITTLE && part < LITTLE_ZEROS) ||
               (columns <= SOME && part < SOME_ZEROS);
    if (good) *zeros = more;
    return good;
}

/* Sizes of blocks: the columns of one have the same rows, with a few zeros. */
static int find_blocks(plan *p, clsi_fronts *f) {
    size_t n = p->n, top = 0;
    uint32_t *first = clsi_calloc(n, sizeof *first); /* of the blocks so far */
    double *zeros = clsi_calloc(n, sizeof *zeros);
    int good = first && zeros;
    for (size_t j = 0; j < n && good; j++) {
        int same = top && p->parent[j - 1] == j && p->count[j - 1] == p->count[j] + 1;
        if (!same) first[top] = (uint32_t)j, zeros[top++] = 0;
        int ends = j + 1 == n || p->parent[j] != j + 1 || p->count[j] != p->count[j + 1] + 1;
        while (ends && top > 1) { /* the block before hangs on this one, as it is now */
            uint32_t begin = first[top - 1], q = p->parent[begin - 1];
            double t = begin - first[top - 2], both = zeros[top - 1] + zeros[top - 2];
            if (q == NOBODY || q < begin || q > j) break;
            if (!worth((double)(j + 1 - begin), p->count[j], t, p->count[begin - 1], &both)) break;
            zeros[--top - 1] = both;
        }
    }
    f->n_fronts = top;
    f->front = good ? clsi_calloc(top, sizeof *f->front) : NULL;
    for (size_t k = 0; k < top && f->front; k++) {
        f->front[k].first = first[k];
        f->front[k].size = (uint32_t)((k + 1 < top ? first[k + 1] : n) - first[k]);
    }
    free(first);
    free(zeros);
    return f->front != NULL;
}

static int ascending(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static size_t padded(size_t n) {
    return (n + CLSI_FRONT_PAD - 1) / CLSI_FRONT_PAD * CLSI_FRONT_PAD;
}

/* Rows of each block; who takes them. */
static int find_rows(plan *p, clsi_fronts *f, uint32_t *block) {
    size_t room = 0, n = 0;
    uint32_t *rows = clsi_calloc(p->n, sizeof *rows),
             *last = clsi_calloc(f->n_fronts, sizeof *last);
    int good = rows && last;
    for (size_t i = 0; i < p->n && good; i++) p->mark[i] = NOBODY;
    for (size_t k = 0; k < f->n_fronts && good; k++) f->front[k].child = last[k] = CLSI_NO_FRONT;
    for (size_t k = 0; k < f->n_fronts && good; k++) {
        clsi_front *x = &f->front[k];
        uint32_t behind = x->first + x->size;
        size_t length = add_rows(p, k, behind, p->later + p->begin[x->first],
                                 p->begin[behind] - p->begin[x->first], rows, 0);
        for (uint32_t c = x->child; c != CLSI_NO_FRONT; c = f->front[c].sibling)
            length =
                add_rows(p, k, behind, f->row + f->front[c].row, f->front[c].rows, rows, length);
        if (length) qsort(rows, length, sizeof *rows, ascending);
        good = clsi_grow(&f->row, &room, n + length + 1, sizeof *f->row);
        if (!good) break;
        memcpy(f->row + n, rows, length * sizeof *rows);
        x->row = n;
        x->rows = (uint32_t)length;
        x->wide = (uint32_t)padded(length);
        x->sibling = CLSI_NO_FRONT;
        n += length;
        for (uint32_t i = x->first; i < behind; i++) block[i] = (uint32_t)k;
        if (length > f->widest) f->widest = length;
        if (x->size > f->longest) f->longest = x->size;
        /* (The block of the first row is not known yet: blocks are ascending, so by its place.) */
        if (!length) continue;
        size_t low = k + 1, high = f->n_fronts - 1;
        while (low < high) {
            size_t middle = (low + high + 1) / 2;
            if (f->front[middle].first <= rows[0])
                low = middle;
            else
                high = middle - 1;
        }
        if (last[low] == CLSI_NO_FRONT)
            f->front[low].child = (uint32_t)k;
        else
            f->front[last[low]].sibling = (uint32_t)k;
        last[low] = (uint32_t)k;
    }
    free(rows);
    free(last);
    return good;
}

/* Where rows are in the block that takes them. */
static int find_above(plan *p, clsi_fronts *f) {
    const clsi_front *end = &f->front[f->n_fronts - 1];
    f->above = clsi_calloc(end->row + end->rows + 1, sizeof *f->above);
    for (size_t k = 0; k < f->n_fronts && f->above; k++) {
        const clsi_front *x = &f->front[k];
        for (uint32_t i = 0; i < x->size; i++) p->mark[x->first + i] = i;
        for (uint32_t i = 0; i < x->rows; i++) p->mark[f->row[x->row + i]] = x->size + i;
        for (uint32_t c = x->child; c != CLSI_NO_FRONT; c = f->front[c].sibling)
            for (uint32_t i = 0; i < f->front[c].rows; i++)
                f->above[f->front[c].row + i] = p->mark[f->row[f->front[c].row + i]];
    }
    return f->above != NULL;
}

/* L of all blocks behind each other, then U: each is read from one end to the other. */
static void lay_values(clsi_fronts *f) {
    size_t top = 0;
    for (size_t k = 0; k < f->n_fronts; k++) {
        clsi_front *x = &f->front[k];
        double s = x->size, r = x->rows;
        x->below = f->n_values;
        f->n_values += (size_t)x->size * x->wide;
        f->work += s * s * s / 3 + s * s * r + s * r * r;
    }
    for (size_t k = 0; k < f->n_fronts; k++) {
        clsi_front *x = &f->front[k];
        x->pivots = f->n_values;
        f->n_values += x->size * padded(x->size);
        x->right = f->n_values;
        f->n_values += (size_t)x->size * x->wide;
    }
    for (size_t k = 0; k < f->n_fronts; k++) { /* rests on a stack */
        clsi_front *x = &f->front[k];
        size_t size = (size_t)x->rows * x->wide;
        x->made = top;
        x->rest = x->child == CLSI_NO_FRONT ? top : f->front[x->child].rest;
        if (x->made + size > f->n_rest) f->n_rest = x->made + size;
        top = x->rest + size;
    }
}

/* The number that an entry of the matrix goes to; its block in *k. */
static size_t number_of(const clsi_fronts *f, const uint32_t *block, uint32_t i, uint32_t j,
                        size_t *k) {
    uint32_t low = i < j ? i : j, high = i < j ? j : i;
    const clsi_front *x = &f->front[ *k = block[low]];
    if (high < x->first + x->size)
        return x->pivots + (i - x->first) * padded(x->size) + (j - x->first);
    const uint32_t *rows = f->row + x->row,
                   *at = bsearch(&high, rows, x->rows, sizeof *rows, ascending);
    return (i < j ? x->right : x->below) + (low - x->first) * (size_t)x->wide + (size_t)(at - rows);
}

static int lay_entries(plan *p, clsi_fronts *f, const uint32_t *stands, const uint32_t *block) {
    size_t n = p->start[p->n], *next = clsi_calloc(f->n_fronts + 1, sizeof *next), k;
    f->from = clsi_calloc(f->n_fronts + 1, sizeof *f->from);
    f->target = clsi_calloc(n, sizeof *f->target);
    f->source = clsi_calloc(n, sizeof *f->source);
    int good = f->from && f->target && f->source && next;
    for (int turn = 0; turn < 2 && good; turn++) {
        for (size_t i = 0; i < p->n; i++)
            for (size_t e = p->start[i]; e < p->start[i + 1]; e++) {
                size_t to = number_of(f, block, p->place[i], p->place[p->column[e]], &k);
                if (!turn) {
                    f->from[k + 1]++;
                    continue;
                }
                f->target[next[k]] = to;
                f->source[next[k]++] = stands ? stands[e] : (uint32_t)e;
            }
        for (k = 0; k < f->n_fronts && !turn; k++) f->from[k + 1] += f->from[k];
        memcpy(next, f->from, f->n_fronts * sizeof *next);
    }
    free(next);
    return good;
}

/* The matrix as it was given, for products with it. */
static int keep_matrix(plan *p, clsi_fronts *f, const uint32_t *stands) {
    size_t n = p->start[p->n];
    f->start = clsi_calloc(p->n + 1, sizeof *f->start);
    f->column = clsi_calloc(n, sizeof *f->column);
    f->stands = clsi_calloc(n, sizeof *f->stands);
    if (!f->start || !f->column || !f->stands) return 0;
    memcpy(f->start, p->start, (p->n + 1) * sizeof *f->start);
    memcpy(f->column, p->column, n * sizeof *f->column);
    for (size_t k = 0; k < n; k++) f->stands[k] = stands ? stands[k] : (uint32_t)k;
    return 1;
}

int clsi_fronts_create(size_t n, const size_t *start, const uint32_t *column,
                       const uint32_t *stands, uint32_t *order, clsi_fronts **out) {
    plan p = {.n = n, .start = start, .column = column};
    clsi_fronts *f = *out = clsi_calloc(1, sizeof *f);
    uint32_t *block = clsi_calloc(n, sizeof *block);
    int good = f && block && open_plan(&p);
    if (good) {
        f->n = n;
        find_later(&p, order);
        good = find_tree(&p) && walk_tree(&p, order) && find_blocks(&p, f);
    }
    if (good) {
        find_later(&p, order);
        good = find_rows(&p, f, block) && find_above(&p, f);
    }
    if (good) {
        lay_values(f);
        good = lay_entries(&p, f, stands, block) && keep_matrix(&p, f, stands);
    }
    close_plan(&p);
    free(block);
    if (!good) clsi_fronts_free(out);
    return good;
}

void clsi_fronts_free(clsi_fronts **f) {
    clsi_fronts *x = *f;
    if (!x) return;
    void *const lists[] = {x->front,  x->row,   x->above,  x->from,   x->target,
                           x->source, x->start, x->column, x->stands, x};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    *f = NULL;
}
