/* Loops (loops.c) as C99, and the tables of indices that they read.
 *
 *     for (int i = 0; i < 196; i++) room[700 + i] = room[at3[i]] - room[17 + at3[i]];
 *
 * Operands that are side by side, or all the same, need no table; a loop whose operands are few progressions, one after
 * the other or in turn, is cut into as many loops without one (progressions.h). Other tables begin at 0, so that
 * all programs of a model read the same few. Constants that reach a function, or differ from one to the next,
 * stand in an array that is volatile, as those of statements are (emit_c.c). */
#include "expr/loops.h"
#include "expr/progressions.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* ---- tables ---- */

typedef struct index_table {
    uint32_t *v;
    size_t n, hash;
} index_table;

struct clsi_tables {
    index_table *list;
    size_t n, capacity;
};

clsi_tables *clsi_tables_create(void) {
    return clsi_calloc(1, sizeof(clsi_tables));
}

void clsi_tables_free(clsi_tables **t) {
    for (size_t k = 0; *t && k < (*t)->n; k++) free((*t)->list[k].v);
    if (*t) free((*t)->list);
    free(*t);
    *t = NULL;
}

/* Its number; SIZE_MAX: no memory. */
static size_t table_of(clsi_tables *t, size_t n, const uint32_t *v) {
    size_t hash = clsi_hash_text((const char *)v, n * sizeof *v);
    for (size_t k = 0; k < t->n; k++) {
        const index_table *x = &t->list[k];
        if (x->n == n && x->hash == hash && !memcmp(x->v, v, n * sizeof *v)) return k;
    }
    uint32_t *copy = clsi_malloc(n * sizeof *copy);
    if (!copy || !clsi_grow(&t->list, &t->capacity, t->n + 1, sizeof *t->list)) {
        free(copy);
        return SIZE_MAX;
    }
    memcpy(copy, v, n * sizeof *v);
    t->list[t->n] = (index_table){copy, n, hash};
    return t->n++;
}

void clsi_tables_append(const clsi_tables *t, int runs, clsi_text *out) {
    for (size_t k = 0; k < t->n; k++) {
        uint32_t most = 0;
        char name[32];
        for (size_t i = 0; i < t->list[k].n; i++)
            if (t->list[k].v[i] > most) most = t->list[k].v[i];
        snprintf(name, sizeof name, "at%zu", k);
        clsi_append_list(out, most < 65536 ? "uint16_t" : "uint32_t", name, t->list[k].n,
                         t->list[k].v, runs, NULL, NULL);
    }
    clsi_text_append(out, t->n ? "\n" : "");
}

/* ---- operands ---- */

typedef struct writer {
    const clsi_rolled *l;
    const char *name;
    clsi_tables *tables;
    clsi_text *out;
    double *values; /* the volatile constants */
    size_t n_values, values_capacity;
    /* of the loop at hand */
    size_t n, n_leaves;
    uint32_t *leaf; /* (n_leaves, n) */
    size_t leaf_capacity;
    uint32_t *index; /* (n) scratch */
    size_t index_capacity;
} writer;

static size_t value_number(writer *w, double value) {
    for (size_t k = 0; k < w->n_values; k++)
        if (!memcmp(&w->values[k], &value, sizeof value)) return k;
    if (!clsi_grow(&w->values, &w->values_capacity, w->n_values + 1, sizeof value)) {
        w->out->failed = 1;
        return 0;
    }
    w->values[w->n_values] = value;
    return w->n_values++;
}

static int is_linear(size_t n, const uint32_t *v) {
    return clsi_progression_end(n, v, 0, 1) >= n;
}

/* first + step*i */
static void append_linear(clsi_text *out, uint32_t first, int64_t step) {
    if (first || step <= 0) clsi_text_printf(out, "%u", (unsigned)first);
    if (!step) return;
    clsi_text_append(out, step < 0 ? " - " : first ? " + " : "");
    if (step != 1 && step != -1) clsi_text_printf(out, "%lld*", (long long)llabs(step));
    clsi_text_append(out, "i");
}

