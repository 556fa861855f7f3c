/* Arrays: a text with them is written out before it is read.
 *
 *     coordinate u[1..N]                  u[1], u[2], ..., u[N]
 *     let d[i] = u[i+1] - u[i]            d[3] is (u[4] - u[3]) wherever it stands
 *     sum(i in 1..N-1: d[i]^2)            the sum of all, in pairs (round-off grows like log N)
 *     for i in 1..N: friction on ...      the statement, once for each i
 *
 * Problem: everything else of the language, statements about components included, should know
 * nothing of it. So the text is expanded like the text of components is (flatten.c): each letter of
 * the flat text knows the letter it comes from and the values of the indices there, and complaints
 * name both. Cost: linear in what is written out. A text without arrays is not touched. */
#include "system/arrays.h"
#include "system/pattern.h"
#include "system/ports.h"
#include <stdlib.h>
#include <string.h>

/* Elements of all arrays of a file: two fields on 512 x 512 cells. Each costs some 30 us and 3 kB to read. */
enum { MAX_ELEMENTS = 1 << 19 };

/* ---- declarations ---- */

static cls_status add_array(clsi_loops *a, const char *name, size_t length,
                            const clsi_array *like) {
    if (!clsi_grow(&a->arrays, &a->arrays_room, a->n_arrays + 1, sizeof *a->arrays))
        return clsi_no_memory(a->r->error);
    clsi_array *array = &a->arrays[a->n_arrays];
    *array = *like;
    if (!(array->name = clsi_strndup(name, length))) return clsi_no_memory(a->r->error);
    a->n_arrays++;
    return CLS_OK;
}

/* The temperatures of entropies and back, by the rule of declare.c. */
static cls_status add_partner(clsi_loops *a, const char *name, const clsi_array *like) {
    char other[80];
    if (name[0] == 'S')
        snprintf(other, sizeof other, "T%.70s", name + 1);
    else if (strncmp(name, "theta", 5) == 0)
        snprintf(other, sizeof other, "s%.70s", name + 5);
    else if (name[0] == 's')
        snprintf(other, sizeof other, "theta%.70s", name + 1);
    else if (name[0] == 'T')
        snprintf(other, sizeof other, "S%.70s", name + 1);
    else
        return CLS_OK;
    return add_array(a, other, strlen(other), like);
}

cls_status clsi_read_array(clsi_loops *a, size_t at, size_t end, size_t turn, size_t *length,
                           size_t *behind, clsi_array *out) {
    clsi_reader *r = a->r;
    clsi_cursor place[CLSI_MAX_INDICES];
    *out = (clsi_array){0};
    *length = clsi_plain_word(r, at, end);
    *behind = at + *length;
    if (!*length || *behind >= end || r->clean[*behind] != '[') return *length = 0, CLS_OK;
    size_t close = clsi_array_closing(r, *behind, end);
    if (!close && clsi_find_dots(r, *behind + 1, end) != SIZE_MAX)
        return clsi_not_closed(a, *behind, end, turn);
    if (!close || clsi_find_dots(r, *behind + 1, close - 1) == SIZE_MAX) return *length = 0, CLS_OK;
    cls_status status = clsi_index_brackets(a, behind, end, turn, place, &out->n);
    for (size_t k = 0; k < out->n && status == CLS_OK; k++) {
        status = clsi_read_range(a, place[k], turn, &out->low[k], &out->high[k], &out->ring[k]);
        if (status == CLS_OK && out->low[k] > out->high[k])
            status =
                clsi_array_at(a, place[k].at, turn, "the range is empty: it goes from %ld to %ld",
                              out->low[k], out->high[k]);
    }
    return status;
}

static cls_status count_elements(clsi_loops *a, size_t at, size_t length, size_t turn,
                                 const clsi_array *array) {
    double count = 1;
    if (length > 60) return clsi_array_at(a, at, turn, "this name is longer than 60 letters");
    for (size_t k = 0; k < array->n; k++)
        count *= (double)array->high[k] - (double)array->low[k] + 1;
    if (a->elements + count > MAX_ELEMENTS)
        return clsi_array_at(a, at, turn,
                             "%.0f elements of arrays up to here, at most %d are allowed",
                             a->elements + count, (int)MAX_ELEMENTS);
    a->elements += count;
    return CLS_OK;
}

