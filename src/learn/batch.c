/* The residual evaluated: values, Jacobian rows, gradient of the loss.
 *
 * Windows go in batches of POINTS points, which is a block of the networks; a point that
 * neighbouring windows share is evaluated once. A batch runs the fields, then the program of the
 * quantities, then for a gradient backwards: residuals to quantities by the window's coefficients,
 * quantities to field symbols by the adjoint program, symbols to parameters by the fields. Fields
 * with blocks (clsi_field_blocks) go on from where the evaluation stopped, and those of which only
 * the value occurs (frictions) are never differentiated in their inputs: for V-NOTS 6 matrix units
 * a point for G and 3 for a friction, where evaluate and reverse would be 8 and 8. Rules whose rows
 * are expressions over whole windows share the points and fields, and go from residuals to field
 * symbols by the derivatives of these rows.
 *
 * Shards are added in their own order, each when it is done and those before it are added: the same
 * bits for any number of threads. Memory is kept from call to call in the residual, so that one
 * caller at a time may use it. */
#include "base/base.h"
#include "expr/program.h"
#include "learn/learn.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory, one batch for each thread ---- */

enum { POINTS = 48 }; /* of a batch: a block of networks; at most as many windows */

typedef enum program { VALUES, SLOPES, ADJOINT, WINDOW_VALUES, WINDOW_SLOPES, PROGRAMS } program;

typedef struct batch {
    const clsi_residual *r;
    const double *theta;
    size_t n, window[POINTS],
        slot[POINTS][CLSI_MOST_WIDTH]; /* windows and which points of the batch are theirs */
    size_t n_points, point[POINTS];
    int row;         /* the points follow each other in the data */
    double *weights; /* (POINTS, 2, width) of the rates, by window: for momenta, for the others */
    double *in;      /* (nz + 1 + K + Q, POINTS): states, time, symbols, coefficients */
    double *out;     /* (Q [+ Q K], POINTS) */
    double *window_in, *window_out; /* (3 (nz + 1 + K), POINTS), (E [+ 3 E K], POINTS), by window */
    double *value, *slope, *x;      /* of one field: (POINTS), (POINTS, d), (POINTS, d) */
    double *scratch;
    double *work[PROGRAMS];
    double *part;  /* (n_theta) a shard's gradient of the fields that have no pass */
    double **pass; /* (unknowns): see clsi_field_blocks */
    double *block;
} batch;

struct clsi_residual_memory {
    size_t n_batches;
    batch *batches;
};

struct clsi_residual_memory *clsi_residual_memory_create(void) {
    return clsi_calloc(1, sizeof(struct clsi_residual_memory));
}

void clsi_residual_memory_free(struct clsi_residual_memory *m) {
    for (size_t i = 0; m && i < m->n_batches; i++) {
        free(m->batches[i].block);
        free(m->batches[i].pass);
    }
    if (m) free(m->batches);
    free(m);
}

/* Batches for all threads; their memory comes later. */
static struct clsi_residual_memory *memory_for(const clsi_residual *r) {
    struct clsi_residual_memory *m = r->memory;
    size_t threads = (size_t)omp_get_max_threads();
    if (m->n_batches < threads) {
        batch *more = realloc(m->batches, threads * sizeof *more);
        if (!more) return NULL;
        memset(more + m->n_batches, 0, (threads - m->n_batches) * sizeof *more);
        m->batches = more;
        m->n_batches = threads;
    }
    return m;
}

static const clsi_field_blocks *blocks_of(const clsi_learned *l) {
    const clsi_field_blocks *blocks = l->field->kind->blocks;
    return blocks && blocks->samples >= POINTS ? blocks : NULL;
}

static const cls_program *program_of(const clsi_residual *r, program which) {
    const cls_program *all[PROGRAMS] = {[VALUES] = r->values,
                                        [SLOPES] = r->slopes,
                                        [ADJOINT] = r->adjoint,
                                        [WINDOW_VALUES] = r->window_values,
                                        [WINDOW_SLOPES] = r->window_slopes};
    return all[which];
}

static size_t work_size(const clsi_residual *r, program which) {
    const cls_program *p = program_of(r, which);
    return p ? clsi_many_size(p, POINTS) : 0;
}

