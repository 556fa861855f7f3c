/* Names of a large model (ranges.h): an enumerator, a row of the README and a string for each of 8 N columns would be
 * most of what is written. Columns of an array are places first + stride k, k counting its elements in order, so
 * that a macro says where one is,
 *
 *     #define GAS_COLUMN_T(i, j) (22 * (i) + (j) + 462)      T[1][1] .. T[22][22]
 *
 * and a function writes their names: of each range two texts, before and behind the indices, and seven numbers: first,
 * stride, count, how many indices, the first one, the length of a row, the first of the second index. Where
 * several components are repeated together their elements alternate, and
 * the stride is not 1. Cost: linear in the names. */
#include "export/ranges.h"
#include <stdlib.h>
#include <string.h>

void clsi_ranges_clear(clsi_ranges *r) {
    for (size_t k = 0; k < r->n; k++) free(r->list[k].ident);
    free(r->list);
    *r = (clsi_ranges){0};
}

/* ---- finding ---- */

/* How many elements a row has; of the one that is being read: so far. */
static size_t row_of(const clsi_range *x) {
    return x->of.axes == 2 ? x->of.count[1] : 1;
}

/* Element `index` stands at place k: is it the next one? Then it is counted. */
static int extend(clsi_range *x, const clsi_label *label, const long index[CLSI_SPAN_AXES],
                  size_t k) {
    int units = !x->unit == !label->unit && (!x->unit || !strcmp(x->unit, label->unit));
    if (x->count == 1) x->stride = k - x->first;
    if (!units || k != x->first + x->count * x->stride) return 0;
    if (x->of.axes == 2 && x->of.count[0] == 1 && index[0] == x->of.low[0])
        x->of.count[1] = x->count + 1; /* still in its first row */
    size_t row = row_of(x), at = x->count;
    long i = x->of.low[0] + (long)(at / row), j = x->of.low[1] + (long)(at % row);
    if (index[0] != i || (x->of.axes == 2 && index[1] != j)) return 0;
    x->of.count[0] = at / row + 1;
    x->count++;
    return 1;
}

static clsi_range *add(clsi_ranges *r, const clsi_label *label, size_t k) {
    if (!clsi_grow(&r->list, &r->room, r->n + 1, sizeof *r->list)) return NULL;
    clsi_range *x = &r->list[r->n++];
    *x = (clsi_range){.of = {.name = label->name, .tail = ""},
                      .unit = label->unit,
                      .first = k,
                      .stride = 1,
                      .count = 1};
    x->of.letters = strlen(label->name);
    x->of.count[0] = x->of.count[1] = 1;
    return x;
}

/* Arrays of which all elements are in their places, by the names without indices. */
static int find_arrays(size_t n, const clsi_label *labels, clsi_ranges *r, clsi_lookup *at,
                       char **keys) {
    for (size_t k = 0; k < n; k++) {
        clsi_elements e = {.name = labels[k].name};
        e.axes = clsi_element_read(e.name, e.low, &e.letters, &e.tail);
        if (!e.axes) continue;
        char *key = clsi_span_name(&e);
        if (!key) return 0;
        size_t found = clsi_lookup_find(at, key);
        if (found != SIZE_MAX) {
            clsi_range *x = &r->list[found];
            x->broken |= x->of.axes != e.axes || !extend(x, &labels[k], e.low, k);
            free(key);
            continue;
        }
        clsi_range *x = add(r, &labels[k], k);
        keys[k] = key;
        if (!x) return 0;
        e.count[0] = e.count[1] = 1;
        x->of = e;
        clsi_lookup_add(at, key, r->n - 1);
    }
    return 1;
}

static int is_whole(const clsi_range *x) {
    return !x->broken && x->count > 1 && x->count == x->of.count[0] * row_of(x);
}

/* The arrays that are whole, and the names of no such one, in the order of places. */
static int take_all(size_t n, const clsi_label *labels, const clsi_ranges *found,
                    const clsi_lookup *at, clsi_ranges *out) {
    for (size_t k = 0; k < n; k++) {
        clsi_elements e = {.name = labels[k].name};
        size_t which = SIZE_MAX;
        e.axes = clsi_element_read(e.name, e.low, &e.letters, &e.tail);
        char *key = e.axes ? clsi_span_name(&e) : NULL;
        if (e.axes && !key) return 0;
        if (key) which = clsi_lookup_find(at, key);
        free(key);
        const clsi_range *whole =
            which != SIZE_MAX && is_whole(&found->list[which]) ? &found->list[which] : NULL;
        if (whole && whole->first != k) continue;
        clsi_range *x = add(out, &labels[k], k);
        if (!x) return 0;
        if (whole) *x = *whole;
    }
    return 1;
}

