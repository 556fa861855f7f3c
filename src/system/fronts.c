/* Elimination of grids and networks in full blocks: the multifrontal method.
 *
 * Problem: rows of L and U of a grid are long, and to find where each product goes takes more time than the product.
 * In an order by nested dissection (dissect.c) hundreds of neighbouring columns have the same rows, so that the matrix
 * is eliminated in full blocks (fronts_plan.c finds them): what earlier blocks have left is added to the entries of the
 * matrix, the pivots of the block are eliminated, and what is left of its other rows waits on a stack for
 * the block that takes it (Duff and Reid, ACM Trans. Math. Softw. 9, 1983). Nearly all of the work is products of full
 * matrices in registers (fronts_loops.h).
 *
 * The pivots are on the diagonal, as in sparse_lu.c. Nothing is allocated; the bits depend on the matrix alone,
 * not on the machine. */
#include "system/fronts.h"
#include <math.h>
#include <string.h>

enum { PAD = CLSI_FRONT_PAD };

typedef struct room {
    double *value, *rest, *x, *rows, *own;
} room;

typedef struct front_loops {
    size_t (*pivots)(size_t n, size_t wide, double *a);
    void (*sides)(size_t n, size_t wide, const double *pivots, size_t ai, size_t ak, int by,
                  double *a);
    void (*subtract)(size_t m, size_t n, size_t depth, const double *a, size_t ai, size_t ak,
                     const double *b, size_t bk, double *c, size_t ci);
    void (*solve)(const clsi_fronts *f, const struct room *r);
} front_loops;

static size_t padded(size_t n) {
    return (n + PAD - 1) / PAD * PAD;
}

/* Numbers, rests, the unknowns by places, rows and unknowns of one block. Vectors begin at multiples of PAD. */
size_t clsi_fronts_size(const clsi_fronts *f) {
    return padded(f->n_values) + padded(f->n_rest) + padded(f->n) + padded(f->widest) +
           padded(f->longest);
}

static room room_of(const clsi_fronts *f, double *work) {
    room r = {.value = work};
    r.rest = r.value + padded(f->n_values);
    r.x = r.rest + padded(f->n_rest);
    r.rows = r.x + padded(f->n);
    r.own = r.rows + padded(f->widest);
    return r;
}

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Tiles as large as there are registers: 16 of two or four numbers, 32 of eight. */
#define LOOP(name) name##_plain
#define TARGET
#define WIDTH 2
#define ROWS  2
#define PARTS 4
#include "system/fronts_loops.h"
#if defined(__x86_64__) && defined(__GNUC__)
#define LOOP(name) name##_avx2
#define TARGET     __attribute__((target("avx2")))
#define WIDTH      4
#define ROWS       6
#define PARTS      2
#include "system/fronts_loops.h"
#define LOOP(name) name##_avx512
#define TARGET     __attribute__((target("avx512f")))
#define WIDTH      8
#define ROWS       8
#define PARTS      3
#include "system/fronts_loops.h"

static const front_loops *loops_of_machine(void) {
    if (__builtin_cpu_supports("avx512f")) return &loops_avx512;
    return __builtin_cpu_supports("avx2") ? &loops_avx2 : &loops_plain;
}
#else
static const front_loops *loops_of_machine(void) {
    return &loops_plain;
}
#endif

/* to[at[j]] += from[j] for j in [begin, end) */
static inline void add_row(size_t begin, size_t end, const uint32_t *at, const double *from,
                           double *to) {
    for (size_t j = begin; j < end; j++) to[at[j]] += from[j];
}

/* What an earlier block has left goes to a later one, whose rest is at `rest`. */
static void take_rest(const clsi_fronts *f, const clsi_front *x, const clsi_front *c, const room *r,
                      double *rest) {
    const uint32_t *at = f->above + c->row;
    const double *from = r->rest + c->rest;
    double *pivots = r->value + x->pivots, *right = r->value + x->right - x->size,
           *below = r->value + x->below - x->size;
    size_t own = 0, wide = padded(x->size);
    while (own < c->rows && at[own] < x->size) own++;
    for (size_t i = 0; i < own; i++, from += c->wide) {
        add_row(0, own, at, from, pivots + at[i] * wide);
        add_row(own, c->rows, at, from, right + at[i] * (size_t)x->wide);
    }
    for (size_t i = own; i < c->rows; i++, from += c->wide) {
        for (size_t j = 0; j < own; j++) below[at[j] * (size_t)x->wide + at[i]] += from[j];
        add_row(own, c->rows, at, from, rest - x->size + (at[i] - x->size) * (size_t)x->wide);
    }
}

size_t clsi_fronts_factor(const clsi_fronts *f, const double *a, double *work) {
    const front_loops *loops = loops_of_machine();
    room r = room_of(f, work);
    for (size_t k = 0; k < f->n_fronts; k++) {
        const clsi_front *x = &f->front[k];
        size_t s = x->size, wide = x->wide, own = padded(s);
        double *rest = r.rest + x->made, *pivots = r.value + x->pivots, *right = r.value + x->right,
               *below = r.value + x->below;
        memset(below, 0, s * wide * sizeof *below); /* here, where it is used at once */
        memset(pivots, 0, s * (own + wide) * sizeof *pivots);
        for (size_t e = f->from[k]; e < f->from[k + 1]; e++)
            r.value[f->target[e]] = a[f->source[e]];
        memset(rest, 0, x->rows * wide * sizeof *rest);
        for (uint32_t c = x->child; c != CLSI_NO_FRONT; c = f->front[c].sibling)
            take_rest(f, x, &f->front[c], &r, rest);
        size_t broken = loops->pivots(s, own, pivots);
        if (broken) return x->first + broken;
        if (!x->rows) continue;
        loops->sides(s, wide, pivots, own, 1, 0, right);
        loops->sides(s, wide, pivots, 1, own, 1, below);
        loops->subtract(x->rows, wide, s, below, 1, wide, right, wide, rest, wide);
        if (x->made != x->rest) memmove(r.rest + x->rest, rest, x->rows * wide * sizeof *rest);
    }
    return 0;
}

/* ---- solutions ---- */

void clsi_fronts_solve(const clsi_fronts *f, const uint32_t *order, double *work, double *b) {
    const room r = room_of(f, work);
    for (size_t i = 0; i < f->n; i++) r.x[i] = b[order[i]];
    loops_of_machine()->solve(f, &r);
    for (size_t i = 0; i < f->n; i++) b[order[i]] = r.x[i];
}
