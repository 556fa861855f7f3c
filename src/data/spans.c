/* Columns of an array: u[1], u[2], ..., u[N] stand in one array of a file, (rows, N), and those of a
 * grid S[1][1], S[1][2], ... in one of three axes. What repeated components hold, cell[1]_q,
 * cell[2]_q, ..., is the array cell_q. They need not stand together: where a loop repeats
 * several components, their elements alternate (pipe[1]_s, room[1]_s, pipe[2]_s, ...). The note `arrays` of the file says where the indices begin,
 * `u[1..20], S[0..3][1..5], cell[1..8]_q`, so that the columns get their names back. */
#include "data/arrays.h"
#include <stdlib.h>
#include <string.h>

size_t clsi_element_read(const char *name, long *index, size_t *letters, const char **tail) {
    const char *s = strchr(name, '[');
    size_t n = 0;
    if (!s || s == name) return 0;
    *letters = (size_t)(s - name);
    while (*s == '[') {
        char *end;
        if (n == CLSI_SPAN_AXES) return 0;
        index[n++] = strtol(s + 1, &end, 10);
        if (end == s + 1 || *end != ']') return 0;
        s = end + 1;
    }
    *tail = s;
    return strpbrk(s, "[],") ? 0 : n;
}

/* The column of the element of `span` at `index`, or -1. */
static int column_of(const cls_table *t, const clsi_elements *span, const long *index) {
    char name[256];
    size_t used = (size_t)snprintf(name, sizeof name, "%.*s", (int)span->letters, span->name);
    for (size_t k = 0; k < span->axes && used < sizeof name; k++)
        used += (size_t)snprintf(name + used, sizeof name - used, "[%ld]", index[k]);
    if (used < sizeof name)
        used += (size_t)snprintf(name + used, sizeof name - used, "%s", span->tail);
    return used < sizeof name ? cls_table_find(t, name) : -1;
}

size_t clsi_span_count(const clsi_elements *span) {
    return span->axes == 2 ? span->count[0] * span->count[1] : span->count[0];
}

char *clsi_span_name(const clsi_elements *span) {
    clsi_text name = {0};
    clsi_text_printf(&name, "%.*s%s", (int)span->letters, span->name, span->tail);
    return clsi_text_take(&name);
}

/* The name alone must not be a column, too. */
static int is_free(const cls_table *t, const clsi_elements *span) {
    char *name = clsi_span_name(span);
    int found = !name || cls_table_find(t, name) >= 0;
    free(name);
    return !found;
}

int clsi_span_at(const cls_table *t, uint64_t rows, size_t c, clsi_elements *out) {
    long index[CLSI_SPAN_AXES];
    *out = (clsi_elements){.name = t->names[c], .tail = "", .count = {1, 1}};
    out->axes = clsi_element_read(t->names[c], out->low, &out->letters, &out->tail);
    if (!out->axes || rows < 2) return 0; /* axes of length one are lost in files */
    memcpy(index, out->low, sizeof index);
    size_t last = out->axes - 1;
    index[last] = out->low[last] - 1;
    if (column_of(t, out, index) >= 0)
        return 0; /* it begins elsewhere; so no column is of two arrays */
    index[last] = out->low[last];
    if (last) {
        index[0] = out->low[0] - 1;
        if (column_of(t, out, index) >= 0) return 0;
        index[0] = out->low[0];
    }
    while (index[last]++, column_of(t, out, index) >= 0) out->count[last]++;
    while (out->axes == 2) {
        size_t n = 0;
        index[0] = out->low[0] + (long)out->count[0];
        for (index[1] = out->low[1]; n < out->count[1] && column_of(t, out, index) >= 0; n++)
            index[1]++;
        if (n < out->count[1]) break;
        out->count[0]++;
    }
    return out->count[0] > 1 && out->count[last] > 1 && is_free(t, out);
}

size_t clsi_span_column(const cls_table *t, const clsi_elements *span, size_t k) {
    long index[CLSI_SPAN_AXES] = {span->low[0] + (long)k, 0};
    if (span->axes == 2) {
        index[0] = span->low[0] + (long)(k / span->count[1]);
        index[1] = span->low[1] + (long)(k % span->count[1]);
    }
    int c = column_of(t, span, index);
    return c < 0 ? 0 : (size_t)c; /* it is there, or clsi_span_at had not said so */
}

void clsi_span_write(const clsi_elements *span, clsi_text *out) {
    clsi_text_printf(out, "%s%.*s", out->length ? ", " : "", (int)span->letters, span->name);
    for (size_t k = 0; k < span->axes; k++)
        clsi_text_printf(out, "[%ld..%ld]", span->low[k], span->low[k] + (long)span->count[k] - 1);
    clsi_text_append(out, span->tail);
}

/* [1..20] at *s. */
static int read_range(const char **s, clsi_elements *out) {
    char *end;
    if (out->axes == CLSI_SPAN_AXES) return 0;
    long low = strtol(*s + 1, &end, 10), high;
    if (end == *s + 1 || strncmp(end, "..", 2) != 0) return 0;
    *s = end + 2;
    high = strtol(*s, &end, 10);
    if (end == *s || *end != ']' || high <= low || low < -CLSI_MAX_COLUMNS ||
        high > 2L * CLSI_MAX_COLUMNS)
        return 0;
    out->low[out->axes] = low;
    out->count[out->axes++] = (size_t)(high - low) + 1;
    *s = end + 1;
    return 1;
}

/* One array of the note, which ends at `end`; 1 when it is called `name`. */
static int read_span(const char *s, const char *end, const char *name, clsi_elements *out) {
    *out = (clsi_elements){.name = s, .letters = strcspn(s, "[,")};
    for (s += out->letters; *s == '[';)
        if (!read_range(&s, out)) return 0;
    size_t tail = (size_t)(end - s), n = strlen(name);
    if (!out->axes || n != out->letters + tail) return 0;
    out->tail = name + out->letters;
    return !memcmp(name, out->name, out->letters) && !memcmp(out->tail, s, tail);
}

int clsi_span_find(const char *note, const char *name, clsi_elements *out) {
    for (const char *s = note; s && *s;) {
        s += strspn(s, " ");
        const char *end = s + strcspn(s, ",");
        if (read_span(s, end, name, out)) return 1;
        s = *end ? end + 1 : end;
    }
    return 0;
}
