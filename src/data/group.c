/* Rows of a trajectory that do not stand together: files that list every trajectory at each time.
 *
 * A stable sort by the column `trajectory`, O(rows log rows) and one copy, only where it is needed.
 * The order within a trajectory stays that of the file: whether its times rise is for the reader to
 * judge. */
#include "base/misuse.h"
#include "data/table.h"
#include <stdlib.h>

typedef struct key {
    double trajectory;
    size_t row;
} key;

static int ascending(const void *a, const void *b) {
    const key *x = a, *y = b;
    if (x->trajectory != y->trajectory) return x->trajectory < y->trajectory ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Does a trajectory come back after another one? `sorted` are the keys in order. */
static int is_scattered(size_t n, const key *sorted) {
    for (size_t i = 1; i < n; i++)
        if (sorted[i].trajectory == sorted[i - 1].trajectory &&
            sorted[i].row != sorted[i - 1].row + 1)
            return 1;
    return 0;
}

static cls_status copy_rows(const cls_table *t, const key *keys, cls_table **out,
                            cls_error *error) {
    double *row = clsi_calloc(t->n_columns, sizeof *row);
    cls_status status = row ? clsi_table_like(t, out, error) : clsi_no_memory(error);
    for (size_t i = 0; i < t->rows && status == CLS_OK; i++) {
        for (size_t c = 0; c < t->n_columns; c++) row[c] = t->columns[c][keys[i].row];
        status = cls_table_append(*out, row, error);
    }
    free(row);
    if (status != CLS_OK) cls_table_free(out);
    return status;
}

cls_status cls_table_group(const cls_table *t, cls_table **out, cls_error *error) {
    NEED(error, out);
    *out = NULL;
    NEED(error, t);
    *out = NULL;
    int id = cls_table_find(t, "trajectory");
    if (id < 0 || t->rows == 0) return CLS_OK;
    key *keys = clsi_calloc(t->rows, sizeof *keys);
    if (!keys) return clsi_no_memory(error);
    for (size_t i = 0; i < t->rows; i++) keys[i] = (key){t->columns[id][i], i};
    qsort(keys, t->rows, sizeof *keys, ascending);
    cls_status status = is_scattered(t->rows, keys) ? copy_rows(t, keys, out, error) : CLS_OK;
    free(keys);
    return status;
}
