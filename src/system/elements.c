/* Formulas with arrays, written out: u[i+1], d[i] of a let with an index, sum(i in 1..N: ...).
 *
 * Each letter that is written knows the letter it comes from and the values of the indices there;
 * arrays.c does the same with statements and declarations. */
#include "system/arrays.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 40 }; /* of lets within lets */

/* ---- writing with a map ---- */

static void note(clsi_loops *a, size_t offset, size_t turn, int exact) {
    if (a->n_map) {
        const clsi_run *last = &a->map[a->n_map - 1];
        if (exact && last->exact && last->turn == (uint32_t)turn &&
            last->offset + (a->flat.length - last->flat) == offset)
            return;
    }
    if (!clsi_grow(&a->map, &a->map_room, a->n_map + 1, sizeof *a->map)) {
        a->flat.failed = 1;
        return;
    }
    a->map[a->n_map++] =
        (clsi_run){(uint32_t)a->flat.length, (uint32_t)offset, (uint32_t)turn, exact != 0};
}

void clsi_loops_copy(clsi_loops *a, size_t begin, size_t end, size_t turn) {
    if (begin >= end) return;
    note(a, begin, turn, 1);
    clsi_text_append_n(&a->flat, a->r->clean + begin, end - begin);
}

void clsi_loops_put(clsi_loops *a, size_t at, size_t turn, const char *text) {
    note(a, at, turn, 0);
    clsi_text_append(&a->flat, text);
}

/* ---- looking ---- */

static int word_is(const clsi_reader *r, size_t at, size_t length, const char *word) {
    return strlen(word) == length && memcmp(r->clean + at, word, length) == 0;
}

/* Offset of `..` outside inner brackets in [begin, end), or SIZE_MAX. */
size_t clsi_find_dots(const clsi_reader *r, size_t begin, size_t end) {
    int depth = 0;
    for (size_t i = begin; i + 1 < end; i++) {
        char c = r->clean[i];
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (depth == 0 && c == '.' && r->clean[i + 1] == '.') return i;
    }
    return SIZE_MAX;
}

size_t clsi_find_array(const clsi_loops *a, size_t at, size_t length) {
    static const char *const efforts[] = {"v.", "p.", "mu.", "f."};
    const char *word = a->r->clean + at;
    for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++) {
        size_t n = strlen(efforts[i]);
        if (length <= n || memcmp(word, efforts[i], n) != 0) continue;
        word += n, length -= n;
        break;
    }
    for (size_t i = 0; i < a->n_arrays; i++)
        if (strlen(a->arrays[i].name) == length && memcmp(a->arrays[i].name, word, length) == 0)
            return i;
    return SIZE_MAX;
}

static int has_edges(const clsi_loops *a, const char *name) {
    for (size_t i = 0; i < a->n_edges; i++)
        if (strcmp(a->edges[i], name) == 0) return 1;
    return 0;
}

static const clsi_macro *find_macro(const clsi_loops *a, size_t at, size_t length) {
    for (size_t i = 0; i < a->n_macros; i++)
        if (a->macros[i].length == length &&
            memcmp(a->r->clean + a->macros[i].name, a->r->clean + at, length) == 0)
            return &a->macros[i];
    return NULL;
}

/* ---- brackets ---- */

/* Of what is opened at `at` and not closed before `end`, the innermost, or that which the wrong sign closes:
 * the [ of `sum(i in 1..N: p.u[i^2/2)`. */
cls_status clsi_not_closed(clsi_loops *a, size_t at, size_t end, size_t turn) {
    enum { DEEPEST = 64 };
    const char *t = a->r->clean;
    size_t open[DEEPEST], n = 0;
    for (; at < end && n < DEEPEST; at++) {
        int closes = t[at] == ')' || t[at] == ']';
        if (t[at] == '(' || t[at] == '[') open[n++] = at;
        if (closes && n && (t[open[n - 1]] == '(') != (t[at] == ')')) break;
        if (closes && n) n--;
    }
    return clsi_array_at(a, n ? open[n - 1] : at, turn, "this %c is never closed",
                         n ? t[open[n - 1]] : '(');
}

