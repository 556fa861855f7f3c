/* Long programs as loops over formulas of equal shape.
 *
 * A program of N cells has N times the instructions of one, and neighbours are wherever the formulas put them: in a row,
 * in the row below, in a ring. What is used once stands where it is used, which makes expressions; expressions that
 * differ only in the registers they read are one class,
 *
 *     for (int i = 0; i < 196; i++) room[700 + i] = k*(room[t3[i]] - room[17 + t3[i]]);
 *
 * with tables of indices where operands are not side by side. So the text grows with N by tables alone; the operations
 * and their order within a number are those of the program: the same bits.
 *
 * A loop may read its own earlier results (sums). Which class is next: one of which all members can be computed,
 * else the one with most of them. Results stand in the caller's room; what nobody reads any more is
 * overwritten, but for what crosses from stage to stage. Cost: linear in the program, and the number of classes times
 * that of loops, which are few or there are none. */
#include "expr/loops.h"
#include <stdlib.h>
#include <string.h>

/* Programs of fewer instructions stay statements over local variables, which need no room; a text becomes loops
 * where these are at most a quarter of its expressions. */
enum { FEW = 300, SHORTER = 4, OPERATIONS = 12 };
#define NONE UINT32_MAX

/* ---- expressions ---- */

static size_t base_of(const cls_program *p) {
    return p->n_constants + p->n_inputs;
}

/* The operands in the order of the text; how many. */
static int operands_of(const clsi_instruction *in, uint32_t out[3]) {
    int n = 0;
    out[n++] = in->a;
    if (in->code == CLSI_POW_FROM) out[n++] = in->v;
    if (!clsi_is_unary(in)) out[n++] = in->b;
    if (in->code == CLSI_QUOTIENT_FROM) out[n++] = in->v;
    return n;
}

static void add_leaves(const clsi_rolled *l, size_t k, uint32_t *leaves, size_t *n) {
    uint32_t operand[3];
    int count = operands_of(&l->p->code[k], operand);
    for (int i = 0; i < count; i++)
        if (l->size[operand[i]])
            add_leaves(l, operand[i] - base_of(l->p), leaves, n);
        else
            leaves[(*n)++] = operand[i];
}

size_t clsi_loop_leaves(const clsi_rolled *l, size_t k, uint32_t leaves[CLSI_LOOP_LEAVES]) {
    size_t n = 0;
    add_leaves(l, k, leaves, &n);
    return n;
}

static int stage_of(const clsi_rolled *l, size_t k) {
    int s = 0;
    while (l->staged && k >= l->p->end[s]) s++;
    return s;
}

/* The stage that hands out an output. */
static int stage_of_output(const clsi_rolled *l, size_t k) {
    if (!l->staged) return 0;
    return k < l->p->n_first_outputs ? CLSI_STAGE_FIRST : CLSI_STAGE_REST;
}

enum { MANY = UINT32_MAX - 1 };

/* The square in a root of x*x, or of that and a constant: the text names x once (clsi_k_root). */
static int is_of_root(const cls_program *p, const uint32_t *user, size_t k) {
    size_t base = base_of(p);
    uint32_t u = user[base + k];
    if (u < (uint32_t)MANY && p->code[u].code == CLSI_ADD) {
        uint32_t other = p->code[u].a == base + k ? p->code[u].b : p->code[u].a;
        if (other >= p->n_constants || !(p->constants[other] >= 0)) return 0;
        u = user[base + u];
    }
    return u < (uint32_t)MANY && p->code[u].code == CLSI_CALL && p->code[u].function == CLS_FN_SQRT;
}

