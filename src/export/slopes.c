/* Slopes of many states: lists of the entries that are not zero, and the equations in them, those of the rates
 * (M z' = y') and of a start (columns that were given, for states that were not).
 *
 * A matrix of all entries has 9 N^2 of them for N cells with three states: the programs that wrote it took the
 * memory of an export, and no stack holds it where it lands. The equations are solved by the tables of the
 * library's elimination, without a choice of pivots. Which states of a start are given is known when it is
 * asked for: a row of one that is given says that its update is 0, so that one pattern does for all.
 *
 * Both variants have one pattern, that of the parameters as symbols: where a number makes an entry zero there
 * is a zero in it. */
#include "export/export.h"
#include "expr/graph.h"
#include "expr/progressions.h"
#include "system/sparse_lu.h"
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int clsi_pattern_take(clsi_pattern *p, size_t m, const clsi_rows *rows) {
    if (p->start) return 1;
    p->m = m;
    p->n = rows->start[m];
    p->start = clsi_calloc(m + 1, sizeof *p->start);
    p->column = clsi_calloc(p->n, sizeof *p->column);
    if (!p->start || !p->column) return 0;
    memcpy(p->start, rows->start, (m + 1) * sizeof *p->start);
    if (p->n) memcpy(p->column, rows->column, p->n * sizeof *p->column);
    for (size_t i = 0; i < m; i++)
        qsort(p->column + p->start[i], p->start[i + 1] - p->start[i], sizeof *p->column, ascending);
    return 1;
}

size_t clsi_pattern_at(const clsi_pattern *p, size_t i, uint32_t column) {
    size_t low = p->start[i], high = p->start[i + 1], end = high;
    while (low < high) {
        size_t k = low + (high - low) / 2;
        if (p->column[k] < column)
            low = k + 1;
        else
            high = k;
    }
    return low < end && p->column[low] == column ? low : p->n;
}

static void pattern_clear(clsi_pattern *p) {
    free(p->start);
    free(p->column);
    *p = (clsi_pattern){0};
}

/* The column that may be given in the place of each state; 0: none (0 is the time). */
static size_t *find_duals(const clsi_export *e) {
    size_t nz = e->sp->nz, *dual = clsi_calloc(nz, sizeof *dual);
    for (size_t c = nz + 1; dual && c < e->n_columns; c++) {
        int k = clsi_column_gives(e, c);
        if (k >= 0 && (size_t)k < nz && !dual[k]) dual[k] = c;
    }
    return dual;
}

/* Row k: the slopes of its column in states, and the diagonal. */
static int lay_given(clsi_export *e, const size_t *dual) {
    size_t nz = e->sp->nz, room = nz, n = 0;
    const clsi_pattern *rows = &e->row_slopes;
    clsi_pattern *p = &e->given;
    for (size_t k = 0; k < nz; k++)
        if (dual[k]) room += rows->start[dual[k] + 1] - rows->start[dual[k]];
    p->m = nz;
    p->start = clsi_calloc(nz + 1, sizeof *p->start);
    p->column = clsi_calloc(room, sizeof *p->column);
    e->given_from = clsi_calloc(room, sizeof *e->given_from);
    if (!p->start || !p->column || !e->given_from) return 0;
    for (size_t k = 0; k < nz; k++) {
        size_t at = dual[k] ? rows->start[dual[k]] : 0,
               end = dual[k] ? rows->start[dual[k] + 1] : 0;
        int done = 0; /* the diagonal */
        for (; at < end && rows->column[at] < nz; at++) {
            if (!done && rows->column[at] > k) {
                p->column[n] = (uint32_t)k;
                e->given_from[n++] = 0;
            }
            done |= rows->column[at] >= k;
            p->column[n] = rows->column[at];
            e->given_from[n++] = (uint32_t)at + 1;
        }
        if (!done) {
            p->column[n] = (uint32_t)k;
            e->given_from[n++] = 0;
        }
        p->start[k + 1] = n;
    }
    p->n = n;
    return 1;
}

cls_status clsi_export_equations(clsi_export *e, cls_error *error) {
    cls_status status = CLS_OK;
    if (!e->sparse) return CLS_OK;
    size_t nz = e->sp->nz, *dual = find_duals(e);
    if (!dual || !lay_given(e, dual)) status = clsi_no_memory(error);
    free(dual);
    if (status == CLS_OK && e->given.n > nz)
        status = clsi_sparse_lu_create(nz, e->given.start, e->given.column, &e->given_lu, error);
    if (status == CLS_OK && !e->identity)
        status = clsi_sparse_lu_create(nz, e->mass.start, e->mass.column, &e->mass_lu, error);
    return status;
}