/* v[i] as an expression in i; v is changed. */
static void append_index(writer *w, clsi_text *out, size_t n, uint32_t *v) {
    uint32_t least = v[0];
    if (is_linear(n, v)) {
        append_linear(out, v[0], n > 1 ? (int64_t)v[1] - v[0] : 0);
        return;
    }
    for (size_t i = 1; i < n; i++)
        if (v[i] < least) least = v[i];
    for (size_t i = 0; i < n; i++) v[i] -= least;
    size_t table = table_of(w->tables, n, v);
    if (table == SIZE_MAX) out->failed = 1;
    if (least) clsi_text_printf(out, "%u + ", (unsigned)least);
    clsi_text_printf(out, "at%zu[i]", table);
}

/* The space of a register, and where it is there. */
static uint32_t place_of(const writer *w, uint32_t reg) {
    const cls_program *p = w->l->p;
    size_t base = p->n_constants + p->n_inputs;
    return reg >= base ? w->l->place[reg - base] : reg - (uint32_t)p->n_constants;
}

static const char *space_of(const writer *w, uint32_t reg) {
    return reg >= w->l->p->n_constants + w->l->p->n_inputs ? "room" : "in";
}

static int are_same(size_t n, const uint32_t *reg) {
    size_t i = 1;
    while (i < n && reg[i] == reg[0]) i++;
    return i >= n;
}

/* Where registers of one space are there. */
static void find_indices(writer *w, size_t n, const uint32_t *reg, uint32_t *index) {
    const cls_program *p = w->l->p;
    for (size_t i = 0; i < n; i++)
        index[i] = reg[i] < p->n_constants ? (uint32_t)value_number(w, p->constants[reg[i]])
                                           : place_of(w, reg[i]);
}

/* Registers reg[0 .. n) that are all of one space, as what loop i reads. */
static void append_registers(writer *w, clsi_text *out, size_t n, const uint32_t *reg, int opaque) {
    const cls_program *p = w->l->p;
    if (reg[0] < p->n_constants && are_same(n, reg) && !opaque) {
        clsi_emit_literal(out, p->constants[reg[0]]);
        return;
    }
    if (!clsi_grow(&w->index, &w->index_capacity, n, sizeof *w->index)) {
        out->failed = 1;
        return;
    }
    find_indices(w, n, reg, w->index);
    if (reg[0] < p->n_constants)
        clsi_text_printf(out, "%s_constants[", w->name);
    else
        clsi_text_printf(out, "%s[", space_of(w, reg[0]));
    append_index(w, out, n, w->index);
    clsi_text_append(out, "]");
}

static void append_leaf(void *context, clsi_text *out, uint32_t reg, int opaque) {
    writer *w = context;
    for (size_t j = 0; j < w->n_leaves; j++)
        if (w->leaf[j * w->n] == reg) {
            append_registers(w, out, w->n, w->leaf + j * w->n, opaque);
            return;
        }
}

static void append_exponent(void *context, clsi_text *out, double value) {
    writer *w = context;
    clsi_text_printf(out, "%s_constants[%zu]", w->name, value_number(w, value));
}

/* ---- pieces ---- */

enum { MOST_PIECES = 12, MOST_STRIDE = 4 };

/* How lists are cut: in pieces of progressions with a stride, so many of them; none where tables are better. */
typedef struct cut {
    size_t stride, pieces;
} cut;

/* The characters of their tables; those that are progressions need none. */
static size_t size_of_tables(size_t count, size_t n, const uint32_t *lists) {
    size_t size = 0;
    for (size_t j = 0; j < count; j++) {
        const uint32_t *v = lists + j * n;
        if (is_linear(n, v)) continue;
        for (size_t i = 0; i < n; i++) size += 3 + (v[i] > 99) + (v[i] > 999) + (v[i] > 9999);
    }
    return size;
}