/* Registers the arrays of one item, and hands out the first. */
static cls_status register_item(clsi_loops *a, clsi_cursor c, size_t turn, int thermal,
                                clsi_array *first) {
    clsi_reader *r = a->r;
    cls_status status = CLS_OK;
    first->n = 0;
    while (c.at < c.end && status == CLS_OK) {
        size_t length, behind;
        clsi_array array;
        status = clsi_read_array(a, c.at, c.end, turn, &length, &behind, &array);
        if (status == CLS_OK && length) status = count_elements(a, c.at, length, turn, &array);
        if (status != CLS_OK) return status;
        if (length) {
            status = add_array(a, r->clean + c.at, length, &array);
            if (status == CLS_OK && thermal)
                status = add_partner(a, a->arrays[a->n_arrays - 1].name, &array);
            if (!first->n) *first = array;
            c.at = behind;
        } else {
            size_t n = clsi_plain_word(r, c.at, c.end);
            c.at += n ? n : 1;
        }
    }
    return status;
}

/* One element of an item: all its ranges are at the same place of theirs. */
static cls_status expand_item(clsi_loops *a, clsi_cursor c, size_t turn, const long *step) {
    clsi_reader *r = a->r;
    cls_status status = CLS_OK;
    while (c.at < c.end && status == CLS_OK) {
        size_t length, behind, n = clsi_plain_word(r, c.at, c.end);
        clsi_array array;
        status = clsi_read_array(a, c.at, c.end, turn, &length, &behind, &array);
        if (status != CLS_OK) return status;
        if (length) {
            long value[CLSI_MAX_INDICES];
            for (size_t k = 0; k < array.n; k++) value[k] = array.low[k] + step[k];
            clsi_put_element(a, c.at, length, array.n, value, turn);
            c.at = behind;
        } else if (n) {
            status = clsi_loops_word(a, c.at, n, c.end, turn, 1, &c.at);
        } else {
            size_t number = clsi_number_length(r, c.at, c.end);
            clsi_loops_copy(a, c.at, c.at + (number ? number : 1), turn);
            c.at += number ? number : 1;
        }
    }
    return status;
}

/* The last index runs fastest. */
static void next_element(const clsi_array *array, long *step) {
    for (size_t k = array->n; k-- > 0;) {
        if (++step[k] <= array->high[k] - array->low[k]) return;
        step[k] = 0;
    }
}

static cls_status expand_items(clsi_loops *a, clsi_cursor c, size_t turn, int thermal) {
    clsi_reader *r = a->r;
    for (;;) {
        size_t end = clsi_item_end(r, &c);
        clsi_cursor item = {c.at, end};
        clsi_array first;
        cls_status status = register_item(a, item, turn, thermal, &first);
        long step[CLSI_MAX_INDICES] = {0}, count = 1;
        for (size_t k = 0; k < first.n; k++) count *= first.high[k] - first.low[k] + 1;
        for (long i = 0; i < count && status == CLS_OK; i++) {
            if (i) clsi_loops_put(a, item.at, turn, ", ");
            status = expand_item(a, item, turn, step);
            next_element(&first, step);
        }
        if (status != CLS_OK || end >= c.end) return status;
        clsi_loops_copy(a, end, end + 1, turn);
        c.at = end + 1;
    }
}

/* ---- statements ---- */

/* momentum q[1..N] with velocity U[1..N]: two lists, each written out where it stands. */
static cls_status expand_lists(clsi_loops *a, clsi_cursor c, size_t turn) {
    clsi_reader *r = a->r;
    cls_status status = CLS_OK;
    clsi_array array;
    while (c.at < c.end && status == CLS_OK) {
        size_t length, behind, n = clsi_plain_word(r, c.at, c.end);
        status = clsi_read_array(a, c.at, c.end, turn, &length, &behind, &array);
        long step[CLSI_MAX_INDICES] = {0}, count = length ? 1 : 0;
        if (status == CLS_OK && length) status = count_elements(a, c.at, length, turn, &array);
        if (status == CLS_OK && length) status = add_array(a, r->clean + c.at, length, &array);
        if (status != CLS_OK) return status;
        for (size_t k = 0; k < array.n; k++) count *= array.high[k] - array.low[k] + 1;
        for (long i = 0; i < count && status == CLS_OK; i++) {
            if (i) clsi_loops_put(a, c.at, turn, ", ");
            status = expand_item(a, (clsi_cursor){c.at, behind}, turn, step);
            next_element(&array, step);
        }
        if (!length && n && status == CLS_OK) {
            status = clsi_loops_word(a, c.at, n, c.end, turn, 1, &behind);
        } else if (!length) {
            clsi_loops_copy(a, c.at, c.at + 1, turn);
            behind = c.at + 1;
        }
        c.at = behind;
    }
    return status;
}

