/* What comes out of an evaluated batch (batch.c): Jacobian rows, the gradient of the loss, the
 * scale condition. */
#include "learn/residual/batch.h"
#include "learn/residual/shards.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = CLSI_BATCH_POINTS };

/* ---- rows ---- */

static double weight_of(const clsi_batch *b, size_t w, size_t e) {
    return b->r->weight[e * b->r->points->n_windows + b->window[w]];
}

/* Equation e of window w of the batch: how much y_e grows, less its rate times the weights. */
static inline double residual_of(const clsi_batch *b, size_t w, size_t e) {
    const double *y = b->out + e * POINTS, *rate = y + b->r->n_equations * POINTS;
    const double *weights = clsi_batch_weights(b, w, e >= b->r->n);
    size_t n = b->r->points->width;
    const size_t *slot = b->slot[w];
    double sum = y[slot[n - 1]] - y[slot[0]];
    for (size_t k = 0; k < n; k++) sum -= weights[k] * rate[slot[k]];
    return weight_of(b, w, e) * sum;
}

/* f times the derivatives of quantity q at a point in the value and in d slopes of u; is any of them not
 * zero? */
static int add_slopes(const clsi_batch *b, size_t q, const clsi_unknown *u, size_t point, double f,
                      double *a, double *s) {
    int any = 0;
    size_t end, k = clsi_slopes_of(b->r, q, u, &end);
    for (; k < end; k++) {
        double slope = b->out[(b->r->n_quantities + k) * POINTS + point];
        size_t j = b->r->slope_of[k] - u->symbol;
        any |= slope != 0;
        *(j ? &s[j - 1] : a) += f * slope;
    }
    return any;
}

/* The derivative of one equation in the field symbols of unknown u at the window's points: a
 * (width) for the value, s (width, d) for the slopes. */
static int symbol_slopes(const clsi_batch *b, const clsi_unknown *u, size_t w, size_t e, double *a,
                         double *s) {
    size_t d = u->learned.d, n = b->r->points->width;
    int any = 0;
    memset(a, 0, n * sizeof *a);
    memset(s, 0, n * d * sizeof *s);
    const double *weights = clsi_batch_weights(b, w, e >= b->r->n);
    double scale = weight_of(b, w, e);
    for (size_t k = 0; k < n; k++) {
        double c[2] = {k == 0 ? -scale : k + 1 == n ? scale : 0, -scale * weights[k]};
        for (int part = 0; part < 2; part++) {
            size_t q = part ? b->r->n_equations + e : e;
            if (c[part] != 0) any |= add_slopes(b, q, u, b->slot[w][k], c[part], a + k, s + k * d);
        }
    }
    return any;
}

/* One row of a field without blocks. */
static void plain_row(const clsi_batch *b, const clsi_unknown *u, size_t w, size_t e, double *row) {
    const clsi_learned *l = &u->learned;
    size_t n = b->r->points->width;
    double *a = b->row_room, *s = a + n, *x = s + n * l->d;
    if (!symbol_slopes(b, u, w, e, a, s)) return;
    for (size_t i = 0; i < n; i++)
        memcpy(x + i * l->d, u->x + b->point[b->slot[w][i]] * l->d, l->d * sizeof *x);
    l->field->kind->rows(l->field, b->theta ? b->theta + l->offset : NULL, n, x, a, s, 0, row,
                         b->scratch);
}

enum { MOST_ROWS = CLSI_BATCH_ROWS };

typedef struct row_list {
    size_t n;
    uint32_t *e; /* their equations */
    uint16_t *w; /* and windows in the batch */
    double *J;   /* (n, n_theta) */
} row_list;

/* The directions of row i at the window's points, when no other row has them. */
static int place_row(clsi_batch *b, const row_list *m, size_t i, size_t k, double **context) {
    const clsi_unknown *u = &b->r->unknowns->list[k];
    size_t d = u->learned.d, *slot = b->slot[m->w[i]];
    size_t n = b->r->points->width;
    double *a = b->row_room, *s = a + n;
    for (size_t j = 0; j < n; j++)
        if (context[slot[j]]) return 0;
    if (!symbol_slopes(b, u, m->w[i], m->e[i], a, s)) return 1;
    for (size_t j = 0; j < n; j++) {
        context[slot[j]] = m->J + i * b->r->unknowns->n_theta + u->learned.offset;
        b->value[slot[j]] += a[j];
        for (size_t q = 0; q < d; q++) b->slope[slot[j] * d + q] += s[j * d + q];
    }
    return 1;
}

