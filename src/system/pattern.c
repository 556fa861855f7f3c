/* Formulas with indices as trees.
 *
 * The grammar is that of expr/parse.c and of the evaluator of indices.c, and instance.c asks the graph for what the
 * parser would ask for, in its order: so that nodes have the numbers that they have when everything is written out.
 * Whatever is not read here (functions of the file, quotients, what is misspelt) has no tree, and the file is written
 * out. Cost: once for each place in the file. */
#include "system/pattern.h"
#include "base/locale.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEEP = 200, MOST_ARGUMENTS = 16 };

typedef struct maker {
    clsi_reader *r;
    clsi_loops *a;
    clsi_patterns *p;
    size_t at, end;
    size_t depth, deepest;
    int subscript; /* a number in brackets: other names, other functions */
    int named;     /* has anything but numbers, indices and functions of one argument */
} maker;

static char peek(maker *m) {
    const char *t = m->r->clean;
    while (m->at < m->end && (t[m->at] == ' ' || t[m->at] == '\n')) m->at++;
    return m->at < m->end ? t[m->at] : 0;
}

static uint32_t keep(maker *m, clsi_pattern tree) {
    clsi_patterns *p = m->p;
    if (!clsi_grow(&p->trees, &p->trees_room, p->n_trees + 1, sizeof *p->trees)) {
        (void)clsi_graph_no_memory(m->r->s->g);
        return 0;
    }
    p->trees[p->n_trees] = tree;
    return (uint32_t)p->n_trees++;
}

/* Room for a list of n operands: its place, SIZE_MAX without memory. */
static size_t keep_list(maker *m, size_t n, const clsi_operand *list) {
    clsi_patterns *p = m->p;
    if (!clsi_grow(&p->lists, &p->lists_room, p->n_lists + n, sizeof *p->lists)) {
        (void)clsi_graph_no_memory(m->r->s->g);
        return SIZE_MAX;
    }
    memcpy(p->lists + p->n_lists, list, n * sizeof *list);
    p->n_lists += n;
    return p->n_lists - n;
}

static uint32_t keep_with_list(maker *m, clsi_pattern tree, size_t n, const clsi_operand *list) {
    size_t first = keep_list(m, n, list);
    tree.b = (uint32_t)first;
    tree.n = (uint16_t)n;
    return first == SIZE_MAX ? 0 : keep(m, tree);
}

/* ---- numbers and names ---- */

static uint32_t number(maker *m) {
    const char *text = m->r->clean + m->at;
    size_t n = clsi_number_length(m->r, m->at, m->end);
    char *end;
    if (!n || (text[0] == '.' && n == 1)) return 0;
    double value = clsi_strtod(text, &end);
    if (end == text + n + 1 && end[-1] == '.' && end[0] == '.') end--; /* 1..N */
    if (end != text + n || !isfinite(value)) return 0;
    if (value == 0 && text + strspn(text, "0.") < end) return 0; /* too small to be one */
    m->at += n;
    return keep(m, (clsi_pattern){.op = CLSI_P_NUMBER, .value = value});
}

static uint32_t index_of(maker *m, size_t n) {
    const char *t = m->r->clean;
    for (size_t k = m->p->n_scope; k-- > 0;) {
        clsi_cursor s = m->p->scope[k];
        if (s.end - s.at == n && memcmp(t + s.at, t + m->at, n) == 0)
            return keep(m, (clsi_pattern){.op = CLSI_P_INDEX, .a = (uint32_t)k});
    }
    return 0;
}

static uint32_t make_sum(maker *m);
static uint32_t formula(maker *m);

/* mod(a, b), min(a, b), max(a, b) of indices. */
static uint32_t whole_call(maker *m, size_t n) {
    static const char *const words[] = {"mod", "min", "max"};
    clsi_operand x[2] = {{0}};
    uint8_t f = 0;
    while (f < 3 && !clsi_word_is(words[f], m->r->clean + m->at, n)) f++;
    m->at += n;
    if (f == 3 || peek(m) != '(') return 0;
    m->at++;
    x[0].tree = formula(m);
    if (!x[0].tree || peek(m) != ',') return 0;
    m->at++;
    x[1].tree = formula(m);
    if (!x[1].tree || peek(m) != ')') return 0;
    m->at++;
    return keep_with_list(m, (clsi_pattern){.op = CLSI_P_COMPOSED, .function = f}, 2, x);
}

static uint32_t size_of_file(maker *m, size_t n) {
    double value;
    cls_status status = clsi_array_number(m->a, m->at, m->at + n, SIZE_MAX, &value);
    if (status == CLS_MEMORY) (void)clsi_graph_no_memory(m->r->s->g);
    m->at += n;
    return status == CLS_OK ? keep(m, (clsi_pattern){.op = CLSI_P_NUMBER, .value = value}) : 0;
}