/* The places between commas of all brackets that follow each other at *at: [i, j] or [i][j]. */
cls_status clsi_index_brackets(clsi_loops *a, size_t *at, size_t end, size_t turn, clsi_cursor *out,
                               size_t *n) {
    clsi_reader *r = a->r;
    *n = 0;
    while (*at < end && r->clean[*at] == '[') {
        size_t close = clsi_array_closing(r, *at, end);
        if (!close) return clsi_not_closed(a, *at, end, turn);
        clsi_cursor c = {*at + 1, close - 1};
        for (;;) {
            size_t stop = clsi_item_end(r, &c);
            if (*n == CLSI_MAX_INDICES)
                return clsi_array_at(a, *at, turn, "more than %d indices", (int)CLSI_MAX_INDICES);
            out[(*n)++] = (clsi_cursor){c.at, stop};
            if (stop >= c.end) break;
            c.at = stop + 1;
        }
        *at = close;
    }
    return CLS_OK;
}

/* Behind the number that begins at `at`: up to where a sign between two of its parts is missing. */
static size_t number_end(const clsi_reader *r, size_t at, size_t end) {
    size_t behind = at;
    for (int part = 0; at < end;) {
        char c = r->clean[at];
        size_t n = clsi_plain_word(r, at, end), digits = n ? 0 : clsi_number_length(r, at, end);
        if (c == ' ' || c == '\n') {
            at++;
        } else if (part && strchr("+-*/^", c)) {
            part = 0, at++;
        } else if (part) {
            break;
        } else if (n || digits || c == '(') {
            int calls = n && (word_is(r, at, n, "mod") || word_is(r, at, n, "min") ||
                              word_is(r, at, n, "max"));
            at += n + digits;
            if (calls && at < end && r->clean[at] == '(') c = '(';
            size_t close = c == '(' ? clsi_array_closing(r, at, end) : at;
            if (!close) return end;
            behind = at = close;
            part = 1;
        } else if (c == '-') {
            at++;
        } else {
            return end; /* the evaluator says what is wrong */
        }
    }
    return at < end ? behind : end;
}

static cls_status not_a_ring(clsi_loops *a, size_t at, size_t turn) {
    return clsi_array_at(a, at, turn, "expected `]` or the word `ring` behind the range%s",
                         a->r->clean[at] == 'r' ? "; did you mean `ring`?" : "");
}

cls_status clsi_read_range(clsi_loops *a, clsi_cursor c, size_t turn, long *low, long *high,
                           int *ring) {
    clsi_reader *r = a->r;
    size_t dots = clsi_find_dots(r, c.at, c.end);
    if (dots == SIZE_MAX) return clsi_array_at(a, c.at, turn, "expected a range, `1..N`");
    while (c.end > c.at && r->clean[c.end - 1] == ' ') c.end--;
    if (ring) *ring = 0;
    if (ring && c.end - c.at > 5 && memcmp(r->clean + c.end - 5, " ring", 5) == 0) {
        *ring = 1;
        c.end -= 5;
    }
    cls_status status = clsi_array_integer(a, c.at, dots, turn, low);
    if (status == CLS_OK && ring) {
        size_t behind = number_end(r, dots + 2, c.end);
        while (behind < c.end && r->clean[behind] == ' ') behind++;
        if (behind < c.end) return not_a_ring(a, behind, turn);
    }
    if (status == CLS_OK) status = clsi_array_integer(a, dots + 2, c.end, turn, high);
    return status;
}

/* A whole number between two letters; snprintf is the tenth part of writing a text out. */
static void put_number(clsi_loops *a, size_t at, size_t turn, char open, long value, char close) {
    char text[32], *p = text + sizeof text;
    unsigned long rest = value < 0 ? -(unsigned long)value : (unsigned long)value;
    *--p = 0;
    if (close) *--p = close;
    do {
        *--p = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0) *--p = '-';
    if (open) *--p = open;
    clsi_loops_put(a, at, turn, p);
}

/* Name with one bracket for each index: u[3][4]. */
void clsi_put_element(clsi_loops *a, size_t at, size_t length, size_t n, const long *value,
                      size_t turn) {
    clsi_loops_copy(a, at, at + length, turn);
    for (size_t k = 0; k < n; k++) put_number(a, at, turn, '[', value[k], ']');
}

/* [5][5] */
static void put_indices(clsi_text *out, size_t n, const long *value) {
    for (size_t k = 0; k < n; k++) clsi_text_printf(out, "[%ld]", value[k]);
}

