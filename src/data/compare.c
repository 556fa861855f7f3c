/* Two trajectories compared on the rows they have in common.
 *
 * Rows are matched by time (and by trajectory where both tables have that column), not by position,
 * so that runs with different steps, or in different order, can be compared. Both tables are sorted
 * and merged: O(n log n), O(n) when they are in order already. Times match within
 * 1e-9 max(|t|, spacing), where the spacing is the smaller mean step of the two: enough for
 * t0 + n*h against a running sum, far less than a step. Rows with equal times pair up in file
 * order, one to one. Nothing is interpolated. */
#include "base/misuse.h"
#include "data/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct key {
    double trajectory, time;
    size_t row;
} key;

/* One side of the comparison: its rows in order. */
typedef struct side {
    const cls_table *table;
    const char *where; /* "the first table" */
    int time, trajectory;
    key *keys;
    double spacing;
} side;

/* Row b[i] goes with row a[i]. */
typedef struct pairs {
    size_t *a, *b, n;
} pairs;

static int order(const void *x, const void *y) {
    const key *a = x, *b = y;
    if (a->trajectory != b->trajectory) return a->trajectory < b->trajectory ? -1 : 1;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static double mean_spacing(const side *s) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = 1; i < s->table->rows; i++) {
        if (s->keys[i].trajectory != s->keys[i - 1].trajectory) continue;
        sum += s->keys[i].time - s->keys[i - 1].time;
        n++;
    }
    return n ? sum / (double)n : 0;
}

static cls_status fill_keys(side *s, int by_trajectory, cls_error *error) {
    const cls_table *t = s->table;
    const double *time = t->columns[s->time];
    const double *trajectory = by_trajectory ? t->columns[s->trajectory] : NULL;
    int sorted = 1;
    s->keys = clsi_calloc(t->rows, sizeof *s->keys);
    if (!s->keys) return clsi_no_memory(error);
    for (size_t i = 0; i < t->rows; i++) {
        s->keys[i] = (key){trajectory ? trajectory[i] : 0, time[i], i};
        if (!isfinite(s->keys[i].time) || !isfinite(s->keys[i].trajectory))
            return clsi_fail(error, CLS_DATA, "%s, row %zu: time or trajectory is not finite",
                             s->where, i + 1);
        if (i && order(&s->keys[i - 1], &s->keys[i]) > 0) sorted = 0;
    }
    if (!sorted) qsort(s->keys, t->rows, sizeof *s->keys, order);
    s->spacing = mean_spacing(s);
    return CLS_OK;
}

static cls_status open_side(side *s, const cls_table *t, const char *where, cls_error *error) {
    *s = (side){.table = t, .where = where};
    s->time = clsi_table_time(t);
    s->trajectory = cls_table_find(t, "trajectory");
    if (s->time < 0) return clsi_no_column(t, where, "time", CLS_DATA, error);
    if (t->rows == 0) return clsi_fail(error, CLS_DATA, "%s has no rows", where);
    return CLS_OK;
}

/* Without a trajectory column on the other side, equal times of several trajectories would be
 * matched with whatever came first: refused rather than guessed. */
static cls_status check_single(const side *s, const side *other, cls_error *error) {
    if (s->trajectory < 0) return CLS_OK;
    const double *trajectory = s->table->columns[s->trajectory];
    for (size_t i = 1; i < s->table->rows; i++)
        if (trajectory[i] != trajectory[0])
            return clsi_fail(error, CLS_DATA,
                             "%s holds several trajectories but %s has no column \"trajectory\"; "
                             "rows cannot be matched",
                             s->where, other->where);
    return CLS_OK;
}

static void time_range(const side *s, double *first, double *last) {
    *first = INFINITY;
    *last = -INFINITY;
    for (size_t i = 0; i < s->table->rows; i++) {
        *first = fmin(*first, s->keys[i].time);
        *last = fmax(*last, s->keys[i].time);
    }
}

static cls_status nothing_common(const side *a, const side *b, cls_error *error) {
    double a0, a1, b0, b1;
    time_range(a, &a0, &a1);
    time_range(b, &b0, &b1);
    return clsi_fail(error, CLS_DATA,
                     "no row has the same %stime in both tables: %s has %zu rows with time %.10g "
                     "to %.10g, %s has %zu rows with time %.10g to %.10g",
                     a->trajectory >= 0 && b->trajectory >= 0 ? "trajectory and " : "", a->where,
                     a->table->rows, a0, a1, b->where, b->table->rows, b0, b1);
}

static int same_time(double a, double b, double spacing) {
    double scale = fmax(fmax(fabs(a), fabs(b)), spacing);
    return fabs(a - b) <= 1e-9 * scale;
}