static void prepare_programs(const clsi_residual *r, batch *b, double *memory) {
    for (program i = 0; i < PROGRAMS; memory += work_size(r, i), i++) {
        b->work[i] = memory;
        if (program_of(r, i)) clsi_many_prepare(program_of(r, i), POINTS, memory);
    }
}

static void run(batch *b, program which, size_t n, const double *in, double *out) {
    clsi_many_run(program_of(b->r, which), POINTS, b->work[which], n, POINTS, in, out);
}

static cls_status batch_allocate(const clsi_residual *r, batch *b) {
    const clsi_unknowns *us = r->unknowns;
    size_t K = us->n_symbols, Q = r->n_quantities, d = CLSI_FIELD_MAX_INPUTS;
    size_t inputs = (r->points->nz + 1 + K + Q) * POINTS, outputs = (Q + Q * K) * POINTS;
    size_t scratch = 0, passes = 0, before = 0, behind = 0, programs = 0;
    size_t weights = 2 * POINTS * r->points->width;
    if (r->window_values) {
        before = 3 * (r->points->nz + 1 + K) * POINTS;
        behind = r->n_equations * (1 + 3 * K) * POINTS;
    }
    for (size_t k = 0; k < us->n; k++) {
        const clsi_field *f = us->list[k].learned.field;
        size_t need = f->kind->scratch(f, POINTS);
        if (need > scratch) scratch = need;
        if (blocks_of(&us->list[k].learned)) passes += f->kind->blocks->size(f);
    }
    for (program i = 0; i < PROGRAMS; i++) programs += work_size(r, i);
    b->pass = clsi_calloc(us->n, sizeof *b->pass);
    size_t own = inputs + outputs + before + behind + POINTS * (1 + 2 * d) + weights;
    b->block = clsi_calloc(own + scratch + us->n_theta + programs + passes, sizeof(double));
    if (!b->block || !b->pass) return CLS_MEMORY;
    b->in = b->block;
    b->out = b->in + inputs;
    b->window_in = b->out + outputs;
    b->window_out = b->window_in + before;
    b->value = b->window_out + behind;
    b->slope = b->value + POINTS;
    b->x = b->slope + POINTS * d;
    b->weights = b->x + POINTS * d;
    b->scratch = b->weights + weights;
    b->part = b->scratch + scratch;
    prepare_programs(r, b, b->part + us->n_theta);
    double *pass = b->part + us->n_theta + programs;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_field *f = us->list[k].learned.field;
        if (!blocks_of(&us->list[k].learned)) continue;
        b->pass[k] = pass;
        pass += f->kind->blocks->size(f);
    }
    return CLS_OK;
}

/* This thread's batch, ready for theta. */
static cls_status batch_begin(const clsi_residual *r, const double *theta, batch **out) {
    batch *b = *out = &r->memory->batches[omp_get_thread_num()];
    if (!b->block && batch_allocate(r, b) != CLS_OK) return CLS_MEMORY;
    b->r = r;
    b->theta = theta;
    for (size_t k = 0; k < r->unknowns->n && theta; k++) {
        const clsi_learned *l = &r->unknowns->list[k].learned;
        if (b->pass[k]) l->field->kind->blocks->open(l->field, theta + l->offset, b->pass[k]);
    }
    return CLS_OK;
}

/* ---- a batch of windows, evaluated ---- */

/* Neighbouring windows share points: the last few are looked at. */
static size_t slot_of(batch *b, size_t point) {
    size_t last = b->r->points->width;
    for (size_t i = b->n_points > last ? b->n_points - last : 0; i < b->n_points; i++)
        if (b->point[i] == point) return i;
    b->point[b->n_points] = point;
    return b->n_points++;
}

/* The weights of the rates in a window; scheme (25) has other ones for momenta than for the rest.
 */
static double *weights_of(const batch *b, size_t w, int rest) {
    return b->weights + (2 * w + (size_t)rest) * b->r->points->width;
}

