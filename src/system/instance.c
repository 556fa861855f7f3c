/* A formula of the graph from a tree, at one turn of its loops.
 *
 * The graph is asked for what the parser (expr/parse.c) asks for when the formula is written out, in that order. What
 * the parser refuses is not made: then the file is written out, and the parser says why. */
#include "system/pattern.h"
#include "expr/kernels.h"
#include <math.h>
#include <string.h>

enum { WORK_OF_A_TREE = 16, MOST_DEEP = 200 };

/* ---- numbers in brackets ---- */

/* Of what has a list: terms, factors, arguments, indices. */
static const clsi_operand *list_of(const clsi_patterns *p, const clsi_pattern *x) {
    return p->lists + x->b;
}

static double value_of(const clsi_patterns *p, uint32_t k) {
    const clsi_pattern *x = &p->trees[k];
    const clsi_operand *list;
    double sum, y;
    switch ((clsi_pattern_op)x->op) {
    case CLSI_P_NUMBER: return x->value;
    case CLSI_P_INDEX: return (double)p->at[x->a];
    case CLSI_P_NEG: return -value_of(p, x->a);
    case CLSI_P_POW: return pow(value_of(p, x->a), value_of(p, x->b));
    case CLSI_P_CHAIN:
        list = list_of(p, x);
        sum = value_of(p, list[0].tree);
        for (size_t i = 1; i < x->n; i++) {
            y = value_of(p, list[i].tree);
            sum = list[i].sign == '+'   ? sum + y
                  : list[i].sign == '-' ? sum - y
                  : list[i].sign == '*' ? sum * y
                                        : sum / y;
        }
        return sum;
    case CLSI_P_COMPOSED:
        list = list_of(p, x);
        sum = value_of(p, list[0].tree);
        y = value_of(p, list[1].tree);
        return x->function == 0   ? sum - y * floor(sum / y)
               : x->function == 1 ? fmin(sum, y)
                                  : fmax(sum, y);
    default: return NAN;
    }
}

int clsi_subscript_value(const clsi_patterns *p, uint32_t tree, long *out) {
    double x = value_of(p, tree);
    if (!(fabs(x) < 1e9) || x != floor(x)) return 0;
    *out = (long)x;
    return 1;
}

/* ---- elements ---- */

/* Where an element is: in a block of symbols, or a name of its own. 0: nowhere. */
typedef struct found {
    const clsi_symbol_block *block;
    size_t element;
    const clsi_name *name;
} found;

/* The name u[3][4], NULL: there is none. */
static const clsi_name *name_of(const clsi_reader *r, const clsi_pattern *x, const long *index) {
    char name[128];
    if (x->length > 60) return NULL;
    int n = snprintf(name, sizeof name, "%.*s", (int)x->length, r->clean + x->at);
    for (size_t k = 0; k < x->n; k++)
        n += snprintf(name + n, sizeof name - (size_t)n, "[%ld]", index[k]);
    return clsi_lookup(r, name, (size_t)n, ~CLSI_LABEL);
}

static int find(clsi_reader *r, const clsi_pattern *x, found *out) {
    const clsi_patterns *p = r->arrays->patterns;
    const clsi_operand *list = list_of(p, x);
    long index[CLSI_MAX_INDICES];
    for (size_t k = 0; k < x->n; k++)
        if (!clsi_subscript_value(p, list[k].tree, &index[k])) return 0;
    if (x->array != SIZE_MAX &&
        clsi_wrap(r->arrays, &r->arrays->arrays[x->array], x->at, x->n, index, SIZE_MAX) != CLS_OK)
        return 0;
    if (x->block != SIZE_MAX) {
        out->block = &r->s->g->blocks[x->block];
        out->element = clsi_block_element(out->block, index);
        if (out->element != SIZE_MAX) return 1;
    }
    out->block = NULL;
    out->name = name_of(r, x, index);
    return out->name != NULL;
}