static cls_status match(const side *a, const side *b, pairs *p, cls_error *error) {
    size_t na = a->table->rows, nb = b->table->rows, most = na < nb ? na : nb;
    /* A table of one row has no spacing of its own. */
    double spacing = a->spacing > 0 && b->spacing > 0 ? fmin(a->spacing, b->spacing)
                                                      : fmax(a->spacing, b->spacing);
    p->a = clsi_calloc(most, sizeof *p->a);
    p->b = clsi_calloc(most, sizeof *p->b);
    if (!p->a || !p->b) return clsi_no_memory(error);
    for (size_t i = 0, j = 0; i < na && j < nb;) {
        const key *x = &a->keys[i], *y = &b->keys[j];
        if (x->trajectory == y->trajectory && same_time(x->time, y->time, spacing)) {
            p->a[p->n] = x->row;
            p->b[p->n++] = y->row;
            i++, j++;
        } else if (x->trajectory < y->trajectory ||
                   (x->trajectory == y->trajectory && x->time < y->time)) {
            i++;
        } else {
            j++;
        }
    }
    return p->n ? CLS_OK : nothing_common(a, b, error);
}

/* A difference that is not a number makes mae, rmse and max not a number: it must not hide. */
static cls_difference measure(const side *a, int ca, const side *b, int cb, const pairs *p) {
    const double *x = a->table->columns[ca], *y = b->table->columns[cb];
    const double *time = a->table->columns[a->time];
    cls_difference d = {.column = a->table->names[ca], .time_of_max = time[p->a[0]]};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < p->n; i++) {
        double e = fabs(x[p->a[i]] - y[p->b[i]]);
        sum += e;
        squares += e * e;
        if (e > d.max || (isnan(e) && !isnan(d.max))) {
            d.max = e;
            d.time_of_max = time[p->a[i]];
        }
    }
    d.mae = sum / (double)p->n;
    d.rmse = sqrt(squares / (double)p->n);
    return d;
}

/* A column named twice is compared once (`seen`): `out` has room for no more. */
static cls_status measure_one(const side *a, const side *b, const pairs *p, const char *name,
                              unsigned char *seen, cls_difference *out, size_t *n,
                              cls_error *error) {
    int ca = cls_table_find(a->table, name), cb = cls_table_find(b->table, name);
    if (ca < 0) return clsi_no_column(a->table, a->where, name, CLS_USAGE, error);
    if (cb < 0) return clsi_no_column(b->table, b->where, name, CLS_USAGE, error);
    if (!seen[ca]) out[(*n)++] = measure(a, ca, b, cb, p);
    seen[ca] = 1;
    return CLS_OK;
}

static cls_status measure_named(const side *a, const side *b, const pairs *p, size_t n_names,
                                const char *const *names, cls_difference *out, size_t *n,
                                cls_error *error) {
    unsigned char *seen = clsi_calloc(a->table->n_columns, 1);
    cls_status status = seen ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < n_names && !status; i++) {
        int way = clsi_table_way(a->table, names[i]);
        if (!way) status = measure_one(a, b, p, names[i], seen, out, n, error);
        for (size_t k = 0; k < a->table->n_columns && way && !status; k++)
            if (cls_means_element(names[i], a->table->names[k], NULL, NULL) == way)
                status = measure_one(a, b, p, a->table->names[k], seen, out, n, error);
    }
    free(seen);
    return status;
}

static cls_status nothing_shared(const cls_table *a, const cls_table *b, cls_error *error) {
    char *in_a = clsi_column_list(a), *in_b = clsi_column_list(b);
    cls_status status = CLS_DATA;
    if (in_a && in_b)
        (void)clsi_fail(
            error, status,
            "the tables share no column but time; the first has: %s; the second has: %s", in_a,
            in_b);
    else
        status = clsi_no_memory(error);
    free(in_a);
    free(in_b);
    return status;
}

static cls_status measure_shared(const side *a, const side *b, const pairs *p, cls_difference *out,
                                 size_t *n, cls_error *error) {
    for (size_t i = 0; i < a->table->n_columns; i++) {
        int cb = cls_table_find(b->table, a->table->names[i]);
        if ((int)i == a->time || (int)i == a->trajectory || cb < 0 || cb == b->time) continue;
        out[(*n)++] = measure(a, (int)i, b, cb, p);
    }
    return *n ? CLS_OK : nothing_shared(a->table, b->table, error);
}

cls_status cls_table_compare(const cls_table *a, const cls_table *b, size_t n_names,
                             const char *const *names, cls_difference *out, size_t *n, size_t *rows,
                             cls_error *error) {
    NEED(error, a);
    NEED(error, b);
    NEED(error, out);
    NEED(error, n);
    NEED(error, rows);
    side x, y = {0};
    pairs p = {0};
    *n = *rows = 0;
    cls_status status = open_side(&x, a, "the first table", error);
    if (!status) status = open_side(&y, b, "the second table", error);
    int both = x.trajectory >= 0 && y.trajectory >= 0;
    if (!status && !both) status = check_single(&x, &y, error);
    if (!status && !both) status = check_single(&y, &x, error);
    if (!status) status = fill_keys(&x, both, error);
    if (!status) status = fill_keys(&y, both, error);
    if (!status) status = match(&x, &y, &p, error);
    if (!status && n_names) status = measure_named(&x, &y, &p, n_names, names, out, n, error);
    if (!status && !n_names) status = measure_shared(&x, &y, &p, out, n, error);
    *rows = p.n;
    if (status) *n = *rows = 0;
    free(x.keys);
    free(y.keys);
    free(p.a);
    free(p.b);
    return status;
}