/* 0, or where the list begins. */
static size_t is_declaration(const clsi_reader *r, clsi_cursor c, int *thermal) {
    static const char *const words[] = {"entropy",  "temperature", "coordinate",
                                        "position", "momentum",    "parameter",
                                        "input",    "mole",        "internal"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        clsi_cursor d = c;
        *thermal = i < 2;
        if (clsi_accept_word(r, &d, words[i])) return d.at;
    }
    return 0;
}

/* let d[i] = ...: 1 when the brackets have names of indices. */
static int read_macro(const clsi_loops *a, clsi_cursor c, clsi_macro *m) {
    clsi_reader *r = a->r;
    if (!clsi_accept_word(r, &c, "let")) return 0;
    clsi_skip_space(r, &c);
    *m = (clsi_macro){.name = c.at, .length = clsi_plain_word(r, c.at, c.end)};
    size_t at = c.at + m->length;
    while (m->length && at < c.end && r->clean[at] == '[') {
        size_t close = clsi_array_closing(r, at, c.end);
        if (!close) return 0;
        clsi_cursor in = {at + 1, close - 1};
        while (in.at < in.end) {
            clsi_skip_space(r, &in);
            size_t n = clsi_plain_word(r, in.at, in.end);
            if (!n || m->n == CLSI_MAX_INDICES) return 0;
            m->index[m->n++] = (clsi_cursor){in.at, in.at + n};
            for (size_t i = 0; i < a->n_sizes; i++)
                if (a->sizes[i].length == n &&
                    memcmp(r->clean + a->sizes[i].name, r->clean + in.at, n) == 0)
                    return 0; /* a parameter: let u[N] = ... is one value */
            in.at += n;
            if (!clsi_at_end(r, &in) && !clsi_accept(r, &in, ",")) return 0;
        }
        at = close;
    }
    c.at = at;
    if (!m->n || !clsi_accept(r, &c, "=")) return 0;
    m->body = c;
    return 1;
}

static cls_status expand_statement(clsi_loops *a, clsi_cursor c, size_t turn);

size_t clsi_line_end(const clsi_reader *r, size_t at, size_t end) {
    const char *newline = memchr(r->clean + at, '\n', end - at);
    return newline ? (size_t)(newline - r->clean) : end;
}

size_t clsi_indentation(const clsi_reader *r, size_t at, size_t end) {
    size_t stop = clsi_line_end(r, at, end), i = at;
    while (i < stop && r->clean[i] == ' ') i++;
    return i == stop ? SIZE_MAX : i - at;
}

int clsi_next_statement(const clsi_reader *r, size_t *at, size_t end, size_t base,
                        clsi_cursor *out) {
    while (*at < end && clsi_indentation(r, *at, end) == SIZE_MAX)
        *at = clsi_line_end(r, *at, end) + 1;
    if (*at >= end) return 0;
    out->at = *at + clsi_indentation(r, *at, end);
    out->end = clsi_line_end(r, *at, end);
    *at = out->end + 1;
    while (*at < end) {
        size_t white = clsi_indentation(r, *at, end);
        if (white != SIZE_MAX && white <= base) break;
        if (white != SIZE_MAX) out->end = clsi_line_end(r, *at, end);
        *at = clsi_line_end(r, *at, end) + 1;
    }
    return 1;
}

/* What stands in a loop: one statement behind the colon, or the lines below it. */
static cls_status expand_body(clsi_loops *a, clsi_cursor c, size_t turn) {
    clsi_reader *r = a->r;
    size_t first = clsi_line_end(r, c.at, c.end), at = first + 1, base = SIZE_MAX;
    clsi_cursor line = {c.at, first}, inner;
    cls_status status = clsi_count_work(a, c.at, turn, c.end - c.at + CLSI_WORK_OF_A_TURN);
    if (status != CLS_OK) return status;
    if (!clsi_at_end(r, &line)) {
        clsi_skip_space(r, &c);
        return expand_statement(a, c, turn);
    }
    for (size_t k = at; k < c.end && base == SIZE_MAX; k = clsi_line_end(r, k, c.end) + 1)
        base = clsi_indentation(r, k, c.end);
    if (base == SIZE_MAX) return clsi_array_at(a, c.at, turn, "expected a statement to repeat");
    while (status == CLS_OK && clsi_next_statement(r, &at, c.end, base, &inner))
        status = expand_statement(a, inner, turn);
    return status;
}

