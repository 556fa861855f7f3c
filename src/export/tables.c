/* Tables of the model in exported C: starts, limits, which column gives which state. Of many states they are written
 * in runs (expr/progressions.h), as far as their entries are progressions or equal. */
#include "export/export.h"
#include "expr/progressions.h"
#include <stdlib.h>
#include <string.h>

/* What the entries of a table are; `end` stands behind them. */
typedef struct entries {
    const int *ints; /* NULL: doubles */
    const double *doubles;
    size_t n;
    const char *end; /* NULL: nothing */
} entries;

static void append_entry(void *context, clsi_text *out, uint32_t k) {
    const entries *x = context;
    if (k == x->n)
        clsi_text_append(out, x->end);
    else if (x->ints)
        clsi_text_printf(out, "%d", x->ints[k]);
    else
        clsi_append_number(out, x->doubles[k]);
}

static void append_plain(clsi_text *out, const char *type, const char *name, entries *x) {
    clsi_text_printf(out, "static const %s %s[] = {", type, name);
    for (size_t k = 0; k < x->n; k++) {
        clsi_text_append(out, k ? ", " : "");
        append_entry(x, out, (uint32_t)k);
    }
    if (x->end || !x->n) clsi_text_printf(out, "%s%s", x->n ? ", " : "", x->end ? x->end : "0");
    clsi_text_append(out, "};\n");
}

static int is_like(const entries *x, size_t k) {
    return x->ints ? x->ints[k] == x->ints[k - 1]
                   : !memcmp(&x->doubles[k], &x->doubles[k - 1], sizeof *x->doubles);
}

/* Whole numbers as they are; others by where the first of equal ones stands. */
static void append_in_runs(clsi_text *out, const char *type, const char *name, entries *x) {
    size_t more = x->end != NULL;
    uint32_t *v = clsi_malloc((x->n + 1) * sizeof *v);
    if (!v) {
        out->failed = 1;
        return;
    }
    for (size_t k = 0; k < x->n; k++)
        v[k] = x->ints ? (uint32_t)x->ints[k] : k && is_like(x, k) ? v[k - 1] : (uint32_t)k;
    v[x->n] = x->ints && more ? (uint32_t)atoi(x->end) : (uint32_t)x->n;
    clsi_append_list(out, type, name, x->n + more, v, 1, x->ints ? NULL : append_entry, x);
    free(v);
}

static void append(clsi_text *out, const clsi_export *e, const char *type, const char *name,
                   entries x) {
    if (e->runs)
        append_in_runs(out, type, name, &x);
    else
        append_plain(out, type, name, &x);
}

void clsi_append_ints(clsi_text *out, const clsi_export *e, const char *name, size_t n,
                      const int *v, const char *end) {
    append(out, e, "int", name, (entries){v, NULL, n, end});
}

void clsi_append_doubles(clsi_text *out, const clsi_export *e, const char *name, size_t n,
                         const double *v, const char *end) {
    append(out, e, "double", name, (entries){NULL, v, n, end});
}
