/* Rows that repeat as machine code: the elimination of one period, and the way back over it.
 *
 * Problem: of a row of a chain with temperatures four or eight vectors are subtracted from; loops over them
 * (segments_loops.h) take 85 cycles a row, most of them to find out which is next, and what one operation writes the
 * next one reads from memory. The period of a stretch is known when the tables are made: it is written as one
 * sequence of instructions of AVX-512, a row in machine registers. Rows above are read from where they stay. Same
 * operations in the same order: the same bits. Where another processor runs, or rows are longer than there are
 * registers, the loops do it. */
#define _DEFAULT_SOURCE
#include "expr/native_code.h"
#include "system/segments.h"
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/mman.h>

enum { VALUE = 7, X = 6, BLOCK = 2, APART = 1 }; /* rdi, rsi, rdx, rcx */
enum { OR = 0xeb, TEST = 0x27, ROW_MOST = 24, PERIODS_AHEAD = 16 };
enum { ONE = 26, WRONG, SUM, FACTOR, PRODUCT, OTHER }; /* machine registers behind those of a row */
enum { LINE = CLSI_SEGMENTS * sizeof(double) };

typedef struct coder {
    clsi_writer w;
    const clsi_segments *s;
    const clsi_stretch *t;
    const uint16_t *place; /* of the row at hand */
    size_t wall_open[CLSI_STRETCH_WALLS];
    /* numbers of the tail that have machine registers, from `top` on */
    int64_t tail[ROW_MOST];
    int n_tails, top;
} coder;

/* to <- one op vector k behind what a register points to. */
static void put_at(coder *c, int opcode, int to, int one, int base, int64_t k) {
    clsi_code_opcode(&c->w, 1, opcode, to, one, base > 7 ? NOBODY - 1 : NOBODY, 0);
    CODE(&c->w, (unsigned char)(0x80 | (to & 7) << 3 | (base & 7)));
    clsi_code_put_number(&c->w, k * LINE);
}

static void put(coder *c, int opcode, int to, int one, int other) {
    clsi_code_registers(&c->w, opcode, to, one, other);
}

/* Where entry k of the factors is, from the first one of the period on. */
static int64_t value_of(const coder *c, size_t k) {
    return (int64_t)k - (int64_t)c->s->first[c->t->begin];
}

static int64_t x_of(const coder *c, size_t column) {
    return (int64_t)column - (int64_t)c->t->begin;
}

/* What is no number leaves its bits. */
static void put_check(coder *c, int m) {
    put(c, SUBTRACT, PRODUCT, m, m);
    put(c, OR, WRONG, WRONG, PRODUCT);
}

/* to <- to - factor times what is in memory */
static void put_minus(coder *c, int to, int base, int64_t k) {
    put_at(c, MULTIPLY, PRODUCT, FACTOR, base, k);
    put(c, SUBTRACT, to, to, PRODUCT);
}

/* The entries of row i to machine registers, its right side to SUM. */
static void put_entries(coder *c, size_t i) {
    const clsi_segments *s = c->s;
    size_t begin = s->from[c->t->begin];
    uint32_t there = 0;
    for (size_t k = s->from[i]; k < s->from[i + 1]; k++) {
        put_at(c, LOAD, (int)s->target[k], 0, BLOCK, (int64_t)(k - begin));
        put_check(c, (int)s->target[k]);
        there |= 1u << s->target[k];
    }
    for (int k = 0; k < (int)(s->first[i + 1] - s->first[i]); k++)
        if (!(there >> k & 1)) put(c, FLIP, k, k, k);
    put_at(c, LOAD, SUM, 0, BLOCK, (int64_t)(c->t->entries + (i - c->t->begin)));
}