static cls_status too_long(clsi_loops *a, size_t at, size_t turn) {
    return clsi_array_at(a, at, turn, "written out, this is more than %d MB", CLSI_MAX_FLAT >> 20);
}

static cls_status expand_loops(clsi_loops *a, const clsi_loop *l, size_t n, clsi_cursor c,
                               size_t turn) {
    if (n == 0) return expand_body(a, c, turn);
    long low, high;
    cls_status status = clsi_read_range(a, l->range, turn, &low, &high, NULL);
    if (status == CLS_OK) status = clsi_room_for_turns(a, turn, l->name, low, high);
    for (long i = low; status == CLS_OK && i <= high; i++) {
        size_t inner;
        if (a->flat.length > CLSI_MAX_FLAT) return too_long(a, c.at, turn);
        status = clsi_add_turn(a, turn, l->name, i, 0, &inner);
        if (status == CLS_OK) status = expand_loops(a, l + 1, n - 1, c, inner);
    }
    return status;
}

/* `storage cell[1..N](...): ...` and `use cell as c[1..N]`: where the name with a range begins, or 0. */
static size_t repeated_name(const clsi_reader *r, clsi_cursor c, int *defines) {
    clsi_component_kind kind;
    *defines = clsi_accept_word(r, &c, "component");
    if (clsi_accept_word(r, &c, "use")) {
        size_t as = clsi_find_word(r, c.at, c.end, "as");
        if (as == c.at) return 0;
        c.at = as + 2;
    } else if (!*defines && !clsi_accept_kind(r, &c, &kind)) {
        return 0;
    }
    clsi_skip_space(r, &c);
    size_t bracket = c.at + clsi_plain_word(r, c.at, c.end), close;
    if (bracket == c.at || bracket >= c.end || r->clean[bracket] != '[') return 0;
    close = clsi_array_closing(r, bracket, c.end);
    return close && clsi_find_dots(r, bracket + 1, close - 1) != SIZE_MAX ? c.at : 0;
}

/* The statement for each element of the range in its name. */
static cls_status expand_repeated(clsi_loops *a, clsi_cursor c, size_t name, size_t turn) {
    clsi_array array;
    size_t length, behind;
    long step[CLSI_MAX_INDICES] = {0}, count = 1;
    cls_status status = clsi_read_array(a, name, c.end, turn, &length, &behind, &array);
    if (status == CLS_OK) status = count_elements(a, name, length, turn, &array);
    if (status != CLS_OK) return status;
    for (size_t k = 0; k < array.n; k++) count *= array.high[k] - array.low[k] + 1;
    for (long i = 0; i < count && status == CLS_OK; i++) {
        if (a->flat.length > CLSI_MAX_FLAT) return too_long(a, c.at, turn);
        clsi_loops_copy(a, c.at, name, turn);
        status = expand_item(a, (clsi_cursor){name, behind}, turn, step);
        if (status == CLS_OK) status = clsi_loops_expand(a, (clsi_cursor){behind, c.end}, turn, 0);
        clsi_loops_put(a, c.at, turn, "\n");
        next_element(&array, step);
    }
    return status;
}