/* Lists (count, n) that the loop of a text of so many characters reads. in_order: one after the other. */
static cut find_cut(size_t count, size_t n, const uint32_t *lists, size_t text, int in_order) {
    cut best = {1, MOST_PIECES + 1};
    for (size_t stride = 1; stride <= (in_order ? 1 : (size_t)MOST_STRIDE); stride++) {
        size_t pieces = clsi_progressions_count(count, n, lists, stride, best.pieces - 1);
        if (pieces < best.pieces) best = (cut){stride, pieces};
    }
    if (best.pieces > MOST_PIECES || (best.pieces - 1) * text > size_of_tables(count, n, lists))
        best.pieces = 0;
    return best;
}

/* Calls append for the pieces (first, count, stride) of lists (count, n). */
typedef void append_piece(writer *w, const void *what, size_t first, size_t n, size_t stride);

static void append_pieces(writer *w, const cut *c, size_t count, size_t n, const uint32_t *lists,
                          append_piece *append, const void *what) {
    for (size_t from = 0; from < c->stride; from++)
        for (size_t k = from, end; k < n; k = end) {
            end = clsi_progressions_end(count, n, lists, k, c->stride);
            append(w, what, k, (end - k) / c->stride, c->stride);
        }
}

/* ---- loops ---- */

/* Members first, first + stride, ... of a loop as one, n of them, read from w->leaf. */
static void append_members(writer *w, const void *what, size_t first, size_t n, size_t stride) {
    const clsi_loop *loop = what;
    const clsi_rolled *l = w->l;
    const uint32_t *member = l->members + loop->first;
    uint32_t leaf[CLSI_LOOP_LEAVES];
    w->n = n;
    for (size_t i = 0; i < n; i++) {
        (void)clsi_loop_leaves(l, member[first + i * stride], leaf);
        for (size_t j = 0; j < w->n_leaves; j++) w->leaf[j * n + i] = leaf[j];
    }
    clsi_places places = {append_leaf, append_exponent, w};
    clsi_piece e = {.p = l->p, .size = l->size, .places = &places};
    clsi_text_append(w->out, "  ");
    if (n > 1) clsi_text_printf(w->out, "for (int i = 0; i < %zu; i++) ", n);
    clsi_text_append(w->out, "room[");
    append_linear(w->out, loop->place + (uint32_t)first, n > 1 ? (int64_t)stride : 0);
    clsi_text_append(w->out, "] = ");
    clsi_emit_expression(w->out, &e, member[first]);
    clsi_text_append(w->out, ";\n");
}

/* The indices of what members read, where these are not all one constant, into w->index; how many lists. Whether
 * the loop reads its own results. */
static size_t find_lists(writer *w, const clsi_loop *loop, int *own) {
    size_t count = 0, n = loop->n, base = w->l->p->n_constants + w->l->p->n_inputs;
    *own = 0;
    for (size_t j = 0; j < w->n_leaves; j++) {
        const uint32_t *reg = w->leaf + j * n;
        if (are_same(n, reg)) continue;
        uint32_t *to = w->index + count++ * n;
        find_indices(w, n, reg, to);
        for (size_t i = 0; i < n && reg[0] >= base; i++)
            *own |= to[i] >= loop->place && to[i] < loop->place + loop->n;
    }
    return count;
}

/* As one loop, of which the text is known then, or in pieces. */
static void append_loop(writer *w, const clsi_loop *loop) {
    const uint32_t *member = w->l->members + loop->first;
    uint32_t leaf[CLSI_LOOP_LEAVES];
    size_t n = loop->n;
    int own;
    w->n_leaves = clsi_loop_leaves(w->l, member[0], leaf);
    if (!clsi_grow(&w->leaf, &w->leaf_capacity, n * w->n_leaves, sizeof *w->leaf) ||
        !clsi_grow(&w->index, &w->index_capacity, n * w->n_leaves, sizeof *w->index)) {
        w->out->failed = 1;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        (void)clsi_loop_leaves(w->l, member[i], leaf);
        for (size_t j = 0; j < w->n_leaves; j++) w->leaf[j * n + i] = leaf[j];
    }
    size_t count = find_lists(w, loop, &own);
    cut c = find_cut(count, n, w->index, 60 + 24 * w->n_leaves, own);
    uint32_t *lists = clsi_malloc((count * n + 1) * sizeof *lists);
    if (!lists) {
        w->out->failed = 1;
        return;
    }
    if (count) memcpy(lists, w->index, count * n * sizeof *lists);
    if (c.pieces)
        append_pieces(w, &c, count, n, lists, append_members, loop);
    else
        append_members(w, loop, 0, n, 1);
    free(lists);
}