static int name_ranges(clsi_ranges *r) {
    clsi_lookup used;
    int good = clsi_lookup_create(r->n, &used);
    for (int arrays = 0; arrays < 2; arrays++) /* single names keep theirs */
        for (size_t k = 0; k < r->n && good; k++) {
            clsi_range *x = &r->list[k];
            if ((x->of.axes != 0) != arrays) continue;
            char *name = clsi_span_name(&x->of);
            x->ident = name ? clsi_identifier(name, &used) : NULL;
            free(name);
            good = x->ident != NULL;
            if (good) clsi_lookup_add(&used, x->ident, k);
        }
    clsi_lookup_clear(&used);
    return good;
}

int clsi_ranges_find(size_t n, const clsi_label *labels, clsi_ranges *out) {
    clsi_ranges found = {0};
    clsi_lookup at = {0};
    char **keys = clsi_calloc(n, sizeof *keys);
    *out = (clsi_ranges){0};
    int good = keys && clsi_lookup_create(n, &at) && find_arrays(n, labels, &found, &at, keys) &&
               take_all(n, labels, &found, &at, out) && name_ranges(out);
    for (size_t k = 0; keys && k < n; k++) free(keys[k]);
    free(keys);
    clsi_lookup_clear(&at);
    clsi_ranges_clear(&found);
    if (!good) clsi_ranges_clear(out);
    return good;
}

/* ---- writing ---- */

static void append_element(clsi_text *out, const clsi_range *x, size_t k) {
    const clsi_elements *e = &x->of;
    clsi_text_append_n(out, e->name, e->letters);
    if (e->axes) clsi_text_printf(out, "[%ld]", e->low[0] + (long)(k / row_of(x)));
    if (e->axes == 2) clsi_text_printf(out, "[%ld]", e->low[1] + (long)(k % row_of(x)));
    clsi_text_append(out, e->tail);
}

void clsi_append_range(clsi_text *out, const clsi_range *x) {
    append_element(out, x, 0);
    if (!x->of.axes) return;
    clsi_text_append(out, " .. ");
    append_element(out, x, x->count - 1);
}

static const char *arguments_of(const clsi_range *x) {
    return x->of.axes == 2 ? "(i, j)" : x->of.axes ? "(i)" : "";
}

void clsi_append_range_use(clsi_text *out, const clsi_export *e, const char *kind,
                           const clsi_range *x) {
    clsi_text_printf(out, "%s_%s_%s%s", e->upper, kind, x->ident, arguments_of(x));
}

/* 22 * (i), or (i) */
static void append_term(clsi_text *out, size_t factor, const char *index) {
    if (factor != 1) clsi_text_printf(out, "%zu * ", factor);
    clsi_text_printf(out, "(%s)", index);
}

/* (22 * (i) + (j) + 462) */
static void append_place(clsi_text *out, const clsi_range *x) {
    size_t first = x->of.axes == 2 ? x->stride * row_of(x) : x->stride;
    long rest = (long)x->first - (long)first * x->of.low[0];
    int alone = first == 1 && x->of.axes == 1 && !rest;
    clsi_text_append(out, alone ? "" : "(");
    append_term(out, first, "i");
    if (x->of.axes == 2) {
        clsi_text_append(out, " + ");
        append_term(out, x->stride, "j");
        rest -= (long)x->stride * x->of.low[1];
    }
    if (rest) clsi_text_printf(out, " %c %ld", rest < 0 ? '-' : '+', labs(rest));
    clsi_text_append(out, alone ? "" : ")");
}

static void append_comment(clsi_text *out, const clsi_range *x) {
    clsi_text text = {0};
    clsi_append_range(&text, x);
    if (x->unit) clsi_text_printf(&text, " [%s]", x->unit);
    clsi_text_append(out, " /* ");
    clsi_append_comment(out, text.data ? text.data : "");
    clsi_text_append(out, " */\n");
    out->failed |= text.failed;
    clsi_text_clear(&text);
}

