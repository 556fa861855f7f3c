/* Linear equations of a step with few entries in a row, in exported C: the tables of the library's
 * elimination (system/sparse_lu.c found them) and its loops (sparse_lu.inc), so that the operations,
 * their order and the bits are the library's; a matrix of zeros is neither kept nor worked through. */
#include "export/export.h"
#include "expr/progressions.h"
#include "system/sparse_lu.h"
#include <stdlib.h>
#include <string.h>

/* Offsets, which are size_t here, as a list. */
static void append_starts(clsi_text *out, const clsi_export *e, const char *name, size_t n,
                          const size_t *starts) {
    uint32_t *v = clsi_malloc((n + 1) * sizeof *v);
    if (!v) {
        out->failed = 1;
        return;
    }
    for (size_t k = 0; k < n; k++) v[k] = (uint32_t)starts[k];
    clsi_append_list(out, "CLSI_LU_INDEX", name, n, v, e->runs, NULL, NULL);
    free(v);
}

static void append_lu_tables(clsi_text *out, const clsi_export *e, const char *name,
                             const clsi_sparse_lu *lu) {
    const struct {
        const char *name;
        size_t n;
        const uint32_t *index;
        const size_t *start;
    } tables[] = {{"first", lu->n + 1, NULL, lu->first},
                  {"diagonal", lu->n, NULL, lu->diagonal},
                  {"column", lu->first[lu->n], lu->column, NULL},
                  {"from", lu->n + 1, NULL, lu->from},
                  {"target", lu->n_entries, lu->target, NULL},
                  {"source", lu->n_entries, lu->source, NULL},
                  {"order", lu->n, lu->order, NULL}};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        char full[48];
        snprintf(full, sizeof full, "clsi_lu_%s_%s", name, tables[k].name);
        if (tables[k].start)
            append_starts(out, e, full, tables[k].n, tables[k].start);
        else
            clsi_append_list(out, "CLSI_LU_INDEX", full, tables[k].n, tables[k].index, e->runs,
                             NULL, NULL);
    }
}

/* Newton's work is kept in his struct, that of other equations is the caller's. */
static void append_lu_calls(clsi_text *out, const char *name, size_t n, int newton) {
    const char *to = newton ? "nw->work_lu" : "work";
    clsi_text_printf(
        out,
        "static int clsi_lu_%s_factor(%sconst double *a%s) {\n"
        "    return sparse_factor(%zu, clsi_lu_%s_first, clsi_lu_%s_diagonal, clsi_lu_%s_column,\n"
        "        clsi_lu_%s_from, clsi_lu_%s_target, clsi_lu_%s_source, a, %s) != 0;\n}\n"
        "static void clsi_lu_%s_solve(%sdouble *b) {\n"
        "    sparse_solve(%zu, clsi_lu_%s_first, clsi_lu_%s_diagonal, clsi_lu_%s_column,\n"
        "        clsi_lu_%s_order, %s, b);\n}\n",
        name, newton ? "clsi_newton *nw, " : "", newton ? "" : ", double *work", n, name, name,
        name, name, name, name, to, name, newton ? "clsi_newton *nw, " : "double *work, ", n, name,
        name, name, name, to);
}

static int same_lu(const clsi_sparse_lu *a, const clsi_sparse_lu *b) {
    if (!a || !b || a->n != b->n || a->n_entries != b->n_entries) return 0;
    size_t fill = a->first[a->n], n = a->n, entries = a->n_entries;
    return fill == b->first[n] && !memcmp(a->first, b->first, n * sizeof *a->first) &&
           !memcmp(a->order, b->order, n * sizeof *a->order) &&
           !memcmp(a->from, b->from, n * sizeof *a->from) &&
           !memcmp(a->column, b->column, fill * sizeof *a->column) &&
           !memcmp(a->target, b->target, entries * sizeof *a->target);
}

/* Tables as narrow as they may be: a small machine has them in its flash. Those of the step whose
 * parameters may change only where its pattern is another one. */
void clsi_append_sparse(clsi_text *out, const clsi_export *e) {
    const clsi_sparse_lu *given = e->sp->lu, *open = e->open.sp ? e->open.sp->lu : NULL;
    const struct {
        const char *name;
        const clsi_sparse_lu *lu;
    } more[] = {{"want", e->given_lu}, {"mass", e->mass_lu}};
    int both = open && given && !same_lu(given, open);
    size_t most = 0;
    if (given) most = given->first[given->n];
    if (open && open->first[open->n] > most) most = open->first[open->n];
    int none = !most;
    for (int k = 0; k < 2; k++)
        if (more[k].lu && more[k].lu->first[more[k].lu->n] > most)
            most = more[k].lu->first[more[k].lu->n];
    if (most) {
        clsi_text_printf(out, "\n#define CLSI_LU_INDEX %s\n#define CLSI_LU_START CLSI_LU_INDEX\n",
                         most < 65536 ? "uint16_t" : "uint32_t");
        clsi_text_append(out, clsi_sparse_lu_text);
    }
    for (int k = 0; k < 2; k++)
        if (more[k].lu) {
            append_lu_tables(out, e, more[k].name, more[k].lu);
            append_lu_calls(out, more[k].name, more[k].lu->n, 0);
        }
    if (none) {
        clsi_text_append(out, "#define CLSI_SPARSE_FACTOR(nw, a) ((void)(nw), 1)\n"
                              "#define CLSI_SPARSE_SOLVE(nw, b) ((void)(nw), (void)(b))\n");
        return;
    }
    if (given) append_lu_tables(out, e, "given", given);
    if (given) append_lu_calls(out, "given", given->n, 1);
    if (both || !given) append_lu_tables(out, e, "open", open);
    if (both || !given) append_lu_calls(out, "open", open->n, 1);
    const char *one = given ? "given" : "open";
    if (both)
        clsi_text_append(
            out, "#define CLSI_SPARSE_FACTOR(nw, a) \\\n"
                 "    ((nw)->changed ? clsi_lu_open_factor(nw, a) : clsi_lu_given_factor(nw, a))\n"
                 "#define CLSI_SPARSE_SOLVE(nw, b) \\\n"
                 "    ((nw)->changed ? clsi_lu_open_solve(nw, b) : clsi_lu_given_solve(nw, b))\n");
    else
        clsi_text_printf(out,
                         "#define CLSI_SPARSE_FACTOR(nw, a) clsi_lu_%s_factor(nw, a)\n"
                         "#define CLSI_SPARSE_SOLVE(nw, b) clsi_lu_%s_solve(nw, b)\n",
                         one, one);
}

double clsi_sparse_cost(const clsi_sparse_lu *lu) {
    double sum = 0;
    for (size_t i = 0; i < lu->n; i++)
        for (size_t k = lu->first[i]; k < lu->diagonal[i]; k++) {
            size_t above = lu->column[k];
            sum += 1 + 2 * (double)(lu->first[above + 1] - lu->diagonal[above] - 1);
        }
    return sum + 2 * (double)lu->first[lu->n];
}
