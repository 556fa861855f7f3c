/* Statements in loops, read at every turn where they stand.
 *
 * The functions that read statements are those of every statement. What they ask the text for (a word, an element, a
 * formula) is answered with the values of the indices at this turn: the text of one turn is not written. */
#include "system/pattern.h"
#include <stdlib.h>
#include <string.h>

cls_status clsi_patterns_create(clsi_loops *a) {
    clsi_patterns *p = a->patterns = clsi_calloc(1, sizeof *p);
    if (!p) return clsi_no_memory(a->r->error);
    p->at = p->slot;
    size_t letters = a->r->length + 1;
    p->formula = clsi_calloc(letters, sizeof *p->formula);
    p->element = clsi_calloc(letters, sizeof *p->element);
    p->macro = clsi_calloc(a->n_macros + 1, sizeof *p->macro);
    p->n_trees = clsi_grow(&p->trees, &p->trees_room, 64, sizeof *p->trees) ? 1 : 0;
    if (!p->formula || !p->element || !p->macro || !p->n_trees) return clsi_no_memory(a->r->error);
    p->trees[0] = (clsi_pattern){.op = CLSI_P_NUMBER};
    return CLS_OK;
}

void clsi_patterns_free(clsi_patterns **patterns) {
    clsi_patterns *p = *patterns;
    if (!p) return;
    void *const lists[] = {p->trees, p->lists, p->formula, p->element, p->macro, p->turned, p};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    *patterns = NULL;
}

void clsi_go_to_text(clsi_reader *r, int turning) {
    clsi_loops *a = r->arrays;
    if (turning == r->turning) return;
    const clsi_reader here = *r;
    r->text = a->origin.text;
    r->clean = a->origin.clean;
    r->length = a->origin.length;
    a->origin.text = here.text;
    a->origin.clean = here.clean;
    a->origin.length = here.length;
    r->turning = turning;
}

int clsi_count_turns(clsi_loops *a, long low, long high) {
    enum { MOST = 1 << 21 }; /* as many as there may be written out */
    if (low > high) return 1;
    if ((size_t)high - (size_t)low >= MOST - a->patterns->turns) return 0;
    a->patterns->turns += (size_t)high - (size_t)low + 1;
    return 1;
}

size_t clsi_bracket_length(const clsi_reader *r, size_t at, size_t end) {
    if (at >= end || r->clean[at] != '[') return 0;
    size_t close = clsi_array_closing(r, at, end);
    return close ? close - at : 0;
}

/* ---- names ---- */

const clsi_name *clsi_block_member(const clsi_reader *r, const clsi_symbol_block *b, size_t element,
                                   size_t stem) {
    clsi_patterns *p = r->arrays->patterns;
    const clsi_array_names *k = &r->blocks[b - r->s->g->blocks];
    clsi_name *n = &p->found[p->n_found++ % (sizeof p->found / sizeof *p->found)];
    *n = (clsi_name){.name = b->names + (element * b->stems + stem) * b->width,
                     .kind = k->kind[stem],
                     .index = k->first[stem] + element,
                     .node = b->first + (cls_node)(element * b->stems + stem)};
    return n;
}

const clsi_name *clsi_block_lookup(const clsi_reader *r, const char *name, size_t length) {
    size_t element, stem;
    const clsi_symbol_block *b =
        r->n_blocks ? clsi_block_by_name(r->s->g, name, length, &element, &stem) : NULL;
    return b ? clsi_block_member(r, b, element, stem) : NULL;
}

/* ---- which statements ---- */

/* Quotes, parts that are unknown: rare, and looked at letter by letter. */
static int is_plain(const clsi_reader *r, clsi_cursor c) {
    return !memchr(r->clean + c.at, '"', c.end - c.at) &&
           clsi_find_word(r, c.at, c.end, "unknown") == c.at;
}

static int take(clsi_loops *a, clsi_cursor c, size_t depth, cls_status *status);

static clsi_turned *add(clsi_loops *a, cls_status *status) {
    clsi_patterns *p = a->patterns;
    if (!clsi_grow(&p->turned, &p->turned_room, p->n_turned + 1, sizeof *p->turned)) {
        *status = clsi_no_memory(a->r->error);
        return NULL;
    }
    clsi_turned *t = &p->turned[p->n_turned++];
    *t = (clsi_turned){.flat = a->flat.length, .key = SIZE_MAX};
    return t;
}

/* The statements of a loop; 0: one of them is to be written out, and so all are. */
static int take_body(clsi_loops *a, clsi_cursor c, size_t depth, cls_status *status) {
    clsi_reader *r = a->r;
    clsi_cursor line = {c.at, clsi_line_end(r, c.at, c.end)}, inner;
    if (!clsi_at_end(r, &line)) {
        clsi_skip_space(r, &c);
        return take(a, c, depth, status);
    }
    size_t at = line.end + 1, base = SIZE_MAX;
    for (size_t k = at; k < c.end && base == SIZE_MAX; k = clsi_line_end(r, k, c.end) + 1)
        base = clsi_indentation(r, k, c.end);
    if (base == SIZE_MAX) return 0;
    while (clsi_next_statement(r, &at, c.end, base, &inner))
        if (!take(a, inner, depth, status)) return 0;
    return 1;
}