void clsi_append_range_names(clsi_text *out, const clsi_export *e, const char *kind,
                             const clsi_ranges *r) {
    size_t single = 0, written = 0;
    for (size_t k = 0; k < r->n; k++) single += !r->list[k].of.axes;
    if (single) clsi_text_append(out, "enum {\n");
    for (size_t k = 0; k < r->n; k++) {
        const clsi_range *x = &r->list[k];
        if (x->of.axes) continue;
        clsi_text_append(out, "    ");
        clsi_append_range_use(out, e, kind, x);
        clsi_text_printf(out, " = %zu%s", x->first, ++written < single ? "," : "");
        append_comment(out, x);
    }
    if (single) clsi_text_append(out, "};\n");
    for (size_t k = 0; k < r->n; k++) {
        const clsi_range *x = &r->list[k];
        if (!x->of.axes) continue;
        clsi_text_append(out, "#define ");
        clsi_append_range_use(out, e, kind, x);
        clsi_text_append(out, " ");
        append_place(out, x);
        append_comment(out, x);
    }
}

size_t clsi_name_room(size_t n, const clsi_label *labels) {
    size_t most = 0;
    for (size_t k = 0; k < n; k++)
        if (strlen(labels[k].name) > most) most = strlen(labels[k].name);
    return most + 1;
}

static const char writer[] =
    "static char *clsi_put_text(char *to, const char *text) {\n"
    "    while (*text) *to++ = *text++;\n    return to;\n}\n"
    "\nstatic char *clsi_put_index(char *to, int index) {\n"
    "    char digits[12];\n    int n = 0;\n    *to++ = '[';\n"
    "    if (index < 0) *to++ = '-';\n"
    "    do {\n        digits[n++] = (char)('0' + (index < 0 ? -(index % 10) : index % 10));\n"
    "        index /= 10;\n    } while (index != 0);\n"
    "    while (n > 0) *to++ = digits[--n];\n    *to++ = ']';\n    return to;\n}\n"
    "\nvoid $_column_name(int k, char *name) {\n"
    "    for (int r = 0; r < CLSI_NAMES; r++) {\n"
    "        const int *x = clsi_name_places + 7 * r, at = (k - x[0]) / x[1];\n"
    "        if (k < x[0] || at >= x[2] || x[0] + at * x[1] != k) continue;\n"
    "        name = clsi_put_text(name, clsi_name_texts[2 * r]);\n"
    "        if (x[3] > 0) name = clsi_put_index(name, x[4] + at / x[5]);\n"
    "        if (x[3] > 1) name = clsi_put_index(name, x[6] + at % x[5]);\n"
    "        name = clsi_put_text(name, clsi_name_texts[2 * r + 1]);\n"
    "        break;\n    }\n    *name = 0;\n}\n\n";

void clsi_append_column_name(clsi_text *out, const clsi_export *e, const clsi_ranges *r) {
    clsi_text_printf(out,
                     "\nenum { CLSI_NAMES = %zu };\n"
                     "static const char *const clsi_name_texts[] = {",
                     r->n);
    for (size_t k = 0; k < r->n; k++) {
        const clsi_elements *of = &r->list[k].of;
        clsi_text name = {0};
        clsi_text_append_n(&name, of->name, of->letters);
        clsi_append_string(out, name.data ? name.data : "");
        clsi_text_append(out, ", ");
        clsi_append_string(out, of->tail);
        clsi_text_append(out, k + 1 < r->n ? ",\n    " : "};\n");
        out->failed |= name.failed;
        clsi_text_clear(&name);
    }
    clsi_text_append(out, "static const int clsi_name_places[] = {");
    for (size_t k = 0; k < r->n; k++) {
        const clsi_range *x = &r->list[k];
        clsi_text_printf(out, "%zu, %zu, %zu, %zu, %ld, %zu, %ld%s", x->first, x->stride, x->count,
                         x->of.axes, x->of.axes ? x->of.low[0] : 0, row_of(x),
                         x->of.axes == 2 ? x->of.low[1] : 0, k + 1 < r->n ? ",\n    " : "};\n");
    }
    clsi_append_template(out, e, writer);
}