static uint32_t call(maker *m, size_t where, size_t n) {
    const char *word = m->r->clean + where;
    clsi_operand x[MOST_ARGUMENTS] = {{0}};
    size_t count = 0;
    const clsi_composition *c = clsi_find_composition(word, n);
    cls_function f = clsi_find_function(word, n);
    if (clsi_function_find(m->r->s, word, n) || (f >= CLS_FN_POWER && !c)) return 0;
    for (m->at++;; m->at++) {
        if (count == MOST_ARGUMENTS || !(x[count++].tree = formula(m))) return 0;
        if (peek(m) != ',') break;
    }
    if (peek(m) != ')') return 0;
    m->at++;
    if (f < CLS_FN_POWER) {
        clsi_pattern tree = {.op = CLSI_P_CALL, .function = (uint8_t)f, .a = x[0].tree};
        return count == 1 ? keep(m, tree) : 0;
    }
    if (count < c->min || count > c->max) return 0;
    m->named = 1;
    return keep_with_list(m, (clsi_pattern){.op = CLSI_P_COMPOSED, .composition = c}, count, x);
}

/* A name of the file that has no brackets. */
static uint32_t name(maker *m, size_t where, size_t n) {
    const char *word = m->r->clean + where;
    const clsi_name *found = clsi_lookup(m->r, word, n, ~CLSI_LABEL);
    m->named |= found != NULL;
    if (found)
        return keep(m, (clsi_pattern){.op = CLSI_P_NAME,
                                      .node = found->node,
                                      .kind = (int)found->kind,
                                      .at = found->index});
    if (!clsi_word_is("pi", word, n)) return 0;
    return keep(m, (clsi_pattern){.op = CLSI_P_NUMBER, .value = 3.14159265358979323846});
}

/* ---- elements ---- */

/* The array u of v.u, and its block of symbols, where it has one. */
static void find_block(maker *m, clsi_pattern *e, size_t n) {
    const cls_graph *g = m->r->s->g;
    e->array = clsi_find_array(m->a, e->at, e->length);
    for (size_t k = 0; k < g->n_blocks && e->array != SIZE_MAX; k++)
        for (size_t j = 0; j < g->blocks[k].stems; j++)
            if (g->blocks[k].indices == n &&
                clsi_word_is(g->blocks[k].stem[j], m->r->clean + e->at, e->length)) {
                e->block = k;
                e->stem = j;
            }
}

/* word[...] with the word at `at`. */
static uint32_t element(maker *m, size_t n) {
    clsi_cursor place[CLSI_MAX_INDICES];
    clsi_operand index[CLSI_MAX_INDICES] = {{0}};
    size_t behind = m->at + n, count;
    if (m->subscript ||
        clsi_index_brackets(m->a, &behind, m->end, SIZE_MAX, place, &count) != CLS_OK)
        return 0;
    if (behind < m->end && m->r->clean[behind] == '.') return 0;
    for (size_t k = 0; k < count; k++)
        if (!(index[k].tree = clsi_make_subscript(m->r, place[k].at, place[k].end))) return 0;
    clsi_pattern e = {.op = CLSI_P_ELEMENT,
                      .at = m->at,
                      .length = n,
                      .array = SIZE_MAX,
                      .block = SIZE_MAX,
                      .level = (uint32_t)m->depth};
    m->at = behind;
    for (size_t k = 0; k < m->a->n_macros; k++) {
        const clsi_macro *x = &m->a->macros[k];
        if (x->length != n || memcmp(m->r->clean + x->name, m->r->clean + e.at, n) != 0) continue;
        e.op = CLSI_P_MACRO;
        e.a = (uint32_t)k;
        return x->n == count ? keep_with_list(m, e, count, index) : 0;
    }
    find_block(m, &e, count);
    if (e.array != SIZE_MAX && m->a->arrays[e.array].n != count) return 0;
    return keep_with_list(m, e, count, index);
}

uint32_t clsi_make_element(clsi_reader *r, size_t at, size_t end) {
    maker m = {.r = r, .a = r->arrays, .p = r->arrays->patterns, .at = at, .end = end};
    size_t n = clsi_plain_word(r, at, end);
    uint32_t made = n && at + n < end ? element(&m, n) : 0;
    return m.at == end ? made : 0;
}

static uint32_t word(maker *m) {
    size_t where = m->at, n = clsi_plain_word(m->r, where, m->end);
    if (!m->subscript && clsi_is_sum(m->r, where, n, m->end)) return m->named = 1, make_sum(m);
    if (where + n < m->end && m->r->clean[where + n] == '[') return m->named = 1, element(m, n);
    uint32_t found = index_of(m, n);
    if (found) {
        m->at += n;
        return peek(m) == '(' ? 0 : found;
    }
    if (m->subscript) {
        clsi_cursor c = {where + n, m->end};
        return clsi_accept(m->r, &c, "(") ? whole_call(m, n) : size_of_file(m, n);
    }
    m->at += n;
    return peek(m) == '(' ? call(m, where, n) : name(m, where, n);
}

/* ---- sums ---- */