/* `for i in 1..N: ...`: the ranges are trees, since one may depend on the index around it. */
static int take_loops(clsi_loops *a, clsi_cursor c, size_t depth, cls_status *status) {
    clsi_reader *r = a->r;
    clsi_patterns *p = a->patterns;
    clsi_loop loops[CLSI_MAX_INDICES];
    size_t n, k = p->n_turned, outer = p->n_scope;
    if (clsi_read_loops(a, &c, SIZE_MAX, loops, &n) != CLS_OK || outer + n > CLSI_MOST_SLOTS / 2 ||
        !add(a, status))
        return 0;
    clsi_turned t = p->turned[k];
    t.n_loops = n;
    int good = 1;
    for (size_t i = 0; i < n && good; i++) {
        size_t dots = clsi_find_dots(r, loops[i].range.at, loops[i].range.end);
        good = dots != SIZE_MAX && !clsi_is_statement_word(r, loops[i].name);
        t.name[i] = loops[i].name;
        if (good) t.low[i] = clsi_make_subscript(r, loops[i].range.at, dots);
        if (good) t.high[i] = clsi_make_subscript(r, dots + 2, loops[i].range.end);
        good = good && t.low[i] && t.high[i];
        p->scope[p->n_scope++] = loops[i].name;
    }
    good = good && take_body(a, c, depth + 1, status);
    p->n_scope = outer;
    t.behind = p->n_turned;
    for (size_t i = k + 1; i < t.behind; i++) t.passes |= p->turned[i].passes;
    p->turned[k] = t;
    return good;
}

static int take(clsi_loops *a, clsi_cursor c, size_t depth, cls_status *status) {
    clsi_reader *r = a->r;
    clsi_cursor ahead = c;
    if (depth > CLSI_MOST_WITHIN || *status != CLS_OK) return 0;
    if (clsi_accept_word(r, &ahead, "for")) return take_loops(a, ahead, depth, status);
    clsi_turned t = {.flat = a->flat.length};
    if (!clsi_turned_key(r, c, depth > 0, &t) || !is_plain(r, c)) return 0;
    if (!depth && !memchr(r->clean + c.at, '[', c.end - c.at)) return 0; /* as good as text */
    clsi_turned *kept = add(a, status);
    if (kept) *kept = t;
    if (kept) kept->behind = a->patterns->n_turned;
    return kept != NULL;
}

int clsi_take_turned(clsi_loops *a, clsi_cursor statement, cls_status *status) {
    size_t before = a->patterns->n_turned;
    if (take(a, statement, 0, status)) return 1;
    a->patterns->n_turned = before;
    return 0;
}

/* ---- reading ---- */

static cls_status read_at_turns(clsi_reader *r, size_t k, size_t loop, unsigned pass);

static cls_status read_one(clsi_reader *r, size_t k, unsigned pass) {
    const clsi_turned *t = &r->arrays->patterns->turned[k];
    if (!(t->passes & pass)) return CLS_OK;
    return t->key == SIZE_MAX ? read_at_turns(r, k, 0, pass)
                              : clsi_read_keyword(r, t->key, t->body);
}

static cls_status read_at_turns(clsi_reader *r, size_t k, size_t loop, unsigned pass) {
    clsi_patterns *p = r->arrays->patterns;
    const clsi_turned *t = &p->turned[k];
    cls_status status = CLS_OK;
    if (loop == t->n_loops) {
        for (size_t i = k + 1; i < t->behind && status == CLS_OK; i = p->turned[i].behind)
            status = read_one(r, i, pass);
        return status;
    }
    long low, high;
    if (!clsi_subscript_value(p, t->low[loop], &low) ||
        !clsi_subscript_value(p, t->high[loop], &high) || !clsi_count_turns(r->arrays, low, high))
        return clsi_at(r, t->name[loop].at, "this loop is to be written out");
    p->scope[p->n_scope++] = t->name[loop];
    for (long i = low; i <= high && status == CLS_OK; i++) {
        p->slot[p->n_scope - 1] = i;
        status = clsi_count_work(r->arrays, t->name[loop].at, SIZE_MAX, CLSI_WORK_OF_A_TURN);
        if (status == CLS_OK) status = read_at_turns(r, k, loop + 1, pass);
    }
    p->n_scope--;
    return status;
}

cls_status clsi_read_turned(clsi_reader *r, size_t k, unsigned pass) {
    clsi_go_to_text(r, 1);
    cls_status status = read_one(r, k, pass);
    clsi_go_to_text(r, 0);
    return status;
}
