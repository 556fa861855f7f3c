/* Lists of numbers in runs (progressions.h): where they end, and lists as text.
 *
 *     #define CLSI_at3_0(i) \
 *       4*(i),3000+4*(i)
 *     static const uint16_t at3[] = {7,9,CLSI_ROW_512(CLSI_at3_0, 0),CLSI_ROW_8(CLSI_at3_0, 512),1};
 *
 * The compiler has the table that it would have of the numbers. Cost of finding runs: the numbers times the strides
 * that are tried. */
#include "expr/progressions.h"
#include <string.h>

size_t clsi_progression_end(size_t n, const uint32_t *v, size_t k, size_t stride) {
    size_t end = k + stride;
    if (end >= n) return end;
    uint32_t step = v[end] - v[k];
    for (end += stride; end < n && v[end] - v[end - stride] == step;) end += stride;
    return end;
}

int32_t clsi_progression_step(const uint32_t *v, size_t k, size_t stride, size_t end) {
    return k + stride < end ? (int32_t)(v[k + stride] - v[k]) : 0;
}

size_t clsi_progressions_end(size_t count, size_t n, const uint32_t *lists, size_t k,
                             size_t stride) {
    size_t end = k < n ? k + (n - k + stride - 1) / stride * stride : k;
    for (size_t j = 0; j < count; j++) {
        size_t own = clsi_progression_end(n, lists + j * n, k, stride);
        if (own < end) end = own;
    }
    return end;
}

size_t clsi_progressions_count(size_t count, size_t n, const uint32_t *lists, size_t stride,
                               size_t most) {
    size_t pieces = 0;
    for (size_t first = 0; first < stride && first < n; first++)
        for (size_t k = first; k < n && pieces <= most; pieces++)
            k = clsi_progressions_end(count, n, lists, k, stride);
    return pieces;
}

/* ---- lists as text ---- */

enum { MOST_STRIDE = 16, WORTH = 6 }; /* a run is written as one from so many times its stride on */

/* Numbers from k on that are runs of the stride. */
static size_t length_of_run(size_t n, const uint32_t *v, size_t k, size_t stride) {
    size_t end = k + 2 * stride;
    if (end >= n) return 0;
    while (end < n && v[end] - v[end - stride] == v[end - stride] - v[end - 2 * stride]) end++;
    return end - k;
}

static size_t length_of_equals(size_t n, const uint32_t *v, size_t k) {
    size_t end = k;
    while (end < n && v[end] == v[k]) end++;
    return end - k;
}

/* How many numbers from k on are worth a macro, whole strides of them; 0: none. */
static size_t find_run(size_t n, const uint32_t *v, size_t k, int equal, size_t *stride) {
    size_t best = 0;
    for (size_t p = 1; p <= (equal ? 1 : (size_t)MOST_STRIDE); p++) {
        size_t length = equal ? length_of_equals(n, v, k) : length_of_run(n, v, k, p);
        length -= length % p;
        if (length < (WORTH + 16 / p) * p || length < best + best / 4) continue;
        best = length;
        *stride = p;
    }
    return best;
}

typedef struct list {
    const char *name;
    const uint32_t *v;
    clsi_append_entry *entry;
    void *context;
    clsi_text *define, *body;
    size_t n_runs, head, line; /* head: of characters before the body */
} list;

static void append_number(clsi_text *out, uint32_t value) {
    clsi_text_printf(out, "%ld", (long)(int32_t)value);
}

static void append_entry(const list *l, clsi_text *out, uint32_t value) {
    if (l->entry)
        l->entry(l->context, out, value);
    else
        append_number(out, value);
}

static void begin_entry(list *l) {
    clsi_text_append(l->body, l->body->length ? "," : "");
    if (l->head + l->body->length - l->line <= 90) return;
    clsi_text_append(l->body, "\n  ");
    l->line = l->head + l->body->length;
}

/* `count` numbers of a run from place `at` of it on, in powers of two. */
static void append_rows(list *l, size_t count) {
    for (size_t at = 0; at < count;) {
        size_t power = 1;
        while (2 * power <= count - at && power < (1u << 17)) power *= 2;
        begin_entry(l);
        clsi_text_printf(l->body, "CLSI_ROW_%zu(CLSI_%s_%zu, %zu)", power, l->name, l->n_runs, at);
        at += power;
    }
}

static void append_run(list *l, size_t k, size_t n, size_t stride) {
    /* in two lines, which macros.c leaves alone */
    clsi_text_printf(l->define, "#define CLSI_%s_%zu(i) \\\n  ", l->name, l->n_runs);
    for (size_t j = k; j < k + stride; j++) {
        long step = l->entry ? 0 : (long)(int32_t)(l->v[j + stride] - l->v[j]);
        clsi_text_append(l->define, j > k ? "," : "");
        append_entry(l, l->define, l->v[j]);
        if (step) clsi_text_printf(l->define, "%s%ld*(i)", step < 0 ? "" : "+", step);
    }
    clsi_text_append(l->define, "\n");
    append_rows(l, n / stride);
    l->n_runs++;
}

void clsi_append_list(clsi_text *out, const char *type, const char *name, size_t n,
                      const uint32_t *v, int runs, clsi_append_entry *entry, void *context) {
    clsi_text body = {0};
    list l = {name, v, entry, context, out, &body, 0, 0, 0};
    l.head = strlen("static const  [] = {") + strlen(type) + strlen(name);
    for (size_t k = 0, stride = 1; k < n;) {
        size_t length = runs ? find_run(n, v, k, entry != NULL, &stride) : 0;
        if (length) {
            append_run(&l, k, length, stride);
            k += length;
            continue;
        }
        begin_entry(&l);
        append_entry(&l, &body, v[k]);
        k++;
    }
    clsi_text_printf(out, "static const %s %s[] = {", type, name);
    clsi_text_append(out, body.data && body.length ? body.data : "0");
    clsi_text_append(out, "};\n");
    out->failed |= body.failed;
    clsi_text_clear(&body);
}

void clsi_append_row_macros(clsi_text *out) {
    clsi_text_append(out, "#define CLSI_ROW_1(f, i) f(i)\n"
                          "#define CLSI_ROW_2(f, i) f(i), f(i + 1)\n"
                          "#define CLSI_ROW_4(f, i) f(i), f(i + 1), f(i + 2), f(i + 3)\n"
                          "#define CLSI_ROW_8(f, i) CLSI_ROW_4(f, i), CLSI_ROW_4(f, i + 4)\n");
    for (unsigned long base = 8; base < (1u << 17); base *= 8)
        for (unsigned long n = 2; n <= 8 && base * n <= (1u << 17); n *= 2) {
            clsi_text_printf(out, "#define CLSI_ROW_%lu(f, i) ", base * n);
            for (unsigned long k = 0; k < n; k++)
                clsi_text_printf(out, k ? ", CLSI_ROW_%lu(f, i + %lu)" : "CLSI_ROW_%lu(f, i)", base,
                                 base * k);
            clsi_text_append(out, "\n");
        }
}