/* The k-th of the indices is outside. */
static cls_status is_outside(clsi_loops *a, const clsi_array *array, size_t at, size_t k,
                             const long *value, size_t turn) {
    static const char *const where[CLSI_MAX_INDICES] = {
        " in its first index", " in its second index", " in its third index"};
    clsi_text edge = {0}, ring = {0};
    put_indices(&edge, array->n, value);
    for (size_t j = 0; j < array->n; j++)
        clsi_text_printf(&ring, "%s%ld..%ld%s", j ? ", " : "", array->low[j], array->high[j],
                         j == k || array->ring[j] ? " ring" : "");
    cls_status status =
        edge.failed || ring.failed
            ? clsi_no_memory(a->r->error)
            : clsi_array_at(a, at, turn,
                            "index %ld is outside: `%s` goes from %ld to %ld%s; write `let "
                            "%s%s = ...` for what stands at the edge, or `%s[%s]`",
                            value[k], array->name, array->low[k], array->high[k],
                            array->n == 1 ? "" : where[k], array->name, edge.data, array->name,
                            ring.data);
    clsi_text_clear(&edge);
    clsi_text_clear(&ring);
    return status;
}

cls_status clsi_wrap(clsi_loops *a, const clsi_array *array, size_t at, size_t n, long *value,
                     size_t turn) {
    if (array->n != n)
        return clsi_array_at(a, at, turn, "`%s` has %zu %s, here are %zu", array->name, array->n,
                             array->n == 1 ? "index" : "indices", n);
    for (size_t k = 0; k < n; k++) {
        long low = array->low[k], high = array->high[k], count = high - low + 1;
        if (array->ring[k]) value[k] = low + ((value[k] - low) % count + count) % count;
        if (value[k] >= low && value[k] <= high) continue;
        cls_status status = clsi_count_work(a, at, turn, a->n_edges / 2);
        if (status != CLS_OK) return status;
        if (has_edges(a, array->name)) continue;
        return is_outside(a, array, at, k, value, turn);
    }
    return CLS_OK;
}

/* `let a[0] = ...` above or below of `let a[i] = ...`: that value is given. */
int clsi_is_given(const clsi_loops *a, const clsi_macro *m, size_t n, const long *value) {
    const char *name = a->r->clean + m->name;
    for (size_t i = m->has_given ? 0 : a->n_given; i < a->n_given; i++) {
        const clsi_given *g = &a->given[i];
        if (g->length == m->length && g->n == n &&
            memcmp(a->r->clean + g->name, name, g->length) == 0 &&
            memcmp(g->value, value, n * sizeof *value) == 0)
            return 1;
    }
    return 0;
}

/* Of the value that the formula asked for first. */
static cls_status too_deep(clsi_loops *a, const clsi_macro *last, size_t at, const long *value) {
    const clsi_macro *m = a->outer;
    const char *name = a->r->clean + m->name, *index = a->r->clean + m->index[0].at;
    int letters = (int)m->length, n = (int)(m->index[0].end - m->index[0].at);
    int same = last == m && memcmp(value, a->first, m->n * sizeof *value) == 0;
    clsi_text first = {0}, loop = {0};
    put_indices(&first, m->n, a->first);
    clsi_text_printf(&loop, "`for %.*s in 1..N: let %.*s[%.*s] = ...`", n, index, letters, name, n,
                     index);
    cls_status status =
        first.failed || loop.failed ? clsi_no_memory(a->r->error)
        : same ? clsi_array_at(a, at, SIZE_MAX, "`%.*s%s` is defined by itself", letters, name,
                               first.data)
        : m->has_given
            ? clsi_array_at(a, at, SIZE_MAX,
                            "`%.*s%s` needs more than %d values of `%.*s` within each other: write "
                            "%s, which takes one after the other",
                            letters, name, first.data, (int)MAX_DEPTH, letters, name, loop.data)
            : clsi_array_at(a, at, SIZE_MAX,
                            "`%.*s%s` is defined by itself without end: give it an edge, `let "
                            "%.*s[0] = ...`; from %d values on also write %s",
                            letters, name, first.data, letters, name, (int)MAX_DEPTH, loop.data);
    clsi_text_clear(&first);
    clsi_text_clear(&loop);
    return status;
}

