/* Equal but for their indices: lines, items of lists, names.
 *
 * Problem: a system of a thousand cells has a thousand frictions, states and starts, of which one says all.
 * Method: the shape of a piece is its text with `#` for each index in brackets and for each number; pieces of
 * one shape need not be neighbours (components in a loop alternate: pipe[1], room[1], pipe[2], ...).
 * Cost: linear in the text. What it does not promise: numbers between the first and the last may differ. */
#include "base/alike.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1200 }; /* letters of a line for a person */

typedef struct piece {
    const char *text;
    size_t length;
    size_t shape, shape_length; /* in the text of shapes */
    size_t first, last, count;  /* of its shape, at the first piece of it */
} piece;

static int is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Behind the number at s: digits, a point, an exponent; s itself where there is none. */
static const char *behind_number(const char *s, const char *end) {
    const char *from = s;
    while (s < end && (isdigit((unsigned char)*s) || (*s == '.' && s > from))) s++;
    if (s > from && s + 1 < end && (*s == 'e' || *s == 'E')) {
        const char *digits = s + 1 + (s[1] == '-' || s[1] == '+');
        if (digits < end && isdigit((unsigned char)*digits))
            while (digits < end && isdigit((unsigned char)*digits)) s = ++digits;
    }
    return s;
}

/* Digits of a name (T1) belong to it; those in brackets, and numbers, are `#`. Blanks count once: columns are padded. */
static void put_shape(clsi_text *out, const char *s, size_t n) {
    const char *end = s + n;
    int depth = 0;
    for (char before = ' '; s < end;) {
        const char *next = behind_number(s, end);
        depth += (*s == '[') - (*s == ']');
        if (next > s && (depth || !is_word(before))) {
            if (before == '-' && out->data[out->length - 1] == '-' && !depth &&
                (out->length < 2 || strchr(" (", out->data[out->length - 2])))
                out->length--; /* a sign */
            clsi_text_append(out, "#");
            before = '#';
            s = next;
            continue;
        }
        if (!(*s == ' ' && before == ' ')) clsi_text_append_n(out, s, 1);
        before = *s++;
    }
}

/* The places of shapes in a table of twice their number. */
static int find_shapes(piece *p, size_t n, const char *shapes) {
    size_t slots = 16;
    while (slots < 2 * n) slots *= 2;
    uint32_t *table = clsi_calloc(slots, sizeof *table);
    for (size_t i = 0; table && i < n; i++) {
        const char *shape = shapes + p[i].shape;
        size_t at = clsi_hash_text(shape, p[i].shape_length) & (slots - 1);
        for (; table[at]; at = (at + 1) & (slots - 1)) {
            const piece *q = &p[table[at] - 1];
            if (q->shape_length == p[i].shape_length &&
                memcmp(shapes + q->shape, shape, q->shape_length) == 0)
                break;
        }
        if (!table[at]) table[at] = (uint32_t)i + 1;
        piece *first = &p[table[at] - 1];
        p[i].first = table[at] - 1;
        first->last = i;
        first->count++;
    }
    free(table);
    return table != NULL;
}

/* Calls `put` for what remains of n pieces: the piece, or NULL and how many are left out there. */
static void fold(clsi_text *out, piece *p, size_t n,
                 void (*put)(clsi_text *out, const piece *p, size_t left_out)) {
    clsi_text shapes = {0};
    for (size_t i = 0; i < n && n >= CLSI_ALIKE_FROM; i++) {
        p[i].shape = shapes.length;
        put_shape(&shapes, p[i].text, p[i].length);
        p[i].shape_length = shapes.length - p[i].shape;
        p[i].count = 0;
    }
    int can = n >= CLSI_ALIKE_FROM && !shapes.failed && shapes.data;
    if (can && !find_shapes(p, n, shapes.data)) can = 0, out->failed = 1;
    for (size_t i = 0; i < n; i++) {
        const piece *first = can ? &p[p[i].first] : NULL;
        if (!first || first->count < CLSI_ALIKE_FROM) {
            put(out, &p[i], 0);
        } else if (first == &p[i]) {
            put(out, &p[i], 0);
            put(out, &p[i], p[i].count - 2);
            put(out, &p[p[i].last], 0);
        }
    }
    if (shapes.failed) out->failed = 1;
    clsi_text_clear(&shapes);
}

/* ---- lines ---- */

static size_t indentation(const char *line, size_t n) {
    size_t i = 0;
    while (i < n && line[i] == ' ') i++;
    return i;
}

static void put_line(clsi_text *out, const piece *p, size_t left_out) {
    size_t white = indentation(p->text, p->length);
    if (left_out) {
        clsi_text_printf(out, "%*s...         (%zu more like these two)\n", (int)white, "",
                         left_out);
    } else if (p->length <= LONGEST) {
        clsi_text_append_n(out, p->text, p->length);
        clsi_text_append(out, "\n");
    } else { /* at a blank, so that no name or number is cut */
        size_t cut = LONGEST - 200;
        while (cut < LONGEST && p->text[cut] != ' ') cut++;
        clsi_text_append_n(out, p->text, cut);
        clsi_text_printf(out, " ... (%zu letters; --source prints what the file says)\n",
                         p->length);
    }
}