static cls_status expand_statement(clsi_loops *a, clsi_cursor c, size_t turn) {
    clsi_reader *r = a->r;
    clsi_cursor ahead = c;
    clsi_macro macro;
    int defines;
    size_t repeated = repeated_name(r, c, &defines);
    int thermal;
    cls_status status;
    if (clsi_accept_word(r, &ahead, "for")) {
        clsi_loop loops[CLSI_MAX_INDICES];
        size_t n;
        if (a->nested == CLSI_MAX_NESTED) return clsi_array_at(a, c.at, turn, "nested too deep");
        a->nested++;
        status = clsi_read_loops(a, &ahead, turn, loops, &n);
        if (status == CLS_OK) status = expand_loops(a, loops, n, ahead, turn);
        a->nested--;
        return status;
    }
    if (repeated && defines)
        return clsi_array_at(
            a, repeated, turn,
            "this defines one kind of component, without indices: write `component "
            "cell(...)`, and `use cell as c[1..N]` for many of them");
    if (repeated) return expand_repeated(a, c, repeated, turn);
    if (turn == SIZE_MAX && read_macro(a, c, &macro)) return CLS_OK; /* known already */
    size_t list = is_declaration(r, c, &thermal);
    if (list) clsi_loops_copy(a, c.at, list, turn);
    int pairs = clsi_accept_word(r, &ahead, "momentum") || clsi_accept_word(r, &ahead, "mole") ||
                clsi_accept_word(r, &ahead, "internal");
    status = list && pairs ? expand_lists(a, (clsi_cursor){list, c.end}, turn)
             : list        ? expand_items(a, (clsi_cursor){list, c.end}, turn, thermal)
                           : clsi_loops_expand(a, c, turn, 0);
    clsi_loops_put(a, c.at, turn, "\n");
    return status;
}

/* ---- what must be known before ---- */

static cls_status note_edge(clsi_loops *a, clsi_cursor c) {
    clsi_reader *r = a->r;
    if (!clsi_accept_word(r, &c, "let")) return CLS_OK;
    clsi_skip_space(r, &c);
    size_t n = clsi_plain_word(r, c.at, c.end);
    if (!n || c.at + n >= c.end || r->clean[c.at + n] != '[') return CLS_OK;
    const char *last = a->n_edges ? a->edges[a->n_edges - 1] : "";
    if (strlen(last) == n && memcmp(last, r->clean + c.at, n) == 0) return CLS_OK;
    if (!clsi_grow(&a->edges, &a->edges_room, a->n_edges + 1, sizeof *a->edges) ||
        !(a->edges[a->n_edges] = clsi_strndup(r->clean + c.at, n)))
        return clsi_no_memory(r->error);
    a->n_edges++;
    return CLS_OK;
}

/* `let d[0] = ...` where there is `let d[i] = ...`, outside of loops. */
static cls_status note_given(clsi_loops *a) {
    clsi_reader *r = a->r;
    clsi_cursor c, place[CLSI_MAX_INDICES];
    cls_status status = CLS_OK;
    for (size_t at = 0; status == CLS_OK && clsi_next_statement(r, &at, r->length, 0, &c);) {
        clsi_macro m;
        if (read_macro(a, c, &m) || !clsi_accept_word(r, &c, "let")) continue;
        clsi_skip_space(r, &c);
        clsi_given g = {.name = c.at, .length = clsi_plain_word(r, c.at, c.end)};
        size_t behind = c.at + g.length, k = 0;
        while (k < a->n_macros &&
               (a->macros[k].length != g.length ||
                memcmp(r->clean + a->macros[k].name, r->clean + g.name, g.length)))
            k++;
        status = clsi_count_work(a, c.at, SIZE_MAX, k);
        if (k == a->n_macros || status != CLS_OK) continue;
        status = clsi_index_brackets(a, &behind, c.end, SIZE_MAX, place, &g.n);
        for (size_t i = 0; i < g.n && status == CLS_OK; i++)
            status = clsi_array_integer(a, place[i].at, place[i].end, SIZE_MAX, &g.value[i]);
        if (status != CLS_OK || g.n != a->macros[k].n) continue;
        if (!clsi_grow(&a->given, &a->given_room, a->n_given + 1, sizeof *a->given))
            return clsi_no_memory(r->error);
        a->given[a->n_given++] = g;
        a->macros[k].has_given = 1;
    }
    return status;
}

static cls_status prepare(clsi_loops *a) {
    clsi_reader *r = a->r;
    cls_status status = CLS_OK;
    clsi_cursor c;
    for (size_t at = 0; status == CLS_OK && clsi_next_statement(r, &at, r->length, 0, &c);) {
        clsi_cursor d = c;
        if (clsi_accept_word(r, &d, "parameter")) status = clsi_find_sizes(a, d);
    }
    for (size_t at = 0; status == CLS_OK && clsi_next_statement(r, &at, r->length, 0, &c);) {
        clsi_macro macro;
        if (!read_macro(a, c, &macro)) {
            clsi_cursor d = c; /* lets inside loops stand in the same line, or in the block */
            for (; d.at < d.end && status == CLS_OK; d.at++)
                if (r->clean[d.at] == 'l') status = note_edge(a, d);
            continue;
        }
        if (!clsi_grow(&a->macros, &a->macros_room, a->n_macros + 1, sizeof *a->macros))
            return clsi_no_memory(r->error);
        a->macros[a->n_macros++] = macro;
    }
    return status == CLS_OK && a->n_macros ? note_given(a) : status;
}