/* Rows of a field with blocks: as many at a time as have no point in common. */
static void block_rows(clsi_batch *b, const row_list *m, size_t k) {
    const clsi_learned *l = &b->r->unknowns->list[k].learned;
    unsigned char done[MOST_ROWS] = {0};
    for (size_t left = m->n; left > 0;) {
        double *context[POINTS] = {NULL};
        memset(b->value, 0, POINTS * sizeof *b->value);
        memset(b->slope, 0, POINTS * l->d * sizeof *b->slope);
        for (size_t i = 0; i < m->n; i++) {
            if (done[i] || !place_row(b, m, i, k, context)) continue;
            done[i] = 1;
            left--;
        }
        clsi_batch_blocks(l)->rows(b->pass[k], b->n_points, b->value,
                                   b->r->sloped[k] ? b->slope : NULL, context);
    }
}

/* What the places of a function say may cancel: a spring's constant force in a chain between two
 * walls. The round-off that is left must not be taken for data. */
static const double CANCELLED = 1e-13;

/* One row of a function that the equation has at n_places places. */
static void shared_row(const clsi_batch *b, size_t n_places, const uint32_t *places, size_t w,
                       size_t e, double *row) {
    const clsi_unknown *list = b->r->unknowns->list;
    size_t n = list[places[0]].learned.field->n_parameters;
    double *one = b->part, *size = one + n;
    memset(size, 0, n * sizeof *size);
    for (size_t k = 0; k < n_places; k++) {
        memset(one, 0, n * sizeof *one);
        plain_row(b, &list[places[k]], w, e, one);
        for (size_t j = 0; j < n; j++) {
            row[j] += one[j];
            size[j] += fabs(one[j]);
        }
    }
    for (size_t j = 0; j < n; j++)
        if (fabs(row[j]) <= CANCELLED * size[j]) row[j] = 0;
}

/* A row of equation e: over the parts it contains, places of one function together. */
static void equation_row(const clsi_batch *b, size_t w, size_t e, double *row) {
    const clsi_unknown *list = b->r->unknowns->list;
    const uint32_t *part = b->r->parts;
    for (size_t k = b->r->parts_start[e], end; k < b->r->parts_start[e + 1]; k = end) {
        const clsi_unknown *u = &list[part[k]];
        for (end = k + 1; end < b->r->parts_start[e + 1] && list[part[end]].again &&
                          list[part[end]].learned.offset == u->learned.offset;)
            end++;
        if (b->pass[part[k]] && b->theta) continue; /* block_rows */
        if (end == k + 1)
            plain_row(b, u, w, e, row + u->learned.offset);
        else
            shared_row(b, end - k, part + k, w, e, row + u->learned.offset);
    }
}

static void jacobian_rows(clsi_batch *b, const row_list *m) {
    const clsi_unknowns *us = b->r->unknowns;
    memset(m->J, 0, m->n * us->n_theta * sizeof *m->J);
    for (size_t k = 0; k < us->n; k++)
        if (b->pass[k] && b->theta) block_rows(b, m, k);
    for (size_t i = 0; i < m->n; i++) equation_row(b, m->w[i], m->e[i], m->J + i * us->n_theta);
}

/* The rows [at, end) of the list (NULL: of all, from `first` on) as far as they fit; returns the
 * first one that does not. */
static size_t take_rows(clsi_batch *b, size_t first, const size_t *list, size_t at, size_t end,
                        row_list *m) {
    size_t E = b->r->n_equations, window = SIZE_MAX, base = 0;
    b->n = b->n_points = m->n = 0;
    for (; at < end && m->n < MOST_ROWS; at++, m->n++) {
        size_t row = list ? list[at] : first + at;
        if (window == SIZE_MAX || row < base || row - base >= E) {
            window = row / E;
            base = window * E;
            if (!clsi_batch_add(b, window)) break;
        }
        m->w[m->n] = (uint16_t)(b->n - 1);
        m->e[m->n] = (uint32_t)(row - base);
    }
    return at;
}