/* As LOOP(reduce). */
static void put_row(coder *c, size_t i) {
    const clsi_segments *s = c->s;
    size_t first = s->first[i], size = s->first[i + 1] - first, before = s->diagonal[i] - first;
    put_entries(c, i);
    for (size_t k = 0; k < before; k++) {
        size_t above = s->column[first + k], j = s->diagonal[above], end = s->first[above + 1];
        put_at(c, MULTIPLY, FACTOR, (int)k, VALUE, value_of(c, j));
        put_at(c, STORE, FACTOR, 0, VALUE, value_of(c, first + k));
        put_minus(c, SUM, X, x_of(c, above));
        for (j++; j < end; j++, c->place++)
            if (*c->place < size) put_minus(c, *c->place, VALUE, value_of(c, j));
    }
    put_at(c, STORE, SUM, 0, X, x_of(c, i));
    put_check(c, (int)before);
    put(c, DIVIDE, (int)before, ONE, (int)before);
    put_check(c, (int)before); /* of what is zero */
    for (size_t k = before; k < size; k++)
        put_at(c, STORE, (int)k, 0, VALUE, value_of(c, first + k));
}

/* ---- rows of separators ---- */

static const int wall_pointer[CLSI_STRETCH_WALLS] = {9, 10, 11, 0}; /* r9, r10, r11, rax */

/* The machine register of number k of the tail, or NOBODY. */
static int tail_register(coder *c, int64_t k) {
    for (int i = 0; i < c->n_tails; i++)
        if (c->tail[i] == k) return c->top + i;
    if (c->top + c->n_tails == ONE) return NOBODY;
    c->tail[c->n_tails] = k;
    return c->top + c->n_tails++;
}

/* FACTOR times m from number k of the tail. */
static void put_tail(coder *c, int64_t k, int m) {
    int to = tail_register(c, k);
    put(c, MULTIPLY, PRODUCT, FACTOR, m);
    if (to != NOBODY) {
        put(c, SUBTRACT, to, to, PRODUCT);
        return;
    }
    put_at(c, LOAD, OTHER, 0, APART, k);
    put(c, SUBTRACT, OTHER, OTHER, PRODUCT);
    put_at(c, STORE, OTHER, 0, APART, k);
}

/* FACTOR times m from entry `to` of a row of a separator; before it comes to an entry that is a zero. */
static void put_entry(coder *c, size_t number, size_t to, int m) {
    int64_t first = (int64_t)c->t->wall_first[number];
    int base = wall_pointer[number];
    size_t *open = &c->wall_open[number];
    put(c, MULTIPLY, PRODUCT, FACTOR, m);
    if (*open <= to)
        put(c, FLIP, OTHER, OTHER, OTHER);
    else
        put_at(c, LOAD, OTHER, 0, base, (int64_t)to - first);
    for (; *open < to; ++*open) put_at(c, STORE, OTHER, 0, base, (int64_t)*open - first);
    if (*open == to) ++*open;
    put(c, SUBTRACT, OTHER, OTHER, PRODUCT);
    put_at(c, STORE, OTHER, 0, base, (int64_t)to - first);
}

/* As LOOP(reduce_walls), by row i of the inside, which is in machine registers. */
static void put_wall(coder *c, size_t number, size_t i) {
    const clsi_segments *s = c->s;
    size_t row = s->slots + s->wide + number, first = c->t->wall_first[number], k = first;
    size_t tails = 2 * s->wide + s->full, size = c->t->wall_size[number];
    int diagonal = (int)(s->diagonal[i] - s->first[i]), base = wall_pointer[number];
    while (k < first + size && s->column[k] != i) k++;
    if (k == first + size) return;
    if (c->wall_open[number] <= k) {
        put(c, FLIP, FACTOR, FACTOR, FACTOR);
        c->wall_open[number] = k + 1;
    } else {
        put_at(c, LOAD, FACTOR, 0, base, (int64_t)(k - first));
    }
    put(c, MULTIPLY, FACTOR, FACTOR, diagonal);
    put_at(c, STORE, FACTOR, 0, base, (int64_t)(k - first));
    put_tail(c, (int64_t)(s->wide * tails + number), SUM);
    for (size_t j = s->diagonal[i] + 1; j < s->first[i + 1]; j++) {
        size_t column = s->column[j], to = k + 1;
        int m = (int)(j - s->first[i]);
        while (to < s->diagonal[row] && s->column[to] < column) to++;
        if (column >= s->slots)
            put_tail(c, (int64_t)(number * tails + (column - s->slots)), m);
        else if (to < s->diagonal[row] && s->column[to] == column)
            put_entry(c, number, to, m);
    }
}