int clsi_turned_name(const clsi_reader *reader, const char *word, size_t length,
                     const clsi_name **out) {
    clsi_reader *r = reader->arrays->r; /* the same; trees are made on the way */
    clsi_patterns *p = r->arrays->patterns;
    size_t at = (size_t)(word - r->clean);
    *out = NULL;
    if (word[length - 1] != ']') {
        for (size_t k = 0; k < p->n_scope; k++)
            if (p->scope[k].end - p->scope[k].at == length &&
                memcmp(r->clean + p->scope[k].at, word, length) == 0)
                return 0;
        return 1;
    }
    if (!p->element[at]) p->element[at] = clsi_make_element(r, at, at + length);
    const clsi_pattern *x = &p->trees[p->element[at]];
    found f = {0};
    if (!p->element[at] || x->op != CLSI_P_ELEMENT || !find(r, x, &f)) return 0;
    *out = f.block ? clsi_block_member(r, f.block, f.element, x->stem) : f.name;
    return 1;
}

/* ---- formulas ---- */

static int is_bad(const cls_graph *g, cls_node a) {
    return g->nodes[a].op == CLS_OP_CONSTANT && !isfinite(clsi_value(&g->nodes[a]));
}

/* What the parser would refuse: infinity and NaN, also as factors. */
static cls_node built(const cls_graph *g, cls_node a) {
    if (a == CLS_NO_NODE || is_bad(g, a)) return CLS_NO_NODE;
    for (size_t k = clsi_arg_count(g, a); k-- > 0;)
        if (is_bad(g, clsi_arg(g, a, k))) return CLS_NO_NODE;
    return a;
}

/* With those that a let is made of. */
static int kinds_of(const clsi_reader *r, int kind, size_t index) {
    return kind == CLSI_LET ? kind | r->let_kinds[index] : kind;
}

static cls_node make(clsi_reader *r, uint32_t k);

static cls_node make_element(clsi_reader *r, const clsi_pattern *x) {
    clsi_patterns *p = r->arrays->patterns;
    found f = {0};
    if (!find(r, x, &f)) return CLS_NO_NODE;
    if (!f.block) {
        p->kinds |= kinds_of(r, (int)f.name->kind, f.name->index);
        return f.name->node;
    }
    p->kinds |= (int)r->blocks[x->block].kind[x->stem];
    return f.block->first + (cls_node)(f.element * f.block->stems + x->stem);
}

static cls_node make_chain(clsi_reader *r, uint32_t k) {
    cls_graph *g = r->s->g;
    const clsi_patterns *p = r->arrays->patterns;
    size_t first = p->trees[k].b, n = p->trees[k].n;
    cls_node a = make(r, p->lists[first].tree);
    for (size_t i = 1; i < n && a != CLS_NO_NODE; i++) {
        cls_node b = make(r, p->lists[first + i].tree);
        if (b == CLS_NO_NODE) return b;
        switch (p->lists[first + i].sign) {
        case '+': a = cls_add(g, a, b); break;
        case '-': a = cls_sub(g, a, b); break;
        case '*': a = cls_mul(g, a, b); break;
        default: a = cls_div(g, a, b);
        }
        a = built(g, a);
    }
    return a;
}

static cls_node make_composed(clsi_reader *r, uint32_t k) {
    enum { MOST = 16 };
    const clsi_patterns *p = r->arrays->patterns;
    size_t first = p->trees[k].b, n = p->trees[k].n;
    const clsi_composition *c = p->trees[k].composition;
    cls_node x[MOST] = {0};
    for (size_t i = 0; i < n; i++)
        if ((x[i] = make(r, p->lists[first + i].tree)) == CLS_NO_NODE) return CLS_NO_NODE;
    return built(r->s->g, c->build(r->s->g, n, x));
}

/* A body in its parentheses. */
static cls_node make_root(clsi_reader *r, uint32_t k) {
    clsi_patterns *p = r->arrays->patterns;
    const clsi_pattern *x = &p->trees[k];
    size_t levels = p->levels;
    if (levels + x->level > MOST_DEEP ||
        clsi_count_work(r->arrays, x->at, SIZE_MAX, WORK_OF_A_TREE * x->low) != CLS_OK)
        return CLS_NO_NODE;
    cls_node made = make(r, x->a);
    p->levels = levels;
    return made;
}