/* What is used once, in its own stage, stands where it is used. */
static int find_expressions(clsi_rolled *l) {
    const cls_program *p = l->p;
    size_t base = base_of(p), n = p->n_instructions;
    uint32_t *user = clsi_malloc((base + n + 1) * sizeof *user), operand[3];
    if (!user) return 0;
    for (size_t k = 0; k < base + n; k++) user[k] = NONE;
    for (size_t k = 0; k < p->n_outputs; k++) user[p->outputs[k]] = (uint32_t)MANY;
    for (size_t k = n; k-- > 0;) {
        int count = operands_of(&p->code[k], operand);
        for (int i = 0; i < count; i++)
            user[operand[i]] = user[operand[i]] == NONE ? (uint32_t)k : (uint32_t)MANY;
        if (p->code[k].code == CLSI_SQUARE && !is_of_root(p, user, k))
            user[operand[0]] = (uint32_t)MANY; /* named twice */
    }
    for (size_t k = 0; k < n; k++) {
        uint32_t u = user[base + k];
        int once = u != NONE && u != (uint32_t)MANY && stage_of(l, u) == stage_of(l, k);
        int operations = 1, count = operands_of(&p->code[k], operand);
        for (int i = 0; i < count; i++) operations += l->size[operand[i]];
        for (int i = 0; i < count && operations > OPERATIONS; i++) {
            operations -= l->size[operand[i]];
            l->size[operand[i]] = 0;
        }
        if (once) l->size[base + k] = (unsigned char)operations;
    }
    free(user);
    return 1;
}

/* ---- shapes ---- */

enum { LEAF_CONSTANT, LEAF_INPUT, LEAF_RESULT, LEAVES };

/* What an expression computes, but for which registers it reads. */
typedef struct shape {
    uint8_t code, function, i, j;
    int16_t power;
    uint32_t operand[3]; /* their shapes */
    double exponent;
} shape;

typedef struct classes {
    clsi_rolled *l;
    uint32_t *shape;   /* of instructions */
    uint32_t *class;   /* of instructions that have a name; else NONE */
    uint32_t *model;   /* (n) of classes: their first member */
    uint32_t *left;    /* (n) members to be computed */
    uint32_t *ready;   /* (n) first of those that can be; NONE */
    uint32_t *n_ready; /* (n) */
    uint32_t n;
    uint32_t *table; /* of hashes */
    size_t mask;
    /* of instructions with a name */
    uint32_t *next;    /* ready, too */
    uint32_t *pending; /* what they wait for */
    uint32_t *first_reader, *readers;
    uint32_t *loop; /* in which it is computed */
} classes;

static uint32_t leaf_shape(const clsi_rolled *l, uint32_t reg) {
    return reg < l->p->n_constants ? LEAF_CONSTANT : reg < base_of(l->p) ? LEAF_INPUT : LEAF_RESULT;
}

static shape shape_of(const classes *c, size_t k) {
    const clsi_instruction *in = &c->l->p->code[k];
    shape s;
    uint32_t operand[3];
    memset(&s, 0, sizeof s); /* it is compared byte by byte */
    s.code = in->code;
    int quotient = in->code == CLSI_QUOTIENT || in->code == CLSI_QUOTIENT_FROM;
    if (quotient || in->code == CLSI_CALL) s.function = in->function;
    if (quotient || in->code == CLSI_POW_FROM) s.i = in->i;
    if (quotient) s.j = in->j;
    if (in->code == CLSI_POWI) s.power = in->power;
    if (quotient && in->function == CLS_FN_POWER) s.exponent = in->exponent;
    int count = operands_of(in, operand);
    for (int i = 0; i < count; i++)
        s.operand[i] = c->l->size[operand[i]] ? LEAVES + c->shape[operand[i] - base_of(c->l->p)]
                                              : leaf_shape(c->l, operand[i]);
    return s;
}

static size_t hash_bytes(const void *bytes, size_t n) {
    return clsi_hash_text(bytes, n);
}

static int has_name(const clsi_rolled *l, size_t k) {
    return !l->size[base_of(l->p) + k];
}

/* The shape of an expression, and those of the results that it reads. */
static size_t read_shapes(const classes *c, size_t k, uint32_t out[CLSI_LOOP_LEAVES + 1]) {
    size_t n = clsi_loop_leaves(c->l, k, out + 1), base = base_of(c->l->p);
    out[0] = c->shape[k];
    for (size_t i = 1; i <= n; i++)
        out[i] = out[i] >= base ? LEAVES + c->shape[out[i] - base] : leaf_shape(c->l, out[i]);
    return n + 1;
}