void clsi_equations_clear(clsi_export *e) {
    pattern_clear(&e->mass);
    pattern_clear(&e->slopes);
    pattern_clear(&e->row_slopes);
    pattern_clear(&e->given);
    free(e->given_from);
    clsi_sparse_lu_free(&e->mass_lu);
    clsi_sparse_lu_free(&e->given_lu);
}

/* ---- tables ---- */

enum { MOST_RUNS = 6 };

/* k < 40 ? 3 * k + 1 : 7 */
static void append_runs(clsi_text *out, const uint32_t *v, size_t n) {
    for (size_t k = 0, end; k < n; k = end) {
        end = clsi_progression_end(n, v, k, 1);
        long step = clsi_progression_step(v, k, 1, end);
        long first = (long)v[k] - step * (long)k;
        if (end < n) clsi_text_printf(out, "(k) < %zu ? ", end);
        if (step)
            clsi_text_printf(out, "%ld * (k) %c %ld", step, first < 0 ? '-' : '+', labs(first));
        else
            clsi_text_printf(out, "%ld", first);
        if (end < n) clsi_text_append(out, " : ");
    }
}

/* CLSI_name(k): a few progressions, as arrays of equal cells have them, or a table. */
static void append_numbers(clsi_text *out, const clsi_export *e, const char *name, size_t n,
                           const uint32_t *v) {
    if (n && clsi_progressions_count(1, n, v, 1, MOST_RUNS) <= MOST_RUNS) {
        clsi_text_printf(out, "#define CLSI_%s(k) (", name);
        append_runs(out, v, n);
        clsi_text_append(out, ")\n");
        return;
    }
    char table[48];
    snprintf(table, sizeof table, "clsi_table_%s", name);
    clsi_append_list(out, "uint32_t", table, n, v, e->runs, NULL, NULL);
    clsi_text_printf(out, "#define CLSI_%s(k) ((int)%s[k])\n", name, table);
}

/* The same of offsets. */
static void append_starts(clsi_text *out, const clsi_export *e, const char *name,
                          const clsi_pattern *p) {
    uint32_t *v = clsi_malloc((p->m + 1) * sizeof *v);
    if (!v) {
        out->failed = 1;
        return;
    }
    for (size_t k = 0; k <= p->m; k++) v[k] = (uint32_t)p->start[k];
    append_numbers(out, e, name, p->m + 1, v);
    free(v);
}

/* A diagonal has no tables: the same operations. */
static const char diagonal_want[] =
    "static int clsi_lu_want_factor(const double *a, double *work) {\n"
    "    for (int i = 0; i < $$_CORE; i++) {\n"
    "        if (!(fabs(a[i]) > 0 && isfinite(a[i]))) return 1;\n"
    "        work[i] = 1 / a[i];\n    }\n    return 0;\n}\n"
    "static void clsi_lu_want_solve(const double *work, double *b) {\n"
    "    for (int i = 0; i < $$_CORE; i++) b[i] = b[i] * work[i];\n}\n";

/* Doubles of work of the loops in sparse_lu.inc. */
static size_t work_of(const clsi_sparse_lu *lu) {
    return lu ? lu->first[lu->n] + 2 * lu->n : 1;
}

void clsi_append_slopes(clsi_text *out, const clsi_export *e) {
    if (!e->sparse) return;
    append_starts(out, e, "SLOPE_FIRST", &e->slopes);
    append_numbers(out, e, "SLOPE_COLUMN", e->slopes.n, e->slopes.column);
    append_starts(out, e, "ROW_FIRST", &e->row_slopes);
    append_numbers(out, e, "ROW_COLUMN", e->row_slopes.n, e->row_slopes.column);
    append_starts(out, e, "WANT_FIRST", &e->given);
    append_numbers(out, e, "WANT_COLUMN", e->given.n, e->given.column);
    append_numbers(out, e, "WANT_FROM", e->given.n, e->given_from);
    if (!e->given_lu) clsi_append_template(out, e, diagonal_want);
    clsi_text_printf(
        out,
        "#define CLSI_SLOPES %zu\n#define CLSI_ROW_SLOPES %zu\n#define CLSI_WANTS %zu\n"
        "#define CLSI_WANT_WORK %zu\n#define CLSI_MASSES %zu\n"
        "#define CLSI_MASS_WORK %zu\n",
        e->slopes.n + 1, e->row_slopes.n + 1, e->given.n,
        e->given_lu ? work_of(e->given_lu) : e->given.n, e->identity ? 0 : e->mass.n,
        work_of(e->mass_lu));
}