static cls_status expand_macro(clsi_loops *a, const clsi_macro *m, size_t at, size_t n,
                               const long *value, size_t turn) {
    if (n != m->n)
        return clsi_array_at(a, at, turn, "`%.*s` has %zu %s, here are %zu", (int)m->length,
                             a->r->clean + m->name, m->n, m->n == 1 ? "index" : "indices", n);
    cls_status status = clsi_count_work(a, at, turn, m->has_given ? a->n_given : 0);
    if (status != CLS_OK) return status;
    if (clsi_is_given(a, m, n, value)) {
        clsi_put_element(a, at, m->length, n, value, turn);
        return CLS_OK;
    }
    if (!a->depth) {
        a->outer = m;
        memcpy(a->first, value, n * sizeof *value);
    }
    if (++a->depth > MAX_DEPTH) return too_deep(a, m, at, value);
    for (size_t k = 0; k < n && status == CLS_OK; k++)
        status = clsi_add_turn(a, turn, m->index[k], value[k], k == 0, &turn);
    clsi_loops_put(a, at, turn, "(");
    if (status == CLS_OK) status = clsi_loops_expand(a, m->body, turn, 0);
    clsi_loops_put(a, at, turn, ")");
    a->depth--;
    return status;
}

/* word[...] in a formula. */
static cls_status expand_element(clsi_loops *a, size_t at, size_t length, size_t *behind,
                                 size_t end, size_t turn) {
    clsi_cursor place[CLSI_MAX_INDICES];
    long value[CLSI_MAX_INDICES];
    size_t n;
    cls_status status = clsi_index_brackets(a, behind, end, turn, place, &n);
    for (size_t k = 0; k < n && status == CLS_OK; k++)
        status = clsi_array_integer(a, place[k].at, place[k].end, turn, &value[k]);
    if (status != CLS_OK) return status;
    status = clsi_count_work(a, at, turn, (a->n_macros + a->n_arrays) / 2);
    if (status != CLS_OK) return status;
    const clsi_macro *macro = find_macro(a, at, length);
    if (macro) return expand_macro(a, macro, at, n, value, turn);
    size_t array = clsi_find_array(a, at, length);
    if (array != SIZE_MAX) status = clsi_wrap(a, &a->arrays[array], at, n, value, turn);
    if (status == CLS_OK) clsi_put_element(a, at, length, n, value, turn);
    return status;
}

/* ---- sums and loops ---- */

static cls_status no_colon(clsi_loops *a, clsi_cursor index, size_t at, size_t turn) {
    return clsi_array_at(a, at, turn, "expected `:` after the range: `%.*s in 1..N: ...`",
                         (int)(index.end - index.at), a->r->clean + index.at);
}

cls_status clsi_read_loops(clsi_loops *a, clsi_cursor *c, size_t turn, clsi_loop *out, size_t *n) {
    clsi_reader *r = a->r;
    *n = 0;
    do {
        clsi_skip_space(r, c);
        size_t length = clsi_plain_word(r, c->at, c->end);
        if (!length || memchr(r->clean + c->at, '.', length))
            return clsi_array_at(a, c->at, turn, "expected an index: `i in 1..N`");
        clsi_cursor name = {c->at, c->at + length};
        c->at += length;
        if (!clsi_accept_word(r, c, "in"))
            return clsi_array_at(a, c->at, turn, "expected `in` and a range: `i in 1..N`");
        size_t stop = c->at;
        for (int depth = 0; stop < c->end; stop++) {
            char k = r->clean[stop];
            depth += (k == '(' || k == '[') - (k == ')' || k == ']');
            if (depth == 0 && (k == ',' || k == ':')) break;
            if (k == '\n' && clsi_find_dots(r, c->at, stop) != SIZE_MAX)
                break; /* the colon is missing */
        }
        if (*n == CLSI_MAX_INDICES)
            return clsi_array_at(a, c->at, turn, "more than %d indices", (int)CLSI_MAX_INDICES);
        out[(*n)++] = (clsi_loop){name, {c->at, stop}};
        size_t dots = clsi_find_dots(r, c->at, stop),
               behind = dots == SIZE_MAX ? stop : number_end(r, dots + 2, stop);
        c->at = stop;
        if (behind < stop) return no_colon(a, name, behind, turn);
    } while (clsi_accept(r, c, ","));
    if (clsi_accept(r, c, ":")) return CLS_OK;
    return no_colon(a, out[*n - 1].name, out[*n - 1].range.end, turn);
}