/* The first instruction of the same shape is the shape. */
static void find_shapes(classes *c) {
    const cls_program *p = c->l->p;
    for (size_t k = 0; k < p->n_instructions; k++) {
        shape s = shape_of(c, k);
        size_t at = hash_bytes(&s, sizeof s) & c->mask;
        for (; c->table[at] != NONE; at = (at + 1) & c->mask) {
            shape other = shape_of(c, c->table[at]);
            if (!memcmp(&s, &other, sizeof s)) break;
        }
        if (c->table[at] == NONE) c->table[at] = (uint32_t)k;
        c->shape[k] = c->table[at];
    }
}

/* Results that are read are told apart by what they are made of: members of a class then mostly read members of one
 * class, in the same order, and need no tables. (Deeper, classes become many.) */
static int refine_shapes(classes *c) {
    size_t n = c->l->p->n_instructions;
    uint32_t *now = clsi_malloc((n + 1) * sizeof *now);
    if (!now) return 0;
    memset(c->table, 0xff, (c->mask + 1) * sizeof *c->table);
    for (size_t k = 0; k < n; k++) {
        uint32_t read[CLSI_LOOP_LEAVES + 1], other[CLSI_LOOP_LEAVES + 1];
        if (!has_name(c->l, k)) continue;
        size_t m = read_shapes(c, k, read), at = hash_bytes(read, m * sizeof *read) & c->mask;
        for (; c->table[at] != NONE; at = (at + 1) & c->mask)
            if (read_shapes(c, c->table[at], other) == m && !memcmp(read, other, m * sizeof *read))
                break;
        if (c->table[at] == NONE) c->table[at] = (uint32_t)k;
        now[k] = c->table[at];
    }
    for (size_t k = 0; k < n; k++)
        if (has_name(c->l, k)) c->shape[k] = now[k];
    free(now);
    return 1;
}

/* ---- classes ---- */

/* Which leaves are the same register, and which constants are not negative (roots ask). */
static size_t pattern_of(const clsi_rolled *l, size_t k, uint8_t out[CLSI_LOOP_LEAVES]) {
    uint32_t leaf[CLSI_LOOP_LEAVES];
    size_t n = clsi_loop_leaves(l, k, leaf);
    for (size_t i = 0; i < n; i++) {
        size_t j = 0;
        while (leaf[j] != leaf[i]) j++;
        int below = leaf[i] < l->p->n_constants && !(l->p->constants[leaf[i]] >= 0);
        out[i] = (uint8_t)(2 * j + (size_t)below);
    }
    return n;
}

static int same_class(const classes *c, size_t a, size_t b) {
    uint8_t x[CLSI_LOOP_LEAVES], y[CLSI_LOOP_LEAVES];
    if (c->shape[a] != c->shape[b] || stage_of(c->l, a) != stage_of(c->l, b)) return 0;
    size_t n = pattern_of(c->l, a, x);
    return pattern_of(c->l, b, y) == n && !memcmp(x, y, n);
}

static size_t find_classes(classes *c) {
    const clsi_rolled *l = c->l;
    size_t named = 0;
    memset(c->table, 0xff, (c->mask + 1) * sizeof *c->table);
    for (size_t k = 0; k < l->p->n_instructions; k++) {
        c->class[k] = NONE;
        if (!has_name(l, k)) continue;
        uint8_t pattern[CLSI_LOOP_LEAVES];
        size_t n = pattern_of(l, k, pattern);
        size_t at =
            (hash_bytes(pattern, n) + c->shape[k] * (size_t)2654435761u + (size_t)stage_of(l, k)) &
            c->mask;
        while (c->table[at] != NONE && !same_class(c, c->model[c->table[at]], k))
            at = (at + 1) & c->mask;
        if (c->table[at] == NONE) {
            c->table[at] = c->n;
            c->model[c->n] = (uint32_t)k;
            c->left[c->n] = 0;
            c->ready[c->n] = NONE;
            c->n_ready[c->n++] = 0;
        }
        c->class[k] = c->table[at];
        c->left[c->table[at]]++;
        named++;
    }
    return named;
}

/* ---- the order ---- */

/* Results that expression k waits for: those of its stage. */
static size_t waits_for(const classes *c, size_t k, uint32_t out[CLSI_LOOP_LEAVES]) {
    const clsi_rolled *l = c->l;
    uint32_t leaf[CLSI_LOOP_LEAVES];
    size_t n = clsi_loop_leaves(l, k, leaf), count = 0, base = base_of(l->p);
    for (size_t i = 0; i < n; i++)
        if (leaf[i] >= base && stage_of(l, leaf[i] - base) == stage_of(l, k))
            out[count++] = leaf[i] - (uint32_t)base;
    return count;
}