/* The body of a let, which sees its own indices alone. */
static uint32_t body_of(clsi_reader *r, size_t macro) {
    clsi_patterns *p = r->arrays->patterns;
    const clsi_macro *m = &r->arrays->macros[macro];
    if (p->macro[macro]) return p->macro[macro];
    clsi_cursor outer[CLSI_MOST_SLOTS];
    size_t n = p->n_scope;
    memcpy(outer, p->scope, sizeof outer);
    for (p->n_scope = 0; p->n_scope < m->n; p->n_scope++)
        p->scope[p->n_scope] = m->index[p->n_scope];
    p->macro[macro] = clsi_make_formula(r, m->body.at, m->body.end);
    p->n_scope = n;
    memcpy(p->scope, outer, sizeof outer);
    return p->macro[macro];
}

/* One value of a let that has others by a formula. */
static cls_node make_named(clsi_reader *r, const clsi_pattern *x, const long *index) {
    const clsi_name *name = name_of(r, x, index);
    if (!name) return CLS_NO_NODE;
    r->arrays->patterns->kinds |= kinds_of(r, (int)name->kind, name->index);
    return name->node;
}

static cls_node make_macro(clsi_reader *r, uint32_t k) {
    clsi_patterns *p = r->arrays->patterns;
    const clsi_pattern x = p->trees[k];
    long *outer = p->at, *inner = outer + CLSI_MOST_SLOTS;
    uint32_t body = body_of(r, x.a);
    size_t levels = p->levels;
    if (!body || inner + CLSI_MOST_SLOTS > p->slot + sizeof p->slot / sizeof *p->slot ||
        !clsi_count_turns(r->arrays, 1, x.n))
        return CLS_NO_NODE;
    for (size_t i = 0; i < x.n; i++)
        if (!clsi_subscript_value(p, p->lists[x.b + i].tree, &inner[i])) return CLS_NO_NODE;
    const clsi_macro *m = &r->arrays->macros[x.a];
    if (m->has_given && clsi_count_work(r->arrays, x.at, SIZE_MAX, r->arrays->n_given) != CLS_OK)
        return CLS_NO_NODE;
    if (clsi_is_given(r->arrays, m, x.n, inner)) return make_named(r, &x, inner);
    p->at = inner;
    p->levels += x.level;
    cls_node made = make_root(r, body);
    p->levels = levels;
    p->at = outer;
    return made;
}

static cls_node make_sum(clsi_reader *r, uint32_t k);

/* As expand_pairs of elements.c. */
static cls_node make_pairs(clsi_reader *r, uint32_t k, long low, long high) {
    clsi_patterns *p = r->arrays->patterns;
    const clsi_pattern x = p->trees[k];
    if (low == high) {
        p->at[x.slot] = low;
        return p->trees[x.a].op == CLSI_P_SUM ? make_sum(r, x.a) : make_root(r, x.a);
    }
    long half = 1;
    while (2 * half <= high - low) half *= 2;
    p->levels++;
    cls_node left = make_pairs(r, k, low, low + half - 1), right = CLS_NO_NODE;
    if (left != CLS_NO_NODE) right = make_pairs(r, k, low + half, high);
    p->levels--;
    if (right == CLS_NO_NODE) return right;
    return built(r->s->g, cls_add(r->s->g, left, right));
}

static cls_node make_sum(clsi_reader *r, uint32_t k) {
    clsi_patterns *p = r->arrays->patterns;
    const clsi_pattern x = p->trees[k];
    long low, high;
    if (!clsi_subscript_value(p, x.low, &low) || !clsi_subscript_value(p, x.high, &high) ||
        !clsi_count_turns(r->arrays, low, high))
        return CLS_NO_NODE;
    if (low > high) return cls_constant(r->s->g, 0);
    size_t levels = p->levels;
    p->levels += x.level;
    cls_node made = make_pairs(r, k, low, high);
    p->levels = levels;
    return made;
}