static void rows_of_shard(void *block, size_t first, const size_t *list, size_t begin, size_t end,
                          double *out, double *J) {
    clsi_batch *b = block;
    row_list m = {.e = b->row_equation, .w = b->row_window};
    size_t evaluated = SIZE_MAX; /* the window, where there is one */
    for (size_t at = begin; at < end;) {
        size_t stop = take_rows(b, first, list, at, end, &m);
        size_t window = b->n == 1 ? b->window[0] : SIZE_MAX;
        if (window == SIZE_MAX || window != evaluated) clsi_batch_evaluate(b, J != NULL);
        evaluated = window; /* one with many equations has its rows in turn, evaluated once */
        for (size_t i = 0; i < m.n; i++) out[at + i] = residual_of(b, m.w[i], m.e[i]);
        m.J = J ? J + at * b->r->unknowns->n_theta : NULL;
        if (J) jacobian_rows(b, &m);
        at = stop;
    }
}

/* ---- gradient ---- */

/* Where the adjoint program reads dLoss/d quantities of the points, zero. */
static double *coefficients_of_quantities(clsi_batch *b) {
    size_t more = b->r->heat ? b->r->m : 0;
    double *c =
        b->in + (clsi_point_rows(b->r->points) + 1 + b->r->unknowns->n_symbols + more) * POINTS;
    memset(c, 0, b->r->n_quantities * POINTS * sizeof *c);
    return c;
}

/* `share` of each row counts. */
static void residuals_back(clsi_batch *b, const row_list *m, double share, double *sum) {
    size_t E = b->r->n_equations, n = b->r->points->width;
    double *into = coefficients_of_quantities(b);
    for (size_t i = 0; i < m->n; i++) {
        size_t w = m->w[i], e = m->e[i];
        double value = residual_of(b, w, e), f = share * weight_of(b, w, e) * value;
        double *y = into + e * POINTS, *rate = y + E * POINTS;
        const double *weights = clsi_batch_weights(b, w, e >= b->r->n);
        *sum += value * value;
        y[b->slot[w][n - 1]] += f;
        y[b->slot[w][0]] -= f;
        for (size_t k = 0; k < n; k++) rate[b->slot[w][k]] -= f * weights[k];
    }
}

/* From dLoss/d symbols (in `out`) to the parameters. */
static void field_back(clsi_batch *b, size_t k) {
    const clsi_unknown *u = &b->r->unknowns->list[k];
    const clsi_learned *l = &u->learned;
    const double *a = b->out + u->symbol * POINTS;
    double *slope = b->r->sloped[k] ? b->slope : NULL;
    for (size_t j = 0; slope && j < l->d; j++)
        for (size_t i = 0; i < b->n_points; i++) slope[i * l->d + j] = a[(j + 1) * POINTS + i];
    if (b->pass[k] && b->theta) {
        clsi_batch_blocks(l)->add(b->pass[k], b->n_points, a, slope);
        return;
    }
    l->field->kind->reverse(l->field, b->theta ? b->theta + l->offset : NULL, b->n_points,
                            clsi_batch_inputs(b, u), a, slope, b->part + l->offset, b->scratch);
}

static void sums_begin(clsi_batch *b) {
    const clsi_unknowns *us = b->r->unknowns;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_learned *l = &us->list[k].learned;
        if (b->pass[k] && b->theta)
            clsi_batch_blocks(l)->clear(b->pass[k]);
        else
            memset(b->part + l->offset, 0, l->field->n_parameters * sizeof *b->part);
    }
}

/* In the opposite order of evaluation: the last field is still in the cache, and the first will be
 * for the next batch. */
static void fields_back(clsi_batch *b) {
    for (size_t k = b->r->unknowns->n; k-- > 0;) field_back(b, k);
}

/* The batch is evaluated and the coefficients of its quantities are set. */
static void sums_add(clsi_batch *b) {
    clsi_batch_run(b, CLSI_BATCH_ADJOINT, b->n_points, b->in, b->out);
    fields_back(b);
}