static void make_ready(classes *c, uint32_t k) {
    uint32_t class = c->class[k];
    c->next[k] = c->ready[class];
    c->ready[class] = k;
    c->n_ready[class]++;
}

static int find_readers(classes *c) {
    size_t n = c->l->p->n_instructions, sum = 0;
    uint32_t from[CLSI_LOOP_LEAVES];
    for (size_t k = 0; k < n; k++) {
        c->pending[k] = has_name(c->l, k) ? (uint32_t)waits_for(c, k, from) : 0;
        for (size_t i = 0; i < c->pending[k]; i++) c->first_reader[from[i] + 1]++;
        sum += c->pending[k];
    }
    c->readers = clsi_malloc((sum + 1) * sizeof *c->readers);
    if (!c->readers) return 0;
    for (size_t k = 0; k < n; k++) c->first_reader[k + 1] += c->first_reader[k];
    uint32_t *at = c->loop; /* not needed yet */
    memcpy(at, c->first_reader, n * sizeof *at);
    for (size_t k = 0; k < n; k++) {
        if (!has_name(c->l, k)) continue;
        size_t count = waits_for(c, k, from);
        for (size_t i = 0; i < count; i++) c->readers[at[from[i]]++] = (uint32_t)k;
        if (!count) make_ready(c, (uint32_t)k);
    }
    return 1;
}

/* ---- the order within a loop ---- */

typedef struct keyed {
    uint64_t key;
    uint32_t k;
} keyed;

static int by_key(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->k > y->k) - (x->k < y->k);
}

/* Where leaf j of instruction k is, within its own loop or among the inputs. */
static uint64_t key_of(const classes *c, size_t k, size_t j) {
    uint32_t leaf[CLSI_LOOP_LEAVES];
    size_t base = base_of(c->l->p);
    (void)clsi_loop_leaves(c->l, k, leaf);
    if (leaf[j] < base) return leaf[j];
    return ((uint64_t)c->loop[leaf[j] - base] << 32) + c->l->place[leaf[j] - base];
}

/* Sorted by an operand that then needs no table: all members read another one, side by side. Else in the order of
 * the program, which is that of cells, and the only one for a loop that reads its own results. */
static void sort_members(classes *c, const clsi_loop *loop, keyed *scratch) {
    clsi_rolled *l = c->l;
    uint32_t *member = l->members + loop->first, leaf[CLSI_LOOP_LEAVES];
    size_t n = loop->n, base = base_of(l->p), n_leaves = clsi_loop_leaves(l, member[0], leaf);
    int alone = 1;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = (keyed){0, member[i]};
        size_t m = clsi_loop_leaves(l, member[i], leaf);
        for (size_t j = 0; j < m; j++)
            alone &= leaf[j] < base || c->loop[leaf[j] - base] != c->loop[member[i]];
    }
    qsort(scratch, n, sizeof *scratch, by_key);
    for (size_t i = 0; i < n; i++) member[i] = scratch[i].k;
    (void)clsi_loop_leaves(l, member[0], leaf);
    for (size_t j = 0; alone && j < n_leaves; j++) {
        if (leaf[j] < l->p->n_constants) continue;
        for (size_t i = 0; i < n; i++) scratch[i] = (keyed){key_of(c, member[i], j), member[i]};
        qsort(scratch, n, sizeof *scratch, by_key);
        size_t i = 1;
        while (i < n && scratch[i].key == scratch[0].key + i) i++;
        if (i < n) continue;
        for (i = 0; i < n; i++) member[i] = scratch[i].k;
        break;
    }
    for (size_t i = 0; i < n; i++)
        l->place[member[i]] = (uint32_t)i; /* in its loop; find_places adds where that is */
}

