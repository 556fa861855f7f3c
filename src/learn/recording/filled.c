/* Tables of which every state has a column: temperatures become the entropies that a hamiltonian has as states, and
 * cells between thermocouples get what those beside them tell. Rows of the residual can be taken from such tables
 * (nodes.c). What neighbours tell is a start and no measurement: whoever takes it goes on with simulations that are
 * compared with what was measured. Costs a solve for a state each row; a known energy is needed where temperatures
 * are to become entropies. */
#include "learn/recording/filled.h"
#include "base/base.h"
#include "learn/learn.h"
#include "learn/recording/measured.h"
#include "learn/recording/neighbours.h"
#include <stdlib.h>
#include <string.h>

/* What says the states of one table. */
typedef struct sources {
    const cls_system *s;
    const cls_table *t;
    size_t nz, n;
    const char **name;     /* (n) as a start has them */
    const double **column; /* (n) */
    unsigned char *hidden; /* (nz) 1: nothing of the same time says it */
} sources;

static const char *other_name(const cls_system *s, size_t e) {
    size_t j = e - s->nq, i = j - s->n;
    if (e < s->nq) return NULL;
    if (j < s->n) {
        const char *v = cls_node_name(s->g, s->v[j]);
        return strcmp(v, clsi_point_name(s, e)) == 0 ? s->momentum[j].name : v;
    }
    if (i >= s->m) return NULL;
    return s->form->kind == CLSI_FORM_THERMAL ? s->entropy[i].name : s->temperature[i].name;
}

static void find_sources(sources *f) {
    for (size_t e = 0; e < f->nz; e++) {
        const char *name = clsi_point_name(f->s, e);
        int c = cls_table_find(f->t, name);
        if (c < 0 && (name = other_name(f->s, e))) c = cls_table_find(f->t, name);
        f->hidden[e] = c < 0;
        if (c < 0) continue;
        f->name[f->n] = name;
        f->column[f->n++] = cls_table_column(f->t, (size_t)c);
    }
}

static int is_said(void *context, const char *name) {
    const sources *f = context;
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->name[i], name) == 0) return 1;
    return 0;
}

/* ---- rows ---- */

typedef struct row {
    clsi_known_value *known; /* (nz) */
    const char **names;      /* (nz) */
    double *values, *state;  /* (nz), the system's */
} row;

/* The state of row r into columns (nz, rows). Zero: it cannot be told. */
static int fill_row(const sources *f, const clsi_neighbours *b, size_t r, size_t rows, row *k,
                    double *columns) {
    size_t n = f->n;
    for (size_t i = 0; i < n; i++) k->known[i] = (clsi_known_value){f->name[i], f->column[i][r]};
    size_t more = b ? clsi_neighbours_fill(b, n, k->known, k->known + n) : 0;
    if (more == SIZE_MAX || n + more != f->nz) return 0;
    for (size_t i = 0; i < f->nz; i++) {
        k->names[i] = k->known[i].name;
        k->values[i] = k->known[i].value;
    }
    cls_assignments given = {.n = f->nz, .names = k->names, .values = k->values};
    if (cls_system_start(f->s, &given, k->state, NULL) != CLS_OK) return 0;
    for (size_t e = 0; e < f->nz; e++) columns[e * rows + r] = k->state[e];
    return 1;
}

/* All columns of the table and those (nz, rows) of the states that it lacks. */
static cls_status join(const sources *f, const double *columns, cls_table **out, cls_error *error) {
    size_t had = cls_table_columns(f->t), n = had, rows = cls_table_rows(f->t);
    const char **names = clsi_calloc(had + f->nz, sizeof *names);
    const double **list = clsi_calloc(had + f->nz, sizeof *list);
    cls_status status = names && list ? CLS_OK : clsi_no_memory(error);
    for (size_t c = 0; c < had && status == CLS_OK; c++) {
        names[c] = cls_table_name(f->t, c);
        list[c] = cls_table_column(f->t, c);
    }
    for (size_t e = 0; e < f->nz && status == CLS_OK; e++) {
        if (cls_table_find(f->t, clsi_point_name(f->s, e)) >= 0) continue;
        names[n] = clsi_point_name(f->s, e);
        list[n++] = columns + e * rows;
    }
    if (status == CLS_OK) status = cls_table_borrow(n, names, rows, list, out, error);
    free(names);
    free(list);
    return status;
}

/* *told 0: it cannot be done. */
static cls_status fill_table(sources *f, double **columns, cls_table **out, size_t *beside,
                             int *told, cls_error *error) {
    size_t nz = f->nz, rows = cls_table_rows(f->t), hidden = 0;
    clsi_neighbours *b = NULL;
    row k = {.known = clsi_calloc(2 * nz + 1, sizeof *k.known),
             .names = clsi_calloc(nz + 1, sizeof *k.names),
             .values = clsi_calloc(nz + 1, sizeof *k.values),
             .state = clsi_calloc(cls_system_state_count(f->s) + 1, sizeof *k.state)};
    find_sources(f);
    for (size_t e = 0; e < nz; e++) hidden += f->hidden[e];
    cls_status status = k.known && k.names && k.values && k.state ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK && hidden)
        status = clsi_neighbours_create(f->s, f->hidden, is_said, f, &b, error);
    *told = status == CLS_OK && hidden == (b ? b->n_filled : 0);
    *beside = hidden;
    if (*told && !(*columns = clsi_calloc(nz * rows + 1, sizeof **columns)))
        status = clsi_no_memory(error);
    for (size_t r = 0; r < rows && *told && status == CLS_OK; r++)
        *told = fill_row(f, b, r, rows, &k, *columns);
    if (*told && status == CLS_OK) status = join(f, *columns, out, error);
    clsi_neighbours_free(&b);
    free(k.known);
    free(k.names);
    free(k.values);
    free(k.state);
    return status;
}

cls_status clsi_filled_create(const cls_system *s, size_t n, const cls_table *const *tables,
                              clsi_filled *out, cls_error *error) {
    size_t nz = s->form->nz;
    int told = clsi_lacks_states(s, n, tables);
    *out = (clsi_filled){.n = n};
    if (!told) return CLS_OK;
    out->tables = clsi_calloc(n + 1, sizeof *out->tables);
    out->columns = clsi_calloc(n + 1, sizeof *out->columns);
    cls_status status = out->tables && out->columns ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < n && told && status == CLS_OK; i++) {
        sources f = {.s = s, .t = tables[i], .nz = nz};
        f.name = clsi_calloc(nz + 1, sizeof *f.name);
        f.column = clsi_calloc(nz + 1, sizeof *f.column);
        f.hidden = clsi_calloc(nz + 1, 1);
        size_t beside = 0;
        status = f.name && f.column && f.hidden
                     ? fill_table(&f, &out->columns[i], &out->tables[i], &beside, &told, error)
                     : clsi_no_memory(error);
        if (beside > out->beside) out->beside = beside;
        free(f.name);
        free(f.column);
        free(f.hidden);
    }
    if (status != CLS_OK || !told) clsi_filled_clear(out);
    return status;
}

void clsi_filled_clear(clsi_filled *f) {
    for (size_t i = 0; i < f->n && f->tables; i++) cls_table_free(&f->tables[i]);
    for (size_t i = 0; i < f->n && f->columns; i++) free(f->columns[i]);
    free(f->tables);
    free(f->columns);
    *f = (clsi_filled){0};
}