/* The rows of a batch: their squares into sum, their share of the gradient into the sums. */
static void add_rows(clsi_batch *b, const row_list *m, double share, double *sum) {
    clsi_batch_evaluate(b, 0);
    residuals_back(b, m, share, sum);
    sums_add(b);
}

/* The sums go to the gradient. */
static void sums_end(const void *block, double *gradient) {
    const clsi_batch *b = block;
    const clsi_unknowns *us = b->r->unknowns;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_learned *l = &us->list[k].learned;
        double *to = gradient + l->offset, *own = b->part + l->offset;
        if (b->pass[k] && b->theta)
            clsi_batch_blocks(l)->close(b->pass[k], to);
        else if (!us->list[k].again)
            for (size_t j = 0; j < l->field->n_parameters; j++) to[j] += own[j];
    }
}

static double gradient_of_shard(void *block, const size_t *list, size_t begin, size_t end,
                                double share) {
    clsi_batch *b = block;
    double sum = 0;
    row_list m = {.e = b->row_equation, .w = b->row_window};
    sums_begin(b);
    for (size_t at = begin; at < end;) {
        at = take_rows(b, 0, list, at, end, &m);
        add_rows(b, &m, share, &sum);
    }
    return sum;
}

/* A sum of the gradient costs as much as a dozen windows. */
static const clsi_rows_kind WINDOWS = {250,
                                       2e7,
                                       clsi_batch_open,
                                       clsi_batch_close,
                                       clsi_batch_begin,
                                       rows_of_shard,
                                       gradient_of_shard,
                                       sums_end};

cls_status clsi_residual_rows(const clsi_residual *r, const double *theta, size_t first,
                              size_t count, const size_t *list, double *out, double *J) {
    if (r->points->intervals) return clsi_position_rows(r, theta, first, count, list, out, J);
    if (r->step) return clsi_step_rows_values(r, theta, first, count, list, out, J);
    return clsi_sharded_rows(&WINDOWS, r->memory, r, theta, first, count, list, out, J);
}

cls_status clsi_residual_gradient(const clsi_residual *r, const double *theta, size_t count,
                                  const size_t *list, double *loss, double *gradient) {
    if (r->points->intervals) return clsi_position_gradient(r, theta, count, list, loss, gradient);
    if (r->step) return clsi_step_rows_gradient(r, theta, count, list, loss, gradient);
    return clsi_sharded_gradient(&WINDOWS, r->memory, r, theta, count, list, loss, gradient);
}

/* ---- the scale condition ---- */

/* The first points of the windows at, at + stride, ... */
static void add_first_points(clsi_batch *b, size_t at, size_t n, size_t stride) {
    b->n = b->n_points = 0;
    while (at + b->n < n && b->n < b->most) {
        b->slot[b->n][0] = clsi_batch_slot(b, b->r->points->window[(at + b->n) * stride]);
        b->n++;
    }
}

cls_status clsi_residual_scale(const clsi_residual *r, const double *theta, size_t most,
                               double *row, double *mean_pv, double *mean_vv) {
    const clsi_points *p = r->points;
    if (p->intervals) return clsi_position_scale(r, theta, most, row, mean_pv, mean_vv);
    size_t stride = most ? (p->n_training + most - 1) / most : 1;
    size_t n = (p->n_training + stride - 1) / stride;
    clsi_batch *b = clsi_block_alone(&WINDOWS, r->memory, r, theta);
    *mean_pv = *mean_vv = 0;
    memset(row, 0, r->unknowns->n_theta * sizeof *row);
    if (!b) return CLS_MEMORY;
    sums_begin(b);
    for (size_t at = 0; at < n; at += b->n) {
        add_first_points(b, at, n, stride);
        clsi_batch_evaluate(b, 0);
        double *into = coefficients_of_quantities(b);
        for (size_t w = 0; w < b->n; w++)
            for (size_t j = 0; j < r->n; j++) {
                size_t i = j * POINTS + b->slot[w][0];
                double v = p->z[(r->unknowns->s->nq + j) * p->n + p->window[(at + w) * stride]];
                double c = v / (double)n;
                *mean_pv += c * b->out[i];
                *mean_vv += c * v;
                into[i] += c;
            }
        sums_add(b);
    }
    sums_end(b, row);
    return CLS_OK;
}