static void weigh_window(batch *b, size_t w) {
    const clsi_points *p = b->r->points;
    size_t n = p->width;
    double *momenta = weights_of(b, w, 0), *rest = weights_of(b, w, 1), t[CLSI_MOST_WIDTH];
    for (size_t k = 0; k < n; k++) t[k] = p->time[b->point[b->slot[w][k]]];
    if (p->rule == CLSI_QUADRATURE) {
        clsi_window_weights(n, t, momenta);
        for (size_t k = 0; k < n; k++) rest[k] = momenta[k];
    } else { /* three points */
        double h = t[2] - t[0];
        int split = p->rule == CLSI_VNOTS;
        momenta[0] = rest[2] = 0;
        momenta[1] = rest[1] = split ? 0 : h;
        momenta[2] = rest[0] = split ? h : 0;
    }
}

/* Zero when there is no room left. */
static int add_window(batch *b, size_t w) {
    const clsi_points *p = b->r->points;
    int middle = p->rule != CLSI_VNOTS; /* which has no use for it */
    size_t at[CLSI_MOST_WIDTH], width = p->width, *slot = b->slot[b->n];
    if (b->n == POINTS || b->n_points + width - !middle > POINTS) return 0;
    clsi_window_points(p, w, at);
    for (size_t k = 0; k < width; k++) slot[k] = k == 1 && !middle ? slot[0] : slot_of(b, at[k]);
    weigh_window(b, b->n);
    b->window[b->n++] = w;
    return 1;
}

/* Are the points those that follow each other in the data? */
static int in_a_row(const batch *b) {
    for (size_t i = 1; i < b->n_points; i++)
        if (b->point[i] != b->point[0] + i) return 0;
    return 1;
}

/* What a field takes at the points. */
static const double *inputs_of(const batch *b, const clsi_unknown *u) {
    size_t d = u->learned.d;
    if (b->row) return u->x + b->point[0] * d;
    for (size_t i = 0; i < b->n_points; i++)
        for (size_t j = 0; j < d; j++) b->x[i * d + j] = u->x[b->point[i] * d + j];
    return b->x;
}

/* Rows of slopes of a field that has none stay as they were allocated: zero. */
static void fill_field(batch *b, size_t k) {
    const clsi_unknown *u = &b->r->unknowns->list[k];
    const clsi_learned *l = &u->learned;
    double *row = b->in + (b->r->points->nz + 1 + u->symbol) * POINTS;
    double *slope = b->r->sloped[k] ? b->slope : NULL;
    if (!b->theta) {
        memset(row, 0, (1 + l->d) * POINTS * sizeof *row);
        return;
    }
    const double *x = inputs_of(b, u);
    if (b->pass[k])
        blocks_of(l)->evaluate(b->pass[k], b->n_points, x, slope && !b->r->valued[k] ? NULL : row,
                               slope);
    else
        l->field->kind->evaluate(l->field, b->theta + l->offset, b->n_points, x, row, slope,
                                 b->scratch);
    for (size_t i = 0; slope && i < b->n_points; i++)
        for (size_t j = 0; j < l->d; j++) row[(j + 1) * POINTS + i] = slope[i * l->d + j];
}

/* A row of the data at the points. */
static void take_row(const batch *b, const double *from, double *row) {
    if (b->row)
        memcpy(row, from + b->point[0], b->n_points * sizeof *row);
    else
        for (size_t i = 0; i < b->n_points; i++) row[i] = from[b->point[i]];
}

/* States, time and field symbols of the points. */
static void fill(batch *b) {
    const clsi_points *p = b->r->points;
    b->row = in_a_row(b);
    for (size_t k = 0; k < p->nz; k++) take_row(b, p->z + k * p->n, b->in + k * POINTS);
    take_row(b, p->time, b->in + p->nz * POINTS);
    for (size_t k = 0; k < b->r->unknowns->n; k++) fill_field(b, k);
}

/* The quantities at the points. */
static void evaluate(batch *b, int with_slopes) {
    fill(b);
    run(b, with_slopes ? SLOPES : VALUES, b->n_points, b->in, b->out);
}

/* Are the rows expressions over whole windows? */
static int whole_windows(const batch *b) {
    return b->r->window_values && !b->r->plain;
}

/* What the rows are made of: the quantities, or the rows of whole windows. */
static void evaluate_rows(batch *b, int with_slopes) {
    const clsi_residual *r = b->r;
    size_t I = r->points->nz + 1 + r->unknowns->n_symbols;
    if (!whole_windows(b)) {
        evaluate(b, with_slopes);
        return;
    }
    fill(b);
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < I; i++)
            for (size_t w = 0; w < b->n; w++)
                b->window_in[(k * I + i) * POINTS + w] = b->in[i * POINTS + b->slot[w][k]];
    run(b, with_slopes ? WINDOW_SLOPES : WINDOW_VALUES, b->n, b->window_in, b->window_out);
}