/* Declarations first, so that formulas above them know the arrays. */
static cls_status expand_all(clsi_loops *a) {
    clsi_reader *r = a->r;
    cls_status status = prepare(a);
    clsi_cursor c;
    clsi_array array;
    if (status == CLS_OK && r->lean) status = clsi_patterns_create(a);
    for (int pass = 0; pass < 2; pass++)
        for (size_t at = 0; status == CLS_OK && clsi_next_statement(r, &at, r->length, 0, &c);) {
            int thermal, first = is_declaration(r, c, &thermal) != 0;
            if (first != (pass == 0)) continue;
            if (!r->lean || !clsi_take_turned(a, c, &status))
                status = status == CLS_OK ? expand_statement(a, c, SIZE_MAX) : status;
            else if (first)
                status = register_item(a, c, SIZE_MAX, thermal, &array);
        }
    return status;
}

/* Whether the text has anything to write out. */
static int has_arrays(const clsi_reader *r) {
    clsi_cursor c;
    for (size_t i = 0; i + 1 < r->length; i++) {
        if (r->clean[i] == '"') {
            const char *close = memchr(r->clean + i + 1, '"', r->length - i - 1);
            i = close ? (size_t)(close - r->clean) : r->length;
        } else if (r->clean[i] == '.' && r->clean[i + 1] == '.')
            return 1;
    }
    for (size_t at = 0; clsi_next_statement(r, &at, r->length, 0, &c);)
        if (clsi_accept_word(r, &c, "for")) return 1;
    return 0;
}

/* A system whose lines begin with white space is refused later, with its place. */
cls_status clsi_read_arrays(clsi_reader *r) {
    if (!has_arrays(r)) return r->lean = 0, CLS_OK;
    if (clsi_has_ports(r)) r->lean = 0;
    clsi_loops *a = clsi_calloc(1, sizeof *a);
    if (!a) return clsi_no_memory(r->error);
    r->arrays = a;
    r->expanding = a;
    a->r = r;
    a->origin = (clsi_reader){.file = r->file,
                              .text = r->text,
                              .length = r->length,
                              .clean = r->clean,
                              .error = r->error};
    a->literal = clsi_calloc(r->length + 1, sizeof *a->literal);
    cls_status status = a->literal ? expand_all(a) : clsi_no_memory(r->error);
    if (!a->flat.data) clsi_text_append(&a->flat, "");
    if (status == CLS_OK && a->flat.failed) status = clsi_no_memory(r->error);
    r->clean = NULL;
    if (!r->lean) a->r = NULL;
    if (status != CLS_OK) {
        r->clean = a->origin.clean;
        a->origin.clean = NULL;
        return status;
    }
    r->expanding = NULL;
    r->text = a->flat.data;
    r->length = a->flat.length;
    return clsi_clean_text(r);
}

const clsi_reader *clsi_array_origin(const clsi_loops *a, size_t *where, size_t *turn) {
    size_t low = 0, high = a->n_map;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (a->map[middle].flat <= *where)
            low = middle;
        else
            high = middle;
    }
    const clsi_run *o = &a->map[low];
    *where = o->offset + (o->exact && *where > o->flat ? *where - o->flat : 0);
    *turn = o->turn == CLSI_NO_TURN ? SIZE_MAX : o->turn;
    return &a->origin;
}

void clsi_loops_free(clsi_loops **arrays) {
    clsi_loops *a = *arrays;
    if (!a) return;
    for (size_t i = 0; i < a->n_arrays; i++) free(a->arrays[i].name);
    for (size_t i = 0; i < a->n_edges; i++) free(a->edges[i]);
    clsi_text_clear(&a->flat);
    clsi_patterns_free(&a->patterns);
    void *const lists[] = {a->map,   a->turns, a->arrays,       a->macros,  a->sizes,
                           a->given, a->edges, a->origin.clean, a->literal, a};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    *arrays = NULL;
}