/* ---- outputs ---- */

typedef struct copy {
    uint32_t to, from;     /* an output, a register */
    uint32_t space, place; /* of the register */
} copy;

static int by_place(const void *a, const void *b) {
    const copy *x = a, *y = b;
    if (x->space != y->space) return x->space < y->space ? -1 : 1;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static int is_zero(const cls_program *p, size_t output) {
    uint32_t reg = p->outputs[output];
    return reg < p->n_constants && p->constants[reg] == 0 && !signbit(p->constants[reg]);
}

/* out[...] = ... for copies first, first + stride, ... of one space. */
static void append_some(writer *w, const void *what, size_t first, size_t n, size_t stride) {
    const copy *c = what;
    clsi_text_append(w->out, "  ");
    if (n > 1) clsi_text_printf(w->out, "for (int i = 0; i < %zu; i++) ", n);
    for (size_t i = 0; i < n; i++) w->index[i] = c[first + i * stride].to;
    clsi_text_append(w->out, "out[");
    append_index(w, w->out, n, w->index);
    clsi_text_append(w->out, "] = ");
    for (size_t i = 0; i < n; i++) w->leaf[i] = c[first + i * stride].from;
    append_registers(w, w->out, n, w->leaf, 0);
    clsi_text_append(w->out, ";\n");
}

/* Their indices (2, n) as they stand: of outputs, of registers unless these are all the same. */
static size_t find_copy_lists(writer *w, size_t n, const copy *c, uint32_t *lists) {
    for (size_t i = 0; i < n; i++) lists[i] = c[i].to;
    for (size_t i = 0; i < n; i++) w->leaf[i] = c[i].from;
    if (are_same(n, w->leaf)) return 1;
    find_indices(w, n, w->leaf, lists + n);
    return 2;
}

static int by_output(const void *a, const void *b) {
    const copy *x = a, *y = b;
    return (x->to > y->to) - (x->to < y->to);
}

/* In the order of registers or of outputs, as fewer pieces do; as they are where tables are better. */
static void append_copies(writer *w, size_t n, copy *c) {
    enum { TEXT = 60 };
    if (!n) return;
    uint32_t *lists = clsi_malloc(2 * n * sizeof *lists);
    if (!lists || !clsi_grow(&w->leaf, &w->leaf_capacity, n, sizeof *w->leaf) ||
        !clsi_grow(&w->index, &w->index_capacity, n, sizeof *w->index)) {
        free(lists);
        w->out->failed = 1;
        return;
    }
    size_t count = find_copy_lists(w, n, c, lists);
    cut by = find_cut(count, n, lists, TEXT, 0);
    if (by.pieces != 1) {
        qsort(c, n, sizeof *c, by_output);
        count = find_copy_lists(w, n, c, lists);
        cut other = find_cut(count, n, lists, TEXT, 0);
        if (other.pieces && (!by.pieces || other.pieces < by.pieces)) {
            by = other;
        } else {
            qsort(c, n, sizeof *c, by_place);
            count = find_copy_lists(w, n, c, lists);
        }
    }
    if (by.pieces)
        append_pieces(w, &by, count, n, lists, append_some, c);
    else
        append_some(w, c, 0, n, 1);
    free(lists);
}

enum { RUN = 6 }; /* copies that are worth a loop of their own */

/* Those whose sources are side by side, or one and the same, without a table for these. */
static void append_outputs(writer *w, size_t first, size_t last) {
    const cls_program *p = w->l->p;
    copy *all = clsi_malloc((last - first + 1) * sizeof *all);
    size_t n = 0, n_rest = 0, zeros = 0;
    if (!all) {
        w->out->failed = 1;
        return;
    }
    for (size_t k = first; k < last; k++) {
        uint32_t reg = p->outputs[k];
        zeros += (size_t)is_zero(p, k);
        if (is_zero(p, k)) continue;
        int constant = reg < p->n_constants;
        uint32_t space = constant ? 0 : reg < p->n_constants + p->n_inputs ? 1 : 2;
        all[n++] = (copy){(uint32_t)k, reg, space, constant ? reg : place_of(w, reg)};
    }
    qsort(all, n, sizeof *all, by_place);
    if (zeros)
        clsi_text_printf(w->out, "  for (int i = %zu; i < %zu; i++) out[i] = 0;\n", first, last);
    for (size_t k = 0, end; k < n; k = end) {
        uint32_t step = k + 1 < n ? all[k + 1].place - all[k].place : 0;
        for (end = k + 1; end < n && all[end].space == all[k].space &&
                          step <= (all[k].space != 0) &&
                          all[end].place - all[end - 1].place == step;)
            end++;
        if (end - k >= RUN)
            append_copies(w, end - k, all + k);
        else
            for (size_t i = k; i < end; i++) all[n_rest++] = all[i];
    }
    for (size_t k = 0, end; k < n_rest; k = end) {
        for (end = k + 1; end < n_rest && all[end].space == all[k].space;) end++;
        append_copies(w, end - k, all + k);
    }
    free(all);
}

/* ---- functions ---- */

static void append_function(writer *w, const char *stage, size_t first_loop, size_t last_loop,
                            size_t first, size_t last) {
    clsi_text_printf(w->out,
                     "static void %s%s(const double *in, double *room, double *out) {\n"
                     "  (void)in;\n  (void)room;\n  (void)out;\n",
                     w->name, stage);
    for (size_t k = first_loop; k < last_loop; k++) append_loop(w, &w->l->loops[k]);
    append_outputs(w, first, last);
    clsi_text_append(w->out, "}\n\n");
}

static void append_values(const writer *w, clsi_text *out) {
    if (!w->n_values) return;
    clsi_text_printf(out, "static const volatile double %s_constants[] = {", w->name);
    for (size_t k = 0; k < w->n_values; k++) {
        clsi_text_append(out, k % 8 ? ", " : k ? ",\n  " : "\n  ");
        clsi_emit_literal(out, w->values[k]);
    }
    clsi_text_append(out, "};\n");
}

cls_status clsi_emit_loops(const clsi_rolled *l, const char *name, clsi_tables *tables,
                           clsi_text *out, cls_error *error) {
    static const char *const stages[CLSI_STAGES] = {"_early", "_first", "_rest"};
    const cls_program *p = l->p;
    clsi_text body = {0};
    writer w = {.l = l, .name = name, .tables = tables, .out = &body};
    if (!l->staged) append_function(&w, "", 0, l->n_loops, 0, p->n_outputs);
    for (int s = 0; l->staged && s < CLSI_STAGES; s++) {
        size_t first = s == CLSI_STAGE_REST ? p->n_first_outputs : 0;
        size_t last = s == CLSI_STAGE_EARLY   ? 0
                      : s == CLSI_STAGE_FIRST ? p->n_first_outputs
                                              : p->n_outputs;
        append_function(&w, stages[s], s ? l->end[s - 1] : 0, l->end[s], first, last);
    }
    append_values(&w, out);
    clsi_text_append_n(out, body.data ? body.data : "", body.length);
    out->failed |= body.failed;
    clsi_text_clear(&body);
    free(w.values);
    free(w.leaf);
    free(w.index);
    return out->failed ? clsi_no_memory(error) : CLS_OK;
}