/* Pointers to rows of separators and their tail; numbers of the tail to machine registers. */
static void open_walls(coder *c) {
    static const unsigned char load[CLSI_STRETCH_WALLS][3] = {
        {0x4c, 0x8b, 0x89}, {0x4c, 0x8b, 0x91}, {0x4c, 0x8b, 0x99}, {0x48, 0x8b, 0x81}};
    for (int i = 0; i < CLSI_STRETCH_WALLS; i++) { /* mov r9, [rcx + ...] */
        clsi_code_put(&c->w, sizeof load[i], load[i]);
        clsi_code_put_number(&c->w, i * (int)sizeof(double *));
    }
    CODE(&c->w, 0x48, 0x8b, 0x89); /* mov rcx, [rcx + ...] */
    clsi_code_put_number(&c->w, CLSI_STRETCH_WALLS * (int)sizeof(double *));
    for (int i = 0; i < c->n_tails; i++) put_at(c, LOAD, c->top + i, 0, APART, c->tail[i]);
}

static void next_walls(coder *c) {
    static const unsigned char add[CLSI_STRETCH_WALLS][3] = {
        {0x49, 0x81, 0xc1}, {0x49, 0x81, 0xc2}, {0x49, 0x81, 0xc3}, {0x48, 0x81, 0xc0}};
    for (size_t i = 0; i < c->t->n_walls; i++) { /* add r9, ... */
        clsi_code_put(&c->w, sizeof add[i], add[i]);
        clsi_code_put_number(&c->w, (int64_t)(c->t->wall_size[i] * LINE));
    }
}

/* ---- periods ---- */

/* Pointers move by a period, r8 counts. */
static void put_next(coder *c, size_t begin, int direction) {
    clsi_writer *w = &c->w;
    const clsi_stretch *t = c->t;
    size_t values = c->s->first[t->begin + t->period] - c->s->first[t->begin];
    size_t block = direction > 0 ? t->entries + t->period : t->period;
    CODE(w, 0x48, 0x81, 0xc7); /* add rdi, ... */
    clsi_code_put_number(w, direction * (int64_t)(values * LINE));
    CODE(w, 0x48, 0x81, 0xc6); /* add rsi, ... */
    clsi_code_put_number(w, direction * (int64_t)(t->period * LINE));
    CODE(w, 0x48, 0x81, 0xc2); /* add rdx, ... */
    clsi_code_put_number(w, direction * (int64_t)(block * LINE));
    CODE(w, 0x49, 0xff, 0xc8, 0x0f, 0x85); /* dec r8; jnz */
    clsi_code_put_number(w, (int64_t)begin - (int64_t)(w->length + 4));
}

/* The vector k behind what a register points to will be written soon (prefetchw). */
static void put_fetch(coder *c, int base, size_t k) {
    if (base > 7) CODE(&c->w, 0x41);
    CODE(&c->w, 0x0f, 0x0d, (unsigned char)(0x88 | (base & 7)));
    clsi_code_put_number(&c->w, (int64_t)(k * LINE));
}

/* Stores of long matrices miss the cache and fill the queue of those that wait. */
static void fetch_ahead(coder *c) {
    const clsi_stretch *t = c->t;
    size_t values = c->s->first[t->begin + t->period] - c->s->first[t->begin];
    for (size_t k = 0; k < values; k++) put_fetch(c, VALUE, PERIODS_AHEAD * values + k);
    for (size_t i = 0; i < t->n_walls; i++)
        for (size_t k = 0; k < t->wall_size[i]; k++)
            put_fetch(c, wall_pointer[i], PERIODS_AHEAD * t->wall_size[i] + k);
}