/* ---- rows ---- */

static double weight_of(const batch *b, size_t w, size_t e) {
    return b->r->weight[e * b->r->points->n_windows + b->window[w]];
}

/* Equation e of window w of the batch: how much y_e grows, less its rate times the weights. */
static inline double residual_of(const batch *b, size_t w, size_t e) {
    if (whole_windows(b)) return weight_of(b, w, e) * b->window_out[e * POINTS + w];
    const double *y = b->out + e * POINTS, *rate = y + b->r->n_equations * POINTS;
    const double *weights = weights_of(b, w, e >= b->r->n);
    size_t n = b->r->points->width;
    const size_t *slot = b->slot[w];
    double sum = y[slot[n - 1]] - y[slot[0]];
    for (size_t k = 0; k < n; k++) sum -= weights[k] * rate[slot[k]];
    return weight_of(b, w, e) * sum;
}

/* The derivatives of equation e of whole window w, unweighted, in the field symbols from `symbol`
 * on at its point k: POINTS numbers apart. */
static const double *window_slopes(const batch *b, size_t w, size_t e, size_t k, size_t symbol) {
    size_t K = b->r->unknowns->n_symbols;
    return b->window_out + (b->r->n_equations + (3 * e + k) * K + symbol) * POINTS + w;
}

/* f times a row of derivatives in the value and d slopes; is any of them not zero? */
static int add_slopes(double f, const double *row, size_t d, double *a, double *s) {
    int any = row[0] != 0;
    *a += f * row[0];
    for (size_t j = 0; j < d; j++) {
        s[j] += f * row[(j + 1) * POINTS];
        any |= row[(j + 1) * POINTS] != 0;
    }
    return any;
}

enum { MOST_SLOPES = CLSI_MOST_WIDTH * CLSI_FIELD_MAX_INPUTS };

/* The derivative of one equation in the field symbols of unknown u at the window's points: a
 * (width) for the value, s (width, d) for the slopes. */
static int symbol_slopes(const batch *b, const clsi_unknown *u, size_t w, size_t e, double *a,
                         double *s) {
    size_t Q = b->r->n_quantities, K = b->r->unknowns->n_symbols, d = u->learned.d;
    size_t n = b->r->points->width;
    int any = 0, whole = whole_windows(b);
    memset(a, 0, n * sizeof *a);
    memset(s, 0, n * d * sizeof *s);
    for (size_t k = 0; k < 3 && whole; k++)
        any |= add_slopes(weight_of(b, w, e), window_slopes(b, w, e, k, u->symbol), d, a + k,
                          s + k * d);
    if (whole) return any;
    const double *weights = weights_of(b, w, e >= b->r->n);
    double scale = weight_of(b, w, e);
    for (size_t k = 0; k < n; k++) {
        double c[2] = {k == 0 ? -scale : k + 1 == n ? scale : 0, -scale * weights[k]};
        for (int part = 0; part < 2; part++) {
            size_t q = part ? b->r->n_equations + e : e;
            const double *row = b->out + (Q + q * K + u->symbol) * POINTS + b->slot[w][k];
            if (c[part] != 0) any |= add_slopes(c[part], row, d, a + k, s + k * d);
        }
    }
    return any;
}

/* One row of a field without blocks. */
static void plain_row(const batch *b, const clsi_unknown *u, size_t w, size_t e, double *row) {
    const clsi_learned *l = &u->learned;
    size_t n = b->r->points->width;
    double a[CLSI_MOST_WIDTH], s[MOST_SLOPES], x[MOST_SLOPES];
    if (!symbol_slopes(b, u, w, e, a, s)) return;
    for (size_t i = 0; i < n; i++)
        memcpy(x + i * l->d, u->x + b->point[b->slot[w][i]] * l->d, l->d * sizeof *x);
    l->field->kind->rows(l->field, b->theta ? b->theta + l->offset : NULL, n, x, a, s, 0, row,
                         b->scratch);
}

enum { MOST_ROWS = 8 * POINTS }; /* of a batch */