static cls_status expand_formula(clsi_loops *a, clsi_cursor c, size_t turn) {
    clsi_loops_put(a, c.at, turn, "(");
    cls_status status = clsi_loops_expand(a, c, turn, 0);
    clsi_loops_put(a, c.at, turn, ")");
    return status;
}

/* The sum over [low, high] in pairs, pairs of pairs and so on, as far as there are any: equal
 * operations for neighbours. */
static cls_status expand_pairs(clsi_loops *a, const clsi_loop *l, size_t n, clsi_cursor c,
                               size_t turn, long low, long high);

static cls_status expand_sum(clsi_loops *a, const clsi_loop *l, size_t n, clsi_cursor c,
                             size_t turn) {
    if (n == 0) return expand_formula(a, c, turn);
    long low, high;
    cls_status status = clsi_read_range(a, l->range, turn, &low, &high, NULL);
    if (status == CLS_OK) status = clsi_room_for_turns(a, turn, l->name, low, high);
    if (status != CLS_OK) return status;
    if (low > high) {
        clsi_loops_put(a, c.at, turn, "0");
        return CLS_OK;
    }
    return expand_pairs(a, l, n, c, turn, low, high);
}

static cls_status expand_pairs(clsi_loops *a, const clsi_loop *l, size_t n, clsi_cursor c,
                               size_t turn, long low, long high) {
    if (a->flat.length > CLSI_MAX_FLAT)
        return clsi_array_at(a, c.at, turn, "written out, this is more than %d MB",
                             CLSI_MAX_FLAT >> 20);
    if (low == high) {
        size_t inner;
        cls_status status = clsi_add_turn(a, turn, l->name, low, 0, &inner);
        return status == CLS_OK ? expand_sum(a, l + 1, n - 1, c, inner) : status;
    }
    long half = 1;
    while (2 * half <= high - low) half *= 2;
    long middle = low + half - 1;
    clsi_loops_put(a, c.at, turn, "(");
    cls_status status = expand_pairs(a, l, n, c, turn, low, middle);
    clsi_loops_put(a, c.at, turn, " + ");
    if (status == CLS_OK) status = expand_pairs(a, l, n, c, turn, middle + 1, high);
    clsi_loops_put(a, c.at, turn, ")");
    return status;
}

int clsi_is_sum(const clsi_reader *r, size_t at, size_t length, size_t end) {
    clsi_cursor c = {at + length, end};
    if (!word_is(r, at, length, "sum") || !clsi_accept(r, &c, "(")) return 0;
    clsi_skip_space(r, &c);
    size_t n = clsi_plain_word(r, c.at, c.end);
    clsi_cursor in = {c.at + n, end};
    if (n && clsi_accept_word(r, &in, "in")) return 1;
    size_t close = clsi_array_closing(r, at + length, end);
    return close &&
           clsi_find_dots(r, c.at, close - 1) != SIZE_MAX; /* to be told how it is written */
}

static cls_status read_sum(clsi_loops *a, size_t at, size_t end, size_t turn, size_t *behind) {
    clsi_reader *r = a->r;
    clsi_cursor c = {at + 3, end};
    clsi_skip_space(r, &c);
    *behind = clsi_array_closing(r, c.at, end);
    if (!*behind) return clsi_not_closed(a, c.at, end, turn);
    c = (clsi_cursor){c.at + 1, *behind - 1};
    clsi_loop loops[CLSI_MAX_INDICES];
    size_t n;
    if (a->nested == CLSI_MAX_NESTED) return clsi_array_at(a, at, turn, "nested too deep");
    a->nested++;
    cls_status status = clsi_read_loops(a, &c, turn, loops, &n);
    if (status == CLS_OK) status = expand_sum(a, loops, n, c, turn);
    a->nested--;
    return status;
}

/* ---- the letters of a statement ---- */

/* In a declaration a bracket behind a name may be a unit: it is an index when it uses one. */
static int uses_index(const clsi_loops *a, size_t begin, size_t end, size_t turn) {
    for (size_t i = begin; i < end;) {
        size_t n = clsi_plain_word(a->r, i, end);
        if (n && clsi_turn_of(a, turn, a->r->clean + i, n) != SIZE_MAX) return 1;
        i += n ? n : 1;
    }
    return 0;
}