static void put_period(coder *c) {
    const clsi_stretch *t = c->t;
    fetch_ahead(c);
    c->place = c->s->places + t->places;
    memcpy(c->wall_open, t->wall_ready, sizeof c->wall_open);
    for (size_t i = t->begin; i < t->begin + t->period; i++) {
        put_row(c, i);
        for (size_t k = 0; k < t->n_walls; k++) put_wall(c, k, i);
    }
}

static size_t put_factor(coder *c) {
    clsi_writer *w = &c->w;
    size_t at = w->length;
    put_period(c); /* to see which numbers of the tail there are */
    w->length = at;
    clsi_code_pooled(w, LOAD, ONE, 0, 1.0, 0);
    put(c, FLIP, WRONG, WRONG, WRONG);
    open_walls(c);
    size_t begin = w->length;
    put_period(c);
    next_walls(c);
    put_next(c, begin, 1);
    for (int i = 0; i < c->n_tails; i++) put_at(c, STORE, c->top + i, 0, APART, c->tail[i]);
    clsi_code_opcode(w, 2, TEST, 1, WRONG, WRONG, 0); /* vptestmq k1, WRONG, WRONG */
    CODE(w, 0xc0 | 1 << 3 | (WRONG & 7));
    CODE(w, 0xc5, 0xf8, 0x93, 0xc1); /* kmovw eax, k1 */
    CODE(w, 0xc5, 0xf8, 0x77, 0xc3); /* vzeroupper; ret */
    return at;
}

/* As LOOP(back_row), for the rows of the period from the last to the first. */
static size_t put_back(coder *c) {
    const clsi_segments *s = c->s;
    size_t at = c->w.length;
    for (size_t i = c->t->begin + c->t->period; i-- > c->t->begin;) {
        put_at(c, LOAD, SUM, 0, X, x_of(c, i));
        for (size_t k = s->diagonal[i] + 1; k < s->first[i + 1]; k++) {
            size_t column = s->column[k];
            put_at(c, LOAD, FACTOR, 0, VALUE, value_of(c, k));
            if (column < s->slots)
                put_minus(c, SUM, X, x_of(c, column));
            else
                put_minus(c, SUM, APART, (int64_t)(column - s->slots));
        }
        put_at(c, MULTIPLY, SUM, SUM, VALUE, value_of(c, s->diagonal[i]));
        put_at(c, STORE, SUM, 0, X, x_of(c, i));
        put_at(c, STORE, SUM, 0, BLOCK, (int64_t)(i - c->t->begin));
    }
    put_next(c, at, -1);
    CODE(&c->w, 0x31, 0xc0, 0xc5, 0xf8, 0x77, 0xc3); /* xor eax, eax; vzeroupper; ret */
    return at;
}

static clsi_stretch_run *function_at(const clsi_stretch *t, size_t at) {
    unsigned char *byte = (unsigned char *)t->code + at;
    clsi_stretch_run *run;
    memcpy(&run, &byte, sizeof run);
    return run;
}

void clsi_stretch_write(clsi_segments *s) {
    clsi_stretch *t = &s->stretch;
    coder c = {.w = {.width = WHOLE, .n_machine = 31}, .s = s, .t = t};
    if (!t->blocks || !clsi_native_supports(WHOLE)) return;
    for (size_t i = t->begin; i < t->begin + t->period; i++) {
        size_t size = s->first[i + 1] - s->first[i];
        if (size > ROW_MOST) return;
        if ((int)size > c.top) c.top = (int)size;
    }
    (void)clsi_code_find_pooled(&c.w, 1.0);
    clsi_code_put_pooled(&c.w);
    size_t factor = put_factor(&c), back = put_back(&c);
    if (!c.w.failed && clsi_code_executable(&c.w, &t->code, &t->size) == CLS_OK) {
        t->factor = function_at(t, factor);
        t->back = function_at(t, back);
    }
    free(c.w.bytes);
    free(c.w.pool);
}

void clsi_stretch_clear(clsi_stretch *t) {
    if (t->code) munmap(t->code, t->size);
}

#else

void clsi_stretch_write(clsi_segments *s) {
    (void)s;
}

void clsi_stretch_clear(clsi_stretch *t) {
    (void)t;
}

#endif