static cls_node make(clsi_reader *r, uint32_t k) {
    cls_graph *g = r->s->g;
    clsi_patterns *p = r->arrays->patterns;
    const clsi_pattern *x = &p->trees[k];
    cls_node a, b;
    long value;
    switch ((clsi_pattern_op)x->op) {
    case CLSI_P_NUMBER: return built(g, cls_constant(g, x->value));
    case CLSI_P_NAME: p->kinds |= kinds_of(r, x->kind, x->at); return x->node;
    case CLSI_P_INDEX:
        value = p->at[x->a];
        a = cls_constant(g, value < 0 ? -(double)value : (double)value);
        return built(g, value < 0 ? cls_neg(g, a) : a);
    case CLSI_P_ELEMENT: return make_element(r, x);
    case CLSI_P_MACRO: return make_macro(r, k);
    case CLSI_P_SUM: return make_sum(r, k);
    case CLSI_P_NEG: a = make(r, x->a); return a == CLS_NO_NODE ? a : built(g, cls_neg(g, a));
    case CLSI_P_POW:
        a = make(r, x->a);
        if (a == CLS_NO_NODE) return a;
        b = make(r, p->trees[k].b); /* the list of trees may have moved */
        return b == CLS_NO_NODE ? b : built(g, cls_pow(g, a, b));
    case CLSI_P_CALL: {
        cls_function f = (cls_function)x->function;
        a = make(r, x->a);
        return a == CLS_NO_NODE ? a : built(g, cls_apply(g, f, a));
    }
    case CLSI_P_CHAIN: return make_chain(r, k);
    case CLSI_P_COMPOSED: return make_composed(r, k);
    case CLSI_P_ROOT: return make_root(r, k);
    }
    return CLS_NO_NODE;
}

/* Its tree, which is made once. */
static uint32_t formula_at(clsi_reader *r, size_t begin, size_t end) {
    clsi_patterns *p = r->arrays->patterns;
    uint32_t tree = p->formula[begin];
    if (tree && p->trees[tree].b == end) return tree;
    return p->formula[begin] = clsi_make_formula(r, begin, end);
}

/* ---- numbers ---- */

/* What constants fold to in the graph (build.c), without it: a start gives a number to each element, and the
 * numbers on the way to it are no nodes. */
static double fold(const clsi_patterns *p, uint32_t k) {
    const clsi_pattern *x = &p->trees[k];
    const clsi_operand *list;
    double a = NAN, b;
    switch ((clsi_pattern_op)x->op) {
    case CLSI_P_NUMBER: return x->value;
    case CLSI_P_INDEX: return (double)p->at[x->a];
    case CLSI_P_NEG: a = -fold(p, x->a); break;
    case CLSI_P_POW:
        a = fold(p, x->a);
        b = fold(p, x->b);
        a = isnan(a) || isnan(b) ? NAN : clsi_folded_power(a, b);
        break;
    case CLSI_P_CALL:
        a = fold(p, x->a);
        a = isnan(a) ? NAN : clsi_function_value(x->function, a);
        break;
    case CLSI_P_CHAIN:
        list = list_of(p, x);
        a = fold(p, list[0].tree);
        for (size_t i = 1; i < x->n; i++) {
            b = fold(p, list[i].tree);
            a = list[i].sign == '+'   ? a + b
                : list[i].sign == '-' ? a - b
                : list[i].sign == '*' ? a * b
                                      : a / b;
            if (!isfinite(a)) return NAN; /* and not back */
            a += 0.0;
        }
        break;
    default: break;
    }
    return isfinite(a) ? a + 0.0 : NAN; /* no -0, which is no constant */
}

int clsi_pattern_number(clsi_reader *r, size_t begin, size_t end, double *out) {
    clsi_patterns *p = r->arrays->patterns;
    while (begin < end && (r->clean[begin] == ' ' || r->clean[begin] == '\n')) begin++;
    while (end > begin && (r->clean[end - 1] == ' ' || r->clean[end - 1] == '\n')) end--;
    uint32_t tree = begin < end ? formula_at(r, begin, end) : 0;
    if (!tree || p->trees[tree].kind ||
        clsi_count_work(r->arrays, begin, SIZE_MAX, WORK_OF_A_TREE * p->trees[tree].low) != CLS_OK)
        return 0;
    *out = fold(p, p->trees[tree].a);
    return isfinite(*out);
}

cls_status clsi_read_pattern(clsi_reader *r, clsi_expression *e) {
    clsi_patterns *p = r->arrays->patterns;
    uint32_t tree = formula_at(r, e->begin, e->end);
    p->kinds = CLSI_ALL_KINDS;
    p->levels = 0;
    e->written = tree ? make_root(r, tree) : CLS_NO_NODE;
    e->kinds = p->kinds;
    if (e->written != CLS_NO_NODE) return CLS_OK;
    if (cls_graph_status(r->s->g, NULL) == CLS_MEMORY) return clsi_no_memory(r->error);
    return clsi_at(r, e->begin, "this formula is to be written out");
}