typedef struct row_list {
    size_t n, w[MOST_ROWS], e[MOST_ROWS];
    double *J; /* (n, n_theta) */
} row_list;

/* The directions of row i at the window's points, when no other row has them. */
static int place_row(batch *b, const row_list *m, size_t i, size_t k, double **owner) {
    const clsi_unknown *u = &b->r->unknowns->list[k];
    size_t d = u->learned.d, *slot = b->slot[m->w[i]];
    size_t n = b->r->points->width;
    double a[CLSI_MOST_WIDTH], s[MOST_SLOPES];
    for (size_t j = 0; j < n; j++)
        if (owner[slot[j]]) return 0;
    if (!symbol_slopes(b, u, m->w[i], m->e[i], a, s)) return 1;
    for (size_t j = 0; j < n; j++) {
        owner[slot[j]] = m->J + i * b->r->unknowns->n_theta + u->learned.offset;
        b->value[slot[j]] += a[j];
        for (size_t q = 0; q < d; q++) b->slope[slot[j] * d + q] += s[j * d + q];
    }
    return 1;
}

/* Rows of a field with blocks: as many at a time as have no point in common. */
static void block_rows(batch *b, const row_list *m, size_t k) {
    const clsi_learned *l = &b->r->unknowns->list[k].learned;
    unsigned char done[MOST_ROWS] = {0};
    for (size_t left = m->n; left > 0;) {
        double *owner[POINTS] = {NULL};
        memset(b->value, 0, POINTS * sizeof *b->value);
        memset(b->slope, 0, POINTS * l->d * sizeof *b->slope);
        for (size_t i = 0; i < m->n; i++) {
            if (done[i] || !place_row(b, m, i, k, owner)) continue;
            done[i] = 1;
            left--;
        }
        blocks_of(l)->rows(b->pass[k], b->n_points, b->value, b->r->sloped[k] ? b->slope : NULL,
                           owner);
    }
}

static void jacobian_rows(batch *b, const row_list *m) {
    const clsi_unknowns *us = b->r->unknowns;
    memset(m->J, 0, m->n * us->n_theta * sizeof *m->J);
    for (size_t k = 0; k < us->n; k++) {
        if (b->pass[k] && b->theta) {
            block_rows(b, m, k);
            continue;
        }
        for (size_t i = 0; i < m->n; i++)
            plain_row(b, &us->list[k], m->w[i], m->e[i],
                      m->J + i * us->n_theta + us->list[k].learned.offset);
    }
}

/* The rows [at, end) of the list (NULL: of all, from `first` on) as far as they fit; returns the
 * first one that does not. */
static size_t take_rows(batch *b, size_t first, const size_t *list, size_t at, size_t end,
                        row_list *m) {
    size_t E = b->r->n_equations, window = SIZE_MAX, base = 0;
    b->n = b->n_points = m->n = 0;
    for (; at < end && m->n < MOST_ROWS; at++, m->n++) {
        size_t row = list ? list[at] : first + at;
        if (window == SIZE_MAX || row < base || row - base >= E) {
            window = row / E;
            base = window * E;
            if (!add_window(b, window)) break;
        }
        m->w[m->n] = b->n - 1;
        m->e[m->n] = row - base;
    }
    return at;
}

static void rows_of_shard(batch *b, size_t first, const size_t *list, size_t begin, size_t end,
                          double *out, double *J) {
    row_list m;
    for (size_t at = begin; at < end;) {
        size_t stop = take_rows(b, first, list, at, end, &m);
        evaluate_rows(b, J != NULL);
        for (size_t i = 0; i < m.n; i++) out[at + i] = residual_of(b, m.w[i], m.e[i]);
        m.J = J ? J + at * b->r->unknowns->n_theta : NULL;
        if (J) jacobian_rows(b, &m);
        at = stop;
    }
}

/* A sum of the gradient costs as much as a dozen windows, so shards are not small. Threads are
 * woken only for what takes a millisecond or more: on a busy machine they may come late. */
enum { SHARD_WINDOWS = 250 };

size_t clsi_shard_count(const clsi_residual *r, size_t count, size_t windows) {
    size_t n = 1;
    while (n < CLSI_SHARDS && 2 * n * windows * r->n_equations <= count) n *= 2;
    return n;
}