void clsi_alike_lines(clsi_text *out, const char *lines) {
    size_t n = 0, room = 0, last = SIZE_MAX;
    piece *p = NULL;
    while (*lines) {
        size_t length = strcspn(lines, "\n"), white = indentation(lines, length);
        if (white != last || length == white) {
            fold(out, p, n, put_line);
            n = 0;
        }
        if (!clsi_grow(&p, &room, n + 1, sizeof *p)) break;
        p[n++] = (piece){.text = lines, .length = length};
        last = white;
        lines += length + (lines[length] != 0);
    }
    if (*lines) out->failed = 1;
    fold(out, p, n, put_line);
    free(p);
}

/* ---- lists ---- */

static void put_item(clsi_text *out, const piece *p, size_t left_out) {
    if (out->length && out->data[out->length - 1] != ' ') clsi_text_append(out, ", ");
    if (left_out)
        clsi_text_append(out, "...");
    else
        clsi_text_append_n(out, p->text, p->length);
}

void clsi_alike_items(clsi_text *out, const char *list) {
    size_t n = 0, room = 0;
    piece *p = NULL;
    clsi_text own = {0};
    while (*list) {
        const char *comma = strstr(list, ", ");
        size_t length = comma ? (size_t)(comma - list) : strlen(list);
        if (!clsi_grow(&p, &room, n + 1, sizeof *p)) break;
        p[n++] = (piece){.text = list, .length = length};
        list += length + (comma ? 2 : 0);
    }
    if (*list) out->failed = 1;
    fold(&own, p, n, put_item);
    if (own.failed) out->failed = 1;
    if (own.data) clsi_text_append_n(out, own.data, own.length);
    clsi_text_clear(&own);
    free(p);
}

void clsi_alike_names(clsi_text *out, size_t n, const char *const *names, size_t room) {
    clsi_text all = {0}, folded = {0};
    size_t cut;
    for (size_t i = 0; i < n; i++)
        if (names[i]) clsi_text_printf(&all, "%s%s", all.length ? ", " : "", names[i]);
    if (all.data) clsi_alike_items(&folded, all.data);
    if (all.failed || folded.failed) out->failed = 1;
    if (folded.length <= room) {
        clsi_text_append_n(out, folded.data ? folded.data : "", folded.length);
    } else {
        for (cut = room; cut && folded.data[cut] != ','; cut--) continue;
        clsi_text_append_n(out, folded.data, cut);
        clsi_text_append(out, ", ...");
    }
    clsi_text_clear(&all);
    clsi_text_clear(&folded);
}

/* ---- names of elements ---- */

int clsi_element_name(const char *name, char out[CLSI_ELEMENT_ROOM]) {
    size_t used = 0;
    int inside = 0, changed = 0;
    if (!strchr(name, ',') || name[0] == '[') return 0;
    for (; *name && used + 3 < CLSI_ELEMENT_ROOM; name++) {
        if (*name == '[') { /* numbers and commas only */
            inside = name[1 + strspn(name + 1, "0123456789-*, ")] == ']';
        } else if (*name == ']') {
            inside = 0;
        } else if (inside && *name == ' ') {
            continue;
        } else if (inside && *name == ',') {
            out[used++] = ']';
            out[used++] = '[';
            changed = 1;
            continue;
        }
        out[used++] = *name;
    }
    out[used] = 0;
    return changed && !*name;
}

int clsi_has_star(const char *name) {
    const char *open = strchr(name, '['), *star = open ? strchr(open, '*') : NULL;
    return star && strchr(star, ']') != NULL;
}

enum { AXES = 3 };

/* The indices at *s, [3][*] or [3, *], and behind them; 0: these are none, or too many. */
typedef struct place {
    const char *text;
    size_t length;
} place;

static size_t read_places(const char **s, place *out) {
    size_t n = 0;
    while (**s == '[') {
        do {
            *s += 1 + strspn(*s + 1, " ");
            size_t length = strspn(*s, "-0123456789*");
            if (!length || n == AXES) return 0;
            out[n++] = (place){*s, length};
            *s += length;
            *s += strspn(*s, " ");
        } while (**s == ',');
        if (**s != ']') return 0;
        ++*s;
    }
    return n;
}

static int is_star(place p) {
    return p.length == 1 && *p.text == '*';
}

/* One star is any number of indices, else each is its own. Indices in the place of stars go to `found`. */
typedef struct stars {
    long index[CLS_MOST_STARS];
    size_t n;
} stars;