/* All members of a class that can be computed, those that wait for each other included. */
static void take_class(classes *c, uint32_t class, size_t *n_members, keyed *scratch) {
    clsi_rolled *l = c->l;
    clsi_loop *loop = &l->loops[l->n_loops];
    *loop = (clsi_loop){.first = (uint32_t)*n_members};
    while (c->ready[class] != NONE) {
        uint32_t k = c->ready[class];
        c->ready[class] = c->next[k];
        l->members[(*n_members)++] = k;
        c->loop[k] = (uint32_t)l->n_loops;
        for (uint32_t i = c->first_reader[k]; i < c->first_reader[k + 1]; i++)
            if (--c->pending[c->readers[i]] == 0) make_ready(c, c->readers[i]);
    }
    loop->n = (uint32_t)*n_members - loop->first;
    c->left[class] -= loop->n;
    c->n_ready[class] = 0;
    sort_members(c, loop, scratch);
    l->n_loops++;
}

static int find_order(classes *c) {
    size_t n_members = 0;
    keyed *scratch = clsi_malloc((c->l->p->n_instructions + 1) * sizeof *scratch);
    if (!scratch) return 0;
    for (int s = 0; s < (c->l->staged ? CLSI_STAGES : 1); s++) {
        for (;;) {
            uint32_t best = NONE;
            for (uint32_t k = 0; k < c->n; k++) {
                if (!c->n_ready[k] || stage_of(c->l, c->model[k]) != s) continue;
                if (c->n_ready[k] == c->left[k]) {
                    best = k;
                    break;
                }
                if (best == NONE || c->n_ready[k] > c->n_ready[best]) best = k;
            }
            if (best == NONE) break;
            take_class(c, best, &n_members, scratch);
        }
        c->l->end[s] = c->l->n_loops;
    }
    free(scratch);
    return 1;
}

/* ---- the room ---- */

typedef struct block {
    uint32_t place, n, last; /* until after which loop it is read */
} block;

/* The loop after which a loop's results are not read any more; NONE: another stage reads them. */
static uint32_t last_reader(const classes *c, const clsi_loop *loop, const unsigned char *lasting,
                            uint32_t stage_end) {
    uint32_t last = 0;
    for (uint32_t i = loop->first; i < loop->first + loop->n; i++) {
        uint32_t k = c->l->members[i];
        if (lasting[k] == 2) return NONE;
        if (lasting[k]) last = stage_end;
        for (uint32_t r = c->first_reader[k]; r < c->first_reader[k + 1]; r++)
            if (c->loop[c->readers[r]] > last) last = c->loop[c->readers[r]];
    }
    return last;
}

/* 1: an output of its own stage; 2: another stage reads it. */
static void find_lasting(const clsi_rolled *l, unsigned char *lasting) {
    size_t base = base_of(l->p);
    uint32_t leaf[CLSI_LOOP_LEAVES];
    for (size_t k = 0; k < l->p->n_outputs; k++) {
        if (l->p->outputs[k] < base) continue;
        size_t of = l->p->outputs[k] - base;
        unsigned char how = stage_of(l, of) == stage_of_output(l, k) ? 1 : 2;
        if (how > lasting[of]) lasting[of] = how;
    }
    for (size_t k = 0; k < l->p->n_instructions; k++) {
        size_t n = has_name(l, k) ? clsi_loop_leaves(l, k, leaf) : 0;
        for (size_t i = 0; i < n; i++)
            if (leaf[i] >= base && stage_of(l, leaf[i] - base) != stage_of(l, k))
                lasting[leaf[i] - base] = 2;
    }
}

/* The first gap between blocks, which are sorted by place. */
static uint32_t put_block(block *blocks, size_t *n, block b, uint32_t from) {
    size_t at = 0;
    for (; at < *n && from + b.n > blocks[at].place; at++) from = blocks[at].place + blocks[at].n;
    memmove(blocks + at + 1, blocks + at, (*n - at) * sizeof *blocks);
    b.place = from;
    blocks[at] = b;
    (*n)++;
    return from;
}

static void drop_blocks(block *blocks, size_t *n, uint32_t loop) {
    size_t kept = 0;
    for (size_t k = 0; k < *n; k++)
        if (blocks[k].last > loop) blocks[kept++] = blocks[k];
    *n = kept;
}