size_t clsi_shard_begin(const clsi_residual *r, size_t count, size_t shards, size_t s) {
    size_t at = count * s / shards;
    return s == shards ? count : at - at % r->n_equations;
}

static int is_long(const clsi_residual *r, size_t count) {
    return (double)count * (double)r->unknowns->n_theta > 2e7;
}

cls_status clsi_residual_rows(const clsi_residual *r, const double *theta, size_t first,
                              size_t count, const size_t *list, double *out, double *J) {
    if (r->points->intervals) return clsi_position_rows(r, theta, first, count, list, out, J);
    size_t shards = clsi_shard_count(r, count, SHARD_WINDOWS);
    int failed = 0;
    if (!memory_for(r)) return CLS_MEMORY;
#pragma omp parallel reduction(| : failed) if (is_long(r, count))
    {
        batch *b;
        failed = batch_begin(r, theta, &b) != CLS_OK;
#pragma omp for schedule(dynamic)
        for (size_t s = 0; s < shards; s++)
            if (!failed)
                rows_of_shard(b, first, list, clsi_shard_begin(r, count, shards, s),
                              clsi_shard_begin(r, count, shards, s + 1), out, J);
    }
    return failed ? CLS_MEMORY : CLS_OK;
}

/* ---- gradient ---- */

/* Where the adjoint program reads dLoss/d quantities of the points, zero. */
static double *coefficients_of_quantities(batch *b) {
    double *c = b->in + (b->r->points->nz + 1 + b->r->unknowns->n_symbols) * POINTS;
    memset(c, 0, b->r->n_quantities * POINTS * sizeof *c);
    return c;
}

/* `share` of each row counts. */
static void residuals_back(batch *b, const row_list *m, double share, double *sum) {
    size_t E = b->r->n_equations, n = b->r->points->width;
    double *into = coefficients_of_quantities(b);
    for (size_t i = 0; i < m->n; i++) {
        size_t w = m->w[i], e = m->e[i];
        double value = residual_of(b, w, e), f = share * weight_of(b, w, e) * value;
        double *y = into + e * POINTS, *rate = y + E * POINTS;
        const double *weights = weights_of(b, w, e >= b->r->n);
        *sum += value * value;
        y[b->slot[w][n - 1]] += f;
        y[b->slot[w][0]] -= f;
        for (size_t k = 0; k < n; k++) rate[b->slot[w][k]] -= f * weights[k];
    }
}

/* From residuals of whole windows to dLoss/d symbols, in `out`. */
static void windows_back(batch *b, const row_list *m, double share, double *sum) {
    size_t K = b->r->unknowns->n_symbols;
    memset(b->out, 0, K * POINTS * sizeof *b->out);
    for (size_t i = 0; i < m->n; i++) {
        size_t w = m->w[i], e = m->e[i];
        double value = residual_of(b, w, e), f = share * value * weight_of(b, w, e);
        *sum += value * value;
        for (size_t k = 0; k < 3; k++) {
            const double *row = window_slopes(b, w, e, k, 0);
            for (size_t q = 0; q < K; q++)
                b->out[q * POINTS + b->slot[w][k]] += f * row[q * POINTS];
        }
    }
}

/* From dLoss/d symbols (in `out`) to the parameters. */
static void field_back(batch *b, size_t k) {
    const clsi_unknown *u = &b->r->unknowns->list[k];
    const clsi_learned *l = &u->learned;
    const double *a = b->out + u->symbol * POINTS;
    double *slope = b->r->sloped[k] ? b->slope : NULL;
    for (size_t j = 0; slope && j < l->d; j++)
        for (size_t i = 0; i < b->n_points; i++) slope[i * l->d + j] = a[(j + 1) * POINTS + i];
    if (b->pass[k] && b->theta) {
        blocks_of(l)->add(b->pass[k], b->n_points, a, slope);
        return;
    }
    l->field->kind->reverse(l->field, b->theta ? b->theta + l->offset : NULL, b->n_points,
                            inputs_of(b, u), a, slope, b->part + l->offset, b->scratch);
}

static void sums_begin(batch *b) {
    const clsi_unknowns *us = b->r->unknowns;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_learned *l = &us->list[k].learned;
        if (b->pass[k] && b->theta)
            blocks_of(l)->clear(b->pass[k]);
        else
            memset(b->part + l->offset, 0, l->field->n_parameters * sizeof *b->part);
    }
}