size_t clsi_number_length(const clsi_reader *r, size_t at, size_t end) {
    size_t i = at;
    while (i < end && isdigit((unsigned char)r->clean[i])) i++;
    if (i < end && r->clean[i] == '.' && !(i + 1 < end && r->clean[i + 1] == '.')) i++;
    while (i < end && isdigit((unsigned char)r->clean[i])) i++;
    if (i + 1 < end && (r->clean[i] == 'e' || r->clean[i] == 'E')) {
        size_t k = i + 1 + (r->clean[i + 1] == '+' || r->clean[i + 1] == '-');
        if (k < end && isdigit((unsigned char)r->clean[k])) {
            while (k < end && isdigit((unsigned char)r->clean[k])) k++;
            i = k;
        }
    }
    return i - at;
}

/* One word of a formula, at `at`; *behind it. */
cls_status clsi_loops_word(clsi_loops *a, size_t at, size_t n, size_t end, size_t turn,
                           int declares, size_t *behind) {
    clsi_reader *r = a->r;
    *behind = at + n;
    if (clsi_is_sum(r, at, n, end)) return read_sum(a, at, end, turn, behind);
    if (*behind < end && r->clean[*behind] == '[') {
        size_t close = clsi_array_closing(r, *behind, end);
        if (!declares || (close && uses_index(a, *behind, close, turn))) {
            cls_status status = expand_element(a, at, n, behind, end, turn);
            /* cell[3].s[2] */
            if (status != CLS_OK || *behind + 1 >= end || r->clean[*behind] != '.') return status;
            n = clsi_plain_word(r, *behind + 1, end);
            if (!n) return status;
            clsi_loops_copy(a, *behind, *behind + 1, turn);
            return clsi_loops_word(a, *behind + 1, n, end, turn, declares, behind);
        }
    }
    size_t index = clsi_turn_of(a, turn, r->clean + at, n);
    if (index == SIZE_MAX) {
        clsi_loops_copy(a, at, *behind, turn);
        return CLS_OK;
    }
    long value = a->turns[index].value;
    put_number(a, at, turn, value < 0 ? '(' : 0, value, value < 0 ? ')' : 0);
    return CLS_OK;
}

/* Letters that stay as they are: up to a word that is an index, an element or a sum, or up to quotes. Which
 * words are indices is seen in the text, whatever their values, so that it is looked up once. */
static size_t literal_length(clsi_loops *a, clsi_cursor c, size_t turn) {
    clsi_reader *r = a->r;
    size_t i = c.at;
    if (a->literal[c.at]) return a->literal[c.at] - 1;
    while (i < c.end && r->clean[i] != '"') {
        size_t n = clsi_plain_word(r, i, c.end), number = clsi_number_length(r, i, c.end);
        int works =
            n && ((i + n < c.end && r->clean[i + n] == '[') || clsi_is_sum(r, i, n, c.end) ||
                  clsi_turn_of(a, turn, r->clean + i, n) != SIZE_MAX);
        if (works) break;
        i += n ? n : number ? number : 1;
    }
    a->literal[c.at] = (uint32_t)(i - c.at) + 1;
    return i - c.at;
}

cls_status clsi_loops_expand(clsi_loops *a, clsi_cursor c, size_t turn, int declares) {
    clsi_reader *r = a->r;
    cls_status status = clsi_count_work(a, c.at, turn, c.end - c.at);
    while (c.at < c.end && status == CLS_OK) {
        size_t literal = literal_length(a, c, turn);
        if (literal) {
            clsi_loops_copy(a, c.at, c.at + literal, turn);
            c.at += literal;
            continue;
        }
        if (r->clean[c.at] == '"') {
            const char *close = memchr(r->clean + c.at + 1, '"', c.end - c.at - 1);
            size_t behind = close ? (size_t)(close - r->clean) + 1 : c.end;
            clsi_loops_copy(a, c.at, behind, turn);
            c.at = behind;
        } else {
            size_t n = clsi_plain_word(r, c.at, c.end);
            status = clsi_count_work(a, c.at, turn, CLSI_WORK_OF_A_WORD);
            if (status == CLS_OK)
                status = clsi_loops_word(a, c.at, n, c.end, turn, declares, &c.at);
        }
    }
    if (status == CLS_OK && a->flat.failed) status = clsi_no_memory(r->error);
    return status;
}