static uint32_t sum_over(maker *m, const clsi_loop *l, size_t n) {
    clsi_patterns *p = m->p;
    if (n == 0) return clsi_make_formula(m->r, m->at, m->end);
    size_t dots = clsi_find_dots(m->r, l->range.at, l->range.end);
    if (dots == SIZE_MAX || p->n_scope == CLSI_MOST_SLOTS) return 0;
    clsi_pattern s = {.op = CLSI_P_SUM, .slot = (uint32_t)p->n_scope, .level = (uint32_t)m->depth};
    s.low = clsi_make_subscript(m->r, l->range.at, dots);
    s.high = clsi_make_subscript(m->r, dots + 2, l->range.end);
    if (!s.low || !s.high) return 0;
    p->scope[p->n_scope++] = l->name;
    s.a = sum_over(m, l + 1, n - 1);
    p->n_scope--;
    return s.a ? keep(m, s) : 0;
}

/* sum(i in 1..N, j in 1..M: formula) */
static uint32_t make_sum(maker *m) {
    clsi_cursor c = {m->at + 3, m->end};
    clsi_loop loops[CLSI_MAX_INDICES];
    size_t n;
    clsi_skip_space(m->r, &c);
    size_t behind = clsi_array_closing(m->r, c.at, m->end);
    if (!behind || m->depth > CLSI_MOST_WITHIN) return 0;
    c = (clsi_cursor){c.at + 1, behind - 1};
    if (clsi_read_loops(m->a, &c, SIZE_MAX, loops, &n) != CLS_OK) return 0;
    maker inner = *m;
    inner.at = c.at;
    inner.end = c.end;
    m->at = behind;
    return sum_over(&inner, loops, n);
}

/* ---- the grammar ---- */

static uint32_t atom(maker *m) {
    char c = peek(m);
    if (isdigit((unsigned char)c) || c == '.') return number(m);
    if (isalpha((unsigned char)c) || c == '_') return word(m);
    if (c != '(') return 0;
    m->at++;
    uint32_t inner = formula(m);
    if (!inner || peek(m) != ')') return 0;
    m->at++;
    return inner;
}

static uint32_t unary(maker *m) {
    char sign = peek(m);
    uint32_t x, y;
    if (++m->depth > MOST_DEEP) return 0;
    if (m->depth > m->deepest) m->deepest = m->depth;
    if (sign == '-' || (sign == '+' && !m->subscript)) {
        m->at++;
        x = unary(m);
        if (x && sign == '-') x = keep(m, (clsi_pattern){.op = CLSI_P_NEG, .a = x});
    } else {
        x = atom(m);
        if (x && peek(m) == '^') {
            m->at++;
            y = unary(m);
            x = y ? keep(m, (clsi_pattern){.op = CLSI_P_POW, .a = x, .b = y}) : 0;
        }
    }
    m->depth--;
    return x;
}

/* Terms with their signs, or factors: one is itself. A list on the stack, written out when it is whole. */
static uint32_t chain(maker *m, char one, char other, uint32_t (*next)(maker *m)) {
    clsi_operand few[16], *list = few;
    size_t n = 0, room = 0;
    char sign = 0;
    uint32_t made = 0;
    for (;;) {
        uint32_t x = next(m);
        if (n == 16 && list == few) { /* more than a few */
            list = NULL;
            if (clsi_grow(&list, &room, 64, sizeof *list)) memcpy(list, few, sizeof few);
        }
        if (!x || n == UINT16_MAX || !list ||
            (list != few && !clsi_grow(&list, &room, n + 1, sizeof *list)))
            break;
        list[n++] = (clsi_operand){sign, x};
        sign = peek(m);
        if (sign == one || sign == other) {
            m->at++;
            continue;
        }
        made = n == 1 ? x : keep_with_list(m, (clsi_pattern){.op = CLSI_P_CHAIN}, n, list);
        break;
    }
    if (!list) (void)clsi_graph_no_memory(m->r->s->g);
    if (list != few) free(list);
    return made;
}

static uint32_t product(maker *m) {
    return chain(m, '*', '/', unary);
}

static uint32_t formula(maker *m) {
    return chain(m, '+', '-', product);
}

static uint32_t make(clsi_reader *r, size_t begin, size_t end, int subscript) {
    maker m = {.r = r,
               .a = r->arrays,
               .p = r->arrays->patterns,
               .at = begin,
               .end = end,
               .subscript = subscript};
    size_t before = m.p->n_trees;
    uint32_t made = formula(&m);
    if (!made || peek(&m)) return 0;
    if (subscript) return made;
    return keep(&m, (clsi_pattern){.op = CLSI_P_ROOT,
                                   .a = made,
                                   .at = begin,
                                   .b = (uint32_t)end,
                                   .low = (uint32_t)(m.p->n_trees - before),
                                   .kind = m.named,
                                   .level = (uint32_t)m.deepest});
}

uint32_t clsi_make_formula(clsi_reader *r, size_t begin, size_t end) {
    return make(r, begin, end, 0);
}

uint32_t clsi_make_subscript(clsi_reader *r, size_t begin, size_t end) {
    return make(r, begin, end, 1);
}