/* In the opposite order of evaluation: the last field is still in the cache, and the first will be
 * for the next batch. */
static void fields_back(batch *b) {
    for (size_t k = b->r->unknowns->n; k-- > 0;) field_back(b, k);
}

/* The batch is evaluated and the coefficients of its quantities are set. */
static void sums_add(batch *b) {
    run(b, ADJOINT, b->n_points, b->in, b->out);
    fields_back(b);
}

/* The rows of a batch: their squares into sum, their share of the gradient into the sums. */
static void add_rows(batch *b, const row_list *m, double share, double *sum) {
    int whole = whole_windows(b);
    evaluate_rows(b, whole);
    if (whole) {
        windows_back(b, m, share, sum);
        fields_back(b);
        return;
    }
    residuals_back(b, m, share, sum);
    sums_add(b);
}

/* The sums go to the gradient. */
static void sums_end(const batch *b, double *gradient) {
    const clsi_unknowns *us = b->r->unknowns;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_learned *l = &us->list[k].learned;
        double *to = gradient + l->offset, *own = b->part + l->offset;
        if (b->pass[k] && b->theta)
            blocks_of(l)->close(b->pass[k], to);
        else
            for (size_t j = 0; j < l->field->n_parameters; j++) to[j] += own[j];
    }
}

static double gradient_of_shard(batch *b, const size_t *list, size_t begin, size_t end,
                                double share) {
    double sum = 0;
    row_list m;
    sums_begin(b);
    for (size_t at = begin; at < end;) {
        at = take_rows(b, 0, list, at, end, &m);
        add_rows(b, &m, share, &sum);
    }
    return sum;
}

cls_status clsi_residual_gradient(const clsi_residual *r, const double *theta, size_t count,
                                  const size_t *list, double *loss, double *gradient) {
    if (r->points->intervals) return clsi_position_gradient(r, theta, count, list, loss, gradient);
    size_t shards = clsi_shard_count(r, count, SHARD_WINDOWS);
    double share = 1 / (double)(count ? count : 1), total = 0;
    int failed = 0;
    if (!memory_for(r)) return CLS_MEMORY;
    memset(gradient, 0, r->unknowns->n_theta * sizeof *gradient);
#pragma omp parallel reduction(| : failed) if (is_long(r, count))
    {
        batch *b;
        failed = batch_begin(r, theta, &b) != CLS_OK;
#pragma omp for schedule(dynamic) ordered
        for (size_t s = 0; s < shards; s++) {
            double sum = failed
                             ? 0
                             : gradient_of_shard(b, list, clsi_shard_begin(r, count, shards, s),
                                                 clsi_shard_begin(r, count, shards, s + 1), share);
#pragma omp ordered
            if (!failed) {
                total += sum;
                sums_end(b, gradient);
            }
        }
    }
    *loss = 0.5 * share * total;
    return failed ? CLS_MEMORY : CLS_OK;
}

/* ---- the scale condition ---- */

/* The first points of the windows at, at + stride, ... */
static void add_first_points(batch *b, size_t at, size_t n, size_t stride) {
    b->n = b->n_points = 0;
    while (at + b->n < n && b->n < POINTS) {
        b->slot[b->n][0] = slot_of(b, b->r->points->window[(at + b->n) * stride]);
        b->n++;
    }
}

cls_status clsi_residual_scale(const clsi_residual *r, const double *theta, size_t most,
                               double *row, double *mean_pv, double *mean_vv) {
    const clsi_points *p = r->points;
    if (p->intervals) return clsi_position_scale(r, theta, most, row, mean_pv, mean_vv);
    size_t stride = most ? (p->n_training + most - 1) / most : 1;
    size_t n = (p->n_training + stride - 1) / stride;
    batch *b;
    cls_status status = memory_for(r) ? batch_begin(r, theta, &b) : CLS_MEMORY;
    *mean_pv = *mean_vv = 0;
    memset(row, 0, r->unknowns->n_theta * sizeof *row);
    if (status != CLS_OK) return status;
    sums_begin(b);
    for (size_t at = 0; at < n; at += b->n) {
        add_first_points(b, at, n, stride);
        evaluate(b, 0);
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