static int find_places(classes *c) {
    clsi_rolled *l = c->l;
    unsigned char *lasting = clsi_calloc(l->p->n_instructions + 1, 1);
    uint32_t *last = clsi_malloc((l->n_loops + 1) * sizeof *last), kept = 0;
    block *blocks = clsi_malloc((l->n_loops + 1) * sizeof *blocks);
    size_t n_blocks = 0;
    int whole = lasting && last && blocks;
    if (whole) find_lasting(l, lasting);
    for (uint32_t k = 0, s = 0; whole && k < l->n_loops; k++) {
        while (k >= l->end[s]) s++;
        last[k] = last_reader(c, &l->loops[k], lasting, (uint32_t)l->end[s]);
        if (last[k] != NONE) continue;
        l->loops[k].place = kept;
        kept += l->loops[k].n;
    }
    l->room = kept;
    for (uint32_t k = 0, s = 0; whole && k < l->n_loops; k++) {
        for (; k >= l->end[s]; s++) n_blocks = 0;
        if (last[k] != NONE)
            l->loops[k].place =
                put_block(blocks, &n_blocks, (block){0, l->loops[k].n, last[k]}, kept);
        drop_blocks(blocks, &n_blocks, k);
        if (l->loops[k].place + l->loops[k].n > l->room)
            l->room = l->loops[k].place + l->loops[k].n;
        for (uint32_t i = 0; i < l->loops[k].n; i++)
            l->place[l->members[l->loops[k].first + i]] = l->loops[k].place + i;
    }
    free(lasting);
    free(last);
    free(blocks);
    return whole;
}

/* ---- all of it ---- */

static int classes_room(classes *c) {
    size_t n = c->l->p->n_instructions;
    for (c->mask = 1; c->mask < 2 * n; c->mask *= 2) {
    }
    c->table = clsi_malloc(c->mask * sizeof *c->table);
    c->shape = clsi_calloc(10 * n + 1, sizeof *c->shape);
    if (!c->table || !c->shape) return 0;
    memset(c->table, 0xff, c->mask * sizeof *c->table);
    c->mask--;
    uint32_t **const all[] = {&c->class, &c->model,   &c->left, &c->ready,       &c->n_ready,
                              &c->next,  &c->pending, &c->loop, &c->first_reader};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) *all[k] = c->shape + (k + 1) * n;
    return 1;
}

/* 0: no memory. Without loops it is not worth it. */
static int find_loops(clsi_rolled *l) {
    classes c = {.l = l};
    int whole = find_expressions(l) && classes_room(&c);
    size_t named = 0;
    if (whole) {
        find_shapes(&c);
        whole = refine_shapes(&c);
        named = find_classes(&c);
    }
    if (whole && SHORTER * (size_t)c.n < named) {
        whole = find_readers(&c) && find_order(&c);
        if (SHORTER * l->n_loops >= named) l->n_loops = 0;
        if (whole && l->n_loops) whole = find_places(&c);
    }
    free(c.table);
    free(c.shape);
    free(c.readers);
    return whole;
}

cls_status clsi_rolled_create(const cls_program *p, int staged, clsi_rolled **out,
                              cls_error *error) {
    *out = NULL;
    if (!p || p->n_takes || p->n_parameters || p->n_instructions < FEW) return CLS_OK;
    size_t n = p->n_instructions, base = base_of(p);
    clsi_rolled *l = clsi_calloc(1, sizeof *l);
    if (!l) return clsi_no_memory(error);
    *l = (clsi_rolled){.p = p,
                       .staged = staged,
                       .size = clsi_calloc(base + n, 1),
                       .place = clsi_calloc(n, sizeof *l->place),
                       .members = clsi_calloc(n, sizeof *l->members),
                       .loops = clsi_calloc(n, sizeof *l->loops)};
    int whole = l->size && l->place && l->members && l->loops && find_loops(l);
    int worth = whole && l->n_loops;
    if (worth)
        *out = l;
    else
        clsi_rolled_free(&l);
    return whole ? CLS_OK : clsi_no_memory(error);
}

void clsi_rolled_free(clsi_rolled **l) {
    if (!*l) return;
    free((*l)->size);
    free((*l)->place);
    free((*l)->members);
    free((*l)->loops);
    free(*l);
    *l = NULL;
}

size_t clsi_rolled_room(const clsi_rolled *l) {
    return l ? l->room : 0;
}