static int same_places(size_t n, const place *pattern, size_t m, const place *name, stars *found) {
    int all = n == 1 && is_star(pattern[0]);
    if (!n || !m || (n != m && !all)) return 0;
    for (size_t k = 0; k < m; k++) {
        const place *p = &pattern[all ? 0 : k];
        if (is_star(*p) && found->n < CLS_MOST_STARS)
            found->index[found->n++] = strtol(name[k].text, NULL, 10);
        else if (p->length != name[k].length || memcmp(p->text, name[k].text, p->length) != 0)
            return 0;
    }
    return 1;
}

static int is_as_written(const char *pattern, const char *name, stars *found) {
    place own[AXES], other[AXES];
    while (*pattern && *name) {
        if (*pattern == '[' && *name == '[') {
            size_t n = read_places(&pattern, own), m = read_places(&name, other);
            if (!same_places(n, own, m, other, found)) return 0;
        } else if (*pattern++ != *name++) {
            return 0;
        }
    }
    return found->n && !*pattern && !*name;
}

/* cell_q, cell_q[*] and cell_q[*][*] of cell[3]_q, u of u[3]: the array of a file (data/spans.c). */
static int is_by_file_name(const char *pattern, const char *name, stars *found) {
    static const place star = {"*", 1};
    place own[AXES] = {star}, other[AXES];
    size_t head = strcspn(name, "["), letters = strcspn(pattern, "["), n = 1;
    const char *tail = name + head, *rest = pattern + letters;
    size_t m = read_places(&tail, other);
    if (*rest) n = read_places(&rest, own);
    if (!head || !m || !n || *rest || strchr(tail, '[') || letters != head + strlen(tail)) return 0;
    return memcmp(pattern, name, head) == 0 && memcmp(pattern + head, tail, letters - head) == 0 &&
           same_places(n, own, m, other, found) && found->n;
}

int cls_means_element(const char *pattern, const char *name, long *index, size_t *n) {
    stars found[2] = {{{0}, 0}, {{0}, 0}};
    int how = !pattern || !name                           ? 0
              : is_as_written(pattern, name, &found[0])   ? 2
              : is_by_file_name(pattern, name, &found[1]) ? 1
                                                          : 0;
    const stars *s = &found[how == 1];
    if (n) *n = how ? s->n : 0;
    if (how && index) memcpy(index, s->index, s->n * sizeof *index);
    return how;
}

/* ---- what is wrong with a name ---- */

typedef struct element {
    size_t letters, axes;
    long index[AXES];
    const char *tail;
} element;

/* name[3][4]tail; 0 when it is no element. */
static int read_element(const char *name, element *e) {
    e->letters = strcspn(name, "[");
    e->axes = 0;
    const char *s = name + e->letters;
    while (*s == '[' && e->axes < AXES) {
        char *end;
        e->index[e->axes++] = strtol(s + 1, &end, 10);
        if (end == s + 1 || *end != ']') return 0;
        s = end + 1;
    }
    e->tail = s;
    return e->letters && e->axes && *s != '[';
}

static int is_sister(const char *name, size_t letters, const char *tail, const char *other,
                     element *e) {
    return other && read_element(other, e) && e->letters == letters &&
           memcmp(name, other, letters) == 0 && (!tail || strcmp(tail, e->tail) == 0);
}

int clsi_same_array(const char *a, const char *b) {
    element e, other;
    return read_element(a, &e) && is_sister(a, e.letters, e.tail, b, &other);
}

const char *clsi_array_hint(const char *name, size_t n, const char *const *names, char out[200]) {
    element e, other;
    int single = read_element(name, &e), letters = (int)strcspn(name, "[");
    const char *first = NULL, *last = NULL;
    long low[AXES] = {0}, high[AXES] = {0};
    size_t axes = 0;
    out[0] = 0;
    for (size_t i = 0; i < n && letters; i++) {
        if (!is_sister(name, (size_t)letters, single ? e.tail : NULL, names[i], &other)) continue;
        if (!first) first = names[i], axes = other.axes;
        last = names[i];
        for (size_t k = 0; k < axes && k < other.axes; k++) {
            if (first == last || other.index[k] < low[k]) low[k] = other.index[k];
            if (first == last || other.index[k] > high[k]) high[k] = other.index[k];
        }
    }
    if (!first) return out;
    if (single && e.axes != axes)
        snprintf(out, 200, "`%.*s` has %zu %s: `%.60s`", letters, name, axes,
                 axes > 1 ? "indices" : "index", first);
    else if (single && axes == 1)
        snprintf(out, 200, "`%.*s%.40s` goes from %ld to %ld", letters < 60 ? letters : 60, name,
                 e.tail, low[0], high[0]);
    else if (first == last)
        snprintf(out, 200, "there is `%.60s`", first);
    else if (single)
        snprintf(out, 200, "`%.*s` goes from `%.60s` to `%.60s`", letters < 60 ? letters : 60, name,
                 first, last);
    else
        snprintf(out, 200, "`%.*s` is an array: `%.60s` to `%.60s`", letters < 60 ? letters : 60,
                 name, first, last);
    return out;
}
